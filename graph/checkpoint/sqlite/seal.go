package sqlite

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
)

// place is what a row is found by, as the CRC-32C of its parts, each with its length. A record's checksum begins with it,
// so that a record that got into another row is noticed as well as one that changed.
type place uint32

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

var errSum = errors.New("its checksum doesn't fit")

func (p place) text(s string) place {
	c := ^uint32(p.number(int64(len(s))))
	for i := range len(s) {
		c = castagnoli[byte(c)^s[i]] ^ c>>8
	}
	return place(^c)
}

func (p place) bytes(b []byte) place {
	return place(crc32.Update(uint32(p.number(int64(len(b)))), castagnoli, b))
}

func (p place) number(n int64) place {
	c := ^uint32(p)
	for range 8 {
		c = castagnoli[byte(c)^byte(n)] ^ c>>8
		n >>= 8
	}
	return place(^c)
}

// seal appends the checksum of a record.
func (p place) seal(record []byte) []byte {
	return binary.LittleEndian.AppendUint32(record, crc32.Update(uint32(p), castagnoli, record))
}

// open checks a sealed record and returns it without its checksum.
func (p place) open(sealed []byte) ([]byte, error) {
	n := len(sealed) - 4
	if n < 0 || binary.LittleEndian.Uint32(sealed[n:]) != crc32.Update(uint32(p), castagnoli, sealed[:n]) {
		return nil, errSum
	}
	return sealed[:n:n], nil
}
