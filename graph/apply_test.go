package graph

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

var (
	tLast  = Value[int]("last")
	tList  = Append[string]("list")
	tSum   = Reduced("sum", func(acc, in int) int { return acc + in })
	tFlash = Ephemeral[string]("flash")
	tBad   = Reduced("bad", func(_, _ int) int { panic(errors.New("reducer broke")) })
)

func testSchema() *schema {
	sc := &schema{graph: "g", channels: []Channel{tLast, tList, tSum, tFlash, tBad}, index: map[string]int{}}
	for i, c := range sc.channels {
		sc.index[c.Name()] = i
	}
	return sc
}

func TestMerge(t *testing.T) {
	t.Parallel()
	sc := testSchema()
	zero := make([]cell, len(sc.channels))
	s1, changes, err := sc.merge(zero, []nodeWrites{
		{"a", []Write{tLast.Set(1), tList.Add("x"), tSum.Merge(2), tFlash.Set("now")}},
		{"b", []Write{tList.Add("y", "z"), tSum.Merge(3)}},
	}, 1)
	require.NoError(t, err)
	st := State{schema: sc, cells: s1}
	require.Equal(t, 1, tLast.Get(st))
	require.Equal(t, []string{"x", "y", "z"}, tList.Get(st))
	require.Equal(t, 5, tSum.Get(st))
	require.Equal(t, "now", tFlash.Get(st))
	require.Len(t, changes, 4)
	require.True(t, changes[1].delta)

	s2, changes, err := sc.merge(s1, []nodeWrites{{"c", []Write{tList.Replace([]string{"r"}), tList.Add("s"), tSum.Replace(10), tSum.Merge(1)}}}, 2)
	require.NoError(t, err)
	st2 := State{schema: sc, cells: s2}
	require.Equal(t, []string{"r", "s"}, tList.Get(st2))
	require.Equal(t, 11, tSum.Get(st2))
	_, ok := tFlash.Lookup(st2)
	require.False(t, ok, "an ephemeral value is gone after a step")
	require.False(t, changes[0].delta)
	require.True(t, changes[2].gone)
	require.Equal(t, []string{"x", "y", "z"}, tList.Get(st), "an older state stays as it was")
}

func TestMergeErrors(t *testing.T) {
	t.Parallel()
	sc := testSchema()
	zero := make([]cell, len(sc.channels))
	_, _, err := sc.merge(zero, []nodeWrites{{"a", []Write{tLast.Set(1)}}, {"b", []Write{tLast.Set(1)}}}, 4)
	var conflict *ConflictError
	require.ErrorAs(t, err, &conflict)
	require.Equal(t, &ConflictError{Graph: "g", Channel: "last", Nodes: []string{"a", "b"}, Step: 4}, conflict)

	_, _, err = sc.merge(zero, []nodeWrites{{"a", []Write{tBad.Merge(1)}}}, 4)
	var reducer *ReducerError
	require.ErrorAs(t, err, &reducer)
	require.Equal(t, []string{"a"}, reducer.Nodes)
	var panicked *PanicError
	require.ErrorAs(t, err, &panicked)
	require.ErrorContains(t, err, "reducer broke")
	require.NotEmpty(t, panicked.Stack)

	other := Value[int]("last")
	var unknown *UnknownChannelError
	require.ErrorAs(t, sc.check(Update{other.Set(1)}, "a", 1), &unknown)
	require.ErrorContains(t, unknown, "another channel")
	require.ErrorAs(t, sc.check(Update{Value[int]("lsat").Set(1)}, "a", 1), &unknown)
	require.ErrorContains(t, unknown, `"last"`)
	require.Error(t, sc.check(Update{{}}, "a", 1))
}

func TestBranchViewDoesNotDisturbTheMerge(t *testing.T) {
	t.Parallel()
	sc := testSchema()
	cells, _, err := sc.merge(make([]cell, len(sc.channels)), []nodeWrites{{"a", []Write{tList.Add("1", "2", "3")}}}, 1)
	require.NoError(t, err)
	cells, _, err = sc.merge(cells, []nodeWrites{{"a", []Write{tList.Add("4")}}}, 2) // now there is spare capacity
	require.NoError(t, err)
	view := State{schema: sc, cells: cells, own: []Write{tList.Add("view"), tSum.Merge(4)}, after: true}
	require.Equal(t, []string{"1", "2", "3", "4", "view"}, tList.Get(view))
	seen := tList.Get(view)
	merged, _, err := sc.merge(cells, []nodeWrites{{"b", []Write{tList.Add("merged")}}}, 3)
	require.NoError(t, err)
	require.Equal(t, "view", seen[4])
	require.Equal(t, []string{"1", "2", "3", "4", "merged"}, tList.Get(State{schema: sc, cells: merged}))
	_ = append(tList.Get(State{schema: sc, cells: cells}), "mine")
	require.Equal(t, "merged", tList.Get(State{schema: sc, cells: merged})[4])
	require.Equal(t, 4, tSum.Get(view))
}

// TestOrderOfCompletionDoesNotMatter runs tasks that finish one after another in any order, some beside each other by name and
// some by Send: the state depends on their names and places alone, even with a reducer that is neither associative nor
// commutative.
func TestOrderOfCompletionDoesNotMatter(t *testing.T) {
	t.Parallel()
	odd := Reduced("odd", func(acc, in string) string { return "(" + acc + in + ")" })
	place := Value[int]("place")
	rapid.Check(t, func(t *rapid.T) {
		pulls := rapid.IntRange(1, 5).Draw(t, "nodes")
		n := pulls + rapid.IntRange(0, 5).Draw(t, "sends")
		order := make([]int, n)
		for i := range order {
			order[i] = i
		}
		order = rapid.Permutation(order).Draw(t, "order of completion")
		turn := make([]chan struct{}, n) // closed when it is task i's turn to finish
		for i := range turn {
			turn[i] = make(chan struct{})
		}
		close(turn[order[0]])
		finish := func(i int) Update {
			<-turn[i]
			if at := slices.Index(order, i); at+1 < n {
				defer close(turn[order[at+1]])
			}
			name := string(rune('a' + i))
			return Update{tList.Add(name), odd.Merge(name)}
		}
		b := New("g", tList, odd, place)
		var want string
		for i := range pulls {
			name := string(rune('a' + i))
			want += name
			b.Node(name, func(context.Context, State) (Update, error) { return finish(i), nil }).Edge(Start, name)
		}
		b.Node("sent", func(_ context.Context, s State) (Update, error) { return finish(place.Get(s)), nil })
		b.Branch(Start, func(State) (next []Next) {
			for i := pulls; i < n; i++ {
				next = append(next, Send("sent", Update{place.Set(i)}))
			}
			return next
		}, "sent")
		for i := pulls; i < n; i++ {
			want += string(rune('a' + i))
		}
		g, err := b.Compile(Options{})
		if err != nil {
			t.Fatal(err)
		}
		s, err := g.Invoke(context.Background(), Update{})
		if err != nil {
			t.Fatal(err)
		}
		folded := ""
		for _, r := range want {
			folded = "(" + folded + string(r) + ")"
		}
		if got := strings.Join(tList.Get(s), ""); got != want || odd.Get(s) != folded {
			t.Fatalf("%q, want %q; %q, want %q", got, want, odd.Get(s), folded)
		}
	})
}

// TestStoredStateIsTheState encodes what merges change, as a store does, and restores it.
func TestStoredStateIsTheState(t *testing.T) {
	t.Parallel()
	sc := testSchema()
	rapid.Check(t, func(t *rapid.T) {
		cells := make([]cell, len(sc.channels))
		stored := map[string][][]byte{}
		for step := range rapid.IntRange(1, 6).Draw(t, "steps") {
			var ws []Write
			for range rapid.IntRange(0, 4).Draw(t, "writes") {
				s := rapid.String().Draw(t, "s")
				switch rapid.IntRange(0, 4).Draw(t, "kind") {
				case 0:
					ws = append(ws, tList.Add(s, s+"!"))
				case 1:
					ws = append(ws, tList.Replace([]string{s}))
				case 2:
					ws = append(ws, tSum.Merge(len(s)))
				case 3:
					ws = append(ws, tSum.Replace(len(s)))
				case 4:
					ws = append(ws, tList.Add())
				}
			}
			if _, err := encodeWrites(ws); err != nil {
				t.Fatal(err)
			}
			next, changes, err := sc.merge(cells, []nodeWrites{{"n", ws}}, step)
			if err != nil {
				t.Fatal(err)
			}
			cells = next
			for _, ch := range changes {
				c := sc.channels[ch.index]
				data := ch.data
				if data == nil {
					if data, err = c.encode(ch.payload); err != nil {
						t.Fatal(err)
					}
				}
				if !ch.delta {
					stored[c.Name()] = nil
				}
				stored[c.Name()] = append(stored[c.Name()], data)
			}
		}
		restored, err := sc.restore(stored, false, nil)
		if err != nil {
			t.Fatal(err)
		}
		want, got := State{schema: sc, cells: cells}, State{schema: sc, cells: restored}
		if !slices.Equal(tList.Get(want), tList.Get(got)) || tSum.Get(want) != tSum.Get(got) {
			t.Fatalf("%v\n%v", tList.Get(want), tList.Get(got))
		}
	})
}

func TestMergeMaps(t *testing.T) {
	t.Parallel()
	acc, in := map[string]int{"a": 1, "b": 2}, map[string]int{"b": 3, "c": 4}
	require.Equal(t, map[string]int{"a": 1, "b": 3, "c": 4}, MergeMaps(acc, in))
	require.Equal(t, map[string]int{"a": 1, "b": 2}, acc, "an older state stays as it was")
	require.NotNil(t, MergeMaps[string, int](nil, nil))
}
