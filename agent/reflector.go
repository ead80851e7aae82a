package agent

import (
	"context"
	"fmt"
	"strings"

	"github.com/llama-agent/llama-agent/templates"
)

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
