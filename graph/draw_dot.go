package graph

import (
	"fmt"
	"slices"
	"strings"
)

// DOT returns the diagram in the language of Graphviz, to be drawn by its program dot. Dashed lines are followed when a branch or
// node chooses them; lines that meet in a bar are a join; dashed boxes are deferred; thick boxes have a breakpoint; double boxes
// are subgraphs. No name can break out of its box. The text ends with a newline.
func (d Diagram) DOT() string {
	w := dot{leftToRight: d.leftToRight}
	rank := "TB"
	if d.leftToRight {
		rank = "LR"
	}
	const font = `fontname="Helvetica,Arial,sans-serif"`
	w.printf("digraph %s {", dotText([]string{printable(d.Name)}))
	// Without newrank each frame is laid out for itself, and what leads back into one turns it around.
	w.printf("  graph [rankdir=%s, newrank=true, nodesep=0.4, ranksep=0.45, %s, fontsize=11]", rank, font)
	w.printf("  node [shape=box, style=rounded, height=0.4, margin=\"0.16,0.07\", %s, fontsize=11]", font)
	w.printf("  edge [arrowsize=0.7, %s, fontsize=9]", font)
	s := d.sketch()
	w.boxes(s.boxes, "  ")
	for _, l := range s.lines {
		w.printf("  %s -> %s%s", l.from, l.to, dotLine(l))
	}
	w.printf("}")
	return w.text.String()
}

type dot struct {
	text        strings.Builder
	leftToRight bool
}

func (w *dot) printf(format string, args ...any) {
	fmt.Fprintf(&w.text, format+"\n", args...)
}

func (w *dot) boxes(boxes []box, indent string) {
	for _, b := range boxes {
		look := dotLook(b)
		switch b.kind {
		case frameBox:
			w.printf("%ssubgraph cluster_%s {", indent, b.id)
			w.printf("%s  graph [label=%s%s]", indent, dotText(b.text), look)
			w.boxes(b.inside, indent+"  ")
			w.printf("%s}", indent)
			continue
		case startBox, endBox:
			look += ", shape=box, style=\"rounded,filled\", fillcolor=gray92, height=0.3"
		case subgraphBox:
			look += ", peripheries=2"
		case anyBox:
			look += ", shape=hexagon, style=dotted"
		case joinBox:
			bar := "width=0.5, height=0.07"
			if w.leftToRight {
				bar = "width=0.07, height=0.5"
			}
			w.printf("%s%s [label=\"\", shape=box, style=filled, fillcolor=black, fixedsize=true, %s]", indent, b.id, bar)
			continue
		case plainBox:
		}
		w.printf("%s%s [label=%s%s]", indent, b.id, dotText(b.text), look)
	}
}

// dotLook returns the attributes of a box that differ from the usual.
func dotLook(b box) string {
	look := ""
	if b.dashed {
		look += `, style="rounded,dashed"`
	} else if b.kind == frameBox {
		look += ", style=rounded"
	}
	if b.thick {
		look += ", penwidth=2.2"
	}
	return look
}

func dotLine(l line) string {
	look := ""
	switch {
	case l.half:
		look = ", dir=none"
	case l.kind == BranchEdge:
		look = ", style=dashed"
	case l.kind == GotoEdge:
		look = `, style=dashed, label="goto"`
	}
	if l.spine {
		look += ", weight=8" // straight, as the author of the graph told it
	}
	if look == "" {
		return ""
	}
	return " [" + look[len(", "):] + "]"
}

// dotText quotes lines of text. A backslash begins an escape in DOT, and an ampersand an entity.
func dotText(lines []string) string {
	escape := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "&", "&amp;")
	escaped := slices.Clone(lines)
	for i, text := range lines {
		escaped[i] = escape.Replace(text)
	}
	return `"` + strings.Join(escaped, `\n`) + `"`
}
