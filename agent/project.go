package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/llama-agent/llama-agent/lifecycle"
)

// Background is what a task sees of the conversation that it belongs to.
type Background struct {
	History  []Turn     `json:"history,omitempty"`  // the newest turns
	Recalled []Recalled `json:"recalled,omitempty"` // what of the turns before it may need
	LeftOut  int        `json:"left_out,omitempty"` // turns that are not shown
}

// HistoryLimits say how much of a conversation its next turn sees when there is no [Lifecycle].
type HistoryLimits struct {
	Turns  int // newest turns
	Tokens int // that they take together; a turn that does not fit is left out with all before it
}

// Bounds of what is recalled.
const (
	// recallChars is how much of a record is quoted; there is more behind its reference.
	recallChars = 800
	// alsoShown is the share of the best relevance from which on a turn that is in the prompt anyway is quoted too: a correction
	// of what is recalled must stand behind it.
	alsoShown = 0.5
	// alsoShownChars is the most that such a turn may take.
	alsoShownChars = 400
	// searchedRecords bounds how many records are weighed: the newest, and those that fit best.
	searchedRecords = 2000
)

// Project chooses what the next turn of a conversation sees of the turns before it, which are given oldest first, all of them.
// The owner is the conversation; goal is what the next turn is asked. The events tell what was left out and what was recalled.
//
// Without a [Lifecycle] that is the newest turns within the limits. With one, the whole history is shown while it is small; then the
// newest turns (see [lifecycle.Window]), and of the others what fits the goal (see [lifecycle.Recall]). The same input gives the
// same result. When the store of records fails, the turns are shown without what would be recalled, and an event says so.
func (r *Runner) Project(ctx context.Context, owner, goal string, turns []Turn) (Background, []Event) {
	tokens := make([]int, len(turns))
	total := 0
	for i := range turns {
		if turns[i].Tokens == 0 {
			turns[i].Tokens = r.flow.meter.count(ctx, turns[i].messages())
		}
		tokens[i] = turns[i].Tokens
		total += tokens[i]
	}
	l := r.flow.lifecycle
	var b Background
	if l == nil {
		start := lifecycle.Latest(tokens, r.config.History.Turns, r.config.History.Tokens)
		b.History = turns[start:]
	} else {
		budget := max(0, l.BudgetTokens-l.ReservedTokens)
		if counter, ok := r.config.Model.(tokenCounter); ok {
			budget = min(budget, counter.ContextSize()/2) // the rules, the tools and this turn need the other half
		}
		b.History = turns[lifecycle.Window(tokens, lifecycle.WindowLimits{Hot: l.HotTurns, Activation: l.ActivationTokens, Budget: budget}):]
	}
	left := len(turns) - len(b.History)
	if b.LeftOut = left; left == 0 {
		return b, nil
	}
	shown := 0
	for _, t := range b.History {
		shown += t.Tokens
	}
	events := []Event{ContextEvent{Name: EventContextBudgetApplied, Data: map[string]any{
		"turns": len(turns), "turns_shown": len(b.History), "tokens_before": total, "tokens_after": shown,
	}}}
	if l == nil {
		return b, events
	}
	recalled, err := r.recall(ctx, owner, goal, turns, left)
	if err != nil {
		return b, append(events, ContextEvent{Name: EventContextStoreError, Data: map[string]any{"error": err.Error()}})
	}
	if b.Recalled = recalled; len(recalled) > 0 {
		events = append(events, ContextEvent{Name: EventContextRecalled, Data: map[string]any{
			"records": len(recalled), "tokens": r.flow.meter.count(ctx, recalledMessages(recalled)),
		}})
	}
	return b, events
}

// recall looks for what fits the goal among the records of the first turns, which are not shown.
func (r *Runner) recall(ctx context.Context, owner, goal string, turns []Turn, left int) ([]Recalled, error) {
	l := r.flow.lifecycle
	kinds := []lifecycle.Kind{lifecycle.KindTurn, lifecycle.KindEvidence}
	all, err := l.Records.List(ctx, owner, lifecycle.ListOptions{Kinds: kinds, Limit: searchedRecords, Newest: true})
	if err != nil {
		return nil, fmt.Errorf("listing what can be recalled: %w", err)
	}
	hits, err := l.Records.Search(ctx, []string{owner}, goal, lifecycle.SearchOptions{Kinds: kinds, Limit: searchedRecords})
	if err != nil {
		return nil, fmt.Errorf("looking for what to recall: %w", err)
	}
	relevance := make(map[string]float64, len(hits))
	listed := make(map[string]bool, len(all))
	for _, record := range all {
		listed[record.Ref] = true
	}
	for _, h := range hits {
		relevance[h.Ref] = h.Score
		if !listed[h.Ref] { // it is older than what is listed
			all = append(all, h.Record)
		}
	}
	slices.SortStableFunc(all, func(a, b lifecycle.Record) int { return int(a.Order - b.Order) })
	last := int64(turns[len(turns)-1].Number)
	firstShown := last + 1 // when not even the newest turn fits
	if left < len(turns) {
		firstShown = int64(turns[left].Number)
	}
	var older, newer []lifecycle.Record
	var candidates []lifecycle.Candidate
	best := 0.0
	for _, record := range all {
		if record.Order >= firstShown {
			newer = append(newer, record)
			continue
		}
		older = append(older, record)
		best = max(best, relevance[record.Ref])
		candidates = append(candidates, lifecycle.Candidate{
			Importance: record.Importance, Relevance: relevance[record.Ref], Age: int(last-record.Order) + 1,
			Tokens: r.flow.meter.count(ctx, recalledMessages([]Recalled{quoted(record)})),
		})
	}
	var out []Recalled
	for _, i := range lifecycle.Recall(candidates, lifecycle.RecallLimits{TopK: l.RecallRecords, Tokens: l.RecallTokens}) {
		out = append(out, quoted(older[i]))
	}
	if len(out) == 0 {
		return nil, nil
	}
	for _, record := range newer {
		q := quoted(record)
		if record.Kind == lifecycle.KindTurn && best > 0 && relevance[record.Ref] >= alsoShown*best && len([]rune(q.Text)) <= alsoShownChars {
			out = append(out, q)
		}
	}
	return out, nil
}

// quoted is a record as a prompt quotes it.
func quoted(record lifecycle.Record) Recalled {
	q := Recalled{Turn: int(record.Order), Text: strings.ToValidUTF8(record.Summary, "\uFFFD")}
	if record.Kind == lifecycle.KindEvidence {
		q.Tool, q.Ref = record.Name, record.Ref
	}
	return q
}

// Remember puts a turn that has ended, and what its calls found, into the store of records, so that later turns can recall it. What is
// stored of the same turn is replaced. Without a [Lifecycle] it does nothing. Doing it again changes nothing.
func (r *Runner) Remember(ctx context.Context, owner string, t Turn) error {
	if r.flow.lifecycle == nil {
		return nil
	}
	return r.put(ctx, t.Number, t.records(owner))
}

// RememberMissing remembers those of the turns of a conversation of which the store has nothing, or something else. Reading what it has
// takes one look at it, however many they are.
func (r *Runner) RememberMissing(ctx context.Context, owner string, turns []Turn) error {
	l := r.flow.lifecycle
	if l == nil || len(turns) == 0 {
		return nil
	}
	// What cannot be listed is put anew: that repairs a damaged record.
	list, err := l.Records.List(ctx, owner, lifecycle.ListOptions{Kinds: []lifecycle.Kind{lifecycle.KindTurn, lifecycle.KindEvidence}})
	if err != nil && !errors.Is(err, lifecycle.ErrDamaged) {
		return fmt.Errorf("looking for what is remembered: %w", err)
	}
	type name struct {
		kind lifecycle.Kind
		key  string
	}
	stored := make(map[name]lifecycle.Record, len(list))
	for _, record := range list {
		stored[name{record.Kind, record.Key}] = record
	}
	var errs []error
	for _, t := range turns {
		missing := slices.DeleteFunc(t.records(owner), func(record lifecycle.Record) bool {
			s, ok := stored[name{record.Kind, record.Key}]
			return ok && s.Summary == record.Summary && s.Bytes == len(record.Text)
		})
		errs = append(errs, r.put(ctx, t.Number, missing))
	}
	return errors.Join(errs...)
}

// put stores records of a turn.
func (r *Runner) put(ctx context.Context, turn int, records []lifecycle.Record) error {
	var errs []error
	for _, record := range records {
		_, err := r.flow.lifecycle.Records.Put(ctx, record)
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("remembering turn %d: %w", turn, err)
	}
	return nil
}

// records are what later turns can recall of a turn: what was said, and what its calls found, as far as the store does not have it.
func (t Turn) records(owner string) []lifecycle.Record {
	text, summary := "User: "+t.Goal, "User: "+clip(oneLine(t.Goal), recallChars*3/4)
	if t.Answer != "" {
		text += "\nAnswer: " + t.Answer
		summary += " / Answer: " + clip(oneLine(t.Answer), recallChars/4)
	}
	calls := callsOf(t.Entries)
	records := []lifecycle.Record{{
		Owner: owner, Kind: lifecycle.KindTurn, Key: fmt.Sprintf("turn %d", t.Number), Name: fmt.Sprintf("turn %d", t.Number), Text: text, Summary: summary,
		Order:      int64(t.Number),
		Importance: lifecycle.Importance(lifecycle.Signals{Kind: lifecycle.KindTurn, Text: t.Goal, Calls: len(calls)}),
	}}
	for i := range calls {
		c := &calls[i]
		if c.Record != "" || c.Error != nil {
			continue // it is there, or there is nothing to know
		}
		records = append(records, lifecycle.Record{
			Owner: owner, Kind: lifecycle.KindEvidence, Key: fmt.Sprintf("turn %d call %d", t.Number, i+1), Name: c.name(), Text: c.Text,
			Summary: clip(c.Text, recallChars), Order: int64(t.Number),
			Importance: lifecycle.Importance(lifecycle.Signals{Kind: lifecycle.KindEvidence}),
		})
	}
	return records
}

// Turn returns a task as later turns of its conversation see it. The error is [graph.ErrUnknownThread] for a thread that does not
// exist.
func (r *Runner) Turn(ctx context.Context, thread string) (Turn, error) {
	snapshot, err := r.snapshot(ctx, thread, "")
	if err != nil {
		return Turn{}, err
	}
	t := turnOf(snapshot.State)
	if t.Goal == "" {
		t.Goal = assignmentIn(snapshot).Goal
	}
	t.Number = assignmentIn(snapshot).Turn
	t.Tokens = r.flow.meter.count(ctx, t.messages())
	return t, nil
}
