/* Two operations in one: an instruction takes over what the only definition of one of its operands computes.
 *   IADD3 of IADD3          one sum of three; constants are added up
 *   IADD3 of SHF            LEA, LEA.HI
 *   IADD3 of IMAD           IMAD with an addend
 *   LOP3 of LOP3            one table of three inputs
 *   LOP3 of SHF.R           PRMT, where it takes one byte
 *   LOP3 of SHF.L and SHF.R both words' bits of a shifted pair: SHF of the pair
 *   LOP3 of LOP3            one that masks only bits which do not count: without it
 *   SHF by a LOP3           SHF.W, which takes the number modulo 32 itself
 *   I2F of one of these     I2F of a byte or a half, where it takes that
 *   IADD3, IADD3.X of a product of 64 bits, or of 32 bits that are shifted: IMAD.WIDE with an addend and,
 *                           in a chain of such sums, with carries
 *   IMAD and IMAD.HI of the same factors: IMAD.WIDE, where both stand near each other
 *   IADD3, IADD3.X of 64 bits that are shifted, or multiplied by a power of two: LEA, LEA.HI.X
 * A sum or a table of one operand is that operand. In: SSA. The inner instruction stands in the same block,
 * has no other use (so it is dead afterwards: dce), no guard and no second result. A form that no opcode
 * takes is not made. Operations are asked for by name: each pair is a rule of what the two compute.
 * SPDX-License-Identifier: MIT */
#include "isa/machine/luts.h"
#include "lower/opt/opt.h"
#include "lower/passes.h"

enum {
    NEAR = 16, /* instructions between the two halves of a sum */
    SHIFT_SIGN = MSET(SHF, type, ShfType_S32) | MSET(SHF, dir, ShfDir_R) | MSET(SHF, hi, 1)
};

typedef struct {
    Function *f;
    Arena a;
    uint32_t *uses; /* [value], of operands, guards and vectors */
    uint32_t *repl; /* [value] copies */
    BlockId block;
} Combine;

static void count_uses(Combine *combine) {
    Function *f = combine->f;
    for (uint32_t k = 0; k < f->vectors.n; k++) /* stale vectors too: errs on the safe side */
        combine->uses[f->vectors.at[k]]++;
    FOR_BLOCKS(f, b)
        FOR_INSTS(f, b, i) {
            FOR_USES(f, i, o)
                combine->uses[opt_scalar(*o)]++;
            combine->uses[opt_scalar(i->guard)]++;
        }
}

static bool is_zero(Operand o) {
    return o.kind == OPK_NONE || (o.kind == OPK_IMM && o.value == 0) ||
           (o.kind == OPK_REG && o.file == RF_R && o.value == REG_RZ);
}

/* May the operand be named by another instruction of the block? Fixed and uniform registers stay where they
 * are. */
static bool can_move(const Combine *combine, Operand o) {
    if (o.kind == OPK_IMM || o.kind == OPK_CMEM || is_zero(o))
        return true;
    return opt_scalar(o) && o.file == RF_R && combine->f->values.at[o.value].fixed_reg < 0;
}

/* Only destination 0 is defined. */
static bool one_result(const Combine *combine, const Inst *i) {
    for (unsigned k = 1; k < i->ndst; k++)
        if (ir_dst(combine->f, i, k)->kind != OPK_NONE)
            return false;
    return op_is_always(i->guard) && !(i->flags & IF_TIED);
}

/* The instruction that defines o, if it may be taken over. */
static const Inst *inner(const Combine *combine, Operand o, unsigned op) {
    uint32_t v = opt_scalar(o);
    if (!v || combine->uses[v] != 1 || combine->f->values.at[v].fixed_reg >= 0 ||
        !combine->f->values.at[v].def.i)
        return NULL;
    const Inst *i = ir_inst(combine->f, combine->f->values.at[v].def);
    if (i->op != op || combine->f->values.at[v].block.i != combine->block.i || !one_result(combine, i))
        return NULL;
    for (unsigned k = 0; k < 3; k++)
        if (!can_move(combine, *ir_src(combine->f, i, k)))
            return NULL;
    return i;
}

/* Put op with these sources in the place of instruction `at`; false if no opcode takes them. */
static bool replace_inst(Combine *combine, unsigned at, unsigned op, uint32_t mods, unsigned nsrc,
                         const Operand *src) {
    Function *f = combine->f;
    InstId old = ir_block(f, combine->block)->insts.at[at];
    Operand dst = *ir_dst(f, ir_inst(f, old), 0);
    MachInst m = {.optype = (uint16_t)op, .mods = mods, .ctrl = CONTROL_DEFAULT};
    m.ndst = (uint8_t)isa_num_dst(op);
    m.nsrc = (uint8_t)isa_num_src(op);
    m.dst[0] = dst;
    for (unsigned k = 0; k < nsrc; k++)
        m.src[k] = src[k];
    if (!opt_scalar(dst) || !isa_select_opcode(f->module->target, &m))
        return false;
    InstId id = ir_inst_new(f, op, m.ndst, m.nsrc);
    ir_inst(f, id)->mods = mods;
    ir_inst(f, id)->loc = ir_inst(f, old)->loc;
    for (unsigned k = 0; k < nsrc; k++)
        ir_set_src(f, id, k, src[k]);
    ir_set_dst(f, id, 0, dst);
    ir_block(f, combine->block)->insts.at[at] = id;
    return true;
}

/* Instruction `at` stands for this one, too, which may have been the first of its block: where the block
 * begins in PTX is asked of its first instruction. */
static void takes_place(Combine *combine, unsigned at, LocId of) {
    Function *f = combine->f;
    Inst *i = ir_inst(f, ir_inst_at(f, combine->block, at));
    if (f->locs.at[of.i].ptx_insn < f->locs.at[i->loc.i].ptx_insn)
        i->loc = of;
}

static void same_as(Combine *combine, const Inst *i, Operand o) {
    uint32_t to = opt_scalar(*ir_dst(combine->f, i, 0));
    if (to && opt_scalar(o) && !o.mods && can_move(combine, o) && combine->f->values.at[to].fixed_reg < 0) {
        combine->repl[to] = o.value;
        combine->uses[o.value] += combine->uses[to]; /* more than one use at least: it stays */
    }
}

/* ---- sums ---- */

typedef struct {
    Operand term[8];
    unsigned n;
    uint32_t constant;
} Sum;

static bool plain_sum(const Combine *c, const Inst *i) {
    return i->op == OT_IADD3 && !i->mods && one_result(c, i);
}

static void add_terms(const Combine *combine, Sum *sum, const Inst *i, unsigned except, unsigned negate) {
    for (unsigned k = 0; k < 3; k++) {
        Operand o = *ir_src(combine->f, i, k);
        if (k == except || is_zero(o))
            continue;
        o.mods = (uint8_t)(o.mods ^ negate);
        if (o.kind == OPK_IMM)
            sum->constant += o.mods & OPM_NEG ? 0u - o.value : o.value;
        else
            sum->term[sum->n++] = o;
    }
}

/* At most three terms, one of them no register, two negated (what ptxas 13.0 makes). */
static bool put_sum(Combine *c, unsigned at, Sum *sum) {
    Operand pf = op_with(op_pt(), OPM_NOT), src[5] = {op_rz(), op_rz(), op_rz(), pf, pf};
    unsigned others = 0, negated = 0, to = 0;
    if (sum->constant)
        sum->term[sum->n++] = op_imm(sum->constant);
    for (unsigned k = 0; k < sum->n; k++) {
        negated += (sum->term[k].mods & OPM_NEG) != 0;
        if (sum->term[k].kind != OPK_VAL)
            others++, src[1] = sum->term[k];
    }
    if (sum->n > 3 || others > 1 || negated > 2)
        return false;
    for (unsigned k = 0; k < sum->n; k++)
        if (sum->term[k].kind == OPK_VAL) {
            to += to == 1 && others; /* rb is taken */
            src[to++] = sum->term[k];
        }
    return replace_inst(c, at, OT_IADD3, 0, 5, src);
}

static bool sum_of_sum(Combine *combine, unsigned at, const Inst *i) {
    for (unsigned k = 0; k < 3; k++) {
        Operand o = *ir_src(combine->f, i, k);
        const Inst *d = inner(combine, o, OT_IADD3);
        if (!d || !plain_sum(combine, d))
            continue;
        Sum s = {0};
        add_terms(combine, &s, i, k, 0);
        add_terms(combine, &s, d, 3, o.mods & OPM_NEG);
        if (put_sum(combine, at, &s))
            return true;
    }
    return false;
}

/* x >> n, unsigned, with one more term: LEA.HI of x << 32 - n. */
static bool sum_of_high(Combine *combine, unsigned at, const Inst *shift, Operand other) {
    const uint32_t right = MSET(SHF, type, ShfType_U32) | MSET(SHF, dir, ShfDir_R) | MSET(SHF, hi, 1);
    Operand n = *ir_src(combine->f, shift, SHF_rb), x = *ir_src(combine->f, shift, SHF_rc);
    if (shift->mods != right || n.kind != OPK_IMM || n.mods || !n.value || n.value > 31 || !opt_scalar(x) ||
        x.mods || other.mods)
        return false;
    Operand src[5] = {x, other, op_rz(), op_imm(32 - n.value), op_with(op_pt(), OPM_NOT)};
    return replace_inst(combine, at, OT_LEA, MSET(LEA, hi, 1), 5, src);
}

/* x << n, or x * y: with one more term an LEA, or an IMAD. */
static bool sum_of_product(Combine *combine, unsigned at, const Inst *i) {
    for (unsigned k = 0; k < 3; k++) {
        Operand o = *ir_src(combine->f, i, k), pf = op_with(op_pt(), OPM_NOT);
        const Inst *shl = inner(combine, o, OT_SHF), *mul = inner(combine, o, OT_IMAD);
        Sum s = {0};
        add_terms(combine, &s, i, k, 0);
        if ((o.mods & OPM_NEG) || s.n + (s.constant != 0) != 1)
            continue;
        Operand other = s.n ? s.term[0] : op_imm(s.constant);
        if (mul && !MGET(IMAD, x, mul->mods) && is_zero(*ir_src(combine->f, mul, 2))) {
            Operand src[4] = {*ir_src(combine->f, mul, 0), *ir_src(combine->f, mul, 1), other, pf};
            if (replace_inst(combine, at, OT_IMAD, mul->mods, 4, src))
                return true;
        }
        if (shl && sum_of_high(combine, at, shl, other))
            return true;
        if (!shl || shl->mods != (MSET(SHF, type, ShfType_U32) | MSET(SHF, dir, ShfDir_L)))
            continue;
        Operand x = *ir_src(combine->f, shl, 0), n = *ir_src(combine->f, shl, 1);
        if (opt_scalar(x) && !other.mods && is_zero(*ir_src(combine->f, shl, 2)) && n.kind == OPK_IMM &&
            n.value < 32) {
            Operand src[5] = {x, other, op_rz(), n, pf};
            if (replace_inst(combine, at, OT_LEA, 0, 5, src))
                return true;
        }
    }
    return false;
}

/* x >> 8 n & 0xff: byte n of x. */
static bool byte_of_word(Combine *combine, unsigned at, const Inst *i) {
    Operand mask = *ir_src(combine->f, i, LOP3_rb);
    if (MGET(LOP3, lut, i->mods) != LUT_AND || MGET(LOP3, pand, i->mods) || mask.kind != OPK_IMM ||
        mask.value != 0xff || mask.mods || !one_result(combine, i))
        return false;
    Operand o = *ir_src(combine->f, i, LOP3_ra);
    const Inst *shift = o.mods ? NULL : inner(combine, o, OT_SHF);
    if (!shift || MGET(SHF, dir, shift->mods) != ShfDir_R || !MGET(SHF, hi, shift->mods) ||
        (MGET(SHF, type, shift->mods) != ShfType_S32 && MGET(SHF, type, shift->mods) != ShfType_U32) ||
        MGET(SHF, wrap, shift->mods))
        return false;
    Operand n = *ir_src(combine->f, shift, SHF_rb), x = *ir_src(combine->f, shift, SHF_rc);
    if (n.kind != OPK_IMM || n.mods || n.value % 8 || n.value > 24 || !opt_scalar(x) || x.mods)
        return false;
    Operand src[3] = {x, op_imm(0x4440 | n.value / 8), op_rz()};
    return replace_inst(combine, at, OT_PRMT, 0, 3, src);
}

typedef struct { /* a byte or a half of a register, as a number */
    Operand of;
    unsigned size, part; /* ISize, PartSel */
    bool sign;
} NumberPart;

static bool part_of_mask(const Inst *table, const Function *f, NumberPart *out) {
    Operand mask = *ir_src(f, table, LOP3_rb);
    out->of = *ir_src(f, table, LOP3_ra);
    out->size = mask.value == 0xff ? ISize_B8 : ISize_B16;
    return MGET(LOP3, lut, table->mods) == LUT_AND && !MGET(LOP3, pand, table->mods) &&
           mask.kind == OPK_IMM && !mask.mods && (mask.value == 0xff || mask.value == 0xffff);
}

/* As byte_of_word makes it. */
static bool part_of_bytes(const Inst *bytes, const Function *f, NumberPart *out) {
    Operand select = *ir_src(f, bytes, PRMT_rb);
    out->of = *ir_src(f, bytes, PRMT_ra);
    out->size = ISize_B8;
    out->part = PartSel_B0 + (select.value & 3);
    return select.kind == OPK_IMM && (select.value & ~3u) == 0x4440 && !bytes->mods &&
           is_zero(*ir_src(f, bytes, PRMT_rc));
}

/* The highest byte or half. */
static bool part_of_shift(const Inst *shift, const Function *f, NumberPart *out) {
    Operand n = *ir_src(f, shift, SHF_rb);
    unsigned type = MGET(SHF, type, shift->mods);
    out->of = *ir_src(f, shift, SHF_rc);
    out->size = n.value == 24 ? ISize_B8 : ISize_B16;
    out->part = n.value == 24 ? PartSel_B3 : PartSel_H1;
    out->sign = type == ShfType_S32;
    return MGET(SHF, dir, shift->mods) == ShfDir_R && MGET(SHF, hi, shift->mods) &&
           (type == ShfType_S32 || type == ShfType_U32) && !MGET(SHF, wrap, shift->mods) &&
           n.kind == OPK_IMM && !n.mods && (n.value == 24 || n.value == 16);
}

/* I2F of a number that is part of a word, and so has its sign. */
static bool number_of_part(Combine *combine, unsigned at, const Inst *i) {
    if (i->op != OT_I2F || MGET(I2F, src, i->mods) != ISize_B32 || MGET(I2F, dst, i->mods) != FSize_F32 ||
        !one_result(combine, i))
        return false;
    static const struct {
        unsigned op;
        bool (*part)(const Inst *inst, const Function *f, NumberPart *out);
    } forms[] = {{OT_LOP3, part_of_mask}, {OT_PRMT, part_of_bytes}, {OT_SHF, part_of_shift}};
    Operand o = *ir_src(combine->f, i, I2F_rb);
    for (unsigned k = 0; k < sizeof forms / sizeof *forms; k++) {
        NumberPart part = {.part = PartSel_B0};
        const Inst *inst = o.mods ? NULL : inner(combine, o, forms[k].op);
        if (!inst || !forms[k].part(inst, combine->f, &part) || !opt_scalar(part.of) || part.of.mods ||
            (part.sign && MGET(I2F, sign, i->mods) != CvtSign_S))
            continue;
        uint32_t mods = MSET(I2F, sign, part.sign ? CvtSign_S : CvtSign_U) | MSET(I2F, dst, FSize_F32) |
                        MSET(I2F, rnd, MGET(I2F, rnd, i->mods)) | MSET(I2F, src, part.size) |
                        MSET(I2F, part, part.part);
        return replace_inst(combine, at, OT_I2F, mods, 1, &part.of);
    }
    return false;
}

/* ---- addresses ---- */

typedef struct { /* low and high word of (high:low) << shift; sx32: high is low's sign */
    Operand low, high;
    uint32_t shift;
    bool sx32;
} Shifted;

static const Inst *plain_def(const Combine *combine, Operand o, unsigned op) {
    const Function *f = combine->f;
    uint32_t v = opt_scalar(o);
    if (!v || o.mods || f->values.at[v].fixed_reg >= 0 || !f->values.at[v].def.i)
        return NULL;
    const Inst *i = &f->insts.at[f->values.at[v].def.i];
    return i->op == op && op_is_always(i->guard) && !(i->flags & IF_TIED) ? i : NULL;
}

static bool is_register(const Combine *combine, Operand o) {
    return opt_scalar(o) && !o.mods && can_move(combine, o);
}

/* Are these the words of a shifted number? */
static bool shifted_words(const Combine *combine, Operand low, Operand high, Shifted *out) {
    Function *f = combine->f;
    const Inst *wide = plain_def(combine, low, OT_IMAD_WIDE), *shl = plain_def(combine, low, OT_SHF),
               *top = plain_def(combine, high, OT_SHF);
    if (wide) {
        Operand rd = *ir_dst(f, wide, 0), by = *ir_src(f, wide, IMAD_WIDE_rb);
        if (rd.count != 2 || ir_operand_value(f, rd, 0).i != low.value ||
            ir_operand_value(f, rd, 1).i != opt_scalar(high) || high.mods || MGET(IMAD_WIDE, x, wide->mods) ||
            !is_zero(*ir_src(f, wide, IMAD_WIDE_rc)) || by.kind != OPK_IMM || by.mods || !by.value ||
            (by.value & (by.value - 1)) || by.value >> 31)
            return false;
        *out = (Shifted){*ir_src(f, wide, IMAD_WIDE_ra), op_rz(), (uint32_t)__builtin_ctz(by.value),
                         MGET(IMAD_WIDE, sign, wide->mods) == ISign_S32};
        return is_register(combine, out->low);
    }
    if (!shl || !top || shl->mods != (MSET(SHF, type, ShfType_U32) | MSET(SHF, dir, ShfDir_L)) ||
        top->mods != (MSET(SHF, type, ShfType_U64) | MSET(SHF, dir, ShfDir_L) | MSET(SHF, hi, 1)))
        return false;
    Operand n = *ir_src(f, shl, SHF_rb), m = *ir_src(f, top, SHF_rb), x = *ir_src(f, top, SHF_ra);
    *out = (Shifted){*ir_src(f, shl, SHF_ra), *ir_src(f, top, SHF_rc), n.value, false};
    return n.kind == OPK_IMM && m.kind == OPK_IMM && n.value == m.value && n.value < 32 &&
           is_zero(*ir_src(f, shl, SHF_rc)) && is_register(combine, out->low) && opt_scalar(x) && !x.mods &&
           x.value == out->low.value && (is_zero(out->high) || is_register(combine, out->high));
}

/* The two operands of a sum of two; false if there are three, or the sign of one is changed. */
static bool two_terms(const Combine *combine, const Inst *i, Operand term[2]) {
    unsigned n = 0;
    for (unsigned k = 0; k < 3; k++) {
        Operand o = *ir_src(combine->f, i, k);
        if (is_zero(o))
            continue;
        if (n == 2 || o.mods)
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
    const Inst *first = plain_def(combine, carry, OT_IADD3);
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
    const Inst *wide = plain_def(combine, low, OT_IMAD_WIDE), *sign;
    Shifted x;
    if (wide) {
        Operand rd = *ir_dst(f, wide, 0);
        *out = (Product){*ir_src(f, wide, IMAD_WIDE_ra), *ir_src(f, wide, IMAD_WIDE_rb), wide->mods};
        return rd.count == 2 && ir_operand_value(f, rd, 0).i == low.value && !high.mods &&
               ir_operand_value(f, rd, 1).i == opt_scalar(high) && !MGET(IMAD_WIDE, x, wide->mods) &&
               is_zero(*ir_src(f, wide, IMAD_WIDE_rc)) && is_register(combine, out->a) && !out->b.mods &&
               can_move(combine, out->b);
    }
    if (!shifted_words(combine, low, high, &x))
        return false;
    *out = (Product){x.low, op_imm(1u << x.shift), MSET(IMAD_WIDE, sign, ISign_U32)};
    if (is_zero(x.high))
        return true;
    out->mods = MSET(IMAD_WIDE, sign, ISign_S32);
    sign = plain_def(combine, x.high, OT_SHF);
    return x.shift < 31 && sign && sign->mods == SHIFT_SIGN && ir_src(f, sign, SHF_rb)->value == 31 &&
           ir_src(f, sign, SHF_rb)->kind == OPK_IMM && !ir_src(f, sign, SHF_rc)->mods &&
           opt_scalar(*ir_src(f, sign, SHF_rc)) == x.low.value;
}

/* Two words as one operand; OPK_NONE if they are none. */
static Operand pair_of(const Combine *combine, Operand low, Operand high) {
    if (low.kind == OPK_CMEM && high.kind == OPK_CMEM && op_cmem_offset(low) % 8 == 0 &&
        high.value == op_cmem(op_cmem_bank(low), op_cmem_offset(low) + 4).value)
        return low;
    if (!is_register(combine, low) || !is_register(combine, high) || low.value == high.value)
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
    return v && one_result(combine, i) && combine->uses[v] && combine->f->values.at[v].fixed_reg < 0 &&
           is_zero(*ir_src(combine->f, i, IMAD_rc)) && is_no_carry(*ir_src(combine->f, i, IMAD_pp)) &&
           can_move(combine, *ir_src(combine->f, i, IMAD_ra)) &&
           can_move(combine, *ir_src(combine->f, i, IMAD_rb));
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

/* ---- tables ---- */

typedef struct {
    Operand in[6]; /* inputs, all different */
    unsigned n;
} Inputs;
enum { IN_FALSE = 14, IN_TRUE = 15 };

/* The number of an input, added if new; constants of all zeros or ones are none. */
static unsigned input(Inputs *inputs, Operand o) {
    if (is_zero(o))
        return IN_FALSE;
    if (o.kind == OPK_IMM && o.value == UINT32_MAX)
        return IN_TRUE;
    for (unsigned k = 0; k < inputs->n; k++)
        if (inputs->in[k].kind == o.kind && inputs->in[k].value == o.value)
            return k;
    inputs->in[inputs->n] = o;
    return inputs->n++;
}

static unsigned bit_of(unsigned in, unsigned assignment) {
    return in == IN_TRUE ? 1 : in == IN_FALSE ? 0 : assignment >> in & 1;
}

static bool plain_table(const Combine *combine, const Inst *i) {
    bool plain = i->op == OT_LOP3 && !MGET(LOP3, pand, i->mods) && one_result(combine, i);
    for (unsigned k = 0; plain && k < 3; k++)
        plain = !ir_src(combine->f, i, k)->mods;
    return plain;
}

/* Table bit: LUT input a is bit 2 of its index, c bit 0. */
static unsigned look_up(unsigned lut, const unsigned in[3], unsigned assignment) {
    return lut >>
               (bit_of(in[0], assignment) << 2 | bit_of(in[1], assignment) << 1 | bit_of(in[2], assignment)) &
           1;
}

static bool put_table(Combine *c, unsigned at, const Inputs *inputs, const uint8_t value[8]) {
    unsigned slot[3] = {0, 1, 2}, others = 0, lut = 0; /* slot of each input */
    for (unsigned k = 0; k < inputs->n; k++)
        if (inputs->in[k].kind != OPK_VAL)
            others++, slot[k] = 1, slot[1] = k; /* its place is rb */
    if (others > 1)
        return false;
    Operand src[4] = {op_rz(), op_rz(), op_rz(), op_with(op_pt(), OPM_NOT)};
    for (unsigned k = 0; k < inputs->n; k++)
        src[slot[k]] = inputs->in[k];
    for (unsigned x = 0; x < 8; x++) /* x: index into the table to be made */
        lut |= (unsigned)value[(x >> (2 - slot[0]) & 1) | (x >> (2 - slot[1]) & 1) << 1 |
                               (x >> (2 - slot[2]) & 1) << 2]
               << x;
    return replace_inst(c, at, OT_LOP3, MSET(LOP3, lut, lut), 4, src);
}

static bool table_of_table(Combine *combine, unsigned at, const Inst *i) {
    for (unsigned k = 0; k < 3; k++) {
        const Inst *inst = inner(combine, *ir_src(combine->f, i, k), OT_LOP3);
        if (!inst || !plain_table(combine, inst))
            continue;
        Inputs s = {0};
        unsigned out[3] = {0}, in[3];
        uint8_t value[8];
        for (unsigned n = 0; n < 3; n++)
            in[n] = input(&s, *ir_src(combine->f, inst, n));
        for (unsigned n = 0; n < 3; n++)
            if (n != k)
                out[n] = input(&s, *ir_src(combine->f, i, n));
        if (s.n > 3)
            continue;
        for (unsigned x = 0; x < 8; x++) {
            out[k] = look_up(MGET(LOP3, lut, inst->mods), in, x) ? IN_TRUE : IN_FALSE;
            value[x] = (uint8_t)look_up(MGET(LOP3, lut, i->mods), out, x);
        }
        if (put_table(combine, at, &s, value))
            return true;
    }
    return false;
}

/* Some bits of an input do not count beside a mask that is a number, and an AND takes away no others: the
 * input is what the AND is of. */
static bool table_of_masked(Combine *combine, unsigned at, const Inst *i) {
    unsigned lut = MGET(LOP3, lut, i->mods);
    Operand by = *ir_src(combine->f, i, LOP3_rb);
    if (by.kind != OPK_IMM)
        return false;
    for (unsigned k = LOP3_ra; k <= LOP3_rc; k += LOP3_rc - LOP3_ra) {
        const Inst *masks = inner(combine, *ir_src(combine->f, i, k), OT_LOP3);
        Operand with = masks ? *ir_src(combine->f, masks, LOP3_rb) : by;
        unsigned step = 4 >> k; /* between indices of the table that differ in this input alone */
        uint32_t count = 0;     /* bits of the input that count */
        if (!masks || !plain_table(combine, masks) || MGET(LOP3, lut, masks->mods) != LUT_AND ||
            with.kind != OPK_IMM || !opt_scalar(*ir_src(combine->f, masks, LOP3_ra)))
            continue;
        for (unsigned x = 0; x < 8; x++)
            if (!(x & step) && (lut >> x & 1) != (lut >> (x + step) & 1))
                count |= x & 2 ? by.value : ~by.value;
        Operand src[4] = {*ir_src(combine->f, i, 0), by, *ir_src(combine->f, i, 2),
                          op_with(op_pt(), OPM_NOT)};
        src[k] = *ir_src(combine->f, masks, LOP3_ra);
        LocId first = masks->loc;
        if (!(count & ~with.value) && replace_inst(combine, at, OT_LOP3, i->mods, 4, src)) {
            takes_place(combine, at, first);
            return true;
        }
    }
    return false;
}

/* ---- shifts ---- */

/* x << n; x >> n, unsigned; neither of a pair of words. */
static bool plain_shift(const Combine *combine, const Inst *i, unsigned dir, Operand *x) {
    uint32_t mods = MSET(SHF, type, ShfType_U32) | MSET(SHF, dir, dir) | MSET(SHF, hi, dir == ShfDir_R);
    *x = *ir_src(combine->f, i, dir == ShfDir_R ? SHF_rc : SHF_ra);
    return i->op == OT_SHF && i->mods == mods && one_result(combine, i) && opt_scalar(*x) && !x->mods &&
           is_zero(*ir_src(combine->f, i, dir == ShfDir_R ? SHF_ra : SHF_rc));
}

/* x << n | y >> 32 - n: the high word of x:y << n. Their bits are never both set, so "or" may be "exclusive
 * or".
 */
static bool table_of_shifts(Combine *combine, unsigned at, const Inst *i) {
    unsigned lut = MGET(LOP3, lut, i->mods);
    if ((lut != LUT_OR && lut != LUT_XOR) || !is_zero(*ir_src(combine->f, i, LOP3_rc)))
        return false;
    for (unsigned k = 0; k < 2; k++) {
        const Inst *left = inner(combine, *ir_src(combine->f, i, k), OT_SHF),
                   *right = inner(combine, *ir_src(combine->f, i, 1 - k), OT_SHF);
        Operand x, y;
        if (!left || !right || !plain_shift(combine, left, ShfDir_L, &x) ||
            !plain_shift(combine, right, ShfDir_R, &y))
            continue;
        Operand n = *ir_src(combine->f, left, SHF_rb), m = *ir_src(combine->f, right, SHF_rb);
        if (n.kind != OPK_IMM || m.kind != OPK_IMM || !n.value || n.value > 31 || n.value + m.value != 32)
            continue;
        uint32_t mods = MSET(SHF, type, ShfType_U32) | MSET(SHF, dir, ShfDir_L) | MSET(SHF, hi, 1);
        LocId first[2] = {left->loc, right->loc};
        if (replace_inst(combine, at, OT_SHF, mods, 3, (Operand[]){y, n, x})) {
            takes_place(combine, at, first[0]);
            takes_place(combine, at, first[1]);
            return true;
        }
    }
    return false;
}

/* x << (n & 31): of a number modulo 32. The mask may have other uses. */
static bool shift_modulo(Combine *combine, unsigned at, const Inst *i) {
    Operand n = *ir_src(combine->f, i, SHF_rb), x;
    const Inst *masks = plain_def(combine, n, OT_LOP3);
    if (!masks || !plain_table(combine, masks) || MGET(LOP3, lut, masks->mods) != LUT_AND ||
        (!plain_shift(combine, i, ShfDir_L, &x) && !plain_shift(combine, i, ShfDir_R, &x)))
        return false;
    Operand with = *ir_src(combine->f, masks, LOP3_rb),
            src[3] = {*ir_src(combine->f, i, SHF_ra), *ir_src(combine->f, masks, LOP3_ra),
                      *ir_src(combine->f, i, SHF_rc)};
    LocId first = masks->loc;
    bool here = ir_value(combine->f, (ValId){n.value})->block.i == combine->block.i;
    if (with.kind != OPK_IMM || with.value != 31 || !is_register(combine, src[1]) ||
        !replace_inst(combine, at, OT_SHF, i->mods | MSET(SHF, wrap, 1), 3, src))
        return false;
    if (here)
        takes_place(combine, at, first);
    return true;
}

/* ---- the pass ---- */

static void find_copy(Combine *combine, const Inst *i) {
    if (plain_sum(combine, i)) {
        Sum s = {0};
        add_terms(combine, &s, i, 3, 0);
        if (s.n == 1 && !s.constant)
            same_as(combine, i, s.term[0]);
    } else if (plain_table(combine, i)) {
        Inputs s = {0};
        unsigned in[3];
        for (unsigned n = 0; n < 3; n++)
            in[n] = input(&s, *ir_src(combine->f, i, n));
        if (s.n == 1 && look_up(MGET(LOP3, lut, i->mods), in, 1) && !look_up(MGET(LOP3, lut, i->mods), in, 0))
            same_as(combine, i, s.in[0]);
    }
}

bool pass_combine(Function *f, Diags *d) {
    (void)d;
    if (f->blocks.n <= 1)
        return true;
    ir_renumber(f); /* Value.def and .block */
    Combine c = {.f = f};
    c.uses = ARENA_ARRAY(&c.a, uint32_t, f->values.n);
    c.repl = ARENA_ARRAY(&c.a, uint32_t, f->values.n);
    count_uses(&c);
    FOR_BLOCKS(f, b) {
        c.block = b;
        for (unsigned p = 0; p < ir_block(f, c.block)->insts.n; p++) {
            const Inst *i = ir_inst(f, ir_block(f, c.block)->insts.at[p]);
            WideSum sum;
            if (plain_sum(&c, i))
                (void)(sum_of_sum(&c, p, i) || sum_of_product(&c, p, i));
            else if (plain_table(&c, i))
                (void)(byte_of_word(&c, p, i) || table_of_shifts(&c, p, i) || table_of_table(&c, p, i) ||
                       table_of_masked(&c, p, i));
            else if (i->op == OT_SHF)
                (void)shift_modulo(&c, p, i);
            else if (number_of_part(&c, p, i) || both_words(&c, &p))
                continue;
            else if (wide_sum(&c, i, &sum)) {
                if (product_term(&c, p, &sum))
                    p--;
                else
                    (void)shifted_term(&c, &sum);
            }
            find_copy(&c, ir_inst(f, ir_block(f, c.block)->insts.at[p]));
        }
    }
    opt_rename(f, c.repl);
    arena_free(&c.a);
    return true;
}
