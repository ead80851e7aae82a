package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/llama-agent/llama-agent/app"
	"github.com/llama-agent/llama-agent/benchmark"
	"github.com/llama-agent/llama-agent/config"
)

// measureOptions are the flags that benchmark and ablation share.
type measureOptions struct {
	command       string // which of them it is
	suite, resume string
	rounds, cases []string
	root          string
	warmups, runs int
	limit         time.Duration
	keep          bool
}

func (o *measureOptions) addTo(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&o.suite, "suite", "", "suite of this program by its `NAME`, or any other by the path of its file")
	flags.StringArrayVar(&o.cases, "case", nil, "only the case with this `ID` (repeatable)")
	flags.IntVar(&o.warmups, "warmup-runs", 0, "`N` greetings that each round answers before anything is measured (default: as in the suite)")
	flags.IntVar(&o.runs, "measured-runs", 0, "`N` samples of each case in each round (default: as in the suite)")
	flags.StringVar(&o.root, "output-root", "data/benchmark", "folder that the one of the results is made in, `DIR`")
	flags.StringVar(&o.resume, "resume", "", "go on with the run in the folder `DIR`, with the same settings; what it measures need not be said again")
	flags.DurationVar(&o.limit, "time-limit", benchmark.DefaultLimit, "time that one process gets, a `DURATION` such as 90s or 20m")
	flags.BoolVar(&o.keep, "keep", false, "leave workspaces and stores of the samples behind, in the folder samples of the results")
	complete(cmd, "suite", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return benchmark.ShippedSuites(), cobra.ShellCompDirectiveDefault
	})
}

func (s *session) measure(cmd *cobra.Command, o measureOptions) error {
	c, err := s.load()
	if err != nil {
		return err
	}
	settings, err := benchmark.NewSettings(c)
	if err != nil {
		return err
	}
	plan, err := o.plan(cmd, settings)
	if err != nil {
		return err
	}
	campaign, err := s.campaign(cmd.Context(), c, plan, settings)
	if err != nil {
		return err
	}
	campaign.Keep = o.keep
	var done *benchmark.Measured
	if o.resume != "" {
		done, err = campaign.Resume(cmd.Context(), o.resume)
	} else {
		done, err = campaign.Start(cmd.Context(), o.root)
	}
	if done == nil {
		return modelExit(err)
	}
	if printed := s.printMeasured(plan, done); printed != nil {
		return errors.Join(err, printed)
	}
	return s.measured(cmd, o, done, err)
}

// plan takes what is measured from the flags, and what they leave open from the run that is resumed, or from the suite.
func (o *measureOptions) plan(cmd *cobra.Command, settings benchmark.Settings) (benchmark.Plan, error) {
	p := benchmark.Plan{Command: o.command, Limit: o.limit}
	given := func(flag string) bool { return cmd.Flags().Changed(flag) }
	rounds, cases, warmups, runs := o.rounds, o.cases, o.warmups, o.runs
	if given("measured-runs") && runs < 1 || warmups < 0 {
		return p, usagef("--measured-runs must be 1 or more, and --warmup-runs 0 or more")
	}
	if o.limit <= 0 {
		return p, usagef("--time-limit must be longer than nothing, such as 90s or 20m")
	}
	var stored *benchmark.Manifest
	var err error
	switch {
	case o.resume != "":
		if stored, err = benchmark.StoredManifest(o.resume); err != nil {
			return p, err
		}
		if !given("round") && !given("round-order") {
			rounds = nil
			for _, r := range stored.Rounds {
				rounds = append(rounds, r.Name)
			}
		}
		if !given("case") {
			cases = stored.Cases
		}
		if !given("time-limit") {
			p.Limit = time.Duration(stored.TimeLimitMS) * time.Millisecond
		}
	case o.suite == "":
		return p, usagef("the suite is missing; give --suite with one of %s, or the path of a file", strings.Join(benchmark.ShippedSuites(), ", "))
	}
	if o.suite == "" {
		p.Suite, err = benchmark.StoredSuite(o.resume, stored)
	} else {
		p.Suite, err = benchmark.FindSuite(o.suite)
	}
	if err != nil {
		return p, unknownIsUsage("--suite", err)
	}
	if p.Cases, err = p.Suite.ChooseCases(cases...); err != nil {
		return p, unknownIsUsage("--case", err)
	}
	if p.Rounds, err = o.parseRounds(rounds, settings); err != nil {
		return p, err
	}
	p.Warmups, p.Runs = p.Suite.WarmupRuns, p.Suite.MeasuredRuns
	if stored != nil {
		p.Warmups, p.Runs = stored.WarmupRuns, stored.MeasuredRuns
	}
	if given("warmup-runs") {
		p.Warmups = warmups
	}
	if given("measured-runs") {
		p.Runs = runs
	}
	return p, nil
}

func (o *measureOptions) parseRounds(names []string, settings benchmark.Settings) ([]benchmark.Round, error) {
	if o.command != "ablation" {
		rounds, err := benchmark.ParseRounds(names, settings.Switches)
		if err != nil {
			return nil, usagef("--round: %w", err)
		}
		return rounds, nil
	}
	rounds, err := benchmark.ParseRounds(names, nil)
	if err == nil && len(rounds) < 2 {
		err = errors.New("there is nothing to compare with one round; give two or three of R0, R1 and R2")
	}
	if err != nil {
		return nil, usagef("--round-order: %w", err)
	}
	return rounds, nil
}

// unknownIsUsage turns an error about a name that does not exist into one of usage.
func unknownIsUsage(flag string, err error) error {
	if _, ok := errors.AsType[*benchmark.UnknownError](err); ok {
		return usagef("%s: %w", flag, err)
	}
	return err
}

// campaign brings together what a run needs.
func (s *session) campaign(ctx context.Context, c *config.Config, plan benchmark.Plan, settings benchmark.Settings) (*benchmark.Campaign, error) {
	if c.Engine.ModelPath == "" {
		return nil, app.ErrNoModel
	}
	executable := s.executable
	if executable == "" {
		var err error
		if executable, err = os.Executable(); err != nil {
			return nil, fmt.Errorf("finding this program, which does the samples: %w", err)
		}
	}
	repository, err := benchmark.FindRepository(plan.Cases, plan.Suite.Folder, ".")
	if err != nil {
		return nil, err
	}
	for _, v := range c.Values() {
		if v.Section == "engine" && v.Key == "seed" && v.Source.Layer == config.LayerFlag {
			s.console.note("note: %s has no effect here: the seed of a sample is that of the suite, %d, plus its repetition", v.Source, plan.Suite.Seed)
		}
	}
	tools, err := benchmark.ToolNames(c)
	if err != nil {
		return nil, err
	}
	if err := plan.Suite.CheckTools(tools); err != nil {
		return nil, fmt.Errorf("reading suite %s: %w", plan.Suite.File, err)
	}
	build := app.EngineBuild()
	return &benchmark.Campaign{
		Plan: plan, Program: executable, Model: c.Engine.ModelPath, Settings: settings, Repository: repository, Environ: s.environ,
		About: benchmark.ProgramInfo{Version: ownVersion(), Commit: commit(), LlamaCPP: build.Version, Go: runtime.Version(), Backend: build.Backend},
		Host:  benchmark.ThisHost(ctx), Clock: s.now, NewID: func() string { return s.newRunID(plan.Suite.Name) },
		Tell: func(p benchmark.Progress) { s.tellProgress(plan, p) },
	}, nil
}

// newRunID names a run by its time and its suite, so that folders of results sort by time and are told apart by a person.
func (s *session) newRunID(suite string) string {
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '_'
	}, suite)
	var random [2]byte
	_, _ = rand.Read(random[:]) // never fails
	return fmt.Sprintf("%s-%.40s-%s", s.now().Format("20060102-150405"), name, hex.EncodeToString(random[:]))
}

// tellProgress tells a line about each sample.
func (s *session) tellProgress(plan benchmark.Plan, p benchmark.Progress) {
	note := s.console.note
	if p.Sample == nil {
		note("suite %s, %s, %s; results in %s", plan.Suite.Name, plural(len(plan.Cases), "case"), plural(p.Total, "sample"), p.Folder)
		for _, n := range p.Notes {
			note("note: %s", n)
		}
		if p.Done > 0 {
			note("%d of them are there already", p.Done)
		}
		return
	}
	one := p.Sample
	how := "right"
	switch {
	case one.ErrorClass != "":
		how = string(one.ErrorClass) + ": " + oneLine(one.Error)
	case one.Judged > 1 && len(one.Faults) > 0:
		how = fmt.Sprintf("%d of %d right: %s", one.Right, one.Judged, oneLine(strings.Join(one.Faults, "; ")))
	case len(one.Faults) > 0:
		how = "wrong: " + oneLine(strings.Join(one.Faults, "; "))
	}
	if !s.console.verbose {
		how = truncate(how, 160)
	}
	what := fmt.Sprintf("[%d/%d] %s %s #%d", p.Done, p.Total, one.Case, one.Round, one.Repetition)
	if p.Warmup {
		what = "warm-up " + one.Round
	}
	left := ""
	if p.Left > 0 {
		left = "; about " + formatDuration(max(p.Left, time.Second)) + " left"
	}
	note("%s: %s, %s%s", what, how, formatDuration(time.Duration(one.WallMS)*time.Millisecond), left)
}

type measuredJSON struct {
	Run      string                 `json:"run"`
	Folder   string                 `json:"folder"`
	Complete bool                   `json:"complete"`
	Samples  int                    `json:"samples"` // that are there
	Planned  int                    `json:"planned"`
	Resumed  int                    `json:"resumed"` // of samples, those of earlier processes
	Rounds   []benchmark.RoundTotal `json:"rounds"`
}

// printMeasured prints the folder of the results and the short table.
func (s *session) printMeasured(plan benchmark.Plan, done *benchmark.Measured) error {
	totals := benchmark.Totals(plan.Rounds, done.Samples)
	if s.console.json {
		return s.console.printJSON(measuredJSON{done.Run, done.Folder, done.Complete, len(done.Samples), done.Total, done.Before, totals})
	}
	number := func(value *float64, format string) string {
		if value == nil {
			return "–"
		}
		return fmt.Sprintf(format, *value)
	}
	var rows [][]string
	for _, t := range totals {
		rows = append(rows, []string{
			t.Round, fmt.Sprint(t.Samples), fmt.Sprintf("%d of %d", t.Right, t.Judged), fmt.Sprint(t.Errors),
			number(t.Seconds, "%.1f"), number(t.InputTokens, "%.0f"), number(t.EvaluatedTokens, "%.0f"),
		})
	}
	s.console.printf("%s\n%s", done.Folder, table([]column{
		{title: "ROUND", flexible: true}, {title: "SAMPLES", right: true}, {title: "RIGHT ANSWERS", right: true}, {title: "ERRORS", right: true},
		{title: "SECONDS", right: true}, {title: "INPUT TOKENS", right: true}, {title: "EVALUATED", right: true},
	}, rows, s.console.columns()))
	return nil
}

// measured turns how a run ended into what is told of it last.
func (s *session) measured(cmd *cobra.Command, o measureOptions, done *benchmark.Measured, err error) error {
	if err == nil {
		if done.Before == done.Total {
			s.console.note("the run was complete; its report was written anew")
		}
		failed := 0
		for i := range done.Samples {
			if done.Samples[i].ErrorClass != "" {
				failed++
			}
		}
		if failed > 0 {
			s.console.note("%s could not be judged, because the program gave no result; failures.jsonl tells why", plural(failed, "sample"))
		}
		return nil
	}
	if done.Complete {
		return err // of the report
	}
	words := append(s.globalWords(cmd), o.command, "--resume", shellWord(done.Folder))
	if o.keep {
		words = append(words, "--keep")
	}
	kept := fmt.Sprintf("%d of %d samples are kept; resume with: %s", len(done.Samples), done.Total, strings.Join(words, " "))
	if errors.Is(err, context.Canceled) {
		return &exitError{exitInterrupted, fmt.Errorf("interrupted, %s", kept)}
	}
	code := exitFailure
	if errors.Is(err, benchmark.ErrModel) {
		code = exitModel
	}
	return &exitError{code, fmt.Errorf("%w; %s", err, kept)}
}

// modelExit gives an error of the model its exit code.
func modelExit(err error) error {
	if errors.Is(err, benchmark.ErrModel) {
		return &exitError{exitModel, err}
	}
	return err
}
