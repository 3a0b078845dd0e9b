/* What the machine's branches found on the way to a place.
 *
 * Behind `if (p) A else B` a region begins where the two ways meet, and p is a predicate that the code may
 * ask again: on each of the ways it is a constant, so that a relation of values alone says nothing of it. So
 * a place has, for each branch of the function, as terms what it saw when it was executed last: its guard,
 * and the predicate registers. Each is one term on all ways to the place, whichever of them went through the
 * branch, or it is lost. Of these terms two things may be said.
 *   - A guard is true, or false, on all ways: a fact of the place (Cut.known), which its region starts from.
 *   - A predicate of the machine is that term, or its complement, on all ways: each brings what the term is
 *     where the way is taken (LV_SEEN).
 * Both are compared with each way that leads to the place, like everything else that is said of it, so they
 * hold by induction. A term is a value whether or not its branch was executed; which branch it comes from
 * says only where to look. But its variables are those of the places that were passed last: a term with a
 * variable of the place itself speaks of the visit before, and a word that a call leaves may be another
 * behind the next call. Terms with those are lost.
 * SPDX-License-Identifier: MIT */
#include "check/prove/core/core.h"

enum { PREDICATES = PROVE_SEEN - 1 }; /* behind the guard */

void prove_guards_setup(Prover *prover) {
    prover->branch_of = ARENA_ARRAY(&prover->arena, uint32_t, prover->ff->ninsts + 1);
    for (uint32_t i = 0; i < prover->ff->ninsts; i++) {
        uint32_t at = prover->ff->first_inst + i;
        if (prover->flow->decoded[at] && bin_kind(&prover->flow->insts[at]) == BK_BRANCH) {
            prover->nseen += PROVE_SEEN;
            prover->branch_of[i] = prover->nseen / PROVE_SEEN;
        }
    }
}

void prove_guards_note(Prover *prover, Run *run, uint32_t at, Term *guard, Term *const *val) {
    if (!run->seen)
        run->seen = ARENA_ARRAY(prover->run_arena, Term *, prover->nseen + 1);
    Term **seen = run->seen + (prover->branch_of[at - prover->ff->first_inst] - 1) * PROVE_SEEN;
    for (unsigned k = 0; k < PROVE_SEEN; k++) {
        Term *term = k ? val[LOC_P + k - 1] : guard;
        seen[k] = t_is_const(term) ? NULL : term;
    }
}

/* What the edge's condition says of the guard. */
static uint8_t told(Terms *ts, const Edge *edge, Term *guard) {
    if (t_both(ts, edge->cond, guard) == ts->falsity)
        return SAYS_NO;
    return t_both(ts, edge->cond, t_not(ts, guard)) == ts->falsity ? SAYS_YES : SAYS_NOTHING;
}

void prove_guards_leave(Core *core, const Cut *cut, Edge *edge) {
    Prover *prover = &core->p;
    edge->seen = ARENA_ARRAY(prover->run_arena, Term *, prover->nseen + 1);
    edge->says = ARENA_ARRAY(prover->run_arena, uint8_t, prover->nseen + 1);
    for (uint32_t g = 0; g < prover->nseen; g++) {
        bool executed = cut->mach_run.seen && cut->mach_run.seen[g];
        Term *term = executed ? cut->mach_run.seen[g] : cut->seen[g];
        if (!term || term_depends(term, edge->to + 1))
            continue;
        edge->seen[g] = term;
        if (term == cut->seen[g] && cut->says[g] != SAYS_NOTHING)
            edge->says[g] = cut->says[g];
        else if (g % PROVE_SEEN == 0)
            edge->says[g] = told(&prover->ts, edge, term);
    }
}

static void gather_known(Core *core, Cut *cut) {
    Terms *ts = &core->p.ts;
    cut->known = ts->truth;
    for (uint32_t g = 0; g < core->p.nseen; g++)
        if (cut->seen_level[g] == SEEN_DECIDED && cut->says[g] != SAYS_NOTHING)
            cut->known =
                t_and(ts, cut->known, cut->says[g] == SAYS_YES ? cut->seen[g] : t_not(ts, cut->seen[g]));
}

/* Does the edge bring the terms that the place has, and of those that are decided the same value? */
bool prove_guards_hold(const Core *core, const Cut *cut, const Edge *edge) {
    for (uint32_t g = 0; g < core->p.nseen; g++)
        if (cut->seen_level[g] != SEEN_LOST &&
            (!edge->seen || !edge->seen[g] || edge->seen[g] != cut->seen[g] ||
             (cut->seen_level[g] == SEEN_DECIDED &&
              (edge->says[g] == SAYS_NOTHING || edge->says[g] != cut->says[g]))))
            return false;
    return true;
}

bool prove_guards_enter(Core *core, Cut *cut, const Edge *edge) {
    for (uint32_t g = 0; g < core->p.nseen; g++) {
        bool kept = cut->seen_level[g] != SEEN_LOST && edge->seen;
        cut->seen[g] = kept ? edge->seen[g] : NULL;
        cut->says[g] = kept && cut->seen_level[g] == SEEN_DECIDED ? edge->says[g] : SAYS_NOTHING;
    }
    if (!prove_guards_hold(core, cut, edge))
        return false;
    gather_known(core, cut);
    return true;
}

void prove_guards_relate(Core *core, Cut *cut, const Arrivals *in) {
    const Edge *first = in->at[0];
    for (uint32_t g = 0; g < core->p.nseen; g++) {
        bool same = cut->seen_level[g] != SEEN_LOST && first->seen && first->seen[g];
        uint8_t says = same && cut->seen_level[g] == SEEN_DECIDED ? first->says[g] : SAYS_NOTHING;
        for (uint32_t e = 1; e < in->n && same; e++) {
            const Edge *edge = in->at[e];
            same = edge->seen && edge->seen[g] == first->seen[g];
            says = same && edge->says[g] == says ? says : SAYS_NOTHING;
        }
        cut->seen[g] = same ? first->seen[g] : NULL;
        cut->says[g] = same ? says : SAYS_NOTHING;
        cut->seen_level[g] = !same ? SEEN_LOST : says == SAYS_NOTHING ? SEEN_TERM : SEEN_DECIDED;
    }
    gather_known(core, cut);
}

bool prove_guards_tell(Core *core, const Cut *cut, const Edge *edge, uint32_t loc, const Relation *relation) {
    Terms *ts = &core->p.ts;
    Term *seen = cut->seen[relation->value];
    return seen && t_under(ts, prove_core_part(ts, seen, relation), edge->cond) == edge->lv[loc];
}

static bool all_tell(Core *core, const Cut *cut, const Arrivals *in, uint32_t loc, const Relation *relation) {
    for (uint32_t e = 0; e < in->n; e++)
        if (!prove_guards_tell(core, cut, in->at[e], loc, relation))
            return false;
    return true;
}

/* Of guards, and of what branches saw in the same register. */
bool prove_guards_find(Core *core, Cut *cut, const Arrivals *in, uint32_t loc) {
    if (loc < LOC_P || loc >= LOC_P + PREDICATES)
        return false;
    for (uint32_t b = 0; b < core->p.nseen; b += PROVE_SEEN)
        for (unsigned k = 0; k < 3; k++) {
            uint32_t g = k < 2 ? b : b + 1 + (loc - LOC_P);
            Relation relation = {g, k == 1 ? RL_NOT : RL_SAME, NULL};
            if (cut->seen[g] && all_tell(core, cut, in, loc, &relation)) {
                cut->relation[loc] = relation;
                return true;
            }
        }
    return false;
}

/* The terms that nothing rests on are lost, for the certificate to be small: all but facts, what locations
 * have, and what is carried from place to place for those. */
void prove_guards_trim(Core *core) {
    Prover *prover = &core->p;
    uint32_t n = prover->nseen;
    bool *needed = ARENA_ARRAY(&prover->arena, bool, (size_t)core->cuts.n *n + 1);
    for (uint32_t c = 0; c < core->cuts.n; c++) {
        const Cut *cut = &core->cuts.at[c];
        for (uint32_t g = 0; g < n; g++)
            needed[(size_t)c * n + g] = cut->seen_level[g] == SEEN_DECIDED && cut->seen[g];
        for (uint32_t l = 0; l < prover->nloc; l++)
            if (cut->level[l] == LV_SEEN)
                needed[(size_t)c * n + cut->relation[l].value] = true;
    }
    for (bool more = true; more;) {
        more = false;
        for (uint32_t c = 0; c < core->cuts.n; c++)
            for (uint32_t e = 0; e < core->cuts.at[c].edges.n; e++) {
                const Cut *cut = &core->cuts.at[c];
                for (uint32_t g = 0; g < n; g++)
                    if (needed[(size_t)cut->edges.at[e].to * n + g] && !needed[(size_t)c * n + g] &&
                        !(cut->mach_run.seen && cut->mach_run.seen[g]))
                        more = needed[(size_t)c * n + g] = true;
            }
    }
    for (uint32_t c = 0; c < core->cuts.n; c++)
        for (uint32_t g = 0; g < n; g++)
            if (core->cuts.at[c].seen_level[g] == SEEN_TERM && !needed[(size_t)c * n + g])
                core->cuts.at[c].seen_level[g] = SEEN_LOST;
}
