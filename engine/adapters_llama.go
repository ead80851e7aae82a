//go:build cgo && !nollama

package engine

import "github.com/llama-agent/llama-agent/engine/llama"

// loadAdapters reads the adapters, which the model owns from then on, and returns what makes a context compute with them.
// Contexts are made after that, because their graphs have room for as many adapters as the model has then.
func loadAdapters(m *llama.Model, list []Adapter) (apply func(*llama.Context) error, err error) {
	var loaded []*llama.Adapter
	var scales []float32
	for _, a := range list {
		l, err := m.LoadAdapter(a.Path)
		if err != nil {
			return nil, &AdapterError{Path: a.Path, Reason: err.Error(), Fix: adapterFix}
		}
		loaded, scales = append(loaded, l), append(scales, a.Scale)
	}
	return func(c *llama.Context) error { return c.SetAdapters(loaded, scales) }, nil
}
