package benchmark

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// telemetryFiles are the files of records that the program writes. Those of a run hold the records of all measured samples, each
// with its case, round and repetition.
var telemetryFiles = []string{"inference_events.jsonl", "tool_events.jsonl", "lifecycle_events.jsonl", "system_memory.csv", kvSource}

func isCSV(name string) bool { return filepath.Ext(name) == ".csv" }

// ownColumns come before the columns of the program.
var ownColumns = []string{"case_id", "round", "repetition"}

// records are what the files of a run get of the records of one sample. Lines that are not whole, as a process that was killed
// leaves them, are passed over; the files are not there when the program wrote none.
func (f *folder) records(of label, telemetry string) ([]entry, error) {
	var entries []entry
	for _, name := range telemetryFiles {
		data, err := os.ReadFile(filepath.Join(telemetry, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("reading the records of a sample: %w", err)
		}
		if !isCSV(name) {
			entries = append(entries, entry{name, labelledLines(of, data)})
			continue
		}
		have, err := firstRow(f.join(name))
		if err != nil {
			return nil, err
		}
		entries = append(entries, entry{name, labelledRows(of, data, have)})
	}
	return slices.DeleteFunc(entries, func(e entry) bool { return len(e.data) == 0 }), nil
}

// labelledLines puts the label in front of each object. A field of the program that is named alike gets another name.
func labelledLines(of label, data []byte) []byte {
	head, err := json.Marshal(of)
	if err != nil {
		panic(err) // texts and a number
	}
	head = append(head[:len(head)-1], ',')
	var out bytes.Buffer
	for text := range bytes.Lines(data) {
		var fields map[string]json.RawMessage
		if json.Unmarshal(text, &fields) != nil || len(fields) == 0 || !bytes.HasSuffix(text, []byte("\n")) {
			continue
		}
		object := bytes.TrimSpace(text)
		renamed := false
		for _, name := range sortedKeys(fields) {
			if slices.ContainsFunc(ownColumns, func(ours string) bool { return strings.EqualFold(ours, name) }) { // as readers in Go see it
				fields["data_"+name] = fields[name]
				delete(fields, name)
				renamed = true
			}
		}
		if renamed {
			if object, err = json.Marshal(fields); err != nil {
				continue
			}
		}
		out.Write(head)
		out.Write(object[1:])
		out.WriteByte('\n')
	}
	return out.Bytes()
}

// labelledRows puts the label in front of each row, in the columns of the file that they go to; nil: it has none yet, and gets
// those of the first row.
func labelledRows(of label, data []byte, have []string) []byte {
	var out bytes.Buffer
	w := csv.NewWriter(&out)
	var header []string
	for text := range strings.Lines(string(data)) {
		// Row by row, so that a quote that was never closed spoils one row only: no field has a line end.
		row, err := csv.NewReader(strings.NewReader(text)).Read()
		switch {
		case err != nil, !strings.HasSuffix(text, "\n"), header != nil && (len(row) != len(header) || slices.Equal(row, header)):
			continue
		case header == nil:
			header = row
			if have == nil {
				have = slices.Concat(ownColumns, header)
				_ = w.Write(have) // into memory
			}
			continue
		}
		merged := []string{of.Case, of.Round, strconv.Itoa(of.Repetition)}
		for _, name := range have[len(ownColumns):] {
			value := ""
			if at := slices.Index(header, name); at >= 0 {
				value = row[at]
			}
			merged = append(merged, value)
		}
		_ = w.Write(merged)
	}
	w.Flush()
	return out.Bytes()
}

// firstRow is the header of a CSV file, nil when there is none.
func firstRow(path string) ([]string, error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the results: %w", err)
	}
	defer file.Close()
	text, err := bufio.NewReader(file).ReadString('\n')
	if errors.Is(err, io.EOF) && text == "" {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the header of %q: %w", path, reason(err))
	}
	row, err := csv.NewReader(strings.NewReader(text)).Read()
	if err == nil && (len(row) < len(ownColumns) || !slices.Equal(row[:len(ownColumns)], ownColumns)) {
		err = fmt.Errorf("its first columns are not %s; remove the file", strings.Join(ownColumns, ", "))
	}
	if err != nil {
		return nil, fmt.Errorf("reading the header of %q: %w", path, err)
	}
	return row, nil
}
