package agent

import (
	"context"

	"github.com/llama-agent/llama-agent/lifecycle"
)

// compact decides at the end of a node which results the model sees as summaries from now on. Results that fit stay whole, and so
// do the newest ones; what the model has read already is only given up for a clear gain, because all that stands behind it must be
// read again. See [lifecycle.PlanCompaction].
func (w *work) compact(ctx context.Context) {
	l := w.lifecycle
	if l == nil {
		return
	}
	stored, at := w.storedResults()
	limits := w.compactionLimits(ctx)
	plan := lifecycle.PlanCompaction(stored, limits)
	data := map[string]any{
		"tokens_before": plan.TokensBefore, "tokens_after": plan.TokensAfter, "bytes_before": plan.BytesBefore, "bytes_after": plan.BytesAfter,
		"trigger_tokens": limits.TriggerTokens, "budget_tokens": limits.BudgetTokens, "records": len(plan.Compact),
	}
	switch {
	case len(plan.Compact) > 0:
		first := len(w.trunk.entries)
		for _, i := range plan.Compact {
			w.trunk.fitting = w.trunk.fitting.summarizing(at[i])
			first = min(first, at[i])
		}
		w.shortenReviews(first)
		// What stands behind the first change must be read again anyway.
		w.trunk.fitting.Sent = min(w.trunk.fitting.Sent, first)
		w.emit(ctx, ContextEvent{Name: EventContextCompacted, Data: data})
	case plan.Skipped != lifecycle.BelowTrigger:
		data["reason"] = plan.Skipped
		w.emit(ctx, ContextEvent{Name: EventContextCompactionSkipped, Data: data})
	}
}

// storedResults describes the results of the transcript for a compaction. at[i] is the entry of result i.
func (w *work) storedResults() (stored []lifecycle.Stored, at []int) {
	for i := w.trunk.fitting.Dropped; i < len(w.trunk.entries); i++ {
		c := w.trunk.entries[i].Call
		if c == nil {
			continue
		}
		s := lifecycle.Stored{
			Tokens: c.Tokens, SummaryTokens: c.Tokens, Bytes: len(c.Text), SummaryBytes: len(c.Text),
			Compacted: w.trunk.fitting.summarized(i), Sent: i < w.trunk.fitting.Sent,
			Pinned: c.Record == "", // what the store does not hold cannot be restored
		}
		if c.Record != "" {
			s.SummaryTokens, s.SummaryBytes = c.SummaryTokens, len(c.Summary)
		}
		stored, at = append(stored, s), append(at, i)
	}
	return stored, at
}

// compactionLimits are those of this task: the budget is less what the history takes, and never more than the context holds.
func (w *work) compactionLimits(ctx context.Context) lifecycle.CompactionLimits {
	l := w.lifecycle
	budget := l.BudgetTokens - l.ReservedTokens
	left := w.trunk.fitting
	for _, t := range w.trunk.history[min(left.Turns, len(w.trunk.history)):] {
		budget -= t.Tokens
	}
	if counter, ok := w.model.(tokenCounter); ok {
		bare := w.trunk
		bare.entries, bare.fitting = nil, fitting{Turns: left.Turns, Unquoted: left.Unquoted}
		if fixed, err := counter.CountTokens(ctx, bare.messages("x")); err == nil {
			budget = min(budget, counter.ContextSize()-fixed-l.ReservedTokens)
		}
	}
	budget = max(budget, 0)
	trigger := lifecycle.TriggerTokens(l.TriggerTokens, budget, l.TriggerRatio)
	return lifecycle.CompactionLimits{
		TriggerTokens: trigger, TargetTokens: trigger * 3 / 4, BudgetTokens: budget, // the rest is room for the next results
		HotRecords: l.HotRecords, MinBytes: l.MinCompactionBytes, MinRatio: l.MinCompactionRatio,
	}
}

// shortenReviews leaves the reasons of all but the newest reviews out, as far as they stand behind entry from: what stands before
// would have to be read again for that.
func (w *work) shortenReviews(from int) {
	hot := w.lifecycle.HotNotes
	for i := len(w.trunk.entries) - 1; i > from; i-- {
		if w.trunk.entries[i].Review == nil {
			continue
		}
		if hot--; hot < 0 {
			w.trunk.fitting = w.trunk.fitting.summarizing(i)
		}
	}
}
