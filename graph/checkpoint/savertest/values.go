package savertest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/llama-agent/llama-agent/graph/checkpoint"
)

func testValues(t *testing.T, s checkpoint.Saver) {
	grow(t, s, "t", 3)
	for seq, want := range map[int64]string{1: "item1", 2: "item1 item2", 3: "item1 item2 item3"} {
		got := load(t, s, "t", id("t", seq))
		require.Equal(t, want, joined(got.Values["list"]))
		require.Equal(t, fmt.Sprintf("last%d", seq), joined(got.Values["last"]))
		require.Equal(t, "once", joined(got.Values["first"]))
	}

	replaced := boundary("t", 4)
	replaced.Checkpoint.Channels = map[string]int64{"list": 4, "empty": 4}
	replaced.Values = []checkpoint.Value{{Channel: "list", Data: []byte("new")}, {Channel: "empty", Data: []byte{}}}
	save(t, s, replaced)
	got := load(t, s, "t", "")
	require.Len(t, got.Values, 2, "a channel that the checkpoint doesn't name has no value")
	require.Equal(t, "new", joined(got.Values["list"]))
	require.Len(t, got.Values["empty"], 1)
	require.Empty(t, got.Values["empty"][0])

	more := boundary("t", 5)
	more.Checkpoint.Channels = map[string]int64{"list": 5}
	more.Values = []checkpoint.Value{{Channel: "list", Delta: true, Prev: 4, Data: []byte("newer")}}
	save(t, s, more)
	require.Equal(t, "new newer", joined(load(t, s, "t", "").Values["list"]), "a new value is a beginning")
}

// testManyDeltas: two lists that grow at different times, with small and large items, beside a value that is never written again.
func testManyDeltas(t *testing.T, s checkpoint.Saver) {
	const n = 120
	var a, b []string
	at := map[string]int64{}
	for seq := int64(1); seq <= n; seq++ {
		next := boundary("t", seq)
		add := func(channel, item string) {
			next.Values = append(next.Values, checkpoint.Value{Channel: channel, Delta: true, Prev: at[channel], Data: []byte(item)})
			at[channel] = seq
		}
		if seq == 1 {
			next.Values = append(next.Values, checkpoint.Value{Channel: "fixed", Data: []byte("value")})
			at["fixed"] = 1
		}
		if seq%3 != 0 {
			a = append(a, fmt.Sprint("a", seq))
			add("a", a[len(a)-1])
		}
		if seq%50 == 10 {
			b = append(b, fmt.Sprint("b", seq)+strings.Repeat("+", 5000))
			add("b", b[len(b)-1])
		}
		next.Checkpoint.Channels = map[string]int64{}
		for channel, seq := range at {
			next.Checkpoint.Channels[channel] = seq
		}
		save(t, s, next)
	}
	got := load(t, s, "t", "")
	require.Equal(t, strings.Join(a, " "), joined(got.Values["a"]))
	require.Equal(t, strings.Join(b, " "), joined(got.Values["b"]))
	require.Equal(t, "value", joined(got.Values["fixed"]))
	got = load(t, s, "t", id("t", 61))
	require.Equal(t, strings.Join(a[:41], " "), joined(got.Values["a"]))
	require.Equal(t, strings.Join(b[:2], " "), joined(got.Values["b"]))
}

func testFork(t *testing.T, s checkpoint.Saver) {
	grow(t, s, "t", 3)
	b := boundary("t", 4)
	b.Checkpoint.Parent, b.Checkpoint.ParentSeq = id("t", 1), 1
	b.Checkpoint.Channels = map[string]int64{"list": 4}
	b.Values = []checkpoint.Value{{Channel: "list", Delta: true, Prev: 1, Data: []byte("branch")}}
	save(t, s, b)
	got := load(t, s, "t", "")
	require.Equal(t, "item1 branch", joined(got.Values["list"]))
	require.Equal(t, id("t", 1), got.Parent)
	require.Equal(t, "item1 item2 item3", joined(load(t, s, "t", id("t", 3)).Values["list"]))
	require.EqualValues(t, 4, load(t, s, "t", id("t", 2)).LastSeq)
}

func testIsolation(t *testing.T, s checkpoint.Saver) {
	data := []byte("mine")
	b := boundary("t", 1)
	b.Checkpoint.Channels = map[string]int64{"v": 1}
	b.Values = []checkpoint.Value{{Channel: "v", Data: data}}
	save(t, s, b)
	data[0] = 'X'
	b.Checkpoint.Channels["v"] = 99
	b.Checkpoint.Nodes[0] = "changed"
	got := load(t, s, "t", "")
	require.Equal(t, "mine", joined(got.Values["v"]))
	got.Values["v"][0][0] = 'X'
	got.Channels["v"] = 99
	require.Equal(t, "mine", joined(load(t, s, "t", "").Values["v"]))
	require.Equal(t, []string{"n1"}, load(t, s, "t", "").Nodes)
}
