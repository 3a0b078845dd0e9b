/* Steps from a launch towards blocks that none has reached: see auto_search.h; docs/validate.md says by which
 * rules.
 * SPDX-License-Identifier: MIT */
#include "base/rng.h"
#include "check/validate/search/auto_search.h"
#include <math.h>
#include <string.h>

enum { MOST_CHANGES = 3 };

static bool is_reached(const AutoSearch *search, const Coverage *coverage, uint32_t func, uint32_t insn) {
    return insn >= search->m->funcs[func].ninsns || coverage->ptx[func][insn];
}

AutoFrontier auto_frontier(const AutoSearch *search, const Coverage *coverage) {
    AutoFrontier frontier = {0};
    for (uint32_t f = 0; f < search->m->nfuncs; f++)
        for (uint32_t i = 0; search->flow.funcs[f] && i < search->m->funcs[f].ninsns; i++) {
            const PtxFunc *func = &search->m->funcs[f];
            const PtxInsn *in = &func->insns[i];
            if (in->op != PTX_BRA || !in->guard_reg || !coverage->ptx[f][i] ||
                in->operands[0].kind != PO_LABEL)
                continue;
            uint32_t to = func->labels[in->operands[0].label].insn;
            if (!is_reached(search, coverage, f, to) || !is_reached(search, coverage, f, i + 1))
                frontier.slots |= search->flow.steers[f][i], frontier.shape |= !search->flow.steers[f][i];
        }
    return frontier;
}

static uint64_t one_of(uint64_t *random, const uint32_t *of, unsigned n) { return of[rng_next(random) % n]; }

/* A number for a slot: of what the kernel does with it, of the other numbers, or any. */
static uint64_t other_value(const AutoSearch *search, const AutoAttempt *attempt, uint32_t slot,
                            uint64_t *random) {
    static const uint32_t usual[] = {0,  1,  2,  3,   4,   5,   7,   8,    9,    16,
                                     32, 33, 64, 100, 128, 256, 512, 1000, 1024, 4096};
    static const uint32_t times[] = {1, 2, 3, 4, 5, 8, 17};
    const AutoSlot *what = &search->flow.slots[slot];
    uint64_t old = attempt->value[slot], pick = rng_next(random), unit = what->unit ? what->unit : 1;
    uint64_t few = one_of(random, times, sizeof times / sizeof *times);
    switch (pick % 8) {
    case 0:
    case 1:
    case 2: return unit * few;
    case 3:
    case 4:
        if (what->nwords) {
            int64_t word = what->words[(pick >> 8) % what->nwords] + (int64_t)((pick >> 16) % 3) - 1;
            return (uint64_t)word * (pick >> 24 & 1 ? unit : 1);
        }
        return unit * few + (pick >> 8) % unit;
    case 5: {
        uint32_t other = (uint32_t)((pick >> 8) % search->flow.nslots);
        return auto_is_pointer(&search->flow.slots[other]) ? attempt->block[0] * (uint64_t)attempt->grid[0]
                                                           : attempt->value[other];
    }
    case 6: return pick >> 8 & 1 ? 2 * old : pick >> 9 & 1 ? old / 2 : pick >> 10 & 1 ? old + 1 : old - 1;
    default:
        if (what->size_bytes == 8 && pick >> 8 & 1) /* 32 bits do not hold it */
            return (pick >> 9 & 1 ? 1ull << 32 : 1ull << 34) + few;
        if (!(what->uses & AU_INDEX) && pick >> 10 & 1) /* all that memory holds is less */
            return (what->size_bytes == 8 ? ~0ull : UINT32_MAX) >> (pick >> 11 & 1);
        return one_of(random, usual, sizeof usual / sizeof *usual);
    }
}

static bool asks_for_zero(const AutoSlot *what) {
    bool asks = false;
    for (uint32_t k = 0; k < what->nwords; k++)
        asks |= what->words[k] == 0;
    return asks;
}

/* A pointer is compared with 0, or its low bits are asked for: it is 0, or an element further. */
static void change_pointer(const AutoSlot *what, AutoAttempt *attempt, uint32_t slot, uint64_t *random) {
    bool asked = asks_for_zero(what), odd = what->unit > 1 && what->elem_bytes;
    if (what->variable || (what->parent && !asked))
        return;
    if (asked && (!odd || rng_next(random) % 2))
        attempt->null ^= auto_set_of(slot);
    else if (odd)
        attempt->margin[slot] = attempt->margin[slot] ? 0 : what->elem_bytes;
}

static double special_number(uint64_t pick) {
    static const double numbers[] = {
        0, 1, -1, 0.5, 2, 100, -100, 0.001, 0x1p40, -0x1p40, 0x1p-40, (double)INFINITY, (double)NAN};
    return numbers[pick % (sizeof numbers / sizeof *numbers)];
}

static void change_slot(const AutoSearch *search, AutoAttempt *attempt, uint32_t slot, uint64_t *random) {
    const AutoSlot *what = &search->flow.slots[slot];
    uint64_t value = other_value(search, attempt, slot, random);
    if (auto_is_pointer(what))
        change_pointer(what, attempt, slot, random);
    if (what->uses & AU_CALL && asks_for_zero(what))
        attempt->value[slot] = 0; /* no function */
    if (auto_is_pointer(what) || what->shared_piece || what->uses & (AU_BRANCH | AU_CALL | AU_BYTES))
        return;
    if (what->uses & AU_DIVISOR && !value && !asks_for_zero(what))
        value = 1;
    if (what->parent && what->uses & AU_FLOAT) { /* other data */
        attempt->seed += RNG_STEP;
        attempt->edges = rng_next(random) % 2;
        attempt->one_in = rng_next(random) % 2 ? RARE_EDGES : 1;
    } else if (what->parent && auto_least_word(what) && rng_next(random) % 2)
        attempt->below ^= auto_set_of(slot);
    else if (what->parent)
        attempt->bound[slot] = value & (what->uses & AU_INDEX ? MOST_BYTES - 1 : UINT32_MAX);
    else if (what->uses & AU_FLOAT)
        attempt->number[slot] = special_number(value);
    else
        attempt->value[slot] = auto_is_flag(what) ? value & 1 : value;
}

static void change_shape(const AutoSearch *search, AutoAttempt *attempt, bool matters, uint64_t *random) {
    enum { MANY_BLOCKS = 140, MANY_IN = 12 };
    static const uint32_t grids[] = {1, 2, 3, 4, 5, 7, 8, 16};
    AutoAttempt other;
    auto_guess(search, (unsigned)(rng_next(random) % ATTEMPTS), &other);
    if (matters || rng_next(random) % 4 == 0)
        memcpy(attempt->block, other.block, sizeof other.block);
    /* many blocks in one axis, for ways of those with a large number */
    unsigned pick = (unsigned)(rng_next(random) % MANY_IN), many = pick < 3 ? pick : MANY_IN;
    for (unsigned i = 0; i < 3; i++)
        if (search->flow.block_axes >> i & 1)
            attempt->grid[i] = many == i ? MANY_BLOCKS
                               : many < MANY_IN
                                   ? 1
                                   : (uint32_t)one_of(random, grids, sizeof grids / sizeof *grids);
    auto_fit_clusters(search, attempt);
}

static bool may_change(const AutoSlot *what) {
    return !auto_is_pointer(what) && !what->shared_piece && !what->parent &&
           !(what->uses & (AU_BRANCH | AU_CALL | AU_BYTES | AU_FLOAT));
}

void auto_agree(const AutoSearch *search, AutoAttempt *attempt) {
    for (uint32_t i = 0; i < search->flow.nslots; i++)
        if (search->flow.slots[i].has_equal && may_change(&search->flow.slots[i]))
            attempt->value[i] = (uint64_t)search->flow.slots[i].equals;
    for (uint32_t i = 0; i < search->flow.nslots; i++) { /* what must be a multiple is made of one */
        const AutoSlot *what = &search->flow.slots[i];
        if (what->twin && what->unit > 1 && may_change(what) &&
            may_change(&search->flow.slots[what->twin - 1])) {
            uint64_t *of = &attempt->value[what->twin - 1];
            *of = (*of + what->unit - 1) / what->unit * what->unit;
        }
    }
    for (uint32_t k = 0; k < 2 * search->flow.nslots; k++) { /* twice: some follow from later ones */
        uint32_t i = k % search->flow.nslots;
        const AutoSlot *what = &search->flow.slots[i];
        if (what->twin && may_change(what))
            attempt->value[i] = attempt->value[what->twin - 1] * what->twin_times / what->twin_by;
    }
}

/* Ways for infinities, NaNs, and numbers that are large or less than 0 want several of them at once. */
static void change_numbers(const AutoSearch *search, AutoSet slots, AutoAttempt *attempt, uint64_t *random) {
    for (; slots; slots &= slots - 1) {
        uint32_t i = auto_first(slots);
        const AutoSlot *what = &search->flow.slots[i];
        if (what->uses & AU_FLOAT && !what->parent && !auto_is_pointer(what))
            attempt->number[i] = special_number(rng_next(random));
    }
}

void auto_step(const AutoSearch *search, AutoFrontier frontier, AutoAttempt *attempt, uint64_t *random) {
    AutoSet slots = frontier.slots;
    bool shape = frontier.shape && rng_next(random) % 2;
    if (!slots || rng_next(random) % 4 == 0) /* what leads there may lead through memory */
        slots = search->flow.nslots < AUTO_MAX_SLOTS ? auto_set_of(search->flow.nslots) - 1 : ~(AutoSet)0;
    uint64_t changes = shape && rng_next(random) % 2 ? 0 : 1 + rng_next(random) % MOST_CHANGES;
    for (uint64_t k = 0; slots && k < changes; k++) {
        AutoSet left = slots;
        for (uint64_t skip = rng_next(random) % auto_count(slots); skip; skip--)
            left &= left - 1;
        change_slot(search, attempt, auto_first(left), random);
    }
    if (rng_next(random) % 4 == 0)
        auto_agree(search, attempt);
    if (rng_next(random) % 4 == 0)
        change_numbers(search, slots, attempt, random);
    uint64_t pick = rng_next(random);
    attempt->cleared ^= pick % 4 == 0;
    attempt->whole ^= pick / 4 % 4 == 0;
    attempt->apart ^= pick / 16 % 8 == 0;
    if (shape || rng_next(random) % 4 == 0)
        change_shape(search, attempt, shape, random);
}
