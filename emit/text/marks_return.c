/* How a function returns, for those who call it by an immediate (ptxas's whole programs).
 *
 * From the entry the code is followed along branches and past calls to every RET. The return address is in
 * the register of such a RET, or in one that is copied there: ptxas 13.0 writes `MOV R12, 0x230` before the
 * call, `MOV R6, R12` and `RET.REL.NODEC R6` behind the entry. Where no RET is reached nothing comes back: at
 * -O3 loops are left by `@P0 CALL.REL.NOINC` of the code that ends in EXIT, without a return address. A
 * branch whose target is not known may lead to a RET. SPDX-License-Identifier: MIT */
#include "emit/text/marks.h"

enum { REGISTERS = 256 };

static bool is_always(const MachInst *in) {
    unsigned second = isa_traits(in->optype)->second_guard;
    return op_is_always(in->guard) && (second == ISA_NO_SLOT || op_is_always(in->src[second]));
}

static bool is_reg(Operand o) { return o.kind == OPK_REG && o.file == RF_R && o.value != REG_RZ; }

/* Of a register into one; also `IMAD.MOV.U32 R6, RZ, RZ, R12`. */
static bool is_copy(const MachInst *in) {
    bool product = in->optype == OT_IMAD && in->src[0].kind == OPK_REG && in->src[0].value == REG_RZ;
    return (in->optype == OT_MOV || product) && in->ndst && is_reg(in->dst[0]);
}

static void add_sources(const MachInst *in, Bitset *regs) {
    for (unsigned k = 0; k < in->nsrc; k++)
        if (is_reg(in->src[k]))
            bs_add(regs, in->src[k].value);
}

/* The instruction that a direct branch at `i` leads to; false if that is not known. */
static bool target_of(const MachInst *in, uint32_t i, uint32_t ninsts, uint32_t *target) {
    bool has_wide = false;
    for (unsigned k = 0; k < in->nsrc; k++)
        has_wide |= in->src[k].kind == OPK_IMM64;
    uint64_t place = (i + 1ull) * INST_BYTES + (uint64_t)in->wide;
    *target = (uint32_t)(place / INST_BYTES);
    return has_wide && !isa_is_absolute(in->optype, in->mods) && place % INST_BYTES == 0 &&
           place / INST_BYTES < ninsts;
}

typedef struct {
    const CallCode *code;
    Returns *returns;
    Bitset reached;
    VEC(uint32_t) open;
} Walk;

static void reach(Walk *walk, uint32_t i) {
    if (i < walk->code->ninsts && !bs_has(&walk->reached, i)) {
        bs_add(&walk->reached, i);
        VEC_ADD(walk->code->a, &walk->open, i);
    }
}

static void walk_on(Walk *walk, uint32_t i) {
    const MachInst *in = &walk->code->insts[i];
    uint32_t target;
    if (in->optype == OT_NONE) {
        walk->returns->may_return = true;
        return;
    }
    unsigned flow = isa_traits(in->optype)->flow;
    bool leaves =
        flow == ISA_FLOW_BRANCH || flow == ISA_FLOW_INDIRECT || flow == ISA_FLOW_RET || flow == ISA_FLOW_EXIT;
    if (flow == ISA_FLOW_RET) {
        walk->returns->may_return = walk->returns->is_known = true;
        add_sources(in, &walk->returns->regs);
    } else if (flow == ISA_FLOW_BRANCH && target_of(in, i, walk->code->ninsts, &target))
        reach(walk, target);
    else if (flow == ISA_FLOW_BRANCH || flow == ISA_FLOW_INDIRECT)
        walk->returns->may_return = true;
    if (!leaves || !is_always(in))
        reach(walk, i + 1);
}

static Returns walk_from(const CallCode *code, uint32_t entry) {
    Returns returns = {.entry = entry, .regs = bs_new(code->a, REGISTERS)};
    Walk walk = {code, &returns, bs_new(code->a, code->ninsts), {0}};
    reach(&walk, entry);
    while (walk.open.n)
        walk_on(&walk, walk.open.at[--walk.open.n]);
    for (uint32_t i = code->ninsts; i-- > 0;)
        if (bs_has(&walk.reached, i) && is_copy(&code->insts[i]) &&
            bs_has(&returns.regs, code->insts[i].dst[0].value))
            add_sources(&code->insts[i], &returns.regs);
    return returns;
}

const Returns *disasm_marks_returns(CallCode *code, uint32_t entry) {
    for (uint32_t k = 0; k < code->known.n; k++)
        if (code->known.at[k].entry == entry)
            return &code->known.at[k];
    VEC_ADD(code->a, &code->known, walk_from(code, entry));
    return &code->known.at[code->known.n - 1];
}
