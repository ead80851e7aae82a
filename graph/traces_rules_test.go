package graph_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/llama-agent/llama-agent/graph"
)

// testMistake runs a scenario up to its first mistake that LangGraph drops silently. It must be an error that names the mistake and
// leave the thread at its last boundary.
func testMistake(t *testing.T, file *traceFile, m traceMistake) {
	t.Helper()
	upTo := *file
	upTo.Ops = file.Ops[:m.op+1]
	p := newTracePass(t, &upTo, tracePass{oneByOne: true, strict: true})
	for i := range m.op {
		p.one(t.Context(), t, i)
	}
	op := &file.Ops[m.op]
	before, _ := p.newest(t.Context(), op.Thread)
	r, err := p.do(t.Context(), m.op)
	require.NoError(t, err)
	if m.channel != "" {
		var unknown *graph.UnknownChannelError
		require.ErrorAs(t, r.err, &unknown, "operation %d writes to channel %q", m.op, m.channel)
		require.Equal(t, m.channel, unknown.Channel)
	} else {
		var unknown *graph.UnknownNodeError
		require.ErrorAs(t, r.err, &unknown, "operation %d asks for node %q", m.op, m.node)
		require.Equal(t, m.node, unknown.Node)
	}
	after, stored := p.newest(t.Context(), op.Thread)
	if !m.inNode {
		require.Equal(t, before.ID, after.ID, "a refused operation %d changed thread %q", m.op, op.Thread)
	} else if stored {
		s, err := p.root.compiled.State(t.Context(), op.Thread)
		require.NoError(t, err)
		require.True(t, slices.ContainsFunc(s.Tasks, func(task graph.TaskInfo) bool { return !task.Done && task.Error != "" }),
			"the task that made the mistake isn't due any more")
	}
	require.NoError(t, p.prefix(t.Context()))
}

// prefix checks that what p has stored is the beginning of what the scenario stored.
func (p *tracePass) prefix(ctx context.Context) error {
	if p.saver == nil || p.native {
		return nil
	}
	stored, err := p.storage(ctx)
	if err != nil {
		return err
	}
	want := map[string][]any{}
	for thread, spaces := range p.file.Observed.Storage {
		for _, s := range spaces {
			want[thread+" "+jsonText(s.NS)] = s.Checkpoints
		}
	}
	forms := p.file.forms()
	for thread, spaces := range stored {
		for _, s := range spaces {
			name := thread + " " + jsonText(p.names.render(s.space, countInSpace))
			for i, got := range s.checkpoints {
				if i >= len(want[name]) || !jsonEqual(forms.stored(plain(want[name][i])), forms.stored(plain(got))) {
					return fmt.Errorf("checkpoint %d of %s isn't stored like that: %s", i, name, jsonText(got))
				}
			}
		}
	}
	return nil
}

// testNative runs a scenario with subgraphs that return what they wrote, as is usual in package graph. Where that can't make a
// difference, the operations end the same way.
func testNative(t *testing.T, file *traceFile) {
	t.Helper()
	p := newTracePass(t, file, tracePass{oneByOne: true, native: true})
	if p.root.sharesReducers() {
		return
	}
	p.all(t)
	p.reportBugs(t, "native subgraphs")
	for i, r := range p.results {
		p.names.learn(file.Ops[i].Observed, r.whole())
	}
	for i, r := range p.results {
		want, _ := plain(file.Ops[i].Observed).(map[string]any)
		got, _ := p.names.render(r.tree, countInSpace).(map[string]any)
		r.keepStale(want, got)
		if e, _ := want["error"].(map[string]any); e["kind"] == "invalid_update" {
			return // two subgraphs that return a value that only one of them wrote
		}
		for _, key := range []string{"values", "error", "interrupts", "next"} {
			w := sortInterrupts(map[string]any{key: want[key]})
			require.Equal(t, w, sortInterrupts(map[string]any{key: got[key]}), "native subgraphs: operation %d", i)
		}
	}
}

// sharesReducers reports whether a channel with a reducer is shared between a graph and a subgraph of it.
func (g *tracedGraph) sharesReducers() bool {
	for _, sub := range g.subs {
		if sub.sharesReducers() {
			return true
		}
		for _, c := range sub.channels {
			if above := g.channel(c.name); above != nil && (above.reduces() || c.reduces()) {
				return true
			}
		}
	}
	for _, called := range g.called {
		if called.sharesReducers() {
			return true
		}
	}
	return false
}

// reduces reports whether a write is added to what the channel holds.
func (c *traceChannel) reduces() bool { return c.zero != nil || c.appends }

// ordered reports whether it depends on the order of tasks that can run at the same time what a node does: it does something else
// each time, and several tasks of it can be due at once.
func (f *traceFile) ordered() bool {
	all := f.Graph.branchTargets()
	for i := range f.Ops {
		all = append(all, f.Ops[i].Goto)
	}
	targets := sendTargets(plain(all))
	return f.Graph.changing(false, targets)
}

// changing reports whether a node of g changes from visit to visit while several tasks of it, or of a node around it, can run.
func (g *traceGraph) changing(several bool, targets map[string]bool) bool {
	for i := range g.Nodes {
		n := &g.Nodes[i]
		several := several || targets[n.Name]
		if n.Graph != nil && n.Graph.changing(several, targets) {
			return true
		}
		if several && (len(n.Visits) > 1 || mentions(plain(n.Visits), "$visit")) {
			return true
		}
	}
	for _, called := range g.Graphs {
		if called.changing(true, targets) {
			return true
		}
	}
	return false
}

// branchTargets is whatever can hold a Send, in g and the graphs inside it.
func (g *traceGraph) branchTargets() []any {
	all := []any{g.Branches}
	for i := range g.Nodes {
		all = append(all, g.Nodes[i].Visits)
		if sub := g.Nodes[i].Graph; sub != nil {
			all = append(all, sub.branchTargets()...)
		}
	}
	for _, sub := range g.Graphs {
		all = append(all, sub.branchTargets()...)
	}
	return all
}

// sendTargets finds the nodes of all Sends in tree.
func sendTargets(tree any) map[string]bool {
	found := map[string]bool{}
	walk(tree, func(key string, v any) {
		if name, ok := v.(string); ok && key == "send" {
			found[name] = true
		}
	})
	return found
}

func mentions(tree any, key string) bool {
	found := false
	walk(tree, func(k string, _ any) { found = found || k == key })
	return found
}

// walk calls f for every field in tree.
func walk(tree any, f func(key string, v any)) {
	switch tree := tree.(type) {
	case []any:
		for _, item := range tree {
			walk(item, f)
		}
	case map[string]any:
		for key, v := range tree {
			f(key, v)
			walk(v, f)
		}
	}
}
