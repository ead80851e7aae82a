package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/llama-agent/llama-agent/engine/gguf"
)

// Sizes of an embedder, in tokens.
const (
	// defaultTextSize bounds one text for models with a long training context. All texts of a batch are computed at once, and
	// models that can also chat compute logits with them: 8 bytes for each token of the batch and entry of the vocabulary.
	defaultTextSize = 512
	// textsPerBatch are the most texts of a batch.
	textsPerBatch = 32
)

// EmbedConfig says which model gives the vectors and how. The zero value of a field means its default.
type EmbedConfig struct {
	ModelPath    string // GGUF file; required
	ContextSize  int    // most tokens of one text; 0: the model's own, at most 512; more than the model's own becomes that
	BatchSize    int    // tokens that are computed at once, of all texts of a batch; 0: 512; at least ContextSize
	GPULayers    int    // layers on the GPU; -1: all
	Threads      int    // 0: one for each physical core
	Pooling      string // "auto" (empty): as the model says, mean when it says nothing; "mean", "cls" or "last"
	Unnormalized bool   // leaves vectors as the model gives them; else their length is 1
	Truncate     bool   // cuts texts that are too long instead of refusing them

	FlashAttention string        // "auto" (empty), "on" or "off"
	Logger         *slog.Logger  // llama.cpp's log and notices; nil: nowhere
	Progress       func(float32) // as in Config
}

func (c EmbedConfig) withDefaults() EmbedConfig {
	def(&c.BatchSize, 512)
	def(&c.Pooling, "auto")
	def(&c.FlashAttention, "auto")
	if c.Threads <= 0 {
		c.Threads = PhysicalCores()
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

func (c EmbedConfig) validate() error {
	var errs faults
	errs.ofModel(c.ModelPath, c.ContextSize, c.BatchSize, c.Threads, c.FlashAttention)
	errs.unless(oneOf(c.Pooling, "auto", "mean", "cls", "last"), "pooling %q is not auto, mean, cls or last", c.Pooling)
	return errors.Join(errs...)
}

// textSize is the most tokens of one text, for a model that was trained for some tokens; 0: it does not say.
func (c EmbedConfig) textSize(trained int) int {
	size := cmp.Or(c.ContextSize, min(cmp.Or(trained, defaultTextSize), defaultTextSize))
	if trained > 0 {
		// Models with learnt positions have none beyond, and llama.cpp would abort the process.
		size = min(size, trained)
	}
	return size
}

// TextTooLongError says which of the texts to embed has more tokens than the model takes at once.
type TextTooLongError struct {
	Index  int // of the text, 0-based
	Tokens int // that it has, with those that the model puts around it
	Limit  int // tokens that it may have
}

func (e *TextTooLongError) Error() string {
	return fmt.Sprintf("engine: text %d has %d tokens, and the embedding model takes at most %d of a text; shorten or split it, or have long texts cut",
		e.Index, e.Tokens, e.Limit)
}

// Embedder turns texts into vectors whose angles tell how near their meanings are. It is safe for concurrent use. Close it
// when done.
//
// With langchaingo: embeddings.NewEmbedder(embeddings.EmbedderClientFunc(e.Embed)).
type Embedder struct {
	cfg     EmbedConfig
	model   textModel
	vectors vectors
	limit   int // tokens of a text
	texts   int // of a batch
	free    func()

	jobs    chan *embedJob
	stopped chan struct{}      // the owner goroutine has ended
	closing context.Context    // the lifetime of the embedder
	stop    context.CancelFunc // of closing

	once   sync.Once
	calls  sync.WaitGroup
	mu     sync.RWMutex // held for reading to join calls, for writing to close
	closed bool
}

// OpenEmbedder checks the file, loads the model and starts the embedder. Any model will do: one that was made for embeddings
// gives far better vectors than one that was made to chat. It blocks while the model loads; a cancelled ctx stops that.
// Errors: *ModelFileError for a file that cannot be used, ErrNoLlama without llama.cpp, ctx's error.
func OpenEmbedder(ctx context.Context, c EmbedConfig) (*Embedder, error) {
	c = c.withDefaults()
	if err := c.validate(); err != nil {
		return nil, err
	}
	if !Available {
		return nil, ErrNoLlama
	}
	info, err := gguf.Inspect(c.ModelPath)
	if err == nil {
		err = info.CheckEmbedding()
	}
	if err != nil {
		return nil, modelFileError(c.ModelPath, err)
	}
	m, v, free, err := openVectors(ctx, c)
	if err != nil {
		return nil, err
	}
	return newEmbedder(c, m, v, free), nil
}

func newEmbedder(c EmbedConfig, m textModel, v vectors, free func()) *Embedder {
	info := m.Info()
	e := &Embedder{
		cfg: c, model: m, vectors: v, limit: min(c.textSize(info.ContextTrain), v.BatchSize()), texts: batchTexts(info), free: free,
		jobs: make(chan *embedJob), stopped: make(chan struct{}),
	}
	e.closing, e.stop = context.WithCancel(context.Background())
	go e.run()
	return e
}

// Dimensions is the length of a vector.
func (e *Embedder) Dimensions() int { return e.vectors.Dimensions() }

// Embed returns the vectors of some texts, in their order. A text of which the tokenizer leaves nothing, such as an empty
// one, has the zero vector: it is like no other. Texts are data: spellings of control tokens in them are plain text. The
// vector of a text can differ in the last digits by what is computed beside it.
//
// A cancelled ctx ends the call within a batch. Errors: *TextTooLongError before anything is computed, ErrClosed, ctx's
// error.
func (e *Embedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	if err := e.enter(); err != nil {
		return nil, err
	}
	defer e.calls.Done()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(e.closing, func() { cancel(ErrClosed) })()

	tokens, err := e.tokenize(ctx, texts)
	if err != nil {
		return nil, err
	}
	out := make([][]float32, len(texts))
	var wanted []int // indexes of the texts that have tokens
	for i := range texts {
		if len(tokens[i]) > 0 {
			wanted = append(wanted, i)
		} else {
			out[i] = make([]float32, e.Dimensions())
		}
	}
	for len(wanted) > 0 {
		n := batchOf(wanted, tokens, e.vectors.BatchSize(), e.texts)
		if err := e.embedBatch(ctx, wanted[:n], tokens, out); err != nil {
			return nil, err
		}
		wanted = wanted[n:]
	}
	return out, nil
}

// Close stops all calls, waits for them and frees the model. Later calls return ErrClosed. A second Close does nothing.
func (e *Embedder) Close() error {
	e.once.Do(func() {
		e.mu.Lock()
		e.closed = true
		e.mu.Unlock()
		e.stop()
		e.calls.Wait()
		close(e.jobs)
		<-e.stopped
		e.free()
	})
	return nil
}

// enter joins the calls that Close waits for.
func (e *Embedder) enter() error {
	e.mu.RLock()
	defer e.mu.RUnlock()
	if e.closed {
		return ErrClosed
	}
	e.calls.Add(1)
	return nil
}
