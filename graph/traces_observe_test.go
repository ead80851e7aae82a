package graph_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/llama-agent/llama-agent/graph"
	"github.com/llama-agent/llama-agent/graph/checkpoint"
)

// What a pass observes is in the form of the scenarios but for names that the saver's IDs stand for. They are put in once
// all is known.
type (
	rawQuestion string // ID of a question
	rawTask     string // ID of a task
	rawSpace    struct {
		thread string
		path   []string // a namespace
	}
)

// traceEvent is an event with what is needed to compare it.
type traceEvent struct {
	tree  map[string]any
	space rawSpace
	task  rawTask // whose event it is, if it is a task's
	edge  bool    // lies between two supersteps
	root  bool
	step  int // of its own graph, notInStep if it says none
	round int // of the root
}

// notInStep is the step of an event that shows a state.
const notInStep = -9

// graphOf finds the graph that s belongs to among g and those inside it.
func (g *tracedGraph) graphOf(s graph.State) *tracedGraph {
	if g.owns(s) {
		return g
	}
	for _, inner := range []map[string]*tracedGraph{g.subs, g.called} {
		for _, name := range sortedKeys(inner) {
			if found := inner[name].graphOf(s); found != nil {
				return found
			}
		}
	}
	return nil
}

func (g *tracedGraph) owns(s graph.State) (yes bool) {
	defer func() { _ = recover() }() // reading a channel of another graph panics
	g.arg.Lookup(s)
	return true
}

// event translates an event. Some have no counterpart: then ok is false.
func (p *tracePass) event(thread string, ev graph.Event) (e traceEvent, ok bool) {
	space := rawSpace{thread, ev.Namespace}
	tree := map[string]any{"mode": string(ev.Mode), "ns": space}
	e = traceEvent{tree: tree, space: space, task: rawTask(ev.Task), root: len(ev.Namespace) == 0, step: ev.Step, round: p.rec.current()}
	p.names.space(space)
	switch ev.Mode {
	case graph.Values:
		e.step = notInStep
		data := p.root.graphOf(ev.State).values(ev.State, nil)
		if len(ev.Questions) > 0 {
			e.task = rawTask(ev.Questions[0].ID) // these events don't tell their task
			data["__interrupt__"] = questions(ev.Questions)
		} else {
			e.edge = true
		}
		tree["data"] = data
	case graph.Updates:
		switch {
		case len(ev.Questions) > 0:
			e.task = rawTask(ev.Questions[0].ID)
			tree["data"] = map[string]any{"__interrupt__": questions(ev.Questions)}
		case ev.Stopped != nil:
			tree["data"], e.edge = map[string]any{"__interrupt__": []any{}}, true
		default:
			data := map[string]any{ev.Node: nil}
			if u := updateTree(ev.Update); len(u) > 0 {
				data[ev.Node] = u
			}
			if ev.Cached {
				data["__metadata__"] = map[string]any{"cached": true}
			}
			tree["data"] = data
		}
	case graph.Custom:
		tree["data"] = ev.Custom
	case graph.Tasks:
		p.task(ev, tree)
	case graph.Checkpoints:
		e.edge = true
		p.checkpointEvent(ev, tree)
	default:
		return e, false
	}
	return e, true
}

func (p *tracePass) task(ev graph.Event, tree map[string]any) {
	tree["task"], tree["node"] = rawTask(ev.Task), ev.Node
	if ev.Phase == graph.TaskBegin {
		g := p.root.graphOf(ev.Input)
		var input any
		at := p.root.at(ev.Namespace)
		switch arg, sent := g.arg.Lookup(ev.Input); {
		case sent:
			input = arg
		case at != nil && at != g: // the private input of a subgraph
			input = g.written(ev.Input)
		default:
			input = g.values(ev.Input, g.reads(ev.Node))
		}
		tree["start"] = map[string]any{"input": input}
		p.names.space(rawSpace{tree["ns"].(rawSpace).thread, append(slices.Clone(ev.Namespace), ev.Node+":"+ev.Task)})
		return
	}
	end := map[string]any{"result": updateTree(ev.Update)}
	if err := traceError(ev.Err); err != nil {
		end["error"] = err
	}
	if len(ev.Questions) > 0 {
		end["interrupts"] = questions(ev.Questions)
	}
	tree["end"] = end
}

// reads returns what the node with this name reads, nil for everything.
func (g *tracedGraph) reads(node string) []string {
	for _, n := range g.spec.Nodes {
		if n.Name == node {
			return n.Reads
		}
	}
	return nil
}

// written is values without what channels start with.
func (g *tracedGraph) written(s graph.State) map[string]any {
	values := map[string]any{}
	names := s.Channels()
	for _, c := range g.channels {
		if v, ok := c.lookup(s); ok && slices.Contains(names, c.name) {
			values[c.name] = v
		}
	}
	return values
}

// at returns the graph that runs in a namespace, or nil when a node of that namespace calls several.
func (g *tracedGraph) at(namespace []string) *tracedGraph {
	for _, part := range namespace {
		name, _, _ := strings.Cut(part, ":")
		if g = g.subs[name]; g == nil {
			return nil
		}
	}
	return g
}

func (p *tracePass) checkpointEvent(ev graph.Event, tree map[string]any) {
	info := ev.Checkpoint
	checkpointTree(info, tree)
	tree["next"] = nodeTrees(info.Next)
	tree["values"] = p.root.graphOf(ev.State).values(ev.State, nil)
}

func checkpointTree(info checkpoint.Info, tree map[string]any) {
	tree["step"], tree["source"] = info.Step, string(info.Source)
	tree["checkpoint"], tree["parent"] = info.Seq-1, nil
	if info.ParentSeq > 0 {
		tree["parent"] = info.ParentSeq - 1
	}
}

func nodeTrees(nodes []string) []any {
	out := []any{}
	for _, n := range nodes {
		out = append(out, traceName(n))
	}
	return out
}

func questions(all []graph.Question) []any {
	out := []any{}
	for _, q := range all {
		out = append(out, map[string]any{"id": rawQuestion(q.ID), "value": q.Value})
	}
	return out
}

// updateTree is what an update writes, by channel.
func updateTree(u graph.Update) map[string]any {
	tree := map[string]any{}
	for _, w := range u {
		if w.Channel() == nil {
			continue
		}
		name, v := w.Channel().Name(), w.Value()
		if list, ok := v.([]any); ok && list == nil {
			v = []any{}
		}
		if w.Replaces() {
			v = overwriteValue{v}
		}
		if before, twice := tree[name]; twice {
			v = []any{"several writes", before, v}
		}
		tree[name] = v
	}
	return tree
}

// snapshotOf says how a snapshot was made.
type snapshotOf struct {
	newest    bool // of the newest checkpoint
	subgraphs bool // with those of subgraphs
}

// noThread is the snapshot of a thread without checkpoints.
func noThread() map[string]any {
	return map[string]any{"values": map[string]any{}, "next": []any{}, "exists": false}
}

// snapshot translates a snapshot of g.
func (p *tracePass) snapshot(thread string, g *tracedGraph, s graph.Snapshot, how snapshotOf) map[string]any {
	values := g.values(s.State, nil)
	if how.newest && slices.ContainsFunc(s.Tasks, func(t graph.TaskInfo) bool { return t.Done }) {
		g.dropOneStep(values) // LangGraph loses them when it merges what finished tasks wrote
	}
	tree := map[string]any{"values": values, "next": nodeTrees(s.Next)}
	checkpointTree(s.Checkpoint, tree)
	tasks, asked := []any{}, []any{}
	for _, t := range s.Tasks {
		task := map[string]any{"node": traceName(t.Node)}
		if t.Done {
			task["result"] = g.storedUpdate(t.Update)
		}
		if err := storedTraceError(t.Error); err != nil {
			task["error"] = err
		}
		if qs := questions(p.shown(t, how.newest, s.Checkpoint.Namespace)); len(qs) > 0 {
			task["interrupts"] = qs
			asked = append(asked, qs...)
		}
		if t.Namespace != nil {
			space := rawSpace{thread, t.Namespace}
			p.names.space(space)
			switch {
			case t.State != nil:
				task["state"] = p.snapshot(thread, g.subs[t.Node], *t.State, how)
			case how.subgraphs:
				task["state"] = noThread()
			default:
				task["state"] = map[string]any{"ns": space}
			}
		}
		tasks = append(tasks, task)
	}
	tree["tasks"] = tasks
	if len(asked) > 0 {
		tree["interrupts"] = asked
	}
	return tree
}

// oneStep returns the channels whose values last for one step.
func (g *tracedGraph) oneStep() map[string]bool {
	names := map[string]bool{}
	for _, c := range g.channels {
		if c.oneStep() {
			names[c.name] = true
		}
	}
	return names
}

// dropOneStep removes the values that last for one step.
func (g *tracedGraph) dropOneStep(values map[string]any) {
	for name := range g.oneStep() {
		delete(values, name)
	}
}

// shown are the questions of a task that LangGraph shows: those that were asked last, at the newest checkpoint as long as the task
// hasn't finished.
func (p *tracePass) shown(t graph.TaskInfo, newest bool, namespace string) []graph.Question {
	if newest && (t.Done || len(t.Questions) > 0) {
		return t.Questions
	}
	asked := slices.DeleteFunc(slices.Clone(t.Asked), func(q graph.Question) bool { return p.spare[rawQuestion(q.ID)] })
	if len(asked) == 0 {
		return nil
	}
	// A node asks one question at a time, the subgraphs that it runs may ask several.
	below := func(q graph.Question) bool { return strings.Join(q.Namespace, "|") != namespace }
	seen := func(q graph.Question) int { return p.asked[rawQuestion(q.ID)] }
	last := slices.MaxFunc(asked, func(a, b graph.Question) int { return seen(a) - seen(b) })
	if seen(last) == 0 { // nobody was told
		last = asked[len(asked)-1]
	}
	return slices.DeleteFunc(asked, func(q graph.Question) bool {
		return q.ID != last.ID && (!below(q) || !below(last) || seen(q) != seen(last))
	})
}

// storedUpdate is updateTree without what isn't stored.
func (g *tracedGraph) storedUpdate(u graph.Update) map[string]any {
	tree := updateTree(u)
	for _, c := range g.channels {
		if c.kind == "untracked" {
			delete(tree, c.name)
		}
	}
	return tree
}

// storage reads all that the pass has stored: by thread, its namespaces in order of their first checkpoint.
func (p *tracePass) storage(ctx context.Context) (map[string][]storedSpace, error) {
	all := map[string][]storedSpace{}
	for _, q := range p.saver.spaces {
		space := storedSpace{space: rawSpace{thread: q.Thread}}
		if q.Namespace != "" {
			space.space.path = strings.Split(q.Namespace, "|")
		}
		p.names.space(space.space)
		for info, err := range p.saver.List(ctx, q) {
			if err != nil {
				return nil, err
			}
			saved, err := p.saver.Load(ctx, checkpoint.Ref{Thread: q.Thread, Namespace: q.Namespace, ID: info.ID})
			if err != nil {
				return nil, err
			}
			values, err := p.storedValues(saved)
			if err != nil {
				return nil, err
			}
			tree := map[string]any{"values": values}
			checkpointTree(info, tree)
			if tree["checkpoint"] != info.Seq-1 {
				return nil, errors.New("checkpoints are not numbered")
			}
			space.seqs = append(space.seqs, info.Seq)
			delete(tree, "checkpoint")
			space.checkpoints = append(space.checkpoints, tree)
		}
		slices.Reverse(space.checkpoints)
		slices.Reverse(space.seqs)
		for i, seq := range space.seqs {
			if seq != int64(i+1) {
				return nil, fmt.Errorf("checkpoint %d of thread %q has the number %d", i, q.Thread, seq)
			}
		}
		all[q.Thread] = append(all[q.Thread], space)
	}
	return all, nil
}

// storedSpace is what one namespace stores.
type storedSpace struct {
	space       rawSpace
	checkpoints []any
	seqs        []int64
}

func (p *tracePass) storedValues(saved *checkpoint.Saved) (map[string]any, error) {
	g := p.root.storing(saved)
	values := map[string]any{}
	for name, parts := range saved.Values {
		c := g.channel(name)
		if c == nil {
			continue // hidden: what a subgraph will hand back
		}
		v, err := c.stored(parts)
		if err != nil {
			return nil, err
		}
		values[name] = v
	}
	return values, nil
}

// storing finds the graph that stored a checkpoint. For one that a node called these are the values that tell.
func (g *tracedGraph) storing(saved *checkpoint.Saved) *tracedGraph {
	var path []string
	if saved.Namespace != "" {
		path = strings.Split(saved.Namespace, "|")
	}
	if at := g.at(path); at != nil {
		return at
	}
	var candidates []*tracedGraph
	var collect func(*tracedGraph)
	collect = func(g *tracedGraph) {
		for _, name := range sortedKeys(g.called) {
			candidates = append(candidates, g.called[name])
			collect(g.called[name])
		}
		for _, name := range sortedKeys(g.subs) {
			candidates = append(candidates, g.subs[name])
			collect(g.subs[name])
		}
	}
	collect(g)
	return slices.MaxFunc(candidates, func(a, b *tracedGraph) int { return a.fits(saved) - b.fits(saved) })
}

// fits counts the stored channels that g has.
func (g *tracedGraph) fits(saved *checkpoint.Saved) int {
	n := 0
	for name := range saved.Values {
		if g.channel(name) != nil {
			n++
		}
	}
	return n
}
