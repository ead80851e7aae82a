package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/llama-agent/llama-agent/templates"
)

// needsReview reports whether a review could find something open. It could not when each step of the plan was refused, or ended with a
// call that worked and whose result is whole: then there is all that the plan asked for, and the model that made the plan is the
// one that would judge it. A result with nothing in it says something, too, as long as another has more. The rule reads the outcome of
// calls only, never their words. See Config.TrustPlan.
func needsReview(plan []Step, calls []Call) bool {
	last := map[int]*Call{}
	for i := range calls {
		last[calls[i].Step] = &calls[i]
	}
	empty, found := false, false
	for _, s := range plan {
		if s.State == StepDropped || s.State == StepRefused || s.State == StepDone && s.Tool == NoTool {
			continue
		}
		c := last[s.Number]
		if s.State == StepDone && c != nil && c.Skipped { // an equal call had worked
			found = true
			continue
		}
		if s.State != StepDone || c == nil || c.Error != nil {
			return true
		}
		extent := c.extent()
		if c.Artifact != "" {
			extent = part
			if c.Near || lookedInto(c.Artifact, calls) {
				extent = whole
			}
		}
		switch extent {
		case part:
			return true
		case nothing:
			empty = true
		case whole:
			found = true
		}
	}
	return empty && !found
}

// lookedInto reports whether a call that worked was about a stored result.
func lookedInto(artifact string, calls []Call) bool {
	return slices.ContainsFunc(calls, func(c Call) bool {
		return c.Error == nil && c.Artifact == "" && strings.Contains(string(c.Arguments), artifact)
	})
}

// extent is how much of what a call asked for its result has.
type extent string

const (
	nothing extent = "nothing"
	part    extent = "part"
	whole   extent = "whole"
)

// extent reads the result of a call, or what the state keeps of that when the result itself is in the store of records.
func (c *Call) extent() extent {
	if c.Extent != "" {
		return c.Extent
	}
	return extentOf(c.Result)
}

// extentOf reads a result object: by convention it says "truncated": true or "at_end": false when there is more, and has an empty list
// when nothing was found; "near": true says that it has what it was asked for all the same. What is no object is a part of something.
func extentOf(result json.RawMessage) extent {
	var fields map[string]json.RawMessage
	if json.Unmarshal(result, &fields) != nil {
		return part
	}
	if string(fields["near"]) == "true" {
		return whole
	}
	found := whole
	for name, value := range fields {
		text := string(value)
		if name == "truncated" && text == "true" || name == "at_end" && text == "false" {
			return part
		}
		if text == "[]" {
			found = nothing
		}
	}
	return found
}

// review judges the results against the task, and decides what follows.
func (w *work) review(ctx context.Context) error {
	form, err := reviewForm(w.limits)
	if err != nil {
		return err
	}
	data := templates.ReflectorData{Task: w.task.Goal}
	for _, s := range w.plan {
		data.Steps = append(data.Steps, templates.StepData{Number: s.Number, Do: s.Do, Tool: s.Tool, State: string(s.State)})
	}
	review, err := askFor[Review](ctx, w, request{
		label: "review", form: form, instruction: templates.Render(templates.Reflector, data),
	})
	if err != nil {
		return err
	}
	w.add(Entry{Review: &review})
	if review.Decision == DecisionDone {
		return nil
	}
	w.note(ctx, fmt.Sprintf("Review: %s", review.summary()))
	switch {
	case review.Decision == DecisionFailed:
		w.fail(KindIncomplete, review.summary())
	case w.counters.iterations() >= w.limits.MaxIterations:
		w.fail(KindLimit, fmt.Sprintf("the limit of %d plans was reached%s", w.limits.MaxIterations, w.stillMissing()))
	}
	return nil
}

// missingOrReason returns what a review misses, one item a line of a plan request.
func (r *Review) missingOrReason() []string {
	if len(r.Missing) > 0 {
		return r.Missing
	}
	if r.Reason != "" {
		return []string{r.Reason}
	}
	return []string{"the task is not done yet"}
}

// summary says what a review found in one line.
func (r *Review) summary() string {
	text := oneLine(r.Reason)
	if len(r.Missing) > 0 {
		if text != "" {
			text += "; "
		}
		text += "missing: " + oneLine(strings.Join(r.Missing, "; "))
	}
	if text == "" {
		text = string(r.Decision)
	}
	return text
}

// stillMissing continues a failure's message with what the last review missed.
func (w *work) stillMissing() string {
	review, ok := w.lastReview()
	if !ok || len(review.Missing) == 0 {
		return ""
	}
	return "; missing: " + oneLine(strings.Join(review.Missing, "; "))
}

// noProgress ends a task whose review misses what no further plan brings. When a step failed and no other found anything, the task has
// failed. Otherwise the review of a small model is as likely to be wrong as the plan, which may have had a step that nobody needs: the
// answer is written with a look at what the review misses.
func (w *work) noProgress(why string) {
	failed := slices.ContainsFunc(w.plan, func(s Step) bool {
		return s.State == StepFailed && s.Iteration >= w.counters.Iterations-1
	})
	found := slices.ContainsFunc(w.calls(), func(c Call) bool { return !c.Skipped && c.Error == nil && c.extent() != nothing })
	if failed && !found {
		w.fail(KindNoProgress, why+w.stillMissing())
		return
	}
	missing := why
	if review, ok := w.lastReview(); ok && len(review.Missing) > 0 {
		missing = strings.Join(review.Missing, "; ")
	}
	w.fail(KindUnconfirmed, missing)
}
