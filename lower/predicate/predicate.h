/* Predication: what its parts share. predicate.c is the pass, lower/predicate/shape.c finds regions and says
 * what an instruction allows, lower/predicate/cost.c decides, lower/predicate/convert.c plans and rewrites
 * one region, lower/predicate/keep.c guards updates on edges. See docs/predication.md.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_LOWER_PREDICATE_PREDICATE_H
#define HEDDLE_LOWER_PREDICATE_PREDICATE_H
#include "ir/ir.h"
#include "ir/loops.h"

enum {
    PRED_MAX_INSTS = 64,  /* of the sides of one region, in mode max */
    PRED_AUTO_INSTS = 12, /* in mode auto */
    PRED_MAX_BLOCK =
        1024,      /* of the block that a region becomes: later passes take more than linear time in it */
    PRED_SPARE = 1 /* predicate registers that a region must leave free */
};

typedef struct {
    BlockId block;
    unsigned n;    /* its instructions, without what ends it */
    Operand guard; /* true in the lanes that take this side */
} PredSide;

typedef enum {
    PM_SAME,
    PM_OTHER,
    PM_TIE,
    PM_SELECT
} PredMergeHow;  /* first operand, second, second tied, select */
typedef struct { /* one phi of the join: where two edges become one */
    InstId phi;
    PredMergeHow how;
    Operand base, taken; /* value without, and with the side `of` */
    unsigned of;
} PredMerge;

typedef struct { /* a definition of a side that must keep a value in lanes that do not take the side */
    InstId inst;
    unsigned slot, component;
    uint32_t old;
} PredTie;

typedef struct { /* the conjunction of the side's guard and another, made in the side */
    Operand of, is;
} PredAnd;

/* A branch whose sides can become guarded code:
 *   triangle  head -> side, join     side -> join
 *   diamond   head -> side 0, side 1, both -> join
 *   exit      head -> side, join     the side ends in EXIT
 *   branch    head -> side, join     side -> join, out
 *   leave     head -> side, join     side -> out, in the same loop or its header */
typedef struct {
    BlockId head, join, out;
    PredicateShape shape;
    unsigned nsides;
    PredSide side[2];
    bool shared_exit; /* side 0 is an EXIT and nothing else, and stays for others */
    bool uniform;     /* all lanes go the same way */
    bool join_exits;  /* nothing but EXIT behind it: no barrier */
    /* made by pred_plan */
    VEC(PredMerge) merges;
    VEC(PredTie) ties;
    unsigned ninsts, nselects, nands, npredicates;
} PredRegion;

typedef struct {
    Function *f;
    Arena a;
    PredicateMode mode;
    bool barriers;        /* divergent branches get a convergence barrier */
    uint32_t *live_index; /* [value, of those that there were first] + 1: a predicate that more than one block
                             uses */
    uint32_t nlive, nindexed;
    uint32_t *live_value; /* [index] */
    Bitset *live_in;      /* [block] */
    Bitset scratch;
    LoopForest loops;
    uint32_t *round; /* [block] header of the innermost loop around it; 0: none */
    bool *queued;    /* [block] */
    VEC(uint32_t) work;
} Pred;

/* What an instruction of a side becomes. */
typedef enum {
    PK_KEEP,  /* no machine instruction: stays without a guard */
    PK_PLAIN, /* cheap, without effects: may be executed by all lanes */
    PK_GUARD, /* only under the side's guard */
    PK_NONE   /* cannot be predicated */
} PredKind;

/* ---- lower/predicate/shape.c ---- */
/* The next shape that the branch at the end of head has, from number *from on; false: no more. */
bool pred_find(const Pred *pred, BlockId head, unsigned *from, PredRegion *region);
PredicateReason pred_why_not(const Pred *pred, BlockId head); /* of a branch without a shape */
/* Would it join the conditions of a loop that may wait for another thread? */
bool pred_waits(const Pred *pred, const PredRegion *region);
PredKind pred_kind(const Function *f, const Inst *i, PredicateReason *why);
/* Destination slot and component of value v. */
bool pred_slot(const Function *f, const Inst *i, uint32_t v, unsigned *slot, unsigned *component);

/* ---- lower/predicate/convert.c ---- */
/* Decide for each instruction and phi what becomes of it; nothing is changed but Inst.aux, which pred_forget
 * clears. */
PredicateReason pred_plan(Pred *pred, PredRegion *region);
void pred_forget(Pred *pred, const PredRegion *region);
InstId pred_convert(Pred *pred, PredRegion *region); /* the first instruction under the guard */

/* ---- lower/predicate/keep.c ---- */
bool pred_keep(Function *f); /* updates under the condition of the way that wants them; says whether any */

/* ---- lower/predicate/cost.c ---- */
void pred_live(Pred *pred); /* predicates that live across blocks */
PredicateReason pred_worth(const Pred *pred, const PredRegion *region, PredicateReport *report);
#endif
