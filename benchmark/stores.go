package benchmark

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// stores are the folders of a sample where the program keeps things. The KV cache on disk and the records of telemetry are
// shared by all copies: they are found by their content, and tell nothing of a conversation to another.
type stores struct {
	data   string // databases and contents
	shared string // KV cache and telemetry
	config string // the configuration file that says so
}

// newStores makes the folders below folder and writes the configuration: values, by section.key, and where the stores are.
func newStores(folder, name, shared string, values map[string]any) (stores, error) {
	s := stores{data: filepath.Join(folder, name), shared: shared, config: filepath.Join(folder, name+".toml")}
	if err := os.MkdirAll(s.data, 0o755); err != nil {
		return s, fmt.Errorf("making the stores of a sample: %w", err)
	}
	all := maps.Clone(values)
	maps.Copy(all, map[string]any{
		"engine.kv_store_path":       s.kv(),
		"agent.db_path":              filepath.Join(s.data, "checkpoints.sqlite"),
		"agent.conversation_db_path": filepath.Join(s.data, "conversations.sqlite"),
		"tools.artifact.storage_dir": filepath.Join(s.data, "artifacts"),
		"memory.context_store_path":  filepath.Join(s.data, "context_memory.sqlite"),
		"telemetry.enabled":          true,
		"telemetry.output_dir":       s.telemetry(),
	})
	text, err := toml.Marshal(nested(all))
	if err != nil {
		return s, fmt.Errorf("writing the configuration of a sample: %w", err)
	}
	if err := writeNew(s.config, text); err != nil {
		return s, fmt.Errorf("writing the configuration of a sample: %w", err)
	}
	return s, nil
}

// kv is the folder of the KV cache.
func (s stores) kv() string { return filepath.Join(s.shared, "kv") }

// telemetry is the folder of the records.
func (s stores) telemetry() string { return filepath.Join(s.shared, "telemetry") }

// nested turns keys with dots into tables.
func nested(values map[string]any) map[string]any {
	root := map[string]any{}
	for key, value := range values {
		parts := strings.Split(key, ".")
		table := root
		for _, part := range parts[:len(parts)-1] {
			next, ok := table[part].(map[string]any)
			if !ok {
				next = map[string]any{}
				table[part] = next
			}
			table = next
		}
		table[parts[len(parts)-1]] = value
	}
	return root
}

// sizes are the bytes of the databases (with their logs) and of everything that is kept.
func (s stores) sizes() (databases, all int64, err error) {
	err = filepath.WalkDir(s.data, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		all += info.Size()
		if slices.ContainsFunc([]string{".sqlite", ".sqlite-wal", ".sqlite-shm"}, func(end string) bool { return strings.HasSuffix(path, end) }) {
			databases += info.Size()
		}
		return nil
	})
	if err != nil {
		return 0, 0, fmt.Errorf("measuring the stores of a sample: %w", err)
	}
	return databases, all, nil
}

// kvSource is the file in which telemetry records what the KV cache holds.
const kvSource = "kv_metrics.csv"

// peakKV is the largest number of tokens in the KV cache that telemetry recorded; 0 when it recorded none.
func (s stores) peakKV() (int, error) {
	f, err := os.Open(filepath.Join(s.telemetry(), kvSource))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("reading the peak of the KV cache: %w", err)
	}
	defer f.Close()
	peak, err := peakOf(f, "used_tokens")
	if err != nil {
		return 0, fmt.Errorf("reading the peak of the KV cache from %s: %w", f.Name(), err)
	}
	return peak, nil
}

// peakOf is the largest whole number in the column of a CSV file with a header. A last line without its end, which a killed
// process may leave, is passed over.
func peakOf(r io.Reader, column string) (int, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return 0, err
	}
	whole := string(data[:strings.LastIndexByte(string(data), '\n')+1])
	reader := csv.NewReader(strings.NewReader(whole))
	header, err := reader.Read()
	if errors.Is(err, io.EOF) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	at := slices.Index(header, column)
	if at < 0 {
		return 0, fmt.Errorf("it has no column %q", column)
	}
	peak := 0
	for {
		row, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return peak, nil
		}
		if err != nil {
			return 0, err
		}
		n, err := strconv.Atoi(row[at])
		if err != nil {
			return 0, err
		}
		peak = max(peak, n)
	}
}
