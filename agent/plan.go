package agent

import (
	"slices"
	"strings"
)

// Status is where a task stands.
type Status string

// The statuses of a task.
const (
	StatusPlanning    Status = "planning"
	StatusExecuting   Status = "executing"
	StatusReflecting  Status = "reflecting"
	StatusDone        Status = "done"
	StatusFailed      Status = "failed"
	StatusInterrupted Status = "interrupted"
	StatusDamaged     Status = "damaged" // in lists: what is stored of the task can't be read
)

// StepState is where a step of the plan stands.
type StepState string

// The states of a step.
const (
	StepPending StepState = "pending"
	StepDone    StepState = "done"
	StepFailed  StepState = "failed"
	StepRefused StepState = "refused" // it asked for what is not allowed
	StepDropped StepState = "dropped" // a later plan replaced it before it began
)

// NoTool is the tool of a step that takes none.
const NoTool = "none"

// Step is one step of the plan.
type Step struct {
	Number    int       `json:"number"` // from 1, over all plans of the task
	Do        string    `json:"do"`
	File      string    `json:"file,omitempty"` // file or folder that the step is about; empty: none in particular
	Tool      string    `json:"tool"`           // a tool, or NoTool
	State     StepState `json:"state"`
	Iteration int       `json:"iteration"` // the plan it came with, from 1
}

// plannedStep is a step as the model writes it.
type plannedStep struct {
	File string `json:"file"` // NoFile, or empty, when it is about none in particular
	Tool string `json:"tool"`
	Do   string `json:"do"`
}

// MarshalJSON writes a step in the order in which it is asked for: the tool comes after the file, which narrows it, and without a file
// after what is to be done.
func (p plannedStep) MarshalJSON() ([]byte, error) {
	if p.file() == "" {
		return []byte(compactJSON(struct {
			File string `json:"file"`
			Do   string `json:"do"`
			Tool string `json:"tool"`
		}{p.File, p.Do, p.Tool})), nil
	}
	type inOrder plannedStep
	return []byte(compactJSON(inOrder(p))), nil
}

// about is what a plan is about. It is asked for first: with the names of files before its eyes, a small model looks for anything in them
// unless it has said that they are no matter of the task.
type about string

const (
	aboutKnowledge about = "general knowledge" // the answer follows; there are no steps
	aboutSaid      about = "what was said"     // now or before; there are steps only to look it up
	aboutFact      about = "to remember"       // what the user says to keep
	aboutMachine   about = "this machine"      // files, databases, the system
)

// planReply is a plan as the model writes it.
type planReply struct {
	About about         `json:"about,omitempty"`
	Steps []plannedStep `json:"steps,omitempty"`
}

// steps are those to do. A plan without any has the one that takes no tool.
func (p planReply) steps() []plannedStep {
	if len(p.Steps) == 0 {
		return []plannedStep{p.About.answer()}
	}
	return p.Steps
}

// answer is the step of a plan that has none.
func (a about) answer() plannedStep {
	return plannedStep{File: NoFile, Tool: NoTool, Do: "answer from " + string(a)}
}

// planText is what the model wrote to make a plan.
func planText(a about, steps []plannedStep) string {
	if len(steps) == 1 && steps[0] == a.answer() {
		steps = nil
	}
	return compactJSON(planReply{a, steps})
}

// NoFile is the file of a planned step that is about none in particular.
const NoFile = "none"

func (p plannedStep) file() string {
	if p.File == NoFile {
		return ""
	}
	return p.File
}

// same reports whether two steps say the same.
func (p plannedStep) same(o plannedStep) bool {
	return p.Tool == o.Tool && p.file() == o.file() && sameWords(p.Do, o.Do)
}

// distinct are the steps without those that an earlier one says already: a small model that does not know what to do fills its plan up
// with one step.
func distinct(steps []plannedStep) []plannedStep {
	var out []plannedStep
	for _, s := range steps {
		if !slices.ContainsFunc(out, s.same) {
			out = append(out, s)
		}
	}
	return out
}

// nextStep returns the index of the step to run, or false when there is none.
func nextStep(plan []Step) (int, bool) {
	for i, s := range plan {
		if s.State == StepPending {
			return i, true
		}
	}
	return 0, false
}

// extendPlan returns plan with the steps of a new iteration. Finished and failed steps stay, pending ones are dropped: the
// new plan was made knowing of them. A new step that says the same as a finished one is left out when doing it again
// cannot bring anything: it takes no tool, its calls have been seen to give the same result twice, or the step knew none but one that
// fails.
func extendPlan(plan []Step, planned []plannedStep, iteration int, calls []Call) []Step {
	next := make([]Step, 0, len(plan)+len(planned))
	for _, s := range plan {
		if s.State == StepPending {
			s.State = StepDropped
		}
		next = append(next, s)
	}
	for _, p := range planned {
		if repeatsFinished(plan, p, calls) {
			continue
		}
		next = append(next, Step{
			Number: len(next) + 1, Do: p.Do, File: p.file(), Tool: p.Tool, State: StepPending, Iteration: iteration,
		})
	}
	return next
}

func repeatsFinished(plan []Step, p plannedStep, calls []Call) bool {
	for _, s := range plan {
		if !p.same(plannedStep{File: s.File, Tool: s.Tool, Do: s.Do}) {
			continue
		}
		if s.State == StepRefused || s.State == StepFailed && stepIsStuck(calls, s.Number) || s.State == StepDone && (s.Tool == NoTool || stepIsSettled(calls, s.Number)) {
			return true
		}
	}
	return false
}

// stepIsStuck reports whether a step ended because the model knew no other call than one that had failed: in the same words, the same
// comes of it.
func stepIsStuck(calls []Call, step int) bool {
	return slices.ContainsFunc(calls, func(c Call) bool { return c.Step == step && c.Skipped })
}

// stepIsSettled reports whether each call that ran in a step is known to give the same result again.
func stepIsSettled(calls []Call, step int) bool {
	ran := false
	for _, c := range calls {
		if c.Step != step || c.Skipped {
			continue
		}
		ran = true
		if !settled(calls, c.key()) {
			return false
		}
	}
	return ran
}

// sameWords compares two texts without regard to letter case and blanks.
func sameWords(a, b string) bool {
	return strings.EqualFold(strings.Join(strings.Fields(a), " "), strings.Join(strings.Fields(b), " "))
}
