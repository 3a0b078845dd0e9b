/* Integer division and remainder: PTX ISA 9.7.1.8 and 9.7.1.9.
 *
 * Of up to 32 bits, inline: an approximate reciprocal y = 2^32 / d, made too small, one step of refinement, a
 * quotient at most two too small, and two corrections, in 16 instructions:
 *
 *     y = F2I.TRUNC((I2F.RP(d)'s MUFU.RCP with 0xffffffd added to its bits));  y += hi(y * (y * -d))
 *     q = hi(n * y);  r = n - q d;  twice: r >= d ? r -= d, q += 1
 *
 * tests/values/test_division shows it right for all n and d > 0 and each MUFU within 2 units in the last
 * place of the exact reciprocal. By zero both are all ones, as in ptxas's code (docs/numerics.md section 4).
 * The prover builds the same of its own (check/prove/lane/idiom.c).
 *
 * Of 64 bits, where both operands fit into 32 the same, elsewhere a call of the library.
 * SPDX-License-Identifier: MIT */
#include "lower/select/isel.h"

enum { TOO_SMALL = 0xffffffd }; /* 2^32 as an exponent, less 3 units in the last place */

static bool power_of_two(uint64_t v) { return v && !(v & (v - 1)); }

/* Unsigned division by a constant power of two. */
static bool div_shift(Sel *s, const PtxInsn *in) {
    const PtxOperand *operand = &in->operands[2];
    unsigned bytes = ptx_type_bytes(sel_type(in));
    uint64_t v =
        bytes == 8 ? (uint64_t)operand->imm : (uint64_t)operand->imm & (bytes == 4 ? 0xffffffffu : 0xffffu);
    if (operand->kind != PO_IMM || type_signed(sel_type(in)) || !power_of_two(v))
        return false;
    Operand n = op_imm((uint32_t)__builtin_ctzll(v));
    bool rem = in->op == PTX_REM;
    if (bytes == 8) {
        Wide a = sel_src(s, &in->operands[1], 8);
        Wide d = a;
        for (unsigned k = 0; k < 2 && rem; k++)
            d.w[k] = sel_and(s, a.w[k], op_imm((uint32_t)((v - 1) >> 32 * k)));
        if (!rem)
            d = sel_shr64(s, false, a, n);
        sel_write(s, &in->operands[0], sel_type(in), d);
        return true;
    }
    Operand a = sel_src_ext(s, &in->operands[1], sel_type(in));
    sel_write32(s, &in->operands[0], sel_type(in),
                rem ? sel_and(s, a, op_imm((uint32_t)v - 1)) : sel_shr(s, false, a, n));
    return true;
}

/* 2^32 / d less a little; minus is -d. */
static Operand inverse(Sel *s, Operand d, Operand minus) {
    Operand f = EMIT_R(s, OT_I2F,
                       MSET(I2F, sign, CvtSign_U) | MSET(I2F, dst, FSize_F32) | MSET(I2F, rnd, Rnd_RP) |
                           MSET(I2F, src, ISize_B32),
                       d);
    f = sel_iadd(s, sel_mufu(s, Mufu_RCP, f), op_imm(TOO_SMALL));
    Operand y = EMIT_R(s, OT_F2I,
                       MSET(F2I, sign, CvtSign_U) | MSET(F2I, dst, ISize_B32) | MSET(F2I, rnd, IRnd_TRUNC) |
                           MSET(F2I, ftz, 1) | MSET(F2I, ntz, 1) | MSET(F2I, src, FSize_F32),
                       f);
    return sel_iadd(s, y, sel_imad_hi(s, false, y, sel_imad(s, y, minus, op_rz())));
}

static Operand when(Sel *s, Operand p, Operand then, Operand otherwise) {
    InstId id = sel_last(s);
    ir_set_guard(s->f, id, p);
    *ir_tied(s->f, ir_inst(s->f, id), 0) = otherwise;
    return then;
}

/* p ? a - b : a, where minus is -b */
static Operand less_if(Sel *s, Operand p, Operand a, Operand minus) {
    return when(s, p, sel_iadd(s, a, minus), a);
}

static Operand negate_if(Sel *s, Operand p, Operand a) { return when(s, p, sel_isub(s, op_imm(0), a), a); }

/* n / d, or n mod d, without sign. Of d = 0 the result is of no use. */
Operand sel_divided(Sel *s, bool rem, Operand n, Operand d) {
    n = sel_value(s, n);
    d = sel_value(s, d);
    Operand minus = sel_isub(s, op_imm(0), d), more[2];
    Operand q = sel_imad_hi(s, false, n, inverse(s, d, minus)), r = sel_imad(s, q, minus, n);
    for (unsigned k = 0; k < 2; k++) {
        more[k] = sel_isetp(s, false, ICmp_GE, r, d);
        if (k == 0 || rem)
            r = less_if(s, more[k], r, minus);
    }
    return rem ? r : EMIT_R(s, OT_IADD3, MSET(IADD3, x, 1), q, op_rz(), op_rz(), more[0], more[1]);
}

/* Magnitudes, then signs: the quotient's from both, the remainder's from the dividend. MIN / -1: its
 * magnitude is 2^31, and so is the result. */
static Operand divided_signed(Sel *s, bool rem, Operand n, Operand d) {
    n = sel_value(s, n);
    d = sel_value(s, d);
    Operand negative = sel_isetp(s, true, ICmp_LT, rem ? n : sel_xor(s, n, d), op_imm(0));
    n = EMIT_R(s, OT_IABS, 0, n); /* (arguments have no order, and code is the same whatever compiled this) */
    d = EMIT_R(s, OT_IABS, 0, d);
    return negate_if(s, negative, sel_divided(s, rem, n, d));
}

/* Both operands fit into 32 bits: what is common, and inline. The library divides the others, and by zero,
 * which gives all ones of 64 bits. */
static bool divide_wide(Sel *s, const PtxInsn *in, bool rem, bool sg) {
    static const char *const name[2][2] = {{"__heddle_div_u64", "__heddle_div_s64"},
                                           {"__heddle_rem_u64", "__heddle_rem_s64"}};
    Wide a = sel_src(s, &in->operands[1], 8), b = sel_src(s, &in->operands[2], 8);
    Operand args[4] = {a.w[0], a.w[1], b.w[0], b.w[1]}, d[2] = {op_none(), op_imm(0)};
    BlockId narrow = sel_block_new(s), wide = sel_block_new(s), join = sel_block_new(s);
    Operand fits = sel_isetp(s, false, ICmp_EQ, sel_or(s, sel_value(s, a.w[1]), b.w[1]), op_imm(0));
    fits = EMIT_P(s, OT_ISETP,
                  MSET(ISETP, sign, ISign_U32) | MSET(ISETP, cmp, ICmp_NE) | MSET(ISETP, bop, BoolOp_AND),
                  sel_value(s, b.w[0]), op_rz(), fits, op_pt());
    uint32_t var[2];
    for (unsigned k = 0; k < 2; k++)
        var[k] = sel_ssa_var_new(&s->ssa, RF_R, 0, 0);
    sel_branch_rare(s, op_not(fits), wide, narrow);
    for (unsigned k = 0; k < 2; k++) {
        sel_seal(s, k ? wide : narrow);
        sel_begin(s, k ? wide : narrow);
        if (!k)
            d[0] = sel_divided(s, rem, a.w[0], b.w[0]);
        else if (!sel_abi_call_builtin(s, name[rem][sg], 4, args, 2, d))
            return false;
        for (unsigned c = 0; c < 2; c++)
            sel_write_var(s, var[c], d[c]);
        sel_jump(s, join);
    }
    sel_seal(s, join);
    sel_begin(s, join);
    for (unsigned c = 0; c < 2; c++)
        d[c] = ir_val(s->f, sel_ssa_read(&s->ssa, var[c], join));
    sel_write(s, &in->operands[0], sel_type(in), wide2(d[0], d[1]));
    return true;
}

bool isel_div(Sel *s, const PtxInsn *in) {
    PtxType t = sel_type(in);
    bool rem = in->op == PTX_REM, sg = type_signed(t);
    if (div_shift(s, in))
        return true;
    if (ptx_type_bytes(t) == 8)
        return divide_wide(s, in, rem, sg);
    Operand n = sel_src_ext(s, &in->operands[1], t), d = sel_src_ext(s, &in->operands[2], t);
    Operand result = (sg ? divided_signed : sel_divided)(s, rem, n, d);
    result = sel_select(s, sel_isetp(s, false, ICmp_NE, d, op_imm(0)), result, op_imm(0xffffffff));
    sel_write32(s, &in->operands[0], t, result);
    return true;
}
