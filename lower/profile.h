/* What a profile says of the branches of machine IR. Valid from instruction selection to layout: successors
 * stay in the order of the PTX branch's ways, and a branch whose condition was made another says so
 * (IF_REWRITTEN). SPDX-License-Identifier: MIT */
#ifndef HEDDLE_LOWER_PROFILE_H
#define HEDDLE_LOWER_PROFILE_H
#include "frontend/profile.h"
#include "ir/ir.h"

/* Counts of the branch that ends the block, one way for each successor, in their order. NULL: the module has
 * no profile, the branch was never executed, or it is none of the text. */
const PtxBranch *lower_branch_counts(const Function *f, BlockId block);
/* The same, and what is known of a branch whose condition was made another (lower_rewritten): how often lanes
 * part there, not how they go round by round. */
const PtxBranch *lower_branch_odds(const Function *f, BlockId block);
/* Of a branch whose first way is way `inner` of one with two. NULL where `head` is. */
const PtxBranch *lower_moved_odds(Function *f, const PtxBranch *head, unsigned inner);
/* Of a branch that decides what two did: way `inner` of `head` led to `side`, whose way `out` is the first of
 * the new one; the second is where their other ways lead. NULL where nothing is known of one that lanes come
 * to. How often all go together is made of how often they did at each of the two. */
const PtxBranch *lower_joined_odds(Function *f, const PtxBranch *head, unsigned inner, const PtxBranch *side,
                                   unsigned out);
/* The branch has another condition than its statement now. odds: what is known of it, or NULL */
void lower_rewritten(Function *f, InstId branch, const PtxBranch *odds);
/* The branch that ends the block stands several times from now on, once for each round of a loop: what lanes
 * did there one time after the other is none of one copy, which has the counts of all. */
void lower_copied(Function *f, BlockId block);
#endif
