/* A region is run on both sides, until their exits fit together; what leaves it for other places are its
 * edges. SPDX-License-Identifier: MIT */
#include "check/prove/core/core.h"
#include "check/prove/mach/mach.h"
#include <string.h>

static Term *both_of(Core *core, const Cut *cut, const Exit *exit, const Exit *b) {
    return t_both(&core->p.ts, cut->known, t_both(&core->p.ts, exit->cond, b->cond));
}
static bool overlap(Core *core, const Cut *cut, const Exit *exit, const Exit *b) {
    return both_of(core, cut, exit, b) != core->p.ts.falsity;
}

/* Exits that do not fit together make one side go on past its cut point; true if something changed. */
static bool realign(Core *core, Cut *cut) {
    Prover *prover = &core->p;
    for (uint32_t j = 0; j < cut->mach_run.exits.n; j++)
        for (uint32_t i = 0; i < cut->ptx_run.exits.n; i++) {
            const Exit *exit = &cut->mach_run.exits.at[j], *ptx_exit = &cut->ptx_run.exits.at[i];
            if (ptx_exit->kind == EX_ANY || !overlap(core, cut, exit, ptx_exit))
                continue;
            if (exit->kind == EX_CUT) {
                Cut *t = &core->cuts.at[core->cut_of[exit->target - prover->ff->first_block] - 1];
                if (ptx_exit->kind == EX_CUT && ptx_exit->target == t->ptx)
                    continue;
                uint32_t mb = exit->target - prover->ff->first_block;
                if (ptx_exit->kind != EX_CUT && !cut->pass_mach[mb])
                    return cut->pass_mach[mb] = true;
            }
            uint8_t *pass = ptx_exit->kind == EX_CUT ? &cut->pass_ptx[ptx_exit->target] : NULL;
            if (pass && *pass < PASS_ALWAYS) {
                *pass = core->by_rounds && *pass < MOST_PASSES ? (uint8_t)(*pass + 1) : PASS_ALWAYS;
                return true;
            }
        }
    return false;
}

/* Two places of the machine with nothing but control between them, and one of the PTX: the PTX waits. Forward
 * only, so that every cycle of places has a step of the PTX. */
static bool stands_still(const Core *core, const Cut *cut) {
    const Prover *prover = &core->p;
    const BinBlock *block = &prover->flow->blocks[cut->mach];
    if (!prove_only_control(prover->flow, block))
        return false;
    uint32_t from = cut->mach - prover->ff->first_block, to = block->succs[0].block - prover->ff->first_block;
    return to < prover->ff->nblocks && core->mach_stop[to] && !cut->pass_mach[to] &&
           core->cuts.at[core->cut_of[to] - 1].ptx == cut->ptx && prover->rpo_of[to] > prover->rpo_of[from];
}

void prove_core_run_once(Core *core, Cut *cut) {
    Prover *prover = &core->p;
    prover->ts.steps = 0; /* of a region, and of the relation made of what it brings */
    bool *stop = ARENA_ARRAY(prover->run_arena, bool, prover->ff->nblocks + 1);
    uint8_t *ptx_stop = ARENA_ARRAY(prover->run_arena, uint8_t, prover->nblocks + 1);
    for (uint32_t b = 0; b < prover->nblocks; b++)
        ptx_stop[b] = !core->ptx_stop[b] || cut->pass_ptx[b] == PASS_ALWAYS
                          ? STOP_NOT
                          : (uint8_t)(STOP_HERE + cut->pass_ptx[b]);
    prover->watched = cut->watched = prove_ptx_watched(prover, cut->ptx, ptx_stop);
    /* the machine first: the PTX leaves choices, and what the machine took is noted
     * (check/prove/lane/idiom.c) */
    for (uint32_t b = 0; b < prover->ff->nblocks; b++)
        stop[b] = core->mach_stop[b] && !cut->pass_mach[b];
    prove_mach_run(prover, cut->mach, cut->lv, cut->mem, stop, &cut->mach_run);
    if (stands_still(core, cut)) {
        prove_ptx_stay(prover, cut->ptx, cut->pv, cut->mem, &cut->ptx_run);
        return;
    }
    prove_core_run_ptx(core, cut, ptx_stop);
}

void prove_core_run(Core *core, Cut *cut) {
    cut->stuck = false;
    Prover *prover = &core->p;
    uint8_t *pass_ptx = NULL;
    bool *pass_mach = NULL; /* before the last realignment */
    for (unsigned round = 0; round < 24 && !prover->ts.overflow; round++) {
        prove_core_run_once(core, cut);
        if ((cut->ptx_run.fault || cut->mach_run.fault) &&
            pass_ptx) { /* going on past a cut point led nowhere */
            cut->pass_ptx = pass_ptx;
            cut->pass_mach = pass_mach;
            pass_ptx = NULL;
            cut->stuck = true;
            continue;
        }
        if (cut->ptx_run.fault || cut->mach_run.fault || prover->ts.overflow || cut->stuck)
            return;
        pass_ptx = arena_copy(&prover->arena, cut->pass_ptx, prover->nblocks);
        pass_mach = arena_copy(&prover->arena, cut->pass_mach, prover->ff->nblocks);
        if (!realign(core, cut))
            return;
    }
}

typedef VEC(Exit) Exits;

static bool is_decided_by_way(Terms *ts, Term *term) {
    return term->width == 64 ? t_lo(ts, term)->kind == TK_ITE || t_hi(ts, term)->kind == TK_ITE
                             : term->kind == TK_ITE;
}

/* Two ways to one place on which n values go through a known sequence, such as the fast and the slow way of a
 * division, as one; false: they are not that. A value that is none on one way is the other's. */
static bool join_ways(Core *core, Exit *one, const Exit *two, uint32_t n) {
    Prover *prover = &core->p;
    Terms *ts = &prover->ts;
    Term *both = t_or(ts, one->cond, two->cond), *first = t_under(ts, one->cond, both);
    Term **val = ARENA_ARRAY(prover->run_arena, Term *, n);
    bool known = false;
    for (uint32_t l = 0; l < n; l++) {
        Term *x = one->val[l], *y = two->val[l];
        val[l] = x && y ? prove_merged(prover, first, both, x, y) : x ? x : y;
        known |= x && y && x != y && val[l]->width >= 32 && !is_decided_by_way(ts, val[l]);
    }
    if (known) {
        one->cond = both;
        one->val = val;
    }
    return known;
}

static Exits joined_exits(Core *core, const Run *run, uint32_t n) {
    Exits exits = {0};
    for (uint32_t j = 0; j < run->exits.n; j++) {
        const Exit *exit = &run->exits.at[j];
        bool joined = false;
        for (uint32_t k = 0; k < exits.n && exit->kind == EX_CUT && !joined; k++)
            joined = exits.at[k].kind == EX_CUT && exits.at[k].target == exit->target &&
                     join_ways(core, &exits.at[k], exit, n);
        if (!joined)
            VEC_ADD(core->p.run_arena, &exits, *exit);
    }
    return exits;
}

/* The edges out of a region: pairs of exits that can happen together. */
void prove_core_edges(Core *core, Cut *cut) {
    Prover *prover = &core->p;
    Terms *ts = &prover->ts;
    memset(&cut->edges, 0, sizeof cut->edges);
    Exits exits = joined_exits(core, &cut->mach_run, prover->nloc),
          ptx_exits = joined_exits(core, &cut->ptx_run, prover->nptx);
    for (uint32_t j = 0; j < exits.n; j++) {
        const Exit *exit = &exits.at[j];
        if (exit->kind != EX_CUT)
            continue;
        uint32_t to = core->cut_of[exit->target - prover->ff->first_block] - 1;
        for (uint32_t i = 0; i < ptx_exits.n; i++) {
            const Exit *ptx_exit = &ptx_exits.at[i];
            if (!overlap(core, cut, exit, ptx_exit) || ptx_exit->kind != EX_CUT ||
                ptx_exit->target != core->cuts.at[to].ptx)
                continue;
            Edge e = {.to = to,
                      .ptx_at = ptx_exit->at,
                      .mach_at = exit->at,
                      .cond = both_of(core, cut, exit, ptx_exit),
                      .whole_pv = ptx_exit->val,
                      .whole_lv = exit->val};
            e.pv = ARENA_ARRAY(prover->run_arena, Term *, prover->nptx);
            e.lv = ARENA_ARRAY(prover->run_arena, Term *, prover->nloc);
            e.chosen = ARENA_ARRAY(prover->run_arena, Term *, 2 * (size_t)prover->nptx);
            for (uint32_t v = 0; v < prover->nptx; v++)
                e.pv[v] = ptx_exit->val[v] ? t_under(ts, ptx_exit->val[v], e.cond) : NULL;
            for (uint32_t l = 0; l < prover->nloc; l++)
                e.lv[l] = t_under(ts, exit->val[l], e.cond);
            memcpy(e.mem, cut->ptx_run.mem, sizeof e.mem);
            prove_guards_leave(core, cut, &e);
            VEC_ADD(prover->run_arena, &cut->edges, e);
        }
    }
}
