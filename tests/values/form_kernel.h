/* Kernels of one statement: each spelling of a form of ptx_forms.def with registers for its operands, between
 * loads of what it reads and stores of what it names. SPDX-License-Identifier: MIT */
#ifndef HEDDLE_TESTS_FORM_KERNEL_H
#define HEDDLE_TESTS_FORM_KERNEL_H
#include "../lower/form_text.h"
#include "frontend/ast.h"
#include <stdio.h>

enum {
    FORM_BLOCK = 64,
    FORM_WORDS = 16,     /* 64-bit inputs of a thread */
    FORM_OWN_BYTES = 64, /* memory of a thread that statements access */
    FORM_OUT_WORDS = 64, /* registers afterwards, and the thread's shared or local memory */
    FORM_PARAM_BYTES = 64,
    FORM_HEAD_LINES = 4
};

typedef struct {
    char opcode[160];
    bool guarded, optional, refused;
} FormUse;

/* The statement and what it is; false: there is none. */
bool form_statement(const FormUse *form, char *out, size_t size, PtxInsn *insn);
/* Kernel `k<number>` on one line (ptxas names lines), malloc'ed; NULL: there is no statement. */
char *form_kernel_text(const FormUse *form, unsigned number);
/* The module's first FORM_HEAD_LINES lines; `target` as `.target` has it. */
void form_kernel_head(FILE *f, const char *target);
#endif
