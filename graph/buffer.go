package graph

import (
	"context"
	"sync"
)

// buffered runs a run in a goroutine of its own and yields its events, of which up to limit wait, and droppable ones beyond that
// are lost. It returns the run's error, once the run has ended: a consumer that leaves cancels it.
func buffered(ctx context.Context, limit int, run func(context.Context, func(Event) bool) error, yield func(Event) bool) error {
	ctx, cancel := context.WithCancelCause(ctx)
	b := &eventBuffer{limit: limit, signal: make(chan struct{}, 1)}
	ended := make(chan struct{})
	defer func() { // also when yield panics
		cancel(errLeft)
		<-ended
	}()
	go func() {
		defer close(ended)
		var err error = errGoexit
		defer func() { b.finish(err) }()
		_, err = safely(func() (struct{}, error) { return struct{}{}, run(ctx, b.put) })
	}()
	left := false
	for {
		events, done := b.take()
		for _, ev := range events {
			if !left && !yield(ev) {
				left = true
				b.leave()
				cancel(errLeft)
			}
		}
		switch {
		case done && left:
			return errLeft
		case done:
			return b.err
		}
		<-b.signal
	}
}

// eventBuffer is the queue between a run and its consumer.
type eventBuffer struct {
	limit  int
	signal chan struct{} // has an item when there may be something to take

	mu      sync.Mutex
	events  []Event
	dropped int
	left    bool
	done    bool
	err     error
}

// put queues an event or drops it; it reports whether the consumer still listens.
func (b *eventBuffer) put(ev Event) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.events) >= b.limit && ev.droppable() {
		b.dropped++
		return !b.left
	}
	ev.Dropped, b.dropped = b.dropped, 0
	b.events = append(b.events, ev)
	b.wake()
	return !b.left
}

func (b *eventBuffer) wake() {
	select {
	case b.signal <- struct{}{}:
	default:
	}
}

func (b *eventBuffer) take() ([]Event, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	events := b.events
	b.events = nil
	return events, b.done
}

func (b *eventBuffer) leave() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.left = true
}

func (b *eventBuffer) finish(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.done, b.err = true, err
	b.wake()
}
