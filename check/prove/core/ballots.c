/* WARPSYNCs whose mask is a ballot about the branch that leads to them, or its complement on the other side:
 *
 *         VOTE.ANY R6, PT, P0      all lanes of the warp come here
 *     @P0 BRA A                    and here
 *         LOP3 R7, ~R6
 *         WARPSYNC R7
 *     A:  WARPSYNC R6
 *
 * Lanes that wait at one of them have one mask. They took the branch by what they said in the vote: R6 and P0
 * have one definition each on every way, so the vote was about this very branch. A lane that comes there by a
 * later vote has had all lanes vote with it, those that wait here among them; they did not. So nobody waits
 * there for lanes that others of the place do not wait for.
 * SPDX-License-Identifier: MIT */
#include "check/prove/mach/mach.h"
#include "check/prove/core/core.h"
#include <string.h>

enum { MOST_STEPS_BACK = 4 };

typedef struct {
    const BinFlow *flow;
    const BinFuncFlow *func;
    Arena a;
    bool *seen; /* [block of the function] */
    uint32_t *stack;
} Ballots;

static bool writes_location(const Ballots *ballots, uint32_t at, uint32_t location) {
    bool written[LOC_SLOT] = {false};
    mach_writes(ballots->flow, &ballots->flow->insts[at], written);
    return written[location];
}

static bool is_start(const Ballots *ballots, uint32_t block) {
    for (uint32_t k = 0; k < ballots->func->nentries; k++)
        if (ballots->func->entries[k] == block)
            return true;
    return block == ballots->func->first_block;
}

/* The last instruction before `end` in the block that writes the location; NONE: there is none, and nothing
 * that may write what it does not name. *odd: there is such. */
static uint32_t last_write(const Ballots *ballots, uint32_t block, uint32_t end, uint32_t location,
                           bool *odd) {
    const BinFlow *flow = ballots->flow;
    for (uint32_t i = end; i-- > flow->blocks[block].first;) {
        if (!flow->decoded[i] || bin_kind(&flow->insts[i]) == BK_CALL)
            *odd = true;
        else if (!writes_location(ballots, i, location))
            continue;
        return i;
    }
    return BINFLOW_NONE;
}

/* The one instruction whose value the location has before instruction `at` on every way there; NONE: there is
 * none that is known. */
static uint32_t definition_before(Ballots *ballots, uint32_t at, uint32_t location) {
    const BinFlow *flow = ballots->flow;
    uint32_t first = ballots->func->first_block, top = 0, found = BINFLOW_NONE, block = flow->block_of[at],
             end = at;
    bool odd = false;
    memset(ballots->seen, 0, ballots->func->nblocks * sizeof *ballots->seen);
    for (;;) {
        uint32_t i = last_write(ballots, block, end, location, &odd);
        if (odd || (i != BINFLOW_NONE &&
                    (bin_guard(&flow->insts[i]) != BG_ALWAYS || (found != BINFLOW_NONE && found != i))))
            return BINFLOW_NONE;
        if (i != BINFLOW_NONE)
            found = i;
        else if (is_start(ballots, block))
            return BINFLOW_NONE;
        for (uint32_t p = 0; p < flow->blocks[block].npreds && i == BINFLOW_NONE; p++) {
            uint32_t from = flow->blocks[block].preds[p].block;
            if (!ballots->seen[from - first])
                ballots->seen[from - first] = true, ballots->stack[top++] = from;
        }
        if (!top)
            return found;
        block = ballots->stack[--top];
        end = flow->blocks[block].first + flow->blocks[block].ninsts;
    }
}

/* Does every way from the function's start to the block lead along this edge? */
static bool only_way(Ballots *ballots, uint32_t from, const BinEdge *edge, uint32_t to) {
    const BinFlow *flow = ballots->flow;
    uint32_t first = ballots->func->first_block, top = 0;
    memset(ballots->seen, 0, ballots->func->nblocks * sizeof *ballots->seen);
    for (uint32_t b = first; b < first + ballots->func->nblocks; b++)
        if (is_start(ballots, b))
            ballots->seen[b - first] = true, ballots->stack[top++] = b;
    while (top) {
        uint32_t b = ballots->stack[--top];
        if (b == to)
            return false;
        for (uint32_t s = 0; s < flow->blocks[b].nsuccs; s++) {
            const BinEdge *next = &flow->blocks[b].succs[s];
            if ((b == from && next->kind == edge->kind) || ballots->seen[next->block - first])
                continue;
            ballots->seen[next->block - first] = true;
            ballots->stack[top++] = next->block;
        }
    }
    return true;
}

static bool names_predicate(Operand o) { return o.kind == OPK_REG && o.file == RF_P && o.value != REG_PT; }
static bool is_not(Operand o) { return (o.mods & OPM_NOT) != 0; }

static bool reads_zero(Operand o) {
    return (o.kind == OPK_REG && o.file == RF_R && o.value == REG_RZ) || (o.kind == OPK_IMM && o.value == 0);
}

/* Of what register is the value of this instruction a copy, or (*complement changes) the complement? RZ: of
 * none. */
static uint32_t source_of(const MachInst *in, bool *complement) {
    const Operand *a = &in->src[0];
    if (in->optype == OT_LOP3) {
        unsigned lut = MGET(LOP3, lut, in->mods);
        a = &in->src[LOP3_ra];
        if (!reads_zero(in->src[LOP3_rb]) || !reads_zero(in->src[LOP3_rc]) || !(lut & 1) || lut >> 4 & 1)
            return REG_RZ;
        *complement = !*complement;
    } else if (in->optype != OT_MOV) {
        return REG_RZ;
    }
    return a->kind == OPK_REG && a->file == RF_R && !(a->mods & (OPM_NOT | OPM_NEG)) ? a->value : REG_RZ;
}

/* The vote that made the mask before `at`; NONE: none did. */
static uint32_t vote_before(Ballots *ballots, uint32_t at, Operand mask, bool *complement) {
    const BinFlow *flow = ballots->flow;
    uint32_t reg = mask.kind == OPK_REG && mask.file == RF_R && !mask.mods ? mask.value : REG_RZ;
    for (unsigned steps = 0; steps < MOST_STEPS_BACK && reg != REG_RZ; steps++) {
        at = definition_before(ballots, at, LOC_R + reg);
        if (at == BINFLOW_NONE)
            break;
        if (flow->insts[at].optype == OT_VOTE)
            return at;
        reg = source_of(&flow->insts[at], complement);
    }
    return BINFLOW_NONE;
}

bool prove_ballot_leads(const BinFlow *flow, const BinCheckReport *checked, const ProveWait *wait) {
    Ballots ballots = {.flow = flow, .func = &flow->funcs[wait->func]};
    uint32_t n = ballots.func->nblocks, to = flow->block_of[wait->inst];
    bool complement = false, leads = false;
    ballots.seen = ARENA_ARRAY(&ballots.a, bool, n + 1);
    ballots.stack = ARENA_ARRAY(&ballots.a, uint32_t, n + 1);
    uint32_t vote = vote_before(&ballots, wait->inst, flow->insts[wait->inst].src[WARPSYNC_rb], &complement);
    Operand said = vote == BINFLOW_NONE ? (Operand){0} : flow->insts[vote].src[VOTE_pp];
    uint32_t compared = vote != BINFLOW_NONE && !checked->apart[vote] && names_predicate(said)
                            ? definition_before(&ballots, vote, LOC_P + said.value)
                            : BINFLOW_NONE;
    for (uint32_t b = ballots.func->first_block; b < ballots.func->first_block + n && !leads; b++) {
        uint32_t last = flow->blocks[b].first + flow->blocks[b].ninsts - 1;
        const MachInst *in = &flow->insts[last];
        if (compared == BINFLOW_NONE || in->optype != OT_BRA || !names_predicate(in->guard) ||
            in->guard.value != said.value || bin_guard(in) != BG_MAYBE || in->src[BRA_pp].value != REG_PT ||
            is_not(in->src[BRA_pp]) || checked->apart[last] ||
            definition_before(&ballots, last, LOC_P + said.value) != compared)
            continue;
        for (uint32_t s = 0; s < flow->blocks[b].nsuccs; s++) {
            const BinEdge *edge = &flow->blocks[b].succs[s];
            bool holds = (edge->kind == BE_TAKEN) != is_not(in->guard);
            leads |= (holds != is_not(said)) == !complement && only_way(&ballots, b, edge, to);
        }
    }
    arena_free(&ballots.a);
    return leads;
}
