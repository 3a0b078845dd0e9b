/* Two operations in one (combine.c) for the two words of one number:
 *   IADD3, IADD3.X of a product of 64 bits, or of 32 bits that are shifted: IMAD.WIDE with an addend and,
 *                           in a chain of such sums, with carries
 *   IMAD and IMAD.HI of the same factors: IMAD.WIDE, where both stand near each other
 *   IADD3, IADD3.X of nothing: no sum
 *   IADD3, IADD3.X of 64 bits that are shifted, or multiplied by a power of two: LEA, LEA.HI.X
 * SPDX-License-Identifier: MIT */
#include "lower/opt/combine.h"

enum {
    NEAR = 16, /* instructions between the two halves of a sum */
    SHIFT_SIGN = MSET(SHF, type, ShfType_S32) | MSET(SHF, dir, ShfDir_R) | MSET(SHF, hi, 1)
};

typedef struct { /* low and high word of (high:low) << shift; sx32: high is low's sign */
    Operand low, high;
    uint32_t shift;
    bool sx32;
} Shifted;

/* Are these the words of a shifted number? */
static bool shifted_words(const Combine *combine, Operand low, Operand high, Shifted *out) {
    Function *f = combine->f;
    const Inst *wide = opt_combine_plain_def(combine, low, OT_IMAD_WIDE),
               *shl = opt_combine_plain_def(combine, low, OT_SHF),
               *top = opt_combine_plain_def(combine, high, OT_SHF);
    if (wide) {
        Operand rd = *ir_dst(f, wide, 0), by = *ir_src(f, wide, IMAD_WIDE_rb);
        if (rd.count != 2 || ir_operand_value(f, rd, 0).i != low.value ||
            ir_operand_value(f, rd, 1).i != opt_scalar(high) || high.mods || MGET(IMAD_WIDE, x, wide->mods) ||
            !opt_combine_is_zero(*ir_src(f, wide, IMAD_WIDE_rc)) || by.kind != OPK_IMM || by.mods ||
            !by.value || (by.value & (by.value - 1)) || by.value >> 31)
            return false;
        *out = (Shifted){*ir_src(f, wide, IMAD_WIDE_ra), op_rz(), (uint32_t)__builtin_ctz(by.value),
                         MGET(IMAD_WIDE, sign, wide->mods) == ISign_S32};
        return opt_combine_is_register(combine, out->low);
    }
    if (!shl || !top || shl->mods != (MSET(SHF, type, ShfType_U32) | MSET(SHF, dir, ShfDir_L)) ||
        top->mods != (MSET(SHF, type, ShfType_U64) | MSET(SHF, dir, ShfDir_L) | MSET(SHF, hi, 1)))
        return false;
    Operand n = *ir_src(f, shl, SHF_rb), m = *ir_src(f, top, SHF_rb), x = *ir_src(f, top, SHF_ra);
    *out = (Shifted){*ir_src(f, shl, SHF_ra), *ir_src(f, top, SHF_rc), n.value, false};
    return n.kind == OPK_IMM && m.kind == OPK_IMM && n.value == m.value && n.value < 32 &&
           opt_combine_is_zero(*ir_src(f, shl, SHF_rc)) && opt_combine_is_register(combine, out->low) &&
           opt_scalar(x) && !x.mods && x.value == out->low.value &&
           (opt_combine_is_zero(out->high) || opt_combine_is_register(combine, out->high));
}

/* The two operands of a sum of two; false if there are three, or the sign of one is changed. */
static bool two_terms(const Combine *combine, const Inst *i, Operand term[2]) {
    unsigned n = 0;
    for (unsigned k = 0; k < 3; k++) {
        Operand o = *ir_src(combine->f, i, k);
        if (o.mods) /* of zero, too: it carries */
            return false;
        if (opt_combine_is_zero(o))
            continue;
        if (n == 2)
            return false;
        term[n++] = o;
    }
    for (; n < 2; n++)
        term[n] = op_rz();
    return true;
}

static bool is_no_carry(Operand o) {
    return o.kind == OPK_NONE ||
           (o.kind == OPK_REG && o.file == RF_P && o.value == REG_PT && (o.mods & OPM_NOT));
}

/* Make instruction id another one with these results and sources. */
static void become(Function *f, InstId id, unsigned op, uint32_t mods, const Operand dst[2],
                   const Operand *src) {
    InstId other = ir_inst_new(f, op, isa_num_dst(op), isa_num_src(op));
    for (unsigned k = 0; k < 2; k++)
        ir_set_dst(f, other, k, dst[k]);
    for (unsigned k = 0; k < isa_num_src(op); k++)
        ir_set_src(f, other, k, src[k]);
    Inst *to = ir_inst(f, id), *from = ir_inst(f, other);
    to->op = from->op;
    to->mods = mods;
    to->ndst = from->ndst;
    to->nsrc = from->nsrc;
    to->operand = from->operand;
    FOR_DSTS(f, to, o)
        for (unsigned c = 0; o->kind == OPK_VAL && c < o->count; c++)
            f->values.at[ir_operand_value(f, *o, c).i].def = id;
}

static void become_lea(Function *f, InstId id, uint32_t mods, const Operand *src) {
    const Inst *sum = ir_inst(f, id);
    Operand dst[2] = {*ir_dst(f, sum, IADD3_rd), *ir_dst(f, sum, IADD3_pu)};
    become(f, id, OT_LEA, mods, dst, src);
}

/* ---- 64-bit sums ---- */

typedef struct { /* low and high words of two terms */
    Operand low[2], high[2], carry;
    Operand in, out;    /* carries of the whole sum; OPK_NONE: nobody wants it */
    InstId first, last; /* IADD3 or, with a carry, IADD3.X; IADD3.X */
} WideSum;

/* `i` adds the high words and the carry of an IADD3 that adds the low ones. */
static bool wide_sum(const Combine *combine, const Inst *i, WideSum *out) {
    Function *f = combine->f;
    if (i->op != OT_IADD3 || i->mods != MSET(IADD3, x, 1) || !op_is_always(i->guard) || i->flags & IF_TIED ||
        ir_dst(f, i, IADD3_pv)->kind != OPK_NONE || !opt_scalar(*ir_dst(f, i, 0)) ||
        !is_no_carry(*ir_src(f, i, IADD3_pq)))
        return false;
    Operand carry = *ir_src(f, i, IADD3_pp);
    const Inst *first = opt_combine_plain_def(combine, carry, OT_IADD3);
    if (!first || (first->mods && first->mods != MSET(IADD3, x, 1)) || combine->uses[carry.value] != 1 ||
        f->values.at[carry.value].block.i != combine->block.i ||
        ir_dst(f, first, IADD3_pu)->value != carry.value || ir_dst(f, first, IADD3_pv)->kind != OPK_NONE ||
        !opt_scalar(*ir_dst(f, first, 0)) || !is_no_carry(*ir_src(f, first, IADD3_pq)))
        return false;
    out->carry = carry;
    out->in = first->mods ? *ir_src(f, first, IADD3_pp) : op_with(op_pt(), OPM_NOT);
    out->out = *ir_dst(f, i, IADD3_pu);
    out->first = f->values.at[carry.value].def;
    out->last = f->values.at[ir_dst(f, i, 0)->value].def;
    return two_terms(combine, i, out->high) && two_terms(combine, first, out->low);
}

/* Nothing is added: where an array of the frame begins at its start. */
static bool no_term(Combine *combine, const WideSum *sum) {
    Function *f = combine->f;
    if (!opt_combine_is_zero(sum->low[1]) || !opt_combine_is_zero(sum->high[1]) || !is_no_carry(sum->in) ||
        sum->out.kind != OPK_NONE || !opt_combine_is_register(combine, sum->low[0]))
        return false;
    opt_combine_same_as(combine, ir_inst(f, sum->first), sum->low[0]);
    if (opt_combine_is_register(combine, sum->high[0]))
        opt_combine_same_as(combine, ir_inst(f, sum->last), sum->high[0]);
    else { /* zero, or of the constant bank */
        Operand pf = op_with(op_pt(), OPM_NOT), dst[2] = {*ir_dst(f, ir_inst(f, sum->last), 0)};
        become(f, sum->last, OT_IADD3, 0, dst, (Operand[]){op_rz(), sum->high[0], op_rz(), pf, pf});
    }
    return true;
}

static bool shifted_term(Combine *combine, const WideSum *sum) {
    Function *f = combine->f;
    if (!is_no_carry(sum->in) || sum->out.kind != OPK_NONE)
        return false;
    for (unsigned k = 0; k < 4; k++) {
        Shifted x;
        Operand with = sum->low[1 - k / 2], above = sum->high[1 - k % 2], pf = op_with(op_pt(), OPM_NOT);
        if (!shifted_words(combine, sum->low[k / 2], sum->high[k % 2], &x))
            continue;
        uint32_t mods = MSET(LEA, hi, 1) | MSET(LEA, x, 1) | MSET(LEA, sx32, x.sx32);
        Operand shift = op_imm(x.shift);
        become_lea(f, sum->first, 0, (Operand[]){x.low, with, op_rz(), shift, pf});
        become_lea(f, sum->last, mods,
                   (Operand[]){x.low, above, x.sx32 ? (Operand){0} : x.high, shift, sum->carry});
        return true;
    }
    return false;
}

typedef struct {
    Operand a, b;
    uint32_t mods; /* of IMAD.WIDE */
} Product;

/* Are these the words of a product of two numbers of 32 bits, or of one that is shifted? */
static bool product_words(const Combine *combine, Operand low, Operand high, Product *out) {
    const Function *f = combine->f;
    const Inst *wide = opt_combine_plain_def(combine, low, OT_IMAD_WIDE), *sign;
    Shifted x;
    if (wide) {
        Operand rd = *ir_dst(f, wide, 0);
        *out = (Product){*ir_src(f, wide, IMAD_WIDE_ra), *ir_src(f, wide, IMAD_WIDE_rb), wide->mods};
        return rd.count == 2 && ir_operand_value(f, rd, 0).i == low.value && !high.mods &&
               ir_operand_value(f, rd, 1).i == opt_scalar(high) && !MGET(IMAD_WIDE, x, wide->mods) &&
               opt_combine_is_zero(*ir_src(f, wide, IMAD_WIDE_rc)) &&
               opt_combine_is_register(combine, out->a) && !out->b.mods &&
               opt_combine_can_move(combine, out->b);
    }
    if (!shifted_words(combine, low, high, &x))
        return false;
    *out = (Product){x.low, op_imm(1u << x.shift), MSET(IMAD_WIDE, sign, ISign_U32)};
    if (opt_combine_is_zero(x.high))
        return true;
    out->mods = MSET(IMAD_WIDE, sign, ISign_S32);
    sign = opt_combine_plain_def(combine, x.high, OT_SHF);
    return x.shift < 31 && sign && sign->mods == SHIFT_SIGN && ir_src(f, sign, SHF_rb)->value == 31 &&
           ir_src(f, sign, SHF_rb)->kind == OPK_IMM && !ir_src(f, sign, SHF_rc)->mods &&
           opt_scalar(*ir_src(f, sign, SHF_rc)) == x.low.value;
}

/* Two words as one operand; OPK_NONE if they are none. */
static Operand pair_of(const Combine *combine, Operand low, Operand high) {
    if (low.kind == OPK_CMEM && high.kind == OPK_CMEM && op_cmem_offset(low) % 8 == 0 &&
        high.value == op_cmem(op_cmem_bank(low), op_cmem_offset(low) + 4).value)
        return low;
    if (!opt_combine_is_register(combine, low) || !opt_combine_is_register(combine, high) ||
        low.value == high.value)
        return (Operand){0};
    return ir_vec(combine->f, (ValId[]){{low.value}, {high.value}}, 2);
}

/* Does instruction `first` stand shortly before position `at`, and nothing between defines o? */
static bool is_defined_at(const Combine *combine, Operand o, InstId first, unsigned at) {
    const Block *block = &combine->f->blocks.at[combine->block.i];
    InstId def = opt_scalar(o) ? combine->f->values.at[o.value].def : (InstId){0};
    for (unsigned p = at; p-- > 0 && at - p <= NEAR;) {
        InstId id = block->insts.at[p];
        if (id.i == first.i)
            return true;
        if (id.i == def.i)
            return false;
    }
    return false;
}

/* The product and its sum are one, where the sum's low words were added. */
static bool product_term(Combine *combine, unsigned at, const WideSum *sum) {
    Function *f = combine->f;
    for (unsigned k = 0; k < 4; k++) {
        Product x;
        Operand above = sum->high[1 - k % 2];
        if (!product_words(combine, sum->low[k / 2], sum->high[k % 2], &x) ||
            !is_defined_at(combine, above, sum->first, at) ||
            !is_defined_at(combine, sum->high[k % 2], sum->first, at))
            continue;
        bool carries = !is_no_carry(sum->in) || sum->out.kind != OPK_NONE;
        if (carries && MGET(IMAD_WIDE, sign, x.mods) != ISign_U32)
            continue;
        Operand with = pair_of(combine, sum->low[1 - k / 2], above);
        if (with.kind == OPK_NONE)
            continue;
        ValId words[2] = {{ir_dst(f, ir_inst(f, sum->first), 0)->value},
                          {ir_dst(f, ir_inst(f, sum->last), 0)->value}};
        Operand dst[2] = {ir_vec(f, words, 2), sum->out};
        become(f, sum->first, OT_IMAD_WIDE, x.mods | MSET(IMAD_WIDE, x, !is_no_carry(sum->in)), dst,
               (Operand[]){x.a, x.b, with, sum->in});
        ir_remove_at(f, combine->block, at);
        return true;
    }
    return false;
}

/* ---- both words of a product ---- */

/* A product without an addend, low word or high word. */
static bool plain_product(const Combine *combine, const Inst *i, unsigned op, uint32_t x) {
    uint32_t v = i->op == op && !x ? opt_scalar(*ir_dst(combine->f, i, 0)) : 0;
    return v && opt_combine_one_result(combine, i) && combine->uses[v] &&
           combine->f->values.at[v].fixed_reg < 0 && opt_combine_is_zero(*ir_src(combine->f, i, IMAD_rc)) &&
           is_no_carry(*ir_src(combine->f, i, IMAD_pp)) &&
           opt_combine_can_move(combine, *ir_src(combine->f, i, IMAD_ra)) &&
           opt_combine_can_move(combine, *ir_src(combine->f, i, IMAD_rb));
}

static bool is_same_factor(Operand a, Operand b) {
    return a.kind == b.kind && a.file == b.file && a.mods == b.mods && a.value == b.value;
}

static bool same_factors(const Function *f, const Inst *low, const Inst *high) {
    Operand a = *ir_src(f, low, IMAD_ra), b = *ir_src(f, low, IMAD_rb), c = *ir_src(f, high, IMAD_HI_ra),
            d = *ir_src(f, high, IMAD_HI_rb);
    return (is_same_factor(a, c) && is_same_factor(b, d)) || (is_same_factor(a, d) && is_same_factor(b, c));
}

/* The high word at *at and a low word near it. The sign is the high word's: the low one has none. */
static bool both_words(Combine *combine, unsigned *at) {
    Function *f = combine->f;
    const Block *block = &f->blocks.at[combine->block.i];
    const Inst *high = ir_inst(f, block->insts.at[*at]);
    if (!plain_product(combine, high, OT_IMAD_HI, MGET(IMAD_HI, x, high->mods)))
        return false;
    for (unsigned p = *at > NEAR ? *at - NEAR : 0; p < block->insts.n && p <= *at + NEAR; p++) {
        const Inst *low = ir_inst(f, block->insts.at[p]);
        if (!plain_product(combine, low, OT_IMAD, MGET(IMAD, x, low->mods)) || !same_factors(f, low, high))
            continue;
        ValId words[2] = {{ir_dst(f, low, 0)->value}, {ir_dst(f, high, 0)->value}};
        Operand dst[2] = {ir_vec(f, words, 2)},
                src[] = {*ir_src(f, high, IMAD_HI_ra), *ir_src(f, high, IMAD_HI_rb), op_rz(),
                         op_with(op_pt(), OPM_NOT)};
        become(f, block->insts.at[p < *at ? p : *at], OT_IMAD_WIDE,
               MSET(IMAD_WIDE, sign, MGET(IMAD_HI, sign, high->mods)), dst, src);
        ir_remove_at(f, combine->block, p < *at ? *at : p);
        *at -= p < *at;
        return true;
    }
    return false;
}

void opt_combine_wide(Combine *combine, unsigned *at) {
    WideSum sum;
    if (both_words(combine, at) ||
        !wide_sum(combine, ir_inst(combine->f, ir_inst_at(combine->f, combine->block, *at)), &sum))
        return;
    if (no_term(combine, &sum))
        return;
    if (product_term(combine, *at, &sum))
        --*at;
    else
        (void)shifted_term(combine, &sum);
}
