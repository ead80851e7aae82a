// Package app builds a ready agent from a configuration, and closes it. It is the only package that knows all parts: the
// command line and the full-screen interface stand on it and on nothing below.
//
// It holds no policy of its own: what a value may be is decided in package config, what an agent does in package agent.
package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/tmc/langchaingo/llms"

	"github.com/llama-agent/llama-agent/agent"
	"github.com/llama-agent/llama-agent/artifacts"
	"github.com/llama-agent/llama-agent/config"
	"github.com/llama-agent/llama-agent/conversation"
	"github.com/llama-agent/llama-agent/graph"
	"github.com/llama-agent/llama-agent/graph/checkpoint"
	"github.com/llama-agent/llama-agent/graph/checkpoint/sqlite"
	"github.com/llama-agent/llama-agent/lifecycle"
	"github.com/llama-agent/llama-agent/telemetry"
	"github.com/llama-agent/llama-agent/tools"
)

// Options say what to build.
type Options struct {
	Config *config.Config // required
	// Existing opens the store of tasks only if there is one: listing tasks leaves nothing behind in a folder.
	Existing  bool
	Memory    bool         // open the store of memories also when the lifecycle context is off
	OpenModel OpenModel    // default: the engine with the configured file
	Logger    *slog.Logger // default: discards

	// Loading is told the share of the model that is loaded, 0 to 1, and Prefill how many tokens of a prompt are read.
	// Both are called from any goroutine and may be nil.
	Loading func(share float32)
	Prefill func(done, total int)
	// Thinking is told what the model thinks before it replies, piece by piece, when engine.disable_thinking is off. The same rules hold.
	Thinking func(text string)
}

// App is an agent with its stores and tools, and its model once [App.LoadModel] has been called. It is safe for concurrent
// use, except that LoadModel, the first Run, Continue or Resume do not run beside each other, nor Close beside anything.
type App struct {
	options   Options
	tools     *tools.Registry
	saver     checkpoint.Saver
	artifacts *artifacts.Store // nil when there is none
	memory    *lifecycle.Store // nil when there is none

	conversations *conversation.Store // nil when there is none; see needConversations
	telemetry     *telemetry.Recorder // nil when nothing is recorded
	contextSize   int                 // of the model in tokens, 0 when it is not known
	skills        tools.SkillSet
	closers       []func() error
	runner        *agent.Runner // does tasks
	lists         *agent.Runner // looks at tasks, also while the model is loaded
	loaded        bool
	loading       time.Duration // that the model took

	closing sync.Once
	closed  error
}

// Open opens the stores and makes the tools. It loads no model, so that what needs none is quick.
func Open(ctx context.Context, o Options) (*App, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.OpenModel == nil {
		o.OpenModel = openEngine
	}
	if o.Loading == nil {
		o.Loading = func(float32) {}
	}
	a := &App{options: o}
	for _, open := range []func(context.Context) error{a.openStore, a.openConversations, a.openArtifacts, a.openMemory} {
		if err := open(ctx); err != nil {
			return nil, errors.Join(err, a.Close())
		}
	}
	a.skills = loadSkills(o.Config)
	a.tellBrokenSkills(a.skills)
	var err error
	if a.tools, err = toolsWith(o.Config, Stores{a.artifacts, a.memory}, a.skills, nil); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	if err := a.newRunner(noModel{}); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	a.lists = a.runner
	return a, nil
}

// Config returns the configuration that a was built from.
func (a *App) Config() *config.Config { return a.options.Config }

func (a *App) openStore(ctx context.Context) error {
	path := a.options.Config.Agent.DBPath
	if a.options.Existing {
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			a.saver = checkpoint.NewMemory() // empty, as the store would be
			return nil
		}
	}
	if err := makeFolder(filepath.Dir(path)); err != nil {
		return fmt.Errorf("making the folder of the database of tasks: %w; choose another place with --db-path", err)
	}
	saver, err := sqlite.Open(ctx, path, sqlite.Options{})
	if err != nil {
		return err
	}
	a.saver = saver
	a.closers = append(a.closers, saver.Close)
	return nil
}

// makeFolder makes a folder for stores. A new one ignores itself, so that neither version control nor the agent's own
// tools take what is in it for the user's files.
func makeFolder(dir string) error {
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		return nil
	}
	// Tasks hold what was read from files, which other users of the machine may not be meant to see.
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, ".gitignore"), []byte("*\n"), 0o600)
}

// LoadModel loads the model unless it is loaded. It blocks until the model is ready or ctx ends. Run and Resume call it
// themselves once they know that the model is needed.
func (a *App) LoadModel(ctx context.Context) error {
	if a.loaded {
		return nil
	}
	start := time.Now()
	model, err := a.options.OpenModel(ctx, a.options.Config, a.options.Logger, a.options.Loading)
	if err != nil {
		if ctx.Err() != nil || IsModelError(err) {
			return err
		}
		return &modelError{err}
	}
	a.closers = append(a.closers, model.Close)
	a.loading, a.loaded = time.Since(start), true
	if err := a.openTelemetry(model); err != nil {
		return err
	}
	if counter, ok := model.(tokenCounter); ok {
		a.contextSize = counter.ContextSize()
	}
	asked := withPrefill(model, a.options.Prefill)
	if !a.options.Config.Engine.DisableThinking { // replies are read for thoughts as they come, which costs time
		asked = withThinking(asked, a.options.Thinking)
	}
	return a.newRunner(withPromptLog(asked, a.options.Logger))
}

func (a *App) newRunner(model llms.Model) error {
	c := a.options.Config
	runner, err := agent.New(agent.Config{
		Model: model, Tools: a.tools, Archive: a.archive(), Lifecycle: a.lifecycle(), Saver: a.saver, Durability: graph.Durability(c.Agent.Durability),
		History: agent.HistoryLimits{Turns: c.Agent.ConversationHistoryTurns, Tokens: c.Agent.ConversationHistoryTokenBudget},
		Limits: agent.Limits{
			MaxIterations: c.Agent.MaxIterations, MaxPlanSteps: c.Agent.MaxPlanSteps,
			MaxToolRounds: c.Agent.MaxToolRoundsPerStep, MaxToolCalls: c.Agent.MaxToolCalls,
			TaskTimeout: c.Agent.TaskTimeout, MaxTokens: c.Engine.MaxTokens,
		},
		Nodes: map[string]agent.NodeOptions{
			"planner": nodeOptions(c.Engine.Nodes.Planner), "executor": nodeOptions(c.Engine.Nodes.Executor),
			"reflector": nodeOptions(c.Engine.Nodes.Reflector), "finalizer": nodeOptions(c.Engine.Nodes.Finalizer),
		},
		// Measured on the starter model: its reviews of whole results find gaps that are not there.
		TrustPlan: true,
		Workspace: c.Workspace, Settings: c.Settings(), Logger: a.options.Logger,
	})
	if err != nil {
		return err
	}
	a.runner = runner
	return nil
}

func nodeOptions(n config.Node) agent.NodeOptions {
	o := agent.NodeOptions{Temperature: n.Temperature}
	if n.MaxTokens != nil {
		o.MaxTokens = *n.MaxTokens
	}
	return o
}

// Close closes the model and the stores. It waits for what runs to end; a second call returns the same error.
func (a *App) Close() error {
	a.closing.Do(func() {
		var errs []error
		for i := len(a.closers) - 1; i >= 0; i-- {
			errs = append(errs, a.closers[i]())
		}
		a.closed = errors.Join(errs...)
	})
	return a.closed
}

// noModel stands in for a model where none is needed.
type noModel struct{}

var errNotLoaded = errors.New("the model is not loaded")

func (noModel) GenerateContent(context.Context, []llms.MessageContent, ...llms.CallOption) (*llms.ContentResponse, error) {
	return nil, errNotLoaded
}

func (noModel) Call(context.Context, string, ...llms.CallOption) (string, error) {
	return "", errNotLoaded
}
