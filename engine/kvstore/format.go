package kvstore

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// A chunk file, numbers little-endian:
//
//	 0  magic     8 bytes
//	 8  version   uint32
//	12  tokens    uint32, their number
//	16  state     uint64, its bytes
//	24  key       32 bytes
//	56  tokens    4 bytes each
//	…   state
//	…   SHA-256 of all before
//
// A file is exactly as long as its head says; nothing is allocated before that is known.
const (
	magic      = "llamaKV\n"
	version    = 1
	headBytes  = 56
	sumBytes   = sha256.Size
	maxTokens  = 1 << 16
	maxPayload = 1 << 30 // bytes of a state
)

// ErrDamaged says that a file is not the chunk that its name promises; it is gone now.
var ErrDamaged = errors.New("kvstore: not a usable chunk")

func damaged(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrDamaged}, args...)...)
}

// fileSize is the size of the file of a chunk.
func fileSize(tokens, state int) int64 {
	return headBytes + 4*int64(tokens) + int64(state) + sumBytes
}

// writeChunk writes the file of a chunk.
func writeChunk(w io.Writer, key Key, tokens []int32, state []byte) error {
	head := make([]byte, 0, headBytes+4*len(tokens))
	head = append(head, magic...)
	head = binary.LittleEndian.AppendUint32(head, version)
	head = binary.LittleEndian.AppendUint32(head, uint32(len(tokens)))
	head = binary.LittleEndian.AppendUint64(head, uint64(len(state)))
	head = append(head, key[:]...)
	head = append(head, tokenBytes(tokens)...)
	sum := sha256.New()
	sum.Write(head)
	sum.Write(state)
	for _, part := range [][]byte{head, state, sum.Sum(nil)} {
		if _, err := w.Write(part); err != nil {
			return err
		}
	}
	return nil
}

// readChunk reads the file of a chunk, whose size in bytes is known, and returns its state. Nothing is believed before it
// is compared: with the size, the key, the tokens that are asked for, and the checksum.
func readChunk(r io.Reader, size int64, key Key, tokens []int32) ([]byte, error) {
	var head [headBytes]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, damaged("%d bytes are less than a head", size)
	}
	if string(head[:8]) != magic {
		return nil, damaged("it does not begin with %q", magic)
	}
	if v := binary.LittleEndian.Uint32(head[8:]); v != version {
		return nil, damaged("version %d, not %d", v, version)
	}
	if n := binary.LittleEndian.Uint32(head[12:]); int64(n) != int64(len(tokens)) {
		return nil, damaged("%d tokens, not %d", n, len(tokens))
	}
	if !bytes.Equal(head[24:56], key[:]) {
		return nil, damaged("it is another chunk")
	}
	state := binary.LittleEndian.Uint64(head[16:])
	if state > maxPayload || size != fileSize(len(tokens), int(state)) {
		return nil, damaged("a state of %d bytes in a file of %d", state, size)
	}
	body := make([]byte, size-headBytes)
	if _, err := io.ReadFull(r, body); err != nil {
		return nil, damaged("reading it: %v", err)
	}
	sum := sha256.New()
	sum.Write(head[:])
	sum.Write(body[:len(body)-sumBytes])
	if !bytes.Equal(sum.Sum(nil), body[len(body)-sumBytes:]) {
		return nil, damaged("the checksum is wrong")
	}
	if !bytes.Equal(body[:4*len(tokens)], tokenBytes(tokens)) {
		return nil, damaged("it has other tokens")
	}
	return body[4*len(tokens) : len(body)-sumBytes], nil
}
