/* Semantic checks of a parsed module: every operand against the opcode's form (ptx_forms.def), operand
 * types by PTX ISA 9.4, address spaces, calls. Constants are converted to the instruction's type here:
 * integers sign- or zero-extended to 64 bits, IMM_F32 bits for .f32, IMM_F64 bits for .f64; there are no
 * floating-point constants of half precision. Rules of single opcodes are in check_rules.c.
 * SPDX-License-Identifier: MIT */
#include "frontend/check.h"
#include <stdio.h>
#include <string.h>

const char *insn_text(const Check *c, const PtxInsn *i) {
    snprintf(((Check *)c)->name, sizeof c->name, "%s%s", ptx_op_name((PtxOp)i->op),
             str_text(&c->m->strings, i->mods_text));
    return c->name;
}

static const char *reg_name(const Check *c, uint32_t reg) {
    return str_text(&c->m->strings, c->f->regs[reg].name);
}
static PtxType reg_type(const Check *c, uint32_t reg) { return c->f->regs[reg].type; }

/* types */

PtxType twice_as_wide(PtxType t) {
    switch (t) {
    case TY_U16: return TY_U32;
    case TY_S16: return TY_S32;
    case TY_U32: return TY_U64;
    case TY_S32: return TY_S64;
    default: return t;
    }
}

static PtxType spec_type(const PtxInsn *i, const OperandSpec *s) {
    if (s->type_index == 5)
        return twice_as_wide((PtxType)i->type[0]);
    return s->type_index ? (PtxType)i->type[s->type_index - 1] : (PtxType)s->type;
}

/* May a register of type `reg` stand where the instruction says `t`? Bits agree with everything of their
 * size, signed and unsigned with each other; floating-point types only with themselves. */
bool types_agree(PtxType t, PtxType reg, bool relaxed) {
    unsigned want = ptx_type_bytes(t), have = ptx_type_bytes(reg);
    PtxTypeClass tc = ptx_type_class(t), rc = ptx_type_class(reg);
    if (t == TY_PRED || reg == TY_PRED)
        return t == reg;
    if (relaxed ? have < want : have != want)
        return false;
    if (have == 16 && want < 16)
        return false;
    if (tc == TC_BITS || rc == TC_BITS)
        return true;
    if (tc == TC_FLOAT)
        return t == reg;
    return rc != TC_FLOAT || reg == TY_F16X2; /* ptxas 13 takes packed registers as integers */
}

/* constants */

static bool imm_error(const Check *c, const PtxInsn *i, unsigned n, PtxType t, const PtxOperand *o) {
    const char *kind = o->imm_kind == IMM_INT ? "an integer" : "a floating-point";
    return diag(c->d, o->loc, DIAG_E0130, n, insn_text(c, i), ptx_type_name(t), kind);
}

static void fit_integer(const Check *c, PtxType t, PtxOperand *o) {
    unsigned bits = ptx_type_bytes(t) * 8;
    if (!bits || bits >= 64)
        return;
    int64_t v = o->imm, lowest = -((int64_t)1 << (bits - 1)), above = (int64_t)1 << bits;
    uint64_t low = (uint64_t)v & (uint64_t)(above - 1);
    bool negative = ptx_type_class(t) == TC_SIGNED && low >> (bits - 1);
    o->imm = (int64_t)(negative ? low | ~(uint64_t)(above - 1) : low);
    if (v < lowest || v >= above)
        diag(c->d, o->loc, DIAG_W0140, (long long)v, ptx_type_name(t), (long long)o->imm);
}

/* Convert the constant to type `t`; false if its kind does not fit. */
static bool convert_imm(const Check *c, PtxType t, PtxOperand *o) {
    ConstVal v = {.kind = o->imm_kind, .bits = (uint64_t)o->imm};
    PtxTypeClass tc = ptx_type_class(t);
    if (t == TY_PRED) {
        o->imm = o->imm != 0;
        return o->imm_kind == IMM_INT;
    }
    if (o->imm_kind == IMM_INT) {
        if (tc == TC_FLOAT || tc == TC_NONE)
            return false;
        fit_integer(c, t, o);
        return true;
    }
    if (t == TY_F32) {
        o->imm = (int64_t)const_f32_bits(&v);
        o->imm_kind = IMM_F32;
        return true;
    }
    if (t == TY_F64) {
        o->imm = (int64_t)const_f64_bits(&v);
        o->imm_kind = IMM_F64;
        return true;
    }
    return (t == TY_B32 && o->imm_kind == IMM_F32) || (t == TY_B64 && o->imm_kind == IMM_F64);
}

/* operands */

static bool wrong_kind(const Check *c, const PtxInsn *i, unsigned n, const PtxOperand *o, const char *what) {
    return diag(c->d, o->loc, DIAG_E0109, n, insn_text(c, i), what);
}

static bool check_reg(const Check *c, const PtxInsn *i, unsigned n, PtxType t, bool relaxed,
                      const PtxOperand *o) {
    PtxType have = reg_type(c, o->reg);
    if (types_agree(t, have, relaxed))
        return true;
    return diag(c->d, o->loc, DIAG_E0104, n, insn_text(c, i), ptx_type_name(t), reg_name(c, o->reg),
                ptx_type_name(have));
}

static bool plain(const PtxOperand *o) { return !o->neg && !o->not_ && !o->selector; }

static bool check_dst(const Check *c, const PtxInsn *i, unsigned n, const OperandSpec *s, PtxType t,
                      const PtxOperand *o) {
    bool predicate = s->kind == 'P' || s->kind == 'Q';
    if (o->kind == PO_SINK && (s->kind == 'D' || s->kind == 'Q'))
        return true;
    if (o->kind != PO_REG || !plain(o))
        return wrong_kind(c, i, n, o, predicate ? "a predicate register" : "a register");
    return check_reg(c, i, n, predicate ? TY_PRED : t, s->is_relaxed, o);
}

static bool sreg_is_wide(const PtxOperand *o) {
    return o->sreg == SR_CLOCK64 || o->sreg == SR_GLOBALTIMER || o->sreg == SR_GRIDID ||
           o->sreg == SR_CURRENT_GRAPH_EXEC || (o->sreg == SR_PM && o->component >= 8);
}

/* Special registers are 32 or 64 bits wide; those of the grid were 16 bits once and may be read so. */
static bool check_sreg(const Check *c, const PtxInsn *i, unsigned n, PtxType t, const PtxOperand *o) {
    unsigned bytes = ptx_type_bytes(t);
    bool grid = o->sreg == SR_TID || o->sreg == SR_NTID || o->sreg == SR_CTAID || o->sreg == SR_NCTAID ||
                o->sreg == SR_GRIDID;
    PtxType have = o->sreg == SR_IS_EXPLICIT_CLUSTER ? TY_PRED : sreg_is_wide(o) ? TY_U64 : TY_U32;
    bool ok = types_agree(t, have, false) ||
              (grid && ptx_type_class(t) != TC_FLOAT && bytes >= 2 && bytes <= 4) ||
              (i->op == PTX_CVT && ptx_type_class(t) != TC_FLOAT && bytes < ptx_type_bytes(have));
    char name[64];
    snprintf(name, sizeof name, "%%%s", ptx_sreg_name((PtxSreg)o->sreg));
    return ok ||
           diag(c->d, o->loc, DIAG_E0104, n, insn_text(c, i), ptx_type_name(t), name, ptx_type_name(have));
}

/* A variable's or function's address as a value. */
static bool check_symbol(const Check *c, const PtxInsn *i, unsigned n, PtxType t, const PtxOperand *o) {
    PtxTypeClass tc = ptx_type_class(t);
    unsigned bytes = ptx_type_bytes(t);
    if (tc != TC_FLOAT && (bytes == 8 || bytes == 4))
        return true;
    return wrong_kind(c, i, n, o, "of 32 or 64 bits and not floating-point to hold an address");
}

static bool check_src(const Check *c, const PtxInsn *i, unsigned n, const OperandSpec *s, PtxType t,
                      PtxOperand *o) {
    bool mov = s->kind == 'm';
    switch (o->kind) {
    case PO_REG:
        if (!plain(o))
            return wrong_kind(c, i, n, o, "without negation or selector");
        return check_reg(c, i, n, t, s->is_relaxed, o);
    case PO_IMM:
        if (s->kind == 'r')
            return wrong_kind(c, i, n, o, "a register");
        return convert_imm(c, t, o) || imm_error(c, i, n, t, o);
    case PO_SREG:
        if (mov)
            return check_sreg(c, i, n, t, o);
        return wrong_kind(c, i, n, o, "no special register; only mov and cvt read those");
    case PO_SYM:
        if (mov)
            return check_symbol(c, i, n, t, o);
        return wrong_kind(c, i, n, o, "a register or constant; mov takes addresses");
    default: return wrong_kind(c, i, n, o, s->kind == 'r' ? "a register" : "a register or constant");
    }
}

static bool check_predicate(const Check *c, const PtxInsn *i, unsigned n, PtxOperand *o) {
    if (o->kind == PO_IMM)
        return convert_imm(c, TY_PRED, o) || imm_error(c, i, n, TY_PRED, o);
    if (o->kind == PO_SREG && i->op == PTX_MOV)
        return check_sreg(c, i, n, TY_PRED, o);
    if (o->kind != PO_REG || o->neg || o->selector)
        return wrong_kind(c, i, n, o, "a predicate");
    return check_reg(c, i, n, TY_PRED, false, o);
}

/* mov.b64 {a, b}, d and mov.b64 d, {a, b}: the elements share the type's bits evenly. */
static bool check_pack(const Check *c, PtxInsn *i, unsigned n, PtxType t, PtxOperand *o) {
    static const PtxType of_bytes[] = {[1] = TY_B8, [2] = TY_B16, [4] = TY_B32, [8] = TY_B64};
    unsigned bytes = ptx_type_bytes(t);
    if (ptx_type_class(t) != TC_BITS || bytes < 2)
        return wrong_kind(c, i, n, o, "no vector, unless the type is .b16, .b32, .b64 or .b128");
    if ((o->nvec != 2 && o->nvec != 4) || bytes / o->nvec < 1)
        return diag(c->d, o->loc, DIAG_E0129, n, insn_text(c, i), bytes == 2 ? 2u : 4u, (unsigned)o->nvec);
    OperandSpec s = {.kind = n == 1 ? 'D' : 's'};
    for (unsigned k = 0; k < o->nvec; k++)
        if (!(n == 1 ? check_dst(c, i, n, &s, of_bytes[bytes / o->nvec], &o->vec[k])
                     : check_src(c, i, n, &s, of_bytes[bytes / o->nvec], &o->vec[k])))
            return false;
    return true;
}

static bool check_vector(const Check *c, PtxInsn *i, unsigned n, const OperandSpec *s, PtxType t,
                         PtxOperand *o) {
    OperandSpec each = *s;
    if (o->kind != PO_VEC)
        return wrong_kind(c, i, n, o, "a vector");
    if (o->nvec != i->vec)
        return diag(c->d, o->loc, DIAG_E0129, n, insn_text(c, i), (unsigned)i->vec, (unsigned)o->nvec);
    each.kind = s->kind == 'd' ? 'D' : s->kind;
    for (unsigned k = 0; k < o->nvec; k++)
        if (!(each.kind == 'D' ? check_dst(c, i, n, &each, t, &o->vec[k])
                               : check_src(c, i, n, &each, t, &o->vec[k])))
            return false;
    return true;
}

/* addresses */

static const char *space_name(unsigned space) {
    static const char *const names[SP_COUNT] = {"generic",    "reg",   "sreg",   "const", "global",
                                                "local",      "param", "shared", "tex",   "shared::cluster",
                                                "param::func"};
    return space < SP_COUNT ? names[space] : "?";
}

static bool same_space(unsigned insn, unsigned var) {
    return insn == var || (insn == SP_SHARED_CLUSTER && var == SP_SHARED) ||
           (insn == SP_PARAM_FUNC && var == SP_PARAM);
}

/* An access without state space that names a variable is an access to the variable's space. */
static bool check_address_symbol(const Check *c, PtxInsn *i, unsigned n, uint8_t *space,
                                 const PtxOperand *o) {
    if (o->sym & PTX_SYM_FUNC)
        return wrong_kind(c, i, n, o, "the address of a variable, not of a function");
    const PtxVar *v = &c->m->vars[o->sym - 1];
    const char *name = str_text(&c->m->strings, v->name);
    if (*space == SP_NONE && v->space != SP_PARAM && v->space != SP_TEX)
        *space = (uint8_t)v->space;
    if (!same_space(*space, v->space))
        return diag(c->d, o->loc, DIAG_E0133, name, space_name(v->space), insn_text(c, i),
                    space_name(*space));
    bool kernel_param = v->space == SP_PARAM && v->func && c->m->funcs[v->func - 1].is_entry;
    for (uint32_t k = 0; kernel_param && i->op == PTX_ST && k < c->f->nparams; k++)
        if (c->f->params[k] == o->sym - 1)
            return diag(c->d, o->loc, DIAG_E0126, "a store to a kernel parameter", "(PTX ISA 5.1.6.1)");
    return true;
}

static bool check_address(const Check *c, PtxInsn *i, unsigned n, uint8_t *space, PtxOperand *o) {
    if (o->kind == PO_SYM && o->component) { /* array[2] */
        o->kind = PO_ADDR;
        o->component = 0;
    }
    if (o->kind != PO_ADDR || o->nvec)
        return wrong_kind(c, i, n, o, "an address");
    if (o->sym)
        return check_address_symbol(c, i, n, space, o);
    if (!o->reg)
        return true;
    PtxType t = reg_type(c, o->reg);
    PtxTypeClass tc = ptx_type_class(t);
    unsigned bytes = ptx_type_bytes(t);
    if (tc == TC_FLOAT || tc == TC_PRED || (bytes != 4 && bytes != 8))
        return diag(c->d, o->loc, DIAG_E0138, reg_name(c, o->reg), ptx_type_name(t));
    return true;
}

static bool check_operand(const Check *c, PtxInsn *i, unsigned n, const OperandSpec *s, PtxOperand *o) {
    PtxType t = spec_type(i, s);
    if (s->is_vector && i->vec > 1)
        return check_vector(c, i, n, s, t, o);
    if (i->op == PTX_MOV && o->kind == PO_VEC && t != TY_PRED)
        return check_pack(c, i, n, t, o);
    switch (s->kind) {
    case 'd':
    case 'D':
    case 'P':
    case 'Q': return check_dst(c, i, n, s, t, o);
    case 's':
    case 'r':
    case 'm': return check_src(c, i, n, s, t, o);
    case 'p': return check_predicate(c, i, n, o);
    case 'i':
        if (o->kind != PO_IMM || o->imm_kind != IMM_INT)
            return wrong_kind(c, i, n, o, "an integer constant");
        return convert_imm(c, t, o);
    case 'A': return check_address(c, i, n, i->op == PTX_CP && n == 2 ? &i->space2 : &i->space, o);
    default: return o->kind == PO_LABEL || wrong_kind(c, i, n, o, "a label");
    }
}

/* instructions */

static const OperandSpecs *specs_of(Check *c, unsigned form) {
    if (!c->specs[form]) {
        c->specs[form] = ARENA_NEW(&c->tmp, OperandSpecs);
        form_operands(form, c->specs[form]);
    }
    return c->specs[form];
}

static unsigned npiped(const OperandSpecs *s) {
    unsigned n = 0;
    for (unsigned k = 0; k < s->n; k++)
        n += s->at[k].is_piped;
    return n;
}

/* How many operands; a cache policy, last and optional in the pattern, goes with .L2::cache_hint. */
static void count_range(const OperandSpecs *s, const PtxInsn *i, unsigned *least, unsigned *most) {
    bool policy = s->n && s->at[s->n - 1].is_optional && s->at[s->n - 1].type == TY_B64;
    bool hint = i->flags & PF_CACHE_HINT;
    *least = s->nrequired + (policy && hint ? 1u : 0u);
    *most = s->n - npiped(s) - (policy && !hint ? 1u : 0u);
}

static bool count_fits(const OperandSpecs *s, const PtxInsn *i) {
    unsigned second = i->ndst == 2, n = i->noperands - second, least, most;
    count_range(s, i, &least, &most);
    return s->is_open || (n >= least && n <= most && second <= npiped(s));
}

/* Forms that differ only in their number of operands: the one that fits. */
static const OperandSpecs *choose_form(Check *c, PtxInsn *i) {
    const OperandSpecs *s = specs_of(c, i->form);
    unsigned form = i->form;
    while (!count_fits(s, i)) {
        form = form_next(form, str_text(&c->m->strings, i->mods_text));
        if (!form)
            return NULL;
        s = specs_of(c, form);
    }
    i->form = (uint16_t)form;
    return s;
}

static bool count_error(Check *c, const PtxInsn *i) {
    const OperandSpecs *s = specs_of(c, i->form);
    char text[48];
    unsigned least, most;
    count_range(s, i, &least, &most);
    if (i->ndst == 2 && !npiped(s))
        return diag(c->d, i->operands[1].loc, DIAG_E0131, insn_text(c, i),
                    "has no second destination behind '|'");
    snprintf(text, sizeof text, most == least ? "%u" : "%u to %u", least, most);
    return diag(c->d, i->loc, DIAG_E0108, insn_text(c, i), text, (unsigned)i->noperands - (i->ndst == 2));
}

static bool check_operands(Check *c, PtxInsn *i) {
    const OperandSpecs *s = choose_form(c, i);
    if (!s)
        return count_error(c, i);
    if (s->is_open)
        return true;
    unsigned n = 0;
    bool ok = true;
    for (unsigned k = 0; k < s->n && n < i->noperands; k++) {
        if (s->at[k].is_piped && i->ndst < 2)
            continue;
        ok &= check_operand(c, i, n + 1, &s->at[k], &i->operands[n]);
        n++;
    }
    return ok;
}

/* calls */

static bool call_error(const Check *c, const PtxOperand *o, bool ret, unsigned n, const char *callee,
                       const char *why) {
    return diag(c->d, o->loc, DIAG_E0128, ret ? "result" : "argument", n, callee, why);
}

static bool check_call_operand(const Check *c, const PtxVar *v, bool ret, unsigned n, const char *callee,
                               PtxOperand *o) {
    char why[160];
    switch (o->kind) {
    case PO_SYM: {
        const PtxVar *a = o->sym & PTX_SYM_FUNC ? NULL : &c->m->vars[o->sym - 1];
        if (!a || a->space != SP_PARAM || o->imm)
            return call_error(c, o, ret, n, callee, "a variable must be in .param");
        if (a->size_bytes == v->size_bytes || v->unsized)
            return true;
        snprintf(why, sizeof why, "it has %llu bytes, the parameter has %llu",
                 (unsigned long long)a->size_bytes, (unsigned long long)v->size_bytes);
        return call_error(c, o, ret, n, callee, why);
    }
    case PO_REG:
        if (!v->is_array && plain(o) && types_agree(v->type, reg_type(c, o->reg), false))
            return true;
        snprintf(why, sizeof why, "%.60s is .%s, the parameter is .%s%s", reg_name(c, o->reg),
                 ptx_type_name(reg_type(c, o->reg)), ptx_type_name(v->type), v->is_array ? " array" : "");
        return call_error(c, o, ret, n, callee, why);
    case PO_IMM:
        if (!ret && !v->is_array && convert_imm(c, v->type, o))
            return true;
        return call_error(c, o, ret, n, callee, "a constant does not fit here");
    case PO_SINK:
        if (ret)
            return true;
        break;
    default: break;
    }
    return call_error(c, o, ret, n, callee, "it is neither a .param variable nor a register");
}

typedef struct {
    const char *name;
    const uint32_t *rets, *params;
    uint32_t nrets, nparams;
} Signature;

static bool signature_of(const Check *c, const PtxInsn *i, Signature *s) {
    const PtxFunc *f = NULL;
    if (i->callee) {
        f = &c->m->funcs[i->callee - 1];
    } else {
        const PtxCallTable *t = &c->f->call_tables[i->table - 1];
        if (t->n)
            f = &c->m->funcs[t->funcs[0]];
        *s = (Signature){str_text(&c->m->strings, t->name), t->rets, t->params, t->nrets, t->nparams};
    }
    if (f)
        *s = (Signature){str_text(&c->m->strings, f->name), f->rets, f->params, f->nrets, f->nparams};
    return !f || !f->is_entry;
}

static bool check_call(Check *c, PtxInsn *i) {
    Signature s = {0};
    if (!i->callee && !i->table)
        return true; /* its prototype was not found: reported */
    if (!signature_of(c, i, &s))
        return diag(c->d, i->loc, DIAG_E0131, s.name, "is an entry and cannot be called");
    bool variadic = s.nparams && c->m->vars[s.params[s.nparams - 1]].unsized;
    if (i->nrets != s.nrets)
        return diag(c->d, i->loc, DIAG_E0127, s.name, s.nrets, "results", (unsigned)i->nrets);
    if (i->nargs != s.nparams && !(variadic && i->nargs + 1u == s.nparams))
        return diag(c->d, i->loc, DIAG_E0127, s.name, s.nparams, "arguments", (unsigned)i->nargs);
    bool ok = true;
    if (!i->callee && (ptx_type_bytes(reg_type(c, i->operands[0].reg)) != 8 ||
                       ptx_type_class(reg_type(c, i->operands[0].reg)) == TC_FLOAT))
        ok = diag(c->d, i->operands[0].loc, DIAG_E0104, 1u, "call", "u64", reg_name(c, i->operands[0].reg),
                  ptx_type_name(reg_type(c, i->operands[0].reg)));
    for (unsigned k = 0; k < i->nrets; k++)
        ok &= check_call_operand(c, &c->m->vars[s.rets[k]], true, k + 1, s.name, &i->rets[k]);
    for (unsigned k = 0; k < i->nargs; k++)
        ok &= check_call_operand(c, &c->m->vars[s.params[k]], false, k + 1, s.name, &i->args[k]);
    return ok;
}

/* module */

static bool check_insn(Check *c, PtxInsn *i) {
    bool ok = true;
    if (i->guard_reg && reg_type(c, i->guard_reg) != TY_PRED)
        ok = diag(c->d, i->loc, DIAG_E0134, reg_name(c, i->guard_reg),
                  ptx_type_name(reg_type(c, i->guard_reg)));
    if (i->op == PTX_CALL)
        return check_call(c, i) && ok;
    return check_operands(c, i) && check_rules(c, i) && ok;
}

bool ptx_check(PtxModule *m, Diags *d) {
    Check c = {.m = m, .d = d};
    const Source *outer = d->source;
    uint32_t before = d->nerrors;
    bool ok = true;
    d->source = &m->source;
    c.specs = ARENA_ARRAY(&c.tmp, OperandSpecs *, form_count());
    for (uint32_t k = 0; k < m->nfuncs; k++) {
        c.f = &m->funcs[k];
        for (uint32_t n = 0; n < c.f->ninsns && d->nerrors - before < DIAG_MAX_ERRORS; n++)
            ok &= check_insn(&c, &c.f->insns[n]);
    }
    arena_free(&c.tmp);
    d->source = outer;
    return ok;
}
