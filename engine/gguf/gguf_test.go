package gguf

import (
	"io"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/llama-agent/llama-agent/internal/testmodel"
)

func TestInspectReadsRealModels(t *testing.T) {
	t.Parallel()
	tests := []struct {
		file string
		want Info
		// what llama.cpp reports for a context of 16,384 tokens
		kvBytes, computeBytes int64
		tools                 bool
	}{
		{
			file: testmodel.Tiny,
			want: Info{Architecture: "llama", SizeLabel: "135M", Quantization: "Q4_1", ContextLength: 8192, BlockCount: 30, EmbeddingLength: 576,
				HeadCount: 9, HeadCountKV: 3, KeyLength: 64, ValueLength: 64, VocabSize: 49152, TokenizerModel: "gpt2", Parameters: 134515008},
			kvBytes: 360 << 20, computeBytes: 103_022_592,
		},
		{
			file: testmodel.Small,
			want: Info{Architecture: "qwen2", SizeLabel: "0.5B", Quantization: "Q4_K_M", ContextLength: 32768, BlockCount: 24, EmbeddingLength: 896,
				HeadCount: 14, HeadCountKV: 2, KeyLength: 64, ValueLength: 64, VocabSize: 151936, TokenizerModel: "gpt2", Parameters: 630167424},
			kvBytes: 192 << 20, computeBytes: 314_834_944, tools: true,
		},
		{
			file: testmodel.Starter,
			want: Info{Architecture: "qwen2", SizeLabel: "1.5B", Quantization: "Q4_K_M", ContextLength: 32768, BlockCount: 28, EmbeddingLength: 1536,
				HeadCount: 12, HeadCountKV: 2, KeyLength: 128, ValueLength: 128, VocabSize: 151936, TokenizerModel: "gpt2", Parameters: 1777088000},
			kvBytes: 448 << 20, computeBytes: 317_456_384, tools: true,
		},
	}
	for _, tt := range tests {
		t.Run(tt.file, func(t *testing.T) {
			t.Parallel()
			path := testmodel.Path(t, tt.file)
			info, err := Inspect(path)
			require.NoError(t, err)
			require.NoError(t, info.Check())

			stat, err := os.Stat(path)
			require.NoError(t, err)
			require.Equal(t, stat.Size(), info.FileBytes)
			require.Equal(t, stat.Size(), info.ExpectedBytes, "the sizes of all tensors add up to the size of the file")
			require.Equal(t, tt.tools, info.SupportsTools())
			require.NotEmpty(t, info.ChatTemplate)
			require.NotEmpty(t, info.Name)

			memory := info.MemoryEstimate(16384, 2)
			require.Equal(t, tt.kvBytes, memory.KVBytes)
			require.Equal(t, tt.computeBytes, memory.ComputeBytes)
			require.InEpsilon(t, stat.Size(), memory.WeightsBytes, 0.02)
			require.Equal(t, memory.WeightsBytes+memory.KVBytes+memory.ComputeBytes, memory.TotalBytes)
			require.Equal(t, info.MemoryEstimate(info.ContextLength, 2), info.MemoryEstimate(0, 2))

			got := Info{Architecture: info.Architecture, SizeLabel: info.SizeLabel, Quantization: info.Quantization, ContextLength: info.ContextLength,
				BlockCount: info.BlockCount, EmbeddingLength: info.EmbeddingLength, HeadCount: info.HeadCount, HeadCountKV: info.HeadCountKV,
				KeyLength: info.KeyLength, ValueLength: info.ValueLength, VocabSize: info.VocabSize, TokenizerModel: info.TokenizerModel, Parameters: info.Parameters}
			require.Equal(t, tt.want, got)
		})
	}
}

func TestInspectTruncatedRealModel(t *testing.T) {
	t.Parallel()
	f, err := os.Open(testmodel.Path(t, testmodel.Tiny))
	require.NoError(t, err)
	defer f.Close()
	stat, err := f.Stat()
	require.NoError(t, err)
	size := stat.Size()
	head := make([]byte, 4<<20) // the header and some of the weights
	_, err = io.ReadFull(f, head)
	require.NoError(t, err)
	tests := map[string]struct {
		bytes  int64
		reason string
	}{
		"nothing left":   {0, "it is empty (0 bytes)"},
		"magic only":     {4, "it is truncated: 4 bytes are too few for a GGUF header (at least 24)"},
		"in the header":  {100_000, "it is truncated: it ends at byte 100000, inside its header"},
		"half":           {size / 2, "it is truncated: 98362432 bytes expected, 49181216 bytes there"},
		"last byte lost": {size - 1, "it is truncated: 98362432 bytes expected, 98362431 bytes there"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := writeFile(t, "cut.gguf", head)
			require.NoError(t, os.Truncate(path, tt.bytes)) // shorter, or longer with a hole
			requireReason(t, path, tt.reason)
		})
	}
}

// requireReason inspects and checks a file that must be refused with a reason, in one line that names the file.
func requireReason(t *testing.T, path, reason string) *FileError {
	t.Helper()
	info, err := Inspect(path)
	if err == nil {
		err = info.Check()
	}
	var fe *FileError
	require.ErrorAs(t, err, &fe)
	require.Equal(t, path, fe.Path)
	require.Contains(t, fe.Reason, reason)
	require.NotEmpty(t, fe.Fix)
	require.Contains(t, err.Error(), path)
	require.NotContains(t, err.Error(), "\n")
	require.Less(t, len(err.Error()), 1000)
	return fe
}

func TestInspectTinyModel(t *testing.T) {
	t.Parallel()
	info, err := Inspect(tinyModel().write(t, "tiny.gguf"))
	require.NoError(t, err)
	require.NoError(t, info.Check())
	require.Equal(t, "llama", info.Architecture)
	require.Equal(t, "Tiny", info.Name)
	require.Equal(t, "F32", info.Quantization)
	require.Equal(t, 264, info.VocabSize)
	require.Equal(t, 8, info.KeyLength)
	require.Equal(t, info.FileBytes, info.ExpectedBytes)
	require.Equal(t, int64(2*2*2*8*2*100), info.MemoryEstimate(100, 2).KVBytes, "2 × layers × KV heads × head size × bytes × tokens")
}

func TestMemoryOfLayers(t *testing.T) {
	t.Parallel()
	const perLayer = 2 * (8 + 8) * 2 * 100 // KV heads × (key + value) × bytes × tokens
	tests := map[string]struct {
		file *file
		want int64
	}{
		"all layers":          {tinyModel(), 2 * perLayer},
		"heads by layer":      {tinyModel().with("llama.attention.head_count_kv", []int32{2, 0}), perLayer},
		"kv heads by default": {tinyModel().without("llama.attention.head_count_kv"), 4 * perLayer},
		"larger keys":         {tinyModel().with("llama.attention.key_length", uint32(24)), 4 * perLayer},
		"recurrent":           {tinyModel().as("mamba"), 0},
		"every second layer":  {tinyModel().as("qwen35").with("qwen35.full_attention_interval", uint32(2)), perLayer},
		"listed layers":       {tinyModel().as("lfm2").with("lfm2.attention.recurrent_layers", []bool{true, true}), 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			info, err := Inspect(tt.file.write(t, "m.gguf"))
			require.NoError(t, err)
			require.Equal(t, tt.want, info.MemoryEstimate(100, 2).KVBytes)
		})
	}
}

func TestTextsFromTheFileAreHarmless(t *testing.T) {
	t.Parallel()
	info, err := Inspect(tinyModel().with("general.name", "evil\x1b[2J\u202e\nname\xff").write(t, "m.gguf"))
	require.NoError(t, err)
	require.Equal(t, "evil [2J  name\uFFFD", info.Name)

	path := tinyModel().with("general.architecture", "x\x1b]0;owned\a"+strings.Repeat("y", 200)).write(t, "m.gguf")
	fe := requireReason(t, path, "is not one that the built-in llama.cpp knows")
	require.NotContains(t, fe.Error(), "\x1b")
}

func TestSupportsTools(t *testing.T) {
	t.Parallel()
	tests := map[string]bool{
		"":                                false,
		"{%- if tools %}x{% endif %}":     true,
		"{{ tools | tojson }}":            true,
		"{% if custom_tools %}":           true,
		"{{ x.tools }}":                   true,
		"{# tools #}{{ x }}":              false,
		"Use tools. {{ messages }}":       false,
		"{{ a }} tools {{ b }}":           false,
		"{% set toolset = 1 %}":           false,
		"{% set tools_used = 1 %}":        false,
		"{ { tools } }":                   false,
		"{{ {'a': 1} }}{% for t in tools": true,
		"{":                               false,
	}
	for template, want := range tests {
		require.Equal(t, want, (&Info{ChatTemplate: template}).SupportsTools(), template)
	}
	info, err := Inspect(tinyModel().with("tokenizer.chat_template.tool_use", "{{ x }}").write(t, "m.gguf"))
	require.NoError(t, err)
	require.True(t, info.SupportsTools(), "a template of its own for tools")
}

func TestSizeLabel(t *testing.T) {
	t.Parallel()
	for parameters, want := range map[int64]string{12: "12", 134_515_008: "135M", 1_500_000_000: "1.5B", 72_706_203_648: "73B", 1_026_408_232_448: "1.0T"} {
		require.Equal(t, want, sizeLabel(parameters))
	}
}

func TestQuantizationWithoutFileType(t *testing.T) {
	t.Parallel()
	f := tinyModel().without("general.file_type")
	for i := range f.tensors {
		f.tensors[i].kind = 8
	}
	info, err := Inspect(f.write(t, "m.gguf"))
	require.NoError(t, err)
	require.Equal(t, "Q8_0", info.Quantization)
}

func TestKVElementBytes(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]float64{"f16": 2, "F32": 4, "q8_0": 34.0 / 32, "Q4_0": 18.0 / 32} {
		got, err := KVElementBytes(name)
		require.NoError(t, err)
		require.InDelta(t, want, got, 1e-9)
	}
	_, err := KVElementBytes("q4_k")
	require.ErrorContains(t, err, `KV cache type "q4_k" is unknown; use one of f32, f16`)
}

func TestFiles(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{"m.gguf"}, (&Info{Path: "m.gguf"}).Files())
	require.Equal(t, []string{"d/m-00001-of-00003.gguf", "d/m-00002-of-00003.gguf", "d/m-00003-of-00003.gguf"},
		(&Info{Path: "d/m-00001-of-00003.gguf", SplitCount: 3}).Files())
	require.Equal(t, []string{"m-00001-of-00003.gguf"}, (&Info{Path: "m-00001-of-00003.gguf", SplitCount: maxParts + 1}).Files())
}
