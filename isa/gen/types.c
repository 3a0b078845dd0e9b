/* isagen's parser: single tokens and enumerations.
 * SPDX-License-Identifier: MIT */
#include "isa/gen/parse.h"
#include <string.h>

bool igp_is(const Parser *parser, const char *text) {
    return parser->token->kind != TK_STRING && parser->token->kind != TK_EOF &&
           !strcmp(parser->token->text, text);
}
bool igp_take(Parser *parser, const char *text) {
    if (!igp_is(parser, text))
        return false;
    parser->token++;
    return true;
}
bool igp_expect(Parser *parser, const char *text) {
    return igp_take(parser, text) ||
           ig_error(parser->g, parser->token->loc, "expected '%s', found '%s'", text, parser->token->text);
}
bool igp_ident(Parser *parser, const char **out) {
    *out = "";
    if (parser->token->kind != TK_IDENT && parser->token->kind != TK_NUMBER)
        return ig_error(parser->g, parser->token->loc, "expected a name, found '%s'", parser->token->text);
    *out = parser->token++->text;
    return true;
}
bool igp_number(Parser *parser, int64_t *out) {
    *out = 0;
    bool neg = igp_take(parser, "-");
    if (parser->token->kind != TK_NUMBER)
        return ig_error(parser->g, parser->token->loc, "expected a number, found '%s'", parser->token->text);
    *out = neg ? -parser->token->number : parser->token->number;
    parser->token++;
    return true;
}
bool igp_bit_number(Parser *parser, unsigned *out) {
    *out = 0;
    IgLoc loc = parser->token->loc;
    int64_t v;
    if (!igp_number(parser, &v))
        return false;
    if (v < 0 || v >= IG_WORD_BITS)
        return ig_error(parser->g, loc, "bit %lld is outside 0..127", (long long)v);
    *out = (unsigned)v;
    return true;
}
bool igp_string(Parser *parser, const char **out) {
    *out = "";
    if (parser->token->kind != TK_STRING)
        return ig_error(parser->g, parser->token->loc, "expected a string, found '%s'", parser->token->text);
    *out = parser->token++->text;
    return true;
}

/* ---- types ---- */

IgField ig_field(unsigned lo, unsigned width, const char *type, const char *name, const char *attr,
                 IgLoc loc) {
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
    return f;
}

IgTok ig_name_token(const char *text, IgLoc loc) {
    return (IgTok){.kind = TK_IDENT, .text = text, .loc = loc};
}

IgType *ig_type(Ig *ig, const char *name) {
    for (unsigned i = 0; i < ig->types.n; i++)
        if (!strcmp(ig->types.at[i]->name, name))
            return ig->types.at[i];
    return NULL;
}

static IgType *new_type(Ig *ig, const char *name, unsigned width, IgLoc loc) {
    IgType *type = ARENA_NEW(&ig->arena, IgType);
    *type = (IgType){.name = name, .width = width, .value = VT_ENUM, .loc = loc, .index = ig->types.n};
    VEC_ADD(&ig->arena, &ig->types, type);
    return type;
}

IgType *ig_flag_type(Ig *ig, const char *text) {
    const char *name = arena_printf(&ig->arena, "flag \"%s\"", text);
    IgType *type = ig_type(ig, name);
    if (type)
        return type;
    type = new_type(ig, name, 1, (IgLoc){"", 0, 0});
    type->flag = true;
    VEC_ADD(&ig->arena, &type->vals, ((IgEnumVal){.name = "0", .text = ""}));
    VEC_ADD(&ig->arena, &type->vals, ((IgEnumVal){.name = "1", .text = text, .sem = 1, .enc = 1}));
    return type;
}

static bool enum_entry(Parser *parser, IgType *type, unsigned *next) {
    IgLoc loc = parser->token->loc;
    IgEnumVal v = {0};
    if (!igp_ident(parser, &v.name))
        return false;
    v.text = v.name;
    int64_t n = *next;
    if (igp_take(parser, "=") && !igp_number(parser, &n))
        return false;
    if (type->width < 16 && (n < 0 || n >> type->width))
        return ig_error(parser->g, loc, "value %lld of %s does not fit %u bits", (long long)n, v.name,
                        type->width);
    v.sem = v.enc = (unsigned)n;
    if (parser->token->kind == TK_STRING && !igp_string(parser, &v.text))
        return false;
    if (igp_take(parser, "width")) {
        int64_t bits;
        if (!igp_number(parser, &bits))
            return false;
        v.regs = (unsigned)bits / 32;
    }
    if (igp_take(parser, "access")) {
        int64_t bits;
        if (!igp_number(parser, &bits))
            return false;
        if (bits < 8 || bits > 128 || bits % 8)
            return ig_error(parser->g, loc, "%s: an access moves 8 to 128 bits, whole bytes", v.name);
        v.access = (unsigned)bits;
        v.zeroed = igp_take(parser, "zeroed");
    }
    if (type->maps && !ig_enum_value(type->maps, v.name, &v.sem))
        return ig_error(parser->g, loc, "%s is not a value of %s", v.name, type->maps->name);
    for (unsigned i = 0; i < type->vals.n; i++)
        if (!strcmp(type->vals.at[i].name, v.name) || type->vals.at[i].enc == v.enc)
            return ig_error(parser->g, loc, "value %s of %s is there twice", v.name, type->name);
    VEC_ADD(&parser->g->arena, &type->vals, v);
    *next = v.enc + 1;
    return igp_expect(parser, ";");
}

bool igp_type(Parser *parser, bool numbers) {
    IgLoc loc = parser->token->loc;
    const char *name;
    int64_t width = 16;
    if (!igp_ident(parser, &name))
        return false;
    if (!numbers && (!igp_expect(parser, "<") || !igp_number(parser, &width) || !igp_expect(parser, ">")))
        return false;
    if (width < 1 || width > 16)
        return ig_error(parser->g, loc, "type %s: width must be 1 to 16 bits", name);
    if (ig_type(parser->g, name))
        return ig_error(parser->g, loc, "type %s is defined twice", name);
    IgType *type = new_type(parser->g, name, (unsigned)width, loc);
    type->numbers = numbers;
    if (igp_take(parser, "maps")) {
        IgLoc at = parser->token->loc;
        const char *base;
        if (!igp_ident(parser, &base))
            return false;
        if (!(type->maps = ig_type(parser->g, base)))
            return ig_error(parser->g, at, "unknown type %s", base);
    }
    type->hint = igp_take(parser, "hint");
    unsigned next = 0;
    while (parser->token->kind == TK_NUMBER ||
           (parser->token->kind == TK_IDENT && strncmp(parser->token->text, "__", 2)))
        if (!enum_entry(parser, type, &next))
            return false;
    return true;
}
