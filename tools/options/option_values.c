/* Values of options that several numbers or words make up.
 * SPDX-License-Identifier: MIT */
#include "tools/options/option_values.h"
#include "sim/machine/policy.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

void cli_extent(struct argp_state *state, const char *text, const char *what, uint32_t out[3]) {
    const char *s = text;
    out[1] = out[2] = 1;
    for (int i = 0; i < 3; i++) {
        char *end;
        unsigned long v = strtoul(s, &end, 10);
        if (!isdigit((unsigned char)*s) || v == 0 || v > UINT32_MAX || (*end && *end != ','))
            break;
        out[i] = (uint32_t)v;
        if (!*end)
            return;
        s = end + 1;
    }
    argp_error(state, "%s: '%s' is not X, X,Y or X,Y,Z", what, text);
}

void cli_policy(struct argp_state *state, MachineOptions *options, const char *text) {
    size_t n;
    const char *unknown = machine_policy_list(options, text, &n);
    if (unknown)
        argp_error(state, "--policy: '%.*s' is unknown", (int)n, unknown);
}

unsigned long cli_number(struct argp_state *state, const char *text, const char *what, unsigned long max) {
    char *end;
    unsigned long v = strtoul(text, &end, 0);
    if (end == text || *end || *text == '-' || v > max)
        argp_error(state, "%s: '%s' is not a number from 0 to %lu", what, text, max);
    return v;
}

void cli_one_of(struct argp_state *state, const char *what, const char *text, const char *const *names) {
    for (int i = 0; names[i]; i++)
        if (strcmp(names[i], text) == 0)
            return;
    char list[200] = "";
    for (int i = 0; names[i]; i++)
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", i ? ", " : "", names[i]);
    argp_error(state, "%s: '%s' is none of %s", what, text, list);
}

void cli_engine(struct argp_state *state, Settings *settings, const char *name) {
    static const char *const engines[] = {"auto", "interp", "stencil", "jit", "ptx", "gpu", "gpu-ptx", NULL};
    cli_one_of(state, "--engine", name, engines);
    settings->engine = name;
    settings->other.engine = strcmp(name, "gpu") == 0       ? DIFF_CARD
                             : strcmp(name, "gpu-ptx") == 0 ? DIFF_CARD_PTX
                                                            : DIFF_MACHINE;
}

FuzzPolicies cli_fuzz_policies(struct argp_state *state, const char *name) {
    static const char *const policies[] = {"sampled", "all", "default", "literal", "one", NULL};
    cli_one_of(state, "--policies", name, policies);
    return name[0] == 's'   ? FUZZ_POLICIES_SAMPLED
           : name[0] == 'a' ? FUZZ_POLICIES_ALL
           : name[0] == 'l' ? FUZZ_POLICIES_LITERAL
           : name[0] == 'o' ? FUZZ_POLICIES_ONE
                            : FUZZ_POLICIES_DEFAULT;
}
