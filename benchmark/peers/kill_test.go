package main

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// counts gives the numbers of files at the look after the call, and at each tick.
func counts(numbers ...int) (func() (int, error), chan time.Time) {
	ticks := make(chan time.Time, len(numbers)-1)
	for i := range cap(ticks) {
		ticks <- time.Unix(0, 0).Add(time.Duration(i) * settled / 4)
	}
	at := -1
	return func() (int, error) { at++; return numbers[at], nil }, ticks
}

func TestKillWaitsForWhatIsStored(t *testing.T) {
	t.Parallel()
	called, ended := make(chan struct{}), make(chan struct{})
	close(called)
	// It changes twice, and rests for four ticks after that. The cache that was there before says nothing.
	stored, ticks := counts(3, 3, 3, 3, 3, 3, 3, 4, 4, 6, 6, 6, 6, 6, 6, 6)
	require.NoError(t, waitToKill(called, ended, ticks, stored))
	require.Len(t, ticks, 2, "killed at the fourth tick after the last change")
}

func TestKillOfATaskThatEnds(t *testing.T) {
	t.Parallel()
	called, ended := make(chan struct{}), make(chan struct{})
	close(ended)
	stored, ticks := counts(0)
	require.ErrorContains(t, waitToKill(called, ended, ticks, stored), "without the tool call")

	called = make(chan struct{})
	ended = make(chan struct{})
	close(called)
	go close(ended)
	require.ErrorContains(t, waitToKill(called, ended, ticks, stored), "before its answer could be interrupted")

	broken := errors.New("broken")
	require.ErrorIs(t, waitToKill(called, make(chan struct{}), ticks, func() (int, error) { return 0, broken }), broken)
}

func TestReadCalls(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	none, err := readCalls(folder, time.Time{})
	require.NoError(t, err)
	require.Equal(t, &callTimes{}, none)

	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	write("lifecycle_events.jsonl", `{"timestamp_utc":"2031-01-01T00:00:00Z","event":"task_started"}
{"timestamp_utc":"2031-01-01T01:00:00Z","event":"task_started"}
{"timestamp_utc":"2031-01-01T01:00:09Z","event":"task_finished"}
`)
	write("inference_events.jsonl", `{"timestamp_utc":"2031-01-01T00:00:02Z","phase":"planner","evaluated_tokens":900,"decode_ms":100}
{"timestamp_utc":"2031-01-01T01:00:01.5Z","phase":"planner","evaluated_tokens":70,"decode_ms":500}
{"timestamp_utc":"2031-01-01T01:00:03Z","phase":"executor","evaluated_tokens":80,"decode_ms":250}
{"timestamp_utc":"2031-01-01T01:00:04Z","phase":"executor","evaluated_tokens":80,"decode_ms":350}
{"timestamp_utc":"2031-01-01T01:00:05Z","phase":"planner","evaluated_tokens":10,"decode_ms":1}
{"timestamp_utc":"2031-01-01T01:00:08Z","phase":"finalizer","evaluated_tokens":10,"decode_ms":1}
`)
	second, err := readCalls(folder, time.Date(2031, 1, 1, 0, 30, 0, 0, time.UTC))
	require.NoError(t, err)
	require.Equal(t, &callTimes{
		tools: []float64{250, 350}, firstStep: 1500, firstEvaluated: 70, evaluated: 70, firstToken: time.Date(2031, 1, 1, 1, 0, 1, 0, time.UTC),
	}, second)

	write("inference_events.jsonl", "no JSON\n")
	_, err = readCalls(folder, time.Time{})
	require.ErrorContains(t, err, "inference_events.jsonl")
}
