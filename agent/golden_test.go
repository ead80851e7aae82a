package agent_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the golden files of testdata anew")

// The golden file shows what the model sees in a task with a failed call, a second tool and a second plan. Look at it whole
// when a template changes.
func TestPromptsAreAsRecorded(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil,
		plan("count the rows of the ledger|look|ledger"), choose("query"), args(`{"at":"ledger"}`),
		review("continue", "the weight of the stone"),
		plan("weigh the stone|look", "add both|none"), args(`{"at":"stone"}`), review("done"), answer("53"))
	r.run("What is the sum of the rows of the ledger and the weight of the stone?")
	var b strings.Builder
	for i, q := range r.model.questions() {
		fmt.Fprintf(&b, "=== %d: %s ===", i+1, q.kind)
		text := q.flat(false)
		if i > 0 {
			// What a prompt has in common with the one before is in the file already.
			before := r.model.questions()[i-1].flat(true)
			require.True(t, strings.HasPrefix(text, before))
			text = "\n(as before)" + text[len(before):]
		}
		b.WriteString(text)
		if schema := schemaText(q.options); schema != "" {
			fmt.Fprintf(&b, "\n--- schema ---\n%s", schema)
		}
		b.WriteString("\n\n")
	}
	path := filepath.Join("testdata", "prompts.golden")
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(path, []byte(b.String()), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), b.String(), "run the test with -update when the change is meant")
}
