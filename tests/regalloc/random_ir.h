/* Random SSA programs and an evaluator of machine IR on one lane, for tests of register allocation and
 * emission. The evaluator runs a function before allocation (values) and after it (registers); both must
 * store the same numbers in the same order.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_TESTS_RANDOM_IR_H
#define HEDDLE_TESTS_RANDOM_IR_H
#include "ir/ir.h"

typedef struct {
    uint64_t seed;
    unsigned blocks, insts, vars, preds; /* insts: in each block; vars and preds live everywhere */
    bool calls, vectors, guards;
} RandomShape;
/* A module with one kernel "k" (and a callee "callee" that clobbers R0-R39, if shape.calls). */
IrModule *random_module(const Target *target, StrTab *strings, RandomShape shape);

typedef struct {
    VEC(uint64_t) at;
    Arena a;
} StoreLog;
/* Run until EXIT or `visits` blocks numbered below `first_new` (any, if that is 0) were entered. False:
 * something unknown was met. */
bool eval_function(const Function *f, uint32_t first_new, unsigned visits, StoreLog *log);
#endif
