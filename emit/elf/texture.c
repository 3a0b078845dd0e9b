/* Textures and surfaces that a kernel names: each has a word in its constant bank 0, behind the parameters,
 * into which the loader puts the handle. ptxas 13.0 does the same. What code has until then is a MOV of an
 * unknown number; here it becomes one of that word. SPDX-License-Identifier: MIT */
#include "emit/elf/texture.h"
#include "base/align.h"
#include "frontend/ast.h"
#include "isa/machine/banks.h"
#include <stdio.h>
#include <string.h>

static uint32_t texture_word(Arena *arena, ElfTextures *all, StrId name) {
    uint32_t k = 0;
    while (k < all->n && !str_eq(all->at[k], name))
        k++;
    if (k == all->n)
        VEC_ADD(arena, all, name);
    return k;
}

uint32_t elf_texture_base(const CodeModule *module, const CodeFunc *func) {
    const TargetInfo *info = isa_target_info(module->ir->target);
    return (uint32_t)align_up(info->param_base_bytes + func->param_bytes, 4);
}

bool elf_bind_textures(const CodeModule *module, const CodeFunc *func, Arena *arena, ElfTextures *out,
                       char error[ISA_ERROR_BYTES]) {
    uint32_t base = elf_texture_base(module, func);
    *out = (ElfTextures){0};
    for (uint32_t k = 0; k < func->relocs.n; k++) {
        const CodeReloc *reloc = &func->relocs.at[k];
        if (reloc->kind != RELOC_TEXTURE)
            continue;
        if (!func->is_entry) {
            snprintf(error, ISA_ERROR_BYTES, "a texture is named in a function that is no kernel");
            return false;
        }
        uint64_t *word = func->words[reloc->offset_bytes / INST_BYTES];
        MachInst in;
        if (!isa_decode(module->ir->target, word, &in, error))
            return false;
        uint32_t at = base + 4 * texture_word(arena, out, reloc->symbol);
        for (unsigned i = 0; i < in.nsrc; i++)
            if (in.src[i].kind == OPK_IMM || in.src[i].kind == OPK_CMEM)
                in.src[i] = op_cmem(CONST_BANK_LAUNCH, at);
        if (!isa_select_opcode(module->ir->target, &in)) {
            snprintf(error, ISA_ERROR_BYTES, "no instruction reads the handle of a texture");
            return false;
        }
        if (!isa_encode(module->ir->target, &in, word, error))
            return false;
    }
    return true;
}

uint32_t elf_code_relocs(const CodeFunc *func) {
    uint32_t n = 0;
    for (uint32_t k = 0; k < func->relocs.n; k++)
        n += func->relocs.at[k].kind != RELOC_TEXTURE;
    return n;
}

bool elf_is_surface(const CodeModule *module, StrId name) {
    const PtxModule *ptx = module->ir->ptx;
    const char *text = str_text(module->ir->strings, name);
    for (uint32_t i = 0; ptx && i < ptx->nvars; i++)
        if (!ptx->vars[i].func && !strcmp(str_text(&ptx->strings, ptx->vars[i].name), text))
            return ptx->vars[i].type == TY_SURFREF;
    return false;
}
