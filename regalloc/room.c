/* Making room before an instruction: its vectors get consecutive registers, its fixed results theirs, nothing
 * stays that a call ruins. Each such demand is a Tuple; values in the way are taken out (uproot) and given
 * what is left (settle_homeless). One parallel copy before the instruction does all the moves: see colour.c.
 * SPDX-License-Identifier: MIT */
#include "regalloc/colour.h"
#include <string.h>

/* What a place for a tuple costs. A move is an instruction, the others are hints. */
enum {
    COST_MOVE = 4,       /* a value that must leave, or come */
    COST_LATER_MOVE = 4, /* a result that a call will overwrite there: moved then */
    COST_MORE_REGS = 2,  /* the function would use more registers */
    COST_OTHER_WISH = 1  /* its relatives had another register */
};

enum { TAKEN_BEFORE = 1, TAKEN_AFTER = 2, CLOBBERED = 4 };

/* Remember where a value was before this instruction's moves, and take it out. */
static void uproot(Colour *colour, uint32_t v) {
    bool known = false;
    for (unsigned k = 0; k < colour->moved.n; k++)
        known |= colour->moved.at[k].value == v;
    if (!known)
        VEC_ADD(colour->a, &colour->moved, ((RaPlace){v, colour->reg[v], colour->f->values.at[v].file}));
    if (colour->last_ref[v])
        ra_note_row(colour, v, colour->last_ref[v]);
    colour->start[v] = RA_UNKNOWN; /* scheduling may move the copy */
    ra_lift(colour, v);
}

bool ra_dies(const Colour *colour, uint32_t v) { return bs_has(&colour->dying, v); }

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
        if (tuple->before && v && !ra_dies(colour, v) && (taken & (TAKEN_AFTER | CLOBBERED)))
            return UINT32_MAX;
        bool in_way = o && !here && (tuple->before || !ra_dies(colour, o));
        if (in_way && colour->f->values.at[o].fixed_reg >= 0)
            return UINT32_MAX;
        cost +=
            (in_way ? (unsigned)COST_MOVE : 0u) + (tuple->before && v && !here ? (unsigned)COST_MOVE : 0u);
        unsigned wish = v ? colour->web_reg[ra_web(colour, v)] : RA_NO_REG;
        cost += v && wish != RA_NO_REG && wish != r ? (unsigned)COST_OTHER_WISH : 0u;
        cost += tuple->result[k] && !ra_is_safe(colour, tuple->result[k], r) ? (unsigned)COST_LATER_MOVE : 0u;
    }
    return cost + (base + tuple->count > colour->high_water[tuple->file] + 1 ? (unsigned)COST_MORE_REGS : 0u);
}

/* It costs at least that above all registers that have been used. */
static unsigned least_cost_above(const Colour *colour, const Tuple *tuple) {
    unsigned cost = COST_MORE_REGS, top = colour->high_water[tuple->file];
    for (unsigned k = 0; k < tuple->count; k++) {
        uint32_t v = tuple->value[k];
        bool is_above = v && colour->reg[v] != RA_NO_REG && colour->reg[v] > top; /* a fixed one may be */
        cost += tuple->before && v && !is_above ? (unsigned)COST_MOVE : 0u;
    }
    return cost;
}

static bool place_tuple(Colour *colour, Tuple *tuple, const Inst *i) {
    unsigned best = RA_NO_REG, best_cost = UINT32_MAX, above = least_cost_above(colour, tuple);
    if (tuple->forced >= 0) {
        best = (unsigned)tuple->forced;
        best_cost = tuple_cost(colour, tuple, best);
    }
    for (unsigned b = 0; tuple->forced < 0 && b + tuple->count <= colour->limit[tuple->file];
         b += ra_align(tuple->count)) {
        if (b > colour->high_water[tuple->file] && best_cost <= above)
            break;
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
        if (o && !(tuple->before && o == v) && (tuple->before || !ra_dies(colour, o))) {
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
            ra_occupy(colour, v, best + k);
        }
        unsigned taken = (tuple->before && v ? TAKEN_BEFORE : 0u) | (tuple->after ? TAKEN_AFTER : 0u);
        if (tuple->before && v && !ra_dies(colour, v))
            taken |= TAKEN_AFTER;
        colour->taken[tuple->file][best + k] |= (uint8_t)taken;
    }
    return true;
}

/* A register that v may have behind the instruction too, but for a value that ends there: that one goes to
 * where a result or the call takes over. RA_NO_REG if there is none. */
static unsigned displace(Colour *colour, RegFile file, unsigned bad) {
    for (unsigned r = 0; r < colour->limit[file]; r++) {
        uint32_t o = colour->occupant[file][r];
        if (!o || !ra_dies(colour, o) || (colour->taken[file][r] & bad) ||
            colour->f->values.at[o].fixed_reg >= 0)
            continue;
        uproot(colour, o);
        VEC_ADD(colour->a, &colour->homeless, o);
        return r;
    }
    return RA_NO_REG;
}

static bool settle_homeless(Colour *colour, const Inst *i) {
    for (unsigned h = 0; h < colour->homeless.n; h++) {
        uint32_t v = colour->homeless.at[h];
        RegFile file = (RegFile)colour->f->values.at[v].file;
        unsigned bad = ra_dies(colour, v) ? TAKEN_BEFORE : TAKEN_BEFORE | TAKEN_AFTER | CLOBBERED;
        unsigned best = RA_NO_REG;
        for (unsigned r = 0; r < colour->limit[file] && best == RA_NO_REG; r++)
            if (ra_is_free(colour, file, r) && !(colour->taken[file][r] & bad))
                best = r;
        if (best == RA_NO_REG && !ra_dies(colour, v))
            best = displace(colour, file, bad);
        if (best == RA_NO_REG)
            return ra_no_register(colour, v, i);
        ra_occupy(colour, v, best);
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
            if (ra_is_free(colour, file, r) && !old) {
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
            if (t.after)
                memcpy(tuple->result, t.result, sizeof t.result);
            tuple->after |= t.after;
            return;
        }
    }
    for (unsigned k = 0; k < t.count; k++)
        if (t.value[k] && colour->f->values.at[t.value[k]].fixed_reg >= 0)
            t.forced = colour->f->values.at[t.value[k]].fixed_reg - (int)k;
    VEC_ADD(colour->a, &colour->tuples, t);
}

Tuple ra_tuple_of(const Colour *colour, Operand o) {
    Tuple t = {.count = o.count, .file = (RegFile)o.file, .forced = -1};
    ValId v[IR_MOST_VECTOR];
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
            Tuple t = ra_tuple_of(colour, o);
            t.before = true;
            add_tuple(colour, t);
        }
    }
    FOR_DSTS(f, i, o) {
        if (o->kind != OPK_VAL)
            continue;
        ValId v[IR_MOST_VECTOR];
        bool fixed = false;
        for (unsigned m = 0, n = ra_values(f, *o, v); m < n; m++)
            fixed |= v[m].i && f->values.at[v[m].i].fixed_reg >= 0;
        if (o->count == 1 && !fixed)
            continue;
        Tuple t = ra_tuple_of(colour, *o);
        Operand tied = i->flags & IF_TIED ? *ir_tied(f, i, AT(o)) : (Operand){0};
        if (tied.kind == OPK_VAL && (o->count > 1 || fixed)) {
            Tuple old = ra_tuple_of(colour, tied);
            old.before = old.after = true;
            memcpy(old.result, t.value, sizeof old.result);
            for (unsigned m = 0; m < o->count && fixed; m++)
                if (t.value[m] && f->values.at[t.value[m]].fixed_reg >= 0)
                    old.forced = f->values.at[t.value[m]].fixed_reg - (int)m;
            add_tuple(colour, old);
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
            if (!o || ra_dies(colour, o))
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
bool ra_make_room(Colour *colour, const Inst *i, InstIds *out) {
    colour->moved.n = colour->homeless.n = 0;
    collect_tuples(colour, i);
    if (!colour->tuples.n && i->op != OT_CALL)
        return true;
    memset(colour->taken, 0, sizeof colour->taken);
    if (i->op == OT_CALL && !mark_clobbers(colour, i))
        return false;
    unsigned most = 0;
    for (unsigned k = 0; k < colour->tuples.n; k++)
        most = colour->tuples.at[k].count > most ? colour->tuples.at[k].count : most;
    for (unsigned forced = 2; forced-- > 0;)
        for (unsigned size = most; size > 0; size--)
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
