//go:build !linux

package checkpoint

import (
	"os"
	"strconv"

	"github.com/shirou/gopsutil/v4/process"
)

func hostIdentity() string {
	name, _ := os.Hostname()
	return name
}

// processStart returns the start time of a process in milliseconds since 1970 and whether the process is alive.
func processStart(pid int) (start string, alive bool) {
	exists, err := process.PidExists(int32(pid))
	if err != nil {
		return "", true
	}
	if !exists {
		return "", false
	}
	p, err := process.NewProcess(int32(pid))
	if err != nil {
		return "", true
	}
	ms, err := p.CreateTime()
	if err != nil {
		return "", true
	}
	return strconv.FormatInt(ms, 10), true
}
