package main

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/llama-agent/llama-agent/graph"
)

func defaults(t *testing.T) options {
	t.Helper()
	return options{file: filepath.Join(t.TempDir(), "approval.sqlite"), thread: "reply", request: "Where is my parcel?"}
}

// start runs the program once.
func start(t *testing.T, o options, input string) string {
	t.Helper()
	var out strings.Builder
	require.NoError(t, run(t.Context(), o, strings.NewReader(input), &out))
	return out.String()
}

func TestChangeAndSend(t *testing.T) {
	t.Parallel()
	require.Equal(t, `Writing a reply.

    Dear customer,
    you asked: "Where is my parcel?" We look into it.

Send this? (yes, no, or what to change) Send this? (yes, no, or what to change) Writing a reply.

    Dear customer,
    you asked: "Where is my parcel?" We look into it.
    (Changed: Be kinder!)

Send this? (yes, no, or what to change) Sending in 0s. Ctrl-C stops it.
Sent: Dear customer, you asked: "Where is my parcel?" We look into it. (Changed: Be kinder!)
Done: the reply was sent as mail 1.
`, start(t, defaults(t), "\nBe kinder!\nyes\n"))
}

func TestAnswerAtTheNextStart(t *testing.T) {
	t.Parallel()
	o := defaults(t)
	require.Contains(t, start(t, o, ""), "The question stays open")

	o.answer = "no"
	second := start(t, o, "")
	require.NotContains(t, second, "Writing", "what was written is kept")
	require.Contains(t, second, "Continuing reply \"reply\".\n")
	require.Contains(t, second, "(yes, no, or what to change) no\nDone: the reply was dropped.\n")

	o.answer = "yes"
	require.Contains(t, start(t, o, ""), "Sent: ", "a reply that is done is followed by another")
}

// stopper cancels a run when it writes a text.
type stopper struct {
	strings.Builder
	at     string
	cancel context.CancelFunc
}

func (s *stopper) Write(p []byte) (int, error) {
	if strings.Contains(string(p), s.at) {
		s.cancel()
	}
	return s.Builder.Write(p)
}

func TestStopAndContinue(t *testing.T) {
	t.Parallel()
	o := defaults(t)
	stopAt := func(at, input string, wait time.Duration) string {
		ctx, cancel := context.WithCancel(t.Context())
		out := stopper{at: at, cancel: cancel}
		stopped := o
		stopped.wait = wait
		require.ErrorIs(t, run(ctx, stopped, strings.NewReader(input), &out), context.Canceled)
		return out.String()
	}
	stopAt("Writing", "", 0)
	stopAt("Sending", "yes", time.Hour)

	last := start(t, o, "")
	require.NotContains(t, last, "Send this?", "the answer is kept")
	require.Equal(t, 1, strings.Count(last, "Sent: "))
	require.Contains(t, last, "Done: the reply was sent")
}

func TestStopAtTheQuestion(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := ask(ctx, new(strings.Builder), graph.Question{Value: []byte(`"text"`)}, "", make(chan string))
	require.ErrorIs(t, err, context.Canceled)
}
