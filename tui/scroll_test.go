package tui

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/llama-agent/llama-agent/tui/cells"
)

// items is a source of numbered lines; an item may have none.
type items struct {
	sizes []int
	made  int // items that were asked for their lines
}

func (s *items) count() int { return len(s.sizes) }

func (s *items) lines(i int) []cells.Line {
	s.made++
	out := make([]cells.Line, s.sizes[i])
	for j := range out {
		out[j] = cells.Plain(fmt.Sprintf("%d.%d", i, j))
	}
	return out
}

func (s *items) all() []string {
	var out []string
	for i := range s.sizes {
		for _, l := range s.lines(i) {
			out = append(out, l.String())
		}
	}
	return out
}

func shown(s *scroller, src source, height int) []string {
	var out []string
	for _, r := range s.window(src, height) {
		out = append(out, r.text.String())
	}
	return out
}

// A scroller shows what a position in the list of all lines shows, whatever is done.
func TestScrollingIsThatOfAList(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		src := &items{sizes: rapid.SliceOfN(rapid.IntRange(0, 4), 0, 8).Draw(t, "sizes")}
		height := rapid.IntRange(1, 7).Draw(t, "height")
		all := src.all()
		most := max(len(all)-height, 0)
		s, top, follow := &scroller{}, 0, false
		for _, n := range rapid.SliceOfN(rapid.IntRange(-9, 9), 0, 12).Draw(t, "steps") {
			switch {
			case n == 9:
				s.bottom()
				top, follow = most, true
			case n == -9:
				s.top()
				top, follow = 0, false
			case n != 0:
				s.by(src, n, height)
				if len(all) > 0 {
					from := top
					if follow {
						from = most
					}
					top = min(max(min(from, most)+n, 0), most)
					follow = top == most && n > 0
				}
			}
			want := all[top:min(top+height, len(all))]
			require.Equal(t, append([]string(nil), want...), shown(s, src, height), "after %d", n)
		}
	})
}

func TestTheEndStaysVisibleOnlyWhileItIs(t *testing.T) {
	t.Parallel()
	src := &items{sizes: []int{3, 3}}
	s := &scroller{follow: true}
	require.Equal(t, []string{"1.1", "1.2"}, shown(s, src, 2))
	src.sizes[1]++
	require.Equal(t, []string{"1.2", "1.3"}, shown(s, src, 2))
	s.by(src, -1, 2)
	src.sizes[1]++
	require.Equal(t, []string{"1.1", "1.2"}, shown(s, src, 2))
	s.by(src, 5, 2)
	src.sizes[1]++
	require.Equal(t, []string{"1.4", "1.5"}, shown(s, src, 2))
}

func TestGoingToALineShowsIt(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		src := &items{sizes: rapid.SliceOfN(rapid.IntRange(1, 4), 1, 9).Draw(t, "sizes")}
		item := rapid.IntRange(0, len(src.sizes)-1).Draw(t, "item")
		line := rapid.IntRange(0, src.sizes[item]-1).Draw(t, "line")
		height := rapid.IntRange(1, 6).Draw(t, "height")
		s := &scroller{follow: rapid.Bool().Draw(t, "follow")}
		s.to(src, item, line, height)
		require.Contains(t, shown(s, src, height), fmt.Sprintf("%d.%d", item, line))
	})
}

func TestOnlyVisibleItemsAreMade(t *testing.T) {
	t.Parallel()
	src := &items{sizes: make([]int, 10_000)}
	for i := range src.sizes {
		src.sizes[i] = 2
	}
	s := &scroller{follow: true}
	for _, step := range []func(){
		func() {}, func() { s.by(src, -30, 40) }, func() { s.by(src, 10, 40) }, func() { s.top() }, func() { s.by(src, 30, 40) }, func() { s.bottom() },
	} {
		src.made = 0
		step()
		s.window(src, 40)
		require.Less(t, src.made, 150)
	}
}

func TestAnItemThatGoesLeavesTheRestInPlace(t *testing.T) {
	t.Parallel()
	for removed, want := range map[int]scroller{0: {item: 1, line: 1}, 2: {item: 2}, 3: {item: 2, line: 1}} {
		s := scroller{item: 2, line: 1}
		s.removed(removed)
		require.Equal(t, want, s, removed)
	}
}
