/* Relocatable objects, what `heddle compile -c` writes and `heddle link` reads. An object holds the checked
 * PTX text and a symbol table of the names that it defines and needs; code is made when objects are linked,
 * when all callees are known. That gives callers exact register and stack needs across files and one
 * numbering of convergence barriers.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_EMIT_ELF_OBJECT_H
#define HEDDLE_EMIT_ELF_OBJECT_H
#include "base/arena.h"
#include "base/diag.h"
#include "isa/isa.h"

struct PtxModule;
/* malloc'ed image. Reports E04xx. */
bool elf_object_write(const struct PtxModule *module, const Target *target, void **image, size_t *size_bytes,
                      Diags *diags);
/* Is this ELF image such an object? */
bool elf_object_is(const void *image, size_t size_bytes);
/* The machine it was compiled for, NULL if unknown. `image` is an object. */
const Target *elf_object_target(const void *image);
/* Its PTX text and the name of the file that it came from, in the arena. Reports E04xx. */
bool elf_object_read(Arena *arena, const char *path, const void *image, size_t size_bytes, const char **name,
                     const char **text, size_t *text_bytes, Diags *diags);
#endif
