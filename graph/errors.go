package graph

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/llama-agent/llama-agent/graph/checkpoint"
)

// Sentinels for [errors.Is].
var (
	ErrThreadBusy      = checkpoint.ErrThreadBusy // see checkpoint.BusyError
	ErrUnknownThread   = errors.New("graph: unknown thread")
	ErrNothingToResume = errors.New("graph: nothing to resume")
	ErrRecursionLimit  = errors.New("graph: limit of supersteps reached")
	ErrOutcomeUnknown  = errors.New("graph: outcome of an effect is unknown")
	ErrInterrupted     = errors.New("graph: interrupted")
	ErrNoSaver         = errors.New("graph: the graph has no saver")
	ErrNoThread        = errors.New("graph: no thread given")
	ErrStuck           = errors.New("graph: a node ignored its cancellation")
	ErrDrained         = errors.New("graph: the run was drained")
	ErrNoParent        = errors.New("graph: there is no graph above this one")
	ErrTimeout         = errors.New("graph: a node took too long")
	ErrInvalidOption   = errors.New("graph: invalid option")
)

// NodeError is a failure of a node or of one of its branches.
type NodeError struct {
	Graph string
	Node  string
	Step  int // superstep
	Err   error
}

func (e *NodeError) Error() string {
	return fmt.Sprintf("running node %q of graph %q in step %d: %v", e.Node, e.Graph, e.Step, e.Err)
}

func (e *NodeError) Unwrap() error { return e.Err }

// TimeoutError says that an attempt of a node took too long. It is [ErrTimeout] and [context.DeadlineExceeded].
type TimeoutError struct {
	After time.Duration
	Idle  bool  // without progress for that long
	Err   error // what the node returned when its context ended, [ErrStuck] if it didn't
}

func (e *TimeoutError) Error() string {
	what := "timed out after"
	if e.Idle {
		what = "showed no progress for"
	}
	return fmt.Sprintf("%s %v: %v", what, e.After, e.Err)
}

func (e *TimeoutError) Unwrap() error { return e.Err }

func (e *TimeoutError) Is(target error) bool {
	return target == ErrTimeout || target == context.DeadlineExceeded
}

// PanicError is a panic of user code: a node or what belongs to it, such as a branch or a retry policy, a reducer or a codec.
type PanicError struct {
	Value any
	Stack []byte
}

func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

// Unwrap returns the panic's value if that is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// ReducerError is a panic while the writes to a channel were merged. The thread stays at the last boundary.
type ReducerError struct {
	Graph   string
	Channel string
	Nodes   []string // that wrote to the channel in this superstep, in merge order
	Step    int
	Err     error
}

func (e *ReducerError) Error() string {
	return fmt.Sprintf("merging the writes of %s to channel %q of graph %q in step %d: %v",
		quoteAll(e.Nodes), e.Channel, e.Graph, e.Step, e.Err)
}

func (e *ReducerError) Unwrap() error { return e.Err }

// ConflictError says that a channel which takes one write a superstep got several, or that several tasks replaced the value
// of one.
type ConflictError struct {
	Graph   string
	Channel string
	Nodes   []string // the writers, in merge order
	Step    int
	Replace bool // they replaced the value
}

func (e *ConflictError) Error() string {
	if e.Replace {
		return fmt.Sprintf("the value of channel %q of graph %q was replaced more than once in step %d, by %s; only one task a superstep may do that",
			e.Channel, e.Graph, e.Step, quoteAll(e.Nodes))
	}
	return fmt.Sprintf("channel %q of graph %q was written %d times in step %d, by %s; it takes one write a superstep: use Append or Reduced to keep several",
		e.Channel, e.Graph, len(e.Nodes), e.Step, quoteAll(e.Nodes))
}

// UnknownChannelError says that a channel isn't part of the graph.
type UnknownChannelError struct {
	Graph   string
	Channel string
	Node    string   // that wrote to it, when known
	Step    int      // of that write
	Known   []string // the graph's channels
	Input   bool     // the graph has it, but the input may only write to Known
}

func (e *UnknownChannelError) Error() string {
	who := ""
	if e.Node != "" {
		who = fmt.Sprintf(" (node %q, step %d)", e.Node, e.Step)
	}
	if e.Input {
		return fmt.Sprintf("the input of graph %q has no channel %q; it may write to %s", e.Graph, e.Channel, quoteAll(e.Known))
	}
	for _, k := range e.Known {
		if k == e.Channel {
			return fmt.Sprintf("channel %q of graph %q is another channel than the one used%s; use the value that was given to graph.New", e.Channel, e.Graph, who)
		}
	}
	return fmt.Sprintf("graph %q has no channel %q%s; its channels are %s", e.Graph, e.Channel, who, quoteAll(e.Known))
}

func (sc *schema) unknownChannel(c Channel, node string, step int) *UnknownChannelError {
	return &UnknownChannelError{Graph: sc.graph, Channel: c.Name(), Node: node, Step: step, Known: sc.names()}
}

// UnknownNodeError says that a task, a branch or a caller asked for a node the graph doesn't have, or that a branch chose a
// node it doesn't declare.
type UnknownNodeError struct {
	Graph string
	Node  string
	By    string // node whose task or branch asked; empty for a caller
	Known []string
}

func (e *UnknownNodeError) Error() string {
	if e.By != "" {
		return fmt.Sprintf("node %q of graph %q asked for %q, which isn't one of its targets %s", e.By, e.Graph, e.Node, quoteAll(e.Known))
	}
	return fmt.Sprintf("graph %q has no node %q; its nodes are %s", e.Graph, e.Node, quoteAll(e.Known))
}

// ShapeError says that a thread was written by a graph of another shape.
type ShapeError struct {
	Graph      string
	Thread     string
	Checkpoint string
	Changes    []string // what differs, one line each
}

func (e *ShapeError) Error() string {
	what := "it has another shape"
	if len(e.Changes) > 0 {
		what = strings.Join(e.Changes, ", ")
	}
	return fmt.Sprintf("checkpoint %q of thread %q was not written by graph %q as it is now: %s; start a new thread, or allow another shape",
		e.Checkpoint, e.Thread, e.Graph, what)
}

// CodecError says that a value can't be stored or restored.
type CodecError struct {
	Channel string
	Op      string // "encoding" or "decoding"
	Err     error
}

func (e *CodecError) Error() string {
	return fmt.Sprintf("%s a value of channel %q: %v", e.Op, e.Channel, e.Err)
}

func (e *CodecError) Unwrap() error { return e.Err }

// OutcomeUnknownError says that an effect was begun and that nothing is known about its end: the process died, or the
// effect was cut off. It is [ErrOutcomeUnknown].
type OutcomeUnknownError struct {
	Thread string
	Node   string
	Key    string
}

func (e *OutcomeUnknownError) Error() string {
	return fmt.Sprintf("effect %q of node %q in thread %q was begun and its outcome is unknown; check whether it happened, then retry it if it may run again",
		e.Key, e.Node, e.Thread)
}

func (e *OutcomeUnknownError) Is(target error) bool { return target == ErrOutcomeUnknown }

// InterruptedError says that a run stopped at a breakpoint or at questions. It is [ErrInterrupted]. The run's state is
// stored when it has a thread.
type InterruptedError struct {
	Thread    string
	Questions []Question // open questions in task order; empty at a breakpoint
	Next      []string   // nodes that are due
}

func (e *InterruptedError) Error() string {
	if len(e.Questions) == 0 && len(e.Next) == 0 {
		return "interrupted after the last node"
	}
	if len(e.Questions) == 0 {
		return fmt.Sprintf("interrupted before %s", quoteAll(e.Next))
	}
	askers := make([]string, len(e.Questions))
	for i, q := range e.Questions {
		askers[i] = q.Node
	}
	return fmt.Sprintf("interrupted by questions of %s; resume with the answers", quoteAll(askers))
}

func (e *InterruptedError) Is(target error) bool { return target == ErrInterrupted }

// CompileError lists what is wrong with a graph.
type CompileError struct {
	Graph string
	Errs  []error // in order of declaration within each kind of part
}

func (e *CompileError) Error() string {
	return fmt.Sprintf("compiling graph %q: %v", e.Graph, errors.Join(e.Errs...))
}

func (e *CompileError) Unwrap() []error { return e.Errs }

// AnswerError says that an answer fits no open question, or that it isn't of the type that the node asked for.
type AnswerError struct {
	ID   string   // of the answer; empty for one without an ID
	Open []string // IDs of the open questions
	Err  error    // why the answer couldn't be decoded; nil when it fits no question
}

func (e *AnswerError) Unwrap() error { return e.Err }

func (e *AnswerError) Error() string {
	switch {
	case e.Err != nil:
		return fmt.Sprintf("decoding the answer to question %q: %v; it is still open", e.ID, e.Err)
	case len(e.Open) == 0:
		return "there is no open question to answer"
	case e.ID == "":
		return fmt.Sprintf("%d questions are open (%s); give the ID of the one to answer", len(e.Open), quoteAll(e.Open))
	}
	return fmt.Sprintf("question %q isn't open; open are %s", e.ID, quoteAll(e.Open))
}

func quoteAll(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = fmt.Sprintf("%q", n)
	}
	return strings.Join(quoted, ", ")
}
