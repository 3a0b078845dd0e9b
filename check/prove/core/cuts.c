/* Cut points: the places where both sides are compared, as pairing.c proposes them.
 * SPDX-License-Identifier: MIT */
#include "check/prove/core/core.h"

void prove_core_add_cut(Core *core, uint32_t ptx, uint32_t mach) {
    Prover *prover = &core->p;
    Cut k = {.ptx = ptx, .mach = mach};
    k.pv = ARENA_ARRAY(&prover->arena, Term *, prover->nptx);
    k.lv = ARENA_ARRAY(&prover->arena, Term *, prover->nloc);
    k.phi = ARENA_ARRAY(&prover->arena, uint8_t, prover->nptx);
    k.whole = ARENA_ARRAY(&prover->arena, bool, prover->nptx);
    k.twin = ARENA_ARRAY(&prover->arena, Twin, prover->nptx);
    k.level = ARENA_ARRAY(&prover->arena, uint8_t, prover->nloc);
    k.relation = ARENA_ARRAY(&prover->arena, Relation, prover->nloc);
    k.seen = ARENA_ARRAY(&prover->arena, Term *, prover->nseen + 1);
    k.seen_level = ARENA_ARRAY(&prover->arena, uint8_t, prover->nseen + 1);
    k.says = ARENA_ARRAY(&prover->arena, uint8_t, prover->nseen + 1);
    k.known = prover->ts.truth;
    k.pass_ptx = ARENA_ARRAY(&prover->arena, uint8_t, prover->nblocks);
    k.pass_mach = ARENA_ARRAY(&prover->arena, bool, prover->ff->nblocks + 1);
    core->cut_of[mach - prover->ff->first_block] = core->cuts.n + 1;
    VEC_ADD(&prover->arena, &core->cuts, k);
    core->mach_stop[mach - prover->ff->first_block] = true;
    core->ptx_stop[ptx] = true;
}

void prove_core_no_cuts(Core *core) {
    Prover *prover = &core->p;
    core->cut_of = ARENA_ARRAY(&prover->arena, uint32_t, prover->ff->nblocks + 1);
    core->mach_stop = ARENA_ARRAY(&prover->arena, bool, prover->ff->nblocks + 1);
    core->ptx_stop = ARENA_ARRAY(&prover->arena, bool, prover->nblocks + 1);
    if (prover->blocks[0].header) /* the entry is a loop header: the first visit is a region of its own only
                                if it has code */
        core->ptx_stop[0] = true;
}

bool prove_core_find_cuts(Core *core, bool with_rounds) {
    Prover *prover = &core->p;
    prove_core_no_cuts(core);
    prove_core_add_cut(core, 0, prover->ff->first_block);
    uint32_t *partner = prove_pairing(prover),
             *others = arena_copy(&prover->arena, partner, (prover->ff->nblocks + 1) * sizeof *partner);
    bool rounds = with_rounds && prove_pairing_rounds(prover, partner);
    for (uint32_t k = 1; k < prover->ff->nrpo; k++) {
        uint32_t b = prover->ff->rpo[k], ptx = partner[b - prover->ff->first_block];
        if (ptx == PROVE_NO_BLOCK)
            continue;
        prove_core_add_cut(core, ptx, b);
        core->cuts.at[core->cuts.n - 1].round = others[b - prover->ff->first_block] == PROVE_NO_BLOCK;
    }
    return rounds;
}
