package graph

import (
	"encoding/json"
)

// State is a read-only view of a graph's channels at one moment. It stays valid and unchanged however long it is kept, and
// is safe for concurrent use. The zero value is an empty state. Read it through the channels: goal.Get(state).
type State struct {
	schema *schema
	cells  []cell
	own    []Write // writes laid over cells; only a branch sees any
	shared []cell  // the thread's state when cells is a private input
}

// schema is the ordered set of a graph's channels.
type schema struct {
	graph    string
	channels []Channel
	index    map[string]int
}

// find returns the place of c, or -1 when c isn't one of the channels.
func (sc *schema) find(c Channel) int {
	i, ok := sc.index[c.Name()]
	if !ok || sc.channels[i] != c {
		return -1
	}
	return i
}

func (sc *schema) names() []string {
	names := make([]string, len(sc.channels))
	for i, c := range sc.channels {
		names[i] = c.Name()
	}
	return names
}

func (s State) cell(c Channel) cell {
	if s.schema == nil {
		return cell{}
	}
	i := s.schema.find(c)
	if i < 0 {
		panic(s.schema.unknownChannel(c, "", 0))
	}
	cl := s.cells[i]
	if len(s.own) > 0 {
		if ws := writesTo(s.own, c); len(ws) > 0 {
			cl, _ = c.merge(cl, ws, true)
		}
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
		if s.cell(c).set {
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
		if !cl.set {
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
