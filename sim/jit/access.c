/* Loads and stores where in each half of the warp the addresses are consecutive or, of loads, equal: as the
 * interpreter's fast path (ops/op_mem.c, `halves`), built into the region, so that registers stay where they
 * are. Memory is touched only when all lanes are inside one allocation, or shared memory, and aligned;
 * whatever is not so is the handler's business, traps included. Where some lanes only take part, the
 * registers of the others must hold such addresses, too, as they do where lanes part behind the address: all
 * are read, and what those lanes have, or what is in memory for them, stays. SPDX-License-Identifier: MIT */
#include "sim/jit/body.h"

enum { HALF = 16 };

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
    LLVMValueRef alloc; /* NULL: shared memory */
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
        return (Place){start, body_binary(body, LLVMSub, widened(body, end), start), data, NULL};
    }
    LLVMValueRef at = body_at(body, body->prog, pc * sizeof(Dec) + offsetof(Dec, alloc));
    LLVMValueRef alloc = body_get(body, types->pointer, at);
    LLVMValueRef none = compare(body, LLVMIntEQ, alloc, LLVM(body)->ConstNull(types->pointer));
    LLVMValueRef nowhere = body_at(body, body->host, offsetof(JitHost, nowhere));
    alloc = LLVM(body)->BuildSelect(BUILDER(body), none, nowhere, alloc, "");
    return (Place){body_get(body, types->quad, body_at(body, alloc, offsetof(SimAlloc, address))),
                   body_get(body, types->quad, body_at(body, alloc, offsetof(SimAlloc, size_bytes))),
                   body_get(body, types->pointer, body_at(body, alloc, offsetof(SimAlloc, data))), alloc};
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

/* Are `bytes` from `address` on inside the place? *offset, *at: where, there and in the host. */
static LLVMValueRef inside_place(Body *body, const Place *place, LLVMValueRef address, LLVMValueRef bytes,
                                 LLVMValueRef *offset, LLVMValueRef *at) {
    *offset = body_binary(body, LLVMSub, address, place->start);
    LLVMValueRef room = compare(body, LLVMIntULE, bytes, place->limit);
    LLVMValueRef last = body_binary(body, LLVMSub, place->limit, bytes);
    *at = LLVM(body)->BuildGEP2(BUILDER(body), body->emit.types.byte, place->data, offset, 1, "");
    return both(body, room, compare(body, LLVMIntULE, *offset, last));
}

/* ---- what lies in memory, and what lanes have of it ---- */
typedef struct { /* of a lane */
    unsigned bytes, words;
    LLVMTypeRef element; /* a word, or the part of one */
} Item;
static Item item_of(Body *body, const Dec *dec) {
    Item item = {.bytes = dec->size, .words = dec->size < 4 ? 1 : dec->size / 4u};
    item.element = item.bytes < 4 ? LLVM(body)->IntTypeInContext(body->emit.context, 8 * item.bytes)
                                  : body->emit.types.word;
    return item;
}
static LLVMTypeRef half_type(Body *body, const Item *item) {
    return LLVM(body)->VectorType(item->element, HALF * item->words);
}
static unsigned item_alignment(const Item *item) { return item->bytes < 4 ? item->bytes : 4; }

static LLVMValueRef shuffled(Body *body, LLVMValueRef x, LLVMValueRef y, LLVMValueRef *lanes, unsigned n) {
    return LLVM(body)->BuildShuffleVector(BUILDER(body), x, y, LLVM(body)->ConstVector(lanes, n), "");
}
/* Word k of each lane, of what is there for 16 lanes each. */
static LLVMValueRef lane_words(Body *body, const Item *item, LLVMValueRef half[2], unsigned k) {
    LLVMValueRef lanes[32];
    for (unsigned i = 0; i < 32; i++)
        lanes[i] = body_const32(body, i * item->words + k);
    return shuffled(body, half[0], half[1], lanes, 32);
}
/* What lanes 16 * `which` on have in n rows, as it lies in memory. */
static LLVMValueRef half_words(Body *body, const Item *item, LLVMValueRef row[4], unsigned which) {
    LLVMValueRef lanes[HALF * 4], pair[2];
    unsigned n = item->words, pairs = n > 1 ? n / 2 : 1;
    for (unsigned k = 0; k < pairs; k++) {
        unsigned each = n > 1 ? 2 : 1;
        for (unsigned i = 0; i < HALF * each; i++)
            lanes[i] = body_const32(body, i % each * 32 + HALF * which + i / each);
        pair[k] = shuffled(body, row[2 * k], n > 1 ? row[2 * k + 1] : row[0], lanes, HALF * each);
    }
    if (n < 4)
        return pair[0];
    for (unsigned i = 0; i < HALF * 4; i++)
        lanes[i] = body_const32(body, (i & 2) * HALF + i / 4 * 2 + (i & 1));
    return shuffled(body, pair[0], pair[1], lanes, HALF * 4);
}

/* The word that a lane gets of a part. */
static LLVMValueRef part_extended(Body *body, const Dec *dec, const Item *item, LLVMValueRef row) {
    bool sign = dec->mem.kind == MemSz_S8 || dec->mem.kind == MemSz_S16;
    if (item->bytes >= 4)
        return row;
    return LLVM(body)->BuildCast(BUILDER(body), sign ? LLVMSExt : LLVMZExt, row, body_row_type(body), "");
}

/* An access of all of an item, which LLVM must not split: another thread may write the item meanwhile. */
static LLVMValueRef whole_items(Body *body, const Item *item, LLVMValueRef access) {
    LLVM(body)->SetAlignment(access, item_alignment(item));
    if (item->words > 1)
        LLVM(body)->SetVolatile(access, 1);
    return access;
}
static LLVMValueRef consecutive(Body *body, const Item *item, LLVMValueRef at) {
    return whole_items(body, item, body_get(body, half_type(body, item), at));
}
/* The one item of each half. */
static void repeated(Body *body, const Item *item, const LLVMValueRef at[2], LLVMValueRef out[2]) {
    const JitApi *api = LLVM(body);
    LLVMTypeRef type = api->VectorType(item->element, item->words);
    for (unsigned i = 0; i < 2; i++) {
        LLVMTypeRef whole = item->words == 2 ? body->emit.types.quad : type;
        out[i] = whole_items(body, item, body_get(body, whole, at[i]));
        if (item->words == 2)
            out[i] = api->BuildCast(BUILDER(body), LLVMBitCast, out[i], type, "");
    }
}
/* Word k of each lane, of one item for 16 lanes each. */
static LLVMValueRef repeated_words(Body *body, const Item *item, LLVMValueRef one[2], unsigned k) {
    LLVMValueRef lanes[32];
    for (unsigned i = 0; i < 32; i++)
        lanes[i] = body_const32(body, i / HALF * item->words + k);
    return shuffled(body, one[0], one[1], lanes, 32);
}

/* Lanes of g of a row; NULL: all. */
static void put_lanes(Body *body, unsigned row, LLVMValueRef g, LLVMValueRef value) {
    if (g)
        value = LLVM(body)->BuildSelect(BUILDER(body), g, value,
                                        body_get(body, body_row_type(body), body->row[row]), "");
    body_put(body, body->row[row], value);
}

/* ---- which of them, and where the halves are ---- */
static bool is_of_spaces(const Dec *dec, AccessKind kind) {
    const OpTraits *traits = isa_traits(dec->optype);
    bool narrow = dec->imm[1] == MS_SHARED && !dec->wide,
         wide = dec->imm[1] == MS_GLOBAL || dec->imm[1] == MS_GENERIC;
    return traits->space & (ISA_SPACE_GLOBAL | ISA_SPACE_SHARED) && traits->access_mod != ISA_NO_MOD &&
           machine_mem_access_kind(dec->optype) == kind && (narrow || (wide && !dec->mem.shift));
}
bool body_access_is_built(const Dec *dec) {
    bool loads = is_of_spaces(dec, ACC_LOAD), stores = is_of_spaces(dec, ACC_STORE);
    return dec->size && ((loads && dec->dst[0] / ROW_BYTES < ROW_SINK) || stores);
}
bool body_access_is_local(const Dec *dec) {
    const OpTraits *traits = isa_traits(dec->optype);
    AccessKind kind = machine_mem_access_kind(dec->optype);
    return traits->space & ISA_SPACE_LOCAL && traits->access_mod != ISA_NO_MOD && dec->imm[1] == MS_LOCAL &&
           dec->size >= 4 && !dec->mem.shift &&
           (kind == ACC_STORE || (kind == ACC_LOAD && dec->dst[0] / ROW_BYTES < ROW_SINK));
}
bool body_access_loads(const Dec *dec) { return machine_mem_access_kind(dec->optype) == ACC_LOAD; }
unsigned body_access_rows(const Dec *dec) { return dec->size < 4 ? 1 : dec->size / 4u; }

typedef struct {
    LLVMValueRef offset[2], at[2]; /* in the place, and in the host */
    LLVMValueRef in_step;
    Place place;
} Halves;

/* False (a condition) unless the halves of an access are found. */
static LLVMValueRef find_halves(Body *body, uint32_t pc, const Item *item, Halves *out) {
    const JitApi *api = LLVM(body);
    const Dec *dec = region_known(body->run, pc);
    bool stores = !body_access_loads(dec);
    LLVMValueRef lo = body_source(body, pc, 0, 0), hi = dec->wide ? body_source(body, pc, 0, 1) : NULL;
    if (dec->mem.shift)
        lo = body_binary(body, LLVMShl, lo, body_splat(body, body_const32(body, dec->mem.shift)));
    LLVMValueRef off = differences(body, lo), fast = all_equal(body, off, item->bytes),
                 no_carry = body_const32(body, 0u - HALF * item->bytes),
                 bytes = body_const64(body, (uint64_t)HALF * item->bytes);
    out->in_step = fast;
    if (!stores) {
        fast = body_binary(body, LLVMOr, fast, all_equal(body, off, 0));
        bytes = api->BuildSelect(BUILDER(body), out->in_step, bytes, body_const64(body, item->bytes), "");
    }
    if (hi)
        fast = both(body, fast, all_equal(body, differences(body, hi), 0));
    out->place = guest_place(body, pc);
    for (unsigned i = 0; i < 2; i++) {
        LLVMValueRef a = half_address(body, pc, lo, hi, HALF * i);
        fast = both(body, fast, compare(body, LLVMIntULE, row_element(body, lo, HALF * i), no_carry));
        if (item->bytes > 1) {
            LLVMValueRef rest = both(body, a, body_const64(body, item->bytes - 1));
            fast = both(body, fast, compare(body, LLVMIntEQ, rest, body_const64(body, 0)));
        }
        fast = both(body, fast, inside_place(body, &out->place, a, bytes, &out->offset[i], &out->at[i]));
    }
    return fast;
}

static LLVMValueRef expected(Body *body, LLVMValueRef condition) {
    const JitApi *api = LLVM(body);
    LLVMTypeRef bit = body->emit.types.lane[0][LT_I1];
    LLVMValueRef expect[2] = {condition, api->ConstInt(bit, 1, 0)};
    unsigned id = api->LookupIntrinsicID("llvm.expect", 11);
    return api->BuildCall2(BUILDER(body), api->IntrinsicGetType(body->emit.context, id, &bit, 1),
                           api->GetIntrinsicDeclaration(body->emit.module, id, &bit, 1), expect, 2, "");
}

/* ---- loads ---- */
static void load_code(Body *body, uint32_t pc, const Item *item, const Halves *halves, LLVMValueRef g,
                      LLVMBasicBlockRef done) {
    const JitApi *api = LLVM(body);
    const Dec *dec = region_known(body->run, pc);
    unsigned to = dec->dst[0] / ROW_BYTES;
    LLVMValueRef half[2], at[2] = {halves->at[0], halves->at[1]};
    LLVMBasicBlockRef rows = body_block(body, "row"), one = body_block(body, "one");
    api->BuildCondBr(BUILDER(body), halves->in_step, rows, one);
    api->PositionBuilderAtEnd(BUILDER(body), rows);
    for (unsigned i = 0; i < 2; i++)
        half[i] = consecutive(body, item, at[i]);
    for (unsigned k = 0; k < item->words; k++)
        put_lanes(body, to + k, g, part_extended(body, dec, item, lane_words(body, item, half, k)));
    api->BuildBr(BUILDER(body), done);
    api->PositionBuilderAtEnd(BUILDER(body), one);
    repeated(body, item, at, half);
    for (unsigned k = 0; k < item->words; k++)
        put_lanes(body, to + k, g, part_extended(body, dec, item, repeated_words(body, item, half, k)));
    api->BuildBr(BUILDER(body), done);
}

/* ---- stores ---- */
/* The conditions of 16 lanes, each n times. */
static LLVMValueRef half_lanes(Body *body, LLVMValueRef g, unsigned which, unsigned n) {
    LLVMValueRef lanes[HALF * 4];
    for (unsigned i = 0; i < HALF * n; i++)
        lanes[i] = body_const32(body, HALF * which + i / n);
    return shuffled(body, g, LLVM(body)->GetPoison(LLVM(body)->TypeOf(g)), lanes, HALF * n);
}

/* A bit for each byte that the lanes of g write. */
static LLVMValueRef marks_of(Body *body, const Item *item, LLVMValueRef g, unsigned which) {
    const JitApi *api = LLVM(body);
    LLVMTypeRef byte = body->emit.types.byte,
                marks = api->IntTypeInContext(body->emit.context, HALF * item->bytes);
    if (!g)
        return api->ConstInt(marks, ~0ull, 1);
    unsigned each = item->bytes < 8 ? 8 / item->bytes : 1; /* lanes, of a byte of marks */
    LLVMTypeRef lane = item->bytes <= 8 ? byte : api->IntTypeInContext(body->emit.context, item->bytes);
    LLVMValueRef all = api->BuildCast(BUILDER(body), LLVMSExt, half_lanes(body, g, which, 1),
                                      api->VectorType(lane, HALF), ""),
                 sum = NULL;
    for (unsigned k = 0; k < each && each > 1; k++) {
        LLVMValueRef lanes[HALF], bits[HALF], part;
        for (unsigned i = 0; i < HALF / each; i++) {
            lanes[i] = body_const32(body, i * each + k);
            bits[i] = api->ConstInt(byte, ((1u << item->bytes) - 1) << (k * item->bytes), 0);
        }
        part = shuffled(body, all, api->GetPoison(api->TypeOf(all)), lanes, HALF / each);
        part = both(body, part, api->ConstVector(bits, HALF / each));
        sum = sum ? body_binary(body, LLVMOr, sum, part) : part;
    }
    return api->BuildCast(BUILDER(body), LLVMBitCast, sum ? sum : all, marks, "");
}
static void mark_half(Body *body, const Item *item, LLVMValueRef g, unsigned which, LLVMValueRef written,
                      LLVMValueRef offset) {
    LLVMValueRef bits = marks_of(body, item, g, which);
    LLVMValueRef byte = body_binary(body, LLVMLShr, offset, body_const64(body, 3));
    LLVMValueRef at = LLVM(body)->BuildGEP2(BUILDER(body), body->emit.types.byte, written, &byte, 1, "");
    if (g) {
        LLVMValueRef old = body_get(body, LLVM(body)->TypeOf(bits), at);
        LLVM(body)->SetAlignment(old, 1);
        bits = body_binary(body, LLVMOr, old, bits);
    }
    LLVM(body)->SetAlignment(LLVM(body)->BuildStore(BUILDER(body), bits, at), 1);
}

/* Are the halves where marks of bytes begin, and may they be written? */
static LLVMValueRef may_be_written(Body *body, const Halves *halves) {
    LLVMTypeRef byte = body->emit.types.byte;
    LLVMValueRef read_only =
        body_get(body, byte, body_at(body, halves->place.alloc, offsetof(SimAlloc, read_only)));
    LLVMValueRef good = compare(body, LLVMIntEQ, read_only, LLVM(body)->ConstNull(byte));
    for (unsigned i = 0; i < 2; i++) {
        LLVMValueRef rest = both(body, halves->offset[i], body_const64(body, 7));
        good = both(body, good, compare(body, LLVMIntEQ, rest, body_const64(body, 0)));
    }
    return good;
}

/* Are these other bytes than there were? */
static LLVMValueRef store_half(Body *body, const Item *item, LLVMValueRef row[4], LLVMValueRef g,
                               unsigned which, LLVMValueRef at) {
    const JitApi *api = LLVM(body);
    unsigned n = HALF * item->words;
    LLVMValueRef old = consecutive(body, item, at), new = half_words(body, item, row, which);
    if (item->bytes < 4)
        new = api->BuildCast(BUILDER(body), LLVMTrunc, new, half_type(body, item), "");
    if (g)
        new = api->BuildSelect(BUILDER(body), half_lanes(body, g, which, item->words), new, old, "");
    LLVMValueRef differs = compare(body, LLVMIntNE, old, new);
    whole_items(body, item, api->BuildStore(BUILDER(body), new, at));
    LLVMTypeRef mask = api->IntTypeInContext(body->emit.context, n);
    differs = api->BuildCast(BUILDER(body), LLVMBitCast, differs, mask, "");
    return compare(body, LLVMIntNE, differs, api->ConstNull(mask));
}

/* Lower lanes first, so that what the highest one writes stays. */
static void store_code(Body *body, uint32_t pc, const Item *item, const Halves *halves, LLVMValueRef g,
                       LLVMBasicBlockRef done) {
    EmitTypes *types = &body->emit.types;
    LLVMValueRef row[4] = {NULL}, changed[2];
    for (unsigned k = 0; k < item->words; k++)
        row[k] = body_source(body, pc, 2, k);
    for (unsigned i = 0; i < 2; i++)
        changed[i] = store_half(body, item, row, g, i, halves->at[i]);
    if (halves->place.alloc) {
        LLVMValueRef written =
            body_get(body, types->pointer, body_at(body, halves->place.alloc, offsetof(SimAlloc, written)));
        for (unsigned i = 0; i < 2; i++)
            mark_half(body, item, g, i, written, halves->offset[i]);
    }
    LLVMValueRef version = body_at(body, body->run_state, offsetof(Run, mem_version));
    changed[0] = widened(body, body_binary(body, LLVMOr, changed[0], changed[1]));
    body_put(body, version, body_binary(body, LLVMAdd, body_get(body, types->quad, version), changed[0]));
    LLVM(body)->BuildBr(BUILDER(body), done);
}

void body_access_code(Body *body, uint32_t pc, LLVMValueRef g, LLVMBasicBlockRef slow,
                      LLVMBasicBlockRef done) {
    const Dec *dec = region_known(body->run, pc);
    Item item = item_of(body, dec);
    Halves halves;
    LLVMValueRef fast = find_halves(body, pc, &item, &halves);
    LLVMBasicBlockRef quick = body_block(body, "quick");
    if (!body_access_loads(dec) && halves.place.alloc)
        fast = both(body, fast, may_be_written(body, &halves));
    LLVM(body)->BuildCondBr(BUILDER(body), expected(body, fast), quick, slow);
    LLVM(body)->PositionBuilderAtEnd(BUILDER(body), quick);
    if (body_access_loads(dec))
        load_code(body, pc, &item, &halves, g, done);
    else
        store_code(body, pc, &item, &halves, g, done);
}
