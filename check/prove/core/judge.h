/* SPDX-License-Identifier: MIT */
#ifndef HEDDLE_CHECK_PROVE_JUDGE_H
#define HEDDLE_CHECK_PROVE_JUDGE_H
#include "check/prove/core/core.h"

typedef struct { /* judging one region */
    Core *core;
    ProveReport *report;
    Cut *q;
    ProveRegion *out;
    uint32_t bad_ptx, bad_mach; /* statement, instruction */
    bool concrete_only;         /* do not ask Z3 */
    Term *base;                 /* NULL, or when the region is entered at all */
    ProveSearch *search;        /* NULL, or a launch is looked for that shows what differs */
} Judge;

void prove_judge_obligations(Judge *judge, Cut *cut);
/* Look for a refutation of a region that could not be proved along the paths that lead to it, where what its
 * locations hold is known exactly. */
void prove_judge_pursue(Judge *judge, Cut *cut);
/* Or with what the map says that its locations hold: if that would prove it, the path that brings something
 * else is wrong. */
void prove_judge_blame(Judge *judge, Cut *cut);
bool prove_judge_replay(Judge *judge,
                        uint64_t seed); /* the simulator agrees with the machine side of the region */
bool prove_judge_equal(Judge *judge, Term *cond, Term *term, Term *y, const char *what, uint32_t ptx_at,
                       uint32_t mach_at);
void prove_judge_unknown(Judge *judge, const char *why, uint32_t ptx_at, uint32_t mach_at);
/* Unknown for the time being: a difference was found, and whether it is one has to be shown. */
void prove_judge_candidate(Judge *judge, const char *why, uint32_t ptx_at, uint32_t mach_at);
void prove_judge_results(Judge *judge, const Exit *x, const Exit *exit, Term *cond);
/* The assignment of `seed` shows a difference: confirm it and say so. */
void prove_judge_refute(Judge *judge, uint64_t seed, Term *cond, Term *term, Term *y, const char *what,
                        uint32_t ptx_at, uint32_t mach_at);
/* Run the region of `cut`, a copy with other contents, and judge it; false if it cannot be run. */
bool prove_judge_again(Judge *judge, Cut *cut);
/* A difference under `cond`, of x and y or (NULL) of what happens at all: find values that reach it. */
void prove_search_goal(Judge *judge, Term *cond, Term *x, Term *y, const char *what, uint32_t ptx_at,
                       uint32_t mach_at);
#endif
