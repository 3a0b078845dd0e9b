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
    uint32_t pp = dec_pred(warp, dec, 0), bop = dec->lane.isetp.bop;
    set_pred(warp, dec->pd[0], g, bool_op(bop, res, pp));
    set_pred(warp, dec->pd[1], g, bool_op(bop, ~res, pp));
}
#include "sim/ops/handlers.h"
#include "isa/lane/lanes_int.def"
#include "sim/ops/handlers_end.h"
const LaneHandler LV(lanes_int)[] = {
#include "isa/lane/lanes_int.def"
};

/* The row that the instruction is; `otherwise`, if none is. */
static bool use_row(Bind *bind, OpFn *otherwise) {
    Dec *dec = bind->d;
    uint32_t bop;
    bind_operands(bind);
    bool predicates = dec->pd[0] != PRED_SINK || dec->pd[1] != PRED_SINK;
    LaneInt row = lane_choose(bind->in, dec->xm, predicates, &dec->lane, &bop);
    if (row == LANE_INT_lop_and_pred || row == LANE_INT_lop_any_pred)
        dec->imm[1] = bop;
    if (row != LANE_INT_NONE)
        bind_chained(bind, LV(lanes_int)[row].full, LV(lanes_int)[row].part);
    else if (otherwise)
        bind_chained(bind, otherwise, otherwise);
    else
        return bind_not_simulated(bind);
    return !bind->failed;
}
/* Operations whose rows say Simulated<LANE>. */
bool LV(bind_lane)(Bind *b) {
    return use_row(b, NULL) && (isa_traits(b->in->optype)->lanes != ISA_LANES_WARP || uniform(b));
}

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
    if (warp->run->crew)
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
    return NEXT;
}
bool LV(bind_NOP)(Bind *b) { return use(b, nop, nop); }
bool LV(bind_MEMBAR)(Bind *b) { return use(b, fence, fence); }
bool LV(bind_ERRBAR)(Bind *b) { return use(b, nop, nop); }
bool LV(bind_CCTL)(Bind *b) { return use(b, fence, fence); }
bool LV(bind_CCTLL)(Bind *b) { return use(b, nop, nop); }

/* ---- LEA: (a << shift) + b; .HI: upper word of ({c:a} << shift), .SX32: c is a's sign ---- */
static int lea(Warp *warp, Dec *dec, uint32_t g) {
    ROWS;
    unsigned shift = dec->imm[0] & 31;
    bool hi = dec->lane.lea.high, sx = dec->lane.lea.sign_extend;
    uint32_t x0 = dec->xm[0], x1 = dec->xm[1], cin = dec->lane.lea.x ? dec_pred(warp, dec, 0) : 0, one = 0;
    uint64_t k = dec->lane.lea.plus;
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
bool LV(bind_LEA)(Bind *b) { return use_row(b, lea); }
bool LV(bind_ULEA)(Bind *b) { return use_row(b, lea) && uniform(b); }

/* ---- PLOP3 ---- */
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
    lane_table_anf(lut, bind->d->anf);
    lane_table_anf(lut2, second);
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

/* P2R, R2P: a byte of the register, mask imm[0] of P0..P6, or of UP0..UP6. */
static int p2r(Warp *warp, Dec *dec, uint32_t g) {
    ROWS;
    uint32_t mask = dec->imm[0] & 0x7f, shift = 8 * dec->pack.byte;
    EACH_LANE(i, g) {
        uint32_t v = 0;
        for (unsigned k = 0; k < 7; k++)
            v |= (warp->p[dec->pack.first + k] >> i & 1) << k;
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
            set_pred(warp, dec->pack.first + k, g, m);
        }
    return NEXT;
}
static bool use_pack(Bind *bind, OpFn *pack, uint32_t byte, uint32_t first) {
    bind->d->pack.byte = byte;
    bind->d->pack.first = first;
    return use(bind, pack, pack);
}
bool LV(bind_P2R)(Bind *bind) { return use_pack(bind, p2r, MGET(P2R, byte, bind->in->mods), 0); }
bool LV(bind_R2P)(Bind *bind) { return use_pack(bind, r2p, MGET(R2P, byte, bind->in->mods), 0); }
bool LV(bind_UP2UR)(Bind *bind) {
    return use_pack(bind, p2r, MGET(UP2UR, byte, bind->in->mods), PRED_UP) && uniform(bind);
}
bool LV(bind_UR2UP)(Bind *bind) {
    return use_pack(bind, r2p, MGET(UR2UP, byte, bind->in->mods), PRED_UP) && uniform(bind);
}

bool LV(bind_VIMNMX)(Bind *bind) {
    uint32_t type = MGET(VIMNMX, type, bind->in->mods);
    bool other = type > VimnmxType_S32 || MGET(VIMNMX, relu, bind->in->mods);
    return other ? bind_video_min_max(bind) : use_row(bind, NULL);
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
    uint32_t type = dec->lane.shf.type;
    bool wrap = dec->lane.shf.wrap, right = dec->lane.shf.right, high = dec->lane.shf.high;
    EACH_LANE(i, g)
        r[i] = shf_one(a[i], b[i], c[i], type, wrap, right, high);
    return NEXT;
}
bool LV(bind_SHF)(Bind *b) { return use_row(b, shf); }
bool LV(bind_USHF)(Bind *b) { return use_row(b, shf) && uniform(b); }

/* ---- FLO ---- */
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
bool LV(bind_ISETP)(Bind *b) { return use_row(b, NULL); }
bool LV(bind_UISETP)(Bind *b) { return use_row(b, NULL) && uniform(b); }

/* ---- multiply-add ---- */
/* General WIDE and HI. Sum of 65 bits; a negated product or addend is its
 * complement plus one (no plus under .X for the addend). */
static int wide_any(Warp *warp, Dec *dec, uint32_t g) {
    ROWS64;
    uint64_t x1 = dec->xm[1] ? ~(uint64_t)0 : 0, x2 = dec->xm[2] ? ~(uint64_t)0 : 0;
    uint32_t cin = dec->lane.product.x ? dec_pred(warp, dec, 0) : 0, carry = 0;
    unsigned plus2 = !dec->lane.product.x && x2 ? 1 : 0;
    for (unsigned i = 0; i < 32; i++) {
        uint64_t p = dec->lane.product.is_signed ? (uint64_t)((int64_t)(int32_t)a[i] * (int32_t)b[i])
                                                 : (uint64_t)a[i] * b[i];
        p = (p ^ x1) - x1;
        uint64_t q = pair(c[i], ch[i]) ^ x2, s;
        unsigned over = __builtin_add_overflow(p, q, &s);
        over += __builtin_add_overflow(s, plus2 + (cin >> i & 1), &s);
        carry |= (uint32_t)(over != 0) << i;
        if (!(g >> i & 1))
            continue;
        r[i] = (uint32_t)(dec->lane.product.high ? s >> 32 : s);
        if (!dec->lane.product.high)
            rh[i] = (uint32_t)(s >> 32);
    }
    set_pred(warp, dec->pd[0], g, carry);
    return NEXT;
}
static bool use_wide(Bind *bind, bool is_signed) {
    bind->width[2] = is_signed ? WIDTH_I64 : WIDTH_U64;
    return use_row(bind, wide_any);
}
bool LV(bind_IMAD_WIDE)(Bind *b) { return use_wide(b, MGET(IMAD_WIDE, sign, b->in->mods) == ISign_S32); }
bool LV(bind_IMAD_HI)(Bind *b) { return use_wide(b, MGET(IMAD_HI, sign, b->in->mods) == ISign_S32); }
bool LV(bind_UIMAD_WIDE)(Bind *b) {
    return use_wide(b, MGET(UIMAD_WIDE, sign, b->in->mods) == ISign_S32) && uniform(b);
}
