package graph

import (
	"fmt"
	"maps"
	"slices"

	"github.com/llama-agent/llama-agent/graph/checkpoint"
)

// position is where a run is: a boundary, and what is due after it.
type position struct {
	info    checkpoint.Info
	lineage string   // checkpoint.Checkpoint.Run
	ran     []string // nodes that ran last, when they aren't info.Nodes
	cells   []cell
	agenda  agenda
	tasks   []*task // of agenda.due
}

// beforeFirst is the step of a thread without checkpoints: the first input is step -1.
const beforeFirst = -2

func (g *Graph) emptyPosition() position {
	return position{info: checkpoint.Info{Step: beforeFirst}, cells: make([]cell, len(g.schema.channels))}
}

// lastRan returns the nodes that ran last, on whichever boundary.
func (p *position) lastRan() []string {
	if p.info.Source == checkpoint.SourceLoop {
		return p.info.Nodes
	}
	return p.ran
}

// step is the superstep that begins at p.
func (p *position) step() int { return p.info.Step + 1 }

func (p *position) state(g *Graph) State { return State{schema: g.schema, cells: p.cells} }

// schedule makes the tasks of p's agenda.
func (g *Graph) schedule(p *position) {
	p.tasks = make([]*task, len(p.agenda.due))
	for i, d := range p.agenda.due {
		p.tasks[i] = g.newTask(taskID(p.lineage, p.step(), d, i), d)
	}
	p.info.Next = g.listOrder(p.agenda.due)
}

func (g *Graph) newTask(id string, d dueTask) *task {
	t := &task{id: id, node: d.node, send: d.send, def: g.nodes[d.node], input: d.private}
	if d.node == Start { // its input is its update
		t.update, t.input, t.done = d.private, nil, true
	}
	return t
}

// listOrder returns the names of tasks as they are listed to users: Sends first, then nodes as they were declared.
func (g *Graph) listOrder(due []dueTask) []string {
	names := make([]string, len(due))
	for i, d := range due {
		names[i] = d.node
	}
	pulls := names[sends(due):]
	slices.SortStableFunc(pulls, func(a, b string) int {
		return slices.Index(g.nodeOrder, a) - slices.Index(g.nodeOrder, b)
	})
	return names
}

func sends(due []dueTask) int {
	n := 0
	for n < len(due) && due[n].send {
		n++
	}
	return n
}

// checkpoint encodes p but for its channels.
func (p *position) checkpoint(shape string) (checkpoint.Checkpoint, error) {
	cp := checkpoint.Checkpoint{Info: p.info, Run: p.lineage, Ran: p.ran, Shape: shape, Joins: p.agenda.joins}
	for i, d := range p.agenda.due {
		private, err := encodeWrites(slices.Clone(d.private)) // which may belong to a task that runs
		if err != nil {
			return cp, err
		}
		cp.Tasks = append(cp.Tasks, checkpoint.Task{ID: p.tasks[i].id, Node: d.node, Send: d.send, Joined: d.joined, Private: private})
	}
	for _, n := range p.agenda.waiting {
		cp.Waiting = append(cp.Waiting, checkpoint.Task{Node: n})
	}
	return cp, nil
}

// position restores a stored position. A lenient one may be of a graph of another shape.
func (g *Graph) position(saved *checkpoint.Saved, lenient bool) (position, error) {
	if saved.Shape != g.shape && !lenient {
		return position{}, &ShapeError{Graph: g.name, Thread: saved.Thread, Checkpoint: saved.ID,
			Changes: shapeChanges(saved.ShapeText, g.shapeText)}
	}
	p, err := g.decodePosition(saved, lenient, nil)
	if err == nil {
		err = g.checkDue(&p)
	}
	if err != nil {
		return position{}, fmt.Errorf("restoring checkpoint %q of thread %q: %w", saved.ID, saved.Thread, err)
	}
	return p, nil
}

// checkDue reports a due node that the graph doesn't have.
func (g *Graph) checkDue(p *position) error {
	for _, t := range p.tasks {
		if t.node != Start && t.def == nil {
			return g.unknownNode(t.node, "")
		}
		if err := g.checkTargets(t.targets, t.node); err != nil {
			return err
		}
	}
	for _, n := range p.agenda.waiting {
		if g.nodes[n] == nil {
			return g.unknownNode(n, "")
		}
	}
	return nil
}

// checkTargets reports a node that a finished task asked for and that the graph doesn't have.
func (g *Graph) checkTargets(next []Next, by string) error {
	for _, n := range next {
		if n.node != End && g.nodes[n.node] == nil {
			return g.unknownNode(n.node, by)
		}
	}
	return nil
}

func (g *Graph) decodePosition(saved *checkpoint.Saved, lenient bool, decoded decodedParts) (position, error) {
	p := position{info: saved.Info, lineage: saved.Run, ran: saved.Ran}
	p.agenda.joins = maps.Clone(saved.Joins)
	var err error
	if p.cells, err = g.schema.restore(saved.Values, lenient, decoded); err != nil {
		return p, err
	}
	for _, t := range saved.Tasks {
		private, err := g.schema.of(g.nodes[t.Node]).decodeWrites(t.Private, lenient)
		if err != nil {
			return p, err
		}
		d := dueTask{node: t.Node, send: t.Send, joined: t.Joined, private: private}
		p.agenda.due = append(p.agenda.due, d)
		p.tasks = append(p.tasks, g.newTask(t.ID, d))
	}
	for _, t := range saved.Waiting {
		p.agenda.waiting = append(p.agenda.waiting, t.Node)
	}
	results := make(map[string]checkpoint.Result, len(saved.Results)) // there may be thousands of each
	for _, r := range saved.Results {
		results[r.Task] = r
	}
	for _, t := range p.tasks {
		if r, ok := results[t.id]; ok {
			if err := t.adopt(g.schema, g.nodes, r, lenient); err != nil {
				return p, err
			}
		}
	}
	return p, nil
}
