package agent_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/llama-agent/llama-agent/agent"
	"github.com/llama-agent/llama-agent/graph/checkpoint"
	"github.com/llama-agent/llama-agent/tools"
)

func TestMain(m *testing.M) {
	if path := os.Getenv("AGENT_TEST_CRASH"); path != "" {
		crashChild(path)
		return
	}
	goleak.VerifyTestMain(m)
}

// world is what the test tools look at and change.
type world struct {
	mu    sync.Mutex
	texts map[string]string // what look finds
	marks []string          // what mark has done
	runs  []string          // every call that reached a tool, in order
	ticks atomic.Int64      // what poll counts
	hold  func(ctx context.Context, tool string) error
}

func (w *world) reached(ctx context.Context, call string) error {
	w.mu.Lock()
	w.runs = append(w.runs, call)
	hold := w.hold
	w.mu.Unlock()
	if hold != nil {
		return hold(ctx, call)
	}
	return nil
}

func (w *world) ran() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]string(nil), w.runs...)
}

type lookArgs struct {
	At    string `json:"at" jsonschema:"what to look at" arg:"minlen=1,maxlen=60"`
	Lines int    `json:"lines,omitempty" jsonschema:"how much to show" arg:"min=1,max=50,default=10"`
}

type markArgs struct {
	Text string `json:"text" jsonschema:"what to mark" arg:"minlen=1,maxlen=60"`
}

type nothing struct{}

func (w *world) tools(t require.TestingT) *tools.Registry {
	look, err := tools.Func(tools.Spec{
		Name: "look", Description: "Shows a thing.", ReadOnly: true,
		Takes: []tools.Subject{tools.SubjectText, tools.SubjectFolder}, Path: "at",
	}, func(ctx context.Context, a lookArgs) (tools.Result, error) {
		if err := w.reached(ctx, "look "+a.At); err != nil {
			return tools.Result{}, err
		}
		text, ok := w.texts[a.At]
		if !ok {
			return tools.Result{}, &tools.Error{Kind: tools.KindNotFound, Message: fmt.Sprintf("there is no %q", a.At), Fix: "look at something else"}
		}
		if strings.HasPrefix(text, "table:") {
			return tools.Result{}, &tools.Error{Kind: tools.KindWrongKind, Message: fmt.Sprintf("%q is a table", a.At), Fix: "use query"}
		}
		return tools.Result{Data: map[string]any{"text": text}, Text: text}, nil
	})
	require.NoError(t, err)
	query, err := tools.Func(tools.Spec{
		Name: "query", Description: "Asks a table.", ReadOnly: true, Takes: []tools.Subject{tools.SubjectDatabase}, Path: "at",
	}, func(ctx context.Context, a lookArgs) (tools.Result, error) {
		if err := w.reached(ctx, "query "+a.At); err != nil {
			return tools.Result{}, err
		}
		text, ok := strings.CutPrefix(w.texts[a.At], "table:")
		if !ok {
			return tools.Result{}, &tools.Error{Kind: tools.KindFailed, Message: fmt.Sprintf("no such column: %s", a.At)}
		}
		return tools.Result{Data: map[string]any{"rows": []string{text}}, Text: text}, nil
	})
	require.NoError(t, err)
	mark, err := tools.Func(tools.Spec{Name: "mark", Description: "Makes a mark."}, func(ctx context.Context, a markArgs) (tools.Result, error) {
		if err := w.reached(ctx, "mark "+a.Text); err != nil {
			return tools.Result{}, err
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		w.marks = append(w.marks, a.Text)
		return tools.Result{Data: map[string]any{"marked": true}, Text: "marked " + a.Text}, nil
	})
	require.NoError(t, err)
	poll, err := tools.Func(tools.Spec{
		Name: "poll", Description: "Tells the progress of a job.", ReadOnly: true, Takes: []tools.Subject{tools.SubjectNone},
	}, func(ctx context.Context, _ nothing) (tools.Result, error) {
		if err := w.reached(ctx, "poll"); err != nil {
			return tools.Result{}, err
		}
		n := w.ticks.Add(1)
		return tools.Result{Data: map[string]any{"progress": n}, Text: fmt.Sprintf("progress %d", n)}, nil
	})
	require.NoError(t, err)
	registry, err := tools.NewRegistry(look, query, mark, poll)
	require.NoError(t, err)
	return registry
}

// rig is a runner with a scripted model and the test tools.
type rig struct {
	*world
	t      *testing.T
	model  *fakeModel
	runner *agent.Runner
	events []agent.Event
}

func newWorld() *world {
	return &world{texts: map[string]string{"stone": "the stone weighs 12 kg", "lamp": "the lamp is green", "ledger": "table:41 rows"}}
}

func newRig(t *testing.T, change func(*agent.Config), script ...reply) *rig {
	t.Helper()
	r := &rig{world: newWorld(), t: t, model: &fakeModel{t: t, script: script}}
	config := agent.Config{
		Model: r.model, Tools: r.tools(t), Saver: checkpoint.NewMemory(),
		Clock: steadyClock(), NewID: func() string { return "3f2a" }, Workspace: "/ws",
	}
	if change != nil {
		change(&config)
	}
	runner, err := agent.New(config)
	require.NoError(t, err)
	r.runner = runner
	return r
}

// steadyClock advances by a millisecond at each look.
func steadyClock() func() time.Time {
	var n atomic.Int64
	start := time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC)
	return func() time.Time { return start.Add(time.Duration(n.Add(1)-1) * time.Millisecond) }
}

const thread = "t-20260102-150405-3f2a"

func (r *rig) observe(e agent.Event) { r.events = append(r.events, e) }

// run does a task and requires that it gives a report and uses the whole script. The rules and the workspace must be the same
// bytes in every prompt.
func (r *rig) run(goal string) *agent.Report {
	r.t.Helper()
	report, err := r.runner.Run(context.Background(), agent.Task{Goal: goal, Observe: r.observe, Facts: facts})
	require.NoError(r.t, err)
	r.requireScriptUsed()
	questions := r.model.questions()
	for _, q := range questions {
		require.Equal(r.t, questions[0].system(), q.system())
	}
	return report
}

func (r *rig) requireScriptUsed() {
	r.t.Helper()
	require.Empty(r.t, r.model.script, "replies that were not asked for")
}

var facts = agent.Facts{Files: []agent.File{{Path: "stone", Kind: "text", Bytes: 22}, {Path: "ledger", Kind: "sqlite", Bytes: 4096}}}

// eventsOf returns the events of one type.
func eventsOf[E agent.Event](events []agent.Event) []E {
	var out []E
	for _, e := range events {
		if v, ok := e.(E); ok {
			out = append(out, v)
		}
	}
	return out
}

func states(report *agent.Report) string {
	var b []string
	for _, s := range report.Plan {
		b = append(b, string(s.State))
	}
	return strings.Join(b, " ")
}
