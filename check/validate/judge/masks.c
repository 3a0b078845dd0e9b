/* Which lanes were active: see masks.h.
 *
 * Machine code asks by a vote on what is always true. A compiler makes other such votes, too (of a ballot
 * whose predicate is known, of a question whether all lanes have one value), and may leave out one whose
 * result nobody reads: a run of the PTX may go past masks, and then it has not been given them all.
 *
 * SPDX-License-Identifier: MIT */
#include "check/validate/judge/masks.h"
#include "base/arena.h"
#include "base/scope.h"
#include "isa/isa.h"
#include <string.h>

enum { MOST_MASKS = 1 << 24, MOST_THREADS = 1 << 22 };

typedef VEC(uint32_t) Masks;

struct JudgeMasks {
    Arena arena;
    uint32_t grid[3], block[3];
    uint64_t nthreads;
    uint32_t n; /* masks of all threads */
    Masks *of;  /* by thread; NULL: there are too many */
    PtxActive active;
};

JudgeMasks *judge_masks_new(const uint32_t grid[3], const uint32_t block[3]) {
    JudgeMasks *masks = mem_zeroed(1, sizeof *masks);
    masks->nthreads = (uint64_t)block[0] * block[1] * block[2];
    for (unsigned i = 0; i < 3; i++) {
        masks->grid[i] = grid[i];
        masks->block[i] = block[i];
        masks->nthreads = masks->nthreads > MOST_THREADS ? masks->nthreads : masks->nthreads * grid[i];
    }
    if (masks->nthreads <= MOST_THREADS)
        masks->of = ARENA_ARRAY(&masks->arena, Masks, masks->nthreads);
    return masks;
}

void judge_masks_free(JudgeMasks *masks) {
    if (!masks)
        return;
    arena_free(&masks->arena);
    mem_free(masks);
}

/* Does it give a register the lanes that execute it? */
static bool asks(const MachInst *inst) {
    if (inst->optype == OT_VOTE)
        return MGET(VOTE, op, inst->mods) == VoteOp_ANY && op_is_always(inst->src[VOTE_pp]) &&
               inst->dst[VOTE_rd].kind == OPK_REG;
    return inst->optype == OT_VOTEU && MGET(VOTEU, op, inst->mods) == VoteOp_ANY &&
           op_is_always(inst->src[VOTEU_pp]) && inst->dst[VOTEU_urd].kind == OPK_REG;
}

void judge_masks_of_machine(void *user, const MachineTrace *trace) {
    JudgeMasks *masks = user;
    if (!masks->of || !asks(trace->inst))
        return;
    const uint32_t *block = trace->block, *of = masks->block;
    uint64_t threads = (uint64_t)of[0] * of[1] * of[2],
             number = block[0] + (uint64_t)masks->grid[0] * (block[1] + (uint64_t)masks->grid[1] * block[2]),
             first = number * threads + trace->warp * (uint64_t)SIM_WARP_LANES;
    for (uint32_t lanes = trace->executed; lanes; lanes &= lanes - 1, masks->n++)
        VEC_ADD(&masks->arena, &masks->of[first + (unsigned)__builtin_ctz(lanes)], trace->executed);
    if (masks->n > MOST_MASKS)
        masks->of = NULL;
}

const PtxActive *judge_masks_active(JudgeMasks *masks) {
    if (!masks->of)
        return NULL;
    uint32_t *all = ARENA_ARRAY(&masks->arena, uint32_t, masks->n + 1u),
             *first = ARENA_ARRAY(&masks->arena, uint32_t, masks->nthreads + 1);
    for (uint64_t t = 0; t < masks->nthreads; t++) {
        const Masks *of = &masks->of[t];
        if (of->n)
            memcpy(all + first[t], of->at, of->n * sizeof *all);
        first[t + 1] = first[t] + of->n;
    }
    masks->active = (PtxActive){.masks = all, .first = first};
    return &masks->active;
}

bool judge_masks_all_given(const JudgeMasks *masks, const PtxRunResult *run) {
    return run->nactive == masks->n && !run->nactive_later && !run->nactive_other;
}
