//go:build cgo && !nollama && vulkan

package llama

/*
#cgo CPPFLAGS: -I${SRCDIR}/../../build/llama/vulkan/include
#cgo LDFLAGS: -L${SRCDIR}/../../build/llama/vulkan/lib
#cgo LDFLAGS: -lllama-common -lllama-common-base -lllama -lggml -lggml-cpu -lggml-vulkan -lggml-base -lcpp-httplib
#cgo linux LDFLAGS: -lvulkan -lstdc++ -lm -lpthread -ldl
*/
import "C"

// Backend names the llama.cpp build that is linked in.
const Backend = "vulkan"
