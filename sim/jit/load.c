/* Loads of a word, where in each half of the warp the addresses are consecutive or equal: as the
 * interpreter's fast path (ops/op_mem.c, `halves`), built into the region, so that registers stay where they
 * are. It reads memory only when all lanes are inside one allocation, or shared memory, and aligned; whatever
 * is not so is the handler's business, traps included. Where some lanes only load, the registers of the
 * others must hold such addresses, too, as they do where lanes part behind the address: all words are read,
 * and those lanes keep what they have. SPDX-License-Identifier: MIT */
#include "sim/jit/body.h"

enum { HALF_BYTES = 64 };

static LLVMValueRef compare(Body *body, LLVMIntPredicate how, LLVMValueRef x, LLVMValueRef y) {
    return LLVM(body)->BuildICmp(BUILDER(body), how, x, y, "");
}
static LLVMValueRef both(Body *body, LLVMValueRef x, LLVMValueRef y) {
    return body_binary(body, LLVMAnd, x, y);
}
static LLVMValueRef widened(Body *body, LLVMValueRef x) {
    return LLVM(body)->BuildCast(BUILDER(body), LLVMZExt, x, body->emit.types.quad, "");
}
static LLVMValueRef row_element(Body *body, LLVMValueRef row, unsigned lane) {
    return LLVM(body)->BuildExtractElement(BUILDER(body), row, body_const32(body, lane), "");
}

/* Each lane's difference from the first lane of its half. */
static LLVMValueRef differences(Body *body, LLVMValueRef row) {
    LLVMValueRef first[32];
    for (unsigned i = 0; i < 32; i++)
        first[i] = body_const32(body, i & 16);
    LLVMValueRef poison = LLVM(body)->GetPoison(body_row_type(body));
    LLVMValueRef base =
        LLVM(body)->BuildShuffleVector(BUILDER(body), row, poison, LLVM(body)->ConstVector(first, 32), "");
    return body_binary(body, LLVMSub, row, base);
}
static LLVMValueRef all_equal(Body *body, LLVMValueRef row, unsigned step) {
    LLVMValueRef want[32];
    for (unsigned i = 0; i < 32; i++)
        want[i] = body_const32(body, (i & 15) * step);
    LLVMValueRef same = compare(body, LLVMIntEQ, row, LLVM(body)->ConstVector(want, 32));
    return compare(body, LLVMIntEQ, body_mask_of(body, same), body_const32(body, ~0u));
}

typedef struct { /* guest memory, and where it is */
    LLVMValueRef start, limit, data;
} Place;
static Place guest_place(Body *body, uint32_t pc) {
    EmitTypes *types = &body->emit.types;
    const Dec *dec = region_known(body->run, pc);
    if (dec->imm[1] == MS_SHARED) {
        LLVMValueRef start =
            body_get(body, types->word, body_at(body, body->run_state, offsetof(Run, shared_base)));
        LLVMValueRef end =
            body_get(body, types->word, body_at(body, body->run_state, offsetof(Run, fast_shared_end)));
        LLVMValueRef cta = body_get(body, types->pointer, body_at(body, body->warp, offsetof(Warp, cta)));
        LLVMValueRef shared = body_get(body, types->pointer, body_at(body, cta, offsetof(Cta, shared)));
        start = widened(body, start);
        LLVMValueRef data = LLVM(body)->BuildGEP2(BUILDER(body), types->byte, shared, &start, 1, "");
        return (Place){start, body_binary(body, LLVMSub, widened(body, end), start), data};
    }
    LLVMValueRef at = body_at(body, body->prog, pc * sizeof(Dec) + offsetof(Dec, alloc));
    LLVMValueRef alloc = body_get(body, types->pointer, at);
    LLVMValueRef none = compare(body, LLVMIntEQ, alloc, LLVM(body)->ConstNull(types->pointer));
    LLVMValueRef nowhere = body_at(body, body->host, offsetof(JitHost, nowhere));
    alloc = LLVM(body)->BuildSelect(BUILDER(body), none, nowhere, alloc, "");
    return (Place){body_get(body, types->quad, body_at(body, alloc, offsetof(SimAlloc, address))),
                   body_get(body, types->quad, body_at(body, alloc, offsetof(SimAlloc, size_bytes))),
                   body_get(body, types->pointer, body_at(body, alloc, offsetof(SimAlloc, data)))};
}

/* The address of the first lane of a half. */
static LLVMValueRef half_address(Body *body, uint32_t pc, LLVMValueRef lo, LLVMValueRef hi, unsigned lane) {
    const Dec *dec = region_known(body->run, pc);
    LLVMValueRef a = widened(body, row_element(body, lo, lane)), by = body_const64(body, 32);
    if (hi)
        a = body_binary(body, LLVMOr, a,
                        body_binary(body, LLVMShl, widened(body, row_element(body, hi, lane)), by));
    a = body_binary(body, LLVMAdd, a, body_const64(body, (uint64_t)dec->target));
    if (dec->mem.uniform) {
        LLVMValueRef u = widened(body, row_element(body, body_source(body, pc, 1, 0), 0));
        if (dec->mem.uniform == 2) {
            LLVMValueRef high = widened(body, row_element(body, body_source(body, pc, 1, 1), 0));
            u = body_binary(body, LLVMOr, u, body_binary(body, LLVMShl, high, by));
        }
        a = body_binary(body, LLVMAdd, a, u);
    }
    bool whole = dec->wide || dec->mem.wide;
    return whole ? a : both(body, a, body_const64(body, UINT32_MAX));
}

/* Are `bytes` from `address` on inside the place? *at: where, in the host. */
static LLVMValueRef inside_place(Body *body, const Place *place, LLVMValueRef address, LLVMValueRef bytes,
                                 LLVMValueRef *at) {
    LLVMValueRef offset = body_binary(body, LLVMSub, address, place->start);
    LLVMValueRef room = compare(body, LLVMIntULE, bytes, place->limit);
    LLVMValueRef last = body_binary(body, LLVMSub, place->limit, bytes);
    *at = LLVM(body)->BuildGEP2(BUILDER(body), body->emit.types.byte, place->data, &offset, 1, "");
    return both(body, room, compare(body, LLVMIntULE, offset, last));
}

static LLVMValueRef joined(Body *body, LLVMValueRef low, LLVMValueRef high) {
    LLVMValueRef lanes[32];
    for (unsigned i = 0; i < 32; i++)
        lanes[i] = body_const32(body, i);
    return LLVM(body)->BuildShuffleVector(BUILDER(body), low, high, LLVM(body)->ConstVector(lanes, 32), "");
}
static LLVMValueRef consecutive(Body *body, LLVMValueRef at[2]) {
    LLVMTypeRef half = LLVM(body)->VectorType(body->emit.types.word, 16);
    LLVMValueRef x[2];
    for (unsigned i = 0; i < 2; i++) {
        x[i] = body_get(body, half, at[i]);
        LLVM(body)->SetAlignment(x[i], 4);
    }
    return joined(body, x[0], x[1]);
}
static LLVMValueRef repeated(Body *body, LLVMValueRef at[2]) {
    LLVMValueRef halves[32], row = LLVM(body)->GetPoison(body_row_type(body));
    for (unsigned i = 0; i < 2; i++) {
        LLVMValueRef x = body_get(body, body->emit.types.word, at[i]);
        LLVM(body)->SetAlignment(x, 4);
        row = LLVM(body)->BuildInsertElement(BUILDER(body), row, x, body_const32(body, i), "");
    }
    for (unsigned i = 0; i < 32; i++)
        halves[i] = body_const32(body, i >> 4);
    return LLVM(body)->BuildShuffleVector(BUILDER(body), row, LLVM(body)->GetPoison(body_row_type(body)),
                                          LLVM(body)->ConstVector(halves, 32), "");
}

/* Lanes of g of a row; NULL: all. */
static void put_lanes(Body *body, unsigned row, LLVMValueRef g, LLVMValueRef value) {
    if (g)
        value = LLVM(body)->BuildSelect(BUILDER(body), g, value,
                                        body_get(body, body_row_type(body), body->row[row]), "");
    LLVM(body)->BuildStore(BUILDER(body), value, body->row[row]);
}

bool load_of_word(const Dec *dec, AccessKind kind) {
    bool narrow = dec->imm[1] == MS_SHARED && !dec->wide, global = dec->imm[1] == MS_GLOBAL;
    bool space = isa_traits(dec->optype)->space & (ISA_SPACE_GLOBAL | ISA_SPACE_SHARED);
    return space && machine_mem_access_kind(dec->optype) == kind && dec->size == 4 && dec->mem.shift == 0 &&
           (narrow || global);
}
bool load_is_built(const Dec *dec) {
    return load_of_word(dec, ACC_LOAD) && dec->dst[0] / ROW_BYTES < ROW_SINK;
}

void load_code(Body *body, uint32_t pc, LLVMValueRef g, LLVMBasicBlockRef slow, LLVMBasicBlockRef done) {
    const JitApi *api = LLVM(body);
    const Dec *dec = region_known(body->run, pc);
    EmitTypes *types = &body->emit.types;
    unsigned to = dec->dst[0] / ROW_BYTES;
    LLVMValueRef lo = body_source(body, pc, 0, 0), hi = dec->wide ? body_source(body, pc, 0, 1) : NULL, at[2];
    LLVMValueRef off = differences(body, lo), in_step = all_equal(body, off, 4),
                 equal = all_equal(body, off, 0);
    LLVMValueRef fast = body_binary(body, LLVMOr, in_step, equal),
                 no_carry = body_const32(body, 0u - HALF_BYTES);
    if (hi)
        fast = both(body, fast, all_equal(body, differences(body, hi), 0));
    LLVMValueRef bytes =
        api->BuildSelect(BUILDER(body), in_step, body_const64(body, HALF_BYTES), body_const64(body, 4), "");
    Place place = guest_place(body, pc);
    for (unsigned i = 0; i < 2; i++) {
        LLVMValueRef a = half_address(body, pc, lo, hi, 16 * i);
        LLVMValueRef rest = both(body, a, body_const64(body, 3));
        fast = both(body, fast, compare(body, LLVMIntULE, row_element(body, lo, 16 * i), no_carry));
        fast = both(body, fast, compare(body, LLVMIntEQ, rest, body_const64(body, 0)));
        fast = both(body, fast, inside_place(body, &place, a, bytes, &at[i]));
    }
    LLVMTypeRef bit = types->lane[0][LT_I1];
    LLVMValueRef expect[2] = {fast, api->ConstInt(bit, 1, 0)};
    unsigned id = api->LookupIntrinsicID("llvm.expect", 11);
    fast = api->BuildCall2(BUILDER(body), api->IntrinsicGetType(body->emit.context, id, &bit, 1),
                           api->GetIntrinsicDeclaration(body->emit.module, id, &bit, 1), expect, 2, "");
    LLVMBasicBlockRef quick = body_block(body, "load"), rows = body_block(body, "row"),
                      one = body_block(body, "one");
    api->BuildCondBr(BUILDER(body), fast, quick, slow);
    api->PositionBuilderAtEnd(BUILDER(body), quick);
    api->BuildCondBr(BUILDER(body), in_step, rows, one);
    api->PositionBuilderAtEnd(BUILDER(body), rows);
    put_lanes(body, to, g, consecutive(body, at));
    api->BuildBr(BUILDER(body), done);
    api->PositionBuilderAtEnd(BUILDER(body), one);
    put_lanes(body, to, g, repeated(body, at));
    api->BuildBr(BUILDER(body), done);
}
