/* isagen's parser: tokens to definitions. The shorthands (psrc, pdst, flag, reuse) become plain fields here,
 * and forms<> becomes opcodes when the file set is complete.
 * SPDX-License-Identifier: MIT */
#include "isa/gen/traits.h"
#include <stdlib.h>
#include <string.h>

/* ---- conditions ---- */

static bool cond_or(Parser *parser, IgCond *cond);

static bool cond_term(Parser *parser, IgCond *c) {
    if (igp_take(parser, "("))
        return cond_or(parser, c) && igp_expect(parser, ")");
    IgCondItem it = {.loc = parser->token->loc};
    if (!igp_ident(parser, &it.name))
        return false;
    if (igp_take(parser, "pow2"))
        it.op = CO_POW2;
    else if (igp_take(parser, "=="))
        it.op = CO_EQ;
    else if (igp_take(parser, "!="))
        it.op = CO_NE;
    else
        return ig_error(parser->g, parser->token->loc, "expected '==' or '!=', found '%s'",
                        parser->token->text);
    if (it.op != CO_POW2)
        it.value = *parser->token++;
    if (it.op != CO_POW2 && (it.value.kind == TK_EOF || it.value.kind == TK_PUNCT))
        return ig_error(parser->g, it.value.loc, "expected a value, found '%s'", it.value.text);
    VEC_ADD(&parser->g->arena, c, it);
    return true;
}

static bool cond_and(Parser *parser, IgCond *c) {
    if (!cond_term(parser, c))
        return false;
    while (igp_take(parser, "and")) {
        if (!cond_term(parser, c))
            return false;
        VEC_ADD(&parser->g->arena, c, ((IgCondItem){.op = CO_AND}));
    }
    return true;
}

static bool cond_or(Parser *parser, IgCond *c) {
    if (!cond_and(parser, c))
        return false;
    while (igp_take(parser, "or")) {
        if (!cond_and(parser, c))
            return false;
        VEC_ADD(&parser->g->arena, c, ((IgCondItem){.op = CO_OR}));
    }
    return true;
}

/* ---- fields ---- */

bool ig_builtin_type(const char *name, IgValue *value, unsigned *width) {
    static const struct {
        const char *name;
        IgValue value;
        unsigned width;
    } types[] = {{"Reg", VT_REG, 8},     {"UReg", VT_UREG, 0},     {"Pred", VT_PRED, 3},
                 {"UPred", VT_UPRED, 3}, {"BReg", VT_BREG, 4},     {"SReg", VT_SREG, 8},
                 {"F32Imm", VT_F32, 32}, {"F64Imm", VT_F64, 32},   {"H2Imm", VT_H2, 32},
                 {"PModi", VT_MODI, 1},  {"SignModi", VT_MODI, 1}, {"AddrWide", VT_MODI, 1},
                 {"Reuse", VT_MODI, 1},  {"Half", VT_MODI, 2},     {"CMem", VT_CMEM, 0},
                 {"Ctrl", VT_CTRL, 0},   {"Opcode", VT_NUMBER, 12}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (!strcmp(types[i].name, name)) {
            *value = types[i].value;
            *width = types[i].width;
            return true;
        }
    if (!strncmp(name, "UImm", 4) || !strncmp(name, "SImm", 4)) {
        char *end;
        long n = strtol(name + 4, &end, 10);
        if (*end || n < 1 || n > (name[0] == 'U' ? 64 : 63))
            return false;
        *value = name[0] == 'U' ? VT_UIMM : VT_SIMM;
        *width = (unsigned)n;
        return true;
    }
    return false;
}

static bool add_part(Parser *parser, IgField *field, unsigned lo, IgLoc loc) {
    int64_t w;
    if (!igp_expect(parser, ",") || !igp_number(parser, &w))
        return false;
    if (w < 1 || lo + w > IG_WORD_BITS)
        return ig_error(parser->g, loc, "field of %lld bits at %u leaves the word", (long long)w, lo);
    if (field->nparts == 3)
        return ig_error(parser->g, loc, "a field has at most 3 parts");
    field->lo[field->nparts] = lo;
    field->w[field->nparts++] = (unsigned)w;
    field->width += (unsigned)w;
    return true;
}

/* <lo, width> or <{lo, width}, {lo, width}>, low part first */
static bool bit_range(Parser *parser, IgField *f) {
    unsigned lo;
    if (!igp_expect(parser, "<"))
        return false;
    if (!igp_is(parser, "{")) {
        IgLoc loc = parser->token->loc;
        return igp_bit_number(parser, &lo) && add_part(parser, f, lo, loc) && igp_expect(parser, ">");
    }
    do {
        IgLoc loc = parser->token->loc;
        if (!igp_expect(parser, "{") || !igp_bit_number(parser, &lo) || !add_part(parser, f, lo, loc) ||
            !igp_expect(parser, "}"))
            return false;
    } while (igp_take(parser, ","));
    return igp_expect(parser, ">");
}

static bool field_options(Parser *parser, IgField *field) {
    for (;;) {
        int64_t n;
        if (igp_take(parser, "reversed")) {
            field->reversed = true;
        } else if (igp_take(parser, "scale")) {
            if (!igp_number(parser, &n))
                return false;
            if (n < 1 || n > 4096)
                return ig_error(parser->g, field->loc, "scale must be 1 to 4096");
            field->scale = (unsigned)n;
        } else if (igp_take(parser, "bias")) {
            if (!igp_number(parser, &n))
                return false;
            field->bias = (int)n;
        } else if (igp_take(parser, "as")) {
            if (!igp_ident(parser, &field->as))
                return false;
        } else if (igp_take(parser, "when")) {
            if (!cond_or(parser, &field->when))
                return false;
        } else {
            return igp_expect(parser, ";");
        }
    }
}

static bool parse_field(Parser *parser, IgDef *ig_def, IgLoc loc) {
    IgField f = {.kind = FD_FIELD, .scale = 1, .loc = loc};
    if (!bit_range(parser, &f) || !igp_ident(parser, &f.type_name) || !igp_ident(parser, &f.name))
        return false;
    if (igp_take(parser, ".") && !igp_ident(parser, &f.attr))
        return false;
    bool fixed = igp_take(parser, "==");
    if (fixed || igp_take(parser, "=")) {
        f.kind = fixed ? FD_FIXED : FD_FIELD;
        f.has_default = !fixed;
        bool minus = igp_take(parser, "-");
        f.def = *parser->token++;
        if (f.def.kind != TK_IDENT && f.def.kind != TK_NUMBER)
            return ig_error(parser->g, f.def.loc, "expected a value, found '%s'", f.def.text);
        if (minus)
            f.def.number = -f.def.number;
    }
    if (!field_options(parser, &f))
        return false;
    VEC_ADD(&parser->g->arena, &ig_def->fields, f);
    return true;
}

/* psrc<lo, not> name = PT|!PT;   pdst<lo> name = PT; */
static bool parse_pred(Parser *parser, IgDef *ig_def, IgLoc loc, const char *type, bool source) {
    unsigned lo, inv = 0;
    const char *name;
    if (!igp_expect(parser, "<") || !igp_bit_number(parser, &lo) ||
        (source && (!igp_expect(parser, ",") || !igp_bit_number(parser, &inv))) || !igp_expect(parser, ">") ||
        !igp_ident(parser, &name))
        return false;
    IgField f = ig_field(lo, 3, type, name, NULL, loc);
    IgField n = ig_field(inv, 1, "PModi", name, "not", loc);
    n.has_default = true;
    n.def = ig_name_token("False", loc);
    if (igp_take(parser, "=")) {
        f.has_default = true;
        if (igp_take(parser, "!"))
            n.def = ig_name_token("True", loc);
        f.def = *parser->token++;
    }
    VEC_ADD(&parser->g->arena, &ig_def->fields, f);
    if (source)
        VEC_ADD(&parser->g->arena, &ig_def->fields, n);
    return igp_expect(parser, ";");
}

static bool parse_flag(Parser *parser, IgDef *ig_def, IgLoc loc) {
    unsigned lo;
    const char *name, *text;
    if (!igp_expect(parser, "<") || !igp_bit_number(parser, &lo) || !igp_expect(parser, ">") ||
        !igp_ident(parser, &name) || !igp_string(parser, &text))
        return false;
    IgType *type = ig_flag_type(parser->g, text);
    IgField f = ig_field(lo, 1, type->name, name, NULL, loc);
    f.has_default = true;
    f.def = (IgTok){.kind = TK_NUMBER, .text = "0", .number = 0, .loc = loc};
    VEC_ADD(&parser->g->arena, &ig_def->fields, f);
    return igp_expect(parser, ";");
}

static bool parse_reuse(Parser *parser, IgDef *def, IgLoc loc) {
    unsigned lo;
    const char *name;
    if (!igp_expect(parser, "<") || !igp_bit_number(parser, &lo) || !igp_expect(parser, ">") ||
        !igp_ident(parser, &name))
        return false;
    VEC_ADD(&parser->g->arena, &def->fields, ig_field(lo, 1, "Reuse", name, "reuse", loc));
    return igp_expect(parser, ";");
}

/* wide<ra> = e;   mod<Type> mode == VALUE; */
static bool parse_virtual(Parser *parser, IgDef *ig_def, IgLoc loc, bool wide) {
    IgField f = {.kind = wide ? FD_WIDE : FD_MODFIXED, .scale = 1, .loc = loc};
    const char *in;
    if (!igp_expect(parser, "<") || !igp_ident(parser, &in) || !igp_expect(parser, ">"))
        return false;
    if (wide) {
        f.name = in;
        f.attr = "wide";
        if (!igp_expect(parser, "="))
            return false;
    } else {
        f.type_name = in;
        if (!igp_ident(parser, &f.name) || !igp_expect(parser, "=="))
            return false;
    }
    f.def = *parser->token++;
    VEC_ADD(&parser->g->arena, &ig_def->fields, f);
    return igp_expect(parser, ";");
}

/* imm<Type> slot == VALUE; */
static bool parse_implied(Parser *parser, IgDef *ig_def, IgLoc loc) {
    IgField f = {.kind = FD_FIELD, .scale = 1, .loc = loc, .has_default = true, .implied = true};
    if (!igp_expect(parser, "<") || !igp_ident(parser, &f.type_name) || !igp_expect(parser, ">") ||
        !igp_ident(parser, &f.name) || !igp_expect(parser, "=="))
        return false;
    bool minus = igp_take(parser, "-");
    int64_t n;
    f.def = *parser->token;
    if (!igp_number(parser, &n))
        return false;
    f.def.number = minus ? -n : n;
    f.bias = (int)f.def.number;
    VEC_ADD(&parser->g->arena, &ig_def->fields, f);
    return igp_expect(parser, ";");
}

static bool parse_reserved(Parser *parser, IgDef *def, IgLoc loc, IgFieldKind kind) {
    IgField f = {.kind = kind, .scale = 1, .loc = loc, .name = "reserved"};
    if (!bit_range(parser, &f))
        return false;
    VEC_ADD(&parser->g->arena, &def->fields, f);
    return igp_expect(parser, ";");
}

static bool form_slot(Parser *parser, IgFormSlot *ig_form_slot) {
    if (igp_take(parser, "-"))
        return true;
    if (!igp_ident(parser, &ig_form_slot->slot))
        return false;
    if (!igp_take(parser, "["))
        return true;
    do {
        if (igp_take(parser, "neg"))
            ig_form_slot->neg = true;
        else if (igp_take(parser, "abs"))
            ig_form_slot->abs = true;
        else if (igp_take(parser, "half"))
            ig_form_slot->half = true;
        else if (igp_take(parser, "sel"))
            ig_form_slot->half_sel = true;
        else if (igp_take(parser, "part"))
            ig_form_slot->part_sel = true;
        else if (igp_take(parser, "fp16"))
            ig_form_slot->half_bits = true;
        else if (igp_take(parser, "not"))
            ig_form_slot->bitnot = true;
        else
            return ig_error(parser->g, parser->token->loc, "unknown operand modifier '%s'",
                            parser->token->text);
    } while (igp_take(parser, ","));
    return igp_expect(parser, "]");
}

static bool parse_forms(Parser *parser, IgDef *def, IgLoc loc, bool uniform) {
    IgForms f = {.uniform = uniform, .loc = loc, .suffix = "", .imm_type = "UImm32"};
    int64_t base;
    if (!igp_expect(parser, "<") || !igp_number(parser, &base) || !igp_expect(parser, ">"))
        return false;
    f.base = (unsigned)base;
    do {
        IgTok t = *parser->token;
        const char *name;
        if (!igp_ident(parser, &name))
            return false;
        VEC_ADD(&parser->g->arena, &f.names, t);
    } while (igp_take(parser, ","));
    if (!igp_expect(parser, ":"))
        return false;
    for (unsigned i = 0; i < 3; i++)
        if ((i && !igp_expect(parser, ",")) || !form_slot(parser, &f.slot[i]))
            return false;
    if (!igp_expect(parser, ";"))
        return false;
    for (;;) {
        bool ok;
        if (igp_take(parser, "imm"))
            ok = igp_ident(parser, &f.imm_type);
        else if (igp_take(parser, "suffix"))
            ok = igp_ident(parser, &f.suffix);
        else if (igp_take(parser, "select"))
            ok = cond_or(parser, &f.select);
        else if (igp_take(parser, "fallback"))
            ok = f.fallback = true;
        else
            break;
        if (!ok || !igp_expect(parser, ";"))
            return false;
    }
    VEC_ADD(&parser->g->arena, &def->forms, f);
    return true;
}

static bool parse_encoding(Parser *parser, IgDef *def) {
    while (parser->token->kind == TK_IDENT && strncmp(parser->token->text, "__", 2)) {
        IgLoc loc = parser->token->loc;
        bool ok;
        if (igp_take(parser, "field"))
            ok = parse_field(parser, def, loc);
        else if (igp_take(parser, "psrc"))
            ok = parse_pred(parser, def, loc, "Pred", true);
        else if (igp_take(parser, "pdst"))
            ok = parse_pred(parser, def, loc, "Pred", false);
        else if (igp_take(parser, "upsrc"))
            ok = parse_pred(parser, def, loc, "UPred", true);
        else if (igp_take(parser, "updst"))
            ok = parse_pred(parser, def, loc, "UPred", false);
        else if (igp_take(parser, "flag"))
            ok = parse_flag(parser, def, loc);
        else if (igp_take(parser, "reuse"))
            ok = parse_reuse(parser, def, loc);
        else if (igp_take(parser, "wide"))
            ok = parse_virtual(parser, def, loc, true);
        else if (igp_take(parser, "mod"))
            ok = parse_virtual(parser, def, loc, false);
        else if (igp_take(parser, "imm"))
            ok = parse_implied(parser, def, loc);
        else if (igp_take(parser, "zero"))
            ok = parse_reserved(parser, def, loc, FD_ZERO);
        else if (igp_take(parser, "spare"))
            ok = parse_reserved(parser, def, loc, FD_SPARE);
        else if (igp_take(parser, "forms"))
            ok = parse_forms(parser, def, loc, false);
        else if (igp_take(parser, "uforms"))
            ok = parse_forms(parser, def, loc, true);
        else if (igp_take(parser, "select"))
            ok = cond_or(parser, &def->select) && igp_expect(parser, ";");
        else if (igp_take(parser, "fallback"))
            ok = def->fallback = igp_expect(parser, ";");
        else
            ok = ig_error(parser->g, loc, "unknown statement '%s' in __Encoding", parser->token->text);
        if (!ok)
            return false;
    }
    return true;
}

/* ---- __OperandInfo, __Exception ---- */

static bool slot_list(Parser *parser, bool dst, IgDef *def, const char *end) {
    while (!igp_is(parser, end)) {
        IgSlot s = {.loc = parser->token->loc};
        if (!igp_ident(parser, &s.name))
            return false;
        while (igp_take(parser, "=")) {
            const char *alias;
            if (!igp_ident(parser, &alias))
                return false;
            VEC_ADD(&parser->g->arena, &s.aliases, alias);
        }
        if (dst)
            VEC_ADD(&parser->g->arena, &def->dst, s);
        else
            VEC_ADD(&parser->g->arena, &def->src, s);
        if (!igp_take(parser, ","))
            break;
    }
    return igp_expect(parser, end);
}

static bool name_list(Parser *parser, IgToks *names) {
    if (!igp_expect(parser, "<"))
        return false;
    while (!igp_is(parser, ">")) {
        IgTok t = *parser->token;
        const char *name;
        if (!igp_ident(parser, &name))
            return false;
        VEC_ADD(&parser->g->arena, names, t);
        if (!igp_take(parser, ","))
            break;
    }
    return igp_expect(parser, ">") && igp_expect(parser, ";");
}

static bool parse_bitwidth(Parser *parser, IgDef *def, IgLoc loc) {
    IgBitwidth b = {.loc = loc};
    if (!igp_expect(parser, "<") || !igp_ident(parser, &b.slot) || !igp_expect(parser, ">") ||
        !igp_expect(parser, "="))
        return false;
    if (parser->token->kind == TK_NUMBER)
        b.bits = (unsigned)parser->token++->number;
    else if (!igp_ident(parser, &b.mod))
        return false;
    if (!b.mod && igp_take(parser, "when") && !cond_or(parser, &b.when))
        return false;
    VEC_ADD(&parser->g->arena, &def->widths, b);
    return igp_expect(parser, ";");
}

static bool parse_asmformat(Parser *parser, IgDef *def, IgLoc loc) {
    IgAsmFormat a = {.loc = loc};
    const char *again;
    int64_t shift;
    if (!igp_expect(parser, "<") || !igp_ident(parser, &a.field) || !igp_expect(parser, ">") ||
        !igp_expect(parser, "=") || !igp_expect(parser, "CvtIShift") || !igp_expect(parser, "(") ||
        !igp_ident(parser, &again) || !igp_expect(parser, ",") || !igp_number(parser, &shift) ||
        !igp_expect(parser, ")"))
        return false;
    if (strcmp(again, a.field))
        return ig_error(parser->g, loc, "AsmFormat<%s> converts %s", a.field, again);
    if (shift < 0 || shift > 12)
        return ig_error(parser->g, loc, "shift must be 0 to 12");
    a.shift = (unsigned)shift;
    VEC_ADD(&parser->g->arena, &def->formats, a);
    return igp_expect(parser, ";");
}

static bool parse_alias(Parser *parser, IgDef *def, IgLoc loc) {
    IgSyntaxDecl a = {.loc = loc};
    if (!igp_string(parser, &a.text) || (igp_take(parser, "when") && !cond_or(parser, &a.cond)))
        return false;
    VEC_ADD(&parser->g->arena, &def->aliases, a);
    return igp_expect(parser, ";");
}

/* The heading's word and the lines below it. */
static bool parse_prose(Parser *parser, IgDef *def) {
    IgProse prose = {.heading = ig_prose_heading(parser->token[0].text), .text = parser->token[1].text};
    VEC_ADD(&parser->g->arena, &def->prose, prose);
    parser->token += 2;
    return true;
}

static bool parse_operand_info(Parser *parser, IgDef *def) {
    while (parser->token->kind == TK_IDENT && strncmp(parser->token->text, "__", 2)) {
        IgLoc loc = parser->token->loc;
        bool ok;
        if (igt_statement(parser, &def->traits, &ok)) {
            ;
        } else if (igp_take(parser, "Slots")) {
            def->has_slots = true;
            ok = igp_expect(parser, "<") && slot_list(parser, true, def, ";") &&
                 slot_list(parser, false, def, ">") && igp_expect(parser, ";");
        } else if (igp_take(parser, "Syntax")) {
            def->syntax_loc = parser->token->loc;
            ok = igp_string(parser, &def->syntax) && igp_expect(parser, ";");
        } else if (igp_take(parser, "Alias")) {
            ok = parse_alias(parser, def, loc);
        } else if (igp_take(parser, "Bitwidth")) {
            ok = parse_bitwidth(parser, def, loc);
        } else if (igp_take(parser, "AsmFormat")) {
            ok = parse_asmformat(parser, def, loc);
        } else if (igp_take(parser, "InList")) {
            def->has_inlist = true;
            ok = name_list(parser, &def->inlist);
        } else if (igp_take(parser, "OutList")) {
            def->has_outlist = true;
            ok = name_list(parser, &def->outlist);
        } else if (igp_take(parser, "Order")) {
            def->has_order = true;
            ok = name_list(parser, &def->order);
        } else {
            ok = ig_error(parser->g, loc, "unknown statement '%s' in __OperandInfo", parser->token->text);
        }
        if (!ok)
            return false;
    }
    if (parser->token->kind == TK_PROSE) {
        VEC_ADD(&parser->g->arena, &def->prose,
                ((IgProse){ig_prose_heading("__OperandInfo"), parser->token->text}));
        parser->token++;
    }
    return true;
}

static bool parse_exception(Parser *parser, IgDef *def) {
    while (igp_is(parser, "EncodingError")) {
        IgSyntaxDecl e = {.loc = parser->token->loc};
        const char *kind;
        parser->token++;
        if (!igp_expect(parser, "<") || !igp_ident(parser, &kind) || !igp_expect(parser, ",") ||
            !igp_string(parser, &e.text) || !igp_expect(parser, ">") || !igp_expect(parser, "=") ||
            !cond_or(parser, &e.cond) || !igp_expect(parser, ";"))
            return false;
        VEC_ADD(&parser->g->arena, &def->errors, e);
    }
    return true;
}

/* ---- definitions ---- */

static bool parse_def(Parser *parser, IgDefKind kind) {
    Ig *ig = parser->g;
    IgDef *def = ARENA_NEW(&ig->arena, IgDef);
    def->kind = kind;
    def->loc = parser->token->loc;
    def->targets = parser->targets;
    if (!igp_ident(parser, &def->name))
        return false;
    if (igp_take(parser, ":")) {
        if (!igp_expect(parser, "["))
            return false;
        do {
            IgTok t = *parser->token;
            const char *name;
            if (!igp_ident(parser, &name))
                return false;
            VEC_ADD(&ig->arena, &def->parents, t);
        } while (igp_take(parser, ","));
        if (!igp_expect(parser, "]"))
            return false;
    }
    if (igp_take(parser, "on") && !igp_target_set(parser, &def->targets))
        return false;
    if (!def->targets)
        return ig_error(ig, def->loc, "%s: no __Targets given", def->name);
    for (unsigned i = 0; i < ig->defs.n; i++)
        if (!strcmp(ig->defs.at[i]->name, def->name) && (ig->defs.at[i]->targets & def->targets) &&
            (ig->defs.at[i]->kind == DK_OPCODE) == (kind == DK_OPCODE))
            return ig_error(ig, def->loc, "%s is defined twice for a target", def->name);
    VEC_ADD(&ig->arena, &ig->defs, def);
    for (;;) {
        bool ok;
        if (igp_take(parser, "__Encoding"))
            ok = parse_encoding(parser, def);
        else if (igp_take(parser, "__OperandInfo"))
            ok = parse_operand_info(parser, def);
        else if (igp_take(parser, "__Exception"))
            ok = parse_exception(parser, def);
        else if (parser->token->kind == TK_IDENT && ig_prose_heading(parser->token->text))
            ok = parse_prose(parser, def);
        else
            return true;
        if (!ok)
            return false;
    }
}

bool ig_parse(Ig *g, const IgToks *toks) {
    Parser p = {.g = g, .token = toks->at};
    while (p.token->kind != TK_EOF) {
        bool ok;
        if (igp_take(&p, "__DefBitFieldType"))
            ok = igp_type(&p, false);
        else if (igp_take(&p, "__DefNumbers"))
            ok = igp_type(&p, true);
        else if (igp_take(&p, "__DefTarget"))
            ok = igp_target(&p);
        else if (igp_take(&p, "__DefTargetSet"))
            ok = igp_def_target_set(&p);
        else if (igp_take(&p, "__DefSRegs"))
            ok = igp_sregs(&p);
        else if (igp_take(&p, "__Targets"))
            ok = igp_target_set(&p, &p.targets) && igp_expect(&p, ";");
        else if (igp_take(&p, "__DefGroup"))
            ok = parse_def(&p, DK_GROUP);
        else if (igp_take(&p, "__DefOptype"))
            ok = parse_def(&p, DK_OPTYPE);
        else if (igp_take(&p, "__DefOpcode"))
            ok = parse_def(&p, DK_OPCODE);
        else
            ok = ig_error(g, p.token->loc, "expected a definition, found '%s'", p.token->text);
        if (!ok)
            return false;
    }
    return true;
}
