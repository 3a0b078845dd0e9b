/* Inside of spilling (see spill.c): its state, and what its files call of each other.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_REGALLOC_SPILL_H
#define HEDDLE_REGALLOC_SPILL_H
#include "regalloc/regalloc.h"

enum { SPILL_FAR = 1u << 30, SPILL_LOOP_EXIT = 100000, SPILL_EDGE = 10, SPILL_MAX_TABLE = 1 << 26 };

typedef struct UseNode {
    struct UseNode *next;
    uint32_t at;
} UseNode;
typedef struct {
    VEC(uint32_t) at;
} Values;

/* A few of the function's values: what a block or an instruction asks costs what is in it, however many there
 * are. */
typedef struct {
    uint32_t *at, *place; /* members; by value: its index in `at` + 1, 0 if it is none */
    unsigned n;
} SpillSet;

typedef struct {
    uint32_t value, rank;
} SpillCandidate;

typedef struct {
    Function *f;
    RegFile file;
    unsigned limit; /* allocatable registers of the file */
    unsigned room;  /* the same, less one for reloads on edges */
    Arena *a;
    RaCfg g;
    RaLive live;
    uint32_t nvals;       /* values before spilling */
    uint32_t **dist;      /* by block, as live.in: distance from the block's start to the next use */
    UseNode **uses;       /* by value: uses in the current block still to come */
    Values *w_in, *w_out; /* by block: values in registers */
    VEC(SpillCandidate) candidates; /* for the block at hand */
    bool *done;                     /* by block */
    unsigned *pressure;             /* by block: as it was before spilling, + 1; 0 not asked for yet */
    SpillSet w;                     /* values in registers now */
    Bitset spilled;                 /* has, or will get, a home */
    Bitset in_memory;               /* phi results whose operands arrive in the home */
    ValId *home_value;              /* P, UR, UP: value of another file */
    uint32_t *home_slot;            /* R: offset + 1 in the spill area */
    InstId *remat;                  /* instruction to repeat, 0 if none */
} Spill;

static inline bool ra_spill_in_file(const Spill *spill, ValId v) {
    return v.i && spill->f->values.at[v.i].file == spill->file;
}
static inline bool ra_spill_has_value(const Values *values, uint32_t x) {
    for (unsigned k = 0; k < values->at.n; k++)
        if (values->at.at[k] == x)
            return true;
    return false;
}

/* ---- next uses (spill_use.c) ---- */
void ra_spill_next_uses(Spill *spill); /* distances over the whole function, before the walk */
/* Distance from the start of the block to the next use of v; NULL if v is not live there, or there is no
 * table. */
uint32_t *ra_spill_dist_at(const Spill *spill, uint32_t block, uint32_t v);
/* Instructions from position `at` of block b to the next use of value v; SPILL_FAR if there is none. */
uint32_t ra_spill_next_use(const Spill *spill, BlockId b, uint32_t at, uint32_t v);

/* ---- homes (spill_home.c) ---- */
void ra_spill_find_repeatable(Spill *spill); /* fills Spill.remat */
RegFile ra_spill_home_file(RegFile file);
ValId ra_spill_home_value(Spill *spill, uint32_t v);   /* of P, UR, UP; made when first asked for */
uint32_t ra_spill_home_slot(Spill *spill, uint32_t v); /* of R: bytes from the start of the spill area */
InstId ra_spill_make(Function *f, unsigned op, unsigned ndst, unsigned nsrc, Operand first, Operand second);
InstId ra_spill_make_copy(Function *f, Operand dst, Operand src);
void ra_spill_add(Spill *spill, InstIds *out, InstId id, LocId loc);
void ra_spill_store_home(Spill *spill, uint32_t v, InstIds *out, LocId loc);
void ra_spill_reload(Spill *spill, uint32_t v, InstIds *out, LocId loc);

/* Each file may spill into a later one. */
enum { RA_SPILL_FILES = 4 };
extern const RegFile ra_spill_order[RA_SPILL_FILES]; /* spill.c */

/* ---- nests deeper than there are registers (spill_nest.c) ---- */
/* Spills what lives through one, before anything is known of liveness; brings `cfg` (in `arena`) up to date.
 */
void ra_spill_nests(Function *f, Arena *arena, RaCfg *cfg);

/* ---- edges and phis, when every block's registers are decided (spill_edge.c) ---- */
/* Decide which phis stay in memory; gives those of R the slot + 1 in which their operands arrive. */
void ra_spill_place_phis(Spill *spill, uint32_t *phi_slot, Arena *arena, RaRecord *rec);
void ra_spill_connect_edges(Spill *spill,
                            uint32_t *phi_slot); /* reloads of what the target expects in registers */
/* Adds the list in front of the block's instruction at position `at`. */
void ra_spill_insert(Function *f, BlockId b, unsigned at, const InstIds *list);
/* Stores of the block's spilled results; instructions from `ninsts_before` on are spilling's own. */
void ra_spill_finish_block(Spill *s, BlockId b, const uint32_t *phi_slot, uint32_t ninsts_before);
#endif
