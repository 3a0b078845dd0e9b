/* Updates stand behind the last use of what they replace: where a phi's value is read after its next value
 * has been made,
 *     loop: x = phi(a, y)      y = x >> 1      p = x & 2      @p bra loop
 * the two would need two registers and a copy in every round. Here y is made later, or what reads x comes
 * earlier, if nothing in between stands against it; then both share a register (webs.c).
 * Two sides of a branch that became guarded code make the next value one after the other, and the second
 * reads x, too:
 *     y = x >> 1           @p z = x * 3 tied(y)         z is the next value
 * Then y is made only where the second side does not follow, and z reads y, which in its lanes still is x:
 *     @!p y = x >> 1 tied(x)      @p z = y * 3 tied(y)
 * Only arithmetic moves, within its block; what is alive at the blocks' ends stays as it is. In: SSA form.
 * SPDX-License-Identifier: MIT */
#include "regalloc/regalloc.h"

enum { MOST_CROSSED = 64, MOST_MOVES = 32 /* in one block */ };

typedef struct {
    Function *f;
    Arena a;
    RaCfg g;
    RaLive live;
    bool has_live;
    uint32_t *replaces; /* [value] the phi result that it is the next value of, or 0 */
    uint32_t *uses;     /* [value] how many operands read it; NULL until asked for */
} Updates;

typedef struct {
    Updates *updates;
    const uint32_t *place; /* [block] in the text */
    VEC(uint32_t) phis;    /* values on the way round a loop whose sources are to be looked at */
} Rounds;

/* The value is what x becomes: in the text it is made where x is or behind that, so it comes round a loop. */
static void note_next(Rounds *rounds, Operand next, uint32_t x) {
    Function *f = rounds->updates->f;
    if (next.kind != OPK_VAL || next.count != 1 || next.value == x || !f->values.at[next.value].def.i ||
        rounds->place[f->values.at[next.value].block.i] < rounds->place[f->values.at[x].block.i])
        return;
    rounds->updates->replaces[next.value] = x;
    if (ir_inst(f, f->values.at[next.value].def)->op == IR_PHI)
        VEC_ADD(&rounds->updates->a, &rounds->phis, next.value);
}

/* Of phis in front of the value, in the order of the text; and of these what comes to them by other phis,
 * where ways of the round meet before its end:
 *     loop: x = phi(a, z)      y = x + 1      p = x & 2      ...      z = phi(y, y, w)      bra loop */
static bool note_phis(Updates *updates) {
    Function *f = updates->f;
    uint32_t *place = ARENA_ARRAY(&updates->a, uint32_t, f->blocks.n);
    Rounds rounds = {.updates = updates, .place = place};
    bool any = false;
    FOR_BLOCKS(f, b)
        place[b.i] = AT(b);
    FOR_BLOCKS(f, b)
        FOR_PHIS(f, b, phi)
            if (ir_dst(f, phi, 0)->kind == OPK_VAL)
                FOR_SRCS(f, phi, src)
                    note_next(&rounds, *src, ir_dst(f, phi, 0)->value);
    for (uint32_t k = 0; k < rounds.phis.n; k++) {
        const Inst *phi = ir_inst(f, f->values.at[rounds.phis.at[k]].def);
        FOR_SRCS(f, phi, src)
            if (src->kind == OPK_VAL && !updates->replaces[src->value])
                note_next(&rounds, *src, updates->replaces[rounds.phis.at[k]]);
    }
    for (uint32_t v = 0; v < f->values.n && !any; v++)
        any = updates->replaces[v];
    return any;
}

static bool reads(Function *f, Inst *i, uint32_t value) {
    ValId v[IR_MOST_VECTOR];
    FOR_READS(f, i, read)
        for (unsigned m = 0, n = ra_values(f, *read, v); m < n; m++)
            if (v[m].i == value)
                return true;
    return false;
}

static bool has_fixed(const Function *f, const Operand *o) {
    ValId v[IR_MOST_VECTOR];
    for (unsigned m = 0, n = ra_values(f, *o, v); m < n; m++)
        if (v[m].i && f->values.at[v[m].i].fixed_reg >= 0)
            return true;
    return false;
}

bool ra_may_move(Function *f, Inst *i) {
    const unsigned stays = IF_SYNC | IF_OBSERVING | IF_MEMORY | IF_SIDE_EFFECT | IF_CONVERGENT;
    if (ir_is_pseudo(i->op) || (i->flags & stays) || isa_has_effect(i->op, UINT32_MAX) || i->op == OT_S2R ||
        ir_is_terminator(f, i))
        return false;
    FOR_DSTS(f, i, dst)
        if (has_fixed(f, dst))
            return false;
    FOR_READS(f, i, read)
        if (has_fixed(f, read))
            return false;
    return true;
}

/* Does `later` read what `earlier` makes? */
static bool depends(Function *f, Inst *later, const Inst *earlier) {
    ValId v[IR_MOST_VECTOR];
    FOR_DSTS(f, earlier, dst)
        for (unsigned m = 0, n = ra_values(f, *dst, v); m < n; m++)
            if (v[m].i && reads(f, later, v[m].i))
                return true;
    return false;
}

static void move_inst(Updates *updates, BlockId b, unsigned from, unsigned to) {
    InstIds *insts = &ir_block(updates->f, b)->insts;
    InstId id = insts->at[from];
    for (; from < to; from++)
        insts->at[from] = insts->at[from + 1];
    for (; from > to; from--)
        insts->at[from] = insts->at[from - 1];
    insts->at[to] = id;
}

/* Down behind position `to`. */
static bool sink(Updates *updates, BlockId b, unsigned from, unsigned to) {
    Function *f = updates->f;
    const InstIds *insts = &ir_block(f, b)->insts;
    if (!ra_may_move(f, ir_inst(f, insts->at[from])))
        return false;
    for (unsigned p = from + 1; p <= to; p++)
        if (depends(f, ir_inst(f, insts->at[p]), ir_inst(f, insts->at[from])) ||
            ir_inst(f, insts->at[p])->op == OT_CALL || ir_is_terminator(f, ir_inst(f, insts->at[p])))
            return false;
    move_inst(updates, b, from, to);
    return true;
}

/* Up in front of position `to`. */
static bool hoist(Updates *updates, BlockId b, unsigned from, unsigned to) {
    Function *f = updates->f;
    const InstIds *insts = &ir_block(f, b)->insts;
    if (!ra_may_move(f, ir_inst(f, insts->at[from])))
        return false;
    for (unsigned p = to; p < from; p++)
        if (depends(f, ir_inst(f, insts->at[from]), ir_inst(f, insts->at[p])) ||
            ir_inst(f, insts->at[p])->op == OT_CALL)
            return false;
    move_inst(updates, b, from, to);
    return true;
}

static bool is_live_out(Updates *updates, BlockId b, uint32_t value) {
    if (!updates->has_live) {
        ra_cfg(updates->f, &updates->a, &updates->g);
        ra_live(updates->f, &updates->g, &updates->a, &updates->live);
        updates->has_live = true;
    }
    return ra_set_has(&updates->live.out[b.i], value);
}

static uint32_t uses_of(Updates *updates, uint32_t value) {
    Function *f = updates->f;
    if (!updates->uses) {
        updates->uses = ARENA_ARRAY(&updates->a, uint32_t, f->values.n);
        FOR_BLOCKS(f, b)
            FOR_INSTS(f, b, i)
                FOR_READS(f, i, read) {
                    ValId v[IR_MOST_VECTOR];
                    for (unsigned m = 0, n = ra_values(f, *read, v); m < n; m++)
                        updates->uses[v[m].i]++;
                }
    }
    return updates->uses[value];
}

/* The one value that the instruction makes, in a register of its own; 0 if it makes others or several. */
static uint32_t only_result(const Function *f, const Inst *i) {
    for (unsigned n = 1; n < i->ndst; n++)
        if (ir_dst(f, i, n)->kind == OPK_VAL)
            return 0;
    const Operand *dst = i->ndst ? ir_dst(f, i, 0) : NULL;
    return dst && dst->kind == OPK_VAL && dst->count == 1 ? dst->value : 0;
}

/* What a guarded instruction with one result leaves in the lanes it is not executed in, or 0. */
static uint32_t kept_value(const Function *f, const Inst *i) {
    if (op_is_always(i->guard) || !(i->flags & IF_TIED) || !only_result(f, i))
        return 0;
    const Operand *kept = ir_tied(f, i, 0);
    return kept->kind == OPK_VAL && kept->count == 1 ? kept->value : 0;
}

/* The unguarded instruction at `at` makes y for the lanes that the guarded one at `last` is not executed in,
 * and that one is the last to read x: y shares x's register. Returns whether it does. */
static bool make_for_others(Updates *updates, BlockId b, unsigned at, unsigned last, uint32_t x) {
    Function *f = updates->f;
    const InstIds *insts = &ir_block(f, b)->insts;
    Inst *first = ir_inst(f, insts->at[at]), *second = ir_inst(f, insts->at[last]);
    uint32_t y = only_result(f, first);
    if (!y || kept_value(f, second) != y || uses_of(updates, y) != 1 || !op_is_always(first->guard) ||
        second->guard.kind != OPK_VAL || f->values.at[x].file != RF_R || f->values.at[y].file != RF_R ||
        !ra_may_move(f, first))
        return false;
    for (unsigned p = at + 1; p < last; p++)
        if (reads(f, ir_inst(f, insts->at[p]), x))
            return false;
    FOR_USES(f, second, o)
        if (o->kind == OPK_VAL && o->count > 1) /* x among the parts of a vector */
            return false;
    if (last > at + 1 && !sink(updates, b, at, last - 1))
        return false;
    FOR_SRCS(f, second, src)
        if (src->kind == OPK_VAL && src->value == x) {
            src->value = y;
            updates->uses[y]++, updates->uses[x]--;
        }
    Operand others = second->guard;
    others.mods ^= OPM_NOT;
    InstId id = insts->at[last - 1];
    ir_set_guard(f, id, others);
    *ir_tied(f, ir_inst(f, id), 0) = ir_val(f, (ValId){x});
    f->values.at[y].uniform = false;
    return true;
}

/* The instruction at `at` makes the next value of x. Returns whether anything moved. */
static bool separate(Updates *updates, BlockId b, unsigned at, uint32_t x) {
    Function *f = updates->f;
    const InstIds *insts = &ir_block(f, b)->insts;
    unsigned last = 0;
    for (unsigned p = at + 1; p < insts->n && p <= at + MOST_CROSSED; p++) {
        f->module->steps++;
        if (reads(f, ir_inst(f, insts->at[p]), x))
            last = p;
    }
    if (!last || is_live_out(updates, b, x))
        return false;
    if (sink(updates, b, at, last))
        return true;
    bool moved = false;
    for (unsigned p = at + 1; p <= last; p++)
        if (reads(f, ir_inst(f, insts->at[p]), x)) {
            if (!hoist(updates, b, p, at))
                break;
            moved = true, at++;
        }
    return moved || make_for_others(updates, b, at, last, x);
}

static void separate_block(Updates *updates, BlockId b) {
    Function *f = updates->f;
    unsigned moves = 0;
    for (unsigned p = ir_block(f, b)->insts.n; p-- > 0 && moves < MOST_MOVES;) {
        const Inst *i = ir_inst(f, ir_block(f, b)->insts.at[p]);
        if (i->op == IR_PHI || i->ndst == 0)
            continue;
        Operand dst = *ir_dst(f, i, 0);
        if (dst.kind == OPK_VAL && dst.count == 1 && updates->replaces[dst.value]) {
            uint32_t x = updates->replaces[dst.value], kept = kept_value(f, i);
            if (kept && !updates->replaces[kept]) /* both sides of a branch make the next value */
                updates->replaces[kept] = x;
            moves += separate(updates, b, p, x);
        }
    }
}

void ra_separate_updates(Function *f) {
    Updates u = {.f = f};
    u.replaces = ARENA_ARRAY(&u.a, uint32_t, f->values.n);
    if (note_phis(&u))
        FOR_BLOCKS(f, b)
            separate_block(&u, b);
    arena_free(&u.a);
}
