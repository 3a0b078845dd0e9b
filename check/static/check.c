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

const char *check_severity_list(const char *text, uint8_t severity[CR_COUNT], size_t *n) {
    for (const char *p = text; p && *p; p += *n + (p[*n] == ',')) {
        *n = strcspn(p, ",");
        size_t name = strcspn(p, "=,"), word = *n - name - (name < *n);
        CheckRule r = check_rule_find(p, name);
        uint8_t value = 0;
        for (Severity s = SEV_NOTE; s <= SEV_ERROR; s++)
            if (strlen(check_severity_name(s)) == word &&
                !strncmp(check_severity_name(s), p + name + 1, word))
                value = (uint8_t)(1 + s);
        if (word == 3 && !strncmp(p + name + 1, "off", 3))
            value = CHECK_SEVERITY_OFF;
        if (r == CR_COUNT || !value)
            return p;
        severity[r] = value;
    }
    return NULL;
}

bool check_wants(const Checker *checker, CheckRule r) {
    if ((checker->opt->no_hazards && r >= CR_H01) || checker->opt->severity[r] == CHECK_SEVERITY_OFF)
        return false;
    return !checker->opt->rules || checker->opt->rules >> r & 1;
}

/* ---- paths ---- */

const char *check_at(Checker *checker, uint32_t inst) {
    char text[160];
    return arena_printf(checker->arena, "%s", bin_where(checker->flow, inst, text));
}

static uint32_t last_of(const BinBlock *b) { return b->first + b->ninsts - 1; }

/* Blocks on a shortest way from the end of `from` to the start of `to`, both excluded; *n of them. */
static uint32_t *block_path(Checker *checker, uint32_t from, uint32_t to, uint32_t *n) {
    const BinFlow *bin_flow = checker->flow;
    const BinFuncFlow *flow = &bin_flow->funcs[bin_flow->blocks[from].func];
    uint32_t *came = ARENA_ARRAY(&checker->a, uint32_t, flow->nblocks),
             *queue = ARENA_ARRAY(&checker->a, uint32_t, flow->nblocks + 1);
    uint32_t head = 0, tail = 0, base = flow->first_block;
    queue[tail++] = from;
    bool found = false;
    while (head < tail && !found) {
        const BinBlock *b = &bin_flow->blocks[queue[head++]];
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
    for (uint32_t b = came[to - base] - 1; b != from && *n < flow->nblocks; b = came[b - base] - 1)
        path[(*n)++] = b;
    for (uint32_t i = 0; i < *n / 2; i++) {
        uint32_t t = path[i];
        path[i] = path[*n - 1 - i];
        path[*n - 1 - i] = t;
    }
    return path;
}

static const uint32_t *make_path(Checker *checker, uint32_t from, uint32_t to, uint32_t *n) {
    const BinFlow *flow = checker->flow;
    VEC(uint32_t) path = {0};
    if (from != NONE) {
        uint32_t a = flow->block_of[from], b = flow->block_of[to], count = 0;
        VEC_ADD(checker->arena, &path, from);
        if (a != NONE && b != NONE && flow->blocks[a].func == flow->blocks[b].func &&
            !(a == b && from <= to)) {
            ArenaMark mark = arena_mark(&checker->a);
            uint32_t *blocks = block_path(checker, a, b, &count);
            if (last_of(&flow->blocks[a]) != from)
                VEC_ADD(checker->arena, &path, last_of(&flow->blocks[a]));
            for (uint32_t k = 0; k < count; k++)
                VEC_ADD(checker->arena, &path, flow->blocks[blocks[k]].first);
            if (flow->blocks[b].first != to)
                VEC_ADD(checker->arena, &path, flow->blocks[b].first);
            arena_release(&checker->a, mark);
        }
    }
    if (from != to)
        VEC_ADD(checker->arena, &path, to);
    *n = path.n;
    return path.at;
}

/* ---- findings ---- */

static BinFinding *add_finding(Checker *checker, Severity severity, CheckRule r, uint32_t inst,
                               const uint32_t *path, uint32_t n, const char *text) {
    const BinFunc *f = binary_func_at(checker->flow->bin, bin_address(checker->flow, inst));
    BinFinding x = {
        .rule = r, .severity = severity, .inst = inst, .path = path, .npath = n, .text = text, .func = NONE};
    if (f) {
        x.func = (uint32_t)(f - checker->flow->bin->funcs);
        x.loc = f->locs ? &f->locs[inst - checker->flow->funcs[x.func].first_inst] : NULL;
        x.ptx_line = x.loc ? x.loc->ptx_line : 0;
    }
    VEC_ADD(checker->arena, &checker->findings, x);
    return &checker->findings.at[checker->findings.n - 1];
}

/* One finding of a rule at an instruction does, the first of those that are most severe. */
static bool is_new(const Checker *checker, Severity severity, CheckRule r, uint32_t inst) {
    if (checker->findings.n >= MAX_FINDINGS || !check_wants(checker, r))
        return false;
    for (uint32_t k = checker->findings.n; k > 0 && k + 64 > checker->findings.n;
         k--) { /* the rest falls out when sorted */
        const BinFinding *known = &checker->findings.at[k - 1];
        if (known->rule == r && known->inst == inst && known->severity >= severity)
            return false;
    }
    return true;
}

static BinFinding *new_finding(Checker *checker, Severity severity, CheckRule r, uint32_t inst, uint32_t from,
                               const char *fmt, va_list ap) {
    char text[600];
    if (!is_new(checker, severity, r, inst))
        return NULL;
    vsnprintf(text, sizeof text, fmt, ap);
    uint32_t n;
    const uint32_t *path = make_path(checker, from, inst, &n);
    return add_finding(checker, severity, r, inst, path, n, arena_printf(checker->arena, "%s", text));
}

BinFinding *check_report(Checker *c, CheckRule r, uint32_t inst, uint32_t from, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    BinFinding *finding = new_finding(c, check_rule_severity(r, c->native), r, inst, from, fmt, ap);
    va_end(ap);
    return finding;
}

void check_report_as(Checker *c, Severity severity, CheckRule r, uint32_t inst, uint32_t from,
                     const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    new_finding(c, severity, r, inst, from, fmt, ap);
    va_end(ap);
}

static int by_place(const void *a, const void *b) {
    const BinFinding *finding = a, *bin_finding = b;
    if (finding->inst != bin_finding->inst)
        return finding->inst < bin_finding->inst ? -1 : 1;
    if (finding->rule != bin_finding->rule)
        return finding->rule < bin_finding->rule ? -1 : 1;
    if (finding->severity != bin_finding->severity)
        return finding->severity > bin_finding->severity ? -1 : 1;
    return strcmp(finding->text, bin_finding->text);
}

/* ---- procedures ---- */

static void add_proc(Checker *checker, uint32_t func, uint32_t block) {
    const BinFlow *bin_flow = checker->flow;
    const BinFuncFlow *flow = &bin_flow->funcs[func];
    Proc *proc = &checker->procs[checker->nprocs];
    *proc = (Proc){.func = func,
                   .entry_block = block,
                   .is_kernel = bin_flow->bin->funcs[func].is_entry && block == flow->first_block};
    checker->proc_at[bin_flow->blocks[block].first] = checker->nprocs++;
    uint32_t *order = ARENA_ARRAY(&checker->a, uint32_t, flow->nblocks);
    bin_order(bin_flow, &checker->a, block, ARENA_ARRAY(&checker->a, bool, flow->nblocks), order,
              &proc->nrpo);
    proc->rpo = order;
}

static void make_procs(Checker *checker) {
    const BinFlow *flow = checker->flow;
    uint32_t n = flow->bin->nfuncs;
    for (uint32_t f = 0; f < flow->bin->nfuncs; f++)
        n += flow->funcs[f].nentries;
    checker->procs = ARENA_ARRAY(&checker->a, Proc, n + 1);
    checker->proc_at = ARENA_ARRAY(&checker->a, uint32_t, flow->bin->ncode + 1);
    memset(checker->proc_at, 0xff, sizeof *checker->proc_at * (flow->bin->ncode + 1));
    for (uint32_t f = 0; f < flow->bin->nfuncs; f++) {
        if (flow->funcs[f].nblocks)
            add_proc(checker, f, flow->funcs[f].first_block);
        for (uint32_t k = 0; k < flow->funcs[f].nentries; k++)
            add_proc(checker, f, flow->funcs[f].entries[k]);
    }
}

/* Functions whose address is used as a value. */
static void find_address_taken(Checker *checker) {
    const Binary *binary = checker->flow->bin;
    bool *taken = ARENA_ARRAY(&checker->a, bool, binary->nfuncs + 1);
    uint32_t *list = ARENA_ARRAY(&checker->a, uint32_t, binary->nfuncs + 1), n = 0;
    for (uint32_t k = 0; k < binary->nfixups; k++)
        if (binary->fixups[k].to == BIN_TO_FUNC && binary->fixups[k].target < binary->nfuncs)
            taken[binary->fixups[k].target] = true;
    for (uint32_t f = 0; f < binary->nfuncs; f++) {
        uint32_t p =
            checker->flow->funcs[f].ninsts ? checker->proc_at[checker->flow->funcs[f].first_inst] : NONE;
        if (taken[f] && p != NONE)
            list[n++] = p;
    }
    checker->address_taken = list;
    checker->naddress_taken = n;
}

BinKind check_kind(const Checker *checker, uint32_t inst) {
    BinKind k = bin_kind(&checker->flow->insts[inst]);
    uint32_t t = k == BK_CALL ? bin_target(checker->flow, inst) : NONE, b = checker->flow->block_of[inst];
    bool inside = t != NONE && checker->flow->block_of[t] != NONE &&
                  checker->flow->blocks[checker->flow->block_of[t]].func == checker->flow->blocks[b].func;
    return inside && checker->proc_at[t] == NONE ? BK_BRANCH : k;
}

bool check_is_call(const Checker *checker, uint32_t inst) {
    const MachInst *m = &checker->flow->insts[inst];
    if (check_kind(checker, inst) == BK_CALL)
        return bin_guard(m) != BG_NEVER;
    if (bin_kind(m) != BK_BRANCH || bin_guard(m) == BG_NEVER)
        return false;
    uint32_t t = bin_target(checker->flow, inst), b = t == NONE ? NONE : checker->flow->block_of[t];
    return b != NONE &&
           checker->flow->blocks[b].func != checker->flow->blocks[checker->flow->block_of[inst]].func &&
           checker->proc_at[t] != NONE;
}

Callees check_callees(const Checker *checker, uint32_t inst) {
    uint32_t t = bin_target(checker->flow, inst);
    if (t != NONE)
        return checker->proc_at[t] != NONE ? (Callees){&checker->proc_at[t], 1} : (Callees){NULL, 0};
    return (Callees){checker->address_taken, checker->naddress_taken};
}

/* Who calls whom. */
static void order_procs(Checker *checker) {
    const BinFlow *flow = checker->flow;
    uint32_t n = checker->nprocs;
    VEC(GraphEdge) edges = {0};
    for (uint32_t p = 0; p < n; p++)
        for (uint32_t k = 0; k < checker->procs[p].nrpo; k++)
            FOR_BIN_INSTS(&flow->blocks[checker->procs[p].rpo[k]], i) {
                if (!flow->decoded[i] || !check_is_call(checker, i))
                    continue;
                uint32_t t = bin_target(flow, i), to = t == NONE ? n : checker->proc_at[t];
                if (to != NONE)
                    VEC_ADD(&checker->a, &edges, ((GraphEdge){p, to}));
            }
    for (uint32_t k = 0; k < checker->naddress_taken; k++)
        VEC_ADD(&checker->a, &edges, ((GraphEdge){n, checker->address_taken[k]}));
    checker->calls = graph_new(&checker->a, n + 1, edges.at, edges.n);
    uint32_t *comp = graph_numbers(&checker->a, n + 1, 0), *at,
             ncomps = graph_scc(&checker->a, &checker->calls, NULL, comp);
    at = graph_numbers(&checker->a, ncomps + 1, 0);
    for (uint32_t p = 0; p < n; p++)
        at[comp[p] + 1]++;
    for (uint32_t c = 1; c <= ncomps; c++)
        at[c] += at[c - 1];
    checker->callees_first = graph_numbers(&checker->a, n, 0);
    for (uint32_t p = 0; p < n; p++)
        checker->callees_first[at[comp[p]]++] = p;
}

/* ---- entry ---- */

static void check_code(Checker *checker) {
    check_structure(checker);
    check_uniform(checker);
    check_barriers(checker);
    check_driver_calls(checker);
    check_entered(checker);
    check_collectives(checker);
    check_rendezvous(checker);
    check_gathering(checker);
    check_meetings(checker);
    check_registers(checker);
    if (!checker->opt->no_hazards) {
        check_hazards(checker);
        check_reuse(checker);
    }
}

void check_binary(const BinFlow *flow, const BinCheckOptions *opt, BinCheckReport *out) {
    static const BinCheckOptions defaults = {0};
    *out = (BinCheckReport){.nfuncs = flow->bin->nfuncs};
    Checker c = {.flow = flow, .opt = opt ? opt : &defaults, .arena = &out->arena};
    c.native = !isa_target_info(flow->bin->target)->has_yield_fairness;
    for (uint32_t f = 0; f < flow->bin->nfuncs; f++)
        out->ninsts += flow->bin->funcs[f].ninsts;
    make_procs(&c);
    find_address_taken(&c);
    order_procs(&c);
    if (!c.opt->file_only)
        check_code(&c);
    check_metadata(&c);
    check_form(&c);
    check_ptx_contents(&c);
    if (c.findings.n)
        qsort(c.findings.at, c.findings.n, sizeof *c.findings.at, by_place);
    uint32_t n = 0;
    for (uint32_t k = 0; k < c.findings.n; k++) {
        BinFinding *finding = &c.findings.at[k];
        if (n && c.findings.at[n - 1].inst == finding->inst && c.findings.at[n - 1].rule == finding->rule)
            continue;
        if (c.opt->severity[finding->rule])
            finding->severity = (Severity)(c.opt->severity[finding->rule] - 1);
        out->nerrors += finding->severity == SEV_ERROR;
        out->nwarnings += finding->severity == SEV_WARNING;
        out->nnotes += finding->severity == SEV_NOTE;
        c.findings.at[n++] = *finding;
    }
    out->findings = c.findings.at;
    out->steps = c.steps;
    out->n = n;
    if (c.opt->file_only) {
        arena_free(&c.a);
        return;
    }
    out->parts = arena_copy(&out->arena, c.divergent, flow->bin->ncode * sizeof *c.divergent);
    out->apart = arena_copy(&out->arena, c.apart, flow->bin->ncode * sizeof *c.apart);
    out->masks_vary = arena_copy(&out->arena, c.masks_vary, flow->bin->ncode * sizeof *c.masks_vary);
    out->entered = arena_copy(&out->arena, c.entered, flow->bin->ncode * sizeof *c.entered);
    arena_free(&c.a);
}

bool check_reserves_too_little(CheckRule r) { return r == CR_M01 || r == CR_M03; }

CheckFile check_beside_code(const Binary *binary, const char *kernel, char *out, size_t out_bytes) {
    static const CheckRule of_file[] = {CR_M01, CR_M02, CR_M03, CR_M04, CR_M06};
    BinFlow *flow = bin_flow_new(binary);
    if (!flow)
        return CHECK_FILE_KEPT;
    BinCheckOptions options = {.file_only = true};
    for (size_t k = 0; k < sizeof of_file / sizeof *of_file; k++)
        options.rules |= (uint64_t)1 << of_file[k];
    BinCheckReport report;
    check_binary(flow, &options, &report);
    CheckFile worst = CHECK_FILE_KEPT;
    for (uint32_t k = 0; k < report.n; k++) {
        const BinFinding *finding = &report.findings[k];
        const BinFunc *func = &binary->funcs[finding->func];
        CheckFile what = check_reserves_too_little(finding->rule) ? CHECK_FILE_WRONG : CHECK_FILE_ODD;
        if (what <= worst || (kernel && func->is_entry && strcmp(func->name, kernel) != 0))
            continue;
        worst = what;
        snprintf(out, out_bytes, "%s: %s", check_rule(finding->rule)->id, finding->text);
    }
    check_report_free(&report);
    bin_flow_free(flow);
    return worst;
}

bool *check_entered_lanes(const BinFlow *flow, Arena *a) {
    static const BinCheckOptions only_shapes = {.rules = (uint64_t)1 << CR_R15};
    Arena report = {0};
    Checker c = {.flow = flow, .opt = &only_shapes, .arena = &report};
    bool *entered = ARENA_ARRAY(a, bool, flow->bin->ncode + 1), any = false;
    for (uint32_t b = 0; b < flow->nblocks; b++)
        FOR_BIN_INSTS(&flow->blocks[b], i)
            any |= flow->decoded[i] && bin_kind(&flow->insts[i]) == BK_WARPSYNC &&
                   flow->insts[i].src[WARPSYNC_rb].kind == OPK_REG &&
                   !flow->bin->funcs[flow->blocks[b].func].is_entry;
    if (!any)
        return entered;
    c.native = !isa_target_info(flow->bin->target)->has_yield_fairness;
    make_procs(&c);
    find_address_taken(&c);
    order_procs(&c);
    check_uniform(&c);
    check_barriers(&c);
    check_entered(&c);
    memcpy(entered, c.entered, flow->bin->ncode * sizeof *entered);
    arena_free(&c.a);
    arena_free(&report);
    return entered;
}

void check_report_free(BinCheckReport *report) {
    arena_free(&report->arena);
    *report = (BinCheckReport){0};
}
