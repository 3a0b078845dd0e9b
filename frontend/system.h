/* Declarations of the driver's functions (isa/machine/system.def) in a module.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_FRONTEND_SYSTEM_H
#define HEDDLE_FRONTEND_SYSTEM_H
#include "frontend/ast.h"
#include "isa/machine/system.h"

/* Which one `func` declares: a function without body, of that name, with those parameters. SYSTEM_COUNT if it
 * is none of them. */
SystemFunc ptx_system_func(const PtxModule *module, const PtxFunc *func);
/* No call of it comes back: `.noreturn`, or of the driver's functions the one that ends the launch, which
 * nvcc declares without. */
bool ptx_never_returns(const PtxModule *module, const PtxFunc *func);
#endif
