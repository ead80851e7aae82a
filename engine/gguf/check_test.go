package gguf

import (
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNotAModelFile(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ content, reason string }{
		"empty":        {"", "it is empty (0 bytes)"},
		"text":         {"this is a text file\n", "it is not a GGUF file (it looks like text)"},
		"html":         {"<!DOCTYPE html><html><head><title>Sign in</title></head></html>", "it looks like an HTML page"},
		"json":         {`{"error": "Unauthorized"}`, "it looks like application/json"},
		"lfs":          {"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n", "it is a Git LFS pointer; run git lfs pull"},
		"zip":          {"PK\x03\x04\x14\x00\x00\x00\x08\x00", "it looks like application/zip"},
		"ggml":         {"tjgg\x03\x00\x00\x00", "older GGML format"},
		"safetensors":  {"\x50\x00\x00\x00\x00\x00\x00\x00{\"a\":1}", "it looks like a safetensors file"},
		"zeros":        {string(make([]byte, 5000)), "it holds only zero bytes"},
		"noise":        {"\x01\x02\xfe\xff\x00\x01\x80\x90", "it is some other binary file"},
		"big-endian":   {"FUGG\x00\x00\x00\x03", "big-endian"},
		"short header": {"GGUF\x03\x00\x00\x00", "8 bytes are too few for a GGUF header"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			requireReason(t, writeFile(t, "m.gguf", []byte(tt.content)), tt.reason)
		})
	}
}

func TestPathErrors(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for _, name := range []string{"llama-3.gguf", "qwen2.5-1.5b.gguf", "qwen2.5-7b.GGUF", "zephyr.gguf", "notes.txt"} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte("GGUF"), 0o644))
	}

	fe := requireReason(t, filepath.Join(folder, "qwen2.5-15b.gguf"), "it does not exist")
	require.Equal(t, `the folder holds "qwen2.5-1.5b.gguf", "qwen2.5-7b.GGUF", "llama-3.gguf"`, fe.Fix)
	require.ErrorIs(t, fe, fs.ErrNotExist)

	fe = requireReason(t, filepath.Join(folder, "nowhere", "m.gguf"), "neither does the folder")
	require.ErrorIs(t, fe, fs.ErrNotExist)

	fe = requireReason(t, folder, "it is a folder")
	require.Contains(t, fe.Fix, `"llama-3.gguf"`)
	require.NotContains(t, fe.Fix, "notes.txt")

	empty := t.TempDir()
	require.Contains(t, requireReason(t, filepath.Join(empty, "m.gguf"), "it does not exist").Fix, "holds no .gguf file")
	require.Contains(t, requireReason(t, empty, "it is a folder").Fix, "it holds no .gguf file")
	requireReason(t, filepath.Join(folder, "notes.txt", "m.gguf"), "it cannot be read (not a directory)")

	_, err := Inspect("")
	require.ErrorContains(t, err, "no path is given; set engine.model_path")

	fifo := filepath.Join(folder, "pipe.gguf")
	require.NoError(t, syscall.Mkfifo(fifo, 0o600))
	requireReason(t, fifo, "it is not a regular file")
}

func TestCheckRefuses(t *testing.T) {
	t.Parallel()
	noTensors := tinyModel()
	noTensors.tensors = nil
	noData := tinyModel()
	noData.noData = true
	experts := func(experts, used, groups, usedGroups uint32) *file {
		return tinyModel().with("llama.expert_count", experts).with("llama.expert_used_count", used).
			with("llama.expert_group_count", groups).with("llama.expert_group_used_count", usedGroups)
	}
	typed := func(tensor int, kind tensorType) *file {
		f := tinyModel()
		f.tensors[tensor].kind = kind
		return f
	}
	tests := map[string]struct {
		file   *file
		reason string
	}{
		"unknown architecture":  {tinyModel().as("nosuch"), `its architecture "nosuch" is not one`},
		"no architecture":       {tinyModel().without("general.architecture"), "it does not name its architecture"},
		"architecture a number": {tinyModel().with("general.architecture", uint32(7)), "it does not name its architecture"},
		"bert":                  {tinyModel().as("bert"), `it is an embedding model (architecture "bert") and cannot chat`},
		"nomic-bert":            {tinyModel().as("nomic-bert"), "it is an embedding model"},
		"jina-bert-v2":          {tinyModel().as("jina-bert-v2"), "it is an embedding model"},
		"t5encoder":             {tinyModel().as("t5encoder"), "it is an embedding model"},
		"looks ahead":           {tinyModel().with("llama.attention.causal", false), "it is an embedding model"},
		"pooling":               {tinyModel().as("qwen3").with("qwen3.pooling_type", uint32(3)), "it is an embedding model"},
		"diffusion":             {tinyModel().as("dream").with("dream.attention.causal", false), "it is a diffusion model"},
		"encoder-decoder":       {tinyModel().as("t5"), "an encoder-decoder model"},
		"projector by arch":     {tinyModel().as("clip"), "an image or audio projector (mmproj)"},
		"projector by type":     {tinyModel().with("general.type", "mmproj"), "it is a projector (mmproj)"},
		"adapter":               {tinyModel().with("general.type", "adapter"), "it is a LoRA adapter"},
		"importance matrix":     {tinyModel().with("general.type", "imatrix").without("general.architecture"), "it is an importance matrix"},
		"vocabulary only":       {noTensors, "it holds a vocabulary but no weights"},
		"truncated":             {noData, "it is truncated: 115904 bytes expected, 7735 bytes there"},

		"no layers":             {tinyModel().with("llama.block_count", uint32(0)), "its llama.block_count is 0 instead of 1 to 512"},
		"absurd layers":         {tinyModel().with("llama.block_count", uint32(math.MaxInt32)), "its llama.block_count is 2147483647"},
		"wrapped layers":        {tinyModel().with("llama.block_count", uint32(math.MaxUint32)), "its llama.block_count is 4294967295"},
		"layers lacking":        {tinyModel().without("llama.block_count"), "its metadata lack llama.block_count"},
		"layers as u64":         {tinyModel().with("llama.block_count", uint64(2)), "its llama.block_count has the type u64 instead of u32"},
		"no context":            {tinyModel().with("llama.context_length", uint32(0)), "its llama.context_length is 0"},
		"no width":              {tinyModel().with("llama.embedding_length", uint32(0)), "its llama.embedding_length is 0"},
		"absurd width":          {tinyModel().with("llama.embedding_length", uint32(1<<30)), "its llama.embedding_length is 1073741824"},
		"no heads":              {tinyModel().with("llama.attention.head_count", uint32(0)), "its llama.attention.head_count is 0"},
		"heads lacking":         {tinyModel().without("llama.attention.head_count"), "its metadata lack llama.attention.head_count"},
		"heads as text":         {tinyModel().with("llama.attention.head_count", "4"), "is a value of type str instead of"},
		"absurd heads":          {tinyModel().with("llama.attention.head_count", uint32(1<<31)), "its llama.attention.head_count is 2147483648"},
		"no kv heads":           {tinyModel().with("llama.attention.head_count_kv", uint32(0)), "its llama.attention.head_count_kv is 0"},
		"odd kv heads":          {tinyModel().with("llama.attention.head_count_kv", uint32(3)), "4 attention heads cannot share 3 key/value heads"},
		"heads of other layers": {tinyModel().with("llama.attention.head_count", []int32{4, 4, 4}), "has 3 elements for 2 layers"},
		"heads thinner than 1":  {tinyModel().with("llama.attention.head_count", uint32(64)).with("llama.attention.head_count_kv", uint32(64)), "have 0 key and 0 value elements"},
		"too many draft layers": {tinyModel().with("llama.nextn_predict_layers", uint32(math.MaxUint32)), "its llama.nextn_predict_layers is 4294967295"},
		"attention never":       {tinyModel().as("qwen35").with("qwen35.full_attention_interval", uint32(0)), "its qwen35.full_attention_interval is 0"},
		"rope scaling":          {tinyModel().with("llama.rope.scaling.type", "magic"), `its llama.rope.scaling.type is "magic"`},
		"negative epsilon":      {tinyModel().with("llama.attention.layer_norm_rms_epsilon", float32(-1)), "layer_norm_rms_epsilon is -1"},
		"epsilon not a number":  {tinyModel().with("llama.attention.layer_norm_rms_epsilon", float32(math.NaN())), "layer_norm_rms_epsilon is NaN"},
		"too many experts":      {experts(5000, 2, 0, 0), "counts of experts make no sense: 5000 experts"},
		"more used than there":  {experts(4, 8, 0, 0), "4 experts, 8 used"},
		"used without experts":  {experts(0, 2, 0, 0), "0 experts, 2 used"},
		"none used":             {experts(4, 0, 0, 0), "4 experts, 0 used"},
		"odd groups":            {experts(4, 2, 3, 1), "3 groups, 1 used"},
		"all groups used":       {experts(4, 2, 2, 2), "2 groups, 2 used"},
		"groups only":           {experts(0, 0, 2, 1), "0 experts, 0 used; 2 groups"},

		"must have experts":   {tinyModel().as("smallthinker"), "0 experts, 0 used"},
		"hunyuan with groups": {tinyModel().as("hunyuan-dense").with("hunyuan-dense.expert_group_count", uint32(2)), "2 groups"},
		"unequal heads":       {tinyModel().with("llama.attention.key_length", uint32(4)).with("llama.rope.dimension_count", uint32(4)), "4 key and 8 value elements"},
		"empty keys":          {tinyModel().with("llama.attention.key_length", uint32(0)), "have 0 key and 8 value elements"},
		"half rotated":        {tinyModel().with("llama.rope.dimension_count", uint32(4)), "8 key and 8 value elements, 4 of them rotated"},
		"oddly rotated":       {tinyModel().as("gemma").with("gemma.rope.dimension_count", uint32(7)), "7 of them rotated"},
		"rotated too far":     {tinyModel().as("gemma").with("gemma.rope.dimension_count", uint32(300)), "300 of them rotated"},

		"no sections":    {tinyModel().as("paddleocr"), "its metadata lack paddleocr.rope.dimension_sections"},
		"empty sections": {tinyModel().as("qwen35").with("qwen35.rope.dimension_sections", []int32{0, 0, 0, 4}), "is [0 0 0 4] instead of four numbers"},

		"integer weights":    {typed(3, 24), `its tensor "blk.0.attn_q.weight" has the type I8, with which llama.cpp cannot compute`},
		"integer embeddings": {typed(0, 26), `its tensor "token_embd.weight" has the type I32`},
		"activation format":  {typed(4, 9), "has the type Q8_1"},
		"quantized norm":     {typed(1, 8), `its tensor "output_norm.weight" has the type Q8_0`},
		"half norm":          {typed(2, 1), `its tensor "blk.0.attn_norm.weight" has the type F16`},

		"no vocabulary":   {tinyModel().without("tokenizer.ggml.tokens"), "it has no vocabulary"},
		"no tokenizer":    {tinyModel().with("tokenizer.ggml.model", "none"), "it has no vocabulary"},
		"equal tokens":    {tinyModel().with("tokenizer.ggml.tokens", []string{"a", "b", "a"}), "two tokens of its vocabulary are equal"},
		"numbered tokens": {tinyModel().with("tokenizer.ggml.tokens", []int32{1, 2, 3}), "it has no vocabulary"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			requireReason(t, tt.file.write(t, "m.gguf"), tt.reason)
		})
	}
}

func TestCheckAccepts(t *testing.T) {
	t.Parallel()
	tests := map[string]*file{
		"as it is":          tinyModel(),
		"version 2":         func() *file { f := tinyModel(); f.version = 2; return f }(),
		"alignment":         tinyModel().with("general.alignment", uint32(64)),
		"layers apart":      tinyModel().with("llama.attention.head_count", []uint32{4, 2}).with("llama.attention.head_count_kv", []int32{2, 0}),
		"experts":           tinyModel().with("llama.expert_count", uint32(8)).with("llama.expert_used_count", uint32(2)),
		"experts by layer":  tinyModel().with("llama.expert_count", uint32(8)).with("llama.expert_used_count", []int32{2, 0}),
		"one hunyuan":       tinyModel().as("hunyuan-dense").with("hunyuan-dense.expert_count", uint32(1)),
		"partly rotated":    tinyModel().as("gptneox").with("gptneox.rope.dimension_count", uint32(2)),
		"window heads":      tinyModel().with("llama.attention.key_length", uint32(4)).with("llama.attention.key_length_swa", uint32(8)),
		"recurrent":         tinyModel().as("mamba").without("mamba.attention.head_count").without("mamba.attention.head_count_kv"),
		"no pooling":        tinyModel().with("llama.pooling_type", uint32(0)),
		"causal said":       tinyModel().with("llama.attention.causal", true),
		"empty tokens":      tinyModel().with("tokenizer.ggml.tokens", []string{"a", "", "", "b"}),
		"one part of one":   tinyModel().with("split.count", uint16(1)).with("split.no", uint16(0)),
		"float arrays kept": tinyModel().with("llama.swiglu_clamp_exp", []float32{1, 2}),
	}
	for name, f := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			info, err := Inspect(f.write(t, "m.gguf"))
			require.NoError(t, err)
			require.NoError(t, info.Check())
		})
	}
}

// writeParts writes a model in three files and returns their paths.
func writeParts(t *testing.T) []string {
	t.Helper()
	folder := t.TempDir()
	var paths []string
	for n := range 3 {
		f := &file{version: 3, pairs: map[string]any{}}
		if n == 0 {
			f.pairs = tinyModel().pairs
		}
		all := tinyModel().tensors
		f.tensors = all[n*6 : min(n*6+6, len(all))]
		f.with("split.no", uint16(n)).with("split.count", uint16(3)).with("split.tensors.count", int32(len(all)))
		path := filepath.Join(folder, fmt.Sprintf("m-%05d-of-00003.gguf", n+1))
		require.NoError(t, os.WriteFile(path, f.bytes(), 0o644))
		paths = append(paths, path)
	}
	return paths
}

func TestSplitModel(t *testing.T) {
	t.Parallel()
	paths := writeParts(t)
	whole, err := Inspect(tinyModel().write(t, "m.gguf"))
	require.NoError(t, err)
	info, err := Inspect(paths[0])
	require.NoError(t, err)
	require.NoError(t, info.Check())
	require.Equal(t, 3, info.SplitCount)
	require.Equal(t, whole.Parameters-int64(2*32*64), info.Parameters, "the parts hold 18 of the 20 tensors")
	require.Less(t, info.FileBytes, info.MemoryEstimate(1, 2).WeightsBytes+info.FileBytes)

	fe := requireReason(t, paths[1], "it is a later part")
	require.Contains(t, fe.Fix, `"m-00001-of-00003.gguf"`)

	renamed := filepath.Join(filepath.Dir(paths[0]), "renamed.gguf")
	data, err := os.ReadFile(paths[0])
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(renamed, data, 0o644))
	requireReason(t, renamed, "it is the first of 3 files, but its name does not say so")
}

func TestSplitModelWithBadParts(t *testing.T) {
	t.Parallel()
	t.Run("missing", func(t *testing.T) {
		t.Parallel()
		paths := writeParts(t)
		require.NoError(t, os.Remove(paths[1]))
		requireReason(t, paths[0], `1 of the model's 3 files are missing: "m-00002-of-00003.gguf"`)
	})
	t.Run("truncated", func(t *testing.T) {
		t.Parallel()
		paths := writeParts(t)
		stat, err := os.Stat(paths[2])
		require.NoError(t, err)
		require.NoError(t, os.Truncate(paths[2], stat.Size()-100))
		info, err := Inspect(paths[0])
		require.NoError(t, err)
		require.ErrorContains(t, info.Check(), `m-00003-of-00003.gguf": it is truncated`)
	})
	t.Run("number of another type", func(t *testing.T) {
		t.Parallel()
		paths := writeParts(t)
		part := &file{version: 3, pairs: map[string]any{"split.no": uint32(1)}, tensors: tinyModel().tensors[6:12]}
		require.NoError(t, os.WriteFile(paths[1], part.bytes(), 0o644))
		info, err := Inspect(paths[0])
		require.NoError(t, err)
		require.ErrorContains(t, info.Check(), "it does not say that it is part 2")
	})
	t.Run("text", func(t *testing.T) {
		t.Parallel()
		paths := writeParts(t)
		require.NoError(t, os.WriteFile(paths[1], []byte("oops"), 0o644))
		info, err := Inspect(paths[0])
		require.NoError(t, err)
		require.ErrorContains(t, info.Check(), "m-00002-of-00003.gguf\": it is not a GGUF file")
	})
	t.Run("absurd number", func(t *testing.T) {
		t.Parallel()
		path := tinyModel().with("split.count", uint16(65535)).with("split.no", uint16(0)).write(t, "m-00001-of-65535.gguf")
		requireReason(t, path, "it claims to be split into 65535 files")
	})
}
