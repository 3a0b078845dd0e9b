/* What the files of the pass `combine` share.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_LOWER_OPT_COMBINE_H
#define HEDDLE_LOWER_OPT_COMBINE_H
#include "lower/opt/opt.h"

typedef struct {
    Function *f;
    Arena a;
    uint32_t *uses; /* [value], of operands, guards and vectors */
    uint32_t *repl; /* [value] copies */
    BlockId block;
} Combine;

bool opt_combine_is_zero(Operand o);
/* May the operand be named by another instruction of the block? Fixed and uniform registers stay where they
 * are. */
bool opt_combine_can_move(const Combine *combine, Operand o);
/* Only destination 0 is defined. */
bool opt_combine_one_result(const Combine *combine, const Inst *i);
/* The unguarded instruction that defines o, if it is one of this operation; in any block. */
const Inst *opt_combine_plain_def(const Combine *combine, Operand o, unsigned op);
bool opt_combine_is_register(const Combine *combine, Operand o);
/* The first result of i is o, where o may be named there. */
void opt_combine_same_as(Combine *combine, const Inst *i, Operand o);
/* What is made of the instruction at *at for numbers of 64 bits: both words of a product, a 64-bit sum of a
 * product or of what is shifted. If an instruction before *at goes, *at is one less. */
void opt_combine_wide(Combine *combine, unsigned *at);
#endif
