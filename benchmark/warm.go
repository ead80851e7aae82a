package benchmark

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// warmupCase is what a warm-up does: it makes the program read the rules and the worked examples that all tasks share, and nothing of
// any case.
var warmupCase = Case{ID: "warm-up", Goal: "Hello!", ExpectedStatus: AnyStatus}

// linkFiles puts the files of the folder from into the folder to, without copying their bytes where the file system can. Files that are
// there already stay, and a folder that is missing has none. Only a file that is replaced as a whole, never written into, may be shared
// like that, as those of the KV cache are.
func linkFiles(from, to string) error {
	entries, err := os.ReadDir(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = os.MkdirAll(to, 0o755)
	}
	if err != nil {
		return fmt.Errorf("sharing the KV cache of the warm-ups: %w", err)
	}
	for _, entry := range entries {
		if !entry.Type().IsRegular() {
			continue
		}
		source, target := filepath.Join(from, entry.Name()), filepath.Join(to, entry.Name())
		err := os.Link(source, target)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil { // this file system has no links
			var data []byte
			if data, err = os.ReadFile(source); err == nil {
				err = writeNew(target, data)
			}
		}
		if err != nil {
			return fmt.Errorf("sharing the KV cache of the warm-ups: %w", err)
		}
	}
	return nil
}
