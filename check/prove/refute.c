/* Counterexamples: concrete values of one lane, and the search for them along paths of several regions.
 * SPDX-License-Identifier: MIT */
#include "check/prove/core.h"
#include "check/prove/judge.h"
#include <stdlib.h>
#include <string.h>

/* ---- counterexamples ---- */
/* Uninterpreted operations that only one side applies, or to other arguments: a difference may be theirs, not
 * the lane's. */
static void note_opaque(const Term *t, uint8_t *mark, uint8_t side) {
    if (mark[t->id] & side)
        return;
    mark[t->id] |= side;
    for (uint32_t i = 0; i < t->n; i++)
        note_opaque(t->a[i], mark, side);
}
static bool exact(const Term *t) { /* computed as it is by term_eval */
    static const char *const names[] = {"fadd.0", "fmul.0", "ffma.0", "dadd.0", "dmul.0", "dfma.0"};
    for (unsigned k = 0; t->name && k < 6; k++)
        if (strcmp(t->name, names[k]) == 0)
            return true;
    return false;
}
static bool one_sided(const Term *t, const uint8_t *mark, bool *seen) {
    if (seen[t->id])
        return false;
    seen[t->id] = true;
    if (t->kind == TK_APP && t->op == TO_UF && mark[t->id] != 3 && !exact(t))
        return true;
    for (uint32_t i = 0; i < t->n; i++)
        if (one_sided(t->a[i], mark, seen))
            return true;
    return false;
}
static bool hangs_on_opaque(const Terms *ts, const Term *x, const Term *y) {
    uint8_t *mark = calloc(ts->next_id, 1);
    bool *seen = calloc(ts->next_id, 1);
    note_opaque(x, mark, 1);
    note_opaque(y, mark, 2);
    bool only_one = one_sided(x, mark, seen) && one_sided(y, mark, seen); /* each has operations of its own */
    free(mark);
    free(seen);
    return only_one;
}

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

void judge_refute(Judge *j, uint64_t seed, Term *cond, Term *x, Term *y, const char *what, uint32_t ptx_at,
                  uint32_t mach_at) {
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
        if (f.at[k]->name[0] == '?' || f.at[k]->name[0] == '~' ||
            strncmp(f.at[k]->name, "undefined", 9) == 0) {
            judge_unknown(j, what, ptx_at, mach_at);
            return;
        }
    if (hangs_on_opaque(ts, x, y)) {
        judge_unknown(j, what, ptx_at, mach_at);
        return;
    }
    if (!judge_replay(j, seed)) {
        judge_unknown(j, arena_printf(&j->r->arena, "%s, but the simulator does not confirm it", what),
                      ptx_at, mach_at);
        return;
    }
    o->replayed = true;
    TermEval *e = term_eval_new(ts, seed);
    ProveValue *v = ARENA_ARRAY(&j->r->arena, ProveValue, f.n + 2);
    for (uint32_t k = 0; k < f.n; k++)
        v[k] = (ProveValue){arena_copy(&j->r->arena, f.at[k]->name, strlen(f.at[k]->name) + 1),
                            term_eval(e, f.at[k])};
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

/* A judge of a copy of a cut by concrete values alone; what it finds goes to `out`. */
static Judge concrete_judge(const Judge *j, Cut *q, ProveRegion *out) {
    Judge inner = *j;
    *out = (ProveRegion){.status = PROVE_SYNTACTIC, .reason = ""};
    inner.q = q;
    inner.out = out;
    inner.concrete_only = true;
    return inner;
}

static void take_over(Judge *j, const Judge *inner) {
    j->out->status = inner->out->status;
    j->out->reason = inner->out->reason;
    j->out->values = inner->out->values;
    j->out->nvalues = inner->out->nvalues;
    j->out->replayed = inner->out->replayed;
    j->bad_ptx = inner->bad_ptx;
    j->bad_mach = inner->bad_mach;
}

/* Run the region of `t`, a copy of a cut with other contents, and judge it. False if it cannot be run. */
static bool judge_again(Judge *inner, Cut *t) {
    Prover *p = &inner->c->p;
    t->pass_ptx = arena_copy(&p->arena, t->pass_ptx, p->nblocks);
    t->pass_mach = arena_copy(&p->arena, t->pass_mach, p->ff->nblocks + 1);
    core_run(inner->c, t);
    if (t->ptx_run.fault || t->mach_run.fault)
        return false;
    judge_obligations(inner, t);
    return true;
}

static void follow(Judge *j, const Edge *e, Term *base, unsigned depth, unsigned *runs) {
    Core *c = j->c;
    Prover *p = &c->p;
    Cut t = c->cuts.at[e->to]; /* run again from exactly what the path brings */
    if (*runs == 0 || p->ts.overflow || base == p->ts.falsity ||
        (c->deadline > 0 && prove_now() > c->deadline))
        return;
    --*runs;
    t.pv = e->pv;
    t.lv = e->lv;
    memcpy(t.mem, e->mem, sizeof t.mem);
    ProveRegion out;
    Judge inner = concrete_judge(j, &t, &out);
    inner.base = base;
    if (!judge_again(&inner, &t))
        return;
    if (out.status == PROVE_REFUTED) {
        take_over(j, &inner);
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

/* ---- what the map says of the region's start ---- */
typedef struct {
    uint32_t loc, value;
    const BinVarRow *row;
} Claim;

static uint32_t register_named(const Prover *p, const char *name) {
    for (uint32_t v = 1; v < p->pf->nregs; v++)
        if (strcmp(str_text(&p->m->strings, p->pf->regs[v].name), name) == 0)
            return v;
    return 0;
}

static Term *claimed(Terms *ts, Term *v, const Claim *k) {
    return v->width != 64 ? v : k->row->component ? t_hi(ts, v) : t_lo(ts, v);
}

/* Locations of which nothing was found out, though the map says what they hold. */
static uint32_t claims_of(Core *c, const Cut *q, Claim *out, uint32_t max) {
    static const uint32_t base[] = {[RF_R] = LOC_R, [RF_P] = LOC_P, [RF_UR] = LOC_UR, [RF_UP] = LOC_UP};
    Prover *p = &c->p;
    uint32_t pc = (p->g->blocks[q->mach].first - p->ff->first_inst) * INST_BYTES, n = 0;
    for (uint32_t i = 0; i < p->bf->nvars && n < max; i++) {
        const BinVarRow *row = &p->bf->vars[i];
        if (pc < row->lo_bytes || pc >= row->hi_bytes || row->file >= RF_B)
            continue;
        Claim k = {base[row->file] + row->reg, register_named(p, row->ptx_name), row};
        if (k.value && k.loc < LOC_SLOT && q->level[k.loc] == LV_FREE && q->pv[k.value] &&
            claimed(&c->p.ts, q->pv[k.value], &k)->width == prove_loc_width(k.loc))
            out[n++] = k;
    }
    return n;
}

/* Does edge e bring another value than the map claims? Refutes the region that it leaves. */
static bool broken_by(Judge *j, const Cut *from, const Edge *e, const Claim *k) {
    Core *c = j->c;
    Terms *ts = &c->p.ts;
    if (!e->pv[k->value])
        return false;
    Term *x = claimed(ts, e->pv[k->value], k), *y = e->lv[k->loc];
    if (x == y)
        return false;
    char name[24];
    prove_loc_name(k->loc, name);
    ProveRegion out;
    Cut source = *from;
    Judge inner = concrete_judge(j, &source, &out);
    judge_equal(&inner, e->cond, x, y,
                arena_printf(&j->r->arena, "%s, which holds %s at the start, comes with another value", name,
                             k->row->ptx_name),
                e->ptx_at, e->mach_at);
    if (out.status != PROVE_REFUTED)
        return false;
    take_over(j, &inner);
    return true;
}

void judge_blame(Judge *j, Cut *q) {
    enum { MAX = 64 };
    Core *c = j->c;
    Prover *p = &c->p;
    Claim k[MAX];
    uint32_t n = claims_of(c, q, k, MAX), self = (uint32_t)(q - c->cuts.at);
    if (!n)
        return;
    Cut t = *q; /* with the claims believed */
    t.lv = arena_copy(&p->arena, q->lv, p->nloc * sizeof *t.lv);
    for (uint32_t i = 0; i < n; i++)
        t.lv[k[i].loc] = claimed(&p->ts, q->pv[k[i].value], &k[i]);
    ProveRegion out;
    Judge inner = concrete_judge(j, &t, &out);
    if (!judge_again(&inner, &t) || out.status != PROVE_SYNTACTIC)
        return;
    core_edges(c, &t); /* the region is right if its locations are: who breaks them? */
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t s = 0; s < c->cuts.n; s++) {
            const Cut *from = s == self ? &t : &c->cuts.at[s];
            for (uint32_t e = 0; e < from->edges.n; e++)
                if (from->edges.at[e].to == self && broken_by(j, from, &from->edges.at[e], &k[i]))
                    return;
        }
}
