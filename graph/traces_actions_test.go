package graph_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/llama-agent/llama-agent/graph"
)

// tracedNode is a node that runs the actions of a scenario.
type tracedNode struct {
	graph *tracedGraph
	spec  *traceNode
	path  string
}

// raisedError is the failure of the actions raise and raise_once.
type raisedError struct {
	Kind    string `json:"raised"`
	Message string `json:"message"`
}

// raisedPrefix marks the error in the texts that are stored of it.
const raisedPrefix = "trace error "

func (e *raisedError) Error() string {
	data, _ := json.Marshal(e)
	return raisedPrefix + string(data)
}

// badReturnError stands for a node that returns no update, which in Go doesn't compile.
var errBadReturn = errors.New("trace: the node returned no update")

// nodeRun is one execution of a node.
type nodeRun struct {
	*tracedNode
	env traceEnv
}

// graphAboveKey is the context key of the traced graph whose node called a graph.
type graphAboveKey struct{}

func (n *tracedNode) run(ctx context.Context, s graph.State) (u graph.Update, err error) {
	rec := n.graph.pass.rec
	defer func() {
		if bug, ok := recover().(traceBug); ok {
			rec.bug(string(bug))
			err = errors.New(string(bug))
		}
		if err == nil {
			rec.finish(n.path)
		}
	}()
	visit := rec.begin(ctx, n.path)
	var input any = n.graph.values(s, n.spec.Reads)
	if arg, ok := n.graph.arg.Lookup(s); ok {
		input = arg
	}
	r := &nodeRun{tracedNode: n, env: traceEnv{input: input, vars: map[string]any{}, visit: visit}}
	if len(n.spec.Visits) == 0 {
		return nil, nil
	}
	u, _, err = r.actions(ctx, n.spec.Visits[min(visit, len(n.spec.Visits))-1])
	return u, err
}

// actions runs a list of actions and reports whether the node ended in it.
func (r *nodeRun) actions(ctx context.Context, list []traceAction) (u graph.Update, ended bool, err error) {
	for i := range list {
		u, ended, err = r.action(ctx, &list[i])
		if ended || err != nil {
			return u, true, err
		}
	}
	return nil, false, nil
}

func (r *nodeRun) action(ctx context.Context, a *traceAction) (u graph.Update, ended bool, err error) {
	rec := r.graph.pass.rec
	switch a.Do {
	case "update":
		return r.graph.update(r.env.eval(a.Update), r.path), true, nil
	case "command":
		return r.command(ctx, a), true, nil
	case "nothing":
		return nil, true, nil
	case "return_value":
		if v := r.env.eval(a.Value); v != nil {
			return nil, true, errBadReturn
		}
		return nil, true, nil
	case "interrupt":
		answer, err := graph.Interrupt[any](ctx, r.env.eval(a.Value))
		return nil, false, r.keep(a.As, answer, err)
	case "invoke":
		sub := r.graph.lexical(a.Graph)
		in := sub.input(r.env.eval(a.Input), "the input of "+r.path)
		s, err := sub.compiled.Call(context.WithValue(ctx, graphAboveKey{}, r.graph), in)
		if err != nil {
			return nil, true, err
		}
		return nil, false, r.keep(a.As, sub.values(s, sub.spec.Output), nil)
	case "raise", "raise_once":
		if a.Do == "raise_once" && !rec.first(a) {
			return nil, false, nil
		}
		return nil, true, &raisedError{Kind: a.Kind, Message: a.Message}
	case "custom":
		graph.Emit(ctx, r.env.eval(a.Value))
		return nil, false, nil
	case "mark":
		rec.mark(r.path, a.Text)
		return nil, false, nil
	case "if":
		if r.env.holds(a.Cond) {
			return r.actions(ctx, a.Then)
		}
		return r.actions(ctx, a.Else)
	case "wait_for":
		if r.graph.pass.oneByOne {
			return nil, false, nil
		}
		return nil, false, rec.wait(ctx, r.graph.path+a.Node, max(a.Count, 1))
	}
	panic(traceBug("no such action: " + a.Do))
}

func (r *nodeRun) keep(name string, v any, err error) error {
	if err == nil && name != "" {
		r.env.vars[name] = v
	}
	return err
}

func (r *nodeRun) command(ctx context.Context, a *traceAction) graph.Update {
	to := r.graph
	if a.Parent {
		to = r.above(ctx)
		if to == nil { // there is no graph whose channels the update could be for
			return graph.Update{graph.ToParent(nil)}
		}
	}
	u := to.update(r.env.eval(a.Update), r.path)
	if next := to.next(r.env.targets(a.Goto), r.path); len(next) > 0 {
		u = append(u, graph.Goto(next...))
	}
	if a.Parent {
		return graph.Update{graph.ToParent(u)}
	}
	return u
}

// above is the graph that the node's graph is a subgraph of: of a node of it, or called by one.
func (r *nodeRun) above(ctx context.Context) *tracedGraph {
	if outer := r.graph.outer; outer != nil && outer.subs[r.name()] == r.graph {
		return outer
	}
	above, _ := ctx.Value(graphAboveKey{}).(*tracedGraph)
	return above
}

// name is the last part of the path of the node's graph.
func (r *nodeRun) name() string {
	path := strings.TrimSuffix(r.graph.path, "/")
	return path[strings.LastIndex(path, "/")+1:]
}

// traceError describes an error as the scenarios do. It returns nil for nil and for an interruption, which is no error there.
func traceError(err error) map[string]any {
	var (
		raised   *raisedError
		conflict *graph.ConflictError
		unknown  *graph.UnknownNodeError
		answer   *graph.AnswerError
	)
	kind := func(kind string) map[string]any { return map[string]any{"kind": kind} }
	switch {
	case err == nil || errors.Is(err, graph.ErrInterrupted):
		return nil
	case errors.As(err, &raised):
		return map[string]any{"kind": "node_error", "raised": raised.Kind, "message": raised.Message}
	case errors.Is(err, errBadReturn), errors.As(err, &conflict), errors.As(err, &unknown):
		return kind("invalid_update")
	case errors.Is(err, graph.ErrRecursionLimit):
		return kind("recursion_limit")
	case errors.Is(err, graph.ErrNoSaver):
		return kind("no_checkpointer")
	case errors.Is(err, graph.ErrNoThread):
		return kind("no_thread")
	case errors.Is(err, graph.ErrNoParent):
		return kind("no_parent_graph")
	case errors.Is(err, graph.ErrUnknownThread):
		return kind("empty_input")
	case errors.As(err, &answer) && answer.ID == "" && len(answer.Open) > 1:
		return kind("ambiguous_resume")
	}
	return kind(fmt.Sprintf("unexpected: %v", err))
}

// storedTraceError describes the text of an error that was stored.
func storedTraceError(text string) map[string]any {
	if text == "" {
		return nil
	}
	if _, data, ok := strings.Cut(text, raisedPrefix); ok {
		raised := &raisedError{}
		if json.NewDecoder(strings.NewReader(data)).Decode(raised) == nil {
			return traceError(raised)
		}
	}
	for part, err := range map[string]error{
		errBadReturn.Error():             errBadReturn,
		"it takes one write a superstep": &graph.ConflictError{},
		graph.ErrNoParent.Error():        graph.ErrNoParent,
		graph.ErrRecursionLimit.Error():  graph.ErrRecursionLimit,
	} {
		if strings.Contains(text, part) {
			return traceError(err)
		}
	}
	return map[string]any{"kind": "unexpected: " + text}
}
