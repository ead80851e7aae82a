//go:build cgo && !nollama

package engine

import (
	"context"
	"fmt"
	"strconv"

	"github.com/llama-agent/llama-agent/engine/llama"
)

// openVectors loads the model and creates its context. free releases both.
func openVectors(ctx context.Context, c EmbedConfig) (textModel, vectors, func(), error) {
	llama.Init(c.Logger)
	lm, err := loadModel(ctx, c.ModelPath, llama.ModelParams{GPULayers: c.GPULayers, Progress: c.Progress})
	if err != nil {
		return nil, nil, nil, err
	}
	info := lm.Info()
	size := c.textSize(info.ContextTrain)
	if size < c.ContextSize {
		c.Logger.Warn("the embedding model's context is shorter than was asked for", "asked", c.ContextSize, "trained", info.ContextTrain)
	}
	v, err := llama.NewEmbeddingContext(lm, llama.EmbeddingParams{
		Batch: max(c.BatchSize, size), Texts: batchTexts(info), Threads: c.Threads,
		FlashAttention: flashAttention[c.FlashAttention], Pooling: pooling(c.Pooling, lm),
	})
	if err != nil {
		lm.Close()
		return nil, nil, nil, fmt.Errorf("creating an embedding context of %d tokens for %s: %w", max(c.BatchSize, size), c.ModelPath, err)
	}
	return lm, v, func() { v.Close(); lm.Close() }, nil
}

// pooling is what was asked for, else what the model says, else the mean.
func pooling(wanted string, m *llama.Model) llama.Pooling {
	if p, ok := poolings[wanted]; ok {
		return p
	}
	arch, _ := m.Meta("general.architecture")
	number, _ := m.Meta(arch + ".pooling_type")
	n, _ := strconv.Atoi(number) // 0, no pooling, without a number
	switch p := llama.Pooling(n); p {
	case llama.PoolCLS, llama.PoolLast:
		return p
	}
	return llama.PoolMean
}

var poolings = map[string]llama.Pooling{"mean": llama.PoolMean, "cls": llama.PoolCLS, "last": llama.PoolLast}
