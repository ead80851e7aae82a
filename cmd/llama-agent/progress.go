package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/llama-agent/llama-agent/app"
	"github.com/llama-agent/llama-agent/internal/human"
)

// progress tells a person what a task is doing, on stderr, and streams the answer to stdout when that is a terminal. Its
// methods are called one at a time, except loading and prefill.
type progress struct {
	console  *console
	streamed strings.Builder  // of the answer, as it stands on the terminal
	told     int              // steps of the plan that have been shown
	now      func() time.Time // nil: time.Now

	mu     sync.Mutex // of all below, which is about the prompt that is being read
	before int        // tokens that were read when reading was told first
	done   int        // tokens that were read when it was told last
	total  int
	since  time.Time
}

// loading shows how much of the model is loaded.
func (p *progress) loading(share float32) {
	p.console.status("loading the model: %d %%", int(share*100))
}

// prefill shows how far the prompt is read, and how long the rest may take. Short prompts are read before anybody could look.
func (p *progress) prefill(done, total int) {
	if total-done <= 0 || total <= 256 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now
	if p.now != nil {
		now = p.now
	}
	if total != p.total || done < p.done {
		p.before, p.total, p.since = done, total, now()
	}
	p.done = done
	left := human.Left(p.before, done, total, now().Sub(p.since))
	if left != "" {
		left = ", " + left
	}
	p.console.status("reading: %d of %d tokens%s", done, total, left)
}

// observe shows one event.
func (p *progress) observe(e app.Event) {
	c := p.console
	switch e := e.(type) {
	case app.TaskStarted:
		verb := "thread"
		if e.Resumed {
			verb = "resuming thread"
		}
		if e.Conversation != "" {
			c.note("conversation %s, turn %d", e.Conversation, e.Turn)
		}
		c.note("%s %s", verb, e.Thread)
	case app.NodeStarted:
		c.status("%s …", e.Status)
		if c.verbose {
			c.note("%s", e.Status)
		}
	case app.PlanMade:
		p.plan(e.Steps)
	case app.StepStarted:
		c.note("step %d: %s", e.Step.Number, oneLine(e.Step.Do))
	case app.CallStarted:
		if c.verbose {
			c.note("  %s begins", e.Tool)
		}
		c.status("  %s %s …", e.Tool, argumentText(e.Arguments))
	case app.CallFinished:
		p.call(e)
	case app.ModelReplied:
		if c.verbose && !e.Replayed {
			u := e.Usage
			c.note("  model: %d tokens read, %d of them cached, %d written, %s", u.PromptTokens, u.CachedTokens, u.CompletionTokens,
				formatDuration(time.Duration(u.PrefillMS+u.DecodeMS)*time.Millisecond))
		}
	case app.Noted:
		c.note("note: %s", oneLine(e.Text))
	case app.AnswerStarted:
		p.restart()
	case app.AnswerDelta:
		p.stream(e.Text)
	}
}

// plan shows the steps that were not shown before.
func (p *progress) plan(steps []app.Step) {
	if len(steps) <= p.told {
		return
	}
	if p.told == 0 {
		p.console.note("plan")
	} else {
		p.console.note("new plan")
	}
	for _, s := range steps[p.told:] {
		tool := ""
		if s.Tool != app.NoTool {
			tool = " (" + strings.TrimSpace(s.Tool+" "+oneLine(s.File)) + ")"
		}
		p.console.note("  %d. %s%s", s.Number, oneLine(s.Do), tool)
	}
	p.told = len(steps)
}

func (p *progress) call(e app.CallFinished) {
	c := e.Call
	line := p.short(fmt.Sprintf("  %s %s", c.Tool, argumentText(c.Arguments)), 10)
	switch {
	case e.Replayed:
		line += "  (done before)"
	case !c.Skipped:
		line += "  " + formatDuration(time.Duration(c.DurationMS)*time.Millisecond)
	}
	p.console.note("%s", line)
	if c.Error != nil {
		p.console.note("%s", p.short(fmt.Sprintf("    %s: %s", c.Error.Kind, oneLine(c.Error.Message)), 0))
	}
}

// short cuts a line so that it and some columns more fit the terminal. With --verbose it stays whole.
func (p *progress) short(line string, more int) string {
	if p.console.verbose {
		return line
	}
	return truncate(app.Inert(line), max(p.console.width-more, 40))
}

// argumentText shows the arguments of a call in one line: {"a":1} without the braces.
func argumentText(raw json.RawMessage) string {
	text := oneLine(string(raw))
	return strings.TrimSuffix(strings.TrimPrefix(text, "{"), "}")
}

// restart begins an answer. What an earlier attempt wrote stays on the terminal, which cannot take it back.
func (p *progress) restart() {
	if p.streamed.Len() > 0 {
		p.console.print("\n")
		p.console.note("the answer begins anew")
		p.streamed.Reset()
	}
}

func (p *progress) stream(text string) {
	if !p.console.outTerminal || p.console.json {
		return
	}
	p.console.print(text)
	p.streamed.WriteString(text)
}

// finish writes what is still missing of the answer.
func (p *progress) finish(answer string) {
	shown := p.streamed.String()
	switch {
	case answer == "" && shown == "":
	case shown != "" && strings.TrimSpace(shown) == strings.TrimSpace(answer):
		if !strings.HasSuffix(shown, "\n") {
			p.console.print("\n")
		}
	default:
		if shown != "" {
			p.console.print("\n\n")
		}
		p.console.print(strings.TrimRight(answer, "\n") + "\n")
	}
}

// summary tells what the task cost.
func (p *progress) summary(r *app.Report) {
	u := r.Usage
	if u.ModelCalls == 0 || r.Status == app.StatusInterrupted {
		return
	}
	p.console.note("%s in %s: %s, %d tokens read (%d cached), %d written", r.Status,
		formatDuration(time.Duration(r.DurationMS)*time.Millisecond), plural(u.ModelCalls, "model call"), u.PromptTokens, u.CachedTokens, u.CompletionTokens)
}
