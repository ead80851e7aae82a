package tools

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/llama-agent/llama-agent/tools/internal/logline"
)

func textOf(r io.Reader) *textFile {
	return &textFile{r: bufio.NewReader(r), target: target{show: "app.log"}}
}

// logLines draws a log with records of all levels, stack traces, and lines that are no records.
func logLines(rt *rapid.T) []string {
	line := rapid.SampledFrom([]string{
		"2026-01-05 10:00:00,120 ERROR disk full code=E1 node=n-1", "2026-01-05 10:00:01 WARN disk slow node=n-2", "2026-01-05 10:00:02 INFO ok code=0",
		"2026-01-05 10:00:03 ERROR Disk gone after 5 ms", "2026-01-05 10:00:04 nothing known", "ERROR without time code=E2", "\tat a.B.disk(B.java:1) code=E3",
		"java.io.IOException: disk", "junk about a disk", "", "  ", "error: weak disk", `{"time":"2026-01-05T10:00:05Z","level":"error","msg":"disk in JSON","code":"E4"}`,
		`{"level":"warn","msg":"quiet"}`, "2026-01-05 10:00:06 ERROR " + strings.Repeat("é", 60) + " disk code=E5", strings.Repeat("x", 150),
		"2026-01-05 10:00:07 FATAL all over\r", "disk at the end\r",
	})
	return rapid.SliceOfN(line, 0, 120).Draw(rt, "lines")
}

func TestChunksAndWorkersDoNotChangeWhatIsFound(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		lines := logLines(rt)
		text := strings.Join(lines, "\n") + rapid.SampledFrom([]string{"", "\n"}).Draw(rt, "end")
		chunk := rapid.IntRange(200, 500).Draw(rt, "chunk") // longer than any line: of a longer one only the first part is parsed
		workers := rapid.IntRange(1, 3).Draw(rt, "workers")

		whole, cut := newTally(), newTally()
		require.NoError(rt, textOf(strings.NewReader(text)).runChunks(whole, 1<<20, 1))
		require.NoError(rt, textOf(iotest.HalfReader(strings.NewReader(text))).runChunks(cut, chunk, workers))
		require.Equal(rt, whole.counts(), cut.counts())

		filter := &logFilter{limit: rapid.IntRange(1, 40).Draw(rt, "limit"), near: time.Unix(1_767_607_451, 0)}
		if query := rapid.SampledFrom([]string{"", "disk", "DISK", "code=E", "é"}).Draw(rt, "query"); query != "" {
			filter.query = newFinder(query)
		}
		filter.level = rapid.SampledFrom([]logline.Level{logline.NoLevel, logline.Error, logline.Warn}).Draw(rt, "level")
		if rapid.Bool().Draw(rt, "since") {
			since, ok := logline.ParseBound("2026-01-05 10:00:02", false, logline.Stamp{})
			require.True(rt, ok)
			filter.since = &since
		}
		want, got := &logMatches{logFilter: filter}, &logMatches{logFilter: filter}
		require.NoError(rt, textOf(strings.NewReader(text)).runChunks(want, 1<<20, 1))
		require.NoError(rt, textOf(iotest.HalfReader(strings.NewReader(text))).runChunks(got, chunk, workers))
		want.strict.grows, want.loose.grows, got.strict.grows, got.loose.grows = 0, 0, 0, 0
		require.Equal(rt, want.strict, got.strict)
		require.Equal(rt, want.loose, got.loose)
		require.Equal(rt, []int{want.lines, want.unparsed, int(want.offset)}, []int{got.lines, got.unparsed, int(got.offset)})
		require.Equal(rt, naiveSearch(text, filter), want.strict.total+want.loose.total)
	})
}

// Records, traces and kinds of messages that lie across the borders of chunks, at every place.
func TestRecordsAcrossChunks(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for i := range 8 {
		fmt.Fprintf(&text, "2026-01-05 10:00:0%d ERROR boom on disk after %d ms\n", i, i)
		for j := range i {
			fmt.Fprintf(&text, "main.run(%d)\n\tat disk.go:%d code=E%d\n", j, j, i)
		}
		text.WriteString("main.stray()\n")
	}
	passes := func(chunk, workers int) []any {
		var out []any
		for _, query := range []string{"", "disk", "AT", "main"} {
			pass := &logMatches{logFilter: &logFilter{limit: 100}}
			if query != "" {
				pass.query = newFinder(query)
			}
			require.NoError(t, textOf(strings.NewReader(text.String())).runChunks(pass, chunk, workers))
			pass.strict.grows, pass.loose.grows = 0, 0
			out = append(out, pass.strict, pass.loose, pass.unparsed)
		}
		tally := newTally()
		require.NoError(t, textOf(strings.NewReader(text.String())).runChunks(tally, chunk, workers))
		return append(out, tally.counts())
	}
	want := passes(1<<20, 1)
	require.Equal(t, 14, want[0].(hits).matches[7].MoreLines)
	for chunk := 60; chunk < 400; chunk++ {
		require.Equal(t, want, passes(chunk, 2), "chunks of %d bytes", chunk)
	}
}

// counts returns what a tally says, to compare.
func (t *logTally) counts() any {
	patterns := map[string]tally{}
	for _, c := range []*tallies{&t.patterns, &t.fields[0], &t.fields[1]} {
		for key, found := range c.byKey {
			patterns[fmt.Sprint(c.limit, key)] = *found
		}
	}
	return []any{t.lines, t.records, t.continued, t.blank, t.unparsed, t.firstUnparsed, t.levels, t.first.String(), t.last.String(), patterns}
}

// naiveSearch counts line by line what a search finds in both ways of comparing.
func naiveSearch(text string, f *logFilter) int {
	total := 0
	var flow logline.Flow
	var record logline.Line
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
		l := logline.Parse([]byte(line))
		role := flow.Next([]byte(line), &l)
		var of logline.Line
		switch role {
		case logline.Record:
			record, of = l, l
		case logline.Continues:
			of = record
		}
		fits := role == logline.Record
		if f.query != nil {
			fits = strings.Contains(strings.ToLower(line), strings.ToLower(f.query.query))
		}
		inTime := f.since == nil || of.Stamp.Known() && f.since.Allows(of.Stamp)
		if fits && inTime && (f.level == logline.NoLevel || f.level == of.Level) {
			total++
		}
	}
	return total
}

// A countingPass counts bytes and lines, and panics or stops when it is told to.
type countingPass struct {
	bytes, parts int
	panics       string
}

func (p *countingPass) fork() logPass { return &countingPass{panics: p.panics} }

func (p *countingPass) take(data []byte) {
	if p.panics != "" && bytes.Contains(data, []byte(p.panics)) {
		panic("found " + p.panics)
	}
	p.bytes += len(data)
}

func (p *countingPass) takePart(part []byte, _, last bool) {
	p.bytes += len(part)
	if last {
		p.parts++
	}
}

func (p *countingPass) join(fork logPass) {
	f := fork.(*countingPass)
	p.bytes += f.bytes
	f.bytes = 0
}

func TestEveryByteIsTakenOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		var text strings.Builder
		for _, n := range rapid.SliceOfN(rapid.IntRange(0, 400), 0, 12).Draw(rt, "lengths") {
			text.WriteString(rapid.SampledFrom([]string{"ERROR ", "é", "x"}).Draw(rt, "start") + strings.Repeat("漢", n/3) + "\n")
		}
		p := &countingPass{}
		require.NoError(rt, textOf(strings.NewReader(text.String())).runChunks(p, rapid.IntRange(16, 200).Draw(rt, "chunk"), rapid.IntRange(1, 3).Draw(rt, "workers")))
		require.Equal(rt, text.Len(), p.bytes)
	})
}

func TestPassesEndWithTheReader(t *testing.T) {
	t.Parallel()
	log := strings.Repeat("ERROR one line of many\n", 200)
	broken := io.MultiReader(strings.NewReader(log), iotest.ErrReader(errors.New("disk is gone")))
	err := textOf(broken).runChunks(&countingPass{}, 100, 2)
	require.ErrorContains(t, err, `reading "app.log": disk is gone`)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err = textOf(contextReader{ctx, strings.NewReader(log)}).runChunks(&countingPass{}, 100, 2)
	require.ErrorIs(t, err, context.Canceled)

	// A bug in a pass must reach the caller, who turns it into an error of the tool, and not end the program.
	for bug, log := range map[string]string{"last": log + "ERROR the last line\n" + log, "one": log} {
		require.PanicsWithValue(t, "found "+bug, func() {
			_ = textOf(strings.NewReader(log)).runChunks(&countingPass{panics: bug}, 100, 2)
		})
	}
}

func TestLinesLongerThanAChunk(t *testing.T) {
	t.Parallel()
	filler := strings.Repeat("é", 300)
	text := "INFO before\n2026-01-05 10:00:00 ERROR boom " + filler + " needle code=E1 " + filler + "\n\tat trace\n" + filler + "Needle" + filler + "\nINFO after needle\n"
	for workers := 1; workers <= 2; workers++ {
		for chunk := 64; chunk < 200; chunk++ {
			search := &logMatches{logFilter: &logFilter{query: newFinder("needle"), limit: 10}}
			require.NoError(t, textOf(strings.NewReader(text)).runChunks(search, chunk, workers))
			require.Equal(t, []int{5, 2, 1}, []int{search.lines, search.strict.total, search.loose.total})
			long, last := search.strict.matches[0], search.strict.matches[1]
			require.Equal(t, []int{2, 1, 5}, []int{long.Line, long.MoreLines, last.Line})
			require.EqualValues(t, []int64{12, int64(strings.Index(text, "INFO after"))}, []int64{long.Offset, last.Offset})
			require.Equal(t, "error", long.Level)
			require.Contains(t, long.Text, "needle")
			require.NotContains(t, long.Text, `\x`, "a character was cut")
			require.Equal(t, 4, search.loose.matches[0].Line)
			require.Zero(t, search.loose.matches[0].Level)

			errors := &logMatches{logFilter: &logFilter{level: logline.Error, limit: 10}}
			require.NoError(t, textOf(strings.NewReader(text)).runChunks(errors, chunk, workers))
			require.Equal(t, []int{1, 1, 1}, []int{errors.strict.total, errors.strict.matches[0].MoreLines, errors.unparsed})
			require.Contains(t, errors.strict.matches[0].Text, "ERROR boom")
			require.NotContains(t, errors.strict.matches[0].Text, `\x`, "a character was cut")

			tally := newTally()
			require.NoError(t, textOf(strings.NewReader(text)).runChunks(tally, chunk, workers))
			require.Equal(t, []int{5, 3, 1, 1}, []int{tally.lines, tally.records, tally.continued, tally.unparsed})
			require.Equal(t, 1, tally.levels[logline.Error])
		}
	}
}
