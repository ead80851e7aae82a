package sqlite

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/llama-agent/llama-agent/graph/checkpoint"
)

// read decodes a record of any kind, and says how many of its values are elsewhere.
func read(kind byte, record []byte) (v any, large int, err error) {
	c := coder{buf: record, reading: true}
	switch kind % 5 {
	case 0:
		b := &boundary{}
		b.Seq = 1000
		c.boundary(b)
		b.large, b.largeResults = nil, nil
		v = b
	case 1:
		r := &checkpoint.Result{}
		c.version()
		c.result(r)
		v = r
	case 2:
		s := &spaceRecord{}
		c.space(s)
		v = s
	case 3:
		e := &checkpoint.Effect{}
		c.effect(e)
		v = e
	default:
		l := &checkpoint.Lease{}
		c.lease(l)
		v = l
	}
	return v, len(c.large), c.err
}

func write(v any) []byte {
	c := coder{}
	switch v := v.(type) {
	case *boundary:
		c.boundary(v)
	case *checkpoint.Result:
		c.version()
		c.result(v)
	case *spaceRecord:
		c.space(v)
	case *checkpoint.Effect:
		c.effect(v)
	case *checkpoint.Lease:
		c.lease(v)
	}
	return c.buf
}

// FuzzRecord: whatever bytes a record has, reading it doesn't panic, and what is read means the same when written and read
// again.
func FuzzRecord(f *testing.F) {
	now := time.UnixMicro(1_700_000_000_000_000).UTC()
	b := &boundary{}
	b.Seq, b.ParentSeq, b.Parent, b.Run, b.Shape = 1000, 999, "01890a5d-ac96-774b-bcce-b302099a8057", "run", "0123456789abcdef"
	b.Source, b.Time, b.Nodes, b.Next = checkpoint.SourceLoop, now, []string{"a", "b"}, []string{"a"}
	b.Channels = map[string]int64{"list": 1000, "x": 3}
	b.Tasks = []checkpoint.Task{{ID: "1f2e", Node: "a", Send: true, Private: []checkpoint.Write{{Channel: "x", Op: "set", Data: []byte("1")}}}}
	b.Joins = map[string][]string{"a+b": {"a"}}
	b.values = []checkpoint.Value{{Channel: "list", Delta: true, Prev: 999, Data: []byte(`["item"]`)}}
	r := checkpoint.Result{Task: "1f2e", Node: "a", Done: true, Writes: []checkpoint.Write{{Channel: "list", Op: "add", Data: []byte(`["item"]`)}},
		Interrupts: []checkpoint.Interrupt{{ID: "q", Value: []byte("1")}}, Answers: [][]byte{[]byte("2")}, Error: "it broke",
		Nested: []checkpoint.Nested{{Namespace: "sub", Node: "n", Answer: []byte("3")}}}
	b.results = []checkpoint.Result{r}
	for kind, v := range []any{b, &r,
		&spaceRecord{created: now, updated: now, status: checkpoint.StatusPending, next: []string{"a"}, bytes: 5, newest: newest{7, "id", 9}},
		&checkpoint.Effect{Started: now, Done: true, Result: []byte("r")},
		&checkpoint.Lease{Owner: "me", Process: checkpoint.CurrentProcess(), Acquired: now, Expires: now},
	} {
		record := write(v)
		f.Add(byte(kind), record)
		f.Add(byte(kind), record[:len(record)/2])
		f.Add(byte(kind), bytes.Repeat([]byte{0xff}, 40))
	}
	f.Fuzz(func(t *testing.T, kind byte, record []byte) {
		v, large, err := read(kind, record)
		if err != nil || large > 0 {
			return
		}
		again, _, err := read(kind, write(v))
		require.NoError(t, err)
		require.True(t, reflect.DeepEqual(v, again), "%+v, %+v", v, again)
	})
}

func TestRecordRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		b := genBoundary(t)
		c := coder{}
		c.boundary(b)
		got := &boundary{}
		got.Thread, got.Namespace, got.Seq, got.ID = b.Thread, b.Namespace, b.Seq, b.ID
		d := coder{buf: bytes.Clone(c.buf), reading: true}
		d.boundary(got)
		require.NoError(t, d.err)
		require.Empty(t, d.buf, "all of it is read")
		require.Len(t, d.large, len(c.large))
		for i, l := range d.large {
			require.Equal(t, c.large[i].hash, l.hash)
			require.Equal(t, len(*c.large[i].data), l.size)
			*l.data = *c.large[i].data
		}
		got.large, got.largeResults = nil, nil
		require.True(t, reflect.DeepEqual(b, got), "%+v, %+v", b, got)
	})
}

var names = rapid.SampledFrom([]string{"a", "b", "trail", "名前", "", "with space", strings.Repeat("long", 30)})

func genData(t *rapid.T) []byte {
	size := rapid.SampledFrom([]int{0, 1, 3, 4, 100, blobSize - 1, blobSize, 5000}).Draw(t, "size")
	return bytes.Repeat([]byte{rapid.Byte().Draw(t, "byte")}, size)
}

func genID(t *rapid.T) string {
	return rapid.OneOf(
		rapid.StringMatching(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`),
		rapid.StringMatching(`[0-9a-f]{0,40}`), rapid.StringMatching(`[0-9A-Fa-f-]{36}`), rapid.String(),
	).Draw(t, "id")
}

// several returns nil or a list of a few items.
func several[T any](t *rapid.T, item func(*rapid.T) T) (out []T) {
	for range rapid.SampledFrom([]int{0, 0, 1, 2}).Draw(t, "items") {
		out = append(out, item(t))
	}
	return out
}

func genName(t *rapid.T) string { return names.Draw(t, "name") }

func genWrite(t *rapid.T) checkpoint.Write {
	return checkpoint.Write{Channel: genName(t), Op: rapid.SampledFrom([]string{"set", "add", "merge", "replace", "other", ""}).Draw(t, "op"), Data: genData(t)}
}

func genTask(t *rapid.T) checkpoint.Task {
	return checkpoint.Task{ID: genID(t), Node: genName(t), Send: rapid.Bool().Draw(t, "send"), Joined: rapid.Bool().Draw(t, "joined"), Private: several(t, genWrite)}
}

func genTime(t *rapid.T) time.Time {
	return fromMicros(rapid.SampledFrom([]int64{time.Time{}.UnixMicro(), 0, -1, 1_700_000_000_123_456}).Draw(t, "time"))
}

func genInterrupt(t *rapid.T) checkpoint.Interrupt {
	return checkpoint.Interrupt{ID: genID(t), Value: genData(t)}
}

func genResult(t *rapid.T) checkpoint.Result {
	return checkpoint.Result{
		Task: genID(t), Node: genName(t), Done: rapid.Bool().Draw(t, "done"), Handled: rapid.Bool().Draw(t, "handled"),
		Writes: several(t, genWrite), Error: rapid.String().Draw(t, "error"), Interrupts: several(t, genInterrupt), Answers: several(t, genData),
		Targets: several(t, func(t *rapid.T) checkpoint.Target {
			return checkpoint.Target{Node: genName(t), Send: rapid.Bool().Draw(t, "send"), Private: several(t, genWrite)}
		}),
		Nested: several(t, func(t *rapid.T) checkpoint.Nested {
			n := checkpoint.Nested{Interrupt: genInterrupt(t), Namespace: genName(t), Node: genName(t), Unsaved: rapid.Bool().Draw(t, "unsaved")}
			if rapid.Bool().Draw(t, "answered") {
				n.Answer = genData(t)
			}
			return n
		}),
	}
}

func genBoundary(t *rapid.T) *boundary {
	b := &boundary{}
	b.Seq = rapid.Int64Range(1, maxSeq).Draw(t, "seq")
	b.ParentSeq = rapid.Int64Range(0, b.Seq).Draw(t, "parent seq")
	b.ID, b.Parent, b.Run, b.Shape = "id", genID(t), genID(t), genID(t)
	b.Step = rapid.Int().Draw(t, "step")
	b.Source = checkpoint.Source(rapid.SampledFrom([]string{"input", "loop", "update", "fork", "other"}).Draw(t, "source"))
	b.Time, b.Bytes = genTime(t), rapid.Int64().Draw(t, "bytes")
	b.Nodes, b.Next, b.Ran = several(t, genName), several(t, genName), several(t, genName)
	b.Above = rapid.Int64().Draw(t, "above")
	b.Channels = rapid.MapOf(names, rapid.Int64Range(0, b.Seq)).Draw(t, "channels")
	b.Tasks, b.Waiting = several(t, genTask), several(t, genTask)
	if joins := rapid.MapOf(names, rapid.SliceOfN(names, 1, 3)).Draw(t, "joins"); len(joins) > 0 {
		b.Joins = joins
	}
	b.values = several(t, func(t *rapid.T) checkpoint.Value {
		v := checkpoint.Value{Channel: genName(t), Delta: rapid.Bool().Draw(t, "delta"), Data: genData(t)}
		if v.Delta {
			v.Prev = rapid.Int64Range(0, b.Seq).Draw(t, "prev")
		}
		return v
	})
	b.results = several(t, genResult)
	return b
}

// TestManyNames: only the first names of a record are remembered, the others are written each time.
func TestManyNames(t *testing.T) {
	t.Parallel()
	b := &boundary{}
	b.Channels = map[string]int64{}
	for i := range 3 * mostNames {
		b.Nodes = append(b.Nodes, fmt.Sprint("node", i))
	}
	b.Next = b.Nodes
	c := coder{}
	c.boundary(b)
	got := &boundary{}
	d := coder{buf: c.buf, reading: true}
	d.boundary(got)
	require.NoError(t, d.err)
	require.Equal(t, b.Next, got.Next)
	require.Equal(t, b.Nodes, got.Nodes)
}

// TestDataOfAWriteIsNotStoredTwice: a task's write that became the value of its channel refers to it.
func TestDataOfAWriteIsNotStoredTwice(t *testing.T) {
	t.Parallel()
	item := bytes.Repeat([]byte("x"), 500)
	b := &boundary{values: []checkpoint.Value{{Channel: "a", Data: item}}}
	b.Seq = 1
	c := coder{}
	c.boundary(b)
	before := len(c.buf)
	for _, channel := range []string{"a", "b"} {
		b.results = []checkpoint.Result{{Writes: []checkpoint.Write{{Channel: channel, Data: item}}}}
		c := coder{}
		c.boundary(b)
		if channel == "a" {
			require.Less(t, len(c.buf), before+30)
		} else {
			require.Greater(t, len(c.buf), before+500, "another channel's is another write")
		}
	}
}
