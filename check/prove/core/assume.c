/* What the proof of a function rests on: see assume.def. The executor of the PTX notes the statements whose
 * meaning it takes from the library or from a loop; what PTX demands of all lanes follows from the operation.
 * SPDX-License-Identifier: MIT */
#include "check/prove/core/core.h"
#include <string.h>

static const struct {
    const char *name, *text;
    bool compiler;
} kinds[ASSUME_COUNT] = {
#define PROGRAM false
#define COMPILER true
#define ASSUME(id, name, whose, text) [ASSUME_##id] = {name, text, whose},
#include "check/prove/assume.def"
#undef ASSUME
#undef COMPILER
#undef PROGRAM
};

const char *prove_assumed_name(ProveAssumed kind) { return kinds[kind].name; }
const char *prove_assumed_text(ProveAssumed kind) { return kinds[kind].text; }
bool prove_assumed_of_compiler(ProveAssumed kind) { return kinds[kind].compiler; }

void prove_assume(Prover *prover, uint32_t statement, ProveAssumed kind) {
    if (statement < prover->pf->ninsns)
        prover->assumed[statement] |= (uint8_t)(1u << kind);
}

static unsigned demands(const PtxInsn *insn) {
    if (insn->flags & (PF_APPROX | PF_FULL))
        return 1u << ASSUME_APPROXIMATE;
    if (insn->flags & PF_ALIGNED)
        return 1u << ASSUME_WARP;
    switch (insn->op) {
    case PTX_SHFL:
    case PTX_VOTE:
    case PTX_MATCH:
    case PTX_REDUX:
    case PTX_ELECT: return 1u << ASSUME_MASK;
    case PTX_BAR: return insn->sub == SUB_WARP ? 1u << ASSUME_MASK : 0;
    default: return 0;
    }
}

/* One entry for each kind and operation, with the line of its first statement. */
static void note(const Prover *prover, ProveReport *report, const char *func, uint32_t statement,
                 ProveAssumed kind) {
    const PtxInsn *insn = &prover->pf->insns[statement];
    const char *op = ptx_op_name((PtxOp)insn->op);
    for (uint32_t k = 0; k < report->assumptions.n; k++) {
        const ProveAssumption *old = &report->assumptions.at[k];
        if (old->kind == kind && old->func == func && strcmp(old->op, op) == 0)
            return;
    }
    VEC_ADD(&report->arena, &report->assumptions,
            ((ProveAssumption){func, op, kind, ptx_line(prover->module, insn)}));
}

void prove_assumptions(const Prover *prover, ProveReport *report, const char *func) {
    for (uint32_t s = 0; s < prover->pf->ninsns; s++) {
        const PtxInsn *in = &prover->pf->insns[s];
        unsigned all = prover->assumed[s] | demands(in);
        if (prover->foreign_steps && all & 1u << ASSUME_LIBRARY &&
            ptx_type_class((PtxType)in->type[0]) == TC_FLOAT)
            all |= 1u << ASSUME_MUFU;
        for (unsigned kind = 0; kind < ASSUME_COUNT; kind++)
            if (all & 1u << kind)
                note(prover, report, func, s, (ProveAssumed)kind);
    }
}
