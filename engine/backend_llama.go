//go:build cgo && !nollama

package engine

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/llama-agent/llama-agent/engine/llama"
)

// Available reports whether this build can run models.
const Available = true

// Sizes in tokens.
const (
	// defaultContextSize bounds the context of models with a long training context: KV grows with it (28 KiB a token for
	// the starter model in f16).
	defaultContextSize = 16384
	// microBatch is the most that is computed at once: an abort loses at most this, and progress moves in steps of it.
	microBatch = 256
)

// llamaModel joins a model, its context and its chat template; samplers need all three.
type llamaModel struct {
	*llama.Model
	*llama.ChatTemplate
	context *llama.Context
}

func (m llamaModel) SchemaToGrammar(schema []byte, maxString, maxItems int) (string, error) {
	return llama.SchemaToGrammar(schema, maxString, maxItems)
}

func (m llamaModel) ParseReply(p llama.ChatPrompt, text string, partial, toolCalls bool) (llama.ChatReply, error) {
	return llama.ParseReply(p, text, partial, toolCalls)
}

func (m llamaModel) NewSampler(p llama.SamplerParams) (sampler, error) {
	s, err := llama.NewSampler(m.Model, p)
	if err != nil {
		return nil, err
	}
	return llamaSampler{s, m.context}, nil
}

// Close frees in the order that llama.cpp needs.
func (m llamaModel) Close() {
	m.ChatTemplate.Close()
	m.context.Close()
	m.Model.Close()
}

type llamaSampler struct {
	s *llama.Sampler
	c *llama.Context
}

func (s llamaSampler) Sample(row int) (llama.Token, error) { return s.s.Sample(s.c, row) }
func (s llamaSampler) Accept(t llama.Token) error          { return s.s.Accept(t) }
func (s llamaSampler) Close()                              { s.s.Close() }

// loadModel loads a model file. Errors are a [*ModelFileError], and that of ctx.
func loadModel(ctx context.Context, path string, p llama.ModelParams) (*llama.Model, error) {
	m, err := llama.LoadModel(ctx, path, p)
	switch {
	case err == nil:
		return m, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	}
	return nil, &ModelFileError{Path: path, Reason: err.Error(), Fix: "run `llama-agent models` to see which files can be used"}
}

// openBackend loads the model and creates its context. free releases both.
func openBackend(ctx context.Context, c Config) (m model, mem memory, free func(), err error) {
	llama.Init(c.Logger)
	lm, err := loadModel(ctx, c.ModelPath, llama.ModelParams{GPULayers: c.GPULayers, Progress: c.Progress})
	if err != nil {
		return nil, nil, nil, err
	}
	adapt, err := loadAdapters(lm, c.Adapters)
	if err != nil {
		lm.Close()
		return nil, nil, nil, err
	}
	size := c.ContextSize
	if train := lm.Info().ContextTrain; size == 0 {
		size = min(train, defaultContextSize)
	} else if train > 0 && size > train {
		c.Logger.Warn("context is larger than the model was trained for", "n_ctx", size, "trained", train)
	}
	lc, err := llama.NewContext(lm, llama.ContextParams{
		Size: size, Batch: c.BatchSize, MicroBatch: min(c.BatchSize, microBatch), Sequences: c.Parallel + cachedSequences,
		Threads: c.Threads, FlashAttention: flashAttention[c.FlashAttention], KVType: kvTypes[c.KVCacheType],
	})
	if err != nil {
		lm.Close()
		return nil, nil, nil, fmt.Errorf("creating a context of %d tokens for %s: %w", size, c.ModelPath, err)
	}
	if err := adapt(lc); err != nil {
		lc.Close()
		lm.Close()
		return nil, nil, nil, err
	}
	tmpl, err := llama.NewChatTemplate(lm, c.ChatTemplate)
	if err != nil {
		lc.Close()
		lm.Close()
		return nil, nil, nil, fmt.Errorf("reading the chat template of %s: %w", c.ModelPath, err)
	}
	out := llamaModel{lm, tmpl, lc}
	return out, lc, out.Close, nil
}

var (
	flashAttention = map[string]int{"auto": -1, "off": 0, "on": 1}
	kvTypes        = map[string]llama.KVType{"f32": llama.KVF32, "f16": llama.KVF16, "q8_0": llama.KVQ8_0, "q4_0": llama.KVQ4_0}
)

// buildIdentity lists what of this build and machine changes what is computed.
func buildIdentity(devices bool) []string {
	out := []string{llama.Backend, llama.Build()}
	if devices {
		for _, d := range llama.Devices() {
			out = append(out, d.Name+" "+d.Description)
		}
	}
	return out
}

// Build describes the llama.cpp that is linked in.
func Build() BuildInfo {
	llama.Init(slog.New(slog.DiscardHandler))
	b := BuildInfo{Backend: llama.Backend, Version: llama.Version()}
	for _, d := range llama.Devices() {
		b.Devices = append(b.Devices, Device(d))
	}
	return b
}
