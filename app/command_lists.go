package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/llama-agent/llama-agent/artifacts"
	"github.com/llama-agent/llama-agent/config"
)

// listed is a table, or a line that says that there is nothing. rows may be one more than are shown.
func listed(t *Table, nothing, all string) Output {
	if len(t.Rows) == 0 {
		return lines(nothing)
	}
	out := Output{Table: t}
	if len(t.Rows) > shownRows {
		t.Rows = t.Rows[:shownRows]
		out.Lines = []string{"there are more; see all with: llama-agent " + all + " --limit 0"}
	}
	return out
}

func (c *Chat) conversationList(ctx context.Context) (Output, error) {
	list, err := c.app.Conversations(ctx, shownRows+1)
	if err != nil {
		return Output{}, err
	}
	t := &Table{Columns: []TableColumn{
		{Title: "ID"}, {Title: "STATE"}, {Title: "TURNS", Right: true}, {Title: "AGE", Right: true}, {Title: "FIRST WORDS", Flexible: true},
	}}
	current := c.conversation()
	for _, conv := range list {
		words := conv.Title
		if conv.ID == current {
			words = "(this one) " + words
		}
		t.Rows = append(t.Rows, []any{conv.ID, string(conv.Status), conv.Turns, conv.Updated, words})
	}
	return listed(t, "no conversation was begun in this workspace", "list-conversations"), nil
}

func (c *Chat) threadList(ctx context.Context) (Output, error) {
	list, err := c.app.Threads(ctx, shownRows+1)
	if err != nil {
		return Output{}, err
	}
	t := &Table{Columns: []TableColumn{
		{Title: "ID"}, {Title: "STATE"}, {Title: "STEPS", Right: true}, {Title: "AGE", Right: true}, {Title: "GOAL", Flexible: true},
	}}
	for _, thread := range list {
		state := string(thread.Status)
		if thread.Running {
			state = "running"
		}
		t.Rows = append(t.Rows, []any{thread.ID, state, thread.Steps, thread.Updated, thread.Goal})
	}
	return listed(t, "no task was run in this workspace", "list-threads"), nil
}

func (c *Chat) toolList() (Output, error) {
	list, err := describeTools(c.Config(), c.app.skills)
	if err != nil {
		return Output{}, err
	}
	t := &Table{Columns: []TableColumn{{Title: "NAME"}, {Title: "ACCESS"}, {Title: "ABOUT", Flexible: true}}}
	for _, tool := range list {
		access := "reads only"
		if !tool.ReadOnly {
			access = "may change things"
		}
		t.Rows = append(t.Rows, []any{tool.Name, access, about(tool)})
	}
	return Output{Table: t}, nil
}

// about is what a tool does, or why it is off.
func about(t ToolInfo) string {
	if t.Off != "" {
		return "(off: " + t.Off + ") " + t.Description
	}
	return t.Description
}

func (c *Chat) skillList() (Output, error) {
	set := c.app.skills
	list, err := describeTools(c.Config(), set)
	if err != nil {
		return Output{}, err
	}
	list = list[len(list)-len(set.Skills):] // skills come last, in their order
	t := &Table{Columns: []TableColumn{{Title: "NAME"}, {Title: "KIND"}, {Title: "FROM"}, {Title: "ABOUT", Flexible: true}}}
	for i, skill := range set.Skills {
		t.Rows = append(t.Rows, []any{skill.Tool, string(skill.Kind), skill.Origin, about(list[i])})
	}
	out := Output{Table: t}
	if len(t.Rows) == 0 {
		out = Output{}
		if len(set.Problems) == 0 {
			return lines("no skills in " + strings.Join(c.Config().Tools.Skills.Dirs, ", ")), nil
		}
	}
	for _, p := range set.Problems {
		out.Lines = append(out.Lines, "left out: "+p.String())
	}
	return out, nil
}

// memories are those that the prompts of the conversation have.
func (c *Chat) memories(ctx context.Context) (Output, error) {
	list, err := c.app.Memories(ctx, everybody, false)
	if err != nil {
		return Output{}, err
	}
	if id := c.conversation(); id != "" {
		own, err := c.app.Memories(ctx, id, false)
		if err != nil {
			return Output{}, err
		}
		list = append(list, own...)
	}
	t := &Table{Columns: []TableColumn{{Title: "KEY"}, {Title: "FOR"}, {Title: "AGE", Right: true}, {Title: "VALUE", Flexible: true}}}
	for _, m := range list {
		owner := "this conversation"
		if m.Owner == everybody {
			owner = "all"
		}
		t.Rows = append(t.Rows, []any{m.Key, owner, m.Updated, m.Value})
	}
	out := Output{Table: t}
	if len(t.Rows) == 0 {
		out = lines("nothing is remembered here")
	}
	if off := memoryOff(c.Config()); off != "" {
		out.Lines = append(out.Lines, "the model does not see what is remembered, because "+off)
	}
	return out, nil
}

func (c *Chat) artifactList(ctx context.Context) (Output, error) {
	list, err := c.app.Artifacts(ctx, "", 0)
	if err != nil {
		return Output{}, err
	}
	id := c.conversation()
	others := len(list)
	list = slices.DeleteFunc(list, func(a artifacts.Artifact) bool { return a.Owner != id })
	others -= len(list)
	t := &Table{Columns: []TableColumn{
		{Title: "REFERENCE"}, {Title: "TOOL"}, {Title: "SIZE", Right: true}, {Title: "LINES", Right: true}, {Title: "ABOUT", Flexible: true},
	}}
	for _, a := range list {
		t.Rows = append(t.Rows, []any{a.Ref, a.Tool, Bytes(a.Bytes), a.Lines, a.Name})
	}
	out := listed(t, "no result is stored for this conversation", "artifacts list")
	if others > 0 && len(t.Rows) == 0 {
		out.Lines = append(out.Lines, fmt.Sprintf("%d belong to others; see them with: llama-agent artifacts list", others))
	}
	if off := artifactsOff(c.Config()); off != "" && len(t.Rows) == 0 {
		out.Lines = append(out.Lines, "large results stay in the prompt, because "+off)
	}
	return out, nil
}

// nearestTool is the known name that a user may have meant.
func nearestTool(name string, known []string) string { return config.Nearest(toolName(name), known) }

// IsEntryError reports whether err says that an entry was not understood.
func IsEntryError(err error) bool {
	_, is := errors.AsType[*EntryError](err)
	return is
}
