package lifecycle

import "slices"

// Kind says what a record is.
type Kind string

// The kinds.
const (
	KindEvidence Kind = "evidence" // the result of a tool call
	KindStep     Kind = "step"     // the result of a step of a plan
	KindNote     Kind = "note"     // of a reflection
	KindTurn     Kind = "turn"     // of a conversation
	KindMemory   Kind = "memory"   // what the user asked to remember
)

// Kinds returns all kinds.
func Kinds() []Kind { return []Kind{KindEvidence, KindStep, KindNote, KindTurn, KindMemory} }

func (k Kind) known() bool { return slices.Contains(Kinds(), k) }
