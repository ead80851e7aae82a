package llmstream_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tmc/langchaingo/llms"

	"github.com/llama-agent/llama-agent/graph"
	"github.com/llama-agent/llama-agent/graph/llmstream"
)

// parrot streams its chunks and answers with their concatenation.
type parrot struct {
	chunks []string
	mute   bool // it doesn't stream
	err    error
}

func (p *parrot) GenerateContent(ctx context.Context, _ []llms.MessageContent, options ...llms.CallOption) (*llms.ContentResponse, error) {
	var o llms.CallOptions
	for _, opt := range options {
		opt(&o)
	}
	var all string
	for _, c := range p.chunks {
		all += c
		if o.StreamingFunc != nil && !p.mute {
			if err := o.StreamingFunc(ctx, []byte(c)); err != nil {
				return nil, err
			}
		}
	}
	if p.err != nil {
		return nil, p.err
	}
	return &llms.ContentResponse{Choices: []*llms.ContentChoice{{Content: all}}}, nil
}

func (p *parrot) Call(ctx context.Context, prompt string, options ...llms.CallOption) (string, error) {
	return llms.GenerateFromSinglePrompt(ctx, p, prompt, options...)
}

var reply = graph.Value[string]("reply")

// ask is a graph with one node that asks the model twice.
func ask(t testing.TB, m llms.Model, options ...llms.CallOption) *graph.Graph {
	t.Helper()
	b := graph.New("chat", reply)
	b.Node("talk", func(ctx context.Context, _ graph.State) (graph.Update, error) {
		if _, err := llms.GenerateFromSinglePrompt(ctx, m, "hello", options...); err != nil {
			return nil, err
		}
		text, err := llms.GenerateFromSinglePrompt(ctx, m, "hello", options...)
		return graph.Update{reply.Set(text)}, err
	}).Edge(graph.Start, "talk")
	g, err := b.Compile(graph.Options{})
	require.NoError(t, err)
	return g
}

func messages(t testing.TB, g *graph.Graph) (got []string, err error) {
	t.Helper()
	for ev, err := range g.Stream(t.Context(), graph.Update{}, graph.Modes(graph.Messages)) {
		if err != nil {
			return got, err
		}
		require.Equal(t, "talk", ev.Node)
		require.Equal(t, "assistant", ev.Message.Role)
		_, n, _ := strings.Cut(ev.Message.ID, "-")
		got = append(got, n+" "+ev.Message.Text)
	}
	return got, nil
}

func TestTokensArriveAsMessages(t *testing.T) {
	t.Parallel()
	got, err := messages(t, ask(t, llmstream.New(&parrot{chunks: []string{"Hel", "lo ", "\xe4\xbd", "\xa0", "好"}})))
	require.NoError(t, err)
	require.Equal(t, []string{"1 Hel", "1 lo ", "1 你", "1 好", "2 Hel", "2 lo ", "2 你", "2 好"}, got)
}

// TestMessagesOfTwoModels has a node that uses two models.
func TestMessagesOfTwoModels(t *testing.T) {
	t.Parallel()
	first, second := llmstream.New(&parrot{chunks: []string{"a"}}), llmstream.New(&parrot{chunks: []string{"b"}})
	b := graph.New("chat", reply).Node("talk", func(ctx context.Context, _ graph.State) (graph.Update, error) {
		_, err1 := llms.GenerateFromSinglePrompt(ctx, first, "hello")
		_, err2 := llms.GenerateFromSinglePrompt(ctx, second, "hello")
		return nil, errors.Join(err1, err2)
	}).Edge(graph.Start, "talk")
	g, err := b.Compile(graph.Options{})
	require.NoError(t, err)
	texts := map[string]string{}
	for ev, err := range g.Stream(t.Context(), graph.Update{}, graph.Modes(graph.Messages)) {
		require.NoError(t, err)
		texts[ev.Message.ID] += ev.Message.Text
	}
	require.Len(t, texts, 2)
}

func TestModelThatDoesNotStream(t *testing.T) {
	t.Parallel()
	got, err := messages(t, ask(t, llmstream.New(&parrot{chunks: []string{"Hel", "lo"}, mute: true})))
	require.NoError(t, err)
	require.Equal(t, []string{"1 Hello", "2 Hello"}, got)
}

func TestCutCharacterIsNotLost(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	got, err := messages(t, ask(t, llmstream.New(&parrot{chunks: []string{"a\xe4\xbd"}, err: boom})))
	require.ErrorIs(t, err, boom)
	require.Equal(t, []string{"1 a", "1 \xe4\xbd"}, got)
}

func TestCallersStreamingFunctionStillRuns(t *testing.T) {
	t.Parallel()
	for _, mode := range []graph.Mode{graph.Messages, graph.Updates} {
		var heard string
		hear := llms.WithStreamingFunc(func(_ context.Context, chunk []byte) error { heard += string(chunk); return nil })
		g := ask(t, llmstream.New(&parrot{chunks: []string{"a", "b"}}), hear)
		for _, err := range g.Stream(t.Context(), graph.Update{}, graph.Modes(mode)) {
			require.NoError(t, err)
		}
		require.Equal(t, "abab", heard)
	}
}

func ExampleNew() {
	model := llmstream.New(&parrot{chunks: []string{"Hello", ", ", "world"}}) // any llms.Model
	b := graph.New("chat", reply)
	b.Node("talk", func(ctx context.Context, _ graph.State) (graph.Update, error) {
		text, err := llms.GenerateFromSinglePrompt(ctx, model, "Say hello.")
		return graph.Update{reply.Set(text)}, err
	}).Edge(graph.Start, "talk")
	g, err := b.Compile(graph.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for ev, err := range g.Stream(context.Background(), graph.Update{}, graph.Modes(graph.Messages)) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%s: %q\n", ev.Node, ev.Message.Text)
	}
	// Output:
	// talk: "Hello"
	// talk: ", "
	// talk: "world"
}
