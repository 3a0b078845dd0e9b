/* What a row of passes.def says, and running a list of such rows.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_IR_PASS_H
#define HEDDLE_IR_PASS_H
#include "ir/ir.h"

/* Facts about a module between passes. */
enum {
    IRS_SSA = 1,         /* values are defined once */
    IRS_UNIFORM = 2,     /* Value.uniform and Function.uniform_entry are right */
    IRS_LEGAL = 4,       /* every instruction has an opcode for its operand kinds */
    IRS_RECONVERGED = 8, /* BSSY, BSYNC, YIELD and WARPSYNC are there: edges may not be changed freely */
    IRS_COLOURED = 16,   /* physical registers, parallel copies not yet lowered */
    IRS_PHYSICAL = 32,   /* no pseudo operation is left */
    IRS_LAID_OUT = 64,   /* layout is the final block order */
    IRS_SCHEDULED = 128, /* instruction order is final */
    IRS_CONTROLLED = 256 /* stall counts and scoreboards are set */
};
/* In GIVES: facts that the pass destroys. */
#define IRS_DROPS(x) ((uint64_t)(x) << 32)

/* bool pass_NAME(Function *, Diags *) or (IrModule *, Diags *), one for each row: false means reported. */
#define PASS_DECLARE_FUNC(name) bool pass_##name(Function *f, Diags *diags);
#define PASS_DECLARE_MODULE(name) bool pass_##name(IrModule *module, Diags *diags);
#define PASS(name, kind, min, what, needs, gives) PASS_DECLARE_##kind(name)
#include "ir/passes.def"
#undef PASS

typedef struct {
    const char *name, *what;
    PassFn *func; /* one of the two is NULL */
    ModulePassFn *module;
    unsigned min_opt_level;
    uint32_t needs;
    uint64_t gives; /* facts given; facts dropped in the high half */
} PassDesc;

/* Run the rows in order. The text of time_passes goes out as notes. */
bool ir_run_pass_table(IrModule *module, const PassDesc *table, unsigned n, const PassOptions *opt,
                       Diags *diags);
/* All rows of passes.def (ir/pass_table.c, library hd_passes). */
const PassDesc *ir_passes(unsigned *n);
#endif
