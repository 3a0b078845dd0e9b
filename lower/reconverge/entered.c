/* Joins in recursive functions. A barrier register cannot hold a call that leads back: it is one for all
 * calls of the function (reconverge.h, recurs). A mask can, because each call has its own, in a register that
 * is saved like any other value:
 *
 *     f:      VOTE.ANY R8, PT, PT      who is here
 *             ...                      branches, calls of f
 *     join:   WARPSYNC R8              all of them again
 *             RET
 *
 * Nobody waits for ever. A lane waits for those that were asked with it; such a one has not come because it
 * is on its way, or because it waits in a call that it entered later. So of lanes that wait for each other
 * the last mask was made latest, and that one's lanes run. The machine lets lanes run that are missing for
 * any of those at the WARPSYNC: none of these is at this WARPSYNC, so every chain ends at one that runs, if
 * there is but one such place in functions that call each other. It must not be one that waits for a lane
 * which waits here: nothing that the functions do or call may observe other lanes or be a collective.
 *
 * Lanes are asked at the function's entry or before a branch, and meet in a block that all of them come to
 * once before they return or are asked again. Of such pairs, in all functions that call each other, the one
 * is taken behind which least is done apart: first of all no call back, for lanes that begin a call in two
 * groups double all that is below it. Lanes that have returned in groups are apart behind the call, too.
 * SPDX-License-Identifier: MIT */
#include "lower/reconverge/reconverge.h"
#include <string.h>

enum {
    MOST_PARTING = 16,     /* branches that are looked at */
    MOST_OUT = 8,          /* post-dominators of each */
    MOST_BLOCKS = 1024,    /* of a function */
    MOST_MEMBERS = 16,     /* functions that call each other: the others have no pair */
    MOST_GROUPS = 32,      /* of a warp */
    APART_CALL = 1u << 16, /* one more group that begins a call back, in instructions */
};

typedef struct { /* a function of those that call each other */
    Reconv *reconv;
    uint32_t parting[MOST_PARTING], n; /* branches that send only some lanes to a call back */
    uint8_t *seen;                     /* [block] */
    bool *meets;                       /* [block] the sides of such a branch come together there */
    uint32_t *groups;                  /* [block] so many groups of lanes run it for each that was called, */
    uint32_t *times;                   /* [block] and this times as many come back from its calls */
    uint32_t returned;                 /* groups */
} Gathering;

typedef struct {
    const CallGraph *calls;
    Gathering member[MOST_MEMBERS];
    uint32_t n;
} Component;

static bool ends_in_return(const Function *f, uint32_t block) {
    return reconv_branch(f, &f->blocks.at[block])->op == OT_RET;
}

/* Marks `from` and what it leads to, not through `stop` (0: all). */
static void mark_ways(Reconv *reconv, uint32_t from, uint32_t stop, uint8_t *seen) {
    uint32_t top = 0;
    if (!from || from == stop || seen[from])
        return;
    seen[from] = 1;
    reconv->stack[top++] = from;
    while (top) {
        uint32_t b = reconv->stack[--top];
        reconv->f->module->steps++;
        GRAPH_SUCCS(&reconv->g, b, s)
            if (*s && *s != stop && !seen[*s])
                seen[*s] = 1, reconv->stack[top++] = *s;
    }
}

static void mark_behind_block(Reconv *reconv, uint32_t block, uint32_t stop, uint8_t *seen) {
    GRAPH_SUCCS(&reconv->g, block, s)
        mark_ways(reconv, *s, stop, seen);
}

/* Is there a marked block that calls back, or (ends) one that returns? */
static bool any_marked(const Reconv *reconv, const uint8_t *seen, bool ends) {
    for (uint32_t k = 0; k < reconv->order.count; k++) {
        uint32_t b = reconv->order.order[k];
        if (b && seen[b] && (ends ? ends_in_return(reconv->f, b) : reconv->recurs[b]))
            return true;
    }
    return false;
}

static void clear_marks(const Gathering *gathering) { memset(gathering->seen, 0, gathering->reconv->g.n); }

static void find_parting(Gathering *gathering, const bool *divergent) {
    Reconv *reconv = gathering->reconv;
    for (uint32_t k = 0; k < reconv->order.count && gathering->n < MOST_PARTING; k++) {
        uint32_t b = reconv->order.order[k];
        if (!b || !divergent[b])
            continue;
        clear_marks(gathering);
        mark_behind_block(reconv, b, reconv->pd.ipdom[b], gathering->seen);
        if (any_marked(reconv, gathering->seen, false))
            gathering->parting[gathering->n++] = b;
    }
}

/* Do lanes that are asked in `from` all come to the join, once before they return or are asked again, and
 * nobody else? */
static bool is_pair(Gathering *gathering, ReconvEntered pair) {
    Reconv *reconv = gathering->reconv;
    uint32_t entry = reconv->f->entry.i;
    uint8_t *seen = gathering->seen;
    if (pair.from == pair.join || pending_inside(reconv, pair.join))
        return false;
    clear_marks(gathering);
    mark_behind_block(reconv, pair.join, pair.from, seen);
    bool good = !seen[pair.join];
    clear_marks(gathering);
    if (pair.from != entry)
        mark_ways(reconv, entry, pair.from, seen);
    good &= !seen[pair.join];
    clear_marks(gathering);
    mark_behind_block(reconv, pair.from, pair.join, seen);
    good &= !seen[pair.from] && !any_marked(reconv, seen, true);
    return good;
}

static Gathering *member_of(Component *component, uint32_t func) {
    for (uint32_t k = 0; k < component->n; k++)
        if (component->member[k].reconv->f->index == func)
            return &component->member[k];
    return NULL;
}

static uint32_t at_most_a_warp(uint32_t groups) { return groups < MOST_GROUPS ? groups : MOST_GROUPS; }

/* Into how many groups calls part those that begin them; of callees that are not looked at it may be any. */
static void find_times(Component *component, Gathering *gathering) {
    const CallGraph *calls = component->calls;
    const Reconv *reconv = gathering->reconv;
    for (uint32_t b = 0; b < reconv->g.n; b++)
        gathering->times[b] = 1;
    CALL_SITES(calls, reconv->f->index, site) {
        uint32_t *times = &gathering->times[site->block.i];
        const Gathering *callee = site->callee == NO_NODE ? NULL : member_of(component, site->callee);
        if (callee)
            *times = at_most_a_warp(*times * callee->returned);
        else if (site->callee == NO_NODE || calls->comp[site->callee] == calls->comp[reconv->f->index])
            *times = MOST_GROUPS;
    }
}

/* Groups that come to a block, of one that began the function. */
static uint32_t groups_at(const Gathering *gathering, uint32_t b, ReconvEntered pair) {
    const Reconv *reconv = gathering->reconv;
    uint32_t most = 1, sum = 0;
    if (b == pair.join)
        return gathering->groups[pair.from];
    for (uint32_t at = reconv->g.pred_at[b]; at < reconv->g.pred_at[b + 1]; at++) {
        uint32_t p = reconv->g.pred[at], n = at_most_a_warp(gathering->groups[p] * gathering->times[p]);
        most = n > most ? n : most;
        sum += n;
    }
    return at_most_a_warp(gathering->meets[b] && sum > most ? sum : most);
}

/* What of a function runs in more groups than one with the pair (join 0: without any), in instructions; and
 * in how many do lanes return? */
static uint64_t runs_apart(Component *component, Gathering *gathering, ReconvEntered pair) {
    const Reconv *reconv = gathering->reconv;
    uint64_t cost = 0;
    uint32_t returned = 0;
    find_times(component, gathering);
    memset(gathering->groups, 0, reconv->g.n * sizeof *gathering->groups); /* along edges back comes nobody */
    for (uint32_t k = 0; k < reconv->order.count; k++) {
        uint32_t b = reconv->order.order[k];
        if (!b)
            continue;
        reconv->f->module->steps++;
        gathering->groups[b] = groups_at(gathering, b, pair);
        cost += (uint64_t)(gathering->groups[b] - 1) *
                (reconv->f->blocks.at[b].insts.n + (reconv->recurs[b] ? APART_CALL : 0));
        if (ends_in_return(reconv->f, b))
            returned = at_most_a_warp(returned + gathering->groups[b] * gathering->times[b]);
    }
    gathering->returned = returned ? returned : 1;
    return cost;
}

/* The same of all functions, with the pair in one of them (in NULL: in none). */
static uint64_t all_run_apart(Component *component, ReconvEntered pair) {
    uint64_t cost = 0;
    for (uint32_t k = 0; k < component->n; k++)
        component->member[k].returned = 1;
    for (bool changed = true; changed;) { /* groups that return make others return in more */
        changed = false;
        cost = 0;
        for (uint32_t k = 0; k < component->n; k++) {
            Gathering *gathering = &component->member[k];
            uint32_t before = gathering->returned;
            bool here = gathering->reconv->f == pair.in;
            cost += runs_apart(component, gathering, here ? pair : (ReconvEntered){0});
            changed |= gathering->returned != before;
        }
    }
    return cost;
}

static void add_member(Component *component, Reconv *reconv, const bool *divergent) {
    Gathering *gathering = &component->member[component->n++];
    *gathering = (Gathering){.reconv = reconv};
    gathering->seen = ARENA_ARRAY(&reconv->a, uint8_t, reconv->g.n);
    gathering->meets = ARENA_ARRAY(&reconv->a, bool, reconv->g.n);
    gathering->groups = ARENA_ARRAY(&reconv->a, uint32_t, reconv->g.n);
    gathering->times = ARENA_ARRAY(&reconv->a, uint32_t, reconv->g.n);
    find_parting(gathering, divergent);
    for (uint32_t k = 0; k < gathering->n; k++)
        gathering->meets[reconv->pd.ipdom[gathering->parting[k]]] = true;
}

ReconvEntered reconv_find_entered(const CallGraph *calls, ReconvMember *members, uint32_t n) {
    Component component = {.calls = calls};
    ReconvEntered best = {0};
    for (uint32_t k = 0; k < n && component.n < MOST_MEMBERS; k++)
        if (members[k].reconv.recurs && members[k].reconv.order.count <= MOST_BLOCKS)
            add_member(&component, &members[k].reconv, members[k].divergent);
    uint64_t least = all_run_apart(&component, best);
    for (uint32_t m = 0; m < component.n; m++) {
        Gathering *gathering = &component.member[m];
        const Reconv *reconv = gathering->reconv;
        for (uint32_t k = 0; k <= gathering->n; k++) { /* the entry first: of equal ones the widest */
            ReconvEntered pair = {
                .in = reconv->f, .from = k ? gathering->parting[k - 1] : reconv->f->entry.i, .at_entry = !k};
            pair.join = reconv->pd.ipdom[pair.from];
            for (unsigned o = 0; pair.join && o < MOST_OUT; pair.join = reconv->pd.ipdom[pair.join], o++) {
                uint64_t cost = is_pair(gathering, pair) ? all_run_apart(&component, pair) : UINT64_MAX;
                if (cost < least)
                    least = cost, best = pair;
            }
        }
    }
    return best;
}

static unsigned behind(Function *f, BlockId block, bool (*stays)(const Inst *i)) {
    const Block *b = ir_block(f, block);
    unsigned p = 0;
    while (p + 1 < b->insts.n && stays(ir_inst(f, b->insts.at[p])))
        p++;
    return p;
}

static bool is_of_entry(const Inst *i) { return i->op == IR_ENTRY || i->op == IR_PARCOPY; }
static bool is_of_join(const Inst *i) { return i->op == IR_PHI || i->op == OT_BSYNC; }

static unsigned before_branch(Function *f, BlockId block) {
    const Block *b = ir_block(f, block);
    unsigned p = b->insts.n;
    while (p > 0 && ir_is_terminator(f, &f->insts.at[b->insts.at[p - 1].i]))
        p--;
    return p;
}

void reconv_insert_entered(ReconvEntered pair) {
    Function *f = pair.in;
    BlockId from = {pair.from}, at = {pair.join};
    ReconvPlace first = {.f = f,
                         .block = from,
                         .at = pair.at_entry ? behind(f, from, is_of_entry) : before_branch(f, from)},
                last = {.f = f, .block = at, .at = behind(f, at, is_of_join)};
    first.loc = ir_inst(f, ir_inst_at(f, from, first.at))->loc;
    last.loc = ir_inst(f, ir_inst_at(f, at, last.at))->loc;
    Operand mask = reconv_value(f, RF_R);
    InstId vote = reconv_place_op(&first, OT_VOTE), wait;
    ir_inst(f, vote)->mods = MSET(VOTE, op, VoteOp_ANY);
    ir_inst(f, vote)->flags |= IF_CONVERGENT;
    ir_set_dst(f, vote, VOTE_rd, mask);
    ir_set_src(f, vote, VOTE_pp, op_pt());
    wait = reconv_place_op(&last, OT_WARPSYNC);
    ir_set_src(f, wait, WARPSYNC_rb, mask);
    ir_set_src(f, wait, WARPSYNC_pp, op_pt());
}

static bool waits_itself(const Function *f) {
    FOR_BLOCKS(f, b)
        FOR_INSTS(f, b, i)
            if (i->flags & (IF_SYNC | IF_OBSERVING) || i->op == OT_YIELD || i->op == OT_NANOSLEEP ||
                i->op == OT_WARPSYNC || isa_has_effect(i->op, ISA_EFFECT_CTA_BARRIER))
                return true;
    return false;
}

bool *reconv_waiting_functions(Arena *a, const CallGraph *calls, const IrModule *module,
                               const bool *observes) {
    bool *waits = ARENA_ARRAY(a, bool, calls->n + 1);
    uint32_t *work = graph_numbers(a, calls->n, 0), count = 0;
    for (uint32_t n = 0; n < calls->n; n++) {
        waits[n] = observes[n] || waits_itself(module->funcs.at[n]);
        if (waits[n])
            work[count++] = n;
    }
    for (uint32_t k = 0; k < count; k++)
        CALLS_INTO(calls, work[k], at) {
            uint32_t caller = calls->sites[*at].caller;
            if (!waits[caller])
                waits[caller] = true, work[count++] = caller;
        }
    return waits;
}
