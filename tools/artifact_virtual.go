package tools

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/llama-agent/llama-agent/artifacts"
)

// Inline marks the Data of a result that is meant to be read at once, because it was asked for piece by piece: embedded in it, it
// keeps a [Virtualizer] from storing the result again.
type Inline struct{}

func (Inline) inline() {}

// Archive is what of a result is worth storing.
type Archive struct {
	Content     []byte
	ContentType string // a media type
	Name        string // what it is about, such as a path
	Facts       any    // an object whose scalar fields are facts; see [artifacts.FactsOf]
}

// An Archiver is the Data of a result whose content is something else than its text. Without it the text is stored, and the facts
// are those of the Data.
type Archiver interface {
	Archive() Archive
}

// A Virtualizer keeps large results outside the prompt: it stores them and puts a descriptor in their place. It is safe for
// concurrent use.
type Virtualizer struct {
	Store *artifacts.Store
	// InlineMaxBytes is the largest text that stays as it is.
	InlineMaxBytes int64
	Limits         artifacts.Limits
}

// VirtualResult is the Data of a result that was stored.
type VirtualResult struct {
	ArtifactSummary
	Near bool `json:"near,omitempty"` // the text shows a line that is likely to be what the result is needed for
}

// Apply returns a result as the model should see it. One whose text is not larger than InlineMaxBytes, or that is [Inline], comes
// back unchanged, with no artifact. Of a larger one the content is stored for the owner; the text becomes a descriptor, and the
// Data a [VirtualResult]. The arguments are those of the call, in canonical form; about says what the result is needed for, and
// chooses which lines the descriptor shows.
//
// When the content cannot be stored, the result comes back unchanged beside the error, so that nothing is lost.
func (v *Virtualizer) Apply(ctx context.Context, owner, tool string, args json.RawMessage, about string, r Result) (Result, *artifacts.Artifact, error) {
	if int64(len(r.Text)) <= v.InlineMaxBytes {
		return r, nil, nil
	}
	if _, ok := r.Data.(interface{ inline() }); ok {
		return r, nil, nil
	}
	archive := archiveOf(r)
	facts, err := artifacts.FactsOf(archive.Facts)
	if err != nil {
		return r, nil, fmt.Errorf("describing a result of %s: %w", tool, err)
	}
	a, err := v.Store.Put(ctx, owner, artifacts.Source{
		Tool: tool, Name: archive.Name, Arguments: args, ContentType: archive.ContentType, Facts: facts,
	}, archive.Content)
	if err != nil {
		return r, nil, fmt.Errorf("storing a large result of %s: %w", tool, err)
	}
	text, near := artifacts.Describe(a, archive.Content, v.Limits, about)
	return Result{Data: VirtualResult{artifactSummaryOf(a), near}, Text: text}, &a, nil
}

func archiveOf(r Result) Archive {
	if archiver, ok := r.Data.(Archiver); ok {
		return archiver.Archive()
	}
	return Archive{Content: []byte(r.Text), ContentType: "text/plain", Facts: r.Data}
}

// Archive returns the text of the file.
func (c FileContent) Archive() Archive {
	name := c.Path
	switch {
	case c.StartLine > 1:
		name += fmt.Sprintf(" from line %d", c.StartLine)
	case c.Offset > 0:
		name += fmt.Sprintf(" from byte %d", c.Offset)
	}
	content := []byte(c.Content)
	c.Content = ""
	return Archive{Content: content, ContentType: "text/plain", Name: name, Facts: c}
}

// Archive returns the rows as CSV, with the column names first.
func (q QueryResult) Archive() Archive {
	var b strings.Builder
	w := csv.NewWriter(&b)
	_ = w.Write(q.Columns) // writing to a strings.Builder cannot fail
	record := make([]string, 0, len(q.Columns))
	for _, row := range q.Rows {
		record = record[:0]
		for _, cell := range row {
			record = append(record, csvCell(cell))
		}
		_ = w.Write(record)
	}
	w.Flush()
	return Archive{Content: []byte(b.String()), ContentType: "text/csv", Name: q.DBPath, Facts: struct {
		DBPath    string `json:"db_path"`
		Columns   string `json:"columns"`
		Rows      int    `json:"rows"`
		TotalRows *int   `json:"total_rows"`
		Truncated bool   `json:"truncated"`
	}{q.DBPath, strings.Join(q.Columns, ", "), len(q.Rows), q.TotalRows, q.Truncated}}
}

// csvCell writes a value exactly; NULL is an empty field.
func csvCell(cell any) string {
	switch v := cell.(type) {
	case nil:
		return ""
	case BlobValue:
		return cellText(v)
	}
	return fmt.Sprint(cell)
}
