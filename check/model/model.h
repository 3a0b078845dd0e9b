/* Model checking of a binary's control flow: every outcome of every divergent branch, 3 or 4 lanes, the masks
 * of the branch unit. Data is abstracted: a branch or a guard may go either way for each lane, except that a
 * predicate has one value until it is written again, and that a branch whose guard is the same for all lanes
 * takes the whole group. The property: from every state that can be reached, all lanes can still exit.
 *
 * The rules of the masks are written here a second time (check/model/step.c); nothing of sim/ is used but the
 * names of its policies. NANOSLEEP is a YIELD: time is not modelled. docs/check.md says what a proof means.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_CHECK_MODEL_MODEL_H
#define HEDDLE_CHECK_MODEL_MODEL_H
#include "check/flow/binflow.h"
#include "check/flow/verdict.h"
#include "sim/machine/machine.h" /* names of the policies */

enum { MODEL_MAX_LANES = 4 };

typedef struct {
    unsigned lanes; /* 2 to MODEL_MAX_LANES; 0 = 3 */
    /* MACHINE_LANE_ROTATE, _RANDOM: any lane may be next. Readings of time and of masks of lanes elsewhere
     * (sleep_test, warpsync_masks) are not modelled: under them every kernel is MODEL_LIMIT. */
    union { /* all at once, or each by its name */
        MachinePolicies policies;
        struct {
#define POLICY(type, field, ...) type field;
#include "sim/machine/policy.def"
#undef POLICY
        };
    };
    uint64_t max_states; /* 0 = 200000 */
    double seconds;      /* CPU time, 0 = 10 */
    unsigned call_depth; /* 0 = 16 */
    /* Lanes of a warp that gather for different barriers of the block are a state, and may be stuck. Else the
     * program is taken to bring a warp to one at a time, as PTX asks of bar.sync and of .aligned. */
    bool parted_barriers;
} ModelOptions;

typedef enum {
    MODEL_PROVED,
    MODEL_LIMIT,     /* nothing found, but not everything was looked at: see `why` */
    MODEL_STUCK,     /* a state from which some lane cannot exit, whatever the branches do */
    MODEL_VIOLATION, /* an instruction executed by the wrong lanes, or control leaves the code */
    MODEL_VERDICTS
} ModelVerdict;
Verdict model_verdict(ModelVerdict v);
const char *model_verdict_name(ModelVerdict v);

/* One decision: what the instruction at `inst` did, in order of execution. */
typedef enum {
    MS_GUARD,  /* guard of an instruction that is not always true: lanes `chosen` of `active` were true */
    MS_TARGET, /* indirect branch, call or return: lane i of `chosen` goes to target[i] */
    MS_MASK,   /* WARPSYNC on a mask that is not known: taken to be `chosen` */
    MS_PICK    /* lane_choice any: lane `chosen` was resumed */
} ModelStepKind;
typedef struct {
    uint32_t inst; /* index into Binary.code */
    uint8_t kind, active, chosen;
    uint32_t target[MODEL_MAX_LANES];
} ModelStep;

typedef struct { /* something wrong, and how to get there */
    ModelVerdict verdict;
    uint32_t inst;
    char text[240];
    ModelStep *steps; /* from the start of the kernel */
    uint32_t nsteps;
    uint32_t
        loop; /* MODEL_STUCK: steps[loop .. nsteps) repeat for ever; nsteps: nothing to decide any more */
    struct {
        uint32_t pc;
        bool active;
    } lanes[MODEL_MAX_LANES]; /* at the end; BINFLOW_NONE: exited */
} ModelFinding;

enum { MODEL_MAX_FINDINGS = 16 };
typedef struct {
    Arena arena;
    const BinFunc *kernel;
    ModelOptions options;
    ModelVerdict verdict; /* the worst */
    const char *why;      /* MODEL_LIMIT: what was left out */
    unsigned nlanes;
    unsigned lane_number[MODEL_MAX_LANES]; /* lanes of the warp that the model's lanes are */
    uint64_t nstates, nedges, stuck_states;
    bool assumed_barriers;  /* a warp was taken to come to one barrier of the block at a time */
    uint32_t assumed_masks; /* WARPSYNCs taken to name the lanes that come there */
    double seconds;
    ModelFinding findings[MODEL_MAX_FINDINGS];
    uint32_t nfindings;
} ModelResult;

/* Combination n of the policies that code must survive, without lane choices that the others stand for. */
enum { MODEL_POLICY_COUNT = 64 };
void model_choose(ModelOptions *options, unsigned n);

typedef struct ModelProgram ModelProgram; /* what is derived from the code once */
ModelProgram *model_program(const BinFlow *flow);
void model_program_free(ModelProgram *program);

/* Explore one kernel (index in Binary.funcs). `r` is freed with model_result_free. */
void model_check(const ModelProgram *program, uint32_t kernel, const ModelOptions *opt, ModelResult *r);
void model_result_free(ModelResult *result);

/* A few lines for people; malloc'ed. */
char *model_text(const BinFlow *flow, const ModelResult *result);
/* The schedule of a finding: JSON that `heddle run --replay` takes (docs/check.md); malloc'ed. */
char *model_schedule_json(const BinFlow *flow, const ModelResult *result, const ModelFinding *finding);
#endif
