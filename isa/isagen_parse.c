/* isagen's parser: tokens to definitions. The shorthands (psrc, pdst, flag, reuse) become plain fields here, and
 * forms<> becomes opcodes when the file set is complete.
 * SPDX-License-Identifier: MIT */
#include "isa/isagen.h"
#include <stdlib.h>
#include <string.h>

typedef struct {
    Ig *g;
    const IgTok *t;
    uint32_t targets; /* of __Targets; used where a definition names none */
} Parser;

static bool is(const Parser *p, const char *text) {
    return p->t->kind != TK_STRING && p->t->kind != TK_EOF && !strcmp(p->t->text, text);
}
static bool take(Parser *p, const char *text) {
    if (!is(p, text))
        return false;
    p->t++;
    return true;
}
static bool expect(Parser *p, const char *text) {
    return take(p, text) || ig_error(p->g, p->t->loc, "expected '%s', found '%s'", text, p->t->text);
}
static bool ident(Parser *p, const char **out) {
    *out = "";
    if (p->t->kind != TK_IDENT && p->t->kind != TK_NUMBER)
        return ig_error(p->g, p->t->loc, "expected a name, found '%s'", p->t->text);
    *out = p->t++->text;
    return true;
}
static bool number(Parser *p, int64_t *out) {
    *out = 0;
    bool neg = take(p, "-");
    if (p->t->kind != TK_NUMBER)
        return ig_error(p->g, p->t->loc, "expected a number, found '%s'", p->t->text);
    *out = neg ? -p->t->number : p->t->number;
    p->t++;
    return true;
}
static bool bit_number(Parser *p, unsigned *out) {
    *out = 0;
    IgLoc loc = p->t->loc;
    int64_t v;
    if (!number(p, &v))
        return false;
    if (v < 0 || v >= IG_WORD_BITS)
        return ig_error(p->g, loc, "bit %lld is outside 0..127", (long long)v);
    *out = (unsigned)v;
    return true;
}
static bool string(Parser *p, const char **out) {
    *out = "";
    if (p->t->kind != TK_STRING)
        return ig_error(p->g, p->t->loc, "expected a string, found '%s'", p->t->text);
    *out = p->t++->text;
    return true;
}

/* ---- types ---- */

IgType *ig_type(Ig *g, const char *name) {
    for (unsigned i = 0; i < g->types.n; i++)
        if (!strcmp(g->types.at[i]->name, name))
            return g->types.at[i];
    return NULL;
}

static IgType *new_type(Ig *g, const char *name, unsigned width, IgLoc loc) {
    IgType *t = ARENA_NEW(&g->arena, IgType);
    *t = (IgType){.name = name, .width = width, .value = VT_ENUM, .loc = loc, .index = g->types.n};
    VEC_ADD(&g->arena, &g->types, t);
    return t;
}

IgType *ig_flag_type(Ig *g, const char *text) {
    const char *name = arena_printf(&g->arena, "flag \"%s\"", text);
    IgType *t = ig_type(g, name);
    if (t)
        return t;
    t = new_type(g, name, 1, (IgLoc){"", 0, 0});
    t->flag = true;
    VEC_ADD(&g->arena, &t->vals, ((IgEnumVal){"0", "", 0, 0, 0}));
    VEC_ADD(&g->arena, &t->vals, ((IgEnumVal){"1", text, 1, 1, 0}));
    return t;
}

static bool enum_entry(Parser *p, IgType *t, unsigned *next) {
    IgLoc loc = p->t->loc;
    IgEnumVal v = {0};
    if (!ident(p, &v.name))
        return false;
    v.text = v.name;
    int64_t n = *next;
    if (take(p, "=") && !number(p, &n))
        return false;
    if (t->width < 16 && (n < 0 || n >> t->width))
        return ig_error(p->g, loc, "value %lld of %s does not fit %u bits", (long long)n, v.name, t->width);
    v.sem = v.enc = (unsigned)n;
    if (p->t->kind == TK_STRING && !string(p, &v.text))
        return false;
    if (take(p, "width")) {
        int64_t bits;
        if (!number(p, &bits))
            return false;
        v.regs = (unsigned)bits / 32;
    }
    if (t->maps && !ig_enum_value(t->maps, v.name, &v.sem))
        return ig_error(p->g, loc, "%s is not a value of %s", v.name, t->maps->name);
    for (unsigned i = 0; i < t->vals.n; i++)
        if (!strcmp(t->vals.at[i].name, v.name) || t->vals.at[i].enc == v.enc)
            return ig_error(p->g, loc, "value %s of %s is there twice", v.name, t->name);
    VEC_ADD(&p->g->arena, &t->vals, v);
    *next = v.enc + 1;
    return expect(p, ";");
}

static bool parse_type(Parser *p, bool numbers) {
    IgLoc loc = p->t->loc;
    const char *name;
    int64_t width = 16;
    if (!ident(p, &name))
        return false;
    if (!numbers && (!expect(p, "<") || !number(p, &width) || !expect(p, ">")))
        return false;
    if (width < 1 || width > 16)
        return ig_error(p->g, loc, "type %s: width must be 1 to 16 bits", name);
    if (ig_type(p->g, name))
        return ig_error(p->g, loc, "type %s is defined twice", name);
    IgType *t = new_type(p->g, name, (unsigned)width, loc);
    t->numbers = numbers;
    if (take(p, "maps")) {
        IgLoc at = p->t->loc;
        const char *base;
        if (!ident(p, &base))
            return false;
        if (!(t->maps = ig_type(p->g, base)))
            return ig_error(p->g, at, "unknown type %s", base);
    }
    unsigned next = 0;
    while (p->t->kind == TK_NUMBER || (p->t->kind == TK_IDENT && strncmp(p->t->text, "__", 2)))
        if (!enum_entry(p, t, &next))
            return false;
    return true;
}

/* ---- targets ---- */

const char *const ig_prop_names[] = {
    "elf_machine", "elf_osabi", "elf_abiversion", "elf_flags", "param_base", "ntid_offset", "nctaid_offset",
    "stack_top_offset", "dynamic_shared_offset", "gridid_offset", "branch_unit", "reserved_regs",
    "has_alu_cmem", "has_yield_fairness", NULL};
unsigned ig_prop_count(void) { return sizeof ig_prop_names / sizeof *ig_prop_names - 1; }

static bool target_set(Parser *p, uint32_t *out) {
    *out = 0;
    if (!expect(p, "["))
        return false;
    do {
        IgLoc loc = p->t->loc;
        const char *name;
        if (!ident(p, &name))
            return false;
        uint32_t found = 0;
        for (unsigned i = 0; i < p->g->targets.n; i++)
            if (!strcmp(p->g->targets.at[i]->name, name))
                found = 1u << i;
        for (unsigned i = 0; i < p->g->nsets; i++)
            if (!strcmp(p->g->sets[i].name, name))
                found = p->g->sets[i].set;
        if (!found)
            return ig_error(p->g, loc, "unknown target %s", name);
        *out |= found;
    } while (take(p, ","));
    return expect(p, "]");
}

static bool target_property(Parser *p, IgTarget *t) {
    IgLoc loc = p->t->loc;
    const char *name;
    if (!ident(p, &name) || !expect(p, "="))
        return false;
    if (!strcmp(name, "num_regs")) {
        if (!expect(p, "["))
            return false;
        for (unsigned i = 0; i < 5; i++)
            if ((i && !expect(p, ",")) || !number(p, &t->prop[ig_prop_count() + i]))
                return false;
        return expect(p, "]") && expect(p, ";");
    }
    for (unsigned i = 0; ig_prop_names[i]; i++)
        if (!strcmp(ig_prop_names[i], name))
            return number(p, &t->prop[i]) && expect(p, ";");
    return ig_error(p->g, loc, "unknown property %s", name);
}

static bool parse_target(Parser *p) {
    Ig *g = p->g;
    IgTarget *t = ARENA_NEW(&g->arena, IgTarget);
    t->loc = p->t->loc;
    if (!ident(p, &t->name))
        return false;
    if (g->targets.n == IG_MAX_TARGETS)
        return ig_error(g, t->loc, "more than %d targets", IG_MAX_TARGETS);
    if (take(p, ":")) {
        IgLoc loc = p->t->loc;
        const char *base;
        if (!ident(p, &base))
            return false;
        IgTarget *from = NULL;
        for (unsigned i = 0; i < g->targets.n; i++)
            if (!strcmp(g->targets.at[i]->name, base))
                from = g->targets.at[i];
        if (!from)
            return ig_error(g, loc, "unknown target %s", base);
        memcpy(t->prop, from->prop, sizeof t->prop);
    }
    VEC_ADD(&g->arena, &g->targets, t);
    while (p->t->kind == TK_IDENT && strncmp(p->t->text, "__", 2))
        if (!target_property(p, t))
            return false;
    return true;
}

static bool parse_sregs(Parser *p) {
    uint32_t set;
    if (!target_set(p, &set))
        return false;
    while (p->t->kind == TK_NUMBER) {
        IgSReg s = {.number = (unsigned)p->t->number};
        IgLoc loc = p->t->loc;
        const char *part;
        p->t++;
        if (s.number > 255)
            return ig_error(p->g, loc, "special register %u is above 255", s.number);
        if (!ident(p, &s.name))
            return false;
        if (take(p, ".")) {
            if (!ident(p, &part))
                return false;
            s.name = arena_printf(&p->g->arena, "%s.%s", s.name, part);
        }
        if (!string(p, &s.text) || !expect(p, ";"))
            return false;
        for (unsigned i = 0; i < p->g->targets.n; i++)
            if (set >> i & 1)
                VEC_ADD(&p->g->arena, &p->g->targets.at[i]->sregs, s);
    }
    return true;
}

static bool parse_target_set(Parser *p) {
    Ig *g = p->g;
    const char *name;
    uint32_t set;
    IgLoc loc = p->t->loc;
    if (g->nsets == sizeof g->sets / sizeof *g->sets)
        return ig_error(g, loc, "too many target sets");
    if (!ident(p, &name) || !expect(p, "=") || !target_set(p, &set))
        return false;
    g->sets[g->nsets].name = name;
    g->sets[g->nsets++].set = set;
    return expect(p, ";");
}

/* ---- conditions ---- */

static bool cond_or(Parser *p, IgCond *c);

static bool cond_term(Parser *p, IgCond *c) {
    if (take(p, "("))
        return cond_or(p, c) && expect(p, ")");
    IgCondItem it = {.loc = p->t->loc};
    if (!ident(p, &it.name))
        return false;
    if (take(p, "pow2"))
        it.op = CO_POW2;
    else if (take(p, "=="))
        it.op = CO_EQ;
    else if (take(p, "!="))
        it.op = CO_NE;
    else
        return ig_error(p->g, p->t->loc, "expected '==' or '!=', found '%s'", p->t->text);
    if (it.op != CO_POW2)
        it.value = *p->t++;
    if (it.op != CO_POW2 && (it.value.kind == TK_EOF || it.value.kind == TK_PUNCT))
        return ig_error(p->g, it.value.loc, "expected a value, found '%s'", it.value.text);
    VEC_ADD(&p->g->arena, c, it);
    return true;
}

static bool cond_and(Parser *p, IgCond *c) {
    if (!cond_term(p, c))
        return false;
    while (take(p, "and")) {
        if (!cond_term(p, c))
            return false;
        VEC_ADD(&p->g->arena, c, ((IgCondItem){.op = CO_AND}));
    }
    return true;
}

static bool cond_or(Parser *p, IgCond *c) {
    if (!cond_and(p, c))
        return false;
    while (take(p, "or")) {
        if (!cond_and(p, c))
            return false;
        VEC_ADD(&p->g->arena, c, ((IgCondItem){.op = CO_OR}));
    }
    return true;
}

/* ---- fields ---- */

bool ig_builtin_type(const char *name, IgValue *value, unsigned *width) {
    static const struct {
        const char *name;
        IgValue value;
        unsigned width;
    } types[] = {{"Reg", VT_REG, 8},       {"UReg", VT_UREG, 6},     {"Pred", VT_PRED, 3},   {"UPred", VT_UPRED, 3},
                 {"BReg", VT_BREG, 4},     {"SReg", VT_SREG, 8},     {"F32Imm", VT_F32, 32}, {"F64Imm", VT_F64, 32},
                 {"H2Imm", VT_H2, 32},     {"PModi", VT_MODI, 1},    {"SignModi", VT_MODI, 1},
                 {"AddrWide", VT_MODI, 1}, {"Reuse", VT_MODI, 1},    {"Half", VT_MODI, 2},   {"CMem", VT_CMEM, 0},
                 {"Ctrl", VT_CTRL, 0},     {"Opcode", VT_NUMBER, 12}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (!strcmp(types[i].name, name)) {
            *value = types[i].value;
            *width = types[i].width;
            return true;
        }
    if (!strncmp(name, "UImm", 4) || !strncmp(name, "SImm", 4)) {
        char *end;
        long n = strtol(name + 4, &end, 10);
        if (*end || n < 1 || n > 63)
            return false;
        *value = name[0] == 'U' ? VT_UIMM : VT_SIMM;
        *width = (unsigned)n;
        return true;
    }
    return false;
}

static bool add_part(Parser *p, IgField *f, unsigned lo, IgLoc loc) {
    int64_t w;
    if (!expect(p, ",") || !number(p, &w))
        return false;
    if (w < 1 || lo + w > IG_WORD_BITS)
        return ig_error(p->g, loc, "field of %lld bits at %u leaves the word", (long long)w, lo);
    if (f->nparts == 3)
        return ig_error(p->g, loc, "a field has at most 3 parts");
    f->lo[f->nparts] = lo;
    f->w[f->nparts++] = (unsigned)w;
    f->width += (unsigned)w;
    return true;
}

/* <lo, width> or <{lo, width}, {lo, width}>, low part first */
static bool bit_range(Parser *p, IgField *f) {
    unsigned lo;
    if (!expect(p, "<"))
        return false;
    if (!is(p, "{")) {
        IgLoc loc = p->t->loc;
        return bit_number(p, &lo) && add_part(p, f, lo, loc) && expect(p, ">");
    }
    do {
        IgLoc loc = p->t->loc;
        if (!expect(p, "{") || !bit_number(p, &lo) || !add_part(p, f, lo, loc) || !expect(p, "}"))
            return false;
    } while (take(p, ","));
    return expect(p, ">");
}

static IgField plain_field(unsigned lo, unsigned width, const char *type, const char *name, const char *attr,
                           IgLoc loc) {
    IgField f = {.kind = FD_FIELD, .nparts = 1, .width = width, .type_name = type, .name = name, .attr = attr,
                 .scale = 1, .loc = loc};
    f.lo[0] = lo;
    f.w[0] = width;
    return f;
}

static IgTok name_token(const char *text, IgLoc loc) {
    return (IgTok){.kind = TK_IDENT, .text = text, .loc = loc};
}

static bool field_options(Parser *p, IgField *f) {
    for (;;) {
        int64_t n;
        if (take(p, "reversed")) {
            f->reversed = true;
        } else if (take(p, "scale")) {
            if (!number(p, &n))
                return false;
            if (n < 1 || n > 4096)
                return ig_error(p->g, f->loc, "scale must be 1 to 4096");
            f->scale = (unsigned)n;
        } else if (take(p, "bias")) {
            if (!number(p, &n))
                return false;
            f->bias = (int)n;
        } else if (take(p, "as")) {
            if (!ident(p, &f->as))
                return false;
        } else if (take(p, "when")) {
            if (!cond_or(p, &f->when))
                return false;
        } else {
            return expect(p, ";");
        }
    }
}

static bool parse_field(Parser *p, IgDef *d, IgLoc loc) {
    IgField f = {.kind = FD_FIELD, .scale = 1, .loc = loc};
    if (!bit_range(p, &f) || !ident(p, &f.type_name) || !ident(p, &f.name))
        return false;
    if (take(p, ".") && !ident(p, &f.attr))
        return false;
    bool fixed = take(p, "==");
    if (fixed || take(p, "=")) {
        f.kind = fixed ? FD_FIXED : FD_FIELD;
        f.has_default = !fixed;
        f.def_invert = take(p, "!");
        bool minus = take(p, "-");
        f.def = *p->t++;
        if (f.def.kind != TK_IDENT && f.def.kind != TK_NUMBER)
            return ig_error(p->g, f.def.loc, "expected a value, found '%s'", f.def.text);
        if (minus)
            f.def.number = -f.def.number;
    }
    if (!field_options(p, &f))
        return false;
    VEC_ADD(&p->g->arena, &d->fields, f);
    return true;
}

/* psrc<lo, not> name = PT|!PT;   pdst<lo> name = PT; */
static bool parse_pred(Parser *p, IgDef *d, IgLoc loc, const char *type, bool source) {
    unsigned lo, inv = 0;
    const char *name;
    if (!expect(p, "<") || !bit_number(p, &lo) || (source && (!expect(p, ",") || !bit_number(p, &inv))) ||
        !expect(p, ">") || !ident(p, &name))
        return false;
    IgField f = plain_field(lo, 3, type, name, NULL, loc);
    IgField n = plain_field(inv, 1, "PModi", name, "not", loc);
    n.has_default = true;
    n.def = name_token("False", loc);
    if (take(p, "=")) {
        f.has_default = true;
        if (take(p, "!"))
            n.def = name_token("True", loc);
        f.def = *p->t++;
    }
    VEC_ADD(&p->g->arena, &d->fields, f);
    if (source)
        VEC_ADD(&p->g->arena, &d->fields, n);
    return expect(p, ";");
}

static bool parse_flag(Parser *p, IgDef *d, IgLoc loc) {
    unsigned lo;
    const char *name, *text;
    if (!expect(p, "<") || !bit_number(p, &lo) || !expect(p, ">") || !ident(p, &name) || !string(p, &text))
        return false;
    IgType *t = ig_flag_type(p->g, text);
    IgField f = plain_field(lo, 1, t->name, name, NULL, loc);
    f.has_default = true;
    f.def = (IgTok){.kind = TK_NUMBER, .text = "0", .number = 0, .loc = loc};
    VEC_ADD(&p->g->arena, &d->fields, f);
    return expect(p, ";");
}

static bool parse_reuse(Parser *p, IgDef *d, IgLoc loc) {
    unsigned lo;
    const char *name;
    if (!expect(p, "<") || !bit_number(p, &lo) || !expect(p, ">") || !ident(p, &name))
        return false;
    VEC_ADD(&p->g->arena, &d->fields, plain_field(lo, 1, "Reuse", name, "reuse", loc));
    return expect(p, ";");
}

/* wide<ra> = e;   mod<Type> mode == VALUE; */
static bool parse_virtual(Parser *p, IgDef *d, IgLoc loc, bool wide) {
    IgField f = {.kind = wide ? FD_WIDE : FD_MODFIXED, .scale = 1, .loc = loc};
    const char *in;
    if (!expect(p, "<") || !ident(p, &in) || !expect(p, ">"))
        return false;
    if (wide) {
        f.name = in;
        f.attr = "wide";
        if (!expect(p, "="))
            return false;
    } else {
        f.type_name = in;
        if (!ident(p, &f.name) || !expect(p, "=="))
            return false;
    }
    f.def = *p->t++;
    VEC_ADD(&p->g->arena, &d->fields, f);
    return expect(p, ";");
}

static bool parse_reserved(Parser *p, IgDef *d, IgLoc loc, IgFieldKind kind) {
    IgField f = {.kind = kind, .scale = 1, .loc = loc, .name = "reserved"};
    if (!bit_range(p, &f))
        return false;
    VEC_ADD(&p->g->arena, &d->fields, f);
    return expect(p, ";");
}

static bool form_slot(Parser *p, IgFormSlot *s) {
    if (take(p, "-"))
        return true;
    if (!ident(p, &s->slot))
        return false;
    if (!take(p, "["))
        return true;
    do {
        if (take(p, "neg"))
            s->neg = true;
        else if (take(p, "abs"))
            s->abs = true;
        else if (take(p, "half"))
            s->half = true;
        else if (take(p, "sel"))
            s->half_sel = true;
        else if (take(p, "fp16"))
            s->half_bits = true;
        else if (take(p, "not"))
            s->bitnot = true;
        else
            return ig_error(p->g, p->t->loc, "unknown operand modifier '%s'", p->t->text);
    } while (take(p, ","));
    return expect(p, "]");
}

static bool parse_forms(Parser *p, IgDef *d, IgLoc loc, bool uniform) {
    IgForms f = {.uniform = uniform, .loc = loc, .suffix = "", .imm_type = "UImm32"};
    int64_t base;
    if (!expect(p, "<") || !number(p, &base) || !expect(p, ">"))
        return false;
    f.base = (unsigned)base;
    do {
        IgTok t = *p->t;
        const char *name;
        if (!ident(p, &name))
            return false;
        VEC_ADD(&p->g->arena, &f.names, t);
    } while (take(p, ","));
    if (!expect(p, ":"))
        return false;
    for (unsigned i = 0; i < 3; i++)
        if ((i && !expect(p, ",")) || !form_slot(p, &f.slot[i]))
            return false;
    if (!expect(p, ";"))
        return false;
    for (;;) {
        bool ok;
        if (take(p, "imm"))
            ok = ident(p, &f.imm_type);
        else if (take(p, "suffix"))
            ok = ident(p, &f.suffix);
        else if (take(p, "select"))
            ok = cond_or(p, &f.select);
        else
            break;
        if (!ok || !expect(p, ";"))
            return false;
    }
    VEC_ADD(&p->g->arena, &d->forms, f);
    return true;
}

static bool parse_encoding(Parser *p, IgDef *d) {
    while (p->t->kind == TK_IDENT && strncmp(p->t->text, "__", 2)) {
        IgLoc loc = p->t->loc;
        bool ok;
        if (take(p, "field"))
            ok = parse_field(p, d, loc);
        else if (take(p, "psrc"))
            ok = parse_pred(p, d, loc, "Pred", true);
        else if (take(p, "pdst"))
            ok = parse_pred(p, d, loc, "Pred", false);
        else if (take(p, "upsrc"))
            ok = parse_pred(p, d, loc, "UPred", true);
        else if (take(p, "updst"))
            ok = parse_pred(p, d, loc, "UPred", false);
        else if (take(p, "flag"))
            ok = parse_flag(p, d, loc);
        else if (take(p, "reuse"))
            ok = parse_reuse(p, d, loc);
        else if (take(p, "wide"))
            ok = parse_virtual(p, d, loc, true);
        else if (take(p, "mod"))
            ok = parse_virtual(p, d, loc, false);
        else if (take(p, "zero"))
            ok = parse_reserved(p, d, loc, FD_ZERO);
        else if (take(p, "spare"))
            ok = parse_reserved(p, d, loc, FD_SPARE);
        else if (take(p, "forms"))
            ok = parse_forms(p, d, loc, false);
        else if (take(p, "uforms"))
            ok = parse_forms(p, d, loc, true);
        else if (take(p, "select"))
            ok = cond_or(p, &d->select) && expect(p, ";");
        else
            ok = ig_error(p->g, loc, "unknown statement '%s' in __Encoding", p->t->text);
        if (!ok)
            return false;
    }
    return true;
}

/* ---- __OperandInfo, __Exception ---- */

static bool slot_list(Parser *p, bool dst, IgDef *d, const char *end) {
    while (!is(p, end)) {
        IgSlot s = {.loc = p->t->loc};
        if (!ident(p, &s.name))
            return false;
        while (take(p, "=")) {
            const char *alias;
            if (!ident(p, &alias))
                return false;
            VEC_ADD(&p->g->arena, &s.aliases, alias);
        }
        if (dst)
            VEC_ADD(&p->g->arena, &d->dst, s);
        else
            VEC_ADD(&p->g->arena, &d->src, s);
        if (!take(p, ","))
            break;
    }
    return expect(p, end);
}

static bool name_list(Parser *p, void *vec) {
    if (!expect(p, "<"))
        return false;
    while (!is(p, ">")) {
        IgTok t = *p->t;
        const char *name;
        if (!ident(p, &name))
            return false;
        *(IgTok *)vec_push_raw(&p->g->arena, vec, sizeof(IgTok)) = t;
        if (!take(p, ","))
            break;
    }
    return expect(p, ">") && expect(p, ";");
}

static bool parse_bitwidth(Parser *p, IgDef *d, IgLoc loc) {
    IgBitwidth b = {.loc = loc};
    if (!expect(p, "<") || !ident(p, &b.slot) || !expect(p, ">") || !expect(p, "="))
        return false;
    if (p->t->kind == TK_NUMBER)
        b.bits = (unsigned)p->t++->number;
    else if (!ident(p, &b.mod))
        return false;
    VEC_ADD(&p->g->arena, &d->widths, b);
    return expect(p, ";");
}

static bool parse_asmformat(Parser *p, IgDef *d, IgLoc loc) {
    IgAsmFormat a = {.loc = loc};
    const char *again;
    int64_t shift;
    if (!expect(p, "<") || !ident(p, &a.field) || !expect(p, ">") || !expect(p, "=") || !expect(p, "CvtIShift") ||
        !expect(p, "(") || !ident(p, &again) || !expect(p, ",") || !number(p, &shift) || !expect(p, ")"))
        return false;
    if (strcmp(again, a.field))
        return ig_error(p->g, loc, "AsmFormat<%s> converts %s", a.field, again);
    if (shift < 0 || shift > 12)
        return ig_error(p->g, loc, "shift must be 0 to 12");
    a.shift = (unsigned)shift;
    VEC_ADD(&p->g->arena, &d->formats, a);
    return expect(p, ";");
}

static bool parse_alias(Parser *p, IgDef *d, IgLoc loc) {
    IgSyntaxDecl a = {.loc = loc};
    if (!string(p, &a.text) || !expect(p, "when") || !cond_or(p, &a.cond))
        return false;
    VEC_ADD(&p->g->arena, &d->aliases, a);
    return expect(p, ";");
}

static bool parse_operand_info(Parser *p, IgDef *d) {
    while (p->t->kind == TK_IDENT && strncmp(p->t->text, "__", 2)) {
        IgLoc loc = p->t->loc;
        bool ok;
        if (take(p, "Slots")) {
            d->has_slots = true;
            ok = expect(p, "<") && slot_list(p, true, d, ";") && slot_list(p, false, d, ">") && expect(p, ";");
        } else if (take(p, "Syntax")) {
            d->syntax_loc = p->t->loc;
            ok = string(p, &d->syntax) && expect(p, ";");
        } else if (take(p, "Alias")) {
            ok = parse_alias(p, d, loc);
        } else if (take(p, "Bitwidth")) {
            ok = parse_bitwidth(p, d, loc);
        } else if (take(p, "AsmFormat")) {
            ok = parse_asmformat(p, d, loc);
        } else if (take(p, "Flags")) {
            ok = name_list(p, &d->flags);
        } else if (take(p, "InList")) {
            d->has_inlist = true;
            ok = name_list(p, &d->inlist);
        } else if (take(p, "OutList")) {
            d->has_outlist = true;
            ok = name_list(p, &d->outlist);
        } else if (take(p, "Order")) {
            d->has_order = true;
            ok = name_list(p, &d->order);
        } else {
            ok = ig_error(p->g, loc, "unknown statement '%s' in __OperandInfo", p->t->text);
        }
        if (!ok)
            return false;
    }
    return true;
}

static bool parse_exception(Parser *p, IgDef *d) {
    while (is(p, "EncodingError")) {
        IgSyntaxDecl e = {.loc = p->t->loc};
        const char *kind;
        p->t++;
        if (!expect(p, "<") || !ident(p, &kind) || !expect(p, ",") || !string(p, &e.text) || !expect(p, ">") ||
            !expect(p, "=") || !cond_or(p, &e.cond) || !expect(p, ";"))
            return false;
        VEC_ADD(&p->g->arena, &d->errors, e);
    }
    return true;
}

/* ---- definitions ---- */

static bool parse_def(Parser *p, IgDefKind kind) {
    Ig *g = p->g;
    IgDef *d = ARENA_NEW(&g->arena, IgDef);
    d->kind = kind;
    d->loc = p->t->loc;
    d->targets = p->targets;
    if (!ident(p, &d->name))
        return false;
    if (take(p, ":")) {
        if (!expect(p, "["))
            return false;
        do {
            IgTok t = *p->t;
            const char *name;
            if (!ident(p, &name))
                return false;
            VEC_ADD(&g->arena, &d->parents, t);
        } while (take(p, ","));
        if (!expect(p, "]"))
            return false;
    }
    if (take(p, "on") && !target_set(p, &d->targets))
        return false;
    if (!d->targets)
        return ig_error(g, d->loc, "%s: no __Targets given", d->name);
    for (unsigned i = 0; i < g->defs.n; i++)
        if (!strcmp(g->defs.at[i]->name, d->name) && (g->defs.at[i]->targets & d->targets) &&
            (g->defs.at[i]->kind == DK_OPCODE) == (kind == DK_OPCODE))
            return ig_error(g, d->loc, "%s is defined twice for a target", d->name);
    VEC_ADD(&g->arena, &g->defs, d);
    for (;;) {
        bool ok;
        if (take(p, "__Encoding"))
            ok = parse_encoding(p, d);
        else if (take(p, "__OperandInfo"))
            ok = parse_operand_info(p, d);
        else if (take(p, "__Exception"))
            ok = parse_exception(p, d);
        else
            return true;
        if (!ok)
            return false;
    }
}

bool ig_parse(Ig *g, const IgToks *toks) {
    Parser p = {.g = g, .t = toks->at};
    while (p.t->kind != TK_EOF) {
        bool ok;
        if (take(&p, "__DefBitFieldType"))
            ok = parse_type(&p, false);
        else if (take(&p, "__DefNumbers"))
            ok = parse_type(&p, true);
        else if (take(&p, "__DefTarget"))
            ok = parse_target(&p);
        else if (take(&p, "__DefTargetSet"))
            ok = parse_target_set(&p);
        else if (take(&p, "__DefSRegs"))
            ok = parse_sregs(&p);
        else if (take(&p, "__Targets"))
            ok = target_set(&p, &p.targets) && expect(&p, ";");
        else if (take(&p, "__DefGroup"))
            ok = parse_def(&p, DK_GROUP);
        else if (take(&p, "__DefOptype"))
            ok = parse_def(&p, DK_OPTYPE);
        else if (take(&p, "__DefOpcode"))
            ok = parse_def(&p, DK_OPCODE);
        else
            ok = ig_error(g, p.t->loc, "expected a definition, found '%s'", p.t->text);
        if (!ok)
            return false;
    }
    return true;
}
