/* Orders of threads: may a difference of memory be one that PTX leaves to the order in which threads run?
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_CHECK_VALIDATE_ORDERS_H
#define HEDDLE_CHECK_VALIDATE_ORDERS_H
#include "check/validate/compare/diff.h"

enum { ORDERS_ENOUGH = 16 }; /* of the PTX, to know what varies */

/* What lanes see of each other besides memory. */
typedef enum {
    ORDERS_LANES_KNOWN, /* follows from the order of threads, or is the machine's in all orders */
    ORDERS_LANES_OPEN,  /* has more outcomes than those of the orders that were tried */
    ORDERS_LANES_LOST   /* ... and the machine's could not be followed */
} OrdersLanes;

typedef struct {
    Plan *plan;
    const PlanLaunch *launch;
    const PtxModule *module;
    const Binary *binary;
    const DiffOther *other;         /* what runs the binary */
    const MachineOptions *options;  /* and how */
    uint64_t budget;                /* of the PTX */
    bool late_copies;               /* of the first order, and so of the others */
    unsigned orders;                /* to try where the memories are equal; 0: two */
    const SimMemory *before;        /* of the PTX side */
    const SimMemory *ptx, *machine; /* behind the launch */
    const bool *skip;               /* by allocation: not compared */
    bool equal;                     /* they are, in what is compared */
    bool other_moments;             /* of the machine (check/validate/compare/moments.h) */
    const PtxActive *active; /* what activemask gives, and what is known of it: zeros, judge_try_orders */
    OrdersLanes lanes;       /* ... finds it out */
} OrdersQuestion;

typedef enum {
    ORDERS_EXPLAIN, /* the machine differs from the first order only where the orders differ, or not at all */
    ORDERS_LEAVE_OPEN, /* elsewhere too, but in buffers in which they differ, of the PTX or of the binary: one
                          of the PTX that was not tried may do that */
    ORDERS_DO_NOT
} OrdersApart;

typedef struct {
    unsigned different; /* orders whose result is not the first one's; a trap is another result */
    bool one_is_it;     /* one of them has the machine's result */
    bool active;        /* ... if activemask gives the machine's lanes */
    bool sums;          /* the same numbers were added to places in another order: that is no difference for
                           `different`          and `apart` (check/validate/judge/sums.h) */
    OrdersApart apart;
} Orders;

Orders judge_try_orders(const OrdersQuestion *question);
#endif
