package graph_test

import (
	"encoding/json"
	"fmt"

	"github.com/llama-agent/llama-agent/graph"
)

// traceChannel is a channel of a scenario with values as JSON has them: numbers are float64.
type traceChannel struct {
	name    string
	kind    string
	zero    any // what a channel with a reducer holds before it is written, else nil
	channel graph.Channel
	write   func(v any) graph.Write
	replace func(v any) graph.Write // nil when the kind has no overwrite
	nothing func(v any) bool        // whether writing v is no write; nil: never
	lookup  func(s graph.State) (any, bool)
	appends bool // stored as the items of each write
}

// oneStep reports whether a value is gone after a step without a write.
func (c *traceChannel) oneStep() bool {
	return c.kind == "any" || c.kind == "ephemeral" || c.kind == "topic"
}

// overwriteValue is a value made by $overwrite.
type overwriteValue struct{ value any }

func newTraceChannel(spec traceChannelSpec) *traceChannel {
	c := &traceChannel{name: spec.Name, kind: spec.Kind}
	switch spec.Kind {
	case "last":
		c.value(graph.Value[any](spec.Name))
	case "any":
		c.value(graph.AnyValue[any](spec.Name))
	case "ephemeral":
		c.value(graph.Ephemeral[any](spec.Name))
	case "untracked":
		c.value(graph.Untracked[any](spec.Name))
	case "append":
		c.list(graph.Append[any](spec.Name))
		c.zero, c.appends = []any{}, true
	case "topic":
		c.list(graph.Topic[any](spec.Name))
	case "topic_accumulate":
		c.list(graph.Append[any](spec.Name))
		c.appends = true
	case "sum":
		reducedTraceChannel(c, func(a, b float64) float64 { return a + b })
	case "max":
		reducedTraceChannel(c, func(a, b float64) float64 { return max(a, b) })
	case "concat":
		reducedTraceChannel(c, func(a, b string) string { return a + b })
	default:
		panic("no such kind of channel: " + spec.Kind)
	}
	return c
}

func (c *traceChannel) value(ch *graph.ValueChannel[any]) {
	c.channel = ch
	c.write = func(v any) graph.Write { return ch.Set(v) }
	c.lookup = func(s graph.State) (any, bool) { return ch.Lookup(s) }
}

func (c *traceChannel) list(ch *graph.AppendChannel[any]) {
	items := func(v any) []any {
		if list, ok := v.([]any); ok {
			return list
		}
		if c.kind == "append" {
			panic(traceBug(fmt.Sprintf("%v is written to channel %q, which appends", v, c.name)))
		}
		return []any{v} // a topic takes items as well as lists of them
	}
	c.channel = ch
	c.write = func(v any) graph.Write { return ch.Add(items(v)...) }
	c.nothing = func(v any) bool { return c.kind == "topic_accumulate" && len(items(v)) == 0 }
	c.replace = func(v any) graph.Write { return ch.Replace(items(v)) }
	c.lookup = func(s graph.State) (any, bool) {
		v, ok := ch.Lookup(s)
		if c.zero == nil && len(v) == 0 {
			return nil, false // a topic without items is absent
		}
		return append([]any{}, v...), ok
	}
}

func reducedTraceChannel[T float64 | string](c *traceChannel, reduce func(a, b T) T) {
	ch := graph.Reduced(c.name, reduce)
	typed := func(v any) T {
		t, ok := v.(T)
		if !ok {
			panic(traceBug(fmt.Sprintf("%v is written to channel %q, a %s", v, c.name, c.kind)))
		}
		return t
	}
	var zero T
	c.channel, c.zero = ch, zero
	c.write = func(v any) graph.Write { return ch.Merge(typed(v)) }
	c.replace = func(v any) graph.Write { return ch.Replace(typed(v)) }
	c.lookup = func(s graph.State) (any, bool) { return ch.Lookup(s) }
}

// update is the write of an evaluated value.
func (c *traceChannel) update(v any) graph.Write {
	if o, ok := v.(overwriteValue); ok {
		if c.replace == nil {
			panic(traceBug(fmt.Sprintf("channel %q, a %s, is overwritten", c.name, c.kind)))
		}
		return c.replace(o.value)
	}
	return c.write(v)
}

// stored joins the stored parts of a value.
func (c *traceChannel) stored(parts [][]byte) (any, error) {
	var value any
	for i, part := range parts {
		var v any
		if err := json.Unmarshal(part, &v); err != nil {
			return nil, fmt.Errorf("stored value of channel %q: %w", c.name, err)
		}
		items, isList := v.([]any)
		switch {
		case c.appends && (isList || v == nil):
			list, _ := value.([]any)
			value = append(append([]any{}, list...), items...)
		case i > 0:
			return nil, fmt.Errorf("channel %q is stored in %d parts", c.name, len(parts))
		default:
			value = v
		}
	}
	return value, nil
}

// traceBug is the value of a panic that says that a scenario can't be interpreted.
type traceBug string
