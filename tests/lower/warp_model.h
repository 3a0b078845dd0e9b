/* A model of one warp that executes the control instructions of machine IR with the masks of the resolved
 * semantics (docs/spec-resolutions.md), and the per-lane oracle: each lane alone, through the CFG as it was
 * before reconvergence. Which way a lane goes is a hash of seed, lane, block and visit.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_TESTS_WARP_MODEL_H
#define HEDDLE_TESTS_WARP_MODEL_H
#include "ir/ir.h"

enum { MODEL_LANES = 32, MODEL_MAX_BLOCKS = 512 };

typedef struct { /* the CFG before the pass; blocks 1..n */
    uint32_t n;
    uint32_t nsucc[MODEL_MAX_BLOCKS], succ[MODEL_MAX_BLOCKS][4];
    uint32_t out[MODEL_MAX_BLOCKS]; /* successor on a shortest way to an end */
    uint64_t seed;
} ModelCfg;

void model_shortest(ModelCfg *cfg);
/* Hash of the blocks that a lane visits. */
uint64_t model_lane(const ModelCfg *cfg, unsigned lane);
/* Successor number that the lane takes at its `visit`-th step, which is at `block`. */
uint32_t model_choice(const ModelCfg *cfg, unsigned lane, uint32_t block, uint32_t visit);

typedef struct {
    bool hung, bad_trace, stale_return;
    uint64_t issues;       /* instructions issued */
    uint64_t block_issues; /* of them, first instructions of original blocks */
} ModelResult;
ModelResult model_run(Function *f, const ModelCfg *cfg);
/* Instructions of that operation in the layout. */
unsigned model_count_op(Function *f, unsigned op);
/* Block issues of the same decisions on a machine with a stack of masks that joins lanes at classic
 * immediate post-dominators: what the ratios of docs/reconvergence.md are relative to. */
uint64_t model_stack(const ModelCfg *cfg);
#endif
