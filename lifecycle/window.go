package lifecycle

// WindowLimits bound [Window]. All but Hot are in tokens; negative values count as 0.
type WindowLimits struct {
	Hot        int // turns that stay after a jump
	Activation int // what may be shown before the window jumps
	Budget     int // what may be shown at all
}

// Window returns the first of the newest turns of a conversation that are shown whole: tokens[start:], oldest first. It is
// len(tokens) when not even the newest turn fits the budget.
//
// A window that moved at every turn would change the beginning of every prompt, and the model would have to evaluate all of it
// again. So it moves in jumps: it grows turn by turn until what it shows exceeds the activation, or the budget where that is less,
// and then shrinks to the newest Hot turns, or as many of them as fit the budget. Where it starts follows from all turns from the
// first on. A further turn never moves the start back, and between two jumps all prompts begin alike. When the hot turns alone
// exceed the activation, it moves at every turn.
func Window(tokens []int, w WindowLimits) (start int) {
	budget := max(0, w.Budget)
	jump := min(max(0, w.Activation), budget)
	shown := 0
	for i, t := range tokens {
		shown += max(0, t)
		if shown <= jump {
			continue
		}
		for hot := i + 1 - max(0, w.Hot); start < hot || shown > budget; start++ {
			shown -= max(0, tokens[start])
		}
	}
	return start
}

// Latest returns the first of the last turns that are within a budget in tokens: tokens[start:], oldest first, at most so many
// turns. A turn that does not fit is left out, and so are all before it. It is len(tokens) when none fits.
func Latest(tokens []int, turns, budget int) (start int) {
	start = len(tokens)
	for left := budget; start > 0 && len(tokens)-start < turns; start-- {
		left -= max(0, tokens[start-1])
		if left < 0 {
			break
		}
	}
	return start
}
