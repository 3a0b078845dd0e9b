/* isagen's output: isa_gen.h (numbers for C code) and isa_tables.c (the tables of isa/tables.h).
 * Fields, conditions and syntax programs that several rows share are written once.
 * SPDX-License-Identifier: MIT */
#include "isa/gen/isagen.h"
#include <ctype.h>
#include <string.h>

enum { SLOTS = IG_MAX_SLOTS };

static const char banner[] = "/* Made by isagen from the descriptions in isa; do not edit.\n"
                             " * SPDX-License-Identifier: MIT */\n";

/* ---- isa_gen.h ---- */

static void header_optype(const IgOptype *t, FILE *f) {
    fprintf(f, "enum {");
    for (unsigned i = 0; i < t->dst.n; i++)
        fprintf(f, " %s_%s = %u,", t->name, t->dst.at[i].name, i);
    for (unsigned i = 0; i < t->src.n; i++)
        fprintf(f, " %s_%s = %u,", t->name, t->src.at[i].name, i);
    fprintf(f, " %s_ndst = %u, %s_nsrc = %u };\n", t->name, t->dst.n, t->name, t->src.n);
    for (unsigned i = 0; i < t->mods.n; i++) {
        const IgMod *m = &t->mods.at[i];
        uint64_t mask = ((uint64_t)1 << m->width) - 1;
        fprintf(f, "#define %s_%s_LO %u\n#define %s_%s_MASK 0x%llxu\n#define %s_%s_DEF %lluu\n", t->name,
                m->name, m->lo, t->name, m->name, (unsigned long long)mask, t->name, m->name,
                (unsigned long long)((uint64_t)m->def & mask));
    }
}

bool ig_emit_header(Ig *g, FILE *f) {
    fprintf(f, "%s#ifndef HEDDLE_ISA_GEN_H\n#define HEDDLE_ISA_GEN_H\n\n", banner);
    fprintf(f, "enum Optype {\n");
    for (unsigned i = 0; i < g->optypes.n; i++)
        fprintf(f, "    OT_%s = %u,\n", g->optypes.at[i]->name, i);
    fprintf(f, "    OT_COUNT = %u\n};\n\nenum Opcode {\n", g->optypes.n);
    for (unsigned i = 0; i < g->opcodes.n; i++)
        fprintf(f, "    OC_%s = %u,\n", g->opcodes.at[i], i);
    fprintf(f, "    OC_COUNT = %u\n};\n\n#define ISA_OPTYPES(X)", g->opcodes.n);
    for (unsigned i = 1; i < g->optypes.n; i++)
        fprintf(f, " \\\n    X(%s)", g->optypes.at[i]->name);
    fprintf(f, "\n\n/* Properties of optypes, isa_optype_flags(). */\nenum {\n");
    for (unsigned i = 0; ig_flag_names[i]; i++)
        fprintf(f, "    ISA_FLAG_%s = 1 << %u,\n", ig_flag_names[i], i);
    fprintf(f, "    ISA_FLAG_NONE = 0\n};\n\n");
    for (unsigned i = 0; i < g->types.n; i++) {
        const IgType *t = g->types.at[i];
        if (t->flag || t->maps || t->numbers)
            continue;
        fprintf(f, "enum %s {", t->name);
        for (unsigned k = 0; k < t->vals.n; k++)
            fprintf(f, "%s%s_%s = %u", k ? ", " : " ", t->name, t->vals.at[k].name, t->vals.at[k].sem);
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
    for (unsigned i = 1; i < g->optypes.n; i++)
        header_optype(g->optypes.at[i], f);
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
static unsigned pool_put(Ig *g, Pool *p, const char *text, unsigned n, FILE *f) {
    for (unsigned i = 0; i < p->text.n; i++)
        if (!strcmp(p->text.at[i], text))
            return p->index.at[i];
    VEC_ADD(&g->arena, &p->text, text);
    VEC_ADD(&g->arena, &p->index, p->next);
    fputs(text, f);
    p->next += n;
    return p->next - n;
}

typedef struct {
    Ig *g;
    Pool fields, conds, syntax, aliases, excepts;
    FILE *fields_f, *conds_f, *syntax_f, *aliases_f, *excepts_f, *rows_f;
    VEC(unsigned) cond_start;
} Emit;

/* ---- conditions ---- */

static bool cond_value(Emit *e, const IgRow *r, const IgCondItem *c, const IgMod *m, unsigned *out) {
    const IgType *t = NULL;
    for (unsigned i = 0; i < r->fields.n; i++)
        if (r->fields.at[i].name && !strcmp(r->fields.at[i].name, m->name) && r->fields.at[i].type)
            t = r->fields.at[i].type;
    if (t && ig_enum_value(t, c->value.text, out))
        return true;
    if (m->type &&
        ig_enum_value(m->type, c->value.text, out)) /* a value that this target has no encoding for */
        return true;
    if (c->value.kind == TK_NUMBER) {
        *out = (unsigned)c->value.number;
        return true;
    }
    return ig_error(e->g, c->value.loc, "%s is not a value of %s", c->value.text, m->name);
}

static bool cond_item(Emit *e, const IgRow *r, const IgCondItem *c, char **text) {
    static const char *const ops[] = {"CO_EQ", "CO_NE", "", "CO_AND", "CO_OR"};
    const IgOptype *t = e->g->optypes.at[r->optype];
    if (c->op == CO_AND || c->op == CO_OR) {
        *text = arena_printf(&e->g->arena, "%s    {%s, 0, 0},\n", *text, ops[c->op]);
        return true;
    }
    int m = ig_mod_index(t, c->name), s = ig_slot_index(t, c->name);
    unsigned v = 0;
    if (m < 0 && s < 0)
        return ig_error(e->g, c->loc, "%s has no modifier or slot %s", t->name, c->name);
    if (m >= 0) {
        if (!cond_value(e, r, c, &t->mods.at[m], &v))
            return false;
        *text = arena_printf(&e->g->arena, "%s    {%s, %d, %u},\n", *text, ops[c->op], m, v);
        return true;
    }
    const char *op = c->op == CO_POW2               ? "CO_SLOT_POW2"
                     : !strcmp(c->value.text, "UR") ? (c->op == CO_EQ ? "CO_SLOT_UR" : "CO_SLOT_NUR")
                     : c->value.kind == TK_NUMBER   ? (c->op == CO_EQ ? "CO_SLOT_EQ" : "CO_SLOT_NE")
                     : c->op == CO_EQ               ? "CO_SLOT_RZ"
                                                    : "CO_SLOT_NRZ";
    if (c->op != CO_POW2 && c->value.kind == TK_NUMBER)
        v = (unsigned)c->value.number;
    *text = arena_printf(&e->g->arena, "%s    {%s, %d, %u},\n", *text, op, s, v);
    return true;
}

/* 0 if there is no condition, else index + 1 into isa_cond_start. */
static bool cond_index(Emit *e, const IgRow *r, const IgCond *c, unsigned *out) {
    char *text = arena_printf(&e->g->arena, "%s", "");
    *out = 0;
    if (!c->n)
        return true;
    for (unsigned i = 0; i < c->n; i++)
        if (!cond_item(e, r, &c->at[i], &text))
            return false;
    text = arena_printf(&e->g->arena, "%s    {CO_END, 0, 0},\n", text);
    unsigned start = pool_put(e->g, &e->conds, text, c->n + 1, e->conds_f);
    for (unsigned i = 0; i < e->cond_start.n; i++)
        if (e->cond_start.at[i] == start) {
            *out = i + 1;
            return true;
        }
    VEC_ADD(&e->g->arena, &e->cond_start, start);
    *out = e->cond_start.n;
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

static bool field_role(Emit *e, const IgRow *r, const IgField *f, FieldOut *o) {
    static const char *const ctrl[] = {"stall", "yield", "write_sb", "read_sb", "wait_mask"};
    const IgOptype *t = e->g->optypes.at[r->optype];
    o->def = (uint32_t)f->def.number;
    o->flags = (f->reversed ? 1u : 0) | (f->has_default ? 2u : 0);
    o->index = 255;
    if (f->value == VT_CTRL) {
        o->kind = "FK_CTRL";
        for (unsigned i = 0; i < 5; i++)
            if (!strcmp(ctrl[i], f->name))
                o->index = i;
        return o->index < 5 || ig_error(e->g, f->loc, "unknown control field %s", f->name);
    }
    if (!strcmp(f->name, "pg")) {
        o->kind = f->attr ? "FK_ATTR" : "FK_GUARD";
        o->attr = f->attr ? 4 : 0;
        return true;
    }
    int s = f->as ? ig_slot_index(t, f->as) : -1;
    if (s >= 0) {
        o->index = (unsigned)s;
        o->kind = f->kind == FD_WIDE ? "FK_WIDE" : f->attr ? "FK_ATTR" : "FK_OPERAND";
        o->attr = f->attr ? attr_bits(f->attr) : 0;
        if (f->kind == FD_WIDE) {
            int m = ig_mod_index(t, f->def.text);
            if (m < 0)
                return ig_error(e->g, f->def.loc, "%s has no modifier %s", t->name, f->def.text);
            o->def = (uint32_t)m;
        }
        if (!f->attr && (f->value == VT_SIMM || f->value == VT_UIMM) && (f->width > 32 || f->distance))
            o->flags |= 4;
        if (f->attr && f->def.number)
            o->flags |= 8;
        return true;
    }
    o->index = (unsigned)ig_mod_index(t, f->name);
    o->kind = f->kind == FD_MODFIXED ? "FK_MODFIXED" : "FK_MOD";
    return true;
}

static bool field_text(Emit *e, const IgRow *r, const IgField *f, char **text) {
    FieldOut o = {0};
    unsigned when;
    if (!field_role(e, r, f, &o) || !cond_index(e, r, &f->when, &when))
        return false;
    *text = arena_printf(
        &e->g->arena,
        "%s    {%s, %d, %u, 0x%x, %u, {%u, %u, %u}, {%u, %u, %u}, %u, %u, %u, %u, %u, %d, 0x%xu},\n", *text,
        o.kind, (int)f->value, o.index, o.attr, f->nparts, f->lo[0], f->lo[1], f->lo[2], f->w[0], f->w[1],
        f->w[2], f->width, o.flags, f->scale, f->type ? f->type->index + 1 : 0, when, f->bias, o.def);
    return true;
}

static bool is_plain_bits(const IgField *f) {
    return f->kind == FD_FIXED || f->kind == FD_ZERO || f->kind == FD_SPARE;
}

typedef struct {
    unsigned field0, nfields, operand[SLOTS], attrs[SLOTS];
} RowFields;

static bool row_fields(Emit *e, const IgRow *r, RowFields *o) {
    const IgOptype *t = e->g->optypes.at[r->optype];
    char *text = arena_printf(&e->g->arena, "%s", "");
    for (unsigned i = 0; i < r->fields.n; i++) {
        const IgField *f = &r->fields.at[i];
        if (is_plain_bits(f))
            continue;
        if (!field_text(e, r, f, &text))
            return false;
        o->nfields++;
        int s = f->as && f->value != VT_CTRL && strcmp(f->name, "pg") ? ig_slot_index(t, f->as) : -1;
        if (s >= 0 && f->attr)
            o->attrs[s] |= attr_bits(f->attr);
        else if (s >= 0)
            o->operand[s] = o->nfields;
    }
    o->field0 = pool_put(e->g, &e->fields, text, o->nfields, e->fields_f);
    return true;
}

/* Registers of each slot, coded as isa/tables.h has it. */
static bool row_regs(Emit *e, const IgRow *r, const RowFields *rf, unsigned regs[SLOTS]) {
    const IgOptype *t = e->g->optypes.at[r->optype];
    for (unsigned i = 0; i < r->fields.n; i++) {
        const IgField *f = &r->fields.at[i];
        int s = f->as && !f->attr && f->kind == FD_FIELD ? ig_slot_index(t, f->as) : -1;
        if (s < 0 || !(f->value == VT_REG || f->value == VT_UREG || f->value == VT_PRED ||
                       f->value == VT_UPRED || f->value == VT_BREG))
            continue;
        regs[s] = rf->attrs[s] & 16 ? 0x80 : 1;
    }
    for (unsigned i = 0; i < r->widths.n; i++) {
        const IgBitwidth *b = &r->widths.at[i];
        int s = ig_slot_index(t, b->slot);
        for (unsigned k = 0; s < 0 && k < r->fields.n; k++)
            if (r->fields.at[k].as && !strcmp(r->fields.at[k].name, b->slot))
                s = ig_slot_index(t, r->fields.at[k].as);
        if (s < 0)
            return ig_error(e->g, b->loc, "%s has no slot %s", t->name, b->slot);
        if (regs[s] != 1)
            continue;
        if (b->mod) {
            int m = ig_mod_index(t, b->mod);
            if (m < 0)
                return ig_error(e->g, b->loc, "%s has no modifier %s", t->name, b->mod);
            regs[s] = 0x40 | (unsigned)m;
        } else {
            regs[s] = b->bits <= 32 ? 1 : b->bits / 32;
        }
    }
    return true;
}

/* ---- syntax ---- */

static unsigned syntax_index(Emit *e, const IgSynVec *v) {
    static const char *const ops[] = {"SY_END",    "SY_TEXT",    "SY_MOD",  "SY_SEP",     "SY_OPERAND",
                                      "SY_MODNUM", "SY_ADDRESS", "SY_CMEM", "SY_MODPAIR", "SY_MODCOPY"};
    char *text = arena_printf(&e->g->arena, "%s", "");
    for (unsigned i = 0; i < v->n; i++) {
        const IgSyn *y = &v->at[i];
        enum { MOD = 2, MODPAIR = 8 };
        unsigned mod = y->op == MODPAIR ? y->c + 1 : y->flags >> 16 & 255;
        bool names_mod = y->op == MOD || y->op == MODPAIR;
        bool has_text = y->text && !mod;
        text = arena_printf(&e->g->arena, "%s    {%s, %u, %u, %u, %u, %u, %u, %u, %s, %s, %s%s%s},\n", text,
                            ops[y->op], y->a, names_mod ? 0 : y->b, y->c, y->flags & 255, y->flags >> 8 & 255,
                            y->flags >> 24, mod,
                            names_mod ? arena_printf(&e->g->arena, "%u", y->b)
                            : mod     ? y->text
                                      : "0",
                            y->op == MODPAIR ? y->text : "0", has_text ? "\"" : "",
                            has_text ? y->text : "NULL", has_text ? "\"" : "");
    }
    return pool_put(e->g, &e->syntax, text, v->n, e->syntax_f);
}

static bool row_aliases(Emit *e, const IgRow *r, unsigned *first) {
    char *text = arena_printf(&e->g->arena, "%s", "");
    *first = 0;
    for (unsigned i = 0; i < r->aliases.n; i++) {
        unsigned c;
        if (!cond_index(e, r, &r->aliases.at[i].cond, &c))
            return false;
        text = arena_printf(&e->g->arena, "%s    {%u, %u},\n", text,
                            syntax_index(e, &r->alias_programs.at[i]), c);
    }
    if (r->aliases.n)
        *first = pool_put(e->g, &e->aliases, text, r->aliases.n, e->aliases_f);
    return true;
}

static bool row_exceptions(Emit *e, const IgRow *r, unsigned *first) {
    char *text = arena_printf(&e->g->arena, "%s", "");
    *first = 0;
    for (unsigned i = 0; i < r->errors.n; i++) {
        unsigned c;
        if (!cond_index(e, r, &r->errors.at[i].cond, &c))
            return false;
        text = arena_printf(&e->g->arena, "%s    {%u, \"%s\"},\n", text, c, r->errors.at[i].text);
    }
    if (r->errors.n)
        *first = pool_put(e->g, &e->excepts, text, r->errors.n, e->excepts_f);
    return true;
}

static void print_slots(FILE *f, const unsigned v[SLOTS]) {
    fputc('{', f);
    for (unsigned i = 0; i < SLOTS; i++)
        fprintf(f, "%s%u", i ? ", " : "", v[i]);
    fputc('}', f);
}

static uint32_t mods_mask(const Ig *g, const IgRow *r) {
    const IgOptype *t = g->optypes.at[r->optype];
    uint64_t mask = 0;
    for (unsigned i = 0; i < r->fields.n; i++) {
        const IgField *f = &r->fields.at[i];
        int m = (f->kind == FD_FIELD || f->kind == FD_MODFIXED) && !f->as && !f->attr
                    ? ig_mod_index(t, f->name)
                    : -1;
        if (m >= 0)
            mask |= (((uint64_t)1 << t->mods.at[m].width) - 1) << t->mods.at[m].lo;
    }
    return (uint32_t)mask;
}

static bool emit_row(Emit *e, const IgRow *r) {
    FILE *f = e->rows_f;
    RowFields rf = {0};
    unsigned regs[SLOTS] = {0}, select, alias0, except0;
    if (!row_fields(e, r, &rf) || !row_regs(e, r, &rf, regs) || !cond_index(e, r, &r->select, &select) ||
        !row_aliases(e, r, &alias0) || !row_exceptions(e, r, &except0))
        return false;
    fprintf(f,
            "    {{0x%llxu, 0x%llxu}, {0x%llxu, 0x%llxu}, {0x%llxu, 0x%llxu}, OC_%s, OT_%s, %u, %u, %u, %u, ",
            (unsigned long long)r->mask[0], (unsigned long long)r->mask[1], (unsigned long long)r->value[0],
            (unsigned long long)r->value[1], (unsigned long long)r->zero[0], (unsigned long long)r->zero[1],
            r->name, e->g->optypes.at[r->optype]->name, rf.field0, rf.nfields, syntax_index(e, &r->program),
            select);
    fprintf(f, "%u, %u, %u, %u, 0x%xu, ", alias0, r->aliases.n, except0, r->errors.n, mods_mask(e->g, r));
    print_slots(f, rf.operand);
    fputs(", ", f);
    print_slots(f, regs);
    fputs(", ", f);
    print_slots(f, rf.attrs);
    fputs("},\n", f);
    return true;
}

/* ---- targets ---- */

static void emit_chains(const Ig *g, const IgTarget *t, FILE *f) {
    fprintf(f, "static const uint16_t chain_%s[] = {0", t->name);
    unsigned next = 1;
    static unsigned start[4096]; /* this tool is one thread */
    memset(start, 0, sizeof start);
    for (unsigned k = 0; k < t->rows.n; k++) {
        unsigned key = (unsigned)(g->rows.at[t->rows.at[k]]->value[0] & 0xfff);
        if (start[key])
            continue;
        start[key] = next + 1;
        for (unsigned j = k; j < t->rows.n; j++)
            if ((g->rows.at[t->rows.at[j]]->value[0] & 0xfff) == key) {
                fprintf(f, ", %u", j + 1);
                next++;
            }
        fprintf(f, ", 0");
        next++;
    }
    fprintf(f, "};\nstatic const uint16_t decode_%s[4096] = {", t->name);
    for (unsigned i = 0; i < 4096; i++)
        if (start[i])
            fprintf(f, "[%u] = %u, ", i, start[i]);
    fprintf(f, "};\n");
}

static bool emit_target(Emit *e, unsigned target) {
    Ig *g = e->g;
    IgTarget *t = g->targets.at[target];
    FILE *f = e->rows_f;
    fprintf(f, "static const IsaRow rows_%s[] = {\n", t->name);
    unsigned *first = ARENA_ARRAY(&g->arena, unsigned, g->optypes.n + 1);
    for (unsigned o = 0; o < g->optypes.n; o++) {
        first[o] = t->rows.n;
        for (unsigned i = 0; i < g->rows.n; i++)
            if (g->rows.at[i]->target == target && g->rows.at[i]->optype == o) {
                VEC_ADD(&g->arena, &t->rows, i);
                if (!emit_row(e, g->rows.at[i]))
                    return false;
            }
    }
    first[g->optypes.n] = t->rows.n;
    if (!t->rows.n)
        fprintf(f, "    {{0}, {0}, {0}, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, {0}, {0}, {0}},\n");
    fprintf(f, "};\nstatic const uint16_t first_%s[] = {", t->name);
    for (unsigned o = 0; o <= g->optypes.n; o++)
        fprintf(f, "%u, ", first[o]);
    fprintf(f, "};\n");
    emit_chains(g, t, f);
    fprintf(f, "static const IsaSReg sregs_%s[] = {\n", t->name);
    for (unsigned i = 0; i < t->sregs.n; i++)
        fprintf(f, "    {%u, \"%s\", \"%s\"},\n", t->sregs.at[i].number, t->sregs.at[i].name,
                t->sregs.at[i].text);
    if (!t->sregs.n)
        fprintf(f, "    {0, \"\", \"\"},\n");
    const int64_t *p = t->prop;
    const int64_t *r = p + ig_prop_count();
    fprintf(f,
            "};\nstatic const Target target_%s = {\n    .info = {.name = \"%s\", .elf_machine = 0x%llx, "
            ".elf_osabi = "
            "0x%llx,\n    .elf_abiversion = %lld, .elf_flags = 0x%llx, .param_base_bytes = 0x%llx, "
            ".ntid_offset_bytes "
            "= 0x%llx,\n    .nctaid_offset_bytes = 0x%llx, .stack_top_offset_bytes = 0x%llx, "
            ".dynamic_shared_offset_bytes = 0x%llx,\n    .gridid_offset_bytes = 0x%llx, .branch_unit_bytes = "
            "%lld, "
            ".reserved_regs = %lld, .has_alu_cmem = %lld,\n    .has_yield_fairness = %lld, .num_regs = "
            "{%lld, %lld, "
            "%lld, %lld, %lld}},\n",
            t->name, t->name, (long long)p[0], (long long)p[1], (long long)p[2], (long long)p[3],
            (long long)p[4], (long long)p[5], (long long)p[6], (long long)p[7], (long long)p[8],
            (long long)p[9], (long long)p[10], (long long)p[11], (long long)p[12], (long long)p[13],
            (long long)r[0], (long long)r[1], (long long)r[2], (long long)r[3], (long long)r[4]);
    fprintf(f,
            "    .rows = rows_%s, .nrows = %u, .first = first_%s, .decode = decode_%s, .chain = chain_%s,\n"
            "    .sregs = sregs_%s, .nsregs = %u};\n\n",
            t->name, t->rows.n, t->name, t->name, t->name, t->name, t->sregs.n);
    return true;
}

/* ---- the rest ---- */

static void emit_enums(const Ig *g, FILE *f) {
    for (unsigned i = 0; i < g->types.n; i++) {
        const IgType *t = g->types.at[i];
        fprintf(f, "static const IsaEnumVal enum_%u[] = {", i);
        for (unsigned k = 0; k < t->vals.n; k++)
            fprintf(f, "{\"%s\", \"%s\", %u, %u, %u}, ", t->vals.at[k].name, t->vals.at[k].text,
                    t->vals.at[k].sem, t->vals.at[k].enc, t->vals.at[k].regs);
        if (!t->vals.n)
            fprintf(f, "{\"\", \"\", 0, 0, 0}");
        fprintf(f, "};\n");
    }
    fprintf(f, "const IsaEnum isa_enums[] = {\n");
    for (unsigned i = 0; i < g->types.n; i++) {
        const IgType *t = g->types.at[i];
        uint64_t legal = 0;
        bool plain = true;
        for (unsigned k = 0; k < t->vals.n; k++) {
            if (t->vals.at[k].enc < 64)
                legal |= (uint64_t)1 << t->vals.at[k].enc;
            plain = plain && t->vals.at[k].enc == t->vals.at[k].sem;
        }
        fprintf(f, "    {\"%s\", enum_%u, %u, %u, %d, 0x%llxu},\n", t->flag ? "flag" : t->name, i, t->vals.n,
                t->width, plain, (unsigned long long)legal);
    }
    fprintf(f, "};\n\n");
}

static void emit_optypes(const Ig *g, FILE *f) {
    for (unsigned i = 0; i < g->optypes.n; i++) {
        const IgOptype *t = g->optypes.at[i];
        fprintf(f, "static const char *const slots_%u[] = {", i);
        for (unsigned k = 0; k < t->dst.n; k++)
            fprintf(f, "\"%s\", ", t->dst.at[k].name);
        for (unsigned k = 0; k < t->src.n; k++)
            fprintf(f, "\"%s\", ", t->src.at[k].name);
        fprintf(f, "NULL};\nstatic const IsaMod mods_%u[] = {", i);
        for (unsigned k = 0; k < t->mods.n; k++)
            fprintf(f, "{\"%s\", %u, %u, %lld, %u}, ", t->mods.at[k].name, t->mods.at[k].lo,
                    t->mods.at[k].width, (long long)t->mods.at[k].def & ((1ll << t->mods.at[k].width) - 1),
                    t->mods.at[k].type ? t->mods.at[k].type->index + 1 : 0);
        fprintf(f, "{NULL, 0, 0, 0, 0}};\n");
    }
    fprintf(f, "const IsaOptype isa_optypes[] = {\n");
    for (unsigned i = 0; i < g->optypes.n; i++) {
        const IgOptype *t = g->optypes.at[i];
        fprintf(f, "    {\"%s\", slots_%u, mods_%u, %u, %u, %u, 0x%x},\n", t->name, i, i, t->dst.n, t->src.n,
                t->mods.n, t->flags);
    }
    fprintf(f,
            "};\nconst unsigned isa_noptypes = %u, isa_nopcodes = %u;\nconst char *const isa_opcode_names[] "
            "= {\n",
            g->optypes.n, g->opcodes.n);
    for (unsigned i = 0; i < g->opcodes.n; i++)
        fprintf(f, "    \"%s\",\n", g->opcodes.at[i]);
    fprintf(f, "};\n\n");
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

bool ig_emit_tables(Ig *g, FILE *f) {
    Emit e = {.g = g,
              .fields_f = tmpfile(),
              .conds_f = tmpfile(),
              .syntax_f = tmpfile(),
              .aliases_f = tmpfile(),
              .excepts_f = tmpfile(),
              .rows_f = tmpfile()};
    if (!e.fields_f || !e.conds_f || !e.syntax_f || !e.aliases_f || !e.excepts_f || !e.rows_f)
        return ig_error(g, (IgLoc){"isagen", 0, 0}, "cannot make a temporary file");
    for (unsigned t = 0; t < g->targets.n; t++)
        if (!emit_target(&e, t))
            return false;
    fprintf(f, "%s#include \"isa/tables.h\"\n\n", banner);
    emit_enums(g, f);
    emit_optypes(g, f);
    copy_part(e.fields_f, "const IsaField isa_fields[] = {\n", "    {0}\n};\n\n", f);
    copy_part(e.conds_f, "const IsaCond isa_conds[] = {\n", "    {0, 0, 0}\n};\n\n", f);
    fprintf(f, "const uint16_t isa_cond_start[] = {");
    for (unsigned i = 0; i < e.cond_start.n; i++)
        fprintf(f, "%u, ", e.cond_start.at[i]);
    fprintf(f, "0};\n\n");
    copy_part(e.syntax_f, "const IsaSyn isa_syntax[] = {\n", "    {0}\n};\n\n", f);
    copy_part(e.aliases_f, "const IsaAlias isa_aliases[] = {\n", "    {0, 0}\n};\n\n", f);
    copy_part(e.excepts_f, "const IsaException isa_exceptions[] = {\n", "    {0, NULL}\n};\n\n", f);
    copy_part(e.rows_f, "", "", f);
    fprintf(f, "const Target *const isa_targets[] = {\n");
    for (unsigned t = 0; t < g->targets.n; t++)
        fprintf(f, "    &target_%s,\n", g->targets.at[t]->name);
    fprintf(f, "    NULL\n};\n");
    return g->nerrors == 0;
}
