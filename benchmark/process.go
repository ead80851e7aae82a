package benchmark

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"time"

	"github.com/llama-agent/llama-agent/internal/subprocess"
)

const (
	// maxStdoutBytes is how much of a program's output is kept. A report holds the results of all calls.
	maxStdoutBytes = 256 << 20
	// stderrTailBytes is how much of the end of its progress is kept for the record of a failure.
	stderrTailBytes = 4 << 10
	// waitDelay is how long a pipe may stay open, held by a process that left the group, after the program has ended.
	waitDelay = 5 * time.Second
)

// execution is how one process of the program went.
type execution struct {
	stdout   []byte
	overflow bool   // stdout was longer than what is kept
	stderr   string // the end of it
	timedOut bool
	exitCode int // -1 when a signal ended the process
	state    string
	wall     time.Duration
	peakRSS  int64 // bytes, by the system's account; 0 when it does not tell
}

// execute runs the program to its end, or kills it with all processes of its group when the limit has passed or ctx ends. An
// error means that the program could not be started, or that ctx ended.
func execute(ctx context.Context, program string, args, environ []string, folder string, limit time.Duration) (execution, error) {
	timed, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	stdout, stderr := capped{limit: maxStdoutBytes}, tail{limit: stderrTailBytes}
	cmd := exec.CommandContext(timed, program, args...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = folder, environ, &stdout, &stderr
	cmd.WaitDelay = waitDelay
	subprocess.OwnGroup(cmd)
	endWithParent(cmd)

	// See endWithParent: the thread must not end before the process.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	began := time.Now()
	err := cmd.Run()
	e := execution{
		stdout: stdout.data.Bytes(), overflow: stdout.overflow, stderr: string(stderr.data), wall: time.Since(began),
	}
	_, exited := errors.AsType[*exec.ExitError](err)
	switch {
	case ctx.Err() != nil:
		return e, ctx.Err()
	case cmd.ProcessState == nil:
		return e, fmt.Errorf("starting %s: %w", program, err)
	case err != nil && !exited && timed.Err() == nil && !errors.Is(err, exec.ErrWaitDelay):
		return e, fmt.Errorf("reading the output of %s: %w", program, err)
	}
	e.timedOut = err != nil && timed.Err() != nil
	e.exitCode, e.state, e.peakRSS = cmd.ProcessState.ExitCode(), cmd.ProcessState.String(), subprocess.PeakRSS(cmd.ProcessState)
	return e, nil
}

// capped keeps the first bytes that are written to it.
type capped struct {
	data     bytes.Buffer
	limit    int
	overflow bool
}

func (c *capped) Write(p []byte) (int, error) {
	room := c.limit - c.data.Len()
	c.overflow = c.overflow || len(p) > room
	c.data.Write(p[:min(room, len(p))])
	return len(p), nil
}

// tail keeps the last bytes that are written to it.
type tail struct {
	data  []byte
	limit int
}

func (t *tail) Write(p []byte) (int, error) {
	t.data = append(t.data, p[max(0, len(p)-t.limit):]...)
	t.data = t.data[max(0, len(t.data)-t.limit):]
	return len(p), nil
}
