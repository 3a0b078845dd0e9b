/* The table of words of modifiers: see modifiers.h.
 * SPDX-License-Identifier: MIT */
#include "frontend/modifiers.h"
#include <string.h>

enum { /* the classes that have words; types and shapes are read otherwise */
       CLASS_r = 'r',
       CLASS_c = 'c',
       CLASS_b = 'b',
       CLASS_m = 'm',
       CLASS_o = 'o',
       CLASS_k = 'k',
       CLASS_a = 'a',
       CLASS_s = 's',
       CLASS_f = 'f',
       CLASS_p = 'p',
       CLASS_v = 'v',
       CLASS_h = 'h',
       CLASS_x = 'x',
       CLASS_u = 'u'
};

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
    char own = cls == 'q' ? 'p' : cls;
    own = own == 'S' ? 's' : own;
    for (unsigned k = 0; k < NROWS; k++)
        if (rows[k].cls == own && !strncmp(rows[k].word, word, size) && !rows[k].word[size])
            return rows[k].effect == MOD_ALIAS ? ptx_modifier_find(cls, rows[k].text, strlen(rows[k].text))
                                               : &rows[k];
    return NULL;
}
