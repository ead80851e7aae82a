//go:build unix && !linux

package telemetry

import (
	"runtime"
	"syscall"
)

// PeakRSS is the most memory that this process has had, in bytes; 0 when the system does not tell.
func PeakRSS() int64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	unit := int64(1024)
	if runtime.GOOS == "darwin" || runtime.GOOS == "ios" {
		unit = 1
	}
	return int64(usage.Maxrss) * unit //nolint:unconvert // the field has 32 bits on some systems
}
