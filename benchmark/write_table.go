package benchmark

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// Names of the files in a folder of results that reports are made of, and of the report.
const (
	manifestFile = "manifest.json"
	samplesFile  = "task_results.jsonl"
	reportFile   = "report.md"
)

// WriteTable writes the [Table] of a folder of results as its report.
func WriteTable(path string) error {
	m, err := StoredManifest(path)
	if err != nil {
		return err
	}
	data, err := os.ReadFile(filepath.Join(path, samplesFile))
	if err != nil {
		return err
	}
	var samples []Sample
	for text := range bytes.Lines(data) {
		var s Sample
		if err := json.Unmarshal(text, &s); err != nil {
			return fmt.Errorf("reading %s: %w", samplesFile, err)
		}
		samples = append(samples, s)
	}
	table := Table(fmt.Sprintf("%s with %s", m.Suite.Name, m.Model.Name), samples)
	return writeAtomically(filepath.Join(path, reportFile), []byte(table))
}
