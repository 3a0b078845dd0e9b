/* Access to the text of the built-in library, the .ptx files of lower/builtins, which CMake turns into a
 * table of byte arrays (builtin_text.c in the build folder).
 * SPDX-License-Identifier: MIT */
#include "lower/lower.h"

typedef struct {
    const char *name;
    const unsigned char *text;
    unsigned long size_bytes;
} BuiltinFile;
extern const BuiltinFile lower_builtin_files[];
extern const unsigned lower_num_builtin_files;

const char *lower_builtin_text(unsigned n, size_t *size_bytes) {
    if (n >= lower_num_builtin_files)
        return NULL;
    *size_bytes = lower_builtin_files[n].size_bytes;
    return (const char *)lower_builtin_files[n].text;
}

const char *lower_builtin_file(unsigned n) {
    return n < lower_num_builtin_files ? lower_builtin_files[n].name : "";
}
