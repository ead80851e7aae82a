package graph

import (
	"context"
	"encoding/json"
	"fmt"
)

// Question is an open question of a node; see [Interrupt].
type Question struct {
	ID        string          // the same whenever this task asks it
	Node      string          // that asks
	Namespace []string        // of the subgraph that the node belongs to; see [Event.Namespace]
	Value     json.RawMessage // what the node passed to [Interrupt]
}

// Decode stores the question's value in v, as [json.Unmarshal] does.
func (q Question) Decode(v any) error {
	if err := json.Unmarshal(q.Value, v); err != nil {
		return fmt.Errorf("decoding question %q of node %q: %w", q.ID, q.Node, err)
	}
	return nil
}

// Interrupt asks a question and returns the answer to it. While there is none it returns an error that is [ErrInterrupted],
// which the node must return too; the run then ends with an [*InterruptedError] once the other tasks of the superstep have
// finished. When the thread is resumed with an answer (see [Resume] and [Answer]) the node runs again from its beginning, and
// this time Interrupt returns the answer. A node that asks several questions gets its answers in the order of asking, so it
// must ask them in the same order each time. The question's value and the answer travel as JSON; an answer that doesn't fit T is
// an error, and the question stays open.
func Interrupt[T any](ctx context.Context, value any) (T, error) {
	var answer T
	t := taskFrom(ctx)
	if t == nil {
		return answer, fmt.Errorf("asking a question outside a node: %w", ErrNoThread)
	}
	data, n, err := t.ask(value)
	if err != nil {
		return answer, err
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		t.reject(n)
		return answer, &AnswerError{ID: questionID(t.id, n), Open: []string{questionID(t.id, n)}, Err: err}
	}
	return answer, nil
}
