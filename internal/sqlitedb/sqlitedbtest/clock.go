package sqlitedbtest

import (
	"sync"
	"time"
)

// Clock is a clock that goes on by the same step each time it is read. It is safe for concurrent use.
type Clock struct {
	mu   sync.Mutex
	now  time.Time
	step time.Duration
}

// NewClock returns a clock; with a step of 0 only [Clock.Pass] moves it.
func NewClock(start time.Time, step time.Duration) *Clock { return &Clock{now: start, step: step} }

// Time moves the clock by a step and returns its time.
func (c *Clock) Time() time.Time { return c.Pass(c.step) }

// Pass moves the clock and returns its time.
func (c *Clock) Pass(d time.Duration) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	return c.now
}
