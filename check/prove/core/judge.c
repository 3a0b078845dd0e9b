/* What a region must show, once the relation at the cut points is known: the same exits under the same
 * conditions, the same memory events, no load that the PTX would not do, the same results, and what the map
 * says of the next cut point. What is not equal as it stands goes down the ladder: Z3 with uninterpreted
 * operations, Z3 bit by bit, concrete values.
 * SPDX-License-Identifier: MIT */
#include "check/prove/core/core.h"
#include "base/clock.h"
#include "check/prove/core/judge.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void prove_judge_unknown(Judge *judge, const char *why, uint32_t ptx_at, uint32_t mach_at) {
    if (judge->out->status != PROVE_UNKNOWN && judge->out->status != PROVE_REFUTED) {
        judge->out->status = PROVE_UNKNOWN;
        judge->out->reason = why;
        judge->bad_ptx = ptx_at;
        judge->bad_mach = mach_at;
    }
}

void prove_judge_candidate(Judge *judge, const char *why, uint32_t ptx_at, uint32_t mach_at) {
    if (judge->out->status == PROVE_REFUTED)
        return;
    prove_judge_unknown(judge, why, ptx_at, mach_at);
    judge->out->candidate = true;
}

/* Concrete lane values under which `cond` holds and x and y differ; the seed of the assignment, 0 if none was
 * found. */
static uint64_t counterexample(Judge *judge, Term *cond, Term *x, Term *y) {
    for (uint64_t seed = 1; seed <= 400; seed++) {
        TermEval *e = term_eval_new(&judge->core->p.ts, seed);
        bool found = term_eval(e, cond) && term_eval(e, x) != term_eval(e, y);
        term_eval_free(e);
        if (found)
            return seed;
    }
    return 0;
}

struct ProveZ3 *prove_core_solver(Core *core) {
    if (!core->solver->opened) {
        core->solver->opened = true;
        core->solver->z3 = prove_z3_open();
    }
    return core->solver->z3;
}

/* Z3's answer; with operations uninterpreted first, then as they are. Nothing is remembered of a question
 * that the function's deadline cut short. */
static ProveAnswer ask_z3(Core *core, const Judge *judge, Term *cond, Term *x, Term *y, double limit) {
    ProveAnswer answer = {.seconds = limit};
    for (unsigned bits = 0; bits < 2 && !answer.valid; bits++) {
        double begin = clock_cpu_seconds(), left = core->deadline > 0 ? core->deadline - begin : limit;
        if (left <= 0) {
            answer.seconds = 0;
            break;
        }
        double most = bits ? limit : 1 < limit ? 1 : limit;
        if (left < most)
            answer.seconds = 0;
        ZqResult said =
            prove_z3_equal(core->solver->z3, &core->p.ts, cond, x, y, bits, most < left ? most : left);
        double took = clock_cpu_seconds() - begin;
        judge->report->queries++;
        if (took > judge->report->slowest_query)
            judge->report->slowest_query = took;
        if (took > judge->out->slowest_query)
            judge->out->slowest_query = took;
        answer.valid = said == ZQ_VALID;
        answer.how = bits ? PROVE_BITS : PROVE_UF;
        if (said == ZQ_INVALID && bits)
            break;
    }
    return answer;
}

static ProveAnswer answer_of(Judge *judge, Term *cond, Term *x, Term *y) {
    Core *core = judge->core;
    double limit = core->p.opt->query_seconds > 0 ? core->p.opt->query_seconds : 9; /* and starting it */
    if (x->width == 0 || !prove_core_solver(core))
        return (ProveAnswer){0};
    ProveQuestion question = prove_question(&core->p.ts, cond, x, y);
    const ProveAnswer *known = prove_answers_find(&core->solver->answers, &question);
    ProveAnswer answer;
    if (known && (known->valid || known->seconds >= limit)) {
        answer = *known;
    } else {
        answer = ask_z3(core, judge, cond, x, y, limit);
        if (answer.valid || answer.seconds > 0)
            prove_answers_add(&core->solver->answers, &question, answer);
    }
    prove_question_free(&question);
    return answer;
}

/* x == y wherever cond holds; the verdict goes into the region. */
bool prove_judge_equal(Judge *judge, Term *cond, Term *x, Term *y, const char *what, uint32_t ptx_at,
                       uint32_t mach_at) {
    Core *core = judge->core;
    Terms *ts = &core->p.ts;
    if (judge->base)
        cond = t_and(ts, cond, judge->base);
    if (x == y || cond == ts->falsity || t_under(ts, x, cond) == t_under(ts, y, cond) ||
        (x->width == 1 && t_both(ts, cond, t_xor1(ts, x, y)) == ts->falsity))
        return true;
    if (judge->search) {
        prove_search_goal(judge, cond, x, y, what, ptx_at, mach_at);
        return false;
    }
    if (judge->out->status == PROVE_REFUTED)
        return false;
    uint64_t seed = counterexample(judge, cond, x, y);
    if (seed) {
        prove_judge_refute(judge, seed, cond, x, y, what, ptx_at, mach_at);
        return false;
    }
    if (judge->concrete_only || judge->out->status == PROVE_UNKNOWN) /* it will not be proved any more */
        return false;
    ProveAnswer answer = answer_of(judge, cond, x, y);
    if (answer.valid) {
        if (answer.how > judge->out->status)
            judge->out->status = answer.how;
        return true;
    }
    prove_judge_candidate(judge, what, ptx_at, mach_at);
    return false;
}

/* ---- exits ---- */
static void exits(Judge *judge, Cut *cut) {
    Core *core = judge->core;
    Terms *ts = &core->p.ts;
    for (uint32_t a = 0; a < cut->mach_run.exits.n; a++)
        for (uint32_t b = 0; b < cut->ptx_run.exits.n; b++) {
            const Exit *mach_exit = &cut->mach_run.exits.at[a], *ptx_exit = &cut->ptx_run.exits.at[b];
            Term *both = t_both(ts, mach_exit->cond, ptx_exit->cond);
            if (both == ts->falsity)
                continue;
            bool fits = mach_exit->kind == ptx_exit->kind || ptx_exit->kind == EX_ANY;
            if (fits && mach_exit->kind == EX_CUT && ptx_exit->kind == EX_CUT)
                fits = core->cuts.at[core->cut_of[mach_exit->target - core->p.ff->first_block] - 1].ptx ==
                       ptx_exit->target;
            if (!fits)
                prove_judge_equal(judge, ts->truth, both, ts->falsity, "the branch conditions differ",
                                  ptx_exit->at, mach_exit->at);
            else if (mach_exit->kind == EX_RET && ptx_exit->kind == EX_RET)
                prove_judge_results(judge, ptx_exit, mach_exit, both);
        }
    /* and every way through the one leaves through the other: what ends nowhere would be compared with
     * nothing */
    Term *ptx = ts->falsity, *mach = ts->falsity;
    for (uint32_t a = 0; a < cut->mach_run.exits.n; a++)
        mach = t_or(ts, mach, cut->mach_run.exits.at[a].cond);
    for (uint32_t b = 0; b < cut->ptx_run.exits.n; b++)
        ptx = t_or(ts, ptx, cut->ptx_run.exits.at[b].cond);
    prove_judge_equal(judge, ts->truth, ptx, mach, "a path ends on one side only", cut->ptx_run.last,
                      cut->mach_run.last);
}

void prove_judge_results(Judge *judge, const Exit *x, const Exit *exit, Term *cond) {
    Prover *prover = &judge->core->p;
    Terms *ts = &prover->ts;
    AbiPlan out;
    prove_abi(prover, prover->pf->rets, prover->pf->nrets, &out);
    if (out.stack) {
        prove_judge_unknown(judge, "results on the stack are not modelled", x->at, exit->at);
        return;
    }
    for (uint32_t k = 0; k < out.n; k++) {
        uint32_t reg = prover->pf->ret_regs ? prover->pf->ret_regs[k] : 0;
        for (unsigned c = 0; c < out.at[k].words; c++) {
            bool upper = reg && prover->upper[reg] && c >= 2; /* of 128 bits */
            Term *term = upper ? x->val[prover->upper[reg] - 1]
                         : reg ? x->val[reg]
                               : x->val[prover->param_word[prover->pf->rets[k]] - 1 + c];
            if (!term) /* never written: any value will do */
                continue;
            Term *got = exit->val[LOC_R + (uint32_t)out.at[k].reg + c];
            if (term->width == 64)
                term = c & 1 ? t_hi(ts, term) : t_lo(ts, term);
            if (term->width == 1)
                term = t_b2i(ts, term);
            uint64_t bytes = prover->module->vars[prover->pf->rets[k]].size_bytes;
            if (bytes && bytes < 4) {
                got = t_zext_from(ts, got, 8 * (unsigned)bytes);
                term = t_zext_from(ts, term, 8 * (unsigned)bytes);
            }
            prove_judge_equal(judge, cond, term, got, "the function's result differs", x->at, exit->at);
        }
    }
    prove_judge_equal(judge, cond, prove_sp(prover), exit->val[LOC_R + 1],
                      "the stack pointer is not restored", x->at, exit->at);
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

static bool same_kind(const Term *one, const Term *two) {
    return one->op == two->op && one->k == two->k && one->name == two->name && one->n == two->n;
}

static void events_differ(Judge *judge, Term *when, const char *what) {
    const Cut *cut = judge->q;
    Terms *ts = &judge->core->p.ts;
    if (!judge->search)
        prove_judge_candidate(judge, what, cut->ptx_run.first, cut->mach_run.first);
    else
        prove_search_goal(judge, judge->base ? t_and(ts, when, judge->base) : when, NULL, NULL, what,
                          cut->ptx_run.first, cut->mach_run.first);
}

static void memory(Judge *judge, Cut *cut, unsigned list) {
    static const char *const names[NMEM] = {"global memory", "shared memory", "local memory",
                                            "warp operations"};
    Core *core = judge->core;
    Terms *ts = &core->p.ts;
    Term *x = cut->ptx_run.mem[list], *m = cut->mach_run.mem[list];
    if (x == m)
        return;
    Term **xe, **me;
    uint32_t nx = chain(&core->p.arena, x, &xe), nm = chain(&core->p.arena, m, &me);
    const char *what = arena_printf(&judge->report->arena, "an event on %s differs", names[list]);
    /* pair them in order; an event without a partner must not happen */
    for (uint32_t i = 0; i < nx || i < nm; i++) {
        if (i >= nx || i >= nm || !same_kind(xe[i], me[i])) {
            Term *extra = i < nm ? me[i] : xe[i];
            if (nx == nm || (i < nx && i < nm)) {
                Term *either =
                    t_or(ts, i < nx ? xe[i]->a[1] : ts->falsity, i < nm ? me[i]->a[1] : ts->falsity);
                events_differ(
                    judge, either,
                    arena_printf(&judge->report->arena, "the order of events on %s differs", names[list]));
                return;
            }
            prove_judge_equal(judge, ts->truth, extra->a[1], ts->falsity,
                              i < nm ? "an event that the PTX has not" : "an event is missing",
                              cut->ptx_run.last, cut->mach_run.last);
            continue;
        }
        prove_judge_equal(judge, ts->truth, xe[i]->a[1], me[i]->a[1], what, cut->ptx_run.first,
                          cut->mach_run.first);
        for (uint32_t k = 2; k < xe[i]->n; k++)
            prove_judge_equal(judge, xe[i]->a[1], xe[i]->a[k], me[i]->a[k], what, cut->ptx_run.first,
                              cut->mach_run.first);
    }
}

/* ---- accesses ---- */
/* Is an access of the PTX at a constant distance? How far the machine's is behind it. */
static bool distance(Judge *judge, const Access *x, const Access *access, int64_t *bytes) {
    Terms *ts = &judge->core->p.ts;
    if (x->space != access->space || x->addr->width != access->addr->width)
        return false;
    Term *both = t_and(ts, x->guard, access->guard);
    Term *apart = t_sub(ts, t_under(ts, access->addr, both), t_under(ts, x->addr, both));
    if (!t_is_const(apart))
        return false;
    *bytes = apart->width == 32 ? (int32_t)(uint32_t)apart->k : (int64_t)apart->k;
    return true;
}

static bool may_be_local(const Access *access) {
    return access->space == MEM_LOCAL || access->space == MEM_GENERIC;
}

/* When is one of the machine's accesses aligned? Always, or when the PTX does one beside it that must be. */
static Term *aligned(Judge *judge, const Cut *cut, const Access *access) {
    Terms *ts = &judge->core->p.ts;
    Term *when = access->bytes == 1 || 1u << t_zeros(access->addr) >= access->bytes ? ts->truth : ts->falsity;
    for (uint32_t k = 0; k < cut->ptx_run.accesses.n && when != ts->truth; k++) {
        const Access *x = &cut->ptx_run.accesses.at[k];
        int64_t apart;
        if (judge->core->p.misplaced && may_be_local(x)) /* what is aligned in the PTX is not in this frame */
            continue;
        if (x->bytes % access->bytes == 0 && distance(judge, x, access, &apart) && apart % access->bytes == 0)
            when = t_or(ts, when, x->guard);
    }
    return when == ts->truth || !prove_is_multiple(judge->core, access->addr, access->bytes) ? when
                                                                                             : ts->truth;
}

/* When do loads of the PTX read `bytes` bytes from byte `from` of a load of the machine? */
static Term *loaded(Judge *judge, const Cut *cut, const Access *access, int64_t from, int64_t bytes) {
    Terms *ts = &judge->core->p.ts;
    Term *when = ts->falsity;
    for (uint32_t k = 0; k < cut->ptx_run.accesses.n && when != ts->truth; k++) {
        const Access *x = &cut->ptx_run.accesses.at[k];
        int64_t apart;
        if (!x->store && distance(judge, x, access, &apart) && apart + from >= 0 &&
            apart + from + bytes <= x->bytes)
            when = t_or(ts, when, x->guard);
    }
    return when;
}

/* The index is below the number of entries that the machine's value has. */
static Term *in_table(Judge *judge, const Cut *cut, const Access *access) {
    Terms *ts = &judge->core->p.ts;
    Term *when = ts->falsity;
    for (uint32_t k = 0; k < cut->ptx_run.accesses.n; k++) {
        const Access *x = &cut->ptx_run.accesses.at[k];
        int64_t apart;
        if (x->bytes <= access->bytes && distance(judge, x, access, &apart) && apart == 0)
            when = t_or(ts, when, x->guard);
    }
    return when;
}

/* No access may fault that the PTX's do not. Each is aligned: by its own form, or because an address of the
 * PTX at a constant distance is. What a load reads, the PTX reads in that region, each word by itself:
 * neighbours may have been put together. (That the bytes stored are the same is shown by the events.) */
static void check_accesses(Judge *judge, Cut *cut) {
    enum { WORD = 4 };
    Terms *ts = &judge->core->p.ts;
    for (uint32_t i = 0; i < cut->mach_run.accesses.n; i++) {
        const Access *access = &cut->mach_run.accesses.at[i];
        Term *allowed =
            access->space == MEM_TABLE ? in_table(judge, cut, access) : aligned(judge, cut, access);
        bool inside = access->space == MEM_CONST && t_is_const(access->addr) &&
                      access->addr->k + access->bytes <= judge->core->p.flow->bin->const_bank3_bytes;
        for (int64_t at = 0; at < access->bytes && !access->store && !inside && access->space != MEM_TABLE;
             at += WORD)
            allowed = t_and(ts, allowed,
                            loaded(judge, cut, access, at, access->bytes < WORD ? access->bytes : WORD));
        Term *more = t_and(ts, access->guard, t_not(ts, allowed));
        if (more != ts->falsity && may_be_local(access) &&
            judge->core->p.stack_multiple < MOST_STACK_MULTIPLE)
            prove_judge_unknown(judge, "an access that the frames of callers may not align",
                                cut->ptx_run.first, access->at);
        else if (more != ts->falsity)
            prove_judge_equal(judge, ts->truth, more, ts->falsity,
                              access->space == MEM_READ_ONLY
                                  ? "a load by the read-only cache that the PTX does not allow"
                              : access->store ? "a store that is aligned by nothing in the PTX may fault"
                                              : "a load that the PTX does not do there may fault",
                              cut->ptx_run.first, access->at);
    }
}

/* Lanes gather for the WARPSYNC that follows, with its mask. */
static bool precedes(Terms *ts, const Sync *gather, const Sync *sync) {
    return !sync->gather && gather->guard == sync->guard &&
           t_under(ts, gather->mask, gather->guard) == t_under(ts, sync->mask, sync->guard);
}

/* The collective of the PTX that lanes are to execute behind the machine's WARPSYNC i: of the same mask under
 * the same condition, and on no path before the one of an earlier WARPSYNC (met). Their number: none. */
static uint32_t collective_of(Judge *judge, const Cut *cut, uint32_t i, const uint32_t *met) {
    Terms *ts = &judge->core->p.ts;
    const Sync *sync = &cut->mach_run.syncs.at[i];
    uint32_t n = cut->ptx_run.syncs.n;
    for (uint32_t k = 0; k < n; k++) {
        const Sync *x = &cut->ptx_run.syncs.at[k];
        bool fits = t_and(ts, sync->guard, t_not(ts, x->guard)) == ts->falsity &&
                    t_under(ts, sync->mask, sync->guard) == t_under(ts, x->mask, sync->guard);
        for (uint32_t j = 0; j < i && fits; j++)
            fits = cut->mach_run.syncs.at[j].gather || met[j] < k ||
                   t_and(ts, sync->guard, cut->mach_run.syncs.at[j].guard) == ts->falsity;
        if (fits)
            return k;
    }
    return n;
}

/* Each WARPSYNC waits for the lanes of the PTX's collectives, one after the other. */
static void check_syncs(Judge *judge, Cut *cut) {
    Terms *ts = &judge->core->p.ts;
    uint32_t n = cut->mach_run.syncs.n, *met = ARENA_ARRAY(&judge->core->p.arena, uint32_t, n + 1);
    for (uint32_t i = 0; i < n; i++) {
        const Sync *sync = &cut->mach_run.syncs.at[i];
        bool found = sync->guard == ts->falsity;
        if (!found && sync->gather)
            found = i + 1 < n && precedes(ts, sync, &cut->mach_run.syncs.at[i + 1]);
        else if (!found)
            found = (met[i] = collective_of(judge, cut, i, met)) < cut->ptx_run.syncs.n;
        if (!found && !judge->search)
            prove_judge_candidate(judge, "a WARPSYNC waits for other lanes than the collectives of the PTX",
                                  cut->ptx_run.first, sync->at);
    }
}

/* ---- regions ---- */
static void describe_cut(Judge *judge, Cut *cut) {
    Prover *prover = &judge->core->p;
    const Run *x = &cut->ptx_run, *run = &cut->mach_run;
    ProveRegion *region = judge->out;
    uint32_t first = prover->blocks[cut->ptx].first;
    region->pc_first = region->pc_last =
        (uint64_t)(prover->flow->blocks[cut->mach].first - prover->ff->first_inst) * INST_BYTES;
    if (first < prover->pf->ninsns)
        region->ptx_first = region->ptx_last = ptx_line(prover->module, &prover->pf->insns[first]);
    if (!cut->reached)
        return;
    if (x->first <= x->last) {
        region->ptx_first = ptx_line(prover->module, &prover->pf->insns[x->first]);
        region->ptx_last = ptx_line(prover->module, &prover->pf->insns[x->last]);
    }
    if (run->first <= run->last) {
        region->pc_first = (uint64_t)(run->first - prover->ff->first_inst) * INST_BYTES;
        region->pc_last = (uint64_t)(run->last - prover->ff->first_inst) * INST_BYTES;
    }
    region->predicated = x->guarded || run->guarded;
}

void prove_judge_obligations(Judge *j, Cut *q) {
    exits(j, q);
    for (unsigned s = 0; s < NMEM; s++)
        memory(j, q, s);
    check_accesses(j, q);
    check_syncs(j, q);
    uint32_t statement, inst;
    const char *wrong = prove_rows_wrong(&j->core->p, &q->ptx_run, &q->mach_run, &statement, &inst);
    if (wrong)
        prove_judge_unknown(j, wrong, statement, inst);
}

static void judge(Core *core, ProveReport *report, Cut *cut, ProveRegion *out) {
    Judge j = {.core = core, .report = report, .q = cut, .out = out, .base = cut->known};
    double begin = clock_seconds();
    out->reason = "";
    out->status = PROVE_SYNTACTIC;
    core->p.ts.steps = 0;
    if (core->gave_up)
        prove_judge_unknown(&j, core->gave_up, 0, 0);
    else if (!cut->reached)
        prove_judge_unknown(&j, "no region before it could be followed to here", 0, 0);
    else if (cut->ptx_run.fault)
        prove_judge_unknown(&j, cut->ptx_run.fault, cut->ptx_run.fault_at, cut->mach_run.first);
    else if (cut->mach_run.fault)
        prove_judge_unknown(&j, cut->mach_run.fault, cut->ptx_run.first, cut->mach_run.fault_at);
    else {
        prove_judge_obligations(&j, cut);
        prove_masks_note(core, cut);
        bool ask = !core->p.opt->only_whether && !core->p.opt->no_launches;
        if (ask && out->status == PROVE_UNKNOWN)
            prove_judge_blame(&j, cut);
        if (ask && out->status == PROVE_UNKNOWN)
            prove_judge_pursue(&j, cut);
        if (core->p.ts.overflow) { /* the next region starts without what was made of these */
            prove_judge_unknown(&j, "terms became too large", 0, 0);
            term_recover(&core->p.ts);
        }
    }
    describe_cut(&j, cut);
    Prover *prover = &core->p;
    if (out->status >= PROVE_REFUTED) {
        if (j.bad_ptx < prover->pf->ninsns)
            out->bad_line = ptx_line(prover->module, &prover->pf->insns[j.bad_ptx]);
        if (j.bad_mach >= prover->ff->first_inst)
            out->bad_pc = (uint64_t)(j.bad_mach - prover->ff->first_inst) * INST_BYTES;
    }
    out->reason = arena_copy(&report->arena, out->reason, strlen(out->reason) + 1);
    out->seconds = clock_seconds() - begin;
}

static void count(ProveReport *report, ProveFunc *func, const ProveRegion *region) {
    func->count[region->status]++;
    report->count[region->status]++;
    func->predicated[region->status] += region->predicated;
    report->predicated[region->status] += region->predicated;
}

/* Differences of a kernel that no inferred launch shows: one is made for them. */
static void look_for_a_launch(Core *core, ProveReport *report, ProveFunc *out) {
    const Prover *prover = &core->p;
    bool open = false;
    for (uint32_t k = 0; k < out->nregions; k++)
        open |= out->regions[k].candidate || out->regions[k].status == PROVE_REFUTED;
    ProveFinding found;
    if (!open || !prover->pf->is_entry || core->gave_up || prove_trials_show(core->trials, prover->func) ||
        !prove_search(core, report, &found))
        return;
    ProveRegion *region = &out->regions[found.cut];
    region->status = PROVE_REFUTED;
    region->replayed = true;
    region->reason = arena_copy(&report->arena, found.what, strlen(found.what) + 1);
    region->values = found.values;
    region->nvalues = found.nvalues;
    region->bad_line = found.ptx_at < prover->pf->ninsns
                           ? ptx_line(prover->module, &prover->pf->insns[found.ptx_at])
                           : region->bad_line;
    if (found.mach_at >= prover->ff->first_inst)
        region->bad_pc = (uint64_t)(found.mach_at - prover->ff->first_inst) * INST_BYTES;
    prove_trials_shown(core->trials, prover->func, found.where);
}

/* Places that no region leads to, though each that is come to is proved: nothing ever starts there (what the
 * code does there belongs to regions that go on past the place, or is not executed). They are no regions. */
static void leave_out_places(const Core *core, ProveFunc *out) {
    uint32_t kept = 0;
    for (uint32_t k = 0; k < core->cuts.n; k++)
        if (core->cuts.at[k].reached)
            out->regions[kept++] = out->regions[k];
    out->nregions = kept;
}

void prove_judge(Core *core, ProveReport *report, ProveFunc *out) {
    bool ask = !core->p.opt->only_whether && !core->p.opt->no_launches, all = !core->gave_up;
    out->regions = ARENA_ARRAY(&report->arena, ProveRegion, core->cuts.n);
    out->nregions = core->cuts.n;
    for (uint32_t k = 0; k < core->cuts.n; k++) {
        if (!core->cuts.at[k].reached)
            continue;
        judge(core, report, &core->cuts.at[k], &out->regions[k]);
        all &= out->regions[k].status < PROVE_REFUTED;
        if (core->p.opt->only_whether && !all) {
            count(report, out, &out->regions[k]);
            return;
        }
    }
    for (uint32_t k = 0; k < core->cuts.n && !all; k++)
        if (!core->cuts.at[k].reached)
            judge(core, report, &core->cuts.at[k], &out->regions[k]);
    if (all)
        leave_out_places(core, out);
    if (ask)
        look_for_a_launch(core, report, out);
    for (uint32_t k = 0; k < out->nregions; k++)
        count(report, out, &out->regions[k]);
}

void prove_skip(ProveReport *report, ProveFunc *out, const char *why) {
    out->skipped = why ? arena_copy(&report->arena, why, strlen(why) + 1) : "";
    out->regions = ARENA_ARRAY(&report->arena, ProveRegion, 1);
    out->regions[0] = (ProveRegion){.status = PROVE_UNKNOWN, .reason = out->skipped};
    out->nregions = 1;
    count(report, out, &out->regions[0]);
}
