package tui

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/llama-agent/llama-agent/app"
	"github.com/llama-agent/llama-agent/internal/human"
)

// maxCopied bounds what is copied to the clipboard, in bytes: terminals ignore more.
const maxCopied = 100_000

// start is what the interface does first.
func (s *State) start() []effect {
	s.begin(workLoading)
	return []effect{turnsEffect{}, statusEffect{}, loadEffect{}, wordsEffect{}}
}

// do does an effect. What takes time is done elsewhere.
func (u *UI) do(ctx context.Context, chat *app.Chat, e effect) {
	switch e := e.(type) {
	case runEffect:
		u.run(ctx, chat, e.task)
	case loadEffect:
		u.load(ctx, chat)
	case stopEffect:
		u.stop()
	case copyEffect:
		u.screen.SetClipboard([]byte(clipBytes(e.text, maxCopied)))
	case thinkEffect:
		chat.SetShowThinking(e.on)
	case mouseEffect:
		u.setMouse(e.on)
	case redrawEffect:
		u.screen.Sync()
	case suspendEffect:
		u.view.Suspend(suspend)
	case quitEffect:
		u.view.Stop()
	default:
		if _, is := e.(statusEffect); is {
			u.asked, u.askedAt = true, u.options.Now()
		}
		u.jobs.post(func(ctx context.Context) message { return answer(ctx, chat, e, u.options.Now()) })
	}
}

// run does a task beside the interface.
func (u *UI) run(ctx context.Context, chat *app.Chat, task app.ChatTask) {
	work, end := u.begin(ctx, true)
	u.spawn(func() {
		defer end()
		report, err := chat.Run(work, task, func(e app.Event) { u.mail.post(eventMsg{e}) })
		if err != nil {
			u.options.Logger.Error("the turn failed", "error", err)
		}
		u.mail.post(finishedMsg{report, err})
	})
}

// load loads the model beside the interface.
func (u *UI) load(ctx context.Context, chat *app.Chat) {
	work, end := u.begin(ctx, false)
	u.spawn(func() {
		defer end()
		err := chat.Load(work)
		if err != nil {
			u.options.Logger.Error("loading the model", "error", err)
		}
		u.mail.post(loadedMsg{err})
	})
}

// look asks the chat, one question after the other.
func (u *UI) look(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-u.jobs.ready:
		}
		for _, job := range u.jobs.take() {
			if m := job(ctx); ctx.Err() == nil {
				u.mail.post(m)
			}
		}
	}
}

// answer asks the chat for what an effect needs.
func answer(ctx context.Context, chat *app.Chat, e effect, now time.Time) message {
	switch e := e.(type) {
	case doEffect:
		out, err := chat.Do(ctx, e.entry)
		return outputMsg{e.entry, out, err}
	case statusEffect:
		status, err := chat.Status(ctx)
		return statusMsg{status, err}
	case turnsEffect:
		turns, err := chat.Turns(ctx)
		return turnsMsg{turns, err}
	case listEffect:
		rows, err := list(ctx, chat, e.list, now)
		return listMsg{e.list, rows, err}
	case documentEffect:
		return stored(ctx, chat, e.ref)
	case wordsEffect:
		w, err := collect(ctx, chat)
		return wordsMsg{w, err}
	}
	panic(fmt.Sprintf("tui: no code for %T", e))
}

func stored(ctx context.Context, chat *app.Chat, ref string) message {
	found, content, err := chat.StoredResult(ctx, ref)
	if err != nil {
		return documentMsg{err: err}
	}
	title := fmt.Sprintf("%s · %s · %s", found.Ref, found.Tool, human.Bytes(found.Bytes))
	if !utf8.Valid(content) {
		return documentMsg{title: title, ref: found.Ref, text: "It is no text. Write it to a file with:\n\n    llama-agent artifacts show " + found.Ref + " > FILE\n"}
	}
	return documentMsg{title: title, ref: found.Ref, text: string(content)}
}

// list is what a picker offers.
func list(ctx context.Context, chat *app.Chat, kind listKind, now time.Time) ([]choice, error) {
	var rows []choice
	switch kind {
	case listResume:
		found, err := chat.Choices(ctx)
		if err != nil {
			return nil, err
		}
		for _, c := range found {
			what := "conversation"
			if c.Task {
				what = "task"
			}
			rows = append(rows, choice{value: c.ID, cells: []string{what, c.State, human.Age(c.Updated, now), c.Title}, right: []bool{false, false, true}})
		}
	case listModels:
		found, err := chat.ModelFiles(ctx)
		if err != nil {
			return nil, err
		}
		for _, m := range found {
			rows = append(rows, modelChoice(m))
		}
	case listArtifacts:
		found, err := chat.StoredResults(ctx)
		if err != nil {
			return nil, err
		}
		for _, a := range found {
			rows = append(rows, choice{
				value: a.Ref, cells: []string{a.Tool, human.Bytes(a.Bytes), human.Age(a.Created, now), strings.TrimSpace(a.Name + " " + a.Ref)},
				right: []bool{false, true, true},
			})
		}
	}
	return rows, nil
}

func modelChoice(m app.ModelFile) choice {
	c := choice{value: m.Path, cells: []string{m.Size, m.Quantization, human.Bytes(m.MemoryBytes), m.Path}, right: []bool{true, false, true}}
	switch {
	case m.Problem != "":
		c.broken = strings.TrimSpace(m.Path + ": " + m.Problem + "; " + m.Fix)
		c.cells = []string{"–", "unusable", "", m.Path}
	case m.Fits != nil && !*m.Fits:
		c.cells[2] += " (does not fit)"
	}
	if m.Configured {
		c.cells[3] += " (this one)"
	}
	return c
}

// collect gathers what completion offers.
func collect(ctx context.Context, chat *app.Chat) (words, error) {
	var w words
	tools, err := chat.ToolNames()
	if err != nil {
		return w, err
	}
	for _, t := range tools {
		w.tools = append(w.tools, word{t.Name, firstLine(t.Description)})
	}
	files, err := chat.Files(ctx)
	if err != nil {
		return w, err
	}
	for _, f := range files {
		w.files = append(w.files, word{text: f})
	}
	choices, err := chat.Choices(ctx)
	if err != nil {
		return w, err
	}
	for _, c := range choices {
		w.conversations = append(w.conversations, word{c.ID, oneLine(c.Title)})
	}
	stored, err := chat.StoredResults(ctx)
	for _, a := range stored {
		w.artifacts = append(w.artifacts, word{a.Ref, a.Tool})
	}
	return w, err
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
