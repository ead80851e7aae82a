package graph

import "slices"

// Update is what a node returns: writes to channels and the nodes it asks for. Nil means nothing changes. The order of
// writes to one channel is kept.
type Update []Write

// Write is one entry of an [Update]: a write made by a channel's method, [Goto], [ToParent] or [Follow].
type Write struct {
	ch     Channel
	op     op
	value  any
	next   []Next
	parent Update // of ToParent
	data   []byte // encoded value, once there is one
}

// Channel returns the channel that w writes to, nil for a Goto and a ToParent.
func (w Write) Channel() Channel { return w.ch }

// Value returns what w writes: for a channel that appends, a list of items. It is shared and must not be changed.
func (w Write) Value() any { return w.value }

// Replaces reports whether w puts its value in place of what a channel that appends or folds holds.
func (w Write) Replaces() bool { return w.op == opReplace }

type op string

const (
	opSet     op = "set"
	opAdd     op = "add"
	opMerge   op = "merge"
	opReplace op = "replace"
	opTouch   op = "touch" // of the hidden channel of subgraphs: the value was written
	opGoto    op = "goto"
	opParent  op = "parent"
	opFollow  op = "follow"
)

// control reports whether o isn't a write to a channel.
func (o op) control() bool { return o == opGoto || o == opParent || o == opFollow }

// Next names a node to run in the next superstep. Make one with [To] or [Send].
type Next struct {
	node    string
	send    bool
	private Update
}

// Node returns the node's name.
func (n Next) Node() string { return n.node }

// To asks for node with the state. However many tasks ask for it, it runs once. To(End) asks for nothing.
func To(node string) Next { return Next{node: node} }

// Send asks for a task of its own that runs node with a private input: the state it sees holds exactly what private
// writes, and [State.Shared] is the thread's state. Writes of the task itself go to the thread's state as always.
// The channels of private must be channels of the graph. Several Sends to one node are several tasks.
func Send(node string, private Update) Next { return Next{node: node, send: true, private: private} }

// Goto asks for nodes in addition to those that edges and branches lead to.
func Goto(next ...Next) Write { return Write{op: opGoto, next: next} }

// Follow makes an update of an [ErrorHandler] count as the node's in full: the edges, joins and branches of the node are followed.
func Follow() Write { return Write{op: opFollow} }

// follows reports whether u has a Follow.
func (u Update) follows() bool {
	return slices.ContainsFunc(u, func(w Write) bool { return w.op == opFollow })
}

// Channels returns the names of the channels u writes to, each once, in order of first writing.
func (u Update) Channels() []string {
	var names []string
	seen := make(map[string]bool, len(u))
	for _, w := range u {
		if w.ch != nil && !seen[w.ch.Name()] {
			seen[w.ch.Name()] = true
			names = append(names, w.ch.Name())
		}
	}
	return names
}

// Targets returns the nodes that u asks for.
func (u Update) Targets() []Next {
	var next []Next
	for _, w := range u {
		next = append(next, w.next...)
	}
	return next
}

// Map returns the written values by channel: for channels that append or fold, the one written if there was one, else a
// list of all. It is made for display.
func (u Update) Map() map[string]any {
	m := make(map[string]any, len(u))
	counts := make(map[string]int, len(u))
	for _, w := range u {
		if w.ch == nil {
			continue
		}
		name := w.ch.Name()
		switch counts[name]++; counts[name] {
		case 1:
			m[name] = w.value
		case 2:
			m[name] = []any{m[name], w.value}
		default:
			m[name] = append(m[name].([]any), w.value)
		}
	}
	return m
}

// writes returns u's writes to channels.
func (u Update) writes() []Write {
	for i, w := range u {
		if !w.op.control() {
			continue
		}
		rest := append([]Write(nil), u[:i]...)
		for _, w := range u[i+1:] {
			if !w.op.control() {
				rest = append(rest, w)
			}
		}
		return rest
	}
	return u
}
