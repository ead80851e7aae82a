package tools

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/llama-agent/llama-agent/artifacts"
)

// ArtifactOptions configure the artifact tools. Zero fields take the defaults.
type ArtifactOptions struct {
	// Store holds the artifacts. It is required.
	Store *artifacts.Store
	// Owner tells whose artifacts a call may see, by its context: the conversation or thread that it is made for. It is
	// required; an empty owner has no artifacts.
	Owner            func(ctx context.Context) string
	MaxRetrieveBytes int64 // of content that a page or all matches of a search hold; 8192
	MaxMatches       int   // the most that search_artifact shows; 10
	PreviewChars     int   // of content that get_artifact_summary shows; 1200
}

func (o ArtifactOptions) withDefaults() ArtifactOptions {
	o.MaxRetrieveBytes = cmp.Or(o.MaxRetrieveBytes, artifacts.DefaultPageBytes)
	o.MaxMatches = cmp.Or(o.MaxMatches, artifacts.DefaultMatches)
	o.PreviewChars = cmp.Or(o.PreviewChars, artifacts.DefaultLimits().PreviewChars)
	return o
}

// Artifacts returns the tools get_artifact_summary, search_artifact and retrieve_artifact. They only read, and only what belongs to
// the owner of the call: an artifact of somebody else gives the same answer as one that does not exist. Their results are
// [Inline].
func Artifacts(options ArtifactOptions) []Tool {
	s := &artifactStore{options: options.withDefaults()}
	return []Tool{artifactSummaryTool(s), searchArtifactTool(s), retrieveArtifactTool(s)}
}

// An artifactStore is a store as one family of tools sees it.
type artifactStore struct{ options ArtifactOptions }

// artifactReference reads what a model wrote as a reference: it may stand in quotes or brackets, or at the end of a sentence.
func artifactReference(written string) string {
	trimmed := strings.Trim(written, " \t\r\n\"'`<>()[]{}.,;:")
	if ref, ok := artifacts.ParseRef(trimmed); ok {
		return ref
	}
	return written
}

// problem makes an Error of one of the store.
func (s *artifactStore) problem(ctx context.Context, owner, written string, err error) error {
	if damaged, ok := errors.AsType[*artifacts.DamagedError](err); ok {
		return &Error{
			Kind:    KindFailed,
			Message: fmt.Sprintf("the stored content of %s cannot be used: %s", damaged.Artifact.Ref, damaged.Reason),
			Fix:     fmt.Sprintf("call %s again to get a new result", damaged.Artifact.Tool),
		}
	}
	if wrong, ok := errors.AsType[*artifacts.RangeError](err); ok {
		return &Error{Kind: KindInvalidArguments, Message: wrong.Artifact.Ref + ": " + wrong.Reason, Fix: wrong.Fix}
	}
	if wrong, ok := errors.AsType[*artifacts.QueryError](err); ok {
		return &Error{Kind: KindInvalidArguments, Message: wrong.Reason, Fix: wrong.Fix}
	}
	if errors.Is(err, artifacts.ErrUnknown) || errors.Is(err, artifacts.ErrOwner) {
		return s.unknown(ctx, owner, written)
	}
	return toolError("reading stored results", err)
}

// unknown names the artifacts that there are. It depends on what the owner has and on what was written, and on nothing else: whether
// somebody else has such an artifact cannot be learnt from it.
func (s *artifactStore) unknown(ctx context.Context, owner, written string) error {
	const shown = 5
	out := &Error{Kind: KindNotFound, Message: fmt.Sprintf("there is no artifact %q", clip(written, 80))}
	list, err := s.options.Store.List(ctx, owner, shown+1)
	if err != nil || len(list) == 0 {
		out.Fix = "no result is stored; call the tool that gives what you need"
		return out
	}
	var refs, described []string
	for _, a := range list[:min(shown, len(list))] {
		refs = append(refs, a.Ref)
		about := a.Tool
		if a.Name != "" {
			about += " " + clip(a.Name, 60)
		}
		described = append(described, fmt.Sprintf("%s (%s)", a.Ref, about))
	}
	out.Fix = "the stored results are " + strings.Join(described, ", ")
	if len(list) > shown {
		out.Fix += " and older ones"
	}
	if near := nearest(strings.TrimPrefix(written, "artifact://"), bareReferences(refs), 1); len(near) > 0 {
		out.Fix = fmt.Sprintf("did you mean artifact://%s? %s", near[0], out.Fix)
	}
	out.Data = map[string]any{"artifacts": refs}
	return out
}

// bareReferences returns references without their scheme.
func bareReferences(refs []string) []string {
	out := make([]string, len(refs))
	for i, ref := range refs {
		out[i] = strings.TrimPrefix(ref, "artifact://")
	}
	return out
}

// unreadableArtifact refuses content that is no text.
func unreadableArtifact(a artifacts.Artifact) *Error {
	return &Error{
		Kind:    KindWrongKind,
		Message: fmt.Sprintf("%s is not text: it is %s (%s)", a.Ref, a.Encoding, a.ContentType),
		Fix:     fmt.Sprintf("call %s in a way that gives text", a.Tool),
	}
}

// artifactOrigin says where an artifact comes from: "read_file big.log".
func artifactOrigin(a artifacts.Artifact) string {
	if a.Name == "" {
		return a.Tool
	}
	return a.Tool + " " + clip(a.Name, 80)
}

type artifactSummaryArgs struct {
	ArtifactID string `json:"artifact_id" jsonschema:"reference of the stored result, such as artifact://abcd2345" arg:"minlen=1,maxlen=100"`
}

// ArtifactSummary is the Data of get_artifact_summary.
type ArtifactSummary struct {
	Inline
	ArtifactID  string            `json:"artifact_id"`
	Tool        string            `json:"tool"`
	Name        string            `json:"name,omitempty"`
	ContentType string            `json:"content_type"`
	Encoding    string            `json:"encoding"`
	Bytes       int64             `json:"bytes"`
	Lines       int               `json:"lines"`
	SHA256      string            `json:"sha256"`
	Facts       map[string]string `json:"facts,omitempty"`
}

func artifactSummaryTool(s *artifactStore) Tool {
	return mustFunc(Spec{
		Name:        "get_artifact_summary",
		Description: "Tells what a stored large result is: its size, its facts, its beginning and its end.",
		Takes:       []Subject{SubjectArtifact},
		Path:        "artifact_id",
		ReadOnly:    true,
		Limits:      []string{fmt.Sprintf("shows at most %d characters of the content", s.options.PreviewChars)},
	}, func(ctx context.Context, args artifactSummaryArgs) (Result, error) {
		owner := s.options.Owner(ctx)
		a, content, err := s.options.Store.Content(ctx, owner, artifactReference(args.ArtifactID))
		if err != nil {
			return Result{}, s.problem(ctx, owner, args.ArtifactID, err)
		}
		limits := artifacts.Limits{PreviewChars: s.options.PreviewChars, SummaryChars: int(s.options.MaxRetrieveBytes)}
		return Result{Data: artifactSummaryOf(a), Text: artifacts.Descriptor(a, content, limits, "")}, nil
	})
}

func artifactSummaryOf(a artifacts.Artifact) ArtifactSummary {
	facts := make(map[string]string, len(a.Facts))
	for _, f := range a.Facts {
		facts[f.Name] = f.Value
	}
	return ArtifactSummary{
		ArtifactID: a.Ref, Tool: a.Tool, Name: a.Name, ContentType: a.ContentType, Encoding: string(a.Encoding),
		Bytes: a.Bytes, Lines: a.Lines, SHA256: a.SHA256, Facts: facts,
	}
}

type searchArtifactArgs struct {
	ArtifactID string `json:"artifact_id" jsonschema:"reference of the stored result, such as artifact://abcd2345" arg:"minlen=1,maxlen=100"`
	Query      string `json:"query" jsonschema:"text to find, taken literally" arg:"minlen=1,maxlen=300"`
	MaxMatches int    `json:"max_matches,omitempty" jsonschema:"most lines to show; all are counted" arg:"min=1,max=1000,default=5"`
	Regex      bool   `json:"regex,omitempty" jsonschema:"query is a regular expression (RE2)" arg:"default=false"`
}

// ArtifactMatches is the Data of search_artifact.
type ArtifactMatches struct {
	Inline
	ArtifactID string            `json:"artifact_id"`
	Query      string            `json:"query"`
	Matches    []artifacts.Match `json:"matches"`
	Lines      int               `json:"lines"`     // that match, shown or not
	NotShown   int               `json:"not_shown"` // places that are counted but not in Matches
	More       bool              `json:"more"`      // a long line has more places than were counted
	OtherCase  bool              `json:"other_case,omitempty"`
	TotalLines int               `json:"total_lines"`
	Closest
}

func searchArtifactTool(s *artifactStore) Tool {
	return mustFunc(Spec{
		Name:        "search_artifact",
		Description: "Finds the lines of a stored large result that contain a text, and counts them all.",
		Takes:       []Subject{SubjectArtifact},
		Path:        "artifact_id",
		ReadOnly:    true,
		Limits: []string{
			fmt.Sprintf("shows at most %s and %s of them", plural(s.options.MaxMatches, "match"), plural(s.options.MaxRetrieveBytes, "byte")),
			"letter case counts, unless nothing matches that way",
		},
	}, func(ctx context.Context, args searchArtifactArgs) (Result, error) {
		owner := s.options.Owner(ctx)
		found, err := s.options.Store.Search(ctx, owner, artifactReference(args.ArtifactID), artifacts.Query{
			Text: args.Query, Regex: args.Regex, MaxMatches: min(args.MaxMatches, s.options.MaxMatches), MaxBytes: s.options.MaxRetrieveBytes,
		})
		if err != nil {
			return Result{}, s.problem(ctx, owner, args.ArtifactID, err)
		}
		if !found.Artifact.Encoding.Readable() {
			return Result{}, unreadableArtifact(found.Artifact)
		}
		var near Closest
		if found.Lines == 0 && !args.Regex {
			if a, content, err := s.options.Store.Content(ctx, owner, found.Artifact.Ref); err == nil {
				near = closest(a.Ref, content, args.Query)
			}
		}
		return Result{
			Data: ArtifactMatches{
				ArtifactID: found.Artifact.Ref, Query: args.Query, Matches: found.Matches, Lines: found.Lines, NotShown: found.Left,
				More: found.More, OtherCase: found.OtherCase, TotalLines: found.Artifact.Lines, Closest: near,
			},
			Text: artifactMatchesText(found, near, args),
		}, nil
	})
}

func artifactMatchesText(r artifacts.SearchResult, near Closest, args searchArtifactArgs) string {
	var b strings.Builder
	switch {
	case r.Lines == 0:
		b.WriteString(near.noMatch(args.Query))
	case r.OtherCase:
		fmt.Fprintf(&b, "0 lines contain %q exactly; %s when letter case is ignored", args.Query, containing(r.Lines))
	default:
		fmt.Fprintf(&b, "%s %s %q", plural(r.Lines, "line"), searchVerb(r.Lines, args.Regex), args.Query)
	}
	fmt.Fprintf(&b, " in %s (%s; %s searched)", r.Artifact.Ref, artifactOrigin(r.Artifact), plural(r.Artifact.Lines, "line"))
	switch {
	case r.Lines == 0:
		if !args.Regex && strings.ContainsAny(args.Query, `|*\[`) {
			b.WriteString("\n[the query was taken as it is; for a regular expression set regex to true]")
		}
		writeNearest(&b, near)
		return b.String()
	case r.Left > 0 || r.More:
		fmt.Fprintf(&b, "; the first %d:", len(r.Matches))
	default:
		b.WriteByte(':')
	}
	for _, m := range r.Matches {
		fmt.Fprintf(&b, "\nline %d, offset %d: %s", m.Line, m.Offset, m.Text)
	}
	if r.Left > 0 || r.More {
		atLeast := ""
		if r.More {
			atLeast = "at least "
		}
		fmt.Fprintf(&b, "\n[%s%s not shown; raise max_matches, or search for something narrower]", atLeast, plural(r.Left, "match"))
	}
	fmt.Fprintf(&b, "\n[to read more around a match: retrieve_artifact with its start_line]")
	return b.String()
}

type retrieveArtifactArgs struct {
	ArtifactID string `json:"artifact_id" jsonschema:"reference of the stored result, such as artifact://abcd2345" arg:"minlen=1,maxlen=100"`
	StartLine  int    `json:"start_line,omitempty" jsonschema:"first line to read, from 1" arg:"min=1,max=1000000000,default=1,core"`
	MaxLines   int    `json:"max_lines,omitempty" jsonschema:"most lines to read; all that fit when left out" arg:"min=1,max=1000000000"`
	Offset     int64  `json:"offset,omitempty" jsonschema:"byte to start at, from 0, instead of start_line" arg:"min=0,max=1000000000000,default=0,core"`
	Length     int    `json:"length,omitempty" jsonschema:"most bytes to read from offset" arg:"min=1,max=1000000000"`
}

// ArtifactPage is the Data of retrieve_artifact.
type ArtifactPage struct {
	Inline
	ArtifactID string `json:"artifact_id"`
	Content    string `json:"content"` // valid UTF-8; other bytes as \xE9
	StartLine  int    `json:"start_line"`
	EndLine    int    `json:"end_line"`    // last line in Content, whole or not
	Offset     int64  `json:"offset"`      // of Content's first byte
	NextOffset int64  `json:"next_offset"` // of the first byte after Content
	TotalLines int    `json:"total_lines"`
	TotalBytes int64  `json:"total_bytes"`
	AtEnd      bool   `json:"at_end"`
	CutLine    bool   `json:"cut_line,omitempty"` // Content ends inside EndLine
}

func retrieveArtifactTool(s *artifactStore) Tool {
	return mustFunc(Spec{
		Name:        "retrieve_artifact",
		Description: "Reads a part of a stored large result, from a line or a byte on.",
		Takes:       []Subject{SubjectArtifact},
		Path:        "artifact_id",
		ReadOnly:    true,
		Limits:      []string{fmt.Sprintf("at most %s a call", plural(s.options.MaxRetrieveBytes, "byte"))},
	}, func(ctx context.Context, args retrieveArtifactArgs) (Result, error) {
		r := artifacts.Range{MaxBytes: s.options.MaxRetrieveBytes, MaxLines: args.MaxLines}
		byBytes := args.Offset > 0 || args.Length > 0
		switch {
		case byBytes && (args.StartLine > 1 || args.MaxLines > 0):
			return Result{}, &Error{
				Kind:    KindInvalidArguments,
				Message: "retrieve_artifact: lines and bytes are both given",
				Fix:     "give start_line and max_lines, or offset and length",
			}
		case byBytes:
			r.Offset, r.Length = args.Offset, int64(args.Length)
		default:
			r.StartLine = args.StartLine
		}
		owner := s.options.Owner(ctx)
		page, err := s.options.Store.Retrieve(ctx, owner, artifactReference(args.ArtifactID), r)
		if err != nil {
			return Result{}, s.problem(ctx, owner, args.ArtifactID, err)
		}
		if !page.Artifact.Encoding.Readable() {
			return Result{}, unreadableArtifact(page.Artifact)
		}
		return Result{
			Data: ArtifactPage{
				ArtifactID: page.Artifact.Ref, Content: validText(string(page.Content)), StartLine: page.StartLine, EndLine: page.EndLine,
				Offset: page.Offset, NextOffset: page.Next, TotalLines: page.Artifact.Lines, TotalBytes: page.Artifact.Bytes,
				AtEnd: page.AtEnd, CutLine: page.CutLine,
			},
			Text: artifactPageText(page, byBytes),
		}, nil
	})
}

// artifactPageText puts the facts before the content, and how to go on after it.
func artifactPageText(p artifacts.Page, byBytes bool) string {
	var b strings.Builder
	a := p.Artifact
	fmt.Fprintf(&b, "%s (%s): ", a.Ref, artifactOrigin(a))
	switch {
	case a.Bytes == 0:
		b.WriteString("empty")
	case p.AtEnd && p.Offset == 0:
		fmt.Fprintf(&b, "%s, %s, complete", plural(a.Lines, "line"), plural(a.Bytes, "byte"))
	case byBytes:
		fmt.Fprintf(&b, "bytes %d to %d of %d, from line %d of %d", p.Offset, p.Next, a.Bytes, p.StartLine, a.Lines)
	case p.StartLine == p.EndLine:
		fmt.Fprintf(&b, "line %d of %d, %s in all", p.StartLine, a.Lines, plural(a.Bytes, "byte"))
	default:
		fmt.Fprintf(&b, "lines %d to %d of %d, %s in all", p.StartLine, p.EndLine, a.Lines, plural(a.Bytes, "byte"))
	}
	b.WriteByte('\n')
	b.WriteString(validText(string(p.Content)))
	if p.AtEnd {
		return strings.TrimSuffix(b.String(), "\n")
	}
	left := plural(a.Bytes-p.Next, "byte")
	if p.CutLine {
		fmt.Fprintf(&b, "\n[%s left out; go on with offset=%d]", left, p.Next)
	} else {
		fmt.Fprintf(&b, "[%s, %s left out; go on with start_line=%d]", plural(a.Lines-p.EndLine, "line"), left, p.EndLine+1)
	}
	return b.String()
}
