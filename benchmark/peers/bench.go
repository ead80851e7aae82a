package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/llama-agent/llama-agent/benchmark"
)

// warmup reads what all tasks share, before anything is measured.
var warmup = benchmark.Case{ID: "warm-up", Goal: "Hello!", ExpectedStatus: benchmark.AnyStatus}

// secondGoal is the second task in a workspace. It is about any files.
const secondGoal = "How many files are in the workspace, and which of them is the largest?"

// bench is a run. It belongs to one goroutine.
type bench struct {
	options
	suite   *benchmark.Suite
	cases   []benchmark.Case
	work    string // folder for workspaces and stores
	results *results
	say     func(format string, args ...any)

	tools   []toolSpec
	prompts map[string]*prompt // of cases, by ID; of the second task under its goal
	log     *os.File           // what the peers say
}

// run measures everything: the systems take turns, each of them alone.
func (b *bench) run(ctx context.Context) (err error) {
	if len(b.cases) == 0 {
		return errors.New("the suite has no case that the peers can do")
	}
	if b.log, err = os.Create(filepath.Join(b.out, "peers.log")); err != nil {
		return fmt.Errorf("making the log of the peers: %w", err)
	}
	defer b.log.Close()
	killed, err := killCase()
	if err != nil {
		return err
	}
	if err := b.prepare(ctx, killed); err != nil {
		return err
	}
	makers := b.makers()
	if len(makers) == 0 {
		b.say("no peer is installed: llama-agent is measured alone")
	}
	for round := 1; round <= b.rounds; round++ {
		if err := b.ownTasks(ctx, round); err != nil {
			return err
		}
		if err := b.ownSecond(ctx, round); err != nil {
			return err
		}
		for _, m := range makers {
			for _, layout := range []string{idiomatic, trunk} {
				if err := b.peerTasks(ctx, m, layout, round); err != nil {
					return err
				}
			}
		}
	}
	if err := b.ownKill(ctx, killed); err != nil {
		return err
	}
	for _, m := range makers {
		if err := b.peerKill(ctx, m, killed); err != nil {
			return err
		}
	}
	return nil
}

// prepare asks llama-agent for its prompts, and makes the workspaces of the peers, which only read there.
func (b *bench) prepare(ctx context.Context, killed benchmark.Case) error {
	b.prompts = map[string]*prompt{}
	for _, c := range append(slices.Clone(b.cases), warmup, killed) {
		if err := writeWorkspace(b.workspace(c), c, b.suite.Seed); err != nil {
			return err
		}
		goals := map[string]string{c.ID: c.Goal}
		if c.ID == b.secondCase().ID {
			goals[secondGoal] = secondGoal
		}
		for key, goal := range goals {
			scratch := filepath.Join(b.work, "scratch")
			if err := os.RemoveAll(scratch); err != nil {
				return fmt.Errorf("making a workspace: %w", err)
			}
			if err := writeWorkspace(scratch, c, b.suite.Seed); err != nil {
				return err
			}
			asked, err := b.promptFor(ctx, scratch, goal)
			if err != nil {
				return fmt.Errorf("case %s: %w", c.ID, err)
			}
			b.prompts[key] = asked
		}
	}
	c, err := b.load(b.workspace(warmup))
	if err != nil {
		return err
	}
	b.tools, err = toolSpecs(c)
	return err
}

func (b *bench) workspace(c benchmark.Case) string { return filepath.Join(b.work, "workspaces", c.ID) }

// secondCase is the case in whose workspace the second task is done: the last one, which has most files.
func (b *bench) secondCase() benchmark.Case { return b.cases[len(b.cases)-1] }

// job is a case as a peer is given it.
func (b *bench) job(c benchmark.Case, goal, key string) job {
	asked := b.prompts[key]
	return job{Op: opTask, Goal: goal, Workspace: b.workspace(c), Facts: asked.facts(), Tools: b.tools, Trunk: asked}
}

// peerTasks has a peer do all cases with one model loaded, as its user's program would, and then the second task.
func (b *bench) peerTasks(ctx context.Context, m maker, layout string, round int) error {
	b.say("%s, %s layout, round %d", m.system, layout, round)
	w := worker{bench: b, maker: m, layout: layout, round: round}
	defer w.kill()
	for _, c := range b.cases {
		if err := w.task(ctx, c); err != nil {
			return err
		}
	}
	if layout == trunk {
		if err := w.second(ctx); err != nil {
			return err
		}
	}
	return w.end()
}

// worker is a peer in one layout and round. It starts the program when there is a task and none runs, because one that was over the
// limit was killed. It belongs to one goroutine.
type worker struct {
	*bench
	maker
	layout string
	round  int
	peer   *peer // nil: none runs
}

// start starts the program. With warm it reads what all tasks share.
func (w *worker) start(ctx context.Context, warm bool) error {
	if w.peer != nil && !w.peer.killed {
		return nil
	}
	var err error
	if w.peer, err = w.maker.start(ctx, &w.options, w.layout, w.log); err != nil || !warm {
		return err
	}
	j := w.job(warmup, warmup.Goal, warmup.ID)
	j.Op = opWarm
	var ignored outcome // that it cannot answer shows in the cases
	if err := w.peer.ask(ctx, w.limit, j, &ignored); err != nil {
		return fmt.Errorf("warming up: %w", err)
	}
	return nil
}

// kill ends the program, if one runs.
func (w *worker) kill() {
	if w.peer != nil {
		w.peer.kill()
	}
}

// end lets the program end and records what it needed.
func (w *worker) end() error {
	if w.peer == nil || w.peer.killed {
		return nil
	}
	return w.results.add(record{
		Kind: kindProcess, System: w.system, Version: w.peer.hello.Name, Layout: w.layout, Round: w.round,
		LoadMS: w.peer.hello.LoadMS, PeakRSSBytes: w.peer.stop(),
	})
}

// ask does a job and puts what came of it into one. It reports false when there is nothing to judge, which is recorded then.
func (w *worker) ask(ctx context.Context, one *record, j job, warm bool) (bool, error) {
	one.System, one.Layout, one.Round = w.system, w.layout, w.round
	err := w.start(ctx, warm)
	var answer outcome
	if err == nil {
		one.Version, one.LoadMS = w.peer.hello.Name, w.peer.hello.LoadMS
		err = w.peer.ask(ctx, w.limit, j, &answer)
	}
	if err == nil && answer.Error != "" {
		err = errors.New(answer.Error)
	}
	if err != nil {
		return false, w.failed(ctx, *one, err)
	}
	one.reply = answer.reply
	return true, nil
}

// task does one case.
func (w *worker) task(ctx context.Context, c benchmark.Case) error {
	one := record{Kind: kindTask, Case: c.ID}
	before, err := benchmark.FixtureDigest(w.workspace(c))
	if err != nil {
		return err
	}
	if ok, err := w.ask(ctx, &one, w.job(c, c.Goal, c.ID), true); err != nil || !ok {
		return err
	}
	after, err := benchmark.FixtureDigest(w.workspace(c))
	if err != nil {
		return err
	}
	one.Faults = benchmark.Judge(c, benchmark.Outcome{
		Status: one.Status, Answer: one.Answer, Tools: one.Tools, ToolResults: one.Results, FixturesBefore: before, FixturesAfter: after,
	})
	one.Right = len(one.Faults) == 0
	w.tell(one)
	return w.results.add(one)
}

// second does another task in a workspace where one was done. That is a second run of a program that was started for it, unless the
// model of the peer stays loaded by its nature.
func (w *worker) second(ctx context.Context) error {
	if !w.lasting {
		if err := w.end(); err != nil {
			return err
		}
		w.peer = nil
	}
	c := w.secondCase()
	one := record{Kind: kindSecond, Case: c.ID}
	if ok, err := w.ask(ctx, &one, w.job(c, secondGoal, secondGoal), w.lasting); err != nil || !ok {
		return err
	}
	w.say("  second run: first step after %.2f s, %d of %d prompt tokens evaluated", one.FirstStepMS/1000, one.EvaluatedTokens, one.PromptTokens)
	return w.results.add(one)
}

// outcome is a peer's report of a task.
type outcome struct {
	reply
	Error string `json:"error"`
}

// failed records that there is nothing to judge. Only the end of ctx, and a file that cannot be written, end the run.
func (b *bench) failed(ctx context.Context, one record, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	one.Error = err.Error()
	b.tell(one)
	return b.results.add(one)
}

func (b *bench) tell(one record) {
	how := "right"
	switch {
	case one.Error != "":
		how = one.Error
	case !one.Right:
		how = fmt.Sprintf("wrong: %q", one.Faults)
	}
	b.say("  %s: %.1f s, %d of %d prompt tokens evaluated, %d model calls, %s",
		one.Case, one.DurationMS/1000, one.EvaluatedTokens, one.PromptTokens, one.ModelCalls, how)
}
