/* Hints for colouring: which values would best share a register (copies, phis, tied operands), and which
 * vector operand a value will be part of. Hints are never binding.
 * SPDX-License-Identifier: MIT */
#include "regalloc/colour.h"

static void join(Colour *c, Operand a, Operand b) {
    ValId x[4], y[4];
    unsigned n = ra_values(c->f, a, x), m = ra_values(c->f, b, y);
    for (unsigned k = 0; k < n && k < m; k++) {
        if (!x[k].i || !y[k].i || c->f->values.at[x[k].i].file != c->f->values.at[y[k].i].file)
            continue;
        uint32_t p = ra_web(c, x[k].i), q = ra_web(c, y[k].i);
        /* Webs of two different fixed registers stay apart. */
        if (p == q || (c->web_reg[p] != RA_NO_REG && c->web_reg[q] != RA_NO_REG))
            continue;
        if (c->web_reg[p] == RA_NO_REG) {
            uint32_t t = p;
            p = q;
            q = t;
        }
        c->web[q] = p;
        c->web[x[k].i] = c->web[y[k].i] = p; /* shortens the paths */
    }
}

static void note_vector(Colour *c, Operand o) {
    if (o.kind != OPK_VAL || o.count < 2)
        return;
    for (unsigned k = 0; k < o.count; k++) {
        uint32_t v = c->f->vectors.at[o.value + k];
        if (v && !c->vec[v].count)
            c->vec[v] = (VecUse){o.value, o.count, (uint8_t)k};
    }
}

/* Members of a web inherit the first vector use in it. */
static void share_vectors(Colour *c) {
    uint32_t n = c->f->values.n;
    VecUse *of_web = ARENA_ARRAY(c->a, VecUse, n);
    for (uint32_t v = 1; v < n; v++)
        if (c->vec[v].count && !of_web[ra_web(c, v)].count)
            of_web[ra_web(c, v)] = c->vec[v];
    for (uint32_t v = 1; v < n; v++)
        if (!c->vec[v].count)
            c->vec[v] = of_web[ra_web(c, v)];
}

/* Which values live through a CALL: they had better be where the callee does not write. */
static void note_crossings(Colour *c, BlockId b, Bitset *live) {
    Function *f = c->f;
    const Block *blk = ir_block(f, b);
    bool calls = false;
    for (unsigned p = 0; p < blk->insts.n && !calls; p++)
        calls = ir_inst(f, blk->insts.at[p])->op == OT_CALL;
    if (!calls)
        return;
    ra_set_to_bits(&c->live.out[b.i], live);
    for (unsigned p = blk->insts.n; p-- > 0;) {
        Inst *i = ir_inst(f, blk->insts.at[p]);
        ValId v[4];
        for (unsigned k = 0; k < i->ndst; k++)
            for (unsigned m = 0, n = ra_values(f, *ir_dst(f, i, k), v); m < n; m++)
                if (v[m].i)
                    bs_del(live, v[m].i);
        if (i->op == OT_CALL)
            BS_EACH(x, live)
        c->crosses[x] = blk->insts.at[p].i;
        for (unsigned k = 0; i->op != IR_PHI && k < ra_num_reads(i); k++)
            for (unsigned m = 0, n = ra_values(f, *ra_read(f, i, k), v); m < n; m++)
                if (v[m].i)
                    bs_add(live, v[m].i);
    }
}

static void hint_inst(Colour *c, const Inst *i) {
    Function *f = c->f;
    if (i->op == IR_PHI)
        for (unsigned k = 0; k < i->nsrc; k++)
            join(c, *ir_dst(f, i, 0), *ir_src(f, i, k));
    else if (i->op == IR_COPY || i->op == IR_PARCOPY)
        for (unsigned k = 0; k < i->ndst && k < i->nsrc; k++)
            join(c, *ir_dst(f, i, k), *ir_src(f, i, k));
    for (unsigned k = 0; (i->flags & IF_TIED) && k < i->ndst; k++)
        join(c, *ir_dst(f, i, k), *ir_tied(f, i, k));
    for (unsigned k = 0; k < i->nsrc; k++)
        note_vector(c, *ir_src(f, i, k));
}

void ra_hints(Colour *c) {
    Function *f = c->f;
    c->web = ARENA_ARRAY(c->a, uint32_t, f->values.n);
    c->web_reg = ARENA_ARRAY(c->a, uint16_t, f->values.n);
    c->vec = ARENA_ARRAY(c->a, VecUse, f->values.n);
    for (uint32_t v = 0; v < f->values.n; v++) {
        c->web[v] = v;
        c->web_reg[v] = f->values.at[v].fixed_reg >= 0 ? (uint16_t)f->values.at[v].fixed_reg : RA_NO_REG;
    }
    for (uint32_t k = 0; k < c->g.nrpo; k++) {
        const Block *b = ir_block(f, c->g.rpo[k]);
        for (unsigned p = 0; p < b->insts.n; p++)
            hint_inst(c, ir_inst(f, b->insts.at[p]));
    }
    share_vectors(c);
    c->crosses = ARENA_ARRAY(c->a, uint32_t, f->values.n);
    Bitset live = bs_new(c->a, f->values.n);
    for (uint32_t k = 0; k < c->g.nrpo; k++)
        note_crossings(c, c->g.rpo[k], &live);
}
