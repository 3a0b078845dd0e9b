/* Differential validation: the PTX reference interpreter and the SIMT machine run the same launches on
 * identical memory; memory and traps are compared after every launch.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_CHECK_VALIDATE_DIFF_H
#define HEDDLE_CHECK_VALIDATE_DIFF_H
#include "check/flow/verdict.h"
#include "check/validate/compare/lane_diff.h"
#include "check/validate/plan/plan.h"
#include "check/validate/compare/printed.h"
#include "check/validate/compare/rounding.h"
#include "emit/elf/binary.h"
#include "frontend/ast.h"
#include "sim/gpu/gpu.h"
#include "sim/machine/machine.h"
#include "sim/interp/interp.h"

/* What is compared with the PTX: the SIMT machine; the binary on a card; or the PTX text that the binary was
 * made from, compiled by the CUDA driver, on a card. */
typedef enum { DIFF_MACHINE, DIFF_CARD, DIFF_CARD_PTX } DiffEngine;
typedef struct {
    DiffEngine engine;
    unsigned time_limit_seconds; /* of a launch on a card, 0: that of sim/gpu/gpu.h */
} DiffOther;

/* First byte that differs between two memories. */
typedef struct {
    uint32_t alloc; /* index in the first memory */
    uint64_t offset_bytes;
    uint64_t ndiffering; /* bytes that differ, in all allocations */
} MemDiff;

/* Compare the allocations of `a` with those of the same address in `b`. `skip[i]` leaves allocation i of `a`
 * out (NULL: none). True if they are equal. Allocations that only `b` has are not looked at. */
bool diff_memory(const SimMemory *a, const SimMemory *b, const bool *skip, MemDiff *out);

enum { DIFF_MAX_FINDINGS = 16 };
/* A card and the PTX differ: what the machine makes of the same binary. */
typedef enum { DIFF_NOT_ASKED, DIFF_AS_PTX, DIFF_AS_CARD, DIFF_AS_NEITHER } DiffOpinion;

typedef struct {
    bool equal;
    const char *kernels; /* of the launches, "a, b" */
    DiffEngine engine;
    DiffOpinion opinion;
    uint32_t nlaunches;      /* executed, the differing one included */
    uint64_t compared_bytes; /* after the last launch */
    uint64_t ptx_insns, machine_issues, machine_lane_issues;
    uint32_t blocks, blocks_executed; /* basic blocks of the machine code; 0: not counted */
    /* a difference */
    uint32_t launch; /* index in the plan */
    SimTrap ptx_trap, machine_trap;
    bool memory_differs;
    bool other_moments; /* only then (check/validate/compare/moments.h) */
    Verdict rounding; /* VERDICT_TOLERATED, _CONTRACTION: results differ by no more than that; else _EQUAL */
    char rounding_note[ROUNDING_NOTE_BYTES];
    MemDiff diff;
    const char *buffer; /* name of the allocation */
    const Scalar *type; /* its element type, or bytes */
    uint64_t element;
    uint8_t ptx_value[8], machine_value[8];
    /* where threads print other texts: the line that differs, of thread `element` */
    char ptx_printed[PRINTED_SHOWN_BYTES], machine_printed[PRINTED_SHOWN_BYTES];
    bool ran_again; /* to find the texts above and the stores below */
    bool has_ptx_store, has_machine_store;
    uint32_t ptx_store_line; /* line of the PTX statement that stored last to the place */
    char ptx_source[64];     /* as in SimTrap */
    uint32_t ptx_store_block[3], ptx_store_thread[3];
    const char *machine_func; /* the machine instruction that did */
    uint64_t machine_pc_bytes;
    char machine_text[160];
    uint32_t machine_ptx_line;
    char machine_source[64];
    uint32_t machine_block[3], machine_warp, machine_lane;
    const struct LaneDiff *lane; /* where the lane that stored, or trapped, parts; NULL unknown */
    char file[480]; /* what the file says beside its code is not what the PTX says (check/flow/contents.h); ""
                     */
    char odd[200];  /* what loaders may take otherwise in the file (M-02, M-04, M-06), or "" */
    bool unfinished;        /* diff_validate is false: the PTX was stopped, the binary has ended */
    uint32_t failed_checks; /* of the plan, against host results */
    /* What PTX leaves undefined although both executions may agree: promises of uniformity that do not hold
     * (the reference interpreter), barriers that a part of a warp executes (the machine). One line each. */
    bool overrun;       /* one is an access beside a .local variable: a difference says nothing either */
    uint32_t nfindings; /* all; the first DIFF_MAX_FINDINGS are kept */
    char findings[DIFF_MAX_FINDINGS][320];
} DiffReport;

typedef struct {
    PtxRunOptions ptx; /* callbacks are replaced */
    MachineOptions machine;
    DiffOther other;
    DiffTolerance tolerance;
    bool no_trace;   /* do not run again to find who stored the differing value */
    bool file_known; /* what the file holds has been compared, for one kernel perhaps */
} DiffOptions;

/* Run the plan on both. Names in the report live as long as plan, binary and module. False: something could
 * not be run at all (reported). A difference is no error: report->equal says. */
bool diff_validate(Plan *plan, const PtxModule *module, const Binary *binary, const DiffOptions *opt,
                   DiffReport *report, Diags *diags);
Verdict diff_verdict(const DiffReport *report);
bool diff_prints_other(const DiffReport *report); /* is it a text that differs? */
/* What differs, in a few lines; malloc'ed. */
char *diff_report_text(const DiffReport *report, const Plan *plan);
char *diff_report_json(const DiffReport *report, const Plan *plan);

/* The kernel of a launch: its own name, or the only kernel. NULL: reported. */
const char *diff_ptx_kernel(const Plan *plan, const PtxModule *module, const PlanLaunch *launch,
                            Diags *diags);
const char *diff_binary_kernel(const Plan *plan, const Binary *binary, const PlanLaunch *launch,
                               Diags *diags);
/* The kernels of all launches, "a, b", each once; in the plan's arena. NULL: reported. */
const char *diff_kernels(Plan *plan, const PtxModule *module, Diags *diags);
/* Thread instructions after which the PTX is stopped where no budget was given: about ten seconds. */
enum { DIFF_PTX_BUDGET = 400000000 };
/* The PTX was stopped by its budget, and the binary did something else than going on: nothing is shown, which
 * is reported (E0516). */
bool diff_unfinished(const PtxRunResult *ptx, const SimTrap *other, Diags *diags);
/* Warp instructions after which a binary is called endless where no budget was given: no right one needs as
 * many for what the PTX did in this launch. */
uint64_t diff_machine_budget(const PtxRunResult *ptx);
/* Are the two traps one? */
bool diff_traps_alike(const Binary *binary, DiffEngine engine, SimTrapKind ptx, SimTrapKind other);
/* The memory in which the launches of a plan begin: its buffers, the module's variables, what threads print.
 * NULL: reported. */
SimMemory *diff_first_memory(Plan *plan, const PtxModule *module, Diags *diags);
/* By allocation of that memory: true for what is not compared: the heap, in which the order of threads
 * decides who gets what; what threads print on a card, which its driver keeps to itself. In the plan's arena.
 */
bool *diff_skip(Plan *plan, const SimMemory *memory, DiffEngine engine);
/* Before a plan runs: its PTX computes what a target leaves its mark on as the binary's does
 * (docs/numerics.md, 7), and what its handles are for is noted. */
void diff_prepare(Plan *plan, const PtxModule *module, const Binary *binary);
/* One launch of a plan on one engine; the parameter block is built from the kernel's own parameters. */
bool diff_run_ptx(Plan *plan, const PlanLaunch *launch, const PtxModule *module, SimMemory *mem,
                  const PtxRunOptions *opt, PtxRunResult *res, Diags *diags);
/* For a comparison: what nobody wrote is not what the interpreter has there, unless a policy says otherwise.
 */
void diff_unwritten(MachineOptions *options);
bool diff_run_machine(Plan *plan, const PlanLaunch *launch, const Binary *binary, SimMemory *mem,
                      const MachineOptions *opt, MachineResult *res, Diags *diags);
/* On a card: `engine` is one of the two. */
bool diff_run_card(Plan *plan, const PlanLaunch *launch, const Binary *binary, const DiffOther *other,
                   SimMemory *mem, GpuResult *res, Diags *diags);
/* The one that `other` says; of a card's result only the trap is filled in. */
bool diff_run_other(Plan *plan, const PlanLaunch *launch, const Binary *binary, const DiffOther *other,
                    SimMemory *mem, const MachineOptions *opt, MachineResult *res, Diags *diags);
#endif
