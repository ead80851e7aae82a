//go:build cgo && !nollama

#include "shim_internal.h"

extern "C" {

la_context * la_embedding_context_new(la_model * m, la_embedding_params p, char * err) {
    return guard<la_context *>(err, nullptr, [&]() -> la_context * {
        if (m == nullptr) {
            set_err(err, "closed");
            return nullptr;
        }
        if (p.n_seq_max < 1 || p.n_seq_max > llama_max_parallel_sequences() || p.n_threads < 1 || p.n_threads > GGML_MAX_N_THREADS) {
            set_err(err, "a bad number of texts or threads");
            return nullptr;
        }
        if (p.pooling != LLAMA_POOLING_TYPE_MEAN && p.pooling != LLAMA_POOLING_TYPE_CLS && p.pooling != LLAMA_POOLING_TYPE_LAST) {
            set_err(err, "a pooling that does not give one vector a text");
            return nullptr;
        }
        auto cp = llama_context_default_params();
        // A text is pooled over what is computed at once, and attention that looks ahead cannot be cut: llama.cpp aborts the
        // process when a batch of it does not fit into one micro-batch.
        cp.n_batch = std::max(p.n_batch, p.n_seq_max);
        cp.n_ubatch = cp.n_batch;
        cp.n_ctx = cp.n_batch;
        cp.n_seq_max = p.n_seq_max;
        cp.embeddings = true;
        cp.pooling_type = (enum llama_pooling_type) p.pooling;
        return open_context(m, cp, {p.n_seq_max, p.n_threads, p.flash_attn, 1, "it"}, err);
    });
}

int32_t la_n_embd_out(la_model * m) { return m == nullptr ? 0 : llama_model_n_embd_out(m->model); }

// fill puts texts into the batch, each into a sequence of its own. False when they do not fit or hold what is no token.
static bool fill(la_context * c, int32_t n, const int32_t * lengths, const int32_t * tokens, char * err) {
    if (n < 1 || (uint32_t) n > c->n_seq_max) {
        set_err(err, "1 to " + std::to_string(c->n_seq_max) + " texts are computed at once, not " + std::to_string(n));
        return false;
    }
    const int32_t room = (int32_t) llama_n_batch(c->ctx);
    const int32_t longest = std::min(room, llama_model_n_ctx_train(c->model->model)); // positions beyond can abort the process
    int32_t at = 0;
    for (int32_t s = 0; s < n; s++) {
        if (lengths[s] < 1 || lengths[s] > longest || lengths[s] > room - at) {
            set_err(err, "text " + std::to_string(s) + " has " + std::to_string(lengths[s]) + " tokens, which do not fit");
            return false;
        }
        for (int32_t pos = 0; pos < lengths[s]; pos++, at++) {
            if (tokens[at] < 0 || tokens[at] >= c->model->n_vocab) {
                set_err(err, "text " + std::to_string(s) + " holds what is no token of the vocabulary");
                return false;
            }
            c->batch.token[at] = tokens[at];
            c->batch.pos[at] = pos;
            c->batch.n_seq_id[at] = 1;
            c->batch.seq_id[at][0] = s;
            c->batch.logits[at] = 1;
        }
    }
    c->batch.n_tokens = at;
    return true;
}

int32_t la_embed(la_context * c, int32_t n, const int32_t * lengths, const int32_t * tokens, float * out, char * err) {
    if (c == nullptr) {
        set_err(err, "closed");
        return -1;
    }
    const int32_t rc = guard<int32_t>(err, -3, [&] {
        if (!fill(c, n, lengths, tokens, err)) {
            return -1;
        }
        // Encoders have no memory, and no decoder; llama.cpp encodes what it cannot decode for want of a memory.
        auto * model = c->model->model;
        const bool encode = llama_model_has_encoder(model) && !llama_model_has_decoder(model);
        const int32_t rc = encode ? llama_encode(c->ctx, c->batch) : llama_decode(c->ctx, c->batch);
        if (rc != 0) {
            return rc;
        }
        const size_t size = (size_t) llama_model_n_embd_out(model);
        for (int32_t s = 0; s < n; s++) {
            const float * v = llama_get_embeddings_seq(c->ctx, s);
            if (v == nullptr) {
                set_err(err, "the model gives no vector for a text");
                return -3;
            }
            memcpy(out + (size_t) s * size, v, size * sizeof(float));
        }
        return 0;
    });
    guard<int32_t>(nullptr, 0, [&] {
        llama_memory_clear(llama_get_memory(c->ctx), false);
        return 0;
    });
    return rc;
}

} // extern "C"
