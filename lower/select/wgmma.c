/* Selection of products by warp groups: PTX ISA 9.7.15. A product of n columns becomes one for each eight of
 * them, whose B is described by what is eight columns further; so no operand has more than four registers.
 * Each is waited for at once (emit/schedule/groups.c), which PTX allows: wgmma.fence, commit_group and
 * wait_group leave nothing to do. The descriptors go to uniform registers behind a WARPSYNC, so that they are
 * those of all lanes. SPDX-License-Identifier: MIT */
#include "lower/select/matrix.h"

enum { COLUMNS = 8, FIELD = 0x3fff, MOST_WORDS = 128 };

typedef struct {
    const PtxInsn *in;
    unsigned op, mods; /* of the product of eight columns */
    unsigned words;    /* registers of D for eight columns */
    bool transposed;   /* B */
    Wide a, b;         /* descriptors; `a` may be four registers of A */
    bool negated_a;
} Group;

/* How far the start of B moves for columns 8 `j` on, in units of 16 bytes. A transposed B has 8 columns in a
 * chunk; chunks lie beside each other in a span of 2, 4 or 8, or, not swizzled (mode 0), a stride apart. */
static Operand advance(Sel *sel, const Group *group, unsigned j) {
    Operand stride = sel_and(sel, group->b.w[1], op_imm(FIELD));
    Operand in_order = sel_imad(sel, stride, op_imm(j), op_rz());
    if (!group->transposed)
        return in_order;
    Operand leading = sel_and(sel, sel_shr(sel, false, group->b.w[0], op_imm(16)), op_imm(FIELD));
    Operand mode = sel_shr(sel, false, group->b.w[1], op_imm(30)); /* 1, 2, 3: spans of 8, 4, 2 chunks */
    Operand log = sel_iadd(sel, op_imm(4), op_with(mode, OPM_NEG));
    Operand span = sel_shr(sel, false, op_imm(16), mode);
    Operand beside = sel_and(sel, op_imm(j), sel_iadd(sel, span, op_imm((uint32_t)-1)));
    Operand swizzled = sel_imad(sel, sel_shr(sel, false, op_imm(j), log), leading, beside);
    Operand is_plain = sel_isetp(sel, false, ICmp_EQ, mode, op_imm(0));
    return sel_select(sel, is_plain, in_order, swizzled);
}

static Operand to_uniform(Sel *sel, Operand value) {
    InstId id = sel_emit(sel, OT_R2UR, 0, 1, (Operand[]){sel_value(sel, value)});
    ir_inst(sel->f, id)->flags |= IF_CONVERGENT;
    return sel_add_dst(sel, id, R2UR_urd, RF_UR);
}

/* Registers of D for columns 8 `j` on; c[0].kind OPK_NONE: D begins with zero. */
static void eight_columns(Sel *sel, const Group *group, unsigned j, const Operand *c, Operand *d) {
    bool in_registers = group->a.n == 4, adds = c[0].kind != OPK_NONE;
    Operand low = group->b.w[0];
    if (j) /* the start does not leave its field: it is below 256 KiB */
        low = sel_iadd(sel, low, advance(sel, group, j));
    sel->f->uses_sync = true;
    low = sel_value(sel, low);
    InstId together = sel_emit(sel, OT_WARPSYNC, 0, 2, (Operand[]){op_imm(UINT32_MAX), op_pt()});
    ir_inst(sel->f, together)->flags |= IF_ALIGNED; /* as the product: nothing may stand between them */
    Wide described = {.n = 4};
    described.w[0] = to_uniform(sel, in_registers ? low : group->a.w[0]);
    described.w[1] = to_uniform(sel, in_registers ? group->b.w[1] : group->a.w[1]);
    described.w[2] = to_uniform(sel, low);
    described.w[3] = to_uniform(sel, group->b.w[1]);
    Wide old = {.n = group->words};
    for (unsigned k = 0; k < group->words && adds; k++)
        old.w[k] = c[k];
    Operand src[4] = {op_none()};
    if (in_registers)
        src[0] = op_with(sel_wide_vec(sel, group->a), group->negated_a ? OPM_NEG : 0);
    src[1] = sel_wide_vec(sel, described);
    src[2] = adds ? sel_wide_vec(sel, old) : op_rz();
    src[3] = op_reg(RF_UP, REG_UPT, 1);
    if (!adds)
        src[3] = op_with(src[3], OPM_NOT);
    InstId id = sel_emit_sync(sel, group->op, group->mods, 4, src, op_imm(UINT32_MAX));
    Operand all = sel_add_dsts(sel, id, HGMMA_rd, RF_R, group->words);
    for (unsigned k = 0; k < group->words; k++)
        d[k] = sel_part(sel, all, k);
}

/* ---- modifiers ---- */

static bool is_minus(const PtxInsn *in, unsigned operand) {
    return operand < in->noperands && in->operands[operand].imm < 0;
}
static bool is_set(const PtxInsn *in, unsigned operand) {
    return operand < in->noperands && in->operands[operand].imm;
}

static unsigned hgmma_mods(const PtxInsn *in, bool in_registers) {
    bool narrow = in->type[0] == TY_F16, tf32 = in->type[1] == TY_TF32;
    unsigned shape = narrow ? HgmmaShape_N8K16_F16 : tf32 ? HgmmaShape_N8K8_F32 : HgmmaShape_N8K16_F32;
    unsigned b =
        (is_set(in, in_registers ? 6 : 7) ? GmmaDescB_TNSPB : 0) | (is_minus(in, 5) ? GmmaDescB_NEGB : 0);
    unsigned a = (is_set(in, 6) ? GmmaDesc_TNSPA : 0) | (is_minus(in, 4) ? GmmaDesc_NEGA : 0);
    return MSET(HGMMA, shape, shape) |
           MSET(HGMMA, src,
                tf32                     ? HmmaSrc_TF32
                : in->type[1] == TY_BF16 ? HmmaSrc_BF16
                                         : HmmaSrc_F16) |
           (in_registers ? MSET(HGMMA, howb, b) : MSET(HGMMA, how, a | b << 1)) |
           MSET(HGMMA, sb, GmmaSb_GSB0);
}

static unsigned qgmma_mods(const PtxInsn *in, bool in_registers) {
    unsigned b = is_minus(in, 5) ? GmmaDescNeg_NEGB : 0, a = is_minus(in, 4) ? GmmaDescNeg_NEGA : 0;
    return MSET(QGMMA, shape, in->type[0] == TY_F16 ? QgmmaShape_N8_F16 : QgmmaShape_N8_F32) |
           MSET(QGMMA, atype, in->type[1] == TY_E4M3 ? QmmaType_E4M3 : QmmaType_E5M2) |
           MSET(QGMMA, btype, in->type[2] == TY_E4M3 ? QmmaType_E4M3 : QmmaType_E5M2) |
           (in_registers ? MSET(QGMMA, hownb, b ? GmmaDescNegB_NEGB : 0) : MSET(QGMMA, hown, a | b)) |
           MSET(QGMMA, sb, GmmaSb_GSB0);
}

static unsigned igmma_mods(const PtxInsn *in) {
    return MSET(IGMMA, shape, IgmmaShape_N8) |
           MSET(IGMMA, atype, in->type[1] == TY_S8 ? IgmmaType_S8 : IgmmaType_U8) |
           MSET(IGMMA, btype, in->type[2] == TY_S8 ? IgmmaType_S8 : IgmmaType_U8) |
           MSET(IGMMA, sat, (in->flags & PF_SATFINITE) != 0) | MSET(IGMMA, sb, GmmaSb_GSB0);
}

static void choose_product(Group *group, bool in_registers) {
    const PtxInsn *in = group->in;
    switch (in->type[1]) {
    case TY_E4M3:
    case TY_E5M2:
        group->op = OT_QGMMA;
        group->mods = qgmma_mods(in, in_registers);
        break;
    case TY_S8:
    case TY_U8:
        group->op = OT_IGMMA;
        group->mods = igmma_mods(in);
        break;
    case TY_B1:
        group->op = OT_BGMMA;
        group->mods = MSET(BGMMA, shape, BgmmaShape_N8) | MSET(BGMMA, sb, GmmaSb_GSB0);
        break;
    default:
        group->op = OT_HGMMA;
        group->mods = hgmma_mods(in, in_registers);
        group->transposed = is_set(in, in_registers ? 6 : 7) && in->type[1] != TY_TF32;
    }
    _Static_assert((int)HGMMA_rd == (int)QGMMA_rd && (int)HGMMA_rd == (int)IGMMA_rd &&
                       (int)HGMMA_rd == (int)BGMMA_rd,
                   "the only destination");
}

bool isel_wgmma(Sel *sel, const PtxInsn *in) {
    const PtxOperand *tile = &in->operands[0], *scale = &in->operands[3];
    bool in_registers = in->operands[1].kind == PO_VEC;
    Group group = {.in = in, .words = in->type[0] == TY_F16 ? 2 : 4, .negated_a = is_minus(in, 4)};
    Operand words[MOST_WORDS] = {op_none()}, sums[MOST_WORDS];
    if (!isa_target_has(sel->t, OT_HGMMA))
        return sel_error(sel, "products of warp groups need instructions of sm_90a");
    choose_product(&group, in_registers);
    if (in_registers)
        group.a.n = sel_read_fragment(sel, &in->operands[1], 4, group.a.w);
    else
        group.a = sel_src(sel, &in->operands[1], 8);
    group.b = sel_src(sel, &in->operands[2], 8);
    for (unsigned k = 0; k < group.a.n; k++)
        group.a.w[k] = sel_value(sel, group.a.w[k]);
    for (unsigned k = 0; k < 2; k++)
        group.b.w[k] = sel_value(sel, group.b.w[k]);
    bool adds = scale->kind != PO_IMM || scale->imm;
    if (adds)
        sel_read_fragment(sel, tile, 4, words);
    if (scale->kind != PO_IMM) {
        Operand keeps = sel_src_pred(sel, scale);
        for (unsigned k = 0; k < tile->nvec; k++)
            words[k] = sel_select(sel, keeps, words[k], op_rz());
    }
    for (unsigned j = 0; j < in->shape[1] / COLUMNS; j++)
        eight_columns(sel, &group, j, words + (adds ? j * group.words : 0), sums + j * group.words);
    sel_write_fragment(sel, tile, TY_B32, sums);
    return true;
}
