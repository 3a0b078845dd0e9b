/* What the parts of the static checker share.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_CHECK_STATIC_INTERNAL_H
#define HEDDLE_CHECK_STATIC_INTERNAL_H
#include "base/bitset.h"
#include "check/static/check.h"
#include "ir/graph.h"

#define NONE BINFLOW_NONE

/* A function, or a subroutine inside a function's section. */
typedef struct {
    uint32_t func, entry_block;
    const uint32_t *rpo; /* its blocks in reverse post-order; empty if never called */
    uint32_t nrpo;
    bool is_kernel;
} Proc;

typedef struct {
    const BinFlow *flow;
    const BinCheckOptions *opt;
    Arena *arena; /* of the report */
    Arena a;      /* scratch */
    VEC(BinFinding) findings;
    bool native;
    uint64_t steps; /* blocks, edges and entries of states looked at where walks come again and again */
    Proc *procs;
    uint32_t nprocs;
    uint32_t *proc_at; /* by instruction: the proc that starts there, or NONE */
    Graph calls;       /* of procs; node nprocs stands for an unknown callee and calls all possible ones */
    uint32_t *callees_first; /* [nprocs] procs, as far as they do not call each other in a circle */
    /* possible callees of unknown calls */
    const uint32_t *address_taken;
    uint32_t naddress_taken;
    /* by instruction, of check/static/uniform.c */
    bool *divergent;  /* a branch, BRX, EXIT, RET or indirect CALL on which lanes may go different ways */
    bool *masks_vary; /* a WARPSYNC or R2UR whose source, or a BAR whose guard, may differ among lanes */
    bool *converged;  /* all valid lanes of the warp are together when it starts */
    uint32_t *ipdom;  /* by block: where its paths meet, those that only exit left aside; NONE */
    bool *surely_divergent, *surely_apart; /* the same of values that are divergent for certain */
    bool *apart; /* not all lanes of the warp need to come here: control-dependent on a divergent branch */
    /* by instruction, of check/static/barriers.c: barriers that may be pending, its own procedure's and the
     * callers' */
    uint16_t *pend, *inherited;
    const char **ptx_lines; /* where lines of the PTX text begin, NULL until one is asked for */
    uint32_t nptx_lines;
    struct SameAgain *same_again;       /* by block, of check/static/same_again.c */
    const struct KeptRegs *proc_writes; /* by procedure, of check/static/kept.c */
    bool *entered;                      /* by instruction: as in BinCheckReport, of check/static/entered.c */
} Checker;

typedef struct { /* bits of a value that are known; the others of `value` are 0 */
    uint32_t known, value;
    uint32_t same; /* in all lanes of a warp that are together; known ones, too */
} CheckBits;
/* Of an operand before the instruction `at`. Walks back over `*left` instructions at most. */
CheckBits check_bits_before(const BinFlow *flow, uint32_t at, Operand o, unsigned *left);
/* Is what the instruction computes of the thread's place in its block the same for all lanes of a warp, whose
 * shape is required to be one of whole warps in a row? */
bool check_is_of_warp(const BinFlow *flow, uint32_t inst);
/* The shape says so of a special register. */
bool check_sreg_of_warp(const BinFlow *flow, uint32_t inst, uint32_t sreg);
/* The lanes that a WARPSYNC, or a BRA.DIV or .CONV, names, if they are a constant. */
bool check_mask(const BinFlow *flow, uint32_t inst, uint32_t *mask);

/* Are the lanes together that come from `last`, the end of a block, to `block`? BRA.DIV sends those that are
 * apart elsewhere, BRA.CONV those that are together, and WARPSYNC.COLLECTIVE all of its lanes to what
 * follows. */
uint32_t check_warpsync_before(Checker *checker, uint32_t inst); /* NONE */
bool check_comes_together(const BinFlow *flow, uint32_t last, uint32_t block);

bool check_wants(const Checker *checker, CheckRule r);
/* A finding at `inst`; its path is the shortest from `from` (NONE: no cause) to it. Until the next one it may
 * be added to; NULL: it is not reported, or was already. */
BinFinding *check_report(Checker *checker, CheckRule r, uint32_t inst, uint32_t from, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
void check_report_as(Checker *checker, Severity severity, CheckRule r, uint32_t inst, uint32_t from,
                     const char *fmt, ...) __attribute__((format(printf, 6, 7)));
const char *check_at(Checker *checker, uint32_t inst); /* "name+0x40" */

/* The procs that the call `inst` may enter; none if nothing is known. */
typedef struct {
    const uint32_t *proc;
    uint32_t n;
} Callees;
Callees check_callees(const Checker *checker, uint32_t inst);

/* bin_kind, but a call that is a branch (see binflow.h) is one. */
BinKind check_kind(const Checker *checker, uint32_t inst);
/* May lanes be apart behind it, or others than before? */
bool check_is_control(const MachInst *inst);
/* The mask of a WARPSYNC, if it is a number of its own. */
bool check_constant_mask(const MachInst *inst, uint32_t *mask);
/* WARPSYNC for a CTA barrier: PTX promises that all lanes take one way to it. */
bool check_before_bar(const Checker *checker, uint32_t inst);
/* The instruction that runs before `at`, where it is one on every path; NONE. */
uint32_t check_one_before(const BinFlow *flow, uint32_t at);
/* Does a branch part the lanes of every warp, whatever the data are? */
bool check_parts_every_warp(const BinFlow *flow, uint32_t branch);
/* Reads memory to see what others do. */
bool check_observes(const Checker *checker, uint32_t inst);
typedef struct {
    const uint32_t *blocks; /* [nblocks] */
    const uint32_t *number; /* [block - base] where in its cycle's `blocks` a block of the function is */
    uint32_t nblocks, base;
} CheckCycle;
/* Does a branch of the cycle, or what it calls, depend on what it observes? */
bool check_cycle_waits(Checker *checker, const CheckCycle *cycle);
/* Does the cycle of `nblocks` blocks, those of comp[block - base], around the compare-and-swap end without
 * the help of other lanes? */
bool check_ends_alone(const Checker *checker, uint32_t swap, uint32_t base, const uint32_t *comp,
                      uint32_t nblocks);
/* Is the instruction one that a block's lanes leave to another procedure: a call, or a branch to a function's
 * entry? */
bool check_is_call(const Checker *checker, uint32_t inst);
bool check_asks_who_is_active(const MachInst *inst); /* ELECT, or a vote of constants */
/* Of an unguarded collective, in its block: does an instruction use its result with a vote of the same lanes?
 * Does REDUX.OR but make the mask of a BRA.DIV or .CONV? */
bool check_used_with_vote(const Checker *checker, uint32_t collective);
bool check_asks_for_others(Checker *checker, uint32_t collective);

/* Does uniform register `reg` hold the same at the start of `block`, whichever of its writes was the last? */
bool check_holds_one_value(Checker *checker, const Proc *proc, uint32_t block, RegFile file, uint32_t reg);

/* The PTX line that the map gives an instruction, 0: none. */
uint32_t check_ptx_line(const Checker *checker, uint32_t inst);
/* Text and end of the only statement in that line of the PTX text; NULL: there is none, or several. */
const char *check_ptx_statement(Checker *checker, uint32_t line, const char **stop);
bool check_starts_with(const char *text, const char *end, const char *word);
/* Does PTX promise (.uni) that the lanes that come to the branch go one way? The machine code does not say.
 */
bool check_promised_uniform(Checker *checker, uint32_t inst);
/* ... says `.aligned`: PTX promises that all lanes of the warp execute it, so none waits elsewhere. */
bool check_promised_whole(Checker *checker, uint32_t inst);

void check_structure(Checker *checker);    /* R-18 R-19 R-21 R-22 */
void check_uniform(Checker *checker);      /* fills divergent, converged */
void check_barriers(Checker *checker);     /* */
void check_driver_calls(Checker *checker); /* R-16 of the driver's functions */
void check_entered(Checker *checker);      /* fills entered */
void check_collectives(Checker *checker);  /* */
void check_rendezvous(Checker *checker);   /* */
void check_gathering(Checker *checker);    /* R-09 of WARPSYNC.COLLECTIVE and BRA.DIV */
void check_meetings(Checker *checker);     /* */
void check_registers(Checker *checker);    /* */
void check_metadata(Checker *checker);     /* M-01 to M-05 */
void check_form(Checker *checker);         /* M-06 */
void check_ptx_contents(Checker *checker); /* M-07 */
void check_hazards(Checker *checker);      /* H-01 to H-07 */
void check_reuse(Checker *checker);        /* H-08 */

/* ---- reports ---- */
const char *check_severity_name(Severity severity);
/* "@P0 BSYNC B0"; what does not decode as its word. */
void check_instruction_text(const BinFlow *flow, uint32_t inst, char *out, size_t out_bytes);
#endif
