/* Semantic checks of a parsed module: every operand against the opcode's form (ptx_forms.def), operand
 * types by PTX ISA 9.4, address spaces, calls. Constants are converted to the instruction's type here:
 * integers sign- or zero-extended to 64 bits, IMM_F32 bits for .f32, IMM_F64 bits for .f64; there are no
 * floating-point constants of half precision. Rules of single opcodes are in check_rules.c.
 * SPDX-License-Identifier: MIT */
#include "frontend/check.h"
#include "frontend/param_layout.h"
#include "frontend/texture.h"
#include "frontend/sregs.h"
#include <stdio.h>
#include <string.h>

const char *ptx_insn_text(const Check *check, const PtxInsn *i) {
    const char *parts[2] = {ptx_op_name((PtxOp)i->op), str_text(&check->m->strings, i->mods_text)};
    char *text = ((Check *)check)->name;
    size_t n = 0; /* of each instruction: snprintf takes ten times as long */
    for (unsigned k = 0; k < 2; k++)
        for (const char *p = parts[k]; *p && n + 1 < sizeof check->name; p++)
            text[n++] = *p;
    text[n] = 0;
    return text;
}

static const char *reg_name(const Check *check, uint32_t reg) {
    return str_text(&check->m->strings, check->f->regs[reg].name);
}
static PtxType reg_type(const Check *check, uint32_t reg) { return check->f->regs[reg].type; }

/* types */

PtxType ptx_twice_as_wide(PtxType t) {
    switch (t) {
    case TY_U16: return TY_U32;
    case TY_S16: return TY_S32;
    case TY_U32: return TY_U64;
    case TY_S32: return TY_S64;
    default: return t;
    }
}

static PtxType spec_type(const PtxInsn *i, const OperandSpec *spec) {
    if (spec->type_index == 5)
        return ptx_twice_as_wide((PtxType)i->type[0]);
    return spec->type_index ? (PtxType)i->type[spec->type_index - 1] : (PtxType)spec->type;
}

/* May a register of type `reg` stand where the instruction says `t`? Bits agree with everything of their
 * size, signed and unsigned with each other; floating-point types only with themselves. */
bool ptx_types_agree(PtxType t, PtxType reg, bool relaxed) {
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

static bool imm_error(const Check *check, const PtxInsn *i, unsigned n, PtxType t,
                      const PtxOperand *operand) {
    const char *kind = operand->imm_kind == IMM_INT ? "an integer" : "a floating-point";
    return diag(check->d, operand->loc, DIAG_E0130, n, ptx_insn_text(check, i), ptx_type_name(t), kind);
}

static void fit_integer(const Check *check, PtxType t, PtxOperand *operand) {
    unsigned bits = ptx_type_bytes(t) * 8;
    if (!bits || bits >= 64)
        return;
    int64_t v = operand->imm, lowest = -((int64_t)1 << (bits - 1)), above = (int64_t)1 << bits;
    uint64_t low = (uint64_t)v & (uint64_t)(above - 1);
    bool negative = ptx_type_class(t) == TC_SIGNED && low >> (bits - 1);
    operand->imm = (int64_t)(negative ? low | ~(uint64_t)(above - 1) : low);
    if (v < lowest || v >= above)
        diag(check->d, operand->loc, DIAG_W0140, (long long)v, ptx_type_name(t), (long long)operand->imm);
}

/* Convert the constant to type `t`; false if its kind does not fit. */
static bool convert_imm(const Check *c, PtxType t, PtxOperand *operand) {
    ConstVal v = {.kind = operand->imm_kind, .bits = (uint64_t)operand->imm};
    PtxTypeClass tc = ptx_type_class(t);
    if (t == TY_PRED) {
        operand->imm = operand->imm != 0;
        return operand->imm_kind == IMM_INT;
    }
    if (operand->imm_kind == IMM_INT) {
        bool packed = t == TY_U16X2 || t == TY_S16X2; /* ptxas 13 wants registers */
        if (tc == TC_FLOAT || tc == TC_NONE || packed)
            return false;
        fit_integer(c, t, operand);
        return true;
    }
    if (t == TY_F32) {
        operand->imm = (int64_t)parse_f32_bits(&v);
        operand->imm_kind = IMM_F32;
        return true;
    }
    if (t == TY_F64) {
        operand->imm = (int64_t)parse_f64_bits(&v);
        operand->imm_kind = IMM_F64;
        return true;
    }
    return (t == TY_B32 && operand->imm_kind == IMM_F32) || (t == TY_B64 && operand->imm_kind == IMM_F64);
}

/* operands */

static bool wrong_kind(const Check *check, const PtxInsn *i, unsigned n, const PtxOperand *operand,
                       const char *what) {
    static const char *const kinds[] = {
        [PO_REG] = "register", [PO_IMM] = "constant", [PO_SREG] = "special", [PO_SYM] = "variable",
        [PO_ADDR] = "address", [PO_VEC] = "vector",   [PO_LABEL] = "label",  [PO_SINK] = "'_'"};
    const char *kind = kinds[operand->kind];
    char text[160] = "";
    if (kind && operand->kind != PO_SREG && !strstr(what, kind)) /* else `what` says it already */
        snprintf(text, sizeof text, ", not %s%s",
                 operand->kind == PO_SINK   ? ""
                 : operand->kind == PO_ADDR ? "an "
                                            : "a ",
                 kind);
    return diag(check->d, operand->loc, DIAG_E0109, n, ptx_insn_text(check, i), what, text);
}

static bool check_reg(const Check *check, const PtxInsn *i, unsigned n, PtxType t, const OperandSpec *spec,
                      const PtxOperand *operand) {
    PtxType have = reg_type(check, operand->reg);
    if (spec->is_exact ? t == have : ptx_types_agree(t, have, spec->is_relaxed))
        return true;
    return diag(check->d, operand->loc, DIAG_E0104, n, ptx_insn_text(check, i), ptx_type_name(t),
                reg_name(check, operand->reg), ptx_type_name(have));
}

static bool plain(const OperandSpec *spec, const PtxOperand *operand) {
    return (!operand->neg || spec->has_minus) && !operand->not_ && (!operand->selector || spec->has_selector);
}

static bool check_dst(const Check *c, const PtxInsn *i, unsigned n, const OperandSpec *spec, PtxType t,
                      const PtxOperand *operand) {
    bool predicate = spec->kind == 'P' || spec->kind == 'Q';
    if (operand->kind == PO_SINK && (spec->kind == 'D' || spec->kind == 'Q'))
        return true;
    if (operand->kind != PO_REG || !plain(spec, operand))
        return wrong_kind(c, i, n, operand,
                          operand->kind == PO_SREG ? "a register, not a special one"
                          : predicate              ? "a predicate register"
                                                   : "a register");
    return check_reg(c, i, n, predicate ? TY_PRED : t, spec, operand);
}

static bool check_sreg(const Check *check, const PtxInsn *i, unsigned n, PtxType t,
                       const PtxOperand *operand) {
    const SregRow *row = sreg_row_of(operand);
    unsigned bytes = ptx_type_bytes(t), have = ptx_type_bytes(row->type);
    bool narrow = row->was_bytes && bytes >= row->was_bytes && bytes <= 4;
    bool ok = ptx_types_agree(t, row->type, false) ||
              (ptx_type_class(t) != TC_FLOAT && (narrow || (i->op == PTX_CVT && bytes < have)));
    char name[64] = "%";
    sreg_text(operand, name + 1, sizeof name - 1);
    return ok || diag(check->d, operand->loc, DIAG_E0104, n, ptx_insn_text(check, i), ptx_type_name(t), name,
                      ptx_type_name(row->type));
}

/* A variable's or function's address as a value. A distance behind the name hides from ptxas 13.0 that 32
 * bits do not hold a global address. */
static bool check_symbol(const Check *c, const PtxInsn *i, unsigned n, PtxType t, const PtxOperand *o) {
    PtxTypeClass tc = ptx_type_class(t);
    unsigned bytes = ptx_type_bytes(t);
    const PtxVar *var = o->sym & PTX_SYM_FUNC ? NULL : &c->m->vars[o->sym - 1];
    if (var && (ptx_is_texture(var) || ptx_is_behind(var)) && t != TY_U64)
        return wrong_kind(c, i, n, o, "of type .u64 to hold a texture's, sampler's or surface's handle");
    if (tc != TC_FLOAT && (bytes == 8 || bytes == 4))
        return true;
    return wrong_kind(c, i, n, o, "of 32 or 64 bits and not floating-point to hold an address");
}

static bool check_src(const Check *c, const PtxInsn *i, unsigned n, const OperandSpec *spec, PtxType t,
                      PtxOperand *operand) {
    switch (operand->kind) {
    case PO_REG:
        if (!plain(spec, operand))
            return wrong_kind(c, i, n, operand,
                              operand->neg    ? "without '-'"
                              : operand->not_ ? "without '!'"
                                              : "without selector");
        return check_reg(c, i, n, t, spec, operand);
    case PO_IMM:
        if (spec->kind == 'r' && !(operand->in_braces && ptx_type_class(t) != TC_BITS))
            return wrong_kind(c, i, n, operand, "a register");
        return convert_imm(c, t, operand) || imm_error(c, i, n, t, operand);
    case PO_SREG:
        if (spec->kind == 'm' || spec->kind == 'v')
            return check_sreg(c, i, n, t, operand);
        return wrong_kind(c, i, n, operand,
                          "no special register; only mov and cvt between integers read those");
    case PO_SYM:
        if (spec->kind != 'm')
            return wrong_kind(c, i, n, operand, "a register or constant; mov takes addresses");
        if (operand->reg) { /* array[%r1] */
            operand->kind = PO_REG;
            operand->sym = operand->component = 0;
        }
        return operand->kind == PO_SYM ? check_symbol(c, i, n, t, operand)
                                       : check_reg(c, i, n, t, spec, operand);
    default: return wrong_kind(c, i, n, operand, spec->kind == 'r' ? "a register" : "a register or constant");
    }
}

bool ptx_wrong_kind(const Check *check, const PtxInsn *i, unsigned n, const PtxOperand *operand,
                    const char *what) {
    return wrong_kind(check, i, n, operand, what);
}
bool ptx_check_value(const Check *check, const PtxInsn *i, unsigned n, PtxType t, PtxOperand *operand) {
    return check_src(check, i, n, &(OperandSpec){.kind = 's'}, t, operand);
}

static bool check_predicate(const Check *c, const PtxInsn *i, unsigned n, PtxOperand *operand) {
    if (operand->kind == PO_IMM)
        return convert_imm(c, TY_PRED, operand) || imm_error(c, i, n, TY_PRED, operand);
    if (operand->kind == PO_SREG && i->op == PTX_MOV)
        return check_sreg(c, i, n, TY_PRED, operand);
    if (operand->kind != PO_REG || operand->neg || operand->selector)
        return wrong_kind(c, i, n, operand, "a predicate");
    return check_reg(c, i, n, TY_PRED, &(OperandSpec){0}, operand);
}

/* mov.b64 {a, b}, d and mov.b64 d, {a, b}: the elements share the type's bits evenly. */
static bool check_pack(const Check *check, PtxInsn *i, unsigned n, PtxType t, PtxOperand *operand) {
    static const PtxType of_bytes[] = {[1] = TY_B8, [2] = TY_B16, [4] = TY_B32, [8] = TY_B64};
    unsigned bytes = ptx_type_bytes(t);
    if (ptx_type_class(t) != TC_BITS || bytes < 2)
        return wrong_kind(check, i, n, operand, "no vector, unless the type is .b16, .b32, .b64 or .b128");
    if ((operand->nvec != 2 && operand->nvec != 4) || bytes / operand->nvec < 1)
        return diag(check->d, operand->loc, DIAG_E0129, n, ptx_insn_text(check, i), bytes == 2 ? 2u : 4u,
                    (unsigned)operand->nvec);
    OperandSpec s = {.kind = n == 1 ? 'D' : 's'};
    for (unsigned k = 0; k < operand->nvec; k++)
        if (!(n == 1 ? check_dst(check, i, n, &s, of_bytes[bytes / operand->nvec], &operand->vec[k])
                     : check_src(check, i, n, &s, of_bytes[bytes / operand->nvec], &operand->vec[k])))
            return false;
    return true;
}

/* Where registers may be wider than what is accessed, all of one vector are as wide. */
static bool are_as_wide(const Check *check, const PtxOperand *vector) {
    const PtxOperand *first = NULL;
    for (unsigned k = 0; k < vector->nvec; k++) {
        const PtxOperand *element = &vector->vec[k];
        if (element->kind != PO_REG)
            continue;
        first = first ? first : element;
        PtxType one = reg_type(check, first->reg), other = reg_type(check, element->reg);
        if (ptx_type_bytes(one) != ptx_type_bytes(other))
            return diag(check->d, element->loc, DIAG_E0152, reg_name(check, first->reg), ptx_type_name(one),
                        reg_name(check, element->reg), ptx_type_name(other));
    }
    return true;
}

/* Of registers, as ptxas 13.0: constants among them, or alone where elements have a number's type. */
static bool may_hold_constants(PtxType t, const PtxOperand *vector) {
    bool any = ptx_type_class(t) != TC_BITS;
    for (unsigned k = 0; k < vector->nvec; k++)
        any |= vector->vec[k].kind == PO_REG;
    return any;
}

static bool check_vector(const Check *check, PtxInsn *i, unsigned n, const OperandSpec *spec, PtxType t,
                         PtxOperand *operand) {
    OperandSpec each = *spec;
    unsigned size = spec->nvec ? spec->nvec : i->vec;
    if (spec->is_tile) /* two elements of f16 in a register */
        size = i->shape[1] / (i->type[0] == TY_F16 ? 4u : 2u);
    if (operand->kind != PO_VEC)
        return wrong_kind(check, i, n, operand, "a vector");
    if (operand->nvec != size)
        return diag(check->d, operand->loc, DIAG_E0129, n, ptx_insn_text(check, i), size,
                    (unsigned)operand->nvec);
    each.kind = spec->kind == 'd'                                     ? 'D'
                : spec->kind == 'r' && may_hold_constants(t, operand) ? 's'
                                                                      : spec->kind;
    for (unsigned k = 0; k < operand->nvec; k++)
        if (!(each.kind == 'D' ? check_dst(check, i, n, &each, t, &operand->vec[k])
                               : check_src(check, i, n, &each, t, &operand->vec[k])))
            return false;
    return are_as_wide(check, operand);
}

/* addresses */

static const char *space_name(unsigned space) {
    static const char *const names[SP_COUNT] = {
        "generic", "reg",    "sreg", "const",           "global",      "local",
        "param",   "shared", "tex",  "shared::cluster", "param::func", "param::entry"};
    return space < SP_COUNT ? names[space] : "?";
}

static bool same_space(unsigned insn, unsigned var) {
    return insn == var || (insn == SP_SHARED_CLUSTER && var == SP_SHARED) ||
           (insn == SP_PARAM_FUNC && var == SP_PARAM);
}

/* An access without state space that names a variable is an access to the variable's space. */
static bool check_address_symbol(const Check *check, PtxInsn *i, unsigned n, uint8_t *space,
                                 const PtxOperand *operand) {
    if (operand->sym & PTX_SYM_FUNC)
        return wrong_kind(check, i, n, operand, "the address of a variable, not of a function");
    const PtxVar *var = &check->m->vars[operand->sym - 1];
    const char *name = str_text(&check->m->strings, var->name);
    if (ptx_is_texture(var))
        return wrong_kind(check, i, n, operand, "the address of memory, not a texture, sampler or surface");
    if (*space == SP_NONE && var->space != SP_PARAM && var->space != SP_TEX && var->space != SP_CONST)
        *space = (uint8_t)var->space;
    if (!same_space(*space, var->space))
        return diag(check->d, operand->loc, DIAG_E0133, name, space_name(var->space), ptx_insn_text(check, i),
                    space_name(*space));
    bool kernel_param = var->space == SP_PARAM && var->func && check->m->funcs[var->func - 1].is_entry;
    for (uint32_t k = 0; kernel_param && i->op == PTX_ST && k < check->f->nparams; k++)
        if (check->f->params[k] == operand->sym - 1)
            return diag(check->d, operand->loc, DIAG_E0126, "a store to a kernel parameter", "here");
    return true;
}

static bool check_address(const Check *check, PtxInsn *i, unsigned n, uint8_t *space, bool elements,
                          PtxOperand *operand) {
    if (operand->kind == PO_SYM && operand->component && elements) { /* array[2], array[%r1] */
        operand->kind = PO_ADDR;
        operand->component = 0;
        if (operand->reg && !check_address_symbol(check, i, n, space, operand))
            return false;
        if (operand->reg) { /* the element's address within its space */
            *space = (uint8_t)(*space == SP_NONE ? check->m->vars[operand->sym - 1].space : *space);
            operand->sym = 0;
        }
    }
    if (operand->kind != PO_ADDR || operand->nvec)
        return wrong_kind(check, i, n, operand, "an address");
    if (operand->sym)
        return check_address_symbol(check, i, n, space, operand);
    if (!operand->reg)
        return true;
    PtxType t = reg_type(check, operand->reg);
    PtxTypeClass tc = ptx_type_class(t);
    unsigned bytes = ptx_type_bytes(t);
    if (tc == TC_FLOAT || tc == TC_PRED || !bytes || bytes > 8) /* narrow ones are extended, as ptxas does */
        return diag(check->d, operand->loc, DIAG_E0138, reg_name(check, operand->reg), ptx_type_name(t));
    bool says_size =
        check->m->version_major > 2 || (check->m->version_major == 2 && check->m->version_minor >= 3);
    if (bytes == 4 && says_size && (*space == SP_NONE || *space == SP_GLOBAL))
        diag(check->d, operand->loc, DIAG_W0153, reg_name(check, operand->reg), ptx_type_name(t));
    return true;
}

/* [map, {x, y}]: as many coordinates as the statement has dimensions */
static bool check_tensor(const Check *check, PtxInsn *i, unsigned n, PtxOperand *operand) {
    static const OperandSpec each = {.kind = 's'};
    bool placed = operand->kind == PO_ADDR && operand->nvec == 1 && operand->vec[0].kind == PO_VEC;
    if (!placed || (operand->reg && operand->imm))
        return wrong_kind(check, i, n, operand, "a tensor map with coordinates");
    PtxOperand *at = &operand->vec[0], map = *operand;
    uint8_t space = SP_NONE;
    if (at->nvec != i->vec)
        return diag(check->d, at->loc, DIAG_E0129, n, ptx_insn_text(check, i), (unsigned)i->vec,
                    (unsigned)at->nvec);
    for (unsigned k = 0; k < at->nvec; k++)
        if (!check_src(check, i, n, &each, TY_S32, &at->vec[k]))
            return false;
    map.nvec = 0;
    return check_address(check, i, n, &space, false, &map);
}

/* As in ptxas, `.unified` stands behind addresses in global memory, and behind no variable that is not. */
static bool check_unified(const Check *check, const PtxInsn *i, const OperandSpec *spec,
                          const PtxOperand *operand) {
    if (!(i->flags & PF_UNIFIED))
        return true;
    bool legal = strchr("UE", spec->kind) && (i->space == SP_NONE || i->space == SP_GLOBAL);
    if (legal && (!operand->sym || check->m->vars[operand->sym - 1].unified))
        return true;
    return diag(check->d, operand->loc, DIAG_E0131, ptx_insn_text(check, i),
                legal ? "names a variable without .attribute(.unified)" : "has no .unified addresses");
}

/* Fragments of one register are vectors, too. */
static bool is_vector_of_one(const Check *check, const PtxInsn *i, const OperandSpec *spec) {
    bool says_so = spec->is_vector && strstr(str_text(&check->m->strings, i->mods_text), ".x1");
    return spec->nvec == 1 || (says_so && i->vec == 1);
}

static bool check_operand(const Check *c, PtxInsn *i, unsigned n, const OperandSpec *spec,
                          PtxOperand *operand) {
    PtxType t = spec_type(i, spec);
    if (spec->type == TY_B64 && operand->kind == PO_IMM &&
        operand->imm_kind != IMM_INT) /* a policy, a word */
        return imm_error(c, i, n, t, operand);
    bool of_one = is_vector_of_one(c, i, spec);
    if (operand->kind != PO_VEC && of_one && !operand->in_braces)
        return wrong_kind(c, i, n, operand, "a vector");
    bool packs = i->op == PTX_MOV && ptx_type_class(t) == TC_BITS && !(n > 1 && i->operands[0].in_braces);
    bool takes_one = (spec->is_vector && i->vec == 1) || spec->nvec == 1 || packs;
    if (takes_one && operand->kind == PO_VEC && operand->nvec == 1 && operand->vec[0].kind != PO_SINK) {
        PtxOperand element = operand->vec[0]; /* `{ %r1 }`, as ptxas takes it */
        element.in_braces = of_one || packs;
        *operand = element;
    }
    if (spec->nvec > 1 || spec->is_tile || (spec->is_vector && i->vec > 1))
        return check_vector(c, i, n, spec, t, operand);
    if (i->op == PTX_MOV && operand->kind == PO_VEC && t != TY_PRED)
        return check_pack(c, i, n, t, operand);
    switch (spec->kind) {
    case 'd':
    case 'D':
    case 'P':
    case 'Q': return check_dst(c, i, n, spec, t, operand);
    case 's':
    case 'r':
    case 'v':
    case 'm': return check_src(c, i, n, spec, t, operand);
    case 'p': return check_predicate(c, i, n, operand);
    case 'X':
    case 'Y': return ptx_check_texture(c, i, n, spec->kind == 'Y', t, operand);
    case 'O': return ptx_check_steps(c, i, n, t, operand);
    case 'Z': return check_tensor(c, i, n, operand);
    case 'i':
        if (operand->kind != PO_IMM || operand->imm_kind != IMM_INT)
            return wrong_kind(c, i, n, operand, "an integer constant");
        return convert_imm(c, t, operand);
    case 'A':
    case 'U':
    case 'e':
    case 'E':
        return check_address(c, i, n,
                             n == 2 && (i->op == PTX_CP || i->op == PTX_TENSORMAP) ? &i->space2 : &i->space,
                             strchr("eE", spec->kind) != NULL, operand) &&
               check_unified(c, i, spec, operand);
    default: return operand->kind == PO_LABEL || wrong_kind(c, i, n, operand, "a label");
    }
}

/* instructions */

static const OperandSpecs *specs_of(Check *check, unsigned form) {
    if (!check->specs[form]) {
        check->specs[form] = ARENA_NEW(&check->tmp, OperandSpecs);
        form_operands(form, check->specs[form]);
    }
    return check->specs[form];
}

static unsigned npiped(const OperandSpecs *specs) {
    unsigned n = 0;
    for (unsigned k = 0; k < specs->n; k++)
        n += specs->at[k].is_piped;
    return n;
}

/* How many operands; a cache policy, last and optional in the pattern, goes with .L2::cache_hint. */
static void count_range(const OperandSpecs *specs, const PtxInsn *i, unsigned *least, unsigned *most) {
    bool policy = specs->n && specs->at[specs->n - 1].is_optional && specs->at[specs->n - 1].type == TY_B64;
    bool hint = i->flags & PF_CACHE_HINT;
    *least = specs->nrequired + (policy && hint ? 1u : 0u);
    *most = specs->n - npiped(specs) - (policy && !hint ? 1u : 0u);
}

static bool count_fits(const OperandSpecs *specs, const PtxInsn *i) {
    unsigned second = i->ndst == 2, n = i->noperands - second, least, most;
    count_range(specs, i, &least, &most);
    return specs->is_open || (n >= least && n <= most && second <= npiped(specs));
}

/* wgmma: A is a vector of registers or a descriptor. cp.async: a register is a size or a predicate. */
static bool kinds_fit(const Check *check, const OperandSpecs *specs, const PtxInsn *i) {
    for (unsigned k = 0; k < specs->n && k < i->noperands; k++) {
        const PtxOperand *operand = &i->operands[k];
        char kind = specs->at[k].kind;
        if (i->op == PTX_WGMMA && kind == 'r' && (specs->at[k].nvec > 1) != (operand->kind == PO_VEC))
            return false;
        if (i->op == PTX_CP && operand->kind == PO_REG &&
            (kind == 'p') != (reg_type(check, operand->reg) == TY_PRED))
            return false;
    }
    return true;
}

/* Forms that differ only in their number of operands, or in what they are: the one that fits. */
static const OperandSpecs *choose_form(Check *check, PtxInsn *i) {
    unsigned chosen = 0;
    for (unsigned form = i->form; form; form = form_next(form, str_text(&check->m->strings, i->mods_text))) {
        const OperandSpecs *specs = specs_of(check, form);
        bool fits = count_fits(specs, i), wholly = fits && kinds_fit(check, specs, i);
        if (wholly || (fits && !chosen))
            chosen = form;
        if (wholly)
            break;
    }
    if (!chosen)
        return NULL;
    i->form = (uint16_t)chosen;
    return specs_of(check, chosen);
}

static bool count_error(Check *check, const PtxInsn *i) {
    const OperandSpecs *s = specs_of(check, i->form);
    char text[48];
    unsigned least, most;
    count_range(s, i, &least, &most);
    if (i->ndst == 2 && !npiped(s))
        return diag(check->d, i->operands[1].loc, DIAG_E0131, ptx_insn_text(check, i),
                    "has no second destination behind '|'");
    snprintf(text, sizeof text, most == least ? "%u" : "%u to %u", least, most);
    return diag(check->d, i->loc, DIAG_E0108, ptx_insn_text(check, i), text,
                (unsigned)i->noperands - (i->ndst == 2));
}

/* The register at fault, which the diagnostics name. */
static const char *register_of(const Check *c, const PtxOperand *operand) {
    const char *name = ptx_register_in(c->m, c->f, operand);
    return name ? name : c->d->place.reg;
}

static bool check_operands(Check *c, PtxInsn *i) {
    const OperandSpecs *specs = choose_form(c, i);
    if (!specs)
        return count_error(c, i);
    c->d->place.section = form_section(i->form);
    if (i->space == SP_PARAM_ENTRY && c->f->is_entry) /* a function has parameters of its own */
        i->space = SP_PARAM;
    if (specs->is_open)
        return true;
    unsigned n = 0;
    bool ok = true;
    for (unsigned k = 0; k < specs->n && n < i->noperands; k++) {
        if (specs->at[k].is_piped && i->ndst < 2)
            continue;
        DiagPlace whole = c->d->place;
        c->d->place.reg = register_of(c, &i->operands[n]);
        ok &= check_operand(c, i, n + 1, &specs->at[k], &i->operands[n]);
        c->d->place = whole;
        n++;
    }
    return ok;
}

/* calls */

/* What of the call and of the function do not go together. */
typedef struct {
    const PtxVar *var; /* the function's */
    const char *callee;
    unsigned n; /* from 1 */
    bool ret;
} Passed;

static bool call_error(const Check *check, const PtxOperand *operand, const Passed *passed, const char *why) {
    return diag(check->d, operand->loc, DIAG_E0128, passed->ret ? "result" : "argument", passed->n,
                passed->callee, str_text(&check->m->strings, passed->var->name), why);
}

/* ", aligned to 8, not 4"; nothing where both are aligned alike. */
static const char *alignment(char out[48], uint32_t is, uint32_t wanted) {
    out[0] = 0;
    if (is != wanted)
        snprintf(out, 48, ", aligned to %u, not %u", (unsigned)is, (unsigned)wanted);
    return out;
}

/* May a variable stand for the parameter, both of one size? Elements of arrays may differ in theirs if those
 * of one are bits. As ptxas 13.0 has it. */
static bool is_of_type(const PtxVar *var, const PtxVar *parameter) {
    PtxType t = (PtxType)parameter->type, have = (PtxType)var->type;
    if (var->is_array != parameter->is_array)
        return false;
    if (ptx_type_bytes(t) == ptx_type_bytes(have))
        return ptx_types_agree(t, have, false);
    return ptx_type_class(t) == TC_BITS || ptx_type_class(have) == TC_BITS;
}

static bool check_call_operand(const Check *check, const Passed *passed, PtxOperand *operand) {
    const PtxVar *ptx_var = passed->var;
    bool ret = passed->ret;
    char why[160], aligned[48];
    if ((operand->kind == PO_REG ? operand->component : 0) != ptx_var->component)
        return call_error(check, operand, passed, "a vector register goes with one of that size");
    switch (operand->kind) {
    case PO_SYM: {
        const PtxVar *var = operand->sym & PTX_SYM_FUNC ? NULL : &check->m->vars[operand->sym - 1];
        if (!var || var->space != SP_PARAM || operand->imm)
            return call_error(check, operand, passed, "a variable must be in .param");
        if (ptx_var->unsized)
            return true;
        alignment(aligned, var->align_bytes, ptx_var->align_bytes);
        if (var->size_bytes != ptx_var->size_bytes)
            snprintf(why, sizeof why, "it has %llu bytes, the parameter has %llu%s",
                     (unsigned long long)var->size_bytes, (unsigned long long)ptx_var->size_bytes, aligned);
        else if (!is_of_type(var, ptx_var))
            snprintf(why, sizeof why, "it is .%s%s, the parameter is .%s%s%s", ptx_type_name(var->type),
                     var->is_array ? " array" : "", ptx_type_name(ptx_var->type),
                     ptx_var->is_array ? " array" : "", aligned);
        else if (*aligned)
            snprintf(why, sizeof why, "it is%s", aligned + 1);
        else
            return true;
        return call_error(check, operand, passed, why);
    }
    case PO_REG:
        if (!ptx_var->is_array && plain(&(OperandSpec){0}, operand) &&
            ptx_types_agree(ptx_var->type, reg_type(check, operand->reg), false))
            return true;
        snprintf(why, sizeof why, "%.60s is .%s, the parameter is .%s%s%s", reg_name(check, operand->reg),
                 ptx_type_name(reg_type(check, operand->reg)), ptx_type_name(ptx_var->type),
                 ptx_var->is_array ? " array" : "",
                 alignment(aligned, ptx_type_bytes(reg_type(check, operand->reg)), ptx_var->align_bytes));
        return call_error(check, operand, passed, why);
    case PO_IMM:
        if (!ret && !ptx_var->is_array && convert_imm(check, ptx_var->type, operand))
            return true;
        return call_error(check, operand, passed, "a constant does not fit here");
    case PO_SINK:
        if (ret)
            return true;
        break;
    default: break;
    }
    return call_error(check, operand, passed, "it is neither a .param variable nor a register");
}

/* Of a vector register one element is reported. */
static bool check_call_list(const Check *check, const uint32_t *vars, bool ret, const char *callee,
                            PtxOperand *operands, unsigned n) {
    bool ok = true, last = true;
    for (unsigned k = 0; k < n; k++) {
        const PtxVar *var = &check->m->vars[vars[k]];
        if (!last && var->component)
            continue;
        last = check_call_operand(check, &(Passed){var, callee, k + 1, ret}, &operands[k]);
        ok &= last;
    }
    return ok;
}

typedef struct {
    const char *name;
    const uint32_t *rets, *params;
    uint32_t nrets, nparams;
} Signature;

static bool signature_of(const Check *check, const PtxInsn *i, Signature *s) {
    const PtxFunc *f = NULL;
    if (i->callee) {
        f = &check->m->funcs[i->callee - 1];
    } else {
        const PtxCallTable *ptx_call_table = &check->f->call_tables[i->table - 1];
        if (ptx_call_table->n)
            f = &check->m->funcs[ptx_call_table->funcs[0]];
        *s = (Signature){str_text(&check->m->strings, ptx_call_table->name), ptx_call_table->rets,
                         ptx_call_table->params, ptx_call_table->nrets, ptx_call_table->nparams};
    }
    if (f)
        *s = (Signature){str_text(&check->m->strings, f->name), f->rets, f->params, f->nrets, f->nparams};
    return !f || !f->is_entry;
}

static bool check_call(Check *check, PtxInsn *i) {
    Signature s = {0};
    if (!i->callee && !i->table)
        return true; /* its prototype was not found: reported */
    if (!signature_of(check, i, &s))
        return diag(check->d, i->loc, DIAG_E0131, s.name, "is an entry and cannot be called");
    bool variadic = s.nparams && check->m->vars[s.params[s.nparams - 1]].unsized;
    if (i->nrets != s.nrets)
        return diag(check->d, i->loc, DIAG_E0127, s.name, s.nrets, "results", (unsigned)i->nrets);
    if (i->nargs != s.nparams && !(variadic && i->nargs + 1u == s.nparams))
        return diag(check->d, i->loc, DIAG_E0127, s.name, s.nparams, "arguments", (unsigned)i->nargs);
    bool ok = true;
    if (!i->callee && (ptx_type_bytes(reg_type(check, i->operands[0].reg)) != 8 ||
                       ptx_type_class(reg_type(check, i->operands[0].reg)) == TC_FLOAT))
        ok = diag(check->d, i->operands[0].loc, DIAG_E0104, 1u, "call", "u64",
                  reg_name(check, i->operands[0].reg), ptx_type_name(reg_type(check, i->operands[0].reg)));
    ok &= check_call_list(check, s.rets, true, s.name, i->rets, i->nrets);
    return check_call_list(check, s.params, false, s.name, i->args, i->nargs) && ok;
}

/* module */

static bool check_insn(Check *check, PtxInsn *i) {
    bool ok = true;
    check->d->place = ptx_place(check->m, check->f, i);
    if (i->guard_reg && reg_type(check, i->guard_reg) != TY_PRED)
        ok = diag(check->d, i->loc, DIAG_E0134, reg_name(check, i->guard_reg),
                  ptx_type_name(reg_type(check, i->guard_reg)));
    if (i->op == PTX_CALL)
        return check_call(check, i) && ok;
    return check_operands(check, i) && gate_check_insn(check->m, i, ptx_insn_text(check, i), check->d) &&
           ptx_check_rules(check, i) && ok;
}

static void check_func(Check *check, PtxFunc *f, uint32_t before) {
    check->f = f;
    for (uint32_t n = 0; n < f->ninsns && (check->d->all || check->d->nerrors - before < DIAG_MAX_ERRORS);
         n++)
        check_insn(check, &f->insns[n]);
}

static bool check_funcs(PtxModule *module, PtxFunc *first, uint32_t n, Diags *diags) {
    Check c = {.m = module, .d = diags};
    const Source *outer = diags->source;
    const DiagPlace outer_place = diags->place;
    uint32_t before = diags->nerrors;
    diags->source = &module->source;
    c.specs = ARENA_ARRAY(&c.tmp, OperandSpecs *, form_count());
    for (uint32_t k = 0; k < n; k++)
        check_func(&c, &first[k], before);
    arena_free(&c.tmp);
    diags->source = outer;
    diags->place = outer_place;
    return diags->nerrors == before;
}

bool ptx_check(PtxModule *module, Diags *diags) {
    return check_funcs(module, module->funcs, module->nfuncs, diags);
}

bool ptx_check_func(PtxModule *module, PtxFunc *func, Diags *diags) {
    return check_funcs(module, func, 1, diags);
}
