// C interface over llama.cpp and its `common` library, made for Go.
//
// Every function checks its arguments (llama.cpp aborts the process on several wrong ones) and catches C++ exceptions.
// Something closed is NULL, and gives an error or an empty value. Functions that can fail take an error buffer and write
// one line into it. Strings that are returned as char * belong to the caller and are freed with la_free.
#ifndef LLAMA_AGENT_SHIM_H
#define LLAMA_AGENT_SHIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LA_ERR_LEN 512

typedef struct la_model la_model;
typedef struct la_context la_context;
typedef struct la_sampler la_sampler;
typedef struct la_chat la_chat;

void la_free(void * p);

// --- process-wide ---------------------------------------------------------------------------------------------------

// la_init prepares the back ends and routes llama.cpp's log to la_go_log, once.
void la_init(void);
const char * la_version(void);
// la_build names the source, the compiler and the target of this build, and the features of the processor that it uses.
char * la_build(void);
// la_devices returns one "name<TAB>description<TAB>kind<TAB>free bytes<TAB>total bytes" line per device.
char * la_devices(void);

// --- model ----------------------------------------------------------------------------------------------------------

// A load in progress: Go reads the progress and asks for a stop; llama.cpp's callback writes and reads it.
typedef struct la_load la_load;
la_load * la_load_new(void);
float la_load_progress(la_load * l);
void la_load_cancel(la_load * l);
void la_load_free(la_load * l);

la_model * la_model_load(const char * path, int32_t n_gpu_layers, bool vocab_only, la_load * load, char * err);
void la_model_free(la_model * m);

// What the memory of a model can do with a part of a sequence.
typedef enum la_memory {
    LA_MEMORY_CELLS = 0,  // a cell for each token: any part can be dropped, shared and saved
    LA_MEMORY_WINDOW = 1, // the same; some layers see only the last tokens, and llama.cpp would give away what they no longer see
    LA_MEMORY_STATE = 2,  // one running state for a sequence: it can only be dropped, shared and saved as it is
    LA_MEMORY_MIXED = 3,  // cells for some layers, a running state for others
    LA_MEMORY_WHOLE = 4,  // nothing but whole sequences; llama.cpp aborts the process for parts of them
} la_memory;

typedef struct la_model_info {
    int32_t n_ctx_train, n_embd, n_layer, n_head, n_head_kv, n_swa, n_vocab;
    uint64_t bytes, n_params;
    int32_t memory; // la_memory
    bool recurrent, hybrid, encoder, decoder, diffusion, add_bos, add_eos;
    int32_t bos, eos, eot, nl;
} la_model_info;
la_model_info la_model_get_info(la_model * m);
char * la_model_desc(la_model * m);
// la_model_meta returns NULL when the key is absent.
char * la_model_meta(la_model * m, const char * key);

// la_tokenize returns the number of tokens; when it is larger than cap, nothing useful was written: call again with room.
// -1 on an error.
int32_t la_tokenize(la_model * m, const char * text, int32_t len, bool add_special, bool parse_special, int32_t * out, int32_t cap);
// la_piece writes the bytes of a token and returns their number (or -needed when cap is too small, 0 for a bad token).
int32_t la_piece(la_model * m, int32_t token, bool special, char * out, int32_t cap);
bool la_is_eog(la_model * m, int32_t token);
bool la_is_control(la_model * m, int32_t token);

// --- context --------------------------------------------------------------------------------------------------------

typedef struct la_context_params {
    uint32_t n_ctx, n_batch, n_ubatch, n_seq_max;
    int32_t n_threads;
    int32_t flash_attn; // -1 auto, 0 off, 1 on
    int32_t type_k, type_v; // ggml_type
} la_context_params;

la_context * la_context_new(la_model * m, la_context_params p, char * err);
void la_context_free(la_context * c);
// la_set_threads changes the number of threads for batches of one token and of several; 1 to the n_threads of
// la_context_params, other numbers become the nearest of these.
void la_set_threads(la_context * c, int32_t single, int32_t batch);
uint32_t la_n_ctx(la_context * c);
uint32_t la_n_batch(la_context * c);
// la_abort makes a running decode return 2; la_abort_reset takes the wish back. Both are safe from any thread.
void la_abort(la_context * c);
void la_abort_reset(la_context * c);

// la_decode runs one batch: n tokens, each with its position, one sequence, and whether its logits are wanted.
// 0 ok; 1 no room in the KV cache, state unchanged; 2 aborted; -1 bad input, state unchanged; < -1 fatal.
int32_t la_decode(la_context * c, int32_t n, const int32_t * tokens, const int32_t * pos, const int32_t * seq, const int8_t * logits, char * err);
// la_logits returns n_vocab floats owned by the context, valid until the next decode, or NULL.
const float * la_logits(la_context * c, int32_t i);

// la_seq_rm and la_seq_cp return false for what the memory cannot do. A part that la_seq_cp copies from LA_MEMORY_MIXED has the
// running state of the whole source, and needs la_tail_set before it is used.
bool la_seq_rm(la_context * c, int32_t seq, int32_t p0, int32_t p1);
bool la_seq_cp(la_context * c, int32_t src, int32_t dst, int32_t p0, int32_t p1);
int32_t la_seq_pos_min(la_context * c, int32_t seq);
int32_t la_seq_pos_max(la_context * c, int32_t seq);
bool la_can_shift(la_context * c);
void la_memory_clear(la_context * c);

size_t la_state_seq_size(la_context * c, int32_t seq);
size_t la_state_seq_get(la_context * c, int32_t seq, uint8_t * out, size_t cap);
size_t la_state_seq_set(la_context * c, int32_t seq, const uint8_t * in, size_t len, char * err);

// The running state at the end of a sequence, for LA_MEMORY_STATE and LA_MEMORY_MIXED: what la_seq_rm cannot go back to.
// la_tail_get returns a copy that the caller frees with la_free, and its size; NULL on an error.
uint8_t * la_tail_get(la_context * c, int32_t seq, size_t * size, char * err);
// la_tail_set makes dst hold the first end positions of src with the running state that la_tail_get gave where a sequence with
// these tokens ended there. src may be dst, or, for LA_MEMORY_STATE, -1. 0 ok; -1 on an error, after which dst is empty.
int32_t la_tail_set(la_context * c, int32_t src, int32_t dst, int32_t end, const uint8_t * in, size_t len, char * err);

// The state of positions p0 to p1 - 1 of one sequence, of which all must be there. They go through a sequence of the
// context's own that callers cannot name; the cells of the source stay where they are, and shared.
// la_range_get returns a copy of the state that the caller frees with la_free, and its size; NULL on an error. Memories with a
// running state need that at p1, as la_tail_get gave it: tail; the others get NULL.
uint8_t * la_range_get(la_context * c, int32_t seq, int32_t p0, int32_t p1, const uint8_t * tail, size_t tail_len, size_t * size, char * err);
// la_range_set appends a state to a sequence that ends at p0. 0 ok; 1 no room in the KV cache; -1 not a state of
// exactly these positions. After an error the sequence is as it was. llama.cpp does not notice changed bytes of the
// cells themselves. A LA_MEMORY_STATE is replaced, whatever the sequence held.
int32_t la_range_set(la_context * c, int32_t seq, int32_t p0, int32_t p1, const uint8_t * in, size_t len, char * err);

// --- LoRA adapters --------------------------------------------------------------------------------------------------

typedef struct la_adapter la_adapter;
// la_adapter_load reads an adapter of the model, which owns it and frees it with itself. Load all before contexts are made:
// a context's graph has room for the adapters that the model has then. The file must have passed a check of its header:
// llama.cpp aborts the process on values of a wrong type, and on some shapes when it computes.
la_adapter * la_adapter_load(la_model * m, const char * path, char * err);
// la_set_adapters makes a context compute with exactly these adapters. 0 ok; -1 on an error.
int32_t la_set_adapters(la_context * c, la_adapter ** adapters, const float * scales, int32_t n, char * err);

// --- embeddings -----------------------------------------------------------------------------------------------------

typedef struct la_embedding_params {
    uint32_t n_batch;   // most tokens of one la_embed, of all texts together; at least n_seq_max
    uint32_t n_seq_max; // most texts of one la_embed
    int32_t n_threads;
    int32_t flash_attn; // as in la_context_params
    int32_t pooling;    // 1 mean, 2 first token (CLS), 3 last token
} la_embedding_params;

// la_embedding_context_new makes a context for la_embed alone. It is freed with la_context_free and stopped with la_abort.
la_context * la_embedding_context_new(la_model * m, la_embedding_params p, char * err);
// la_n_embd_out is the number of floats of a vector.
int32_t la_n_embd_out(la_model * m);
// la_embed computes the pooled vectors of n texts, which know nothing of each other: lengths[i] tokens of text i, 1 to the
// model's context, follow those of text i - 1. out takes n * la_n_embd_out floats. 0 ok; 1 no room; 2 aborted; -1 bad
// input; < -1 fatal. Nothing stays in the context.
int32_t la_embed(la_context * c, int32_t n, const int32_t * lengths, const int32_t * tokens, float * out, char * err);

// --- sampling -------------------------------------------------------------------------------------------------------

typedef struct la_sampler_params {
    uint32_t seed;
    float temperature, top_p, min_p, repeat_penalty;
    int32_t top_k, repeat_last_n;
    const char * grammar; // GBNF, root rule "root"; NULL for none
    // 0 none, 1 written by the caller, 2 output format, 3 tool calls (as llama.cpp's common tells them apart)
    int32_t grammar_type;
    bool grammar_lazy;
    // JSON array of {"type","value","token"}, as la_chat_apply returns it; NULL for none
    const char * triggers;
    const char * generation_prompt; // the start of the reply that the prompt already holds; may be NULL
    const char * preserved;         // JSON array of strings; may be NULL
} la_sampler_params;

la_sampler * la_sampler_new(la_model * m, la_sampler_params p, char * err);
void la_sampler_free(la_sampler * s);
// la_sampler_sample samples from the i-th row of logits of the last decode and accepts the token. -1 on an error.
int32_t la_sampler_sample(la_sampler * s, la_context * c, int32_t i, char * err);

// la_sampler_accept accepts a token that was not sampled. 0 ok; -1 when the grammar refuses it, after which the sampler
// gives errors only.
int32_t la_sampler_accept(la_sampler * s, int32_t token, char * err);

// la_grammar_accepts returns 1 when a grammar takes the whole text and nothing has to follow, 0 when not, -1 on an error.
int32_t la_grammar_accepts(la_model * m, const char * grammar, const char * text, size_t len, char * err);

// la_schema_to_grammar returns GBNF for a JSON schema, or NULL. The grammar has no blanks between tokens; strings have
// at most max_string characters, and arrays that the schema does not bound at most max_items items.
char * la_schema_to_grammar(const char * schema, int32_t max_string, int32_t max_items, char * err);

// --- chat templates -------------------------------------------------------------------------------------------------

// la_chat_new reads the model's template, or the given one. NULL with err when it cannot be parsed.
la_chat * la_chat_new(la_model * m, const char * template_override, char * err);
void la_chat_free(la_chat * c);
// la_chat_caps returns a JSON object: explicit (the model or the caller brought a template), source, and what it supports.
char * la_chat_caps(la_chat * c, char * err);
// la_chat_apply takes a JSON object {messages, tools, tool_choice, json_schema, enable_thinking, parallel_tool_calls, now}
// (now: Unix seconds, for templates that print a date; the rest in OpenAI's form) and returns {prompt, grammar, grammar_lazy, triggers, generation_prompt, preserved, stops, format, parser,
// supports_thinking}.
char * la_chat_apply(la_chat * c, const char * request, char * err);
// la_chat_parse reads a reply: spec is what la_chat_apply returned; partial for a reply that is still growing.
char * la_chat_parse(const char * spec, const char * text, size_t len, bool partial, bool parse_tool_calls, char * err);

// Implemented in Go.
extern void la_go_log(int level, char * text);

#ifdef __cplusplus
}
#endif

#endif
