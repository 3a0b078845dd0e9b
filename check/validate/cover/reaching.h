/* Which definition of a register reaches a statement, where it is one only: registers that a compiler uses
 * for a value and later for a loop's counter have the first one's value before the loop.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_CHECK_VALIDATE_REACHING_H
#define HEDDLE_CHECK_VALIDATE_REACHING_H
#include "frontend/ast.h"

typedef struct Reaching Reaching;
/* writes: by register, 2 for those that several statements define, which are looked at. In the arena. */
Reaching *coverage_reaching(const PtxFunc *func, const uint8_t *writes, Arena *arena);
/* Before statement i; statements are gone through one after the other, from 0. */
void coverage_reach_insn(Reaching *reaching, uint32_t insn);
/* The statement, + 1, by which alone the register may have its value there. 0: there are several, or none, or
 * it is one that may not be executed. */
uint32_t coverage_definition(const Reaching *reaching, uint32_t reg);
#endif
