/* ELF image to assembly text, file form: every header field, section and byte. Places in code, and what names
 * them, are labels (marks.h), so that an edit moves both. See docs/elf.md.
 * SPDX-License-Identifier: MIT */
#include "emit/text/disasm.h"
#include "emit/text/marks.h"
#include "emit/elf/nvinfo.h"
#include <stdio.h>
#include <string.h>

/* ---- data ---- */
static void print_quoted(FILE *out, const uint8_t *section, size_t n) {
    fputc('"', out);
    for (size_t i = 0; i < n; i++) {
        if (section[i] == '"' || section[i] == '\\')
            fprintf(out, "\\%c", section[i]);
        else if (section[i] == '\n')
            fputs("\\n", out);
        else if (section[i] == '\t')
            fputs("\\t", out);
        else if (section[i] >= 32 && section[i] < 127)
            fputc(section[i], out);
        else
            fprintf(out, "\\x%02x", section[i]);
    }
    fputc('"', out);
}

static void print_bytes(FILE *out, const uint8_t *section, size_t n) {
    size_t i = 0;
    while (i < n) {
        size_t zeros = 0;
        while (i + zeros < n && section[i + zeros] == 0)
            zeros++;
        if (zeros >= 16 || (zeros && i + zeros == n)) {
            fprintf(out, "\t.zero\t%zu\n", zeros);
            i += zeros;
            continue;
        }
        size_t row = n - i < 16 ? n - i : 16;
        fprintf(out, "\t.byte\t");
        for (size_t k = 0; k < row; k++)
            fprintf(out, "%s0x%02x", k ? ", " : "", section[i + k]);
        fputc('\n', out);
        i += row;
    }
}

static void print_texts(FILE *out, const uint8_t *section, size_t n, char separator) {
    size_t i = 0;
    while (i < n) {
        const uint8_t *stop = memchr(section + i, separator, n - i);
        size_t size = stop ? (size_t)(stop - section) - i : n - i;
        fprintf(out, stop && separator == 0 ? "\t.string\t" : "\t.ascii\t");
        print_quoted(out, section + i, size + (stop && separator ? 1 : 0));
        fputc('\n', out);
        i += size + (stop ? 1 : 0);
    }
}

/* The name goes into a comment, which ends at the line's end. */
void disasm_print_comment(FILE *out, const char *name) {
    fputs("\t// ", out);
    for (const char *section = name ? name : "?"; *section; section++)
        fputc(*section >= 32 && *section < 127 ? *section : '?', out);
    fputc('\n', out);
}

typedef struct {
    Printer *printer;
    Marks marks;
    uint32_t section; /* being printed */
} File;

/* ---- code ---- */
static void print_stuck(File *file) {
    const Marks *marks = &file->marks;
    char label[MARK_LABEL_BYTES];
    for (uint32_t i = disasm_stuck_first(marks, file->section);
         i < marks->stuck.n && marks->stuck.at[i].section == file->section; i++) {
        const Stuck *stuck = &marks->stuck.at[i];
        fprintf(file->printer->out, "\t.__stays\t");
        if (stuck->place == UINT64_MAX) {
            const char *name = marks->image->sections.at[stuck->code].name;
            print_quoted(file->printer->out, (const uint8_t *)name, strlen(name));
            fputc('\n', file->printer->out);
        } else
            fprintf(file->printer->out, "%s, 0x%llx\n",
                    disasm_marks_label(stuck->code, stuck->place, false, label),
                    (unsigned long long)stuck->place);
    }
}

/* Labels in front of what stands at `offset`: of the place on a line of their own, of the instruction on
 * its. */
static void print_labels(File *file, uint64_t offset, uint32_t *listed) {
    const Marks *marks = &file->marks;
    char label[MARK_LABEL_BYTES];
    if (disasm_marks_has(marks, file->section, offset, false))
        fprintf(file->printer->out, "%s:\n", disasm_marks_label(file->section, offset, false, label));
    if (disasm_marks_has(marks, file->section, offset, true))
        fprintf(file->printer->out, "%s: ", disasm_marks_label(file->section, offset, true, label));
    for (; *listed < marks->listed.n && marks->listed.at[*listed].section == file->section &&
           marks->listed.at[*listed].offset == offset;
         ++*listed)
        fprintf(file->printer->out, "%s: ", marks->listed.at[*listed].label);
}

/* Where the indirect branch may lead, as nvdisasm says it. */
static void print_targets(File *file, const BinFunc *f, uint32_t pc) {
    uint32_t k = 0;
    char label[MARK_LABEL_BYTES];
    while (f && k < f->ntables && f->tables[k].pc_bytes < pc)
        k++;
    if (!f || k == f->ntables || f->tables[k].pc_bytes != pc || !f->tables[k].ntargets)
        return;
    fputs("  (*\"BRANCH_TARGETS ", file->printer->out);
    for (uint32_t e = 0; e < f->tables[k].ntargets; e++)
        fprintf(file->printer->out, "%s%s", e ? "," : "",
                disasm_marks_label(file->section, f->tables[k].targets[e], false, label));
    fputs("\"*)", file->printer->out);
}

static void print_code(File *file, const ElfSection *section) {
    Printer *printer = file->printer;
    CodeText c;
    disasm_text_open(&c, printer->a, printer->target, section, file->section);
    printer->nwords += c.ninsts;
    const BinFunc *f = disasm_section_func(printer, section);
    const BinLoc *locs = f ? f->locs : NULL;
    uint32_t line = 0;
    uint32_t listed = disasm_listed_first(&file->marks, file->section, 0);
    if (file->marks.as_stated[file->section])
        fputs("\t.__as_stated\n", printer->out);
    for (uint32_t i = 0; i < c.ninsts; i++) {
        char text[ISA_TEXT_BYTES], control[ASM_CONTROL_BYTES], changed[ISA_TEXT_BYTES + MARK_LABEL_BYTES];
        Control ctrl;
        uint32_t pc = i * INST_BYTES;
        print_labels(file, pc, &listed);
        if (!disasm_text_line(&c, i, text, &ctrl)) {
            disasm_print_raw(printer, c.data + pc, pc, text);
            continue;
        }
        const Operands *operand = disasm_marks_operand(&file->marks, file->section, pc);
        bool named = operand && disasm_marks_operand_text(operand, text, changed, sizeof changed);
        asm_print_control(ctrl, control);
        fprintf(printer->out, "    %s  /*%04x*/  %s%s", control, pc, *text == '@' ? "" : "    ",
                named ? changed : text);
        print_targets(file, f, pc);
        fputs(" ;", printer->out);
        if (locs && locs[i].ptx_line && locs[i].ptx_line != line) {
            line = locs[i].ptx_line;
            fputs("\t// ", printer->out);
            disasm_print_place(printer, &locs[i]);
        }
        fputc('\n', printer->out);
    }
    print_labels(file, section->h.sh_size, &listed);
}

/* ---- data with labels and fields in it ---- */
static void print_positions(File *file, const Positions *positions, const uint8_t *p) {
    const ElfSection *code = &file->marks.image->sections.at[positions->code];
    char label[MARK_LABEL_BYTES];
    fprintf(file->printer->out, "\t.__positions\t");
    print_quoted(file->printer->out, (const uint8_t *)code->name, strlen(code->name));
    fputc('\n', file->printer->out);
    for (uint64_t at = 0; at < code->h.sh_size; at += INST_BYTES, p += DOC_POSITION_BYTES) {
        if (at && memcmp(p, p - DOC_POSITION_BYTES, DOC_POSITION_BYTES) == 0)
            continue;
        fprintf(file->printer->out, "\t.__position\t%s",
                disasm_marks_label(positions->code, at, false, label));
        for (unsigned k = 0; k < DOC_POSITION_BYTES; k += 4)
            fprintf(file->printer->out, ", %u", get_u32(p + k));
        fputc('\n', file->printer->out);
    }
    fprintf(file->printer->out, "\t.__positions_end\n");
}

static void print_field(File *file, const Field *field) {
    static const char *const names[9] = {".uleb128", ".byte", ".short", ".sleb128", ".word",
                                         ".__line",  "",      "",       ".dword"};
    fprintf(file->printer->out, "\t%s\t%s\n", names[field->size_bytes], field->text);
}

static const Positions *positions_at(const File *file, uint64_t offset) {
    const Marks *marks = &file->marks;
    uint32_t i = disasm_positions_first(marks, file->section, offset);
    const Positions *positions = i < marks->positions.n ? &marks->positions.at[i] : NULL;
    return positions && positions->section == file->section && positions->offset == offset ? positions : NULL;
}

/* The next place from `offset` on at which something other than bytes stands. */
static uint64_t next_stop(const File *file, uint64_t offset, uint64_t end) {
    const Marks *marks = &file->marks;
    uint32_t m = disasm_marks_first(marks, file->section, offset),
             f = disasm_fields_first(marks, file->section, offset),
             p = disasm_positions_first(marks, file->section, offset);
    if (m < marks->marks.n && marks->marks.at[m].section == file->section && marks->marks.at[m].offset < end)
        end = marks->marks.at[m].offset;
    if (f < marks->fields.n && marks->fields.at[f].section == file->section &&
        marks->fields.at[f].offset < end)
        end = marks->fields.at[f].offset;
    if (p < marks->positions.n && marks->positions.at[p].section == file->section &&
        marks->positions.at[p].offset < end)
        end = marks->positions.at[p].offset;
    return end;
}

static void print_data(File *file, const ElfSection *section) {
    const Marks *marks = &file->marks;
    bool bank = strncmp(section->name, ".nv.constant", 12) == 0;
    char label[MARK_LABEL_BYTES];
    for (uint64_t at = 0; at <= section->h.sh_size;) {
        if (disasm_marks_has(marks, file->section, at, false))
            fprintf(file->printer->out, "%s:\n", disasm_marks_label(file->section, at, false, label));
        if (at == section->h.sh_size)
            return;
        if (bank)
            fprintf(file->printer->out, " /*%04llx*/", (unsigned long long)at);
        const Positions *positions = positions_at(file, at);
        uint32_t f = disasm_fields_first(marks, file->section, at);
        const Field *field = f < marks->fields.n ? &marks->fields.at[f] : NULL;
        if (positions) {
            print_positions(file, positions, section->data + at);
            at += marks->image->sections.at[positions->code].h.sh_size / INST_BYTES * DOC_POSITION_BYTES;
        } else if (field && field->section == file->section && field->offset == at) {
            print_field(file, field);
            at += field->length;
        } else {
            uint64_t stop = next_stop(file, at + 1, section->h.sh_size);
            print_bytes(file->printer->out, section->data + at, stop - at);
            at = stop;
        }
    }
}

/* ---- tables ---- */
/* The place as a label, if it has one; else the number. */
static const char *place_text(const File *file, uint32_t section, uint64_t offset, bool instruction) {
    char label[MARK_LABEL_BYTES];
    return disasm_marks_has(&file->marks, section, offset, instruction)
               ? arena_printf(file->printer->a, "%s", disasm_marks_label(section, offset, instruction, label))
               : arena_printf(file->printer->a, "0x%llx", (unsigned long long)offset);
}

static const char *distance_text(const File *file, uint32_t section, uint64_t from, uint64_t to) {
    if (!disasm_marks_has(&file->marks, section, from, false) ||
        !disasm_marks_has(&file->marks, section, to, false))
        return arena_printf(file->printer->a, "0x%llx", (unsigned long long)(to - from));
    return arena_printf(file->printer->a, "(%s - %s)", place_text(file, section, to, false),
                        place_text(file, section, from, false));
}

static void print_symbols(File *file, const ElfSection *section) {
    Printer *printer = file->printer;
    size_t n = section->h.sh_size / sizeof(Elf64_Sym);
    fprintf(printer->out, "\t\t// name, value, size, info, other, section\n");
    for (size_t i = 0; i < n; i++) {
        const uint8_t *y = section->data + i * sizeof(Elf64_Sym);
        const char *name = elf_image_string(printer->image, section->h.sh_link, get_u32(y));
        uint64_t value = get_u64(y + 8), size = get_u64(y + 16);
        uint16_t where = get_u16(y + 6);
        bool in_file = where && where < printer->image->sections.n && file->section == file->marks.symtab;
        fprintf(printer->out, "\t.__symbol\t");
        if (file->section == file->marks.symtab && file->marks.which_symbol[i])
            print_quoted(printer->out, (const uint8_t *)name, strlen(name));
        else
            fprintf(printer->out, "0x%x", get_u32(y));
        fprintf(printer->out, ", %s, %s, 0x%x, 0x%x, %s",
                in_file ? place_text(file, where, value, false)
                        : arena_printf(printer->a, "0x%llx", (unsigned long long)value),
                in_file ? distance_text(file, where, value, value + size)
                        : arena_printf(printer->a, "0x%llx", (unsigned long long)size),
                y[4], y[5],
                in_file ? disasm_marks_section_text(&file->marks, where)
                        : arena_printf(printer->a, "0x%x", where));
        disasm_print_comment(printer->out, disasm_symbol_name(printer->image, file->section, i));
    }
    print_bytes(printer->out, section->data + n * sizeof(Elf64_Sym),
                section->h.sh_size - n * sizeof(Elf64_Sym));
}

static void print_relocs(File *file, const ElfSection *section) {
    Printer *printer = file->printer;
    bool rela = section->h.sh_type == SHT_RELA;
    size_t each = rela ? sizeof(Elf64_Rela) : sizeof(Elf64_Rel), n = section->h.sh_size / each;
    uint32_t target = section->h.sh_info < printer->image->sections.n ? section->h.sh_info : 0;
    bool code = target && disasm_is_code(&printer->image->sections.at[target]);
    fprintf(printer->out, "\t\t// offset, type, symbol%s\n", rela ? ", addend" : "");
    for (size_t i = 0; i < n; i++) {
        const uint8_t *r = section->data + i * each;
        MarksSymbol symbol = disasm_marks_symbol(&file->marks, get_u32(r + 12));
        fprintf(printer->out, "\t.__rel%s\t%s, %u, %s", rela ? "a" : "",
                place_text(file, target, get_u64(r), code), get_u32(r + 8),
                disasm_marks_symbol_text(&file->marks, section->h.sh_link, get_u32(r + 12)));
        uint64_t addend = rela ? get_u64(r + 16) : 0;
        if (rela && addend && disasm_marks_is_place(&file->marks, symbol.section, symbol.value + addend))
            fprintf(printer->out, ", %s",
                    distance_text(file, symbol.section, symbol.value, symbol.value + addend));
        else if (rela)
            fprintf(printer->out, ", 0x%llx", (unsigned long long)addend);
        disasm_print_comment(printer->out,
                             disasm_symbol_name(printer->image, section->h.sh_link, get_u32(r + 12)));
    }
    print_bytes(printer->out, section->data + n * each, section->h.sh_size - n * each);
}

/* ---- attribute records ---- */
static bool names_symbol(unsigned code, unsigned word) {
    switch (code) {
    case NV_REGCOUNT:
    case NV_FRAME_SIZE:
    case NV_MIN_STACK_SIZE:
    case NV_MAX_STACK_SIZE:
    case NV_PARAM_CBANK: return word == 0;
    case NV_EXTERNS: return true;
    default: return false;
    }
}

/* Branch, 0, count, targets: is word `at` of the record one of the targets? */
static bool is_target(const NvAttr *attr, unsigned at, bool *branch) {
    unsigned k = 0, words = attr->size_bytes / 4u;
    while (k + 3 <= words && at >= k + 3 + get_u32(attr->data + 4 * (k + 2)) &&
           get_u32(attr->data + 4 * (k + 2)) <= words - k - 3)
        k += 3 + get_u32(attr->data + 4 * (k + 2));
    *branch = at == k;
    return at >= k + 3;
}

static const char *record_word(const File *file, uint32_t text, const NvAttr *attr, unsigned word) {
    uint32_t value = get_u32(attr->data + 4 * word);
    bool branch = false;
    if (names_symbol(attr->code, word))
        return disasm_marks_symbol_text((Marks *)(uintptr_t)&file->marks, file->marks.symtab, value);
    if (text && elf_nvinfo_lists_instructions(attr->code))
        return place_text(file, text, value, true);
    if (text && attr->code == NV_UNUSED_LOAD_BYTE_OFFSET && attr->size_bytes % 8 == 0 && word % 2 == 0)
        return place_text(file, text, value, true);
    if (text && attr->code == NV_INDIRECT_BRANCH_TARGETS) {
        if (is_target(attr, word, &branch))
            return place_text(file, text, value, false);
        if (branch)
            return place_text(file, text, value, true);
    }
    return arena_printf(file->printer->a, "0x%x", value);
}

static void print_attributes(File *file, const ElfSection *section) {
    Printer *printer = file->printer;
    uint32_t text = disasm_marks_described(&file->marks, file->section);
    size_t pos = 0;
    NvAttr n;
    while (elf_nvinfo_next(section->data, section->h.sh_size, &pos, &n)) {
        bool words = n.format == NVF_SIZED && n.size_bytes % 4 == 0 && n.size_bytes;
        bool follows = disasm_marks_is_listed(&file->marks, file->section, n.offset) ||
                       (text && n.code == NV_EXIT_INSTR_OFFSETS && words && !file->marks.as_stated[text]);
        char number[8];
        snprintf(number, sizeof number, "0x%02x", n.code);
        const char *name = elf_nvinfo_name(n.code);
        fprintf(printer->out, "\t.__attr%u%s\t%s", n.format, n.format == NVF_SIZED && !words ? "b" : "",
                name ? name : number);
        if (n.format != NVF_SIZED)
            fprintf(printer->out, ", 0x%x", n.value);
        for (unsigned i = 0; words && !follows && i < n.size_bytes / 4u; i++)
            fprintf(printer->out, ", %s", record_word(file, text, &n, i));
        for (unsigned i = 0; !words && i < n.size_bytes; i++)
            fprintf(printer->out, ", 0x%x", n.data[i]);
        fputc('\n', printer->out);
    }
    print_bytes(printer->out, section->data + pos, section->h.sh_size - pos);
}

/* ---- sections ---- */
static void print_contents(File *file, const ElfSection *section) {
    Printer *printer = file->printer;
    if (!section->data)
        return;
    if (printer->target && disasm_is_code(section))
        print_code(file, section);
    else if (section->h.sh_type == SHT_STRTAB)
        print_texts(printer->out, section->data, section->h.sh_size, 0);
    else if (section->h.sh_type == SHT_HD_PTX)
        print_texts(printer->out, section->data, section->h.sh_size, '\n');
    else if (section->h.sh_type == SHT_SYMTAB)
        print_symbols(file, section);
    else if (section->h.sh_type == SHT_REL || section->h.sh_type == SHT_RELA)
        print_relocs(file, section);
    else if (section->h.sh_type == SHT_NV_INFO)
        print_attributes(file, section);
    else
        print_data(file, section);
}

static bool info_is_section(const Elf64_Shdr *h, const char *name) {
    return h->sh_flags & SHF_INFO_LINK || h->sh_type == SHT_REL || h->sh_type == SHT_RELA ||
           h->sh_type == SHT_NV_INFO || strncmp(name, ".nv.constant", 12) == 0 ||
           strncmp(name, ".nv.shared", 10) == 0;
}

static uint32_t count_locals(const ElfSection *section) {
    uint32_t n = (uint32_t)(section->h.sh_size / sizeof(Elf64_Sym)), k = 0;
    while (section->data && k < n && ELF64_ST_BIND(section->data[k * sizeof(Elf64_Sym) + 4]) == STB_LOCAL)
        k++;
    return k;
}

static void print_info(File *file, const ElfSection *section) {
    const Elf64_Shdr *h = &section->h;
    FILE *out = file->printer->out;
    if (h->sh_type == SHT_SYMTAB && h->sh_info == count_locals(section))
        return;
    fputs("\t.__section_info\t", out);
    if (disasm_is_code(section) && h->sh_info & 0xffffff &&
        elf_image_symbols(file->printer->image, h->sh_link) == file->marks.symtab)
        fprintf(out, "(0x%x + %s)\n", h->sh_info & 0xff000000,
                disasm_marks_symbol_text(&file->marks, h->sh_link, h->sh_info & 0xffffff));
    else if (info_is_section(h, section->name))
        fprintf(out, "%s\n", disasm_marks_section_text(&file->marks, h->sh_info));
    else
        fprintf(out, "0x%x\n", h->sh_info);
}

static void print_section(File *file, uint32_t i) {
    Printer *printer = file->printer;
    const ElfSection *section = &printer->image->sections.at[i];
    const Elf64_Shdr *header = &section->h;
    file->section = i;
    fprintf(printer->out, "\n//\t--------------------- section %u", i);
    disasm_print_comment(printer->out, i ? section->name : "(null)");
    fprintf(printer->out, "\t.section\t");
    print_quoted(printer->out, (const uint8_t *)section->name, strlen(section->name));
    if (!i ||
        !disasm_marks_found_at(&file->marks, printer->image->h.e_shstrndx, section->name, header->sh_name))
        fprintf(printer->out, "\n\t.__section_name\t0x%x", header->sh_name);
    fprintf(printer->out, "\n\t.__section_type\t0x%x\t// %s\n", header->sh_type,
            disasm_section_type(header->sh_type));
    fprintf(printer->out, "\t.__section_flags\t0x%llx\n", (unsigned long long)header->sh_flags);
    fprintf(printer->out, "\t.__section_addr\t0x%llx\n", (unsigned long long)header->sh_addr);
    fprintf(printer->out, "\t.__section_offset\t0x%llx\n", (unsigned long long)header->sh_offset);
    fprintf(printer->out, "\t.__section_size\t0x%llx\n", (unsigned long long)header->sh_size);
    fprintf(printer->out, "\t.__section_link\t%s\n",
            disasm_marks_section_text(&file->marks, header->sh_link));
    print_info(file, section);
    fprintf(printer->out, "\t.__section_entsize\t%llu\n", (unsigned long long)header->sh_entsize);
    fprintf(printer->out, "\t.align\t%llu\n", (unsigned long long)header->sh_addralign);
    print_stuck(file);
    print_contents(file, section);
}

static void print_header(File *file) {
    Printer *printer = file->printer;
    const Elf64_Ehdr *header = &printer->image->h;
    if (printer->target)
        fprintf(printer->out, "\t.target\t%s\n", isa_target_name(printer->target));
    fprintf(printer->out, "\t.__elf_ident\t");
    for (int i = EI_OSABI; i < EI_NIDENT; i++)
        fprintf(printer->out, "%s0x%02x", i > EI_OSABI ? ", " : "", header->e_ident[i]);
    fprintf(printer->out, "\t// OS ABI, version, padding\n\t.__elf_type\t%u\n\t.__elf_machine\t%u\n",
            header->e_type, header->e_machine);
    fprintf(printer->out, "\t.__elf_version\t%u\n\t.__elf_entry\t0x%llx\n", header->e_version,
            (unsigned long long)header->e_entry);
    fprintf(printer->out, "\t.__elf_phoff\t0x%llx\n\t.__elf_shoff\t0x%llx\n",
            (unsigned long long)header->e_phoff, (unsigned long long)header->e_shoff);
    bool note = elf_names_note(header);
    fprintf(printer->out, "\t.__elf_flags\t0x%x\n", note ? header->e_flags & 0xffffff : header->e_flags);
    if (note)
        fprintf(printer->out, "\t.__elf_note\t%s\n",
                disasm_marks_section_text(&file->marks, header->e_flags >> 24));
    fprintf(printer->out, "\t.__elf_phentsize\t%u\n", header->e_phentsize);
    fprintf(printer->out, "\t.__elf_shstrndx\t%s\n\t.__elf_filesize\t0x%llx\n",
            disasm_marks_section_text(&file->marks, header->e_shstrndx),
            (unsigned long long)printer->image->file_bytes);
}

static void print_segments(Printer *printer) {
    if (printer->image->segments.n)
        fprintf(printer->out, "\n\t\t// type, flags, offset, vaddr, paddr, filesz, memsz, align\n");
    for (uint32_t i = 0; i < printer->image->segments.n; i++) {
        const Elf64_Phdr *phdr = &printer->image->segments.at[i];
        fprintf(printer->out, "\t.__segment\t0x%x, 0x%x, 0x%llx, 0x%llx, 0x%llx, 0x%llx, 0x%llx, %llu\n",
                phdr->p_type, phdr->p_flags, (unsigned long long)phdr->p_offset,
                (unsigned long long)phdr->p_vaddr, (unsigned long long)phdr->p_paddr,
                (unsigned long long)phdr->p_filesz, (unsigned long long)phdr->p_memsz,
                (unsigned long long)phdr->p_align);
    }
    for (uint32_t i = 0; i < printer->image->gaps.n; i++) {
        const ElfGap *gap = &printer->image->gaps.at[i];
        fprintf(printer->out, "\n\t.__gap\t0x%llx\n", (unsigned long long)gap->offset);
        print_bytes(printer->out, gap->data, gap->size_bytes);
    }
}

void disasm_print_file(Printer *printer) {
    File file = {.printer = printer};
    disasm_marks_collect(&file.marks, printer->a, printer->image, printer->target);
    fprintf(printer->out, "// heddle asm makes the same file of this text");
    disasm_print_comment(printer->out, printer->path);
    print_header(&file);
    for (uint32_t i = 0; i < printer->image->sections.n; i++)
        print_section(&file, i);
    print_segments(printer);
}
