/* One epilogue for a function with several returns. Lanes that return from different places would go back to
 * the caller one group after the other and stay apart there; through one block they can join first. In: SSA
 * as selection makes it: each RET stands behind the parallel copy of its results. Functions of another shape
 * stay as they are.
 * SPDX-License-Identifier: MIT */
#include "lower/opt/opt.h"
#include "lower/passes.h"
#include <string.h>

enum { MAX_RETURNS = 200 };

typedef struct {
    Function *f;
    BlockId block[MAX_RETURNS];
    unsigned n;
    unsigned nresults;
} Returns;

static const Inst *from_end(Function *f, BlockId b, unsigned back) {
    const Block *blk = ir_block(f, b);
    return blk->insts.n > back ? ir_inst(f, blk->insts.at[blk->insts.n - 1 - back]) : NULL;
}

static bool same_address(const Function *f, Operand a, Operand b) {
    if (a.kind != OPK_VAL || b.kind != OPK_VAL || a.count != b.count || a.mods != b.mods)
        return false;
    for (unsigned c = 0; c < a.count; c++)
        if (ir_operand_value(f, a, c).i != ir_operand_value(f, b, c).i)
            return false;
    return true;
}

/* The results of a RET are exactly the destinations of the copy before it. */
static bool results_copied(Function *f, const Inst *ret, const Inst *copy, unsigned n) {
    if (!copy || copy->op != IR_PARCOPY || copy->ndst != n || copy->nsrc != n || !op_is_always(copy->guard))
        return false;
    for (unsigned k = 0; k < n; k++) {
        uint32_t v = opt_scalar(*ir_dst(f, copy, k));
        if (!v || opt_scalar(*ir_src(f, ret, RET_nsrc + k)) != v || ir_value(f, (ValId){v})->fixed_reg < 0)
            return false;
    }
    return true;
}

static bool fits(Returns *returns, BlockId b) {
    Function *f = returns->f;
    const Inst *ret = from_end(f, b, 0), *first = from_end(f, returns->block[0], 0);
    if (!op_is_always(ret->guard) || ret->mods != first->mods || ret->nsrc != first->nsrc)
        return false;
    if (!same_address(f, *ir_src(f, ret, RET_ra), *ir_src(f, first, RET_ra)) ||
        memcmp(ir_src(f, ret, RET_offset), ir_src(f, first, RET_offset), sizeof(Operand)) != 0)
        return false;
    if (returns->nresults == 0)
        return true;
    const Inst *copy = from_end(f, b, 1), *copy0 = from_end(f, returns->block[0], 1);
    if (!results_copied(f, ret, copy, returns->nresults) ||
        !results_copied(f, first, copy0, returns->nresults))
        return false;
    for (unsigned k = 0; k < returns->nresults; k++)
        if (ir_value(f, (ValId){ir_dst(f, copy, k)->value})->fixed_reg !=
            ir_value(f, (ValId){ir_dst(f, copy0, k)->value})->fixed_reg)
            return false;
    return true;
}

static bool find_returns(Returns *returns) {
    Function *f = returns->f;
    FOR_BLOCKS(f, b) {
        const Inst *end = from_end(f, b, 0);
        if (!end || end->op != OT_RET)
            continue;
        if (returns->n == MAX_RETURNS || end->nsrc < RET_nsrc)
            return false;
        returns->block[returns->n++] = b;
        returns->nresults = end->nsrc - (unsigned)RET_nsrc;
    }
    if (returns->n < 2)
        return false;
    returns->nresults = from_end(f, returns->block[0], 0)->nsrc - (unsigned)RET_nsrc;
    for (unsigned k = 0; k < returns->n; k++)
        if (!fits(returns, returns->block[k]))
            return false;
    return true;
}

/* What the block's copy gives result k, as a value that a phi can take. */
static Operand result_value(Returns *returns, BlockId b, unsigned k) {
    Function *f = returns->f;
    unsigned at = ir_block(f, b)->insts.n - 2;
    InstId copy = ir_block(f, b)->insts.at[at];
    Operand o = *ir_src(f, ir_inst(f, copy), k);
    if (opt_scalar(o) && !o.mods && o.file == RF_R)
        return o;
    LocId loc = ir_inst(f, copy)->loc;
    if (o.kind == OPK_REG && o.file == RF_R && o.value == REG_RZ)
        o = op_imm(0);
    return opt_mov_before(f, b, at, o, loc);
}

static void build(Returns *returns) {
    Function *f = returns->f;
    BlockId end = ir_block_new(f);
    InstId old = ir_block(f, returns->block[0])->insts.at[ir_block(f, returns->block[0])->insts.n - 1];
    InstId ret = ir_inst_new(f, OT_RET, 0, RET_nsrc + returns->nresults);
    ir_inst(f, ret)->mods = ir_inst(f, old)->mods;
    ir_inst(f, ret)->loc = ir_inst(f, old)->loc;
    for (unsigned k = 0; k < RET_nsrc; k++)
        ir_set_src(f, ret, k, *ir_src(f, ir_inst(f, old), k));
    InstId copy =
        returns->nresults ? ir_inst_new(f, IR_PARCOPY, returns->nresults, returns->nresults) : (InstId){0};
    for (unsigned k = 0; k < returns->nresults; k++) {
        InstId phi = ir_inst_new(f, IR_PHI, 1, returns->n);
        uint32_t fixed_old = ir_src(f, ir_inst(f, old), RET_nsrc + k)->value;
        for (unsigned e = 0; e < returns->n; e++)
            ir_set_src(f, phi, e, result_value(returns, returns->block[e], k));
        ValId joined = ir_value_new(f, RF_R), fixed = ir_value_new(f, RF_R);
        ir_value(f, fixed)->fixed_reg = ir_value(f, (ValId){fixed_old})->fixed_reg;
        ir_set_dst(f, phi, 0, ir_val(f, joined));
        ir_append(f, end, phi);
        ir_set_src(f, copy, k, ir_val(f, joined));
        ir_set_dst(f, copy, k, ir_val(f, fixed));
        ir_set_src(f, ret, RET_nsrc + k, ir_val(f, fixed));
    }
    if (copy.i)
        ir_append(f, end, copy);
    ir_append(f, end, ret);
    for (unsigned e = 0; e < returns->n; e++) {
        BlockId b = returns->block[e];
        for (unsigned drop = returns->nresults ? 2 : 1; drop; drop--)
            ir_remove_at(f, b, ir_block(f, b)->insts.n - 1);
        InstId bra = ir_branch_new(f, end);
        ir_inst(f, bra)->loc = ir_inst(f, ret)->loc;
        ir_append(f, b, bra);
        ir_add_edge(f, b, end);
    }
}

static bool movable_results(Returns *returns) {
    for (unsigned e = 0; e < returns->n && returns->nresults; e++)
        for (unsigned k = 0; k < returns->nresults; k++) {
            Operand o = *ir_src(returns->f, from_end(returns->f, returns->block[e], 1), k);
            bool constant = (o.kind == OPK_IMM || o.kind == OPK_CMEM || o.kind == OPK_SYM) && !o.mods;
            bool rz = o.kind == OPK_REG && o.file == RF_R && o.value == REG_RZ && !o.mods;
            if (!constant && !rz && !(opt_scalar(o) && !o.mods && o.file == RF_R))
                return false;
        }
    return true;
}

bool pass_returns(Function *f, Diags *d) {
    (void)d;
    Returns r = {.f = f};
    if (f->is_entry || f->blocks.n <= 1 || !find_returns(&r) || !movable_results(&r))
        return true;
    build(&r);
    ir_renumber(f);
    return true;
}
