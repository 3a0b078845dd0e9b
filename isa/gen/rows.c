/* Definitions x targets -> encodings, with isagen's refusals: overlapping fields, bits nobody claims, values
 * wider than their field, unknown names, two opcodes with one encoding.
 * SPDX-License-Identifier: MIT */
#include "isa/gen/isagen.h"
#include <string.h>

const char *const ig_flag_names[] = {"BRANCH",       "CALL",      "RETURN",      "EXIT",       "END",
                                     "SWITCH",       "BREG_READ", "BREG_WRITE",  "COLLECTIVE", "CTA_BARRIER",
                                     "MEM_READ",     "MEM_WRITE", "SIDE_EFFECT", "UNIFORM",    "READS_ALL_P",
                                     "WRITES_ALL_P", NULL};

IgType *ig_sem_type(IgType *t) { return t && t->maps ? t->maps : t; }

bool ig_enum_value(const IgType *t, const char *name, unsigned *sem) {
    for (unsigned i = 0; i < t->vals.n; i++)
        if (!strcmp(t->vals.at[i].name, name)) {
            *sem = t->vals.at[i].sem;
            return true;
        }
    return false;
}

static bool enum_encoding(const IgType *t, const char *name, unsigned *enc) {
    for (unsigned i = 0; i < t->vals.n; i++)
        if (!strcmp(t->vals.at[i].name, name)) {
            *enc = t->vals.at[i].enc;
            return true;
        }
    return false;
}

static bool slot_named(const IgSlot *s, const char *name) {
    if (!strcmp(s->name, name))
        return true;
    for (unsigned i = 0; i < s->aliases.n; i++)
        if (!strcmp(s->aliases.at[i], name))
            return true;
    return false;
}

int ig_slot_index(const IgOptype *t, const char *name) {
    for (unsigned i = 0; i < t->dst.n; i++)
        if (slot_named(&t->dst.at[i], name))
            return (int)i;
    for (unsigned i = 0; i < t->src.n; i++)
        if (slot_named(&t->src.at[i], name))
            return (int)(i + IG_SLOT_SRC);
    return -1;
}

int ig_mod_index(const IgOptype *t, const char *name) {
    for (unsigned i = 0; i < t->mods.n; i++)
        if (!strcmp(t->mods.at[i].name, name))
            return (int)i;
    return -1;
}

/* ---- one definition's parents, merged ---- */

typedef struct {
    Ig *g;
    IgRow *r;
    IgDef *seen[64];
    unsigned nseen;
    IgDef *optype;
} Merge;

static IgDef *find_parent(Merge *m, const IgTok *name) {
    bool known = false;
    for (unsigned i = 0; i < m->g->defs.n; i++) {
        IgDef *d = m->g->defs.at[i];
        if (d->kind == DK_OPCODE || strcmp(d->name, name->text))
            continue;
        if (d->targets >> m->r->target & 1)
            return d;
        known = true;
    }
    if (known)
        ig_error(m->g, name->loc, "%s is not defined for %s", name->text,
                 m->g->targets.at[m->r->target]->name);
    else
        ig_error(m->g, name->loc, "unknown group or optype %s", name->text);
    return NULL;
}

#define APPEND(g, to, from)                                                                                  \
    for (unsigned k_ = 0; k_ < (from).n; k_++)                                                               \
    VEC_ADD(&(g)->arena, &(to), (from).at[k_])

static bool merge(Merge *m, IgDef *d) {
    Ig *g = m->g;
    for (unsigned i = 0; i < m->nseen; i++)
        if (m->seen[i] == d)
            return true;
    if (m->nseen == sizeof m->seen / sizeof *m->seen)
        return ig_error(g, d->loc, "%s has too many parents", d->name);
    m->seen[m->nseen++] = d;
    for (unsigned i = 0; i < d->parents.n; i++) {
        IgDef *p = find_parent(m, &d->parents.at[i]);
        if (!p || !merge(m, p))
            return false;
    }
    if (d->kind == DK_OPTYPE) {
        if (m->optype && strcmp(m->optype->name, d->name))
            return ig_error(g, d->loc, "%s belongs to the optypes %s and %s", m->r->name, m->optype->name,
                            d->name);
        m->optype = d;
    }
    IgRow *r = m->r;
    APPEND(g, r->fields, d->fields);
    if (d->syntax) {
        r->syntax = d->syntax;
        r->syntax_loc = d->syntax_loc;
    }
    APPEND(g, r->aliases, d->aliases);
    APPEND(g, r->errors, d->errors);
    APPEND(g, r->widths, d->widths);
    APPEND(g, r->formats, d->formats);
    APPEND(g, r->flags, d->flags);
    if (d->has_inlist) {
        r->inlist.n = 0;
        r->has_inlist = true;
        APPEND(g, r->inlist, d->inlist);
    }
    if (d->has_outlist) {
        r->outlist.n = 0;
        r->has_outlist = true;
        APPEND(g, r->outlist, d->outlist);
    }
    if (d->has_order) {
        r->order.n = 0;
        r->has_order = true;
        APPEND(g, r->order, d->order);
    }
    if (d->select.n)
        r->select = d->select;
    return true;
}

/* ---- fields ---- */

static bool resolve_type(Ig *g, IgField *f) {
    unsigned width;
    if (f->kind == FD_ZERO || f->kind == FD_SPARE || f->kind == FD_WIDE)
        return true;
    if (ig_builtin_type(f->type_name, &f->value, &width)) {
        if (f->value == VT_CMEM && f->width < 17)
            return ig_error(g, f->loc, "a CMem field needs at least 17 bits, %s has %u", f->name, f->width);
        if (width && f->kind != FD_MODFIXED && width != f->width)
            return ig_error(g, f->loc, "field %s has %u bits, its type %s has %u", f->name, f->width,
                            f->type_name, width);
        return true;
    }
    if (!(f->type = ig_type(g, f->type_name)))
        return ig_error(g, f->loc, "unknown type %s", f->type_name);
    f->value = f->type->numbers ? VT_NUMBER : VT_ENUM;
    if (f->kind == FD_MODFIXED)
        f->width = f->type->width;
    else if (!f->type->numbers && f->type->width != f->width)
        return ig_error(g, f->loc, "field %s has %u bits, its type %s has %u", f->name, f->width,
                        f->type_name, f->type->width);
    return true;
}

static bool constant(Ig *g, IgField *f, int64_t *out) {
    static const struct {
        const char *name;
        int64_t value;
    } names[] = {{"RZ", 255}, {"URZ", 63}, {"PT", 7}, {"UPT", 7}, {"True", 1}, {"False", 0}};
    unsigned v;
    if (f->def.kind == TK_NUMBER && f->value != VT_ENUM) {
        *out = f->def.number;
        return true;
    }
    if (f->type) {
        if (ig_enum_value(f->type, f->def.text, &v)) {
            *out = v;
            return true;
        }
        if (f->def.kind != TK_NUMBER)
            return ig_error(g, f->def.loc, "%s is not a value of %s", f->def.text, f->type->name);
        *out = f->def.number;
        return true;
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(names[i].name, f->def.text)) {
            *out = names[i].value;
            return true;
        }
    return ig_error(g, f->def.loc, "unknown value %s", f->def.text);
}

static bool check_constant(Ig *g, IgField *f) {
    int64_t v = 0;
    if (f->kind == FD_WIDE || (!f->has_default && f->kind != FD_FIXED && f->kind != FD_MODFIXED))
        return true;
    if (!constant(g, f, &v))
        return false;
    int64_t stored = f->scale > 1 || f->bias ? (v - f->bias) / (int64_t)f->scale : v;
    bool sgn = f->value == VT_SIMM && stored < 0;
    if (f->width < 63 && (sgn ? -stored > ((int64_t)1 << (f->width - 1)) : stored >> f->width))
        return ig_error(g, f->def.loc, "value %s is wider than field %s<%u>", f->def.text, f->name, f->width);
    f->def.number = v;
    f->def.kind = TK_NUMBER;
    return true;
}

static void set_bits(uint64_t w[2], const IgField *f, uint64_t v) {
    for (unsigned p = 0; p < f->nparts; p++)
        for (unsigned i = 0; i < f->w[p]; i++, v >>= 1) {
            unsigned b = f->lo[p] + i;
            w[b / 64] |= (v & 1) << (b % 64);
        }
}

/* Fields whose conditions ask one modifier for different values may share bits. */
static bool exclusive(const IgField *a, const IgField *b) {
    return a->when.n == 1 && b->when.n == 1 && a->when.at[0].op == CO_EQ && b->when.at[0].op == CO_EQ &&
           !strcmp(a->when.at[0].name, b->when.at[0].name) &&
           strcmp(a->when.at[0].value.text, b->when.at[0].value.text);
}

static bool claim(Ig *g, const IgRow *r, IgField **owner, IgField *f) {
    for (unsigned p = 0; p < f->nparts; p++)
        for (unsigned b = f->lo[p]; b < f->lo[p] + f->w[p]; b++) {
            if (owner[b] && !exclusive(owner[b], f))
                return ig_error(g, f->loc, "%s: field %s%s%s overlaps field %s at bit %u (%s:%u)", r->name,
                                f->name, f->attr ? "." : "", f->attr ? f->attr : "", owner[b]->name, b,
                                owner[b]->loc.file, owner[b]->loc.line);
            owner[b] = f;
        }
    return true;
}

static bool cover(Ig *g, IgRow *r) {
    IgField *owner[IG_WORD_BITS] = {0};
    bool spare[IG_WORD_BITS] = {0};
    for (unsigned i = 0; i < r->fields.n; i++) {
        IgField *f = &r->fields.at[i];
        if (f->kind == FD_SPARE) {
            for (unsigned p = 0; p < f->nparts; p++)
                memset(spare + f->lo[p], 1, f->w[p]);
        } else if (!claim(g, r, owner, f)) {
            return false;
        }
        if (f->kind == FD_FIXED) {
            set_bits(r->mask, f, ~(uint64_t)0);
            unsigned enc = (unsigned)f->def.number;
            if (f->type && f->def.text[0])
                enum_encoding(f->type, f->def.text, &enc);
            set_bits(r->value, f, enc);
        }
    }
    for (unsigned b = 0; b < IG_WORD_BITS; b++) {
        if (!owner[b] && !spare[b]) {
            unsigned e = b;
            while (e + 1 < IG_WORD_BITS && !owner[e + 1] && !spare[e + 1])
                e++;
            return ig_error(g, r->loc, "%s: nobody claims bits %u to %u", r->name, b, e);
        }
        if (!owner[b] || owner[b]->kind == FD_ZERO)
            r->zero[b / 64] |= (uint64_t)1 << (b % 64);
    }
    if ((r->mask[0] & 0xfff) != 0xfff)
        return ig_error(g, r->loc, "%s: the low 12 bits must be fixed", r->name);
    return true;
}

/* ---- optypes, slots, modifiers ---- */

static IgOptype *optype_for(Ig *g, const IgDef *d, unsigned *index) {
    for (unsigned i = 1; i < g->optypes.n; i++)
        if (!strcmp(g->optypes.at[i]->name, d->name)) {
            *index = i;
            return g->optypes.at[i];
        }
    IgOptype *t = ARENA_NEW(&g->arena, IgOptype);
    t->name = d->name;
    t->loc = d->loc;
    *index = g->optypes.n;
    VEC_ADD(&g->arena, &g->optypes, t);
    return t;
}

static unsigned opcode_for(Ig *g, const char *name) {
    for (unsigned i = 1; i < g->opcodes.n; i++)
        if (!strcmp(g->opcodes.at[i], name))
            return i;
    VEC_ADD(&g->arena, &g->opcodes, name);
    return g->opcodes.n - 1;
}

static bool take_slots(Ig *g, const Merge *m, IgOptype *t) {
    for (unsigned i = 0; i < m->nseen; i++) {
        IgDef *d = m->seen[i];
        if (!d->has_slots || t->has_slots)
            continue;
        if (d->dst.n > IG_MAX_DST || d->src.n > IG_MAX_SRC)
            return ig_error(g, d->loc, "%s: at most %d destinations and %d sources", d->name, IG_MAX_DST,
                            IG_MAX_SRC);
        APPEND(g, t->dst, d->dst);
        APPEND(g, t->src, d->src);
        t->has_slots = true;
    }
    return true;
}

/* The slot of a field: its `as`, also when another field of the same name has it. */
static const char *slot_name(const IgRow *r, const IgField *f) {
    if (f->as)
        return f->as;
    for (unsigned i = 0; i < r->fields.n; i++)
        if (r->fields.at[i].as && !strcmp(r->fields.at[i].name, f->name))
            return r->fields.at[i].as;
    return f->name;
}

static bool operand_attr(const char *attr) {
    static const char *const names[] = {"not", "bitnot", "neg", "abs", "half", "reuse", "wide"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(names[i], attr))
            return true;
    return false;
}

/* A field is the guard, a slot, or else a modifier, which gets its place here. */
static bool place_field(Ig *g, IgRow *r, IgOptype *t, IgField *f) {
    if (f->kind == FD_FIXED || f->kind == FD_ZERO || f->kind == FD_SPARE || f->value == VT_CTRL ||
        !strcmp(f->name, "pg"))
        return true;
    if (f->attr && !operand_attr(f->attr))
        return ig_error(g, f->loc, "unknown operand modifier .%s", f->attr);
    const char *slot = slot_name(r, f);
    if (ig_slot_index(t, slot) >= 0) {
        f->as = slot;
        return true;
    }
    if (f->attr || f->as || f->value == VT_REG || f->value == VT_PRED || f->value == VT_CMEM ||
        f->value == VT_UREG)
        return ig_error(g, f->loc, "%s has no slot %s", t->name, slot);
    int have = ig_mod_index(t, f->name);
    if (have >= 0) {
        if (t->mods.at[have].width < f->width)
            t->mods.at[have].width = f->width;
        return true;
    }
    IgMod mod = {.name = f->name, .width = f->width, .type = ig_sem_type(f->type)};
    if (f->has_default && f->kind == FD_FIELD)
        mod.def = f->def.number;
    VEC_ADD(&g->arena, &t->mods, mod);
    return true;
}

static bool pack_mods(Ig *g) {
    for (unsigned i = 1; i < g->optypes.n; i++) {
        IgOptype *t = g->optypes.at[i];
        unsigned lo = 0;
        for (unsigned k = 0; k < t->mods.n; k++) {
            t->mods.at[k].lo = lo;
            lo += t->mods.at[k].width;
        }
        if (lo > 32)
            return ig_error(g, t->loc, "%s: its modifiers take %u bits, there are 32", t->name, lo);
    }
    return true;
}

static bool check_lists(Ig *g, const IgRow *r, const IgTok *at, unsigned n) {
    for (unsigned i = 0; i < n; i++) {
        bool ok = !strcmp(at[i].text, "pg");
        for (unsigned k = 0; k < r->fields.n; k++)
            ok = ok || (r->fields.at[k].name && !strcmp(r->fields.at[k].name, at[i].text));
        if (!ok)
            return ig_error(g, at[i].loc, "%s: unknown operand %s", r->name, at[i].text);
    }
    return true;
}

static bool row_flags(Ig *g, const IgRow *r, IgOptype *t) {
    for (unsigned i = 0; i < r->flags.n; i++) {
        unsigned k = 0;
        while (ig_flag_names[k] && strcmp(ig_flag_names[k], r->flags.at[i].text))
            k++;
        if (!ig_flag_names[k])
            return ig_error(g, r->flags.at[i].loc, "unknown flag %s", r->flags.at[i].text);
        t->flags |= 1u << k;
    }
    return true;
}

static bool apply_formats(Ig *g, IgRow *r) {
    for (unsigned i = 0; i < r->formats.n; i++) {
        bool found = false;
        for (unsigned k = 0; k < r->fields.n; k++)
            if (r->fields.at[k].name && !strcmp(r->fields.at[k].name, r->formats.at[i].field)) {
                r->fields.at[k].scale = 1u << r->formats.at[i].shift;
                r->fields.at[k].distance = true;
                found = true;
            }
        if (!found)
            return ig_error(g, r->formats.at[i].loc, "unknown field %s", r->formats.at[i].field);
    }
    return true;
}

static bool new_row(Ig *g, IgDef *d, unsigned target) {
    IgRow *r = ARENA_NEW(&g->arena, IgRow);
    r->target = target;
    r->name = d->name;
    r->def = d;
    r->loc = d->loc;
    Merge m = {.g = g, .r = r};
    if (!merge(&m, d))
        return false;
    if (!m.optype)
        return ig_error(g, d->loc, "opcode %s has no optype", d->name);
    for (unsigned i = 0; i < r->fields.n; i++)
        if (!resolve_type(g, &r->fields.at[i]) || !check_constant(g, &r->fields.at[i]))
            return false;
    if (!apply_formats(g, r) || !cover(g, r))
        return false;
    IgOptype *t = optype_for(g, m.optype, &r->optype);
    r->opcode = opcode_for(g, d->name);
    t->targets |= 1u << target;
    if (!take_slots(g, &m, t) || !row_flags(g, r, t))
        return false;
    if (!t->has_slots)
        return ig_error(g, t->loc, "%s has no Slots", t->name);
    for (unsigned i = 0; i < r->fields.n; i++)
        if (!place_field(g, r, t, &r->fields.at[i]))
            return false;
    if (!check_lists(g, r, r->inlist.at, r->inlist.n) || !check_lists(g, r, r->outlist.at, r->outlist.n) ||
        !check_lists(g, r, r->order.at, r->order.n))
        return false;
    VEC_ADD(&g->arena, &g->rows, r);
    return true;
}

static bool distinct(Ig *g) {
    for (unsigned i = 0; i < g->rows.n; i++)
        for (unsigned k = i + 1; k < g->rows.n; k++) {
            const IgRow *a = g->rows.at[i], *b = g->rows.at[k];
            if (a->target != b->target)
                continue;
            uint64_t d0 = (a->value[0] ^ b->value[0]) & a->mask[0] & b->mask[0];
            uint64_t d1 = (a->value[1] ^ b->value[1]) & a->mask[1] & b->mask[1];
            /* A fixed one against a bit that the other reserves as zero tells them apart too. */
            uint64_t z0 = (a->value[0] & b->zero[0]) | (b->value[0] & a->zero[0]);
            uint64_t z1 = (a->value[1] & b->zero[1]) | (b->value[1] & a->zero[1]);
            if (!(d0 | d1 | z0 | z1))
                return ig_error(g, b->loc, "%s has the encoding of %s (%s:%u) on %s", b->name, a->name,
                                a->loc.file, a->loc.line, g->targets.at[a->target]->name);
        }
    return true;
}

bool ig_rows(Ig *g) {
    VEC_ADD(&g->arena, &g->optypes, ARENA_NEW(&g->arena, IgOptype));
    VEC_ADD(&g->arena, &g->opcodes, "NONE");
    g->optypes.at[0]->name = "NONE";
    for (unsigned i = 0; i < g->defs.n; i++)
        for (unsigned t = 0; g->defs.at[i]->kind == DK_OPCODE && t < g->targets.n; t++)
            if (g->defs.at[i]->targets >> t & 1)
                new_row(g, g->defs.at[i], t);
    if (g->nerrors || !pack_mods(g) || !distinct(g))
        return false;
    for (unsigned i = 0; i < g->rows.n; i++) {
        IgRow *r = g->rows.at[i];
        if (!r->syntax)
            return ig_error(g, r->loc, "%s has no Syntax", r->name);
        if (!ig_syntax(g, r, r->syntax, r->syntax_loc, &r->program))
            return false;
        for (unsigned k = 0; k < r->aliases.n; k++) {
            IgSynVec v = {0};
            if (!ig_syntax(g, r, r->aliases.at[k].text, r->aliases.at[k].loc, &v))
                return false;
            VEC_ADD(&g->arena, &r->alias_programs, v);
        }
    }
    return g->nerrors == 0;
}
