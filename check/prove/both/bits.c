/* Dot products of bytes, permutations by mode, fields by register, the space of a generic address: both
 * sides. PTX ISA 9.7.1.21 to 9.7.1.24, 9.7.9.7, 9.7.9.19. SPDX-License-Identifier: MIT */
#include "check/prove/mach/mach.h"
#include "check/prove/ptx/ptx.h"
#include "isa/machine/windows.h"
#include <string.h>

/* Of a factor of tf32 nothing is read but the 19 high bits (ptxas rounds to them without clearing the
 * others). Where the others are zeros, or it was rounded to them, a NaN is one by these alone, and which one
 * does not show: so neg.f32 of it is its sign. */
static bool is_tf32(const Term *word) {
    enum { NOT_READ = 0x1fff, MAGNITUDE = 0x7fffffff };
    if (word->kind == TK_APP)
        return word->op == TO_UF && strncmp(word->name, "tf32.", 5) == 0;
    if (word->kind != TK_XOR || word->n != 1 || word->k & NOT_READ)
        return false;
    return !(word->c[0] & NOT_READ) || (!(word->k & MAGNITUDE) && (word->c[0] & MAGNITUDE) == MAGNITUDE &&
                                        word->a[0]->kind == TK_APP && is_tf32(word->a[0]));
}
Term *prove_tf32_factor(Terms *ts, Term *word) {
    Term *plain = t_plain(ts, word);
    return t_land(ts, is_tf32(plain) ? plain : word, t_const(ts, 32, 0xffffe000));
}

/* Bits [lo, lo + bits) of a word, extended. */
static Term *extracted(Terms *ts, Term *word, unsigned lo, unsigned bits, bool sign) {
    Term *v = t_lshr(ts, word, t_const(ts, 32, lo));
    return sign ? t_sext_from(ts, v, bits) : t_zext_from(ts, v, bits);
}

/* c and the products of n parts of a by n bytes of b, from bit `from` of b on. */
static Term *dot_product(Terms *ts, Term *a, Term *b, Term *c, unsigned n, bool sign_a, bool sign_b,
                         unsigned from) {
    unsigned bits = 32 / n;
    for (unsigned k = 0; k < n; k++)
        c = t_add(
            ts, c,
            t_mul(ts, extracted(ts, a, bits * k, bits, sign_a), extracted(ts, b, from + 8 * k, 8, sign_b)));
    return c;
}

/* A permutation by the selector that the low two bits of a word choose. */
static Term *permuted(Terms *ts, Term *lo, Term *hi, Term *word, const uint32_t selector[4]) {
    Term *r[4], *one = t_const(ts, 32, 1), *two = t_const(ts, 32, 2);
    for (unsigned k = 0; k < 4; k++)
        r[k] = t_prmt(ts, lo, hi, t_const(ts, 32, selector[k]));
    Term *even = t_eq(ts, t_land(ts, word, one), ts->zero), *low = t_eq(ts, t_land(ts, word, two), ts->zero);
    return t_ite(ts, low, t_ite(ts, even, r[0], r[1]), t_ite(ts, even, r[2], r[3]));
}

/* ---- machine ---- */
/* The byte that byte i of the result is, for the selector s. */
static unsigned byte_of(unsigned mode, unsigned s, unsigned i) {
    switch (mode) {
    case PrmtMode_F4E: return s + i;
    case PrmtMode_B4E: return (s - i) & 7;
    case PrmtMode_RC8: return s;
    case PrmtMode_ECL: return s > i ? s : i;
    case PrmtMode_ECR: return s < i ? s : i;
    default: return s % 2 * 2 + i % 2; /* RC16 */
    }
}
static void mach_permute(Mach *mach) {
    unsigned mode = MOD(PRMT, mode);
    Terms *ts = &mach->prover->ts;
    Term *lo = mach_word(mach, 0, 0), *hi = mach_word(mach, 2, 0), *word = mach_word(mach, 1, 0);
    uint32_t selector[4] = {0};
    for (unsigned s = 0; s < 4; s++)
        for (unsigned i = 0; i < 4; i++)
            selector[s] |= byte_of(mode, s, i) << 4 * i;
    if (mode > PrmtMode_RC16)
        mach_fault(mach, "an undefined mode of PRMT");
    mach_put(mach, 0, 0,
             mode == PrmtMode_IDX ? t_prmt(ts, lo, hi, word) : permuted(ts, lo, hi, word, selector));
}

static void mach_dot(Mach *mach) {
    unsigned mode = MOD(IDP, mode);
    bool two = mode == IdpMode_D2A_LO_U16 || mode == IdpMode_D2A_HI_U16 || mode == IdpMode_D2A_LO_S16 ||
               mode == IdpMode_D2A_HI_S16;
    bool high = mode == IdpMode_D2A_HI_U16 || mode == IdpMode_D2A_HI_S16;
    bool sign = mode == IdpMode_D4A_S8 || mode == IdpMode_D2A_LO_S16 || mode == IdpMode_D2A_HI_S16;
    if (!two && mode != IdpMode_D4A_U8 && mode != IdpMode_D4A_S8)
        mach_fault(mach, "an undefined mode of IDP");
    Term *a = mach_word(mach, 0, 0), *b = mach_word(mach, 1, 0);
    mach_put(mach, 0, 0,
             dot_product(&mach->prover->ts, a, b, mach_int(mach, 2, false), two ? 2 : 4, sign,
                         MOD(IDP, bsign) == IdpSign_S8, high ? 16 : 0));
}

Term *prove_space(Prover *prover, unsigned space, Term *address) {
    return prove_uf(prover, 1, term_name(&prover->ts, "space.%u", space), &address, 1);
}
static void mach_space(Mach *mach) {
    bool wide = MOD(QSPC, e) == MemAddr_E && mach->in->src[0].mods & OPM_WIDE64;
    if (!wide || mach->in->src[QSPC_urb].kind == OPK_REG)
        mach_fault(mach, "the space of an address of 32 bits is not modelled");
    Terms *ts = &mach->prover->ts;
    mach->looked_src |= 1u << QSPC_urb | 1u << QSPC_offset;
    Term *a = t_add(ts, mach_pair(mach, 0, OPM_WIDE64),
                    t_const(ts, 64, (uint64_t)(int64_t)(int32_t)mach->in->src[QSPC_offset].value));
    mach_put_pred(mach, QSPC_pu, prove_space(mach->prover, MOD(QSPC, space), a));
}

bool mach_bits(Mach *mach) {
    switch (mach->in->optype) {
    case OT_PRMT: mach_permute(mach); return true;
    case OT_IDP: mach_dot(mach); return true;
    case OT_QSPC: mach_space(mach); return true;
    default: return false;
    }
}

/* ---- PTX ---- */
static Term *word_of(Ptx *ptx, unsigned i) { return pv_src(ptx, pv_operand(ptx, i), TY_B32); }

/* PTX ISA 9.7.9.7: "mode" and "selector c[1:0]", bytes d.b3 to d.b0 as digits. */
static const uint32_t *selectors(unsigned mode) {
    static const uint32_t table[][4] = {{0x3210, 0x4321, 0x5432, 0x6543}, {0x5670, 0x6701, 0x7012, 0x0123},
                                        {0x0000, 0x1111, 0x2222, 0x3333}, {0x3210, 0x3211, 0x3222, 0x3333},
                                        {0x0000, 0x1110, 0x2210, 0x3210}, {0x1010, 0x3232, 0x1010, 0x3232}};
    switch (mode) {
    case SUB_F4E: return table[0];
    case SUB_B4E: return table[1];
    case SUB_RC8: return table[2];
    case SUB_ECL: return table[3];
    case SUB_ECR: return table[4];
    case SUB_RC16: return table[5];
    default: return NULL;
    }
}
bool prove_ptx_prmt(Ptx *ptx) {
    Terms *ts = &ptx->prover->ts;
    Term *lo = word_of(ptx, 1), *hi = word_of(ptx, 2), *word = word_of(ptx, 3);
    const uint32_t *selector = selectors(ptx->in->sub);
    if (!selector && ptx->in->sub != SUB_NONE)
        return false;
    pv_dst(ptx, pv_operand(ptx, 0), TY_B32,
           selector ? permuted(ts, lo, hi, word, selector) : t_prmt(ts, lo, hi, word));
    return true;
}

static bool ptx_dot(Ptx *ptx, unsigned n, unsigned from) {
    bool sign_a = pv_signed(pv_type(ptx)), sign_b = pv_signed((PtxType)ptx->in->type[1]);
    pv_dst(ptx, pv_operand(ptx, 0), TY_B32,
           dot_product(&ptx->prover->ts, word_of(ptx, 1), word_of(ptx, 2), word_of(ptx, 3), n, sign_a, sign_b,
                       from));
    return true;
}
bool prove_ptx_dp4a(Ptx *ptx) { return ptx_dot(ptx, 4, 0); }
bool prove_ptx_dp2a(Ptx *ptx) { return ptx_dot(ptx, 2, ptx->in->sub == SUB_HI ? 16 : 0); }

/* A position or a width: modulo 32, or as it is, beyond 31 like 32. */
static Term *position(Ptx *ptx, unsigned i) {
    bool wraps = ptx->in->sub == SUB_WRAP || ptx->in->sub2 == SUB_WRAP;
    Term *n = pv_src(ptx, pv_operand(ptx, i), TY_U32);
    return wraps ? t_land(&ptx->prover->ts, n, pv_k32(ptx, 31)) : n;
}
bool prove_ptx_szext(Ptx *ptx) {
    pv_dst(ptx, pv_operand(ptx, 0), pv_type(ptx),
           t_field(&ptx->prover->ts, pv_signed(pv_type(ptx)), word_of(ptx, 1), position(ptx, 2)));
    return true;
}
bool prove_ptx_bmsk(Ptx *ptx) {
    Terms *ts = &ptx->prover->ts;
    pv_dst(ptx, pv_operand(ptx, 0), TY_B32, t_shl(ts, t_ones(ts, position(ptx, 2)), position(ptx, 1)));
    return true;
}

bool prove_ptx_fns(Ptx *ptx) {
    Term *arg[3] = {word_of(ptx, 1), word_of(ptx, 2), word_of(ptx, 3)};
    const char *name = term_name(&ptx->prover->ts, "__heddle_fns_b32");
    prove_assume(ptx->prover, ptx->at, ASSUME_LIBRARY);
    pv_dst(ptx, pv_operand(ptx, 0), TY_B32, t_app(&ptx->prover->ts, TO_UF, 32, 0, name, arg, 3));
    return true;
}

bool prove_ptx_isspacep(Ptx *ptx) {
    Terms *ts = &ptx->prover->ts;
    Term *a = pv_src(ptx, pv_operand(ptx, 1), TY_U64);
    PtxSpace space = (PtxSpace)ptx->in->space;
    if (space == SP_SHARED || space == SP_LOCAL || space == SP_GLOBAL) {
        unsigned which = space == SP_SHARED ? QspcSpace_S : space == SP_LOCAL ? QspcSpace_L : QspcSpace_G;
        pv_dst(ptx, pv_operand(ptx, 0), TY_PRED, prove_space(ptx->prover, which, a));
        return true;
    }
    if (space == SP_PARAM || space == SP_PARAM_ENTRY) { /* up to what bank 0 says is the last byte */
        const TargetInfo *info = isa_target_info(ptx->prover->flow->bin->target);
        uint64_t first = SIM_PARAM_WINDOW;
        if (info->param_window_offset_bytes) /* which is mach.c's word there */
            first += info->param_base_bytes - info->param_window_origin_bytes;
        uint32_t before = (info->param_last_is_address ? (uint32_t)first : info->param_base_bytes) - 1;
        Term *last = prove_input(ptx->prover, "c0+0x%x", info->param_last_offset_bytes),
             *in = t_sub(ts, a, t_const(ts, 64, first)),
             *below = t_ult(ts, t_lo(ts, in), t_sub(ts, last, t_const(ts, 32, before)));
        pv_dst(ptx, pv_operand(ptx, 0), TY_PRED, t_and(ts, t_eq(ts, t_hi(ts, in), ts->zero), below));
        return true;
    }
    if (space != SP_CONST)
        return false;
    /* the window holds as many bytes as the module has constants */
    Term *in = t_sub(ts, a, t_const(ts, 64, SIM_CONST_WINDOW));
    Term *below = t_ult(ts, t_lo(ts, in), t_const(ts, 32, ptx->prover->const_bytes));
    pv_dst(ptx, pv_operand(ptx, 0), TY_PRED, t_and(ts, t_eq(ts, t_hi(ts, in), ts->zero), below));
    return true;
}

/* Opaque to PTX; docs/ptx.md says which one it is. */
bool prove_ptx_createpolicy(Ptx *ptx) {
    pv_dst(ptx, pv_operand(ptx, 0), TY_B64, t_const(&ptx->prover->ts, 64, 0x16f0000000000000));
    return true;
}

/* elect.sync: the lowest lane of the mask */
bool prove_ptx_elect(Ptx *ptx) {
    Terms *ts = &ptx->prover->ts;
    const PtxInsn *in = ptx->in;
    Term *mask = pv_together(ptx, in->ndst);
    Term *leader = t_flo(ts, t_app1(ts, TO_BREV, 32, mask), true);
    pv_dst(ptx, pv_operand(ptx, 0), TY_B32, leader);
    if (in->ndst > 1)
        pv_dst(ptx, pv_operand(ptx, 1), TY_PRED, t_eq(ts, prove_input(ptx->prover, "laneid"), leader));
    return true;
}
