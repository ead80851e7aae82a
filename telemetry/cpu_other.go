//go:build !unix

package telemetry

import "github.com/shirou/gopsutil/v4/process"

// ownSeconds is the processor time of this process. What its children used is lost here when they end.
func ownSeconds(self *process.Process) float64 {
	t, err := self.Times()
	if err != nil {
		return 0
	}
	return t.User + t.System
}

// PeakRSS is not told here.
func PeakRSS() int64 { return 0 }
