//go:build unix

package app

import (
	"runtime"
	"syscall"
)

// peakRSS is the most memory that this process has had, by the system's own account, in bytes; 0 when it does not tell.
func peakRSS() int64 {
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
