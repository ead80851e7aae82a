package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMain makes the test binary the program itself when it is started with a folder to work in: only a process can die.
func TestMain(m *testing.M) {
	if os.Getenv("EFFECT_TEST_PROGRAM") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// start runs the program in a process of its own and returns its output and exit code.
func start(t *testing.T, dir string, args ...string) (string, int) {
	t.Helper()
	cmd := exec.Command(os.Args[0], append([]string{"-dir", dir}, args...)...)
	cmd.Env = append(os.Environ(), "EFFECT_TEST_PROGRAM=1")
	out, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return string(out), exit.ExitCode()
	}
	require.NoError(t, err)
	return string(out), 0
}

func lines(t *testing.T, path ...string) int {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(path...))
	require.NoError(t, err)
	return strings.Count(string(data), "\n")
}

func TestCrashWhileCharging(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	out, code := start(t, dir, "-crash", "charge")
	require.Equal(t, 3, code)
	require.Equal(t, "Bank: charged order 7\nCrash! The charge has happened, and nobody has noted it.\n", out)

	out, code = start(t, dir)
	require.Zero(t, code)
	require.Equal(t, `Order 7 was begun; going on with charge.
Bank: this request is known; nothing is charged again.
Outbox: mailed receipt 1 for order 7
Order 7: receipt 1 for order 7, the receipt was sent as mail for order 7.
`, out)
	require.Equal(t, 1, lines(t, dir, "bank.txt"))
	require.Equal(t, 1, lines(t, dir, "outbox.txt"))

	out, code = start(t, dir)
	require.Zero(t, code)
	require.Equal(t, "Order 7 is done already; take another with -order.\n", out)
}

func TestCrashWhileMailing(t *testing.T) {
	t.Parallel()
	for _, answer := range []struct {
		mail string
		sent int
		out  string
	}{
		{"skip", 1, "the receipt was sent before the crash.\n"},
		{"send", 2, "the receipt was sent as mail for order 8.\n"},
	} {
		dir := t.TempDir()
		_, code := start(t, dir, "-order", "8", "-crash", "mail")
		require.Equal(t, 3, code)

		for range 2 { // the question stays open until it has an answer
			out, code := start(t, dir, "-order", "8")
			require.Zero(t, code)
			require.Contains(t, out, "Order 8 was begun; going on with mail.\n")
			require.Contains(t, out, "may have been sent; send it again?")
			require.NotContains(t, out, "Outbox")
		}
		out, code := start(t, dir, "-order", "8", "-mail", answer.mail)
		require.Zero(t, code)
		require.True(t, strings.HasSuffix(out, answer.out), out)
		require.Equal(t, answer.sent, lines(t, dir, "outbox.txt"))
		require.Equal(t, 1, lines(t, dir, "bank.txt"))
	}
}

func TestAnswerBeforeTheQuestion(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, code := start(t, dir, "-crash", "mail")
	require.Equal(t, 3, code)
	out, _ := start(t, dir, "-mail", "skip")
	require.True(t, strings.HasSuffix(out, "the receipt was sent before the crash.\n"), out)
}

func TestWrongFlags(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"-crash", "x"}, {"-mail", "x"}, {"x"}} {
		out, code := start(t, t.TempDir(), args...)
		require.Equal(t, 2, code)
		require.Contains(t, out, "Usage: effect")
	}
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	out, code := start(t, file)
	require.Equal(t, 1, code)
	require.Contains(t, out, "effect: opening checkpoints")
}
