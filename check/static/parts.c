/* Branches that part the lanes of every warp, whatever the data are: their condition is followed back to the
 * number of the lane and constants, and computed for each lane with the lane functions. A thread's number in
 * x stands for its lane as far as no other bits matter: it is computed for several warps, too, so that a
 * branch on the number of the warp (tid.x < 32) parts none. SPDX-License-Identifier: MIT */
#include "check/static/internal.h"
#include "isa/lane/choose.h"

enum {
    FAR = 48, /* instructions looked at for one lane */
    LANES = 32
};

typedef struct {
    const BinFlow *flow;
    uint32_t lane, warp;
    unsigned left;
    int lane_number, thread_number; /* special registers */
} Follow;

static bool value_before(Follow *follow, uint32_t at, Operand o, uint32_t *value);

static bool is_predicate(Operand o) { return o.kind == OPK_REG && (o.file == RF_P || o.file == RF_UP); }
static bool is_written(Operand o) {
    return o.kind == OPK_REG && (is_predicate(o) ? o.value != REG_PT : o.value != REG_RZ);
}

/* What the instruction at `at` writes to `o`. */
static bool result_of(Follow *follow, uint32_t at, Operand o, uint32_t *value) {
    const Target *target = follow->flow->bin->target;
    const MachInst *inst = &follow->flow->insts[at];
    uint32_t source[MACH_MAX_SRC] = {0};
    LaneResult result;
    bool predicates = false;
    unsigned nth = 0;
    if (bin_guard(inst) != BG_ALWAYS)
        return false;
    if (inst->optype == OT_S2R) {
        int number = (int)inst->src[0].value;
        *value = follow->lane + (number == follow->thread_number ? LANES * follow->warp : 0);
        return number == follow->lane_number || number == follow->thread_number;
    }
    for (unsigned k = 0; k < inst->nsrc; k++)
        switch (lane_source(target, inst, k)) {
        case LANE_SRC_VECTOR:
        case LANE_SRC_PREDICATE:
            if (!value_before(follow, at, inst->src[k], &source[k]))
                return false;
            break;
        default: source[k] = inst->src[k].value;
        }
    for (unsigned k = 0; k < inst->ndst; k++)
        predicates |= is_predicate(inst->dst[k]) && is_written(inst->dst[k]);
    if (!lane_compute(target, inst, predicates, source, &result))
        return false;
    for (unsigned k = 0; k < inst->ndst; k++) {
        Operand to = inst->dst[k];
        bool this = to.kind == OPK_REG && to.file == o.file && to.value == o.value;
        if (is_predicate(to) && nth < 2) {
            if (this) {
                *value = result.predicate[nth];
                return result.has_predicates;
            }
            nth++;
        } else if (this) {
            *value = result.value;
            return result.has_value && isa_dst_regs(target, inst, k) <= 1;
        }
    }
    return false;
}

/* The operand's bits in front of `at`: of a register before its modifiers, of a predicate behind them. */
static bool value_before(Follow *follow, uint32_t at, Operand o, uint32_t *value) {
    const BinFlow *flow = follow->flow;
    uint32_t not = is_predicate(o) && o.mods & OPM_NOT;
    if (o.kind == OPK_IMM || o.kind == OPK_NONE) {
        *value = o.value;
        return o.kind == OPK_IMM;
    }
    if (o.kind != OPK_REG || (o.file != RF_R && o.file != RF_P))
        return false;
    *value = is_predicate(o) ? 1 ^ not : 0;
    if (!is_written(o))
        return true;
    do {
        at = check_one_before(flow, at);
        if (at == NONE || !follow->left || !flow->decoded[at] ||
            isa_has_effect(flow->insts[at].optype, ISA_EFFECT_CALL))
            return false;
        follow->left--;
    } while (!bin_writes_reg(flow->bin->target, &flow->insts[at], (RegFile)o.file, o.value));
    if (!result_of(follow, at, o, value))
        return false;
    *value ^= not ;
    return true;
}

bool check_parts_every_warp(const BinFlow *flow, uint32_t branch) {
    static const uint32_t warps[] = {0, 1, 2, 5, 31};
    const MachInst *inst = &flow->insts[branch];
    const Target *target = flow->bin->target;
    if (inst->optype != OT_BRA || bin_kind(inst) != BK_BRANCH)
        return false;
    for (unsigned w = 0; w < sizeof warps / sizeof *warps; w++) {
        unsigned taken = 0;
        for (uint32_t lane = 0; lane < LANES; lane++) {
            Follow follow = {.flow = flow,
                             .lane = lane,
                             .warp = warps[w],
                             .left = FAR,
                             .lane_number = isa_sreg_number(target, "laneid"),
                             .thread_number = isa_sreg_number(target, "tid.x")};
            uint32_t guard, second = 1;
            if (!value_before(&follow, branch, inst->guard, &guard) ||
                !value_before(&follow, branch, inst->src[0], &second))
                return false;
            taken += guard && second;
        }
        if (!taken || taken == LANES)
            return false;
    }
    return true;
}
