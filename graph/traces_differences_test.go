package graph_test

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/llama-agent/llama-agent/graph"
	"github.com/llama-agent/llama-agent/graph/checkpoint"
)

// The rules that say how package graph differs from LangGraph on purpose, and why, are in testdata/langgraph/differences.md.

// bridge runs the graph, and where package graph refuses what LangGraph lets pass, does what LangGraph makes of it.
func (p *tracePass) bridge(ctx context.Context, op *traceOp, in traceInput, r *traceResult) (graph.State, error) {
	before, known := p.newest(ctx, op.Thread)
	s, err := p.once(ctx, op, in, r)
	var answer *graph.AnswerError
	unchanged := func() error {
		if after, _ := p.newest(ctx, op.Thread); after.ID != before.ID {
			return fmt.Errorf("a refused run wrote checkpoint %q", after.ID)
		}
		return nil
	}
	switch {
	case errors.Is(err, graph.ErrNoSaver), errors.Is(err, graph.ErrNoThread):
		return s, err
	case errors.Is(err, graph.ErrUnknownThread) && op.command():
		if known {
			return s, fmt.Errorf("thread %q isn't unknown", op.Thread)
		}
		if op.Update != nil || op.Goto != nil {
			r.cut = true // LangGraph applies the command twice
			return s, unchanged()
		}
		return p.once(ctx, op, traceInput{update: graph.Update{}}, r)
	case errors.Is(err, graph.ErrNothingToResume):
		if err := unchanged(); err != nil {
			return s, err
		}
		return p.finished(ctx, op, r)
	case errors.As(err, &answer) && (answer.ID != "" || len(answer.Open) == 0):
		if err := unchanged(); err != nil {
			return s, err
		}
		if op.Checkpoint != nil && int64(*op.Checkpoint) != before.Seq-1 {
			r.cut = true // LangGraph runs on from the checkpoint without a fork
			return s, nil
		}
		return p.unasked(ctx, op, in, r, answer)
	case err == nil && op.RecursionLimit != nil:
		return s, p.exactLimit(ctx, op)
	}
	return s, err
}

// newest is the newest checkpoint of a thread.
func (p *tracePass) newest(ctx context.Context, thread string) (checkpoint.Info, bool) {
	if p.saver != nil {
		for info, err := range p.saver.List(ctx, checkpoint.Query{Thread: thread, Limit: 1}) {
			return info, err == nil
		}
	}
	return checkpoint.Info{}, false
}

// finished stands for continuing a thread that has finished: LangGraph returns its state.
func (p *tracePass) finished(ctx context.Context, op *traceOp, r *traceResult) (graph.State, error) {
	r.silent = false
	s, err := p.root.compiled.State(ctx, op.Thread)
	if err != nil {
		return s.State, err
	}
	for _, ev := range []graph.Event{
		{Mode: graph.Values, State: s.State},
		{Mode: graph.Checkpoints, State: s.State, Checkpoint: s.Checkpoint},
	} {
		if e, ok := p.event(op.Thread, ev); ok && slices.Contains(op.Modes, string(ev.Mode)) {
			r.events = append(r.events, e)
		}
	}
	return s.State, nil
}

// unasked stands for answers to questions that aren't open: LangGraph continues, and keeps an answer without an ID for the
// first question that is asked then.
func (p *tracePass) unasked(ctx context.Context, op *traceOp, in traceInput, r *traceResult, refused *graph.AnswerError) (graph.State, error) {
	spare, value := in.answer, in.resume
	in.answer = false
	byID := map[string]any{}
	for id, v := range in.byID {
		if slices.Contains(refused.Open, id) {
			byID[id] = v
		}
	}
	in.byID = byID
	s, err := p.once(ctx, op, in, r)
	var stop *graph.InterruptedError
	if !spare || !errors.As(err, &stop) || len(stop.Questions) == 0 {
		return s, err
	}
	r.loose, r.events = true, nil
	if p.spare == nil {
		p.spare = map[rawQuestion]bool{}
	}
	p.spare[rawQuestion(stop.Questions[0].ID)] = true
	return p.once(ctx, op, traceInput{byID: map[string]any{stop.Questions[0].ID: value}}, r)
}

// maxSteps translates a limit: LangGraph counts from the checkpoint that the run starts at, and allows for the steps of an
// input and of START whether there are any or not.
func (p *tracePass) maxSteps(ctx context.Context, op *traceOp) int {
	limit := *op.RecursionLimit
	if op.Input != nil && string(op.Input) != "null" || limit < 1 {
		return limit
	}
	newest, known := p.newest(ctx, op.Thread)
	if !known {
		return limit
	}
	at := newest
	if op.Checkpoint != nil {
		for info, err := range p.saver.List(ctx, checkpoint.Query{Thread: op.Thread}) {
			if err == nil && info.Seq == int64(*op.Checkpoint+1) {
				at = info
			}
		}
	}
	limit += 2
	if slices.Contains(at.Next, graph.Start) {
		limit--
	}
	edited := at.Source == checkpoint.SourceUpdate || at.Source == checkpoint.SourceFork
	if op.Checkpoint != nil && op.Resume == nil && (!edited || at.ID != newest.ID) {
		limit-- // a copy is written first
	}
	return limit
}

// exactLimit stands for LangGraph's error at the end of a run that took as many supersteps as its limit: package graph has
// nothing against that.
func (p *tracePass) exactLimit(ctx context.Context, op *traceOp) error {
	want, _ := op.Observed.(map[string]any)
	if e, _ := want["error"].(map[string]any); e["kind"] != "recursion_limit" {
		return nil
	}
	s, err := p.root.compiled.State(ctx, op.Thread)
	switch {
	case err != nil:
		return err
	case len(s.Next) > 0 && p.doubtful == 0:
		return fmt.Errorf("the run ended with %v due", s.Next)
	}
	return graph.ErrRecursionLimit
}

// inputBesideDue reports whether an edit stores an input while tasks are due: there they are replaced, LangGraph keeps them due
// beside START.
func (p *tracePass) inputBesideDue(ctx context.Context, op *traceOp) bool {
	at, known := p.newest(ctx, op.Thread)
	if op.AsNode == nil || *op.AsNode != "INPUT" || !known {
		return false
	}
	if op.Checkpoint != nil {
		for info, err := range p.saver.List(ctx, checkpoint.Query{Thread: op.Thread}) {
			if err == nil && info.Seq == int64(*op.Checkpoint+1) {
				at = info
			}
		}
	}
	return len(at.Next) > 0
}

// tolerated removes from want and got the events in which LangGraph is known to be wrong:
//   - A node that failed after it got an answer shows an empty update.
//   - Events of a task that ran alone are lost when what it wrote can't be merged.
func (r *traceResult) tolerated(want []any, got []traceLine) ([]any, []traceLine) {
	failed := map[string]bool{}
	var node *graph.NodeError
	for err := r.err; errors.As(err, &node); err = node.Err {
		failed[node.Node] = true
	}
	var conflict *graph.ConflictError
	texts := make([]string, len(got))
	for i, l := range got {
		texts[i] = l.text
	}
	missing, extra := bagDiff(want, texts)
	want = slices.DeleteFunc(slices.Clone(want), func(v any) bool {
		e, _ := v.(map[string]any)
		data, _ := e["data"].(map[string]any)
		for node, u := range data {
			return e["mode"] == "updates" && len(data) == 1 && u == nil && failed[node] && slices.Contains(missing, jsonText(v))
		}
		return false
	})
	if errors.As(r.err, &conflict) {
		got = slices.DeleteFunc(slices.Clone(got), func(l traceLine) bool {
			return slices.Contains(extra, l.text) && l.event.task != "" && !l.event.edge
		})
	}
	return want, got
}
