/* Options of heddle learn. SPDX-License-Identifier: MIT */
#ifndef HEDDLE_TOOLS_LEARN_OPTIONS_H
#define HEDDLE_TOOLS_LEARN_OPTIONS_H
#include "tools/cli.h"

/* What is done with the files; learning is what is done without an option that says otherwise. */
typedef enum {
    LEARN_DO_LEARN,
    LEARN_DO_VERIFY,
    LEARN_DO_ASSEMBLE,
    LEARN_DO_SHOW,
    LEARN_DO_AGAINST
} LearnAction;

extern const struct argp_option cli_learn_options[];
extern const char cli_learn_details[];
bool cli_learn_key(int key, char *arg, struct argp_state *state, Settings *settings);
#endif
