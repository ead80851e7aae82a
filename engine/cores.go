package engine

import "github.com/shirou/gopsutil/v4/cpu"

// physicalCores asks the operating system; 0 when it does not say.
func physicalCores() int {
	n, err := cpu.Counts(false)
	if err != nil {
		return 0
	}
	return n
}
