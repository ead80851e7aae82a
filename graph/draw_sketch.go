package graph

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// sketch is a [Diagram] as boxes and lines, which all drawing languages have. What a name contains has no effect on it:
// boxes have made-up IDs, and names only appear in their text.
type sketch struct {
	boxes []box
	lines []line
	count int
}

type boxKind int

const (
	plainBox boxKind = iota
	startBox
	endBox
	subgraphBox // a subgraph that isn't shown
	frameBox    // one that is
	anyBox      // where a branch without declared targets leads
	joinBox     // where the sources of a join meet
)

type box struct {
	id     string
	kind   boxKind
	text   []string // lines, each printable
	dashed bool     // deferred
	thick  bool     // has a breakpoint
	inside []box
}

type line struct {
	from, to string
	kind     EdgeKind
	half     bool // leads to where a join's sources meet
	spine    bool // leads to the node that was declared next
}

// ports are the boxes at which the edges of a node arrive and leave. They differ for a subgraph that is shown.
type ports struct{ in, out string }

func (d *Diagram) sketch() *sketch {
	s := &sketch{}
	s.boxes, _ = s.draw(d, nil)
	return s
}

// draw returns the boxes of d, which is in the frame of node, if any. Start and End are left out where nothing leads from or to
// them, unless they are the ports of a frame.
func (s *sketch) draw(d *Diagram, frame *DiagramNode) ([]box, ports) {
	var boxes []box
	at := map[string]ports{}
	put := func(name string, b box) {
		b.id = s.id()
		at[name] = ports{b.id, b.id}
		boxes = append(boxes, b)
	}
	led := d.leads()
	begin, end := []string{"start"}, []string{"end"}
	if frame != nil { // the title of a frame has room for one line
		before, after := frame.notes()
		begin, end = append(begin, before...), append(end, after...)
	}
	if frame != nil || led.from[Start] {
		put(Start, box{kind: startBox, text: begin})
	}
	for i := range d.Nodes {
		n := &d.Nodes[i]
		b := box{dashed: n.Deferred, thick: n.InterruptBefore || n.InterruptAfter}
		if n.Subgraph != nil {
			b.kind, b.id, b.text = frameBox, s.id(), []string{n.title()}
			b.inside, at[n.Name] = s.draw(n.Subgraph, n)
			boxes = append(boxes, b)
			continue
		}
		if n.Graph != "" {
			b.kind = subgraphBox
		}
		before, after := n.notes()
		b.text = slices.Concat([]string{n.title()}, before, after)
		put(n.Name, b)
	}
	if led.to[AnyNode] {
		put(AnyNode, box{kind: anyBox, text: []string{"any node"}})
	}
	if frame != nil || led.to[End] || led.to[AnyNode] {
		put(End, box{kind: endBox, text: end})
	}
	order := d.order()
	for _, e := range slices.Concat(d.Edges, d.onlyByAny()) {
		spine := len(e.From) == 1 && order[e.To] == order[e.From[0]]+1
		boxes = append(boxes, s.connect(e, at, spine)...)
	}
	return boxes, ports{at[Start].in, at[End].out}
}

// connect draws the lines of an edge between boxes that are there, and returns the box where the sources of a join meet.
func (s *sketch) connect(e DiagramEdge, at map[string]ports, spine bool) []box {
	to, ok := at[e.To]
	if !ok {
		return nil
	}
	var from []string
	for _, name := range e.From {
		if p, ok := at[name]; ok {
			from = append(from, p.out)
		}
	}
	if e.Kind != JoinEdge || len(from) < 2 {
		for _, id := range from {
			s.lines = append(s.lines, line{from: id, to: to.in, kind: e.Kind, spine: spine})
		}
		return nil
	}
	meeting := box{id: s.id(), kind: joinBox, text: []string{"all"}}
	for _, id := range from {
		s.lines = append(s.lines, line{from: id, to: meeting.id, kind: JoinEdge, half: true})
	}
	s.lines = append(s.lines, line{from: meeting.id, to: to.in, kind: JoinEdge})
	return []box{meeting}
}

func (s *sketch) id() string {
	s.count++
	return "n" + strconv.Itoa(s.count)
}

// order numbers the names from Start to End.
func (d *Diagram) order() map[string]int {
	order := map[string]int{End: len(d.Nodes) + 1}
	for i, n := range d.Nodes {
		order[n.Name] = i + 1
	}
	return order
}

// leads tells which names have an edge at either end.
type leads struct{ from, to map[string]bool }

func (d *Diagram) leads() leads {
	l := leads{map[string]bool{}, map[string]bool{}}
	for _, e := range d.Edges {
		for _, from := range e.From {
			l.from[from] = true
		}
		l.to[e.To] = true
	}
	return l
}

// onlyByAny returns edges from [AnyNode] to what can't be reached without them, so that a drawing hangs together. Edges to all
// nodes would say more and show less.
func (d *Diagram) onlyByAny() []DiagramEdge {
	led := d.leads().to
	if !led[AnyNode] {
		return nil
	}
	names := make([]string, 0, len(d.Nodes)+1)
	for _, n := range d.Nodes {
		names = append(names, n.Name)
	}
	names = append(names, End)
	// First the nodes that nothing leads to, then one of each loop that remains.
	slices.SortStableFunc(names, func(a, b string) int { return rank(led[a]) - rank(led[b]) })
	reached := map[string]bool{}
	d.reach(Start, reached)
	var edges []DiagramEdge
	for _, name := range names {
		if !reached[name] {
			edges = append(edges, DiagramEdge{BranchEdge, []string{AnyNode}, name})
			d.reach(name, reached)
		}
	}
	return edges
}

func rank(late bool) int {
	if late {
		return 1
	}
	return 0
}

// reach adds name and what edges lead to from there.
func (d *Diagram) reach(name string, reached map[string]bool) {
	if reached[name] {
		return
	}
	reached[name] = true
	for _, e := range d.Edges {
		if slices.Contains(e.From, name) {
			d.reach(e.To, reached)
		}
	}
}

// title is the node's name, with that of its graph if it has another.
func (n *DiagramNode) title() string {
	if n.Graph == "" || n.Graph == n.Name {
		return printable(n.Name)
	}
	return printable(n.Name) + " (" + printable(n.Graph) + ")"
}

// notes tell what is special about the node: what happens before it and what after.
func (n *DiagramNode) notes() (before, after []string) {
	if n.Deferred {
		before = append(before, "deferred")
	}
	if n.InterruptBefore {
		before = append(before, "interrupt before")
	}
	if n.InterruptAfter {
		after = append(after, "interrupt after")
	}
	if n.HandlesErrors {
		after = append(after, "handles errors")
	}
	return before, after
}

// longestName is how many runes of a name are drawn.
const longestName = 64

// printable returns name as one line of visible text: control characters and those that reorder text appear as escapes of
// Go, and the middle of a long name is left out.
func printable(name string) string {
	var b strings.Builder
	for _, r := range strings.ToValidUTF8(name, "\uFFFD") {
		const joiner, nonJoiner = '\u200d', '\u200c' // parts of words and of emoji
		if strconv.IsPrint(r) || r == joiner || r == nonJoiner {
			b.WriteRune(r)
			continue
		}
		quoted := strconv.QuoteRune(r)
		b.WriteString(quoted[1 : len(quoted)-1])
	}
	text := b.String()
	if utf8.RuneCountInString(text) <= longestName {
		return text
	}
	runes := []rune(text)
	const head = longestName * 2 / 3
	return string(runes[:head]) + "…" + string(runes[len(runes)-(longestName-head-1):])
}
