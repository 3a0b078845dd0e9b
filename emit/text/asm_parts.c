/* The parts of a file that assembly text makes: after the scan its sections; when all is filled in, what
 * follows from the code, headers, and whether they can stand. SPDX-License-Identifier: MIT */
#include "emit/text/asm_doc.h"
#include <string.h>

/* Where the header and the symbols are made, the text cannot say something else of them. */
static bool can_make_tables(AsmDoc *doc) {
    if (doc->elf_at)
        return asm_doc_error(doc, doc->elf_at, DIAG_E0350,
                             "no header: it is made, for a text without tables of names and symbols");
    for (uint32_t i = 1; i < doc->sections.n; i++) {
        const DocSection *section = &doc->sections.at[i];
        if (section->is_code && asm_doc_section_named(doc, section->name) != i)
            return asm_doc_error_at(doc, section->loc, DIAG_E0350, "another name: this section stands twice");
    }
    return true;
}

bool asm_doc_end_scan(AsmDoc *doc) {
    doc->has_tables = !doc->first_section; /* a text with the null section is of a whole file */
    for (uint32_t i = doc->first_section; i < doc->sections.n; i++)
        doc->has_tables |= doc->sections.at[i].type == SHT_SYMTAB || doc->sections.at[i].type == SHT_STRTAB;
    if (doc->symtab && doc->has_tables)
        return asm_doc_error_at(doc, (SrcLoc){0}, DIAG_E0356,
                                "tables of names or symbols in a text with .elftype ET_REL");
    doc->is_relocatable = doc->symtab != 0;
    if (!doc->has_tables && !can_make_tables(doc))
        return false;
    if (!doc->has_tables && !doc->symtab)
        asm_doc_add_tables(doc);
    for (uint32_t i = 0; i < doc->sections.n; i++) {
        DocSection *section = &doc->sections.at[i];
        section->end_line = i + 1 < doc->sections.n ? section[1].first_line : doc->lines.n;
        ElfSection *out = VEC_PUSH(doc->a, &doc->image->sections);
        out->name = section->name;
        section->moved |= section->is_code && section->has_size && doc->has_tables &&
                          section->stated.sh_size != section->size_bytes;
    }
    elf_image_index(doc->a, doc->image);
    return true;
}

/* Sections whose text does not say the place of their name have the first one in the table. */
static void find_names(AsmDoc *doc) {
    for (uint32_t i = 1; doc->has_tables && i < doc->sections.n; i++)
        if (!doc->sections.at[i].has_name)
            doc->sections.at[i].stated.sh_name =
                asm_doc_string(doc, doc->image->h.e_shstrndx, doc->sections.at[i].name);
}

/* Sections have the sizes of their contents. */
static void set_headers(AsmDoc *doc) {
    for (uint32_t i = 0; i < doc->sections.n; i++) {
        const DocSection *section = &doc->sections.at[i];
        ElfSection *out = &doc->image->sections.at[i];
        uint64_t size_bytes = section->size_bytes;
        out->h = section->stated;
        if (!i || (elf_image_is_nobits(out->h.sh_type) && section->has_size))
            continue;
        out->h.sh_size = size_bytes;
        if (elf_image_is_nobits(out->h.sh_type)) /* .zero says how much there is */
            out->data = NULL;
    }
}

/* Symbols of the table that stand before the first one that is not local. */
static void count_locals(AsmDoc *doc) {
    for (uint32_t i = 1; i < doc->sections.n; i++) {
        ElfSection *section = &doc->image->sections.at[i];
        if (section->h.sh_type != SHT_SYMTAB || doc->sections.at[i].has_info)
            continue;
        uint32_t n = (uint32_t)(section->h.sh_size / sizeof(Elf64_Sym)), k = 0;
        while (section->data && k < n && ELF64_ST_BIND(section->data[k * sizeof(Elf64_Sym) + 4]) == STB_LOCAL)
            k++;
        section->h.sh_info = k;
    }
}

/* What all words say, also those that the text has as data; false: the file will not take it for code. */
static bool gather_facts(AsmDoc *doc, uint32_t index) {
    const ElfSection *section = &doc->image->sections.at[index];
    CodeFacts *facts = &doc->sections.at[index].facts;
    if (!doc->sections.at[index].is_code || section->h.sh_type != SHT_PROGBITS || !section->data ||
        section->h.sh_size % INST_BYTES)
        return false;
    for (uint32_t at = 0; at < section->h.sh_size; at += INST_BYTES)
        elf_facts_add(doc->a, doc->target,
                      (uint64_t[]){get_u64(section->data + at), get_u64(section->data + at + 8)}, at, facts);
    return true;
}

static bool follow_code(AsmDoc *doc) {
    FactsChange most = {0}, change;
    FactsRecords records = {0};
    for (uint32_t i = 1; i < doc->sections.n; i++) {
        DocSection *section = &doc->sections.at[i];
        if (!gather_facts(doc, i) || section->as_stated)
            continue;
        if (!elf_facts_follow(doc->a, doc->image, doc->target, i, &section->facts, &records, &change))
            return asm_doc_error_at(doc, section->loc, DIAG_E0356,
                                    arena_printf(doc->a, "%s needs %s", section->name, change.why));
        if (change.more_registers > most.more_registers)
            most.more_registers = change.more_registers;
        most.more_stack_bytes += change.more_stack_bytes;
    }
    for (uint32_t i = 1; i < doc->sections.n && (most.more_registers || most.more_stack_bytes); i++) {
        const DocSection *section = &doc->sections.at[i];
        if (section->is_code && section->facts.uses_call &&
            !elf_facts_raise(doc->a, doc->image, doc->target, i, &most, &records, &change))
            return asm_doc_error_at(doc, section->loc, DIAG_E0356,
                                    arena_printf(doc->a, "%s needs %s", section->name, change.why));
    }
    return true;
}

/* What stood at an instruction must have found its record. */
static bool all_listed(AsmDoc *doc) {
    for (uint32_t i = 0; i < doc->listed.n; i++)
        if (!doc->listed.at[i].used)
            return asm_doc_error_at(
                doc, doc->listed.at[i].loc, DIAG_E0356,
                arena_printf(doc->a, ".nv.info.%s has no record for this label", doc->listed.at[i].kernel));
    return true;
}

/* Places in a constant bank are numbers in the code that reads them. */
static bool banks_stay(AsmDoc *doc) {
    for (uint32_t i = 1; i < doc->sections.n; i++)
        if (!doc->sections.at[i].is_code && doc->sections.at[i].moved)
            return asm_doc_error_at(doc, doc->sections.at[i].loc, DIAG_E0358,
                                    arena_printf(doc->a, "instructions name places in %s, where data moved",
                                                 doc->sections.at[i].name));
    return true;
}

/* A section that was so when it was printed stays as it was. */
static bool whole_entries(const AsmDoc *doc, uint32_t index) {
    const Elf64_Shdr *header = &doc->image->sections.at[index].h;
    bool as_printed = index < doc->sections.n && doc->sections.at[index].has_size &&
                      doc->sections.at[index].stated.sh_size == header->sh_size;
    return !header->sh_entsize || header->sh_size % header->sh_entsize == 0 || as_printed;
}

/* Names must be those of the name table: the file has only the offsets. */
static bool check_names(AsmDoc *doc) {
    for (uint32_t i = 1; i < doc->image->sections.n; i++) {
        const ElfSection *section = &doc->image->sections.at[i];
        SrcLoc loc = i < doc->sections.n ? doc->sections.at[i].loc : (SrcLoc){0};
        const char *name = elf_image_string(doc->image, doc->image->h.e_shstrndx, section->h.sh_name);
        if (!name || strcmp(name, section->name) != 0)
            return asm_doc_error_at(doc, loc, DIAG_E0356,
                                    arena_printf(doc->a,
                                                 "section %s: .__section_name is not the place of its name",
                                                 section->name));
        if (section->h.sh_addralign & (section->h.sh_addralign - 1))
            return asm_doc_error_at(
                doc, loc, DIAG_E0356,
                arena_printf(doc->a, "section %s: the alignment is not a power of two", section->name));
        if (!whole_entries(doc, i))
            return asm_doc_error_at(
                doc, loc, DIAG_E0356,
                arena_printf(doc->a, "section %s: %llu bytes are no whole number of entries of %llu",
                             section->name, (unsigned long long)section->h.sh_size,
                             (unsigned long long)section->h.sh_entsize));
    }
    return true;
}

/* Parts keep the places that the text gives them, or come behind: in a file of moderate size. */
bool asm_doc_check_places(AsmDoc *doc) {
    static const char far[] = "an offset beyond 256 MiB";
    for (uint32_t i = 1; i < doc->image->sections.n; i++) {
        const Elf64_Shdr *header = &doc->image->sections.at[i].h;
        if (!elf_image_is_nobits(header->sh_type) && header->sh_size && header->sh_offset > MOST_FILE_BYTES)
            return asm_doc_error_at(doc, i < doc->sections.n ? doc->sections.at[i].loc : (SrcLoc){0},
                                    DIAG_E0356, far);
    }
    return (doc->image->h.e_shoff <= MOST_FILE_BYTES &&
            (!doc->image->segments.n || doc->image->h.e_phoff <= MOST_FILE_BYTES)) ||
           asm_doc_error_at(doc, (SrcLoc){0}, DIAG_E0356, far);
}

static bool is_loaded(const ElfImage *image, const Elf64_Shdr *section) {
    for (uint32_t k = 0; k < image->segments.n; k++) {
        const Elf64_Phdr *phdr = &image->segments.at[k];
        if (phdr->p_type == PT_LOAD && section->sh_offset >= phdr->p_offset &&
            section->sh_offset + section->sh_size <= phdr->p_offset + phdr->p_filesz)
            return true;
    }
    return false;
}

/* A section that came with a kernel from another file: the segment with its rights grows around it. */
static void load_section(ElfImage *image, const Elf64_Shdr *section) {
    uint32_t rights = section->sh_flags & SHF_WRITE ? PF_R | PF_W : PF_R | PF_X;
    for (uint32_t k = 0; k < image->segments.n; k++) {
        Elf64_Phdr *phdr = &image->segments.at[k];
        if (phdr->p_type != PT_LOAD || phdr->p_flags != rights || phdr->p_offset == image->h.e_phoff)
            continue;
        uint64_t extra = phdr->p_memsz - phdr->p_filesz, end = phdr->p_offset + phdr->p_filesz,
                 behind = section->sh_offset + section->sh_size;
        phdr->p_offset = section->sh_offset < phdr->p_offset ? section->sh_offset : phdr->p_offset;
        phdr->p_filesz = (behind > end ? behind : end) - phdr->p_offset;
        phdr->p_memsz = phdr->p_filesz + extra;
        return;
    }
}

static uint64_t file_end(const ElfImage *image) {
    uint64_t headers = image->h.e_shoff + image->sections.n * sizeof(Elf64_Shdr),
             segments = image->h.e_phoff + image->segments.n * sizeof(Elf64_Phdr),
             end = headers > segments ? headers : segments;
    for (uint32_t i = 1; i < image->sections.n; i++) {
        const Elf64_Shdr *section = &image->sections.at[i].h;
        if (!elf_image_is_nobits(section->sh_type) && section->sh_offset + section->sh_size > end)
            end = section->sh_offset + section->sh_size;
    }
    return end;
}

/* Segments that came with a part of another file tell of places in that one; the loader refuses the whole. */
static bool segments_are_inside(AsmDoc *doc) {
    const ElfImage *image = doc->image;
    uint64_t end = file_end(image);
    for (uint32_t k = 0; k < image->segments.n; k++) {
        const Elf64_Phdr *phdr = &image->segments.at[k];
        if (phdr->p_offset > end || phdr->p_filesz > end - phdr->p_offset)
            return asm_doc_error_at(
                doc, (SrcLoc){0}, DIAG_E0356,
                arena_printf(doc->a,
                             "segment %u, of 0x%llx bytes at 0x%llx, does not end in the file, of 0x%llx", k,
                             (unsigned long long)phdr->p_filesz, (unsigned long long)phdr->p_offset,
                             (unsigned long long)end));
    }
    return true;
}

/* A segment covers the sections that it covered: those whose stated place lies in its stated range. */
bool asm_doc_move_segments(AsmDoc *doc, const Elf64_Ehdr *header) {
    ElfImage *image = doc->image;
    bool edited = false;
    for (uint32_t k = 0; k < image->segments.n; k++) {
        Elf64_Phdr *phdr = &image->segments.at[k];
        uint64_t lo = phdr->p_offset, hi = phdr->p_offset + phdr->p_filesz,
                 extra = phdr->p_memsz - phdr->p_filesz;
        uint64_t new_lo = UINT64_MAX, new_hi = 0;
        bool moved = false;
        if (lo == header->e_phoff) {
            phdr->p_offset = image->h.e_phoff;
            continue;
        }
        for (uint32_t i = 1; i < doc->sections.n; i++) {
            const Elf64_Shdr *now = &image->sections.at[i].h, *was = &doc->sections.at[i].stated;
            if (elf_image_is_nobits(now->sh_type) || !now->sh_size || was->sh_offset < lo ||
                was->sh_offset + was->sh_size > hi)
                continue;
            new_lo = now->sh_offset < new_lo ? now->sh_offset : new_lo;
            new_hi = now->sh_offset + now->sh_size > new_hi ? now->sh_offset + now->sh_size : new_hi;
            moved |= now->sh_offset != was->sh_offset || now->sh_size != was->sh_size;
        }
        edited |= moved;
        if (!moved || new_hi < new_lo)
            continue; /* odd ones stay as they are */
        phdr->p_offset = new_lo;
        phdr->p_filesz = new_hi - new_lo;
        phdr->p_memsz = phdr->p_filesz + extra;
    }
    for (uint32_t i = 1; i < doc->sections.n && edited; i++) {
        const Elf64_Shdr *section = &image->sections.at[i].h;
        if (section->sh_flags & SHF_ALLOC && section->sh_size && !elf_image_is_nobits(section->sh_type) &&
            !is_loaded(image, section))
            load_section(image, section);
    }
    return !edited || segments_are_inside(doc);
}

/* The loader goes by the header: instructions of another machine would be read as others there. */
static bool target_agrees(AsmDoc *doc) {
    bool own = doc->target && (isa_target_info(doc->target)->elf_flags & ELF_OWN_FORM);
    const Target *stated = elf_header_target(&doc->image->h, own);
    if (!doc->target || doc->target == stated) {
        doc->target = stated;
        return true;
    }
    const char *what = arena_printf(doc->a, "the instructions are of %s, the ELF header is %s%s",
                                    isa_target_name(doc->target), stated ? "of " : "of no known machine",
                                    stated ? isa_target_name(stated) : "");
    return doc->target_at ? asm_doc_error(doc, doc->target_at, DIAG_E0356, what)
                          : diag_in(doc->text->d, doc->text->source, (SrcLoc){0}, DIAG_E0356, what);
}

/* Of a text that has no tables and says little of the file. */
static void make_header(AsmDoc *doc) {
    Elf64_Ehdr *header = &doc->image->h;
    elf_image_header(doc->image, doc->target, doc->old_form, asm_doc_section_named(doc, ELF_LOADER_NOTE));
    header->e_type = doc->is_relocatable ? ET_REL : ET_EXEC;
    if (doc->virtual_sm)
        header->e_flags = (header->e_flags & 0xff00ffff) | (doc->virtual_sm & 0xff) << 16;
}

bool asm_doc_finish(AsmDoc *doc) {
    if (!doc->has_tables)
        make_header(doc);
    if (!target_agrees(doc))
        return false;
    find_names(doc);
    set_headers(doc);
    if (!asm_doc_add_relocs(doc) || (!doc->has_tables && !asm_doc_fill_tables(doc)))
        return false;
    if (doc->image->sections.n >= SHN_LORESERVE)
        return asm_doc_error_at(doc, (SrcLoc){0}, DIAG_E0356, "too many sections");
    count_locals(doc);
    return (!doc->target || follow_code(doc)) && all_listed(doc) && banks_stay(doc) && check_names(doc) &&
           asm_doc_check_places(doc);
}
