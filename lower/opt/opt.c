/* See opt.h.
 * SPDX-License-Identifier: MIT */
#include "lower/opt/opt.h"

MachInst opt_mach(const Function *f, const Inst *i) {
    MachInst m = {.optype = i->op, .mods = i->mods, .ctrl = CONTROL_DEFAULT, .guard = i->guard};
    m.ndst = (uint8_t)isa_num_dst(i->op);
    m.nsrc = (uint8_t)isa_num_src(i->op);
    ir_mach_operands(f, i, &m);
    return m;
}

bool opt_selectable(const Function *f, const Inst *i) {
    if (ir_is_pseudo(i->op))
        return true;
    MachInst m = opt_mach(f, i);
    return isa_select_opcode(f->module->target, &m) != 0;
}

static bool sreg_is_constant(const Target *t, Operand o) {
    enum IsaVaries varies = o.kind == OPK_SREG ? isa_sreg_varies(t, o.value) : ISA_VARIES_TIME;
    return varies == ISA_VARIES_LANE || varies == ISA_VARIES_WARP;
}

bool opt_only_computes(const Function *f, const Inst *i) {
    if (ir_is_pseudo(i->op) && i->op != IR_FRAME_ADDR)
        return false;
    if (!op_is_always(i->guard) || i->ndst == 0 ||
        (i->flags & (IF_SYNC | IF_OBSERVING | IF_MEMORY | IF_SIDE_EFFECT | IF_CONVERGENT)))
        return false;
    if (isa_traits(i->op)->uniform == ISA_UNIFORM_BY_SREG &&
        !sreg_is_constant(f->module->target, f->operands.at[i->operand + i->ndst]))
        return false;
    FOR_DSTS(f, i, dst) {
        for (unsigned c = 0; dst->kind == OPK_VAL && c < dst->count; c++) {
            const Value *value = &f->values.at[ir_operand_value(f, *dst, c).i];
            if (value->fixed_reg >= 0 || value->file == RF_UR || value->file == RF_UP)
                return false;
        }
    }
    return true;
}

Operand opt_mov_before(Function *f, BlockId b, unsigned at, Operand o, LocId loc) {
    InstId id = ir_inst_new(f, OT_MOV, isa_num_dst(OT_MOV), isa_num_src(OT_MOV));
    ValId v = ir_value_new(f, RF_R);
    ir_value(f, v)->uniform = true;
    o.mods = 0;
    ir_set_dst(f, id, 0, ir_val(f, v));
    ir_set_src(f, id, MOV_rb, o);
    ir_inst(f, id)->loc = loc;
    ir_insert(f, b, at, id);
    return ir_val(f, v);
}

static uint32_t final_value(uint32_t *repl, uint32_t v) {
    uint32_t end = v;
    while (repl[end])
        end = repl[end];
    while (repl[v]) { /* so that long chains are walked once */
        uint32_t next = repl[v];
        repl[v] = end == v ? 0 : end;
        v = next;
    }
    return end;
}

void opt_rename(Function *f, uint32_t *repl) {
    for (uint32_t k = 0; k < f->vectors.n; k++)
        f->vectors.at[k] = final_value(repl, f->vectors.at[k]);
    FOR_BLOCKS(f, b)
        FOR_INSTS(f, b, i) {
            FOR_USES(f, i, o) {
                if (opt_scalar(*o))
                    o->value = final_value(repl, o->value);
            }
            if (opt_scalar(i->guard))
                i->guard.value = final_value(repl, i->guard.value);
        }
}
