/* Selection of products by warp groups: PTX ISA 9.7.15. A product is one instruction, which adds to D in its
 * registers; the allocator brings them together (InPlace of isa/gmma.isa). Each is waited for at once
 * (emit/schedule/groups.c), which PTX allows: wgmma.fence, commit_group and wait_group leave nothing to do.
 * The descriptors go to uniform registers behind a WARPSYNC, so that they are those of all lanes.
 * SPDX-License-Identifier: MIT */
#include "lower/select/matrix.h"

typedef struct {
    const PtxInsn *in;
    unsigned op, mods;
    unsigned words; /* registers of D */
    Wide a, b;      /* descriptors; `a` may be four registers of A */
    bool negated_a;
    bool sparse;    /* A has half of its elements; where they stand ... */
    Operand places; /* ... is in this register ... */
    unsigned lanes; /* ... of those lanes, as PTX counts them */
} Group;

static Operand to_uniform(Sel *sel, Operand value) {
    InstId id = sel_emit(sel, OT_R2UR, 0, 1, (Operand[]){sel_value(sel, value)});
    ir_inst(sel->f, id)->flags |= IF_CONVERGENT;
    return sel_add_dst(sel, id, R2UR_urd, RF_UR);
}

/* scale-d as a uniform predicate; all lanes say the same. */
static Operand adds_where(Sel *sel, const PtxOperand *scale, bool adds) {
    if (scale->kind == PO_IMM)
        return op_with(op_reg(RF_UP, REG_UPT, 1), adds ? 0 : OPM_NOT);
    Operand keeps = sel_src_pred(sel, scale);
    InstId id = sel_emit(sel, OT_VOTEU, MSET(VOTEU, op, VoteOp_ANY), 1, &keeps);
    return sel_add_dst(sel, id, VOTEU_upu, RF_UP);
}

/* c[0].kind OPK_NONE: D begins with zero. */
static void multiply(Sel *sel, const Group *group, const PtxOperand *scale, const Operand *c, Operand *d) {
    bool in_registers = group->a.n == 4, adds = c[0].kind != OPK_NONE;
    sel->f->uses_sync = true;
    InstId together = sel_emit(sel, OT_WARPSYNC, 0, 2, (Operand[]){op_imm(UINT32_MAX), op_pt()});
    ir_inst(sel->f, together)->flags |= IF_ALIGNED; /* as the product: nothing may stand between them */
    Wide described = {.n = 4};
    for (unsigned k = 0; k < 2; k++) {
        described.w[k] = to_uniform(sel, in_registers ? group->b.w[k] : group->a.w[k]);
        described.w[2 + k] = to_uniform(sel, group->b.w[k]);
    }
    Operand src[6] = {op_none()};
    if (in_registers)
        src[0] = op_with(sel_wide_vec(sel, group->a), group->negated_a ? OPM_NEG : 0);
    src[1] = sel_wide_vec(sel, described);
    src[2] = adds ? sel_quad(sel, c, group->words) : op_rz();
    src[3] = adds_where(sel, scale, adds);
    src[4] = group->places, src[5] = op_imm(group->lanes);
    InstId id = sel_emit_sync(sel, group->op, group->mods, group->sparse ? 6 : 4, src, op_imm(UINT32_MAX));
    Operand all = sel_add_dsts(sel, id, HGMMA_rd, RF_R, group->words);
    for (unsigned k = 0; k < group->words; k++)
        d[k] = sel_part(sel, all, k);
}

/* ---- modifiers ---- */

/* Operand `which` behind scale-d: the factors of A and B, then whether A, if it is described, and B are
 * transposed. */
enum { FACTOR_A, FACTOR_B, TRANSPOSED_A, TRANSPOSED_B };
static int64_t said(const PtxInsn *in, unsigned which) {
    unsigned at = (in->flags & PF_SPARSE ? 6 : 4) + which;
    return at < in->noperands ? in->operands[at].imm : 0;
}
static bool is_minus(const PtxInsn *in, unsigned factor) { return said(in, factor) < 0; }

/* Shapes are numbered by columns: 8, 16, 24 ... of floats, 8, 16, 24, 32, 48, 64 ... of integers and bits. */
static unsigned float_shape(const PtxInsn *in) { return in->shape[1] / 8 - 1u; }
static unsigned integer_shape(const PtxInsn *in) {
    return in->shape[1] <= 32 ? in->shape[1] / 8 - 1u : in->shape[1] / 16 + 1u;
}

/* A sparse product has the modifiers of the dense one, of which its shape alone has other values. */
#define GMMA_MODS(op, more) ((in->flags & PF_SPARSE ? more(op##_SP) : more(op)))

static unsigned hgmma_mods(const PtxInsn *in, bool in_registers) {
    bool narrow = in->type[0] == TY_F16, tf32 = in->type[1] == TY_TF32;
    unsigned dense = narrow ? HgmmaShape_N8K16_F16 : tf32 ? HgmmaShape_N8K8_F32 : HgmmaShape_N8K16_F32;
    unsigned sparse = narrow ? HgmmaSpShape_N8K32_F16
                      : tf32 ? HgmmaSpShape_N8K16_F32
                             : HgmmaSpShape_N8K32_F32;
    unsigned shape = (in->flags & PF_SPARSE ? sparse : dense) + float_shape(in);
    unsigned src = tf32 ? HmmaSrc_TF32 : in->type[1] == TY_BF16 ? HmmaSrc_BF16 : HmmaSrc_F16;
    unsigned b = (said(in, in_registers ? TRANSPOSED_A : TRANSPOSED_B) ? GmmaDescB_TNSPB : 0) |
                 (is_minus(in, FACTOR_B) ? GmmaDescB_NEGB : 0);
    unsigned a = (said(in, TRANSPOSED_A) ? GmmaDesc_TNSPA : 0) | (is_minus(in, FACTOR_A) ? GmmaDesc_NEGA : 0);
#define HGMMA_MODS(op)                                                                                       \
    MSET(op, shape, shape) | MSET(op, src, src) |                                                            \
        (in_registers ? MSET(op, howb, b) : MSET(op, how, a | b << 1)) | MSET(op, sb, GmmaSb_GSB0)
    return GMMA_MODS(HGMMA, HGMMA_MODS);
}

static unsigned qgmma_mods(const PtxInsn *in, bool in_registers) {
    bool narrow = in->type[0] == TY_F16;
    unsigned dense = narrow ? QgmmaShape_N8_F16 : QgmmaShape_N8_F32;
    unsigned sparse = narrow ? QgmmaSpShape_N8_F16 : QgmmaSpShape_N8_F32;
    unsigned shape = (in->flags & PF_SPARSE ? sparse : dense) + float_shape(in);
    unsigned b = is_minus(in, FACTOR_B) ? GmmaDescNeg_NEGB : 0,
             a = is_minus(in, FACTOR_A) ? GmmaDescNeg_NEGA : 0;
#define QGMMA_MODS(op)                                                                                       \
    MSET(op, shape, shape) | MSET(op, atype, in->type[1] == TY_E4M3 ? QmmaType_E4M3 : QmmaType_E5M2) |       \
        MSET(op, btype, in->type[2] == TY_E4M3 ? QmmaType_E4M3 : QmmaType_E5M2) |                            \
        (in_registers ? MSET(op, hownb, b ? GmmaDescNegB_NEGB : 0) : MSET(op, hown, a | b)) |                \
        MSET(op, sb, GmmaSb_GSB0)
    return GMMA_MODS(QGMMA, QGMMA_MODS);
}

static unsigned igmma_mods(const PtxInsn *in) {
    unsigned first = in->flags & PF_SPARSE ? (unsigned)IgmmaSpShape_N8 : (unsigned)IgmmaShape_N8;
    unsigned shape = first + integer_shape(in) * (unsigned)(IgmmaShape_N16 - IgmmaShape_N8);
    _Static_assert(IgmmaShape_N256 - IgmmaShape_N8 == 17 * (IgmmaShape_N16 - IgmmaShape_N8) &&
                       IgmmaSpShape_N256 - IgmmaSpShape_N8 == IgmmaShape_N256 - IgmmaShape_N8,
                   "one after the other");
#define IGMMA_MODS(op)                                                                                       \
    MSET(op, shape, shape) | MSET(op, atype, in->type[1] == TY_S8 ? IgmmaType_S8 : IgmmaType_U8) |           \
        MSET(op, btype, in->type[2] == TY_S8 ? IgmmaType_S8 : IgmmaType_U8) |                                \
        MSET(op, sat, (in->flags & PF_SATFINITE) != 0) | MSET(op, sb, GmmaSb_GSB0)
    return GMMA_MODS(IGMMA, IGMMA_MODS);
}

static void choose_product(Group *group, bool in_registers) {
    const PtxInsn *in = group->in;
    switch (in->type[1]) {
    case TY_E4M3:
    case TY_E5M2:
        group->op = group->sparse ? OT_QGMMA_SP : OT_QGMMA;
        group->mods = qgmma_mods(in, in_registers);
        break;
    case TY_S8:
    case TY_U8:
        group->op = group->sparse ? OT_IGMMA_SP : OT_IGMMA;
        group->mods = igmma_mods(in);
        break;
    case TY_B1:
        group->op = OT_BGMMA;
        group->mods = MSET(BGMMA, shape, BgmmaShape_N8 + integer_shape(in)) | MSET(BGMMA, sb, GmmaSb_GSB0);
        break;
    default: group->op = group->sparse ? OT_HGMMA_SP : OT_HGMMA; group->mods = hgmma_mods(in, in_registers);
    }
    _Static_assert((int)HGMMA_rd == (int)QGMMA_rd && (int)HGMMA_rd == (int)IGMMA_rd &&
                       (int)HGMMA_rd == (int)BGMMA_rd && (int)HGMMA_rd == (int)HGMMA_SP_rd &&
                       (int)HGMMA_rd == (int)QGMMA_SP_rd && (int)HGMMA_rd == (int)IGMMA_SP_rd,
                   "the only destination");
}

bool isel_wgmma(Sel *sel, const PtxInsn *in) {
    bool in_registers = in->operands[1].kind == PO_VEC, sparse = in->flags & PF_SPARSE;
    const PtxOperand *tile = &in->operands[0], *scale = &in->operands[sparse ? 5 : 3];
    Group group = {.in = in, .words = tile->nvec, .negated_a = is_minus(in, FACTOR_A), .sparse = sparse};
    Operand words[IR_MOST_VECTOR] = {op_none()}, sums[IR_MOST_VECTOR];
    if (!isa_target_has(sel->t, OT_HGMMA))
        return sel_error(sel, "products of warp groups need instructions of sm_90a");
    choose_product(&group, in_registers);
    if (in_registers)
        group.a.n = sel_read_fragment(sel, &in->operands[1], 4, group.a.w);
    else
        group.a = sel_src(sel, &in->operands[1], 8);
    group.b = sel_src(sel, &in->operands[2], 8);
    if (sparse) {
        group.places = sel_value(sel, sel_src32(sel, &in->operands[3]));
        group.lanes = (unsigned)in->operands[4].imm;
    }
    for (unsigned k = 0; k < group.a.n; k++)
        group.a.w[k] = sel_value(sel, group.a.w[k]);
    for (unsigned k = 0; k < 2; k++)
        group.b.w[k] = sel_value(sel, group.b.w[k]);
    bool adds = scale->kind != PO_IMM || scale->imm;
    if (adds)
        sel_read_fragment(sel, tile, 4, words);
    multiply(sel, &group, scale, words, sums);
    sel_write_fragment(sel, tile, TY_B32, sums);
    return true;
}
