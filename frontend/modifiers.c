/* The tables of classes and words of modifiers: see modifiers.h.
 * SPDX-License-Identifier: MIT */
#include "frontend/modifiers.h"
#include <stddef.h>
#include <string.h>

enum {
#define PTX_CLASS(id, letter, name, words, sets) CLASS_##id = letter,
#include "frontend/ptx_classes.def"
    CLASS_own = 0,
    CLASS_read,
    CLASS_behind
};

static const PtxClass classes[] = {
#define WORDS(whose) CLASS_##whose
/* fields are of one byte */
#define FIELD(member)                                                                                        \
    SETS_FIELD,                                                                                              \
        .field = offsetof(PtxInsn, member) + 0 * sizeof(char[sizeof(((PtxInsn *)0)->member) == 1 ? 1 : -1])
#define FLAGS SETS_FLAGS
#define NOTHING SETS_NOTHING
#define PTX_CLASS(id, letter_, name_, words_, sets_)                                                         \
    {.letter = letter_,                                                                                      \
     .name = name_,                                                                                          \
     .words = (words_) == CLASS_own || (words_) == CLASS_behind ? letter_ : (char)(words_),                  \
     .is_read = (words_) == CLASS_read,                                                                      \
     .is_behind = (words_) == CLASS_behind,                                                                  \
     .sets = sets_},
#include "frontend/ptx_classes.def"
};
enum { NCLASSES = sizeof classes / sizeof *classes };

unsigned ptx_class_count(void) { return NCLASSES; }
const PtxClass *ptx_class_row(unsigned n) { return &classes[n]; }

const PtxClass *ptx_class(char letter) {
    for (unsigned k = 0; k < NCLASSES; k++)
        if (classes[k].letter == letter)
            return &classes[k];
    return NULL;
}

static const PtxModifier rows[] = {
#define MEANS(value_) .effect = MOD_MEANS, .value = value_
#define ALIAS(other) .effect = MOD_ALIAS, .text = other
#define FORM .effect = MOD_FORM
#define HINT(value_, reason) .effect = MOD_HINT, .value = value_, .text = reason
#define IGNORED(reason) .effect = MOD_IGNORED, .text = reason
#define PTX_MODIFIER(cls_, word_, effect) {.cls = CLASS_##cls_, .word = word_, effect},
#include "frontend/ptx_modifiers.def"
};
enum { NROWS = sizeof rows / sizeof *rows };

unsigned ptx_modifier_count(void) { return NROWS; }
const PtxModifier *ptx_modifier_row(unsigned n) { return &rows[n]; }

const PtxModifier *ptx_modifier_find(char cls, const char *word, size_t size) {
    const PtxClass *ptx_class_of = ptx_class(cls);
    for (unsigned k = 0; ptx_class_of && k < NROWS; k++)
        if (rows[k].cls == ptx_class_of->words && !strncmp(rows[k].word, word, size) && !rows[k].word[size])
            return rows[k].effect == MOD_ALIAS ? ptx_modifier_find(cls, rows[k].text, strlen(rows[k].text))
                                               : &rows[k];
    return NULL;
}
