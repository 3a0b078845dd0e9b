/* See auto_trace.h. The attempt runs twice: first one execution of each such branch is chosen, then the
 * thread of one of them is watched up to it. A call, and what other functions do, gives values that nobody
 * followed. SPDX-License-Identifier: MIT */
#include "check/validate/search/auto_trace.h"
#include "base/rng.h"
#include <string.h>

enum { MOST_NODES = 1 << 17, FEW = 4 };

typedef struct { /* a branch, and a thread that executes it */
    uint32_t func, insn;
    uint64_t count; /* executions */
    uint32_t block[3], thread[3];
} Sight;

typedef struct {
    const PtxModule *module;
    Sight sights[AUTO_MOST_ENDS];
    uint32_t n;
    uint8_t **number; /* by function and statement: of the branch in sights, from 1; 0 none */
    uint64_t *random;
} Sights;

typedef struct { /* how often a thread executes each branch of a function */
    const Sight *sight;
    const PtxFunc *func;
    uint64_t *count;
} Turns;

typedef struct {
    const Sight *sight;
    const PtxFunc *func;
    const uint8_t *number; /* by statement, of a branch; NULL: none is asked for */
    uint64_t *random;
    Arena *arena;
    uint32_t *node_of; /* by register */
    VEC(AutoNode) nodes;
    uint32_t guard[AUTO_MOST_ENDS], met[AUTO_MOST_ENDS]; /* of that branch: at one execution of so many */
    bool early;                                          /* ... of the first few */
} Watch;

static bool is_reached(const AutoSearch *search, uint32_t func, uint32_t insn) {
    return insn >= search->m->funcs[func].ninsns || search->sum.ptx[func][insn] ||
           search->cover.ptx[func][insn];
}

bool auto_wants_taken(const AutoSearch *search, uint32_t func, uint32_t insn, bool *taken) {
    const PtxFunc *f = &search->m->funcs[func];
    const PtxInsn *in = &f->insns[insn];
    if (in->op != PTX_BRA || !in->guard_reg || in->operands[0].kind != PO_LABEL)
        return false;
    if (search->both_ways) {
        uint32_t missing = coverage_missing(&search->sum, search->m, func, insn);
        *taken = missing >> PTX_VALUE_TRUE & 1;
        return *taken || missing >> PTX_VALUE_FALSE & 1;
    }
    *taken = !is_reached(search, func, f->labels[in->operands[0].label].insn);
    return *taken || !is_reached(search, func, insn + 1);
}

static void find_branches(const AutoSearch *search, Sights *sights) {
    for (uint32_t f = 0; f < search->m->nfuncs; f++)
        for (uint32_t i = 0; search->flow.funcs[f] && i < search->m->funcs[f].ninsns; i++) {
            bool taken;
            if (sights->n < AUTO_MOST_ENDS && is_reached(search, f, i) &&
                auto_wants_taken(search, f, i, &taken)) {
                sights->sights[sights->n++] = (Sight){.func = f, .insn = i};
                sights->number[f][i] = (uint8_t)sights->n;
            }
        }
}

static void on_sight(void *user, const PtxEvent *event) {
    Sights *sights = user;
    uint8_t number = sights->number[event->func - sights->module->funcs][event->insn];
    if (!number)
        return;
    Sight *sight = &sights->sights[number - 1];
    if (rng_next(sights->random) % ++sight->count)
        return;
    memcpy(sight->block, event->block, sizeof sight->block);
    memcpy(sight->thread, event->thread, sizeof sight->thread);
}

static uint32_t add_node(Watch *watch, AutoNode node) {
    if (watch->nodes.n >= MOST_NODES)
        return 0;
    VEC_ADD(watch->arena, &watch->nodes, node);
    return watch->nodes.n - 1;
}

/* What a statement made: of a register's number, of elements of a vector. */
static void note_made(Watch *watch, const PtxInsn *in, const PtxEvent *event) {
    AutoNode node = {.insn = in->op == PTX_CALL ? NULL : in, .parts = 1};
    const PtxOperand *sources = &in->operands[in->ndst];
    unsigned nsources = in->noperands > in->ndst ? (unsigned)(in->noperands - in->ndst) : 0u;
    if (in->op == PTX_MOV && nsources && sources->kind == PO_VEC) {
        nsources = sources->nvec;
        sources = sources->vec;
    }
    if (in->op == PTX_MOV && event->ndst)
        node.parts = (uint8_t)event->ndst;
    for (unsigned i = 0; node.insn && i < AUTO_SOURCES && i < nsources; i++) {
        const PtxOperand *operand = &sources[i];
        if (operand->kind == PO_REG && !operand->neg && !operand->selector)
            node.source[i] = watch->node_of[operand->reg];
        else if (operand->kind == PO_IMM)
            node.source[i] = add_node(watch, (AutoNode){.value = (uint64_t)operand->imm});
    }
    bool loads = event->access_bytes && !event->shared && (!event->writes || in->op == PTX_ATOM);
    for (unsigned k = 0; k < event->ndst && k < sizeof event->dst_reg / sizeof *event->dst_reg; k++) {
        node.value = event->dst_value[k];
        node.part = (uint8_t)(node.parts > 1 ? k : 0);
        node.address = loads ? event->address + k * ptx_type_bytes((PtxType)in->type[0]) : 0;
        if (event->dst_reg[k])
            watch->node_of[event->dst_reg[k]] = add_node(watch, node);
    }
}

static bool is_thread(const Sight *sight, const PtxEvent *event) {
    return memcmp(event->thread, sight->thread, sizeof sight->thread) == 0 &&
           memcmp(event->block, sight->block, sizeof sight->block) == 0;
}

static void on_watched(void *user, const PtxEvent *event) {
    Watch *watch = user;
    if (event->func != watch->func || !is_thread(watch->sight, event))
        return;
    const PtxInsn *in = &watch->func->insns[event->insn];
    uint8_t number = watch->number ? watch->number[event->insn] : 0;
    if (number && watch->early && watch->met[number - 1] >= FEW)
        return;
    if (number && rng_next(watch->random) % ++watch->met[number - 1] == 0)
        watch->guard[number - 1] = watch->node_of[in->guard_reg];
    else if (!number && event->executed)
        note_made(watch, in, event);
}

static bool run_watched(AutoSearch *search, const AutoAttempt *attempt, Watch *watch) {
    watch->node_of = ARENA_ARRAY(watch->arena, uint32_t, watch->func->nregs + 1);
    add_node(watch, (AutoNode){0});
    return auto_run(search, attempt, on_watched, watch);
}

bool auto_trace(AutoSearch *search, const AutoAttempt *attempt, Arena *arena, uint64_t *random,
                AutoTrace *trace) {
    Sights sights = {.module = search->m, .number = coverage_bytes(arena, search->m), .random = random};
    find_branches(search, &sights);
    if (!sights.n || !auto_run(search, attempt, on_sight, &sights))
        return false;
    uint32_t seen = 0;
    const Sight *one = NULL;
    for (uint32_t i = 0; i < sights.n; i++)
        if (sights.sights[i].count && rng_next(random) % ++seen == 0)
            one = &sights.sights[i];
    if (!one)
        return false;
    Watch watch = {.sight = one,
                   .func = &search->m->funcs[one->func],
                   .number = sights.number[one->func],
                   .random = random,
                   .arena = arena};
    if (!run_watched(search, attempt, &watch))
        return false;
    *trace = (AutoTrace){.func = one->func, .nodes = watch.nodes.at};
    for (uint32_t i = 0; i < sights.n; i++)
        if (watch.guard[i]) {
            uint32_t at = (uint32_t)(rng_next(random) % (trace->nends + 1));
            trace->ends[trace->nends++] = trace->ends[at];
            trace->ends[at] = (AutoEnd){sights.sights[i].insn, watch.guard[i]};
        }
    return trace->nends != 0;
}

const PtxOperand *auto_address_of(const PtxInsn *in) {
    for (unsigned i = 0; i < in->noperands; i++)
        if (in->operands[i].kind == PO_ADDR && in->operands[i].reg)
            return &in->operands[i];
    return NULL;
}

/* The statement and the thread; one that has an address. */
static bool find_trap(const AutoSearch *search, bool accesses, Sight *sight) {
    const SimTrap *trap = &search->trap;
    for (uint32_t f = 0; f < search->m->nfuncs; f++) {
        const PtxFunc *func = &search->m->funcs[f];
        if (!search->flow.funcs[f] || trap->pc >= func->ninsns ||
            ptx_line(search->m, &func->insns[trap->pc]) != trap->ptx_line ||
            (accesses && !auto_address_of(&func->insns[trap->pc])))
            continue;
        *sight = (Sight){.func = f, .insn = (uint32_t)trap->pc};
        memcpy(sight->block, trap->block, sizeof sight->block);
        memcpy(sight->thread, trap->thread, sizeof sight->thread);
        return true;
    }
    return false;
}

static void on_turn(void *user, const PtxEvent *event) {
    Turns *turns = user;
    if (event->func == turns->func && is_thread(turns->sight, event))
        turns->count[event->insn]++;
}

bool auto_trace_loop(AutoSearch *search, const AutoAttempt *attempt, Arena *arena, uint64_t *random,
                     AutoTrace *trace) {
    enum { ENDLESS = 64 };
    Sight sight;
    if (!find_trap(search, false, &sight))
        return false;
    const PtxFunc *func = &search->m->funcs[sight.func];
    Turns turns = {&sight, func, ARENA_ARRAY(arena, uint64_t, func->ninsns + 1)};
    uint8_t *number = ARENA_ARRAY(arena, uint8_t, func->ninsns + 1);
    if (!auto_run(search, attempt, on_turn, &turns))
        return false;
    *trace = (AutoTrace){.func = sight.func};
    for (uint32_t i = 0; i < func->ninsns && trace->nends < AUTO_MOST_ENDS; i++)
        if (func->insns[i].op == PTX_BRA && func->insns[i].guard_reg && turns.count[i] >= ENDLESS) {
            trace->ends[trace->nends++].insn = i;
            number[i] = (uint8_t)trace->nends;
        }
    Watch watch = {
        .sight = &sight, .func = func, .number = number, .random = random, .arena = arena, .early = true};
    if (!trace->nends || !run_watched(search, attempt, &watch))
        return false;
    trace->nodes = watch.nodes.at;
    for (uint32_t k = 0; k < trace->nends; k++)
        trace->ends[k].reads = watch.guard[k];
    return true;
}

bool auto_trace_trap(AutoSearch *search, const AutoAttempt *attempt, Arena *arena, AutoTrace *trace) {
    Sight sight;
    if (!find_trap(search, true, &sight))
        return false;
    Watch watch = {.sight = &sight, .func = &search->m->funcs[sight.func], .arena = arena};
    if (!run_watched(search, attempt, &watch)) /* (it ends with the trap) */
        return false;
    uint32_t base = watch.node_of[auto_address_of(&watch.func->insns[sight.insn])->reg];
    *trace =
        (AutoTrace){.func = sight.func, .nodes = watch.nodes.at, .ends = {{sight.insn, base}}, .nends = 1};
    return base != 0;
}
