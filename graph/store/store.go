package store

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// Store keeps items. All methods are safe for concurrent use, also by several processes where the medium allows it. What a
// method gets is the store's to read until it returns; what it returns belongs to the caller.
//
// An item that has expired is never returned, whether or not it was swept. Names and queries that break a limit of this
// package are errors that are [ErrInvalid], and change nothing.
type Store interface {
	// Get returns one item, or an error that is [ErrNotFound]. Without [Peek] it puts off the expiry of an item that was put
	// with [Sliding].
	Get(ctx context.Context, ns Namespace, key string, opts ...ReadOption) (Item, error)

	// Write applies operations in order, all or none: [Put], [Delete], [DeleteAll].
	Write(ctx context.Context, ops ...Op) error

	// Search returns the items that a query selects, in the query's order. Without [Query.Peek] it puts off the expiry of
	// those that were put with [Sliding].
	Search(ctx context.Context, q Query) ([]Item, error)

	// Namespaces returns the namespaces that hold items, sorted element by element, each once.
	Namespaces(ctx context.Context, q NamespaceQuery) ([]Namespace, error)
}

// Sweeper is a [Store] in which expired items take space until they are swept. Such a store also sweeps a bounded number of
// them in every Write.
type Sweeper interface {
	// Sweep removes all expired items and returns how many there were.
	Sweep(ctx context.Context) (int, error)
}

// Item is a stored JSON document.
type Item struct {
	Namespace Namespace
	Key       string
	Value     json.RawMessage // a JSON object, without insignificant space
	Created   time.Time       // of the first write since the key was last free; times are UTC and have microseconds
	Updated   time.Time       // of the last write
	Expires   time.Time       // from this moment on the item is gone; zero: it stays

	// Score says how well the item fits [Query.Text]; higher is better. How rare a word is in the whole store counts too, so
	// it is comparable within one result only. 0 for items that were not searched by text.
	Score float64
}

// Decode stores the value in v, as [json.Unmarshal] does.
func (i Item) Decode(v any) error {
	if err := json.Unmarshal(i.Value, v); err != nil {
		return fmt.Errorf("decoding item %q of %q: %w", i.Key, []string(i.Namespace), err)
	}
	return nil
}

// ReadOption changes how [Store.Get] reads.
type ReadOption int

// Peek reads an item without putting off its expiry.
const Peek ReadOption = 1

// Expiry says how long an item stays. The zero Expiry stands for the store's default, and as that for [Never].
type Expiry struct {
	After   time.Duration // since the write; negative: it stays
	Sliding bool          // since the last write or read
}

// Never lets an item stay until it is deleted.
var Never = Expiry{After: -1}

// Or returns e, or fallback when e is zero.
func (e Expiry) Or(fallback Expiry) Expiry {
	if e == (Expiry{}) {
		return fallback
	}
	return e
}

// At returns when an item expires that was written or read at now: zero when it stays.
func (e Expiry) At(now time.Time) time.Time {
	if e.After <= 0 {
		return time.Time{}
	}
	return Instant(now.Add(max(e.After, time.Microsecond)))
}

// Instant returns t as stores keep it: in UTC and whole microseconds.
func Instant(t time.Time) time.Time { return time.UnixMicro(t.UnixMicro()).UTC() }

// OpKind is what an [Op] does.
type OpKind int

// The kinds of operations.
const (
	OpPut       OpKind = iota + 1 // stores an item, in place of one with the same namespace and key
	OpDelete                      // removes an item, if it is there
	OpDeleteAll                   // removes all items of a namespace and of those below it
)

// Op is one operation of [Store.Write]. [Put], [Delete] and [DeleteAll] make them.
type Op struct {
	Kind      OpKind
	Namespace Namespace
	Key       string

	// Of a put:
	Value  json.RawMessage
	Expiry Expiry   // zero: the store's default
	Fields []string // whose text is searchable, see [Fields]; empty: the store's default
	NoText bool     // no text is searchable

	err error // why the operation can't be carried out
}

// Put stores value, which becomes a JSON object: a struct, a map, a [json.RawMessage], or anything else that [json.Marshal]
// makes one of. An earlier item of the key is replaced, with its expiry.
func Put(ns Namespace, key string, value any, opts ...PutOption) Op {
	op := Op{Kind: OpPut, Namespace: ns, Key: key}
	if raw, ok := value.(json.RawMessage); ok {
		op.Value = raw
	} else if data, err := json.Marshal(value); err == nil {
		op.Value = data
	} else {
		op.err = &ValueError{Namespace: ns, Key: key, Reason: "can't be encoded as JSON", Err: err}
	}
	for _, opt := range opts {
		opt(&op)
	}
	return op
}

// Delete removes an item. It is no error when there is none.
func Delete(ns Namespace, key string) Op { return Op{Kind: OpDelete, Namespace: ns, Key: key} }

// DeleteAll removes all items whose namespace begins with prefix, which must not be empty: an empty variable must not clear
// the store.
func DeleteAll(prefix Namespace) Op { return Op{Kind: OpDeleteAll, Namespace: prefix} }

// PutOption is an option of [Put].
type PutOption func(*Op)

// TTL lets the item expire d after it was written. d must be positive; the resolution is a microsecond.
func TTL(d time.Duration) PutOption { return expire(Expiry{After: d}) }

// Sliding lets the item expire d after it was last written or read. d must be positive; the resolution is a microsecond.
// Reading such an item is a write for the store.
func Sliding(d time.Duration) PutOption { return expire(Expiry{After: d, Sliding: true}) }

// Forever lets the item stay, whatever the store's default is.
func Forever() PutOption { return func(op *Op) { op.Expiry = Never } }

func expire(e Expiry) PutOption {
	return func(op *Op) {
		op.Expiry = e
		if e.After <= 0 {
			op.err = &ValueError{Namespace: op.Namespace, Key: op.Key, Reason: fmt.Sprintf("has a time to live of %v; it must be positive", e.After)}
		}
	}
}

// Fields makes the text of these fields searchable and no other. A field is a path as described at [Condition]; all strings
// at and below it count. "$" is the whole value.
func Fields(paths ...string) PutOption { return func(op *Op) { op.Fields = paths } }

// NoText keeps the item out of searches by text, which makes writing it cheaper.
func NoText() PutOption { return func(op *Op) { op.NoText = true } }

// Options configure a store. The zero value works.
type Options struct {
	Expiry Expiry           // of items that are put without one, default [Never]
	Fields []string         // whose text is searchable when an item is put without [Fields], default "$"
	Clock  func() time.Time // judges expiry and dates items, default [time.Now]
}

// WithDefaults returns o with its defaults filled in.
func (o Options) WithDefaults() Options {
	o.Expiry = o.Expiry.Or(Never)
	if len(o.Fields) == 0 {
		o.Fields = []string{"$"}
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	return o
}

// Validate returns an error that is [ErrInvalid] when a field is no path.
func (o Options) Validate() error {
	for _, f := range o.Fields {
		if _, err := parsePath(f); err != nil {
			return err
		}
	}
	return nil
}

// Prepare checks op against the limits of this package, fills in what the options of the store say, and brings the value
// into the form that [Item.Value] has. Stores call it for every operation before they carry out the first one.
func (o Options) Prepare(op Op) (Op, error) {
	if op.err != nil {
		return op, op.err
	}
	if err := op.Namespace.Validate(); err != nil {
		return op, err
	}
	switch op.Kind {
	case OpDeleteAll:
		return op, nil
	case OpDelete:
		return op, ValidateKey(op.Key)
	case OpPut:
	default:
		return op, fmt.Errorf("writing to %q: operation kind %d: %w", []string(op.Namespace), op.Kind, ErrInvalid)
	}
	if err := ValidateKey(op.Key); err != nil {
		return op, err
	}
	o = o.WithDefaults()
	op.Expiry = op.Expiry.Or(o.Expiry)
	if len(op.Fields) == 0 {
		op.Fields = o.Fields
	}
	if err := (Options{Fields: op.Fields}).Validate(); err != nil {
		return op, err
	}
	var err error
	op.Value, err = compact(op)
	return op, err
}

func compact(op Op) (json.RawMessage, error) {
	bad := &ValueError{Namespace: op.Namespace, Key: op.Key}
	switch {
	case len(op.Value) > MaxValue:
		bad.Reason = fmt.Sprintf("has %d bytes; at most %d are allowed", len(op.Value), MaxValue)
		return nil, bad
	case !validUTF8(op.Value):
		bad.Reason = "is not valid UTF-8"
		return nil, bad
	}
	var b bytes.Buffer
	b.Grow(len(op.Value))
	if err := json.Compact(&b, op.Value); err != nil {
		bad.Reason, bad.Err = "is not JSON", err
		return nil, bad
	}
	if b.Bytes()[0] != '{' {
		bad.Reason = "is not a JSON object; put it into a field of one"
		return nil, bad
	}
	return b.Bytes(), nil
}
