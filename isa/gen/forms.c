/* NVIDIA's operand forms: one `forms<base>` statement becomes an opcode a form. Which bits an operand and its
 * modifiers take follows from where the form puts it:
 *   A  24-31            neg 72 abs 73 half 74-75
 *   W  32-63            neg 63 abs 62 half 60-61 (not for imm)
 *   V  64-71            neg 75 abs 74, or for fp16: 84 83 81-82
 * The reuse bit follows the operand, not the place: A 122, B 123, C 124.
 * SPDX-License-Identifier: MIT */
#include "isa/gen/isagen.h"
#include <string.h>

typedef enum { IN_REG, IN_IMM, IN_CMEM, IN_UREG } Kind;
typedef enum { AT_A, AT_W, AT_V } Place;

static const struct {
    const char *name;
    unsigned number;
    Kind w;
    bool swap; /* the C operand sits in W, the B operand in V */
    bool uniform;
} forms[] = {{"R", 1, IN_REG, false, true},  {"RI", 2, IN_IMM, true, true},   {"RC", 3, IN_CMEM, true, false},
             {"I", 4, IN_IMM, false, true},  {"C", 5, IN_CMEM, false, false}, {"U", 6, IN_UREG, false, false},
             {"RU", 7, IN_UREG, true, false}};

static void add(Ig *g, IgDef *d, unsigned lo, unsigned width, const char *type, const char *name,
                const char *attr, const char *def, IgLoc loc) {
    IgField f = {.kind = FD_FIELD,
                 .nparts = 1,
                 .width = width,
                 .type_name = type,
                 .name = name,
                 .attr = attr,
                 .scale = 1,
                 .loc = loc};
    f.lo[0] = lo;
    f.w[0] = width;
    if (def) {
        f.has_default = true;
        f.def = (IgTok){.kind = TK_IDENT, .text = def, .loc = loc};
    }
    VEC_ADD(&g->arena, &d->fields, f);
}

static void add_fixed(Ig *g, IgDef *d, unsigned lo, unsigned width, const char *type, const char *name,
                      unsigned value, IgLoc loc) {
    add(g, d, lo, width, type, name, NULL, NULL, loc);
    IgField *f = &d->fields.at[d->fields.n - 1];
    f->kind = FD_FIXED;
    f->def = (IgTok){.kind = TK_NUMBER, .text = "", .number = value, .loc = loc};
}

static void add_modifiers(Ig *g, IgDef *d, const IgFormSlot *s, Place at, bool reg, unsigned reuse,
                          IgLoc loc) {
    static const unsigned bits[3][3] = {{72, 73, 74}, {63, 62, 60}, {75, 74, 81}};
    unsigned neg = bits[at][0], abs = bits[at][1], half = bits[at][2];
    if (at == AT_V && (s->half || s->half_bits)) {
        neg = 84;
        abs = 83;
    }
    if (s->neg)
        add(g, d, neg, 1, "SignModi", s->slot, "neg", NULL, loc);
    if (s->bitnot)
        add(g, d, neg, 1, "SignModi", s->slot, "bitnot", NULL, loc);
    if (s->abs)
        add(g, d, abs, 1, "SignModi", s->slot, "abs", NULL, loc);
    if (s->half)
        add(g, d, half, 2, "Half", s->slot, "half", NULL, loc);
    if (s->half_sel)
        add(g, d, half, 2, "HalfSel", "half", NULL, "H0", loc);
    if (reg)
        add(g, d, reuse, 1, "Reuse", s->slot, "reuse", NULL, loc);
}

static void add_operand(Ig *g, IgDef *d, const IgForms *f, const IgFormSlot *s, Place at, Kind kind,
                        unsigned reuse) {
    static const unsigned lo[] = {24, 32, 64};
    IgLoc loc = f->loc;
    if (!s->slot)
        return;
    if (f->uniform && kind == IN_REG)
        kind = IN_UREG;
    switch (kind) {
    case IN_REG: add(g, d, lo[at], 8, "Reg", s->slot, NULL, "RZ", loc); break;
    case IN_UREG: add(g, d, lo[at], 6, "UReg", s->slot, NULL, "URZ", loc); break;
    case IN_IMM: add(g, d, 32, 32, f->imm_type, s->slot, NULL, NULL, loc); return;
    case IN_CMEM:
        add(g, d, 54, 5, "CMem", s->slot, NULL, NULL, loc);
        d->fields.at[d->fields.n - 1].nparts = 2;
        d->fields.at[d->fields.n - 1].width = 21;
        d->fields.at[d->fields.n - 1].lo[1] = 38;
        d->fields.at[d->fields.n - 1].w[1] = 16;
        break;
    }
    add_modifiers(g, d, s, at, kind == IN_REG, reuse, loc);
}

static bool one_form(Ig *g, IgDef *optype, const IgForms *f, const IgTok *name) {
    unsigned k = 0, n = sizeof forms / sizeof *forms;
    while (k < n && (strcmp(forms[k].name, name->text) || (f->uniform && !forms[k].uniform)))
        k++;
    if (k == n)
        return ig_error(g, name->loc, "unknown form %s", name->text);
    IgDef *d = ARENA_NEW(&g->arena, IgDef);
    d->kind = DK_OPCODE;
    d->name = arena_printf(&g->arena, "%s%s_%s", optype->name, f->suffix, name->text);
    d->loc = name->loc;
    d->targets = optype->targets;
    d->select = f->select;
    VEC_ADD(&g->arena, &d->parents, ((IgTok){.kind = TK_IDENT, .text = optype->name, .loc = f->loc}));
    add_fixed(g, d, 0, 12, "Opcode", "opcode", f->base | forms[k].number << 9, f->loc);
    if (f->uniform || forms[k].w == IN_UREG)
        add_fixed(g, d, 91, 1, "UImm1", "uniform", 1, f->loc);
    const IgFormSlot *a = &f->slot[0], *b = &f->slot[1], *c = &f->slot[2];
    add_operand(g, d, f, a, AT_A, IN_REG, 122);
    if (!forms[k].swap) {
        add_operand(g, d, f, b, AT_W, forms[k].w, 123);
        add_operand(g, d, f, c, AT_V, IN_REG, 124);
    } else if (b->slot && c->slot) {
        add_operand(g, d, f, c, AT_W, forms[k].w, 124);
        add_operand(g, d, f, b, AT_V, IN_REG, 123);
    } else {
        add_operand(g, d, f, c->slot ? c : b, AT_W, forms[k].w, 123);
    }
    VEC_ADD(&g->arena, &g->defs, d);
    return true;
}

bool ig_finish_parse(Ig *g) {
    unsigned n = g->defs.n;
    for (unsigned i = 0; i < n; i++) {
        IgDef *d = g->defs.at[i];
        if (d->kind != DK_OPTYPE && d->forms.n)
            ig_error(g, d->forms.at[0].loc, "forms<> belongs in an optype");
        if (d->kind != DK_OPTYPE)
            continue;
        for (unsigned k = 0; k < d->forms.n; k++)
            for (unsigned j = 0; j < d->forms.at[k].names.n; j++)
                if (!one_form(g, d, &d->forms.at[k], &d->forms.at[k].names.at[j]))
                    return false;
    }
    for (unsigned i = 0; i < g->defs.n; i++) {
        IgDef *d = g->defs.at[i];
        for (unsigned k = 0; d->kind == DK_OPCODE && k < d->parents.n; k++)
            for (unsigned j = 0; j < n; j++)
                if (g->defs.at[j]->kind == DK_OPTYPE && !strcmp(g->defs.at[j]->name, d->parents.at[k].text) &&
                    (g->defs.at[j]->targets & d->targets))
                    g->defs.at[j]->used = true;
    }
    /* An optype without opcodes is its own opcode. */
    for (unsigned i = 0; i < n; i++) {
        IgDef *o = g->defs.at[i];
        if (o->kind != DK_OPTYPE || o->used)
            continue;
        IgDef *d = ARENA_NEW(&g->arena, IgDef);
        d->kind = DK_OPCODE;
        d->name = o->name;
        d->loc = o->loc;
        d->targets = o->targets;
        VEC_ADD(&g->arena, &d->parents, ((IgTok){.kind = TK_IDENT, .text = o->name, .loc = o->loc}));
        VEC_ADD(&g->arena, &g->defs, d);
    }
    return g->nerrors == 0;
}
