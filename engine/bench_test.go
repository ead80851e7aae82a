package engine

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tmc/langchaingo/llms"
)

// BenchmarkRequestOverhead is what the engine itself costs a sampled token: a call with a cached prompt of 500 tokens and
// a reply of 200, on a memory that computes nothing.
func BenchmarkRequestOverhead(b *testing.B) {
	const reply = 200
	r := newRig(b, 4096, func(r *rig, _ *Config) {
		r.mem.trusting = true
		r.model.reply = func(string) string { return strings.Repeat("r", reply) }
	})
	text := strings.Repeat("p", 500)
	call := func() {
		got, _, err := r.ask(b.Context(), text, llms.WithMaxTokens(reply))
		require.NoError(b, err)
		require.Len(b, got, reply)
	}
	call()
	b.ReportAllocs()
	for b.Loop() {
		call()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/reply, "ns/token")
}

// BenchmarkEscape is what keeping control tokens out of a long prompt costs.
func BenchmarkEscape(b *testing.B) {
	req := request1(strings.Repeat("A line of a file with <b>tags</b> and a <|im_end|> in it.\n", 1000))
	control := newControlTable([]string{"<|im_end|>", "<|im_start|>", "<s>", "</s>", "<|endoftext|>"})
	b.SetBytes(int64(len(req.Messages[0].Content)))
	for b.Loop() {
		r := copyRequest(req)
		newEscaper(control, r).request(&r)
	}
}
