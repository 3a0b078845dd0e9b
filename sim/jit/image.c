/* From an object file to executable memory. Sections that are loaded are laid out one behind the other;
 * references between them are relative to where they stand, so that the result may be copied anywhere. What
 * is beside that (data to be written, symbols of others, absolute addresses) is not in a region's code and is
 * refused. SPDX-License-Identifier: MIT */
#include "sim/jit/image.h"
#include "base/scope.h"
#include <elf.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

enum { MOST_SECTIONS = 64, MOST_BYTES = 1 << 28, UNPLACED = -1 };

typedef struct {
    const uint8_t *object;
    size_t size;
    const Elf64_Shdr *sections;
    unsigned nsections;
    int64_t place[MOST_SECTIONS]; /* in the image, or UNPLACED */
    ImageBytes *out;
    char *why;
} Link;

static bool not_linked(Link *link, const char *what) {
    snprintf(link->why, 160, "object code of libLLVM: %s", what);
    return false;
}

static bool is_inside(const Link *link, uint64_t offset, uint64_t bytes) {
    return offset <= link->size && bytes <= link->size - offset;
}

static bool read_header(Link *link) {
    const Elf64_Ehdr *header = (const void *)link->object;
    if (link->size < sizeof *header || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
        header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_machine != EM_X86_64 || header->e_type != ET_REL)
        return not_linked(link, "it is no object file of x86-64");
    link->nsections = header->e_shnum;
    if (link->nsections > MOST_SECTIONS || header->e_shentsize != sizeof *link->sections ||
        header->e_shoff % 8 || !is_inside(link, header->e_shoff, link->nsections * sizeof *link->sections))
        return not_linked(link, "its section table is bad");
    link->sections = (const void *)(link->object + header->e_shoff);
    for (unsigned i = 0; i < link->nsections; i++)
        if (link->sections[i].sh_type != SHT_NOBITS &&
            (!is_inside(link, link->sections[i].sh_offset, link->sections[i].sh_size) ||
             (link->sections[i].sh_type == SHT_SYMTAB && link->sections[i].sh_offset % 8)))
            return not_linked(link, "a section is not inside");
    return true;
}

static bool place_sections(Link *link) {
    size_t end = 0;
    for (unsigned i = 0; i < link->nsections; i++) {
        const Elf64_Shdr *section = &link->sections[i];
        size_t align = section->sh_addralign > 1 ? section->sh_addralign : 1;
        link->place[i] = UNPLACED;
        if (section->sh_type != SHT_PROGBITS || !(section->sh_flags & SHF_ALLOC))
            continue; /* tables of unwinding have a type of their own */
        if (section->sh_flags & SHF_WRITE && section->sh_size)
            return not_linked(link, "it has data to be written");
        if (align > 4096 || section->sh_size > MOST_BYTES || end > MOST_BYTES)
            return not_linked(link, "it is too large");
        end = (end + align - 1) / align * align;
        link->place[i] = (int64_t)end;
        end += section->sh_size;
    }
    link->out->bytes = mem_zeroed(1, end ? end : 1);
    link->out->size = end;
    for (unsigned i = 0; i < link->nsections; i++)
        if (link->place[i] != UNPLACED)
            memcpy(link->out->bytes + link->place[i], link->object + link->sections[i].sh_offset,
                   link->sections[i].sh_size);
    return true;
}

/* Where a symbol is in the image; UNPLACED: not there. */
static int64_t symbol_place(const Link *link, const Elf64_Shdr *table, uint64_t index) {
    if (table->sh_type != SHT_SYMTAB || index >= table->sh_size / sizeof(Elf64_Sym))
        return UNPLACED;
    const Elf64_Sym *symbol = (const Elf64_Sym *)(const void *)(link->object + table->sh_offset) + index;
    if (symbol->st_shndx >= link->nsections || link->place[symbol->st_shndx] == UNPLACED)
        return UNPLACED;
    return link->place[symbol->st_shndx] + (int64_t)symbol->st_value;
}

static bool relocate(Link *link, const Elf64_Shdr *section) {
    int64_t base = link->place[section->sh_info];
    uint64_t bytes = link->sections[section->sh_info].sh_size;
    for (uint64_t i = 0; i < section->sh_size / sizeof(Elf64_Rela); i++) {
        Elf64_Rela rela;
        memcpy(&rela, link->object + section->sh_offset + i * sizeof rela, sizeof rela);
        uint64_t type = ELF64_R_TYPE(rela.r_info);
        int64_t to = symbol_place(link, &link->sections[section->sh_link], ELF64_R_SYM(rela.r_info));
        if ((type != R_X86_64_PC32 && type != R_X86_64_PLT32) || rela.r_offset > bytes ||
            bytes - rela.r_offset < 4)
            return not_linked(link, "it has a reference that is not relative");
        if (to == UNPLACED)
            return not_linked(link, "it refers to what it does not have");
        int64_t at = base + (int64_t)rela.r_offset, value = to + rela.r_addend - at;
        int32_t word = (int32_t)value;
        if (word != value)
            return not_linked(link, "it is too large");
        memcpy(link->out->bytes + at, &word, 4);
    }
    return true;
}

static bool relocate_all(Link *link) {
    for (unsigned i = 0; i < link->nsections; i++) {
        const Elf64_Shdr *section = &link->sections[i];
        bool of_image = section->sh_info < link->nsections && section->sh_link < link->nsections &&
                        link->place[section->sh_info] != UNPLACED;
        if (section->sh_type == SHT_RELA && of_image && !relocate(link, section))
            return false;
    }
    return true;
}

static bool find_entry(Link *link, const char *function) {
    for (unsigned i = 0; i < link->nsections; i++) {
        const Elf64_Shdr *table = &link->sections[i];
        if (table->sh_type != SHT_SYMTAB || table->sh_link >= link->nsections)
            continue;
        const Elf64_Shdr *names = &link->sections[table->sh_link];
        const Elf64_Sym *symbols = (const void *)(link->object + table->sh_offset);
        for (uint64_t k = 0; k < table->sh_size / sizeof *symbols; k++) {
            uint64_t name = symbols[k].st_name, length = strlen(function) + 1;
            int64_t place = symbol_place(link, table, k);
            if (place != UNPLACED && name < names->sh_size && length <= names->sh_size - name &&
                memcmp(link->object + names->sh_offset + name, function, length) == 0) {
                link->out->entry = (size_t)place;
                return link->out->entry < link->out->size || not_linked(link, "its function is empty");
            }
        }
    }
    return not_linked(link, "it has no function");
}

bool jit_image_link(const void *object, size_t size, const char *function, ImageBytes *out, char why[160]) {
    Link link = {.object = object, .size = size, .out = out, .why = why};
    *out = (ImageBytes){0};
    if (read_header(&link) && place_sections(&link) && relocate_all(&link) && find_entry(&link, function))
        return true;
    mem_free(out->bytes);
    *out = (ImageBytes){0};
    return false;
}

bool jit_image_map(const ImageBytes *bytes, Image *out) {
    void *base = mmap(NULL, bytes->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED)
        return false;
    memcpy(base, bytes->bytes, bytes->size);
    if (mprotect(base, bytes->size, PROT_READ | PROT_EXEC) != 0) {
        munmap(base, bytes->size);
        return false;
    }
    *out = (Image){base, bytes->size, (JitCode *)((uintptr_t)base + bytes->entry)};
    return true;
}

void jit_image_unmap(Image *image) {
    if (image->base)
        munmap(image->base, image->size);
    *image = (Image){0};
}
