package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// task is a record of a task that was done right.
func task(system, layout string, ms float64, evaluated int, calls ...float64) record {
	return record{
		Kind: kindTask, System: system, Layout: layout, Case: "c", Round: 1, Right: true,
		reply: reply{DurationMS: ms, EvaluatedTokens: evaluated, ToolCallMS: calls},
	}
}

func TestTable(t *testing.T) {
	t.Parallel()
	wrong := task(llamaPython, trunk, 3000, 600, 900)
	wrong.Right, wrong.Version = false, "llama-cpp-python 1.2 + langgraph 3.4"
	silent := record{Kind: kindTask, System: llamaPython, Layout: trunk, Case: "w", Error: "its time\nwas over"}
	var b strings.Builder
	require.NoError(t, writeTable(&b, []record{
		task(own, ownLayout, 1000, 100, 200, 300), task(own, ownLayout, 3000, 300, 400),
		{Kind: kindKill, System: own, Layout: ownLayout, reply: reply{}, RestartMS: 2000, LoadMS: 400},
		{Kind: kindSecond, System: own, Layout: ownLayout, reply: reply{FirstStepMS: 1600, EvaluatedTokens: 0}, PeakRSSBytes: 2e9},
		task(llamaPython, idiomatic, 10000, 1999, 740),
		wrong, silent,
		{Kind: kindKill, System: llamaPython, Layout: trunk, RestartMS: 40000},
		{Kind: kindSecond, System: llamaPython, Layout: trunk, reply: reply{FirstStepMS: 30000, EvaluatedTokens: 1500}},
		{Kind: kindProcess, System: llamaPython, Layout: trunk, PeakRSSBytes: 1.9e9, LoadMS: 500},
	}))
	require.Equal(t, `
| figure                              | llama-agent | peer             | layout    |  peer's |  ratio | required |        |
|-------------------------------------|------------:|------------------|-----------|--------:|-------:|---------:|--------|
| tasks done right                    |       100 % | llama-cpp-python | idiomatic |   100 % |  1.00x |       1x | met    |
| tasks done right                    |       100 % | llama-cpp-python | trunk     |     0 % |        |       1x | met    |
| time per task                       |      2.00 s | llama-cpp-python | idiomatic | 10.00 s |  5.00x |       5x | met    |
| time per task                       |      2.00 s | llama-cpp-python | trunk     |  3.00 s |  1.50x |       2x | MISSED |
| prompt tokens evaluated per task    |         200 | llama-cpp-python | idiomatic |    1999 |  9.99x |      10x | MISSED |
| prompt tokens evaluated per task    |         200 | llama-cpp-python | trunk     |     600 |  3.00x |       1x | met    |
| last prompt token to tool call      |      300 ms | llama-cpp-python | idiomatic |  740 ms |  2.47x |     2.5x | MISSED |
| last prompt token to tool call      |      300 ms | llama-cpp-python | trunk     |  900 ms |  3.00x |     2.5x | met    |
| kill -9 at 4k tokens to next token  |      2.00 s | llama-cpp-python | trunk     | 40.00 s | 20.00x |      20x | met    |
| second run: time to first step      |      1.60 s | llama-cpp-python | trunk     | 30.00 s | 18.75x | < 1.50 s | MISSED |
| second run: prompt tokens evaluated |           0 | llama-cpp-python | trunk     |    1500 |        |       2x | met    |
| peak memory                         |     2000 MB | llama-cpp-python | trunk     | 1900 MB |  0.95x |       1x | MISSED |
| loading the model                   |      400 ms | llama-cpp-python | trunk     |  500 ms |  1.25x |          |        |

Times are without loading the model, except after kill -9. A ratio is how many times better llama-agent is; figures are medians.
Peers: llama-cpp-python 1.2 + langgraph 3.4.
No result: llama-cpp-python, trunk layout, w: its time was over
5 of 12 required figures missed
`, "\n"+b.String())
}

func TestTableOfOneSystem(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	require.NoError(t, writeTable(&b, []record{task(own, ownLayout, 1000, 100, 200)}))
	require.Contains(t, b.String(), "| time per task                       |      1.00 s |      |        |")
	require.Contains(t, b.String(), "| second run: time to first step      |   no result |")
	require.Contains(t, b.String(), "0 of 0 required figures missed")

	require.ErrorContains(t, writeTable(&b, []record{task(llamaServer, trunk, 1, 1)}), "nothing of llama-agent")
}

// A figure that misses its requirement never becomes met by getting worse, whichever way is better.
func TestWorseIsNeverMet(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := rapid.SampledFrom(figures).Draw(t, "figure")
		layout := rapid.SampledFrom([]string{idiomatic, trunk}).Draw(t, "layout")
		system := rapid.SampledFrom([]string{llamaPython, llamaServer, nodeLlama}).Draw(t, "system")
		value := rapid.Float64Range(0, 1e6)
		ours, theirs, change := value.Draw(t, "ours"), value.Draw(t, "theirs"), value.Draw(t, "change")
		worse := ours + change
		if f.more {
			worse = max(0, ours-change)
		}
		before, after := f.judge(ours, theirs, layout, system), f.judge(worse, theirs, layout, system)
		if after.met && !before.met {
			t.Fatalf("%s: %v beside %v is missed, but %v is met", f.title, ours, theirs, worse)
		}
	})
}

func TestMedian(t *testing.T) {
	t.Parallel()
	_, known := median(nil)
	require.False(t, known)
	for _, c := range []struct {
		values []float64
		want   float64
	}{{[]float64{7}, 7}, {[]float64{9, 1}, 5}, {[]float64{9, 1, 2}, 2}, {[]float64{4, 1, 3, 2}, 2.5}} {
		before := append([]float64{}, c.values...)
		got, known := median(c.values)
		require.True(t, known)
		require.InDelta(t, c.want, got, 1e-9)
		require.Equal(t, before, c.values, "the values stay in their order")
	}
}
