package telemetry

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// counting is a meter that numbers its samples.
type counting struct {
	mu             sync.Mutex
	samples, stops int
	hang           chan struct{} // nil: a sample takes no time
}

func (c *counting) measure() usage {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.hang != nil {
		<-c.hang
	}
	c.samples++
	return usage{PID: c.samples}
}

func (c *counting) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stops++
}

func TestSamplerStartsAndStops(t *testing.T) {
	t.Parallel()
	m, got := &counting{}, make(chan usage, 1000)
	s := newSampler(time.Millisecond, m, func(u usage) { got <- u })
	s.Stop(t.Context())
	for round := range 2 {
		s.Start()
		s.Start()
		for range 3 {
			<-got
		}
		s.Stop(t.Context())
		s.Stop(t.Context())
		require.Equal(t, round+1, m.stops, "one goroutine a start")
	}
	taken := m.samples
	for len(got) > 0 {
		require.LessOrEqual(t, (<-got).PID, taken)
	}
}

// The last sample is taken at the end, however long the interval.
func TestSamplerTakesALastSample(t *testing.T) {
	t.Parallel()
	m, got := &counting{}, make(chan usage, 10)
	s := newSampler(time.Hour, m, func(u usage) { got <- u })
	s.Start()
	require.Equal(t, 1, (<-got).PID)
	s.Stop(t.Context())
	require.Equal(t, 2, (<-got).PID)
	require.Empty(t, got)
}

// A measurement that hangs in the system does not hold up the end.
func TestSamplerThatHangsIsLeft(t *testing.T) {
	t.Parallel()
	m, got := &counting{hang: make(chan struct{})}, make(chan usage, 10)
	s := newSampler(time.Hour, m, func(u usage) { got <- u })
	s.Start()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s.Stop(ctx)
	close(m.hang)
	require.Positive(t, (<-got).PID)
}

// Not parallel: other tests' processes would count.
func TestMemoryRows(t *testing.T) {
	dir, told := t.TempDir(), &told{}
	r := openIn(t, dir, Options{SampleInterval: minInterval, Logger: told.logger()})
	_, end := startBurning(t, "burn")
	require.Eventually(t, func() bool {
		all := rows(t, read(t, dir, MemoryFile))
		return all[len(all)-1]["processes"] == "2"
	}, 30*time.Second, minInterval)
	end()
	r.Close(t.Context())
	require.Empty(t, told.lines())

	all := rows(t, read(t, dir, MemoryFile))
	require.Greater(t, len(all), 2)
	last := all[len(all)-1]
	require.Equal(t, "1", last["processes"], "the last sample was taken at the end")
	var before int64 = -1
	var cpu float64
	for _, row := range all {
		nanos := number(t, row["monotonic_ns"])
		require.Greater(t, nanos, before)
		before = nanos
		for _, column := range []string{"rss_bytes", "peak_rss_bytes", "tree_rss_bytes", "available_bytes"} {
			require.Positive(t, number(t, row[column]), column)
		}
		seconds, err := strconv.ParseFloat(row["cpu_seconds"], 64)
		require.NoError(t, err)
		require.GreaterOrEqual(t, seconds, cpu)
		cpu = seconds
		if row["gpu_supported"] == "false" {
			require.NotEmpty(t, row["gpu_reason"])
			require.Equal(t, "0", row["gpu_bytes"])
		} else {
			require.Empty(t, row["gpu_reason"])
		}
	}
	require.GreaterOrEqual(t, cpu, burntSeconds)
}

func number(t *testing.T, s string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(s, 10, 64)
	require.NoError(t, err, "%q", s)
	return n
}
