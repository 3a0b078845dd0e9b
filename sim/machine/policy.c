/* See policy.h.
 * SPDX-License-Identifier: MIT */
#include "sim/machine/policy.h"
#include "isa/isa.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const MachinePolicyInfo machine_policy_table[POLICY_COUNT] = {
#define POLICY(type, field, name, alias, values, safe, resolution, text)                                     \
    {name, alias, values, safe, resolution, text},
#include "sim/machine/policy.def"
#undef POLICY
};

#define POLICY(type, field, name, alias, values, safe, ...) *(safe)
_Static_assert(1
#include "sim/machine/policy.def"
                   == POLICY_SAFE_COUNT,
               "POLICY_SAFE_COUNT is the product of the column");
#undef POLICY

bool machine_bssy_assigns(const MachinePolicies *policies, const Target *target) {
    bool assigns = isa_target_info(target)->bssy_assigns;
    switch (policies->bssy) {
    case MACHINE_BSSY_OR: return false;
    case MACHINE_BSSY_ASSIGN: return true;
    case MACHINE_BSSY_OTHER: return !assigns;
    default: return assigns;
    }
}

bool machine_warpsync_turns(const MachinePolicies *policies, const Target *target) {
    bool turns = isa_target_info(target)->warpsync_turns;
    switch (policies->warpsync_turns) {
    case MACHINE_TURNS_NONE: return false;
    case MACHINE_TURNS_TRIED: return true;
    case MACHINE_TURNS_OTHER: return !turns;
    default: return turns;
    }
}

unsigned machine_policy_get(const MachinePolicies *policies, unsigned k) {
    switch (k) {
#define POLICY(type, field, ...)                                                                             \
    case POLICY_##field:                                                                                     \
        return (unsigned)policies->field;
#include "sim/machine/policy.def"
#undef POLICY
    default: return 0;
    }
}

static void set(MachinePolicies *policies, unsigned k, unsigned value) {
    switch (k) {
#define POLICY(type, field, ...)                                                                             \
    case POLICY_##field:                                                                                     \
        policies->field = (type)value;                                                                       \
        break;
#include "sim/machine/policy.def"
#undef POLICY
    default: break;
    }
}

/* The text of a value; its length in *n. NULL if there is none. */
static const char *find_value(unsigned k, unsigned value, size_t *n) {
    const char *text = machine_policy_table[k].values;
    for (; value && *text; value--) {
        text += strcspn(text, "|");
        text += *text == '|';
    }
    *n = strcspn(text, "|");
    return *n ? text : NULL;
}

const char *machine_policy_value(unsigned k, unsigned value, char out[16]) {
    size_t n;
    const char *text = find_value(k, value, &n);
    snprintf(out, 16, "%.*s", text ? (int)n : 1, text ? text : "?");
    return out;
}

static bool named(const char *name, const char *text, size_t n) {
    return *name && strlen(name) == n && memcmp(name, text, n) == 0;
}

bool machine_policy_parse(MachinePolicies *policies, const char *text, size_t n) {
    const char *is = memchr(text, '=', n);
    size_t name = is ? (size_t)(is - text) : 0, length;
    for (unsigned k = 0; is && k < POLICY_COUNT; k++) {
        if (!named(machine_policy_table[k].name, text, name) &&
            !named(machine_policy_table[k].alias, text, name))
            continue;
        const char *value;
        for (unsigned v = 0; (value = find_value(k, v, &length)); v++)
            if (length == n - name - 1 && memcmp(value, is + 1, length) == 0) {
                set(policies, k, v);
                return true;
            }
    }
    return false;
}

const char *machine_policy_list(MachineOptions *options, const char *text, size_t *n) {
    for (const char *s = text;; s += *n + 1) {
        size_t name = strcspn(s, ":,");
        *n = strcspn(s, ",");
        bool known = machine_policy_parse(&options->policies, s, name);
        if (known && name < *n) { /* random:SEED */
            char *end;
            options->seed = strtoull(s + name + 1, &end, 10);
            known = options->lane_choice == MACHINE_LANE_RANDOM && isdigit((unsigned char)s[name + 1]) &&
                    end == s + *n;
        }
        if (!known)
            return s;
        if (!s[*n])
            return NULL;
    }
}

void machine_policy_choose(MachinePolicies *policies, unsigned n) {
    for (unsigned k = 0; k < POLICY_COUNT; k++) {
        set(policies, k, n % machine_policy_table[k].safe);
        n /= machine_policy_table[k].safe;
    }
}

const char *machine_policy_print(const MachinePolicies *policies, char out[256]) {
    size_t at = 0;
    char value[16];
    for (unsigned k = 0; k < POLICY_COUNT; k++)
        if (machine_policy_get(policies, k) && at < 256)
            at += (size_t)snprintf(out + at, 256 - at, "%s%s=%s", at ? "," : "", machine_policy_table[k].name,
                                   machine_policy_value(k, machine_policy_get(policies, k), value));
    if (!at)
        snprintf(out, 256, "default");
    return out;
}
