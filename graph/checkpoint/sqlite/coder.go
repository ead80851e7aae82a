package sqlite

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math"
	"slices"
)

// coder writes the fields of a record, or reads them: a method that describes a type does both, so that the two can't
// disagree. Integers are varints, lengths come before what they count, and a name that comes again is the number of its
// first occurrence.
//
// Reading never panics and never takes more memory than a small multiple of the record. The first error stays, and all
// reads after it leave zero values.
type coder struct {
	buf     []byte // what is written, or what is left to read
	reading bool
	err     error

	names  []string
	values []namedData // of the record, which writes may refer to
	large  []largeData // values that are stored as blobs
}

type namedData struct {
	name string
	data *[]byte
}

// largeData is a value that a record holds the hash of.
type largeData struct {
	hash [hashSize]byte
	data *[]byte // the value; when reading, where it belongs
	size int
}

var errRecord = errors.New("its record can't be decoded")

func (c *coder) fail() {
	if c.err == nil {
		c.err = errRecord
	}
	c.buf = nil
}

func (c *coder) byte(b *byte) {
	if !c.reading {
		c.buf = append(c.buf, *b)
		return
	}
	*b = 0
	if len(c.buf) == 0 {
		c.fail()
		return
	}
	*b, c.buf = c.buf[0], c.buf[1:]
}

func (c *coder) uvarint(n *uint64) {
	if !c.reading {
		c.buf = binary.AppendUvarint(c.buf, *n)
		return
	}
	v, size := binary.Uvarint(c.buf)
	*n = 0
	if size <= 0 {
		c.fail()
		return
	}
	*n, c.buf = v, c.buf[size:]
}

func (c *coder) int64(n *int64) {
	if !c.reading {
		c.buf = binary.AppendVarint(c.buf, *n)
		return
	}
	v, size := binary.Varint(c.buf)
	*n = 0
	if size <= 0 {
		c.fail()
		return
	}
	*n, c.buf = v, c.buf[size:]
}

func (c *coder) int(n *int) {
	wide := int64(*n)
	c.int64(&wide)
	if c.reading {
		*n = int(wide)
	}
}

// bools codes up to eight flags as one byte.
func (c *coder) bools(flags ...*bool) {
	var b byte
	for i, f := range flags {
		if *f {
			b |= 1 << i
		}
	}
	c.byte(&b)
	if !c.reading {
		return
	}
	for i, f := range flags {
		*f = b&(1<<i) != 0
	}
}

// length codes the number of items that follow, each of at least one byte.
func (c *coder) length(n int) int {
	v := uint64(n)
	c.uvarint(&v)
	if c.reading && v > uint64(len(c.buf)) {
		c.fail()
		return 0
	}
	return int(v) //nolint:gosec // at most the length of the record
}

// take returns the next n bytes of what is read. They are the record's.
func (c *coder) take(n uint64) []byte {
	if n > uint64(len(c.buf)) {
		c.fail()
		return nil
	}
	b := c.buf[:n:n]
	c.buf = c.buf[n:]
	return b
}

func (c *coder) string(s *string) {
	n := c.length(len(*s))
	if c.reading {
		*s = string(c.take(uint64(n)))
	} else {
		c.buf = append(c.buf, *s...)
	}
}

// mostNames is how many names of a record are remembered: looking for one is linear.
const mostNames = 64

// name codes a string that is likely to come again in the record.
func (c *coder) name(s *string) {
	var number uint64
	if !c.reading {
		number = uint64(slices.Index(c.names, *s) + 1) //nolint:gosec // not negative
	}
	c.uvarint(&number)
	switch {
	case number == 0:
		c.string(s)
		if len(c.names) < mostNames {
			c.names = append(c.names, *s)
		}
	case !c.reading:
	case number > uint64(len(c.names)):
		*s = ""
		c.fail()
	default:
		*s = c.names[number-1]
	}
}

// How an ID is stored, in the lowest bits of its length.
const (
	idText = iota
	idHex  // of lower-case hexadecimal digits
	idUUID // in canonical form
	idKinds
)

func (c *coder) id(s *string) {
	if !c.reading {
		packed, kind := packID(*s)
		c.buf = append(binary.AppendUvarint(c.buf, uint64(len(packed)*idKinds+kind)), packed...)
		return
	}
	var head uint64
	c.uvarint(&head)
	*s = unpackID(c.take(head/idKinds), int(head%idKinds))
}

func packID(s string) (packed []byte, kind int) {
	if len(s) == 36 && s[8] == '-' && s[13] == '-' && s[18] == '-' && s[23] == '-' {
		if b := packHex(s, true); len(b) == 16 {
			return b, idUUID
		}
	} else if b := packHex(s, false); b != nil {
		return b, idHex
	}
	return []byte(s), idText
}

func unpackID(b []byte, kind int) string {
	switch {
	case kind == idUUID && len(b) == 16:
		return formatUUID(b)
	case kind == idHex:
		return hex.EncodeToString(b)
	}
	return string(b)
}

// packHex returns the bytes that lower-case hexadecimal digits stand for, nil for anything else. Between the digits may be the
// hyphens of a UUID.
func packHex(s string, uuid bool) []byte {
	b := make([]byte, 0, len(s)/2)
	high := -1
	for i := range len(s) {
		var digit int
		switch c := s[i]; {
		case '0' <= c && c <= '9':
			digit = int(c - '0')
		case 'a' <= c && c <= 'f':
			digit = int(c-'a') + 10
		case uuid && (i == 8 || i == 13 || i == 18 || i == 23) && c == '-':
			continue
		default:
			return nil
		}
		if high < 0 {
			high = digit
			continue
		}
		b = append(b, byte(high<<4|digit))
		high = -1
	}
	if high >= 0 || len(b) == 0 {
		return nil
	}
	return b
}

func formatUUID(b []byte) string {
	var out [36]byte
	hex.Encode(out[:8], b[:4])
	hex.Encode(out[9:13], b[4:6])
	hex.Encode(out[14:18], b[6:8])
	hex.Encode(out[19:23], b[8:10])
	hex.Encode(out[24:], b[10:16])
	out[8], out[13], out[18], out[23] = '-', '-', '-', '-'
	return string(out[:])
}

// word codes one of a few known strings as a byte, and any other in full.
func (c *coder) word(s *string, known []string) {
	var b byte
	if !c.reading {
		b = byte(slices.Index(known, *s) + 1) //nolint:gosec // known is short
	}
	c.byte(&b)
	switch {
	case b == 0:
		c.string(s)
	case !c.reading:
	case int(b) > len(known):
		*s = ""
		c.fail()
	default:
		*s = known[b-1]
	}
}

// How data is stored, in the lowest bits of its size.
const (
	dataHere  = iota // the bytes follow
	dataBlob         // the hash of a blob follows
	dataValue        // nothing follows: the rest of the number is the index of one of the record's values, which is the same
	dataKinds
)

// minShared is the length in bytes from which it pays to look for a value that is the same.
const minShared = 4

// data codes encoded values. When reading, data is the record's memory, but for blobs, which are left to be fetched.
func (c *coder) data(data *[]byte) {
	if c.reading {
		c.readData(data)
		return
	}
	size := len(*data)
	if size >= blobSize {
		l := largeData{hash: hashOf(*data), data: data, size: size}
		c.large = append(c.large, l)
		c.buf = append(binary.AppendUvarint(c.buf, uint64(size*dataKinds+dataBlob)), l.hash[:]...)
		return
	}
	c.buf = append(binary.AppendUvarint(c.buf, uint64(size*dataKinds+dataHere)), *data...)
}

func (c *coder) readData(data *[]byte) {
	var head uint64
	c.uvarint(&head)
	n := head / dataKinds
	switch {
	case head%dataKinds == dataHere:
		*data = c.take(n)
	case head%dataKinds == dataBlob && n <= math.MaxInt32:
		l := largeData{data: data, size: int(n)}
		copy(l.hash[:], c.take(hashSize))
		c.large = append(c.large, l)
	case head%dataKinds == dataValue && n < uint64(len(c.values)):
		*data = *c.values[n].data
	default:
		c.fail()
	}
}

// sharedData is data of a write to a channel: when it is all that the record's value of the channel consists of, it isn't
// stored again.
func (c *coder) sharedData(channel string, data *[]byte) {
	if !c.reading && len(*data) >= minShared && len(*data) < blobSize {
		for i, v := range c.values {
			if v.name == channel && string(*v.data) == string(*data) {
				c.buf = binary.AppendUvarint(c.buf, uint64(i*dataKinds+dataValue))
				return
			}
		}
	}
	c.data(data)
}

// list codes the items of s; a list without any comes back as nil.
func list[T any](c *coder, s *[]T, item func(*T)) {
	n := c.length(len(*s))
	if c.reading {
		*s = nil
		if n > 0 {
			*s = make([]T, n)
		}
	}
	for i := range *s {
		item(&(*s)[i])
	}
}
