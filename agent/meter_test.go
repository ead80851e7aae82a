package agent

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tmc/langchaingo/llms"
	"pgregory.net/rapid"
)

// countingModel counts tokens as templates do that put more around some messages than around others, and keeps what it counted.
type countingModel struct {
	mu      sync.Mutex
	counted [][]llms.MessageContent
	fail    func(call int) error // of each call, from 1
}

func (*countingModel) GenerateContent(context.Context, []llms.MessageContent, ...llms.CallOption) (*llms.ContentResponse, error) {
	return nil, errors.ErrUnsupported
}

func (*countingModel) Call(context.Context, string, ...llms.CallOption) (string, error) {
	return "", errors.ErrUnsupported
}

func (*countingModel) ContextSize() int { return 1 << 20 }

func (m *countingModel) CountTokens(_ context.Context, messages []llms.MessageContent, _ ...llms.CallOption) (int, error) {
	m.mu.Lock()
	m.counted = append(m.counted, messages)
	call := len(m.counted)
	m.mu.Unlock()
	if m.fail != nil {
		if err := m.fail(call); err != nil {
			return 0, err
		}
	}
	return templated(messages), nil
}

func (m *countingModel) calls() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.counted)
}

// templated is a token for each word, 3 to 5 around each message by its role, and 11 before the first one.
func templated(messages []llms.MessageContent) int {
	around := map[llms.ChatMessageType]int{llms.ChatMessageTypeSystem: 5, llms.ChatMessageTypeHuman: 3, llms.ChatMessageTypeAI: 4}
	n := 11
	for _, m := range messages {
		n += around[m.Role] + len(strings.Fields(m.Parts[0].(llms.TextContent).Text))
	}
	return n
}

func TestMeterCountsWhatIsAroundTheMessagesOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		model := &countingModel{}
		m := &meter{model: model}
		asked := rapid.IntRange(1, 6).Draw(t, "counts")
		for range asked {
			messages := []llms.MessageContent{}
			want := 0
			for i := range rapid.IntRange(1, 5).Draw(t, "messages") {
				role, around := llms.ChatMessageTypeHuman, 3
				if i%2 == 1 {
					role, around = llms.ChatMessageTypeAI, 4
				}
				words := rapid.IntRange(0, 20).Draw(t, "words")
				messages = append(messages, llms.TextParts(role, strings.Repeat("word ", words)))
				want += around + words
			}
			if messages[len(messages)-1].Role == llms.ChatMessageTypeHuman {
				want -= 3 // it stands where a message stands anyway
			}
			if got := m.count(t.Context(), messages); got != want {
				t.Fatalf("%d tokens, not %d", got, want)
			}
		}
		if got := model.calls(); got != asked+1 {
			t.Fatalf("%d counts took %d renderings", asked, got)
		}
	})
}

func TestMeterIsSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	model := &countingModel{}
	m := &meter{model: model}
	const goroutines, each = 8, 50
	var group sync.WaitGroup
	for range goroutines {
		group.Go(func() {
			for n := range each {
				if got := m.count(t.Context(), []llms.MessageContent{llms.TextParts(llms.ChatMessageTypeHuman, strings.Repeat("a ", n))}); got != n {
					t.Errorf("%d tokens, not %d", got, n)
				}
			}
		})
	}
	group.Wait()
	require.LessOrEqual(t, model.calls(), goroutines*each+goroutines)
}

func TestMeterEstimatesWhenTheModelDoesNotCount(t *testing.T) {
	t.Parallel()
	text := []llms.MessageContent{llms.TextParts(llms.ChatMessageTypeHuman, strings.Repeat("abc ", 30))}
	const estimate, counted = 40, 30
	broken := errors.New("no tokenizer")
	for name, fail := range map[string]func(int) error{
		"at the messages": func(call int) error { return map[int]error{1: broken}[call] },
		"at the frame":    func(call int) error { return map[int]error{2: broken}[call] },
	} {
		m := &meter{model: &countingModel{fail: fail}}
		require.Equal(t, estimate, m.count(t.Context(), text), name)
		require.Equal(t, counted, m.count(t.Context(), text), "%s: what failed once is not kept", name)
	}
	always := &meter{model: &countingModel{fail: func(int) error { return broken }}}
	require.Equal(t, estimate, always.count(t.Context(), text))
}

// A conversation is counted once a turn and what is around it once.
func TestProjectCountsEachTurnOnce(t *testing.T) {
	t.Parallel()
	model := &countingModel{}
	r := &Runner{config: Config{Model: model, History: HistoryLimits{Turns: 100, Tokens: 1 << 20}}, flow: &flow{meter: &meter{model: model}}}
	var turns []Turn
	for i := range 20 {
		turns = append(turns, Turn{Number: i + 1, Goal: "what is it", Answer: "it is this"})
	}
	b, _ := r.Project(t.Context(), "c", "and now", turns)
	require.Len(t, b.History, 20)
	require.Equal(t, len(turns)+1, model.calls())
}
