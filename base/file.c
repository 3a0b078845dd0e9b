/* Whole files in and out: see file.h.
 * SPDX-License-Identifier: MIT */
#include "base/file.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool file_read(Arena *a, const char *path, Diags *d, char **data, size_t *size_bytes) {
    bool is_stdin = strcmp(path, "-") == 0;
    FILE *in = is_stdin ? stdin : fopen(path, "rb");
    if (!in)
        return diag(d, (SrcLoc){0}, DIAG_E0001, path, strerror(errno));
    char *buffer = NULL;
    size_t used = 0, cap = 0, got = 1;
    while (got > 0 && used <= FILE_MAX_BYTES) {
        if (cap - used < 2) {
            size_t bigger = cap ? cap * 2 : 64 << 10;
            buffer = arena_grow(a, buffer, cap, bigger);
            cap = bigger;
        }
        got = fread(buffer + used, 1, cap - used - 1, in);
        used += got;
    }
    int error = ferror(in) ? errno : 0;
    if (!is_stdin)
        fclose(in);
    if (error)
        return diag(d, (SrcLoc){0}, DIAG_E0001, path, strerror(error));
    if (used > FILE_MAX_BYTES)
        return diag(d, (SrcLoc){0}, DIAG_E0004, (unsigned long long)used, (unsigned long long)FILE_MAX_BYTES);
    buffer[used] = 0;
    *data = buffer;
    *size_bytes = used;
    return true;
}

bool file_write(const char *path, const void *data, size_t size_bytes, Diags *d) {
    if (strcmp(path, "-") == 0) {
        if (fwrite(data, 1, size_bytes, stdout) != size_bytes || fflush(stdout) != 0)
            return diag(d, (SrcLoc){0}, DIAG_E0002, "standard output", strerror(errno));
        return true;
    }
    struct stat st;
    bool special = stat(path, &st) == 0 && !S_ISREG(st.st_mode); /* /dev/null, a pipe */
    char *temp = NULL;
    if (!special && asprintf(&temp, "%s.tmp%ld", path, (long)getpid()) < 0)
        return diag(d, (SrcLoc){0}, DIAG_E0002, path, strerror(ENOMEM));
    FILE *out = fopen(special ? path : temp, "wb");
    bool good = out && fwrite(data, 1, size_bytes, out) == size_bytes;
    int error = errno;
    if (out && fclose(out) != 0)
        good = false, error = errno;
    if (good && !special && rename(temp, path) != 0)
        good = false, error = errno;
    if (!good && !special)
        unlink(temp);
    free(temp);
    return good || diag(d, (SrcLoc){0}, DIAG_E0002, path, strerror(error));
}
