package app

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/llama-agent/llama-agent/agent"
	"github.com/llama-agent/llama-agent/config"
	"github.com/llama-agent/llama-agent/conversation"
	"github.com/llama-agent/llama-agent/engine/gguf"
	"github.com/llama-agent/llama-agent/telemetry"
)

// ChatOptions say what a [Chat] stands on.
type ChatOptions struct {
	Options
	Conversation string // ID; empty: the last one, or a new one when there is none
	New          bool   // begin a conversation with the first turn, with the ID if there is one
	// WithModel returns the configuration with another model file. Nil: the model can't be changed.
	WithModel func(path string) (*config.Config, error)
}

// Chat is a user's sitting: one conversation at a time, its turns, and the commands between them. Front ends read entries, show what
// comes of them, and know how to stop; the rest is here. The model is loaded at the first turn and kept.
//
// Do is called from one goroutine, and Run from that or another one: commands that only look work while a turn is under way. Close must
// not run beside either.
type Chat struct {
	options ChatOptions
	app     *App             // changed by Do alone, and not while Run is under way
	meter   *telemetry.Meter // made by Status; nil until then

	mu          sync.Mutex // of all below
	current     string     // ID of the conversation; empty: the next turn begins one
	fresh       string     // ID for the conversation that the next turn begins; empty: made from the time
	running     bool       // a task is under way, or the agent is exchanged
	loaded      bool       // the model is, as far as is known between tasks
	contextSize int        // of the loaded model in tokens
	thinking    bool
	turns       int // tasks that were run
	session     Usage
	last        Usage // of the last task
}

// ErrBusy says that a task is under way.
var ErrBusy = errors.New("a turn is running; wait for it, or stop it with /cancel")

// OpenChat opens the agent and finds the conversation. It loads no model.
func OpenChat(ctx context.Context, o ChatOptions) (*Chat, error) {
	a, err := Open(ctx, o.Options)
	if err != nil {
		return nil, err
	}
	c := &Chat{options: o, app: a, thinking: o.Config.TUI.ShowThinking}
	if err := c.begin(ctx, o.Conversation, o.New); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	return c, nil
}

// begin chooses the first conversation.
func (c *Chat) begin(ctx context.Context, id string, fresh bool) error {
	if err := c.app.needConversations(ctx); err != nil {
		return err
	}
	if fresh {
		c.fresh = id
		return c.app.freeID(ctx, id)
	}
	found, err := c.app.findConversation(ctx, id)
	if errors.Is(err, ErrNoConversation) {
		return nil
	}
	c.current = found.ID
	return err
}

// freeID refuses an ID that no new conversation can have; empty is one made from the time.
func (a *App) freeID(ctx context.Context, id string) error {
	if id == "" {
		return nil
	}
	if err := conversation.CheckID(id); err != nil {
		return err
	}
	_, err := a.conversations.Get(ctx, id)
	switch {
	case err == nil:
		return conversationExists(id)
	case errors.Is(err, conversation.ErrUnknown):
		return nil
	}
	return err
}

// Close closes the agent with its model and stores.
func (c *Chat) Close() error {
	if c.meter != nil {
		c.meter.Close()
	}
	return c.app.Close()
}

// Config returns the configuration in use.
func (c *Chat) Config() *config.Config { return c.app.Config() }

// Conversation returns the ID of the conversation, and the number that its next turn has; the ID is empty while the conversation is
// yet to begin.
func (c *Chat) Conversation(ctx context.Context) (id string, next int, err error) {
	id = c.conversation()
	if id == "" {
		return "", 1, nil
	}
	turns, err := c.app.conversations.Turns(ctx, id, conversation.TurnQuery{Limit: 1, Newest: true})
	if err != nil || len(turns) == 0 {
		return id, 1, err
	}
	return id, turns[0].Number + 1, nil
}

func (c *Chat) conversation() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.current
}

func (c *Chat) setConversation(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.current, c.fresh = id, ""
}

// ShowThinking reports whether the user wants to see what the model thinks.
func (c *Chat) ShowThinking() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.thinking
}

// SetShowThinking says whether the user wants to see what the model thinks.
func (c *Chat) SetShowThinking(on bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.thinking = on
}

// Running reports whether a task is under way.
func (c *Chat) Running() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.running
}

// ChatTask is work that an entry asks for: a turn, or a stopped task that goes on.
type ChatTask struct {
	Goal  string   // what the user asks; empty with Thread
	Tools []string // the only tools for it; nil: all that are enabled
	Skill string   // guide to follow, by its tool name; empty: none

	Thread       string // the task to go on with; empty: a new turn
	RetryUnknown bool   // run a call again whose outcome is not known
}

// Run does a task. One that ctx stops is stored and can be resumed. See [App.Run] for the report and the errors. One task runs at a
// time; another one gets [ErrBusy].
func (c *Chat) Run(ctx context.Context, t ChatTask, observe func(Event)) (*Report, error) {
	if err := c.start(); err != nil {
		return nil, err
	}
	var spent Usage
	defer func() { c.stop(spent) }()
	watch := func(e Event) {
		if m, ok := e.(ModelReplied); ok && !m.Replayed {
			spent = spent.Plus(m.Usage)
		}
		if observe != nil {
			observe(e)
		}
	}
	if t.Thread != "" {
		return c.app.Resume(ctx, t.Thread, ResumeOptions{RetryUnknown: t.RetryUnknown, Observe: watch})
	}
	id, err := c.ready(ctx)
	if err != nil {
		return nil, err
	}
	report, err := c.app.Continue(ctx, TurnTask{Goal: t.Goal, Conversation: id, Tools: t.Tools, Skill: t.Skill, Observe: watch})
	if busy, ok := errors.AsType[*InUseError](err); ok {
		err = fmt.Errorf("%s; wait for it, or begin another with /new", busy.What())
	}
	return report, err
}

// ready returns the conversation for a turn, and begins it when it is new. That is not before the model is there, so that a model that
// can't be loaded leaves no empty conversation behind.
func (c *Chat) ready(ctx context.Context) (string, error) {
	if id := c.conversation(); id != "" {
		return id, nil
	}
	if err := c.app.LoadModel(ctx); err != nil {
		return "", err
	}
	return c.create(ctx)
}

// create makes the conversation that was to begin.
func (c *Chat) create(ctx context.Context) (string, error) {
	c.mu.Lock()
	fresh := c.fresh
	c.mu.Unlock()
	made, err := c.app.conversations.Create(ctx, fresh)
	if errors.Is(err, conversation.ErrExists) {
		err = conversationExists(fresh)
	}
	if err != nil {
		return "", err
	}
	c.setConversation(made.ID)
	return made.ID, nil
}

func (c *Chat) start() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running {
		return ErrBusy
	}
	c.running = true
	return nil
}

func (c *Chat) stop(spent Usage) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running, c.loaded, c.contextSize = false, c.app.loaded, c.app.contextSize
	if spent.ModelCalls > 0 {
		c.turns++
		c.last = spent
		c.session = c.session.Plus(spent)
	}
}

// useModel closes the agent and opens it with another model file, which is loaded at the next turn. When the file can't be a model, or the
// agent can't be opened with it, all stays as it is.
func (c *Chat) useModel(ctx context.Context, path string) error {
	if err := c.start(); err != nil {
		return err
	}
	defer c.stop(Usage{})
	if c.options.WithModel == nil {
		return errors.New("the model can't be changed here; give --model-path when you start")
	}
	changed, err := c.options.WithModel(path)
	if err != nil {
		return err
	}
	if c.options.OpenModel == nil {
		if err := checkModelFile(changed.Engine.ModelPath); err != nil {
			return err
		}
	}
	options := c.options.Options
	options.Config = changed
	// Stores can be open twice; two models may not fit into the memory, but this one is not loaded yet.
	next, err := Open(ctx, options)
	if err != nil {
		return err
	}
	old := c.app
	c.app, c.options.Options = next, options
	if err := old.Close(); err != nil {
		return fmt.Errorf("closing the model before: %w", err)
	}
	return nil
}

// checkModelFile looks into a model file without loading it.
func checkModelFile(path string) error {
	info, err := gguf.Inspect(path)
	if err != nil {
		return err
	}
	return info.Check()
}

// interruptedTurn is the thread of the last turn of the conversation when that was stopped, else empty.
func (c *Chat) interruptedTurn(ctx context.Context) (string, error) {
	id := c.conversation()
	if id == "" {
		return "", nil
	}
	turns, err := c.app.conversations.Turns(ctx, id, conversation.TurnQuery{Limit: 1, Newest: true})
	if err != nil || len(turns) == 0 {
		return "", err
	}
	last := turns[0]
	if last.Status == conversation.Interrupted || last.Status == conversation.Running && processGone(last) {
		return last.Thread, nil
	}
	return "", nil
}

// chosen is what an ID means to /resume: a conversation to switch to, or a task to go on with.
func (c *Chat) chosen(ctx context.Context, id string) (found string, task bool, err error) {
	conv, err := c.app.conversations.Get(ctx, id)
	if err == nil {
		return conv.ID, false, nil
	}
	if !errors.Is(err, conversation.ErrUnknown) {
		return "", false, err
	}
	threads, err := c.app.Threads(ctx, 0)
	if err != nil {
		return "", false, err
	}
	conversations, err := c.app.Conversations(ctx, 0)
	if err != nil {
		return "", false, err
	}
	var ids []string
	for _, t := range threads {
		if t.ID == id {
			return id, true, nil
		}
		ids = append(ids, t.ID)
	}
	for _, conv := range conversations {
		ids = append(ids, conv.ID)
	}
	fix := "see /threads and /conversations"
	if near := config.Nearest(id, ids); near != "" {
		fix = "did you mean " + near + "?"
	}
	return "", false, fmt.Errorf("there is no task or conversation %q; %s", clipWord(id), fix)
}

// Usage counts what model calls cost.
type Usage = agent.Usage

// rate is tokens per second, in a time above 0.
func rate(tokens int, ms int64) int64 { return int64(tokens) * 1000 / ms }
