package tools

import (
	"context"
	"encoding/binary"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

var updateGolden = flag.Bool("update", false, "write the golden files of testdata anew")

const shopLog = `2026-01-05 10:00:03,001 INFO  [main] shop.App - started on node=n1
2026-01-05 10:01:11,120 ERROR [worker-3] shop.db.Pool - connection to 10.0.3.17:5432 timed out after 3000 ms code=E42 node=n1
java.io.IOException: broken pipe
	at shop.db.Pool.take(Pool.java:312)
	at shop.Order.save(Order.java:88)
2026-01-05 10:02:00,500 WARN  [worker-1] shop.db.Pool - slow query, 812 ms node=n2
2026-01-05 10:03:11,120 ERROR [worker-9] shop.db.Pool - connection to 10.0.3.18:5432 timed out after 3001 ms code=E42 node=n2
this line belongs to nothing
2026-01-05 10:04:00,000 FATAL [main] shop.App - cannot write "/var/data/a b.json": no space left code=D01 node=n1

2026-01-05 10:05:00,000 INFO  [main] shop.App - timeout handling finished
2026-01-05 10:06:00,000 ERROR [worker-2] shop.pay.Client - payment declined code=P17 node=n1
2026-01-05 10:07:00,000 INFO  [main] shop.App - stopped
`

// noonUTC is when the log files of these tests were changed last.
var noonUTC = time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)

func writeLogs(t *testing.T, dir string, logs map[string]string) {
	t.Helper()
	writeFiles(t, dir, logs)
	for name := range logs {
		require.NoError(t, os.Chtimes(filepath.Join(dir, name), noonUTC, noonUTC))
	}
}

// The golden file shows what the model sees. Look at it whole when a text changes.
func TestLogTextsAreAsRecorded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeLogs(t, dir, map[string]string{
		"shop.log":      shopLog,
		"old/app.log":   "2026-01-05 10:00:00 ERROR x\n",
		"old/app.log.1": "2026-01-04 10:00:00 ERROR y\n", "old/app.log-20260103.gz": gzipped(t, "z\n"), "old/app.logic": "no part of it\n",
		"json.log": `{"time":"2026-01-05T10:00:00Z","level":"error","msg":"disk \"a\" full","code":"E42","node":"n1"}` + "\n" +
			`{"time":"2026-01-05T10:00:01Z","level":"info","msg":"ok","code":"OK"}` + "\n" +
			`{"time":"2026-01-05T10:00:02Z","level":"error","msg":"disk \"b\" full","code":"E42","node":"n2"}` + "\n" + `{"broken":` + "\n",
		"access.log": `10.0.0.1 - - [05/Jan/2026:10:00:00 +0000] "GET /api/orders/7 HTTP/1.1" 500 12` + "\n" +
			`10.0.0.2 - - [05/Jan/2026:10:00:01 +0000] "GET /api/orders/8 HTTP/1.1" 500 12` + "\n" +
			`10.0.0.2 - - [05/Jan/2026:10:00:02 +0000] "GET /none HTTP/1.1" 404 12` + "\n" +
			`10.0.0.3 - - [05/Jan/2026:10:00:03 +0000] "GET / HTTP/1.1" 200 99` + "\n",
		"auth.log": "Jan  5 09:00:00 host sshd[42]: Failed password for root from 10.0.0.9 port 4022\n" +
			"Jan  5 09:00:05 host sshd[43]: Failed password for admin from 10.0.0.9 port 4023\nJan  5 09:10:00 host cron[7]: done\n",
		"pod.log":   "E0105 10:04:11.120000   12 pod.go:56] crashed\nI0105 10:04:12.120000   12 pod.go:60] up\n",
		"quiet.log": "2026-01-05 10:00:00 INFO a\n2026-01-05 10:00:01 INFO b\n",
		"empty.log": "",
	})
	r := builtins(t, dir)
	var b strings.Builder
	for _, call := range []struct {
		tool string
		args map[string]any
	}{
		{"aggregate_log_errors", map[string]any{"log_path": "shop.log"}},
		{"aggregate_log_errors", map[string]any{"log_path": "json.log"}},
		{"aggregate_log_errors", map[string]any{"log_path": "access.log"}},
		{"aggregate_log_errors", map[string]any{"log_path": "auth.log"}},
		{"aggregate_log_errors", map[string]any{"log_path": "quiet.log"}},
		{"aggregate_log_errors", map[string]any{"log_path": "empty.log"}},
		{"aggregate_log_errors", map[string]any{"log_path": "old/app.log"}},
		{"search_log", map[string]any{"log_path": "shop.log", "query": "timed out"}},
		{"search_log", map[string]any{"log_path": "shop.log", "query": "Pool", "max_matches": 2}},
		{"search_log", map[string]any{"log_path": "shop.log", "query": "time", "level": "error"}},
		{"search_log", map[string]any{"log_path": "shop.log", "query": "Pool.java"}},
		{"search_log", map[string]any{"log_path": "shop.log", "query": "TIMED OUT"}},
		{"search_log", map[string]any{"log_path": "shop.log", "query": "nowhere", "level": "error"}},
		{"search_log", map[string]any{"log_path": "shop.log", "level": "ERROR"}},
		{"search_log", map[string]any{"log_path": "shop.log", "level": "error", "since": "10:02", "until": "10:03"}},
		{"search_log", map[string]any{"log_path": "shop.log", "query": "node=", "since": "3 minutes ago"}},
		{"search_log", map[string]any{"log_path": "shop.log", "query": "belongs", "since": "yesterday"}},
		{"search_log", map[string]any{"log_path": "auth.log", "query": "Failed", "until": "09:00"}},
		{"search_log", map[string]any{"log_path": "json.log", "query": "full"}},
		{"search_log", map[string]any{"log_path": "pod.log", "query": "ERROR"}},
		{"search_log", map[string]any{"log_path": "pod.log", "level": "error", "since": "2026-01-05T12:00:00+02:00"}},
		{"search_log", map[string]any{"log_path": "old/app.log", "query": "x"}},
		{"get_log_window", map[string]any{"log_path": "shop.log", "line_number": 4}},
		{"get_log_window", map[string]any{"log_path": "shop.log", "line_number": 1, "before": 5, "after": 1}},
		{"get_log_window", map[string]any{"log_path": "empty.log", "line_number": 1}},
	} {
		fmt.Fprintf(&b, "=== %s %v ===\n%s\n\n", call.tool, call.args, mustCall(t, r, call.tool, call.args).Text)
	}
	path := filepath.Join("testdata", "logs.golden")
	if *updateGolden {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(path, []byte(b.String()), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), b.String(), "run the test with -update when the change is meant")
}

func TestSummaryOfALog(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeLogs(t, dir, map[string]string{"shop.log": shopLog})
	s := mustCall(t, builtins(t, dir), "aggregate_log_errors", map[string]any{"log_path": "shop.log"}).Data.(LogSummary)
	require.Equal(t, []int{13, 8, 3, 1, 1}, []int{s.Lines, s.Records, s.Continued, s.Blank, s.Unparsed})
	require.Equal(t, 8, s.FirstUnparsed)
	require.Equal(t, []LevelCount{{"fatal", 1}, {"error", 3}, {"warn", 1}, {"info", 3}}, s.Levels)
	require.Equal(t, []string{"2026-01-05 10:00:03.001", "2026-01-05 10:07:00"}, []string{s.FirstTime, s.LastTime})
	require.Len(t, s.Patterns, 4)
	require.Equal(t, LogPattern{
		Level: "error", Pattern: "shop.db.Pool - connection to <ip> timed out after <n> ms code=E42 node=n<n>", Count: 2, FirstLine: 2, LastLine: 7,
		Example: "shop.db.Pool - connection to 10.0.3.17:5432 timed out after 3000 ms code=E42 node=n1",
	}, s.Patterns[0])
	require.True(t, s.Patterns[1].Same)
	require.Equal(t, "warn", s.Patterns[3].Level, "warnings come last")
	require.Equal(t, []LogValue{{"E42", 2, 2, 2, 7}, {"D01", 1, 1, 9, 9}, {"P17", 1, 1, 12, 12}}, s.Codes.Values)
	require.Equal(t, []LogValue{{"n1", 4, 3, 1, 12}, {"n2", 2, 1, 6, 7}}, s.Nodes.Values)
}

func TestSearchOfALog(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeLogs(t, dir, map[string]string{"shop.log": shopLog})
	r := builtins(t, dir)
	search := func(args map[string]any) LogSearchResult {
		args["log_path"] = "shop.log"
		return mustCall(t, r, "search_log", args).Data.(LogSearchResult)
	}
	all := search(map[string]any{"query": "timed out"})
	require.Equal(t, 2, all.Total)
	require.Equal(t, LogMatch{
		Line: 2, Offset: int64(strings.Index(shopLog, "2026-01-05 10:01")), Time: "2026-01-05 10:01:11.12", Level: "error", MoreLines: 3,
		Text: "2026-01-05 10:01:11,120 ERROR [worker-3] shop.db.Pool - connection to 10.0.3.17:5432 timed out after 3000 ms code=E42 node=n1",
	}, all.Matches[0])
	trace := search(map[string]any{"query": "Order.java", "level": "error"})
	require.Equal(t, []int{1, 5, 2}, []int{trace.Total, trace.Matches[0].Line, trace.Matches[0].RecordLine})
	levels := search(map[string]any{"query": "shop.db.Pool - ", "level": "warn"})
	require.Equal(t, 1, levels.Total)
	require.Equal(t, []LevelCount{{"error", 2}}, levels.OtherLevels)
	records := search(map[string]any{})
	require.Equal(t, []int{8, 1}, []int{records.Total, records.Unparsed})
	timed := search(map[string]any{"query": "o", "since": "2026-01-05 10:06", "until": "2026-01-05"})
	require.Equal(t, 2, timed.Total)
	require.Equal(t, 1, timed.Untimed, "the line that belongs to nothing")
	require.Equal(t, []string{"2026-01-05 10:06:00", "2026-01-05 23:59:59"}, []string{timed.Since, timed.Until})
	cut, err := NewRegistry(Logs(LogOptions{Workspace: dir, MaxReadChars: 250})...)
	require.NoError(t, err)
	few := mustCall(t, cut, "search_log", map[string]any{"log_path": "shop.log", "query": "shop"})
	require.Len(t, few.Data.(LogSearchResult).Matches, 3)
	require.Equal(t, 10, few.Data.(LogSearchResult).Total)
	require.Contains(t, few.Text, "[7 lines not shown;")
	require.Len(t, search(map[string]any{"query": "shop", "max_matches": 0}).Matches, 10, "0 is the default")
	require.Empty(t, search(map[string]any{"query": "nowhere"}).Matches)
}

func TestLogArgumentsThatCannotBeUnderstood(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeLogs(t, dir, map[string]string{"shop.log": shopLog, "untimed.log": "ERROR a\nINFO b\n", "notes.txt": "one\ntwo\n"})
	r := builtins(t, dir)
	for says, call := range map[string]struct {
		tool string
		args map[string]any
		kind Kind
	}{
		`since "soon" is no time; use a form such as "2006-01-02 15:04:05"`: {"search_log", map[string]any{"log_path": "shop.log", "since": "soon"}, KindInvalidArguments},
		`until "1 x ago" is no time`:                                        {"search_log", map[string]any{"log_path": "shop.log", "until": "1 x ago"}, KindInvalidArguments},
		`no time could be read in "untimed.log"`:                            {"search_log", map[string]any{"log_path": "untimed.log", "since": "10m"}, KindInvalidArguments},
		`query has a line break`:                                            {"search_log", map[string]any{"log_path": "shop.log", "query": "a\nb"}, KindInvalidArguments},
		`must be one of "any", "fatal"`:                                     {"search_log", map[string]any{"log_path": "shop.log", "level": "loud"}, KindInvalidArguments},
		`line_number 14 is past the end: "shop.log" has 13 lines`:           {"get_log_window", map[string]any{"log_path": "shop.log", "line_number": 14}, KindInvalidArguments},
		`argument "line_number" is 0`:                                       {"get_log_window", map[string]any{"log_path": "shop.log", "line_number": 0}, KindInvalidArguments},
		`0 of the 2 lines of "notes.txt" could be read as log records`:      {"aggregate_log_errors", map[string]any{"log_path": "notes.txt"}, KindWrongKind},
		`did you mean "shop.log"?`:                                          {"aggregate_log_errors", map[string]any{"log_path": "shop.lgo"}, KindNotFound},
	} {
		require.ErrorContains(t, callError(t, r, call.tool, call.args, call.kind), says)
	}
	data := callError(t, r, "aggregate_log_errors", map[string]any{"log_path": "notes.txt"}, KindWrongKind).Data.(LogSummary)
	require.Equal(t, 2, data.Unparsed)
}

func TestLogWindowIsClipped(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var log strings.Builder
	for i := 1; i <= 200; i++ {
		fmt.Fprintf(&log, "2026-01-05 10:00:00 INFO line %d\r\n", i)
	}
	writeLogs(t, dir, map[string]string{"a.log": log.String(), "long.log": "a\n" + strings.Repeat("é", 1_500_000) + "\nb"})
	r, err := NewRegistry(Logs(LogOptions{Workspace: dir, MaxWindowLines: 5})...)
	require.NoError(t, err)
	window := func(args map[string]any) (LogWindow, string) {
		result := mustCall(t, r, "get_log_window", args)
		return result.Data.(LogWindow), result.Text
	}
	for _, tc := range []struct {
		line, before, after, first, last int
		clipped                          bool
	}{
		{100, 0, 0, 98, 102, false}, {100, 1, 1, 99, 101, false}, {100, 3, 1, 97, 101, false}, {100, 3, 2, 98, 102, true}, {100, 300, 100, 98, 102, true},
		{1, 2, 2, 1, 3, false}, {200, 2, 2, 198, 200, false}, {199, 4, 10000, 197, 200, true}, {100, 1, 10, 99, 103, true},
	} {
		got, text := window(map[string]any{"log_path": "a.log", "line_number": tc.line, "before": tc.before, "after": tc.after})
		require.Equal(t, []int{tc.first, tc.last}, []int{got.Lines[0].Line, got.Lines[len(got.Lines)-1].Line}, "%+v", tc)
		require.Equal(t, tc.clipped, got.Clipped, "%+v", tc)
		require.Equal(t, tc.clipped, strings.Contains(text, "fewer lines than asked for: at most 5 are shown"))
		require.Equal(t, 200, got.TotalLines)
		for _, line := range got.Lines {
			require.Equal(t, fmt.Sprintf("2026-01-05 10:00:00 INFO line %d", line.Line), line.Text)
			require.Equal(t, line.Text, log.String()[line.Offset:][:len(line.Text)])
		}
		require.Contains(t, text, fmt.Sprintf("\n> %d: 2026", tc.line))
	}
	long, text := window(map[string]any{"log_path": "long.log", "line_number": 2})
	require.EqualValues(t, 3_000_000-maxWindowLineBytes, long.Lines[1].LeftOut)
	require.Contains(t, text, "[2998000 more bytes of the line left out; read_file with offset=2 shows it]\n  3: b")
}

// BC-26 of the field's cases: awkward bytes.
func TestAwkwardLogsAreUnderstoodWhole(t *testing.T) {
	t.Parallel()
	stamp := "2026-01-05T10:00:00+0300 "
	plain := stamp + "INFO start\n" + stamp + "ERROR disk full node=n1\n\tat a\n\tat b\n\tat c\n" + stamp + "INFO end\n"
	for name, tc := range map[string]struct {
		content         string
		line            int // of ERROR
		lines, unparsed int
	}{
		"plain":                  {plain, 2, 6, 0},
		"CR LF":                  {strings.ReplaceAll(plain, "\n", "\r\n"), 2, 6, 0},
		"no last line end":       {strings.TrimSuffix(plain, "\n"), 2, 6, 0},
		"gzip":                   {gzipped(t, plain), 2, 6, 0},
		"UTF-16LE":               {utf16Text(binary.LittleEndian, plain), 2, 6, 0},
		"UTF-16BE":               {utf16Text(binary.BigEndian, plain), 2, 6, 0},
		"UTF-8 with BOM":         {"\ufeff" + plain, 2, 6, 0},
		"a 70,000-byte line":     {strings.Repeat("x", 70_000) + "\n" + plain, 3, 7, 1},
		"a 200 KB base64 line":   {stamp + "INFO " + strings.Repeat("QUJD", 50_000) + "\n" + plain, 3, 7, 0},
		"a 3 MB line":            {stamp + "INFO " + strings.Repeat("é", 1_500_000) + "\n" + plain, 3, 7, 0},
		"bytes that are no text": {stamp + "INFO caf\xe9 \x00\n" + plain, 3, 7, 0},
		"blank lines":            {"\n\n" + plain + "\n", 4, 9, 0},
		"colours":                {strings.ReplaceAll(plain, "ERROR", "\x1b[31mERROR\x1b[0m"), 2, 6, 0},
		"many lines":             {strings.Repeat(stamp+"INFO again and again\n", 40_000) + plain, 40_002, 40_006, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			writeLogs(t, dir, map[string]string{"app.log": tc.content})
			r := builtins(t, dir)
			result := mustCall(t, r, "aggregate_log_errors", map[string]any{"log_path": "app.log"})
			s := result.Data.(LogSummary)
			require.Equal(t, []int{tc.lines, tc.unparsed, 3}, []int{s.Lines, s.Unparsed, s.Continued})
			require.Equal(t, s.Lines, s.Records+s.Continued+s.Blank+s.Unparsed)
			require.Equal(t, LevelCount{"error", 1}, s.Levels[0])
			require.Equal(t, LogPattern{
				Level: "error", Pattern: "disk full node=n<n>", Count: 1, FirstLine: tc.line, LastLine: tc.line, Example: "disk full node=n1", Same: true,
			}, s.Patterns[0])
			require.Equal(t, []LogValue{{"n1", 1, 1, tc.line, tc.line}}, s.Nodes.Values)
			requireInert(t, result.Text)

			found := mustCall(t, r, "search_log", map[string]any{"log_path": "app.log", "query": "ERROR", "since": "1h"})
			m := found.Data.(LogSearchResult)
			require.Equal(t, []int{1, tc.lines, tc.line, 3}, []int{m.Total, m.LinesSearched, m.Matches[0].Line, m.Matches[0].MoreLines})
			require.Equal(t, "2026-01-05 10:00:00+03:00", m.Matches[0].Time)
			requireInert(t, found.Text)

			window := mustCall(t, r, "get_log_window", map[string]any{"log_path": "app.log", "line_number": tc.line})
			require.Contains(t, window.Text, fmt.Sprintf("\n> %d: %s", tc.line, stamp))
			requireInert(t, window.Text)
			offset := m.Matches[0].Offset
			read := mustCall(t, r, "read_file", map[string]any{"file_path": "app.log", "offset": offset, "length": 24}).Data.(FileContent)
			if offset > 0 {
				require.Equal(t, stamp[:24], read.Content, "the offset is one that read_file takes")
			}
		})
	}
}

func TestRotatedPartsAreSearchedByAPattern(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"app.log": "INFO x\n", "app.log.1.gz": gzipped(t, "ERROR old\n")})
	r := builtins(t, dir)
	found := mustCall(t, r, "search_file", map[string]any{"file_path": "app.log*", "query": "ERROR"}).Data.(SearchResult)
	require.Equal(t, []FileMatchCount{{"app.log.1.gz", 1}}, found.Files)
	require.Contains(t, mustCall(t, r, "search_log", map[string]any{"log_path": "app.log.1.gz", "query": "ERROR"}).Text, "\n1: ERROR old")
}

func requireInert(t *testing.T, text string) {
	t.Helper()
	require.True(t, utf8.ValidString(text))
	require.NotContains(t, text, "\r")
	require.NotContains(t, text, "\x1b")
	require.NotContains(t, text, "\x00")
	require.Less(t, len(text), 10_000)
}

func TestWhatIsNoTextIsNoLog(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"pic.png": png, "pic.png.gz": gzipped(t, png), "sub/a.log": "ERROR x\n", "cut.gz": gzipped(t, strings.Repeat("ERROR x\n", 100))[:30]})
	makeDatabase(t, filepath.Join(dir, "shop.db"), "CREATE TABLE orders(id)")
	r := builtins(t, dir)
	for _, tool := range []string{"aggregate_log_errors", "search_log", "get_log_window"} {
		for path, says := range map[string]string{
			"pic.png": "its type is image/png", "pic.png.gz": "gzip with image/png inside", "shop.db": "use query_sqlite", "sub": `use list_files with pattern "sub/**"`,
		} {
			args := map[string]any{"log_path": path}
			if tool == "get_log_window" {
				args["line_number"] = 1
			}
			require.ErrorContains(t, callError(t, r, tool, args, KindWrongKind), says)
		}
	}
	callError(t, r, "search_log", map[string]any{"log_path": "cut.gz", "query": "x"}, KindFailed)
}

func TestLogToolsStopWithTheContext(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"a.log": strings.Repeat("ERROR x\n", 300_000)})
	r := builtins(t, dir)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for tool, args := range map[string]string{
		"aggregate_log_errors": `{"log_path":"a.log"}`, "search_log": `{"log_path":"a.log","query":"x"}`, "get_log_window": `{"log_path":"a.log","line_number":9}`,
	} {
		_, err := r.Call(ctx, tool, []byte(args))
		require.ErrorIs(t, err, context.Canceled, tool)
	}
}

func TestRarePatternsAreGivenUpFirst(t *testing.T) {
	t.Parallel()
	c := newTallies(10)
	for i := range 1000 {
		c.add([]byte("frequent"), nil, i+1, true)
		c.add(fmt.Appendf(nil, "rare %d", i/3), nil, i+1, true)
		require.LessOrEqual(t, len(c.byKey), 11)
	}
	require.Equal(t, "frequent", c.sorted()[0])
	require.Equal(t, 1000, c.byKey["frequent"].total)
	total := c.lost
	for _, found := range c.byKey {
		total += found.total
	}
	require.Equal(t, 2000, total, "nothing is lost uncounted")

	dir := t.TempDir()
	var log strings.Builder
	word := func(i int) string {
		return strings.Repeat(string(rune('a'+i%26)), 1+i/26%40) + string(rune('a'+i/1040))
	}
	for i := range 2*maxPatterns + 50 {
		fmt.Fprintf(&log, "ERROR %s %s\nERROR every time\n", word(i), "code="+word(i))
	}
	writeFiles(t, dir, map[string]string{"a.log": log.String()})
	result := mustCall(t, builtins(t, dir), "aggregate_log_errors", map[string]any{"log_path": "a.log"})
	s := result.Data.(LogSummary)
	require.Equal(t, "every time", s.Patterns[0].Example)
	require.Equal(t, 2*maxPatterns+50, s.Patterns[0].Count)
	require.Positive(t, s.Ungrouped)
	shown := s.Ungrouped + s.MorePatternLines
	for _, p := range s.Patterns {
		shown += p.Count
	}
	require.Equal(t, s.Records, shown)
	require.Contains(t, result.Text, "were not told apart; counts of messages may be a little too low]")
}

// A message with its numbers masked does not tell which device it is about.
func TestNamesInTheErrorsOfALog(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var b strings.Builder
	stamp := func(i int) string { return fmt.Sprintf("[2032-09-14 02:00:%02d] ", i) }
	for i, device := range []string{"D-04", "D-02", "D-04", "D-04", "D-02", "D-09"} {
		fmt.Fprintf(&b, "%sERROR F2041 gauge of device %s is stuck\n", stamp(i), device)
	}
	b.WriteString(stamp(7) + "ERROR G7 pump off\n" + stamp(8) + "ERROR G7 pump off\n")
	b.WriteString(stamp(9) + "ERROR code=H12 node=n-3 lost\n" + stamp(10) + "ERROR code=H12 node=n-3 lost\n" + stamp(11) + "INFO device D-02 fine\n")
	writeFiles(t, dir, map[string]string{"a.log": b.String()})
	result := mustCall(t, builtins(t, dir), "aggregate_log_errors", map[string]any{"log_path": "a.log"})
	require.Contains(t, result.Text, "\nF2041 gauge of device D-<n> is stuck (error, 6 times, lines 1 to 6; D-04 3 times, D-02 2 times)", "what tells its messages apart")
	require.Contains(t, result.Text, "\nnames in the errors: F2041 6 times, D-04 3 times, D-02 2 times", "not what is shown whole, is a field's value, or occurs once")
	require.NotContains(t, result.Text, "D-02 2 times,")
	names := result.Data.(LogSummary).Names.Values
	require.Equal(t, []string{"F2041", "D-04", "D-02", "G7"}, []string{names[0].Value, names[1].Value, names[2].Value, names[3].Value})
	require.Len(t, names, 4)
}

func TestHostsOfASyslogAreAmongTheNames(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"a.log": "" +
		"Feb  3 19:33:49 north camd[77]: error: TEMP sensor at 2 C\nFeb  3 19:33:50 south camd[77]: error: TEMP sensor at 4 C\n" +
		"Feb  3 19:33:51 south camd[77]: error: TEMP sensor at 4 C\nFeb  3 19:33:52 south camd[77]: error: TEMP sensor at 5 C\n" +
		"Feb  3 19:33:53 north camd[77]: error: TEMP sensor at 9 C\nFeb  3 19:33:54 north camd[77]: info: frame 7 saved\n"})
	result := mustCall(t, builtins(t, dir), "aggregate_log_errors", map[string]any{"log_path": "a.log"})
	require.Contains(t, result.Text, "levels: 5 error, 1 info")
	require.Contains(t, result.Text, "lines 1 to 5; south 3 times, north 2 times)")
	require.Contains(t, result.Text, "\nnames in the errors: south 3 times, north 2 times")
}
