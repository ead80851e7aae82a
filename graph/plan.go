package graph

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// topology is what leads where in a compiled graph. Deciding which tasks are due is a pure function of it.
type topology struct {
	edges    map[string][]string
	branches map[string][]*branch
	joins    []join
	joinKeys []string
	joinsOf  map[string][]int // source → indexes of joins
	deferred map[string]bool
}

func (b *Builder) topology(g *Graph) *topology {
	t := &topology{
		edges:    map[string][]string{},
		branches: map[string][]*branch{},
		joinsOf:  map[string][]int{},
		deferred: map[string]bool{},
	}
	for _, e := range b.edges {
		t.edges[e.from] = append(t.edges[e.from], e.to)
	}
	for _, br := range b.branches {
		t.branches[br.from] = append(t.branches[br.from], br)
	}
	for i, j := range b.joins {
		t.joins = append(t.joins, join{slices.Clone(j.from), j.to})
		t.joinKeys = append(t.joinKeys, fmt.Sprintf("%s to %q", quoteAll(j.from), j.to))
		for _, from := range j.from {
			t.joinsOf[from] = append(t.joinsOf[from], i)
		}
	}
	for _, n := range g.nodes {
		if n.deferred {
			t.deferred[n.name] = true
		}
	}
	return t
}

// dueTask is a task before it has an ID: a node, and for a Send its private input.
type dueTask struct {
	node    string
	send    bool
	joined  bool // a join is complete
	private Update
}

// finishedTask is a task whose update is being merged, with the nodes that its Gotos and branches ask for.
type finishedTask struct {
	node        string
	targets     []Next
	onlyTargets bool // the edges and joins of the node don't count
}

// progress maps a join's key to the sources that have finished, sorted. Joins no source of which has finished are absent.
type progress map[string][]string

// agenda is what a boundary leaves to do.
type agenda struct {
	due     []dueTask // in task order: Sends as they were sent, then nodes by name
	waiting []string  // deferred nodes to run when nothing else is due, by name
	joins   progress
}

// plan decides what is due after tasks finished, given in merge order. It changes none of its arguments.
func (t *topology) plan(done []finishedTask, before agenda) agenda {
	joins := before.joins
	var sends []dueTask
	var pulled, joined []string
	for _, f := range done {
		for _, n := range f.targets {
			if n.send {
				sends = append(sends, dueTask{node: n.node, send: true, private: n.private})
			} else {
				pulled = append(pulled, n.node)
			}
		}
		if f.onlyTargets {
			continue
		}
		pulled = append(pulled, t.edges[f.node]...)
		for _, i := range t.joinsOf[f.node] {
			var complete bool
			if joins, complete = t.arrive(joins, i, f.node); complete {
				joined = append(joined, t.joins[i].to)
			}
		}
	}

	next := agenda{due: sends, joins: joins}
	held := slices.Clone(before.waiting)
	for _, n := range sortedSet(append(pulled, joined...)) {
		switch {
		case n == End:
		case t.deferred[n]:
			held = append(held, n)
		default:
			next.due = append(next.due, dueTask{node: n, joined: slices.Contains(joined, n)})
		}
	}
	held = sortedSet(held)
	if len(next.due) > len(sends) { // tasks that were sent hold nobody back
		next.waiting = held
		return next
	}
	for _, n := range held {
		next.due = append(next.due, dueTask{node: n})
	}
	return next
}

// sortedSet sorts names in place and drops those that come again.
func sortedSet(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}

// arrive records that a source of join i has finished and reports whether the join is complete, which resets it.
func (t *topology) arrive(p progress, i int, source string) (progress, bool) {
	key := t.joinKeys[i]
	got := p[key]
	at, found := slices.BinarySearch(got, source)
	if found {
		return p, false
	}
	next := maps.Clone(p)
	if next == nil {
		next = progress{}
	}
	if len(got)+1 == len(t.joins[i].from) {
		delete(next, key)
		return next, true
	}
	next[key] = slices.Insert(slices.Clone(got), at, source)
	return next, false
}

// mergeOrder returns the indexes of tasks in the order in which their writes are merged: nodes by name, then Sends as they
// were sent. Task order has the Sends first.
func mergeOrder(tasks []*task) []int {
	order := make([]int, 0, len(tasks))
	for i, t := range tasks {
		if !t.send {
			order = append(order, i)
		}
	}
	for i, t := range tasks {
		if t.send {
			order = append(order, i)
		}
	}
	return order
}

// taskID names a task so that a resumed run names it the same: by its run's lineage, superstep, node and place among the
// tasks that were sent.
func taskID(run string, step int, t dueTask, place int) string {
	kind := "pull"
	if t.send {
		kind = "send"
	} else {
		place = 0
	}
	buf := make([]byte, 0, 96)
	for _, s := range []string{run, kind, t.node} {
		buf = append(strconv.AppendInt(buf, int64(len(s)), 10), ':')
		buf = append(buf, s...)
	}
	buf = append(strconv.AppendInt(buf, int64(step), 10), ':')
	buf = strconv.AppendInt(buf, int64(place), 10)
	sum := sha256.Sum256(buf)
	return hex.EncodeToString(sum[:12])
}

func questionID(task string, n int) string {
	sum := sha256.Sum256([]byte(task + ":" + strconv.Itoa(n)))
	return hex.EncodeToString(sum[:8])
}
