/* One page for one kernel, in one file: figures, control flow, source beside PTX beside machine code, lanes
 * over time, what barriers cost and save. What it says is what the reports say: it is given their objects.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_CHECK_PICTURE_PAGE_H
#define HEDDLE_CHECK_PICTURE_PAGE_H
#include "check/picture/figures.h"
#include "check/picture/picture.h"
#include "frontend/ast.h"

typedef struct {
    const FigureSide *side; /* NULL: there is none */
    uint32_t func;          /* the kernel, in Binary.funcs */
    const char *name;       /* what is compared: "Heddle", "k.cubin" */
    const Lanes *lanes;     /* of a run, or NULL */
    const char *run;        /* how it ended, where there was one */
} PageSide;

typedef struct {
    const char *name, *text; /* text NULL: it could not be read */
    size_t size_bytes;
} PageSource; /* file of the source language, by its number in Binary.files */

typedef struct {
    PageSide ours, other;
    const PtxModule *ptx;   /* NULL: unknown */
    const cJSON *decisions; /* what report --json says; NULL: not known of this code */
    const char *note;       /* one sentence more for the head, or NULL */
    const PageSource *sources;
    uint32_t nsources;
} PageInput;

void page_write(const PageInput *page, FILE *out);
#endif
