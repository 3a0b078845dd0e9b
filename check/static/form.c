/* The form of the file (M-06): what loaders and drivers find code, constants, variables and records by.
 * Nothing of it is executed here, so a file that is right in all else may be loaded in another way than it
 * was run. sections.def has what a section must be, emit/elf/nvinfo.def the records.
 * SPDX-License-Identifier: MIT */
#include "check/static/form.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum { NOTHING, SYMBOLS, STRINGS, CODE, CHANGED, ANY } Named;

typedef struct {
    const char *name;
    uint32_t type, in_objects;
    uint64_t flags, entry_bytes, align_bytes;
    Named link, info;
} SectionForm;

static const SectionForm forms[] = {
#define SECTION(...) {__VA_ARGS__},
#include "check/static/sections.def"
#undef SECTION
};

enum {
    BARRIERS = 0x7f << 20, /* of the flags of code, in the old form */
    NEW_OSABI = 0x41,
    OLD_ABI = 7,
    NEW_ABI = 8,
    OLD_FLAGS = 0x0500, /* beside the architectures of the code and of the PTX */
};

/* ---- reports ---- */
void check_form_differs(FileForm *file, const char *func, const char *fmt, ...) {
    char text[400];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    const BinFunc *one = func ? binary_find(file->binary, func) : NULL;
    for (uint32_t f = 0; f < file->binary->nfuncs; f++)
        if (file->checker->flow->funcs[f].ninsts && (!one || one == &file->binary->funcs[f]))
            check_report(file->checker, CR_M06, file->checker->flow->funcs[f].first_inst, NONE, "%s", text);
}

/* ---- sections ---- */
static const SectionForm *form_of(const char *name) {
    const SectionForm *best = NULL;
    for (size_t k = 0; k < sizeof forms / sizeof *forms; k++) {
        size_t n = strlen(forms[k].name);
        bool open = forms[k].name[n - 1] == '.';
        if (strncmp(name, forms[k].name, n) == 0 && (open ? name[n] : !name[n]) &&
            (!best || n > strlen(best->name)))
            best = &forms[k];
    }
    return best;
}

static bool names_as_form(const FileForm *file, const ElfSection *section, const SectionForm *form,
                          Named what, uint32_t index) {
    const char *name = index && index < file->image->sections.n ? file->image->sections.at[index].name : "";
    switch (what) {
    case NOTHING: return index == 0;
    case SYMBOLS: return elf_image_symbols(file->image, index) == file->symbols;
    case STRINGS: return strcmp(name, ".strtab") == 0;
    case CODE:
        return strncmp(name, ".text.", 6) == 0 && strcmp(name + 6, section->name + strlen(form->name)) == 0;
    case CHANGED: return *name && strcmp(name, section->name + strlen(form->name) - 1) == 0;
    case ANY: return true;
    }
    return true;
}

static bool are_twins(const ElfSection *one, const ElfSection *other) {
    return strcmp(one->name, other->name) == 0 && one->h.sh_info == other->h.sh_info;
}

static void section_form(FileForm *file, uint32_t index) {
    const ElfSection *section = &file->image->sections.at[index];
    const Elf64_Shdr *header = &section->h;
    const SectionForm *form = form_of(section->name);
    const char *func = form && form->info == CODE ? section->name + strlen(form->name) : NULL;
    if (header->sh_addr)
        check_form_differs(file, func, "section %s has an address", section->name);
    if (!form) {
        if (header->sh_flags & SHF_ALLOC)
            check_form_differs(file, NULL, "section %s is loaded, and nothing of that name is known",
                               section->name);
        return;
    }
    uint64_t free = SHF_INFO_LINK | (header->sh_flags & SHF_EXECINSTR ? BARRIERS : 0);
    if (header->sh_type != (file->binary->is_object ? form->in_objects : form->type))
        check_form_differs(file, func, "section %s is of type 0x%x", section->name, header->sh_type);
    if ((header->sh_flags & ~free) != form->flags)
        check_form_differs(file, func, "section %s has flags 0x%llx", section->name,
                           (unsigned long long)header->sh_flags);
    if (header->sh_entsize != form->entry_bytes || header->sh_addralign < form->align_bytes)
        check_form_differs(file, func, "section %s has entries of %llu bytes and is aligned to %llu",
                           section->name, (unsigned long long)header->sh_entsize,
                           (unsigned long long)header->sh_addralign);
    if (!names_as_form(file, section, form, form->link, header->sh_link))
        check_form_differs(file, func, "section %s is linked to section %u", section->name, header->sh_link);
    if (!names_as_form(file, section, form, form->info, header->sh_info))
        check_form_differs(file, func, "section %s names section %u", section->name, header->sh_info);
    for (uint32_t k = elf_image_find(file->image, section->name); k < index; k++)
        if (are_twins(section, &file->image->sections.at[k]))
            check_form_differs(file, func, "two sections are called %s", section->name);
}

/* ---- header and segments ---- */
/* The architecture that the PTX names: that of the code, or an older one. */
static bool is_ptx_architecture(uint32_t number, uint32_t of_code) {
    static const uint8_t older[] = {50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 89};
    return number == of_code || (number < of_code && memchr(older, (int)number, sizeof older));
}

static bool is_header_right(const FileForm *file) {
    const Elf64_Ehdr *header = &file->image->h;
    uint32_t low = header->e_flags & 0xff, high = header->e_flags >> 16;
    if (header->e_entry || (header->e_type != ET_EXEC && header->e_type != ET_REL))
        return false;
    if (header->e_machine != EM_NV_CUDA)
        return header->e_version == EV_CURRENT;
    if (header->e_ident[EI_OSABI] == ELF_OLD_OSABI)
        return header->e_ident[EI_ABIVERSION] == OLD_ABI && is_ptx_architecture(high, low) &&
               (header->e_flags & 0xff00 & ~(uint32_t)ELF_OWN_FORM) == OLD_FLAGS;
    uint32_t note = elf_image_find(file->image, ELF_LOADER_NOTE); /* nvlink's may be far behind */
    return header->e_ident[EI_OSABI] == NEW_OSABI && header->e_ident[EI_ABIVERSION] == NEW_ABI &&
           header->e_version == EV_CURRENT && low == 4 && !(high & 0xff) && high >> 8 == (note & 0xff);
}

static bool loads(const Elf64_Phdr *segment, const Elf64_Shdr *section) {
    return segment->p_type == PT_LOAD && section->sh_offset >= segment->p_offset &&
           section->sh_offset - segment->p_offset <= segment->p_filesz &&
           section->sh_size <= segment->p_filesz - (section->sh_offset - segment->p_offset);
}

/* Each section with bytes that is loaded lies in one segment with its rights. */
static void segments(FileForm *file) {
    const ElfImage *image = file->image;
    if (file->binary->is_object)
        return;
    for (uint32_t k = 0; k < image->segments.n; k++) {
        const Elf64_Phdr *segment = &image->segments.at[k];
        if ((segment->p_type != PT_LOAD && segment->p_type != PT_PHDR) || segment->p_vaddr ||
            segment->p_paddr || segment->p_memsz < segment->p_filesz || segment->p_align != 8 ||
            !(segment->p_flags & PF_R))
            check_form_differs(file, NULL, "segment %u has not the form of one that is loaded", k);
    }
    for (uint32_t i = 1; i < image->sections.n; i++) {
        const Elf64_Shdr *section = &image->sections.at[i].h;
        uint32_t found = 0, right = 0;
        if (!(section->sh_flags & SHF_ALLOC) || !image->sections.at[i].data)
            continue;
        for (uint32_t k = 0; k < image->segments.n; k++)
            if (loads(&image->segments.at[k], section)) {
                uint32_t flags = image->segments.at[k].p_flags;
                found++;
                right += !(flags & PF_W) == !(section->sh_flags & SHF_WRITE) &&
                         (flags & PF_X || !(section->sh_flags & SHF_EXECINSTR));
            }
        if (found != 1 || !right)
            check_form_differs(file, NULL,
                               "section %s lies in %u segments that are loaded, or in one without its rights",
                               image->sections.at[i].name, found);
    }
}

/* ---- symbols ---- */
uint32_t check_form_symbols(const FileForm *file) {
    return (uint32_t)(file->image->sections.at[file->symbols].h.sh_size / sizeof(Elf64_Sym));
}

/* Of a number beyond the table: one that is nothing. */
FormSymbol check_form_symbol(const FileForm *file, uint32_t index) {
    const ElfSection *table = &file->image->sections.at[file->symbols];
    FormSymbol symbol = {.name = ""};
    if (index >= check_form_symbols(file))
        return symbol;
    const uint8_t *entry = table->data + (size_t)index * sizeof(Elf64_Sym);
    const char *name = elf_image_string(file->image, table->h.sh_link, get_u32(entry));
    return (FormSymbol){name ? name : "", get_u16(entry + 6), entry[4],
                        entry[5],         get_u64(entry + 8), get_u64(entry + 16)};
}

const char *check_form_section_name(const FileForm *file, uint32_t index) {
    return index < file->image->sections.n ? file->image->sections.at[index].name : "";
}

/* The function whose code is in a section; "" */
const char *check_form_code_name(const FileForm *file, uint32_t section) {
    const char *name = check_form_section_name(file, section);
    return strncmp(name, ".text.", 6) == 0 ? name + 6 : "";
}

/* The function that a symbol is the beginning of, not a place inside; "" */
const char *check_form_named_function(const FileForm *file, const FormSymbol *symbol) {
    const char *code = check_form_code_name(file, symbol->section);
    return ELF64_ST_TYPE(symbol->info) == STT_FUNC && strcmp(code, symbol->name) == 0 ? code : "";
}

/* The symbol of a section is local and has its name, or none. */
static bool names_section(const FileForm *file, const FormSymbol *symbol) {
    return ELF64_ST_BIND(symbol->info) == STB_LOCAL &&
           (!*symbol->name || strcmp(symbol->name, check_form_section_name(file, symbol->section)) == 0);
}

static int name_order(const void *a, const void *b) {
    const char *const *x = a, *const *y = b;
    return strcmp(*x, *y);
}

static void symbols(FileForm *file) {
    uint32_t n = check_form_symbols(file), nnames = 0;
    uint32_t *found = ARENA_ARRAY(&file->checker->a, uint32_t, file->image->sections.n);
    const char **defined = ARENA_ARRAY(&file->checker->a, const char *, n + 1);
    for (uint32_t i = 1; i < n; i++) {
        FormSymbol symbol = check_form_symbol(file, i);
        const char *func = check_form_named_function(file, &symbol);
        unsigned type = ELF64_ST_TYPE(symbol.info);
        if (type == STT_SECTION &&
            (symbol.value || symbol.size_bytes || symbol.other || !names_section(file, &symbol)))
            check_form_differs(file, NULL, "symbol %u is not that of all of section %s", i,
                               check_form_section_name(file, symbol.section));
        if (symbol.section == SHN_UNDEF && symbol.value &&
            strncmp(symbol.name, ".nv.reservedSmem.", strlen(".nv.reservedSmem.")) != 0)
            check_form_differs(file, NULL, "symbol %s is defined nowhere and has a value", symbol.name);
        if (*func) {
            found[symbol.section]++;
            if (symbol.size_bytes != file->image->sections.at[symbol.section].h.sh_size ||
                symbol.other & ~STO_NV_ENTRY)
                check_form_differs(file, func, "symbol %s is not that of all code of the function", func);
        }
        if (symbol.section != SHN_UNDEF && ELF64_ST_BIND(symbol.info) != STB_LOCAL)
            defined[nnames++] = symbol.name;
    }
    for (uint32_t i = 1; i < file->image->sections.n; i++)
        if (*check_form_code_name(file, i) && found[i] != 1)
            check_form_differs(file, check_form_code_name(file, i),
                               "%u symbols name the function of section %s", found[i],
                               check_form_section_name(file, i));
    if (nnames)
        qsort(defined, nnames, sizeof *defined, name_order);
    for (uint32_t i = 1; i < nnames; i++)
        if (strcmp(defined[i - 1], defined[i]) == 0)
            check_form_differs(file, NULL, "two symbols that others may find are called %s", defined[i]);
}

/* ---- entry ---- */
static void form_silent(void *user, Severity severity, const char *line) {
    (void)user, (void)severity, (void)line;
}

void check_form(Checker *checker) {
    const Binary *binary = checker->flow->bin;
    Diags diags = {.sink = form_silent};
    if (!check_wants(checker, CR_M06) || !binary->image)
        return;
    FileForm file = {.checker = checker, .binary = binary};
    file.image = elf_image_read(&checker->a, binary->image, binary->image_bytes, &diags);
    for (uint32_t i = 1; file.image && i < file.image->sections.n && !file.symbols; i++)
        file.symbols = file.image->sections.at[i].h.sh_type == SHT_SYMTAB ? i : 0;
    if (!file.image || !file.symbols || !file.image->sections.at[file.symbols].data)
        return; /* it was read before, so it is */
    if (!is_header_right(&file))
        check_form_differs(&file, NULL, "the header of the file has not the form of one for this target");
    if (file.image->gaps.n)
        check_form_differs(&file, NULL, "the file has bytes that belong to nothing");
    for (uint32_t i = 1; i < file.image->sections.n; i++)
        section_form(&file, i);
    segments(&file);
    symbols(&file);
    check_form_records(&file);
    check_form_relocations(&file);
}
