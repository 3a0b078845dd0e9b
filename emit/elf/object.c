/* Relocatable objects: see object.h.
 * SPDX-License-Identifier: MIT */
#include "emit/elf/object.h"
#include "emit/elf/image.h"
#include "frontend/ast.h"
#include <string.h>

enum { SEC_SHSTRTAB = 1, SEC_STRTAB, SEC_SYMTAB, SEC_PTX };

typedef struct {
    Arena *a;
    ElfImage *e;
    Bytes shstrtab, strtab, symtab;
    uint32_t nsyms;
} Writer;

static void add_section(Writer *writer, const char *name, uint32_t type, uint64_t align) {
    ElfSection *section = VEC_PUSH(writer->a, &writer->e->sections);
    section->name = name;
    section->h.sh_name = elf_bytes_string(writer->a, &writer->shstrtab, name);
    section->h.sh_type = type;
    section->h.sh_addralign = align;
}

static void set_data(Writer *writer, uint32_t section, const uint8_t *data, size_t size) {
    writer->e->sections.at[section].data = size ? data : NULL;
    writer->e->sections.at[section].h.sh_size = size;
}

static void add_symbol(Writer *writer, const char *name, unsigned info, unsigned other, uint32_t section,
                       uint64_t size) {
    elf_bytes_u32(writer->a, &writer->symtab, elf_bytes_string(writer->a, &writer->strtab, name));
    uint8_t *p = elf_bytes_add(writer->a, &writer->symtab, NULL, sizeof(Elf64_Sym) - 4);
    p[0] = (uint8_t)info;
    p[1] = (uint8_t)other;
    put_u16(p + 2, (uint16_t)section);
    put_u64(p + 12, size);
    writer->nsyms++;
}

static unsigned binding(unsigned linkage, bool defined) {
    if (linkage == LINK_WEAK || linkage == LINK_COMMON)
        return STB_WEAK;
    return linkage == LINK_NONE && defined ? STB_LOCAL : STB_GLOBAL;
}

/* Functions and module-level variables of one binding class; what is only declared is undefined. */
static void add_symbols(Writer *w, const PtxModule *module, bool local) {
    for (uint32_t i = 0; i < module->nfuncs; i++) {
        const PtxFunc *f = &module->funcs[i];
        bool defined = f->has_body || f->alias_of;
        unsigned bind = binding(f->linkage, defined);
        if ((bind == STB_LOCAL) == local)
            add_symbol(w, str_text(&module->strings, f->name), ELF64_ST_INFO(bind, STT_FUNC),
                       f->is_entry ? STO_NV_ENTRY : 0, defined ? SEC_PTX : SHN_UNDEF, 0);
    }
    for (uint32_t i = 0; i < module->nvars; i++) {
        const PtxVar *var = &module->vars[i];
        unsigned bind = binding(var->linkage, true);
        bool placed = var->space == SP_GLOBAL || var->space == SP_CONST || var->space == SP_SHARED;
        if (!var->func && placed && (bind == STB_LOCAL) == local)
            add_symbol(w, str_text(&module->strings, var->name), ELF64_ST_INFO(bind, STT_OBJECT), 0,
                       var->linkage == LINK_EXTERN ? SHN_UNDEF : SEC_PTX, var->size_bytes);
    }
}

static void make_header(Writer *writer, const TargetInfo *info) {
    Elf64_Ehdr *header = &writer->e->h;
    memcpy(header->e_ident, ELFMAG, SELFMAG);
    header->e_ident[EI_CLASS] = ELFCLASS64;
    header->e_ident[EI_DATA] = ELFDATA2LSB;
    header->e_ident[EI_VERSION] = EV_CURRENT;
    header->e_ident[EI_OSABI] = info->elf_osabi;
    header->e_ident[EI_ABIVERSION] = info->elf_abiversion;
    header->e_type = ET_REL;
    header->e_machine = info->elf_machine;
    header->e_version = EV_CURRENT;
    header->e_flags = info->elf_flags;
    header->e_ehsize = sizeof(Elf64_Ehdr);
    header->e_shentsize = sizeof(Elf64_Shdr);
    header->e_shstrndx = SEC_SHSTRTAB;
}

bool elf_object_write(const PtxModule *module, const Target *t, void **image, size_t *size_bytes, Diags *d) {
    Arena arena = {0};
    Writer w = {.a = &arena};
    w.e = ARENA_NEW(&arena, ElfImage);
    VEC_PUSH(w.a, &w.e->sections)->name = "";
    elf_bytes_add(w.a, &w.shstrtab, "", 1);
    elf_bytes_add(w.a, &w.strtab, "", 1);
    add_section(&w, ".shstrtab", SHT_STRTAB, 1);
    add_section(&w, ".strtab", SHT_STRTAB, 1);
    add_section(&w, ".symtab", SHT_SYMTAB, 8);
    add_section(&w, ".heddle.ptx", SHT_HD_PTX, 1);
    add_symbol(&w, "", 0, 0, SHN_UNDEF, 0);
    add_symbol(&w, module->source.name, ELF64_ST_INFO(STB_LOCAL, STT_FILE), 0, SHN_ABS, 0);
    add_symbols(&w, module, true);
    Elf64_Shdr *symtab = &w.e->sections.at[SEC_SYMTAB].h;
    symtab->sh_info = w.nsyms;
    symtab->sh_link = SEC_STRTAB;
    symtab->sh_entsize = sizeof(Elf64_Sym);
    add_symbols(&w, module, false);
    set_data(&w, SEC_SHSTRTAB, w.shstrtab.at, w.shstrtab.n);
    set_data(&w, SEC_STRTAB, w.strtab.at, w.strtab.n);
    set_data(&w, SEC_SYMTAB, w.symtab.at, w.symtab.n);
    set_data(&w, SEC_PTX, (const uint8_t *)module->source.text, module->source.size_bytes);
    make_header(&w, isa_target_info(t));
    elf_image_layout(w.e, false);
    bool good = elf_image_write(w.e, image, size_bytes, d);
    arena_free(&arena);
    return good;
}

bool elf_object_is(const void *image, size_t size_bytes) {
    const uint8_t *p = image;
    return size_bytes > sizeof(Elf64_Ehdr) && memcmp(p, ELFMAG, SELFMAG) == 0 &&
           get_u16(p + EI_NIDENT) == ET_REL;
}

const Target *elf_object_target(const void *image) {
    Elf64_Ehdr header;
    memcpy(&header, image, sizeof header);
    return elf_header_target(&header, false);
}

/* The name of the first STT_FILE symbol. */
static const char *source_name(const ElfImage *image) {
    uint32_t symtab = elf_image_find(image, ".symtab");
    const ElfSection *section = symtab ? &image->sections.at[symtab] : NULL;
    for (uint64_t at = 0; section && section->data && at + sizeof(Elf64_Sym) <= section->h.sh_size;
         at += sizeof(Elf64_Sym))
        if (ELF64_ST_TYPE(section->data[at + 4]) == STT_FILE)
            return elf_image_string(image, section->h.sh_link, get_u32(section->data + at));
    return NULL;
}

bool elf_object_read(Arena *a, const char *path, const void *image, size_t size_bytes, const char **name,
                     const char **text, size_t *text_bytes, Diags *diags) {
    Source source = {path, NULL, size_bytes};
    const Source *old = diags->source;
    diags->source = &source;
    ElfImage *elf_image = elf_image_read(a, image, size_bytes, diags);
    uint32_t ptx = elf_image ? elf_image_find(elf_image, ".heddle.ptx") : 0;
    bool good = elf_image && ptx && elf_image->sections.at[ptx].data;
    if (elf_image && !good)
        diag(diags, (SrcLoc){0}, DIAG_E0412, path, "a relocatable object without PTX text cannot be linked");
    if (good) {
        *text = (const char *)elf_image->sections.at[ptx].data;
        *text_bytes = elf_image->sections.at[ptx].h.sh_size;
        *name = source_name(elf_image);
        if (!*name)
            *name = path;
    }
    diags->source = old;
    return good;
}
