package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/llama-agent/llama-agent/graph"
)

func start(t *testing.T, o options) string {
	t.Helper()
	var out strings.Builder
	require.NoError(t, run(t.Context(), o, &out))
	return out.String()
}

func TestRhymes(t *testing.T) {
	t.Parallel()
	require.Equal(t, `texts/humpty.txt has 19 different words
texts/jack.txt has 21 different words
texts/mary.txt has 19 different words
texts/star.txt has 20 different words
95 words, 66 different ones
     6 the
     5 a
     5 and
`, start(t, options{atOnce: 1, top: 3}))
	require.Contains(t, start(t, options{}), "95 words, 66 different ones\n", "all at once, no words listed")
}

func TestFileThatCannotBeRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	good, gone := filepath.Join(dir, "good.txt"), filepath.Join(dir, "gone.txt")
	require.NoError(t, os.WriteFile(good, []byte("One fish, two fish."), 0o600))
	out := start(t, options{files: []string{gone, good}, top: 9})
	require.Contains(t, out, "left out: open "+gone)
	require.Contains(t, out, "4 words, 3 different ones\n     2 fish\n     1 one\n     1 two\n")
	require.Contains(t, start(t, options{files: []string{gone}}), "0 words")
}

func TestNegativeLimit(t *testing.T) {
	t.Parallel()
	require.ErrorContains(t, run(t.Context(), options{atOnce: -1}, new(strings.Builder)), "MaxConcurrency is -1")
}

// The first tasks wait for each other, which they can only do when they run at the same time.
func TestRunsSoManyAtOnce(t *testing.T) {
	t.Parallel()
	const limit, all = 3, 12
	var (
		mu        sync.Mutex
		now, most int
		met       = make(chan struct{})
		meet      = sync.OnceFunc(func() { close(met) })
	)
	running := func(change int) {
		mu.Lock()
		defer mu.Unlock()
		now += change
		most = max(most, now)
		if now == limit {
			meet()
		}
	}
	read := func(string) ([]byte, error) {
		running(1)
		defer running(-1)
		<-met
		return []byte("word"), nil
	}
	g, err := newGraph(read, graph.Options{MaxConcurrency: limit})
	require.NoError(t, err)
	s, err := g.Invoke(t.Context(), graph.Update{files.Set(slices.Repeat([]string{"x"}, all))})
	require.NoError(t, err)
	require.Equal(t, map[string]int{"word": all}, counts.Get(s))
	require.Equal(t, limit, most)
}
