package testgguf

import (
	"fmt"
	"math"
)

// Sizes of the models with different kinds of memory.
const (
	embedding = 32
	layers    = 4
	heads     = 4
	kvHeads   = 2
	ffn       = 64
	context   = 4096 // tokens
)

// Llama is a plain transformer.
func Llama() File {
	m := newModel("llama")
	m.transformer()
	for i := range layers {
		m.attention(i)
		m.feedForward(i)
	}
	m.ones("output_norm.weight", embedding)
	return m.file
}

// Gemma3 has layers that see only the last so many tokens, every other one.
func Gemma3(window int) File {
	m := newModel("gemma3")
	m.transformer()
	m.own("attention.sliding_window", uint32(window))
	m.own("attention.sliding_window_pattern", uint32(2))
	m.own("attention.key_length", uint32(embedding/heads))
	m.own("attention.value_length", uint32(embedding/heads))
	for i := range layers {
		m.attention(i)
		m.normsOfHeads(i)
		m.ones(block(i, "post_attention_norm.weight"), embedding)
		m.feedForward(i)
		m.ones(block(i, "post_ffw_norm.weight"), embedding)
	}
	m.ones("output_norm.weight", embedding)
	return m.file
}

// Mamba has no attention: its memory is a state of fixed size.
func Mamba() File {
	const inner, conv, state, rank = 2 * embedding, 4, 8, 4
	m := newModel("mamba")
	m.own("feed_forward_length", uint32(0))
	m.own("attention.head_count", uint32(0))
	m.own("ssm.conv_kernel", uint32(conv))
	m.own("ssm.inner_size", uint32(inner))
	m.own("ssm.state_size", uint32(state))
	m.own("ssm.time_step_rank", uint32(rank))
	for i := range layers {
		m.ones(block(i, "attn_norm.weight"), embedding)
		m.random(block(i, "ssm_in.weight"), embedding, 2*inner)
		m.random(block(i, "ssm_conv1d.weight"), conv, inner)
		m.constant(block(i, "ssm_conv1d.bias"), 0, inner)
		m.random(block(i, "ssm_x.weight"), inner, rank+2*state)
		m.random(block(i, "ssm_dt.weight"), rank, inner)
		m.constant(block(i, "ssm_dt.bias"), -2, inner)
		m.constant(block(i, "ssm_a"), -0.5, state, inner) // a slow decay: old tokens matter
		m.ones(block(i, "ssm_d"), inner)
		m.random(block(i, "ssm_out.weight"), inner, embedding)
	}
	m.ones("output_norm.weight", embedding)
	return m.file
}

// LFM2 has layers with attention and layers with a short convolution in turn.
func LFM2() File { return lfm2().file }

// LFM2Window is LFM2 whose attention sees only the last so many tokens.
func LFM2Window(window int) File {
	m := lfm2()
	m.own("attention.sliding_window", uint32(window))
	return m.file
}

func lfm2() *model {
	const cache = 3
	m := newModel("lfm2")
	m.transformer()
	m.own("shortconv.l_cache", uint32(cache))
	m.own("attention.head_count_kv", []int32{0, kvHeads, 0, kvHeads})
	for i := range layers {
		if i%2 == 0 {
			m.ones(block(i, "attn_norm.weight"), embedding)
			m.random(block(i, "shortconv.conv.weight"), cache, embedding)
			m.random(block(i, "shortconv.in_proj.weight"), embedding, 3*embedding)
			m.random(block(i, "shortconv.out_proj.weight"), embedding, embedding)
		} else {
			m.attention(i)
			m.normsOfHeads(i)
		}
		m.feedForward(i)
	}
	m.ones("token_embd_norm.weight", embedding)
	return m
}

// model is a file in the making.
type model struct {
	file File
	arch string
}

// template is ChatML without an opinion on anything.
const template = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}" +
	"{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"

// newModel starts a model with a vocabulary of bytes and a few words. Only words are ever the likeliest token, so that
// greedy replies are text and have no end.
func newModel(arch string) *model {
	tokens := []string{"<unk>", "<s>", "</s>", "<|im_start|>", "<|im_end|>"}
	types := []int32{2, 3, 3, 3, 3} // unknown and control tokens
	for b := range 256 {
		tokens = append(tokens, fmt.Sprintf("<0x%02X>", b))
		types = append(types, 6)
	}
	first := len(tokens)
	for a := range 26 {
		for _, b := range "aeiou" {
			tokens = append(tokens, string(rune('a'+a))+string(b))
			types = append(types, 1)
		}
	}
	tokens, types = append(tokens, "\u2581"), append(types, 1)
	m := &model{arch: arch, file: File{Pairs: map[string]any{
		"general.architecture":            arch,
		"general.type":                    "model",
		"general.name":                    "Tiny " + arch,
		"general.file_type":               uint32(0),
		"tokenizer.ggml.model":            "llama",
		"tokenizer.ggml.tokens":           tokens,
		"tokenizer.ggml.token_type":       types,
		"tokenizer.ggml.scores":           make([]float32, len(tokens)),
		"tokenizer.ggml.bos_token_id":     uint32(1),
		"tokenizer.ggml.eos_token_id":     uint32(2),
		"tokenizer.ggml.add_bos_token":    false,
		"tokenizer.ggml.add_space_prefix": false,
		"tokenizer.chat_template":         template,
	}}}
	m.own("context_length", uint32(context))
	m.own("embedding_length", uint32(embedding))
	m.own("block_count", uint32(layers))
	m.own("attention.layer_norm_rms_epsilon", float32(1e-5))
	m.random("token_embd.weight", embedding, len(tokens))
	m.random("output.weight", embedding, len(tokens))
	clear(m.file.Tensors[1].Data[:embedding*first])
	return m
}

func block(i int, name string) string { return fmt.Sprintf("blk.%d.%s", i, name) }

func (m *model) own(key string, v any) { m.file.Pairs[m.arch+"."+key] = v }

func (m *model) transformer() {
	m.own("feed_forward_length", uint32(ffn))
	m.own("attention.head_count", uint32(heads))
	m.own("attention.head_count_kv", uint32(kvHeads))
	m.own("rope.dimension_count", uint32(embedding/heads))
}

func (m *model) attention(i int) {
	m.ones(block(i, "attn_norm.weight"), embedding)
	m.random(block(i, "attn_q.weight"), embedding, embedding)
	m.random(block(i, "attn_k.weight"), embedding, embedding/heads*kvHeads)
	m.random(block(i, "attn_v.weight"), embedding, embedding/heads*kvHeads)
	m.random(block(i, "attn_output.weight"), embedding, embedding)
}

func (m *model) normsOfHeads(i int) {
	m.ones(block(i, "attn_q_norm.weight"), embedding/heads)
	m.ones(block(i, "attn_k_norm.weight"), embedding/heads)
}

func (m *model) feedForward(i int) {
	m.ones(block(i, "ffn_norm.weight"), embedding)
	m.random(block(i, "ffn_gate.weight"), embedding, ffn)
	m.random(block(i, "ffn_up.weight"), embedding, ffn)
	m.random(block(i, "ffn_down.weight"), ffn, embedding)
}

// random adds a tensor of numbers that keep the scale of what they are multiplied with.
func (m *model) random(name string, dims ...int) {
	m.file.Tensors = append(m.file.Tensors, Random(name, uint64(len(m.file.Tensors)+1), float32(1/math.Sqrt(float64(dims[0]))), dims...))
}

func (m *model) ones(name string, dims ...int) { m.constant(name, 1, dims...) }

func (m *model) constant(name string, v float32, dims ...int) {
	m.file.Tensors = append(m.file.Tensors, Constant(name, v, dims...))
}
