/* What is counted of a kernel's machine code, and the regions of its convergence barriers: the figures of
 * heddle report on a binary, alone or beside another. As text, as JSON, on a page, from one object.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_CHECK_PICTURE_FIGURES_H
#define HEDDLE_CHECK_PICTURE_FIGURES_H
#include "base/json.h"
#include "check/flow/regions.h"
#include "check/static/check.h"

typedef struct {
    const Binary *binary;
    BinFlow *flow;
    BinCheckReport checked;
} FigureSide;

FigureSide figures_open(const Binary *binary);
void figures_close(FigureSide *side);

/* The counts, each with its key and label. */
typedef struct {
    const char *key, *label;
} FigureCount;
extern const FigureCount figures_counts[]; /* ends with a NULL key */

/* Adds the counts of a function (index in Binary.funcs) and the list of its "regions". */
void figures_add(const FigureSide *side, uint32_t func, cJSON *to);
double figures_number(const cJSON *figures, const char *key);
/* One region of that list: "B1 00b0-0180: 14 insts, 1 BREAK, lines 44-61", indented by its depth. */
void figures_region_text(const cJSON *region, char *out, size_t out_bytes);
/* The tables of counts and regions of one kernel; `other` NULL: alone. */
void figures_text(const cJSON *ours, const cJSON *other);
#endif
