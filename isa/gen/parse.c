/* isagen's parser: tokens to definitions. The shorthands (psrc, pdst, flag, reuse) become plain fields here,
 * and forms<> becomes opcodes when the file set is complete.
 * SPDX-License-Identifier: MIT */
#include "isa/gen/parse.h"
#include <stdlib.h>
#include <string.h>

/* ---- conditions ---- */

static bool cond_or(Parser *p, IgCond *c);

static bool cond_term(Parser *p, IgCond *c) {
    if (igp_take(p, "("))
        return cond_or(p, c) && igp_expect(p, ")");
    IgCondItem it = {.loc = p->t->loc};
    if (!igp_ident(p, &it.name))
        return false;
    if (igp_take(p, "pow2"))
        it.op = CO_POW2;
    else if (igp_take(p, "=="))
        it.op = CO_EQ;
    else if (igp_take(p, "!="))
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
    while (igp_take(p, "and")) {
        if (!cond_term(p, c))
            return false;
        VEC_ADD(&p->g->arena, c, ((IgCondItem){.op = CO_AND}));
    }
    return true;
}

static bool cond_or(Parser *p, IgCond *c) {
    if (!cond_and(p, c))
        return false;
    while (igp_take(p, "or")) {
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
    } types[] = {{"Reg", VT_REG, 8},     {"UReg", VT_UREG, 6},     {"Pred", VT_PRED, 3},
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
    if (!igp_expect(p, ",") || !igp_number(p, &w))
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
    if (!igp_expect(p, "<"))
        return false;
    if (!igp_is(p, "{")) {
        IgLoc loc = p->t->loc;
        return igp_bit_number(p, &lo) && add_part(p, f, lo, loc) && igp_expect(p, ">");
    }
    do {
        IgLoc loc = p->t->loc;
        if (!igp_expect(p, "{") || !igp_bit_number(p, &lo) || !add_part(p, f, lo, loc) || !igp_expect(p, "}"))
            return false;
    } while (igp_take(p, ","));
    return igp_expect(p, ">");
}

static IgField plain_field(unsigned lo, unsigned width, const char *type, const char *name, const char *attr,
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

static IgTok name_token(const char *text, IgLoc loc) {
    return (IgTok){.kind = TK_IDENT, .text = text, .loc = loc};
}

static bool field_options(Parser *p, IgField *f) {
    for (;;) {
        int64_t n;
        if (igp_take(p, "reversed")) {
            f->reversed = true;
        } else if (igp_take(p, "scale")) {
            if (!igp_number(p, &n))
                return false;
            if (n < 1 || n > 4096)
                return ig_error(p->g, f->loc, "scale must be 1 to 4096");
            f->scale = (unsigned)n;
        } else if (igp_take(p, "bias")) {
            if (!igp_number(p, &n))
                return false;
            f->bias = (int)n;
        } else if (igp_take(p, "as")) {
            if (!igp_ident(p, &f->as))
                return false;
        } else if (igp_take(p, "when")) {
            if (!cond_or(p, &f->when))
                return false;
        } else {
            return igp_expect(p, ";");
        }
    }
}

static bool parse_field(Parser *p, IgDef *d, IgLoc loc) {
    IgField f = {.kind = FD_FIELD, .scale = 1, .loc = loc};
    if (!bit_range(p, &f) || !igp_ident(p, &f.type_name) || !igp_ident(p, &f.name))
        return false;
    if (igp_take(p, ".") && !igp_ident(p, &f.attr))
        return false;
    bool fixed = igp_take(p, "==");
    if (fixed || igp_take(p, "=")) {
        f.kind = fixed ? FD_FIXED : FD_FIELD;
        f.has_default = !fixed;
        f.def_invert = igp_take(p, "!");
        bool minus = igp_take(p, "-");
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
    if (!igp_expect(p, "<") || !igp_bit_number(p, &lo) ||
        (source && (!igp_expect(p, ",") || !igp_bit_number(p, &inv))) || !igp_expect(p, ">") ||
        !igp_ident(p, &name))
        return false;
    IgField f = plain_field(lo, 3, type, name, NULL, loc);
    IgField n = plain_field(inv, 1, "PModi", name, "not", loc);
    n.has_default = true;
    n.def = name_token("False", loc);
    if (igp_take(p, "=")) {
        f.has_default = true;
        if (igp_take(p, "!"))
            n.def = name_token("True", loc);
        f.def = *p->t++;
    }
    VEC_ADD(&p->g->arena, &d->fields, f);
    if (source)
        VEC_ADD(&p->g->arena, &d->fields, n);
    return igp_expect(p, ";");
}

static bool parse_flag(Parser *p, IgDef *d, IgLoc loc) {
    unsigned lo;
    const char *name, *text;
    if (!igp_expect(p, "<") || !igp_bit_number(p, &lo) || !igp_expect(p, ">") || !igp_ident(p, &name) ||
        !igp_string(p, &text))
        return false;
    IgType *t = ig_flag_type(p->g, text);
    IgField f = plain_field(lo, 1, t->name, name, NULL, loc);
    f.has_default = true;
    f.def = (IgTok){.kind = TK_NUMBER, .text = "0", .number = 0, .loc = loc};
    VEC_ADD(&p->g->arena, &d->fields, f);
    return igp_expect(p, ";");
}

static bool parse_reuse(Parser *p, IgDef *d, IgLoc loc) {
    unsigned lo;
    const char *name;
    if (!igp_expect(p, "<") || !igp_bit_number(p, &lo) || !igp_expect(p, ">") || !igp_ident(p, &name))
        return false;
    VEC_ADD(&p->g->arena, &d->fields, plain_field(lo, 1, "Reuse", name, "reuse", loc));
    return igp_expect(p, ";");
}

/* wide<ra> = e;   mod<Type> mode == VALUE; */
static bool parse_virtual(Parser *p, IgDef *d, IgLoc loc, bool wide) {
    IgField f = {.kind = wide ? FD_WIDE : FD_MODFIXED, .scale = 1, .loc = loc};
    const char *in;
    if (!igp_expect(p, "<") || !igp_ident(p, &in) || !igp_expect(p, ">"))
        return false;
    if (wide) {
        f.name = in;
        f.attr = "wide";
        if (!igp_expect(p, "="))
            return false;
    } else {
        f.type_name = in;
        if (!igp_ident(p, &f.name) || !igp_expect(p, "=="))
            return false;
    }
    f.def = *p->t++;
    VEC_ADD(&p->g->arena, &d->fields, f);
    return igp_expect(p, ";");
}

static bool parse_reserved(Parser *p, IgDef *d, IgLoc loc, IgFieldKind kind) {
    IgField f = {.kind = kind, .scale = 1, .loc = loc, .name = "reserved"};
    if (!bit_range(p, &f))
        return false;
    VEC_ADD(&p->g->arena, &d->fields, f);
    return igp_expect(p, ";");
}

static bool form_slot(Parser *p, IgFormSlot *s) {
    if (igp_take(p, "-"))
        return true;
    if (!igp_ident(p, &s->slot))
        return false;
    if (!igp_take(p, "["))
        return true;
    do {
        if (igp_take(p, "neg"))
            s->neg = true;
        else if (igp_take(p, "abs"))
            s->abs = true;
        else if (igp_take(p, "half"))
            s->half = true;
        else if (igp_take(p, "sel"))
            s->half_sel = true;
        else if (igp_take(p, "fp16"))
            s->half_bits = true;
        else if (igp_take(p, "not"))
            s->bitnot = true;
        else
            return ig_error(p->g, p->t->loc, "unknown operand modifier '%s'", p->t->text);
    } while (igp_take(p, ","));
    return igp_expect(p, "]");
}

static bool parse_forms(Parser *p, IgDef *d, IgLoc loc, bool uniform) {
    IgForms f = {.uniform = uniform, .loc = loc, .suffix = "", .imm_type = "UImm32"};
    int64_t base;
    if (!igp_expect(p, "<") || !igp_number(p, &base) || !igp_expect(p, ">"))
        return false;
    f.base = (unsigned)base;
    do {
        IgTok t = *p->t;
        const char *name;
        if (!igp_ident(p, &name))
            return false;
        VEC_ADD(&p->g->arena, &f.names, t);
    } while (igp_take(p, ","));
    if (!igp_expect(p, ":"))
        return false;
    for (unsigned i = 0; i < 3; i++)
        if ((i && !igp_expect(p, ",")) || !form_slot(p, &f.slot[i]))
            return false;
    if (!igp_expect(p, ";"))
        return false;
    for (;;) {
        bool ok;
        if (igp_take(p, "imm"))
            ok = igp_ident(p, &f.imm_type);
        else if (igp_take(p, "suffix"))
            ok = igp_ident(p, &f.suffix);
        else if (igp_take(p, "select"))
            ok = cond_or(p, &f.select);
        else
            break;
        if (!ok || !igp_expect(p, ";"))
            return false;
    }
    VEC_ADD(&p->g->arena, &d->forms, f);
    return true;
}

static bool parse_encoding(Parser *p, IgDef *d) {
    while (p->t->kind == TK_IDENT && strncmp(p->t->text, "__", 2)) {
        IgLoc loc = p->t->loc;
        bool ok;
        if (igp_take(p, "field"))
            ok = parse_field(p, d, loc);
        else if (igp_take(p, "psrc"))
            ok = parse_pred(p, d, loc, "Pred", true);
        else if (igp_take(p, "pdst"))
            ok = parse_pred(p, d, loc, "Pred", false);
        else if (igp_take(p, "upsrc"))
            ok = parse_pred(p, d, loc, "UPred", true);
        else if (igp_take(p, "updst"))
            ok = parse_pred(p, d, loc, "UPred", false);
        else if (igp_take(p, "flag"))
            ok = parse_flag(p, d, loc);
        else if (igp_take(p, "reuse"))
            ok = parse_reuse(p, d, loc);
        else if (igp_take(p, "wide"))
            ok = parse_virtual(p, d, loc, true);
        else if (igp_take(p, "mod"))
            ok = parse_virtual(p, d, loc, false);
        else if (igp_take(p, "zero"))
            ok = parse_reserved(p, d, loc, FD_ZERO);
        else if (igp_take(p, "spare"))
            ok = parse_reserved(p, d, loc, FD_SPARE);
        else if (igp_take(p, "forms"))
            ok = parse_forms(p, d, loc, false);
        else if (igp_take(p, "uforms"))
            ok = parse_forms(p, d, loc, true);
        else if (igp_take(p, "select"))
            ok = cond_or(p, &d->select) && igp_expect(p, ";");
        else
            ok = ig_error(p->g, loc, "unknown statement '%s' in __Encoding", p->t->text);
        if (!ok)
            return false;
    }
    return true;
}

/* ---- __OperandInfo, __Exception ---- */

static bool slot_list(Parser *p, bool dst, IgDef *d, const char *end) {
    while (!igp_is(p, end)) {
        IgSlot s = {.loc = p->t->loc};
        if (!igp_ident(p, &s.name))
            return false;
        while (igp_take(p, "=")) {
            const char *alias;
            if (!igp_ident(p, &alias))
                return false;
            VEC_ADD(&p->g->arena, &s.aliases, alias);
        }
        if (dst)
            VEC_ADD(&p->g->arena, &d->dst, s);
        else
            VEC_ADD(&p->g->arena, &d->src, s);
        if (!igp_take(p, ","))
            break;
    }
    return igp_expect(p, end);
}

static bool name_list(Parser *p, void *vec) {
    if (!igp_expect(p, "<"))
        return false;
    while (!igp_is(p, ">")) {
        IgTok t = *p->t;
        const char *name;
        if (!igp_ident(p, &name))
            return false;
        *(IgTok *)vec_push_raw(&p->g->arena, vec, sizeof(IgTok)) = t;
        if (!igp_take(p, ","))
            break;
    }
    return igp_expect(p, ">") && igp_expect(p, ";");
}

static bool parse_bitwidth(Parser *p, IgDef *d, IgLoc loc) {
    IgBitwidth b = {.loc = loc};
    if (!igp_expect(p, "<") || !igp_ident(p, &b.slot) || !igp_expect(p, ">") || !igp_expect(p, "="))
        return false;
    if (p->t->kind == TK_NUMBER)
        b.bits = (unsigned)p->t++->number;
    else if (!igp_ident(p, &b.mod))
        return false;
    VEC_ADD(&p->g->arena, &d->widths, b);
    return igp_expect(p, ";");
}

static bool parse_asmformat(Parser *p, IgDef *d, IgLoc loc) {
    IgAsmFormat a = {.loc = loc};
    const char *again;
    int64_t shift;
    if (!igp_expect(p, "<") || !igp_ident(p, &a.field) || !igp_expect(p, ">") || !igp_expect(p, "=") ||
        !igp_expect(p, "CvtIShift") || !igp_expect(p, "(") || !igp_ident(p, &again) || !igp_expect(p, ",") ||
        !igp_number(p, &shift) || !igp_expect(p, ")"))
        return false;
    if (strcmp(again, a.field))
        return ig_error(p->g, loc, "AsmFormat<%s> converts %s", a.field, again);
    if (shift < 0 || shift > 12)
        return ig_error(p->g, loc, "shift must be 0 to 12");
    a.shift = (unsigned)shift;
    VEC_ADD(&p->g->arena, &d->formats, a);
    return igp_expect(p, ";");
}

static bool parse_alias(Parser *p, IgDef *d, IgLoc loc) {
    IgSyntaxDecl a = {.loc = loc};
    if (!igp_string(p, &a.text) || !igp_expect(p, "when") || !cond_or(p, &a.cond))
        return false;
    VEC_ADD(&p->g->arena, &d->aliases, a);
    return igp_expect(p, ";");
}

static bool parse_operand_info(Parser *p, IgDef *d) {
    while (p->t->kind == TK_IDENT && strncmp(p->t->text, "__", 2)) {
        IgLoc loc = p->t->loc;
        bool ok;
        if (igp_take(p, "Slots")) {
            d->has_slots = true;
            ok = igp_expect(p, "<") && slot_list(p, true, d, ";") && slot_list(p, false, d, ">") &&
                 igp_expect(p, ";");
        } else if (igp_take(p, "Syntax")) {
            d->syntax_loc = p->t->loc;
            ok = igp_string(p, &d->syntax) && igp_expect(p, ";");
        } else if (igp_take(p, "Alias")) {
            ok = parse_alias(p, d, loc);
        } else if (igp_take(p, "Bitwidth")) {
            ok = parse_bitwidth(p, d, loc);
        } else if (igp_take(p, "AsmFormat")) {
            ok = parse_asmformat(p, d, loc);
        } else if (igp_take(p, "Flags")) {
            ok = name_list(p, &d->flags);
        } else if (igp_take(p, "InList")) {
            d->has_inlist = true;
            ok = name_list(p, &d->inlist);
        } else if (igp_take(p, "OutList")) {
            d->has_outlist = true;
            ok = name_list(p, &d->outlist);
        } else if (igp_take(p, "Order")) {
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
    while (igp_is(p, "EncodingError")) {
        IgSyntaxDecl e = {.loc = p->t->loc};
        const char *kind;
        p->t++;
        if (!igp_expect(p, "<") || !igp_ident(p, &kind) || !igp_expect(p, ",") || !igp_string(p, &e.text) ||
            !igp_expect(p, ">") || !igp_expect(p, "=") || !cond_or(p, &e.cond) || !igp_expect(p, ";"))
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
    if (!igp_ident(p, &d->name))
        return false;
    if (igp_take(p, ":")) {
        if (!igp_expect(p, "["))
            return false;
        do {
            IgTok t = *p->t;
            const char *name;
            if (!igp_ident(p, &name))
                return false;
            VEC_ADD(&g->arena, &d->parents, t);
        } while (igp_take(p, ","));
        if (!igp_expect(p, "]"))
            return false;
    }
    if (igp_take(p, "on") && !igp_target_set(p, &d->targets))
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
        if (igp_take(p, "__Encoding"))
            ok = parse_encoding(p, d);
        else if (igp_take(p, "__OperandInfo"))
            ok = parse_operand_info(p, d);
        else if (igp_take(p, "__Exception"))
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
            ok = ig_error(g, p.t->loc, "expected a definition, found '%s'", p.t->text);
        if (!ok)
            return false;
    }
    return true;
}
