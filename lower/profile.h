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
#endif
