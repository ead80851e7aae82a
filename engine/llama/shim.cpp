//go:build cgo && !nollama

#include "shim.h"

#include <atomic>
#include <climits>
#include <cmath>
#include <cstring>
#include <mutex>
#include <new>
#include <string>
#include <vector>

#include "llama.h"
#include "ggml-backend.h"
#include "ggml-cpu.h"

#include "chat.h"
#include "common.h"
#include "json-schema-to-grammar.h"
#include "log.h"
#include "sampling.h"

#include "nlohmann/json.hpp"

using json = nlohmann::ordered_json;

namespace {

void set_err(char * err, const std::string & text) {
    if (err == nullptr) {
        return;
    }
    size_t n = std::min(text.size(), (size_t) LA_ERR_LEN - 1);
    memcpy(err, text.data(), n);
    err[n] = 0;
}

char * dup(const std::string & s) {
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

void log_to_go(ggml_log_level level, const char * text, void *) {
    if (text != nullptr) {
        la_go_log((int) level, const_cast<char *>(text));
    }
}

} // namespace

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
    uint32_t n_seq_max = 0;
    llama_batch batch{};
};

struct la_sampler {
    common_sampler * smpl = nullptr;
    int32_t n_vocab = 0;
};

struct la_chat {
    common_chat_templates_ptr templates;
    bool add_bos = false;
    bool add_eos = false;
};

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

bool la_supports_gpu(void) { return llama_supports_gpu_offload(); }

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
    i.n_ctx_train = llama_model_n_ctx_train(m->model);
    i.n_embd = llama_model_n_embd(m->model);
    i.n_layer = llama_model_n_layer(m->model);
    i.n_head = llama_model_n_head(m->model);
    i.n_head_kv = llama_model_n_head_kv(m->model);
    i.n_swa = llama_model_n_swa(m->model);
    i.n_vocab = m->n_vocab;
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
    char buf[256];
    int32_t n = llama_model_desc(m->model, buf, sizeof buf);
    return dup(n < 0 ? "" : buf);
}

char * la_model_meta(la_model * m, const char * key) {
    int32_t n = llama_model_meta_val_str(m->model, key, nullptr, 0);
    if (n < 0) {
        return nullptr;
    }
    std::string out(n + 1, 0);
    llama_model_meta_val_str(m->model, key, &out[0], out.size());
    out.resize(n);
    return dup(out);
}

char * la_model_chat_template(la_model * m) {
    const char * t = llama_model_chat_template(m->model, nullptr);
    return t == nullptr ? nullptr : dup(t);
}

int32_t la_tokenize(la_model * m, const char * text, int32_t len, bool add_special, bool parse_special, int32_t * out, int32_t cap) {
    return guard<int32_t>(nullptr, -1, [&] {
        int32_t n = llama_tokenize(m->vocab, text, len, out, cap, add_special, parse_special);
        return n == INT32_MIN ? -1 : n < 0 ? -n : n;
    });
}

int32_t la_piece(la_model * m, int32_t token, bool special, char * out, int32_t cap) {
    if (token < 0 || token >= m->n_vocab) {
        return 0;
    }
    return guard<int32_t>(nullptr, 0, [&] { return llama_token_to_piece(m->vocab, token, out, cap, 0, special); });
}

bool la_is_eog(la_model * m, int32_t token) { return token >= 0 && token < m->n_vocab && llama_vocab_is_eog(m->vocab, token); }
bool la_is_control(la_model * m, int32_t token) {
    return token >= 0 && token < m->n_vocab && llama_vocab_is_control(m->vocab, token);
}

// --- context ---

la_context * la_context_new(la_model * m, la_context_params p, char * err) {
    return guard<la_context *>(err, nullptr, [&]() -> la_context * {
        if (p.n_seq_max < 1 || p.n_seq_max > llama_max_parallel_sequences()) {
            set_err(err, "the number of sequences must be 1 to " + std::to_string(llama_max_parallel_sequences()));
            return nullptr;
        }
        auto * c = new la_context();
        auto cp = llama_context_default_params();
        cp.n_ctx = p.n_ctx;
        cp.n_batch = p.n_batch;
        cp.n_ubatch = p.n_ubatch;
        cp.n_seq_max = p.n_seq_max;
        cp.n_threads = p.n_threads;
        cp.n_threads_batch = p.n_threads;
        cp.flash_attn_type = (llama_flash_attn_type) p.flash_attn;
        cp.type_k = (ggml_type) p.type_k;
        cp.type_v = (ggml_type) p.type_v;
        // Copying a part of one sequence to another is metadata only in the unified cache, and aborts in the other one.
        cp.kv_unified = true;
        cp.no_perf = true;
        cp.abort_callback = [](void * user) { return ((la_context *) user)->aborted.load(std::memory_order_relaxed); };
        cp.abort_callback_data = c;
        c->ctx = llama_init_from_model(m->model, cp);
        if (c->ctx == nullptr) {
            delete c;
            set_err(err, "llama.cpp could not create a context (is there memory for the KV cache?)");
            return nullptr;
        }
        c->model = m;
        c->n_seq_max = p.n_seq_max;
        auto tp = ggml_threadpool_params_default(p.n_threads);
        c->pool = ggml_threadpool_new(&tp);
        if (c->pool != nullptr) {
            llama_attach_threadpool(c->ctx, c->pool, nullptr);
        }
        c->batch = llama_batch_init((int32_t) llama_n_batch(c->ctx), 0, 1);
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

void la_set_threads(la_context * c, int32_t single, int32_t batch) { llama_set_n_threads(c->ctx, single, batch); }
uint32_t la_n_ctx(la_context * c) { return llama_n_ctx(c->ctx); }
uint32_t la_n_batch(la_context * c) { return llama_n_batch(c->ctx); }
uint32_t la_n_seq_max(la_context * c) { return c->n_seq_max; }
void la_abort(la_context * c) { c->aborted.store(true); }
void la_abort_reset(la_context * c) { c->aborted.store(false); }

static bool seq_ok(la_context * c, int32_t seq) { return seq >= 0 && (uint32_t) seq < c->n_seq_max; }

int32_t la_decode(la_context * c, int32_t n, const int32_t * tokens, const int32_t * pos, const int32_t * seq, const int8_t * logits, char * err) {
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
        c->batch.logits[i] = logits[i];
    }
    c->batch.n_tokens = n;
    return guard<int32_t>(err, -3, [&] {
        int32_t rc = llama_decode(c->ctx, c->batch);
        if (rc == 0) {
            llama_synchronize(c->ctx);
        }
        return rc;
    });
}

const float * la_logits(la_context * c, int32_t i) {
    return guard<const float *>(nullptr, nullptr, [&] { return llama_get_logits_ith(c->ctx, i); });
}

bool la_seq_rm(la_context * c, int32_t seq, int32_t p0, int32_t p1) {
    return seq_ok(c, seq) && guard<bool>(nullptr, false, [&] { return llama_memory_seq_rm(llama_get_memory(c->ctx), seq, p0, p1); });
}

bool la_seq_cp(la_context * c, int32_t src, int32_t dst, int32_t p0, int32_t p1) {
    if (!seq_ok(c, src) || !seq_ok(c, dst) || src == dst) {
        return false;
    }
    return guard<bool>(nullptr, false, [&] {
        llama_memory_seq_cp(llama_get_memory(c->ctx), src, dst, p0, p1);
        return true;
    });
}

int32_t la_seq_pos_min(la_context * c, int32_t seq) {
    return seq_ok(c, seq) ? llama_memory_seq_pos_min(llama_get_memory(c->ctx), seq) : -1;
}

int32_t la_seq_pos_max(la_context * c, int32_t seq) {
    return seq_ok(c, seq) ? llama_memory_seq_pos_max(llama_get_memory(c->ctx), seq) : -1;
}

bool la_can_shift(la_context * c) { return llama_memory_can_shift(llama_get_memory(c->ctx)); }
void la_memory_clear(la_context * c) { llama_memory_clear(llama_get_memory(c->ctx), true); }

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
    return n;
}

// --- sampling ---

la_sampler * la_sampler_new(la_model * m, la_sampler_params p, char * err) {
    return guard<la_sampler *>(err, nullptr, [&]() -> la_sampler * {
        common_params_sampling sp;
        sp.seed = p.seed;
        sp.temp = p.temperature;
        sp.top_k = p.top_k;
        sp.top_p = p.top_p;
        sp.min_p = p.min_p;
        sp.penalty_repeat = p.repeat_penalty;
        sp.penalty_last_n = p.repeat_last_n;
        sp.no_perf = true;
        // The order of llama.cpp's defaults, without the samplers that are off here.
        sp.samplers.clear();
        if (p.repeat_penalty != 1.0f && p.repeat_last_n != 0) {
            sp.samplers.push_back(COMMON_SAMPLER_TYPE_PENALTIES);
        }
        if (p.temperature > 0) {
            sp.samplers.push_back(COMMON_SAMPLER_TYPE_TOP_K);
            sp.samplers.push_back(COMMON_SAMPLER_TYPE_TOP_P);
            sp.samplers.push_back(COMMON_SAMPLER_TYPE_MIN_P);
        }
        sp.samplers.push_back(COMMON_SAMPLER_TYPE_TEMPERATURE);
        if (p.grammar != nullptr && p.grammar[0] != 0) {
            sp.grammar = common_grammar((common_grammar_type) p.grammar_type, p.grammar);
            sp.grammar_lazy = p.grammar_lazy;
        }
        if (p.generation_prompt != nullptr) {
            sp.generation_prompt = p.generation_prompt;
        }
        auto one_token = [&](const std::string & text) -> llama_token {
            auto ids = common_tokenize(m->vocab, text, false, true);
            return ids.size() == 1 ? ids[0] : LLAMA_TOKEN_NULL;
        };
        if (p.preserved != nullptr) {
            for (const auto & t : json::parse(p.preserved)) {
                auto id = one_token(t.get<std::string>());
                if (id != LLAMA_TOKEN_NULL) {
                    sp.preserved_tokens.insert(id);
                }
            }
        }
        if (p.triggers != nullptr) {
            for (const auto & t : json::parse(p.triggers)) {
                common_grammar_trigger trigger;
                trigger.type = (common_grammar_trigger_type) t.at("type").get<int>();
                trigger.value = t.at("value").get<std::string>();
                trigger.token = t.at("token").get<int>();
                if (trigger.type == COMMON_GRAMMAR_TRIGGER_TYPE_WORD) {
                    // A word that is one preserved token triggers as that token: faster, and it cannot be split.
                    auto id = one_token(trigger.value);
                    if (id != LLAMA_TOKEN_NULL && sp.preserved_tokens.count(id) > 0) {
                        trigger.type = COMMON_GRAMMAR_TRIGGER_TYPE_TOKEN;
                        trigger.token = id;
                    }
                }
                sp.grammar_triggers.push_back(trigger);
            }
        }
        common_sampler * s = common_sampler_init(m->model, sp);
        if (s == nullptr) {
            set_err(err, "llama.cpp refused the grammar");
            return nullptr;
        }
        auto * out = new la_sampler();
        out->smpl = s;
        out->n_vocab = m->n_vocab;
        return out;
    });
}

void la_sampler_free(la_sampler * s) {
    if (s != nullptr) {
        common_sampler_free(s->smpl);
        delete s;
    }
}

int32_t la_sampler_sample(la_sampler * s, la_context * c, int32_t i, char * err) {
    return guard<int32_t>(err, -1, [&] {
        if (llama_get_logits_ith(c->ctx, i) == nullptr) {
            set_err(err, "row " + std::to_string(i) + " has no logits");
            return -1;
        }
        // The grammar is tried on the sampled token first and on the whole vocabulary only when it rejects that one.
        llama_token id = common_sampler_sample(s->smpl, c->ctx, i, false);
        common_sampler_accept(s->smpl, id, true);
        return (int32_t) id;
    });
}

// bound_schema gives every string and array a limit, so that no reply can go on for ever.
static void bound_schema(json & s, int max_string, int max_items) {
    if (s.is_array()) {
        for (auto & v : s) {
            bound_schema(v, max_string, max_items);
        }
        return;
    }
    if (!s.is_object()) {
        return;
    }
    auto type = s.contains("type") && s["type"].is_string() ? s["type"].get<std::string>() : "";
    // The grammar parser refuses long repetitions, so a larger bound of the schema is narrowed too.
    if (s.contains("maxLength") && s["maxLength"].is_number_integer() && s["maxLength"].get<int64_t>() > max_string) {
        s["maxLength"] = max_string;
    }
    if (type == "string" && !s.contains("maxLength") && !s.contains("enum") && !s.contains("const") && !s.contains("pattern") &&
        !s.contains("format")) {
        s["maxLength"] = max_string;
    }
    if (type == "array" && !s.contains("maxItems")) {
        s["maxItems"] = max_items;
    }
    for (const char * key : {"items", "prefixItems", "anyOf", "oneOf", "allOf", "additionalProperties"}) {
        if (s.contains(key)) {
            bound_schema(s[key], max_string, max_items);
        }
    }
    for (const char * key : {"properties", "$defs", "definitions"}) {
        if (s.contains(key) && s[key].is_object()) {
            for (auto & kv : s[key].items()) {
                bound_schema(kv.value(), max_string, max_items);
            }
        }
    }
}

static void replace_all(std::string & text, const std::string & from, const std::string & to) {
    for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
        text.replace(at, from.size(), to);
    }
}

char * la_schema_to_grammar(const char * schema, int32_t max_string, int32_t max_items, char * err) {
    return guard<char *>(err, nullptr, [&] {
        json s = json::parse(schema);
        bound_schema(s, max_string, max_items);
        auto g = "\n" + json_schema_to_grammar(common_json::parse(s.dump()), true);
        // Compact output: blanks between tokens cost time, and a weak model can fall into them. Strings and lists of
        // untyped values get the same bounds.
        const auto reps = "{0," + std::to_string(max_items) + "}";
        replace_all(g, "\nspace ::= | \" \" | \"\\n\"{1,2} [ \\t]{0,20}\n", "\nspace ::= \"\"\n");
        replace_all(g, "\nstring ::= \"\\\"\" char* \"\\\"\"", "\nstring ::= \"\\\"\" char{0," + std::to_string(max_string) + "} \"\\\"\"");
        replace_all(g, "string \":\" space value)*", "string \":\" space value)" + reps);
        replace_all(g, "(\",\" space value)*", "(\",\" space value)" + reps);
        return dup(g.substr(1));
    });
}

// --- chat ---

la_chat * la_chat_new(la_model * m, const char * template_override, char * err) {
    return guard<la_chat *>(err, nullptr, [&] {
        auto * c = new la_chat();
        try {
            c->templates = common_chat_templates_init(m->model, template_override == nullptr ? "" : template_override);
        } catch (...) {
            delete c;
            throw;
        }
        c->add_bos = llama_vocab_get_add_bos(m->vocab);
        c->add_eos = llama_vocab_get_add_eos(m->vocab);
        return c;
    });
}

void la_chat_free(la_chat * c) { delete c; }

char * la_chat_caps(la_chat * c, char * err) {
    return guard<char *>(err, nullptr, [&] {
        json out;
        out["explicit"] = common_chat_templates_was_explicit(c->templates.get());
        out["source"] = common_chat_templates_source(c->templates.get());
        json supports = json::object();
        for (const auto & kv : common_chat_templates_get_caps(c->templates.get())) {
            supports[kv.first] = kv.second;
        }
        out["supports"] = supports;
        return dup(out.dump(-1, ' ', false, json::error_handler_t::replace));
    });
}

char * la_chat_apply(la_chat * c, const char * request, char * err) {
    return guard<char *>(err, nullptr, [&] {
        common_json req = common_json::parse(request);
        json own = json::parse(request);
        common_chat_templates_inputs in;
        in.messages = common_chat_msgs_parse_oaicompat(req.at("messages"));
        if (own.contains("tools")) {
            in.tools = common_chat_tools_parse_oaicompat(req.at("tools"));
        }
        in.tool_choice = common_chat_tool_choice_parse_oaicompat(own.value("tool_choice", "auto"));
        if (own.contains("json_schema")) {
            in.json_schema = own["json_schema"].dump();
        }
        in.enable_thinking = own.value("enable_thinking", false);
        in.parallel_tool_calls = own.value("parallel_tool_calls", false);
        in.reasoning_format = COMMON_REASONING_FORMAT_DEEPSEEK;
        in.add_bos = c->add_bos;
        in.add_eos = c->add_eos;
        in.now = std::chrono::system_clock::time_point(std::chrono::seconds(own.value("now", (int64_t) 0)));
        auto p = common_chat_templates_apply(c->templates.get(), in);
        json out;
        out["prompt"] = p.prompt;
        out["grammar"] = p.grammar;
        out["grammar_lazy"] = p.grammar_lazy;
        json triggers = json::array();
        for (const auto & t : p.grammar_triggers) {
            triggers.push_back({{"type", (int) t.type}, {"value", t.value}, {"token", (int) t.token}});
        }
        out["triggers"] = triggers;
        out["generation_prompt"] = p.generation_prompt;
        out["preserved"] = p.preserved_tokens;
        out["stops"] = p.additional_stops;
        out["format"] = (int) p.format;
        out["parser"] = p.parser;
        out["supports_thinking"] = p.supports_thinking;
        out["thinking_start"] = p.thinking_start_tag;
        return dup(out.dump(-1, ' ', false, json::error_handler_t::replace));
    });
}

char * la_chat_parse(const char * spec, const char * text, bool partial, bool parse_tool_calls, char * err) {
    return guard<char *>(err, nullptr, [&] {
        json s = json::parse(spec);
        common_chat_parser_params p;
        p.format = (common_chat_format) s.value("format", 0);
        p.reasoning_format = COMMON_REASONING_FORMAT_DEEPSEEK;
        p.generation_prompt = s.value("generation_prompt", "");
        p.parse_tool_calls = parse_tool_calls;
        auto parser = s.value("parser", "");
        if (!parser.empty()) {
            p.parser.load(parser);
        }
        auto msg = common_chat_parse(text, partial, p);
        json out;
        out["content"] = msg.content;
        out["reasoning"] = msg.reasoning_content;
        json calls = json::array();
        for (const auto & t : msg.tool_calls) {
            calls.push_back({{"id", t.id}, {"name", t.name}, {"arguments", t.arguments}});
        }
        out["tool_calls"] = calls;
        return dup(out.dump(-1, ' ', false, json::error_handler_t::replace));
    });
}

} // extern "C"
