package gguf_test

import (
	"errors"
	"fmt"

	"github.com/llama-agent/llama-agent/engine/gguf"
)

func ExampleInspect() {
	info, err := gguf.Inspect("nowhere/model.gguf")
	if err == nil {
		err = info.Check()
	}
	if fe, ok := errors.AsType[*gguf.FileError](err); ok {
		fmt.Println(fe.Reason)
		return
	}
	bytes, err := gguf.KVElementBytes("q8_0")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(info.Architecture, info.Quantization, info.MemoryEstimate(8192, bytes).TotalBytes)
	// Output: it does not exist, and neither does the folder "nowhere"
}
