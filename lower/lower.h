/* Lowering: a checked PTX module becomes a module of machine IR in SSA form.
 * In: the typed module. Out: one IR function for each PTX function with a body, callees before callers, and
 * those functions of the built-in library that they need; module-level variables placed.
 * Anything that is not compiled is an error E07xx at its PTX line; nothing is ever skipped.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_LOWER_LOWER_H
#define HEDDLE_LOWER_LOWER_H
#include "frontend/ast.h"
#include "ir/ir.h"

/* Lower `ptx` for target `t`.
 *   ptx      checked (ptx_check); must live as long as the result, which points into it
 *   strings  where the names of the result are interned; must live as long as the result
 *   returns  a module owned by the caller (ir_module_free), or NULL when errors were reported */
IrModule *lower_module(const PtxModule *ptx, StrTab *strings, const Target *t, unsigned opt_level,
                       Diags *diags);
/* The same for an object that a linker joins with others (native targets): functions that are seen from
 * outside, or whose address is taken, are called as ptxas calls them, also those without a body here; where
 * variables lie the linker says. */
IrModule *lower_object(const PtxModule *ptx, StrTab *strings, const Target *t, unsigned opt_level,
                       Diags *diags);

/* PTX text of the built-in library's file number n (0, 1, ...), NULL past the last. */
const char *lower_builtin_text(unsigned n, size_t *size_bytes);
const char *lower_builtin_file(unsigned n); /* its name, "div_int.ptx" */
#endif
