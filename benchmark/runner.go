package benchmark

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Runner does samples: each in a folder of its own, by fresh processes of the program, one a turn.
type Runner struct {
	Program    string        // the program
	Model      string        // the model file
	Suite      *Suite        // whose seed and name the samples get
	Repository string        // folder that fixture_dir of a case is relative to
	Folder     string        // where the folders of samples are made; it must be there
	Keep       bool          // leave the folders of samples behind
	Limit      time.Duration // of one process; default 15 minutes
	Set        []string      // more values of the configuration, section.key=value, for all rounds
	Environ    []string      // environment of the program; variables that configure it are left out
	Done       func(*Sample) // called with each measured sample as it ends; may be nil
}

// environPrefix begins the variables that would change the program's configuration.
const environPrefix = "AGENT_"

// Run does every case in every round, warm-ups first, and then runs times. The rounds take turns inside a repetition, so that
// what changes while the benchmark runs, such as the clock of a warm processor, is shared by all of them. The samples so far
// come with an error, too.
func (r *Runner) Run(ctx context.Context, cases []Case, rounds []Round, runs int) ([]Sample, error) {
	var samples []Sample
	for _, c := range cases {
		for repetition := -r.Suite.WarmupRuns; repetition < runs; repetition++ {
			for _, round := range rounds {
				s, err := r.Sample(ctx, c, round, max(repetition, 0))
				if err != nil {
					return samples, err
				}
				if repetition < 0 {
					continue
				}
				samples = append(samples, s)
				if r.Done != nil {
					r.Done(&s)
				}
			}
		}
	}
	return samples, nil
}

// Sample does one case once. An error means that it could not be done, and says nothing about the program: what goes wrong
// there is part of the sample.
func (r *Runner) Sample(ctx context.Context, c Case, round Round, repetition int) (_ Sample, err error) {
	s := Sample{
		Suite: r.Suite.Name, Case: c.ID, Category: c.Category, Round: round.Name, Repetition: repetition, Seed: r.Suite.Seed + repetition,
		Set: append([]string{}, r.Set...), Faults: []string{},
	}
	folder, err := os.MkdirTemp(r.Folder, fmt.Sprintf("%s-%s-%d-", c.ID, round.Name, repetition))
	if err != nil {
		return s, fmt.Errorf("making the folder of a sample: %w", err)
	}
	if folder, err = filepath.Abs(folder); err != nil {
		return s, fmt.Errorf("making the folder of a sample: %w", err)
	}
	if !r.Keep {
		defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	}
	w := sampling{Runner: r, sample: &s, round: round, folder: folder, workspace: filepath.Join(folder, "fixtures")}
	if err := c.writeFixtures(w.workspace, r.Repository, r.Suite.Seed); err != nil {
		return s, err
	}
	return s, w.do(ctx, c)
}

// sampling is a sample at work.
type sampling struct {
	*Runner
	sample            *Sample
	round             Round
	folder, workspace string
}

func (w *sampling) do(ctx context.Context, c Case) error {
	at, err := w.stores("data")
	if err != nil {
		return err
	}
	script := c.Script(w.Suite.Seed)
	conversation := ""
	for i, text := range script.Turns {
		args := []string{"continue", "--new"}
		switch {
		case c.Goal != "":
			args = []string{"run"}
		case i > 0:
			args = []string{"continue", "--conversation-id", conversation}
		}
		t, err := w.turn(ctx, at, i+1, args, text)
		if err != nil {
			return err
		}
		if t.ErrorClass == "" && t.conversation == "" && len(script.Turns)+len(script.Questions) > 1 {
			t.ErrorClass, t.Error = NoResult, "the report of a turn has no conversation_id"
		}
		w.sample.add(t)
		if t.ErrorClass != "" {
			// What comes after a turn that is missing would be another conversation.
			return w.measure(at)
		}
		conversation = cmp.Or(conversation, t.conversation)
	}
	turns := w.sample.Turns
	if len(script.Questions) == 0 {
		w.sample.judge(c, turns[:len(turns)-1])
		return w.measure(at)
	}
	turns = slices.Clone(turns)
	for i, q := range script.Questions {
		copied, err := w.stores(fmt.Sprintf("data-%d", i+1))
		if err != nil {
			return err
		}
		if err := copyFolder(at.data, copied.data, ""); err != nil {
			return fmt.Errorf("copying the stores for question %s of case %q: %w", q.ID, c.ID, err)
		}
		t, err := w.turn(ctx, copied, len(turns)+1, []string{"continue", "--conversation-id", conversation}, q.Text)
		if err != nil {
			return err
		}
		t.Question = q.ID
		w.sample.add(t)
		if t.ErrorClass == "" {
			w.sample.judge(c.forQuestion(q), turns)
		}
		if i == len(script.Questions)-1 {
			return w.measure(copied)
		}
	}
	return nil
}

func (w *sampling) stores(name string) (stores, error) {
	model, err := filepath.Abs(w.Model)
	if err != nil {
		return stores{}, fmt.Errorf("finding the model %q: %w", w.Model, err)
	}
	return newStores(w.folder, name, filepath.Join(w.folder, "shared"), model, w.sample.Seed, w.round)
}

// turn runs the program once.
func (w *sampling) turn(ctx context.Context, at stores, number int, args []string, text string) (Turn, error) {
	program, err := filepath.Abs(w.Program)
	if err != nil {
		return Turn{}, fmt.Errorf("finding the program %q: %w", w.Program, err)
	}
	args = append(args, "--json", "--config", at.config, "-C", w.workspace)
	for _, set := range w.Set {
		args = append(args, "--set", set)
	}
	environ := []string{} // not nil, which would stand for the environment of this process
	for _, variable := range w.Environ {
		if !strings.HasPrefix(variable, environPrefix) {
			environ = append(environ, variable)
		}
	}
	e, err := execute(ctx, program, append(args, "--", text), environ, w.workspace, cmp.Or(w.Limit, 15*time.Minute))
	if err != nil {
		return Turn{}, fmt.Errorf("doing case %q in round %s: %w", w.sample.Case, w.round.Name, err)
	}
	return newTurn(number, e), nil
}

// measure takes down what the stores hold at the end.
func (w *sampling) measure(at stores) (err error) {
	s := w.sample
	if s.DatabaseBytes, s.StoredBytes, err = at.sizes(); err != nil {
		return err
	}
	peak, err := at.peakKV()
	switch {
	case peak > 0:
		s.PeakKVTokens, s.PeakKVSource = peak, kvSource
	case s.PeakPromptTokens > 0:
		s.PeakKVTokens, s.PeakKVSource = s.PeakPromptTokens, "usage.peak_kv_tokens"
	}
	if err != nil {
		s.PeakKVError = err.Error() // the sample is worth more than this number
	}
	return nil
}
