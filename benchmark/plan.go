package benchmark

import (
	"time"
)

// Plan is what a run measures.
type Plan struct {
	Command string // benchmark or ablation
	Suite   *SuiteFile
	Cases   []Case
	Rounds  []Round // in the order in which they take turns
	// Warmups are greetings that each round answers before anything is measured, each time the run begins or is resumed. They warm
	// the system's cache of the program's and the model's files, and fill a KV cache with the rules that all tasks share. Each
	// sample begins with a KV cache as the warm-ups left it, which is what a user's second task finds; what a sample adds to
	// its own is seen by no other.
	Warmups int
	Runs    int           // measured samples of each case and round
	Limit   time.Duration // of one process; 0: [DefaultLimit]
}

// job is one sample that is to be done.
type job struct {
	c          Case
	round      Round
	repetition int
}

// label tells samples of a run apart.
type label struct {
	Case       string `json:"case_id"`
	Round      string `json:"round"`
	Repetition int    `json:"repetition"`
}

func (s *Sample) label() label { return label{s.Case, s.Round, s.Repetition} }

func (j job) label() label { return label{j.c.ID, j.round.Name, j.repetition} }

// jobs are the measured samples in their order. Rounds take turns at each case, and cases at each repetition, so that what
// changes while the benchmark runs, such as the clock of a warm processor, is shared by all of them, and so that a run that is
// stopped has something of every case.
func (p *Plan) jobs() []job {
	var list []job
	for repetition := range p.Runs {
		for _, c := range p.Cases {
			for _, round := range p.Rounds {
				list = append(list, job{c, round, repetition})
			}
		}
	}
	return list
}

// warmups are the samples that come before.
func (p *Plan) warmups() []job {
	var list []job
	for range p.Warmups {
		for _, round := range p.Rounds {
			list = append(list, job{warmupCase, round, 0})
		}
	}
	return list
}

// timeLeft estimates how long jobs take: as long as samples of the same case and round did on average, else those of the same
// case, else all. It is 0 when nothing was measured.
func timeLeft(jobs []job, samples []Sample) time.Duration {
	type mean struct {
		ms    int64
		count int64
	}
	add := func(m map[label]mean, key label, ms int64) {
		e := m[key]
		m[key] = mean{e.ms + ms, e.count + 1}
	}
	means := map[label]mean{}
	for i := range samples {
		s := &samples[i]
		for _, key := range []label{{s.Case, s.Round, 0}, {Case: s.Case}, {}} {
			add(means, key, s.WallMS)
		}
	}
	var left int64
	for _, j := range jobs {
		for _, key := range []label{{j.c.ID, j.round.Name, 0}, {Case: j.c.ID}, {}} {
			if m := means[key]; m.count > 0 {
				left += m.ms / m.count
				break
			}
		}
	}
	return time.Duration(left) * time.Millisecond
}
