/* The table of verdicts: see verdict.h.
 * SPDX-License-Identifier: MIT */
#include "check/flow/verdict.h"
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name, *meaning;
    ExitStatus status;
} verdicts[VERDICT_COUNT] = {
#define VERDICT(id, name, status, meaning) [VERDICT_##id] = {name, meaning, STATUS_##status},
#include "check/flow/verdict.def"
#undef VERDICT
};

const char *verdict_name(Verdict verdict) { return verdict < VERDICT_COUNT ? verdicts[verdict].name : "?"; }
const char *verdict_meaning(Verdict verdict) {
    return verdict < VERDICT_COUNT ? verdicts[verdict].meaning : "?";
}
ExitStatus verdict_status(Verdict verdict) {
    return verdict < VERDICT_COUNT ? verdicts[verdict].status : STATUS_INTERNAL;
}

bool verdict_find(const char *name, Verdict *verdict) {
    for (unsigned i = 0; i < VERDICT_COUNT; i++)
        if (strcmp(verdicts[i].name, name) == 0) {
            *verdict = (Verdict)i;
            return true;
        }
    return false;
}

void verdict_names(ExitStatus status, char *out, size_t out_bytes) {
    size_t used = 0;
    *out = 0;
    for (unsigned i = 0; i < VERDICT_COUNT; i++)
        if (verdicts[i].status == status && used < out_bytes)
            used +=
                (size_t)snprintf(out + used, out_bytes - used, "%s%s", used ? ", " : "", verdicts[i].name);
}
