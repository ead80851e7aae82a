package sqlite

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/llama-agent/llama-agent/graph/checkpoint"
)

// walk collects the values of a checkpoint's channels. Values stored as deltas are followed to their beginning, from the
// newest row to the oldest, each row once for all channels.
type walk struct {
	s      *space
	wanted map[int64][]*chain // by the seq of the row that has the next part
	chains []*chain
	large  []largeData
	room   []byte // for values that are copied from rows
}

// chain is a channel's value.
type chain struct {
	channel string
	parts   []*[]byte // newest first
}

// nearby is how many rows that nobody wants are read over rather than looking for the next one.
const nearby = 32

var errFarAway = errors.New("the next wanted row is far away")

// values returns the parts of the value of each of b's channels.
func (t *txn) values(ctx context.Context, s *space, b *boundary) (map[string][][]byte, error) {
	w := walk{s: s, wanted: map[int64][]*chain{}}
	for name, seq := range b.Channels {
		c := &chain{channel: name}
		w.chains = append(w.chains, c)
		w.wanted[seq] = append(w.wanted[seq], c)
	}
	if err := w.take(b, nil); err != nil {
		return nil, err
	}
	for len(w.wanted) > 0 {
		if err := t.descend(ctx, &w); err != nil {
			return nil, err
		}
	}
	if err := t.fetch(ctx, s.root, w.large); err != nil {
		return nil, err
	}
	values := make(map[string][][]byte, len(w.chains))
	for _, c := range w.chains {
		parts := make([][]byte, len(c.parts))
		for i, p := range c.parts {
			parts[len(parts)-1-i] = *p
		}
		values[c.channel] = parts
	}
	return values, nil
}

// descend reads wanted rows until the next one is far away or none is wanted.
func (t *txn) descend(ctx context.Context, w *walk) error {
	next := w.next()
	err := t.eachBoundary(ctx, w.s, next, func(row *boundaryRow) error {
		seq := row.seq()
		if seq < next {
			return w.missing(next)
		}
		if seq > next {
			return nil
		}
		b, err := row.decodeValues(w.s)
		if err != nil {
			return fmt.Errorf("the values of sequence number %d: %w", seq, err)
		}
		if err := w.take(b, w.keep); err != nil {
			return err
		}
		next = w.next()
		if next < seq-nearby || next == 0 {
			return errFarAway
		}
		return nil
	})
	switch {
	case errors.Is(err, errFarAway):
		return nil
	case err != nil:
		return err
	case len(w.wanted) > 0:
		return w.missing(next)
	}
	return nil
}

// next returns the highest seq that is wanted, 0 when there is none.
func (w *walk) next() (seq int64) {
	for s := range w.wanted {
		seq = max(seq, s)
	}
	return seq
}

// take takes the values of b that are wanted, and calls keep for each.
func (w *walk) take(b *boundary, keep func(*boundary, *[]byte)) error {
	chains := w.wanted[b.Seq]
	delete(w.wanted, b.Seq)
	for _, c := range chains {
		i := slices.IndexFunc(b.values, func(v checkpoint.Value) bool { return v.Channel == c.channel })
		if i < 0 {
			w.wanted[b.Seq] = []*chain{c}
			return w.missing(b.Seq)
		}
		v := &b.values[i]
		if keep != nil {
			keep(b, &v.Data)
		}
		c.parts = append(c.parts, &v.Data)
		if v.Delta && v.Prev != 0 {
			if v.Prev >= b.Seq || v.Prev < 0 {
				return fmt.Errorf("the value of channel %q continues a later one", c.channel)
			}
			w.wanted[v.Prev] = append(w.wanted[v.Prev], c)
		}
	}
	return nil
}

// keep gives a value memory of its own, or remembers to fetch it.
func (w *walk) keep(b *boundary, data *[]byte) {
	if l, ok := largeOf(b.large, data); ok {
		w.large = append(w.large, l)
		return
	}
	if cap(w.room)-len(w.room) < len(*data) {
		w.room = make([]byte, 0, max(512, len(*data), min(2*cap(w.room), 64<<10)))
	}
	from := len(w.room)
	w.room = append(w.room, *data...)
	*data = w.room[from:len(w.room):len(w.room)]
}

func (w *walk) missing(seq int64) error {
	return fmt.Errorf("the value that sequence number %d wrote to channel %q is missing", seq, w.wanted[seq][0].channel)
}
