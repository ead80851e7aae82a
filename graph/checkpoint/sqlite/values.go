package sqlite

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/llama-agent/llama-agent/graph/checkpoint"
)

// walk collects the values of a checkpoint's channels. Values stored as deltas are followed to their beginning, from the
// newest row to the oldest, each row once for all channels.
type walk struct {
	s      *space
	wanted map[int64][]want // by the seq of the row that has the part
	known  map[valueAt]*part
	found  map[valueAt]*part // that become known when all is found
	large  []largeData
	room   []byte // for values that are copied from rows
}

type valueAt struct {
	channel string
	seq     int64
}

// part is what one row holds of a channel's value.
type part struct {
	data   []byte
	before *part
}

// want is a part that is looked for, and where it belongs.
type want struct {
	channel string
	into    **part
}

// nearby is how many rows that nobody wants are read over rather than looking for the next one.
const nearby = 32

var errFarAway = errors.New("the next wanted row is far away")

// values returns the parts of the value of each of b's channels. With known, parts that it has are not read again, and those
// that are read become part of it.
func (t *txn) values(ctx context.Context, s *space, b *boundary, known map[valueAt]*part) (map[string][][]byte, error) {
	w := walk{s: s, wanted: map[int64][]want{}, known: known}
	if known != nil {
		w.found = map[valueAt]*part{}
	}
	last := make(map[string]**part, len(b.Channels))
	for channel, seq := range b.Channels {
		last[channel] = new(*part)
		w.want(channel, seq, last[channel])
	}
	if err := w.take(b, false); err != nil {
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
	maps.Copy(known, w.found)
	values := make(map[string][][]byte, len(last))
	for channel, p := range last {
		values[channel] = (*p).list()
	}
	return values, nil
}

// list returns the data of p and of what it continues, the beginning first.
func (p *part) list() [][]byte {
	n := 0
	for q := p; q != nil; q = q.before {
		n++
	}
	all := make([][]byte, n)
	for q := p; q != nil; q = q.before {
		n--
		all[n] = q.data
	}
	return all
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
		if err := w.take(b, true); err != nil {
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

// want asks for the part of a channel's value in the row seq.
func (w *walk) want(channel string, seq int64, into **part) {
	if p := w.known[valueAt{channel, seq}]; p != nil {
		*into = p
		return
	}
	w.wanted[seq] = append(w.wanted[seq], want{channel, into})
}

// next returns the highest seq that is wanted, 0 when there is none.
func (w *walk) next() (seq int64) {
	for s := range w.wanted {
		seq = max(seq, s)
	}
	return seq
}

// take takes the values of b that are wanted. Those of a borrowed b get memory of their own.
func (w *walk) take(b *boundary, borrowed bool) error {
	wants := w.wanted[b.Seq]
	delete(w.wanted, b.Seq)
	for _, want := range wants {
		i := slices.IndexFunc(b.values, func(v checkpoint.Value) bool { return v.Channel == want.channel })
		if i < 0 {
			return missing(b.Seq, want.channel)
		}
		v := &b.values[i]
		p := &part{data: v.Data}
		if borrowed {
			w.keep(b, v, p)
		}
		*want.into = p
		if w.found != nil {
			w.found[valueAt{want.channel, b.Seq}] = p
		}
		if v.Delta && v.Prev != 0 {
			if v.Prev >= b.Seq || v.Prev < 0 {
				return fmt.Errorf("the value of channel %q continues a later one", v.Channel)
			}
			w.want(want.channel, v.Prev, &p.before)
		}
	}
	return nil
}

// keep gives a value memory of its own, or remembers to fetch it.
func (w *walk) keep(b *boundary, v *checkpoint.Value, p *part) {
	if l, ok := largeOf(b.large, &v.Data); ok {
		l.data = &p.data
		w.large = append(w.large, l)
		return
	}
	if cap(w.room)-len(w.room) < len(v.Data) {
		w.room = make([]byte, 0, max(512, len(v.Data), min(2*cap(w.room), 64<<10)))
	}
	from := len(w.room)
	w.room = append(w.room, v.Data...)
	p.data = w.room[from:len(w.room):len(w.room)]
}

func (w *walk) missing(seq int64) error { return missing(seq, w.wanted[seq][0].channel) }

func missing(seq int64, channel string) error {
	return fmt.Errorf("the value that sequence number %d wrote to channel %q is missing", seq, channel)
}
