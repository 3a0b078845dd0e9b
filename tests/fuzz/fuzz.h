/* What the targets share. A target gets bytes, may abort where a promise is broken, and leaves nothing
 * behind. The way to compile follows from the size, so that a corpus is made of plain files.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_TESTS_FUZZ_FUZZ_H
#define HEDDLE_TESTS_FUZZ_FUZZ_H
#include "isa/isa.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The promise that is broken, and the end. */
static inline _Noreturn void fuzz_broken(const char *promise, const char *detail) {
    fprintf(stderr, "broken: %s: %s\n", promise, detail);
    abort();
}

/* A Source's text ends with a NUL; malloc'ed. */
static inline char *fuzz_text(const uint8_t *data, size_t size) {
    char *text = malloc(size + 1);
    if (!text)
        abort();
    memcpy(text, data, size);
    text[size] = 0;
    return text;
}

static inline const Target *fuzz_target(size_t number) {
    size_t n = 0;
    while (isa_targets[n])
        n++;
    return isa_targets[number % n];
}
#endif
