//go:build cgo && !nollama && metal

package llama

/*
#cgo CPPFLAGS: -I${SRCDIR}/../../build/llama/metal/include
#cgo LDFLAGS: -L${SRCDIR}/../../build/llama/metal/lib
#cgo LDFLAGS: -lllama-common -lllama-common-base -lllama -lggml -lggml-cpu -lggml-metal -lggml-base -lggml-blas -lcpp-httplib
#cgo darwin LDFLAGS: -lc++ -framework Accelerate -framework Foundation -framework Metal -framework MetalKit
*/
import "C"

// Backend names the llama.cpp build that is linked in.
const Backend = "metal"
