package agent_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tmc/langchaingo/llms"

	"github.com/llama-agent/llama-agent/agent"
)

// sizedModel is a model that tells its context size and refuses what does not fit it.
type sizedModel struct {
	*fakeModel
	size int
}

func (m sizedModel) ContextSize() int { return m.size }

func (m sizedModel) CountTokens(_ context.Context, messages []llms.MessageContent, _ ...llms.CallOption) (int, error) {
	n := 0
	for _, message := range messages {
		n += 4 + len(strings.Fields(messageText(message)))
	}
	return n, nil
}

func (m sizedModel) GenerateContent(ctx context.Context, messages []llms.MessageContent, options ...llms.CallOption) (*llms.ContentResponse, error) {
	var o llms.CallOptions
	for _, option := range options {
		option(&o)
	}
	n, _ := m.CountTokens(ctx, messages)
	if n+o.MaxTokens > m.size {
		m.t.Errorf("a prompt of %d tokens and a reply of %d were sent to a context of %d", n, o.MaxTokens, m.size)
	}
	return m.fakeModel.GenerateContent(ctx, messages, options...)
}

func sized(r *rig, size, reply int) *rig {
	runner, err := agent.New(agent.Config{
		Model: sizedModel{r.model, size}, Tools: r.tools(r.t), Clock: steadyClock(), NewID: func() string { return "3f2a" },
		Limits: agent.Limits{MaxTokens: reply},
	})
	require.NoError(r.t, err)
	r.runner = runner
	return r
}

func TestResultLargerThanTheContextIsCut(t *testing.T) {
	t.Parallel()
	r := sized(newRig(t, nil, plan("read|look"), args(`{"at":"book"}`), review("done"), answer("ANANAS")), 1000, 100)
	r.texts["book"] = "The password is ANANAS. " + strings.Repeat("filler ", 5000) + "The end."
	report := r.run("What is the password?")
	require.Equal(t, agent.StatusDone, report.Status)
	for _, q := range r.model.questions() {
		prompt := q.flat(false)
		for _, part := range []string{"Rules:", "- look(at)", "- stone", "What is the password?"} {
			require.Contains(t, prompt, part, "never dropped")
		}
	}
	last := r.model.questions()[3].flat(false)
	require.Contains(t, last, "The password is ANANAS.")
	require.Contains(t, last, "The end.")
	require.Contains(t, last, "bytes left out here")
	require.Len(t, report.Notes, 1)
	require.Contains(t, report.Notes[0], "context is full")
	require.Contains(t, string(report.Calls[0].Result), strings.Repeat("filler ", 5000), "the stored result stays whole")
}

func TestTaskLargerThanTheContextIsAnErrorWithCounts(t *testing.T) {
	t.Parallel()
	r := sized(newRig(t, nil), 512, 100)
	report := r.run("The password is ANANAS-7734. " + strings.Repeat("filler ", 2000) + "What is the password?")
	require.Equal(t, agent.StatusFailed, report.Status)
	require.Equal(t, agent.KindContext, report.Error.Kind)
	require.Regexp(t, `take 2\d\d\d tokens and 100 are kept for the reply, but the context has 512`, report.Error.Message)
	require.Empty(t, r.model.questions(), "nothing shortened was sent")
}

func TestCutsOfTheContextStay(t *testing.T) {
	t.Parallel()
	r := sized(newRig(t, nil, plan("read|look", "see|look", "see more|look"), args(`{"at":"book"}`), args(`{"at":"stone"}`), args(`{"at":"lamp"}`), review("done"), answer("x")), 1000, 100)
	r.texts["book"] = strings.Repeat("filler ", 5000)
	require.Equal(t, agent.StatusDone, r.run("Read, see, see.").Status)
	requirePrefixes(t, r.model.questions()[2:])
}

func TestServerThatCutsPromptsIsNoticed(t *testing.T) {
	t.Parallel()
	third := func(r reply, tokens int) reply {
		r.info = map[string]any{"PromptTokens": tokens}
		return r
	}
	r := newRig(t, nil, third(plan("answer|none"), 500), third(answer("42"), 60))
	report := r.run(strings.Repeat("word ", 200))
	require.Len(t, report.Notes, 1)
	require.Contains(t, report.Notes[0], "only 60 tokens")
	require.Len(t, eventsOf[agent.Noted](r.events), 1)
}
