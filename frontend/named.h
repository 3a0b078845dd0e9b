/* What functions of a module name: variables, functions that they call, functions whose address they take.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_FRONTEND_NAMED_H
#define HEDDLE_FRONTEND_NAMED_H
#include "frontend/ast.h"

/* Adds the variables that function `index` names to vars[module->nvars], and the functions that it calls,
 * lists in a .calltargets or takes the address of to funcs[module->nfuncs]. Aliases are followed. Returns
 * whether it has a call whose target only a register knows, without a list of what it may be. */
bool ptx_mark_named(const PtxModule *module, uint32_t index, bool *vars, bool *funcs);

/* The same, and what was not marked before is added to a list, in the order of the text. */
typedef struct {
    VEC(uint32_t) vars, funcs; /* in the arena that ptx_list_named is given */
} PtxNamed;
bool ptx_list_named(const PtxModule *module, uint32_t index, bool *vars, bool *funcs, Arena *arena,
                    PtxNamed *list);

/* Functions whose address the module takes anywhere, in code or as initial data: [module->nfuncs]. */
bool *ptx_address_taken(const PtxModule *module, Arena *arena);

/* ptx_mark_named of function `index` and of all that it may reach, which are added to funcs, itself too.
 * `indirect`: calls with unknown targets reach every function whose address is taken, and variables the
 * functions and variables that their initial values name. */
void ptx_mark_reached(const PtxModule *module, uint32_t index, bool indirect, bool *vars, bool *funcs);

/* The bodies and initial values of a module, to be taken away and given back. */
typedef struct {
    bool *bodies;     /* [nfuncs] */
    uint32_t *ninits; /* [nvars] */
} PtxContents;
PtxContents ptx_contents(const PtxModule *module, Arena *arena);

/* Of functions funcs[] only keep bodies, and variables their initial values unless these name
 * another one, or one that could not be read. */
void ptx_keep(PtxModule *module, const PtxContents *all, const bool *funcs);
#endif
