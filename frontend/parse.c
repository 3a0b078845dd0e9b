/* Entry points of the PTX parser, its tokens, names and scopes: see parse.h.
 * SPDX-License-Identifier: MIT */
#include "frontend/parse.h"
#include "base/file.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* tokens */

bool accept(Parser *p, unsigned kind) {
    if (p->tok.kind != kind)
        return false;
    next(p);
    return true;
}

bool fail_expected(Parser *p, const char *what) {
    if (at(p, TK_BAD)) /* the lexer has spoken */
        return false;
    int n = p->tok.size > 60 ? 60 : (int)p->tok.size;
    if (at(p, TK_EOF))
        return diag(p->d, here(p), DIAG_E0102, what, 15, "the end of text");
    return diag(p->d, here(p), DIAG_E0102, what, n, p->lx.text + p->tok.at);
}

bool expect(Parser *p, unsigned kind, const char *what) { return accept(p, kind) || fail_expected(p, what); }

bool at_dir(const Parser *p, const char *name) {
    size_t n = strlen(name);
    return p->tok.kind == TK_DIR && p->tok.size == n && !memcmp(p->lx.text + p->tok.at, name, n);
}

bool accept_dir(Parser *p, const char *name) {
    if (!at_dir(p, name))
        return false;
    next(p);
    return true;
}

bool too_many_errors(const Parser *p) { return p->d->nerrors - p->first_error >= DIAG_MAX_ERRORS; }
const char *name_text(const Parser *p, StrId id) { return str_text(&p->m->strings, id); }

uint32_t line_of(const Parser *p, SrcLoc loc) {
    uint32_t line, column;
    source_position(&p->m->source, loc, &line, &column);
    return line;
}

/* A brace that belongs to a vector operand rather than to a block: blocks hold statements. */
static bool is_operand_brace(Parser *p) {
    if (at(p, '}')) {
        if (!p->operand_braces)
            return false;
        p->operand_braces--;
        return true;
    }
    const char *c = p->lx.text + p->lx.at;
    c += strcspn(c, "{};");
    p->operand_braces += p->operand_braces || *c == '}';
    return p->operand_braces != 0;
}

void skip_statement(Parser *p) {
    while (!at(p, TK_EOF) && ((!at(p, '{') && !at(p, '}')) || is_operand_brace(p))) {
        bool end = at(p, ';');
        if (too_many_errors(p)) {
            p->lx.at = p->lx.size;
            end = false;
        }
        next(p);
        if (end)
            break;
    }
    p->operand_braces = 0;
}

/* names */

uint32_t *slot_of(Parser *p, U32Vec *v, StrId id) {
    while (v->n <= id.i)
        VEC_ADD(&p->tmp, v, 0u);
    return &v->at[id.i];
}

static uint16_t depth_now(const Parser *p) { return (uint16_t)(p->scopes.n - 1); }

bool open_scope(Parser *p) {
    if (p->scopes.n >= MAX_SCOPES)
        return diag(p->d, here(p), DIAG_E0112, "blocks", (unsigned)MAX_SCOPES);
    VEC_ADD(&p->tmp, &p->scopes, ((Scope){.first_ref = p->refs.n}));
    return true;
}

static bool settle_ref(Parser *p, const PendingRef *r) {
    uint32_t slot = r->name.i < p->bind_of.n ? p->bind_of.at[r->name.i] : 0;
    const Bind *b = slot ? &p->binds.at[slot - 1] : NULL;
    if (!b || b->depth != depth_now(p))
        return false;
    switch (r->kind) {
    case REF_LABEL:
        if (b->kind != B_LABEL)
            return false;
        p->insns.at[r->insn].operands[r->slot].label = b->value - 1;
        return true;
    case REF_TARGET:
        if (b->kind != B_LABEL)
            return false;
        p->branch_tables.at[r->insn].labels[r->slot] = b->value - 1;
        return true;
    default:
        if (b->kind != (r->kind == REF_CALLS ? B_CALLS : B_BRANCHES))
            return false;
        p->insns.at[r->insn].table = b->value;
        return true;
    }
}

/* A call may name a variable that is initialised with functions alone: the list of its targets. */
static bool settle_jump_table(Parser *p, const PendingRef *r) {
    uint32_t slot = r->kind == REF_CALLS && r->name.i < p->bind_of.n ? p->bind_of.at[r->name.i] : 0;
    const Bind *b = slot ? &p->binds.at[slot - 1] : NULL;
    if (!b || b->kind != B_VAR)
        return false;
    const PtxVar *v = &p->vars.at[b->value - 1];
    PtxCallTable t = {.name = r->name, .n = v->ninits};
    t.funcs = ARENA_ARRAY(p->a, uint32_t, v->ninits + 1);
    for (uint32_t k = 0; k < v->ninits; k++) {
        if (!(v->inits[k].sym & PTX_SYM_FUNC) || v->inits[k].value)
            return false;
        t.funcs[k] = (v->inits[k].sym & ~PTX_SYM_FUNC) - 1;
    }
    if (!t.n)
        return false;
    VEC_ADD(&p->tmp, &p->call_tables, t);
    p->insns.at[r->insn].table = p->call_tables.n;
    return true;
}

static void close_refs(Parser *p, uint32_t first) {
    uint32_t kept = first;
    bool last = p->scopes.n == 3; /* the function's own scope */
    for (uint32_t i = first; i < p->refs.n; i++) {
        PendingRef r = p->refs.at[i];
        if (settle_ref(p, &r) || (last && settle_jump_table(p, &r)))
            continue;
        static const char *const what[] = {"label", "branch table", "prototype or target list", "label"};
        if (last)
            diag(p->d, r.loc, DIAG_E0111, what[r.kind], name_text(p, r.name));
        else
            p->refs.at[kept++] = r;
    }
    p->refs.n = kept;
}

void close_scope(Parser *p) {
    Scope s = p->scopes.at[p->scopes.n - 1];
    close_refs(p, s.first_ref);
    for (uint32_t i = s.first_bind; i; i = p->binds.at[i - 1].next)
        p->bind_of.at[p->binds.at[i - 1].name.i] = p->binds.at[i - 1].shadowed;
    if (s.first_range)
        p->range_epoch++;
    for (uint32_t i = s.first_range; i; i = p->ranges.at[i - 1].next)
        p->range_of.at[p->ranges.at[i - 1].prefix.i] = p->ranges.at[i - 1].shadowed;
    p->scopes.n--;
}

static uint32_t bind_at(Parser *p, StrId name, BindKind kind, uint32_t value, SrcLoc loc, uint16_t depth) {
    uint32_t *slot = slot_of(p, &p->bind_of, name);
    Bind *b = VEC_PUSH(&p->tmp, &p->binds);
    Scope *s = &p->scopes.at[depth];
    *b = (Bind){name, (uint8_t)kind, 1, depth, value, *slot, s->first_bind, p->range_epoch, loc};
    *slot = s->first_bind = p->binds.n;
    return p->binds.n;
}

uint32_t declare(Parser *p, StrId name, BindKind kind, uint32_t value, SrcLoc loc) {
    uint32_t slot = *slot_of(p, &p->bind_of, name);
    if (slot && p->binds.at[slot - 1].depth == depth_now(p)) {
        diag(p->d, loc, DIAG_E0110, name_text(p, name), line_of(p, p->binds.at[slot - 1].loc));
        return 0;
    }
    return bind_at(p, name, kind, value, loc, depth_now(p));
}

void declare_global(Parser *p, StrId name, BindKind kind, uint32_t value, SrcLoc loc) {
    uint32_t index = bind_at(p, name, kind, value, loc, 1);
    uint32_t inner = p->binds.at[index - 1].shadowed;
    if (!inner || p->binds.at[inner - 1].depth <= 1)
        return;
    p->bind_of.at[name.i] = inner; /* a parameter of that name stays in front */
    while (p->binds.at[inner - 1].shadowed && p->binds.at[p->binds.at[inner - 1].shadowed - 1].depth > 1)
        inner = p->binds.at[inner - 1].shadowed;
    p->binds.at[index - 1].shadowed = p->binds.at[inner - 1].shadowed;
    p->binds.at[inner - 1].shadowed = index;
}

bool declare_range(Parser *p, StrId prefix, PtxType type, unsigned vec, uint32_t count, SrcLoc loc) {
    uint32_t *slot = slot_of(p, &p->range_of, prefix);
    if (*slot && p->ranges.at[*slot - 1].depth == depth_now(p))
        return diag(p->d, loc, DIAG_E0110, name_text(p, prefix), line_of(p, p->ranges.at[*slot - 1].loc));
    RegRange *r = VEC_PUSH(&p->tmp, &p->ranges);
    Scope *s = &p->scopes.at[depth_now(p)];
    *r = (RegRange){prefix, (uint8_t)type, (uint8_t)vec, depth_now(p), count, *slot, s->first_range, loc};
    *slot = s->first_range = p->ranges.n;
    p->range_epoch++;
    return true;
}

uint32_t new_reg(Parser *p, StrId name, PtxType type, SrcLoc loc) {
    *VEC_PUSH(&p->tmp, &p->regs) = (PtxReg){name, type, loc};
    return p->regs.n - 1;
}

uint32_t new_vector_reg(Parser *p, StrId name, PtxType type, unsigned vec, SrcLoc loc) {
    uint32_t first = 0;
    for (unsigned i = 0; i < vec; i++) {
        char *text = arena_printf(&p->tmp, "%s.%c", name_text(p, name), "xyzw"[i]);
        uint32_t id = new_reg(p, str_intern_z(&p->m->strings, text), type, loc);
        first = first ? first : id;
    }
    return first;
}

/* The range, innermost first, that has a register called `name`: every split into prefix and number is
 * tried, since %r1<5> also declares %r10. */
static const RegRange *find_range(Parser *p, StrId name) {
    const char *text = name_text(p, name);
    size_t size = str_size(&p->m->strings, name);
    const RegRange *best = NULL;
    uint64_t number = 0, scale = 1;
    for (size_t n = size; n-- > 1 && size - n <= 10 && text[n] >= '0' && text[n] <= '9';) {
        number += (uint64_t)(text[n] - '0') * scale;
        scale *= 10;
        if (text[n] == '0' && n + 1 < size) /* no leading zeros */
            continue;
        StrId prefix = str_find(&p->m->strings, text, n);
        uint32_t slot = prefix.i && prefix.i < p->range_of.n ? p->range_of.at[prefix.i] : 0;
        for (; slot; slot = p->ranges.at[slot - 1].shadowed) {
            const RegRange *r = &p->ranges.at[slot - 1];
            if (number < r->count && (!best || r->depth > best->depth))
                best = r;
            if (number < r->count)
                break;
        }
    }
    return best;
}

Bind *lookup(Parser *p, StrId name) {
    uint32_t slot = *slot_of(p, &p->bind_of, name);
    Bind *b = slot ? &p->binds.at[slot - 1] : NULL;
    if (b && b->epoch == p->range_epoch)
        return b;
    const RegRange *r = p->ranges.n ? find_range(p, name) : NULL;
    if (r && (!b || r->depth > b->depth)) {
        RegRange range = *r;
        uint32_t id = range.vec > 1 ? new_vector_reg(p, name, (PtxType)range.type, range.vec, range.loc)
                                    : new_reg(p, name, (PtxType)range.type, range.loc);
        slot = bind_at(p, name, range.vec > 1 ? B_VREG : B_REG, id, range.loc, range.depth);
        b = &p->binds.at[slot - 1];
        b->count = range.vec;
    }
    if (b)
        b->epoch = p->range_epoch;
    return b;
}

void add_ref(Parser *p, int kind, StrId name, SrcLoc loc, uint32_t insn, uint32_t slot) {
    PendingRef *r = VEC_PUSH(&p->tmp, &p->refs);
    r->name = name;
    r->loc = loc;
    r->kind = (uint8_t)kind;
    r->insn = insn;
    r->slot = slot;
}

/* special registers */

static void declare_sreg(Parser *p, const char *name, PtxSreg r, unsigned component) {
    uint32_t slot = declare(p, str_intern_z(&p->m->strings, name), B_SREG, r, (SrcLoc){0});
    p->binds.at[slot - 1].count = (uint8_t)component;
}

static void declare_sregs(Parser *p) {
    char name[64];
    for (unsigned r = SR_TID; r < SR_COUNT; r++) {
        bool is_vector = r == SR_TID || r == SR_NTID || r == SR_CTAID || r == SR_NCTAID ||
                         r == SR_CLUSTERID || r == SR_NCLUSTERID || r == SR_CLUSTER_CTAID ||
                         r == SR_CLUSTER_NCTAID;
        if (r == SR_ENVREG || r == SR_PM || r == SR_RESERVED_SMEM)
            continue;
        snprintf(name, sizeof name, "%%%s", ptx_sreg_name((PtxSreg)r));
        declare_sreg(p, name, (PtxSreg)r, is_vector ? 255 : 0);
    }
    for (unsigned i = 0; i < 32; i++) {
        snprintf(name, sizeof name, "%%envreg%u", i);
        declare_sreg(p, name, SR_ENVREG, i);
    }
    for (unsigned i = 0; i < 16; i++) { /* component 8 and more: the 64-bit views */
        snprintf(name, sizeof name, i < 8 ? "%%pm%u" : "%%pm%u_64", i % 8);
        declare_sreg(p, name, SR_PM, i);
    }
    static const char *const smem[] = {"begin", "end", "cap", "0", "1"};
    for (unsigned i = 0; i < 5; i++) {
        snprintf(name, sizeof name, "%%reserved_smem_offset_%s", smem[i]);
        declare_sreg(p, name, SR_RESERVED_SMEM, i);
    }
}

/* entry points */

static void finish_module(Parser *p) {
    PtxModule *m = p->m;
    m->vars = arena_copy(p->a, p->vars.at, sizeof *p->vars.at * p->vars.n);
    m->nvars = p->vars.n;
    m->funcs = arena_copy(p->a, p->funcs.at, sizeof *p->funcs.at * p->funcs.n);
    m->nfuncs = p->funcs.n;
    m->files = ARENA_ARRAY(p->a, StrId, p->files.n);
    m->nfiles = p->files.n;
    for (uint32_t i = 0; i < p->files.n; i++)
        m->files[i].i = p->files.at[i];
    m->sections = arena_copy(p->a, p->sections.at, sizeof *p->sections.at * p->sections.n);
    m->nsections = p->sections.n;
}

static void index_lines(PtxModule *m) {
    const char *text = m->source.text, *end = text + m->source.size_bytes;
    uint32_t n = 1;
    for (const char *p = text; (p = memchr(p, '\n', (size_t)(end - p))); p++)
        n++;
    m->line_starts = ARENA_ARRAY(&m->arena, uint32_t, n);
    m->nsource_lines = 1;
    for (const char *p = text; (p = memchr(p, '\n', (size_t)(end - p))); p++)
        m->line_starts[m->nsource_lines++] = (uint32_t)(p + 1 - text);
}

static PtxModule *new_module(const char *name, const char *text, size_t size) {
    PtxModule *m = calloc(1, sizeof *m);
    if (!m)
        return NULL;
    char *copy = arena_alloc(&m->arena, size + 1);
    if (size)
        memcpy(copy, text, size);
    m->source = (Source){arena_copy(&m->arena, name, strlen(name) + 1), copy, size};
    m->address_bits = 64;
    index_lines(m);
    return m;
}

PtxModule *ptx_parse(const char *name, const char *text, size_t size, Diags *d) {
    if (size > FILE_MAX_BYTES) {
        diag(d, (SrcLoc){0}, DIAG_E0004, (unsigned long long)size, (unsigned long long)FILE_MAX_BYTES);
        return NULL;
    }
    PtxModule *m = new_module(name, text, size);
    if (!m)
        return NULL;
    const Source *outer = d->source;
    d->source = &m->source;
    Parser *p = calloc(1, sizeof *p);
    bool ok = p != NULL;
    if (p) {
        *p = (Parser){.m = m, .a = &m->arena, .d = d, .first_error = d->nerrors};
        locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
        p->lx = (Lexer){m->source.text, 0, (uint32_t)size, &m->strings, d, c};
        if (size >= 3 && !memcmp(m->source.text, "\xef\xbb\xbf", 3)) /* byte order mark of UTF-8 */
            p->lx.at = 3;
        p->name_underscore = str_intern_z(&m->strings, "_");
        p->name_warp_sz = str_intern_z(&m->strings, "WARP_SZ");
        VEC_PUSH(&p->tmp, &p->scopes);
        declare_sregs(p);
        VEC_PUSH(&p->tmp, &p->scopes);
        next(p);
        parse_module(p);
        finish_module(p);
        if (!too_many_errors(p))
            ptx_check(m, d);
        ok = d->nerrors == p->first_error;
        if (c)
            freelocale(c);
        arena_free(&p->tmp);
        free(p);
    }
    d->source = outer;
    if (ok)
        return m;
    ptx_free(m);
    return NULL;
}
