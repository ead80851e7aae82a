// Approval drafts a reply to a customer, shows it to a person, and sends it when the person agrees. It shows how a node asks
// and the run waits: for a second or a year, in this process or the next.
//
//	go run ./examples/graph/approval                  drafts, shows, asks
//	go run ./examples/graph/approval </dev/null       nobody is there to answer: the question stays open
//	go run ./examples/graph/approval -answer yes      the next start answers it
//
// Answer "yes" to send, "no" to drop the reply, anything else to have it changed. Press Ctrl-C whenever you like, at the
// question or while the program waits before it sends: the same command continues there.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/llama-agent/llama-agent/graph"
	"github.com/llama-agent/llama-agent/graph/checkpoint/sqlite"
)

const usage = `Usage: approval [-answer TEXT] [-request TEXT] [-thread NAME] [-file FILE] [-wait TIME]

Drafts a reply and sends it once you agree. A reply that was begun is continued.

`

type options struct {
	file, thread, request, answer string
	wait                          time.Duration
}

func main() {
	var o options
	flag.StringVar(&o.file, "file", "data/approval.sqlite", "SQLite `FILE` that keeps replies under way; it is created when it isn't there")
	flag.StringVar(&o.thread, "thread", "reply", "`NAME` of the reply, to have several under way")
	flag.StringVar(&o.request, "request", "Where is my parcel?", "what the customer wants, as `TEXT`")
	flag.StringVar(&o.answer, "answer", "", "`TEXT` that answers the open question: yes, no or what to change")
	flag.DurationVar(&o.wait, "wait", 3*time.Second, "`TIME` that a reply waits before it is sent, such as 500ms")
	flag.Usage = func() {
		fmt.Fprint(flag.CommandLine.Output(), usage)
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, o, os.Stdin, os.Stdout)
	stop()
	switch {
	case errors.Is(err, context.Canceled):
		fmt.Println("\nStopped. The same command continues.")
		os.Exit(130)
	case err != nil:
		fmt.Fprintln(os.Stderr, "approval:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options, in io.Reader, out io.Writer) (err error) {
	saver, err := sqlite.Open(ctx, o.file, sqlite.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, saver.Close()) }()
	g, err := newGraph(desk{wait: o.wait, out: out}, graph.Options{Saver: saver})
	if err != nil {
		return err
	}

	update := graph.Update{request.Set(o.request), notes.Replace(nil), outcome.Set("")}
	snap, err := g.State(ctx, o.thread)
	switch {
	case errors.Is(err, graph.ErrUnknownThread):
	case err != nil:
		return err
	case len(snap.Next) > 0:
		fmt.Fprintf(out, "Continuing reply %q.\n", o.thread)
		update = nil // no input: the thread continues where it stopped
	}

	lines := lines(in)
	opts := []graph.RunOption{graph.Thread(o.thread)}
	for {
		final, err := g.Invoke(ctx, update, opts...)
		var stop *graph.InterruptedError
		if !errors.As(err, &stop) {
			if err == nil {
				fmt.Fprintf(out, "Done: %s.\n", outcome.Get(final))
			}
			return err
		}
		// The run has ended and is stored. It continues with the answer, now or in another process.
		q := stop.Questions[0]
		text, err := ask(ctx, out, q, o.answer, lines)
		if err != nil {
			return err
		}
		if text == "" {
			fmt.Fprint(out, "\nNobody answered. The question stays open: continue with -answer yes, no or what to change.\n")
			return nil
		}
		o.answer = ""
		update, opts = nil, []graph.RunOption{graph.Thread(o.thread), graph.Answer(q.ID, parse(text))}
	}
}

// ask shows a question and returns the answer, "" if there is none.
func ask(ctx context.Context, out io.Writer, q graph.Question, given string, lines <-chan string) (string, error) {
	var draft string
	if err := json.Unmarshal(q.Value, &draft); err != nil {
		return "", fmt.Errorf("reading the question of node %q: %w", q.Node, err)
	}
	fmt.Fprintf(out, "\n    %s\n\n", strings.ReplaceAll(draft, "\n", "\n    "))
	for {
		fmt.Fprint(out, "Send this? (yes, no, or what to change) ")
		if given != "" {
			fmt.Fprintln(out, given)
			return given, nil
		}
		select {
		case line, ok := <-lines:
			if text := strings.TrimSpace(line); text != "" || !ok {
				return text, nil
			}
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
}

// parse turns what a person says into what the node wants to know.
func parse(text string) decision {
	switch strings.ToLower(text) {
	case "y", "yes":
		return decision{Send: true}
	case "n", "no":
		return decision{}
	}
	return decision{Change: text}
}

// lines reads in the background, so that waiting for a line can end when ctx does. The channel is closed at the end of in.
func lines(in io.Reader) <-chan string {
	ch := make(chan string)
	go func() {
		defer close(ch)
		scanner := bufio.NewScanner(in)
		for scanner.Scan() {
			ch <- scanner.Text()
		}
	}()
	return ch
}
