package savertest_test

import (
	"testing"

	"github.com/llama-agent/llama-agent/graph/checkpoint"
	"github.com/llama-agent/llama-agent/graph/checkpoint/savertest"
)

func TestMemory(t *testing.T) {
	t.Parallel()
	savertest.Run(t, func(*testing.T) checkpoint.Saver { return checkpoint.NewMemory() })
}

// TestPlainSaver runs the suite on a saver that has nothing but the methods of Saver.
func TestPlainSaver(t *testing.T) {
	t.Parallel()
	savertest.Run(t, func(*testing.T) checkpoint.Saver { return struct{ checkpoint.Saver }{checkpoint.NewMemory()} })
}
