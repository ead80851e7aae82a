// Mapreduce counts the words of texts. The graph starts one task per text with Send, so many at once as the flag says, and folds
// what they find into one channel. It shows fan-out over data that is known only at run time.
//
//	go run ./examples/graph/mapreduce                     counts in four nursery rhymes, all at the same time
//	go run ./examples/graph/mapreduce -at-once 2 *.md     counts in your files
//	go run ./examples/graph/mapreduce README.md nowhere   a file that can't be read doesn't end the run
package main

import (
	"context"
	"embed"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/llama-agent/llama-agent/graph"
)

const usage = `Usage: mapreduce [-at-once N] [-top N] [FILE…]

Counts the words of files, or of four nursery rhymes when none is named.

`

//go:embed texts/*.txt
var rhymes embed.FS

type options struct {
	atOnce, top int
	files       []string
}

func main() {
	var o options
	flag.IntVar(&o.atOnce, "at-once", 4, "read at most `N` files at once; 0 means all")
	flag.IntVar(&o.top, "top", 5, "print the `N` most frequent words")
	flag.Usage = func() {
		fmt.Fprint(flag.CommandLine.Output(), usage)
		flag.PrintDefaults()
	}
	flag.Parse()
	o.files = flag.Args()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, o, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mapreduce:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options, out io.Writer) error {
	read, names := os.ReadFile, o.files
	if len(names) == 0 {
		read = rhymes.ReadFile
		for _, n := range []string{"humpty", "jack", "mary", "star"} {
			names = append(names, "texts/"+n+".txt")
		}
	}
	g, err := newGraph(read, graph.Options{MaxConcurrency: o.atOnce})
	if err != nil {
		return err
	}
	var final graph.State
	for ev, err := range g.Stream(ctx, graph.Update{files.Set(names)}, graph.Modes(graph.Custom, graph.Values)) {
		switch {
		case err != nil:
			return err
		case ev.Mode == graph.Custom:
			fmt.Fprintln(out, ev.Custom)
		default:
			final = ev.State
		}
	}
	report(out, final, o.top)
	return nil
}

func report(out io.Writer, s graph.State, top int) {
	for _, reason := range unread.Get(s) {
		fmt.Fprintln(out, "left out:", reason)
	}
	all := 0
	for _, n := range counts.Get(s) {
		all += n
	}
	words := ranked.Get(s)
	fmt.Fprintf(out, "%d words, %d different ones\n", all, len(words))
	for _, w := range words[:min(max(top, 0), len(words))] {
		fmt.Fprintf(out, "%6d %s\n", counts.Get(s)[w], w)
	}
}
