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
		if c.ID == b.second().ID {
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

// second is the case in whose workspace the second task is done: the last one, which has most files.
func (b *bench) second() benchmark.Case { return b.cases[len(b.cases)-1] }

// job is a case as a peer is given it.
func (b *bench) job(c benchmark.Case, goal, key string) job {
	asked := b.prompts[key]
	return job{Op: "task", Goal: goal, Workspace: b.workspace(c), Facts: asked.facts(), Tools: b.tools, Trunk: asked}
}

// peerTasks has a peer do all cases with one model loaded, as its user's program would, and then the second task.
func (b *bench) peerTasks(ctx context.Context, m maker, layout string, round int) error {
	b.say("%s, %s layout, round %d", m.system, layout, round)
	p, err := m.start(ctx, &b.options, layout, b.log)
	if err != nil {
		return b.failed(ctx, record{Kind: kindProcess, System: m.system, Layout: layout, Round: round}, err)
	}
	// Its replies do not matter; that it cannot answer shows in the cases.
	var ignored reply
	if err := p.ask(ctx, b.limit, b.job(warmup, warmup.Goal, warmup.ID), &ignored); err != nil && ctx.Err() != nil {
		p.kill()
		return ctx.Err()
	}
	for _, c := range b.cases {
		if err := b.peerTask(ctx, p, c, round); err != nil {
			p.kill()
			return err
		}
	}
	if layout != trunk {
		return b.ended(p, round)
	}
	if !m.lasting {
		// A second run is one by a program that was started for it.
		if err := b.ended(p, round); err != nil {
			return err
		}
		if p, err = m.start(ctx, &b.options, layout, b.log); err != nil {
			return b.failed(ctx, record{Kind: kindSecond, System: m.system, Layout: layout, Round: round}, err)
		}
	}
	one := record{Kind: kindSecond, System: m.system, Version: p.hello.Name, Layout: layout, Case: b.second().ID, Round: round, LoadMS: p.hello.LoadMS}
	var answer outcome
	if err := p.ask(ctx, b.limit, b.job(b.second(), secondGoal, secondGoal), &answer); err != nil {
		p.kill()
		return b.failed(ctx, one, err)
	}
	one.reply, one.Error = answer.reply, answer.Error
	if err := b.results.add(one); err != nil {
		p.kill()
		return err
	}
	return b.ended(p, round)
}

// outcome is a peer's report of a task.
type outcome struct {
	reply
	Error string `json:"error"`
}

// peerTask does one case. What goes wrong with the peer is a result; the cases after it fail likewise when it is gone.
func (b *bench) peerTask(ctx context.Context, p *peer, c benchmark.Case, round int) error {
	one := record{Kind: kindTask, System: p.system, Version: p.hello.Name, Layout: p.layout, Case: c.ID, Round: round}
	before, err := benchmark.FixtureDigest(b.workspace(c))
	if err != nil {
		return err
	}
	var answer outcome
	if err := p.ask(ctx, b.limit, b.job(c, c.Goal, c.ID), &answer); err != nil {
		return b.failed(ctx, one, err)
	}
	after, err := benchmark.FixtureDigest(b.workspace(c))
	if err != nil {
		return err
	}
	one.reply, one.Error = answer.reply, answer.Error
	one.Faults = benchmark.Judge(c, benchmark.Outcome{
		Status: one.Status, Answer: one.Answer, Tools: one.Tools, ToolResults: one.Results, FixturesBefore: before, FixturesAfter: after,
	})
	one.Right = one.Error == "" && len(one.Faults) == 0
	b.tell(one)
	return b.results.add(one)
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

// ended stops a peer and records what it needed.
func (b *bench) ended(p *peer, round int) error {
	return b.results.add(record{
		Kind: kindProcess, System: p.system, Version: p.hello.Name, Layout: p.layout, Round: round,
		PeakRSSBytes: p.stop(), LoadMS: p.hello.LoadMS,
	})
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
