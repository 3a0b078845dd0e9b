/* SPDX-License-Identifier: MIT */
#ifndef HEDDLE_CHECK_PROVE_CERTIFICATE_H
#define HEDDLE_CHECK_PROVE_CERTIFICATE_H
#include "check/prove/core/core.h"

/* What was found of the function, as text (see certificate.c) in the arena. */
char *prove_certificate_write(const Core *core, Arena *arena);
/* Begin `core`, set up and without cut points, with those of the text; false: it does not fit the function,
 * and core->gave_up says why. */
bool prove_certificate_read(Core *core, const char *text);
/* The part of a certificate that is the function's, from its first line on; NULL: it has none. */
const char *prove_certificate_of(const char *text, const char *func);
/* Run each region of a core begun so, once, and compare what arrives at each place with what is said of it.
 * What does not hold is core->gave_up. */
void prove_certificate_check(Core *core);
#endif
