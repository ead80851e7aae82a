package engine

import (
	"encoding/json"
	"sync"

	"github.com/llama-agent/llama-agent/engine/gbnf"
	"github.com/llama-agent/llama-agent/engine/llama"
	"github.com/tmc/langchaingo/llms"
)

// Bounds for schemas that set none. The string bound is below the repetition that llama.cpp's grammar parser allows.
const (
	maxStringRunes = 1000
	maxArrayItems  = 32
)

// metaSchema is the key of CallOptions.Metadata that holds the schema of a reply, a json.RawMessage.
const metaSchema = "json_schema"

// WithSchema constrains a reply to compact JSON of a schema. Required properties are written first, then optional ones,
// each in the schema's order; the root must be an object or an array. A model behind another llms.Model than this
// package's may ignore it.
func WithSchema(schema json.RawMessage) llms.CallOption { return withMeta(metaSchema, schema) }

// metaProgress is the key of CallOptions.Metadata that holds a func(done, total int).
const metaProgress = "prefill_progress"

// WithProgress reports the prefill: done of total prompt tokens are in the KV cache. fn runs on the caller's goroutine.
func WithProgress(fn func(done, total int)) llms.CallOption { return withMeta(metaProgress, fn) }

func withMeta(key string, v any) llms.CallOption {
	return func(o *llms.CallOptions) {
		meta := make(map[string]any, len(o.Metadata)+1)
		for k, old := range o.Metadata {
			meta[k] = old
		}
		meta[key] = v
		o.Metadata = meta
	}
}

// grammarCache keeps the grammars of schemas. An agent uses a few dozen.
type grammarCache struct {
	mu    sync.Mutex
	known map[string]schemaGrammar
}

// schemaGrammar is the grammar of a schema: as llama.cpp reads it, and as this package does.
type schemaGrammar struct {
	text   string
	parsed *gbnf.Grammar // nil: only llama.cpp understands it
}

const grammarCacheSize = 256

func (c *grammarCache) get(m model, schema string) (schemaGrammar, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if g, ok := c.known[schema]; ok {
		return g, nil
	}
	text, err := grammarOf(m, []byte(schema))
	if err != nil {
		path := faultyPart([]byte(schema), func(part []byte) bool { _, err := grammarOf(m, part); return err != nil })
		return schemaGrammar{}, &SchemaError{Schema: shorten(schema, 120), Path: path, Err: err}
	}
	g := schemaGrammar{text: text}
	if g.parsed, err = gbnf.Parse(text); err != nil {
		g.parsed = nil // then everything is sampled, which is as right and slower
	}
	if c.known == nil || len(c.known) >= grammarCacheSize {
		c.known = map[string]schemaGrammar{}
	}
	c.known[schema] = g
	return g, nil
}

// grammarOf is the grammar of a schema, which llama.cpp has read once: its converter writes some that its parser refuses,
// for example with too long repetitions.
func grammarOf(m model, schema []byte) (string, error) {
	text, err := m.SchemaToGrammar(schema, maxStringRunes, maxArrayItems)
	if err != nil {
		return "", err
	}
	s, err := m.NewSampler(llama.SamplerParams{Grammar: text, GrammarKind: llama.GrammarUser})
	if err != nil {
		return "", err
	}
	s.Close()
	return text, nil
}

func shorten(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return string(r[:n]) + "…"
}
