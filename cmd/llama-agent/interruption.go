package main

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// patience is how long stopping may take before the user is told how to end the program at once.
const patience = time.Second

// interruption is what Ctrl-C stops: the command, or the part of it that is under way. It is safe for concurrent use.
type interruption struct {
	mu      sync.Mutex
	stop    func() // of the part; nil: there is none
	stopped bool   // stop was called, and the part has yet to end
}

// during makes Ctrl-C call stop, which must not block, in place of ending the command, until end is called. Parts don't overlap.
func (i *interruption) during(stop func()) (end func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.stop, i.stopped = stop, false
	return func() {
		i.mu.Lock()
		defer i.mu.Unlock()
		i.stop, i.stopped = nil, false
	}
}

// interrupt stops the part. It reports false when there is none that could be stopped.
func (i *interruption) interrupt() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.stop == nil || i.stopped {
		return false
	}
	i.stopped = true
	i.stop()
	return true
}

// stopping reports whether a part was stopped and has not ended.
func (i *interruption) stopping() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.stopped
}

// untilSignal returns a context that the first SIGINT, SIGTERM or SIGHUP cancels; a SIGINT during a part of the command stops that
// part instead. A second one ends the process at once: what is stored is stored, and the operating system takes back the rest.
func untilSignal(c *console, parts *interruption) (context.Context, func()) {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	// A reader that goes away is to be an error of writing, not the end of a task that is under way. Ignoring the signal
	// would do too, but programs that are started would inherit that.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	done := make(chan struct{})
	go func() {
		var slow <-chan time.Time
		for {
			select {
			case s := <-signals:
				switch {
				case ctx.Err() != nil, parts.stopping():
					c.say("ended at once")
					os.Exit(exitInterrupted)
				case s == os.Interrupt && parts.interrupt():
				default:
					cancel()
				}
				slow = time.After(patience)
			case <-slow:
				if ctx.Err() != nil || parts.stopping() {
					c.say("stopping; Ctrl-C again ends the program at once")
				}
			case <-done:
				return
			}
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(done)
		cancel()
	}
}
