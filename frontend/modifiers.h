/* Words of modifiers: the table frontend/ptx_modifiers.def, which says what each does to the parsed
 * statement. SPDX-License-Identifier: MIT */
#ifndef HEDDLE_FRONTEND_MODIFIERS_H
#define HEDDLE_FRONTEND_MODIFIERS_H
#include "frontend/ast.h"

/* A class of modifiers: a row of frontend/ptx_classes.def. */
typedef struct {
    char letter;
    const char *name;        /* "rounding" */
    char words;              /* letter of the class that has its rows; 0 if it has none */
    bool is_read, is_behind; /* read otherwise; behind operands */
    enum { SETS_NOTHING, SETS_FIELD, SETS_FLAGS } sets;
    uint16_t field; /* SETS_FIELD: offset in PtxInsn, of one byte */
} PtxClass;
/* The class of that letter, NULL if there is none. */
const PtxClass *ptx_class(char letter);
/* Rows in the order of the table. */
unsigned ptx_class_count(void);
const PtxClass *ptx_class_row(unsigned n);

typedef enum { MOD_MEANS, MOD_ALIAS, MOD_FORM, MOD_HINT, MOD_IGNORED } PtxModifierEffect;

typedef struct {
    char cls;
    const char *word;
    PtxModifierEffect effect;
    uint32_t value;   /* MEANS, HINT */
    const char *text; /* ALIAS: the other word; HINT, IGNORED: why dropping it keeps the meaning */
} PtxModifier;

/* The row of that word in that class, or in the one whose words it has; of an alias the row of the other
 * word. NULL if there is none. */
const PtxModifier *ptx_modifier_find(char cls, const char *word, size_t size_bytes);
/* Rows in the order of the table. */
unsigned ptx_modifier_count(void);
const PtxModifier *ptx_modifier_row(unsigned n);
#endif
