/* Module level: header directives, functions with their performance directives, prototypes, debug
 * sections (PTX ISA 4.3, 5.4.x, 7.1, 11).
 * SPDX-License-Identifier: MIT */
#include "frontend/parse.h"
#include <stdio.h>
#include <string.h>

/* header */

/* The last minor version of each major version of the PTX ISA; a newer one is taken with a warning. */
static const uint8_t last_minor[] = {5, 3, 2, 3, 0, 5, 8, 8, 1};
enum { NEWEST_MAJOR = sizeof last_minor };

static bool parse_version(Parser *p) {
    unsigned major, minor;
    int used = 0;
    if (!at_dir(p, ".version"))
        return diag(p->d, here(p), DIAG_E0117);
    next(p);
    char text[24];
    snprintf(text, sizeof text, "%.*s", p->tok.size > 20 ? 20 : (int)p->tok.size, p->lx.text + p->tok.at);
    if (!at(p, TK_DBL) || sscanf(text, "%3u.%3u%n", &major, &minor, &used) != 2 || text[used])
        return diag(p->d, here(p), DIAG_E0117);
    if (major < 1 || major > NEWEST_MAJOR)
        return diag(p->d, here(p), DIAG_E0143, major, minor);
    if (minor > last_minor[major - 1])
        diag(p->d, here(p), DIAG_W0141, major, minor);
    p->m->version_major = major;
    p->m->version_minor = minor;
    p->seen_version = true;
    next(p);
    return true;
}

/* sm_80, sm_90a, sm_100f (PTX ISA 11.1.2) */
static bool parse_sm(const char *text, uint32_t *sm) {
    static const uint8_t known[] = {10, 11, 12, 13, 20, 21, 30, 32, 35, 37,  50,  52,  53,  60,  61, 62,
                                    70, 72, 75, 80, 86, 87, 88, 89, 90, 100, 101, 103, 110, 120, 121};
    unsigned n;
    int used = 0;
    bool found = false;
    if (sscanf(text, "sm_%4u%n", &n, &used) != 1 || strspn(text + 3, "0123456789") > 4)
        return false;
    for (unsigned k = 0; k < sizeof known; k++)
        found |= known[k] == n;
    if (!found)
        return false;
    *sm = n;
    return !text[used] || ((text[used] == 'a' || text[used] == 'f') && !text[used + 1]);
}

static bool parse_target(Parser *p) {
    static const char *const options[] = {"debug", "texmode_unified", "texmode_independent", "texmode_raw",
                                          "map_f64_to_f32"};
    const char *all = "";
    next(p);
    do {
        Token t = p->tok;
        if (!expect(p, TK_IDENT, "a target"))
            return false;
        const char *text = name_text(p, t.str);
        bool known = parse_sm(text, &p->m->sm);
        for (unsigned i = 0; i < sizeof options / sizeof *options; i++)
            known |= !strcmp(text, options[i]);
        if (!known)
            return diag(p->d, tok_loc(&t), DIAG_E0118, text);
        all = arena_printf(&p->tmp, *all ? "%s, %s" : "%s%s", all, text);
        if (strlen(all) > 1000)
            return fail_expected(p, "the end of the list");
    } while (accept(p, ','));
    if (!p->m->sm)
        return diag(p->d, here(p), DIAG_E0118, all);
    p->m->target_text = str_intern_z(&p->m->strings, all);
    p->seen_target = true;
    return true;
}

static bool parse_address_size(Parser *p) {
    next(p);
    Token t = p->tok;
    if (!expect(p, TK_INT, "an address size"))
        return false;
    return t.value == 64 || diag(p->d, tok_loc(&t), DIAG_E0119, (unsigned long long)t.value);
}

bool parse_file(Parser *p) {
    next(p);
    Token number = p->tok;
    if (!expect(p, TK_INT, "a file number"))
        return false;
    Token name = p->tok;
    if (!expect(p, TK_STRING, "a file name"))
        return false;
    if (number.value >= 1 << 20)
        return diag(p->d, tok_loc(&number), DIAG_E0121, "file number");
    *slot_of(p, &p->files, (StrId){(uint32_t)number.value}) = name.str.i;
    for (unsigned i = 0; i < 2 && accept(p, ','); i++) /* time stamp, size */
        if (!expect(p, TK_INT, "a number"))
            return false;
    return true;
}

/* Skip raw text up to the brace that closes; braces in strings and comments do not count. */
static bool skip_braces(Parser *p, uint32_t *end) {
    const char *s = p->lx.text, *stop = s + p->lx.size;
    unsigned depth = 1;
    for (const char *c = s + p->lx.at; c < stop; c++) {
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

bool parse_section(Parser *p) {
    next(p);
    PtxSection s = {.name = p->tok.str};
    SrcLoc loc = here(p);
    uint32_t end;
    if (!accept(p, TK_IDENT) && !expect(p, TK_DIR, "a section name"))
        return false;
    if (!at(p, '{'))
        return fail_expected(p, "'{'");
    if (!skip_braces(p, &end)) {
        p->lx.at = p->lx.size;
        next(p);
        return diag(p->d, loc, DIAG_E0113, "this section");
    }
    s.text = p->lx.text + p->lx.at;
    s.size_bytes = end - p->lx.at;
    VEC_ADD(&p->tmp, &p->sections, s);
    p->lx.at = end + 1;
    next(p);
    return true;
}

bool parse_pragma(Parser *p) {
    next(p);
    do {
        StrId text = p->tok.str;
        if (!expect(p, TK_STRING, "a string"))
            return false;
        if (p->func) {
            VEC_ADD(&p->tmp, &p->pragmas, text);
            VEC_ADD(&p->tmp, &p->pragma_insns, p->insns.n);
        }
    } while (accept(p, ','));
    return expect(p, ';', "',' or ';'");
}

/* functions */

/* ( .param .b32 a, .reg .b64 b ) with the register of each `.reg` */
static bool parse_params(Parser *p, const VarContext *c, uint32_t **vars, uint32_t **regs, uint32_t *n) {
    U32Vec v = {0}, r = {0};
    next(p);
    while (!at(p, ')')) {
        uint32_t index, reg;
        if (v.n && !expect(p, ',', "',' or ')'"))
            return false;
        if (!at(p, TK_DIR))
            return fail_expected(p, "a parameter");
        if (!parse_var_decl(p, c, &index, &reg))
            return false;
        VEC_ADD(&p->tmp, &v, index - 1);
        VEC_ADD(&p->tmp, &r, reg);
        if (p->vars.at[index - 1].unsized && !at(p, ')'))
            return fail_expected(p, "')' behind the array without size");
    }
    *n = v.n;
    *vars = arena_copy(p->a, v.at, sizeof *v.at * v.n);
    if (regs)
        *regs = arena_copy(p->a, r.at, sizeof *r.at * r.n);
    return expect(p, ')', "')'");
}

static bool parse_dims(Parser *p, uint32_t *out, unsigned max) {
    next(p);
    for (unsigned i = 0; i < max; i++) {
        SrcLoc loc = here(p);
        if (i && !accept(p, ',')) {
            out[i] = 1;
            continue;
        }
        if (!parse_const_u32(p, &out[i], "a number"))
            return false;
        if (!out[i])
            return diag(p->d, loc, DIAG_E0126, "zero", "here");
    }
    return true;
}

/* Not fewer than the ABI needs nor more than a thread can have: as ptxas, the nearest possible limit. */
static bool parse_maxnreg(Parser *p, PtxFunc *f) {
    enum { LEAST = 16, MOST = 255 };
    SrcLoc loc = here(p);
    if (!parse_dims(p, &f->maxnreg, 1))
        return false;
    uint32_t given = f->maxnreg;
    f->maxnreg = given < LEAST ? LEAST : given > MOST ? MOST : given;
    if (f->maxnreg != given)
        diag(p->d, loc, DIAG_W0143, given, (unsigned)LEAST, (unsigned)MOST, f->maxnreg);
    return true;
}

static bool parse_performance(Parser *p, PtxFunc *f) {
    uint32_t ignored;
    while (at(p, TK_DIR)) {
        bool ok = true;
        if (at_dir(p, ".maxntid"))
            ok = parse_dims(p, f->maxntid, 3);
        else if (at_dir(p, ".reqntid"))
            ok = parse_dims(p, f->reqntid, 3);
        else if (at_dir(p, ".maxnreg"))
            ok = parse_maxnreg(p, f);
        else if (at_dir(p, ".minnctapersm"))
            ok = parse_dims(p, &f->minnctapersm, 1);
        else if (at_dir(p, ".maxnctapersm"))
            ok = parse_dims(p, &f->maxnctapersm, 1);
        else if (at_dir(p, ".reqnctapercluster"))
            ok = parse_dims(p, f->reqnctapercluster, 3);
        else if (at_dir(p, ".maxclusterrank"))
            ok = parse_dims(p, &f->maxclusterrank, 1);
        else if (accept_dir(p, ".explicitcluster"))
            f->explicit_cluster = true;
        else if (accept_dir(p, ".blocksareclusters"))
            f->blocks_are_clusters = true;
        else if (accept_dir(p, ".noreturn"))
            f->noreturn = true;
        else if (at_dir(p, ".pragma"))
            ok = parse_pragma(p);
        else if (accept_dir(p, ".abi_preserve") || accept_dir(p, ".abi_preserve_control"))
            ok = parse_const_u32(p, &ignored, "a number");
        else
            return fail_expected(p, "a performance directive, '{' or ';'");
        if (!ok)
            return false;
    }
    return true;
}

static uint64_t align_up(uint64_t n, uint32_t align) { return (n + align - 1) & ~((uint64_t)align - 1); }

static bool place_params(Parser *p, PtxFunc *f) {
    uint64_t offset = 0;
    for (uint32_t i = 0; i < f->nparams; i++) {
        PtxVar *v = &p->vars.at[f->params[i]];
        offset = align_up(offset, v->align_bytes);
        v->param_offset_bytes = offset;
        offset += v->size_bytes;
        if (offset > 1 << 20) /* far above the 32764 bytes of any target */
            return diag(p->d, v->loc, DIAG_E0121, name_text(p, v->name));
    }
    return true;
}

static bool same_list(const Parser *p, const uint32_t *a, const uint32_t *b, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        const PtxVar *x = &p->vars.at[a[i]], *y = &p->vars.at[b[i]];
        if (x->size_bytes != y->size_bytes || x->space != y->space || x->unsized != y->unsized)
            return false;
    }
    return true;
}

/* The function's index + 1: that of an earlier declaration of the same shape, or a new one. 0 = error. */
static uint32_t enter_function(Parser *p, PtxFunc *f) {
    uint32_t slot = *slot_of(p, &p->bind_of, f->name);
    while (slot && p->binds.at[slot - 1].depth > 1)
        slot = p->binds.at[slot - 1].shadowed;
    if (!slot) {
        VEC_ADD(&p->tmp, &p->funcs, *f);
        declare_global(p, f->name, B_FUNC, p->funcs.n, f->loc);
        return p->funcs.n;
    }
    Bind b = p->binds.at[slot - 1];
    if (b.kind != B_FUNC) {
        diag(p->d, f->loc, DIAG_E0110, name_text(p, f->name), line_of(p, b.loc));
        return 0;
    }
    PtxFunc *old = &p->funcs.at[b.value - 1];
    const char *wrong = NULL;
    if (old->is_entry != f->is_entry || old->nrets != f->nrets || old->nparams != f->nparams ||
        !same_list(p, old->rets, f->rets, f->nrets) || !same_list(p, old->params, f->params, f->nparams))
        wrong = "is declared with other parameters or results elsewhere";
    else if (old->has_body && at(p, '{'))
        wrong = "has a body already";
    if (wrong) {
        diag(p->d, f->loc, DIAG_E0135, name_text(p, f->name), wrong, line_of(p, old->loc));
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

static bool parse_header(Parser *p, PtxFunc *f) {
    VarContext c = {.is_param = true, .is_kernel = f->is_entry, .allow_unnamed = true};
    bool attribute = accept_dir(p, ".attribute");
    while (attribute && !at(p, ')') && !at(p, TK_EOF) && !at(p, '{') && !at(p, ';'))
        next(p);
    if (attribute && !expect(p, ')', "')'"))
        return false;
    if (!f->is_entry && at(p, '(') && !parse_params(p, &c, &f->rets, &f->ret_regs, &f->nrets))
        return false;
    f->name = p->tok.str;
    f->loc = here(p);
    if (!expect(p, TK_IDENT, "a function name"))
        return false;
    if (at(p, '(') && !parse_params(p, &c, &f->params, &f->param_regs, &f->nparams))
        return false;
    if (!parse_performance(p, f))
        return false;
    if (f->maxntid[0] && f->reqntid[0])
        return diag(p->d, f->loc, DIAG_E0126, ".maxntid", "together with .reqntid");
    if (f->noreturn && (f->is_entry || f->nrets))
        return diag(p->d, f->loc, DIAG_E0126, ".noreturn", "for an entry or a function with results");
    return !f->is_entry || place_params(p, f);
}

static void begin_function(Parser *p) {
    p->regs.n = p->fvars.n = p->insns.n = p->labels.n = p->branch_tables.n = p->call_tables.n = 0;
    p->lines.n = p->pragmas.n = p->pragma_insns.n = p->refs.n = 0;
    p->line = 0;
    p->func = p->funcs.n + 1; /* corrected when the function turns out to be known */
    VEC_ADD(&p->tmp, &p->regs, ((PtxReg){0}));
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

static bool parse_function(Parser *p, uint8_t linkage) {
    PtxFunc f = {.is_entry = at_dir(p, ".entry"), .linkage = linkage};
    begin_function(p);
    next(p);
    if (!open_scope(p))
        return false;
    bool ok = parse_header(p, &f) && (at(p, '{') || at(p, ';') || fail_expected(p, "'{' or ';'"));
    uint32_t index = ok ? enter_function(p, &f) : 0;
    for (uint32_t i = 0; i < f.nparams + f.nrets; i++)
        p->vars.at[i < f.nparams ? f.params[i] : f.rets[i - f.nparams]].func = index ? index : p->func;
    p->func = index ? index : p->func;
    bool body = at(p, '{');
    if (ok && body)
        ok = parse_body(p);
    close_scope(p);
    if (ok && body && index) {
        f = p->funcs.at[index - 1];
        store_body(p, &f);
        p->funcs.at[index - 1] = f;
    }
    p->func = 0;
    return ok && (body || expect(p, ';', "';'"));
}

/* name: .callprototype (.param .b32 _) _ (.param .b64 _) .noreturn; */
bool parse_call_prototype(Parser *p, StrId name, SrcLoc loc) {
    VarContext c = {.is_param = true, .allow_unnamed = true};
    PtxCallTable t = {.name = name};
    PtxFunc directives = {0};
    next(p);
    if (!open_scope(p)) /* parameter names mean nothing outside */
        return false;
    bool ok = (!at(p, '(') || parse_params(p, &c, &t.rets, NULL, &t.nrets)) && expect(p, TK_IDENT, "'_'") &&
              (!at(p, '(') || parse_params(p, &c, &t.params, NULL, &t.nparams)) &&
              parse_performance(p, &directives);
    close_scope(p);
    t.noreturn = directives.noreturn;
    VEC_ADD(&p->tmp, &p->call_tables, t);
    return ok && declare(p, name, B_CALLS, p->call_tables.n, loc) && expect(p, ';', "';'");
}

/* name: .calltargets f, g; */
bool parse_call_targets(Parser *p, StrId name, SrcLoc loc) {
    U32Vec funcs = {0};
    next(p);
    do {
        Token t = p->tok;
        if (!expect(p, TK_IDENT, "a function"))
            return false;
        const Bind *b = lookup(p, t.str);
        if (!b || b->kind != B_FUNC)
            return diag(p->d, tok_loc(&t), DIAG_E0103, name_text(p, t.str));
        VEC_ADD(&p->tmp, &funcs, b->value - 1);
    } while (accept(p, ','));
    PtxCallTable t = {.name = name, .n = funcs.n};
    t.funcs = arena_copy(p->a, funcs.at, sizeof *funcs.at * funcs.n);
    VEC_ADD(&p->tmp, &p->call_tables, t);
    return declare(p, name, B_CALLS, p->call_tables.n, loc) && expect(p, ';', "',' or ';'");
}

/* .alias f, g; f has been declared, g has a body */
static bool parse_alias(Parser *p) {
    uint32_t f[2] = {0, 0};
    next(p);
    for (unsigned i = 0; i < 2; i++) {
        Token t = p->tok;
        if ((i && !expect(p, ',', "','")) || (t = p->tok, !expect(p, TK_IDENT, "a function")))
            return false;
        const Bind *b = lookup(p, t.str);
        if (!b || b->kind != B_FUNC)
            return diag(p->d, tok_loc(&t), DIAG_E0103, name_text(p, t.str));
        f[i] = b->value;
    }
    p->funcs.at[f[0] - 1].alias_of = f[1];
    return expect(p, ';', "';'");
}

/* module */

static uint8_t parse_linkage(Parser *p) {
    static const char *const names[] = {".extern", ".visible", ".weak", ".common"};
    for (unsigned i = 0; i < 4; i++)
        if (accept_dir(p, names[i]))
            return (uint8_t)(LINK_EXTERN + i);
    return LINK_NONE;
}

static bool parse_module_statement(Parser *p) {
    uint32_t index;
    if (accept(p, ';'))
        return true;
    if (!at(p, TK_DIR))
        return fail_expected(p, "a directive");
    if (at_dir(p, ".target"))
        return parse_target(p);
    if (at_dir(p, ".address_size"))
        return parse_address_size(p);
    if (at_dir(p, ".file"))
        return parse_file(p);
    if (at_dir(p, ".section"))
        return parse_section(p);
    if (at_dir(p, ".pragma"))
        return parse_pragma(p);
    if (at_dir(p, ".alias"))
        return parse_alias(p);
    uint8_t linkage = parse_linkage(p);
    if (at_dir(p, ".func") || at_dir(p, ".entry"))
        return parse_function(p, linkage);
    static const char *const spaces[] = {".global", ".shared", ".const", ".local", ".param", ".tex", ".reg"};
    for (unsigned i = 0; i < sizeof spaces / sizeof *spaces; i++)
        if (at_dir(p, spaces[i]))
            return parse_var_decl(p, &(VarContext){.linkage = linkage}, &index, NULL);
    int n = p->tok.size > 60 ? 60 : (int)p->tok.size;
    return at(p, TK_DIR) ? diag(p->d, here(p), DIAG_E0125, n, p->lx.text + p->tok.at)
                         : fail_expected(p, "a directive");
}

/* Behind a statement that failed: also over the body of a function whose head was wrong. */
static void skip_module_statement(Parser *p) {
    skip_statement(p);
    unsigned depth = 0;
    while (at(p, '{') || at(p, '}') || depth) {
        if (at(p, TK_EOF))
            return;
        if (at(p, '{'))
            depth++;
        else if (at(p, '}') && depth)
            depth--;
        next(p);
        if (too_many_errors(p)) {
            p->lx.at = p->lx.size;
            next(p);
        }
    }
}

bool parse_module(Parser *p) {
    if (!parse_version(p))
        return false;
    if (!at_dir(p, ".target"))
        return diag(p->d, here(p), DIAG_E0118, "");
    while (!at(p, TK_EOF) && !too_many_errors(p)) {
        p->operand_braces = 0;
        if (!parse_module_statement(p))
            skip_module_statement(p);
    }
    return true;
}
