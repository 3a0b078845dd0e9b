/* A loop becomes one copy for each of its rounds:
 *
 *   bb1: BRA bb2                        bb1: BRA bb2
 *   bb2: r1 = phi(r0, r2)               bb2: r1 = phi(r0)    r2 = ...   BRA bb4
 *        r2 = ...                       bb4: r3 = phi(r2)    r4 = ...   BRA bb5
 *        @p3 BRA bb2; BRA bb9           bb5: r5 = phi(r4)    r6 = ...   BRA bb9
 *
 * The last copy's way back leads to its own header and goes with the branch that is decided there. Exits that
 * are not decided lead out of each copy; a value that is read behind the loop comes from whichever copy was
 * left, for which phis are made where ways from several of them meet. Phis of one value and conditions that
 * are known now stay for the passes `fold` and `branches`. SPDX-License-Identifier: MIT */
#include "base/scope.h"
#include "lower/opt/loops.h"
#include "lower/profile.h"

typedef struct {
    Function *f;
    Arena a;
    const OptLoop *loop;
    unsigned copies;      /* beside the loop itself */
    uint32_t *place;      /* [block] in loop->blocks, + 1; of a copy's the same */
    uint32_t *copy;       /* [block] 0: the loop itself, or outside */
    uint32_t *number;     /* [value] of those that the loop defines, + 1 */
    VEC(uint32_t) values; /* [number] */
    uint32_t *now;        /* [copy * values.n + number]; copy 0 is the loop itself */
    BlockId *blocks;      /* [copy * loop->blocks.n + place] */
    uint32_t nvalues;     /* that there were before */
} Unroll;

static uint32_t value_in(const Unroll *unroll, uint32_t v, unsigned copy) {
    return v < unroll->nvalues && unroll->number[v]
               ? unroll->now[copy * unroll->values.n + unroll->number[v] - 1]
               : v;
}

static BlockId block_in(const Unroll *unroll, BlockId b, unsigned copy) {
    return unroll->place[b.i] ? unroll->blocks[copy * unroll->loop->blocks.n + unroll->place[b.i] - 1] : b;
}

/* Where a copy's edge to block b leads. */
static BlockId target_in(const Unroll *unroll, BlockId b, unsigned copy) {
    bool back = b.i == unroll->loop->blocks.at[0].i && copy < unroll->copies;
    return block_in(unroll, b, copy + back);
}

static Operand operand_in(Unroll *unroll, Operand o, unsigned copy) {
    Function *f = unroll->f;
    if (o.kind == OPK_BLOCK)
        o.value = target_in(unroll, (BlockId){o.value}, copy).i;
    if (o.kind != OPK_VAL)
        return o;
    if (o.count == 1) {
        o.value = value_in(unroll, o.value, copy);
        return o;
    }
    ValId v[IR_MOST_VECTOR];
    for (unsigned c = 0; c < o.count; c++)
        v[c].i = value_in(unroll, ir_operand_value(f, o, c).i, copy);
    return op_with(ir_vec(f, v, o.count), o.mods);
}

/* ---- copies ---- */

static void number_values(Unroll *unroll) {
    Function *f = unroll->f;
    for (unsigned k = 0; k < unroll->loop->blocks.n; k++)
        FOR_INSTS(f, unroll->loop->blocks.at[k], i)
            FOR_DSTS(f, i, o)
                for (unsigned c = 0; o->kind == OPK_VAL && c < o->count; c++) {
                    uint32_t v = ir_operand_value(f, *o, c).i;
                    if (!v)
                        continue;
                    VEC_ADD(&unroll->a, &unroll->values, v);
                    unroll->number[v] = unroll->values.n;
                }
}

static ValId value_like(Function *f, uint32_t v) {
    ValId now = ir_value_new(f, (RegFile)f->values.at[v].file);
    ir_value(f, now)->component = f->values.at[v].component;
    ir_value(f, now)->ptx_reg = f->values.at[v].ptx_reg;
    return now;
}

static InstId copy_inst(Unroll *unroll, InstId of, unsigned copy) {
    Function *f = unroll->f;
    InstId id = {f->insts.n};
    VEC_PUSH(f->arena, &f->insts);
    Inst inst = *ir_inst(f, of);
    uint32_t from = inst.operand, n = ir_num_operands(&inst);
    inst.operand = f->operands.n;
    for (unsigned k = 0; k < n; k++) {
        Operand o = operand_in(unroll, f->operands.at[from + k], copy);
        VEC_ADD(f->arena, &f->operands, o);
    }
    inst.guard = operand_in(unroll, inst.guard, copy);
    *ir_inst(f, id) = inst;
    return id;
}

/* A phi of the header: in a copy it has what the copy before leads back with. */
static InstId copy_header_phi(Unroll *unroll, InstId of, unsigned copy) {
    Function *f = unroll->f;
    const BlockId header = unroll->loop->blocks.at[0];
    InstId id = ir_inst_new(f, IR_PHI, 1, 0);
    ir_inst(f, id)->loc = ir_inst(f, of)->loc;
    ir_set_dst(f, id, 0, operand_in(unroll, *ir_dst(f, ir_inst(f, of), 0), copy));
    for (unsigned own = copy == unroll->copies; own <= 1; own--)
        for (unsigned e = 0; e < ir_block(f, header)->preds.n; e++)
            if (unroll->loop->inside[ir_block(f, header)->preds.at[e].i])
                ir_add_src(f, id, operand_in(unroll, *ir_src(f, ir_inst(f, of), e), copy - !own));
    return id;
}

static void copy_block(Unroll *unroll, BlockId of, unsigned copy) {
    Function *f = unroll->f;
    bool is_header = of.i == unroll->loop->blocks.at[0].i;
    BlockId b = block_in(unroll, of, copy);
    ir_block(f, b)->ptx_insn = ir_block(f, of)->ptx_insn;
    for (unsigned k = 0; k < ir_block(f, of)->insts.n; k++) {
        InstId id = ir_block(f, of)->insts.at[k];
        bool phi = is_header && ir_inst(f, id)->op == IR_PHI;
        ir_append(f, b, phi ? copy_header_phi(unroll, id, copy) : copy_inst(unroll, id, copy));
    }
    for (unsigned s = 0; s < ir_block(f, of)->succs.n; s++) {
        BlockId to = target_in(unroll, ir_block(f, of)->succs.at[s], copy);
        VEC_ADD(f->arena, &ir_block(f, b)->succs, to);
    }
    for (unsigned p = 0; p < ir_block(f, of)->preds.n && !is_header; p++) {
        BlockId from = block_in(unroll, ir_block(f, of)->preds.at[p], copy);
        VEC_ADD(f->arena, &ir_block(f, b)->preds, from);
    }
}

/* The ways back to a copy's header, in the order of its phis; those of the loop itself come with its edges.
 */
static void lead_back(Unroll *unroll, unsigned copy) {
    Function *f = unroll->f;
    const BlockId header = unroll->loop->blocks.at[0];
    for (unsigned own = copy == unroll->copies; own <= 1; own--)
        for (unsigned e = 0; e < ir_block(f, header)->preds.n && copy - !own > 0; e++) {
            BlockId from = ir_block(f, header)->preds.at[e];
            if (unroll->loop->inside[from.i]) {
                from = block_in(unroll, from, copy - !own);
                VEC_ADD(f->arena, &ir_block(f, block_in(unroll, header, copy))->preds, from);
            }
        }
}

/* The edges of a copy that leave the loop, which lead where those of the loop do. */
static void lead_out(Unroll *unroll, BlockId of, unsigned copy) {
    Function *f = unroll->f;
    for (unsigned s = 0; s < ir_block(f, of)->succs.n; s++) {
        BlockId to = ir_block(f, of)->succs.at[s];
        if (unroll->loop->inside[to.i])
            continue;
        unsigned e = 0;
        while (ir_block(f, to)->preds.at[e].i != of.i)
            e++;
        BlockId from = block_in(unroll, of, copy);
        VEC_ADD(f->arena, &ir_block(f, to)->preds, from);
        FOR_PHI_IDS(f, to, phi)
            ir_add_src(f, phi, operand_in(unroll, *ir_src(f, ir_inst(f, phi), e), copy));
    }
}

static void make_copies(Unroll *unroll) {
    Function *f = unroll->f;
    const BlockIds *blocks = &unroll->loop->blocks;
    unsigned n = unroll->values.n;
    unroll->now = ARENA_ARRAY(&unroll->a, uint32_t, (unroll->copies + 1) * (n + 1));
    unroll->blocks = ARENA_ARRAY(&unroll->a, BlockId, (unroll->copies + 1) * blocks->n);
    for (unsigned copy = 0; copy <= unroll->copies; copy++) {
        for (unsigned k = 0; k < n; k++)
            unroll->now[copy * n + k] = copy ? value_like(f, unroll->values.at[k]).i : unroll->values.at[k];
        for (unsigned k = 0; k < blocks->n; k++) {
            BlockId b = copy ? ir_block_new(f) : blocks->at[k];
            unroll->blocks[copy * blocks->n + k] = b;
            unroll->place[b.i] = k + 1;
            unroll->copy[b.i] = copy;
        }
    }
    for (unsigned copy = 1; copy <= unroll->copies; copy++) {
        lead_back(unroll, copy);
        for (unsigned k = 0; k < blocks->n; k++) {
            copy_block(unroll, blocks->at[k], copy);
            lead_out(unroll, blocks->at[k], copy);
        }
    }
    BlockId header = blocks->at[0];
    for (unsigned e = 0; e < ir_block(f, header)->preds.n && unroll->copies;) {
        BlockId from = ir_block(f, header)->preds.at[e];
        if (unroll->loop->inside[from.i])
            ir_replace_edge(f, from, header, block_in(unroll, header, 1));
        else
            e++;
    }
}

/* Copies stand behind the loop in the text, one behind the other. */
static void place_copies(Unroll *unroll) {
    Function *f = unroll->f;
    unsigned n = f->layout.n - unroll->copies * unroll->loop->blocks.n, last = 0;
    BlockId *old = arena_copy(&unroll->a, f->layout.at, n * sizeof *old);
    for (unsigned k = 0; k < n; k++)
        last = unroll->loop->inside[old[k].i] ? k : last;
    f->layout.n = 0;
    for (unsigned k = 0; k < n; k++) {
        f->layout.at[f->layout.n++] = old[k];
        for (unsigned copy = 1; copy <= unroll->copies && k == last; copy++)
            for (unsigned m = 0; m <= last; m++)
                if (unroll->loop->inside[old[m].i])
                    f->layout.at[f->layout.n++] = block_in(unroll, old[m], copy);
    }
}

/* ---- values that are read behind the loop ---- */

typedef struct {
    Unroll *unroll;
    uint32_t value;     /* of the loop, that is asked for */
    uint32_t *at_end;   /* [block] what it is there */
    uint32_t *asked;    /* [block] that value, where at_end is known */
    VEC(BlockId) joins; /* whose phis have no operands yet */
    VEC(BlockId) passed;
} Behind;

/* The copy of the value that the block itself defines, or 0. */
static uint32_t made_in(const Behind *behind, BlockId b) {
    const Unroll *unroll = behind->unroll;
    uint32_t place = unroll->place[b.i];
    BlockId home = ir_value(unroll->f, (ValId){behind->value})->block;
    return place && unroll->loop->blocks.at[place - 1].i == home.i
               ? value_in(unroll, behind->value, unroll->copy[b.i])
               : 0;
}

static uint32_t value_at_end(Behind *behind, BlockId b) {
    Function *f = behind->unroll->f;
    uint32_t v = 0;
    behind->passed.n = 0;
    for (; !v; b = ir_block(f, b)->preds.at[0]) {
        VEC_ADD(&behind->unroll->a, &behind->passed, b);
        v = behind->asked[b.i] == behind->value ? behind->at_end[b.i] : made_in(behind, b);
        if (v)
            break;
        if (ir_block(f, b)->preds.n == 0)
            scope_give_up(SCOPE_INTERNAL, "a value of an unrolled loop is read where it never was");
        if (ir_block(f, b)->preds.n > 1) {
            v = value_like(f, behind->value).i;
            InstId phi = ir_inst_new(f, IR_PHI, 1, ir_block(f, b)->preds.n);
            ir_set_dst(f, phi, 0, ir_val(f, (ValId){v}));
            ir_insert(f, b, 0, phi);
            VEC_ADD(&behind->unroll->a, &behind->joins, b);
            break;
        }
    }
    for (unsigned k = 0; k < behind->passed.n; k++) {
        behind->asked[behind->passed.at[k].i] = behind->value;
        behind->at_end[behind->passed.at[k].i] = v;
    }
    return v;
}

/* What value v of the loop is where block b ends, or for what b reads itself. */
static uint32_t value_behind(Behind *behind, uint32_t v, BlockId b) {
    Function *f = behind->unroll->f;
    behind->value = v;
    uint32_t now = value_at_end(behind, b);
    while (behind->joins.n) {
        BlockId join = behind->joins.at[--behind->joins.n];
        InstId phi = ir_value(f, (ValId){behind->at_end[join.i]})->def;
        for (unsigned e = 0; e < ir_block(f, join)->preds.n; e++)
            ir_set_src(f, phi, e, ir_val(f, (ValId){value_at_end(behind, ir_block(f, join)->preds.at[e])}));
    }
    return now;
}

static Operand operand_behind(Behind *behind, Operand o, BlockId b) {
    Unroll *unroll = behind->unroll;
    Function *f = unroll->f;
    bool any = false;
    ValId v[IR_MOST_VECTOR];
    for (unsigned c = 0; o.kind == OPK_VAL && c < o.count; c++) {
        v[c] = ir_operand_value(f, o, c);
        if (v[c].i < unroll->nvalues && unroll->number[v[c].i]) {
            v[c].i = value_behind(behind, v[c].i, b);
            any = true;
        }
    }
    if (!any)
        return o;
    return op_with(ir_vec(f, v, o.count), o.mods);
}

static void read_behind(Unroll *unroll) {
    Function *f = unroll->f;
    Behind behind = {.unroll = unroll};
    behind.at_end = ARENA_ARRAY(&unroll->a, uint32_t, f->blocks.n);
    behind.asked = ARENA_ARRAY(&unroll->a, uint32_t, f->blocks.n);
    FOR_BLOCKS(f, b) {
        if (unroll->place[b.i])
            continue;
        for (unsigned k = 0; k < ir_block(f, b)->insts.n; k++) {
            InstId id = ir_block(f, b)->insts.at[k];
            bool phi = ir_inst(f, id)->op == IR_PHI;
            unsigned first = ir_inst(f, id)->ndst, n = ir_num_operands(ir_inst(f, id));
            unsigned have = ir_block(f, b)->insts.n;
            for (unsigned at = first; at < n; at++) {
                BlockId where = phi ? ir_block(f, b)->preds.at[at - first] : b;
                if (phi && unroll->place[where.i]) /* an edge of a copy's has that copy's value */
                    continue;
                Operand now = operand_behind(&behind, ir_operands(f, ir_inst(f, id))[at], where);
                ir_operands(f, ir_inst(f, id))[at] = now;
            }
            Operand guard = operand_behind(&behind, ir_inst(f, id)->guard, b);
            ir_inst(f, id)->guard = guard;
            k += ir_block(f, b)->insts.n - have; /* phis that came in front of it */
        }
    }
}

/* ---- all of it ---- */

static void decide(const Unroll *unroll, const OptExit *exit) {
    for (unsigned copy = 0; copy <= unroll->copies; copy++)
        opt_decide_branch(unroll->f, block_in(unroll, exit->block, copy),
                          exit->leaves_if_taken == (copy == unroll->copies));
}

void opt_unroll_loop(Function *f, const OptLoop *loop, const OptExit *exit) {
    Unroll unroll = {.f = f, .loop = loop, .copies = exit->round, .nvalues = f->values.n};
    unsigned nblocks = f->blocks.n + exit->round * loop->blocks.n;
    unroll.place = ARENA_ARRAY(&unroll.a, uint32_t, nblocks);
    unroll.copy = ARENA_ARRAY(&unroll.a, uint32_t, nblocks);
    unroll.number = ARENA_ARRAY(&unroll.a, uint32_t, f->values.n);
    for (unsigned k = 0; k < loop->blocks.n; k++)
        unroll.place[loop->blocks.at[k].i] = k + 1;
    for (unsigned k = 0; k < loop->blocks.n; k++)
        lower_copied(f, loop->blocks.at[k]);
    number_values(&unroll);
    make_copies(&unroll);
    place_copies(&unroll);
    decide(&unroll, exit);
    cfg_remove_unreachable(f);
    ir_renumber(f);
    read_behind(&unroll);
    ir_renumber(f);
    arena_free(&unroll.a);
}
