package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/llama-agent/llama-agent/telemetry"
	"github.com/llama-agent/llama-agent/tools"
)

// Effect is what a front end does after an entry, besides showing its output.
type Effect int

// The effects of an entry.
const (
	EffectNone   Effect = iota
	EffectTask          // give Output.Task to [Chat.Run]
	EffectCancel        // stop the task that is under way
	EffectClear         // clear the screen
	EffectQuit          // leave
)

// Output is what came of an entry. Parts that are empty are not shown; the others in the order of the fields.
type Output struct {
	Table  *Table
	Turns  []Turn
	Lines  []string // text for people; a line may have line ends in it
	Effect Effect
	Task   ChatTask // with EffectTask
}

// Table is rows of cells under titles. A cell is a string, an int, a [Bytes] or a [time.Time], which is shown as an age.
type Table struct {
	Columns []TableColumn
	Rows    [][]any
}

// TableColumn is a column of a [Table]. At most one is Flexible: it gives way where lines are too long.
type TableColumn struct {
	Title    string
	Right    bool // aligned to the right
	Flexible bool
}

// Bytes is a size.
type Bytes int64

const (
	shownRows  = 20 // of a list
	shownTurns = 10 // of a conversation
	// shownChars bounds what is shown of a stored result.
	shownChars = 16_000
)

func lines(texts ...string) Output { return Output{Lines: texts} }

// Do does what an entry says, except for the work of the model: that is in the output, for [Chat.Run]. An error is told to the user, and
// changes nothing; it is an [*EntryError] when the entry was not understood. An empty entry does nothing.
func (c *Chat) Do(ctx context.Context, entry string) (Output, error) {
	e, err := ParseEntry(entry, c.Capabilities())
	if err != nil {
		return Output{}, err
	}
	switch e.Command {
	case "":
		if e.Text == "" {
			return Output{}, nil
		}
		return c.task(ChatTask{Goal: e.Text})
	case "help":
		return c.help(), nil
	case "quit":
		return Output{Effect: EffectQuit}, nil
	case "clear":
		return Output{Effect: EffectClear}, nil
	case "cancel":
		if !c.Running() {
			return lines("nothing is running"), nil
		}
		return Output{Effect: EffectCancel}, nil
	case "new":
		return c.beginAnew()
	case "resume":
		return c.resume(ctx, e.Subject)
	case "tool", "skill":
		return c.ask(e)
	case "thinking":
		return c.switchThinking(e.Subject)
	case "model":
		return c.model(ctx, e.Subject)
	case "remember":
		return c.remember(ctx, e.Subject, e.Text)
	}
	return c.show(ctx, e)
}

// show does the commands that only look.
func (c *Chat) show(ctx context.Context, e Entry) (Output, error) {
	switch e.Command {
	case "history":
		return c.history(ctx)
	case "conversations":
		return c.conversationList(ctx)
	case "threads":
		return c.threadList(ctx)
	case "tools":
		return c.toolList()
	case "skills":
		return c.skillList()
	case "stats":
		return c.stats(ctx)
	case "config":
		return c.settings(), nil
	case "memory":
		return c.memories(ctx)
	case "artifacts":
		if e.Subject != "" {
			return c.artifact(ctx, e.Subject)
		}
		return c.artifactList(ctx)
	}
	panic("app: no code for command " + e.Command) // ParseEntry knows no others
}

// Capabilities are the names of tools and skills that an entry can begin with.
func (c *Chat) Capabilities() []string { return c.app.tools.Names() }

func (c *Chat) task(t ChatTask) (Output, error) {
	if c.Running() {
		return Output{}, ErrBusy
	}
	return Output{Effect: EffectTask, Task: t}, nil
}

func (c *Chat) help() Output {
	t := &Table{Columns: []TableColumn{{Title: "COMMAND"}, {Title: "DOES", Flexible: true}}}
	for _, command := range slashCommands {
		t.Rows = append(t.Rows, []any{command.Usage(), command.About})
	}
	t.Rows = append(t.Rows,
		[]any{"/NAME REQUEST", "ask with the tool or skill of that name"},
		[]any{"//TEXT", "ask a text that begins with a slash"})
	return Output{Table: t}
}

func (c *Chat) beginAnew() (Output, error) {
	if c.Running() {
		return Output{}, ErrBusy
	}
	c.setConversation("")
	return lines("the next question begins a conversation"), nil
}

// resume goes on with a task, or switches to a conversation. Without an ID it is the last turn of the conversation if that was stopped,
// else the last task that was.
func (c *Chat) resume(ctx context.Context, id string) (Output, error) {
	if c.Running() {
		return Output{}, ErrBusy
	}
	if id == "" {
		thread, err := c.interruptedTurn(ctx)
		if err != nil {
			return Output{}, err
		}
		if thread == "" {
			last, err := c.app.LastResumable(ctx, false)
			if err != nil {
				return Output{}, err
			}
			thread = last.ID
		}
		return c.task(ChatTask{Thread: thread})
	}
	found, task, err := c.chosen(ctx, id)
	if err != nil {
		return Output{}, err
	}
	if task {
		return c.task(ChatTask{Thread: found})
	}
	if err := c.app.conversations.Select(ctx, found); err != nil {
		return Output{}, err
	}
	c.setConversation(found)
	_, next, err := c.Conversation(ctx)
	if err != nil {
		return Output{}, err
	}
	return lines(fmt.Sprintf("conversation %s; the next question is turn %d, see the others with /history", found, next)), nil
}

// ask is a question for one tool or skill.
func (c *Chat) ask(e Entry) (Output, error) {
	name := toolName(e.Subject)
	set := c.app.skills
	i := slices.IndexFunc(set.Skills, func(s tools.SkillInfo) bool { return s.Tool == name })
	if e.Command == "skill" && i < 0 {
		var names []string
		for _, s := range set.Skills {
			names = append(names, s.Tool)
		}
		return Output{}, unknownName("skill", e.Subject, names)
	}
	if _, ok := c.app.tools.Lookup(name); !ok {
		return Output{}, c.notOffered(e.Command, e.Subject)
	}
	if i >= 0 && set.Skills[i].Kind == tools.SkillKindGuide {
		return c.task(ChatTask{Goal: e.Text, Skill: name})
	}
	return c.task(ChatTask{Goal: e.Text, Tools: []string{name}})
}

// notOffered says why the model can't use a tool.
func (c *Chat) notOffered(kind, name string) error {
	all, err := describeTools(c.Config(), c.app.skills)
	if err != nil {
		return err
	}
	for _, t := range all {
		if t.Name == toolName(name) && t.Off != "" {
			return entryErrorf("the %s %s is off: %s", kind, t.Name, t.Off)
		}
	}
	return unknownName(kind, name, c.Capabilities())
}

func unknownName(kind, name string, known []string) error {
	fix := "see /" + kind + "s"
	if near := nearestTool(name, known); near != "" {
		fix = "did you mean " + near + "?"
	}
	return entryErrorf("there is no %s %q; %s", kind, clipWord(name), fix)
}

func (c *Chat) switchThinking(to string) (Output, error) {
	switch to {
	case "on", "off":
		c.SetShowThinking(to == "on")
	case "":
		to = onOff(c.ShowThinking())
	default:
		return Output{}, entryErrorf("/thinking %s: say on or off", clipWord(to))
	}
	text := "showing the thoughts of the model: " + to
	if to == "on" {
		switch {
		case c.options.Thinking == nil:
			text += "; but they are shown by the full-screen interface only: llama-agent cli"
		case c.Config().Engine.DisableThinking:
			text += "; but models are told not to think, because engine.disable_thinking is on"
		}
	}
	return lines(text), nil
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

func (c *Chat) model(ctx context.Context, path string) (Output, error) {
	if path == "" {
		return lines(c.modelState()), nil
	}
	if c.Running() {
		return Output{}, ErrBusy
	}
	if err := c.useModel(ctx, path); err != nil {
		return Output{}, err
	}
	return lines(c.Config().Engine.ModelPath + ": used from the next question on"), nil
}

func (c *Chat) modelState() string {
	path := c.Config().Engine.ModelPath
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.loaded:
		return cmp.Or(path, "no file") + " (loaded)"
	case path == "":
		return "no model is configured; choose one with /model PATH"
	}
	return path + " (loaded with the next question)"
}

func (c *Chat) remember(ctx context.Context, key, value string) (Output, error) {
	if !c.Config().Memory.LifecycleContext {
		return Output{}, errors.New("nothing is remembered, because memory.lifecycle_context is off; start with: --set memory.artifact_virtualization=true --set memory.lifecycle_context=true")
	}
	id := c.conversation()
	if id == "" {
		if c.Running() {
			return Output{}, ErrBusy
		}
		made, err := c.create(ctx)
		if err != nil {
			return Output{}, err
		}
		id = made
	}
	m, replaced, err := c.app.AddMemory(ctx, id, key, value)
	if err != nil {
		return Output{}, err
	}
	text := fmt.Sprintf("remembered for conversation %s: %s", id, m.Key)
	if replaced != nil && replaced.Value != m.Value {
		text += ", which was: " + replaced.Value
	}
	return lines(text), nil
}

func (c *Chat) history(ctx context.Context) (Output, error) {
	id := c.conversation()
	if id == "" {
		return lines("the conversation has not begun"), nil
	}
	_, turns, err := c.app.Conversation(ctx, id)
	if err != nil {
		return Output{}, err
	}
	out := Output{Turns: turns[max(0, len(turns)-shownTurns):]}
	switch {
	case len(turns) == 0:
		out.Lines = []string{"the conversation " + id + " has no turns yet"}
	case len(turns) > shownTurns:
		out.Lines = []string{fmt.Sprintf("the last %d turns of %d; see all with: llama-agent history %s", shownTurns, len(turns), id)}
	}
	return out, nil
}

// stats tells what this sitting cost.
func (c *Chat) stats(ctx context.Context) (Output, error) {
	id, next, err := c.Conversation(ctx)
	if err != nil {
		return Output{}, err
	}
	model := c.modelState()
	c.mu.Lock()
	defer c.mu.Unlock()
	t := &Table{Columns: []TableColumn{{Title: "WHAT"}, {Title: "SESSION", Right: true}, {Title: "LAST TURN", Right: true}}}
	for _, row := range []struct {
		name string
		of   func(Usage) int
	}{
		{"model calls", func(u Usage) int { return u.ModelCalls }},
		{"tokens sent", func(u Usage) int { return u.PromptTokens }},
		{"tokens cached", func(u Usage) int { return u.CachedTokens }},
		{"tokens from disk", func(u Usage) int { return u.RestoredTokens }},
		{"tokens evaluated", func(u Usage) int { return u.EvaluatedTokens }},
		{"tokens written", func(u Usage) int { return u.CompletionTokens }},
		{"tokens sampled", func(u Usage) int { return u.CompletionTokens - u.ForcedTokens }},
		{"tokens forced", func(u Usage) int { return u.ForcedTokens }},
	} {
		t.Rows = append(t.Rows, []any{row.name, row.of(c.session), row.of(c.last)})
	}
	m := c.Config().Memory
	speed := "not known"
	if c.session.PrefillMS > 0 && c.session.DecodeMS > 0 {
		speed = fmt.Sprintf("%d tokens/s read, %d tokens/s written",
			rate(c.session.EvaluatedTokens, c.session.PrefillMS), rate(c.session.CompletionTokens, c.session.DecodeMS))
	}
	if names := adapterNames(c.Config()); len(names) > 0 {
		model += ", with the LoRA adapters " + strings.Join(names, ", ")
	}
	return Output{Table: t, Lines: []string{
		"model: " + model,
		fmt.Sprintf("conversation: %s, the next turn is %d; turns of this session: %d", cmp.Or(id, "not begun"), next, c.turns),
		fmt.Sprintf("speed: %s; the largest call took %d tokens of the KV cache", speed, c.session.PeakKVTokens),
		fmt.Sprintf("memory of the process: at most %d MB", telemetry.PeakRSS()/1_000_000),
		fmt.Sprintf("R1 (large results outside the prompt): %s, R2 (lifecycle context): %s", onOff(m.ArtifactVirtualization), onOff(m.LifecycleContext)),
	}}, nil
}

func (c *Chat) settings() Output {
	t := &Table{Columns: []TableColumn{{Title: "KEY"}, {Title: "VALUE", Flexible: true}, {Title: "FROM"}}}
	for _, v := range c.Config().Values() {
		t.Rows = append(t.Rows, []any{v.Section + "." + v.Key, cmp.Or(v.Text, "as in [engine]"), v.Source.String()})
	}
	return Output{Table: t}
}

// artifact shows the beginning of a stored result.
func (c *Chat) artifact(ctx context.Context, ref string) (Output, error) {
	found, content, err := c.app.Artifact(ctx, ref)
	if err != nil {
		return Output{}, err
	}
	out := lines(fmt.Sprintf("%s by %s, %d bytes, stored %s", found.Ref, found.Tool, found.Bytes, found.Created.Local().Format(time.DateTime)))
	if !utf8.Valid(content) {
		out.Lines = append(out.Lines, "it is no text; write it to a file with: llama-agent artifacts show "+found.Ref+" > FILE")
		return out, nil
	}
	text := []rune(string(content))
	if len(text) <= shownChars {
		out.Lines = append(out.Lines, strings.TrimRight(string(text), "\n"))
		return out, nil
	}
	out.Lines = append(out.Lines, string(text[:shownChars]),
		fmt.Sprintf("… and %d characters more; see all with: llama-agent artifacts show %s", len(text)-shownChars, found.Ref))
	return out, nil
}
