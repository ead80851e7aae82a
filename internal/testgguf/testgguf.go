// Package testgguf writes small GGUF files with weights for tests that llama.cpp computes with.
package testgguf

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// alignment is where the data of a tensor may start: GGUF's default.
const alignment = 32

// File is a GGUF file of version 3.
type File struct {
	Pairs   map[string]any // string, uint32, float32, bool, []string, []int32 or []float32
	Tensors []Tensor
}

// Tensor holds 32-bit floats. The elements of the first dimension lie side by side.
type Tensor struct {
	Name string
	Dims []int
	Data []float32
}

// Random is a tensor of normally distributed numbers; the same seed gives the same ones.
func Random(name string, seed uint64, deviation float32, dims ...int) Tensor {
	r := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // weights are no secret
	t := Tensor{Name: name, Dims: dims, Data: make([]float32, product(dims))}
	for i := range t.Data {
		t.Data[i] = float32(r.NormFloat64()) * deviation
	}
	return t
}

// Constant is a tensor of equal numbers.
func Constant(name string, value float32, dims ...int) Tensor {
	return Tensor{Name: name, Dims: dims, Data: slices.Repeat([]float32{value}, product(dims))}
}

func product(dims []int) int {
	n := 1
	for _, d := range dims {
		n *= d
	}
	return n
}

// LoRA is an adapter of some rank, with an alpha that is the rank, that changes matrices of a model: by name, their widths
// and heights. The names give the weights, so that the same call gives the same file.
func LoRA(architecture string, rank int, deviation float32, matrices map[string][2]int) File {
	f := File{Pairs: map[string]any{
		"general.type": "adapter", "general.architecture": architecture, "adapter.type": "lora", "adapter.lora.alpha": float32(rank),
	}}
	for i, name := range slices.Sorted(maps.Keys(matrices)) {
		size := matrices[name]
		f.Tensors = append(f.Tensors,
			Random(name+".lora_a", uint64(2*i+1), deviation, size[0], rank), Random(name+".lora_b", uint64(2*i+2), deviation, rank, size[1]))
	}
	return f
}

// BERTWords are the words that [BERT] knows.
var BERTWords = []string{"owl", "oak", "river", "stone", "boy", "green", "old", "the", "in", "sat"}

// BERT is an encoder with random weights: 2 layers, vectors of 32 numbers, texts of at most 64 tokens. Its tokenizer puts
// [CLS] before and [SEP] behind a text.
func BERT() File {
	const width, heads, inner, layers, context = 32, 4, 64, 2, 64
	tokens, types := []string{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}, []int32{3, 2, 3, 3, 3}
	for _, w := range BERTWords {
		tokens, types = append(tokens, "\u2581"+w), append(types, 1)
	}
	f := File{Pairs: map[string]any{
		"general.architecture": "bert", "general.type": "model", "general.name": "Tiny encoder",
		"bert.context_length": uint32(context), "bert.embedding_length": uint32(width), "bert.block_count": uint32(layers),
		"bert.feed_forward_length": uint32(inner), "bert.attention.head_count": uint32(heads),
		"bert.attention.layer_norm_epsilon": float32(1e-12), "bert.attention.causal": false, "bert.pooling_type": uint32(2),
		"tokenizer.ggml.model": "bert", "tokenizer.ggml.tokens": tokens, "tokenizer.ggml.token_type": types,
		"tokenizer.ggml.scores": make([]float32, len(tokens)), "tokenizer.ggml.token_type_count": uint32(2),
		"tokenizer.ggml.padding_token_id": uint32(0), "tokenizer.ggml.unknown_token_id": uint32(1), "tokenizer.ggml.bos_token_id": uint32(2),
		"tokenizer.ggml.cls_token_id": uint32(2), "tokenizer.ggml.seperator_token_id": uint32(3), "tokenizer.ggml.mask_token_id": uint32(4),
	}}
	weight := func(name string, dims ...int) {
		f.Tensors = append(f.Tensors, Random(name+".weight", uint64(len(f.Tensors)), 0.3, dims...))
	}
	norm := func(name string) {
		f.Tensors = append(f.Tensors, Constant(name+".weight", 1, width), Constant(name+".bias", 0, width))
	}
	weight("token_embd", width, len(tokens))
	weight("token_types", width, 2)
	weight("position_embd", width, context)
	norm("token_embd_norm")
	for i := range layers {
		block := fmt.Sprintf("blk.%d.", i)
		for _, name := range []string{"attn_q", "attn_k", "attn_v", "attn_output"} {
			weight(block+name, width, width)
		}
		norm(block + "attn_output_norm")
		weight(block+"ffn_up", width, inner)
		weight(block+"ffn_down", inner, width)
		norm(block + "layer_output_norm")
	}
	return f
}

// Write stores the file in a new folder and returns its path.
func (f File) Write(t testing.TB, name string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, f.Bytes(), 0o600))
	return path
}

// Bytes lays the file out, metadata in the order of their keys.
func (f File) Bytes() []byte {
	w := &writer{}
	w.WriteString("GGUF")
	w.put(uint32(3))
	w.put(uint64(len(f.Tensors)))
	w.put(uint64(len(f.Pairs)))
	for _, key := range slices.Sorted(maps.Keys(f.Pairs)) {
		w.text(key)
		w.value(f.Pairs[key])
	}
	offset := 0
	for _, t := range f.Tensors {
		w.text(t.Name)
		w.put(uint32(len(t.Dims)))
		for _, d := range t.Dims {
			w.put(uint64(d))
		}
		w.put(uint32(0)) // GGML_TYPE_F32
		w.put(uint64(offset))
		offset += (len(t.Data)*4 + alignment - 1) / alignment * alignment
	}
	for _, t := range f.Tensors {
		w.pad()
		w.put(t.Data)
	}
	w.pad()
	return w.Bytes()
}

type writer struct{ bytes.Buffer }

// put writes numbers. A buffer gives no errors, and the types are those of this file.
func (w *writer) put(v any) {
	if err := binary.Write(w, binary.LittleEndian, v); err != nil {
		panic(err)
	}
}

func (w *writer) pad() {
	w.Write(make([]byte, (alignment-w.Len()%alignment)%alignment))
}

func (w *writer) text(s string) {
	w.put(uint64(len(s)))
	w.WriteString(s)
}

// value writes a type as numbered in ggml's gguf.h and the value.
func (w *writer) value(v any) {
	const u32, i32, f32, boolean, text, array = 4, 5, 6, 7, 8, 9
	list := func(kind uint32, n int) {
		w.put(uint32(array))
		w.put(kind)
		w.put(uint64(n))
	}
	switch v := v.(type) {
	case uint32:
		w.put(uint32(u32))
		w.put(v)
	case float32:
		w.put(uint32(f32))
		w.put(v)
	case bool:
		w.put(uint32(boolean))
		w.put(v)
	case string:
		w.put(uint32(text))
		w.text(v)
	case []string:
		list(text, len(v))
		for _, s := range v {
			w.text(s)
		}
	case []int32:
		list(i32, len(v))
		w.put(v)
	case []float32:
		list(f32, len(v))
		w.put(v)
	default:
		panic(fmt.Sprintf("testgguf: a value of type %T", v))
	}
}
