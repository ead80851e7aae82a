package editor

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestHistory(t *testing.T) {
	t.Parallel()
	var e Editor
	e.Up()
	e.Down()
	e.SetHistory([]string{"one", "two\nlines"})
	e.Insert("draft")
	e.Up()
	require.Equal(t, "two\nlines", e.Text())
	e.Up()
	require.Equal(t, "one", e.Text(), "the next key goes on in the history")
	e.Up()
	require.Equal(t, "one", e.Text())
	e.Insert("!")
	e.Down()
	require.Equal(t, "two\nlines", e.Text())
	e.Left()
	e.Up()
	require.Equal(t, "two\nlines", e.Text(), "after another key, up is up")
	e.Up()
	require.Equal(t, "one!", e.Text(), "a changed entry is kept")
	e.Down()
	e.Down()
	require.Equal(t, "draft", e.Text(), "and so is the draft")
	require.False(t, e.HistoryForward())
	e.Up()
	e.Up()
	require.Equal(t, "one!", e.Submit())
	require.Equal(t, []string{"one", "two\nlines", "one!"}, e.History())
	require.False(t, e.HistoryForward())
	e.Up()
	e.Up()
	e.Up()
	require.Equal(t, "one", e.Text(), "what was submitted is the entry as it was")
}

func TestHistoryKeepsWhatIsWorthIt(t *testing.T) {
	t.Parallel()
	var e Editor
	for _, text := range []string{"a", "a", "  \n", "b", "a"} {
		e.Insert(text)
		require.Equal(t, text, e.Submit())
	}
	require.Equal(t, []string{"a", "b", "a"}, e.History())
	for i := range maxHistory {
		e.Insert(fmt.Sprint(i))
		e.Submit()
	}
	require.Len(t, e.History(), maxHistory)
	require.Equal(t, "0", e.History()[0])
	long := make([]string, maxHistory+5)
	e.SetHistory(long)
	require.Len(t, e.History(), maxHistory)
}
