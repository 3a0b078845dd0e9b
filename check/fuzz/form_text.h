/* Statements made from the table of forms (frontend/ptx_forms.def): every way to write an opcode, and a
 * statement with registers for its operands.
 *
 * Register n of %d, %r, %h, %p, %q has 64, 32, 16, 1 and 128 bits; addresses are %da, and %ra where they have
 * 32 bits; the guard is %p3, the parameter pp, the label LL, the table of labels `table`.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_CHECK_FUZZ_FORM_TEXT_H
#define HEDDLE_CHECK_FUZZ_FORM_TEXT_H
#include "frontend/forms.h"

/* The statement of an opcode with its modifiers; `optional`: with the operands that may be absent. False: no
 * such opcode. */
bool gen_form_text(const char *opcode, bool guarded, bool optional, char *out, size_t size);
/* Calls `each` with every combination of the form's types and each of its other words in turn. */
void gen_form_spellings(unsigned form, void (*each)(void *user, const char *opcode), void *user);
#endif
