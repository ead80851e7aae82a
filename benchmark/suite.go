package benchmark

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
)

// Suite is a set of tasks with what is expected of each.
type Suite struct {
	Name         string `json:"name"`
	Seed         int    `json:"seed"` // of the first repetition; default 42
	WarmupRuns   int    `json:"warmup_runs"`
	MeasuredRuns int    `json:"measured_runs"`
	Cases        []Case `json:"cases"`
}

// Case is one task. Expectations that are left out hold always.
type Case struct {
	ID       string `json:"case_id"`
	Category string `json:"category"`
	Goal     string `json:"goal"`

	ExpectedStatus             string     `json:"expected_status"`               // default "done"
	ExpectedContains           []string   `json:"expected_contains"`             // all of these in the answer
	ExpectedAny                [][]string `json:"expected_any"`                  // of each list, one in the answer
	ExpectedToolResultContains []string   `json:"expected_tool_result_contains"` // all of these in the results of tools
	ExpectedTools              []string   `json:"expected_tools"`                // all of these were called
	ExpectedToolSequence       []string   `json:"expected_tool_sequence"`        // in this order, others in between allowed
	ForbiddenTools             []string   `json:"forbidden_tools"`
	MinToolCalls               int        `json:"min_tool_calls"`
	MaxToolCalls               *int       `json:"max_tool_calls"`

	Metadata Metadata `json:"metadata"`
}

// Metadata says what a case runs on.
type Metadata struct {
	FixtureDir string `json:"fixture_dir"` // the workspace, relative to the repository
	Stable     bool   `json:"stable"`      // right on every supported machine; part of the ordinary tests
}

// maxSuiteBytes bounds a suite file.
const maxSuiteBytes = 16 << 20

// Load reads a suite. Unknown keys and missing values are errors that name the case and the field.
func Load(path string) (*Suite, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("reading suite: %w", err)
	}
	if info.Size() > maxSuiteBytes {
		return nil, fmt.Errorf("reading suite %s: %d bytes, at most %d are read", path, info.Size(), maxSuiteBytes)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading suite: %w", err)
	}
	s, err := parse(data)
	if err != nil {
		return nil, fmt.Errorf("reading suite %s: %w", path, err)
	}
	return s, nil
}

func parse(data []byte) (*Suite, error) {
	var s Suite
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&s); err != nil {
		return nil, fmt.Errorf("line %d: %w", 1+bytes.Count(data[:min(int(dec.InputOffset()), len(data))], []byte("\n")), err)
	}
	s.Seed = cmp.Or(s.Seed, 42)
	s.MeasuredRuns = cmp.Or(s.MeasuredRuns, 1)
	return &s, s.validate()
}

func (s *Suite) validate() error {
	var errs []error
	if s.Name == "" {
		errs = append(errs, errors.New("name is missing"))
	}
	if len(s.Cases) == 0 {
		errs = append(errs, errors.New("cases is empty"))
	}
	seen := map[string]bool{}
	for i := range s.Cases {
		c := &s.Cases[i]
		c.ExpectedStatus = cmp.Or(c.ExpectedStatus, "done")
		switch {
		case c.ID == "":
			errs = append(errs, fmt.Errorf("cases[%d]: case_id is missing", i))
		case seen[c.ID]:
			errs = append(errs, fmt.Errorf("cases[%d]: case_id %q is there twice", i, c.ID))
		case c.Goal == "":
			errs = append(errs, fmt.Errorf("case %q: goal is missing", c.ID))
		case c.MaxToolCalls != nil && *c.MaxToolCalls < c.MinToolCalls:
			errs = append(errs, fmt.Errorf("case %q: max_tool_calls is below min_tool_calls", c.ID))
		}
		seen[c.ID] = true
	}
	return errors.Join(errs...)
}
