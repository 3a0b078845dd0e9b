/* Parts of an object for another linker; write.c calls them. SPDX-License-Identifier: MIT */
#ifndef HEDDLE_EMIT_ELF_RELOCATABLE_H
#define HEDDLE_EMIT_ELF_RELOCATABLE_H
#include "emit/elf/writer.h"

/* Sections of shared variables, and where these lie in them. */
void elf_object_shared(ElfWriter *writer);
/* Type of a variable's symbol, and st_other. */
unsigned elf_object_var_info(const IrVar *var, unsigned *other);
/* Symbols of variables that other objects define; functions are symbols already. */
void elf_object_extern_vars(ElfWriter *writer);
void elf_object_prototypes(ElfWriter *writer);
/* Rows of the call graph: {function, prototype} whose address is taken; that call through addresses. */
void elf_object_taken(ElfWriter *writer, Bytes *rows);
void elf_object_indirect(ElfWriter *writer, Bytes *rows);
#endif
