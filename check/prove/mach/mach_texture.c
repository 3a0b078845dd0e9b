/* Textures and surfaces, as terms: what isa/tex.isa says of which register has which operand. A fetch is a
 * function of the handle, the place and what else it is asked for, which both sides name alike
 * (ptx_texture.c); an access to a surface is an event on global memory. A texture's memory is not written
 * while it is read: PTX ISA 9.7.10 leaves open what such a fetch finds. A fetch by a handle of no texture, or
 * of one of other dimensions, ends the launch, so that no fetch may stand where the PTX does none.
 * It asks for operations by name: which modifiers tell one from another is no column of the rows.
 * SPDX-License-Identifier: MIT */
#include "check/prove/mach/mach.h"
#include "check/prove/lane/texture.h"

static unsigned coords_of(unsigned dim) {
    static const uint8_t coords[] = {[TexDim_D1] = 1, [TexDim_D2] = 2, [TexDim_D3] = 3, [TexDim_CUBE] = 3,
                                     [TexDim_A1] = 2, [TexDim_A2] = 3, [TexDim_AC] = 4};
    return dim < sizeof coords ? coords[dim] : 0;
}
static bool is_layered(unsigned dim) { return dim == TexDim_A1 || dim == TexDim_A2 || dim == TexDim_AC; }

/* The handle that is no register of the lane: in a uniform register, of textures of some targets with a
 * second one, which is 0; or in a word of a constant bank. */
static Term *bound_handle(Mach *mach, unsigned urb, unsigned bank, unsigned word, unsigned index) {
    const MachInst *in = mach->in;
    Terms *ts = &mach->prover->ts;
    if (in->src[urb].kind == OPK_REG) {
        if (isa_src_regs(mach->prover->flow->bin->target, in, urb) == 2 &&
            mach_word(mach, urb, 1) != ts->zero)
            mach_fault(mach, "the second word of a handle is not 0");
        if (mach_word(mach, index, 0) != ts->zero)
            mach_fault(mach, "an index to a handle is not modelled");
        return mach_word(mach, urb, 0);
    }
    mach->looked_src |= 1u << bank | 1u << word;
    if (in->src[bank].kind != OPK_IMM || in->src[word].kind != OPK_IMM) {
        mach_fault(mach, "a handle is not modelled");
        return ts->zero;
    }
    return mach_cmem(mach, in->src[bank].value, 4 * in->src[word].value);
}

/* The registers of both operands, in order. */
typedef struct {
    Term *word[PROVE_MOST_TEXTURE];
    unsigned n, next;
} TextureWords;
static Term *next_word(Mach *mach, TextureWords *words) {
    if (words->next < words->n)
        return words->word[words->next++];
    mach_fault(mach, "a fetch has more operands than registers");
    return mach->prover->ts.zero;
}
static TextureWords take_words(Mach *mach, unsigned slot, unsigned first, unsigned total) {
    TextureWords words = {.n = total};
    unsigned have[2] = {isa_src_regs(mach->prover->flow->bin->target, mach->in, slot),
                        isa_src_regs(mach->prover->flow->bin->target, mach->in, slot + 1)};
    if (total < first || total > PROVE_MOST_TEXTURE || first > have[0] ||
        (total > first && total - first > have[1])) {
        mach_fault(mach, "a fetch has other operands than its form says");
        return (TextureWords){0};
    }
    mach->looked_src |= 3u << slot;
    for (unsigned k = 0; k < total; k++)
        words.word[k] = k < first ? mach_word(mach, slot, k) : mach_word(mach, slot + 1, k - first);
    return words;
}

/* The channels of the mask: two go to rd, the others to rd2. */
static void put_channels(Mach *mach, const ProveFetch *fetch, unsigned mask) {
    for (unsigned c = 0, n = 0; c < 4; c++)
        if (mask >> c & 1) {
            mach_put(mach, n < 2 ? TEX_rd : TEX_rd2, n & 1, prove_texel(mach->prover, fetch, c));
            n++;
        }
}
static void give_texels(Mach *mach, ProveFetch *fetch, unsigned mask, bool resident) {
    Prover *prover = mach->prover;
    put_channels(mach, fetch, mask);
    if (resident)
        mach_put_pred(mach, TEX_pu, t_not(&prover->ts, prove_resident(prover, fetch)));
    mach_note_access(mach, prove_texel(prover, fetch, 0), 1, MEM_TEXTURE, false);
}

/* lod: TEX's; whole: coordinates count texels; bits, step: of an offset in its word, of one to the next. */
static void fetch_at(Mach *mach, ProveFetch *fetch, unsigned dim, bool in_reg, bool one_list, unsigned lod,
                     bool whole, bool offsets, bool detail) {
    Terms *ts = &mach->prover->ts;
    bool level = lod == TexLod_LL;
    unsigned n = coords_of(dim), total = n + in_reg + level + offsets;
    if (!n || (lod != TexLod_LL && lod != TexLod_LZ))
        mach_fault(mach, "a level of detail that neighbours tell is not modelled");
    TextureWords words = take_words(mach, TEX_ra, one_list ? (total + 1) / 2 : n, total);
    Term *place[4];
    for (unsigned k = 0; k < n; k++)
        place[k] = next_word(mach, &words);
    prove_fetch_add(fetch, in_reg ? next_word(mach, &words)
                                  : bound_handle(mach, TEX_urb, TEX_bank, TEX_word, TEX_index));
    for (unsigned k = 0; k < n; k++)
        prove_fetch_add(fetch, place[k]);
    if (detail)
        prove_fetch_add(fetch, level   ? next_word(mach, &words)
                               : whole ? ts->zero
                                       : mach_k32(mach, (uint32_t)PROVE_BASE_LEVEL));
    Term *word = offsets ? next_word(mach, &words) : ts->zero;
    prove_fetch_add(fetch, prove_offsets(mach->prover, word, n - is_layered(dim), !detail));
}

static void fetch_derivatives(Mach *mach, ProveFetch *fetch, unsigned dim, bool in_reg, bool offsets) {
    Prover *prover = mach->prover;
    bool layered = is_layered(dim);
    unsigned n = coords_of(dim) - layered, has_word = layered || offsets, first = in_reg + n + has_word;
    if (dim != TexDim_D1 && dim != TexDim_D2 && dim != TexDim_A1 && dim != TexDim_A2) {
        mach_fault(mach, "derivatives of more than two coordinates are not modelled");
        return;
    }
    TextureWords words = take_words(mach, TXD_ra, first, first + 2 * n);
    prove_fetch_add(fetch, in_reg ? next_word(mach, &words)
                                  : bound_handle(mach, TXD_urb, TXD_bank, TXD_word, TXD_index));
    for (unsigned k = 0; k < n; k++)
        prove_fetch_add(fetch, next_word(mach, &words));
    Term *word = has_word ? next_word(mach, &words) : prover->ts.zero;
    if (layered && !offsets) /* above the layer nothing is looked at */
        word = t_zext_from(&prover->ts, word, 16);
    prove_fetch_word(prover, fetch, word, n, layered);
    for (unsigned k = 0; k < 2 * n; k++)
        prove_fetch_add(fetch, next_word(mach, &words));
}

static bool query(Mach *mach) {
    Prover *prover = mach->prover;
    Terms *ts = &prover->ts;
    unsigned parts = mach->in->src[TXQ_parts].value, which = 0;
    bool in_reg = MOD(TXQ, bind);
    mach->looked_src |= 1u << TXQ_parts | 1u << TXQ_ra;
    if (!parts || parts > 8 || parts & (parts - 1) || mach->in->src[TXQ_parts].kind != OPK_IMM ||
        isa_src_regs(prover->flow->bin->target, mach->in, TXQ_ra) != 1u + in_reg)
        return false;
    while (!(parts >> which & 1))
        which++;
    ProveFetch fetch = {.name = term_name(ts, "txq.%u", which)};
    prove_fetch_add(&fetch, in_reg ? mach_word(mach, TXQ_ra, 0)
                                   : bound_handle(mach, TXQ_urb, TXQ_bank, TXQ_word, TXQ_index));
    prove_fetch_add(&fetch, mach_word(mach, TXQ_ra, in_reg));
    _Static_assert((int)TXQ_rd == (int)TEX_rd && (int)TXQ_rd2 == (int)TEX_rd2, "the same slots");
    give_texels(mach, &fetch, 1, false);
    return true;
}

/* ---- surfaces ---- */

/* An access to a surface. Slots: the place in the first source, a register that is the handle in the one
 * numbered `handle`, behind it those of handles that are in none. Arguments: handle, place, what is written.
 */
static Term *access_surface(Mach *mach, const char *name, unsigned dim, unsigned handle, bool writes) {
    static const uint8_t coords[] = {
        [SurfDim_D1] = 1, [SurfDim_A1] = 2, [SurfDim_D2] = 2, [SurfDim_A2] = 3, [SurfDim_D3] = 3};
    Prover *prover = mach->prover;
    const Target *target = prover->flow->bin->target;
    unsigned place = dim < sizeof coords ? coords[dim] : 0, n = 0;
    enum { BANK = 1, WORD, URB, INDEX, RB = 1 };
    unsigned data = writes ? isa_src_regs(target, mach->in, RB) : 0;
    Term *arg[1 + 3 + 4];
    if (!place || isa_src_regs(target, mach->in, 0) != place || data > 4) {
        mach_fault(mach, "an access to a surface has other operands than its form says");
        return NULL;
    }
    arg[n++] = mach->in->src[handle].kind == OPK_REG
                   ? mach_word(mach, handle, 0)
                   : bound_handle(mach, handle + URB, handle + BANK, handle + WORD, handle + INDEX);
    for (unsigned k = 0; k < place; k++)
        arg[n++] = mach_word(mach, 0, k);
    for (unsigned k = 0; k < data; k++)
        arg[n++] = mach_word(mach, RB, k);
    return mach_event(mach, 1u << MEM_GLOBAL, name, arg, n);
}

static bool surface(Mach *mach) {
    Terms *ts = &mach->prover->ts;
    _Static_assert((int)SULD_urb == SULD_rc + 3 && (int)SUST_urb == SUST_rc + 3 &&
                       (int)SUST_P_urb == SUST_P_rc + 3 && (int)SURED_urb == SURED_rc + 3,
                   "handles stand in one order");
    switch (mach->in->optype) {
    case OT_SULD: {
        static const uint8_t size[] = {
            [MemSz_U8] = 1, [MemSz_U16] = 2, [MemSz_32] = 4, [MemSz_64] = 8, [MemSz_128] = 16};
        unsigned sz = MOD(SULD, sz), bytes = sz < sizeof size ? size[sz] : 0;
        const char *name =
            term_name(ts, "suld.%u.%u.%u.o%u", MOD(SULD, dim), MOD(SULD, out), sz, MOD(SULD, order));
        if (!bytes) /* signed ones, too */
            return false;
        Term *what = access_surface(mach, name, MOD(SULD, dim), SULD_rc, false);
        for (unsigned k = 0; what && 4 * k < bytes; k++)
            mach_put(
                mach, SULD_rd, k,
                t_zext_from(ts, t_app(ts, TO_RESULT, 32, k, NULL, &what, 1), bytes < 4 ? 8 * bytes : 32));
        return true;
    }
    case OT_SUST:
        access_surface(mach,
                       term_name(ts, "sust.%u.%u.%u.o%u", MOD(SUST, dim), MOD(SUST, out), MOD(SUST, sz),
                                 MOD(SUST, order)),
                       MOD(SUST, dim), SUST_rc, true);
        return true;
    case OT_SUST_P:
        access_surface(mach,
                       term_name(ts, "sust.p.%u.%u.%u.o%u", MOD(SUST_P, dim), MOD(SUST_P, out),
                                 MOD(SUST_P, parts), MOD(SUST_P, order)),
                       MOD(SUST_P, dim), SUST_P_rc, true);
        return true;
    case OT_SURED:
        access_surface(mach,
                       term_name(ts, "sured.%u.%u.%u.%u.%u.o%u", MOD(SURED, dim), MOD(SURED, out),
                                 MOD(SURED, op), MOD(SURED, type), MOD(SURED, unit), MOD(SURED, order)),
                       MOD(SURED, dim), SURED_rc, true);
        return true;
    default: return false;
    }
}

bool mach_texture(Mach *mach) {
    Terms *ts = &mach->prover->ts;
    ProveFetch fetch = {0};
    switch (mach->in->optype) {
    case OT_TEX:
        fetch.name = term_name(ts, "tex.%u", MOD(TEX, dim));
        fetch_at(mach, &fetch, MOD(TEX, dim), MOD(TEX, bind), MOD(TEX, scr), MOD(TEX, lod), false,
                 MOD(TEX, aoffi), true);
        give_texels(mach, &fetch, MOD(TEX, mask), true);
        return true;
    case OT_TLD:
        if (MOD(TLD, cl) && MOD(TLD, lod) != TexLod_LL)
            return false;
        fetch.name = term_name(ts, "tld.%u%s", MOD(TLD, dim), MOD(TLD, cl) ? ".cl" : "");
        fetch_at(mach, &fetch, MOD(TLD, dim), MOD(TLD, bind), MOD(TLD, scr), MOD(TLD, lod), true,
                 MOD(TLD, aoffi), true);
        give_texels(mach, &fetch, MOD(TLD, mask), true);
        return true;
    case OT_TLD4:
        fetch.name = term_name(ts, "tld4.%u.%u", MOD(TLD4, dim), MOD(TLD4, component));
        fetch_at(mach, &fetch, MOD(TLD4, dim), MOD(TLD4, bind), MOD(TLD4, scr), TexLod_LZ, false,
                 MOD(TLD4, aoffi), false);
        give_texels(mach, &fetch, MOD(TLD4, mask), true);
        return true;
    case OT_TXD:
        fetch.name = term_name(ts, "txd.%u", MOD(TXD, dim));
        fetch_derivatives(mach, &fetch, MOD(TXD, dim), MOD(TXD, bind), MOD(TXD, aoffi));
        give_texels(mach, &fetch, MOD(TXD, mask), true);
        return true;
    case OT_TXQ: return query(mach);
    default: return surface(mach);
    }
}
