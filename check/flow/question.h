/* Branches that ask for the lanes of a mask. SPDX-License-Identifier: MIT */
#ifndef HEDDLE_CHECK_FLOW_QUESTION_H
#define HEDDLE_CHECK_FLOW_QUESTION_H
#include "check/flow/binflow.h"

typedef struct {
    uint32_t who;    /* VOTE or MATCH: who is here, with the same mask */
    uint32_t answer; /* LOP3, or the VOTE behind it: is a lane of the mask missing, of one lane's at least? */
    Operand mask;    /* a number, or in R, from `who` to the branch */
    uint32_t fast, slow; /* blocks: fast if none is */
} BinQuestion;

/* Does the branch, the last instruction of its block, lead to `block` only where a vote has found all 32
 * lanes of the warp active? */
bool bin_found_all(const BinFlow *flow, uint32_t branch, uint32_t block);
/* Does the branch, the last instruction of its block, ask so? */
bool bin_question(const BinFlow *flow, uint32_t branch, BinQuestion *question);
#endif
