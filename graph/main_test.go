package graph_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	for _, child := range []func() (int, bool){crashMain, killsMain} {
		if code, ok := child(); ok {
			os.Exit(code)
		}
	}
	goleak.VerifyTestMain(m)
}
