package graph

import (
	"time"

	"github.com/llama-agent/llama-agent/graph/checkpoint"
)

// Mode is a kind of stream event.
type Mode string

// The stream modes.
const (
	Values      Mode = "values"      // the state, before the first superstep and after each
	Updates     Mode = "updates"     // what each task returned, and open questions
	Custom      Mode = "custom"      // what nodes pass to [Emit]
	Tasks       Mode = "tasks"       // begin and end of each task
	Checkpoints Mode = "checkpoints" // each boundary that is stored, and the one that a run continues from
	Messages    Mode = "messages"    // parts of messages, such as tokens of a model's answer; see [EmitMessage]
	Debug       Mode = "debug"       // the events of Tasks and Checkpoints with a time, in one mode
)

var allModes = []Mode{Values, Updates, Custom, Tasks, Checkpoints, Messages, Debug}

// Message is a part of a message that a node produces, in the order of its parts.
type Message struct {
	ID   string // tells the messages of one task apart; may be empty
	Role string // for example "assistant"
	Text string
}

// Event is one item of a stream. Mode says which of the fields below it are set.
type Event struct {
	Mode Mode

	// Namespace is the path of the subgraph that the event comes from, outermost first: each part is the node that runs the
	// subgraph and the ID of its task, as "node:task", or nodes alone if the subgraph has the scope [Own]; the second and
	// later subgraphs of one task have their number, from 1, as another part. It is empty for the graph itself.
	Namespace []string

	Step    int // superstep the event belongs to
	Dropped int // events before this one that a [Buffered] stream lost

	// Updates, Custom, Messages and Tasks.
	Node string
	Task string // ID of the task

	// Updates. An event with Questions or with Stopped has no Node and no Update.
	Update    Update
	Cached    bool       // the task's result is from an earlier run, or from the node's cache; it didn't run now
	Questions []Question // the task asked these; also in Values, when the run will be interrupted
	Stopped   []string   // a breakpoint was reached with these nodes due; not nil then

	Custom  any     // Custom
	Message Message // Messages

	Phase TaskPhase // Tasks
	Input State     // Tasks, when the task begins
	Err   error     // Tasks, when the task failed

	State State // Values and Checkpoints

	Checkpoint checkpoint.Info // Checkpoints

	// Debug. The fields are those of the event's other mode, which is Of.
	Of   Mode
	Time time.Time
}

// droppable reports whether a consumer that is too slow can do without the event.
func (ev *Event) droppable() bool {
	return ev.Mode == Custom || ev.Mode == Messages || ev.Mode == Tasks || ev.Mode == Debug
}

// TaskPhase tells the events of a task apart.
type TaskPhase string

// The phases of a task. All tasks of a superstep begin with it, although with [Options.MaxConcurrency] some wait for others. A
// task that ends has its Update, Err or Questions in the event.
const (
	TaskBegin TaskPhase = "begin"
	TaskEnd   TaskPhase = "end"
)
