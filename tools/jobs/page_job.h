/* The page of one kernel (check/picture/page.h), of what the program and the library have: the code, its PTX,
 * what was decided, launches to run. SPDX-License-Identifier: MIT */
#ifndef HEDDLE_TOOLS_PAGE_JOB_H
#define HEDDLE_TOOLS_PAGE_JOB_H
#include "base/json.h"
#include "check/picture/figures.h"
#include "check/validate/plan/plan.h"
#include "emit/elf/binary.h"
#include "frontend/ast.h"
#include <stdio.h>

typedef struct {
    FigureSide sides[2]; /* figures_open of ours, and of the other's binary, if there is one */
    const char *name, *other_name;
    bool other;             /* there is another */
    const PtxModule *ptx;   /* NULL: unknown */
    const cJSON *decisions; /* report_tree, or NULL */
    const char *note;       /* a sentence for the head, or NULL */
    const char
        *folder; /* where source files are looked for besides their own names, ends with '/' or is "" */
    Plan *plan;  /* its launches are run; NULL: none */
    bool infer;  /* launches are inferred instead, from `seed`; needs the PTX */
    uint64_t seed;
    uint64_t max_issues; /* of a launch, 0: the machine's */
} PageJob;

/* Writes the page of a kernel, index in Binary.funcs. False: a launch could not be run, or none was found
 * (reported). */
bool report_page_write(const PageJob *job, uint32_t kernel, FILE *out, Diags *diags);
#endif
