/* The regions of convergence barriers in decoded code: for each BSSY what lanes may execute from there on
 * until they wait at a BSYNC of its register, or leave by a BREAK of it. For reports; nothing is judged by
 * them. SPDX-License-Identifier: MIT */
#ifndef HEDDLE_CHECK_FLOW_REGIONS_H
#define HEDDLE_CHECK_FLOW_REGIONS_H
#include "check/flow/binflow.h"

typedef struct {
    uint32_t bssy;                  /* instruction */
    uint32_t sync;                  /* the first BSYNC that ends it; BINFLOW_NONE: none does */
    uint32_t ninsts;                /* in it, without the two */
    uint32_t nbranches, nbreaks;    /* branches with several ways; BREAKs of its register */
    uint32_t depth;                 /* regions that the BSSY is in */
    uint32_t first_line, last_line; /* in the PTX; 0: the file does not say */
    const bool *inside;             /* [instruction of the function] it is in the region; the BSYNC is not */
    uint8_t reg;
} BinRegion;

/* Those of one function (index in Binary.funcs) in the order of the code, in the arena; *n of them. */
const BinRegion *bin_regions(const BinFlow *flow, uint32_t func, Arena *a, uint32_t *n);
#endif
