/* Statements outside of any launch, whose operands are known: see interp.h. They are decoded and executed as
 * a launch's are, by a thread that has nothing but registers. SPDX-License-Identifier: MIT */
#include "sim/interp/run.h"

struct PtxConstants {
    PtxRun run;
    PtxProc proc;
    PtxThread thread;
    Diags diags; /* nobody is told what is not executed */
    uint32_t warned;
};

PtxConstants *interp_constants(const PtxModule *module, const PtxFunc *func, Arena *arena) {
    PtxConstants *constants = ARENA_NEW(arena, PtxConstants);
    constants->run = (PtxRun){.module = module, .d = &constants->diags};
    constants->proc = (PtxProc){.func = func};
    return constants;
}

static bool reads_no_memory(const PtxOperand *operand) {
    bool plain = operand->kind == PO_REG || operand->kind == PO_IMM || operand->kind == PO_VEC;
    for (unsigned i = 0; plain && operand->kind == PO_VEC && i < operand->nvec; i++)
        plain = operand->vec[i].kind == PO_REG || operand->vec[i].kind == PO_IMM;
    return plain;
}

/* Operations without a memory, other threads or a carry. */
static bool only_computes(const PtxCode *code) {
    return code->exec == interp_exec_pure || code->insn->op == PTX_SETP || code->insn->op == PTX_MOV;
}

bool interp_constant(PtxConstants *constants, const PtxInsn *insn, uint64_t *regs) {
    PtxCode code = {.insn = insn, .warned = &constants->warned};
    if (insn->op == PTX_CALL || insn->type[0] == TY_B128 || insn->ndst != 1 ||
        insn->operands[0].kind != PO_REG)
        return false;
    for (unsigned i = 1; i < insn->noperands; i++)
        if (!reads_no_memory(&insn->operands[i]))
            return false;
    bool computes = interp_decode_insn(&constants->run, &constants->proc, &code) && only_computes(&code);
    constants->thread.regs = regs;
    if (computes)
        code.exec(&constants->run, &constants->thread, &code);
    arena_free(&constants->run.arena);
    return computes;
}
