//go:build !linux && !darwin

package kvstore

import (
	"io/fs"
	"time"
)

// changeOf knows nothing that tells files of the same size and time apart.
func changeOf(fs.FileInfo) (number string, changed time.Time) { return "", time.Time{} }
