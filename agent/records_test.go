package agent_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/llama-agent/llama-agent/agent"
	"github.com/llama-agent/llama-agent/artifacts"
	"github.com/llama-agent/llama-agent/graph/checkpoint"
	"github.com/llama-agent/llama-agent/graph/checkpoint/sqlite"
	"github.com/llama-agent/llama-agent/lifecycle"
	"github.com/llama-agent/llama-agent/tools"
)

func TestResultThatCannotBeStoredStaysInTheState(t *testing.T) {
	t.Parallel()
	broken := &brokenRecords{Records: openRecords(t)}
	broken.failing("Put", errBroken)
	r, report, names := unsent(t, tight(broken), nil, 100, 100)
	require.Equal(t, "ab", reviewed(r, names), "what cannot be restored is not compacted")
	require.Len(t, report.Notes, 2)
	require.Equal(t, "A result of look stays in the task's state: the disk is broken.", report.Notes[0])
	data := lastEvent(t, r.events, agent.EventContextStoreError)
	require.Equal(t, "look", data["tool"])
	require.Equal(t, len(scroll("a", 100)), data["bytes"])
	require.Contains(t, data["error"], errBroken.Error())
	for i, name := range names {
		require.Contains(t, string(report.Calls[i].Result), "secret-"+name)
	}
	for b, err := range r.runner.History(t.Context(), thread) {
		require.NoError(t, err)
		require.Contains(t, mustJSON(b.State), "secret-", "nothing is lost")
		break // the newest
	}
	require.NotContains(t, contextEvents(r.events), agent.EventContextCompacted)
}

// A result that cannot be read back is shown as its summary, which says so. The task goes on.
func TestResultThatCannotBeReadBack(t *testing.T) {
	t.Parallel()
	for name, err := range map[string]error{
		"a broken disk":    errBroken,
		"a gone record":    &lifecycle.UnknownError{Ref: "memory://0000000000000"},
		"a damaged record": &lifecycle.DamagedError{Reason: "the SHA-256 of its text is another"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			broken := &brokenRecords{Records: openRecords(t)}
			l := tight(broken)
			l.TriggerTokens = 100_000
			r := counted(t, l, nil, plan("read|look|a"), review("done"), answer("read"))
			r.texts["a"] = "The first line.\n" + scroll("a", 300)
			r.hold = func(context.Context, string) error { broken.failing("Get", err); return nil }
			report := r.run("Goal.")
			require.Equal(t, agent.StatusDone, report.Status)
			prompt := r.asked(askReview).flat(false)
			require.Contains(t, prompt, "The first line.")
			require.NotContains(t, prompt, "secret-a")
			require.Regexp(t, `\[shortened: these are parts of \d{4} bytes; the whole is memory://`, prompt)
			require.Contains(t, lastEvent(t, r.events, agent.EventContextStoreError)["error"], err.Error())
			require.Contains(t, strings.Join(report.Notes, "\n"), "reading the result of look: "+err.Error())
			require.Equal(t, "null", mustJSON(report.Calls[0].Result))

			broken.failing("Get", nil)
			again, resumeErr := r.runner.Resume(t.Context(), thread, agent.ResumeOptions{})
			require.NoError(t, resumeErr)
			require.Contains(t, string(again.Calls[0].Result), "secret-a", "it was not lost, and is there when the store is")
		})
	}
}

func TestResumeWithTheLifecycleOff(t *testing.T) {
	t.Parallel()
	saver := checkpoint.NewMemory()
	l := tight(openRecords(t))
	r := counted(t, l, func(c *agent.Config) { c.Saver = saver }, plan("read|look|a"), reply{ask: askReview, err: errBroken})
	r.texts["a"] = scroll("a", 300)
	report := r.run("Goal.")
	require.Equal(t, agent.StatusFailed, report.Status)

	off := counted(t, nil, func(c *agent.Config) { c.Saver = saver }, review("done"), answer("in part"))
	report, err := off.runner.Resume(t.Context(), thread, agent.ResumeOptions{Retry: true, Observe: off.observe})
	require.NoError(t, err)
	require.Equal(t, agent.StatusDone, report.Status)
	require.NotContains(t, off.asked(askReview).flat(false), "secret-a")
	require.Contains(t, off.asked(askReview).flat(false), "[shortened: ")
	require.Contains(t, strings.Join(report.Notes, "\n"), "memory.lifecycle_context is off")
	require.Contains(t, contextEvents(off.events), agent.EventContextStoreError)

	on := counted(t, l, func(c *agent.Config) { c.Saver = saver })
	report, err = on.runner.Resume(t.Context(), thread, agent.ResumeOptions{})
	require.NoError(t, err)
	require.Contains(t, string(report.Calls[0].Result), "secret-a")
}

// Compaction on top of compaction: a call is never without its result, which the strict model refuses, and the goal stays as it was.
func TestManyCompactionsInARow(t *testing.T) {
	t.Parallel()
	const goal = "Find \"the key\":\n  1. in a–h,\n  2. <b>not</b> elsewhere `or` {else}."
	l := tight(openRecords(t))
	l.TriggerTokens, l.BudgetTokens = 150, 200
	var script []reply
	for round := range 5 {
		var steps []string
		for i := range 2 {
			steps = append(steps, fmt.Sprintf("read|look|%d%d", round, i))
		}
		script = append(script, plan(steps...))
		if round < 4 {
			script = append(script, review("continue", "more"))
		}
	}
	r := counted(t, l, nil, append(script, review("done"), answer("read"))...)
	for round := range 5 {
		for i := range 2 {
			name := fmt.Sprintf("%d%d", round, i)
			r.texts[name] = scroll(name, 100)
		}
	}
	report := r.run(goal)
	require.Equal(t, agent.StatusDone, report.Status, "%v", report.Error)
	compactions := 0
	for _, e := range contextEvents(r.events) {
		if e == agent.EventContextCompacted {
			compactions++
		}
	}
	require.GreaterOrEqual(t, compactions, 4)
	for _, q := range r.model.questions() {
		require.Contains(t, q.flat(false), "Task: "+goal+"\n")
	}
	for i, call := range report.Calls {
		require.Contains(t, string(call.Result), fmt.Sprintf("secret-%d%d", i/2, i%2))
	}
	last := r.model.questions()[len(r.model.questions())-1].flat(false)
	require.Equal(t, 9, strings.Count(last, "[shortened: "), "all but the newest")
}

// The files grow with what is new, not with steps × history.
func TestStorageGrowsWithWhatIsNew(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("stores megabytes")
	}
	const size = 100_000
	stored := map[int]int64{}
	for _, steps := range []int{10, 20, 40} {
		dir := t.TempDir()
		saver, err := sqlite.Open(t.Context(), filepath.Join(dir, "checkpoints.sqlite"), sqlite.Options{})
		require.NoError(t, err)
		records, err := lifecycle.Open(t.Context(), filepath.Join(dir, "records.sqlite"), lifecycle.Options{})
		require.NoError(t, err)
		store, err := artifacts.Open(t.Context(), filepath.Join(dir, "artifacts"), artifacts.Options{})
		require.NoError(t, err)
		l := agent.DefaultLifecycle(records)
		l.MinCompactionBytes = 500 // the descriptions of stored results are compacted too
		l.TriggerTokens = 1000
		var planned []string
		for i := range steps {
			planned = append(planned, fmt.Sprintf("read|look|%d", i))
		}
		r := counted(t, l, func(c *agent.Config) {
			c.Saver, c.Limits = saver, agent.Limits{MaxPlanSteps: 41, MaxToolCalls: 40}
			c.Archive = &tools.Virtualizer{Store: store, InlineMaxBytes: 8192, Limits: artifacts.DefaultLimits()}
		}, plan(planned...), review("done"), answer("read"))
		random := rand.NewChaCha8([32]byte{1})
		for i := range steps {
			raw := make([]byte, size*3/4)
			_, err := random.Read(raw)
			require.NoError(t, err)
			r.texts[fmt.Sprint(i)] = base64.StdEncoding.EncodeToString(raw) // nothing compresses it
		}
		report := r.run("Read them.")
		require.Equal(t, agent.StatusDone, report.Status, "%v", report.Error)
		require.Less(t, report.CheckpointBytes, int64(steps)*12_000, "checkpoints hold descriptions and summaries")
		require.NoError(t, saver.Close())
		require.NoError(t, records.Close())
		require.NoError(t, store.Close())
		require.NoError(t, filepath.WalkDir(dir, func(_ string, entry os.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			info, err := entry.Info()
			if err == nil {
				stored[steps] += info.Size()
			}
			return err
		}))
		require.Less(t, stored[steps], int64(steps)*size*3/2, "each result is stored about once")
	}
	require.Less(t, stored[40]-stored[20], 5*(stored[20]-stored[10])/2, "twice the steps take about twice the room: %v", stored)
}

// The summary of a stored result still names it, so that the model can look into it.
func TestSummariesNameStoredResults(t *testing.T) {
	t.Parallel()
	for _, goal := range []string{"Where is the key?", "Is line 200 of any interest?", "Goal.", "漢字"} {
		store := openArtifacts(t)
		reviewed := func(c *agent.Config) {
			archived(t, store)(c)
			c.TrustPlan = false // also what shows the answer is reviewed
		}
		r := counted(t, tight(openRecords(t)), reviewed, plan("read|look|a", "read|look|b"), review("done"), answer("read"))
		r.texts["a"], r.texts["b"] = book(), book()+"and more\n"
		report := r.run(goal)
		prompt := r.asked(askReview).flat(false)
		require.Contains(t, prompt, "[shortened: ")
		require.Contains(t, prompt, report.Calls[0].ArtifactID, "%s:\n%s", goal, prompt)
	}
}

// Records that were removed behind the task's back.
func TestReportWithoutRecords(t *testing.T) {
	t.Parallel()
	store := openRecords(t)
	r, report, _ := unsent(t, tight(store), nil, 100, 100)
	_, err := store.Remove(t.Context(), thread)
	require.NoError(t, err)
	again, err := r.runner.Resume(t.Context(), thread, agent.ResumeOptions{})
	require.NoError(t, err)
	require.Equal(t, report.Answer, again.Answer)
	require.Len(t, again.Notes, 2)
	require.Regexp(t, `^reading the result of look: there is no record "memory://\w+"`, again.Notes[0])
	require.Equal(t, "null", mustJSON(again.Calls[0].Result))
}
