/* The section .heddle.map: for each function, the PTX position of every instruction and the rows that say
 * which register holds which PTX register. Format: docs/elf.md.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_EMIT_ELF_MAP_H
#define HEDDLE_EMIT_ELF_MAP_H
#include "emit/elf/binary.h"
#include "emit/code.h"
#include "emit/elf/image.h"

/* The PTX function that code was made from; NULL: it is the built-in library's, or there is no PTX. */
const struct PtxFunc *elf_own_ptx(const CodeModule *module, const CodeFunc *f);

/* Contents of the section. Without PTX (machine IR from text) only what is known is written. */
Bytes elf_map_build(Arena *arena, const CodeModule *module);

/* Fill ptx_name, files and the functions' locs and vars of a binary whose functions are known. Functions
 * that the map does not name keep none. Reports E0409 at file offset `base_offset` + position. */
bool elf_map_read(Binary *binary, const uint8_t *data, size_t size_bytes, uint64_t base_offset, Diags *diags);
#endif
