/* Values of options that several numbers or words make up. What is wrong ends the program, as argp does it.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_TOOLS_OPTION_VALUES_H
#define HEDDLE_TOOLS_OPTION_VALUES_H
#include "tools/cli/cli.h"

/* "4,2": {4, 2, 1}; `what` is the option's name. */
void cli_extent(struct argp_state *state, const char *text, const char *what, uint32_t out[3]);
/* "oldest,random:7" */
void cli_policy(struct argp_state *state, MachineOptions *options, const char *text);
/* A number from 0 to `max`; one of the names (the last is NULL). What is wrong ends the program. */
unsigned long cli_number(struct argp_state *state, const char *text, const char *what, unsigned long max);
void cli_one_of(struct argp_state *state, const char *what, const char *text, const char *const *names);
void cli_engine(struct argp_state *state, Settings *settings, const char *name);
FuzzPolicies cli_fuzz_policies(struct argp_state *state, const char *name);
#endif
