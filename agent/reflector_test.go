package agent

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWhatNeedsAReview(t *testing.T) {
	t.Parallel()
	const (
		all     = `{"text":"x","truncated":false}`
		none    = `{"matches":[],"total":0}`
		some    = `{"matches":[1],"truncated":true}`
		begun   = `{"content":"x","at_end":false}`
		near    = `{"matches":[],"near":true}`
		oddment = `[1]`
	)
	call := func(step int, result string) Call {
		return Call{Step: step, Outcome: Outcome{Result: json.RawMessage(result)}}
	}
	for name, tt := range map[string]struct {
		states []StepState
		calls  []Call
		want   bool
	}{
		"all found":                        {[]StepState{StepDone, StepDone}, []Call{call(1, all), call(2, near)}, false},
		"one of two is empty":              {[]StepState{StepDone, StepDone}, []Call{call(1, none), call(2, all)}, false},
		"all empty":                        {[]StepState{StepDone, StepDone}, []Call{call(1, none), call(2, none)}, true},
		"one is cut":                       {[]StepState{StepDone, StepDone}, []Call{call(1, some), call(2, all)}, true},
		"one is not at its end":            {[]StepState{StepDone}, []Call{call(1, begun)}, true},
		"no object":                        {[]StepState{StepDone}, []Call{call(1, oddment)}, true},
		"the last call of a step counts":   {[]StepState{StepDone}, []Call{call(1, none), call(1, all)}, false},
		"a step failed":                    {[]StepState{StepDone, StepFailed}, []Call{call(1, all), call(2, all)}, true},
		"a step is open":                   {[]StepState{StepDone, StepPending}, []Call{call(1, all)}, true},
		"refused and dropped steps do not": {[]StepState{StepRefused, StepDropped, StepDone}, []Call{call(3, all)}, false},
		"only refused":                     {[]StepState{StepRefused}, nil, false},
		"a call that had worked before":    {[]StepState{StepDone, StepDone}, []Call{call(1, all), {Step: 2, Skipped: true, Outcome: Outcome{Error: &CallError{Kind: callRepeated}}}}, false},
		"a call failed":                    {[]StepState{StepDone}, []Call{{Step: 1, Outcome: Outcome{Error: &CallError{Kind: "failed"}}}}, true},
		"stored, not looked into":          {[]StepState{StepDone}, []Call{{Step: 1, Outcome: Outcome{Artifact: "artifact://a", Result: json.RawMessage(all)}}}, true},
		"stored, with a line that is near": {[]StepState{StepDone}, []Call{{Step: 1, Outcome: Outcome{Artifact: "artifact://a", Near: true}}}, false},
		"what the state keeps of a whole":  {[]StepState{StepDone}, []Call{{Step: 1, Extent: whole}}, false},
		"what the state keeps of a part":   {[]StepState{StepDone}, []Call{{Step: 1, Extent: part}}, true},
	} {
		plan := make([]Step, len(tt.states))
		for i, state := range tt.states {
			plan[i] = Step{Number: i + 1, Tool: "look", State: state}
		}
		require.Equal(t, tt.want, needsReview(plan, tt.calls), name)
	}
}
