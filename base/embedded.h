/* Texts that are in the program: CMake makes an array of them (heddle_embed), which ends with a NULL name.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_BASE_EMBEDDED_H
#define HEDDLE_BASE_EMBEDDED_H
#include <stddef.h>

typedef struct {
    const char *name, *text; /* NUL behind the last byte */
    size_t size_bytes;
} EmbeddedFile;
#endif
