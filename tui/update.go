package tui

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/llama-agent/llama-agent/app"
)

// update changes the State by a message that came at a time, and returns what is to be done.
func (s *State) update(m message, now time.Time) []effect {
	s.now = now
	switch m := m.(type) {
	case keyMsg:
		return s.press(m.key)
	case pasteMsg:
		return s.paste(m.text)
	case clickMsg:
		return s.click(m.x, m.y)
	case wheelMsg:
		s.wheel(m.x, m.y, m.lines)
	case sizeMsg:
		s.width, s.height = m.width, m.height
	case tickMsg: // now is later
	case noticeMsg:
		if m.bad {
			s.failed(m.text)
		} else {
			s.note(m.text)
		}
	case eventMsg:
		s.observe(m.event)
	case thoughtMsg:
		s.think(m.text)
	case loadingMsg:
		s.activity.share = m.share
	case prefillMsg:
		s.prefill(m.done, m.total)
	case loadedMsg:
		return s.loaded(m.err)
	case finishedMsg:
		return s.finished(m.report, m.err)
	case outputMsg:
		return s.output(m)
	default:
		return s.receive(m)
	}
	return nil
}

// receive takes what was asked for.
func (s *State) receive(m message) []effect {
	var err error
	switch m := m.(type) {
	case statusMsg:
		if err = m.err; err == nil {
			s.status = m.status
		}
	case turnsMsg:
		if err = m.err; err == nil {
			s.restore(m.turns)
		}
	case listMsg:
		if err = m.err; err == nil {
			s.pick(m.list, m.rows)
		}
	case documentMsg:
		if err = m.err; err == nil {
			s.document = newDocument(m.title, m.ref, m.text)
		}
	case wordsMsg:
		if m.err == nil { // without words there is no completion, which is no reason to complain
			s.words = m.words
			s.complete(false)
		}
	}
	if err != nil {
		s.failed(err.Error())
	}
	return nil
}

// begin says that work is under way.
func (s *State) begin(w work) {
	s.activity, s.notice = activity{work: w, began: s.now}, ""
	if w == workLoading {
		s.model = modelLoading
	}
}

// loaded says how loading ended.
func (s *State) loaded(err error) []effect {
	stopped := s.activity.stopping
	s.activity = activity{}
	switch {
	case err == nil:
		s.model = modelReady
		s.notice = "the model is ready"
	case stopped && errors.Is(err, context.Canceled):
		s.model = modelUnknown
		s.note("loading was stopped; the model is loaded with the next question")
	default:
		s.model = modelMissing
		s.failed(err.Error())
		s.note("/model lists the models here and takes the path of another one; llama-agent doctor says more")
	}
	return append([]effect{statusEffect{}}, s.next()...)
}

// next takes an entry from the queue when nothing is under way.
func (s *State) next() []effect {
	if s.busy() || len(s.queue) == 0 {
		return nil
	}
	entry := s.queue[0]
	s.queue = s.queue[1:]
	return s.enter(entry)
}

// finished says how a task ended.
func (s *State) finished(report *app.Report, err error) []effect {
	stopped := s.activity.stopping
	s.activity = activity{}
	s.status.Session = s.status.Session.Plus(s.spent) // until the new status comes
	s.spent = app.Usage{}
	s.settle()
	effects := []effect{statusEffect{}, wordsEffect{}}
	switch {
	case err != nil && report == nil:
		s.notBegun(stopped, err)
	case err != nil:
		s.failed(err.Error())
		s.tell(report, effects[:0:0])
	default:
		s.model = modelReady
		s.tell(report, effects[:0:0])
	}
	s.sent = ""
	return append(effects, s.next()...)
}

// notBegun tells why a task could not begin, and gives its text back.
func (s *State) notBegun(stopped bool, err error) {
	if s.sent != "" && s.input.empty() {
		s.input.set(s.sent)
	}
	switch {
	case stopped && errors.Is(err, context.Canceled):
		s.note("stopped before it began")
	case app.IsModelError(err):
		s.model = modelMissing
		s.failed(err.Error())
		s.note("/model lists the models here and takes the path of another one")
	default:
		s.failed(err.Error())
	}
}

// tell shows how a task ended.
func (s *State) tell(r *app.Report, _ []effect) {
	s.showAnswer(r)
	switch r.Status {
	case app.StatusInterrupted:
		s.note("interrupted; go on with /resume")
		return
	case app.StatusDone:
	default:
		kind, message := app.KindInternal, "no reason is stored"
		if r.Error != nil {
			kind, message = r.Error.Kind, r.Error.Message
		}
		s.failed("the task failed (" + kind + "): " + message)
		if kind == app.KindOutcomeUnknown {
			s.question = &question{
				text: message + " Run it again?", yes: runEffect{app.ChatTask{Thread: r.ThreadID, RetryUnknown: true}},
			}
		}
	}
	if r.Usage.ModelCalls > 0 {
		s.add(&entry{kind: kindSummary, text: summary(r)})
	}
}

// showAnswer makes the transcript show the whole answer, whatever of it was streamed.
func (s *State) showAnswer(r *app.Report) {
	switch {
	case strings.TrimSpace(r.Answer) == "":
	case s.answer == nil:
		s.answer = s.add(&entry{kind: kindAnswer, text: r.Answer})
	case strings.TrimSpace(s.answer.text) != strings.TrimSpace(r.Answer):
		s.answer.text = r.Answer
		s.answer.touch()
	}
	s.plan, s.call, s.answer, s.thought = nil, nil, nil, nil
}

// settle ends what was running in the transcript.
func (s *State) settle() {
	for _, e := range []*entry{s.call, s.answer, s.thought, s.plan} {
		if e == nil {
			continue
		}
		if e.kind == kindCall && e.running {
			e.call.Error = &app.CallError{Kind: "interrupted", Message: "the call has no outcome"}
		}
		e.running, e.current = false, 0
		e.touch()
	}
	s.call = nil
}

// output shows what came of a command, and goes on.
func (s *State) output(m outputMsg) []effect {
	if m.err != nil {
		s.failed(m.err.Error())
		return s.next()
	}
	out := m.out
	var effects []effect
	if out.Effect == app.EffectNone { // a command that changes the conversation empties the screen before its output
		effects = s.after(m.entry)
	}
	if out.Table != nil || len(out.Lines) > 0 || len(out.Turns) > 0 {
		s.add(&entry{kind: kindUser, text: strings.TrimSpace(m.entry)})
	}
	if out.Table != nil || len(out.Lines) > 0 {
		s.add(&entry{kind: kindOutput, table: out.Table, text: strings.Join(out.Lines, "\n")})
	}
	for _, turn := range out.Turns {
		s.addTurn(turn)
	}
	switch out.Effect {
	case app.EffectQuit:
		return []effect{quitEffect{}}
	case app.EffectClear:
		s.clear()
	case app.EffectCancel:
		return s.cancel()
	case app.EffectTask:
		s.begin(workTask)
		s.model = s.modelWhenAsked()
		return []effect{runEffect{out.Task}}
	case app.EffectNone:
	}
	return append(effects, s.next()...)
}

// modelWhenAsked is what is known of the model when a task begins: it may load it.
func (s *State) modelWhenAsked() modelState {
	if s.model == modelReady {
		return modelReady
	}
	return modelUnknown
}

// after does what follows a command that was done.
func (s *State) after(entry string) []effect {
	parsed, err := app.ParseEntry(entry, nil)
	if err != nil {
		return nil
	}
	effects := []effect{statusEffect{}}
	switch parsed.Command {
	case "model":
		if parsed.Subject != "" && !s.busy() {
			s.begin(workLoading)
			effects = append(effects, loadEffect{}, wordsEffect{})
		}
	case "resume":
		s.clear()
		effects = append(effects, turnsEffect{}, wordsEffect{})
	case "new":
		s.clear()
	case "thinking":
		if parsed.Subject != "" {
			s.thinking = parsed.Subject == "on"
			s.renderer.forget()
		}
	}
	return effects
}

// clear empties the transcript.
func (s *State) clear() {
	s.entries, s.scroll, s.mode, s.find = nil, scroller{follow: true}, modeInput, nil
	s.renderer.forget()
	if s.busy() { // what is under way stays visible
		for _, e := range []*entry{s.plan, s.call, s.thought, s.answer} {
			if e != nil {
				s.add(e)
			}
		}
	}
}

// cancel stops what is under way.
func (s *State) cancel() []effect {
	if !s.busy() || s.activity.stopping {
		return nil
	}
	s.activity.stopping = true
	return []effect{stopEffect{}}
}

// restore shows the turns of a conversation. What was asked in it is what Up brings back.
func (s *State) restore(turns []app.Turn) {
	asked := make([]string, 0, len(turns))
	for _, t := range turns {
		s.addTurn(t)
		asked = append(asked, t.Goal)
	}
	if len(asked) > 0 { // a new conversation keeps the history of the one before
		s.input.editor.SetHistory(asked)
	}
	s.scroll.bottom()
}

// addTurn shows a turn that is over.
func (s *State) addTurn(t app.Turn) {
	s.add(&entry{kind: kindUser, text: t.Goal})
	for _, c := range app.CallsOf(t) {
		s.add(&entry{kind: kindCall, call: c})
	}
	if t.Answer != "" {
		s.add(&entry{kind: kindAnswer, text: t.Answer})
	}
	switch {
	case t.Error != "":
		s.failed(t.Error)
	case string(t.Status) == string(app.StatusInterrupted):
		s.note("interrupted; go on with /resume " + t.Thread)
	}
}
