/* What was learned as rows of isa/: see rows.c. SPDX-License-Identifier: MIT */
#ifndef HEDDLE_LEARN_ROWS_H
#define HEDDLE_LEARN_ROWS_H
#include "learn/learn.h"

typedef struct {
    LearnRepository repository; /* without bits and marks of the operand cache */
    StrMap reused;              /* opcodes with such, and the bit: "SEL 122" */
    StrMap names;               /* of the rows so far */
} LearnRowMaker;

typedef struct {
    uint32_t nrows, nrefused; /* the latter are comments with a reason */
} LearnRows;

void learn_rows_open(LearnRowMaker *maker, const char *arch);
/* What contradicts itself or is no instruction is left out: learning says so. is_lacking: a row is asked for;
 * the others say where things stand. */
void learn_rows_add(LearnRowMaker *maker, const LearnSight *sight, bool is_lacking);
LearnRows learn_print_rows(LearnRowMaker *maker, FILE *out);
void learn_rows_free(LearnRowMaker *maker);
#endif
