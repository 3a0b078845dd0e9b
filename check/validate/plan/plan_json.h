/* What the readers of launch files share.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_CHECK_VALIDATE_PLAN_JSON_H
#define HEDDLE_CHECK_VALIDATE_PLAN_JSON_H
#include "check/validate/plan/plan.h"
#include <cjson/cJSON.h>

/* Every member of `o` must be one of the names, which end with NULL, and there once; `where` is what errors
 * call it, plan->loc where it is. E0502. */
bool plan_known_keys(Plan *plan, const Source *source, Diags *d, const cJSON *o, const char *where,
                     const char *const *names);
/* Place of a text in a list that ends with NULL, -1 if it is no text of it. */
int plan_choice(const cJSON *item, const char *const *names);
/* One member of "textures"; plan->loc is its position. E0502. */
bool plan_read_texture(Plan *plan, const Source *source, const cJSON *o, Diags *d);
/* The same of "tensormaps" (plan_tensor.c). */
bool plan_read_tensor(Plan *plan, const Source *source, const cJSON *o, Diags *d);
/* The same of "multicasts" (plan_multicast.c). */
bool plan_read_multicast(Plan *plan, const Source *source, const cJSON *o, Diags *d);
#endif
