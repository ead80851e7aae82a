package agent

import (
	"errors"
	"fmt"
	"time"
)

// Limits bound one task. The zero value of a field stands for its default.
type Limits struct {
	MaxIterations int           // plans of one task; default 6, at most 50
	MaxPlanSteps  int           // steps of one plan; default 8, at most 64
	MaxToolRounds int           // calls of one step, counting those that were refused; default 4
	MaxToolCalls  int           // calls of one task; default 24
	TaskTimeout   time.Duration // working time of one task, over all its resumes; 0 is no limit
	MaxTokens     int           // tokens of one reply; default 512
	MaxTextRunes  int           // characters of one string in a plan or review; default 240
}

func (l Limits) withDefaults() Limits {
	set := func(v *int, value int) {
		if *v == 0 {
			*v = value
		}
	}
	set(&l.MaxIterations, 6)
	set(&l.MaxPlanSteps, 8)
	set(&l.MaxToolRounds, 4)
	set(&l.MaxToolCalls, 24)
	set(&l.MaxTokens, 512)
	set(&l.MaxTextRunes, 240)
	return l
}

func (l Limits) validate() error {
	var errs []error
	check := func(name string, v, low, high int) {
		if v < low || v > high {
			errs = append(errs, fmt.Errorf("%s is %d: give a number from %d to %d", name, v, low, high))
		}
	}
	check("MaxIterations", l.MaxIterations, 1, 50)
	check("MaxPlanSteps", l.MaxPlanSteps, 1, 64)
	check("MaxToolRounds", l.MaxToolRounds, 1, 100)
	check("MaxToolCalls", l.MaxToolCalls, 1, 10_000)
	check("MaxTokens", l.MaxTokens, 1, 1<<20)
	check("MaxTextRunes", l.MaxTextRunes, 16, 10_000)
	if l.TaskTimeout < 0 {
		errs = append(errs, fmt.Errorf("TaskTimeout is %v: give 0 (no limit) or more", l.TaskTimeout))
	}
	return errors.Join(errs...)
}
