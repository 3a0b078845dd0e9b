/* Operands by meaning. It asks for statements by name: the patterns of forms say where a place may stand, not
 * what it means. SPDX-License-Identifier: MIT */
#include "frontend/texture.h"
#include <string.h>

unsigned ptx_texture_ncoords(unsigned geometry) {
    switch (geometry) {
    case SUB_1D: return 1;
    case SUB_2D:
    case SUB_A1D: return 2;
    case SUB_ACUBE: return 4;
    default: return 3;
    }
}

unsigned ptx_texture_dims(unsigned geometry) {
    bool layered = geometry == SUB_A1D || geometry == SUB_A2D || geometry == SUB_ACUBE;
    return ptx_texture_ncoords(geometry) - layered;
}

bool ptx_asks_texture(const PtxInsn *insn) {
    switch (insn->op) {
    case PTX_TEX:
    case PTX_TLD4:
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

const PtxOperand *ptx_expected_bytes(const PtxModule *module, const PtxInsn *insn) {
    bool expects =
        insn->op == PTX_MBARRIER && strstr(str_text(&module->strings, insn->mods_text), ".expect_tx");
    return expects ? &insn->operands[insn->ndst + 1] : NULL;
}

bool ptx_is_texture(const PtxVar *var) {
    return var->space == SP_TEX || (ptx_type_class(var->type) == TC_OPAQUE && var->space != SP_PARAM &&
                                    var->space != SP_PARAM_FUNC && var->space != SP_REG);
}

uint32_t ptx_handle_kind(PtxType t) {
    return t == TY_SURFREF ? 0x80000000u : t == TY_SAMPLERREF ? 0x40000000u : 0x20000000u;
}

bool ptx_own_samplers(const PtxModule *module) {
    return strstr(str_text(&module->strings, module->target_text), "texmode_independent");
}

static void take_steps(const PtxInsn *insn, const PtxOperand *list, const PtxOperand *out[3]) {
    for (unsigned k = 0; k < ptx_texture_dims(insn->sub); k++)
        out[k] = &list->vec[k];
}

/* What stands behind the place. */
static void take_rest(const PtxInsn *insn, PtxTexture *t) {
    unsigned at = insn->ndst + 1u;
    if (insn->sub2 == SUB_LEVEL)
        t->level = &insn->operands[at++];
    for (unsigned k = 0; k < 2 && insn->sub2 == SUB_GRAD; k++)
        take_steps(insn, &insn->operands[at++], t->grad[k]);
    if (at < insn->noperands && insn->operands[at].kind == PO_VEC)
        take_steps(insn, &insn->operands[at++], t->offset);
    if (at < insn->noperands)
        t->compare = &insn->operands[at];
}

PtxTexture ptx_texture(const PtxInsn *insn) {
    bool stores = insn->op == PTX_SUST || insn->op == PTX_SURED;
    PtxTexture t = {.result = &insn->operands[stores ? 1 : 0],
                    .place = &insn->operands[stores ? 0 : insn->ndst],
                    .layered = insn->sub == SUB_A1D || insn->sub == SUB_A2D || insn->sub == SUB_ACUBE,
                    .cube = insn->sub == SUB_CUBE || insn->sub == SUB_ACUBE,
                    .resident = !stores && insn->ndst > 1 ? &insn->operands[1] : NULL,
                    .integer = (insn->op != PTX_TEX && insn->op != PTX_TLD4) || insn->type[1] == TY_S32};
    if (!stores)
        take_rest(insn, &t);
    if (!t.place->nvec)
        return t;
    const PtxOperand *at = &t.place->vec[t.place->nvec - 1];
    t.sampler = t.place->nvec > 1 ? &t.place->vec[0] : NULL;
    t.ncoords = ptx_texture_ncoords(insn->sub);
    for (unsigned k = 0; k < t.ncoords; k++)
        t.coord[k] = at->kind == PO_VEC ? &at->vec[k] : at;
    return t;
}

TensorField ptx_tensor_field(const PtxInsn *insn) {
    static const uint8_t fields[] = {
#define TENSOR_FIELD(name, dims, most, less) [SUB_##name] = TENSOR_##name + 1,
#include "isa/machine/tensormap.def"
    };
    unsigned field = insn->sub < sizeof fields ? fields[insn->sub] : 0;
    return field ? (TensorField)(field - 1) : TENSOR_FIELDS;
}
