/* BRA.DIV asks whether some lanes of a mask are elsewhere. ptxas has one collective behind it, and for lanes
 * that are apart a way around it, which calls straight code behind the kernel that does the same:
 *
 *         BRA.DIV UR4, slow ;                    slow:  MOV R8, back ;  ...  CALL.REL.NOINC stub ;
 *         SHFL.DOWN PT, R13, R5, R6, R7 ;        back:  MOV R13, R9 ;  BRA join ;
 *  join:  ...                                    stub:  WARPSYNC R15 ;  SHFL.DOWN PT, R9, R5, R6, R7 ;  RET
 *
 * Which way a lane goes is nothing that it knows by itself. So both ways are executed from one state, as if
 * each were the only one, and must do the same events; what they leave different in a location may be
 * anything. The same of a branch that asks for the lanes of a mask (check/flow/question.h), with a fast way
 * on which these are together. The lanes that are waited for on the way around must be among those that are
 * asked for. That lanes meet on either is the checkers' to say (check/static/gathering.c).
 * SPDX-License-Identifier: MIT */
#include "check/prove/mach/mach.h"

enum { MOST_BLOCKS = 8 };

typedef struct { /* blocks one after another, each the only one that the one before it leads to */
    uint32_t block[MOST_BLOCKS], n;
} Chain;

/* Nothing but what a way may have: it is executed from its first instruction to its last. */
static bool is_plain(const BinFlow *flow, const BinBlock *block) {
    FOR_BIN_INSTS(block, i) {
        bool last = i + 1 == block->first + block->ninsts;
        switch (bin_kind(&flow->insts[i])) {
        case BK_NOP:
        case BK_PLAIN:
        case BK_COLLECTIVE:
        case BK_BAR:
        case BK_BSSY:
        case BK_BREAK:
        case BK_YIELD:
        case BK_WARPSYNC: break;
        case BK_CALL:
            if (last && block->nsuccs == 1 && block->succs[0].kind == BE_TAKEN)
                return false;
            break;
        case BK_BRANCH:
            if (!last || bin_guard(&flow->insts[i]) != BG_ALWAYS)
                return false;
            break;
        default: return false;
        }
        if (!flow->decoded[i])
            return false;
    }
    return block->nsuccs == 1 && !block->ends;
}

static Chain chain_from(const Mach *mach, uint32_t block) {
    const BinFlow *flow = mach->prover->flow;
    Chain chain = {.block = {block}, .n = 1};
    while (chain.n < MOST_BLOCKS && is_plain(flow, &flow->blocks[block]) &&
           !mach->stop[block - mach->prover->ff->first_block]) {
        block = flow->blocks[block].succs[0].block;
        chain.block[chain.n++] = block;
    }
    return chain;
}

static uint32_t place_in(const Chain *chain, uint32_t block) {
    uint32_t k = 0;
    while (k < chain->n && chain->block[k] != block)
        k++;
    return k;
}

/* The first `n` blocks of the chain under `pc`; `way` has locations and events of its own. */
static void run_way(Mach *way, const Chain *chain, uint32_t n, Term *pc) {
    const BinFlow *flow = way->prover->flow;
    way->pc = pc;
    way->reduced = NULL;
    for (uint32_t k = 0; k < n; k++)
        FOR_BIN_INSTS(&flow->blocks[chain->block[k]], i) {
            if (way->run->fault || bin_kind(&flow->insts[i]) == BK_BRANCH)
                continue;
            way->run->first = i < way->run->first ? i : way->run->first;
            way->run->last = i > way->run->last ? i : way->run->last;
            mach_at(way, i);
            mach_inst(way);
        }
}

/* After both ways from here: what differs between them in a location is anything. */
static bool ways_meet(Mach *mach, const Mach *slow, Term *taken) {
    Prover *prover = mach->prover;
    Terms *ts = &prover->ts;
    for (unsigned s = 0; s < NMEM; s++)
        if (slow->mem[s] != mach->mem[s])
            return false;
    for (uint32_t l = 0; l < prover->nloc; l++)
        if (t_under(ts, slow->val[l], taken) != t_under(ts, mach->val[l], taken)) {
            Term *any = t_var(ts, prove_loc_width(l), term_name(ts, "~%u", l), 0xfff00000u + mach->at);
            mach->val[l] = t_ite(ts, taken, any, mach->val[l]);
        }
    if (t_under(ts, slow->together, taken) != t_under(ts, mach->together, taken))
        mach->together =
            t_ite(ts, taken, t_var(ts, 32, term_name(ts, "lanes"), 0xfff00000u + mach->at), mach->together);
    return true;
}

/* The lanes that the branch asks for: in a uniform register, or in one of each lane. */
static Term *asked_lanes(Mach *mach, const BinQuestion *question) {
    Operand operand = mach->in->src[BRA_ura];
    if (question)
        return question->mask.kind == OPK_IMM ? mach_k32(mach, question->mask.value)
                                              : mach_get(mach, LOC_R + question->mask.value);
    if (operand.kind == OPK_NONE) /* the whole warp */
        return mach_k32(mach, UINT32_MAX);
    Term *asked = mach_plain(mach, BRA_ura, 0, OPM_NOT);
    return operand.mods & OPM_NOT ? t_inv(&mach->prover->ts, asked) : asked;
}

/* They are all that WARPSYNCs from `first` on name. */
static bool asks_for_them(const Mach *mach, Term *asked, uint32_t first) {
    if (t_is_const(asked) && asked->k == UINT32_MAX)
        return true;
    for (uint32_t k = first; k < mach->run->syncs.n; k++)
        if (mach->run->syncs.at[k].mask != asked)
            return false;
    return first < mach->run->syncs.n;
}

/* Does a bar.warp.sync stand on the first blocks of the slow way? Lanes that are all here need none. */
static bool orders_memory(const Mach *mach, const Chain *chain, uint32_t n) {
    const BinFlow *flow = mach->prover->flow;
    bool any = false;
    for (uint32_t k = 0; k < n; k++)
        FOR_BIN_INSTS(&flow->blocks[chain->block[k]], i) {
            any |= mach->prover->orders[i];
            uint32_t to = bin_kind(&flow->insts[i]) == BK_CALL ? bin_target(flow, i) : BINFLOW_NONE;
            if (to == BINFLOW_NONE || flow->block_of[to] == BINFLOW_NONE)
                continue;
            const BinFuncFlow *callee = &flow->funcs[flow->blocks[flow->block_of[to]].func];
            for (uint32_t c = 0; c < callee->ninsts; c++)
                any |= mach->prover->orders[callee->first_inst + c];
        }
    return any;
}

bool mach_apart(Mach *mach, const BinBlock *block, Term *taken, const BinQuestion *question, uint32_t *join) {
    Prover *prover = mach->prover;
    uint32_t at = mach->at, way[2] = {0};
    if (block->nsuccs != 2 || block->succs[0].kind == block->succs[1].kind)
        return false;
    for (unsigned k = 0; k < 2; k++)
        way[block->succs[k].kind == BE_TAKEN] = block->succs[k].block;
    if (question)
        way[0] = question->fast, way[1] = question->slow;
    Chain straight = chain_from(mach, way[0]), around = chain_from(mach, way[1]);
    uint32_t n = 0;
    while (n < around.n && place_in(&straight, around.block[n]) == straight.n)
        n++;
    if (n == around.n)
        return false;
    *join = around.block[n];
    Mach slow = *mach;
    slow.val = arena_copy(prover->run_arena, mach->val, prover->nloc * sizeof *slow.val);
    slow.mem = arena_copy(prover->run_arena, mach->mem, NMEM * sizeof *slow.mem);
    Term *asked = asked_lanes(mach, question);
    mach->together = t_ite(&prover->ts, mach->pc, asked, mach->together);
    if (question && orders_memory(mach, &around, n)) {
        mach->full = mach->pc; /* whatever the branch's guard */
        mach_event(mach, LISTS_OF_A_WARP, "warpsync", &asked, 1);
    }
    mach->with_others = slow.with_others = question && question->mask.kind != OPK_IMM;
    run_way(mach, &straight, place_in(&straight, *join), mach->pc);
    mach->with_others = false;
    uint32_t syncs = mach->run->syncs.n;
    run_way(&slow, &around, n, taken);
    mach->at = at;
    if (!asks_for_them(mach, asked, syncs))
        mach_fault(mach, "a branch that asks for other lanes than are waited for");
    if (!mach->run->fault && !ways_meet(mach, &slow, taken))
        mach_fault(mach, "lanes that are apart do other things");
    return true;
}
