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
 *   3. Results get registers: that of a tied source, that of the tuple, or `choose`: the register that
 *      relatives had (copies, phis and tied operands form a web, see hints.c), the place beside the other
 *      members of a vector that it will be in, else the best hole (hole_score).
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
#include "isa/machine/occupancy.h"
#include <string.h>

/* How good a free register is for a value without a wish, best last. Whole aligned groups are kept for
 * vectors. */
enum {
    HOLE_NEW = 1,     /* beyond what the function uses so far */
    HOLE_IN_QUAD = 2, /* all four of its group are free, or vectors do not matter in its file */
    HOLE_IN_PAIR = 3, /* its pair is free, the rest of the group is not */
    HOLE_SINGLE = 4,  /* its pair is in use already */
    HOLE_SAFE = 8     /* added: no call that the value lives through overwrites it */
};
/* What a place for a tuple costs. A move is an instruction, the others are hints. */
enum {
    COST_MOVE = 4,       /* a value that must leave, or come */
    COST_LATER_MOVE = 4, /* a result that a call will overwrite there: moved then */
    COST_MORE_REGS = 2,  /* the function would use more registers */
    COST_OTHER_WISH = 1  /* its relatives had another register */
};

/* ---- the register map ---- */

static void occupy(Colour *colour, uint32_t v, unsigned reg) {
    RegFile file = (RegFile)colour->f->values.at[v].file;
    colour->occupant[file][reg] = v;
    colour->used[file][reg / 64] |= (uint64_t)1 << reg % 64;
    colour->reg[v] = (uint16_t)reg;
    colour->web_reg[ra_web(colour, v)] = (uint16_t)reg;
}

static void lift(Colour *colour, uint32_t v) {
    unsigned file = colour->f->values.at[v].file, reg = colour->reg[v];
    colour->freed_at[file][reg] = ++colour->clock;
    colour->occupant[file][reg] = 0;
    colour->used[file][reg / 64] &= ~((uint64_t)1 << reg % 64);
    colour->reg[v] = RA_NO_REG;
}

/* Value v was in its register up to and with instruction `to` (0: the block's end). */
static void note_row(Colour *colour, uint32_t v, uint32_t to) {
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

static bool is_free(const Colour *colour, RegFile file, unsigned reg) {
    return ra_is_allocatable(file, reg, colour->limit[file]) && !colour->occupant[file][reg];
}

/* Would a call that v lives through overwrite the register? */
static bool is_safe(const Colour *colour, uint32_t v, unsigned reg) {
    return !colour->crosses[v] ||
           !ra_clobbers(ra_callee(colour->f, ir_inst(colour->f, (InstId){colour->crosses[v]})),
                        (RegFile)colour->f->values.at[v].file, reg);
}

/* Up to here registers are in use, or may be for the sake of scheduling. */
static unsigned last_welcome(const Colour *colour, RegFile file) {
    return file == RF_R && colour->spread > colour->high_water[file] ? colour->spread
                                                                     : colour->high_water[file];
}
static unsigned hole_score(const Colour *c, RegFile file, unsigned r) {
    unsigned quad = r & ~3u;
    if (r > last_welcome(c, file))
        return HOLE_NEW;
    if (file != RF_R && file != RF_UR)
        return HOLE_IN_QUAD;
    if (!is_free(c, file, r ^ 1))
        return HOLE_SINGLE;
    return !is_free(c, file, quad) || !is_free(c, file, quad + 2) ? HOLE_IN_PAIR : HOLE_IN_QUAD;
}

/* A free register; among equals the one that was released first, which leaves scheduling most freedom. */
static unsigned best_hole(const Colour *colour, uint32_t v) {
    RegFile file = (RegFile)colour->f->values.at[v].file;
    unsigned best = RA_NO_REG, best_score = 0, top = last_welcome(colour, file);
    for (unsigned r = 0; r < colour->limit[file]; r++) {
        if (!is_free(colour, file, r))
            continue;
        if (r > top && best_score >= HOLE_SAFE + HOLE_NEW)
            break; /* none behind is better */
        unsigned score = hole_score(colour, file, r) + (is_safe(colour, v, r) ? HOLE_SAFE : 0);
        if (best == RA_NO_REG || score > best_score ||
            (score == best_score && score % HOLE_SAFE > HOLE_NEW &&
             colour->freed_at[file][r] < colour->freed_at[file][best])) {
            best = r;
            best_score = score;
        }
    }
    return best;
}

/* Where a member of a vector is, or is likely to be. */
static unsigned member_reg(const Colour *colour, uint32_t m) {
    return colour->reg[m] != RA_NO_REG ? colour->reg[m] : colour->web_reg[ra_web(colour, m)];
}

/* Where value v should go so that its next vector use finds it in place; RA_NO_REG if there is no wish. */
static unsigned vector_wish(const Colour *colour, uint32_t v) {
    VecUse u = colour->vec[v];
    RegFile file = (RegFile)colour->f->values.at[v].file;
    unsigned align = ra_align(u.count);
    for (unsigned k = 0; k < u.count; k++) { /* beside a member that has its place */
        uint32_t m = colour->f->vectors.at[u.first + k];
        if (k == u.component || !m)
            continue;
        unsigned at = member_reg(colour, m);
        if (at == RA_NO_REG || at < k || (at - k) % align)
            continue;
        unsigned r = at - k + u.component;
        if (is_free(colour, file, r) && is_safe(colour, v, r))
            return r;
    }
    unsigned top = (colour->high_water[file] / 4 + 2) * 4, best = RA_NO_REG;
    for (unsigned base = 0; base + u.count <= colour->limit[file] && base <= top; base += align) {
        unsigned k = 0;
        while (k < u.count && is_free(colour, file, base + k))
            k++;
        if (k < u.count || !is_safe(colour, v, base + u.component))
            continue;
        if (best == RA_NO_REG ||
            (base <= colour->spread && colour->freed_at[file][base] < colour->freed_at[file][best]))
            best = base + u.component;
    }
    return best;
}

static unsigned choose(const Colour *colour, uint32_t v) {
    const Value *val = &colour->f->values.at[v];
    RegFile file = (RegFile)val->file;
    VecUse u = colour->vec[v];
    if (val->fixed_reg >= 0)
        return (unsigned)val->fixed_reg;
    unsigned r = colour->web_reg[ra_web(colour, v)];
    bool aligned = r != RA_NO_REG && (!u.count || r % ra_align(u.count) == u.component);
    if (r != RA_NO_REG && aligned && is_free(colour, file, r) && is_safe(colour, v, r))
        return r;
    unsigned wish = u.count ? vector_wish(colour, v) : RA_NO_REG;
    if (wish != RA_NO_REG)
        return wish;
    if (r != RA_NO_REG && is_free(colour, file, r) && is_safe(colour, v, r))
        return r;
    return best_hole(colour, v);
}

static bool place_value(Colour *colour, uint32_t v, const Inst *i) {
    RegFile file = (RegFile)colour->f->values.at[v].file;
    unsigned r = choose(colour, v);
    if (r == RA_NO_REG)
        return diag(colour->d, ra_src_loc(colour->f, i), DIAG_E0780,
                    str_text(colour->f->module->strings, colour->f->name), ra_file_name(file),
                    colour->limit[file]);
    if (colour->occupant[file][r] || !ra_is_allocatable(file, r, RA_MAX_REGS))
        return diag(colour->d, ra_src_loc(colour->f, i), DIAG_E0782,
                    str_text(colour->f->module->strings, colour->f->name), ra_file_name(file), r);
    occupy(colour, v, r);
    if (r > colour->high_water[file])
        colour->high_water[file] = r;
    return true;
}

/* ---- making room before an instruction ---- */

enum { TAKEN_BEFORE = 1, TAKEN_AFTER = 2, CLOBBERED = 4 };

/* Remember where a value was before this instruction's moves, and take it out. */
static void uproot(Colour *colour, uint32_t v) {
    bool known = false;
    for (unsigned k = 0; k < colour->moved.n; k++)
        known |= colour->moved.at[k].value == v;
    if (!known)
        VEC_ADD(colour->a, &colour->moved, ((RaPlace){v, colour->reg[v], colour->f->values.at[v].file}));
    if (colour->last_ref[v])
        note_row(colour, v, colour->last_ref[v]);
    colour->start[v] = RA_UNKNOWN; /* scheduling may move the copy */
    lift(colour, v);
}

static bool dies(const Colour *colour, uint32_t v) { return bs_has(&colour->dying, v); }

static bool is_member(const Tuple *tuple, uint32_t v) {
    for (unsigned k = 0; k < tuple->count; k++)
        if (tuple->value[k] == v)
            return true;
    return false;
}

/* What it costs to have the tuple at `base`; UINT32_MAX if it cannot be there. */
static unsigned tuple_cost(const Colour *colour, const Tuple *tuple, unsigned base) {
    unsigned cost = 0;
    for (unsigned k = 0; k < tuple->count; k++) {
        unsigned r = base + k, taken = colour->taken[tuple->file][r];
        uint32_t o = colour->occupant[tuple->file][r], v = tuple->value[k];
        if (!ra_is_allocatable(tuple->file, r, colour->limit[tuple->file]))
            return UINT32_MAX;
        bool here = tuple->before && v && o == v;
        if ((tuple->before && (taken & TAKEN_BEFORE)) || (tuple->after && (taken & TAKEN_AFTER)))
            return UINT32_MAX;
        if (tuple->before && v && !dies(colour, v) && (taken & (TAKEN_AFTER | CLOBBERED)))
            return UINT32_MAX;
        bool in_way = o && !here && (tuple->before || !dies(colour, o));
        if (in_way && colour->f->values.at[o].fixed_reg >= 0)
            return UINT32_MAX;
        cost +=
            (in_way ? (unsigned)COST_MOVE : 0u) + (tuple->before && v && !here ? (unsigned)COST_MOVE : 0u);
        unsigned wish = v ? colour->web_reg[ra_web(colour, v)] : RA_NO_REG;
        cost += v && wish != RA_NO_REG && wish != r ? (unsigned)COST_OTHER_WISH : 0u;
        cost += tuple->result[k] && !is_safe(colour, tuple->result[k], r) ? (unsigned)COST_LATER_MOVE : 0u;
    }
    return cost + (base + tuple->count > colour->high_water[tuple->file] + 1 ? (unsigned)COST_MORE_REGS : 0u);
}

static bool place_tuple(Colour *colour, Tuple *tuple, const Inst *i) {
    unsigned best = RA_NO_REG, best_cost = UINT32_MAX;
    if (tuple->forced >= 0) {
        best = (unsigned)tuple->forced;
        best_cost = tuple_cost(colour, tuple, best);
    }
    for (unsigned b = 0; tuple->forced < 0 && b + tuple->count <= colour->limit[tuple->file];
         b += ra_align(tuple->count)) {
        unsigned cost = tuple_cost(colour, tuple, b);
        if (cost < best_cost) {
            best = b;
            best_cost = cost;
            if (!cost)
                break;
        }
    }
    if (best_cost == UINT32_MAX && tuple->forced >= 0)
        return diag(colour->d, ra_src_loc(colour->f, i), DIAG_E0782,
                    str_text(colour->f->module->strings, colour->f->name), ra_file_name(tuple->file),
                    tuple->forced);
    if (best_cost == UINT32_MAX)
        return diag(colour->d, ra_src_loc(colour->f, i), DIAG_E0781,
                    str_text(colour->f->module->strings, colour->f->name), tuple->count,
                    ra_file_name(tuple->file), colour->limit[tuple->file]);
    tuple->base = best;
    if (best + tuple->count - 1 > colour->high_water[tuple->file])
        colour->high_water[tuple->file] = best + tuple->count - 1;
    for (unsigned k = 0; k < tuple->count; k++) {
        uint32_t o = colour->occupant[tuple->file][best + k], v = tuple->value[k];
        if (o && !(tuple->before && o == v) && (tuple->before || !dies(colour, o))) {
            uproot(colour, o);
            if (!(tuple->before && is_member(tuple, o)))
                VEC_ADD(colour->a, &colour->homeless, o);
        }
    }
    for (unsigned k = 0; k < tuple->count; k++) {
        uint32_t v = tuple->value[k];
        if (tuple->before && v && colour->occupant[tuple->file][best + k] != v) {
            bool was_homeless = false;
            for (unsigned h = 0; h < colour->homeless.n; h++)
                if (colour->homeless.at[h] == v) {
                    colour->homeless.at[h] = colour->homeless.at[--colour->homeless.n];
                    was_homeless = true;
                    break;
                }
            if (!was_homeless && colour->reg[v] != RA_NO_REG)
                uproot(colour, v);
            occupy(colour, v, best + k);
        }
        unsigned taken = (tuple->before && v ? TAKEN_BEFORE : 0u) | (tuple->after ? TAKEN_AFTER : 0u);
        if (tuple->before && v && !dies(colour, v))
            taken |= TAKEN_AFTER;
        colour->taken[tuple->file][best + k] |= (uint8_t)taken;
    }
    return true;
}

static bool settle_homeless(Colour *colour, const Inst *i) {
    for (unsigned h = 0; h < colour->homeless.n; h++) {
        uint32_t v = colour->homeless.at[h];
        RegFile file = (RegFile)colour->f->values.at[v].file;
        unsigned bad = dies(colour, v) ? TAKEN_BEFORE : TAKEN_BEFORE | TAKEN_AFTER | CLOBBERED;
        unsigned best = RA_NO_REG;
        for (unsigned r = 0; r < colour->limit[file] && best == RA_NO_REG; r++)
            if (is_free(colour, file, r) && !(colour->taken[file][r] & bad))
                best = r;
        if (best == RA_NO_REG)
            return diag(colour->d, ra_src_loc(colour->f, i), DIAG_E0780,
                        str_text(colour->f->module->strings, colour->f->name), ra_file_name(file),
                        colour->limit[file]);
        occupy(colour, v, best);
        if (best > colour->high_water[file])
            colour->high_water[file] = best;
    }
    return true;
}

/* Registers that the parallel copy may use to break cycles: free before it and behind it. */
static RaScratch find_scratch(const Colour *colour) {
    RaScratch scratch = {0};
    for (RegFile file = RF_R; file <= RF_P; file++) {
        for (unsigned r = 0; r < colour->limit[file]; r++) {
            bool old = false;
            for (unsigned k = 0; k < colour->moved.n; k++)
                old |= colour->moved.at[k].file == file && colour->moved.at[k].reg == r;
            if (is_free(colour, file, r) && !old) {
                scratch.reg[scratch.n++] = op_reg(file, r, 1);
                break;
            }
        }
    }
    return scratch;
}

static void emit_moves(Colour *colour, const Inst *before, InstIds *out) {
    Function *f = colour->f;
    LocId loc = before->loc;
    unsigned n = 0;
    for (unsigned k = 0; k < colour->moved.n; k++)
        n += colour->reg[colour->moved.at[k].value] != colour->moved.at[k].reg;
    if (!n)
        return;
    RaScratch scratch = find_scratch(colour);
    InstId id = ra_parallel_copy(f, n, &scratch, loc);
    Inst *i = ir_inst(f, id);
    n = 0;
    for (unsigned k = 0; k < colour->moved.n; k++) {
        RaPlace m = colour->moved.at[k];
        if (colour->reg[m.value] == m.reg)
            continue;
        *ir_dst(f, i, n) = op_reg((RegFile)m.file, colour->reg[m.value], 1);
        *ir_src(f, i, n++) = op_reg((RegFile)m.file, m.reg, 1);
    }
    VEC_ADD(f->arena, out, id);
}

static void add_tuple(Colour *colour, Tuple t) {
    for (unsigned k = 0; k < colour->tuples.n && t.before; k++) { /* the same vector twice needs one place */
        Tuple *tuple = &colour->tuples.at[k];
        if (tuple->before && tuple->count == t.count && memcmp(tuple->value, t.value, sizeof t.value) == 0) {
            tuple->after |= t.after;
            return;
        }
    }
    for (unsigned k = 0; k < t.count; k++)
        if (t.value[k] && colour->f->values.at[t.value[k]].fixed_reg >= 0)
            t.forced = colour->f->values.at[t.value[k]].fixed_reg - (int)k;
    VEC_ADD(colour->a, &colour->tuples, t);
}

static Tuple tuple_of(const Colour *colour, Operand o) {
    Tuple t = {.count = o.count, .file = (RegFile)o.file, .forced = -1};
    ValId v[4];
    for (unsigned k = 0, n = ra_values(colour->f, o, v); k < n; k++)
        t.value[k] = v[k].i;
    return t;
}

static void collect_tuples(Colour *colour, const Inst *i) {
    Function *f = colour->f;
    colour->tuples.n = 0;
    bool moves = i->op == IR_COPY || i->op == IR_PARCOPY;
    for (unsigned k = 0; k < i->nsrc && !moves; k++) {
        Operand o = *ir_src(f, i, k);
        if (o.kind == OPK_VAL && o.count > 1) {
            Tuple t = tuple_of(colour, o);
            t.before = true;
            add_tuple(colour, t);
        }
    }
    FOR_DSTS(f, i, o) {
        if (o->kind != OPK_VAL)
            continue;
        Tuple t = tuple_of(colour, *o);
        bool fixed = false;
        for (unsigned m = 0; m < o->count; m++)
            fixed |= t.value[m] && f->values.at[t.value[m]].fixed_reg >= 0;
        Operand tied = i->flags & IF_TIED ? *ir_tied(f, i, AT(o)) : (Operand){0};
        if (tied.kind == OPK_VAL && (o->count > 1 || fixed)) {
            Tuple old = tuple_of(colour, tied);
            old.before = old.after = true;
            memcpy(old.result, t.value, sizeof old.result);
            for (unsigned m = 0; m < o->count && fixed; m++)
                if (t.value[m] && f->values.at[t.value[m]].fixed_reg >= 0)
                    old.forced = f->values.at[t.value[m]].fixed_reg - (int)m;
            VEC_ADD(colour->a, &colour->tuples, old);
        } else if ((o->count > 1 && !moves) || fixed) {
            t.after = true;
            memcpy(t.result, t.value, sizeof t.result);
            add_tuple(colour, t);
        }
    }
}

static bool mark_clobbers(Colour *colour, const Inst *i) {
    RaCallee callee = ra_callee(colour->f, i);
    for (unsigned k = 0; k < RF_B; k++)
        for (unsigned r = 0; r < colour->limit[k]; r++) {
            if (!ra_clobbers(callee, (RegFile)k, r))
                continue;
            colour->taken[k][r] |= CLOBBERED;
            uint32_t o = colour->occupant[k][r];
            if (!o || dies(colour, o))
                continue;
            if (colour->f->values.at[o].fixed_reg >= 0)
                return diag(colour->d, ra_src_loc(colour->f, i), DIAG_E0782,
                            str_text(colour->f->module->strings, colour->f->name), ra_file_name((RegFile)k),
                            r);
            uproot(colour, o);
            VEC_ADD(colour->a, &colour->homeless, o);
        }
    return true;
}

/* Bring everything to where instruction i needs it. */
static bool make_room(Colour *colour, const Inst *i, InstIds *out) {
    colour->moved.n = colour->homeless.n = 0;
    collect_tuples(colour, i);
    if (!colour->tuples.n && i->op != OT_CALL)
        return true;
    memset(colour->taken, 0, sizeof colour->taken);
    if (i->op == OT_CALL && !mark_clobbers(colour, i))
        return false;
    for (unsigned forced = 2; forced-- > 0;)
        for (unsigned size = 5; size-- > 1;)
            for (unsigned k = 0; k < colour->tuples.n; k++)
                if (colour->tuples.at[k].count == size &&
                    (colour->tuples.at[k].forced >= 0) == (forced == 1) &&
                    !place_tuple(colour, &colour->tuples.at[k], i))
                    return false;
    if (!settle_homeless(colour, i))
        return false;
    emit_moves(colour, i, out);
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
                note_row(colour, v[k], at.i);
            lift(colour, v[k]);
        }
}

/* Remember for the variable map who reads and makes values. `copy_of`: start of the value that a vanishing
 * copy renames, or RA_UNKNOWN. */
static void note_reads(Colour *colour, InstId id) {
    Inst *i = ir_inst(colour->f, id);
    ValId v[4];
    for (unsigned n = 0; n < ra_num_reads(i); n++)
        for (unsigned k = 0, m = ra_values(colour->f, *ra_read(colour->f, i, n), v); k < m; k++)
            colour->last_ref[v[k].i] = id.i;
}

static void note_results(Colour *colour, InstId id, uint32_t copy_of) {
    Inst *i = ir_inst(colour->f, id);
    ValId v[4];
    FOR_DSTS(colour->f, i, dst)
        for (unsigned k = 0, m = ra_values(colour->f, *dst, v); k < m; k++) {
            colour->last_ref[v[k].i] = id.i;
            colour->start[v[k].i] = copy_of != RA_UNKNOWN                     ? copy_of
                                    : ir_is_pseudo(i->op) && i->op != IR_COPY ? RA_UNKNOWN
                                                                              : id.i;
        }
}

static bool place_results(Colour *colour, Inst *i, const uint16_t *tied_reg) {
    Function *f = colour->f;
    for (unsigned pass = 0; pass < 2; pass++) /* those with a place first */
        FOR_DSTS(f, i, o) {
            if (o->kind != OPK_VAL)
                continue;
            Tuple t = tuple_of(colour, *o);
            unsigned base = tied_reg[AT(o)];
            for (unsigned m = 0; m < colour->tuples.n && base == RA_NO_REG; m++)
                if (colour->tuples.at[m].after && !colour->tuples.at[m].before &&
                    colour->tuples.at[m].count == o->count &&
                    memcmp(colour->tuples.at[m].value, t.value, sizeof t.value) == 0)
                    base = colour->tuples.at[m].base;
            if ((base != RA_NO_REG) != (pass == 0))
                continue;
            for (unsigned m = 0; m < o->count; m++) {
                uint32_t v = t.value[m];
                if (!v)
                    continue;
                if (base != RA_NO_REG)
                    occupy(colour, v, base + m);
                else if (!place_value(colour, v, i))
                    return false;
            }
        }
    return true;
}

/* A dead instruction without effect: what spilling left of a definition that is now repeated at each use. */
static bool is_needless(const Colour *colour, const Inst *i) {
    if (i->op != OT_MOV && i->op != OT_UMOV && i->op != OT_S2R && i->op != IR_COPY && i->op != IR_UNDEF &&
        i->op != IR_RELOAD && i->op != IR_FRAME_ADDR)
        return false;
    FOR_DSTS(colour->f, i, dst) {
        ValId v[4];
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
    if (!make_room(colour, ir_inst(f, id), out))
        return false;
    Inst *i = ir_inst(f, id);
    uint16_t tied_reg[256];
    bool copy = i->op == IR_COPY && ir_src(f, i, 0)->kind == OPK_VAL && ir_src(f, i, 0)->count == 1 &&
                ir_src(f, i, 0)->file == ir_dst(f, i, 0)->file && !(i->flags & IF_TIED);
    for (unsigned k = 0; k < i->ndst; k++) {
        Operand o = i->flags & IF_TIED ? *ir_tied(f, i, k) : copy ? *ir_src(f, i, 0) : (Operand){0};
        ValId v[4];
        tied_reg[k] = RA_NO_REG;
        for (unsigned m = ra_values(f, o, v); m-- > 0;)
            if (v[m].i)
                tied_reg[k] = (uint16_t)(colour->reg[v[m].i] - m);
        if (copy) { /* the same register if the source ends here and the result is free to choose */
            int fixed = ir_value(f, ir_operand_value(f, *ir_dst(f, i, 0), 0))->fixed_reg;
            if (!dies(colour, v[0].i) || fixed >= 0)
                tied_reg[k] = RA_NO_REG;
        }
    }
    note_reads(colour, id);
    uint32_t renames = copy && tied_reg[0] != RA_NO_REG ? colour->start[ir_src(f, i, 0)->value] : RA_UNKNOWN;
    for (unsigned n = 0; n < ra_num_reads(i); n++)
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
        ValId v[4];
        FOR_DSTS(f, i, dst)
            for (unsigned m = 0, n = ra_values(f, *dst, v); m < n; m++)
                if (v[m].i && !bs_has(live, v[m].i))
                    VEC_ADD(colour->block_arena, &colour->dead_at[p], v[m].i);
        FOR_DSTS(f, i, dst)
            for (unsigned m = 0, n = ra_values(f, *dst, v); m < n; m++)
                if (v[m].i)
                    bs_del(live, v[m].i);
        for (unsigned k = 0; i->op != IR_PHI && k < ra_num_reads(i); k++)
            for (unsigned m = 0, n = ra_values(f, *ra_read(f, i, k), v); m < n; m++)
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

static bool place_phi(Colour *colour, BlockId b, InstId id) {
    Function *f = colour->f;
    const Block *blk = ir_block(f, b);
    const Inst *i = ir_inst(f, id);
    uint32_t v = ir_operand_value(f, *ir_dst(f, i, 0), 0).i;
    RegFile file = (RegFile)f->values.at[v].file;
    unsigned wish = choose(colour, v);
    if (colour->web_reg[ra_web(colour, v)] == RA_NO_REG && !colour->vec[v].count)
        wish = RA_NO_REG; /* nothing known: as on one of the edges */
    for (unsigned p = 0; p < blk->preds.n && (wish == RA_NO_REG || !is_free(colour, file, wish)); p++)
        if (colour->done[blk->preds.at[p].i] && ir_src(f, i, p)->kind == OPK_VAL)
            wish = ra_exit_reg(colour, blk->preds.at[p], ir_src(f, i, p)->value);
    if (wish != RA_NO_REG && is_free(colour, file, wish))
        occupy(colour, v, wish);
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
                occupy(colour, e.value, e.reg);
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
            note_row(colour, v, 0);
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
    if (f->is_entry && f->module->opt_level >= 2)
        colour->spread =
            last_free_reg(f->module->target); /* up to here the register count costs no occupancy */
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
