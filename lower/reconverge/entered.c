/* Lanes that enter a recursive function together leave it together. A barrier register cannot do that: it is
 * one for all calls of the function, so no join holds a call that leads back (reconverge.h, recurs). A mask
 * can, because each call has its own, in a register that is saved like any other value:
 *
 *     f:      VOTE.ANY R8, PT, PT      who is here
 *             ...                      branches, calls of f
 *     join:   WARPSYNC R8              all of them again
 *             RET
 *
 * Nobody waits for ever. A lane waits for those that entered with it; such a one has not come because it is
 * on its way, or because it waits in a call that it entered later. So of lanes that wait for each other the
 * last mask was made latest, and that one's lanes run. The machine lets lanes run that are missing for any of
 * those at the WARPSYNC: none of these is at this WARPSYNC, so every chain ends at one that runs, if there is
 * but one such place in functions that call each other. It must not be one that waits for a lane which waits
 * here: nothing that the functions do or call may observe other lanes or be a collective.
 *
 * The place is the first block that all lanes come to on their way out, once, and behind which no call leads
 * back. SPDX-License-Identifier: MIT */
#include "lower/reconverge/reconverge.h"

static bool ends_in_return(const Function *f, uint32_t block) {
    return reconv_branch(f, &f->blocks.at[block])->op == OT_RET;
}

/* Walks from `from`, not into `join`: is there a block of which `wanted` holds? */
static bool leads_to(Reconv *reconv, uint32_t from, uint32_t join,
                     bool (*wanted)(const Reconv *reconv, uint32_t block)) {
    uint32_t top = 0, round = ++reconv->round;
    reconv->stack[top++] = from;
    while (top) {
        uint32_t b = reconv->stack[--top];
        reconv->f->module->steps++;
        if (wanted(reconv, b))
            return true;
        GRAPH_SUCCS(&reconv->g, b, s)
            if (*s && *s != join && reconv->mark[*s] != round)
                reconv->mark[*s] = round, reconv->stack[top++] = *s;
    }
    return false;
}

static bool returns(const Reconv *reconv, uint32_t block) { return ends_in_return(reconv->f, block); }
static bool calls_back(const Reconv *reconv, uint32_t block) { return reconv->recurs[block]; }

static bool is_in_cycle(Reconv *reconv, uint32_t block) { return reconv->loops.innermost[block] != NO_NODE; }

/* May lanes part before the join and only some of them call back? */
static bool parts_callers(Reconv *reconv, uint32_t join, const bool *divergent) {
    for (uint32_t k = 0; k < reconv->order.count; k++) {
        uint32_t b = reconv->order.order[k];
        if (!b || !divergent[b])
            continue;
        GRAPH_SUCCS(&reconv->g, b, s)
            if (*s && *s != join && leads_to(reconv, *s, join, calls_back))
                return true;
    }
    return false;
}

uint32_t reconv_find_entered(Reconv *reconv, const bool *divergent) {
    const Function *f = reconv->f;
    uint32_t entry = f->entry.i;
    for (uint32_t join = reconv->pd.ipdom[entry]; join; join = reconv->pd.ipdom[join])
        if (!is_in_cycle(reconv, join) && !pending_inside(reconv, join) &&
            !leads_to(reconv, join, 0, calls_back) && !leads_to(reconv, entry, join, returns))
            return parts_callers(reconv, join, divergent) ? join : 0;
    return 0;
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

void reconv_insert_entered(Function *f, uint32_t join) {
    BlockId at = {join};
    ReconvPlace first = {.f = f, .block = f->entry, .at = behind(f, f->entry, is_of_entry)},
                last = {.f = f, .block = at, .at = behind(f, at, is_of_join)};
    first.loc = ir_inst(f, ir_inst_at(f, f->entry, first.at))->loc;
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
