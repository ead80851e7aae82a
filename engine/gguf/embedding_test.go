package gguf

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCheckEmbedding(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]*file{
		"chat model": tinyModel(), "bert": tinyModel().as("bert"), "looks ahead": tinyModel().with("llama.attention.causal", false),
		"t5encoder": tinyModel().as("t5encoder"), "last token": tinyModel().as("qwen3").with("qwen3.pooling_type", uint32(3)),
		"none": tinyModel().with("llama.pooling_type", uint32(0)),
	} {
		info, err := Inspect(f.write(t, "m.gguf"))
		require.NoError(t, err, name)
		require.NoError(t, info.CheckEmbedding(), name)
	}
	noTensors := tinyModel().as("bert")
	noTensors.tensors = nil
	noData := tinyModel().as("bert")
	noData.noData = true
	for name, tt := range map[string]struct {
		file   *file
		reason string
	}{
		"diffusion":       {tinyModel().as("dream"), "it is a diffusion model"},
		"encoder-decoder": {tinyModel().as("t5"), "an encoder-decoder model"},
		"projector":       {tinyModel().as("clip"), "an image or audio projector"},
		"adapter":         {tinyModel().with("general.type", "adapter"), "it is a LoRA adapter"},
		"unknown":         {tinyModel().as("nosuch"), `its architecture "nosuch"`},
		"ranking":         {tinyModel().as("bert").with("bert.pooling_type", uint32(4)), "it is a ranking model"},
		"no such pooling": {tinyModel().with("llama.pooling_type", uint32(9)), "its llama.pooling_type is 9 instead of 0 to 4"},
		"pooling a text":  {tinyModel().with("llama.pooling_type", "mean"), "its llama.pooling_type is a value of type str"},
		"no weights":      {noTensors, "no weights"},
		"truncated":       {noData, "it is truncated"},
		"no layers":       {tinyModel().as("bert").with("bert.block_count", uint32(0)), "its bert.block_count is 0"},
		"no vocabulary":   {tinyModel().as("bert").without("tokenizer.ggml.tokens"), "it has no vocabulary"},
	} {
		path := tt.file.write(t, "m.gguf")
		info, err := Inspect(path)
		require.NoError(t, err, name)
		var fe *FileError
		require.ErrorAs(t, info.CheckEmbedding(), &fe, name)
		require.Contains(t, fe.Reason, tt.reason, name)
		require.Equal(t, path, fe.Path)
		require.NotContains(t, fe.Fix, "chat", name)
	}
}
