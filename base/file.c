/* Whole files in and out: see file.h.
 * SPDX-License-Identifier: MIT */
#include "base/file.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_LINKS = 40, MAX_TEMPS = 100 };

/* What to make room for first: all of an ordinary file with a byte for the 0 and one that finds the end. */
static size_t first_bytes(FILE *in) {
    struct stat info;
    bool known = fstat(fileno(in), &info) == 0 && S_ISREG(info.st_mode) && info.st_size > 0 &&
                 info.st_size <= (off_t)FILE_MAX_BYTES;
    return known ? (size_t)info.st_size + 2 : 64u << 10;
}

bool file_read(Arena *a, const char *path, Diags *d, char **data, size_t *size_bytes) {
    bool is_stdin = strcmp(path, "-") == 0;
    FILE *in = is_stdin ? stdin : fopen(path, "rb");
    if (!in)
        return diag(d, (SrcLoc){0}, DIAG_E0001, path, strerror(errno));
    char *buffer = NULL;
    size_t used = 0, cap = 0, got = 1, first = first_bytes(in);
    while (got > 0 && used <= FILE_MAX_BYTES) {
        if (cap - used < 2) {
            size_t bigger = cap ? cap * 2 : first;
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

static bool write_all(int fd, const char *data, size_t size_bytes) {
    while (size_bytes) {
        ssize_t n = write(fd, data, size_bytes);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        data += n;
        size_bytes -= (size_t)n;
    }
    return true;
}

/* What a path names in the end: symbolic links are followed, the last one's target need not exist. NULL:
 * errno says. */
static const char *follow_links(Arena *arena, const char *path) {
    for (unsigned links = 0; links < MAX_LINKS; links++) {
        char target[PATH_MAX];
        ssize_t n = readlink(path, target, sizeof target - 1);
        if (n < 0)
            return errno == EINVAL || errno == ENOENT ? path : NULL; /* no link, or not there yet */
        target[n] = 0;
        const char *slash = strrchr(path, '/');
        path = *target == '/' || !slash
                   ? arena_printf(arena, "%s", target)
                   : arena_printf(arena, "%.*s%s", (int)(slash - path + 1), path, target);
    }
    errno = ELOOP;
    return NULL;
}

/* Into a new file beside `path`, which then takes its name and, if there is one already, its mode and owner.
 */
static bool write_beside(Arena *arena, const char *path, const struct stat *old, const void *data,
                         size_t size_bytes) {
    const char *temp = NULL;
    int fd = -1;
    for (unsigned k = 0; fd < 0 && k < MAX_TEMPS; k++) {
        temp = arena_printf(arena, "%s.tmp%ld.%u", path, (long)getpid(), k);
        fd = open(temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd < 0 && errno != EEXIST)
            return false;
    }
    if (fd < 0)
        return false;
    if (old && fchown(fd, old->st_uid, old->st_gid) != 0)
        errno = 0; /* of another user: the file becomes ours, as for other tools that replace files */
    bool good = (!old || fchmod(fd, old->st_mode & 07777) == 0) && write_all(fd, data, size_bytes);
    int error = errno;
    if (close(fd) != 0 && good)
        good = false, error = errno;
    if (good && rename(temp, path) != 0)
        good = false, error = errno;
    if (!good)
        unlink(temp);
    errno = error;
    return good;
}

/* A pipe or a device. */
static bool write_into(const char *path, const void *data, size_t size_bytes) {
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool good = fd >= 0 && write_all(fd, data, size_bytes);
    int error = errno;
    if (fd >= 0 && close(fd) != 0 && good)
        good = false, error = errno;
    errno = error;
    return good;
}

static bool write_stdout(const void *data, size_t size_bytes) {
    return fwrite(data, 1, size_bytes, stdout) == size_bytes && fflush(stdout) == 0;
}

static bool write_path(Arena *arena, const char *path, const void *data, size_t size_bytes) {
    struct stat old, out;
    bool exists = stat(path, &old) == 0;
    if (exists && fstat(STDOUT_FILENO, &out) == 0 && old.st_dev == out.st_dev && old.st_ino == out.st_ino)
        return write_stdout(data, size_bytes);
    if (exists && S_ISDIR(old.st_mode)) {
        errno = EISDIR;
        return false;
    }
    if (exists && !S_ISREG(old.st_mode))
        return write_into(path, data, size_bytes);
    if (exists && access(path, W_OK) != 0)
        return false;
    const char *target = follow_links(arena, path);
    return target && write_beside(arena, target, exists ? &old : NULL, data, size_bytes);
}

bool file_write(const char *path, const void *data, size_t size_bytes, Diags *d) {
    Arena arena = {0};
    bool is_stdout = strcmp(path, "-") == 0;
    bool good = is_stdout ? write_stdout(data, size_bytes) : write_path(&arena, path, data, size_bytes);
    int error = errno;
    arena_free(&arena);
    return good || diag(d, (SrcLoc){0}, DIAG_E0002, is_stdout ? "standard output" : path, strerror(error));
}

bool file_make_folder(const char *path, Diags *d) {
    struct stat status;
    if (mkdir(path, 0777) != 0 && errno != EEXIST)
        return diag(d, (SrcLoc){0}, DIAG_E0002, path, strerror(errno));
    return (stat(path, &status) == 0 && S_ISDIR(status.st_mode)) ||
           diag(d, (SrcLoc){0}, DIAG_E0002, path, strerror(ENOTDIR));
}

bool file_is_program(const char *path) {
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode) && access(path, X_OK) == 0;
}

void file_place(const char *path, uint32_t line, char *out, size_t out_bytes) {
    const char *slash = path ? strrchr(path, '/') : NULL, *name = slash ? slash + 1 : path;
    if (out_bytes)
        *out = 0;
    if (name && *name && line)
        snprintf(out, out_bytes, "%s:%" PRIu32, name, line);
}
