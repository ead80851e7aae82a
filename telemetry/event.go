package telemetry

import "math"

// Inference is one call of a model. Fields that the model does not report stay 0 and are written as 0. Times are in milliseconds.
type Inference struct {
	PromptTokens    int `json:"prompt_tokens"`    // sent, cached ones included
	CachedTokens    int `json:"cached_tokens"`    // of these, taken from a cache
	EvaluatedTokens int `json:"evaluated_tokens"` // of these, computed
	SampledTokens   int `json:"sampled_tokens"`   // of the reply, chosen by sampling
	ForcedTokens    int `json:"forced_tokens"`    // of the reply, dictated by a schema
	DraftedTokens   int `json:"drafted_tokens"`   // proposed ahead of the model
	AcceptedTokens  int `json:"accepted_tokens"`  // of these, accepted by the model

	QueueMS   float64 `json:"queue_ms"`   // before the model began
	TTFTMS    float64 `json:"ttft_ms"`    // from the call to its first token
	PrefillMS float64 `json:"prefill_ms"` // reading the prompt
	DecodeMS  float64 `json:"decode_ms"`  // writing the reply

	FinishReason string `json:"finish_reason"` // such as "stop", "length" or "tool_calls"
	Messages     int    `json:"messages"`      // of the request
	Tools        int    `json:"tools"`         // offered to the model
}

// OutputTokens is the length of the reply.
func (i Inference) OutputTokens() int { return i.SampledTokens + i.ForcedTokens }

func (i Inference) clean(r redactor) Inference {
	for _, ms := range []*float64{&i.QueueMS, &i.TTFTMS, &i.PrefillMS, &i.DecodeMS} {
		*ms = finite(*ms)
	}
	i.FinishReason = r.text(i.FinishReason)
	return i
}

// ToolCall is one call of a tool.
type ToolCall struct {
	Tool        string  `json:"tool"`
	DurationMS  float64 `json:"duration_ms"`
	InputBytes  int     `json:"input_bytes"`  // of the arguments
	OutputBytes int     `json:"output_bytes"` // of the whole result
	ErrorKind   string  `json:"error_kind"`   // empty: it worked
	ArtifactID  string  `json:"artifact_id"`  // of the stored result; empty: it is in the prompt
	ReadOnly    bool    `json:"read_only"`    // the tool changes nothing
	Skipped     bool    `json:"skipped"`      // not run, because an earlier call had given the result
}

func (c ToolCall) clean(r redactor) ToolCall {
	c.DurationMS = finite(c.DurationMS)
	c.Tool, c.ErrorKind, c.ArtifactID = r.text(c.Tool), r.text(c.ErrorKind), r.text(c.ArtifactID)
	return c
}

// finite turns what JSON has no number for into 0.
func finite(f float64) float64 {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return 0
	}
	return f
}
