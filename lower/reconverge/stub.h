/* What lower/reconverge/stub.c and fast.c share: the places of collectives. SPDX-License-Identifier: MIT */
#ifndef HEDDLE_LOWER_RECONVERGE_STUB_H
#define HEDDLE_LOWER_RECONVERGE_STUB_H
#include "lower/reconverge/reconverge.h"
#include <string.h>

typedef struct {
    Function *f;
    BlockId block;
    InstId inst, result; /* result: the B2R_RESULT of a BAR_RED */
    uint32_t parent;     /* union-find over sites */
    bool uniform, aligned;
    Operand mask;
    ReconvBallot ballot;
} StubSite;

typedef struct {
    bool ready;
    Graph g;
    DomTree dom;
    PostDom pd;
    Bitset roots; /* open functions from which it is reached */
} StubFacts;

/* Of a function's graph without the blocks that lanes of the mask never come to. */
typedef struct {
    const Function *f;
    uint32_t mask;
    StubFacts facts;
} MaskFacts;

typedef struct {
    IrModule *m;
    Arena a;
    VEC(StubSite) sites;
    StubFacts *facts; /* [func] */
    VEC(MaskFacts) of_masks;
    uint32_t turn_tests, asked;
} Stubs;

static inline bool reconv_is_bar(unsigned op) { return isa_has_effect(op, ISA_EFFECT_CTA_BARRIER); }
static inline bool reconv_same_operand(Operand a, Operand b) { return memcmp(&a, &b, sizeof a) == 0; }

/* The place that stands for all that share place k's stub; is it alone? then itself. */
uint32_t reconv_stub_leader(Stubs *stubs, uint32_t k);
/* May lanes of one kernel come to both functions? */
bool reconv_share_root(const StubFacts *facts, const StubFacts *b);
unsigned reconv_position(Function *f, BlockId b, InstId id); /* of an instruction in its block */

/* differ: [place] of a group's leader: lanes with different masks may wait there at one time. size: [place]
 * of its group, if it leads one. Is there such a group? */
bool reconv_find_different_masks(Stubs *stubs, const uint32_t *size, bool *differ);
/* Votes of masks in registers, where lanes of several may vote together: behind WARPSYNC, or on a fast way.
 */
void reconv_mask_votes(Stubs *stubs, const bool *differ);
/* Puts the fast ways in (lower/reconverge/ask.c). notes: or NULL; the places' blocks are kept right */
void reconv_ask_sites(Stubs *stubs, const uint32_t *size, const bool *differ, SyncNotes *notes);
#endif
