package benchmark

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestWhatACrashLeaves puts the files of a run into the states between which a crash may stop it, and sees the run whole again
// after it was resumed, with nothing done twice that was there.
func TestWhatACrashLeaves(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]struct {
		file  string
		to    func(string) string
		calls int // that are done again
	}{
		"nothing was done":            {samplesFile, func(string) string { return "" }, 8},
		"the last line is cut off":    {samplesFile, func(s string) string { return s[:len(s)-20] }, 1},
		"the line end is cut off":     {samplesFile, func(s string) string { return s[:len(s)-1] }, 1},
		"the last line is zeros":      {samplesFile, func(s string) string { return firstLines(s, 7) + "\x00\x00\x00\n" }, 1},
		"records before their sample": {samplesFile, func(s string) string { return firstLines(s, 5) }, 3},
		"records are cut off":         {"inference_events.jsonl", func(s string) string { return s + `{"case_id":"c0",` }, 0},
		"rows are cut off":            {"kv_metrics.csv", func(s string) string { return s + `c0,R0,1,"` }, 0},
		"a failure is cut off":        {failuresFile, func(s string) string { return s + `{"case_id":"c1"` }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := try(t, "answer", "failed")
			_, err := c.Start(t.Context(), c.root)
			require.NoError(t, err)
			failures, before := c.read(t, failuresFile), len(c.calls(t))
			require.NoError(t, os.WriteFile(filepath.Join(c.folder(), damage.file), []byte(damage.to(c.read(t, damage.file))), 0o600))
			_, err = c.Resume(t.Context(), c.folder())
			require.NoError(t, err)
			require.Equal(t, damage.calls, len(c.calls(t))-before)
			c.requireWhole(t)
			require.ElementsMatch(t, labels(t, failures), labels(t, c.read(t, failuresFile)))
			require.Equal(t, 4, strings.Count(c.read(t, failuresFile), "\n"))
		})
	}
}

func firstLines(s string, n int) string { return strings.Join(strings.SplitAfter(s, "\n")[:n], "") }

// TestASampleIsWrittenLast sees that a crash between two files leaves records without a sample, and never a sample without them.
func TestASampleIsWrittenLast(t *testing.T) {
	t.Parallel()
	names := func(s Sample) (list []string) {
		entries, err := s.entries([]entry{{kvSource, []byte("x\n")}})
		require.NoError(t, err)
		for _, e := range entries {
			list = append(list, e.file)
			require.Equal(t, 1, strings.Count(string(e.data), "\n"))
		}
		return list
	}
	require.Equal(t, []string{kvSource, failuresFile, samplesFile}, names(Sample{ErrorClass: Crash, Error: "one\ntwo"}))
	require.Equal(t, []string{kvSource, samplesFile}, names(Sample{Right: 1, Judged: 1}))

	f := folder{path: t.TempDir()}
	require.NoError(t, os.Mkdir(f.join("b"), 0o755))
	require.Error(t, f.commit([]entry{{"a", []byte("1")}, {"b", []byte("2")}, {"c", []byte("3")}}))
	require.NoFileExists(t, f.join("c"), "nothing is written after what failed")
	size, err := f.size("a")
	require.NoError(t, err)
	require.Zero(t, size)
}

// TestLinesOfNoSample sees what no crash leaves told, and left alone.
func TestLinesOfNoSample(t *testing.T) {
	t.Parallel()
	c := try(t, "answer")
	_, err := c.Start(t.Context(), c.root)
	require.NoError(t, err)
	whole := c.read(t, samplesFile)
	first := firstLines(whole, 1)
	for text, why := range map[string]string{
		"{\n" + whole: "line 1 is no sample: ",
		first + strings.Replace(first, `"case_id":"c0"`, `"case_id":"c9"`, 1): `line 2 is of case "c9", round "R0", repetition 0, which is no part of this run`,
		first + strings.Replace(first, `"repetition":0`, `"repetition":2`, 1): `repetition 2, which is no part of this run`,
		first + first: `line 2 is of case "c0", round "R0", repetition 0, which an earlier line is of, too`,
	} {
		require.NoError(t, os.WriteFile(filepath.Join(c.folder(), samplesFile), []byte(text), 0o600))
		_, err := c.Resume(t.Context(), c.folder())
		require.ErrorContains(t, err, why)
		require.ErrorContains(t, err, samplesFile)
		require.Equal(t, text, c.read(t, samplesFile))
	}
	require.Len(t, c.calls(t), 4)
}
