// Subgraph writes an article with a graph in a graph in a graph, and prints what each node returns while they run. It shows what
// subgraphs share with the graph above them, what they keep for themselves, and how the events of many of them are told apart.
//
//	go run ./examples/graph/subgraph                    an article of two sections, written at the same time
//	go run ./examples/graph/subgraph node edge branch   one of three sections
//	go run ./examples/graph/subgraph -at-once 1         one section after the other
//
// Each line is one task: its namespace, which is empty for the article itself, its node, and what it returned. The graphs are in
// graph.go.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"

	"github.com/llama-agent/llama-agent/graph"
)

const usage = `Usage: subgraph [-at-once N] [TITLE…]

Writes an article with a section for each title.

`

type options struct {
	atOnce int
	titles []string
}

func main() {
	var o options
	flag.IntVar(&o.atOnce, "at-once", 0, "write at most `N` sections at once; 0 means all")
	flag.Usage = func() {
		fmt.Fprint(flag.CommandLine.Output(), usage)
		flag.PrintDefaults()
	}
	flag.Parse()
	o.titles = flag.Args()
	if len(o.titles) == 0 {
		o.titles = []string{"channel", "node"}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, o, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "subgraph:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options, out io.Writer) error {
	g, err := articleGraph(graph.Options{MaxConcurrency: o.atOnce})
	if err != nil {
		return err
	}
	var final graph.State
	in := graph.Update{titles.Set(o.titles)}
	for ev, err := range g.Stream(ctx, in, graph.Modes(graph.Updates, graph.Values), graph.Subgraphs()) {
		switch {
		case err != nil:
			return err
		case ev.Mode == graph.Updates:
			fmt.Fprintf(out, "%-37s%-9s %s\n", place(ev.Namespace), ev.Node, written(ev.Update))
		case len(ev.Namespace) == 0: // the values of the article, not of a section
			final = ev.State
		}
	}
	fmt.Fprintf(out, "\n%s\n", article.Get(final))
	return nil
}

// place shortens the IDs of tasks in a namespace, which are long.
func place(namespace []string) string {
	parts := make([]string, len(namespace))
	for i, p := range namespace {
		node, task, _ := strings.Cut(p, ":")
		parts[i] = node + ":" + task[:min(4, len(task))]
	}
	return strings.Join(parts, " › ")
}

// written says what a task returned.
func written(u graph.Update) string {
	var parts []string
	for _, w := range u {
		if w.Channel() != nil {
			parts = append(parts, fmt.Sprintf("%s: %v", w.Channel().Name(), w.Value()))
		}
	}
	if len(parts) == 0 {
		return "nothing"
	}
	return strings.Join(parts, "; ")
}
