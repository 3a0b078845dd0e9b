/* Fetches from textures as terms, named alike on both sides (mach_texture.c, ptx_texture.c).
 *
 * A fetch is a function of its arguments: the handle of texture and sampler, the place (the layer first), the
 * level of detail, the offsets in texels. Nothing is known of it but that.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_CHECK_PROVE_TEXTURE_H
#define HEDDLE_CHECK_PROVE_TEXTURE_H
#include "check/prove/lane/internal.h"

enum { PROVE_MOST_TEXTURE = 12, PROVE_BASE_LEVEL = (int)0xc2000000 }; /* -32.0: as no level asked for */

typedef struct {
    const char *name;
    Term *arg[PROVE_MOST_TEXTURE];
    uint32_t n;
} ProveFetch;

void prove_fetch_add(ProveFetch *fetch, Term *arg);
/* One channel of what it finds, 0 to 3. */
Term *prove_texel(Prover *prover, const ProveFetch *fetch, unsigned channel);
Term *prove_resident(Prover *prover, const ProveFetch *fetch); /* nothing of it is missing */
/* Offsets on so many axes, as they stand in a word: 4 bits each, one behind the other; of a gather 6 of 8. */
Term *prove_offsets(Prover *prover, Term *word, unsigned axes, bool gather);
/* Layer and offsets of TXD's word. */
void prove_fetch_word(Prover *prover, ProveFetch *fetch, Term *word, unsigned axes, bool layered);
/* The handle of a texture or surface that the kernel names. */
Term *prove_texture_handle(Prover *prover, const char *name, bool surface);

#endif
