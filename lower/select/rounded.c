/* Division, reciprocal and square root of f32, correctly rounded in any of the four modes. What is common
 * goes through MUFU and FFMA; operands near the ends of the range, zeros, infinities, NaN and subnormals
 * branch to a call of the library's function, which takes all there are.
 *
 * The result does not depend on MUFU's last bits: docs/numerics.md, "Rounding exactly from MUFU", has why any
 * value within 2 units in the last place of the exact one will do. The prover knows the three sequences by
 * their shape (check/prove/rounded.c). SPDX-License-Identifier: MIT */
#include "lower/select/isel.h"

enum {
    ONE = 0x3f800000,
    HALF = 0x3f000000,
    LEAST_NORMAL = 0x00800000,
    RCP_LIMIT = 0x7e000000,  /* 2^125: MUFU's reciprocal of what is below is normal, whatever its last bits */
    ROOT_LEAST = 0x0d800000, /* 2^-100: above it the remainder of a root is no less than what f32 can hold */
    INFINITE = 0x7f800000
};

static Operand ffma(Sel *s, unsigned rnd, Operand a, Operand b, Operand c) {
    return EMIT_R(s, OT_FFMA, MSET(FFMA, rnd, rnd), a, b, c);
}

static Operand fmul(Sel *s, Operand a, Operand b) {
    return EMIT_R(s, OT_FMUL, MSET(FMUL, rnd, Rnd_RN) | MSET(FMUL, scale, FmulScale_NONE), a, b);
}

/* lowest <= a < limit; false of a NaN */
static Operand between(Sel *s, Operand a, uint32_t lowest, uint32_t limit) {
    Operand p = EMIT_P(s, OT_FSETP, MSET(FSETP, cmp, FCmp_GE) | MSET(FSETP, bop, BoolOp_AND), a,
                       op_imm(lowest), op_pt());
    return EMIT_P(s, OT_FSETP, MSET(FSETP, cmp, FCmp_LT) | MSET(FSETP, bop, BoolOp_AND), a, op_imm(limit), p);
}

/* 1 / b to within 2^-24 and a little, not below it where b is the largest of its binade */
static Operand reciprocal(Sel *s, Operand y, Operand b) {
    Operand e = ffma(s, Rnd_RN, op_neg(b), y, op_imm(ONE));
    return ffma(s, Rnd_RN, y, ffma(s, Rnd_RP, e, e, e), y);
}

static bool call(Sel *s, bool ftz, const char *name, unsigned n, const Operand *operands, Operand *d) {
    Operand args[2];
    for (unsigned k = 0; k < n; k++)
        args[k] = ftz && operands[k].kind != OPK_IMM ? sel_flush(s, operands[k]) : operands[k];
    if (!sel_abi_call_builtin(s, name, n, args, 1, d))
        return false;
    if (ftz)
        *d = sel_flush(s, *d);
    return true;
}

/* The result where `good` holds, a call elsewhere. */
static bool unless(Sel *s, Operand good, Operand result, bool ftz, const char *name, unsigned n,
                   const Operand *operands, Operand *d) {
    uint32_t var = sel_ssa_var_new(&s->ssa, RF_R, 0, 0);
    BlockId rare = sel_block_new(s), join = sel_block_new(s);
    sel_write_var(s, var, result);
    sel_branch_rare(s, op_not(good), rare, join);
    sel_seal(s, rare);
    sel_begin(s, rare);
    if (!call(s, ftz, name, n, operands, d))
        return false;
    sel_write_var(s, var, *d);
    sel_jump(s, join);
    sel_seal(s, join);
    sel_begin(s, join);
    *d = ir_val(s->f, sel_ssa_read(&s->ssa, var, join));
    return true;
}

static const char *const div_names[4] = {"__heddle_div_rn_f32", "__heddle_div_rm_f32", "__heddle_div_rp_f32",
                                         "__heddle_div_rz_f32"};
static const char *const sqrt_names[4] = {"__heddle_sqrt_rn_f32", "__heddle_sqrt_rm_f32",
                                          "__heddle_sqrt_rp_f32", "__heddle_sqrt_rz_f32"};

static bool rcp_rounded(Sel *s, unsigned rnd, bool ftz, const Operand *operands, Operand *d) {
    Operand b = sel_value(s, operands[1]);
    Operand y = reciprocal(s, sel_mufu(s, Mufu_RCP, b), b);
    Operand e = ffma(s, Rnd_RN, op_neg(b), y, op_imm(ONE));
    Operand good = between(s, op_with(b, OPM_ABS), LEAST_NORMAL, RCP_LIMIT);
    return unless(s, good, ffma(s, rnd, y, e, y), ftz, div_names[rnd], 2, operands, d);
}

bool sel_div_rounded(Sel *sel, unsigned rnd, bool ftz, const Operand *operands, Operand *d) {
    if (operands[0].kind == OPK_IMM && operands[1].kind == OPK_IMM)
        return call(sel, ftz, div_names[rnd], 2, operands, d);
    if (op_is_imm(operands[0], ONE))
        return rcp_rounded(sel, rnd, ftz, operands, d);
    Operand a = sel_value(sel, operands[0]), b = sel_value(sel, operands[1]);
    Operand y = sel_mufu(sel, Mufu_RCP, b), q = fmul(sel, a, y);
    y = reciprocal(sel, y, b);
    for (unsigned k = 0; k < 2; k++) /* then to nearest, but for a last doubt */
        q = ffma(sel, k ? rnd : Rnd_RN, ffma(sel, Rnd_RN, op_neg(b), q, a), y, q);
    Operand bad = EMIT_P(sel, OT_FCHK, 0, a, b);
    return unless(sel, op_not(bad), q, ftz, div_names[rnd], 2, operands, d);
}

bool sel_sqrt_rounded(Sel *s, unsigned rnd, bool ftz, Operand operand, Operand *d) {
    if (operand.kind == OPK_IMM)
        return call(s, ftz, sqrt_names[rnd], 1, &operand, d);
    Operand x = sel_value(s, operand), y = sel_mufu(s, Mufu_RSQ, x);
    Operand g = fmul(s, x, y), h = fmul(s, y, op_imm(HALF)); /* the root, half its reciprocal */
    Operand e = ffma(s, Rnd_RN, op_neg(g), h, op_imm(HALF));
    g = ffma(s, Rnd_RN, g, e, g);
    h = ffma(s, Rnd_RN, h, e, h);
    Operand r = ffma(s, Rnd_RN, op_neg(g), g, x);
    return unless(s, between(s, x, ROOT_LEAST, INFINITE), ffma(s, rnd, r, h, g), ftz, sqrt_names[rnd], 1,
                  &operand, d);
}
