/* Files that hold programs for GPUs among other things: fat binaries (also Zstandard and LZ4), host
 * executables, libraries and objects with such in .nv_fatbin, and archives of objects and of cubins.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_EMIT_ELF_CONTAINER_H
#define HEDDLE_EMIT_ELF_CONTAINER_H
#include "base/arena.h"
#include "base/diag.h"

typedef struct {
    const char *name; /* where it is: "libx.a:k.o:2" */
    bool is_ptx;      /* else ELF */
    uint32_t sm;      /* of an ELF the machine's number, of PTX that of the least machine */
    const void *data;
    size_t size_bytes; /* with a NUL behind the last byte */
} ContainerItem;

typedef struct {
    VEC(ContainerItem) items;
} Container;

/* Is it one of these, and no program itself? */
bool elf_container_is(const void *data, size_t size_bytes);
/* All programs of the file, unpacked, in the arena; items of other kinds (LTO) are left out. Reports E0416
 * with the place in the file, and E0418 where a library is not installed. */
bool elf_container_open(Arena *arena, const char *path, const void *data, size_t size_bytes, Container *out,
                        Diags *diags);
#endif
