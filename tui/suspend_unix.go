//go:build unix

package tui

import "syscall"

// suspend stops the job, as Ctrl-Z does for other programs, until the shell lets it go on.
func suspend() {
	_ = syscall.Kill(0, syscall.SIGTSTP) // without job control nothing happens
}
