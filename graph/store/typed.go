package store

import (
	"context"
	"slices"
)

// Typed reads and writes the items of one namespace as values of T, which [encoding/json] must make a JSON object of. It is
// safe for concurrent use, and several may share a store.
type Typed[T any] struct {
	store Store
	ns    Namespace
	opts  []PutOption
}

// NewTyped returns the items of a namespace as values of T. opts apply to every Put.
func NewTyped[T any](s Store, ns Namespace, opts ...PutOption) Typed[T] {
	return Typed[T]{store: s, ns: slices.Clone(ns), opts: opts}
}

// Found is an item and its decoded value.
type Found[T any] struct {
	Item  Item
	Value T
}

// Get returns the value of a key, or an error that is [ErrNotFound].
func (t Typed[T]) Get(ctx context.Context, key string, opts ...ReadOption) (T, error) {
	var v T
	item, err := t.store.Get(ctx, t.ns, key, opts...)
	if err == nil {
		err = item.Decode(&v)
	}
	return v, err
}

// Put stores a value.
func (t Typed[T]) Put(ctx context.Context, key string, value T, opts ...PutOption) error {
	return t.store.Write(ctx, Put(t.ns, key, value, slices.Concat(t.opts, opts)...))
}

// Delete removes values. Keys that aren't there are fine.
func (t Typed[T]) Delete(ctx context.Context, keys ...string) error {
	ops := make([]Op, len(keys))
	for i, key := range keys {
		ops[i] = Delete(t.ns, key)
	}
	return t.store.Write(ctx, ops...)
}

// Search returns the values that a query selects. The query's namespace is taken as below the one of t.
func (t Typed[T]) Search(ctx context.Context, q Query) ([]Found[T], error) {
	q.Namespace = slices.Concat(t.ns, q.Namespace)
	items, err := t.store.Search(ctx, q)
	if err != nil {
		return nil, err
	}
	found := make([]Found[T], len(items))
	for i, item := range items {
		found[i].Item = item
		if err := item.Decode(&found[i].Value); err != nil {
			return nil, err
		}
	}
	return found, nil
}
