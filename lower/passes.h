/* The passes of this folder (see ir/passes.def) and the questions that they answer to each other.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_LOWER_PASSES_H
#define HEDDLE_LOWER_PASSES_H
#include "ir/ir.h"

/* Sets Value.uniform, Block.uniform_flow and Function.uniform_entry of the whole module. */
bool pass_uniformity(IrModule *module, Diags *diags);
/* Do all lanes that execute the end of block b together go the same way? True for one successor. Valid
 * after uniformity; false for what is not known. */
bool uniform_branch(const Function *f, BlockId b);

bool pass_returns(Function *f, Diags *diags);
bool pass_legalise(Function *f, Diags *diags);
bool pass_fold(Function *f, Diags *diags);
bool pass_combine(Function *f, Diags *diags);
bool pass_cse(Function *f, Diags *diags);
bool pass_dce(Function *f, Diags *diags);
bool pass_branches(Function *f, Diags *diags);

/* If-conversion as IrModule.predicate says; fills IrModule.predicated. Uniformity is found anew where it did
 * something. */
bool pass_predicate(IrModule *module, Diags *diags);

/* Inserts YIELD, BSSY, BSYNC and WARPSYNC; fills IrModule.reconv and Function.b_base. */
bool pass_reconverge(IrModule *module, Diags *diags);

/* ---- shared by these passes ---- */
/* YIELD on the retry paths of loops that wait for other threads. observes: [func index] a call of it may
 * observe another thread's progress. */
bool reconv_yield_retry_loops(Function *f, const bool *observes);
#endif
