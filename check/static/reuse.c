/* H-08. An operand with .reuse stays in the cache of its place (that of its bit) for the next
 * instruction that reads a register at that place: reading the same register, that instruction may get the
 * cached value. So nobody may write the register until then, the instruction itself least of all. A data flow
 * over what may be in the cache: at a join, whatever one of the ways there has left. Calls and returns end
 * it: what the other function reads at a place is not followed. ptxas never keeps a register that the
 * instruction overwrites (714 kept operands in 23,424 instructions of sm_80 and sm_90, CUDA 12).
 * SPDX-License-Identifier: MIT */
#include "check/static/internal.h"

enum { PLACES = 4 }; /* bits 122 to 125 of the word */

typedef struct {
    uint32_t by, written; /* instructions; written: since then, NONE */
    uint8_t place;
    Operand operand;
} Kept;

typedef VEC(Kept) Cache; /* ascending instructions and places */

typedef struct {
    Checker *checker;
    Cache *in;   /* by block, what may be in the cache at its start */
    bool *dirty; /* by block: its cache has changed since it was walked */
    Cache now, merged;
    bool final;
} Reuse;

static bool can_be_kept(Operand o) { return o.kind == OPK_REG && o.file == RF_R && o.value < REG_RZ; }

static bool overlap(Operand a, Operand b) {
    unsigned na = a.count ? a.count : 1, nb = b.count ? b.count : 1;
    return can_be_kept(a) && can_be_kept(b) && a.value < b.value + nb && b.value < a.value + na;
}

static void stale(const Reuse *reuse, const Kept *kept, uint32_t at) {
    if (reuse->final)
        check_report(reuse->checker, CR_H08, at, kept->by,
                     "R%u is kept for reuse, and is overwritten before its place reads again",
                     (unsigned)kept->operand.value);
}

static int by_key(const Kept *a, const Kept *b) {
    if (a->by != b->by)
        return a->by < b->by ? -1 : 1;
    return (int)a->place - (int)b->place;
}

static void copy_cache(Reuse *reuse, Cache *to, const Cache *from) {
    to->n = 0;
    for (uint32_t k = 0; k < from->n; k++)
        VEC_ADD(&reuse->checker->a, to, from->at[k]);
}

/* An instruction reads `operand` at a place. */
static void read_place(Reuse *reuse, Operand operand, uint8_t place, uint32_t at) {
    Cache *now = &reuse->now;
    uint32_t n = 0;
    for (uint32_t k = 0; k < now->n; k++) {
        const Kept *kept = &now->at[k];
        if (kept->place != place)
            now->at[n++] = *kept;
        else if (kept->written != NONE && overlap(kept->operand, operand))
            stale(reuse, kept, at);
    }
    now->n = n;
    if (!(operand.mods & OPM_REUSE))
        return;
    (void)VEC_PUSH(&reuse->checker->a, now);
    Kept own = {at, NONE, place, operand};
    while (n > 0 && by_key(&now->at[n - 1], &own) > 0) {
        now->at[n] = now->at[n - 1];
        n--;
    }
    now->at[n] = own;
}

static void write_register(Reuse *reuse, Operand written, uint32_t at) {
    Cache *now = &reuse->now;
    uint32_t n = 0;
    for (uint32_t k = 0; k < now->n; k++) {
        Kept *kept = &now->at[k];
        bool hit = overlap(kept->operand, written), itself = kept->by == at;
        if (hit)
            kept->written = at;
        if (hit && itself) /* whoever reads next */
            stale(reuse, kept, at);
        else
            now->at[n++] = *kept;
    }
    now->n = n;
}

static void step(Reuse *reuse, uint32_t at) {
    const BinFlow *flow = reuse->checker->flow;
    const MachInst *inst = &flow->insts[at];
    for (unsigned s = 0; s < inst->nsrc; s++) {
        int place = can_be_kept(inst->src[s]) ? isa_src_reuse_place(flow->bin->target, inst, s) : -1;
        if (place >= 0 && place < PLACES)
            read_place(reuse, inst->src[s], (uint8_t)place, at);
    }
    for (unsigned d = 0; d < inst->ndst && reuse->now.n; d++)
        write_register(reuse, inst->dst[d], at);
    if (check_is_call(reuse->checker, at))
        reuse->now.n = 0;
}

/* What comes to `block`: an operand, or that it was overwritten, may be new. */
static void merge_cache(Reuse *reuse, uint32_t block, const Cache *with) {
    Cache *into = &reuse->in[block], *merged = &reuse->merged;
    bool changed = false;
    reuse->checker->steps += into->n + with->n;
    merged->n = 0;
    for (uint32_t a = 0, b = 0; a < into->n || b < with->n;) {
        int order = b == with->n ? -1 : a == into->n ? 1 : by_key(&into->at[a], &with->at[b]);
        Kept next = order <= 0 ? into->at[a] : with->at[b];
        bool news = order > 0 || (order == 0 && next.written == NONE && with->at[b].written != NONE);
        if (news)
            next = with->at[b];
        changed |= news;
        VEC_ADD(&reuse->checker->a, merged, next);
        a += order <= 0;
        b += order >= 0;
    }
    if (changed)
        copy_cache(reuse, into, merged);
    reuse->dirty[block] |= changed;
}

static void walk(Reuse *reuse, uint32_t block) {
    const BinFlow *flow = reuse->checker->flow;
    const BinBlock *blk = &flow->blocks[block];
    copy_cache(reuse, &reuse->now, &reuse->in[block]);
    FOR_BIN_INSTS(blk, i) {
        if (!flow->decoded[i])
            return;
        step(reuse, i);
    }
    for (uint32_t s = 0; s < blk->nsuccs; s++)
        merge_cache(reuse, blk->succs[s].block, &reuse->now);
}

void check_reuse(Checker *checker) {
    uint32_t nblocks = checker->flow->nblocks;
    Reuse reuse = {.checker = checker,
                   .in = ARENA_ARRAY(&checker->a, Cache, nblocks + 1),
                   .dirty = ARENA_ARRAY(&checker->a, bool, nblocks + 1)};
    for (uint32_t b = 0; b < nblocks; b++)
        walk(&reuse, b);
    for (bool more = true; more;) {
        more = false;
        for (uint32_t b = 0; b < nblocks; b++)
            if (reuse.dirty[b]) {
                reuse.dirty[b] = false;
                more = true;
                walk(&reuse, b);
            }
    }
    reuse.final = true;
    for (uint32_t b = 0; b < nblocks; b++)
        walk(&reuse, b);
}
