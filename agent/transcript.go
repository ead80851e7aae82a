package agent

import "encoding/json"

// Entry is one event of a task that the model sees. Exactly one of the pointers, or Plan, is set. A call and its result are
// one entry, so that nothing can part them.
type Entry struct {
	About  about         `json:"about,omitempty"` // of Plan; empty in plans of versions that did not ask for it
	Plan   []plannedStep `json:"plan,omitempty"`
	Call   *Call         `json:"call,omitempty"`
	Review *Review       `json:"review,omitempty"`
}

// Call is one tool call with its outcome.
type Call struct {
	Step      int `json:"step"` // number of the step that made it
	Iteration int `json:"iteration"`

	Tool string `json:"tool"`
	// Arguments are canonical JSON when they passed the tool's schema. Else they are a JSON string that holds what the
	// model wrote, or null when there is nothing to show.
	Arguments json.RawMessage `json:"arguments"`

	Outcome
	Extent extent `json:"extent,omitempty"` // of Result, when that is missing
	// Skipped marks a call that was refused because an equal one had run and nothing had changed since.
	Skipped bool `json:"skipped,omitempty"`
	// Rejected marks a call that never reached its tool: the tool does not exist, or its arguments do not fit the schema.
	Rejected bool `json:"rejected,omitempty"`
	ReadOnly bool `json:"read_only,omitempty"`
}

// Outcome is what came of a call.
type Outcome struct {
	Text   string          `json:"text"`             // what the model reads
	Result json.RawMessage `json:"result,omitempty"` // the tool's result object
	Error  *CallError      `json:"error,omitempty"`
	// Tokens is how many the result takes in a prompt, and SummaryTokens how many its summary; 0 when they are not counted.
	Tokens        int `json:"tokens,omitempty"`
	SummaryTokens int `json:"summary_tokens,omitempty"`
	// Summary stands for the result where the whole is not shown, and says so; Record is the whole's reference in the store of records.
	// In checkpoints Text and Result may then be missing.
	Summary string `json:"summary,omitempty"`
	Record  string `json:"record,omitempty"`
	// Artifact is the reference of the result when it was stored outside the prompt: Text then describes it.
	Artifact string `json:"artifact,omitempty"`
	// Near tells that the description of a stored result shows a line that is likely to be what it is needed for.
	Near bool `json:"near,omitempty"`
	// Guide marks the instructions of a skill: the model follows them, where every other result is data.
	Guide      bool  `json:"guide,omitempty"`
	DurationMS int64 `json:"duration_ms"`
}

// CallError says why a call did not work.
type CallError struct {
	Kind    string `json:"kind"` // of tools.Error, or one of the kinds below
	Message string `json:"message"`
	Instead string `json:"instead,omitempty"` // the tool that does with the same file what was wanted
	Final   bool   `json:"final,omitempty"`   // no other call can do it either
}

// Kinds of call errors that tools do not have.
const (
	callCut         = "cut"         // the reply with the arguments ended at its cap
	callRepeated    = "repeated"    // not run, because an equal call had run
	callInterrupted = "interrupted" // the run was stopped while the tool worked
)

// key identifies equal calls.
func (c *Call) key() string { return callKey(c.Tool, c.Arguments) }

func callKey(tool string, arguments json.RawMessage) string { return tool + " " + string(arguments) }

// Review is the reflector's verdict.
type Review struct {
	Decision Decision `json:"decision"`
	Missing  []string `json:"missing"`
	Reason   string   `json:"reason"`
}

// Decision is what follows from a review.
type Decision string

// The decisions of a review.
const (
	DecisionDone     Decision = "done"
	DecisionContinue Decision = "continue"
	DecisionFailed   Decision = "failed"
)

// callsOf returns the calls of a transcript, oldest first.
func callsOf(entries []Entry) []Call {
	var calls []Call
	for _, e := range entries {
		if e.Call != nil {
			calls = append(calls, *e.Call)
		}
	}
	return calls
}
