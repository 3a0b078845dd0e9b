/* Register assignment: a linear scan. No interference graph is built or coloured, whatever the pass is
 * called: one walk over the blocks in reverse postorder, and over each block's instructions from first to
 * last, keeps a map of which value sits in which register now (`occupant`, `reg`), and gives every result a
 * register when the walk comes to it. In: SSA form whose pressure fits (ra_spill). Out: operands are
 * physical; what the SSA form said is kept in the record for ra_check.
 *
 * At an instruction (colour_inst):
 *   1. make_room. A vector operand needs consecutive aligned registers, a call argument one certain register,
 *      a call ruins those that its callee writes. Each such demand is a Tuple. The demands are placed largest
 *      first, each where it is cheapest (tuple_cost); values in the way are taken out (uproot) and given what
 *      is left (settle_homeless). One parallel copy before the instruction does all the moves.
 *   2. Sources become physical, values that end here leave the map.
 *   3. Results get registers: that of a tied source, that of the tuple, or `ra_choose`: the register that
 *      relatives had (copies, phis and tied operands form webs, see webs.c), the place beside the other
 *      members of a vector that it will be in, else the best hole (choose.c).
 * At a block's start the map is that of the predecessor in the deepest loop that is done already. On every
 * edge a parallel copy brings each live value and phi operand from where the predecessor left it to where
 * the successor found it (edges.c); most are empty.
 *
 * Example: R0, R2 and R3 are in use, %a sits in R4, %b in R6, R5 and from R7 on all is free, R1 is the stack.
 *     %c = MOV 7              %c will be component 1 of the vector (%a, %c), and %a sits in R4: R5
 *     STG [%p], (%a, %c)      the tuple costs nothing at R4: no copy
 * Had R5 held %d, %c would sit in R7. At R4 now %d must leave and %c come: two moves, and one point because
 * %c leaves the register that it had. At R6 %b must leave and %a come: the same. At R8, which is free, both
 * come, and the function would use more registers: 12 points. The lowest of the cheapest is R4; %d is
 * homeless and gets the first hole, which is the one that %c leaves: (R5, R7) = (R7, R5).
 *
 * No choice is ever taken back; a later instruction can always move a value again, at the price of a copy.
 * SPDX-License-Identifier: MIT */
#include "regalloc/colour.h"
#include "frontend/ast.h"
#include "isa/machine/occupancy.h"
#include <string.h>

/* ---- the register map ---- */

void ra_occupy(Colour *colour, uint32_t v, unsigned reg) {
    RegFile file = (RegFile)colour->f->values.at[v].file;
    colour->occupant[file][reg] = v;
    colour->used[file][reg / 64] |= (uint64_t)1 << reg % 64;
    colour->reg[v] = (uint16_t)reg;
    uint32_t web = ra_web(colour, v);
    if (colour->pending[web] && colour->web_reg[web] != RA_NO_REG)
        colour->wished[file][colour->web_reg[web]]--;
    colour->web_reg[web] = (uint16_t)reg;
    if (!colour->placed[v]) {
        colour->placed[v] = true;
        colour->pending[web]--;
    }
    if (colour->pending[web])
        colour->wished[file][reg]++;
}

void ra_lift(Colour *colour, uint32_t v) {
    unsigned file = colour->f->values.at[v].file, reg = colour->reg[v];
    colour->freed_at[file][reg] = ++colour->clock;
    colour->occupant[file][reg] = 0;
    colour->used[file][reg / 64] &= ~((uint64_t)1 << reg % 64);
    colour->reg[v] = RA_NO_REG;
}

/* Value v was in its register up to and with instruction `to` (0: the block's end). */
void ra_note_row(Colour *colour, uint32_t v, uint32_t to) {
    const Value *val = &colour->f->values.at[v];
    if (!val->ptx_reg || colour->start[v] == RA_UNKNOWN)
        return;
    *VEC_PUSH(colour->f->arena, &colour->f->var_rows) = (IrVarRow){
        val->ptx_reg, val->component, val->file, colour->reg[v], colour->block, {colour->start[v]}, {to}};
}

/* First register in use, from `reg` on; RA_MAX_REGS if there is none. */
static unsigned next_used(const Colour *colour, unsigned file, unsigned reg) {
    for (unsigned w = reg / 64; w < RA_MAX_REGS / 64; w++) {
        uint64_t m = colour->used[file][w] & (w == reg / 64 ? ~(uint64_t)0 << reg % 64 : ~(uint64_t)0);
        if (m)
            return w * 64 + (unsigned)__builtin_ctzll(m);
    }
    return RA_MAX_REGS;
}
#define USED_EACH(r, c, file)                                                                                \
    for (unsigned r = next_used(c, file, 0); r < RA_MAX_REGS; r = next_used(c, file, r + 1))

bool ra_no_register(Colour *colour, uint32_t v, const Inst *i) {
    const Function *f = colour->f;
    const Value *value = &f->values.at[v];
    if (f->ptx && f->module->ptx && value->ptx_reg && value->ptx_reg < f->ptx->nregs)
        colour->d->place.reg = str_text(&f->module->ptx->strings, f->ptx->regs[value->ptx_reg].name);
    diag(colour->d, ra_src_loc(f, i), DIAG_E0780, str_text(f->module->strings, f->name),
         ra_file_name((RegFile)value->file), colour->limit[value->file]);
    colour->d->place.reg = NULL;
    return false;
}

static bool place_value(Colour *colour, uint32_t v, const Inst *i) {
    RegFile file = (RegFile)colour->f->values.at[v].file;
    unsigned r = ra_choose(colour, v);
    if (r == RA_NO_REG)
        return ra_no_register(colour, v, i);
    if (colour->occupant[file][r] || !ra_is_allocatable(file, r, RA_MAX_REGS))
        return diag(colour->d, ra_src_loc(colour->f, i), DIAG_E0782,
                    str_text(colour->f->module->strings, colour->f->name), ra_file_name(file), r);
    ra_occupy(colour, v, r);
    if (r > colour->high_water[file])
        colour->high_water[file] = r;
    return true;
}

/* ---- one instruction ---- */

static void make_physical(Colour *colour, Operand *operand) {
    if (operand->kind != OPK_VAL)
        return;
    uint32_t v = 0, k = 0;
    while (k < operand->count && !(v = ir_operand_value(colour->f, *operand, k).i))
        k++;
    if (!v) {
        *operand = (Operand){0};
        return;
    }
    uint8_t mods = operand->mods;
    *operand = op_reg((RegFile)operand->file, (uint32_t)(colour->reg[v] - k), operand->count);
    operand->mods = mods;
}

static void release_dying(Colour *colour, const uint32_t *v, unsigned n, InstId at) {
    for (unsigned k = 0; k < n; k++)
        if (colour->reg[v[k]] != RA_NO_REG) {
            if (at.i)
                ra_note_row(colour, v[k], at.i);
            ra_lift(colour, v[k]);
        }
}

/* Remember for the variable map who reads and makes values. `copy_of`: start of the value that a vanishing
 * copy renames, or RA_UNKNOWN. */
static void note_reads(Colour *colour, InstId id) {
    Inst *i = ir_inst(colour->f, id);
    ValId v[IR_MOST_VECTOR];
    FOR_READS(colour->f, i, read)
        for (unsigned k = 0, m = ra_values(colour->f, *read, v); k < m; k++)
            colour->last_ref[v[k].i] = id.i;
}

static void note_results(Colour *colour, InstId id, uint32_t copy_of) {
    Inst *i = ir_inst(colour->f, id);
    ValId v[IR_MOST_VECTOR];
    FOR_DSTS(colour->f, i, dst)
        for (unsigned k = 0, m = ra_values(colour->f, *dst, v); k < m; k++) {
            colour->last_ref[v[k].i] = id.i;
            colour->start[v[k].i] = copy_of != RA_UNKNOWN                     ? copy_of
                                    : ir_is_pseudo(i->op) && i->op != IR_COPY ? RA_UNKNOWN
                                                                              : id.i;
        }
}

/* Where the vector that these results are has been given a place; RA_NO_REG: nowhere. */
static unsigned base_of_results(const Colour *colour, Operand results) {
    if (!colour->tuples.n)
        return RA_NO_REG;
    Tuple t = ra_tuple_of(colour, results);
    for (unsigned k = 0; k < colour->tuples.n; k++) {
        const Tuple *tuple = &colour->tuples.at[k];
        if (tuple->after && !tuple->before && tuple->count == results.count &&
            memcmp(tuple->value, t.value, sizeof t.value) == 0)
            return tuple->base;
    }
    return RA_NO_REG;
}

static bool place_results(Colour *colour, Inst *i, const uint16_t *tied_reg) {
    Function *f = colour->f;
    for (unsigned pass = 0; pass < 2; pass++) /* those with a place first */
        FOR_DSTS(f, i, o) {
            ValId v[IR_MOST_VECTOR];
            unsigned n = ra_values(f, *o, v), base = tied_reg[AT(o)];
            if (n && base == RA_NO_REG)
                base = base_of_results(colour, *o);
            if ((base != RA_NO_REG) != (pass == 0))
                continue;
            for (unsigned m = 0; m < n; m++) {
                if (!v[m].i)
                    continue;
                if (base != RA_NO_REG)
                    ra_occupy(colour, v[m].i, base + m);
                else if (!place_value(colour, v[m].i, i))
                    return false;
            }
        }
    return true;
}

/* A dead instruction without effect: what spilling left of a definition that is now repeated at each use. */
static bool is_needless(const Colour *colour, const Inst *i) {
    if (!ra_may_repeat(i->op) && i->op != IR_RELOAD)
        return false;
    FOR_DSTS(colour->f, i, dst) {
        ValId v[IR_MOST_VECTOR];
        for (unsigned m = 0, n = ra_values(colour->f, *dst, v); m < n; m++)
            if (v[m].i && !bs_has(&colour->dead, v[m].i))
                return false;
    }
    return true;
}

static bool colour_inst(Colour *colour, InstId id, const Kills *dying, const Kills *dead, InstIds *out) {
    Function *f = colour->f;
    if (is_needless(colour, ir_inst(f, id))) {
        release_dying(colour, dying->at, dying->n, (InstId){0});
        return true;
    }
    if (!ra_make_room(colour, ir_inst(f, id), out))
        return false;
    Inst *i = ir_inst(f, id);
    uint16_t tied_reg[256];
    bool copy = i->op == IR_COPY && ir_src(f, i, 0)->kind == OPK_VAL && ir_src(f, i, 0)->count == 1 &&
                ir_src(f, i, 0)->file == ir_dst(f, i, 0)->file && !(i->flags & IF_TIED);
    for (unsigned k = 0; k < i->ndst; k++) {
        Operand o = i->flags & IF_TIED ? *ir_tied(f, i, k) : copy ? *ir_src(f, i, 0) : (Operand){0};
        ValId v[IR_MOST_VECTOR];
        tied_reg[k] = RA_NO_REG;
        for (unsigned m = ra_values(f, o, v); m-- > 0;)
            if (v[m].i)
                tied_reg[k] = (uint16_t)(colour->reg[v[m].i] - m);
        if (copy) { /* the same register if the source ends here and the result is free to choose */
            int fixed = ir_value(f, ir_operand_value(f, *ir_dst(f, i, 0), 0))->fixed_reg;
            if (!ra_dies(colour, v[0].i) || fixed >= 0)
                tied_reg[k] = RA_NO_REG;
        }
    }
    note_reads(colour, id);
    uint32_t renames = copy && tied_reg[0] != RA_NO_REG ? colour->start[ir_src(f, i, 0)->value] : RA_UNKNOWN;
    for (unsigned n = 0; n < ir_num_reads(i); n++)
        make_physical(colour, ra_read(f, i, n));
    release_dying(colour, dying->at, dying->n, id);
    if (!place_results(colour, i, tied_reg))
        return false;
    note_results(colour, id, renames);
    FOR_DSTS(f, i, dst)
        make_physical(colour, dst);
    release_dying(colour, dead->at, dead->n, (InstId){0});
    VEC_ADD(f->arena, out, id);
    return true;
}

/* ---- one block ---- */

/* For each position: values whose last use is there, and results that nobody uses. */
static void find_kills(Colour *colour, BlockId b) {
    Function *f = colour->f;
    const Block *blk = ir_block(f, b);
    Bitset *live = &colour->scratch_live;
    ra_set_to_bits(&colour->live.out[b.i], live);
    colour->dying_at = ARENA_ARRAY(colour->block_arena, Kills, blk->insts.n + 1);
    colour->dead_at = ARENA_ARRAY(colour->block_arena, Kills, blk->insts.n + 1);
    for (unsigned p = blk->insts.n; p-- > 0;) {
        Inst *i = ir_inst(f, blk->insts.at[p]);
        ValId v[IR_MOST_VECTOR];
        FOR_DSTS(f, i, dst)
            for (unsigned m = 0, n = ra_values(f, *dst, v); m < n; m++)
                if (v[m].i && !bs_has(live, v[m].i))
                    VEC_ADD(colour->block_arena, &colour->dead_at[p], v[m].i);
        FOR_DSTS(f, i, dst)
            for (unsigned m = 0, n = ra_values(f, *dst, v); m < n; m++)
                if (v[m].i)
                    bs_del(live, v[m].i);
        if (i->op == IR_PHI)
            continue;
        FOR_READS(f, i, read)
            for (unsigned m = 0, n = ra_values(f, *read, v); m < n; m++)
                if (v[m].i && !bs_has(live, v[m].i)) {
                    bs_add(live, v[m].i);
                    VEC_ADD(colour->block_arena, &colour->dying_at[p], v[m].i);
                }
    }
}

/* The predecessor whose map the block starts from: the one in the deepest loop. */
static BlockId map_source(const Colour *colour, const Block *blk) {
    BlockId best = {0};
    for (unsigned p = 0; p < blk->preds.n; p++) {
        BlockId q = blk->preds.at[p];
        if (colour->done[q.i] && (!best.i || colour->g.depth[q.i] > colour->g.depth[best.i]))
            best = q;
    }
    return best;
}

/* Where a phi's register would cost least, of `wish` and the free ones that are in use anyway: none where it
 * comes from there, a copy in front of a branch whose other way keeps nothing in it, else a copy and a jump
 * on the edge for the lanes that come there. Only where all edges' ends are known. */
static unsigned cheapest_for_phi(const Colour *colour, BlockId b, const Inst *i, RegFile file,
                                 unsigned wish) {
    enum { MOST_EDGES = 64, COPY = 2, JUMP = 2 };
    const Block *blk = ir_block(colour->f, b);
    unsigned cost[RA_MAX_REGS] = {0}, best = wish;
    if (blk->preds.n > MOST_EDGES)
        return wish;
    for (unsigned p = 0; p < blk->preds.n; p++) {
        BlockId q = blk->preds.at[p];
        const Operand *o = ir_src(colour->f, i, p);
        unsigned from = o->kind == OPK_VAL ? ra_exit_reg(colour, q, o->value) : RA_NO_REG;
        if (!colour->done[q.i] || ir_block(colour->f, q)->succs.n > 2)
            return wish;
        for (unsigned k = 0; k < colour->exit[q.i].at.n; k++) {
            RaPlace place = colour->exit[q.i].at.at[k];
            if (place.file == file && place.reg != from && ir_block(colour->f, q)->succs.n == 2)
                cost[place.reg] += JUMP;
        }
        for (unsigned r = 0; r < RA_MAX_REGS; r++)
            cost[r] += r != from ? COPY : 0;
    }
    for (unsigned r = 0; r <= colour->high_water[file]; r++)
        if (ra_is_free(colour, file, r) && !colour->wished[file][r] &&
            (best == RA_NO_REG || cost[r] < cost[best]))
            best = r;
    return best;
}

static bool place_phi(Colour *colour, BlockId b, InstId id) {
    Function *f = colour->f;
    const Block *blk = ir_block(f, b);
    const Inst *i = ir_inst(f, id);
    uint32_t v = ir_operand_value(f, *ir_dst(f, i, 0), 0).i;
    RegFile file = (RegFile)f->values.at[v].file;
    unsigned wish = ra_choose(colour, v);
    if (colour->web_reg[ra_web(colour, v)] == RA_NO_REG && !colour->vec[v].count)
        wish = RA_NO_REG; /* nothing known: as on one of the edges */
    for (unsigned p = 0; p < blk->preds.n && (wish == RA_NO_REG || !ra_is_free(colour, file, wish)); p++)
        if (colour->done[blk->preds.at[p].i] && ir_src(f, i, p)->kind == OPK_VAL)
            wish = ra_exit_reg(colour, blk->preds.at[p], ir_src(f, i, p)->value);
    if (wish != RA_NO_REG && !ra_is_free(colour, file, wish))
        wish = RA_NO_REG;
    if (wish == RA_NO_REG && !colour->vec[v].count && file <= RF_P)
        wish = cheapest_for_phi(colour, b, i, file, wish);
    if (wish != RA_NO_REG && ra_is_free(colour, file, wish))
        ra_occupy(colour, v, wish);
    else if (!place_value(colour, v, i))
        return false;
    VEC_ADD(colour->a, &colour->rec->phis, ((RaPhi){b, id, false, 0}));
    return true;
}

static bool enter_block(Colour *colour, BlockId b) {
    Function *f = colour->f;
    Block *blk = ir_block(f, b);
    for (unsigned k = 0; k < RF_COUNT; k++)
        USED_EACH(r, colour, k)
            colour->occupant[k][r] = 0;
    memset(colour->used, 0, sizeof colour->used);
    colour->block = b;
    BlockId from = map_source(colour, blk);
    if (from.i)
        for (unsigned k = 0; k < colour->exit[from.i].at.n; k++) {
            RaPlace e = colour->exit[from.i].at.at[k];
            if (ra_set_has(&colour->live.in[b.i], e.value))
                ra_occupy(colour, e.value, e.reg);
        }
    FOR_PHI_IDS(f, b, phi)
        if (!place_phi(colour, b, phi))
            return false;
    for (unsigned k = 0; k < RF_COUNT; k++)
        USED_EACH(r, colour, k) {
            VEC_ADD(colour->a, &colour->rec->entry[b.i].at,
                    ((RaPlace){colour->occupant[k][r], (uint16_t)r, (uint8_t)k}));
            colour->start[colour->occupant[k][r]] = colour->last_ref[colour->occupant[k][r]] = 0;
        }
    return true;
}

static void leave_block(Colour *colour, BlockId b) {
    for (unsigned k = 0; k < RF_COUNT; k++)
        USED_EACH(r, colour, k) {
            uint32_t v = colour->occupant[k][r];
            VEC_ADD(colour->a, &colour->exit[b.i].at, ((RaPlace){v, (uint16_t)r, (uint8_t)k}));
            ra_note_row(colour, v, 0);
            colour->reg[v] = RA_NO_REG;
        }
    colour->done[b.i] = true;
}

static bool colour_block(Colour *colour, BlockId b) {
    Function *f = colour->f;
    Arena scratch_arena = {0};
    colour->block_arena = &scratch_arena;
    find_kills(colour, b);
    bool ok = enter_block(colour, b);
    InstIds out = {0};
    unsigned n = ir_block(f, b)->insts.n;
    for (unsigned p = 0; ok && p < n; p++) {
        InstId id = ir_block(f, b)->insts.at[p];
        f->module->steps += ir_num_operands(ir_inst(f, id));
        const Kills *dying = &colour->dying_at[p], *dead = &colour->dead_at[p];
        if (ir_inst(f, id)->op == IR_PHI) {
            release_dying(colour, dead->at, dead->n, (InstId){0});
            continue;
        }
        for (unsigned k = 0; k < dying->n; k++)
            bs_add(&colour->dying, dying->at[k]);
        for (unsigned k = 0; k < dead->n; k++)
            bs_add(&colour->dead, dead->at[k]);
        ok = colour_inst(colour, id, dying, dead, &out);
        for (unsigned k = 0; k < dying->n; k++)
            bs_del(&colour->dying, dying->at[k]);
        for (unsigned k = 0; k < dead->n; k++)
            bs_del(&colour->dead, dead->at[k]);
    }
    ir_block(f, b)->insts = out;
    leave_block(colour, b);
    arena_free(&scratch_arena);
    return ok;
}

/* ---- the whole function ---- */

static void keep_record(Function *f, Arena *a, RaRecord *rec) {
    rec->noperands = f->operands.n;
    rec->ninsts = f->insts.n;
    rec->nblocks = f->blocks.n;
    rec->ssa = arena_copy(a, f->operands.at, sizeof(Operand) * f->operands.n);
    rec->ssa_guard = ARENA_ARRAY(a, Operand, f->insts.n);
    for (uint32_t k = 0; k < f->insts.n; k++)
        rec->ssa_guard[k] = f->insts.at[k].guard;
    rec->entry = ARENA_ARRAY(a, RaPlaces, f->blocks.n);
}

/* The highest register with which a multiprocessor still holds as many warps as it can. */
static unsigned last_free_reg(const Target *target) {
    const TargetInfo *info = isa_target_info(target);
    uint32_t regs = occupancy_regs(target, (uint64_t)info->sm_warps * 32);
    return regs > info->reserved_regs ? regs - info->reserved_regs - 1 : 0;
}

bool ra_colour(Function *f, Arena *a, RaRecord *rec, Diags *d) {
    Colour *colour = ARENA_NEW(a, Colour);
    colour->f = f;
    colour->a = a;
    colour->d = d;
    colour->rec = rec;
    if (!rec->analysed) {
        ra_cfg(f, a, &rec->g);
        ra_live(f, &rec->g, a, &rec->live);
    }
    colour->g = rec->g;
    colour->live = rec->live;
    for (unsigned k = 0; k < RF_COUNT; k++)
        colour->limit[k] = ra_limit(f, (RegFile)k);
    if (f->is_entry && f->module->opt_level >= 2) {
        colour->wide_spread = last_free_reg(f->module->target);
        colour->spread = colour->wide_spread < RA_SPREAD ? colour->wide_spread : RA_SPREAD;
    }
    colour->reg = ARENA_ARRAY(a, uint16_t, f->values.n);
    for (uint32_t v = 0; v < f->values.n; v++)
        colour->reg[v] = RA_NO_REG;
    colour->start = ARENA_ARRAY(a, uint32_t, f->values.n);
    colour->last_ref = ARENA_ARRAY(a, uint32_t, f->values.n);
    colour->exit = ARENA_ARRAY(a, RaPlaces, f->blocks.n);
    colour->done = ARENA_ARRAY(a, bool, f->blocks.n);
    colour->dying = bs_new(a, f->values.n);
    colour->dead = bs_new(a, f->values.n);
    colour->scratch_live = bs_new(a, f->values.n);
    colour->first_phi = ARENA_ARRAY(a, uint32_t, f->blocks.n);
    colour->first_row = ARENA_ARRAY(a, uint32_t, f->blocks.n);
    ra_hints(colour);
    colour->placed = ARENA_ARRAY(a, bool, f->values.n);
    keep_record(f, a, rec);
    for (uint32_t k = 0; k < colour->g.nrpo; k++) {
        colour->first_phi[colour->g.rpo[k].i] = rec->phis.n;
        colour->first_row[colour->g.rpo[k].i] = f->var_rows.n;
        if (!colour_block(colour, colour->g.rpo[k]))
            return false;
    }
    if (!ra_connect_edges(colour))
        return false;
    f->is_ssa = false;
    f->is_physical = true;
    return true;
}
