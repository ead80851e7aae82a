//go:build unix

package tui

import (
	"os"
	"os/signal"
	"syscall"
	"time"
)

// suspend stops the job, as Ctrl-Z does for other programs, and returns when the shell lets it go on. Without job control nothing happens.
func suspend() {
	goesOn := make(chan os.Signal, 1)
	signal.Notify(goesOn, syscall.SIGCONT)
	defer signal.Stop(goesOn)
	if err := syscall.Kill(0, syscall.SIGTSTP); err != nil {
		return
	}
	// The signal takes effect some time after the call, and the terminal must not be taken again before that.
	select {
	case <-goesOn:
	case <-time.After(time.Second):
	}
}
