/* Whole files in and out. Output goes to a temporary file beside the target and is renamed, so that no
 * half-written file is ever left behind. The target keeps its mode; a symbolic link stays, and what it names
 * is written; pipes, devices and standard output under another name (/dev/stdout) are written to.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_BASE_FILE_H
#define HEDDLE_BASE_FILE_H
#include "base/arena.h"
#include "base/diag.h"
#include <stdbool.h>

#define FILE_MAX_BYTES ((size_t)1 << 30)

/* Read `path` ("-" is standard input) into the arena, with a NUL behind the last byte. Reports E0001
 * or E0004 and returns false on failure. */
bool file_read(Arena *a, const char *path, Diags *diags, char **data, size_t *size_bytes);
/* Write `path` ("-" is standard output) at once. Reports E0002 and returns false on failure, leaving
 * an existing file as it was. */
bool file_write(const char *path, const void *data, size_t size_bytes, Diags *diags);
/* Make the folder, if it is not there; the one that it stands in must be. Reports E0002 and returns false. */
bool file_make_folder(const char *path, Diags *diags);
/* Can the file be run? A folder of the name cannot, whatever its bits. */
bool file_is_program(const char *path);
/* "k.cu:12": the last name of a path and a line, or "" where the line is 0 or there is no path. */
void file_place(const char *path, uint32_t line, char *out, size_t out_bytes);
#endif
