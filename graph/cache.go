package graph

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/llama-agent/llama-agent/graph/checkpoint"
	"github.com/llama-agent/llama-agent/graph/store"
)

// CachePolicy says when a node's earlier result stands for a run of it. The zero value works.
type CachePolicy struct {
	// Key names what the node's result depends on; equal keys share a result. An error fails the task. Default: the whole
	// state that the node sees, as JSON; see [Reads].
	Key func(s State) (string, error)

	TTL time.Duration // how long a result is kept, 0: for ever
}

// Cache keeps the results of a node in [Options.Cache], which must be set, and takes them from there instead of running the
// node again, also in other runs and threads of graphs with the same name. Failures, and results that depend on an answer, are not kept. A
// result is looked up under the node's name, so clear the cache when the node's function changes; see [Graph.ClearCache].
func Cache(p CachePolicy) NodeOption { return func(n *nodeDef) { n.cache = &p } }

// ClearCache removes the cached results of these nodes, of all without any.
func (g *Graph) ClearCache(ctx context.Context, nodes ...string) error {
	if g.opts.Cache == nil {
		return nil
	}
	if len(nodes) == 0 {
		return g.opts.Cache.Write(ctx, store.DeleteAll(g.cacheSpace()))
	}
	var ops []store.Op
	for _, n := range nodes {
		if g.nodes[n] == nil {
			return g.unknownNode(n, "")
		}
		ops = append(ops, store.DeleteAll(g.cacheSpace(n)))
	}
	return g.opts.Cache.Write(ctx, ops...)
}

func (g *Graph) cacheSpace(more ...string) store.Namespace {
	return append(store.Namespace{"graph cache", g.name}, more...)
}

// cacheKey names the cached result of a task.
func (t *task) cacheKey() (key string, err error) {
	key, err = safely(func() (string, error) {
		if t.def.cache.Key != nil {
			return t.def.cache.Key(t.state)
		}
		data, err := t.state.MarshalJSON()
		return string(data), err
	})
	if err != nil {
		return "", fmt.Errorf("naming the cached result of node %q: %w", t.node, err)
	}
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:]), nil
}

// recall takes the results of tasks from their nodes' caches. A cache that fails is one that has nothing.
func (r *run) recall(ctx context.Context) {
	for _, t := range r.pos.tasks {
		if t.done || t.def.cache == nil || len(t.stored.Interrupts) > 0 || len(t.stored.Nested) > 0 {
			continue
		}
		key, err := t.cacheKey()
		if err != nil {
			t.err, t.done = err, true
			continue
		}
		item, err := r.g.opts.Cache.Get(ctx, r.g.cacheSpace(t.node), key)
		if err != nil {
			if !errors.Is(err, store.ErrNotFound) {
				r.g.opts.Logger.WarnContext(ctx, "reading a cached result", "graph", r.g.name, "node", t.node, "error", err)
			}
			continue
		}
		var result checkpoint.Result
		found := *t
		if err := errors.Join(item.Decode(&result), found.adopt(r.g.schema, r.g.nodes, result, false)); err != nil {
			r.g.opts.Logger.WarnContext(ctx, "decoding a cached result", "graph", r.g.name, "node", t.node, "error", err)
			continue
		}
		t.update, t.targets = found.update, found.targets
		t.done, t.recall = true, true
	}
}

// remember puts the result of a task into its node's cache.
func (g *Graph) remember(ctx context.Context, t *task) {
	if t.def.cache == nil || t.err != nil || t.handled != nil || t.calls.asking() {
		return
	}
	key, err := t.cacheKey()
	if err != nil {
		return // it was reported before the node ran
	}
	bare := task{update: t.update, targets: t.targets}
	result, err := bare.result()
	if err == nil {
		expiry := store.Never
		if t.def.cache.TTL > 0 {
			expiry = store.Expiry{After: t.def.cache.TTL}
		}
		op := store.Put(g.cacheSpace(t.node), key, result, store.NoText())
		op.Expiry = expiry
		err = g.opts.Cache.Write(ctx, op)
	}
	if err != nil {
		g.opts.Logger.WarnContext(ctx, "caching a result", "graph", g.name, "node", t.node, "error", err)
	}
}

// StoreFrom returns the [Options.Store] of the graph that the node of ctx belongs to, or of the nearest graph above it that has one.
// It is nil when there is none.
func StoreFrom(ctx context.Context) store.Store {
	for t := taskFrom(ctx); t != nil; t = t.scope.above {
		if s := t.scope.store; s != nil {
			return s
		}
	}
	return nil
}
