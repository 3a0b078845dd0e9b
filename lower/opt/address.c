/* Addresses of shared and local memory, which have 32 bits, are made by what accesses it, where all uses of
 * an address are such accesses:
 *   x + 8; 8                     [x + 8]; [8]
 *   x << 2, x * 4 + 256          [x.X4], [x.X4 + 256], in shared memory alone
 *   x * 4 + y, where y is z + 8  x * 4 + z at [... + 8]: one product for all arrays of a frame
 * and a product of 64 bits whose high word nobody wants, as of such an address, is IMAD. In: SSA, after dce:
 * what is counted here is used. Out: what has become unused is gone. It asks by name for the operations that
 * addresses are made of, and for those with a factor: what a sum is of is no column of the rows.
 * SPDX-License-Identifier: MIT */
#include "lower/opt/opt.h"
#include "lower/passes.h"

enum {
    ROUNDS = 3, /* an offset, a product's, a factor of 4 */
    NEAR = 64   /* products among which equal ones are looked for */
};

typedef struct { /* operations that multiply their address by 4, 8 or 16; the modifier for 4 */
    unsigned op;
    uint32_t by4;
} Scaled;

static const Scaled with_factor[] = {{OT_LDS, MSET(LDS, stride, Stride_X4)},
                                     {OT_STS, MSET(STS, stride, Stride_X4)},
                                     {OT_ATOMS, MSET(ATOMS, stride, Stride_X4)},
                                     {OT_ATOMS_CAS, MSET(ATOMS_CAS, stride, Stride_X4)}};

typedef struct {
    Function *f;
    Arena a;
    uint32_t *uses;      /* [value] */
    uint32_t *addresses; /* [value] of these, as addresses of 32 bits */
    uint32_t *repl;      /* [value] copies */
    bool *gone;          /* [value] nobody uses it: its instruction uses nothing */
    VEC(uint32_t) released;
    bool changed;
} Addresses;

typedef struct { /* base * 2^shift + offset */
    Operand base;
    uint32_t offset;
    unsigned shift;
} Place;

static bool is_scalar(const Addresses *s, Operand o) {
    return opt_scalar(o) && o.file == RF_R && !o.mods && s->f->values.at[o.value].fixed_reg < 0;
}

static bool is_none(Operand o) {
    return o.kind == OPK_NONE || (o.kind == OPK_IMM && !o.value) ||
           (o.kind == OPK_REG && o.file == RF_R && o.value == REG_RZ);
}

static const Scaled *scales(const Inst *i) {
    for (unsigned k = 0; k < sizeof with_factor / sizeof with_factor[0]; k++)
        if (with_factor[k].op == i->op)
            return &with_factor[k];
    return NULL;
}

/* Where an access of shared or local memory, and nothing that does more, has its address. */
static Operand *address_of(const Function *f, const Inst *i) {
    if (ir_is_pseudo(i->op))
        return NULL;
    const OpTraits *traits = isa_traits(i->op);
    bool plain = !(traits->effects & ~(uint32_t)(ISA_EFFECT_READ | ISA_EFFECT_WRITE));
    if ((traits->space != ISA_SPACE_SHARED && traits->space != ISA_SPACE_LOCAL) || !(plain || scales(i)) ||
        traits->address[0] == ISA_NO_SLOT || traits->address[2] == ISA_NO_SLOT)
        return NULL;
    return ir_src(f, i, traits->address[0]);
}

/* Says whether there are such addresses. */
static bool count_addresses(Addresses *s) {
    bool any = false;
    FOR_BLOCKS(s->f, b)
        FOR_INSTS(s->f, b, i) {
            const Operand *ra = address_of(s->f, i);
            s->uses[opt_scalar(i->guard)]++;
            FOR_USES(s->f, i, o)
                for (unsigned c = 0; o->kind == OPK_VAL && c < o->count; c++)
                    s->uses[ir_operand_value(s->f, *o, c).i]++;
            if (ra && is_scalar(s, *ra)) {
                s->addresses[ra->value]++;
                any = true;
            }
        }
    return any;
}

/* Has it one result, and that always? */
static bool is_computed(const Function *f, const Inst *i) {
    for (unsigned k = 1; k < i->ndst; k++)
        if (ir_dst(f, i, k)->kind != OPK_NONE)
            return false;
    return !ir_is_pseudo(i->op) && op_is_always(i->guard) && !(i->flags & IF_TIED);
}

/* One value and a number. */
static bool sum_of(const Addresses *s, const Inst *i, Place *out) {
    *out = (Place){op_rz(), 0, 0};
    for (unsigned k = 0; k < 3 && !i->mods; k++) {
        Operand term = *ir_src(s->f, i, IADD3_ra + k);
        if (is_none(term))
            continue;
        if (term.kind == OPK_IMM)
            out->offset += term.mods & OPM_NEG ? 0u - term.value : term.value;
        else if (!is_scalar(s, term) || !is_none(out->base))
            return false;
        else
            out->base = term;
    }
    return is_computed(s->f, i) && !is_none(out->base);
}

/* What o is, if an access can compute it. */
static bool sum_behind(const Addresses *s, Operand o, Place *out) {
    Function *f = s->f;
    if (!is_scalar(s, o) || s->addresses[o.value] != s->uses[o.value] || !f->values.at[o.value].def.i)
        return false;
    const Inst *i = ir_inst(f, f->values.at[o.value].def);
    Operand by, x;
    if (i->op == OT_IADD3)
        return sum_of(s, i, out);
    *out = (Place){op_rz(), 0, 0};
    if (!is_computed(f, i))
        return false;
    if (i->op == OT_MOV) {
        out->offset = ir_src(f, i, MOV_rb)->value;
        return ir_src(f, i, MOV_rb)->kind == OPK_IMM;
    }
    if (i->op == OT_SHF) {
        by = *ir_src(f, i, SHF_rb), x = *ir_src(f, i, SHF_ra);
        if (i->mods != (MSET(SHF, type, ShfType_U32) | MSET(SHF, dir, ShfDir_L)) ||
            !is_none(*ir_src(f, i, SHF_rc)))
            return false;
    } else if (i->op == OT_LEA && !i->mods && ir_src(f, i, LEA_rb)->kind == OPK_IMM) {
        by = *ir_src(f, i, LEA_shift), x = *ir_src(f, i, LEA_ra);
        out->offset = ir_src(f, i, LEA_rb)->value;
    } else
        return false;
    out->base = x;
    out->shift = by.value;
    return by.kind == OPK_IMM && by.value >= 2 && by.value <= 4 && is_scalar(s, x);
}

/* One use less, which may be the last one of what computes it, and so on: a list, for chains may be long. */
static void release(Addresses *s, uint32_t v) {
    Function *f = s->f;
    VEC_ADD(&s->a, &s->released, v);
    while (s->released.n) {
        v = s->released.at[--s->released.n];
        InstId def = f->values.at[v].def;
        if (--s->uses[v] || !def.i || !is_computed(f, ir_inst(f, def)) ||
            !opt_only_computes(f, ir_inst(f, def)) || !opt_scalar(*ir_dst(f, ir_inst(f, def), 0)))
            continue;
        s->gone[v] = true;
        FOR_USES(f, ir_inst(f, def), o)
            for (unsigned c = 0; o->kind == OPK_VAL && c < o->count; c++)
                VEC_ADD(&s->a, &s->released, ir_operand_value(f, *o, c).i);
    }
}

/* ---- accesses ---- */

/* The access i with this address; as it is if no opcode takes that. */
static bool try_access(const Addresses *s, Inst *i, Operand base, uint32_t offset, uint32_t mods) {
    Operand *ra = address_of(s->f, i), *at = ir_src(s->f, i, isa_traits(i->op)->address[2]);
    Inst was = *i;
    Operand old[2] = {*ra, *at};
    *ra = base;
    *at = op_imm(offset);
    i->mods = mods;
    if (opt_selectable(s->f, i))
        return true;
    *ra = old[0];
    *at = old[1];
    *i = was;
    return false;
}

static bool offset_of(const Addresses *s, const Inst *i, uint32_t *offset) {
    Operand at = *ir_src(s->f, i, isa_traits(i->op)->address[2]);
    *offset = at.kind == OPK_IMM ? at.value : 0;
    return at.kind == OPK_IMM || at.kind == OPK_NONE;
}

/* The access at the place that its address is. */
static bool access_at(Addresses *s, Inst *i) {
    Place place;
    uint32_t offset, from;
    Operand *ra = address_of(s->f, i);
    const Scaled *by = scales(i);
    unsigned stride = by ? i->mods / by->by4 & 3 : 0;
    if (!ra || !offset_of(s, i, &offset) || !sum_behind(s, *ra, &place) || (place.shift && (!by || stride)))
        return false;
    from = ra->value;
    offset += place.offset << (stride ? stride + 1 : 0); /* [x.X4] is x << 2 */
    if (!try_access(s, i, place.base, offset, place.shift ? i->mods | by->by4 * (place.shift - 1) : i->mods))
        return false;
    if (opt_scalar(place.base)) {
        s->uses[place.base.value]++;
        s->addresses[place.base.value]++;
    }
    s->addresses[from]--;
    release(s, from);
    return s->changed = true;
}

/* ---- sums with what is a sum ---- */

static bool is_sum(const Inst *i) {
    return (i->op == OT_IMAD && !MGET(IMAD, x, i->mods)) || (i->op == OT_LEA && !i->mods) ||
           (i->op == OT_IADD3 && !i->mods);
}

/* The source of a sum of two that is itself a sum with a number, and that one. */
static Operand *sum_in_sum(const Addresses *s, const Inst *i, Place *out) {
    Function *f = s->f;
    unsigned first = i->op == OT_IMAD ? IMAD_rc : i->op == OT_LEA ? LEA_rb : IADD3_ra;
    for (unsigned k = first; k <= (i->op == OT_IADD3 ? (unsigned)IADD3_rc : first); k++) {
        Operand *o = ir_src(f, i, k);
        InstId def = is_scalar(s, *o) ? f->values.at[o->value].def : (InstId){0};
        if (def.i && ir_inst(f, def)->op == OT_IADD3 && sum_of(s, ir_inst(f, def), out) && out->offset)
            return o;
    }
    return NULL;
}

/* Sums whose number the accesses take: which one, of each value. */
static void take_numbers(Addresses *s) {
    Function *f = s->f;
    uint32_t *number = ARENA_ARRAY(&s->a, uint32_t, f->values.n), /* [value] of a sum */
        *inner = ARENA_ARRAY(&s->a, uint32_t, f->values.n);       /* [value] of a sum in sums: how often */
    const Operand *in;
    Place place;
    FOR_BLOCKS(f, b)
        FOR_INSTS(f, b, i) {
            uint32_t v = is_sum(i) && is_scalar(s, *ir_dst(f, i, 0)) ? ir_dst(f, i, 0)->value : 0;
            if (v && s->uses[v] && s->uses[v] == s->addresses[v] && is_computed(f, i) &&
                (in = sum_in_sum(s, i, &place))) {
                number[v] = place.offset;
                inner[in->value]++;
            }
        }
    FOR_BLOCKS(f, b)
        FOR_INSTS(f, b, i) { /* where the sum in the sum would stay, nothing is gained */
            uint32_t v = is_sum(i) ? opt_scalar(*ir_dst(f, i, 0)) : 0;
            if (v && number[v] && (in = sum_in_sum(s, i, &place)) &&
                inner[in->value] + s->addresses[in->value] != s->uses[in->value])
                number[v] = 0;
        }
    for (unsigned apply = 0; apply < 2; apply++)
        FOR_BLOCKS(f, b)
            FOR_INSTS(f, b, i) {
                const Operand *ra = address_of(f, i);
                uint32_t offset;
                if (!ra || !is_scalar(s, *ra) || !number[ra->value])
                    continue;
                bool is = offset_of(s, i, &offset) && !(scales(i) && i->mods / scales(i)->by4 & 3);
                uint32_t v = ra->value, was = offset;
                if (!is || !try_access(s, i, *ra, offset + number[v], i->mods))
                    number[v] = 0; /* of one access, so of all */
                else if (!apply)
                    (void)try_access(s, i, *ra, was, i->mods);
            }
    FOR_BLOCKS(f, b)
        FOR_INSTS(f, b, i) {
            uint32_t v = is_sum(i) ? opt_scalar(*ir_dst(f, i, 0)) : 0;
            Operand *o = v && number[v] ? sum_in_sum(s, i, &place) : NULL;
            if (!o)
                continue;
            uint32_t was = o->value;
            s->uses[place.base.value]++;
            *o = place.base;
            release(s, was);
            s->changed = true;
        }
}

/* ---- the pass ---- */

/* A product whose high word nobody wants. */
static void narrow(Addresses *s, BlockId b, unsigned at) {
    Function *f = s->f;
    InstId old = ir_inst_at(f, b, at);
    const Inst *i = ir_inst(f, old);
    Operand rd = *ir_dst(f, i, 0), rc = *ir_src(f, i, IMAD_WIDE_rc), low = rc;
    if (rd.kind != OPK_VAL || rd.count != 2 || MGET(IMAD_WIDE, x, i->mods) || !is_computed(f, i))
        return;
    ValId to = ir_operand_value(f, rd, 0), high = ir_operand_value(f, rd, 1);
    if (s->uses[high.i] || f->values.at[to.i].fixed_reg >= 0 || f->values.at[high.i].fixed_reg >= 0)
        return;
    if (rc.kind == OPK_VAL && rc.count == 2 && !rc.mods)
        low = ir_val(f, ir_operand_value(f, rc, 0));
    else if (!is_none(rc) && (rc.kind != OPK_CMEM || rc.mods))
        return;
    Operand src[] = {*ir_src(f, i, IMAD_WIDE_ra), *ir_src(f, i, IMAD_WIDE_rb), low,
                     op_with(op_pt(), OPM_NOT)};
    LocId loc = i->loc;
    uint32_t mods = MSET(IMAD, sign, MGET(IMAD_WIDE, sign, i->mods));
    InstId id = ir_inst_new(f, OT_IMAD, isa_num_dst(OT_IMAD), isa_num_src(OT_IMAD));
    for (unsigned k = 0; k < sizeof src / sizeof src[0]; k++)
        ir_set_src(f, id, k, src[k]);
    *ir_dst(f, ir_inst(f, id), 0) = ir_val(f, to); /* made by the old one until this is taken */
    ir_inst(f, id)->mods = mods;
    ir_inst(f, id)->loc = loc;
    if (!opt_selectable(f, ir_inst(f, id)))
        return;
    f->values.at[to.i].def = id;
    ir_block(f, b)->insts.at[at] = id;
    if (rc.kind == OPK_VAL)
        release(s, ir_operand_value(f, rc, 1).i);
    s->changed = true;
}

static bool is_same(const Function *f, const Inst *a, const Inst *b) {
    if (a->op != b->op || a->mods != b->mods)
        return false;
    for (unsigned k = 0; k < a->nsrc; k++) {
        Operand x = *ir_src(f, a, k), y = *ir_src(f, b, k);
        if (x.kind != y.kind || x.file != y.file || x.mods != y.mods || x.count != y.count ||
            x.value != y.value)
            return false;
    }
    return true;
}

/* Sums that have become equal are one. */
static void find_equal(Addresses *s, BlockId b) {
    Function *f = s->f;
    InstId recent[NEAR];
    unsigned n = 0;
    FOR_INST_IDS(f, b, id) {
        const Inst *i = ir_inst(f, id);
        uint32_t v =
            is_sum(i) && is_computed(f, i) && is_scalar(s, *ir_dst(f, i, 0)) ? ir_dst(f, i, 0)->value : 0;
        if (!v || !s->uses[v] || s->uses[v] != s->addresses[v])
            continue;
        unsigned k = 0;
        while (k < n && k < NEAR && !is_same(f, i, ir_inst(f, recent[k])))
            k++;
        if (k == n || k == NEAR)
            recent[n++ % NEAR] = id;
        else {
            uint32_t first = ir_dst(f, ir_inst(f, recent[k]), 0)->value;
            s->repl[v] = first;
            s->uses[first] += s->uses[v];
            s->addresses[first] += s->uses[v];
            s->uses[v] = 1;
            release(s, v);
        }
    }
}

/* What nobody uses any more. */
static void drop_unused(Addresses *s) {
    Function *f = s->f;
    FOR_BLOCKS(f, b) {
        Block *block = ir_block(f, b);
        uint32_t to = 0;
        FOR_INST_IDS(f, b, id) {
            const Inst *i = ir_inst(f, id);
            uint32_t v = i->ndst ? opt_scalar(*ir_dst(f, i, 0)) : 0;
            if (!v || !s->gone[v])
                block->insts.at[to++] = id;
        }
        block->insts.n = to;
    }
}

bool pass_address(Function *f, Diags *d) {
    (void)d;
    if (f->blocks.n <= 1)
        return true;
    ir_renumber(f); /* Value.def */
    Addresses s = {.f = f};
    s.uses = ARENA_ARRAY(&s.a, uint32_t, f->values.n);
    s.addresses = ARENA_ARRAY(&s.a, uint32_t, f->values.n);
    s.repl = ARENA_ARRAY(&s.a, uint32_t, f->values.n);
    s.gone = ARENA_ARRAY(&s.a, bool, f->values.n);
    bool any = count_addresses(&s);
    FOR_BLOCKS(f, b)
        for (unsigned p = 0; p < ir_num_insts(f, b); p++)
            if (ir_inst(f, ir_inst_at(f, b, p))->op == OT_IMAD_WIDE)
                narrow(&s, b, p);
    if (any)
        take_numbers(&s);
    for (unsigned k = 0, more = any; k < ROUNDS && more; k++) {
        more = false;
        FOR_BLOCKS(f, b)
            FOR_INSTS(f, b, i)
                more |= access_at(&s, i);
    }
    if (s.changed) {
        FOR_BLOCKS(f, b)
            find_equal(&s, b);
        opt_rename(f, s.repl);
        drop_unused(&s);
    }
    arena_free(&s.a);
    return true;
}
