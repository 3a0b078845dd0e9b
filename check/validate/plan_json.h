/* What the readers of launch files share.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_CHECK_VALIDATE_PLAN_JSON_H
#define HEDDLE_CHECK_VALIDATE_PLAN_JSON_H
#include "check/validate/plan.h"
#include <cjson/cJSON.h>

/* One member of "textures"; plan->loc is its position. E0502. */
bool plan_read_texture(Plan *plan, const Source *source, const cJSON *o, Diags *d);
#endif
