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

/* The module of a text that a binary holds: of a linked one the texts of its parts one behind the other, each
 * from its .version on, which are parsed one by one and linked again. As ptx_parse otherwise; lines count in
 * the whole text. */
PtxModule *ptx_parse_kept(const char *name, const char *text, size_t size_bytes, Diags *diags);
#endif
