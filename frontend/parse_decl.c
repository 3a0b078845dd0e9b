/* Declarations of registers and variables (PTX ISA 5.1 to 5.4).
 * SPDX-License-Identifier: MIT */
#include "frontend/parse.h"
#include "frontend/texture.h"
#include <string.h>

bool parse_type(Parser *parser, PtxType *out) {
    *out = at(parser, TK_DIR) ? ptx_type_by_name(parser->lx.text + parser->tok.at + 1, parser->tok.size - 1)
                              : TY_NONE;
    if (*out == TY_NONE)
        return parse_expected(parser, "a type");
    Token type = parser->tok;
    next(parser);
    return !gate_directive(parser->lx.text + type.at, type.size) ||
           parse_directive_met(parser, arena_printf(&parser->tmp, ".%s", ptx_type_name(*out)),
                               tok_loc(&type));
}

static bool parse_vec(Parser *p, unsigned *vec) {
    *vec = parse_accept_dir(p, ".v2")   ? 2
           : parse_accept_dir(p, ".v4") ? 4
           : parse_accept_dir(p, ".v8") ? 8
                                        : 1;
    return *vec > 1;
}

/* Vectors are at most 128 bits wide and of ordinary elements. */
static bool check_vector(Parser *parser, PtxType type, unsigned vec, SrcLoc loc) {
    unsigned bytes = ptx_type_bytes(type);
    if (vec == 1)
        return true;
    if (!bytes || vec > 4)
        return diag(parser->d, loc, DIAG_E0132, vec, ptx_type_name(type),
                    "a vector has 2 or 4 elements that have a size");
    if (bytes * vec > 16)
        return diag(parser->d, loc, DIAG_E0132, vec, ptx_type_name(type), "it has more than 128 bits");
    return true;
}

/* registers */

/* Other types are those of instructions. */
static bool has_declarations(PtxType t) {
    switch (ptx_type_class(t)) {
    case TC_BITS:
    case TC_SIGNED:
    case TC_UNSIGNED: return t != TY_U16X2 && t != TY_S16X2 && ptx_type_bytes(t);
    case TC_FLOAT: return t == TY_F16 || t == TY_F16X2 || t == TY_F32 || t == TY_F64;
    default: return t == TY_PRED;
    }
}

/* Returns the id of the first. */
static uint32_t new_reg(Parser *parser, StrId name, PtxType type, unsigned vec, SrcLoc loc) {
    return vec > 1 ? parse_new_vector_reg(parser, name, type, vec, loc)
                   : parse_new_reg(parser, name, type, loc);
}

static bool declare_reg(Parser *parser, StrId name, unsigned vec, uint32_t id, SrcLoc loc) {
    uint32_t slot = parse_declare(parser, name, vec > 1 ? B_VREG : B_REG, id, loc);
    if (slot)
        parser->binds.at[slot - 1].count = (uint8_t)vec;
    return slot != 0;
}

static bool parse_reg_name(Parser *parser, PtxType type, unsigned vec) {
    StrId name = parser->tok.str;
    SrcLoc loc = here(parser);
    if (!parse_expect(parser, TK_IDENT, "a register name"))
        return false;
    if (parse_accept(parser, '<')) { /* a plain number: in an expression `>` would be an operator */
        Token n = parser->tok;
        if (!parse_expect(parser, TK_INT, "a number of registers") || !parse_expect(parser, '>', "'>'"))
            return false;
        if (n.value > UINT32_MAX)
            return diag(parser->d, loc, DIAG_E0121, parse_name_text(parser, name));
        return parse_declare_range(parser, name, type, vec, (uint32_t)n.value, loc);
    }
    if (at(parser, '='))
        return diag(parser->d, loc, DIAG_E0124, "reg");
    return declare_reg(parser, name, vec, new_reg(parser, name, type, vec, loc), loc);
}

static bool refuse_type(Parser *parser, SrcLoc loc, const char *what, PtxType type) {
    return diag(parser->d, loc, DIAG_E0126, what,
                arena_printf(&parser->tmp, "with type .%s", ptx_type_name(type)));
}

static bool parse_reg_type(Parser *parser, PtxType *type, unsigned *vec) {
    SrcLoc loc = here(parser);
    parse_vec(parser, vec);
    if (!parse_type(parser, type))
        return false;
    if (!has_declarations(*type))
        return refuse_type(parser, loc, "a register", *type);
    return check_vector(parser, *type, *vec, loc);
}

bool parse_reg_decl(Parser *p) {
    PtxType type;
    unsigned vec;
    next(p); /* .reg */
    p->d->place.reg = parse_register_ahead(p);
    if (!parse_reg_type(p, &type, &vec))
        return false;
    bool ok = true;
    do
        ok &= parse_reg_name(p, type, vec);
    while (ok && parse_accept(p, ','));
    return ok && parse_expect(p, ';', "',' or ';'");
}

/* initialisers */

typedef VEC(PtxInit) InitVec;
typedef struct {
    Parser *p;
    const PtxVar *v;
    uint64_t dims[MAX_DIMENSIONS + 1], stride[MAX_DIMENSIONS + 1]; /* the vector is the last dimension */
    unsigned ndims;
    unsigned elem_bytes;
    InitVec items;
} InitState;

/* `sym`, `sym + 4`, `generic(sym) + 4`; the closing parenthesis of generic included. */
static bool parse_init_symbol(Parser *parser, PtxInit *init) {
    bool generic =
        str_eq(parser->tok.str, str_intern_z(&parser->m->strings, "generic")) && lex_peek(&parser->lx) == '(';
    if (generic && !parse_directive_met(parser, "generic()", here(parser)))
        return false;
    if (generic)
        next(parser), next(parser);
    Token name = parser->tok;
    if (!parse_expect(parser, TK_IDENT, "a variable or function name"))
        return false;
    const Bind *bind = parse_lookup(parser, name.str);
    if (!bind || (bind->kind != B_VAR && bind->kind != B_FUNC))
        return diag(parser->d, tok_loc(&name), DIAG_E0103, parse_name_text(parser, name.str));
    if (!parse_directive_met(parser,
                             bind->kind == B_VAR ? "the address of a variable" : "the address of a function",
                             tok_loc(&name)))
        return false;
    if (bind->kind == B_VAR) { /* as ptxas: only what the module itself places */
        PtxSpace space = (PtxSpace)parser->vars.at[bind->value - 1].space;
        if (space != SP_GLOBAL && space != SP_CONST)
            return diag(parser->d, tok_loc(&name), DIAG_E0149, parse_name_text(parser, name.str),
                        space == SP_SHARED  ? "shared"
                        : space == SP_LOCAL ? "local"
                                            : "param");
    }
    init->sym = bind->kind == B_VAR ? bind->value : bind->value | PTX_SYM_FUNC;
    init->generic = generic;
    if (generic && !parse_expect(parser, ')', "')'"))
        return false;
    if (at(parser, '+') || at(parser, '-'))
        return parse_const_int(parser, &init->value, "an offset");
    return true;
}

static bool parse_init_mask(InitState *state, PtxInit *init) {
    Parser *parser = state->p;
    uint64_t mask = parser->tok.value;
    SrcLoc loc = here(parser);
    if (!parse_directive_met(parser, "a byte of an address", loc))
        return false;
    while (init->shift < 56 && mask != (uint64_t)0xff << init->shift)
        init->shift = (uint8_t)(init->shift + 8);
    if (mask != (uint64_t)0xff << init->shift)
        return diag(parser->d, loc, DIAG_E0123, ptx_type_name(state->v->type), "a mask that is not one byte");
    if (state->elem_bytes != 1)
        return diag(parser->d, loc, DIAG_E0123, ptx_type_name(state->v->type), "one byte of an address");
    next(parser), next(parser);
    return parse_init_symbol(parser, init) && parse_expect(parser, ')', "')'");
}

static bool store_constant(InitState *state, const ConstVal *val, SrcLoc loc, PtxInit *init) {
    PtxType t = state->v->type;
    PtxTypeClass cls = ptx_type_class(t);
    if (val->kind == IMM_INT && cls != TC_FLOAT) {
        unsigned bits = state->elem_bytes * 8;
        if (!bits) /* an element of matrices: only instructions have the type */
            return diag(state->p->d, loc, DIAG_E0123, ptx_type_name(t), "an integer");
        init->value = (int64_t)val->bits;
        if (bits >= 64)
            return true;
        int64_t stored = (int64_t)(val->bits & (((uint64_t)1 << bits) - 1));
        bool fits = (int64_t)val->bits >= -((int64_t)1 << (bits - 1)) &&
                    (int64_t)val->bits < (int64_t)1 << bits && !(val->is_unsigned && (int64_t)val->bits < 0);
        if (!fits)
            diag(state->p->d, loc, DIAG_W0140, (long long)val->bits, ptx_type_name(t), (long long)stored);
        init->value = stored;
        return true;
    }
    if (val->kind == IMM_INT || t == TY_F16 || t == TY_BF16 || t == TY_F16X2 || t == TY_BF16X2)
        return diag(state->p->d, loc, DIAG_E0123, ptx_type_name(t),
                    val->kind == IMM_INT ? "an integer" : "a floating-point constant");
    if (t == TY_F32 || t == TY_B32) /* bits as of .f32, which ptxas takes */
        init->value = (int64_t)parse_f32_bits(val);
    else if (t == TY_F64 || t == TY_B64)
        init->value = (int64_t)parse_f64_bits(val);
    else
        return diag(state->p->d, loc, DIAG_E0123, ptx_type_name(t), "a floating-point constant");
    return true;
}

static bool parse_init_item(InitState *state, uint64_t element) {
    Parser *parser = state->p;
    SrcLoc loc = here(parser);
    PtxInit init = {.size_bytes = (uint8_t)state->elem_bytes};
    uint64_t offset = element * state->elem_bytes;
    if (offset > UINT32_MAX)
        return diag(parser->d, loc, DIAG_E0121, parse_name_text(parser, state->v->name));
    init.offset_bytes = (uint32_t)offset;
    if (at(parser, TK_IDENT) && !str_eq(parser->tok.str, parser->name_warp_sz)) {
        if (!parse_init_symbol(parser, &init))
            return false;
        if (state->elem_bytes < 4 || ptx_type_class(state->v->type) == TC_FLOAT)
            return diag(parser->d, loc, DIAG_E0123, ptx_type_name(state->v->type), "an address");
    } else if (at(parser, TK_INT) && lex_peek(&parser->lx) == '(') {
        if (!parse_init_mask(state, &init))
            return false;
    } else {
        ConstVal v;
        if (!parse_const(parser, &v) || !store_constant(state, &v, loc, &init))
            return false;
    }
    VEC_ADD(&parser->tmp, &state->items, init);
    return true;
}

/* At the comma behind an item: takes the integers that follow it and fit, up to the last one's comma. */
static void parse_listed(InitState *state, uint64_t base, uint64_t *cur, uint64_t limit) {
    Parser *parser = state->p;
    unsigned bytes = state->elem_bytes;
    uint32_t before = parser->lx.at;
    uint64_t value, most = bytes < 8 ? ((uint64_t)1 << bytes * 8) - 1 : INT64_MAX;
    if (ptx_type_class(state->v->type) == TC_FLOAT || !bytes)
        return;
    while (*cur < limit && (base + *cur) * bytes <= UINT32_MAX && lex_listed(&parser->lx, &value)) {
        if (value > most) {
            parser->lx.at = before;
            return;
        }
        before = parser->lx.at;
        parser->tok.at = before - 1;
        VEC_ADD(&parser->tmp, &state->items,
                ((PtxInit){.offset_bytes = (uint32_t)((base + (*cur)++) * bytes),
                           .size_bytes = (uint8_t)bytes,
                           .value = (int64_t)value}));
    }
}

/* At `{` of dimension `level`, whose first element is number `base`; *used counts the elements passed. */
static bool parse_init_list(InitState *state, unsigned level, uint64_t base, uint64_t *used) {
    Parser *parser = state->p;
    uint64_t cur = 0, stride = state->stride[level];
    uint64_t limit = state->dims[level] ? state->dims[level] * stride : UINT64_MAX;
    SrcLoc loc = here(parser);
    if (level >= state->ndims)
        return diag(parser->d, loc, DIAG_E0122, parse_name_text(parser, state->v->name));
    parser->operand_braces++;
    next(parser);
    while (!at(parser, '}')) {
        if (cur >= limit)
            return diag(parser->d, here(parser), DIAG_E0122, parse_name_text(parser, state->v->name));
        if (at(parser, '{')) {
            uint64_t inner;
            cur = (cur + stride - 1) / stride * stride;
            if (cur >= limit)
                return diag(parser->d, here(parser), DIAG_E0122, parse_name_text(parser, state->v->name));
            if (!parse_init_list(state, level + 1, base + cur, &inner))
                return false;
            cur += stride;
        } else if (!parse_init_item(state, base + cur++)) {
            return false;
        } else if (at(parser, ',')) {
            parse_listed(state, base, &cur, limit);
        }
        if (!at(parser, '}') && !parse_expect(parser, ',', "',' or '}'"))
            return false;
    }
    *used = cur;
    parser->operand_braces--;
    next(parser);
    return true;
}

/* `{ addr_mode_0 = wrap, ... }` of samplers and textures: read and dropped, tex is not compiled. */
static bool skip_opaque_init(Parser *p) {
    if (!parse_expect(p, '{', "'{'"))
        return false;
    while (!at(p, '}') && !at(p, ';') && !at(p, TK_EOF))
        next(p);
    return parse_expect(p, '}', "'}'");
}

static bool parse_initialiser(Parser *parser, PtxVar *var, const uint64_t *dims, unsigned ndims) {
    SrcLoc loc = here(parser);
    next(parser); /* = */
    if (ptx_type_class(var->type) == TC_OPAQUE)
        return skip_opaque_init(parser);
    if (var->space != SP_GLOBAL && var->space != SP_CONST)
        return diag(parser->d, var->loc, DIAG_E0124,
                    var->space == SP_SHARED  ? "shared"
                    : var->space == SP_LOCAL ? "local"
                                             : "param");
    if (var->linkage == LINK_EXTERN)
        return diag(parser->d, var->loc, DIAG_E0126, "an initialiser", "for an external variable");
    InitState s = {.p = parser, .v = var, .ndims = ndims, .elem_bytes = ptx_type_bytes(var->type)};
    memcpy(s.dims, dims, sizeof *dims * ndims);
    if (var->vec > 1)
        s.dims[s.ndims++] = var->vec;
    uint64_t stride = 1, used = 0;
    for (unsigned i = s.ndims; i-- > 0;) {
        s.stride[i] = stride;
        stride *= s.dims[i] ? s.dims[i] : 1;
    }
    if (s.ndims ? !(at(parser, '{') ? parse_init_list(&s, 0, 0, &used) : parse_expected(parser, "'{'"))
                : !parse_init_item(&s, 0))
        return false;
    if (var->unsized) {
        uint64_t n = (used + s.stride[0] - 1) / s.stride[0];
        uint64_t row_bytes = s.stride[0] * s.elem_bytes;
        if (!n || n > UINT32_MAX || (row_bytes && n > UINT32_MAX / row_bytes))
            return diag(parser->d, loc, DIAG_E0121, parse_name_text(parser, var->name));
        var->unsized = false;
        var->nelems = (uint32_t)(n * (s.stride[0] / var->vec));
        var->size_bytes = n * row_bytes;
    }
    var->inits = arena_copy(parser->a, s.items.at, sizeof *s.items.at * s.items.n);
    var->ninits = s.items.n;
    return true;
}

/* variables */

typedef struct { /* what stands before the names */
    PtxSpace space, pointee;
    PtxType type, pointee_type;
    unsigned vec;
    uint32_t align, pointee_align;
    bool is_pointer, managed, unified;
    int64_t uuid[2];
} VarHead;

static bool parse_align(Parser *parser, uint32_t *out) {
    SrcLoc loc = here(parser);
    int64_t n;
    next(parser);
    if (!parse_const_int(parser, &n, "an alignment"))
        return false;
    if (n <= 0 || n > (int64_t)1 << 31 || (n & (n - 1)))
        return diag(parser->d, loc, DIAG_E0120, (unsigned long long)n);
    *out = (uint32_t)n;
    return true;
}

static bool parse_attribute(Parser *p, VarHead *head) {
    next(p);
    if (!parse_expect(p, '(', "'('"))
        return false;
    do {
        if (parse_accept_dir(p, ".managed")) {
            head->managed = true;
        } else if (parse_accept_dir(p, ".unified")) {
            if (!parse_directive_met(p, "attribute .unified", here(p)) || !parse_expect(p, '(', "'('") ||
                !parse_const_int(p, &head->uuid[0], "a number") || !parse_expect(p, ',', "','") ||
                !parse_const_int(p, &head->uuid[1], "a number") || !parse_expect(p, ')', "')'"))
                return false;
            head->unified = true;
        } else {
            return parse_expected(p, "an attribute");
        }
    } while (parse_accept(p, ','));
    return parse_expect(p, ')', "')'");
}

static bool space_of(Parser *p, PtxSpace *out) {
    static const struct {
        const char *name;
        PtxSpace space;
    } spaces[] = {{".global", SP_GLOBAL}, {".shared", SP_SHARED},     {".local", SP_LOCAL},
                  {".const", SP_CONST},   {".param", SP_PARAM},       {".tex", SP_TEX},
                  {".reg", SP_REG},       {".shared::cta", SP_SHARED}};
    for (unsigned i = 0; i < sizeof spaces / sizeof *spaces; i++)
        if (parse_at_dir(p, spaces[i].name)) {
            *out = spaces[i].space;
            return true;
        }
    return false;
}

static bool parse_ptr_attribute(Parser *p, VarHead *head) {
    next(p);
    head->is_pointer = true;
    if (parse_at_dir(p, ".texref") || parse_at_dir(p, ".samplerref") || parse_at_dir(p, ".surfref"))
        return parse_type(p, &head->pointee_type);
    if (space_of(p, &head->pointee))
        next(p);
    return !parse_at_dir(p, ".align") || parse_align(p, &head->pointee_align);
}

static bool parse_head(Parser *p, VarHead *head) {
    *head = (VarHead){.vec = 1};
    if (!space_of(p, &head->space))
        return parse_expected(p, "a state space");
    next(p);
    SrcLoc loc = here(p);
    while (at(p, TK_DIR)) {
        unsigned vec;
        if (parse_at_dir(p, ".align")) {
            if (!parse_align(p, &head->align))
                return false;
        } else if (parse_at_dir(p, ".attribute")) {
            if (!parse_attribute(p, head))
                return false;
        } else if (parse_at_dir(p, ".ptr") && head->type) {
            if (!parse_ptr_attribute(p, head))
                return false;
        } else if (parse_vec(p, &vec)) {
            head->vec = vec;
        } else if (head->type) {
            return parse_expected(p, "a name");
        } else if (!parse_type(p, &head->type)) {
            return false;
        }
    }
    return head->type ? check_vector(p, head->type, head->vec, loc) : parse_expected(p, "a type");
}

/* [2][3], [] ; `*count` is the product, 0 dimensions for scalars. */
static bool parse_dimensions(Parser *parser, PtxVar *var, uint64_t *dims, unsigned *ndims) {
    uint64_t count = 1;
    *ndims = 0;
    while (parse_accept(parser, '[')) {
        SrcLoc loc = here(parser);
        int64_t n = 0;
        if (*ndims >= MAX_DIMENSIONS)
            return diag(parser->d, loc, DIAG_E0112, "array dimensions", (unsigned)MAX_DIMENSIONS);
        if (at(parser, ']') && !*ndims)
            var->unsized = true;
        else if (!parse_const_int(parser, &n, "an array size"))
            return false;
        else if (n == 0 && var->space != SP_PARAM)
            return diag(parser->d, var->loc, DIAG_E0126, "an array size of 0", "here");
        else if (n < 0 && var->space != SP_PARAM)
            return diag(parser->d, loc, DIAG_E0126, "an array size below 1 or above 2^63-1", "here");
        if (!parse_expect(parser, ']', "']'"))
            return false;
        if (!var->unsized || *ndims) {
            if (n < 0 || n > UINT32_MAX || (n && count > UINT32_MAX / (uint64_t)n))
                return diag(parser->d, loc, DIAG_E0121, parse_name_text(parser, var->name));
            count *= (uint64_t)n;
        }
        dims[(*ndims)++] = (uint64_t)n;
    }
    var->is_array = *ndims > 0;
    var->nelems = (uint32_t)count;
    var->size_bytes = var->unsized ? 0 : count * var->vec * ptx_type_bytes(var->type);
    if (ptx_type_class(var->type) == TC_OPAQUE)
        var->size_bytes = count * 8; /* a handle */
    return true;
}

static bool check_place(Parser *parser, const PtxVar *var, const VarContext *context) {
    static const char *const names[SP_COUNT] = {
        [SP_LOCAL] = "a .local variable", [SP_PARAM] = "a .param variable", [SP_REG] = "a .reg variable"};
    if (!parser->func && !context->is_param &&
        (var->space == SP_LOCAL || var->space == SP_PARAM || var->space == SP_REG))
        return diag(parser->d, var->loc, DIAG_E0126, names[var->space], "outside of functions");
    if (ptx_type_class(var->type) == TC_OPAQUE && parser->func && !context->is_kernel)
        return diag(parser->d, var->loc, DIAG_E0126, "a texture, sampler or surface",
                    "but at module scope and as a kernel's parameter");
    if (var->space == SP_TEX &&
        GATE_VERSION(parser->m->version_major, parser->m->version_minor) >= GATE_VERSION(1, 5))
        return diag(parser->d, var->loc, DIAG_E0126, "a .tex variable",
                    "from PTX ISA .version 1.5 on: .texref has its place");
    if (var->type == TY_SAMPLERREF && !ptx_own_samplers(parser->m))
        return diag(parser->d, var->loc, DIAG_E0126, "a sampler", "unless .target says texmode_independent");
    if (var->type == TY_PRED && var->space != SP_REG)
        return diag(parser->d, var->loc, DIAG_E0126, "a predicate", "outside of the register space");
    if (ptx_type_class(var->type) != TC_OPAQUE && !has_declarations(var->type))
        return refuse_type(parser, var->loc, "a variable", var->type);
    if (var->type == TY_F16X2 && var->space == SP_PARAM)
        return refuse_type(parser, var->loc, "a variable in .param", var->type);
    if (var->space == SP_PARAM && var->vec > 1 && !context->is_param)
        return diag(parser->d, var->loc, DIAG_E0126, "a vector", "in .param");
    if (var->is_array && !var->size_bytes && !context->is_param && var->linkage != LINK_EXTERN)
        return diag(parser->d, var->loc, DIAG_E0126, "an array without size",
                    "unless it is external or initialised");
    return true;
}

/* `.extern` and `.common` announce what another declaration of the same shape may complete. */
static uint32_t find_announced(Parser *parser, const PtxVar *var) {
    const Bind *bind = parse_lookup(parser, var->name);
    if (parser->func || !bind || bind->kind != B_VAR || bind->depth != parser->scopes.n - 1)
        return 0;
    const PtxVar *old = &parser->vars.at[bind->value - 1];
    bool same = old->space == var->space && old->type == var->type && old->vec == var->vec;
    bool announces = old->linkage == LINK_EXTERN || var->linkage == LINK_EXTERN;
    return same && announces ? bind->value : 0;
}

static bool enter_var(Parser *parser, const PtxVar *var, const VarContext *context, uint32_t *out) {
    uint32_t old = context->is_param ? 0 : find_announced(parser, var);
    if (old) {
        PtxVar *known = &parser->vars.at[old - 1];
        if (var->linkage != LINK_EXTERN) {
            bool was_extern = known->linkage == LINK_EXTERN || known->was_extern;
            *known = *var;
            known->was_extern = was_extern;
        }
        *out = old;
        return true;
    }
    VEC_ADD(&parser->tmp, &parser->vars, *var);
    *out = parser->vars.n;
    bool unnamed = context->allow_unnamed && str_eq(var->name, parser->name_underscore);
    if (!unnamed && !parse_declare(parser, var->name, B_VAR, parser->vars.n, var->loc))
        return false;
    if (parser->func && !context->is_param)
        VEC_ADD(&parser->tmp, &parser->fvars, parser->vars.n - 1);
    return true;
}

/* At `<n>` behind the name of `var`: n variables named by it and 0 .. n-1, none of them an array or
 * initialised (PTX ISA 5.4.6). Variables are entered one by one, so there are not as many as of registers. */
static bool parse_var_range(Parser *parser, PtxVar *var, const VarContext *context, uint32_t *out) {
    enum { MAX_RANGE = 1 << 16 };
    const char *prefix = parse_name_text(parser, var->name);
    next(parser);
    Token n = parser->tok;
    if (!parse_expect(parser, TK_INT, "a number of variables") || !parse_expect(parser, '>', "'>'"))
        return false;
    if (n.value > MAX_RANGE)
        return diag(parser->d, tok_loc(&n), DIAG_E0121, prefix);
    if (!at(parser, ',') && !at(parser, ';'))
        return parse_expected(parser, "',' or ';'");
    uint64_t dims[MAX_DIMENSIONS + 1];
    unsigned ndims;
    if (!parse_dimensions(parser, var, dims, &ndims) || !check_place(parser, var, context))
        return false;
    for (unsigned k = 0; k < (unsigned)n.value; k++) {
        var->name = str_intern_z(&parser->m->strings, arena_printf(&parser->tmp, "%s%u", prefix, k));
        if (!enter_var(parser, var, context, out))
            return false;
    }
    return true;
}

static bool parse_var(Parser *parser, const VarHead *head, const VarContext *context, uint32_t *out) {
    PtxVar v = {.type = head->type,
                .vec = (uint8_t)head->vec,
                .linkage = context->linkage,
                .space = head->space,
                .is_pointer = head->is_pointer,
                .pointee_align_bytes = head->pointee_align,
                .pointee_space = head->pointee,
                .pointee_type = head->pointee_type,
                .managed = head->managed,
                .unified = head->unified,
                .uuid = {(uint64_t)head->uuid[0], (uint64_t)head->uuid[1]},
                .func = parser->func,
                .loc = here(parser)};
    uint64_t dims[MAX_DIMENSIONS + 1] = {0};
    unsigned ndims;
    v.name = parser->tok.str;
    uint32_t natural = ptx_type_bytes(head->type) * head->vec;
    v.align_bytes = head->align                               ? head->align
                    : natural                                 ? natural
                    : ptx_type_class(head->type) == TC_OPAQUE ? 8
                                                              : 1;
    if (!parse_expect(parser, TK_IDENT, "a name"))
        return false;
    if (at(parser, '<') && !context->is_param)
        return parse_var_range(parser, &v, context, out);
    if (!parse_dimensions(parser, &v, dims, &ndims))
        return false;
    if (at(parser, '=') && !context->is_param && !parse_initialiser(parser, &v, dims, ndims))
        return false;
    return check_place(parser, &v, context) && enter_var(parser, &v, context, out);
}

static bool parse_reg_param(Parser *parser, const VarContext *context, U32Vec *vars, U32Vec *regs) {
    PtxType type;
    unsigned vec;
    next(parser);
    SrcLoc loc = here(parser);
    if (!parse_reg_type(parser, &type, &vec))
        return false;
    StrId name = parser->tok.str;
    loc = here(parser);
    if (!parse_expect(parser, TK_IDENT, "a name"))
        return false;
    if (context->is_kernel)
        return diag(parser->d, loc, DIAG_E0126, "a register", "as a parameter here");
    bool named = !context->allow_unnamed || !str_eq(name, parser->name_underscore);
    uint32_t first = named ? new_reg(parser, name, type, vec, loc) : 0;
    for (unsigned k = 0; k < vec; k++) {
        PtxVar v = {.type = type, .vec = 1, .space = SP_REG, .func = parser->func, .nelems = 1, .loc = loc};
        v.name = named ? parser->regs.at[first + k].name : name;
        v.component = (uint8_t)k;
        v.size_bytes = v.align_bytes = ptx_type_bytes(type);
        VEC_ADD(&parser->tmp, &parser->vars, v);
        VEC_ADD(&parser->tmp, vars, parser->vars.n - 1);
        VEC_ADD(&parser->tmp, regs, named ? first + k : 0);
    }
    return !named || declare_reg(parser, name, vec, first, loc);
}

bool parse_param(Parser *parser, const VarContext *context, U32Vec *vars, U32Vec *regs) {
    VarHead head;
    uint32_t index;
    if (parse_at_dir(parser, ".reg"))
        return parse_reg_param(parser, context, vars, regs);
    if (!parse_head(parser, &head))
        return false;
    if (head.space != SP_PARAM)
        return diag(parser->d, here(parser), DIAG_E0126, "this state space", "for a parameter");
    if (!parse_var(parser, &head, context, &index))
        return false;
    VEC_ADD(&parser->tmp, vars, index - 1);
    VEC_ADD(&parser->tmp, regs, 0);
    return true;
}

bool parse_var_decl(Parser *parser, const VarContext *context) {
    VarHead h;
    uint32_t index;
    if (!parse_head(parser, &h))
        return false;
    do
        if (!parse_var(parser, &h, context, &index))
            return false;
    while (parse_accept(parser, ','));
    return parse_expect(parser, ';', "',' or ';'");
}
