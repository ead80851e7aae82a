package graph

import (
	"context"
	"errors"
	"iter"

	"github.com/llama-agent/llama-agent/graph/checkpoint"
)

// Stream runs the graph.
func (g *Graph) Stream(ctx context.Context, in Update, opts ...RunOption) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) { yield(Event{}, errors.ErrUnsupported) }
}

// Invoke runs the graph.
func (g *Graph) Invoke(ctx context.Context, in Update, opts ...RunOption) (State, error) {
	return State{}, errors.ErrUnsupported
}

// Snapshot is a checkpoint with its state.
type Snapshot struct {
	State      State
	Next       []string
	Checkpoint checkpoint.Info
	Tasks      []TaskInfo
}

// TaskInfo is a task of a checkpoint.
type TaskInfo struct {
	ID, Node  string
	Done      bool
	Update    Update
	Error     string
	Questions []Question
}

// State returns the newest state of a thread.
func (g *Graph) State(ctx context.Context, thread string) (Snapshot, error) {
	return Snapshot{}, errors.ErrUnsupported
}

// StateAt returns the state at a checkpoint.
func (g *Graph) StateAt(ctx context.Context, thread, id string) (Snapshot, error) {
	return Snapshot{}, errors.ErrUnsupported
}

// History yields the thread's checkpoints, newest first.
func (g *Graph) History(ctx context.Context, thread string) iter.Seq2[Snapshot, error] {
	return func(yield func(Snapshot, error) bool) { yield(Snapshot{}, errors.ErrUnsupported) }
}

// UpdateState edits the state as if node asNode had returned u.
func (g *Graph) UpdateState(ctx context.Context, thread, asNode string, u Update, opts ...RunOption) (checkpoint.Info, error) {
	return checkpoint.Info{}, errors.ErrUnsupported
}

// Emit sends v to the stream.
func Emit(ctx context.Context, v any) {}

type topology struct{}

func (b *Builder) topology(g *Graph) *topology { return &topology{} }

type task struct{ node string }

func (t *task) ask(v any) ([]byte, error) { return nil, errors.ErrUnsupported }

func taskFrom(ctx context.Context) *task { return nil }
