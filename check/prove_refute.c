/* Counterexamples: concrete values of one lane, and liveness of PTX registers, which says what is worth comparing.
 * SPDX-License-Identifier: MIT */
#include "check/prove_core.h"
#include "check/prove_judge.h"
#include <stdlib.h>
#include <string.h>

/* ---- liveness ---- */
typedef struct {
    Core *c;
    bool *use, *def; /* by block and value */
} Live;

static void use_reg(Live *l, uint32_t b, uint32_t reg) {
    size_t at = (size_t)b * l->c->p.nptx + reg;
    if (reg && !l->def[at])
        l->use[at] = true;
}
static void use_operand(Live *l, uint32_t b, const PtxOperand *o) {
    if (o->kind == PO_REG || o->kind == PO_ADDR)
        use_reg(l, b, o->reg);
    for (unsigned k = 0; (o->kind == PO_VEC || o->kind == PO_ADDR) && k < o->nvec; k++)
        use_operand(l, b, &o->vec[k]);
}
static void def_operand(Live *l, uint32_t b, const PtxOperand *o, bool always) {
    if (o->kind == PO_REG && o->reg && always)
        l->def[(size_t)b * l->c->p.nptx + o->reg] = true;
    for (unsigned k = 0; o->kind == PO_VEC && k < o->nvec; k++)
        def_operand(l, b, &o->vec[k], always);
}

void core_liveness(Core *c) {
    Prover *p = &c->p;
    size_t n = (size_t)(p->nblocks + 1) * p->nptx;
    Live l = {c, ARENA_ARRAY(&p->arena, bool, n), ARENA_ARRAY(&p->arena, bool, n)};
    for (uint32_t b = 0; b < p->nblocks; b++)
        for (uint32_t i = p->blocks[b].first; i < p->blocks[b].end; i++) {
            const PtxInsn *in = &p->pf->insns[i];
            use_reg(&l, b, in->guard_reg);
            for (unsigned k = in->ndst; k < in->noperands; k++)
                use_operand(&l, b, &in->operands[k]);
            for (unsigned k = 0; k < in->nargs; k++)
                use_operand(&l, b, &in->args[k]);
            for (unsigned k = 0; k < in->ndst; k++) {
                if (in->operands[k].kind == PO_ADDR)
                    use_operand(&l, b, &in->operands[k]);
                else
                    def_operand(&l, b, &in->operands[k], !in->guard_reg);
            }
            for (unsigned k = 0; k < in->nrets; k++)
                def_operand(&l, b, &in->rets[k], !in->guard_reg);
        }
    c->live = l.use;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t k = p->nrpo; k-- > 0;) {
            uint32_t b = p->rpo[k];
            for (uint32_t s = 0; s < p->blocks[b].nsucc; s++)
                for (uint32_t v = 0; v < p->nptx; v++) {
                    size_t at = (size_t)b * p->nptx + v;
                    if (l.use[(size_t)p->blocks[b].succ[s] * p->nptx + v] && !l.def[at] && !l.use[at])
                        changed = l.use[at] = true;
                }
        }
    }
}

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
