package graph

import (
	"errors"
	"slices"

	"github.com/llama-agent/llama-agent/graph/checkpoint"
)

// task is one execution of a node in a superstep. The run's goroutine owns it; while the node runs, the node's goroutine
// has it, and hands it back through the inbox.
type task struct {
	id    string
	node  string
	send  bool
	def   *nodeDef // nil for the pseudo task of Start
	input Update   // private input of a Send
	state State
	base  []cell // state of the graph when the superstep began

	stored checkpoint.Result // what earlier runs left of it
	cached bool              // it finished in an earlier run
	done   bool              // it has returned, or was cached

	update  Update
	targets []Next // of Gotos and branches
	err     error
	handled error // the failure that update, of the node's error handler, stands for
	follow  bool  // the handler's update counts in full
	recall  bool  // update comes from the node's cache
	calls   *taskCalls

	encoded *checkpoint.Result // once the task has ended in a way worth storing
	sent    bool               // encoded has been handed to the saver
}

// finish describes the task to the planner.
func (t *task) finish() finishedTask {
	return finishedTask{node: t.node, targets: t.targets, onlyTargets: t.handled != nil && !t.follow}
}

// volatile reports whether all that the task did was to write to untracked channels: a stored result would be one without
// effect.
func (t *task) volatile() bool {
	ws := t.update.writes()
	return t.ok() && len(ws) > 0 && len(t.targets) == 0 &&
		!slices.ContainsFunc(ws, func(w Write) bool { return !w.ch.spec().untracked })
}

// of returns the schema of the private input of a node.
func (sc *schema) of(n *nodeDef) *schema {
	if n != nil && n.child != nil {
		return n.child.schema
	}
	return sc
}

// ok reports whether the task has a result to merge.
func (t *task) ok() bool { return t.done && t.err == nil && !t.interrupted() }

func (t *task) interrupted() bool { return t.calls != nil && t.calls.open() }

// result encodes what is known of the task after it ran.
func (t *task) result() (checkpoint.Result, error) {
	if t.cached {
		return t.stored, nil
	}
	r := checkpoint.Result{Task: t.id, Node: t.node, Error: t.stored.Error}
	if t.calls != nil {
		r.Interrupts, r.Answers = t.calls.record()
		r.Nested = t.calls.recordNested()
	}
	if t.handled != nil {
		r.Handled, r.Error = !t.follow, t.handled.Error()
	}
	switch {
	case t.interrupted():
	case t.err != nil:
		r.Error = t.err.Error()
	default:
		writes, err := encodeWrites(t.update.writes())
		if err != nil {
			return r, err
		}
		targets, err := encodeTargets(t.targets)
		if err != nil {
			return r, err
		}
		r.Done, r.Writes, r.Targets = true, writes, targets
	}
	return r, nil
}

func encodeTargets(next []Next) ([]checkpoint.Target, error) {
	var out []checkpoint.Target
	for _, n := range next {
		private, err := encodeWrites(n.private)
		if err != nil {
			return nil, err
		}
		out = append(out, checkpoint.Target{Node: n.node, Send: n.send, Private: private})
	}
	return out, nil
}

// openQuestions returns the questions of a stored task that have no answer.
func (t *task) openQuestions(path []string) []Question {
	if t.stored.Done {
		return nil
	}
	return openQuestions(&t.stored, t.node, path)
}

// openQuestions returns the questions in a result that have no answer: the node's own in the order of asking, then those of its
// subgraphs.
func openQuestions(r *checkpoint.Result, node string, path []string) []Question {
	answered := min(len(r.Answers), len(r.Interrupts))
	return append(ownQuestions(node, path, r.Interrupts[answered:]), nestedQuestions(r.Nested, false)...)
}

// adopt fills t from the result of an earlier run. nodes are those of the graph.
func (t *task) adopt(sc *schema, nodes map[string]*nodeDef, r checkpoint.Result, lenient bool) error {
	t.stored = r
	if !r.Done {
		return nil
	}
	if t.node == Start {
		t.cached = true
		return nil
	}
	writes, err := sc.decodeWrites(r.Writes, lenient)
	if err != nil {
		return err
	}
	t.update = writes
	for _, target := range r.Targets {
		private, err := sc.of(nodes[target.Node]).decodeWrites(target.Private, lenient)
		if err != nil {
			return err
		}
		t.targets = append(t.targets, Next{node: target.Node, send: target.Send, private: private})
	}
	if len(t.targets) > 0 {
		t.update = append(t.update, Goto(t.targets...))
	}
	if r.Handled {
		t.handled = errors.New(r.Error)
	}
	t.cached, t.done = true, true
	return nil
}
