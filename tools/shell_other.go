//go:build !unix

package tools

import (
	"os"
	"os/exec"
)

// joinGroup does nothing: without process groups, what a program starts is not ended with it.
func joinGroup(*exec.Cmd, int) {}

func killGroup(leader int) {
	if process, err := os.FindProcess(leader); err == nil {
		_ = process.Kill() // it may have ended
	}
}

func exitCode(state *os.ProcessState) int {
	if state == nil {
		return -1
	}
	return state.ExitCode()
}
