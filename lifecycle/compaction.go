package lifecycle

// TriggerTokens returns the tokens of stored results beyond which they are compacted: the smaller of a fixed number and a share of
// the context budget.
func TriggerTokens(summaryTrigger, contextBudget int, ratio float64) int {
	return max(0, min(summaryTrigger, int(float64(contextBudget)*ratio)))
}

// Stored is a record as [PlanCompaction] sees it. Sizes in tokens are of what a prompt shows, sizes in bytes of what is stored.
type Stored struct {
	Tokens, SummaryTokens int // whole, and as a summary
	Bytes, SummaryBytes   int // whole, and as a summary

	Compacted bool // it is shown as its summary already
	Pinned    bool // it must stay whole
	// Sent says that the model has evaluated the record as it is shown now, so that it is in the KV cache.
	Sent bool
}

// shown returns the tokens that a record takes in a prompt.
func (s Stored) shown() int {
	if s.Compacted {
		return s.SummaryTokens
	}
	return s.Tokens
}

func (s Stored) shownBytes() int {
	if s.Compacted {
		return s.SummaryBytes
	}
	return s.Bytes
}

// CompactionLimits bound [PlanCompaction].
type CompactionLimits struct {
	TriggerTokens int     // nothing is compacted up to here; see [TriggerTokens]. Not more than BudgetTokens counts
	TargetTokens  int     // what hot records may take together with the others; 0: TriggerTokens, more does not count
	BudgetTokens  int     // beyond this, prefill does not matter
	HotRecords    int     // the newest records, which stay whole; at least 1
	MinBytes      int     // smaller records stay whole
	MinRatio      float64 // of its bytes that a summary must save, 0 to 1
}

// Skipped says why nothing is compacted.
type Skipped string

// The reasons.
const (
	NotSkipped      Skipped = ""
	BelowTrigger    Skipped = "below_trigger"    // there is room
	NothingEligible Skipped = "nothing_eligible" // every record is hot, pinned, compacted, small, or saves too little
	Prefill         Skipped = "prefill"          // evaluating the changed prompt would cost more than shorter records save
)

// Compaction is what to compact. Before and after are sums over all records.
type Compaction struct {
	Compact []int   // indexes of the records, ascending
	Skipped Skipped // why Compact is empty
	Forced  bool    // the budget asked for it, whatever it costs

	TokensBefore, TokensAfter int
	BytesBefore, BytesAfter   int

	// Tokens of prefill at the next model call: Cost that the model has evaluated and must evaluate again, Gain that it need not
	// evaluate any more. With [Prefill] they are those of the cheapest compaction, which was not worth it.
	Cost, Gain int
}

// PlanCompaction decides which records, given oldest first in the order in which a prompt shows them, give way to their summaries.
//
// Nothing is compacted while all records together fit TriggerTokens. Then the newest HotRecords stay whole as far as they fit
// TargetTokens together with what the older ones take at the least, so that with a target below the trigger a compaction leaves room
// and the next result does not make another; the newest one stays in any case, unless it alone exceeds
// BudgetTokens. Of the others those are eligible that are neither pinned nor compacted, have MinBytes or more, and whose summary
// saves MinRatio of their bytes, and tokens too.
//
// A prompt is evaluated once and continued: changing a record that the model has evaluated makes it evaluate everything again that
// follows. Only what the records sent before the first unsent one show can be in the cache; those from it on count as unsent.
//   - Eligible records that were not sent are all compacted: it costs nothing and saves their tokens at the next call. That is the
//     gain.
//   - Then the eligible records that were sent are compacted, the newest first, as long as the records together still exceed
//     TriggerTokens. The cost is all that was sent from the oldest of these on, as it is shown afterwards. It must not exceed the
//     gain.
//   - When the records still exceed BudgetTokens after that, all eligible ones are compacted, whatever it costs.
//
// Applying the plan and planning again compacts nothing more.
func PlanCompaction(stored []Stored, limits CompactionLimits) Compaction {
	limits.TriggerTokens = min(limits.TriggerTokens, limits.BudgetTokens)
	if limits.TargetTokens <= 0 || limits.TargetTokens > limits.TriggerTokens {
		limits.TargetTokens = limits.TriggerTokens
	}
	var c Compaction
	for _, s := range stored {
		c.TokensBefore += s.shown()
		c.BytesBefore += s.shownBytes()
	}
	c.TokensAfter, c.BytesAfter = c.TokensBefore, c.BytesBefore
	if c.TokensBefore <= limits.TriggerTokens {
		c.Skipped = BelowTrigger
		return c
	}
	eligible := eligibleRecords(stored, limits)
	if len(eligible) == 0 {
		c.Skipped = NothingEligible
		return c
	}
	p := planner{stored: stored, eligible: eligible, cached: cachedRecords(stored)}
	from := p.choose(c.TokensBefore, limits.TriggerTokens)
	if c.TokensBefore-p.saved(from) > limits.BudgetTokens && from > 0 {
		from, c.Forced = 0, true
	}
	if from == len(eligible) {
		c.Skipped = Prefill
		c.Cost, c.Gain = p.cost(from-1), p.gain()
		return c
	}
	c.Compact = eligible[from:]
	c.Cost, c.Gain = p.cost(from), p.gain()
	for _, i := range c.Compact {
		c.TokensAfter -= stored[i].Tokens - stored[i].SummaryTokens
		c.BytesAfter -= stored[i].Bytes - stored[i].SummaryBytes
	}
	return c
}

// eligibleRecords returns the indexes of the records that may be compacted.
func eligibleRecords(stored []Stored, limits CompactionLimits) []int {
	var eligible []int
	for i, s := range stored[:hotFrom(stored, limits)] {
		if s.compactable(limits) {
			eligible = append(eligible, i)
		}
	}
	return eligible
}

// compactable reports whether compacting the record saves enough.
func (s Stored) compactable(limits CompactionLimits) bool {
	if s.Pinned || s.Compacted || s.Bytes < limits.MinBytes || s.SummaryTokens >= s.Tokens || s.SummaryBytes > s.Bytes {
		return false
	}
	return float64(s.Bytes-s.SummaryBytes) >= limits.MinRatio*float64(s.Bytes)
}

// hotFrom returns the index of the oldest hot record.
func hotFrom(stored []Stored, limits CompactionLimits) int {
	least := func(s Stored) int {
		if s.compactable(limits) {
			return s.SummaryTokens
		}
		return s.shown()
	}
	older := 0 // what the records before from take at the least
	for _, s := range stored {
		older += least(s)
	}
	from, hot := len(stored), 0
	for from > 0 && len(stored)-from < max(1, limits.HotRecords) {
		s := stored[from-1]
		older -= least(s)
		hot += s.shown()
		fits := hot+older <= limits.TargetTokens
		if from == len(stored) {
			fits = hot <= limits.BudgetTokens
		}
		if !fits {
			break
		}
		from--
	}
	return from
}

// cachedRecords returns how many records from the first on were sent: a cache holds beginnings of prompts.
func cachedRecords(stored []Stored) int {
	for i, s := range stored {
		if !s.Sent {
			return i
		}
	}
	return len(stored)
}

// planner weighs which of the eligible records to compact: always eligible[from:] for some from.
type planner struct {
	stored   []Stored
	eligible []int // ascending
	cached   int   // records before this one are in the cache
}

// choose returns where the records to compact begin; len(eligible) when none is worth it.
func (p planner) choose(before, trigger int) int {
	from := len(p.eligible)
	for from > 0 && p.eligible[from-1] >= p.cached {
		from--
	}
	for from > 0 && before-p.saved(from) > trigger && p.cost(from-1) <= p.gain() {
		from--
	}
	return from
}

// saved returns the tokens that eligible[from:] save.
func (p planner) saved(from int) int {
	n := 0
	for _, i := range p.eligible[from:] {
		n += p.stored[i].Tokens - p.stored[i].SummaryTokens
	}
	return n
}

// gain returns the tokens of eligible records not in the cache that their summaries save. They are compacted in any case.
func (p planner) gain() int {
	n := 0
	for _, i := range p.eligible {
		if i >= p.cached {
			n += p.stored[i].Tokens - p.stored[i].SummaryTokens
		}
	}
	return n
}

// cost returns the tokens in the cache that must be evaluated again when eligible[from:] are compacted.
func (p planner) cost(from int) int {
	n, next := 0, from
	for i := p.eligible[from]; i < p.cached; i++ {
		if next < len(p.eligible) && p.eligible[next] == i {
			n += p.stored[i].SummaryTokens
			next++
			continue
		}
		n += p.stored[i].shown()
	}
	return n
}
