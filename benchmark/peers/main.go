// Command peers measures llama-agent beside three other agents on the same model file, in one run: llama-cpp-python behind a LangGraph
// graph, llama.cpp's own server behind a loop, and node-llama-cpp behind a LangGraph graph. Each of them works in two layouts: with a
// prompt for each role, as their users write it, and with llama-agent's own prompt. The programs are in the folder agents; all of them
// have the same tools, the same workspaces and the same judge.
//
// What came of each task goes to a file of JSON lines, and a table in Markdown to stdout. Peers that were not installed are left out;
// scripts/bench_peers.sh installs them.
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
	"strings"
	"syscall"
	"time"

	"github.com/llama-agent/llama-agent/benchmark"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := execute(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintf(os.Stderr, "error: %v\n", err)
		os.Exit(1)
	}
}

// options are what the command line says.
type options struct {
	program, model, suite, out, agents string
	cases                              string
	rounds                             int
	limit                              time.Duration
	table                              string
	python, cpython, server, node      string
	settings                           settings
}

// settings are what all systems are run with.
type settings struct {
	threads, context, seed int
	temperature            float64
}

func parse(args []string, stderr io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("peers", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.program, "program", "bin/llama-agent", "llama-agent")
	flags.StringVar(&o.model, "model", "", "model file")
	flags.StringVar(&o.suite, "suite", "r0_full", "suite of tasks, by its name or path")
	flags.StringVar(&o.cases, "cases", "", "cases of the suite, with commas between; they must have one turn each (default: all such)")
	flags.IntVar(&o.rounds, "rounds", 1, "how often each case is done by each system")
	flags.DurationVar(&o.limit, "limit", 10*time.Minute, "time for one task")
	flags.StringVar(&o.out, "out", "build/bench/peers", "folder for the results")
	flags.StringVar(&o.table, "table", "", "only print the table of an earlier run, from this file of results")
	flags.StringVar(&o.agents, "agents", "benchmark/peers/agents", "folder of the peers' programs")
	flags.StringVar(&o.python, "python", "python3", "Python for the client of llama-server")
	flags.StringVar(&o.cpython, "llama-cpp-python", "", "Python with llama-cpp-python and langgraph (default: without this peer)")
	flags.StringVar(&o.server, "llama-server", "", "llama-server (default: without this peer)")
	flags.StringVar(&o.node, "node-llama-cpp", "", "node_llama_cpp.mjs in a folder with its packages (default: without this peer)")
	flags.IntVar(&o.settings.threads, "threads", 2, "threads of each system")
	flags.IntVar(&o.settings.context, "ctx", 16384, "context in tokens of each system")
	flags.Float64Var(&o.settings.temperature, "temperature", 0, "temperature of each system")
	flags.IntVar(&o.settings.seed, "seed", 42, "seed of each system")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	switch {
	case flags.NArg() > 0:
		return o, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	case o.table == "" && o.model == "":
		return o, errors.New("no model; name one with -model")
	case o.rounds < 1:
		return o, fmt.Errorf("-rounds is %d, it must be at least 1", o.rounds)
	}
	return o, nil
}

func execute(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o, err := parse(args, stderr)
	if err != nil {
		return err
	}
	path := o.table
	if path == "" {
		if path, err = measure(ctx, o, stderr); err != nil {
			return err
		}
	}
	records, err := readRecords(path)
	if err != nil {
		return err
	}
	return writeTable(stdout, records)
}

// measure does the run and returns the file of its results.
func measure(ctx context.Context, o options, stderr io.Writer) (string, error) {
	suite, err := benchmark.FindSuite(o.suite)
	if err != nil {
		return "", err
	}
	var names []string
	if o.cases != "" {
		names = append(names, o.cases)
	}
	chosen, err := suite.Choose(names...)
	if err != nil {
		return "", err
	}
	var cases []benchmark.Case
	for _, c := range chosen {
		switch {
		case c.Goal != "" && c.Metadata.FixtureDir == "":
			cases = append(cases, c)
		case o.cases != "":
			return "", fmt.Errorf("case %s has several turns or a folder of its own; the peers do single tasks on files that are made for them", c.ID)
		}
	}
	for _, path := range []*string{&o.program, &o.model, &o.out, &o.agents, &o.server, &o.node} {
		if *path == "" {
			continue
		}
		if *path, err = filepath.Abs(*path); err != nil {
			return "", fmt.Errorf("finding %q: %w", *path, err)
		}
	}
	if strings.ContainsRune(o.cpython, filepath.Separator) {
		// Not resolved: a virtual environment is known by the path of its Python.
		if o.cpython, err = filepath.Abs(o.cpython); err != nil {
			return "", fmt.Errorf("finding %q: %w", o.cpython, err)
		}
	}
	work := filepath.Join(o.out, "work")
	if err := os.RemoveAll(work); err != nil {
		return "", fmt.Errorf("making room for the run: %w", err)
	}
	if err := os.MkdirAll(work, 0o755); err != nil {
		return "", fmt.Errorf("making the folder for results: %w", err)
	}
	path := filepath.Join(o.out, "results.jsonl")
	results, err := newResults(path)
	if err != nil {
		return "", err
	}
	b := &bench{options: o, suite: suite.Suite, cases: cases, work: work, results: results, say: func(format string, args ...any) {
		fmt.Fprintf(stderr, "==> "+format+"\n", args...)
	}}
	err = errors.Join(b.run(ctx), results.close())
	if removed := os.RemoveAll(work); err == nil {
		err = removed
	}
	return path, err
}
