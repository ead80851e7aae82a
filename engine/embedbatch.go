package engine

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"

	"github.com/llama-agent/llama-agent/engine/llama"
)

// textModel is the part of a loaded model that needs no context. Its methods may be called from any goroutine.
type textModel interface {
	Info() llama.ModelInfo
	Tokenize(text string, addSpecial, parseSpecial bool) ([]llama.Token, error)
	IsControl(t llama.Token) bool
}

// vectors computes the vectors of texts. Only the owner goroutine calls Embed; the others may be called from any.
type vectors interface {
	Embed(texts [][]llama.Token) ([][]float32, error)
	Abort()
	ResetAbort()
	Dimensions() int
	BatchSize() int // most tokens of one Embed
}

// embedJob is one batch on its way to the owner goroutine.
type embedJob struct {
	ctx   context.Context
	texts [][]llama.Token
	done  chan embedResult // has room for the result
}

type embedResult struct {
	vectors [][]float32
	err     error
}

// batchTexts is the most texts of a batch. Recurrent layers need a state of some megabytes for each, and compute one after
// the other anyway.
func batchTexts(i llama.ModelInfo) int {
	if i.Recurrent || i.Hybrid {
		return 1
	}
	return textsPerBatch
}

// batchOf is the number of the first texts of a list that go into one batch: at least one.
func batchOf(wanted []int, tokens [][]llama.Token, room, texts int) int {
	n := 0
	for n < min(len(wanted), texts) {
		room -= len(tokens[wanted[n]])
		if room < 0 {
			break
		}
		n++
	}
	return max(n, 1)
}

// tokenize returns the tokens of each text; none for one of which nothing is left.
func (e *Embedder) tokenize(ctx context.Context, texts []string) ([][]llama.Token, error) {
	out := make([][]llama.Token, len(texts))
	for i, text := range texts {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if text == "" {
			continue
		}
		tokens, err := e.model.Tokenize(strings.ToValidUTF8(text, "\uFFFD"), true, false)
		if err != nil {
			return nil, fmt.Errorf("engine: reading text %d: %w", i, err)
		}
		if e.onlyAdded(tokens) {
			continue
		}
		if len(tokens) > e.limit {
			if !e.cfg.Truncate {
				return nil, &TextTooLongError{Index: i, Tokens: len(tokens), Limit: e.limit}
			}
			tokens = e.truncated(tokens)
		}
		out[i] = tokens
	}
	return out, nil
}

// onlyAdded reports whether there is nothing but what the tokenizer puts around a text: text itself never gives control
// tokens.
func (e *Embedder) onlyAdded(tokens []llama.Token) bool {
	for _, t := range tokens {
		if !e.added(t) {
			return false
		}
	}
	return true
}

func (e *Embedder) added(t llama.Token) bool {
	i := e.model.Info()
	return e.model.IsControl(t) || t == i.BOS || t == i.EOS
}

// truncated cuts a text to the limit and keeps what the tokenizer puts behind it, which some models pool.
func (e *Embedder) truncated(tokens []llama.Token) []llama.Token {
	end := len(tokens)
	for end > 0 && e.added(tokens[end-1]) {
		end--
	}
	tail := tokens[end:]
	if len(tail) >= e.limit {
		return tokens[:e.limit]
	}
	return append(tokens[:e.limit-len(tail):e.limit-len(tail)], tail...)
}

// embedBatch has one batch computed and puts its vectors where they belong.
func (e *Embedder) embedBatch(ctx context.Context, batch []int, tokens [][]llama.Token, out [][]float32) error {
	j := &embedJob{ctx: ctx, done: make(chan embedResult, 1)}
	for _, i := range batch {
		j.texts = append(j.texts, tokens[i])
	}
	select {
	case e.jobs <- j:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	r := <-j.done // soon: the owner gives it up when ctx ends
	if r.err != nil {
		return r.err
	}
	for k, i := range batch {
		if !e.finish(r.vectors[k]) {
			return fmt.Errorf("engine: the model's vector of text %d holds what is no number; its file is probably damaged", i)
		}
		out[i] = r.vectors[k]
	}
	return nil
}

// finish gives a vector the length 1 unless that is not wanted. False: it holds what is no finite number.
func (e *Embedder) finish(v []float32) bool {
	sum := 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	if math.IsNaN(sum) || math.IsInf(sum, 0) {
		return false
	}
	if length := math.Sqrt(sum); !e.cfg.Unnormalized && length > 0 {
		for i, x := range v {
			v[i] = float32(float64(x) / length)
		}
	}
	return true
}

// run is the owner goroutine.
func (e *Embedder) run() {
	// llama.cpp's thread pool and GPU back ends keep state per thread.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(e.stopped)
	for j := range e.jobs {
		j.done <- e.compute(j)
	}
}

// compute runs one batch, and gives it up when its call ends.
func (e *Embedder) compute(j *embedJob) embedResult {
	aborted := make(chan struct{})
	stop := context.AfterFunc(j.ctx, func() {
		e.vectors.Abort()
		close(aborted)
	})
	v, err := e.vectors.Embed(j.texts)
	if !stop() {
		<-aborted
		e.vectors.ResetAbort() // the next batch is of another call
	}
	switch {
	case err == nil:
		return embedResult{vectors: v}
	case errors.Is(err, llama.ErrAborted) && j.ctx.Err() != nil:
		return embedResult{err: context.Cause(j.ctx)}
	}
	return embedResult{err: fmt.Errorf("engine: computing embeddings: %w", err)}
}
