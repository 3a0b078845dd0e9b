/* What names mean: rules of check, checks of the machine, codes of diagnostics, operations; and lists of all
 * that there is, made from the tables. SPDX-License-Identifier: MIT */
#ifndef HEDDLE_TOOLS_EXPLAIN_H
#define HEDDLE_TOOLS_EXPLAIN_H
#include <cjson/cJSON.h>
#include <stdio.h>

/* "R-07", "E-BAR-PARTIAL", "E0104", "BSSY", in any case; malloc'ed; NULL: nothing has that name. */
char *report_explain(const char *name);
/* Lists: rows of cells under the names of their columns. To `out` as a table in Markdown, or to `json` as
 * objects whose members are the columns. */
typedef struct {
    FILE *out;   /* NULL: to json */
    cJSON *json; /* the list */
    cJSON *row;
    unsigned nrows, column;
    const char *const *columns;
} ExplainList;
/* Each code with its text, its section of the PTX ISA document and what to do. */
void report_codes(ExplainList *list);
/* Each form of a PTX instruction: what it asks of .version and .target, and whether it is compiled,
 * interpreted, proved, or why not. */
void report_ptx_forms(ExplainList *list);
/* Each operation of the machines, by target, and whether the machine executes it. */
void report_operations(ExplainList *list);
#endif
