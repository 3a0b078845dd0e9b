/* Names of C++ as they stand in a source: the C++ runtime library's own function, where the system has it.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_BASE_DEMANGLE_H
#define HEDDLE_BASE_DEMANGLE_H
#include "base/arena.h"
#include <stdbool.h>
#include <stdint.h>

/* "lp(float*, int)" for "_Z2lpPfi", in the arena; NULL for what is no such name, or without the library. */
const char *str_demangle(Arena *arena, const char *name);
/* "a, b, _Z2lpPfi (lp(float*, int))": symbols, and what they are in a source; "none" of none. For messages:
 * it asks the C++ runtime library, and a file may have thousands. */
const char *str_list_symbols(Arena *arena, const char *const *symbols, uint32_t n);
/* Is `name` the symbol itself, or what it is in the source: "lp(float*, int)" with any blanks, or "lp" alone?
 * Of "void lp<int>(int*)" also "lp<int>". */
bool str_is_named(Arena *arena, const char *symbol, const char *name);
#endif
