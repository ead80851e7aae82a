package agent

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/tmc/langchaingo/llms"

	"github.com/llama-agent/llama-agent/artifacts"
	"github.com/llama-agent/llama-agent/internal/excerpt"
	"github.com/llama-agent/llama-agent/lifecycle"
	"github.com/llama-agent/llama-agent/templates"
)

// Records keeps what a task found, whole, while prompts and checkpoints hold summaries; see [lifecycle.Store], which is one.
type Records interface {
	Put(ctx context.Context, r lifecycle.Record) (lifecycle.Record, error)
	Get(ctx context.Context, owners []string, ref string) (lifecycle.Record, error)
	List(ctx context.Context, owner string, o lifecycle.ListOptions) ([]lifecycle.Record, error)
	Search(ctx context.Context, owners []string, query string, o lifecycle.SearchOptions) ([]lifecycle.Hit, error)
}

// Lifecycle says how long histories are kept small; see [DefaultLifecycle]. Sizes are in tokens of the model unless they say otherwise.
// Every value is taken as it is.
type Lifecycle struct {
	Records Records // required

	BudgetTokens        int     // of history and results together
	TriggerRatio        float64 // share of the budget at which results are compacted
	TriggerTokens       int     // of results, at which they are compacted whatever the budget
	ReservedTokens      int     // kept free for the reply
	MinCompactionBytes  int     // of a result that is worth compacting
	MinCompactionRatio  float64 // share of its bytes that a compaction saves
	HotRecords          int     // newest results that stay whole
	HotTurns            int     // newest turns that stay whole
	HotNotes            int     // newest reviews that stay whole
	SummaryChars        int     // of the summary of a result
	ActivationTokens    int     // of history that is shown whole
	RecallRecords       int     // from further back that a turn sees
	RecallTokens        int     // that these take together
	CompactsCheckpoints bool    // checkpoints hold the summary of a large result, never the whole
}

// DefaultLifecycle fits a context of 16k tokens.
func DefaultLifecycle(records Records) *Lifecycle {
	return &Lifecycle{
		Records: records, BudgetTokens: 12000, TriggerRatio: 0.75, TriggerTokens: 6000, ReservedTokens: 1024,
		MinCompactionBytes: 2048, MinCompactionRatio: 0.3, HotRecords: 4, HotTurns: 4, HotNotes: 2, SummaryChars: 800,
		ActivationTokens: 2048, RecallRecords: 3, RecallTokens: 2000, CompactsCheckpoints: true,
	}
}

// keep makes of an outcome what the state holds of it: its size in tokens, and when it is large its summary, with the whole in the
// store. What cannot be stored stays in the state, so that nothing is lost; problem then says why.
func (w *work) keep(ctx context.Context, call *Call, o *outcome, key string) (problem string) {
	l := w.lifecycle
	if l == nil {
		return ""
	}
	if len(o.Text) >= l.MinCompactionBytes {
		facts := o.Result
		if o.Artifact != "" { // its description has the facts; what counts is how to get at the rest
			facts = json.RawMessage(compactJSON(map[string]string{"artifact_id": o.Artifact}))
		}
		o.Summary = summaryOf(o.Text, facts, o.Error, w.stepOf(call).Do, w.subject(), l.SummaryChars)
		r, err := l.Records.Put(ctx, lifecycle.Record{
			Owner: Owner(ctx), Kind: lifecycle.KindEvidence, Key: w.recordKey(key, o), Name: call.name(),
			Text: o.Text, Data: o.Result, Summary: o.Summary, Order: int64(w.task.Turn),
			Importance: lifecycle.Importance(lifecycle.Signals{Kind: lifecycle.KindEvidence, Failed: o.Error != nil}),
		})
		if err != nil {
			o.Summary = ""
			w.emit(ctx, ContextEvent{Name: EventContextStoreError, Data: map[string]any{"tool": call.Tool, "bytes": len(o.Text), "error": err.Error()}})
			problem = fmt.Sprintf("A result of %s stays in the task's state: %v.", call.Tool, err)
		}
		if o.Record = r.Ref; o.Record != "" {
			o.Summary += "\n" + templates.Render(templates.Shortened, templates.ShortenedData{Bytes: len(o.Text), Ref: o.Record})
		}
	}
	whole := *call
	whole.Outcome = o.Outcome
	o.Tokens = w.count(ctx, resultText(&whole, whole.Text))
	if whole.Record != "" {
		o.SummaryTokens = w.count(ctx, resultText(&whole, whole.Summary))
	}
	return problem
}

// recordKey names the record of an outcome. The content is part of it: an equal call of a later step, or of a branch of the task that
// was taken up again at an earlier checkpoint, has another result, which must not take the place of the first one.
func (w *work) recordKey(effect string, o *outcome) string {
	sum := sha256.New()
	for _, part := range [][]byte{[]byte(o.Text), o.Result} {
		sum.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
		sum.Write(part)
	}
	return fmt.Sprintf("%s/%s/%s/%x", w.thread, w.node, effect, sum.Sum(nil)[:16])
}

// about is what the result of a call is needed for, one line each.
func (w *work) about(c *Call) string {
	return strings.TrimSuffix(oneLine(w.subject())+"\n"+oneLine(w.stepOf(c).Do), "\n")
}

// subject is what the task asks, without the names of tools and files: these tell where to look, and stand in no line that is looked for.
func (w *work) subject() string {
	var names []string
	for _, name := range w.offered.Names() {
		names = append(names, name, " ")
	}
	for _, f := range w.task.Facts.Files {
		names = append(names, f.Path, " ")
	}
	return strings.NewReplacer(names...).Replace(w.task.Goal)
}

// stepOf is the step that made a call; its zero value when no step did.
func (w *work) stepOf(c *Call) Step {
	i := slices.IndexFunc(w.plan, func(s Step) bool { return s.Number == c.Step })
	if i < 0 {
		return Step{}
	}
	return w.plan[i]
}

// holds reports whether checkpoints leave a result out, because the store has it under a reference.
func (l *Lifecycle) holds(record string) bool {
	return l != nil && l.CompactsCheckpoints && record != ""
}

// stripped returns what the state holds of a call: of one whose whole is in the store the summary.
func (l *Lifecycle) stripped(c Call) Call {
	if l.holds(c.Record) {
		c.Extent = extentOf(c.Result)
		c.Text, c.Result = "", nil
	}
	return c
}

// restore reads back what the state does not hold of a call. When it is gone, the summary takes its place.
func (f *flow) restore(ctx context.Context, owner string, c *Call) error {
	if c.Record == "" || c.Text != "" {
		return nil
	}
	if f.lifecycle == nil {
		c.Text = c.Summary
		return fmt.Errorf("reading the result of %s: memory.lifecycle_context is off, so that only its summary is known", c.Tool)
	}
	r, err := f.lifecycle.Records.Get(ctx, []string{owner}, c.Record)
	if err != nil {
		c.Text = c.Summary
		return fmt.Errorf("reading the result of %s: %w", c.Tool, err)
	}
	c.Text, c.Result = r.Text, r.Data
	return nil
}

// restoreAll restores the calls of a transcript, in a copy. errs says what could not be read.
func (f *flow) restoreAll(ctx context.Context, owner string, entries []Entry) (whole []Entry, errs []error) {
	whole = slices.Clone(entries)
	for i, e := range whole {
		if e.Call == nil || e.Call.Record == "" || e.Call.Text != "" {
			continue
		}
		call := *e.Call
		if err := f.restore(ctx, owner, &call); err != nil {
			errs = append(errs, err)
		}
		whole[i].Call = &call
	}
	return whole, errs
}

// count returns how many tokens a text adds to a prompt.
func (w *work) count(ctx context.Context, text string) int {
	return w.meter.count(ctx, []llms.MessageContent{llms.TextParts(llms.ChatMessageTypeHuman, text)})
}

// name says in a line what a call was about.
func (c *Call) name() string { return clip(oneLine(c.Tool+" "+string(c.Arguments)), 120) }

// summaryOf describes a result in at most chars characters, without a model: why it failed, the scalar facts of its object, and the
// lines that share most words with what it is needed for; when there are none, its beginning and its end. The same input gives the
// same summary.
func summaryOf(text string, result json.RawMessage, failed *CallError, step, goal string, chars int) string {
	var b strings.Builder
	left := chars
	add := func(line string) {
		line = strings.TrimRight(line, "\n") + "\n"
		if n := len([]rune(line)); n <= left {
			b.WriteString(line)
			left -= n
		}
	}
	if failed != nil {
		add(clip(failed.Message, chars/2))
	}
	if facts, err := artifacts.FactsOf(result); err == nil {
		var list []string
		for _, f := range facts {
			if fact := f.Name + ": " + oneLine(f.Value); len(strings.Join(list, "; "))+len(fact) <= chars/4 {
				list = append(list, fact)
			}
		}
		if len(list) > 0 {
			add(strings.Join(list, "; "))
		}
	}
	// The step says what of the task this result is for; its few words choose better than all those of the task.
	pieces := excerpt.First([]byte(text), left*3/4, step, goal, goal+"\n"+step)
	if len(pieces) == 0 {
		add(cutMiddle(text, max(left-80, 0)*len(text)/max(1, len([]rune(text)))))
		return strings.TrimRight(clip(b.String(), chars), "\n")
	}
	first, _, _ := strings.Cut(strings.TrimLeft(text, "\n"), "\n")
	if pieces[0].Line > 1 {
		add(clip(first, left/6))
		add("[…]")
	}
	line := pieces[0].Line
	for _, p := range pieces {
		if p.Line > line+1 {
			add("[…]")
		}
		add(strings.TrimSpace(p.Text))
		line = p.Line
	}
	return strings.TrimRight(b.String(), "\n")
}
