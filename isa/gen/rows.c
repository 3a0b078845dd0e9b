/* Definitions x targets -> encodings, with isagen's refusals: overlapping fields, bits nobody claims, values
 * wider than their field, unknown names, two opcodes with one encoding.
 * SPDX-License-Identifier: MIT */
#include "isa/gen/traits.h"
#include <string.h>

IgType *ig_sem_type(IgType *type) { return type && type->maps ? type->maps : type; }

bool ig_enum_value(const IgType *type, const char *name, unsigned *sem) {
    for (unsigned i = 0; i < type->vals.n; i++)
        if (!strcmp(type->vals.at[i].name, name)) {
            *sem = type->vals.at[i].sem;
            return true;
        }
    return false;
}

static bool enum_encoding(const IgType *type, const char *name, unsigned *enc) {
    for (unsigned i = 0; i < type->vals.n; i++)
        if (!strcmp(type->vals.at[i].name, name)) {
            *enc = type->vals.at[i].enc;
            return true;
        }
    return false;
}

static bool slot_named(const IgSlot *slot, const char *name) {
    if (!strcmp(slot->name, name))
        return true;
    for (unsigned i = 0; i < slot->aliases.n; i++)
        if (!strcmp(slot->aliases.at[i], name))
            return true;
    return false;
}

int ig_slot_index(const IgOptype *optype, const char *name) {
    for (unsigned i = 0; i < optype->dst.n; i++)
        if (slot_named(&optype->dst.at[i], name))
            return (int)i;
    for (unsigned i = 0; i < optype->src.n; i++)
        if (slot_named(&optype->src.at[i], name))
            return (int)(i + IG_SLOT_SRC);
    return -1;
}

int ig_mod_index(const IgOptype *optype, const char *name) {
    for (unsigned i = 0; i < optype->mods.n; i++)
        if (!strcmp(optype->mods.at[i].name, name))
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

static IgDef *find_parent(Merge *merge, const IgTok *name) {
    bool known = false;
    for (unsigned i = 0; i < merge->g->defs.n; i++) {
        IgDef *def = merge->g->defs.at[i];
        if (def->kind == DK_OPCODE || strcmp(def->name, name->text))
            continue;
        if (def->targets >> merge->r->target & 1)
            return def;
        known = true;
    }
    if (known)
        ig_error(merge->g, name->loc, "%s is not defined for %s", name->text,
                 merge->g->targets.at[merge->r->target]->name);
    else
        ig_error(merge->g, name->loc, "unknown group or optype %s", name->text);
    return NULL;
}

#define APPEND(g, to, from)                                                                                  \
    for (unsigned k_ = 0; k_ < (from).n; k_++)                                                               \
    VEC_ADD(&(g)->arena, &(to), (from).at[k_])

static bool merge_rows(Merge *m, IgDef *def) {
    Ig *g = m->g;
    for (unsigned i = 0; i < m->nseen; i++)
        if (m->seen[i] == def)
            return true;
    if (m->nseen == sizeof m->seen / sizeof *m->seen)
        return ig_error(g, def->loc, "%s has too many parents", def->name);
    m->seen[m->nseen++] = def;
    for (unsigned i = 0; i < def->parents.n; i++) {
        IgDef *p = find_parent(m, &def->parents.at[i]);
        if (!p || !merge_rows(m, p))
            return false;
    }
    if (def->kind == DK_OPTYPE) {
        if (m->optype && strcmp(m->optype->name, def->name))
            return ig_error(g, def->loc, "%s belongs to the optypes %s and %s", m->r->name, m->optype->name,
                            def->name);
        m->optype = def;
    }
    IgRow *row = m->r;
    APPEND(g, row->fields, def->fields);
    if (def->syntax) {
        row->syntax = def->syntax;
        row->syntax_loc = def->syntax_loc;
    }
    APPEND(g, row->aliases, def->aliases);
    APPEND(g, row->errors, def->errors);
    APPEND(g, row->widths, def->widths);
    APPEND(g, row->formats, def->formats);
    igt_merge(&row->traits, &def->traits);
    if (def->has_inlist) {
        row->inlist.n = 0;
        row->has_inlist = true;
        APPEND(g, row->inlist, def->inlist);
    }
    if (def->has_outlist) {
        row->outlist.n = 0;
        row->has_outlist = true;
        APPEND(g, row->outlist, def->outlist);
    }
    if (def->has_order) {
        row->order.n = 0;
        row->has_order = true;
        APPEND(g, row->order, def->order);
    }
    row->fallback |= def->fallback;
    if (def->select.n)
        row->select = def->select;
    return true;
}

/* ---- fields ---- */

static bool resolve_type(Ig *g, IgField *field) {
    unsigned width;
    if (field->kind == FD_ZERO || field->kind == FD_SPARE || field->kind == FD_WIDE)
        return true;
    if (ig_builtin_type(field->type_name, &field->value, &width)) {
        if (field->value == VT_CMEM && field->width < 17)
            return ig_error(g, field->loc, "a CMem field needs at least 17 bits, %s has %u", field->name,
                            field->width);
        if (field->value == VT_CMEM && field->nparts > 1 &&
            (field->width - field->w[0] < 16 || field->width - field->w[0] > 17))
            return ig_error(g, field->loc,
                            "behind its first part, the bank, %s has 16 or 17 bits of offset, not %u",
                            field->name, field->width - field->w[0]);
        if (field->implied && field->value != VT_SIMM)
            return ig_error(g, field->loc, "%s: an immediate without bits has a type SImmN", field->name);
        if (field->value == VT_UREG) /* 8 on targets of 255 of them */
            width = field->width == 8 ? 8 : 6;
        if (width && field->kind != FD_MODFIXED && !field->implied && width != field->width)
            return ig_error(g, field->loc, "field %s has %u bits, its type %s has %u", field->name,
                            field->width, field->type_name, width);
        return true;
    }
    if (!(field->type = ig_type(g, field->type_name)))
        return ig_error(g, field->loc, "unknown type %s", field->type_name);
    field->value = field->type->numbers ? VT_NUMBER : VT_ENUM;
    if (field->kind == FD_MODFIXED)
        field->width = field->type->width;
    else if (!field->type->numbers && field->type->width != field->width)
        return ig_error(g, field->loc, "field %s has %u bits, its type %s has %u", field->name, field->width,
                        field->type_name, field->type->width);
    return true;
}

static bool row_constant(Ig *g, IgField *field, int64_t *out) {
    static const struct {
        const char *name;
        int64_t value;
    } names[] = {{"RZ", 255}, {"URZ", 255}, {"PT", 7}, {"UPT", 7}, {"True", 1}, {"False", 0}};
    unsigned v;
    if (field->def.kind == TK_NUMBER && field->value != VT_ENUM) {
        *out = field->def.number;
        return true;
    }
    if (field->type) {
        if (ig_enum_value(field->type, field->def.text, &v)) {
            *out = v;
            return true;
        }
        if (field->def.kind != TK_NUMBER)
            return ig_error(g, field->def.loc, "%s is not a value of %s", field->def.text, field->type->name);
        *out = field->def.number;
        return true;
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(names[i].name, field->def.text)) {
            *out = names[i].value;
            return true;
        }
    return ig_error(g, field->def.loc, "unknown value %s", field->def.text);
}

static bool check_constant(Ig *g, IgField *field) {
    int64_t v = 0;
    if (field->kind == FD_WIDE ||
        (!field->has_default && field->kind != FD_FIXED && field->kind != FD_MODFIXED))
        return true;
    if (!row_constant(g, field, &v))
        return false;
    int64_t stored = field->scale > 1 || field->bias ? (v - field->bias) / (int64_t)field->scale : v;
    if (field->value == VT_UREG && v == 255) /* URZ: all ones of the field, whatever its width */
        stored = ((int64_t)1 << field->width) - 1;
    bool sgn = field->value == VT_SIMM && stored < 0;
    if (field->width < 63 && (sgn ? -stored > ((int64_t)1 << (field->width - 1)) : stored >> field->width))
        return ig_error(g, field->def.loc, "value %s is wider than field %s<%u>", field->def.text,
                        field->name, field->width);
    field->def.number = v;
    field->def.kind = TK_NUMBER;
    return true;
}

static void set_bits(uint64_t w[2], const IgField *field, uint64_t v) {
    for (unsigned p = 0; p < field->nparts; p++)
        for (unsigned i = 0; i < field->w[p]; i++, v >>= 1) {
            unsigned b = field->lo[p] + i;
            w[b / 64] |= (v & 1) << (b % 64);
        }
}

/* Fields whose conditions ask one modifier for different values may share bits. */
static bool exclusive(const IgField *field, const IgField *ig_field) {
    return field->when.n == 1 && ig_field->when.n == 1 && field->when.at[0].op == CO_EQ &&
           ig_field->when.at[0].op == CO_EQ && !strcmp(field->when.at[0].name, ig_field->when.at[0].name) &&
           strcmp(field->when.at[0].value.text, ig_field->when.at[0].value.text);
}

static bool claim(Ig *g, const IgRow *row, IgField **owner, IgField *field) {
    for (unsigned p = 0; p < field->nparts; p++)
        for (unsigned b = field->lo[p]; b < field->lo[p] + field->w[p]; b++) {
            if (owner[b] && !exclusive(owner[b], field))
                return ig_error(g, field->loc, "%s: field %s%s%s overlaps field %s at bit %u (%s:%u)",
                                row->name, field->name, field->attr ? "." : "",
                                field->attr ? field->attr : "", owner[b]->name, b, owner[b]->loc.file,
                                owner[b]->loc.line);
            owner[b] = field;
        }
    return true;
}

static bool cover(Ig *g, IgRow *row) {
    IgField *owner[IG_WORD_BITS] = {0};
    bool spare[IG_WORD_BITS] = {0};
    for (unsigned i = 0; i < row->fields.n; i++) {
        IgField *field = &row->fields.at[i];
        if (field->kind == FD_SPARE) {
            for (unsigned p = 0; p < field->nparts; p++)
                memset(spare + field->lo[p], 1, field->w[p]);
        } else if (!claim(g, row, owner, field)) {
            return false;
        }
        if (field->kind == FD_FIXED) {
            set_bits(row->mask, field, ~(uint64_t)0);
            unsigned enc = (unsigned)field->def.number;
            if (field->type && field->def.text[0])
                enum_encoding(field->type, field->def.text, &enc);
            set_bits(row->value, field, enc);
        }
    }
    for (unsigned b = 0; b < IG_WORD_BITS; b++) {
        if (!owner[b] && !spare[b]) {
            unsigned e = b;
            while (e + 1 < IG_WORD_BITS && !owner[e + 1] && !spare[e + 1])
                e++;
            return ig_error(g, row->loc, "%s: nobody claims bits %u to %u", row->name, b, e);
        }
        if (!owner[b] || owner[b]->kind == FD_ZERO)
            row->zero[b / 64] |= (uint64_t)1 << (b % 64);
    }
    if ((row->mask[0] & 0xfff) != 0xfff)
        return ig_error(g, row->loc, "%s: the low 12 bits must be fixed", row->name);
    return true;
}

/* ---- optypes, slots, modifiers ---- */

static IgOptype *optype_for(Ig *ig, const IgDef *def, unsigned *index) {
    for (unsigned i = 1; i < ig->optypes.n; i++)
        if (!strcmp(ig->optypes.at[i]->name, def->name)) {
            *index = i;
            return ig->optypes.at[i];
        }
    IgOptype *optype = ARENA_NEW(&ig->arena, IgOptype);
    optype->name = def->name;
    optype->loc = def->loc;
    *index = ig->optypes.n;
    VEC_ADD(&ig->arena, &ig->optypes, optype);
    return optype;
}

static unsigned opcode_for(Ig *ig, const char *name) {
    for (unsigned i = 1; i < ig->opcodes.n; i++)
        if (!strcmp(ig->opcodes.at[i], name))
            return i;
    VEC_ADD(&ig->arena, &ig->opcodes, name);
    return ig->opcodes.n - 1;
}

static bool take_slots(Ig *g, const Merge *merge, IgOptype *optype) {
    for (unsigned i = 0; i < merge->nseen; i++) {
        IgDef *def = merge->seen[i];
        if (!def->has_slots || optype->has_slots)
            continue;
        if (def->dst.n > IG_MAX_DST || def->src.n > IG_MAX_SRC)
            return ig_error(g, def->loc, "%s: at most %d destinations and %d sources", def->name, IG_MAX_DST,
                            IG_MAX_SRC);
        APPEND(g, optype->dst, def->dst);
        APPEND(g, optype->src, def->src);
        optype->has_slots = true;
    }
    return true;
}

/* The slot of a field: its `as`, also when another field of the same name has it. */
static const char *slot_name(const IgRow *row, const IgField *field) {
    if (field->as)
        return field->as;
    for (unsigned i = 0; i < row->fields.n; i++)
        if (row->fields.at[i].as && !strcmp(row->fields.at[i].name, field->name))
            return row->fields.at[i].as;
    return field->name;
}

static bool operand_attr(const char *attr) {
    static const char *const names[] = {"not", "bitnot", "neg", "abs", "half", "reuse", "wide"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(names[i], attr))
            return true;
    return false;
}

/* A field is the guard, a slot, or else a modifier, which gets its place here. */
static bool place_field(Ig *ig, IgRow *r, IgOptype *optype, IgField *field) {
    if (field->kind == FD_FIXED || field->kind == FD_ZERO || field->kind == FD_SPARE ||
        field->value == VT_CTRL || !strcmp(field->name, "pg"))
        return true;
    if (field->attr && !operand_attr(field->attr))
        return ig_error(ig, field->loc, "unknown operand modifier .%s", field->attr);
    const char *slot = slot_name(r, field);
    if (ig_slot_index(optype, slot) >= 0) {
        field->as = slot;
        return true;
    }
    if (field->attr || field->as || field->value == VT_REG || field->value == VT_PRED ||
        field->value == VT_CMEM || field->value == VT_UREG)
        return ig_error(ig, field->loc, "%s has no slot %s", optype->name, slot);
    int have = ig_mod_index(optype, field->name);
    IgType *type = ig_sem_type(field->type);
    unsigned width = type && type->width > field->width ? type->width : field->width;
    if (have >= 0) {
        if (optype->mods.at[have].width < width)
            optype->mods.at[have].width = width;
        return true;
    }
    IgMod mod = {.name = field->name, .width = width, .type = type};
    if (field->has_default && field->kind == FD_FIELD)
        mod.def = field->def.number;
    VEC_ADD(&ig->arena, &optype->mods, mod);
    return true;
}

static bool pack_mods(Ig *ig) {
    for (unsigned i = 1; i < ig->optypes.n; i++) {
        IgOptype *optype = ig->optypes.at[i];
        unsigned lo = 0;
        for (unsigned k = 0; k < optype->mods.n; k++) {
            optype->mods.at[k].lo = lo;
            lo += optype->mods.at[k].width;
        }
        if (lo > 32)
            return ig_error(ig, optype->loc, "%s: its modifiers take %u bits, there are 32", optype->name,
                            lo);
    }
    return true;
}

static bool check_lists(Ig *g, const IgRow *row, const IgTok *at, unsigned n) {
    for (unsigned i = 0; i < n; i++) {
        bool ok = !strcmp(at[i].text, "pg");
        for (unsigned k = 0; k < row->fields.n; k++)
            ok = ok || (row->fields.at[k].name && !strcmp(row->fields.at[k].name, at[i].text));
        if (!ok)
            return ig_error(g, at[i].loc, "%s: unknown operand %s", row->name, at[i].text);
    }
    return true;
}

static bool apply_formats(Ig *g, IgRow *row) {
    for (unsigned i = 0; i < row->formats.n; i++) {
        bool found = false;
        for (unsigned k = 0; k < row->fields.n; k++)
            if (row->fields.at[k].name && !strcmp(row->fields.at[k].name, row->formats.at[i].field)) {
                row->fields.at[k].scale = 1u << row->formats.at[i].shift;
                row->fields.at[k].distance = true;
                found = true;
            }
        if (!found)
            return ig_error(g, row->formats.at[i].loc, "unknown field %s", row->formats.at[i].field);
    }
    return true;
}

/* Rows write a number of a uniform register with 6 bits. Where the target has 255 of them it has the 8 bits
 * from there. */
static void widen_uniform(IgRow *row) {
    for (unsigned i = 0; i < row->fields.n; i++) {
        IgField *field = &row->fields.at[i];
        if (field->type_name && !strcmp(field->type_name, "UReg") && field->nparts == 1 && field->width == 6)
            field->width = field->w[0] = 8;
    }
}

static bool new_row(Ig *ig, IgDef *ig_def, unsigned target) {
    IgRow *row = ARENA_NEW(&ig->arena, IgRow);
    row->target = target;
    row->name = ig_def->name;
    row->def = ig_def;
    row->loc = ig_def->loc;
    Merge m = {.g = ig, .r = row};
    if (!merge_rows(&m, ig_def))
        return false;
    if (!m.optype)
        return ig_error(ig, ig_def->loc, "opcode %s has no optype", ig_def->name);
    if (ig->targets.at[target]->num_regs[IG_FILE_UR] > 63)
        widen_uniform(row);
    for (unsigned i = 0; i < row->fields.n; i++)
        if (!resolve_type(ig, &row->fields.at[i]) || !check_constant(ig, &row->fields.at[i]))
            return false;
    if (!apply_formats(ig, row) || !cover(ig, row))
        return false;
    IgOptype *ig_optype = optype_for(ig, m.optype, &row->optype);
    row->opcode = opcode_for(ig, ig_def->name);
    ig_optype->targets |= 1u << target;
    if (!take_slots(ig, &m, ig_optype) || !igt_join(ig, ig_optype, &row->traits))
        return false;
    if (!ig_optype->has_slots)
        return ig_error(ig, ig_optype->loc, "%s has no Slots", ig_optype->name);
    for (unsigned i = 0; i < row->fields.n; i++)
        if (!place_field(ig, row, ig_optype, &row->fields.at[i]))
            return false;
    if (!check_lists(ig, row, row->inlist.at, row->inlist.n) ||
        !check_lists(ig, row, row->outlist.at, row->outlist.n) ||
        !check_lists(ig, row, row->order.at, row->order.n))
        return false;
    VEC_ADD(&ig->arena, &ig->rows, row);
    return true;
}

static bool distinct(Ig *ig) {
    for (unsigned i = 0; i < ig->rows.n; i++)
        for (unsigned k = i + 1; k < ig->rows.n; k++) {
            const IgRow *row = ig->rows.at[i], *ig_row = ig->rows.at[k];
            if (row->target != ig_row->target || ig_row->fallback)
                continue;
            uint64_t d0 = (row->value[0] ^ ig_row->value[0]) & row->mask[0] & ig_row->mask[0];
            uint64_t d1 = (row->value[1] ^ ig_row->value[1]) & row->mask[1] & ig_row->mask[1];
            /* A fixed one against a bit that the other reserves as zero tells them apart too. */
            uint64_t z0 = (row->value[0] & ig_row->zero[0]) | (ig_row->value[0] & row->zero[0]);
            uint64_t z1 = (row->value[1] & ig_row->zero[1]) | (ig_row->value[1] & row->zero[1]);
            if (!(d0 | d1 | z0 | z1))
                return ig_error(ig, ig_row->loc, "%s has the encoding of %s (%s:%u) on %s", ig_row->name,
                                row->name, row->loc.file, row->loc.line, ig->targets.at[row->target]->name);
        }
    return true;
}

bool ig_rows(Ig *ig) {
    VEC_ADD(&ig->arena, &ig->optypes, ARENA_NEW(&ig->arena, IgOptype));
    VEC_ADD(&ig->arena, &ig->opcodes, "NONE");
    ig->optypes.at[0]->name = "NONE";
    for (unsigned i = 0; i < ig->defs.n; i++)
        for (unsigned t = 0; ig->defs.at[i]->kind == DK_OPCODE && t < ig->targets.n; t++)
            if (ig->defs.at[i]->targets >> t & 1)
                new_row(ig, ig->defs.at[i], t);
    if (ig->nerrors || !pack_mods(ig) || !distinct(ig))
        return false;
    for (unsigned i = 0; i < ig->rows.n; i++) {
        IgRow *row = ig->rows.at[i];
        if (!row->syntax)
            return ig_error(ig, row->loc, "%s has no Syntax", row->name);
        if (!ig_syntax(ig, row, row->syntax, row->syntax_loc, &row->program))
            return false;
        for (unsigned k = 0; k < row->aliases.n; k++) {
            IgSynVec v = {0};
            if (!ig_syntax(ig, row, row->aliases.at[k].text, row->aliases.at[k].loc, &v))
                return false;
            VEC_ADD(&ig->arena, &row->alias_programs, v);
        }
    }
    return igt_check(ig);
}
