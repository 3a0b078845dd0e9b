/* isagen's parser: single tokens, enumerations, targets and special registers.
 * SPDX-License-Identifier: MIT */
#include "isa/gen/parse.h"
#include <string.h>

bool igp_is(const Parser *p, const char *text) {
    return p->t->kind != TK_STRING && p->t->kind != TK_EOF && !strcmp(p->t->text, text);
}
bool igp_take(Parser *p, const char *text) {
    if (!igp_is(p, text))
        return false;
    p->t++;
    return true;
}
bool igp_expect(Parser *p, const char *text) {
    return igp_take(p, text) || ig_error(p->g, p->t->loc, "expected '%s', found '%s'", text, p->t->text);
}
bool igp_ident(Parser *p, const char **out) {
    *out = "";
    if (p->t->kind != TK_IDENT && p->t->kind != TK_NUMBER)
        return ig_error(p->g, p->t->loc, "expected a name, found '%s'", p->t->text);
    *out = p->t++->text;
    return true;
}
bool igp_number(Parser *p, int64_t *out) {
    *out = 0;
    bool neg = igp_take(p, "-");
    if (p->t->kind != TK_NUMBER)
        return ig_error(p->g, p->t->loc, "expected a number, found '%s'", p->t->text);
    *out = neg ? -p->t->number : p->t->number;
    p->t++;
    return true;
}
bool igp_bit_number(Parser *p, unsigned *out) {
    *out = 0;
    IgLoc loc = p->t->loc;
    int64_t v;
    if (!igp_number(p, &v))
        return false;
    if (v < 0 || v >= IG_WORD_BITS)
        return ig_error(p->g, loc, "bit %lld is outside 0..127", (long long)v);
    *out = (unsigned)v;
    return true;
}
bool igp_string(Parser *p, const char **out) {
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
    if (!igp_ident(p, &v.name))
        return false;
    v.text = v.name;
    int64_t n = *next;
    if (igp_take(p, "=") && !igp_number(p, &n))
        return false;
    if (t->width < 16 && (n < 0 || n >> t->width))
        return ig_error(p->g, loc, "value %lld of %s does not fit %u bits", (long long)n, v.name, t->width);
    v.sem = v.enc = (unsigned)n;
    if (p->t->kind == TK_STRING && !igp_string(p, &v.text))
        return false;
    if (igp_take(p, "width")) {
        int64_t bits;
        if (!igp_number(p, &bits))
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
    return igp_expect(p, ";");
}

bool igp_type(Parser *p, bool numbers) {
    IgLoc loc = p->t->loc;
    const char *name;
    int64_t width = 16;
    if (!igp_ident(p, &name))
        return false;
    if (!numbers && (!igp_expect(p, "<") || !igp_number(p, &width) || !igp_expect(p, ">")))
        return false;
    if (width < 1 || width > 16)
        return ig_error(p->g, loc, "type %s: width must be 1 to 16 bits", name);
    if (ig_type(p->g, name))
        return ig_error(p->g, loc, "type %s is defined twice", name);
    IgType *t = new_type(p->g, name, (unsigned)width, loc);
    t->numbers = numbers;
    if (igp_take(p, "maps")) {
        IgLoc at = p->t->loc;
        const char *base;
        if (!igp_ident(p, &base))
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

const char *const ig_prop_names[] = {"elf_machine",   "elf_osabi",          "elf_abiversion",
                                     "elf_flags",     "param_base",         "ntid_offset",
                                     "nctaid_offset", "stack_top_offset",   "dynamic_shared_offset",
                                     "gridid_offset", "branch_unit",        "reserved_regs",
                                     "has_alu_cmem",  "has_yield_fairness", NULL};
unsigned ig_prop_count(void) { return sizeof ig_prop_names / sizeof *ig_prop_names - 1; }

bool igp_target_set(Parser *p, uint32_t *out) {
    *out = 0;
    if (!igp_expect(p, "["))
        return false;
    do {
        IgLoc loc = p->t->loc;
        const char *name;
        if (!igp_ident(p, &name))
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
    } while (igp_take(p, ","));
    return igp_expect(p, "]");
}

static bool target_property(Parser *p, IgTarget *t) {
    IgLoc loc = p->t->loc;
    const char *name;
    if (!igp_ident(p, &name) || !igp_expect(p, "="))
        return false;
    if (!strcmp(name, "num_regs")) {
        if (!igp_expect(p, "["))
            return false;
        for (unsigned i = 0; i < 5; i++)
            if ((i && !igp_expect(p, ",")) || !igp_number(p, &t->prop[ig_prop_count() + i]))
                return false;
        return igp_expect(p, "]") && igp_expect(p, ";");
    }
    for (unsigned i = 0; ig_prop_names[i]; i++)
        if (!strcmp(ig_prop_names[i], name))
            return igp_number(p, &t->prop[i]) && igp_expect(p, ";");
    return ig_error(p->g, loc, "unknown property %s", name);
}

bool igp_target(Parser *p) {
    Ig *g = p->g;
    IgTarget *t = ARENA_NEW(&g->arena, IgTarget);
    t->loc = p->t->loc;
    if (!igp_ident(p, &t->name))
        return false;
    if (g->targets.n == IG_MAX_TARGETS)
        return ig_error(g, t->loc, "more than %d targets", IG_MAX_TARGETS);
    if (igp_take(p, ":")) {
        IgLoc loc = p->t->loc;
        const char *base;
        if (!igp_ident(p, &base))
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

bool igp_sregs(Parser *p) {
    uint32_t set;
    if (!igp_target_set(p, &set))
        return false;
    while (p->t->kind == TK_NUMBER) {
        IgSReg s = {.number = (unsigned)p->t->number};
        IgLoc loc = p->t->loc;
        const char *part;
        p->t++;
        if (s.number > 255)
            return ig_error(p->g, loc, "special register %u is above 255", s.number);
        if (!igp_ident(p, &s.name))
            return false;
        if (igp_take(p, ".")) {
            if (!igp_ident(p, &part))
                return false;
            s.name = arena_printf(&p->g->arena, "%s.%s", s.name, part);
        }
        if (!igp_string(p, &s.text) || !igp_expect(p, ";"))
            return false;
        for (unsigned i = 0; i < p->g->targets.n; i++)
            if (set >> i & 1)
                VEC_ADD(&p->g->arena, &p->g->targets.at[i]->sregs, s);
    }
    return true;
}

bool igp_def_target_set(Parser *p) {
    Ig *g = p->g;
    const char *name;
    uint32_t set;
    IgLoc loc = p->t->loc;
    if (g->nsets == sizeof g->sets / sizeof *g->sets)
        return ig_error(g, loc, "too many target sets");
    if (!igp_ident(p, &name) || !igp_expect(p, "=") || !igp_target_set(p, &set))
        return false;
    g->sets[g->nsets].name = name;
    g->sets[g->nsets++].set = set;
    return igp_expect(p, ";");
}
