/* Gathering: lanes with different masks, before a WARPSYNC.
 *
 * WARPSYNC lets lanes run that are missing for any of the lanes that wait there. With one mask that is right:
 * whoever we wait for does not wait for us. With masks in registers it is not: lanes A and D wait at one
 * WARPSYNC, A for B and D for E, while E waits elsewhere for A. The machine takes the lowest lane of B and E.
 * If that is E, then E lets A and D run, these let E run, and B never has its turn.
 *
 * So lanes whose masks may differ come to the WARPSYNC only when all lanes of their mask are on their way to
 * it: whom they wait for there waits for nobody. Until then they are in one function of the module, which
 * they leave together with all others of their mask:
 *
 *     begin:  BSSY B1, next
 *     test:   R2UR UR4, mask               of the lowest of the lanes that are here
 *             ISETP.EQ P0, PT, mask, UR4
 *        @P0  BRA.DIV UR4, no              a lane of it is elsewhere, or is here with another mask
 *       @!P0  BRA test                     lanes with other masks ask for theirs
 *             BREAK B1
 *             RET
 *     no:@!P0 BRA test
 *     next:   BSYNC B1                     all that were here have asked in vain
 *             BREAK B0                     out of all barriers that callers joined: nobody waits for us
 *             BSSY B2, meet
 *             YIELD                        fair: every other group comes to run
 *     meet:   BSYNC B2
 *             YIELD                        parks lanes here: they come together, even if a machine
 *             BRA begin                    wakes only some lanes of a place
 *
 * B1 and B2 are registers that nobody else uses: joins leave them alone (Reconv.num_b). A lane at BSYNC B1
 * waits for lanes that are asking, and all lanes in B2 are at its BSYNC, so neither waits for anything else.
 * Without them lanes would come together only where machines wake all lanes of a place.
 *
 * In and out: R4 the mask, which is gone; R2 the return address.
 * SPDX-License-Identifier: MIT */
#include "isa/machine/abi.h"
#include "lower/reconverge/reconverge.h"
#include <stdio.h>

/* ---- making instructions ---- */

InstId reconv_place_inst(ReconvPlace *place, unsigned op, unsigned ndst, unsigned nsrc) {
    InstId i = ir_inst_new(place->f, op, ndst, nsrc);
    ir_inst(place->f, i)->loc = place->loc;
    ir_insert(place->f, place->block, place->at++, i);
    return i;
}

InstId reconv_place_op(ReconvPlace *p, unsigned op) {
    return reconv_place_inst(p, op, isa_num_dst(op), isa_num_src(op));
}

Operand reconv_value(Function *f, RegFile file) { return ir_val(f, ir_value_new(f, file)); }

Operand reconv_fixed_value(Function *f, int reg) {
    Operand v = reconv_value(f, RF_R);
    ir_value(f, (ValId){v.value})->fixed_reg = (int16_t)reg;
    return v;
}

static BlockId start_block(ReconvPlace *place, BlockId b) {
    place->block = b;
    place->at = 0;
    return b;
}

static void put_branch(ReconvPlace *place, BlockId to) {
    ir_insert(place->f, place->block, place->at++, ir_branch_new(place->f, to));
    ir_add_edge(place->f, place->block, to);
}

/* `@pred BRA to`, with the bits `mods`; mask: of BRA.DIV, or none. */
static void put_branch_if(ReconvPlace *place, Operand pred, uint32_t mods, Operand mask, BlockId to) {
    InstId id = ir_branch_new(place->f, to);
    ir_inst(place->f, id)->mods = mods;
    ir_set_src(place->f, id, BRA_ura, mask);
    ir_set_guard(place->f, id, pred);
    ir_insert(place->f, place->block, place->at++, id);
    ir_add_edge(place->f, place->block, to);
}

/* BSSY, BSYNC or BREAK of the function's first or second register; to: syncpoint of BSSY, 0 none. */
static void put_barrier(ReconvPlace *place, unsigned op, unsigned reg, BlockId to) {
    InstId i = reconv_place_op(place, op);
    ir_set_src(place->f, i, 0, op_reg(RF_B, reg, 1));
    if (op == OT_BSSY)
        ir_set_src(place->f, i, BSSY_syncpoint, ir_target(to));
    if (op == OT_BREAK)
        ir_set_src(place->f, i, BREAK_pp, op_pt());
}

/* ---- the function ---- */

typedef struct {
    BlockId begin, test, yes, done, no, next, meet;
} Blocks;

/* Does the lowest lane's mask name only lanes that are here with the same mask? mine: it is this lane's, too.
 */
static void put_test(ReconvPlace *p, const Blocks *blocks, Operand mask) {
    Function *f = p->f;
    Operand first = reconv_value(f, RF_UR), mine = reconv_value(f, RF_P), others = mine;
    others.mods ^= OPM_NOT;
    InstId id = reconv_place_op(p, OT_R2UR);
    ir_set_dst(f, id, R2UR_urd, first);
    ir_set_src(f, id, R2UR_ra, mask);
    id = reconv_place_op(p, OT_ISETP);
    ir_inst(f, id)->mods =
        MSET(ISETP, sign, ISign_U32) | MSET(ISETP, cmp, ICmp_EQ) | MSET(ISETP, bop, BoolOp_AND);
    ir_set_dst(f, id, 0, mine);
    ir_set_src(f, id, ISETP_ra, mask);
    ir_set_src(f, id, ISETP_rb, first);
    ir_set_src(f, id, ISETP_pp, op_pt());
    put_branch_if(p, mine, MSET(BRA, cond, BRACond_DIV), first, blocks->no);
    put_branch(p, blocks->yes);
    start_block(p, blocks->yes);
    put_branch_if(p, others, 0, (Operand){0}, blocks->test);
    put_branch(p, blocks->done);
    start_block(p, blocks->no);
    put_branch_if(p, others, 0, (Operand){0}, blocks->test);
    put_branch(p, blocks->next);
}

static void put_wait(ReconvPlace *p, const Blocks *blocks) {
    put_barrier(p, OT_BSYNC, 0, (BlockId){0});
    put_barrier(p, OT_BSSY, 1, blocks->meet);
    ir_set_src(p->f, reconv_place_op(p, OT_YIELD), YIELD_pp, op_pt());
    put_branch(p, blocks->meet);
    start_block(p, blocks->meet);
    put_barrier(p, OT_BSYNC, 1, (BlockId){0});
    put_branch(p, blocks->begin);
}

/* Fixed values of the entry (what: IR_ENTRY) become `value` (IR_PARCOPY). */
static void put_entry(ReconvPlace *p, Operand mask, const Operand ra[2]) {
    const Operand value[3] = {mask, ra[0], ra[1]};
    const int reg[3] = {ABI_FIRST_REG, ABI_RETURN_REG, ABI_RETURN_REG + 1};
    InstId entry = reconv_place_inst(p, IR_ENTRY, 3, 0), copies = reconv_place_inst(p, IR_PARCOPY, 3, 3);
    for (unsigned k = 0; k < 3; k++) {
        Operand fixed = reconv_fixed_value(p->f, reg[k]);
        ir_set_dst(p->f, entry, k, fixed);
        ir_set_src(p->f, copies, k, fixed);
        ir_set_dst(p->f, copies, k, value[k]);
    }
}

Function *reconv_make_gather(IrModule *module) {
    char name[32] = "$gather$";
    for (unsigned n = 0; ir_find_function(module, str_intern_z(module->strings, name)); n++)
        snprintf(name, sizeof name, "$gather$%u", n);
    Function *f = ir_function_new(module, str_intern_z(module->strings, name), false);
    ReconvPlace p = {.f = f, .block = ir_block_new(f)};
    Blocks blocks = {ir_block_new(f), ir_block_new(f), ir_block_new(f), ir_block_new(f),
                     ir_block_new(f), ir_block_new(f), ir_block_new(f)};
    ValId ra[2] = {ir_value_new(f, RF_R), ir_value_new(f, RF_R)};
    Operand mask = reconv_value(f, RF_R), halves[2] = {ir_val(f, ra[0]), ir_val(f, ra[1])};
    f->entry = p.block;
    f->is_ssa = f->uses_sync = true;
    put_entry(&p, mask, halves);
    put_branch(&p, blocks.begin);
    start_block(&p, blocks.begin);
    put_barrier(&p, OT_BSSY, 0, blocks.next);
    put_branch(&p, blocks.test);
    start_block(&p, blocks.test);
    put_test(&p, &blocks, mask);
    start_block(&p, blocks.done);
    put_barrier(&p, OT_BREAK, 0, (BlockId){0});
    InstId ret = reconv_place_op(&p, OT_RET);
    ir_inst(f, ret)->mods = MSET(RET, mode, BasePCMode_ABS);
    ir_set_src(f, ret, RET_pp, op_pt());
    ir_set_src(f, ret, RET_ra, ir_vec(f, ra, 2));
    ir_set_src(f, ret, RET_offset, op_imm(0));
    start_block(&p, blocks.next);
    put_wait(&p, &blocks);
    ir_renumber(f);
    return f;
}

void reconv_call_gather(ReconvPlace *p, const Function *gather, Operand mask) {
    Function *f = p->f;
    ValId ra[2] = {{reconv_fixed_value(f, ABI_RETURN_REG).value},
                   {reconv_fixed_value(f, ABI_RETURN_REG + 1).value}};
    Operand arg = reconv_fixed_value(f, ABI_FIRST_REG);
    InstId copy = reconv_place_inst(p, IR_PARCOPY, 1, 1);
    ir_set_src(f, copy, 0, mask);
    ir_set_dst(f, copy, 0, arg);
    ir_set_dst(f, reconv_place_op(p, OT_LEPC), LEPC_rd, ir_vec(f, ra, 2));
    InstId call = reconv_place_inst(p, OT_CALL, 0, isa_num_src(OT_CALL) + 2);
    ir_inst(f, call)->mods = MSET(CALL, mode, BasePCMode_REL);
    ir_set_src(f, call, CALL_pp, op_pt());
    ir_set_src(f, call, CALL_ra, op_reg(RF_R, REG_RZ, 2));
    ir_set_src(f, call, CALL_offset, ir_sym(f, gather->name, 0, RELOC_CALL_REL));
    ir_set_src(f, call, isa_num_src(OT_CALL), arg);
    ir_set_src(f, call, isa_num_src(OT_CALL) + 1, ir_vec(f, ra, 2));
}

/* ---- its registers ---- */

static void leave_callers_barriers(Function *f, BlockId block, unsigned at, unsigned n) {
    ReconvPlace p = {.f = f, .block = block, .at = at};
    for (unsigned k = 0; k < n; k++)
        put_barrier(&p, OT_BREAK, k, (BlockId){0});
}

void reconv_number_gather(Function *f, unsigned first) {
    f->b_base = first;
    f->summary.max_b = first + GATHER_B;
    FOR_BLOCKS(f, block)
        for (unsigned at = 0; at < ir_block(f, block)->insts.n; at++) {
            Inst *i = ir_inst(f, ir_inst_at(f, block, at));
            if (i->op == OT_YIELD) {
                leave_callers_barriers(f, block, at, first);
                at += first;
            } else if (i->op == OT_BSSY || i->op == OT_BSYNC || i->op == OT_BREAK)
                ir_src(f, i, 0)->value += first;
        }
}
