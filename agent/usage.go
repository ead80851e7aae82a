package agent

// Usage counts what model calls cost. Times are in milliseconds. Fields that a model does not report stay 0.
type Usage struct {
	ModelCalls       int   `json:"model_calls"`
	PromptTokens     int   `json:"prompt_tokens"`    // sent, cached ones included
	CachedTokens     int   `json:"cached_tokens"`    // of these, taken from a cache
	RestoredTokens   int   `json:"restored_tokens"`  // of the cached ones, read from disk
	EvaluatedTokens  int   `json:"evaluated_tokens"` // of these, computed
	CompletionTokens int   `json:"completion_tokens"`
	ForcedTokens     int   `json:"forced_tokens"`  // of the completion, dictated by the schema
	DraftedTokens    int   `json:"drafted_tokens"` // proposed ahead of the model
	AcceptedTokens   int   `json:"accepted_tokens"`
	PeakKVTokens     int   `json:"peak_kv_tokens"` // prompt and reply of the largest call: what the KV cache must hold
	ModelLoadMS      int64 `json:"model_load_ms"`  // set by the program that loads the model
	PrefillMS        int64 `json:"prefill_ms"`
	DecodeMS         int64 `json:"decode_ms"`
	TTFTMS           int64 `json:"ttft_ms"` // time to first token, of the task's first call
}

// Plus adds u and other; other is the later one.
func (u Usage) Plus(other Usage) Usage {
	if u.ModelCalls == 0 {
		u.TTFTMS = other.TTFTMS
	}
	u.ModelCalls += other.ModelCalls
	u.PromptTokens += other.PromptTokens
	u.CachedTokens += other.CachedTokens
	u.RestoredTokens += other.RestoredTokens
	u.EvaluatedTokens += other.EvaluatedTokens
	u.CompletionTokens += other.CompletionTokens
	u.ForcedTokens += other.ForcedTokens
	u.DraftedTokens += other.DraftedTokens
	u.AcceptedTokens += other.AcceptedTokens
	u.PeakKVTokens = max(u.PeakKVTokens, other.PeakKVTokens)
	u.PrefillMS += other.PrefillMS
	u.DecodeMS += other.DecodeMS
	return u
}
