/* Two operations in one: an instruction takes over what the only definition of one of its operands computes.
 *   IADD3 of IADD3          one sum of three; constants are added up
 *   IADD3 of SHF            LEA, LEA.HI
 *   IADD3 of IMAD           IMAD with an addend; taken away: of a number below zero, of SHF too
 *   LOP3 of LOP3            one table of three inputs
 *   LOP3 of SHF.R           PRMT, where it takes one byte
 *   LOP3 of SHF.L and SHF.R both words' bits of a shifted pair: SHF of the pair
 *   LOP3 of LOP3            one that masks only bits which do not count: without it
 *   SHF by a LOP3           SHF.W, which takes the number modulo 32 itself
 *   I2F of one of these     I2F of a byte or a half, where it takes that
 *   two words of one number  see combine_wide.c
 *   PRMT of a load          nothing, where the load has the sign already
 * A sum or a table of one operand is that operand. In: SSA. The inner instruction stands in the same block,
 * has no other use (so it is dead afterwards: dce), no guard and no second result. A form that no opcode
 * takes is not made. Operations are asked for by name: each pair is a rule of what the two compute.
 * SPDX-License-Identifier: MIT */
#include "isa/machine/luts.h"
#include "lower/opt/combine.h"
#include "lower/passes.h"

enum { SIGN_16 = 0x9910 /* of PRMT: the lower half with its sign */ };

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

bool opt_combine_is_zero(Operand o) {
    return o.kind == OPK_NONE || (o.kind == OPK_IMM && o.value == 0) ||
           (o.kind == OPK_REG && o.file == RF_R && o.value == REG_RZ);
}

bool opt_combine_can_move(const Combine *combine, Operand o) {
    if (o.kind == OPK_IMM || o.kind == OPK_CMEM || opt_combine_is_zero(o))
        return true;
    return opt_scalar(o) && o.file == RF_R && combine->f->values.at[o.value].fixed_reg < 0;
}

bool opt_combine_one_result(const Combine *combine, const Inst *i) {
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
    if (i->op != op || combine->f->values.at[v].block.i != combine->block.i ||
        !opt_combine_one_result(combine, i))
        return NULL;
    for (unsigned k = 0; k < 3; k++)
        if (!opt_combine_can_move(combine, *ir_src(combine->f, i, k)))
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

void opt_combine_same_as(Combine *combine, const Inst *i, Operand o) {
    uint32_t to = opt_scalar(*ir_dst(combine->f, i, 0));
    if (to && opt_scalar(o) && !o.mods && opt_combine_can_move(combine, o) &&
        combine->f->values.at[to].fixed_reg < 0) {
        combine->repl[to] = o.value;
        combine->uses[o.value] += combine->uses[to]; /* more than one use at least: it stays */
    }
}

const Inst *opt_combine_plain_def(const Combine *combine, Operand o, unsigned op) {
    const Function *f = combine->f;
    uint32_t v = opt_scalar(o);
    if (!v || o.mods || f->values.at[v].fixed_reg >= 0 || !f->values.at[v].def.i)
        return NULL;
    const Inst *i = &f->insts.at[f->values.at[v].def.i];
    return i->op == op && op_is_always(i->guard) && !(i->flags & IF_TIED) ? i : NULL;
}

bool opt_combine_is_register(const Combine *combine, Operand o) {
    return opt_scalar(o) && !o.mods && opt_combine_can_move(combine, o);
}

/* ---- sums ---- */

typedef struct {
    Operand term[8];
    unsigned n;
    uint32_t constant;
} Sum;

static bool plain_sum(const Combine *c, const Inst *i) {
    return i->op == OT_IADD3 && !i->mods && opt_combine_one_result(c, i);
}

static void add_terms(const Combine *combine, Sum *sum, const Inst *i, unsigned except, unsigned negate) {
    for (unsigned k = 0; k < 3; k++) {
        Operand o = *ir_src(combine->f, i, k);
        if (k == except || opt_combine_is_zero(o))
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

/* x << n with one more term: LEA. */
static bool sum_of_low(Combine *combine, unsigned at, const Inst *shift, Operand other) {
    Operand x = *ir_src(combine->f, shift, SHF_ra), n = *ir_src(combine->f, shift, SHF_rb);
    if (shift->mods != (MSET(SHF, type, ShfType_U32) | MSET(SHF, dir, ShfDir_L)) || !opt_scalar(x) ||
        other.mods || !opt_combine_is_zero(*ir_src(combine->f, shift, SHF_rc)) || n.kind != OPK_IMM ||
        n.value > 31)
        return false;
    Operand src[5] = {x, other, op_rz(), n, op_with(op_pt(), OPM_NOT)};
    return replace_inst(combine, at, OT_LEA, 0, 5, src);
}

/* other - (x << n), other - x * y, where one factor is a number: IMAD by what is as far below zero. */
static bool sum_less_product(Combine *combine, unsigned at, const Inst *shl, const Inst *mul, Operand other) {
    const Inst *i = mul ? mul : shl;
    Operand x = *ir_src(combine->f, i, 0), y = *ir_src(combine->f, i, 1);
    if (!mul && (shl->mods != (MSET(SHF, type, ShfType_U32) | MSET(SHF, dir, ShfDir_L)) || y.value > 31 ||
                 !opt_combine_is_zero(*ir_src(combine->f, shl, SHF_rc))))
        return false;
    if (y.kind != OPK_IMM || y.mods || !opt_scalar(x) || x.mods)
        return false;
    uint32_t times = mul ? y.value : 1u << y.value;
    Operand src[4] = {x, op_imm(0u - times), other, op_with(op_pt(), OPM_NOT)};
    return replace_inst(combine, at, OT_IMAD, mul ? mul->mods : 0, 4, src);
}

/* x << n, or x * y: with one more term an LEA, or an IMAD. */
static bool sum_of_product(Combine *combine, unsigned at, const Inst *i) {
    for (unsigned k = 0; k < 3; k++) {
        Operand o = *ir_src(combine->f, i, k), pf = op_with(op_pt(), OPM_NOT);
        const Inst *shl = inner(combine, o, OT_SHF), *mul = inner(combine, o, OT_IMAD);
        Sum s = {0};
        add_terms(combine, &s, i, k, 0);
        if (s.n + (s.constant != 0) != 1 ||
            (mul && (MGET(IMAD, x, mul->mods) || !opt_combine_is_zero(*ir_src(combine->f, mul, IMAD_rc)))))
            continue;
        Operand other = s.n ? s.term[0] : op_imm(s.constant);
        if (o.mods & OPM_NEG) {
            if ((mul || shl) && sum_less_product(combine, at, shl, mul, other))
                return true;
            continue;
        }
        if (mul) {
            Operand src[4] = {*ir_src(combine->f, mul, 0), *ir_src(combine->f, mul, 1), other, pf};
            if (replace_inst(combine, at, OT_IMAD, mul->mods, 4, src))
                return true;
        }
        if (shl && (sum_of_high(combine, at, shl, other) || sum_of_low(combine, at, shl, other)))
            return true;
    }
    return false;
}

/* x >> 8 n & 0xff: byte n of x. */
static bool byte_of_word(Combine *combine, unsigned at, const Inst *i) {
    Operand mask = *ir_src(combine->f, i, LOP3_rb);
    if (MGET(LOP3, lut, i->mods) != LUT_AND || MGET(LOP3, pand, i->mods) || mask.kind != OPK_IMM ||
        mask.value != 0xff || mask.mods || !opt_combine_one_result(combine, i))
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
           opt_combine_is_zero(*ir_src(f, bytes, PRMT_rc));
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
        !opt_combine_one_result(combine, i))
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

/* ---- tables ---- */

typedef struct {
    Operand in[6]; /* inputs, all different */
    unsigned n;
} Inputs;
enum { IN_FALSE = 14, IN_TRUE = 15 };

/* The number of an input, added if new; constants of all zeros or ones are none. */
static unsigned input(Inputs *inputs, Operand o) {
    if (opt_combine_is_zero(o))
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
    bool plain = i->op == OT_LOP3 && !MGET(LOP3, pand, i->mods) && opt_combine_one_result(combine, i);
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
    return i->op == OT_SHF && i->mods == mods && opt_combine_one_result(combine, i) && opt_scalar(*x) &&
           !x->mods && opt_combine_is_zero(*ir_src(combine->f, i, dir == ShfDir_R ? SHF_ra : SHF_rc));
}

/* x << n | y >> 32 - n: the high word of x:y << n. Their bits are never both set, so "or" may be "exclusive
 * or".
 */
static bool table_of_shifts(Combine *combine, unsigned at, const Inst *i) {
    unsigned lut = MGET(LOP3, lut, i->mods);
    if ((lut != LUT_OR && lut != LUT_XOR) || !opt_combine_is_zero(*ir_src(combine->f, i, LOP3_rc)))
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
    const Inst *masks = opt_combine_plain_def(combine, n, OT_LOP3);
    if (!masks || !plain_table(combine, masks) || MGET(LOP3, lut, masks->mods) != LUT_AND ||
        (!plain_shift(combine, i, ShfDir_L, &x) && !plain_shift(combine, i, ShfDir_R, &x)))
        return false;
    Operand with = *ir_src(combine->f, masks, LOP3_rb),
            src[3] = {*ir_src(combine->f, i, SHF_ra), *ir_src(combine->f, masks, LOP3_ra),
                      *ir_src(combine->f, i, SHF_rc)};
    LocId first = masks->loc;
    bool here = ir_value(combine->f, (ValId){n.value})->block.i == combine->block.i;
    if (with.kind != OPK_IMM || with.value != 31 || !opt_combine_is_register(combine, src[1]) ||
        !replace_inst(combine, at, OT_SHF, i->mods | MSET(SHF, wrap, 1), 3, src))
        return false;
    if (here)
        takes_place(combine, at, first);
    return true;
}

/* ---- the pass ---- */

/* What a load of 8 or 16 bits with their sign gives is extended already. Only in the load's own block: of a
 * register of 16 bits `heddle prove` knows the other half where it sees it made. */
static bool extends_load(const Combine *combine, const Inst *i) {
    const Function *f = combine->f;
    Operand by = i->op == OT_PRMT ? *ir_src(f, i, PRMT_rb) : (Operand){0};
    if (by.kind != OPK_IMM || by.value != SIGN_16 || MGET(PRMT, mode, i->mods) != PrmtMode_IDX)
        return false;
    uint32_t v = opt_scalar(*ir_src(f, i, PRMT_ra));
    if (!v || ir_src(f, i, PRMT_ra)->mods || !f->values.at[v].def.i ||
        f->values.at[v].block.i != combine->block.i)
        return false;
    const Inst *load = &f->insts.at[f->values.at[v].def.i];
    if (ir_is_pseudo(load->op) || isa_traits(load->op)->effects != ISA_EFFECT_READ ||
        isa_loaded_zeros(load->op, load->mods) || !op_is_always(load->guard) || load->flags & IF_TIED)
        return false;
    MachInst in = opt_mach(f, load);
    return isa_access_bytes(&in) < 4 && opt_combine_one_result(combine, i);
}

static void find_copy(Combine *combine, const Inst *i) {
    if (extends_load(combine, i))
        opt_combine_same_as(combine, i, *ir_src(combine->f, i, PRMT_ra));
    else if (plain_sum(combine, i)) {
        Sum s = {0};
        add_terms(combine, &s, i, 3, 0);
        if (s.n == 1 && !s.constant)
            opt_combine_same_as(combine, i, s.term[0]);
    } else if (plain_table(combine, i)) {
        Inputs s = {0};
        unsigned in[3];
        for (unsigned n = 0; n < 3; n++)
            in[n] = input(&s, *ir_src(combine->f, i, n));
        if (s.n == 1 && look_up(MGET(LOP3, lut, i->mods), in, 1) && !look_up(MGET(LOP3, lut, i->mods), in, 0))
            opt_combine_same_as(combine, i, s.in[0]);
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
            if (plain_sum(&c, i))
                (void)(sum_of_sum(&c, p, i) || sum_of_product(&c, p, i));
            else if (plain_table(&c, i))
                (void)(byte_of_word(&c, p, i) || table_of_shifts(&c, p, i) || table_of_table(&c, p, i) ||
                       table_of_masked(&c, p, i));
            else if (i->op == OT_SHF)
                (void)shift_modulo(&c, p, i);
            else if (!number_of_part(&c, p, i))
                opt_combine_wide(&c, &p);
            find_copy(&c, ir_inst(f, ir_block(f, c.block)->insts.at[p]));
        }
    }
    opt_rename(f, c.repl);
    arena_free(&c.a);
    return true;
}
