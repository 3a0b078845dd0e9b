/* Function bodies: blocks, labels, jump tables, `.loc` and the rest that is not an instruction.
 * Blocks are tracked by the scope stack, not by recursion.
 * SPDX-License-Identifier: MIT */
#include "frontend/parse.h"
#include <string.h>

static bool parse_number(Parser *p, uint32_t *out) {
    Token t = p->tok;
    if (!at(p, TK_INT) || t.value > UINT32_MAX)
        return fail_expected(p, "a number");
    next(p);
    *out = (uint32_t)t.value;
    return true;
}

static bool parse_position(Parser *p, PtxLine *l) {
    return parse_number(p, &l->file) && parse_number(p, &l->line) && parse_number(p, &l->column);
}

/* An inlined-at position is a `.loc` that came before; look back a little, else make one. */
static uint32_t find_line(Parser *p, const PtxLine *l) {
    for (uint32_t i = p->lines.n; i > 0 && p->lines.n - i < 64; i--) {
        const PtxLine *k = &p->lines.at[i - 1];
        if (k->file == l->file && k->line == l->line && k->column == l->column)
            return i;
    }
    VEC_ADD(&p->tmp, &p->lines, *l);
    return p->lines.n;
}

/* .loc 1 20 5 or .loc 1 20 5, function_name $L__info_string0, inlined_at 1 30 3 */
static bool parse_loc(Parser *p) {
    PtxLine l = {0}, outer = {0};
    next(p);
    if (!parse_position(p, &l))
        return false;
    if (accept(p, ',')) {
        if (!at(p, TK_IDENT) || strcmp(name_text(p, p->tok.str), "function_name"))
            return fail_expected(p, "function_name");
        next(p);
        l.function_name = p->tok.str;
        if (!accept(p, TK_DIR) && !expect(p, TK_IDENT, "a label of .debug_str"))
            return false;
        uint32_t ignored;
        if (accept(p, '+') && !parse_number(p, &ignored))
            return false;
        if (!expect(p, ',', "','") || !at(p, TK_IDENT) || strcmp(name_text(p, p->tok.str), "inlined_at"))
            return fail_expected(p, "inlined_at");
        next(p);
        if (!parse_position(p, &outer))
            return false;
        l.inlined_at = find_line(p, &outer);
    }
    VEC_ADD(&p->tmp, &p->lines, l);
    p->line = p->lines.n;
    return true;
}

/* name: .branchtargets L1, L2; */
static bool parse_branch_targets(Parser *p, StrId name, SrcLoc loc) {
    VEC(Token) targets = {0};
    next(p);
    do {
        VEC_ADD(&p->tmp, &targets, p->tok);
        if (!expect(p, TK_IDENT, "a label"))
            return false;
    } while (accept(p, ','));
    PtxBranchTable t = {.name = name, .labels = ARENA_ARRAY(p->a, uint32_t, targets.n), .n = targets.n};
    VEC_ADD(&p->tmp, &p->branch_tables, t);
    for (uint32_t i = 0; i < targets.n; i++)
        add_ref(p, REF_TARGET, targets.at[i].str, tok_loc(&targets.at[i]), p->branch_tables.n - 1, i);
    return declare(p, name, B_BRANCHES, p->branch_tables.n, loc) && expect(p, ';', "',' or ';'");
}

static bool parse_label(Parser *p) {
    StrId name = p->tok.str;
    SrcLoc loc = here(p);
    next(p), next(p);
    if (at_dir(p, ".branchtargets"))
        return parse_branch_targets(p, name, loc);
    if (at_dir(p, ".callprototype"))
        return parse_call_prototype(p, name, loc);
    if (at_dir(p, ".calltargets"))
        return parse_call_targets(p, name, loc);
    VEC_ADD(&p->tmp, &p->labels, ((PtxLabel){name, p->insns.n, loc}));
    /* A label declared twice is reported; what follows it on the line is read all the same. */
    declare(p, name, B_LABEL, p->labels.n, loc);
    return true;
}

static bool parse_body_directive(Parser *p) {
    static const char *const variables[] = {".local", ".shared", ".param",      ".global",
                                            ".const", ".tex",    ".shared::cta"};
    uint32_t index;
    if (at_dir(p, ".reg"))
        return parse_reg_decl(p);
    if (at_dir(p, ".loc"))
        return parse_loc(p);
    if (at_dir(p, ".pragma"))
        return parse_pragma(p);
    if (at_dir(p, ".file"))
        return parse_file(p);
    if (at_dir(p, ".section"))
        return parse_section(p);
    for (unsigned i = 0; i < sizeof variables / sizeof *variables; i++)
        if (at_dir(p, variables[i]))
            return parse_var_decl(p, &(VarContext){0}, &index, NULL);
    if (at_dir(p, ".branchtargets") || at_dir(p, ".calltargets") || at_dir(p, ".callprototype"))
        return diag(p->d, here(p), DIAG_E0126, name_text(p, p->tok.str), "without a label before it");
    int n = p->tok.size > 60 ? 60 : (int)p->tok.size;
    return diag(p->d, here(p), DIAG_E0125, n, p->lx.text + p->tok.at);
}

static bool parse_statement(Parser *p) {
    switch (p->tok.kind) {
    case ';': next(p); return true;
    case TK_DIR: return parse_body_directive(p);
    case '@': return parse_insn(p);
    case TK_IDENT: return lex_peek(&p->lx) == ':' ? parse_label(p) : parse_insn(p);
    default: return fail_expected(p, "a statement");
    }
}

static void stop(Parser *p) {
    p->lx.at = p->lx.size;
    next(p);
}

bool parse_body(Parser *p) {
    uint32_t outer = p->scopes.n;
    SrcLoc start = here(p);
    next(p);
    for (;;) {
        if (too_many_errors(p))
            stop(p);
        if (at(p, TK_EOF)) {
            while (p->scopes.n > outer)
                p->refs.n = p->scopes.at[p->scopes.n - 1].first_ref, close_scope(p);
            p->refs.n = 0;
            return too_many_errors(p) ? false : diag(p->d, start, DIAG_E0113, "this function body");
        }
        if (at(p, '}')) {
            next(p);
            if (p->scopes.n == outer)
                return true;
            close_scope(p);
        } else if (at(p, '{')) {
            if (open_scope(p))
                next(p);
            else
                stop(p);
        } else if (p->operand_braces = 0, !parse_statement(p)) {
            skip_statement(p);
        }
    }
}
