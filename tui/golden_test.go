package tui

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/llama-agent/llama-agent/app"
	"github.com/llama-agent/llama-agent/tui/cells"
)

var update = flag.Bool("update", false, "write the golden screens anew")

const english = "The three services fail for **different** reasons:\n\n1. `api` has no disk\n2. `worker` waits for a lock that nobody gives back\n\n| service | errors | share |\n|:--|--:|--:|\n| api | 1,204 | 61 % |\n| worker | 77 | 4 % |\n\n```go\nif err != nil {\n\treturn err\n}\n```\n"

const chinese = "三个服务因**不同**的原因失败：\n\n- 接口服务没有磁盘空间，因此写不了日志\n- 后台服务在等一个没有人释放的锁 🔒\n\n| 服务 | 错误 |\n|:--|--:|\n| 接口 | 1,204 |\n| 👨‍👩‍👧 家庭 | 77 |\n"

// scenes are what golden screens show, each in several sizes.
var scenes = []struct {
	name string
	play func(r *rig)
}{
	{"start", func(r *rig) {
		r.start()
		r.passed(1500 * time.Millisecond)
		r.is(loadingMsg{0.42}, statusMsg{status: app.ChatStatus{Model: "models/qwen2.5-coder-1.5b.gguf", NextTurn: 1, RSS: 61_000_000, GPUUnknown: "none"}})
	}},
	{"model_missing", func(r *rig) {
		r.start()
		r.is(loadedMsg{errors.New("models/qwen.gguf: the file does not exist; check engine.model_path")})
	}},
	{"conversation", func(r *rig) {
		r.amid()
		r.is(turnsMsg{turns: []app.Turn{
			{Goal: "Why do the services fail?", Answer: english, Status: "done"}, {Goal: "服务为什么失败？", Answer: chinese, Status: "done"},
		}})
	}},
	{"numbers", func(r *rig) {
		r.amid()
		r.is(outputMsg{entry: "/stats", out: app.Output{Table: &app.Table{
			Columns: []app.TableColumn{{Title: "WHAT"}, {Title: "SESSION", Right: true}, {Title: "AGE", Right: true}, {Title: "ABOUT", Flexible: true}},
			Rows: [][]any{
				{"tokens sent", 1_234_567, r.now.Add(-3 * time.Hour), "all that went to the model, cached or not"},
				{"词元", 7, r.now.Add(-30 * 24 * time.Hour), "发送给模型的全部词元"}, {"size", app.Bytes(1_200_000), r.now, "🙂"},
			},
		}, Lines: []string{"speed: 83 tokens/s read, 30 tokens/s written"}}})
	}},
	{"running", func(r *rig) {
		r.amid()
		r.working()
		r.events(app.CallStarted{Step: 2, Tool: "search_text", Arguments: json.RawMessage(`{"pattern":"ERROR","path":"logs"}`)})
		r.passed(3200 * time.Millisecond)
		r.is(tickMsg{})
		r.typed("and what about 数据库?")
	}},
	{"reading", func(r *rig) {
		r.amid()
		r.working()
		r.is(prefillMsg{1000, 9000})
		r.passed(4 * time.Second)
		r.is(prefillMsg{3000, 9000})
		r.typed("next<enter>")
	}},
	{"opened_result", func(r *rig) {
		r.amid()
		r.working()
		r.events(app.AnswerStarted{}, app.AnswerDelta{Text: "Two errors."})
		r.is(finishedMsg{report: done("Two errors.")})
		r.typed("<f4><enter>")
	}},
	{"document", func(r *rig) {
		r.amid()
		var b strings.Builder
		for i := range 200 {
			fmt.Fprintf(&b, "%4d  2026-01-02 ERROR 数据库 order %d failed\n", i+1, i*7)
		}
		r.is(documentMsg{title: "artifact://k3v9x2abqwe7t · read_file · 9.1 kB", text: b.String()})
		r.typed("<ctrl+f>order 700<enter>")
	}},
	{"picker", func(r *rig) {
		r.amid()
		rows := []choice{}
		for i := range 12 {
			rows = append(rows, choice{
				value: fmt.Sprint(i), cells: []string{"conversation", fmt.Sprintf("%d turns", i*9), fmt.Sprintf("%d min", i*5), "第" + fmt.Sprint(i) + "个问题 about orders"},
				right: []bool{false, true, true},
			})
		}
		r.is(listMsg{list: listResume, rows: rows})
		r.typed("<down><down>")
	}},
	{"question", func(r *rig) {
		r.amid()
		r.working()
		r.is(finishedMsg{report: &app.Report{Status: app.StatusFailed, Error: &app.Failure{Kind: app.KindOutcomeUnknown, Message: "execute_shell_command may have run; its outcome is not known."}}})
	}},
	{"keys", func(r *rig) {
		r.amid()
		r.typed("<f1>")
	}},
}

// amid is a State whose model is loaded, in the middle of a conversation.
func (r *rig) amid() {
	r.start()
	r.is(loadedMsg{}, statusMsg{status: app.ChatStatus{
		Model: "models/qwen2.5-coder-1.5b.gguf", Loaded: true, ContextSize: 16384, Conversation: "c-20260102-030405-7f3a", NextTurn: 3,
		Session: app.Usage{PromptTokens: 120_345, CachedTokens: 98_000, EvaluatedTokens: 22_345, CompletionTokens: 2100, ForcedTokens: 700},
		RSS:     1_890_000_000, GPUUnknown: "none", Virtualization: true, Lifecycle: true,
	}})
	r.kvUsed, r.rates = 12_900, rates{83, 30}
	r.notice = ""
}

// working is a turn that has read a file.
func (r *rig) working() {
	r.asks("Find the errors in logs/api.log and tell what they have in common")
	r.events(app.PlanMade{Steps: []app.Step{
		{Number: 1, Do: "Read the log", File: "logs/api.log", Tool: "read_file", State: app.StepPending},
		{Number: 2, Do: "在所有日志里查找错误", Tool: "search_text", State: app.StepPending},
		{Number: 3, Do: "Say what they have in common", Tool: app.NoTool, State: app.StepPending},
	}})
	first := app.Step{Number: 1, Do: "Read the log", File: "logs/api.log", Tool: "read_file", State: app.StepPending}
	r.events(app.StepStarted{Step: first}, app.CallStarted{Step: 1, Tool: "read_file", Arguments: json.RawMessage(`{"file_path":"logs/api.log"}`)})
	result := call("read_file", `{"file_path":"logs/api.log"}`, "logs/api.log: 6 lines\n10:00 INFO start\n10:01 ERROR 磁盘已满 /var\n10:02 ERROR disk full on /var while writing a very long line that does not fit into narrow terminals\n10:03 INFO stop\n\n")
	result.DurationMS, result.Artifact = 12, "artifact://k3v9x2abqwe7t"
	first.State = app.StepDone
	r.events(app.CallFinished{Call: result}, app.StepFinished{Step: first})
	second := app.Step{Number: 2, Do: "在所有日志里查找错误", Tool: "search_text", State: app.StepPending}
	r.events(app.StepStarted{Step: second})
}

func TestGoldenScreens(t *testing.T) {
	t.Parallel()
	for _, scene := range scenes {
		t.Run(scene.name, func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			for _, size := range [][2]int{{80, 24}, {120, 40}, {40, 12}} {
				r := newRig(t, size[0], size[1])
				scene.play(r)
				g, at := r.draw()
				straight(t, g)
				fmt.Fprintf(&out, "== %d×%d, cursor %v\n%s", size[0], size[1], at, g)
			}
			golden(t, scene.name, out.String())
		})
	}
}

// straight checks that every row of a grid is as wide as the grid.
func straight(t *testing.T, g *cells.Grid) {
	t.Helper()
	width, height := g.Size()
	for y := range height {
		n := 0
		for x := range width {
			n += g.At(x, y).Width
		}
		require.Equal(t, width, n, "row %d", y)
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o700))
		require.NoError(t, os.WriteFile(path, []byte(got), 0o600))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), got, "run it with -update and look at the difference")
}

// Whatever the size, something is drawn, keys work, and nothing panics.
func TestEverySceneInEverySize(t *testing.T) {
	t.Parallel()
	for _, scene := range scenes {
		r := newRig(t, 80, 24)
		scene.play(r)
		for _, size := range [][2]int{{1, 1}, {0, 0}, {19, 6}, {20, 5}, {20, 6}, {21, 7}, {200, 60}, {60, 8}, {30, 100}, {80, 24}} {
			r.is(sizeMsg{size[0], size[1]})
			g, _ := r.draw()
			w, h := g.Size()
			require.Equal(t, size, [2]int{w, h})
			straight(t, g)
			r.typed("<pgup>")
			r.is(clickMsg{size[0] / 2, size[1] / 2}, wheelMsg{0, 0, 3})
		}
	}
	r := newRig(t, 19, 3)
	require.Equal(t, "too small: 20×6\nneeded\n\n", r.screen())
	r.is(sizeMsg{1, 1})
	require.Equal(t, "t\n", r.screen())
}
