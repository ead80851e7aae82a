package benchmark

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// Suite is a set of tasks with what is expected of each.
type Suite struct {
	Name         string `json:"name"`
	Seed         int    `json:"seed"`          // of the fixtures, and of the first repetition; default 42
	WarmupRuns   int    `json:"warmup_runs"`   // default 1
	MeasuredRuns int    `json:"measured_runs"` // default 5
	Cases        []Case `json:"cases"`

	// Workspaces are files that several cases share, by name. [Load] adds them to the files of each case that names them.
	Workspaces map[string]Workspace `json:"workspaces,omitempty"`
}

// Workspace is files by path, relative to the workspace of a case.
type Workspace struct {
	Files     Texts `json:"fixture_files,omitempty"`
	Databases Texts `json:"fixture_databases,omitempty"` // SQL that fills them
}

// Texts are texts by name. In a suite file each is a string, or, to be readable, a list of lines, each of which gets a line
// feed.
type Texts map[string]string

// UnmarshalJSON reads either form.
func (t *Texts) UnmarshalJSON(data []byte) error {
	var read map[string]textJSON
	if err := json.Unmarshal(data, &read); err != nil {
		return err
	}
	*t = make(Texts, len(read))
	for name, text := range read {
		(*t)[name] = string(text)
	}
	return nil
}

type textJSON string

func (t *textJSON) UnmarshalJSON(data []byte) error {
	if data[0] != '[' {
		return json.Unmarshal(data, (*string)(t))
	}
	var lines []string
	if err := json.Unmarshal(data, &lines); err != nil {
		return err
	}
	*t = ""
	for _, line := range lines {
		*t += textJSON(line + "\n")
	}
	return nil
}

// Case is one task: a goal, the turns of a conversation, or a conversation that the metadata describes. Expectations that are
// left out hold always. Those about the answer and the status judge the last turn, those about tools all turns.
type Case struct {
	ID       string   `json:"case_id"`
	Category string   `json:"category,omitempty"`
	Goal     string   `json:"goal,omitempty"`
	Turns    []string `json:"turns,omitempty"` // what the user says, one turn after the other

	ExpectedStatus             string     `json:"expected_status,omitempty"`               // default "done"; see [AnyStatus]
	ExpectedContains           []string   `json:"expected_contains,omitempty"`             // all of these in the answer
	ExpectedAny                [][]string `json:"expected_any,omitempty"`                  // of each list, one in the answer
	ExpectedToolResultContains []string   `json:"expected_tool_result_contains,omitempty"` // all of these in the results of tools
	ExpectedTools              []string   `json:"expected_tools,omitempty"`                // all of these were called
	ExpectedToolSequence       []string   `json:"expected_tool_sequence,omitempty"`        // in this order, others in between allowed
	ForbiddenTools             []string   `json:"forbidden_tools,omitempty"`
	MinToolCalls               int        `json:"min_tool_calls,omitempty"`
	MaxToolCalls               *int       `json:"max_tool_calls,omitempty"`
	MaxToolCallsPerTurn        []int      `json:"max_tool_calls_per_turn,omitempty"` // the last one holds for all later turns too
	FixturesUnchanged          bool       `json:"fixtures_unchanged,omitempty"`      // the workspace is afterwards as it was before

	Metadata Metadata `json:"metadata"`
}

// Metadata says what a case runs on: files that are made for it, and a conversation that comes before its question. Strings
// of a case may name the files as {fixture_path}, {medium_file_1}, {medium_file_2} and so on, {log_path}, {db_path},
// {config_path} and {document_path}; and what stands in those that are made up, as {incident_code} or {document_owner}.
type Metadata struct {
	FixtureDir       string `json:"fixture_dir,omitempty"`       // the workspace, relative to the repository
	FixtureFiles     Texts  `json:"fixture_files,omitempty"`     // texts by path, relative to the workspace
	FixtureDatabases Texts  `json:"fixture_databases,omitempty"` // SQL that fills a SQLite database, by its path
	Workspace        string `json:"workspace,omitempty"`         // of the suite's workspaces, whose files are added
	Stable           bool   `json:"stable,omitempty"`            // right on every supported machine; part of the ordinary tests

	IncidentFixture bool `json:"incident_fixture,omitempty"` // a log, a database and a configuration that tell one story
	DocumentFixture bool `json:"document_fixture,omitempty"` // a handbook in Markdown, of a few KiB

	// A large file of lines, one of which holds the marker.
	FixtureSizeBytes      int      `json:"fixture_size_bytes,omitempty"`
	FixtureMarker         string   `json:"fixture_marker,omitempty"`
	FixtureMarkerPosition Position `json:"fixture_marker_position,omitempty"` // default "end"

	// Files of prose. Each holds its marker as a line of its own, at a depth that differs from file to file.
	MediumFileCount     int      `json:"medium_file_fixture_count,omitempty"` // default: one for each marker
	MediumFileSizeBytes int      `json:"medium_file_size_bytes,omitempty"`    // default 6000
	MediumFileMarkers   []string `json:"medium_file_markers,omitempty"`

	// A conversation: a turn that states facts, turns about something else, maybe a correction, and a question at the end.
	ConversationSeedTurn        string     `json:"conversation_seed_turn,omitempty"`
	ConversationFillerTurns     int        `json:"conversation_filler_turns,omitempty"`
	ConversationFillerChars     int        `json:"conversation_filler_chars,omitempty"` // characters of each, about; default 160
	ConversationCorrectionTurn  string     `json:"conversation_correction_turn,omitempty"`
	ConversationCorrectionAfter int        `json:"conversation_correction_after,omitempty"` // which turn, from 1, the seed; default: the middle
	ConversationFinalTurn       string     `json:"conversation_final_turn,omitempty"`
	ConversationFinalTurns      []Question `json:"conversation_final_turns,omitempty"` // instead: several, each asked as if it were the only one
}

// Position is where in a file a marker stands.
type Position string

// Positions of a marker.
const (
	End    Position = "end"    // the last line
	Middle Position = "middle" // the line at half of the file's bytes
)

// Question is one of several last turns of a conversation. What its case expects is expected of each of them, too.
type Question struct {
	ID               string     `json:"question_id"`
	Text             string     `json:"text"`
	ExpectedContains []string   `json:"expected_contains,omitempty"`
	ExpectedAny      [][]string `json:"expected_any,omitempty"`
}

// Choose returns the cases with the IDs, each of which may be several with commas between, in the order of the suite; all
// without any ID.
func (s *Suite) Choose(ids ...string) ([]Case, error) {
	if len(ids) == 0 {
		return s.Cases, nil
	}
	var chosen []Case
	wanted := strings.Split(strings.Join(ids, ","), ",")
	for _, c := range s.Cases {
		if slices.Contains(wanted, c.ID) {
			chosen = append(chosen, c)
		}
	}
	for _, id := range wanted {
		if !slices.ContainsFunc(chosen, func(c Case) bool { return c.ID == id }) {
			return nil, fmt.Errorf("suite %s has no case %q", s.Name, id)
		}
	}
	return chosen, nil
}

// maxSuiteBytes bounds a suite file.
const maxSuiteBytes = 16 << 20

// Load reads a suite. What is wrong with it is named with line and field, all of it at once; see [SuiteProblem]. Cases that name
// tools which are not among the given ones are errors, too; without any, names of tools are not looked at.
func Load(path string, tools ...string) (*Suite, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading suite: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxSuiteBytes+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("reading suite: %w", err)
	case len(data) > maxSuiteBytes:
		return nil, fmt.Errorf("reading suite %s: it has more than %d bytes", path, maxSuiteBytes)
	}
	s, err := parse(data)
	if err == nil && len(tools) > 0 {
		err = s.CheckTools(tools)
	}
	if err != nil {
		return nil, fmt.Errorf("reading suite %s: %w", path, err)
	}
	return s, nil
}

func parse(data []byte) (*Suite, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	lines, err := checkSchema(data)
	if err != nil {
		return nil, err
	}
	s := Suite{Seed: 42, WarmupRuns: 1, MeasuredRuns: 5}
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, err
	}
	if err := s.complete(lines); err != nil {
		return nil, err
	}
	return &s, nil
}
