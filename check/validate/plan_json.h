/* What the readers of launch files share.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_CHECK_VALIDATE_PLAN_JSON_H
#define HEDDLE_CHECK_VALIDATE_PLAN_JSON_H
#include "check/validate/plan.h"
#include <cjson/cJSON.h>

/* Every member of `o` must be one of the names, which end with NULL, and there once; `where` is what errors
 * call it, plan->loc where it is. E0502. */
bool plan_known_keys(Plan *plan, const Source *source, Diags *d, const cJSON *o, const char *where,
                     const char *const *names);
/* One member of "textures"; plan->loc is its position. E0502. */
bool plan_read_texture(Plan *plan, const Source *source, const cJSON *o, Diags *d);
#endif
