/* Gates: which `.version` and `.target` an instruction, a directive or a special register asks for, as ptxas
 * has it. The facts are columns of ptx_forms.def, ptx_gates.def (modifiers), ptx_directives.def,
 * ptx_sregs.def and ptx_targets.def; there is no rule in code. SPDX-License-Identifier: MIT */
#ifndef HEDDLE_FRONTEND_GATES_H
#define HEDDLE_FRONTEND_GATES_H
#include "frontend/ast.h"

/* What the columns VERSION and TARGET say. */
typedef struct {
    uint8_t version;    /* major * 10 + minor */
    const char *target; /* "90": sm_90 or higher; "90a": also architecture-specific; "100f": or of a family */
} PtxNeed;
#define GATE_VERSION(major, minor) ((major)*10 + (minor))

/* The last minor version of a major version of the PTX ISA that is known; negative: there is no such version.
 */
int ptx_last_minor(unsigned major);

/* Of a row of ptx_directives.def; NULL if the text is none. */
typedef struct {
    const char *text, *section;
    PtxNeed need;
} PtxDirective;
const PtxDirective *gate_directive(const char *text, size_t size_bytes);

/* "sm_90a" -> architecture 90, variant 'a' (else 0), first version that has it; false: no such target. */
bool gate_target(const char *text, uint32_t *sm, char *variant, unsigned *version);
/* Has .target sm_`sm` and `variant` (0: none) what `need` asks for? What only an architecture has is not in
 * its family; what the family has each of its architectures has. */
bool gate_target_has(uint32_t sm, char variant, const char *need);
/* Do the modifiers (".rn.f32") have the words of a row of ptx_gates.def? `found`: those that they have,
 * ".f32". */
bool gate_words(const char *words, const char *mods, char *found, size_t found_size);
/* Rows of ptx_gates.def that ask for the highest .version and .target of an instruction with these modifiers
 * (".rn.f32"); 0: none does. `generic`: the form takes a state space and none is given. */
void gate_modifiers(PtxOp op, const char *mods, size_t size_bytes, bool generic, uint16_t *version,
                    uint16_t *target);
/* E0145 or E0146 if the module's .version or .target is lower than needed; `what` asks for it. */
bool gate_check(const PtxModule *module, PtxNeed need, const char *what, SrcLoc loc, Diags *diags);
/* The same for an instruction: its form and its modifiers. `name` is the instruction's text. */
bool gate_check_insn(const PtxModule *module, const PtxInsn *insn, const char *name, Diags *diags);
/* E0710 if PTX of this module may not become code for the target of that name, as ptxas has it: "sm_N" takes
 * no higher .target and none that is architecture-specific; other machines take every one. */
bool gate_machine(const PtxModule *module, const char *target, Diags *diags);
#endif
