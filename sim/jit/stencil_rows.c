/* Allocation of the host's vectors. A piece of code names registers (stencil_ir.c: v0 to v5 sources, v6 and
 * v7 results, the others for itself); where it is copied, each becomes one of the vectors. What a vector has
 * loaded or stored last stays in it until another is needed and it is the one that is read last, so that rows
 * that are used again are not loaded again. Memory is always up to date: nothing is ever written back.
 * SPDX-License-Identifier: MIT */
#include "sim/jit/stencil_rows.h"
#include <string.h>

/* What a vector holds: nothing, part of a row, by its place among the rows, a word, or that at a place in a
 * constant bank, in all lanes. */
enum { NOTHING = 0 };
#define PART_OF_ROW(bytes) (1ull << 62 | (uint64_t)(bytes))
#define ONE_WORD(word) (2ull << 62 | (uint64_t)(word))
#define WORD_OF_BANK(place) (3ull << 62 | (uint64_t)(place))

void stencil_vectors_begin(Vectors *vectors, StencilCode *code, const Run *run) {
    *vectors = (Vectors){.code = code, .run = run, .n = code->set->vectors};
}
void stencil_vectors_forget_all(Vectors *vectors) { memset(vectors->held, 0, sizeof vectors->held); }
void stencil_vectors_release(Vectors *vectors) { vectors->busy = 0; }

void stencil_vectors_keep(Vectors *vectors, const VectorMap *map, uint32_t names) {
    vectors->busy = 0;
    for (unsigned name = 0; name < MOST_VECTORS; name++)
        if ((map->given & names) >> name & 1)
            vectors->busy |= 1u << map->vector[name];
}

/* How many words of each source an instruction reads, at most. */
static void words_read(const Run *run, const Dec *dec, uint8_t out[3]) {
    const LaneRow *row = lane_row_of(run->level, dec->inner_full ? dec->inner_full : dec->full);
    for (unsigned i = 0; i < 3; i++)
        out[i] = row ? row->bits[i] / 32 : 4;
}
void stencil_vectors_block(Vectors *vectors, uint32_t pc, uint32_t end) {
    stencil_vectors_forget_all(vectors);
    vectors->begin = pc;
    vectors->end = end;
    for (; pc < end; pc++)
        words_read(vectors->run, region_known(vectors->run, pc), vectors->words[pc - vectors->begin]);
}

/* The next instruction of the block that reads a register, as far as is looked; what is constant may be
 * wanted soon. */
static uint32_t next_reader(const Vectors *vectors, uint64_t what) {
    enum { LOOKED_AT = 24, SOON = 8 };
    if (what >> 62 != PART_OF_ROW(0) >> 62)
        return vectors->pc + SOON;
    uintptr_t row = (uint32_t)what / ROW_BYTES;
    uint32_t end = vectors->end - vectors->pc > LOOKED_AT ? vectors->pc + LOOKED_AT : vectors->end;
    for (uint32_t pc = vectors->pc + 1; pc < end; pc++) {
        const Dec *dec = region_known(vectors->run, pc);
        for (unsigned i = 0; i < 3; i++)
            if (row - dec->v[i].at / ROW_BYTES < vectors->words[pc - vectors->begin][i])
                return pc;
    }
    return UINT32_MAX;
}

static void use_vector(Vectors *vectors, unsigned i) {
    vectors->busy |= 1u << i;
    vectors->used[i] = ++vectors->clock;
}
static void hold(Vectors *vectors, unsigned i, Held held) {
    vectors->held[i] = held;
    vectors->wanted[i] = next_reader(vectors, held.what);
}
static bool is_wanted_less(const Vectors *vectors, unsigned i, unsigned than) {
    return vectors->wanted[i] != vectors->wanted[than] ? vectors->wanted[i] > vectors->wanted[than]
                                                       : vectors->used[i] < vectors->used[than];
}
/* One that holds nothing, or what is read last or was not used for longest. */
static unsigned take_vector(Vectors *vectors) {
    unsigned best = MOST_VECTORS;
    for (unsigned i = 0; i < vectors->n; i++) {
        if (vectors->busy >> i & 1)
            continue;
        if (!vectors->held[i].what) {
            best = i;
            break;
        }
        if (best == MOST_VECTORS || is_wanted_less(vectors, i, best))
            best = i;
    }
    vectors->held[best].what = NOTHING;
    use_vector(vectors, best);
    return best;
}
static unsigned vector_with(const Vectors *vectors, uint64_t what) {
    unsigned i = 0;
    while (i < vectors->n && vectors->held[i].what != what)
        i++;
    return i;
}

static const Operand *bank_operand(const Dec *dec) { /* what it says is another number in the next launch */
    for (unsigned k = 0; k < dec->inst->nsrc; k++)
        if (dec->inst->src[k].kind == OPK_CMEM)
            return &dec->inst->src[k];
    return NULL;
}

/* Of a source of an instruction: all lanes of a constant are equal. */
static Held held_source(const Vectors *vectors, uint32_t pc, unsigned i, unsigned word, unsigned lane) {
    const Dec *dec = region_known(vectors->run, pc);
    const Operand *bank = bank_operand(dec);
    uintptr_t at = dec->v[i].at + (uintptr_t)word * ROW_BYTES;
    Held held = {.pc = pc, .source = (uint8_t)i, .word = (uint8_t)word};
    if (!dec_src_is_constant(dec, i))
        held.what = PART_OF_ROW(at + 4 * lane);
    else if (!bank || dec->v[i].at == (uintptr_t)vectors->run->zero_rows)
        held.what = ONE_WORD(*(const uint32_t *)at);
    else
        held.what =
            WORD_OF_BANK((uint64_t)op_cmem_bank(*bank) << 32 | (op_cmem_offset(*bank) + 4 * (uint64_t)word));
    return held;
}

/* A vector that is to hold it. */
static void load_vector(Vectors *vectors, unsigned to, Held held) {
    VectorMap map = {.vector = {(uint8_t)to}};
    uint32_t word = (uint32_t)held.what;
    int64_t record = (int64_t)(held.pc * sizeof(Dec) + offsetof(Dec, v) + held.source * sizeof(SrcRef));
    switch (held.what >> 62) {
    case PART_OF_ROW(0) >> 62: COPY(vectors->code, ST_load, .number = {word}, .vectors = map.vector); break;
    case ONE_WORD(0) >> 62: COPY(vectors->code, ST_same, .words = &word, .vectors = map.vector); break;
    case WORD_OF_BANK(0) >> 62:
        COPY(vectors->code, ST_bank, .number = {record, ROW_BYTES * (int64_t)held.word},
             .vectors = map.vector);
        break;
    default: return;
    }
    hold(vectors, to, held);
}

/* The host has few vectors only where pieces use their sources for other things meanwhile: each is another
 * one there. */
static unsigned vector_of(Vectors *vectors, Held held) {
    unsigned from = vector_with(vectors, held.what), to = from;
    if (from < vectors->n && (vectors->n == MOST_VECTORS || !(vectors->busy >> from & 1))) {
        use_vector(vectors, from);
        vectors->wanted[from] = next_reader(vectors, held.what);
        return from;
    }
    to = take_vector(vectors);
    if (from == vectors->n) {
        load_vector(vectors, to, held);
    } else {
        COPY(vectors->code, ST_move, .vectors = (const uint8_t[]){(uint8_t)from, (uint8_t)to});
        hold(vectors, to, held);
    }
    return to;
}

static void give_vector(VectorMap *map, unsigned name, unsigned vector) {
    map->vector[name] = (uint8_t)vector;
    map->given |= 1u << name;
}
void stencil_vectors_name(VectorMap *map, unsigned name, unsigned vector) { give_vector(map, name, vector); }
void stencil_vectors_source(Vectors *vectors, VectorMap *map, unsigned name, uint32_t pc, unsigned i,
                            unsigned word, unsigned lane) {
    give_vector(map, name, vector_of(vectors, held_source(vectors, pc, i, word, lane)));
}

void stencil_vectors_take(Vectors *vectors, VectorMap *map, unsigned stencil) {
    uint32_t names = vectors->code->set->stencils[stencil].vectors & ~map->given;
    for (unsigned name = 0; name < MOST_VECTORS; name++)
        if (names >> name & 1)
            give_vector(map, name, take_vector(vectors));
}

void stencil_vectors_store(Vectors *vectors, unsigned from, uintptr_t at, StoreKind kind) {
    Held held = {.what = PART_OF_ROW(at)};
    uint32_t busy = vectors->busy;
    if (kind != STORE_ALL) {
        unsigned id = kind == STORE_SOME ? ST_merge : ST_merge_upper;
        VectorMap map = {0};
        give_vector(&map, 0, from);
        give_vector(&map, 1, vector_of(vectors, held));
        stencil_vectors_take(vectors, &map, id);
        COPY(vectors->code, id, .vectors = map.vector);
        from = map.vector[RESULT];
    }
    for (unsigned i = 0; i < vectors->n; i++)
        if (vectors->held[i].what == held.what)
            vectors->held[i].what = NOTHING;
    COPY(vectors->code, ST_put, .number = {(int64_t)at}, .vectors = (const uint8_t[]){(uint8_t)from});
    hold(vectors, from, held);
    vectors->busy = busy;
}

void stencil_vectors_load_again(Vectors *vectors, const Held held[MOST_VECTORS]) {
    for (unsigned i = 0; i < vectors->n; i++)
        load_vector(vectors, i, held[i]);
}
