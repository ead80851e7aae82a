package agent

import (
	"context"
	"slices"

	"github.com/llama-agent/llama-agent/templates"
)

type plannedSteps struct {
	Steps []plannedStep `json:"steps"`
}

// makePlan asks for the first plan, or after a review for the steps that find what is missing.
func (w *work) makePlan(ctx context.Context) error {
	w.counters.Iterations++
	form, err := planForm(w.offered.Specs(), w.task.Facts, w.stored(), w.limits)
	if err != nil {
		return err
	}
	data := templates.PlannerData{Task: w.task.Goal, Known: len(w.task.Background.History) > 0}
	if review, ok := w.lastReview(); ok {
		data.Missing = review.missingOrReason()
	}
	plan, err := askFor[plannedSteps](ctx, w, request{
		label: "plan", instruction: templates.Render(templates.Planner, data), form: form,
	})
	if err != nil {
		return err
	}
	w.add(Entry{Plan: plan.Steps})
	w.plan = extendPlan(w.plan, plan.Steps, w.counters.Iterations, w.calls())
	w.emit(ctx, PlanMade{Steps: slices.Clone(w.plan)})
	if _, ok := nextStep(w.plan); !ok {
		w.fail(KindNoProgress, "the new plan only repeats finished steps"+w.stillMissing())
	}
	return nil
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
