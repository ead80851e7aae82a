package agent

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// Checkpoints and conversations of earlier versions hold these: all names of the fields are here, and none may change.
func TestStoredFormOfCalls(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		stored string
		value  any
	}{
		"call": {`{"step":1,"iteration":2,"tool":"look","arguments":{"at":"x"},"text":"t","result":{"n":1},"error":{"kind":"failed","message":"m"},
			"tokens":3,"summary_tokens":4,"summary":"s","record":"memory://r","extent":"whole","artifact":"artifact://a","near":true,"guide":true,
			"skipped":true,"rejected":true,"read_only":true,"duration_ms":5}`, &Call{}},
		"smallest call": {`{"step":1,"iteration":2,"tool":"look","arguments":null,"text":"","duration_ms":0}`, &Call{}},
		"outcome": {`{"text":"t","result":{"n":1},"error":{"kind":"failed","message":"m"},"artifact":"artifact://a","record":"memory://r","summary":"s",
			"guide":true,"near":true,"problem":"p","tokens":3,"summary_tokens":4,"duration_ms":5}`, &outcome{}},
		"smallest outcome": {`{"text":"","duration_ms":0}`, &outcome{}},
	} {
		decoder := json.NewDecoder(bytes.NewReader([]byte(test.stored)))
		decoder.DisallowUnknownFields()
		require.NoError(t, decoder.Decode(test.value), name)
		again, err := json.Marshal(test.value)
		require.NoError(t, err, name)
		require.JSONEq(t, test.stored, string(again), name)
	}
}
