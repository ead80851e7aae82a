package telemetry

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

const (
	childDir  = "TELEMETRY_TEST_DIR"
	childDoes = "TELEMETRY_TEST_DOES"
)

// The test binary is also the other processes of a test. No test may leave a goroutine.
func TestMain(m *testing.M) {
	if does := os.Getenv(childDoes); does != "" {
		if err := child(os.Getenv(childDir), strings.Fields(does)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}
