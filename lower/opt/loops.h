/* What the files of the pass `unroll` share.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_LOWER_OPT_LOOPS_H
#define HEDDLE_LOWER_OPT_LOOPS_H
#include "ir/cfg.h"
#include "lower/opt/fold.h"

typedef struct {     /* a loop that is entered at its header alone */
    BlockIds blocks; /* the header first, in reverse post-order */
    bool *inside;    /* [block] */
} OptLoop;

typedef struct {          /* one of the branches that a loop has in every round */
    BlockId block;        /* whose two ways lead into the loop and out of it */
    bool leaves_if_taken; /* which of them */
    unsigned round;       /* in which it leaves, from 0 on; in those before it never does */
} OptExit;

typedef struct { /* what a search for the last round notes of values; nothing between two searches */
    Fold fold;
    uint8_t *state;   /* [value] */
    uint32_t nvalues; /* for which there is room */
} OptRounds;

/* Is it known which round is the last? At most `most` of them come before it. `rounds` is zero at first, and
 * its arena is the caller's to free. */
bool opt_last_round(Function *f, OptRounds *rounds, const OptLoop *loop, unsigned most, OptExit *exit);

/* Copies the loop for each of its rounds, one behind the other, the branch of the last one decided. */
void opt_unroll_loop(Function *f, const OptLoop *loop, const OptExit *exit);
#endif
