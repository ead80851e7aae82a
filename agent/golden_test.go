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
	requirePrefixes(t, r.model.questions())
	golden(t, "prompts.golden", r.model.questions())
}

// golden compares what the model was asked with a file of testdata. What a prompt has in common with the one before is left out.
func golden(t *testing.T, name string, questions []question) {
	t.Helper()
	var b strings.Builder
	for i, q := range questions {
		fmt.Fprintf(&b, "=== %d: %s ===", i+1, q.kind)
		text := q.flat(false)
		if i > 0 {
			before := questions[i-1].flat(true)
			if shared := sharedLines(before, text); shared == len(before) {
				text = "\n(as before)" + text[shared:]
			} else {
				text = "\n(as before up to here; what followed is other now)\n" + text[shared:]
			}
		}
		b.WriteString(text)
		if schema := schemaText(q.options); schema != "" {
			fmt.Fprintf(&b, "\n--- schema ---\n%s", schema)
		}
		b.WriteString("\n\n")
	}
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(path, []byte(b.String()), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), b.String(), "run the test with -update when the change is meant")
}

// sharedLines returns how many bytes two texts share at their beginnings: all of before, or whole lines.
func sharedLines(before, after string) int {
	if strings.HasPrefix(after, before) {
		return len(before)
	}
	n := 0
	for n < min(len(before), len(after)) && before[n] == after[n] {
		n++
	}
	return strings.LastIndexByte(before[:n], '\n') + 1
}

// ledger is a long result with one line that a task is about.
func accounts() string {
	lines := []string{"account;owner;city;balance"}
	for i := range 60 {
		lines = append(lines, fmt.Sprintf("%d;owner %d;Ulm;%d.00", 4000+i, i, 100+7*i))
	}
	lines[31] = "4030;Quandt & Sons;Bremen;412.50"
	return strings.Join(lines, "\n")
}

// The golden file shows what the model sees when large results give way to their summaries while a task is under way.
func TestPromptsOfACompactedTask(t *testing.T) {
	t.Parallel()
	l := tight(openRecords(t))
	l.TriggerTokens, l.SummaryChars = 150, 400
	r := counted(t, l, nil,
		plan("find the balance of Quandt & Sons|look|accounts.csv", "read last year's accounts|look|accounts-2024.csv"),
		review("continue", "the weight of the stone"), plan("weigh the stone|look|stone"), review("done"), answer("412.50 EUR, 12 kg"))
	r.texts["accounts.csv"] = accounts()
	r.texts["accounts-2024.csv"] = strings.ReplaceAll(accounts(), ".50", ".75")
	r.run("What is the balance of Quandt & Sons, and how heavy is the stone?")
	golden(t, "compacted.golden", r.model.questions())
}

// The golden file shows what the model sees of a conversation: what is remembered, the newest turns with what their tools found, what was
// recalled of older ones, and a correction.
func TestPromptsOfAConversation(t *testing.T) {
	t.Parallel()
	l := tight(openRecords(t))
	l.TriggerTokens, l.MinCompactionBytes, l.SummaryChars, l.HotTurns, l.ActivationTokens = 9000, 1000, 400, 2, 160
	r := counted(t, l, nil)
	r.texts["accounts.csv"] = accounts()
	converse := newConversation(r, "c-1", "name: Bruno's owner is called Ada", "language: answers in plain words")
	converse.say("My dog is called Bruno.", plan("note it|none"), answer("Noted."))
	converse.say("What is the balance of Quandt & Sons?", plan("find it|look|accounts.csv"), review("done"), answer("412.50 EUR."))
	converse.say("How heavy is the stone?", plan("weigh the stone|look|stone"), review("done"), answer("12 kg."))
	converse.say("Wrong: my dog is called Balthasar, Bruno is the cat.", plan("note it|none"), answer("I see."))
	converse.say("Find the key in the desert.", plan("look for it|look|desert"), choose("none"), review("failed", "the key"), answer("There is no desert."))
	before := len(r.model.questions())
	converse.say("What is my dog called?", plan("answer|none"), answer("Balthasar."))
	golden(t, "conversation.golden", r.model.questions()[before:])
}
