/* Machine code of a region, as it is executed and as it is kept on disk: bytes that do not depend on where
 * they are, made of an object file. SPDX-License-Identifier: MIT */
#ifndef HEDDLE_SIM_JIT_IMAGE_H
#define HEDDLE_SIM_JIT_IMAGE_H
#include "sim/machine/jit.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    uint8_t *bytes;     /* mem_free */
    size_t size, entry; /* where the function begins */
} ImageBytes;

typedef struct {
    void *base; /* executable; NULL: none */
    size_t size;
    JitCode *code;
} Image;

/* Of an x86-64 ELF object whose code is position-independent and calls nobody; `function` is a symbol of it.
 * False: why not. */
bool jit_image_link(const void *object, size_t size, const char *function, ImageBytes *out, char why[160]);
/* Make it executable. False: the host has no memory for it. */
bool jit_image_map(const ImageBytes *bytes, Image *out);
void jit_image_unmap(Image *image); /* of none: nothing */
#endif
