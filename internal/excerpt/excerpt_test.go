package excerpt

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// filler is a text of many lines that say nothing.
func filler(lines int) []string {
	out := make([]string, lines)
	for i := range out {
		out[i] = fmt.Sprintf("%d The pump of hall %d ran for %d hours and nobody noticed the noise it made.", i, i%7, i%24)
	}
	return out
}

func numbers(pieces []Piece) []int {
	var out []int
	for _, p := range pieces {
		out = append(out, p.Line)
	}
	return out
}

func TestNearestFindsWhatIsAskedFor(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, line, about string }{
		{"words", "The access code of the north gate is 7731.", "What is the access code of the gate?"},
		{"endings", "Releases were signed by Edda.", "Who signed the release?"},
		{"case", "CONTACT: EDDA BERG", "who is the contact"},
		{"identifier", "ticket QX-7781 was closed", "What happened to QX-7781?"},
		{"Chinese", "仓库的门禁密码是七七三一。", "请问门禁密码是什么？"},
		{"Russian", "Пароль от склада: янтарь.", "Какой пароль у склада?"},
		{"Thai", "รหัสผ่านของคลังสินค้าคืออำพัน", "รหัสผ่านคืออะไร"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			lines := filler(300)
			lines[211] = test.line
			got := Nearest([]byte(strings.Join(lines, "\n")), test.about, 600)
			require.Contains(t, numbers(got), 212)
		})
	}
}

func TestNearestShowsTheLineBelowAHeading(t *testing.T) {
	t.Parallel()
	lines := filler(300)
	lines[100], lines[101] = "Access code:", "7731"
	got := Nearest([]byte(strings.Join(lines, "\r\n")), "the access code", 20)
	require.Equal(t, []int{101, 102}, numbers(got))
	require.Equal(t, "7731", got[1].Text, "without the line's end")
}

func TestNearestHasNothingToSay(t *testing.T) {
	t.Parallel()
	require.Empty(t, Nearest([]byte("a line\nanother"), "完全不同的问题", 100))
	require.Empty(t, Nearest([]byte("a line"), "", 100))
	require.Empty(t, Nearest(nil, "line", 100))
	require.Empty(t, Nearest([]byte("a line"), "line", 0))
	require.Empty(t, Nearest([]byte("a line"), "line", 5), "a piece that does not fit is left out")
	require.Len(t, Nearest([]byte("a line"), "line", 6), 1)
}

func TestNearestOfAHugeText(t *testing.T) {
	t.Parallel()
	lines := filler(60_000)
	last := len(lines) - 3
	lines[last] = "The access code is 7731."
	text := []byte(strings.Join(lines, "\n"))
	require.Greater(t, len(text), 2*MaxText)
	got := Nearest(text, "access code", 30)
	require.Equal(t, []int{last + 1}, numbers(got), "numbers count what was not looked at")
	require.True(t, bytes.HasPrefix(text[got[0].Offset:], []byte("The access code")))
}

func TestNearestOfOneLongLine(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("nothing to see in here, ", 4000) + "the access code is 7731, " + strings.Repeat("and nothing more, ", 4000)
	got := Nearest([]byte(text), "access code", 300)
	require.Len(t, got, 1)
	require.Contains(t, got[0].Text, "code is 7731")
	require.Equal(t, 1, got[0].Line)
}

func TestPiecesAreOfTheText(t *testing.T) {
	t.Parallel()
	part := rapid.OneOf(rapid.SampledFrom([]string{"code", "漢字", "\n", "\r\n", " ", "7731", strings.Repeat("x", 300), "\xff"}), rapid.String())
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOf(part).Draw(t, "text"), "")
		about := strings.Join(rapid.SliceOfN(part, 0, 5).Draw(t, "about"), " ")
		chars := rapid.IntRange(0, 800).Draw(t, "chars")
		got := Nearest([]byte(text), about, chars)
		total, end := 0, 0
		for _, p := range got {
			if p.Offset < end || text[p.Offset:p.Offset+len(p.Text)] != p.Text || strings.Contains(p.Text, "\n") {
				t.Fatalf("%+v is not of the text", p)
			}
			if line := 1 + strings.Count(text[:p.Offset], "\n"); line != p.Line {
				t.Fatalf("%+v is in line %d", p, line)
			}
			end = p.Offset + len(p.Text)
			total += utf8.RuneCountInString(p.Text)
		}
		if total > chars {
			t.Fatalf("%d characters, not %d", total, chars)
		}
		again := Nearest([]byte(text), about, chars)
		if fmt.Sprint(again) != fmt.Sprint(got) {
			t.Fatal("the same input gave other pieces")
		}
	})
}

func BenchmarkNearest(b *testing.B) {
	text := []byte(strings.Join(filler(30_000), "\n"))[:MaxText]
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		Nearest(text, "What is the access code of the north gate, and who signed the release?", 600)
	}
}

func TestFirstQuestionThatIsNearCounts(t *testing.T) {
	t.Parallel()
	text := []byte(strings.Repeat("the cat sleeps on the mat\n", 30) + "the key lies under the stair\n" + strings.Repeat("the cat sleeps on the mat\n", 30) + "das Schloss ist am Tor\n")
	line := func(questions ...string) int {
		best := Piece{}
		for _, p := range First(text, 60, questions...) {
			if p.Share > best.Share {
				best = p
			}
		}
		return best.Line
	}
	require.Equal(t, 31, line("key under the stair", "Wo ist das Schloss?"))
	require.Equal(t, 62, line("Wo ist das Schloss?", "key under the stair"))
	require.Equal(t, 62, line("find the thing that nobody has named here before", "Wo ist das Schloss?"), "the first has other words than the text")
	require.Empty(t, First(text, 60, "", "nothing here"))
	require.Empty(t, First(text, 60))
}

// Lines that share a common word with the question are not shown beside the one that answers it.
func TestNearestLeavesOutWhatIsFarBehind(t *testing.T) {
	t.Parallel()
	var lines []string
	for i := range 60 {
		lines = append(lines, fmt.Sprintf("entry %d: the cellar has %d crates on hand", i, 3*i+7))
	}
	lines[30] = "entry 30: stolen ladder registered under number QX-5"
	pieces := Nearest([]byte(strings.Join(lines, "\n")), "Under which number was the stolen ladder registered?", 900)
	require.Equal(t, []int{30, 31, 32}, numbers(pieces))
	require.Greater(t, len(Nearest([]byte(strings.Join(lines, "\n")), "How many crates has the cellar?", 900)), 3, "none is far ahead")
}
