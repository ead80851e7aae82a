package app

import (
	"context"
	"path/filepath"

	"github.com/llama-agent/llama-agent/agent"
	"github.com/llama-agent/llama-agent/engine"
	"github.com/llama-agent/llama-agent/telemetry"
)

// openTelemetry begins to record when that is switched on. The shape of the KV cache comes from the model, so that it is loaded.
func (a *App) openTelemetry(model Model) error {
	c := a.options.Config
	if !c.Telemetry.Enabled {
		return nil
	}
	recorder, err := telemetry.Open(c.Telemetry.OutputDir, telemetry.Options{
		Model: filepath.Base(c.Engine.ModelPath), Shape: kvShape(model, c.Engine.KVCacheType), SampleInterval: c.Telemetry.SampleInterval,
		OTLPEndpoint: c.Telemetry.OTLPEndpoint, Secrets: c.Secrets, Logger: a.options.Logger,
	})
	if err != nil {
		return err
	}
	a.telemetry = recorder
	a.closers = append(a.closers, func() error {
		recorder.Close(context.Background()) // bounded by itself, also when the run was cancelled
		return nil
	})
	return nil
}

// kvShape is what a token takes in the KV cache, unknown for models that do not tell.
func kvShape(model Model, cacheType string) telemetry.KVShape {
	described, ok := model.(interface{ Info() engine.ModelInfo })
	if !ok {
		return telemetry.KVShape{}
	}
	bytes, err := telemetry.BytesPerElement(cacheType)
	if err != nil {
		return telemetry.KVShape{}
	}
	info := described.Info()
	return telemetry.KVShape{Layers: info.Layers, KVHeads: info.HeadsKV, HeadSize: info.HeadSize, BytesPerElement: bytes}
}

// recorded returns an observer that records a task and passes its events on, and what ends the record when the task could not.
// Without telemetry it is the observer itself.
func (a *App) recorded(observe func(Event)) (observer func(Event), end func()) {
	if a.telemetry == nil {
		return observe, func() {}
	}
	t := &taskRecord{recorder: a.telemetry, capacity: a.contextSize}
	return func(e Event) {
		t.record(e)
		if observe != nil {
			observe(e)
		}
	}, func() { t.task.End("error") }
}

// taskRecord turns the events of one task into records.
type taskRecord struct {
	recorder *telemetry.Recorder
	capacity int // of the KV cache in tokens, 0 when it is not known
	task     *telemetry.Task
	phase    string
}

func (t *taskRecord) record(e Event) {
	switch e := e.(type) {
	case agent.TaskStarted:
		t.task = t.recorder.Task(e.Thread)
	case agent.NodeStarted:
		t.phase = e.Node
	case agent.ModelReplied:
		if !e.Replayed {
			t.inference(e)
		}
	case agent.CallFinished:
		if !e.Replayed {
			t.call(e.Call)
		}
	case agent.ContextEvent:
		t.task.Event(t.phase, e.Name, e.Data)
	case agent.TaskFinished:
		t.task.End(string(e.Report.Status))
	}
}

func (t *taskRecord) inference(e agent.ModelReplied) {
	u := e.Usage
	t.task.Inference(e.Node, telemetry.Inference{
		PromptTokens: u.PromptTokens, CachedTokens: u.CachedTokens, EvaluatedTokens: u.EvaluatedTokens, SampledTokens: u.CompletionTokens - u.ForcedTokens,
		ForcedTokens: u.ForcedTokens, DraftedTokens: u.DraftedTokens, AcceptedTokens: u.AcceptedTokens, QueueMS: float64(e.QueueMS),
		TTFTMS: float64(u.TTFTMS), PrefillMS: float64(u.PrefillMS), DecodeMS: float64(u.DecodeMS), FinishReason: e.Finish,
		Messages: e.Messages, Tools: e.Tools,
	})
	t.task.KV(e.Node, telemetry.KV{UsedTokens: u.PeakKVTokens, CapacityTokens: t.capacity, Positions: u.PeakKVTokens})
}

func (t *taskRecord) call(c agent.Call) {
	call := telemetry.ToolCall{
		Tool: c.Tool, DurationMS: float64(c.DurationMS), InputBytes: len(c.Arguments), OutputBytes: len(c.Text), ArtifactID: c.Artifact,
		ReadOnly: c.ReadOnly, Skipped: c.Skipped,
	}
	if c.Error != nil {
		call.ErrorKind = c.Error.Kind
	}
	t.task.Tool(t.phase, call)
}
