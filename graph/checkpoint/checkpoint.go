// Package checkpoint defines what a graph run stores and the interface of the stores that keep it.
//
// A checkpoint is the state of one thread at a superstep boundary. It doesn't hold the values of its channels: it
// names, per channel, the sequence number of the checkpoint that wrote the current value. A boundary therefore
// stores only what changed, and channels that grow by appending store only the new items.
//
// The package knows nothing about graphs: channel values are bytes, nodes are names. Package graph is its only writer
// in this module; savers are its readers. [Memory] is the saver for tests and short-lived programs, package sqlite
// the one for a single machine. A saver of your own runs the suite in package savertest.
package checkpoint

import (
	"slices"
	"strings"
	"time"
)

// Source says what made a checkpoint.
type Source string

// The sources of a checkpoint.
const (
	SourceInput  Source = "input"  // a run's input was accepted; its entry nodes are not due yet
	SourceLoop   Source = "loop"   // a superstep ended
	SourceUpdate Source = "update" // the state was edited from outside a run
	SourceFork   Source = "fork"   // a copy of another checkpoint
)

// Info describes a checkpoint without its state.
type Info struct {
	Thread    string `json:"thread"`
	Namespace string `json:"namespace,omitempty"` // path of the subgraph, see [NamespaceTasks]; empty for the thread's own graph
	ID        string `json:"id"`
	Parent    string `json:"parent,omitempty"` // ID of the checkpoint this one was computed from

	// Seq counts the checkpoints of a thread and namespace from 1 in order of writing. It orders history, also
	// across forks and whatever the clock did.
	Seq       int64 `json:"seq"`
	ParentSeq int64 `json:"parent_seq,omitempty"` // Seq of Parent, 0 without one

	// Above is, for a subgraph, the Seq of the checkpoint of the thread's own graph at which the superstep began that the
	// subgraph ran in.
	Above int64 `json:"above,omitempty"`

	Step   int       `json:"step"` // superstep that ended here; -1 for the first input
	Source Source    `json:"source"`
	Nodes  []string  `json:"nodes,omitempty"` // nodes whose updates were merged at this boundary, in merge order
	Next   []string  `json:"next,omitempty"`  // nodes due next, in task order
	Time   time.Time `json:"time"`
	Bytes  int64     `json:"bytes"` // encoded values, results and private inputs handed over at this boundary
}

// NamespaceTasks returns the IDs of the tasks that a namespace belongs to, outermost first: its parts are separated by "|",
// and one that belongs to a task ends with ":" and the task's ID.
func NamespaceTasks(namespace string) []string {
	var tasks []string
	for part := range strings.SplitSeq(namespace, "|") {
		if _, task, ok := strings.Cut(part, ":"); ok {
			tasks = append(tasks, task)
		}
	}
	return tasks
}

// Checkpoint is all of a boundary but the channel values.
type Checkpoint struct {
	Info

	// Run names the lineage: a run and everything that resumes it after a stop or a crash. New input, a fork and an
	// outside edit begin a new one. Task IDs derive from it.
	Run string

	// Ran holds the nodes that ran last when they aren't Nodes: after an edit, a fork or a new input. They are what an edit
	// that names no node stands for.
	Ran []string

	// Shape is the fingerprint of the graph that wrote the checkpoint.
	Shape string

	// Channels holds, for each channel that has a value, the Seq of the checkpoint that wrote it.
	Channels map[string]int64

	Tasks   []Task              // due next, in task order
	Waiting []Task              // deferred tasks that are due when nothing else is
	Joins   map[string][]string // progress of joins: target and sources → sources that have finished
}

// Task is one execution of a node that is due.
type Task struct {
	ID   string `json:"id"`
	Node string `json:"node"`

	// Joined marks a task that is due because a join is complete. It stays due through edits.
	Joined bool `json:"joined,omitempty"`

	// Send marks a task with a private input, which then is all the state it sees.
	Send    bool    `json:"send,omitempty"`
	Private []Write `json:"private,omitempty"`
}

// Write is one encoded write to a channel.
type Write struct {
	Channel string `json:"channel"`
	Op      string `json:"op"`   // as the graph names it: "set", "add", "merge", "replace"
	Data    []byte `json:"data"` // encoded by the channel's codec
}

// Target is a node that a finished task asked for by name.
type Target struct {
	Node    string  `json:"node"`
	Send    bool    `json:"send,omitempty"`
	Private []Write `json:"private,omitempty"`
}

// Interrupt is a question that a node asked and a person or program has to answer.
type Interrupt struct {
	ID    string `json:"id"`
	Value []byte `json:"value"` // JSON
}

// Result is what is known of one task of a checkpoint. A task that finished is Done and never runs again from this
// checkpoint. One that failed or asked a question has Error or Interrupts and runs again.
type Result struct {
	Task       string      `json:"task"`
	Node       string      `json:"node"`
	Done       bool        `json:"done"`
	Writes     []Write     `json:"writes,omitempty"`
	Targets    []Target    `json:"targets,omitempty"`
	Error      string      `json:"error,omitempty"`      // of the last failed attempt; kept when a later one succeeds
	Interrupts []Interrupt `json:"interrupts,omitempty"` // every question asked, in order
	Answers    [][]byte    `json:"answers,omitempty"`    // JSON; answer i belongs to question i
	Nested     []Nested    `json:"nested,omitempty"`     // questions of the subgraphs that the task ran
	Handled    bool        `json:"handled,omitempty"`    // the node failed, Writes and Targets are its error handler's, and nothing else follows
}

// Take stores the answer to an open question of the task or of its subgraphs, and reports whether there is one with this ID.
func (r *Result) Take(id string, answer []byte) bool {
	if n := len(r.Answers); n < len(r.Interrupts) && r.Interrupts[n].ID == id {
		r.Answers = append(slices.Clone(r.Answers), answer)
		return true
	}
	for i := range r.Nested {
		if r.Nested[i].ID == id && r.Nested[i].Answer == nil {
			r.Nested = slices.Clone(r.Nested)
			r.Nested[i].Answer = answer
			return true
		}
	}
	return false
}

// Nested is a question that was asked in a subgraph.
type Nested struct {
	Interrupt
	Namespace string `json:"namespace"`         // of the subgraph that asked
	Node      string `json:"node"`              // that asked
	Unsaved   bool   `json:"unsaved,omitempty"` // the subgraph stores nothing, so that the answer is kept only here
	Answer    []byte `json:"answer,omitempty"`  // JSON
}

// BreakpointTask is the task of a [Result] that isn't of a task: it says that a run stopped at a breakpoint here.
const BreakpointTask = "__breakpoint__"

// StopTask is the task of a [Result] that isn't of a task: it says that a run ended here in good order, at a limit or because
// it was drained, so that a run that continues doesn't stop at a breakpoint here.
const StopTask = "__stop__"

// CommandTask is the task of a [Result] that isn't of a task: its writes and targets were given to the thread when a run
// continued it from this checkpoint, and belong to what the run began with.
const CommandTask = "__command__"

// Pending reports whether the task waits for an answer.
func (r Result) Pending() bool {
	return !r.Done && (len(r.Interrupts) > len(r.Answers) ||
		slices.ContainsFunc(r.Nested, func(n Nested) bool { return n.Answer == nil }))
}

// Value is the new value of a channel, or what was appended to it.
type Value struct {
	Channel string
	Delta   bool   // Data continues the value written by checkpoint Prev
	Prev    int64  // with Delta: Seq of the checkpoint that wrote what Data continues, 0 when there is none
	Data    []byte // encoded by the channel's codec
}

// Boundary is everything one superstep boundary stores. A saver stores it whole or not at all.
type Boundary struct {
	Checkpoint Checkpoint
	Values     []Value  // changed channels only
	Results    []Result // of the tasks of Checkpoint.Parent that aren't stored yet
	ShapeText  string   // what Checkpoint.Shape is a fingerprint of
	Labels     map[string]string
	Lease      string // token of the lease the writer holds, or empty when it holds none
}

// Size returns the bytes of encoded values, results and private inputs in b.
func (b *Boundary) Size() int64 {
	var n int64
	for _, v := range b.Values {
		n += int64(len(v.Data))
	}
	for i := range b.Results {
		n += b.Results[i].Size()
	}
	for _, tasks := range [][]Task{b.Checkpoint.Tasks, b.Checkpoint.Waiting} {
		for _, t := range tasks {
			n += writesSize(t.Private)
		}
	}
	return n
}

// Size returns the bytes of encoded writes, questions and answers in r.
func (r *Result) Size() int64 {
	n := writesSize(r.Writes)
	for _, t := range r.Targets {
		n += writesSize(t.Private)
	}
	for _, q := range r.Interrupts {
		n += int64(len(q.Value))
	}
	for _, a := range r.Answers {
		n += int64(len(a))
	}
	for _, q := range r.Nested {
		n += int64(len(q.Value) + len(q.Answer))
	}
	return n
}

func writesSize(ws []Write) int64 {
	var n int64
	for _, w := range ws {
		n += int64(len(w.Data))
	}
	return n
}

// Saved is a checkpoint as loaded.
type Saved struct {
	Checkpoint

	// Values holds the parts of each channel's value, oldest first: one part, or for a value stored as deltas as many
	// as there were boundaries that appended to it.
	Values map[string][][]byte

	Results   []Result // of Tasks, in no particular order
	ShapeText string
	LastSeq   int64 // highest Seq of the thread and namespace
}

// Result returns the stored result of a task.
func (s *Saved) Result(task string) (Result, bool) {
	i := slices.IndexFunc(s.Results, func(r Result) bool { return r.Task == task })
	if i < 0 {
		return Result{}, false
	}
	return s.Results[i], true
}
