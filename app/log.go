package app

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// maxLogBytes is how large a log may be before the next program begins a new one; the one before it is kept.
const maxLogBytes = 8 << 20

// OpenLog opens a log file to add to, and makes it and its folder if need be. One that has grown beyond 8 MiB is renamed first, so that
// at most two are kept: PATH and PATH.old. The caller closes it.
func OpenLog(path string) (*os.File, error) {
	if err := makeFolder(filepath.Dir(path)); err != nil {
		return nil, fmt.Errorf("making the folder of the log: %w; choose another place with tui.log_file", err)
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, fmt.Errorf("looking at the log: %w", err)
	case info.Mode().IsRegular() && info.Size() > maxLogBytes:
		if err := os.Rename(path, path+".old"); err != nil {
			return nil, fmt.Errorf("putting the old log aside: %w", err)
		}
	}
	// It may hold prompts, which other users of the machine are not meant to see.
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the log: %w; choose another place with tui.log_file", err)
	}
	return f, nil
}
