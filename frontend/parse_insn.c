/* Instructions: guard, opcode with modifiers, operands, calls (PTX ISA 6, 7.1, 9). Types of operands are
 * judged later, by check.c.
 * SPDX-License-Identifier: MIT */
#include "frontend/parse.h"
#include <string.h>

enum { MAX_VECTOR = 128 };

static bool parse_operand(Parser *p, PtxOperand *o, unsigned depth);

/* names as operands */

static bool fail_found(Parser *p, const char *what, const Token *t) {
    int n = t->size > 60 ? 60 : (int)t->size;
    return diag(p->d, tok_loc(t), DIAG_E0102, what, n, p->lx.text + t->at);
}

static bool undeclared(Parser *p, const Token *name) {
    const char *text = name_text(p, name->str);
    size_t size = str_size(&p->m->strings, name->str), n = size;
    while (n > 1 && text[n - 1] >= '0' && text[n - 1] <= '9')
        n--;
    StrId prefix = n < size ? str_find(&p->m->strings, text, n) : (StrId){0};
    uint32_t range = prefix.i && prefix.i < p->range_of.n ? p->range_of.at[prefix.i] : 0;
    if (range)
        return diag(p->d, tok_loc(name), DIAG_E0137, text, name_text(p, prefix),
                    p->ranges.at[range - 1].count);
    return diag(p->d, tok_loc(name), DIAG_E0103, text);
}

/* A directive token right behind the operand: `.x`, `.b0`. */
static bool at_suffix(const Parser *p, const Token *name) {
    return p->tok.kind == TK_DIR && p->tok.at == name->at + name->size;
}

static bool parse_component(Parser *p, unsigned count, unsigned *out) {
    static const char xyzw[] = "xyzw", rgba[] = "rgba";
    char c = p->tok.size == 2 ? p->lx.text[p->tok.at + 1] : 0;
    const char *x = c ? memchr(xyzw, c, 4) : NULL, *r = c ? memchr(rgba, c, 4) : NULL;
    *out = x ? (unsigned)(x - xyzw) : r ? (unsigned)(r - rgba) : 4;
    if (*out >= count)
        return fail_expected(p, count == 2 ? "component .x or .y" : "component .x, .y, .z or .w");
    next(p);
    return true;
}

/* Whole vector registers and special registers stand for the list of their components. */
static void expand_vector(Parser *p, PtxOperand *o, unsigned n, uint32_t first_reg, uint32_t sreg) {
    o->kind = PO_VEC;
    o->nvec = (uint8_t)n;
    o->vec = ARENA_ARRAY(p->a, PtxOperand, n);
    for (unsigned i = 0; i < n; i++)
        o->vec[i] = (PtxOperand){.kind = sreg ? PO_SREG : PO_REG,
                                 .reg = sreg ? 0 : first_reg + i,
                                 .sreg = sreg,
                                 .component = sreg ? (uint8_t)i : 0,
                                 .loc = o->loc};
}

static void parse_selector(Parser *p, PtxOperand *o) {
    static const char *const names[] = {".b0", ".b1", ".b2", ".b3", ".h0", ".h1"};
    o->selector = 255;
    o->sym = p->tok.str.i; /* for the printer */
    for (unsigned i = 0; i < 6; i++)
        if (at_dir(p, names[i])) {
            o->selector = (uint8_t)(i + 1);
            o->sym = 0;
        }
    next(p);
}

/* sym, sym+4, sym[3] */
static bool parse_symbol_tail(Parser *p, PtxOperand *o) {
    o->kind = PO_SYM;
    if (at(p, '+') || at(p, '-'))
        return parse_const_int(p, &o->imm, "an offset");
    if (!at(p, '[') || o->sym & PTX_SYM_FUNC)
        return true;
    int64_t index;
    next(p);
    if (!parse_const_int(p, &index, "an index") || !expect(p, ']', "']'"))
        return false;
    const PtxVar *v = &p->vars.at[o->sym - 1];
    o->component = 1; /* ld and st take `array[2]` as an address */
    o->imm = (int64_t)((uint64_t)index * ptx_type_bytes(v->type) * v->vec);
    return true;
}

static bool parse_name(Parser *p, PtxOperand *o) {
    Token name = p->tok;
    next(p);
    if (str_eq(name.str, p->name_underscore)) {
        o->kind = PO_SINK;
        return true;
    }
    const Bind *found = lookup(p, name.str);
    if (!found)
        return undeclared(p, &name);
    Bind b = *found;
    unsigned component;
    switch (b.kind) {
    case B_REG:
        o->kind = PO_REG;
        o->reg = b.value;
        if (at_suffix(p, &name))
            parse_selector(p, o);
        return true;
    case B_VREG:
        if (!at_suffix(p, &name)) {
            expand_vector(p, o, b.count, b.value, 0);
            return true;
        }
        o->kind = PO_REG;
        if (!parse_component(p, b.count, &component))
            return false;
        o->reg = b.value + component;
        return true;
    case B_SREG:
        if (b.count == 255 && !at_suffix(p, &name)) {
            expand_vector(p, o, 4, 0, b.value);
            return true;
        }
        o->kind = PO_SREG;
        o->sreg = b.value;
        o->component = b.count;
        if (b.count != 255)
            return true;
        if (!parse_component(p, 4, &component))
            return false;
        o->component = (uint8_t)component;
        return true;
    case B_VAR: o->sym = b.value; return parse_symbol_tail(p, o);
    case B_FUNC: o->sym = b.value | PTX_SYM_FUNC; return parse_symbol_tail(p, o);
    default:
        o->kind = PO_LABEL;
        o->label = b.value - 1;
        return true;
    }
}

/* operands */

/* [base + offset], [base, {x, y}] */
static bool parse_address(Parser *p, PtxOperand *o, unsigned depth) {
    VEC(PtxOperand) extra = {0};
    next(p);
    if (at(p, TK_IDENT) && !str_eq(p->tok.str, p->name_warp_sz)) {
        Token name = p->tok;
        if (!parse_name(p, o))
            return false;
        if ((o->kind != PO_REG && o->kind != PO_SYM) || o->selector)
            return fail_found(p, "a whole register or a variable", &name);
        if ((at(p, '+') || at(p, '-')) && !parse_const_int(p, &o->imm, "an offset"))
            return false;
    } else if (!parse_const_int(p, &o->imm, "an address")) {
        return false;
    }
    o->kind = PO_ADDR;
    o->component = 0;
    while (accept(p, ',')) {
        PtxOperand item = {0};
        if (extra.n >= 8)
            return fail_expected(p, "']'");
        if (!parse_operand(p, &item, depth + 1))
            return false;
        VEC_ADD(&p->tmp, &extra, item);
    }
    o->nvec = (uint8_t)extra.n;
    o->vec = extra.n ? arena_copy(p->a, extra.at, sizeof *extra.at * extra.n) : NULL;
    return expect(p, ']', "']'");
}

static bool parse_vector(Parser *p, PtxOperand *o, unsigned depth) {
    VEC(PtxOperand) items = {0};
    p->operand_braces++;
    next(p);
    do {
        PtxOperand item = {0};
        if (items.n >= MAX_VECTOR)
            return diag(p->d, here(p), DIAG_E0121, "vector operand");
        if (!parse_operand(p, &item, depth + 1))
            return false;
        VEC_ADD(&p->tmp, &items, item);
    } while (accept(p, ','));
    o->kind = PO_VEC;
    o->nvec = (uint8_t)items.n;
    o->vec = arena_copy(p->a, items.at, sizeof *items.at * items.n);
    if (!at(p, '}'))
        return fail_expected(p, "',' or '}'");
    p->operand_braces--;
    next(p);
    return true;
}

static bool starts_name(const Parser *p) {
    Lexer ahead = p->lx;
    char c = lex_peek(&ahead);
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' || c == '%';
}

static bool parse_operand(Parser *p, PtxOperand *o, unsigned depth) {
    o->loc = here(p);
    if (depth > MAX_OPERAND_DEPTH)
        return diag(p->d, here(p), DIAG_E0112, "operands", (unsigned)MAX_OPERAND_DEPTH);
    switch (p->tok.kind) {
    case '{': return parse_vector(p, o, depth);
    case '[': return parse_address(p, o, depth);
    case '!':
    case '-':
        if (starts_name(p)) {
            bool is_not = at(p, '!');
            next(p);
            if (!(at(p, TK_IDENT) && str_eq(p->tok.str, p->name_warp_sz))) {
                o->not_ = is_not;
                o->neg = !is_not;
                return at(p, TK_IDENT) ? parse_name(p, o) : fail_expected(p, "a register");
            }
            o->kind = PO_IMM;
            o->imm = is_not ? 0 : -32;
            next(p);
            return true;
        }
        break;
    case TK_IDENT:
        if (!str_eq(p->tok.str, p->name_warp_sz))
            return parse_name(p, o);
        break;
    case TK_INT:
    case TK_FLT:
    case TK_DBL:
    case '(':
    case '+':
    case '~': break;
    default: return fail_expected(p, "an operand");
    }
    ConstVal v;
    if (!parse_const(p, &v))
        return false;
    o->kind = PO_IMM;
    o->imm_kind = v.kind;
    o->imm = (int64_t)v.bits;
    return true;
}

/* opcode */

static unsigned destinations(const PtxInsn *i) {
    OperandSpecs specs;
    form_operands(i->form, &specs);
    if (!specs.is_open)
        return specs.n && strchr("dDPQ", specs.at[0].kind) ? 1 : 0;
    switch (i->op) {
    case PTX_TEX:
    case PTX_TLD4:
    case PTX_TXQ:
    case PTX_ISTYPEP:
    case PTX_SULD:
    case PTX_SUQ:
    case PTX_MMA:
    case PTX_LDMATRIX:
    case PTX_CREATEPOLICY:
    case PTX_CVT:
    case PTX_ATOM: return 1;
    case PTX_WMMA: return i->sub != SUB_STORE;
    default: return i->op >= PTX_VADD && i->op <= PTX_VSET4;
    }
}

static Template *find_template(Parser *p, StrId key, const char *text, size_t size, SrcLoc loc) {
    uint32_t *slot = slot_of(p, &p->template_of, key);
    if (*slot)
        return &p->templates.at[*slot - 1];
    Template t = {0};
    if (!form_decode(text, size, loc, p->d, &p->m->strings, &t.insn))
        return NULL;
    t.ndst = (uint8_t)destinations(&t.insn);
    VEC_ADD(&p->tmp, &p->templates, t);
    *slot = p->templates.n;
    return &p->templates.at[*slot - 1];
}

/* At the opcode; leaves the token behind it. Blanks before modifiers are allowed: `mov .u32 %r1, 0`. */
static Template *parse_opcode(Parser *p) {
    Token t = p->tok;
    lex_opcode(&p->lx, &t);
    const char *text = p->lx.text + t.at;
    uint32_t size = t.size;
    next(p);
    while (at(p, TK_DIR)) {
        text = arena_printf(&p->tmp, "%.*s%.*s", (int)size, text, (int)p->tok.size, p->lx.text + p->tok.at);
        size += p->tok.size;
        if (size > 1000) {
            fail_expected(p, "an operand");
            return NULL;
        }
        next(p);
    }
    return find_template(p, str_intern(&p->m->strings, text, size), text, size, tok_loc(&t));
}

static bool parse_guard(Parser *p, PtxInsn *i) {
    next(p); /* @ */
    i->guard_not = accept(p, '!');
    Token name = p->tok;
    if (!expect(p, TK_IDENT, "a predicate"))
        return false;
    const Bind *b = lookup(p, name.str);
    if (!b)
        return undeclared(p, &name);
    if (b->kind != B_REG)
        return fail_found(p, "a predicate", &name);
    i->guard_reg = b->value;
    return at(p, TK_IDENT) || fail_expected(p, "an opcode");
}

/* calls */

/* ( a, b, ... ) */
static bool parse_call_list(Parser *p, PtxOperand **out, uint8_t *n) {
    VEC(PtxOperand) items = {0};
    next(p);
    while (!at(p, ')')) {
        PtxOperand item = {0};
        if (items.n && !expect(p, ',', "',' or ')'"))
            return false;
        if (items.n >= 255)
            return diag(p->d, here(p), DIAG_E0121, "argument list");
        if (!parse_operand(p, &item, 0))
            return false;
        VEC_ADD(&p->tmp, &items, item);
    }
    *n = (uint8_t)items.n;
    *out = items.n ? arena_copy(p->a, items.at, sizeof *items.at * items.n) : NULL;
    return expect(p, ')', "')'");
}

/* call (ret), function or register, (args), prototype or targets; */
static bool parse_call(Parser *p, PtxInsn *i) {
    PtxOperand callee = {0};
    if (at(p, '(') && (!parse_call_list(p, &i->rets, &i->nrets) || !expect(p, ',', "','")))
        return false;
    Token name = p->tok;
    if (!parse_operand(p, &callee, 0))
        return false;
    bool direct = callee.kind == PO_SYM && callee.sym & PTX_SYM_FUNC && !callee.imm;
    if (!direct && callee.kind != PO_REG)
        return fail_found(p, "a function or register", &name);
    if (direct) {
        i->callee = callee.sym & ~PTX_SYM_FUNC;
    } else {
        i->operands[0] = callee;
        i->noperands = 1;
    }
    bool comma = accept(p, ',');
    if (comma && at(p, '(')) {
        if (!parse_call_list(p, &i->args, &i->nargs))
            return false;
        comma = accept(p, ',');
    }
    if (!comma)
        return direct || fail_expected(p, "',' and a prototype or target list");
    name = p->tok;
    if (!expect(p, TK_IDENT, "a prototype or target list"))
        return false;
    if (!direct)
        add_ref(p, REF_CALLS, name.str, tok_loc(&name), p->insns.n, 0);
    return true;
}

/* instructions */

static bool parse_label_operand(Parser *p, PtxInsn *i, int kind) {
    PtxOperand *o = &i->operands[i->noperands];
    Token name = p->tok;
    if (!expect(p, TK_IDENT, "a label"))
        return false;
    *o = (PtxOperand){.kind = PO_LABEL, .loc = tok_loc(&name)};
    add_ref(p, kind, name.str, tok_loc(&name), p->insns.n, i->noperands++);
    return true;
}

static bool parse_operands(Parser *p, PtxInsn *i) {
    bool piped = false;
    while (!at(p, ';')) {
        if (i->noperands && !expect(p, ',', "',' or ';'"))
            return false;
        if (i->noperands >= PTX_MAX_OPERANDS)
            return diag(p->d, here(p), DIAG_E0108, ptx_op_name((PtxOp)i->op), "at most 8", 9u);
        if (i->op == PTX_BRA || (i->op == PTX_BRX && i->noperands == 1)) {
            if (!parse_label_operand(p, i, i->op == PTX_BRA ? REF_LABEL : REF_BRANCHES))
                return false;
            continue;
        }
        PtxOperand *o = &i->operands[i->noperands++];
        if (!parse_operand(p, o, 0))
            return false;
        if (at(p, '|') && i->noperands == 1) {
            next(p);
            piped = true;
            if (!parse_operand(p, &i->operands[i->noperands++], 0))
                return false;
        }
        if (o->kind == PO_ADDR && accept_dir(p, ".unified"))
            i->flags |= PF_UNIFIED;
    }
    if (piped)
        i->ndst = 2;
    return true;
}

bool parse_insn(Parser *p) {
    PtxInsn guard = {0};
    SrcLoc loc = here(p);
    if (at(p, '@') && !parse_guard(p, &guard))
        return false;
    const Template *t = parse_opcode(p);
    if (!t)
        return false;
    PtxInsn *i = VEC_PUSH(&p->tmp, &p->insns);
    p->insns.n--; /* counts only when it is whole; nothing below pushes instructions */
    *i = t->insn;
    i->ndst = t->ndst;
    i->guard_reg = guard.guard_reg;
    i->guard_not = guard.guard_not;
    i->loc = loc;
    i->line = p->line;
    uint32_t refs = p->refs.n;
    if (!(i->op == PTX_CALL ? parse_call(p, i) : parse_operands(p, i)) || !expect(p, ';', "';'")) {
        p->refs.n = refs; /* they name an instruction that will not be */
        return false;
    }
    p->insns.n++;
    return true;
}
