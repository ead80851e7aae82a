package benchmark

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Campaign measures a plan and keeps the results in a folder, where a run that was stopped is resumed.
type Campaign struct {
	Plan
	Program    string      // the program that does the samples
	About      ProgramInfo // it
	Host       HostInfo
	Model      string // the model file
	Settings   Settings
	Repository string   // folder that fixture_dir of a case is relative to
	Environ    []string // environment of the program; variables that configure it are left out
	Keep       bool     // leave the folders of samples behind, in the folder "samples" of the results

	Clock  func() time.Time
	NewID  func() string             // of a run; becomes the name of its folder
	Tell   func(Progress)            // called as the run goes on, one call at a time; may be nil
	Report func(folder string) error // writes the report of a folder that has samples; nil: [WriteReport]
}

// Progress is how far a run is.
type Progress struct {
	Folder string   // of the results
	Sample *Sample  // that has ended; nil at the beginning
	Warmup bool     // it is not measured
	Done   int      // measured samples, those of earlier processes included
	Total  int      // samples of the plan
	Notes  []string // at the beginning: what was repaired
	Left   time.Duration
}

// Measured is what a run has measured, until now or until its end.
type Measured struct {
	Run      string
	Folder   string
	Samples  []Sample // in the order in which they were done
	Total    int      // samples of the plan
	Before   int      // of Samples, those that were there before this process
	Complete bool
}

// ErrDiskFull says that the program found no room for its stores.
var ErrDiskFull = errors.New("benchmark: the disk is full")

// Start begins a run in a new folder below root. When it stops before its end, because ctx ends or something cannot be written,
// what was measured comes with the error, and its folder can be resumed. Nothing is made when what it needs is missing.
func (c *Campaign) Start(ctx context.Context, root string) (*Measured, error) {
	m, err := c.manifest(ctx)
	if err != nil {
		return nil, err
	}
	m.Run, m.StartedAt = c.NewID(), c.Clock().UTC()
	path := filepath.Join(root, m.Run)
	if err := os.MkdirAll(root, 0o755); err != nil {
		return nil, fmt.Errorf("making the folder for results: %w", err)
	}
	if err := os.Mkdir(path, 0o755); err != nil {
		return nil, fmt.Errorf("making the folder of the run: %w", err)
	}
	f, err := openFolder(path, c.Clock())
	if err != nil {
		return nil, err
	}
	defer f.close() //nolint:errcheck // the lock goes with the process
	if err := swapIn(f.join(suiteCopy), bytes.NewReader(c.Suite.Data)); err != nil {
		return nil, fmt.Errorf("writing %q: %w", f.join(suiteCopy), err)
	}
	if err := f.writeManifest(m); err != nil {
		return nil, err
	}
	return c.run(ctx, f, m, nil, nil)
}

// Resume goes on with the run in a folder: samples that are there are not done again, whatever came of them, except those whose
// model could not be loaded. What the run was begun with must be the same; see [ErrOtherRun]. Of a complete run only the report is
// written anew.
func (c *Campaign) Resume(ctx context.Context, path string) (*Measured, error) {
	if _, err := StoredManifest(path); err != nil {
		return nil, err // before anything is written there
	}
	f, err := openFolder(path, c.Clock())
	if err != nil {
		return nil, err
	}
	defer f.close() //nolint:errcheck // the lock goes with the process
	m, err := StoredManifest(path)
	if err != nil {
		return nil, err
	}
	now, err := c.manifest(ctx)
	if err != nil {
		return nil, err
	}
	if err := m.match(now); err != nil {
		return nil, fmt.Errorf("resuming %q: %w", path, err)
	}
	samples, notes, err := f.restore(&c.Plan)
	if err != nil {
		return nil, err
	}
	m.Complete = m.Complete && len(samples) == len(c.jobs())
	return c.run(ctx, f, m, samples, notes)
}

// manifest describes the run. It reads the model.
func (c *Campaign) manifest(ctx context.Context) (*Manifest, error) {
	m := &Manifest{
		SchemaVersion: SchemaVersion, Command: c.Command,
		Suite:      SuiteInfo{Name: c.Suite.Name, File: c.Suite.File, SHA256: c.Suite.SHA256(), Seed: c.Suite.Seed},
		WarmupRuns: c.Warmups, MeasuredRuns: c.Runs, TimeLimitMS: cmp.Or(c.Limit, DefaultLimit).Milliseconds(),
		Config: c.Settings.Shared, Program: c.About, Host: c.Host,
	}
	for _, one := range c.Cases {
		m.Cases = append(m.Cases, one.ID)
	}
	for _, r := range c.Rounds {
		info := RoundInfo{Name: r.Name, Switches: map[string]string{}}
		for key, value := range r.Switches {
			info.Switches[key] = fmt.Sprint(value)
		}
		m.Rounds = append(m.Rounds, info)
	}
	var err error
	m.Model, err = modelInfo(ctx, c.Model)
	return m, err
}

// run does what is left of the plan and writes the report.
func (c *Campaign) run(ctx context.Context, f *folder, m *Manifest, samples []Sample, notes []string) (*Measured, error) {
	done := &Measured{Run: m.Run, Folder: f.path, Samples: samples, Before: len(samples), Total: len(c.jobs()), Complete: m.Complete}
	c.tell(Progress{Folder: f.path, Done: len(samples), Total: done.Total, Notes: notes})
	err := c.measure(ctx, f, done)
	if err == nil && !m.Complete {
		m.Complete = true
		err = f.writeManifest(m)
		done.Complete = err == nil
	}
	if len(done.Samples) == 0 {
		return done, err // there is nothing to report
	}
	report := c.Report
	if report == nil {
		report = WriteReport
	}
	if failed := report(f.path); failed != nil {
		err = errors.Join(err, fmt.Errorf("writing the report of %q: %w", f.path, failed))
	}
	return done, err
}

func (c *Campaign) tell(p Progress) {
	if c.Tell != nil {
		c.Tell(p)
	}
}

// measure does the samples that are left.
func (c *Campaign) measure(ctx context.Context, f *folder, done *Measured) error {
	have := map[label]bool{}
	for i := range done.Samples {
		have[done.Samples[i].label()] = true
	}
	todo := slices.DeleteFunc(c.jobs(), func(j job) bool { return have[j.label()] })
	if len(todo) == 0 {
		return nil
	}
	where := f.join(samplesDir)
	if err := os.MkdirAll(where, 0o755); err != nil {
		return fmt.Errorf("making the folder for samples: %w", err)
	}
	defer os.Remove(where) //nolint:errcheck // it stays when samples are kept in it
	warmKV := f.join("warm-kv")
	if err := os.RemoveAll(warmKV); err != nil { // of a run that was stopped
		return fmt.Errorf("removing the KV cache of earlier warm-ups: %w", err)
	}
	defer os.RemoveAll(warmKV) //nolint:errcheck // it would only take room
	model := modelWatch{rounds: len(c.Rounds), failed: map[string]bool{}}
	warm := c.runner(where)
	warm.Keep, warm.WarmKV, warm.KeepKV = false, warmKV, warmKV
	for _, j := range c.warmups() {
		s, err := warm.Sample(ctx, j.c, j.round, j.repetition)
		if err != nil {
			return err
		}
		c.tell(Progress{Folder: f.path, Sample: &s, Warmup: true, Done: len(done.Samples), Total: done.Total, Left: timeLeft(todo, done.Samples)})
		if err := errors.Join(model.see(&s), c.room(&s, f)); err != nil {
			return err
		}
	}
	for i, j := range todo {
		s, err := c.sample(ctx, f, j, warmKV)
		if err != nil {
			return err
		}
		done.Samples = append(done.Samples, s)
		c.tell(Progress{Folder: f.path, Sample: &s, Done: len(done.Samples), Total: done.Total, Left: timeLeft(todo[i+1:], done.Samples)})
		if err := model.see(&s); err != nil {
			return err
		}
	}
	return nil
}

// sample does one sample and keeps it.
func (c *Campaign) sample(ctx context.Context, f *folder, j job, warmKV string) (Sample, error) {
	var entries []entry
	r := c.runner(f.join(samplesDir))
	r.WarmKV = warmKV
	r.Collect = func(s *Sample, telemetry string) (err error) {
		entries, err = f.records(s.label(), telemetry)
		return err
	}
	s, err := r.Sample(ctx, j.c, j.round, j.repetition)
	if err != nil {
		return s, err
	}
	if err := c.room(&s, f); err != nil {
		return s, err
	}
	if entries, err = s.entries(entries); err != nil {
		return s, err
	}
	return s, f.commit(entries)
}

// entries are what a sample adds to the files of a run: its records, why it is not right, and last its own line, which makes it a
// part of the run.
func (s *Sample) entries(records []entry) ([]entry, error) {
	if failure, wrong := s.failure(); wrong {
		text, err := line(failure)
		if err != nil {
			return nil, fmt.Errorf("writing a failure: %w", err)
		}
		records = append(records, entry{failuresFile, text})
	}
	text, err := line(s)
	if err != nil {
		return nil, fmt.Errorf("writing a sample: %w", err)
	}
	return append(records, entry{samplesFile, text}), nil
}

// room is an error when the program found none: then the next sample would find none either, and this one says nothing.
func (c *Campaign) room(s *Sample, f *folder) error {
	if !s.fullDisk() {
		return nil
	}
	return fmt.Errorf("%w: the program could not write into %q; make room", ErrDiskFull, f.join(samplesDir))
}

func (c *Campaign) runner(where string) *Runner {
	return &Runner{
		Program: c.Program, Model: c.Model, Suite: c.Suite.Suite, Repository: c.Repository, Folder: where, Keep: c.Keep,
		Limit: c.Limit, Values: maps.Clone(c.Settings.Values), Environ: c.Environ,
	}
}

// modelWatch notices that the model can be loaded in no round. One sample that it could not be loaded for is counted, and the run
// goes on: memory may have been short for a moment, or one round may need more of it.
type modelWatch struct {
	rounds int
	failed map[string]bool // rounds in which it could not be loaded since it was loaded the last time
}

func (w *modelWatch) see(s *Sample) error {
	if s.ErrorClass != ModelLoad {
		clear(w.failed)
		return nil
	}
	w.failed[s.Round] = true
	if len(w.failed) < w.rounds {
		return nil
	}
	return fmt.Errorf("%w in any round, so that no other sample would do better: %s", ErrModel, lastLine(s.Error))
}
