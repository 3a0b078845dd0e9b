/* Inferring launches of a kernel: which shape, how large its buffers are and what they hold, which numbers
 * its scalar parameters have. A first guess follows from what the kernel does with its parameters
 * (auto_flow.h); it is then run by the PTX reference interpreter, mended where it leaves its buffers or does
 * not end, and varied, and the launches that reach most are kept. docs/validate.md says by which rules.
 * Everything follows from the seed.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_CHECK_VALIDATE_AUTO_LAUNCH_H
#define HEDDLE_CHECK_VALIDATE_AUTO_LAUNCH_H
#include "check/validate/cover/coverage.h"
#include "check/validate/plan/plan.h"

typedef struct {
    uint64_t seed;
    uint32_t attempts;          /* 0: 24 */
    uint64_t budget;            /* thread instructions of an attempt, 0: 1 million */
    uint32_t most_shared_bytes; /* of a block, declared and dynamic, 0: 48 KiB of dynamic memory */
    uint32_t shared_base_bytes; /* where a block's own begins */
} AutoOptions;

enum { AUTO_MAX_LAUNCHES = 18 };
/* Parts of the basic blocks that must be executed; the machine has slow paths of division and the like. */
#define AUTO_ENOUGH 0.8
#define AUTO_ENOUGH_MACHINE 0.33
/* ... and of the operand classes. A part of these cannot be had: addresses are sums of a few shapes. Of the
 * samples one has less, the median has 75 %. */
#define AUTO_ENOUGH_VALUES 0.5
/* Where there are fewer classes than this they are those of addresses made from thread numbers. */
enum { FEW_CLASSES = 8 };
typedef struct {
    Arena arena;
    struct AutoSearch *search;
    Plan *plans[AUTO_MAX_LAUNCHES];    /* one launch each, on memory of its own */
    bool race_free[AUTO_MAX_LAUNCHES]; /* no two accesses in it are unordered */
    /* ... and no thread can tell in which order the others run: one order shows what all do */
    bool order_free[AUTO_MAX_LAUNCHES];
    uint32_t nplans;        /* none that ends without a trap was found: one, which traps */
    bool traps;             /* so it is */
    bool open;              /* of one plan: its result depends on what PTX does not say */
    uint32_t racing_rows;   /* of `racing`, those with blocks of several rows */
    uint32_t tried, racing; /* launches that ended, and those of them with data races: they are kept only if
                               those without reach less than 80 % of the blocks */
    Covered blocks, values; /* of the PTX, by all plans */
    uint32_t **seen;        /* by function and statement: PtxValue bits, by all plans */
    uint8_t *const *fixed;  /* for Coverage */
    const uint8_t *funcs;   /* by function: may be executed */
    char reason[256];       /* nplans 0: why nothing can be run */
} AutoLaunches;

/* Do statements tell which lanes execute them (activemask), what others have done (mbarrier, votes and the
 * like without .sync), or when (clocks)? Races and strong operations are found by running. funcs: [func] 1
 * for those that are looked at, NULL for all. Returns a sum of AutoSees. */
typedef enum { AUTO_SEES_ACTIVE = 1, AUTO_SEES_OTHERS = 2, AUTO_SEES_TIME = 4 } AutoSees;
unsigned auto_sees_order(const PtxModule *module, const uint8_t *funcs);
/* May threads tell each other something outside of barriers, so that a result may depend on their order: by
 * atomics, sums in memory, strong loads and stores? */
bool auto_communicates(const PtxModule *module);
/* Never fails: see nplans. */
void auto_launch(const PtxModule *module, const char *kernel, const AutoOptions *opt, AutoLaunches *out);
void auto_launch_free(AutoLaunches *launches);
/* All of them as one plan, in `into`: buffers and launches of each. */
void auto_launch_merge(const AutoLaunches *launches, Plan *into);
#endif
