package graph

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
)

// Channel is one named, typed slot of a graph's state. Its kind decides how the writes of a superstep are merged:
// see [Value], [Append], [Reduced], [Ephemeral], [AnyValue], [Topic] and [Untracked]. A channel is a description: it holds no value, is immutable, may be
// a package-level variable, and may be part of several graphs.
type Channel interface {
	Name() string

	spec() *channelSpec

	// merge folds writes, in order, into old. It may share memory with old; shared says that others append to old too,
	// so that old's spare capacity must not be used.
	merge(old cell, writes []Write, shared bool) (cell, change)

	// encode encodes the payload of a write or a change; decode returns what encode was given.
	encode(payload any) ([]byte, error)
	decode(data []byte) (any, error)

	// join returns a value followed by what was appended to it later, or the later value where values replace each other.
	// It may use base's memory.
	join(base, later any) any
}

// Kinds of channels, as they appear in a graph's shape.
const (
	kindValue     = "value"
	kindAppend    = "append"
	kindReduced   = "reduced"
	kindEphemeral = "ephemeral"
	kindAnyValue  = "any value"
	kindTopic     = "topic"
	kindUntracked = "untracked"
)

type channelSpec struct {
	name      string
	kind      string
	typ       reflect.Type // of the value
	codec     Codec
	single    bool // a second write in one superstep is a conflict
	oneStep   bool // the value lives for the superstep after the write
	untracked bool // never stored
	hidden    bool // of the graph's own bookkeeping: users don't see it
}

// takes returns the op of a write that hands a whole value to the channel: one to merge with what is there, or to put in its
// place.
func (s *channelSpec) takes(replace bool) op {
	switch {
	case s.kind == kindReduced && !replace:
		return opMerge
	case s.kind == kindAppend && !replace, s.kind == kindTopic:
		return opAdd
	case s.kind == kindReduced, s.kind == kindAppend:
		return opReplace
	}
	return opSet
}

// folds reports whether writes are added to what the channel has.
func (s *channelSpec) folds() bool { return s.kind == kindAppend || s.kind == kindReduced }

// cell is the value of a channel in a state; set tells a stored zero from none.
type cell struct {
	v   any
	set bool
}

// change is what a merge has to store: a new value, or with delta what was appended to the old one.
type change struct {
	delta   bool
	payload any
	data    []byte // the encoded payload when it is known already
}

// ChannelOption changes how a channel is stored.
type ChannelOption func(*channelSpec)

// WithCodec stores the channel's values with c instead of [JSON].
func WithCodec(c Codec) ChannelOption { return func(s *channelSpec) { s.codec = c } }

func newSpec[T any](name, kind string, opts []ChannelOption) channelSpec {
	s := channelSpec{name: name, kind: kind, typ: reflect.TypeFor[T](), codec: JSON}
	for _, opt := range opts {
		opt(&s)
	}
	return s
}

func encodePayload[P any](s *channelSpec, payload any) ([]byte, error) {
	data, err := safely(func() ([]byte, error) { return s.codec.Encode(payload) })
	if err != nil {
		return nil, &CodecError{Channel: s.name, Op: "encoding", Err: err}
	}
	return data, nil
}

func decodePayload[P any](s *channelSpec, data []byte) (any, error) {
	var p P
	if _, err := safely(func() (struct{}, error) { return struct{}{}, s.codec.Decode(data, &p) }); err != nil {
		return nil, &CodecError{Channel: s.name, Op: "decoding", Err: err}
	}
	return p, nil
}

// get returns the value of c in s; P is the type of the channel's value.
func get[P any](s State, c Channel) (P, bool) {
	cl := s.cell(c)
	if !cl.set {
		var zero P
		return zero, false
	}
	p, _ := cl.v.(P) // a nil interface value arrives as nil and is P's zero value
	return p, true
}

// ValueChannel holds one value; a write replaces it. Make one with [Value], [Ephemeral], [AnyValue] or [Untracked].
type ValueChannel[T any] struct{ channelSpec }

// Value returns a channel whose value is the last one written. Two writes in one superstep are a [*ConflictError]: which
// of them should win would depend on the order of the tasks.
func Value[T any](name string, opts ...ChannelOption) *ValueChannel[T] {
	s := newSpec[T](name, kindValue, opts)
	s.single = true
	return &ValueChannel[T]{s}
}

// Ephemeral returns a channel whose value is seen in the superstep after the write and is gone after that. Two writes in
// one superstep are a [*ConflictError].
func Ephemeral[T any](name string, opts ...ChannelOption) *ValueChannel[T] {
	s := newSpec[T](name, kindEphemeral, opts)
	s.single, s.oneStep = true, true
	return &ValueChannel[T]{s}
}

// AnyValue returns a channel like [Ephemeral] that takes several writes in one superstep, of which the last in task order
// wins: for tasks that all write the same.
func AnyValue[T any](name string, opts ...ChannelOption) *ValueChannel[T] {
	s := newSpec[T](name, kindAnyValue, opts)
	s.oneStep = true
	return &ValueChannel[T]{s}
}

// Untracked returns a channel like [Value] that is never stored: for what can be had again and mustn't or can't be written
// down, such as a connection. A thread that is continued begins without its value, and so does a task's result that is
// taken from an earlier run.
func Untracked[T any](name string, opts ...ChannelOption) *ValueChannel[T] {
	s := newSpec[T](name, kindUntracked, opts)
	s.single, s.untracked = true, true
	return &ValueChannel[T]{s}
}

// Name returns the channel's name.
func (c *ValueChannel[T]) Name() string { return c.name }

// Get returns the value in s, or the zero value when nothing was written yet. What it refers to is shared and must not be
// changed. It panics with an [*UnknownChannelError] when c isn't part of the graph that s belongs to.
func (c *ValueChannel[T]) Get(s State) T { v, _ := get[T](s, c); return v }

// Lookup is Get and whether there is a value.
func (c *ValueChannel[T]) Lookup(s State) (T, bool) { return get[T](s, c) }

// Set returns a write that replaces the value. The graph owns v from then on.
func (c *ValueChannel[T]) Set(v T) Write { return Write{ch: c, op: opSet, value: v} }

// In returns the value that u sets, if it does.
func (c *ValueChannel[T]) In(u Update) (v T, ok bool) {
	for _, w := range u {
		if w.ch == Channel(c) {
			v, ok = w.value.(T)
		}
	}
	return v, ok
}

func (c *ValueChannel[T]) spec() *channelSpec { return &c.channelSpec }

func (c *ValueChannel[T]) merge(_ cell, writes []Write, _ bool) (cell, change) {
	return lastWrite(writes)
}

func (c *ValueChannel[T]) encode(p any) ([]byte, error) { return encodePayload[T](&c.channelSpec, p) }
func (c *ValueChannel[T]) decode(data []byte) (any, error) {
	return decodePayload[T](&c.channelSpec, data)
}
func (c *ValueChannel[T]) join(_, later any) any { return later }

func lastWrite(writes []Write) (cell, change) {
	w := writes[len(writes)-1]
	return cell{v: w.value, set: true}, change{payload: w.value, data: w.data}
}

// AppendChannel holds a list that writes add to. Make one with [Append] or [Topic].
type AppendChannel[T any] struct{ channelSpec }

// Append returns a channel whose value is a list to which every write adds items, in task order. A saver stores the new
// items only, so a list that grows over n supersteps costs n items, not n².
func Append[T any](name string, opts ...ChannelOption) *AppendChannel[T] {
	return &AppendChannel[T]{newSpec[[]T](name, kindAppend, opts)}
}

// Topic returns a channel whose value is the list of the items that were written in one superstep, in task order. It is
// seen in the superstep after that and is gone then.
func Topic[T any](name string, opts ...ChannelOption) *AppendChannel[T] {
	s := newSpec[[]T](name, kindTopic, opts)
	s.oneStep = true
	return &AppendChannel[T]{s}
}

// Name returns the channel's name.
func (c *AppendChannel[T]) Name() string { return c.name }

// Get returns the list in s, nil when nothing was written yet. It is shared: appending to it is fine, changing its items is
// not. It panics with an [*UnknownChannelError] when c isn't part of the graph that s belongs to.
func (c *AppendChannel[T]) Get(s State) []T { v, _ := c.Lookup(s); return v }

// Lookup is Get and whether anything was written.
func (c *AppendChannel[T]) Lookup(s State) ([]T, bool) {
	v, ok := get[[]T](s, c)
	return slices.Clip(v), ok
}

// Add returns a write that appends items.
func (c *AppendChannel[T]) Add(items ...T) Write {
	return Write{ch: c, op: opAdd, value: slices.Clone(items)}
}

// Replace returns a write that puts items in place of the whole list. Of the same superstep only what the same update adds
// after it counts: writes of other tasks are dropped, and a second Replace by another task is a [*ConflictError].
func (c *AppendChannel[T]) Replace(items []T) Write {
	return Write{ch: c, op: opReplace, value: slices.Clone(items)}
}

// In returns the items that u adds or replaces the list by.
func (c *AppendChannel[T]) In(u Update) []T {
	var items []T
	for _, w := range u {
		if w.ch == Channel(c) {
			more, _ := w.value.([]T)
			items = append(items, more...)
		}
	}
	return items
}

func (c *AppendChannel[T]) spec() *channelSpec { return &c.channelSpec }

func (c *AppendChannel[T]) merge(old cell, writes []Write, shared bool) (cell, change) {
	list, _ := old.v.([]T)
	if c.oneStep {
		list = nil
	}
	if shared {
		list = slices.Clip(list)
	}
	start, delta := len(list), !c.oneStep
	for _, w := range writes {
		items, _ := w.value.([]T)
		if w.op == opReplace {
			list, start, delta = slices.Clone(items), 0, false
			continue
		}
		list = append(list, items...)
	}
	ch := change{delta: delta, payload: list[start:len(list):len(list)]}
	if len(writes) == 1 {
		ch.data = writes[0].data
	}
	return cell{v: list, set: !c.oneStep || len(list) > 0}, ch
}

func (c *AppendChannel[T]) encode(p any) ([]byte, error) {
	return encodePayload[[]T](&c.channelSpec, p)
}
func (c *AppendChannel[T]) decode(data []byte) (any, error) {
	return decodePayload[[]T](&c.channelSpec, data)
}

func (c *AppendChannel[T]) join(base, later any) any {
	return append(base.([]T), later.([]T)...)
}

// ReducedChannel holds a value that writes are folded into. Make one with [Reduced].
type ReducedChannel[T any] struct {
	channelSpec
	reduce func(acc, in T) T
}

// Reduced returns a channel that folds each write into its value with reduce, in task order, beginning with T's zero value.
// reduce must not change what its arguments refer to. A panic in it fails the superstep with a [*ReducerError] that wraps a [*PanicError].
func Reduced[T any](name string, reduce func(acc, in T) T, opts ...ChannelOption) *ReducedChannel[T] {
	return &ReducedChannel[T]{newSpec[T](name, kindReduced, opts), reduce}
}

// MergeMaps is a reducer for [Reduced]: the entries of both maps, those of in where both have a key.
func MergeMaps[K comparable, V any](acc, in map[K]V) map[K]V {
	merged := make(map[K]V, len(acc)+len(in))
	maps.Copy(merged, acc)
	maps.Copy(merged, in)
	return merged
}

// Name returns the channel's name.
func (c *ReducedChannel[T]) Name() string { return c.name }

// Get is like [ValueChannel.Get].
func (c *ReducedChannel[T]) Get(s State) T { v, _ := get[T](s, c); return v }

// Lookup is Get and whether anything was written.
func (c *ReducedChannel[T]) Lookup(s State) (T, bool) { return get[T](s, c) }

// Merge returns a write that is folded into the value.
func (c *ReducedChannel[T]) Merge(v T) Write { return Write{ch: c, op: opMerge, value: v} }

// Replace returns a write that puts v in place of the value. Of the same superstep only what the same update merges after
// it counts: writes of other tasks are dropped, and a second Replace by another task is a [*ConflictError].
func (c *ReducedChannel[T]) Replace(v T) Write { return Write{ch: c, op: opReplace, value: v} }

// In returns the values that u merges or replaces the value by, in order.
func (c *ReducedChannel[T]) In(u Update) []T {
	var values []T
	for _, w := range u {
		if w.ch == Channel(c) {
			v, _ := w.value.(T)
			values = append(values, v)
		}
	}
	return values
}

func (c *ReducedChannel[T]) spec() *channelSpec { return &c.channelSpec }

func (c *ReducedChannel[T]) merge(old cell, writes []Write, _ bool) (cell, change) {
	acc, _ := old.v.(T)
	for _, w := range writes {
		in, _ := w.value.(T)
		if w.op == opReplace {
			acc = in
		} else {
			acc = c.reduce(acc, in)
		}
	}
	return cell{v: acc, set: true}, change{payload: acc}
}

func (c *ReducedChannel[T]) encode(p any) ([]byte, error) { return encodePayload[T](&c.channelSpec, p) }
func (c *ReducedChannel[T]) decode(data []byte) (any, error) {
	return decodePayload[T](&c.channelSpec, data)
}
func (c *ReducedChannel[T]) join(_, later any) any { return later }

// check reports what makes c unusable.
func (s *channelSpec) check() error {
	switch {
	case s.name == "":
		return fmt.Errorf("a channel of type %s has no name", s.typ)
	case s.codec == nil:
		return fmt.Errorf("channel %q has no codec", s.name)
	}
	return nil
}
