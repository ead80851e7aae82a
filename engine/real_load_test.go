//go:build cgo && !nollama

package engine

import (
	"os/exec"
	"runtime"
	"testing"
	"time"

	"github.com/llama-agent/llama-agent/internal/testmodel"
	"github.com/stretchr/testify/require"
	"github.com/tmc/langchaingo/llms"
)

// With other programs on every core, an engine that may use two threads is not much slower than one that uses one.
func TestRealDecodeOnABusyMachine(t *testing.T) {
	one := open(t, testmodel.Tiny, func(c *Config) { c.Threads = 1 })
	two := open(t, testmodel.Tiny, func(c *Config) { c.Threads = 2 })
	decode := func(e *Engine) time.Duration {
		return usage(say(t, e, user("Write a long story about a river."), llms.WithMaxTokens(24))).Decode
	}
	decode(one)
	for range min(runtime.NumCPU(), 8) {
		c := exec.CommandContext(t.Context(), "sh", "-c", "while :; do :; done")
		require.NoError(t, c.Start())
		defer func() {
			require.NoError(t, c.Process.Kill())
			_ = c.Wait() // killed
		}()
	}
	var spent [2]time.Duration
	for range 8 { // in turns: what else the machine does changes
		spent[0] += decode(one)
		spent[1] += decode(two)
	}
	t.Logf("one thread %v, up to two %v", spent[0], spent[1])
	require.Less(t, spent[1], 3*spent[0])
}
