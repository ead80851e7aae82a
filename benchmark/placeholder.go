package benchmark

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// mediumPaths are the names of the files of prose, relative to the workspace.
func (m *Metadata) mediumPaths() []string {
	paths := make([]string, m.MediumFileCount)
	for i := range paths {
		paths[i] = fmt.Sprintf("site-%02d.md", i+1)
	}
	return paths
}

// fillIn puts the names of the case's files, and facts that stand in them, in the place of the placeholders, in every string of
// the case. A placeholder without a file is an error.
func (c *Case) fillIn(seed int) error {
	var pairs []string
	if c.Metadata.FixtureSizeBytes > 0 {
		pairs = append(pairs, "{fixture_path}", largeFixturePath)
	}
	for i, path := range c.Metadata.mediumPaths() {
		pairs = append(pairs, fmt.Sprintf("{medium_file_%d}", i+1), path)
	}
	facts := map[string]string{}
	if c.Metadata.IncidentFixture {
		pairs = append(pairs, "{log_path}", incidentLogPath, "{db_path}", incidentDBPath, "{config_path}", incidentConfigPath)
		maps.Copy(facts, newIncident(seed, c.ID, c.language()).facts())
	}
	if c.Metadata.DocumentFixture {
		pairs = append(pairs, "{document_path}", documentPath)
		maps.Copy(facts, newDocument(seed, c.ID, c.language()).facts)
	}
	for _, name := range sortedKeys(facts) {
		pairs = append(pairs, name, facts[name])
	}
	// In JSON every string is reached alike. The names and facts hold nothing that JSON would write differently.
	data, err := json.Marshal(c)
	if err != nil {
		return fmt.Errorf("filling in placeholders: %w", err)
	}
	text := strings.NewReplacer(pairs...).Replace(string(data))
	if left := placeholderPattern.FindString(text); left != "" {
		return fmt.Errorf("placeholder %s stands for no file of the case", left)
	}
	var filled Case
	if err := json.Unmarshal([]byte(text), &filled); err != nil {
		return fmt.Errorf("filling in placeholders: %w", err)
	}
	*c = filled
	return nil
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
