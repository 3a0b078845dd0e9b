/* Loops that have one header though one is inside the other:
 *
 *     for (...) {                      H:  ...
 *         while (blank(*p)) p++;           @blank BRA H
 *         ...                              ...
 *     }                                    @more  BRA H
 *
 * Lanes that leave the inner loop can wait for each other behind it only if BSSY stands where a round of the
 * outer one begins and no other round of the inner one, and there is no such place. So what begins a round of
 * the outer loop gets a block of its own before H, which is its header from then on. In the text it is
 * nothing where no BSSY stands in it.
 *
 * Of the blocks that lead back to H those are of an inner loop from which lanes can come to another of them
 * without passing H, but not back from that one. A `continue` looks the same; what the header is good for is
 * left to the choice (lower/reconverge/place.c), and it goes again where it has no use.
 *
 * A join at a header, of lanes that come there from outside of the loop alone, gets such a block for its
 * BSYNC, too: no round of the loop has anything to wait for. SPDX-License-Identifier: MIT */
#include "lower/reconverge/reconverge.h"

enum { MOST_BACK = 16, MOST_NESTED = 4 };

typedef struct {
    Arena a;
    Function *f;
    Graph g;
    LoopForest loops;
    uint32_t *stack, *mark, round;
} Heads;

/* Marks what leads to `from` without passing the header. */
static void mark_body(Heads *heads, uint32_t header, uint32_t from) {
    uint32_t top = 0, round = ++heads->round;
    heads->mark[header] = round;
    if (from == header)
        return;
    heads->stack[top++] = from;
    heads->mark[from] = round;
    while (top) {
        uint32_t b = heads->stack[--top];
        heads->f->module->steps++;
        GRAPH_PREDS(&heads->g, b, p)
            if (heads->mark[*p] != round)
                heads->mark[*p] = round, heads->stack[top++] = *p;
    }
}

/* inner: [block] becomes true for those of inner loops that lead back to the header; false: there are none.
 */
static bool find_inner(Heads *heads, uint32_t loop, bool *inner) {
    uint32_t header = heads->loops.at[loop].header, back[MOST_BACK], n = 0;
    uint32_t leads[MOST_BACK] = {0}; /* [k] bit m: back[m] leads to back[k] without passing the header */
    bool any = false;
    GRAPH_PREDS(&heads->g, header, p) {
        if (!loop_contains(&heads->loops, loop, *p))
            continue;
        if (n == MOST_BACK || (n && back[n - 1] == *p))
            return false;
        back[n++] = *p;
    }
    for (uint32_t k = 0; k < n && n > 1; k++) {
        mark_body(heads, header, back[k]);
        for (uint32_t m = 0; m < n; m++)
            leads[k] |= (uint32_t)(heads->mark[back[m]] == heads->round) << m;
    }
    for (uint32_t k = 0; k < n; k++)
        for (uint32_t m = 0; m < n; m++)
            if ((leads[m] >> k & 1) && !(leads[k] >> m & 1))
                any = inner[back[k]] = true;
    return any;
}

/* What a phi of the header has from blocks that now lead to `before`. */
static void move_phi(Function *f, BlockId header, InstId phi, BlockId before, const Operand *moved,
                     unsigned n) {
    bool same = true;
    for (unsigned k = 1; k < n; k++)
        same &= moved[k].kind == moved[0].kind && moved[k].value == moved[0].value;
    if (same)
        return;
    const Block *b = ir_block(f, header);
    unsigned slot = 0;
    while (b->preds.at[slot].i != before.i)
        slot++;
    uint32_t old = ir_dst(f, ir_inst(f, phi), 0)->value;
    ValId now = ir_value_new(f, f->values.at[old].file);
    Value *value = ir_value(f, now);
    value->component = f->values.at[old].component;
    value->ptx_reg = f->values.at[old].ptx_reg;
    value->uniform = f->values.at[old].uniform;
    InstId id = ir_inst_new(f, IR_PHI, 1, n);
    ir_inst(f, id)->loc = ir_inst(f, phi)->loc;
    ir_set_dst(f, id, 0, ir_val(f, now));
    for (unsigned k = 0; k < n; k++)
        ir_set_src(f, id, k, moved[k]);
    ir_insert(f, before, 0, id);
    *ir_src(f, ir_inst(f, phi), slot) = ir_val(f, now);
}

/* What leads to the header from blocks other than `stays` ([block] of the first n) leads to a block of its
 * own that goes on to it. */
static BlockId part_header(Arena *a, Function *f, BlockId header, const bool *stays, uint32_t n) {
    BlockIds from = {0}, preds = ir_block(f, header)->preds;
    VEC(Operand) moved = {0}; /* of each phi those of each of `from` */
    for (unsigned k = 0; k < preds.n; k++)
        if (preds.at[k].i >= n || !stays[preds.at[k].i])
            VEC_ADD(a, &from, preds.at[k]);
    FOR_PHIS(f, header, phi)
        for (unsigned k = 0; k < preds.n; k++)
            if (preds.at[k].i >= n || !stays[preds.at[k].i])
                VEC_ADD(a, &moved, *ir_src(f, phi, k));
    BlockId before = ir_split_edge(f, from.at[0], header);
    ir_block(f, before)->uniform_flow = ir_block(f, header)->uniform_flow;
    for (unsigned k = 1; k < from.n; k++)
        ir_replace_edge(f, from.at[k], header, before);
    unsigned phis = 0;
    FOR_PHI_IDS(f, header, phi)
        move_phi(f, header, phi, before, &moved.at[from.n * phis++], from.n);
    return before;
}

/* The forest knows no blocks that were made since, none of which has two ways on. */
static bool is_divergent(const Heads *heads, uint32_t loop) {
    FOR_BLOCKS(heads->f, b)
        if (b.i < heads->g.n && loop_contains(&heads->loops, loop, b.i) &&
            ir_block(heads->f, b)->succs.n > 1 && !uniform_branch(heads->f, b))
            return true;
    return false;
}

static bool part_headers(Function *f) {
    Heads heads = {.f = f};
    bool any = false;
    heads.g = cfg_graph(&heads.a, f);
    heads.loops = loop_forest(&heads.a, &heads.g, f->entry.i);
    heads.stack = ARENA_ARRAY(&heads.a, uint32_t, heads.g.n);
    heads.mark = ARENA_ARRAY(&heads.a, uint32_t, heads.g.n);
    bool *inner = ARENA_ARRAY(&heads.a, bool, heads.g.n);
    for (uint32_t l = 0; l < heads.loops.n; l++)
        if (!heads.loops.at[l].irreducible && is_divergent(&heads, l) && find_inner(&heads, l, inner)) {
            part_header(&heads.a, f, (BlockId){heads.loops.at[l].header}, inner, heads.g.n);
            any = true;
        }
    arena_free(&heads.a);
    if (any)
        ir_renumber(f);
    return any;
}

uint32_t reconv_part_headers(Function *f) {
    uint32_t first = f->blocks.n;
    for (unsigned nested = 0; nested < MOST_NESTED && part_headers(f); nested++)
        ;
    return first;
}

bool reconv_waits_outside(const Reconv *reconv, const Join *join) {
    uint32_t header = join->block, loop = reconv->loops.innermost[header];
    if (loop == NO_NODE || reconv->loops.at[loop].header != header || reconv->loops.at[loop].irreducible)
        return false;
    for (unsigned k = 0; k < join->out.n; k++)
        if (loop_contains(&reconv->loops, loop, join->out.at[k]))
            GRAPH_SUCCS(&reconv->g, join->out.at[k], s)
                if (*s == header)
                    return false;
    return true;
}

/* Nothing but phis stands in it. */
static bool is_bare(const Function *f, BlockId b) {
    return ir_num_insts(f, b) == 1 || ir_is_phi_at(f, b, ir_num_insts(f, b) - 2);
}

/* The block that stood there, or was put on an edge from it since. */
static uint32_t comes_from(const Reconv *reconv, BlockId b) {
    while (b.i >= reconv->g.n)
        b = reconv->f->blocks.at[b.i].preds.at[0];
    return b.i;
}

BlockId reconv_part_entry(Reconv *reconv, uint32_t header) {
    Function *f = reconv->f;
    uint32_t loop = reconv->loops.innermost[header], n = f->blocks.n, outside = 0;
    bool *rounds = ARENA_ARRAY(&reconv->a, bool, n);
    BlockId from = {0};
    for (unsigned k = 0; k < f->blocks.at[header].preds.n; k++) {
        BlockId pred = f->blocks.at[header].preds.at[k];
        rounds[pred.i] = loop_contains(&reconv->loops, loop, comes_from(reconv, pred));
        if (!rounds[pred.i])
            from = pred, outside++;
    }
    if (outside == 1 && is_bare(f, from))
        return from;
    return part_header(&reconv->a, f, (BlockId){header}, rounds, n);
}

/* What leads to the block leads to its successor again. */
static void take_away(Function *f, BlockId before) {
    BlockId header = ir_block(f, before)->succs.at[0];
    BlockIds from = {0};
    Arena a = {0};
    unsigned slot = 0;
    while (ir_block(f, header)->preds.at[slot].i != before.i)
        slot++;
    for (unsigned k = 0; k < ir_block(f, before)->preds.n; k++)
        VEC_ADD(&a, &from, ir_block(f, before)->preds.at[k]);
    FOR_PHI_IDS(f, header, phi) {
        Operand value = *ir_src(f, ir_inst(f, phi), slot);
        const Inst *own = value.kind == OPK_VAL && f->values.at[value.value].block.i == before.i
                              ? &f->insts.at[f->values.at[value.value].def.i]
                              : NULL;
        for (unsigned k = 0; k < from.n; k++)
            ir_add_src(f, phi, own ? *ir_src(f, own, k) : value);
    }
    for (unsigned k = 0; k < from.n; k++)
        ir_replace_edge(f, from.at[k], before, header);
    ir_remove_edge(f, before, header);
    ir_block(f, before)->dead = true;
    arena_free(&a);
}

void reconv_drop_headers(const Reconv *reconv) {
    Function *f = reconv->f;
    bool any = false;
    for (uint32_t b = reconv->first_parted; b < reconv->g.n; b++)
        if (is_bare(f, (BlockId){b}))
            take_away(f, (BlockId){b}), any = true;
    if (any)
        ir_renumber(f);
}

uint32_t reconv_parted_header(const Reconv *reconv, uint32_t block) {
    return block < reconv->first_parted ? 0 : reconv->f->blocks.at[block].succs.at[0].i;
}
