package telemetry

import (
	"slices"
	"sync"
	"time"
)

// Names of lifecycle events. Other packages add their own.
const (
	TaskStarted  = "task_started"  // written by [Recorder.Task]
	TaskFinished = "task_finished" // written by [Task.End]
)

// phaseTask is the phase of what belongs to a task as a whole.
const phaseTask = "task"

// A Task records what is done for one task. A nil Task is valid and does nothing. It is safe for concurrent use.
type Task struct {
	r    *Recorder
	id   string
	from time.Time
	span *taskSpan // nil: no endpoint

	mu    sync.Mutex
	ended bool
	total totals
}

// totals are what a task has used.
type totals struct {
	ModelCalls      int `json:"model_calls"`
	ToolCalls       int `json:"tool_calls"`
	PromptTokens    int `json:"prompt_tokens"`
	CachedTokens    int `json:"cached_tokens"`
	EvaluatedTokens int `json:"evaluated_tokens"`
	OutputTokens    int `json:"output_tokens"`
}

// Task begins the records of a task, or of a task that is resumed, with the event task_started. The caller ends it.
func (r *Recorder) Task(id string) *Task {
	if r == nil || r.closed.Load() {
		return nil
	}
	t := &Task{r: r, id: r.redact.text(id), from: r.clock()}
	if r.spans != nil {
		t.span = r.spans.task(t.id, t.from)
	}
	r.mu.Lock()
	r.open = append(r.open, t)
	r.mu.Unlock()
	r.append(r.lifecycle, t.head(phaseTask, TaskStarted).line(struct {
		Model string `json:"model"`
	}{r.model}))
	return t
}

// Inference records a call of the model that has just ended.
func (t *Task) Inference(phase string, i Inference) {
	if t == nil {
		return
	}
	i = i.clean(t.r.redact)
	t.mu.Lock()
	t.total.ModelCalls++
	t.total.PromptTokens += i.PromptTokens
	t.total.CachedTokens += i.CachedTokens
	t.total.EvaluatedTokens += i.EvaluatedTokens
	t.total.OutputTokens += i.OutputTokens()
	t.mu.Unlock()
	t.r.append(t.r.inference, t.head(phase, "inference").line(i))
	t.span.inference(t.r.clock(), i)
}

// Tool records a call of a tool that has just ended.
func (t *Task) Tool(phase string, c ToolCall) {
	if t == nil {
		return
	}
	c = c.clean(t.r.redact)
	t.mu.Lock()
	t.total.ToolCalls++
	t.mu.Unlock()
	t.r.append(t.r.tools, t.head(phase, "tool_call").line(c))
	t.span.tool(t.r.clock(), c)
}

// Event records a lifecycle event. Values of data are numbers, booleans and short texts; others are written as JSON. The keys of
// a record's head get the prefix "data_". Data that make a record longer than 16 KiB are dropped and counted. data is not kept.
func (t *Task) Event(phase, name string, data map[string]any) {
	if t == nil {
		return
	}
	t.r.append(t.r.lifecycle, t.head(phase, t.r.redact.text(name)).event(data, t.r.redact))
}

// KV records the state of the KV cache. Bytes are those of [Options.Shape].
func (t *Task) KV(phase string, kv KV) {
	if t == nil {
		return
	}
	at, nanos := t.r.stamp()
	t.r.append(t.r.kv, row(at, nanos, t.id, t.r.redact.text(phase), kv.UsedTokens, kv.CapacityTokens, kv.Positions,
		t.r.shape.Bytes(kv.UsedTokens), t.r.shape.Bytes(kv.CapacityTokens)))
}

// End records with task_finished how the task ended ("done", "failed", …), how long it took and what it used. Ending again does
// nothing.
func (t *Task) End(status string) {
	if t == nil {
		return
	}
	t.mu.Lock()
	if t.ended {
		t.mu.Unlock()
		return
	}
	t.ended = true
	total := t.total
	t.mu.Unlock()

	t.r.mu.Lock()
	t.r.open = slices.DeleteFunc(t.r.open, func(o *Task) bool { return o == t })
	t.r.mu.Unlock()
	now := t.r.clock()
	status = t.r.redact.text(status)
	t.r.append(t.r.lifecycle, t.head(phaseTask, TaskFinished).line(struct {
		Status     string  `json:"status"`
		DurationMS float64 `json:"duration_ms"`
		totals
	}{status, float64(now.Sub(t.from).Microseconds()) / 1000, total}))
	t.span.end(now, status, total)
}

func (t *Task) head(phase, event string) head {
	at, nanos := t.r.stamp()
	return head{Time: at, Nanos: nanos, Task: t.id, Phase: t.r.redact.text(phase), Event: event}
}
