/* Predication (if-conversion): short regions behind a branch become guarded code, so that lanes need neither
 * part nor meet there. In: SSA before reconvergence, uniformity known. Regions are taken from the inside out:
 * one that has become a single block may be the side of another. Out: IrModule.predicated tells of every
 * branch what became of it.
 *
 * Each lane executes what it executed before, in the same order, and besides only arithmetic that cannot
 * fault and whose results it does not use. Barriers, collectives and YIELD never get a guard.
 * SPDX-License-Identifier: MIT */
#include "lower/predicate/predicate.h"
#include "ir/cfg.h"
#include "ir/loops.h"
#include "lower/opt/opt.h"
#include "lower/passes.h"
#include <stdlib.h>
#include <string.h>

static void queue(Pred *pred, BlockId b) {
    if (pred->queued[b.i] || ir_block(pred->f, b)->dead)
        return;
    pred->queued[b.i] = true;
    VEC_ADD(&pred->a, &pred->work, b.i);
}

/* Does b end in "@P BRA x; BRA y"? */
static bool two_ways(Function *f, BlockId b) {
    const Block *blk = ir_block(f, b);
    return !blk->dead && blk->succs.n == 2 && blk->insts.n >= 2 &&
           ir_inst(f, blk->insts.at[blk->insts.n - 2])->op == OT_BRA;
}

static PredicateReport new_report(Pred *pred, BlockId b) {
    const Block *blk = ir_block(pred->f, b);
    return (PredicateReport){
        .func = pred->f, .branch = b, .loc = ir_inst(pred->f, blk->insts.at[blk->insts.n - 2])->loc};
}

/* Look at the branch at the end of b, without a change; r is the region if the answer is PR_CONVERTED. Of
 * several shapes that all stay, the first is reported. */
static PredicateReason examine(Pred *p, BlockId b, PredRegion *region, PredicateReport *report) {
    PredicateReason first = PR_COUNT;
    for (unsigned from = 0; pred_find(p, b, &from, region);) {
        PredicateReport now = *report;
        PredicateReason why = pred_waits(p, region) ? PR_OBSERVING : pred_plan(p, region);
        now.shape = region->shape;
        now.insts = region->ninsts;
        now.selects = region->nselects;
        now.merges = region->nands;
        if (why == PR_CONVERTED)
            why = pred_worth(p, region, &now);
        if (why == PR_CONVERTED || first == PR_COUNT) {
            *report = now;
            first = why;
        }
        if (why == PR_CONVERTED)
            return why;
        pred_forget(p, region);
    }
    return first == PR_COUNT ? pred_why_not(p, b) : first;
}

static bool try_block(Pred *pred, BlockId b) {
    Function *f = pred->f;
    PredRegion r;
    if (!two_ways(f, b))
        return false;
    PredicateReport report = new_report(pred, b);
    if (examine(pred, b, &r, &report) != PR_CONVERTED)
        return false;
    report.first = pred_convert(pred, &r);
    VEC_ADD(&f->module->arena, &f->module->predicated, report);
    while (opt_merge_next(f, b) && ir_block(f, b)->succs.n)
        ;
    queue(pred, b);
    for (unsigned k = 0; k < ir_block(f, b)->preds.n; k++)
        queue(pred, ir_block(f, b)->preds.at[k]);
    return true;
}

static void report_rest(Pred *pred) {
    Function *f = pred->f;
    FOR_BLOCKS(f, b) {
        if (!two_ways(f, b))
            continue;
        PredRegion r;
        PredicateReport report = new_report(pred, b);
        report.reason = examine(pred, b, &r, &report);
        VEC_ADD(&f->module->arena, &f->module->predicated, report);
    }
}

static int by_place(const void *x, const void *y) {
    const PredicateReport *report = x, *predicate_report = y;
    uint32_t i = report->func->locs.at[report->loc.i].src.i,
             j = predicate_report->func->locs.at[predicate_report->loc.i].src.i;
    return i != j                                          ? (i < j ? -1 : 1)
           : report->branch.i < predicate_report->branch.i ? -1
                                                           : report->branch.i > predicate_report->branch.i;
}

/* Says whether something was converted. */
static bool predicate_function(Function *f, PredicateMode mode, bool barriers, Diags *d) {
    if (f->blocks.n <= 1)
        return false;
    Pred p = {.f = f, .mode = mode, .barriers = barriers};
    unsigned before = f->module->predicated.n;
    bool changed = false, again;
    ir_renumber(f);
    for (uint32_t n = 1; n < f->insts.n; n++)
        f->insts.at[n].aux = 0;
    pred_live(&p);
    Graph g = cfg_graph(&p.a, f);
    p.round = ARENA_ARRAY(&p.a, uint32_t, f->blocks.n);
    p.loops = loop_forest(&p.a, &g, f->entry.i);
    for (uint32_t b = 0; b < f->blocks.n; b++)
        p.round[b] = p.loops.innermost[b] == NO_NODE ? 0 : p.loops.at[p.loops.innermost[b]].header;
    p.queued = ARENA_ARRAY(&p.a, bool, f->blocks.n);
    do {
        again = false;
        FOR_BLOCKS(f, b)
            queue(&p, b);
        while (p.work.n) { /* the last block first: inner regions mostly lie behind outer ones' heads */
            BlockId b = {p.work.at[--p.work.n]};
            p.queued[b.i] = false;
            again |= try_block(&p, b);
        }
        ir_renumber(f);
        changed |= again;
    } while (again);
    changed |= pred_keep(f);
    report_rest(&p);
    if (f->module->predicated.n > before)
        qsort(f->module->predicated.at + before, f->module->predicated.n - before, sizeof(PredicateReport),
              by_place);
    arena_free(&p.a);
    return changed && pass_fold(f, d) && pass_branches(f, d) &&
           pass_dce(f, d); /* a known guard leaves a constant branch */
}

bool pass_predicate(IrModule *module, Diags *d) {
    bool changed = false;
    if (module->predicate == PREDICATE_OFF)
        return true;
    for (unsigned k = 0; k < module->funcs.n; k++)
        changed |=
            predicate_function(module->funcs.at[k], module->predicate, module->reconverge != RECONV_NONE, d);
    return !changed || pass_uniformity(module, d);
}
