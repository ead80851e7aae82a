package graph

import (
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/llama-agent/llama-agent/graph/checkpoint"
)

// nodeWrites is what one task wrote.
type nodeWrites struct {
	node   string
	writes []Write
}

// channelChange is a change of the channel with this index; gone means that it lost its value.
type channelChange struct {
	index int
	gone  bool
	change
}

// merge folds the writes of a superstep, given in merge order, into cells and returns the new cells and what changed, in
// order of declaration. It doesn't change cells. Values of one-step channels that aren't written go.
func (sc *schema) merge(cells []cell, all []nodeWrites, step int) ([]cell, []channelChange, error) {
	perChannel, err := sc.sort(all, step)
	if err != nil {
		return nil, nil, err
	}
	next := make([]cell, len(cells))
	copy(next, cells)
	var changes []channelChange
	for i, c := range sc.channels {
		ws := perChannel[i]
		if len(ws) == 0 {
			if c.spec().oneStep && cells[i].set {
				next[i] = cell{}
				changes = append(changes, channelChange{index: i, gone: true})
			}
			continue
		}
		if c.spec().single && len(ws) > 1 {
			return nil, nil, &ConflictError{Graph: sc.graph, Channel: c.Name(), Nodes: writers(all, c), Step: step}
		}
		merged, ch, err := mergeSafely(c, cells[i], ws)
		if err != nil {
			return nil, nil, &ReducerError{Graph: sc.graph, Channel: c.Name(), Nodes: writers(all, c), Step: step, Err: err}
		}
		if !merged.set { // a topic that got nothing
			if next[i] = (cell{}); cells[i].set {
				changes = append(changes, channelChange{index: i, gone: true})
			}
			continue
		}
		next[i] = merged
		if !c.spec().untracked {
			changes = append(changes, channelChange{index: i, change: ch})
		}
	}
	return next, changes, nil
}

// sort returns the writes that count, by channel: when a task replaces what a channel has, those of the other tasks don't.
func (sc *schema) sort(all []nodeWrites, step int) ([][]Write, error) {
	perChannel := make([][]Write, len(sc.channels))
	var replacer map[int]int // channel → index of the task that replaces its value
	for n, nw := range all {
		for _, w := range nw.writes {
			i := sc.index[w.ch.Name()]
			by, replaced := replacer[i]
			switch {
			case replaced && by != n && w.op == opReplace:
				return nil, &ConflictError{Graph: sc.graph, Channel: w.ch.Name(), Nodes: []string{all[by].node, nw.node}, Step: step, Replace: true}
			case replaced && by != n:
				continue
			case w.op == opReplace:
				if replacer == nil {
					replacer = map[int]int{}
				}
				replacer[i] = n
				perChannel[i] = nil
			}
			perChannel[i] = append(perChannel[i], w)
		}
	}
	return perChannel, nil
}

func mergeSafely(c Channel, old cell, ws []Write) (merged cell, ch change, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	merged, ch = c.merge(old, ws, false)
	return merged, ch, nil
}

// writers lists the node of each write to c.
func writers(all []nodeWrites, c Channel) []string {
	var nodes []string
	for _, nw := range all {
		for _, w := range nw.writes {
			if w.ch == c {
				nodes = append(nodes, nw.node)
			}
		}
	}
	return nodes
}

// check reports writes that the graph can't take.
func (sc *schema) check(u Update, node string, step int) error {
	for _, w := range u {
		switch {
		case w.op.control():
		case w.ch == nil:
			return errors.New("the update contains an empty Write; make writes with the methods of a channel")
		case sc.find(w.ch) < 0:
			return sc.unknownChannel(w.ch, node, step)
		}
	}
	return nil
}

// encodeWrites encodes writes for a saver, but for those to untracked channels. It leaves the encoded bytes in ws, so that
// storing the merged value doesn't have to encode it again.
func encodeWrites(ws []Write) ([]checkpoint.Write, error) {
	if len(ws) == 0 {
		return nil, nil
	}
	out := make([]checkpoint.Write, 0, len(ws))
	for i := range ws {
		if ws[i].ch.spec().untracked {
			continue
		}
		if ws[i].data == nil {
			data, err := ws[i].ch.encode(ws[i].value)
			if err != nil {
				return nil, err
			}
			ws[i].data = data
		}
		out = append(out, checkpoint.Write{Channel: ws[i].ch.Name(), Op: string(ws[i].op), Data: ws[i].data})
	}
	return out, nil
}

// decodeWrites is the inverse of encodeWrites. With lenient, writes to channels the graph doesn't have are dropped.
func (sc *schema) decodeWrites(ws []checkpoint.Write, lenient bool) ([]Write, error) {
	out := make([]Write, 0, len(ws))
	for _, w := range ws {
		i, ok := sc.index[w.Channel]
		if !ok {
			if lenient {
				continue
			}
			return nil, &UnknownChannelError{Graph: sc.graph, Channel: w.Channel, Known: sc.names()}
		}
		switch op(w.Op) {
		case opSet, opAdd, opMerge, opReplace:
		default:
			return nil, &CodecError{Channel: w.Channel, Op: "decoding", Err: fmt.Errorf("unknown operation %q", w.Op)}
		}
		value, err := sc.channels[i].decode(w.Data)
		if err != nil {
			return nil, err
		}
		out = append(out, Write{ch: sc.channels[i], op: op(w.Op), value: value, data: w.Data})
	}
	return out, nil
}

// restore decodes a stored state. With lenient, values of channels the graph doesn't have are dropped.
//
// decoded is what parts of values were decoded to before, and takes what is decoded now; it may be nil.
func (sc *schema) restore(values map[string][][]byte, lenient bool, decoded decodedParts) ([]cell, error) {
	cells := make([]cell, len(sc.channels))
	for name := range values {
		if _, ok := sc.index[name]; !ok && !lenient {
			return nil, &UnknownChannelError{Graph: sc.graph, Channel: name, Known: sc.names()}
		}
	}
	for i, c := range sc.channels {
		stored, ok := values[c.Name()]
		if !ok {
			continue
		}
		if len(stored) > 1 && c.spec().kind != kindAppend {
			return nil, &CodecError{Channel: c.Name(), Op: "decoding",
				Err: fmt.Errorf("it was stored as a list that grew, and the channel is %q now; keep it as one made with Append", c.spec().kind)}
		}
		for k, data := range stored {
			parts := decoded
			if k == 0 { // the others are appended to it
				parts = nil
			}
			part, err := parts.decode(c, data)
			if err != nil {
				return nil, err
			}
			if cells[i].set {
				part = c.join(cells[i].v, part)
			}
			cells[i] = cell{v: part, set: true}
		}
	}
	return cells, nil
}

// decodedParts remembers what parts of values were decoded to, by where their bytes are: the checkpoints of a history share them.
type decodedParts map[*byte]any

func (d decodedParts) decode(c Channel, data []byte) (any, error) {
	if d == nil || len(data) == 0 {
		return c.decode(data)
	}
	if v, ok := d[&data[0]]; ok {
		return v, nil
	}
	v, err := c.decode(data)
	if err == nil {
		d[&data[0]] = v
	}
	return v, err
}
