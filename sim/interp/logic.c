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
    double d = interp_half_value(f, (uint16_t)v);
    return ftz && f.exp_bits == 5 && d > -0x1p-14 && d < 0x1p-14 ? 0.0 : d;
}

static bool compare_values(unsigned type, unsigned cmp, U64 a, U64 b, bool ftz) {
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

static bool bool_op(unsigned bop, bool a, bool c) {
    return bop == BOP_AND ? a && c : bop == BOP_OR ? a || c : bop == BOP_XOR ? a != c : a;
}

static PtxStep exec_setp(PtxRun *r, PtxThread *t, const PtxCode *code) {
    U64 a = interp_arg(r, t, &code->src[0]), b = interp_arg(r, t, &code->src[1]);
    bool with = code->nsrc > 2 && (interp_arg(r, t, &code->src[2]) & 1);
    bool p = compare_values(code->type, code->cmp, a, b, code->ftz), q = !p;
    if (code->type == TY_F16X2 || code->type == TY_BF16X2)
        q = compare_values(code->type, code->cmp, a >> 16, b >> 16, code->ftz);
    interp_put(t, code->dst[0], bool_op(code->bop, p, with));
    if (code->ndst > 1)
        interp_put(t, code->dst[1], bool_op(code->bop, q, with));
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
static U64 set_fn(U64 a, U64 b, U64 c, const PtxCode *code) {
    bool with = c & 1, lo = bool_op(code->bop, compare_values(code->type2, code->cmp, a, b, code->ftz), with);
    if (code->type2 != TY_F16X2 && code->type2 != TY_BF16X2)
        return set_value(code->type, lo);
    bool hi = bool_op(code->bop, compare_values(code->type2, code->cmp, a >> 16, b >> 16, code->ftz), with);
    return (set_value(code->type, lo) & 0xffff) | (set_value(code->type, hi) & 0xffff) << 16;
}

static U64 selp_fn(U64 a, U64 b, U64 c, const PtxCode *k) {
    (void)k;
    return c & 1 ? a : b;
}
static U64 slct_fn(U64 a, U64 b, U64 c, const PtxCode *code) {
    if (code->type2 == TY_S32)
        return (int32_t)c >= 0 ? a : b;
    float f = f32_of(code->ftz ? f32_flush((uint32_t)c) : (uint32_t)c);
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
static U64 lop3_fn(U64 a, U64 b, U64 c, const PtxCode *code) {
    return lop3((uint32_t)a, (uint32_t)b, (uint32_t)c, (unsigned)code->src[3].imm);
}
/* lop3.and/or d|p, a, b, c, lut, q: p = (d != 0) op q */
static PtxStep exec_lop3_pred(PtxRun *r, PtxThread *t, const PtxCode *code) {
    uint32_t d = lop3((uint32_t)interp_arg(r, t, &code->src[0]), (uint32_t)interp_arg(r, t, &code->src[1]),
                      (uint32_t)interp_arg(r, t, &code->src[2]), (unsigned)code->src[3].imm);
    bool q = interp_arg(r, t, &code->src[4]) & 1;
    interp_put(t, code->dst[0], d);
    interp_put(t, code->dst[1], bool_op(code->bop, d != 0, q));
    return STEP_GO;
}

/* ---- shifts ---- */

static unsigned type_bits(const PtxCode *code) { return ptx_type_bytes((PtxType)code->type) * 8; }
static U64 shl_fn(U64 a, U64 b, U64 c, const PtxCode *k) {
    uint32_t n = (uint32_t)b;
    (void)c;
    return n >= type_bits(k) ? 0 : a << n;
}
static U64 shr_fn(U64 a, U64 b, U64 c, const PtxCode *code) {
    unsigned bits = type_bits(code);
    uint32_t n = (uint32_t)b;
    (void)c;
    if (ptx_type_class((PtxType)code->type) == TC_SIGNED) {
        int64_t s = (int64_t)(a << (64 - bits)) >> (64 - bits);
        return (U64)(s >> (n >= bits ? bits - 1 : n));
    }
    return n >= bits ? 0 : (a & width_mask(bits / 8)) >> n;
}
/* shf.l: upper word of (b:a) << n; shf.r: lower word of (b:a) >> n */
static U64 shf_fn(U64 a, U64 b, U64 c, const PtxCode *code) {
    bool wrap = code->sub2 == SUB_WRAP;
    uint32_t n = (uint32_t)c;
    n = wrap ? n & 31 : n > 32 ? 32 : n;
    U64 pair = (U64)(uint32_t)b << 32 | (uint32_t)a;
    return code->sub == SUB_L ? (uint32_t)(pair << n >> 32) : (uint32_t)(pair >> n);
}

/* prmt (9.7.9.7): bytes of {b, a}, selected by nibbles of c or by a mode */
static U64 prmt_fn(U64 a, U64 b, U64 c, const PtxCode *code) {
    U64 bytes = (U64)(uint32_t)b << 32 | (uint32_t)a, d = 0;
    unsigned n = (unsigned)c & 3;
    for (unsigned i = 0; i < 4; i++) {
        unsigned sel;
        switch (code->sub) {
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

static PtxStep exec_mov_vector(PtxRun *r, PtxThread *t, const PtxCode *code) {
    U64 v[8] = {0};
    unsigned total = ptx_type_bytes((PtxType)code->type) * 8;
    unsigned n = code->vec_dst ? code->nvec : 1;
    if (code->vec && code->vec_dst) { /* read all before writing any */
        for (unsigned i = 0; i < n; i++)
            v[i] = interp_arg(r, t, &code->vec[i]);
    } else if (code->vec) { /* pack */
        unsigned bits = total / code->nvec;
        for (unsigned i = 0; i < code->nvec; i++)
            v[0] |= (interp_arg(r, t, &code->vec[i]) & width_mask(bits / 8)) << (bits * i);
        n = 1;
    } else { /* unpack */
        unsigned bits = total / code->nvec;
        U64 a = interp_arg(r, t, &code->src[0]);
        for (unsigned i = 0; i < code->nvec; i++)
            v[i] = a >> (bits * i) & width_mask(bits / 8);
    }
    if (!code->vec_dst)
        interp_put(t, code->dst[0], v[0]);
    for (unsigned i = 0; code->vec_dst && i < n; i++)
        interp_put(t, code->vec_dst[i], v[i]);
    return STEP_GO;
}

/* mov.b128: of parts of the same size from lowest to highest to others, a register's being its halves. */
static PtxStep exec_mov_wide(PtxRun *run, PtxThread *thread, const PtxCode *code) {
    U64 v[2] = {0};
    unsigned from = 128u / code->nread, to = 128u / code->nwritten;
    for (unsigned at = 0; at < 128; at += from)
        v[at / 64] |= (interp_arg(run, thread, &code->vec[at / from]) & width_mask(from / 8)) << at % 64;
    for (unsigned at = 0; at < 128; at += to)
        interp_put(thread, code->vec_dst[at / to], v[at / 64] >> at % 64 & width_mask(to / 8));
    return STEP_GO;
}

/* ---- binding ---- */

bool interp_bind_mov(PtxCode *code) {
    if (interp_is_wide(code)) {
        code->exec = exec_mov_wide;
        return code->nread >= 2 && code->nwritten >= 2 && code->insn->vec <= 1;
    }
    if (!code->vec && !code->vec_dst)
        return interp_use_pure(code, mov_fn);
    code->exec = exec_mov_vector;
    return code->nvec <= 8 && (code->insn->vec > 1 || code->size_bytes >= code->nvec);
}
bool interp_bind_lop3(PtxCode *code) {
    return code->bop ? interp_use_exec(code, exec_lop3_pred) : interp_use_pure(code, lop3_fn);
}
BIND_EXEC(setp, exec_setp)
BIND_PURE(set, set_fn)
BIND_PURE(selp, selp_fn)
BIND_PURE(slct, slct_fn)
BIND_PURE(and, and_fn)
BIND_PURE(or, or_fn)
BIND_PURE(xor, xor_fn)
BIND_PURE(not, not_fn)
BIND_PURE(cnot, cnot_fn)
BIND_PURE(shl, shl_fn)
BIND_PURE(shr, shr_fn)
BIND_PURE(shf, shf_fn)
BIND_PURE(prmt, prmt_fn)
