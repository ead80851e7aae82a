package benchmark

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Files that WriteReport writes into a folder of results.
const (
	summaryFile  = "summary.json"
	reportFile   = "report.md"
	chartsFolder = "charts"
)

// WriteReport reads a folder of results and writes summary.json, report.md and charts/*.svg into it. Each file is replaced as
// a whole; an error names the file that could not be written and leaves what was there before.
func WriteReport(dir string) error {
	r, err := LoadResults(dir)
	if err != nil {
		return err
	}
	s := r.Summarize()
	charts := filepath.Join(dir, chartsFolder)
	if err := os.MkdirAll(charts, 0o755); err != nil {
		return fmt.Errorf("making the folder of charts: %w", err)
	}
	for _, c := range s.charts() {
		if err := replaceFile(filepath.Join(charts, c.file), c.svg()); err != nil {
			return err
		}
	}
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding the statistics: %w", err)
	}
	if err := replaceFile(filepath.Join(dir, summaryFile), append(data, '\n')); err != nil {
		return err
	}
	// The report comes last: who sees it finds what it names.
	return replaceFile(filepath.Join(dir, reportFile), []byte(r.markdown(s)))
}

// replaceFile puts data at path, as a whole or not at all.
func replaceFile(path string, data []byte) error {
	return replaceFrom(path, bytes.NewReader(data))
}

// replaceFrom does the same with what it reads. Its errors name the path.
func replaceFrom(path string, content io.Reader) error {
	if err := swapIn(path, content); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}

// swapIn makes or replaces a file: whoever reads it sees all of the old or all of the new content, also after a crash.
func swapIn(path string, content io.Reader) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	if err == nil {
		err = f.Chmod(0o644)
	}
	if err == nil {
		err = f.Sync() // a full disk may be noticed only here
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
