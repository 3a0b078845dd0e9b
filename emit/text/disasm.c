/* ELF image to assembly text, file form: every header field, section and byte. See docs/elf.md.
 * SPDX-License-Identifier: MIT */
#include "emit/elf/binary.h"
#include "base/scope.h"
#include "emit/text/disasm.h"
#include "emit/elf/nvinfo.h"
#include <stdio.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

const char *disasm_section_type(uint32_t type) {
    switch (type) {
    case SHT_PROGBITS: return "PROGBITS";
    case SHT_SYMTAB: return "SYMTAB";
    case SHT_STRTAB: return "STRTAB";
    case SHT_RELA: return "RELA";
    case SHT_NOTE: return "NOTE";
    case SHT_NOBITS: return "NOBITS";
    case SHT_REL: return "REL";
    case SHT_NV_INFO: return "CUDA_INFO";
    case SHT_NV_CALLGRAPH: return "CUDA_CALLGRAPH";
    case SHT_NV_RELOCINFO: return "CUDA_RELOCINFO";
    case SHT_HD_MAP: return "HEDDLE_MAP";
    case SHT_HD_PTX: return "HEDDLE_PTX";
    default: return "?";
    }
}

bool disasm_is_code(const ElfSection *section) {
    return strncmp(section->name, ".text.", 6) == 0 && section->h.sh_type == SHT_PROGBITS && section->data &&
           section->h.sh_size % INST_BYTES == 0;
}

const char *disasm_symbol_name(const ElfImage *image, uint32_t symtab, uint64_t index) {
    if (symtab == 0 || symtab >= image->sections.n)
        return NULL;
    const ElfSection *section = &image->sections.at[symtab];
    if (section->h.sh_type != SHT_SYMTAB || !section->data || index >= section->h.sh_size / sizeof(Elf64_Sym))
        return NULL;
    const uint8_t *p = section->data + index * sizeof(Elf64_Sym);
    const char *name = elf_image_string(image, section->h.sh_link, get_u32(p));
    if (name && !*name && ELF64_ST_TYPE(p[4]) == STT_SECTION && get_u16(p + 6) < image->sections.n)
        return image->sections.at[get_u16(p + 6)].name;
    return name;
}

/* ---- code ---- */
static const char *label_for(void *user, uint64_t target) {
    CodeText *text = user;
    if (target % INST_BYTES || target / INST_BYTES >= text->ninsts)
        return NULL;
    if (text->collecting) {
        bs_add(&text->targets, (uint32_t)(target / INST_BYTES));
        return NULL;
    }
    snprintf(text->label, sizeof text->label, ".L_%u_%04llx", text->section, (unsigned long long)target);
    return text->label;
}

static bool resolve_label(void *user, const char *name, size_t size_bytes, int64_t *value) {
    const CodeText *code_text = user;
    char text[sizeof code_text->label] = "", *end;
    if (size_bytes >= sizeof text)
        return false;
    memcpy(text, name, size_bytes);
    unsigned section;
    int used = 0;
    if (sscanf(text, ".L_%u_%n", &section, &used) != 1 || !used || section != code_text->section)
        return false;
    *value = (int64_t)strtoull(text + used, &end, 16);
    return *end == 0;
}

void disasm_text_open(CodeText *code_text, Arena *a, const Target *t, const ElfSection *elf_section,
                      uint32_t index) {
    *code_text = (CodeText){.target = t,
                            .data = elf_section->data,
                            .section = index,
                            .ninsts = (uint32_t)(elf_section->h.sh_size / INST_BYTES),
                            .collecting = true};
    code_text->targets = bs_new(a, code_text->ninsts);
    char text[ISA_TEXT_BYTES];
    for (uint32_t i = 0; i < code_text->ninsts; i++)
        disasm_text_line(code_text, i, text, NULL);
    code_text->collecting = false;
}

bool disasm_text_line(CodeText *code_text, uint32_t i, char text[ISA_TEXT_BYTES], Control *ctrl) {
    uint64_t word[2] = {get_u64(code_text->data + i * INST_BYTES),
                        get_u64(code_text->data + i * INST_BYTES + 8)},
             back[2];
    MachInst in, again;
    char error[ISA_ERROR_BYTES] = "";
    const char *end;
    if (!isa_decode(code_text->target, word, &in, error)) {
        snprintf(text, ISA_TEXT_BYTES, "%s", error);
        return false;
    }
    if (ctrl)
        *ctrl = in.ctrl;
    IsaPrintOptions print = {label_for, code_text};
    int need = isa_print(code_text->target, &in, i * INST_BYTES, &print, text, ISA_TEXT_BYTES);
    if (code_text->collecting)
        return true;
    if (in.ctrl.read_sb == 6 || in.ctrl.write_sb == 6) /* the prefix cannot say this */
        return false;
    IsaParseOptions parse = {resolve_label, code_text};
    if (need < 0 || need >= ISA_TEXT_BYTES ||
        !isa_parse(code_text->target, text, i * INST_BYTES, &parse, &again, &end, error))
        return false;
    again.ctrl = in.ctrl;
    return isa_encode(code_text->target, &again, back, error) && back[0] == word[0] && back[1] == word[1];
}

typedef struct {
    FILE *out;
    Arena *a;
    const ElfImage *e;
    const Target *target;
    const char *path;
    const Binary *binary; /* for PTX lines; NULL if the file cannot be loaded */
    uint32_t nwords, nraw;
} Printer;

/* The loaded function of a code section, or NULL. */
static const BinFunc *section_func(const Printer *printer, const ElfSection *section, uint32_t ninsts) {
    const BinFunc *f =
        printer->binary ? binary_find(printer->binary, section->name + strlen(".text.")) : NULL;
    return f && f->ninsts == ninsts ? f : NULL;
}

/* Where the indirect branch at `pc` may lead, as nvdisasm says it. */
static void print_targets(FILE *out, const BinFunc *f, uint32_t index, uint32_t pc) {
    uint32_t k = 0;
    while (f && k < f->ntables && f->tables[k].pc_bytes < pc)
        k++;
    if (!f || k == f->ntables || f->tables[k].pc_bytes != pc || !f->tables[k].ntargets)
        return;
    fputs("  (*\"BRANCH_TARGETS ", out);
    for (uint32_t e = 0; e < f->tables[k].ntargets; e++)
        fprintf(out, "%s.L_%u_%04x", e ? "," : "", index, f->tables[k].targets[e]);
    fputs("\"*)", out);
}

static void print_words(Printer *printer, const ElfSection *s, uint32_t index) {
    CodeText c;
    disasm_text_open(&c, printer->a, printer->target, s, index);
    printer->nwords += c.ninsts;
    const BinFunc *f = section_func(printer, s, c.ninsts);
    const BinLoc *locs = f ? f->locs : NULL;
    uint32_t line = 0;
    for (uint32_t k = 0; f && k < f->ntables; k++)
        for (uint32_t e = 0; e < f->tables[k].ntargets; e++)
            bs_add(&c.targets, f->tables[k].targets[e] / INST_BYTES);
    for (uint32_t i = 0; i < c.ninsts; i++) {
        char text[ISA_TEXT_BYTES], control[ASM_CONTROL_BYTES];
        Control ctrl;
        if (bs_has(&c.targets, i))
            fprintf(printer->out, ".L_%u_%04x:\n", index, i * INST_BYTES);
        if (disasm_text_line(&c, i, text, &ctrl)) {
            asm_print_control(ctrl, control);
            fprintf(printer->out, "    %s  /*%04x*/  %s%s", control, i * INST_BYTES,
                    *text == '@' ? "" : "    ", text);
            print_targets(printer->out, f, index, i * INST_BYTES);
            fputs(" ;", printer->out);
            if (locs && locs[i].ptx_line && locs[i].ptx_line != line)
                fprintf(printer->out, "\t// line %u", line = locs[i].ptx_line);
            fputc('\n', printer->out);
        } else {
            printer->nraw++;
            fprintf(printer->out, "\t.dword\t0x%016llx, 0x%016llx\t// %04x: %s\n",
                    (unsigned long long)get_u64(c.data + i * INST_BYTES),
                    (unsigned long long)get_u64(c.data + i * INST_BYTES + 8), i * INST_BYTES, text);
        }
    }
}

/* ---- data ---- */
static void print_quoted(FILE *out, const uint8_t *s, size_t n) {
    fputc('"', out);
    for (size_t i = 0; i < n; i++) {
        if (s[i] == '"' || s[i] == '\\')
            fprintf(out, "\\%c", s[i]);
        else if (s[i] == '\n')
            fputs("\\n", out);
        else if (s[i] == '\t')
            fputs("\\t", out);
        else if (s[i] >= 32 && s[i] < 127)
            fputc(s[i], out);
        else
            fprintf(out, "\\x%02x", s[i]);
    }
    fputc('"', out);
}

static void print_bytes(FILE *out, const uint8_t *s, size_t n) {
    size_t i = 0;
    while (i < n) {
        size_t zeros = 0;
        while (i + zeros < n && s[i + zeros] == 0)
            zeros++;
        if (zeros >= 16 || (zeros && i + zeros == n)) {
            fprintf(out, "\t.zero\t%zu\n", zeros);
            i += zeros;
            continue;
        }
        size_t row = n - i < 16 ? n - i : 16;
        fprintf(out, "\t.byte\t");
        for (size_t k = 0; k < row; k++)
            fprintf(out, "%s0x%02x", k ? ", " : "", s[i + k]);
        fputc('\n', out);
        i += row;
    }
}

static void print_words32(FILE *out, const uint8_t *s, size_t n) {
    size_t i = 0;
    for (; i + 4 <= n; i += 4) {
        fprintf(out, i % 16 == 0 ? "\t.word\t0x%x" : ", 0x%x", get_u32(s + i));
        if (i % 16 == 12 || i + 8 > n)
            fputc('\n', out);
    }
    print_bytes(out, s + i, n - i);
}

static void print_texts(FILE *out, const uint8_t *s, size_t n, char separator) {
    size_t i = 0;
    while (i < n) {
        const uint8_t *stop = memchr(s + i, separator, n - i);
        size_t size = stop ? (size_t)(stop - s) - i : n - i;
        fprintf(out, stop && separator == 0 ? "\t.string\t" : "\t.ascii\t");
        print_quoted(out, s + i, size + (stop && separator ? 1 : 0));
        fputc('\n', out);
        i += size + (stop ? 1 : 0);
    }
}

/* The name goes into a comment, which ends at the line's end. */
static void print_comment(FILE *out, const char *name) {
    fputs("\t// ", out);
    for (const char *s = name ? name : "?"; *s; s++)
        fputc(*s >= 32 && *s < 127 ? *s : '?', out);
    fputc('\n', out);
}

static void print_symbols(Printer *printer, const ElfSection *section, uint32_t index) {
    size_t n = section->h.sh_size / sizeof(Elf64_Sym);
    fprintf(printer->out, "\t\t// name, value, size, info, other, section\n");
    for (size_t i = 0; i < n; i++) {
        const uint8_t *y = section->data + i * sizeof(Elf64_Sym);
        fprintf(printer->out, "\t.__symbol\t0x%x, 0x%llx, 0x%llx, 0x%x, 0x%x, 0x%x", get_u32(y),
                (unsigned long long)get_u64(y + 8), (unsigned long long)get_u64(y + 16), y[4], y[5],
                get_u16(y + 6));
        print_comment(printer->out, disasm_symbol_name(printer->e, index, i));
    }
    print_bytes(printer->out, section->data + n * sizeof(Elf64_Sym),
                section->h.sh_size - n * sizeof(Elf64_Sym));
}

static void print_relocs(Printer *printer, const ElfSection *section) {
    bool rela = section->h.sh_type == SHT_RELA;
    size_t each = rela ? sizeof(Elf64_Rela) : sizeof(Elf64_Rel), n = section->h.sh_size / each;
    fprintf(printer->out, "\t\t// offset, type, symbol%s\n", rela ? ", addend" : "");
    for (size_t i = 0; i < n; i++) {
        const uint8_t *r = section->data + i * each;
        fprintf(printer->out, "\t.__rel%s\t0x%llx, %u, %u", rela ? "a" : "", (unsigned long long)get_u64(r),
                get_u32(r + 8), get_u32(r + 12));
        if (rela)
            fprintf(printer->out, ", 0x%llx", (unsigned long long)get_u64(r + 16));
        print_comment(printer->out, disasm_symbol_name(printer->e, section->h.sh_link, get_u32(r + 12)));
    }
    print_bytes(printer->out, section->data + n * each, section->h.sh_size - n * each);
}

static void print_attributes(Printer *printer, const ElfSection *section) {
    size_t pos = 0;
    NvAttr n;
    while (elf_nvinfo_next(section->data, section->h.sh_size, &pos, &n)) {
        bool words = n.format == NVF_SIZED && n.size_bytes % 4 == 0;
        char number[8];
        snprintf(number, sizeof number, "0x%02x", n.code);
        const char *name = elf_nvinfo_name(n.code);
        fprintf(printer->out, "\t.__attr%u%s\t%s", n.format, n.format == NVF_SIZED && !words ? "b" : "",
                name ? name : number);
        if (n.format != NVF_SIZED)
            fprintf(printer->out, ", 0x%x", n.value);
        for (unsigned i = 0; i < n.size_bytes; i += words ? 4 : 1)
            fprintf(printer->out, ", 0x%x", words ? get_u32(n.data + i) : n.data[i]);
        fputc('\n', printer->out);
    }
    print_bytes(printer->out, section->data + pos, section->h.sh_size - pos);
}

static void print_contents(Printer *printer, const ElfSection *section, uint32_t index) {
    if (!section->data)
        return;
    if (printer->target && disasm_is_code(section))
        print_words(printer, section, index);
    else if (section->h.sh_type == SHT_STRTAB)
        print_texts(printer->out, section->data, section->h.sh_size, 0);
    else if (section->h.sh_type == SHT_HD_PTX)
        print_texts(printer->out, section->data, section->h.sh_size, '\n');
    else if (section->h.sh_type == SHT_SYMTAB)
        print_symbols(printer, section, index);
    else if (section->h.sh_type == SHT_REL || section->h.sh_type == SHT_RELA)
        print_relocs(printer, section);
    else if (section->h.sh_type == SHT_NV_INFO)
        print_attributes(printer, section);
    else if (section->h.sh_type == SHT_NV_CALLGRAPH || section->h.sh_type == SHT_HD_MAP)
        print_words32(printer->out, section->data, section->h.sh_size);
    else
        print_bytes(printer->out, section->data, section->h.sh_size);
}

static void print_section(Printer *printer, uint32_t i) {
    const ElfSection *section = &printer->e->sections.at[i];
    const Elf64_Shdr *header = &section->h;
    fprintf(printer->out, "\n//\t--------------------- section %u", i);
    print_comment(printer->out, i ? section->name : "(null)");
    fprintf(printer->out, "\t.section\t");
    print_quoted(printer->out, (const uint8_t *)section->name, strlen(section->name));
    fprintf(printer->out, "\n\t.__section_name\t0x%x\n\t.__section_type\t0x%x\t// %s\n", header->sh_name,
            header->sh_type, disasm_section_type(header->sh_type));
    fprintf(printer->out, "\t.__section_flags\t0x%llx\n", (unsigned long long)header->sh_flags);
    fprintf(printer->out, "\t.__section_addr\t0x%llx\n", (unsigned long long)header->sh_addr);
    fprintf(printer->out, "\t.__section_offset\t0x%llx\n", (unsigned long long)header->sh_offset);
    fprintf(printer->out, "\t.__section_size\t0x%llx\n", (unsigned long long)header->sh_size);
    fprintf(printer->out, "\t.__section_link\t%u\n\t.__section_info\t0x%x\n", header->sh_link,
            header->sh_info);
    fprintf(printer->out, "\t.__section_entsize\t%llu\n", (unsigned long long)header->sh_entsize);
    fprintf(printer->out, "\t.align\t%llu\n", (unsigned long long)header->sh_addralign);
    print_contents(printer, section, i);
}

static void print_header(Printer *printer) {
    const Elf64_Ehdr *header = &printer->e->h;
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
    fprintf(printer->out, "\t.__elf_flags\t0x%x\n\t.__elf_phentsize\t%u\n", header->e_flags,
            header->e_phentsize);
    fprintf(printer->out, "\t.__elf_shstrndx\t%u\n\t.__elf_filesize\t0x%llx\n", header->e_shstrndx,
            (unsigned long long)printer->e->file_bytes);
}

static void print_segments(Printer *printer) {
    if (printer->e->segments.n)
        fprintf(printer->out, "\n\t\t// type, flags, offset, vaddr, paddr, filesz, memsz, align\n");
    for (uint32_t i = 0; i < printer->e->segments.n; i++) {
        const Elf64_Phdr *phdr = &printer->e->segments.at[i];
        fprintf(printer->out, "\t.__segment\t0x%x, 0x%x, 0x%llx, 0x%llx, 0x%llx, 0x%llx, 0x%llx, %llu\n",
                phdr->p_type, phdr->p_flags, (unsigned long long)phdr->p_offset,
                (unsigned long long)phdr->p_vaddr, (unsigned long long)phdr->p_paddr,
                (unsigned long long)phdr->p_filesz, (unsigned long long)phdr->p_memsz,
                (unsigned long long)phdr->p_align);
    }
    for (uint32_t i = 0; i < printer->e->gaps.n; i++) {
        const ElfGap *gap = &printer->e->gaps.at[i];
        fprintf(printer->out, "\n\t.__gap\t0x%llx\n", (unsigned long long)gap->offset);
        print_bytes(printer->out, gap->data, gap->size_bytes);
    }
}

static void print_file(Printer *printer) {
    fprintf(printer->out, "// heddle asm makes the same file of this text");
    print_comment(printer->out, printer->path);
    print_header(printer);
    for (uint32_t i = 0; i < printer->e->sections.n; i++)
        print_section(printer, i);
    print_segments(printer);
}

/* The code section of a function; 0 is reported. */
static uint32_t function_section(const ElfImage *image, const char *name, Diags *diags) {
    TextStream *names = text_open();
    bool any = false;
    for (uint32_t i = 1; i < image->sections.n; i++) {
        const ElfSection *section = &image->sections.at[i];
        if (!disasm_is_code(section))
            continue;
        const char *found = section->name + strlen(".text.");
        if (strcmp(found, name) == 0) {
            text_drop(names);
            return i;
        }
        fprintf(names->out, "%s%s", any ? ", " : "", found);
        any = true;
    }
    char *all = text_close(names, NULL);
    diag(diags, (SrcLoc){0}, DIAG_E0414, name, any ? all : "none");
    mem_free(all);
    return 0;
}

static void print_function(Printer *printer, uint32_t i) {
    const ElfSection *section = &printer->e->sections.at[i];
    fprintf(printer->out, "%s:\n", section->name + strlen(".text."));
    print_words(printer, section, i);
}

/* `name` NULL: the whole file. */
static bool disassemble(const char *path, const void *image, size_t size_bytes, const char *name, bool json,
                        char **text, size_t *text_bytes, Diags *diags) {
    Arena arena = {0};
    Source source = {path, NULL, size_bytes};
    const Source *old = diags->source;
    diags->source = &source;
    Printer p = {.a = &arena, .path = path, .e = elf_image_read(&arena, image, size_bytes, diags)};
    bool good = p.e != NULL;
    if (good) {
        p.target = elf_image_target(&p.e->h);
        if (!p.target)
            good = diag(diags, (SrcLoc){offsetof(Elf64_Ehdr, e_machine) + 1}, DIAG_E0403, p.e->h.e_machine,
                        p.e->h.e_flags, p.e->h.e_ident[EI_OSABI], p.e->h.e_ident[EI_ABIVERSION]);
    }
    uint32_t only = good && name ? function_section(p.e, name, diags) : 0;
    good = good && (only || !name);
    if (good && json)
        *text = disasm_json(p.e, p.target, path, only, text_bytes);
    else if (good) {
        TextStream *stream = text_open();
        p.out = stream->out;
        Diags quiet = {0};
        Binary *b = binary_read(path, image, size_bytes, &quiet);
        p.binary = b;
        if (only)
            print_function(&p, only);
        else
            print_file(&p);
        *text = text_close(stream, text_bytes);
        binary_free(b);
        if (p.nraw)
            diag(diags, (SrcLoc){0}, DIAG_W0420, p.nraw, p.nwords, isa_target_name(p.target));
    }
    diags->source = old;
    arena_free(&arena);
    return good;
}

bool disasm_image(const char *path, const void *image, size_t size_bytes, bool json, char **text,
                  size_t *text_bytes, Diags *diags) {
    return disassemble(path, image, size_bytes, NULL, json, text, text_bytes, diags);
}

bool disasm_function(const char *path, const void *image, size_t size_bytes, const char *name, bool json,
                     char **text, size_t *text_bytes, Diags *diags) {
    return disassemble(path, image, size_bytes, name, json, text, text_bytes, diags);
}
