/* The static checker: rule table, procedures, findings and their paths. See check.h.
 * SPDX-License-Identifier: MIT */
#include "check/static/internal.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_FINDINGS = 5000 };

/* ---- rules ---- */

static const CheckRuleInfo rules[CR_COUNT] = {
#define RULE(id, name, severity, title, harm, fix, text, bad, good)                                          \
    [CR_##id] = {name, SEV_##severity, title, harm, fix, text, bad, good},
#include "check/static/rules.def"
};
static const bool native_warning[CR_COUNT] = {
#define NATIVE_WARNING(id) [CR_##id] = true,
#include "check/static/rules.def"
};

const CheckRuleInfo *check_rule(CheckRule r) { return &rules[r < CR_COUNT ? r : 0]; }

Severity check_rule_severity(CheckRule r, bool native) {
    return native && native_warning[r] ? SEV_WARNING : rules[r].severity;
}

CheckRule check_rule_find(const char *text, size_t n) {
    if (n < 2 || n > 4)
        return CR_COUNT;
    unsigned number = 0;
    for (size_t k = text[1] == '-' ? 2 : 1; k < n; k++) {
        if (!isdigit((unsigned char)text[k]))
            return CR_COUNT;
        number = number * 10 + (unsigned)(text[k] - '0');
    }
    char id[8];
    snprintf(id, sizeof id, "%c-%02u", toupper((unsigned char)text[0]), number);
    for (unsigned r = 0; r < CR_COUNT; r++)
        if (strcmp(rules[r].id, id) == 0)
            return (CheckRule)r;
    return CR_COUNT;
}

const char *check_rule_list(const char *text, uint64_t *set, size_t *n) {
    for (const char *p = text; p && *p; p += *n + (p[*n] == ',')) {
        *n = strcspn(p, ",");
        CheckRule r = check_rule_find(p, *n);
        if (r == CR_COUNT)
            return p;
        *set |= (uint64_t)1 << r;
    }
    return NULL;
}

bool check_wants(const Checker *c, CheckRule r) {
    if (c->opt->no_hazards && r >= CR_H01)
        return false;
    return !c->opt->rules || c->opt->rules >> r & 1;
}

/* ---- paths ---- */

const char *check_at(Checker *c, uint32_t inst) {
    char text[160];
    return arena_printf(c->arena, "%s", bin_where(c->g, inst, text));
}

static uint32_t last_of(const BinBlock *b) { return b->first + b->ninsts - 1; }

/* Blocks on a shortest way from the end of `from` to the start of `to`, both excluded; *n of them. */
static uint32_t *block_path(Checker *c, uint32_t from, uint32_t to, uint32_t *n) {
    const BinFlow *g = c->g;
    const BinFuncFlow *f = &g->funcs[g->blocks[from].func];
    uint32_t *came = ARENA_ARRAY(&c->a, uint32_t, f->nblocks),
             *queue = ARENA_ARRAY(&c->a, uint32_t, f->nblocks + 1);
    uint32_t head = 0, tail = 0, base = f->first_block;
    queue[tail++] = from;
    bool found = false;
    while (head < tail && !found) {
        const BinBlock *b = &g->blocks[queue[head++]];
        for (uint32_t s = 0; s < b->nsuccs && !found; s++) {
            uint32_t t = b->succs[s].block;
            if (came[t - base])
                continue;
            came[t - base] = queue[head - 1] + 1;
            found = t == to;
            if (t != from)
                queue[tail++] = t;
        }
    }
    *n = 0;
    if (!found)
        return NULL;
    uint32_t *path = queue; /* no longer needed */
    for (uint32_t b = came[to - base] - 1; b != from && *n < f->nblocks; b = came[b - base] - 1)
        path[(*n)++] = b;
    for (uint32_t i = 0; i < *n / 2; i++) {
        uint32_t t = path[i];
        path[i] = path[*n - 1 - i];
        path[*n - 1 - i] = t;
    }
    return path;
}

static const uint32_t *make_path(Checker *c, uint32_t from, uint32_t to, uint32_t *n) {
    const BinFlow *g = c->g;
    VEC(uint32_t) path = {0};
    if (from != NONE) {
        uint32_t a = g->block_of[from], b = g->block_of[to], count = 0;
        VEC_ADD(c->arena, &path, from);
        if (a != NONE && b != NONE && g->blocks[a].func == g->blocks[b].func && !(a == b && from <= to)) {
            ArenaMark mark = arena_mark(&c->a);
            uint32_t *blocks = block_path(c, a, b, &count);
            if (last_of(&g->blocks[a]) != from)
                VEC_ADD(c->arena, &path, last_of(&g->blocks[a]));
            for (uint32_t k = 0; k < count; k++)
                VEC_ADD(c->arena, &path, g->blocks[blocks[k]].first);
            if (g->blocks[b].first != to)
                VEC_ADD(c->arena, &path, g->blocks[b].first);
            arena_release(&c->a, mark);
        }
    }
    if (from != to)
        VEC_ADD(c->arena, &path, to);
    *n = path.n;
    return path.at;
}

/* ---- findings ---- */

static void add(Checker *c, CheckRule r, uint32_t inst, const uint32_t *path, uint32_t n, const char *text) {
    const BinFunc *f = binary_func_at(c->g->bin, bin_address(c->g, inst));
    BinFinding x = {.rule = r,
                    .severity = check_rule_severity(r, c->native),
                    .inst = inst,
                    .path = path,
                    .npath = n,
                    .text = text,
                    .func = NONE};
    if (f) {
        x.func = (uint32_t)(f - c->g->bin->funcs);
        x.ptx_line = f->locs ? f->locs[inst - c->g->funcs[x.func].first_inst].ptx_line : 0;
    }
    VEC_ADD(c->arena, &c->findings, x);
}

static bool is_new(const Checker *c, CheckRule r, uint32_t inst) {
    if (c->findings.n >= MAX_FINDINGS || !check_wants(c, r))
        return false;
    for (uint32_t k = c->findings.n; k > 0 && k + 64 > c->findings.n;
         k--) /* the rest falls out when sorted */
        if (c->findings.at[k - 1].rule == r && c->findings.at[k - 1].inst == inst)
            return false;
    return true;
}

static BinFinding *report(Checker *c, CheckRule r, uint32_t inst, uint32_t from, const char *fmt,
                          va_list ap) {
    char text[600];
    if (!is_new(c, r, inst))
        return NULL;
    vsnprintf(text, sizeof text, fmt, ap);
    uint32_t n;
    const uint32_t *path = make_path(c, from, inst, &n);
    add(c, r, inst, path, n, arena_printf(c->arena, "%s", text));
    return &c->findings.at[c->findings.n - 1];
}

void check_report(Checker *c, CheckRule r, uint32_t inst, uint32_t from, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    report(c, r, inst, from, fmt, ap);
    va_end(ap);
}

void check_report_as(Checker *c, Severity severity, CheckRule r, uint32_t inst, uint32_t from,
                     const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    BinFinding *f = report(c, r, inst, from, fmt, ap);
    va_end(ap);
    if (f)
        f->severity = severity;
}

static int by_place(const void *a, const void *b) {
    const BinFinding *x = a, *y = b;
    if (x->inst != y->inst)
        return x->inst < y->inst ? -1 : 1;
    if (x->rule != y->rule)
        return x->rule < y->rule ? -1 : 1;
    if (x->severity != y->severity)
        return x->severity > y->severity ? -1 : 1;
    return strcmp(x->text, y->text);
}

/* ---- procedures ---- */

static void add_proc(Checker *c, uint32_t func, uint32_t block) {
    const BinFlow *g = c->g;
    const BinFuncFlow *f = &g->funcs[func];
    Proc *p = &c->procs[c->nprocs];
    *p = (Proc){.func = func,
                .entry_block = block,
                .is_kernel = g->bin->funcs[func].is_entry && block == f->first_block};
    c->proc_at[g->blocks[block].first] = c->nprocs++;
    /* reverse post-order, as binflow has it for the function as a whole */
    ArenaMark mark;
    bool *seen = ARENA_ARRAY(&c->a, bool, f->nblocks);
    uint32_t *order = ARENA_ARRAY(&c->a, uint32_t, f->nblocks), n = f->nblocks;
    mark = arena_mark(&c->a);
    struct {
        uint32_t block, succ;
    } *stack = arena_alloc(&c->a, sizeof *stack * (f->nblocks + 1));
    uint32_t depth = 0;
    stack[depth].block = block, stack[depth++].succ = 0;
    seen[block - f->first_block] = true;
    while (depth) {
        const BinBlock *b = &g->blocks[stack[depth - 1].block];
        if (stack[depth - 1].succ == b->nsuccs) {
            order[--n] = stack[--depth].block;
            continue;
        }
        uint32_t t = b->succs[stack[depth - 1].succ++].block;
        if (seen[t - f->first_block])
            continue;
        seen[t - f->first_block] = true;
        stack[depth].block = t, stack[depth++].succ = 0;
    }
    arena_release(&c->a, mark);
    p->rpo = order + n;
    p->nrpo = f->nblocks - n;
}

static void make_procs(Checker *c) {
    const BinFlow *g = c->g;
    uint32_t n = g->bin->nfuncs;
    for (uint32_t f = 0; f < g->bin->nfuncs; f++)
        n += g->funcs[f].nentries;
    c->procs = ARENA_ARRAY(&c->a, Proc, n + 1);
    c->proc_at = ARENA_ARRAY(&c->a, uint32_t, g->bin->ncode + 1);
    memset(c->proc_at, 0xff, sizeof *c->proc_at * (g->bin->ncode + 1));
    for (uint32_t f = 0; f < g->bin->nfuncs; f++) {
        if (g->funcs[f].nblocks)
            add_proc(c, f, g->funcs[f].first_block);
        for (uint32_t k = 0; k < g->funcs[f].nentries; k++)
            add_proc(c, f, g->funcs[f].entries[k]);
    }
}

/* Functions whose address is used as a value. */
static void find_address_taken(Checker *c) {
    const Binary *b = c->g->bin;
    bool *taken = ARENA_ARRAY(&c->a, bool, b->nfuncs + 1);
    uint32_t *list = ARENA_ARRAY(&c->a, uint32_t, b->nfuncs + 1), n = 0;
    for (uint32_t k = 0; k < b->nfixups; k++)
        if (b->fixups[k].to_func && b->fixups[k].target < b->nfuncs)
            taken[b->fixups[k].target] = true;
    for (uint32_t f = 0; f < b->nfuncs; f++) {
        uint32_t p = c->g->funcs[f].ninsts ? c->proc_at[c->g->funcs[f].first_inst] : NONE;
        if (taken[f] && p != NONE)
            list[n++] = p;
    }
    c->address_taken = list;
    c->naddress_taken = n;
}

BinKind check_kind(const Checker *c, uint32_t inst) {
    BinKind k = bin_kind(&c->g->insts[inst]);
    uint32_t t = k == BK_CALL ? bin_target(c->g, inst) : NONE, b = c->g->block_of[inst];
    bool inside = t != NONE && c->g->block_of[t] != NONE &&
                  c->g->blocks[c->g->block_of[t]].func == c->g->blocks[b].func;
    return inside && c->proc_at[t] == NONE ? BK_BRANCH : k;
}

bool check_is_call(const Checker *c, uint32_t inst) {
    const MachInst *m = &c->g->insts[inst];
    if (check_kind(c, inst) == BK_CALL)
        return bin_guard(m) != BG_NEVER;
    if (bin_kind(m) != BK_BRANCH || bin_guard(m) == BG_NEVER)
        return false;
    uint32_t t = bin_target(c->g, inst), b = t == NONE ? NONE : c->g->block_of[t];
    return b != NONE && c->g->blocks[b].func != c->g->blocks[c->g->block_of[inst]].func &&
           c->proc_at[t] != NONE;
}

Callees check_callees(const Checker *c, uint32_t inst) {
    uint32_t t = bin_target(c->g, inst);
    if (t != NONE)
        return c->proc_at[t] != NONE ? (Callees){&c->proc_at[t], 1} : (Callees){NULL, 0};
    return (Callees){c->address_taken, c->naddress_taken};
}

/* ---- entry ---- */

void binary_check(const BinFlow *g, const BinCheckOptions *opt, BinCheckReport *out) {
    static const BinCheckOptions defaults = {0};
    *out = (BinCheckReport){.nfuncs = g->bin->nfuncs};
    Checker c = {.g = g, .opt = opt ? opt : &defaults, .arena = &out->arena};
    c.native = !isa_target_info(g->bin->target)->has_yield_fairness;
    for (uint32_t f = 0; f < g->bin->nfuncs; f++)
        out->ninsts += g->bin->funcs[f].ninsts;
    make_procs(&c);
    find_address_taken(&c);
    check_structure(&c);
    check_uniform(&c);
    check_barriers(&c);
    check_collectives(&c);
    check_registers(&c);
    if (!c.opt->no_hazards)
        check_hazards(&c);
    if (c.findings.n)
        qsort(c.findings.at, c.findings.n, sizeof *c.findings.at, by_place);
    uint32_t n = 0;
    for (uint32_t k = 0; k < c.findings.n; k++) {
        BinFinding *x = &c.findings.at[k];
        if (n && c.findings.at[n - 1].inst == x->inst && c.findings.at[n - 1].rule == x->rule)
            continue;
        out->nerrors += x->severity == SEV_ERROR;
        out->nwarnings += x->severity == SEV_WARNING;
        out->nnotes += x->severity == SEV_NOTE;
        c.findings.at[n++] = *x;
    }
    out->findings = c.findings.at;
    out->n = n;
    arena_free(&c.a);
}

void check_report_free(BinCheckReport *r) {
    arena_free(&r->arena);
    *r = (BinCheckReport){0};
}
