package agent

import (
	"cmp"
	"context"
	"encoding/json"

	"github.com/llama-agent/llama-agent/graph"
)

// Report is the outcome of a task so far. Its JSON form is what programs read.
type Report struct {
	ThreadID       string         `json:"thread_id"`
	ConversationID string         `json:"conversation_id"` // set by the caller
	Status         Status         `json:"status"`          // done, failed or interrupted
	Answer         string         `json:"answer"`          // empty, or with status failed what is known
	Plan           []ReportedStep `json:"plan"`
	Calls          []ReportedCall `json:"calls"`
	Notes          []string       `json:"notes"`
	Error          *Failure       `json:"error"` // nil unless the status is failed
	Usage          Usage          `json:"usage"`
	Adapters       []string       `json:"adapters,omitempty"` // LoRA adapters of the model; set by the caller
	// CheckpointBytes is what the task's thread stores.
	CheckpointBytes int64 `json:"checkpoint_bytes"`
	PeakRSSBytes    int64 `json:"peak_rss_bytes"` // set by the caller
	DurationMS      int64 `json:"duration_ms"`    // working time, over all resumes
}

// ReportedStep is a step of the plan.
type ReportedStep struct {
	Do    string    `json:"do"`
	File  string    `json:"file,omitempty"` // that the step is about, if any in particular
	Tool  string    `json:"tool"`
	State StepState `json:"state"`
}

// ReportedCall is a tool call. Result is the tool's own object, or null.
type ReportedCall struct {
	Step       int             `json:"step"`
	Tool       string          `json:"tool"`
	Arguments  json.RawMessage `json:"arguments"`
	Result     json.RawMessage `json:"result"`
	Error      *CallError      `json:"error"`
	DurationMS int64           `json:"duration_ms"`
	ArtifactID string          `json:"artifact_id,omitempty"`
}

// reportOf reads a report from a task's state, and results that the state does not hold from the store of records. The lists are
// never nil, so that they are lists in JSON too.
func (r *Runner) reportOf(ctx context.Context, thread string, s graph.State) *Report {
	entries, errs := r.flow.restoreAll(ctx, cmp.Or(taskChannel.Get(s).Owner, thread), transcriptChannel.Get(s))
	out := newReport(thread, s, entries)
	for _, err := range errs {
		out.Notes = append(out.Notes, oneLine(err.Error())+".")
	}
	return out
}

func newReport(thread string, s graph.State, entries []Entry) *Report {
	r := &Report{
		ThreadID: thread, Status: statusChannel.Get(s), Answer: answerChannel.Get(s),
		Plan: []ReportedStep{}, Calls: []ReportedCall{}, Notes: []string{},
		Usage: usageChannel.Get(s), Error: failureChannel.Get(s), DurationMS: countersChannel.Get(s).ElapsedMS,
	}
	for _, step := range planChannel.Get(s) {
		r.Plan = append(r.Plan, ReportedStep{step.Do, step.File, step.Tool, step.State})
	}
	for _, c := range callsOf(entries) {
		r.Calls = append(r.Calls, ReportedCall{
			Step: c.Step, Tool: c.Tool, Arguments: c.Arguments, Result: c.Result, Error: c.Error, DurationMS: c.DurationMS,
			ArtifactID: c.Artifact,
		})
	}
	r.Notes = append(r.Notes, notesChannel.Get(s)...)
	return r
}
