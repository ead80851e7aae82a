//go:build unix

package app

import "golang.org/x/sys/unix"

// mayWrite asks the system whether this process may write to a file or folder, without trying.
func mayWrite(path string) bool { return unix.Access(path, unix.W_OK) == nil }
