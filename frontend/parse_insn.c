/* Instructions: guard, opcode with modifiers, operands, calls (PTX ISA 6, 7.1, 9). Types of operands are
 * judged later, by check.c.
 * SPDX-License-Identifier: MIT */
#include "frontend/modifiers.h"
#include "frontend/parse.h"
#include "frontend/sregs.h"
#include <stdio.h>
#include <string.h>

enum { MAX_VECTOR = 128 };

static bool parse_operand(Parser *parser, PtxOperand *operand, unsigned depth);
static bool parse_name(Parser *parser, PtxOperand *operand);

/* names as operands */

static bool fail_found(Parser *parser, const char *what, const Token *token) {
    int n = token->size > 60 ? 60 : (int)token->size;
    return diag(parser->d, tok_loc(token), DIAG_E0102, what, n, parser->lx.text + token->at);
}

static bool undeclared(Parser *parser, const Token *name) {
    const char *text = parse_name_text(parser, name->str);
    size_t size = str_size(&parser->m->strings, name->str), n = size;
    while (n > 1 && text[n - 1] >= '0' && text[n - 1] <= '9')
        n--;
    StrId prefix = n < size ? str_find(&parser->m->strings, text, n) : (StrId){0};
    if (*text == '%')
        parser->d->place.reg = text;
    uint32_t range = prefix.i && prefix.i < parser->range_of.n ? parser->range_of.at[prefix.i] : 0;
    if (range)
        return diag(parser->d, tok_loc(name), DIAG_E0137, text, parse_name_text(parser, prefix),
                    parser->ranges.at[range - 1].count);
    return diag(parser->d, tok_loc(name), DIAG_E0103, text);
}

/* An operand that is not declared, unless what follows makes the statement none. */
static bool undeclared_operand(Parser *parser, const Token *name) {
    bool ends = at(parser, TK_DIR) || at(parser, TK_EOF) || at(parser, TK_BAD) ||
                (parser->tok.kind < TK_IDENT && strchr(",;|+-[]{}()", (int)parser->tok.kind));
    return ends ? undeclared(parser, name) : parse_expected(parser, "',' or ';'");
}

/* A directive token right behind the operand: `.x`, `.b0`. */
static bool at_suffix(const Parser *parser, const Token *name) {
    return parser->tok.kind == TK_DIR && parser->tok.at == name->at + name->size;
}

static bool parse_component(Parser *parser, unsigned count, unsigned *out) {
    static const char xyzw[] = "xyzw", rgba[] = "rgba";
    char c = parser->tok.size == 2 ? parser->lx.text[parser->tok.at + 1] : 0;
    const char *x = c ? memchr(xyzw, c, 4) : NULL, *r = c ? memchr(rgba, c, 4) : NULL;
    *out = x ? (unsigned)(x - xyzw) : r ? (unsigned)(r - rgba) : 4;
    if (*out >= count)
        return parse_expected(parser, count == 2 ? "component .x or .y" : "component .x, .y, .z or .w");
    next(parser);
    return true;
}

/* Whole vector registers and special registers stand for the list of their components. */
static void expand_vector(Parser *parser, PtxOperand *operand, unsigned n, uint32_t first_reg,
                          uint32_t sreg) {
    operand->kind = PO_VEC;
    operand->nvec = (uint8_t)n;
    operand->vec = ARENA_ARRAY(parser->a, PtxOperand, n);
    for (unsigned i = 0; i < n; i++)
        operand->vec[i] = (PtxOperand){.kind = sreg ? PO_SREG : PO_REG,
                                       .reg = sreg ? 0 : first_reg + i,
                                       .sreg = sreg,
                                       .component = sreg ? (uint8_t)i : 0,
                                       .loc = operand->loc};
}

/* .b2, .h10, .b7654 */
static void parse_selector(Parser *parser, PtxOperand *operand) {
    const char *word = parser->lx.text + parser->tok.at + 1;
    unsigned n = parser->tok.size - 2u;
    bool good = parser->tok.size > 2 && n <= 4 && (*word == 'b' || *word == 'h');
    operand->sym = parser->tok.str.i; /* for the printer */
    for (unsigned k = 1; good && k <= n; k++) {
        good = word[k] >= '0' && word[k] <= '7';
        operand->imm = operand->imm << 4 | (word[k] - '0');
    }
    operand->selector = PTX_SELECTS_WHAT;
    if (good)
        operand->selector = (uint8_t)(n | (*word == 'h' ? PTX_SELECTS_HALVES : 0u));
    next(parser);
}

/* [3], [%r1], [%r1+3]: elements of a vector array count one by one, and of several dimensions only one is
 * written (ptxas 13.0). A register waits in `reg` for `parse_index`. */
static bool parse_subscript(Parser *parser, PtxOperand *operand) {
    const PtxVar *var = &parser->vars.at[operand->sym - 1];
    int64_t index = 0;
    next(parser);
    Token name = parser->tok;
    if (parser->takes_index && at(parser, TK_IDENT) && !str_eq(name.str, parser->name_warp_sz)) {
        PtxOperand reg = {0};
        if (!parse_name(parser, &reg))
            return false;
        if (reg.kind != PO_REG || reg.selector)
            return fail_found(parser, "a whole register or a constant", &name);
        operand->reg = reg.reg;
        if ((at(parser, '+') || at(parser, '-')) && !parse_const_int(parser, &index, "an index"))
            return false;
    } else if (!parse_const_int(parser, &index, "an index")) {
        return false;
    }
    operand->component = 1; /* ld and st take `array[2]` as an address */
    operand->imm = (int64_t)((uint64_t)index * ptx_type_bytes(var->type));
    return parse_expect(parser, ']', "']'");
}

/* sym, sym+4, sym[3] */
static bool parse_symbol_tail(Parser *parser, PtxOperand *operand) {
    operand->kind = PO_SYM;
    if (at(parser, '+') || at(parser, '-'))
        return parse_const_int(parser, &operand->imm, "an offset");
    bool array = !(operand->sym & PTX_SYM_FUNC) && parser->vars.at[operand->sym - 1].is_array;
    return !array || !at(parser, '[') || parse_subscript(parser, operand);
}

static bool parse_name(Parser *parser, PtxOperand *operand) {
    Token name = parser->tok;
    next(parser);
    if (str_eq(name.str, parser->name_underscore)) {
        operand->kind = PO_SINK;
        return true;
    }
    const Bind *found = parse_lookup(parser, name.str);
    if (!found)
        return undeclared_operand(parser, &name);
    Bind b = *found;
    unsigned component;
    PtxSreg sreg;
    switch (b.kind) {
    case B_REG:
        if (!parser->d->place.reg)
            parser->d->place.reg = parse_name_text(parser, name.str);
        operand->kind = PO_REG;
        operand->reg = b.value;
        if (at_suffix(parser, &name))
            parse_selector(parser, operand);
        return true;
    case B_VREG:
        if (!at_suffix(parser, &name)) {
            expand_vector(parser, operand, b.count, b.value, 0);
            return true;
        }
        operand->kind = PO_REG;
        if (!parse_component(parser, b.count, &component))
            return false;
        operand->reg = b.value + component;
        return true;
    case B_SREG:
        if (!parse_sreg_met(parser, b.value, &name, &sreg))
            return false;
        if (b.count == 255 && !at_suffix(parser, &name)) {
            expand_vector(parser, operand, 4, 0, sreg);
            return true;
        }
        operand->kind = PO_SREG;
        operand->sreg = sreg;
        operand->component = b.count;
        if (b.count != 255)
            return true;
        if (!parse_component(parser, 4, &component))
            return false;
        operand->component = (uint8_t)component;
        return true;
    case B_VAR: operand->sym = b.value; return parse_symbol_tail(parser, operand);
    case B_FUNC: operand->sym = b.value | PTX_SYM_FUNC; return parse_symbol_tail(parser, operand);
    default:
        operand->kind = PO_LABEL;
        operand->label = b.value - 1;
        return true;
    }
}

/* operands */

/* [base + offset], [base, {x, y}] */
static bool parse_address(Parser *parser, PtxOperand *operand, unsigned depth) {
    VEC(PtxOperand) extra = {0};
    next(parser);
    if (at(parser, TK_IDENT) && !str_eq(parser->tok.str, parser->name_warp_sz)) {
        Token name = parser->tok;
        if (!parse_name(parser, operand))
            return false;
        if ((operand->kind != PO_REG && operand->kind != PO_SYM) || operand->selector || operand->component)
            return fail_found(parser, "a whole register or a variable", &name);
        if ((at(parser, '+') || at(parser, '-')) && !parse_const_int(parser, &operand->imm, "an offset"))
            return false;
    } else if (!parse_const_int(parser, &operand->imm, "an address")) {
        return false;
    }
    operand->kind = PO_ADDR;
    operand->component = 0;
    while (parse_accept(parser, ',')) {
        PtxOperand item = {0};
        if (extra.n >= 8)
            return parse_expected(parser, "']'");
        if (!parse_operand(parser, &item, depth + 1))
            return false;
        VEC_ADD(&parser->tmp, &extra, item);
    }
    operand->nvec = (uint8_t)extra.n;
    operand->vec = extra.n ? arena_copy(parser->a, extra.at, sizeof *extra.at * extra.n) : NULL;
    return parse_expect(parser, ']', "']'");
}

static bool parse_vector(Parser *parser, PtxOperand *operand, unsigned depth) {
    VEC(PtxOperand) items = {0};
    parser->operand_braces++;
    next(parser);
    do {
        PtxOperand item = {0};
        if (items.n >= MAX_VECTOR)
            return diag(parser->d, here(parser), DIAG_E0121, "vector operand");
        if (!parse_operand(parser, &item, depth + 1))
            return false;
        VEC_ADD(&parser->tmp, &items, item);
    } while (parse_accept(parser, ','));
    operand->kind = PO_VEC;
    operand->nvec = (uint8_t)items.n;
    operand->vec = arena_copy(parser->a, items.at, sizeof *items.at * items.n);
    if (!at(parser, '}'))
        return parse_expected(parser, "',' or '}'");
    parser->operand_braces--;
    next(parser);
    return true;
}

static bool starts_name(const Parser *parser) {
    Lexer ahead = parser->lx;
    char c = lex_peek(&ahead);
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' || c == '%';
}

static bool parse_operand(Parser *parser, PtxOperand *operand, unsigned depth) {
    operand->loc = here(parser);
    if (depth > MAX_OPERAND_DEPTH)
        return diag(parser->d, here(parser), DIAG_E0112, "operands", (unsigned)MAX_OPERAND_DEPTH);
    switch (parser->tok.kind) {
    case '{': return parse_vector(parser, operand, depth);
    case '[': return parse_address(parser, operand, depth);
    case '!':
    case '-':
        if (starts_name(parser)) {
            bool is_not = at(parser, '!');
            next(parser);
            if (!(at(parser, TK_IDENT) && str_eq(parser->tok.str, parser->name_warp_sz))) {
                operand->not_ = is_not;
                operand->neg = !is_not;
                return at(parser, TK_IDENT) ? parse_name(parser, operand)
                                            : parse_expected(parser, "a register");
            }
            operand->kind = PO_IMM;
            operand->imm = is_not ? 0 : -32;
            next(parser);
            return true;
        }
        break;
    case TK_IDENT:
        if (!str_eq(parser->tok.str, parser->name_warp_sz))
            return parse_name(parser, operand);
        break;
    case TK_INT:
    case TK_FLT:
    case TK_DBL:
    case '(':
    case '+':
    case '~': break;
    default: return parse_expected(parser, "an operand");
    }
    ConstVal v;
    if (!parse_const(parser, &v))
        return false;
    operand->kind = PO_IMM;
    operand->imm_kind = v.kind;
    operand->imm = (int64_t)v.bits;
    return true;
}

/* opcode */

static unsigned destinations(const PtxInsn *i) {
    OperandSpecs specs;
    form_operands(i->form, &specs);
    return specs.n && strchr("dDPQ", specs.at[0].kind) ? 1 : 0;
}

const char *parse_register_ahead(const Parser *parser) {
    Diags silent = {0};
    Lexer ahead = parser->lx;
    Token t = parser->tok;
    for (ahead.d = &silent; t.kind != ';' && t.kind != TK_EOF && !silent.nerrors; lex_next(&ahead, &t)) {
        uint32_t slot = t.kind == TK_IDENT && t.str.i < parser->bind_of.n ? parser->bind_of.at[t.str.i] : 0;
        const char *name = t.kind == TK_IDENT ? parse_name_text(parser, t.str) : "";
        unsigned row, of_row;
        if (slot ? parser->binds.at[slot - 1].kind == B_REG || parser->binds.at[slot - 1].kind == B_VREG
                 : *name == '%' && !sreg_named(name, &row, &of_row))
            return name;
    }
    return NULL;
}

static Template *find_template(Parser *parser, StrId key, const char *text, size_t size, SrcLoc loc) {
    uint32_t *slot = parse_slot_of(parser, &parser->template_of, key);
    if (*slot)
        return &parser->templates.at[*slot - 1];
    Template t = {0};
    parser->d->place.reg = parse_register_ahead(parser);
    if (!form_decode(text, size, loc, parser->d, &parser->m->strings, &t.insn))
        return NULL;
    t.ndst = (uint8_t)destinations(&t.insn);
    VEC_ADD(&parser->tmp, &parser->templates, t);
    *slot = parser->templates.n;
    return &parser->templates.at[*slot - 1];
}

/* At the opcode; leaves the token behind it. Blanks before modifiers are allowed: `mov .u32 %r1, 0`. */
static Template *parse_opcode(Parser *parser) {
    Token t = parser->tok;
    lex_opcode(&parser->lx, &t);
    const char *text = parser->lx.text + t.at;
    uint32_t size = t.size;
    next(parser);
    while (at(parser, TK_DIR)) {
        text = arena_printf(&parser->tmp, "%.*s%.*s", (int)size, text, (int)parser->tok.size,
                            parser->lx.text + parser->tok.at);
        size += parser->tok.size;
        if (size > 1000) {
            parse_expected(parser, "an operand");
            return NULL;
        }
        next(parser);
    }
    return find_template(parser, str_intern(&parser->m->strings, text, size), text, size, tok_loc(&t));
}

static bool parse_guard(Parser *parser, PtxInsn *i) {
    next(parser); /* @ */
    i->guard_not = parse_accept(parser, '!');
    Token name = parser->tok;
    if (!parse_expect(parser, TK_IDENT, "a predicate"))
        return false;
    const Bind *bind = parse_lookup(parser, name.str);
    if (!bind)
        return undeclared(parser, &name);
    if (bind->kind != B_REG)
        return fail_found(parser, "a predicate", &name);
    i->guard_reg = bind->value;
    return at(parser, TK_IDENT) || parse_expected(parser, "an opcode");
}

/* calls */

/* ( a, b, ... ) */
static bool parse_call_list(Parser *parser, PtxOperand **out, uint8_t *n) {
    VEC(PtxOperand) items = {0};
    next(parser);
    while (!at(parser, ')')) {
        PtxOperand item = {0};
        if (items.n && !parse_expect(parser, ',', "',' or ')'"))
            return false;
        bool braces = at(parser, '{');
        if (items.n > 251)
            return diag(parser->d, here(parser), DIAG_E0121, "argument list");
        if (!parse_operand(parser, &item, 0))
            return false;
        if (item.kind != PO_VEC || item.vec[0].kind != PO_REG || braces)
            VEC_ADD(&parser->tmp, &items, item);
        else /* a whole vector register: its elements, which the parameters must be too */
            for (unsigned k = 0; k < item.nvec; k++) {
                item.vec[k].component = (uint8_t)k;
                VEC_ADD(&parser->tmp, &items, item.vec[k]);
            }
    }
    *n = (uint8_t)items.n;
    *out = items.n ? arena_copy(parser->a, items.at, sizeof *items.at * items.n) : NULL;
    return parse_expect(parser, ')', "')'");
}

/* call (ret), function or register, (args), prototype or targets; */
static bool parse_call(Parser *parser, PtxInsn *i) {
    PtxOperand callee = {0};
    if (at(parser, '(') &&
        (!parse_call_list(parser, &i->rets, &i->nrets) || !parse_expect(parser, ',', "','")))
        return false;
    Token name = parser->tok;
    if (!parse_operand(parser, &callee, 0))
        return false;
    bool direct = callee.kind == PO_SYM && callee.sym & PTX_SYM_FUNC && !callee.imm;
    if (!direct && callee.kind != PO_REG)
        return fail_found(parser, "a function or register", &name);
    if (direct) {
        i->callee = callee.sym & ~PTX_SYM_FUNC;
    } else {
        i->operands[0] = callee;
        i->noperands = 1;
    }
    bool comma = parse_accept(parser, ',');
    if (comma && at(parser, '(')) {
        if (!parse_call_list(parser, &i->args, &i->nargs))
            return false;
        comma = parse_accept(parser, ',');
    }
    if (!comma)
        return direct || parse_expected(parser, "',' and a prototype or target list");
    name = parser->tok;
    if (!parse_expect(parser, TK_IDENT, "a prototype or target list"))
        return false;
    if (!direct)
        parse_add_ref(parser, REF_CALLS, name.str, tok_loc(&name), parser->insns.n, 0);
    return true;
}

/* instructions */

static bool parse_label_operand(Parser *parser, PtxInsn *i, int kind) {
    PtxOperand *o = &i->operands[i->noperands];
    Token name = parser->tok;
    if (!parse_expect(parser, TK_IDENT, "a label"))
        return false;
    *o = (PtxOperand){.kind = PO_LABEL, .loc = tok_loc(&name)};
    parse_add_ref(parser, kind, name.str, tok_loc(&name), parser->insns.n, i->noperands++);
    return true;
}

/* `.unified` */
static void parse_address_modifier(Parser *parser, PtxInsn *i) {
    const PtxModifier *modifier = NULL;
    if (at(parser, TK_DIR))
        modifier = ptx_modifier_find('u', parser->lx.text + parser->tok.at + 1, parser->tok.size - 1);
    if (modifier) {
        i->flags |= modifier->value;
        next(parser);
    }
}

/* In front of `i`, under the same guard: `text` writes a new register, which is returned. */
static uint32_t put_before(Parser *parser, const PtxInsn *i, const char *text, PtxReg to,
                           const PtxOperand *sources, unsigned n) {
    SrcLoc loc = sources->loc;
    DiagPlace place = parser->d->place; /* messages are about `i` */
    const Template *template =
        find_template(parser, str_intern_z(&parser->m->strings, text), text, strlen(text), loc);
    parser->d->place = place;
    PtxInsn before = template->insn;
    uint32_t reg = parse_new_reg(parser, to.name, to.type, loc);
    before.ndst = template->ndst;
    before.guard_reg = i->guard_reg;
    before.guard_not = i->guard_not;
    before.loc = loc;
    before.line = i->line;
    before.noperands = (uint8_t)(n + 1);
    before.operands = ARENA_ARRAY(parser->a, PtxOperand, n + 1 + PTX_EMPTY_OPERANDS);
    before.operands[0] = (PtxOperand){.kind = PO_REG, .reg = reg, .loc = loc};
    memcpy(before.operands + 1, sources, n * sizeof *sources);
    VEC_ADD(&parser->tmp, &parser->sums, before);
    return reg;
}

/* `%r1+4` as an operand: an add in front, of the register's width (ptxas 13.0). */
static bool parse_sum(Parser *parser, PtxInsn *i, PtxOperand *operand) {
    unsigned bytes = operand->kind == PO_REG ? ptx_type_bytes(parser->regs.at[operand->reg].type) : 0;
    PtxReg reg = parser->regs.at[operand->kind == PO_REG ? operand->reg : 0];
    bool whole = operand->kind == PO_REG && !operand->selector && !operand->neg && !operand->not_;
    if (!at(parser, '+') || !whole || i->noperands <= i->ndst || ptx_type_class(reg.type) == TC_FLOAT ||
        (bytes != 2 && bytes != 4 && bytes != 8))
        return true;
    PtxOperand terms[2] = {*operand, {.kind = PO_IMM, .loc = operand->loc}};
    if (!parse_const_int(parser, &terms[1].imm, "an offset"))
        return false;
    const char *text = bytes == 2 ? "add.u16" : bytes == 4 ? "add.u32" : "add.u64";
    operand->reg = put_before(parser, i, text, reg, terms, 2);
    return true;
}

/* `array[%r1+3]`: the address in a register, which replaces the one of the index (PTX ISA 6.4.2). The
 * distance from the array is a number of 32 bits, whatever the index has (ptxas 13.0). */
static bool parse_index(Parser *parser, PtxInsn *i, PtxOperand *operand) {
    if (operand->kind != PO_SYM || !operand->reg)
        return true;
    PtxReg index = parser->regs.at[operand->reg];
    PtxTypeClass tc = ptx_type_class(index.type);
    unsigned bytes = ptx_type_bytes(index.type);
    if (tc == TC_FLOAT || tc == TC_PRED || !bytes || bytes > 8)
        return diag(parser->d, operand->loc, DIAG_E0138, parse_name_text(parser, index.name),
                    ptx_type_name(index.type));
    bool wide = parser->m->address_bits == 64 && (i->op != PTX_MOV || ptx_type_bytes(i->type[0]) == 8);
    PtxReg word = {.name = index.name, .type = TY_U32};
    PtxReg address = {.name = index.name, .type = wide ? TY_U64 : TY_U32};
    PtxOperand terms[3] = {{.kind = PO_REG, .reg = operand->reg, .loc = operand->loc},
                           {.kind = PO_IMM, .loc = operand->loc},
                           {.kind = PO_IMM, .imm = (uint32_t)operand->imm, .loc = operand->loc}};
    char convert[24];
    const char *type = ptx_type_name(index.type) + (*ptx_type_name(index.type) == '.');
    snprintf(convert, sizeof convert, "cvt.u32.%c%u", *type == 's' ? 's' : 'u', 8 * bytes);
    terms[1].imm = ptx_type_bytes(parser->vars.at[operand->sym - 1].type);
    terms[0].reg = put_before(parser, i, convert, word, terms, 1);
    terms[0].reg = put_before(parser, i, "mad.lo.u32", word, terms, 3);
    if (wide)
        terms[0].reg = put_before(parser, i, "cvt.u64.u32", address, terms, 1);
    terms[1] = (PtxOperand){.kind = PO_SYM, .sym = operand->sym, .loc = operand->loc};
    terms[1].reg = put_before(parser, i, wide ? "mov.u64" : "mov.u32", address, &terms[1], 1);
    terms[1].kind = PO_REG;
    terms[1].sym = 0;
    operand->reg = put_before(parser, i, wide ? "add.u64" : "add.u32", address, terms, 2);
    operand->imm = 0;
    return true;
}

static bool parse_operands(Parser *parser, PtxInsn *i) {
    bool piped = false;
    while (!at(parser, ';')) {
        if (i->noperands && !parse_expect(parser, ',', "',' or ';'"))
            return false;
        if (i->noperands >= PTX_MAX_OPERANDS)
            return diag(parser->d, here(parser), DIAG_E0108, ptx_op_name((PtxOp)i->op), "at most 8", 9u);
        if (i->op == PTX_BRA || (i->op == PTX_BRX && i->noperands == 1)) {
            if (!parse_label_operand(parser, i, i->op == PTX_BRA ? REF_LABEL : REF_BRANCHES))
                return false;
            continue;
        }
        PtxOperand *operand = &i->operands[i->noperands++];
        parser->takes_index = at(parser, TK_IDENT);
        bool good = parse_operand(parser, operand, 0);
        parser->takes_index = false;
        if (!good || !parse_sum(parser, i, operand) || !parse_index(parser, i, operand))
            return false;
        if (at(parser, '|') && i->noperands == 1) {
            next(parser);
            piped = true;
            if (!parse_operand(parser, &i->operands[i->noperands++], 0))
                return false;
        }
        if (operand->kind == PO_ADDR)
            parse_address_modifier(parser, i);
    }
    if (piped)
        i->ndst = 2;
    return true;
}

/* The additions in front of the instruction that waits at the end of `insns`. */
static void put_sums(Parser *parser, uint32_t first_ref) {
    for (uint32_t k = 0; k < parser->sums.n; k++) {
        PtxInsn last = parser->insns.at[parser->insns.n];
        parser->insns.at[parser->insns.n++] = parser->sums.at[k];
        *VEC_PUSH(&parser->tmp, &parser->insns) = last;
        parser->insns.n--;
    }
    for (uint32_t k = first_ref; k < parser->refs.n; k++)
        parser->refs.at[k].insn += parser->sums.n;
}

bool parse_insn(Parser *parser) {
    PtxInsn guard = {0};
    SrcLoc loc = here(parser);
    if (at(parser, '@') && !parse_guard(parser, &guard))
        return false;
    const Template *template = parse_opcode(parser);
    if (!template)
        return false;
    PtxInsn *i = VEC_PUSH(&parser->tmp, &parser->insns);
    parser->insns.n--; /* counts only when it is whole; nothing below pushes instructions */
    *i = template->insn;
    i->ndst = template->ndst;
    i->guard_reg = guard.guard_reg;
    i->guard_not = guard.guard_not;
    i->loc = loc;
    i->line = parser->line;
    i->operands = memset(parser->operands, 0, sizeof parser->operands);
    parser->d->place.section = form_section(i->form);
    parser->d->place.opcode = ptx_op_name((PtxOp)i->op);
    parser->d->place.modifiers = str_text(&parser->m->strings, i->mods_text);
    uint32_t refs = parser->refs.n;
    parser->sums.n = 0;
    if (!(i->op == PTX_CALL ? parse_call(parser, i) : parse_operands(parser, i)) ||
        !parse_expect(parser, ';', "';'")) {
        parser->refs.n = refs; /* they name an instruction that will not be */
        return false;
    }
    i->operands =
        arena_copy(parser->a, i->operands, (i->noperands + PTX_EMPTY_OPERANDS) * sizeof *i->operands);
    put_sums(parser, refs);
    parser->insns.n++;
    return true;
}
