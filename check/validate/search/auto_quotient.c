/* Quotients by numbers that the host has prepared: a product's high word with a multiplier, shifted by a
 * count, both of them parameters (CUTLASS, CuTe, PyTorch, ggml). Any other numbers give quotients that lead
 * out of every buffer, so both follow from the divisor. Three ways are common; x is divided, m the
 * multiplier, t = mul.hi(x, m):
 *   t >> s                              2^p / d rounded up, p = 31 + log2 d, s = p - 32; of d = 1: 0
 *   (t + x) >> s                        m = 2^32 (2^s - d) / d + 1, s = log2 d
 *   (((x - t) >> s0) + t) >> s          the same m; s0 = 1, s = log2 d - 1, of d = 1 both 0
 * with log2 rounded up. A divisor is what the quotient is multiplied by, for the remainder; where nobody asks
 * for that it is small. Operations are asked for by name: which of them stands where in these three ways, and
 * which leaves a quotient what it is, nothing else wants to know. SPDX-License-Identifier: MIT */
#include "check/validate/search/auto_search.h"
#include "check/validate/search/auto_values.h"
#include <string.h>

/* The slot that the value is, + 1; 0: another value. */
static uint32_t only_slot(Val v) { return v.multiple && v.times == 1 && !v.tid ? v.multiple : 0; }

static const PtxInsn *writer_of(const PtxFunc *f, const PtxOperand *operand) {
    return operand->kind == PO_REG ? auto_only_writer(f, operand->reg) : NULL;
}

static AutoQuotient *quotient_of(Flow *flow, const PtxInsn *insn) {
    for (uint32_t i = 0; insn && i < flow->steps.n; i++)
        if (flow->steps.at[i].insn == insn)
            return &flow->out->quotients[flow->steps.at[i].quotient];
    return NULL;
}

static void add_step(Flow *flow, const PtxInsn *insn, const AutoQuotient *quotient) {
    enum { MOST_STEPS = 256 };
    if (flow->steps.n < MOST_STEPS && !quotient_of(flow, insn))
        VEC_ADD(flow->arena, &flow->steps,
                ((QuotientStep){insn, (uint32_t)(quotient - flow->out->quotients)}));
}

static bool is_high(const PtxInsn *in) {
    return in && in->op == PTX_MUL && in->sub == SUB_HI && in->type[0] == TY_U32;
}

/* The quotient that the operand holds, moved or chosen as it may be; NULL: it is none. */
static AutoQuotient *quotient_in(Flow *flow, const PtxFunc *f, const PtxOperand *operand) {
    enum { MOST_MOVES = 4 };
    for (unsigned n = 0; n < MOST_MOVES; n++) {
        const PtxInsn *writer = writer_of(f, operand);
        AutoQuotient *quotient = quotient_of(flow, writer);
        if (quotient && !is_high(writer))
            return quotient;
        if (!writer || (writer->op != PTX_MOV && writer->op != PTX_CVT && writer->op != PTX_SELP))
            return NULL;
        bool second = writer->op == PTX_SELP && quotient_of(flow, writer_of(f, &writer->operands[2]));
        operand = &writer->operands[second ? 2 : 1];
    }
    return NULL;
}

/* mul.lo and mad.lo of a quotient by a slot. */
static void find_divisor(Flow *flow, const PtxFunc *f, const PtxInsn *in, uint32_t slot, unsigned factor) {
    AutoQuotient *quotient = quotient_in(flow, f, &in->operands[in->ndst + factor]);
    if (!quotient || quotient->divisor || quotient->multiplier == slot)
        return;
    quotient->divisor = slot;
    auto_use(flow, auto_set_of(slot - 1), AU_DIVISOR, TY_NONE);
    flow->changed = true;
}

void auto_hint_multiplier(Flow *flow, uint32_t func, const PtxInsn *in, Val a, Val b) {
    AutoFlow *out = flow->out;
    const PtxFunc *f = &flow->m->funcs[func];
    uint32_t slot = only_slot(a) ? only_slot(a) : only_slot(b), n = 0;
    if (!slot || (only_slot(a) && only_slot(b)))
        return;
    if ((in->op == PTX_MUL || in->op == PTX_MAD) && in->sub == SUB_LO && flow->steps.n)
        find_divisor(flow, f, in, slot, only_slot(a) ? 1 : 0);
    if (!is_high(in) || quotient_of(flow, in))
        return;
    while (n < out->nquotients && out->quotients[n].multiplier != slot)
        n++;
    if (n == AUTO_MAX_QUOTIENTS)
        return;
    out->nquotients += n == out->nquotients;
    out->quotients[n].multiplier = slot;
    add_step(flow, in, &out->quotients[n]);
}

/* Does the operand hold what the product's first or second factor is? */
static bool is_factor(const PtxInsn *high, const PtxOperand *operand) {
    return operand->kind == PO_REG &&
           (high->operands[1].reg == operand->reg || high->operands[2].reg == operand->reg);
}

void auto_hint_shift(Flow *flow, uint32_t func, const PtxInsn *in, Val by) {
    const PtxFunc *f = &flow->m->funcs[func];
    uint32_t slot = only_slot(by);
    if (in->op != PTX_SHR || !slot || !flow->steps.n || quotient_of(flow, in))
        return;
    const PtxInsn *writer = writer_of(f, &in->operands[1]), *high = writer;
    AutoWay way = AUTO_WAY_HIGH;
    bool first = false;
    if (writer && writer->op == PTX_SUB) { /* x - t */
        high = writer_of(f, &writer->operands[2]);
        first = true;
    } else if (writer && writer->op == PTX_ADD) {
        bool second = is_high(writer_of(f, &writer->operands[2]));
        const PtxOperand *other = &writer->operands[second ? 1 : 2];
        high = writer_of(f, &writer->operands[second ? 2 : 1]);
        way = high && is_factor(high, other) ? AUTO_WAY_SUM : AUTO_WAY_HALF;
    }
    AutoQuotient *quotient = is_high(high) ? quotient_of(flow, high) : NULL;
    if (!quotient)
        return;
    if (first) {
        quotient->half = slot;
        return;
    }
    quotient->shift = slot;
    quotient->way = way;
    add_step(flow, in, quotient);
}

/* ---- numbers ---- */

static unsigned log2_up(uint32_t d) {
    unsigned bits = 0;
    while ((uint64_t)1 << bits < d)
        bits++;
    return bits;
}

bool auto_prepared(const AutoSearch *search, const AutoAttempt *attempt, uint32_t slot, uint64_t *value) {
    enum { SMALL_DIVISORS = 5 };
    for (uint32_t i = 0; i < search->flow.nquotients; i++) {
        const AutoQuotient *quotient = &search->flow.quotients[i];
        uint32_t multiplier = quotient->multiplier - 1;
        bool is_multiplier = slot == multiplier, is_half = slot + 1 == quotient->half;
        if (!quotient->way || (!is_multiplier && !is_half && slot + 1 != quotient->shift))
            continue;
        uint32_t d = quotient->divisor ? (uint32_t)attempt->value[quotient->divisor - 1]
                                       : 1 + (uint32_t)(attempt->value[multiplier] % SMALL_DIVISORS);
        d = d ? d : 1;
        unsigned bits = log2_up(d);
        if (quotient->way == AUTO_WAY_HIGH) {
            uint64_t power = (uint64_t)1 << (31 + bits);
            *value = d == 1 ? 0 : is_multiplier ? (power + d - 1) / d : bits - 1;
        } else if (is_multiplier)
            *value = (uint32_t)((((((uint64_t)1 << bits) - d) << 32) / d) + 1);
        else if (quotient->way == AUTO_WAY_SUM)
            *value = bits;
        else
            *value = is_half ? bits > 0 : bits > 0 ? bits - 1 : 0;
        return true;
    }
    return false;
}
