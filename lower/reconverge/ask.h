/* The fast way of collectives (lower/reconverge/ask.c). SPDX-License-Identifier: MIT */
#ifndef HEDDLE_LOWER_RECONVERGE_ASK_H
#define HEDDLE_LOWER_RECONVERGE_ASK_H
#include "lower/reconverge/reconverge.h"

/* Behind the last collective of the mask that one question can serve, from position `first`, which is one.
 * asks: [inst] a collective that may have a fast way */
unsigned reconv_ask_range(Function *f, BlockId block, unsigned first, Operand mask, const bool *asks);
/* Puts the question before positions `first` to `end` of the block. differ: lanes with different masks may
 * come here together. Returns the block of the slow way, in which the collectives are now. */
BlockId reconv_put_ask(Function *f, BlockId block, unsigned first, unsigned end, Operand mask,
                       const bool *asks);
/* Is it a block in which both ways meet? */
bool reconv_is_answered(const Function *f, uint32_t block);
#endif
