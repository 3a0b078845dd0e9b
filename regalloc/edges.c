/* The second half of colouring: on each edge a parallel copy brings live values and phi operands from where
 * the predecessor leaves them to where the successor expects them. In: every block coloured, its entry and
 * exit maps known. No copy is placed where another path would execute it: edges are split as needed.
 * SPDX-License-Identifier: MIT */
#include "regalloc/colour.h"

uint16_t ra_exit_reg(const Colour *colour, BlockId b, uint32_t v) {
    const RaPlaces *places = &colour->exit[b.i];
    for (unsigned k = 0; k < places->at.n; k++)
        if (places->at.at[k].value == v)
            return places->at.at[k].reg;
    return RA_NO_REG;
}

/* The operand that phi result v of block b has on edge p, or NULL if v is no phi of b. */
static const Operand *phi_operand(const Colour *colour, BlockId b, uint32_t v, unsigned p) {
    for (unsigned k = colour->first_phi[b.i];
         k < colour->rec->phis.n && colour->rec->phis.at[k].block.i == b.i; k++) {
        const Inst *i = ir_inst(colour->f, colour->rec->phis.at[k].phi);
        if (ir_dst(colour->f, i, 0)->value == v)
            return ir_src(colour->f, i, p);
    }
    return NULL;
}

typedef struct {
    Operand dst, src;
} Move;
typedef struct {
    VEC(Move) at;
} Moves;

typedef struct {
    Colour *colour;
    Moves *made; /* [block] in front of its branch */
} Edges;

static bool same_register(Operand one, Operand other) {
    return one.kind == OPK_REG && other.kind == OPK_REG && one.file == other.file && one.value == other.value;
}

static bool same_move(Move one, Move other) {
    return same_register(one.dst, other.dst) && same_register(one.src, other.src);
}

static bool has_move(const Moves *moves, Move move) {
    for (unsigned k = 0; k < moves->at.n; k++)
        if (same_move(moves->at.at[k], move))
            return true;
    return false;
}

/* Does one of the moves change what the move reads, or writes something else to its register? */
static bool spoils(const Moves *moves, Move move) {
    for (unsigned k = 0; k < moves->at.n; k++)
        if (same_register(moves->at.at[k].dst, move.src) ||
            (same_register(moves->at.at[k].dst, move.dst) && !same_move(moves->at.at[k], move)))
            return true;
    return false;
}

static bool holds(Operand o, Operand reg) {
    return o.kind == OPK_REG && o.file == reg.file && o.value <= reg.value && reg.value < o.value + o.count;
}

static bool writes_register(Function *f, BlockId b, Operand reg) {
    FOR_INSTS(f, b, i) {
        if (i->op == OT_CALL) /* what the callee writes */
            return true;
        FOR_DSTS(f, i, dst)
            if (holds(*dst, reg))
                return true;
        for (unsigned k = i->ndst; i->op == IR_PARCOPY && k < i->nsrc; k++) /* its scratch registers */
            if (holds(*ir_src(f, i, k), reg))
                return true;
    }
    return false;
}

/* Has the move been made on the way to the end of `from`: in front of its branch or, with nothing but blocks
 * of one edge in and one out between, of another? All edges to these blocks have their copies then. */
static bool is_made(const Edges *edges, BlockId from, BlockId to, Move move) {
    const Colour *colour = edges->colour;
    Function *f = colour->f;
    for (BlockId at = from; at.i < colour->g.nblocks; at = ir_block(f, at)->preds.at[0]) {
        if (spoils(&edges->made[at.i], move))
            return false;
        if (has_move(&edges->made[at.i], move))
            return true;
        if (ir_block(f, at)->preds.n != 1 || ir_block(f, at)->succs.n != 1 ||
            colour->g.rpo_index[at.i] >= colour->g.rpo_index[to.i] || writes_register(f, at, move.dst) ||
            writes_register(f, at, move.src))
            return false;
    }
    return false;
}

static bool collect_moves(const Edges *edges, BlockId from, BlockId to, unsigned p, Moves *moves) {
    Colour *colour = edges->colour;
    const RaPlaces *places = &colour->rec->entry[to.i];
    for (unsigned k = 0; k < places->at.n; k++) {
        RaPlace want = places->at.at[k];
        const Operand *operand = phi_operand(colour, to, want.value, p);
        Operand src;
        if (operand && operand->kind != OPK_VAL) {
            src = *operand;
        } else {
            uint32_t v = operand ? operand->value : want.value;
            uint16_t r = ra_exit_reg(colour, from, v);
            if (r == RA_NO_REG)
                return diag(colour->d, (SrcLoc){0}, DIAG_E0783,
                            str_text(colour->f->module->strings, colour->f->name), v, to.i);
            if (r == want.reg && (!operand || ir_value(colour->f, (ValId){v})->file == want.file))
                continue;
            src = op_reg((RegFile)ir_value(colour->f, (ValId){v})->file, r, 1);
        }
        Move move = {op_reg((RegFile)want.file, want.reg, 1), src};
        if (!is_made(edges, from, to, move))
            VEC_ADD(colour->block_arena, &moves->at, move);
    }
    return true;
}

InstId ra_parallel_copy(Function *f, unsigned n, const RaScratch *scratch, LocId loc) {
    InstId id = ir_inst_new(f, IR_PARCOPY, n, n + scratch->n);
    Inst *i = ir_inst(f, id);
    i->loc = loc;
    for (unsigned k = 0; k < scratch->n; k++)
        *ir_src(f, i, n + k) = scratch->reg[k];
    return id;
}

static RaScratch edge_scratch(const Colour *colour, BlockId from, BlockId to) {
    bool used[2][RA_MAX_REGS] = {{false}};
    const RaPlaces *lists[2] = {&colour->exit[from.i], &colour->rec->entry[to.i]};
    for (unsigned l = 0; l < 2; l++)
        for (unsigned k = 0; k < lists[l]->at.n; k++)
            if (lists[l]->at.at[k].file <= RF_P)
                used[lists[l]->at.at[k].file][lists[l]->at.at[k].reg] = true;
    RaScratch scratch = {0};
    for (RegFile file = RF_R; file <= RF_P; file++)
        for (unsigned r = 0; r < colour->limit[file]; r++)
            if (ra_is_allocatable(file, r, colour->limit[file]) && !used[file][r]) {
                scratch.reg[scratch.n++] = op_reg(file, r, 1);
                break;
            }
    return scratch;
}

/* Copies at the end of block b overwrite these registers: what the variable map says of them ends earlier,
 * where is not known. */
static void cut_rows(Colour *colour, BlockId b, const Moves *moves) {
    Function *f = colour->f;
    for (unsigned k = colour->first_row[b.i]; k < f->var_rows.n && f->var_rows.at[k].block.i == b.i; k++) {
        IrVarRow *row = &f->var_rows.at[k];
        for (unsigned n = 0; n < moves->at.n && !row->to.i; n++)
            if (moves->at.at[n].dst.file == row->file && moves->at.at[n].dst.value == row->reg)
                row->ptx_reg = 0;
    }
}

/* ---- copies in front of a branch ---- */

static bool writes(const Moves *moves, unsigned file, uint32_t reg) {
    for (unsigned k = 0; k < moves->at.n; k++)
        if (moves->at.at[k].dst.file == file && moves->at.at[k].dst.value == reg)
            return true;
    return false;
}

/* Would the moves in front of the branch of `from` change what its other successor gets? Not those that are
 * made on the way there as well. */
static bool disturbs(const Colour *colour, BlockId from, BlockId other, const Moves *moves) {
    const RaPlaces *places = &colour->rec->entry[other.i];
    unsigned p = 0;
    while (ir_block(colour->f, other)->preds.at[p].i != from.i)
        p++;
    for (unsigned k = 0; k < places->at.n; k++) {
        RaPlace want = places->at.at[k];
        const Operand *operand = phi_operand(colour, other, want.value, p);
        uint32_t v = !operand ? want.value : operand->kind == OPK_VAL ? operand->value : 0;
        unsigned file = v ? ir_value(colour->f, (ValId){v})->file : want.file;
        uint16_t reg = v ? ra_exit_reg(colour, from, v) : RA_NO_REG;
        Move move = {op_reg((RegFile)want.file, want.reg, 1), op_reg((RegFile)file, reg, 1)};
        if ((writes(moves, want.file, want.reg) && !(v && has_move(moves, move))) ||
            (v && writes(moves, file, reg)))
            return true;
    }
    return false;
}

/* The copies of an edge of a two-way branch may stand in front of the branch where the other way leads no
 * deeper into loops and misses nothing: a block of their own on the edge would take a jump as well, each time
 * for the lanes that come there. Returns the position, or NO_PLACE. */
enum { NO_PLACE = INT32_MAX, MOST_HOISTED = 4, MOST_HOISTED_ASIDE = 1 };

static unsigned place_before_branch(const Colour *colour, BlockId from, BlockId to, const Moves *moves) {
    Function *f = colour->f;
    const Block *b = ir_block(f, from);
    if (b->succs.n != 2 || b->insts.n < 1)
        return NO_PLACE;
    BlockId other = b->succs.at[b->succs.at[0].i == to.i];
    unsigned at = b->insts.n, most;
    while (at > 0 && ir_is_terminator(f, ir_inst(f, b->insts.at[at - 1])))
        at--;
    if (other.i == to.i || other.i >= colour->g.nblocks || to.i >= colour->g.nblocks ||
        colour->g.depth[other.i] > colour->g.depth[to.i])
        return NO_PLACE;
    most = colour->g.depth[other.i] < colour->g.depth[to.i] ? MOST_HOISTED : MOST_HOISTED_ASIDE;
    for (unsigned k = 0; k < moves->at.n; k++)
        if (moves->at.at[k].dst.file > RF_P)
            return NO_PLACE;
    for (unsigned p = at; p < b->insts.n; p++) {
        Inst *i = ir_inst(f, b->insts.at[p]);
        if (i->op != OT_BRA)
            return NO_PLACE;
        FOR_READS(f, i, o) {
            if (o->kind == OPK_REG && writes(moves, o->file, o->value))
                return NO_PLACE;
        }
    }
    return moves->at.n > most || at == b->insts.n || disturbs(colour, from, other, moves) ? NO_PLACE : at;
}

static bool connect_edge(Edges *edges, BlockId from, BlockId to, unsigned p) {
    Colour *colour = edges->colour;
    Function *f = colour->f;
    Moves m = {0};
    if (!collect_moves(edges, from, to, p, &m))
        return false;
    if (!m.at.n)
        return true;
    const Block *fb = ir_block(f, from);
    LocId loc = fb->insts.n ? ir_inst(f, fb->insts.at[fb->insts.n - 1])->loc : (LocId){0};
    BlockId b = from;
    unsigned at = place_before_branch(colour, from, to, &m);
    RaScratch scratch = at == NO_PLACE ? edge_scratch(colour, from, to) : (RaScratch){0};
    if (at == NO_PLACE)
        ra_edge_point(f, from, to, &b, &at);
    else
        for (unsigned k = 0; k < m.at.n; k++)
            VEC_ADD(colour->block_arena, &edges->made[from.i].at, m.at.at[k]);
    if (b.i == from.i)
        cut_rows(colour, from, &m);
    for (unsigned file = 0; file < RF_COUNT; file++) { /* by destination file: at most 255 a copy */
        unsigned n = 0;
        for (unsigned k = 0; k < m.at.n; k++)
            n += m.at.at[k].dst.file == file;
        if (!n)
            continue;
        InstId id = ra_parallel_copy(f, n, &scratch, loc);
        Inst *i = ir_inst(f, id);
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

bool ra_connect_edges(Colour *colour) {
    Arena edge_arena = {0};
    Edges edges = {colour, ARENA_ARRAY(&edge_arena, Moves, colour->g.nblocks)};
    colour->block_arena = &edge_arena;
    bool ok = true;
    for (uint32_t k = 0; ok && k < colour->g.nrpo; k++) {
        BlockId to = colour->g.rpo[k];
        for (unsigned p = 0; ok && p < ir_block(colour->f, to)->preds.n; p++)
            ok = connect_edge(&edges, ir_block(colour->f, to)->preds.at[p], to, p);
    }
    arena_free(&edge_arena);
    return ok;
}
