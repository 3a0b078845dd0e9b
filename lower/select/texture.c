/* Selection of fetches from textures and of accesses to surfaces: PTX ISA 9.7.10, 9.7.11. Handles are given
 * in registers (the .B forms), coordinates as ptxas 13.0 gives them: layers up to 65535, directions of cubes
 * divided by their longest part, and one coordinate as the first of two. SPDX-License-Identifier: MIT */
#include "frontend/texture.h"
#include "isa/tables.h"
#include "lower/select/isel.h"

enum { MOST_LAYER = 0xffff, NO_LEVEL = (int)0xc2000000 /* -32.0: the base level, as of ptxas */ };

/* Constant-bank words of handles are a kernel's own. */
Operand sel_texture_handle(Sel *sel, const PtxOperand *operand) {
    uint32_t index = operand->sym - 1;
    const PtxVar *var = &sel->ptx->vars[index];
    if (!sel->f->is_entry) {
        sel_error(sel, "a texture or surface named in a function that is no kernel is not compiled");
        return op_imm(0);
    }
    if (!ptx_is_texture(var))
        return sel_launch_word(sel, sel->ti->param_base_bytes + (uint32_t)var->param_offset_bytes);
    StrId name = lower_name(sel->l, sel->ptx, var->name);
    return EMIT_R(sel, OT_MOV, 0, ir_sym(sel->f, name, 0, RELOC_TEXTURE));
}

static Operand handle_of(Sel *sel, const PtxOperand *operand) {
    return operand->reg ? sel_read_reg(sel, operand->reg, 0) : sel_texture_handle(sel, operand);
}

static bool has_register_handles(const Sel *sel) { return isa_row(sel->t, OC_TEX_R) != NULL; }

/* Of texture and sampler together. */
static Operand whole_handle(Sel *sel, const PtxTexture *t) {
    enum { SAMPLER_SHIFT = 20, TEXTURE_MASK = (1 << SAMPLER_SHIFT) - 1 };
    Operand handle = sel_value(sel, handle_of(sel, t->place));
    if (!t->sampler)
        return handle;
    Operand sampler = sel_shl(sel, sel_value(sel, handle_of(sel, t->sampler)), op_imm(SAMPLER_SHIFT));
    return sel_value(sel, sel_or(sel, sel_and(sel, handle, op_imm(TEXTURE_MASK)), sampler));
}

static void add(Sel *sel, Wide *list, Operand operand) { list->w[list->n++] = sel_value(sel, operand); }

/* The three parts divided by the longest. */
static void add_direction(Sel *sel, const PtxTexture *t, Wide *list) {
    Operand part[3];
    for (unsigned k = 0; k < 3; k++)
        part[k] = sel_value(sel, sel_src32(sel, t->coord[t->layered + k]));
    Operand longest = EMIT_R(sel, OT_FMNMX, 0, op_with(part[0], OPM_ABS), op_with(part[1], OPM_ABS), op_pf());
    longest = EMIT_R(sel, OT_FMNMX, 0, op_with(part[2], OPM_ABS), longest, op_pf());
    Operand inverse = sel_mufu(sel, Mufu_RCP, longest);
    for (unsigned k = 0; k < 3; k++)
        add(sel, list,
            EMIT_R(sel, OT_FMUL, MSET(FMUL, rnd, Rnd_RN) | MSET(FMUL, scale, FmulScale_NONE), part[k],
                   inverse));
}

static unsigned tex_dim(const PtxInsn *in, bool whole) {
    switch (in->sub) {
    case SUB_1D: return whole ? TexDim_D1 : TexDim_D2;
    case SUB_2D: return TexDim_D2;
    case SUB_3D: return TexDim_D3;
    case SUB_A1D: return TexDim_A1;
    case SUB_A2D: return TexDim_A2;
    case SUB_CUBE: return TexDim_CUBE;
    default: return TexDim_AC;
    }
}

/* The elements of what a statement reads or writes. */
static const PtxOperand *elements_of(const PtxOperand *value, unsigned *n) {
    *n = value->kind == PO_VEC ? value->nvec : 1;
    return value->kind == PO_VEC ? value->vec : value;
}

bool isel_tex(Sel *sel, const PtxInsn *in) {
    PtxTexture t = ptx_texture(in);
    if (!has_register_handles(sel))
        return sel_error(sel, "textures of this target need handles in uniform registers");
    bool has_level = in->sub2 == SUB_LEVEL, whole = t.integer;
    Wide at = {0}, rest = {0};
    if (t.layered)
        add(sel, &at, sel_minmax(sel, false, false, sel_src32(sel, t.coord[0]), op_imm(MOST_LAYER)));
    if (t.cube)
        add_direction(sel, &t, &at);
    for (unsigned k = t.layered; !t.cube && k < t.ncoords; k++)
        add(sel, &at, sel_src32(sel, t.coord[k]));
    if (in->sub == SUB_1D && !whole)
        add(sel, &at, op_imm(0));
    add(sel, &rest, whole_handle(sel, &t));
    bool base = in->sub2 == SUB_BASE || (whole && !has_level);
    if (!base)
        add(sel, &rest,
            has_level ? sel_src32(sel, &in->operands[in->ndst + 1u]) : op_imm((uint32_t)NO_LEVEL));
    unsigned lod = base ? TexLod_LZ : TexLod_LL, dim = tex_dim(in, whole);
    uint32_t mods = whole ? MSET(TLD, dim, dim) | MSET(TLD, bind, TexBind_B) | MSET(TLD, lod, lod) |
                                MSET(TLD, cl, has_level)
                          : MSET(TEX, dim, dim) | MSET(TEX, bind, TexBind_B) | MSET(TEX, lod, lod);
    _Static_assert((int)TEX_rd == (int)TLD_rd && (int)TEX_rd2 == (int)TLD_rd2, "the same slots");
    Operand src[2] = {sel_wide_vec(sel, at)};
    src[1] = sel_wide_vec(sel, rest);
    InstId id = sel_emit(sel, whole ? OT_TLD : OT_TEX, mods, 2, src);
    Operand high = sel_add_dsts(sel, id, TEX_rd2, RF_R, 2), low = sel_add_dsts(sel, id, TEX_rd, RF_R, 2);
    unsigned n;
    const PtxOperand *element = elements_of(t.result, &n);
    for (unsigned k = 0; k < n; k++)
        sel_write32(sel, &element[k], TY_B32, sel_part(sel, k < 2 ? low : high, k & 1));
    return true;
}

bool isel_txq(Sel *sel, const PtxInsn *in) {
    PtxTexture t = ptx_texture(in);
    if (!has_register_handles(sel))
        return sel_error(sel, "textures of this target need handles in uniform registers");
    Wide at = {0};
    add(sel, &at, handle_of(sel, t.place));
    add(sel, &at, op_imm(0)); /* level */
    unsigned part = in->sub == SUB_WIDTH ? 0 : in->sub == SUB_HEIGHT ? 1 : 2;
    Operand src[TXQ_parts + 1] = {[TXQ_ra] = sel_wide_vec(sel, at), [TXQ_parts] = op_imm(1u << part)};
    InstId id = sel_emit(sel, OT_TXQ, MSET(TXQ, bind, TexBind_B), TXQ_parts + 1, src);
    sel_write32(sel, t.result, TY_B32, sel_add_dsts(sel, id, TXQ_rd, RF_R, 1));
    return true;
}

/* ---- surfaces ---- */

static unsigned surf_dim(const PtxInsn *in) {
    switch (in->sub) {
    case SUB_1D: return SurfDim_D1;
    case SUB_2D: return SurfDim_D2;
    case SUB_3D: return SurfDim_D3;
    case SUB_A1D: return SurfDim_A1;
    default: return SurfDim_A2;
    }
}
static unsigned surf_out(const PtxInsn *in) {
    return in->sub2 == SUB_TRAP ? SurfOut_TRAP : in->sub2 == SUB_CLAMP ? SurfOut_CLAMP : SurfOut_IGN;
}
static unsigned access_size(unsigned bytes) {
    return bytes == 1   ? MemSz_U8
           : bytes == 2 ? MemSz_U16
           : bytes == 4 ? MemSz_32
           : bytes == 8 ? MemSz_64
                        : MemSz_128;
}

/* The layer stands last. */
static Operand surf_place(Sel *sel, const PtxTexture *t) {
    Wide at = {0};
    for (unsigned k = t->layered; k < t->ncoords; k++)
        add(sel, &at, sel_src32(sel, t->coord[k]));
    if (t->layered)
        add(sel, &at, sel_src32(sel, t->coord[0]));
    return sel_wide_vec(sel, at);
}

static bool surface_fits(Sel *sel, const PtxInsn *in) {
    if (!has_register_handles(sel))
        return sel_error(sel, "surfaces of this target need handles in uniform registers");
    return in->vec * ptx_type_bytes(sel_type(in)) <= 16 || sel_error(sel, "it moves more than 128 bits");
}

bool isel_suld(Sel *sel, const PtxInsn *in) {
    PtxTexture t = ptx_texture(in);
    unsigned bytes = ptx_type_bytes(sel_type(in)), total = bytes * in->vec, n;
    if (!surface_fits(sel, in))
        return false;
    Operand place = surf_place(sel, &t), src[] = {place, sel_value(sel, handle_of(sel, t.place))};
    InstId id = sel_emit(sel, OT_SULD,
                         MSET(SULD, dim, surf_dim(in)) | MSET(SULD, out, surf_out(in)) |
                             MSET(SULD, sz, access_size(total)) | MSET(SULD, order, MemOrder_STRONG_SM),
                         2, src);
    Operand data = sel_add_dsts(sel, id, SULD_rd, RF_R, total < 4 ? 1 : total / 4);
    const PtxOperand *element = elements_of(t.result, &n);
    for (unsigned k = 0; k < n; k++) {
        unsigned at = k * bytes;
        Wide part = wide1(sel_part(sel, data, at / 4));
        if (bytes < 4) /* what is above an element is cleared: registers may be wider */
            part.w[0] = sel_extend(sel, sel_shr(sel, false, part.w[0], op_imm(at % 4 * 8)), bytes, false);
        if (bytes == 8)
            part = wide2(part.w[0], sel_part(sel, data, at / 4 + 1));
        sel_write(sel, &element[k], sel_type(in), part);
    }
    return true;
}

bool isel_sust(Sel *sel, const PtxInsn *in) {
    PtxTexture t = ptx_texture(in);
    unsigned bytes = ptx_type_bytes(sel_type(in)), total = bytes * in->vec, n;
    if (!surface_fits(sel, in))
        return false;
    Wide data = {.n = total < 4 ? 1 : total / 4};
    const PtxOperand *element = elements_of(t.result, &n);
    for (unsigned k = 0; k < n; k++) {
        unsigned at = k * bytes, word = at / 4;
        Wide part = sel_src(sel, &element[k], bytes);
        if (bytes < 4) {
            Operand narrow = sel_extend(sel, sel_value(sel, part.w[0]), bytes, false);
            Operand moved = at % 4 ? sel_shl(sel, narrow, op_imm(at % 4 * 8)) : narrow;
            data.w[word] = at % 4 ? sel_or(sel, data.w[word], moved) : moved;
        } else {
            for (unsigned c = 0; c < part.n; c++)
                data.w[word + c] = part.w[c];
        }
    }
    for (unsigned k = 0; k < data.n; k++)
        data.w[k] = sel_value(sel, data.w[k]);
    Operand place = surf_place(sel, &t), value = sel_wide_vec(sel, data);
    Operand src[] = {place, value, sel_value(sel, handle_of(sel, t.place))};
    sel_emit(sel, OT_SUST,
             MSET(SUST, dim, surf_dim(in)) | MSET(SUST, out, surf_out(in)) |
                 MSET(SUST, sz, access_size(total)) | MSET(SUST, order, MemOrder_STRONG_SM),
             3, src);
    return true;
}

bool isel_sured(Sel *sel, const PtxInsn *in) {
    PtxTexture t = ptx_texture(in);
    unsigned bytes = ptx_type_bytes(sel_type(in));
    if (!surface_fits(sel, in))
        return false;
    Wide data = sel_src(sel, t.result, bytes);
    for (unsigned k = 0; k < data.n; k++)
        data.w[k] = sel_value(sel, data.w[k]);
    unsigned op = in->atom == ATOM_ADD   ? RedOp_ADD
                  : in->atom == ATOM_MIN ? RedOp_MIN
                  : in->atom == ATOM_MAX ? RedOp_MAX
                  : in->atom == ATOM_AND ? RedOp_AND
                                         : RedOp_OR;
    unsigned type = bytes == 8 ? SuredType_U64 : sel_type(in) == TY_S32 ? SuredType_S32 : SuredType_U32;
    Operand place = surf_place(sel, &t), value = sel_wide_vec(sel, data);
    Operand src[] = {place, value, sel_value(sel, handle_of(sel, t.place))};
    sel_emit(sel, OT_SURED,
             MSET(SURED, dim, surf_dim(in)) | MSET(SURED, out, surf_out(in)) | MSET(SURED, op, op) |
                 MSET(SURED, type, type) | MSET(SURED, order, MemOrder_STRONG_SYS),
             3, src);
    return true;
}
