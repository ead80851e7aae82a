package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/llama-agent/llama-agent/agent"
	"github.com/llama-agent/llama-agent/config"
	"github.com/llama-agent/llama-agent/graph"
	"github.com/llama-agent/llama-agent/graph/checkpoint"
	"github.com/llama-agent/llama-agent/tools"
)

// ErrNothingToResume says that no task waits to be continued.
var ErrNothingToResume = errors.New("nothing to resume")

// Task is a task for [App.Run].
type Task struct {
	Goal    string
	Thread  string      // ID; empty: a new one
	Tools   []string    // the only tools for this task; nil: all that are enabled
	Attach  []string    // files the model is told to look at, relative to the current folder or the workspace
	Observe func(Event) // called with what happens, one event at a time; may be nil
}

// Run does a task. Everything that can be wrong with it is found before the model is loaded. See [agent.Runner.Run] for
// the report and the other errors.
func (a *App) Run(ctx context.Context, t Task) (*Report, error) {
	if t.Tools != nil {
		if _, err := a.tools.Only(t.Tools...); err != nil {
			return nil, err
		}
	}
	if t.Thread != "" {
		if _, err := a.Thread(ctx, t.Thread); err == nil {
			return nil, fmt.Errorf("thread %s exists already; continue it with: llama-agent resume %s, or choose another ID", t.Thread, t.Thread)
		}
	}
	facts, err := a.facts(ctx, t.Attach)
	if err != nil {
		return nil, err
	}
	if err := a.LoadModel(ctx); err != nil {
		return nil, err
	}
	report, err := a.runner.Run(ctx, agent.Task{Goal: t.Goal, Thread: t.Thread, Tools: t.Tools, Facts: facts, Observe: t.Observe})
	return a.complete(report), err
}

// ResumeOptions say how to go on; see [agent.ResumeOptions].
type ResumeOptions = agent.ResumeOptions

// Resume goes on with a task that was stopped. A task that has ended is returned as it ended, without loading the model.
func (a *App) Resume(ctx context.Context, thread string, o ResumeOptions) (*Report, error) {
	info, err := a.Thread(ctx, thread)
	if err != nil {
		return nil, err
	}
	if info.Running {
		if err := a.probeLease(ctx, thread); err != nil {
			return nil, err
		}
	}
	ended := info.Status == agent.StatusDone || info.Status == agent.StatusFailed && !o.Retry && !o.RetryUnknown
	if !ended || o.From != "" {
		if err := a.LoadModel(ctx); err != nil {
			return nil, err
		}
	}
	report, err := a.runner.Resume(ctx, thread, o)
	if _, differs := errors.AsType[*agent.SettingsError](err); differs {
		err = fmt.Errorf("%w with --allow-changes", err)
	}
	return a.complete(report), err
}

// probeLease returns a [*checkpoint.BusyError] while another process has the thread. Loading a model only to find that out
// would waste the user's time; the run itself takes the lease properly.
func (a *App) probeLease(ctx context.Context, thread string) error {
	leaser, ok := a.saver.(checkpoint.Leaser)
	if !ok {
		return nil
	}
	now := time.Now()
	probe := checkpoint.Lease{
		Thread: thread, Token: "probe-" + now.Format(time.RFC3339Nano), Owner: "a probe",
		Process: checkpoint.CurrentProcess(), Acquired: now, Expires: now.Add(time.Second),
	}
	if err := leaser.Acquire(ctx, probe); err != nil {
		return err
	}
	return leaser.Release(ctx, thread, probe.Token)
}

// IsToolError reports whether err is about a tool that does not exist.
func IsToolError(err error) bool {
	_, is := errors.AsType[*tools.Error](err)
	return is
}

// EmptyReport is the report of a task that could not begin. Its lists are not nil.
func EmptyReport() *Report {
	return &Report{Plan: []agent.ReportedStep{}, Calls: []agent.ReportedCall{}, Notes: []string{}}
}

func (a *App) complete(r *Report) *Report {
	if r != nil {
		r.Usage.ModelLoadMS = a.loading.Milliseconds()
		r.PeakRSSBytes = peakRSS()
	}
	return r
}

// Threads lists the tasks, the last changed first. A limit of 0 lists all.
func (a *App) Threads(ctx context.Context, limit int) ([]ThreadInfo, error) {
	return a.runner.Threads(ctx, limit)
}

// Thread describes one task.
func (a *App) Thread(ctx context.Context, id string) (ThreadInfo, error) {
	threads, err := a.runner.Threads(ctx, 0)
	if err != nil {
		return ThreadInfo{}, err
	}
	if i := slices.IndexFunc(threads, func(t ThreadInfo) bool { return t.ID == id }); i >= 0 {
		return threads[i], nil
	}
	return ThreadInfo{}, unknownThread(id, threads)
}

// LastResumable returns the last changed task that was interrupted, or with failed also one that failed. The error is
// [ErrNothingToResume], with the reason, when there is none.
func (a *App) LastResumable(ctx context.Context, failed bool) (ThreadInfo, error) {
	threads, err := a.runner.Threads(ctx, 0)
	if err != nil {
		return ThreadInfo{}, err
	}
	for _, t := range threads {
		if t.Status == agent.StatusInterrupted || t.Running || failed && t.Status == agent.StatusFailed {
			return t, nil
		}
	}
	if len(threads) == 0 {
		return ThreadInfo{}, fmt.Errorf("%w: no task was run in this workspace", ErrNothingToResume)
	}
	last := threads[0]
	if last.Status == agent.StatusFailed {
		return ThreadInfo{}, fmt.Errorf("%w: the last task %s failed; try again with: llama-agent resume %s --retry", ErrNothingToResume, last.ID, last.ID)
	}
	return ThreadInfo{}, fmt.Errorf("%w: the last task %s is %s; see its answer with: llama-agent resume %s", ErrNothingToResume, last.ID, last.Status, last.ID)
}

// History returns the stored steps of a task, the newest first.
func (a *App) History(ctx context.Context, thread string) ([]Boundary, error) {
	var list []Boundary
	for b, err := range a.runner.History(ctx, thread) {
		if errors.Is(err, graph.ErrUnknownThread) {
			return nil, a.unknownThread(ctx, thread)
		}
		if err != nil {
			return list, err
		}
		list = append(list, b)
	}
	return list, nil
}

// Pruned is what [App.Prune] removed.
type Pruned struct {
	Threads     int   `json:"threads"` // that had something to remove
	Checkpoints int   `json:"checkpoints"`
	Bytes       int64 `json:"bytes"`
	Busy        int   `json:"busy"` // threads left alone because they are in use
}

// Prune removes all but the newest checkpoints of each task; keep is at least 1. Tasks in use are left alone.
func (a *App) Prune(ctx context.Context, keep int) (Pruned, error) {
	var p Pruned
	pruner, ok := a.saver.(checkpoint.Pruner)
	if !ok {
		return p, errors.New("the store of tasks cannot remove checkpoints")
	}
	threads, err := a.runner.Threads(ctx, 0)
	if err != nil {
		return p, err
	}
	for _, t := range threads {
		freed, err := pruner.Prune(ctx, t.ID, keep)
		switch {
		case errors.Is(err, checkpoint.ErrThreadBusy):
			p.Busy++
		case err != nil:
			return p, fmt.Errorf("pruning thread %s: %w", t.ID, err)
		case freed.Checkpoints > 0:
			p.Threads++
			p.Checkpoints += freed.Checkpoints
			p.Bytes += freed.Bytes
		}
	}
	return p, nil
}

// unknownThread explains that a task does not exist, with the nearest that does.
func (a *App) unknownThread(ctx context.Context, id string) error {
	threads, err := a.runner.Threads(ctx, 0)
	if err != nil {
		return err
	}
	return unknownThread(id, threads)
}

func unknownThread(id string, threads []ThreadInfo) error {
	ids := make([]string, len(threads))
	for i, t := range threads {
		ids[i] = t.ID
	}
	fix := "no task was run in this workspace"
	if near := config.Nearest(id, ids); near != "" {
		fix = "did you mean " + near + "?"
	} else if len(ids) > 0 {
		fix = "see llama-agent list-threads; the last one is " + ids[0]
	}
	return fmt.Errorf("there is no thread %q; %s", id, fix)
}

// shownFiles bounds how many files of the workspace the model is told of. Each costs about 20 tokens of every prompt.
const shownFiles = 40

// facts collects what the model is told about the workspace. The stores of the agent itself are left out: their sizes
// change all the time, which would make each prompt a new one.
func (a *App) facts(ctx context.Context, attach []string) (agent.Facts, error) {
	var facts agent.Facts
	own := ownPaths(a.options.Config)
	result, err := workspaceFiles(ctx, a.options.Config)
	if err != nil {
		return facts, err
	}
	for _, f := range result.Files {
		if isBelow(filepath.Join(a.options.Config.Workspace, f.Path), own) {
			result.Total--
			continue
		}
		if len(facts.Files) < shownFiles {
			facts.Files = append(facts.Files, agent.File{Path: f.Path, Kind: f.Kind, Bytes: f.Bytes})
		}
	}
	facts.FilesLeftOut = result.Total - len(facts.Files)
	for _, path := range attach {
		shown, err := attached(a.options.Config, path)
		if err != nil {
			return facts, err
		}
		facts.Attached = append(facts.Attached, shown)
	}
	return facts, nil
}

// workspaceFiles lists the files as the model's own tool does.
func workspaceFiles(ctx context.Context, c *config.Config) (tools.FileList, error) {
	registry, err := tools.NewRegistry(fileTools(c)...)
	if err != nil {
		return tools.FileList{}, err
	}
	// An error of the tool means that there is nothing to list, which is no reason to refuse a task that may need no file.
	result, _ := registry.Call(ctx, "list_files", fmt.Appendf(nil, `{"max_results":%d}`, shownFiles+20))
	list, _ := result.Data.(tools.FileList)
	return list, ctx.Err()
}

// ownPaths lists the files and folders that the agent itself writes.
func ownPaths(c *config.Config) []string {
	return []string{
		c.Agent.DBPath, c.Agent.ConversationDBPath, c.Engine.KVStorePath, c.Tools.Artifact.StorageDir,
		c.Memory.ContextStorePath, c.Telemetry.OutputDir, c.TUI.LogFile,
	}
}

// isBelow reports whether path is one of the others, lies in one, or is a side file of a database ("-wal").
func isBelow(path string, others []string) bool {
	return slices.ContainsFunc(others, func(other string) bool {
		return other != "" && (path == other || strings.HasPrefix(path, other+string(filepath.Separator)) || strings.HasPrefix(path, other+"-"))
	})
}

// attached returns the path by which the tools know a file that the user named.
func attached(c *config.Config, path string) (string, error) {
	const fix = "copy it into the workspace, or allow its folder in tools.file.allowed_roots"
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("attaching %q: %w", path, err)
	}
	info, err := os.Stat(abs)
	if errors.Is(err, fs.ErrNotExist) {
		abs = c.Path(path)
		info, err = os.Stat(abs)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("attaching %q: there is no such file", path)
	case err != nil:
		return "", fmt.Errorf("attaching: %w", err)
	case !info.Mode().IsRegular():
		return "", fmt.Errorf("attaching %q: it is not a regular file", path)
	}
	target, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return "", fmt.Errorf("attaching: %w", err)
	}
	if workspace, err := filepath.EvalSymlinks(c.Workspace); err == nil {
		if rel, err := filepath.Rel(workspace, target); err == nil && filepath.IsLocal(rel) {
			return filepath.ToSlash(rel), nil
		}
	}
	for _, root := range c.Tools.File.AllowedRoots {
		root, err := filepath.EvalSymlinks(root)
		if err != nil {
			continue
		}
		if rel, err := filepath.Rel(root, target); err == nil && filepath.IsLocal(rel) {
			return target, nil
		}
	}
	return "", fmt.Errorf("attaching %q: it lies outside the folders that tools may read; %s", path, fix)
}
