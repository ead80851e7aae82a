package graph_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/llama-agent/llama-agent/graph"
	"github.com/llama-agent/llama-agent/graph/checkpoint/sqlite"
)

// TestTraces runs scenarios that were recorded with LangGraph and compares what package graph does with what LangGraph did:
// every value, error, question, event, order and checkpoint. TRACES_DIR names another folder of scenarios. Deliberate
// differences are described in testdata/langgraph/differences.md.
func TestTraces(t *testing.T) {
	t.Parallel()
	dirs := []string{filepath.Join("testdata", "langgraph"), filepath.Join("testdata", "langgraph_more")}
	if dir := os.Getenv("TRACES_DIR"); dir != "" {
		dirs = []string{dir}
	}
	var files []string
	for _, dir := range dirs {
		here, err := filepath.Glob(filepath.Join(dir, "*.json"))
		require.NoError(t, err)
		require.NotEmpty(t, here, "no scenarios in %s", dir)
		files = append(files, here...)
	}
	for _, path := range files {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".json"), func(t *testing.T) {
			t.Parallel()
			file, err := readTrace(path)
			require.NoError(t, err)
			testTrace(t, file)
		})
	}
}

func testTrace(t *testing.T, file *traceFile) {
	if want := file.Observed.Error; want != nil {
		require.Equal(t, "compile_error", want["kind"])
		p := &tracePass{file: file}
		_, err := p.buildTraced(&file.Graph, "", nil, graph.Options{})
		require.Error(t, err, "the graph must not compile")
		return
	}
	one := newTracePass(t, file, tracePass{oneByOne: true})
	one.all(t)
	report(t, "one task at a time", one)

	if !file.ordered() {
		atOnce := newTracePass(t, file, tracePass{})
		atOnce.all(t)
		report(t, "all tasks of a superstep at once", atOnce)
	}
	if len(one.mistakes) > 0 {
		testMistake(t, file, one.mistakes[0])
	}
	if len(one.root.subs) > 0 {
		testNative(t, file)
	}
}

func report(t *testing.T, how string, p *tracePass) {
	t.Helper()
	for _, line := range p.compare() {
		t.Errorf("%s: %s", how, line)
	}
	p.reportBugs(t, how)
}

func (p *tracePass) reportBugs(t *testing.T, how string) {
	t.Helper()
	for _, bug := range p.rec.bugs {
		t.Errorf("%s: the scenario can't be interpreted: %s", how, bug)
	}
}

// newTracePass builds the graph of a scenario with a saver of its own.
func newTracePass(t *testing.T, file *traceFile, how tracePass) *tracePass {
	t.Helper()
	p := &how
	p.file, p.names, p.asked = file, newTraceNames(), map[rawQuestion]int{}
	p.rec = newTraceRecorder(func(info graph.Info) {
		p.names.space(rawSpace{info.Thread, append(slices.Clone(info.Namespace), info.Node+":"+info.Task)})
	})
	opts := graph.Options{}
	if p.oneByOne {
		opts.MaxConcurrency = 1
	}
	if file.Graph.Checkpointer != "none" {
		saver, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "trace.db"), sqlite.Options{Synchronous: sqlite.Off})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, saver.Close()) })
		p.saver = &traceSaver{Saver: saver, rec: p.rec, names: p.names}
		opts.Saver = p.saver
	}
	var err error
	p.root, err = p.buildTraced(&file.Graph, "", nil, opts)
	require.NoError(t, err)
	return p
}

// all runs all operations and reads what they stored.
func (p *tracePass) all(t *testing.T) {
	t.Helper()
	for i := range p.file.Ops {
		op := &p.file.Ops[i]
		lost, doubtful := p.losesAnswers(t.Context(), op), p.doubtful == 0 && p.isDoubtful(t.Context(), op)
		if doubtful && p.prefix(t.Context()) == nil {
			p.doubtful = i + 1
		}
		if lost {
			require.NoError(t, p.prefix(t.Context()))
		}
		r := p.one(t.Context(), t, i)
		if r.cut {
			require.NoError(t, p.prefix(t.Context()))
		}
		if lost || r.cut {
			p.results = p.results[:i]
			return
		}
	}
	if p.saver != nil {
		var err error
		p.stored, err = p.storage(t.Context())
		require.NoError(t, err)
	}
}

func (p *tracePass) one(ctx context.Context, t *testing.T, i int) *traceResult {
	t.Helper()
	r, err := p.do(ctx, i)
	require.NoError(t, err, "operation %d", i)
	p.results = append(p.results, r)
	return r
}
