/* Collectives that ptxas writes for whichever lanes are active: no mask names them, and no WARPSYNC need
 * stand before. What is done with the result shows it:
 *
 *         REDUX.SUM UR5, R3 ;                       REDUX.OR UR6, R5 ;
 *         VOTEU.ANY UR4, UPT, PT ;                  R2UR P1, URZ, R5 ;
 *         UFLO.U32 UR4, UR4 ;                  @!P1 BRA.DIV UR6, slow ;
 *         ISETP.EQ.U32.AND P0, PT, R4, UR4, PT ;
 *     @P0 REDG.ADD [R6], UR5 ;
 *
 * On the left one of the active lanes does for all of them what each would do, and a vote of the same lanes
 * picks it. On the right the masks of the active lanes, taken together, only ask whether a lane of them is
 * elsewhere: a lane that is shows itself, whoever was active. REDUX and BRA are asked for by name.
 * SPDX-License-Identifier: MIT */
#include "check/static/internal.h"
#include <string.h>

enum { REGS = 256 };
typedef struct {
    bool has[RF_COUNT][REGS];
} Derived; /* registers whose values come from one place */

static bool derived_operand(const Derived *from, Operand o, unsigned regs) {
    bool any = false;
    for (unsigned k = 0; o.kind == OPK_REG && k < (regs ? regs : 1) && o.value + k < REGS; k++)
        any |= from->has[o.file][o.value + k];
    return any;
}

static bool reads_derived(const Target *target, const Derived *from, const MachInst *inst) {
    bool any = derived_operand(from, inst->guard, 1);
    for (unsigned k = 0; k < inst->nsrc; k++)
        any |= derived_operand(from, inst->src[k], isa_src_regs(target, inst, k));
    return any;
}

/* What always reads zero, or true, keeps nothing. */
static bool holds_value(Operand o) {
    static const uint32_t nothing[RF_COUNT] = {
        [RF_R] = REG_RZ, [RF_P] = REG_PT, [RF_UR] = REG_URZ, [RF_UP] = REG_UPT, [RF_B] = REGS};
    return o.kind == OPK_REG && o.value != nothing[o.file];
}

static void write_derived(const Target *target, Derived *from, const MachInst *inst, bool derived) {
    bool always = bin_guard(inst) == BG_ALWAYS;
    for (unsigned d = 0; d < inst->ndst; d++) {
        Operand o = inst->dst[d];
        unsigned regs = isa_dst_regs(target, inst, d);
        for (unsigned k = 0; holds_value(o) && k < (regs ? regs : 1) && o.value + k < REGS; k++)
            from->has[o.file][o.value + k] = derived || (!always && from->has[o.file][o.value + k]);
    }
}

bool check_used_with_vote(const Checker *checker, uint32_t collective) {
    const BinFlow *flow = checker->flow;
    const Target *target = flow->bin->target;
    const BinBlock *block = &flow->blocks[flow->block_of[collective]];
    Derived result, vote;
    memset(&result, 0, sizeof result);
    memset(&vote, 0, sizeof vote);
    if (bin_guard(&flow->insts[collective]) != BG_ALWAYS)
        return false;
    write_derived(target, &result, &flow->insts[collective], true);
    for (uint32_t i = collective + 1; i < block->first + block->ninsts && flow->decoded[i]; i++) {
        const MachInst *inst = &flow->insts[i];
        if (check_is_control(inst) || check_is_call(checker, i))
            return false; /* behind it other lanes may be active */
        bool of_result = reads_derived(target, &result, inst), of_vote = reads_derived(target, &vote, inst);
        if (of_result && of_vote)
            return true;
        write_derived(target, &result, inst, of_result);
        write_derived(target, &vote, inst,
                      of_vote || (check_asks_who_is_active(inst) && bin_guard(inst) == BG_ALWAYS));
    }
    return false;
}

/* May the register of `from` be read from block `block` on, before it is written? */
static bool read_behind(Checker *checker, const Derived *from, Operand reg, uint32_t block) {
    const BinFlow *flow = checker->flow;
    ArenaMark mark = arena_mark(&checker->a);
    bool *seen = ARENA_ARRAY(&checker->a, bool, flow->nblocks), found = false;
    uint32_t *stack = ARENA_ARRAY(&checker->a, uint32_t, flow->nblocks + 1), top = 0;
    for (stack[top++] = block; top && !found;) {
        const BinBlock *at = &flow->blocks[stack[--top]];
        bool written = at == &flow->blocks[block]; /* it has been looked at */
        checker->steps++;
        for (uint32_t i = at->first; i < at->first + at->ninsts && !written && !found; i++) {
            found = !flow->decoded[i] || reads_derived(flow->bin->target, from, &flow->insts[i]);
            written = bin_guard(&flow->insts[i]) == BG_ALWAYS &&
                      bin_writes_reg(flow->bin->target, &flow->insts[i], reg.file, reg.value);
        }
        for (uint32_t s = 0; s < at->nsuccs && (!written || at == &flow->blocks[block]); s++)
            if (!seen[at->succs[s].block]) {
                seen[at->succs[s].block] = true;
                stack[top++] = at->succs[s].block;
            }
    }
    arena_release(&checker->a, mark);
    return found;
}

bool check_asks_for_others(Checker *checker, uint32_t collective) {
    const BinFlow *flow = checker->flow;
    const MachInst *own = &flow->insts[collective];
    const BinBlock *block = &flow->blocks[flow->block_of[collective]];
    uint32_t last = block->first + block->ninsts - 1;
    Derived result;
    memset(&result, 0, sizeof result);
    if (own->optype != OT_REDUX || MGET(REDUX, op, own->mods) != ReduxOp_OR || bin_guard(own) != BG_ALWAYS ||
        !holds_value(own->dst[REDUX_urd]))
        return false;
    write_derived(flow->bin->target, &result, own, true);
    for (uint32_t i = collective + 1; i < last; i++)
        if (!flow->decoded[i] || check_is_control(&flow->insts[i]) || check_is_call(checker, i) ||
            reads_derived(flow->bin->target, &result, &flow->insts[i]) ||
            bin_writes_reg(flow->bin->target, &flow->insts[i], own->dst[REDUX_urd].file,
                           own->dst[REDUX_urd].value))
            return false;
    const MachInst *branch = &flow->insts[last];
    if (last == collective || branch->optype != OT_BRA)
        return false;
    unsigned cond = MGET(BRA, cond, branch->mods);
    Operand mask = branch->src[BRA_ura];
    return (cond == BRACond_DIV || cond == BRACond_CONV) && !(mask.mods & OPM_NOT) &&
           derived_operand(&result, mask, 1) &&
           !read_behind(checker, &result, own->dst[REDUX_urd], flow->block_of[collective]);
}
