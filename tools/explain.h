/* What names mean: rules of check, checks of the machine, codes of diagnostics; and lists of all that there
 * is, made from the tables. SPDX-License-Identifier: MIT */
#ifndef HEDDLE_TOOLS_EXPLAIN_H
#define HEDDLE_TOOLS_EXPLAIN_H
#include <stdio.h>

/* "R-07", "E-BAR-PARTIAL", "E0104", in any case; malloc'ed; NULL: nothing has that name. */
char *report_explain(const char *name);
/* Markdown. Each code with its text, its section of the PTX ISA document and what to do. */
void report_codes(FILE *out);
/* Each form of a PTX instruction: what it asks of .version and .target, and whether it is compiled,
 * interpreted, proved, or why not. */
void report_ptx_forms(FILE *out);
/* Each operation of the machines, by target, and whether the machine executes it. */
void report_operations(FILE *out);
#endif
