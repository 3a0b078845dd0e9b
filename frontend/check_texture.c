/* The place in a texture or surface that an operand names: `[texture, {x, y}]`, `[texture, sampler, {x, y}]`.
 * Vectors may have more elements than coordinates that count: the document has four for three, and old
 * compilers wrote four always.
 * SPDX-License-Identifier: MIT */
#include "frontend/check.h"
#include "frontend/texture.h"

static bool is_handle(const Check *check, uint32_t reg) {
    PtxType t = check->f->regs[reg].type;
    return ptx_type_bytes(t) == 8 && ptx_type_class(t) != TC_FLOAT;
}

static bool is_opaque(const Check *check, const PtxOperand *operand) {
    const PtxVar *var =
        operand->sym && !(operand->sym & PTX_SYM_FUNC) ? &check->m->vars[operand->sym - 1] : NULL;
    return var && (ptx_is_texture(var) || ptx_type_class(var->type) == TC_OPAQUE) && !operand->imm;
}

static bool check_coords(const Check *check, const PtxInsn *i, unsigned n, PtxType t, PtxOperand *at) {
    unsigned want = ptx_texture_ncoords(i->sub);
    bool layered = i->sub == SUB_A1D || i->sub == SUB_A2D || i->sub == SUB_ACUBE;
    PtxType index = i->op == PTX_TEX || i->op == PTX_TLD4 ? TY_U32 : TY_B32; /* of surfaces as ptxas has it */
    if (at->kind != PO_VEC && want > 1)
        return ptx_wrong_kind(check, i, n, at, "a list of coordinates in braces");
    if (at->kind != PO_VEC)
        return ptx_check_value(check, i, n, t, at);
    if (at->nvec < want || at->nvec > 4)
        return diag(check->d, at->loc, DIAG_E0129, n, ptx_insn_text(check, i), want, (unsigned)at->nvec);
    for (unsigned k = 0; k < want; k++)
        if (!ptx_check_value(check, i, n, k == 0 && layered ? index : t, &at->vec[k]))
            return false;
    return true;
}

bool ptx_check_steps(const Check *check, const PtxInsn *i, unsigned n, PtxType t, PtxOperand *operand) {
    unsigned want = ptx_texture_dims(i->sub);
    if (operand->kind != PO_VEC && t == TY_S32 && want < 3)
        return ptx_check_value(check, i, n, TY_F32, operand);
    if (operand->kind != PO_VEC)
        return ptx_wrong_kind(check, i, n, operand, "a list in braces, one for each dimension");
    if (operand->nvec < want || operand->nvec == 3 || operand->nvec > 4)
        return diag(check->d, operand->loc, DIAG_E0129, n, ptx_insn_text(check, i), want == 3 ? 4 : want,
                    (unsigned)operand->nvec);
    for (unsigned k = 0; k < operand->nvec; k++)
        if (!ptx_check_value(check, i, n, t, &operand->vec[k]))
            return false;
    return true;
}

bool ptx_check_texture(const Check *check, const PtxInsn *i, unsigned n, bool alone, PtxType t,
                       PtxOperand *operand) {
    if (operand->kind != PO_ADDR || operand->nvec > (alone ? 0 : 2) || (!alone && !operand->nvec))
        return ptx_wrong_kind(check, i, n, operand,
                              alone ? "a texture or surface" : "a texture or surface with coordinates");
    if (operand->reg ? !is_handle(check, operand->reg) || operand->imm : !is_opaque(check, operand))
        return ptx_wrong_kind(check, i, n, operand, "a texture or surface by name, or a handle of 64 bits");
    if (alone)
        return true;
    bool filters = i->op == PTX_TEX || i->op == PTX_TLD4;
    if (operand->nvec < 2 && filters && ptx_own_samplers(check->m))
        return ptx_wrong_kind(check, i, n, operand,
                              "a texture and a sampler: .target says texmode_independent");
    if (operand->nvec == 2) {
        const PtxOperand *sampler = &operand->vec[0];
        if (sampler->kind == PO_REG ? !is_handle(check, sampler->reg) : !is_opaque(check, sampler))
            return ptx_wrong_kind(check, i, n, sampler, "a sampler by name, or a handle of 64 bits");
    }
    return check_coords(check, i, n, t, &operand->vec[operand->nvec - 1]);
}
