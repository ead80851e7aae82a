package telemetry

import (
	"fmt"
	"math"
)

// KV is the state of the KV cache at one moment.
type KV struct {
	UsedTokens     int // cells that hold a token
	CapacityTokens int // cells of the cache
	Positions      int // length of the sequence of the task, shared cells included
}

// KVShape is what the size of a model's KV cache depends on. The zero value is an unknown shape, for which bytes are recorded as 0.
type KVShape struct {
	Layers          int
	KVHeads         int     // of a layer; fewer than its attention heads with grouped queries
	HeadSize        int     // elements of one head
	BytesPerElement float64 // see [BytesPerElement]
}

// Bytes is the logical size of tokens in the cache; see [KVBytes].
func (s KVShape) Bytes(tokens int) int64 {
	return KVBytes(s.Layers, s.KVHeads, s.HeadSize, s.BytesPerElement, tokens)
}

func (s KVShape) validate() error {
	if s.Layers < 0 || s.KVHeads < 0 || s.HeadSize < 0 || s.BytesPerElement < 0 || math.IsNaN(s.BytesPerElement) || math.IsInf(s.BytesPerElement, 0) {
		return fmt.Errorf("%w: the shape of the KV cache %+v has a number that is no size; leave it zero when it is unknown", ErrOptions, s)
	}
	return nil
}

// KVBytes is the logical size in bytes of tokens in a KV cache:
//
//	2 × layers × KV heads × head size × bytes per element × tokens
//
// Each layer keeps for each token two vectors, its key (K) and its value (V), of kvHeads × headSize elements. The memory that an
// engine takes from the system is that of its capacity, plus padding. Models whose K and V differ in size, or that keep a state of
// fixed size instead, are not described by this formula. A factor that is not above 0 makes the result 0; a result that an int64
// cannot hold is its largest value.
func KVBytes(layers, kvHeads, headSize int, bytesPerElement float64, tokens int) int64 {
	bytes := 2.0
	for _, n := range []float64{float64(layers), float64(kvHeads), float64(headSize), bytesPerElement, float64(tokens)} {
		if !(n > 0) {
			return 0
		}
		bytes *= n // exact below 2^53 bytes: each factor is a whole number, or has a power of two below it
	}
	if bytes >= math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(bytes)
}

// BytesPerElement is the size of one element in a KV cache of a type. The quantized types keep blocks of 32 elements with one
// scale of 2 bytes: 34 bytes for q8_0, 18 for q4_0 (block_q8_0 and block_q4_0 in ggml-common.h).
func BytesPerElement(cacheType string) (float64, error) {
	switch cacheType {
	case "f32":
		return 4, nil
	case "f16":
		return 2, nil
	case "q8_0":
		return 34.0 / 32, nil
	case "q4_0":
		return 18.0 / 32, nil
	}
	return 0, fmt.Errorf("%w: the size of a KV cache of type %q is not known; known are f32, f16, q8_0 and q4_0", ErrOptions, cacheType)
}
