package app

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/llama-agent/llama-agent/agent"
	"github.com/llama-agent/llama-agent/artifacts"
	"github.com/llama-agent/llama-agent/internal/human"
	"github.com/llama-agent/llama-agent/tools"
)

// Choice is something that /resume takes: a conversation to switch to, or a stopped task to go on with.
type Choice struct {
	ID      string
	Task    bool   // else it is a conversation
	State   string // for people: "interrupted", "3 turns"
	Updated time.Time
	Title   string // first words of what was asked
}

// maxChoices bounds how many conversations, and how many tasks, are offered.
const maxChoices = 500

// Choices lists what /resume can go on with: stopped tasks, and conversations other than the present one, each with the last changed
// first. It follows the rules of [Chat.Do].
func (c *Chat) Choices(ctx context.Context) ([]Choice, error) {
	threads, err := c.app.Threads(ctx, 0)
	if err != nil {
		return nil, err
	}
	var list []Choice
	for _, t := range threads {
		if t.Status == agent.StatusInterrupted && len(list) < maxChoices {
			list = append(list, Choice{ID: t.ID, Task: true, State: string(t.Status), Updated: t.Updated, Title: t.Goal})
		}
	}
	conversations, err := c.app.Conversations(ctx, maxChoices)
	if err != nil {
		return nil, err
	}
	current := c.conversation()
	for _, conv := range conversations {
		if conv.ID != current {
			list = append(list, Choice{ID: conv.ID, State: human.Plural(conv.Turns, "turn"), Updated: conv.Updated, Title: conv.Title})
		}
	}
	return list, nil
}

// Turns returns the turns of the present conversation, the oldest first. It follows the rules of [Chat.Do].
func (c *Chat) Turns(ctx context.Context) ([]Turn, error) {
	id := c.conversation()
	if id == "" {
		return nil, nil
	}
	_, turns, err := c.app.Conversation(ctx, id)
	return turns, err
}

// CallsOf returns the tool calls of a turn as its conversation keeps them: long results are cut, and calls that brought nothing are
// left out. It is nil when they are not known.
func CallsOf(t Turn) []Call {
	var seen agent.Turn
	if len(t.Transcript) == 0 || json.Unmarshal(t.Transcript, &seen) != nil { // another version wrote it
		return nil
	}
	var calls []Call
	for _, e := range seen.Entries {
		if e.Call != nil {
			calls = append(calls, *e.Call)
		}
	}
	return calls
}

// StoredResult describes a stored result of the conversation.
type StoredResult = artifacts.Artifact

// StoredResults lists the stored results of the present conversation, the last used first. It follows the rules of [Chat.Do].
func (c *Chat) StoredResults(ctx context.Context) ([]StoredResult, error) {
	id := c.conversation()
	list, err := c.app.Artifacts(ctx, "", 0)
	return slices.DeleteFunc(list, func(a StoredResult) bool { return a.Owner != id }), err
}

// StoredResult returns a stored result with its whole content. It follows the rules of [Chat.Do].
func (c *Chat) StoredResult(ctx context.Context, ref string) (StoredResult, []byte, error) {
	return c.app.Artifact(ctx, ref)
}

// ModelFiles describes the model files that /model could use, where models usually are. It reads each file's header, which takes a
// moment, and follows the rules of [Chat.Do].
func (c *Chat) ModelFiles(ctx context.Context) ([]ModelFile, error) {
	return Models(ctx, c.Config(), ThisMachine(), nil)
}

// Files lists paths of files in the workspace as the tools know them, in the order of their names, at most 2,000. Hidden files and the
// agent's own stores are left out. It follows the rules of [Chat.Do].
func (c *Chat) Files(ctx context.Context) ([]string, error) {
	registry, err := tools.NewRegistry(fileTools(c.Config())...)
	if err != nil {
		return nil, err
	}
	list := workspaceFiles(ctx, c.Config(), registry)
	paths := make([]string, 0, len(list.Files))
	for _, f := range list.Files {
		if !strings.HasPrefix(f.Path, ".") && !strings.Contains(f.Path, "/.") {
			paths = append(paths, f.Path)
		}
	}
	return paths, ctx.Err()
}

// ToolNames lists the tools that the model can use, skills included, with what they do. It follows the rules of [Chat.Do].
func (c *Chat) ToolNames() ([]ToolInfo, error) {
	list, err := describeTools(c.Config(), c.app.skills)
	return slices.DeleteFunc(list, func(t ToolInfo) bool { return t.Off != "" }), err
}
