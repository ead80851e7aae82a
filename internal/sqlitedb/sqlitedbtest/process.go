package sqlitedbtest

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// Other processes are the test binary again, with these variables.
const (
	childPath = "SQLITEDBTEST_CHILD_PATH"
	childDoes = "SQLITEDBTEST_CHILD_DOES"
)

// Main is the TestMain of a package: it runs the tests, which may leave no goroutine behind. In a process that [Command] made it runs
// child instead.
func Main(m *testing.M, child func(path string, does []string) error) {
	path, ok := os.LookupEnv(childPath) //nolint:forbidigo // tests have no configuration file
	if !ok {
		goleak.VerifyTestMain(m)
		return
	}
	if err := child(path, strings.Fields(os.Getenv(childDoes))); err != nil { //nolint:forbidigo // as above
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// Command is another process on the store at path; does are words without spaces that tell it what to do.
func Command(path string, does ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childPath+"="+path, childDoes+"="+strings.Join(does, " ")) //nolint:forbidigo // the rest is as for this process
	return cmd
}

// Together runs processes at the same time; all must succeed.
func Together(t testing.TB, cmds ...*exec.Cmd) {
	t.Helper()
	outs := make([]strings.Builder, len(cmds))
	for i, cmd := range cmds {
		cmd.Stdout, cmd.Stderr = &outs[i], &outs[i]
		require.NoError(t, cmd.Start())
	}
	for i, cmd := range cmds {
		require.NoError(t, cmd.Wait(), "%s", &outs[i])
	}
}
