//go:build cgo && !nollama

#include "shim_internal.h"

#include <cmath>
#include <memory>
#include <stdexcept>

#include "json-schema-to-grammar.h"

#include "nlohmann/json.hpp"

using json = nlohmann::ordered_json;

extern "C" {

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
        out->vocab = m->vocab;
        out->n_vocab = m->n_vocab;
        int32_t n_suppressed = 0;
        llama_vocab_get_suppress_tokens(m->vocab, &n_suppressed);
        out->argmax = p.temperature <= 0 && sp.grammar.empty() && sp.samplers.size() == 1 && n_suppressed == 0;
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
        if (s->broken) {
            set_err(err, "the sampler is broken by a token that its grammar refused");
            return -1;
        }
        if (la_logits(c, i) == nullptr) {
            set_err(err, "row " + std::to_string(i) + " has no logits");
            return -1;
        }
        if (s->argmax) {
            // The sampler chain would first copy the whole vocabulary, which is 2 % of a token's time on a small model.
            const float * logits = la_logits(c, i);
            return (int32_t) (std::max_element(logits, logits + s->n_vocab) - logits);
        }
        // The grammar is tried on the sampled token first and on the whole vocabulary only when it rejects that one.
        llama_token id = common_sampler_sample(s->smpl, c->ctx, i, false);
        common_sampler_accept(s->smpl, id, true);
        return (int32_t) id;
    });
}

int32_t la_sampler_accept(la_sampler * s, int32_t token, char * err) {
    // An end that the grammar does not allow yet would abort the process.
    if (s->broken || token < 0 || token >= s->n_vocab || llama_vocab_is_eog(s->vocab, token)) {
        set_err(err, s->broken ? "the sampler is broken by a token that its grammar refused" : "not a token of text");
        return -1;
    }
    const int32_t rc = guard<int32_t>(err, -1, [&] {
        common_sampler_accept(s->smpl, token, true);
        return 0;
    });
    s->broken = rc != 0;
    return rc;
}

int32_t la_grammar_accepts(la_model * m, const char * grammar, const char * text, size_t len, char * err) {
    return guard<int32_t>(err, -1, [&] {
        std::unique_ptr<llama_sampler, decltype(&llama_sampler_free)> g(llama_sampler_init_grammar(m->vocab, grammar, "root"), llama_sampler_free);
        if (g == nullptr) {
            set_err(err, "llama.cpp refused the grammar");
            return -1;
        }
        auto allowed = [&](llama_token id) {
            llama_token_data one{id, 1.0f, 0.0f};
            llama_token_data_array all{&one, 1, -1, false};
            llama_sampler_apply(g.get(), &all);
            return !std::isinf(one.logit);
        };
        for (llama_token id : common_tokenize(m->vocab, std::string(text, len), false, false)) {
            if (!allowed(id)) {
                return 0;
            }
            llama_sampler_accept(g.get(), id);
        }
        return allowed(llama_vocab_eos(m->vocab)) ? 1 : 0;
    });
}

// What llama.cpp's grammar parser takes: it refuses a repetition of 2000 rules and more, and items have several. It also
// writes to the terminal then, so schemas that demand more are refused before.
static const int64_t max_grammar_string = 1999;
static const int64_t max_grammar_items = 500;

static bool may_be(const json & schema, const char * type) {
    const auto t = schema.find("type");
    return t != schema.end() && (*t == type || (t->is_array() && std::find(t->begin(), t->end(), json(type)) != t->end()));
}

// bound sets the largest size of a string or array: what the schema says, or otherwise, but no more than most, unless the
// schema demands more.
static void bound(json & schema, const char * min_key, const char * max_key, int64_t otherwise, int64_t most, int64_t possible) {
    const int64_t least = schema.contains(min_key) && schema[min_key].is_number_integer() ? schema[min_key].get<int64_t>() : 0;
    if (least > possible) {
        throw std::invalid_argument(std::string(min_key) + " of " + std::to_string(least) + " is more than " + std::to_string(possible));
    }
    if (schema.contains(max_key) && schema[max_key].is_number_integer()) {
        otherwise = std::min(schema[max_key].get<int64_t>(), most);
    }
    schema[max_key] = std::max(least, otherwise);
}

// bound_schema gives every string and array without a limit of its own one, so that no reply can go on for ever.
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
    if (s.contains("pattern") && s["pattern"].is_string()) {
        // The converter takes any string for these, and writes a warning to the terminal.
        const auto p = s["pattern"].get<std::string>();
        if (p.size() < 2 || p.front() != '^' || p.back() != '$') {
            s.erase("pattern");
        }
    }
    if (may_be(s, "string") && !s.contains("enum") && !s.contains("const") && !s.contains("pattern")) {
        bound(s, "minLength", "maxLength", max_string, max_string, max_grammar_string);
    }
    if (may_be(s, "array")) {
        bound(s, "minItems", "maxItems", max_items, max_grammar_items, max_grammar_items);
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

// bound_keys bounds the names of properties that a schema does not list.
static void bound_keys(std::string & g, int max_string) {
    const auto rest = std::to_string(std::max(max_string - 1, 1)) + "}"; // the rule spells the first character out
    for (size_t at = 0; (at = g.find("additional-k ::= ", at)) != std::string::npos;) {
        const size_t end = std::min(g.find('\n', at), g.size());
        std::string rule = g.substr(at, end - at);
        replace_all(rule, "char*", "char{0," + rest);
        replace_all(rule, "char+", "char{1," + rest);
        g.replace(at, end - at, rule);
        at += rule.size();
    }
}

char * la_schema_to_grammar(const char * schema, int32_t max_string, int32_t max_items, char * err) {
    return guard<char *>(err, nullptr, [&] {
        json s = json::parse(schema);
        bound_schema(s, max_string, max_items);
        auto g = "\n" + json_schema_to_grammar(common_json::parse(s.dump()), true);
        // Compact output: blanks between tokens cost time, and a weak model can fall into them. What the schema leaves
        // untyped gets the same bounds. The first item of a list is not part of the repetition.
        const auto chars = "{0," + std::to_string(max_string) + "}", items = "{0," + std::to_string(std::max(max_items - 1, 0)) + "}";
        replace_all(g, "\nspace ::= | \" \" | \"\\n\"{1,2} [ \\t]{0,20}\n", "\nspace ::= \"\"\n");
        replace_all(g, "\nstring ::= \"\\\"\" char* \"\\\"\"", "\nstring ::= \"\\\"\" char" + chars + " \"\\\"\"");
        replace_all(g, "string \":\" space value)*", "string \":\" space value)" + items);
        replace_all(g, "(\",\" space value)*", "(\",\" space value)" + items);
        replace_all(g, "additional-kv )*", "additional-kv )" + items);
        bound_keys(g, max_string);
        return dup(g.substr(1));
    });
}

} // extern "C"
