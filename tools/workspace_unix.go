//go:build unix

package tools

import (
	"errors"
	"syscall"
)

// openNonblock keeps opening a FIFO, put in place of a file after the check, from waiting for a writer.
const openNonblock = syscall.O_NONBLOCK

func isNotDir(err error) bool { return errors.Is(err, syscall.ENOTDIR) }
