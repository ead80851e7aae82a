package gguf

import (
	"cmp"
	"encoding/binary"
	"hash/maphash"
	"io"
	"math"
	"math/bits"
	"slices"
	"strings"
)

// header is what a GGUF file says before its tensor data.
type header struct {
	version        uint32
	meta           metadata
	duplicateToken bool

	tensors       []tensor
	elements      int64 // of all tensors
	weightBytes   int64 // of all tensors, with padding between them
	expectedBytes int64 // smallest size of the file that holds them all
	commonestType tensorType
	unusable      tensor // the first one with which llama.cpp cannot compute; no name: all are fine
}

// readHeader reads the layout described in ggml/include/gguf.h, and refuses what ggml/src/gguf.cpp refuses.
func readHeader(src io.ReadSeeker, size int64) (*header, error) {
	r := newReader(src, size)
	r.skip(4) // the magic was checked before
	h := &header{version: r.u32(), meta: metadata{}}
	if r.err == nil {
		r.fail(checkVersion(h.version))
	}
	tensors, keys := r.u64(), r.u64()
	if r.err != nil {
		return nil, r.err
	}
	if tensors > maxTensors {
		return nil, damaged("it claims %d tensors, more than %d", tensors, maxTensors)
	}
	if keys > maxKeys {
		return nil, damaged("it claims %d metadata keys, more than %d", keys, maxKeys)
	}
	for range keys {
		h.readPair(r)
		if r.err != nil {
			return nil, r.err
		}
	}
	h.readTensors(r, int(tensors))
	if r.err != nil {
		return nil, r.err
	}
	return h, nil
}

// checkVersion returns a nil error (not a nil *FileError) for the versions that llama.cpp reads.
func checkVersion(version uint32) error {
	switch {
	case version == 2 || version == 3:
		return nil
	case version == 1:
		return &FileError{Reason: "it has GGUF version 1, which llama.cpp no longer reads", Fix: "download a current version of the model"}
	case version != 0 && version&0xffff == 0:
		return &FileError{Reason: "it was written for a big-endian machine", Fix: "download the little-endian version of the model"}
	case version == 0:
		return damaged("its version is 0")
	}
	return &FileError{Reason: versionReason(version), Fix: "download the model in GGUF version 3, or use a newer release of this program"}
}

// readPair reads one key and its value.
func (h *header) readPair(r *reader) {
	key := r.text(maxKeyBytes, "a metadata key")
	switch _, double := h.meta[key]; {
	case r.err != nil:
		return
	case key == "":
		r.damaged("a metadata key is empty")
		return
	case double:
		r.damaged("the metadata key %q is there twice", clean(key))
		return
	}
	v := value{kind: kind(r.u32())}
	if v.kind == kindArray {
		v.elem, v.count = kind(r.u32()), r.u64()
	}
	switch {
	case r.err != nil:
		return
	case v.kind == kindArray:
		h.readArray(r, key, &v)
	case v.kind == kindString && keepsLongText(key):
		v.text = strings.ToValidUTF8(r.text(maxKeptText, clean(key)), "\uFFFD")
	case v.kind == kindString:
		n := r.stringLength(clean(key))
		if n <= maxShortText && r.take(n) {
			p := make([]byte, n)
			r.read(p)
			v.text = string(p)
		} else {
			r.skip(n)
		}
	case v.kind.size() > 0:
		v.num = r.number(v.kind)
	default:
		r.damaged("the metadata key %q has the unknown type %d", clean(key), uint32(v.kind))
	}
	h.meta[key] = v
}

func keepsLongText(key string) bool {
	return key == "tokenizer.chat_template" || key == "tokenizer.chat_template.tool_use"
}

// readArray reads the elements of an array. Arrays of arrays do not exist in llama.cpp.
func (h *header) readArray(r *reader, key string, v *value) {
	switch {
	case v.count > maxArrayItems, v.elem == kindString && v.count > maxTexts:
		r.damaged("the metadata key %q claims an array of %d elements", clean(key), v.count)
	case v.elem == kindString && key == "tokenizer.ggml.tokens" && v.count > maxTokens:
		r.damaged("its vocabulary claims %d tokens, more than %d", v.count, maxTokens)
	case v.elem == kindString && key == "tokenizer.ggml.tokens":
		h.readTokens(r, v.count)
	case v.elem == kindString:
		for range v.count {
			if r.skipText(clean(key)); r.err != nil {
				return
			}
		}
	case v.elem.size() == 0:
		r.damaged("the metadata key %q is an array of the unknown type %d", clean(key), uint32(v.elem))
	case v.count <= maxKeptItems && v.elem != kindFloat32 && v.elem != kindFloat64:
		for range v.count {
			if v.items = append(v.items, r.number(v.elem)); r.err != nil {
				return
			}
		}
	default:
		r.skip(v.count * v.elem.size())
	}
}

// number reads a scalar and widens integers and booleans; the bits of a float come back as an integer.
func (r *reader) number(k kind) int64 {
	r.word = [8]byte{}
	if !r.read(r.word[:k.size()]) {
		return 0
	}
	u := binary.LittleEndian.Uint64(r.word[:])
	switch k {
	case kindInt8:
		return int64(int8(u))
	case kindInt16:
		return int64(int16(u))
	case kindInt32:
		return int64(int32(u))
	case kindUint64:
		return int64(min(u, math.MaxInt64))
	}
	return int64(u)
}

// readTokens passes over the vocabulary and notes whether two tokens are equal, on which llama.cpp aborts. Two 64-bit
// hashes stand for a token; that two different tokens get the same pair does not happen in practice (1 in 10^26).
func (h *header) readTokens(r *reader, count uint64) {
	var first, second maphash.Hash
	first.SetSeed(maphash.MakeSeed())
	second.SetSeed(maphash.MakeSeed())
	sums := make([][2]uint64, 0, min(count, uint64(r.size-r.off)/8)) // a token takes 8 bytes or more
	p := make([]byte, maxTokenBytes)
	for range count {
		n := r.stringLength("a token")
		if n == 0 && r.err == nil {
			continue // llama.cpp gives empty tokens a name of their own
		}
		if n > maxTokenBytes {
			r.damaged("a token has %d bytes", n)
		}
		if !r.take(n) {
			return
		}
		if !r.read(p[:n]) {
			return
		}
		first.Reset()
		second.Reset()
		first.Write(p[:n])
		second.Write(p[:n])
		sums = append(sums, [2]uint64{first.Sum64(), second.Sum64()})
	}
	slices.SortFunc(sums, func(a, b [2]uint64) int {
		return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1]))
	})
	h.duplicateToken = len(slices.Compact(sums)) < len(sums)
}

// readTensors reads the tensor descriptions and adds up what they need.
func (h *header) readTensors(r *reader, count int) {
	alignment, err := h.alignment()
	if err != nil {
		r.fail(err)
		return
	}
	names := make(map[string]struct{}, min(count, 1024))
	types := map[tensorType]int{}
	var end, next uint64 // of the last tensor's data, and where the next one has to start
	for range count {
		t := readTensor(r)
		if _, double := names[t.name]; double {
			r.damaged("the tensor %q is there twice", clean(t.name))
		}
		if t.offset != next {
			r.damaged("the tensor %q starts at %d of the tensor data instead of %d", clean(t.name), t.offset, next)
		}
		if r.err != nil {
			return
		}
		names[t.name] = struct{}{}
		if h.unusable.name == "" && !t.usable() {
			h.unusable = t
		}
		types[t.kind]++
		end = next + t.bytes
		next = pad(end, alignment)
		h.tensors = append(h.tensors, t)
		h.elements += t.elements
		if next > math.MaxInt64/2 || h.elements < 0 {
			r.damaged("its tensors add up to more bytes than any disk has")
			return
		}
	}
	h.weightBytes = int64(next)
	h.expectedBytes = r.off
	if count > 0 {
		h.expectedBytes = int64(pad(uint64(r.off), alignment) + end)
	}
	best := 0
	for _, t := range tensorTypes {
		if n := types[t.id]; n > best {
			h.commonestType, best = t.id, n
		}
	}
}

// alignment is where tensor data may start; llama.cpp wants a power of two in an unsigned 32-bit value, and aborts when
// the mapped tensors are not aligned for its kernels.
func (h *header) alignment() (uint64, error) {
	v, ok := h.meta["general.alignment"]
	switch {
	case !ok:
		return minAlignment, nil // GGUF_DEFAULT_ALIGNMENT
	case v.kind != kindUint32:
		return 0, damaged("general.alignment has the type %s instead of u32", v.kind)
	case v.num < minAlignment || v.num > maxAlignment || bits.OnesCount64(uint64(v.num)) != 1:
		return 0, damaged("general.alignment is %d, not a power of two from %d to %d", v.num, minAlignment, maxAlignment)
	}
	return uint64(v.num), nil
}

func pad(n, alignment uint64) uint64 {
	return (n + alignment - 1) &^ (alignment - 1)
}

// tensor is one tensor description.
type tensor struct {
	name     string
	kind     tensorType
	dims     int             // that the file gives
	shape    [maxDims]uint64 // elements of each dimension, the first one's lie side by side; 1 for those that are not given
	elements int64
	bytes    uint64 // without padding
	offset   uint64 // within the tensor data
}

// usable reports whether llama.cpp's CPU kernels can compute with the tensor in its role. Norms and biases are combined with
// activations element by element, which is there for 32-bit floats only; I8 to I64, F64, Q8_1 and Q8_K are formats of
// intermediate results. Expert lists by token (tid2eid) are indexes.
func (t tensor) usable() bool {
	layout, _ := lookupType(t.kind)
	if strings.HasSuffix(t.name, "norm.weight") || strings.HasSuffix(t.name, ".bias") {
		return layout.name == "F32"
	}
	switch layout.name {
	case "I8", "I16", "I64", "F64", "Q8_1", "Q8_K":
		return false
	case "I32":
		return strings.Contains(t.name, "tid2eid")
	}
	return true
}

func readTensor(r *reader) tensor {
	t := tensor{name: r.text(maxTensorName, "a tensor name"), shape: [maxDims]uint64{1, 1, 1, 1}, elements: 1}
	dims := r.u32()
	if dims > maxDims {
		r.damaged("the tensor %q has %d dimensions, more than %d", clean(t.name), dims, maxDims)
	}
	var row uint64 = 1
	t.dims = int(dims)
	for i := range dims {
		n := r.u64()
		if r.err != nil {
			return t
		}
		if i == 0 {
			row = n
		}
		t.shape[i] = n
		hi, lo := bits.Mul64(uint64(t.elements), n)
		if hi != 0 || lo >= math.MaxInt64 || n > math.MaxInt64 {
			r.damaged("the tensor %q has more elements than can be counted", clean(t.name))
			return t
		}
		t.elements = int64(lo)
	}
	t.kind, t.offset = tensorType(r.u32()), r.u64()
	if r.err != nil {
		return t
	}
	layout, ok := lookupType(t.kind)
	switch {
	case !ok:
		r.damaged("the tensor %q has the type %d, which llama.cpp does not know", clean(t.name), uint32(t.kind))
	case row%layout.block != 0:
		r.damaged("the tensor %q has %d elements a row, not a multiple of %d as %s needs", clean(t.name), row, layout.block, layout.name)
	default:
		hi, lo := bits.Mul64(uint64(t.elements)/layout.block, layout.bytes)
		if hi != 0 || lo > math.MaxInt64/4 {
			r.damaged("the tensor %q claims more bytes than any disk has", clean(t.name))
		}
		t.bytes = lo
	}
	return t
}
