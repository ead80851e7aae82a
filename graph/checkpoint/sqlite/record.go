package sqlite

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/llama-agent/llama-agent/graph/checkpoint"
)

// blobSize is the length in bytes from which a value is stored as a blob, once a thread. Below it the row that would be saved is
// not worth the hash and the two index entries.
const blobSize = 1024

// checkpointRecord is the column record of a checkpoint.
type checkpointRecord struct {
	Parent   string              `json:"parent,omitempty"`
	Run      string              `json:"run"`
	Shape    string              `json:"shape"`
	Nodes    []string            `json:"nodes,omitempty"`
	Next     []string            `json:"next,omitempty"`
	Channels map[string]int64    `json:"channels"`
	Tasks    []taskRecord        `json:"tasks,omitempty"`
	Waiting  []taskRecord        `json:"waiting,omitempty"`
	Joins    map[string][]string `json:"joins,omitempty"`
	Blobs    []int64             `json:"blobs,omitempty"` // that Private of a task refers to
}

type taskRecord struct {
	ID      string        `json:"id,omitempty"`
	Node    string        `json:"node"`
	Send    bool          `json:"send,omitempty"`
	Private []writeRecord `json:"private,omitempty"`
}

// writeRecord says where the data of a write is: the next Size bytes of the row's payload, or a blob.
type writeRecord struct {
	Channel string `json:"c,omitempty"`
	Op      string `json:"op,omitempty"`
	Size    int    `json:"n,omitempty"`
	Blob    int64  `json:"blob,omitempty"`
}

// resultRecord is the column record of a task's result.
type resultRecord struct {
	Node       string         `json:"node,omitempty"`
	Done       bool           `json:"done,omitempty"`
	Writes     []writeRecord  `json:"writes,omitempty"`
	Targets    []taskRecord   `json:"targets,omitempty"`
	Error      string         `json:"error,omitempty"`
	Interrupts []writeRecord  `json:"interrupts,omitempty"` // with the question's ID as the channel
	Answers    []writeRecord  `json:"answers,omitempty"`
	Nested     []nestedRecord `json:"nested,omitempty"`
	Handled    bool           `json:"handled,omitempty"`
	Blobs      []int64        `json:"blobs,omitempty"`
}

// nestedRecord is a question of a subgraph, with the question's ID as the channel.
type nestedRecord struct {
	Namespace string       `json:"ns"`
	Node      string       `json:"node"`
	Unsaved   bool         `json:"unsaved,omitempty"`
	Question  writeRecord  `json:"q"`
	Answer    *writeRecord `json:"a,omitempty"` // nil while there is none
}

// packer turns writes into records, a payload and blobs of one row.
type packer struct {
	tx      *txn
	thread  int64
	payload []byte
	blobs   []int64
	stored  int64 // bytes of new blobs
}

func (p *packer) writes(ctx context.Context, ws []checkpoint.Write) ([]writeRecord, error) {
	var out []writeRecord
	for _, w := range ws {
		r := writeRecord{Channel: w.Channel, Op: w.Op}
		if len(w.Data) < blobSize {
			r.Size = len(w.Data)
			p.payload = append(p.payload, w.Data...)
		} else {
			key, added, err := p.tx.putBlob(ctx, p.thread, w.Data)
			if err != nil {
				return nil, err
			}
			r.Blob = key
			p.blobs = append(p.blobs, key)
			p.stored += added
		}
		out = append(out, r)
	}
	return out, nil
}

func (p *packer) tasks(ctx context.Context, tasks []checkpoint.Task) ([]taskRecord, error) {
	var out []taskRecord
	for _, t := range tasks {
		private, err := p.writes(ctx, t.Private)
		if err != nil {
			return nil, err
		}
		out = append(out, taskRecord{ID: t.ID, Node: t.Node, Send: t.Send, Private: private})
	}
	return out, nil
}

func (p *packer) nested(ctx context.Context, nested []checkpoint.Nested) ([]nestedRecord, error) {
	var out []nestedRecord
	for _, n := range nested {
		writes := []checkpoint.Write{{Channel: n.ID, Data: n.Value}}
		if n.Answer != nil {
			writes = append(writes, checkpoint.Write{Data: n.Answer})
		}
		records, err := p.writes(ctx, writes)
		if err != nil {
			return nil, err
		}
		r := nestedRecord{Namespace: n.Namespace, Node: n.Node, Unsaved: n.Unsaved, Question: records[0]}
		if n.Answer != nil {
			r.Answer = &records[1]
		}
		out = append(out, r)
	}
	return out, nil
}

// unpacker is the inverse of packer.
type unpacker struct {
	tx      *txn
	thread  int64
	payload []byte
}

var errShort = errors.New("its payload is too short")

func (u *unpacker) writes(ctx context.Context, rs []writeRecord) ([]checkpoint.Write, error) {
	var out []checkpoint.Write
	for _, r := range rs {
		w := checkpoint.Write{Channel: r.Channel, Op: r.Op}
		switch {
		case r.Blob != 0:
			data, err := u.tx.blob(ctx, u.thread, r.Blob)
			if err != nil {
				return nil, err
			}
			w.Data = data
		case r.Size < 0 || r.Size > len(u.payload):
			return nil, errShort
		default:
			w.Data, u.payload = u.payload[:r.Size:r.Size], u.payload[r.Size:]
		}
		out = append(out, w)
	}
	return out, nil
}

func (u *unpacker) tasks(ctx context.Context, rs []taskRecord) ([]checkpoint.Task, error) {
	var out []checkpoint.Task
	for _, r := range rs {
		private, err := u.writes(ctx, r.Private)
		if err != nil {
			return nil, err
		}
		out = append(out, checkpoint.Task{ID: r.ID, Node: r.Node, Send: r.Send, Private: private})
	}
	return out, nil
}

func (u *unpacker) nested(ctx context.Context, rs []nestedRecord) ([]checkpoint.Nested, error) {
	var out []checkpoint.Nested
	for _, r := range rs {
		records := []writeRecord{r.Question}
		if r.Answer != nil {
			records = append(records, *r.Answer)
		}
		writes, err := u.writes(ctx, records)
		if err != nil {
			return nil, err
		}
		n := checkpoint.Nested{Namespace: r.Namespace, Node: r.Node, Unsaved: r.Unsaved, Interrupt: checkpoint.Interrupt{ID: writes[0].Channel, Value: writes[0].Data}}
		if r.Answer != nil {
			n.Answer = writes[1].Data
		}
		out = append(out, n)
	}
	return out, nil
}

// putBlob stores data unless the thread has it, and returns its key and the bytes that were added.
func (t *txn) putBlob(ctx context.Context, thread int64, data []byte) (key, added int64, err error) {
	hash := sha256.Sum256(data)
	err = t.row(ctx, "find_blob", thread, hash[:]).Scan(&key)
	if !errors.Is(err, sql.ErrNoRows) {
		return key, 0, err
	}
	res, err := t.exec(ctx, "put_blob", thread, hash[:], data)
	if err != nil {
		return 0, 0, err
	}
	key, err = res.LastInsertId()
	return key, int64(len(data)), err
}

func (t *txn) blob(ctx context.Context, thread, key int64) ([]byte, error) {
	var hash, data []byte
	err := t.row(ctx, "blob", thread, key).Scan(&hash, &data)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, fmt.Errorf("value %d is missing", key)
	case err != nil:
		return nil, err
	}
	if sum := sha256.Sum256(data); string(hash) != string(sum[:]) {
		return nil, fmt.Errorf("value %d: %w", key, errSum)
	}
	return data, nil
}

var errSum = errors.New("its checksum doesn't fit")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// sum is the checksum of a row: CRC-32C of its columns, each with its length, so that bytes can't move from one to another.
func sum(columns ...any) int64 {
	var buf []byte
	for _, c := range columns {
		switch c := c.(type) {
		case int64:
			buf = binary.AppendVarint(buf, c)
		case string:
			buf = append(binary.AppendUvarint(buf, uint64(len(c))), c...)
		case []byte:
			buf = append(binary.AppendUvarint(buf, uint64(len(c))), c...)
		default:
			panic(fmt.Sprintf("sqlite: no checksum of a %T", c))
		}
	}
	return int64(crc32.Checksum(buf, castagnoli))
}
