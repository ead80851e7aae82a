package agent_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tmc/langchaingo/llms"

	"github.com/llama-agent/llama-agent/agent"
	"github.com/llama-agent/llama-agent/graph/checkpoint"
	"github.com/llama-agent/llama-agent/graph/checkpoint/sqlite"
)

// The crash test runs a task in a child process that kills itself at one point, and resumes it here. What happens is written
// to a file, one line each, so that what happened twice can be seen.

// diary is that file. It may end the process when a line is written.
type diary struct {
	path  string
	dieAt string // "LINE#N": when the Nth such line has been written
	count map[string]int
}

func (d *diary) write(line string) {
	f, err := os.OpenFile(d.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	_, err = f.WriteString(line + "\n")
	if err = errors.Join(err, f.Close()); err != nil {
		panic(err)
	}
	d.point(line)
}

// point ends the process when this is where it should die.
func (d *diary) point(name string) {
	d.count[name]++
	if fmt.Sprintf("%s#%d", name, d.count[name]) == d.dieAt {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
}

func (d *diary) lines(t *testing.T) []string {
	b, err := os.ReadFile(d.path)
	if !errors.Is(err, os.ErrNotExist) {
		require.NoError(t, err)
	}
	return strings.Split(strings.TrimSpace(string(b)), "\n")
}

// oracle is a model whose reply depends on the question alone, so that it says the same in every process.
type oracle struct{ *diary }

func (o oracle) GenerateContent(_ context.Context, messages []llms.MessageContent, options ...llms.CallOption) (*llms.ContentResponse, error) {
	var opts llms.CallOptions
	for _, option := range options {
		option(&opts)
	}
	q := question{kind: kindOf(opts), messages: messages}
	var text string
	name := "model " + q.kind
	switch q.kind {
	case askPlan:
		text = plan("weigh the stone|look", "mark it|mark", "count the ledger|query").text
	case askArgs:
		text = map[string]string{"look": `{"at":"stone"}`, "mark": `{"text":"x"}`, "query": `{"at":"ledger"}`}[q.tool()]
		name += " of " + q.tool()
	case askReview:
		text = review("done").text
	case askAnswer:
		text = "12 kg, 41 rows"
		if !strings.Contains(q.flat(false), "12 kg") || !strings.Contains(q.flat(false), "41 rows") {
			text = "the evidence is gone"
		}
	}
	o.write(name)
	return &llms.ContentResponse{Choices: []*llms.ContentChoice{{Content: text, StopReason: "stop", GenerationInfo: map[string]any{"PromptTokens": 1000, "CompletionTokens": 10}}}}, nil
}

func (o oracle) Call(context.Context, string, ...llms.CallOption) (string, error) {
	return "", errors.ErrUnsupported
}

// mortalSaver is a saver at whose writes the process may end, before or after they are stored.
type mortalSaver struct {
	*sqlite.Saver
	*diary
}

func (s mortalSaver) Save(ctx context.Context, boundaries ...checkpoint.Boundary) error {
	err := s.Saver.Save(ctx, boundaries...)
	s.point("boundary")
	return err
}

func (s mortalSaver) BeginEffect(ctx context.Context, lease string, e checkpoint.Effect) (checkpoint.Effect, bool, error) {
	e, fresh, err := s.Saver.BeginEffect(ctx, lease, e)
	s.point("intent")
	return e, fresh, err
}

func (s mortalSaver) FinishEffect(ctx context.Context, lease string, key checkpoint.EffectKey, result []byte) error {
	err := s.Saver.FinishEffect(ctx, lease, key, result)
	s.point("result")
	return err
}

// crashRunner makes the same runner in both processes.
func crashRunner(t require.TestingT, d *diary) (*agent.Runner, *sqlite.Saver) {
	saver, err := sqlite.Open(context.Background(), filepath.Join(filepath.Dir(d.path), "checkpoints.sqlite"), sqlite.Options{})
	require.NoError(t, err)
	w := newWorld()
	w.hold = func(_ context.Context, call string) error {
		d.point("before " + call)
		d.write(call)
		return nil
	}
	config := agent.Config{
		Model: oracle{d}, Tools: w.tools(t), Saver: mortalSaver{saver, d},
		NewID: func() string { return "3f2a" }, Clock: steadyClock(), Workspace: "/ws",
	}
	if filepath.Base(d.path) == compactingDiary {
		compacting(t, d, &config, w)
	}
	runner, err := agent.New(config)
	require.NoError(t, err)
	return runner, saver
}

type failNow struct{}

func (failNow) Errorf(format string, args ...any) { fmt.Fprintf(os.Stderr, format, args...) }
func (failNow) FailNow()                          { os.Exit(3) }

// crashChild is the child process.
func crashChild(path string) {
	d := &diary{path: path, dieAt: os.Getenv("AGENT_TEST_DIE_AT"), count: map[string]int{}}
	runner, saver := crashRunner(failNow{}, d)
	report, err := runner.Run(context.Background(), agent.Task{Goal: "Weigh, mark and count."})
	if err != nil || report.Status != agent.StatusDone {
		fmt.Fprintln(os.Stderr, "the child did not finish:", report, err)
		os.Exit(3)
	}
	if err := saver.Close(); err != nil {
		os.Exit(3)
	}
}

func TestResumeAfterAKillAtEachPoint(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a process for each point")
	}
	t.Parallel()
	const answerText = "12 kg, 41 rows"
	whole := []string{
		"model plan", "model arguments of look", "look stone", "model arguments of mark", "mark x",
		"model arguments of query", "query ledger", "model review", "model answer",
	}
	var points []string
	for i := range len(whole) {
		if i != 4 { // what an intent alone means for the call with side effects is tested below
			points = append(points, fmt.Sprintf("intent#%d", i+1))
		}
		points = append(points, fmt.Sprintf("result#%d", i+1))
	}
	for i := range 7 { // the input, the planner, three steps, the reflector, the finalizer
		points = append(points, fmt.Sprintf("boundary#%d", i+1))
	}
	for _, line := range []string{"model plan", "model arguments of look", "look stone", "model review", "model answer"} {
		points = append(points, line+"#1")
	}
	for _, point := range points {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			d := killAt(t, point)
			runner, saver := crashRunner(t, d)
			defer saver.Close()
			report, err := runner.Resume(context.Background(), thread, agent.ResumeOptions{})
			require.NoError(t, err)
			require.Equal(t, agent.StatusDone, report.Status, "%+v", report.Error)
			require.Equal(t, answerText, report.Answer)
			require.Equal(t, 6, report.Usage.ModelCalls, "the cost of what was not repeated counts")
			require.Equal(t, 6000, report.Usage.PromptTokens)
			require.Equal(t, "done done done", states(report))
			// What the process was in the middle of when it died is there twice; nothing else is.
			at, _, _ := strings.Cut(point, "#")
			require.Equal(t, whole, onceOnly(d.lines(t), at))
		})
	}
}

// A process that dies inside a call with side effects leaves its outcome unknown, whether it acted or not.
func TestKillInsideACallWithSideEffects(t *testing.T) {
	t.Parallel()
	for _, point := range []string{"intent#5", "before mark x#1", "mark x#1"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			d := killAt(t, point)
			acted := strings.Count(strings.Join(d.lines(t), "\n"), "mark x")
			runner, saver := crashRunner(t, d)
			defer saver.Close()
			report, err := runner.Resume(context.Background(), thread, agent.ResumeOptions{})
			require.NoError(t, err)
			require.Equal(t, agent.StatusFailed, report.Status)
			require.Equal(t, agent.KindOutcomeUnknown, report.Error.Kind)
			require.Equal(t, acted, strings.Count(strings.Join(d.lines(t), "\n"), "mark x"), "not run again unasked")

			threads, err := runner.Threads(context.Background(), 0)
			require.NoError(t, err)
			require.Equal(t, agent.StatusFailed, threads[0].Status)

			report, err = runner.Resume(context.Background(), thread, agent.ResumeOptions{RetryUnknown: true})
			require.NoError(t, err)
			require.Equal(t, agent.StatusDone, report.Status)
			require.Equal(t, acted+1, strings.Count(strings.Join(d.lines(t), "\n"), "mark x"))
		})
	}
}

// killAt runs the task in a child that dies at a point, and returns its diary.
func killAt(t *testing.T, point string) *diary {
	t.Helper()
	return killAtIn(t, "diary", point)
}

// killAtIn is killAt with a diary of a name, which says what kind of task it is.
func killAtIn(t *testing.T, name, point string) *diary {
	t.Helper()
	d := &diary{path: filepath.Join(t.TempDir(), name), count: map[string]int{}}
	child := exec.Command(os.Args[0], "-test.run=^$")
	child.Env = append(os.Environ(), "AGENT_TEST_CRASH="+d.path, "AGENT_TEST_DIE_AT="+point)
	var stderr bytes.Buffer
	child.Stderr = &stderr
	var exit *exec.ExitError
	require.ErrorAs(t, child.Run(), &exit, "the child did not die: %s", &stderr)
	require.Equal(t, syscall.SIGKILL, exit.Sys().(syscall.WaitStatus).Signal(), "%s", &stderr)
	return d
}

// onceOnly takes one repetition of a line out.
func onceOnly(lines []string, repeated string) []string {
	var out []string
	seen := false
	for _, l := range lines {
		if l == repeated && seen {
			continue
		}
		seen = seen || l == repeated
		out = append(out, l)
	}
	return out
}
