package graph

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// wire returns the topology of a graph of nodes a to f; c is deferred when deferred is set.
func wire(t *testing.T, deferred string, build func(b *Builder)) *topology {
	t.Helper()
	b := New("plan")
	g := &Graph{nodes: map[string]*nodeDef{}}
	for _, n := range []string{"a", "b", "c", "d", "e", "f"} {
		g.nodes[n] = &nodeDef{name: n, deferred: n == deferred}
	}
	build(b)
	return b.topology(g)
}

func names(due []dueTask) []string {
	var out []string
	for _, d := range due {
		n := d.node
		if d.send {
			n += "!"
		}
		out = append(out, n)
	}
	return out
}

func TestPlan(t *testing.T) {
	t.Parallel()
	join := func(b *Builder) { b.Join([]string{"a", "b"}, "c") }
	ab := quoteAll([]string{"a", "b"}) + ` to "c"`
	tests := []struct {
		name     string
		deferred string
		build    func(*Builder)
		before   agenda
		done     []finishedTask
		due      []string
		waiting  []string
		joins    progress
	}{
		{name: "an edge", build: func(b *Builder) { b.Edge("a", "b") }, done: []finishedTask{{"a", nil, false}}, due: []string{"b"}},
		{name: "the end is nothing", build: func(b *Builder) { b.Edge("a", End) }, done: []finishedTask{{"a", []Next{To(End)}, false}}},
		{name: "by name, each once", build: func(b *Builder) { b.Edge("a", "d").Edge("a", "b").Edge("e", "d") },
			done: []finishedTask{{"a", []Next{To("b")}, false}, {"e", nil, false}}, due: []string{"b", "d"}},
		{name: "sends first and as sent", build: func(b *Builder) { b.Edge("a", "b") },
			done: []finishedTask{{"a", []Next{Send("e", nil), Send("b", nil), Send("e", nil)}, false}}, due: []string{"e!", "b!", "e!", "b"}},
		{name: "a join waits", build: join, done: []finishedTask{{"a", nil, false}}, joins: progress{ab: {"a"}}},
		{name: "a source that finishes twice counts once", build: join, before: agenda{joins: progress{ab: {"a"}}},
			done: []finishedTask{{"a", nil, false}}, joins: progress{ab: {"a"}}},
		{name: "a join completes over two steps and resets", build: join, before: agenda{joins: progress{ab: {"a"}}},
			done: []finishedTask{{"b", nil, false}}, due: []string{"c"}, joins: progress{}},
		{name: "a join completes in one step", build: join, done: []finishedTask{{"a", nil, false}, {"b", nil, false}}, due: []string{"c"}, joins: progress{}},
		{name: "a deferred node waits", deferred: "c", build: func(b *Builder) { b.Edge("a", "b").Edge("a", "c") },
			done: []finishedTask{{"a", nil, false}}, due: []string{"b"}, waiting: []string{"c"}},
		{name: "and runs when nothing else is due", deferred: "c", build: func(b *Builder) { b.Edge("a", "c") },
			before: agenda{waiting: []string{"c"}}, done: []finishedTask{{"b", nil, false}}, due: []string{"c"}},
		{name: "a node without edges ends", build: func(*Builder) {}, done: []finishedTask{{"a", nil, false}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			topo := wire(t, test.deferred, test.build)
			got := topo.plan(test.done, test.before)
			require.Equal(t, test.due, names(got.due))
			require.Equal(t, test.waiting, got.waiting)
			require.Equal(t, test.joins, got.joins)
		})
	}
}

func TestPlanChangesNothing(t *testing.T) {
	t.Parallel()
	topo := wire(t, "", func(b *Builder) { b.Join([]string{"a", "b", "e"}, "c") })
	first := topo.plan([]finishedTask{{"e", nil, false}}, agenda{})
	one := topo.plan([]finishedTask{{"a", nil, false}}, first)
	two := topo.plan([]finishedTask{{"b", nil, false}}, first)
	key := topo.joinKeys[0]
	require.Equal(t, []string{"e"}, first.joins[key])
	require.Equal(t, []string{"a", "e"}, one.joins[key])
	require.Equal(t, []string{"b", "e"}, two.joins[key])
}

func TestTaskIDs(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, run := range []string{"r", "s"} {
		for step := range 3 {
			for place := range 3 {
				for _, d := range []dueTask{{node: "a", send: true}, {node: "b", send: true}} {
					id := taskID(run, step, d, place)
					require.False(t, seen[id])
					seen[id] = true
					require.Equal(t, id, taskID(run, step, d, place))
				}
			}
		}
	}
	require.Equal(t, taskID("r", 1, dueTask{node: "a"}, 0), taskID("r", 1, dueTask{node: "a"}, 5),
		"which Sends run beside a node doesn't change its ID")
}
