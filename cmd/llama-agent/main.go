// Command llama-agent does tasks with a local language model: it plans, calls tools that only touch what they are allowed
// to, and stores each step, so that a task that was stopped goes on where it was.
//
// The result goes to stdout, everything else to stderr. Each command is in a file of its own; package app does the work.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/llama-agent/llama-agent/app"
	"github.com/llama-agent/llama-agent/config"
)

func main() {
	os.Exit(execute(&program{
		args: os.Args[1:], environ: os.Environ(),
		stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, now: time.Now,
	}))
}

// program is one execution of the command line with everything it takes from outside.
type program struct {
	args, environ  []string
	stdin          io.Reader
	stdout, stderr io.Writer
	now            func() time.Time
	openModel      app.OpenModel // nil: the engine
}

// execute runs a command and returns the exit code. All errors are printed here and nowhere else.
func execute(p *program) int {
	c := newConsole(p.stdout, p.stderr, config.Color(p.environ))
	ctx, stop := untilSignal(c)
	defer stop()
	root := newRoot(p, c)
	cmd, err := root.ExecuteContextC(ctx)
	if flushErr := c.finish(); err == nil {
		err = flushErr
	}
	code := exitCode(err)
	if message := explain(err, code, cmd); message != "" {
		c.line("31", "%s", message)
	}
	return code
}

// patience is how long stopping may take before the user is told how to end the program at once.
const patience = time.Second

// untilSignal returns a context that the first SIGINT, SIGTERM or SIGHUP cancels. A second one ends the process at
// once: what is stored is stored, and the operating system takes back the rest.
func untilSignal(c *console) (context.Context, func()) {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	// A reader that goes away is to be an error of writing, not the end of a task that is under way. Ignoring the signal
	// would do too, but programs that are started would inherit that.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	done := make(chan struct{})
	go func() {
		select {
		case <-signals:
			cancel()
		case <-done:
			return
		}
		slow := time.After(patience)
		for {
			select {
			case <-slow:
				c.say("stopping; Ctrl-C again ends the program at once")
			case <-signals:
				c.say("ended at once")
				os.Exit(exitInterrupted)
			case <-done:
				return
			}
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(done)
		cancel()
	}
}

// explain returns what to tell the user about an error, a line for each problem, or "".
func explain(err error, code int, cmd interface{ CommandPath() string }) string {
	if err == nil {
		return ""
	}
	if own, ok := err.(*exitError); ok && own.err == nil { //nolint:errorlint // only the outermost may have nothing to say
		return ""
	}
	if code == exitInterrupted && !isExitError(err) {
		return "interrupted"
	}
	message := "error: " + err.Error()
	if code == exitUsage && cmd != nil {
		message += fmt.Sprintf("; see %s --help", cmd.CommandPath())
	}
	return message
}

func isExitError(err error) bool {
	_, ok := err.(*exitError) //nolint:errorlint // asks about the outermost error only
	return ok
}
