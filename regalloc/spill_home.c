/* Spilling: where a value lives while it is in no register, and how it gets there and back.
 * SPDX-License-Identifier: MIT */
#include "regalloc/spill.h"
#include <string.h>

bool ra_may_repeat(unsigned op) {
    return op == OT_MOV || op == OT_UMOV || op == OT_S2R || op == IR_COPY || op == IR_UNDEF ||
           op == IR_FRAME_ADDR;
}

static bool repeatable(Function *f, InstId id) {
    const Inst *i = ir_inst(f, id);
    if (!ra_may_repeat(i->op))
        return false;
    if (i->op == IR_UNDEF || i->op == IR_FRAME_ADDR)
        return true;
    if (i->guard.kind != OPK_NONE && !op_is_always(i->guard))
        return false;
    if (i->op == OT_S2R) {
        enum IsaVaries varies = isa_sreg_varies(f->module->target, ir_src(f, i, 0)->value);
        return varies == ISA_VARIES_LANE || varies == ISA_VARIES_WARP;
    }
    uint8_t kind = ir_src(f, i, 0)->kind;
    return ir_dst(f, i, 0)->kind == OPK_VAL && ir_dst(f, i, 0)->count == 1 &&
           (kind == OPK_IMM || kind == OPK_CMEM || kind == OPK_SYM ||
            (kind == OPK_REG && (ir_src(f, i, 0)->value == REG_RZ || ir_src(f, i, 0)->file == RF_P)));
}

void ra_spill_find_repeatable(Spill *spill) {
    Function *f = spill->f;
    for (uint32_t k = 0; k < spill->g.nrpo; k++) {
        FOR_INST_IDS(f, spill->g.rpo[k], id) {
            Inst *i = ir_inst(f, id);
            ValId v[IR_MOST_VECTOR];
            if (i->ndst == 1 && ra_values(f, *ir_dst(f, i, 0), v) == 1 && v[0].i &&
                f->values.at[v[0].i].file == spill->file && f->values.at[v[0].i].fixed_reg < 0 &&
                repeatable(f, id))
                spill->remat[v[0].i] = id;
        }
    }
}

RegFile ra_spill_home_file(RegFile file) { return file == RF_UP ? RF_UR : RF_R; }

ValId ra_spill_home_value(Spill *spill, uint32_t v) {
    if (!spill->home_value[v].i) {
        ValId h = ir_value_new(spill->f, ra_spill_home_file(spill->file));
        *ir_value(spill->f, h) = (Value){.file = (uint8_t)ra_spill_home_file(spill->file),
                                         .fixed_reg = -1,
                                         .uniform = spill->f->values.at[v].uniform};
        spill->home_value[v] = h;
    }
    return spill->home_value[v];
}

uint32_t ra_spill_home_slot(Spill *spill, uint32_t v) {
    if (!spill->home_slot[v]) {
        spill->home_slot[v] = spill->f->spill_bytes + 1;
        spill->f->spill_bytes += 4;
    }
    return spill->home_slot[v] - 1;
}

InstId ra_spill_make(Function *f, unsigned op, unsigned ndst, unsigned nsrc, Operand first, Operand second) {
    InstId id = ir_inst_new(f, op, ndst, nsrc);
    Operand *o = &f->operands.at[ir_inst(f, id)->operand];
    if (ndst + nsrc > 0)
        o[0] = first;
    if (ndst + nsrc > 1)
        o[1] = second;
    return id;
}

InstId ra_spill_make_copy(Function *f, Operand dst, Operand src) {
    return ra_spill_make(f, IR_COPY, 1, 1, dst, src);
}

void ra_spill_add(Spill *spill, InstIds *out, InstId id, LocId loc) {
    ir_inst(spill->f, id)->loc = loc;
    VEC_ADD(spill->f->arena, out, id);
}

void ra_spill_store_home(Spill *spill, uint32_t v, InstIds *out, LocId loc) {
    Operand val = ir_val(spill->f, (ValId){v});
    if (spill->file == RF_R)
        ra_spill_add(spill, out,
                     ra_spill_make(spill->f, IR_SPILL, 0, 2, val, op_imm(ra_spill_home_slot(spill, v))), loc);
    else {
        Operand home = ir_val(spill->f, ra_spill_home_value(spill, v));
        ra_spill_add(spill, out, ra_spill_make_copy(spill->f, home, val), loc);
    }
}

void ra_spill_reload(Spill *spill, uint32_t v, InstIds *out, LocId loc) {
    Function *f = spill->f;
    Operand val = ir_val(f, (ValId){v});
    if (spill->remat[v].i) {
        InstId id = ir_inst_new(f, ir_inst(f, spill->remat[v])->op, 1, ir_inst(f, spill->remat[v])->nsrc);
        Inst *now = ir_inst(f, id), *old = ir_inst(f, spill->remat[v]);
        now->mods = old->mods;
        now->flags = old->flags & (uint16_t)~IF_TIED;
        memcpy(&f->operands.at[now->operand], &f->operands.at[old->operand],
               sizeof(Operand) * (1u + old->nsrc));
        ra_spill_add(spill, out, id, loc);
        return;
    }
    bs_add(&spill->spilled, v);
    if (spill->file == RF_R)
        ra_spill_add(spill, out, ra_spill_make(f, IR_RELOAD, 1, 1, val, op_imm(ra_spill_home_slot(spill, v))),
                     loc);
    else {
        Operand home = ir_val(f, ra_spill_home_value(spill, v));
        ra_spill_add(spill, out, ra_spill_make_copy(f, val, home), loc);
    }
}
