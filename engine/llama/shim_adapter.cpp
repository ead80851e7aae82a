//go:build cgo && !nollama

#include "shim_internal.h"

#include <vector>

// la_adapter is what llama.cpp gives; the model owns it.
static llama_adapter_lora * inner(la_adapter * a) { return reinterpret_cast<llama_adapter_lora *>(a); }

extern "C" {

la_adapter * la_adapter_load(la_model * m, const char * path, char * err) {
    if (m == nullptr) {
        set_err(err, "closed");
        return nullptr;
    }
    return guard<la_adapter *>(err, nullptr, [&]() -> la_adapter * {
        auto * a = llama_adapter_lora_init(m->model, path);
        if (a == nullptr) {
            set_err(err, "llama.cpp could not load the adapter");
        }
        return reinterpret_cast<la_adapter *>(a);
    });
}

int32_t la_set_adapters(la_context * c, la_adapter ** adapters, const float * scales, int32_t n, char * err) {
    if (c == nullptr || n < 0) {
        set_err(err, "closed");
        return -1;
    }
    return guard<int32_t>(err, -1, [&] {
        std::vector<llama_adapter_lora *> list;
        std::vector<float> factors(scales, scales + n);
        for (int32_t i = 0; i < n; i++) {
            if (adapters[i] == nullptr) {
                set_err(err, "closed");
                return -1;
            }
            list.push_back(inner(adapters[i]));
        }
        if (llama_set_adapters_lora(c->ctx, list.data(), list.size(), factors.data()) != 0) {
            set_err(err, "llama.cpp refused the adapters");
            return -1;
        }
        return 0;
    });
}

} // extern "C"
