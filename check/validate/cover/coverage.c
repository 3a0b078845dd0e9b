/* Basic blocks executed: see coverage.h.
 * SPDX-License-Identifier: MIT */
#include "check/validate/cover/coverage.h"
#include "check/validate/cover/forced.h"
#include <string.h>

uint8_t **coverage_bytes(Arena *arena, const PtxModule *module) {
    uint8_t **bytes = ARENA_ARRAY(arena, uint8_t *, module->nfuncs + 1);
    for (uint32_t i = 0; i < module->nfuncs; i++)
        bytes[i] = ARENA_ARRAY(arena, uint8_t, module->funcs[i].ninsns + 1);
    return bytes;
}

void coverage_new(Coverage *coverage, Arena *arena, const PtxModule *module, const Binary *binary) {
    coverage->ptx = coverage_bytes(arena, module);
    coverage->values = ARENA_ARRAY(arena, uint32_t *, module->nfuncs + 1);
    for (uint32_t i = 0; i < module->nfuncs; i++)
        coverage->values[i] = ARENA_ARRAY(arena, uint32_t, module->funcs[i].ninsns + 1);
    coverage->forced = ARENA_ARRAY(arena, uint8_t *, module->nfuncs + 1);
    coverage->arena = arena;
    coverage->machine = binary ? ARENA_ARRAY(arena, uint8_t, binary->ncode + 1) : NULL;
}

/* ---- PTX ---- */

static const uint8_t *forced_branches(const Coverage *coverage, const PtxModule *module, uint32_t func) {
    if (!coverage->forced[func])
        coverage->forced[func] = coverage_forced_branches(module, &module->funcs[func], coverage->arena);
    return coverage->forced[func];
}

typedef struct {
    const PtxFunc *f;
    uint8_t *leader, *seen; /* ninsns + 1 each */
    const uint8_t *forced;  /* FORCED_* */
    uint32_t *stack;
    uint32_t n;
} Walk;

static void visit(Walk *walk, uint32_t insn) {
    walk->leader[insn] = 1;
    if (walk->seen[insn])
        return;
    walk->seen[insn] = 1;
    walk->stack[walk->n++] = insn;
}

static void branch_from(Walk *walk, const PtxInsn *in) {
    const PtxFunc *f = walk->f;
    if (in->op == PTX_BRA && in->noperands && in->operands[0].kind == PO_LABEL)
        visit(walk, f->labels[in->operands[0].label].insn);
    for (uint32_t i = 0; in->op == PTX_BRX && in->table && i < f->branch_tables[in->table - 1].n; i++)
        visit(walk, f->labels[f->branch_tables[in->table - 1].labels[i]].insn);
}

/* Marks leaders of what can be reached; a statement is `seen` once. */
static void find_leaders(Walk *w) {
    visit(w, 0);
    while (w->n) {
        uint32_t i = w->stack[--w->n];
        for (; i < w->f->ninsns; i++) {
            const PtxInsn *in = &w->f->insns[i];
            if (w->forced[i] != FORCED_PASSED)
                branch_from(w, in);
            if (ptx_leaves(in) && in->guard_reg && w->forced[i] != FORCED_TAKEN)
                visit(w, i + 1);
            if (ptx_leaves(in))
                break;
            if (w->seen[i + 1])
                break;
            w->seen[i + 1] = 1;
        }
    }
    w->leader[w->f->ninsns] = 0; /* the implicit ret */
}

/* Leaders and reachable statements of a function with a body; arrays in the arena. */
static Walk walk_function(const Coverage *coverage, const PtxModule *module, uint32_t func, Arena *arena) {
    uint32_t n = module->funcs[func].ninsns;
    Walk walk = {.f = &module->funcs[func], .forced = forced_branches(coverage, module, func)};
    walk.leader = ARENA_ARRAY(arena, uint8_t, n + 2);
    walk.seen = ARENA_ARRAY(arena, uint8_t, n + 2);
    walk.stack = ARENA_ARRAY(arena, uint32_t, n + 2);
    find_leaders(&walk);
    return walk;
}

static bool is_looked_at(const PtxModule *module, const uint8_t *funcs, uint32_t func) {
    return funcs[func] && module->funcs[func].has_body && module->funcs[func].ninsns;
}

Covered coverage_ptx(const Coverage *coverage, const PtxModule *module, const uint8_t *funcs) {
    Covered sum = {0, 0};
    Arena arena = {0};
    for (uint32_t f = 0; f < module->nfuncs; f++) {
        if (!is_looked_at(module, funcs, f))
            continue;
        Walk walk = walk_function(coverage, module, f, &arena);
        for (uint32_t i = 0; i < module->funcs[f].ninsns; i++) {
            sum.total += walk.leader[i];
            sum.reached += walk.leader[i] && coverage->ptx[f][i];
        }
    }
    arena_free(&arena);
    return sum;
}

uint32_t coverage_missed(const Coverage *coverage, const PtxModule *module, const uint8_t *funcs,
                         uint32_t *lines) {
    uint32_t n = 0;
    Arena arena = {0};
    for (uint32_t f = 0; f < module->nfuncs; f++) {
        if (!is_looked_at(module, funcs, f))
            continue;
        Walk walk = walk_function(coverage, module, f, &arena);
        for (uint32_t i = 0; i < module->funcs[f].ninsns; i++) {
            if (!walk.leader[i] || coverage->ptx[f][i])
                continue;
            if (lines)
                lines[n] = ptx_line(module, &module->funcs[f].insns[i]);
            n++;
        }
    }
    arena_free(&arena);
    return n;
}

/* Memory that others see, what is printed, and the end of the grid. */
static bool may_show(const PtxModule *module, const PtxInsn *in) {
    if (in->op == PTX_CALL)
        return !in->callee || !module->funcs[in->callee - 1].has_body;
    bool inside = in->space == SP_SHARED || in->space == SP_LOCAL || in->space == SP_PARAM ||
                  in->space == SP_PARAM_ENTRY || in->space == SP_PARAM_FUNC;
    bool address = false;
    for (unsigned i = 0; i < in->noperands; i++)
        address |= in->operands[i].kind == PO_ADDR;
    return in->op == PTX_TRAP || (address && !inside && (!in->ndst || in->atom != ATOM_NONE));
}

bool coverage_may_show(const Coverage *coverage, const PtxModule *module, const uint8_t *funcs) {
    Arena arena = {0};
    bool may = false;
    for (uint32_t f = 0; f < module->nfuncs && !may; f++) {
        if (!is_looked_at(module, funcs, f))
            continue;
        Walk walk = walk_function(coverage, module, f, &arena);
        for (uint32_t i = 0; i < module->funcs[f].ninsns; i++)
            may |= walk.seen[i] && may_show(module, &module->funcs[f].insns[i]);
    }
    arena_free(&arena);
    return may;
}

uint32_t coverage_missing(const Coverage *coverage, const PtxModule *module, uint32_t func, uint32_t insn) {
    const uint32_t ways = 1u << PTX_VALUE_EQUAL | 1u << PTX_VALUE_LESS | 1u << PTX_VALUE_GREATER |
                          1u << PTX_VALUE_TRUE | 1u << PTX_VALUE_FALSE; /* shapes of launches have them */
    uint32_t classes = interp_value_classes(&module->funcs[func].insns[insn]) & ~coverage->values[func][insn];
    uint8_t fixed = coverage->fixed ? coverage->fixed[func][insn] : 0;
    if (forced_branches(coverage, module, func)[insn] != FORCED_NOT)
        return 0;
    uint32_t none = (fixed & (COVERAGE_COUNTED | COVERAGE_NO_NAN) ? 1u << PTX_VALUE_NAN : 0) |
                    (fixed & (COVERAGE_COUNTED | COVERAGE_NO_SUBNORMAL) ? 1u << PTX_VALUE_SUBNORMAL : 0);
    return !coverage->ptx[func][insn] ? 0 : classes & (fixed & COVERAGE_FIXED ? ways : ~none);
}

Covered coverage_values(const Coverage *coverage, const PtxModule *module, const uint8_t *funcs) {
    Covered sum = {0, 0};
    for (uint32_t f = 0; f < module->nfuncs; f++)
        for (uint32_t i = 0; funcs[f] && i < module->funcs[f].ninsns; i++) {
            uint32_t classes = coverage->ptx[f][i] ? interp_value_classes(&module->funcs[f].insns[i]) : 0,
                     seen = classes & coverage->values[f][i];
            sum.reached += (uint32_t)__builtin_popcount(seen);
            sum.total += (uint32_t)__builtin_popcount(seen | coverage_missing(coverage, module, f, i));
        }
    return sum;
}

bool coverage_is_whole(const Coverage *coverage, const PtxModule *module, const uint8_t *funcs) {
    const uint32_t both = 1u << PTX_VALUE_TRUE | 1u << PTX_VALUE_FALSE;
    for (uint32_t f = 0; f < module->nfuncs; f++)
        for (uint32_t i = 0; funcs[f] && i < module->funcs[f].ninsns; i++)
            if (!coverage->ptx[f][i] ||
                (module->funcs[f].insns[i].guard_reg && (coverage->values[f][i] & both) != both))
                return false;
    return true;
}

bool coverage_only_traps(const Coverage *coverage, const PtxModule *module, const uint8_t *funcs) {
    const PtxFunc *only = NULL;
    const uint8_t *reached = NULL;
    for (uint32_t f = 0; f < module->nfuncs; f++)
        if (funcs[f] && module->funcs[f].has_body) {
            if (only)
                return false;
            only = &module->funcs[f];
            reached = coverage->ptx[f];
        }
    for (uint32_t i = 0; only && i < only->ninsns && reached[i] && !only->insns[i].guard_reg; i++)
        if (ptx_leaves(&only->insns[i]))
            return only->insns[i].op == PTX_TRAP;
    return false;
}

/* ---- machine ---- */

static void mark_callees(const BinFlow *flow, uint32_t func, uint8_t *marked) {
    Arena arena = {0};
    bool *taken = ARENA_ARRAY(&arena, bool, flow->bin->nfuncs + 1); /* its address is a value somewhere */
    for (uint32_t k = 0; k < flow->bin->nfixups; k++)
        if (flow->bin->fixups[k].to == BIN_TO_FUNC && flow->bin->fixups[k].target < flow->bin->nfuncs)
            taken[flow->bin->fixups[k].target] = true;
    marked[func] = 1;
    for (bool again = true; again;) {
        again = false;
        for (uint32_t f = 0; f < flow->bin->nfuncs; f++)
            for (uint32_t i = 0; marked[f] && i < flow->funcs[f].ncalls; i++) {
                uint32_t to = flow->funcs[f].calls[i].callee;
                for (uint32_t k = 0; to == BINFLOW_NONE && k < flow->bin->nfuncs; k++) /* indirect */
                    if (taken[k] && !flow->bin->funcs[k].is_entry && !marked[k])
                        marked[k] = again = true;
                if (to != BINFLOW_NONE && !marked[to])
                    marked[to] = again = true;
            }
    }
    arena_free(&arena);
}

Covered coverage_machine(const Coverage *coverage, const BinFlow *flow, const char *kernel) {
    Covered sum = {0, 0};
    Arena arena = {0};
    uint8_t *marked = ARENA_ARRAY(&arena, uint8_t, flow->bin->nfuncs + 1);
    for (uint32_t f = 0; f < flow->bin->nfuncs; f++)
        if (strcmp(flow->bin->funcs[f].name, kernel) == 0)
            mark_callees(flow, f, marked);
    for (uint32_t i = 0; i < flow->nblocks; i++) {
        const BinBlock *b = &flow->blocks[i];
        if (!b->reachable || b->func >= flow->bin->nfuncs || !marked[b->func])
            continue;
        sum.total++;
        sum.reached += coverage->machine[b->first];
    }
    arena_free(&arena);
    return sum;
}
