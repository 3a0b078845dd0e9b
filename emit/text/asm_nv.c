/* Directives of nvdisasm and of CuAssembler: what they say of sections and symbols.
 *   .headerflags @"EF_CUDA_SM75 EF_CUDA_PTX_SM(EF_CUDA_SM75)"    .elftype @"ET_EXEC"
 *   .sectioninfo @"SHI_REGISTERS=12"    .sectionflags @"SHF_BARRIERS=1"
 *   .type k,@function    .size k,(.L_1 - k)    .global k    .weak k    .other k,@"STO_CUDA_ENTRY STV_DEFAULT"
 * Where the text has the symbol table and the headers, it has said all of this there, and the two must agree
 * only as far as registers and barriers go.
 * SPDX-License-Identifier: MIT */
#include "emit/text/asm_doc.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

bool asm_doc_section_type(AsmDoc *doc, const char *start, const char *name, uint32_t *out) {
    static const struct {
        const char *name;
        uint32_t type;
    } names[] = {{"SHT_NULL", SHT_NULL},
                 {"SHT_PROGBITS", SHT_PROGBITS},
                 {"SHT_SYMTAB", SHT_SYMTAB},
                 {"SHT_STRTAB", SHT_STRTAB},
                 {"SHT_RELA", SHT_RELA},
                 {"SHT_NOBITS", SHT_NOBITS},
                 {"SHT_NOTE", SHT_NOTE},
                 {"SHT_REL", SHT_REL},
                 {"SHT_CUDA_INFO", SHT_NV_INFO},
                 {"SHT_CUDA_CALLGRAPH", SHT_NV_CALLGRAPH},
                 {"SHT_CUDA_PROTOTYPE", SHT_NV_PROTOTYPE},
                 {"SHT_CUDA_GLOBAL", SHT_NV_GLOBAL},
                 {"SHT_CUDA_GLOBAL_INIT", SHT_NV_GLOBAL_INIT},
                 {"SHT_CUDA_LOCAL", SHT_NV_LOCAL},
                 {"SHT_CUDA_SHARED", SHT_NV_SHARED},
                 {"SHT_CUDA_RELOCINFO", SHT_NV_RELOCINFO},
                 {"SHT_CUDA_COMPAT_INFO", SHT_NV_COMPAT}};
    for (size_t i = 0; name && i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i].name, name) == 0) {
            *out = names[i].type;
            return true;
        }
    static const char bank[] = "SHT_CUDA_CONSTANT_B";
    size_t n = strlen(bank);
    if (name && strncmp(name, bank, n) == 0 && isdigit((unsigned char)name[n])) {
        char *end;
        unsigned long number = strtoul(name + n, &end, 10);
        *out = SHT_NV_CONSTANT_B0 + (uint32_t)number;
        if (!*end && number < NUM_BANKS)
            return true;
    }
    static const char unknown[] =
        "unrecognized:"; /* how nvdisasm writes the types of .heddle.map and .heddle.ptx */
    n = strlen(unknown);
    if (name && strncmp(name, unknown, n) == 0 && isxdigit((unsigned char)name[n])) {
        char *end;
        unsigned long number = strtoul(name + n, &end, 16);
        *out = (uint32_t)number;
        if (!*end && number <= UINT32_MAX && end - name <= (ptrdiff_t)n + 8)
            return true;
    }
    return asm_doc_error(doc, start, DIAG_E0350, "a section type");
}

DocSymbol *asm_doc_symbol(AsmDoc *doc, StrId name) {
    uint32_t found = strmap_get(&doc->symbol_of, name);
    if (!found) {
        *VEC_PUSH(doc->a, &doc->symbols) = (DocSymbol){.name = name};
        found = doc->symbols.n;
        strmap_put(&doc->symbol_of, doc->a, name, found);
    }
    return &doc->symbols.at[found - 1];
}

/* @"words", as a text with an end. */
static bool quoted(AsmDoc *doc, char **text) {
    size_t n;
    if (!asm_accept(doc->text, '@'))
        return asm_doc_error(doc, doc->text->p, DIAG_E0350, "@\"...\"");
    if (!asm_string(doc->text, text, &n))
        return false;
    (*text)[n] = 0;
    return true;
}

/* The number behind `key` in the text; false if it is not there. */
static bool number_of(const char *text, const char *key, uint32_t *out) {
    const char *at = strstr(text, key);
    if (at)
        *out = (uint32_t)strtoul(at + strlen(key), NULL, 10);
    return at != NULL;
}

static bool header_flags(AsmDoc *doc) {
    char *text;
    const char *start = doc->text->p;
    uint32_t sm, virtual_sm;
    if (!quoted(doc, &text))
        return false;
    if (!number_of(text, "EF_CUDA_SM", &sm))
        return asm_doc_error(doc, start, DIAG_E0350, "EF_CUDA_SM and a number");
    bool named = number_of(text, "EF_CUDA_PTX_SM(EF_CUDA_SM", &virtual_sm) ||
                 number_of(text, "EF_CUDA_VIRTUAL_SM(EF_CUDA_SM", &virtual_sm); /* of files of the old form */
    doc->virtual_sm = named ? virtual_sm : sm;
    const char *name = arena_printf(doc->a, "sm_%u", sm);
    if (!doc->target)
        doc->target = isa_any_target(name);
    if (!doc->target)
        return asm_doc_error(doc, start, DIAG_E0357, asm_unknown_target(doc->text, name));
    doc->old_form = true;
    return true;
}

static bool elf_type(AsmDoc *doc) {
    char *text;
    const char *start = doc->text->p;
    if (!quoted(doc, &text))
        return false;
    if (strcmp(text, "ET_EXEC") != 0 && strcmp(text, "ET_REL") != 0)
        return asm_doc_error(doc, start, DIAG_E0350, "ET_EXEC or ET_REL");
    if (text[3] == 'R' && !doc->in_header && !doc->is_relocatable)
        return asm_doc_error(doc, start, DIAG_E0350, ".elftype before the sections");
    if (doc->stage == DOC_SCAN && doc->in_header)
        doc->is_relocatable = text[3] == 'R';
    return true;
}

static bool section_words(AsmDoc *doc, bool info) {
    char *text;
    const char *start = doc->text->p;
    if (!quoted(doc, &text))
        return false;
    if (doc->in_header)
        return asm_doc_error(doc, start, DIAG_E0350, ".section before it");
    DocSection *section = &doc->sections.at[doc->section];
    if (section->type == SHT_NOTE && !info)
        return asm_doc_note_word(doc, text);
    if (info ? number_of(text, "SHI_REGISTERS=", &section->registers)
             : number_of(text, "SHF_BARRIERS=", &section->barriers))
        return section->registers <= 255 && section->barriers <= 127
                   ? true
                   : asm_doc_error(doc, start, DIAG_E0350, "at most 255 registers and 127 barriers");
    return true;
}

static bool symbol_name(AsmDoc *doc, DocSymbol **out) {
    const char *name;
    asm_at_end(doc->text);
    if (!asm_name(doc->text, &name))
        return false;
    *out = asm_doc_symbol(doc, str_intern_z(&doc->text->strings, name));
    return true;
}

static bool bind_directive(AsmDoc *doc, uint8_t bind) {
    DocSymbol *symbol;
    if (!symbol_name(doc, &symbol))
        return false;
    symbol->bind = bind;
    return true;
}

typedef struct {
    const char *name;
    uint8_t value;
} Word;

static bool type_directive(AsmDoc *doc) {
    static const Word words[] = {{"@function", STT_FUNC}, {"@object", STT_OBJECT}, {"@notype", STT_NOTYPE}};
    static const Word quoted_words[] = {
        {"STT_CUDA_OBJECT", 13}, {"STT_CUDA_TEXTURE", 10}, {"STT_CUDA_SURFACE", 12}};
    DocSymbol *symbol;
    if (!symbol_name(doc, &symbol) || !asm_accept(doc->text, ','))
        return asm_doc_error(doc, doc->text->p, DIAG_E0350, "a symbol and its type");
    asm_at_end(doc->text);
    const char *start = doc->text->p;
    char *text;
    if (start[0] == '@' && start[1] == '"') {
        if (!quoted(doc, &text))
            return false;
        for (size_t i = 0; i < sizeof quoted_words / sizeof *quoted_words; i++)
            if (strcmp(text, quoted_words[i].name) == 0) {
                symbol->type = quoted_words[i].value;
                return true;
            }
    } else {
        const char *word = asm_word(doc->text);
        for (size_t i = 0; word && i < sizeof words / sizeof *words; i++)
            if (strcmp(word, words[i].name) == 0) {
                symbol->type = words[i].value;
                return true;
            }
    }
    return asm_doc_error(doc, start, DIAG_E0350, "@function, @object or @\"STT_CUDA_...\"");
}

static bool size_directive(AsmDoc *doc) {
    DocSymbol *symbol;
    DocValue value;
    if (!symbol_name(doc, &symbol) || !asm_accept(doc->text, ','))
        return asm_doc_error(doc, doc->text->p, DIAG_E0350, "a symbol and its size");
    symbol->size = doc->text->p;
    return asm_doc_expression(doc, &value) &&
           (!asm_accept(doc->text, ',') || asm_number(doc->text, &symbol->align));
}

/* .map_symbolname p__0 p: several symbols have the name p. */
static bool name_directive(AsmDoc *doc) {
    const char *name;
    DocSymbol *symbol;
    if (!symbol_name(doc, &symbol))
        return false;
    asm_at_end(doc->text);
    if (!asm_name(doc->text, &name))
        return false;
    symbol->shown = str_intern_z(&doc->text->strings, name);
    return true;
}

static bool other_directive(AsmDoc *doc) {
    static const Word words[] = {
        {"STV_INTERNAL", STV_INTERNAL},   {"STV_HIDDEN", STV_HIDDEN},  {"STV_PROTECTED", STV_PROTECTED},
        {"STO_CUDA_ENTRY", STO_NV_ENTRY}, {"STO_CUDA_GLOBAL", 0x20},   {"STO_CUDA_SHARED", 0x40},
        {"STO_CUDA_LOCAL", 0x60},         {"STO_CUDA_CONSTANT", 0x80}, {"STO_CUDA_RESERVED_SHARED", 0xa0}};
    DocSymbol *symbol;
    char *text;
    if (!symbol_name(doc, &symbol) || !asm_accept(doc->text, ',') || !quoted(doc, &text))
        return asm_doc_error(doc, doc->text->p, DIAG_E0350, "a symbol and @\"STO_... STV_...\"");
    symbol->other = 0;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strstr(text, words[i].name))
            symbol->other |= words[i].value;
    return true;
}

/* The fields of a segment one by one, as CuAssembler has them. */
static bool segment_field(AsmDoc *doc, const char *w) {
    static const struct {
        const char *name;
        uint8_t offset;
    } fields[] = {{".__segment_offset", offsetof(Elf64_Phdr, p_offset)},
                  {".__segment_vaddr", offsetof(Elf64_Phdr, p_vaddr)},
                  {".__segment_paddr", offsetof(Elf64_Phdr, p_paddr)},
                  {".__segment_filesz", offsetof(Elf64_Phdr, p_filesz)},
                  {".__segment_memsz", offsetof(Elf64_Phdr, p_memsz)},
                  {".__segment_align", offsetof(Elf64_Phdr, p_align)}};
    uint64_t v;
    if (strcmp(w, ".__segment_startsection") == 0 || strcmp(w, ".__segment_endsection") == 0) {
        doc->text->p += strlen(doc->text->p); /* the ranges are found from the offsets */
        return true;
    }
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (strcmp(fields[i].name, w) == 0) {
            if (!asm_number(doc->text, &v))
                return false;
            if (doc->stage == DOC_FILL && doc->image->segments.n)
                memcpy((char *)&doc->image->segments.at[doc->image->segments.n - 1] + fields[i].offset, &v,
                       sizeof v);
            return true;
        }
    return asm_doc_error(doc, doc->text->p, DIAG_E0351, w);
}

/* ---- notes of the toolkit ---- */
enum { NOTE_HEAD_BYTES = 24, NOTE_TEXTS = 5 }; /* sizes, type, owner; texts that .tkinfo has places of */

/* The flag says which note it is. */
bool asm_doc_note_word(AsmDoc *doc, const char *words) {
    static const char owner[] = "NVIDIA Corp";
    static const struct {
        const char *flag;
        uint32_t value, type;
    } notes[] = {{"SHF_NOTE_NV_CUINFO", 0x1000000, 1000}, {"SHF_NOTE_NV_TKINFO", 0x2000000, 2000}};
    if (doc->has_tables || doc->data.n)
        return true;
    for (unsigned i = 0; i < sizeof notes / sizeof *notes; i++) {
        if (doc->data.n || !strstr(words, notes[i].flag))
            continue;
        doc->sections.at[doc->section].stated.sh_flags |= notes[i].value;
        elf_bytes_u32(doc->a, &doc->data, sizeof owner);
        elf_bytes_u32(doc->a, &doc->data, 0);
        elf_bytes_u32(doc->a, &doc->data, notes[i].type);
        elf_bytes_add(doc->a, &doc->data, owner, sizeof owner);
        doc->has_note_head = true;
    }
    return true;
}

static bool toolkit_info(AsmDoc *doc) {
    doc->note_strings = 0;
    doc->note_at = doc->has_note_head ? NOTE_HEAD_BYTES : 0;
    return true;
}

/* Before the first text stands where each begins, from there on. */
bool asm_doc_note_text(AsmDoc *doc, const char *start) {
    if (!doc->note_at)
        return true;
    if (doc->note_strings == NOTE_TEXTS)
        return asm_doc_error(doc, start, DIAG_E0350, "five texts at most behind .tkinfo");
    if (!doc->note_strings) {
        doc->note_at = doc->data.n;
        elf_bytes_add(doc->a, &doc->data, NULL, NOTE_TEXTS * 4);
    }
    put_u32(doc->data.at + doc->note_at + doc->note_strings * 4, doc->data.n - doc->note_at - NOTE_TEXTS * 4);
    doc->note_strings++;
    return true;
}

void asm_doc_note_end(AsmDoc *doc) {
    doc->note_at = 0;
    if (!doc->has_note_head)
        return;
    doc->has_note_head = false;
    elf_bytes_add(doc->a, &doc->data, NULL, (4 - doc->data.n % 4) % 4);
    put_u32(doc->data.at + 4, doc->data.n - NOTE_HEAD_BYTES);
}

bool asm_doc_nv(AsmDoc *doc, const char *w, bool *known) {
    *known = true;
    if (strcmp(w, ".headerflags") == 0)
        return header_flags(doc);
    if (strcmp(w, ".elftype") == 0)
        return elf_type(doc);
    if (strcmp(w, ".sectioninfo") == 0 || strcmp(w, ".sectionflags") == 0)
        return section_words(doc, w[8] == 'i');
    if (strcmp(w, ".global") == 0)
        return bind_directive(doc, STB_GLOBAL);
    if (strcmp(w, ".weak") == 0)
        return bind_directive(doc, STB_WEAK);
    if (strcmp(w, ".local") == 0)
        return bind_directive(doc, STB_LOCAL);
    if (strcmp(w, ".type") == 0)
        return type_directive(doc);
    if (strcmp(w, ".size") == 0)
        return size_directive(doc);
    if (strcmp(w, ".map_symbolname") == 0)
        return name_directive(doc);
    if (strcmp(w, ".other") == 0)
        return other_directive(doc);
    if (strncmp(w, ".__segment_", 11) == 0)
        return segment_field(doc, w);
    if (strcmp(w, ".__as_stated") == 0) {
        if (!doc->in_header)
            doc->sections.at[doc->section].as_stated = true;
        return true;
    }
    if (strcmp(w, ".tkinfo") == 0)
        return toolkit_info(doc);
    *known = strcmp(w, ".cuinfo") == 0;
    return true;
}
