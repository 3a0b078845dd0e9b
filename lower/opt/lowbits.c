/* See lowbits.h. Forward over the blocks until nothing changes. A value begins as "nothing said yet", which a
 * phi passes over: so an address that a loop moves on by 16 keeps the low bits that it entered with. Each
 * round can only take knowledge away, at most LOW_BITS times of a value. It asks by name for the operations
 * that addresses are made of: how low bits go into a result is no column of the rows.
 * SPDX-License-Identifier: MIT */
#include "lower/opt/lowbits.h"
#include "ir/cfg.h"
#include "lower/opt/opt.h"

/* By the convention between objects a caller's stack pointer is a multiple of 8. */
enum { OPEN_STACK_BITS = 3 };

static const LowBits unknown = {true, 0, 0};

static LowBits of_run(unsigned n, unsigned bits) {
    unsigned mask = n < LOW_BITS ? (1u << n) - 1 : LOW_MASK;
    return (LowBits){true, (uint8_t)mask, (uint8_t)(bits & mask)};
}

static LowBits of_operand(const LowBits *low, Operand o) {
    if (o.mods & ~(unsigned)OPM_NEG)
        return unknown;
    LowBits is = unknown;
    if (opt_scalar(o) && o.file == RF_R)
        is = low[o.value];
    else if (o.kind == OPK_IMM)
        is = of_run(LOW_BITS, o.value);
    else if (o.kind == OPK_NONE || (o.kind == OPK_REG && o.file == RF_R && o.value == REG_RZ))
        is = of_run(LOW_BITS, 0);
    return o.mods & OPM_NEG && is.seen ? of_run(low_run(is), 0u - is.bits) : is;
}

static LowBits either(LowBits a, LowBits b) {
    if (!a.seen || !b.seen)
        return a.seen ? a : b;
    uint8_t known = (uint8_t)(a.known & b.known & ~(a.bits ^ b.bits));
    return (LowBits){true, known, a.bits & known};
}

static LowBits bits_of_sum(LowBits a, LowBits b) {
    if (!a.seen || !b.seen)
        return (LowBits){0};
    unsigned n = low_run(a), m = low_run(b);
    return of_run(n < m ? n : m, (unsigned)a.bits + b.bits);
}

static unsigned zeros(LowBits low) {
    unsigned n = 0;
    while (n < LOW_BITS && low.known >> n & 1 && !(low.bits >> n & 1))
        n++;
    return n;
}

/* (a + A 2^n)(b + B 2^m): what is not known of one counts from the other's zeros on. */
static LowBits bits_of_product(LowBits a, LowBits b) {
    if (!a.seen || !b.seen)
        return (LowBits){0};
    unsigned n = low_run(a) + zeros(b), m = low_run(b) + zeros(a);
    return of_run(n < m ? n : m, (unsigned)a.bits * b.bits);
}

/* x << n of a known n, below 32. */
static LowBits bits_of_shift(const LowBits *low, Operand x, Operand by) {
    LowBits is = of_operand(low, x);
    if (by.kind != OPK_IMM || by.mods || by.value > 31)
        return unknown;
    if (!is.seen)
        return is;
    return by.value >= LOW_BITS ? of_run(LOW_BITS, 0)
                                : of_run(low_run(is) + by.value, (unsigned)is.bits << by.value);
}

static LowBits logic(const LowBits *low, const Function *f, const Inst *i) {
    LowBits in[3], out = {true, 0, 0};
    for (unsigned n = 0; n < 3; n++) {
        Operand o = *ir_src(f, i, LOP3_ra + n);
        in[n] = o.mods ? unknown : of_operand(low, o);
        if (!in[n].seen)
            return in[n];
    }
    unsigned lut = MGET(LOP3, lut, i->mods);
    for (unsigned bit = 0; bit < LOW_BITS; bit++) {
        unsigned may_be = 0; /* bit 0, bit 1: the result may be 0, 1 */
        for (unsigned row = 0; row < 8; row++) {
            bool possible = true;
            for (unsigned n = 0; n < 3; n++)
                possible &= !(in[n].known >> bit & 1) || (in[n].bits >> bit & 1) == (row >> (2 - n) & 1);
            may_be |= possible ? 1u << (lut >> row & 1) : 0;
        }
        if (may_be != 3) {
            out.known = (uint8_t)(out.known | 1u << bit);
            out.bits = (uint8_t)(out.bits | (may_be >> 1) << bit);
        }
    }
    return out;
}

/* The frame begins at a multiple of 16, unless code of other compilers has called. */
static LowBits bits_in_frame(const Function *f, Operand offset) {
    bool is_known = f->is_entry || !f->module->relocatable;
    return of_run(is_known ? LOW_BITS : OPEN_STACK_BITS, offset.value);
}

/* Of the instruction's first result. */
static LowBits of_result(const LowBits *low, const Function *f, const Inst *i) {
    LowBits is = {0};
    if (!op_is_always(i->guard))
        return unknown;
    const Operand *src = ir_src(f, i, 0);
    switch ((unsigned)i->op) {
    case IR_PHI:
        FOR_SRCS(f, i, o)
            is = either(is, of_operand(low, *o));
        return is;
    case IR_FRAME_ADDR: return bits_in_frame(f, src[0]);
    case IR_COPY: return of_operand(low, src[0]);
    case OT_MOV: return of_operand(low, src[MOV_rb]);
    case OT_SEL: return either(of_operand(low, src[SEL_ra]), of_operand(low, src[SEL_rb]));
    case OT_LOP3: return MGET(LOP3, pand, i->mods) ? unknown : logic(low, f, i);
    case OT_SHF: /* the lower word of two that are shifted to the left does not depend on the upper one */
        return MGET(SHF, dir, i->mods) == ShfDir_L && !MGET(SHF, hi, i->mods)
                   ? bits_of_shift(low, src[SHF_ra], src[SHF_rb])
                   : unknown;
    case OT_LEA:
        return i->mods ? unknown
                       : bits_of_sum(bits_of_shift(low, src[LEA_ra], src[LEA_shift]),
                                     of_operand(low, src[LEA_rb]));
    case OT_IADD3:
        return MGET(IADD3, x, i->mods)
                   ? unknown
                   : bits_of_sum(bits_of_sum(of_operand(low, src[IADD3_ra]), of_operand(low, src[IADD3_rb])),
                                 of_operand(low, src[IADD3_rc]));
    case OT_IMAD:
        return MGET(IMAD, x, i->mods) ? unknown
                                      : bits_of_sum(bits_of_product(of_operand(low, src[IMAD_ra]),
                                                                    of_operand(low, src[IMAD_rb])),
                                                    of_operand(low, src[IMAD_rc]));
    default: return unknown;
    }
}

static bool learn(LowBits *low, const Function *f, const Inst *i) {
    bool changed = false;
    FOR_DSTS(f, i, o)
        for (unsigned c = 0; o->kind == OPK_VAL && c < o->count; c++) {
            LowBits *now = &low[ir_operand_value(f, *o, c).i],
                    is = AT(o) == 0 && o->count == 1 && o->file == RF_R ? of_result(low, f, i) : unknown;
            changed |= now->seen != is.seen || now->known != is.known;
            *now = is;
        }
    return changed;
}

LowBits *opt_low_bits(Arena *a, const Function *f) {
    LowBits *low = ARENA_ARRAY(a, LowBits, f->values.n);
    Graph graph = cfg_graph(a, f);
    GraphOrder order = graph_order(a, &graph, f->entry.i);
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t k = 0; k < order.count; k++) {
            BlockId b = {order.order[k]};
            if (b.i)
                FOR_INSTS(f, b, i)
                    changed |= learn(low, f, i);
        }
    }
    return low;
}
