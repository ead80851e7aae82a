package main

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// talk runs the program once with these lines as its input.
func talk(t *testing.T, o options, lines ...string) string {
	t.Helper()
	var out strings.Builder
	require.NoError(t, run(t.Context(), o, strings.NewReader(strings.Join(lines, "\n")), &out))
	return out.String()
}

func TestRemembersConversationAndUser(t *testing.T) {
	t.Parallel()
	o := options{file: filepath.Join(t.TempDir(), "chat.sqlite"), thread: "main", user: "me"}
	require.Equal(t, `A new conversation, "main".
you> You haven't told me your name.
you> you> I see. That was your message 2 here.
     (noted: Your name is Zoë.)
you> 
`, talk(t, o, "What is my name?", "", "Hello! My name is Zoë."), "an empty line is no message")

	require.Equal(t, `Conversation "main" goes on after 4 messages.
you> You began with "What is my name?".
you> Your name is Zoë.
you> 
`, talk(t, o, "What did I say first?", "And what is my name?"), "a second run remembers")

	o.thread = "other"
	require.Equal(t, `A new conversation, "other".
you> Your name is Zoë.
you> 
`, talk(t, o, "What is my name?"), "facts are the user's, not the thread's")

	o.user = "Ada"
	require.Contains(t, talk(t, o, "What is my name?"), "You haven't told me your name.")
}

// stopper ends a run in the middle of an answer.
type stopper struct {
	strings.Builder
	cancel context.CancelFunc
}

func (s *stopper) Write(p []byte) (int, error) {
	if strings.Contains(string(p), "your ") {
		s.cancel()
	}
	return s.Builder.Write(p)
}

func TestFinishesAnAnswerThatWasStopped(t *testing.T) {
	t.Parallel()
	o := options{file: filepath.Join(t.TempDir(), "chat.sqlite"), thread: "main", user: "me"}
	ctx, cancel := context.WithCancel(t.Context())
	out := stopper{cancel: cancel}
	err := run(ctx, o, strings.NewReader("My name is Zoë."), &out)
	require.ErrorIs(t, err, context.Canceled)
	require.NotContains(t, out.String(), "noted")

	require.Regexp(t, `^Conversation "main" goes on after \d messages.\n(I see. That was your message 1 here.\n)?     \(noted: Your name is Zoë.\)\n`+
		`you> You began with "My name is Zoë.".\nyou> \n$`, talk(t, o, "What did I say?"), "the answer may have ended before it was stopped")
	require.Contains(t, talk(t, o), "after 4 messages")
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errors.New("the line is dead") }

func TestErrors(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	o := options{file: filepath.Join(dir, "chat.sqlite"), thread: "main", user: "me"}
	require.ErrorContains(t, run(t.Context(), o, broken{}, new(strings.Builder)), "the line is dead")
	o.file = dir
	require.ErrorContains(t, run(t.Context(), o, strings.NewReader(""), new(strings.Builder)), dir)
}
