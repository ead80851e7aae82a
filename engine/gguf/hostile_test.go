package gguf

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// bare builds a header with claimed counts and a body of the caller's.
func bare(version uint32, tensors, keys uint64, body func(*bytes.Buffer)) []byte {
	var b bytes.Buffer
	b.WriteString("GGUF")
	put(&b, version)
	put(&b, tensors)
	put(&b, keys)
	if body != nil {
		body(&b)
	}
	return b.Bytes()
}

// hostile are files that claim what they do not hold, with the reason that must come out.
func hostile() map[string]struct {
	data   []byte
	reason string
} {
	type entry = struct {
		data   []byte
		reason string
	}
	value := func(key string, v raw) []byte {
		return bare(3, 0, 1, func(b *bytes.Buffer) { putText(b, key); putValue(b, v) })
	}
	length := func(n uint64) []byte { return binary.LittleEndian.AppendUint64(nil, n) }
	tensor := func(dims []uint64, kind uint32, offset uint64) []byte {
		return bare(3, 1, 0, func(b *bytes.Buffer) {
			putText(b, "t")
			put(b, uint32(len(dims)))
			put(b, dims)
			put(b, kind)
			put(b, offset)
		})
	}
	nested := raw{kind: kindArray}
	for range 100_000 {
		nested.data = append(nested.data, arrayHeader(kindArray, 1).data...)
	}
	tests := map[string]entry{
		"version 0":            {bare(0, 0, 0, nil), "its version is 0"},
		"version 1":            {bare(1, 0, 0, nil), "GGUF version 1, which llama.cpp no longer reads"},
		"version 99":           {bare(99, 0, 0, nil), "GGUF version 99; llama.cpp reads versions 2 and 3"},
		"big-endian":           {bare(0x03000000, 0, 0, nil), "big-endian"},
		"huge key":             {bare(3, 0, 1, func(b *bytes.Buffer) { put(b, uint64(1<<62)) }), "a metadata key claims a length of"},
		"long key":             {bare(3, 0, 1, func(b *bytes.Buffer) { putText(b, string(make([]byte, 5000))) }), "a metadata key has 5000 bytes"},
		"empty key":            {bare(3, 0, 1, func(b *bytes.Buffer) { putText(b, "") }), "a metadata key is empty"},
		"string of 2^40 bytes": {value("k", raw{kindString, length(1 << 40)}), `k claims a length of 1099511627776 bytes`},
		"string of 2^29 bytes": {value("k", raw{kindString, length(1 << 29)}), "it is truncated"},
		"huge template":        {value("tokenizer.chat_template", raw{kindString, append(length(2<<20), make([]byte, 2<<20)...)}), "more than 1048576"},
		"array of 2^40":        {value("k", arrayHeader(kindUint8, 1<<40)), "claims an array of 1099511627776 elements"},
		"array of 2^29":        {value("k", arrayHeader(kindFloat64, 1<<29)), "it is truncated"},
		"strings 2^29":         {value("k", arrayHeader(kindString, 1<<29)), "claims an array of 536870912 elements"},
		"tokens 2^29":          {value("tokenizer.ggml.tokens", arrayHeader(kindString, 1<<21)), "claims 2097152 tokens"},
		"array in array":       {value("k", nested), "is an array of the unknown type 9"},
		"array of type 99":     {value("k", arrayHeader(99, 1)), "is an array of the unknown type 99"},
		"value of type 99":     {value("k", raw{99, length(1)}), "has the unknown type 99"},
		"alignment 0":          {value("general.alignment", raw{kindUint32, make([]byte, 4)}), "general.alignment is 0"},
		"alignment 16":         {value("general.alignment", raw{kindUint32, []byte{16, 0, 0, 0}}), "general.alignment is 16"},
		"alignment 48":         {value("general.alignment", raw{kindUint32, []byte{48, 0, 0, 0}}), "general.alignment is 48"},
		"alignment 2^31":       {value("general.alignment", raw{kindUint32, []byte{0, 0, 0, 128}}), "general.alignment is 2147483648"},
		"alignment as u64":     {value("general.alignment", raw{kindUint64, length(32)}), "has the type u64"},
		"key twice": {bare(3, 0, 2, func(b *bytes.Buffer) {
			for range 2 {
				putText(b, "general.name")
				putValue(b, "x")
			}
		}), `"general.name" is there twice`},

		"long tensor name":   {bare(3, 1, 0, func(b *bytes.Buffer) { putText(b, string(make([]byte, 64))) }), "a tensor name has 64 bytes"},
		"2^31 dimensions":    {bare(3, 1, 0, func(b *bytes.Buffer) { putText(b, "t"); put(b, uint32(1<<31)) }), "2147483648 dimensions"},
		"wild dimensions":    {tensor([]uint64{1 << 40, 1 << 40, 1 << 40, 1 << 40}, 0, 0), "more elements than can be counted"},
		"negative dimension": {tensor([]uint64{math.MaxUint64}, 0, 0), "more elements than can be counted"},
		"wild size":          {tensor([]uint64{1 << 61}, 0, 0), "claims more bytes than any disk has"},
		"unknown type":       {tensor([]uint64{32}, 77, 0), "the type 77, which llama.cpp does not know"},
		"removed type":       {tensor([]uint64{32}, 4, 0), "the type 4, which llama.cpp does not know"},
		"broken row":         {tensor([]uint64{33}, 2, 0), "33 elements a row, not a multiple of 32 as Q4_0 needs"},
		"wild offset":        {tensor([]uint64{32}, 0, 1<<50), "starts at 1125899906842624 of the tensor data instead of 0"},
		"tensor twice": {bare(3, 2, 0, func(b *bytes.Buffer) {
			for i := range 2 {
				putText(b, "t")
				put(b, uint32(1))
				put(b, uint64(8))
				put(b, uint32(0))
				put(b, uint64(i*32))
			}
		}), `"t" is there twice`},
		"sum of sizes": {bare(3, 60, 0, func(b *bytes.Buffer) {
			for i := range 60 {
				putText(b, fmt.Sprint(i))
				put(b, uint32(1))
				put(b, uint64(1<<58))
				put(b, uint32(0))
				put(b, uint64(i)<<60)
			}
		}), "add up to more bytes than any disk has"},
	}
	for _, n := range []uint64{math.MaxUint64, 1 << 40, 1 << 24} {
		tests[fmt.Sprintf("%x tensors", n)] = entry{bare(3, n, 0, nil), fmt.Sprintf("it claims %d tensors", n)}
		tests[fmt.Sprintf("%x keys", n)] = entry{bare(3, 0, n, nil), fmt.Sprintf("it claims %d metadata keys", n)}
	}
	return tests
}

func TestHostileHeaders(t *testing.T) {
	t.Parallel()
	for name, tt := range hostile() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			requireReason(t, writeFile(t, "m.gguf", tt.data), tt.reason)
		})
	}
}

// TestHugeClaimsInHugeFiles uses sparse files: the claimed bytes are there, so only the limits protect memory and time.
func TestHugeClaimsInHugeFiles(t *testing.T) {
	tests := map[string]struct {
		data   []byte
		reason string
	}{
		"string": {bare(3, 0, 1, func(b *bytes.Buffer) {
			putText(b, "k")
			putValue(b, raw{kindString, binary.LittleEndian.AppendUint64(nil, 1<<30)})
		}), "its header is larger than"},
		"array":   {bare(3, 0, 1, func(b *bytes.Buffer) { putText(b, "k"); putValue(b, arrayHeader(kindFloat64, 1<<30)) }), "its header is larger than"},
		"strings": {bare(3, 0, 1, func(b *bytes.Buffer) { putText(b, "k"); putValue(b, arrayHeader(kindString, 1<<22)) }), "it does not name its architecture"},
		"tokens": {bare(3, 0, 1, func(b *bytes.Buffer) {
			putText(b, "tokenizer.ggml.tokens")
			putValue(b, arrayHeader(kindString, 1<<20))
		}), "it does not name its architecture"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "m.gguf")
			require.NoError(t, os.WriteFile(path, tt.data, 0o644))
			require.NoError(t, os.Truncate(path, 20<<30))
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			requireReason(t, path, tt.reason)
			runtime.ReadMemStats(&after)
			require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(64<<20))
		})
	}
}

func FuzzInspect(f *testing.F) {
	for _, seed := range []*file{
		tinyModel(),
		tinyModel().as("qwen35").with("qwen35.full_attention_interval", uint32(2)),
		tinyModel().with("llama.attention.head_count", []int32{4, 4}).with("split.count", uint16(2)),
	} {
		seed.noData = true
		f.Add(seed.bytes())
	}
	for _, entry := range hostile() {
		if len(entry.data) < 1<<16 {
			f.Add(entry.data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		info, err := inspectReader(data)
		if err != nil {
			require.ErrorAs(t, err, new(*FileError), "a reader in memory has no errors of its own")
			return
		}
		require.GreaterOrEqual(t, info.ExpectedBytes, int64(24))
		memory := info.MemoryEstimate(4096, 2)
		require.GreaterOrEqual(t, memory.TotalBytes, int64(0))
		_ = info.SupportsTools()
		info.FileBytes = info.ExpectedBytes // as if the tensor data were there
		if info.Check() == nil {
			require.Positive(t, info.BlockCount)
		}
	})
}

// inspectReader looks into a file that is in memory.
func inspectReader(data []byte) (*Info, error) {
	h, err := checkedHeader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, err
	}
	return newInfo(h, int64(len(data))), nil
}
