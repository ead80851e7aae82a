//go:build !unix

package benchmark

import (
	"os"
	"os/exec"
)

// ownGroup does nothing here: only the process itself is killed when its context ends.
func ownGroup(*exec.Cmd) {}

// peakRSS is not known here.
func peakRSS(*os.ProcessState) int64 { return 0 }
