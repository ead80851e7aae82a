package graph_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if code, ok := crashMain(); ok {
		os.Exit(code)
	}
	goleak.VerifyTestMain(m)
}
