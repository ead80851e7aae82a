package graph

import (
	"encoding/json"
	"fmt"
)

// State is a read-only view of a graph's channels at one moment. It stays valid and unchanged however long it is kept, and
// is safe for concurrent use. The zero value is an empty state. Read it through the channels: goal.Get(state).
type State struct {
	schema *schema
	cells  []cell
	own    []Write // writes laid over cells; only a branch sees any
	after  bool    // the superstep of cells has ended, for a branch: what lasts one step is gone
	shared []cell  // the thread's state when cells is a private input
	only   mask    // the others appear to have no value
}

// mask is a set of channels by index; nil stands for all.
type mask []bool

func (m mask) hides(i int) bool { return m != nil && !m[i] }

// schema is the ordered set of a graph's channels. The last is hidden; see [Graph.forward].
type schema struct {
	graph    string
	channels []Channel
	index    map[string]int
}

// mask returns the set of these channels, nil for none. It reports those that the graph doesn't have.
func (sc *schema) mask(channels []Channel, what string) (mask, []error) {
	if len(channels) == 0 {
		return nil, nil
	}
	var errs []error
	m := make(mask, len(sc.channels))
	for _, c := range channels {
		if c == nil {
			errs = append(errs, fmt.Errorf("%s names a nil channel", what))
		} else if i := sc.find(c); i < 0 {
			errs = append(errs, fmt.Errorf("%s: %w", what, sc.unknownChannel(c, "", 0)))
		} else {
			m[i] = true
		}
	}
	return m, errs
}

// in returns the names of the channels of m.
func (sc *schema) in(m mask) []string {
	var names []string
	for i, c := range sc.channels {
		if !c.spec().hidden && !m.hides(i) {
			names = append(names, c.Name())
		}
	}
	return names
}

// find returns the place of c, or -1 when c isn't one of the channels.
func (sc *schema) find(c Channel) int {
	i, ok := sc.index[c.Name()]
	if !ok || sc.channels[i] != c {
		return -1
	}
	return i
}

func (sc *schema) names() []string { return sc.in(nil) }

func (s State) cell(c Channel) cell {
	if s.schema == nil {
		return cell{}
	}
	i := s.schema.find(c)
	if i < 0 {
		panic(s.schema.unknownChannel(c, "", 0))
	}
	if s.only.hides(i) {
		return cell{}
	}
	cl := s.cells[i]
	if !s.after {
		return cl
	}
	if ws := writesTo(s.own, c); len(ws) > 0 {
		cl, _ = c.merge(cl, ws, true)
	} else if c.spec().oneStep {
		cl = cell{}
	}
	return cl
}

func writesTo(all []Write, c Channel) []Write {
	var ws []Write
	for _, w := range all {
		if w.ch == c {
			ws = append(ws, w)
		}
	}
	return ws
}

// Channels returns the names of the channels that have a value, in order of declaration.
func (s State) Channels() []string {
	var names []string
	if s.schema == nil {
		return names
	}
	for _, c := range s.schema.channels {
		if !c.spec().hidden && s.cell(c).set {
			names = append(names, c.Name())
		}
	}
	return names
}

// Shared returns the thread's state at the beginning of the superstep: s itself, but for a task that was started by
// [Send], whose own state is its private input.
func (s State) Shared() State {
	if s.shared == nil {
		return s
	}
	return State{schema: s.schema, cells: s.shared}
}

// MarshalJSON writes the channels that have a value as one object. A value that its codec doesn't encode as JSON appears
// as a base64 string.
func (s State) MarshalJSON() ([]byte, error) {
	m := make(map[string]json.RawMessage)
	if s.schema == nil {
		return []byte("{}"), nil
	}
	for _, c := range s.schema.channels {
		cl := s.cell(c)
		if !cl.set || c.spec().hidden {
			continue
		}
		data, err := c.encode(cl.v)
		if err != nil {
			return nil, err
		}
		if !json.Valid(data) {
			if data, err = json.Marshal(data); err != nil {
				return nil, err
			}
		}
		m[c.Name()] = data
	}
	return json.Marshal(m)
}
