/* Verdicts of the checking commands, their names and their exit statuses: check/flow/verdict.def.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_CHECK_FLOW_VERDICT_H
#define HEDDLE_CHECK_FLOW_VERDICT_H
#include <stdbool.h>
#include <stddef.h>

typedef enum {               /* of every command */
               STATUS_DONE,  /* done and shown */
               STATUS_INPUT, /* the input is wrong, or not compiled */
               STATUS_USAGE,
               STATUS_INTERNAL,
               STATUS_DIFFERS, /* differs, refuted, racy, a rule is broken */
               STATUS_NOTHING, /* nothing was shown: unknown, not run, a limit was reached */
               STATUS_COUNT
} ExitStatus;

typedef enum {
#define VERDICT(id, name, status, meaning) VERDICT_##id,
#include "check/flow/verdict.def"
#undef VERDICT
    VERDICT_COUNT
} Verdict;

const char *verdict_name(Verdict verdict); /* "both trap alike" */
ExitStatus verdict_status(Verdict verdict);
/* One clause: when it is given. */
const char *verdict_meaning(Verdict verdict);
bool verdict_find(const char *name, Verdict *verdict);
/* The one that counts of two. */
static inline Verdict verdict_worse(Verdict one, Verdict other) { return one > other ? one : other; }
/* The names of all verdicts with this status, as "a, b, c", in `out`. */
void verdict_names(ExitStatus status, char *out, size_t out_bytes);
#endif
