/* Counterexamples: concrete values of one lane, and the search for them along paths of several regions.
 * SPDX-License-Identifier: MIT */
#include "check/prove_core.h"
#include "check/prove_judge.h"
#include <stdlib.h>
#include <string.h>

/* ---- counterexamples ---- */
typedef struct {
    const Term **at;
    uint32_t n, cap;
} Found;

static void leaves(Arena *a, Found *f, bool *seen, const Term *t) {
    if (seen[t->id])
        return;
    seen[t->id] = true;
    if (t->kind == TK_VAR && t->width) {
        if (f->n < f->cap)
            f->at[f->n++] = t;
        return;
    }
    for (uint32_t i = 0; i < t->n; i++)
        leaves(a, f, seen, t->a[i]);
}

void judge_refute(Judge *j, uint64_t seed, Term *cond, Term *x, Term *y, const char *what, uint32_t ptx_at, uint32_t mach_at) {
    enum { MAX = 24 };
    Terms *ts = &j->c->p.ts;
    ProveRegion *o = j->out;
    const Term *vars[MAX];
    Found f = {vars, 0, MAX};
    bool *seen = calloc(ts->next_id, 1);
    leaves(&ts->arena, &f, seen, cond);
    leaves(&ts->arena, &f, seen, x);
    leaves(&ts->arena, &f, seen, y);
    free(seen);
    for (uint32_t k = 0; k < f.n; k++) /* what a location holds was not found out: no fault of this region */
        if (f.at[k]->name[0] == '?' || f.at[k]->name[0] == '~' || strncmp(f.at[k]->name, "undefined", 9) == 0 ||
            strncmp(f.at[k]->name, "initial", 7) == 0) {
            judge_unknown(j, what, ptx_at, mach_at);
            return;
        }
    if (!judge_replay(j, seed)) {
        judge_unknown(j, arena_printf(&j->r->arena, "%s, but the simulator does not confirm it", what), ptx_at, mach_at);
        return;
    }
    o->replayed = true;
    TermEval *e = term_eval_new(ts, seed);
    ProveValue *v = ARENA_ARRAY(&j->r->arena, ProveValue, f.n + 2);
    for (uint32_t k = 0; k < f.n; k++)
        v[k] = (ProveValue){arena_copy(&j->r->arena, f.at[k]->name, strlen(f.at[k]->name) + 1), term_eval(e, f.at[k])};
    v[f.n] = (ProveValue){"PTX", term_eval(e, x)};
    v[f.n + 1] = (ProveValue){"machine", term_eval(e, y)};
    term_eval_free(e);
    o->status = PROVE_REFUTED;
    o->reason = what;
    o->values = v;
    o->nvalues = f.n + 2;
    j->bad_ptx = ptx_at;
    j->bad_mach = mach_at;
}

/* ---- paths of several regions ---- */
enum { MAX_DEPTH = 3, MAX_RUNS = 160 };

static void follow(Judge *j, const Edge *e, Term *base, unsigned depth, unsigned *runs) {
    Core *c = j->c;
    Prover *p = &c->p;
    Cut t = c->cuts.at[e->to]; /* run again from exactly what the path brings */
    if (*runs == 0 || p->ts.overflow || base == p->ts.falsity || (c->deadline > 0 && prove_now() > c->deadline))
        return;
    --*runs;
    t.pv = e->pv;
    t.lv = e->lv;
    memcpy(t.mem, e->mem, sizeof t.mem);
    t.pass_ptx = arena_copy(&p->arena, t.pass_ptx, p->nblocks);
    t.pass_mach = arena_copy(&p->arena, t.pass_mach, p->ff->nblocks + 1);
    core_run(c, &t);
    if (t.ptx_run.fault || t.mach_run.fault)
        return;
    Judge inner = *j;
    ProveRegion out = {.status = PROVE_SYNTACTIC, .reason = ""};
    inner.q = &t;
    inner.out = &out;
    inner.base = base;
    inner.concrete_only = true;
    judge_obligations(&inner, &t);
    if (out.status == PROVE_REFUTED) {
        j->out->status = out.status;
        j->out->reason = out.reason;
        j->out->values = out.values;
        j->out->nvalues = out.nvalues;
        j->out->replayed = out.replayed;
        j->bad_ptx = inner.bad_ptx;
        j->bad_mach = inner.bad_mach;
        return;
    }
    if (!depth)
        return;
    core_edges(c, &t);
    for (uint32_t k = 0; k < t.edges.n && j->out->status != PROVE_REFUTED; k++)
        follow(j, &t.edges.at[k], t_and(&p->ts, base, t.edges.at[k].cond), depth - 1, runs);
}

void judge_pursue(Judge *j, Cut *q) {
    Core *c = j->c;
    uint32_t self = (uint32_t)(q - c->cuts.at);
    unsigned runs = MAX_RUNS;
    for (unsigned depth = 0; depth < MAX_DEPTH; depth++)
        for (uint32_t s = 0; s < c->cuts.n; s++)
            for (uint32_t k = 0; k < c->cuts.at[s].edges.n && j->out->status != PROVE_REFUTED; k++) {
                const Edge *e = &c->cuts.at[s].edges.at[k];
                if (depth || e->to == self)
                    follow(j, e, e->cond, depth, &runs);
            }
}
