//go:build cgo && !nollama

#include "shim_internal.h"

#include <chrono>

#include "nlohmann/json.hpp"

using json = nlohmann::ordered_json;

extern "C" {

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

char * la_chat_parse(const char * spec, const char * text, size_t len, bool partial, bool parse_tool_calls, char * err) {
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
        auto msg = common_chat_parse(std::string(text, len), partial, p);
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
