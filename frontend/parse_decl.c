/* Declarations of registers and variables (PTX ISA 5.1 to 5.4).
 * SPDX-License-Identifier: MIT */
#include "frontend/parse.h"
#include <string.h>

bool parse_type(Parser *p, PtxType *out) {
    *out = at(p, TK_DIR) ? type_by_name(p->lx.text + p->tok.at + 1, p->tok.size - 1) : TY_NONE;
    if (*out == TY_NONE)
        return fail_expected(p, "a type");
    next(p);
    return true;
}

static bool parse_vec(Parser *p, unsigned *vec) {
    *vec = accept_dir(p, ".v2") ? 2 : accept_dir(p, ".v4") ? 4 : accept_dir(p, ".v8") ? 8 : 1;
    return *vec > 1;
}

/* Vectors are at most 128 bits wide and of ordinary elements. */
static bool check_vector(Parser *p, PtxType type, unsigned vec, SrcLoc loc) {
    unsigned bytes = ptx_type_bytes(type);
    if (vec == 1)
        return true;
    if (!bytes || vec > 4)
        return diag(p->d, loc, DIAG_E0132, vec, ptx_type_name(type),
                    "a vector has 2 or 4 elements that have a size");
    if (bytes * vec > 16)
        return diag(p->d, loc, DIAG_E0132, vec, ptx_type_name(type), "it has more than 128 bits");
    return true;
}

/* registers */

static bool reg_type_legal(PtxType t) {
    switch (ptx_type_class(t)) {
    case TC_BITS:
    case TC_SIGNED:
    case TC_UNSIGNED: return t != TY_U16X2 && t != TY_S16X2;
    case TC_FLOAT: return t == TY_F16 || t == TY_F16X2 || t == TY_F32 || t == TY_F64;
    default: return t == TY_PRED;
    }
}

static bool parse_reg_name(Parser *p, PtxType type, unsigned vec) {
    StrId name = p->tok.str;
    SrcLoc loc = here(p);
    if (!expect(p, TK_IDENT, "a register name"))
        return false;
    if (accept(p, '<')) { /* a plain number: in an expression `>` would be an operator */
        Token n = p->tok;
        if (!expect(p, TK_INT, "a number of registers") || !expect(p, '>', "'>'"))
            return false;
        uint32_t count = n.value > UINT32_MAX ? UINT32_MAX : (uint32_t)n.value;
        return declare_range(p, name, type, vec, count, loc);
    }
    uint32_t id = vec > 1 ? new_vector_reg(p, name, type, vec, loc) : new_reg(p, name, type, loc);
    uint32_t slot = declare(p, name, vec > 1 ? B_VREG : B_REG, id, loc);
    if (slot)
        p->binds.at[slot - 1].count = (uint8_t)vec;
    return slot != 0;
}

static bool parse_reg_type(Parser *p, PtxType *type, unsigned *vec) {
    SrcLoc loc = here(p);
    parse_vec(p, vec);
    if (!parse_type(p, type))
        return false;
    if (!reg_type_legal(*type)) {
        char what[40] = "a register of type .";
        strncat(what, ptx_type_name(*type), 16);
        return diag(p->d, loc, DIAG_E0126, what, "(PTX ISA 5.2)");
    }
    return check_vector(p, *type, *vec, loc);
}

bool parse_reg_decl(Parser *p) {
    PtxType type;
    unsigned vec;
    next(p); /* .reg */
    if (!parse_reg_type(p, &type, &vec))
        return false;
    bool ok = true;
    do
        ok &= parse_reg_name(p, type, vec);
    while (ok && accept(p, ','));
    return ok && expect(p, ';', "',' or ';'");
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
static bool parse_init_symbol(Parser *p, PtxInit *init) {
    bool generic = str_eq(p->tok.str, str_intern_z(&p->m->strings, "generic")) && lex_peek(&p->lx) == '(';
    if (generic)
        next(p), next(p);
    Token name = p->tok;
    if (!expect(p, TK_IDENT, "a variable or function name"))
        return false;
    const Bind *b = lookup(p, name.str);
    if (!b || (b->kind != B_VAR && b->kind != B_FUNC))
        return diag(p->d, tok_loc(&name), DIAG_E0103, name_text(p, name.str));
    init->sym = b->kind == B_VAR ? b->value : b->value | PTX_SYM_FUNC;
    init->generic = generic;
    if (generic && !expect(p, ')', "')'"))
        return false;
    if (at(p, '+') || at(p, '-'))
        return parse_const_int(p, &init->value, "an offset");
    return true;
}

static bool parse_init_mask(InitState *s, PtxInit *init) {
    Parser *p = s->p;
    uint64_t mask = p->tok.value;
    SrcLoc loc = here(p);
    while (init->shift < 56 && mask != (uint64_t)0xff << init->shift)
        init->shift = (uint8_t)(init->shift + 8);
    if (mask != (uint64_t)0xff << init->shift)
        return diag(p->d, loc, DIAG_E0123, ptx_type_name(s->v->type), "a mask that is not one byte");
    if (s->elem_bytes != 1)
        return diag(p->d, loc, DIAG_E0123, ptx_type_name(s->v->type), "one byte of an address");
    next(p), next(p);
    return parse_init_symbol(p, init) && expect(p, ')', "')'");
}

static bool store_constant(InitState *s, const ConstVal *v, SrcLoc loc, PtxInit *init) {
    PtxType t = s->v->type;
    PtxTypeClass cls = ptx_type_class(t);
    if (v->kind == IMM_INT && cls != TC_FLOAT) {
        unsigned bits = s->elem_bytes * 8;
        init->value = (int64_t)v->bits;
        if (bits >= 64)
            return true;
        int64_t stored = (int64_t)(v->bits & (((uint64_t)1 << bits) - 1));
        bool fits = (int64_t)v->bits >= -((int64_t)1 << (bits - 1)) &&
                    (int64_t)v->bits < (int64_t)1 << bits && !(v->is_unsigned && (int64_t)v->bits < 0);
        if (!fits)
            diag(s->p->d, loc, DIAG_W0140, (long long)v->bits, ptx_type_name(t), (long long)stored);
        init->value = stored;
        return true;
    }
    if (v->kind == IMM_INT || t == TY_F16 || t == TY_BF16 || t == TY_F16X2 || t == TY_BF16X2)
        return diag(s->p->d, loc, DIAG_E0123, ptx_type_name(t),
                    v->kind == IMM_INT ? "an integer" : "a floating-point constant");
    if (t == TY_F32 || (t == TY_B32 && v->kind == IMM_F32))
        init->value = (int64_t)const_f32_bits(v);
    else if (t == TY_F64 || (t == TY_B64 && v->kind == IMM_F64))
        init->value = (int64_t)const_f64_bits(v);
    else
        return diag(s->p->d, loc, DIAG_E0123, ptx_type_name(t), "a floating-point constant");
    return true;
}

static bool parse_init_item(InitState *s, uint64_t element) {
    Parser *p = s->p;
    SrcLoc loc = here(p);
    PtxInit init = {.size_bytes = (uint8_t)s->elem_bytes};
    uint64_t offset = element * s->elem_bytes;
    if (offset > UINT32_MAX)
        return diag(p->d, loc, DIAG_E0121, name_text(p, s->v->name));
    init.offset_bytes = (uint32_t)offset;
    if (at(p, TK_IDENT) && !str_eq(p->tok.str, p->name_warp_sz)) {
        if (!parse_init_symbol(p, &init))
            return false;
        if (s->elem_bytes < 4 || ptx_type_class(s->v->type) == TC_FLOAT)
            return diag(p->d, loc, DIAG_E0123, ptx_type_name(s->v->type), "an address");
    } else if (at(p, TK_INT) && lex_peek(&p->lx) == '(') {
        if (!parse_init_mask(s, &init))
            return false;
    } else {
        ConstVal v;
        if (!parse_const(p, &v) || !store_constant(s, &v, loc, &init))
            return false;
    }
    VEC_ADD(&p->tmp, &s->items, init);
    return true;
}

/* At `{` of dimension `level`, whose first element is number `base`; *used counts the elements passed. */
static bool parse_init_list(InitState *s, unsigned level, uint64_t base, uint64_t *used) {
    Parser *p = s->p;
    uint64_t cur = 0, stride = s->stride[level];
    uint64_t limit = s->dims[level] ? s->dims[level] * stride : UINT64_MAX;
    SrcLoc loc = here(p);
    if (level >= s->ndims)
        return diag(p->d, loc, DIAG_E0122, name_text(p, s->v->name));
    p->operand_braces++;
    next(p);
    while (!at(p, '}')) {
        if (cur >= limit)
            return diag(p->d, here(p), DIAG_E0122, name_text(p, s->v->name));
        if (at(p, '{')) {
            uint64_t inner;
            cur = (cur + stride - 1) / stride * stride;
            if (cur >= limit)
                return diag(p->d, here(p), DIAG_E0122, name_text(p, s->v->name));
            if (!parse_init_list(s, level + 1, base + cur, &inner))
                return false;
            cur += stride;
        } else if (!parse_init_item(s, base + cur++)) {
            return false;
        }
        if (!at(p, '}') && !expect(p, ',', "',' or '}'"))
            return false;
    }
    *used = cur;
    p->operand_braces--;
    next(p);
    return true;
}

/* `{ addr_mode_0 = wrap, ... }` of samplers and textures: read and dropped, tex is not compiled. */
static bool skip_opaque_init(Parser *p) {
    if (!expect(p, '{', "'{'"))
        return false;
    while (!at(p, '}') && !at(p, ';') && !at(p, TK_EOF))
        next(p);
    return expect(p, '}', "'}'");
}

static bool parse_initialiser(Parser *p, PtxVar *v, const uint64_t *dims, unsigned ndims) {
    SrcLoc loc = here(p);
    next(p); /* = */
    if (ptx_type_class(v->type) == TC_OPAQUE)
        return skip_opaque_init(p);
    if (v->space != SP_GLOBAL && v->space != SP_CONST)
        return diag(p->d, loc, DIAG_E0124,
                    v->space == SP_SHARED  ? "shared"
                    : v->space == SP_LOCAL ? "local"
                                           : "param");
    if (v->linkage == LINK_EXTERN)
        return diag(p->d, loc, DIAG_E0126, "an initialiser", "for an external variable");
    InitState s = {.p = p, .v = v, .ndims = ndims, .elem_bytes = ptx_type_bytes(v->type)};
    memcpy(s.dims, dims, sizeof *dims * ndims);
    if (v->vec > 1)
        s.dims[s.ndims++] = v->vec;
    uint64_t stride = 1, used = 0;
    for (unsigned i = s.ndims; i-- > 0;) {
        s.stride[i] = stride;
        stride *= s.dims[i] ? s.dims[i] : 1;
    }
    if (s.ndims ? !(at(p, '{') ? parse_init_list(&s, 0, 0, &used) : fail_expected(p, "'{'"))
                : !parse_init_item(&s, 0))
        return false;
    if (v->unsized) {
        uint64_t n = (used + s.stride[0] - 1) / s.stride[0];
        uint64_t row_bytes = s.stride[0] * s.elem_bytes;
        if (!n || n > UINT32_MAX || (row_bytes && n > UINT32_MAX / row_bytes))
            return diag(p->d, loc, DIAG_E0121, name_text(p, v->name));
        v->unsized = false;
        v->nelems = (uint32_t)(n * (s.stride[0] / v->vec));
        v->size_bytes = n * row_bytes;
    }
    v->inits = arena_copy(p->a, s.items.at, sizeof *s.items.at * s.items.n);
    v->ninits = s.items.n;
    return true;
}

/* variables */

typedef struct { /* what stands before the names */
    PtxSpace space, pointee;
    PtxType type;
    unsigned vec;
    uint32_t align;
    bool is_pointer, managed;
} VarHead;

static bool parse_align(Parser *p, uint32_t *out) {
    SrcLoc loc = here(p);
    int64_t n;
    next(p);
    if (!parse_const_int(p, &n, "an alignment"))
        return false;
    if (n <= 0 || n > (int64_t)1 << 31 || (n & (n - 1)))
        return diag(p->d, loc, DIAG_E0120, (unsigned long long)n);
    *out = (uint32_t)n;
    return true;
}

static bool parse_attribute(Parser *p, VarHead *h) {
    next(p);
    if (!expect(p, '(', "'('"))
        return false;
    do {
        if (accept_dir(p, ".managed")) {
            h->managed = true;
        } else if (accept_dir(p, ".unified")) {
            int64_t half;
            if (!expect(p, '(', "'('") || !parse_const_int(p, &half, "a number") || !expect(p, ',', "','") ||
                !parse_const_int(p, &half, "a number") || !expect(p, ')', "')'"))
                return false;
        } else {
            return fail_expected(p, "an attribute");
        }
    } while (accept(p, ','));
    return expect(p, ')', "')'");
}

static bool space_of(const Parser *p, PtxSpace *out) {
    static const struct {
        const char *name;
        PtxSpace space;
    } spaces[] = {{".global", SP_GLOBAL}, {".shared", SP_SHARED},     {".local", SP_LOCAL},
                  {".const", SP_CONST},   {".param", SP_PARAM},       {".tex", SP_TEX},
                  {".reg", SP_REG},       {".shared::cta", SP_SHARED}};
    for (unsigned i = 0; i < sizeof spaces / sizeof *spaces; i++)
        if (at_dir(p, spaces[i].name)) {
            *out = spaces[i].space;
            return true;
        }
    return false;
}

static bool parse_ptr_attribute(Parser *p, VarHead *h) {
    uint32_t ignored;
    next(p);
    h->is_pointer = true;
    if (space_of(p, &h->pointee))
        next(p);
    return !at_dir(p, ".align") || parse_align(p, &ignored);
}

static bool parse_head(Parser *p, VarHead *h) {
    *h = (VarHead){.vec = 1};
    if (!space_of(p, &h->space))
        return fail_expected(p, "a state space");
    next(p);
    SrcLoc loc = here(p);
    while (at(p, TK_DIR)) {
        unsigned vec;
        if (at_dir(p, ".align")) {
            if (!parse_align(p, &h->align))
                return false;
        } else if (at_dir(p, ".attribute")) {
            if (!parse_attribute(p, h))
                return false;
        } else if (at_dir(p, ".ptr") && h->type) {
            if (!parse_ptr_attribute(p, h))
                return false;
        } else if (parse_vec(p, &vec)) {
            h->vec = vec;
        } else if (h->type) {
            return fail_expected(p, "a name");
        } else if (!parse_type(p, &h->type)) {
            return false;
        }
    }
    return h->type ? check_vector(p, h->type, h->vec, loc) : fail_expected(p, "a type");
}

/* [2][3], [] ; `*count` is the product, 0 dimensions for scalars. */
static bool parse_dimensions(Parser *p, PtxVar *v, uint64_t *dims, unsigned *ndims) {
    uint64_t count = 1;
    *ndims = 0;
    while (accept(p, '[')) {
        SrcLoc loc = here(p);
        int64_t n = 0;
        if (*ndims >= MAX_DIMENSIONS)
            return diag(p->d, loc, DIAG_E0112, "array dimensions", (unsigned)MAX_DIMENSIONS);
        if (at(p, ']') && !*ndims)
            v->unsized = true;
        else if (!parse_const_int(p, &n, "an array size"))
            return false;
        else if (n <= 0 && v->space != SP_PARAM)
            return diag(p->d, loc, DIAG_E0126, "an array size below 1 or above 2^63-1", "here");
        if (!expect(p, ']', "']'"))
            return false;
        if (!v->unsized || *ndims) {
            if (n < 0 || n > UINT32_MAX || (n && count > UINT32_MAX / (uint64_t)n))
                return diag(p->d, loc, DIAG_E0121, name_text(p, v->name));
            count *= (uint64_t)n;
        }
        dims[(*ndims)++] = (uint64_t)n;
    }
    v->is_array = *ndims > 0;
    v->nelems = (uint32_t)count;
    v->size_bytes = v->unsized ? 0 : count * v->vec * ptx_type_bytes(v->type);
    if (ptx_type_class(v->type) == TC_OPAQUE)
        v->size_bytes = count * 8; /* a handle */
    return true;
}

static bool check_place(Parser *p, const PtxVar *v, const VarContext *c) {
    static const char *const names[SP_COUNT] = {
        [SP_LOCAL] = "a .local variable", [SP_PARAM] = "a .param variable", [SP_REG] = "a .reg variable"};
    if (!p->func && !c->is_param && (v->space == SP_LOCAL || v->space == SP_PARAM || v->space == SP_REG))
        return diag(p->d, v->loc, DIAG_E0126, names[v->space], "outside of functions (PTX ISA 5.1)");
    if (v->type == TY_PRED && v->space != SP_REG)
        return diag(p->d, v->loc, DIAG_E0126, "a predicate", "outside of the register space (PTX ISA 5.1.1)");
    if (v->unsized && !c->is_param && v->linkage != LINK_EXTERN)
        return diag(p->d, v->loc, DIAG_E0126, "an array without size",
                    "unless it is external or initialised");
    return true;
}

/* `.extern` and `.common` announce what another declaration of the same shape may complete. */
static uint32_t find_announced(Parser *p, const PtxVar *v) {
    const Bind *b = lookup(p, v->name);
    if (p->func || !b || b->kind != B_VAR || b->depth != p->scopes.n - 1)
        return 0;
    const PtxVar *old = &p->vars.at[b->value - 1];
    bool same = old->space == v->space && old->type == v->type && old->vec == v->vec;
    bool announces = old->linkage == LINK_EXTERN || v->linkage == LINK_EXTERN;
    return same && announces ? b->value : 0;
}

static bool enter_var(Parser *p, const PtxVar *v, const VarContext *c, uint32_t *out) {
    uint32_t old = c->is_param ? 0 : find_announced(p, v);
    if (old) {
        if (v->linkage != LINK_EXTERN)
            p->vars.at[old - 1] = *v;
        *out = old;
        return true;
    }
    VEC_ADD(&p->tmp, &p->vars, *v);
    *out = p->vars.n;
    bool unnamed = c->allow_unnamed && str_eq(v->name, p->name_underscore);
    if (!unnamed && !declare(p, v->name, B_VAR, p->vars.n, v->loc))
        return false;
    if (p->func && !c->is_param)
        VEC_ADD(&p->tmp, &p->fvars, p->vars.n - 1);
    return true;
}

static bool parse_var(Parser *p, const VarHead *h, const VarContext *c, uint32_t *out) {
    PtxVar v = {.type = h->type,
                .vec = (uint8_t)h->vec,
                .linkage = c->linkage,
                .space = h->space,
                .is_pointer = h->is_pointer,
                .pointee_space = h->pointee,
                .managed = h->managed,
                .func = p->func,
                .loc = here(p)};
    uint64_t dims[MAX_DIMENSIONS + 1] = {0};
    unsigned ndims;
    v.name = p->tok.str;
    uint32_t natural = ptx_type_bytes(h->type) * h->vec;
    v.align_bytes = h->align ? h->align : natural ? natural : ptx_type_class(h->type) == TC_OPAQUE ? 8 : 1;
    if (!expect(p, TK_IDENT, "a name") || !parse_dimensions(p, &v, dims, &ndims))
        return false;
    if (at(p, '=') && !c->is_param && !parse_initialiser(p, &v, dims, ndims))
        return false;
    return check_place(p, &v, c) && enter_var(p, &v, c, out);
}

static bool parse_reg_param(Parser *p, const VarContext *c, uint32_t *out, uint32_t *reg) {
    PtxType type;
    unsigned vec;
    next(p);
    SrcLoc loc = here(p);
    if (!parse_reg_type(p, &type, &vec))
        return false;
    if (c->is_kernel || vec > 1)
        return diag(p->d, loc, DIAG_E0126, vec > 1 ? "a vector register" : "a register",
                    "as a parameter here");
    PtxVar v = {.type = type, .vec = 1, .space = SP_REG, .func = p->func, .nelems = 1, .loc = here(p)};
    v.name = p->tok.str;
    v.size_bytes = v.align_bytes = ptx_type_bytes(type);
    if (!expect(p, TK_IDENT, "a name"))
        return false;
    VEC_ADD(&p->tmp, &p->vars, v);
    *out = p->vars.n;
    *reg = 0;
    if (c->allow_unnamed && str_eq(v.name, p->name_underscore))
        return true;
    *reg = new_reg(p, v.name, type, v.loc);
    return declare(p, v.name, B_REG, *reg, v.loc) != 0;
}

bool parse_var_decl(Parser *p, const VarContext *c, uint32_t *out, uint32_t *reg) {
    VarHead h;
    if (reg)
        *reg = 0;
    if (c->is_param && at_dir(p, ".reg"))
        return parse_reg_param(p, c, out, reg);
    if (!parse_head(p, &h))
        return false;
    if (c->is_param) {
        if (h.space != SP_PARAM)
            return diag(p->d, here(p), DIAG_E0126, "this state space", "for a parameter");
        return parse_var(p, &h, c, out);
    }
    do
        if (!parse_var(p, &h, c, out))
            return false;
    while (accept(p, ','));
    return expect(p, ';', "',' or ';'");
}
