//go:build unix

// Package subprocess ends other programs with all that they started, and tells what memory they took.
package subprocess

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"syscall"
)

// OwnGroup makes cmd the leader of a group of processes, all of which are killed when its context ends. It sets SysProcAttr and Cancel of
// a cmd that [exec.CommandContext] made and that has not started. On systems without groups only the process itself is killed.
func OwnGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error {
		err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		if errors.Is(err, syscall.ESRCH) {
			return os.ErrProcessDone
		}
		return err
	}
}

// PeakRSS is the most memory that the process and the children that it waited for had at one time, each by itself, in bytes; 0 where the
// system does not tell. On Linux it is at least what this process had when it started the other, which is little beside a model.
func PeakRSS(state *os.ProcessState) int64 {
	usage, ok := state.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	unit := int64(1024)
	if runtime.GOOS == "darwin" || runtime.GOOS == "ios" {
		unit = 1
	}
	return int64(usage.Maxrss) * unit //nolint:unconvert // the field has 32 bits on some systems
}
