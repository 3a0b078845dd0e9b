/* Comparison, selection, logic, shift, mov and prmt of the PTX interpreter (PTX ISA 9.7.6 to 9.7.9.7).
 * SPDX-License-Identifier: MIT */
#include "sim/interp/run.h"

typedef uint64_t U64;

/* ---- comparison ---- */

static bool ordered_result(unsigned cmp, int order) { /* order: -1, 0, 1 */
    switch (cmp) {
    case CMP_EQ:
    case CMP_EQU: return order == 0;
    case CMP_NE:
    case CMP_NEU: return order != 0;
    case CMP_LT:
    case CMP_LTU:
    case CMP_LO: return order < 0;
    case CMP_LE:
    case CMP_LEU:
    case CMP_LS: return order <= 0;
    case CMP_GT:
    case CMP_GTU:
    case CMP_HI: return order > 0;
    case CMP_GE:
    case CMP_GEU:
    case CMP_HS: return order >= 0;
    case CMP_NUM: return true;
    default: return false; /* nan */
    }
}
static bool unordered_result(unsigned cmp) { return cmp >= CMP_EQU && cmp != CMP_NUM; }

static bool compare_float(unsigned cmp, double a, double b) {
    if (a != a || b != b)
        return unordered_result(cmp);
    return ordered_result(cmp, a < b ? -1 : a > b ? 1 : 0);
}
static bool compare_signed(unsigned cmp, int64_t a, int64_t b) {
    return ordered_result(cmp, a < b ? -1 : a > b ? 1 : 0);
}
static bool compare_unsigned(unsigned cmp, U64 a, U64 b) {
    return ordered_result(cmp, a < b ? -1 : a > b ? 1 : 0);
}

static double half_for_compare(PtxFormat f, U64 v, bool ftz) {
    double d = ptx_half_value(f, (uint16_t)v);
    return ftz && f.exp_bits == 5 && d > -0x1p-14 && d < 0x1p-14 ? 0.0 : d;
}

static bool compare(unsigned type, unsigned cmp, U64 a, U64 b, bool ftz) {
    switch (type) {
    case TY_F32:
        if (ftz)
            a = f32_flush((uint32_t)a), b = f32_flush((uint32_t)b);
        return compare_float(cmp, (double)f32_of(a), (double)f32_of(b));
    case TY_F64: return compare_float(cmp, f64_of(a), f64_of(b));
    case TY_F16:
    case TY_F16X2:
        return compare_float(cmp, half_for_compare(FMT_F16, a, ftz), half_for_compare(FMT_F16, b, ftz));
    case TY_BF16:
    case TY_BF16X2:
        return compare_float(cmp, half_for_compare(FMT_BF16, a, false), half_for_compare(FMT_BF16, b, false));
    case TY_S16: return compare_signed(cmp, (int16_t)a, (int16_t)b);
    case TY_S32: return compare_signed(cmp, (int32_t)a, (int32_t)b);
    case TY_S64: return compare_signed(cmp, (int64_t)a, (int64_t)b);
    default: {
        U64 mask = width_mask(ptx_type_bytes((PtxType)type));
        return compare_unsigned(cmp, a & mask, b & mask);
    }
    }
}

static bool combine(unsigned bop, bool a, bool c) {
    return bop == BOP_AND ? a && c : bop == BOP_OR ? a || c : bop == BOP_XOR ? a != c : a;
}

static PtxStep exec_setp(PtxRun *r, PtxThread *t, const PtxCode *c) {
    U64 a = ptx_arg(r, t, &c->src[0]), b = ptx_arg(r, t, &c->src[1]);
    bool with = c->nsrc > 2 && (ptx_arg(r, t, &c->src[2]) & 1);
    bool p = compare(c->type, c->cmp, a, b, c->ftz), q = !p;
    if (c->type == TY_F16X2 || c->type == TY_BF16X2)
        q = compare(c->type, c->cmp, a >> 16, b >> 16, c->ftz);
    ptx_put(t, c->dst[0], combine(c->bop, p, with));
    if (c->ndst > 1)
        ptx_put(t, c->dst[1], combine(c->bop, q, with));
    return STEP_GO;
}

static U64 set_value(unsigned type, bool v) {
    if (!v)
        return 0;
    switch (type) {
    case TY_F32: return 0x3f800000;
    case TY_F16:
    case TY_F16X2: return 0x3c00;
    case TY_BF16:
    case TY_BF16X2: return 0x3f80;
    default: return UINT64_MAX;
    }
}
static U64 set_fn(U64 a, U64 b, U64 c, const PtxCode *k) {
    bool with = c & 1, lo = combine(k->bop, compare(k->type2, k->cmp, a, b, k->ftz), with);
    if (k->type2 != TY_F16X2 && k->type2 != TY_BF16X2)
        return set_value(k->type, lo);
    bool hi = combine(k->bop, compare(k->type2, k->cmp, a >> 16, b >> 16, k->ftz), with);
    return (set_value(k->type, lo) & 0xffff) | (set_value(k->type, hi) & 0xffff) << 16;
}

static U64 selp_fn(U64 a, U64 b, U64 c, const PtxCode *k) {
    (void)k;
    return c & 1 ? a : b;
}
static U64 slct_fn(U64 a, U64 b, U64 c, const PtxCode *k) {
    if (k->type2 == TY_S32)
        return (int32_t)c >= 0 ? a : b;
    float f = f32_of(k->ftz ? f32_flush((uint32_t)c) : (uint32_t)c);
    return f >= 0 ? a : b; /* NaN selects b */
}

/* ---- logic ---- */

#define LOGIC(name, expr)                                                                                    \
    static U64 name(U64 a, U64 b, U64 c, const PtxCode *k) {                                                 \
        (void)a, (void)b, (void)c, (void)k;                                                                  \
        return expr;                                                                                         \
    }
LOGIC(and_fn, a &b)
LOGIC(or_fn, a | b)
LOGIC(xor_fn, a ^ b)
LOGIC(not_fn, ~a)
LOGIC(mov_fn, a)
LOGIC(cnot_fn, (a & width_mask(ptx_type_bytes((PtxType)k->type))) == 0)

static uint32_t lop3(uint32_t a, uint32_t b, uint32_t c, unsigned lut) {
    uint32_t d = 0;
    for (unsigned i = 0; i < 8; i++) {
        if (lut >> i & 1)
            d |= (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
    }
    return d;
}
static U64 lop3_fn(U64 a, U64 b, U64 c, const PtxCode *k) {
    return lop3((uint32_t)a, (uint32_t)b, (uint32_t)c, (unsigned)k->src[3].imm);
}
/* lop3.and/or d|p, a, b, c, lut, q: p = (d != 0) op q */
static PtxStep exec_lop3_pred(PtxRun *r, PtxThread *t, const PtxCode *c) {
    uint32_t d = lop3((uint32_t)ptx_arg(r, t, &c->src[0]), (uint32_t)ptx_arg(r, t, &c->src[1]),
                      (uint32_t)ptx_arg(r, t, &c->src[2]), (unsigned)c->src[3].imm);
    bool q = ptx_arg(r, t, &c->src[4]) & 1;
    ptx_put(t, c->dst[0], d);
    ptx_put(t, c->dst[1], combine(c->bop, d != 0, q));
    return STEP_GO;
}

/* ---- shifts ---- */

static unsigned type_bits(const PtxCode *k) { return ptx_type_bytes((PtxType)k->type) * 8; }
static U64 shl_fn(U64 a, U64 b, U64 c, const PtxCode *k) {
    uint32_t n = (uint32_t)b;
    (void)c;
    return n >= type_bits(k) ? 0 : a << n;
}
static U64 shr_fn(U64 a, U64 b, U64 c, const PtxCode *k) {
    unsigned bits = type_bits(k);
    uint32_t n = (uint32_t)b;
    (void)c;
    if (ptx_type_class((PtxType)k->type) == TC_SIGNED) {
        int64_t s = (int64_t)(a << (64 - bits)) >> (64 - bits);
        return (U64)(s >> (n >= bits ? bits - 1 : n));
    }
    return n >= bits ? 0 : (a & width_mask(bits / 8)) >> n;
}
/* shf.l: upper word of (b:a) << n; shf.r: lower word of (b:a) >> n */
static U64 shf_fn(U64 a, U64 b, U64 c, const PtxCode *k) {
    bool wrap = k->sub2 == SUB_WRAP;
    uint32_t n = (uint32_t)c;
    n = wrap ? n & 31 : n > 32 ? 32 : n;
    U64 pair = (U64)(uint32_t)b << 32 | (uint32_t)a;
    return k->sub == SUB_L ? (uint32_t)(pair << n >> 32) : (uint32_t)(pair >> n);
}

/* prmt (9.7.9.7): bytes of {b, a}, selected by nibbles of c or by a mode */
static U64 prmt_fn(U64 a, U64 b, U64 c, const PtxCode *k) {
    U64 bytes = (U64)(uint32_t)b << 32 | (uint32_t)a, d = 0;
    unsigned n = (unsigned)c & 3;
    for (unsigned i = 0; i < 4; i++) {
        unsigned sel;
        switch (k->sub) {
        case SUB_F4E: sel = n + i; break;
        case SUB_B4E: sel = (n + 8 - i) & 7; break;
        case SUB_RC8: sel = n; break;
        case SUB_ECL: sel = i > n ? i : n; break;
        case SUB_ECR: sel = i < n ? i : n; break;
        case SUB_RC16: sel = (n & 1) * 2 + (i & 1); break;
        default: sel = (unsigned)(c >> (4 * i)) & 15;
        }
        U64 byte = bytes >> (8 * (sel & 7)) & 0xff;
        if (sel & 8)
            byte = byte & 0x80 ? 0xff : 0;
        d |= byte << (8 * i);
    }
    return d;
}

/* ---- mov with vectors ---- */

static PtxStep exec_mov_vector(PtxRun *r, PtxThread *t, const PtxCode *c) {
    U64 v[8] = {0};
    unsigned total = ptx_type_bytes((PtxType)c->type) * 8;
    unsigned n = c->vec_dst ? c->nvec : 1;
    if (c->vec && c->vec_dst) { /* read all before writing any */
        for (unsigned i = 0; i < n; i++)
            v[i] = ptx_arg(r, t, &c->vec[i]);
    } else if (c->vec) { /* pack */
        unsigned bits = total / c->nvec;
        for (unsigned i = 0; i < c->nvec; i++)
            v[0] |= (ptx_arg(r, t, &c->vec[i]) & width_mask(bits / 8)) << (bits * i);
        n = 1;
    } else { /* unpack */
        unsigned bits = total / c->nvec;
        U64 a = ptx_arg(r, t, &c->src[0]);
        for (unsigned i = 0; i < c->nvec; i++)
            v[i] = a >> (bits * i) & width_mask(bits / 8);
    }
    if (!c->vec_dst)
        ptx_put(t, c->dst[0], v[0]);
    for (unsigned i = 0; c->vec_dst && i < n; i++)
        ptx_put(t, c->vec_dst[i], v[i]);
    return STEP_GO;
}

static bool select_mov(PtxCode *c) {
    if (c->type == TY_B128)
        return false;
    if (!c->vec && !c->vec_dst) {
        c->pure = mov_fn;
        return true;
    }
    c->exec = exec_mov_vector;
    return c->nvec <= 8 && (c->insn->vec > 1 || ptx_type_bytes((PtxType)c->type) >= c->nvec);
}

bool ptx_select_logic(PtxCode *c) {
    c->exec = ptx_exec_pure;
    switch (c->insn->op) {
    case PTX_SETP: c->exec = exec_setp; return true;
    case PTX_SET: c->pure = set_fn; return true;
    case PTX_SELP: c->pure = selp_fn; return c->type != TY_B128;
    case PTX_SLCT: c->pure = slct_fn; return true;
    case PTX_AND: c->pure = and_fn; return true;
    case PTX_OR: c->pure = or_fn; return true;
    case PTX_XOR: c->pure = xor_fn; return true;
    case PTX_NOT: c->pure = not_fn; return true;
    case PTX_CNOT: c->pure = cnot_fn; return true;
    case PTX_LOP3:
        if (c->bop)
            c->exec = exec_lop3_pred;
        else
            c->pure = lop3_fn;
        return true;
    case PTX_SHL: c->pure = shl_fn; return true;
    case PTX_SHR: c->pure = shr_fn; return true;
    case PTX_SHF: c->pure = shf_fn; return true;
    case PTX_PRMT: c->pure = prmt_fn; return true;
    case PTX_MOV: return select_mov(c);
    default: return false;
    }
}
