/* Division, reciprocal and square root of f32 and f64, correctly rounded in any of the four modes. What is
 * common goes through MUFU and FFMA or DFMA; operands near the ends of the range, zeros, infinities, NaN and
 * subnormals branch to a call of the library's function, which takes all there are.
 *
 * The result does not depend on MUFU's last bits: docs/numerics.md, "Rounding exactly from MUFU", has why any
 * value within 2 units in the last place of the exact one will do. The prover knows the sequences by
 * their shape (check/prove/mach/rounded.c). SPDX-License-Identifier: MIT */
#include "lower/select/isel.h"

enum {
    ONE = 0x3f800000,
    HALF = 0x3f000000,
    LEAST_NORMAL = 0x00800000,
    RCP_LIMIT = 0x7e000000,  /* 2^125: MUFU's reciprocal of what is below is normal, whatever its last bits */
    ROOT_LEAST = 0x0d800000, /* 2^-100: above it the remainder of a root is no less than what f32 can hold */
    INFINITE = 0x7f800000,
    /* high words of f64 */
    WIDE_ONE = 0x3ff00000,
    WIDE_HALF = 0x3fe00000,
    WIDE_3_8TH = 0x3fd80000,
    WIDE_LEAST_NORMAL = 0x00100000,
    WIDE_LEAST_DIVIDEND = 0x03600000, /* 2^-969: above it the last bit of a - b q is not lost */
    WIDE_LEAST_SQUARE = 0x03500000,   /* 2^-970: above it the last bit of x - g g is not */
    WIDE_INFINITE = 0x7ff00000
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

typedef struct { /* a value of n words that lanes bring from the rare block, which is current, to the join */
    uint32_t var[2];
    BlockId join;
    unsigned n;
} Slow;
/* The result where `good` holds; elsewhere what `rejoin` is given. */
static Slow unless(Sel *s, Operand good, unsigned n, const Operand *result) {
    Slow slow = {.n = n};
    for (unsigned k = 0; k < n; k++) {
        slow.var[k] = sel_ssa_var_new(&s->ssa, RF_R, 0, 0);
        sel_write_var(s, slow.var[k], result[k]);
    }
    BlockId rare = sel_block_new(s);
    slow.join = sel_block_new(s);
    sel_branch_rare(s, op_not(good), rare, slow.join);
    sel_seal(s, rare);
    sel_begin(s, rare);
    return slow;
}
static void rejoin(Sel *s, const Slow *slow, Operand *d) {
    for (unsigned k = 0; k < slow->n; k++)
        sel_write_var(s, slow->var[k], d[k]);
    sel_jump(s, slow->join);
    sel_seal(s, slow->join);
    sel_begin(s, slow->join);
    for (unsigned k = 0; k < slow->n; k++)
        d[k] = ir_val(s->f, sel_ssa_read(&s->ssa, slow->var[k], slow->join));
}
/* The result where `good` holds, a call elsewhere. */
static bool or_call(Sel *s, Operand good, Operand result, bool ftz, const char *name, unsigned n,
                    const Operand *operands, Operand *d) {
    Slow slow = unless(s, good, 1, &result);
    if (!call(s, ftz, name, n, operands, d))
        return false;
    rejoin(s, &slow, d);
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
    return or_call(s, good, ffma(s, rnd, y, e, y), ftz, div_names[rnd], 2, operands, d);
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
    return or_call(sel, op_not(bad), q, ftz, div_names[rnd], 2, operands, d);
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
    Operand root = ffma(s, rnd, r, h, g), good = between(s, x, ROOT_LEAST, INFINITE);
    return or_call(s, good, root, ftz, sqrt_names[rnd], 1, &operand, d);
}

/* ---- f64 ---- */

static Operand dfma(Sel *s, unsigned rnd, Operand a, Operand b, Operand c) {
    return EMIT_R2(s, OT_DFMA, MSET(DFMA, rnd, rnd), a, b, c);
}

static Operand dmul(Sel *s, Operand a, Operand b) {
    return EMIT_R2(s, OT_DMUL, MSET(DMUL, rnd, Rnd_RN), a, b);
}

/* MUFU of the high word; the low one is zero. */
static Operand mufu_wide(Sel *s, unsigned func, Operand a) {
    return sel_wide_vec(s, wide2(op_imm(0), sel_mufu(s, func, sel_part(s, a, 1))));
}

static bool call_wide(Sel *s, const char *name, unsigned n, const Wide *v, unsigned rnd, Operand d[2]) {
    Operand args[5];
    for (unsigned k = 0; k < n; k++)
        args[2 * k] = v[k].w[0], args[2 * k + 1] = v[k].w[1];
    args[2 * n] = op_imm(rnd);
    return sel_abi_call_builtin(s, name, 2 * n + 1, args, 2, d);
}

static bool or_call_wide(Sel *s, Operand good, Operand result, const char *name, unsigned n, const Wide *v,
                         unsigned rnd, Wide *d) {
    Slow slow = unless(s, good, 2, sel_wide_pair(s, result).w);
    if (!call_wide(s, name, n, v, rnd, d->w))
        return false;
    rejoin(s, &slow, d->w);
    return true;
}

static Operand high_magnitude(Sel *s, Operand a) { return op_with(sel_part(s, a, 1), OPM_ABS); }

/* High words of f64 are compared as f32, which orders them; those of 2^1017 and above are infinite or NaN. */
static Operand compared(Sel *s, unsigned cmp, Operand a, uint32_t limit, Operand also) {
    return EMIT_P(s, OT_FSETP, MSET(FSETP, cmp, cmp) | MSET(FSETP, bop, BoolOp_AND), a, op_imm(limit), also);
}

/* 1 / b rounded by `rnd`; not to nearest where b is the largest of its binade */
static Operand reciprocal_wide(Sel *s, Operand b, unsigned rnd) {
    Operand y = mufu_wide(s, Mufu_RCP64H, b), e = dfma(s, Rnd_RN, op_neg(b), y, op_imm(WIDE_ONE));
    y = dfma(s, Rnd_RN, y, dfma(s, Rnd_RN, e, e, e), y);
    return dfma(s, rnd, y, dfma(s, Rnd_RN, op_neg(b), y, op_imm(WIDE_ONE)), y);
}

bool sel_div_rounded_wide(Sel *s, unsigned rnd, const Wide *v, Wide *d) {
    static const char name[] = "__heddle_div_f64";
    bool one = op_is_imm(v[0].w[0], 0) && op_is_imm(v[0].w[1], WIDE_ONE), constant = true;
    for (unsigned k = 0; k < 4; k++)
        constant &= v[k / 2].w[k % 2].kind == OPK_IMM;
    d->n = 2;
    if (constant)
        return call_wide(s, name, 2, v, rnd, d->w);
    Operand b = sel_wide_vec(s, v[1]), size = high_magnitude(s, b);
    Operand good =
        sel_isetp(s, false, ICmp_NE, sel_part(s, b, 0), op_imm(0xffffffff)); /* b is not the largest */
    Operand q = reciprocal_wide(s, b, one ? rnd : Rnd_RN), y = q;
    if (one) {
        good = compared(s, FCmp_GE, size, WIDE_LEAST_NORMAL, good);
        good = compared(s, FCmp_LT, size, INFINITE, good);
        return or_call_wide(s, good, q, name, 2, v, rnd, d);
    }
    Operand a = sel_wide_vec(s, v[0]);
    q = dmul(s, a, y);
    for (unsigned k = 0; k < (rnd == Rnd_RN ? 1 : 2); k++)
        q = dfma(s, k ? rnd : Rnd_RN, dfma(s, Rnd_RN, op_neg(b), q, a), y, q);
    good = compared(s, FCmp_GE, high_magnitude(s, a), WIDE_LEAST_DIVIDEND, good);
    good = compared(s, FCmp_GT, high_magnitude(s, q), WIDE_LEAST_NORMAL, good);
    return or_call_wide(s, good, q, name, 2, v, rnd, d);
}

bool sel_sqrt_rounded_wide(Sel *s, unsigned rnd, Wide operand, Wide *d) {
    static const char name[] = "__heddle_sqrt_f64";
    d->n = 2;
    if (operand.w[0].kind == OPK_IMM && operand.w[1].kind == OPK_IMM)
        return call_wide(s, name, 1, &operand, rnd, d->w);
    Operand x = sel_wide_vec(s, operand), y = mufu_wide(s, Mufu_RSQ64H, x);
    Operand e = dfma(s, Rnd_RN, op_neg(x), dmul(s, y, y), op_imm(WIDE_ONE));
    Operand f = dfma(s, Rnd_RN, e, sel_wide_vec(s, wide2(op_imm(0), op_imm(WIDE_3_8TH))), op_imm(WIDE_HALF));
    y = dfma(s, Rnd_RN, f, dmul(s, y, e), y); /* y (1 + e / 2 + 3 / 8 e^2) */
    Operand g = dmul(s, x, y), h = dmul(s, y, op_imm(WIDE_HALF));
    for (unsigned k = 0; k < (rnd == Rnd_RN ? 1 : 2); k++)
        g = dfma(s, k ? rnd : Rnd_RN, dfma(s, Rnd_RN, op_neg(g), g, x), h, g);
    Operand above = sel_iadd(s, sel_part(s, x, 1), op_imm(0u - WIDE_LEAST_SQUARE));
    Operand good = sel_isetp(s, false, ICmp_LT, above, op_imm(WIDE_INFINITE - WIDE_LEAST_SQUARE));
    return or_call_wide(s, good, g, name, 1, &operand, rnd, d);
}
