package graph

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestRetryPauses(t *testing.T) {
	t.Parallel()
	p := RetryPolicy{Initial: time.Second, Factor: 3, Max: 10 * time.Second}.withDefaults()
	var got []time.Duration
	for attempt := 1; attempt <= 5; attempt++ {
		got = append(got, p.pause(attempt))
	}
	s := time.Second
	require.Equal(t, []time.Duration{s, 3 * s, 9 * s, 10 * s, 10 * s}, got)
	require.Zero(t, RetryPolicy{Initial: -1}.withDefaults().pause(3))
}

func TestRetryJitterTakesAShare(t *testing.T) {
	t.Parallel()
	p := RetryPolicy{Initial: time.Second, Jitter: 0.25}.withDefaults()
	seen := map[time.Duration]bool{}
	for range 200 {
		d := p.pause(1)
		require.Greater(t, d, 750*time.Millisecond-1)
		require.LessOrEqual(t, d, time.Second)
		seen[d] = true
	}
	require.Greater(t, len(seen), 100, "it is random")
}
