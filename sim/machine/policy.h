/* The table of policies (policy.def), by number: what options, schedules and campaigns go through.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_SIM_MACHINE_POLICY_H
#define HEDDLE_SIM_MACHINE_POLICY_H
#include "sim/machine/machine.h"

enum {
#define POLICY(type, field, ...) POLICY_##field,
#include "sim/machine/policy.def"
#undef POLICY
    POLICY_COUNT
};
/* Product of the numbers of readings that code must survive. */
enum { POLICY_SAFE_COUNT = 128 };

typedef struct {
    const char *name, *alias; /* alias: "" none */
    const char *values;       /* separated by '|'; the first is the default */
    unsigned safe;            /* of them, from the first on, code must survive */
    const char *resolution, *text;
} MachinePolicyInfo;
extern const MachinePolicyInfo machine_policy_table[POLICY_COUNT];

/* Does BSSY set its register to the active lanes (else it adds them), on this target under this policy? */
bool machine_bssy_assigns(const MachinePolicies *policies, const Target *target);
bool machine_warpsync_turns(const MachinePolicies *policies, const Target *target);

unsigned machine_policy_get(const MachinePolicies *policies, unsigned k);
/* Text of value `value` of policy k into `out`, which is returned; "?" if there is none. */
const char *machine_policy_value(unsigned k, unsigned value, char out[16]);
/* One NAME=VALUE, `n` characters, by name or short name; false if unknown, then nothing is changed. */
bool machine_policy_parse(MachinePolicies *policies, const char *text, size_t n);
/* A list of them with commas between, where random may be random:SEED; NULL, or the first item that is none
 * (*n characters), then those before it are set. */
const char *machine_policy_list(MachineOptions *options, const char *text, size_t *n);
/* Combination n < POLICY_SAFE_COUNT of the readings that code must survive: lane choice changes fastest, then
 * branch order, join scope, bsync-nb, warpsync-turns, bssy. All other policies are left at their defaults. */
void machine_policy_choose(MachinePolicies *policies, unsigned n);
/* "lane-choice=highest,bsync-nb=blocked": what is not the default; "default" if everything is. */
const char *machine_policy_print(const MachinePolicies *policies, char out[256]);
#endif
