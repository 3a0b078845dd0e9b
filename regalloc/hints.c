/* Hints for colouring: which values would best share a register (copies, phis, tied operands), and which
 * vector operand a value will be part of. Hints are never binding.
 * SPDX-License-Identifier: MIT */
#include "regalloc/colour.h"

static void note_vector(Colour *colour, Operand o) {
    if (o.kind != OPK_VAL || o.count < 2)
        return;
    for (unsigned k = 0; k < o.count; k++) {
        uint32_t v = colour->f->vectors.at[o.value + k];
        if (v && !colour->vec[v].count)
            colour->vec[v] = (VecUse){o.value, o.count, (uint8_t)k};
    }
}

/* Members of a web inherit the first vector use in it. */
static void share_vectors(Colour *colour) {
    uint32_t n = colour->f->values.n;
    VecUse *of_web = ARENA_ARRAY(colour->a, VecUse, n);
    for (uint32_t v = 1; v < n; v++)
        if (colour->vec[v].count && !of_web[ra_web(colour, v)].count)
            of_web[ra_web(colour, v)] = colour->vec[v];
    for (uint32_t v = 1; v < n; v++)
        if (!colour->vec[v].count)
            colour->vec[v] = of_web[ra_web(colour, v)];
}

/* Registers that the call overwrites. */
static uint16_t ruined_by(const Colour *colour, const Inst *call) {
    RaCallee callee = ra_callee(colour->f, call);
    uint16_t n = 0;
    for (unsigned r = 0; r < colour->limit[RF_R]; r++)
        n += ra_clobbers(callee, RF_R, r);
    return n;
}

/* Which values live through a CALL, of several the one that overwrites most: they had better be where the
 * callee does not write. ruined: [value] registers that it overwrites */
static void note_crossings(Colour *colour, BlockId b, Bitset *live, uint16_t *ruined) {
    Function *f = colour->f;
    const Block *blk = ir_block(f, b);
    bool calls = false;
    FOR_INSTS(f, b, i)
        if ((calls = i->op == OT_CALL))
            break;
    if (!calls)
        return;
    ra_set_to_bits(&colour->live.out[b.i], live);
    for (unsigned p = blk->insts.n; p-- > 0;) {
        Inst *i = ir_inst(f, blk->insts.at[p]);
        ValId v[IR_MOST_VECTOR];
        FOR_DSTS(f, i, dst)
            for (unsigned m = 0, n = ra_values(f, *dst, v); m < n; m++)
                if (v[m].i)
                    bs_del(live, v[m].i);
        uint16_t ruins = i->op == OT_CALL ? ruined_by(colour, i) : 0;
        if (i->op == OT_CALL)
            BS_EACH(x, live)
                if (!colour->crosses[x] || ruins > ruined[x])
                    colour->crosses[x] = blk->insts.at[p].i, ruined[x] = ruins;
        if (i->op == IR_PHI)
            continue;
        FOR_READS(f, i, read)
            for (unsigned m = 0, n = ra_values(f, *read, v); m < n; m++)
                if (v[m].i)
                    bs_add(live, v[m].i);
    }
}

/* Who chooses first chooses for its web, unless that has a place already: what one member lives through
 * counts for all. */
static void share_crossings(Colour *colour, const uint16_t *ruined) {
    uint32_t n = colour->f->values.n, *most = ARENA_ARRAY(colour->a, uint32_t, n);
    for (uint32_t v = 1; v < n; v++) {
        uint32_t *of_web = &most[ra_web(colour, v)];
        if (colour->crosses[v] && (!*of_web || ruined[v] > ruined[*of_web]))
            *of_web = v;
    }
    for (uint32_t v = 1; v < n; v++) {
        uint32_t web = ra_web(colour, v);
        if (!colour->crosses[v] && most[web] && colour->web_reg[web] == RA_NO_REG)
            colour->crosses[v] = colour->crosses[most[web]];
    }
}

static void hint_inst(Colour *colour, const Inst *i) {
    Function *f = colour->f;
    FOR_USES(f, i, use)
        note_vector(colour, *use);
}

void ra_hints(Colour *colour) {
    Function *f = colour->f;
    colour->web_reg = ARENA_ARRAY(colour->a, uint16_t, f->values.n);
    colour->vec = ARENA_ARRAY(colour->a, VecUse, f->values.n);
    for (uint32_t v = 0; v < f->values.n; v++)
        colour->web_reg[v] = f->values.at[v].fixed_reg >= 0 ? (uint16_t)f->values.at[v].fixed_reg : RA_NO_REG;
    ra_webs(colour);
    for (uint32_t k = 0; k < colour->g.nrpo; k++) {
        FOR_INSTS(f, colour->g.rpo[k], i)
            hint_inst(colour, i);
    }
    share_vectors(colour);
    colour->crosses = ARENA_ARRAY(colour->a, uint32_t, f->values.n);
    uint16_t *ruined = ARENA_ARRAY(colour->a, uint16_t, f->values.n);
    Bitset live = bs_new(colour->a, f->values.n);
    for (uint32_t k = 0; k < colour->g.nrpo; k++)
        note_crossings(colour, colour->g.rpo[k], &live, ruined);
    share_crossings(colour, ruined);
}
