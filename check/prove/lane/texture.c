/* Fetches from textures as terms: see texture.h.
 * SPDX-License-Identifier: MIT */
#include "check/prove/lane/texture.h"

enum { RESIDENT = 4, OFFSET_BITS = 4, GATHER_BITS = 6, GATHER_STEP = 8, WORD_OFFSETS = 16 };

void prove_fetch_add(ProveFetch *fetch, Term *arg) {
    if (fetch->n < PROVE_MOST_TEXTURE)
        fetch->arg[fetch->n] = arg;
    fetch->n++;
}

static Term *fetched_part(Prover *prover, const ProveFetch *fetch, unsigned part) {
    prover->nuf++;
    if (fetch->n > PROVE_MOST_TEXTURE)
        prover->ts.overflow = true;
    uint32_t n = fetch->n > PROVE_MOST_TEXTURE ? PROVE_MOST_TEXTURE : fetch->n;
    return t_app(&prover->ts, TO_UF, 32, (uint64_t)(part + 1) << 8, fetch->name, fetch->arg, n);
}
Term *prove_texel(Prover *prover, const ProveFetch *fetch, unsigned channel) {
    return fetched_part(prover, fetch, channel);
}
Term *prove_resident(Prover *prover, const ProveFetch *fetch) {
    return t_eq(&prover->ts, fetched_part(prover, fetch, RESIDENT), prover->ts.zero);
}

Term *prove_offsets(Prover *prover, Term *word, unsigned axes, bool gather) {
    uint32_t mask = 0;
    for (unsigned k = 0; k < axes; k++)
        mask |= gather ? ((1u << GATHER_BITS) - 1) << GATHER_STEP * k
                       : ((1u << OFFSET_BITS) - 1) << OFFSET_BITS * k;
    return t_land(&prover->ts, word, t_const(&prover->ts, 32, mask));
}

void prove_fetch_word(Prover *prover, ProveFetch *fetch, Term *word, unsigned axes, bool layered) {
    Terms *ts = &prover->ts;
    if (layered)
        prove_fetch_add(fetch, t_zext_from(ts, word, WORD_OFFSETS));
    prove_fetch_add(fetch,
                    prove_offsets(prover, t_lshr(ts, word, t_const(ts, 32, WORD_OFFSETS)), axes, false));
}

Term *prove_texture_handle(Prover *prover, const char *name, bool surface) {
    return prove_input(prover, "%s %s", surface ? "surface" : "texture", name);
}
