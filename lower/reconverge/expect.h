/* What an expected run knows of a function: the ways that lanes go (expect.c), and with a set of joins the
 * places that they go to (expect_run.c). SPDX-License-Identifier: MIT */
#ifndef HEDDLE_LOWER_RECONVERGE_EXPECT_H
#define HEDDLE_LOWER_RECONVERGE_EXPECT_H
#include "lower/profile.h"
#include "lower/reconverge/reconverge.h"

enum {
    LANES = 32,
    WARPS = 2,          /* the odd ones with lopsided branches */
    MEASURED_WARPS = 8, /* with a profile: what one of eight warps does is not to be missed by chance */
    LONGEST_WAY = 320,  /* blocks; then the shortest way out */
    LONGEST_MEASURED_WAY =
        2048,       /* with a profile: how far lanes drift apart round after round is to be seen */
    CALL_COST = 24, /* instructions of a callee */
    INST_WEIGHT = 32,
    LEAST_B_WEIGHT = 5,
    MOST_B_WEIGHT = 16,
    MOST_DRAWN = 64,   /* ways of a branch; the others are never drawn */
    COPY_IN_BLOCK = 16 /* so many copies on an edge, in parts of an instruction, stand in a block */
};

#define NOWHERE UINT32_MAX /* lanes end */

typedef struct {
    uint32_t
        *edges; /* into graph.succ, of the blocks with several; last their number, should the way end there.
                   An expected run wants the slots in their place, NOWHERE for the last (take_slots) */
} Way;

typedef struct { /* edges that leave a loop */
    uint32_t n;
    double ends;
    uint64_t lanes; /* that took them, in a profile */
} Exits;

typedef struct {
    uint32_t join, next; /* next + 1: place in the pool; 0: none */
} Listed;

/* A position that lanes go to: a block, or behind all blocks an edge whose BREAKs come first. */
typedef enum { PLACE_EDGE, PLACE_GOES_ON, PLACE_BRANCHES, PLACE_ENDS } PlaceKind;
typedef struct {
    uint32_t cost; /* without its BSYNC */
    uint32_t join; /* number in the set + 1 of the join that waits there */
    uint32_t
        list; /* head in `pool` + 1: of a block the joins whose BSSY stands there, of an edge their BREAKs */
    uint8_t kind; /* PlaceKind */
    bool forks;   /* PLACE_BRANCHES: two slots */
    bool gathers; /* all lanes wait for each other, with a join or without: it begins with WARPSYNC */
    bool plain; /* a block where lanes do nothing but run it: no part begins there, no join has to do with it
                 */
    uint32_t slot; /* PLACE_BRANCHES: the one that follows in the text */
    uint32_t to;   /* PLACE_EDGE, PLACE_GOES_ON: the next position; PLACE_BRANCHES: the edge of slot 0 */
} Place;

/* Lanes that joined together and wait for each other, one set beside the other. */
typedef struct {
    uint32_t n, sets[LANES];
} Members;

/* Lanes at the block that a part begins with, in it together, and what they decide from there on. */
typedef struct {
    uint32_t lanes;
    const uint32_t *next[LANES];
} PartStart;
typedef struct {
    uint32_t first, last;
    bool known;
} JoinParts;
typedef struct { /* from a part's beginning to that of another, or to the end */
    uint64_t hash, issues, steps;
    uint32_t to, next;
} PartRun;

struct Expect {
    Reconv *reconv;
    LoopForest loops; /* those that had one header are one */
    const bool *divergent;
    const PtxBranch **counts; /* [block] of a profile, or NULL */
    uint32_t *counted_at;     /* [block] the first one with the same counts */
    uint32_t *replayed;       /* [block] ways of its counts' record that the lane has gone */
    uint32_t nrecorded;       /* warps; 0: there are no records */
    Compared *compared;
    uint32_t *entered; /* [header] visits before the lane whose way is drawn came into the loop last */
    uint32_t
        *until_rare;   /* [block] draws of its branch before the next one that goes where lanes hardly go */
    uint32_t *taken;   /* [edge] how often by lanes */
    uint32_t b_weight; /* BSSY, BSYNC, BREAK, the BRA of a BREAK's block */
    uint32_t *cost;    /* [block] */
    uint32_t *first;   /* [block] the successor slot that follows in the text */
    uint32_t *out;     /* [block] the slot on a shortest way to an end */
    bool *ends_way;    /* [block] */
    uint32_t *rare;    /* [block] the slot of two that lanes hardly ever take, or NO_NODE */
    bool assigns;      /* BSSY sets the barrier: each lane waits for those that it joined with, one set; else
                          it adds to the one set that all wait for */
    uint8_t *copies;   /* [edge] for phis */
    uint32_t *edge_cost; /* [edge] of the copies in a block of its own */
    double *below;       /* [edge] instructions that only it leads to, those in loops as often as they run */
    bool *leaves;        /* [edge] it leaves a loop, or ends */
    double *likely[2];   /* [edge] of divergent branches, in warps that are even, lopsided */
    double *ends;        /* [edge] ways on to where all ways of its branch meet */
    uint32_t *drawn;     /* edges of the way that is drawn */
    unsigned nwarps;
    uint32_t longest_way, longest_drawn; /* blocks: may be drawn; were drawn for a lane */
    Way way[MEASURED_WARPS][LANES];      /* of nwarps */
    bool *comes;                         /* [position] lanes, on their ways */
    uint8_t *most_lanes;                 /* [block] of one warp that come there; NULL: not counted yet */
    uint64_t steps;                      /* with those of runs that are remembered */
    uint64_t ran;                        /* without */
    /* parts (expect_parts.c), and what ran in them */
    uint32_t nparts, *part_block;
    uint32_t *part_at;                /* [position] 1 + the part that begins there, or 0 */
    uint32_t *first_part, *last_part; /* [block] parts from which lanes come there */
    PartStart *starts;                /* [warp, part] */
    uint32_t *run_of;                 /* [warp, part] 1 + the first of its runs */
    uint64_t *hash;                   /* [part] what tells the set from others in those before it */
    VEC(PartRun) runs;
    VEC(JoinParts) of_join; /* [Join.number] */
    bool stopped;           /* the last run did, and lanes stand about */
    Place *bare;            /* [position] with no join */
    uint32_t *bare_to;
    /* of one set */
    Place *places; /* [position] */
    uint32_t *to;  /* [edge] position behind it */
    VEC(Listed) pool;
    uint32_t njoins, most_joins;
    uint32_t *pending;  /* [join] lanes */
    Members *members;   /* [join] the same ones; NULL: all wait for all */
    uint32_t *issued;   /* [block] how often, with those of runs that are over */
    uint32_t *least;    /* [block] how often it is issued at least, by all warps */
    uint32_t *standing; /* [position] lanes, of the warp that runs */
};

static inline uint32_t slots_of(const Graph *graph, uint32_t b) {
    return graph->succ_at[b + 1] - graph->succ_at[b];
}
static inline double unit_of(uint64_t hash) { return (double)(hash >> 11) * 0x1p-53; }
/* In which round of its loop is the lane, that has come to b? Lanes that came into the loop together are in
 * the same, however often others were in it before. */
static inline uint32_t round_of(const Expect *expect, uint32_t b, const uint32_t *visits) {
    uint32_t l = expect->loops.innermost[b], header = l == NO_NODE ? b : expect->loops.at[l].header;
    return visits[header] - expect->entered[header];
}
/* The way that the lane takes at the end of a block whose ways a profile counted. */
uint32_t reconv_measured_slot(const Expect *expect, uint32_t b, unsigned warp, uint32_t lane,
                              const uint32_t *visits, const Exits *exits);
/* The way that the recorded lane went there next; NO_NODE: not known. */
uint32_t reconv_recorded_slot(Expect *expect, uint32_t b, unsigned warp, uint32_t lane);
/* Which branches have one record, and how many warps were recorded. */
void reconv_find_records(Expect *expect, Arena *a);
/* The function's parts and where its lanes are there; their ways are slots already. */
void reconv_expect_parts(Expect *expect);
#endif
