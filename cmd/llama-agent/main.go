// Command llama-agent does tasks with a local language model: it plans, calls tools that only touch what they are allowed
// to, and stores each step, so that a task that was stopped goes on where it was.
//
// The result goes to stdout, everything else to stderr. Each command is in a file of its own; package app does the work.
package main

import (
	"fmt"
	"io"
	"os"
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
	executable     string        // what samples of a benchmark run; empty: this program
}

// execute runs a command and returns the exit code. All errors are printed here and nowhere else.
func execute(p *program) int {
	c := newConsole(p.stdout, p.stderr, config.Color(p.environ))
	interrupts := &interruption{}
	ctx, stop := untilSignal(c, interrupts)
	defer stop()
	root := newRoot(p, c, interrupts)
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
