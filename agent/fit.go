package agent

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/tmc/langchaingo/llms"

	"github.com/llama-agent/llama-agent/templates"
)

// fitting says what of a transcript is shown. It is stored with the task and only ever gets stricter, because a text that
// comes back whole would change the prompt before the place where it last ended.
type fitting struct {
	Cuts    map[int]int `json:"cuts,omitempty"`    // index of an entry → bytes of its result that are shown
	Dropped int         `json:"dropped,omitempty"` // entries left out, counted from the oldest
	Turns   int         `json:"turns,omitempty"`   // turns of the history left out, counted from the oldest
	// Unquoted says that what was recalled is left out too.
	Unquoted bool `json:"unquoted,omitempty"`
	// Summaries are the entries that are shown as their summary, in order.
	Summaries []int `json:"summaries,omitempty"`
	// Sent is how many entries the last prompt had: they lie in the model's prefix cache. It is kept for compaction only.
	Sent int `json:"sent,omitempty"`
}

func (f fitting) equal(other fitting) bool {
	return f.Dropped == other.Dropped && f.Turns == other.Turns && f.Unquoted == other.Unquoted && f.Sent == other.Sent && maps.Equal(f.Cuts, other.Cuts) && slices.Equal(f.Summaries, other.Summaries)
}

// leftOutOfConversation says what of the turns before is not shown.
func (f fitting) leftOutOfConversation() string {
	text := "the oldest turn of the conversation is left out"
	if f.Turns != 1 {
		text = fmt.Sprintf("the oldest %d turns of the conversation are left out", f.Turns)
	}
	switch {
	case f.Unquoted && f.Turns == 0:
		return "what was recalled of the conversation is left out"
	case f.Unquoted:
		text += ", and so is what was recalled"
	}
	return text
}

// summarizing returns f with one more entry shown as its summary.
func (f fitting) summarizing(i int) fitting {
	at, found := slices.BinarySearch(f.Summaries, i)
	if !found {
		f.Summaries = slices.Insert(slices.Clone(f.Summaries), at, i)
	}
	return f
}

// summarized reports whether an entry is shown as its summary.
func (f fitting) summarized(i int) bool {
	_, found := slices.BinarySearch(f.Summaries, i)
	return found
}

// text returns what is shown of the result of call c, which is entry i.
func (f fitting) text(i int, c *Call) string {
	text := c.Text
	if c.Record != "" && f.summarized(i) {
		text = c.Summary
	}
	if limit, ok := f.Cuts[i]; ok {
		return cutMiddle(text, limit)
	}
	return text
}

// smallestCut is the size in bytes below which a result is not cut, but dropped with its call.
const smallestCut = 256

// tighter returns f with one more result halved, the largest that is still larger than smallestCut, or when there is none,
// with one more entry dropped. It returns false when nothing is left to drop.
func (f fitting) tighter(entries []Entry) (fitting, bool) {
	largest, size := -1, smallestCut
	for i := f.Dropped; i < len(entries); i++ {
		if entries[i].Call == nil {
			continue
		}
		shown := len(f.text(i, entries[i].Call))
		if limit, ok := f.Cuts[i]; ok {
			shown = limit // without the note about what is left out
		}
		if shown > size {
			largest, size = i, shown
		}
	}
	next := f
	next.Cuts = maps.Clone(f.Cuts)
	switch {
	case largest >= 0:
		if next.Cuts == nil {
			next.Cuts = map[int]int{}
		}
		next.Cuts[largest] = max(smallestCut, size/2)
	case f.Dropped < len(entries):
		next.Dropped++
		delete(next.Cuts, f.Dropped)
	default:
		return f, false
	}
	return next, true
}

// tokenCounter is what a model offers whose context size is known. Counts are of the prompt as the model's own chat
// template and tokenizer make it.
type tokenCounter interface {
	CountTokens(ctx context.Context, messages []llms.MessageContent, options ...llms.CallOption) (int, error)
	ContextSize() int
}

// ContextError says that the parts of a prompt that are never dropped do not fit. All counts are in tokens.
type ContextError struct {
	PromptTokens int // of the system text, the tools, the workspace, the task and the instruction
	ReplyTokens  int // kept free for the reply
	ContextSize  int
}

func (e *ContextError) Error() string {
	return fmt.Sprintf("the task does not fit the context: rules, tools, workspace and task take %d tokens and %d are kept for "+
		"the reply, but the context has %d; use a larger n_ctx, fewer tools (--tool), or a shorter task",
		e.PromptTokens, e.ReplyTokens, e.ContextSize)
}

// tighter returns the fitting with one more thing left out. Old turns go first, then what was recalled, then parts of the task's own
// results.
func (t trunk) tighter() (fitting, bool) {
	next := t.fitting
	switch {
	case next.Turns < len(t.history):
		next.Turns++
	case t.recalled != "" && !next.Unquoted:
		next.Unquoted = true
	default:
		return t.fitting.tighter(t.entries)
	}
	return next, true
}

// fit tightens the trunk until its prompt and a reply of replyTokens fit the context. The same input gives the same result.
func (t trunk) fit(ctx context.Context, counter tokenCounter, instruction string, replyTokens int) (trunk, error) {
	size := counter.ContextSize()
	for {
		n, err := counter.CountTokens(ctx, t.messages(instruction))
		if err != nil {
			return t, fmt.Errorf("counting the tokens of the prompt: %w", err)
		}
		if n+replyTokens <= size {
			return t, nil
		}
		next, ok := t.tighter()
		if !ok {
			return t, &ContextError{PromptTokens: n, ReplyTokens: replyTokens, ContextSize: size}
		}
		t.fitting = next
	}
}

// cutMiddle keeps about limit bytes of text, half from each end, and names the bytes left out between. It cuts between
// characters and returns text as it is when that is no longer than limit.
func cutMiddle(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	head := limit / 2
	for head > 0 && !utf8.RuneStart(text[head]) {
		head--
	}
	tail := len(text) - (limit - limit/2)
	for tail < len(text) && !utf8.RuneStart(text[tail]) {
		tail++
	}
	marker := templates.Render(templates.CutText, templates.CutTextData{Bytes: tail - head})
	return text[:head] + "\n" + marker + "\n" + text[tail:]
}
