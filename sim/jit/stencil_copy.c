/* Stencils copied one behind the other. SPDX-License-Identifier: MIT */
#include "sim/jit/stencil_copy.h"
#include "base/scope.h"
#include <string.h>

#include "sim/jit/stencils_v3.inc"
#include "sim/jit/stencils_v4.inc"

#define SET(name, in_vector, registers)                                                                      \
    {                                                                                                        \
        .level = #name, .lanes = (in_vector), .vectors = (registers), .bytes = bytes_##name,                 \
        .pool = pool_##name, .pool_bytes = sizeof pool_##name, .stencils = stencils_##name,                  \
        .holes = holes_##name                                                                                \
    }
static const StencilSet sets[] = {SET(v3, 8, 16), SET(v4, 16, 32)};
_Static_assert(sizeof stencils_v3 / sizeof *stencils_v3 == ST_COUNT &&
                   sizeof stencils_v4 / sizeof *stencils_v4 == ST_COUNT,
               "the tables are of other lists: UPDATE=1 ctest -R stencils");

enum { WORDS_LOOKED_AT = 32 };

const StencilSet *stencil_set(const char *level) {
#ifdef __x86_64__
    for (unsigned i = 0; i < sizeof sets / sizeof *sets; i++)
        if (strcmp(sets[i].level, level) == 0)
            return &sets[i];
#endif
    (void)level;
    return NULL;
}

void stencil_begin(StencilCode *code, const StencilSet *set) { *code = (StencilCode){.set = set}; }

bool stencil_has_exit(const StencilSet *set, unsigned id) {
    const Stencil *stencil = &set->stencils[id];
    for (unsigned i = 0; i < stencil->nholes; i++)
        if (set->holes[stencil->hole + i].kind == HOLE_T0)
            return true;
    return false;
}

uint32_t stencil_label(StencilCode *code) {
    VEC_ADD(&code->arena, &code->labels, UINT32_MAX);
    return code->labels.n - 1;
}
void stencil_here(StencilCode *code, uint32_t label) { code->labels.at[label] = code->n; }

static uint32_t word_number(StencilCode *code, uint32_t word) {
    uint32_t n = code->words.n;
    for (uint32_t i = n; i-- > 0 && n - i <= WORDS_LOOKED_AT;)
        if (code->words.at[i] == word)
            return i;
    VEC_ADD(&code->arena, &code->words, word);
    return n;
}

static void write_word(uint8_t *at, int64_t value) {
    uint32_t word = (uint32_t)value;
    memcpy(at, &word, sizeof word);
}

void stencil_copy(StencilCode *code, unsigned id, const StencilFill *fill) {
    const Stencil *stencil = &code->set->stencils[id];
    uint32_t begin = code->n, end = begin + stencil->size;
    if (end > code->room) {
        code->room = 2 * end + 4096;
        code->bytes = mem_resize(code->bytes, code->room);
    }
    memcpy(code->bytes + begin, (const uint8_t *)code->set->bytes + stencil->bytes, stencil->size);
    code->n = end;
    for (unsigned i = 0; i < stencil->nholes; i++) {
        const StencilHole *hole = &code->set->holes[stencil->hole + i];
        StencilReference reference = {.at = begin + hole->at, .addend = hole->addend};
        uint8_t *at = code->bytes + reference.at;
        if (hole->kind <= HOLE_H) {
            write_word(at, fill->number[hole->kind - HOLE_A] + hole->addend);
        } else if (hole->kind <= HOLE_K8) {
            reference.to = word_number(code, fill->words[hole->kind - HOLE_K0]);
            VEC_ADD(&code->arena, &code->to_words, reference);
        } else if (hole->kind == HOLE_NEXT) {
            write_word(at, (int64_t)end + hole->addend - reference.at);
        } else if (hole->kind == HOLE_POOL) { /* it ends where the code begins */
            write_word(at, hole->addend - (int64_t)code->set->pool_bytes - reference.at);
        } else if (hole->kind >= HOLE_VECTOR) {
            vector_renumber(at, hole->kind - HOLE_VECTOR, fill->vectors[hole->addend]);
        } else {
            reference.to = fill->go[hole->kind - HOLE_T0];
            VEC_ADD(&code->arena, &code->to_labels, reference);
        }
    }
}

void stencil_end(StencilCode *code, ImageBytes *out) {
    uint32_t pool = code->set->pool_bytes, words = (code->n + 3) / 4 * 4;
    for (uint32_t i = 0; i < code->to_labels.n; i++) {
        StencilReference *r = &code->to_labels.at[i];
        write_word(code->bytes + r->at, (int64_t)code->labels.at[r->to] + r->addend - r->at);
    }
    for (uint32_t i = 0; i < code->to_words.n; i++) {
        StencilReference *r = &code->to_words.at[i];
        write_word(code->bytes + r->at, (int64_t)words + 4 * (int64_t)r->to + r->addend - r->at);
    }
    *out = (ImageBytes){.size = pool + words + 4 * code->words.n, .entry = pool};
    out->bytes = mem_zeroed(1, out->size);
    memcpy(out->bytes, code->set->pool, pool);
    memcpy(out->bytes + pool, code->bytes, code->n);
    if (code->words.n)
        memcpy(out->bytes + pool + words, code->words.at, 4 * code->words.n);
    mem_free(code->bytes);
    arena_free(&code->arena);
}
