package tui

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/llama-agent/llama-agent/app"
)

// rig is a State with somebody who types and an agent that works.
type rig struct {
	*State
	t   *testing.T
	now time.Time
}

func newRig(t *testing.T, width, height int) *rig {
	t.Helper()
	r := &rig{t: t, now: time.Unix(1_800_000_000, 0)}
	r.State = newState(Settings{Sidebar: true, Mouse: true, ThoughtChars: 8000, PreviewChars: 500}, r.now)
	r.is(sizeMsg{width, height})
	return r
}

// is changes the State, and returns the effects.
func (r *rig) is(messages ...message) []effect {
	var effects []effect
	for _, m := range messages {
		effects = append(effects, r.update(m, r.now)...)
	}
	return effects
}

func (r *rig) passed(d time.Duration) { r.now = r.now.Add(d) }

// typed types a text, and keys by their names in <>.
func (r *rig) typed(text string) []effect {
	var effects []effect
	for text != "" {
		if name, rest, ok := strings.Cut(strings.TrimPrefix(text, "<"), ">"); ok && text[0] == '<' {
			effects = append(effects, r.is(keyMsg{key{name: name}})...)
			text = rest
			continue
		}
		c := []rune(text)[0]
		effects = append(effects, r.is(keyMsg{key{text: string(c)}})...)
		text = text[len(string(c)):]
	}
	return effects
}

func (r *rig) events(events ...app.Event) {
	for _, e := range events {
		r.is(eventMsg{e})
	}
}

// screen is what is shown.
func (r *rig) screen() string {
	g, _ := r.draw()
	return g.String()
}

func (r *rig) sees(texts ...string) {
	r.t.Helper()
	screen := r.screen()
	for _, text := range texts {
		require.Contains(r.t, screen, text)
	}
}

func (r *rig) misses(texts ...string) {
	r.t.Helper()
	screen := r.screen()
	for _, text := range texts {
		require.NotContains(r.t, screen, text)
	}
}

// ready is a State whose model is loaded.
func ready(t *testing.T, width, height int) *rig {
	t.Helper()
	r := newRig(t, width, height)
	require.Equal(t, []effect{turnsEffect{}, statusEffect{}, loadEffect{}, wordsEffect{}}, r.start())
	r.is(loadedMsg{}, statusMsg{status: app.ChatStatus{Model: "models/qwen.gguf", Loaded: true, ContextSize: 16384, NextTurn: 1}})
	return r
}

// asks makes a turn be under way.
func (r *rig) asks(goal string) {
	r.t.Helper()
	require.Equal(r.t, []effect{doEffect{goal}}, r.typed(goal+"<enter>"))
	task := app.ChatTask{Goal: goal}
	require.Equal(r.t, []effect{runEffect{task}}, r.is(outputMsg{entry: goal, out: app.Output{Effect: app.EffectTask, Task: task}}))
	r.events(app.TaskStarted{Thread: "t-1", Goal: goal, Conversation: "c-1", Turn: 1}, app.NodeStarted{Node: "planner", Status: "planning"})
}

func step(number int, do, tool string) app.Step {
	return app.Step{Number: number, Do: do, Tool: tool, State: app.StepPending, Iteration: 1}
}

func call(tool, arguments, text string) app.Call {
	return app.Call{Step: 1, Tool: tool, Arguments: json.RawMessage(arguments), Outcome: app.Outcome{Text: text}}
}

func done(answer string) *app.Report {
	return &app.Report{ThreadID: "t-1", Status: app.StatusDone, Answer: answer, Usage: app.Usage{ModelCalls: 2, PromptTokens: 1200, CachedTokens: 800, CompletionTokens: 40}, DurationMS: 1500}
}

func TestATurn(t *testing.T) {
	t.Parallel()
	r := ready(t, 100, 40)
	r.asks("count")
	r.sees("› count", "planning")
	r.events(app.PlanMade{Steps: []app.Step{step(1, "Count the lines", "count_lines"), step(2, "Say it", app.NoTool)}})
	r.sees("○ 1. Count the lines  count_lines", "○ 2. Say it")
	r.misses("Say it  none")
	r.events(app.StepStarted{Step: step(1, "Count the lines", "count_lines")}, app.CallStarted{Step: 1, Tool: "count_lines", Arguments: json.RawMessage(`{"path":"a b.txt","n":3}`)})
	r.passed(2300 * time.Millisecond)
	r.is(tickMsg{})
	r.sees("● 1. Count the lines", `● count_lines path="a b.txt" n=3`, "2.3 s …", "running count_lines", "0:02")
	finished := call("count_lines", `{"path":"a b.txt","n":3}`, "one\ntwo\nthree\nfour\nfive")
	finished.DurationMS = 2345
	done1 := step(1, "Count the lines", "count_lines")
	done1.State = app.StepDone
	r.events(app.CallFinished{Call: finished}, app.StepFinished{Step: done1})
	r.sees("✓ 1. Count the lines", "✓ count_lines", "2.3 s · 23 B · ▸", "      three\n"[:11], "… 2 more lines")
	r.misses("four")
	r.events(app.AnswerStarted{Attempt: 1}, app.AnswerDelta{Text: "There are "}, app.AnswerDelta{Text: "five."})
	r.sees("There are five.", "answering")
	r.events(app.ModelReplied{Usage: app.Usage{ModelCalls: 1, PromptTokens: 1000, CompletionTokens: 24, EvaluatedTokens: 300, PrefillMS: 1000, DecodeMS: 500}})
	r.sees("1,024 of 16,384", "300, 48")
	require.Equal(t, []effect{statusEffect{}, wordsEffect{}}, r.is(finishedMsg{report: done("There are five.")}))
	r.sees("done in 1.5 s · 2 model calls · 1,200 tokens read, 800 of them", "cached · 40 written", "idle", "sent                  1,000")
	require.Equal(t, 1, strings.Count(r.screen(), "There are five."), "the answer is not repeated")
	require.False(t, r.busy())
}

func TestAnAnswerThatBeginsAnewReplacesTheOneBefore(t *testing.T) {
	t.Parallel()
	r := ready(t, 80, 24)
	r.asks("count")
	r.events(app.AnswerStarted{Attempt: 1}, app.AnswerDelta{Text: "Wrong"}, app.AnswerStarted{Attempt: 2}, app.AnswerDelta{Text: "Right"})
	r.sees("Right")
	r.misses("Wrong")
	r.is(finishedMsg{report: done("Right, and more.")})
	r.sees("Right, and more.")
	require.Equal(t, 1, strings.Count(r.screen(), "Right"))
}

func TestPrefillIsToldWithAnEstimate(t *testing.T) {
	t.Parallel()
	r := ready(t, 100, 24)
	r.asks("count")
	r.is(prefillMsg{1000, 5000})
	r.sees("reading 1,000 of 5,000 tokens")
	r.misses("left")
	r.passed(2 * time.Second)
	r.is(prefillMsg{2000, 5000})
	r.sees("reading 2,000 of 5,000 tokens, about 6 s left")
	r.is(prefillMsg{5000, 5000})
	r.misses("reading 5,000")
	r.is(prefillMsg{10, 200})
	r.misses("reading 10")
}

func TestHowATaskCanEnd(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		report *app.Report
		err    error
		sees   []string
	}{
		"interrupted":       {report: &app.Report{Status: app.StatusInterrupted}, sees: []string{"interrupted; go on with /resume"}},
		"failed":            {report: &app.Report{Status: app.StatusFailed, Answer: "A part.", Error: &app.Failure{Kind: "limit", Message: "too many rounds"}}, sees: []string{"A part.", "the task failed (limit): too many rounds"}},
		"failed, no reason": {report: &app.Report{Status: app.StatusFailed}, sees: []string{"no reason is stored"}},
		"not begun":         {err: errors.New("the conversation c-1 is in use"), sees: []string{"! the conversation c-1 is in use", "› count"}},
		"no model":          {err: app.ErrNoModel, sees: []string{"no model is configured", "/model lists", "no model; choose one"}},
		"ended, not stored": {report: done("Yes."), err: errors.New("the disk is full"), sees: []string{"Yes.", "the disk is full"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := ready(t, 100, 30)
			r.asks("count")
			r.events(app.CallStarted{Step: 1, Tool: "count_lines"})
			r.is(finishedMsg{report: c.report, err: c.err})
			r.sees(c.sees...)
			r.sees("interrupted: the call has no outcome")
			require.False(t, r.busy())
			if c.report == nil {
				require.Equal(t, "count", r.input.text(), "what could not be asked is given back")
			} else {
				require.True(t, r.input.empty())
			}
		})
	}
}

func TestACallOfUnknownOutcomeIsAskedAbout(t *testing.T) {
	t.Parallel()
	unknown := finishedMsg{report: &app.Report{ThreadID: "t-1", Status: app.StatusFailed, Error: &app.Failure{Kind: app.KindOutcomeUnknown, Message: "the shell may have run."}}}
	for typed, want := range map[string][]effect{
		"y": {runEffect{app.ChatTask{Thread: "t-1", RetryUnknown: true}}}, "n": nil, "x": nil, "<esc>": nil, "<enter>": nil, "<ctrl+c>": nil,
	} {
		r := ready(t, 80, 24)
		r.asks("count")
		r.is(unknown)
		r.sees("Question", "the shell may have run. Run it again?")
		require.Equal(t, want, r.typed(typed), typed)
		r.misses("Run it again?")
		require.Equal(t, want != nil, r.busy())
		require.True(t, r.input.empty(), "the key was for the question")
	}
}

func TestWhatIsSentMeanwhileWaits(t *testing.T) {
	t.Parallel()
	r := ready(t, 80, 24)
	r.asks("one")
	require.Empty(t, r.typed("two<enter>/new<enter>three<enter>"))
	r.sees("3 waiting")
	require.Equal(t, []effect{doEffect{"/stats"}}, r.typed("/stats<enter>"), "what only looks does not wait")
	effects := r.is(finishedMsg{report: done("1")})
	require.Equal(t, doEffect{"two"}, effects[len(effects)-1])
	r.is(outputMsg{entry: "two", out: app.Output{Effect: app.EffectTask}})
	effects = r.is(finishedMsg{report: done("2")})
	require.Equal(t, doEffect{"/new"}, effects[len(effects)-1])
	effects = r.is(outputMsg{entry: "/new", out: app.Output{Lines: []string{"the next question begins a conversation"}}})
	require.Equal(t, doEffect{"three"}, effects[len(effects)-1])
	r.misses("› two")
	r.sees("› three")
}

func TestCtrlC(t *testing.T) {
	t.Parallel()
	r := ready(t, 80, 24)
	r.typed("text")
	require.Empty(t, r.typed("<ctrl+c>"))
	require.True(t, r.input.empty())
	require.Empty(t, r.typed("<ctrl+c>"))
	r.sees("Ctrl-C again leaves")
	r.typed("x<backspace>")
	require.Empty(t, r.typed("<ctrl+c>"), "another key has come between")
	require.Equal(t, []effect{quitEffect{}}, r.typed("<ctrl+c>"))

	r = ready(t, 80, 24)
	r.asks("one")
	r.typed("half")
	require.Equal(t, []effect{stopEffect{}}, r.typed("<ctrl+c>"))
	r.sees("stopping; Ctrl-C again leaves", "half")
	require.Empty(t, r.typed("/cancel<enter>"), "it stops already")
	require.Equal(t, []effect{quitEffect{}}, r.typed("<ctrl+c>"))
	require.Equal(t, []effect{quitEffect{}}, r.typed("<ctrl+q>"))

	r = ready(t, 80, 24)
	r.asks("one")
	r.typed("<ctrl+c>")
	r.is(finishedMsg{report: &app.Report{Status: app.StatusInterrupted}})
	r.sees("Ctrl-C again leaves")
	require.Equal(t, []effect{quitEffect{}}, r.typed("<ctrl+c>"), "two are enough, also when the turn ends between them")
}

func TestCancelCommand(t *testing.T) {
	t.Parallel()
	r := ready(t, 80, 24)
	require.Equal(t, []effect{doEffect{"/cancel"}}, r.typed("/cancel<enter>"), "app says that nothing is running")
	r.asks("one")
	require.Equal(t, []effect{stopEffect{}}, r.typed("/cancel<enter>"))
}

func TestLoadingTheModel(t *testing.T) {
	t.Parallel()
	r := newRig(t, 100, 30)
	r.start()
	r.is(loadingMsg{0.42})
	r.sees("loading the model: 42 %", "loading 42 %")
	require.Empty(t, r.typed("hello<enter>"), "it waits for the model")
	effects := r.is(loadedMsg{})
	require.Equal(t, []effect{statusEffect{}, doEffect{"hello"}}, effects)

	r = newRig(t, 100, 30)
	r.start()
	r.is(loadedMsg{errors.New("the file is cut")})
	r.sees("the file is cut", "/model lists", "cannot be loaded")

	// Another model is wanted while one is loaded.
	r = newRig(t, 100, 30)
	r.start()
	require.Equal(t, []effect{stopEffect{}}, r.typed("/model b.gguf<enter>"))
	effects = r.is(loadedMsg{context.Canceled})
	require.Equal(t, []effect{statusEffect{}, doEffect{"/model b.gguf"}}, effects)
	effects = r.is(outputMsg{entry: "/model b.gguf", out: app.Output{Lines: []string{"b.gguf"}}})
	require.Equal(t, []effect{statusEffect{}, loadEffect{}, wordsEffect{}}, effects)
	require.True(t, r.busy())
}

func TestCommandsThatOpenLists(t *testing.T) {
	t.Parallel()
	r := ready(t, 80, 24)
	require.Equal(t, []effect{listEffect{listResume}}, r.typed("/resume<enter>"))
	r.is(listMsg{list: listResume, rows: []choice{
		{value: "t-1", cells: []string{"task", "interrupted", "3 min", "数一数 lines"}}, {value: "c-2", cells: []string{"conversation", "2 turns", "1 h", "other"}},
	}})
	r.sees("Go on with", "数一数 lines")
	r.typed("OTH")
	r.misses("interrupted")
	require.Equal(t, []effect{doEffect{"/resume c-2"}}, r.typed("<enter>"))
	require.Nil(t, r.picker)
	require.Equal(t, []effect{statusEffect{}, turnsEffect{}, wordsEffect{}}, r.is(outputMsg{entry: "/resume c-2", out: app.Output{Lines: []string{"conversation c-2"}}}))

	require.Equal(t, []effect{listEffect{listModels}}, r.typed("/model<enter>"))
	r.is(listMsg{list: listModels, rows: []choice{{value: "bad.gguf", cells: []string{"bad"}, broken: "bad.gguf: cut"}, {value: "my model.gguf", cells: []string{"good"}}}})
	require.Empty(t, r.typed("<enter>"))
	r.sees("! bad.gguf: cut")
	r.is(listMsg{list: listModels, rows: []choice{{value: "bad.gguf", cells: []string{"bad"}}, {value: "my model.gguf", cells: []string{"good"}}}})
	require.Equal(t, []effect{doEffect{`/model "my model.gguf"`}}, r.typed("<down><down><enter>"))

	require.Equal(t, []effect{listEffect{listArtifacts}}, r.typed("/artifacts<enter>"))
	require.Equal(t, []effect{documentEffect{"artifact://x"}}, r.typed("/artifacts artifact://x<enter>"))
	r.is(listMsg{list: listArtifacts})
	r.sees("no result is stored for this conversation")
	r.is(listMsg{list: listArtifacts, rows: []choice{{value: "artifact://y", cells: []string{"y"}}}})
	require.Empty(t, r.typed("zz<enter>"), "nothing fits")
	require.Equal(t, []effect{documentEffect{"artifact://y"}}, r.typed("<ctrl+u><enter>"))
	r.is(listMsg{err: errors.New("the store is damaged")})
	r.sees("the store is damaged")
}

func TestAConversationIsRestored(t *testing.T) {
	t.Parallel()
	r := ready(t, 80, 24)
	r.is(turnsMsg{turns: []app.Turn{
		{Goal: "first", Answer: "One.", Status: "done"}, {Goal: "second", Status: "failed", Error: "no luck"},
		{Goal: "third", Status: "interrupted", Thread: "t-3"},
	}})
	r.sees("› first", "One.", "! no luck", "/resume t-3")
	r.typed("<up><up>")
	require.Equal(t, "second", r.input.text())
}

func TestThoughts(t *testing.T) {
	t.Parallel()
	r := ready(t, 80, 24)
	r.settings.ThoughtChars = 9
	r.asks("one")
	r.is(thoughtMsg{"数数数 first"}, thoughtMsg{"and then"})
	r.sees("thinking …; F2 shows it")
	r.misses("first")
	r.typed("<f2>")
	r.sees("┆ 数数数 first")
	r.misses("and then")
	r.events(app.ModelReplied{})
	r.is(thoughtMsg{"new"}, finishedMsg{report: done("x")})
	r.typed("<f2>")
	r.sees("thought, 9 characters; F2 shows it", "thought, 3 characters")
}

func TestTenThousandEntriesScrollWithoutBeingMade(t *testing.T) {
	t.Parallel()
	r := ready(t, 80, 24)
	turns := make([]app.Turn, 5000)
	for i := range turns {
		turns[i] = app.Turn{Goal: fmt.Sprintf("question %d", i), Answer: fmt.Sprintf("Answer %d.", i), Status: "done"}
	}
	r.is(turnsMsg{turns: turns})
	require.Len(t, r.entries, 10_000)
	for _, keys := range []string{"", "<pgup>", "<pgup>", "<ctrl+home>", "<pgdn>", "<ctrl+end>"} {
		r.renderer.made = 0
		r.typed(keys)
		r.screen()
		require.Less(t, r.renderer.made, 200, "%q", keys)
	}
	r.sees("Answer 4999.")
	r.renderer.made = 0
	r.typed("<ctrl+f>question 42")
	r.sees("question 4299")
	require.Less(t, r.renderer.made, 800, "what does not match is not made")
}
