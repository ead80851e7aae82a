// Package llmstream shows what models write while a graph runs: it wraps a model so that the text it streams goes to the run's
// stream as messages, tagged with the node that asked. It knows nothing of particular models; any [llms.Model] will do.
package llmstream

import (
	"context"
	"math/rand/v2"
	"strconv"
	"sync/atomic"
	"unicode/utf8"

	"github.com/tmc/langchaingo/llms"

	"github.com/llama-agent/llama-agent/graph"
)

// Model passes calls on to another model. While a call runs in a node of a graph, each piece of text that the model streams
// is sent with [graph.EmitMessage]; a model that streams nothing sends its answer in one piece. Calls outside a node, and
// those of a run whose stream doesn't carry [graph.Messages], are passed on as they are. It is safe for concurrent use if
// the other model is.
type Model struct {
	model llms.Model
	name  string // tells its messages from those of other Models that a task may use
	calls atomic.Int64
}

var _ llms.Model = (*Model)(nil)

// New wraps a model.
func New(m llms.Model) *Model { return &Model{model: m, name: strconv.FormatUint(rand.Uint64(), 36)} }

// GenerateContent implements [llms.Model]. A streaming function among the options is called as well.
func (m *Model) GenerateContent(ctx context.Context, messages []llms.MessageContent, options ...llms.CallOption) (*llms.ContentResponse, error) {
	if !graph.Listening(ctx, graph.Messages) {
		return m.model.GenerateContent(ctx, messages, options...)
	}
	var given llms.CallOptions
	for _, opt := range options {
		opt(&given)
	}
	w := &writer{ctx: ctx, id: m.name + "-" + strconv.FormatInt(m.calls.Add(1), 10)}
	stream := func(ctx context.Context, chunk []byte) error {
		w.write(chunk)
		if given.StreamingFunc == nil {
			return nil
		}
		return given.StreamingFunc(ctx, chunk)
	}
	response, err := m.model.GenerateContent(ctx, messages, append(options[:len(options):len(options)], llms.WithStreamingFunc(stream))...)
	w.flush()
	if err == nil && !w.wrote && len(response.Choices) > 0 {
		w.send(response.Choices[0].Content)
	}
	return response, err
}

// Call implements [llms.Model].
func (m *Model) Call(ctx context.Context, prompt string, options ...llms.CallOption) (string, error) {
	return llms.GenerateFromSinglePrompt(ctx, m, prompt, options...)
}

// writer sends one message. A character that comes in several chunks is sent whole.
type writer struct {
	ctx   context.Context //nolint:containedctx // of the call that the writer belongs to
	id    string
	rest  []byte
	wrote bool
}

func (w *writer) write(chunk []byte) {
	w.wrote = true
	w.rest = append(w.rest, chunk...)
	end := len(w.rest)
	for back := 1; back < utf8.UTFMax && back <= len(w.rest); back++ {
		if b := w.rest[len(w.rest)-back]; utf8.RuneStart(b) {
			if !utf8.FullRune(w.rest[len(w.rest)-back:]) {
				end -= back
			}
			break
		}
	}
	w.send(string(w.rest[:end]))
	w.rest = append([]byte(nil), w.rest[end:]...)
}

// flush sends what is left of a stream that was cut.
func (w *writer) flush() {
	w.send(string(w.rest))
	w.rest = nil
}

func (w *writer) send(text string) {
	if text != "" {
		graph.EmitMessage(w.ctx, graph.Message{ID: w.id, Role: "assistant", Text: text})
	}
}
