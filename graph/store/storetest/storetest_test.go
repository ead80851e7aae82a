package storetest_test

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/llama-agent/llama-agent/graph/store"
	"github.com/llama-agent/llama-agent/graph/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestMemory(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(_ *testing.T, clock func() time.Time) store.Store {
		return store.NewMemory(store.Options{Clock: clock})
	})
}
