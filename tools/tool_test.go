package tools

import (
	"compress/gzip"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/require"
)

func TestSubjectOfAKind(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]Subject{
		"text": SubjectText, "empty": SubjectText, "gzip": SubjectText, "sqlite": SubjectDatabase, "folder": SubjectFolder,
		"binary": SubjectOther, "": SubjectOther, "database": SubjectOther,
	} {
		require.Equal(t, want, SubjectOf(kind, "prices.csv"), kind)
	}
	for file, want := range map[string]Subject{
		"app.log": SubjectLog, "logs/app.json": SubjectLog, "catalog.csv": SubjectText, "CHANGELOG.md": SubjectText, "web-log.csv": SubjectLog, "out.txt": SubjectLog, "messages": SubjectLog, "app.log.1": SubjectLog,
		"syslog.gz": SubjectLog, "run.jsonl": SubjectLog, "prices.csv": SubjectText, "prices.CSV": SubjectText, "prices.csv.gz": SubjectText, "src/main.py": SubjectText,
	} {
		require.Equal(t, want, SubjectOf("text", file), file)
	}
}

func TestPathNamesARequiredArgument(t *testing.T) {
	t.Parallel()
	served := map[Subject]bool{}
	for _, spec := range builtins(t, t.TempDir()).Specs() {
		require.NotEmpty(t, spec.Takes, spec.Name)
		for _, subject := range spec.Takes {
			require.Contains(t, []Subject{SubjectText, SubjectLog, SubjectTable, SubjectDatabase, SubjectOther, SubjectFolder, SubjectNone}, subject, spec.Name)
			served[subject] = true
		}
		if spec.Path == "" {
			continue
		}
		require.Contains(t, spec.Parameters.Required, spec.Path, spec.Name)
		require.Equal(t, "string", spec.Parameters.Properties[spec.Path].Type, spec.Name)
		require.Contains(t, spec.Essential().Properties, spec.Path, spec.Name)
		require.NotContains(t, spec.Takes, SubjectNone, "%s needs a file", spec.Name)
	}
	require.Len(t, served, 7, "there is a tool for every subject")
}

// A tool that takes a subject works on it, and one that does not says that another is for it.
func TestToolsTakeWhatTheySay(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"a.txt": "INFO one\ntwo\n", "empty": "", "folder/b.txt": "one\n", "c.png": "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x01"})
	makeDatabase(t, filepath.Join(dir, "d.db"), "CREATE TABLE t (x)")
	f, err := os.Create(filepath.Join(dir, "e.gz"))
	require.NoError(t, err)
	zipped := gzip.NewWriter(f)
	_, err = zipped.Write([]byte("INFO one\n"))
	require.NoError(t, err)
	require.NoError(t, zipped.Close())
	require.NoError(t, f.Close())

	files := map[string]Subject{
		"a.txt": SubjectLog, "empty": SubjectLog, "e.gz": SubjectLog, "folder/": SubjectFolder, "c.png": SubjectOther, "d.db": SubjectDatabase,
	}
	rest := map[string]map[string]any{"search_file": {"query": "one"}, "query_sqlite": {"query": "SELECT 1"}, "get_log_window": {"line_number": 1}}
	r := builtins(t, dir)
	for _, spec := range r.Specs() {
		if spec.Path == "" {
			continue
		}
		for file, subject := range files {
			args := map[string]any{spec.Path: file}
			for name, value := range rest[spec.Name] {
				args[name] = value
			}
			if spec.Fits(subject) {
				mustCall(t, r, spec.Name, args)
				continue
			}
			if file == "empty" {
				continue // it is an empty database as well
			}
			callError(t, r, spec.Name, args, KindWrongKind)
		}
	}
}

func TestEssentialMayBeCutDownByItsOwner(t *testing.T) {
	t.Parallel()
	for _, spec := range builtins(t, t.TempDir()).Specs() {
		before, err := json.Marshal(spec)
		require.NoError(t, err)
		required, order := slices.Clone(spec.Parameters.Required), slices.Clone(spec.Parameters.PropertyOrder)
		essential := spec.Essential()
		spoil(essential)
		for name, p := range essential.Properties {
			spoil(p)
			delete(essential.Properties, name)
		}
		after, err := json.Marshal(spec)
		require.NoError(t, err)
		require.Equal(t, string(before), string(after), spec.Name)
		require.Equal(t, required, spec.Parameters.Required, spec.Name)
		require.Equal(t, order, spec.Parameters.PropertyOrder, spec.Name)
	}
}

// spoil overwrites the fields of a schema, and the names that it lists.
func spoil(s *jsonschema.Schema) {
	for _, list := range [][]string{s.Required, s.PropertyOrder} {
		for i := range list {
			list[i] = "spoilt"
		}
	}
	s.Type, s.Description, s.Default, s.Enum, s.MinLength, s.Maximum = "", "spoilt", nil, nil, nil, nil
}
