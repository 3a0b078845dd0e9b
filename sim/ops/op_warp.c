/* Operations across lanes. They see the lanes that execute them; who those are is the lowering's business
 * (WARPSYNC).
 * SPDX-License-Identifier: MIT */
#include "sim/ops/ops.h"
#include <string.h>

static int shfl(Warp *warp, Dec *dec, uint32_t g) {
    ROWS;
    uint32_t value[32], ok = 0, missing = 0;
    memcpy(value, a, sizeof value);
    EACH_LANE(i, g) {
        int j = shfl_source_lane(dec->shfl.mode, i, b[i], c[i]);
        ok |= (uint32_t)(j >= 0) << i;
        if (j >= 0 && !(g >> j & 1))
            missing |= 1u << j;
        r[i] = value[j >= 0 ? (unsigned)j & 31 : i];
    }
    if (missing)
        machine_finding(warp, dec, MF_COLLECTIVE, missing, 0,
                        "value taken from lanes 0x%08x, which do not execute it", missing);
    set_pred(warp, dec->pd[0], g, ok);
    return NEXT;
}
bool LV(bind_SHFL)(Bind *bind) {
    bind_operands(bind);
    bind->d->shfl.mode = MGET(SHFL, mode, bind->in->mods);
    bind_chained(bind, shfl, shfl);
    return !bind->failed;
}

static uint32_t vote_result(uint32_t op, uint32_t p, uint32_t g) {
    return op == VoteOp_ALL ? p == g : op == VoteOp_ANY ? p != 0 : p == 0 || p == g;
}
static int op_vote(Warp *warp, Dec *dec, uint32_t g) {
    uint32_t *r = dec_dst(warp, dec, 0), p = dec_pred(warp, dec, 0) & g;
    set_pred(warp, dec->pd[0], g, vote_result(dec->vote.op, p, g) ? ~0u : 0);
    EACH_LANE(i, g)
        r[i] = p;
    return NEXT;
}
static int voteu(Warp *warp, Dec *dec, uint32_t g) {
    uint32_t *r = dec_dst(warp, dec, 0), p = dec_pred(warp, dec, 0) & warp->active;
    (void)g;
    set_pred(warp, dec->pd[0], ~0u, vote_result(dec->vote.op, p, warp->active) ? ~0u : 0);
    LANES { r[i] = p; }
    return NEXT;
}
bool LV(bind_VOTE)(Bind *bind) {
    bind_operands(bind);
    bind->d->vote.op = MGET(VOTE, op, bind->in->mods);
    bind_chained(bind, op_vote, op_vote);
    return bind->d->vote.op == 3 ? bind_fail(bind, "undefined vote") : !bind->failed;
}
bool LV(bind_VOTEU)(Bind *bind) {
    bind_operands(bind);
    bind->d->vote.op = MGET(VOTEU, op, bind->in->mods);
    bind_chained(bind, voteu, voteu);
    return bind->d->vote.op == 3 ? bind_fail(bind, "undefined vote") : !bind->failed;
}

static int op_match(Warp *warp, Dec *dec, uint32_t g) {
    ROWS64;
    uint32_t same[32], all = 0;
    EACH_LANE(i, g) {
        same[i] = 0;
        for (uint32_t m = g; m; m &= m - 1) {
            unsigned j = low_lane(m);
            bool eq = a[j] == a[i] && (!dec->match.wide || ah[j] == ah[i]);
            same[i] |= (uint32_t)eq << j;
        }
        all = same[i];
    }
    bool is_all = dec->match.op == MatchOp_ALL, equal = all == g;
    EACH_LANE(i, g)
        r[i] = is_all ? (equal ? g : 0) : same[i];
    set_pred(warp, dec->pd[0], g, !is_all || equal ? ~0u : 0);
    return NEXT;
}
bool LV(bind_MATCH)(Bind *bind) {
    bind->d->match.op = MGET(MATCH, op, bind->in->mods);
    bind->d->match.wide = MGET(MATCH, type, bind->in->mods) == MatchType_U64;
    bind->width[0] = bind->d->match.wide ? WIDTH_U64 : WIDTH_32;
    bind_operands(bind);
    bind_chained(bind, op_match, op_match);
    return !bind->failed;
}

static uint32_t redux_step(uint32_t op, bool sign, uint32_t x, uint32_t y) {
    switch (op) {
    case ReduxOp_AND: return x & y;
    case ReduxOp_OR: return x | y;
    case ReduxOp_XOR: return x ^ y;
    case ReduxOp_SUM: return x + y;
    case ReduxOp_MIN: return (sign ? (int32_t)x < (int32_t)y : x < y) ? x : y;
    default: return (sign ? (int32_t)x > (int32_t)y : x > y) ? x : y;
    }
}
static int redux(Warp *warp, Dec *dec, uint32_t g) {
    ROWS;
    uint32_t v = a[low_lane(g)];
    for (uint32_t m = g & (g - 1); m; m &= m - 1)
        v = redux_step(dec->redux.op, dec->redux.is_signed, v, a[low_lane(m)]);
    LANES { r[i] = v; }
    return NEXT;
}
bool LV(bind_REDUX)(Bind *bind) {
    bind_operands(bind);
    bind->d->redux.op = MGET(REDUX, op, bind->in->mods);
    bind->d->redux.is_signed = MGET(REDUX, sign, bind->in->mods) == ReduxSign_S32;
    bind_chained(bind, redux, redux);
    return bind->d->redux.op > ReduxOp_MAX ? bind_fail(bind, "undefined reduction") : !bind->failed;
}

/* The predicate names the lanes that have another value than the one read. */
static int r2ur(Warp *warp, Dec *dec, uint32_t g) {
    ROWS;
    uint32_t v = a[low_lane(g)], differ = 0;
    if (warp->active != warp->valid && !dec->r2ur.for_branch)
        machine_finding(warp, dec, MF_UNIFORM_DIVERGED, g, 0, "R2UR");
    for (unsigned i = 0; i < 32; i++)
        differ |= (uint32_t)(a[i] != v) << i;
    LANES { r[i] = v; }
    set_pred(warp, dec->pd[0], g, differ | (dec->r2ur.keeps ? warp->p[dec->pd[0]] : 0));
    return NEXT;
}

/* Does nobody read the value but BRA.DIV or BRA.CONV, before another group can run? It means the lanes that
 * are here. */
static bool for_branch(const Bind *bind) {
    const Run *run = bind->run;
    if (bind->in->dst[R2UR_urd].value == REG_URZ)
        return true;
    for (uint32_t pc = bind->pc + 1; pc < run->ncode; pc++) {
        MachInst read;
        char error[ISA_ERROR_BYTES];
        const MachInst *next = binary_inst(run->bin, run->code, pc, &read, error);
        if (!next)
            return false;
        if (next->optype == OT_BRA)
            return next->src[BRA_ura].kind == OPK_REG &&
                   next->src[BRA_ura].value == bind->in->dst[R2UR_urd].value;
        if (isa_traits(next->optype)->flow != ISA_FLOW_NONE)
            return false;
    }
    return false;
}

bool LV(bind_R2UR)(Bind *bind) {
    bind_operands(bind);
    bind->d->r2ur.for_branch = for_branch(bind);
    bind->d->r2ur.keeps = MGET(R2UR, or, bind->in->mods);
    bind_chained(bind, r2ur, r2ur);
    return !bind->failed;
}
