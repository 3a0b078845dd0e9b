/* See forced.h. What a statement defines, not under a guard, has an interval, and lies perhaps in an interval
 * behind a special register: `tid + 255 - tid` is 255, `max(tid, 256) + 255 - tid` in a block of 1,024 from
 * 255 to 511. Both hold whenever the statement is executed, and so for
 * a register where no other definition reaches (reaching.h); memory and parameters have any value. Numbers
 * are those of the signed type; where a result leaves it nothing is known. Floating-point numbers are their
 * bits: `pow(x, 2.0)` asks whether 2.0 is whole and odd, and nobody has told the compiler's front end.
 * Operations are known by name: those by which compilers place a loop in a block; a column of intervals would
 * serve nothing else. SPDX-License-Identifier: MIT */
#include "check/validate/cover/forced.h"
#include "check/validate/cover/reaching.h"
#include "sim/interp/interp.h"
#include "sim/launch.h"

typedef struct {
    int64_t least, most;
    uint32_t base;  /* special register and component, + 1; 0: the interval is all that is known */
    int64_t lo, hi; /* ... and from this to that */
} Range;

typedef struct {
    const PtxFunc *f;
    Range *regs;     /* of those with one definition */
    Range *made;     /* by statement: what it gives a register that others define as well */
    uint8_t *writes; /* by register: definitions, 2 for more */
    Reaching *reaching;
    PtxConstants *constants;
    uint64_t *bits; /* by register: what interp_constant reads and gives */
} Ranges;

static Range any_of(unsigned bytes) {
    int64_t most = bytes >= 8 ? INT64_MAX : ((int64_t)1 << (8 * bytes - 1)) - 1;
    return (Range){.least = -most - 1, .most = most};
}

static Range exactly(int64_t value) { return (Range){.least = value, .most = value}; }

static bool is_exact(Range range) { return range.least == range.most; }

static uint64_t register_mask(const Ranges *ranges, uint32_t reg) {
    PtxType type = ranges->f->regs[reg].type;
    return ptx_type_class(type) == TC_PRED ? 1 : UINT64_MAX >> (64 - 8 * ptx_type_bytes(type));
}

/* The range, unless the type does not hold it. */
static Range fit(Range range, unsigned bytes) {
    Range all = any_of(bytes);
    return range.least < all.least || range.most > all.most ? all : range;
}

/* Sizes and numbers of a launch, of one thread: what PTX says of them. */
static Range of_special(const PtxFunc *f, unsigned sreg, unsigned axis) {
    enum { MOST_BLOCKS = INT32_MAX };
    int64_t threads = axis == 2 ? 64 : SIM_MAX_BLOCK_THREADS, size = f->reqntid[0] ? f->reqntid[axis] : 0;
    Range range = any_of(4);
    if (f->maxntid[0]) {
        int64_t all = (int64_t)f->maxntid[0] * (f->maxntid[1] ? f->maxntid[1] : 1) *
                      (f->maxntid[2] ? f->maxntid[2] : 1);
        threads = all < threads ? all : threads;
    }
    threads = size ? size : threads;
    switch (sreg) {
    case SR_TID: range = (Range){.least = 0, .most = threads - 1}; break;
    case SR_NTID: range = (Range){.least = size ? size : 1, .most = threads}; break;
    case SR_CTAID: range = (Range){.least = 0, .most = MOST_BLOCKS - 1}; break;
    case SR_NCTAID: range = (Range){.least = 1, .most = MOST_BLOCKS}; break;
    case SR_LANEID: range = (Range){.least = 0, .most = SIM_WARP_LANES - 1}; break;
    default: return range;
    }
    range.base = sreg * 4 + axis + 1;
    return range;
}

static Range of_base(const PtxFunc *f, uint32_t base) {
    return of_special(f, (base - 1) / 4, (base - 1) % 4);
}

/* Is all known of the register that this is? */
static bool one_definition(const Ranges *ranges, uint32_t reg, Range *range) {
    uint32_t by = ranges->writes[reg] == 1 ? 0 : coverage_definition(ranges->reaching, reg);
    if (ranges->writes[reg] != 1 && !by)
        return false;
    *range = by ? ranges->made[by - 1] : ranges->regs[reg];
    return true;
}

static Range range_of(const Ranges *ranges, const PtxOperand *operand, unsigned bytes) {
    if (operand->kind == PO_IMM && operand->imm_kind == IMM_INT)
        return exactly(bytes == 4 ? (int32_t)operand->imm : operand->imm);
    if (operand->kind == PO_SREG)
        return of_special(ranges->f, operand->sreg, operand->component < 3 ? operand->component : 0);
    Range range;
    if (operand->kind != PO_REG || operand->neg || operand->selector ||
        !one_definition(ranges, operand->reg, &range))
        return any_of(bytes);
    if (ptx_type_class(ranges->f->regs[operand->reg].type) == TC_PRED && (range.least < 0 || range.most > 1))
        range = (Range){.least = 0, .most = 1};
    return operand->not_ ? (Range){.least = !range.most, .most = !range.least} : fit(range, bytes);
}

static bool is_far(int64_t least, int64_t most) { return least < INT64_MIN / 4 || most > INT64_MAX / 4; }

static Range sum(Range a, Range b, unsigned bytes) {
    if (is_far(a.least, a.most) || is_far(b.least, b.most))
        return any_of(bytes);
    Range range = {.least = a.least + b.least, .most = a.most + b.most};
    if (!a.base != !b.base) {
        const Range *from = a.base ? &a : &b, *by = a.base ? &b : &a;
        range.base = is_far(from->lo, from->hi) ? 0 : from->base;
        range.lo = range.base ? from->lo + by->least : 0;
        range.hi = range.base ? from->hi + by->most : 0;
    }
    return fit(range, bytes);
}

static Range in_both(Range a, Range b) {
    a.least = a.least > b.least ? a.least : b.least;
    a.most = a.most < b.most ? a.most : b.most;
    return a;
}

static Range difference(Range a, Range b, unsigned bytes) {
    Range minus = {.least = -b.most, .most = b.least == INT64_MIN ? INT64_MAX : -b.least},
          range = sum(a, minus, bytes);
    if (!a.base || a.base != b.base || is_far(a.lo, a.hi) || is_far(b.lo, b.hi))
        return range;
    return in_both(range, (Range){.least = a.lo - b.hi, .most = a.hi - b.lo});
}

static Range range_times(Range a, Range b, unsigned bytes) {
    const int64_t far = INT32_MAX;
    if (a.least < 0 || b.least < 0 || a.most > far || b.most > far)
        return any_of(bytes);
    return fit((Range){.least = a.least * b.least, .most = a.most * b.most}, bytes);
}

/* Where a number lies behind the special register; all of them lie somewhere behind each. */
static void set_behind(const PtxFunc *f, uint32_t base, Range *range) {
    Range from = of_base(f, base);
    if (range->base == base || is_far(range->least, range->most))
        return;
    *range = (Range){range->least, range->most, base, range->least - from.most, range->most - from.least};
}

/* The larger or the smaller one. */
static Range chosen(const PtxFunc *f, bool larger, Range a, Range b) {
    if (larger ? a.least >= b.most : a.most <= b.least)
        return a;
    if (larger ? b.least >= a.most : b.most <= a.least)
        return b;
    if (a.base || b.base)
        set_behind(f, a.base ? a.base : b.base, a.base ? &b : &a);
    bool one = a.base == b.base;
    const Range *from = (a.least > b.least) == larger ? &a : &b, *to = (a.most > b.most) == larger ? &a : &b,
                *lo = (a.lo > b.lo) == larger ? &a : &b, *hi = (a.hi > b.hi) == larger ? &a : &b;
    return (Range){from->least, to->most, one ? a.base : 0, one ? lo->lo : 0, one ? hi->hi : 0};
}

static Range range_shifted(const PtxInsn *in, Range a, Range by, unsigned bytes) {
    if (!is_exact(by) || by.least < 0 || by.least >= 8 * (int64_t)bytes || a.least < 0)
        return any_of(bytes);
    if (in->op == PTX_SHR)
        return (Range){.least = a.least >> by.least, .most = a.most >> by.least};
    return by.least < 31 ? range_times(a, exactly((int64_t)1 << by.least), bytes) : any_of(bytes);
}

static Range masked(Range a, Range b, unsigned bytes) {
    int64_t mask = is_exact(b) ? b.least : a.least;
    if (is_exact(a) && is_exact(b))
        return exactly(a.least & b.least);
    if ((!is_exact(a) && !is_exact(b)) || mask < 0)
        return any_of(bytes);
    Range other = is_exact(b) ? a : b;
    if (!(mask & (mask + 1)) && other.least >= 0 && other.most <= mask)
        return other;
    return (Range){.least = 0, .most = mask};
}

/* -1: never, 1: always, 0: not known. */
static int compared(const PtxInsn *in, Range a, Range b) {
    if (ptx_type_class((PtxType)in->type[0]) == TC_UNSIGNED && (a.least < 0 || b.least < 0))
        return 0;
    if (a.base && a.base == b.base)
        a = (Range){.least = a.lo, .most = a.hi}, b = (Range){.least = b.lo, .most = b.hi};
    bool below = (a.most < b.least), above = (a.least > b.most);
    bool same = is_exact(a) && is_exact(b) && !below && !above;
    switch (in->cmp) {
    case CMP_EQ: return same ? 1 : below || above ? -1 : 0;
    case CMP_NE: return same ? -1 : below || above ? 1 : 0;
    case CMP_LT: return below ? 1 : a.least >= b.most ? -1 : 0;
    case CMP_GE: return below ? -1 : a.least >= b.most ? 1 : 0;
    case CMP_GT: return above ? 1 : a.most <= b.least ? -1 : 0;
    case CMP_LE: return above ? -1 : a.most <= b.least ? 1 : 0;
    default: return 0;
    }
}

static Range truth(int known) { return (Range){.least = known > 0, .most = known >= 0}; }

static Range logical(const PtxInsn *in, Range a, Range b) {
    if (in->op == PTX_AND)
        return (Range){.least = a.least && b.least, .most = a.most && b.most};
    if (in->op == PTX_OR)
        return (Range){.least = a.least || b.least, .most = a.most || b.most};
    return is_exact(a) && is_exact(b) ? exactly(a.least != b.least) : truth(0);
}

static Range converted(const PtxInsn *in, Range a) {
    unsigned bytes = ptx_type_bytes((PtxType)in->type[0]), from = ptx_type_bytes((PtxType)in->type[1]);
    if (ptx_type_class((PtxType)in->type[1]) == TC_UNSIGNED && a.least < 0)
        a = from < 8 ? (Range){.least = 0, .most = ((int64_t)1 << 8 * from) - 1} : any_of(8);
    return fit(a, bytes);
}

static Range divided(const PtxInsn *in, Range a, Range by, unsigned bytes) {
    if (a.least < 0 || !is_exact(by) || by.least <= 0)
        return any_of(bytes);
    return in->op == PTX_REM ? (Range){.least = 0, .most = a.most < by.least ? a.most : by.least - 1}
                             : (Range){.least = a.least / by.least, .most = a.most / by.least};
}

/* The value that a statement gives its only destination. */
static Range range_made(const Ranges *ranges, const PtxInsn *in) {
    PtxType type = (PtxType)in->type[0];
    PtxTypeClass class = ptx_type_class(type);
    const PtxOperand *source = &in->operands[in->ndst];
    unsigned n = in->noperands - in->ndst, bytes = class == TC_PRED ? 1 : ptx_type_bytes(type), wide = bytes;
    Range all = any_of(8); /* a register may be wider than the type */
    bool converts = in->op == PTX_CVT;
    if ((converts && bytes < 4) || class == TC_FLOAT || !bytes ||
        (converts && ptx_type_class((PtxType)in->type[1]) == TC_FLOAT) || !n)
        return all;
    if (converts)
        wide = ptx_type_bytes((PtxType)in->type[1]);
    Range a = range_of(ranges, &source[0], wide), b = n > 1 ? range_of(ranges, &source[1], bytes) : a;
    bool plain = class != TC_UNSIGNED || (a.least >= 0 && b.least >= 0);
    switch (in->op) {
    case PTX_MOV: return n == 1 ? a : all;
    case PTX_CVT: return n == 1 && in->ntypes == 2 ? converted(in, a) : all;
    case PTX_ADD: return n == 2 ? sum(a, b, bytes) : all;
    case PTX_SUB: return n == 2 ? difference(a, b, bytes) : all;
    case PTX_MAX: return n == 2 && plain ? chosen(ranges->f, true, a, b) : all;
    case PTX_MIN: return n == 2 && plain ? chosen(ranges->f, false, a, b) : all;
    case PTX_SHL:
    case PTX_SHR: return n == 2 ? range_shifted(in, a, range_of(ranges, &source[1], 4), bytes) : all;
    case PTX_DIV:
    case PTX_REM: return n == 2 ? divided(in, a, b, bytes) : all;
    case PTX_AND:
        if (class != TC_PRED)
            return n == 2 ? masked(a, b, bytes) : all;
        return logical(in, a, b);
    case PTX_OR:
    case PTX_XOR: return class == TC_PRED ? logical(in, a, b) : all;
    case PTX_NOT: return class == TC_PRED ? (Range){.least = !a.most, .most = !a.least} : all;
    case PTX_MUL: return in->sub == SUB_LO ? range_times(a, b, bytes) : all;
    case PTX_MAD:
        return in->sub == SUB_LO ? sum(range_times(a, b, bytes), range_of(ranges, &source[2], bytes), bytes)
                                 : all;
    case PTX_SETP: return n == 2 ? truth(compared(in, a, b)) : truth(0);
    default: return all;
    }
}

/* ---- statements of which every operand is known ---- */

/* Puts the bits of the registers that the operand names where interp_constant reads them. */
static bool reads_known(const Ranges *ranges, const PtxOperand *operand) {
    bool known = operand->kind == PO_IMM || operand->kind == PO_REG || operand->kind == PO_VEC;
    for (unsigned i = 0; known && operand->kind == PO_VEC && i < operand->nvec; i++)
        known = reads_known(ranges, &operand->vec[i]);
    if (operand->kind == PO_REG) {
        Range range;
        known = one_definition(ranges, operand->reg, &range) && is_exact(range);
        ranges->bits[operand->reg] = known ? (uint64_t)range.least & register_mask(ranges, operand->reg) : 0;
    }
    return known;
}

/* Floating-point arithmetic, conversions and what else has no interval here: the interpreter computes it. */
static bool make_known(const Ranges *ranges, const PtxInsn *in, Range *made) {
    uint32_t to = in->operands[0].reg;
    for (unsigned i = 1; i < in->noperands; i++)
        if (!reads_known(ranges, &in->operands[i]))
            return false;
    if (!interp_constant(ranges->constants, in, ranges->bits))
        return false;
    uint64_t mask = register_mask(ranges, to), bits = ranges->bits[to];
    bool below = mask > 1 && bits & (mask ^ mask >> 1);
    *made = exactly((int64_t)(below ? bits | ~mask : bits));
    return true;
}

static void count_writes(Ranges *ranges, const PtxOperand *operand, bool whole) {
    for (unsigned i = 0; operand->kind == PO_VEC && i < operand->nvec; i++)
        count_writes(ranges, &operand->vec[i], false);
    uint8_t *writes = operand->kind == PO_REG && operand->reg ? &ranges->writes[operand->reg] : NULL;
    if (writes)
        *writes = *writes || !whole ? 2 : 1;
}

/* What statement i, which has one destination, a register, gives it. */
static void define(Ranges *ranges, uint32_t i, uint8_t *forced) {
    const PtxInsn *in = &ranges->f->insns[i];
    uint32_t to = in->operands[0].reg;
    Range known;
    ranges->made[i] = range_made(ranges, in);
    if (ptx_type_bytes(ranges->f->regs[to].type) <= 8 && make_known(ranges, in, &known)) {
        ranges->made[i] = known;
        *forced = FORCED_RESULT;
    }
    if (ranges->writes[to] == 1)
        ranges->regs[to] = ranges->made[i];
}

uint8_t *coverage_forced_branches(const PtxModule *module, const PtxFunc *func, Arena *arena) {
    Ranges ranges = {.f = func,
                     .regs = ARENA_ARRAY(arena, Range, func->nregs + 1),
                     .made = ARENA_ARRAY(arena, Range, func->ninsns + 1),
                     .writes = ARENA_ARRAY(arena, uint8_t, func->nregs + 1),
                     .constants = interp_constants(module, func, arena),
                     .bits = ARENA_ARRAY(arena, uint64_t, func->nregs + 1)};
    uint8_t *forced = ARENA_ARRAY(arena, uint8_t, func->ninsns + 1);
    for (uint32_t i = 0; i < func->ninsns; i++) {
        const PtxInsn *in = &func->insns[i];
        for (unsigned k = 0; k < in->ndst; k++)
            count_writes(&ranges, &in->operands[k], in->ndst == 1 && !in->guard_reg);
        for (unsigned k = 0; k < in->nrets; k++)
            count_writes(&ranges, &in->rets[k], false);
    }
    for (uint32_t i = 0; func->param_regs && i < func->nparams; i++)
        ranges.writes[func->param_regs[i]] = 2;
    /* a register that is read above its definition has any value there */
    for (uint32_t r = 1; r <= func->nregs; r++)
        ranges.regs[r] =
            ptx_type_class(func->regs[r].type) == TC_PRED
                ? truth(0)
                : any_of(ptx_type_bytes(func->regs[r].type) ? ptx_type_bytes(func->regs[r].type) : 8);
    for (uint32_t i = 0; i < func->ninsns; i++)
        ranges.made[i] = any_of(8);
    ranges.reaching = coverage_reaching(func, ranges.writes, arena);
    for (uint32_t i = 0; i < func->ninsns; i++) {
        const PtxInsn *in = &func->insns[i];
        const PtxOperand *to = &in->operands[0];
        Range guard;
        coverage_reach_insn(ranges.reaching, i);
        if (in->op == PTX_BRA && in->guard_reg && one_definition(&ranges, in->guard_reg, &guard) &&
            is_exact(guard))
            forced[i] = guard.least == !in->guard_not ? FORCED_TAKEN : FORCED_PASSED;
        if (in->ndst == 1 && to->kind == PO_REG)
            define(&ranges, i, &forced[i]);
    }
    return forced;
}
