/* The prover's core: cut points, the relation at them, and what each region must show. See prove.h and
 * docs/prove.md.
 *
 * The relation is found by iteration from below: at first every location is believed to hold what the first
 * path that reaches a cut point brings; where another path brings something else, a PTX register becomes a
 * variable of the cut point, and a machine location the variable of a PTX register whose value it holds on
 * every path. What remains when nothing changes any more has been checked on every edge, so it holds by
 * induction over the execution.
 * SPDX-License-Identifier: MIT */
#include "check/prove/core/core.h"
#include "base/clock.h"
#include "base/demangle.h"
#include "check/prove/core/certificate.h"
#include "base/scope.h"
#include "check/flow/contents.h"
#include "frontend/const_layout.h"
#include "ir/dominators.h"
#include "lower/lower.h" /* text of the built-in library */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the relation at a cut point ---- */
static void arrivals_of(Core *core, uint32_t cut, Arrivals *in) {
    *in = (Arrivals){0};
    if (cut == 0)
        VEC_ADD(&core->p.arena, in, &core->entry);
    for (uint32_t q = 0; q < core->cuts.n; q++)
        for (uint32_t e = 0; e < core->cuts.at[q].edges.n; e++)
            if (core->cuts.at[q].edges.at[e].to == cut)
                VEC_ADD(&core->p.arena, in, &core->cuts.at[q].edges.at[e]);
}

/* The high word of a register of 64 bits that is one on all paths, or NULL. */
static Term *common_high(Core *core, const Arrivals *in, uint32_t v) {
    Term *high = NULL;
    for (uint32_t e = 0; e < in->n; e++) {
        Term *value = in->at[e]->pv[v];
        if (!value || value->width != 64 || (high && t_hi(&core->p.ts, value) != high))
            return NULL;
        high = t_hi(&core->p.ts, value);
    }
    return high;
}

Term *prove_core_variable(Core *core, uint32_t cut, uint32_t v, Term *high) {
    Prover *prover = &core->p;
    Terms *ts = &prover->ts;
    if (high)
        return t_pair(ts, t_var(ts, 32, term_name(ts, "%s.%u.lo", prove_ptx_name(prover, v), v), cut + 1),
                      high);
    return t_var(
        ts, prove_ptx_width(prover, v),
        term_name(ts, "%s%s.%u", prove_ptx_short(prover, v) ? "#" : "", prove_ptx_name(prover, v), v),
        cut + 1);
}

/* A round begins with variables, as a loop's does, though one way leads to it: what rounds one after the
 * other have made of a value would be one term. */
static bool is_made_in_rounds(const Core *core, const Cut *here, const Term *value, uint32_t v) {
    return here->round && value && !t_is_const(value) && prove_ptx_grows(&core->p, here->ptx, v);
}

static void relate_ptx(Core *core, uint32_t cut, const Arrivals *in) {
    Prover *prover = &core->p;
    Cut *here = &core->cuts.at[cut];
    for (uint32_t v = 0; v < prover->nptx; v++) {
        bool same = true, whole = true, defined = false; /* on some path; on others any value will do */
        for (uint32_t e = 0; e < in->n; e++) {
            defined |= in->at[e]->pv[v] != NULL;
            same &= in->at[e]->pv[v] == in->at[0]->pv[v];
            whole &= in->at[e]->whole_pv[v] == in->at[0]->whole_pv[v];
        }
        if (!defined) { /* not yet again, behind restart_below: what it was is right of any value */
            here->pv[v] = here->phi[v] ? here->pv[v] : NULL;
            continue;
        }
        if (is_made_in_rounds(core, here, in->at[0]->pv[v], v))
            here->phi[v] = PHI_ALL;
        here->whole[v] = (here->whole[v] || !same) && whole && !here->phi[v];
        if (!same && !here->whole[v] && !here->phi[v])
            here->phi[v] = PHI_LOW;
        if (!here->phi[v]) {
            here->pv[v] = here->whole[v] ? in->at[0]->whole_pv[v] : in->at[0]->pv[v];
            continue;
        }
        Term *high = here->phi[v] == PHI_LOW ? common_high(core, in, v) : NULL;
        if (!high)
            here->phi[v] = PHI_ALL;
        here->pv[v] = prove_core_variable(core, cut, v, high);
    }
    prove_twins_find(core, here, in);
    for (unsigned s = 0; s < NMEM; s++) {
        bool same = true;
        for (uint32_t e = 0; e < in->n; e++)
            same &= in->at[e]->mem[s] == in->at[0]->mem[s];
        here->mem_phi[s] |= !same || (here->round && in->at[0]->mem[s]->kind == TK_EVENT);
        here->mem[s] = here->mem_phi[s]
                           ? t_var(&prover->ts, 0, term_name(&prover->ts, "memory %u", s), cut + 1)
                           : in->at[0]->mem[s];
    }
}

/* Part of a PTX value that a location may hold. */
Term *prove_core_part(Terms *ts, Term *v, const Relation *relation) {
    switch (relation->how) {
    case RL_SAME: return v;
    case RL_NOT: return t_not(ts, v);
    case RL_LOW: return t_lo(ts, v);
    case RL_HIGH: return t_hi(ts, v);
    case RL_OFFSET: return t_add(ts, v, relation->extra);
    case RL_ONE: return t_b2i(ts, v);
    case RL_ZERO: return t_b2i(ts, t_not(ts, v));
    default: return v;
    }
}

Term *prove_core_unknown(Core *core, uint32_t cut, uint32_t l) {
    Terms *ts = &core->p.ts;
    return t_var(ts, prove_loc_width(l), term_name(ts, "?%u", l), cut + 1);
}

Term *prove_core_held(Core *core, uint32_t cut, uint32_t l) {
    Terms *ts = &core->p.ts;
    const Cut *here = &core->cuts.at[cut];
    const Relation *relation = &here->relation[l];
    Term *value = (here->level[l] == LV_SEEN ? here->seen : here->pv)[relation->value];
    return relation->how == RL_SHORT
               ? t_lxor(ts, value, t_land(ts, prove_core_unknown(core, cut, l), t_const(ts, 32, 0xffff0000)))
               : prove_core_part(ts, value, relation);
}

static Term **choice(const Edge *edge, const Relation *relation) {
    return &edge->chosen[2 * (size_t)relation->value + (relation->how == RL_HIGH)];
}

static bool holds_word(const Relation *relation) {
    return relation->how == RL_LOW || relation->how == RL_HIGH;
}

bool prove_core_brings(Core *core, const Edge *edge, uint32_t l, const Relation *relation) {
    Terms *ts = &core->p.ts;
    Term *value = edge->pv[relation->value], *has = edge->lv[l];
    if (!value) {
        value = *choice(edge, relation);
        if (holds_word(relation) || !value)
            return value ? value == has : holds_word(relation) || relation->how == RL_SAME;
    }
    return relation->how == RL_SHORT ? t_zext_from(ts, has, 16) == value
                                     : prove_core_part(ts, value, relation) == has;
}

void prove_core_choose(const Edge *edge, uint32_t l, const Relation *relation) {
    if (!edge->pv[relation->value] && !*choice(edge, relation) &&
        (holds_word(relation) || relation->how == RL_SAME))
        *choice(edge, relation) = edge->lv[l];
}

static bool holds(Core *core, const Arrivals *in, uint32_t l, const Relation *relation) {
    for (uint32_t e = 0; e < in->n; e++)
        if (!prove_core_brings(core, in->at[e], l, relation))
            return false;
    return true;
}

static bool try_relation(Core *core, Cut *cut, const Arrivals *in, uint32_t l, uint32_t v, RelationKind how) {
    Terms *ts = &core->p.ts;
    Relation r = {v, how, NULL};
    if (how == RL_OFFSET) {
        if (!in->at[0]->pv[v])
            return false;
        r.extra = t_sub(ts, in->at[0]->lv[l], in->at[0]->pv[v]);
        if (!t_is_const(r.extra))
            return false;
    }
    if (!holds(core, in, l, &r))
        return false;
    cut->relation[l] = r;
    return true;
}

static bool find_relation(Core *core, Cut *cut, const Arrivals *in, uint32_t l) {
    Prover *prover = &core->p;
    unsigned width = prove_loc_width(l);
    for (uint32_t v = 0; v < prover->nptx; v++) {
        if (!cut->phi[v] || !cut->pv[v])
            continue;
        unsigned w = prove_ptx_width(prover, v);
        if (width == 1) {
            if (w == 1 &&
                (try_relation(core, cut, in, l, v, RL_SAME) || try_relation(core, cut, in, l, v, RL_NOT)))
                return true;
        } else if (w == 1) {
            if (try_relation(core, cut, in, l, v, RL_ONE) || try_relation(core, cut, in, l, v, RL_ZERO))
                return true;
        } else if (w == 64) {
            if (try_relation(core, cut, in, l, v, RL_LOW) || try_relation(core, cut, in, l, v, RL_HIGH))
                return true;
        } else if (w == 32) {
            if (try_relation(core, cut, in, l, v, RL_SAME) ||
                (prove_ptx_short(prover, v) && try_relation(core, cut, in, l, v, RL_SHORT)))
                return true;
        }
    }
    for (uint32_t v = 0; v < prover->nptx && width == 32; v++)
        if (cut->phi[v] && cut->pv[v] && prove_ptx_width(prover, v) == 32 && !prove_ptx_short(prover, v) &&
            try_relation(core, cut, in, l, v, RL_OFFSET))
            return true;
    return false;
}

/* Is it a number, or what a value of the PTX that does not differ has? */
static bool is_a_value(const Core *core, const Cut *cut, const Term *term) {
    for (uint32_t v = 0; v < core->p.nptx; v++)
        if (cut->pv[v] == term)
            return true;
    return t_is_const(term);
}

static void relate_locations(Core *core, uint32_t cut, const Arrivals *in) {
    Prover *prover = &core->p;
    Cut *here = &core->cuts.at[cut];
    for (uint32_t l = 0; l < prover->nloc; l++) {
        if (here->level[l] <= LV_WHOLE) {
            bool same = here->level[l] == LV_SAME, whole = true;
            for (uint32_t e = 0; e < in->n; e++) {
                same &= in->at[e]->lv[l] == in->at[0]->lv[l];
                whole &= in->at[e]->whole_lv[l] == in->at[0]->whole_lv[l];
            }
            /* a variable of the PTX says more than a term that one side has alone */
            bool related = (!same || (here->round && !is_a_value(core, here, in->at[0]->lv[l]))) &&
                           find_relation(core, here, in, l);
            same &= !related;
            here->level[l] = same ? LV_SAME : whole && !related ? LV_WHOLE : LV_RELATED;
            if (here->level[l] <= LV_WHOLE) {
                here->lv[l] = same ? in->at[0]->lv[l] : in->at[0]->whole_lv[l];
                continue;
            }
            if (!related)
                here->relation[l].value = UINT32_MAX;
        }
        if (here->level[l] == LV_RELATED &&
            (here->relation[l].value == UINT32_MAX || !here->pv[here->relation[l].value] ||
             !holds(core, in, l, &here->relation[l])) &&
            !find_relation(core, here, in, l))
            here->level[l] = LV_SEEN;
        if (here->level[l] == LV_SEEN && !prove_guards_find(core, here, in, l))
            here->level[l] = LV_FREE;
        for (uint32_t e = 0; e < in->n && here->level[l] == LV_RELATED; e++)
            prove_core_choose(in->at[e], l, &here->relation[l]);
        here->lv[l] =
            here->level[l] == LV_FREE ? prove_core_unknown(core, cut, l) : prove_core_held(core, cut, l);
    }
}

/* State of a cut point from what arrives; true if it changed. */
static bool relate(Core *core, uint32_t cut) {
    Prover *prover = &core->p;
    Cut *here = &core->cuts.at[cut];
    Arrivals in;
    ArenaMark mark = arena_mark(&prover->arena);
    arrivals_of(core, cut, &in);
    if (!in.n) {
        arena_release(&prover->arena, mark);
        return false;
    }
    Term **pv = arena_copy(&prover->arena, here->pv, prover->nptx * sizeof *pv),
         **lv = arena_copy(&prover->arena, here->lv, prover->nloc * sizeof *lv);
    Term **seen = arena_copy(&prover->arena, here->seen, (prover->nseen + 1) * sizeof *seen),
         *known = here->known, *mem[NMEM];
    memcpy(mem, here->mem, sizeof mem);
    for (uint32_t e = 0; e < in.n; e++)
        memset(in.at[e]->chosen, 0, 2 * (size_t)prover->nptx * sizeof(Term *));
    prove_guards_relate(core, here, &in);
    relate_ptx(core, cut, &in);
    relate_locations(core, cut, &in);
    bool first = !here->reached;
    here->reached = true;
    bool changed = first || memcmp(pv, here->pv, prover->nptx * sizeof *pv) != 0 ||
                   memcmp(lv, here->lv, prover->nloc * sizeof *lv) != 0 ||
                   memcmp(seen, here->seen, prover->nseen * sizeof *seen) != 0 || known != here->known ||
                   memcmp(mem, here->mem, sizeof mem) != 0;
    arena_release(&prover->arena, mark);
    return changed;
}

enum { MAX_TERMS = 4000000, MAX_MIB = 512 };

static const char *exhausted_but_for_size(const Core *core) {
    const Prover *prover = &core->p;
    size_t most = prover->opt->max_bytes ? prover->opt->max_bytes : (size_t)MAX_MIB << 20;
    if (core->deadline > 0 && clock_cpu_seconds() > core->deadline)
        return "the time limit";
    size_t bytes = prover->arena.total_bytes + prover->ts.arena.total_bytes;
    for (uint32_t k = 0; k < core->cuts.n; k++)
        bytes += core->cuts.at[k].arena.total_bytes;
    if (bytes > most)
        return "the memory limit of a function";
    if (prover->ts.next_id > prover->ts.max_terms)
        return "the budget of a function";
    return NULL;
}
const char *prove_core_exhausted(const Core *core) {
    const char *why = exhausted_but_for_size(core);
    return why ? why : core->p.ts.overflow ? "terms became too large" : NULL;
}

static void targets_are_stale(Core *core, const Cut *cut) {
    for (uint32_t e = 0; e < cut->edges.n; e++)
        core->cuts.at[cut->edges.at[e].to].stale = true;
}

static void forget_edges(Core *core, Cut *cut) {
    targets_are_stale(core, cut);
    memset(&cut->edges, 0, sizeof cut->edges);
}

/* What stands below a cut point whose state has changed was found from the state before: a loop there would
 * bring back what no longer comes in, and make a variable of what does not vary. It starts anew. */
static void restart_below(Core *core, const DomTree *dominators, uint32_t changed) {
    const Prover *prover = &core->p;
    uint32_t first = prover->ff->first_block, above = core->cuts.at[changed].mach - first;
    forget_edges(core, &core->cuts.at[changed]);
    for (uint32_t c = 0; c < core->cuts.n; c++) {
        Cut *cut = &core->cuts.at[c];
        if (c == changed || !cut->reached || !dom_contains(dominators, above, cut->mach - first))
            continue;
        forget_edges(core, cut);
        memset(cut->phi, 0, prover->nptx * sizeof *cut->phi);
        memset(cut->whole, 0, prover->nptx * sizeof *cut->whole);
        memset(cut->twin, 0, prover->nptx * sizeof *cut->twin);
        memset(cut->level, 0, prover->nloc * sizeof *cut->level);
        memset(cut->mem_phi, 0, sizeof cut->mem_phi);
        memset(cut->seen_level, 0, prover->nseen * sizeof *cut->seen_level);
        cut->reached = cut->dirty = false;
    }
}

/* Terms of one region became too large: it says nothing, and the others are not concerned. */
static void leave_out(Core *core, Cut *cut) {
    term_recover(&core->p.ts);
    Run *runs[] = {&cut->ptx_run, &cut->mach_run};
    for (unsigned side = 0; side < 2; side++) {
        *runs[side] = (Run){.first = runs[side]->first, .last = runs[side]->last};
        runs[side]->fault = "terms became too large";
        runs[side]->fault_at = runs[side]->first;
    }
    memset(&cut->edges, 0, sizeof cut->edges);
}

static void run_anew(Core *core, Cut *cut) {
    Prover *prover = &core->p;
    arena_free(&cut->arena);
    prover->run_arena = &cut->arena;
    prove_core_run(core, cut);
    prove_core_edges(core, cut);
    if (prover->ts.overflow && !exhausted_but_for_size(core))
        leave_out(core, cut);
    prover->run_arena = &prover->arena;
}

enum { MOST_RESTARTS = 2 }; /* by cut point; then what is below keeps the variables it has */

static void solve(Core *core) {
    Graph graph = prove_mach_graph(&core->p);
    DomTree dominators = dom_tree(&core->p.arena, &graph, GRAPH_FORWARD, 0);
    relate(core, 0);
    core->cuts.at[0].dirty = true;
    uint64_t budget = 200ull * core->cuts.n + 100;
    for (bool work = true; work && budget;) {
        work = false;
        for (uint32_t k = 0; k < core->cuts.n && budget; k++) {
            Cut *cut = &core->cuts.at[k];
            if (!cut->dirty)
                continue;
            scope_poll();
            core->gave_up = prove_core_exhausted(core);
            if (core->gave_up)
                return;
            budget--;
            cut->dirty = false;
            work = true;
            forget_edges(core, cut);
            run_anew(core, cut);
            targets_are_stale(core, cut);
            for (uint32_t t = 0; t < core->cuts.n; t++) {
                bool known = core->cuts.at[t].reached, stale = core->cuts.at[t].stale;
                core->cuts.at[t].stale = false;
                if (!stale || !relate(core, t))
                    continue;
                core->cuts.at[t].dirty = true;
                if (known && core->cuts.at[t].restarts++ < MOST_RESTARTS)
                    restart_below(core, &dominators, t);
            }
        }
    }
    core->gave_up = prove_core_exhausted(core);
    if (!budget && !core->gave_up)
        core->gave_up = "the relation did not settle";
}

/* ---- one function ---- */
static bool setup(Core *core, const PtxModule *module, const PtxFunc *pf, const SharedLayout *shared,
                  const BinFlow *flow, uint32_t func, const ProveOptions *opt) {
    Prover *prover = &core->p;
    *prover = (Prover){.entered = prover->entered,
                       .module = module,
                       .pf = pf,
                       .shared = shared,
                       .flow = flow,
                       .bf = &flow->bin->funcs[func],
                       .ff = &flow->funcs[func],
                       .opt = opt,
                       .func = func};
    prover->run_arena = &prover->arena;
    prover->const_at = ARENA_ARRAY(&prover->arena, uint64_t, module->nvars + 1);
    prover->const_bytes = (uint32_t)ptx_const_layout(module, UINT32_MAX, prover->const_at);
    for (uint32_t k = 0; k < module->nvars;
         k++) { /* where the file has them: check/flow/contents.h looks at that */
        const BinVar *var = module->vars[k].space == SP_CONST ? bin_contents_var(module, flow->bin, k) : NULL;
        if (var)
            prover->const_at[k] = var->offset_bytes;
    }
    term_init(&prover->ts);
    prover->ts.max_terms = opt->max_terms ? opt->max_terms : MAX_TERMS;
    prover->ts.max_steps = opt->max_steps ? opt->max_steps : prover->ts.max_steps;
    prover->ts.deadline = core->deadline;
    prover->fixup = ARENA_ARRAY(&prover->arena, const BinFixup *, flow->bin->ncode + 1);
    for (uint32_t i = 0; i < flow->bin->nfixups; i++) {
        const BinFixup *bin_fixup = &flow->bin->fixups[i];
        if (!bin_fixup->in_code || bin_fixup->offset_bytes / INST_BYTES >= flow->bin->ncode)
            continue;
        if (prover->fixup[bin_fixup->offset_bytes / INST_BYTES]) {
            core->gave_up = "an instruction has two relocations";
            return false;
        }
        prover->fixup[bin_fixup->offset_bytes / INST_BYTES] = bin_fixup;
    }
    prover->assumed = ARENA_ARRAY(&prover->arena, uint8_t, pf->ninsns + 1);
    if (!prove_ptx_graph(prover)) {
        core->gave_up = "a brx.idx without a table";
        return false;
    }
    prove_rows_setup(prover);
    return prove_mach_setup(prover);
}

void prove_core_start(Core *core) {
    Prover *prover = &core->p;
    core->entry.pv = ARENA_ARRAY(&prover->arena, Term *, prover->nptx);
    core->entry.lv = ARENA_ARRAY(&prover->arena, Term *, prover->nloc);
    core->entry.chosen = ARENA_ARRAY(&prover->arena, Term *, 2 * (size_t)prover->nptx);
    prove_ptx_entry(prover, core->entry.pv);
    prove_mach_entry(prover, core->entry.lv);
    core->entry.whole_pv = core->entry.pv;
    core->entry.whole_lv = core->entry.lv;
    for (unsigned s = 0; s < NMEM; s++)
        core->entry.mem[s] = t_var(&prover->ts, 0, term_name(&prover->ts, "memory %u", s), 0);
}

typedef struct {     /* CPU time of a module */
    double end;      /* of clock_cpu_seconds; 0: no limit */
    uint32_t behind; /* functions that come after this one */
} Budget;

/* Each function may use an equal part of what is left; what it does not use is the others'. */
static double deadline_of(const Budget *budget) {
    double now = clock_cpu_seconds();
    return budget->end > 0 ? now + (budget->end - now) / (budget->behind + 1) : 0;
}

typedef struct { /* a function to prove, and what all of them share */
    const PtxModule *module;
    const PtxFunc *func;
    const SharedLayout *shared;
    const BinFlow *flow;
    uint32_t index;
    const ProveOptions *opt;
    ProveSolver *solver;
    ProveTrials *trials;
    ProveMasks *masks;
    const bool *entered; /* as in BinCheckReport */
    const Budget *budget;
} Task;

static Core *core_of(const Task *task, ProveMasks *masks, bool *ready) {
    Core *core = mem_zeroed(1, sizeof *core);
    core->solver = task->solver;
    core->trials = task->trials;
    core->masks = masks;
    core->deadline = deadline_of(task->budget);
    core->p.entered = task->entered;
    *ready = setup(core, task->module, task->func, task->shared, task->flow, task->index, task->opt);
    return core;
}
static void core_free(Core *core) {
    for (uint32_t k = 0; k < core->cuts.n; k++)
        arena_free(&core->cuts.at[k].arena);
    prove_foreign_free(&core->p);
    term_free(&core->p.ts);
    arena_free(&core->p.arena);
    mem_free(core);
}

/* A round is small: what takes long is none. */
static void limit_to_rounds(Core *core, ProveOptions *options) {
    static const double SECONDS = 0.5; /* of a query */
    enum { STEPS = 500000 };
    *options = *core->p.opt;
    options->only_whether = true;
    options->no_launches = true;
    if (options->query_seconds <= 0 || options->query_seconds > SECONDS)
        options->query_seconds = SECONDS;
    if (core->p.ts.max_steps > STEPS)
        core->p.ts.max_steps = STEPS;
    core->p.opt = options;
}

/* Search for a proof; what was found goes to out->certificate if it is one. Whether each round of an unrolled
 * loop was a region, and they were not proved: nothing is said then. */
static bool search_once(const Task *task, bool by_rounds, ProveReport *report, ProveFunc *out) {
    ProveMasks masks = {.arena = {0}}; /* those of the pass that checks count */
    ProveOptions options;
    bool ready, proved = false;
    Core *core = core_of(task, &masks, &ready);
    if (ready) {
        core->by_rounds = prove_core_find_cuts(core, by_rounds);
        if (core->by_rounds)
            limit_to_rounds(core, &options);
        prove_core_start(core);
        solve(core);
        prove_judge(core, report, out);
        proved = !out->count[PROVE_UNKNOWN] && !out->count[PROVE_REFUTED];
        if (proved || !core->by_rounds)
            prove_assumptions(&core->p, report, out->name);
        if (proved) {
            prove_guards_trim(core);
            out->certificate = prove_certificate_write(core, &report->arena);
        }
    } else {
        prove_skip(report, out, core->gave_up);
    }
    bool again = core->by_rounds && !proved;
    core_free(core);
    arena_free(&masks.arena);
    return again;
}

/* First with a region for each round of unrolled loops, as far as the map says where one begins, for terms of
 * one are small; then such loops are followed. */
static void search(const Task *task, ProveReport *report, ProveFunc *out) {
    ProveFunc before = *out;
    uint32_t count[PROVE_NSTATUS], predicated[PROVE_NSTATUS];
    memcpy(count, report->count, sizeof count);
    memcpy(predicated, report->predicated, sizeof predicated);
    if (!search_once(task, true, report, out))
        return;
    *out = before;
    memcpy(report->count, count, sizeof count);
    memcpy(report->predicated, predicated, sizeof predicated);
    search_once(task, false, report, out);
}

/* Repeat it from the certificate alone: what this pass does not show is unknown. */
static void check(const Task *task, ProveReport *report, ProveFunc *out, bool alone) {
    bool ready;
    ProveOptions options = *task->opt;
    Task again = *task;
    options.no_launches = true;
    again.opt = &options;
    Core *core = core_of(&again, task->masks, &ready);
    if (ready && prove_certificate_read(core, out->certificate)) {
        prove_core_start(core);
        prove_certificate_check(core);
    } else {
        prove_core_no_cuts(core);
    }
    ProveFunc shown = {.name = out->name, .certificate = out->certificate};
    uint32_t count[PROVE_NSTATUS], predicated[PROVE_NSTATUS];
    memcpy(count, report->count, sizeof count);
    memcpy(predicated, report->predicated, sizeof predicated);
    if (core->cuts.n)
        prove_judge(core, report, &shown);
    else
        prove_skip(report, &shown, core->gave_up);
    bool same = !shown.count[PROVE_UNKNOWN] && !shown.count[PROVE_REFUTED];
    if (alone) {
        prove_assumptions(&core->p, report, out->name);
        *out = shown;
    } else if (same) { /* counted once, with what the search says of its regions */
        memcpy(report->count, count, sizeof count);
        memcpy(report->predicated, predicated, sizeof predicated);
    } else {
        for (unsigned k = 0; k < PROVE_NSTATUS; k++) {
            report->count[k] -= out->count[k];
            report->predicated[k] -= out->predicated[k];
        }
        *out = shown;
    }
    core_free(core);
}

static void prove_function(const Task *task, ProveReport *report) {
    ProveFunc *out = &report->funcs[report->nfuncs++];
    const char *name = task->flow->bin->funcs[task->index].name;
    out->name = arena_printf(&report->arena, "%s", name);
    bool alone = task->opt->certificate != NULL;
    if (alone)
        out->certificate = prove_certificate_of(task->opt->certificate, name);
    else
        search(task, report, out);
    if (out->certificate)
        check(task, report, out, alone);
    else if (alone)
        prove_skip(report, out, "the certificate does not have the function");
}

/* ---- the built-in library, which is PTX too ---- */
enum { MAX_LIBRARY = 16 };
typedef struct {
    PtxModule *file[MAX_LIBRARY];
} Library;

static const PtxModule *library_of(Library *library, const char *name, uint32_t *index) {
    size_t size;
    const char *text;
    for (unsigned n = 0; n < MAX_LIBRARY && (text = lower_builtin_text(n, &size)); n++) {
        if (!memmem(text, size, name, strlen(name)))
            continue;
        Diags quiet = {0};
        if (!library->file[n])
            library->file[n] = ptx_parse(lower_builtin_file(n), text, size, &quiet);
        *index = library->file[n] ? ptx_find_func(library->file[n], name) : 0;
        if (*index)
            return library->file[n];
    }
    return NULL;
}
static void library_free(Library *library) {
    for (unsigned n = 0; n < MAX_LIBRARY; n++)
        if (library->file[n])
            ptx_free(library->file[n]);
}

/* Nothing that follows can change the answer. */
static bool is_decided(const ProveReport *report, const ProveOptions *opt) {
    return opt->only_whether &&
           (report->facts.n || report->count[PROVE_UNKNOWN] || report->count[PROVE_REFUTED]);
}

/* The functions in their order; with a limit of time small ones first, so that what they leave is for the
 * large ones; in any case a `first` that is asked for. How many there are. */
static uint32_t order_of(const BinFlow *flow, const ProveOptions *opt, const bool *wanted, uint32_t *order) {
    uint32_t n = 0, nfuncs = flow->bin->nfuncs;
    const BinFunc *lead = opt->first ? binary_find(flow->bin, opt->first) : NULL;
    for (uint32_t f = 0; f < nfuncs; f++) {
        if (!wanted[f])
            continue;
        uint32_t at = n++;
        for (; at && (lead == &flow->bin->funcs[f] ||
                      (opt->total_seconds > 0 && lead != &flow->bin->funcs[order[at - 1]] &&
                       flow->funcs[f].ninsts < flow->funcs[order[at - 1]].ninsts));
             at--)
            order[at] = order[at - 1];
        order[at] = f;
    }
    return n;
}

/* Back into the order of the binary. */
static void sort_report(ProveReport *report, const Binary *binary) {
    for (uint32_t k = 1; k < report->nfuncs; k++) {
        ProveFunc func = report->funcs[k];
        uint32_t at = k;
        for (; at && binary_find(binary, func.name) < binary_find(binary, report->funcs[at - 1].name); at--)
            report->funcs[at] = report->funcs[at - 1];
        report->funcs[at] = func;
    }
}

/* Says which kernels there are. */
static bool nothing_proved(const Binary *binary, const char *wanted, Diags *d) {
    Arena a = {0};
    VEC(const char *) kernels = {0};
    for (uint32_t k = 0; k < binary->nfuncs; k++)
        if (binary->funcs[k].is_entry)
            VEC_ADD(&a, &kernels, binary->funcs[k].name);
    diag(d, (SrcLoc){0}, DIAG_E0802,
         arena_printf(&a, kernels.n ? "%s; its kernels are %s" : "%s", wanted ? wanted : "of the PTX",
                      str_list_symbols(&a, kernels.at, kernels.n)));
    arena_free(&a);
    return false;
}

static void close_solver(ProveSolver *solver) {
    prove_z3_close(solver->z3);
    prove_answers_free(&solver->answers);
}
ProveSolver *prove_kept_new(void) { return mem_zeroed(1, sizeof(ProveSolver)); }
void prove_kept_free(ProveSolver *kept) {
    close_solver(kept);
    mem_free(kept);
}

bool prove_module(const PtxModule *m, const Binary *binary, const ProveOptions *opt, ProveReport *report,
                  Diags *d) {
    static const ProveOptions defaults = {0};
    opt = opt ? opt : &defaults;
    *report = (ProveReport){0};
    double begin = clock_seconds();
    Budget budget = {.end = opt->total_seconds > 0 ? clock_cpu_seconds() + opt->total_seconds : 0};
    BinFlow *g = bin_flow_new(binary);
    SharedLayout shared = ptx_shared_layout(m, &report->arena);
    prove_contents(m, &shared, g, opt, report);
    ProveSolver own = {0}, *solver = opt->kept ? opt->kept : &own;
    report->funcs = ARENA_ARRAY(&report->arena, ProveFunc, binary->nfuncs + 1);
    ProveTrials trials = {m, g, ARENA_ARRAY(&report->arena, const char *, binary->nfuncs + 1), &report->arena,
                          opt->no_launches};
    ProveMasks masks = {.arena = {0}};
    Library library = {{0}};
    const bool *entered = check_entered_lanes(g, &report->arena);
    const bool *wanted = prove_functions_below(g, opt->kernel, &report->arena);
    uint32_t *order = ARENA_ARRAY(&report->arena, uint32_t, binary->nfuncs + 1),
             n = order_of(g, opt, wanted, order);
    for (uint32_t k = 0; k < n && !is_decided(report, opt); k++) {
        uint32_t f = order[k], index = ptx_find_func(m, binary->funcs[f].name);
        const PtxModule *from = index ? m : library_of(&library, binary->funcs[f].name, &index);
        if (!from || !from->funcs[index - 1].has_body)
            continue;
        budget.behind = n - k - 1;
        prove_function(&(Task){from, &from->funcs[index - 1], from == m ? &shared : NULL, g, f, opt, solver,
                               &trials, &masks, entered, &budget},
                       report);
        if (opt->progress)
            opt->progress(opt->user, binary->funcs[f].name, k + 1, n);
    }
    if (!is_decided(report, opt))
        prove_meeting(m, g, &masks, opt, report);
    arena_free(&masks.arena);
    sort_report(report, binary);
    if (!opt->only_whether)
        prove_confirm(&trials, report);
    library_free(&library);
    report->lacks_z3 = solver->opened && !solver->z3;
    close_solver(&own);
    bin_flow_free(g);
    report->seconds = clock_seconds() - begin;
    if (!report->nfuncs && !report->facts.n)
        return nothing_proved(binary, opt->kernel, d);
    return true;
}

static Verdict verdict_of(ProveStatus status) {
    return status == PROVE_REFUTED   ? VERDICT_REFUTED
           : status == PROVE_UNKNOWN ? VERDICT_UNKNOWN
                                     : VERDICT_PROVED;
}

Verdict prove_verdict_of(const ProveReport *report, const char *func) {
    Verdict verdict = VERDICT_PROVED;
    bool known = false;
    for (uint32_t i = 0; i < report->nfuncs; i++)
        for (uint32_t s = 0; s < PROVE_NSTATUS && (!func || strcmp(report->funcs[i].name, func) == 0); s++) {
            known = true;
            if (report->funcs[i].not_compiled)
                verdict = verdict_worse(verdict, VERDICT_NOT_COMPILED);
            if (report->funcs[i].count[s])
                verdict = verdict_worse(verdict, verdict_of((ProveStatus)s));
        }
    for (uint32_t k = 0; k < report->facts.n; k++) {
        const ProveFact *fact = &report->facts.at[k];
        if (func && fact->func && strcmp(fact->func, func) != 0)
            continue;
        verdict = verdict_worse(verdict, verdict_of(fact->status));
    }
    for (uint32_t k = 0; k < report->assumptions.n; k++) {
        const ProveAssumption *assumed = &report->assumptions.at[k];
        if ((!func || strcmp(assumed->func, func) == 0) && prove_assumed_of_compiler(assumed->kind))
            verdict = verdict_worse(verdict, VERDICT_ASSUMING);
    }
    return known ? verdict : verdict_worse(verdict, VERDICT_UNKNOWN);
}

Verdict prove_verdict(const ProveReport *report) { return prove_verdict_of(report, NULL); }

void prove_report_free(ProveReport *report) {
    arena_free(&report->arena);
    *report = (ProveReport){0};
}
