package benchmark

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func sampleOf(id, round string, repetition, tokens int, right bool) Sample {
	s := Sample{Case: id, Round: round, Repetition: repetition, Judged: 1}
	s.Turns = []Turn{{Number: 1, Cost: Cost{InputTokens: tokens, ModelCalls: 2}}}
	s.InputTokens, s.EvaluatedTokens, s.PeakKVTokens, s.CheckpointBytes, s.DatabaseBytes = tokens, tokens/2, tokens/4, 2048, 10240
	s.DurationMS, s.PeakRSSBytes, s.ModelCalls = 1500, 3<<20, 2
	if right {
		s.Right = 1
	} else {
		s.Faults = []string{`the answer lacks "x"`}
	}
	return s
}

func TestReduce(t *testing.T) {
	t.Parallel()
	broken := sampleOf("b", "R1", 0, 5, true)
	broken.ErrorClass = Timeout
	base := []Sample{
		sampleOf("a", "R0", 0, 1000, true), sampleOf("a", "R0", 1, 3000, true), sampleOf("a", "R0", 2, 8000, true), sampleOf("b", "R0", 0, 9000, true),
	}
	current := []Sample{broken, sampleOf("a", "R1", 1, 1500, false), sampleOf("a", "R1", 0, 500, true), sampleOf("b", "R1", 1, 7, true)}
	all := reduce(base, current, false)
	require.Equal(t, 2, all.Pairs, "without the broken one, and without those that have no partner")
	require.InDelta(t, 0.5, all.Shares[0], 1e-9)
	require.InDelta(t, 0.0, all.Shares[3], 1e-9)
	right := reduce(base, current, true)
	require.Equal(t, 1, right.Pairs)
	require.InDelta(t, 0.5, right.Shares[0], 1e-9)

	more := reduce([]Sample{sampleOf("a", "R0", 0, 1000, true)}, []Sample{sampleOf("a", "R1", 0, 1500, true)}, true)
	require.InDelta(t, -0.5, more.Shares[0], 1e-9)
	require.True(t, math.IsNaN(more.Shares[8]), "nobody called a tool")
	unknown := sampleOf("a", "R1", 0, 900, true)
	unknown.PeakKVTokens = 0
	require.True(t, math.IsNaN(reduce([]Sample{sampleOf("a", "R0", 0, 1000, true)}, []Sample{unknown}, false).Shares[2]))
	require.True(t, math.IsNaN(reduce([]Sample{unknown}, []Sample{sampleOf("a", "R0", 0, 1000, true)}, false).Shares[2]))
	none := reduce(base, nil, false)
	require.Zero(t, none.Pairs)
	require.True(t, math.IsNaN(none.Shares[0]))
}

func TestSummarize(t *testing.T) {
	t.Parallel()
	broken := sampleOf("a", "R0", 2, 70_000, false)
	broken.ErrorClass, broken.Judged = Crash, 0
	half := sampleOf("a", "R0", 1, 3000, true)
	half.Right, half.Judged = 2, 5
	c := summarize([]Sample{sampleOf("a", "R0", 0, 1000, true), half, broken})
	require.Equal(t, 3, c.Samples)
	require.Equal(t, 3, c.Right)
	require.Equal(t, 6, c.Judged)
	require.Equal(t, 1, c.Errors)
	require.InDelta(t, 2000, c.Means[0], 1e-9)
	require.InDelta(t, 1.5, c.Means[5], 1e-9)
	require.True(t, math.IsNaN(summarize([]Sample{broken}).Means[0]))
}

func TestTable(t *testing.T) {
	t.Parallel()
	talk := func(round string, turns ...int) Sample {
		s := sampleOf("talk", round, 0, 0, true)
		s.Turns, s.InputTokens = nil, 0
		for i, tokens := range turns {
			s.Turns = append(s.Turns, Turn{Number: i + 1, Cost: Cost{InputTokens: tokens, ModelCalls: 2}})
			s.InputTokens += tokens
		}
		// A second question on the same conversation.
		last := s.Turns[len(s.Turns)-1]
		last.InputTokens += 20
		s.InputTokens += last.InputTokens
		s.Turns = append(s.Turns, last)
		return s
	}
	broken := sampleOf("goal", "R1", 1, 0, false)
	broken.Faults, broken.Judged, broken.ErrorClass, broken.Error = nil, 0, Crash, "the program ended with exit status 2; stderr ends with:\npanic"
	got := Table("made with some.gguf", []Sample{
		sampleOf("goal", "R0", 0, 1000, true), sampleOf("goal", "R1", 0, 400, true),
		sampleOf("goal", "R0", 1, 3000, false), broken,
		talk("R0", 200, 400, 600, 800, 1000), talk("R1", 200, 300, 300, 300, 300),
	})
	want := `# made with some.gguf

| case | round | samples | right answers | errors | input tokens | evaluated tokens | peak KV, tokens | checkpoints, KiB | databases, KiB | latency, s | peak RSS, MiB | model calls | tool calls |
| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
| goal | R0 | 2 | 1 of 2 | 0 | 2000 | 1000 | 500 | 2 | 10 | 1.5 | 3 | 2 | 0 |
| goal | R1 | 2 | 1 of 1 | 1 | 400 | 200 | 100 | 2 | 10 | 1.5 | 3 | 2 | 0 |
| talk | R0 | 1 | 1 of 1 | 0 | 4020 | 0 | – | 2 | 10 | 1.5 | 3 | 2 | 0 |
| talk | R1 | 1 | 1 of 1 | 0 | 1720 | 0 | – | 2 | 10 | 1.5 | 3 | 2 | 0 |
| **all** | R0 | 3 | 2 of 3 | 0 | 2673 | 667 | – | 2 | 10 | 1.5 | 3 | 2 | 0 |
| **all** | R1 | 3 | 2 of 2 | 1 | 1060 | 100 | – | 2 | 10 | 1.5 | 3 | 2 | 0 |

Means over samples without an error, wrong answers included. Tokens, checkpoints, calls and latency are added up over the turns of a sample; loading the model is not part of the latency.

| case | rounds | pairs | number of pairs | input tokens | evaluated tokens | peak KV | checkpoints | databases | latency | peak RSS | model calls | tool calls |
| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
| goal | R1 vs R0 | all | 1 | 60.0 % | 60.0 % | 60.0 % | 0.0 % | 0.0 % | 0.0 % | 0.0 % | 0.0 % | – |
| goal | R1 vs R0 | both right | 1 | 60.0 % | 60.0 % | 60.0 % | 0.0 % | 0.0 % | 0.0 % | 0.0 % | 0.0 % | – |
| talk | R1 vs R0 | all | 1 | 57.2 % | – | – | 0.0 % | 0.0 % | 0.0 % | 0.0 % | 0.0 % | – |
| talk | R1 vs R0 | both right | 1 | 57.2 % | – | – | 0.0 % | 0.0 % | 0.0 % | 0.0 % | 0.0 % | – |
| **all** | R1 vs R0 | all | 2 | 57.8 % | 60.0 % | – | 0.0 % | 0.0 % | 0.0 % | 0.0 % | 0.0 % | – |
| **all** | R1 vs R0 | both right | 2 | 57.8 % | 60.0 % | – | 0.0 % | 0.0 % | 0.0 % | 0.0 % | 0.0 % | – |

Reduction = (base − current) / base, over pairs of the same case and repetition without an error; below 0 is more.

| case | round | turn 1 | turn 2 | turn 4 | last turn |
| --- | --- | ---: | ---: | ---: | ---: |
| talk | R0 | 100 | 200 | 400 | 505 |
| talk | R1 | 100 | 150 | 150 | 155 |

Mean tokens of one prompt in a turn: its input tokens by its model calls.

Faults and errors:

- goal, R0, repetition 1: the answer lacks "x"
- goal, R1, repetition 1: crash: the program ended with exit status 2
`
	require.Equal(t, want, got)

	single := Table("x", []Sample{sampleOf("goal", "R0", 0, 1000, true)})
	require.NotContains(t, single, "Reduction")
	require.NotContains(t, single, "**all**")
	require.NotContains(t, single, "turn 1")
	require.NotContains(t, single, "Faults")
	require.Equal(t, "# nothing\n", Table("nothing", nil)[:10])
}
