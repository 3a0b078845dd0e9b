/* isagen's output: isa_gen.h (numbers for C code) and isa_tables.c (the tables of isa/tables.h).
 * Fields, conditions and syntax programs that several rows share are written once.
 * SPDX-License-Identifier: MIT */
#include "isa/gen/traits.h"
#include <ctype.h>
#include <string.h>

enum { SLOTS = IG_MAX_SLOTS };

static const char banner[] = "/* Made by isagen from the descriptions in isa; do not edit.\n"
                             " * SPDX-License-Identifier: MIT */\n";

/* ---- isa_gen.h ---- */

static void header_optype(const IgOptype *optype, FILE *f) {
    fprintf(f, "enum {");
    for (unsigned i = 0; i < optype->dst.n; i++)
        fprintf(f, " %s_%s = %u,", optype->name, optype->dst.at[i].name, i);
    for (unsigned i = 0; i < optype->src.n; i++)
        fprintf(f, " %s_%s = %u,", optype->name, optype->src.at[i].name, i);
    fprintf(f, " %s_ndst = %u, %s_nsrc = %u };\n", optype->name, optype->dst.n, optype->name, optype->src.n);
    for (unsigned i = 0; i < optype->mods.n; i++) {
        const IgMod *mod = &optype->mods.at[i];
        uint64_t mask = ((uint64_t)1 << mod->width) - 1;
        fprintf(f, "#define %s_%s_LO %u\n#define %s_%s_MASK 0x%llxu\n#define %s_%s_DEF %lluu\n", optype->name,
                mod->name, mod->lo, optype->name, mod->name, (unsigned long long)mask, optype->name,
                mod->name, (unsigned long long)((uint64_t)mod->def & mask));
    }
}

bool ig_emit_header(Ig *ig, FILE *f) {
    fprintf(f, "%s#ifndef HEDDLE_ISA_GEN_H\n#define HEDDLE_ISA_GEN_H\n\n", banner);
    fprintf(f, "enum Optype {\n");
    for (unsigned i = 0; i < ig->optypes.n; i++)
        fprintf(f, "    OT_%s = %u,\n", ig->optypes.at[i]->name, i);
    fprintf(f, "    OT_COUNT = %u\n};\n\nenum Opcode {\n", ig->optypes.n);
    for (unsigned i = 0; i < ig->opcodes.n; i++)
        fprintf(f, "    OC_%s = %u,\n", ig->opcodes.at[i], i);
    fprintf(f, "    OC_COUNT = %u\n};\n\n#define ISA_OPTYPES(X)", ig->opcodes.n);
    for (unsigned i = 1; i < ig->optypes.n; i++)
        fprintf(f, " \\\n    X(%s)", ig->optypes.at[i]->name);
    fprintf(f, "\n\n");
    igt_header(ig, f);
    fprintf(f,
            "/* What the value of a special register depends on, see isa/targets.isa. */\nenum IsaVaries {");
    for (unsigned i = 0; ig_varies_names[i]; i++)
        fprintf(f, "%s ISA_VARIES_%s", i ? "," : "", ig_varies_names[i]);
    fprintf(f, " };\n\n");
    for (unsigned i = 0; i < ig->types.n; i++) {
        const IgType *type = ig->types.at[i];
        if (type->flag || type->maps || type->numbers)
            continue;
        fprintf(f, "enum %s {", type->name);
        for (unsigned k = 0; k < type->vals.n; k++)
            fprintf(f, "%s%s_%s = %u", k ? ", " : " ", type->name, type->vals.at[k].name,
                    type->vals.at[k].sem);
        fprintf(f, " };\n");
    }
    fprintf(
        f,
        "\n/* Modifiers are stored XOR their default, so that 0 is \"all defaults\" and MSETs of different\n"
        " * modifiers are combined with |. Never touch the bits in another way. */\n"
        "#define MSET(op, mod, value) \\\n"
        "    ((((uint32_t)(value) & op##_##mod##_MASK) ^ op##_##mod##_DEF) << op##_##mod##_LO)\n"
        "#define MGET(op, mod, mods) \\\n"
        "    ((((uint32_t)(mods) >> op##_##mod##_LO) & op##_##mod##_MASK) ^ op##_##mod##_DEF)\n"
        "/* `mods` with one modifier replaced */\n"
        "#define MPUT(op, mod, mods, value) \\\n"
        "    (((uint32_t)(mods) & ~(op##_##mod##_MASK << op##_##mod##_LO)) | MSET(op, mod, value))\n\n");
    for (unsigned i = 1; i < ig->optypes.n; i++)
        header_optype(ig->optypes.at[i], f);
    fprintf(f, "#endif\n");
    return true;
}

/* ---- shared pieces: texts that occur again get the index of the first ---- */

typedef struct {
    VEC(const char *) text;
    VEC(unsigned) index;
    unsigned next;
} Pool;

/* Index of a piece of `n` entries; written to f when new. */
static unsigned pool_put(Ig *ig, Pool *pool, const char *text, unsigned n, FILE *f) {
    for (unsigned i = 0; i < pool->text.n; i++)
        if (!strcmp(pool->text.at[i], text))
            return pool->index.at[i];
    VEC_ADD(&ig->arena, &pool->text, text);
    VEC_ADD(&ig->arena, &pool->index, pool->next);
    fputs(text, f);
    pool->next += n;
    return pool->next - n;
}

typedef struct {
    Ig *g;
    Pool fields, conds, syntax, aliases, excepts, widths;
    FILE *fields_f, *conds_f, *syntax_f, *aliases_f, *excepts_f, *rows_f, *widths_f;
    VEC(unsigned) cond_start;
} Emit;

/* ---- conditions ---- */

static bool cond_value(Emit *emit, const IgRow *row, const IgCondItem *item, const IgMod *mod,
                       unsigned *out) {
    const IgType *t = NULL;
    for (unsigned i = 0; i < row->fields.n; i++)
        if (row->fields.at[i].name && !strcmp(row->fields.at[i].name, mod->name) && row->fields.at[i].type)
            t = row->fields.at[i].type;
    if (t && ig_enum_value(t, item->value.text, out))
        return true;
    if (mod->type &&
        ig_enum_value(mod->type, item->value.text, out)) /* a value that this target has no encoding for */
        return true;
    if (item->value.kind == TK_NUMBER) {
        *out = (unsigned)item->value.number;
        return true;
    }
    return ig_error(emit->g, item->value.loc, "%s is not a value of %s", item->value.text, mod->name);
}

static bool cond_item(Emit *emit, const IgRow *row, const IgCondItem *item, char **text) {
    static const char *const ops[] = {"CO_EQ", "CO_NE", "", "CO_AND", "CO_OR"};
    const IgOptype *ig_optype = emit->g->optypes.at[row->optype];
    if (item->op == CO_AND || item->op == CO_OR) {
        *text = arena_printf(&emit->g->arena, "%s    {%s, 0, 0},\n", *text, ops[item->op]);
        return true;
    }
    int m = ig_mod_index(ig_optype, item->name), s = ig_slot_index(ig_optype, item->name);
    unsigned v = 0;
    if (m < 0 && s < 0)
        return ig_error(emit->g, item->loc, "%s has no modifier or slot %s", ig_optype->name, item->name);
    if (m >= 0) {
        if (!cond_value(emit, row, item, &ig_optype->mods.at[m], &v))
            return false;
        *text = arena_printf(&emit->g->arena, "%s    {%s, %d, %u},\n", *text, ops[item->op], m, v);
        return true;
    }
    const char *op = item->op == CO_POW2               ? "CO_SLOT_POW2"
                     : !strcmp(item->value.text, "UR") ? (item->op == CO_EQ ? "CO_SLOT_UR" : "CO_SLOT_NUR")
                     : item->value.kind == TK_NUMBER   ? (item->op == CO_EQ ? "CO_SLOT_EQ" : "CO_SLOT_NE")
                     : item->op == CO_EQ               ? "CO_SLOT_RZ"
                                                       : "CO_SLOT_NRZ";
    if (item->op != CO_POW2 && item->value.kind == TK_NUMBER)
        v = (unsigned)item->value.number;
    *text = arena_printf(&emit->g->arena, "%s    {%s, %d, %u},\n", *text, op, s, v);
    return true;
}

/* 0 if there is no condition, else index + 1 into isa_cond_start. */
static bool cond_index(Emit *emit, const IgRow *r, const IgCond *cond, unsigned *out) {
    char *text = arena_printf(&emit->g->arena, "%s", "");
    *out = 0;
    if (!cond->n)
        return true;
    for (unsigned i = 0; i < cond->n; i++)
        if (!cond_item(emit, r, &cond->at[i], &text))
            return false;
    text = arena_printf(&emit->g->arena, "%s    {CO_END, 0, 0},\n", text);
    unsigned start = pool_put(emit->g, &emit->conds, text, cond->n + 1, emit->conds_f);
    for (unsigned i = 0; i < emit->cond_start.n; i++)
        if (emit->cond_start.at[i] == start) {
            *out = i + 1;
            return true;
        }
    VEC_ADD(&emit->g->arena, &emit->cond_start, start);
    *out = emit->cond_start.n;
    return true;
}

/* ---- fields ---- */

static unsigned attr_bits(const char *attr) {
    static const struct {
        const char *name;
        unsigned bits;
    } names[] = {{"neg", 1},   {"abs", 2},   {"not", 4},    {"bitnot", 4},
                 {"reuse", 8}, {"wide", 16}, {"half", 0x60}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(names[i].name, attr))
            return names[i].bits;
    return 0;
}

typedef struct {
    const char *kind;
    unsigned index, attr, flags;
    uint32_t def;
} FieldOut;

static bool field_role(Emit *emit, const IgRow *row, const IgField *field, FieldOut *out) {
    static const char *const ctrl[] = {"stall", "yield", "write_sb", "read_sb", "wait_mask"};
    const IgOptype *ig_optype = emit->g->optypes.at[row->optype];
    out->def = (uint32_t)field->def.number;
    out->flags = (field->reversed ? 1u : 0) | (field->has_default ? 2u : 0);
    out->index = 255;
    if (field->value == VT_CTRL) {
        out->kind = "FK_CTRL";
        for (unsigned i = 0; i < 5; i++)
            if (!strcmp(ctrl[i], field->name))
                out->index = i;
        return out->index < 5 || ig_error(emit->g, field->loc, "unknown control field %s", field->name);
    }
    if (!strcmp(field->name, "pg")) {
        out->kind = field->attr ? "FK_ATTR" : "FK_GUARD";
        out->attr = field->attr ? 4 : 0;
        return true;
    }
    int s = field->as ? ig_slot_index(ig_optype, field->as) : -1;
    if (s >= 0) {
        out->index = (unsigned)s;
        out->kind = field->kind == FD_WIDE ? "FK_WIDE" : field->attr ? "FK_ATTR" : "FK_OPERAND";
        out->attr = field->attr ? attr_bits(field->attr) : 0;
        if (field->kind == FD_WIDE) {
            int m = ig_mod_index(ig_optype, field->def.text);
            if (m < 0)
                return ig_error(emit->g, field->def.loc, "%s has no modifier %s", ig_optype->name,
                                field->def.text);
            out->def = (uint32_t)m;
        }
        if (!field->attr && (field->value == VT_SIMM || field->value == VT_UIMM) &&
            (field->width > 32 || field->distance))
            out->flags |= 4;
        if (field->attr && field->def.number)
            out->flags |= 8;
        return true;
    }
    out->index = (unsigned)ig_mod_index(ig_optype, field->name);
    out->kind = field->kind == FD_MODFIXED ? "FK_MODFIXED" : "FK_MOD";
    return true;
}

static bool field_text(Emit *emit, const IgRow *r, const IgField *field, char **text) {
    FieldOut o = {0};
    unsigned when;
    if (!field_role(emit, r, field, &o) || !cond_index(emit, r, &field->when, &when))
        return false;
    *text = arena_printf(
        &emit->g->arena,
        "%s    {%s, %d, %u, 0x%x, %u, {%u, %u, %u}, {%u, %u, %u}, %u, %u, %u, %u, %u, %d, 0x%xu},\n", *text,
        o.kind, (int)field->value, o.index, o.attr, field->nparts, field->lo[0], field->lo[1], field->lo[2],
        field->w[0], field->w[1], field->w[2], field->width, o.flags, field->scale,
        field->type ? field->type->index + 1 : 0, when, field->bias, o.def);
    return true;
}

static bool is_plain_bits(const IgField *field) {
    return field->kind == FD_FIXED || field->kind == FD_ZERO || field->kind == FD_SPARE;
}

typedef struct {
    unsigned field0, nfields, operand[SLOTS], attrs[SLOTS];
} RowFields;

static bool row_fields(Emit *emit, const IgRow *row, RowFields *o) {
    const IgOptype *t = emit->g->optypes.at[row->optype];
    char *text = arena_printf(&emit->g->arena, "%s", "");
    for (unsigned i = 0; i < row->fields.n; i++) {
        const IgField *field = &row->fields.at[i];
        if (is_plain_bits(field))
            continue;
        if (!field_text(emit, row, field, &text))
            return false;
        o->nfields++;
        int s = field->as && field->value != VT_CTRL && strcmp(field->name, "pg")
                    ? ig_slot_index(t, field->as)
                    : -1;
        if (s >= 0 && field->attr)
            o->attrs[s] |= attr_bits(field->attr);
        else if (s >= 0)
            o->operand[s] = o->nfields;
    }
    o->field0 = pool_put(emit->g, &emit->fields, text, o->nfields, emit->fields_f);
    return true;
}

static unsigned width_regs(const IgBitwidth *bitwidth) {
    return bitwidth->bits <= 32 ? 1 : bitwidth->bits / 32;
}

/* The widths that a slot has under conditions, from the `first` on, which is one: the first that holds
 * counts. */
static bool width_rules(Emit *emit, const IgRow *row, unsigned first, unsigned *code) {
    enum { MOST = 255 };
    char *text = arena_printf(&emit->g->arena, "%s", "");
    unsigned n = 1;
    for (unsigned i = first; i < row->widths.n; i++) {
        const IgBitwidth *bitwidth = &row->widths.at[i];
        unsigned when;
        if (!bitwidth->when.n || strcmp(bitwidth->slot, row->widths.at[first].slot) != 0)
            continue;
        if (!cond_index(emit, row, &bitwidth->when, &when))
            return false;
        text = arena_printf(&emit->g->arena, "%s    {%u, %u},\n", text, when, width_regs(bitwidth));
        n++;
    }
    unsigned start = pool_put(emit->g, &emit->widths, arena_printf(&emit->g->arena, "%s    {0, 1},\n", text),
                              n, emit->widths_f);
    if (start > MOST)
        return ig_error(emit->g, row->widths.at[first].loc, "too many widths under conditions");
    *code = 0x20 | start << 8;
    return true;
}

/* Registers of each slot, coded as isa/tables.h has it. */
static bool row_regs(Emit *emit, const IgRow *row, const RowFields *rf, unsigned regs[SLOTS]) {
    const IgOptype *ig_optype = emit->g->optypes.at[row->optype];
    for (unsigned i = 0; i < row->fields.n; i++) {
        const IgField *field = &row->fields.at[i];
        int s =
            field->as && !field->attr && field->kind == FD_FIELD ? ig_slot_index(ig_optype, field->as) : -1;
        if (s < 0 || !(field->value == VT_REG || field->value == VT_UREG || field->value == VT_PRED ||
                       field->value == VT_UPRED || field->value == VT_BREG))
            continue;
        regs[s] = rf->attrs[s] & 16 ? 0x80 : 1;
    }
    for (unsigned i = 0; i < row->widths.n; i++) {
        const IgBitwidth *bitwidth = &row->widths.at[i];
        int s = ig_slot_index(ig_optype, bitwidth->slot);
        for (unsigned k = 0; s < 0 && k < row->fields.n; k++)
            if (row->fields.at[k].as && !strcmp(row->fields.at[k].name, bitwidth->slot))
                s = ig_slot_index(ig_optype, row->fields.at[k].as);
        if (s < 0)
            return ig_error(emit->g, bitwidth->loc, "%s has no slot %s", ig_optype->name, bitwidth->slot);
        if (regs[s] != 1)
            continue;
        if (bitwidth->mod) {
            int m = ig_mod_index(ig_optype, bitwidth->mod);
            if (m < 0)
                return ig_error(emit->g, bitwidth->loc, "%s has no modifier %s", ig_optype->name,
                                bitwidth->mod);
            regs[s] = 0x40 | (unsigned)m;
        } else if (!bitwidth->when.n) {
            regs[s] = width_regs(bitwidth);
        } else if (!width_rules(emit, row, i, &regs[s])) {
            return false;
        }
    }
    return true;
}

/* ---- syntax ---- */

static unsigned syntax_index(Emit *emit, const IgSynVec *vec) {
    static const char *const ops[] = {"SY_END",    "SY_TEXT",    "SY_MOD",  "SY_SEP",     "SY_OPERAND",
                                      "SY_MODNUM", "SY_ADDRESS", "SY_CMEM", "SY_MODPAIR", "SY_MODCOPY"};
    char *text = arena_printf(&emit->g->arena, "%s", "");
    for (unsigned i = 0; i < vec->n; i++) {
        const IgSyn *syn = &vec->at[i];
        enum { MOD = 2, MODPAIR = 8 };
        unsigned mod = syn->op == MODPAIR ? syn->c + 1 : syn->flags >> 16 & 255;
        bool names_mod = syn->op == MOD || syn->op == MODPAIR;
        bool has_text = syn->text && !mod;
        text = arena_printf(&emit->g->arena, "%s    {%s, %u, %u, %u, %u, %u, %u, %u, %s, %s, %s%s%s},\n",
                            text, ops[syn->op], syn->a, names_mod ? 0 : syn->b, syn->c, syn->flags & 255,
                            syn->flags >> 8 & 255, syn->flags >> 24, mod,
                            names_mod ? arena_printf(&emit->g->arena, "%u", syn->b)
                            : mod     ? syn->text
                                      : "0",
                            syn->op == MODPAIR ? syn->text : "0", has_text ? "\"" : "",
                            has_text ? syn->text : "NULL", has_text ? "\"" : "");
    }
    return pool_put(emit->g, &emit->syntax, text, vec->n, emit->syntax_f);
}

static bool row_aliases(Emit *emit, const IgRow *row, unsigned *first) {
    char *text = arena_printf(&emit->g->arena, "%s", "");
    *first = 0;
    for (unsigned i = 0; i < row->aliases.n; i++) {
        unsigned c;
        if (!cond_index(emit, row, &row->aliases.at[i].cond, &c))
            return false;
        text = arena_printf(&emit->g->arena, "%s    {%u, %u},\n", text,
                            syntax_index(emit, &row->alias_programs.at[i]), c);
    }
    if (row->aliases.n)
        *first = pool_put(emit->g, &emit->aliases, text, row->aliases.n, emit->aliases_f);
    return true;
}

static bool row_exceptions(Emit *emit, const IgRow *row, unsigned *first) {
    char *text = arena_printf(&emit->g->arena, "%s", "");
    *first = 0;
    for (unsigned i = 0; i < row->errors.n; i++) {
        unsigned c;
        if (!cond_index(emit, row, &row->errors.at[i].cond, &c))
            return false;
        text = arena_printf(&emit->g->arena, "%s    {%u, \"%s\"},\n", text, c, row->errors.at[i].text);
    }
    if (row->errors.n)
        *first = pool_put(emit->g, &emit->excepts, text, row->errors.n, emit->excepts_f);
    return true;
}

static void print_slots(FILE *f, const unsigned v[SLOTS]) {
    fputc('{', f);
    for (unsigned i = 0; i < SLOTS; i++)
        fprintf(f, "%s%u", i ? ", " : "", v[i]);
    fputc('}', f);
}

typedef struct {
    uint32_t all, fixed,
        values; /* bits of modifiers: that the row has; that have one value in it; those values */
} RowMods;

static RowMods row_mods(const Ig *ig, const IgRow *row) {
    const IgOptype *ig_optype = ig->optypes.at[row->optype];
    RowMods mods = {0};
    for (unsigned i = 0; i < row->fields.n; i++) {
        const IgField *field = &row->fields.at[i];
        int m = (field->kind == FD_FIELD || field->kind == FD_MODFIXED) && !field->as && !field->attr
                    ? ig_mod_index(ig_optype, field->name)
                    : -1;
        if (m < 0)
            continue;
        const IgMod *mod = &ig_optype->mods.at[m];
        uint64_t bits = ((uint64_t)1 << mod->width) - 1;
        mods.all |= (uint32_t)(bits << mod->lo);
        if (field->kind != FD_MODFIXED)
            continue;
        mods.fixed |= (uint32_t)(bits << mod->lo);
        mods.values |= (uint32_t)((((uint64_t)field->def.number ^ (uint64_t)mod->def) & bits) << mod->lo);
    }
    return mods;
}

static bool emit_row(Emit *emit, const IgRow *row) {
    FILE *f = emit->rows_f;
    RowFields rf = {0};
    unsigned regs[SLOTS] = {0}, select, alias0, except0;
    RowMods mods = row_mods(emit->g, row);
    if (!row_fields(emit, row, &rf) || !row_regs(emit, row, &rf, regs) ||
        !cond_index(emit, row, &row->select, &select) || !row_aliases(emit, row, &alias0) ||
        !row_exceptions(emit, row, &except0))
        return false;
    fprintf(
        f, "    {{0x%llxu, 0x%llxu}, {0x%llxu, 0x%llxu}, {0x%llxu, 0x%llxu}, OC_%s, OT_%s, %u, %u, %u, %u, ",
        (unsigned long long)row->mask[0], (unsigned long long)row->mask[1], (unsigned long long)row->value[0],
        (unsigned long long)row->value[1], (unsigned long long)row->zero[0], (unsigned long long)row->zero[1],
        row->name, emit->g->optypes.at[row->optype]->name, rf.field0, rf.nfields,
        syntax_index(emit, &row->program), select);
    fprintf(f, "%u, %u, %u, %u, 0x%xu, 0x%xu, 0x%xu, ", alias0, row->aliases.n, except0, row->errors.n,
            mods.all, mods.fixed, mods.values);
    print_slots(f, rf.operand);
    fputs(", ", f);
    print_slots(f, regs);
    fputs(", ", f);
    print_slots(f, rf.attrs);
    fputs("},\n", f);
    return true;
}

/* ---- targets ---- */

static void emit_chains(const Ig *ig, const IgTarget *target, FILE *f) {
    fprintf(f, "static const uint16_t chain_%s[] = {0", target->name);
    unsigned next = 1;
    static unsigned start[4096]; /* this tool is one thread */
    memset(start, 0, sizeof start);
    for (unsigned k = 0; k < target->rows.n; k++) {
        unsigned key = (unsigned)(ig->rows.at[target->rows.at[k]]->value[0] & 0xfff);
        if (start[key])
            continue;
        start[key] = next + 1;
        for (unsigned j = k; j < target->rows.n; j++)
            if ((ig->rows.at[target->rows.at[j]]->value[0] & 0xfff) == key) {
                fprintf(f, ", %u", j + 1);
                next++;
            }
        fprintf(f, ", 0");
        next++;
    }
    fprintf(f, "};\nstatic const uint16_t decode_%s[4096] = {", target->name);
    for (unsigned i = 0; i < 4096; i++)
        if (start[i])
            fprintf(f, "[%u] = %u, ", i, start[i]);
    fprintf(f, "%s};\n", target->rows.n ? "" : "0");
}

static bool emit_info(Ig *ig, const IgTarget *target, FILE *f) {
    if (!ig_check_target(ig, target))
        return false;
    fprintf(f, "static const Target target_%s = {\n    .info = {.name = \"%s\",\n", target->name,
            target->name);
    for (unsigned i = 0; ig_props[i].name; i++) {
        const IgPropValue *value = &target->prop[i];
        if (ig_props[i].choices)
            fprintf(f, "        .%s = %s_%s,\n", ig_props[i].name, ig_props[i].choices, value->choice);
        else
            fprintf(f, "        .%s = 0x%llx,\n", ig_props[i].name, (unsigned long long)value->number);
    }
    fprintf(f, "        .num_regs = {");
    for (unsigned i = 0; i < IG_REG_FILES; i++)
        fprintf(f, "%s%lld", i ? ", " : "", (long long)target->num_regs[i]);
    fprintf(f, "}},\n");
    return true;
}

static bool emit_target(Emit *emit, unsigned target) {
    Ig *ig = emit->g;
    IgTarget *ig_target = ig->targets.at[target];
    FILE *f = emit->rows_f;
    fprintf(f, "static const IsaRow rows_%s[] = {\n", ig_target->name);
    unsigned *first = ARENA_ARRAY(&ig->arena, unsigned, ig->optypes.n + 1);
    for (unsigned o = 0; o < ig->optypes.n; o++) {
        first[o] = ig_target->rows.n;
        for (unsigned i = 0; i < ig->rows.n; i++)
            if (ig->rows.at[i]->target == target && ig->rows.at[i]->optype == o) {
                VEC_ADD(&ig->arena, &ig_target->rows, i);
                if (!emit_row(emit, ig->rows.at[i]))
                    return false;
            }
    }
    first[ig->optypes.n] = ig_target->rows.n;
    if (!ig_target->rows.n)
        fprintf(f, "    {{0}, {0}, {0}, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, {0}, {0}, {0}},\n");
    fprintf(f, "};\nstatic const uint16_t first_%s[] = {", ig_target->name);
    for (unsigned o = 0; o <= ig->optypes.n; o++)
        fprintf(f, "%u, ", first[o]);
    fprintf(f, "};\n");
    emit_chains(ig, ig_target, f);
    fprintf(f, "static const IsaSReg sregs_%s[] = {\n", ig_target->name);
    for (unsigned i = 0; i < ig_target->sregs.n; i++)
        fprintf(f, "    {%u, ISA_VARIES_%s, \"%s\", \"%s\"},\n", ig_target->sregs.at[i].number,
                ig_varies_names[ig_target->sregs.at[i].varies], ig_target->sregs.at[i].name,
                ig_target->sregs.at[i].text);
    if (!ig_target->sregs.n)
        fprintf(f, "    {0, 0, \"\", \"\"},\n");
    fprintf(f, "};\n");
    if (!emit_info(ig, ig_target, f))
        return false;
    fprintf(f,
            "    .rows = rows_%s, .nrows = %u, .first = first_%s, .decode = decode_%s, .chain = chain_%s,\n"
            "    .sregs = sregs_%s, .nsregs = %u, .units = 0x%x};\n\n",
            ig_target->name, ig_target->rows.n, ig_target->name, ig_target->name, ig_target->name,
            ig_target->name, ig_target->sregs.n, igt_units(emit->g, target));
    return true;
}

/* ---- the rest ---- */

static void emit_enums(const Ig *ig, FILE *f) {
    for (unsigned i = 0; i < ig->types.n; i++) {
        const IgType *type = ig->types.at[i];
        fprintf(f, "static const IsaEnumVal enum_%u[] = {", i);
        for (unsigned k = 0; k < type->vals.n; k++)
            fprintf(f, "{\"%s\", \"%s\", %u, %u, %u, %u, %d}, ", type->vals.at[k].name, type->vals.at[k].text,
                    type->vals.at[k].sem, type->vals.at[k].enc, type->vals.at[k].regs,
                    type->vals.at[k].access / 8, type->vals.at[k].zeroed);
        if (!type->vals.n)
            fprintf(f, "{\"\", \"\", 0, 0, 0, 0, 0}");
        fprintf(f, "};\n");
    }
    fprintf(f, "const IsaEnum isa_enums[] = {\n");
    for (unsigned i = 0; i < ig->types.n; i++) {
        const IgType *type = ig->types.at[i];
        uint64_t legal = 0;
        bool plain = true;
        for (unsigned k = 0; k < type->vals.n; k++) {
            if (type->vals.at[k].enc < 64)
                legal |= (uint64_t)1 << type->vals.at[k].enc;
            plain = plain && type->vals.at[k].enc == type->vals.at[k].sem;
        }
        fprintf(f, "    {\"%s\", enum_%u, %u, %u, %d, 0x%llxu},\n", type->flag ? "flag" : type->name, i,
                type->vals.n, type->width, plain, (unsigned long long)legal);
    }
    fprintf(f, "};\n\n");
}

static void emit_optypes(const Ig *ig, FILE *f) {
    for (unsigned i = 0; i < ig->optypes.n; i++) {
        const IgOptype *optype = ig->optypes.at[i];
        fprintf(f, "static const char *const slots_%u[] = {", i);
        for (unsigned k = 0; k < optype->dst.n; k++)
            fprintf(f, "\"%s\", ", optype->dst.at[k].name);
        for (unsigned k = 0; k < optype->src.n; k++)
            fprintf(f, "\"%s\", ", optype->src.at[k].name);
        fprintf(f, "NULL};\nstatic const IsaMod mods_%u[] = {", i);
        for (unsigned k = 0; k < optype->mods.n; k++)
            fprintf(f, "{\"%s\", %u, %u, %lld, %u}, ", optype->mods.at[k].name, optype->mods.at[k].lo,
                    optype->mods.at[k].width,
                    (long long)optype->mods.at[k].def & ((1ll << optype->mods.at[k].width) - 1),
                    optype->mods.at[k].type ? optype->mods.at[k].type->index + 1 : 0);
        fprintf(f, "{NULL, 0, 0, 0, 0}};\n");
    }
    fprintf(f, "const IsaOptype isa_optypes[] = {\n");
    for (unsigned i = 0; i < ig->optypes.n; i++) {
        const IgOptype *optype = ig->optypes.at[i];
        fprintf(f, "    {\"%s\", slots_%u, mods_%u, %u, %u, %u},\n", optype->name, i, i, optype->dst.n,
                optype->src.n, optype->mods.n);
    }
    fprintf(f, "};\n");
    igt_table(ig, f);
    fprintf(f,
            "const unsigned isa_noptypes = %u, isa_nopcodes = %u;\nconst char *const isa_opcode_names[] "
            "= {\n",
            ig->optypes.n, ig->opcodes.n);
    for (unsigned i = 0; i < ig->opcodes.n; i++)
        fprintf(f, "    \"%s\",\n", ig->opcodes.at[i]);
    fprintf(f, "};\n\n");
}

/* The targets that code is made for, their names, and all targets. */
static void emit_lists(Ig *ig, FILE *f) {
    for (int made = 1; made >= 0; made--) {
        fprintf(f, "const Target *const isa_%stargets[] = {\n", made ? "" : "all_");
        for (unsigned t = 0; t < ig->targets.n; t++)
            if (!made || ig_prop(ig->targets.at[t], "is_made")->number)
                fprintf(f, "    &target_%s,\n", ig->targets.at[t]->name);
        fprintf(f, "    NULL\n};\n\n");
    }
    fprintf(f, "const char isa_target_names[] = \"");
    const char *between = "";
    for (unsigned t = 0; t < ig->targets.n; t++)
        if (ig_prop(ig->targets.at[t], "is_made")->number) {
            fprintf(f, "%s%s", between, ig->targets.at[t]->name);
            between = ", ";
        }
    fprintf(f, "\";\n");
}

static void copy_part(FILE *from, const char *head, const char *tail, FILE *to) {
    char buf[4096];
    size_t n;
    fputs(head, to);
    rewind(from);
    while ((n = fread(buf, 1, sizeof buf, from)) > 0)
        fwrite(buf, 1, n, to);
    fputs(tail, to);
    fclose(from);
}

bool ig_emit_tables(Ig *ig, FILE *f) {
    Emit e = {.g = ig,
              .fields_f = tmpfile(),
              .conds_f = tmpfile(),
              .syntax_f = tmpfile(),
              .aliases_f = tmpfile(),
              .excepts_f = tmpfile(),
              .rows_f = tmpfile(),
              .widths_f = tmpfile()};
    if (!e.widths_f || !e.fields_f || !e.conds_f || !e.syntax_f || !e.aliases_f || !e.excepts_f || !e.rows_f)
        return ig_error(ig, (IgLoc){"isagen", 0, 0}, "cannot make a temporary file");
    for (unsigned t = 0; t < ig->targets.n; t++)
        if (!emit_target(&e, t))
            return false;
    fprintf(f, "%s#include \"isa/tables.h\"\n\n", banner);
    emit_enums(ig, f);
    emit_optypes(ig, f);
    copy_part(e.fields_f, "const IsaField isa_fields[] = {\n", "    {0}\n};\n\n", f);
    copy_part(e.conds_f, "const IsaCond isa_conds[] = {\n", "    {0, 0, 0}\n};\n\n", f);
    fprintf(f, "const uint16_t isa_cond_start[] = {");
    for (unsigned i = 0; i < e.cond_start.n; i++)
        fprintf(f, "%u, ", e.cond_start.at[i]);
    fprintf(f, "0};\n\n");
    copy_part(e.syntax_f, "const IsaSyn isa_syntax[] = {\n", "    {0}\n};\n\n", f);
    copy_part(e.aliases_f, "const IsaAlias isa_aliases[] = {\n", "    {0, 0}\n};\n\n", f);
    copy_part(e.excepts_f, "const IsaException isa_exceptions[] = {\n", "    {0, NULL}\n};\n\n", f);
    copy_part(e.widths_f, "const IsaWidth isa_widths[] = {\n", "    {0, 0}\n};\n\n", f);
    copy_part(e.rows_f, "", "", f);
    emit_lists(ig, f);
    return ig->nerrors == 0;
}
