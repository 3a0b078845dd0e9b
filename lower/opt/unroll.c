/* Loops whose rounds are known and few become straight code: no counter, comparison and jump, and numbers in
 * the place of all that the counter decides (offsets of loads, amounts of shifts, branches). Innermost loops
 * first; then the function is folded, and a loop around them that has no other within it any more may follow.
 *
 * What it costs is text: rounds * instructions that stay. What stays is estimated: of a round all that is
 * made of numbers alone goes, with the branch that ends the loop. Beside the counter there go copies from
 * round to round and what rounds have in common, of which nothing is known before; so a loop with one way out
 * or two may become LARGE. With more each copy has branches and joins of its own, and what waits for memory
 * that others watch gains little: these must become SMALL. Left as they are: what stands under
 * `.pragma "nounroll"`, loops with collectives, barriers and calls, whose lanes would have to meet at each of
 * their copies, or with indirect branches, whose tables would have to be copied, too.
 * In and out: SSA. SPDX-License-Identifier: MIT */
#include "frontend/ast.h"
#include "isa/lane/choose.h"
#include "lower/opt/loops.h"
#include "lower/passes.h"
#include <string.h>

/* MOST_ROUNDS: as many as `heddle prove` follows. SMALL, LARGE: instructions that stay. FEW_EXITS: ways out
 * of a loop that may become LARGE. MOST_GROWTH: of one function. MOST_EDGES: out of the copies into one
 * block, which has 255 at most. */
enum { MOST_ROUNDS = 255, SMALL = 256, LARGE = 1152, FEW_EXITS = 2, MOST_GROWTH = 4096, MOST_EDGES = 200 };

/* ---- which loops ---- */

static bool may_copy_inst(const Function *f, const Inst *i) {
    if (i->op == OT_BRX || i->flags & (IF_SYNC | IF_CONVERGENT))
        return false;
    FOR_DSTS(f, i, o)
        for (unsigned c = 0; o->kind == OPK_VAL && c < o->count; c++) {
            uint32_t v = ir_operand_value(f, *o, c).i;
            if (v && (f->values.at[v].fixed_reg >= 0 || f->values.at[v].file >= RF_UR))
                return false;
        }
    return true;
}

static bool may_copy(Function *f, const OptLoop *loop) {
    for (unsigned k = 0; k < loop->blocks.n; k++) {
        BlockId b = loop->blocks.at[k];
        const BlockIds *succs = &ir_block(f, b)->succs;
        FOR_INSTS(f, b, i)
            if (!may_copy_inst(f, i))
                return false;
        if (succs->n == 2 && succs->at[0].i == succs->at[1].i)
            return false;
    }
    return true;
}

/* Does the text ask for the loop to stay? In the header's block, or for all of the function or module. */
static bool is_kept(const Function *f, BlockId header) {
    const struct PtxFunc *ptx = f->ptx;
    const struct PtxModule *module = f->module->ptx;
    if (!ptx || !module || module->nounroll)
        return module && module->nounroll;
    uint32_t first = f->blocks.at[header.i].ptx_insn, last = first;
    for (unsigned k = 0; k < ir_num_insts(f, header) && ptx->npragmas; k++) {
        const Inst *i = &f->insts.at[ir_inst_at(f, header, k).i];
        uint32_t insn = i->loc.i < f->locs.n ? f->locs.at[i->loc.i].ptx_insn : 0;
        last = insn > last ? insn : last;
    }
    for (uint32_t k = 0; k < ptx->npragmas; k++) {
        uint32_t insn = ptx->pragma_insns[k] + 1;
        if (strcmp(str_text(&module->strings, ptx->pragmas[k]), "nounroll") == 0 &&
            (insn == 1 || (insn >= first && insn <= last)))
            return true;
    }
    return false;
}

/* ---- what it is worth ---- */

typedef struct {
    unsigned all, numbers; /* instructions of a round but MOV; of them what is made of numbers alone */
    unsigned exits;        /* edges out of the loop, that of the last round among them */
    bool watched;          /* others hear of its accesses to memory, or it of theirs */
} RoundCost;

static bool is_of_numbers(const Function *f, const OptLoop *loop, const bool *number, Operand o) {
    for (unsigned c = 0; o.kind == OPK_VAL && c < o.count; c++) {
        uint32_t v = ir_operand_value(f, o, c).i;
        InstId def = f->values.at[v].def;
        bool outside = !loop->inside[f->values.at[v].block.i];
        if (!number[v] && !(outside && def.i && f->insts.at[def.i].op == OT_MOV))
            return false;
    }
    return true;
}

/* Does the pass `fold` compute it? Numbers of floating point it does not. */
static bool is_computed(const Function *f, const Inst *i) {
    const uint32_t plain[4] = {0};
    LaneMods mods;
    uint32_t bop;
    if (ir_is_pseudo(i->op) || i->op == OT_MOV || i->op == OT_PLOP3)
        return i->op != IR_FRAME_ADDR;
    MachInst in = opt_mach(f, i);
    bool predicates = false;
    for (unsigned k = 0; k < in.ndst; k++)
        predicates |= in.dst[k].kind == OPK_VAL && in.dst[k].file == RF_P;
    return lane_choose(&in, plain, predicates, &mods, &bop) != LANE_INT_NONE;
}

static bool made_of_numbers(const Function *f, const OptLoop *loop, const bool *number, const Inst *i) {
    bool jump = i->op == OT_BRA && !op_is_always(i->guard);
    if (!jump && !(opt_only_computes(f, i) && is_computed(f, i)))
        return false;
    FOR_READS(f, i, o)
        if (!is_of_numbers(f, loop, number, *o))
            return false;
    return true;
}

static unsigned num_exits(const Function *f, const OptLoop *loop) {
    unsigned n = 0;
    for (unsigned k = 0; k < loop->blocks.n; k++) {
        const BlockIds *succs = &f->blocks.at[loop->blocks.at[k].i].succs;
        for (unsigned s = 0; s < succs->n; s++)
            n += !loop->inside[succs->at[s].i];
    }
    return n;
}

/* Phis of the header are taken for numbers where they begin with one, until one is seen to go on with
 * something else. */
static RoundCost round_cost(Arena *a, Function *f, const OptLoop *loop) {
    bool *number = ARENA_ARRAY(a, bool, f->values.n), *refused = ARENA_ARRAY(a, bool, f->values.n);
    RoundCost cost;
    for (bool again = true; again;) {
        again = false;
        cost = (RoundCost){.exits = num_exits(f, loop)};
        for (unsigned k = 0; k < loop->blocks.n; k++)
            FOR_INSTS(f, loop->blocks.at[k], i) {
                bool head = k == 0 && i->op == IR_PHI, made = false;
                if (head)
                    FOR_SRCS(f, i, o)
                        made |= !loop->inside[ir_block(f, loop->blocks.at[0])->preds.at[AT(o)].i] &&
                                is_of_numbers(f, loop, number, *o);
                else
                    made = made_of_numbers(f, loop, number, i);
                FOR_DSTS(f, i, o)
                    for (unsigned c = 0; o->kind == OPK_VAL && c < o->count; c++) {
                        uint32_t v = ir_operand_value(f, *o, c).i;
                        number[v] = made && !refused[v];
                    }
                bool real =
                    i->op != IR_PHI && i->op != OT_MOV && !(i->op == OT_BRA && op_is_always(i->guard));
                cost.all += real;
                cost.numbers += real && made;
                cost.watched |= i->flags & IF_OBSERVING ||
                                (!ir_is_pseudo(i->op) && isa_has_effect(i->op, ISA_EFFECT_ATOMIC));
            }
        FOR_PHIS(f, loop->blocks.at[0], phi) {
            uint32_t v = opt_scalar(*ir_dst(f, phi, 0));
            FOR_SRCS(f, phi, o)
                if (number[v] && !is_of_numbers(f, loop, number, *o))
                    again = refused[v] = true;
        }
    }
    return cost;
}

static bool worth_it(RoundCost cost, unsigned rounds, unsigned room) {
    unsigned stays = (cost.all - cost.numbers) * rounds;
    return stays <= room && stays <= (cost.exits <= FEW_EXITS && !cost.watched ? LARGE : SMALL);
}

/* Edges that leave the loop stay within what one block may have. */
static bool exits_fit(Function *f, const OptLoop *loop, unsigned copies) {
    for (unsigned k = 0; k < loop->blocks.n; k++) {
        const Block *block = ir_block(f, loop->blocks.at[k]);
        for (unsigned s = 0; s < block->succs.n; s++) {
            const Block *to = ir_block(f, block->succs.at[s]);
            unsigned from_loop = 0;
            for (unsigned p = 0; p < to->preds.n; p++)
                from_loop += loop->inside[to->preds.at[p].i];
            if (!loop->inside[block->succs.at[s].i] && to->preds.n + copies * from_loop > MOST_EDGES)
                return false;
        }
    }
    return ir_block(f, loop->blocks.at[0])->preds.n <= MOST_EDGES / 2;
}

/* ---- the pass ---- */

/* A cycle of blocks has an edge that leads back in the text. */
static bool leads_back(const Function *f) {
    FOR_BLOCKS(f, b) {
        const Block *block = &f->blocks.at[b.i];
        for (unsigned s = 0; s < block->succs.n; s++)
            if (f->blocks.at[block->succs.at[s].i].order <= block->order)
                return true;
    }
    return false;
}

typedef struct {
    Function *f;
    Arena a; /* of one look at all loops */
    OptRounds rounds;
    bool *inside;     /* [block] of the loop that is tried */
    uint32_t ninside; /* blocks for which there is room */
    unsigned room;    /* instructions that the function may still grow by */
} Unrolling;

/* Unrolls the loop if that may be and is worth it. */
static bool unroll_loop(Unrolling *unrolling, const OptLoop *loop) {
    Function *f = unrolling->f;
    OptExit exit;
    if (is_kept(f, loop->blocks.at[0]) || !may_copy(f, loop) ||
        !opt_last_round(f, &unrolling->rounds, loop, MOST_ROUNDS, &exit) || !exits_fit(f, loop, exit.round))
        return false;
    RoundCost cost = round_cost(&unrolling->a, f, loop);
    unsigned rounds = exit.round + 1;
    if (!worth_it(cost, rounds, unrolling->room))
        return false;
    unrolling->room -= (cost.all - cost.numbers) * rounds;
    opt_unroll_loop(f, loop, &exit);
    return true;
}

static bool try_loop(Unrolling *unrolling, BlockIds blocks) {
    if (unrolling->ninside < unrolling->f->blocks.n) {
        unrolling->ninside = unrolling->f->blocks.n;
        unrolling->inside = ARENA_ARRAY(&unrolling->a, bool, unrolling->ninside);
    }
    for (unsigned k = 0; k < blocks.n; k++)
        unrolling->inside[blocks.at[k].i] = true;
    bool done = unroll_loop(unrolling, &(OptLoop){blocks, unrolling->inside});
    for (unsigned k = 0; k < blocks.n; k++)
        unrolling->inside[blocks.at[k].i] = false;
    return done;
}

static bool unroll_innermost(Unrolling *unrolling) {
    Function *f = unrolling->f;
    Graph graph = cfg_graph(&unrolling->a, f);
    GraphOrder order = graph_order(&unrolling->a, &graph, f->entry.i);
    LoopForest forest = loop_forest(&unrolling->a, &graph, f->entry.i);
    BlockIds *blocks = ARENA_ARRAY(&unrolling->a, BlockIds, forest.n + 1);
    bool any = false;
    for (uint32_t k = 0; k < order.count; k++) {
        uint32_t loop = forest.innermost[order.order[k]];
        if (loop != NO_NODE && forest.at[loop].out - forest.at[loop].in == 1 && !forest.at[loop].irreducible)
            VEC_ADD(&unrolling->a, &blocks[loop], (BlockId){order.order[k]});
    }
    for (uint32_t loop = 0; loop < forest.n; loop++)
        if (blocks[loop].n && blocks[loop].at[0].i == forest.at[loop].header)
            any |= try_loop(unrolling, blocks[loop]);
    arena_free(&unrolling->a);
    unrolling->ninside = 0;
    return any;
}

bool pass_unroll(Function *f, Diags *d) {
    if (f->blocks.n <= 1)
        return true;
    Unrolling unrolling = {.f = f, .room = MOST_GROWTH};
    bool good = true, any = true;
    while (any && good && leads_back(f)) {
        any = unroll_innermost(&unrolling);
        good = !any || (pass_fold(f, d) && pass_branches(f, d));
    }
    arena_free(&unrolling.rounds.fold.a);
    return good;
}
