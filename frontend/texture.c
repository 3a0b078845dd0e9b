/* SPDX-License-Identifier: MIT */
#include "frontend/texture.h"

unsigned ptx_texture_ncoords(unsigned geometry) {
    switch (geometry) {
    case SUB_1D: return 1;
    case SUB_2D:
    case SUB_A1D: return 2;
    case SUB_ACUBE: return 4;
    default: return 3;
    }
}

bool ptx_asks_texture(const PtxInsn *insn) {
    switch (insn->op) {
    case PTX_TEX:
    case PTX_TXQ:
    case PTX_SULD:
    case PTX_SUST:
    case PTX_SURED:
    case PTX_SUQ: return true;
    default: return false;
    }
}

bool ptx_copies_tensor(const PtxInsn *insn) {
    for (unsigned k = 0; insn->op == PTX_CP && k < insn->noperands; k++)
        if (insn->operands[k].kind == PO_ADDR && insn->operands[k].nvec)
            return true;
    return false;
}

bool ptx_is_texture(const PtxVar *var) {
    return var->space == SP_TEX || (ptx_type_class(var->type) == TC_OPAQUE && var->space != SP_PARAM &&
                                    var->space != SP_PARAM_FUNC && var->space != SP_REG);
}

PtxTexture ptx_texture(const PtxInsn *insn) {
    bool stores = insn->op == PTX_SUST || insn->op == PTX_SURED;
    PtxTexture t = {.result = &insn->operands[stores ? 1 : 0],
                    .place = &insn->operands[stores ? 0 : insn->ndst],
                    .layered = insn->sub == SUB_A1D || insn->sub == SUB_A2D || insn->sub == SUB_ACUBE,
                    .cube = insn->sub == SUB_CUBE || insn->sub == SUB_ACUBE,
                    .integer = insn->op != PTX_TEX || insn->type[1] == TY_S32};
    if (!t.place->nvec)
        return t;
    const PtxOperand *at = &t.place->vec[t.place->nvec - 1];
    t.sampler = t.place->nvec > 1 ? &t.place->vec[0] : NULL;
    t.ncoords = ptx_texture_ncoords(insn->sub);
    for (unsigned k = 0; k < t.ncoords; k++)
        t.coord[k] = at->kind == PO_VEC ? &at->vec[k] : at;
    return t;
}
