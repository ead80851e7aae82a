package agent_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/llama-agent/llama-agent/agent"
	"github.com/llama-agent/llama-agent/graph/checkpoint"
	"github.com/llama-agent/llama-agent/lifecycle"
)

// openRecords opens a real store of records.
func openRecords(t *testing.T) *lifecycle.Store {
	t.Helper()
	store, err := lifecycle.Open(t.Context(), filepath.Join(t.TempDir(), "records.sqlite"), lifecycle.Options{Clock: steadyClock()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	return store
}

// tight are limits at which nothing but the trigger decides: every result may be compacted, and only the newest is hot.
func tight(records agent.Records) *agent.Lifecycle {
	l := agent.DefaultLifecycle(records)
	l.BudgetTokens, l.ReservedTokens, l.TriggerRatio, l.TriggerTokens = 1_000_000, 0, 1, 1
	l.MinCompactionBytes, l.MinCompactionRatio, l.HotRecords, l.SummaryChars = 1, 0, 1, 200
	return l
}

// counted makes a rig whose model counts tokens as words, with a lifecycle context.
func counted(t *testing.T, l *agent.Lifecycle, change func(*agent.Config), script ...reply) *rig {
	t.Helper()
	r := &rig{world: newWorld(), t: t, model: &fakeModel{t: t, script: script}}
	config := agent.Config{
		Model: sizedModel{r.model, 1_000_000}, Tools: r.tools(t), Saver: checkpoint.NewMemory(), Lifecycle: l,
		Clock: steadyClock(), NewID: func() string { return "3f2a" }, Workspace: "/ws",
	}
	if change != nil {
		change(&config)
	}
	runner, err := agent.New(config)
	require.NoError(t, err)
	r.runner = runner
	return r
}

// scroll is a text of n words in lines of ten. Its middle, which no summary of other words shows, holds "secret-NAME".
func scroll(name string, n int) string {
	var b strings.Builder
	for i := range n {
		word := fmt.Sprintf("%s%04d", name, i)
		if i == n/2 {
			word = "secret-" + name
		}
		b.WriteString(word)
		if i%10 == 9 {
			b.WriteString("\n")
		} else if i < n-1 {
			b.WriteString(" ")
		}
	}
	return strings.TrimRight(b.String(), "\n")
}

// resultTokens is what a prompt shows around the text of a result, in words.
const resultTokens = 10

// contextEvents returns the names of the context events, in order, without those of the finalizer when answered is true.
func contextEvents(events []agent.Event) []string {
	var names []string
	for _, e := range eventsOf[agent.ContextEvent](events) {
		names = append(names, e.Name)
	}
	return names
}

// lastEvent is the data of the last context event of a name.
func lastEvent(t *testing.T, events []agent.Event, name string) map[string]any {
	t.Helper()
	all := eventsOf[agent.ContextEvent](events)
	for _, e := range slices.Backward(all) {
		if e.Name == name {
			return e.Data
		}
	}
	require.Fail(t, "no event", "%s is not among %v", name, contextEvents(events))
	return nil
}

// asked is the first question of a kind.
func (r *rig) asked(kind string) question {
	r.t.Helper()
	for _, q := range r.model.questions() {
		if q.kind == kind {
			return q
		}
	}
	require.Fail(r.t, "nothing asked", "no question is a %s", kind)
	return question{}
}

// wholeIn tells which of the named scrolls a prompt shows whole.
func wholeIn(prompt string, names ...string) []string {
	whole := []string{}
	for _, name := range names {
		if strings.Contains(prompt, "secret-"+name) {
			whole = append(whole, name)
		}
	}
	return whole
}

var errBroken = errors.New("the disk is broken")

// brokenRecords are records whose operations fail by name.
type brokenRecords struct {
	agent.Records
	mu     sync.Mutex
	broken map[string]error
}

func (b *brokenRecords) failing(operation string, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.broken == nil {
		b.broken = map[string]error{}
	}
	b.broken[operation] = err
}

func (b *brokenRecords) err(operation string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.broken[operation]
}

func (b *brokenRecords) Put(ctx context.Context, r lifecycle.Record) (lifecycle.Record, error) {
	if err := b.err("Put"); err != nil {
		return lifecycle.Record{}, err
	}
	return b.Records.Put(ctx, r)
}

func (b *brokenRecords) Get(ctx context.Context, owners []string, ref string) (lifecycle.Record, error) {
	if err := b.err("Get"); err != nil {
		return lifecycle.Record{}, err
	}
	return b.Records.Get(ctx, owners, ref)
}

func (b *brokenRecords) List(ctx context.Context, owner string, o lifecycle.ListOptions) ([]lifecycle.Record, error) {
	if err := b.err("List"); err != nil {
		return nil, err
	}
	return b.Records.List(ctx, owner, o)
}

func (b *brokenRecords) Search(ctx context.Context, owners []string, query string, o lifecycle.SearchOptions) ([]lifecycle.Hit, error) {
	if err := b.err("Search"); err != nil {
		return nil, err
	}
	return b.Records.Search(ctx, owners, query, o)
}
