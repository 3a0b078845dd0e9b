/* Names of C++ as they stand in a source: the C++ runtime library's own function, where the system has it.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_BASE_DEMANGLE_H
#define HEDDLE_BASE_DEMANGLE_H
#include "base/arena.h"
#include <stdbool.h>

/* "lp(float*, int)" for "_Z2lpPfi", in the arena; NULL for what is no such name, or without the library. */
const char *str_demangle(Arena *arena, const char *name);
/* The list "a, b" with another symbol behind it, and what it is in a source: "a, b, _Z2lpPfi (lp(float*,
 * int))"; for messages. */
const char *str_list_symbol(Arena *arena, const char *list, const char *symbol);
/* Is `name` the symbol itself, or what it is in the source: "lp(float*, int)" with any blanks, or "lp" alone?
 * Of "void lp<int>(int*)" also "lp<int>". */
bool str_is_named(Arena *arena, const char *symbol, const char *name);
#endif
