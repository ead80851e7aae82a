//go:build !cgo || nollama

package engine

import "context"

// Available reports whether this build can run models.
const Available = false

func openBackend(context.Context, Config) (model, memory, func(), error) {
	return nil, nil, nil, ErrNoLlama
}

func buildIdentity(bool) []string { return nil }

// Build describes the llama.cpp that is linked in: none.
func Build() BuildInfo { return BuildInfo{} }
