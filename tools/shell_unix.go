//go:build unix

package tools

import (
	"os"
	"os/exec"
	"syscall"
)

// joinGroup puts a program that is about to start into a process group; leader 0 makes a new one.
func joinGroup(cmd *exec.Cmd, leader int) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pgid: leader}
}

// killGroup ends all processes of a group. SIGKILL, because a trap could ignore anything else.
func killGroup(leader int) {
	// The error says that the group is gone, which is what is wanted.
	_ = syscall.Kill(-leader, syscall.SIGKILL)
}

func exitCode(state *os.ProcessState) int {
	if state == nil {
		return -1
	}
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return state.ExitCode()
}
