/* Access to the text of the built-in library, the .ptx files of lower/builtins, which CMake turns into a
 * table (builtin_text.c in the build folder).
 * SPDX-License-Identifier: MIT */
#include "lower/lower.h"
#include "base/embedded.h"

extern const EmbeddedFile lower_builtin_files[];

static const EmbeddedFile *builtin(unsigned n) {
    const EmbeddedFile *file = lower_builtin_files;
    while (file->name && n)
        file++, n--;
    return file;
}

const char *lower_builtin_text(unsigned n, size_t *size_bytes) {
    const EmbeddedFile *file = builtin(n);
    *size_bytes = file->size_bytes;
    return file->text;
}

const char *lower_builtin_file(unsigned n) {
    const char *name = builtin(n)->name;
    return name ? name : "";
}
