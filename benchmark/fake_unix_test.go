//go:build unix

package benchmark

import (
	"os"
	"syscall"
)

// holdLock locks a file, which is there when it is locked, for as long as this process lives.
func holdLock(path string) error {
	f, err := os.OpenFile(path+".new", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	fd := f.Fd() // also keeps the descriptor in blocking mode
	if err := syscall.Flock(int(fd), syscall.LOCK_EX); err != nil {
		return err
	}
	held = f
	return os.Rename(path+".new", path)
}

// held is never closed: the collector must not do it either.
var held *os.File
