package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/llama-agent/llama-agent/app"
)

func TestFormats(t *testing.T) {
	t.Parallel()
	require.Equal(t, "999 B", formatBytes(999))
	require.Equal(t, "1.0 kB", formatBytes(1000))
	require.Equal(t, "94.1 MB", formatBytes(94_100_000))
	require.Equal(t, "1.12 GB", formatBytes(1_117_000_000))
	require.Equal(t, "16k", formatCount(16384))
	require.Equal(t, "1000", formatCount(1000))
	require.Equal(t, "12 ms", formatDuration(12*time.Millisecond))
	require.Equal(t, "1.3 s", formatDuration(1300*time.Millisecond))
	require.Equal(t, "2m05s", formatDuration(125*time.Second))
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	require.Equal(t, "now", formatAge(now.Add(-30*time.Second), now))
	require.Equal(t, "5 min", formatAge(now.Add(-5*time.Minute), now))
	require.Equal(t, "30 h", formatAge(now.Add(-30*time.Hour), now))
	require.Equal(t, "3 d", formatAge(now.Add(-72*time.Hour), now))
	require.Equal(t, "1 task", plural(1, "task"))
	require.Equal(t, "0 tasks", plural(0, "task"))
	require.Equal(t, "'it'\\''s'", shellWord("it's"))
	require.Equal(t, "/a/b.toml", shellWord("/a/b.toml"))
	require.Equal(t, "''", shellWord(""))
}

func TestTruncate(t *testing.T) {
	t.Parallel()
	require.Equal(t, "abc", truncate("abc", 3))
	require.Equal(t, "ab…", truncate("abcd", 3))
	require.Equal(t, "数…", truncate("数一数", 4), "a wide character is never halved")
	require.Equal(t, "abcd", truncate("abcd", 0))
}

func TestTable(t *testing.T) {
	t.Parallel()
	columns := []column{{title: "ID"}, {title: "N", right: true}, {title: "TEXT", flexible: true}}
	rows := [][]string{{"一", "7", "short"}, {"bb", "12", "a rather\nlong \x1b[2J text"}}
	require.Equal(t, ""+
		"ID   N  TEXT\n"+
		"一   7  short\n"+
		"bb  12  a rather long ␛[2J text\n", table(columns, rows, 0))
	require.Equal(t, ""+
		"ID   N  TEXT\n"+
		"一   7  short\n"+
		"bb  12  a rather …\n", table(columns, rows, 18))
}

func TestModelTable(t *testing.T) {
	t.Parallel()
	yes, no := true, false
	list := []app.ModelFile{
		{Path: "/m/qwen2.5-coder-1.5b-instruct-q4_k_m.gguf", Architecture: "qwen2", Size: "1.5B", Quantization: "Q4_K_M", ContextLength: 32768, ChatTemplate: true, ToolTemplate: true, MemoryBytes: 2_001_000_000, Fits: &yes, Configured: true},
		{Path: "/m/big.gguf", Architecture: "llama", Size: "70B", Quantization: "Q4_K_M", ContextLength: 131072, ChatTemplate: true, MemoryBytes: 48_000_000_000, Fits: &no},
		{Path: "/m/base.gguf", Architecture: "llama", Size: "7B", Quantization: "Q8_0", ContextLength: 4096, MemoryBytes: 9_000_000_000},
		{Path: "/m/notes.gguf", Problem: "it is not a GGUF file"},
	}
	require.Equal(t, ""+
		"FILE                         ARCH   SIZE  QUANT    CTX  TEMPLATE     NEEDS  FITS\n"+
		"qwen2.5-coder-1.5b-instruc…  qwen2  1.5B  Q4_K_M   32k  tools      2.00 GB  yes\n"+
		"big.gguf                     llama   70B  Q4_K_M  128k  chat      48.00 GB  no\n"+
		"base.gguf                    llama    7B  Q8_0      4k  none       9.00 GB  ?\n"+
		"\n"+
		"cannot be used:\n"+
		"notes.gguf: it is not a GGUF file\n", modelTable(list, 80))
	require.Contains(t, modelTable(list, 0), "/m/qwen2.5-coder-1.5b-instruct-q4_k_m.gguf *  qwen2")
}

// told returns what the events of a task put on stdout and stderr.
func told(t *testing.T, set func(*console), events ...app.Event) (stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	c := newConsole(&out, &err, false)
	set(c)
	p := &progress{console: c}
	for _, e := range events {
		p.observe(e)
	}
	require.NoError(t, c.finish())
	return out.String(), err.String()
}

func TestProgress(t *testing.T) {
	t.Parallel()
	call := app.CallFinished{}
	call.Call.Tool, call.Call.Arguments, call.Call.DurationMS = "read_file", json.RawMessage(`{"file_path":"`+strings.Repeat("a", 200)+`"}`), 12
	failed := call
	failed.Call.Error = &app.CallError{Kind: "not_found", Message: "no\nsuch file"}
	replayed := call
	replayed.Replayed = true
	plan := []app.Step{{Number: 1, Do: "read", File: "a\n.txt", Tool: "read_file"}, {Number: 2, Do: "think", Tool: app.NoTool}}
	events := []app.Event{
		app.TaskStarted{Thread: "t-1", Resumed: true},
		app.NodeStarted{Status: "planning"},
		app.PlanMade{Steps: plan},
		app.PlanMade{Steps: plan},
		app.PlanMade{Steps: append(plan, app.Step{Number: 3, Do: "more", Tool: app.NoTool})},
		app.StepStarted{Step: plan[0]},
		app.CallStarted{Tool: "read_file"},
		call, failed, replayed,
		app.ModelReplied{Node: "planner"},
		app.Noted{Text: "something"},
		app.AnswerStarted{Attempt: 1}, app.AnswerDelta{Text: "half"},
	}
	shown := `  read_file "file_path":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa…`
	stdout, stderr := told(t, func(*console) {}, events...)
	require.Empty(t, stdout, "without a terminal the answer comes as a whole")
	require.Equal(t, ""+
		"resuming thread t-1\n"+
		"plan\n  1. read (read_file a .txt)\n  2. think\n"+
		"new plan\n  3. more\n"+
		"step 1: read\n"+
		truncate(shown, 70)+"  12 ms\n"+
		truncate(shown, 70)+"  12 ms\n    not_found: no such file\n"+
		truncate(shown, 70)+"  (done before)\n"+
		"note: something\n", stderr)

	_, stderr = told(t, func(c *console) { c.quiet = true }, events...)
	require.Empty(t, stderr)

	_, stderr = told(t, func(c *console) { c.verbose = true }, events...)
	require.Contains(t, stderr, "planning\n")
	require.Contains(t, stderr, "  read_file begins\n")
	require.Contains(t, stderr, strings.Repeat("a", 200))
	require.Contains(t, stderr, "  model: 0 tokens read, 0 of them cached, 0 written, 0 ms\n")

	stdout, stderr = told(t, func(c *console) { c.outTerminal = true },
		app.AnswerStarted{Attempt: 1}, app.AnswerDelta{Text: "half"}, app.AnswerStarted{Attempt: 2}, app.AnswerDelta{Text: "whole"})
	require.Equal(t, "half\nwhole", stdout)
	require.Contains(t, stderr, "the answer begins anew")
}

func TestFinishOfAnAnswer(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ streamed, answer, want string }{
		{"", "", ""},
		{"", "a\n\n", "a\n"},
		{"a", "a", "a\n"},
		{"a\n", "a", "a\n"},
		{"a", "b", "a\n\nb\n"},
	} {
		var out bytes.Buffer
		c := newConsole(&out, &bytes.Buffer{}, false)
		c.outTerminal = true
		p := &progress{console: c}
		if test.streamed != "" {
			p.observe(app.AnswerDelta{Text: test.streamed})
		}
		p.finish(test.answer)
		require.NoError(t, c.finish())
		require.Equal(t, test.want, out.String())
	}
}

func TestHistoryTable(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.Local)
	s := &session{program: &program{now: func() time.Time { return now }}, console: newConsole(&bytes.Buffer{}, &bytes.Buffer{}, false)}
	steps := []app.Boundary{
		{ID: "0000-55555555-e", Problem: "its checksum doesn't fit"},
		{ID: "0000-44444444-d", Parent: "0000-22222222-b", Fork: true, Step: 1, Nodes: []string{"planner"}, Next: []string{"executor"}, Time: now, Bytes: 0},
		{ID: "0000-33333333-c", Step: 2, Nodes: []string{"a", "b"}, Time: now, Bytes: 1200},
		{ID: "0000-22222222-b", Step: 1, Nodes: []string{"planner"}, Next: []string{"a", "b"}, Time: now.AddDate(-1, 0, 0), Bytes: 12},
		{ID: "0000-11111111-a", Step: 0, Next: []string{"planner"}, Time: now.AddDate(-1, 0, 0), Bytes: 12},
	}
	require.Equal(t, ""+
		"STEP  NODE     NEXT      TIME                SIZE  CHECKPOINT        FORK OF\n"+
		"   ?  ?        ?         ?                      ?  555555-e damaged\n"+
		"   1  planner  executor  Mar 1 12:00:00       0 B  444444-d          222222-b\n"+
		"   2  a+b      (end)     Mar 1 12:00:00    1.2 kB  333333-c\n"+
		"   1  planner  a+b       2025-03-01 12:00    12 B  222222-b\n"+
		"   0  (start)  planner   2025-03-01 12:00    12 B  111111-a\n", s.historyTable(steps, 0, len(steps)))
	require.Equal(t, ""+
		"STEP  NODE     NEXT     TIME              SIZE  CHECKPOINT\n"+
		"   0  (start)  planner  2025-03-01 12:00  12 B  111111-a\n", s.historyTable(steps[2:], 2, 3))
}

func TestShortIDs(t *testing.T) {
	t.Parallel()
	short := func(ids ...string) (out []string) {
		var steps []app.Boundary
		for _, id := range ids {
			steps = append(steps, app.Boundary{ID: id})
		}
		f := shortIDs(steps)
		for _, id := range ids {
			out = append(out, f(id))
		}
		return out
	}
	require.Equal(t, []string{"1", "2"}, short("1", "2"))
	require.Equal(t, []string{"56789abc", "56789abd"}, short("123456789abc", "123456789abd"))
	require.Equal(t, []string{"a-12345678", "b-12345678"}, short("0-a-12345678", "0-b-12345678"))
	require.Equal(t, []string{"xxxxxxxxx", "xxxxxxxx"}, short("xxxxxxxxx", "xxxxxxxx"), "one is the end of another")
	require.Equal(t, []string{"0xxxxxxxx", "0xxxxxxxx"}, short("0xxxxxxxx", "0xxxxxxxx"), "no length tells them apart")
	require.Empty(t, short())
}

func TestReadingIsToldWithAnEstimate(t *testing.T) {
	t.Parallel()
	var shown bytes.Buffer
	at := time.Unix(1_000_000_000, 0)
	p := &progress{console: &console{stderr: &shown, errTerminal: true, color: true, width: 80}, now: func() time.Time { return at }}
	p.prefill(1000, 5000)
	at = at.Add(2 * time.Second)
	p.prefill(2000, 5000)
	p.prefill(5000, 5000)
	p.prefill(100, 4000) // of another prompt
	require.Equal(t, "\r\x1b[Kreading: 1000 of 5000 tokens\r\x1b[Kreading: 2000 of 5000 tokens, about 6 s left\r\x1b[Kreading: 100 of 4000 tokens", shown.String())
}
