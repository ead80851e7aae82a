//go:build cgo && !nollama

#include "shim_internal.h"

// scratch is the sequence that no caller can name.
static llama_seq_id scratch(la_context * c) { return (llama_seq_id) c->n_seq_max; }

static bool range_ok(la_context * c, int32_t seq, int32_t p0, int32_t p1, char * err) {
    if (c == nullptr || seq < 0 || (uint32_t) seq >= c->n_seq_max || p0 < 0 || p1 <= p0 || (uint32_t) (p1 - p0) > llama_n_ctx(c->ctx)) {
        set_err(err, "a bad sequence or range of positions");
        return false;
    }
    return true;
}

// scratch_holds reports whether the scratch sequence begins and ends at these positions.
static bool scratch_holds(la_context * c, int32_t p0, int32_t p1) {
    auto * mem = llama_get_memory(c->ctx);
    return llama_memory_seq_pos_min(mem, scratch(c)) == p0 && llama_memory_seq_pos_max(mem, scratch(c)) == p1 - 1;
}

// What a state of one sequence begins with: a magic number and the sequence, the number of streams (one, because the cache
// is unified) and of cells. llama.cpp allocates what the last number says before it looks further.
static constexpr size_t state_header = 4 * sizeof(uint32_t);

static bool state_has_cells(const uint8_t * in, size_t len, uint32_t cells) {
    uint32_t head[4];
    static_assert(sizeof head == state_header, "the header is four numbers");
    if (in == nullptr || len <= state_header) {
        return false;
    }
    memcpy(head, in, sizeof head);
    return head[2] == 1 && head[3] == cells;
}

extern "C" {

uint8_t * la_range_get(la_context * c, int32_t seq, int32_t p0, int32_t p1, size_t * size, char * err) {
    *size = 0;
    if (!range_ok(c, seq, p0, p1, err)) {
        return nullptr;
    }
    auto * mem = llama_get_memory(c->ctx);
    uint8_t * out = nullptr;
    uint8_t * got = guard<uint8_t *>(err, nullptr, [&]() -> uint8_t * {
        if (llama_memory_seq_pos_min(mem, seq) > p0 || llama_memory_seq_pos_max(mem, seq) < p1 - 1) {
            set_err(err, "the sequence does not hold these positions");
            return nullptr;
        }
        llama_memory_seq_rm(mem, scratch(c), -1, -1);
        llama_memory_seq_cp(mem, seq, scratch(c), p0, p1);
        const size_t n = llama_state_seq_get_size_ext(c->ctx, scratch(c), 0);
        if (!scratch_holds(c, p0, p1) || n == 0) {
            set_err(err, "the model's memory does not give a part of a sequence");
            return nullptr;
        }
        out = (uint8_t *) malloc(n);
        if (out == nullptr) {
            set_err(err, "out of memory");
            return nullptr;
        }
        if (llama_state_seq_get_data_ext(c->ctx, out, n, scratch(c), 0) != n || !state_has_cells(out, n, (uint32_t) (p1 - p0))) {
            set_err(err, "the state has an unknown form");
            return nullptr;
        }
        *size = n;
        return out;
    });
    llama_memory_seq_rm(mem, scratch(c), -1, -1);
    if (got == nullptr) {
        free(out);
    }
    return got;
}

int32_t la_range_set(la_context * c, int32_t seq, int32_t p0, int32_t p1, const uint8_t * in, size_t len, char * err) {
    if (!range_ok(c, seq, p0, p1, err)) {
        return -1;
    }
    if (!state_has_cells(in, len, (uint32_t) (p1 - p0))) {
        set_err(err, "not a state of these positions");
        return -1;
    }
    auto * mem = llama_get_memory(c->ctx);
    if (llama_memory_seq_pos_max(mem, seq) != p0 - 1) {
        set_err(err, "the sequence does not end where the state begins");
        return -1;
    }
    const int32_t rc = guard<int32_t>(err, -1, [&] {
        llama_memory_seq_rm(mem, scratch(c), -1, -1);
        if (llama_state_seq_set_data_ext(c->ctx, in, len, scratch(c), 0) != len) {
            set_err(err, "llama.cpp refused the state");
            return 1; // nearly always for want of cells: the counts and the checksum were right
        }
        if (!scratch_holds(c, p0, p1)) {
            set_err(err, "the state is one of other positions");
            return -1;
        }
        llama_memory_seq_cp(mem, scratch(c), seq, -1, -1);
        return 0;
    });
    llama_memory_seq_rm(mem, scratch(c), -1, -1);
    return rc;
}

} // extern "C"
