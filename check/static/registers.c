/* Uniform registers across divergence (R-17) and return addresses (R-20). Operations that move an address on
 * the way to RET it knows by name: those that compilers have there; what another one computes is unknown.
 * SPDX-License-Identifier: MIT */
#include "check/static/internal.h"
#include <string.h>

/* ---- R-17 ---- */

enum { UCELLS = 72, UP_FIRST = 64 };
typedef struct {
    uint64_t r;
    uint8_t p;
} Live; /* UR0.. and UP0.. */

static void uniform_operand(Live *live, Operand o) {
    if (o.kind != OPK_REG)
        return;
    for (unsigned k = 0; k < (o.count ? o.count : 1u); k++)
        if (o.file == RF_UR && o.value + k < NUM_UR)
            live->r |= (uint64_t)1 << (o.value + k);
        else if (o.file == RF_UP && o.value + k < REG_UPT)
            live->p |= (uint8_t)(1u << (o.value + k));
}

static void uniform_accesses(const MachInst *inst, Live *reads, Live *writes) {
    *reads = *writes = (Live){0};
    for (unsigned k = 0; k < inst->nsrc; k++)
        uniform_operand(reads, inst->src[k]);
    uniform_operand(reads, inst->guard);
    for (unsigned k = 0; k < inst->ndst; k++)
        uniform_operand(writes, inst->dst[k]);
}

/* Another group of lanes may run between this instruction and the next one of its group. */
static bool may_switch(const Checker *checker, uint32_t i) {
    switch (check_kind(checker, i)) {
    case BK_BRANCH:
    case BK_BRANCH_INDIRECT: return checker->divergent[i];
    case BK_BSYNC:
    case BK_YIELD:
    case BK_NANOSLEEP:
    case BK_WARPSYNC:
    case BK_CALL: return !checker->converged[i];
    case BK_EXIT: return checker->divergent[i] && !checker->converged[i];
    default: return false;
    }
}

/* Under which guard alone each cell is read next in its block; 0: any. */
typedef struct {
    uint8_t of[UCELLS];
} Guards;

enum { OF_UNIFORM = 16 }; /* numbers from here on are of uniform predicates, less 1 */
static uint8_t guard_number(const MachInst *inst) {
    Operand guard = inst->guard;
    if (guard.kind != OPK_REG || op_is_always(guard) || (guard.file != RF_P && guard.file != RF_UP))
        return 0;
    uint32_t first = guard.file == RF_UP ? OF_UNIFORM : 0, negated = (guard.mods & OPM_NOT) != 0;
    return (uint8_t)(1 + first + 2 * guard.value + negated);
}
static bool writes_guard(const Target *target, const MachInst *inst, uint8_t guard) {
    unsigned number = guard - 1u;
    return bin_writes_reg(target, inst, number < OF_UNIFORM ? RF_P : RF_UP, number % OF_UNIFORM / 2);
}

/* PLOP3 of constants and one uniform predicate: what its result is where that is `value`; -1: something else.
 */
static int of_uniform(const MachInst *inst, uint32_t up, bool value) {
    unsigned row = 0;
    for (unsigned k = PLOP3_pp; k <= PLOP3_pr; k++) {
        Operand o = inst->src[k];
        bool uniform = o.kind == OPK_REG && o.file == RF_UP && o.value == up;
        if (o.kind != OPK_REG || (!uniform && o.value != (o.file == RF_UP ? REG_UPT : REG_PT)))
            return -1;
        row = row << 1 | ((uniform ? value : true) != ((o.mods & OPM_NOT) != 0));
    }
    return MGET(PLOP3, lut, inst->mods) >> row & 1;
}

/* Is the uniform guard of instruction `i` that of a lane, too, which was copied from it in the block? ptxas
 * loads under the one and moves the result under the other. */
static bool is_copied_guard(const BinFlow *flow, uint32_t i, uint8_t guard) {
    const MachInst *inst = &flow->insts[i];
    Operand up = inst->guard;
    uint32_t first = flow->blocks[flow->block_of[i]].first, lane = (guard - 1u) / 2, at = i;
    if (!guard || guard > OF_UNIFORM || up.kind != OPK_REG || up.file != RF_UP || up.value == REG_UPT)
        return false;
    while (at-- > first) {
        const MachInst *copy = &flow->insts[at];
        if (!flow->decoded[at] || bin_writes_reg(flow->bin->target, copy, RF_UP, up.value))
            return false;
        if (!bin_writes_reg(flow->bin->target, copy, RF_P, lane))
            continue;
        bool negated = (guard - 1u) % 2 != ((up.mods & OPM_NOT) != 0);
        return copy->optype == OT_PLOP3 && op_is_always(copy->guard) && copy->dst[0].value == lane &&
               of_uniform(copy, up.value, true) == !negated && of_uniform(copy, up.value, false) == negated;
    }
    return false;
}

/* A write under the guard under which alone a cell is read ends its life, as one without a guard does. */
static void live_before(Live *live, Guards *guards, const BinFlow *flow, uint32_t i) {
    const Target *target = flow->bin->target;
    const MachInst *inst = &flow->insts[i];
    Live reads, writes;
    uint8_t guard = guard_number(inst);
    uniform_accesses(inst, &reads, &writes);
    for (unsigned cell = 0; cell < UCELLS; cell++) {
        bool predicate = cell >= UP_FIRST;
        uint64_t r = predicate ? 0 : (uint64_t)1 << cell;
        uint8_t p = (uint8_t)(predicate ? 1u << (cell - UP_FIRST) : 0), of = guards->of[cell];
        if (of && writes_guard(target, inst, of))
            guards->of[cell] = of = 0;
        if (((writes.r & r) || (writes.p & p)) &&
            (op_is_always(inst->guard) || (guard && (guard == of || is_copied_guard(flow, i, of))))) {
            live->r &= ~r;
            live->p &= (uint8_t)~p;
        }
        if ((reads.r & r) || (reads.p & p)) {
            bool lives = (live->r & r) || (live->p & p);
            guards->of[cell] = !lives || of == guard ? guard : 0;
        }
    }
    live->r |= reads.r;
    live->p |= reads.p;
}

/* Native code. A group that waits, or goes one way at a branch, loses a register only to lanes on another way
 * that write it before the ways meet. */
typedef struct {
    Checker *c;
    const Proc *proc;
    const Live *in;               /* [block] of the function */
    const Live *writes, *exposed; /* [block] what it writes; what it reads that it has not written before */
    const uint32_t *way_at;       /* [block] where its ways begin, one for each of its successors */
    Live *way;                    /* what is written on a way until the ways meet */
    bool *way_known;
    uint32_t base, nblocks;
    Bitset mine, other;
} Ways;

/* Blocks that `from` leads to, without `join`. */
static void one_way(Ways *ways, uint32_t from, uint32_t join, Bitset *out) {
    const BinFlow *flow = ways->c->flow;
    ArenaMark mark = arena_mark(&ways->c->a);
    uint32_t *stack = ARENA_ARRAY(&ways->c->a, uint32_t, ways->nblocks + 1u), n = 0;
    bs_clear(out);
    if (from != join) {
        bs_add(out, from - ways->base);
        stack[n++] = from;
    }
    while (n) {
        const BinBlock *block = &flow->blocks[stack[--n]];
        for (uint32_t s = 0; s < block->nsuccs; s++) {
            uint32_t to = block->succs[s].block;
            if (to != join && !bs_has(out, to - ways->base)) {
                bs_add(out, to - ways->base);
                stack[n++] = to;
            }
        }
    }
    arena_release(&ways->c->a, mark);
}

static bool any_cell(Live cells) { return cells.r || cells.p; }

static Live both_cells(Live a, Live b) { return (Live){a.r & b.r, (uint8_t)(a.p & b.p)}; }
static void add_cells(Live *to, Live cells) {
    to->r |= cells.r;
    to->p |= cells.p;
}

/* What is written on the way that begins with successor `s` of the block. */
static Live way_writes(Ways *ways, uint32_t block, uint32_t s) {
    uint32_t at = ways->way_at[block - ways->base] + s;
    if (!ways->way_known[at]) {
        one_way(ways, ways->c->flow->blocks[block].succs[s].block, ways->c->ipdom[block], &ways->other);
        BS_EACH(b, &ways->other)
            add_cells(&ways->way[at], ways->writes[b]);
        ways->way_known[at] = true;
    }
    return ways->way[at];
}

/* The BSYNC of the block at which lanes wait that parted at the end of `branch`; NONE. */
static uint32_t sync_of(const Checker *checker, const BinBlock *branch, uint32_t block) {
    const BinFlow *flow = checker->flow;
    uint16_t pending = checker->pend[branch->first + branch->ninsts - 1];
    if (block != NONE)
        FOR_BIN_INSTS(&flow->blocks[block], i)
            if (flow->decoded[i] && bin_kind(&flow->insts[i]) == BK_BSYNC &&
                bin_guard(&flow->insts[i]) == BG_ALWAYS && (pending >> bin_barrier(&flow->insts[i]) & 1))
                return i;
    return NONE;
}

static bool reads_any(const BinFlow *flow, uint32_t from, uint32_t to, Live cells) {
    for (uint32_t i = from; i < to; i++) {
        Live reads, writes;
        uniform_accesses(&flow->insts[i], &reads, &writes);
        if (!flow->decoded[i] || (reads.r & cells.r) || (reads.p & cells.p))
            return true;
        if (op_is_always(flow->insts[i].guard)) {
            cells.r &= ~writes.r;
            cells.p &= (uint8_t)~writes.p;
        }
    }
    return false;
}

/* Leaves out registers that hold one value where the ways meet, whichever lanes have written them last, if
 * nobody on the way `reader` (NULL: who waits there) reads them before. */
static Live not_alike(Ways *ways, uint32_t join, uint32_t sync, const Bitset *reader, Live cells) {
    const BinFlow *flow = ways->c->flow;
    for (unsigned cell = 0; sync != NONE && cell < UCELLS; cell++) {
        bool predicate = cell >= UP_FIRST;
        Live one = {predicate ? 0 : (uint64_t)1 << cell, (uint8_t)(predicate ? 1u << (cell - UP_FIRST) : 0)};
        if (!(cells.r & one.r) && !(cells.p & one.p))
            continue;
        bool read = reads_any(flow, flow->blocks[join].first, sync, one);
        if (reader)
            BS_EACH(b, reader)
                read |= any_cell(both_cells(ways->exposed[b], one));
        if (!read && check_holds_one_value(ways->c, ways->proc, join, predicate ? RF_UP : RF_UR,
                                           predicate ? cell - UP_FIRST : cell)) {
            cells.r &= ~one.r;
            cells.p &= (uint8_t)~one.p;
        }
    }
    return cells;
}

/* Which of `cells`, of which some are live behind `i`, do lanes take from each other that part at the end of
 * `block`? */
static Live parted_lanes_write(Ways *ways, uint32_t block, uint32_t i, Live cells) {
    const BinBlock *b = &ways->c->flow->blocks[block];
    uint32_t join = ways->c->ipdom[block], at = ways->c->flow->block_of[i];
    uint32_t sync = sync_of(ways->c, b, join);
    bool decides = i == b->first + b->ninsts - 1;
    if (!decides && (ways->c->converged[i] || (at == join && sync != NONE && i > sync)))
        return (Live){0}; /* they have met */
    for (uint32_t s = 0; s < b->nsuccs; s++) {
        Live kept = decides ? both_cells(cells, ways->in[b->succs[s].block - ways->base]) : cells,
             others = {0};
        for (uint32_t o = 0; o < b->nsuccs; o++)
            if (o != s || at == join)
                add_cells(&others, way_writes(ways, block, o));
        kept = both_cells(kept, others);
        if (!any_cell(kept))
            continue;
        one_way(ways, b->succs[s].block, join, &ways->mine);
        if (!decides && at != join && !bs_has(&ways->mine, at - ways->base))
            continue;
        bool waits = at == join && !decides;
        kept = not_alike(ways, join, sync, waits ? NULL : &ways->mine, kept);
        if (any_cell(kept))
            return kept;
    }
    return (Live){0};
}

/* Fills what of Ways says something of blocks alone. */
static void look_at_blocks(Ways *ways) {
    const BinFlow *flow = ways->c->flow;
    Arena *a = &ways->c->a;
    Live *all = ARENA_ARRAY(a, Live, ways->nblocks + 1), *first = ARENA_ARRAY(a, Live, ways->nblocks + 1);
    uint32_t *way_at = ARENA_ARRAY(a, uint32_t, ways->nblocks + 1), n = 0;
    for (uint32_t k = 0; k < ways->nblocks; k++) {
        const BinBlock *block = &flow->blocks[ways->base + k];
        Live written = {0};
        way_at[k] = n;
        n += block->nsuccs;
        FOR_BIN_INSTS(block, i) {
            Live reads, writes;
            if (!flow->decoded[i]) {
                first[k] = (Live){UINT64_MAX, UINT8_MAX};
                break;
            }
            uniform_accesses(&flow->insts[i], &reads, &writes);
            add_cells(&first[k], (Live){reads.r & ~written.r, (uint8_t)(reads.p & ~written.p)});
            add_cells(&all[k], writes);
            if (op_is_always(flow->insts[i].guard))
                add_cells(&written, writes);
        }
    }
    ways->writes = all;
    ways->exposed = first;
    ways->way_at = way_at;
    ways->way = ARENA_ARRAY(a, Live, n + 1);
    ways->way_known = ARENA_ARRAY(a, bool, n + 1);
}

static Live others_write(Ways *ways, uint32_t i, Live cells) {
    for (uint32_t n = 0; n < ways->proc->nrpo; n++) {
        const BinBlock *b = &ways->c->flow->blocks[ways->proc->rpo[n]];
        Live lost = {0};
        if (ways->c->divergent[b->first + b->ninsts - 1] && b->nsuccs > 1)
            lost = parted_lanes_write(ways, ways->proc->rpo[n], i, cells);
        if (any_cell(lost))
            return lost;
    }
    return (Live){0};
}

static void uniform_live(Checker *checker, const Proc *proc) {
    const BinFlow *flow = checker->flow;
    uint32_t base = flow->funcs[proc->func].first_block;
    Live *in = ARENA_ARRAY(&checker->a, Live, flow->funcs[proc->func].nblocks), unsafe = {0};
    bool any = false;
    for (uint32_t n = 0; n < proc->nrpo; n++)
        FOR_BIN_INSTS(&flow->blocks[proc->rpo[n]], i) {
            Live reads, writes;
            if (!flow->decoded[i])
                break;
            uniform_accesses(&flow->insts[i], &reads, &writes);
            any |= reads.r || reads.p;
            /* native code reads everywhere what it wrote where all lanes were together */
            if (!checker->native || checker->apart[i]) {
                unsafe.r |= writes.r;
                unsafe.p |= writes.p;
            }
        }
    if (!any)
        return;
    uint32_t nblocks = flow->funcs[proc->func].nblocks;
    Ways ways = {.c = checker,
                 .proc = proc,
                 .in = in,
                 .base = base,
                 .nblocks = nblocks,
                 .mine = bs_new(&checker->a, nblocks),
                 .other = bs_new(&checker->a, nblocks)};
    if (checker->native)
        look_at_blocks(&ways);
    for (int report = 0; report < 2; report++)
        for (bool changed = true; changed;) {
            changed = false;
            for (uint32_t n = proc->nrpo; n-- > 0;) {
                const BinBlock *b = &flow->blocks[proc->rpo[n]];
                Live l = {0};
                Guards guards = {0};
                for (uint32_t s = 0; s < b->nsuccs; s++) {
                    l.r |= in[b->succs[s].block - base].r;
                    l.p |= in[b->succs[s].block - base].p;
                }
                for (uint32_t i = b->first + b->ninsts; i-- > b->first;) {
                    if (!flow->decoded[i])
                        continue;
                    Live lost = {l.r & unsafe.r, l.p & unsafe.p};
                    bool asks = report && any_cell(lost) && may_switch(checker, i);
                    if (asks && checker->native)
                        lost = others_write(&ways, i, lost);
                    if (asks && any_cell(lost))
                        check_report(
                            checker, CR_R17, i, NONE, "uniform register %s%u live across possible divergence",
                            lost.r ? "UR" : "UP",
                            lost.r ? (unsigned)__builtin_ctzll(lost.r) : (unsigned)__builtin_ctz(lost.p));
                    live_before(&l, &guards, flow, i);
                }
                Live *to = &in[proc->rpo[n] - base];
                changed |= !report && (to->r != l.r || to->p != l.p);
                *to = l;
            }
        }
}

/* ---- R-20 ---- */

typedef enum { V_NONE, V_ENTRY, V_CONST, V_COMPUTED, V_UNKNOWN } ValueKind;
typedef struct {
    uint8_t kind, other_kind; /* other: what other lanes have, V_NONE if they have the same */
    uint32_t value, other;    /* register at the entry, or constant */
    uint32_t def;             /* instruction that made it */
} Value;
typedef struct {
    Value r[REG_RZ];
    bool reached;
} Values;

typedef struct {
    Checker *c;
    Values **in;    /* by block */
    uint32_t *link; /* by procedure: register pair that it returns to; NONE */
} Returns;

static Value value_of(const Values *values, Operand o, unsigned part) {
    if (o.kind == OPK_IMM && part == 0)
        return (Value){.kind = V_CONST, .value = o.value, .def = NONE};
    if (o.kind != OPK_REG || o.file != RF_R || o.mods & (OPM_NEG | OPM_ABS | OPM_NOT))
        return (Value){.kind = V_COMPUTED, .def = NONE};
    return o.value + part >= REG_RZ ? (Value){.kind = V_CONST, .def = NONE} : values->r[o.value + part];
}

static Value unknown_value(uint32_t def) { return (Value){.kind = V_UNKNOWN, .def = def}; }

static bool is_one_of(Value of, Value x) {
    return (of.kind == x.kind && of.value == x.value) || (of.other_kind == x.kind && of.other == x.value);
}

/* Some lanes have the one, some the other. Of more than two, and of what is unknown, nothing is known. */
static Value either(Value x, Value y) {
    if (x.kind == V_UNKNOWN || y.kind == V_UNKNOWN || y.other_kind != V_NONE)
        return unknown_value(y.def);
    if (is_one_of(x, y))
        return x;
    if (x.other_kind != V_NONE)
        return unknown_value(y.def);
    return (Value){x.kind, y.kind, x.value, y.value, y.def};
}

/* Which lanes have which a later branch may ask again: both are known for the rest of the block alone. */
static void forget_others(Values *values) {
    for (unsigned r = 0; r < REG_RZ; r++)
        if (values->r[r].other_kind != V_NONE)
            values->r[r] = unknown_value(values->r[r].def);
}

/* The value of some lanes, or of the others. */
static Value of_lanes(Value x, bool others) {
    return others && x.other_kind != V_NONE ? (Value){.kind = x.other_kind, .value = x.other, .def = x.def}
                                            : (Value){.kind = x.kind, .value = x.value, .def = x.def};
}

static bool is_zero(const Values *v, Operand o) {
    Value x = value_of(v, o, 0);
    return o.kind == OPK_REG && o.file == RF_R && o.value == REG_RZ && x.kind == V_CONST;
}

static bool is_unguarded(const MachInst *inst) {
    return bin_guard(inst) == BG_ALWAYS && op_is_always(inst->guard);
}
static void define_reg(Values *values, const MachInst *inst, unsigned d, unsigned part, Value x, uint32_t i) {
    uint32_t reg = inst->dst[d].value + part;
    if (inst->dst[d].kind != OPK_REG || inst->dst[d].file != RF_R || reg >= REG_RZ)
        return;
    if (x.def == NONE)
        x.def = i;
    if (is_unguarded(inst))
        values->r[reg] = x;
    else if (values->r[reg].other_kind != V_NONE) /* the other lanes', perhaps */
        values->r[reg] = unknown_value(i);
    else
        values->r[reg] = either(values->r[reg], x);
}

/* Values that are moved; others are computed, or unknown where they come from the stack. */
static void track(Returns *returns, Values *values, uint32_t i) {
    const BinFlow *flow = returns->c->flow;
    const MachInst *inst = &flow->insts[i];
    Value one = {.kind = V_COMPUTED, .def = NONE};
    uint64_t address = 0;
    bool native_lepc = returns->c->native && inst->optype == OT_LEPC;
    if (inst->optype == OT_MOV)
        one = value_of(values, inst->src[MOV_rb], 0);
    else if (inst->optype == OT_IMAD && is_zero(values, inst->src[IMAD_ra]))
        one = value_of(values, inst->src[IMAD_rc], 0);
    else if (inst->optype == OT_LDL || native_lepc)
        one.kind = V_UNKNOWN;
    else if (inst->optype == OT_LEPC) {
        address = bin_address(flow, i) + (uint64_t)inst->wide;
        one = (Value){.kind = V_CONST, .value = (uint32_t)address, .def = NONE};
    } else if (inst->optype == OT_SEL && !op_is_always(inst->src[SEL_pp]))
        one = either(value_of(values, inst->src[SEL_ra], 0), value_of(values, inst->src[SEL_rb], 0));
    /* native code computes return addresses from LEPC and constants */
    if (returns->c->native && one.kind == V_COMPUTED)
        one.kind = V_UNKNOWN;
    for (unsigned d = 0; d < inst->ndst; d++)
        for (unsigned k = 0; k < (inst->dst[d].count ? inst->dst[d].count : 1u); k++) {
            Value x = one;
            if (k && inst->optype == OT_LEPC && !native_lepc)
                x.value = (uint32_t)(address >> 32);
            else if (k && one.kind != V_COMPUTED)
                x.kind = V_UNKNOWN;
            define_reg(values, inst, d, k, x, i);
        }
    if (check_kind(returns->c, i) ==
        BK_CALL) /* callees give back some registers as they were; we do not ask which */
        for (unsigned r = 0; r < REG_RZ; r++)
            values->r[r] = unknown_value(i);
}

static bool merge_values(Values *into, const Values *with) {
    if (!into->reached) {
        *into = *with;
        return into->reached = true;
    }
    bool changed = false;
    for (unsigned r = 0; r < REG_RZ; r++) {
        Value *a = &into->r[r], b = with->r[r];
        if (a->kind == V_UNKNOWN || is_one_of(*a, b))
            continue;
        *a = either(*a, b);
        changed = true;
    }
    return changed;
}

static bool matters(const Checker *checker, const Proc *proc) {
    for (uint32_t n = 0; n < proc->nrpo; n++)
        FOR_BIN_INSTS(&checker->flow->blocks[proc->rpo[n]], i)
            if (checker->flow->decoded[i] &&
                (bin_kind(&checker->flow->insts[i]) == BK_RET || check_kind(checker, i) == BK_CALL))
                return true;
    return false;
}

static const char *made_by(Checker *c, Value v) { return v.def == NONE ? "" : check_at(c, v.def); }

/* Is that offset in the function the place behind a call of procedure p? With one caller ptxas 12 knows it,
 * and makes it where it returns. */
static bool is_behind_call(const Checker *checker, uint32_t p, uint32_t offset) {
    const BinFlow *flow = checker->flow;
    const BinFuncFlow *func = &flow->funcs[checker->procs[p].func];
    uint32_t entry = flow->blocks[checker->procs[p].entry_block].first;
    for (uint32_t k = 0; k < func->ncalls; k++)
        if (func->calls[k].target == entry &&
            (func->calls[k].inst + 1 - func->first_inst) * INST_BYTES == offset)
            return true;
    return false;
}

/* Do lanes have different return addresses in the pair of registers? */
static bool parts_lanes(const Values *values, uint32_t pair) {
    return values->r[pair].other_kind != V_NONE || values->r[pair + 1].other_kind != V_NONE;
}

/* The word for which lanes that have these two return elsewhere; V_NONE: it is not known that they do. */
static Value wrong_word(Returns *returns, uint32_t p, Value lo, Value hi) {
    const Checker *checker = returns->c;
    if (lo.kind == V_ENTRY && hi.kind == V_ENTRY && hi.value == lo.value + 1) {
        returns->link[p] = lo.value;
        return (Value){0};
    }
    if (checker->native && lo.kind == V_CONST && hi.kind == V_CONST && hi.value == 0 &&
        is_behind_call(checker, p, lo.value))
        return (Value){0};
    bool wrong = lo.kind == V_CONST || lo.kind == V_COMPUTED || (lo.kind == V_ENTRY && hi.kind == V_ENTRY);
    Value bad = wrong ? lo : hi;
    if ((!wrong && bad.kind != V_CONST && bad.kind != V_COMPUTED) ||
        (checker->native && bad.kind == V_CONST && bad.value == 0))
        return (Value){0}; /* native code takes 0 for the high half */
    return bad;
}

/* Where both words differ between lanes, which goes with which is not known: one is wrong that is so with
 * either of the others. */
static void at_return(Returns *returns, uint32_t p, const Values *values, uint32_t i) {
    Checker *checker = returns->c;
    const MachInst *inst = &checker->flow->insts[i];
    Operand ra = inst->src[RET_ra];
    if (ra.kind != OPK_REG || ra.file != RF_R || ra.value >= REG_RZ - 1 || checker->procs[p].is_kernel)
        return;
    if (ra.value % 2)
        check_report(checker, CR_R20, i, NONE, "return address in the odd pair R[%u:%u]", ra.value,
                     ra.value + 1);
    if ((!checker->native && !isa_is_absolute(inst->optype, inst->mods)) ||
        (parts_lanes(values, ra.value) && !is_unguarded(inst)))
        return;
    Value wrong[2][2]; /* [low word][high word] */
    for (unsigned k = 0; k < 4; k++)
        wrong[k / 2][k % 2] = wrong_word(returns, p, of_lanes(values->r[ra.value], k / 2),
                                         of_lanes(values->r[ra.value + 1], k % 2));
    for (unsigned k = 0; k < 2; k++) {
        bool low = wrong[k][0].kind != V_NONE && wrong[k][1].kind != V_NONE,
             high = wrong[0][k].kind != V_NONE && wrong[1][k].kind != V_NONE;
        if (!low && !high)
            continue;
        check_report(checker, CR_R20, i, (low ? wrong[k][0] : wrong[0][k]).def,
                     "return address R[%u:%u] redefined at %s", ra.value, ra.value + 1,
                     made_by(checker, low ? wrong[k][0] : wrong[0][k]));
        return;
    }
}

/* Of lanes that have these words in the pair of registers that the callee returns through. */
static void judge_call(Checker *checker, uint32_t link, Value lo, Value hi, uint32_t i) {
    const BinFlow *flow = checker->flow;
    uint64_t back = bin_address(flow, i + 1),
             start = flow->bin->funcs[flow->blocks[flow->block_of[i]].func].address;
    bool known = lo.kind == V_CONST || (!checker->native && (lo.kind == V_COMPUTED || lo.kind == V_ENTRY));
    bool good = lo.kind == V_CONST &&
                (lo.value == (uint32_t)back || (checker->native && lo.value == (uint32_t)(back - start)));
    if (known && !good)
        check_report(checker, CR_R20, i, lo.def,
                     "the callee returns through R[%u:%u], which %s set to something else than %s", link,
                     link + 1, made_by(checker, lo), check_at(checker, i + 1));
    else if (!checker->native && good && hi.kind == V_CONST && hi.value != (uint32_t)(back >> 32))
        check_report(checker, CR_R20, i, hi.def, "the high half R%u of the return address is wrong",
                     link + 1);
}

static void at_call(Returns *returns, const Values *values, uint32_t i) {
    Checker *checker = returns->c;
    const MachInst *inst = &checker->flow->insts[i];
    Callees to = check_callees(checker, i);
    uint32_t link = to.n == 1 ? returns->link[to.proc[0]] : NONE;
    if (link == NONE || bin_kind(inst) != BK_CALL)
        return;
    bool parts = parts_lanes(values, link);
    for (unsigned others = 0; others < 1u + parts; others++)
        if (!parts || is_unguarded(inst))
            judge_call(checker, link, of_lanes(values->r[link], others),
                       of_lanes(values->r[link + 1], others), i);
}

static void run(Returns *returns, uint32_t p) {
    Checker *checker = returns->c;
    const BinFlow *flow = checker->flow;
    const Proc *proc = &checker->procs[p];
    for (uint32_t n = 0; n < proc->nrpo; n++)
        returns->in[proc->rpo[n]] = ARENA_NEW(&checker->a, Values);
    Values *entry = returns->in[proc->entry_block];
    entry->reached = true;
    for (unsigned r = 0; r < REG_RZ; r++)
        entry->r[r] = (Value){.kind = V_ENTRY, .value = r, .def = NONE};
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t n = 0; n < proc->nrpo; n++) {
            if (!returns->in[proc->rpo[n]]->reached)
                continue;
            Values v = *returns->in[proc->rpo[n]];
            FOR_BIN_INSTS(&flow->blocks[proc->rpo[n]], i)
                if (flow->decoded[i])
                    track(returns, &v, i);
            forget_others(&v);
            for (uint32_t s = 0; s < flow->blocks[proc->rpo[n]].nsuccs; s++)
                changed |= merge_values(returns->in[flow->blocks[proc->rpo[n]].succs[s].block], &v);
        }
    }
}

static void visit(Returns *returns, uint32_t p, bool calls) {
    const BinFlow *flow = returns->c->flow;
    const Proc *proc = &returns->c->procs[p];
    for (uint32_t n = 0; n < proc->nrpo; n++) {
        if (!returns->in[proc->rpo[n]]->reached)
            continue;
        Values v = *returns->in[proc->rpo[n]];
        FOR_BIN_INSTS(&flow->blocks[proc->rpo[n]], i) {
            if (!flow->decoded[i])
                break;
            if (calls && check_kind(returns->c, i) == BK_CALL)
                at_call(returns, &v, i);
            else if (!calls && bin_kind(&flow->insts[i]) == BK_RET)
                at_return(returns, p, &v, i);
            track(returns, &v, i);
        }
    }
}

static void return_addresses(Checker *checker) {
    Returns q = {.c = checker};
    bool *used = ARENA_ARRAY(&checker->a, bool, checker->nprocs + 1), any = false;
    for (uint32_t p = 0; p < checker->nprocs; p++)
        any |= used[p] = matters(checker, &checker->procs[p]);
    if (!any)
        return;
    q.in = ARENA_ARRAY(&checker->a, Values *, checker->flow->nblocks + 1);
    q.link = ARENA_ARRAY(&checker->a, uint32_t, checker->nprocs + 1);
    memset(q.link, 0xff, sizeof *q.link * (checker->nprocs + 1));
    for (uint32_t p = 0; p < checker->nprocs; p++)
        if (used[p]) {
            run(&q, p);
            visit(&q, p, false);
        }
    for (uint32_t p = 0; p < checker->nprocs; p++)
        if (used[p])
            visit(&q, p, true);
}

void check_registers(Checker *checker) {
    for (uint32_t p = 0; p < checker->nprocs; p++)
        uniform_live(checker, &checker->procs[p]);
    return_addresses(checker);
}
