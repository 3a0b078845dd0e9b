/* Options of heddle check, but those of --model. SPDX-License-Identifier: MIT */
#ifndef HEDDLE_TOOLS_CHECK_OPTIONS_H
#define HEDDLE_TOOLS_CHECK_OPTIONS_H
#include "tools/cli/cli.h"

extern const struct argp_option cli_check_options[];
bool cli_check_key(int key, char *arg, struct argp_state *state, Settings *settings);
#endif
