package agent_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tmc/langchaingo/llms"

	"github.com/llama-agent/llama-agent/agent"
	"github.com/llama-agent/llama-agent/lifecycle"
)

// compactingDiary is the name of the diary of a task with a lifecycle context, large results and compactions.
const compactingDiary = "compacting"

// journal is a model that writes down which prompts it is sent, beside the diary.
type journal struct{ oracle }

func (j journal) GenerateContent(ctx context.Context, messages []llms.MessageContent, options ...llms.CallOption) (*llms.ContentResponse, error) {
	var o llms.CallOptions
	for _, option := range options {
		option(&o)
	}
	q := question{kind: kindOf(o), messages: messages}
	if problem := malformed(messages); problem != "" {
		return nil, fmt.Errorf("%w: %s", errRefused, problem)
	}
	f, err := os.OpenFile(j.path+".prompts", os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	text := q.flat(false)
	_, err = fmt.Fprintf(f, "%s %x %d\n", strings.TrimSpace(q.kind+" "+q.tool()), sha256.Sum256([]byte(text)), strings.Count(text, "[shortened: "))
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	return j.oracle.GenerateContent(ctx, messages, options...)
}

// compacting gives the runner of a crash test a lifecycle context in which every result but the newest is compacted.
func compacting(t require.TestingT, d *diary, c *agent.Config, w *world) {
	records, err := lifecycle.Open(context.Background(), filepath.Join(filepath.Dir(d.path), "records.sqlite"), lifecycle.Options{Clock: steadyClock()})
	require.NoError(t, err)
	if t, ok := t.(*testing.T); ok {
		t.Cleanup(func() { require.NoError(t, records.Close()) })
	}
	c.Lifecycle = tight(records)
	c.Lifecycle.BudgetTokens = 100
	c.Model = journal{oracle{d}}
	w.texts["stone"] = "the stone weighs 12 kg\n" + scroll("stone", 400)
	w.texts["ledger"] = "table:41 rows\n" + scroll("ledger", 400)
}

func prompts(t *testing.T, d *diary) []string {
	t.Helper()
	b, err := os.ReadFile(d.path + ".prompts")
	require.NoError(t, err)
	return strings.Split(strings.TrimSpace(string(b)), "\n")
}

// A task that is killed anywhere and resumed sends the prompts that it would have sent, byte for byte.
func TestACompactedTaskResumesWithTheSamePrompts(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a process for each point")
	}
	t.Parallel()
	undisturbed := &diary{path: filepath.Join(t.TempDir(), compactingDiary), count: map[string]int{}}
	runner, saver := crashRunner(t, undisturbed)
	report, err := runner.Run(t.Context(), agent.Task{Goal: "Weigh, mark and count."})
	require.NoError(t, err)
	require.NoError(t, saver.Close())
	require.Equal(t, agent.StatusDone, report.Status, "%v", report.Error)
	want := prompts(t, undisturbed)
	require.Len(t, want, 6)
	require.True(t, strings.HasSuffix(want[5], " 2"), "the answer saw two summaries: %v", want)
	for _, point := range []string{
		"boundary#2", "intent#3", "look stone#1", "result#3", "boundary#3", "model arguments of query#1", "query ledger#1", "result#7", "boundary#5",
		"model review#1", "result#8", "boundary#6", "result#9",
	} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			d := killAtIn(t, compactingDiary, point)
			runner, saver := crashRunner(t, d)
			defer saver.Close()
			again, err := runner.Resume(context.Background(), thread, agent.ResumeOptions{})
			require.NoError(t, err)
			require.Equal(t, agent.StatusDone, again.Status, "%v", again.Error)
			// What the process was in the middle of is asked twice, with the same bytes.
			require.Equal(t, want, slices.Compact(prompts(t, d)))
			for i := range report.Calls {
				require.Equal(t, string(report.Calls[i].Result), string(again.Calls[i].Result), "the report has the whole")
			}
		})
	}
}
