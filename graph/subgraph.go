package graph

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/llama-agent/llama-agent/graph/checkpoint"
)

// Scope says what a graph stores when it runs as a subgraph.
type Scope string

const (
	// Inherit gives each task that runs the subgraph checkpoints of its own, in the saver of the graph above. A task that
	// runs again, after a question or a crash, continues them; a new task begins anew.
	Inherit Scope = ""

	// Own gives a node that runs the subgraph one line of checkpoints per thread: its state is kept from task to task, and
	// the input of each is merged into it. Only one task of a superstep can run it.
	Own Scope = "own"

	// None stores no checkpoints: when the task runs again, so does all of the subgraph, with the answers given so far. Its effects
	// are recorded all the same; see [Once].
	None Scope = "none"
)

// A namespace is a path of the tasks that run subgraphs, outermost first, as node and task ID, or the node alone for [Own]. The second
// and later subgraphs that a task runs have their number, from 1, as another part.
const (
	namespaceSeparator = "|"
	taskSeparator      = ":"
)

// sharedChannel is a channel that a subgraph and the graph above it both have, by index in their schemas.
type sharedChannel struct {
	above, below int
	fold         bool // both fold their writes in the same way
}

// Subgraph adds a node that runs child. Channels of the same name, which must have the same type, are shared: the subgraph
// begins with their values, and what its nodes write to them comes back as the node's update, so that an item that is
// appended in the subgraph is appended once above. Its other channels are its own. The target of a [Send] to the node gets its
// private input as the subgraph's input, which may write to the subgraph's channels and those it shares.
//
// A question or a breakpoint in the subgraph interrupts the whole run, and the subgraph continues where it was when the run
// does; see [Options.AsSubgraph]. A failure in it is the node's failure.
func (b *Builder) Subgraph(name string, child *Graph, opts ...NodeOption) *Builder {
	return b.add(&nodeDef{name: name, child: child}, opts)
}

// ReturnAll makes a subgraph node return the whole value of each shared channel, written or not, rather than what was
// written, and hand values down as writes. That is LangGraph's rule: what a shared channel that appends or folds held
// before counts twice afterwards.
func ReturnAll() NodeOption { return func(n *nodeDef) { n.returnAll = true } }

// ToParent ends the subgraph whose node returns it: the task that runs the subgraph gets u as its update, with the nodes that
// u asks for. What the subgraph wrote before to channels it shares is lost. In a graph that isn't a subgraph it is [ErrNoParent].
func ToParent(u Update) Write { return Write{op: opParent, parent: slices.Clone(u)} }

// parentCommand is the error that carries an update out of a subgraph.
type parentCommand struct{ update Update }

func (*parentCommand) Error() string { return ErrNoParent.Error() }

func (*parentCommand) Is(target error) bool { return target == ErrNoParent }

// leaves reports whether err is, or wraps, an update for the graph above.
func leaves(err error) bool {
	var up *parentCommand
	return errors.As(err, &up)
}

// toParent returns the update that u has for the graph above.
func (u Update) toParent() *parentCommand {
	for _, w := range u {
		if w.op == opParent {
			return &parentCommand{w.parent}
		}
	}
	return nil
}

// link finds the channels that the node's subgraph shares with g, and makes the node's function.
func (n *nodeDef) link(g *Graph) []error {
	var errs []error
	for below, c := range n.child.schema.channels {
		above, ok := g.schema.index[c.Name()]
		if !ok || c.spec().hidden || n.child.inputs.hides(below) && n.child.outputs.hides(below) {
			continue
		}
		up := g.schema.channels[above].spec()
		if up.typ != c.spec().typ {
			errs = append(errs, fmt.Errorf("channel %q is %v in graph %q and %v in its subgraph %q; shared channels need one type",
				c.Name(), up.typ, g.name, c.spec().typ, n.child.name))
			continue
		}
		n.shared = append(n.shared, sharedChannel{above, below, up.folds() && up.kind == c.spec().kind})
	}
	n.fn = func(ctx context.Context, s State) (Update, error) {
		t := taskFrom(ctx)
		if t == nil {
			return nil, errors.New("graph: the node of a subgraph was called outside a run")
		}
		in := append(Update{}, t.private...)
		if !t.send {
			in = n.childInput(s)
		}
		final, err := n.child.sub(ctx, t, in, n.forwards())
		if err != nil {
			return nil, err
		}
		return n.childOutput(g, final), nil
	}
	return errs
}

// childInput is the update that hands the shared values of s to the subgraph.
func (n *nodeDef) childInput(s State) Update {
	in := Update{}
	for _, sc := range n.shared {
		up, down := s.schema.channels[sc.above], n.child.schema.channels[sc.below]
		if n.child.inputs.hides(sc.below) {
			continue
		}
		cl := s.cell(up)
		if !cl.set {
			if !n.returnAll || !up.spec().folds() {
				continue
			}
			cl.v = reflect.Zero(up.spec().typ).Interface()
		}
		in = append(in, Write{ch: down, op: down.spec().takes(!n.returnAll), value: cl.v})
	}
	return in
}

// forwards tells for each channel of the subgraph how writes to it come back: nil when all values do.
func (n *nodeDef) forwards() []forwarding {
	if n.returnAll {
		return nil
	}
	f := make([]forwarding, len(n.child.schema.channels))
	for _, sc := range n.shared {
		if !n.child.outputs.hides(sc.below) {
			f[sc.below] = forwardValue
			if sc.fold {
				f[sc.below] = forwardWrites
			}
		}
	}
	return f
}

// forwarding says what a subgraph hands back of a channel that was written.
type forwarding byte

const (
	forwardNothing forwarding = iota
	forwardValue              // its value at the end
	forwardWrites             // each write
)

// childOutput is the update that hands back what the subgraph leaves behind.
func (n *nodeDef) childOutput(g *Graph, final State) Update {
	above := make(map[int]Channel, len(n.shared))
	var u Update
	for _, sc := range n.shared {
		up := g.schema.channels[sc.above]
		above[sc.below] = up
		if !n.returnAll || n.child.outputs.hides(sc.below) {
			continue
		}
		cl := final.cells[sc.below]
		if !cl.set {
			if !up.spec().folds() {
				continue
			}
			cl.v = reflect.Zero(up.spec().typ).Interface()
		}
		u = append(u, Write{ch: up, op: up.spec().takes(false), value: cl.v})
	}
	for _, w := range n.child.forward.items(final) {
		below := n.child.schema.index[w.ch.Name()]
		up := above[below]
		if up == nil { // shared no more, by a graph of another shape
			continue
		}
		if w.op != opTouch {
			u = append(u, Write{ch: up, op: w.op, value: w.value})
		} else if cl := final.cells[below]; cl.set {
			u = append(u, Write{ch: up, op: up.spec().takes(false), value: cl.v})
		}
	}
	return u
}

// forwardName is the name of the hidden channel in which a subgraph keeps what it will hand back.
const forwardName = "__forward__"

func (g *Graph) addForward() {
	g.forward = Append[Write](forwardName, WithCodec(forwardCodec{g.schema}))
	g.forward.hidden = true
	g.schema.index[forwardName] = len(g.schema.channels)
	g.schema.channels = append(g.schema.channels, g.forward)
}

func (c *AppendChannel[T]) items(s State) []T {
	items, _ := s.cells[s.schema.index[c.name]].v.([]T)
	return items
}

// forwarded returns the write to the hidden channel for what the tasks of a superstep wrote.
func (r *run) forwarded(start bool, all []nodeWrites) []nodeWrites {
	have := r.g.forward.items(r.pos.state(r.g))
	if start { // the input isn't handed back, nor what an earlier task was
		if len(have) > 0 {
			all = append(all, nodeWrites{writes: []Write{r.g.forward.Replace(nil)}})
		}
		return all
	}
	touched := map[Channel]bool{}
	for _, w := range have {
		touched[w.ch] = touched[w.ch] || w.op == opTouch
	}
	var items []Write
	for _, nw := range all {
		for _, w := range nw.writes {
			switch r.scope.cfg.forward[r.g.schema.index[w.ch.Name()]] {
			case forwardWrites:
				items = append(items, w)
			case forwardValue:
				if !touched[w.ch] {
					touched[w.ch] = true
					items = append(items, Write{ch: w.ch, op: opTouch})
				}
			}
		}
	}
	if len(items) > 0 {
		all = append(all, nodeWrites{writes: []Write{r.g.forward.Add(items...)}})
	}
	return all
}

// forwardCodec stores writes to the channels of a schema.
type forwardCodec struct{ schema *schema }

func (c forwardCodec) Encode(v any) ([]byte, error) {
	ws := v.([]Write)
	out := make([]checkpoint.Write, 0, len(ws))
	for _, w := range ws {
		if w.op == opTouch {
			out = append(out, checkpoint.Write{Channel: w.ch.Name(), Op: string(opTouch)})
			continue
		}
		encoded, err := encodeWrites([]Write{w}) // ws is part of states that others read
		if err != nil {
			return nil, err
		}
		out = append(out, encoded...)
	}
	return json.Marshal(out)
}

func (c forwardCodec) Decode(data []byte, into any) error {
	var stored []checkpoint.Write
	if err := json.Unmarshal(data, &stored); err != nil {
		return err
	}
	var ws []Write
	for i, w := range stored {
		if at, ok := c.schema.index[w.Channel]; ok && op(w.Op) == opTouch {
			ws = append(ws, Write{ch: c.schema.channels[at], op: opTouch})
			continue
		}
		decoded, err := c.schema.decodeWrites(stored[i:i+1], true) // a graph of another shape was refused before, or is allowed
		if err != nil {
			return err
		}
		ws = append(ws, decoded...)
	}
	*into.(*[]Write) = ws
	return nil
}
