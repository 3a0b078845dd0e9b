/* The header and the segments of a new file, of the compiler and of the assembler.
 * SPDX-License-Identifier: MIT */
#include "emit/elf/writer.h"
#include <string.h>

void elf_image_header(ElfImage *image, const Target *target, bool old_form, uint32_t note) {
    Elf64_Ehdr *header = &image->h;
    const TargetInfo *info = isa_target_info(target);
    bool native = info->elf_form != ElfForm_BRU1, new_form = native && !old_form;
    memcpy(header->e_ident, ELFMAG, SELFMAG);
    header->e_ident[EI_CLASS] = ELFCLASS64;
    header->e_ident[EI_DATA] = ELFDATA2LSB;
    header->e_ident[EI_VERSION] = EV_CURRENT;
    header->e_ident[EI_OSABI] = new_form ? 0x41 : info->elf_osabi;
    header->e_ident[EI_ABIVERSION] = new_form ? 8 : info->elf_abiversion;
    header->e_machine = info->elf_machine;
    header->e_version = native && old_form ? TOOLKIT_VERSION : EV_CURRENT;
    header->e_flags = new_form ? 0x4u | (info->elf_flags & 0xff) << 8 | note << 24 : info->elf_flags;
    header->e_ehsize = sizeof(Elf64_Ehdr);
    header->e_shentsize = sizeof(Elf64_Shdr);
    header->e_phentsize = sizeof(Elf64_Phdr);
}

/* A LOAD segment around the sections that have `want` of the flags `mask`, which lie beside each other, in
 * any order. */
static Elf64_Phdr segment(const ElfImage *image, uint64_t mask, uint64_t want, uint32_t flags) {
    Elf64_Phdr p = {.p_type = PT_LOAD, .p_flags = flags, .p_align = 8};
    uint64_t first = UINT64_MAX, end = 0, memory = 0;
    for (uint32_t i = 1; i < image->sections.n; i++) {
        const Elf64_Shdr *header = &image->sections.at[i].h;
        if ((header->sh_flags & mask) != want)
            continue;
        bool is_nobits = header->sh_type == SHT_NOBITS;
        uint64_t behind = header->sh_offset + (is_nobits ? 0 : header->sh_size);
        memory += is_nobits ? header->sh_size : 0;
        first = header->sh_offset < first ? header->sh_offset : first;
        end = behind > end ? behind : end;
    }
    p.p_offset = end ? first : 0;
    p.p_filesz = end - p.p_offset;
    p.p_memsz = p.p_filesz + memory;
    return p;
}

void elf_image_segments(Arena *arena, ElfImage *image) {
    uint64_t size = 4 * sizeof(Elf64_Phdr);
    for (int i = 0; i < 4; i++)
        VEC_PUSH(arena, &image->segments);
    elf_image_layout(image, false);
    Elf64_Phdr self = {.p_type = PT_PHDR,
                       .p_flags = PF_R | PF_X,
                       .p_offset = image->h.e_phoff,
                       .p_filesz = size,
                       .p_memsz = size,
                       .p_align = 8};
    image->segments.at[0] = self;
    image->segments.at[1] = segment(image, SHF_ALLOC | SHF_WRITE, SHF_ALLOC, PF_R | PF_X);
    image->segments.at[2] = segment(image, SHF_ALLOC | SHF_WRITE, SHF_ALLOC | SHF_WRITE, PF_R | PF_W);
    self.p_type = PT_LOAD;
    image->segments.at[3] = self;
}
