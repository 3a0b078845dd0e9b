/* Sums in memory: see sums.h.
 *
 * A run is watched for atomics of 4 and of 8 bytes. For each place this keeps the sum that it should hold, as
 * additions of .f32 or .f64 to what was there before, in the order of this run, and a hash of the numbers
 * that does not know their order. A place is a sum only if it does hold that in the end: whoever stores there
 * besides, or does anything else than add, makes it hold something else. Two runs that added the same numbers
 * to the same place differ there by the order of threads alone, however far apart they are.
 *
 * SPDX-License-Identifier: MIT */
#include "check/validate/judge/sums.h"
#include "base/arena.h"
#include "base/rng.h"
#include "base/scope.h"
#include <math.h>
#include <string.h>

enum { WORD_BYTES = 4, MOST_BYTES = 8 };

typedef struct {
    uint64_t sum;     /* that should be there: bits */
    uint64_t numbers; /* hash, of all that were added */
    uint32_t n;
    uint8_t bytes; /* of the numbers; 0: none yet */
    bool other;    /* numbers of two sizes overlap */
} Cell;

struct JudgeSums {
    const SimMemory *before;
    Cell **cells; /* by allocation, NULL: nothing is added there; by word */
};

bool judge_sums_occur(const PtxModule *module) {
    for (uint32_t f = 0; f < module->nfuncs; f++)
        for (uint32_t i = 0; i < module->funcs[f].ninsns; i++) {
            const PtxInsn *insn = &module->funcs[f].insns[i];
            if ((insn->op == PTX_ATOM || insn->op == PTX_RED) && insn->atom == ATOM_ADD &&
                (insn->type[0] == TY_F32 || insn->type[0] == TY_F64))
                return true;
        }
    return false;
}

JudgeSums *judge_sums_new(const SimMemory *before) {
    JudgeSums *sums = mem_zeroed(1, sizeof *sums);
    sums->before = before;
    sums->cells = mem_zeroed(before->nallocs + 1u, sizeof *sums->cells);
    return sums;
}

void judge_sums_free(JudgeSums *sums) {
    if (!sums)
        return;
    for (uint32_t i = 0; i < sums->before->nallocs; i++)
        mem_free(sums->cells[i]);
    mem_free(sums->cells);
    mem_free(sums);
}

/* ---- one number more ---- */

static float flushed(float x) { return fpclassify(x) == FP_SUBNORMAL ? copysignf(0, x) : x; }

/* .f32 in global memory flushes subnormals in and out (docs/numerics.md 7). */
static uint64_t add(uint64_t a, uint64_t b, unsigned bytes) {
    if (bytes == sizeof(double)) {
        double x, y;
        memcpy(&x, &a, sizeof x);
        memcpy(&y, &b, sizeof y);
        x += y;
        memcpy(&a, &x, sizeof x);
        return a;
    }
    float x, y;
    uint32_t bits = (uint32_t)a;
    memcpy(&x, &bits, sizeof x);
    bits = (uint32_t)b;
    memcpy(&y, &bits, sizeof y);
    x = flushed(flushed(x) + flushed(y));
    memcpy(&bits, &x, sizeof x);
    return bits;
}

static bool is_nan_of(uint64_t bits, unsigned bytes) {
    return bytes == sizeof(double) ? (bits & ~(1ull << 63)) > 0x7ffull << 52
                                   : (bits & 0x7fffffff) > 0x7f800000;
}

static uint64_t element_at(const SimAlloc *alloc, uint64_t at, unsigned bytes) {
    uint64_t value = 0;
    memcpy(&value, alloc->data + at, bytes);
    return value;
}

static void add_number(JudgeSums *sums, uint64_t address, unsigned bytes, const uint8_t *number) {
    const SimAlloc *alloc = simmem_find(sums->before, address, bytes);
    if (!alloc || (bytes != WORD_BYTES && bytes != MOST_BYTES) || address % bytes)
        return;
    Cell **cells = &sums->cells[alloc - sums->before->allocs];
    if (!*cells)
        *cells = mem_zeroed(alloc->size_bytes / WORD_BYTES + 2, sizeof **cells);
    uint64_t at = address - alloc->address, value = 0;
    memcpy(&value, number, bytes);
    Cell *cell = &(*cells)[at / WORD_BYTES], *high = cell + (bytes == MOST_BYTES);
    if (!cell->n)
        cell->sum = element_at(alloc, at, bytes);
    if ((cell->n && cell->bytes != bytes) || (high->n && high->bytes != bytes))
        cell->other = high->other = true;
    cell->bytes = high->bytes = (uint8_t)bytes;
    cell->sum = add(cell->sum, value, bytes);
    cell->numbers += rng_mix(value);
    cell->n++;
    if (high != cell)
        high->n++;
}

/* ---- what runs ---- */

void judge_sums_of_ptx(void *user, const PtxEvent *event) {
    const PtxAccess *access = &event->access;
    if (access->kind != PTX_ACCESS_ATOMIC)
        return;
    for (unsigned at = 0; at < access->size_bytes && access->element_bytes; at += access->element_bytes)
        add_number(user, access->address + at, access->element_bytes, access->data + at);
}

void judge_sums_of_machine(void *user, const MachineTrace *trace) {
    MachineAccess access;
    for (uint32_t lanes = trace->executed; lanes; lanes &= lanes - 1) {
        if (!machine_trace_access(trace, (unsigned)__builtin_ctz(lanes), &access))
            return;
        for (unsigned at = 0; access.atomic && access.element_bytes && at < access.size_bytes;
             at += access.element_bytes)
            add_number(user, access.address + at, access.element_bytes, access.data + at);
    }
}

/* ---- two runs ---- */

static bool holds_sum(const Cell *cell, const SimAlloc *alloc, uint64_t at) {
    uint64_t value = element_at(alloc, at, cell->bytes);
    return !cell->other &&
           (value == cell->sum || (is_nan_of(value, cell->bytes) && is_nan_of(cell->sum, cell->bytes)));
}

/* By how many bytes one goes on. */
static unsigned level_element(const Cell *first_cell, const SimAlloc *first, const Cell *second_cell,
                              SimAlloc *second, uint64_t at, bool *any) {
    unsigned bytes = first_cell->n ? first_cell->bytes : WORD_BYTES;
    if (!first_cell->n || first_cell->n != second_cell->n || first_cell->bytes != second_cell->bytes ||
        first_cell->numbers != second_cell->numbers || at + bytes > first->size_bytes ||
        memcmp(first->data + at, second->data + at, bytes) == 0 || !holds_sum(first_cell, first, at) ||
        !holds_sum(second_cell, second, at))
        return WORD_BYTES;
    memcpy(second->data + at, first->data + at, bytes);
    *any = true;
    return bytes;
}

bool judge_sums_level(const JudgeSums *first_sums, const SimMemory *first, const JudgeSums *second_sums,
                      SimMemory *second, const bool *skip) {
    bool any = false;
    uint32_t n = first_sums->before->nallocs;
    for (uint32_t i = 0; i < n && i < first->nallocs && i < second->nallocs; i++) {
        const Cell *of_first = first_sums->cells[i], *of_second = second_sums->cells[i];
        SimAlloc *other = &second->allocs[i];
        if (!of_first || !of_second || (skip && skip[i]) || first->allocs[i].address != other->address ||
            other->address != first_sums->before->allocs[i].address)
            continue;
        for (uint64_t at = 0; at + WORD_BYTES <= first->allocs[i].size_bytes;)
            at += level_element(&of_first[at / WORD_BYTES], &first->allocs[i], &of_second[at / WORD_BYTES],
                                other, at, &any);
    }
    return any;
}
