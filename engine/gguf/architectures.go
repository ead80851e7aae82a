package gguf

import "slices"

// architectures are the model architectures that the pinned llama.cpp knows: LLM_ARCH_NAMES of src/llama-arch.cpp, in its order.
var architectures = []string{
	"clip", "llama", "llama4", "deci", "falcon", "grok", "gpt2", "gptj", "gptneox", "mpt", "baichuan", "starcoder",
	"refact", "bert", "modern-bert", "nomic-bert", "nomic-bert-moe", "neo-bert", "jina-bert-v2", "jina-bert-v3",
	"eurobert", "bloom", "stablelm", "qwen", "qwen2", "qwen2moe", "qwen2vl", "qwen3", "qwen3moe", "qwen3next",
	"qwen3vl", "qwen3vlmoe", "qwen35", "qwen35moe", "qwen4exp", "phi2", "phi3", "phimoe", "plamo", "plamo2",
	"plamo3", "codeshell", "orion", "internlm2", "minicpm", "minicpm3", "gemma", "gemma2", "gemma3", "gemma3n",
	"gemma4", "gemma4-assistant", "gemma-embedding", "starcoder2", "mamba", "mamba2", "jamba", "falcon-h1", "xverse",
	"command-r", "cohere2", "cohere2moe", "dbrx", "olmo", "olmo2", "olmoe", "muse-glimmer", "openelm", "arctic",
	"deepseek", "deepseek2", "deepseek2-ocr", "deepseek32", "deepseek4", "chatglm", "glm4", "glm4moe", "glm-dsa",
	"bitnet", "t5", "t5encoder", "jais", "jais2", "nemotron", "nemotron_h", "nemotron_h_moe", "exaone", "exaone4",
	"exaone-moe", "rwkv6", "rwkv6qwen2", "rwkv7", "arwkv7", "granite", "granitemoe", "granitehybrid",
	"graniteswitch", "granite_swa", "chameleon", "wavtokenizer-dec", "plm", "bailingmoe", "bailingmoe2",
	"bailingmoe3", "dots1", "dots3note", "arcee", "afmoe", "laguna", "ernie4_5", "ernie4_5-moe", "hunyuan-moe",
	"hunyuan-dense", "hunyuan_vl", "hy_v3", "smollm3", "gpt-oss", "lfm2", "lfm2moe", "dream", "smallthinker",
	"llada", "llada-moe", "seed_oss", "grovemoe", "apertus", "minimax-01", "minimax-m2", "minimax-m3", "cogvlm",
	"rnd1", "pangu-embedded", "mistral3", "eagle3", "dflash", "mistral4", "paddleocr", "mimo2", "step35",
	"llama-embed", "maincoder", "kimi-linear", "kimi-k3", "talkie", "mellum", "nanbeige", "qwen3tts", "pockettts",
}

// recurrentArchitectures have no attention: llm_arch_is_recurrent of src/llama-arch.cpp.
var recurrentArchitectures = []string{
	"mamba", "mamba2", "rwkv6", "rwkv6qwen2", "rwkv7", "arwkv7",
}

// hybridArchitectures mix attention and recurrent layers: llm_arch_is_hybrid of src/llama-arch.cpp.
var hybridArchitectures = []string{
	"jamba", "falcon-h1", "plamo2", "granitehybrid", "lfm2", "lfm2moe", "nemotron_h", "nemotron_h_moe", "qwen3next",
	"kimi-linear", "bailingmoe3", "kimi-k3", "qwen35", "qwen35moe", "qwen4exp", "deepseek4", "minimax-01",
}

// diffusionArchitectures write all tokens of a text at once: llm_arch_is_diffusion of src/llama-arch.cpp.
var diffusionArchitectures = []string{
	"dream", "llada", "llada-moe", "rnd1",
}

// equalHeadArchitectures need keys and values of one size, and fullRopeArchitectures rotate all of a head: their graphs in
// src/models/ assert it, when the first token is computed.
var equalHeadArchitectures = []string{
	"llama", "llama4", "deci", "falcon", "grok", "gpt2", "gptneox", "mpt", "baichuan", "starcoder", "refact", "bert",
	"modern-bert", "nomic-bert", "nomic-bert-moe", "neo-bert", "jina-bert-v2", "jina-bert-v3", "eurobert", "bloom",
	"stablelm", "qwen", "qwen2", "qwen2moe", "qwen2vl", "qwen3", "qwen3moe", "qwen3next", "qwen3vl", "qwen3vlmoe",
	"qwen35", "qwen35moe", "qwen4exp", "phi2", "phi3", "phimoe", "plamo", "codeshell", "orion", "internlm2",
	"minicpm", "starcoder2", "xverse", "command-r", "cohere2", "cohere2moe", "dbrx", "olmo", "olmo2", "olmoe",
	"muse-glimmer", "openelm", "arctic", "deepseek", "chatglm", "glm4", "glm4moe", "bitnet", "t5", "t5encoder",
	"jais", "jais2", "nemotron", "nemotron_h", "nemotron_h_moe", "exaone", "exaone4", "exaone-moe", "granite",
	"granitemoe", "granitehybrid", "graniteswitch", "granite_swa", "chameleon", "bailingmoe2", "dots1", "arcee",
	"afmoe", "laguna", "ernie4_5", "ernie4_5-moe", "hunyuan-moe", "hunyuan-dense", "hunyuan_vl", "hy_v3", "smollm3",
	"dream", "smallthinker", "llada", "llada-moe", "seed_oss", "grovemoe", "apertus", "minimax-01", "minimax-m2",
	"minimax-m3", "cogvlm", "rnd1", "pangu-embedded", "mistral3", "eagle3", "dflash", "paddleocr", "llama-embed",
	"maincoder", "talkie", "mellum", "nanbeige", "pockettts",
}

var fullRopeArchitectures = []string{
	"llama", "llama4", "deci", "falcon", "grok", "baichuan", "qwen2", "qwen2moe", "qwen2vl", "qwen3", "qwen3moe",
	"qwen3vl", "qwen3vlmoe", "plamo", "codeshell", "orion", "internlm2", "minicpm", "starcoder2", "xverse",
	"cohere2moe", "dbrx", "olmo", "olmo2", "olmoe", "arctic", "deepseek", "jais2", "exaone", "exaone4", "exaone-moe",
	"granite", "granitemoe", "graniteswitch", "granite_swa", "chameleon", "dots1", "arcee", "ernie4_5",
	"ernie4_5-moe", "hunyuan-moe", "hunyuan-dense", "hunyuan_vl", "hy_v3", "smollm3", "dream", "smallthinker",
	"llada", "llada-moe", "seed_oss", "grovemoe", "apertus", "cogvlm", "rnd1", "pangu-embedded", "mistral3",
	"paddleocr", "llama-embed", "maincoder", "talkie", "mellum", "pockettts",
}

// expertArchitectures only exist as mixtures of experts: their loaders in src/models/ assert it.
var expertArchitectures = []string{
	"bailingmoe2", "glm4moe", "grovemoe", "llada-moe", "smallthinker",
}

// sectionArchitectures rotate heads in sections (M-RoPE), one of which must not be empty: llama_model_rope_type in
// src/llama-model.cpp, and an assertion in ggml's CPU kernel.
var sectionArchitectures = []string{
	"qwen2vl", "paddleocr", "qwen3vl", "qwen3vlmoe", "qwen35", "qwen35moe", "qwen4exp",
}

// embeddingArchitectures turn text into vectors. They have no memory for a conversation (llama_model::create_memory in
// src/llama-model.cpp), or no decoder.
var embeddingArchitectures = []string{
	"bert", "modern-bert", "nomic-bert", "nomic-bert-moe", "neo-bert", "jina-bert-v2", "jina-bert-v3", "eurobert",
	"gemma-embedding", "llama-embed", "t5encoder",
}

// helperArchitectures are the parts of other models and models for other things than text, with what they are.
var helperArchitectures = map[string]string{
	"clip":             "an image or audio projector (mmproj), which only accompanies a model",
	"eagle3":           "a draft head, which only accompanies a model",
	"dflash":           "a draft head, which only accompanies a model",
	"gemma4-assistant": "a draft head, which only accompanies a model",
	"wavtokenizer-dec": "an audio decoder",
	"qwen3tts":         "a speech model",
	"pockettts":        "a speech model",
	"t5":               "an encoder-decoder model, which answers one text and holds no conversation",
}

// Architectures returns the names of the model architectures that the pinned llama.cpp can load. The slice is the caller's.
func Architectures() []string {
	return slices.Clone(architectures)
}
