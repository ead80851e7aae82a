package gguf

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// file builds GGUF files for tests. Pairs are written in the order of their keys.
type file struct {
	version uint32
	pairs   map[string]any // Go values, or raw for anything else
	tensors []testTensor
	noData  bool
}

// raw is a value with its type, written as it is.
type raw struct {
	kind kind
	data []byte
}

type testTensor struct {
	name  string
	dims  []uint64
	kind  tensorType
	shift uint64 // added to the right offset
}

// tinyModel is a complete llama model with two layers and random-free (zero) weights: 80 kB that llama.cpp loads.
func tinyModel() *file {
	const embedding, heads, kvHeads, ffn, layers = 32, 4, 2, 64, 2
	tokens := []string{"<unk>", "<s>", "</s>"}
	types := []int32{2, 3, 3}
	for b := range 256 {
		tokens = append(tokens, fmt.Sprintf("<0x%02X>", b))
		types = append(types, 6)
	}
	for _, word := range []string{"\u2581", "a", "b", "hello", "world"} {
		tokens = append(tokens, word)
		types = append(types, 1)
	}
	vocabulary := uint64(len(tokens))
	f := &file{version: 3, pairs: map[string]any{
		"general.architecture":                   "llama",
		"general.type":                           "model",
		"general.name":                           "Tiny",
		"general.file_type":                      uint32(0),
		"llama.context_length":                   uint32(128),
		"llama.embedding_length":                 uint32(embedding),
		"llama.block_count":                      uint32(layers),
		"llama.feed_forward_length":              uint32(ffn),
		"llama.attention.head_count":             uint32(heads),
		"llama.attention.head_count_kv":          uint32(kvHeads),
		"llama.attention.layer_norm_rms_epsilon": float32(1e-5),
		"llama.rope.dimension_count":             uint32(embedding / heads),
		"tokenizer.ggml.model":                   "llama",
		"tokenizer.ggml.tokens":                  tokens,
		"tokenizer.ggml.token_type":              types,
		"tokenizer.ggml.scores":                  make([]float32, len(tokens)),
		"tokenizer.chat_template":                "{% for m in messages %}{{ m.content }}{% endfor %}",
	}}
	add := func(name string, dims ...uint64) {
		f.tensors = append(f.tensors, testTensor{name: name + ".weight", dims: dims})
	}
	add("token_embd", embedding, vocabulary)
	add("output_norm", embedding)
	for i := range layers {
		block := fmt.Sprintf("blk.%d.", i)
		add(block+"attn_norm", embedding)
		add(block+"attn_q", embedding, embedding)
		add(block+"attn_k", embedding, embedding/heads*kvHeads)
		add(block+"attn_v", embedding, embedding/heads*kvHeads)
		add(block+"attn_output", embedding, embedding)
		add(block+"ffn_norm", embedding)
		add(block+"ffn_gate", embedding, ffn)
		add(block+"ffn_up", embedding, ffn)
		add(block+"ffn_down", ffn, embedding)
	}
	return f
}

// as changes the architecture and the keys that carry its name.
func (f *file) as(arch string) *file {
	for key, v := range maps.Clone(f.pairs) {
		if rest, ok := bytes.CutPrefix([]byte(key), []byte("llama.")); ok {
			delete(f.pairs, key)
			f.pairs[arch+"."+string(rest)] = v
		}
	}
	return f.with("general.architecture", arch)
}

func (f *file) with(key string, v any) *file {
	f.pairs[key] = v
	return f
}

func (f *file) without(key string) *file {
	delete(f.pairs, key)
	return f
}

// bytes lays the file out, tensor data included.
func (f *file) bytes() []byte {
	var b bytes.Buffer
	b.WriteString("GGUF")
	put(&b, f.version)
	put(&b, uint64(len(f.tensors)))
	put(&b, uint64(len(f.pairs)))
	for _, key := range slices.Sorted(maps.Keys(f.pairs)) {
		putText(&b, key)
		putValue(&b, f.pairs[key])
	}
	alignment := uint64(32)
	if a, ok := f.pairs["general.alignment"].(uint32); ok && a > 0 && a <= 4096 && a&(a-1) == 0 {
		alignment = uint64(a)
	}
	var size uint64
	for _, t := range f.tensors {
		putText(&b, t.name)
		put(&b, uint32(len(t.dims)))
		elements := uint64(1)
		for _, n := range t.dims {
			put(&b, n)
			elements *= n
		}
		put(&b, uint32(t.kind))
		put(&b, size+t.shift)
		if layout, ok := lookupType(t.kind); ok {
			size = pad(size+elements/layout.block*layout.bytes, alignment)
		}
	}
	if !f.noData {
		b.Write(make([]byte, pad(uint64(b.Len()), alignment)-uint64(b.Len())+size))
	}
	return b.Bytes()
}

// write stores the file in a new folder and returns its path.
func (f *file) write(t testing.TB, name string) string {
	t.Helper()
	return writeFile(t, name, f.bytes())
}

func writeFile(t testing.TB, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, data, 0o644))
	return path
}

func put(b *bytes.Buffer, v any) {
	if err := binary.Write(b, binary.LittleEndian, v); err != nil {
		panic(err)
	}
}

func putText(b *bytes.Buffer, s string) {
	put(b, uint64(len(s)))
	b.WriteString(s)
}

func putValue(b *bytes.Buffer, v any) {
	kinds := map[string]kind{
		"uint8": kindUint8, "int8": kindInt8, "uint16": kindUint16, "int16": kindInt16, "uint32": kindUint32, "int32": kindInt32,
		"float32": kindFloat32, "bool": kindBool, "uint64": kindUint64, "int64": kindInt64, "float64": kindFloat64,
	}
	switch v := v.(type) {
	case raw:
		put(b, uint32(v.kind))
		b.Write(v.data)
	case string:
		put(b, uint32(kindString))
		putText(b, v)
	case []string:
		put(b, uint32(kindArray))
		put(b, uint32(kindString))
		put(b, uint64(len(v)))
		for _, s := range v {
			putText(b, s)
		}
	case []int32:
		putArray(b, kindInt32, len(v), v)
	case []uint32:
		putArray(b, kindUint32, len(v), v)
	case []float32:
		putArray(b, kindFloat32, len(v), v)
	case []bool:
		putArray(b, kindBool, len(v), v)
	default:
		put(b, uint32(kinds[fmt.Sprintf("%T", v)]))
		put(b, v)
	}
}

func putArray(b *bytes.Buffer, elem kind, n int, v any) {
	put(b, uint32(kindArray))
	put(b, uint32(elem))
	put(b, uint64(n))
	put(b, v)
}

// arrayHeader is an array value without its elements.
func arrayHeader(elem kind, n uint64) raw {
	var b bytes.Buffer
	put(&b, uint32(elem))
	put(&b, n)
	return raw{kind: kindArray, data: b.Bytes()}
}
