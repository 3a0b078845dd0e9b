/* Where the two executions of one lane part: both run once more with the lane watched, and the values that
 * PTX registers get are compared through the map of the binary (.heddle.map).
 *
 * A machine instruction behind which the map says that a register now holds a PTX register is an execution of
 * its statement. For each statement and register the values of both sides make a sequence each; the two must
 * agree as far as both go, or, where one is shorter (hoisted out of a loop, executed before it is known to be
 * needed), it must be contained in the other. The first value in PTX order that breaks this is the
 * difference. If it was loaded from memory that another lane wrote, that lane is watched next.
 * Without a map the relation is found by value (check/validate/compare/lane_values.c).
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_CHECK_VALIDATE_LANE_DIFF_H
#define HEDDLE_CHECK_VALIDATE_LANE_DIFF_H
#include "check/validate/plan/plan.h"
#include "emit/elf/binary.h"
#include "frontend/ast.h"
#include "sim/machine/machine.h"
#include "sim/interp/interp.h"
#include <stdio.h>

enum { LANE_EVENTS = 20 };
typedef struct { /* texts in the plan's arena */
    const char *func;
    uint64_t pc_bytes;  /* machine */
    uint32_t line;      /* PTX line, 0 unknown */
    const char *text;   /* statement or instruction */
    const char *values; /* "%r1 = 0x7", "" if nothing was written */
    bool skipped;       /* the guard was false */
    uint32_t times;     /* the same again and again */
} LaneStep;

typedef struct LaneDiff {
    uint32_t block[3], thread[3], warp, lane; /* of the lane */
    /* the difference; statement NULL if no register was found in which they part */
    const char *statement, *instruction, *ptx_reg, *machine_reg, *func;
    uint32_t line;
    uint64_t pc_bytes;
    bool alike;         /* as asked */
    bool not_executed;  /* the machine did not execute the statement: its control flow parts before.
                           instruction: the last branch before that place, or NULL */
    bool by_values;     /* found without a map: instruction, machine_reg may be NULL */
    const char *common; /* ... the instruction that last gave a value that both have, or NULL */
    uint64_t common_pc_bytes, common_value;
    uint64_t ptx_value, machine_value;
    uint32_t hops;        /* loads that were followed to the lane that stored */
    uint32_t reader_line; /* of the load that led here */
    LaneStep *ptx,
        *machine; /* oldest first; the last is the difference, or the last one of the lane that matters */
    uint32_t nptx, nmachine;
} LaneDiff;

typedef struct {
    Plan *plan;
    const PlanLaunch *launch;
    const PtxModule *m;
    const Binary *b;
    PtxRunOptions ptx;
    MachineOptions machine;
    const SimMemory *ptx_before, *machine_before;
    /* where to begin: a lane, and the address whose last store ends what matters (0: the end of the lane) */
    uint32_t block[3], thread[3];
    uint64_t address;
    bool trapped; /* one side ends early */
    bool alike;   /* both trap: there is no difference to look for */
    bool endless; /* the machine does not end */
} LaneQuestion;

/* Always gives the events; NULL if the launch cannot be repeated. */
LaneDiff *lane_diff(const LaneQuestion *question);
/* Text of several lines to `out`. */
void lane_diff_print(const LaneDiff *diff, FILE *out);
struct cJSON *lane_diff_json(const LaneDiff *diff);
#endif
