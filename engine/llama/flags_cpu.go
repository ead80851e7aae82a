//go:build cgo && !nollama && !cuda && !metal && !vulkan

package llama

/*
#cgo CPPFLAGS: -I${SRCDIR}/../../build/llama/cpu/include
#cgo LDFLAGS: -L${SRCDIR}/../../build/llama/cpu/lib
#cgo LDFLAGS: -lllama-common -lllama-common-base -lllama -lggml -lggml-cpu -lggml-base -lcpp-httplib
#cgo linux LDFLAGS: -lstdc++ -lm -lpthread -ldl
#cgo darwin LDFLAGS: -lc++ -framework Accelerate -framework Foundation
*/
import "C"

// Backend names the llama.cpp build that is linked in.
const Backend = "cpu"
