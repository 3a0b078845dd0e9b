/* Counterexamples: concrete values of one lane, and the search for them along paths of several regions.
 * SPDX-License-Identifier: MIT */
#include "check/prove/core/core.h"
#include "base/clock.h"
#include "base/scope.h"
#include "check/prove/core/judge.h"
#include <stdlib.h>
#include <string.h>

/* ---- counterexamples ---- */
/* Uninterpreted operations that only one side applies, or to other arguments: a difference may be theirs, not
 * the lane's. */
static void note_opaque(const Term *term, uint8_t *mark, uint8_t side) {
    if (mark[term->id] & side)
        return;
    mark[term->id] |= side;
    for (uint32_t i = 0; i < term->n; i++)
        note_opaque(term->a[i], mark, side);
}
static bool exact(const Term *term) { /* computed as it is by term_eval */
    static const char *const names[] = {"fadd.0", "fmul.0", "ffma.0", "dadd.0", "dmul.0", "dfma.0"};
    for (unsigned k = 0; term->name && k < 6; k++)
        if (strcmp(term->name, names[k]) == 0)
            return true;
    return false;
}
static bool one_sided(const Term *term, const uint8_t *mark, bool *seen) {
    if (seen[term->id])
        return false;
    seen[term->id] = true;
    if (term->kind == TK_APP && term->op == TO_UF && mark[term->id] != 3 && !exact(term))
        return true;
    for (uint32_t i = 0; i < term->n; i++)
        if (one_sided(term->a[i], mark, seen))
            return true;
    return false;
}
static bool hangs_on_opaque(const Terms *ts, const Term *x, const Term *y) {
    uint8_t *mark = mem_zeroed(ts->next_id, 1);
    bool *seen = mem_zeroed(ts->next_id, 1);
    note_opaque(x, mark, 1);
    note_opaque(y, mark, 2);
    bool only_one = one_sided(x, mark, seen) && one_sided(y, mark, seen); /* each has operations of its own */
    mem_free(mark);
    mem_free(seen);
    return only_one;
}

typedef struct {
    const Term **at;
    uint32_t n, cap;
} Found;

static void leaves(Arena *a, Found *found, bool *seen, const Term *term) {
    if (seen[term->id])
        return;
    seen[term->id] = true;
    if (term->kind == TK_VAR && term->width) {
        if (found->n < found->cap)
            found->at[found->n++] = term;
        return;
    }
    for (uint32_t i = 0; i < term->n; i++)
        leaves(a, found, seen, term->a[i]);
}

void prove_judge_refute(Judge *judge, uint64_t seed, Term *cond, Term *x, Term *y, const char *what,
                        uint32_t ptx_at, uint32_t mach_at) {
    enum { MAX = 24 };
    Terms *ts = &judge->core->p.ts;
    ProveRegion *region = judge->out;
    const Term *vars[MAX];
    Found f = {vars, 0, MAX};
    bool *seen = mem_zeroed(ts->next_id, 1);
    leaves(&ts->arena, &f, seen, cond);
    leaves(&ts->arena, &f, seen, x);
    leaves(&ts->arena, &f, seen, y);
    mem_free(seen);
    for (uint32_t k = 0; k < f.n; k++) /* what a location holds was not found out: no fault of this region */
        if (f.at[k]->name[0] == '?' || f.at[k]->name[0] == '~' ||
            strncmp(f.at[k]->name, "undefined", 9) == 0) {
            prove_judge_candidate(judge, what, ptx_at, mach_at);
            return;
        }
    if (hangs_on_opaque(ts, x, y)) {
        prove_judge_candidate(judge, what, ptx_at, mach_at);
        return;
    }
    if (!prove_judge_replay(judge, seed)) {
        prove_judge_candidate(
            judge,
            arena_printf(&judge->report->arena,
                         "%s, by values for which the machine's functions compute something else than the "
                         "prover's terms",
                         what),
            ptx_at, mach_at);
        return;
    }
    region->replayed = true;
    TermEval *e = term_eval_new(ts, seed);
    ProveValue *v = ARENA_ARRAY(&judge->report->arena, ProveValue, f.n + 2);
    for (uint32_t k = 0; k < f.n; k++)
        v[k] = (ProveValue){arena_copy(&judge->report->arena, f.at[k]->name, strlen(f.at[k]->name) + 1),
                            term_eval(e, f.at[k])};
    v[f.n] = (ProveValue){"PTX", term_eval(e, x)};
    v[f.n + 1] = (ProveValue){"machine", term_eval(e, y)};
    term_eval_free(e);
    region->status = PROVE_REFUTED;
    region->reason = what;
    region->values = v;
    region->nvalues = f.n + 2;
    judge->bad_ptx = ptx_at;
    judge->bad_mach = mach_at;
}

/* ---- paths of several regions ---- */
enum { MAX_DEPTH = 3, MAX_RUNS = 160 };

/* A judge of a copy of a cut by concrete values alone; what it finds goes to `out`. */
static Judge concrete_judge(const Judge *j, Cut *q, ProveRegion *out) {
    Judge inner = *j;
    *out = (ProveRegion){.status = PROVE_SYNTACTIC, .reason = ""};
    inner.q = q;
    inner.out = out;
    inner.concrete_only = true;
    return inner;
}

static void take_over(Judge *judge, const Judge *inner) {
    judge->out->status = inner->out->status;
    judge->out->reason = inner->out->reason;
    judge->out->values = inner->out->values;
    judge->out->nvalues = inner->out->nvalues;
    judge->out->replayed = inner->out->replayed;
    judge->bad_ptx = inner->bad_ptx;
    judge->bad_mach = inner->bad_mach;
}

bool prove_judge_again(Judge *inner, Cut *cut) {
    Prover *prover = &inner->core->p;
    cut->pass_ptx = arena_copy(&prover->arena, cut->pass_ptx, prover->nblocks);
    cut->pass_mach = arena_copy(&prover->arena, cut->pass_mach, prover->ff->nblocks + 1);
    prove_core_run(inner->core, cut);
    if (cut->ptx_run.fault || cut->mach_run.fault)
        return false;
    prove_judge_obligations(inner, cut);
    return true;
}

static void follow(Judge *judge, const Edge *edge, Term *base, unsigned depth, unsigned *runs) {
    Core *core = judge->core;
    Prover *prover = &core->p;
    Cut t = core->cuts.at[edge->to]; /* run again from exactly what the path brings */
    if (*runs == 0 || prover->ts.overflow || base == prover->ts.falsity ||
        (core->deadline > 0 && clock_cpu_seconds() > core->deadline))
        return;
    --*runs;
    t.pv = edge->pv;
    t.lv = edge->lv;
    memcpy(t.mem, edge->mem, sizeof t.mem);
    t.known = prover->ts.truth; /* base says it */
    ProveRegion out;
    Judge inner = concrete_judge(judge, &t, &out);
    inner.base = base;
    if (!prove_judge_again(&inner, &t))
        return;
    if (out.status == PROVE_REFUTED) {
        take_over(judge, &inner);
        return;
    }
    if (!depth)
        return;
    prove_core_edges(core, &t);
    for (uint32_t k = 0; k < t.edges.n && judge->out->status != PROVE_REFUTED; k++)
        follow(judge, &t.edges.at[k], t_and(&prover->ts, base, t.edges.at[k].cond), depth - 1, runs);
}

void prove_judge_pursue(Judge *judge, Cut *q) {
    Core *core = judge->core;
    uint32_t self = (uint32_t)(q - core->cuts.at);
    unsigned runs = MAX_RUNS;
    for (unsigned depth = 0; depth < MAX_DEPTH; depth++)
        for (uint32_t s = 0; s < core->cuts.n; s++)
            for (uint32_t k = 0; k < core->cuts.at[s].edges.n && judge->out->status != PROVE_REFUTED; k++) {
                const Edge *edge = &core->cuts.at[s].edges.at[k];
                if (depth || edge->to == self)
                    follow(judge, edge, edge->cond, depth, &runs);
            }
}

/* ---- what the map says of the region's start ---- */
typedef struct {
    uint32_t loc, value;
    const BinVarRow *row;
} Claim;

static uint32_t register_named(const Prover *prover, const char *name) {
    for (uint32_t v = 1; v < prover->pf->nregs; v++)
        if (strcmp(str_text(&prover->module->strings, prover->pf->regs[v].name), name) == 0)
            return v;
    return 0;
}

static Term *claimed(Terms *ts, Term *term, const Claim *claim) {
    return term->width != 64 ? term : claim->row->component ? t_hi(ts, term) : t_lo(ts, term);
}

/* Locations of which nothing was found out, though the map says what they hold. */
static uint32_t claims_of(Core *core, const Cut *cut, Claim *out, uint32_t max) {
    static const uint32_t base[] = {[RF_R] = LOC_R, [RF_P] = LOC_P, [RF_UR] = LOC_UR, [RF_UP] = LOC_UP};
    Prover *prover = &core->p;
    uint32_t pc = (prover->flow->blocks[cut->mach].first - prover->ff->first_inst) * INST_BYTES, n = 0;
    for (uint32_t i = 0; i < prover->bf->nvars && n < max; i++) {
        const BinVarRow *row = &prover->bf->vars[i];
        if (pc < row->lo_bytes || pc >= row->hi_bytes || row->file >= RF_B)
            continue;
        Claim k = {base[row->file] + row->reg, register_named(prover, row->ptx_name), row};
        if (k.value && k.loc < LOC_SLOT && cut->level[k.loc] == LV_FREE && cut->pv[k.value] &&
            claimed(&core->p.ts, cut->pv[k.value], &k)->width == prove_loc_width(k.loc))
            out[n++] = k;
    }
    return n;
}

/* Does edge e bring another value than the map claims? Refutes the region that it leaves. */
static bool broken_by(Judge *judge, const Cut *from, const Edge *edge, const Claim *claim) {
    Core *core = judge->core;
    Terms *ts = &core->p.ts;
    if (!edge->pv[claim->value])
        return false;
    Term *x = claimed(ts, edge->pv[claim->value], claim), *y = edge->lv[claim->loc];
    if (x == y)
        return false;
    char name[24];
    prove_loc_name(claim->loc, name);
    ProveRegion out;
    Cut source = *from;
    Judge inner = concrete_judge(judge, &source, &out);
    prove_judge_equal(&inner, edge->cond, x, y,
                      arena_printf(&judge->report->arena,
                                   "%s, which holds %s at the start, comes with another value", name,
                                   claim->row->ptx_name),
                      edge->ptx_at, edge->mach_at);
    if (out.status != PROVE_REFUTED)
        return false;
    take_over(judge, &inner);
    return true;
}

void prove_judge_blame(Judge *judge, Cut *cut) {
    enum { MAX = 64 };
    Core *core = judge->core;
    Prover *prover = &core->p;
    Claim k[MAX];
    uint32_t n = claims_of(core, cut, k, MAX), self = (uint32_t)(cut - core->cuts.at);
    if (!n)
        return;
    Cut t = *cut; /* with the claims believed */
    t.lv = arena_copy(&prover->arena, cut->lv, prover->nloc * sizeof *t.lv);
    for (uint32_t i = 0; i < n; i++)
        t.lv[k[i].loc] = claimed(&prover->ts, cut->pv[k[i].value], &k[i]);
    ProveRegion out;
    Judge inner = concrete_judge(judge, &t, &out);
    if (!prove_judge_again(&inner, &t) || out.status != PROVE_SYNTACTIC)
        return;
    prove_core_edges(core, &t); /* the region is right if its locations are: who breaks them? */
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t s = 0; s < core->cuts.n; s++) {
            const Cut *from = s == self ? &t : &core->cuts.at[s];
            for (uint32_t e = 0; e < from->edges.n; e++)
                if (from->edges.at[e].to == self && broken_by(judge, from, &from->edges.at[e], &k[i]))
                    return;
        }
}
