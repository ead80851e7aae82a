package gbnf

import "unicode/utf8"

const (
	// mostSteps bounds the work for one character. Grammars of JSON schemas need tens; left recursion needs them all.
	mostSteps = 20_000
	// mostForced bounds a forced text in bytes, for grammars that never come to an end.
	mostForced = 4096
)

// Machine follows a text through a grammar. One goroutine may use it and its clones at a time.
type Machine struct {
	table   *table
	at      []*frame // where in the grammar the text may be; each before a set of characters
	mayEnd  bool
	partial []byte // the start of a character
	lost    bool   // the text does not fit the grammar, or nobody knows
}

// frame is a place in a sequence of a rule, with the places that called that rule below it. Equal frames are the same
// frame, so they can be compared and shared.
type frame struct {
	seq   *sequence
	i     int // element that comes next
	times int // that it has come already, when it is a rule
	below *frame
}

// table holds the frames of a machine and its clones.
type table struct{ frames map[frame]*frame }

func (t *table) frame(f frame) *frame {
	if known := t.frames[f]; known != nil {
		return known
	}
	made := &f
	t.frames[f] = made
	return made
}

// Start returns a machine before the first character.
func (g *Grammar) Start() *Machine {
	m := &Machine{table: &table{frames: map[frame]*frame{}}}
	w := walk{table: m.table, seen: map[*frame]bool{}}
	for _, alt := range g.root.alts {
		w.reach(frame{seq: alt})
	}
	m.take(&w)
	return m
}

// Clone returns a machine at the same place that goes its own way.
func (m *Machine) Clone() *Machine {
	c := *m
	c.partial = append([]byte(nil), m.partial...)
	return &c // at is replaced as a whole, never written to
}

// walk collects the places that can be reached without a character.
type walk struct {
	table *table
	seen  map[*frame]bool
	at    []*frame
	end   bool
	steps int
}

// reach adds a place and all that it leads to.
func (w *walk) reach(start frame) {
	todo := []frame{start}
	for len(todo) > 0 && w.steps <= mostSteps {
		f := w.table.frame(todo[len(todo)-1])
		todo = todo[:len(todo)-1]
		if w.seen[f] {
			continue
		}
		w.seen[f] = true
		w.steps++
		if f.i == len(*f.seq) {
			if f.below == nil {
				w.end = true
				continue
			}
			back := *f.below
			e := &(*back.seq)[back.i]
			// Counting on without a limit would make a new place of each turn.
			if back.times++; e.most < 0 && back.times > e.least {
				back.times = e.least
			}
			todo = append(todo, back)
			continue
		}
		e := &(*f.seq)[f.i]
		if e.chars != nil {
			w.at = append(w.at, f)
			continue
		}
		if f.times >= e.least {
			todo = append(todo, frame{seq: f.seq, i: f.i + 1, below: f.below})
		}
		if e.most < 0 || f.times < e.most {
			for _, alt := range e.rule.alts {
				todo = append(todo, frame{seq: alt, below: f})
			}
		}
	}
}

func (m *Machine) take(w *walk) {
	m.at, m.mayEnd = w.at, w.end
	if w.steps > mostSteps || len(w.at) == 0 && !w.end {
		m.lost, m.at, m.mayEnd = true, nil, false
	}
}

// Push follows bytes, which need not be whole characters. False: the grammar does not allow them, or the machine does not
// know; then nothing is forced any more.
func (m *Machine) Push(b []byte) bool {
	m.partial = append(m.partial, b...)
	for !m.lost && len(m.partial) > 0 {
		if !utf8.FullRune(m.partial) {
			return true
		}
		c, n := utf8.DecodeRune(m.partial)
		if c == utf8.RuneError && n <= 1 {
			m.lost = true
			break
		}
		m.partial = m.partial[n:]
		m.step(c)
	}
	return !m.lost
}

func (m *Machine) step(c rune) {
	w := walk{table: m.table, seen: map[*frame]bool{}}
	for _, f := range m.at {
		if (*f.seq)[f.i].chars.has(c) {
			w.reach(frame{seq: f.seq, i: f.i + 1, below: f.below})
		}
	}
	m.take(&w)
}

// Allows reports whether a text may go on with these bytes; true for the start of a character too, whichever it becomes.
func (m *Machine) Allows(b []byte) bool { return !m.lost && m.Clone().Push(b) }

// MayEnd reports whether the text is whole.
func (m *Machine) MayEnd() bool { return !m.lost && m.mayEnd && len(m.partial) == 0 }

// Over reports whether the text is whole and cannot go on.
func (m *Machine) Over() bool { return m.MayEnd() && len(m.at) == 0 }

// Forced returns the bytes with which every text goes on: whole characters, at most 4 KiB, none where there is a choice.
func (m *Machine) Forced() []byte {
	if m.lost || len(m.partial) > 0 {
		return nil
	}
	var out []byte
	c := m.Clone()
	for len(out) < mostForced && !c.lost && !c.mayEnd {
		next, ok := c.only()
		if !ok {
			break
		}
		out = utf8.AppendRune(out, next)
		c.step(next)
	}
	if c.lost {
		return nil
	}
	return out
}

// only returns the one character that can come next.
func (m *Machine) only() (rune, bool) {
	var next rune
	for i, f := range m.at {
		c, ok := (*f.seq)[f.i].chars.only()
		if !ok || i > 0 && c != next || !utf8.ValidRune(c) {
			return 0, false
		}
		next = c
	}
	return next, len(m.at) > 0
}
