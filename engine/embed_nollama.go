//go:build !cgo || nollama

package engine

import "context"

func openVectors(context.Context, EmbedConfig) (textModel, vectors, func(), error) {
	return nil, nil, nil, ErrNoLlama
}
