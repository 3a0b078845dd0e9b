/* What the passes of this folder ask each other. Their prototypes come from ir/passes.def.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_LOWER_PASSES_H
#define HEDDLE_LOWER_PASSES_H
#include "ir/pass.h"

/* Do all lanes that execute the end of block b together go the same way? True for one successor. Valid
 * after uniformity; false for what is not known. */
bool uniform_branch(const Function *f, BlockId b);

/* ---- shared by these passes ---- */
/* YIELD on the retry paths of loops that wait for other threads. observes: [func index] a call of it may
 * observe another thread's progress. */
bool reconv_yield_retry_loops(Function *f, const bool *observes);
#endif
