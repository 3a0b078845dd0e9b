/* The fast way around what makes lanes come together before a collective: it asks whether all lanes of the
 * mask are here. They mostly are, and YIELD, a stub or gathering would part groups that joins hold together.
 *
 *     asks:   %same = MATCH.ANY %m           lanes here with this mask; of a number: VOTE.ANY PT
 *             %no = LOP3 (%m & ~%same) != 0  one of the mask's lanes is elsewhere, or has another mask
 *             %one = VOTE.ANY %no            not of a number, for which all lanes have one answer
 *      @!%one BRA fast
 *     slow:   ...                            as without a fast way
 *             BRA join
 *     fast:   SHFL ...                       no WARPSYNC: all are here, whom else the machine lets take part
 *     join:   phis                           does not matter to the operations that may stand here
 *
 * All lanes go one way: whom a branch parts some machines wake one by one, and those of a mask would not be
 * together any more.
 * A lane that has exited, of which a mask still speaks, leads to the slow way. What follows in the block with
 * the same mask, and what stands between, is done on both ways. The fast way has copies: they are IF_SYNC no
 * more, for they need nothing.
 * SPDX-License-Identifier: MIT */
#include "isa/machine/luts.h"
#include "lower/reconverge/ask.h"
#include "lower/select/isel.h"
#include <string.h>

enum { MOST_BETWEEN = 48, MOST_VALUES = 128 };

typedef struct {
    Function *f;
    uint32_t from[MOST_VALUES], to[MOST_VALUES];
    unsigned n;
} Renamed;

static bool may_be_between(const Inst *i) {
    return !ir_is_pseudo(i->op) && !(i->flags & ~(unsigned)IF_REWRITTEN) && !reconv_changes_active(i) &&
           isa_traits(i->op)->lanes == ISA_LANES_EACH && isa_traits(i->op)->space == 0;
}

static bool values_of(const Function *f, Operand o, Renamed *found) {
    for (unsigned c = 0; o.kind == OPK_VAL && c < (o.count ? o.count : 1u); c++) {
        if (found->n == MOST_VALUES)
            return false;
        found->from[found->n++] = o.count > 1 ? ir_operand_value(f, o, c).i : o.value;
    }
    return true;
}

static Operand asked_mask(const Function *f, const Inst *i) {
    return *ir_src(f, i, i->op == OT_WARPSYNC ? (unsigned)WARPSYNC_rb : isa_num_src(i->op));
}

unsigned reconv_ask_range(Function *f, BlockId block, unsigned first, Operand mask, const bool *asks) {
    unsigned last = first;
    Renamed made = {.f = f};
    for (unsigned at = first; at < ir_num_insts(f, block) && at - first < MOST_BETWEEN; at++) {
        InstId id = ir_inst_at(f, block, at);
        const Inst *i = ir_inst(f, id);
        bool good = op_is_always(i->guard);
        if (asks[id.i]) {
            Operand own = asked_mask(f, i);
            good = good && !memcmp(&own, &mask, sizeof own) && (i->op != OT_WARPSYNC || at == first);
        } else {
            good = good && may_be_between(i);
        }
        FOR_DSTS(f, i, dst)
            good = good && values_of(f, *dst, &made);
        if (!good)
            break;
        if (asks[id.i])
            last = at;
        if (i->op == OT_WARPSYNC) /* one that PTX has, which orders memory: alone */
            break;
    }
    return last + 1;
}

/* ---- copies ---- */

static uint32_t renamed(const Renamed *names, uint32_t value) {
    for (unsigned k = 0; k < names->n; k++)
        if (names->from[k] == value)
            return names->to[k];
    return value;
}

static Operand renamed_operand(const Renamed *names, Operand o) {
    if (o.kind != OPK_VAL)
        return o;
    if (o.count <= 1) {
        o.value = renamed(names, o.value);
        return o;
    }
    ValId part[IR_MOST_VECTOR];
    bool changed = false;
    for (unsigned c = 0; c < o.count; c++) {
        uint32_t value = ir_operand_value(names->f, o, c).i;
        part[c].i = renamed(names, value);
        changed |= part[c].i != value;
    }
    if (!changed)
        return o;
    Operand vector = ir_vec(names->f, part, o.count);
    vector.mods = o.mods;
    return vector;
}

/* New values for all that the instruction makes. */
static void name_anew(Renamed *names, const Inst *i) {
    Function *f = names->f;
    unsigned first = names->n;
    FOR_DSTS(f, i, dst)
        (void)values_of(f, *dst, names);
    for (unsigned k = first; k < names->n; k++)
        names->to[k] = ir_value_new(f, f->values.at[names->from[k]].file).i;
}

/* The operation as it is where all lanes are together. */
static InstId fast_copy(const Renamed *names, InstId of, bool collective) {
    Function *f = names->f;
    Inst i = *ir_inst(f, of);
    unsigned nsrc = collective ? isa_num_src(i.op) : i.nsrc;
    InstId id = ir_inst_new(f, i.op, i.ndst, nsrc);
    Inst *copy = ir_inst(f, id);
    copy->mods = i.mods;
    copy->loc = i.loc;
    copy->flags = (uint16_t)(i.flags & ~(unsigned)IF_SYNC);
    for (unsigned k = 0; k < i.ndst; k++)
        ir_set_dst(f, id, k, renamed_operand(names, *ir_dst(f, &i, k)));
    for (unsigned k = 0; k < nsrc; k++)
        ir_set_src(f, id, k, renamed_operand(names, *ir_src(f, &i, k)));
    return id;
}

static void rename_in_place(const Renamed *names, InstId id) {
    Function *f = names->f;
    for (unsigned k = 0; k < ir_num_operands(ir_inst(f, id)); k++) {
        Operand now = renamed_operand(names, f->operands.at[ir_inst(f, id)->operand + k]);
        f->operands.at[ir_inst(f, id)->operand + k] = now;
    }
}

/* [value] is read outside of the range */
static bool read_elsewhere(Function *f, BlockId block, unsigned first, unsigned end, uint32_t value) {
    FOR_BLOCKS(f, b)
        FOR_INSTS(f, b, i) {
            if (b.i == block.i && AT(i) >= first && AT(i) < end)
                continue;
            FOR_READS(f, i, read)
                for (unsigned c = 0; read->kind == OPK_VAL && c < (read->count ? read->count : 1u); c++)
                    if ((read->count > 1 ? ir_operand_value(f, *read, c).i : read->value) == value)
                        return true;
        }
    return false;
}

/* ---- blocks ---- */

/* What stands in the block from `at` on, and where it leads, is another block's. */
static BlockId split_block(Function *f, BlockId block, unsigned at) {
    BlockId tail = ir_block_new(f);
    for (unsigned k = at; k < ir_num_insts(f, block); k++)
        ir_append(f, tail, ir_inst_at(f, block, k));
    ir_block(f, block)->insts.n = at;
    BlockIds succs = ir_block(f, block)->succs;
    for (unsigned k = 0; k < succs.n; k++) {
        Block *to = ir_block(f, succs.at[k]);
        for (unsigned p = 0; p < to->preds.n; p++)
            if (to->preds.at[p].i == block.i)
                to->preds.at[p] = tail;
    }
    ir_block(f, tail)->succs = succs;
    ir_block(f, tail)->uniform_flow = ir_block(f, block)->uniform_flow;
    memset(&ir_block(f, block)->succs, 0, sizeof succs);
    return tail;
}

static void put_jump(ReconvPlace *p, BlockId to) {
    InstId jump = ir_branch_new(p->f, to);
    ir_inst(p->f, jump)->loc = p->loc;
    ir_insert(p->f, p->block, p->at++, jump);
    ir_add_edge(p->f, p->block, to);
}

static void put_question(ReconvPlace *p, Operand mask, BlockId fast, BlockId slow) {
    Function *f = p->f;
    bool differ = mask.kind == OPK_VAL;
    Operand same = reconv_value(f, RF_R), no = reconv_value(f, RF_P);
    InstId who = reconv_place_op(p, differ ? OT_MATCH : OT_VOTE);
    ir_inst(f, who)->flags |= IF_CONVERGENT;
    if (differ) {
        ir_inst(f, who)->mods = MSET(MATCH, op, MatchOp_ANY) | MSET(MATCH, type, MatchType_U32);
        ir_set_dst(f, who, MATCH_rd, same);
        ir_set_src(f, who, MATCH_ra, mask);
    } else {
        ir_inst(f, who)->mods = MSET(VOTE, op, VoteOp_ANY);
        ir_set_dst(f, who, VOTE_rd, same);
        ir_set_src(f, who, VOTE_pp, op_pt());
    }
    reconv_place_masks(p, LUT_LACKS, LOP3_pu, no, same, mask);
    if (differ) {
        Operand one = reconv_value(f, RF_P);
        InstId any = reconv_place_op(p, OT_VOTE);
        ir_inst(f, any)->flags |= IF_CONVERGENT;
        ir_inst(f, any)->mods = MSET(VOTE, op, VoteOp_ANY);
        ir_set_dst(f, any, VOTE_pu, one);
        ir_set_src(f, any, VOTE_pp, no);
        no = one;
    }
    InstId branch = ir_branch_new(f, fast);
    ir_inst(f, branch)->loc = p->loc;
    ir_inst(f, branch)->flags |= IF_ASKS;
    ir_set_guard(f, branch, op_not(no));
    ir_insert(f, p->block, p->at++, branch);
    ir_add_edge(f, p->block, fast);
    put_jump(p, slow);
}

BlockId reconv_put_ask(Function *f, BlockId block, unsigned first, unsigned end, Operand mask,
                       const bool *asks) {
    Renamed slow_names = {.f = f}, fast_names = {.f = f};
    bool wanted[MOST_VALUES];
    LocId loc = ir_inst(f, ir_inst_at(f, block, first))->loc;
    for (unsigned at = first; at < end; at++) {
        name_anew(&slow_names, ir_inst(f, ir_inst_at(f, block, at)));
        name_anew(&fast_names, ir_inst(f, ir_inst_at(f, block, at)));
    }
    for (unsigned k = 0; k < slow_names.n; k++)
        wanted[k] = read_elsewhere(f, block, first, end, slow_names.from[k]);
    BlockId join = split_block(f, block, end), slow = split_block(f, block, first), fast = ir_block_new(f);
    ReconvPlace at_fast = {.f = f, .block = fast, .loc = loc};
    for (unsigned at = 0; at < end - first; at++) {
        InstId id = ir_inst_at(f, slow, at);
        if (ir_inst(f, id)->op != OT_WARPSYNC)
            ir_insert(f, fast, at_fast.at++, fast_copy(&fast_names, id, asks[id.i]));
        rename_in_place(&slow_names, id);
    }
    ReconvPlace at_slow = {.f = f, .block = slow, .at = end - first, .loc = loc},
                question = {.f = f, .block = block, .at = first, .loc = loc};
    ir_block(f, slow)->uniform_flow = false;
    put_question(&question, mask, fast, slow);
    put_jump(&at_slow, join);
    put_jump(&at_fast, join);
    unsigned phis = 0;
    for (unsigned k = 0; k < slow_names.n; k++) {
        if (!wanted[k])
            continue;
        InstId phi = ir_inst_new(f, IR_PHI, 1, 2);
        ir_inst(f, phi)->loc = loc;
        ir_set_dst(f, phi, 0, ir_val(f, (ValId){slow_names.from[k]}));
        ir_set_src(f, phi, 0, ir_val(f, (ValId){slow_names.to[k]}));
        ir_set_src(f, phi, 1, ir_val(f, (ValId){fast_names.to[k]}));
        ir_insert(f, join, phis++, phi);
    }
    return slow;
}

bool reconv_is_answered(const Function *f, uint32_t block) {
    const Block *b = &f->blocks.at[block];
    if (b->preds.n != 2 || b->preds.at[0].i == b->preds.at[1].i)
        return false;
    uint32_t from[2];
    for (unsigned k = 0; k < 2; k++) {
        const Block *way = &f->blocks.at[b->preds.at[k].i];
        if (way->preds.n != 1 || way->succs.n != 1)
            return false;
        from[k] = way->preds.at[0].i;
    }
    return from[0] == from[1] && (reconv_branch(f, &f->blocks.at[from[0]])->flags & IF_ASKS);
}
