/* Words of constant memory for the handles of textures and surfaces that a kernel names.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_EMIT_ELF_TEXTURE_H
#define HEDDLE_EMIT_ELF_TEXTURE_H
#include "base/arena.h"
#include "emit/code.h"

enum { /* as in NVIDIA's files */
       STT_NV_TEXTURE = 10,
       STT_NV_SURFACE = 12,
       RELOC_NV_TEXTURE = 6, /* R_CUDA_TEX_HEADER_INDEX */
       RELOC_NV_SURFACE = 52 /* R_CUDA_SURF_HEADER_INDEX */
};
typedef VEC(StrId) ElfTextures; /* each once; word k is that of the k-th */

uint32_t elf_texture_base(const CodeModule *module, const CodeFunc *func); /* offset of word 0 in the bank */
/* What the function names, with RELOC_TEXTURE; its instructions read the words from now on. False, with a
 * text: there is no such instruction. */
bool elf_bind_textures(const CodeModule *module, const CodeFunc *func, Arena *arena, ElfTextures *out,
                       char error[ISA_ERROR_BYTES]);
uint32_t elf_code_relocs(const CodeFunc *func); /* how many others it has */
bool elf_is_surface(const CodeModule *module, StrId name);
#endif
