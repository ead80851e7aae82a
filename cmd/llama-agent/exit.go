package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/llama-agent/llama-agent/app"
	"github.com/llama-agent/llama-agent/config"
)

// Exit codes.
const (
	exitDone        = 0
	exitFailure     = 1
	exitUsage       = 2
	exitNothing     = 3 // nothing to resume
	exitModel       = 4 // the model cannot be loaded
	exitFailed      = 5 // the task failed
	exitInterrupted = 130
)

// exitError is an error with an exit code of its own. Err is nil when all is said already.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// usagef is an error in how the program was called.
func usagef(format string, args ...any) error {
	return &exitError{exitUsage, fmt.Errorf(format, args...)}
}

// exitCode chooses the code for an error of a command.
func exitCode(err error) int {
	var own *exitError
	var problems config.Problems
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &own):
		return own.code
	case errors.As(err, &problems):
		for _, p := range problems {
			// A flag with a bad value was typed wrongly; a missing file or folder was not.
			if p.Source.Layer != config.LayerFlag || p.Key == "" {
				return exitFailure
			}
		}
		return exitUsage
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	case errors.Is(err, app.ErrNothingToResume):
		return exitNothing
	case app.IsModelError(err):
		return exitModel
	}
	return exitFailure
}
