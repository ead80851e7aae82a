package app

import (
	"context"

	"github.com/llama-agent/llama-agent/telemetry"
)

// ChatStatus is where a [Chat] stands, for a display that is looked at while work goes on. Sizes are in bytes; what is not known is 0.
type ChatStatus struct {
	Model        string // path of the file; empty: none is configured
	Loaded       bool   // as far as is known between tasks
	ContextSize  int    // tokens that the KV cache holds; 0 while no model is loaded
	Conversation string // ID; empty: the next turn begins one
	NextTurn     int
	Turns        int   // tasks of this sitting
	Session      Usage // of them
	Last         Usage // of the last one

	RSS, PeakRSS   int64
	CPUPercent     float64 // 100 is one core
	GPU            int64
	GPUUnknown     string // why GPU is not known; empty: it is
	Virtualization bool   // R1: large results stay outside the prompt
	Lifecycle      bool   // R2: prompts show a part of what there is
}

// Status looks at the conversation, and asks the operating system what the process uses. It follows the rules of [Chat.Do].
func (c *Chat) Status(ctx context.Context) (ChatStatus, error) {
	id, next, err := c.Conversation(ctx)
	if err != nil {
		return ChatStatus{}, err
	}
	if c.meter == nil {
		c.meter = telemetry.NewMeter()
	}
	use := c.meter.Measure()
	m := c.Config().Memory
	s := ChatStatus{
		Model: c.Config().Engine.ModelPath, Conversation: id, NextTurn: next,
		RSS: use.RSS, PeakRSS: use.PeakRSS, CPUPercent: use.CPUPercent, GPU: use.GPUBytes, GPUUnknown: use.GPUReason,
		Virtualization: m.ArtifactVirtualization, Lifecycle: m.LifecycleContext,
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	s.Loaded, s.ContextSize, s.Turns, s.Session, s.Last = c.loaded, c.contextSize, c.turns, c.session, c.last
	return s, nil
}

// Load loads the model unless it is loaded, so that the next turn need not wait for it. Like [Chat.Run] it blocks, counts as a task that
// is under way, and is stopped by ctx; an error leaves all as it was.
func (c *Chat) Load(ctx context.Context) error {
	if err := c.start(); err != nil {
		return err
	}
	defer c.stop(Usage{})
	return c.app.LoadModel(ctx)
}
