package kvstore

import (
	"fmt"
	"io/fs"
	"syscall"
	"time"
)

// changeOf returns the number of a file and the time of the last change of it or its metadata.
func changeOf(info fs.FileInfo) (number string, changed time.Time) {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return "", time.Time{}
	}
	return fmt.Sprintf("%d:%d", s.Dev, s.Ino), time.Unix(s.Ctim.Unix())
}
