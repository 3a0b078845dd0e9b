/* One row of isa/ in the making, internal to learn/: row.c finds its fields and syntax, rows.c prints it.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_LEARN_ROW_H
#define HEDDLE_LEARN_ROW_H
#include "learn/rows.h"

__extension__ typedef unsigned __int128 Wide;

enum { NO_BIT = 128, ROW_WHY_BYTES = 120, ROW_TEXT_BYTES = 4000, ROW_NAME_BYTES = 80 };

typedef struct {
    const LearnRowMaker *maker;
    const LearnRepository *repository; /* maker's */
    StrTab *strings;                   /* likewise */
    const LearnKey *key;
    LearnGroup *group;
    const LearnGroup *weights; /* the group, or it and what other keys say */
    const LearnPattern *first; /* of the row's patterns, which differ in modifiers that are fields */
    const LearnEvidence *seen; /* its first */
    Wide owned;                /* bits of fields */
    Wide parts;                /* of `seen`, what its fields hold */
    unsigned value, operand, nslots;
    char slots[400], fields[ROW_TEXT_BYTES], syntax[LEARN_TEXT_BYTES], why[ROW_WHY_BYTES];
} LearnDraft;

/* The row's name in its text, its fields and its syntax. False: why[] says why there is none. */
bool learn_draft_make(LearnDraft *row, char name[ROW_NAME_BYTES]);
/* Do two patterns of the row's key belong to one row? */
bool learn_draft_same(const LearnDraft *row, const LearnPattern *pattern, const LearnPattern *other);
/* Does one of the key's instructions have a guard of the uniform data path, or its own name one? */
bool learn_draft_is_uniform(const LearnDraft *row, const char *name);
/* What LearnRowMaker.reused has for `bit` of `opcode`. */
StrId learn_reuse_id(StrTab *strings, const char *opcode, unsigned bit);
#endif
