/* What a region must show, once the relation at the cut points is known: the same exits under the same
 * conditions, the same memory events, no load that the PTX would not do, the same results, and what the map
 * says of the next cut point. What is not equal as it stands goes down the ladder: Z3 with uninterpreted
 * operations, Z3 bit by bit, concrete values.
 * SPDX-License-Identifier: MIT */
#include "check/prove/core.h"
#include "check/prove/judge.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void judge_unknown(Judge *j, const char *why, uint32_t ptx_at, uint32_t mach_at) {
    if (j->out->status != PROVE_UNKNOWN && j->out->status != PROVE_REFUTED) {
        j->out->status = PROVE_UNKNOWN;
        j->out->reason = why;
        j->bad_ptx = ptx_at;
        j->bad_mach = mach_at;
    }
}

/* Concrete lane values under which `cond` holds and x and y differ; the seed of the assignment, 0 if none was
 * found. */
static uint64_t counterexample(Judge *j, Term *cond, Term *x, Term *y) {
    for (uint64_t seed = 1; seed <= 400; seed++) {
        TermEval *e = term_eval_new(&j->c->p.ts, seed);
        bool found = term_eval(e, cond) && term_eval(e, x) != term_eval(e, y);
        term_eval_free(e);
        if (found)
            return seed;
    }
    return 0;
}

/* x == y wherever cond holds; the verdict goes into the region. */
bool judge_equal(Judge *j, Term *cond, Term *x, Term *y, const char *what, uint32_t ptx_at,
                 uint32_t mach_at) {
    Core *c = j->c;
    Terms *ts = &c->p.ts;
    if (j->base)
        cond = t_and(ts, cond, j->base);
    if (x == y || cond == ts->falsity || t_under(ts, x, cond) == t_under(ts, y, cond))
        return true;
    if (j->out->status == PROVE_REFUTED)
        return false;
    uint64_t seed = counterexample(j, cond, x, y);
    if (seed) {
        judge_refute(j, seed, cond, x, y, what, ptx_at, mach_at);
        return false;
    }
    ProveStatus how;
    if (j->concrete_only || j->out->status == PROVE_UNKNOWN) /* it will not be proved any more */
        return false;
    if (core_z3(c, cond, x, y, j->r, &how, &j->out->slowest_query)) {
        if (how > j->out->status)
            j->out->status = how;
        return true;
    }
    judge_unknown(j, what, ptx_at, mach_at);
    return false;
}

bool core_z3(Core *c, Term *cond, Term *x, Term *y, ProveReport *r, ProveStatus *how, double *slowest) {
    double limit = c->p.opt->query_seconds > 0 ? c->p.opt->query_seconds : 9; /* and starting it */
    if (!c->z3 || x->width == 0)
        return false;
    for (unsigned k = 0; k < c->answers.n; k++)
        if (c->answers.at[k].cond == cond && c->answers.at[k].x == x && c->answers.at[k].y == y) {
            *how = c->answers.at[k].how;
            return c->answers.at[k].valid;
        }
    bool valid = false;
    for (unsigned bits = 0; bits < 2 && !valid; bits++) {
        double begin = prove_now(), left = c->deadline > 0 ? c->deadline - begin : limit;
        if (left <= 0)
            break;
        double most = bits ? limit : 1 < limit ? 1 : limit;
        ZqResult q = prove_z3_equal(c->z3, &c->p.ts, cond, x, y, bits, most < left ? most : left);
        double took = prove_now() - begin;
        if (r) {
            r->queries++;
            if (took > r->slowest_query)
                r->slowest_query = took;
        }
        if (slowest && took > *slowest)
            *slowest = took;
        valid = q == ZQ_VALID;
        *how = bits ? PROVE_BITS : PROVE_UF;
        if (q == ZQ_INVALID && bits)
            break;
    }
    VEC_ADD(&c->p.arena, &c->answers, ((Answer){cond, x, y, valid, *how}));
    return valid;
}

/* ---- exits ---- */
static void exits(Judge *j, Cut *q) {
    Core *c = j->c;
    Terms *ts = &c->p.ts;
    for (uint32_t a = 0; a < q->mach_run.exits.n; a++)
        for (uint32_t b = 0; b < q->ptx_run.exits.n; b++) {
            const Exit *m = &q->mach_run.exits.at[a], *x = &q->ptx_run.exits.at[b];
            Term *both = t_and(ts, m->cond, x->cond);
            if (both == ts->falsity)
                continue;
            bool fits = m->kind == x->kind;
            if (fits && m->kind == EX_CUT)
                fits = c->cuts.at[c->cut_of[m->target - c->p.ff->first_block] - 1].ptx == x->target;
            if (!fits)
                judge_equal(j, ts->truth, both, ts->falsity, "the branch conditions differ", x->at, m->at);
            else if (m->kind == EX_RET)
                judge_results(j, x, m, both);
        }
}

void judge_results(Judge *j, const Exit *x, const Exit *m, Term *cond) {
    Prover *p = &j->c->p;
    Terms *ts = &p->ts;
    AbiPlan out;
    prove_abi(p, p->pf->rets, p->pf->nrets, &out);
    if (out.stack) {
        judge_unknown(j, "results on the stack are not modelled", x->at, m->at);
        return;
    }
    for (uint32_t k = 0; k < out.n; k++) {
        uint32_t reg = p->pf->ret_regs ? p->pf->ret_regs[k] : 0;
        for (unsigned c = 0; c < out.at[k].words; c++) {
            Term *v = reg ? x->val[reg] : x->val[p->param_word[p->pf->rets[k]] - 1 + c];
            if (!v) /* never written: any value will do */
                continue;
            Term *got = m->val[LOC_R + (uint32_t)out.at[k].reg + c];
            if (v->width == 64)
                v = c ? t_hi(ts, v) : t_lo(ts, v);
            if (v->width == 1)
                v = t_b2i(ts, v);
            uint64_t bytes = p->m->vars[p->pf->rets[k]].size_bytes;
            if (bytes && bytes < 4) {
                got = t_zext_from(ts, got, 8 * (unsigned)bytes);
                v = t_zext_from(ts, v, 8 * (unsigned)bytes);
            }
            judge_equal(j, cond, v, got, "the function's result differs", x->at, m->at);
        }
    }
    judge_equal(j, cond, prove_sp(p), m->val[LOC_R + 1], "the stack pointer is not restored", x->at, m->at);
}

/* ---- memory ---- */
static uint32_t chain(Arena *a, Term *mem,
                      Term ***out) { /* oldest first, without the memory they start from */
    VEC(Term *) v = {0};
    for (; mem->kind == TK_EVENT; mem = mem->a[0])
        VEC_ADD(a, &v, mem);
    for (uint32_t i = 0; i < v.n / 2; i++) {
        Term *swap = v.at[i];
        v.at[i] = v.at[v.n - 1 - i];
        v.at[v.n - 1 - i] = swap;
    }
    *out = v.at;
    return v.n;
}

static bool same_kind(const Term *a, const Term *b) {
    return a->op == b->op && a->k == b->k && a->name == b->name && a->n == b->n;
}

static void memory(Judge *j, Cut *q, unsigned list) {
    static const char *const names[NMEM] = {"global memory", "shared memory", "local memory",
                                            "warp operations"};
    Core *c = j->c;
    Terms *ts = &c->p.ts;
    Term *x = q->ptx_run.mem[list], *m = q->mach_run.mem[list];
    if (x == m)
        return;
    Term **xe, **me;
    uint32_t nx = chain(&c->p.arena, x, &xe), nm = chain(&c->p.arena, m, &me);
    const char *what = arena_printf(&j->r->arena, "an event on %s differs", names[list]);
    /* pair them in order; an event without a partner must not happen */
    for (uint32_t i = 0; i < nx || i < nm; i++) {
        if (i >= nx || i >= nm || !same_kind(xe[i], me[i])) {
            Term *extra = i < nm ? me[i] : xe[i];
            if (nx == nm || (i < nx && i < nm)) {
                judge_events_differ(
                    j, x, m, arena_printf(&j->r->arena, "the order of events on %s differs", names[list]));
                return;
            }
            judge_equal(j, ts->truth, extra->a[1], ts->falsity,
                        i < nm ? "an event that the PTX has not" : "an event is missing", q->ptx_run.last,
                        q->mach_run.last);
            continue;
        }
        judge_equal(j, ts->truth, xe[i]->a[1], me[i]->a[1], what, q->ptx_run.first, q->mach_run.first);
        for (uint32_t k = 2; k < xe[i]->n; k++)
            judge_equal(j, xe[i]->a[1], xe[i]->a[k], me[i]->a[k], what, q->ptx_run.first, q->mach_run.first);
    }
}

void judge_events_differ(Judge *j, Term *x, Term *m, const char *what) {
    (void)x;
    (void)m;
    judge_unknown(j, what, j->q->ptx_run.first, j->q->mach_run.first);
}

/* No load may happen that the PTX does not do: it could fault. */
static void loads(Judge *j, Cut *q) {
    Core *c = j->c;
    Terms *ts = &c->p.ts;
    for (uint32_t i = 0; i < q->mach_run.loads.n; i++) {
        const Access *m = &q->mach_run.loads.at[i];
        Term *allowed = ts->falsity;
        for (uint32_t k = 0; k < q->ptx_run.loads.n; k++) {
            const Access *x = &q->ptx_run.loads.at[k];
            if (x->space != m->space || x->addr->width != m->addr->width)
                continue;
            Term *both = t_and(ts, x->guard, m->guard);
            Term *d = t_sub(ts, t_under(ts, m->addr, both), t_under(ts, x->addr, both));
            if (t_is_const(d) && d->k + m->bytes <= x->bytes)
                allowed = t_or(ts, allowed, x->guard);
        }
        if (t_and(ts, m->guard, t_not(ts, allowed)) != ts->falsity)
            judge_equal(j, ts->truth, t_and(ts, m->guard, t_not(ts, allowed)), ts->falsity,
                        "a load that the PTX does not do there may fault", q->ptx_run.first, m->at);
    }
}

/* ---- regions ---- */
static void describe(Judge *j, Cut *q) {
    Prover *p = &j->c->p;
    const Run *x = &q->ptx_run, *m = &q->mach_run;
    ProveRegion *o = j->out;
    uint32_t first = p->blocks[q->ptx].first;
    o->pc_first = o->pc_last = (uint64_t)(p->g->blocks[q->mach].first - p->ff->first_inst) * INST_BYTES;
    if (first < p->pf->ninsns)
        o->ptx_first = o->ptx_last = ptx_line(p->m, &p->pf->insns[first]);
    if (!q->reached)
        return;
    if (x->first <= x->last) {
        o->ptx_first = ptx_line(p->m, &p->pf->insns[x->first]);
        o->ptx_last = ptx_line(p->m, &p->pf->insns[x->last]);
    }
    if (m->first <= m->last) {
        o->pc_first = (uint64_t)(m->first - p->ff->first_inst) * INST_BYTES;
        o->pc_last = (uint64_t)(m->last - p->ff->first_inst) * INST_BYTES;
    }
    o->predicated = x->guarded || m->guarded;
}

void judge_obligations(Judge *j, Cut *q) {
    exits(j, q);
    for (unsigned s = 0; s < NMEM; s++)
        memory(j, q, s);
    loads(j, q);
}

static void judge(Core *c, ProveReport *r, Cut *q, ProveRegion *out) {
    Judge j = {.c = c, .r = r, .q = q, .out = out};
    double begin = prove_now();
    out->reason = "";
    out->status = PROVE_SYNTACTIC;
    c->p.ts.steps = 0;
    if (c->gave_up)
        judge_unknown(&j, c->gave_up, 0, 0);
    else if (!q->reached)
        judge_unknown(&j, "no region before it could be followed to here", 0, 0);
    else if (q->ptx_run.fault)
        judge_unknown(&j, q->ptx_run.fault, q->ptx_run.fault_at, q->mach_run.first);
    else if (q->mach_run.fault)
        judge_unknown(&j, q->mach_run.fault, q->ptx_run.first, q->mach_run.fault_at);
    else {
        judge_obligations(&j, q);
        if (out->status == PROVE_UNKNOWN)
            judge_blame(&j, q);
        if (out->status == PROVE_UNKNOWN)
            judge_pursue(&j, q);
        if (c->p.ts.overflow)
            judge_unknown(&j, "terms became too large", 0, 0);
    }
    describe(&j, q);
    Prover *p = &c->p;
    if (out->status >= PROVE_REFUTED) {
        if (j.bad_ptx < p->pf->ninsns)
            out->bad_line = ptx_line(p->m, &p->pf->insns[j.bad_ptx]);
        if (j.bad_mach >= p->ff->first_inst)
            out->bad_pc = (uint64_t)(j.bad_mach - p->ff->first_inst) * INST_BYTES;
    }
    out->reason = arena_copy(&r->arena, out->reason, strlen(out->reason) + 1);
    out->seconds = prove_now() - begin;
}

static void count(ProveReport *r, ProveFunc *f, const ProveRegion *o) {
    f->count[o->status]++;
    r->count[o->status]++;
    f->predicated[o->status] += o->predicated;
    r->predicated[o->status] += o->predicated;
}

void prove_judge(Core *c, ProveReport *r, ProveFunc *out) {
    out->regions = ARENA_ARRAY(&r->arena, ProveRegion, c->cuts.n);
    for (uint32_t k = 0; k < c->cuts.n; k++) {
        judge(c, r, &c->cuts.at[k], &out->regions[out->nregions]);
        count(r, out, &out->regions[out->nregions++]);
    }
}

void prove_skip(ProveReport *r, ProveFunc *out, const char *why) {
    out->skipped = why ? arena_copy(&r->arena, why, strlen(why) + 1) : "";
    out->regions = ARENA_ARRAY(&r->arena, ProveRegion, 1);
    out->regions[0] = (ProveRegion){.status = PROVE_UNKNOWN, .reason = out->skipped};
    out->nregions = 1;
    count(r, out, &out->regions[0]);
}
