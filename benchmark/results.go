package benchmark

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Files of a folder of results that results are read from.
const (
	manifestFile = "manifest.json"
	samplesFile  = "task_results.jsonl"
)

// Limits of what is read. A manifest is a few KiB and a sample at most some hundred; more is another file.
const (
	maxManifestBytes = 16 << 20
	maxSampleBytes   = 64 << 20
)

// Errors of folders of results. They come inside a [ResultsError].
var (
	ErrSchemaVersion   = errors.New("benchmark: results of another schema version")
	ErrDuplicateSample = errors.New("benchmark: the same sample twice")
)

// ResultsError says what of a folder of results cannot be used.
type ResultsError struct {
	Path   string
	Line   int    // from 1; 0: it is about the file
	Field  string // empty: it is about the line or the file
	Err    error
	Remedy string
}

func (e *ResultsError) Error() string {
	where := e.Path
	if e.Line > 0 {
		where += fmt.Sprintf(":%d", e.Line)
	}
	if e.Field != "" {
		where += fmt.Sprintf(": field %q", e.Field)
	}
	return fmt.Sprintf("reading results: %s: %v; %s", where, e.Err, e.Remedy)
}

func (e *ResultsError) Unwrap() error { return e.Err }

// Results are what a folder of results holds: samples, and what they were measured with. Nothing changes them.
type Results struct {
	Manifest Manifest
	Samples  []Sample // in the order in which they were measured
	Notes    []string // what is odd and no error
}

// LoadResults reads a folder of results. A last line without its end, which a run that was killed leaves, is passed over and
// noted. What else cannot be used is a [ResultsError].
func LoadResults(dir string) (*Results, error) {
	m, err := loadManifest(filepath.Join(dir, manifestFile))
	if err != nil {
		return nil, err
	}
	r := &Results{Manifest: *m}
	path := filepath.Join(dir, samplesFile)
	f, err := openSamples(path)
	if err != nil {
		remedy := "check that the file can be read"
		if errors.Is(err, fs.ErrNotExist) {
			remedy = "the run ended before its first sample; go on with benchmark --resume " + dir
		}
		return nil, &ResultsError{Path: path, Err: reason(err), Remedy: remedy}
	}
	defer f.Close()
	if err := r.read(f, path, dir); err != nil {
		return nil, err
	}
	return r, nil
}

// errNoFile says that something else has the name of a file. To open it might wait for ever.
var errNoFile = errors.New("it is no file")

func openSamples(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errNoFile
	}
	return os.Open(path)
}

// reason is an error of the file system without the path, which is named anyway.
func reason(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}

func loadManifest(path string) (*Manifest, error) {
	fail := func(field string, err error, remedy string) (*Manifest, error) {
		return nil, &ResultsError{Path: path, Field: field, Err: err, Remedy: remedy}
	}
	const again = "name the folder of a run, or measure again"
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return fail("", reason(err), "name a folder that benchmark or ablation has written")
	case !info.Mode().IsRegular():
		return fail("", errNoFile, "name a folder that benchmark or ablation has written")
	case info.Size() > maxManifestBytes:
		return fail("", fmt.Errorf("it has %d bytes, at most %d are read", info.Size(), maxManifestBytes), again)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return fail("", reason(err), "check that the file can be read")
	}
	// First the version alone: the fields of another one may have other types.
	var version struct {
		SchemaVersion *int `json:"schema_version"`
	}
	if err := json.Unmarshal(data, &version); err != nil {
		return nil, jsonError(path, data, 0, err, again)
	}
	switch {
	case version.SchemaVersion == nil:
		return fail("schema_version", errors.New("is missing"), again)
	case *version.SchemaVersion != SchemaVersion:
		return fail("schema_version", fmt.Errorf("%w: it is %d, this program reads %d", ErrSchemaVersion, *version.SchemaVersion, SchemaVersion),
			"use the llama-agent that wrote it, or measure again")
	}
	var m Manifest
	if err := json.Unmarshal(data, &m); err != nil {
		return nil, jsonError(path, data, 0, err, again)
	}
	names := make([]string, len(m.Rounds))
	for i, round := range m.Rounds {
		names[i] = round.Name
	}
	for _, list := range []struct {
		field string
		names []string
	}{{"cases", m.Cases}, {"rounds", names}} {
		switch twice := firstTwice(list.names); {
		case len(list.names) == 0:
			return fail(list.field, errors.New("is empty"), again)
		case slices.Contains(list.names, ""):
			return fail(list.field, errors.New("has an empty name"), again)
		case twice != "":
			return fail(list.field, fmt.Errorf("has %q twice", twice), again)
		}
	}
	if m.MeasuredRuns < 1 {
		return fail("measured_runs", fmt.Errorf("is %d, it must be at least 1", m.MeasuredRuns), again)
	}
	return &m, nil
}

func firstTwice(names []string) string {
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			return name
		}
	}
	return ""
}

// jsonError tells line and field of an error of the decoder. Data are the lines from first; 0: it is the whole file.
func jsonError(path string, data []byte, first int, err error, remedy string) error {
	found := &ResultsError{Path: path, Line: max(first, 1), Err: err, Remedy: remedy}
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	offset := int64(0)
	switch {
	case errors.As(err, &syntax):
		offset = syntax.Offset
		found.Err = fmt.Errorf("it is no JSON: %w", err)
	case errors.As(err, &kind):
		offset = kind.Offset
		// An embedded struct has no name in the file.
		found.Field, found.Err = strings.ReplaceAll(kind.Field, "Cost.", ""), fmt.Errorf("it is a JSON %s, expected is %s", kind.Value, kind.Type)
	}
	if first == 0 {
		found.Line = 1 + bytes.Count(data[:min(int(offset), len(data))], []byte("\n"))
	}
	return found
}

// sampleKey tells samples apart.
type sampleKey struct {
	id, round  string
	repetition int
}

func (s *Sample) key() sampleKey { return sampleKey{s.Case, s.Round, s.Repetition} }

// read adds the samples of a file. The folder is named in what to do about a sample that cannot be used.
func (r *Results) read(file io.Reader, path, dir string) error {
	lines := map[sampleKey]int{}
	reader := bufio.NewReaderSize(file, 1<<16)
	remedy := "remove the line, and measure what is missing with benchmark --resume " + dir
	for number := 1; ; number++ {
		line, whole, err := nextLine(reader)
		switch {
		case err != nil:
			return &ResultsError{Path: path, Line: number, Err: err, Remedy: remedy}
		case !whole && len(line) > 0:
			r.Notes = append(r.Notes, fmt.Sprintf("the last line of %s (line %d, %d bytes) has no end and was passed over: the run was stopped while it wrote",
				samplesFile, number, len(line)))
			return nil
		case !whole:
			return nil
		case len(bytes.TrimSpace(line)) == 0:
			continue
		}
		var s Sample
		if err := json.Unmarshal(line, &s); err != nil {
			return jsonError(path, line, number, err, remedy)
		}
		if field, err := r.check(&s); err != nil {
			return &ResultsError{Path: path, Line: number, Field: field, Err: err, Remedy: remedy}
		}
		if before := lines[s.key()]; before > 0 {
			return &ResultsError{Path: path, Line: number, Remedy: remedy,
				Err: fmt.Errorf("%w: case %q, round %q, repetition %d is in line %d", ErrDuplicateSample, s.Case, s.Round, s.Repetition, before)}
		}
		lines[s.key()] = number
		r.Samples = append(r.Samples, s)
	}
}

// nextLine reads a line of at most maxSampleBytes. It is not whole when the file ends without an end of line.
func nextLine(reader *bufio.Reader) (line []byte, whole bool, err error) {
	for {
		part, err := reader.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > maxSampleBytes:
			return nil, false, fmt.Errorf("it is longer than %d bytes", maxSampleBytes)
		case err == nil:
			return line, true, nil
		case errors.Is(err, io.EOF):
			return line, false, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, false, reason(err)
		}
	}
}

// check tells which field of a sample cannot be.
func (r *Results) check(s *Sample) (field string, err error) {
	m := &r.Manifest
	if s.Case == "" {
		return "case_id", errors.New("is missing")
	}
	if !slices.Contains(m.Cases, s.Case) {
		return "case_id", fmt.Errorf("%q is no case of %s, which has %s", s.Case, manifestFile, listed(m.Cases))
	}
	if !slices.ContainsFunc(m.Rounds, func(round RoundInfo) bool { return round.Name == s.Round }) {
		return "round", fmt.Errorf("%q is no round of %s, which has %s", s.Round, manifestFile, listed(r.rounds()))
	}
	if s.Suite != m.Suite.Name {
		return "suite", fmt.Errorf("is %q, but that of %s is %q", s.Suite, manifestFile, m.Suite.Name)
	}
	if s.Repetition < 0 || s.Repetition >= m.MeasuredRuns {
		return "repetition", fmt.Errorf("is %d, but with measured_runs %d it is 0 to %d", s.Repetition, m.MeasuredRuns, m.MeasuredRuns-1)
	}
	if s.Right < 0 || s.Right > s.Judged {
		return "right", fmt.Errorf("is %d of %d judged answers", s.Right, s.Judged)
	}
	if s.Judged == 0 && s.ErrorClass == "" {
		return "judged", errors.New("is 0 although there is no error_class")
	}
	for _, n := range []struct {
		field string
		value int64
	}{
		{"input_tokens", int64(s.InputTokens)}, {"evaluated_tokens", int64(s.EvaluatedTokens)}, {"completion_tokens", int64(s.CompletionTokens)},
		{"peak_kv_tokens", int64(s.PeakKVTokens)}, {"checkpoint_bytes", s.CheckpointBytes}, {"database_bytes", s.DatabaseBytes},
		{"stored_bytes", s.StoredBytes}, {"peak_rss_bytes", s.PeakRSSBytes}, {"duration_ms", s.DurationMS}, {"model_load_ms", s.ModelLoadMS},
		{"model_calls", int64(s.ModelCalls)}, {"tool_calls", int64(s.ToolCalls)},
	} {
		if n.value < 0 {
			return n.field, fmt.Errorf("is %d, it cannot be negative", n.value)
		}
	}
	return "", nil
}

// listed names a few things.
func listed(names []string) string {
	const most = 8
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}

// rounds are the names of the rounds: those that everybody knows in their own order, whatever the order was in which they took
// turns, so that each is compared with the one that has less. Others follow as the manifest has them.
func (r *Results) rounds() []string {
	var names []string
	has := func(name string) bool {
		return slices.ContainsFunc(r.Manifest.Rounds, func(round RoundInfo) bool { return round.Name == name })
	}
	for _, round := range Rounds() {
		if has(round.Name) {
			names = append(names, round.Name)
		}
	}
	for _, round := range r.Manifest.Rounds {
		if !slices.Contains(names, round.Name) {
			names = append(names, round.Name)
		}
	}
	return names
}

// of are the samples of a case in a round, by repetition; an empty case stands for all, by case.
func (r *Results) of(id, round string) []*Sample {
	var chosen []*Sample
	for i := range r.Samples {
		if s := &r.Samples[i]; (id == "" || s.Case == id) && s.Round == round {
			chosen = append(chosen, s)
		}
	}
	slices.SortStableFunc(chosen, func(a, b *Sample) int {
		if a.Case != b.Case {
			return strings.Compare(a.Case, b.Case)
		}
		return a.Repetition - b.Repetition
	})
	return chosen
}

// incomplete is how many samples of the plan are missing.
func (r *Results) incomplete() int {
	return max(0, len(r.Manifest.Cases)*len(r.Manifest.Rounds)*r.Manifest.MeasuredRuns-len(r.Samples))
}
