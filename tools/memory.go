package tools

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/llama-agent/llama-agent/lifecycle"
)

// MemoryOptions configure the memory tools. Zero fields take the defaults, but for Store and Owner.
type MemoryOptions struct {
	// Store holds the records and memories. It is required.
	Store *lifecycle.Store
	// Owner tells whose records a call may see, by its context: the conversation or thread that it is made for. It is
	// required; with an empty owner a call sees what is everybody's.
	Owner func(ctx context.Context) string
	// Shared tells, by its context, that a call remembers for everybody in the workspace instead of its owner. Nil: none does.
	Shared   func(ctx context.Context) bool
	MaxChars int // of a record that recall_memory shows; 16000
	MaxHits  int // the most records that recall_memory shows for words; 5
}

func (o MemoryOptions) withDefaults() MemoryOptions {
	o.MaxChars = cmp.Or(o.MaxChars, 16_000)
	o.MaxHits = cmp.Or(o.MaxHits, 5)
	return o
}

// Memory returns the tools remember and recall_memory. A call reads what belongs to its owner and what is everybody's; records of
// somebody else give the same answers as ones that do not exist. Calling remember again with the same arguments changes nothing. The
// results of recall_memory are [Inline].
func Memory(options MemoryOptions) []Tool {
	m := &memory{options: options.withDefaults()}
	return []Tool{rememberTool(m), recallTool(m)}
}

// memory is a store as this family of tools sees it.
type memory struct{ options MemoryOptions }

// readers returns whose records a call may see. What the last of them remembers counts.
func (m *memory) readers(ctx context.Context) []string {
	owner := m.options.Owner(ctx)
	if owner == "" {
		return []string{""}
	}
	return []string{"", owner}
}

// problem makes an Error of one of the store.
func (m *memory) problem(doing string, err error) error {
	if damaged, ok := errors.AsType[*lifecycle.DamagedError](err); ok {
		return &Error{
			Kind:    KindFailed,
			Message: fmt.Sprintf("the stored record %s cannot be used: %s", damaged.Record.Ref, damaged.Reason),
			Fix:     "go on without it, and say so",
		}
	}
	if wrong, ok := errors.AsType[*lifecycle.InvalidError](err); ok {
		return &Error{Kind: KindInvalidArguments, Message: wrong.Error()}
	}
	return toolError(doing, err)
}

type rememberArgs struct {
	Key   string `json:"key" jsonschema:"short name of the fact, such as favourite colour" arg:"minlen=1,maxlen=80"`
	Value string `json:"value" jsonschema:"the fact itself, as the user said it" arg:"minlen=1,maxlen=2000"`
}

// Remembered is the Data of remember.
type Remembered struct {
	lifecycle.Memory
	Before string `json:"before,omitempty"` // the value that does not count any more
}

func rememberTool(m *memory) Tool {
	return mustFunc(Spec{
		Name:        "remember",
		Description: "Keeps a fact for later when the user says to remember or note it, in any language, or corrects it.",
		Takes:       []Subject{SubjectFact},
	}, func(ctx context.Context, args rememberArgs) (Result, error) {
		result, err := m.remember(ctx, args)
		if err != nil {
			return Result{}, m.problem("remembering", err)
		}
		text := fmt.Sprintf("Remembered %s: %s", result.Key, result.Value)
		if result.Before != "" {
			text += "\n[before it was: " + result.Before + "]"
		}
		return Result{Data: result, Text: text}, nil
	})
}

func (m *memory) remember(ctx context.Context, args rememberArgs) (Remembered, error) {
	owner, before := m.options.Owner(ctx), ""
	// The value that counts so far may be the owner's or everybody's. One of the owner's hides what would be remembered for
	// everybody, so it is replaced in any case.
	writer := owner
	shared := m.options.Shared != nil && m.options.Shared(ctx)
	if shared {
		writer = ""
	}
	for _, reader := range m.readers(ctx) {
		history, err := m.options.Store.MemoryHistory(ctx, reader, args.Key)
		if errors.Is(err, lifecycle.ErrUnknown) {
			continue
		}
		if err != nil && !errors.Is(err, lifecycle.ErrDamaged) {
			return Remembered{}, err
		}
		if reader == owner {
			writer = owner
		}
		before = "" // where it is damaged
		if err == nil {
			before = history[len(history)-1].Value
		}
	}
	if writer == "" && !shared {
		return Remembered{}, &Error{Kind: KindDenied, Message: "there is no conversation to remember this for", Fix: "tell the user that it was not remembered"}
	}
	stored, _, err := m.options.Store.Remember(ctx, writer, args.Key, args.Value)
	if before == args.Value {
		before = ""
	}
	return Remembered{Memory: stored, Before: before}, err
}

type recallArgs struct {
	Query string `json:"query" jsonschema:"words to look for, or a reference such as memory://k3v9x2abqwe7t" arg:"minlen=1,maxlen=300"`
}

// Recalled is the Data of recall_memory.
type Recalled struct {
	Inline
	Query   string           `json:"query"`
	Records []RecalledRecord `json:"records"` // the best first, memories before others; one for a reference
}

// RecalledRecord is a record that recall_memory shows.
type RecalledRecord struct {
	Ref   string         `json:"ref"`
	Kind  lifecycle.Kind `json:"kind"`
	Name  string         `json:"name,omitempty"`
	Text  string         `json:"text"` // valid UTF-8; for words a short summary
	Bytes int            `json:"bytes"`
	Score float64        `json:"score,omitempty"`
	Whole bool           `json:"whole"` // Text is all of it
}

func recallTool(m *memory) Tool {
	return mustFunc(Spec{
		Name:        "recall_memory",
		Description: "Finds what was remembered, said or found earlier, by words or by its memory:// reference.",
		Takes:       []Subject{SubjectMemory},
		ReadOnly:    true,
		Limits: []string{
			fmt.Sprintf("shows at most %d characters of a record", m.options.MaxChars),
			fmt.Sprintf("words find at most %s", plural(m.options.MaxHits, "record")),
		},
	}, func(ctx context.Context, args recallArgs) (Result, error) {
		if ref, explicit := memoryReference(args.Query); ref != "" {
			r, err := m.options.Store.Get(ctx, m.readers(ctx), ref)
			switch {
			case err == nil:
				return m.whole(args.Query, r), nil
			case !errors.Is(err, lifecycle.ErrUnknown):
				return Result{}, m.problem("recalling", err)
			case explicit:
				return Result{}, m.nothing(ctx, fmt.Sprintf("there is no record %q", clip(args.Query, 80)))
			}
		}
		return m.find(ctx, args.Query)
	})
}

// memoryReference reads what a model wrote as a reference: it may stand in quotes or brackets, or in a sentence. It is explicit when
// it has its scheme; what merely could be one may be a word too. What has the scheme and nothing usable after it is explicit and
// comes back as it was written.
func memoryReference(written string) (ref string, explicit bool) {
	const around = " \t\r\n\"'`<>()[]{}.,;:"
	for i := range len(written) - len(lifecycle.Scheme) + 1 {
		if !strings.EqualFold(written[i:i+len(lifecycle.Scheme)], lifecycle.Scheme) {
			continue
		}
		rest := written[i+len(lifecycle.Scheme):]
		end := strings.IndexFunc(rest, func(r rune) bool {
			return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
		})
		if end >= 0 {
			rest = rest[:end]
		}
		if ref, ok := lifecycle.ParseRef(rest); ok {
			return ref, true
		}
		return written, true
	}
	ref, _ = lifecycle.ParseRef(strings.Trim(written, around))
	return ref, false
}

// memoryTitle says what a record is: evidence (read_file app.log).
func memoryTitle(r lifecycle.Record) string {
	if r.Name == "" {
		return string(r.Kind)
	}
	return fmt.Sprintf("%s (%s)", r.Kind, clip(r.Name, 100))
}

// whole shows all of a record, or as much as may be shown.
func (m *memory) whole(query string, r lifecycle.Record) Result {
	text := validText(r.Text)
	shown := capText(text, m.options.MaxChars)
	return Result{
		Data: Recalled{Query: query, Records: []RecalledRecord{{
			Ref: r.Ref, Kind: r.Kind, Name: r.Name, Text: shown, Bytes: r.Bytes, Whole: shown == text,
		}}},
		Text: fmt.Sprintf("%s, %s, %s:\n%s", r.Ref, memoryTitle(r), plural(len(r.Text), "byte"), shown),
	}
}

// summaryChars is how much of a record a search shows, in characters.
const summaryChars = 300

// find shows the records that hold words of a query: memories first, because they are what the user wanted to be known. Chinese is
// searched by pairs of characters; when none is found, by single ones, because many words have only one.
func (m *memory) find(ctx context.Context, query string) (Result, error) {
	hits, err := m.search(ctx, query)
	if apart := hanApart(query); err == nil && len(hits) == 0 && apart != query {
		hits, err = m.search(ctx, apart)
	}
	if err != nil {
		return Result{}, m.problem("recalling", err)
	}
	if len(hits) == 0 {
		return Result{}, m.nothing(ctx, fmt.Sprintf("nothing that was remembered or said earlier matches %q", clip(query, 80)))
	}
	data := Recalled{Query: query}
	var lines []string
	whole := true
	for _, h := range hits {
		short := recalledSummary(h)
		whole = whole && short.Whole
		data.Records = append(data.Records, short)
		title := h.Name
		if h.Kind != lifecycle.KindMemory {
			title = memoryTitle(h.Record)
		}
		lines = append(lines, fmt.Sprintf("%s %s: %s", h.Ref, title, short.Text))
	}
	text := strings.Join(lines, "\n")
	if !whole {
		text += "\n[to read one whole: recall_memory with its reference as the query]"
	}
	return Result{Data: data, Text: text}, nil
}

// search returns memories and then other records that hold words of a query.
func (m *memory) search(ctx context.Context, query string) ([]lifecycle.Hit, error) {
	others := slices.DeleteFunc(lifecycle.Kinds(), func(k lifecycle.Kind) bool { return k == lifecycle.KindMemory })
	var all []lifecycle.Hit
	for _, kinds := range [][]lifecycle.Kind{{lifecycle.KindMemory}, others} {
		left := m.options.MaxHits - len(all)
		if left <= 0 {
			break
		}
		hits, err := m.options.Store.Search(ctx, m.readers(ctx), query, lifecycle.SearchOptions{Kinds: kinds, Limit: left, WithText: true})
		if err != nil {
			return nil, err
		}
		all = append(all, hits...)
	}
	return all, nil
}

// hanApart puts spaces between Chinese characters.
func hanApart(s string) string {
	var b strings.Builder
	han := false
	for _, r := range s {
		if is := unicode.Is(unicode.Han, r); is || han {
			if b.Len() > 0 {
				b.WriteByte(' ')
			}
			han = is
		}
		b.WriteRune(r)
	}
	return b.String()
}

// recalledSummary shows a hit in one line: its summary, or the beginning of its text.
func recalledSummary(h lifecycle.Hit) RecalledRecord {
	text := validText(h.Text)
	short := text
	if h.Summary != "" && len(text) > summaryChars {
		short = validText(h.Summary)
	}
	short = clip(strings.Join(strings.Fields(short), " "), summaryChars)
	return RecalledRecord{
		Ref: h.Ref, Kind: h.Kind, Name: h.Name, Text: short, Bytes: h.Bytes, Score: h.Score, Whole: short == strings.Join(strings.Fields(text), " "),
	}
}

// nothing says what could be recalled instead.
func (m *memory) nothing(ctx context.Context, message string) error {
	const shown = 20
	out := &Error{Kind: KindNotFound, Message: message, Fix: "nothing is remembered"}
	list, err := m.options.Store.Memories(ctx, m.readers(ctx)...)
	if err != nil {
		return m.problem("recalling", err)
	}
	if len(list) == 0 {
		return out
	}
	keys := make([]string, len(list))
	for i, memory := range list {
		keys[i] = memory.Key
	}
	out.Data = map[string]any{"keys": keys}
	// The last ones are those that are most likely meant.
	out.Fix = "what is remembered: " + quoteList(keys[max(0, len(keys)-shown):], ", ")
	if len(keys) > shown {
		out.Fix += fmt.Sprintf(" and %d older", len(keys)-shown)
	}
	return out
}
