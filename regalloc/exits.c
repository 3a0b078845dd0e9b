/* The pass `exits`: what several exits of a chain of branches hand to one phi is copied to it once, in front
 * of the first of these branches, and not on each edge:
 *
 *     A: v = ...     @p bra J       v lives on          A: v = ...   c = v   @p bra J
 *     B: reads v     @q bra J                     ->    B: reads v           @q bra J
 *     C: ...         @r bra J                           C: ...               @r bra J
 *     J: x = phi(v, v, v, ...)                          J: x = phi(c, c, c, ...)
 *
 * On edges the copies of all stages before pile up, and each group of lanes that leaves executes its own, and
 * a jump: of an unrolled loop with n exits and as many such phis, n * n / 2 copies. Here it is one for a
 * stage, and c takes x's register, which the allocator keeps free behind the copy.
 *
 * Which values share registers is asked as the allocator will see it (webs.c): only a value of another web
 * than the phi's is copied, and a copy that does not come to be of the phi's web goes again.
 *
 * Only where lanes part at the first branch, so that some leave there as a rule, which lies no deeper in
 * loops than the phi; what c holds longer than v would is counted against the registers that are left.
 * In: SSA form, legal. SPDX-License-Identifier: MIT */
#include "ir/cfg.h"
#include "ir/pass.h"
#include "lower/opt/opt.h"
#include "lower/passes.h"
#include "regalloc/colour.h"

/* FREE_REGS: so many cost no occupancy, which registers are given out for in units of UNIT_REGS.
 * MOST_EDGES: of one phi, which bounds the work. */
enum { FREE_REGS = 32, UNIT_REGS = 8, SPARE_REGS = 4, MOST_EDGES = 64 };

typedef struct {
    InstId copy, phi;
    BlockId block;
    Operand of;
    bool *has; /* [edge] of the phi */
} Copied;

typedef struct {
    Function *f;
    Arena a;
    Colour colour; /* what ra_webs wants of it */
    DomTree tree;
    unsigned (*pressure)[RF_COUNT]; /* [block] */
    unsigned most;                  /* of R in a block */
    VEC(Copied) copied;
} Exits;

static void find_webs(Exits *exits) {
    Function *f = exits->f;
    Colour *colour = &exits->colour;
    *colour = (Colour){.f = f, .a = &exits->a};
    ra_cfg(f, &exits->a, &colour->g);
    ra_live(f, &colour->g, &exits->a, &colour->live);
    colour->web_reg = ARENA_ARRAY(&exits->a, uint16_t, f->values.n);
    for (uint32_t v = 0; v < f->values.n; v++)
        colour->web_reg[v] = f->values.at[v].fixed_reg >= 0 ? (uint16_t)f->values.at[v].fixed_reg : RA_NO_REG;
    ra_webs(colour);
}

static void measure(Exits *exits) {
    Function *f = exits->f;
    exits->pressure = ra_pressures(f, &exits->colour.g, &exits->colour.live, &exits->a);
    exits->most = FREE_REGS;
    FOR_BLOCKS(f, b)
        if (exits->pressure[b.i][RF_R] > exits->most)
            exits->most = exits->pressure[b.i][RF_R];
    exits->most = (exits->most + UNIT_REGS - 1) / UNIT_REGS * UNIT_REGS;
    unsigned limit = ra_limit(f, RF_R);
    if (exits->most + SPARE_REGS > limit)
        exits->most = limit > SPARE_REGS ? limit - SPARE_REGS : 0;
}

/* Where lanes decide to take the edge: blocks that only lead on, with BREAKs at most, are left aside. */
static BlockId origin_of(Function *f, BlockId from) {
    const Block *block = ir_block(f, from);
    if (block->preds.n != 1 || block->succs.n != 1)
        return from;
    FOR_INSTS(f, from, i)
        if (i->op != OT_BREAK && i->op != OT_BRA)
            return from;
    return block->preds.at[0];
}

static bool hands_same(Operand a, Operand b) {
    return a.kind == b.kind && a.value == b.value && a.count == b.count && a.mods == b.mods &&
           a.file == b.file;
}

/* Does the phi's register not hold the operand anyway? */
static bool is_copied(const Exits *exits, const Inst *phi, Operand o) {
    uint32_t v = opt_scalar(o);
    return !v || ra_web(&exits->colour, v) != ra_web(&exits->colour, ir_dst(exits->f, phi, 0)->value);
}

static bool may_copy(const Exits *exits, const Inst *phi, Operand o) {
    uint32_t v = opt_scalar(o);
    return o.kind == OPK_IMM || (v && !o.mods && o.file == RF_R && exits->f->values.at[v].fixed_reg < 0 &&
                                 is_copied(exits, phi, o));
}

/* Where the branches stand that end the block. */
static unsigned end_of(Function *f, BlockId b) {
    const InstIds *insts = &ir_block(f, b)->insts;
    unsigned p = insts->n;
    while (p && ir_is_terminator(f, ir_inst(f, insts->at[p - 1])))
        p--;
    return p;
}

/* Lanes part at the end of the block, at a branch to two places. */
static bool parts(Function *f, BlockId b) {
    const Block *block = ir_block(f, b);
    unsigned p = end_of(f, b);
    if (block->succs.n != 2 || p == block->insts.n)
        return false;
    const Inst *branch = ir_inst(f, block->insts.at[p]);
    return branch->op == OT_BRA && !op_is_always(branch->guard) &&
           !(branch->flags & (IF_UNIFORM | IF_RARE | IF_ASKS)) && !uniform_branch(f, b);
}

static void copy_once(Exits *exits, BlockId at, InstId phi, Operand o, const bool *has) {
    Function *f = exits->f;
    ValId c = ir_value_new(f, RF_R);
    Value *now = ir_value(f, c);
    if (o.kind == OPK_VAL) {
        const Value *old = ir_value(f, (ValId){o.value});
        now->ptx_reg = old->ptx_reg, now->component = old->component, now->uniform = old->uniform;
    }
    InstId id = ir_inst_new(f, IR_COPY, 1, 1);
    ir_set_dst(f, id, 0, ir_val(f, c));
    ir_set_src(f, id, 0, o);
    unsigned p = end_of(f, at), nsrc = ir_inst(f, phi)->nsrc;
    ir_inst(f, id)->loc = ir_inst(f, ir_block(f, at)->insts.at[p])->loc;
    ir_value(f, c)->block = at;
    ir_insert(f, at, p, id);
    Copied copied = {id, phi, at, o, ARENA_ARRAY(&exits->a, bool, nsrc)};
    FOR_SRCS(f, ir_inst(f, phi), src)
        if ((copied.has[AT(src)] = has[AT(src)]))
            *src = ir_val(f, c);
    VEC_ADD(&exits->a, &exits->copied, copied);
}

/* The edges on which the phi of block b gets what it gets on edge `first`. */
static void share(Exits *exits, BlockId b, InstId phi, unsigned first, bool *seen) {
    Function *f = exits->f;
    const Inst *i = ir_inst(f, phi);
    Operand o = *ir_src(f, i, first);
    bool has[MOST_EDGES] = {false};
    BlockId origin[MOST_EDGES];
    uint32_t edges = 0, at = NO_NODE;
    if (!may_copy(exits, i, o))
        return;
    for (unsigned k = first; k < i->nsrc; k++) {
        if (!hands_same(*ir_src(f, i, k), o))
            continue;
        seen[k] = has[k] = true;
        origin[edges] = origin_of(f, ir_block(f, b)->preds.at[k]);
        if (!exits->tree.in[origin[edges].i])
            return;
        at = edges ? dom_common(&exits->tree, at, origin[edges].i) : origin[edges].i;
        edges++;
    }
    f->module->steps += edges;
    bool leaves = false;
    for (uint32_t k = 0; k < edges; k++)
        leaves |= origin[k].i == at;
    if (edges < 2 || !leaves || !parts(f, (BlockId){at}) ||
        exits->colour.g.depth[at] > exits->colour.g.depth[b.i])
        return;
    for (uint32_t k = 0; k < edges; k++)
        if (exits->pressure[origin[k].i][RF_R] >= exits->most)
            return;
    for (uint32_t k = 0; k < edges; k++)
        exits->pressure[origin[k].i][RF_R]++;
    copy_once(exits, (BlockId){at}, phi, o, has);
}

static bool may_share(const Function *f, BlockId b) {
    unsigned n = f->blocks.at[b.i].preds.n;
    return n > 2 && n <= MOST_EDGES;
}

static void share_in_block(Exits *exits, BlockId b) {
    Function *f = exits->f;
    if (!may_share(f, b) || exits->colour.g.rpo_index[b.i] == UINT32_MAX)
        return;
    for (unsigned p = 0; p < ir_block(f, b)->insts.n; p++) {
        InstId phi = ir_block(f, b)->insts.at[p];
        bool seen[MOST_EDGES] = {false};
        if (ir_inst(f, phi)->op != IR_PHI)
            break;
        const Operand *dst = ir_dst(f, ir_inst(f, phi), 0);
        if (dst->kind != OPK_VAL || dst->count != 1 || dst->file != RF_R)
            continue;
        for (unsigned k = 0; k < ir_inst(f, phi)->nsrc; k++)
            if (!seen[k])
                share(exits, b, phi, k, seen);
    }
}

/* The copy goes again. */
static void take_back(Exits *exits, const Copied *copied) {
    Function *f = exits->f;
    FOR_SRCS(f, ir_inst(f, copied->phi), src)
        if (copied->has[AT(src)])
            *src = copied->of;
    InstIds *insts = &ir_block(f, copied->block)->insts;
    unsigned to = 0;
    for (unsigned p = 0; p < insts->n; p++)
        if (insts->at[p].i != copied->copy.i)
            insts->at[to++] = insts->at[p];
    insts->n = to;
}

/* Does a phi of block b get one thing on two edges? */
static bool has_shared(const Function *f, BlockId b) {
    if (!may_share(f, b))
        return false;
    FOR_INSTS(f, b, i) {
        if (i->op != IR_PHI)
            break;
        for (unsigned k = 1; k < i->nsrc; k++)
            for (unsigned m = 0; m < k; m++)
                if (hands_same(*ir_src(f, i, k), *ir_src(f, i, m)))
                    return true;
    }
    return false;
}

static bool any_shared(const Function *f) {
    FOR_BLOCKS(f, b)
        if (has_shared(f, b))
            return true;
    return false;
}

static void share_exits(Function *f) {
    Exits exits = {.f = f};
    ir_renumber(f); /* Value.def and .block */
    Graph graph = cfg_graph(&exits.a, f);
    exits.tree = dom_tree(&exits.a, &graph, GRAPH_FORWARD, f->entry.i);
    find_webs(&exits);
    measure(&exits);
    FOR_BLOCKS(f, b)
        share_in_block(&exits, b);
    if (exits.copied.n)
        find_webs(&exits);
    for (uint32_t k = exits.copied.n; k-- > 0;) {
        const Copied *copied = &exits.copied.at[k];
        const Inst *phi = ir_inst(f, copied->phi);
        if (is_copied(&exits, phi, *ir_dst(f, ir_inst(f, copied->copy), 0)))
            take_back(&exits, copied);
    }
    arena_free(&exits.a);
}

bool pass_exits(Function *f, Diags *d) {
    (void)d;
    if (f->entry.i && any_shared(f))
        share_exits(f);
    return true;
}
