package benchmark

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"
)

// Fixture is a file of a workspace.
type Fixture struct {
	Path string // relative to the workspace, with slashes
	Text string
}

// Fixtures returns the files that the case describes, those of FixtureDir not among them. The same seed gives the same bytes.
func (c *Case) Fixtures(seed int) ([]Fixture, error) {
	m := &c.Metadata
	var files []Fixture
	if m.FixtureSizeBytes > 0 {
		text := journal(seed, c.ID, m)
		if n := strings.Count(text, m.FixtureMarker); n != 1 {
			return nil, fmt.Errorf("making %s of case %q: its text has the marker %q %d times; choose another one", largeFixturePath, c.ID, m.FixtureMarker, n)
		}
		files = append(files, Fixture{largeFixturePath, text})
	}
	depths := random(seed, c.ID, "depths").Perm(m.MediumFileCount)
	for i, path := range m.mediumPaths() {
		// From a tenth to nine tenths of the file, spread evenly over the files, in no order that a reader could guess.
		depth := 0.1 + 0.8*(float64(depths[i])+0.5)/float64(m.MediumFileCount)
		marker := m.MediumFileMarkers[i]
		text := siteNotes(seed, c.ID, path, marker, m.MediumFileSizeBytes, depth)
		if n := strings.Count(text, marker); n != 1 {
			return nil, fmt.Errorf("making %s of case %q: its text has the marker %q %d times; choose another one", path, c.ID, marker, n)
		}
		files = append(files, Fixture{path, text})
	}
	if m.DocumentFixture {
		files = append(files, Fixture{documentPath, newDocument(seed, c.ID, c.language()).text})
	}
	if m.IncidentFixture {
		made, err := newIncident(seed, c.ID, c.language()).fixtures()
		if err != nil {
			return nil, fmt.Errorf("making the incident of case %q: %w", c.ID, err)
		}
		files = append(files, made...)
	}
	for _, name := range sortedKeys(m.FixtureDatabases) {
		data, err := databaseFile(m.FixtureDatabases[name])
		if err != nil {
			return nil, fmt.Errorf("making %s of case %q: %w", name, c.ID, err)
		}
		files = append(files, Fixture{name, string(data)})
	}
	for _, name := range sortedKeys(m.FixtureFiles) {
		files = append(files, Fixture{name, m.FixtureFiles[name]})
	}
	return files, nil
}

// language is that of what the case says.
func (c *Case) language() *language {
	return languageOf(c.Goal + strings.Join(c.Turns, "") + c.Metadata.ConversationSeedTurn)
}

// journal is a text of lines with time stamps, of exactly the size in bytes, one of which holds the marker.
func journal(seed int, name string, m *Metadata) string {
	rng := random(seed, name, largeFixturePath)
	l := languageOf(m.FixtureMarker)
	p := prose{language: l, forms: l.Lines, rng: rng}
	clock := time.Date(2031, time.January, 6, 5, 0, 0, 0, time.UTC)
	stamped := func(text string) string {
		clock = clock.Add(time.Duration(20+rng.IntN(400)) * time.Second)
		return clock.Format("2006-01-02 15:04:05 ") + text + "\n"
	}
	line := func() string { return stamped(p.sentence()) }

	var b strings.Builder
	b.Grow(m.FixtureSizeBytes)
	markerBytes := len(time.DateTime) + 1 + len(m.FixtureMarker) + 1
	if m.FixtureMarkerPosition == End {
		fill(&b, m.FixtureSizeBytes-markerBytes, line)
		b.WriteString(stamped(m.FixtureMarker))
		return b.String()
	}
	for b.Len() < (m.FixtureSizeBytes-markerBytes)/2 {
		b.WriteString(line())
	}
	b.WriteString(stamped(m.FixtureMarker))
	fill(&b, m.FixtureSizeBytes, line)
	return b.String()
}

// siteNotes is a text of paragraphs, of exactly size bytes, with the marker as a line of its own at about depth, a share of
// the size.
func siteNotes(seed int, name, path, marker string, size int, depth float64) string {
	l := languageOf(marker)
	p := prose{language: l, forms: l.Sentences, rng: random(seed, name, path)}
	paragraph := func() string {
		sentences := make([]string, 2+p.rng.IntN(3))
		for i := range sentences {
			sentences[i] = p.sentence()
		}
		space := " "
		if strings.HasSuffix(sentences[0], "。") {
			space = ""
		}
		return strings.Join(sentences, space) + "\n\n"
	}
	var b strings.Builder
	b.WriteString("# " + p.fill(p.Heading) + "\n\n")
	for b.Len() < int(depth*float64(size))-len(marker) {
		next := paragraph()
		if b.Len()+len(next)+len(marker)+2 > size {
			break
		}
		b.WriteString(next)
	}
	b.WriteString(marker + "\n\n")
	fill(&b, size, paragraph)
	return b.String()
}

// fill appends pieces until b has exactly size bytes. The last piece is cut between characters, and made up with full stops.
// A size that b has passed already is left alone.
func fill(b *strings.Builder, size int, piece func() string) {
	for b.Len() < size {
		next := piece()
		room := size - b.Len()
		if len(next) <= room {
			b.WriteString(next)
			continue
		}
		keep := room - 1
		for keep > 0 && !utf8.RuneStart(next[keep]) {
			keep--
		}
		cut := strings.TrimRight(next[:keep], "\n ")
		b.WriteString(cut + strings.Repeat(".", room-1-len(cut)) + "\n")
	}
}

// writeFixtures makes the workspace: a copy of the case's folder in the repository, then the files that are made for it. A
// file that both have is an error.
func (c *Case) writeFixtures(workspace, repository string, seed int) error {
	files, err := c.Fixtures(seed)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(workspace, 0o755); err != nil {
		return fmt.Errorf("making the workspace of case %q: %w", c.ID, err)
	}
	if c.Metadata.FixtureDir != "" {
		from := filepath.Join(repository, filepath.FromSlash(c.Metadata.FixtureDir))
		// Stores of an agent that was tried out in the folder are no part of it.
		if err := copyFolder(from, workspace, "data"); err != nil {
			return fmt.Errorf("copying the fixture_dir of case %q: %w", c.ID, err)
		}
	}
	for _, f := range files {
		path := filepath.Join(workspace, filepath.FromSlash(f.Path))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return fmt.Errorf("making fixture %s of case %q: %w", f.Path, c.ID, err)
		}
		if err := writeNew(path, []byte(f.Text)); err != nil {
			return fmt.Errorf("making fixture %s of case %q: %w", f.Path, c.ID, err)
		}
	}
	return nil
}

// copyFolder copies the files below from to the folder to, without the entry called without at its top. What is neither file
// nor folder is an error: a link could lead out of the workspace.
func copyFolder(from, to, without string) error {
	return filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, name)
		switch {
		case name == without && entry.IsDir():
			return filepath.SkipDir
		case name == without:
			return nil
		case entry.IsDir():
			return os.MkdirAll(target, 0o755)
		case !entry.Type().IsRegular():
			return &fs.PathError{Op: "copy", Path: path, Err: errors.New("it is neither a file nor a folder")}
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return writeNew(target, data)
	})
}

// writeNew writes a file that must not be there yet.
func writeNew(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}
