package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/tmc/langchaingo/llms"

	"github.com/llama-agent/llama-agent/config"
	"github.com/llama-agent/llama-agent/engine"
)

// Model is a language model that can be closed.
type Model interface {
	llms.Model
	io.Closer
}

// OpenModel loads the model of a configuration. It blocks until the model is ready and calls loading with the share
// that is loaded, 0 to 1, from any goroutine; loading is never nil.
type OpenModel func(ctx context.Context, c *config.Config, log *slog.Logger, loading func(share float32)) (Model, error)

// ErrNoModel says that no model is configured.
var ErrNoModel = errors.New("no model is configured; set engine.model_path in " + config.FileName + " or give --model-path (make model fetches one)")

// IsModelError reports whether err says that the model cannot be loaded, as opposed to anything that fails later.
func IsModelError(err error) bool {
	_, file := errors.AsType[*engine.ModelFileError](err)
	_, adapter := errors.AsType[*engine.AdapterError](err)
	_, loading := errors.AsType[*modelError](err)
	return file || adapter || loading || errors.Is(err, ErrNoModel) || errors.Is(err, engine.ErrNoLlama)
}

// modelError marks an error of loading the model that has no type of its own.
type modelError struct{ err error }

func (e *modelError) Error() string { return "loading the model: " + e.err.Error() }
func (e *modelError) Unwrap() error { return e.err }

// openEngine is the [OpenModel] for a GGUF file.
func openEngine(ctx context.Context, c *config.Config, log *slog.Logger, loading func(float32)) (Model, error) {
	settings, err := engineConfig(c)
	if err != nil {
		return nil, err
	}
	settings.Logger = slog.New(slog.DiscardHandler)
	if c.Engine.Verbose {
		settings.Logger = log
	}
	settings.Progress, settings.Notices = loading, log
	return engine.Open(ctx, settings)
}

// maxTemplateBytes bounds a chat template file. Real ones are below 20 KB.
const maxTemplateBytes = 1 << 20

func engineConfig(c *config.Config) (engine.Config, error) {
	e := c.Engine
	if e.ModelPath == "" {
		return engine.Config{}, ErrNoModel
	}
	template := ""
	if e.ChatTemplate != "" {
		data, err := readBounded(e.ChatTemplate, maxTemplateBytes)
		if err != nil {
			return engine.Config{}, &modelError{fmt.Errorf("reading the chat template: %w; check engine.chat_template", err)}
		}
		template = string(data)
	}
	var adapters []engine.Adapter
	for _, a := range e.LoRA {
		adapters = append(adapters, engine.Adapter{Path: a.Path, Scale: float32(a.Scale)})
	}
	return engine.Config{
		ModelPath: e.ModelPath, ContextSize: e.NCtx, GPULayers: e.NGPULayers, BatchSize: e.NBatch, Threads: e.NThreads,
		Parallel: e.Parallel, ChatTemplate: template, ToolFormat: e.ToolFormat,
		Temperature: e.Temperature, TopP: e.TopP, TopK: max(e.TopK, 0), MinP: e.MinP, RepeatPenalty: e.RepeatPenalty,
		MaxTokens: e.MaxTokens, Seed: int(e.Seed), Stop: e.Stop,
		RequestTimeout: e.RequestTimeout, Thinking: !e.DisableThinking, FlashAttention: e.FlashAttention, KVCacheType: e.KVCacheType,
		KVStorePath: e.KVStorePath, KVStoreMaxBytes: e.KVStoreMaxBytes, Adapters: adapters,
	}, nil
}

// adapterNames lists the adapters that change the model, as they are configured but without their folders.
func adapterNames(c *config.Config) []string {
	var list []string
	for _, a := range c.Engine.LoRA {
		if a.Scale != 0 {
			list = append(list, config.Adapter{Path: filepath.Base(a.Path), Scale: a.Scale}.String())
		}
	}
	return list
}

// readBounded reads a regular file of at most limit bytes.
func readBounded(path string, limit int64) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("%s is larger than %d bytes", path, limit)
	}
	return data, err
}

// withPrefill makes every call of a model tell how far it has read the prompt. A model that does not know the option
// ignores it.
func withPrefill(m Model, tell func(done, total int)) llms.Model {
	if tell == nil {
		return m
	}
	return countedBy(m, prefillModel{m, engine.WithProgress(tell)})
}

// countedBy returns outer, which stands around inner, with the tokens counted by inner when that counts them.
func countedBy(inner, outer llms.Model) llms.Model {
	if c, ok := inner.(tokenCounter); ok {
		return struct {
			llms.Model
			tokenCounter
		}{outer, c}
	}
	return outer
}

type prefillModel struct {
	llms.Model
	progress llms.CallOption
}

func (m prefillModel) GenerateContent(ctx context.Context, messages []llms.MessageContent, options ...llms.CallOption) (*llms.ContentResponse, error) {
	return m.Model.GenerateContent(ctx, messages, append(options[:len(options):len(options)], m.progress)...)
}

// tokenCounter is what the agent looks for in a model to keep prompts within the context.
type tokenCounter interface {
	CountTokens(ctx context.Context, messages []llms.MessageContent, options ...llms.CallOption) (int, error)
	ContextSize() int
}
