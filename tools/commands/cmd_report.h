/* What heddle report is about, for its pages too. SPDX-License-Identifier: MIT */
#ifndef HEDDLE_TOOLS_CMD_REPORT_H
#define HEDDLE_TOOLS_CMD_REPORT_H
#include "tools/cli/cli.h"

typedef struct {
    Settings *settings;
    PtxModule *ptx;          /* NULL: a binary that holds none */
    Compilation compilation; /* of the PTX; ... */
    bool decided;            /* ... that it made the code */
    bool of_file;            /* the code was given, not compiled now */
    Binary *binary, *other;  /* other: of --against, or NULL */
} ReportSubject;

/* The kernels that pictures are asked of (indices in Binary.funcs; room for all), exactly `one`; false:
 * reported. */
bool report_kernels(const ReportSubject *subject, bool one, uint32_t *kernels, uint32_t *n);
/* heddle report --html. False: reported. */
bool report_pages(const ReportSubject *subject);
#endif
