//go:build cgo && !nollama

#include "shim_internal.h"

static bool range_ok(la_context * c, int32_t seq, int32_t p0, int32_t p1, char * err) {
    if (c == nullptr || seq < 0 || (uint32_t) seq >= c->n_seq_max || p0 < 0 || p1 <= p0 || (uint32_t) (p1 - p0) > llama_n_ctx(c->ctx)) {
        set_err(err, "a bad sequence or range of positions");
        return false;
    }
    if (c->memory == LA_MEMORY_WHOLE || (c->memory == LA_MEMORY_MIXED && c->window)) {
        set_err(err, "the model's memory does not give a part of a sequence");
        return false;
    }
    return true;
}

static bool has_tail(const la_context * c) { return c->memory == LA_MEMORY_STATE || c->memory == LA_MEMORY_MIXED; }

// ends_at reports whether a sequence ends before a position, its running state included.
static bool ends_at(la_context * c, llama_seq_id seq, int32_t p1) {
    auto * mem = llama_get_memory(c->ctx);
    return llama_memory_seq_pos_max(mem, seq) == p1 - 1 && (!has_tail(c) || llama_memory_seq_pos_min(mem, seq) == p1 - 1);
}

// scratch_holds reports whether the scratch sequence begins and ends at these positions.
static bool scratch_holds(la_context * c, int32_t p0, int32_t p1) {
    return ends_at(c, scratch(c), p1) && (has_tail(c) || llama_memory_seq_pos_min(llama_get_memory(c->ctx), scratch(c)) == p0);
}

// What a state of one sequence begins with: a magic number and the sequence, then the number of streams (one, because the cache
// is unified) and of cells, or, of a running state, the number of states (one) and the position that it is at. llama.cpp
// allocates what the counts say before it looks further.
static constexpr size_t state_header = 4 * sizeof(uint32_t);

static bool header_is(const uint8_t * in, size_t len, uint32_t third, uint32_t fourth) {
    uint32_t head[4];
    static_assert(sizeof head == state_header, "the header is four numbers");
    if (in == nullptr || len <= state_header) {
        return false;
    }
    memcpy(head, in, sizeof head);
    return head[2] == third && head[3] == fourth;
}

static bool is_range(const la_context * c, const uint8_t * in, size_t len, int32_t p0, int32_t p1) {
    return header_is(in, len, 1, (uint32_t) (c->memory == LA_MEMORY_STATE ? p1 - 1 : p1 - p0));
}

// is_tail knows no more of the states of layers with a window than that they begin with at least one cell.
static bool is_tail(const la_context * c, const uint8_t * in, size_t len, int32_t end) {
    if (c->window) {
        uint32_t cells = 0;
        if (in != nullptr && len > state_header) {
            memcpy(&cells, in + 3 * sizeof(uint32_t), sizeof cells);
        }
        return cells > 0 && cells <= (uint32_t) end && header_is(in, len, 1, cells);
    }
    return header_is(in, len, 1, (uint32_t) (end - 1));
}

// copy_state copies a state of a sequence; the caller frees it.
static uint8_t * copy_state(la_context * c, llama_seq_id seq, llama_state_seq_flags flags, size_t * size, char * err) {
    const size_t n = llama_state_seq_get_size_ext(c->ctx, seq, flags);
    uint8_t * out = n == 0 ? nullptr : (uint8_t *) malloc(n);
    if (out == nullptr) {
        set_err(err, n == 0 ? "the model's memory does not give a part of a sequence" : "out of memory");
        return nullptr;
    }
    if (llama_state_seq_get_data_ext(c->ctx, out, n, seq, flags) != n) {
        free(out);
        set_err(err, "the state has an unknown form");
        return nullptr;
    }
    *size = n;
    return out;
}

static bool set_tail(la_context * c, llama_seq_id seq, const uint8_t * in, size_t len) {
    return llama_state_seq_set_data_ext(c->ctx, in, len, seq, LLAMA_STATE_SEQ_FLAGS_PARTIAL_ONLY) == len;
}

extern "C" {

uint8_t * la_tail_get(la_context * c, int32_t seq, size_t * size, char * err) {
    *size = 0;
    if (c == nullptr || seq < 0 || (uint32_t) seq >= c->n_seq_max || !has_tail(c)) {
        set_err(err, "a bad sequence, or a memory without a running state");
        return nullptr;
    }
    return guard<uint8_t *>(err, nullptr, [&]() -> uint8_t * {
        const int32_t end = llama_memory_seq_pos_max(llama_get_memory(c->ctx), seq) + 1;
        if (end < 1 || !ends_at(c, seq, end)) {
            set_err(err, "the sequence has no state at its end");
            return nullptr;
        }
        uint8_t * out = copy_state(c, seq, LLAMA_STATE_SEQ_FLAGS_PARTIAL_ONLY, size, err);
        if (out != nullptr && !is_tail(c, out, *size, end)) {
            free(out);
            set_err(err, "the state has an unknown form");
            return nullptr;
        }
        return out;
    });
}

int32_t la_tail_set(la_context * c, int32_t src, int32_t dst, int32_t end, const uint8_t * in, size_t len, char * err) {
    if (c == nullptr || !has_tail(c) || dst < 0 || (uint32_t) dst >= c->n_seq_max || src < -1 || src >= (int32_t) c->n_seq_max || end < 1 ||
        (src < 0 && c->memory != LA_MEMORY_STATE)) {
        set_err(err, "bad sequences, or a memory without a running state");
        return -1;
    }
    auto * mem = llama_get_memory(c->ctx);
    const int32_t rc = guard<int32_t>(err, -1, [&] {
        if (!is_tail(c, in, len, end)) {
            set_err(err, "not a state of this position");
            return -1;
        }
        if (c->memory == LA_MEMORY_MIXED && llama_memory_seq_pos_max(mem, src) < end - 1) {
            set_err(err, "the source does not hold these positions");
            return -1;
        }
        // The cells of dst may be those of the source: they wait in the scratch sequence while dst is emptied.
        llama_memory_seq_rm(mem, scratch(c), -1, -1);
        if (c->memory == LA_MEMORY_MIXED) {
            llama_memory_seq_cp(mem, src, scratch(c), 0, end);
        }
        llama_memory_seq_rm(mem, dst, -1, -1);
        if (guarded(c)) {
            llama_memory_seq_rm(mem, guard_of(c, dst), -1, -1);
        }
        if (c->memory == LA_MEMORY_MIXED) {
            llama_memory_seq_cp(mem, scratch(c), dst, -1, -1);
        }
        if (!set_tail(c, dst, in, len)) {
            set_err(err, "llama.cpp refused the state");
            return -1;
        }
        if (!ends_at(c, dst, end)) {
            set_err(err, "the state is one of another position");
            return -1;
        }
        if (guarded(c)) {
            llama_memory_seq_cp(mem, dst, guard_of(c, dst), -1, -1);
        }
        return 0;
    });
    llama_memory_seq_rm(mem, scratch(c), -1, -1);
    if (rc != 0) {
        llama_memory_seq_rm(mem, dst, -1, -1);
        if (guarded(c)) {
            llama_memory_seq_rm(mem, guard_of(c, dst), -1, -1);
        }
    }
    return rc;
}

uint8_t * la_range_get(la_context * c, int32_t seq, int32_t p0, int32_t p1, const uint8_t * tail, size_t tail_len, size_t * size, char * err) {
    *size = 0;
    if (!range_ok(c, seq, p0, p1, err)) {
        return nullptr;
    }
    if (has_tail(c) != (tail != nullptr) || (tail != nullptr && !is_tail(c, tail, tail_len, p1))) {
        set_err(err, "not the running state of this position");
        return nullptr;
    }
    auto * mem = llama_get_memory(c->ctx);
    uint8_t * got = guard<uint8_t *>(err, nullptr, [&]() -> uint8_t * {
        if (!has_tail(c) && (llama_memory_seq_pos_min(mem, seq) > p0 || llama_memory_seq_pos_max(mem, seq) < p1 - 1)) {
            set_err(err, "the sequence does not hold these positions");
            return nullptr;
        }
        llama_memory_seq_rm(mem, scratch(c), -1, -1);
        if (c->memory != LA_MEMORY_STATE) {
            llama_memory_seq_cp(mem, seq, scratch(c), p0, p1);
        }
        if (tail != nullptr && !set_tail(c, scratch(c), tail, tail_len)) {
            set_err(err, "llama.cpp refused the running state");
            return nullptr;
        }
        if (!scratch_holds(c, p0, p1)) {
            set_err(err, "the model's memory does not give a part of a sequence");
            return nullptr;
        }
        uint8_t * out = copy_state(c, scratch(c), 0, size, err);
        if (out != nullptr && !is_range(c, out, *size, p0, p1)) {
            free(out);
            set_err(err, "the state has an unknown form");
            return nullptr;
        }
        return out;
    });
    llama_memory_seq_rm(mem, scratch(c), -1, -1);
    return got;
}

int32_t la_range_set(la_context * c, int32_t seq, int32_t p0, int32_t p1, const uint8_t * in, size_t len, char * err) {
    if (!range_ok(c, seq, p0, p1, err)) {
        return -1;
    }
    if (!is_range(c, in, len, p0, p1)) {
        set_err(err, "not a state of these positions");
        return -1;
    }
    auto * mem = llama_get_memory(c->ctx);
    if (c->memory != LA_MEMORY_STATE && llama_memory_seq_pos_max(mem, seq) != p0 - 1) {
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
            set_err(err, "the state is one of other positions, or not of all of them");
            return -1;
        }
        llama_memory_seq_cp(mem, scratch(c), seq, -1, -1);
        if (guarded(c)) {
            llama_memory_seq_cp(mem, scratch(c), guard_of(c, seq), -1, -1);
        }
        return 0;
    });
    llama_memory_seq_rm(mem, scratch(c), -1, -1);
    return rc;
}

} // extern "C"
