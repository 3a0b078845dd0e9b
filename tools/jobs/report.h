/* What predication and reconvergence insertion did, for people and programs.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_TOOLS_REPORT_H
#define HEDDLE_TOOLS_REPORT_H
#include "base/json.h"
#include "tools/jobs/driver.h"
#include <stdio.h>

void report_table(const Compilation *compilation, FILE *out);
cJSON *report_tree(const Compilation *compilation); /* what report_json prints; json_drop */
char *report_json(const Compilation *compilation);  /* malloc'ed */
/* Assembly text of the compilation's image with a comment at every branch; malloc'ed. */
bool report_annotate(const Compilation *compilation, const char *text, size_t size_bytes, char **result,
                     size_t *result_bytes);
#endif
