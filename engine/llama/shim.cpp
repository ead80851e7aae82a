//go:build cgo && !nollama

#include "shim_internal.h"

#include <climits>
#include <mutex>

#include "build-info.h"
#include "ggml-backend.h"
#include "log.h"

void attach_pool(la_context * c, int32_t n_threads) {
    c->n_threads = n_threads;
    auto tp = ggml_threadpool_params_default(n_threads);
    c->pool = ggml_threadpool_new(&tp);
    if (c->pool != nullptr) {
        llama_attach_threadpool(c->ctx, c->pool, nullptr);
    }
}

la_context * open_context(la_model * m, llama_context_params cp, const la_opening & o, char * err) {
    auto * c = new la_context();
    cp.n_threads = o.n_threads;
    cp.n_threads_batch = o.n_threads;
    cp.flash_attn_type = (llama_flash_attn_type) o.flash_attn;
    // Copying a part of one sequence to another is metadata only in the unified cache, and aborts in the other one.
    cp.kv_unified = true;
    cp.no_perf = true;
    cp.abort_callback = [](void * user) { return ((la_context *) user)->aborted.load(std::memory_order_relaxed); };
    cp.abort_callback_data = c;
    c->ctx = llama_init_from_model(m->model, cp);
    if (c->ctx == nullptr) {
        delete c;
        set_err(err, std::string("llama.cpp could not create a context (is there memory for ") + o.needs + "?)");
        return nullptr;
    }
    c->model = m;
    c->n_seq_max = o.n_seq_max;
    attach_pool(c, o.n_threads);
    c->batch = llama_batch_init((int32_t) llama_n_batch(c->ctx), 0, o.copies);
    return c;
}

static void log_to_go(ggml_log_level level, const char * text, void *) {
    if (text != nullptr) {
        la_go_log((int) level, const_cast<char *>(text));
    }
}

static std::string meta(const llama_model * m, const char * key) {
    const int32_t n = llama_model_meta_val_str(m, key, nullptr, 0);
    if (n < 0) {
        return "";
    }
    std::string out(n + 1, 0);
    llama_model_meta_val_str(m, key, &out[0], out.size());
    out.resize(n);
    return out;
}

la_memory la_memory_of(const llama_model * m) {
    if (meta(m, "general.architecture") == "deepseek4") {
        return LA_MEMORY_WHOLE; // compressed cells: its seq_cp asserts that it copies all
    }
    if (llama_model_is_recurrent(m)) {
        return LA_MEMORY_STATE;
    }
    if (llama_model_is_hybrid(m)) {
        return LA_MEMORY_MIXED;
    }
    return llama_model_n_swa(m) > 0 ? LA_MEMORY_WINDOW : LA_MEMORY_CELLS;
}

extern "C" {

void la_free(void * p) { free(p); }

void la_init(void) {
    static std::once_flag once;
    std::call_once(once, [] {
        // A failed assertion of ggml would otherwise start a debugger before it aborts.
#ifndef _WIN32
        setenv("GGML_NO_BACKTRACE", "1", 0);
#endif
        llama_log_set(log_to_go, nullptr);
        common_log_set_verbosity_thold(-1);
        llama_backend_init();
    });
}

const char * la_version(void) { return llama_version(); }

char * la_build(void) {
    return guard<char *>(nullptr, nullptr, [] {
        return dup(std::string(llama_version()) + " " + llama_commit() + ", " + llama_compiler() + ", " + llama_build_target() + ", " + llama_print_system_info());
    });
}

char * la_devices(void) {
    return guard<char *>(nullptr, nullptr, [] {
        std::string out;
        for (size_t i = 0; i < ggml_backend_dev_count(); i++) {
            ggml_backend_dev_t dev = ggml_backend_dev_get(i);
            size_t free_bytes = 0, total = 0;
            ggml_backend_dev_memory(dev, &free_bytes, &total);
            const char * kind = "other";
            switch (ggml_backend_dev_type(dev)) {
                case GGML_BACKEND_DEVICE_TYPE_CPU: kind = "cpu"; break;
                case GGML_BACKEND_DEVICE_TYPE_GPU: kind = "gpu"; break;
                case GGML_BACKEND_DEVICE_TYPE_IGPU: kind = "igpu"; break;
                default: break;
            }
            out += std::string(ggml_backend_dev_name(dev)) + "\t" + ggml_backend_dev_description(dev) + "\t" + kind + "\t" +
                   std::to_string(free_bytes) + "\t" + std::to_string(total) + "\n";
        }
        return dup(out);
    });
}

// --- model ---

la_load * la_load_new(void) { return new (std::nothrow) la_load(); }
float la_load_progress(la_load * l) { return l->progress.load(); }
void la_load_cancel(la_load * l) { l->cancelled.store(true); }
void la_load_free(la_load * l) { delete l; }

la_model * la_model_load(const char * path, int32_t n_gpu_layers, bool vocab_only, la_load * load, char * err) {
    return guard<la_model *>(err, nullptr, [&]() -> la_model * {
        auto p = llama_model_default_params();
        p.n_gpu_layers = n_gpu_layers;
        p.vocab_only = vocab_only;
        if (load != nullptr) {
            p.progress_callback_user_data = load;
            p.progress_callback = [](float done, void * user) {
                auto * l = (la_load *) user;
                l->progress.store(done);
                return !l->cancelled.load();
            };
        }
        llama_model * m = llama_model_load_from_file(path, p);
        if (m == nullptr) {
            set_err(err, load != nullptr && load->cancelled.load() ? "cancelled" : "llama.cpp could not load the model");
            return nullptr;
        }
        auto * out = new la_model();
        out->model = m;
        out->vocab = llama_model_get_vocab(m);
        out->n_vocab = llama_vocab_n_tokens(out->vocab);
        return out;
    });
}

void la_model_free(la_model * m) {
    if (m != nullptr) {
        llama_model_free(m->model);
        delete m;
    }
}

la_model_info la_model_get_info(la_model * m) {
    la_model_info i{};
    if (m == nullptr) {
        return i;
    }
    i.n_ctx_train = llama_model_n_ctx_train(m->model);
    i.n_embd = llama_model_n_embd(m->model);
    i.n_layer = llama_model_n_layer(m->model);
    if (i.n_layer > 0) { // 0 without the weights; the heads of a layer that is not there abort the process
        i.n_head = llama_model_n_head(m->model);
        i.n_head_kv = llama_model_n_head_kv(m->model);
    }
    i.n_swa = llama_model_n_swa(m->model);
    i.n_vocab = m->n_vocab;
    i.memory = la_memory_of(m->model);
    i.bytes = llama_model_size(m->model);
    i.n_params = llama_model_n_params(m->model);
    i.recurrent = llama_model_is_recurrent(m->model);
    i.hybrid = llama_model_is_hybrid(m->model);
    i.encoder = llama_model_has_encoder(m->model);
    i.decoder = llama_model_has_decoder(m->model);
    i.diffusion = llama_model_is_diffusion(m->model);
    i.add_bos = llama_vocab_get_add_bos(m->vocab);
    i.add_eos = llama_vocab_get_add_eos(m->vocab);
    i.bos = llama_vocab_bos(m->vocab);
    i.eos = llama_vocab_eos(m->vocab);
    i.eot = llama_vocab_eot(m->vocab);
    i.nl = llama_vocab_nl(m->vocab);
    return i;
}

char * la_model_desc(la_model * m) {
    if (m == nullptr) {
        return nullptr;
    }
    char buf[256];
    int32_t n = llama_model_desc(m->model, buf, sizeof buf);
    return dup(n < 0 ? "" : buf);
}

char * la_model_meta(la_model * m, const char * key) {
    int32_t n = m == nullptr ? -1 : llama_model_meta_val_str(m->model, key, nullptr, 0);
    if (n < 0) {
        return nullptr;
    }
    return dup(meta(m->model, key));
}

int32_t la_tokenize(la_model * m, const char * text, int32_t len, bool add_special, bool parse_special, int32_t * out, int32_t cap) {
    return guard<int32_t>(nullptr, -1, [&] {
        int32_t n = llama_tokenize(m->vocab, text, len, out, cap, add_special, parse_special);
        return n == INT32_MIN ? -1 : n < 0 ? -n : n;
    });
}

static bool token_ok(la_model * m, int32_t token) { return m != nullptr && token >= 0 && token < m->n_vocab; }

int32_t la_piece(la_model * m, int32_t token, bool special, char * out, int32_t cap) {
    if (!token_ok(m, token)) {
        return 0;
    }
    return guard<int32_t>(nullptr, 0, [&] { return llama_token_to_piece(m->vocab, token, out, cap, 0, special); });
}

bool la_is_eog(la_model * m, int32_t token) { return token_ok(m, token) && llama_vocab_is_eog(m->vocab, token); }
bool la_is_control(la_model * m, int32_t token) { return token_ok(m, token) && llama_vocab_is_control(m->vocab, token); }

// --- context ---

la_context * la_context_new(la_model * m, la_context_params p, char * err) {
    return guard<la_context *>(err, nullptr, [&]() -> la_context * {
        const la_memory memory = la_memory_of(m->model);
        // One more is the scratch sequence of la_range_get and la_range_set; each may have a guard.
        const bool window = llama_model_n_swa(m->model) > 0;
        const uint32_t copies = needs_guards(memory, window) ? 2 : 1;
        const uint32_t most = llama_max_parallel_sequences() / copies - 1;
        if (p.n_seq_max < 1 || p.n_seq_max > most) {
            set_err(err, "the number of sequences must be 1 to " + std::to_string(most));
            return nullptr;
        }
        const uint32_t n_seq_all = copies * (p.n_seq_max + 1);
        if (p.n_threads < 1 || p.n_threads > GGML_MAX_N_THREADS) {
            set_err(err, "the number of threads must be 1 to " + std::to_string(GGML_MAX_N_THREADS));
            return nullptr;
        }
        auto cp = llama_context_default_params();
        // llama.cpp aborts the process when a batch cannot hold one token of each sequence; it cuts n_batch to n_ctx.
        cp.n_ctx = std::max(p.n_ctx > 0 ? p.n_ctx : (uint32_t) std::max(llama_model_n_ctx_train(m->model), 1), n_seq_all);
        cp.n_batch = std::max(p.n_batch, n_seq_all);
        cp.n_ubatch = p.n_ubatch;
        cp.n_seq_max = n_seq_all;
        cp.type_k = (ggml_type) p.type_k;
        cp.type_v = (ggml_type) p.type_v;
        // Room for what layers with a window no longer see: a branch from before it needs that again.
        cp.swa_full = true;
        la_context * c = open_context(m, cp, {p.n_seq_max, p.n_threads, p.flash_attn, (int32_t) copies, "the KV cache"}, err);
        if (c != nullptr) {
            c->memory = memory;
            c->window = window;
        }
        return c;
    });
}

void la_context_free(la_context * c) {
    if (c == nullptr) {
        return;
    }
    llama_batch_free(c->batch);
    llama_detach_threadpool(c->ctx);
    llama_free(c->ctx);
    if (c->pool != nullptr) {
        ggml_threadpool_free(c->pool);
    }
    delete c;
}

static int32_t clamp_threads(la_context * c, int32_t n) { return std::max(1, std::min(n, c->n_threads)); }

void la_set_threads(la_context * c, int32_t single, int32_t batch) {
    if (c != nullptr) {
        llama_set_n_threads(c->ctx, clamp_threads(c, single), clamp_threads(c, batch));
    }
}

uint32_t la_n_ctx(la_context * c) { return c == nullptr ? 0 : llama_n_ctx(c->ctx); }
uint32_t la_n_batch(la_context * c) { return c == nullptr ? 0 : llama_n_batch(c->ctx); }

void la_abort(la_context * c) {
    if (c != nullptr) {
        c->aborted.store(true);
    }
}

void la_abort_reset(la_context * c) {
    if (c != nullptr) {
        c->aborted.store(false);
    }
}

static bool seq_ok(la_context * c, int32_t seq) { return c != nullptr && seq >= 0 && (uint32_t) seq < c->n_seq_max; }

int32_t la_decode(la_context * c, int32_t n, const int32_t * tokens, const int32_t * pos, const int32_t * seq, const int8_t * logits, char * err) {
    if (c == nullptr) {
        set_err(err, "closed");
        return -1;
    }
    if (n < 1 || (uint32_t) n > llama_n_batch(c->ctx)) {
        set_err(err, "a batch holds 1 to " + std::to_string(llama_n_batch(c->ctx)) + " tokens, not " + std::to_string(n));
        return -1;
    }
    for (int32_t i = 0; i < n; i++) {
        if (tokens[i] < 0 || tokens[i] >= c->model->n_vocab || !seq_ok(c, seq[i]) || pos[i] < 0) {
            set_err(err, "token " + std::to_string(i) + " of the batch has a bad id, sequence or position");
            return -1;
        }
        c->batch.token[i] = tokens[i];
        c->batch.pos[i] = pos[i];
        c->batch.n_seq_id[i] = 1;
        c->batch.seq_id[i][0] = seq[i];
        if (guarded(c)) {
            c->batch.n_seq_id[i] = 2;
            c->batch.seq_id[i][1] = guard_of(c, seq[i]);
        }
        c->batch.logits[i] = logits[i];
    }
    c->batch.n_tokens = n;
    const int32_t rc = guard<int32_t>(err, -3, [&] {
        int32_t rc = llama_decode(c->ctx, c->batch);
        if (rc == 0) {
            llama_synchronize(c->ctx);
        }
        return rc;
    });
    if (rc != 0 && c->memory == LA_MEMORY_WINDOW) { // with a running state, both sequences are left as they are
        // What llama.cpp took back from the sequences it left to their guards.
        auto * mem = llama_get_memory(c->ctx);
        for (int32_t i = 0; i < n; i++) {
            if (i == 0 || seq[i] != seq[i - 1]) {
                llama_memory_seq_rm(mem, guard_of(c, seq[i]), llama_memory_seq_pos_max(mem, seq[i]) + 1, -1);
            }
        }
    }
    return rc;
}

const float * la_logits(la_context * c, int32_t i) {
    return c == nullptr ? nullptr : guard<const float *>(nullptr, nullptr, [&] { return llama_get_logits_ith(c->ctx, i); });
}

bool la_seq_rm(la_context * c, int32_t seq, int32_t p0, int32_t p1) {
    return seq_ok(c, seq) && guard<bool>(nullptr, false, [&] {
        auto * mem = llama_get_memory(c->ctx);
        return llama_memory_seq_rm(mem, seq, p0, p1) && (!guarded(c) || llama_memory_seq_rm(mem, guard_of(c, seq), p0, p1));
    });
}

bool la_seq_cp(la_context * c, int32_t src, int32_t dst, int32_t p0, int32_t p1) {
    if (!seq_ok(c, src) || !seq_ok(c, dst) || src == dst) {
        return false;
    }
    return guard<bool>(nullptr, false, [&] {
        auto * mem = llama_get_memory(c->ctx);
        if (c->memory == LA_MEMORY_STATE || c->memory == LA_MEMORY_WHOLE) {
            if (p0 > 0 || (p1 >= 0 && p1 <= llama_memory_seq_pos_max(mem, src))) {
                return false;
            }
            p0 = p1 = -1;
        }
        llama_memory_seq_cp(mem, src, dst, p0, p1);
        if (guarded(c)) {
            llama_memory_seq_cp(mem, src, guard_of(c, dst), p0, p1);
        }
        return true;
    });
}

int32_t la_seq_pos_min(la_context * c, int32_t seq) {
    return seq_ok(c, seq) ? llama_memory_seq_pos_min(llama_get_memory(c->ctx), seq) : -1;
}

int32_t la_seq_pos_max(la_context * c, int32_t seq) {
    return seq_ok(c, seq) ? llama_memory_seq_pos_max(llama_get_memory(c->ctx), seq) : -1;
}

bool la_can_shift(la_context * c) { return c != nullptr && llama_memory_can_shift(llama_get_memory(c->ctx)); }

void la_memory_clear(la_context * c) {
    if (c != nullptr) {
        llama_memory_clear(llama_get_memory(c->ctx), true);
    }
}

size_t la_state_seq_size(la_context * c, int32_t seq) {
    return seq_ok(c, seq) ? guard<size_t>(nullptr, 0, [&] { return llama_state_seq_get_size(c->ctx, seq); }) : 0;
}

size_t la_state_seq_get(la_context * c, int32_t seq, uint8_t * out, size_t cap) {
    return seq_ok(c, seq) ? guard<size_t>(nullptr, 0, [&] { return llama_state_seq_get_data(c->ctx, out, cap, seq); }) : 0;
}

size_t la_state_seq_set(la_context * c, int32_t seq, const uint8_t * in, size_t len, char * err) {
    if (!seq_ok(c, seq)) {
        set_err(err, "bad sequence id");
        return 0;
    }
    size_t n = guard<size_t>(err, 0, [&] { return llama_state_seq_set_data(c->ctx, in, len, seq); });
    if (n == 0) {
        // A refused state can leave cells behind.
        llama_memory_seq_rm(llama_get_memory(c->ctx), seq, -1, -1);
    }
    if (guarded(c)) {
        auto * mem = llama_get_memory(c->ctx);
        llama_memory_seq_rm(mem, guard_of(c, seq), -1, -1);
        llama_memory_seq_cp(mem, seq, guard_of(c, seq), -1, -1);
    }
    return n;
}

} // extern "C"
