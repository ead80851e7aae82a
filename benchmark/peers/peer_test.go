package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/llama-agent/llama-agent/benchmark"
)

// fakePeer as the first argument makes the test binary a peer, which the second argument tells how to behave.
const fakePeer = "fake-peer"

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == fakePeer {
		beFake(os.Args[2])
		return
	}
	os.Exit(m.Run())
}

// beFake answers jobs. It is slow, ends or fails when the goal says so.
func beFake(mode string) {
	if mode == "broken" {
		return
	}
	fmt.Println(`{"name":"fake 1","load_ms":5}`)
	for lines := bufio.NewReader(os.Stdin); ; {
		line, err := lines.ReadBytes('\n')
		var asked job
		if err != nil || json.Unmarshal(line, &asked) != nil {
			return
		}
		switch asked.Goal {
		case "hang":
			_, _ = io.Copy(io.Discard, lines) // until nobody asks any more
		case "die":
			return
		case "err":
			fmt.Println(`{"status":"failed","error":"no memory"}`)
		default:
			fmt.Println(`{"status":"done","answer":"42 apples","tools":["read_file"],"duration_ms":7,"evaluated_tokens":9,"first_step_ms":3,"first_step_evaluated":4}`)
		}
	}
}

// fake is a bench with one fake peer.
func fake(t *testing.T, mode string, lasting bool, cases ...benchmark.Case) (*bench, maker) {
	t.Helper()
	program, err := os.Executable()
	require.NoError(t, err)
	work := t.TempDir()
	r, err := newResults(filepath.Join(work, "results.jsonl"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.close()) })
	b := &bench{
		options: options{limit: time.Minute}, suite: &benchmark.Suite{Seed: 42}, cases: cases, work: work, results: r,
		say: func(string, ...any) {}, prompts: map[string]*prompt{},
	}
	asked := &prompt{Messages: []message{{"system", "facts"}}}
	for _, key := range []string{warmup.ID, secondGoal} {
		b.prompts[key] = asked
	}
	for _, c := range cases {
		b.prompts[c.ID] = asked
		require.NoError(t, os.MkdirAll(b.workspace(c), 0o755))
	}
	return b, maker{system: llamaServer, command: []string{program, fakePeer, mode}, lasting: lasting}
}

func TestPeerDoesItsTasks(t *testing.T) {
	t.Parallel()
	for _, lasting := range []bool{false, true} {
		good := benchmark.Case{ID: "good", Goal: "count", ExpectedStatus: "done", ExpectedContains: []string{"42"}}
		wrong := benchmark.Case{ID: "wrong", Goal: "count", ExpectedStatus: "done", ExpectedContains: []string{"43"}}
		broken := benchmark.Case{ID: "broken", Goal: "err", ExpectedStatus: "done"}
		b, m := fake(t, "", lasting, good, wrong, broken)
		require.NoError(t, b.peerTasks(t.Context(), m, trunk, 1))
		var got []string
		for _, r := range b.results.all {
			got = append(got, fmt.Sprintf("%s %s: %v, %q, %q, %d tokens", r.Kind, r.Case, r.Right, r.Faults, r.Error, r.EvaluatedTokens))
			require.Equal(t, "fake 1", r.Version)
			require.InDelta(t, 5, r.LoadMS, 1e-9)
		}
		want := []string{
			`task good: true, [], "", 9 tokens`,
			`task wrong: false, ["the answer lacks \"43\""], "", 9 tokens`,
			`task broken: false, [], "no memory", 0 tokens`,
			`process : false, [], "", 0 tokens`,
			`second broken: false, [], "", 9 tokens`,
			`process : false, [], "", 0 tokens`,
		}
		if lasting { // its process is the same for the second run
			want = append(want[:3:3], want[4:]...)
		}
		require.Equal(t, want, got)
	}
}

func TestPeerIsStartedAgainAfterATaskThatHangsOrDies(t *testing.T) {
	t.Parallel()
	hang := benchmark.Case{ID: "a", Goal: "hang", ExpectedStatus: "done"}
	die := benchmark.Case{ID: "b", Goal: "die", ExpectedStatus: "done"}
	good := benchmark.Case{ID: "c", Goal: "count", ExpectedStatus: "done"}
	b, m := fake(t, "", false, hang, good)
	b.limit = 3 * time.Second
	require.NoError(t, b.peerTasks(t.Context(), m, idiomatic, 1))
	require.Len(t, b.results.all, 3)
	require.Contains(t, b.results.all[0].Error, errLimit.Error())
	require.True(t, b.results.all[1].Right)
	require.Equal(t, kindProcess, b.results.all[2].Kind)

	b, m = fake(t, "", false, die, good)
	require.NoError(t, b.peerTasks(t.Context(), m, idiomatic, 1))
	require.Contains(t, b.results.all[0].Error, "it ended")
	require.True(t, b.results.all[1].Right)
}

func TestPeerThatDoesNotStart(t *testing.T) {
	t.Parallel()
	c := benchmark.Case{ID: "c", Goal: "count"}
	b, m := fake(t, "broken", false, c)
	require.NoError(t, b.peerTasks(t.Context(), m, idiomatic, 1), "what is wrong with a peer ends no run")
	require.Len(t, b.results.all, 1)
	require.Contains(t, b.results.all[0].Error, "starting llama-server: it ended")

	m.command[0] = filepath.Join(t.TempDir(), "missing")
	_, err := m.start(t.Context(), &b.options, trunk, io.Discard)
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestKillOfAPeerIsMeasuredFromItsSecondStart(t *testing.T) {
	t.Parallel()
	c, err := killCase()
	require.NoError(t, err)
	b, m := fake(t, "", true, c)
	require.NoError(t, b.peerKill(t.Context(), m, c))
	require.Len(t, b.results.all, 1)
	one := b.results.all[0]
	require.Equal(t, kindKill, one.Kind)
	require.Empty(t, one.Error)
	require.Positive(t, one.RestartMS)
}

func TestRunThatIsStopped(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	b, m := fake(t, "", false, benchmark.Case{ID: "c", Goal: "hang"})
	b.say = func(format string, _ ...any) {
		if strings.Contains(format, "layout") {
			cancel()
		}
	}
	require.ErrorIs(t, b.peerTasks(ctx, m, idiomatic, 1), context.Canceled)
	require.Empty(t, b.results.all, "it says nothing about the peer")
}
