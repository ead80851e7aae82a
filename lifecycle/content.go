package lifecycle

import (
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
)

// Codings of stored content.
const (
	codingPlain   = "plain"
	codingDeflate = "deflate"
)

// minDeflate is the content in bytes below which compressing saves too little to matter.
const minDeflate = 256

// content is a text or an attached object on its way into the store.
type content struct {
	sum    [sha256.Size]byte
	bytes  int
	coding string
	body   []byte
}

// newContent compresses what gets smaller by an eighth or more.
func newContent(raw []byte) (content, error) {
	c := content{sum: sha256.Sum256(raw), bytes: len(raw), coding: codingPlain, body: raw}
	if c.body == nil {
		c.body = []byte{} // not NULL
	}
	if len(raw) < minDeflate {
		return c, nil
	}
	var out bytes.Buffer
	w, err := flate.NewWriter(&out, flate.DefaultCompression)
	if err != nil {
		return content{}, err
	}
	_, err = w.Write(raw)
	if err = errors.Join(err, w.Close()); err != nil {
		return content{}, fmt.Errorf("compressing content: %w", err)
	}
	if out.Len() <= len(raw)-len(raw)/8 {
		c.coding, c.body = codingDeflate, out.Bytes()
	}
	return c, nil
}

// decode returns the content whose body is stored. The reason says why it is not what was put; it is empty when it is.
func decode(coding string, body []byte, size int64, sum []byte) (raw []byte, reason string) {
	switch coding {
	case codingPlain:
		raw = body
	case codingDeflate:
		r := flate.NewReader(bytes.NewReader(body))
		var err error
		// What was changed may unpack to anything.
		raw, err = io.ReadAll(io.LimitReader(r, size+1))
		if err = errors.Join(err, r.Close()); err != nil {
			return nil, "it cannot be unpacked"
		}
	default:
		return nil, "its coding is unknown"
	}
	if int64(len(raw)) != size {
		return nil, "it has another size"
	}
	if got := sha256.Sum256(raw); !bytes.Equal(got[:], sum) {
		return nil, "its SHA-256 is another"
	}
	return raw, ""
}
