/* Where the paths of a procedure meet, and what lies between a branch and that place (regions.c).
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_CHECK_STATIC_REGIONS_H
#define HEDDLE_CHECK_STATIC_REGIONS_H
#include "check/static/internal.h"

/* Regions are numbered: what the nodes of a region lead to over their parts has numbers up to its own. */
typedef struct {
    Arena *arena;
    const BinFlow *flow;
    const Proc *proc;
    const uint32_t *ipdom; /* by block */
    uint64_t *steps;
    uint32_t base, *position;      /* of block base + k in proc->rpo, NONE if it is none of its blocks */
    uint32_t *depth, *jump;        /* by position, in the tree of post-dominators; [proc->nrpo] is its root */
    uint32_t *part_at, *parts;     /* by node: nodes that it consists of, or that its region does */
    uint32_t *number, n;           /* by node: of its region; how many there are */
    uint32_t *member_at, *members; /* by region: its nodes */
    bool *swept;                   /* by node, of check_region_sweep */
    uint32_t *todo;                /* of nodes: scratch */
} Regions;

/* ipdom[block] for the blocks of `proc`: NONE where paths do not meet. Ways that lead away from where most
 * paths end are left aside. */
void check_post_dominators(const BinFlow *flow, const Proc *proc, uint32_t *ipdom, Arena *scratch);

Regions check_regions(const BinFlow *flow, const Proc *proc, const uint32_t *ipdom, uint64_t *steps,
                      Arena *arena);
uint32_t check_region_of(const Regions *regions, uint32_t block);
/* The block that a node stands for; NONE: it stands for several. */
uint32_t check_region_block(const Regions *regions, uint32_t node);
/* Does the side of `block` that begins with block `side` lead back to `block` before the sides meet? */
bool check_region_leads_back(const Regions *regions, uint32_t block, uint32_t side);
/* Marks the blocks of the region of `block`; what one sweep has come to the next ones leave out. Returns
 * whether any was not marked before. */
bool check_region_sweep(Regions *regions, uint32_t block, bool *mark);
#endif
