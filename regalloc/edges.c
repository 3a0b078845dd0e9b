/* The second half of colouring: on each edge a parallel copy brings live values and phi operands from where
 * the predecessor leaves them to where the successor expects them. In: every block coloured, its entry and
 * exit maps known. No copy is placed where another path would execute it: edges are split as needed.
 * SPDX-License-Identifier: MIT */
#include "regalloc/colour.h"

uint16_t ra_exit_reg(const Colour *c, BlockId b, uint32_t v) {
    const RaPlaces *e = &c->exit[b.i];
    for (unsigned k = 0; k < e->at.n; k++)
        if (e->at.at[k].value == v)
            return e->at.at[k].reg;
    return RA_NO_REG;
}

/* The operand that phi result v of block b has on edge p, or NULL if v is no phi of b. */
static const Operand *phi_operand(const Colour *c, BlockId b, uint32_t v, unsigned p) {
    for (unsigned k = c->first_phi[b.i]; k < c->rec->phis.n && c->rec->phis.at[k].block.i == b.i; k++) {
        const Inst *i = ir_inst(c->f, c->rec->phis.at[k].phi);
        if (ir_dst(c->f, i, 0)->value == v)
            return ir_src(c->f, i, p);
    }
    return NULL;
}

typedef struct {
    Operand dst, src;
} Move;
typedef struct {
    VEC(Move) at;
} Moves;

static bool collect_moves(Colour *c, BlockId from, BlockId to, unsigned p, Moves *m) {
    const RaPlaces *e = &c->rec->entry[to.i];
    for (unsigned k = 0; k < e->at.n; k++) {
        RaPlace want = e->at.at[k];
        const Operand *o = phi_operand(c, to, want.value, p);
        Operand src;
        if (o && o->kind != OPK_VAL) {
            src = *o;
        } else {
            uint32_t v = o ? o->value : want.value;
            uint16_t r = ra_exit_reg(c, from, v);
            if (r == RA_NO_REG)
                return diag(c->d, (SrcLoc){0}, DIAG_E0783, str_text(c->f->module->strings, c->f->name), v,
                            to.i);
            if (r == want.reg && (!o || ir_value(c->f, (ValId){v})->file == want.file))
                continue;
            src = op_reg((RegFile)ir_value(c->f, (ValId){v})->file, r, 1);
        }
        VEC_ADD(c->block_arena, &m->at, ((Move){op_reg((RegFile)want.file, want.reg, 1), src}));
    }
    return true;
}

static uint32_t edge_scratch(const Colour *c, BlockId from, BlockId to) {
    bool used[2][RA_MAX_REGS] = {{false}};
    const RaPlaces *lists[2] = {&c->exit[from.i], &c->rec->entry[to.i]};
    for (unsigned l = 0; l < 2; l++)
        for (unsigned k = 0; k < lists[l]->at.n; k++)
            if (lists[l]->at.at[k].file <= RF_P)
                used[lists[l]->at.at[k].file][lists[l]->at.at[k].reg] = true;
    uint32_t mods = 0;
    for (unsigned s = 0; s < 2; s++)
        for (unsigned r = 0; r < c->limit[s]; r++)
            if (ra_is_allocatable((RegFile)s, r, c->limit[s]) && !used[s][r]) {
                mods |= (r + 1) << (16 * s);
                break;
            }
    return mods;
}

/* Copies at the end of block b overwrite these registers: what the variable map says of them ends earlier,
 * where is not known. */
static void cut_rows(Colour *c, BlockId b, const Moves *m) {
    Function *f = c->f;
    for (unsigned k = c->first_row[b.i]; k < f->var_rows.n && f->var_rows.at[k].block.i == b.i; k++) {
        IrVarRow *r = &f->var_rows.at[k];
        for (unsigned n = 0; n < m->at.n && !r->to.i; n++)
            if (m->at.at[n].dst.file == r->file && m->at.at[n].dst.value == r->reg)
                r->ptx_reg = 0;
    }
}

static bool connect_edge(Colour *c, BlockId from, BlockId to, unsigned p) {
    Function *f = c->f;
    Moves m = {0};
    if (!collect_moves(c, from, to, p, &m))
        return false;
    if (!m.at.n)
        return true;
    uint32_t mods = edge_scratch(c, from, to);
    const Block *fb = ir_block(f, from);
    LocId loc = fb->insts.n ? ir_inst(f, fb->insts.at[fb->insts.n - 1])->loc : (LocId){0};
    BlockId b;
    unsigned at;
    ra_edge_point(f, from, to, &b, &at);
    if (b.i == from.i)
        cut_rows(c, from, &m);
    for (unsigned file = 0; file < RF_COUNT; file++) { /* by destination file: at most 255 a copy */
        unsigned n = 0;
        for (unsigned k = 0; k < m.at.n; k++)
            n += m.at.at[k].dst.file == file;
        if (!n)
            continue;
        InstId id = ir_inst_new(f, IR_PARCOPY, n, n);
        Inst *i = ir_inst(f, id);
        i->mods = mods;
        i->loc = loc;
        n = 0;
        for (unsigned k = 0; k < m.at.n; k++)
            if (m.at.at[k].dst.file == file) {
                *ir_dst(f, i, n) = m.at.at[k].dst;
                *ir_src(f, i, n++) = m.at.at[k].src;
            }
        ir_insert(f, b, at++, id);
    }
    return true;
}

bool ra_connect_edges(Colour *c) {
    Arena edge_arena = {0};
    c->block_arena = &edge_arena;
    bool ok = true;
    for (uint32_t k = 0; ok && k < c->g.nrpo; k++) {
        BlockId to = c->g.rpo[k];
        for (unsigned p = 0; ok && p < ir_block(c->f, to)->preds.n; p++)
            ok = connect_edge(c, ir_block(c->f, to)->preds.at[p], to, p);
    }
    arena_free(&edge_arena);
    return ok;
}
