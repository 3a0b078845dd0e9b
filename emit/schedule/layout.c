/* The pass `layout`: the final order of blocks. Reverse postorder, in which a block is followed by its last
 * successor where possible (that is the one reached by the unconditional BRA, which then goes); branches to
 * blocks that only branch on go straight to the end; a conditional branch is inverted when its target is
 * next.
 * SPDX-License-Identifier: MIT */
#include "emit/emit.h"
#include "ir/cfg.h"
#include "ir/pass.h"
#include <string.h>

static Inst *last_inst(Function *f, BlockId b, unsigned back) {
    Block *blk = ir_block(f, b);
    return blk->insts.n > back ? ir_inst(f, blk->insts.at[blk->insts.n - 1 - back]) : NULL;
}

static bool is_jump(const Inst *i) { return i && i->op == OT_BRA && op_is_always(i->guard); }

/* Is the extra predicate of a BRA absent, so that its guard alone decides? */
static bool is_simple(Function *f, const Inst *bra) {
    FOR_SRCS(f, bra, o) {
        if (o->kind != OPK_NONE && o->kind != OPK_BLOCK && !(o->kind == OPK_REG && op_is_always(*o)))
            return false;
    }
    return bra->mods == 0;
}

/* A block that holds nothing but BRA: where it leads. */
static BlockId only_jumps_to(Function *f, BlockId b) {
    Block *blk = ir_block(f, b);
    if (blk->insts.n == 1 && blk->succs.n == 1 && is_jump(last_inst(f, b, 0)) &&
        is_simple(f, last_inst(f, b, 0)) && blk->succs.at[0].i != b.i && b.i != f->entry.i)
        return blk->succs.at[0];
    return (BlockId){0};
}

/* Does some BSSY name block b as its reconvergence point? */
static void mark_syncpoints(Function *f, Bitset *named) {
    FOR_BLOCKS(f, b)
        FOR_INSTS(f, b, i) {
            if (i->op == OT_BRA)
                continue;
            FOR_SRCS(f, i, src)
                if (src->kind == OPK_BLOCK)
                    bs_add(named, src->value);
        }
}

static void thread_jumps(Function *f, Arena *a) {
    Bitset named = bs_new(a, f->blocks.n);
    mark_syncpoints(f, &named);
    FOR_BLOCKS(f, b) {
        if (ir_block(f, b)->dead)
            continue;
        for (unsigned s = 0; s < ir_block(f, b)->succs.n; s++)
            for (unsigned hops = 0; hops < 64; hops++) {
                BlockId mid = ir_block(f, b)->succs.at[s], to = only_jumps_to(f, mid);
                if (!to.i || bs_has(&named, mid.i) || to.i == mid.i)
                    break;
                ir_replace_edge(f, b, mid, to);
                if (ir_block(f, mid)->preds.n)
                    continue;
                ir_remove_edge(f, mid, to);
                ir_block(f, mid)->dead = true;
                ir_block(f, mid)->insts.n = 0;
            }
    }
    ir_renumber(f);
}

/* `@P BRA x; BRA x` is one branch. */
static void merge_equal_branches(Function *f, BlockId b) {
    Block *blk = ir_block(f, b);
    const Inst *first = last_inst(f, b, 1);
    if (blk->succs.n != 2 || blk->succs.at[0].i != blk->succs.at[1].i || !first || first->op != OT_BRA ||
        !is_jump(last_inst(f, b, 0)))
        return;
    ir_remove_at(f, b, blk->insts.n - 2);
    ir_remove_edge(f, b, blk->succs.at[0]);
}

/* Reverse postorder; of a block's successors the last is visited last, and so placed next. Loops stay
 * together. */
static void order_blocks(Function *f, Arena *a) {
    Graph g = cfg_graph(a, f);
    GraphOrder o = graph_order(a, &g, f->entry.i);
    FOR_BLOCKS(f, b)
        if (o.index[b.i] == NO_NODE)
            ir_block(f, b)->dead = true;
    f->layout.n = 0;
    for (uint32_t k = 0; k < o.count; k++)
        if (o.order[k]) /* the virtual exit */
            VEC_ADD(f->arena, &f->layout, (BlockId){o.order[k]});
    ir_renumber(f);
}

/* Branches at the end of block b, of which `next` follows. */
static void tidy_end(Function *f, BlockId b, BlockId next) {
    Block *blk = ir_block(f, b);
    Inst *last = last_inst(f, b, 0), *first = last_inst(f, b, 1);
    if (!is_jump(last) || !is_simple(f, last) || !next.i)
        return;
    bool two_way = blk->succs.n == 2 && first && first->op == OT_BRA && !op_is_always(first->guard);
    if (two_way && blk->succs.at[0].i == next.i && is_simple(f, first)) {
        BlockId taken = blk->succs.at[1];
        first->guard.mods ^= OPM_NOT;
        *ir_src(f, first, IR_BRA_TARGET_SLOT) = ir_target(taken);
        *ir_src(f, last, IR_BRA_TARGET_SLOT) = ir_target(next);
        blk->succs.at[1] = next;
        blk->succs.at[0] = taken;
    }
    if (blk->succs.n && blk->succs.at[blk->succs.n - 1].i == next.i && blk->insts.n > 1)
        ir_remove_at(f, b, blk->insts.n - 1);
}

/* ---- return addresses ---- */

static InstId new_address_half(Function *f, Operand dst, RelocKind kind, LocId loc) {
    InstId id = ir_inst_new(f, OT_MOV, isa_num_dst(OT_MOV), isa_num_src(OT_MOV));
    Operand sym = ir_sym(f, f->name, EMIT_BEHIND_CALL, kind);
    *ir_dst(f, ir_inst(f, id), MOV_rd) = dst;
    *ir_src(f, ir_inst(f, id), MOV_rb) = sym;
    ir_inst(f, id)->loc = loc;
    return id;
}

/* Where LEPC takes no offset, the return address comes from the loader: two moves with relocations. */
static void expand_lepc(Function *f) {
    IsaSlot slot = isa_src_slot(f->module->target, OT_LEPC, LEPC_offset);
    if (slot.kinds & ~(1u << OPK_NONE))
        return;
    FOR_BLOCKS(f, b) {
        for (unsigned p = 0; p < ir_block(f, b)->insts.n; p++) {
            Inst i = *ir_inst(f, ir_block(f, b)->insts.at[p]);
            if (i.op != OT_LEPC)
                continue;
            Operand lo = *ir_dst(f, &i, LEPC_rd), hi = lo;
            lo.count = hi.count = 1;
            hi.value++;
            ir_block(f, b)->insts.at[p] = new_address_half(f, lo, RELOC_ABS32_LO, i.loc);
            ir_insert(f, b, p + 1, new_address_half(f, hi, RELOC_ABS32_HI, i.loc));
        }
    }
}

bool pass_layout(Function *f, Diags *d) {
    (void)d;
    if (!f->entry.i)
        return true;
    Arena a = {0};
    expand_lepc(f);
    if (f->module->opt_level > 0)
        thread_jumps(f, &a);
    FOR_BLOCKS(f, b)
        merge_equal_branches(f, b);
    order_blocks(f, &a);
    FOR_BLOCKS(f, b)
        tidy_end(f, b, AT(b) + 1 < f->layout.n ? f->layout.at[AT(b) + 1] : (BlockId){0});
    arena_free(&a);
    return true;
}
