/* Dead code: instructions whose results nobody needs go; a destination that nobody reads becomes absent, so
 * that it takes no register. Plain loads go too, volatile ones (IF_OBSERVING) stay.
 * SPDX-License-Identifier: MIT */
#include "lower/opt/opt.h"
#include "lower/passes.h"

typedef struct {
    Function *f;
    Arena a;
    bool *live_inst;    /* [inst] */
    bool *live_value;   /* [value] */
    VEC(uint32_t) work; /* instructions whose operands are to be marked */
} Dce;

static bool is_root(const Function *f, const Inst *i) {
    return (i->flags & (IF_SIDE_EFFECT | IF_SYNC | IF_OBSERVING | IF_CONVERGENT)) || ir_is_terminator(f, i);
}

static void mark_inst(Dce *dce, uint32_t id) {
    if (dce->live_inst[id])
        return;
    dce->live_inst[id] = true;
    VEC_ADD(&dce->a, &dce->work, id);
}

static void mark_operand(Dce *dce, Operand o) {
    for (unsigned c = 0; o.kind == OPK_VAL && c < o.count; c++) {
        ValId v = ir_operand_value(dce->f, o, c);
        InstId def = ir_value(dce->f, v)->def;
        if (dce->live_value[v.i] || !def.i)
            continue;
        dce->live_value[v.i] = true;
        if (ir_inst(dce->f, def)->op == IR_PARCOPY && dce->live_inst[def.i])
            VEC_ADD(&dce->a, &dce->work, def.i); /* once more, for the source of this destination */
        mark_inst(dce, def.i);
    }
}

static bool dst_is_dead(const Dce *dce, Operand o) {
    if (o.kind != OPK_VAL)
        return false;
    for (unsigned c = 0; c < o.count; c++)
        if (dce->live_value[ir_operand_value(dce->f, o, c).i])
            return false;
    return true;
}

static void mark_sources(Dce *dce, const Inst *i) {
    mark_operand(dce, i->guard);
    FOR_USES(dce->f, i, o)
        if (i->op != IR_PARCOPY || (i->flags & IF_TIED) || !dst_is_dead(dce, *ir_dst(dce->f, i, AT(o))))
            mark_operand(dce, *o);
}

/* The dead pairs of a parallel copy. */
static void drop_pairs(Dce *dce, Inst *i) {
    unsigned n = i->ndst, to = 0;
    Operand *o = &dce->f->operands.at[i->operand];
    if ((i->flags & IF_TIED) || i->nsrc != n)
        return;
    for (unsigned k = 0; k < n; k++)
        if (!dst_is_dead(dce, o[k])) {
            o[to] = o[k];
            o[n + to++] = o[n + k];
        }
    for (unsigned k = 0; k < to; k++)
        o[to + k] = o[n + k];
    i->ndst = i->nsrc = (uint8_t)to;
}

/* A live instruction with a destination too many; implicit ones (calls, entry) keep their registers. */
static void drop_dsts(Dce *dce, Inst *i) {
    if (i->op == IR_PARCOPY)
        drop_pairs(dce, i);
    if (ir_is_pseudo(i->op))
        return;
    for (unsigned k = 0; k < i->ndst && k < isa_num_dst(i->op); k++) {
        if (!dst_is_dead(dce, *ir_dst(dce->f, i, k)))
            continue;
        *ir_dst(dce->f, i, k) = (Operand){0};
        if (i->flags & IF_TIED)
            *ir_tied(dce->f, i, k) = (Operand){0};
    }
}

/* An atomic operation whose old value nobody reads observes nothing. In global memory it is a reduction. */
static void to_reduction(Function *f, Inst *i) {
    if (ir_is_pseudo(i->op) || !isa_has_effect(i->op, ISA_EFFECT_ATOMIC) ||
        isa_has_effect(i->op, ISA_EFFECT_ORDER))
        return;
    FOR_DSTS(f, i, dst)
        if (dst->kind != OPK_NONE)
            return;
    if (i->ndst)
        i->flags &= (uint16_t)~IF_OBSERVING;
    if (i->op != OT_ATOMG || MGET(ATOMG, op, i->mods) > AtomOp_XOR || MGET(ATOMG, desc, i->mods))
        return;
    Inst red = *i; /* the operations have the same numbers, the sources the same order */
    red.op = OT_RED;
    red.operand += i->ndst;
    red.ndst = 0;
    red.flags = (uint16_t)(ir_op_flags(OT_RED) | (i->flags & ~(unsigned)(IF_TIED | IF_OBSERVING)));
    red.mods = MSET(RED, order, MGET(ATOMG, order, i->mods)) | MSET(RED, e, MGET(ATOMG, e, i->mods)) |
               MSET(RED, evict, MGET(ATOMG, evict, i->mods)) | MSET(RED, type, MGET(ATOMG, type, i->mods)) |
               MSET(RED, op, MGET(ATOMG, op, i->mods));
    if (opt_selectable(f, &red))
        *i = red;
}
_Static_assert((int)AtomOp_ADD == (int)RedOp_ADD && (int)AtomOp_XOR == (int)RedOp_XOR, "same numbers");
_Static_assert(ATOMG_ra == (int)RED_ra && ATOMG_urb == (int)RED_urb && ATOMG_offset == (int)RED_offset &&
                   ATOMG_rb == (int)RED_rb && (int)ATOMG_nsrc == (int)RED_nsrc,
               "same sources");

bool pass_dce(Function *f, Diags *d) {
    (void)d;
    Dce s = {.f = f};
    s.live_inst = ARENA_ARRAY(&s.a, bool, f->insts.n);
    s.live_value = ARENA_ARRAY(&s.a, bool, f->values.n);
    FOR_BLOCKS(f, b)
        FOR_INST_IDS(f, b, id)
            if (is_root(f, ir_inst(f, id)))
                mark_inst(&s, id.i);
    while (s.work.n) {
        const Inst *i = ir_inst(f, (InstId){s.work.at[--s.work.n]});
        mark_sources(&s, i);
    }
    FOR_BLOCKS(f, block_id) {
        Block *b = ir_block(f, block_id);
        unsigned to = 0;
        FOR_INST_IDS(f, block_id, id) {
            if (!s.live_inst[id.i])
                continue;
            drop_dsts(&s, ir_inst(f, id));
            to_reduction(f, ir_inst(f, id));
            b->insts.at[to++] = id;
        }
        b->insts.n = to;
    }
    arena_free(&s.a);
    return true;
}
