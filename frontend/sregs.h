/* The rows of ptx_sregs.def. SPDX-License-Identifier: MIT */
#ifndef HEDDLE_FRONTEND_SREGS_H
#define HEDDLE_FRONTEND_SREGS_H
#include "frontend/ast.h"
#include "frontend/gates.h"

enum { SREG_VECTOR = 255 };
typedef enum { SREG_VARIES_LAUNCH, SREG_VARIES_BLOCK, SREG_VARIES_THREAD, SREG_VARIES_TIME } SregVaries;
typedef struct {
    PtxSreg reg;
    const char *spelling; /* without the percent sign; %u is a number */
    uint8_t first, count, component;
    PtxType type;
    uint8_t was_bytes; /* 0, or: integers of this size and those up to 32 bits read it too */
    SregVaries varies;
    const char *section;
    PtxNeed need;
} SregRow;

unsigned sreg_row_count(void);
const SregRow *sreg_row(unsigned n);
/* The row of an operand that is a special register. */
const SregRow *sreg_row_of(const PtxOperand *operand);
/* Writes the name of register k of a row. */
void sreg_spell(const SregRow *row, unsigned k, char *text, size_t size);
/* The row and the register of it that a program calls `name`, "%tid"; false if none is called so. */
bool sreg_named(const char *name, unsigned *n, unsigned *k);
/* "tid.x", "envreg3": as the program says it, without the percent sign. */
void sreg_text(const PtxOperand *operand, char *text, size_t size);
/* What an operand's value depends on; LAUNCH if it is no special register. */
SregVaries sreg_varies(const PtxOperand *operand);
#endif
