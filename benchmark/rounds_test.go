package benchmark

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/llama-agent/llama-agent/internal/testmodel"
)

var (
	program     = flag.String("program", "", "TestRounds: the program to measure")
	modelPath   = flag.String("model", "", "TestRounds: its model (default the starter model)")
	roundNames  = flag.String("rounds", "R0,R1,R2", "TestRounds: rounds to compare")
	runs        = flag.Int("runs", 0, "TestRounds: repetitions (default the suite's measured_runs)")
	turnLimit   = flag.Duration("turn-limit", 15*time.Minute, "TestRounds: time limit of one process of the program")
	tablePath   = flag.String("out", "", "TestRounds: file for the table")
	samplesPath = flag.String("samples", "", "TestRounds: file that samples are added to as they end, one JSON object a line")
	keepFolder  = flag.String("keep", "", "TestRounds: folder that keeps the folders of samples")
	onlyCases   words
	setPairs    words
)

// words is a flag that may be given several times; only for cases, each may be several IDs with commas between.
type words []string

func (w *words) String() string     { return strings.Join(*w, ",") }
func (w *words) Set(s string) error { *w = append(*w, s); return nil }

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Getenv(fakeEnv) != "" {
		os.Exit(fakeProgram(os.Args[1:]))
	}
	flag.Var(&onlyCases, "case", "TestRounds: only these cases, by ID, with commas between (repeatable)")
	flag.Var(&setPairs, "set", "TestRounds: a value of the configuration, section.key=value (repeatable)")
	flag.Parse()
	os.Exit(m.Run())
}

// TestRounds measures the cases of a suite in several rounds side by side, with the real program:
//
//	go test ./benchmark -run TestRounds -program "$PWD/bin/llama-agent" -suite workloads/r2_context_pressure.json -v -timeout 3h
//
// Relative paths start at this folder. When the time or the patience is over, what was measured so far is written.
func TestRounds(t *testing.T) {
	if *program == "" {
		t.Skip("measures for minutes to hours; run with -program")
	}
	s, err := Load(*suite)
	require.NoError(t, err)
	rounds, err := ParseRounds(*roundNames)
	require.NoError(t, err)
	cases, err := s.Choose(onlyCases...)
	require.NoError(t, err)
	model := *modelPath
	if model == "" {
		model = testmodel.Path(t, testmodel.Starter)
	}
	r := Runner{
		Program: *program, Model: model, Suite: s, Repository: "..", Folder: t.TempDir(), Limit: *turnLimit, Set: setPairs, Environ: os.Environ(),
	}
	if *keepFolder != "" {
		require.NoError(t, os.MkdirAll(*keepFolder, 0o755))
		r.Folder, r.Keep = *keepFolder, true
	}
	var log *os.File
	if *samplesPath != "" {
		log, err = os.OpenFile(*samplesPath, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
		require.NoError(t, err)
		defer func() { require.NoError(t, log.Close()) }()
	}
	r.Done = func(s *Sample) {
		t.Log(s.Line())
		if log != nil {
			require.NoError(t, json.NewEncoder(log).Encode(s))
		}
	}
	ctx, stop := signal.NotifyContext(t.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if deadline, ok := t.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, deadline.Add(-10*time.Second))
		defer cancel()
	}
	n := *runs
	if n == 0 {
		n = s.MeasuredRuns
	}
	samples, err := r.Run(ctx, cases, rounds, n)
	m := Manifest{Suite: SuiteInfo{Name: s.Name, Seed: s.Seed}, MeasuredRuns: n, Model: ModelInfo{Name: filepath.Base(model)}}
	for _, c := range cases {
		m.Cases = append(m.Cases, c.ID)
	}
	for _, round := range rounds {
		m.Rounds = append(m.Rounds, RoundInfo{Name: round.Name})
	}
	table := (&Results{Manifest: m, Samples: samples}).Markdown()
	t.Logf("\n%s", table)
	if *tablePath != "" {
		require.NoError(t, os.WriteFile(*tablePath, []byte(table), 0o644))
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		t.Fatalf("stopped before all was measured: %v", err)
	}
	require.NoError(t, err)
	require.False(t, slices.ContainsFunc(samples, func(s Sample) bool { return s.ErrorClass != "" }), "samples have errors; the table names them")
}
