package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/llama-agent/llama-agent/engine"
	"github.com/llama-agent/llama-agent/internal/sqlitedb"
	"github.com/llama-agent/llama-agent/internal/testgguf"
)

// tinyModel is the path of the smallest real model, which `make models` fetches.
func tinyModel(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs("../models/smollm2-135m-instruct-q4_1.gguf")
	require.NoError(t, err)
	if _, err := os.Stat(path); err != nil {
		t.Skip("the small model is missing; fetch it with: make models")
	}
	return path
}

// roomy is a machine on which everything works.
func roomy() Machine {
	return Machine{
		TotalBytes: 64e9, AvailableBytes: 32e9, PhysicalCores: 8, FreeDiskBytes: func(string) int64 { return 1e12 },
		Engine: engine.BuildInfo{Backend: "cpu", Version: "b1", Devices: []engine.Device{{Kind: "cpu"}}},
	}
}

func find(t *testing.T, checks []Check, name string) Check {
	t.Helper()
	for _, c := range checks {
		if c.Name == name {
			return c
		}
	}
	t.Fatalf("no check %q in %+v", name, checks)
	return Check{}
}

func TestDoctorOfAGoodSetup(t *testing.T) {
	t.Parallel()
	c := configure(t, "engine.model_path="+tinyModel(t))
	write(t, filepath.Join(c.Workspace, "a.txt"), "x")
	for _, check := range Doctor(t.Context(), c, roomy()) {
		require.Equal(t, CheckOK, check.State, "%+v", check)
		require.Empty(t, check.Fix)
	}
	require.NoDirExists(t, filepath.Join(c.Workspace, "data"), "it makes nothing")
}

// What the memory of a model can take over from earlier prompts.
func TestDoctorOfMemories(t *testing.T) {
	t.Parallel()
	for name, file := range map[string]testgguf.File{
		"any prefix of earlier prompts": testgguf.Llama(),
		"state checkpoints":             testgguf.Mamba(),
		"beyond the window of 512":      testgguf.Gemma3(512),
	} {
		check := find(t, Doctor(t.Context(), configure(t, "engine.model_path="+file.Write(t, "tiny.gguf")), roomy()), "prefixes")
		require.Equal(t, CheckOK, check.State)
		require.Contains(t, check.Detail, name)
	}
}

func TestDoctorSaysWhatWouldFit(t *testing.T) {
	t.Parallel()
	path := tinyModel(t)
	m := roomy()
	m.AvailableBytes = 400_000_000
	check := find(t, Doctor(t.Context(), configure(t, "engine.model_path="+path), m), "memory")
	require.Equal(t, CheckProblem, check.State)
	require.Contains(t, check.Detail, "0.4 GB available")
	require.Regexp(t, `set n_ctx to (2048|4096)`, check.Fix)

	m.AvailableBytes = 150_000_000
	check = find(t, Doctor(t.Context(), configure(t, "engine.model_path="+path), m), "memory")
	require.Equal(t, CheckProblem, check.State)
	require.Contains(t, check.Fix, "use a model file of at most 37 MB")

	m.AvailableBytes = 0
	check = find(t, Doctor(t.Context(), configure(t, "engine.model_path="+path), m), "memory")
	require.Equal(t, CheckWarning, check.State)
}

func TestDoctorOfModels(t *testing.T) {
	t.Parallel()
	path := tinyModel(t)
	whole, err := os.Open(path)
	require.NoError(t, err)
	defer whole.Close()
	// A model that is cut in the middle of its weights: the header is whole.
	c := configure(t, "engine.model_path=cut.gguf")
	head := make([]byte, 8<<20)
	_, err = whole.Read(head)
	require.NoError(t, err)
	write(t, c.Engine.ModelPath, string(head))
	check := find(t, Doctor(t.Context(), c, roomy()), "model")
	require.Equal(t, CheckProblem, check.State)
	require.Regexp(t, `truncated: \d+ bytes expected, 8388608 bytes there`, check.Detail)

	check = find(t, Doctor(t.Context(), configure(t, "engine.model_path="+path, "engine.n_ctx=100000"), roomy()), "context")
	require.Equal(t, CheckWarning, check.State)
	require.Contains(t, check.Fix, "at most 8192")
	check = find(t, Doctor(t.Context(), configure(t, "engine.model_path="+path, "engine.n_ctx=512"), roomy()), "context")
	require.Equal(t, CheckWarning, check.State)
	check = find(t, Doctor(t.Context(), configure(t, "engine.model_path="+path, "engine.chat_template=nowhere"), roomy()), "chat template")
	require.Equal(t, CheckProblem, check.State)
}

func TestDoctorOfAdapters(t *testing.T) {
	t.Parallel()
	path := tinyModel(t)
	look := func(adapter string) Check {
		return find(t, Doctor(t.Context(), configure(t, "engine.model_path="+path, "engine.lora="+adapter), roomy()), "LoRA adapter")
	}
	good := testgguf.LoRA("llama", 4, 0.1, map[string][2]int{"blk.0.attn_q.weight": {576, 576}}).Write(t, "pirate.gguf")
	check := look(good + "=0.5")
	require.Equal(t, CheckOK, check.State)
	require.Equal(t, "pirate.gguf, scale 0.5, rank 4, changed matrices: 1", check.Detail)
	require.Equal(t, CheckWarning, look(good+"=0").State)

	other := testgguf.LoRA("llama", 4, 0.1, map[string][2]int{"blk.0.attn_q.weight": {896, 896}}).Write(t, "other.gguf")
	check = look(other)
	require.Equal(t, CheckProblem, check.State)
	require.Contains(t, check.Detail, "do not fit")
	require.Contains(t, check.Fix, "the model that it was made for")
	check = look(filepath.Join(filepath.Dir(good), "pirates.gguf"))
	require.Equal(t, CheckProblem, check.State)
	require.Contains(t, check.Fix, `the folder holds "pirate.gguf"`)
}

func TestDoctorOfTheMachine(t *testing.T) {
	t.Parallel()
	m := roomy()
	check := find(t, Doctor(t.Context(), configure(t, "engine.n_threads=9"), m), "threads")
	require.Equal(t, CheckWarning, check.State)
	check = find(t, Doctor(t.Context(), configure(t, "engine.n_gpu_layers=-1"), m), "engine")
	require.Equal(t, CheckWarning, check.State)
	require.Contains(t, check.Detail, "no effect without a GPU")
	m.Engine.Devices = append(m.Engine.Devices, engine.Device{Kind: "gpu", Description: "Some GPU"})
	check = find(t, Doctor(t.Context(), configure(t), m), "engine")
	require.Equal(t, CheckWarning, check.State)
	require.Contains(t, check.Fix, "n_gpu_layers to -1")
	m.Engine = engine.BuildInfo{}
	check = find(t, Doctor(t.Context(), configure(t), m), "engine")
	require.Equal(t, CheckProblem, check.State)
	m.FreeDiskBytes = func(string) int64 { return 1e6 }
	check = find(t, Doctor(t.Context(), configure(t), m), "disk")
	require.Equal(t, CheckWarning, check.State)
}

func TestDoctorOfStores(t *testing.T) {
	t.Parallel()
	c := configure(t)
	require.Equal(t, CheckOK, find(t, Doctor(t.Context(), c, roomy()), "tasks").State)

	write(t, c.Agent.DBPath, strings.Repeat("no database ", 100))
	check := find(t, Doctor(t.Context(), c, roomy()), "tasks")
	require.Equal(t, CheckProblem, check.State)
	require.Contains(t, check.Detail, "not a database")

	require.NoError(t, os.Remove(c.Agent.DBPath))
	db, err := sqlitedb.Open(t.Context(), c.Agent.DBPath, sqlitedb.Options{})
	require.NoError(t, err)
	defer db.Close()
	require.Equal(t, CheckOK, find(t, Doctor(t.Context(), c, roomy()), "tasks").State)
	tx, err := db.Write.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	check = find(t, Doctor(t.Context(), c, roomy()), "tasks")
	require.Equal(t, CheckWarning, check.State, "%+v", check)
	require.Contains(t, check.Detail, "locked by another process")
	require.NoError(t, tx.Rollback())

	require.NoError(t, db.Close())
	require.NoError(t, os.Remove(c.Agent.DBPath))
	require.NoError(t, os.Mkdir(c.Agent.DBPath, 0o700))
	require.Contains(t, find(t, Doctor(t.Context(), c, roomy()), "tasks").Detail, "is a folder")
}

func TestDoctorOfADamagedStore(t *testing.T) {
	t.Parallel()
	c := configure(t)
	db, err := sqlitedb.Open(t.Context(), c.Agent.DBPath, sqlitedb.Options{})
	require.NoError(t, err)
	_, err = db.Write.ExecContext(t.Context(), "CREATE TABLE t (x TEXT)")
	require.NoError(t, err)
	for range 200 {
		_, err = db.Write.ExecContext(t.Context(), "INSERT INTO t VALUES (?)", strings.Repeat("x", 500))
		require.NoError(t, err)
	}
	require.NoError(t, db.Shrink(t.Context()))
	require.NoError(t, db.Close())
	f, err := os.OpenFile(c.Agent.DBPath, os.O_RDWR, 0)
	require.NoError(t, err)
	_, err = f.WriteAt(make([]byte, 8192), 8192)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	check := find(t, Doctor(t.Context(), c, roomy()), "tasks")
	require.Equal(t, CheckProblem, check.State)
	require.Contains(t, check.Detail, "move it away")
}

func TestDoctorOfAWorkspace(t *testing.T) {
	t.Parallel()
	check := find(t, Doctor(t.Context(), configure(t), roomy()), "workspace")
	require.Equal(t, CheckWarning, check.State)
	require.Contains(t, check.Detail, "holds no files")
	check = find(t, Doctor(t.Context(), configure(t, "tools.enabled_tools=reed_file"), roomy()), "tools")
	require.Equal(t, CheckProblem, check.State)
	require.Contains(t, check.Detail, `did you mean "read_file"`)
}

func TestModels(t *testing.T) {
	t.Parallel()
	path := tinyModel(t)
	m := roomy()
	c := configure(t, "engine.model_path="+path)
	write(t, filepath.Join(c.Workspace, "models/notes.gguf"), "notes")
	list, err := Models(t.Context(), c, m, nil)
	require.NoError(t, err)
	byName := map[string]ModelFile{}
	for _, f := range list {
		byName[filepath.Base(f.Path)] = f
	}
	tiny := byName[filepath.Base(path)]
	require.True(t, tiny.Configured)
	require.Equal(t, "llama", tiny.Architecture)
	require.Equal(t, "Q4_1", tiny.Quantization)
	require.Equal(t, 8192, tiny.ContextTokens)
	require.True(t, tiny.ChatTemplate)
	require.True(t, *tiny.Fits)
	require.Greater(t, tiny.MemoryBytes, tiny.FileBytes)
	require.Contains(t, byName["notes.gguf"].Problem, "not a GGUF file")

	m.AvailableBytes = 1000
	list, err = Models(t.Context(), c, m, []string{path, path})
	require.NoError(t, err)
	require.Len(t, list, 1)
	require.False(t, *list[0].Fits)
	_, err = Models(t.Context(), c, m, []string{"nowhere"})
	require.EqualError(t, err, `there is no file or folder "nowhere"`)

	missing := configure(t, "engine.model_path=gone.gguf")
	list, err = Models(t.Context(), missing, m, nil)
	require.NoError(t, err)
	require.Len(t, list, 1)
	require.Contains(t, list[0].Problem, "does not exist")
}

func TestContainerMemory(t *testing.T) {
	t.Parallel()
	v2 := t.TempDir()
	write(t, filepath.Join(v2, "memory.max"), "2000000000\n")
	write(t, filepath.Join(v2, "memory.current"), "900000000\n")
	write(t, filepath.Join(v2, "memory.stat"), "anon 1\ninactive_file 400000000\n")
	limit, used, ok := containerMemory(v2)
	require.True(t, ok)
	require.Equal(t, int64(2e9), limit)
	require.Equal(t, int64(5e8), used)

	write(t, filepath.Join(v2, "memory.max"), "max\n")
	_, _, ok = containerMemory(v2)
	require.False(t, ok, "no limit")

	v1 := t.TempDir()
	write(t, filepath.Join(v1, "memory/memory.limit_in_bytes"), "9223372036854771712\n")
	write(t, filepath.Join(v1, "memory/memory.usage_in_bytes"), "5\n")
	_, _, ok = containerMemory(v1)
	require.False(t, ok, "the largest number is no limit")
	write(t, filepath.Join(v1, "memory/memory.limit_in_bytes"), "1000\n")
	limit, used, ok = containerMemory(v1)
	require.True(t, ok)
	require.Equal(t, int64(1000), limit)
	require.Equal(t, int64(5), used)
	_, _, ok = containerMemory(t.TempDir())
	require.False(t, ok)
}

func TestThisMachine(t *testing.T) {
	t.Parallel()
	m := ThisMachine()
	require.Positive(t, m.PhysicalCores)
	require.Positive(t, m.TotalBytes)
	require.LessOrEqual(t, m.AvailableBytes, m.TotalBytes)
	require.Positive(t, m.FreeDiskBytes(t.TempDir()))
}

func TestDoctorOfTheKVStore(t *testing.T) {
	t.Parallel()
	check := func(settings ...string) Check {
		return find(t, Doctor(t.Context(), configure(t, settings...), roomy()), "KV store")
	}
	require.Equal(t, "off", check("engine.kv_store_max_bytes=0").Detail)
	c := check()
	require.Equal(t, CheckOK, c.State)
	require.Contains(t, c.Detail, "will be made")
	dir := t.TempDir()
	write(t, filepath.Join(dir, strings.Repeat("ab", 32)+".kv"), strings.Repeat("x", 30_000_000))
	write(t, filepath.Join(dir, "notes.txt"), strings.Repeat("x", 90_000_000))
	c = check("engine.kv_store_path="+dir, "engine.kv_store_max_bytes=200000000")
	require.Equal(t, CheckOK, c.State)
	require.Contains(t, c.Detail, "30 MB of at most 0.2 GB")
	write(t, filepath.Join(dir, "file"), "x")
	c = check("engine.kv_store_path=" + filepath.Join(dir, "file"))
	require.Equal(t, CheckWarning, c.State, "the agent works without")
	require.Contains(t, c.Fix, "engine.kv_store_path")
}
