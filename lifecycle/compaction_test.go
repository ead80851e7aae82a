package lifecycle_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/llama-agent/llama-agent/lifecycle"
)

func TestTriggerTokens(t *testing.T) {
	t.Parallel()
	require.Equal(t, 6000, lifecycle.TriggerTokens(6000, 12000, 0.75))
	require.Equal(t, 3000, lifecycle.TriggerTokens(6000, 4000, 0.75))
	require.Zero(t, lifecycle.TriggerTokens(-1, 4000, 0.75))
}

// record has a token for every 4 bytes, and a summary of a tenth.
func record(tokens int, sent bool) lifecycle.Stored {
	return lifecycle.Stored{Tokens: tokens, SummaryTokens: tokens / 10, Bytes: 4 * tokens, SummaryBytes: 4 * tokens / 10, Sent: sent}
}

func TestPlanCompaction(t *testing.T) {
	t.Parallel()
	limits := lifecycle.CompactionLimits{TriggerTokens: 3000, BudgetTokens: 6000, HotRecords: 2, MinBytes: 2000, MinRatio: 0.3}
	const sent, unsent = true, false
	compacted, pinned, wordy, longer := record(1000, unsent), record(1000, unsent), record(1000, unsent), record(1000, unsent)
	compacted.Compacted, pinned.Pinned, wordy.SummaryBytes, longer.SummaryTokens = true, true, 3000, 1000
	for name, test := range map[string]struct {
		stored []lifecycle.Stored
		change func(*lifecycle.CompactionLimits)
		want   lifecycle.Compaction
	}{
		"there is room": {
			stored: []lifecycle.Stored{record(1000, unsent), record(1000, unsent), record(1000, unsent)},
			want:   lifecycle.Compaction{Skipped: lifecycle.BelowTrigger, TokensBefore: 3000, TokensAfter: 3000, BytesBefore: 12000, BytesAfter: 12000},
		},
		"nothing was sent": {
			stored: []lifecycle.Stored{record(1000, unsent), record(1000, unsent), record(1000, unsent), record(1000, unsent)},
			want: lifecycle.Compaction{
				Compact: []int{0, 1}, TokensBefore: 4000, TokensAfter: 2200, BytesBefore: 16000, BytesAfter: 8800, Gain: 1800,
			},
		},
		"those that may not": {
			stored: []lifecycle.Stored{compacted, pinned, record(499, unsent), wordy, longer, record(1000, unsent)},
			want:   lifecycle.Compaction{Skipped: lifecycle.NothingEligible, TokensBefore: 4599, TokensAfter: 4599, BytesBefore: 400 + 4*4000 + 1996, BytesAfter: 400 + 4*4000 + 1996},
		},
		"all was sent": {
			stored: []lifecycle.Stored{record(1000, sent), record(1000, sent), record(1000, sent), record(1000, sent)},
			want: lifecycle.Compaction{
				Skipped: lifecycle.Prefill, TokensBefore: 4000, TokensAfter: 4000, BytesBefore: 16000, BytesAfter: 16000, Cost: 2100,
			},
		},
		"what was not sent pays for what was, until there is room": {
			stored: []lifecycle.Stored{record(500, sent), record(500, sent), record(500, sent), record(1200, unsent), record(1500, unsent), record(200, unsent)},
			want: lifecycle.Compaction{
				Compact: []int{2, 3}, TokensBefore: 4400, TokensAfter: 4400 - 1080 - 450, BytesBefore: 17600, BytesAfter: 17600 - 4*1530, Cost: 50, Gain: 1080,
			},
		},
		"as far as it can pay": {
			stored: []lifecycle.Stored{record(1000, sent), pinned, record(1000, sent), record(1000, unsent), record(1200, unsent), record(1700, unsent)},
			change: func(l *lifecycle.CompactionLimits) { l.TriggerTokens, l.BudgetTokens = 4300, 9000 },
			want: lifecycle.Compaction{
				Compact: []int{0, 2, 3}, TokensBefore: 6900, TokensAfter: 4200, BytesBefore: 27600, BytesAfter: 16800, Cost: 100, Gain: 1800,
			},
		},
		"the pinned one in between costs too much": {
			stored: []lifecycle.Stored{record(1000, sent), sentOne(pinned), record(1000, sent), record(1000, unsent), record(1200, unsent), record(1700, unsent)},
			change: func(l *lifecycle.CompactionLimits) { l.TriggerTokens, l.BudgetTokens = 4300, 9000 },
			want: lifecycle.Compaction{
				Compact: []int{2, 3}, TokensBefore: 6900, TokensAfter: 5100, BytesBefore: 27600, BytesAfter: 20400, Cost: 100, Gain: 900,
			},
		},
		"beyond the budget it may cost anything": {
			stored: []lifecycle.Stored{record(3000, sent), record(1000, sent), record(1000, sent), record(1500, sent)},
			want: lifecycle.Compaction{
				Compact: []int{0, 1}, Forced: true, TokensBefore: 6500, TokensAfter: 2900, BytesBefore: 26000, BytesAfter: 11600, Cost: 300 + 100 + 2500,
			},
		},
		"a hot record that does not fit with the newer ones": {
			stored: []lifecycle.Stored{record(1000, unsent), record(2500, unsent), record(1000, unsent)},
			want: lifecycle.Compaction{
				Compact: []int{0, 1}, TokensBefore: 4500, TokensAfter: 1350, BytesBefore: 18000, BytesAfter: 5400, Gain: 3150,
			},
		},
		"a hot record that fits with the newer ones, and not with the older ones": {
			stored: []lifecycle.Stored{pinned, record(1000, unsent), record(1200, unsent), record(1000, unsent)},
			want: lifecycle.Compaction{
				Compact: []int{1, 2}, TokensBefore: 4200, TokensAfter: 2220, BytesBefore: 16800, BytesAfter: 8880, Gain: 1980,
			},
		},
		"a target that leaves room": {
			stored: []lifecycle.Stored{record(1000, unsent), record(1000, unsent), record(1000, unsent), record(1000, unsent)},
			change: func(l *lifecycle.CompactionLimits) { l.TargetTokens = 2199 },
			want: lifecycle.Compaction{
				Compact: []int{0, 1, 2}, TokensBefore: 4000, TokensAfter: 1300, BytesBefore: 16000, BytesAfter: 5200, Gain: 2700,
			},
		},
		"the newest stays": {
			stored: []lifecycle.Stored{record(100, unsent), record(5000, unsent)},
			change: func(l *lifecycle.CompactionLimits) { l.HotRecords = 0 },
			want:   lifecycle.Compaction{Skipped: lifecycle.NothingEligible, TokensBefore: 5100, TokensAfter: 5100, BytesBefore: 20400, BytesAfter: 20400},
		},
		"unless it is too large": {
			stored: []lifecycle.Stored{record(100, unsent), record(7000, unsent)},
			want: lifecycle.Compaction{
				Compact: []int{1}, TokensBefore: 7100, TokensAfter: 800, BytesBefore: 28400, BytesAfter: 3200, Gain: 6300,
			},
		},
		"a trigger beyond the budget": {
			stored: []lifecycle.Stored{record(1000, unsent), record(1000, unsent), record(1000, unsent)},
			change: func(l *lifecycle.CompactionLimits) { l.BudgetTokens = 2000 },
			want: lifecycle.Compaction{
				Compact: []int{0, 1}, TokensBefore: 3000, TokensAfter: 1200, BytesBefore: 12000, BytesAfter: 4800, Gain: 1800,
			},
		},
		"no records": {want: lifecycle.Compaction{Skipped: lifecycle.BelowTrigger}},
	} {
		l := limits
		if test.change != nil {
			test.change(&l)
		}
		require.Equal(t, test.want, lifecycle.PlanCompaction(test.stored, l), name)
	}
}

func sentOne(s lifecycle.Stored) lifecycle.Stored {
	s.Sent = true
	return s
}

func TestPlanCompactionProperties(t *testing.T) {
	t.Parallel()
	stored := rapid.Custom(func(r *rapid.T) lifecycle.Stored {
		bytes := rapid.IntRange(0, 8000).Draw(r, "bytes")
		return lifecycle.Stored{
			Tokens: rapid.IntRange(0, 2000).Draw(r, "tokens"), SummaryTokens: rapid.IntRange(0, 400).Draw(r, "summary tokens"),
			Bytes: bytes, SummaryBytes: rapid.IntRange(0, 2000).Draw(r, "summary bytes"),
			Compacted: rapid.Bool().Draw(r, "compacted"), Pinned: rapid.IntRange(0, 9).Draw(r, "pinned") == 0, Sent: rapid.IntRange(0, 3).Draw(r, "sent") > 0,
		}
	})
	rapid.Check(t, func(r *rapid.T) {
		records := rapid.SliceOfN(stored, 0, 20).Draw(r, "records")
		limits := lifecycle.CompactionLimits{
			TriggerTokens: rapid.IntRange(0, 6000).Draw(r, "trigger"), TargetTokens: rapid.IntRange(0, 6000).Draw(r, "target"), BudgetTokens: rapid.IntRange(0, 12000).Draw(r, "budget"),
			HotRecords: rapid.IntRange(0, 5).Draw(r, "hot"), MinBytes: rapid.IntRange(0, 3000).Draw(r, "min bytes"), MinRatio: rapid.Float64Range(0, 1).Draw(r, "ratio"),
		}
		c := lifecycle.PlanCompaction(records, limits)
		require.Equal(r, c, lifecycle.PlanCompaction(records, limits))
		require.Equal(r, len(c.Compact) == 0, c.Skipped != lifecycle.NotSkipped)
		require.True(r, slices.IsSorted(c.Compact))
		require.LessOrEqual(r, c.TokensAfter, c.TokensBefore)
		require.LessOrEqual(r, c.BytesAfter, c.BytesBefore)
		for _, i := range c.Compact {
			s := records[i]
			require.False(r, s.Pinned || s.Compacted)
			require.GreaterOrEqual(r, s.Bytes, limits.MinBytes)
			require.GreaterOrEqual(r, float64(s.Bytes-s.SummaryBytes), limits.MinRatio*float64(s.Bytes))
			require.Less(r, s.SummaryTokens, s.Tokens)
			require.True(r, i < len(records)-1 || s.Tokens > limits.BudgetTokens, "the newest one")
		}
		if len(c.Compact) > 0 {
			require.True(r, c.Forced || c.Cost <= c.Gain)
			require.Equal(r, prefill(records, nil)-prefill(records, c.Compact), c.Gain-c.Cost, "gain and cost are what a model has to evaluate")
		}

		applied, tokens := slices.Clone(records), 0
		for _, i := range c.Compact {
			applied[i].Compacted = true
			// The model has not seen the summary, whatever the caller says of it.
			applied[i].Sent = rapid.Bool().Draw(r, "still sent") && applied[i].Sent
		}
		for _, s := range applied {
			tokens += shown(s)
		}
		require.Equal(r, c.TokensAfter, tokens)
		require.Empty(r, lifecycle.PlanCompaction(applied, limits).Compact, "nothing new")
	})
}

func shown(s lifecycle.Stored) int {
	if s.Compacted {
		return s.SummaryTokens
	}
	return s.Tokens
}

// prefill simulates the next model call: a cache holds the beginning of the last prompt, up to the first record that is unsent or
// that changes; the rest is evaluated.
func prefill(records []lifecycle.Stored, compact []int) int {
	n, cached := 0, true
	for i, s := range records {
		changes := slices.Contains(compact, i)
		cached = cached && s.Sent && !changes
		if changes {
			s.Compacted = true
		}
		if !cached {
			n += shown(s)
		}
	}
	return n
}
