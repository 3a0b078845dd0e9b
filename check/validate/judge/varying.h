/* What orders of threads make of one allocation: which elements they change, and into what.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_CHECK_VALIDATE_VARYING_H
#define HEDDLE_CHECK_VALIDATE_VARYING_H
#include "base/arena.h"
#include "check/validate/plan/scalar.h"
#include "sim/launch.h"

typedef struct {
    const Scalar *type;  /* of its elements, NULL: not known */
    uint32_t step_bytes; /* from one element to the next */
    uint8_t *changes;    /* by element: 1 where an order differs; NULL: none does */
    double *low, *high;  /* by element of floating-point numbers: its finite values in all orders */
    uint64_t ulps;       /* of floating-point elements: the furthest that an order moves one, at most 64 */
    bool sums;         /* none is moved further: they are sums, and an element further away is another one */
    bool permutes;     /* each order so far arranges the same elements anew, or changes nothing */
    bool open;         /* an element that changes may be anything */
    uint64_t arranged; /* by these elements, whatever their order */
    Arena arena;
    VEC(uint64_t) values; /* of the elements that change, in all orders; sorted up to nsorted */
    uint32_t nsorted;
} Varying;

/* How far an allocation is from what orders make of it. */
typedef enum {
    VARYING_AS_ORDERS, /* every element is the first order's, or changes and is what orders make of it */
    VARYING_OTHER,     /* one that changes is something else */
    VARYING_ELSEWHERE, /* one that no order changes is something else */
    VARYING_FAR        /* one is a sum, and further away than an order moves any */
} VaryingFit;

/* varying: zeroed. first: what all orders are compared with. open: values come from clocks, so
 * that an element that changes may be anything. */
void judge_varying_begin(Varying *varying, const Scalar *type, const SimAlloc *first, bool open);
/* Another order's result. True if it is not the first one's. */
bool judge_varying_add(Varying *varying, const SimAlloc *first, const SimAlloc *other);
VaryingFit judge_varying_fits(Varying *varying, const SimAlloc *first, const SimAlloc *other);
/* Do orders exchange whole values (queues, lists, labels), not only the last bits of sums? */
bool judge_varying_shuffles(const Varying *varying);
void judge_varying_free(Varying *varying);
#endif
