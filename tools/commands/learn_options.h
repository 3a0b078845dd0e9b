/* Options of heddle learn. SPDX-License-Identifier: MIT */
#ifndef HEDDLE_TOOLS_LEARN_OPTIONS_H
#define HEDDLE_TOOLS_LEARN_OPTIONS_H
#include "learn/feed.h"
#include "tools/cli/cli.h"

/* What is done with the files; learning is what is done without an option that says otherwise. */
typedef enum {
    LEARN_DO_LEARN,
    LEARN_DO_VERIFY,
    LEARN_DO_ASSEMBLE,
    LEARN_DO_SHOW,
    LEARN_DO_AGAINST,
    LEARN_DO_FORMS
} LearnAction;

extern const struct argp_option cli_learn_options[];
extern const char cli_learn_details[];

/* --against-isa: for each instruction, then the report, which gives the exit status. False: there are no
 * tables for the architecture. */
typedef struct LearnAgainst LearnAgainst;
LearnAgainst *cli_against_open(Arena *arena);
bool cli_against_one(LearnAgainst *against, const LearnFed *fed, const char *arch);
int cli_against_report(LearnAgainst *against, Settings *settings);
void cli_against_close(LearnAgainst *against); /* NULL: nothing */

/* --forms: the exit status. */
int cli_write_forms(Settings *settings);

bool cli_learn_key(int key, char *arg, struct argp_state *state, Settings *settings);
#endif
