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
 * once before they return or are asked again. Of such pairs the one is taken behind which least is done
 * apart: first of all no call back, for lanes that begin a call in two groups double all that is below it.
 * SPDX-License-Identifier: MIT */
#include "lower/reconverge/reconverge.h"
#include <string.h>

enum {
    MOST_PARTING = 16,     /* branches that are looked at */
    MOST_OUT = 8,          /* post-dominators of each */
    MOST_BLOCKS = 1024,    /* of a function */
    APART_CALL = 1u << 16, /* a call back in so many groups as lanes have parted into, in instructions */
};

typedef struct {
    Reconv *reconv;
    uint32_t parting[MOST_PARTING], n; /* branches that send only some lanes to a call back */
    uint8_t *region;                   /* [block] between the vote and the join of the pair looked at */
    uint8_t *apart;                    /* [block] lanes may run it in several groups */
} Gathering;

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

static void clear_marks(const Gathering *gathering, uint8_t *seen) {
    memset(seen, 0, gathering->reconv->g.n);
}

static void find_parting(Gathering *gathering, const bool *divergent) {
    Reconv *reconv = gathering->reconv;
    for (uint32_t k = 0; k < reconv->order.count && gathering->n < MOST_PARTING; k++) {
        uint32_t b = reconv->order.order[k];
        if (!b || !divergent[b])
            continue;
        clear_marks(gathering, gathering->apart);
        mark_behind_block(reconv, b, reconv->pd.ipdom[b], gathering->apart);
        if (any_marked(reconv, gathering->apart, false))
            gathering->parting[gathering->n++] = b;
    }
}

/* Do lanes that are asked in `from` all come to the join, once before they return or are asked again, and
 * nobody else? Fills the region. */
static bool is_pair(Gathering *gathering, ReconvEntered pair) {
    Reconv *reconv = gathering->reconv;
    uint32_t entry = reconv->f->entry.i;
    uint8_t *seen = gathering->region;
    if (pair.from == pair.join || pending_inside(reconv, pair.join))
        return false;
    clear_marks(gathering, seen);
    mark_behind_block(reconv, pair.join, pair.from, seen);
    bool good = !seen[pair.join];
    clear_marks(gathering, seen);
    if (pair.from != entry)
        mark_ways(reconv, entry, pair.from, seen);
    good &= !seen[pair.join];
    clear_marks(gathering, seen);
    mark_behind_block(reconv, pair.from, pair.join, seen);
    good &= !seen[pair.from] && !any_marked(reconv, seen, true);
    seen[pair.from] = 1;
    return good;
}

/* What may run in several groups with the pair (join 0: without any), in instructions. */
static uint64_t runs_apart(Gathering *gathering, ReconvEntered pair) {
    Reconv *reconv = gathering->reconv;
    uint64_t cost = 0;
    clear_marks(gathering, gathering->apart);
    for (uint32_t k = 0; k < gathering->n; k++) {
        uint32_t b = gathering->parting[k];
        mark_ways(reconv, reconv->pd.ipdom[b], gathering->region[b] ? pair.join : 0, gathering->apart);
    }
    if (any_marked(reconv, gathering->apart, true)) /* so they come back from calls in groups, too */
        for (uint32_t k = 0; k < reconv->order.count; k++) {
            uint32_t b = reconv->order.order[k];
            if (b && reconv->recurs[b])
                mark_behind_block(reconv, b, gathering->region[b] ? pair.join : 0, gathering->apart);
        }
    for (uint32_t k = 0; k < reconv->order.count; k++) {
        uint32_t b = reconv->order.order[k];
        if (b && gathering->apart[b])
            cost += reconv->f->blocks.at[b].insts.n + (reconv->recurs[b] ? APART_CALL : 0);
    }
    return cost;
}

ReconvEntered reconv_find_entered(Reconv *reconv, const bool *divergent) {
    Gathering gathering = {.reconv = reconv};
    ReconvEntered best = {0};
    if (reconv->order.count > MOST_BLOCKS)
        return best;
    gathering.region = ARENA_ARRAY(&reconv->a, uint8_t, reconv->g.n);
    gathering.apart = ARENA_ARRAY(&reconv->a, uint8_t, reconv->g.n);
    find_parting(&gathering, divergent);
    uint64_t least = runs_apart(&gathering, best);
    for (uint32_t k = 0; k <= gathering.n; k++) { /* the entry first: of equal ones the widest */
        ReconvEntered pair = {.from = k ? gathering.parting[k - 1] : reconv->f->entry.i, .at_entry = !k};
        pair.join = reconv->pd.ipdom[pair.from];
        for (unsigned n = 0; pair.join && n < MOST_OUT; pair.join = reconv->pd.ipdom[pair.join], n++) {
            uint64_t cost = is_pair(&gathering, pair) ? runs_apart(&gathering, pair) : UINT64_MAX;
            if (cost < least)
                least = cost, best = pair;
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

void reconv_insert_entered(Function *f, ReconvEntered pair) {
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
