package graph_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTracesNoticeEveryChange doctors what scenarios observed, one value, entry or place in a list at a time. Each change must be
// reported, or the comparison proves nothing.
func TestTracesNoticeEveryChange(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"linear", "interrupt_parallel", "fork", "sibling_fails", "sub_two_levels", "sub_memory", "sub_called_twice",
		"send_and_edge", "stream_checkpoints"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file, err := readTrace(filepath.Join("testdata", "langgraph", name+".json"))
			require.NoError(t, err)
			p := newTracePass(t, file, tracePass{oneByOne: true})
			p.all(t)
			require.Empty(t, p.compare())
			for i := range file.Ops {
				op := &file.Ops[i]
				d := doctor{ids: file.ids(), check: p.requireNoticed(t)}
				d.change(op.Observed, func(v any) { op.Observed = v }, fmt.Sprintf("operation %d", i))
			}
			for thread, spaces := range file.Observed.Storage {
				for i := range spaces {
					s := &spaces[i]
					d := doctor{check: p.requireNoticed(t)}
					d.change(any(s.Checkpoints), func(v any) { s.Checkpoints = v.([]any) }, fmt.Sprintf("storage %s[%d]", thread, i))
				}
			}
		})
	}
}

// requireNoticed returns a check that the pass doesn't match the doctored scenario.
func (p *tracePass) requireNoticed(t *testing.T) func(what string) {
	return func(what string) {
		t.Helper()
		p.names.questions, p.names.taken = map[rawQuestion]string{}, map[string]bool{}
		require.NotEmpty(t, p.compare(), "nobody noticed: %s", what)
	}
}

// doctor changes what was observed.
type doctor struct {
	ids   map[string]int // how often each question occurs
	check func(what string)
}

// ids counts the questions of a scenario.
func (f *traceFile) ids() map[string]int {
	ids := map[string]int{}
	for i := range f.Ops {
		for _, q := range findQuestions(f.Ops[i].Observed) {
			ids[q["id"].(string)]++
		}
	}
	return ids
}

// change changes tree in all ways, one at a time, calls check, and puts it back. set puts another value in the place of tree.
func (d doctor) change(tree any, set func(any), path string) {
	try := func(v any, what string) {
		set(v)
		d.check(path + " " + what)
		set(tree)
	}
	switch v := tree.(type) {
	case map[string]any:
		for _, key := range sortedKeys(v) {
			was := v[key]
			if id, _ := was.(string); key == "task" || key == "id" && d.ids[id] == 1 {
				continue // any name will do
			}
			d.change(was, func(to any) { v[key] = to }, path+"."+key)
			delete(v, key)
			d.check(path + " without " + key)
			v[key] = was
		}
		v["extra"] = 1.0
		d.check(path + " with something extra")
		delete(v, "extra")
	case []any:
		for i := range v {
			was := v[i]
			d.change(was, func(to any) { v[i] = to }, fmt.Sprintf("%s[%d]", path, i))
			try(slices.Delete(slices.Clone(v), i, i+1), fmt.Sprintf("without entry %d", i))
			if i > 0 && ordered(path, v[i-1], v[i]) {
				swapped := slices.Clone(v)
				swapped[i-1], swapped[i] = swapped[i], swapped[i-1]
				try(swapped, fmt.Sprintf("with entries %d and %d swapped", i-1, i))
			}
		}
		try(append(slices.Clone(v), "extra"), "with an extra entry")
	case string:
		try(v+"x", "with another text")
	case float64:
		try(v+1, "with another number")
	case bool:
		try(!v, "with the opposite")
	case nil:
		try("x", "with a value in the place of none")
	}
}

// ordered reports whether the order of two neighbours in a list matters: that of questions doesn't, nor that of executions,
// events and due nodes that can be of one superstep.
func ordered(path string, a, b any) bool {
	if jsonEqual(a, b) || strings.Contains(path, ".events") && strings.HasSuffix(path, ".next") {
		return false
	}
	first, ok1 := a.(map[string]any)
	second, ok2 := b.(map[string]any)
	if !ok1 || !ok2 {
		return !isEntry(a)
	}
	if first["id"] != nil {
		return false
	}
	if first["mode"] != nil {
		return first["mode"] == "values" && second["mode"] != "values" && len(list(first["ns"])) == 0 && len(list(second["ns"])) == 0 &&
			first["data"].(map[string]any)["__interrupt__"] == nil
	}
	return true
}

// isEntry reports whether v is an entry of ran or marks.
func isEntry(v any) bool {
	l, ok := v.([]any)
	return ok && len(l) == 2
}
