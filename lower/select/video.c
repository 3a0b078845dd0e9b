/* Selection of video instructions: PTX ISA 9.7.18. There are none of them but the sum of four absolute
 * differences; the others become what they say, on parts that PRMT takes out and puts in. Values have one
 * word with what its sign is, or two where 32 bits do not hold them. SPDX-License-Identifier: MIT */
#include "isa/tables.h"
#include "lower/select/isel.h"

typedef struct { /* a source */
    Operand word;
    bool is_signed, is_whole; /* all 32 bits of a register; else fewer, so that the word has a sign, too */
} Part;

static unsigned part_bits(const PtxOperand *operand) {
    return !operand->selector ? 32 : operand->selector & PTX_SELECTS_HALVES ? 16 : 8;
}

/* Part number `at` of a register, extended. */
static Operand take_part(Sel *sel, Operand from, unsigned bits, unsigned at, bool is_signed) {
    uint32_t first = bits / 8 * at, pick = first,
             fill = is_signed ? 8 | (first + bits / 8 - 1) : 4 /* of RZ */;
    for (unsigned byte = 1; byte < 4; byte++)
        pick |= (8 * byte < bits ? first + byte : fill) << 4 * byte;
    return sel_prmt(sel, from, op_imm(pick), op_rz());
}

static Operand put_part(Sel *sel, Operand into, Operand part, unsigned bits, unsigned at) {
    uint32_t pick = 0x7654;
    for (unsigned byte = 0; byte < bits / 8; byte++) {
        unsigned to = 4 * (bits / 8 * at + byte);
        pick = (pick & ~(15u << to)) | byte << to;
    }
    part = sel_value(sel, part);
    return sel_prmt(sel, part, op_imm(pick), sel_value(sel, into));
}

static Part source_part(Sel *sel, const PtxOperand *operand, unsigned type) {
    Operand word = sel_value(sel, sel_src32(sel, operand));
    unsigned bits = part_bits(operand);
    bool is_signed = type == TY_S32, whole = bits == 32;
    return (Part){whole ? word : take_part(sel, word, bits, (unsigned)operand->imm, is_signed), is_signed,
                  whole};
}

static Wide extended(Sel *sel, Operand word, bool is_signed) {
    return wide2(word, is_signed ? sel_shr(sel, true, word, op_imm(31)) : op_imm(0));
}
static Wide part64(Sel *sel, Part part) { return extended(sel, part.word, part.is_signed); }

static unsigned comparison(unsigned cmp) {
    switch (cmp) {
    case CMP_EQ: return ICmp_EQ;
    case CMP_NE: return ICmp_NE;
    case CMP_LT:
    case CMP_LO: return ICmp_LT;
    case CMP_LE:
    case CMP_LS: return ICmp_LE;
    case CMP_GT:
    case CMP_HI: return ICmp_GT;
    default: return ICmp_GE;
    }
}

static Operand compare_parts(Sel *sel, unsigned icmp, Part a, Part b) {
    bool fit_signed = (a.is_signed || !a.is_whole) && (b.is_signed || !b.is_whole);
    if (fit_signed || (!a.is_signed && !b.is_signed))
        return sel_isetp(sel, fit_signed, icmp, a.word, b.word);
    Wide wide_a = part64(sel, a);
    return sel_isetp64(sel, true, icmp, wide_a, part64(sel, b));
}

typedef enum { ADDS, SUBTRACTS, AVERAGES, DIFFERS, LEAST, MOST, LEFT, RIGHT, COMPARES } Kind;

/* By at most 32, as SHF has it. */
static Operand amount_of(Sel *sel, const PtxInsn *in, Operand amount) {
    return in->sub == SUB_WRAP ? sel_and(sel, amount, op_imm(31))
                               : sel_minmax(sel, false, false, amount, op_imm(32));
}

/* The low word of the result: all of it where the sources are parts. */
static Operand low_word(Sel *sel, const PtxInsn *in, Kind kind, Part a, Part b) {
    switch (kind) {
    case ADDS: return sel_iadd(sel, a.word, b.word);
    case SUBTRACTS: return sel_isub(sel, a.word, b.word);
    case AVERAGES: {
        Operand sum = sel_iadd(sel, a.word, b.word), below = sel_shr(sel, true, sum, op_imm(31));
        Operand up = sel_iadd(sel, sel_iadd(sel, sum, op_imm(1)), below);
        return sel_shr(sel, true, up, op_imm(1));
    }
    case DIFFERS: {
        Operand less = compare_parts(sel, ICmp_LT, a, b), down = sel_isub(sel, a.word, b.word);
        return sel_select(sel, less, sel_isub(sel, b.word, a.word), down);
    }
    case LEAST:
    case MOST:
        return sel_select(sel, compare_parts(sel, kind == MOST ? ICmp_GT : ICmp_LT, a, b), a.word, b.word);
    case LEFT: return sel_shl(sel, a.word, amount_of(sel, in, b.word));
    case RIGHT: return sel_shr(sel, a.is_signed, a.word, amount_of(sel, in, b.word));
    default: return sel_select(sel, compare_parts(sel, comparison(in->cmp), a, b), op_imm(1), op_imm(0));
    }
}

/* The whole result, of 34 bits. */
static Wide both_words(Sel *sel, const PtxInsn *in, Kind kind, Part a, Part b) {
    Wide x = part64(sel, a), y = part64(sel, b), t;
    switch (kind) {
    case ADDS: return sel_add64(sel, x, y);
    case SUBTRACTS: return sel_sub64(sel, x, y);
    case DIFFERS: {
        Operand less = sel_isetp64(sel, true, ICmp_LT, x, y);
        t = sel_sub64(sel, x, y);
        return sel_select64(sel, less, sel_sub64(sel, y, x), t);
    }
    case LEAST:
    case MOST: return sel_select64(sel, sel_isetp64(sel, true, kind == MOST ? ICmp_GT : ICmp_LT, x, y), x, y);
    case LEFT:
        x.w[1] = sel_value(sel, x.w[1]);
        t = sel_shl64(sel, x, amount_of(sel, in, b.word));
        t.w[1] = sel_shr(sel, true, sel_shl(sel, t.w[1], op_imm(30)), op_imm(30));
        return t;
    case RIGHT: x.w[1] = sel_value(sel, x.w[1]); return sel_shr64(sel, true, x, amount_of(sel, in, b.word));
    default: return extended(sel, low_word(sel, in, kind, a, b), false);
    }
}

/* Two words to the nearest of 32 bits. */
static Operand clamp_word(Sel *sel, Wide t, bool is_signed) {
    Operand sign = sel_shr(sel, true, t.w[1], op_imm(31));
    Operand limit =
        is_signed ? sel_xor(sel, sign, op_imm(INT32_MAX)) : sel_lop(sel, LUT_NOT_A, sign, op_rz(), op_rz());
    Operand beyond = sel_isetp(sel, false, ICmp_NE, t.w[1],
                               is_signed ? sel_shr(sel, true, t.w[0], op_imm(31)) : op_imm(0));
    return sel_select(sel, beyond, limit, t.w[0]);
}

static Operand clamp_part(Sel *sel, Operand word, bool is_signed, unsigned bits) {
    uint32_t low = is_signed ? 0u - (1u << (bits - 1)) : 0, high = (1u << (is_signed ? bits - 1 : bits)) - 1;
    word = sel_minmax(sel, true, true, word, op_imm(low));
    return sel_minmax(sel, true, false, word, op_imm(high));
}

typedef struct {
    unsigned a, b, d; /* types */
} Types;
static Types types_of(const PtxInsn *in) {
    if (in->cmp)
        return (Types){in->type[0], in->type[1], TY_U32};
    return (Types){in->type[1], in->type[2], in->type[0]};
}

static bool select_scalar(Sel *sel, const PtxInsn *in, Kind kind) {
    Types type = types_of(in);
    Part a = source_part(sel, &in->operands[1], type.a), b = source_part(sel, &in->operands[2], type.b);
    bool orders = in->atom == ATOM_MIN || in->atom == ATOM_MAX, is_signed = type.d == TY_S32;
    unsigned bits = part_bits(&in->operands[0]);
    Wide t = {.n = 0};
    if (in->flags & PF_SAT || orders)
        t = both_words(sel, in, kind, a, b);
    else
        t.w[0] = low_word(sel, in, kind, a, b);
    if (in->flags & PF_SAT) {
        Operand word = clamp_word(sel, t, is_signed || bits < 32);
        t = extended(sel, bits < 32 ? clamp_part(sel, word, is_signed, bits) : word, is_signed);
    }
    Operand result = t.w[0];
    if (orders) {
        Wide third = extended(sel, sel_value(sel, sel_src32(sel, &in->operands[3])), is_signed);
        Operand keep = sel_isetp64(sel, true, in->atom == ATOM_MIN ? ICmp_LT : ICmp_GT, t, third);
        result = sel_select(sel, keep, t.w[0], third.w[0]);
    } else if (in->atom) {
        result = sel_iadd(sel, result, sel_src32(sel, &in->operands[3]));
    } else if (bits < 32) {
        result = put_part(sel, sel_src32(sel, &in->operands[3]), result, bits, (unsigned)in->operands[0].imm);
    }
    sel_write32(sel, &in->operands[0], TY_B32, result);
    return true;
}

/* ---- on halves and bytes in parallel ---- */

static unsigned digit(const PtxOperand *operand, unsigned k, unsigned otherwise) {
    return operand->selector ? (unsigned)(operand->imm >> 4 * k) & 15 : otherwise;
}

static uint32_t mask_of(const PtxOperand *to, unsigned parts) {
    uint32_t mask = to->selector ? 0 : (1u << parts) - 1;
    for (unsigned k = 0; k < (to->selector & 7u); k++)
        mask |= 1u << digit(to, k, 0);
    return mask;
}

/* Bytes of a against those of b at the same places, all four. */
static bool is_sad(const Sel *sel, const PtxInsn *in, Kind kind, Types type) {
    bool in_order = !in->operands[0].selector && !in->operands[1].selector && !in->operands[2].selector;
    return kind == DIFFERS && ptx_video_parts(in->op) == 4 && isa_target_has(sel->t, OT_VABSDIFF4) &&
           in_order && type.a == type.b && !(in->flags & PF_SAT) && (in->atom || type.a == TY_U32);
}

static bool select_parts(Sel *sel, const PtxInsn *in, Kind kind) {
    unsigned parts = ptx_video_parts(in->op), bits = 32 / parts;
    Types type = types_of(in);
    Operand from[2], result;
    for (unsigned k = 0; k < 2; k++)
        from[k] = sel_value(sel, sel_src32(sel, &in->operands[1 + k]));
    result = sel_value(sel, sel_src32(sel, &in->operands[3]));
    uint32_t mask = mask_of(&in->operands[0], parts);
    if (is_sad(sel, in, kind, type)) {
        result = EMIT_R(sel, OT_VABSDIFF4,
                        MSET(VABSDIFF4, sign, type.a == TY_S32 ? ByteSign_S8 : ByteSign_U8) |
                            MSET(VABSDIFF4, acc, in->atom == ATOM_ADD),
                        from[0], from[1], result);
        mask = 0;
    }
    for (unsigned k = 0; k < parts; k++) {
        if (!(mask >> k & 1))
            continue;
        unsigned at_a = digit(&in->operands[1], k, k), at_b = digit(&in->operands[2], k, parts + k);
        Part a = {.is_signed = type.a == TY_S32}, b = {.is_signed = type.b == TY_S32};
        a.word = take_part(sel, from[at_a / parts], bits, at_a % parts, a.is_signed);
        b.word = take_part(sel, from[at_b / parts], bits, at_b % parts, b.is_signed);
        Operand t = low_word(sel, in, kind, a, b);
        if (in->flags & PF_SAT)
            t = clamp_part(sel, t, type.d == TY_S32, bits);
        result = in->atom ? sel_iadd(sel, result, t) : put_part(sel, result, t, bits, k);
    }
    sel_write32(sel, &in->operands[0], TY_B32, result);
    return true;
}

static bool select_video(Sel *sel, const PtxInsn *in, Kind kind) {
    return ptx_video_parts(in->op) > 1 ? select_parts(sel, in, kind) : select_scalar(sel, in, kind);
}
bool isel_vadd(Sel *sel, const PtxInsn *in) { return select_video(sel, in, ADDS); }
bool isel_vsub(Sel *sel, const PtxInsn *in) { return select_video(sel, in, SUBTRACTS); }
bool isel_vavrg(Sel *sel, const PtxInsn *in) { return select_video(sel, in, AVERAGES); }
bool isel_vabsdiff(Sel *sel, const PtxInsn *in) { return select_video(sel, in, DIFFERS); }
bool isel_vmin(Sel *sel, const PtxInsn *in) { return select_video(sel, in, LEAST); }
bool isel_vmax(Sel *sel, const PtxInsn *in) { return select_video(sel, in, MOST); }
bool isel_vshl(Sel *sel, const PtxInsn *in) { return select_video(sel, in, LEFT); }
bool isel_vshr(Sel *sel, const PtxInsn *in) { return select_video(sel, in, RIGHT); }
bool isel_vset(Sel *sel, const PtxInsn *in) { return select_video(sel, in, COMPARES); }

/* ---- multiply-add ---- */

static Wide product_of(Sel *sel, Part a, Part b) {
    bool fit_signed = (a.is_signed || !a.is_whole) && (b.is_signed || !b.is_whole);
    if (fit_signed || (!a.is_signed && !b.is_signed))
        return sel_imad_wide(sel, fit_signed, a.word, b.word, NULL);
    Part whole = a.is_signed ? b : a, with_sign = a.is_signed ? a : b;
    Wide p =
        sel_imad_wide(sel, true, a.word, b.word, NULL); /* `whole` may be 2^32 more than it was taken for */
    Operand taken = sel_shr(sel, true, whole.word, op_imm(31));
    p.w[1] = sel_iadd(sel, p.w[1], sel_and(sel, taken, with_sign.word));
    return p;
}

bool isel_vmad(Sel *sel, const PtxInsn *in) {
    const PtxOperand *operand = in->operands;
    PtxOperand plain[3] = {operand[1], operand[2], operand[3]};
    for (unsigned k = 0; k < 3; k++)
        plain[k].neg = false;
    Part a = source_part(sel, &plain[0], in->type[1]), b = source_part(sel, &plain[1], in->type[2]);
    bool minus_product = operand[1].neg != operand[2].neg, minus_third = operand[3].neg;
    bool is_signed = a.is_signed || b.is_signed || minus_product || minus_third;
    Wide third = extended(sel, sel_value(sel, sel_src32(sel, &plain[2])), is_signed),
         p = product_of(sel, a, b);
    Wide sum = minus_product ? sel_sub64(sel, third, p)
               : minus_third ? sel_sub64(sel, p, third)
                             : sel_add64(sel, p, third);
    if (in->sub2 == SUB_PO)
        sum = sel_add64(sel, sum, wide2(op_imm(1), op_imm(0)));
    if (in->sub)
        sum = sel_shr64(sel, is_signed, sum, op_imm(in->sub == SUB_SHR7 ? 7 : 15));
    Operand result = sum.w[0];
    if (in->flags & PF_SAT && is_signed) {
        result = clamp_word(sel, sum, true);
        if (!a.is_signed && !b.is_signed && a.is_whole && b.is_whole) { /* the product may have 64 bits */
            Operand huge = sel_isetp(sel, true, ICmp_LT, p.w[1], op_imm(0));
            result = sel_select(sel, huge, sel_value(sel, op_imm(minus_product ? 0x80000000u : INT32_MAX)),
                                result);
        }
    } else if (in->flags & PF_SAT) {
        Operand beyond = sel_isetp(sel, false, ICmp_NE, sum.w[1], op_imm(0));
        result = sel_select(sel, beyond, sel_value(sel, op_imm(UINT32_MAX)), sum.w[0]);
    }
    sel_write32(sel, &in->operands[0], TY_B32, result);
    return true;
}
