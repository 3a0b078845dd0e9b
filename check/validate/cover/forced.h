/* Branches that go one way in every launch, whatever the data are: blocks behind their other way are not
 * executed by any. Compilers leave them where they unroll a loop for a size of block that they do not know to
 * be that of the launch.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_CHECK_VALIDATE_FORCED_H
#define HEDDLE_CHECK_VALIDATE_FORCED_H
#include "frontend/ast.h"

typedef enum { FORCED_NOT, FORCED_TAKEN, FORCED_PASSED, FORCED_RESULT } Forced;
/* By statement: [func->ninsns], in the arena. FORCED_RESULT: no branch, but what it gives is known, and it
 * reads nothing but what is known. */
uint8_t *coverage_forced_branches(const PtxModule *module, const PtxFunc *func, Arena *arena);
#endif
