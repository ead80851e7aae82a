package graph

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/llama-agent/llama-agent/graph/checkpoint"
)

// openRecorder takes the thread's lease, which it notes in sc. cancel ends the run when the lease is lost.
func (g *Graph) openRecorder(ctx context.Context, sc *scope, cancel context.CancelCauseFunc) (*recorder, error) {
	leaser, ok := sc.saver.(checkpoint.Leaser)
	if !ok {
		return g.newRecorder(ctx, sc), nil
	}
	cfg := &sc.cfg
	l := checkpoint.Lease{Thread: cfg.thread, Token: g.opts.NewID(), Owner: cfg.owner, Process: checkpoint.CurrentProcess(), Acquired: g.opts.Clock()}
	if l.Owner == "" {
		l.Owner = fmt.Sprintf("process %d", os.Getpid())
	}
	l.Expires = l.Acquired.Add(cfg.ttl)
	if err := leaser.Acquire(ctx, l); err != nil {
		if !errors.Is(err, ErrThreadBusy) { // it may have been granted all the same
			err = errors.Join(err, leaser.Release(context.WithoutCancel(ctx), l.Thread, l.Token))
		}
		return nil, err
	}
	sc.lease = l.Token
	s := g.newRecorder(ctx, sc)
	s.stopLease = g.keepLease(context.WithoutCancel(ctx), leaser, l, cfg.ttl, cancel)
	return s, nil
}

// keepLease renews a lease until the returned function is called, which releases it.
func (g *Graph) keepLease(ctx context.Context, leaser checkpoint.Leaser, l checkpoint.Lease, ttl time.Duration, cancel context.CancelCauseFunc) func(context.Context) error {
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(max(ttl/3, time.Millisecond))
		defer tick.Stop()
		expires := l.Expires
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
			}
			now := g.opts.Clock()
			err := leaser.Renew(ctx, l.Thread, l.Token, now.Add(ttl))
			switch {
			case err == nil:
				expires = now.Add(ttl)
			case errors.Is(err, checkpoint.ErrLeaseLost) || now.After(expires):
				cancel(fmt.Errorf("renewing the lease of thread %q: %w", l.Thread, checkpoint.ErrLeaseLost))
				return
			default:
				g.opts.Logger.WarnContext(ctx, "renewing a lease", "thread", l.Thread, "error", err)
			}
		}
	}()
	return func(ctx context.Context) error {
		close(stop)
		<-done
		return leaser.Release(ctx, l.Thread, l.Token)
	}
}
