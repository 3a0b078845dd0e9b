/* ptxas's words for Heddle's diagnostics: the rows of messages.def.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_TOOLS_PTXAS_WORDS_H
#define HEDDLE_TOOLS_PTXAS_WORDS_H
#include "base/arena.h"
#include "base/diag.h"

typedef enum { /* what messages.def says of them; OWN: there is no row */
               MSG_OWN,
               MSG_ERROR,
               MSG_FATAL,
               MSG_MISMATCH,
               MSG_SYMBOL,
               MSG_LATE,
               MSG_AT_END,
               MSG_BODY_END,
               MSG_LIST_END,
               MSG_WHOLE,
               MSG_STOP,
               MSG_BOUNDED,
               MSG_SILENT
} MessageClass;

typedef struct {
    MessageClass class;
    const char *text; /* several messages: each a line of it */
} PtxasWords;

/* A DiagWordingFn's answer: the format of the code's row, for the diagnostic's own arguments; NULL: no row.
 */
const char *ptxas_format(Arena *arena, DiagCode code, const DiagRecord *record);
/* What is said; record->text was written in ptxas_format. */
PtxasWords ptxas_words(Arena *arena, const DiagRecord *record);
/* What the statement of E0145 or E0146 lacks, a line each; NULL: no row of features.def tells. */
const char *ptxas_features(Arena *arena, const DiagRecord *record);
/* The instruction as ptxas names it: "cp.async"; NULL: it is about none. */
const char *ptxas_opcode(Arena *arena, const DiagPlace *place);
#endif
