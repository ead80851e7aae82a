package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/llama-agent/llama-agent/graph"
)

// The channels of the graph.
var (
	files  = graph.Value[[]string]("files")
	file   = graph.Value[string]("file")     // the private input of one task
	counts = graph.Reduced("counts", sum)    // of all tasks, by word
	unread = graph.Append[string]("unread")  // why files were left out
	ranked = graph.Value[[]string]("ranked") // words, most frequent first
)

// sum adds two counts. A reducer must not change what it is given.
func sum(acc, in map[string]int) map[string]int {
	total := make(map[string]int, len(acc)+len(in))
	maps.Copy(total, acc)
	for word, n := range in {
		total[word] += n
	}
	return total
}

func newGraph(read func(name string) ([]byte, error), opts graph.Options) (*graph.Graph, error) {
	b := graph.New("count words", files, file, counts, unread, ranked)
	b.Branch(graph.Start, eachFile, "count", "rank")
	b.Node("count", func(ctx context.Context, s graph.State) (graph.Update, error) {
		text, err := read(file.Get(s))
		if err != nil {
			return nil, err
		}
		found := count(string(text))
		graph.Emit(ctx, fmt.Sprintf("%s has %d different words", file.Get(s), len(found)))
		return graph.Update{counts.Merge(found)}, nil
	}, graph.OnError(leaveOut))
	b.Node("rank", rank)
	b.Edge("count", "rank") // due once, however many tasks have finished
	return b.Compile(opts)
}

// eachFile starts a task per file. Each sees its file only, and they run at the same time.
func eachFile(s graph.State) []graph.Next {
	var next []graph.Next
	for _, name := range files.Get(s) {
		next = append(next, graph.Send("count", graph.Update{file.Set(name)}))
	}
	return next
}

// leaveOut stands in for a task that failed. Its edges aren't followed then: when all files failed there is nothing to rank.
func leaveOut(_ context.Context, _ graph.State, failure *graph.NodeError) (graph.Update, error) {
	return graph.Update{unread.Add(failure.Err.Error())}, nil
}

func rank(_ context.Context, s graph.State) (graph.Update, error) {
	found := counts.Get(s)
	byCount := func(a, b string) int { return cmp.Or(found[b]-found[a], strings.Compare(a, b)) }
	return graph.Update{ranked.Set(slices.SortedFunc(maps.Keys(found), byCount))}, nil
}

func count(text string) map[string]int {
	found := map[string]int{}
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && r != '\'' }) {
		found[strings.ToLower(word)]++
	}
	return found
}
