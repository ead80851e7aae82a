package benchmark

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// Limits of what a suite may ask for. They are far above what a measurement needs; more is a mistake in the suite.
const (
	minFixtureBytes  = 1 << 10
	maxFixtureBytes  = 64 << 20
	maxMediumFiles   = 99
	maxFillerTurns   = 500
	minFillerChars   = 40
	maxFillerChars   = 600
	maxMarkerBytes   = 400
	mediumFileBytes  = 6000
	fillerChars      = 160
	largeFixturePath = "journal.txt"
)

// namePattern is what IDs of cases and questions and names of rounds look like. They become names of folders.
var namePattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// placeholderPattern matches what is meant as a placeholder. Other text in braces may be part of a fixture.
var placeholderPattern = regexp.MustCompile(`\{(fixture|medium_file|log|db|config|document|incident)_[a-z0-9_]+\}`)

// complete checks the suite and fills in defaults and placeholders. lines are those of the fields in the file.
func (s *Suite) complete(lines map[string]int) error {
	var errs []error
	if s.Name == "" {
		errs = append(errs, errors.New("name is missing"))
	}
	if len(s.Cases) == 0 {
		errs = append(errs, errors.New("cases is empty"))
	}
	if s.WarmupRuns < 0 {
		errs = append(errs, fmt.Errorf("warmup_runs is %d; it cannot be negative", s.WarmupRuns))
	}
	if s.MeasuredRuns < 1 {
		errs = append(errs, fmt.Errorf("measured_runs is %d; at least one is needed", s.MeasuredRuns))
	}
	seen := map[string]bool{}
	scripts := map[string]error{}
	for i := range s.Cases {
		c := &s.Cases[i]
		wrong := func(format string, args ...any) {
			errs = append(errs, fmt.Errorf("line %d: "+format, append([]any{lines[fmt.Sprintf("cases[%d]", i)]}, args...)...))
		}
		// Cases become folders, and some file systems do not tell A from a.
		id := strings.ToLower(c.ID)
		switch {
		case c.ID == "":
			wrong("cases[%d]: case_id is missing", i)
		case seen[id]:
			wrong("cases[%d]: case_id %q is there twice", i, c.ID)
		default:
			err := c.complete(s.Seed, s.Workspaces)
			if err == nil {
				err = c.Metadata.checkDatabases(scripts)
			}
			if err != nil {
				wrong("case %q: %w", c.ID, err)
			}
		}
		seen[id] = true
	}
	return errors.Join(errs...)
}

func (c *Case) complete(seed int, workspaces map[string]Workspace) error {
	if !namePattern.MatchString(c.ID) {
		return errors.New("case_id must be 1 to 64 letters, digits, '.', '_' or '-', and begin with a letter or digit")
	}
	c.ExpectedStatus = cmp.Or(c.ExpectedStatus, "done")
	m := &c.Metadata
	if m.MediumFileCount == 0 {
		m.MediumFileCount = len(m.MediumFileMarkers)
	}
	if m.MediumFileCount > 0 {
		m.MediumFileSizeBytes = cmp.Or(m.MediumFileSizeBytes, mediumFileBytes)
	}
	if m.FixtureSizeBytes > 0 {
		m.FixtureMarkerPosition = cmp.Or(m.FixtureMarkerPosition, End)
	}
	if m.ConversationFillerTurns > 0 {
		m.ConversationFillerChars = cmp.Or(m.ConversationFillerChars, fillerChars)
	}
	if m.ConversationCorrectionTurn != "" {
		m.ConversationCorrectionAfter = cmp.Or(m.ConversationCorrectionAfter, 1+m.ConversationFillerTurns/2)
	}
	if err := m.addWorkspace(workspaces); err != nil {
		return err
	}
	for _, check := range []func() error{c.checkAsks, c.checkExpectations, m.checkLarge, m.checkMedium, m.checkFiles, m.checkConversation} {
		if err := check(); err != nil {
			return err
		}
	}
	return c.fillIn(seed)
}

// checkAsks sees that the case has one thing to ask.
func (c *Case) checkAsks() error {
	asks := 0
	for _, has := range []bool{c.Goal != "", len(c.Turns) > 0, c.Metadata.ConversationSeedTurn != ""} {
		if has {
			asks++
		}
	}
	switch {
	case asks == 0:
		return errors.New("goal is missing; a case has a goal, turns, or metadata.conversation_seed_turn")
	case asks > 1:
		return errors.New("goal, turns and metadata.conversation_seed_turn exclude each other")
	case slices.ContainsFunc(c.Turns, blank):
		return errors.New("turns has an empty turn")
	}
	return nil
}

func (m *Metadata) checkLarge() error {
	switch {
	case m.FixtureSizeBytes == 0 && (m.FixtureMarker != "" || m.FixtureMarkerPosition != ""):
		return errors.New("fixture_marker needs fixture_size_bytes")
	case m.FixtureSizeBytes == 0:
		return nil
	case m.FixtureSizeBytes < minFixtureBytes || m.FixtureSizeBytes > maxFixtureBytes:
		return fmt.Errorf("fixture_size_bytes is %d, allowed are %d to %d", m.FixtureSizeBytes, minFixtureBytes, maxFixtureBytes)
	case m.FixtureMarkerPosition != End && m.FixtureMarkerPosition != Middle:
		return fmt.Errorf("fixture_marker_position is %q, allowed are %q and %q", m.FixtureMarkerPosition, End, Middle)
	}
	return checkMarker("fixture_marker", m.FixtureMarker)
}

func (m *Metadata) checkMedium() error {
	switch {
	case m.MediumFileCount == 0 && m.MediumFileSizeBytes != 0:
		return errors.New("medium_file_size_bytes needs medium_file_markers")
	case m.MediumFileCount == 0:
		return nil
	case m.MediumFileCount != len(m.MediumFileMarkers):
		return fmt.Errorf("medium_file_fixture_count is %d, but medium_file_markers has %d", m.MediumFileCount, len(m.MediumFileMarkers))
	case m.MediumFileCount > maxMediumFiles:
		return fmt.Errorf("medium_file_fixture_count is %d, at most %d are made", m.MediumFileCount, maxMediumFiles)
	case m.MediumFileSizeBytes < minFixtureBytes || m.MediumFileSizeBytes > maxFixtureBytes:
		return fmt.Errorf("medium_file_size_bytes is %d, allowed are %d to %d", m.MediumFileSizeBytes, minFixtureBytes, maxFixtureBytes)
	}
	for i, marker := range m.MediumFileMarkers {
		if err := checkMarker(fmt.Sprintf("medium_file_markers[%d]", i), marker); err != nil {
			return err
		}
		if slices.Contains(m.MediumFileMarkers[:i], marker) {
			return fmt.Errorf("medium_file_markers[%d] is there twice", i)
		}
	}
	return nil
}

func checkMarker(field, marker string) error {
	if blank(marker) || strings.ContainsAny(marker, "\r\n") || len(marker) > maxMarkerBytes {
		return fmt.Errorf("%s must be one line of 1 to %d bytes", field, maxMarkerBytes)
	}
	return nil
}

func (m *Metadata) checkFiles() error {
	made := m.mediumPaths()
	if m.FixtureSizeBytes > 0 {
		made = append(made, largeFixturePath)
	}
	if m.DocumentFixture {
		made = append(made, documentPath)
	}
	if m.IncidentFixture {
		made = append(made, incidentLogPath, incidentDBPath, incidentConfigPath)
	}
	given := []struct {
		field string
		names []string
	}{{"fixture_databases", sortedKeys(m.FixtureDatabases)}, {"fixture_files", sortedKeys(m.FixtureFiles)}}
	for _, g := range given {
		for _, name := range g.names {
			if !filepath.IsLocal(name) || path.Clean(name) != name || name == "." || strings.Contains(name, `\`) {
				return fmt.Errorf("%s: %q is no clean relative path with slashes", g.field, name)
			}
			for _, other := range made {
				switch {
				case other == name:
					return fmt.Errorf("%s: %q is also the name of a file that is made", g.field, name)
				case strings.HasPrefix(other, name+"/") || strings.HasPrefix(name, other+"/"):
					return fmt.Errorf("%s: %q and %q cannot both be files", g.field, name, other)
				}
			}
			made = append(made, name)
		}
	}
	if m.FixtureDir != "" && !filepath.IsLocal(m.FixtureDir) {
		return fmt.Errorf("fixture_dir %q is no path inside the repository", m.FixtureDir)
	}
	return nil
}

// checkDatabases runs the SQL of the case's databases, but for what is among the results already.
func (m *Metadata) checkDatabases(results map[string]error) error {
	for _, name := range sortedKeys(m.FixtureDatabases) {
		script := m.FixtureDatabases[name]
		err, known := results[script]
		if !known {
			_, err = databaseFile(script)
			results[script] = err
		}
		if err != nil {
			return fmt.Errorf("fixture_databases: %q: %w", name, err)
		}
	}
	return nil
}

// addWorkspace takes the files of the workspace that the case names into the case.
func (m *Metadata) addWorkspace(workspaces map[string]Workspace) error {
	if m.Workspace == "" {
		return nil
	}
	shared, known := workspaces[m.Workspace]
	if !known {
		return fmt.Errorf("workspace %q is not among the workspaces of the suite: %s", m.Workspace, strings.Join(sortedKeys(workspaces), ", "))
	}
	add := func(field string, to *Texts, from Texts) error {
		merged := Texts{}
		maps.Copy(merged, *to)
		for _, name := range sortedKeys(from) {
			if _, twice := merged[name]; twice {
				return fmt.Errorf("%s: %q is also in workspace %q", field, name, m.Workspace)
			}
			merged[name] = from[name]
		}
		if len(merged) > 0 {
			*to = merged
		}
		return nil
	}
	if err := add("fixture_files", &m.FixtureFiles, shared.Files); err != nil {
		return err
	}
	return add("fixture_databases", &m.FixtureDatabases, shared.Databases)
}

func (m *Metadata) checkConversation() error {
	if m.ConversationSeedTurn == "" {
		if m.ConversationFillerTurns != 0 || m.ConversationFillerChars != 0 || m.ConversationCorrectionTurn != "" ||
			m.ConversationCorrectionAfter != 0 || m.ConversationFinalTurn != "" || len(m.ConversationFinalTurns) > 0 {
			return errors.New("the conversation has no conversation_seed_turn")
		}
		return nil
	}
	switch {
	case (m.ConversationFinalTurn == "") == (len(m.ConversationFinalTurns) == 0):
		return errors.New("a conversation has either conversation_final_turn or conversation_final_turns")
	case m.ConversationFillerTurns < 0 || m.ConversationFillerTurns > maxFillerTurns:
		return fmt.Errorf("conversation_filler_turns is %d, allowed are 0 to %d", m.ConversationFillerTurns, maxFillerTurns)
	case m.ConversationFillerTurns == 0 && m.ConversationFillerChars != 0:
		return errors.New("conversation_filler_chars needs conversation_filler_turns")
	case m.ConversationFillerTurns > 0 && (m.ConversationFillerChars < minFillerChars || m.ConversationFillerChars > maxFillerChars):
		return fmt.Errorf("conversation_filler_chars is %d, allowed are %d to %d", m.ConversationFillerChars, minFillerChars, maxFillerChars)
	case m.ConversationCorrectionTurn == "" && m.ConversationCorrectionAfter != 0:
		return errors.New("conversation_correction_after needs conversation_correction_turn")
	case m.ConversationCorrectionTurn != "" && (m.ConversationCorrectionAfter < 1 || m.ConversationCorrectionAfter > 1+m.ConversationFillerTurns):
		return fmt.Errorf("conversation_correction_after is %d, allowed are 1 to %d", m.ConversationCorrectionAfter, 1+m.ConversationFillerTurns)
	}
	seen := map[string]bool{}
	for i, q := range m.ConversationFinalTurns {
		switch {
		case !namePattern.MatchString(q.ID):
			return fmt.Errorf("conversation_final_turns[%d]: question_id must be 1 to 64 letters, digits, '.', '_' or '-'", i)
		case seen[q.ID]:
			return fmt.Errorf("conversation_final_turns[%d]: question_id %q is there twice", i, q.ID)
		case blank(q.Text):
			return fmt.Errorf("conversation_final_turns[%d]: text is missing", i)
		}
		seen[q.ID] = true
	}
	return nil
}

func blank(s string) bool { return strings.TrimSpace(s) == "" || !utf8.ValidString(s) }
