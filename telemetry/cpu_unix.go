//go:build unix

package telemetry

import (
	"syscall"

	"github.com/shirou/gopsutil/v4/process"
)

// ownSeconds is the processor time of this process and of its children that have ended.
func ownSeconds(*process.Process) float64 {
	var seconds float64
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var usage syscall.Rusage
		if err := syscall.Getrusage(who, &usage); err == nil {
			seconds += float64(usage.Utime.Nano()+usage.Stime.Nano()) / 1e9
		}
	}
	return seconds
}
