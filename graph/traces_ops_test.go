package graph_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/llama-agent/llama-agent/graph"
	"github.com/llama-agent/llama-agent/graph/checkpoint"
)

// tracePass is one way through all operations of a scenario.
type tracePass struct {
	file     *traceFile
	oneByOne bool // one task at a time, each operation as the scenario says; else all at once, and all are streams of all modes
	strict   bool // mistakes that LangGraph drops silently aren't kept from package graph
	native   bool // subgraphs return what they wrote, rather than all values

	rec      *traceRecorder
	saver    *traceSaver
	root     *tracedGraph
	names    *traceNames
	at       int // index of the operation
	mistakes []traceMistake
	spare    map[rawQuestion]bool // questions that LangGraph didn't ask, because it had an answer already
	doubtful int                  // one more than the first operation that may not be bridged as LangGraph does it, 0: none
	answered map[string]bool      // tasks with a subgraph without checkpoints that has got an answer
	asked    map[rawQuestion]int  // one more than the last operation that ended with the question
	results  []*traceResult
	stored   map[string][]storedSpace
}

// traceMistake is a part of a scenario that LangGraph ignores and package graph refuses: a channel or a node that isn't there.
type traceMistake struct {
	op      int
	channel string
	node    string
	by      string
	inNode  bool // made by a node, not by the operation itself
}

func (p *tracePass) mistake(m traceMistake) {
	p.rec.mu.Lock()
	defer p.rec.mu.Unlock()
	m.op, m.inNode = p.at, !strings.Contains(m.by, "operation")
	p.mistakes = append(p.mistakes, m)
}

// traceResult is what came of one operation.
type traceResult struct {
	tree    any // as observed
	ran     []traceEntry
	marks   []traceEntry
	events  []traceEvent
	err     error           // of a run or an edit
	silent  bool            // no state of the root was streamed
	oneStep map[string]bool // channels whose value may be gone, though LangGraph returned it
	loose   bool            // a difference was bridged by running nodes once more than LangGraph did
	cut     bool            // LangGraph does what package graph refuses: from here on nothing can be compared
}

// do runs operation i.
func (p *tracePass) do(ctx context.Context, i int) (*traceResult, error) {
	p.at = i
	op := &p.file.Ops[i]
	switch op.Op {
	case "invoke", "stream":
		return p.run(ctx, op)
	case "get_state":
		return p.getState(ctx, op)
	case "history":
		return p.history(ctx, op)
	case "update_state":
		return p.updateState(ctx, op)
	}
	return nil, fmt.Errorf("no such operation: %q", op.Op)
}

// traceInput is the input of a run with the options that belong to it.
type traceInput struct {
	update graph.Update // nil: none
	opts   []graph.RunOption
	resume any // the answer without an ID, if answered
	answer bool
	byID   map[string]any // answers by the ID of their question
}

func (p *tracePass) input(ctx context.Context, op *traceOp) (in traceInput, err error) {
	where := fmt.Sprintf("operation %d", p.at)
	switch {
	case op.Input != nil && op.command():
		return in, errors.New("an operation has an input and a command")
	case op.Input != nil:
		var v any
		if err := json.Unmarshal(op.Input, &v); err != nil {
			return in, err
		}
		if v != nil {
			in.update = p.root.input(traceEnv{}.eval(v), "the input of "+where)
		}
	case !op.command():
		return in, errors.New("an operation has neither an input nor a command")
	}
	if op.Resume != nil {
		in.answer = true
		if err := json.Unmarshal(op.Resume, &in.resume); err != nil {
			return in, err
		}
	}
	if op.Update != nil || op.Goto != nil {
		u := p.root.update(traceEnv{}.eval(op.Update), where)
		u = append(u, graph.Goto(p.root.next(traceEnv{}.targets(op.Goto), where)...))
		in.opts = append(in.opts, graph.Command(u))
	}
	in.byID = map[string]any{}
	for name, v := range op.ResumeByID {
		id, err := p.question(ctx, op.Thread, name)
		if err != nil {
			return in, err
		}
		in.byID[id] = v
	}
	return in, nil
}

// options translates the options of an operation that runs the graph, except its answers.
func (p *tracePass) options(ctx context.Context, op *traceOp) ([]graph.RunOption, error) {
	opts, err := p.from(ctx, op)
	if op.Thread != "" {
		opts = append(opts, graph.Thread(op.Thread))
	}
	if op.RecursionLimit != nil {
		opts = append(opts, graph.MaxSteps(p.maxSteps(ctx, op)))
	}
	if op.Durability != "" {
		opts = append(opts, graph.WithDurability(graph.Durability(op.Durability)))
	}
	// The breakpoints of a run replace those of the graph.
	before, after := op.InterruptBefore, op.InterruptAfter
	if before == nil && after != nil {
		before = p.root.spec.InterruptBefore
	}
	if after == nil && before != nil {
		after = p.root.spec.InterruptAfter
	}
	return append(opts, graph.InterruptBefore(before...), graph.InterruptAfter(after...)), err
}

// from is the option for the checkpoint that an operation begins at.
func (p *tracePass) from(ctx context.Context, op *traceOp) ([]graph.RunOption, error) {
	if op.Checkpoint == nil {
		return nil, nil
	}
	id, err := p.checkpointID(ctx, op)
	return []graph.RunOption{graph.FromCheckpoint(id)}, err
}

// checkpointID finds the checkpoint that an operation names by its index.
func (p *tracePass) checkpointID(ctx context.Context, op *traceOp) (string, error) {
	for info, err := range p.saver.List(ctx, checkpoint.Query{Thread: op.Thread}) {
		if err != nil {
			return "", err
		}
		if info.Seq == int64(*op.Checkpoint+1) {
			return info.ID, nil
		}
	}
	return "", fmt.Errorf("thread %q has no checkpoint %d", op.Thread, *op.Checkpoint)
}

// once runs the graph one time and adds what it observes to r.
func (p *tracePass) once(ctx context.Context, op *traceOp, in traceInput, r *traceResult) (graph.State, error) {
	opts, err := p.options(ctx, op)
	if err != nil {
		return graph.State{}, err
	}
	p.rec.setSync(op.Durability == "" || op.Durability == "sync")
	opts = append(opts, in.opts...)
	if in.answer {
		opts = append(opts, graph.Resume(in.resume))
	}
	for _, id := range sortedKeys(in.byID) {
		opts = append(opts, graph.Answer(id, in.byID[id]))
	}
	g := p.root.compiled
	if op.InterruptBefore != nil || op.InterruptAfter != nil {
		g = p.root.unbroken
	}
	if p.oneByOne && op.Op == "invoke" {
		return g.Invoke(ctx, in.update, opts...)
	}
	modes, nested := []graph.Mode{graph.Updates, graph.Values, graph.Custom, graph.Tasks, graph.Checkpoints}, true
	if p.oneByOne {
		modes, nested = nil, op.Subgraphs
		for _, m := range op.Modes {
			modes = append(modes, graph.Mode(m))
		}
	}
	opts = append(opts, graph.Modes(modes...))
	if nested {
		opts = append(opts, graph.Subgraphs())
	}
	var last graph.State
	r.silent = true
	for ev, err := range g.Stream(ctx, in.update, opts...) {
		if err != nil {
			return last, err
		}
		if ev.Mode == graph.Values && len(ev.Namespace) == 0 {
			last, r.silent = ev.State, false
		}
		if len(ev.Namespace) == 0 && ev.Mode == graph.Checkpoints && p.saver == nil {
			p.rec.endRound()
		}
		if e, ok := p.event(op.Thread, ev); ok && slices.Contains(op.Modes, string(ev.Mode)) && (e.root || op.Subgraphs) {
			r.events = append(r.events, e)
		}
	}
	return last, nil
}

// run runs the graph for an operation.
func (p *tracePass) run(ctx context.Context, op *traceOp) (*traceResult, error) {
	in, err := p.input(ctx, op)
	if err != nil {
		return nil, err
	}
	r := &traceResult{}
	state, err := p.bridge(ctx, op, in, r)
	r.ran, r.marks = p.rec.take()
	r.err = err
	tree := map[string]any{}
	if e := p.runError(op, err); e != nil {
		tree["error"] = e
	} else if !r.silent && (op.Op == "invoke" || slices.Contains(op.Modes, "values")) {
		only := p.root.spec.Output
		if op.Op == "stream" {
			only = nil
		}
		tree["values"] = p.root.values(state, only)
	}
	if p.oneByOne && op.Op == "invoke" { // what else was streamed is seen only when all is streamed
		r.oneStep = p.root.oneStep()
	}
	var stop *graph.InterruptedError
	if errors.As(err, &stop) && len(stop.Questions) > 0 {
		for _, q := range stop.Questions {
			p.asked[rawQuestion(q.ID)] = p.at + 1
		}
		if op.showsQuestions() {
			tree["interrupts"] = questions(stop.Questions)
		}
	}
	r.tree = tree
	return r, nil
}

func (p *tracePass) runError(op *traceOp, err error) map[string]any {
	if err != nil && op.RecursionLimit != nil && *op.RecursionLimit < 1 {
		return map[string]any{"kind": "bad_recursion_limit"}
	}
	if errors.Is(err, graph.ErrNoSaver) && !op.command() {
		return map[string]any{"kind": "empty_input"} // there is nothing to continue without a saver
	}
	return traceError(err)
}

// question finds the ID of an open question of a thread by the value that the scenario saw under its name.
func (p *tracePass) question(ctx context.Context, thread, name string) (string, error) {
	value, ok := p.file.questionValue(name)
	if !ok {
		return name, nil // one that never was
	}
	s, err := p.root.compiled.State(ctx, thread)
	if err != nil {
		return "", err
	}
	for _, q := range s.Questions() {
		if jsonEqual(q.Value, value) {
			return q.ID, nil
		}
	}
	return name, nil
}

// questionValue finds the value of a question among what was observed.
func (f *traceFile) questionValue(name string) (value any, ok bool) {
	for i := range f.Ops {
		for _, q := range findQuestions(f.Ops[i].Observed) {
			if q["id"] == name {
				return q["value"], true
			}
		}
	}
	return nil, false
}

func (p *tracePass) getState(ctx context.Context, op *traceOp) (*traceResult, error) {
	var s graph.Snapshot
	var err error
	var opts []graph.StateOption
	if op.Subgraphs {
		opts = append(opts, graph.WithSubgraphs())
	}
	if op.Checkpoint == nil {
		s, err = p.root.compiled.State(ctx, op.Thread, opts...)
	} else {
		id, idErr := p.checkpointID(ctx, op)
		if idErr != nil {
			return nil, idErr
		}
		s, err = p.root.compiled.StateAt(ctx, op.Thread, id, opts...)
	}
	switch {
	case errors.Is(err, graph.ErrUnknownThread):
		return &traceResult{tree: noThread()}, nil
	case err != nil:
		return &traceResult{tree: map[string]any{"error": traceError(err)}}, nil
	}
	return &traceResult{tree: p.snapshot(op.Thread, p.root, s, snapshotOf{op.Checkpoint == nil, op.Subgraphs})}, nil
}

func (p *tracePass) history(ctx context.Context, op *traceOp) (*traceResult, error) {
	list := []any{}
	for s, err := range p.root.compiled.History(ctx, op.Thread) {
		if errors.Is(err, graph.ErrUnknownThread) {
			break
		}
		if err != nil {
			return &traceResult{tree: map[string]any{"error": traceError(err)}}, nil
		}
		list = append(list, p.snapshot(op.Thread, p.root, s, snapshotOf{}))
	}
	return &traceResult{tree: list}, nil
}

func (p *tracePass) updateState(ctx context.Context, op *traceOp) (*traceResult, error) {
	opts, err := p.from(ctx, op)
	if err != nil {
		return nil, err
	}
	asNode := ""
	if op.AsNode != nil {
		asNode = nodeName(*op.AsNode)
		switch *op.AsNode {
		case "INPUT":
			asNode = graph.AsInput
		case "COPY":
			asNode = graph.AsCopy
		}
	}
	var values any
	if op.Values != nil {
		if err := json.Unmarshal(op.Values, &values); err != nil {
			return nil, err
		}
	}
	var u graph.Update
	where := fmt.Sprintf("operation %d", p.at)
	switch {
	case values == nil:
	case asNode == graph.AsInput || asNode == graph.Start:
		u = p.root.input(traceEnv{}.eval(values), where)
	default:
		u = p.root.update(traceEnv{}.eval(values), where)
	}
	beside := p.inputBesideDue(ctx, op)
	info, err := p.root.compiled.UpdateState(ctx, op.Thread, asNode, u, opts...)
	r := &traceResult{err: err, tree: map[string]any{"checkpoint": info.Seq - 1}, cut: beside && err == nil}
	if r.cut && !slices.Equal(info.Next, []string{graph.Start}) {
		return nil, fmt.Errorf("an input that was stored leaves %v due", info.Next)
	}
	if err != nil {
		r.tree = map[string]any{"error": p.editError(err)}
	}
	return r, nil
}

// editError describes the error of an edit: LangGraph has one kind for all reasons why it makes no sense.
func (p *tracePass) editError(err error) map[string]any {
	if e := traceError(err); e["kind"] == "no_checkpointer" || e["kind"] == "no_thread" {
		return e
	}
	return map[string]any{"kind": "invalid_update"}
}
