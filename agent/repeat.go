package agent

import "encoding/json"

// maxRepeats is how many repeats end a step: the first is told to the model, the second is the third time that it asks for
// the same.
const maxRepeats = 2

// repeated looks in the calls made so far, oldest first, for one that makes a new call pointless, and returns the latest
// such call. Running an equal call again is pointless unless something can have changed since:
//
//   - another call with side effects ran in between, other than one that is itself only being repeated without effect (so
//     that A-B-A-B ends);
//   - its last two results differ: it watches something that changes;
//   - it ran for an earlier plan, and has not yet given the same result twice: the review asked to look again.
func repeated(calls []Call, tool string, arguments json.RawMessage, iteration int) (Call, bool) {
	key := callKey(tool, arguments)
	last := -1
	for i := range calls {
		if !calls[i].Skipped && calls[i].key() == key {
			last = i
		}
	}
	if last < 0 {
		return Call{}, false
	}
	for i := last + 1; i < len(calls); i++ {
		c := &calls[i]
		if !c.Skipped && !c.ReadOnly && !c.Rejected && !settled(calls, c.key()) {
			return Call{}, false
		}
	}
	switch sameAsBefore(calls, key) {
	case resultsDiffer:
		return Call{}, false
	case ranOnce:
		if calls[last].Iteration < iteration {
			return Call{}, false
		}
	}
	return calls[last], true
}

type comparison int

const (
	ranOnce comparison = iota
	resultsEqual
	resultsDiffer
)

// sameAsBefore compares the last two outcomes of a call.
func sameAsBefore(calls []Call, key string) comparison {
	var texts []string
	for i := range calls {
		if !calls[i].Skipped && calls[i].key() == key {
			texts = append(texts, calls[i].Text)
		}
	}
	switch n := len(texts); {
	case n < 2:
		return ranOnce
	case texts[n-1] == texts[n-2]:
		return resultsEqual
	default:
		return resultsDiffer
	}
}

// settled reports whether a call has given the same outcome twice in a row.
func settled(calls []Call, key string) bool { return sameAsBefore(calls, key) == resultsEqual }

// broughtSomething reports whether a plan's calls found anything that the calls before it had not. What failed found nothing.
func broughtSomething(calls []Call, iteration int) bool {
	known := map[string]bool{}
	for i := range calls {
		c := &calls[i]
		if c.Skipped || c.Error != nil {
			continue
		}
		fact := c.key() + "\n" + c.Text
		if c.Iteration == iteration && !known[fact] {
			return true
		}
		known[fact] = true
	}
	return false
}

// repeats counts the calls of one step that were pointless: refused as repeats, or refused by the tool's schema again with
// the same arguments.
func repeats(calls []Call, step int) int {
	n := 0
	rejected := map[string]bool{}
	for i := range calls {
		c := &calls[i]
		if c.Step != step {
			continue
		}
		if c.Skipped || rejected[c.key()] {
			n++
		}
		if c.Rejected {
			rejected[c.key()] = true
		}
	}
	return n
}
