package engine

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"time"
)

// Sizes in tokens.
const (
	// prefillChunk is the most of one prompt that goes into one batch, so that other sequences are not held up longer.
	prefillChunk = 256
	// maxThreads is GGML_MAX_N_THREADS; llama.cpp aborts the process above it.
	maxThreads = 512
	// cachedSequences are kept besides the active ones, for their prefixes.
	cachedSequences = 12
)

// Config says which model to run and how. The zero value of a field means its default.
type Config struct {
	ModelPath    string // GGUF file; required
	ContextSize  int    // tokens shared by all sequences; 0: the model's own, at most 16384
	GPULayers    int    // layers on the GPU; -1: all
	BatchSize    int    // most tokens of a batch; 0: 512; fewer than llama.cpp needs for Parallel become as many as that
	Threads      int    // 0: one for each physical core
	Parallel     int    // calls computed at once, the others wait; 0: 4
	ChatTemplate string // Jinja text that replaces the model's own; empty: the model's
	ToolFormat   string // "auto" (empty), "native" or "structured"; see [Engine.GenerateContent]

	// Defaults of calls that don't say otherwise.
	Temperature   float64 // 0: greedy
	TopP          float64 // 0 or 1: off
	TopK          int     // 0: off
	MinP          float64 // 0: off
	RepeatPenalty float64 // 0 or 1: off; never applied to replies that a schema or tool call constrains
	MaxTokens     int     // of a reply; 0: 512
	Seed          int     // negative: a new one for each call
	Stop          []string

	// SampleLiterals samples also those parts of a constrained reply that its schema leaves no choice about. Slower; for
	// comparisons.
	SampleLiterals bool

	// Draft computes tokens ahead that a lone call is likely to copy from its prompt or reply, while that saves time by what
	// was measured on this machine. The sampler chooses as it does without; but larger batches round otherwise, so the same
	// call need not give the same text twice. Off for memories that cannot take a token back.
	Draft bool

	// Adapters are applied to all calls. The sum of two or more that change the same matrix can round in another order in
	// another process.
	Adapters []Adapter

	RequestTimeout time.Duration // of a call, waiting included; 0: none
	Thinking       bool          // let models that can do so think before they answer
	FlashAttention string        // "auto" (empty), "on" or "off"
	KVCacheType    string        // "f16" (empty), "f32", "q8_0" or "q4_0"

	// Folder and size in bytes of the KV store, from which later processes take the starts of prompts that were computed
	// before. An empty path or 0: off. A folder that cannot be used is told once through Notices; the engine works without.
	KVStorePath     string
	KVStoreMaxBytes int64

	// StateMaxBytes is the memory for running states that prompts go back to; 0: 256 MiB. Only recurrent and hybrid models have
	// them, some kilobytes to some dozen megabytes each.
	StateMaxBytes int64

	Logger   *slog.Logger  // llama.cpp's log and notices; nil: nowhere
	Notices  *slog.Logger  // what a user should hear of even when Logger is silent; nil: Logger
	Progress func(float32) // share of the model that is loaded, 0 to 1, from another goroutine; may be nil
	Now      func() time.Time
}

func (c Config) withDefaults() Config {
	def(&c.BatchSize, 512)
	def(&c.Parallel, 4)
	def(&c.MaxTokens, 512)
	def(&c.ToolFormat, "auto")
	def(&c.FlashAttention, "auto")
	def(&c.KVCacheType, "f16")
	def(&c.StateMaxBytes, 256<<20)
	if c.Threads <= 0 {
		c.Threads = PhysicalCores()
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Notices == nil {
		c.Notices = c.Logger
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return c
}

func def[T comparable](v *T, otherwise T) {
	var zero T
	if *v == zero {
		*v = otherwise
	}
}

// faults are what is wrong with a configuration.
type faults []error

func (f *faults) unless(ok bool, format string, args ...any) {
	if !ok {
		*f = append(*f, fmt.Errorf("engine: "+format, args...))
	}
}

// ofModel checks what every use of a model is configured with.
func (f *faults) ofModel(path string, contextSize, batchSize, threads int, flash string) {
	f.unless(path != "", "no model file is set")
	f.unless(contextSize >= 0, "context size %d is negative", contextSize)
	f.unless(batchSize >= 1, "batch size %d is not positive", batchSize)
	f.unless(threads <= maxThreads, "threads = %d is more than llama.cpp's %d", threads, maxThreads)
	f.unless(oneOf(flash, "auto", "on", "off"), "flash attention %q is not auto, on or off", flash)
}

func (c Config) validate() error {
	var errs faults
	errs.ofModel(c.ModelPath, c.ContextSize, c.BatchSize, c.Threads, c.FlashAttention)
	bad := errs.unless
	bad(c.Parallel >= 1 && c.Parallel <= 64, "parallel = %d is not in 1 to 64", c.Parallel)
	bad(c.MaxTokens >= 1, "max tokens %d is not positive", c.MaxTokens)
	bad(oneOf(c.ToolFormat, "auto", "native", "structured"), "tool format %q is not auto, native or structured", c.ToolFormat)
	bad(oneOf(c.KVCacheType, "f16", "f32", "q8_0", "q4_0"), "KV cache type %q is not f16, f32, q8_0 or q4_0", c.KVCacheType)
	bad(c.StateMaxBytes >= 0, "the size %d for running states is negative", c.StateMaxBytes)
	bad(c.KVStoreMaxBytes >= 0, "the KV store's size %d is negative", c.KVStoreMaxBytes)
	return errors.Join(append(errs, validateAdapters(c.Adapters))...)
}

func oneOf(s string, of ...string) bool {
	for _, o := range of {
		if s == o {
			return true
		}
	}
	return false
}

// BuildInfo describes a llama.cpp build.
type BuildInfo struct {
	Backend string // cpu, cuda, metal or vulkan; empty: none is linked in
	Version string // llama.cpp's own version
	Devices []Device
}

// Device is something that llama.cpp can compute on. Bytes are 0 when unknown.
type Device struct {
	Name, Description string
	Kind              string // cpu, gpu, igpu or other
	FreeBytes, Bytes  uint64
}

// PhysicalCores is the number of threads that llama.cpp is fastest with on this machine: the physical cores that this
// process may use. Two hardware threads of a core share the units that matrix products need.
func PhysicalCores() int {
	usable := runtime.GOMAXPROCS(0)
	if n := physicalCores(); n > 0 && n < usable {
		return n
	}
	return max(usable, 1)
}
