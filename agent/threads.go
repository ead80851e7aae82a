package agent

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/llama-agent/llama-agent/graph"
	"github.com/llama-agent/llama-agent/graph/checkpoint"
)

// ErrNoThreadList says that the saver of a Runner cannot list its threads.
var ErrNoThreadList = errors.New("agent: the store does not list threads")

// ThreadInfo describes a task in a list.
type ThreadInfo struct {
	ID      string            `json:"thread_id"`
	Status  Status            `json:"status"`
	Running bool              `json:"running"` // a process works on it now
	Goal    string            `json:"goal"`    // its first words
	Steps   int               `json:"steps"`   // supersteps of the graph
	Created time.Time         `json:"created"`
	Updated time.Time         `json:"updated"`
	Bytes   int64             `json:"bytes"`
	Labels  map[string]string `json:"labels,omitempty"`
}

// Threads lists the tasks that are stored, the last changed first. A limit of 0 lists all.
func (r *Runner) Threads(ctx context.Context, limit int) ([]ThreadInfo, error) {
	lister, ok := r.config.Saver.(checkpoint.ThreadLister)
	if !ok {
		return nil, ErrNoThreadList
	}
	infos, err := lister.Threads(ctx, checkpoint.ThreadQuery{Limit: limit})
	if err != nil {
		return nil, fmt.Errorf("listing threads: %w", err)
	}
	out := make([]ThreadInfo, 0, len(infos))
	for _, info := range infos {
		out = append(out, ThreadInfo{
			ID: info.ID, Status: statusOf(info), Running: info.Status == checkpoint.StatusRunning, Goal: info.Labels[labelGoal],
			Steps: info.Steps, Created: info.Created, Updated: info.Updated, Bytes: info.Bytes, Labels: info.Labels,
		})
	}
	return out, nil
}

func statusOf(info checkpoint.ThreadInfo) Status {
	switch info.Status {
	case checkpoint.StatusFailed:
		return StatusFailed
	case checkpoint.StatusPending, checkpoint.StatusInterrupted:
		return StatusInterrupted
	case checkpoint.StatusDamaged:
		return StatusDamaged
	case checkpoint.StatusDone, checkpoint.StatusRunning:
	}
	return Status(info.Labels[labelStatus])
}

// Boundary is one stored step of a task.
type Boundary struct {
	ID     string      `json:"checkpoint_id"`
	Parent string      `json:"parent_id,omitempty"` // the checkpoint that it follows
	Fork   bool        `json:"fork,omitempty"`      // a copy of Parent, at which the task was taken up again
	Step   int         `json:"step"`
	Nodes  []string    `json:"nodes"` // that ended here; none where the task began
	Next   []string    `json:"next"`  // that follow; none where it ended
	Status Status      `json:"status"`
	Time   time.Time   `json:"time"`
	Bytes  int64       `json:"bytes"`
	State  graph.State `json:"state"`
	// Problem says why there is no state or status: the checkpoint is damaged, or what wrote it was another version.
	Problem string `json:"problem,omitempty"`
}

// History yields the boundaries of a task, the newest first. For an unknown thread it yields [graph.ErrUnknownThread].
func (r *Runner) History(ctx context.Context, thread string) iter.Seq2[Boundary, error] {
	return func(yield func(Boundary, error) bool) {
		for s, err := range r.graph.History(ctx, thread) {
			if err != nil && (s.Checkpoint.ID == "" || ctx.Err() != nil) {
				yield(Boundary{}, fmt.Errorf("reading the history of thread %s: %w", thread, err))
				return
			}
			info := s.Checkpoint
			b := Boundary{
				ID: info.ID, Parent: info.Parent, Fork: info.Source == checkpoint.SourceFork, Step: info.Step,
				Nodes: withoutStart(info.Nodes), Next: append([]string{}, s.Next...), Time: info.Time, Bytes: info.Bytes,
			}
			if err != nil {
				b.Problem = err.Error()
			} else {
				b.Status, b.State = statusChannel.Get(s.State), s.State
			}
			if !yield(b, nil) {
				return
			}
		}
	}
}

// withoutStart leaves out the start of the graph, which is no node of the agent.
func withoutStart(nodes []string) []string {
	return slices.DeleteFunc(append([]string{}, nodes...), func(n string) bool { return n == graph.Start })
}

// threadBytes is what a thread stores. A saver that cannot tell is no reason to withhold a report.
func (r *Runner) threadBytes(ctx context.Context, thread string) int64 {
	var total int64
	for info, err := range r.config.Saver.List(ctx, checkpoint.Query{Thread: thread}) {
		if err != nil {
			r.config.Logger.Warn("adding up the checkpoints", "thread", thread, "error", err)
			return total
		}
		total += info.Bytes
	}
	return total
}
