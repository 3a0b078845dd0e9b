/* See choose.h. It asks for operations by name: what the modifiers of each mean stands here, and nowhere
 * else. SPDX-License-Identifier: MIT */
#include "isa/machine/luts.h"
#include "isa/lane/choose.h"

LaneSource lane_source(const Target *target, const MachInst *in, unsigned i) {
    Operand o = i < in->nsrc ? in->src[i] : (Operand){0};
    bool is_register = o.kind == OPK_REG || o.kind == OPK_VAL;
    switch (is_register ? o.file : isa_src_slot(target, in->optype, i).file) {
    case RF_B: return LANE_SRC_BARRIER;
    case RF_P:
    case RF_UP: return LANE_SRC_PREDICATE;
    case RF_R:
    case RF_UR: return LANE_SRC_VECTOR;
    default: return o.kind == OPK_CMEM ? LANE_SRC_VECTOR : LANE_SRC_NUMBER;
    }
}

void lane_table_anf(uint32_t lut, uint32_t k[8]) {
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

static bool is_zero(const MachInst *in, unsigned src) {
    Operand o = src < in->nsrc ? in->src[src] : (Operand){0};
    return o.kind == OPK_NONE || (o.kind == OPK_IMM && !o.value) ||
           (o.kind == OPK_REG && o.value == (o.file == RF_UR ? REG_URZ : REG_RZ));
}

static LaneInt iadd3(const uint32_t xm[4], bool x, bool predicates, LaneMods *mods) {
    mods->add.plus = x ? 0 : (xm[0] & 1) + (xm[1] & 1) + (xm[2] & 1);
    mods->add.x = x;
    return predicates              ? LANE_INT_iadd3_carry
           : x                     ? LANE_INT_iadd3_x
           : xm[0] | xm[1] | xm[2] ? LANE_INT_iadd3_neg
                                   : LANE_INT_iadd3;
}

static LaneInt lea(const uint32_t xm[4], bool x, bool high, bool sign_extend, bool carry, LaneMods *mods) {
    mods->lea.plus = x ? 0 : (xm[0] & 1) + (xm[1] & 1);
    mods->lea.x = x;
    mods->lea.high = high;
    mods->lea.sign_extend = sign_extend;
    if (xm[0] | xm[1] || (x && !high) || (high && carry))
        return LANE_INT_NONE;
    if (!high)
        return carry ? LANE_INT_lea_low : LANE_INT_lea_plain;
    return sign_extend ? LANE_INT_lea_high_signed : LANE_INT_lea_high;
}

static LaneInt lop3(uint32_t lut, bool pand, bool predicate, LaneMods *mods, uint32_t *bop) {
    static const struct {
        uint8_t lut, row;
    } known[] = {
        {0xc0, LANE_INT_lop_and},     {0xfc, LANE_INT_lop_or},     {0x3c, LANE_INT_lop_xor},
        {0x30, LANE_INT_lop_andn},    {0x0f, LANE_INT_lop_not_a},  {0x33, LANE_INT_lop_not_b},
        {0xf0, LANE_INT_lop_a},       {0xcc, LANE_INT_lop_b},      {0xaa, LANE_INT_lop_c},
        {0x80, LANE_INT_lop_and3},    {0xfe, LANE_INT_lop_or3},    {0x96, LANE_INT_lop_xor3},
        {0xea, LANE_INT_lop_and_or},  {0xa8, LANE_INT_lop_or_and}, {0x6a, LANE_INT_lop_and_xor},
        {0x28, LANE_INT_lop_xor_and}, {0xca, LANE_INT_lop_mux},
    };
    lane_table_anf(lut, mods->anf);
    *bop = pand ? BoolOp_AND : BoolOp_OR;
    if (predicate)
        return lut == LUT_AND ? LANE_INT_lop_and_pred : LANE_INT_lop_any_pred;
    for (unsigned i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].lut == lut)
            return (LaneInt)known[i].row;
    return LANE_INT_lop_any;
}

static LaneInt shf(uint32_t type, bool wrap, bool right, bool high, LaneMods *mods) {
    bool words = type == ShfType_U32 || type == ShfType_S32;
    mods->shf.type = type;
    mods->shf.wrap = wrap;
    mods->shf.right = right;
    mods->shf.high = high;
    if (type == ShfType_U32 && right && !high)
        return LANE_INT_funnel_r;
    if (wrap)
        return LANE_INT_NONE;
    if (words && right && high)
        return type == ShfType_S32 ? LANE_INT_shr_s : LANE_INT_shr_u;
    if (words)
        return right || high ? LANE_INT_NONE : LANE_INT_shl;
    if (right)
        return type == ShfType_U64 && !high ? LANE_INT_shift_r64 : LANE_INT_NONE;
    return high ? LANE_INT_shift_l64 : LANE_INT_NONE;
}

/* cmp is a set of {LT 1, EQ 2, GT 4}. */
static LaneInt isetp(uint32_t cmp, uint32_t how, bool ex, bool is_signed, LaneMods *mods, uint32_t *bop) {
    static const uint8_t by_code[2][2][8] = {
        {{LANE_INT_isetp_f, LANE_INT_isetp_lt_u, LANE_INT_isetp_eq, LANE_INT_isetp_le_u, LANE_INT_isetp_gt_u,
          LANE_INT_isetp_ne, LANE_INT_isetp_ge_u, LANE_INT_isetp_t},
         {LANE_INT_isetp_f, LANE_INT_isetp_lt_s, LANE_INT_isetp_eq, LANE_INT_isetp_le_s, LANE_INT_isetp_gt_s,
          LANE_INT_isetp_ne, LANE_INT_isetp_ge_s, LANE_INT_isetp_t}},
        {{LANE_INT_isetp_ex_eq, LANE_INT_isetp_ex_lt_u, LANE_INT_isetp_ex_eq, LANE_INT_isetp_ex_lt_u,
          LANE_INT_isetp_ex_gt_u, LANE_INT_isetp_ex_ne, LANE_INT_isetp_ex_gt_u, LANE_INT_isetp_ex_ne},
         {LANE_INT_isetp_ex_eq, LANE_INT_isetp_ex_lt_s, LANE_INT_isetp_ex_eq, LANE_INT_isetp_ex_lt_s,
          LANE_INT_isetp_ex_gt_s, LANE_INT_isetp_ex_ne, LANE_INT_isetp_ex_gt_s, LANE_INT_isetp_ex_ne}}};
    mods->isetp.bop = *bop = how;
    return (LaneInt)by_code[ex][is_signed][cmp & 7];
}

static LaneInt field(bool wrap, bool is_signed, LaneInt row, LaneMods *mods) {
    mods->field.wrap = wrap;
    mods->field.is_signed = is_signed;
    return row;
}

static LaneInt imad(const MachInst *in, const uint32_t xm[4], bool x, LaneMods *mods) {
    mods->add.plus = (xm[1] & 1) + (x ? 0 : xm[2] & 1);
    mods->add.x = x;
    return x || xm[1] | xm[2] ? LANE_INT_imad_neg : is_zero(in, 2) ? LANE_INT_imul : LANE_INT_imad;
}

static LaneInt wide(const uint32_t xm[4], bool is_signed, bool x, bool high, bool carry, LaneMods *mods) {
    mods->product.is_signed = is_signed;
    mods->product.x = x;
    mods->product.high = high;
    if (x || xm[1] | xm[2] || carry)
        return LANE_INT_NONE;
    return high        ? (is_signed ? LANE_INT_high_s : LANE_INT_high_u)
           : is_signed ? LANE_INT_wide_s
                       : LANE_INT_wide_u;
}

static LaneInt idp(uint32_t mode, bool b_signed, LaneMods *mods) {
    bool two = mode & IdpMode_D2A_LO_U16;
    mods->number[0] = mode & IdpMode_D4A_S8 ? (two ? 0x8000 : 0x80) : 0;
    mods->number[1] = b_signed ? 0x80 : 0;
    mods->number[2] = mode == IdpMode_D2A_HI_U16 || mode == IdpMode_D2A_HI_S16 ? 16 : 0;
    return two ? LANE_INT_idp2 : LANE_INT_idp4;
}

static LaneInt i2i(uint32_t type, LaneMods *mods) {
    static const int32_t range[4][2] = {{0, 255}, {-128, 127}, {0, 65535}, {-32768, 32767}};
    mods->i2i.least = (uint32_t)range[type & 3][0];
    mods->i2i.most = (uint32_t)range[type & 3][1];
    return LANE_INT_i2i;
}

static LaneInt viadd(const MachInst *in) {
    uint32_t type = MGET(VIADD, type, in->mods);
    if (type == ViaddType_U8x4)
        return LANE_INT_NONE; /* ptxas 13.0 makes none */
    return type == ViaddType_S32 ? LANE_INT_viadd : LANE_INT_viadd_halves;
}

static LaneInt vimnmx(uint32_t m) {
    uint32_t type = MGET(VIMNMX, type, m);
    if (type > VimnmxType_S32 || MGET(VIMNMX, relu, m))
        return LANE_INT_NONE;
    return type == VimnmxType_S32 ? LANE_INT_imin_s : LANE_INT_imin_u;
}

#define IS_SIGNED(op) (MGET(op, sign, m) == ISign_S32)
/* Operations whose rows say Simulated<LANE>: the compiler says which of them has no case below. */
typedef enum {
#define VALUE(op) LANE_OP_##op = OT_##op,
    ISA_SIMULATED_LANE_OPTYPES(VALUE)
#undef VALUE
} LaneOp;
static LaneInt choose_all(LaneOp op, const MachInst *in, const uint32_t xm[4], bool predicates,
                          LaneMods *mods, uint32_t *bop) {
    uint32_t m = in->mods;
    switch (op) {
    case LANE_OP_MOV:
    case LANE_OP_UMOV: return LANE_INT_mov;
    case LANE_OP_SEL:
    case LANE_OP_USEL: return LANE_INT_sel;
    case LANE_OP_IADD3: return iadd3(xm, MGET(IADD3, x, m), predicates, mods);
    case LANE_OP_UIADD3: return iadd3(xm, MGET(UIADD3, x, m), predicates, mods);
    case LANE_OP_LOP3: return lop3(MGET(LOP3, lut, m), MGET(LOP3, pand, m), predicates, mods, bop);
    case LANE_OP_ULOP3: return lop3(MGET(ULOP3, lut, m), MGET(ULOP3, pand, m), predicates, mods, bop);
    case LANE_OP_IABS: return LANE_INT_iabs;
    case LANE_OP_IMNMX: return IS_SIGNED(IMNMX) ? LANE_INT_imin_s : LANE_INT_imin_u;
    case LANE_OP_VIADD: return viadd(in);
    case LANE_OP_VABSDIFF: return IS_SIGNED(VABSDIFF) ? LANE_INT_absdiff_s : LANE_INT_absdiff_u;
    case LANE_OP_IDP: return idp(MGET(IDP, mode, m), MGET(IDP, bsign, m) == IdpSign_S8, mods);
    case LANE_OP_SGXT: return field(MGET(SGXT, wrap, m), IS_SIGNED(SGXT), LANE_INT_sgxt, mods);
    case LANE_OP_USGXT: return field(MGET(USGXT, wrap, m), IS_SIGNED(USGXT), LANE_INT_sgxt, mods);
    case LANE_OP_BMSK: return field(MGET(BMSK, wrap, m), false, LANE_INT_bmsk, mods);
    case LANE_OP_UBMSK: return field(MGET(UBMSK, wrap, m), false, LANE_INT_bmsk, mods);
    case LANE_OP_BREV:
    case LANE_OP_UBREV: return LANE_INT_brev;
    case LANE_OP_POPC:
    case LANE_OP_UPOPC: return LANE_INT_popc;
    case LANE_OP_I2I: return i2i(MGET(I2I, type, m), mods);
    case LANE_OP_IMAD: return imad(in, xm, MGET(IMAD, x, m), mods);
    case LANE_OP_UIMAD: return imad(in, xm, MGET(UIMAD, x, m), mods);
    }
    return LANE_INT_NONE;
}

/* The others have rows for some of what they do. */
LaneInt lane_choose(const MachInst *in, const uint32_t xm[4], bool predicates, LaneMods *mods,
                    uint32_t *bop) {
    uint32_t m = in->mods;
    *bop = BoolOp_AND;
    switch (in->optype) {
    case OT_LEA: return lea(xm, MGET(LEA, x, m), MGET(LEA, hi, m), MGET(LEA, sx32, m), predicates, mods);
    case OT_ULEA: return lea(xm, MGET(ULEA, x, m), MGET(ULEA, hi, m), MGET(ULEA, sx32, m), predicates, mods);
    case OT_VIMNMX: return vimnmx(m);
    case OT_SHF:
        return shf(MGET(SHF, type, m), MGET(SHF, wrap, m), MGET(SHF, dir, m) == ShfDir_R, MGET(SHF, hi, m),
                   mods);
    case OT_USHF:
        return shf(MGET(USHF, type, m), MGET(USHF, wrap, m), MGET(USHF, dir, m) == ShfDir_R,
                   MGET(USHF, hi, m), mods);
    case OT_ISETP:
        return isetp(MGET(ISETP, cmp, m), MGET(ISETP, bop, m), MGET(ISETP, ex, m), IS_SIGNED(ISETP), mods,
                     bop);
    case OT_UISETP:
        return isetp(MGET(UISETP, cmp, m), MGET(UISETP, bop, m), MGET(UISETP, ex, m), IS_SIGNED(UISETP), mods,
                     bop);
    case OT_IMAD_WIDE: return wide(xm, IS_SIGNED(IMAD_WIDE), MGET(IMAD_WIDE, x, m), false, predicates, mods);
    case OT_UIMAD_WIDE:
        return wide(xm, IS_SIGNED(UIMAD_WIDE), MGET(UIMAD_WIDE, x, m), false, predicates, mods);
    case OT_IMAD_HI: return wide(xm, IS_SIGNED(IMAD_HI), MGET(IMAD_HI, x, m), true, predicates, mods);
    default: return choose_all((LaneOp)in->optype, in, xm, predicates, mods, bop);
    }
}
