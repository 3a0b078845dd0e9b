/* Module level: header directives, functions with their performance directives, prototypes, debug
 * sections (PTX ISA 4.3, 5.4.x, 7.1, 11).
 * SPDX-License-Identifier: MIT */
#include "frontend/parse.h"
#include "base/align.h"
#include "frontend/param_layout.h"
#include <stdio.h>
#include <string.h>

/* header */

/* The last minor version of each major version of the PTX ISA; a newer one is taken with a warning. */
static const uint8_t last_minor[] = {5, 3, 2, 3, 1, 5, 8, 8, 1};
enum { NEWEST_MAJOR = sizeof last_minor };

int ptx_last_minor(unsigned major) {
    return major >= 1 && major <= NEWEST_MAJOR ? last_minor[major - 1] : -1;
}

/* A number of at most three digits at *text, which goes behind it; false: there is none. */
static bool read_short(const char **text, unsigned *number) {
    const char *first = *text;
    for (*number = 0; **text >= '0' && **text <= '9' && *text < first + 3; (*text)++)
        *number = *number * 10 + (unsigned)(**text - '0');
    return *text > first;
}

static bool parse_version(Parser *parser) {
    unsigned major, minor;
    if (!parse_at_dir(parser, ".version"))
        return diag(parser->d, here(parser), DIAG_E0117);
    next(parser);
    char text[24];
    snprintf(text, sizeof text, "%.*s", parser->tok.size > 20 ? 20 : (int)parser->tok.size,
             parser->lx.text + parser->tok.at);
    const char *rest = text;
    if (!at(parser, TK_DBL) || !read_short(&rest, &major) || *rest++ != '.' || !read_short(&rest, &minor) ||
        *rest)
        return diag(parser->d, here(parser), DIAG_E0117);
    if (major < 1 || major > NEWEST_MAJOR)
        return diag(parser->d, here(parser), DIAG_E0143, major, minor);
    if (minor > last_minor[major - 1])
        diag(parser->d, here(parser), DIAG_W0141, major, minor);
    parser->m->version_major = major;
    parser->m->version_minor = minor;
    parser->seen_version = true;
    next(parser);
    return true;
}

/* What is wrong with a name is reported and the list read on: behind it no `;` says where the next statement
 * begins. */
static bool parse_target(Parser *parser) {
    static const char *const options[] = {"debug", "texmode_unified", "texmode_independent",
                                          "map_f64_to_f32"};
    const char *all = "";
    VEC(Token) gated = {0}; /* options that are gated by the architecture behind them, too */
    unsigned first = 0, given = parser->m->version_major * 10 + parser->m->version_minor;
    bool all_known = true;
    next(parser);
    do {
        Token t = parser->tok;
        if (!parse_expect(parser, TK_IDENT, "a target"))
            return false;
        const char *text = parse_name_text(parser, t.str);
        bool known = gate_target(text, &parser->m->sm, &parser->m->sm_variant, &first);
        if (known && given < first)
            diag(parser->d, tok_loc(&t), DIAG_E0147, given / 10, given % 10, text, first / 10, first % 10);
        for (unsigned i = 0; i < sizeof options / sizeof *options; i++)
            known |= !strcmp(text, options[i]);
        if (!known)
            all_known = diag(parser->d, tok_loc(&t), DIAG_E0118, *all ? "option" : "target", text);
        if (gate_directive(text, strlen(text)))
            VEC_ADD(&parser->tmp, &gated, t);
        all = arena_printf(&parser->tmp, *all ? "%s, %s" : "%s%s", all, text);
        if (strlen(all) > 1000)
            return parse_expected(parser, "the end of the list");
    } while (parse_accept(parser, ','));
    if (!parser->m->sm && all_known)
        diag(parser->d, here(parser), DIAG_E0118, "target", all);
    parser->m->target_text = str_intern_z(&parser->m->strings, all);
    parser->seen_target = true;
    for (uint32_t k = 0; k < gated.n; k++)
        parse_directive_met(parser, parse_name_text(parser, gated.at[k].str), tok_loc(&gated.at[k]));
    return true;
}

static bool parse_address_size(Parser *parser) {
    next(parser);
    Token t = parser->tok;
    if (!parse_expect(parser, TK_INT, "an address size"))
        return false;
    if (t.value != 64)
        diag(parser->d, tok_loc(&t), DIAG_E0119, (unsigned long long)t.value);
    return true;
}

bool parse_file(Parser *parser) {
    next(parser);
    Token number = parser->tok;
    if (!parse_expect(parser, TK_INT, "a file number"))
        return false;
    Token name = parser->tok;
    if (!parse_expect(parser, TK_STRING, "a file name"))
        return false;
    if (number.value >= 1 << 20)
        return diag(parser->d, tok_loc(&number), DIAG_E0121, "file number");
    *parse_slot_of(parser, &parser->files, (StrId){(uint32_t)number.value}) = name.str.i;
    for (unsigned i = 0; i < 2 && parse_accept(parser, ','); i++) /* time stamp, size */
        if (!parse_directive_met(parser, "a time stamp of .file", here(parser)) ||
            !parse_expect(parser, TK_INT, "a number"))
            return false;
    return true;
}

/* Skip raw text up to the brace that closes; braces in strings and comments do not count. */
static bool skip_braces(Parser *parser, uint32_t *end) {
    const char *s = parser->lx.text, *stop = s + parser->lx.size;
    unsigned depth = 1;
    for (const char *c = s + parser->lx.at; c < stop; c++) {
        if (*c == '{') {
            depth++;
        } else if (*c == '}' && !--depth) {
            *end = (uint32_t)(c - s);
            return true;
        } else if (*c == '"' || (*c == '/' && c[1] == '/')) {
            const char *line = memchr(c, '\n', (size_t)(stop - c));
            const char *quote = *c == '"' ? memchr(c + 1, '"', (size_t)(stop - c - 1)) : NULL;
            c = quote && (!line || quote < line) ? quote : line ? line : stop;
        } else if (*c == '/' && c[1] == '*') {
            const char *close = strstr(c + 2, "*/");
            c = close ? close + 1 : stop;
        }
    }
    return false;
}

bool parse_section(Parser *parser) {
    next(parser);
    PtxSection s = {.name = parser->tok.str};
    SrcLoc loc = here(parser);
    uint32_t end;
    if (!parse_accept(parser, TK_IDENT) && !parse_expect(parser, TK_DIR, "a section name"))
        return false;
    if (!at(parser, '{'))
        return parse_expected(parser, "'{'");
    if (!skip_braces(parser, &end)) {
        parser->lx.at = parser->lx.size;
        next(parser);
        return diag(parser->d, loc, DIAG_E0113, "this section");
    }
    s.text = parser->lx.text + parser->lx.at;
    s.size_bytes = end - parser->lx.at;
    VEC_ADD(&parser->tmp, &parser->sections, s);
    parser->lx.at = end + 1;
    next(parser);
    return true;
}

bool parse_pragma(Parser *parser) {
    next(parser);
    do {
        StrId text = parser->tok.str;
        if (!parse_expect(parser, TK_STRING, "a string"))
            return false;
        if (parser->func) {
            VEC_ADD(&parser->tmp, &parser->pragmas, text);
            VEC_ADD(&parser->tmp, &parser->pragma_insns, parser->insns.n);
        } else if (strcmp(str_text(&parser->m->strings, text), "nounroll") == 0)
            parser->m->nounroll = true;
    } while (parse_accept(parser, ','));
    return parse_expect(parser, ';', "',' or ';'");
}

/* functions */

/* ( .param .b32 a, .reg .b64 b ) with the register of each `.reg` */
static bool parse_params(Parser *parser, const VarContext *c, uint32_t **vars, uint32_t **regs, uint32_t *n) {
    U32Vec v = {0}, r = {0};
    next(parser);
    while (!at(parser, ')')) {
        if (v.n && !parse_expect(parser, ',', "',' or ')'"))
            return false;
        if (!at(parser, TK_DIR))
            return parse_expected(parser, "a parameter");
        SrcLoc loc = here(parser);
        if (!c->is_kernel && parse_at_dir(parser, ".param") &&
            !parse_directive_met(parser, "a function parameter in .param", loc))
            return false;
        if (!parse_param(parser, c, &v, &r))
            return false;
        const PtxVar *var = &parser->vars.at[v.at[v.n - 1]];
        bool incomplete = var->is_array && !var->size_bytes;
        if (var->unsized && !parse_directive_met(parser, "a parameter array without size", loc))
            return false;
        if (incomplete && (c->is_kernel || c->is_result))
            return diag(parser->d, var->loc, DIAG_E0126, "an array without size",
                        c->is_kernel ? "as a kernel's parameter" : "as a result");
        if (incomplete && !at(parser, ')'))
            return parse_expected(parser, "')' behind the array without size");
    }
    *n = v.n;
    *vars = arena_copy(parser->a, v.at, sizeof *v.at * v.n);
    if (regs)
        *regs = arena_copy(parser->a, r.at, sizeof *r.at * r.n);
    return parse_expect(parser, ')', "')'");
}

static const char *dir_text(Parser *parser) {
    return arena_printf(&parser->tmp, "%.*s", (int)parser->tok.size, parser->lx.text + parser->tok.at);
}

typedef enum { POSITIVE, ZERO_ASKS_NOTHING } DimsOf;

static bool parse_dims(Parser *parser, uint32_t *out, unsigned max, DimsOf of) {
    const char *directive = dir_text(parser);
    next(parser);
    for (unsigned i = 0; i < max; i++) {
        SrcLoc loc = here(parser);
        if (i && !parse_accept(parser, ',')) {
            out[i] = 1;
            continue;
        }
        if (!parse_const_u32(parser, &out[i], "a number"))
            return false;
        if (!out[i] && (of == POSITIVE || out[0]))
            return diag(parser->d, loc, DIAG_E0126, "zero", arena_printf(&parser->tmp, "for %s", directive));
    }
    return true;
}

/* Not fewer than the ABI needs nor more than a thread can have: as ptxas, the nearest possible limit. */
static bool parse_maxnreg(Parser *parser, PtxFunc *f) {
    enum { LEAST = 16, MOST = 255 };
    SrcLoc loc = here(parser);
    if (!parse_dims(parser, &f->maxnreg, 1, POSITIVE))
        return false;
    uint32_t given = f->maxnreg;
    f->maxnreg = given < LEAST ? LEAST : given > MOST ? MOST : given;
    if (f->maxnreg != given)
        diag(parser->d, loc, DIAG_W0143, given, (unsigned)LEAST, (unsigned)MOST, f->maxnreg);
    return true;
}

/* A directive that says how a kernel is launched, or how many registers it gets for that; or a pragma, which
 * functions have in their bodies. */
static bool bounds_launches(Parser *p) {
    static const char *const names[] = {
        ".maxntid",           ".reqntid",        ".maxnreg",         ".minnctapersm",      ".maxnctapersm",
        ".reqnctapercluster", ".maxclusterrank", ".explicitcluster", ".blocksareclusters", ".pragma"};
    bool does = false;
    for (unsigned k = 0; k < sizeof names / sizeof *names; k++)
        does |= parse_at_dir(p, names[k]);
    return does;
}

/* may_end: the declaration of a function may be ended by whatever directive follows, without `;` (as ptxas
 * has it, and PTX of the first versions writes it). */
static bool parse_performance(Parser *p, PtxFunc *f, bool may_end) {
    uint32_t ignored;
    while (at(p, TK_DIR)) {
        bool ok = true;
        if (!f->is_entry && bounds_launches(p))
            return diag(p->d, here(p), DIAG_E0126, dir_text(p), "for a .func");
        if (parse_at_dir(p, ".maxntid"))
            ok = parse_dims(p, f->maxntid, 3, POSITIVE);
        else if (parse_at_dir(p, ".reqntid"))
            ok = parse_dims(p, f->reqntid, 3, POSITIVE);
        else if (parse_at_dir(p, ".maxnreg"))
            ok = parse_maxnreg(p, f);
        else if (parse_at_dir(p, ".minnctapersm"))
            ok = parse_dims(p, &f->minnctapersm, 1, POSITIVE);
        else if (parse_at_dir(p, ".maxnctapersm"))
            ok = parse_dims(p, &f->maxnctapersm, 1, POSITIVE);
        else if (parse_at_dir(p, ".reqnctapercluster"))
            ok = parse_dims(p, f->reqnctapercluster, 3, ZERO_ASKS_NOTHING);
        else if (parse_at_dir(p, ".maxclusterrank"))
            ok = parse_dims(p, &f->maxclusterrank, 1, ZERO_ASKS_NOTHING);
        else if (parse_accept_dir(p, ".explicitcluster"))
            f->explicit_cluster = true;
        else if (parse_accept_dir(p, ".blocksareclusters"))
            f->blocks_are_clusters = true;
        else if (parse_accept_dir(p, ".noreturn"))
            f->noreturn = true;
        else if (parse_at_dir(p, ".pragma"))
            ok = parse_pragma(p);
        else if (parse_accept_dir(p, ".abi_preserve") || parse_accept_dir(p, ".abi_preserve_control"))
            ok = parse_const_u32(p, &ignored, "a number");
        else
            return may_end || parse_expected(p, "a performance directive, '{' or ';'");
        if (!ok)
            return false;
    }
    return true;
}

static bool place_params(Parser *parser, PtxFunc *f) {
    uint64_t offset = 0;
    for (uint32_t i = 0; i < 2 * f->nparams; i++) {
        PtxVar *var = &parser->vars.at[f->params[i % f->nparams]];
        if (ptx_is_behind(var) != (i >= f->nparams))
            continue;
        offset = align_up(offset, var->align_bytes);
        var->param_offset_bytes = offset;
        offset += var->size_bytes;
        if (offset > 1 << 20) /* far above the 32764 bytes of any target */
            return diag(parser->d, var->loc, DIAG_E0121, parse_name_text(parser, var->name));
    }
    return true;
}

/* Before PTX ISA 8.1 the parameters of a kernel have fewer bytes. Reported at the first that does not fit. */
static void check_param_bytes(Parser *parser, const PtxFunc *f) {
    static const char large[] = "Kernel parameter size larger than 4352 bytes";
    enum { SMALL_BYTES = 4352 };
    const PtxModule *module = parser->m;
    const PtxVar *outside = NULL;
    uint64_t bytes = 0;
    for (uint32_t k = 0; k < f->nparams; k++) {
        const PtxVar *var = &parser->vars.at[f->params[k]];
        uint64_t end = var->param_offset_bytes + var->size_bytes;
        outside = !outside && end > SMALL_BYTES ? var : outside;
        bytes = end > bytes ? end : bytes;
    }
    if (!outside)
        return;
    if (GATE_VERSION(module->version_major, module->version_minor) >=
        gate_directive(large, sizeof large - 1)->need.version)
        parse_directive_met(parser, large, outside->loc);
    else
        diag(parser->d, outside->loc, DIAG_E0151, parse_name_text(parser, f->name), (unsigned long long)bytes,
             module->version_major, module->version_minor);
}

static bool same_list(const Parser *parser, const uint32_t *a, const uint32_t *b, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        const PtxVar *var = &parser->vars.at[a[i]], *ptx_var = &parser->vars.at[b[i]];
        if (var->size_bytes != ptx_var->size_bytes || var->space != ptx_var->space ||
            var->unsized != ptx_var->unsized)
            return false;
    }
    return true;
}

/* The function's index + 1: that of an earlier declaration of the same shape, or a new one. 0 = error. */
static uint32_t enter_function(Parser *parser, PtxFunc *f) {
    uint32_t slot = *parse_slot_of(parser, &parser->bind_of, f->name);
    while (slot && parser->binds.at[slot - 1].depth > 1)
        slot = parser->binds.at[slot - 1].shadowed;
    if (!slot) {
        VEC_ADD(&parser->tmp, &parser->funcs, *f);
        parse_declare_global(parser, f->name, B_FUNC, parser->funcs.n, f->loc);
        return parser->funcs.n;
    }
    Bind b = parser->binds.at[slot - 1];
    if (b.kind != B_FUNC) {
        diag(parser->d, f->loc, DIAG_E0110, "function", parse_name_text(parser, f->name),
             parse_line_of(parser, b.loc));
        return 0;
    }
    PtxFunc *old = &parser->funcs.at[b.value - 1];
    const char *wrong = NULL;
    if (old->is_entry != f->is_entry || old->nrets != f->nrets || old->nparams != f->nparams ||
        !same_list(parser, old->rets, f->rets, f->nrets) ||
        !same_list(parser, old->params, f->params, f->nparams))
        wrong = "is declared with other parameters or results elsewhere";
    else if (old->has_body && at(parser, '{'))
        wrong = "has a body already";
    if (wrong) {
        diag(parser->d, f->loc, DIAG_E0135, parse_name_text(parser, f->name), wrong,
             parse_line_of(parser, old->loc));
        return 0;
    }
    if (!old->has_body) {
        if (f->linkage == LINK_NONE || f->linkage == LINK_EXTERN)
            f->linkage = old->linkage && old->linkage != LINK_EXTERN ? old->linkage : f->linkage;
        f->noreturn |= old->noreturn;
        *old = *f;
    }
    return b.value;
}

static bool parse_header(Parser *parser, PtxFunc *f) {
    VarContext c = {.is_param = true, .is_kernel = f->is_entry, .allow_unnamed = true};
    bool attribute = parse_accept_dir(parser, ".attribute");
    while (attribute && !at(parser, ')') && !at(parser, TK_EOF) && !at(parser, '{') && !at(parser, ';')) {
        if (parse_at_dir(parser, ".unified"))
            parse_directive_met(parser, "attribute .unified", here(parser));
        next(parser);
    }
    if (attribute && !parse_expect(parser, ')', "')'"))
        return false;
    VarContext result = {.is_param = true, .is_result = true, .allow_unnamed = true};
    if (!f->is_entry && at(parser, '(') && !parse_params(parser, &result, &f->rets, &f->ret_regs, &f->nrets))
        return false;
    f->name = parser->tok.str;
    f->loc = here(parser);
    if (!parse_expect(parser, TK_IDENT, "a function name"))
        return false;
    parser->d->place.function = parse_name_text(parser, f->name);
    if (at(parser, '(') && f->is_entry &&
        !parse_directive_met(parser, "a kernel parameter list", here(parser)))
        return false;
    if (at(parser, '(') && !parse_params(parser, &c, &f->params, &f->param_regs, &f->nparams))
        return false;
    if (!parse_performance(parser, f, !f->is_entry))
        return false;
    if (f->maxntid[0] && f->reqntid[0])
        return diag(parser->d, f->loc, DIAG_E0126, ".maxntid", "together with .reqntid");
    if (f->maxclusterrank && f->reqnctapercluster[0])
        return diag(parser->d, f->loc, DIAG_E0126, ".maxclusterrank", "together with .reqnctapercluster");
    if (f->blocks_are_clusters && (!f->reqntid[0] || !f->reqnctapercluster[0]))
        return diag(parser->d, f->loc, DIAG_E0126, ".blocksareclusters",
                    "without .reqntid and .reqnctapercluster");
    if (f->noreturn && (f->is_entry || f->nrets))
        return diag(parser->d, f->loc, DIAG_E0126, ".noreturn", "for an entry or a function with results");
    return !f->is_entry || place_params(parser, f);
}

static void begin_function(Parser *parser) {
    parser->regs.n = parser->fvars.n = parser->insns.n = parser->labels.n = parser->branch_tables.n =
        parser->call_tables.n = 0;
    parser->lines.n = parser->pragmas.n = parser->pragma_insns.n = parser->refs.n = 0;
    parser->line = 0;
    parser->func = parser->funcs.n + 1; /* corrected when the function turns out to be known */
    VEC_ADD(&parser->tmp, &parser->regs, ((PtxReg){0}));
}

#define TAKE(field, count, vec)                                                                              \
    (f->field = arena_copy(p->a, (vec).at, sizeof *(vec).at * (vec).n), f->count = (vec).n)

static void store_body(Parser *p, PtxFunc *f) {
    f->has_body = true;
    TAKE(regs, nregs, p->regs);
    TAKE(vars, nvars, p->fvars);
    TAKE(insns, ninsns, p->insns);
    TAKE(labels, nlabels, p->labels);
    TAKE(branch_tables, nbranch_tables, p->branch_tables);
    TAKE(call_tables, ncall_tables, p->call_tables);
    TAKE(lines, nlines, p->lines);
    TAKE(pragma_insns, npragmas, p->pragma_insns);
    TAKE(pragmas, npragmas, p->pragmas);
}

static bool parse_function(Parser *parser, uint8_t linkage) {
    PtxFunc f = {.is_entry = parse_at_dir(parser, ".entry"), .linkage = linkage};
    begin_function(parser);
    next(parser);
    if (!parse_open_scope(parser))
        return false;
    bool ok = parse_header(parser, &f);
    bool ends_open = ok && !f.is_entry && (at(parser, TK_DIR) || at(parser, TK_EOF));
    ok = ok && (ends_open || at(parser, '{') || at(parser, ';') || parse_expected(parser, "'{' or ';'"));
    uint32_t index = ok ? enter_function(parser, &f) : 0;
    bool body = at(parser, '{');
    for (uint32_t i = 0; i < f.nparams + f.nrets; i++) {
        PtxVar *var = &parser->vars.at[i < f.nparams ? f.params[i] : f.rets[i - f.nparams]];
        var->func = index ? index : parser->func;
        if (ok && body && var->space == SP_PARAM && var->vec > 1)
            ok = diag(parser->d, var->loc, DIAG_E0126, "a vector", "in .param");
    }
    parser->func = index ? index : parser->func;
    uint32_t before = parser->d->nerrors;
    if (ok && body && f.is_entry)
        check_param_bytes(parser, &f);
    if (ok && body)
        ok = parse_body(parser);
    parse_close_scope(parser);
    uint32_t errors = parser->d->nerrors - before;
    if (parser->keep_going && ok && body && index && errors) {
        parser->funcs.at[index - 1].broken = true;
        parser->first_error += errors;
    } else if (ok && body && index) {
        f = parser->funcs.at[index - 1];
        store_body(parser, &f);
        parser->funcs.at[index - 1] = f;
    }
    parser->func = 0;
    return ok && (body || ends_open || parse_expect(parser, ';', "';'"));
}

/* name: .callprototype (.param .b32 _) _ (.param .b64 _) .noreturn; */
bool parse_call_prototype(Parser *parser, StrId name, SrcLoc loc) {
    VarContext c = {.is_param = true, .allow_unnamed = true};
    PtxCallTable t = {.name = name};
    PtxFunc directives = {0};
    next(parser);
    if (!parse_open_scope(parser)) /* parameter names mean nothing outside */
        return false;
    VarContext result = {.is_param = true, .is_result = true, .allow_unnamed = true};
    bool ok = (!at(parser, '(') || parse_params(parser, &result, &t.rets, NULL, &t.nrets)) &&
              parse_expect(parser, TK_IDENT, "'_'") &&
              (!at(parser, '(') || parse_params(parser, &c, &t.params, NULL, &t.nparams)) &&
              parse_performance(parser, &directives, false);
    parse_close_scope(parser);
    t.noreturn = directives.noreturn;
    VEC_ADD(&parser->tmp, &parser->call_tables, t);
    return ok && parse_declare(parser, name, B_CALLS, parser->call_tables.n, loc) &&
           parse_expect(parser, ';', "';'");
}

/* name: .calltargets f, g; */
bool parse_call_targets(Parser *parser, StrId name, SrcLoc loc) {
    U32Vec funcs = {0};
    next(parser);
    do {
        Token t = parser->tok;
        if (!parse_expect(parser, TK_IDENT, "a function"))
            return false;
        const Bind *bind = parse_lookup(parser, t.str);
        if (!bind || bind->kind != B_FUNC)
            return diag(parser->d, tok_loc(&t), DIAG_E0103, parse_name_text(parser, t.str));
        VEC_ADD(&parser->tmp, &funcs, bind->value - 1);
    } while (parse_accept(parser, ','));
    PtxCallTable t = {.name = name, .n = funcs.n};
    t.funcs = arena_copy(parser->a, funcs.at, sizeof *funcs.at * funcs.n);
    VEC_ADD(&parser->tmp, &parser->call_tables, t);
    return parse_declare(parser, name, B_CALLS, parser->call_tables.n, loc) &&
           parse_expect(parser, ';', "',' or ';'");
}

/* .alias f, g; f has been declared, g has a body */
static bool parse_alias(Parser *parser) {
    uint32_t f[2] = {0, 0};
    next(parser);
    for (unsigned i = 0; i < 2; i++) {
        Token t = parser->tok;
        if ((i && !parse_expect(parser, ',', "','")) ||
            (t = parser->tok, !parse_expect(parser, TK_IDENT, "a function")))
            return false;
        const Bind *bind = parse_lookup(parser, t.str);
        if (!bind || bind->kind != B_FUNC)
            return diag(parser->d, tok_loc(&t), DIAG_E0103, parse_name_text(parser, t.str));
        f[i] = bind->value;
    }
    parser->funcs.at[f[0] - 1].alias_of = f[1];
    return parse_expect(parser, ';', "';'");
}

/* module */

static uint8_t parse_linkage(Parser *p) {
    static const char *const names[] = {".extern", ".visible", ".weak", ".common"};
    for (unsigned i = 0; i < 4; i++)
        if (parse_accept_dir(p, names[i]))
            return (uint8_t)(LINK_EXTERN + i);
    return LINK_NONE;
}

static bool parse_module_statement(Parser *parser) {
    if (!at(parser, TK_DIR))
        return parse_expected(parser, "a directive");
    bool target = parse_at_dir(parser, ".target"), size = parse_at_dir(parser, ".address_size");
    if (parser->seen_statement && (target || size))
        return diag(parser->d, here(parser), DIAG_E0126, dir_text(parser), "behind other statements");
    parser->seen_statement = !target;
    if (target)
        return parse_target(parser);
    if (size)
        return parse_address_size(parser);
    if (parse_at_dir(parser, ".file"))
        return parse_file(parser);
    if (parse_at_dir(parser, ".section"))
        return parse_section(parser);
    if (parse_at_dir(parser, ".pragma"))
        return parse_pragma(parser);
    if (parse_at_dir(parser, ".alias"))
        return parse_alias(parser);
    uint8_t linkage = parse_linkage(parser);
    if (parse_at_dir(parser, ".func") || parse_at_dir(parser, ".entry"))
        return parse_function(parser, linkage);
    static const char *const spaces[] = {".global", ".shared", ".const", ".local", ".param", ".tex", ".reg"};
    for (unsigned i = 0; i < sizeof spaces / sizeof *spaces; i++)
        if (parse_at_dir(parser, spaces[i]))
            return parse_var_decl(parser, &(VarContext){.linkage = linkage});
    int n = parser->tok.size > 60 ? 60 : (int)parser->tok.size;
    return at(parser, TK_DIR) ? diag(parser->d, here(parser), DIAG_E0125, n, parser->lx.text + parser->tok.at)
                              : parse_expected(parser, "a directive");
}

/* Behind a statement that failed: also over the body of a function whose head was wrong. */
static void skip_module_statement(Parser *parser) {
    parse_skip_statement(parser);
    unsigned depth = 0;
    while (at(parser, '{') || at(parser, '}') || depth) {
        if (at(parser, TK_EOF))
            return;
        if (at(parser, '{'))
            depth++;
        else if (at(parser, '}') && depth)
            depth--;
        next(parser);
        if (parse_too_many_errors(parser)) {
            parser->lx.at = parser->lx.size;
            next(parser);
        }
    }
}

bool parse_module(Parser *parser) {
    if (!parse_version(parser))
        return false;
    if (!parse_at_dir(parser, ".target"))
        return diag(parser->d, here(parser), DIAG_E0150);
    while (!at(parser, TK_EOF) && !parse_too_many_errors(parser)) {
        parser->operand_braces = 0;
        parser->d->place = (DiagPlace){0};
        if (!parse_module_statement(parser))
            skip_module_statement(parser);
    }
    return true;
}
