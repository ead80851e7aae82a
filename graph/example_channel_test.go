package graph_test

import (
	"bytes"
	"compress/flate"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/llama-agent/llama-agent/graph"
	"github.com/llama-agent/llama-agent/graph/checkpoint"
)

// returns makes a node that returns the same update each time.
func returns(u ...graph.Write) graph.NodeFunc {
	return func(context.Context, graph.State) (graph.Update, error) { return u, nil }
}

// A value is replaced by the next one. Two nodes of one superstep that write it are a mistake, not a race.
func ExampleValue() {
	colour := graph.Value[string]("colour")
	b := graph.New("paint", colour)
	b.Node("first", returns(colour.Set("red")))
	b.Node("second", returns(colour.Set("green")))
	b.Edge(graph.Start, "first")

	inTurn := must(b.Edge("first", "second").Compile(graph.Options{}))
	fmt.Println(colour.Get(must(inTurn.Invoke(context.Background(), graph.Update{}))))

	atOnce := must(b.Edge(graph.Start, "second").Compile(graph.Options{}))
	_, err := atOnce.Invoke(context.Background(), graph.Update{})
	var conflict *graph.ConflictError
	fmt.Println(errors.As(err, &conflict), conflict.Channel, conflict.Nodes)
	// Output:
	// green
	// true colour [first second]
}

// A list grows. What nodes of one superstep append comes in the order of their names, whichever ends first.
func ExampleAppend() {
	seen := graph.Append[string]("seen")
	b := graph.New("look around", seen)
	b.Node("right", returns(seen.Add("tree", "river")))
	b.Node("left", returns(seen.Add("house")))
	b.Edge(graph.Start, "right").Edge(graph.Start, "left")
	g := must(b.Compile(graph.Options{}))

	s := must(g.Invoke(context.Background(), graph.Update{seen.Add("door")}))
	fmt.Println(seen.Get(s))
	// Output: [door house tree river]
}

// Replace trims a list, or removes items from it.
func ExampleAppendChannel_Replace() {
	messages := graph.Append[string]("messages")
	b := graph.New("trim", messages)
	b.Node("keep the last two", func(_ context.Context, s graph.State) (graph.Update, error) {
		all := messages.Get(s)
		return graph.Update{messages.Replace(all[max(0, len(all)-2):])}, nil
	})
	b.Edge(graph.Start, "keep the last two")
	g := must(b.Compile(graph.Options{}))

	s := must(g.Invoke(context.Background(), graph.Update{messages.Add("hello", "how are you?", "fine", "bye")}))
	fmt.Println(strings.Join(messages.Get(s), ", "))
	// Output: fine, bye
}

// Any function of two values merges writes: here the votes of nodes that run at the same time.
func ExampleReduced() {
	votes := graph.Reduced("votes", func(acc, in map[string]int) map[string]int {
		sum := maps.Clone(acc) // acc must stay as it is
		if sum == nil {
			sum = map[string]int{}
		}
		for k, n := range in {
			sum[k] += n
		}
		return sum
	})
	b := graph.New("vote", votes)
	b.Node("ada", returns(votes.Merge(map[string]int{"tea": 1})))
	b.Node("ben", returns(votes.Merge(map[string]int{"tea": 1, "cake": 2})))
	b.Edge(graph.Start, "ada").Edge(graph.Start, "ben")
	g := must(b.Compile(graph.Options{}))

	fmt.Println(votes.Get(must(g.Invoke(context.Background(), graph.Update{}))))
	// Output: map[cake:2 tea:2]
}

// A list whose items have IDs: an item with a known ID takes the place of the old one, and without text removes it.
func ExampleReduced_byID() {
	type message struct{ ID, Text string }
	messages := graph.Reduced("messages", func(acc, in []message) []message {
		merged := slices.Clone(acc)
		for _, m := range in {
			same := func(old message) bool { return old.ID == m.ID }
			switch i := slices.IndexFunc(merged, same); {
			case m.Text == "":
				merged = slices.DeleteFunc(merged, same)
			case i >= 0:
				merged[i] = m
			default:
				merged = append(merged, m)
			}
		}
		return merged
	})
	b := graph.New("chat", messages)
	b.Node("correct", returns(messages.Merge([]message{{"1", "hello!"}, {"2", ""}, {"3", "bye"}}))).Edge(graph.Start, "correct")
	g := must(b.Compile(graph.Options{}))

	s := must(g.Invoke(context.Background(), graph.Update{messages.Merge([]message{{"1", "hallo"}, {"2", "hm"}})}))
	fmt.Println(messages.Get(s))
	// Output: [{1 hello!} {3 bye}]
}

// Replace sets a value past the reducer.
func ExampleReducedChannel_Replace() {
	total := graph.Reduced("total", func(acc, in int) int { return acc + in })
	b := graph.New("count", total)
	b.Node("add", returns(total.Merge(5)))
	b.Node("reset", returns(total.Replace(0), total.Merge(1)))
	b.Edge(graph.Start, "add").Edge("add", "reset")
	g := must(b.Compile(graph.Options{}))

	fmt.Println(total.Get(must(g.Invoke(context.Background(), graph.Update{total.Merge(10)}))))
	// Output: 1
}

// An ephemeral value passes from one step to the next and is gone after that.
func ExampleEphemeral() {
	hint := graph.Ephemeral[string]("hint")
	b := graph.New("pass", hint)
	look := func(_ context.Context, s graph.State) (graph.Update, error) {
		fmt.Printf("%q\n", hint.Get(s))
		return nil, nil
	}
	b.Node("tell", returns(hint.Set("behind the door"))).Node("next", look).Node("after", look)
	b.Edge(graph.Start, "tell").Edge("tell", "next").Edge("next", "after")
	g := must(b.Compile(graph.Options{}))

	must(g.Invoke(context.Background(), graph.Update{}))
	// Output:
	// "behind the door"
	// ""
}

// Nodes that all write the same may write it at once.
func ExampleAnyValue() {
	status := graph.AnyValue[string]("status")
	b := graph.New("ready", status)
	b.Node("a", returns(status.Set("ready"))).Node("b", returns(status.Set("ready")))
	b.Edge(graph.Start, "a").Edge(graph.Start, "b")
	g := must(b.Compile(graph.Options{}))

	fmt.Println(status.Get(must(g.Invoke(context.Background(), graph.Update{}))))
	// Output: ready
}

// A topic holds what was written in one superstep, for the next.
func ExampleTopic() {
	news := graph.Topic[string]("news")
	b := graph.New("news", news)
	read := func(_ context.Context, s graph.State) (graph.Update, error) {
		fmt.Println(news.Get(s))
		return graph.Update{news.Add("all is read")}, nil
	}
	b.Node("east", returns(news.Add("rain"))).Node("west", returns(news.Add("sun")))
	b.Node("morning", read).Node("evening", read)
	b.Edge(graph.Start, "east").Edge(graph.Start, "west").Join([]string{"east", "west"}, "morning").Edge("morning", "evening")
	g := must(b.Compile(graph.Options{}))

	must(g.Invoke(context.Background(), graph.Update{}))
	// Output:
	// [rain sun]
	// [all is read]
}

// An untracked value is there during a run and never stored.
func ExampleUntracked() {
	password := graph.Untracked[string]("password")
	user := graph.Value[string]("user")
	b := graph.New("login", user, password)
	b.Node("login", func(_ context.Context, s graph.State) (graph.Update, error) {
		fmt.Println(user.Get(s), "uses", password.Get(s))
		return nil, nil
	})
	b.Edge(graph.Start, "login")
	g := must(b.Compile(graph.Options{Saver: checkpoint.NewMemory()}))
	ctx := context.Background()

	must(g.Invoke(ctx, graph.Update{user.Set("ada"), password.Set("secret")}, graph.Thread("t")))
	fmt.Println(must(g.State(ctx, "t")).State.Channels())
	// Output:
	// ada uses secret
	// [user]
}

// gobFlate stores values compressed. A codec that encrypts is written the same way.
type gobFlate struct{}

func (gobFlate) Encode(v any) ([]byte, error) {
	var buf bytes.Buffer
	w := must(flate.NewWriter(&buf, flate.BestSpeed))
	if err := gob.NewEncoder(w).Encode(v); err != nil {
		return nil, err
	}
	err := w.Close()
	return buf.Bytes(), err
}

func (gobFlate) Decode(data []byte, into any) error {
	return gob.NewDecoder(flate.NewReader(bytes.NewReader(data))).Decode(into)
}

// A codec decides how the values of a channel are stored.
func ExampleWithCodec() {
	page := graph.Value[string]("page", graph.WithCodec(gobFlate{}))
	b := graph.New("fetch", page)
	b.Node("fetch", returns(page.Set(strings.Repeat("all work and no play ", 1000))))
	b.Edge(graph.Start, "fetch")
	g := must(b.Compile(graph.Options{Saver: checkpoint.NewMemory()}))
	ctx := context.Background()

	must(g.Invoke(ctx, graph.Update{}, graph.Thread("t")))
	stored := must(g.State(ctx, "t"))
	fmt.Println(len(page.Get(stored.State)), "bytes took less than 1000:", stored.Checkpoint.Bytes < 1000)
	// Output: 21000 bytes took less than 1000: true
}
