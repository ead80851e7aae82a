package telemetry

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"testing"

	"github.com/shirou/gopsutil/v4/process"
	"github.com/stretchr/testify/require"
)

const (
	burntBytes   = 64 << 20
	burntSeconds = 0.3
)

// burn uses memory and processor time, says so, and ends with its input.
func burn() error {
	held := make([]byte, burntBytes)
	for i := range held {
		held[i] = 1
	}
	self := &process.Process{Pid: int32(os.Getpid())}
	for ownSeconds(self) < burntSeconds+0.05 { // the system counts in ticks of a hundredth
		for i := range held[:1<<20] {
			held[i]++
		}
	}
	fmt.Println("burnt")
	_, err := io.Copy(io.Discard, os.Stdin)
	runtime.KeepAlive(held)
	return err
}

// burnBelow lets a child do it, so that the burning is two processes away.
func burnBelow() error {
	cmd := command("", "burn")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	return cmd.Run()
}

func startBurning(t *testing.T, does string) (cmd *exec.Cmd, end func()) {
	t.Helper()
	cmd = command("", does)
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	ended := false
	end = func() {
		if !ended {
			ended = true
			require.NoError(t, in.Close())
			require.NoError(t, cmd.Wait())
		}
	}
	t.Cleanup(end)
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "burnt\n", line)
	return cmd, end
}

// Not parallel: what other tests use would count.
func TestTreeOfProcessesIsMeasured(t *testing.T) {
	m := newMeter()
	defer m.close()
	first := m.measure()
	require.Equal(t, os.Getpid(), first.PID)
	require.Equal(t, 1, first.Processes)
	require.Positive(t, first.RSS)
	require.GreaterOrEqual(t, first.PeakRSS, first.RSS)
	require.Equal(t, first.RSS, first.TreeRSS)
	require.Positive(t, first.Available)
	require.Zero(t, first.CPUPercent, "nothing to compare with")

	cmd, end := startBurning(t, "burn-below")
	during := m.measure()
	require.Equal(t, 3, during.Processes)
	require.GreaterOrEqual(t, during.TreeRSS-during.RSS, int64(burntBytes))
	require.GreaterOrEqual(t, during.CPUSeconds-first.CPUSeconds, burntSeconds)
	require.Positive(t, during.CPUPercent)
	require.Contains(t, descendants(int32(os.Getpid()), childrenOf), int32(cmd.Process.Pid))
	require.ElementsMatch(t, descendants(int32(os.Getpid()), childrenOf), descendants(int32(os.Getpid()), childrenBySearch))

	end()
	after := m.measure()
	require.Equal(t, 1, after.Processes)
	require.Equal(t, after.RSS, after.TreeRSS)
	require.GreaterOrEqual(t, after.CPUSeconds, during.CPUSeconds)
	require.GreaterOrEqual(t, newMeter().measure().CPUSeconds-first.CPUSeconds, burntSeconds, "what has ended counts, also to who did not see it run")
	require.Less(t, after.PeakRSS, first.PeakRSS+burntBytes, "the peak is that of this process alone")
}

// Not parallel: the memory must be this test's. The peak stays when the memory is given back.
func TestPeakIsTheSystems(t *testing.T) {
	if PeakRSS() == 0 {
		t.Skip("the system does not tell")
	}
	before := PeakRSS()
	held := make([]byte, before+burntBytes)
	for i := range held {
		held[i] = 1
	}
	runtime.KeepAlive(held)
	require.GreaterOrEqual(t, newMeter().measure().PeakRSS, before+burntBytes, "although no sample was taken meanwhile")
}

func TestDescendants(t *testing.T) {
	t.Parallel()
	tree := map[int32][]int32{1: {2, 3}, 2: {4}, 4: {1, 2, 5}, 9: {10}}
	children := func(pid int32) []int32 { return tree[pid] }
	require.Equal(t, []int32{2, 3, 4, 5}, descendants(1, children), "each once, although numbers were used again")
	require.Empty(t, descendants(7, children))
	endless := func(pid int32) []int32 { return []int32{pid + 1, pid + 2} }
	require.Len(t, descendants(1, endless), maxProcesses)
}

func TestProcessorTimeNeverShrinks(t *testing.T) {
	t.Parallel()
	m := &processMeter{}
	u := usage{CPUSeconds: 5}
	m.percent(&u)
	u = usage{CPUSeconds: 4}
	m.percent(&u)
	require.Equal(t, 5.0, u.CPUSeconds)
	require.Zero(t, u.CPUPercent)
}
