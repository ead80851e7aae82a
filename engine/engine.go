package engine

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/llama-agent/llama-agent/engine/gguf"
	"github.com/llama-agent/llama-agent/engine/kvstore"
	"github.com/llama-agent/llama-agent/engine/llama"
)

// Engine is a loaded model with its KV cache. It is safe for concurrent use. Close it when done.
type Engine struct {
	cfg     Config
	model   model
	info    ModelInfo
	size    int // cells of the KV cache
	sched   *scheduler
	free    func()
	caps    llama.ChatCaps
	control *controlTable
	grammar grammarCache
	noted   sync.Map // notices that were logged

	once   sync.Once
	closed atomic.Bool
	calls  sync.WaitGroup // calls that use the model outside the owner goroutine
	mu     sync.RWMutex   // held for reading to join calls, for writing to close
}

// Open checks the file, loads the model and starts the engine. It blocks while the model loads; a cancelled ctx stops
// that. Errors: *ModelFileError and *AdapterError for files that cannot be used, ErrNoLlama without llama.cpp, ctx's error.
func Open(ctx context.Context, c Config) (*Engine, error) {
	c = c.withDefaults()
	if err := c.validate(); err != nil {
		return nil, err
	}
	if !Available {
		return nil, ErrNoLlama
	}
	file, err := checkFile(c.ModelPath)
	if err != nil {
		return nil, err
	}
	adapters, err := checkAdapters(c, file)
	if err != nil {
		return nil, err
	}
	c.Adapters = applied(c.Adapters)
	stamps := stampFiles(append(file.Files(), adapterPaths(c.Adapters)...)) // before they are read
	m, mem, free, err := openBackend(ctx, c)
	if err != nil {
		return nil, err
	}
	var kept *shelf
	if keepable(m.Info()) {
		kept = openShelf(c, stamps, computing(c, mem))
	}
	e, err := newEngine(c, m, mem, free, kept)
	if err != nil {
		if kept != nil {
			kept.close()
		}
		free()
		return nil, err
	}
	e.info.Adapters = adapters
	return e, nil
}

// stampFiles stamps the files of a model and its adapters, none when one cannot be told from others.
func stampFiles(files []string) []kvstore.Stamp {
	out := make([]kvstore.Stamp, len(files))
	for i, f := range files {
		var err error
		if out[i], err = kvstore.StampOf(f); err != nil {
			return nil
		}
	}
	return out
}

// keepable reports whether parts of a sequence can be saved and put together again. Of layers with a window llama.cpp saves no
// more than that, which is less than a chunk when the window is short.
func keepable(i llama.ModelInfo) bool {
	switch i.Memory {
	case llama.MemoryWindow:
		return i.SlidingWindow >= prefillChunk
	case llama.MemoryMixed:
		return i.SlidingWindow == 0
	case llama.MemoryWhole:
		return false
	}
	return !i.Encoder && !i.Diffusion
}

// computing lists what the KV state of a prompt depends on besides the contents of the model and its adapters. The number
// of threads is not in it: it changes how rows are shared out, not how one is computed, for all batches but those of one
// token.
func computing(c Config, mem memory) []string {
	how := []string{
		c.KVCacheType, c.FlashAttention, strconv.Itoa(c.GPULayers),
		strconv.Itoa(mem.Size()), // some models scale positions by it
		strconv.Itoa(min(c.BatchSize, mem.BatchSize(), prefillChunk)),
	}
	return append(append(how, buildIdentity(c.GPULayers != 0)...), adaptersKey(c.Adapters)...)
}

// checkFile looks at the header before llama.cpp does, which aborts the process on some damaged ones.
func checkFile(path string) (*gguf.Info, error) {
	info, err := gguf.Inspect(path)
	if err == nil {
		err = info.Check()
	}
	if err == nil {
		return info, nil
	}
	return nil, modelFileError(path, err)
}

// modelFileError is what gguf says about a model file.
func modelFileError(path string, err error) error {
	if fe, ok := errors.AsType[*gguf.FileError](err); ok {
		return &ModelFileError{Path: fe.Path, Reason: fe.Reason, Fix: fe.Fix}
	}
	return &ModelFileError{Path: path, Reason: err.Error()}
}

func newEngine(c Config, m model, mem memory, free func(), kept *shelf) (*Engine, error) {
	caps, err := m.Caps()
	if err != nil {
		return nil, err
	}
	if !caps.Explicit {
		c.Logger.Warn("the model brings no chat template; ChatML is used", "model", c.ModelPath)
	}
	e := &Engine{cfg: c, model: m, free: free, caps: caps, size: mem.Size(), control: newControlTable(controlSpellings(m)), sched: newScheduler(m, mem, c)}
	e.sched.shelf = kept
	e.info = e.describe()
	go e.sched.run()
	return e, nil
}

// Close stops all calls, waits for them and frees the model. Later calls return ErrClosed. A second Close does nothing.
func (e *Engine) Close() error {
	e.once.Do(func() {
		e.mu.Lock()
		e.closed.Store(true)
		e.mu.Unlock()
		e.sched.stop()
		if kept := e.sched.shelf; kept != nil {
			kept.close()
		}
		e.calls.Wait()
		e.free()
	})
	return nil
}

// enter joins the calls that Close waits for.
func (e *Engine) enter() error {
	e.mu.RLock()
	defer e.mu.RUnlock()
	if e.closed.Load() {
		return ErrClosed
	}
	e.calls.Add(1)
	return nil
}

// ContextSize is the number of tokens that prompt and reply of all active calls share.
func (e *Engine) ContextSize() int { return e.size }

// Info describes the loaded model.
func (e *Engine) Info() ModelInfo { return e.info }

func (e *Engine) describe() ModelInfo {
	i := e.model.Info()
	return ModelInfo{
		Description: e.model.Description(), ContextTrain: i.ContextTrain, Parameters: i.Parameters, Bytes: i.Bytes,
		Layers: i.Layers, HeadsKV: i.HeadsKV, HeadSize: i.Embedding / max(i.Heads, 1),
		ChatTemplate: e.caps.Explicit, NativeTools: e.nativeTools(),
	}
}

// ModelInfo describes a loaded model.
type ModelInfo struct {
	Description               string
	ContextTrain              int // tokens
	Parameters, Bytes         uint64
	Layers, HeadsKV, HeadSize int
	ChatTemplate              bool // the model brings one
	NativeTools               bool // tool calls use the template's own format
	Adapters                  []AdapterInfo
}

// Stats is the state of the KV cache.
type Stats struct {
	CachedTokens int // held by all sequences; cells that several share are counted for each
	ContextSize  int // cells
	// Running states that are kept for prompts to go back to, and their bytes; for recurrent and hybrid models.
	States     int
	StateBytes int64
}

// Stats reads the state of the KV cache.
func (e *Engine) Stats() Stats {
	return Stats{
		CachedTokens: int(e.sched.kvTokens.Load()), ContextSize: e.ContextSize(),
		States: int(e.sched.kvStates.Load()), StateBytes: e.sched.kvStateBytes.Load(),
	}
}

// controlSpellings collects how control tokens are written, so that text from outside can be kept from becoming one.
func controlSpellings(m model) []string {
	var out []string
	for t := range llama.Token(m.Info().Vocab) {
		if m.IsControl(t) {
			if s := string(m.AppendPiece(nil, t, true)); len(s) > 1 {
				out = append(out, s)
			}
		}
	}
	return out
}
