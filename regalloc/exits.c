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
 * First, where several exits of a chain hand on a new value each, made of one that has the phi's register and
 * is alive up to the last of them, that one is moved out of the way once: a counter n, of which each stage of
 * an unrolled loop makes n + 1, n + 2, ... and leaves with it.
 *
 *     A: a = n + 1       @p bra J                       A: m = MOV n   a = m + 1   @p bra J
 *     B: reads a, n      b = n + 2   @q bra J    ->     B: reads a, m  b = m + 2   @q bra J
 *     J: n' = phi(a, b, ...)                            a, b, ... are in n's register, no edge has a copy
 *
 * The same for sides of a branch, of which several hand on a that was made in front of it, and another reads
 * n.
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
#include <string.h>

/* FREE_REGS: so many cost no occupancy, which registers are given out for in units of UNIT_REGS.
 * MOST_EDGES: of one phi, which bounds the work. LEAST_EXITS: for which a value is moved. */
enum { FREE_REGS = 32, UNIT_REGS = 8, SPARE_REGS = 4, MOST_EDGES = 64, LEAST_EXITS = 3 };

typedef struct {
    InstId copy, phi;
    BlockId block;
    Operand of;
    bool *has; /* [edge] of the phi */
} Copied;

typedef struct {
    InstId move, phi;
    BlockId block;
    uint32_t old, now; /* values */
    unsigned copies;   /* on all edges of the phi, before */
} Renewed;

typedef struct {
    Function *f;
    Arena a;
    Colour colour; /* what ra_webs wants of it */
    DomTree tree;
    unsigned (*pressure)[RF_COUNT]; /* [block] */
    unsigned most;                  /* of R in a block */
    VEC(Copied) copied;
    VEC(Renewed) renewed;
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

static unsigned copied_edges(const Exits *exits, const Inst *phi) {
    unsigned n = 0;
    FOR_SRCS(exits->f, phi, src)
        n += is_copied(exits, phi, *src);
    return n;
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

/* A value of the block's that is what `o` is. */
static ValId value_like(Function *f, BlockId at, Operand o) {
    ValId c = ir_value_new(f, RF_R);
    Value *now = ir_value(f, c);
    if (o.kind == OPK_VAL) {
        const Value *old = ir_value(f, (ValId){o.value});
        now->ptx_reg = old->ptx_reg, now->component = old->component, now->uniform = old->uniform;
    }
    now->block = at;
    return c;
}

static void copy_once(Exits *exits, BlockId at, InstId phi, Operand o, const bool *has) {
    Function *f = exits->f;
    ValId c = value_like(f, at, o);
    InstId id = ir_inst_new(f, IR_COPY, 1, 1);
    ir_set_dst(f, id, 0, ir_val(f, c));
    ir_set_src(f, id, 0, o);
    unsigned p = end_of(f, at), nsrc = ir_inst(f, phi)->nsrc;
    ir_inst(f, id)->loc = ir_inst(f, ir_block(f, at)->insts.at[p])->loc;
    ir_insert(f, at, p, id);
    Copied copied = {id, phi, at, o, ARENA_ARRAY(&exits->a, bool, nsrc)};
    FOR_SRCS(f, ir_inst(f, phi), src)
        if ((copied.has[AT(src)] = has[AT(src)]))
            *src = ir_val(f, c);
    VEC_ADD(&exits->a, &exits->copied, copied);
}

/* Of the edges that `has` names the first exit of a chain: whose branch parts lanes and dominates those of
 * most edges; only these are left in `has`, and their number is returned. origin: [edge] */
static unsigned chain_of(const Exits *exits, BlockId b, const BlockId *origin, unsigned n, bool *has,
                         BlockId *root) {
    Function *f = exits->f;
    unsigned most = 0;
    for (unsigned k = 0; k < n; k++) {
        if (!has[k] || (most && origin[k].i == root->i) ||
            exits->colour.g.depth[origin[k].i] > exits->colour.g.depth[b.i] || !parts(f, origin[k]))
            continue;
        unsigned below = 0;
        for (unsigned m = 0; m < n; m++)
            below += has[m] && dom_contains(&exits->tree, origin[k].i, origin[m].i);
        if (below > most)
            most = below, *root = origin[k];
    }
    f->module->steps += n;
    for (unsigned m = 0; most && m < n; m++)
        has[m] = has[m] && dom_contains(&exits->tree, root->i, origin[m].i);
    return most;
}

/* [edge] where lanes decide to take it; false: one is not known. */
static bool origins_of(const Exits *exits, BlockId b, BlockId *origin) {
    const BlockIds *preds = &ir_block(exits->f, b)->preds;
    for (unsigned k = 0; k < preds->n; k++) {
        origin[k] = origin_of(exits->f, preds->at[k]);
        if (!exits->tree.in[origin[k].i])
            return false;
    }
    return true;
}

/* The edges on which the phi of block b gets what it gets on edge `first`. */
static void share(Exits *exits, BlockId b, InstId phi, unsigned first, bool *seen) {
    Function *f = exits->f;
    const Inst *i = ir_inst(f, phi);
    Operand o = *ir_src(f, i, first);
    bool has[MOST_EDGES] = {false};
    BlockId origin[MOST_EDGES], root = {0};
    seen[first] = true;
    if (!may_copy(exits, i, o) || !origins_of(exits, b, origin))
        return;
    for (unsigned k = first; k < i->nsrc; k++)
        has[k] = !(k > first && seen[k]) && hands_same(*ir_src(f, i, k), o);
    if (chain_of(exits, b, origin, i->nsrc, has, &root) < 2)
        return;
    for (unsigned k = 0; k < i->nsrc; k++)
        if (has[k] && exits->pressure[origin[k].i][RF_R] >= exits->most)
            return;
    for (unsigned k = 0; k < i->nsrc; k++)
        if (has[k])
            seen[k] = true, exits->pressure[origin[k].i][RF_R]++;
    copy_once(exits, root, phi, o, has);
}

/* ---- new values on each exit ---- */

/* The nearest block above all edges that `has` names, where lanes part to come to them by sides of their own;
 * how many edges these are, or 0. origin: [edge] */
static unsigned head_of(const Exits *exits, BlockId b, const BlockId *origin, unsigned n, const bool *has,
                        BlockId *root) {
    unsigned found = 0;
    for (unsigned k = 0; k < n; k++)
        if (has[k])
            root->i = found++ ? dom_common(&exits->tree, root->i, origin[k].i) : origin[k].i;
    exits->f->module->steps += n;
    return found && exits->colour.g.depth[root->i] <= exits->colour.g.depth[b.i] && parts(exits->f, *root)
               ? found
               : 0;
}

/* The one value of the phi's web that is alive at the end of the block; 0: there is none, or are several. */
static uint32_t in_the_way(const Exits *exits, BlockId at, uint32_t phi_value) {
    const RaSet *out = &exits->colour.live.out[at.i];
    uint32_t found = 0;
    for (uint32_t k = 0; k < out->n; k++) {
        if (ra_web(&exits->colour, out->at[k]) != ra_web(&exits->colour, phi_value))
            continue;
        if (found)
            return 0;
        found = out->at[k];
    }
    return found && exits->f->values.at[found].fixed_reg < 0 ? found : 0;
}

/* Where reads of `old` from there on, and below the block, can be of another value: none by a phi or as a
 * part of a vector. With `now` they are. */
static bool rename_reads(const Exits *exits, BlockId at, unsigned from, uint32_t old, uint32_t now) {
    Function *f = exits->f;
    FOR_BLOCKS(f, b) {
        if (!exits->tree.in[b.i] || !dom_contains(&exits->tree, at.i, b.i))
            continue;
        for (unsigned p = b.i == at.i ? from : 0; p < ir_num_insts(f, b); p++) {
            Inst *i = ir_inst(f, ir_inst_at(f, b, p));
            FOR_READS(f, i, read) {
                ValId part[IR_MOST_VECTOR];
                for (unsigned m = 0, n = ra_values(f, *read, part); m < n; m++)
                    if (part[m].i == old && (n > 1 || i->op == IR_PHI))
                        return false;
            }
            FOR_SRCS(f, i, src)
                if (now && opt_scalar(*src) == old)
                    src->value = now;
            FOR_TIED(f, i, kept)
                if (now && opt_scalar(*kept) == old)
                    kept->value = now;
        }
    }
    return true;
}

/* Is the value there before place `at` of the block, which it reaches the end of? */
static bool is_made_before(Function *f, BlockId b, unsigned at, uint32_t value) {
    const Value *v = ir_value(f, (ValId){value});
    bool found = v->block.i != b.i;
    for (unsigned p = 0; p < at && !found; p++)
        found = ir_inst_at(f, b, p).i == v->def.i;
    return found;
}

/* The first of the values that are handed on is made there, in the root or above it in the same loop; or else
 * where the root's branch stands. */
static unsigned place_of_move(const Exits *exits, const Inst *phi, const bool *has, BlockId *at) {
    Function *f = exits->f;
    const uint32_t *depth = exits->colour.g.depth;
    FOR_SRCS(f, phi, src) {
        BlockId made = has[AT(src)] ? ir_value(f, (ValId){src->value})->block : (BlockId){0};
        if (made.i && dom_contains(&exits->tree, made.i, at->i) && depth[made.i] == depth[at->i])
            *at = made;
    }
    unsigned place = end_of(f, *at), p;
    FOR_SRCS(f, phi, src) {
        if (!has[AT(src)] || ir_value(f, (ValId){src->value})->block.i != at->i)
            continue;
        for (p = 0; p < place; p++)
            if (ir_inst_at(f, *at, p).i == ir_value(f, (ValId){src->value})->def.i)
                place = p;
    }
    while (place < ir_num_insts(f, *at) && ir_inst(f, ir_inst_at(f, *at, place))->op == IR_PHI)
        place++;
    return place;
}

static void renew(Exits *exits, BlockId b, InstId phi) {
    Function *f = exits->f;
    const Inst *i = ir_inst(f, phi);
    uint32_t value = ir_dst(f, i, 0)->value;
    bool has[MOST_EDGES] = {false}, exit[MOST_EDGES];
    BlockId origin[MOST_EDGES], root = {0};
    unsigned found = 0;
    FOR_SRCS(f, i, src)
        found += has[AT(src)] = src->kind == OPK_VAL && may_copy(exits, i, *src);
    if (found < LEAST_EXITS || !origins_of(exits, b, origin))
        return;
    memcpy(exit, has, sizeof exit);
    if (chain_of(exits, b, origin, i->nsrc, exit, &root) >= LEAST_EXITS)
        memcpy(has, exit, sizeof has);
    else if (head_of(exits, b, origin, i->nsrc, has, &root) < LEAST_EXITS)
        return;
    unsigned at = place_of_move(exits, i, has, &root), copies = copied_edges(exits, i);
    uint32_t old = in_the_way(exits, root, value);
    for (uint32_t k = 0; k < exits->renewed.n; k++)
        if (exits->renewed.at[k].old == old)
            return;
    if (!old || exits->pressure[root.i][RF_R] >= exits->most)
        return;
    if (!is_made_before(f, root, at, old) || !rename_reads(exits, root, at, old, 0))
        return;
    Operand was = ir_val(f, (ValId){old});
    ValId now = value_like(f, root, was);
    (void)rename_reads(exits, root, at, old, now.i);
    InstId id = ir_inst_new(f, OT_MOV, isa_num_dst(OT_MOV), isa_num_src(OT_MOV));
    ir_set_dst(f, id, 0, ir_val(f, now));
    ir_set_src(f, id, MOV_rb, was);
    ir_inst(f, id)->loc = ir_inst(f, ir_inst_at(f, root, at))->loc;
    ir_insert(f, root, at, id);
    VEC_ADD(&exits->a, &exits->renewed, ((Renewed){id, phi, root, old, now.i, copies}));
}

static bool may_share(const Function *f, BlockId b) {
    unsigned n = f->blocks.at[b.i].preds.n;
    return n > 2 && n <= MOST_EDGES;
}

static bool is_word_phi(const Function *f, const Inst *i) {
    const Operand *dst = ir_dst(f, i, 0);
    return i->op == IR_PHI && dst->kind == OPK_VAL && dst->count == 1 && dst->file == RF_R;
}

static void renew_in_block(Exits *exits, BlockId b) {
    Function *f = exits->f;
    if (!may_share(f, b) || exits->colour.g.rpo_index[b.i] == UINT32_MAX)
        return;
    for (unsigned p = 0; p < ir_num_insts(f, b); p++)
        if (is_word_phi(f, ir_inst(f, ir_inst_at(f, b, p))))
            renew(exits, b, ir_inst_at(f, b, p));
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

static void drop_inst(Function *f, BlockId b, InstId id) {
    InstIds *insts = &ir_block(f, b)->insts;
    unsigned to = 0;
    for (unsigned p = 0; p < insts->n; p++)
        if (insts->at[p].i != id.i)
            insts->at[to++] = insts->at[p];
    insts->n = to;
}

/* The copy goes again. */
static void take_back(Exits *exits, const Copied *copied) {
    Function *f = exits->f;
    FOR_SRCS(f, ir_inst(f, copied->phi), src)
        if (copied->has[AT(src)])
            *src = copied->of;
    drop_inst(f, copied->block, copied->copy);
}

/* So does the move, unless the edges have so many copies less. */
static void check_renewed(Exits *exits, const Renewed *renewed) {
    Function *f = exits->f;
    if (copied_edges(exits, ir_inst(f, renewed->phi)) + LEAST_EXITS <= renewed->copies)
        return;
    drop_inst(f, renewed->block, renewed->move);
    (void)rename_reads(exits, renewed->block, 0, renewed->now, renewed->old);
}

/* True: webs are others now. */
static bool renew_all(Exits *exits) {
    Function *f = exits->f;
    FOR_BLOCKS(f, b)
        renew_in_block(exits, b);
    if (!exits->renewed.n)
        return false;
    find_webs(exits);
    for (uint32_t k = exits->renewed.n; k-- > 0;)
        check_renewed(exits, &exits->renewed.at[k]);
    return true;
}

/* Do several exits of a chain of branches lead to the block? */
static bool ends_chain(Function *f, BlockId b) {
    unsigned found = 0;
    const BlockIds *preds = &ir_block(f, b)->preds;
    for (unsigned k = 0; k < preds->n && found < LEAST_EXITS; k++)
        found += parts(f, origin_of(f, preds->at[k]));
    return found >= LEAST_EXITS;
}

/* Does a phi of block b get one thing on two edges, or from several exits what may be made of it? */
static bool has_shared(Function *f, BlockId b) {
    if (!may_share(f, b) || !ir_num_insts(f, b) || ir_inst(f, ir_inst_at(f, b, 0))->op != IR_PHI)
        return false;
    if (ends_chain(f, b))
        return true;
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

static bool any_shared(Function *f) {
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
    if (renew_all(&exits)) {
        ir_renumber(f);
        find_webs(&exits);
        measure(&exits);
    }
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
