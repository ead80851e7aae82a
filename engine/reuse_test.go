package engine

import (
	"testing"

	"github.com/llama-agent/llama-agent/engine/gguf"
	"github.com/llama-agent/llama-agent/internal/testgguf"
	"github.com/stretchr/testify/require"
)

func TestHowPrefixesAreReused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		file testgguf.File
		want string
	}{
		{testgguf.Llama(), "any prefix of earlier prompts"},
		{testgguf.Gemma3(512), "any prefix of earlier prompts, those beyond the window of 512 tokens too"},
		{testgguf.Gemma3(24), "any prefix of earlier prompts, those beyond the window of 24 tokens too; not kept on disk for later runs"},
		{testgguf.Mamba(), "a recurrent model: state checkpoints, so prefixes are reused at the boundaries of prompts only"},
		{testgguf.LFM2(), "a hybrid model: state checkpoints, so prefixes are reused at the boundaries of prompts only"},
		{testgguf.LFM2Window(24), "a hybrid model: state checkpoints, so prefixes are reused at the boundaries of prompts only; not kept on disk for later runs"},
	} {
		info, err := gguf.Inspect(c.file.Write(t, "tiny.gguf"))
		require.NoError(t, err)
		require.NoError(t, info.Check())
		require.Equal(t, c.want, PrefixReuse(info))
	}
	require.Contains(t, PrefixReuse(&gguf.Info{Architecture: "deepseek4", Hybrid: true}), "continue an earlier one whole")
}
