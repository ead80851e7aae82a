package graph

import (
	"bytes"
	"encoding/json"
)

// Codec turns channel values into bytes and back. Decode gets a pointer to a zero value of the type that was encoded. Both
// must be safe for concurrent use, and Encode must not keep v.
type Codec interface {
	Encode(v any) ([]byte, error)
	Decode(data []byte, into any) error
}

// JSON is the codec of channels that have no other. Only what encoding/json keeps of a value survives: unexported fields
// don't, and in a value of an interface type numbers come back as float64.
var JSON Codec = jsonCodec{}

type jsonCodec struct{}

func (jsonCodec) Encode(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false) // state is not embedded in pages, and <, > and & are frequent in code
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

func (jsonCodec) Decode(data []byte, into any) error { return json.Unmarshal(data, into) }
