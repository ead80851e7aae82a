package tui

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/llama-agent/llama-agent/app"
)

func TestListsOfTheChat(t *testing.T) {
	t.Parallel()
	s := sit(t, &talker{says: func(_ context.Context, write func(string)) error {
		write("Hello.")
		return nil
	}}, nil)
	s.see("the model is ready")
	s.types("first question\r")
	s.see("done in")
	s.types("/new\r")
	s.see("begins a conversation")
	s.types("second\r")
	s.see("done in")
	require.NoError(t, s.leave())

	rows, err := list(t.Context(), s.chat, listResume, time.Now())
	require.NoError(t, err)
	require.Len(t, rows, 1)
	require.Equal(t, []string{"conversation", "1 turn", "now", "first question"}, rows[0].cells)
	for _, kind := range []listKind{listModels, listArtifacts} {
		rows, err := list(t.Context(), s.chat, kind, time.Now())
		require.NoError(t, err)
		require.Empty(t, rows)
	}
	w, err := collect(t.Context(), s.chat)
	require.NoError(t, err)
	require.NotEmpty(t, w.tools)
	require.NotContains(t, w.tools[0].about, "\n")
	require.Len(t, w.conversations, 1)
	require.Empty(t, w.files, "the stores are none of the user's")
	m, is := stored(t.Context(), s.chat, "artifact://nothing").(documentMsg)
	require.True(t, is)
	require.ErrorContains(t, m.err, "there is no stored result")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, e := range []effect{listEffect{listResume}, turnsEffect{}, statusEffect{}, wordsEffect{}, documentEffect{"x"}} {
		require.NotNil(t, answer(ended, s.chat, e, time.Now()), "an error is an answer too")
	}
}

func TestModelsToChooseFrom(t *testing.T) {
	t.Parallel()
	no := false
	good := modelChoice(app.ModelFile{Path: "a.gguf", Size: "1.5B", Quantization: "Q4_K_M", MemoryBytes: 2_000_000_000, Fits: &no, Configured: true})
	require.Equal(t, []string{"1.5B", "Q4_K_M", "2.00 GB (does not fit)", "a.gguf (this one)"}, good.cells)
	require.Empty(t, good.broken)
	bad := modelChoice(app.ModelFile{Path: "b.gguf", Problem: "it is cut", Fix: "fetch it again"})
	require.Equal(t, "b.gguf: it is cut; fetch it again", bad.broken)
}

// What ends while a turn is under way, and what follows it, in the running interface.
func TestCancellingInARunningInterface(t *testing.T) {
	t.Parallel()
	s := sit(t, &talker{says: func(ctx context.Context, write func(string)) error {
		write("begun ")
		<-ctx.Done()
		return ctx.Err()
	}}, nil)
	s.see("the model is ready")
	s.types("one\r")
	s.see("begun")
	s.types("/cancel\r")
	s.see("interrupted; go on with /resume")
	s.types("/stats\r")
	s.see("session: 1")
	require.NoError(t, s.leave())
}
