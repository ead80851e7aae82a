package telemetry

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const begin = `{"timestamp_utc":"2024-05-01T08:00:00.000001000Z","monotonic_ns":0,"task_id":"t1","phase":"task","event":"task_started","model":"small"}`

func TestExactRecords(t *testing.T) {
	t.Parallel()
	c, told := newClock(), &told{}
	o := quiet(c, told)
	o.Shape = KVShape{Layers: 28, KVHeads: 2, HeadSize: 128, BytesPerElement: 2}
	dir := filepath.Join(t.TempDir(), "a", "b")
	r := openIn(t, dir, o)
	task := r.Task("t1")
	c.add(1500 * time.Millisecond)
	task.Inference("executor", Inference{
		PromptTokens: 900, CachedTokens: 800, EvaluatedTokens: 100, SampledTokens: 20, ForcedTokens: 5, DraftedTokens: 4, AcceptedTokens: 3,
		QueueMS: 0.25, TTFTMS: 120, PrefillMS: 119.5, DecodeMS: 600, FinishReason: "stop", Messages: 7, Tools: 3,
	})
	task.Inference("", Inference{QueueMS: math.NaN(), DecodeMS: math.Inf(1)})
	task.Tool("executor", ToolCall{Tool: "read_file", DurationMS: 1.5, InputBytes: 20, OutputBytes: 9000, ArtifactID: "artifact://k3v9x2ab", ReadOnly: true})
	task.Tool("executor", ToolCall{Tool: "shell", ErrorKind: "timeout", Skipped: true})
	task.Event("executor", "context_compacted", map[string]any{
		"tokens_before": 9000, "tokens_after": int64(700), "ratio": 0.5, "why": "a <b> & \"c\"\n", "event": "odd", "list": []string{"x", "y"}, "ok": true,
		"nothing": nil, "err": errors.New("no"), "inf": math.Inf(1), "f": float32(0.1), "status": status("warm"), "took": time.Microsecond,
	})
	task.KV("executor", KV{UsedTokens: 1000, CapacityTokens: 16384, Positions: 950})
	task.KV("a,\"b\"\nc", KV{})
	c.add(time.Millisecond)
	task.End("done")
	task.End("failed")

	require.Empty(t, told.lines())
	const at = `"timestamp_utc":"2024-05-01T08:00:01.500001000Z","monotonic_ns":1500000000,"task_id":"t1",`
	require.Equal(t, `{`+at+`"phase":"executor","event":"inference","prompt_tokens":900,"cached_tokens":800,"evaluated_tokens":100,"sampled_tokens":20,`+
		`"forced_tokens":5,"drafted_tokens":4,"accepted_tokens":3,"queue_ms":0.25,"ttft_ms":120,"prefill_ms":119.5,"decode_ms":600,`+
		`"finish_reason":"stop","messages":7,"tools":3}`+"\n"+
		`{`+at+`"phase":"","event":"inference","prompt_tokens":0,"cached_tokens":0,"evaluated_tokens":0,"sampled_tokens":0,"forced_tokens":0,`+
		`"drafted_tokens":0,"accepted_tokens":0,"queue_ms":0,"ttft_ms":0,"prefill_ms":0,"decode_ms":0,"finish_reason":"","messages":0,"tools":0}`+"\n",
		read(t, dir, InferenceFile))
	require.Equal(t, `{`+at+`"phase":"executor","event":"tool_call","tool":"read_file","duration_ms":1.5,"input_bytes":20,"output_bytes":9000,`+
		`"error_kind":"","artifact_id":"artifact://k3v9x2ab","read_only":true,"skipped":false}`+"\n"+
		`{`+at+`"phase":"executor","event":"tool_call","tool":"shell","duration_ms":0,"input_bytes":0,"output_bytes":0,"error_kind":"timeout",`+
		`"artifact_id":"","read_only":false,"skipped":true}`+"\n", read(t, dir, ToolFile))
	require.Equal(t, begin+"\n"+
		`{`+at+`"phase":"executor","event":"context_compacted","data_event":"odd","err":"no","f":0.1,"inf":null,"list":["x","y"],"nothing":null,`+
		`"ok":true,"ratio":0.5,"status":"warm","tokens_after":700,"tokens_before":9000,"took":1000,"why":"a <b> & \"c\"\n"}`+"\n"+
		`{"timestamp_utc":"2024-05-01T08:00:01.501001000Z","monotonic_ns":1501000000,"task_id":"t1","phase":"task","event":"task_finished",`+
		`"status":"done","duration_ms":1501,"model_calls":2,"tool_calls":2,"prompt_tokens":900,"cached_tokens":800,"evaluated_tokens":100,`+
		`"output_tokens":25}`+"\n", read(t, dir, LifecycleFile))
	require.Equal(t, "timestamp_utc,monotonic_ns,task_id,phase,used_tokens,capacity_tokens,positions,used_bytes,capacity_bytes\n"+
		"2024-05-01T08:00:01.500001000Z,1500000000,t1,executor,1000,16384,950,28672000,469762048\n"+
		"2024-05-01T08:00:01.500001000Z,1500000000,t1,\"a,\"\"b\"\" c\",0,0,0,0,0\n", read(t, dir, KVFile))
	require.NoFileExists(t, filepath.Join(dir, MemoryFile), "no samples were asked for")
}

type status string

// A later run appends, and knows its own start.
func TestFolderGrows(t *testing.T) {
	t.Parallel()
	dir, c, told := t.TempDir(), newClock(), &told{}
	for range 2 {
		r := openIn(t, dir, quiet(c, told))
		r.Task("t1").KV("p", KV{})
		r.Close(t.Context())
		c.add(time.Hour)
	}
	got := objects(t, read(t, dir, LifecycleFile))
	require.Len(t, got, 4)
	require.Equal(t, "interrupted", got[1]["status"], "a task that did not end")
	require.EqualValues(t, 0, got[2]["monotonic_ns"])
	require.Equal(t, "2024-05-01T09:00:00.000001000Z", got[2]["timestamp_utc"])
	require.Len(t, rows(t, read(t, dir, KVFile)), 2)
	list, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, list, 2, "no temporary file is left")
}

func TestNilAndClosedDoNothing(t *testing.T) {
	t.Parallel()
	use := func(r *Recorder) {
		task := r.Task("t")
		task.Inference("p", Inference{})
		task.Tool("p", ToolCall{})
		task.Event("p", "e", nil)
		task.KV("p", KV{})
		task.End("done")
		r.Close(t.Context())
	}
	use(nil)
	dir := filepath.Join(t.TempDir(), "d")
	r := openIn(t, dir, quiet(newClock(), &told{}))
	before := r.Task("before")
	r.Close(t.Context())
	written := read(t, dir, LifecycleFile)
	use(r)
	before.Event("p", "late", nil)
	before.Tool("p", ToolCall{})
	require.Equal(t, written, read(t, dir, LifecycleFile))
	require.NoFileExists(t, filepath.Join(dir, ToolFile))
}

func TestImpossibleOptions(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	for name, test := range map[string]struct {
		dir  string
		o    Options
		says string
	}{
		"no folder":     {"", Options{}, "telemetry.output_dir"},
		"a file":        {file, Options{}, "is a file"},
		"below a file":  {filepath.Join(file, "x"), Options{}, "is a file"},
		"interval":      {t.TempDir(), Options{SampleInterval: 9 * time.Millisecond}, "at least 10ms"},
		"shape":         {t.TempDir(), Options{Shape: KVShape{Layers: -1}}, "shape of the KV cache"},
		"shape NaN":     {t.TempDir(), Options{Shape: KVShape{BytesPerElement: math.NaN()}}, "shape of the KV cache"},
		"scheme":        {t.TempDir(), Options{OTLPEndpoint: "grpc://localhost:4317"}, "grpc://localhost:4317"},
		"no host":       {t.TempDir(), Options{OTLPEndpoint: "http://:4317"}, "http://localhost:4318"},
		"no URL":        {t.TempDir(), Options{OTLPEndpoint: "http://a:hunter2@[x"}, "no URL"},
		"query":         {t.TempDir(), Options{OTLPEndpoint: "http://a:hunter2@h/?q=1"}, "without a query"},
		"only a domain": {t.TempDir(), Options{OTLPEndpoint: "localhost:4318"}, "localhost:4318"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := Open(test.dir, test.o)
			require.ErrorIs(t, err, ErrOptions)
			require.ErrorContains(t, err, test.says)
			require.NotContains(t, err.Error(), "hunter2")
			require.Nil(t, r)
		})
	}
}

// What is too large or odd for a record makes it neither large nor invalid.
func TestRecordsAreBounded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := openIn(t, dir, quiet(newClock(), &told{}))
	long := strings.Repeat("é", 40_000)
	task := r.Task(long)
	task.Event(long, long, map[string]any{"text": long, "deep": map[string]any{"password": "p", "n": 3, "x": []any{long[:2000]}}})
	many := map[string]any{}
	for i := range 1000 {
		many[fmt.Sprint(i)] = long[:600]
	}
	task.Event("p", "many", many)
	maps.DeleteFunc(many, func(key string, _ any) bool { return len(key) != 2 || key < "60" })
	task.Event("p", "40 times 500 bytes", many)
	task.Event("p", "odd", map[string]any{"large": []string{long[:80_000-2]}, "chan": make(chan int), "panics": panics{}, "error": panics{}, "bytes": "\xff\x00"})
	task.Tool("p", ToolCall{Tool: long, ErrorKind: long})

	lines := objects(t, read(t, dir, LifecycleFile))
	require.Len(t, lines, 5)
	for line := range strings.Lines(read(t, dir, LifecycleFile) + read(t, dir, ToolFile)) {
		require.Less(t, len(line), maxLine)
	}
	require.Equal(t, strings.Repeat("é", (maxText-3)/2)+"…", lines[1]["text"])
	require.Equal(t, map[string]any{"password": Redacted, "n": 3.0, "x": []any{lines[1]["text"]}}, lines[1]["deep"])
	require.EqualValues(t, 1000, lines[2]["dropped_fields"])
	require.NotContains(t, lines[2], "7")
	require.EqualValues(t, 40, lines[3]["dropped_fields"])
	require.NotContains(t, lines[3], "7")
	require.Contains(t, lines[4]["chan"], "cannot be recorded")
	require.Contains(t, lines[4]["panics"], "panics")
	require.Equal(t, "\ufffd\x00", lines[4]["bytes"])
	require.Contains(t, lines[4]["large"], "80002 bytes")
}

type panics struct{}

func (panics) Error() string { panic("no text") }

func TestSecretsAreInNoFile(t *testing.T) {
	t.Parallel()
	dir, told := t.TempDir(), &told{}
	o := quiet(newClock(), told)
	const secret, key = "correct horse", "sk-abcdefghijklmnopqrstuvwx"
	o.Secrets, o.Model, o.OTLPEndpoint = []string{secret}, secret, "http://"+"127.0.0.1:1"
	r := openIn(t, dir, o)
	for _, s := range []string{secret, key, "x " + secret + " " + key} {
		task := r.Task(s)
		task.Inference(s, Inference{FinishReason: s})
		task.Tool(s, ToolCall{Tool: s, ErrorKind: s, ArtifactID: s})
		task.Event(s, s, map[string]any{s: s, "e": errors.New(s), "m": map[string]any{s: []string{s}}})
		task.KV(s, KV{})
		task.End(s)
	}
	r.Close(t.Context())
	var all strings.Builder
	for _, name := range []string{InferenceFile, ToolFile, LifecycleFile, KVFile} {
		all.WriteString(read(t, dir, name))
	}
	require.Greater(t, strings.Count(all.String(), Redacted), 30)
	require.NotContains(t, all.String(), secret)
	require.NotContains(t, all.String(), "abcdef")
}

// child is another process on the same folder.
func child(dir string, does []string) error {
	switch does[0] {
	case "record":
		return record(dir, does[1])
	case "record-beyond-limit":
		return recordBeyondLimit(dir)
	case "burn":
		return burn()
	case "burn-below":
		return burnBelow()
	}
	return fmt.Errorf("a child cannot %q", does[0])
}

func command(dir, does string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childDir+"="+dir, childDoes+"="+does)
	return cmd
}

const rounds = 100

func record(dir, name string) error {
	r, err := Open(dir, Options{SampleInterval: minInterval})
	if err != nil {
		return err
	}
	task := r.Task(name)
	for i := range rounds {
		task.Inference("p", Inference{PromptTokens: i, FinishReason: strings.Repeat(name, 400)})
		task.Event("p", "e", map[string]any{"i": i, "a": strings.Repeat("x", 500), "b": strings.Repeat("y", 500)})
		task.KV("p", KV{UsedTokens: i})
	}
	task.End("done")
	r.Close(context.Background())
	return nil
}

// Processes that start and write at the same time lose no line, mix no two, and write one header.
func TestProcessesShareAFolder(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "d")
	names := []string{"a", "b", "c"}
	var cmds []*exec.Cmd
	var outs []*strings.Builder
	for _, name := range names {
		cmd, out := command(dir, "record "+name), &strings.Builder{}
		cmd.Stdout, cmd.Stderr = out, out
		require.NoError(t, cmd.Start())
		cmds, outs = append(cmds, cmd), append(outs, out)
	}
	for i, cmd := range cmds {
		require.NoError(t, cmd.Wait(), "%s", outs[i])
		require.Empty(t, outs[i].String(), "nothing is printed")
	}
	next := map[string]int{}
	for _, o := range objects(t, read(t, dir, InferenceFile)) {
		id := o["task_id"].(string)
		require.EqualValues(t, next[id], o["prompt_tokens"], "lines of one process are in order")
		next[id]++
	}
	require.Equal(t, map[string]int{"a": rounds, "b": rounds, "c": rounds}, next)
	require.Len(t, objects(t, read(t, dir, LifecycleFile)), len(names)*(rounds+2))
	kv := read(t, dir, KVFile)
	require.Equal(t, 1, strings.Count(kv, "timestamp_utc"))
	require.True(t, strings.HasPrefix(kv, "timestamp_utc"))
	require.Len(t, rows(t, kv), len(names)*rounds)
	pids := map[string]bool{}
	for _, r := range rows(t, read(t, dir, MemoryFile)) {
		pids[r["pid"]] = true
	}
	require.Len(t, pids, len(names))
	list, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, list, 4, "no temporary file is left")
}
