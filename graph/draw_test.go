package graph_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/llama-agent/llama-agent/graph"
)

var updateDrawings = flag.Bool("update", false, "write the golden files of testdata/draw anew")

func idle(context.Context, graph.State) (graph.Update, error) { return nil, nil }

func nowhere(graph.State) []graph.Next { return nil }

func mend(context.Context, graph.State, *graph.NodeError) (graph.Update, error) { return nil, nil }

// drawings are graphs with everything that is drawn.
func drawings(t *testing.T) map[string]graph.Diagram {
	t.Helper()
	compile := func(b *graph.Builder, o graph.Options) *graph.Graph {
		g, err := b.Compile(o)
		require.NoError(t, err)
		return g
	}
	agent := graph.New("agent").Node("planner", idle).Node("executor", idle).Node("reflector", idle).Node("finalizer", idle).
		Edge(graph.Start, "planner").
		Branch("planner", nowhere, "executor", "finalizer").
		Branch("executor", nowhere, "executor", "reflector", "finalizer").
		Branch("reflector", nowhere, "planner", "finalizer", graph.End)

	joins := graph.New("joins").Node("plan", idle).Node("weather", idle).Node("flights", idle).Node("hotels", idle).
		Node("book", idle, graph.OnError(mend)).Node("tidy", idle, graph.Deferred()).
		Edge(graph.Start, "plan").Edge("plan", "weather").Edge("plan", "flights").Edge("plan", "hotels").Edge("plan", "tidy").
		Join([]string{"weather", "hotels", "flights"}, "book").Join([]string{"weather", "flights"}, "tidy").
		Join([]string{"book"}, graph.End)

	gotos := graph.New("gotos").Node("triage", idle, graph.Destinations("refund", "human", graph.End)).
		Node("refund", idle).Node("human", idle).Edge(graph.Start, "triage").Edge("human", "refund").Edge("human", "refund")

	open := graph.New("open").Node("choose", idle).Node("a", idle).Node("b", idle).Node("loop", idle).Node("last", idle).
		Edge(graph.Start, "choose").Branch("choose", nowhere).Edge("a", "b").Branch("b", nowhere, "a").
		Edge("loop", "loop").Edge("last", "b")

	check := compile(graph.New("check").Node("lint", idle).Node("test", idle).Edge(graph.Start, "lint").Edge("lint", "test"),
		graph.Options{InterruptBefore: []string{"test"}})
	work := compile(graph.New("work").Node("write", idle).Subgraph("check", check).Edge(graph.Start, "write").
		Edge("write", "check").Branch("check", nowhere, "write", graph.End), graph.Options{})
	team := graph.New("team").Node("brief", idle).Subgraph("left", work, graph.Deferred()).Subgraph("right", work).
		Node("merge", idle).Edge(graph.Start, "brief").Edge("brief", "left").Edge("brief", "right").
		Join([]string{"left", "right"}, "merge").Branch("merge", nowhere, "left", graph.End)
	nested := compile(team, graph.Options{InterruptBefore: []string{"*"}, InterruptAfter: []string{"merge"}})

	return map[string]graph.Diagram{
		"agent":     compile(agent, graph.Options{}).Diagram(),
		"joins":     compile(joins, graph.Options{}).Diagram(),
		"gotos":     compile(gotos, graph.Options{InterruptAfter: []string{"human"}}).Diagram(graph.LeftToRight()),
		"open":      compile(open, graph.Options{}).Diagram(),
		"collapsed": nested.Diagram(),
		"expanded":  nested.Diagram(graph.Expand(1)),
		"whole":     nested.Diagram(graph.Expand(-1), graph.LeftToRight()),
		"hostile":   compile(hostileGraph(), graph.Options{InterruptBefore: []string{"*"}}).Diagram(graph.Expand(1)),
	}
}

// hostileNames try to mean something to a drawing language, or to the page that shows the drawing.
var hostileNames = []string{
	"end", "n1", "subgraph", "class", "style x:y#z;", "a --> b", `"]; click n1 "javascript:alert(1)`, "quote\"d", `back\slash\`, `\N\G\l`,
	"new\nline\r\n  end", "%%{init: {\"theme\": \"dark\"}}%%", "%% comment", "<script>alert(1)</script>", "<br/>", "&lt;b&gt; & #35; #quot;",
	"`md **bold**`", "```", "$$x^2$$", "[(brackets)]{}", "|pipe", "fa:fa-ban", "数一数", "שלום\u202e", "👩\u200d🔬", "tab\ttab", "nul\x00\x1b[2J",
	"bad\xffutf8", "1. load", "- item", "_a_ load_docs", "www.example.com", "    four", "~~x~~", "[a](https://x.y)", "a@b.c", "1) x", "# h", "> q", "+ p", ".", "\u2060", "ﬂ°°60¶ß", "---", "o", "x", "default", strings.Repeat("long name ", 1000), strings.Repeat("W", 200) + "tail",
}

func hostileGraph() *graph.Builder {
	b := graph.New(strings.Join(hostileNames, " "))
	before := graph.Start
	for _, name := range hostileNames {
		name = strings.NewReplacer("|", "¦", ":", "∶").Replace(name) // namespaces need these
		b.Node(name, idle).Edge(before, name)
		before = name
	}
	return b
}

// A loop whose node asks for the end.
func ExampleGraph_Diagram() {
	work := graph.New("work")
	work.Node("try", idle).Node("check", idle, graph.Destinations("try", graph.End))
	work.Edge(graph.Start, "try").Edge("try", "check")
	g := must(work.Compile(graph.Options{InterruptBefore: []string{"try"}}))
	fmt.Print(g.Diagram().Mermaid())
	// Output:
	// flowchart TD
	//   n1(["start"])
	//   n2("try<br/>interrupt before")
	//   n3("check")
	//   n4(["end"])
	//   n1 --> n2
	//   n2 --> n3
	//   n3 -. "goto" .-> n2
	//   n3 -. "goto" .-> n4
	//   classDef breakpoint stroke-width:3px
	//   class n2 breakpoint
}

// Look at the drawings themselves when a golden file changes: dot -Tpng FILE, and an editor for Mermaid.
func TestDrawings(t *testing.T) {
	t.Parallel()
	for name, d := range drawings(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data, err := json.MarshalIndent(d, "", "  ")
			require.NoError(t, err)
			golden(t, name+".mmd.golden", d.Mermaid())
			golden(t, name+".dot.golden", d.DOT())
			golden(t, name+".json.golden", string(data)+"\n")
		})
	}
}

func golden(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join("testdata", "draw", name)
	if *updateDrawings {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), text, "run the test with -update when the change is meant")
}

// No name has more in the text of a drawing than one quoted string without anything that the language interprets.
func TestNamesAreInert(t *testing.T) {
	t.Parallel()
	const word = `[\pL\pM\p{Nd}_ ,()\-\x{200c}\x{200d}]|#\d+;`
	mermaid := regexp.MustCompile(`^flowchart TD
  n1\(\["start"\]\)
  subgraph n2\["(` + word + `)+"\]
    n3\(\["start"\]\)
    n4\("(` + word + `)+"\)
    n5\(\["end"\]\)
  end
  n6\(\["end"\]\)
  n3 --> n4
  n4 --> n5
  n1 --> n3
  n5 --> n6
$`)
	const text = `([^"\\&\n]|\\["\\]|&amp;)+`
	dot := regexp.MustCompile(`^digraph "` + text + `" \{
(  [a-z]+ \[.*\]
)+  n1 \[label="start".*\]
  subgraph cluster_n2 \{
    graph \[label="` + text + `", style=rounded\]
    n3 \[label="start".*\]
    n4 \[label="` + text + `"\]
    n5 \[label="end".*\]
  \}
  n6 \[label="end".*\]
  n3 -> n4 \[weight=8\]
  n4 -> n5 \[weight=8\]
  n1 -> n3 \[weight=8\]
  n5 -> n6 \[weight=8\]
\}
$`)
	names := rapid.OneOf(rapid.StringN(1, -1, -1), rapid.SampledFrom(hostileNames), rapid.Custom(func(t *rapid.T) string {
		return string(rapid.SliceOfN(rapid.Byte(), 1, 300).Draw(t, "bytes"))
	}))
	rapid.Check(t, func(t *rapid.T) {
		d := graph.Diagram{Name: names.Draw(t, "graph"), Nodes: []graph.DiagramNode{{Name: names.Draw(t, "outer"), Graph: names.Draw(t, "child")}}}
		inner := graph.Diagram{Name: "inner", Nodes: []graph.DiagramNode{{Name: names.Draw(t, "inner")}}}
		chain := func(d *graph.Diagram) {
			name := d.Nodes[0].Name
			d.Edges = []graph.DiagramEdge{
				{Kind: graph.StaticEdge, From: []string{graph.Start}, To: name}, {Kind: graph.StaticEdge, From: []string{name}, To: graph.End},
			}
		}
		chain(&d)
		chain(&inner)
		d.Nodes[0].Subgraph = &inner
		require.Regexp(t, mermaid, d.Mermaid())
		require.Regexp(t, dot, d.DOT())
	})
}

func TestDiagramsCanBeChanged(t *testing.T) {
	t.Parallel()
	g, err := graph.New("g").Node("a", idle).Node("b", idle).Node("c", idle).Edge(graph.Start, "a").Edge("a", "b").Edge("a", "c").
		Join([]string{"b", "c"}, "a").Branch("c", nowhere).Compile(graph.Options{})
	require.NoError(t, err)
	d := g.Diagram()
	d.Nodes = d.Nodes[:2]
	d.Edges[1].To, d.Edges[2].From = "gone", nil
	d.Nodes[0].Name = "changed"
	require.Equal(t, "flowchart TD\n  n1([\"start\"])\n  n2(\"changed\")\n  n3(\"b\")\n  n4{{\"any node\"}}\n  n5([\"end\"])\n"+
		"  n4 -.-> n2\n  n4 -.-> n3\n  n4 -.-> n5\n", d.Mermaid())
	require.Equal(t, []string{"a", "b", "c"}, g.Nodes())
	require.Equal(t, "a", g.Diagram().Nodes[0].Name)
	require.NotContains(t, graph.Diagram{}.DOT(), "n1")
}
