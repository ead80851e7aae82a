// Chat is a chat with two memories: the thread keeps the conversation, the store keeps what the user has told of themselves.
//
//	go run ./examples/graph/chat                   tell it something: "My name is Zoë."
//	go run ./examples/graph/chat                   start it again: it continues the conversation
//	go run ./examples/graph/chat -thread holiday   another conversation, with the same user: "What is my name?"
//	go run ./examples/graph/chat -user Ada         somebody else
//
// Both memories are in one SQLite file. Stop the program as you like, also with Ctrl-C in the middle of an answer: the next
// start finishes it.
//
// The model is a stand-in that follows a few rules (model.go). Put any llms.Model in its place: package llmstream makes its
// tokens part of the graph's stream.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/llama-agent/llama-agent/graph"
	checkpoints "github.com/llama-agent/llama-agent/graph/checkpoint/sqlite"
	"github.com/llama-agent/llama-agent/graph/llmstream"
	items "github.com/llama-agent/llama-agent/graph/store/sqlite"
)

const usage = `Usage: chat [-thread NAME] [-user NAME] [-file FILE]

Chats on the terminal, a line a message, until the input ends (Ctrl-D).

`

type options struct {
	file, thread, user string
}

func main() {
	var o options
	flag.StringVar(&o.file, "file", "data/chat.sqlite", "SQLite `FILE` that remembers; it is created when it isn't there")
	flag.StringVar(&o.thread, "thread", "main", "conversation to continue or to begin, any `NAME`")
	flag.StringVar(&o.user, "user", "me", "whose facts to remember, any `NAME`")
	flag.Usage = func() {
		fmt.Fprint(flag.CommandLine.Output(), usage)
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	if err := run(context.Background(), o, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "chat:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options, in io.Reader, out io.Writer) (err error) {
	saver, err := checkpoints.Open(ctx, o.file, checkpoints.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, saver.Close()) }()
	store, err := items.Open(ctx, o.file, items.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()

	g, err := newGraph(llmstream.New(scripted{}), graph.Options{Saver: saver, Store: store})
	if err != nil {
		return err
	}
	c := chat{g: g, thread: o.thread, out: out}
	if err := c.pickUp(ctx); err != nil {
		return err
	}
	lines := bufio.NewScanner(in)
	for {
		fmt.Fprint(out, "you> ")
		if !lines.Scan() {
			fmt.Fprintln(out)
			return lines.Err()
		}
		text := strings.TrimSpace(lines.Text())
		if text == "" {
			continue
		}
		said := graph.Update{user.Set(o.user), messages.Add(message{roleUser, text})}
		if err := c.turn(ctx, said); err != nil {
			return err
		}
	}
}

// chat is a conversation on a terminal.
type chat struct {
	g      *graph.Graph
	thread string
	out    io.Writer
}

// pickUp says where the conversation is, and finishes an answer that the program was stopped in.
func (c chat) pickUp(ctx context.Context) error {
	snap, err := c.g.State(ctx, c.thread)
	switch {
	case errors.Is(err, graph.ErrUnknownThread):
		fmt.Fprintf(c.out, "A new conversation, %q.\n", c.thread)
		return nil
	case err != nil:
		return err
	}
	fmt.Fprintf(c.out, "Conversation %q goes on after %d messages.\n", c.thread, len(messages.Get(snap.State)))
	if len(snap.Next) == 0 {
		return nil
	}
	return c.turn(ctx, nil) // no input: the run that was stopped continues
}

// turn runs the graph and prints what it says while it runs.
func (c chat) turn(ctx context.Context, in graph.Update) error {
	for ev, err := range c.g.Stream(ctx, in, graph.Thread(c.thread), graph.Modes(graph.Messages, graph.Updates, graph.Custom)) {
		switch {
		case err != nil:
			return err
		case ev.Mode == graph.Messages:
			fmt.Fprint(c.out, ev.Message.Text)
		case ev.Mode == graph.Custom:
			fmt.Fprintf(c.out, "     (%s)\n", ev.Custom)
		case ev.Node == "answer":
			fmt.Fprintln(c.out)
		}
	}
	return nil
}
