/* Every N-th case of a test whose cases walk the same code: heddle_test_part in cmake/heddle.cmake.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_TESTS_PART_H
#define HEDDLE_TESTS_PART_H
#include <stdlib.h>

static inline unsigned test_part(void) {
    const char *part = getenv("HEDDLE_PART");
    return part && atoi(part) > 1 ? (unsigned)atoi(part) : 1;
}

#endif
