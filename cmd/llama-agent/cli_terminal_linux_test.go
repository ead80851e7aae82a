package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/llama-agent/llama-agent/app"
	"github.com/llama-agent/llama-agent/internal/testmodel"
)

const countScript = `{"plan": [["Count the lines", "count_lines"], ["Read it", "read_file"]]}
{"args": {"path": "a.txt"}}
{"args": {"file_path": "a.txt"}}
{"answer": "There are **3** lines."}
`

func TestCLI(t *testing.T) {
	t.Parallel()
	cmd := command(t, countScript+`{"plan": [["Say", "none"]]}
{"answer": "Second."}
`, "cli", "--conversation-id", "c-1", "--new")
	require.NoError(t, os.WriteFile(filepath.Join(cmd.Dir, "a.txt"), []byte("one\ntwo\nthree\n"), 0o600))
	w := watch(t, cmd, 80, 24)
	w.see(t, "Ask something, or say what to do.")
	w.see(t, "the model is ready")
	w.press(t, "how many lines?\r")
	w.see(t, "› how many lines?")
	w.see(t, "✓ 1. Count the lines")
	w.see(t, "There are 3 lines.")
	w.see(t, "4 model calls")
	w.see(t, "turn 2 · c-1")
	w.press(t, "again\r")
	w.see(t, "Second.")
	w.see(t, "turn 3 · c-1")
	w.press(t, ctrlQ)
	require.Zero(t, w.end(t))
	require.True(t, strings.HasSuffix(w.written(), "conversation c-1\x1b[0m\r\n"), "%q", last(w.written(), 200))

	// It opens again where it was closed.
	w = watch(t, again(t, cmd.Dir, "cli"), 80, 24)
	w.see(t, "› again")
	w.see(t, "Second.")
	w.see(t, "turn 3 · c-1")
	w.press(t, "/quit\r")
	require.Zero(t, w.end(t))
}

func TestCtrlCInTheCLI(t *testing.T) {
	t.Parallel()
	cmd := command(t, `{"plan": [["Say", "none"]]}
{"wait": "waiting"}
{"plan": [["Say", "none"]]}
{"answer": "Last."}
{"plan": [["Say", "none"]]}
{"wait": "waiting-2"}
`, "cli", "--new", "--conversation-id", "c-1")
	w := watch(t, cmd, 80, 24)
	w.see(t, "the model is ready")
	w.press(t, "one\r")
	waitFor(filepath.Join(w.Dir, "waiting"), readable, t.Fatalf)
	w.press(t, "two\r") // waits for its turn
	w.see(t, "1 waiting")
	w.press(t, ctrlC)
	w.see(t, "interrupted; go on with /resume")
	w.see(t, "Last.")
	w.press(t, "typed")
	w.see(t, "› typed")
	w.press(t, ctrlC)
	w.lose(t, "› typed")
	w.press(t, ctrlC)
	w.see(t, "Ctrl-C again leaves")
	w.press(t, "three\r")
	waitFor(filepath.Join(w.Dir, "waiting-2"), readable, t.Fatalf)
	w.press(t, ctrlC+ctrlC)
	code := w.end(t)
	turns := turnsOf(t, w.Dir, "c-1")
	require.Len(t, turns, 3)
	for i, status := range []string{"interrupted", "done", "interrupted"} {
		require.Equal(t, status, turns[i].Status)
	}
	if code != exitDone { // the turn may have ended before the second one
		require.Equal(t, exitInterrupted, code)
		require.Contains(t, w.written(), "/resume goes on with it")
	}
}

func TestLeavingDuringATurn(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(*testing.T, *watched){
		"key": func(t *testing.T, w *watched) { w.press(t, ctrlQ) },
		"signal": func(t *testing.T, w *watched) {
			require.NoError(t, w.Process.Signal(syscall.SIGTERM))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := watch(t, command(t, `{"plan": [["Say", "none"]]}
{"wait": "waiting"}
{"answer": "Done."}
`, "cli", "--new", "--conversation-id", "c-1"), 80, 24)
			w.see(t, "the model is ready")
			w.press(t, "one\r")
			waitFor(filepath.Join(w.Dir, "waiting"), readable, t.Fatalf)
			leave(t, w)
			require.Equal(t, exitInterrupted, w.end(t))

			// The list of what can be gone on with.
			w = watch(t, again(t, w.Dir, "cli"), 80, 24)
			w.see(t, "interrupted; go on with /resume")
			w.press(t, "/resume\r")
			w.see(t, "Go on with")
			w.see(t, "task  interrupted")
			w.press(t, "\r")
			w.see(t, "Done.")
			w.see(t, "done in")
			w.press(t, ctrlQ)
			require.Zero(t, w.end(t))
		})
	}
}

func TestResizingWhileAnAnswerStreams(t *testing.T) {
	t.Parallel()
	w := watch(t, command(t, `{"plan": [["Say", "none"]]}
{"answer": "word ", "until": "enough"}
`, "cli", "--new"), 40, 12)
	w.see(t, "the model is ready")
	w.press(t, "talk\r")
	w.see(t, "word word")
	w.resize(t, 1, 1)
	w.until(t, "a screen of one cell", func(screen string) bool { return len(screen) <= 3 })
	w.resize(t, 200, 60)
	w.see(t, "│ Machine")
	w.see(t, strings.Repeat("word ", 25))
	w.press(t, "typed")
	w.see(t, "› typed")
	w.resize(t, 40, 12)
	w.see(t, "› typed")
	w.until(t, "lines that fit", func(screen string) bool { return strings.Contains(screen, "word word word word word word word\n") })
	require.NoError(t, os.WriteFile(filepath.Join(w.Dir, "enough"), nil, 0o600))
	w.see(t, "done in")
	w.press(t, ctrlQ)
	require.Zero(t, w.end(t))
}

func TestCLIWithoutAModel(t *testing.T) {
	t.Parallel()
	cmd := command(t, "", "cli")
	cmd.Env = append(cmd.Env, "MODEL_SCRIPT=")
	require.NoError(t, os.MkdirAll(filepath.Join(cmd.Dir, "models"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(cmd.Dir, "models", "notes.gguf"), []byte("notes"), 0o600))
	w := watch(t, cmd, 100, 30)
	w.see(t, "no model is configured")
	w.see(t, "/model lists the models here")
	w.press(t, "hello\r")
	w.until(t, "the second refusal", func(screen string) bool { return strings.Count(screen, "no model is configured") == 2 })
	w.until(t, "the question is given back", func(screen string) bool { return strings.Count(screen, "› hello") == 2 })
	w.press(t, ctrlC+"/model\r")
	w.see(t, "models/notes.gguf")
	w.press(t, "\r")
	w.see(t, "a GGUF file (it looks like text)")
	w.press(t, "/model nowhere.gguf\r")
	w.see(t, "does not exist")
	w.press(t, "/hlep\r")
	w.see(t, "did you mean /help?")
	w.press(t, ctrlQ)
	require.Zero(t, w.end(t))
}

// Nobody can stop a job here, so that it goes on, on a terminal that is taken again.
func TestCtrlZWithoutJobControl(t *testing.T) {
	t.Parallel()
	w := watch(t, command(t, helloScript, "cli", "--new"), 80, 24)
	w.see(t, "the model is ready")
	w.press(t, "\x1a")
	w.until(t, "the terminal is given back for a moment", func(string) bool { return strings.Contains(w.written(), "\x1b[?1049l") })
	w.until(t, "it is taken again", func(string) bool { return strings.Count(w.written(), "\x1b[?1049h") == 2 })
	w.press(t, "typed")
	w.see(t, "› typed")
	w.press(t, ctrlQ)
	require.Zero(t, w.end(t))
}

func TestCLINeedsATerminal(t *testing.T) {
	t.Parallel()
	out, err := command(t, "", "cli").CombinedOutput()
	require.Equal(t, exitFailure, codeOf(t, err))
	require.Equal(t, "error: cli needs a terminal at stdin and stdout; use chat, which works in a pipe\n", string(out))
	for _, args := range [][]string{{"--json"}, {"--show-thinking", "--no-show-thinking"}, {"--conversation-id="}} {
		_, err := command(t, "", append([]string{"cli"}, args...)...).CombinedOutput()
		require.Equal(t, exitUsage, codeOf(t, err), args)
	}
}

func TestHostileTextInTheCLI(t *testing.T) {
	t.Parallel()
	const hostile = "\x1b]52;c;aGk=\a \x1b[2J \x1b]0;title\a \x9b31m over\rwritten [red]red[-] [\"r\"] \u202e \x1b]unterminated"
	quoted := strings.NewReplacer("\x1b", `\u001b`, "\a", `\u0007`, "\r", `\r`, `"`, `\"`, "\x9b", `\u009b`).Replace(hostile)
	cmd := command(t, fmt.Sprintf(`{"plan": [["Read %s", "read_file"]]}
{"args": {"file_path": "a\u001b[2J.txt"}}
{"answer": "It says %s."}
`, quoted, quoted), "cli", "--new")
	require.NoError(t, os.WriteFile(filepath.Join(cmd.Dir, "a\x1b[2J.txt"), []byte(hostile), 0o600))
	w := watch(t, cmd, 120, 40)
	w.see(t, "the model is ready")
	w.press(t, "read\r")
	w.see(t, "done in")
	w.press(t, f4+"\r")
	w.see(t, "▾")
	w.see(t, "[red]red[-] [\"r\"]")
	screen := w.screen()
	require.Contains(t, screen, "llama-agent", "nothing was cleared")
	require.Contains(t, screen, "over")
	w.press(t, ctrlQ)
	w.press(t, ctrlQ)
	require.Zero(t, w.end(t))
	raw := w.written()
	require.NotContains(t, raw, "\x1b]52;")
	require.NotContains(t, raw, "\x1b]0;")
	require.NotContains(t, raw, "\a")
	require.NotContains(t, raw, "\x1b]unterminated")
}

func TestPastingTenThousandLines(t *testing.T) {
	t.Parallel()
	w := watch(t, command(t, `{"plan": [["Say", "none"]]}
{"answer": "Read."}
`, "cli", "--new", "--conversation-id", "c-1"), 80, 24)
	w.see(t, "the model is ready")
	var text strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&text, "line %d of it\n", i)
	}
	w.press(t, "\x1b[200~"+text.String()+"the end\x1b[201~")
	w.see(t, "the end")
	w.press(t, " typed\r")
	w.see(t, "Read.")
	w.see(t, "done in")
	w.press(t, ctrlQ)
	require.Zero(t, w.end(t))
	require.Equal(t, text.String()+"the end typed", turnsOf(t, w.Dir, "c-1")[0].Goal)
}

// BC-28.
func TestTheCaretIsWhereTextGoes(t *testing.T) {
	t.Parallel()
	w := watch(t, command(t, `{"plan": [["Read it", "read_file"]]}
{"args": {"file_path": "a.txt"}}
{"answer": "你好，世界🙂é👨‍👩‍👧"}
`, "cli", "--new", "--conversation-id", "c-1"), 80, 24)
	require.NoError(t, os.WriteFile(filepath.Join(w.Dir, "a.txt"), []byte(strings.Repeat("你好，世界🙂é👨‍👩‍👧", 9)+"\n"), 0o600))
	w.see(t, "the model is ready")
	w.press(t, "你好，世界🙂e\u0301👨‍👩‍👧")
	w.see(t, "👧")
	w.press(t, "\x1b[D\x1b[D\x1b[D") // before 🙂
	w.press(t, "\x7f\x7f")
	w.lose(t, "世")
	w.until(t, "the caret behind 你好，", func(string) bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.vt.CursorPosition().X == 2+6 && w.vt.CursorPosition().Y == 23
	})
	w.press(t, "吗\r")
	w.see(t, "done in")
	straightBorder(t, w.screen(), 50)
	w.press(t, f4+"\r")
	w.see(t, "▾")
	straightBorder(t, w.screen(), 50)
	w.press(t, ctrlQ)
	require.Zero(t, w.end(t))
	require.Equal(t, "你好，吗🙂e\u0301👨‍👩‍👧", turnsOf(t, w.Dir, "c-1")[0].Goal)
}

// straightBorder checks that the border of the sidebar is in one column.
func straightBorder(t *testing.T, screen string, column int) {
	t.Helper()
	rows := strings.Split(screen, "\n")
	for _, row := range rows[1 : len(rows)-3] {
		before, _, found := strings.Cut(row, "│")
		require.True(t, found, screen)
		require.Equal(t, column, width(before), screen)
	}
}

// BC-16.
func TestCtrlCWhileAToolRuns(t *testing.T) {
	t.Parallel()
	w := watch(t, command(t, `{"plan": [["Wait", "execute_shell_command"]]}
{"args": {"command": "sleep 30"}}
{"plan": [["Say", "none"]]}
{"answer": "Going on."}
`, "--set", "tools.shell.allowed_commands=sleep", "--set", "tools.shell.timeout_seconds=60", "cli", "--new", "--conversation-id", "c-1"), 80, 24)
	w.see(t, "the model is ready")
	w.press(t, "wait\r")
	w.see(t, "● execute_shell_command")
	w.press(t, ctrlC)
	w.see(t, "interrupted; go on with /resume")
	w.lose(t, "● execute")
	w.press(t, "continue\r")
	w.see(t, "Going on.")
	w.see(t, "done in")
	w.press(t, ctrlQ)
	require.Zero(t, w.end(t))
}

func TestSettingsOfTheCLI(t *testing.T) {
	t.Parallel()
	first := command(t, helloScript+helloScript, "run", "hello")
	require.NoError(t, first.Run())
	require.NoError(t, again(t, first.Dir, "continue", "--new", "--conversation-id", "c-1", "an old question").Run())
	cmd := again(t, first.Dir, "--set", "tui.restore_last_conversation=false", "--set", "tui.show_sidebar=false", "--log-level", "debug", "cli", "--show-thinking")
	w := watch(t, cmd, 100, 30)
	w.see(t, "the model is ready")
	w.see(t, "Ask something")
	require.NotContains(t, w.screen(), "an old question")
	require.NotContains(t, w.screen(), "│")
	w.press(t, "/thinking\r")
	w.see(t, "showing the thoughts of the model: on")
	w.press(t, "/config\r")
	w.see(t, "--show-thinking")
	w.press(t, "/resume c-1\r")
	w.see(t, "an old question")
	w.press(t, "fails\r")
	w.see(t, "the task failed (model)")
	w.press(t, "/quit\r")
	require.Zero(t, w.end(t))
	require.Contains(t, readFile(filepath.Join(first.Dir, "data", "llama-agent-tui.log")), "level=")

	cmd = again(t, first.Dir, "--set", "tui.log_file=a.txt/tui.log", "cli", "--no-show-thinking")
	require.NoError(t, os.WriteFile(filepath.Join(first.Dir, "a.txt"), nil, 0o600))
	w = watch(t, cmd, 100, 30)
	w.see(t, "there is no log: ")
	w.press(t, ctrlQ)
	require.Zero(t, w.end(t))
}

func TestColorsOfTheCLI(t *testing.T) {
	t.Parallel()
	color := regexp.MustCompile(`\x1b\[(3[0-7]|9[0-7]|38;[25];[0-9;]*)m`)
	for variable, want := range map[string]string{"NO_COLOR=1": "", "COLORFGBG=15;0": "\x1b[38;5;80m", "COLORFGBG=0;15": "\x1b[38;5;30m", "X=": "\x1b[36m"} {
		cmd := command(t, helloScript, "cli", "--new")
		w := watch(t, cmd, 100, 30, variable)
		w.see(t, "the model is ready")
		w.press(t, ctrlQ)
		require.Zero(t, w.end(t))
		if want == "" {
			require.Empty(t, color.FindString(w.written()))
			continue
		}
		require.Contains(t, w.written(), want, variable)
	}
}

func TestAConversationThatAnotherProcessUses(t *testing.T) {
	t.Parallel()
	other := watch(t, command(t, `{"plan": [["Say", "none"]]}
{"wait": "waiting"}
`, "cli", "--new", "--conversation-id", "c-1"), 80, 24)
	other.see(t, "the model is ready")
	other.press(t, "one\r")
	waitFor(filepath.Join(other.Dir, "waiting"), readable, t.Fatalf)
	w := watch(t, again(t, other.Dir, "cli", "--conversation-id", "c-1"), 80, 24)
	w.see(t, "the model is ready")
	w.press(t, "two\r")
	w.see(t, "is in use")
	w.see(t, "/new")
	w.until(t, "the question is given back", func(screen string) bool { return strings.Count(screen, "› two") == 2 })
	w.press(t, ctrlQ)
	require.Zero(t, w.end(t))
	other.press(t, ctrlC)
	other.see(t, "interrupted; go on with /resume")
	other.press(t, ctrlQ)
	require.Zero(t, other.end(t))
}

// The smallest model writes something, whatever it is; what it cost is shown.
func TestCLIWithARealModel(t *testing.T) {
	if app.EngineBuild().Backend == "" {
		t.Skip("this build has no llama.cpp")
	}
	model := testmodel.Path(t, testmodel.Tiny)
	w := watch(t, command(t, "", "--model-path", model, "--n-ctx", "4096", "--seed", "1", "--set", "engine.max_tokens=48", "cli", "--new"), 100, 40, "MODEL_SCRIPT=")
	w.see(t, "loading the model")
	w.see(t, "the model is ready")
	w.press(t, "Say hello.\r")
	for range 1000 { // a busy machine takes its time to read the first prompt
		if strings.Contains(w.screen(), " model calls · ") {
			break
		}
		w.until(t, "progress", moves(w))
	}
	w.see(t, " model calls · ")
	w.until(t, "the use of the KV cache", func(screen string) bool { return regexp.MustCompile(`KV +[1-9][0-9,]* of 4,096`).MatchString(screen) })
	w.press(t, ctrlQ)
	require.Zero(t, w.end(t))
}

// moves reports whether the screen has more to tell than a clock since it was called first.
func moves(w *watched) func(string) bool {
	digits := regexp.MustCompile(`[0-9.]+ s left|[0-9]:[0-9]+|[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]|[0-9.]+ [MG]B`)
	before := digits.ReplaceAllString(w.screen(), "")
	return func(screen string) bool { return digits.ReplaceAllString(screen, "") != before }
}

func TestStoredResultsInTheCLI(t *testing.T) {
	t.Parallel()
	cmd := command(t, `{"plan": [["Read it", "read_file"]]}
{"args": {"file_path": "long.txt"}}
{"answer": "It is long."}
`, "--set", "memory.artifact_virtualization=true", "cli", "--new")
	var text strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&text, "line %d of the file\n", i)
	}
	require.NoError(t, os.WriteFile(filepath.Join(cmd.Dir, "long.txt"), []byte(text.String()), 0o600))
	w := watch(t, cmd, 80, 24)
	w.see(t, "the model is ready")
	w.press(t, "read @lon")
	w.see(t, "long.txt")
	w.press(t, "\t\r")
	w.see(t, "› read long.txt")
	w.see(t, "done in")
	w.see(t, "· stored ·")
	w.press(t, f4+"o")
	w.see(t, "artifact://")
	w.see(t, "line 1 of the file")
	w.press(t, ctrlF+"line 1234\r")
	w.see(t, "line 1234 of the file")
	w.press(t, pgUp)
	w.lose(t, "line 1234 of the file")
	w.press(t, "q")
	w.press(t, "q") // the search, the document, the selection
	w.press(t, "q")
	w.see(t, "Enter sends")
	w.press(t, "/artifacts\r")
	w.see(t, "Stored results")
	w.press(t, "\r")
	w.see(t, "line 1 of the file")
	w.press(t, "y")
	w.see(t, "copied")
	w.press(t, ctrlQ)
	require.Zero(t, w.end(t))
	require.Equal(t, 1, strings.Count(w.written(), "\x1b]52;"), "by the user's own key")
}
