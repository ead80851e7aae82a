package gguf

import (
	"fmt"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// llamaSource returns a file of the pinned llama.cpp. Without its source the test is skipped, except in CI, where it fails.
func llamaSource(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "build", "llama", "src", filepath.FromSlash(name)))
	if os.IsNotExist(err) && os.Getenv("CI") == "" {
		t.Skip("llama.cpp's source is absent; fetch it with scripts/llama.sh")
	}
	require.NoError(t, err)
	return string(data)
}

// between returns the text between two marks.
func between(t *testing.T, text, start, end string) string {
	t.Helper()
	_, text, ok := strings.Cut(text, start)
	require.True(t, ok, start)
	text, _, ok = strings.Cut(text, end)
	require.True(t, ok, end)
	return text
}

func TestArchitecturesAreThoseOfTheSource(t *testing.T) {
	t.Parallel()
	source := llamaSource(t, "src/llama-arch.cpp")
	names := map[string]string{}
	var all []string
	for _, m := range regexp.MustCompile(`\{\s*(LLM_ARCH_\w+),\s*"([^"]+)"`).FindAllStringSubmatch(between(t, source, "LLM_ARCH_NAMES = {", "};"), -1) {
		names[m[1]] = m[2]
		if m[1] != "LLM_ARCH_UNKNOWN" {
			all = append(all, m[2])
		}
	}
	require.Equal(t, all, Architectures())

	listed := func(function string) (list []string) {
		for _, m := range regexp.MustCompile(`case (LLM_ARCH_\w+):`).FindAllStringSubmatch(between(t, source, "bool "+function+"(", "default:"), -1) {
			list = append(list, names[m[1]])
		}
		return list
	}
	require.Equal(t, listed("llm_arch_is_recurrent"), recurrentArchitectures)
	require.Equal(t, listed("llm_arch_is_hybrid"), hybridArchitectures)
	require.Equal(t, listed("llm_arch_is_diffusion"), diffusionArchitectures)
	require.Subset(t, all, embeddingArchitectures)
	for arch := range helperArchitectures {
		require.Contains(t, all, arch)
	}

	// Architectures without a memory can hold no conversation; each must be refused under one name or another.
	memoryless := between(t, llamaSource(t, "src/llama-model.cpp"), "llama_model::create_memory(", "res = nullptr;")
	for _, m := range regexp.MustCompile(`case (LLM_ARCH_\w+):`).FindAllStringSubmatch(memoryless, -1) {
		arch := names[m[1]]
		info := &Info{Architecture: arch, EmbeddingOnly: embeddingOnly(nil, arch), tensors: 1}
		require.NotNil(t, info.checkArchitecture(), arch)
	}
}

func TestGraphAssertionsAreThoseOfTheSource(t *testing.T) {
	t.Parallel()
	names := map[string]string{}
	for _, m := range regexp.MustCompile(`\{\s*(LLM_ARCH_\w+),\s*"([^"]+)"`).FindAllStringSubmatch(llamaSource(t, "src/llama-arch.cpp"), -1) {
		names[m[1]] = m[2]
	}
	// Models that use the graph of another one.
	graphs := map[string]string{}
	model := ""
	for line := range strings.Lines(llamaSource(t, "src/models/models.h")) {
		if m := regexp.MustCompile(`^struct llama_model_(\w+) : `).FindStringSubmatch(line); m != nil {
			model = m[1]
		}
		if m := regexp.MustCompile(`using graph = llama_model_(\w+)::graph`).FindStringSubmatch(line); m != nil {
			graphs[model] = m[1]
		}
	}
	sources, err := filepath.Glob(filepath.Join("..", "..", "build", "llama", "src", "src", "models", "*.cpp"))
	require.NoError(t, err)
	// By model whose graph a file defines, the text of that file.
	texts := map[string]string{}
	for _, path := range sources {
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		for _, m := range regexp.MustCompile(`llama_model_(\w+)::graph(?:<[^>]*>)?::graph\(`).FindAllStringSubmatch(string(data), -1) {
			texts[m[1]] = string(data)
		}
	}
	asserting := func(assertion string) map[string]bool {
		pattern := regexp.MustCompile(`(?m)^\s+GGML_ASSERT\(` + assertion + `\)`)
		list := map[string]bool{}
		for _, m := range regexp.MustCompile(`case (LLM_ARCH_\w+):\s*return new llama_model_(\w+)\(params\)`).FindAllStringSubmatch(llamaSource(t, "src/llama-model.cpp"), -1) {
			graph := m[2]
			if other, ok := graphs[graph]; ok {
				graph = other
			}
			if pattern.MatchString(texts[graph]) {
				list[names[m[1]]] = true
			}
		}
		return list
	}
	set := func(list []string) map[string]bool {
		m := map[string]bool{}
		for _, name := range list {
			m[name] = true
		}
		return m
	}
	require.Equal(t, asserting(`n_embd_head\s*== hparams\.n_embd_head_[kv]\(\)`), set(equalHeadArchitectures))
	require.Equal(t, asserting(`n_embd_head\s*== n_rot`), set(fullRopeArchitectures))
	require.Subset(t, Architectures(), sectionArchitectures)
	for _, arch := range expertArchitectures {
		require.Contains(t, names, "LLM_ARCH_"+strings.ToUpper(strings.NewReplacer("-", "_", "glm4moe", "glm4_moe").Replace(arch)))
	}
}

func TestTensorTypesAreThoseOfTheSource(t *testing.T) {
	t.Parallel()
	numbers := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^\s*GGML_TYPE_(\w+)\s*=\s*(\d+),`).FindAllStringSubmatch(between(t, llamaSource(t, "ggml/include/ggml.h"), "enum ggml_type {", "};"), -1) {
		numbers[m[1]] = m[2]
	}
	count := numbers["COUNT"]
	delete(numbers, "COUNT")
	require.Len(t, tensorTypes, len(numbers))
	require.Less(t, uint64(tensorTypes[len(tensorTypes)-1].id), mustUint(t, count))

	sizes := between(t, llamaSource(t, "gguf-py/gguf/constants.py"), "GGML_QUANT_SIZES: dict[GGMLQuantizationType, tuple[int, int]] = {", "\n}")
	found := regexp.MustCompile(`GGMLQuantizationType\.(\w+):\s*\((\d+), (.+)\),`).FindAllStringSubmatch(sizes, -1)
	require.Len(t, found, len(tensorTypes))
	for i, m := range found {
		expression := strings.NewReplacer("QK_K", "256", "//", "/").Replace(m[3])
		bytes, err := types.Eval(token.NewFileSet(), nil, token.NoPos, expression)
		require.NoError(t, err, m[0])
		got := tensorTypes[i]
		require.Equal(t, []string{m[1], numbers[m[1]], m[2], bytes.Value.String()}, []string{got.name, fmt.Sprint(got.id), fmt.Sprint(got.block), fmt.Sprint(got.bytes)})
	}
}

func TestFileTypesAreThoseOfTheSource(t *testing.T) {
	t.Parallel()
	want := map[int]string{}
	for _, m := range regexp.MustCompile(`(?m)^\s*LLAMA_FTYPE_(?:MOSTLY|ALL)_(\w+)\s*=\s*(\d+),`).FindAllStringSubmatch(between(t, llamaSource(t, "include/llama.h"), "enum llama_ftype {", "};"), -1) {
		want[int(mustUint(t, m[2]))] = m[1]
	}
	require.NotEmpty(t, want)
	require.Equal(t, want, fileTypes)
}

func TestLimitsAreThoseOfTheSource(t *testing.T) {
	t.Parallel()
	hparams := llamaSource(t, "src/llama-hparams.h")
	require.Contains(t, hparams, fmt.Sprintf("#define LLAMA_MAX_LAYERS  %d\n", maxLayers))
	require.Contains(t, hparams, fmt.Sprintf("#define LLAMA_MAX_EXPERTS %d ", maxExperts))
	ggml := llamaSource(t, "ggml/include/ggml.h")
	require.Regexp(t, fmt.Sprintf(`#define GGML_MAX_DIMS\s+%d\n`, maxDims), ggml)
	require.Regexp(t, fmt.Sprintf(`define GGML_MAX_NAME\s+%d\n`, maxTensorName+1), ggml)
	reader := llamaSource(t, "ggml/src/gguf.cpp")
	require.Equal(t, maxStringBytes, 1024*1024*1024)
	require.Contains(t, reader, "#define GGUF_MAX_STRING_LENGTH  (1024*1024*1024)")
	require.Contains(t, reader, "#define GGUF_MAX_ARRAY_ELEMENTS (1024*1024*1024)")
	require.Contains(t, llamaSource(t, "ggml/include/gguf.h"), "#define GGUF_VERSION 3")
}

func mustUint(t *testing.T, text string) uint64 {
	t.Helper()
	n, err := strconv.ParseUint(text, 10, 64)
	require.NoError(t, err)
	return n
}
