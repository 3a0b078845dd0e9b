/* Selection of integer arithmetic: PTX ISA 9.7.1 and 9.7.2.
 * SPDX-License-Identifier: MIT */
#include "lower/select/isel.h"

static bool is_packed16(PtxType t) { return t == TY_U16X2 || t == TY_S16X2; }
static unsigned ty_bytes(const PtxInsn *in) { return ptx_type_bytes(sel_type(in)); }

/* ---- add, sub with carry ---- */

/* The PTX carry flag: the carry of add and mad, no borrow of sub, which is the carry of a + ~b + 1. */
static Operand read_cc(Sel *sel) { return ir_val(sel->f, sel_ssa_read(&sel->ssa, sel->cc_var, sel->cur)); }

static Operand add_part(Sel *s, bool sub, Operand a, Operand b, Operand carry, Operand *out) {
    if (sub)
        b = op_neg(sel_value(s, b));
    if (carry.kind == OPK_NONE) {
        if (!sub)
            return sel_iadd_cc(s, a, b, out);
        Operand d = EMIT_R(s, OT_IADD3, 0, sel_value(s, a), b, op_rz(), op_pf(), op_pf());
        *out = sel_add_dst(s, sel_last(s), IADD3_pu, RF_P);
        return d;
    }
    return sel_iadd_x(s, sub ? sel_value(s, a) : a, b, carry, out);
}

/* d = a + b (+ carry flag), or a + ~b + 1 (or + carry flag); *flag is the carry. */
static Wide add_wide(Sel *s, bool sub, bool use_cc, Wide a, Wide b, Operand *flag) {
    Wide d = {.n = a.n};
    *flag = use_cc ? read_cc(s) : op_none();
    for (unsigned c = 0; c < a.n; c++)
        d.w[c] = add_part(s, sub, a.w[c], b.w[c], *flag, flag);
    return d;
}

static bool write_with_cc(Sel *sel, const PtxInsn *in, Wide d, Operand flag) {
    if (in->flags & PF_CC)
        flag = sel_pred(sel, flag);
    sel_write(sel, &in->operands[0], sel_type(in), d);
    if (in->flags & PF_CC)
        sel_write_var(sel, sel->cc_var, flag);
    return true;
}

static bool carry_form(Sel *s, const PtxInsn *in, bool sub, bool use_cc) {
    unsigned bytes = ty_bytes(in);
    Operand flag;
    Wide a = sel_src(s, &in->operands[1], bytes), b = sel_src(s, &in->operands[2], bytes);
    Wide d = add_wide(s, sub, use_cc, a, b, &flag);
    return write_with_cc(s, in, d, flag);
}

/* Clamp to MIN or MAX by the sign of a when a (+-) b overflowed. */
static Operand saturate_s32(Sel *s, bool sub, Operand a, Operand b, Operand sum) {
    a = sel_value(s, a);
    Operand x = sel_xor(s, a, sum), y = sel_xor(s, sub ? a : sel_value(s, b), sub ? b : sum);
    Operand over = sel_isetp(s, true, ICmp_LT, sel_and(s, x, y), op_imm(0));
    Operand limit = sel_xor(s, sel_shr(s, true, a, op_imm(31)), op_imm(0x7fffffff));
    return sel_select(s, over, limit, sum);
}

/* Both 16-bit halves on their own. */
static Operand add16x2(Sel *s, bool sub, Operand a, Operand b) {
    Operand lo = sub ? sel_isub(s, a, b) : sel_iadd(s, a, b);
    Operand ah = sel_and(s, a, op_imm(0xffff0000)), bh = sel_and(s, b, op_imm(0xffff0000));
    Operand hi = sub ? sel_isub(s, ah, bh) : sel_iadd(s, ah, bh);
    return sel_prmt(s, lo, op_imm(0x7610), hi);
}

static bool add_sub(Sel *s, const PtxInsn *in, bool sub) {
    PtxType t = sel_type(in);
    if (in->flags & PF_CC)
        return carry_form(s, in, sub, false);
    unsigned bytes = ty_bytes(in);
    Wide a = sel_src(s, &in->operands[1], bytes), b = sel_src(s, &in->operands[2], bytes), d;
    if (is_packed16(t))
        d = wide1(add16x2(s, sub, a.w[0], b.w[0]));
    else if (bytes == 8)
        d = sub ? sel_sub64(s, a, b) : sel_add64(s, a, b);
    else
        d = wide1(sub ? sel_isub(s, a.w[0], b.w[0]) : sel_iadd(s, a.w[0], b.w[0]));
    if (in->flags & PF_SAT) {
        d.w[0] = saturate_s32(s, sub, a.w[0], b.w[0], d.w[0]);
    }
    sel_write(s, &in->operands[0], t, d);
    return true;
}

bool isel_add(Sel *s, const PtxInsn *in) { return add_sub(s, in, false); }
bool isel_sub(Sel *s, const PtxInsn *in) { return add_sub(s, in, true); }
bool isel_addc(Sel *s, const PtxInsn *in) { return carry_form(s, in, in->op == PTX_SUBC, true); }

/* ---- mul, mad ---- */

/* a * b + c; c may be NULL */
static Wide mad64_lo(Sel *s, Wide a, Wide b, Wide *c) {
    Wide p = sel_imad_wide(s, false, a.w[0], b.w[0], c);
    Operand h = sel_imad(s, a.w[0], b.w[1], p.w[1]);
    return wide2(p.w[0], sel_imad(s, a.w[1], b.w[0], h));
}

/* Schoolbook in 32-bit digits; no partial sum exceeds 64 bits. */
static Wide mul64_hi(Sel *s, bool is_signed, Wide a, Wide b) {
    for (unsigned c = 0; c < 2; c++)
        a.w[c] = sel_value(s, a.w[c]), b.w[c] = sel_value(s, b.w[c]);
    Wide p = sel_imad_wide(s, false, a.w[0], b.w[0], NULL);
    Wide add = wide2(p.w[1], op_imm(0));
    Wide t = sel_imad_wide(s, false, a.w[0], b.w[1], &add);
    add = wide2(t.w[0], op_imm(0));
    Wide u = sel_imad_wide(s, false, a.w[1], b.w[0], &add);
    add = wide2(t.w[1], op_imm(0));
    Wide h = sel_imad_wide(s, false, a.w[1], b.w[1], &add);
    h = sel_add64(s, h, wide2(u.w[1], op_imm(0)));
    if (!is_signed)
        return h;
    Operand sa = sel_shr(s, true, a.w[1], op_imm(31)), sb = sel_shr(s, true, b.w[1], op_imm(31));
    h = sel_sub64(s, h, sel_both(s, sel_and, b, wide2(sa, sa)));
    return sel_sub64(s, h, sel_both(s, sel_and, a, wide2(sb, sb)));
}

/* a * b in the part that `sub` names; *result is the type of it. */
static bool mul_part(Sel *s, const PtxInsn *in, Wide *wide, PtxType *result) {
    PtxType t = sel_type(in);
    bool sg = type_signed(t);
    unsigned bytes = ty_bytes(in);
    *result = t;
    if (bytes == 2) {
        Operand a = sel_src_ext(s, &in->operands[1], t), b = sel_src_ext(s, &in->operands[2], t);
        Operand p = sel_imad(s, a, b, op_rz());
        if (in->sub == SUB_WIDE)
            *result = sg ? TY_S32 : TY_U32;
        *wide = wide1(in->sub == SUB_HI ? sel_shr(s, false, p, op_imm(16)) : p);
        return in->sub != SUB_NONE;
    }
    Wide a = sel_src(s, &in->operands[1], bytes), b = sel_src(s, &in->operands[2], bytes);
    if (bytes == 8) {
        *wide = in->sub == SUB_HI ? mul64_hi(s, sg, a, b) : mad64_lo(s, a, b, NULL);
        return in->sub == SUB_LO || in->sub == SUB_HI;
    }
    if (in->sub == SUB_LO) {
        *wide = wide1(sel_imad(s, a.w[0], b.w[0], op_rz()));
        return true;
    }
    if (in->sub == SUB_HI) {
        *wide = wide1(sel_imad_hi(s, sg, a.w[0], b.w[0]));
        return true;
    }
    *wide = sel_imad_wide(s, sg, a.w[0], b.w[0], NULL);
    *result = sg ? TY_S64 : TY_U64;
    return in->sub == SUB_WIDE;
}

bool isel_mul(Sel *s, const PtxInsn *in) {
    PtxType result;
    Wide d;
    if (!mul_part(s, in, &d, &result))
        return false;
    sel_write(s, &in->operands[0], result, d);
    return true;
}

static bool mad_carry(Sel *s, const PtxInsn *in, bool use_cc) {
    Wide d;
    PtxType result;
    Operand flag;
    if (ty_bytes(in) < 4 || in->sub == SUB_WIDE || !mul_part(s, in, &d, &result))
        return false;
    d = add_wide(s, false, use_cc, d, sel_src(s, &in->operands[3], ty_bytes(in)), &flag);
    return write_with_cc(s, in, d, flag);
}

bool isel_madc(Sel *s, const PtxInsn *in) { return mad_carry(s, in, true); }

/* The forms that add as they multiply. */
static bool mad_direct(Sel *s, const PtxInsn *in) {
    PtxType t = sel_type(in);
    if (ty_bytes(in) == 8 && in->sub == SUB_LO) {
        Wide c = sel_src(s, &in->operands[3], 8);
        Wide a = sel_src(s, &in->operands[1], 8), b = sel_src(s, &in->operands[2], 8);
        sel_write(s, &in->operands[0], t, mad64_lo(s, a, b, &c));
        return true;
    }
    if (ty_bytes(in) != 4 || (in->sub != SUB_LO && in->sub != SUB_WIDE))
        return false;
    Operand a = sel_src32(s, &in->operands[1]), b = sel_src32(s, &in->operands[2]);
    if (in->sub == SUB_LO) {
        sel_write32(s, &in->operands[0], t, sel_imad(s, a, b, sel_src32(s, &in->operands[3])));
        return true;
    }
    Wide c = sel_src(s, &in->operands[3], 8);
    bool sg = type_signed(t);
    sel_write(s, &in->operands[0], sg ? TY_S64 : TY_U64, sel_imad_wide(s, sg, a, b, &c));
    return true;
}

bool isel_mad(Sel *s, const PtxInsn *in) {
    PtxType result;
    if (in->flags & PF_CC)
        return mad_carry(s, in, false);
    if (mad_direct(s, in))
        return true;
    Wide p, c;
    if (!mul_part(s, in, &p, &result))
        return false;
    c = sel_src(s, &in->operands[3], ptx_type_bytes(result));
    Wide d = p.n == 2 ? sel_add64(s, p, c) : wide1(sel_iadd(s, p.w[0], c.w[0]));
    if (in->flags & PF_SAT) {
        d.w[0] = saturate_s32(s, false, p.w[0], c.w[0], d.w[0]);
    }
    sel_write(s, &in->operands[0], result, d);
    return true;
}

static Operand extend24(Sel *s, const PtxOperand *o, bool sg) {
    Operand a = sel_src32(s, o);
    return sg ? sel_shr(s, true, sel_shl(s, a, op_imm(8)), op_imm(8)) : sel_and(s, a, op_imm(0xffffff));
}

bool isel_mul24(Sel *s, const PtxInsn *in) {
    bool sg = type_signed(sel_type(in));
    Operand a = extend24(s, &in->operands[1], sg), b = extend24(s, &in->operands[2], sg);
    Wide p = sel_imad_wide(s, sg, a, b, NULL);
    Operand d = p.w[0];
    if (in->sub == SUB_HI) /* bits 47..16 */
        d = sel_shr64(s, false, p, op_imm(16)).w[0];
    if (in->op == PTX_MAD24) {
        Operand c = sel_src32(s, &in->operands[3]), sum = sel_iadd(s, d, c);
        d = in->flags & PF_SAT ? saturate_s32(s, false, d, c, sum) : sum;
    }
    sel_write32(s, &in->operands[0], sel_type(in), d);
    return true;
}

/* ---- absolute difference, abs, neg, min, max ---- */

static Wide minmax64(Sel *s, bool sg, bool is_max, Wide a, Wide b) {
    Operand p = sel_isetp64(s, sg, is_max ? ICmp_GT : ICmp_LT, a, b);
    return sel_select64(s, p, a, b);
}

bool isel_sad(Sel *s, const PtxInsn *in) {
    PtxType t = sel_type(in);
    bool sg = type_signed(t);
    if (ty_bytes(in) == 8) {
        Wide a = sel_src(s, &in->operands[1], 8), b = sel_src(s, &in->operands[2], 8);
        Wide greater = minmax64(s, sg, true, a, b), d = sel_sub64(s, greater, minmax64(s, sg, false, a, b));
        sel_write(s, &in->operands[0], t, sel_add64(s, d, sel_src(s, &in->operands[3], 8)));
        return true;
    }
    Operand a = sel_src_ext(s, &in->operands[1], t), b = sel_src_ext(s, &in->operands[2], t);
    Operand greater = sel_minmax(s, sg, true, a, b), d = sel_isub(s, greater, sel_minmax(s, sg, false, a, b));
    sel_write32(s, &in->operands[0], t, sel_iadd(s, d, sel_src(s, &in->operands[3], ty_bytes(in)).w[0]));
    return true;
}

bool isel_abs(Sel *s, const PtxInsn *in) {
    PtxType t = sel_type(in);
    if (ty_bytes(in) == 8) {
        Wide a = sel_src(s, &in->operands[1], 8);
        Operand p = sel_isetp(s, true, ICmp_LT, a.w[1], op_imm(0));
        sel_write(s, &in->operands[0], t, sel_select64(s, p, sel_neg64(s, a), a));
        return true;
    }
    sel_write32(s, &in->operands[0], t, EMIT_R(s, OT_IABS, 0, sel_src_ext(s, &in->operands[1], t)));
    return true;
}

bool isel_neg(Sel *s, const PtxInsn *in) {
    PtxType t = sel_type(in);
    Wide a = sel_src(s, &in->operands[1], ty_bytes(in));
    sel_write(s, &in->operands[0], t, a.n == 2 ? sel_neg64(s, a) : wide1(sel_isub(s, op_imm(0), a.w[0])));
    return true;
}

static Operand minmax16x2(Sel *s, bool sg, bool is_max, Operand a, Operand b) {
    a = sel_value(s, a);
    b = sel_value(s, b);
    Operand a0 = sel_extend(s, a, 2, sg), b0 = sel_extend(s, b, 2, sg);
    Operand lo = sel_minmax(s, sg, is_max, a0, b0);
    Operand a1 = sel_shr(s, sg, a, op_imm(16)), b1 = sel_shr(s, sg, b, op_imm(16));
    Operand hi = sel_minmax(s, sg, is_max, a1, b1);
    return sel_prmt(s, lo, op_imm(0x5410), hi);
}

bool isel_minmax(Sel *s, const PtxInsn *in) {
    PtxType t = sel_type(in);
    bool is_max = in->op == PTX_MAX, sg = type_signed(t);
    bool relu = in->flags & PF_RELU;
    const PtxOperand *a = &in->operands[1], *b = &in->operands[2];
    if (is_packed16(t)) {
        Operand x = sel_src32(s, a), y = sel_src32(s, b), d = minmax16x2(s, sg, is_max, x, y);
        sel_write32(s, &in->operands[0], t, relu ? minmax16x2(s, true, true, d, op_imm(0)) : d);
    } else if (relu) {
        Operand x = sel_src32(s, a), y = sel_src32(s, b), d = sel_minmax(s, true, is_max, x, y);
        sel_write32(s, &in->operands[0], t, sel_minmax(s, true, true, d, op_imm(0)));
    } else if (ty_bytes(in) == 8) {
        Wide x = sel_src(s, a, 8), y = sel_src(s, b, 8);
        sel_write(s, &in->operands[0], t, minmax64(s, sg, is_max, x, y));
    } else {
        Operand x = sel_src_ext(s, a, t), y = sel_src_ext(s, b, t);
        sel_write32(s, &in->operands[0], t, sel_minmax(s, sg, is_max, x, y));
    }
    return true;
}

/* ---- bits ---- */

static Operand emit_flo(Sel *s, bool shift_amount, Operand a) {
    return EMIT_R(s, OT_FLO, MSET(FLO, sign, ISign_U32) | MSET(FLO, sh, shift_amount), a);
}

bool isel_popc(Sel *s, const PtxInsn *in) {
    Wide a = sel_src(s, &in->operands[1], ty_bytes(in));
    Operand d = EMIT_R(s, OT_POPC, 0, a.w[0]);
    if (a.n == 2)
        d = sel_iadd(s, d, EMIT_R(s, OT_POPC, 0, a.w[1]));
    sel_write32(s, &in->operands[0], TY_U32, d);
    return true;
}

static Operand clz32(Sel *s, Operand a) { /* of 0 FLO gives all ones */
    return sel_minmax(s, false, false, emit_flo(s, true, a), op_imm(32));
}

bool isel_clz(Sel *s, const PtxInsn *in) {
    Wide a = sel_src(s, &in->operands[1], ty_bytes(in));
    Operand d;
    if (a.n == 2) {
        Operand low = sel_iadd(s, clz32(s, a.w[0]), op_imm(32));
        Operand high = emit_flo(s, true, a.w[1]);
        d = sel_select(s, sel_isetp(s, false, ICmp_NE, a.w[1], op_imm(0)), high, low);
    } else
        d = clz32(s, a.w[0]);
    sel_write32(s, &in->operands[0], TY_U32, d);
    return true;
}

bool isel_bfind(Sel *s, const PtxInsn *in) {
    PtxType t = sel_type(in);
    bool sh = in->flags & PF_SHIFTAMT;
    Wide a = sel_src(s, &in->operands[1], ty_bytes(in));
    if (type_signed(t)) { /* the highest bit that differs from the sign */
        Operand sign = sel_shr(s, true, a.w[a.n - 1], op_imm(31));
        for (unsigned c = 0; c < a.n; c++)
            a.w[c] = sel_xor(s, a.w[c], sign);
    }
    Operand d = emit_flo(s, sh, a.w[0]);
    if (a.n == 2) {
        Operand hi = emit_flo(s, sh, a.w[1]), high = sel_isetp(s, false, ICmp_NE, a.w[1], op_imm(0));
        if (sh) {
            Operand low = sel_isetp(s, false, ICmp_NE, a.w[0], op_imm(0));
            d = sel_select(s, low, sel_iadd(s, d, op_imm(32)), op_imm(0xffffffff));
        } else
            hi = sel_iadd(s, hi, op_imm(32));
        d = sel_select(s, high, hi, d);
    }
    sel_write32(s, &in->operands[0], TY_U32, d);
    return true;
}

bool isel_fns(Sel *s, const PtxInsn *in) {
    Operand args[3], d;
    for (unsigned k = 0; k < 3; k++)
        args[k] = sel_src32(s, &in->operands[k + 1]);
    if (!sel_abi_call_builtin(s, "__heddle_fns_b32", 3, args, 1, &d))
        return false;
    sel_write32(s, &in->operands[0], TY_B32, d);
    return true;
}

bool isel_brev(Sel *s, const PtxInsn *in) {
    Wide a = sel_src(s, &in->operands[1], ty_bytes(in)), d = {.n = a.n};
    for (unsigned c = 0; c < a.n; c++)
        d.w[a.n - 1 - c] = EMIT_R(s, OT_BREV, 0, a.w[c]);
    sel_write(s, &in->operands[0], sel_type(in), d);
    return true;
}

static Operand low_byte(Sel *s, const PtxOperand *o) { return sel_extend(s, sel_src32(s, o), 1, false); }

/* (1 << len) - 1, all ones from 64 on */
static Wide mask64(Sel *s, Operand len) {
    if (len.kind == OPK_IMM) {
        uint64_t mask = len.value >= 64 ? UINT64_MAX : (1ull << len.value) - 1;
        return wide2(op_imm((uint32_t)mask), op_imm((uint32_t)(mask >> 32)));
    }
    Wide one = sel_shl64(s, wide2(sel_value(s, op_imm(1)), op_rz()), len);
    return sel_add64(s, one, wide2(op_imm(0xffffffff), op_imm(0xffffffff)));
}

static Wide shifted_mask64(Sel *s, Wide mask, Operand pos) {
    if (pos.kind != OPK_IMM || mask.w[0].kind != OPK_IMM)
        return sel_shl64(s, mask, pos);
    uint64_t m = pos.value >= 64 ? 0 : ((uint64_t)mask.w[1].value << 32 | mask.w[0].value) << pos.value;
    return wide2(op_imm((uint32_t)m), op_imm((uint32_t)(m >> 32)));
}

bool isel_bfe(Sel *s, const PtxInsn *in) {
    PtxType t = sel_type(in);
    bool sg = type_signed(t);
    Wide a = sel_src(s, &in->operands[1], ty_bytes(in)), d;
    Operand pos = low_byte(s, &in->operands[2]), len = low_byte(s, &in->operands[3]);
    if (a.n == 1) {
        Operand x = sel_shr(s, sg, a.w[0], pos);
        d = wide1(EMIT_R(s, OT_SGXT, MSET(SGXT, sign, sg ? ISign_S32 : ISign_U32), x, len));
    } else {
        d = sel_shr64(s, sg, a, pos);
        if (sg) {
            Operand k = sel_isub(s, op_imm(64), sel_minmax(s, false, false, len, op_imm(64)));
            d = sel_shr64(s, true, sel_shl64(s, d, k), k);
        } else {
            Wide m = mask64(s, len);
            d = sel_both(s, sel_and, d, m);
        }
    }
    sel_write(s, &in->operands[0], t, d);
    return true;
}

/* mask ? x : b, bit by bit */
static Operand merge_bits(Sel *s, Operand mask, Operand x, Operand b) {
    enum { LUT_SEL_B_A_C = (LUT_B & LUT_A) | (~LUT_B & LUT_C) };
    if (mask.kind != OPK_IMM)
        return sel_lop(s, LUT_CHOOSE, mask, x, b);
    if (mask.value == 0 || mask.value == UINT32_MAX)
        return mask.value ? x : b;
    return sel_lop(s, LUT_SEL_B_A_C, op_is_imm(x, 0) ? op_rz() : x, mask, b);
}

/* `len` bits from bit `pos` on; none from bit 32 on. */
static Operand bit_field(Sel *s, Operand pos, Operand len) {
    if (pos.kind != OPK_IMM || len.kind != OPK_IMM)
        return EMIT_R(s, OT_BMSK, 0, pos, len);
    uint32_t ones = len.value > 31 ? UINT32_MAX : ((uint32_t)1 << len.value) - 1;
    return op_imm(pos.value > 31 ? 0 : ones << pos.value);
}

bool isel_bfi(Sel *s, const PtxInsn *in) {
    unsigned bytes = ty_bytes(in);
    Wide a = sel_src(s, &in->operands[1], bytes), b = sel_src(s, &in->operands[2], bytes), d;
    Operand pos = low_byte(s, &in->operands[3]), len = low_byte(s, &in->operands[4]);
    if (a.n == 1) {
        Operand m = bit_field(s, pos, len);
        d = wide1(merge_bits(s, m, sel_shl(s, a.w[0], pos), b.w[0]));
    } else {
        Wide m = shifted_mask64(s, mask64(s, len), pos), x = sel_shl64(s, a, pos);
        Operand lo = merge_bits(s, m.w[0], x.w[0], b.w[0]);
        d = wide2(lo, merge_bits(s, m.w[1], x.w[1], b.w[1]));
    }
    sel_write(s, &in->operands[0], sel_type(in), d);
    return true;
}

static bool wraps(const PtxInsn *in) { return in->sub == SUB_WRAP || in->sub2 == SUB_WRAP; }

bool isel_szext(Sel *s, const PtxInsn *in) {
    uint32_t mods =
        MSET(SGXT, sign, type_signed(sel_type(in)) ? ISign_S32 : ISign_U32) | MSET(SGXT, wrap, wraps(in));
    Operand a = sel_src32(s, &in->operands[1]), width = sel_src32(s, &in->operands[2]);
    sel_write32(s, &in->operands[0], sel_type(in), EMIT_R(s, OT_SGXT, mods, a, width));
    return true;
}

bool isel_bmsk(Sel *s, const PtxInsn *in) {
    Operand first = sel_src32(s, &in->operands[1]), width = sel_src32(s, &in->operands[2]);
    sel_write32(s, &in->operands[0], TY_B32, EMIT_R(s, OT_BMSK, MSET(BMSK, wrap, wraps(in)), first, width));
    return true;
}

/* ---- dot products ---- */

static bool dot(Sel *s, const PtxInsn *in, enum IdpMode mode_signed, enum IdpMode mode_unsigned) {
    bool sa = type_signed(sel_type(in)), sb = type_signed((PtxType)in->type[1]);
    uint32_t mods =
        MSET(IDP, mode, sa ? mode_signed : mode_unsigned) | MSET(IDP, bsign, sb ? IdpSign_S8 : IdpSign_U8);
    Operand a = sel_src32(s, &in->operands[1]), b = sel_src32(s, &in->operands[2]),
            c = sel_src32(s, &in->operands[3]);
    sel_write32(s, &in->operands[0], TY_B32, EMIT_R(s, OT_IDP, mods, a, b, c));
    return true;
}

bool isel_dp4a(Sel *s, const PtxInsn *in) { return dot(s, in, IdpMode_D4A_S8, IdpMode_D4A_U8); }
bool isel_dp2a(Sel *s, const PtxInsn *in) {
    return in->sub == SUB_HI ? dot(s, in, IdpMode_D2A_HI_S16, IdpMode_D2A_HI_U16)
                             : dot(s, in, IdpMode_D2A_LO_S16, IdpMode_D2A_LO_U16);
}
