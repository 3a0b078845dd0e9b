/* NVIDIA's operand forms: one `forms<base>` statement becomes an opcode a form. Which bits an operand and its
 * modifiers take follows from where the form puts it:
 *   A  24-31            neg 72 abs 73 half 74-75
 *   W  32-63            neg 63 abs 62 half 60-61 (not for imm)
 *   V  64-71            neg 75 abs 74, or for fp16: 84 83 81-82
 * The reuse bit follows the operand, not the place: A 122, B 123, C 124. Of the two operands of FADD and the
 * like, whose immediate takes the C operand's form (RI, not I), the second is the C operand.
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

static void add_field(Ig *ig, IgDef *ig_def, unsigned lo, unsigned width, const char *type, const char *name,
                      const char *attr, const char *def, IgLoc loc) {
    IgField f = ig_field(lo, width, type, name, attr, loc);
    if (def) {
        f.has_default = true;
        f.def = ig_name_token(def, loc);
    }
    VEC_ADD(&ig->arena, &ig_def->fields, f);
}

/* The last field is there when modifier `src` has this value. */
static void when_source(Ig *g, IgDef *def, const char *value) {
    IgField *field = &def->fields.at[def->fields.n - 1];
    IgCondItem item = {
        .op = CO_EQ, .name = "src", .value = ig_name_token(value, field->loc), .loc = field->loc};
    VEC_ADD(&g->arena, &field->when, item);
}

static void add_fixed(Ig *g, IgDef *ig_def, unsigned lo, unsigned width, const char *type, const char *name,
                      unsigned value, IgLoc loc) {
    add_field(g, ig_def, lo, width, type, name, NULL, NULL, loc);
    IgField *field = &ig_def->fields.at[ig_def->fields.n - 1];
    field->kind = FD_FIXED;
    field->def = (IgTok){.kind = TK_NUMBER, .text = "", .number = value, .loc = loc};
}

static void add_modifiers(Ig *g, IgDef *d, const IgFormSlot *form_slot, Place at, bool reg, unsigned reuse,
                          IgLoc loc) {
    static const unsigned bits[3][3] = {{72, 73, 74}, {63, 62, 60}, {75, 74, 81}};
    unsigned neg = bits[at][0], abs = bits[at][1], half = bits[at][2];
    if (at == AT_V && (form_slot->half || form_slot->half_bits)) {
        neg = 84;
        abs = 83;
    }
    if (form_slot->neg)
        add_field(g, d, neg, 1, "SignModi", form_slot->slot, "neg", NULL, loc);
    if (form_slot->bitnot)
        add_field(g, d, neg, 1, "SignModi", form_slot->slot, "bitnot", NULL, loc);
    if (form_slot->abs)
        add_field(g, d, abs, 1, "SignModi", form_slot->slot, "abs", NULL, loc);
    if (form_slot->half)
        add_field(g, d, half, 2, "Half", form_slot->slot, "half", NULL, loc);
    if (form_slot->half_sel)
        add_field(g, d, half, 2, "HalfSel", "half", NULL, "H0", loc);
    if (form_slot->part_sel) {
        add_field(g, d, half, 2, "ByteSel", "part", NULL, "B0", loc);
        when_source(g, d, "B8");
        add_field(g, d, half, 2, "HighSel", "part", NULL, "B0", loc);
        when_source(g, d, "B16");
    }
    if (reg)
        add_field(g, d, reuse, 1, "Reuse", form_slot->slot, "reuse", NULL, loc);
}

static void add_operand(Ig *g, IgDef *def, const IgForms *ig_forms, const IgFormSlot *form_slot, Place at,
                        Kind kind, unsigned reuse) {
    static const unsigned lo[] = {24, 32, 64};
    IgLoc loc = ig_forms->loc;
    if (!form_slot->slot)
        return;
    if (ig_forms->uniform && kind == IN_REG)
        kind = IN_UREG;
    switch (kind) {
    case IN_REG: add_field(g, def, lo[at], 8, "Reg", form_slot->slot, NULL, "RZ", loc); break;
    case IN_UREG: add_field(g, def, lo[at], 6, "UReg", form_slot->slot, NULL, "URZ", loc); break;
    case IN_IMM: add_field(g, def, 32, 32, ig_forms->imm_type, form_slot->slot, NULL, NULL, loc); return;
    case IN_CMEM:
        add_field(g, def, 54, 5, "CMem", form_slot->slot, NULL, NULL, loc);
        def->fields.at[def->fields.n - 1].nparts = 2;
        def->fields.at[def->fields.n - 1].width = 21;
        def->fields.at[def->fields.n - 1].lo[1] = 38;
        def->fields.at[def->fields.n - 1].w[1] = 16;
        break;
    }
    add_modifiers(g, def, form_slot, at, kind == IN_REG, reuse, loc);
}

static bool second_is_c(const IgForms *ig_forms) {
    bool swaps = false;
    for (unsigned i = 0; i < ig_forms->names.n; i++)
        for (unsigned k = 0; k < sizeof forms / sizeof *forms; k++)
            swaps |= forms[k].swap && !strcmp(forms[k].name, ig_forms->names.at[i].text);
    return swaps && !ig_forms->slot[2].slot;
}

static bool one_form(Ig *ig, IgDef *optype, const IgForms *ig_forms, const IgTok *name) {
    unsigned k = 0, n = sizeof forms / sizeof *forms;
    while (k < n && (strcmp(forms[k].name, name->text) || (ig_forms->uniform && !forms[k].uniform)))
        k++;
    if (k == n)
        return ig_error(ig, name->loc, "unknown form %s", name->text);
    IgDef *def = ARENA_NEW(&ig->arena, IgDef);
    def->kind = DK_OPCODE;
    def->name = arena_printf(&ig->arena, "%s%s_%s", optype->name, ig_forms->suffix, name->text);
    def->loc = name->loc;
    def->targets = optype->targets;
    def->select = ig_forms->select;
    def->fallback = ig_forms->fallback;
    VEC_ADD(&ig->arena, &def->parents,
            ((IgTok){.kind = TK_IDENT, .text = optype->name, .loc = ig_forms->loc}));
    add_fixed(ig, def, 0, 12, "Opcode", "opcode", ig_forms->base | forms[k].number << 9, ig_forms->loc);
    if (ig_forms->uniform || forms[k].w == IN_UREG)
        add_fixed(ig, def, 91, 1, "UImm1", "uniform", 1, ig_forms->loc);
    const IgFormSlot *a = &ig_forms->slot[0], *form_slot = &ig_forms->slot[1], *c = &ig_forms->slot[2];
    add_operand(ig, def, ig_forms, a, AT_A, IN_REG, 122);
    if (!forms[k].swap) {
        add_operand(ig, def, ig_forms, form_slot, AT_W, forms[k].w, second_is_c(ig_forms) ? 124 : 123);
        add_operand(ig, def, ig_forms, c, AT_V, IN_REG, 124);
    } else if (form_slot->slot && c->slot) {
        add_operand(ig, def, ig_forms, c, AT_W, forms[k].w, 124);
        add_operand(ig, def, ig_forms, form_slot, AT_V, IN_REG, 123);
    } else {
        add_operand(ig, def, ig_forms, c->slot ? c : form_slot, AT_W, forms[k].w, 123);
    }
    VEC_ADD(&ig->arena, &ig->defs, def);
    return true;
}

bool ig_finish_parse(Ig *ig) {
    unsigned n = ig->defs.n;
    for (unsigned i = 0; i < n; i++) {
        IgDef *def = ig->defs.at[i];
        if (def->kind != DK_OPTYPE && def->forms.n)
            ig_error(ig, def->forms.at[0].loc, "forms<> belongs in an optype");
        if (def->kind != DK_OPTYPE)
            continue;
        for (unsigned k = 0; k < def->forms.n; k++)
            for (unsigned j = 0; j < def->forms.at[k].names.n; j++)
                if (!one_form(ig, def, &def->forms.at[k], &def->forms.at[k].names.at[j]))
                    return false;
    }
    for (unsigned i = 0; i < ig->defs.n; i++) {
        IgDef *def = ig->defs.at[i];
        for (unsigned k = 0; def->kind == DK_OPCODE && k < def->parents.n; k++)
            for (unsigned j = 0; j < n; j++)
                if (ig->defs.at[j]->kind == DK_OPTYPE &&
                    !strcmp(ig->defs.at[j]->name, def->parents.at[k].text) &&
                    (ig->defs.at[j]->targets & def->targets))
                    ig->defs.at[j]->used = true;
    }
    /* An optype without opcodes is its own opcode. */
    for (unsigned i = 0; i < n; i++) {
        IgDef *ig_def = ig->defs.at[i];
        if (ig_def->kind != DK_OPTYPE || ig_def->used)
            continue;
        IgDef *def = ARENA_NEW(&ig->arena, IgDef);
        def->kind = DK_OPCODE;
        def->name = ig_def->name;
        def->loc = ig_def->loc;
        def->targets = ig_def->targets;
        VEC_ADD(&ig->arena, &def->parents,
                ((IgTok){.kind = TK_IDENT, .text = ig_def->name, .loc = ig_def->loc}));
        VEC_ADD(&ig->arena, &ig->defs, def);
    }
    return ig->nerrors == 0;
}
