package telemetry

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestKVBytes(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		layers, heads, size int
		cacheType           string
		tokens              int
		want                int64
	}{
		{28, 2, 128, "f16", 1, 28672},         // Qwen2.5 1.5B: 28 layers, 2 KV heads of 128
		{28, 2, 128, "f16", 16384, 469762048}, // 448 MiB, as llama.cpp reports
		{28, 2, 128, "f32", 1000, 57344000},
		{28, 2, 128, "q8_0", 16384, 249561088}, // 238 MiB
		{28, 2, 128, "q4_0", 16384, 132120576}, // 126 MiB
		{0, 2, 128, "f16", 1, 0},
		{28, 2, 128, "f16", 0, 0},
		{28, 2, 128, "f16", -1, 0},
		{math.MaxInt, math.MaxInt, math.MaxInt, "f32", math.MaxInt, math.MaxInt64},
	} {
		b, err := BytesPerElement(test.cacheType)
		require.NoError(t, err)
		require.Equal(t, test.want, KVBytes(test.layers, test.heads, test.size, b, test.tokens), "%+v", test)
		require.Equal(t, test.want, KVShape{test.layers, test.heads, test.size, b}.Bytes(test.tokens))
	}
	require.Zero(t, KVBytes(1, 1, 1, math.NaN(), 1))
	_, err := BytesPerElement("q2_k")
	require.ErrorIs(t, err, ErrOptions)
	require.ErrorContains(t, err, "q2_k")
}

// The bytes are exact, and those of blocks of 32 elements for the quantized types.
func TestKVBytesCountsBlocks(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		layers, heads := rapid.IntRange(1, 200).Draw(t, "layers"), rapid.IntRange(1, 128).Draw(t, "heads")
		blocks, tokens := rapid.IntRange(1, 16).Draw(t, "blocks"), rapid.IntRange(1, 1<<20).Draw(t, "tokens")
		for cacheType, block := range map[string]int{"f32": 128, "f16": 64, "q8_0": 34, "q4_0": 18} {
			b, err := BytesPerElement(cacheType)
			require.NoError(t, err)
			require.Equal(t, int64(2*layers*heads*blocks*block*tokens), KVBytes(layers, heads, 32*blocks, b, tokens))
		}
	})
}

func ExampleKVBytes() {
	perElement, err := BytesPerElement("q8_0")
	if err != nil {
		panic(err)
	}
	fmt.Println(KVBytes(28, 2, 128, perElement, 16384)>>20, "MiB")
	// Output: 238 MiB
}
