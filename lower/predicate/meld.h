/* Melding: what its parts share. meld.c is the pass and finds regions, lower/predicate/align.c aligns the
 * sides and says what the melded region would cost, lower/predicate/weave.c makes it. docs/predication.md
 * explains. SPDX-License-Identifier: MIT */
#ifndef HEDDLE_LOWER_PREDICATE_MELD_H
#define HEDDLE_LOWER_PREDICATE_MELD_H
#include "lower/predicate/predicate.h"

enum {
    MELD_MOST_PAIRS = 16, /* blocks of a side */
    MELD_MOST_INSTS = 64  /* of one block */
};

typedef struct { /* side 0 and 1 have one each: melded; else the instruction of one side alone */
    InstId inst[2];
    bool late; /* alone, and only the join wants its results: stays under the branch at the end */
} MeldStep;

typedef struct { /* a block of each side, which become one */
    BlockId block[2], now;
    bool crossed; /* side 1 has its two successors the other way round */
    bool ends;    /* jumps to the join */
    float often;  /* of the times that the region is entered */
    VEC(MeldStep) steps;
} MeldPair;

typedef struct { /* one operand or another, as the lane's side is */
    Operand of[2], is;
    unsigned pair; /* where it was chosen */
} MeldChoice;

typedef struct {
    Function *f;
    Arena a;
    PredicateMode predicate; /* what comes next */
    BlockId head, join;
    Operand side[2]; /* true in the lanes of side 0, of side 1 */
    LocId loc;
    MeldPair pair[MELD_MOST_PAIRS];
    unsigned npairs;
    uint32_t nvalues;    /* when the region was found: of the arrays below */
    uint32_t *pair_of;   /* [block] + 1; 0: not in the region */
    uint8_t *side_of;    /* [block] 1 + side in the region */
    uint32_t *mate;      /* [value of side 0] the value of side 1 melded with it */
    uint32_t *now;       /* [value] what it is called in the melded region; 0: as before */
    uint8_t *wanted;     /* [value] before the end of its block; for lists of the values marked so */
    VEC(uint32_t) noted; /* values with a mate, a new name or a want */
    VEC(MeldChoice) choices;
} Meld;

/* ---- lower/predicate/align.c ---- */
/* Aligns all pairs. False: an instruction cannot be executed outside its side; *why says so. */
bool pred_meld_align(Meld *meld, PredicateReason *why);
/* Fills the report: what is expected to be issued as it stands, and melded. */
bool pred_meld_worth(Meld *meld, MeldReport *report);
/* Instructions that make one operand of two: 0 where they are the same; -1: it cannot be. */
int pred_meld_differ(const Meld *meld, Operand zero, Operand one);
bool pred_meld_same(const Meld *meld, Operand zero, Operand one); /* also by melding */
/* Do these phis become one? Both stand at the same place of a pair's blocks. */
bool pred_meld_phis(const Meld *meld, const MeldPair *pair, InstId zero, InstId one);
/* Position of `from` among the predecessors of `block`. */
unsigned pred_meld_edge(const Function *f, BlockId block, BlockId from);
void pred_meld_forget(Meld *meld); /* values of a region that was looked at */

/* ---- lower/predicate/weave.c ---- */
void pred_meld_convert(Meld *meld);
#endif
