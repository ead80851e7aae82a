package graph_test

import (
	"context"
	"slices"
	"strings"

	"github.com/llama-agent/llama-agent/graph/checkpoint"
)

// losesAnswers reports whether the operation continues a subgraph without checkpoints that has got an answer before: LangGraph has
// forgotten that answer by now and takes the new one for it.
func (p *tracePass) losesAnswers(ctx context.Context, op *traceOp) bool {
	if !p.root.spec.hasScope("none") || p.saver == nil || op.Resume == nil && op.ResumeByID == nil {
		return false
	}
	s, err := p.root.compiled.State(ctx, op.Thread)
	if err != nil {
		return false
	}
	lost := false
	for _, q := range s.Questions() {
		if len(q.Namespace) == 0 || !p.root.forgets(q.Namespace) {
			continue
		}
		task := op.Thread + " " + q.Namespace[0]
		lost = lost || p.answered[task]
		if p.answered == nil {
			p.answered = map[string]bool{}
		}
		p.answered[task] = true
	}
	return lost
}

// isDoubtful reports whether the operation may end in a way that can't be bridged.
func (p *tracePass) isDoubtful(ctx context.Context, op *traceOp) bool {
	return op.limitedBelow(&p.file.Graph) || p.answersNothing(ctx, op) || p.asksDeferred(op) || p.continuesOwn(ctx, op)
}

// continuesOwn reports whether a run is continued with a node due whose subgraph keeps its state, and has finished or waits for
// another task, that an edit or a fork has replaced: LangGraph doesn't run it, or continues it for that task.
func (p *tracePass) continuesOwn(ctx context.Context, op *traceOp) bool {
	if !op.runs() || !op.command() && string(op.Input) != "null" || p.saver == nil {
		return false
	}
	due, replaced := map[string]bool{}, op.Checkpoint != nil
	if s, err := p.root.compiled.State(ctx, op.Thread); err == nil {
		replaced = replaced || s.Checkpoint.Source == checkpoint.SourceUpdate || s.Checkpoint.Source == checkpoint.SourceFork
		for _, node := range s.Next {
			due[node] = true
		}
	}
	for _, t := range (traceEnv{}).targets(op.Goto) {
		due[t.node] = true
	}
	for _, q := range p.saver.known() {
		node, _, _ := strings.Cut(q.Namespace, "|")
		if q.Thread != op.Thread || node == "" || strings.Contains(q.Namespace, ":") || op.Checkpoint == nil && !due[node] {
			continue
		}
		q.Limit = 1
		for info, err := range p.saver.List(ctx, q) {
			if err == nil && (replaced || len(info.Next) == 0) {
				return true
			}
		}
	}
	return false
}

// asksDeferred reports whether a command asks for a deferred node: LangGraph doesn't run it when nothing else runs before.
func (p *tracePass) asksDeferred(op *traceOp) bool {
	return slices.ContainsFunc(traceEnv{}.targets(op.Goto), func(t traceTarget) bool {
		return slices.ContainsFunc(p.file.Graph.Nodes, func(n traceNode) bool { return n.Defer && n.Name == t.node })
	})
}

// limitedBelow reports whether a subgraph may have hit the limit of supersteps. It has one of its own, which LangGraph counts as for
// a run from input while the run is continued, or the other way round: no limit of the run does the same for both.
func (op *traceOp) limitedBelow(g *traceGraph) bool {
	want, _ := op.Observed.(map[string]any)
	e, _ := want["error"].(map[string]any)
	inner := len(g.Graphs) > 0 || slices.ContainsFunc(g.Nodes, func(n traceNode) bool { return n.Graph != nil })
	return inner && e["kind"] == "recursion_limit"
}

// answersNothing reports whether an operation has an answer while no question is open. LangGraph gives it to one that is asked
// later, but not to any.
func (p *tracePass) answersNothing(ctx context.Context, op *traceOp) bool {
	if op.Resume == nil || p.saver == nil {
		return false
	}
	s, err := p.root.compiled.State(ctx, op.Thread)
	return err == nil && len(s.Questions()) == 0
}

// hasScope reports whether g or a graph inside it has the scope as a subgraph.
func (g *traceGraph) hasScope(scope string) bool {
	for i := range g.Nodes {
		if sub := g.Nodes[i].Graph; sub != nil && (sub.Checkpointer == scope || sub.hasScope(scope)) {
			return true
		}
	}
	for _, sub := range g.Graphs {
		if sub.Checkpointer == scope || sub.hasScope(scope) {
			return true
		}
	}
	return false
}

// forgets reports whether a subgraph on the way to a namespace stores nothing. It isn't known which graph a node called.
func (g *tracedGraph) forgets(namespace []string) bool {
	for i := range namespace {
		if at := g.at(namespace[:i+1]); at == nil || at.spec.Checkpointer == "none" {
			return true
		}
	}
	return false
}

// retriedSpaces are where subgraphs run that a node runs again when it fails: there LangGraph begins anew in another namespace, and
// package graph continues.
type retriedSpaces struct {
	paths  []string // of nodes, with a slash at the end
	spaces []string // of namespaces, node by node with a slash at the end
}

func (f *traceFile) retriedSpaces() retriedSpaces {
	var r retriedSpaces
	f.Graph.retried("", &r)
	return r
}

func (g *traceGraph) retried(path string, r *retriedSpaces) {
	for i := range g.Nodes {
		n := &g.Nodes[i]
		here := path + n.Name + "/"
		calls := mentionedGraphs(n.Visits)
		if n.Retry != nil && (n.Graph != nil || len(calls) > 0) {
			r.spaces = append(r.spaces, here)
			if n.Graph != nil {
				r.paths = append(r.paths, here)
			}
			for _, name := range calls {
				r.paths = append(r.paths, path+name+"/")
			}
		}
		if n.Graph != nil {
			n.Graph.retried(here, r)
		}
	}
}

// mentionedGraphs lists the graphs that a node can call.
func mentionedGraphs(visits [][]traceAction) []string {
	var names []string
	walk(plain(visits), func(key string, v any) {
		if name, ok := v.(string); ok && key == "graph" && name != "" {
			names = append(names, name)
		}
	})
	return names
}

func (r retriedSpaces) path(path string) bool {
	return slices.ContainsFunc(r.paths, func(p string) bool { return strings.HasPrefix(path, p) })
}

// space reports whether a namespace with the names of the scenarios is one.
func (r retriedSpaces) space(ns any) bool {
	var path strings.Builder
	for _, part := range list(ns) {
		name, _, _ := strings.Cut(part.(string), "#")
		path.WriteString(name + "/")
	}
	return slices.ContainsFunc(r.spaces, func(s string) bool { return strings.HasPrefix(path.String(), s) })
}

// without returns what p observed and what the scenario observed without what happened inside subgraphs that are retried.
func (r retriedSpaces) without(p *tracePass, by counting) *tracePass {
	rest := *p
	file := *p.file
	file.Ops = slices.Clone(file.Ops)
	rest.file, rest.results = &file, slices.Clone(p.results)
	for i, result := range p.results {
		op := &file.Ops[i]
		if !op.runs() {
			continue
		}
		want, _ := plain(op.Observed).(map[string]any)
		for key, drop := range map[string]func(any) bool{
			"ran": r.entry, "marks": r.entry, "events": func(e any) bool { return r.space(e.(map[string]any)["ns"]) },
		} {
			if l := list(want[key]); l != nil {
				want[key] = slices.DeleteFunc(l, drop)
			}
		}
		op.Observed = want
		cut := *result
		entry := func(e traceEntry) bool { return r.entry(any(e.value)) }
		cut.ran = slices.DeleteFunc(slices.Clone(result.ran), entry)
		cut.marks = slices.DeleteFunc(slices.Clone(result.marks), entry)
		cut.events = slices.DeleteFunc(slices.Clone(result.events), func(e traceEvent) bool { return r.space(p.names.path(e.space, by)) })
		rest.results[i] = &cut
	}
	rest.stored, file.Observed.Storage = nil, map[string][]traceSpace{}
	for thread, spaces := range p.file.Observed.Storage {
		file.Observed.Storage[thread] = slices.DeleteFunc(slices.Clone(spaces), func(s traceSpace) bool { return r.space(plain(s.NS)) })
	}
	if p.stored != nil {
		rest.stored = map[string][]storedSpace{}
		for thread, spaces := range p.stored {
			rest.stored[thread] = slices.DeleteFunc(slices.Clone(spaces), func(s storedSpace) bool { return r.space(p.names.path(s.space, by)) })
		}
	}
	return &rest
}

func (r retriedSpaces) entry(e any) bool { return r.path(list(e)[0].(string)) }
