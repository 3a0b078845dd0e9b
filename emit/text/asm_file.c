/* The file form of assembly text to an ELF image: see asm_doc.h for how the text becomes a file.
 * SPDX-License-Identifier: MIT */
#include "emit/text/asm_doc.h"
#include "emit/elf/nvinfo.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

bool asm_doc_error(AsmDoc *doc, const char *p, DiagCode code, const char *what) {
    return diag_in(doc->text->d, doc->text->source, asm_loc(doc->text, p), code, what);
}

bool asm_doc_error_at(AsmDoc *doc, SrcLoc loc, DiagCode code, const char *what) {
    return diag_in(doc->text->d, doc->text->source, loc, code, what);
}

static DocSection *current(AsmDoc *doc) { return &doc->sections.at[doc->section]; }

uint32_t asm_doc_section_named(const AsmDoc *doc, const char *name) {
    StrId id = str_find(&doc->text->strings, name, strlen(name));
    return id.i ? strmap_get(&doc->section_of, id) : 0;
}

uint32_t asm_doc_code_named(const AsmDoc *doc, const char *name) {
    uint32_t section = asm_doc_section_named(doc, arena_printf(doc->a, ".text.%s", name));
    return doc->sections.at[section].is_code ? section : 0;
}

DocSection *asm_doc_new_section(AsmDoc *doc, const char *name) {
    StrId id = str_intern_z(&doc->text->strings, name);
    DocSection *section = VEC_PUSH(doc->a, &doc->sections);
    if (id.i && !strmap_get(&doc->section_of, id))
        strmap_put(&doc->section_of, doc->a, id, doc->sections.n - 1);
    *section = (DocSection){.name = name};
    return section;
}

/* ---- fields of headers ---- */
typedef struct {
    const char *directive;
    uint8_t offset, size_bytes;
    bool late; /* section@(...) needs the sections */
} Field;

#define SECTION_FIELD(text, member)                                                                          \
    { text, offsetof(Elf64_Shdr, member), sizeof(((Elf64_Shdr *)0)->member), false }
static const Field section_fields[] = {
    SECTION_FIELD(".__section_name", sh_name),       SECTION_FIELD(".__section_type", sh_type),
    SECTION_FIELD(".__section_flags", sh_flags),     SECTION_FIELD(".__section_addr", sh_addr),
    SECTION_FIELD(".__section_offset", sh_offset),   SECTION_FIELD(".__section_size", sh_size),
    SECTION_FIELD(".__section_link", sh_link),       SECTION_FIELD(".__section_info", sh_info),
    SECTION_FIELD(".__section_entsize", sh_entsize), SECTION_FIELD(".sectionentsize", sh_entsize),
};

#define HEADER_FIELD(text, member)                                                                           \
    { text, offsetof(Elf64_Ehdr, member), sizeof(((Elf64_Ehdr *)0)->member), false }
static const Field header_fields[] = {
    HEADER_FIELD(".__elf_type", e_type),
    HEADER_FIELD(".__elf_machine", e_machine),
    HEADER_FIELD(".__elf_version", e_version),
    HEADER_FIELD(".__elf_entry", e_entry),
    HEADER_FIELD(".__elf_phoff", e_phoff),
    HEADER_FIELD(".__elf_shoff", e_shoff),
    HEADER_FIELD(".__elf_flags", e_flags),
    HEADER_FIELD(".__elf_phentsize", e_phentsize),
    HEADER_FIELD(".__elf_ehsize", e_ehsize),
    HEADER_FIELD(".__elf_shentsize", e_shentsize),
    {".__elf_shstrndx", offsetof(Elf64_Ehdr, e_shstrndx), sizeof(Elf64_Half), true},
    {".__elf_note", offsetof(Elf64_Ehdr, e_flags) + ELF_NOTE_BYTE, 1, true},
};

static const Field *find_field(const Field *fields, size_t n, const char *directive) {
    for (size_t i = 0; i < n; i++)
        if (strcmp(fields[i].directive, directive) == 0)
            return &fields[i];
    return NULL;
}
#define FIND_FIELD(fields, directive) find_field(fields, sizeof fields / sizeof *fields, directive)

static void put_field(const Field *field, void *record, uint64_t v) {
    uint8_t *p = (uint8_t *)record + field->offset;
    if (field->size_bytes == 8)
        memcpy(p, &v, 8);
    else if (field->size_bytes == 4)
        memcpy(p, &(uint32_t){(uint32_t)v}, 4);
    else if (field->size_bytes == 1)
        *p = (uint8_t)v;
    else
        memcpy(p, &(uint16_t){(uint16_t)v}, 2);
}

static bool set_field(AsmDoc *doc, const Field *field, void *record) {
    uint64_t v, max = field->size_bytes == 8 ? UINT64_MAX : ((uint64_t)1 << field->size_bytes * 8) - 1;
    if (!asm_doc_number(doc, max, &v))
        return false;
    put_field(field, record, v);
    return true;
}

static bool type_name(AsmDoc *doc, uint32_t *out) {
    uint64_t number;
    asm_at_end(doc->text);
    const char *start = doc->text->p;
    if (isalpha((unsigned char)*start))
        return asm_doc_section_type(doc, start, asm_word(doc->text), out);
    if (!asm_doc_number(doc, UINT32_MAX, &number))
        return false;
    *out = (uint32_t)number;
    return true;
}

static bool section_field(AsmDoc *doc, const Field *field) {
    DocSection *section = current(doc);
    const char *name = field->directive;
    uint32_t type = SHT_NULL;
    if (strcmp(name, ".__section_type") == 0) {
        if (!type_name(doc, &type))
            return false;
        section->stated.sh_type = section->type = type;
        section->is_code &= type == SHT_PROGBITS; /* as disasm_is_code */
        return true;
    }
    section->has_name |= strcmp(name, ".__section_name") == 0;
    section->has_size |= strcmp(name, ".__section_size") == 0;
    section->has_info |= strcmp(name, ".__section_info") == 0;
    section->has_link |= strcmp(name, ".__section_link") == 0;
    section->has_offset |= strcmp(name, ".__section_offset") == 0;
    return set_field(doc, field, &section->stated);
}

/* ---- sections ---- */
static bool close_part(AsmDoc *doc) {
    bool strings = doc->is_open && current(doc)->type == SHT_STRTAB;
    if (doc->in_gap && doc->stage == DOC_FILL) {
        ElfGap *gap = &doc->image->gaps.at[doc->image->gaps.n - 1];
        gap->data = doc->data.at;
        gap->size_bytes = doc->data.n;
    } else if (doc->is_open) {
        DocSection *section = current(doc);
        asm_doc_note_end(doc);
        DocStage last =
            strings ? DOC_PLACE : DOC_FILL; /* names are looked up, and added, while the rest is filled */
        if (doc->stage == DOC_SCAN)
            section->size_bytes = doc->data.n;
        else if (doc->stage == (section->is_code ? DOC_CODE : last)) {
            doc->image->sections.at[doc->section].data = doc->data.n ? doc->data.at : NULL;
            section->size_bytes = doc->data.n;
        }
    }
    bool complete = !doc->positions_of;
    doc->data = (Bytes){0};
    doc->positions_of = 0;
    doc->in_gap = doc->is_open = false;
    return complete ||
           asm_doc_error(doc, doc->positions_start, DIAG_E0350, ".__positions_end in this section");
}

/* .section NAME[,"flags",@type]: the flags and the type count where no .__section_ directive says them. */
static bool section_kind(AsmDoc *doc, DocSection *section) {
    static const struct {
        char letter;
        uint64_t flag;
    } flags[] = {{'a', SHF_ALLOC}, {'w', SHF_WRITE}, {'x', SHF_EXECINSTR}};
    char *text;
    size_t n;
    if (!asm_accept(doc->text, ','))
        return true;
    if (!asm_string(doc->text, &text, &n))
        return false;
    for (size_t i = 0; i < n; i++)
        for (unsigned k = 0; k < 3; k++)
            section->stated.sh_flags |= flags[k].letter == text[i] ? flags[k].flag : 0;
    if (!asm_accept(doc->text, ','))
        return true;
    const char *start = doc->text->p, *word = asm_word(doc->text);
    if (word && strcmp(word, "@progbits") == 0)
        section->type = SHT_PROGBITS;
    else if (word && strcmp(word, "@nobits") == 0)
        section->type = SHT_NOBITS;
    else if (word && strcmp(word, "@") == 0 && asm_string(doc->text, &text, &n)) {
        text[n] = 0;
        if (!asm_doc_section_type(doc, start, text, &section->type))
            return false;
    } else
        return asm_doc_error(doc, start, DIAG_E0350, "@progbits, @nobits or @\"SHT_...\"");
    section->stated.sh_type = section->type;
    return true;
}

static bool open_section(AsmDoc *doc) {
    const char *name, *start = doc->text->p;
    bool complete = close_part(doc);
    if (doc->stage != DOC_SCAN) {
        doc->section = doc->in_header ? doc->first_section : doc->section + 1;
        doc->in_header = false;
        doc->is_open = true;
        doc->text->p += strlen(doc->text->p);
        return complete;
    }
    asm_at_end(doc->text);
    if (!asm_name(doc->text, &name))
        return false;
    if (!doc->sections.n && *name) { /* nvdisasm and CuAssembler do not show the null section */
        asm_doc_new_section(doc, "");
        if (doc->is_relocatable) /* linkers read sections in their order */
            asm_doc_add_tables(doc);
        doc->first_section = doc->sections.n;
    }
    if (doc->sections.n >= SHN_LORESERVE - 1)
        return asm_doc_error(doc, start, DIAG_E0356, "too many sections");
    DocSection *section = asm_doc_new_section(doc, name);
    section->loc = asm_loc(doc->text, start);
    section->first_line = doc->line;
    section->is_code = strncmp(name, ".text.", 6) == 0;
    doc->section = doc->sections.n - 1;
    doc->in_header = false;
    doc->is_open = true;
    return section_kind(doc, section);
}

/* ---- directives about the file ---- */
static bool numbers(AsmDoc *doc, uint64_t *out, unsigned n, uint64_t max) {
    for (unsigned i = 0; i < n; i++) {
        if (i && !asm_accept(doc->text, ','))
            return asm_doc_error(doc, doc->text->p, DIAG_E0350, "a comma");
        if (!asm_number_max(doc->text, max, &out[i]))
            return false;
    }
    return true;
}

static bool ident_directive(AsmDoc *doc) {
    uint64_t v[9];
    if (!numbers(doc, v, 9, 0xff))
        return false;
    for (int i = 0; i < 9; i++)
        doc->image->h.e_ident[EI_OSABI + i] = (uint8_t)v[i];
    return true;
}

static bool ident_byte(AsmDoc *doc, int at) {
    uint64_t v;
    if (!asm_number_max(doc->text, 0xff, &v))
        return false;
    doc->image->h.e_ident[at] = (uint8_t)v;
    return true;
}

static bool segment_type(AsmDoc *doc, uint64_t *type) {
    static const struct {
        const char *name;
        uint32_t type;
    } types[] = {{"PT_NULL", PT_NULL}, {"PT_LOAD", PT_LOAD}, {"PT_NOTE", PT_NOTE}, {"PT_PHDR", PT_PHDR}};
    const char *name, *start = doc->text->p;
    asm_at_end(doc->text);
    if (isdigit((unsigned char)*doc->text->p))
        return asm_number_max(doc->text, UINT32_MAX, type);
    if (!asm_name(doc->text, &name))
        return false;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(name, types[i].name) == 0) {
            *type = types[i].type;
            return true;
        }
    return asm_doc_error(doc, start, DIAG_E0350, "a type: a number, or PT_LOAD, PT_PHDR, PT_NOTE, PT_NULL");
}

/* Type and flags; the rest, or, as CuAssembler has them, directives of their own behind it. */
static bool segment_directive(AsmDoc *doc) {
    enum { REST = 6 };
    uint64_t type, flags, v[REST] = {0};
    if (!close_part(doc) || !segment_type(doc, &type))
        return false;
    if (!asm_accept(doc->text, ','))
        return asm_doc_error(doc, doc->text->p, DIAG_E0350, "a comma");
    if (!asm_number_max(doc->text, UINT32_MAX, &flags) ||
        (asm_accept(doc->text, ',') && !numbers(doc, v, REST, UINT64_MAX)))
        return false;
    if (doc->stage == DOC_FILL)
        VEC_ADD(doc->a, &doc->image->segments,
                ((Elf64_Phdr){(Elf64_Word)type, (Elf64_Word)flags, v[0], v[1], v[2], v[3], v[4], v[5]}));
    return true;
}

static bool gap_directive(AsmDoc *doc) {
    uint64_t offset;
    if (!close_part(doc) || !asm_number(doc->text, &offset))
        return false;
    if (doc->stage == DOC_FILL)
        VEC_ADD(doc->a, &doc->image->gaps, ((ElfGap){.offset = offset}));
    doc->in_gap = true;
    return true;
}

static bool target_directive(AsmDoc *doc) {
    const char *start = doc->text->p, *name = asm_word(doc->text);
    doc->target = name ? isa_any_target(name) : NULL;
    doc->target_at = start;
    return doc->target || asm_doc_error(doc, start, DIAG_E0357, asm_unknown_target(doc->text, name));
}

/* .__stays LABEL, OFFSET; .__stays SECTION: what no directive can say names this place by a number. */
static bool stays_directive(AsmDoc *doc) {
    const char *start = doc->text->p, *name;
    uint64_t offset;
    asm_at_end(doc->text);
    if (!asm_name(doc->text, &name))
        return false;
    bool place = asm_accept(doc->text, ',');
    if (place && !asm_number(doc->text, &offset))
        return false;
    if (doc->stage != DOC_FILL)
        return true;
    const DocLabel *label = place ? asm_doc_label(doc, name, strlen(name)) : NULL;
    uint32_t section = place ? 0 : asm_doc_section_named(doc, name);
    if (place ? !label : !section)
        return asm_doc_error(doc, start, place ? DIAG_E0355 : DIAG_E0360, name);
    if (place ? label->offset == offset : !doc->sections.at[section].moved)
        return true;
    return asm_doc_error(
        doc, start, DIAG_E0358,
        place ? arena_printf(doc->a, "%s was at 0x%llx and is at 0x%llx now, and a number here means it",
                             name, (unsigned long long)offset, (unsigned long long)label->offset)
              : arena_printf(doc->a, "numbers here mean places in %s, where instructions moved", name));
}

static bool header_directive(AsmDoc *doc, const char *w, bool *known) {
    static const char *const ignored[] = {".__elf_phnum", ".__elf_shnum"};
    uint64_t v;
    *known = true;
    if (strcmp(w, ".target") == 0)
        return target_directive(doc);
    if (!doc->elf_at && strncmp(w, ".__elf_", 7) == 0)
        doc->elf_at = doc->text->p - strlen(w);
    if (strcmp(w, ".__elf_ident") == 0)
        return ident_directive(doc);
    if (strcmp(w, ".__elf_ident_osabi") == 0)
        return ident_byte(doc, EI_OSABI);
    if (strcmp(w, ".__elf_ident_abiversion") == 0)
        return ident_byte(doc, EI_ABIVERSION);
    if (strcmp(w, ".__elf_filesize") == 0)
        return asm_number_max(doc->text, MOST_FILE_BYTES, &doc->image->file_bytes);
    if (strcmp(w, ".__segment") == 0)
        return segment_directive(doc);
    if (strcmp(w, ".__gap") == 0)
        return gap_directive(doc);
    if (strcmp(w, ".__stays") == 0)
        return stays_directive(doc);
    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
        if (strcmp(w, ignored[i]) == 0)
            return asm_number(doc->text, &v);
    const Field *field = FIND_FIELD(header_fields, w);
    *known = field != NULL;
    if (field && field->late)
        return set_field(doc, field, doc->stage == DOC_FILL ? &doc->image->h : &(Elf64_Ehdr){0});
    return !field || set_field(doc, field, &doc->image->h);
}

static bool directive(AsmDoc *doc, const char *start, const char *w) {
    bool known;
    if (strcmp(w, ".section") == 0)
        return open_section(doc);
    bool good = header_directive(doc, w, &known);
    if (known)
        return good;
    good = asm_doc_nv(doc, w, &known);
    if (known)
        return good;
    if (doc->in_header)
        return asm_doc_error(doc, start, DIAG_E0351, w);
    const Field *field = FIND_FIELD(section_fields, w);
    if (field)
        return section_field(doc, field);
    if (!doc->is_open && !doc->in_gap)
        return asm_doc_error(doc, start, DIAG_E0350, ".section before data");
    if (doc->is_open && current(doc)->is_code && doc->stage == DOC_FILL) { /* done with it */
        doc->text->p += strlen(doc->text->p);
        return true;
    }
    good = asm_doc_data(doc, w, &known);
    return known ? good : asm_doc_error(doc, start, DIAG_E0351, w);
}

/* ---- labels ---- */
static bool add_label(AsmDoc *doc, const char *start, const char *name) {
    StrId id = str_intern_z(&doc->text->strings, name);
    if (strmap_get(&doc->label_of, id))
        return asm_doc_error(doc, start, DIAG_E0353, name);
    VEC_ADD(doc->a, &doc->labels, ((DocLabel){id, doc->section, doc->data.n, asm_loc(doc->text, start)}));
    strmap_put(&doc->label_of, doc->a, id, doc->labels.n);
    return true;
}

/* .CUASM_OFFSET_LABEL.KERNEL.ATTRIBUTE.#; a number instead of # is a value for a list of other things. */
static bool add_listed(AsmDoc *doc, const char *start, const char *name) {
    static const char prefix[] = ".CUASM_OFFSET_LABEL.";
    const char *kernel = name + strlen(prefix), *last = strrchr(kernel, '.'), *attr = last;
    while (attr && attr > kernel && *--attr != '.')
        ;
    int code = attr && attr > kernel ? elf_nvinfo_code(attr + 1, (size_t)(last - attr - 1)) : -1;
    if (code < 0)
        return asm_doc_error(doc, start, DIAG_E0350, ".CUASM_OFFSET_LABEL.kernel.EIATTR_name.#");
    char *end;
    uint32_t value = last[1] ? (uint32_t)strtoul(last + 1, &end, 0) : (uint32_t)doc->data.n;
    if (last[1] && *end)
        return asm_doc_error(doc, start, DIAG_E0350, "# or a number behind the attribute");
    VEC_ADD(doc->a, &doc->listed,
            ((DocListed){.kernel = arena_printf(doc->a, "%.*s", (int)(attr - kernel), kernel),
                         .code = (unsigned)code,
                         .value = value,
                         .loc = asm_loc(doc->text, start)}));
    return true;
}

/* Labels in front of a statement. */
static bool labels(AsmDoc *doc) {
    for (;;) {
        asm_at_end(doc->text);
        const char *start = doc->text->p, *name = *start == '[' ? NULL : asm_word(doc->text);
        if (name && *doc->text->p == '#') /* the end of an offset label, which is no word */
            doc->text->p++;
        if (!name || !asm_accept(doc->text, ':')) {
            doc->text->p = start;
            return true;
        }
        if (!doc->is_open)
            return asm_doc_error(doc, start, DIAG_E0350, ".section before a label");
        bool code = current(doc)->is_code;
        if (doc->stage != (code ? DOC_SCAN : DOC_PLACE))
            continue;
        bool listed = strncmp(name, ".CUASM_OFFSET_LABEL.", 20) == 0;
        if (!(listed ? add_listed(doc, start, name) : add_label(doc, start, name)))
            return false;
    }
}

/* ---- statements ---- */
/* The address that a comment at the line's start, or behind the control field, gives the statement. */
static bool printed_address(const AsmText *text, const char *line, uint64_t *address) {
    const char *source = text->source->text, *end = source + text->source->size_bytes;
    const char *p = source + (line - text->text);
    while (p < end && (*p == ' ' || *p == '\t'))
        p++;
    if (p < end && *p == '[') {
        while (p < end && *p != ']' && *p != '\n')
            p++;
        for (p++; p < end && (*p == ' ' || *p == '\t');)
            p++;
    }
    if (end - p < 3 || p[0] != '/' || p[1] != '*' || !isxdigit((unsigned char)p[2]))
        return false;
    for (p += 2, *address = 0; p < end && isxdigit((unsigned char)*p); p++)
        *address = *address << 4 | (unsigned)(*p <= '9' ? *p - '0' : (*p | 32) - 'a' + 10);
    return end - p >= 2 && p[0] == '*' && p[1] == '/';
}

/* In an open section. Where labels stand before the statement, the comment is behind them. */
static void note_move(AsmDoc *doc, const char *line, const char *statement) {
    uint64_t printed;
    DocSection *section = current(doc);
    if (section->moved)
        return;
    bool found = printed_address(doc->text, line, &printed);
    if (!found && statement > line)
        for (const char *p = statement; !found && p > line; p--)
            found = p[-1] == ':' && printed_address(doc->text, p, &printed);
    section->moved = found && printed != doc->data.n;
}

/* Is nothing to be done for this section in this stage? Headers are read in the first stage and the last. */
static bool skipped(const AsmDoc *doc) {
    bool code = doc->sections.at[doc->section].is_code;
    return code ? doc->stage == DOC_PLACE : doc->stage == DOC_CODE || doc->stage == DOC_SCAN;
}

static bool instruction(AsmDoc *doc, const char *line, const char *start) {
    if (!doc->is_open || !current(doc)->is_code)
        return asm_doc_error(doc, start, DIAG_E0350, "instructions in a section .text.NAME only");
    if (doc->stage == DOC_SCAN)
        note_move(doc, line, start);
    if (doc->stage == DOC_SCAN || doc->stage == DOC_CODE)
        return asm_doc_code_line(doc);
    return true;
}

/* A header's directive, wherever it stands. */
static bool is_header(const char *w) { return strncmp(w, ".__elf_", 7) == 0 || strcmp(w, ".target") == 0; }

static bool statement(AsmDoc *doc) {
    const char *line = doc->text->p;
    if (!labels(doc))
        return false;
    if (asm_at_end(doc->text))
        return true;
    const char *start = doc->text->p;
    if (asm_doc_is_instruction(start))
        return instruction(doc, line, start);
    const char *w = asm_word(doc->text);
    if (!w || *w != '.')
        return asm_doc_error(doc, start, DIAG_E0350, "a directive, a label or an instruction");
    bool own_field = FIND_FIELD(section_fields, w) != NULL;
    const Field *header = FIND_FIELD(header_fields, w);
    if (is_header(w) ? doc->stage != DOC_SCAN && !(header && header->late)
                     : strcmp(w, ".section") != 0 && doc->is_open && !own_field && skipped(doc) &&
                           strcmp(w, ".__segment") != 0 && strcmp(w, ".__gap") != 0)
        return true;
    if (doc->is_open && strncmp(current(doc)->name, ".nv.constant", 12) == 0 && doc->stage == DOC_PLACE)
        note_move(doc, line, start);
    return directive(doc, start, w) && asm_expect_end(doc->text);
}

static void select_line(AsmDoc *doc, uint32_t n) {
    doc->line = n;
    doc->text->p = doc->text->text + doc->lines.at[n];
}

static bool walk(AsmDoc *doc, DocStage stage) {
    bool good = true;
    doc->stage = stage;
    doc->in_header = true;
    doc->in_gap = doc->is_open = false;
    doc->section = 0;
    doc->zeros = 0;
    doc->data = (Bytes){0};
    for (uint32_t i = 0; i < doc->lines.n; i++) {
        select_line(doc, i);
        good &= statement(doc);
    }
    return close_part(doc) && good;
}

static void open_doc(AsmDoc *doc, AsmText *text) {
    *doc = (AsmDoc){.text = text, .a = text->a, .image = ARENA_NEW(text->a, ElfImage)};
    Elf64_Ehdr *header = &doc->image->h;
    memcpy(header->e_ident, ELFMAG, SELFMAG);
    header->e_ident[EI_CLASS] = ELFCLASS64;
    header->e_ident[EI_DATA] = ELFDATA2LSB;
    header->e_ident[EI_VERSION] = EV_CURRENT;
    header->e_ehsize = sizeof(Elf64_Ehdr);
    header->e_shentsize = sizeof(Elf64_Shdr);
    asm_rewind(text);
    while (asm_next_line(text))
        VEC_ADD(doc->a, &doc->lines, (uint32_t)(text->p - text->text));
}

bool asm_read_file(AsmText *text, const Target *target, void **image, size_t *size_bytes) {
    AsmDoc doc;
    open_doc(&doc, text);
    doc.target = target;
    if (!walk(&doc, DOC_SCAN) || !asm_doc_end_scan(&doc) || !walk(&doc, DOC_CODE) || !walk(&doc, DOC_PLACE))
        return false;
    if (!doc.has_tables)
        asm_doc_number_symbols(&doc);
    if (!walk(&doc, DOC_FILL))
        return false;
    if (!doc.has_tables && !doc.target)
        return diag_in(text->d, text->source, (SrcLoc){0}, DIAG_E0350, ".target");
    if (!doc.has_tables && !doc.symbols.n)
        return diag_in(text->d, text->source, (SrcLoc){0}, DIAG_E0350, "a symbol (.global, .type)");
    Elf64_Ehdr *header = &doc.image->h, old_header = *header;
    if (doc.has_tables && (doc.sections.n < 2 || !header->e_shstrndx || header->e_shstrndx >= doc.sections.n))
        return diag_in(text->d, text->source, (SrcLoc){0}, DIAG_E0356, "no section name table");
    if (!asm_doc_finish(&doc))
        return false;
    bool has_lost_segments = doc.has_tables && !doc.image->segments.n && header->e_phoff; /* with a kernel */
    if ((doc.has_tables && !has_lost_segments) || doc.is_relocatable || doc.image->segments.n)
        elf_image_layout(doc.image, true);
    else
        elf_image_segments(doc.a, doc.image);
    if (!asm_doc_check_places(&doc)) /* alignments move parts, too */
        return false;
    if (doc.has_tables && !has_lost_segments && !asm_doc_move_segments(&doc, &old_header))
        return false;
    return elf_image_write(doc.image, image, size_bytes, text->d);
}
