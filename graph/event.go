package graph

import "github.com/llama-agent/llama-agent/graph/checkpoint"

// Mode is a kind of stream event.
type Mode string

// The stream modes.
const (
	Values      Mode = "values"      // the state, before the first superstep and after each
	Updates     Mode = "updates"     // what each task returned, and open questions
	Custom      Mode = "custom"      // what nodes pass to [Emit]
	Tasks       Mode = "tasks"       // begin and end of each task
	Checkpoints Mode = "checkpoints" // each boundary
)

var allModes = []Mode{Values, Updates, Custom, Tasks, Checkpoints}

// Event is one item of a stream. Mode says which of the fields below it are set.
type Event struct {
	Mode      Mode
	Namespace []string // path of the subgraph; empty for the graph itself
	Step      int      // superstep the event belongs to

	// Updates, Custom and Tasks.
	Node string
	Task string // ID of the task

	// Updates. An event with Questions or with Stopped has no Node and no Update.
	Update    Update
	Cached    bool       // the task's result is from an earlier run; it didn't run now
	Questions []Question // the task asked these
	Stopped   []string   // a breakpoint was reached with these nodes due

	Custom any // Custom

	Phase TaskPhase // Tasks
	Input State     // Tasks, when the task begins
	Err   error     // Tasks, when the task failed

	State State // Values

	Checkpoint checkpoint.Info // Checkpoints
}

// TaskPhase tells the events of a task apart.
type TaskPhase string

// The phases of a task. A task that ends has its Update, Err or Questions in the event.
const (
	TaskBegin TaskPhase = "begin"
	TaskEnd   TaskPhase = "end"
)
