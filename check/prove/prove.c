/* The prover's core: cut points, the relation at them, and what each region must show. See prove.h and
 * docs/prove.md.
 *
 * The relation is found by iteration from below: at first every location is believed to hold what the first
 * path that reaches a cut point brings; where another path brings something else, a PTX register becomes a
 * variable of the cut point, and a machine location the variable of a PTX register whose value it holds on
 * every path. What remains when nothing changes any more has been checked on every edge, so it holds by
 * induction over the execution.
 * SPDX-License-Identifier: MIT */
#include "check/prove/core.h"
#include "lower/lower.h" /* text of the built-in library */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

double prove_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- cut points ---- */
static bool only_control(const BinFlow *g, const BinBlock *b) { /* nothing that one lane could notice */
    for (uint32_t i = b->first; i < b->first + b->ninsts; i++) {
        const MachInst *in = &g->insts[i];
        BinKind k = bin_kind(in);
        if (k != BK_NOP && k != BK_BSSY && k != BK_BSYNC && k != BK_BREAK && k != BK_YIELD &&
            k != BK_WARPSYNC && k != BK_BRANCH)
            return false;
    }
    return b->nsuccs == 1;
}

/* PTX block that the map says machine block `b` begins with, UINT32_MAX if none. */
static uint32_t counterpart(const Prover *p, uint32_t b, unsigned hops) {
    const BinBlock *k = &p->g->blocks[b];
    uint32_t pc = (k->first - p->ff->first_inst) * INST_BYTES, found = UINT32_MAX;
    for (uint32_t i = 0; i < p->bf->npoints; i++) {
        uint32_t insn = p->bf->points[i].ptx_insn - 1;
        if (p->bf->points[i].pc_bytes == pc && insn <= p->pf->ninsns) {
            uint32_t block = p->block_of[insn];
            if (block < p->nblocks && p->blocks[block].first == insn && p->blocks[block].rpo != UINT32_MAX)
                found = block;
        }
    }
    if (found == UINT32_MAX && hops && only_control(p->g, k))
        return counterpart(p, k->succs[0].block, hops - 1);
    return found;
}

static void add_cut(Core *c, uint32_t ptx, uint32_t mach) {
    Prover *p = &c->p;
    Cut k = {.ptx = ptx, .mach = mach};
    k.pv = ARENA_ARRAY(&p->arena, Term *, p->nptx);
    k.lv = ARENA_ARRAY(&p->arena, Term *, p->nloc);
    k.phi = ARENA_ARRAY(&p->arena, uint8_t, p->nptx);
    k.level = ARENA_ARRAY(&p->arena, uint8_t, p->nloc);
    k.relation = ARENA_ARRAY(&p->arena, Relation, p->nloc);
    k.pass_ptx = ARENA_ARRAY(&p->arena, bool, p->nblocks);
    k.pass_mach = ARENA_ARRAY(&p->arena, bool, p->ff->nblocks + 1);
    c->cut_of[mach - p->ff->first_block] = c->cuts.n + 1;
    VEC_ADD(&p->arena, &c->cuts, k);
    c->mach_stop[mach - p->ff->first_block] = true;
    c->ptx_stop[ptx] = true;
}

static void find_cuts(Core *c) {
    Prover *p = &c->p;
    c->cut_of = ARENA_ARRAY(&p->arena, uint32_t, p->ff->nblocks + 1);
    c->mach_stop = ARENA_ARRAY(&p->arena, bool, p->ff->nblocks + 1);
    c->ptx_stop = ARENA_ARRAY(&p->arena, bool, p->nblocks + 1);
    add_cut(c, 0, p->ff->first_block);
    for (uint32_t k = 1; k < p->ff->nrpo; k++) {
        uint32_t b = p->ff->rpo[k];
        const BinBlock *bb = &p->g->blocks[b];
        uint32_t arrivals = 0;
        for (uint32_t i = 0; i < bb->npreds; i++)
            arrivals += p->g->blocks[bb->preds[i].block].reachable;
        if (arrivals < 2)
            continue;
        uint32_t ptx = counterpart(p, b, 4);
        if (ptx != UINT32_MAX)
            add_cut(c, ptx, b);
    }
    if (p->blocks[0].header) /* the entry is a loop header: the first visit is a region of its own only if it
                                has code */
        c->ptx_stop[0] = true;
}

/* ---- running a region ---- */
static bool overlap(Core *c, const Exit *a, const Exit *b) {
    return t_and(&c->p.ts, a->cond, b->cond) != c->p.ts.falsity;
}

/* Exits that do not fit together make one side go on past its cut point; true if something changed. */
static bool realign(Core *c, Cut *q) {
    Prover *p = &c->p;
    for (uint32_t j = 0; j < q->mach_run.exits.n; j++)
        for (uint32_t i = 0; i < q->ptx_run.exits.n; i++) {
            const Exit *m = &q->mach_run.exits.at[j], *x = &q->ptx_run.exits.at[i];
            if (!overlap(c, m, x))
                continue;
            if (m->kind == EX_CUT) {
                Cut *t = &c->cuts.at[c->cut_of[m->target - p->ff->first_block] - 1];
                if (x->kind == EX_CUT && x->target == t->ptx)
                    continue;
                uint32_t mb = m->target - p->ff->first_block;
                if (x->kind != EX_CUT && !q->pass_mach[mb])
                    return q->pass_mach[mb] = true;
            }
            if (x->kind == EX_CUT && !q->pass_ptx[x->target])
                return q->pass_ptx[x->target] = true;
        }
    return false;
}

void core_run(Core *c, Cut *q) {
    q->stuck = false;
    Prover *p = &c->p;
    bool *stop =
        ARENA_ARRAY(&p->arena, bool, (p->nblocks > p->ff->nblocks ? p->nblocks : p->ff->nblocks) + 1);
    bool *pass_ptx = NULL, *pass_mach = NULL; /* before the last realignment */
    for (unsigned round = 0; round < 24; round++) {
        for (uint32_t b = 0; b < p->nblocks; b++)
            stop[b] = c->ptx_stop[b] && !q->pass_ptx[b];
        prove_ptx_run(p, q->ptx, q->pv, q->mem, stop, &q->ptx_run);
        for (uint32_t b = 0; b < p->ff->nblocks; b++)
            stop[b] = c->mach_stop[b] && !q->pass_mach[b];
        prove_mach_run(p, q->mach, q->lv, q->mem, stop, &q->mach_run);
        if ((q->ptx_run.fault || q->mach_run.fault) && pass_ptx) { /* going on past a cut point led nowhere */
            q->pass_ptx = pass_ptx;
            q->pass_mach = pass_mach;
            pass_ptx = NULL;
            q->stuck = true;
            continue;
        }
        if (q->ptx_run.fault || q->mach_run.fault || p->ts.overflow || q->stuck)
            return;
        pass_ptx = arena_copy(&p->arena, q->pass_ptx, p->nblocks);
        pass_mach = arena_copy(&p->arena, q->pass_mach, p->ff->nblocks);
        if (!realign(c, q))
            return;
    }
}

/* The edges out of a region: pairs of exits that can happen together. */
void core_edges(Core *c, Cut *q) {
    Prover *p = &c->p;
    Terms *ts = &p->ts;
    memset(&q->edges, 0, sizeof q->edges);
    for (uint32_t j = 0; j < q->mach_run.exits.n; j++) {
        const Exit *m = &q->mach_run.exits.at[j];
        if (m->kind != EX_CUT)
            continue;
        uint32_t to = c->cut_of[m->target - p->ff->first_block] - 1;
        for (uint32_t i = 0; i < q->ptx_run.exits.n; i++) {
            const Exit *x = &q->ptx_run.exits.at[i];
            if (!overlap(c, m, x) || x->kind != EX_CUT || x->target != c->cuts.at[to].ptx)
                continue;
            Edge e = {.to = to, .ptx_at = x->at, .mach_at = m->at, .cond = t_and(ts, m->cond, x->cond)};
            e.pv = ARENA_ARRAY(&p->arena, Term *, p->nptx);
            e.lv = ARENA_ARRAY(&p->arena, Term *, p->nloc);
            for (uint32_t v = 0; v < p->nptx; v++)
                e.pv[v] = x->val[v] ? t_under(ts, x->val[v], e.cond) : NULL;
            for (uint32_t l = 0; l < p->nloc; l++)
                e.lv[l] = t_under(ts, m->val[l], e.cond);
            memcpy(e.mem, q->ptx_run.mem, sizeof e.mem);
            VEC_ADD(&p->arena, &q->edges, e);
        }
    }
}

/* ---- the relation at a cut point ---- */
typedef VEC(const Edge *) Arrivals;

static void arrivals_of(Core *c, uint32_t cut, Arrivals *in) {
    *in = (Arrivals){0};
    if (cut == 0)
        VEC_ADD(&c->p.arena, in, &c->entry);
    for (uint32_t q = 0; q < c->cuts.n; q++)
        for (uint32_t e = 0; e < c->cuts.at[q].edges.n; e++)
            if (c->cuts.at[q].edges.at[e].to == cut)
                VEC_ADD(&c->p.arena, in, &c->cuts.at[q].edges.at[e]);
}

static bool is_short(const Prover *p, uint32_t v) { /* kept as 16 bits, zero-extended */
    return v < p->carry && p->pf->regs[v].type != TY_PRED && ptx_type_bytes(p->pf->regs[v].type) < 4;
}

static Term *phi_of(Core *c, uint32_t cut, uint32_t v) {
    Prover *p = &c->p;
    Terms *ts = &p->ts;
    return t_var(ts, prove_ptx_width(p, v),
                 term_name(ts, "%s%s.%u", is_short(p, v) ? "#" : "", prove_ptx_name(p, v), v), cut + 1);
}

/* A register that always has the value of another one, perhaps extended, shares its variable. */
static void merge_twin(Core *c, Cut *q, const Arrivals *in, uint32_t v) {
    Prover *p = &c->p;
    Terms *ts = &p->ts;
    unsigned width = prove_ptx_width(p, v);
    for (uint32_t u = 1; u < p->nptx; u++) {
        unsigned w = prove_ptx_width(p, u);
        bool wider = width == 64 && w == 32;
        if (u == v || !q->phi[u] || !q->pv[u] || (!wider && (u > v || w != width)) ||
            is_short(p, u) != is_short(p, v))
            continue;
        for (unsigned how = 0; how < (wider ? 2u : 1u); how++) {
            bool equal = true;
            for (uint32_t e = 0; e < in->n && equal; e++) {
                Term *x = in->at[e]->pv[u];
                equal = (!wider ? x : how ? t_sext(ts, x) : t_zext(ts, x)) == in->at[e]->pv[v];
            }
            if (equal) {
                q->pv[v] = !wider ? q->pv[u] : how ? t_sext(ts, q->pv[u]) : t_zext(ts, q->pv[u]);
                return;
            }
        }
    }
}

static void relate_ptx(Core *c, uint32_t cut, const Arrivals *in) {
    Prover *p = &c->p;
    Cut *q = &c->cuts.at[cut];
    for (uint32_t v = 0; v < p->nptx; v++) {
        bool same = true, defined = true;
        for (uint32_t e = 0; e < in->n; e++) {
            defined &= in->at[e]->pv[v] != NULL;
            same &= in->at[e]->pv[v] == in->at[0]->pv[v];
        }
        if (!defined) {
            q->pv[v] = NULL;
            continue;
        }
        if (!same)
            q->phi[v] = true;
        if (!q->phi[v]) {
            q->pv[v] = in->at[0]->pv[v];
            continue;
        }
        q->pv[v] = phi_of(c, cut, v);
    }
    for (uint32_t v = 1; v < p->nptx; v++)
        if (q->phi[v] && q->pv[v])
            merge_twin(c, q, in, v);
    for (unsigned s = 0; s < NMEM; s++) {
        bool same = true;
        for (uint32_t e = 0; e < in->n; e++)
            same &= in->at[e]->mem[s] == in->at[0]->mem[s];
        q->mem_phi[s] |= !same;
        q->mem[s] =
            q->mem_phi[s] ? t_var(&p->ts, 0, term_name(&p->ts, "memory %u", s), cut + 1) : in->at[0]->mem[s];
    }
}

/* Part of a PTX value that a location may hold. */
static Term *part(Terms *ts, Term *v, RelationKind how, Term *extra) {
    switch (how) {
    case RL_SAME: return v;
    case RL_NOT: return t_not(ts, v);
    case RL_LOW: return t_lo(ts, v);
    case RL_HIGH: return t_hi(ts, v);
    case RL_OFFSET: return t_add(ts, v, extra);
    default: return v;
    }
}

static bool holds(Core *c, const Arrivals *in, uint32_t l, const Relation *r) {
    Terms *ts = &c->p.ts;
    for (uint32_t e = 0; e < in->n; e++) {
        Term *v = in->at[e]->pv[r->value], *m = in->at[e]->lv[l];
        if (!v)
            return false;
        if (r->how == RL_SHORT ? t_zext_from(ts, m, 16) != v : part(ts, v, r->how, r->extra) != m)
            return false;
    }
    return true;
}

static bool try_relation(Core *c, Cut *q, const Arrivals *in, uint32_t l, uint32_t v, RelationKind how) {
    Terms *ts = &c->p.ts;
    Relation r = {v, how, NULL};
    if (how == RL_OFFSET) {
        if (!in->at[0]->pv[v])
            return false;
        r.extra = t_sub(ts, in->at[0]->lv[l], in->at[0]->pv[v]);
        if (!t_is_const(r.extra))
            return false;
    }
    if (!holds(c, in, l, &r))
        return false;
    q->relation[l] = r;
    return true;
}

static bool find_relation(Core *c, Cut *q, const Arrivals *in, uint32_t l) {
    Prover *p = &c->p;
    unsigned width = prove_loc_width(l);
    for (uint32_t v = 0; v < p->nptx; v++) {
        if (!q->phi[v] || !q->pv[v])
            continue;
        unsigned w = prove_ptx_width(p, v);
        if (width == 1) {
            if (w == 1 && (try_relation(c, q, in, l, v, RL_SAME) || try_relation(c, q, in, l, v, RL_NOT)))
                return true;
        } else if (w == 64) {
            if (try_relation(c, q, in, l, v, RL_LOW) || try_relation(c, q, in, l, v, RL_HIGH))
                return true;
        } else if (w == 32) {
            if (try_relation(c, q, in, l, v, RL_SAME) ||
                (is_short(p, v) && try_relation(c, q, in, l, v, RL_SHORT)))
                return true;
        }
    }
    for (uint32_t v = 0; v < p->nptx && width == 32; v++)
        if (q->phi[v] && q->pv[v] && prove_ptx_width(p, v) == 32 && !is_short(p, v) &&
            try_relation(c, q, in, l, v, RL_OFFSET))
            return true;
    return false;
}

static void relate_locations(Core *c, uint32_t cut, const Arrivals *in) {
    Prover *p = &c->p;
    Terms *ts = &p->ts;
    Cut *q = &c->cuts.at[cut];
    for (uint32_t l = 0; l < p->nloc; l++) {
        if (q->level[l] == LV_SAME) {
            bool same = true;
            for (uint32_t e = 0; e < in->n; e++)
                same &= in->at[e]->lv[l] == in->at[0]->lv[l];
            if (same) {
                q->lv[l] = in->at[0]->lv[l];
                continue;
            }
            q->level[l] = LV_RELATED;
            q->relation[l].value = UINT32_MAX;
        }
        if (q->level[l] == LV_RELATED &&
            (q->relation[l].value == UINT32_MAX || !holds(c, in, l, &q->relation[l])) &&
            !find_relation(c, q, in, l))
            q->level[l] = LV_FREE;
        Term *any = t_var(ts, prove_loc_width(l), term_name(ts, "?%u", l), cut + 1);
        if (q->level[l] == LV_FREE)
            q->lv[l] = any;
        else if (q->relation[l].how == RL_SHORT)
            q->lv[l] = t_lxor(ts, q->pv[q->relation[l].value], t_land(ts, any, t_const(ts, 32, 0xffff0000)));
        else
            q->lv[l] = part(ts, q->pv[q->relation[l].value], q->relation[l].how, q->relation[l].extra);
    }
}

/* State of a cut point from what arrives; true if it changed. */
static bool relate(Core *c, uint32_t cut) {
    Prover *p = &c->p;
    Cut *q = &c->cuts.at[cut];
    Arrivals in;
    arrivals_of(c, cut, &in);
    if (!in.n)
        return false;
    Term **pv = arena_copy(&p->arena, q->pv, p->nptx * sizeof *pv),
         **lv = arena_copy(&p->arena, q->lv, p->nloc * sizeof *lv);
    Term *mem[NMEM];
    memcpy(mem, q->mem, sizeof mem);
    relate_ptx(c, cut, &in);
    relate_locations(c, cut, &in);
    bool first = !q->reached;
    q->reached = true;
    return first || memcmp(pv, q->pv, p->nptx * sizeof *pv) != 0 ||
           memcmp(lv, q->lv, p->nloc * sizeof *lv) != 0 || memcmp(mem, q->mem, sizeof mem) != 0;
}

static bool out_of_time(Core *c) { return c->deadline > 0 && prove_now() > c->deadline; }

static void solve(Core *c) {
    relate(c, 0);
    c->cuts.at[0].dirty = true;
    uint64_t budget = 40ull * c->cuts.n + 100;
    for (bool work = true; work && budget;) {
        work = false;
        for (uint32_t k = 0; k < c->cuts.n && budget; k++) {
            Cut *q = &c->cuts.at[k];
            if (!q->dirty)
                continue;
            if (out_of_time(c) || c->p.ts.overflow) {
                c->gave_up = out_of_time(c) ? "the time limit" : "terms became too large";
                return;
            }
            budget--;
            q->dirty = false;
            work = true;
            core_run(c, q);
            core_edges(c, q);
            for (uint32_t t = 0; t < c->cuts.n; t++)
                if (relate(c, t))
                    c->cuts.at[t].dirty = true;
        }
    }
    if (!budget)
        c->gave_up = "the relation did not settle";
}

/* ---- one function ---- */
static bool setup(Core *c, const PtxModule *m, const PtxFunc *pf, const BinFlow *g, uint32_t func,
                  const ProveOptions *opt) {
    Prover *p = &c->p;
    *p = (Prover){.m = m,
                  .pf = pf,
                  .g = g,
                  .bf = &g->bin->funcs[func],
                  .ff = &g->funcs[func],
                  .opt = opt,
                  .func = func};
    terms_init(&p->ts);
    p->fixup = ARENA_ARRAY(&p->arena, const BinFixup *, g->bin->ncode + 1);
    for (uint32_t i = 0; i < g->bin->nfixups; i++) {
        const BinFixup *f = &g->bin->fixups[i];
        if (f->in_code && f->offset_bytes / INST_BYTES < g->bin->ncode)
            p->fixup[f->offset_bytes / INST_BYTES] = f;
    }
    if (!prove_ptx_graph(p)) {
        c->gave_up = "brx.idx is not modelled";
        return false;
    }
    return prove_mach_setup(p);
}

static void start(Core *c) {
    Prover *p = &c->p;
    c->entry.pv = ARENA_ARRAY(&p->arena, Term *, p->nptx);
    c->entry.lv = ARENA_ARRAY(&p->arena, Term *, p->nloc);
    prove_ptx_entry(p, c->entry.pv);
    prove_mach_entry(p, c->entry.lv);
    for (unsigned s = 0; s < NMEM; s++)
        c->entry.mem[s] = t_var(&p->ts, 0, term_name(&p->ts, "memory %u", s), 0);
}

static void prove_function(ProveReport *r, const PtxModule *m, const PtxFunc *pf, const BinFlow *g,
                           uint32_t func, const ProveOptions *opt, struct ProveZ3 *z3, double deadline) {
    ProveFunc *out = &r->funcs[r->nfuncs++];
    out->name = arena_copy(&r->arena, g->bin->funcs[func].name, strlen(g->bin->funcs[func].name) + 1);
    Core *c = calloc(1, sizeof *c);
    c->z3 = z3;
    c->deadline = deadline;
    if (setup(c, m, pf, g, func, opt)) {
        find_cuts(c);
        start(c);
        solve(c);
        prove_judge(c, r, out);
    } else {
        prove_skip(r, out, c->gave_up);
    }
    terms_free(&c->p.ts);
    arena_free(&c->p.arena);
    free(c);
}

/* ---- the built-in library, which is PTX too ---- */
enum { MAX_LIBRARY = 16 };
typedef struct {
    PtxModule *file[MAX_LIBRARY];
} Library;

static const PtxModule *library_of(Library *l, const char *name, uint32_t *index) {
    size_t size;
    const char *text;
    for (unsigned n = 0; n < MAX_LIBRARY && (text = lower_builtin_text(n, &size)); n++) {
        if (!memmem(text, size, name, strlen(name)))
            continue;
        Diags quiet = {0};
        if (!l->file[n])
            l->file[n] = ptx_parse(lower_builtin_file(n), text, size, &quiet);
        *index = l->file[n] ? ptx_find_func(l->file[n], name) : 0;
        if (*index)
            return l->file[n];
    }
    return NULL;
}
static void library_free(Library *l) {
    for (unsigned n = 0; n < MAX_LIBRARY; n++)
        if (l->file[n])
            ptx_free(l->file[n]);
}

bool prove_module(const PtxModule *m, const Binary *b, const ProveOptions *opt, ProveReport *r, Diags *d) {
    static const ProveOptions defaults = {0};
    opt = opt ? opt : &defaults;
    *r = (ProveReport){0};
    double begin = prove_now();
    BinFlow *g = binflow_new(b);
    if (!g)
        return false;
    struct ProveZ3 *z3 = prove_z3_open();
    r->has_z3 = z3 != NULL;
    r->funcs = ARENA_ARRAY(&r->arena, ProveFunc, b->nfuncs + 1);
    Library library = {{0}};
    for (uint32_t f = 0; f < b->nfuncs; f++) {
        uint32_t index = ptx_find_func(m, b->funcs[f].name);
        const PtxModule *from = index ? m : library_of(&library, b->funcs[f].name, &index);
        if (!from || !from->funcs[index - 1].has_body ||
            (opt->kernel && strcmp(opt->kernel, b->funcs[f].name) != 0))
            continue;
        prove_function(r, from, &from->funcs[index - 1], g, f, opt, z3,
                       opt->total_seconds > 0 ? begin + opt->total_seconds : 0);
        if (opt->progress)
            opt->progress(opt->user, b->funcs[f].name, f + 1, b->nfuncs);
    }
    library_free(&library);
    prove_z3_close(z3);
    binflow_free(g);
    r->seconds = prove_now() - begin;
    if (!r->nfuncs)
        return diag(d, (SrcLoc){0}, DIAG_E0802, opt->kernel ? opt->kernel : "of the PTX");
    return true;
}

void prove_report_free(ProveReport *r) {
    arena_free(&r->arena);
    *r = (ProveReport){0};
}
