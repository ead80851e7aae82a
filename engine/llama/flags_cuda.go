//go:build cgo && !nollama && cuda

package llama

/*
#cgo CPPFLAGS: -I${SRCDIR}/../../build/llama/cuda/include
#cgo LDFLAGS: -L${SRCDIR}/../../build/llama/cuda/lib
#cgo LDFLAGS: -lllama-common -lllama-common-base -lllama -lggml -lggml-cpu -lggml-cuda -lggml-base -lcpp-httplib
#cgo LDFLAGS: -L/usr/local/cuda/lib64 -L/usr/local/cuda/lib64/stubs -lcudart -lcublas -lcublasLt -lcuda
#cgo linux LDFLAGS: -lstdc++ -lm -lpthread -ldl -lrt
*/
import "C"

// Backend names the llama.cpp build that is linked in.
const Backend = "cuda"
