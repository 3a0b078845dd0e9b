/* Physical machine IR as MachInst: see emit.h.
 * SPDX-License-Identifier: MIT */
#include "emit/emit.h"
#include "isa/machine/latency.h"

MachInst emit_mach(const Function *f, const Inst *i) {
    MachInst m = isa_inst(i->op);
    m.mods = i->mods;
    m.ctrl = ir_control(i->sched);
    /* absent, it encodes as the guard field's default, of its own file: uniform operations have UPT */
    m.guard = op_is_always(i->guard) ? (Operand){0} : i->guard;
    ir_mach_operands(f, i, &m);
    return m;
}

static unsigned add_cells(Operand o, unsigned operand, CellRef *out, unsigned n) {
    static const uint16_t first[RF_B] = {0, CELL_P, CELL_UR, CELL_UP};
    static const uint16_t zero[RF_B] = {REG_RZ, REG_PT, NUM_UR, REG_UPT};
    if (o.kind != OPK_REG || o.file >= RF_B || o.value == zero[o.file])
        return n;
    unsigned count = o.count ? o.count : 1;
    for (unsigned c = 0; c < count && o.value + c < zero[o.file] && n < MAX_CELL_REFS; c++)
        out[n++] = (CellRef){(uint16_t)(first[o.file] + o.value + c), (uint8_t)operand, (uint8_t)c};
    return n;
}

static unsigned add_named_predicates(const MachInst *inst, CellRef *out, unsigned n) {
    RegFile file;
    uint32_t named = isa_named_predicates(inst, &file);
    for (unsigned p = 0; p < REG_PT && n < MAX_CELL_REFS; p++)
        if (named >> p & 1)
            out[n++] = (CellRef){(uint16_t)((file == RF_UP ? CELL_UP : CELL_P) + p), 0, 0};
    return n;
}

unsigned emit_writes(const MachInst *inst, CellRef out[MAX_CELL_REFS]) {
    unsigned n = 0;
    for (unsigned k = 0; k < inst->ndst; k++)
        n = add_cells(inst->dst[k], k, out, n);
    return isa_has_effect(inst->optype, ISA_EFFECT_WRITES_ALL_P) ? add_named_predicates(inst, out, n) : n;
}

unsigned emit_reads(const MachInst *inst, CellRef out[MAX_CELL_REFS]) {
    unsigned n = 0;
    for (unsigned k = 0; k < inst->nsrc; k++)
        n = add_cells(inst->src[k], k, out, n);
    n = add_cells(inst->guard, LATENCY_GUARD, out, n);
    return isa_has_effect(inst->optype, ISA_EFFECT_READS_ALL_P) ? add_named_predicates(inst, out, n) : n;
}

bool emit_is_call_boundary(const MachInst *inst) {
    return isa_has_effect(inst->optype, ISA_EFFECT_CALL | ISA_EFFECT_RETURN);
}
