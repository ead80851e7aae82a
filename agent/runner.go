package agent

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/tmc/langchaingo/llms"

	"github.com/llama-agent/llama-agent/artifacts"
	"github.com/llama-agent/llama-agent/graph"
	"github.com/llama-agent/llama-agent/graph/checkpoint"
	"github.com/llama-agent/llama-agent/tools"
)

// NodeOptions set what one node asks of the model. The zero value leaves everything to the model and to [Limits].
type NodeOptions struct {
	Temperature *float64
	MaxTokens   int // tokens of one reply; 0: Limits.MaxTokens
}

// Config is what a [Runner] works with. Model and Tools are required.
type Config struct {
	Model llms.Model
	Tools *tools.Registry

	// Saver stores the tasks. Without one they last as long as the Runner. A saver that lists threads and records effects
	// (as all of this module do) gives Threads and exact resuming.
	Saver      checkpoint.Saver
	Durability graph.Durability // default graph.Sync

	Limits Limits
	Nodes  map[string]NodeOptions // by node: planner, executor, reflector, finalizer
	// TrustPlan takes a plan as done, without a review, when each of its steps ended with a call that worked and whose result
	// is whole. A small model finds gaps there that do not exist. Without it every task with a tool call is reviewed.
	TrustPlan bool

	// Lifecycle keeps long tasks and conversations small. Nil leaves results in the prompt and shows the newest turns.
	Lifecycle *Lifecycle
	// History says how much of a conversation its next turn sees without a Lifecycle. It is taken as it is.
	History HistoryLimits

	// Archive keeps large results outside the prompt, and gives tools to look into them among Tools. Nil leaves them in it.
	Archive Archive

	Workspace string            // the folder the tools work in; a task is resumed in the same one
	Settings  map[string]string // name → value of what else changes a task's result; compared on resuming

	Clock  func() time.Time // default time.Now
	NewID  func() string    // default: four random hexadecimal digits; the end of a thread ID
	Logger *slog.Logger     // default: discards
}

// Archive stores large results for their owner; see [tools.Virtualizer], which is one.
type Archive interface {
	Apply(ctx context.Context, owner, tool string, args json.RawMessage, about string, r tools.Result) (tools.Result, *artifacts.Artifact, error)
}

func (c Config) withDefaults() Config {
	c.Limits = c.Limits.withDefaults()
	c.Durability = cmp.Or(c.Durability, graph.Sync)
	if c.Saver == nil {
		c.Saver = checkpoint.NewMemory()
	}
	if c.Clock == nil {
		c.Clock = time.Now
	}
	if c.NewID == nil {
		c.NewID = randomID
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

func (c Config) validate() error {
	errs := []error{c.Limits.validate()}
	if c.Model == nil {
		errs = append(errs, errors.New("there is no Model"))
	}
	if c.Tools == nil {
		errs = append(errs, errors.New("there are no Tools: give an empty registry for none"))
	}
	if c.Lifecycle != nil && c.Lifecycle.Records == nil {
		errs = append(errs, errors.New("Lifecycle has no Records: give a store"))
	}
	if c.Tools != nil {
		if _, taken := c.Tools.Lookup(NoTool); taken {
			errs = append(errs, fmt.Errorf("a tool is called %q, which stands for no tool: rename it", NoTool))
		}
	}
	for name := range c.Nodes {
		switch name {
		case plannerNode, executorNode, reflectorNode, finalizerNode:
		default:
			errs = append(errs, fmt.Errorf("there is no node %q: nodes are planner, executor, reflector, finalizer", name))
		}
	}
	return errors.Join(errs...)
}

func randomID() string {
	var b [2]byte
	_, _ = rand.Read(b[:]) // never fails: see crypto/rand
	return hex.EncodeToString(b[:])
}

// Runner does tasks. It is safe for concurrent use; one thread has one run at a time, whichever process it is in.
type Runner struct {
	config Config
	flow   *flow
	graph  *graph.Graph
}

// New checks the configuration and makes a Runner. The error names everything that is wrong.
func New(config Config) (*Runner, error) {
	config = config.withDefaults()
	if err := config.validate(); err != nil {
		return nil, fmt.Errorf("configuring the agent: %w", err)
	}
	f := &flow{
		model: config.Model, meter: &meter{model: config.Model}, registry: config.Tools, limits: config.Limits, nodes: maps.Clone(config.Nodes), clock: config.Clock,
		trustPlan: config.TrustPlan, archive: config.Archive, lifecycle: config.Lifecycle,
	}
	compiled, err := f.compile(graph.Options{Saver: config.Saver, Clock: config.Clock, Logger: config.Logger, Labels: statusLabel})
	if err != nil {
		return nil, fmt.Errorf("building the agent: %w", err)
	}
	return &Runner{config: config, flow: f, graph: compiled}, nil
}

// Graph returns the agent's graph, for drawing it.
func (r *Runner) Graph() *graph.Graph { return r.graph }

// Task is what to do.
type Task struct {
	Goal  string
	Facts Facts
	// Tools narrows the tools offered to these names. Nil offers all.
	Tools  []string
	Skill  string // tool whose instructions the model reads before it plans; empty: none
	Thread string // ID of the new thread; default: made from the time
	Labels map[string]string
	// Owner is whom what the task stores belongs to: its conversation; default: its thread. Turn is its number there, from 1, and
	// Background what it sees of the turns before; see [Runner.Project]. Events are told after the task has started.
	Owner      string
	Turn       int
	Background Background
	Events     []Event
	// Observe is told what happens, from the goroutine that called Run. It may be nil.
	Observe func(Event)
}

// idTries is how often an ID is made anew when there is a thread with it: of pairs of tasks that begin in one second, 1 in 65,536 gets the same.
const idTries = 8

// NewThread makes an ID for a new thread from the time, which no thread has.
func (r *Runner) NewThread(ctx context.Context) (string, error) {
	for try := 1; ; try++ {
		thread := "t-" + r.config.Clock().UTC().Format("20060102-150405") + "-" + r.config.NewID()
		if err := r.isFree(ctx, thread); err == nil || !errors.Is(err, ErrThreadExists) || try == idTries {
			return thread, err
		}
	}
}

// isFree reports as an error that a thread exists.
func (r *Runner) isFree(ctx context.Context, thread string) error {
	_, err := r.graph.State(ctx, thread)
	switch {
	case errors.Is(err, graph.ErrUnknownThread):
		return nil
	case err != nil:
		return fmt.Errorf("looking for thread %s: %w", thread, err)
	}
	return fmt.Errorf("starting thread %s: %w", thread, ErrThreadExists)
}

// ErrEmptyGoal says that there is nothing to do.
var ErrEmptyGoal = errors.New("agent: the goal is empty: say what to do")

// ErrThreadExists says that a new task was given the ID of an old one.
var ErrThreadExists = errors.New("agent: the thread exists already: resume it, or leave the ID out")

// Run does a task and returns what came of it.
//
// A task that failed, or that was stopped because ctx ended, is a report with that status and no error: its thread is stored
// and can be resumed. An error means that the task did not begin, or that its state could not be stored.
func (r *Runner) Run(ctx context.Context, task Task) (*Report, error) {
	goal := strings.TrimSpace(task.Goal)
	if goal == "" {
		return nil, ErrEmptyGoal
	}
	offered := r.config.Tools
	if task.Tools != nil {
		narrowed, err := offered.Only(task.Tools...)
		if err != nil {
			return nil, fmt.Errorf("choosing the tools of the task: %w", err)
		}
		offered = narrowed
	}
	if task.Skill != "" {
		if _, err := r.config.Tools.Only(task.Skill); err != nil {
			return nil, fmt.Errorf("choosing the skill of the task: %w", err)
		}
	}
	thread, err := r.threadFor(ctx, task.Thread)
	if err != nil {
		return nil, err
	}
	labels := map[string]string{labelGoal: clip(oneLine(goal), 120)}
	maps.Copy(labels, task.Labels)
	in := graph.Update{
		taskChannel.Set(assignment{
			Goal: goal, Skill: task.Skill, Workspace: r.config.Workspace, Facts: task.Facts, Owner: task.Owner, Turn: task.Turn,
			Background: task.Background, Tools: offered.Names(), Settings: r.config.Settings, Started: r.config.Clock(),
		}),
		statusChannel.Set(StatusPlanning),
	}
	opening := append([]Event{TaskStarted{Thread: thread, Goal: goal, Conversation: task.Owner, Turn: task.Turn}}, task.Events...)
	t := &trip{Runner: r, thread: thread, observe: task.Observe, opening: opening}
	return t.run(ctx, in, graph.Labels(labels))
}

// threadFor is the thread of a new task: the one that was asked for, when it is none yet, or a new one.
func (r *Runner) threadFor(ctx context.Context, asked string) (string, error) {
	if asked == "" {
		return r.NewThread(ctx)
	}
	if err := CheckThreadID(asked); err != nil {
		return "", err
	}
	return asked, r.isFree(ctx, asked)
}

// labelStatus is the thread label that holds the status, so that a list of threads needn't load them.
const labelStatus = "status"

func statusLabel(s graph.State) map[string]string {
	return map[string]string{labelStatus: string(statusChannel.Get(s))}
}

// labelGoal is the thread label that holds the first words of the goal.
const labelGoal = "goal"

var threadIDPattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// CheckThreadID keeps IDs of threads to what can be typed, listed and put into a file name.
func CheckThreadID(id string) error {
	if !threadIDPattern.MatchString(id) {
		return fmt.Errorf("thread ID %q: use 1 to 64 letters, digits, dots, dashes and underscores, the first a letter or digit", clip(id, 80))
	}
	return nil
}

// ResumeOptions say how to go on with a task.
type ResumeOptions struct {
	// Retry goes on with a failed task at the node that failed, with its limits counted anew.
	Retry bool
	// RetryUnknown runs a call with side effects again whose outcome is not known.
	RetryUnknown bool
	// AllowChanges goes on although settings, or the program's graph, differ from those the task was started with.
	AllowChanges bool
	// From forks the task at one of its checkpoints instead of going on from the newest.
	From string
	// Observe is told what happens, from the goroutine that called Resume. It may be nil.
	Observe func(Event)
}

// Resume goes on with a task that was stopped, and returns what came of it, as Run does. The nodes, model calls and tool calls
// that had finished are not repeated.
//
// A task that is done or has failed is returned as it ended; with Retry, a failed one goes on. The error is
// [graph.ErrUnknownThread] for a thread that does not exist, a [*SettingsError] when the settings differ, a [*graph.ShapeError]
// when another version of the program wrote it, and a *checkpoint.BusyError while another run has the thread.
func (r *Runner) Resume(ctx context.Context, thread string, options ResumeOptions) (*Report, error) {
	snapshot, err := r.snapshot(ctx, thread, options.From)
	if err != nil {
		return nil, err
	}
	state := snapshot.State
	task := assignmentIn(snapshot)
	t := &trip{Runner: r, thread: thread, observe: options.Observe}
	failure, stopped := failureIn(snapshot)
	unknown := failure != nil && failure.Kind == KindOutcomeUnknown && options.RetryUnknown
	if options.From == "" && (len(snapshot.Next) == 0 || failure != nil) && !(failure != nil && (options.Retry || unknown)) {
		report := r.reportOf(ctx, thread, state)
		if failure != nil {
			report.Status, report.Error = StatusFailed, failure
		}
		report.CheckpointBytes = r.threadBytes(ctx, thread)
		return report, nil
	}
	if changes := task.changes(r.config.Workspace, r.config.Tools.Names(), r.config.Settings); len(changes) > 0 && !options.AllowChanges {
		return nil, &SettingsError{Thread: thread, Changes: changes}
	}
	var in graph.Update
	if failure != nil && !stopped && options.From == "" {
		in = graph.Update{
			entryChannel.Set(failure.Node), failureChannel.Set(nil), countersChannel.Set(countersChannel.Get(state).excuse()),
		}
	}
	var opts []graph.RunOption
	if options.RetryUnknown {
		opts = append(opts, graph.RetryUnknown())
	}
	if options.AllowChanges {
		opts = append(opts, graph.AllowOtherShape())
	}
	if options.From != "" {
		opts = append(opts, graph.FromCheckpoint(options.From))
	}
	t.opening = []Event{TaskStarted{Thread: thread, Goal: task.Goal, Conversation: task.Owner, Turn: task.Turn, Resumed: true}}
	if plan := planChannel.Get(state); len(plan) > 0 {
		t.opening = append(t.opening, PlanMade{Steps: slices.Clone(plan)})
	}
	return t.run(ctx, in, opts...)
}

func (r *Runner) snapshot(ctx context.Context, thread, checkpointID string) (graph.Snapshot, error) {
	var snapshot graph.Snapshot
	var err error
	if checkpointID == "" {
		snapshot, err = r.graph.State(ctx, thread)
	} else {
		snapshot, err = r.graph.StateAt(ctx, thread, checkpointID)
	}
	if err != nil {
		return snapshot, fmt.Errorf("reading thread %s: %w", thread, err)
	}
	return snapshot, nil
}

// assignmentIn returns what a task was started with. At its first checkpoint that is still to be merged into the state.
func assignmentIn(s graph.Snapshot) assignment {
	for _, t := range s.Tasks {
		for _, w := range t.Update {
			if task, ok := w.Value().(assignment); ok && t.Node == graph.Start {
				return task
			}
		}
	}
	return taskChannel.Get(s.State)
}

// failureIn returns why a task failed, or nil. stopped tells that a node ended with an error, so that it is due again; else
// the task went on to an answer and ended.
func failureIn(s graph.Snapshot) (failure *Failure, stopped bool) {
	for _, task := range s.Tasks {
		if task.Error != "" && !task.Done {
			return parseFailure(task.Node, task.Error), true
		}
	}
	if len(s.Next) == 0 && statusChannel.Get(s.State) == StatusFailed {
		return failureChannel.Get(s.State), false
	}
	return nil, false
}

// parseFailure reads back the text of [Failure.Error].
func parseFailure(node, text string) *Failure {
	for _, kind := range failureKinds {
		if message, ok := strings.CutPrefix(text, kind+": "); ok {
			return &Failure{Node: node, Kind: kind, Message: message}
		}
	}
	return &Failure{Node: node, Kind: KindInternal, Message: text}
}

// trip is one run of a thread, from Run or Resume to its report.
type trip struct {
	*Runner
	thread  string
	observe func(Event)
	opening []Event // to be told once the thread is ours and stored: whoever reads its ID can resume it
}

func (t *trip) tell(e Event) {
	if t.observe != nil {
		t.observe(e)
	}
}

func (t *trip) run(ctx context.Context, in graph.Update, opts ...graph.RunOption) (*Report, error) {
	limits := t.config.Limits
	opts = append(opts,
		graph.Thread(t.thread), graph.Modes(graph.Custom, graph.Checkpoints), graph.WithDurability(t.config.Durability),
		graph.MaxSteps(limits.MaxIterations*(limits.MaxPlanSteps+2)+4))
	var runErr error
	for event, err := range t.graph.Stream(ctx, in, opts...) {
		if err != nil {
			runErr = err
			break
		}
		if event.Mode == graph.Checkpoints && event.Checkpoint.Source == checkpoint.SourceInput {
			continue // it is stored together with the boundary after it
		}
		for _, e := range t.opening {
			t.tell(e)
		}
		t.opening = nil
		if e, ok := event.Custom.(Event); ok {
			t.tell(e)
		}
	}
	return t.report(ctx, runErr)
}

// report reads what is stored after a run that ended with runErr.
func (t *trip) report(ctx context.Context, runErr error) (*Report, error) {
	nodeErr, nodeFailed := errors.AsType[*graph.NodeError](runErr)
	cancelled := runErr != nil && ctx.Err() != nil && (errors.Is(runErr, ctx.Err()) || errors.Is(runErr, graph.ErrStuck))
	if runErr != nil && !nodeFailed && !cancelled {
		return nil, fmt.Errorf("running thread %s: %w", t.thread, runErr)
	}
	ctx = context.WithoutCancel(ctx)
	snapshot, err := t.graph.State(ctx, t.thread)
	if err != nil {
		if cancelled && errors.Is(err, graph.ErrUnknownThread) {
			return nil, fmt.Errorf("starting thread %s: %w", t.thread, runErr)
		}
		return nil, fmt.Errorf("reading thread %s: %w", t.thread, errors.Join(err, runErr))
	}
	report := t.reportOf(ctx, t.thread, snapshot.State)
	switch {
	case cancelled:
		report.Status = StatusInterrupted
	case nodeFailed:
		report.Status, report.Error = StatusFailed, failureOf(nodeErr.Node, nodeErr.Err)
	}
	report.CheckpointBytes = t.threadBytes(ctx, t.thread)
	t.tell(TaskFinished{Report: report})
	return report, nil
}
