/* What the forms of disassembly share, and the choice of one. See docs/elf.md.
 * SPDX-License-Identifier: MIT */
#include "base/demangle.h"
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
    symtab = elf_image_symbols(image, symtab);
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
    if (!isa_control_exists(code_text->target, &in))
        return false; /* the prefix cannot say this */
    IsaParseOptions parse = {resolve_label, code_text};
    if (need < 0 || need >= ISA_TEXT_BYTES ||
        !isa_parse(code_text->target, text, i * INST_BYTES, &parse, &again, &end, error))
        return false;
    again.ctrl = in.ctrl;
    return isa_encode(code_text->target, &again, back, error) && back[0] == word[0] && back[1] == word[1];
}

void disasm_print_place(const Printer *printer, const BinLoc *loc) {
    char source[100];
    fprintf(printer->out, "line %u", loc->ptx_line);
    binary_source(printer->binary, loc, source, sizeof source);
    for (char *s = source; *s; s++)
        *s = *s >= 32 && *s < 127 ? *s : '?';
    if (*source)
        fprintf(printer->out, " (%s)", source);
}

const BinFunc *disasm_section_func(const Printer *printer, const ElfSection *section) {
    const BinFunc *f =
        printer->binary ? binary_find(printer->binary, section->name + strlen(".text.")) : NULL;
    return f && f->ninsts == section->h.sh_size / INST_BYTES ? f : NULL;
}

void disasm_print_raw(Printer *printer, const uint8_t *word, uint32_t pc, const char *why) {
    printer->nraw++;
    fprintf(printer->out, "\t.dword\t0x%016llx, 0x%016llx\t// %04x: %s\n", (unsigned long long)get_u64(word),
            (unsigned long long)get_u64(word + 8), pc, why);
}

/* The code section of a function; 0 is reported. */
static uint32_t function_section(Printer *p, const char *name, Diags *diags) {
    TextStream *names = text_open();
    uint32_t found = 0, exact = 0;
    unsigned n = 0;
    bool any = false;
    for (uint32_t i = 1; i < p->image->sections.n; i++) {
        const ElfSection *section = &p->image->sections.at[i];
        if (!disasm_is_code(section))
            continue;
        const char *function = section->name + strlen(".text.");
        fprintf(names->out, "%s%s", any ? ", " : "", function);
        any = true;
        exact = strcmp(function, name) == 0 ? i : exact;
        if (str_is_named(p->a, function, name)) {
            found = i;
            n++;
        }
    }
    char *all = text_close(names, NULL);
    if (exact || n == 1)
        found = exact ? exact : found;
    else
        found = diag(diags, (SrcLoc){0}, n ? DIAG_E0415 : DIAG_E0414, name, any ? all : "none");
    mem_free(all);
    return found;
}

static void print_as(Printer *p, const DisasmOptions *opt, uint32_t only) {
    if (opt->form == DISASM_SECTIONS)
        disasm_print_file(p);
    else
        disasm_print_listing(p, opt, only);
}

bool disasm_with(const char *path, const void *image, size_t size_bytes, const DisasmOptions *opt,
                 char **text, size_t *text_bytes, Diags *diags) {
    Arena arena = {0};
    Source source = {path, NULL, size_bytes};
    const Source *old = diags->source;
    diags->source = &source;
    Printer p = {.a = &arena, .path = path, .image = elf_image_read(&arena, image, size_bytes, diags)};
    bool good = p.image != NULL;
    if (good) {
        p.target = elf_file_target(image, size_bytes);
        if (!p.target)
            good =
                diag(diags, (SrcLoc){offsetof(Elf64_Ehdr, e_machine) + 1}, DIAG_E0403, p.image->h.e_machine,
                     p.image->h.e_flags, p.image->h.e_ident[EI_OSABI], p.image->h.e_ident[EI_ABIVERSION]);
    }
    uint32_t only = good && opt->kernel ? function_section(&p, opt->kernel, diags) : 0;
    good = good && (only || !opt->kernel);
    if (good && opt->json)
        *text = disasm_json(p.image, p.target, path, only, text_bytes);
    else if (good) {
        TextStream *stream = text_open();
        p.out = stream->out;
        Diags quiet = {0};
        Binary *b = binary_read_any(path, image, size_bytes, &quiet);
        p.binary = b;
        print_as(&p, opt, only);
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
    return disasm_with(path, image, size_bytes, &(DisasmOptions){.json = json}, text, text_bytes, diags);
}
