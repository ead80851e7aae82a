package agent

import "encoding/json"

// Event is something an observer of a task is told, one of the types below. Events of one task come in order and one at a
// time. A node that runs again after a stop tells its events again.
type Event interface{ event() }

type (
	// TaskStarted comes first, before the first model call.
	TaskStarted struct {
		Thread       string
		Goal         string
		Conversation string // empty: the task stands alone
		Turn         int    // its number in the conversation
		Resumed      bool
	}
	// NodeStarted tells which node works now.
	NodeStarted struct {
		Node   string
		Status Status
	}
	// PlanMade tells the whole plan, finished steps included.
	PlanMade struct{ Steps []Step }
	// StepStarted tells that the calls of a step follow.
	StepStarted struct{ Step Step }
	// StepFinished tells how a step ended. A step that a limit stopped does not end.
	StepFinished struct{ Step Step }
	// CallStarted tells that a tool is about to run. It is not told for a call whose result is known from before a stop.
	CallStarted struct {
		Step      int
		Tool      string
		Arguments json.RawMessage
	}
	// CallFinished tells the outcome of a call, whether the tool ran or not.
	CallFinished struct {
		Call     Call
		Replayed bool // the tool ran before the task was stopped, and not again
	}
	// ModelReplied tells what one model call cost.
	ModelReplied struct {
		Node     string
		Usage    Usage
		QueueMS  int64  // before the model began
		Finish   string // why the reply ended, as the model says it
		Messages int    // of the prompt
		Tools    int    // offered in it
		Replayed bool
	}
	// AnswerStarted tells that the answer follows in AnswerDelta events. What an earlier attempt told is void.
	AnswerStarted struct{ Attempt int }
	// AnswerDelta is the next part of the answer, in whole characters.
	AnswerDelta struct{ Text string }
	// ContextEvent tells what was done to keep prompts and checkpoints small, under one of the names below. Data are counts
	// and short texts.
	ContextEvent struct {
		Name string
		Data map[string]any
	}
	// Noted tells something the user should know that is not a failure.
	Noted struct{ Text string }
	// TaskFinished comes last.
	TaskFinished struct{ Report *Report }
)

// Names of context events.
const (
	EventContextBudgetApplied     = "context_budget_applied"     // a part of the history is shown
	EventContextRecalled          = "context_recalled"           // something from further back is shown
	EventContextCompacted         = "context_compacted"          // results are shown as summaries from now on
	EventContextCompactionSkipped = "context_compaction_skipped" // there was too little to gain
	EventContextStoreError        = "context_store_error"        // the store could not be read or written
)

func (TaskStarted) event()   {}
func (NodeStarted) event()   {}
func (PlanMade) event()      {}
func (StepStarted) event()   {}
func (StepFinished) event()  {}
func (CallStarted) event()   {}
func (CallFinished) event()  {}
func (ModelReplied) event()  {}
func (AnswerStarted) event() {}
func (AnswerDelta) event()   {}
func (ContextEvent) event()  {}
func (Noted) event()         {}
func (TaskFinished) event()  {}
