/* Options of heddle check: see cli.h, options.c. SPDX-License-Identifier: MIT */
#include "tools/options/check_options.h"
#include "tools/cli/option_keys.h"

const struct argp_option cli_check_options[] = {
    {"rules", KEY_RULES, "LIST", 0, "Only these rules, as R-01,H-02 (default: all)", 0},
    {"no-hazards", KEY_NO_HAZARDS, NULL, 0, "Leave the rules on control codes (H-) out", 0},
    {"severity", KEY_SEVERITY, "RULE=HOW,...", 0,
     "What findings of a rule are: error, warning, note or off, as R-24=note,H-02=off; only errors give "
     "status 4",
     0},
    {"baseline", KEY_BASELINE, "FILE", 0,
     "Leave out findings that FILE has, which heddle check --json printed: same rule, function and "
     "instruction",
     0},
    {"sarif", KEY_SARIF, NULL, 0, "Report as SARIF 2.1.0", 0},
    {0}};

bool cli_check_key(int key, char *arg, struct argp_state *state, Settings *settings) {
    (void)state;
    switch (key) {
    case KEY_RULES: settings->check.rules = arg; return true;
    case KEY_NO_HAZARDS: settings->check.no_hazards = true; return true;
    case KEY_SEVERITY: settings->check.severity = arg; return true;
    case KEY_BASELINE: settings->check.baseline = arg; return true;
    case KEY_SARIF: settings->check.sarif = true; return true;
    case ARGP_KEY_END:
        if (settings->check.sarif && settings->json)
            argp_error(state, "--json and --sarif exclude each other");
        return false;
    default: return false;
    }
}
