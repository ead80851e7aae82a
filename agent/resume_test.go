package agent_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/llama-agent/llama-agent/agent"
	"github.com/llama-agent/llama-agent/graph"
	"github.com/llama-agent/llama-agent/graph/checkpoint"
	"github.com/llama-agent/llama-agent/graph/checkpoint/sqlite"
)

func resume(t *testing.T, r *rig, options agent.ResumeOptions) *agent.Report {
	t.Helper()
	options.Observe = r.observe
	report, err := r.runner.Resume(context.Background(), thread, options)
	require.NoError(t, err)
	return report
}

func TestResumeOfAFinishedTaskIsItsReport(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil, plan("weigh the stone|look"), args(`{"at":"stone"}`), review("done"), answer("12 kg"))
	report := r.run("How heavy is the stone?")
	require.Equal(t, mustJSON(report), mustJSON(resume(t, r, agent.ResumeOptions{})))
	require.Equal(t, mustJSON(report), mustJSON(resume(t, r, agent.ResumeOptions{Retry: true})), "there is nothing to retry")
	require.Len(t, r.model.questions(), 4)
}

func TestResumeOfAnUnknownThread(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	_, err := r.runner.Resume(context.Background(), "t-nothing", agent.ResumeOptions{})
	require.ErrorIs(t, err, graph.ErrUnknownThread)
	for _, err := range r.runner.History(context.Background(), "t-nothing") {
		require.ErrorIs(t, err, graph.ErrUnknownThread)
	}
}

func TestNewTaskCannotTakeAnOldThread(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil, plan("answer|none"), answer("42"))
	r.run("17 + 25?")
	_, err := r.runner.Run(context.Background(), agent.Task{Goal: "Another", Thread: thread})
	require.ErrorIs(t, err, agent.ErrThreadExists)
}

func TestNewThreadsHaveIDsOfTheirOwn(t *testing.T) {
	t.Parallel()
	ids := []string{"3f2a", "3f2a", "3f2a", "77aa"}
	r := newRig(t, func(c *agent.Config) {
		c.Clock = func() time.Time { return time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC) }
		c.NewID = func() string { id := ids[0]; ids = append(ids[1:], id); return id }
	}, plan("answer|none"), answer("42"), plan("answer|none"), answer("43"))
	first, err := r.runner.Run(context.Background(), agent.Task{Goal: "17 + 25?"})
	require.NoError(t, err)
	require.Equal(t, thread, first.ThreadID)
	second, err := r.runner.Run(context.Background(), agent.Task{Goal: "17 + 26?"})
	require.NoError(t, err)
	require.Equal(t, "t-20260102-150405-77aa", second.ThreadID, "the ID that exists is made anew")
	r = newRig(t, func(c *agent.Config) {
		c.Clock = func() time.Time { return time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC) }
	}, plan("answer|none"), answer("42"))
	r.run("17 + 25?")
	_, err = r.runner.Run(context.Background(), agent.Task{Goal: "Another"})
	require.ErrorIs(t, err, agent.ErrThreadExists, "not for ever")
}

func TestCancelledTaskIsInterruptedAndGoesOn(t *testing.T) {
	t.Parallel()
	whole := func() []reply {
		return []reply{plan("weigh|look", "mark|mark"), args(`{"at":"stone"}`), args(`{"text":"x"}`), review("done"), answer("12 kg")}
	}
	for stopAt := range whole() {
		script := whole()
		r := newRig(t, nil)
		ctx, cancel := context.WithCancel(context.Background())
		script[stopAt].during = cancel
		r.model.script = script
		report, err := r.runner.Run(ctx, agent.Task{Goal: "Weigh and mark.", Observe: r.observe})
		if stopAt == 0 {
			require.NoError(t, err)
		}
		require.NoError(t, err)
		require.Equal(t, agent.StatusInterrupted, report.Status)
		require.Nil(t, report.Error)

		threads, err := r.runner.Threads(context.Background(), 1)
		require.NoError(t, err)
		require.Equal(t, agent.StatusInterrupted, threads[0].Status)

		r.model.script = whole()[stopAt:]
		report = resume(t, r, agent.ResumeOptions{})
		require.Equal(t, agent.StatusDone, report.Status, "stopped at reply %d", stopAt)
		require.Equal(t, "12 kg", report.Answer)
		require.Equal(t, []string{"look stone", "mark x"}, r.ran(), "nothing that finished runs again")
		require.Equal(t, 5, report.Usage.ModelCalls)
		r.requireScriptUsed()
	}
}

func TestReadOnlyCallThatWasCutOffRunsAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil, plan("weigh|look"), args(`{"at":"stone"}`))
	ctx, cancel := context.WithCancel(context.Background())
	r.hold = func(ctx context.Context, _ string) error { cancel(); <-ctx.Done(); return ctx.Err() }
	report, err := r.runner.Run(ctx, agent.Task{Goal: "Weigh."})
	require.NoError(t, err)
	require.Equal(t, agent.StatusInterrupted, report.Status)

	r.hold = nil
	r.model.script = []reply{review("done"), answer("12 kg")}
	report = resume(t, r, agent.ResumeOptions{})
	require.Equal(t, "12 kg", report.Answer)
	require.Equal(t, []string{"look stone", "look stone"}, r.ran())
	require.Len(t, report.Calls, 1)
}

func TestCallWithSideEffectsThatWasCutOffIsNotRepeatedUnasked(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil, plan("mark|mark"), args(`{"text":"x"}`))
	ctx, cancel := context.WithCancel(context.Background())
	r.hold = func(ctx context.Context, _ string) error { cancel(); <-ctx.Done(); return ctx.Err() }
	report, err := r.runner.Run(ctx, agent.Task{Goal: "Mark."})
	require.NoError(t, err)
	require.Equal(t, agent.StatusInterrupted, report.Status)
	r.hold = nil

	for range 2 {
		report = resume(t, r, agent.ResumeOptions{})
		require.Equal(t, agent.StatusFailed, report.Status)
		require.Equal(t, agent.KindOutcomeUnknown, report.Error.Kind)
		require.Equal(t, "executor", report.Error.Node)
		require.Contains(t, report.Error.Message, `mark {"text":"x"}`)
		require.Contains(t, report.Error.Message, "--retry-unknown")
	}
	report = resume(t, r, agent.ResumeOptions{Retry: true})
	require.Equal(t, agent.KindOutcomeUnknown, report.Error.Kind, "retrying is not consenting")
	require.Empty(t, r.marks)

	r.model.script = []reply{review("done"), answer("marked")}
	report = resume(t, r, agent.ResumeOptions{RetryUnknown: true})
	require.Equal(t, agent.StatusDone, report.Status)
	require.Equal(t, []string{"x"}, r.marks)
}

func TestRetryGoesOnAtTheFailedNodeWithItsLimitsAnew(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(c *agent.Config) { c.Limits.MaxToolCalls = 1 },
		plan("weigh|look", "see|look"), args(`{"at":"stone"}`), answer("12 kg only"))
	report := r.run("Weigh and see?")
	require.Equal(t, agent.KindLimit, report.Error.Kind)
	require.Equal(t, "executor", report.Error.Node)

	same := resume(t, r, agent.ResumeOptions{})
	require.Equal(t, mustJSON(report), mustJSON(same))

	r.model.script = []reply{args(`{"at":"lamp"}`), review("done"), answer("12 kg, green")}
	report = resume(t, r, agent.ResumeOptions{Retry: true})
	require.Equal(t, agent.StatusDone, report.Status)
	require.Nil(t, report.Error)
	require.Equal(t, "12 kg, green", report.Answer)
	require.Equal(t, []string{"look stone", "look lamp"}, r.ran())
}

func TestRetryOfEachNodeThatFailedByRule(t *testing.T) {
	t.Parallel()
	bad := func(kind string) reply { return reply{ask: kind, text: "no"} }
	for name, test := range map[string]struct{ first, second []reply }{
		"planner": {
			[]reply{bad(askPlan), bad(askPlan), answer("?")},
			[]reply{plan("weigh|look"), args(`{"at":"stone"}`), review("done"), answer("12 kg")},
		},
		"reflector": {
			[]reply{plan("weigh|look"), args(`{"at":"stone"}`), bad(askReview), bad(askReview), answer("?")},
			[]reply{review("done"), answer("12 kg")},
		},
		"finalizer": {
			[]reply{plan("weigh|look"), args(`{"at":"stone"}`), review("done"), answer(""), answer("")},
			[]reply{answer("12 kg")},
		},
	} {
		r := newRig(t, nil, test.first...)
		report := r.run("Weigh?")
		require.Equal(t, agent.StatusFailed, report.Status)
		require.Equal(t, name, report.Error.Node)
		r.model.script = test.second
		report = resume(t, r, agent.ResumeOptions{Retry: true})
		require.Equal(t, agent.StatusDone, report.Status)
		require.Equal(t, "12 kg", report.Answer)
		require.Equal(t, []string{"look stone"}, r.ran())
		r.requireScriptUsed()
	}
}

func TestTimeLimitLeadsToAnAnswer(t *testing.T) {
	t.Parallel()
	// The clock of the test stands still, so that only the deadline of the context counts.
	now := time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC)
	limit := func(c *agent.Config) {
		c.Limits.TaskTimeout = 50 * time.Millisecond
		c.Clock = func() time.Time { return now }
	}
	for _, tool := range []string{"look", "mark"} {
		script := []reply{plan("do|" + tool), args(`{"at":"stone"}`), answer("no time")}
		if tool == "mark" {
			script[1] = args(`{"text":"x"}`)
		}
		// In the bubble, time passes only when all is waiting, so that the deadline cannot come before the call.
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, limit, script...)
			r.hold = func(ctx context.Context, _ string) error { <-ctx.Done(); return ctx.Err() }
			report := r.run("Do.")
			require.Equal(t, agent.StatusFailed, report.Status)
			require.Equal(t, agent.KindLimit, report.Error.Kind)
			require.Contains(t, report.Error.Message, "50ms")
			require.Equal(t, "no time", report.Answer)
			require.Equal(t, "interrupted", report.Calls[0].Error.Kind, "the call is closed")
			require.Equal(t, "pending", states(report))
		})
	}
}

func TestTimeSpentBeforeAStopCounts(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC)
	r := newRig(t, func(c *agent.Config) {
		c.Limits.TaskTimeout = time.Hour
		c.Clock = func() time.Time { return now }
	})
	first := plan("weigh|look")
	first.during = func() { now = now.Add(time.Hour) }
	r.model.script = []reply{first, answer("no time")}
	report := r.run("Weigh?")
	require.Equal(t, agent.KindLimit, report.Error.Kind)
	require.Equal(t, "executor", report.Error.Node)
	require.Equal(t, time.Hour.Milliseconds(), report.DurationMS)
	require.Empty(t, r.ran())
}

func TestResumeUnderOtherSettingsSaysWhatDiffers(t *testing.T) {
	t.Parallel()
	saver := checkpoint.NewMemory()
	start := newRig(t, func(c *agent.Config) {
		c.Saver = saver
		c.Settings = map[string]string{"engine.model_path": "a.gguf", "agent.max_iterations": "6"}
	}, reply{ask: askPlan, err: errors.New("broken")})
	require.Equal(t, agent.StatusFailed, start.run("17 + 25?").Status)

	other := newRig(t, func(c *agent.Config) {
		c.Saver, c.Workspace = saver, "/elsewhere"
		c.Settings = map[string]string{"engine.model_path": "b.gguf", "agent.max_iterations": "6"}
	}, plan("answer|none"), answer("42"))
	_, err := other.runner.Resume(context.Background(), thread, agent.ResumeOptions{Retry: true})
	var differs *agent.SettingsError
	require.ErrorAs(t, err, &differs)
	require.Equal(t, []agent.Change{{"engine.model_path", "a.gguf", "b.gguf"}, {"workspace", "/ws", "/elsewhere"}}, differs.Changes)
	require.Contains(t, err.Error(), `engine.model_path was "a.gguf" and is now "b.gguf"`)
	require.Empty(t, other.model.questions())

	report := resume(t, other, agent.ResumeOptions{Retry: true, AllowChanges: true})
	require.Equal(t, "42", report.Answer)
}

func TestThreadsAndHistory(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil, plan("weigh the stone|look"), args(`{"at":"stone"}`), review("done"), answer("12 kg"))
	r.run("How heavy is the stone?")
	threads, err := r.runner.Threads(context.Background(), 10)
	require.NoError(t, err)
	require.Len(t, threads, 1)
	require.Equal(t, thread, threads[0].ID)
	require.Equal(t, "How heavy is the stone?", threads[0].Goal)
	require.Equal(t, agent.StatusDone, threads[0].Status)

	var nodes []string
	var fork, begin string
	for b, err := range r.runner.History(context.Background(), thread) {
		require.NoError(t, err)
		begin = b.ID
		for _, n := range b.Nodes {
			nodes = append(nodes, n)
			if n == "executor" {
				fork = b.ID
			}
		}
	}
	require.Equal(t, []string{"finalizer", "reflector", "executor", "planner"}, nodes)

	r.model.script = []reply{review("done"), answer("twelve")}
	report := resume(t, r, agent.ResumeOptions{From: fork})
	require.Equal(t, "twelve", report.Answer, "a fork goes on from the checkpoint")
	require.Equal(t, []string{"look stone"}, r.ran())
	for b := range r.runner.History(context.Background(), thread) {
		if b.Fork {
			require.Equal(t, fork, b.Parent)
		}
	}

	r.model.script = []reply{plan("answer|none"), answer("12 stone")}
	report = resume(t, r, agent.ResumeOptions{From: begin})
	require.Equal(t, "12 stone", report.Answer, "the first checkpoint has the task as its input")
}

func TestSecondOwnerIsToldWhoHasTheThread(t *testing.T) {
	t.Parallel()
	saver, err := sqlite.Open(context.Background(), filepath.Join(t.TempDir(), "c.sqlite"), sqlite.Options{})
	require.NoError(t, err)
	defer saver.Close()
	r := newRig(t, func(c *agent.Config) { c.Saver = saver }, plan("weigh|look"), args(`{"at":"stone"}`), review("done"), answer("12 kg"))
	var second error
	r.hold = func(context.Context, string) error {
		_, second = r.runner.Resume(context.Background(), thread, agent.ResumeOptions{})
		return nil
	}
	require.Equal(t, agent.StatusDone, r.run("Weigh?").Status)
	var busy *checkpoint.BusyError
	require.ErrorAs(t, second, &busy)
	require.Equal(t, thread, busy.Thread)
}
