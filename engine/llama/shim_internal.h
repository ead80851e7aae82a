// What the files of the shim share; shim.h is what Go sees.
#ifndef LLAMA_AGENT_SHIM_INTERNAL_H
#define LLAMA_AGENT_SHIM_INTERNAL_H

#include "shim.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>

#include "llama.h"
#include "ggml-cpu.h"

#include "chat.h"
#include "common.h"
#include "sampling.h"

inline void set_err(char * err, const std::string & text) {
    if (err == nullptr) {
        return;
    }
    size_t n = std::min(text.size(), (size_t) LA_ERR_LEN - 1);
    memcpy(err, text.data(), n);
    err[n] = 0;
}

inline char * dup(const std::string & s) {
    char * p = (char *) malloc(s.size() + 1);
    if (p != nullptr) {
        memcpy(p, s.data(), s.size());
        p[s.size()] = 0;
    }
    return p;
}

// guard runs fn and turns an exception into an error text and the given value.
template <typename R, typename F> R guard(char * err, R otherwise, F fn) {
    try {
        return fn();
    } catch (const std::bad_alloc &) {
        set_err(err, "out of memory");
    } catch (const std::exception & e) {
        set_err(err, e.what());
    } catch (...) {
        set_err(err, "unknown C++ exception");
    }
    return otherwise;
}

struct la_load {
    std::atomic<float> progress{0};
    std::atomic<bool> cancelled{false};
};

struct la_model {
    llama_model * model = nullptr;
    const llama_vocab * vocab = nullptr;
    int32_t n_vocab = 0;
};

struct la_context {
    llama_context * ctx = nullptr;
    la_model * model = nullptr;
    ggml_threadpool * pool = nullptr;
    std::atomic<bool> aborted{false};
    la_memory memory = LA_MEMORY_CELLS;
    bool window = false; // some layers see only the last tokens
    uint32_t n_seq_max = 0;
    int32_t n_threads = 1;
    llama_batch batch{};
};

// la_opening is what a context of any purpose is created with, beside its sizes.
struct la_opening {
    uint32_t n_seq_max; // that callers can name
    int32_t n_threads;
    int32_t flash_attn;
    int32_t copies;     // sequences that a token of a batch may belong to
    const char * needs; // what there may be no memory for
};

// open_context creates a context and its batch. The parameters have the sizes and what they are for; the rest is set here.
la_context * open_context(la_model * m, llama_context_params cp, const la_opening & o, char * err);

// attach_pool gives a new context its threads; without a pool llama.cpp makes one for each token.
void attach_pool(la_context * c, int32_t n_threads);

// la_memory_of tells the kind of memory that llama.cpp makes for a model (llama_model::create_memory).
la_memory la_memory_of(const llama_model * m);

// scratch is the sequence that no caller can name.
inline llama_seq_id scratch(const la_context * c) { return (llama_seq_id) c->n_seq_max; }

// guard_of is a sequence that holds the same cells as another. llama.cpp gives away a cell that only one sequence holds once its
// layer no longer sees it, although a branch from before it would, and although, while it prepares several micro-batches, the
// first of them still sees what the last one may take. It never does so with cells of two sequences.
inline llama_seq_id guard_of(const la_context * c, llama_seq_id seq) { return seq + (llama_seq_id) c->n_seq_max + 1; }
inline bool needs_guards(la_memory memory, bool window) { return window && (memory == LA_MEMORY_WINDOW || memory == LA_MEMORY_MIXED); }
inline bool guarded(const la_context * c) { return needs_guards(c->memory, c->window); }

struct la_sampler {
    common_sampler * smpl = nullptr;
    const llama_vocab * vocab = nullptr;
    int32_t n_vocab = 0;
    bool argmax = false; // nothing but the likeliest token is asked for
    bool broken = false; // a refused token has emptied the grammar, and llama.cpp would abort the process
};

struct la_chat {
    common_chat_templates_ptr templates;
    bool add_bos = false;
    bool add_eos = false;
};

#endif
