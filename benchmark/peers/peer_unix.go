//go:build unix

package main

import (
	"os"
	"os/exec"
	"runtime"
	"syscall"
)

// ownGroup makes cmd the leader of a group of processes, all of which its Cancel ends with SIGKILL.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}

// peakRSS is the most memory in bytes that the process, or a child that it waited for, had at one time.
func peakRSS(state *os.ProcessState) int64 {
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
