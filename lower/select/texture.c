/* Selection of fetches from textures and of accesses to surfaces: PTX ISA 9.7.10, 9.7.11. Handles are given
 * in registers (the .B forms), or, where there are none of these, in uniform registers. Coordinates are as
 * ptxas 13.0 gives them: layers up to 65535, directions of cubes divided by their longest part, and one
 * coordinate as the first of two.
 *
 * A handle that each lane may have for itself goes to the uniform register of one lane after the other:
 *
 *     next:  R2UR UR4, handle              of the lowest of the lanes that are here
 *            ISETP.EQ P0, PT, handle, UR4
 *        @P0 TEX ..., UR4
 *       @!P0 BRA next
 *
 * in one block, so that no lanes run between that have another. SPDX-License-Identifier: MIT */
#include "frontend/param_layout.h"
#include "frontend/texture.h"
#include "isa/tables.h"
#include "lower/select/isel.h"

enum { SAMPLER_SHIFT = 20, TEXTURE_MASK = (1 << SAMPLER_SHIFT) - 1 /* of a handle */ };
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
        return sel_launch_word(
            sel, sel->ti->param_base_bytes +
                     (uint32_t)ptx_param_offset(sel->ptx, sel->pf, var, sel->ti->param_base_bytes));
    StrId name = lower_name(sel->l, sel->ptx, var->name);
    return EMIT_R(sel, OT_MOV, 0, ir_sym(sel->f, name, 0, RELOC_TEXTURE));
}

Wide sel_named_handle(Sel *sel, const PtxOperand *operand) {
    PtxType type = sel->ptx->vars[operand->sym - 1].type;
    Operand word = sel_value(sel, sel_texture_handle(sel, operand));
    if (type == TY_SAMPLERREF)
        word = sel_value(sel, sel_and(sel, word, op_imm(TEXTURE_MASK)));
    return wide2(word, op_imm(ptx_handle_kind(type)));
}

/* istypep: a handle that somebody else made, a host's texture object, is of none of the three kinds. */
bool isel_istypep(Sel *sel, const PtxInsn *in) {
    Wide handle = sel_src(sel, &in->operands[1], 8);
    Operand kind = sel_and(sel, sel_value(sel, handle.w[1]), op_imm(ptx_handle_kind(in->type[0])));
    sel_write_pred(sel, &in->operands[0], sel_isetp(sel, false, ICmp_NE, sel_value(sel, kind), op_imm(0)));
    return true;
}

static Operand handle_of(Sel *sel, const PtxOperand *operand) {
    return operand->reg ? sel_read_reg(sel, operand->reg, 0) : sel_texture_handle(sel, operand);
}

static bool has_register_handles(const Sel *sel) { return isa_row(sel->t, OC_TEX_R) != NULL; }

/* Of texture and sampler together. */
static Operand whole_handle(Sel *sel, const PtxTexture *t) {
    Operand handle = sel_value(sel, handle_of(sel, t->place));
    if (!t->sampler)
        return handle;
    Operand sampler = sel_shl(sel, sel_value(sel, handle_of(sel, t->sampler)), op_imm(SAMPLER_SHIFT));
    return sel_value(sel, sel_or(sel, sel_and(sel, handle, op_imm(TEXTURE_MASK)), sampler));
}

/* ---- handles in uniform registers ---- */

/* A handle as an operation takes it. Between begin_handle and end_handle stands that operation alone, whose
 * other operands are in registers already. */
typedef struct {
    Operand in_reg, uniform; /* one of them; a source that is not there is OPK_NONE */
    Operand mine;            /* it is this lane's; OPK_NONE: it is every lane's */
    BlockId next;            /* where the others go */
} Handle;

/* The word of constant memory that the value is, if it is known to be one. */
static Operand constant_word(const Sel *sel, Operand value) {
    const Inst *def = ir_inst(sel->f, ir_value(sel->f, (ValId){value.value})->def);
    for (unsigned k = 0; def->op == OT_MOV || def->op == OT_LDC ? k < def->nsrc : false; k++) {
        const Operand *src = ir_src(sel->f, def, k);
        bool base = src->kind == OPK_REG && src->value == REG_RZ;
        if (src->kind == OPK_CMEM && (def->op == OT_MOV || MGET(LDC, sz, def->mods) == MemSz_32))
            return *src;
        if (!base && src->kind != OPK_NONE)
            break;
    }
    return op_none();
}

/* Is the handle the same for all lanes? */
static bool is_every_lanes(Sel *sel, const PtxOperand *operand) {
    return !operand || !operand->reg || constant_word(sel, sel_read_reg(sel, operand->reg, 0)).kind;
}

/* UR holds what the one lane has until lanes part: nothing may come between. */
static Operand in_uniform(Sel *sel, unsigned op, unsigned slot, Operand src) {
    Operand sources[2] = {op_none()};
    sources[slot] = src;
    _Static_assert((int)R2UR_urd == (int)ULDC_urd && (int)R2UR_urd == (int)UMOV_urd, "the same slots");
    InstId id = sel_emit(sel, op, 0, slot + 1, sources);
    ir_inst(sel->f, id)->flags |= IF_CONVERGENT;
    return sel_add_dst(sel, id, R2UR_urd, RF_UR);
}

/* handle: a register; pair: textures read a second word, which is 0. */
static Handle begin_handle(Sel *sel, Operand handle, bool same, bool pair) {
    if (has_register_handles(sel))
        return (Handle){.in_reg = handle};
    Handle out = {0};
    if (!same) {
        out.next = sel_block_new(sel);
        sel_jump(sel, out.next);
        sel_begin(sel, out.next);
    }
    Operand word = constant_word(sel, handle);
    Operand low =
        word.kind ? in_uniform(sel, OT_ULDC, ULDC_cb, word) : in_uniform(sel, OT_R2UR, R2UR_ra, handle);
    out.uniform = low;
    if (pair) {
        Operand high = in_uniform(sel, OT_UMOV, UMOV_urb, op_reg(RF_UR, REG_URZ, 1));
        out.uniform = ir_vec(sel->f, (ValId[]){{low.value}, {high.value}}, 2);
    }
    if (!same)
        out.mine = sel_isetp(sel, false, ICmp_EQ, handle, low);
    return out;
}

/* The operation is guarded; lanes whose turn it was not keep anything, and try again. */
static void end_handle(Sel *sel, const Handle *handle, InstId id) {
    if (handle->mine.kind == OPK_NONE)
        return;
    ir_set_guard(sel->f, id, handle->mine);
    unsigned ndst = ir_inst(sel->f, id)->ndst;
    for (unsigned d = 0; d < ndst; d++) {
        Operand result = *ir_dst(sel->f, ir_inst(sel->f, id), d);
        ValId old[4];
        for (unsigned c = 0; result.kind == OPK_VAL && c < result.count; c++) {
            InstId undef = ir_inst_new(sel->f, IR_UNDEF, 1, 0);
            old[c] = ir_value_new(sel->f, result.file);
            ir_set_dst(sel->f, undef, 0, ir_val(sel->f, old[c]));
            ir_inst(sel->f, undef)->loc = sel->loc;
            ir_insert(sel->f, sel->cur, ir_block(sel->f, sel->cur)->insts.n - 1, undef);
        }
        if (result.kind == OPK_VAL)
            *ir_tied(sel->f, ir_inst(sel->f, id), d) = ir_vec(sel->f, old, result.count);
    }
    BlockId done = sel_block_new(sel);
    sel_branch(sel, handle->mine, done, handle->next);
    sel_seal(sel, handle->next);
    sel_seal(sel, done);
    sel_begin(sel, done);
}

static void add(Sel *sel, Wide *list, Operand operand) { list->w[list->n++] = sel_value(sel, operand); }

static Operand fmul(Sel *sel, Operand a, Operand b) {
    return EMIT_R(sel, OT_FMUL, MSET(FMUL, rnd, Rnd_RN) | MSET(FMUL, scale, FmulScale_NONE), a, b);
}

/* Three parts divided by the longest of a direction's: what that is divided by, as a factor. */
static Operand direction(Sel *sel, const PtxTexture *t, Operand part[3]) {
    for (unsigned k = 0; k < 3; k++)
        part[k] = sel_value(sel, sel_src32(sel, t->coord[t->layered + k]));
    Operand longest = EMIT_R(sel, OT_FMNMX, 0, op_with(part[0], OPM_ABS), op_with(part[1], OPM_ABS), op_pf());
    longest = EMIT_R(sel, OT_FMNMX, 0, op_with(part[2], OPM_ABS), longest, op_pf());
    Operand inverse = sel_mufu(sel, Mufu_RCP, longest);
    for (unsigned k = 0; k < 3; k++)
        part[k] = fmul(sel, part[k], inverse);
    return inverse;
}

static void add_direction(Sel *sel, const PtxTexture *t, Wide *list) {
    Operand part[3];
    direction(sel, t, part);
    for (unsigned k = 0; k < 3; k++)
        add(sel, list, part[k]);
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

/* ---- what stands behind the place ---- */

#define NO_COMPARISON "comparisons with a texture's depth are not modelled"

static Operand low_bits(Sel *sel, const PtxOperand *operand, unsigned width) {
    Operand value = sel_src32(sel, operand);
    if (value.kind == OPK_IMM)
        return op_imm(value.value & ((1u << width) - 1));
    return sel_and(sel, sel_value(sel, value), op_imm((1u << width) - 1));
}

/* Offsets of `width` bits, `step` bits from one to the next, from bit `low` on; none: OPK_NONE. */
static Operand offset_word(Sel *sel, const PtxTexture *t, unsigned width, unsigned step, unsigned low) {
    Operand word = op_none();
    for (unsigned k = 0; k < 3 && t->offset[k]; k++) {
        Operand part = low_bits(sel, t->offset[k], width);
        unsigned by = low + k * step;
        if (part.kind == OPK_IMM)
            part = op_imm(part.value << by);
        else if (by)
            part = sel_shl(sel, part, op_imm(by));
        bool both = word.kind == OPK_IMM && part.kind == OPK_IMM;
        word = word.kind == OPK_NONE ? part
               : both                ? op_imm(word.value | part.value)
                                     : sel_or(sel, sel_value(sel, word), part);
    }
    return word;
}

static void add_layer(Sel *sel, const PtxTexture *t, Wide *list) {
    if (t->layered)
        add(sel, list, sel_minmax(sel, false, false, sel_src32(sel, t->coord[0]), op_imm(MOST_LAYER)));
}

static void add_place(Sel *sel, const PtxInsn *in, const PtxTexture *t, Wide *list) {
    if (t->cube)
        add_direction(sel, t, list);
    for (unsigned k = t->layered; !t->cube && k < t->ncoords; k++)
        add(sel, list, sel_src32(sel, t->coord[k]));
    if (in->sub == SUB_1D && !t->integer)
        add(sel, list, op_imm(0));
}

/* A half from a number of 32 bits; above it zeros. */
static Operand to_half(Sel *sel, Operand number) {
    uint32_t mods = MSET(F2F, dst, FSize_F16) | MSET(F2F, src, FSize_F32) | MSET(F2F, rnd, Rnd_RN);
    if (isa_target_has(sel->t, OT_F2FP))
        return EMIT_R(sel, OT_F2FP, MSET(F2FP, type, F2fpType_F16) | MSET(F2FP, rnd, Rnd_RN), op_rz(), number,
                      op_rz());
    return sel_extend(sel, EMIT_R(sel, OT_F2F, mods, number), 2, false);
}

/* Both halves of a result's register. */
static Operand pack_halves(Sel *sel, Operand low, Operand high) {
    if (isa_target_has(sel->t, OT_F2FP))
        return EMIT_R(sel, OT_F2FP, MSET(F2FP, type, F2fpType_F16) | MSET(F2FP, rnd, Rnd_RN), high, low,
                      op_rz());
    return sel_or(sel, to_half(sel, low), sel_shl(sel, to_half(sel, high), op_imm(16)));
}

/* The operation of one of the fetches, whose slots are the same, and its results. */
static void fetch(Sel *sel, const PtxInsn *in, const PtxTexture *t, unsigned op, uint32_t mods, Wide at,
                  Wide rest, Operand whole) {
    _Static_assert((int)TEX_rd == (int)TLD_rd && (int)TEX_rd2 == (int)TLD_rd2 &&
                       (int)TEX_urb == (int)TLD_urb && (int)TEX_rb == (int)TLD_rb &&
                       (int)TEX_pu == (int)TLD_pu,
                   "the same slots");
    _Static_assert((int)TEX_rd == (int)TXD_rd && (int)TEX_rd2 == (int)TXD_rd2 &&
                       (int)TEX_urb == (int)TXD_urb && (int)TEX_rb == (int)TXD_rb &&
                       (int)TEX_pu == (int)TXD_pu,
                   "the same slots");
    _Static_assert((int)TEX_rd == (int)TLD4_rd && (int)TEX_rd2 == (int)TLD4_rd2 &&
                       (int)TEX_urb == (int)TLD4_urb && (int)TEX_rb == (int)TLD4_rb &&
                       (int)TEX_pu == (int)TLD4_pu,
                   "the same slots");
    Operand src[TEX_urb + 1] = {[TEX_ra] = sel_wide_vec(sel, at)};
    if (rest.n)
        src[TEX_rb] = sel_wide_vec(sel, rest);
    bool same = is_every_lanes(sel, t->place) && is_every_lanes(sel, t->sampler);
    Handle handle = begin_handle(sel, whole, same, true);
    src[TEX_urb] = handle.uniform;
    InstId id = sel_emit(sel, op, mods, TEX_urb + 1, src);
    Operand high = sel_add_dsts(sel, id, TEX_rd2, RF_R, 2), low = sel_add_dsts(sel, id, TEX_rd, RF_R, 2);
    Operand resident = t->resident ? sel_add_dst(sel, id, TEX_pu, RF_P) : op_none();
    end_handle(sel, &handle, id);
    unsigned n;
    const PtxOperand *element = elements_of(t->result, &n);
    Operand value[4] = {sel_part(sel, low, 0), sel_part(sel, low, 1), sel_part(sel, high, 0),
                        sel_part(sel, high, 1)};
    for (unsigned k = 0; k < n; k++) {
        bool pairs = in->type[0] == TY_F16X2, halves = in->type[0] == TY_F16;
        sel_write32(sel, &element[k], halves ? TY_F16 : TY_B32,
                    pairs    ? pack_halves(sel, value[2 * k], value[2 * k + 1])
                    : halves ? to_half(sel, value[k])
                             : value[k]);
    }
    if (t->resident)
        sel_write_pred(sel, t->resident, op_with(resident, OPM_NOT)); /* true: something is missing */
}

/* A part of the header: width, height, depth, number of levels. */
static Operand query(Sel *sel, const PtxTexture *t, Operand level, unsigned part) {
    Wide at = {0};
    bool in_reg = has_register_handles(sel);
    Operand handle_reg = sel_value(sel, handle_of(sel, t->place));
    if (in_reg)
        add(sel, &at, handle_reg);
    bool zero = op_is_imm(level, 0) || (level.kind == OPK_REG && level.value == REG_RZ);
    add(sel, &at, zero ? EMIT_R(sel, OT_MOV, 0, op_imm(0)) : level); /* which must be a register */
    Operand src[TXQ_parts + 1] = {[TXQ_ra] = sel_wide_vec(sel, at), [TXQ_parts] = op_imm(1u << part)};
    Handle handle = begin_handle(sel, handle_reg, is_every_lanes(sel, t->place), true);
    src[TXQ_urb] = handle.uniform;
    InstId id =
        sel_emit(sel, OT_TXQ, MSET(TXQ, bind, in_reg ? TexBind_B : TexBind_BOUND), TXQ_parts + 1, src);
    Operand size = sel_add_dsts(sel, id, TXQ_rd, RF_R, 1);
    end_handle(sel, &handle, id);
    return size;
}

/* TXD has handle, place, layer and offsets in one list. */
static bool fetch_by_derivatives(Sel *sel, const PtxInsn *in, const PtxTexture *t) {
    Wide at = {0}, steps = {0};
    Operand whole = sel_value(sel, whole_handle(sel, t));
    bool in_reg = has_register_handles(sel);
    if (in_reg)
        add(sel, &at, whole);
    add_place(sel, in, t, &at);
    Operand word = offset_word(sel, t, 4, 4, 16);
    bool has_offset = word.kind != OPK_NONE;
    if (t->layered) {
        Wide layer = {0};
        add_layer(sel, t, &layer);
        word = has_offset ? sel_or(sel, layer.w[0], word) : layer.w[0];
    }
    if (word.kind != OPK_NONE)
        add(sel, &at, word);
    for (unsigned k = 0; k < 2 && t->grad[0][k]; k++)
        for (unsigned which = 0; which < 2; which++)
            add(sel, &steps, sel_src32(sel, t->grad[which][k]));
    for (unsigned k = 0; k < 2 && in->sub == SUB_1D; k++)
        add(sel, &steps, op_imm(0));
    fetch(sel, in, t, OT_TXD,
          MSET(TXD, dim, tex_dim(in, false)) | MSET(TXD, bind, in_reg ? TexBind_B : TexBind_BOUND) |
              MSET(TXD, aoffi, has_offset),
          at, steps, whole);
    return true;
}

/* level: OPK_NONE if none is said */
static bool fetch_by_level(Sel *sel, const PtxInsn *in, const PtxTexture *t, Operand level) {
    bool has_level = level.kind != OPK_NONE, whole = t->integer, in_reg = has_register_handles(sel);
    Wide at = {0}, rest = {0};
    add_layer(sel, t, &at);
    add_place(sel, in, t, &at);
    Operand whole_one = sel_value(sel, whole_handle(sel, t));
    if (in_reg)
        add(sel, &rest, whole_one);
    bool base = in->sub2 == SUB_BASE || (whole && !has_level);
    if (!base)
        add(sel, &rest, has_level ? level : op_imm((uint32_t)NO_LEVEL));
    Operand word = offset_word(sel, t, 4, 4, 0);
    bool offsets = word.kind != OPK_NONE;
    if (offsets)
        add(sel, &rest, word);
    unsigned lod = base ? TexLod_LZ : TexLod_LL, dim = tex_dim(in, whole);
    unsigned bind = in_reg ? TexBind_B : TexBind_BOUND;
    uint32_t mods =
        whole ? MSET(TLD, dim, dim) | MSET(TLD, bind, bind) | MSET(TLD, lod, lod) | MSET(TLD, cl, has_level) |
                    MSET(TLD, aoffi, offsets)
              : MSET(TEX, dim, dim) | MSET(TEX, bind, bind) | MSET(TEX, lod, lod) | MSET(TEX, aoffi, offsets);
    fetch(sel, in, t, whole ? OT_TLD : OT_TEX, mods, at, rest, whole_one);
    return true;
}

/* How large the texture is on an axis, as a number. */
static Operand size_on(Sel *sel, const PtxTexture *t, unsigned axis) {
    Operand size = query(sel, t, op_imm(0), axis);
    return EMIT_R(sel, OT_I2F,
                  MSET(I2F, sign, CvtSign_U) | MSET(I2F, dst, FSize_F32) | MSET(I2F, rnd, Rnd_RN) |
                      MSET(I2F, src, ISize_B32),
                  size);
}

/* What a step of a direction moves on its face, whose middle is at half of `part`: by the rule of quotients,
 * along its longest part not at all. */
static void project(Sel *sel, const Operand part[3], Operand inverse, Operand step[3]) {
    uint32_t not_below = MSET(FSETP, cmp, FCmp_GE) | MSET(FSETP, bop, BoolOp_AND);
    Operand size[3], along[3];
    for (unsigned k = 0; k < 3; k++) {
        size[k] = op_with(part[k], OPM_ABS);
        step[k] = fmul(sel, step[k], inverse);
        along[k] = fmul(sel, step[k], part[k]);
    }
    Operand is_y = EMIT_P(sel, OT_FSETP, not_below, size[1], size[2], op_pt());
    Operand is_x = EMIT_P(sel, OT_FSETP, not_below, size[0], size[1], op_pt());
    is_x = EMIT_P(sel, OT_FSETP, not_below, size[0], size[2], is_x);
    Operand longest = sel_select(sel, is_x, along[0], sel_select(sel, is_y, along[1], along[2]));
    for (unsigned k = 0; k < 3; k++)
        step[k] = EMIT_R(sel, OT_FFMA, MSET(FFMA, rnd, Rnd_RN), op_with(part[k], OPM_NEG), longest, step[k]);
}

/* The level that derivatives of three coordinates ask for: docs/numerics.md, "Textures". TXD takes two at
 * most, and levels that are found by differences between lanes want these lanes. */
static Operand level_of_derivatives(Sel *sel, const PtxTexture *t) {
    enum { HALF = 0x3f000000, LEAST_NORMAL = 0x00800000 };
    Operand part[3], factor[3], inverse = t->cube ? direction(sel, t, part) : op_none();
    Operand longest = op_imm(LEAST_NORMAL);
    for (unsigned k = 0; k < 3; k++)
        factor[k] = !t->cube ? size_on(sel, t, k)
                    : k      ? factor[0]
                             : fmul(sel, size_on(sel, t, 0), op_imm(HALF));
    for (unsigned which = 0; which < 2; which++) {
        Operand step[3], square = op_none();
        for (unsigned k = 0; k < 3; k++)
            step[k] = sel_value(sel, sel_src32(sel, t->grad[which][k]));
        if (t->cube)
            project(sel, part, inverse, step);
        for (unsigned k = 0; k < 3; k++) {
            Operand moved = fmul(sel, step[k], factor[k]);
            square = k ? EMIT_R(sel, OT_FFMA, MSET(FFMA, rnd, Rnd_RN), moved, moved, square)
                       : fmul(sel, moved, moved);
        }
        longest = EMIT_R(sel, OT_FMNMX, 0, square, longest, op_pf());
    }
    return fmul(sel, sel_mufu(sel, Mufu_LG2, longest), op_imm(HALF));
}

bool isel_tex(Sel *sel, const PtxInsn *in) {
    PtxTexture t = ptx_texture(in);
    if (t.compare)
        return sel_error(sel, NO_COMPARISON);
    if (t.grad[0][0] && !t.grad[0][2])
        return fetch_by_derivatives(sel, in, &t);
    return fetch_by_level(sel, in, &t,
                          t.level        ? sel_src32(sel, t.level)
                          : t.grad[0][0] ? level_of_derivatives(sel, &t)
                                         : op_none());
}

bool isel_tld4(Sel *sel, const PtxInsn *in) {
    PtxTexture t = ptx_texture(in);
    if (t.compare)
        return sel_error(sel, NO_COMPARISON);
    bool in_reg = has_register_handles(sel);
    Wide at = {0}, rest = {0};
    add_layer(sel, &t, &at);
    add_place(sel, in, &t, &at);
    Operand whole = sel_value(sel, whole_handle(sel, &t));
    if (in_reg)
        add(sel, &rest, whole);
    Operand word = offset_word(sel, &t, 6, 8, 0);
    if (word.kind != OPK_NONE)
        add(sel, &rest, word);
    unsigned comp = in->sub2 == SUB_R   ? Tld4Component_R
                    : in->sub2 == SUB_G ? Tld4Component_G
                    : in->sub2 == SUB_B ? Tld4Component_B
                                        : Tld4Component_A;
    fetch(sel, in, &t, OT_TLD4,
          MSET(TLD4, dim, tex_dim(in, false)) | MSET(TLD4, bind, in_reg ? TexBind_B : TexBind_BOUND) |
              MSET(TLD4, component, comp) | MSET(TLD4, aoffi, word.kind != OPK_NONE),
          at, rest, whole);
    return true;
}

bool isel_txq(Sel *sel, const PtxInsn *in) {
    PtxTexture t = ptx_texture(in);
    unsigned part = in->sub == SUB_WIDTH ? 0 : in->sub == SUB_HEIGHT ? 1 : in->sub == SUB_DEPTH ? 2 : 3;
    sel_write32(sel, t.result, TY_B32, query(sel, &t, t.level ? sel_src32(sel, t.level) : op_imm(0), part));
    return true;
}

/* A word of the driver's table, which has an entry for each texture: ptxas 13.0's code reads them there, and
 * so its table has the words. */
bool isel_txq_mode(Sel *sel, const PtxInsn *in) {
    enum { FIRST_WORD = 12 };
    PtxTexture t = ptx_texture(in);
    unsigned word = in->sub == SUB_ADDRESS_0   ? 0
                    : in->sub == SUB_ADDRESS_1 ? 1
                    : in->sub == SUB_ADDRESS_2 ? 2
                    : in->sub == SUB_FILTER    ? 3
                                               : 4;
    if (ptx_own_samplers(sel->ptx))
        return sel_error(sel, "queries of a sampler of its own are not compiled");
    StrId symbol = str_intern_z(sel->l->strings, IR_TEXTURE_BYTES);
    Operand number =
        sel_value(sel, sel_and(sel, sel_value(sel, handle_of(sel, t.place)), op_imm(TEXTURE_MASK)));
    Operand each = EMIT_R(sel, OT_MOV, 0, ir_sym(sel->f, symbol, 0, RELOC_SHARED_OFFSET32));
    Wide begin = sel_launch_pair(sel, sel->ti->texture_table_offset_bytes);
    Wide at = sel_imad_wide(sel, false, number, each, &begin);
    Operand src[3] = {op_with(sel_pair(sel, at.w[0], at.w[1]), OPM_WIDE64), op_none(),
                      op_imm(FIRST_WORD + 4 * word)};
    sel_write32(
        sel, t.result, TY_B32,
        sel_emit_dst(sel, OT_LDG,
                     MSET(LDG, sz, MemSz_32) | MSET(LDG, e, MemAddr_E) | MSET(LDG, order, MemOrder_CONSTANT),
                     0, RF_R, 1, 3, src));
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

static Handle begin_surface(Sel *sel, const PtxTexture *t) {
    Operand handle = sel_value(sel, handle_of(sel, t->place));
    return begin_handle(sel, handle, is_every_lanes(sel, t->place), false);
}

static bool surface_fits(Sel *sel, const PtxInsn *in) {
    return in->vec * ptx_type_bytes(sel_type(in)) <= 16 || sel_error(sel, "it moves more than 128 bits");
}

bool isel_suld(Sel *sel, const PtxInsn *in) {
    PtxTexture t = ptx_texture(in);
    unsigned bytes = ptx_type_bytes(sel_type(in)), total = bytes * in->vec, n;
    if (!surface_fits(sel, in))
        return false;
    Operand src[SULD_urb + 1] = {[SULD_ra] = surf_place(sel, &t)};
    Handle handle = begin_surface(sel, &t);
    src[SULD_rc] = handle.in_reg;
    src[SULD_urb] = handle.uniform;
    InstId id = sel_emit(sel, OT_SULD,
                         MSET(SULD, dim, surf_dim(in)) | MSET(SULD, out, surf_out(in)) |
                             MSET(SULD, sz, access_size(total)) | MSET(SULD, order, MemOrder_STRONG_SM),
                         SULD_urb + 1, src);
    Operand data = sel_add_dsts(sel, id, SULD_rd, RF_R, total < 4 ? 1 : total / 4);
    end_handle(sel, &handle, id);
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

/* SUST or SURED. */
static void write_surface(Sel *sel, const PtxTexture *t, unsigned op, uint32_t mods, Wide data) {
    _Static_assert((int)SUST_rc == (int)SURED_rc && (int)SUST_urb == (int)SURED_urb, "the same slots");
    Operand src[SUST_urb + 1] = {[SUST_ra] = surf_place(sel, t)};
    src[SUST_rb] = sel_wide_vec(sel, data);
    Handle handle = begin_surface(sel, t);
    src[SUST_rc] = handle.in_reg;
    src[SUST_urb] = handle.uniform;
    InstId id = sel_emit(sel, op, mods, SUST_urb + 1, src);
    end_handle(sel, &handle, id);
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
    write_surface(sel, &t, OT_SUST,
                  MSET(SUST, dim, surf_dim(in)) | MSET(SUST, out, surf_out(in)) |
                      MSET(SUST, sz, access_size(total)) | MSET(SUST, order, MemOrder_STRONG_SM),
                  data);
    return true;
}

bool isel_sust_texel(Sel *sel, const PtxInsn *in) {
    PtxTexture t = ptx_texture(in);
    Wide data = {0};
    unsigned n;
    const PtxOperand *element = elements_of(t.result, &n);
    for (unsigned k = 0; k < n; k++)
        add(sel, &data, sel_src32(sel, &element[k]));
    _Static_assert((int)SUST_rc == (int)SUST_P_rc && (int)SUST_urb == (int)SUST_P_urb, "the same slots");
    unsigned channels = n == 1 ? TexelParts_R : n == 2 ? TexelParts_RG : TexelParts_RGBA;
    write_surface(sel, &t, OT_SUST_P,
                  MSET(SUST_P, dim, surf_dim(in)) | MSET(SUST_P, out, surf_out(in)) |
                      MSET(SUST_P, parts, channels) | MSET(SUST_P, order, MemOrder_STRONG_SM),
                  data);
    return true;
}

static bool reduce_surface(Sel *sel, const PtxInsn *in, bool texels) {
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
    bool orders = in->atom == ATOM_MIN || in->atom == ATOM_MAX;
    unsigned type = texels && orders         ? SuredType_SD32
                    : bytes == 8             ? SuredType_U64
                    : sel_type(in) == TY_S32 ? SuredType_S32
                                             : SuredType_U32;
    write_surface(sel, &t, OT_SURED,
                  MSET(SURED, dim, surf_dim(in)) | MSET(SURED, out, surf_out(in)) | MSET(SURED, op, op) |
                      MSET(SURED, type, type) | MSET(SURED, unit, texels ? SurfUnit_TEXELS : SurfUnit_BA) |
                      MSET(SURED, order, MemOrder_STRONG_SYS),
                  data);
    return true;
}
bool isel_sured(Sel *sel, const PtxInsn *in) { return reduce_surface(sel, in, false); }
bool isel_sured_texel(Sel *sel, const PtxInsn *in) { return reduce_surface(sel, in, true); }
