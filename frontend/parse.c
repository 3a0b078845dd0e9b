/* Entry points of the PTX parser, its tokens, names and scopes: see parse.h.
 * SPDX-License-Identifier: MIT */
#include "frontend/parse.h"
#include "frontend/sregs.h"
#include "base/file.h"
#include "base/scope.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* tokens */

bool parse_accept(Parser *parser, unsigned kind) {
    if (parser->tok.kind != kind)
        return false;
    next(parser);
    return true;
}

bool parse_expected(Parser *parser, const char *what) {
    if (at(parser, TK_BAD)) /* the lexer has spoken */
        return false;
    int n = parser->tok.size > 60 ? 60 : (int)parser->tok.size;
    if (!parser->d->place.reg && at(parser, TK_IDENT) && parser->lx.text[parser->tok.at] == '%')
        parser->d->place.reg = parse_name_text(parser, parser->tok.str);
    if (at(parser, TK_EOF))
        return diag(parser->d, here(parser), DIAG_E0102, what, 15, "the end of text");
    return diag(parser->d, here(parser), DIAG_E0102, what, n, parser->lx.text + parser->tok.at);
}

bool parse_expect(Parser *p, unsigned kind, const char *what) {
    return parse_accept(p, kind) || parse_expected(p, what);
}

bool parse_directive_met(Parser *parser, const char *text, SrcLoc loc) {
    const PtxDirective *directive = gate_directive(text, strlen(text));
    if (directive)
        parser->d->place.section = directive->section;
    return !directive || !parser->m->sm || gate_check(parser->m, directive->need, text, loc, parser->d);
}

bool parse_at_dir(Parser *parser, const char *name) {
    size_t n = strlen(name);
    if (parser->tok.kind != TK_DIR || parser->tok.size != n ||
        memcmp(parser->lx.text + parser->tok.at, name, n) != 0)
        return false;
    if (parser->met != here(parser).i) /* a token is asked for more than once */
        parse_directive_met(parser, name, here(parser));
    parser->met = here(parser).i;
    return true;
}

bool parse_accept_dir(Parser *p, const char *name) {
    if (!parse_at_dir(p, name))
        return false;
    next(p);
    return true;
}

bool parse_too_many_errors(const Parser *parser) {
    bool forgiven = parser->d->all || (parser->keep_going && parser->func);
    return !forgiven && parser->d->nerrors - parser->first_error >= DIAG_MAX_ERRORS;
}
const char *parse_name_text(const Parser *parser, StrId id) { return str_text(&parser->m->strings, id); }

uint32_t parse_line_of(const Parser *parser, SrcLoc loc) {
    uint32_t line, column;
    source_position(&parser->m->source, loc, &line, &column);
    return line;
}

/* A brace that belongs to a vector operand rather than to a block: blocks hold statements. */
static bool is_operand_brace(Parser *parser) {
    if (at(parser, '}')) {
        if (!parser->operand_braces)
            return false;
        parser->operand_braces--;
        return true;
    }
    const char *c = parser->lx.text + parser->lx.at;
    c += strcspn(c, "{};");
    parser->operand_braces += parser->operand_braces || *c == '}';
    return parser->operand_braces != 0;
}

void parse_skip_statement(Parser *parser) {
    while (!at(parser, TK_EOF) && ((!at(parser, '{') && !at(parser, '}')) || is_operand_brace(parser))) {
        bool end = at(parser, ';');
        if (parse_too_many_errors(parser)) {
            parser->lx.at = parser->lx.size;
            end = false;
        }
        next(parser);
        if (end)
            break;
    }
    parser->operand_braces = 0;
}

/* names */

uint32_t *parse_slot_of(Parser *parser, U32Vec *vec, StrId id) {
    while (vec->n <= id.i)
        VEC_ADD(&parser->tmp, vec, 0u);
    return &vec->at[id.i];
}

static uint16_t depth_now(const Parser *parser) { return (uint16_t)(parser->scopes.n - 1); }

bool parse_open_scope(Parser *parser) {
    if (parser->scopes.n >= MAX_SCOPES)
        return diag(parser->d, here(parser), DIAG_E0112, "blocks", (unsigned)MAX_SCOPES);
    VEC_ADD(&parser->tmp, &parser->scopes, ((Scope){.first_ref = parser->refs.n}));
    return true;
}

static bool settle_ref(Parser *parser, const PendingRef *ref) {
    uint32_t slot = ref->name.i < parser->bind_of.n ? parser->bind_of.at[ref->name.i] : 0;
    const Bind *bind = slot ? &parser->binds.at[slot - 1] : NULL;
    if (!bind || bind->depth != depth_now(parser))
        return false;
    switch (ref->kind) {
    case REF_LABEL:
        if (bind->kind != B_LABEL)
            return false;
        parser->insns.at[ref->insn].operands[ref->slot].label = bind->value - 1;
        return true;
    case REF_TARGET:
        if (bind->kind != B_LABEL)
            return false;
        parser->branch_tables.at[ref->insn].labels[ref->slot] = bind->value - 1;
        return true;
    default:
        if (bind->kind != (ref->kind == REF_CALLS ? B_CALLS : B_BRANCHES))
            return false;
        parser->insns.at[ref->insn].table = bind->value;
        return true;
    }
}

/* A call may name a variable that is initialised with functions alone: the list of its targets. */
static bool settle_jump_table(Parser *parser, const PendingRef *ref) {
    uint32_t slot =
        ref->kind == REF_CALLS && ref->name.i < parser->bind_of.n ? parser->bind_of.at[ref->name.i] : 0;
    const Bind *bind = slot ? &parser->binds.at[slot - 1] : NULL;
    if (!bind || bind->kind != B_VAR)
        return false;
    const PtxVar *var = &parser->vars.at[bind->value - 1];
    PtxCallTable t = {.name = ref->name, .n = var->ninits};
    t.funcs = ARENA_ARRAY(parser->a, uint32_t, var->ninits + 1);
    for (uint32_t k = 0; k < var->ninits; k++) {
        if (!(var->inits[k].sym & PTX_SYM_FUNC) || var->inits[k].value)
            return false;
        t.funcs[k] = (var->inits[k].sym & ~PTX_SYM_FUNC) - 1;
    }
    if (!t.n)
        return false;
    VEC_ADD(&parser->tmp, &parser->call_tables, t);
    parser->insns.at[ref->insn].table = parser->call_tables.n;
    return true;
}

/* The statement that names it is behind: its section and register are found again. */
static void refuse_ref(Parser *parser, const PendingRef *ref) {
    static const char *const what[] = {"label", "branch table", "prototype or target list", "label"};
    const DiagPlace whole = parser->d->place;
    if (ref->kind != REF_TARGET) {
        const PtxFunc f = {.regs = parser->regs.at, .nregs = parser->regs.n};
        parser->d->place = ptx_place(parser->m, &f, &parser->insns.at[ref->insn]);
        parser->d->place.section = NULL; /* it is the name that is wrong */
        parser->d->place.function = whole.function;
    }
    diag(parser->d, ref->loc, DIAG_E0111, what[ref->kind], parse_name_text(parser, ref->name));
    parser->d->place = whole;
}

static void close_refs(Parser *parser, uint32_t first) {
    uint32_t kept = first;
    bool last = parser->scopes.n == 3; /* the function's own scope */
    for (uint32_t i = first; i < parser->refs.n; i++) {
        PendingRef r = parser->refs.at[i];
        if (settle_ref(parser, &r) || (last && settle_jump_table(parser, &r)))
            continue;
        if (last)
            refuse_ref(parser, &r);
        else
            parser->refs.at[kept++] = r;
    }
    parser->refs.n = kept;
}

void parse_close_scope(Parser *parser) {
    Scope s = parser->scopes.at[parser->scopes.n - 1];
    close_refs(parser, s.first_ref);
    for (uint32_t i = s.first_bind; i; i = parser->binds.at[i - 1].next)
        parser->bind_of.at[parser->binds.at[i - 1].name.i] = parser->binds.at[i - 1].shadowed;
    if (s.first_range)
        parser->range_epoch++;
    for (uint32_t i = s.first_range; i; i = parser->ranges.at[i - 1].next)
        parser->range_of.at[parser->ranges.at[i - 1].prefix.i] = parser->ranges.at[i - 1].shadowed;
    parser->scopes.n--;
}

static uint32_t bind_at(Parser *parser, StrId name, BindKind kind, uint32_t value, SrcLoc loc,
                        uint16_t depth) {
    uint32_t *slot = parse_slot_of(parser, &parser->bind_of, name);
    Bind *b = VEC_PUSH(&parser->tmp, &parser->binds);
    Scope *scope = &parser->scopes.at[depth];
    *b = (Bind){name, (uint8_t)kind, 1, depth, value, *slot, scope->first_bind, parser->range_epoch, loc};
    *slot = scope->first_bind = parser->binds.n;
    return parser->binds.n;
}

static const char *bind_kind_name(BindKind kind) {
    return kind == B_FUNC ? "function" : kind == B_LABEL ? "label" : "variable";
}

/* The range, innermost first, that has a register called `name`: every split into prefix and number is
 * tried, since %r1<5> also declares %r10. */
static const RegRange *find_range(Parser *parser, StrId name) {
    const char *text = parse_name_text(parser, name);
    size_t size = str_size(&parser->m->strings, name);
    const RegRange *best = NULL;
    uint64_t number = 0, scale = 1;
    for (size_t n = size; n-- > 1 && size - n <= 10 && text[n] >= '0' && text[n] <= '9';) {
        number += (uint64_t)(text[n] - '0') * scale;
        scale *= 10;
        if (text[n] == '0' && n + 1 < size) /* no leading zeros */
            continue;
        StrId prefix = str_find(&parser->m->strings, text, n);
        uint32_t slot = prefix.i && prefix.i < parser->range_of.n ? parser->range_of.at[prefix.i] : 0;
        for (; slot; slot = parser->ranges.at[slot - 1].shadowed) {
            const RegRange *range = &parser->ranges.at[slot - 1];
            if (number < range->count && (!best || range->depth > best->depth))
                best = range;
            if (number < range->count)
                break;
        }
    }
    return best;
}

static bool declared_twice(Parser *parser, StrId name, BindKind kind, SrcLoc loc, SrcLoc first) {
    return diag(parser->d, loc, DIAG_E0110, bind_kind_name(kind), parse_name_text(parser, name),
                parse_line_of(parser, first));
}

uint32_t parse_declare(Parser *parser, StrId name, BindKind kind, uint32_t value, SrcLoc loc) {
    uint32_t slot = *parse_slot_of(parser, &parser->bind_of, name);
    if (slot && parser->binds.at[slot - 1].depth == depth_now(parser))
        return declared_twice(parser, name, kind, loc, parser->binds.at[slot - 1].loc);
    bool is_reg = kind == B_REG || kind == B_VREG;
    const RegRange *range = is_reg && parser->ranges.n ? find_range(parser, name) : NULL;
    if (range && range->depth == depth_now(parser)) /* `.reg .b32 %r<5>, %r2;` */
        return declared_twice(parser, name, kind, loc, range->loc);
    return bind_at(parser, name, kind, value, loc, depth_now(parser));
}

void parse_declare_global(Parser *parser, StrId name, BindKind kind, uint32_t value, SrcLoc loc) {
    uint32_t index = bind_at(parser, name, kind, value, loc, 1);
    uint32_t inner = parser->binds.at[index - 1].shadowed;
    if (!inner || parser->binds.at[inner - 1].depth <= 1)
        return;
    parser->bind_of.at[name.i] = inner; /* a parameter of that name stays in front */
    while (parser->binds.at[inner - 1].shadowed &&
           parser->binds.at[parser->binds.at[inner - 1].shadowed - 1].depth > 1)
        inner = parser->binds.at[inner - 1].shadowed;
    parser->binds.at[index - 1].shadowed = parser->binds.at[inner - 1].shadowed;
    parser->binds.at[inner - 1].shadowed = index;
}

/* Is the register one of the range: its prefix and a number below the count, without leading zeros? */
static bool range_has(const char *prefix, uint32_t count, const char *name) {
    size_t size = strlen(prefix);
    const char *digits = name + size;
    if (strncmp(name, prefix, size) != 0 || !*digits || strlen(digits) > 10 ||
        strspn(digits, "0123456789") != strlen(digits) || (*digits == '0' && digits[1]))
        return false;
    return strtoull(digits, NULL, 10) < count;
}

bool parse_declare_range(Parser *parser, StrId prefix, PtxType type, unsigned vec, uint32_t count,
                         SrcLoc loc) {
    uint32_t *slot = parse_slot_of(parser, &parser->range_of, prefix);
    if (*slot && parser->ranges.at[*slot - 1].depth == depth_now(parser))
        return diag(parser->d, loc, DIAG_E0110, bind_kind_name(B_REG),
                    arena_printf(&parser->tmp, "%s<", parse_name_text(parser, prefix)),
                    parse_line_of(parser, parser->ranges.at[*slot - 1].loc));
    Scope *scope = &parser->scopes.at[depth_now(parser)];
    for (uint32_t i = scope->first_bind; i; i = parser->binds.at[i - 1].next) {
        const Bind *bind = &parser->binds.at[i - 1];
        bool is_reg = bind->kind == B_REG || bind->kind == B_VREG;
        if (is_reg && range_has(parse_name_text(parser, prefix), count, parse_name_text(parser, bind->name)))
            return declared_twice(parser, bind->name, B_REG, loc, bind->loc);
    }
    RegRange *r = VEC_PUSH(&parser->tmp, &parser->ranges);
    *r = (RegRange){prefix, (uint8_t)type, (uint8_t)vec,       depth_now(parser),
                    count,  *slot,         scope->first_range, loc};
    *slot = scope->first_range = parser->ranges.n;
    parser->range_epoch++;
    return true;
}

uint32_t parse_new_reg(Parser *parser, StrId name, PtxType type, SrcLoc loc) {
    *VEC_PUSH(&parser->tmp, &parser->regs) = (PtxReg){name, type, loc};
    return parser->regs.n - 1;
}

uint32_t parse_new_vector_reg(Parser *parser, StrId name, PtxType type, unsigned vec, SrcLoc loc) {
    uint32_t first = 0;
    for (unsigned i = 0; i < vec; i++) {
        char *text = arena_printf(&parser->tmp, "%s.%c", parse_name_text(parser, name), "xyzw"[i]);
        uint32_t id = parse_new_reg(parser, str_intern_z(&parser->m->strings, text), type, loc);
        first = first ? first : id;
    }
    return first;
}

/* Special registers are declared around everything, when they are first named: few of the hundred are. */
static uint32_t bind_sreg(Parser *parser, StrId name) {
    unsigned n, k;
    if (!sreg_named(parse_name_text(parser, name), &n, &k))
        return 0;
    const SregRow *row = sreg_row(n);
    uint32_t slot = bind_at(parser, name, B_SREG, n, (SrcLoc){0}, 0);
    parser->binds.at[slot - 1].count =
        (uint8_t)(row->component == SREG_VECTOR ? SREG_VECTOR : row->component + k);
    return slot;
}

Bind *parse_lookup(Parser *parser, StrId name) {
    uint32_t slot = *parse_slot_of(parser, &parser->bind_of, name);
    Bind *bind = slot ? &parser->binds.at[slot - 1] : NULL;
    if (bind && bind->epoch == parser->range_epoch)
        return bind;
    const RegRange *reg_range = parser->ranges.n ? find_range(parser, name) : NULL;
    if (reg_range && (!bind || reg_range->depth > bind->depth)) {
        RegRange range = *reg_range;
        uint32_t id = range.vec > 1
                          ? parse_new_vector_reg(parser, name, (PtxType)range.type, range.vec, range.loc)
                          : parse_new_reg(parser, name, (PtxType)range.type, range.loc);
        slot = bind_at(parser, name, range.vec > 1 ? B_VREG : B_REG, id, range.loc, range.depth);
        bind = &parser->binds.at[slot - 1];
        bind->count = range.vec;
    }
    if (!bind && (slot = bind_sreg(parser, name)))
        bind = &parser->binds.at[slot - 1];
    if (bind)
        bind->epoch = parser->range_epoch;
    return bind;
}

void parse_add_ref(Parser *parser, int kind, StrId name, SrcLoc loc, uint32_t insn, uint32_t slot) {
    PendingRef *ref = VEC_PUSH(&parser->tmp, &parser->refs);
    ref->name = name;
    ref->loc = loc;
    ref->kind = (uint8_t)kind;
    ref->insn = insn;
    ref->slot = slot;
}

/* special registers */

bool parse_sreg_met(Parser *parser, uint32_t n, const Token *name, PtxSreg *out) {
    const DiagPlace whole = parser->d->place;
    const SregRow *row = sreg_row(n);
    *out = row->reg;
    parser->d->place.section = row->section;
    parser->d->place.reg = parse_name_text(parser, name->str);
    bool ok = gate_check(parser->m, row->need, parser->d->place.reg, tok_loc(name), parser->d);
    parser->d->place = whole;
    return ok;
}

/* entry points */

static void finish_module(Parser *parser) {
    PtxModule *module = parser->m;
    module->vars = arena_copy(parser->a, parser->vars.at, sizeof *parser->vars.at * parser->vars.n);
    module->nvars = parser->vars.n;
    module->funcs = arena_copy(parser->a, parser->funcs.at, sizeof *parser->funcs.at * parser->funcs.n);
    module->nfuncs = parser->funcs.n;
    module->files = ARENA_ARRAY(parser->a, StrId, parser->files.n);
    module->nfiles = parser->files.n;
    for (uint32_t i = 0; i < parser->files.n; i++)
        module->files[i].i = parser->files.at[i];
    module->sections =
        arena_copy(parser->a, parser->sections.at, sizeof *parser->sections.at * parser->sections.n);
    module->nsections = parser->sections.n;
}

static void index_lines(PtxModule *module) {
    const char *text = module->source.text, *end = text + module->source.size_bytes;
    uint32_t n = 1;
    for (const char *p = text; (p = memchr(p, '\n', (size_t)(end - p))); p++)
        n++;
    module->line_starts = ARENA_ARRAY(&module->arena, uint32_t, n);
    module->nsource_lines = 1;
    for (const char *p = text; (p = memchr(p, '\n', (size_t)(end - p))); p++)
        module->line_starts[module->nsource_lines++] = (uint32_t)(p + 1 - text);
}

static PtxModule *new_module(const char *name, const char *text, size_t size) {
    PtxModule *module = mem_zeroed(1, sizeof *module);
    char *copy = arena_alloc(&module->arena, size + 1);
    if (size)
        memcpy(copy, text, size);
    module->source = (Source){arena_copy(&module->arena, name, strlen(name) + 1), copy, size};
    module->address_bits = 64;
    index_lines(module);
    return module;
}

static void drop_locale(void *locale) { freelocale(locale); }

/* Drop the bodies in which the checks find errors. */
static void check_each(Parser *parser) {
    for (uint32_t k = 0; k < parser->m->nfuncs; k++) {
        uint32_t before = parser->d->nerrors;
        PtxFunc *f = &parser->m->funcs[k];
        if (ptx_check_func(parser->m, f, parser->d))
            continue;
        parser->first_error += parser->d->nerrors - before;
        f->has_body = false;
        f->broken = true;
        f->ninsns = 0;
    }
}

static PtxModule *parse_text(const char *name, const char *text, size_t size, bool keep_going, Diags *diags) {
    if (size > FILE_MAX_BYTES) {
        diag(diags, (SrcLoc){0}, DIAG_E0004, (unsigned long long)size, (unsigned long long)FILE_MAX_BYTES);
        return NULL;
    }
    if (size && !text[size - 1])
        size--; /* of a string that was written with its end, as cuModuleLoadData takes it */
    PtxModule *module = new_module(name, text, size);
    const Source *outer = diags->source;
    const DiagPlace outer_place = diags->place;
    diags->source = &module->source;
    diags->place = (DiagPlace){0};
    Parser *parser = mem_zeroed(1, sizeof *parser);
    *parser = (Parser){.m = module,
                       .a = &module->arena,
                       .d = diags,
                       .first_error = diags->nerrors,
                       .keep_going = keep_going};
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!c)
        scope_give_up(SCOPE_MEMORY, NULL);
    scope_guard(c, drop_locale);
    parser->lx = (Lexer){module->source.text, 0, (uint32_t)size, &module->strings, diags, c};
    if (size >= 3 && !memcmp(module->source.text, "\xef\xbb\xbf", 3)) /* byte order mark of UTF-8 */
        parser->lx.at = 3;
    parser->name_underscore = str_intern_z(&module->strings, "_");
    parser->name_warp_sz = str_intern_z(&module->strings, "WARP_SZ");
    VEC_PUSH(&parser->tmp, &parser->scopes);
    VEC_PUSH(&parser->tmp, &parser->scopes);
    next(parser);
    parse_module(parser);
    finish_module(parser);
    if (keep_going)
        check_each(parser);
    else if (!parse_too_many_errors(parser))
        ptx_check(module, diags);
    bool ok = diags->nerrors == parser->first_error;
    scope_unguard(c);
    freelocale(c);
    arena_free(&parser->tmp);
    mem_free(parser);
    diags->source = outer;
    diags->place = outer_place;
    if (ok)
        return module;
    ptx_free(module);
    return NULL;
}

PtxModule *ptx_parse(const char *name, const char *text, size_t size, Diags *diags) {
    return parse_text(name, text, size, false, diags);
}

PtxModule *ptx_parse_keep_going(const char *name, const char *text, size_t size, Diags *diags) {
    return parse_text(name, text, size, true, diags);
}
