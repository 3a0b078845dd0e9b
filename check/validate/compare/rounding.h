/* A memory difference that is no error: floating-point results within a tolerance that was given, or results
 * of another compiler that differ by what PTX leaves to it, fused products and .approx results.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_CHECK_VALIDATE_ROUNDING_H
#define HEDDLE_CHECK_VALIDATE_ROUNDING_H
#include "check/flow/verdict.h"
#include "check/validate/plan/plan.h"
#include "emit/elf/binary.h"
#include "frontend/ast.h"
#include "sim/interp/interp.h"

typedef struct { /* results agree if one of these bounds holds; all 0: only equal bits */
    uint64_t ulps;
    double absolute, relative;
} DiffTolerance;
/* "ulp:4", "abs:1e-6", "rel:1e-5", several with commas; false: malformed. */
bool rounding_parse(const char *text, DiffTolerance *out);

typedef struct {
    Plan *plan;
    const PlanLaunch *launch;
    const PtxModule *module;
    const Binary *binary;
    const PtxRunOptions *options;
    const DiffTolerance *tolerance;
    const SimMemory *before;        /* of the PTX side */
    const SimMemory *ptx, *machine; /* which differ */
    const bool *skip;               /* by allocation of `ptx`: not compared; or NULL */
    bool sums;                      /* atomics add floating-point numbers, in whatever order */
} RoundingQuestion;

enum { ROUNDING_NOTE_BYTES = 200 };
/* VERDICT_TOLERATED, VERDICT_CONTRACTION, VERDICT_UNKNOWN or VERDICT_DIFFERS; `note`: one clause, "" for the
 * last. */
Verdict rounding_verdict(const RoundingQuestion *question, char note[ROUNDING_NOTE_BYTES]);
#endif
