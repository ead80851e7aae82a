package agent

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/llama-agent/llama-agent/templates"
)

// makePlan asks for the first plan, or after a review for the steps that find what is missing.
func (w *work) makePlan(ctx context.Context) error {
	w.counters.Iterations++
	if err := w.readGuide(ctx); err != nil {
		return err
	}
	data := templates.PlannerData{Task: w.task.Goal, Known: len(w.task.Background.History) > 0}
	if w.counters.Iterations == 1 && !w.task.Facts.NamedIn(w.task.Goal) {
		for _, f := range w.task.Facts.Found {
			data.Found = append(data.Found, oneLine(f.Path)) // with the words before it, a model searches for all of them at once
		}
	}
	facts := w.task.Facts
	if guide := w.freshGuide(); guide != "" {
		data.Guide = guide
	} else if planIsFull(w.trunk.entries, w.counters.Iterations-1, w.limits.MaxPlanSteps) && !lastRunFailed(w.plan) {
		data.Full = true
		facts = w.unread() // a small model would write the same plan again
		if steps := w.sameForTheRest(facts); len(steps) > 0 {
			w.takePlan(ctx, aboutMachine, steps)
			return nil
		}
	} else if review, ok := w.lastReview(); ok {
		data.Missing = review.missingOrReason()
	}
	beyond := w.outside()
	beyond.tied = beyond.tied || data.Missing != nil || data.Guide != "" || data.Full
	form, err := planForm(w.offered.Specs(), facts, beyond, w.limits)
	if err != nil {
		return err
	}
	plan, err := askFor[planReply](ctx, w, request{
		label: "plan", instruction: templates.Render(templates.Planner, data), form: form,
	})
	if err != nil {
		return err
	}
	steps := plan.steps()
	if w.counters.Iterations == 1 {
		steps = w.withTheChange(steps)
	}
	w.takePlan(ctx, plan.About, steps)
	if _, ok := nextStep(w.plan); !ok && !data.Full {
		w.noProgress("the new plan only repeats finished steps")
	}
	return nil
}

func (w *work) takePlan(ctx context.Context, a about, steps []plannedStep) {
	steps = distinct(steps)
	w.add(Entry{About: a, Plan: steps})
	w.plan = extendPlan(w.plan, steps, w.counters.Iterations, w.calls())
	w.emit(ctx, PlanMade{Steps: slices.Clone(w.plan)})
}

// sameForTheRest are the steps that go on with a full plan which does one thing with each file: the same for the files that the task
// names and no step was about yet. There is nothing to ask: a small model says that nothing is missing after the first eight of twelve
// files. A plan of several tools is no such list.
func (w *work) sameForTheRest(left Facts) []plannedStep {
	var last plannedStep
	for i := len(w.trunk.entries) - 1; i >= 0 && last.Tool == ""; i-- {
		for _, s := range w.trunk.entries[i].Plan {
			if s.file() == "" {
				continue
			}
			if last.Tool != "" && s.Tool != last.Tool {
				return nil
			}
			last = s
		}
	}
	if last.Tool == "" {
		return nil
	}
	var steps []plannedStep
	for _, f := range left.Files {
		if len(steps) < w.limits.MaxPlanSteps && strings.Contains(w.task.Goal, f.Path) {
			steps = append(steps, plannedStep{File: f.Path, Tool: last.Tool, Do: strings.ReplaceAll(last.Do, last.File, f.Path)})
		}
	}
	return steps
}

// planIsFull reports whether the plan of an iteration had as many steps as a plan may have and brought something new, so that there
// may be more to do than it could say.
func planIsFull(entries []Entry, iteration, most int) bool {
	if !broughtSomething(callsOf(entries), iteration) {
		return false
	}
	for i := len(entries) - 1; i >= 0; i-- {
		if entries[i].Review != nil {
			return false // which has seen what is missing
		}
		if steps := entries[i].Plan; steps != nil {
			return len(steps) >= most
		}
	}
	return false
}

// unread are the facts without the files that finished steps were about.
func (w *work) unread() Facts {
	facts := w.task.Facts
	done := func(path string) bool {
		return slices.ContainsFunc(w.plan, func(s Step) bool { return s.State == StepDone && s.File == path })
	}
	facts.Files = slices.DeleteFunc(slices.Clone(facts.Files), func(f File) bool { return done(f.Path) })
	facts.Attached = slices.DeleteFunc(slices.Clone(facts.Attached), done)
	return facts
}

// readGuide reads the skill that the user chose for the task, before the first plan. One that cannot be read is told to the model as
// any failed call.
func (w *work) readGuide(ctx context.Context) error {
	if w.task.Skill == "" || len(w.calls()) > 0 {
		return nil
	}
	call := Call{Iteration: w.counters.Iterations, Tool: w.task.Skill, Arguments: json.RawMessage("{}")}
	replayed, err := w.runTool(ctx, &call)
	if err != nil {
		return err
	}
	w.record(ctx, call, replayed)
	return nil
}

// freshGuide is the skill whose instructions came last, and are not planned for yet.
func (w *work) freshGuide() string {
	entries := w.trunk.entries
	if n := len(entries); n > 0 && isGuide(entries[n-1]) {
		return entries[n-1].Call.Tool
	}
	return ""
}

// isGuide reports whether an entry holds the instructions of a skill.
func isGuide(e Entry) bool {
	return e.Call != nil && e.Call.Guide && e.Call.Error == nil && !e.Call.Skipped
}

// lastReview returns the review that the current plan follows from.
func (w *work) lastReview() (*Review, bool) {
	for i := len(w.trunk.entries) - 1; i >= 0; i-- {
		if r := w.trunk.entries[i].Review; r != nil {
			return r, true
		}
	}
	return nil, false
}
