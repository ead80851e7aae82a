package agent

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/llama-agent/llama-agent/graph"
)

// The state of a task, as the graph stores it. One node runs at a time, so that no channel has two writers in a superstep.
var (
	taskChannel       = graph.Value[assignment]("task")
	statusChannel     = graph.Value[Status]("status")
	planChannel       = graph.Value[[]Step]("plan")
	transcriptChannel = graph.Append[Entry]("transcript")
	notesChannel      = graph.Append[string]("notes")
	countersChannel   = graph.Value[counters]("counters")
	usageChannel      = graph.Reduced("usage", Usage.Plus)
	fittingChannel    = graph.Value[fitting]("fitting")
	answerChannel     = graph.Value[string]("answer")
	failureChannel    = graph.Value[*Failure]("failure")
	entryChannel      = graph.Ephemeral[string]("entry") // node at which a failed task is taken up again
)

// assignment is what a task was started with. It does not change.
type assignment struct {
	Goal       string            `json:"goal"`
	Workspace  string            `json:"workspace"`
	Facts      Facts             `json:"facts"`
	Owner      string            `json:"owner,omitempty"` // of what the task stores; empty: its thread
	Turn       int               `json:"turn,omitempty"`  // of the conversation that it belongs to, from 1
	Background Background        `json:"background,omitzero"`
	Skill      string            `json:"skill,omitempty"` // the tool whose instructions come before the first plan
	Tools      []string          `json:"tools"`           // offered to the model, in this order
	Settings   map[string]string `json:"settings,omitempty"`
	Started    time.Time         `json:"started"`
}

// counters count what the limits of a task are about.
type counters struct {
	spent
	// Excused is what was spent when a failed task was last taken up again; it does not count towards the limits.
	Excused spent `json:"excused"`
}

type spent struct {
	Iterations int   `json:"iterations"` // plans made
	Calls      int   `json:"calls"`      // tool calls, without those refused as repeats
	ElapsedMS  int64 `json:"elapsed_ms"` // working time of the nodes
}

func (c counters) iterations() int { return c.Iterations - c.Excused.Iterations }
func (c counters) calls() int      { return c.Calls - c.Excused.Calls }
func (c counters) elapsed() time.Duration {
	return time.Duration(c.ElapsedMS-c.Excused.ElapsedMS) * time.Millisecond
}

// excuse returns c with nothing spent.
func (c counters) excuse() counters { return counters{spent: c.spent, Excused: c.spent} }

// Failure says why a task did not end with a complete answer.
type Failure struct {
	Node    string `json:"node"`
	Kind    string `json:"kind"`
	Message string `json:"message"`
}

// Error returns the kind and the message.
func (f *Failure) Error() string { return f.Kind + ": " + f.Message }

// Kinds of failures.
const (
	KindLimit          = "limit"           // of plans, calls or time
	KindCut            = "cut"             // a reply ended at its cap, twice
	KindInvalidReply   = "invalid_reply"   // a reply did not have the form asked for, twice
	KindEmptyReply     = "empty_reply"     // the answer was empty, twice
	KindNoProgress     = "no_progress"     // another plan brought nothing new
	KindUnconfirmed    = "unconfirmed"     // the same, but nothing failed: a review misses what its plans take to be found; never in a report
	KindIncomplete     = "incomplete"      // the review found that something is missing and cannot be found
	KindContext        = "context"         // the task does not fit the model's context
	KindOutcomeUnknown = "outcome_unknown" // a call with side effects was cut off
	KindModel          = "model"           // the model gave an error
	KindInternal       = "internal"
)

var failureKinds = []string{
	KindLimit, KindCut, KindInvalidReply, KindEmptyReply, KindNoProgress, KindIncomplete, KindContext, KindOutcomeUnknown,
	KindModel, KindInternal,
}

// Change is one setting that differs from what a task was started with.
type Change struct{ Name, Was, Now string }

// SettingsError says that a task was started under other settings than those it is to be resumed under.
type SettingsError struct {
	Thread  string
	Changes []Change // sorted by name
}

func (e *SettingsError) Error() string {
	text := fmt.Sprintf("thread %s was started with other settings:", e.Thread)
	for i, c := range e.Changes {
		if i > 0 {
			text += ","
		}
		text += fmt.Sprintf(" %s was %q and is now %q", c.Name, c.Was, c.Now)
	}
	return text + "; restore them, or allow the change"
}

// changes compares what a task was started with to a runner's settings.
func (a assignment) changes(workspace string, offered []string, settings map[string]string) []Change {
	var out []Change
	add := func(name, was, now string) {
		if was != now {
			out = append(out, Change{name, was, now})
		}
	}
	for name := range maps.Keys(a.Settings) {
		add(name, a.Settings[name], settings[name])
	}
	for name := range maps.Keys(settings) {
		if _, known := a.Settings[name]; !known {
			add(name, "", settings[name])
		}
	}
	add("workspace", a.Workspace, workspace)
	for _, tool := range a.Tools {
		if !slices.Contains(offered, tool) {
			add("tool "+tool, "offered", "missing")
		}
	}
	slices.SortFunc(out, func(x, y Change) int {
		if x.Name < y.Name {
			return -1
		}
		return 1
	})
	return out
}

// rawString is text as a JSON string, for what is not valid JSON itself.
func rawString(text string) json.RawMessage { return json.RawMessage(compactJSON(text)) }
