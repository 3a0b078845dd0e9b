/* Register assignment by one scan of the SSA form in reverse postorder. A value sits in one register at any
 * time, but may be moved: where an instruction's constraints (vectors, fixed registers, a call's clobbers)
 * meet values in the way, a parallel copy before the instruction makes room; on edges a parallel copy brings
 * every live value and every phi operand to where the successor expects it. In: pressure fits (ra_spill).
 * Out: operands are physical; what the SSA form said is kept in the record for ra_check.
 * SPDX-License-Identifier: MIT */
#include "regalloc/colour.h"
#include <string.h>

enum { FREE_REGS = 29 };

/* ---- the register map ---- */

static void put(Colour *c, uint32_t v, unsigned reg) {
    RegFile file = (RegFile)c->f->values.at[v].file;
    c->occupant[file][reg] = v;
    c->used[file][reg / 64] |= (uint64_t)1 << reg % 64;
    c->reg[v] = (uint16_t)reg;
    c->web_reg[ra_web(c, v)] = (uint16_t)reg;
}

static void lift(Colour *c, uint32_t v) {
    unsigned file = c->f->values.at[v].file, reg = c->reg[v];
    c->freed_at[file][reg] = ++c->clock;
    c->occupant[file][reg] = 0;
    c->used[file][reg / 64] &= ~((uint64_t)1 << reg % 64);
    c->reg[v] = RA_NO_REG;
}

/* Value v was in its register up to and with instruction `to` (0: the block's end). */
static void note_row(Colour *c, uint32_t v, uint32_t to) {
    const Value *val = &c->f->values.at[v];
    if (!val->ptx_reg || c->start[v] == RA_UNKNOWN)
        return;
    *VEC_PUSH(c->f->arena, &c->f->var_rows) =
        (IrVarRow){val->ptx_reg, val->component, val->file, c->reg[v], c->block, {c->start[v]}, {to}};
}

/* First register in use, from `reg` on; RA_MAX_REGS if there is none. */
static unsigned next_used(const Colour *c, unsigned file, unsigned reg) {
    for (unsigned w = reg / 64; w < RA_MAX_REGS / 64; w++) {
        uint64_t m = c->used[file][w] & (w == reg / 64 ? ~(uint64_t)0 << reg % 64 : ~(uint64_t)0);
        if (m)
            return w * 64 + (unsigned)__builtin_ctzll(m);
    }
    return RA_MAX_REGS;
}
#define USED_EACH(r, c, file)                                                                                \
    for (unsigned r = next_used(c, file, 0); r < RA_MAX_REGS; r = next_used(c, file, r + 1))

static bool is_free(const Colour *c, RegFile file, unsigned reg) {
    return ra_is_allocatable(file, reg, c->limit[file]) && !c->occupant[file][reg];
}

/* Would a call that v lives through overwrite the register? */
static bool is_safe(const Colour *c, uint32_t v, unsigned reg) {
    return !c->crosses[v] || !ra_clobbers(ra_callee(c->f, ir_inst(c->f, (InstId){c->crosses[v]})),
                                          (RegFile)c->f->values.at[v].file, reg);
}

/* How well a free register suits: whole aligned groups are kept for vectors, registers not in use yet for
 * later. */
static unsigned last_welcome(const Colour *c, RegFile file) {
    return file == RF_R && c->spread > c->high_water[file] ? c->spread : c->high_water[file];
}
static unsigned hole_score(const Colour *c, RegFile file, unsigned r) {
    unsigned quad = r & ~3u;
    if (r > last_welcome(c, file))
        return 1;
    if (file != RF_R && file != RF_UR)
        return 2;
    if (!is_free(c, file, r ^ 1))
        return 4;
    return !is_free(c, file, quad) || !is_free(c, file, quad + 2) ? 3 : 2;
}

/* A free register; among equals the one that was released first, which leaves scheduling most freedom. */
static unsigned best_hole(const Colour *c, uint32_t v) {
    RegFile file = (RegFile)c->f->values.at[v].file;
    unsigned best = RA_NO_REG, best_score = 0, top = last_welcome(c, file);
    for (unsigned r = 0; r < c->limit[file]; r++) {
        if (!is_free(c, file, r))
            continue;
        if (r > top && best_score >= 9)
            break; /* none behind is better */
        unsigned score = hole_score(c, file, r) + (is_safe(c, v, r) ? 8 : 0);
        if (best == RA_NO_REG || score > best_score ||
            (score == best_score && score % 8 > 1 && c->freed_at[file][r] < c->freed_at[file][best])) {
            best = r;
            best_score = score;
        }
    }
    return best;
}

/* Where a member of a vector is, or is likely to be. */
static unsigned member_reg(const Colour *c, uint32_t m) {
    return c->reg[m] != RA_NO_REG ? c->reg[m] : c->web_reg[ra_web(c, m)];
}

/* Where value v should go so that its next vector use finds it in place; RA_NO_REG if there is no wish. */
static unsigned vector_wish(const Colour *c, uint32_t v) {
    VecUse u = c->vec[v];
    RegFile file = (RegFile)c->f->values.at[v].file;
    unsigned align = ra_align(u.count);
    for (unsigned k = 0; k < u.count; k++) { /* beside a member that has its place */
        uint32_t m = c->f->vectors.at[u.first + k];
        if (k == u.component || !m)
            continue;
        unsigned at = member_reg(c, m);
        if (at == RA_NO_REG || at < k || (at - k) % align)
            continue;
        unsigned r = at - k + u.component;
        if (is_free(c, file, r) && is_safe(c, v, r))
            return r;
    }
    unsigned top = (c->high_water[file] / 4 + 2) * 4, best = RA_NO_REG;
    for (unsigned base = 0; base + u.count <= c->limit[file] && base <= top; base += align) {
        unsigned k = 0;
        while (k < u.count && is_free(c, file, base + k))
            k++;
        if (k < u.count || !is_safe(c, v, base + u.component))
            continue;
        if (best == RA_NO_REG || (base <= c->spread && c->freed_at[file][base] < c->freed_at[file][best]))
            best = base + u.component;
    }
    return best;
}

static unsigned choose(const Colour *c, uint32_t v) {
    const Value *val = &c->f->values.at[v];
    RegFile file = (RegFile)val->file;
    VecUse u = c->vec[v];
    if (val->fixed_reg >= 0)
        return (unsigned)val->fixed_reg;
    unsigned r = c->web_reg[ra_web(c, v)];
    bool aligned = r != RA_NO_REG && (!u.count || r % ra_align(u.count) == u.component);
    if (r != RA_NO_REG && aligned && is_free(c, file, r) && is_safe(c, v, r))
        return r;
    unsigned wish = u.count ? vector_wish(c, v) : RA_NO_REG;
    if (wish != RA_NO_REG)
        return wish;
    if (r != RA_NO_REG && is_free(c, file, r) && is_safe(c, v, r))
        return r;
    return best_hole(c, v);
}

static bool place_value(Colour *c, uint32_t v, const Inst *i) {
    RegFile file = (RegFile)c->f->values.at[v].file;
    unsigned r = choose(c, v);
    if (r == RA_NO_REG)
        return diag(c->d, ra_src_loc(c->f, i), DIAG_E0780, str_text(c->f->module->strings, c->f->name),
                    ra_file_name(file), c->limit[file]);
    if (c->occupant[file][r] || !ra_is_allocatable(file, r, RA_MAX_REGS))
        return diag(c->d, ra_src_loc(c->f, i), DIAG_E0782, str_text(c->f->module->strings, c->f->name),
                    ra_file_name(file), r);
    put(c, v, r);
    if (r > c->high_water[file])
        c->high_water[file] = r;
    return true;
}

/* ---- making room before an instruction ---- */

enum { TAKEN_BEFORE = 1, TAKEN_AFTER = 2, CLOBBERED = 4 };

/* Remember where a value was before this instruction's moves, and take it out. */
static void uproot(Colour *c, uint32_t v) {
    bool known = false;
    for (unsigned k = 0; k < c->moved.n; k++)
        known |= c->moved.at[k].value == v;
    if (!known)
        VEC_ADD(c->a, &c->moved, ((RaPlace){v, c->reg[v], c->f->values.at[v].file}));
    if (c->last_ref[v])
        note_row(c, v, c->last_ref[v]);
    c->start[v] = RA_UNKNOWN; /* scheduling may move the copy */
    lift(c, v);
}

static bool dies(const Colour *c, uint32_t v) { return bs_has(&c->dying, v); }

static bool is_member(const Tuple *t, uint32_t v) {
    for (unsigned k = 0; k < t->count; k++)
        if (t->value[k] == v)
            return true;
    return false;
}

/* Moves needed to have `t` at `base`, or UINT32_MAX. */
static unsigned tuple_cost(const Colour *c, const Tuple *t, unsigned base) {
    unsigned cost = 0;
    for (unsigned k = 0; k < t->count; k++) {
        unsigned r = base + k, taken = c->taken[t->file][r];
        uint32_t o = c->occupant[t->file][r], v = t->value[k];
        if (!ra_is_allocatable(t->file, r, c->limit[t->file]))
            return UINT32_MAX;
        bool here = t->before && v && o == v;
        if ((t->before && (taken & TAKEN_BEFORE)) || (t->after && (taken & TAKEN_AFTER)))
            return UINT32_MAX;
        if (t->before && v && !dies(c, v) && (taken & (TAKEN_AFTER | CLOBBERED)))
            return UINT32_MAX;
        bool in_way = o && !here && (t->before || !dies(c, o));
        if (in_way && c->f->values.at[o].fixed_reg >= 0)
            return UINT32_MAX;
        cost += (in_way ? 4u : 0u) + (t->before && v && !here ? 4u : 0u);
        unsigned wish = v ? c->web_reg[ra_web(c, v)] : RA_NO_REG;
        cost += v && wish != RA_NO_REG && wish != r;
        cost += t->result[k] && !is_safe(c, t->result[k], r) ? 4u : 0u; /* moved away before a call */
    }
    return cost + (base + t->count > c->high_water[t->file] + 1 ? 2 : 0);
}

static bool place_tuple(Colour *c, Tuple *t, const Inst *i) {
    unsigned best = RA_NO_REG, best_cost = UINT32_MAX;
    if (t->forced >= 0) {
        best = (unsigned)t->forced;
        best_cost = tuple_cost(c, t, best);
    }
    for (unsigned b = 0; t->forced < 0 && b + t->count <= c->limit[t->file]; b += ra_align(t->count)) {
        unsigned cost = tuple_cost(c, t, b);
        if (cost < best_cost) {
            best = b;
            best_cost = cost;
            if (!cost)
                break;
        }
    }
    if (best_cost == UINT32_MAX && t->forced >= 0)
        return diag(c->d, ra_src_loc(c->f, i), DIAG_E0782, str_text(c->f->module->strings, c->f->name),
                    ra_file_name(t->file), t->forced);
    if (best_cost == UINT32_MAX)
        return diag(c->d, ra_src_loc(c->f, i), DIAG_E0781, str_text(c->f->module->strings, c->f->name),
                    t->count, ra_file_name(t->file), c->limit[t->file]);
    t->base = best;
    if (best + t->count - 1 > c->high_water[t->file])
        c->high_water[t->file] = best + t->count - 1;
    for (unsigned k = 0; k < t->count; k++) {
        uint32_t o = c->occupant[t->file][best + k], v = t->value[k];
        if (o && !(t->before && o == v) && (t->before || !dies(c, o))) {
            uproot(c, o);
            if (!(t->before && is_member(t, o)))
                VEC_ADD(c->a, &c->homeless, o);
        }
    }
    for (unsigned k = 0; k < t->count; k++) {
        uint32_t v = t->value[k];
        if (t->before && v && c->occupant[t->file][best + k] != v) {
            bool was_homeless = false;
            for (unsigned h = 0; h < c->homeless.n; h++)
                if (c->homeless.at[h] == v) {
                    c->homeless.at[h] = c->homeless.at[--c->homeless.n];
                    was_homeless = true;
                    break;
                }
            if (!was_homeless && c->reg[v] != RA_NO_REG)
                uproot(c, v);
            put(c, v, best + k);
        }
        unsigned taken = (t->before && v ? TAKEN_BEFORE : 0u) | (t->after ? TAKEN_AFTER : 0u);
        if (t->before && v && !dies(c, v))
            taken |= TAKEN_AFTER;
        c->taken[t->file][best + k] |= (uint8_t)taken;
    }
    return true;
}

static bool settle_homeless(Colour *c, const Inst *i) {
    for (unsigned h = 0; h < c->homeless.n; h++) {
        uint32_t v = c->homeless.at[h];
        RegFile file = (RegFile)c->f->values.at[v].file;
        unsigned bad = dies(c, v) ? TAKEN_BEFORE : TAKEN_BEFORE | TAKEN_AFTER | CLOBBERED;
        unsigned best = RA_NO_REG;
        for (unsigned r = 0; r < c->limit[file] && best == RA_NO_REG; r++)
            if (is_free(c, file, r) && !(c->taken[file][r] & bad))
                best = r;
        if (best == RA_NO_REG)
            return diag(c->d, ra_src_loc(c->f, i), DIAG_E0780, str_text(c->f->module->strings, c->f->name),
                        ra_file_name(file), c->limit[file]);
        put(c, v, best);
        if (best > c->high_water[file])
            c->high_water[file] = best;
    }
    return true;
}

/* Registers that the parallel copy may use to break cycles: free before it and behind it. */
static uint32_t scratch(const Colour *c) {
    uint32_t mods = 0;
    for (unsigned s = 0; s < 2; s++) {
        RegFile file = s ? RF_P : RF_R;
        for (unsigned r = 0; r < c->limit[file]; r++) {
            bool old = false;
            for (unsigned k = 0; k < c->moved.n; k++)
                old |= c->moved.at[k].file == file && c->moved.at[k].reg == r;
            if (is_free(c, file, r) && !old) {
                mods |= (r + 1) << (16 * s);
                break;
            }
        }
    }
    return mods;
}

static void emit_moves(Colour *c, const Inst *before, RaInsts *out) {
    Function *f = c->f;
    LocId loc = before->loc;
    unsigned n = 0;
    for (unsigned k = 0; k < c->moved.n; k++)
        n += c->reg[c->moved.at[k].value] != c->moved.at[k].reg;
    if (!n)
        return;
    InstId id = ir_inst_new(f, IR_PARCOPY, n, n);
    Inst *i = ir_inst(f, id);
    i->loc = loc;
    i->mods = scratch(c);
    n = 0;
    for (unsigned k = 0; k < c->moved.n; k++) {
        RaPlace m = c->moved.at[k];
        if (c->reg[m.value] == m.reg)
            continue;
        *ir_dst(f, i, n) = op_reg((RegFile)m.file, c->reg[m.value], 1);
        *ir_src(f, i, n++) = op_reg((RegFile)m.file, m.reg, 1);
    }
    VEC_ADD(f->arena, out, id);
}

static void add_tuple(Colour *c, Tuple t) {
    for (unsigned k = 0; k < c->tuples.n && t.before; k++) { /* the same vector twice needs one place */
        Tuple *o = &c->tuples.at[k];
        if (o->before && o->count == t.count && memcmp(o->value, t.value, sizeof t.value) == 0) {
            o->after |= t.after;
            return;
        }
    }
    for (unsigned k = 0; k < t.count; k++)
        if (t.value[k] && c->f->values.at[t.value[k]].fixed_reg >= 0)
            t.forced = c->f->values.at[t.value[k]].fixed_reg - (int)k;
    VEC_ADD(c->a, &c->tuples, t);
}

static Tuple tuple_of(const Colour *c, Operand o) {
    Tuple t = {.count = o.count, .file = (RegFile)o.file, .forced = -1};
    ValId v[4];
    for (unsigned k = 0, n = ra_values(c->f, o, v); k < n; k++)
        t.value[k] = v[k].i;
    return t;
}

static void collect_tuples(Colour *c, const Inst *i) {
    Function *f = c->f;
    c->tuples.n = 0;
    bool moves = i->op == IR_COPY || i->op == IR_PARCOPY;
    for (unsigned k = 0; k < i->nsrc && !moves; k++) {
        Operand o = *ir_src(f, i, k);
        if (o.kind == OPK_VAL && o.count > 1) {
            Tuple t = tuple_of(c, o);
            t.before = true;
            add_tuple(c, t);
        }
    }
    for (unsigned k = 0; k < i->ndst; k++) {
        Operand o = *ir_dst(f, i, k);
        if (o.kind != OPK_VAL)
            continue;
        Tuple t = tuple_of(c, o);
        bool fixed = false;
        for (unsigned m = 0; m < o.count; m++)
            fixed |= t.value[m] && f->values.at[t.value[m]].fixed_reg >= 0;
        Operand tied = i->flags & IF_TIED ? *ir_tied(f, i, k) : (Operand){0};
        if (tied.kind == OPK_VAL && (o.count > 1 || fixed)) {
            Tuple old = tuple_of(c, tied);
            old.before = old.after = true;
            memcpy(old.result, t.value, sizeof old.result);
            for (unsigned m = 0; m < o.count && fixed; m++)
                if (t.value[m] && f->values.at[t.value[m]].fixed_reg >= 0)
                    old.forced = f->values.at[t.value[m]].fixed_reg - (int)m;
            VEC_ADD(c->a, &c->tuples, old);
        } else if ((o.count > 1 && !moves) || fixed) {
            t.after = true;
            memcpy(t.result, t.value, sizeof t.result);
            add_tuple(c, t);
        }
    }
}

static bool mark_clobbers(Colour *c, const Inst *i) {
    RaCallee callee = ra_callee(c->f, i);
    for (unsigned k = 0; k < RF_B; k++)
        for (unsigned r = 0; r < c->limit[k]; r++) {
            if (!ra_clobbers(callee, (RegFile)k, r))
                continue;
            c->taken[k][r] |= CLOBBERED;
            uint32_t o = c->occupant[k][r];
            if (!o || dies(c, o))
                continue;
            if (c->f->values.at[o].fixed_reg >= 0)
                return diag(c->d, ra_src_loc(c->f, i), DIAG_E0782,
                            str_text(c->f->module->strings, c->f->name), ra_file_name((RegFile)k), r);
            uproot(c, o);
            VEC_ADD(c->a, &c->homeless, o);
        }
    return true;
}

/* Bring everything to where instruction i needs it. */
static bool make_room(Colour *c, const Inst *i, RaInsts *out) {
    c->moved.n = c->homeless.n = 0;
    collect_tuples(c, i);
    if (!c->tuples.n && i->op != OT_CALL)
        return true;
    memset(c->taken, 0, sizeof c->taken);
    if (i->op == OT_CALL && !mark_clobbers(c, i))
        return false;
    for (unsigned forced = 2; forced-- > 0;)
        for (unsigned size = 5; size-- > 1;)
            for (unsigned k = 0; k < c->tuples.n; k++)
                if (c->tuples.at[k].count == size && (c->tuples.at[k].forced >= 0) == (forced == 1) &&
                    !place_tuple(c, &c->tuples.at[k], i))
                    return false;
    if (!settle_homeless(c, i))
        return false;
    emit_moves(c, i, out);
    return true;
}

/* ---- one instruction ---- */

static void make_physical(Colour *c, Operand *o) {
    if (o->kind != OPK_VAL)
        return;
    uint32_t v = 0, k = 0;
    while (k < o->count && !(v = ir_operand_value(c->f, *o, k).i))
        k++;
    if (!v) {
        *o = (Operand){0};
        return;
    }
    uint8_t mods = o->mods;
    *o = op_reg((RegFile)o->file, (uint32_t)(c->reg[v] - k), o->count);
    o->mods = mods;
}

static void release_dying(Colour *c, const uint32_t *v, unsigned n, InstId at) {
    for (unsigned k = 0; k < n; k++)
        if (c->reg[v[k]] != RA_NO_REG) {
            if (at.i)
                note_row(c, v[k], at.i);
            lift(c, v[k]);
        }
}

/* Remember for the variable map who reads and makes values. `copy_of`: start of the value that a vanishing
 * copy renames, or RA_UNKNOWN. */
static void note_reads(Colour *c, InstId id) {
    Inst *i = ir_inst(c->f, id);
    ValId v[4];
    for (unsigned n = 0; n < ra_num_reads(i); n++)
        for (unsigned k = 0, m = ra_values(c->f, *ra_read(c->f, i, n), v); k < m; k++)
            c->last_ref[v[k].i] = id.i;
}

static void note_results(Colour *c, InstId id, uint32_t copy_of) {
    Inst *i = ir_inst(c->f, id);
    ValId v[4];
    for (unsigned n = 0; n < i->ndst; n++)
        for (unsigned k = 0, m = ra_values(c->f, *ir_dst(c->f, i, n), v); k < m; k++) {
            c->last_ref[v[k].i] = id.i;
            c->start[v[k].i] = copy_of != RA_UNKNOWN                     ? copy_of
                               : ir_is_pseudo(i->op) && i->op != IR_COPY ? RA_UNKNOWN
                                                                         : id.i;
        }
}

static bool place_results(Colour *c, Inst *i, const uint16_t *tied_reg) {
    Function *f = c->f;
    for (unsigned pass = 0; pass < 2; pass++) /* those with a place first */
        for (unsigned k = 0; k < i->ndst; k++) {
            Operand o = *ir_dst(f, i, k);
            if (o.kind != OPK_VAL)
                continue;
            Tuple t = tuple_of(c, o);
            unsigned base = tied_reg[k];
            for (unsigned m = 0; m < c->tuples.n && base == RA_NO_REG; m++)
                if (c->tuples.at[m].after && !c->tuples.at[m].before && c->tuples.at[m].count == o.count &&
                    memcmp(c->tuples.at[m].value, t.value, sizeof t.value) == 0)
                    base = c->tuples.at[m].base;
            if ((base != RA_NO_REG) != (pass == 0))
                continue;
            for (unsigned m = 0; m < o.count; m++) {
                uint32_t v = t.value[m];
                if (!v)
                    continue;
                if (base != RA_NO_REG)
                    put(c, v, base + m);
                else if (!place_value(c, v, i))
                    return false;
            }
        }
    return true;
}

/* A dead instruction without effect: what spilling left of a definition that is now repeated at each use. */
static bool is_needless(const Colour *c, const Inst *i) {
    if (i->op != OT_MOV && i->op != OT_UMOV && i->op != OT_S2R && i->op != IR_COPY && i->op != IR_UNDEF &&
        i->op != IR_RELOAD && i->op != IR_FRAME_ADDR)
        return false;
    for (unsigned k = 0; k < i->ndst; k++) {
        ValId v[4];
        for (unsigned m = 0, n = ra_values(c->f, *ir_dst(c->f, i, k), v); m < n; m++)
            if (v[m].i && !bs_has(&c->dead, v[m].i))
                return false;
    }
    return true;
}

static bool colour_inst(Colour *c, InstId id, const Kills *dying, const Kills *dead, RaInsts *out) {
    Function *f = c->f;
    if (is_needless(c, ir_inst(f, id))) {
        release_dying(c, dying->at, dying->n, (InstId){0});
        return true;
    }
    if (!make_room(c, ir_inst(f, id), out))
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
                tied_reg[k] = (uint16_t)(c->reg[v[m].i] - m);
        if (copy) { /* the same register if the source ends here and the result is free to choose */
            int fixed = ir_value(f, ir_operand_value(f, *ir_dst(f, i, 0), 0))->fixed_reg;
            if (!dies(c, v[0].i) || fixed >= 0)
                tied_reg[k] = RA_NO_REG;
        }
    }
    note_reads(c, id);
    uint32_t renames = copy && tied_reg[0] != RA_NO_REG ? c->start[ir_src(f, i, 0)->value] : RA_UNKNOWN;
    for (unsigned n = 0; n < ra_num_reads(i); n++)
        make_physical(c, ra_read(f, i, n));
    release_dying(c, dying->at, dying->n, id);
    if (!place_results(c, i, tied_reg))
        return false;
    note_results(c, id, renames);
    for (unsigned k = 0; k < i->ndst; k++)
        make_physical(c, ir_dst(f, i, k));
    release_dying(c, dead->at, dead->n, (InstId){0});
    VEC_ADD(f->arena, out, id);
    return true;
}

/* ---- one block ---- */

/* For each position: values whose last use is there, and results that nobody uses. */
static void find_kills(Colour *c, BlockId b) {
    Function *f = c->f;
    const Block *blk = ir_block(f, b);
    Bitset *live = &c->scratch_live;
    ra_set_to_bits(&c->live.out[b.i], live);
    c->dying_at = ARENA_ARRAY(c->block_arena, Kills, blk->insts.n + 1);
    c->dead_at = ARENA_ARRAY(c->block_arena, Kills, blk->insts.n + 1);
    for (unsigned p = blk->insts.n; p-- > 0;) {
        Inst *i = ir_inst(f, blk->insts.at[p]);
        ValId v[4];
        for (unsigned k = 0; k < i->ndst; k++)
            for (unsigned m = 0, n = ra_values(f, *ir_dst(f, i, k), v); m < n; m++)
                if (v[m].i && !bs_has(live, v[m].i))
                    VEC_ADD(c->block_arena, &c->dead_at[p], v[m].i);
        for (unsigned k = 0; k < i->ndst; k++)
            for (unsigned m = 0, n = ra_values(f, *ir_dst(f, i, k), v); m < n; m++)
                if (v[m].i)
                    bs_del(live, v[m].i);
        for (unsigned k = 0; i->op != IR_PHI && k < ra_num_reads(i); k++)
            for (unsigned m = 0, n = ra_values(f, *ra_read(f, i, k), v); m < n; m++)
                if (v[m].i && !bs_has(live, v[m].i)) {
                    bs_add(live, v[m].i);
                    VEC_ADD(c->block_arena, &c->dying_at[p], v[m].i);
                }
    }
}

/* The predecessor whose map the block starts from: the one in the deepest loop. */
static BlockId map_source(const Colour *c, const Block *blk) {
    BlockId best = {0};
    for (unsigned p = 0; p < blk->preds.n; p++) {
        BlockId q = blk->preds.at[p];
        if (c->done[q.i] && (!best.i || c->g.depth[q.i] > c->g.depth[best.i]))
            best = q;
    }
    return best;
}

static bool place_phi(Colour *c, BlockId b, InstId id) {
    Function *f = c->f;
    const Block *blk = ir_block(f, b);
    const Inst *i = ir_inst(f, id);
    uint32_t v = ir_operand_value(f, *ir_dst(f, i, 0), 0).i;
    RegFile file = (RegFile)f->values.at[v].file;
    unsigned wish = choose(c, v);
    if (c->web_reg[ra_web(c, v)] == RA_NO_REG && !c->vec[v].count)
        wish = RA_NO_REG; /* nothing known: as on one of the edges */
    for (unsigned p = 0; p < blk->preds.n && (wish == RA_NO_REG || !is_free(c, file, wish)); p++)
        if (c->done[blk->preds.at[p].i] && ir_src(f, i, p)->kind == OPK_VAL)
            wish = ra_exit_reg(c, blk->preds.at[p], ir_src(f, i, p)->value);
    if (wish != RA_NO_REG && is_free(c, file, wish))
        put(c, v, wish);
    else if (!place_value(c, v, i))
        return false;
    VEC_ADD(c->a, &c->rec->phis, ((RaPhi){b, id, false, 0}));
    return true;
}

static bool enter_block(Colour *c, BlockId b) {
    Function *f = c->f;
    Block *blk = ir_block(f, b);
    for (unsigned k = 0; k < RF_COUNT; k++)
        USED_EACH(r, c, k) c->occupant[k][r] = 0;
    memset(c->used, 0, sizeof c->used);
    c->block = b;
    BlockId from = map_source(c, blk);
    if (from.i)
        for (unsigned k = 0; k < c->exit[from.i].at.n; k++) {
            RaPlace e = c->exit[from.i].at.at[k];
            if (ra_set_has(&c->live.in[b.i], e.value))
                put(c, e.value, e.reg);
        }
    for (unsigned p = 0; p < blk->insts.n && ir_inst(f, blk->insts.at[p])->op == IR_PHI; p++)
        if (!place_phi(c, b, blk->insts.at[p]))
            return false;
    for (unsigned k = 0; k < RF_COUNT; k++)
        USED_EACH(r, c, k) {
            VEC_ADD(c->a, &c->rec->entry[b.i].at, ((RaPlace){c->occupant[k][r], (uint16_t)r, (uint8_t)k}));
            c->start[c->occupant[k][r]] = c->last_ref[c->occupant[k][r]] = 0;
        }
    return true;
}

static void leave_block(Colour *c, BlockId b) {
    for (unsigned k = 0; k < RF_COUNT; k++)
        USED_EACH(r, c, k) {
            uint32_t v = c->occupant[k][r];
            VEC_ADD(c->a, &c->exit[b.i].at, ((RaPlace){v, (uint16_t)r, (uint8_t)k}));
            note_row(c, v, 0);
            c->reg[v] = RA_NO_REG;
        }
    c->done[b.i] = true;
}

static bool colour_block(Colour *c, BlockId b) {
    Function *f = c->f;
    Arena scratch_arena = {0};
    c->block_arena = &scratch_arena;
    find_kills(c, b);
    bool ok = enter_block(c, b);
    RaInsts out = {0};
    unsigned n = ir_block(f, b)->insts.n;
    for (unsigned p = 0; ok && p < n; p++) {
        InstId id = ir_block(f, b)->insts.at[p];
        const Kills *dying = &c->dying_at[p], *dead = &c->dead_at[p];
        if (ir_inst(f, id)->op == IR_PHI) {
            release_dying(c, dead->at, dead->n, (InstId){0});
            continue;
        }
        for (unsigned k = 0; k < dying->n; k++)
            bs_add(&c->dying, dying->at[k]);
        for (unsigned k = 0; k < dead->n; k++)
            bs_add(&c->dead, dead->at[k]);
        ok = colour_inst(c, id, dying, dead, &out);
        for (unsigned k = 0; k < dying->n; k++)
            bs_del(&c->dying, dying->at[k]);
        for (unsigned k = 0; k < dead->n; k++)
            bs_del(&c->dead, dead->at[k]);
    }
    memcpy(&ir_block(f, b)->insts, &out, sizeof out);
    leave_block(c, b);
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

bool ra_colour(Function *f, Arena *a, RaRecord *rec, Diags *d) {
    Colour *c = ARENA_NEW(a, Colour);
    c->f = f;
    c->a = a;
    c->d = d;
    c->rec = rec;
    if (!rec->analysed) {
        ra_cfg(f, a, &rec->g);
        ra_live(f, &rec->g, a, &rec->live);
    }
    c->g = rec->g;
    c->live = rec->live;
    for (unsigned k = 0; k < RF_COUNT; k++)
        c->limit[k] = ra_limit(f, (RegFile)k);
    if (f->is_entry && f->module->opt_level >= 2)
        c->spread = FREE_REGS; /* up to here the register count costs no occupancy */
    c->reg = ARENA_ARRAY(a, uint16_t, f->values.n);
    for (uint32_t v = 0; v < f->values.n; v++)
        c->reg[v] = RA_NO_REG;
    c->start = ARENA_ARRAY(a, uint32_t, f->values.n);
    c->last_ref = ARENA_ARRAY(a, uint32_t, f->values.n);
    c->exit = ARENA_ARRAY(a, RaPlaces, f->blocks.n);
    c->done = ARENA_ARRAY(a, bool, f->blocks.n);
    c->dying = bs_new(a, f->values.n);
    c->dead = bs_new(a, f->values.n);
    c->scratch_live = bs_new(a, f->values.n);
    c->first_phi = ARENA_ARRAY(a, uint32_t, f->blocks.n);
    c->first_row = ARENA_ARRAY(a, uint32_t, f->blocks.n);
    ra_hints(c);
    keep_record(f, a, rec);
    for (uint32_t k = 0; k < c->g.nrpo; k++) {
        c->first_phi[c->g.rpo[k].i] = rec->phis.n;
        c->first_row[c->g.rpo[k].i] = f->var_rows.n;
        if (!colour_block(c, c->g.rpo[k]))
            return false;
    }
    if (!ra_connect_edges(c))
        return false;
    f->is_ssa = false;
    f->is_physical = true;
    return true;
}
