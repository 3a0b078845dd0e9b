/* Textures and surfaces of PTX, for one thread: PTX ISA 9.7.10, 9.7.11. The arguments of texture.h, as a
 * statement has them: a layer that there is none of is the last, a texture of one dimension is fetched from
 * as one of two, a direction is divided by the longest of its parts (docs/numerics.md), and no level asked
 * for is one far below the first. An access to a surface is an event on global memory, in order.
 * SPDX-License-Identifier: MIT */
#include "check/prove/ptx/ptx.h"
#include "check/prove/lane/texture.h"
#include "frontend/texture.h"

enum { LAST_LAYER = 0xffff, SAMPLER_SHIFT = 20 };

static Term *handle_of(Ptx *ptx, const PtxOperand *operand) {
    Prover *prover = ptx->prover;
    Terms *ts = &prover->ts;
    if (operand->reg) {
        Term *v = pv_value(ptx, operand->reg);
        return v->width == 64 ? t_lo(ts, v) : v;
    }
    if (!operand->sym || operand->sym & PTX_SYM_FUNC || !prover->pf->is_entry) {
        pv_fault(ptx, "a handle that is neither in a register nor a kernel's is not modelled");
        return ts->zero;
    }
    const PtxVar *var = &prover->module->vars[operand->sym - 1];
    if (!ptx_is_texture(var))
        return prove_param(prover, prove_param_offset(prover, var), 4);
    return prove_texture_handle(prover, str_text(&prover->module->strings, var->name),
                                var->type == TY_SURFREF);
}

Term *pv_named_handle(Ptx *ptx, const PtxOperand *operand) {
    Terms *ts = &ptx->prover->ts;
    PtxType type = ptx->prover->module->vars[operand->sym - 1].type;
    Term *word = handle_of(ptx, operand);
    if (type == TY_SAMPLERREF)
        word = t_land(ts, word, pv_k32(ptx, (1u << SAMPLER_SHIFT) - 1));
    return t_pair(ts, word, pv_k32(ptx, ptx_handle_kind(type)));
}
bool prove_ptx_istypep(Ptx *ptx) {
    Terms *ts = &ptx->prover->ts;
    Term *kind = t_land(ts, t_hi(ts, pv_src(ptx, pv_operand(ptx, 1), TY_U64)),
                        pv_k32(ptx, ptx_handle_kind(ptx->in->type[0])));
    pv_dst(ptx, pv_operand(ptx, 0), TY_PRED, t_not(ts, t_eq(ts, kind, ts->zero)));
    return true;
}

/* Of texture and sampler together. */
static Term *whole_handle(Ptx *ptx, const PtxTexture *t) {
    Terms *ts = &ptx->prover->ts;
    Term *handle = handle_of(ptx, t->place);
    if (!t->sampler)
        return handle;
    Term *sampler = t_shl(ts, handle_of(ptx, t->sampler), pv_k32(ptx, SAMPLER_SHIFT));
    return t_lor(ts, t_land(ts, handle, pv_k32(ptx, (1u << SAMPLER_SHIFT) - 1)), sampler);
}

static Term *coord_word(Ptx *ptx, const PtxOperand *operand) { return pv_src(ptx, operand, TY_B32); }

static unsigned dim_of(const PtxInsn *in, bool whole) {
    switch (in->sub) {
    case SUB_1D: return whole ? TexDim_D1 : TexDim_D2;
    case SUB_2D: return TexDim_D2;
    case SUB_3D: return TexDim_D3;
    case SUB_A1D: return TexDim_A1;
    case SUB_A2D: return TexDim_A2;
    case SUB_CUBE: return TexDim_CUBE;
    default: return TexDim_AC;
    }
}

static Term *layer_of(Ptx *ptx, const PtxTexture *t) {
    return t_min(&ptx->prover->ts, false, coord_word(ptx, t->coord[0]), pv_k32(ptx, LAST_LAYER));
}

static Term *absolute(Ptx *ptx, Term *x) { return t_land(&ptx->prover->ts, x, pv_k32(ptx, 0x7fffffff)); }

/* The place without its layer. */
static void add_place(Ptx *ptx, const PtxTexture *t, ProveFetch *fetch) {
    Prover *prover = ptx->prover;
    Terms *ts = &prover->ts;
    const PtxOperand *const *coord = t->coord + t->layered;
    if (!t->cube) {
        for (unsigned k = 0; k < t->ncoords - t->layered; k++)
            prove_fetch_add(fetch, coord_word(ptx, coord[k]));
        if (ptx->in->sub == SUB_1D && !t->integer)
            prove_fetch_add(fetch, ts->zero);
        return;
    }
    Term *part[3];
    for (unsigned k = 0; k < 3; k++)
        part[k] = coord_word(ptx, coord[k]);
    Term *longest =
        prove_uf_sorted(prover, 32, term_name(ts, "fmax"), absolute(ptx, part[0]), absolute(ptx, part[1]));
    longest = prove_uf_sorted(prover, 32, term_name(ts, "fmax"), absolute(ptx, part[2]), longest);
    Term *inverse = prove_uf(prover, 32, term_name(ts, "mufu.%u", Mufu_RCP), &longest, 1);
    for (unsigned k = 0; k < 3; k++)
        prove_fetch_add(fetch,
                        prove_uf_sorted(prover, 32, term_name(ts, "fmul.%u", Rnd_RN), part[k], inverse));
    prove_assume(prover, ptx->at, ASSUME_APPROXIMATE);
}

/* Offsets of `bits` bits, `step` from one to the next. */
static Term *offset_word(Ptx *ptx, const PtxTexture *t, unsigned bits, unsigned step) {
    Terms *ts = &ptx->prover->ts;
    Term *word = ts->zero;
    for (unsigned k = 0; k < 3 && t->offset[k]; k++) {
        Term *part = t_land(ts, coord_word(ptx, t->offset[k]), pv_k32(ptx, (1u << bits) - 1));
        word = t_lor(ts, word, t_shl(ts, part, pv_k32(ptx, k * step)));
    }
    return word;
}

static bool give_texels(Ptx *ptx, const PtxTexture *t, const ProveFetch *fetch) {
    Prover *prover = ptx->prover;
    Term *value[4];
    unsigned n = t->result->kind == PO_VEC ? t->result->nvec : 1;
    VEC_ADD(prover->run_arena, &ptx->run->accesses,
            ((Access){ptx->full, t_under(&prover->ts, prove_texel(prover, fetch, 0), ptx->full), MEM_TEXTURE,
                      1, ptx->at, false}));
    for (unsigned k = 0; k < n && k < 4; k++)
        value[k] = prove_texel(prover, fetch, k);
    for (unsigned k = 0; k < n && k < 4; k++)
        pv_dst(ptx, t->result->kind == PO_VEC ? &t->result->vec[k] : t->result, TY_B32, value[k]);
    if (t->resident)
        pv_dst(ptx, t->resident, TY_PRED, prove_resident(prover, fetch));
    return n <= 4;
}

static bool fetch_derivatives(Ptx *ptx, const PtxTexture *t, ProveFetch *fetch) {
    Prover *prover = ptx->prover;
    Terms *ts = &prover->ts;
    unsigned dim = dim_of(ptx->in, false), axes = dim == TexDim_A1 ? 1 : 2;
    fetch->name = term_name(ts, "txd.%u", dim);
    prove_fetch_add(fetch, whole_handle(ptx, t));
    add_place(ptx, t, fetch);
    Term *word = t_shl(ts, offset_word(ptx, t, 4, 4), pv_k32(ptx, 16));
    if (t->layered)
        word = t_lor(ts, t_zext_from(ts, layer_of(ptx, t), 16), word);
    prove_fetch_word(prover, fetch, word, axes, t->layered);
    for (unsigned k = 0; k < axes; k++)
        for (unsigned which = 0; which < 2; which++)
            prove_fetch_add(fetch, t->grad[which][k] ? coord_word(ptx, t->grad[which][k]) : ts->zero);
    return give_texels(ptx, t, fetch);
}

bool prove_ptx_tex(Ptx *ptx) {
    Terms *ts = &ptx->prover->ts;
    const PtxInsn *in = ptx->in;
    PtxTexture t = ptx_texture(in);
    ProveFetch fetch = {0};
    if (t.compare || t.grad[0][2])
        return false;
    if (t.grad[0][0])
        return fetch_derivatives(ptx, &t, &fetch);
    unsigned dim = dim_of(in, t.integer);
    fetch.name =
        t.integer ? term_name(ts, "tld.%u%s", dim, t.level ? ".cl" : "") : term_name(ts, "tex.%u", dim);
    prove_fetch_add(&fetch, whole_handle(ptx, &t));
    if (t.layered)
        prove_fetch_add(&fetch, layer_of(ptx, &t));
    add_place(ptx, &t, &fetch);
    prove_fetch_add(&fetch, t.level     ? coord_word(ptx, t.level)
                            : t.integer ? ts->zero
                                        : pv_k32(ptx, (uint32_t)PROVE_BASE_LEVEL));
    prove_fetch_add(&fetch, offset_word(ptx, &t, 4, 4));
    return give_texels(ptx, &t, &fetch);
}

bool prove_ptx_tld4(Ptx *ptx) {
    const PtxInsn *in = ptx->in;
    PtxTexture t = ptx_texture(in);
    unsigned comp = in->sub2 == SUB_R   ? Tld4Component_R
                    : in->sub2 == SUB_G ? Tld4Component_G
                    : in->sub2 == SUB_B ? Tld4Component_B
                                        : Tld4Component_A;
    ProveFetch fetch = {.name = term_name(&ptx->prover->ts, "tld4.%u.%u", dim_of(in, false), comp)};
    if (t.compare)
        return false;
    prove_fetch_add(&fetch, whole_handle(ptx, &t));
    if (t.layered)
        prove_fetch_add(&fetch, layer_of(ptx, &t));
    add_place(ptx, &t, &fetch);
    prove_fetch_add(&fetch, offset_word(ptx, &t, 6, 8));
    return give_texels(ptx, &t, &fetch);
}

bool prove_ptx_txq(Ptx *ptx) {
    const PtxInsn *in = ptx->in;
    PtxTexture t = ptx_texture(in);
    unsigned part = in->sub == SUB_WIDTH ? 0 : in->sub == SUB_HEIGHT ? 1 : in->sub == SUB_DEPTH ? 2 : 3;
    ProveFetch fetch = {.name = term_name(&ptx->prover->ts, "txq.%u", part)};
    prove_fetch_add(&fetch, handle_of(ptx, t.place));
    prove_fetch_add(&fetch, t.level ? coord_word(ptx, t.level) : ptx->prover->ts.zero);
    return give_texels(ptx, &t, &fetch);
}

/* ---- surfaces ---- */
static unsigned surface_dim(const PtxInsn *in) {
    switch (in->sub) {
    case SUB_1D: return SurfDim_D1;
    case SUB_2D: return SurfDim_D2;
    case SUB_3D: return SurfDim_D3;
    case SUB_A1D: return SurfDim_A1;
    default: return SurfDim_A2;
    }
}
static unsigned surface_out(const PtxInsn *in) {
    return in->sub2 == SUB_TRAP ? SurfOut_TRAP : in->sub2 == SUB_CLAMP ? SurfOut_CLAMP : SurfOut_IGN;
}

static unsigned surface_size(unsigned bytes) {
    return bytes == 1   ? MemSz_U8
           : bytes == 2 ? MemSz_U16
           : bytes == 4 ? MemSz_32
           : bytes == 8 ? MemSz_64
                        : MemSz_128;
}

/* Handle and place, the layer last. */
static unsigned surface_place(Ptx *ptx, const PtxTexture *t, Term **arg) {
    unsigned n = 0;
    arg[n++] = handle_of(ptx, t->place);
    for (unsigned k = t->layered; k < t->ncoords; k++)
        arg[n++] = coord_word(ptx, t->coord[k]);
    if (t->layered)
        arg[n++] = coord_word(ptx, t->coord[0]);
    return n;
}

bool prove_ptx_suld(Ptx *ptx) {
    Terms *ts = &ptx->prover->ts;
    PtxTexture t = ptx_texture(ptx->in);
    unsigned bytes = pv_bytes(pv_type(ptx)), n = t.result->kind == PO_VEC ? t.result->nvec : 1,
             total = bytes * n;
    Term *arg[4], *w[4];
    if (total > 16)
        return false;
    const char *name = term_name(ts, "suld.%u.%u.%u.o%u", surface_dim(ptx->in), surface_out(ptx->in),
                                 surface_size(total), MemOrder_STRONG_SM);
    uint32_t nargs = surface_place(ptx, &t, arg);
    Term *what = pv_event(ptx, 1u << MEM_GLOBAL, name, arg, nargs);
    for (unsigned k = 0; 4 * k < total; k++)
        w[k] = t_zext_from(ts, t_app(ts, TO_RESULT, 32, k, NULL, &what, 1), total < 4 ? 8 * total : 32);
    pv_give(ptx, t.result, pv_type(ptx), w);
    return true;
}

static bool write_surface(Ptx *ptx, const char *name, const PtxTexture *t) {
    Term *arg[4 + 4], *w[4];
    unsigned n = surface_place(ptx, t, arg), total = pv_take(ptx, t->result, pv_type(ptx), w);
    if (total > 16)
        return false;
    for (unsigned k = 0; 4 * k < total; k++)
        arg[n++] = w[k];
    pv_event(ptx, 1u << MEM_GLOBAL, name, arg, n);
    return true;
}

bool prove_ptx_sust(Ptx *ptx) {
    const PtxInsn *in = ptx->in;
    PtxTexture t = ptx_texture(in);
    unsigned n = t.result->kind == PO_VEC ? t.result->nvec : 1, total = pv_bytes(pv_type(ptx)) * n;
    return total <= 16 && write_surface(ptx,
                                        term_name(&ptx->prover->ts, "sust.%u.%u.%u.o%u", surface_dim(in),
                                                  surface_out(in), surface_size(total), MemOrder_STRONG_SM),
                                        &t);
}

bool prove_ptx_sust_texel(Ptx *ptx) {
    const PtxInsn *in = ptx->in;
    PtxTexture t = ptx_texture(in);
    unsigned n = t.result->kind == PO_VEC ? t.result->nvec : 1, parts = n == 1   ? TexelParts_R
                                                                        : n == 2 ? TexelParts_RG
                                                                                 : TexelParts_RGBA;
    return write_surface(ptx,
                         term_name(&ptx->prover->ts, "sust.p.%u.%u.%u.o%u", surface_dim(in), surface_out(in),
                                   parts, MemOrder_STRONG_SM),
                         &t);
}

static bool reduce_surface(Ptx *ptx, bool texels) {
    const PtxInsn *in = ptx->in;
    PtxTexture t = ptx_texture(in);
    PtxType type = pv_type(ptx);
    bool orders = in->atom == ATOM_MIN || in->atom == ATOM_MAX;
    unsigned op = in->atom == ATOM_ADD   ? RedOp_ADD
                  : in->atom == ATOM_MIN ? RedOp_MIN
                  : in->atom == ATOM_MAX ? RedOp_MAX
                  : in->atom == ATOM_AND ? RedOp_AND
                                         : RedOp_OR;
    unsigned kind = texels && orders      ? SuredType_SD32
                    : pv_bytes(type) == 8 ? SuredType_U64
                    : type == TY_S32      ? SuredType_S32
                                          : SuredType_U32;
    return write_surface(ptx,
                         term_name(&ptx->prover->ts, "sured.%u.%u.%u.%u.%u.o%u", surface_dim(in),
                                   surface_out(in), op, kind, texels ? SurfUnit_TEXELS : SurfUnit_BA,
                                   MemOrder_STRONG_SYS),
                         &t);
}
bool prove_ptx_sured(Ptx *ptx) { return reduce_surface(ptx, false); }
bool prove_ptx_sured_texel(Ptx *ptx) { return reduce_surface(ptx, true); }
