package agent_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/llama-agent/llama-agent/agent"
)

// longNote is a text of many lines about other things around one line.
func longNote(line string) string {
	var b strings.Builder
	for i := range 60 {
		if i == 31 {
			fmt.Fprintln(&b, line)
		}
		fmt.Fprintf(&b, "entry %d: the cat slept on chair number %d until noon\n", i, i*7)
	}
	return b.String()
}

func TestAnswerToManyLargeResultsRepeatsTheirNearestLines(t *testing.T) {
	t.Parallel()
	names := []string{"red", "green", "blue"}
	for count, repeated := range map[int]bool{2: false, 3: true} {
		steps := make([]string, count)
		for i := range steps {
			steps[i] = fmt.Sprintf("find the voltage of the %s battery|look|%s", names[i], names[i])
		}
		r := newRig(t, nil, plan(steps...), review("done"), answer("done"))
		for i, name := range names {
			r.texts[name] = longNote(fmt.Sprintf("The battery ```here``` has a voltage of %d.5.", 3+i))
		}
		report := r.run("What are the voltages of the batteries?")
		require.Equal(t, agent.StatusDone, report.Status)
		asked := r.model.questions()
		last := asked[len(asked)-1].last()
		_, instruction, found := strings.Cut(last, "Role: answer.")
		require.True(t, found)
		if !repeated {
			require.NotContains(t, instruction, "voltage of", "two are read well enough")
			continue
		}
		require.Contains(t, instruction, "````\nred: The battery ```here``` has a voltage of 3.5.\n"+
			"green: The battery ```here``` has a voltage of 4.5.\nblue: The battery ```here``` has a voltage of 5.5.\n````\n",
			"no line can end the block that marks it as data")
	}
}

func TestAnswerRepeatsNoLineOfFewOrSmallResults(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil, plan("find the voltage|look|red", "find the voltage|look|blue", "find the voltage|look|third"), review("done"), answer("3.5"))
	r.texts["red"], r.texts["blue"] = longNote("The voltage is 3.5."), longNote("A voltage of 5.5 was read.")
	r.texts["third"] = "The voltage is 4.5.\nA cat slept.\nA dog ran.\nA bird sang.\n"
	r.run("What are the voltages?")
	asked := r.model.questions()
	_, instruction, found := strings.Cut(asked[len(asked)-1].last(), "Role: answer.")
	require.True(t, found)
	require.NotContains(t, instruction, "voltage is", "two results are large")
}

func TestLinesThatAreHardlyWorseAreRepeatedToo(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil, plan("find the voltage|look|red", "find the voltage|look|blue", "find the voltage|look|third"), review("done"), answer("3.5"))
	r.texts["red"], r.texts["blue"] = longNote("The voltage is 3.5.\nThe voltage was 3.4."), longNote("A voltage of 5.5 was read.")
	r.texts["third"] = longNote("Nothing of interest was seen here.")
	r.run("What are the voltages?")
	asked := r.model.questions()
	_, instruction, found := strings.Cut(asked[len(asked)-1].last(), "Role: answer.")
	require.True(t, found)
	require.Contains(t, instruction, "red: The voltage is 3.5.\nred: The voltage was 3.4.\nblue: A voltage of 5.5 was read.\n")
	require.NotContains(t, instruction, "third:", "it shares no word")
}

func TestAnswerHasTheSumOfWhatWasCounted(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil, plan("count the stones|tally|north", "count the stones|tally|south", "weigh|look|stone"),
		review("done"), answer("19"))
	r.withTally(map[string]int{"north": 12, "south": 7})
	r.run("How many stones are there?")
	asked := r.model.questions()
	require.Contains(t, asked[len(asked)-1].instruction(), "\nAdded up: tally, total: 12 + 7 = 19\n")

	r = newRig(t, nil, plan("count the stones|tally|north"), review("done"), answer("12"))
	r.withTally(map[string]int{"north": 12})
	r.run("How many stones are there?")
	asked = r.model.questions()
	require.NotContains(t, asked[len(asked)-1].instruction(), "Added up")
}
