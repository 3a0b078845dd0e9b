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
}
