// Package llama is a thin Go layer over llama.cpp: models, contexts, sequences of the KV cache, samplers, grammars and
// chat templates. It holds no policy (no queue, no cache decisions, no retries); that is package engine's work.
//
// It is the only package of this module with cgo. The C side is a small extern "C" shim (shim.h, shim*.cpp) over llama.h
// and llama.cpp's common library, linked statically from build/llama/<back end>, which `make llama` fills. The build tags
// cuda, metal and vulkan select another back end than the CPU. Without cgo, or with the tag nollama, only the plain
// types of types.go are there.
//
// Nothing here is safe for concurrent use unless its comment says so.
package llama
