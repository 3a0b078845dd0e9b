/* Kernels of one statement: each spelling of a form of ptx_forms.def with registers for its operands, between
 * loads of what it reads and stores of what it names. SPDX-License-Identifier: MIT */
#ifndef HEDDLE_CHECK_FUZZ_FORM_KERNEL_H
#define HEDDLE_CHECK_FUZZ_FORM_KERNEL_H
#include "check/fuzz/form_text.h"
#include "frontend/ast.h"
#include <stdio.h>

enum {
    FORM_FIRST_SOURCE = 5, /* registers of operands of a form, FormUse.parameters */
    FORM_SECOND_SOURCE = 9,
    FORM_BLOCK = 64,
    FORM_WORDS = 16,     /* 64-bit inputs of a thread */
    FORM_OWN_BYTES = 64, /* memory of a thread that statements access */
    FORM_OUT_WORDS = 64, /* registers afterwards, and the thread's shared or local memory */
    FORM_PARAM_BYTES = 64,
    FORM_HEAD_LINES = 4
};

typedef struct {
    char opcode[160];
    bool guarded, optional; /* optional: with the operands that may be absent */
    unsigned parameters; /* registers from this number on are parameters, the same in all threads; 0: none */
    int offset_bytes;    /* of addresses */
} FormUse;

/* The statement and what it is; false: there is none. */
bool gen_form_statement(const FormUse *form, char *out, size_t size, PtxInsn *insn);
/* Kernel `k<number>` on one line (ptxas names lines), malloc'ed; NULL: there is no statement. */
char *gen_form_kernel(const FormUse *form, unsigned number);
/* The module's first FORM_HEAD_LINES lines; `target` as `.target` has it. */
void gen_form_head(FILE *f, const char *target);
#endif
