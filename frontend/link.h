/* Linking of PTX modules: several files become one program, for the compiler and for the reference
 * interpreter.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_FRONTEND_LINK_H
#define HEDDLE_FRONTEND_LINK_H
#include "frontend/ast.h"

/* One module out of `n`, which it takes over: they are freed with the result, or now after an error. NULL:
 * reported (E0140 defined twice, E0141 not defined, E0142 declarations that do not agree). Positions and line
 * numbers count in the texts one behind the other. Debug sections are left out. */
PtxModule *ptx_link(PtxModule **modules, uint32_t n, Diags *diags);
#endif
