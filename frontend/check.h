/* State shared by check.c and check_rules.c.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_FRONTEND_CHECK_H
#define HEDDLE_FRONTEND_CHECK_H
#include "frontend/ast.h"
#include "frontend/forms.h"
#include "frontend/parse.h"

typedef struct {
    PtxModule *m;
    const PtxFunc *f;
    Diags *d;
    Arena tmp;
    OperandSpecs **specs; /* by form */
    char name[160];       /* of ptx_insn_text */
} Check;

/* "add.rn.f32", for messages; valid until the next call. */
const char *ptx_insn_text(const Check *check, const PtxInsn *i);
bool ptx_types_agree(PtxType t, PtxType reg, bool relaxed);
PtxType ptx_twice_as_wide(PtxType t);
/* A value where the form has one: register, or constant that is converted to the type. */
bool ptx_check_value(const Check *check, const PtxInsn *i, unsigned n, PtxType t, PtxOperand *operand);
bool ptx_wrong_kind(const Check *check, const PtxInsn *i, unsigned n, const PtxOperand *operand,
                    const char *what); /* E0109 */
/* `[texture, sampler, {x, y}]` with coordinates of type t, or `[texture]` alone (check_texture.c). */
bool ptx_check_texture(const Check *check, const PtxInsn *i, unsigned n, bool alone, PtxType t,
                       PtxOperand *operand);
bool ptx_check_steps(const Check *check, const PtxInsn *i, unsigned n, PtxType t, PtxOperand *operand);
/* Rules of single opcodes, after the operands have been accepted. */
bool ptx_check_rules(Check *check, const PtxInsn *i);
#endif
