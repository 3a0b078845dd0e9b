/* Integer, logic and predicate arithmetic. Source modifiers arrive as masks: xm is ~0 for a negated (under
 * .X: inverted) operand, else 0.
 *
 * Carries: a sum of three operands and two carries is less than 3 * 2^32; pu says that it reached 2^32, pv
 * that it reached 2 * 2^32. A subtracted operand counts as its complement plus one, so the carry means "no
 * borrow".
 * SPDX-License-Identifier: MIT */
#include "sim/ops/ops.h"
#include <string.h>

#define SETP_WRITE(res) setp_write(warp, dec, g, (res))
static inline void setp_write(Warp *warp, Dec *dec, uint32_t g, uint32_t res) {
    uint32_t pp = dec_pred(warp, dec, 0), bop = dec->isetp.bop;
    set_pred(warp, dec->pd[0], g, bool_op(bop, res, pp));
    set_pred(warp, dec->pd[1], g, bool_op(bop, ~res, pp));
}
#include "sim/ops/handlers.h"
#include "sim/ops/lanes_int.def"
#include "sim/ops/handlers_end.h"
const LaneHandler LV(lanes_int)[] = {
#include "sim/ops/lanes_int.def"
};

static bool use_iadd3(Bind *bind, bool x) {
    Dec *dec = bind->d;
    bind_operands(bind);
    dec->add.plus = x ? 0 : (dec->xm[0] & 1) + (dec->xm[1] & 1) + (dec->xm[2] & 1);
    dec->add.x = x;
    if (dec->pd[0] != PRED_SINK || dec->pd[1] != PRED_SINK)
        bind_chained(bind, iadd3_carry, iadd3_carry);
    else if (x)
        USE(bind, iadd3_x);
    else if (dec->xm[0] | dec->xm[1] | dec->xm[2])
        USE(bind, iadd3_neg);
    else
        USE(bind, iadd3);
    return !bind->failed;
}
bool LV(bind_IADD3)(Bind *bind) { return use_iadd3(bind, MGET(IADD3, x, bind->in->mods)); }
bool LV(bind_UIADD3)(Bind *bind) { return use_iadd3(bind, MGET(UIADD3, x, bind->in->mods)) && uniform(bind); }

static bool use(Bind *bind, OpFn *full, OpFn *part) {
    bind_operands(bind);
    bind_chained(bind, full, part);
    return !bind->failed;
}
static int nop(Warp *warp, Dec *dec, uint32_t g) {
    (void)warp;
    (void)dec;
    (void)g;
    return NEXT;
}
/* Memory is sequentially consistent: fences and cache control change nothing. Between threads it is the
 * host's, and fences, as what makes a load an acquiring one, are the host's too. */
static int fence(Warp *warp, Dec *dec, uint32_t g) {
    (void)g;
    if (warp->run->crewed)
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
    return NEXT;
}
bool LV(bind_NOP)(Bind *b) { return use(b, nop, nop); }
bool LV(bind_MEMBAR)(Bind *b) { return use(b, fence, fence); }
bool LV(bind_ERRBAR)(Bind *b) { return use(b, nop, nop); }
bool LV(bind_CCTL)(Bind *b) { return use(b, fence, fence); }
bool LV(bind_MOV)(Bind *b) { return use(b, mov_f, mov_p); }
bool LV(bind_UMOV)(Bind *b) { return use(b, mov_f, mov_p) && uniform(b); }
bool LV(bind_SEL)(Bind *b) { return use(b, sel_f, sel_p); }
bool LV(bind_USEL)(Bind *b) { return use(b, sel_f, sel_p) && uniform(b); }

/* ---- LEA: (a << shift) + b; .HI: upper word of ({c:a} << shift), .SX32: c is a's sign ---- */
static int lea(Warp *warp, Dec *dec, uint32_t g) {
    ROWS;
    unsigned shift = dec->imm[0] & 31;
    bool hi = dec->lea.high, sx = dec->lea.sign_extend;
    uint32_t x0 = dec->xm[0], x1 = dec->xm[1], cin = dec->lea.x ? dec_pred(warp, dec, 0) : 0, one = 0;
    uint64_t k = dec->lea.plus;
    for (unsigned i = 0; i < 32; i++) {
        uint32_t top = sx ? 0u - (a[i] >> 31) : c[i];
        uint32_t s = hi ? (uint32_t)(pair(a[i], top) << shift >> 32) : a[i] << shift;
        uint64_t v = (uint64_t)(s ^ x0) + (b[i] ^ x1) + k + (cin >> i & 1);
        r[i] = blend(lane_mask(g, i), (uint32_t)v, r[i]);
        one |= (uint32_t)(v >> 32 != 0) << i; /* of two negated zeros it is 2 */
    }
    set_pred(warp, dec->pd[0], g, one);
    return NEXT;
}
static bool use_lea(Bind *bind, bool x, bool hi, bool sx) {
    Dec *dec = bind->d;
    bind_operands(bind);
    dec->lea.plus = x ? 0 : (dec->xm[0] & 1) + (dec->xm[1] & 1);
    dec->lea.x = x;
    dec->lea.high = hi;
    dec->lea.sign_extend = sx;
    bind_chained(bind, lea, lea);
    bool carry_out = dec->pd[0] != PRED_SINK;
    if (dec->xm[0] | dec->xm[1])
        return !bind->failed;
    if (!x && !hi && !carry_out)
        USE(bind, lea_plain);
    else if (!x && !hi)
        bind_chained(bind, lea_low, lea_low);
    else if (hi && !carry_out && sx)
        USE(bind, lea_high_signed);
    else if (hi && !carry_out)
        USE(bind, lea_high);
    return !bind->failed;
}
bool LV(bind_LEA)(Bind *bind) {
    uint32_t m = bind->in->mods;
    return use_lea(bind, MGET(LEA, x, m), MGET(LEA, hi, m), MGET(LEA, sx32, m));
}
bool LV(bind_ULEA)(Bind *bind) {
    uint32_t m = bind->in->mods;
    return use_lea(bind, MGET(ULEA, x, m), MGET(ULEA, hi, m), MGET(ULEA, sx32, m)) && uniform(bind);
}

/* ---- LOP3 ---- */
/* Coefficients of x^i y^j z^k; bit 4 of the table's index is x (0xf0), bit 2 y (0xcc), bit 1 z (0xaa). */
static void anf(uint32_t lut, uint32_t k[8]) {
    static const uint8_t terms[8] = {0, 4, 2, 1, 6, 5, 3, 7};
    uint8_t f[8];
    for (unsigned n = 0; n < 8; n++)
        f[n] = lut >> n & 1;
    for (unsigned bit = 1; bit < 8; bit <<= 1)
        for (unsigned n = 0; n < 8; n++)
            if (n & bit)
                f[n] ^= f[n ^ bit];
    for (unsigned n = 0; n < 8; n++)
        k[n] = 0u - f[terms[n]];
}

static bool use_lop3(Bind *bind, uint32_t lut, bool pand) {
    static const struct {
        uint8_t lut;
        OpFn *full, *part;
    } known[] = {
        {0xc0, lop_and_f, lop_and_p},
        {0xfc, lop_or_f, lop_or_p},
        {0x3c, lop_xor_f, lop_xor_p},
        {0x30, lop_andn_f, lop_andn_p},
        {0x0f, lop_not_a_f, lop_not_a_p},
        {0x33, lop_not_b_f, lop_not_b_p},
        {0xf0, lop_a_f, lop_a_p},
        {0xcc, lop_b_f, lop_b_p},
        {0xaa, lop_c_f, lop_c_p},
        {0x80, lop_and3_f, lop_and3_p},
        {0xfe, lop_or3_f, lop_or3_p},
        {0x96, lop_xor3_f, lop_xor3_p},
        {0xea, lop_and_or_f, lop_and_or_p},
        {0xa8, lop_or_and_f, lop_or_and_p},
        {0x6a, lop_and_xor_f, lop_and_xor_p},
        {0x28, lop_xor_and_f, lop_xor_and_p},
        {0xca, lop_mux_f, lop_mux_p},
    };
    Dec *dec = bind->d;
    bind_operands(bind);
    anf(lut, dec->anf);
    dec->imm[1] = pand ? BoolOp_AND : BoolOp_OR;
    if (dec->pd[0] != PRED_SINK) {
        OpFn *fn = lut == 0xc0 ? lop_and_pred : lop_any_pred;
        bind_chained(bind, fn, fn);
        return !bind->failed;
    }
    USE(bind, lop_any);
    for (unsigned i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].lut == lut) {
            dec->full = known[i].full;
            dec->part = known[i].part;
        }
    return !bind->failed;
}
bool LV(bind_LOP3)(Bind *bind) {
    return use_lop3(bind, MGET(LOP3, lut, bind->in->mods), MGET(LOP3, pand, bind->in->mods));
}
bool LV(bind_ULOP3)(Bind *bind) {
    return use_lop3(bind, MGET(ULOP3, lut, bind->in->mods), MGET(ULOP3, pand, bind->in->mods)) &&
           uniform(bind);
}

/* Predicates are already lane masks: the same normal form over whole masks. */
static uint32_t anf_of_masks(const uint32_t k[8], uint32_t x, uint32_t y, uint32_t z) {
    uint32_t k0 = k[0], k1 = k[1], k2 = k[2], k3 = k[3], k4 = k[4], k5 = k[5], k6 = k[6], k7 = k[7];
    return ANF(x, y, z);
}
static int plop3(Warp *warp, Dec *dec, uint32_t g) {
    uint32_t x = dec_pred(warp, dec, 0), y = dec_pred(warp, dec, 1), z = dec_pred(warp, dec, 2);
    const uint32_t second[8] = {dec->xm[0], dec->xm[1], dec->xm[2], dec->xm[3],
                                dec->am[0], dec->am[1], dec->am[2], dec->am[3]};
    set_pred(warp, dec->pd[0], g, anf_of_masks(dec->anf, x, y, z));
    if (dec->pd[1] != PRED_SINK)
        set_pred(warp, dec->pd[1], g, anf_of_masks(second, x, y, z));
    return NEXT;
}
/* Of sign bits. */
static int plop3_sign(Warp *warp, Dec *dec, uint32_t g) {
    ROWS;
    const uint32_t second[8] = {dec->xm[0], dec->xm[1], dec->xm[2], dec->xm[3],
                                dec->am[0], dec->am[1], dec->am[2], dec->am[3]};
    MASK_OF(x, a[i] >> 31)
    MASK_OF(y, b[i] >> 31)
    MASK_OF(z, c[i] >> 31)
    set_pred(warp, dec->pd[0], g, anf_of_masks(dec->anf, x, y, z));
    if (dec->pd[1] != PRED_SINK)
        set_pred(warp, dec->pd[1], g, anf_of_masks(second, x, y, z));
    return NEXT;
}
static bool use_plop3(Bind *bind, OpFn *fn, uint32_t lut, uint32_t lut2) {
    uint32_t second[8];
    bool ok = use(bind, fn, fn);
    anf(lut, bind->d->anf);
    anf(lut2, second);
    memcpy(bind->d->xm, second, sizeof bind->d->xm); /* signs of vector sources, which have none */
    memcpy(bind->d->am, second + 4, sizeof bind->d->am);
    return ok;
}
bool LV(bind_PLOP3)(Bind *bind) {
    return use_plop3(bind, plop3, MGET(PLOP3, lut, bind->in->mods), MGET(PLOP3, lut2, bind->in->mods));
}
bool LV(bind_UPLOP3)(Bind *bind) {
    return use_plop3(bind, plop3, MGET(UPLOP3, lut, bind->in->mods), MGET(UPLOP3, lut2, bind->in->mods)) &&
           uniform(bind);
}
bool LV(bind_PLOP3_SIGN)(Bind *bind) {
    uint32_t m = bind->in->mods;
    return use_plop3(bind, plop3_sign, MGET(PLOP3_SIGN, lut, m), MGET(PLOP3_SIGN, lut2, m));
}
bool LV(bind_UPLOP3_SIGN)(Bind *bind) {
    uint32_t m = bind->in->mods;
    return use_plop3(bind, plop3_sign, MGET(UPLOP3_SIGN, lut, m), MGET(UPLOP3_SIGN, lut2, m)) &&
           uniform(bind);
}

/* P2R, R2P: byte `imm[1]`, mask imm[0] of P0..P6 */
static int p2r(Warp *warp, Dec *dec, uint32_t g) {
    ROWS;
    uint32_t mask = dec->imm[0] & 0x7f, shift = 8 * dec->pack.byte;
    EACH_LANE(i, g) {
        uint32_t v = 0;
        for (unsigned k = 0; k < 7; k++)
            v |= (warp->p[k] >> i & 1) << k;
        r[i] = (a[i] & ~(dec->imm[0] << shift)) | (v & mask) << shift;
    }
    return NEXT;
}
static int r2p(Warp *warp, Dec *dec, uint32_t g) {
    ROWS;
    uint32_t shift = 8 * dec->pack.byte;
    for (unsigned k = 0; k < 7; k++)
        if (dec->imm[0] >> k & 1) {
            uint32_t m = 0;
            for (unsigned i = 0; i < 32; i++)
                m |= (a[i] >> (shift + k) & 1) << i;
            set_pred(warp, k, g, m);
        }
    return NEXT;
}
bool LV(bind_P2R)(Bind *bind) {
    bind->d->pack.byte = MGET(P2R, byte, bind->in->mods);
    return use(bind, p2r, p2r);
}
bool LV(bind_R2P)(Bind *bind) {
    bind->d->pack.byte = MGET(R2P, byte, bind->in->mods);
    return use(bind, r2p, r2p);
}

bool LV(bind_IABS)(Bind *b) { return use(b, iabs_f, iabs_p); }

bool LV(bind_IMNMX)(Bind *bind) {
    bool s = MGET(IMNMX, sign, bind->in->mods) == ISign_S32;
    return use(bind, s ? imin_s_f : imin_u_f, s ? imin_s_p : imin_u_p);
}
bool LV(bind_VIMNMX)(Bind *bind) {
    uint32_t type = MGET(VIMNMX, type, bind->in->mods);
    if (type > VimnmxType_S32 || MGET(VIMNMX, relu, bind->in->mods))
        return bind_video_min_max(bind);
    bool s = type == VimnmxType_S32;
    return use(bind, s ? imin_s_f : imin_u_f, s ? imin_s_p : imin_u_p);
}
bool LV(bind_VIADD)(Bind *bind) {
    uint32_t type = MGET(VIADD, type, bind->in->mods);
    bool negated = bind->in->src[VIADD_rb].mods & OPM_NEG;
    if (type == ViaddType_U8x4 || (type == ViaddType_H16x2 && negated)) /* ptxas 13.0 makes neither */
        return bind_not_simulated(bind);
    return type == ViaddType_S32 ? use(bind, viadd_f, viadd_p) : use(bind, viadd_halves_f, viadd_halves_p);
}

bool LV(bind_VABSDIFF)(Bind *bind) {
    bool s = MGET(VABSDIFF, sign, bind->in->mods) == ISign_S32;
    return use(bind, s ? absdiff_s_f : absdiff_u_f, s ? absdiff_s_p : absdiff_u_p);
}

/* ---- IDP ---- */
bool LV(bind_IDP)(Bind *bind) {
    uint32_t mode = MGET(IDP, mode, bind->in->mods), two = mode & IdpMode_D2A_LO_U16;
    bind->d->idp.sign_a = mode & IdpMode_D4A_S8 ? (two ? 0x8000 : 0x80) : 0;
    bind->d->idp.sign_b = MGET(IDP, bsign, bind->in->mods) == IdpSign_S8 ? 0x80 : 0;
    bind->d->idp.first_b = mode == IdpMode_D2A_HI_U16 || mode == IdpMode_D2A_HI_S16 ? 16 : 0;
    return use(bind, two ? idp2_f : idp4_f, two ? idp2_p : idp4_p);
}

/* ---- PRMT ---- */
static inline uint32_t prmt_byte(uint64_t bytes, uint32_t sel) {
    uint32_t v = (uint32_t)(bytes >> (8 * (sel & 7))) & 0xff;
    return sel & 8 ? (v & 0x80 ? 0xff : 0) : v;
}
static uint32_t prmt_selector(uint32_t mode, uint32_t s) {
    static const uint16_t table[7][4] = {{0},
                                         {0x3210, 0x4321, 0x5432, 0x6543},
                                         {0x5670, 0x6701, 0x7012, 0x0123},
                                         {0x0000, 0x1111, 0x2222, 0x3333},
                                         {0x3210, 0x3211, 0x3222, 0x3333},
                                         {0x0000, 0x1110, 0x2210, 0x3210},
                                         {0x1010, 0x3232, 0x1010, 0x3232}};
    return mode == PrmtMode_IDX ? s : table[mode % 7][s & 3];
}
static int prmt(Warp *warp, Dec *dec, uint32_t g) {
    ROWS;
    EACH_LANE(i, g) {
        uint64_t bytes = pair(a[i], c[i]);
        uint32_t s = prmt_selector(dec->prmt.mode, b[i]);
        r[i] = prmt_byte(bytes, s) | prmt_byte(bytes, s >> 4) << 8 | prmt_byte(bytes, s >> 8) << 16 |
               prmt_byte(bytes, s >> 12) << 24;
    }
    return NEXT;
}
static bool use_prmt(Bind *bind, uint32_t mode) {
    bind->d->prmt.mode = mode;
    if (mode > PrmtMode_RC16)
        return bind_fail(bind, "undefined PRMT mode");
    return use(bind, prmt, prmt);
}
bool LV(bind_PRMT)(Bind *bind) { return use_prmt(bind, MGET(PRMT, mode, bind->in->mods)); }
bool LV(bind_UPRMT)(Bind *b) { return use_prmt(b, PrmtMode_IDX) && uniform(b); }

/* ---- SHF: a low, b amount, c high. The word that .HI (or left, without .HI: low) selects of {c:a} shifted
 * ---- */
static inline uint32_t shf_one(uint32_t lo, uint32_t n, uint32_t hi, uint32_t type, bool wrap, bool right,
                               bool high) {
    uint32_t width = type == ShfType_S64 || type == ShfType_U64 ? 64 : 32;
    n = wrap ? n & (width - 1) : n < width ? n : width;
    uint64_t v = pair(lo, hi);
    if (right) {
        bool neg = (type == ShfType_S64 || type == ShfType_S32) && hi >> 31;
        uint64_t s = n > 63 ? (neg ? ~(uint64_t)0 : 0) : (v >> n) | (neg && n ? ~(uint64_t)0 << (64 - n) : 0);
        return (uint32_t)(high ? s >> 32 : s);
    }
    uint64_t s = n > 63 ? 0 : v << n;
    return (uint32_t)(high ? s >> 32 : s);
}
static int shf(Warp *warp, Dec *dec, uint32_t g) {
    ROWS;
    uint32_t type = dec->shf.type;
    bool wrap = dec->shf.wrap, right = dec->shf.right, high = dec->shf.high;
    EACH_LANE(i, g)
        r[i] = shf_one(a[i], b[i], c[i], type, wrap, right, high);
    return NEXT;
}
static bool use_shf(Bind *bind, uint32_t type, bool wrap, bool right, bool high) {
    Dec *dec = bind->d;
    dec->shf.type = type;
    dec->shf.wrap = wrap;
    dec->shf.right = right;
    dec->shf.high = high;
    bool ok = use(bind, shf, shf);
    bool words = type == ShfType_U32 || type == ShfType_S32;
    if (type == ShfType_U64 && !wrap && right && !high)
        USE(bind, shift_r64);
    if ((type == ShfType_U64 || type == ShfType_S64) && !wrap && !right && high)
        USE(bind, shift_l64);
    if (type == ShfType_U32 && right && !high)
        USE(bind, funnel_r);
    if (words && !wrap && !right && !high)
        USE(bind, shl);
    if (words && !wrap && right && high)
        dec->full = type == ShfType_S32 ? shr_s_f : shr_u_f,
        dec->part = type == ShfType_S32 ? shr_s_p : shr_u_p;
    return ok;
}
bool LV(bind_SHF)(Bind *bind) {
    uint32_t m = bind->in->mods;
    return use_shf(bind, MGET(SHF, type, m), MGET(SHF, wrap, m), MGET(SHF, dir, m) == ShfDir_R,
                   MGET(SHF, hi, m));
}
bool LV(bind_USHF)(Bind *bind) {
    uint32_t m = bind->in->mods;
    bool ok = use_shf(bind, MGET(USHF, type, m), MGET(USHF, wrap, m), MGET(USHF, dir, m) == ShfDir_R,
                      MGET(USHF, hi, m));
    return ok && uniform(bind);
}

/* ---- SGXT (extend from bit b), BMSK (b ones from bit a) ---- */
bool LV(bind_SGXT)(Bind *bind) {
    bind->d->field.wrap = MGET(SGXT, wrap, bind->in->mods);
    bind->d->field.is_signed = MGET(SGXT, sign, bind->in->mods) == ISign_S32;
    return use(bind, sgxt_f, sgxt_p);
}
bool LV(bind_USGXT)(Bind *bind) {
    bind->d->field.wrap = MGET(USGXT, wrap, bind->in->mods);
    bind->d->field.is_signed = MGET(USGXT, sign, bind->in->mods) == ISign_S32;
    return use(bind, sgxt_f, sgxt_p) && uniform(bind);
}
bool LV(bind_BMSK)(Bind *bind) {
    bind->d->field.wrap = MGET(BMSK, wrap, bind->in->mods);
    return use(bind, bmsk_f, bmsk_p);
}
bool LV(bind_UBMSK)(Bind *bind) {
    bind->d->field.wrap = MGET(UBMSK, wrap, bind->in->mods);
    return use(bind, bmsk_f, bmsk_p) && uniform(bind);
}

/* ---- FLO, BREV, POPC, I2I ---- */
static inline uint32_t flo_one(uint32_t v, bool sign, bool sh) {
    if (sign && v >> 31)
        v = ~v;
    if (!v)
        return ~0u;
    uint32_t n = (uint32_t)__builtin_clz(v);
    return sh ? n : 31 - n;
}
static int flo(Warp *warp, Dec *dec, uint32_t g) {
    ROWS;
    uint32_t found = 0;
    EACH_LANE(i, g) {
        r[i] = flo_one(a[i] ^ dec->xm[0], dec->flo.is_signed, dec->flo.from_top);
        found |= (uint32_t)(r[i] != ~0u) << i;
    }
    set_pred(warp, dec->pd[0], g, found);
    return NEXT;
}
bool LV(bind_FLO)(Bind *bind) {
    bind->d->flo.is_signed = MGET(FLO, sign, bind->in->mods) == ISign_S32;
    bind->d->flo.from_top = MGET(FLO, sh, bind->in->mods);
    return use(bind, flo, flo);
}
bool LV(bind_UFLO)(Bind *bind) {
    bind->d->flo.is_signed = MGET(UFLO, sign, bind->in->mods) == ISign_S32;
    bind->d->flo.from_top = MGET(UFLO, sh, bind->in->mods);
    return use(bind, flo, flo) && uniform(bind);
}
bool LV(bind_BREV)(Bind *b) { return use(b, brev_f, brev_p); }
bool LV(bind_UBREV)(Bind *b) { return use(b, brev_f, brev_p) && uniform(b); }
bool LV(bind_POPC)(Bind *b) { return use(b, popc_f, popc_p); }
bool LV(bind_UPOPC)(Bind *b) { return use(b, popc_f, popc_p) && uniform(b); }

bool LV(bind_I2I)(Bind *bind) {
    static const int32_t range[4][2] = {{0, 255}, {-128, 127}, {0, 65535}, {-32768, 32767}};
    uint32_t type = MGET(I2I, type, bind->in->mods);
    bind->d->i2i.least = (uint32_t)range[type & 3][0];
    bind->d->i2i.most = (uint32_t)range[type & 3][1];
    return use(bind, i2i_f, i2i_p);
}

/* ---- ISETP: cmp is a set of {LT 1, EQ 2, GT 4}; .EX: equal high words take the low words' result ---- */
static inline void isetp_write(Warp *warp, Dec *dec, uint32_t g, uint32_t lt, uint32_t eq, uint32_t gt) {
    uint32_t code = dec->isetp.cmp, pp = dec_pred(warp, dec, 0);
    uint32_t res = (code & 1 ? lt : 0) | (code & 2 ? eq : 0) | (code & 4 ? gt : 0);
    if (dec->isetp.ex)
        res = (res & ~eq) | (dec_pred(warp, dec, 1) & eq);
    set_pred(warp, dec->pd[0], g, bool_op(dec->isetp.bop, res, pp));
    set_pred(warp, dec->pd[1], g, bool_op(dec->isetp.bop, ~res, pp));
}
static int isetp_s(Warp *warp, Dec *dec, uint32_t g) {
    ROWS;
    MASK_OF(lt, (int32_t)a[i] < (int32_t)b[i])
    MASK_OF(eq, a[i] == b[i])
    isetp_write(warp, dec, g, lt, eq, ~(lt | eq));
    return NEXT;
}
static int isetp_u(Warp *warp, Dec *dec, uint32_t g) {
    ROWS;
    MASK_OF(lt, a[i] < b[i])
    MASK_OF(eq, a[i] == b[i])
    isetp_write(warp, dec, g, lt, eq, ~(lt | eq));
    return NEXT;
}
static int isetp_ex_eq(Warp *warp, Dec *dec, uint32_t g) {
    ROWS;
    MASK_OF(eq, a[i] == b[i])
    isetp_write(warp, dec, g, 0, eq, ~eq);
    return NEXT;
}
static OpFn *isetp_function(const Dec *dec, bool is_signed) {
    static OpFn *const by_code[2][8] = {
        {isetp_u, isetp_lt_u, isetp_eq, isetp_le_u, isetp_gt_u, isetp_ne, isetp_ge_u, isetp_u},
        {isetp_s, isetp_lt_s, isetp_eq, isetp_le_s, isetp_gt_s, isetp_ne, isetp_ge_s, isetp_s}};
    if (!dec->isetp.ex)
        return by_code[is_signed][dec->isetp.cmp & 7];
    if (dec->isetp.cmp == ICmp_EQ || dec->isetp.cmp == ICmp_NE)
        return isetp_ex_eq;
    return is_signed ? isetp_s : isetp_u;
}
bool LV(bind_ISETP)(Bind *bind) {
    uint32_t m = bind->in->mods;
    bind->d->isetp.cmp = MGET(ISETP, cmp, m);
    bind->d->isetp.bop = MGET(ISETP, bop, m);
    bind->d->isetp.ex = MGET(ISETP, ex, m);
    OpFn *fn = isetp_function(bind->d, MGET(ISETP, sign, m) == ISign_S32);
    return use(bind, fn, fn);
}
bool LV(bind_UISETP)(Bind *bind) {
    uint32_t m = bind->in->mods;
    bind->d->isetp.cmp = MGET(UISETP, cmp, m);
    bind->d->isetp.bop = MGET(UISETP, bop, m);
    bind->d->isetp.ex = MGET(UISETP, ex, m);
    OpFn *fn = isetp_function(bind->d, MGET(UISETP, sign, m) == ISign_S32);
    return use(bind, fn, fn) && uniform(bind);
}

/* ---- multiply-add ---- */
static bool use_imad(Bind *bind, bool x) {
    Dec *dec = bind->d;
    bind_operands(bind);
    dec->add.plus = (dec->xm[1] & 1) + (x ? 0 : dec->xm[2] & 1);
    dec->add.x = x;
    if (x || (dec->xm[1] | dec->xm[2]))
        USE(bind, imad_neg);
    else if (dec->v[2].at == (uintptr_t)bind->run->zero_rows)
        USE(bind, imul);
    else
        USE(bind, imad);
    return !bind->failed;
}
bool LV(bind_IMAD)(Bind *bind) { return use_imad(bind, MGET(IMAD, x, bind->in->mods)); }
bool LV(bind_UIMAD)(Bind *bind) { return use_imad(bind, MGET(UIMAD, x, bind->in->mods)) && uniform(bind); }

/* General WIDE and HI. Sum of 65 bits; a negated product or addend is its
 * complement plus one (no plus under .X for the addend). */
static int wide_any(Warp *warp, Dec *dec, uint32_t g) {
    ROWS64;
    uint64_t x1 = dec->xm[1] ? ~(uint64_t)0 : 0, x2 = dec->xm[2] ? ~(uint64_t)0 : 0;
    uint32_t cin = dec->product.x ? dec_pred(warp, dec, 0) : 0, carry = 0;
    unsigned plus2 = !dec->product.x && x2 ? 1 : 0;
    for (unsigned i = 0; i < 32; i++) {
        uint64_t p = dec->product.is_signed ? (uint64_t)((int64_t)(int32_t)a[i] * (int32_t)b[i])
                                            : (uint64_t)a[i] * b[i];
        p = (p ^ x1) - x1;
        uint64_t q = pair(c[i], ch[i]) ^ x2, s;
        unsigned over = __builtin_add_overflow(p, q, &s);
        over += __builtin_add_overflow(s, plus2 + (cin >> i & 1), &s);
        carry |= (uint32_t)(over != 0) << i;
        if (!(g >> i & 1))
            continue;
        r[i] = (uint32_t)(dec->product.high ? s >> 32 : s);
        if (!dec->product.high)
            rh[i] = (uint32_t)(s >> 32);
    }
    set_pred(warp, dec->pd[0], g, carry);
    return NEXT;
}
static bool use_wide(Bind *bind, bool sign, bool x, bool hi) {
    Dec *dec = bind->d;
    bind->width[2] = sign ? WIDTH_I64 : WIDTH_U64;
    bind_operands(bind);
    dec->product.is_signed = sign;
    dec->product.x = x;
    dec->product.high = hi;
    bind_chained(bind, wide_any, wide_any);
    if (!x && !hi && !(dec->xm[1] | dec->xm[2]) && dec->pd[0] == PRED_SINK) {
        dec->full = sign ? wide_s_f : wide_u_f;
        dec->part = sign ? wide_s_p : wide_u_p;
    }
    return !bind->failed;
}
bool LV(bind_IMAD_WIDE)(Bind *bind) {
    uint32_t m = bind->in->mods;
    return use_wide(bind, MGET(IMAD_WIDE, sign, m) == ISign_S32, MGET(IMAD_WIDE, x, m), false);
}
bool LV(bind_IMAD_HI)(Bind *bind) {
    uint32_t m = bind->in->mods;
    return use_wide(bind, MGET(IMAD_HI, sign, m) == ISign_S32, MGET(IMAD_HI, x, m), true);
}
bool LV(bind_UIMAD_WIDE)(Bind *bind) {
    uint32_t m = bind->in->mods;
    bool ok = use_wide(bind, MGET(UIMAD_WIDE, sign, m) == ISign_S32, MGET(UIMAD_WIDE, x, m), false);
    return ok && uniform(bind);
}
