package checkpoint_test

import (
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/llama-agent/llama-agent/graph/checkpoint"
)

func TestProcess(t *testing.T) {
	t.Parallel()
	me := checkpoint.CurrentProcess()
	require.Equal(t, os.Getpid(), me.PID)
	require.NotEmpty(t, me.Host)
	require.NotEmpty(t, me.Start)
	require.False(t, me.Gone())

	reused := me
	reused.Start += "0"
	require.True(t, reused.Gone(), "the number belongs to another process now")
	far := reused
	far.Host = "elsewhere"
	require.False(t, far.Gone(), "nothing is known of other hosts")
	require.False(t, checkpoint.Process{}.Gone())
}

func TestProcessThatHasEnded(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("needs a program that waits")
	}
	cmd := exec.Command("sleep", "60")
	require.NoError(t, cmd.Start())
	p := checkpoint.Process{Host: checkpoint.CurrentProcess().Host, PID: cmd.Process.Pid}
	require.False(t, p.Gone())
	require.NoError(t, cmd.Process.Kill())
	require.Eventually(t, p.Gone, 10*time.Second, time.Millisecond, "killed, though nobody has waited for it yet")
	_ = cmd.Wait()
	require.True(t, p.Gone())
}

func TestLeaseInForce(t *testing.T) {
	t.Parallel()
	now := time.Now()
	l := checkpoint.Lease{Token: "x", Process: checkpoint.CurrentProcess(), Expires: now}
	require.True(t, l.InForce(now.Add(-1)))
	require.False(t, l.InForce(now), "a lease ends at its end")
	l.Token = ""
	require.False(t, l.InForce(now.Add(-1)), "no lease at all")
}
