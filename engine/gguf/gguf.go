// Package gguf looks into GGUF model files without llama.cpp and without reading their weights.
//
// [Inspect] reads the header of a file: metadata and tensor descriptions. [Info.Check] says whether the pinned llama.cpp
// can load the file for chat, [Info.CheckEmbedding] whether for embeddings, and [InspectAdapter] whether it can apply a LoRA
// adapter to it; they exist because some damaged or unusual files make llama.cpp abort the whole process
// instead of returning an error. They know the causes that concern all architectures or many; assertions about metadata of
// a single rare architecture are left to llama.cpp. A file that passes may still be refused by llama.cpp with an ordinary
// error, for example because a tensor is missing.
//
// The package does not decode weights, render chat templates or tokenise. It depends on nothing of the engine.
package gguf

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
)

// Info describes one GGUF model file, or the first file of a model split into several.
// Numbers that the file does not state are 0. Texts come from the file: they are valid UTF-8 and, except for
// ChatTemplate, free of control characters and at most 256 bytes long.
//
// An Info is a value without resources and is safe for concurrent use as long as nobody changes it.
type Info struct {
	Path      string // as given to Inspect
	FileBytes int64  // size of this file
	// ExpectedBytes is the size this file must at least have to hold every tensor that its header describes.
	ExpectedBytes int64
	Version       int // GGUF version, 2 or 3

	Architecture string // "llama", "qwen2", …; see Architectures
	Name         string // the model's own name
	SizeLabel    string // "1.5B"; computed from Parameters when the file has none
	Quantization string // "Q4_K_M"; from the commonest tensor type when the file does not say
	Parameters   int64  // number of weights, all split files together

	ContextLength   int // tokens the model was trained for
	BlockCount      int // layers
	EmbeddingLength int
	HeadCount       int // query heads; the largest of all layers
	HeadCountKV     int // key/value heads; the largest of all layers
	KeyLength       int // elements of one key head
	ValueLength     int // elements of one value head
	SlidingWindow   int // tokens; 0 when every layer sees the whole context
	VocabSize       int // tokens

	TokenizerModel string // "gpt2", "llama", …
	ChatTemplate   string // Jinja source, empty when the file has none

	Recurrent     bool // no attention at all (Mamba, RWKV): the memory of a sequence goes back only to saved states
	Hybrid        bool // attention and recurrent layers: same limit
	EmbeddingOnly bool // made for embeddings or ranking, cannot chat

	SplitIndex int // 0-based number of this file among SplitCount
	SplitCount int // 0 or 1 when the model is one file
	// MissingParts names the files of a split model that are not there.
	MissingParts []string

	kind         string // general.type: "model", "adapter", "mmproj", "imatrix"; often absent
	toolTemplate string // tokenizer.chat_template.tool_use
	tensors      int    // tensors of this file
	weightBytes  int64  // tensor data, all split files together
	kvHeads      []int  // key/value heads a layer; empty when unknown
	meta         metadata
	unusable     tensor
	duplicated   bool  // two tokens of the vocabulary are equal
	partErr      error // the first damaged part of a split model
}

// Inspect reads the header of the GGUF file at path, and of the other parts when it is the first file of a split model.
//
// Memory stays below 64 MiB and the bytes read below 256 MiB a file, whatever the file claims; a usual header of a few megabytes takes
// less than a tenth of a second. Anything that is not a readable GGUF header is a *[FileError]. Whether the model is usable is
// a separate question, see [Info.Check].
func Inspect(path string) (*Info, error) {
	info, err := inspectFile(path)
	if err != nil {
		return nil, err
	}
	if info.SplitCount > 1 && info.SplitIndex == 0 {
		info.inspectParts()
	}
	if info.SizeLabel == "" && info.Parameters > 0 {
		info.SizeLabel = sizeLabel(info.Parameters)
	}
	return info, nil
}

// inspectFile reads the header of exactly one file.
func inspectFile(path string) (*Info, error) {
	h, size, err := headerOf(path)
	if err != nil {
		return nil, err
	}
	info := newInfo(h, size)
	info.Path = path
	return info, nil
}

// headerOf reads the header of a file, and tells the file's size.
func headerOf(path string) (*header, int64, error) {
	// Stat comes first: opening a FIFO would block until somebody writes to it.
	stat, err := os.Stat(path)
	if err != nil {
		return nil, 0, missingError(path, err)
	}
	if stat.IsDir() {
		return nil, 0, directoryError(path)
	}
	if !stat.Mode().IsRegular() {
		return nil, 0, &FileError{Path: path, Reason: "it is not a regular file (" + stat.Mode().Type().String() + ")", Fix: "give the path of a .gguf file"}
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, missingError(path, err)
	}
	defer f.Close()
	h, err := checkedHeader(f, stat.Size())
	if err != nil {
		if fe, ok := errors.AsType[*FileError](err); ok {
			fe.Path = path
			return nil, 0, fe
		}
		return nil, 0, &FileError{Path: path, Reason: reading(err), Fix: "check the disk and the file's permissions", Err: err}
	}
	return h, stat.Size(), nil
}

// reading turns an operating system error into a reason without the path, which FileError names already.
func reading(err error) string {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return fmt.Sprintf("it cannot be read (%v)", pe.Err)
	}
	return fmt.Sprintf("it cannot be read (%v)", err)
}

// checkedHeader reads a header from rs, which holds size bytes. A *FileError comes back without its path.
func checkedHeader(rs io.ReadSeeker, size int64) (*header, error) {
	if err := checkMagic(rs, size); err != nil {
		return nil, err
	}
	return readHeader(rs, size)
}

// newInfo picks the facts out of a header. It never fails: missing or odd values stay zero and are Check's business.
func newInfo(h *header, size int64) *Info {
	m := h.meta
	arch := m.text("general.architecture")
	info := &Info{
		FileBytes:      size,
		ExpectedBytes:  h.expectedBytes,
		Version:        int(h.version),
		Architecture:   clean(arch),
		Name:           clean(m.text("general.name")),
		SizeLabel:      clean(m.text("general.size_label")),
		Quantization:   quantization(m, h.commonestType),
		Parameters:     h.elements,
		TokenizerModel: clean(m.text("tokenizer.ggml.model")),
		ChatTemplate:   m.text("tokenizer.chat_template"),
		Recurrent:      slices.Contains(recurrentArchitectures, arch),
		Hybrid:         slices.Contains(hybridArchitectures, arch),
		SplitIndex:     m.integer("split.no"),
		SplitCount:     m.integer("split.count"),
		kind:           m.text("general.type"),
		toolTemplate:   m.text("tokenizer.chat_template.tool_use"),
		tensors:        len(h.tensors),
		weightBytes:    h.weightBytes,
		meta:           m,
		duplicated:     h.duplicateToken,
		unusable:       h.unusable,
	}
	own := func(key string) int { return m.integer(arch + "." + key) }
	info.ContextLength = own("context_length")
	info.BlockCount = own("block_count")
	info.EmbeddingLength = own("embedding_length")
	info.SlidingWindow = own("attention.sliding_window")
	info.VocabSize = m.length("tokenizer.ggml.tokens")
	if info.VocabSize == 0 {
		info.VocabSize = own("vocab_size")
	}
	info.setHeads(arch)
	info.EmbeddingOnly = embeddingOnly(m, arch)
	return info
}

// setHeads fills the attention shape, with the defaults of llama.cpp's load_hparams: key/value heads as many as query
// heads, head size = embedding length / heads.
func (info *Info) setHeads(arch string) {
	heads := info.meta.perLayer(arch+".attention.head_count", info.BlockCount)
	kvHeads := info.meta.perLayer(arch+".attention.head_count_kv", info.BlockCount)
	if len(kvHeads) == 0 {
		kvHeads = heads
	}
	if len(heads) > 0 {
		info.HeadCount = slices.Max(heads)
		info.KeyLength = info.EmbeddingLength / max(info.HeadCount, 1)
		info.ValueLength = info.KeyLength
	}
	if len(kvHeads) > 0 {
		info.HeadCountKV = slices.Max(kvHeads)
	}
	for key, length := range map[string]*int{"key_length": &info.KeyLength, "value_length": &info.ValueLength} {
		if _, ok := info.meta[arch+".attention."+key]; ok {
			*length = info.meta.integer(arch + ".attention." + key) // 0 counts, as it does for llama.cpp
		}
	}
	info.kvHeads = attentionOnly(slices.Clone(kvHeads), info.meta, arch)
}

// attentionOnly sets the key/value heads of recurrent layers to 0, as far as the metadata tell which layers these are.
func attentionOnly(kvHeads []int, m metadata, arch string) []int {
	if slices.Contains(recurrentArchitectures, arch) {
		return nil
	}
	interval := m.integer(arch + ".full_attention_interval")
	recurrent := m.perLayer(arch+".attention.recurrent_layers", len(kvHeads))
	for i := range kvHeads {
		switch {
		case len(recurrent) == len(kvHeads) && recurrent[i] != 0,
			len(recurrent) == 0 && interval > 1 && (i+1)%interval != 0:
			kvHeads[i] = 0
		}
	}
	return kvHeads
}

// embeddingOnly reports whether the model gives vectors or scores instead of text: by its architecture, by attention
// that looks ahead, or by a pooling type, which converters write only for embedding and ranking models.
func embeddingOnly(m metadata, arch string) bool {
	if slices.Contains(embeddingArchitectures, arch) {
		return true
	}
	if v, ok := m[arch+".attention.causal"]; ok && v.kind == kindBool && v.num == 0 {
		return !slices.Contains(diffusionArchitectures, arch)
	}
	return m.integer(arch+".pooling_type") > 0
}

// SupportsTools reports whether the model's chat template mentions tools, the variable in which llama.cpp passes the
// tool list. It says nothing about how well the model calls them.
func (info *Info) SupportsTools() bool {
	return info.toolTemplate != "" || mentionsTools(info.ChatTemplate)
}

// sizeLabel writes a number of weights the way model names do: 135M, 1.5B, 72B.
func sizeLabel(parameters int64) string {
	for _, unit := range []struct {
		size float64
		name string
	}{{1e12, "T"}, {1e9, "B"}, {1e6, "M"}, {1e3, "K"}} {
		if n := float64(parameters) / unit.size; n >= 1 {
			if n >= 10 {
				return strconv.FormatFloat(n, 'f', 0, 64) + unit.name
			}
			return strconv.FormatFloat(n, 'f', 1, 64) + unit.name
		}
	}
	return strconv.FormatInt(parameters, 10)
}
