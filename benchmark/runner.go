package benchmark

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Runner does samples: each in a folder of its own, by fresh processes of the program, one a turn.
type Runner struct {
	Program    string         // the program
	Model      string         // the model file
	Suite      *Suite         // whose seed and name the samples get
	Repository string         // folder that fixture_dir of a case is relative to
	Folder     string         // where the folders of samples are made; it must be there
	Keep       bool           // leave the folders of samples behind, without their KV caches
	Limit      time.Duration  // of one process; default [DefaultLimit]
	Values     map[string]any // of the configuration, by section.key, for all rounds; nil: the defaults
	Environ    []string       // environment of the program; variables that configure it are left out

	WarmKV string // folder of KV caches that those of samples begin with; empty: they begin empty
	KeepKV string // folder that gets what samples have in their KV caches at the end; empty: it is lost

	// Collect is called with each sample that has ended and the folder of its records of telemetry, before the folder of the
	// sample goes; may be nil.
	Collect func(s *Sample, telemetry string) error
}

// DefaultLimit is the time that one process of the program gets.
const DefaultLimit = 15 * time.Minute

// environPrefix begins the variables that would change the program's configuration.
const environPrefix = "AGENT_"

// Sample does one case once, in a folder that is named after it; one that was left of an earlier try is removed. An error means
// that it could not be done, and says nothing about the program: what goes wrong there is part of the sample.
func (r *Runner) Sample(ctx context.Context, c Case, round Round, repetition int) (_ Sample, err error) {
	s := Sample{
		Suite: r.Suite.Name, Case: c.ID, Category: c.Category, Round: round.Name, Repetition: repetition, Seed: r.Suite.Seed + repetition,
		Faults: []string{},
	}
	// The same name each time: a path may get into a prompt, and its length would change what is measured.
	folder, err := filepath.Abs(filepath.Join(r.Folder, fmt.Sprintf("%s-%s-%d", c.ID, round.Name, repetition)))
	if err == nil {
		err = os.RemoveAll(folder)
	}
	if err == nil {
		err = os.Mkdir(folder, 0o755)
	}
	if err != nil {
		return s, fmt.Errorf("making the folder of a sample: %w", err)
	}
	w := sampling{Runner: r, sample: &s, round: round, folder: folder, workspace: filepath.Join(folder, "fixtures")}
	shared := stores{shared: w.shared()}
	useless := folder
	if r.Keep {
		useless = shared.kv() // gigabytes that tell nobody anything
	}
	defer func() { err = errors.Join(err, os.RemoveAll(useless)) }()
	if err := c.writeFixtures(w.workspace, r.Repository, r.Suite.Seed); err != nil {
		return s, err
	}
	if w.before, err = FixtureDigest(w.workspace); err != nil {
		return s, err
	}
	if r.WarmKV != "" {
		if err := linkFiles(r.WarmKV, shared.kv()); err != nil {
			return s, err
		}
	}
	if err := w.do(ctx, c); err != nil {
		return s, err
	}
	if r.KeepKV != "" {
		if err := linkFiles(shared.kv(), r.KeepKV); err != nil {
			return s, err
		}
	}
	if r.Collect != nil {
		err = r.Collect(&s, shared.telemetry())
	}
	return s, err
}

// sampling is a sample at work.
type sampling struct {
	*Runner
	sample            *Sample
	round             Round
	folder, workspace string
	before            string // what [FixtureDigest] tells of the workspace at first
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
		if err := w.judge(c, turns[:len(turns)-1]); err != nil {
			return err
		}
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
			if err := w.judge(c.forQuestion(q), turns); err != nil {
				return err
			}
		}
		if i == len(script.Questions)-1 {
			return w.measure(copied)
		}
	}
	return nil
}

// judge judges the last turn, which follows the turns before it.
func (w *sampling) judge(c Case, before []Turn) error {
	after, err := FixtureDigest(w.workspace)
	if err != nil {
		return err
	}
	w.sample.judge(c, before, w.before, after)
	return nil
}

func (w *sampling) stores(name string) (stores, error) {
	model, err := filepath.Abs(w.Model)
	if err != nil {
		return stores{}, fmt.Errorf("finding the model %q: %w", w.Model, err)
	}
	values := map[string]any{}
	maps.Copy(values, w.Values)
	maps.Copy(values, w.round.Switches)
	values["engine.model_path"], values["engine.seed"] = model, w.sample.Seed
	return newStores(w.folder, name, w.shared(), values)
}

// shared is the folder of what all processes of the sample share.
func (w *sampling) shared() string { return filepath.Join(w.folder, "shared") }

// turn runs the program once.
func (w *sampling) turn(ctx context.Context, at stores, number int, args []string, text string) (Turn, error) {
	program, err := filepath.Abs(w.Program)
	if err != nil {
		return Turn{}, fmt.Errorf("finding the program %q: %w", w.Program, err)
	}
	args = append(args, "--json", "--config", at.config, "-C", w.workspace)
	environ := []string{} // not nil, which would stand for the environment of this process
	for _, variable := range w.Environ {
		if !strings.HasPrefix(variable, environPrefix) {
			environ = append(environ, variable)
		}
	}
	e, err := execute(ctx, program, append(args, "--", text), environ, w.workspace, cmp.Or(w.Limit, DefaultLimit))
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
