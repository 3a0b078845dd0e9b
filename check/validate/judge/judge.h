/* One kernel validated as a whole: launches run by the PTX reference interpreter, which looks for races and
 * counts what is reached, and by the machine; more orders of threads where order may matter; one verdict.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_CHECK_VALIDATE_JUDGE_H
#define HEDDLE_CHECK_VALIDATE_JUDGE_H
#include "check/flow/verdict.h"
#include "check/validate/search/auto_launch.h"
#include "check/validate/compare/diff.h"

typedef struct {
    uint64_t seed;   /* of the launches inferred */
    uint64_t budget; /* PTX thread instructions of a launch, 0: DIFF_PTX_BUDGET */
    MachineOptions machine;
    DiffOther other;
    DiffTolerance tolerance;
    bool no_trace;
    unsigned orders; /* further orders of threads to try, 0: 2 */
} JudgeOptions;

typedef struct { /* a statement that not all operands were seen of which tell it from its neighbours */
    uint32_t line;
    char text[64];    /* "setp.lt.s32" */
    uint32_t classes; /* 1 << PtxValue: not seen */
} JudgeUnseen;

typedef struct Judgement {
    Verdict verdict;      /* the worst of all launches */
    Covered ptx, machine; /* basic blocks */
    Covered values;       /* classes of operands that tell statements from their neighbours */
    uint32_t launches;
    uint64_t threads, compared_bytes, ptx_insns, machine_issues;
    uint64_t results_hash; /* of memory and traps behind each launch, as the machine left them */
    char note[400];        /* one line: why, or "" */
    DiffReport diff;       /* differs, traps: of plan `diff_plan` */
    const Plan *diff_plan; /* NULL: no such report */
    JudgeUnseen *unseen;   /* malloc'ed */
    uint32_t nunseen;
    uint32_t *missed, nmissed; /* lines of PTX blocks that were not executed; malloc'ed */
    PtxRace *races;            /* malloc'ed */
    uint32_t nraces, nharmful;
} Judgement;
void judgement_free(Judgement *judgement);

/* The launches of a plan, one after another on one memory. False: something could not be run at all
 * (reported). */
bool judge_plan(Plan *plan, const PtxModule *module, const Binary *binary, const JudgeOptions *opt,
                Judgement *judgement, Diags *diags);
/* Does any of its launches read what was never written, or compute what PTX says no result of? */
bool judge_plan_leaves_open(Plan *plan, const PtxModule *module, uint64_t budget);
/* A kernel under inferred launches; every failure is a verdict. The launches stay in `a` until
 * auto_launch_free, and j refers to them. They are inferred if `a` is empty, else they are what it has: of
 * the same kernel, for another binary. */
void judge_auto(const PtxModule *module, const Binary *binary, const char *kernel, const JudgeOptions *opt,
                AutoLaunches *a, Judgement *j);
/* A plan as a caller gave it: both executions once. `judged`, where that is not enough: `always` asked for
 * it, or a difference may be one that the clock or activemask leaves open, which other orders of threads tell
 * from an error; then judge_plan has the word. */
typedef struct {
    Verdict verdict;
    bool judged;
    union {
        DiffReport report;   /* not judged */
        Judgement judgement; /* judged: for judgement_free */
    } as;
} Comparison;
bool judge_compare(Plan *plan, const PtxModule *module, const Binary *binary, const JudgeOptions *opt,
                   bool always, Comparison *comparison, Diags *diags);
/* malloc'ed; `kernels` as diff_kernels gives it */
char *judge_compare_text(const Comparison *comparison, const Plan *plan, const char *kernels);
char *judge_compare_json(const Comparison *comparison, const Plan *plan, const char *kernels);
void judge_compare_free(Comparison *comparison);
/* Verdict, coverage, note, races and the first difference; malloc'ed. */
char *judgement_text(const Judgement *judgement, const char *kernel);
char *judgement_json(const Judgement *judgement, const char *kernel);
#endif
