// Effect takes an order: it charges the customer and mails a receipt, once each, whatever happens to the program. It shows
// durable effects, and what is left to decide when the program dies between doing something and noting that it was done.
//
// An effect that may run again without harm, because the other side knows the request:
//
//	go run ./examples/graph/effect -crash charge        dies right after the bank has taken the money
//	go run ./examples/graph/effect                      asks the bank again, which knows the request; nothing is charged twice
//
// One that may not:
//
//	go run ./examples/graph/effect -order 8 -crash mail dies right after the mail has left
//	go run ./examples/graph/effect -order 8             can't know whether it has, and asks
//	go run ./examples/graph/effect -order 8 -mail skip  you have looked into the outbox: it was sent
//
// Bank and outbox are text files (world.go), so that you can look.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"

	"github.com/llama-agent/llama-agent/graph"
	"github.com/llama-agent/llama-agent/graph/checkpoint/sqlite"
)

const usage = `Usage: effect [-order NAME] [-crash charge|mail] [-mail send|skip] [-dir DIR]

Charges an order and mails a receipt. An order that was begun is continued.

`

type options struct {
	dir, order, crash, mail string
}

func main() {
	var o options
	flag.StringVar(&o.dir, "dir", "data/effect", "folder `DIR` of the state, the bank and the outbox; it is created when it isn't there")
	flag.StringVar(&o.order, "order", "7", "order to take or to continue, any `NAME`")
	flag.StringVar(&o.crash, "crash", "", "die right after this `EFFECT`, charge or mail, before its result is stored")
	flag.StringVar(&o.mail, "mail", "", "`WHAT` to do about a mail that may have been sent: send it again, or skip it")
	flag.Usage = func() {
		fmt.Fprint(flag.CommandLine.Output(), usage)
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() > 0 || !slices.Contains([]string{"", "charge", "mail"}, o.crash) || !slices.Contains([]string{"", "send", "skip"}, o.mail) {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, o, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "effect:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options, out io.Writer) (err error) {
	saver, err := sqlite.Open(ctx, filepath.Join(o.dir, "orders.sqlite"), sqlite.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, saver.Close()) }()
	g, err := newGraph(world{dir: o.dir, crash: o.crash, out: out}, graph.Options{Saver: saver})
	if err != nil {
		return err
	}

	in, thread := graph.Update{order.Set(o.order)}, graph.Thread("order "+o.order)
	snap, err := g.State(ctx, "order "+o.order)
	switch {
	case errors.Is(err, graph.ErrUnknownThread):
	case err != nil:
		return err
	case len(snap.Next) == 0:
		fmt.Fprintf(out, "Order %s is done already; take another with -order.\n", o.order)
		return nil
	default:
		fmt.Fprintf(out, "Order %s was begun; going on with %s.\n", o.order, snap.Next[0])
		in = nil // no input: the thread continues where it stopped
	}

	final, err := g.Invoke(ctx, in, thread)
	if errors.Is(err, graph.ErrInterrupted) && o.mail != "" {
		final, err = g.Invoke(ctx, nil, thread, graph.Resume(o.mail == "send"))
	}
	var stop *graph.InterruptedError
	switch {
	case errors.As(err, &stop):
		fmt.Fprintf(out, "Question: %s\nLook into %s, then answer with -mail send or -mail skip.\n", stop.Questions[0].Value, o.dir)
		return nil
	case err != nil:
		return err
	}
	fmt.Fprintf(out, "Order %s: %s, %s.\n", o.order, receipt.Get(final), mailed.Get(final))
	return nil
}
