package benchmark

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pelletier/go-toml/v2"
)

// fakeEnv makes the test binary a program that behaves as the variable says; see [fakeProgram].
const fakeEnv = "LLAMA_AGENT_FAKE"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Getenv(fakeEnv) != "" {
		os.Exit(fakeProgram(os.Args[1:]))
	}
	os.Exit(m.Run())
}

// fakeConfig is what the fake reads of its configuration.
type fakeConfig struct {
	Agent struct {
		ConversationDBPath string `toml:"conversation_db_path"`
	} `toml:"agent"`
	Engine struct {
		ModelPath   string  `toml:"model_path"`
		NCtx        int     `toml:"n_ctx"`
		Temperature float64 `toml:"temperature"`
		Seed        int     `toml:"seed"`
		KVStorePath string  `toml:"kv_store_path"`
		Nodes       struct {
			Planner struct {
				Temperature float64 `toml:"temperature"`
			} `toml:"planner"`
		} `toml:"nodes"`
	} `toml:"engine"`
	Tools struct {
		EnabledTools []string `toml:"enabled_tools"`
	} `toml:"tools"`
	Memory struct {
		ArtifactVirtualization bool `toml:"artifact_virtualization"`
		LifecycleContext       bool `toml:"lifecycle_context"`
	} `toml:"memory"`
	Telemetry struct {
		Enabled   bool   `toml:"enabled"`
		OutputDir string `toml:"output_dir"`
	} `toml:"telemetry"`
}

// fakeCall is what the fake tells of itself in its answer.
type fakeCall struct {
	Args    []string
	Environ []string
	Config  fakeConfig
	Files   []string // of the workspace
	Heard   []string // what the user said in this conversation, this turn last
}

const (
	fakeGate   = "LLAMA_AGENT_FAKE_GATE"   // see "gate"
	fakeWarmup = "LLAMA_AGENT_FAKE_WARMUP" // what a warm-up does
	fakeLog    = "LLAMA_AGENT_FAKE_LOG"    // file that gets a line for each call "by goal": switches, seed and goal
)

func addText(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// recordCall tells of a call in the log, and writes records of telemetry, the last of them cut off.
func recordCall(args []string) error {
	var c fakeConfig
	data, err := os.ReadFile(args[slices.Index(args, "--config")+1])
	if err == nil {
		err = toml.Unmarshal(data, &c)
	}
	if err != nil {
		return err
	}
	log, err := os.OpenFile(os.Getenv(fakeLog), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	fmt.Fprintf(log, "%v %v %d %s\n", c.Memory.ArtifactVirtualization, c.Memory.LifecycleContext, c.Engine.Seed, args[len(args)-1])
	for _, folder := range []string{c.Telemetry.OutputDir, c.Engine.KVStorePath} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return err
		}
	}
	// What is in the KV cache, and then something of this call.
	cached, err := os.ReadDir(c.Engine.KVStorePath)
	if err != nil {
		return err
	}
	names := []string{}
	for _, entry := range cached {
		names = append(names, entry.Name())
	}
	goal := strings.Trim(args[len(args)-1], "!")
	if err := addText(os.Getenv(fakeLog)+".kv", fmt.Sprintf("%s: %s\n", goal, strings.Join(names, " "))); err != nil {
		return err
	}
	if err := addText(filepath.Join(c.Engine.KVStorePath, goal), "x"); err != nil {
		return err
	}
	for name, text := range map[string]string{
		"inference_events.jsonl": `{"task_id":"t","seed":%d}` + "\n" + `{"task_id":"t","round":"theirs"}` + "\n" + `{"task_id":`,
		"kv_metrics.csv":         "task_id,used_tokens\nt,%d\nt,7\nt",
	} {
		text = strings.Replace(text, "%d", strconv.Itoa(c.Engine.Seed), 1)
		if err := os.WriteFile(filepath.Join(c.Telemetry.OutputDir, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// fakeProgram is a llama-agent without a model. Its answer is a [fakeCall] in JSON, and each turn of a conversation costs ten
// tokens more than the one before.
func fakeProgram(args []string) int {
	mode := os.Getenv(fakeEnv)
	if mode == "harness" {
		return fakeHarness(args)
	}
	if mode == "by goal" {
		if mode = args[len(args)-1]; recordCall(args) != nil {
			return 1
		}
		if mode == warmupCase.Goal {
			mode = os.Getenv(fakeWarmup)
		}
	}
	switch mode {
	case "gate":
		// Waits until the file is there, and says that it does; then it is as any other task.
		gate := os.Getenv(fakeGate)
		if exists(gate) {
			break
		}
		if holdLock(gate+".lock") != nil || os.WriteFile(gate+".reached", nil, 0o600) != nil {
			return 1
		}
		for !exists(gate) {
			time.Sleep(time.Millisecond)
		}
	case "hang", "child":
		if mode == "hang" {
			child := exec.Command(os.Args[0], "child")
			child.Env = []string{fakeEnv + "=child"}
			if err := child.Start(); err != nil {
				return 1
			}
			for !exists("locked") {
				time.Sleep(time.Millisecond)
			}
			os.WriteFile("hanging", nil, 0o600)
		} else if err := holdLock("locked"); err != nil {
			return 1
		}
		time.Sleep(time.Minute) // longer than any test waits
		return 0
	case "writes":
		if os.WriteFile("intruder", nil, 0o600) != nil { // the workspace is where it runs
			return 1
		}
	case "garbage":
		fmt.Println("good morning")
		return 0
	case "silent":
		return 0
	case "twice":
		fmt.Println(`{"status":"done"} {"status":"done"}`)
		return 0
	case "stateless":
		fmt.Println(`{"answer":"x"}`)
		return 0
	case "no model":
		fmt.Fprintln(os.Stderr, "error: loading the model: no such file")
		fmt.Println(`{"status":"failed"}`)
		return exitModel
	case "error":
		fmt.Fprintln(os.Stderr, "error: odd")
		return 1
	case "disk full":
		fmt.Fprintln(os.Stderr, "step 1: look\nerror: storing a step: write checkpoints.sqlite: no space left on device")
		return 1
	case "talks of disks":
		fmt.Fprintln(os.Stderr, "  search \"no space left on device\"\nerror: odd")
		return 1
	case "killed":
		self, _ := os.FindProcess(os.Getpid())
		self.Signal(syscall.SIGKILL)
		time.Sleep(time.Minute)
	}
	return fakeTurn(mode, args)
}

func fakeTurn(mode string, args []string) int {
	call := fakeCall{Args: args, Environ: os.Environ()}
	data, err := os.ReadFile(args[slices.Index(args, "--config")+1])
	if err != nil || toml.Unmarshal(data, &call.Config) != nil {
		return 1
	}
	entries, _ := os.ReadDir(args[slices.Index(args, "-C")+1])
	for _, e := range entries {
		call.Files = append(call.Files, e.Name())
	}
	text := args[len(args)-1]
	store := call.Config.Agent.ConversationDBPath
	if slices.Contains(args, "--conversation-id") {
		kept, err := os.ReadFile(store)
		if err != nil || args[slices.Index(args, "--conversation-id")+1] != "c-1" {
			return 1
		}
		json.Unmarshal(kept, &call.Heard)
	}
	call.Heard = append(call.Heard, text)
	if mode == "crash at 3" && len(call.Heard) == 3 {
		fmt.Fprintln(os.Stderr, "panic: boom")
		return 2
	}
	kept, _ := json.Marshal(call.Heard)
	os.WriteFile(store, kept, 0o600)
	os.WriteFile(filepath.Join(filepath.Dir(store), "content.bin"), make([]byte, 1000), 0o600)
	tokens := 100 + 10*len(call.Heard)
	if mode == "kv" {
		os.MkdirAll(call.Config.Telemetry.OutputDir, 0o755)
		csv := fmt.Sprintf("timestamp_utc,used_tokens,capacity_tokens\nx,7,4096\nx,%d,4096\nx,9,4096\nx,99", 5000)
		os.WriteFile(filepath.Join(call.Config.Telemetry.OutputDir, kvSource), []byte(csv), 0o600)
	}
	answer, _ := json.Marshal(call)
	status, code := "done", 0
	if mode == "failed" {
		status, code = "failed", exitFailed
	}
	report := map[string]any{
		"status": status, "answer": string(answer), "checkpoint_bytes": 500, "duration_ms": 2000,
		"calls": []any{map[string]any{"tool": "read_file", "result": map[string]any{"text": "one\nQX-1", "lines": 2}}},
		"usage": map[string]any{
			"model_calls": 2, "prompt_tokens": 2 * tokens, "cached_tokens": 2*tokens - 30, "evaluated_tokens": 30, "completion_tokens": 5,
			"forced_tokens": 3, "drafted_tokens": 2, "accepted_tokens": 1, "peak_kv_tokens": tokens + 5, "model_load_ms": 70,
			"ttft_ms": 100 + len(call.Heard), "prefill_ms": 40, "decode_ms": 50,
		},
	}
	if mode == "failed" {
		report["error"] = map[string]any{"kind": "limit", "message": "too many calls"}
	}
	if args[0] == "continue" && mode != "anonymous" {
		report["conversation_id"] = "c-1"
	}
	out, _ := json.MarshalIndent(report, "", "  ")
	fmt.Println(string(out))
	return code
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
