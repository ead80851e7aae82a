package benchmark

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// report is what the benchmark reads of the object that the program prints with --json. It is a type of its own, so that
// also a program of another version can be measured: what it does not report stays 0.
type report struct {
	ConversationID string `json:"conversation_id"`
	Status         string `json:"status"`
	Answer         string `json:"answer"`
	Calls          []struct {
		Tool   string          `json:"tool"`
		Result json.RawMessage `json:"result"`
	} `json:"calls"`
	Error *struct {
		Kind    string `json:"kind"`
		Message string `json:"message"`
	} `json:"error"`
	Usage struct {
		ModelCalls       int   `json:"model_calls"`
		PromptTokens     int   `json:"prompt_tokens"`
		EvaluatedTokens  int   `json:"evaluated_tokens"`
		CompletionTokens int   `json:"completion_tokens"`
		CachedTokens     int   `json:"cached_tokens"`
		ForcedTokens     int   `json:"forced_tokens"`
		DraftedTokens    int   `json:"drafted_tokens"`
		AcceptedTokens   int   `json:"accepted_tokens"`
		PeakPromptTokens int   `json:"peak_kv_tokens"` // of the largest model call, with its reply
		ModelLoadMS      int64 `json:"model_load_ms"`
		PrefillMS        int64 `json:"prefill_ms"`
		DecodeMS         int64 `json:"decode_ms"`
		TTFTMS           int64 `json:"ttft_ms"`
	} `json:"usage"`
	CheckpointBytes int64 `json:"checkpoint_bytes"`
	DurationMS      int64 `json:"duration_ms"`
}

// parseReport reads the one object that stdout must hold.
func parseReport(stdout []byte) (*report, error) {
	dec := json.NewDecoder(bytes.NewReader(stdout))
	var r report
	switch err := dec.Decode(&r); {
	case errors.Is(err, io.EOF):
		return nil, errors.New("stdout is empty")
	case err != nil:
		return nil, fmt.Errorf("stdout is no report: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("stdout holds more than one report")
	}
	if r.Status == "" {
		return nil, errors.New("the report has no status")
	}
	return &r, nil
}

// tools are the names of the calls, in order.
func (r *report) tools() []string {
	names := make([]string, len(r.Calls))
	for i, c := range r.Calls {
		names[i] = c.Tool
	}
	return names
}

// plainText is what the strings, numbers and names in a JSON value say, one a line. In the JSON itself an escaped line feed
// would look like a letter beside a word.
func plainText(value json.RawMessage) string {
	dec := json.NewDecoder(bytes.NewReader(value))
	dec.UseNumber()
	var b strings.Builder
	for {
		token, err := dec.Token()
		if err != nil {
			return b.String()
		}
		switch token.(type) {
		case json.Delim, nil:
		default:
			fmt.Fprintln(&b, token)
		}
	}
}
