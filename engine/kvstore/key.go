package kvstore

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"slices"
)

// Key names a chunk: a SHA-256 over what computed it and all tokens up to its end.
type Key [sha256.Size]byte

// Root is the key of no tokens at all, for one way of computing. Parts are whatever the state depends on; they are hashed
// with their lengths, so ("ab", "c") and ("a", "bc") differ.
func Root(parts ...string) Key {
	h := sha256.New()
	var n [8]byte
	for _, p := range parts {
		binary.LittleEndian.PutUint64(n[:], uint64(len(p)))
		h.Write(n[:])
		h.Write([]byte(p))
	}
	return Key(h.Sum(nil))
}

// Next is the key of the chunk with these tokens after the chunk k.
func (k Key) Next(tokens []int32) Key {
	h := sha256.New()
	h.Write(k[:])
	h.Write(tokenBytes(tokens))
	return Key(h.Sum(nil))
}

// Variant is the key of the same tokens in another quality, which has a name.
func (k Key) Variant(name string) Key {
	h := sha256.New()
	h.Write(k[:])
	h.Write([]byte(name))
	return Key(h.Sum(nil))
}

func (k Key) String() string { return hex.EncodeToString(k[:]) }

func tokenBytes(tokens []int32) []byte {
	out := make([]byte, 0, 4*len(tokens))
	for _, t := range tokens {
		out = binary.LittleEndian.AppendUint32(out, uint32(t))
	}
	return slices.Clip(out)
}
