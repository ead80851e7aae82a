package tui

import (
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/llama-agent/llama-agent/app"
	"github.com/llama-agent/llama-agent/internal/human"
)

// observe takes an event of the task that is under way.
func (s *State) observe(e app.Event) {
	switch e := e.(type) {
	case app.TaskStarted:
		s.plan, s.call, s.answer, s.thought = nil, nil, nil, nil
		s.spent = app.Usage{}
		s.model, s.turn = modelReady, e.Turn
		if e.Conversation != "" {
			s.status.Conversation = e.Conversation
		}
		if e.Resumed {
			s.note("going on with: " + e.Goal)
		}
	case app.NodeStarted:
		s.phase(string(e.Status))
	case app.PlanMade:
		s.planned(e.Steps)
	case app.StepStarted:
		s.step(e.Step, true)
	case app.StepFinished:
		s.step(e.Step, false)
	case app.CallStarted:
		s.call = s.add(&entry{kind: kindCall, running: true, began: s.now, call: app.Call{Step: e.Step, Tool: e.Tool, Arguments: e.Arguments}})
		s.phase("running " + e.Tool)
	case app.CallFinished:
		s.called(e)
	case app.ModelReplied:
		s.replied(e)
	case app.AnswerStarted:
		s.thoughtEnds()
		if s.answer != nil {
			s.drop(s.answer)
		}
		s.answer = s.add(&entry{kind: kindAnswer, running: true})
		s.activity.writing, s.activity.written = true, 0
	case app.AnswerDelta:
		s.write(e.Text)
	case app.Noted:
		s.note(e.Text)
	}
}

// phase says what the agent does now.
func (s *State) phase(name string) {
	a := &s.activity
	a.phase, a.readTotal, a.writing, a.written = name, 0, false, 0
}

// planned shows a plan: the one of the task, which grows when it is made anew.
func (s *State) planned(steps []app.Step) {
	if s.plan == nil {
		s.plan = s.add(&entry{kind: kindPlan})
	}
	s.plan.steps = append([]app.Step(nil), steps...)
	s.plan.touch()
}

// step shows that a step begins or has ended.
func (s *State) step(step app.Step, begins bool) {
	if s.plan == nil {
		s.planned([]app.Step{step})
	}
	for i := range s.plan.steps {
		if s.plan.steps[i].Number == step.Number {
			s.plan.steps[i] = step
		}
	}
	s.plan.current = 0
	if begins {
		s.plan.current = step.Number
	}
	s.plan.touch()
}

// called shows the outcome of a call: that of the running one, or of one that did not run.
func (s *State) called(e app.CallFinished) {
	shown := s.call
	if shown == nil || !shown.running || shown.call.Tool != e.Call.Tool || shown.call.Step != e.Call.Step {
		shown = s.add(&entry{kind: kindCall})
	}
	shown.call, shown.running, shown.replayed = e.Call, false, e.Replayed
	shown.touch()
	s.call = nil
	s.phase("executing")
}

// replied counts what a model call cost.
func (s *State) replied(e app.ModelReplied) {
	s.activity.readTotal = 0
	s.thoughtEnds()
	if e.Replayed {
		return
	}
	u := e.Usage
	s.spent = s.spent.Plus(u)
	s.kvUsed = u.PromptTokens + u.CompletionTokens
	if u.PrefillMS > 0 && u.EvaluatedTokens > 0 {
		s.rates.read = int64(u.EvaluatedTokens) * 1000 / u.PrefillMS
	}
	if u.DecodeMS > 0 {
		s.rates.written = int64(u.CompletionTokens) * 1000 / u.DecodeMS
	}
}

// write adds to the answer.
func (s *State) write(text string) {
	if s.answer == nil {
		s.answer = s.add(&entry{kind: kindAnswer, running: true})
	}
	a := &s.activity
	a.readTotal, a.writing = 0, true
	if a.written == 0 {
		a.wroteFrom = s.now
	}
	a.written++
	s.answer.grow(text)
}

// think adds to what the model thinks.
func (s *State) think(text string) {
	if s.thought == nil {
		s.thought = s.add(&entry{kind: kindThought, running: true})
	}
	s.activity.readTotal = 0
	room := s.settings.ThoughtChars - utf8.RuneCountInString(s.thought.text)
	if room <= 0 {
		return
	}
	if r := []rune(text); len(r) > room {
		text = string(r[:room]) + "…"
	}
	s.thought.grow(text)
}

// thoughtEnds says that what the model thinks next is another thought.
func (s *State) thoughtEnds() {
	if s.thought != nil {
		s.thought.running = false
		s.thought.touch()
		s.thought = nil
	}
}

// prefill says how far the prompt is read.
func (s *State) prefill(done, total int) {
	a := &s.activity
	if a.readTotal != total || done < a.readDone {
		a.readFrom, a.readBegan = done, s.now
	}
	a.readDone, a.readTotal = done, total
}

// reading tells how far the prompt is read and how long the rest may take; empty when there is nothing to tell.
func (a activity) reading(now time.Time) string {
	const short = 256 // tokens; fewer are read before anybody could look
	if a.readTotal < short || a.readDone >= a.readTotal {
		return ""
	}
	text := fmt.Sprintf("reading %s of %s tokens", human.Count(a.readDone), human.Count(a.readTotal))
	if left := human.Left(a.readFrom, a.readDone, a.readTotal, now.Sub(a.readBegan)); left != "" {
		text += ", " + left
	}
	return text
}

// speed is how fast the answer comes, in pieces of about a token per second; 0 when that can't be told yet.
func (a activity) speed(now time.Time) int {
	const enough = 8
	passed := now.Sub(a.wroteFrom)
	if !a.writing || a.written < enough || passed <= 0 {
		return 0
	}
	return int(float64(a.written-1) / passed.Seconds())
}

// summary tells what a task cost.
func summary(r *app.Report) string {
	u := r.Usage
	return fmt.Sprintf("%s in %s · %s · %s tokens read, %s of them cached · %s written", r.Status,
		human.Duration(time.Duration(r.DurationMS)*time.Millisecond), human.Plural(u.ModelCalls, "model call"),
		human.Count(u.PromptTokens), human.Count(u.CachedTokens), human.Count(u.CompletionTokens))
}
