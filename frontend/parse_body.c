/* Function bodies: blocks, labels, jump tables, `.loc` and the rest that is not an instruction.
 * Blocks are tracked by the scope stack, not by recursion.
 * SPDX-License-Identifier: MIT */
#include "frontend/parse.h"
#include <string.h>

static bool parse_number(Parser *parser, uint32_t *out) {
    Token t = parser->tok;
    if (!at(parser, TK_INT) || t.value > UINT32_MAX)
        return parse_expected(parser, "a number");
    next(parser);
    *out = (uint32_t)t.value;
    return true;
}

static bool parse_position(Parser *p, PtxLine *ptx_line) {
    return parse_number(p, &ptx_line->file) && parse_number(p, &ptx_line->line) &&
           parse_number(p, &ptx_line->column);
}

/* An inlined-at position is a `.loc` that came before; look back a little, else make one. */
static uint32_t find_line(Parser *parser, const PtxLine *l) {
    for (uint32_t i = parser->lines.n; i > 0 && parser->lines.n - i < 64; i--) {
        const PtxLine *ptx_line = &parser->lines.at[i - 1];
        if (ptx_line->file == l->file && ptx_line->line == l->line && ptx_line->column == l->column)
            return i;
    }
    VEC_ADD(&parser->tmp, &parser->lines, *l);
    return parser->lines.n;
}

/* .loc 1 20 5 or .loc 1 20 5, function_name $L__info_string0, inlined_at 1 30 3 */
static bool parse_loc(Parser *parser) {
    PtxLine l = {0}, outer = {0};
    next(parser);
    if (!parse_position(parser, &l))
        return false;
    if (parse_accept(parser, ',')) {
        if (!at(parser, TK_IDENT) || strcmp(parse_name_text(parser, parser->tok.str), "function_name"))
            return parse_expected(parser, "function_name");
        next(parser);
        l.function_name = parser->tok.str;
        if (!parse_accept(parser, TK_DIR) && !parse_expect(parser, TK_IDENT, "a label of .debug_str"))
            return false;
        uint32_t ignored;
        if (parse_accept(parser, '+') && !parse_number(parser, &ignored))
            return false;
        if (!parse_expect(parser, ',', "','") || !at(parser, TK_IDENT) ||
            strcmp(parse_name_text(parser, parser->tok.str), "inlined_at"))
            return parse_expected(parser, "inlined_at");
        next(parser);
        if (!parse_position(parser, &outer))
            return false;
        l.inlined_at = find_line(parser, &outer);
    }
    VEC_ADD(&parser->tmp, &parser->lines, l);
    parser->line = parser->lines.n;
    return true;
}

/* name: .branchtargets L1, L2; */
static bool parse_branch_targets(Parser *parser, StrId name, SrcLoc loc) {
    VEC(Token) targets = {0};
    next(parser);
    do {
        VEC_ADD(&parser->tmp, &targets, parser->tok);
        if (!parse_expect(parser, TK_IDENT, "a label"))
            return false;
    } while (parse_accept(parser, ','));
    PtxBranchTable t = {.name = name, .labels = ARENA_ARRAY(parser->a, uint32_t, targets.n), .n = targets.n};
    VEC_ADD(&parser->tmp, &parser->branch_tables, t);
    for (uint32_t i = 0; i < targets.n; i++)
        parse_add_ref(parser, REF_TARGET, targets.at[i].str, tok_loc(&targets.at[i]),
                      parser->branch_tables.n - 1, i);
    return parse_declare(parser, name, B_BRANCHES, parser->branch_tables.n, loc) &&
           parse_expect(parser, ';', "',' or ';'");
}

static bool parse_label(Parser *parser) {
    StrId name = parser->tok.str;
    SrcLoc loc = here(parser);
    next(parser), next(parser);
    if (parse_at_dir(parser, ".branchtargets"))
        return parse_branch_targets(parser, name, loc);
    if (parse_at_dir(parser, ".callprototype"))
        return parse_call_prototype(parser, name, loc);
    if (parse_at_dir(parser, ".calltargets"))
        return parse_call_targets(parser, name, loc);
    VEC_ADD(&parser->tmp, &parser->labels, ((PtxLabel){name, parser->insns.n, loc}));
    /* A label declared twice is reported; what follows it on the line is read all the same. */
    parse_declare(parser, name, B_LABEL, parser->labels.n, loc);
    return true;
}

static bool parse_body_directive(Parser *parser) {
    static const char *const variables[] = {".local", ".shared", ".param",      ".global",
                                            ".const", ".tex",    ".shared::cta"};
    if (parse_at_dir(parser, ".reg"))
        return parse_reg_decl(parser);
    if (parse_at_dir(parser, ".loc"))
        return parse_loc(parser);
    if (parse_at_dir(parser, ".pragma"))
        return parse_pragma(parser);
    if (parse_at_dir(parser, ".file"))
        return parse_file(parser);
    if (parse_at_dir(parser, ".section"))
        return parse_section(parser);
    for (unsigned i = 0; i < sizeof variables / sizeof *variables; i++)
        if (parse_at_dir(parser, variables[i]))
            return parse_var_decl(parser, &(VarContext){0});
    if (parse_at_dir(parser, ".branchtargets") || parse_at_dir(parser, ".calltargets") ||
        parse_at_dir(parser, ".callprototype"))
        return diag(parser->d, here(parser), DIAG_E0126, parse_name_text(parser, parser->tok.str),
                    "without a label before it");
    int n = parser->tok.size > 60 ? 60 : (int)parser->tok.size;
    return diag(parser->d, here(parser), DIAG_E0125, n, parser->lx.text + parser->tok.at);
}

static bool parse_statement(Parser *parser) {
    switch (parser->tok.kind) {
    case TK_DIR: return parse_body_directive(parser);
    case '@': return parse_insn(parser);
    case TK_IDENT: return lex_peek(&parser->lx) == ':' ? parse_label(parser) : parse_insn(parser);
    default: return parse_expected(parser, "a statement");
    }
}

static void stop(Parser *parser) {
    parser->lx.at = parser->lx.size;
    next(parser);
}

bool parse_body(Parser *parser) {
    uint32_t outer = parser->scopes.n;
    SrcLoc start = here(parser);
    next(parser);
    for (;;) {
        parser->d->place = (DiagPlace){.function = parser->d->place.function};
        if (parse_too_many_errors(parser))
            stop(parser);
        if (at(parser, TK_EOF)) {
            while (parser->scopes.n > outer)
                parser->refs.n = parser->scopes.at[parser->scopes.n - 1].first_ref, parse_close_scope(parser);
            parser->refs.n = 0;
            return parse_too_many_errors(parser) ? false
                                                 : diag(parser->d, start, DIAG_E0113, "this function body");
        }
        if (at(parser, '}')) {
            next(parser);
            if (parser->scopes.n == outer)
                return true;
            parse_close_scope(parser);
        } else if (at(parser, '{')) {
            if (parse_open_scope(parser))
                next(parser);
            else
                stop(parser);
        } else if (parser->operand_braces = 0, !parse_statement(parser)) {
            parse_skip_statement(parser);
        }
    }
}
