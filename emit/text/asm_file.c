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

static bool error_at(AsmDoc *doc, SrcLoc loc, DiagCode code, const char *what) {
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
} Field;

#define SECTION_FIELD(text, member)                                                                          \
    { text, offsetof(Elf64_Shdr, member), sizeof(((Elf64_Shdr *)0)->member) }
static const Field section_fields[] = {
    SECTION_FIELD(".__section_name", sh_name),       SECTION_FIELD(".__section_type", sh_type),
    SECTION_FIELD(".__section_flags", sh_flags),     SECTION_FIELD(".__section_addr", sh_addr),
    SECTION_FIELD(".__section_offset", sh_offset),   SECTION_FIELD(".__section_size", sh_size),
    SECTION_FIELD(".__section_link", sh_link),       SECTION_FIELD(".__section_info", sh_info),
    SECTION_FIELD(".__section_entsize", sh_entsize), SECTION_FIELD(".sectionentsize", sh_entsize),
};

#define HEADER_FIELD(text, member)                                                                           \
    { text, offsetof(Elf64_Ehdr, member), sizeof(((Elf64_Ehdr *)0)->member) }
static const Field header_fields[] = {
    HEADER_FIELD(".__elf_type", e_type),           HEADER_FIELD(".__elf_machine", e_machine),
    HEADER_FIELD(".__elf_version", e_version),     HEADER_FIELD(".__elf_entry", e_entry),
    HEADER_FIELD(".__elf_phoff", e_phoff),         HEADER_FIELD(".__elf_shoff", e_shoff),
    HEADER_FIELD(".__elf_flags", e_flags),         HEADER_FIELD(".__elf_phentsize", e_phentsize),
    HEADER_FIELD(".__elf_shstrndx", e_shstrndx),   HEADER_FIELD(".__elf_ehsize", e_ehsize),
    HEADER_FIELD(".__elf_shentsize", e_shentsize),
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

static bool segment_directive(AsmDoc *doc) {
    uint64_t v[8];
    if (!close_part(doc) || !numbers(doc, v, 8, UINT64_MAX))
        return false;
    if (v[0] > UINT32_MAX || v[1] > UINT32_MAX)
        return asm_doc_error(doc, doc->text->p, DIAG_E0350, "a type and flags of 32 bits");
    if (doc->stage == DOC_FILL)
        VEC_ADD(doc->a, &doc->image->segments,
                ((Elf64_Phdr){(Elf64_Word)v[0], (Elf64_Word)v[1], v[2], v[3], v[4], v[5], v[6], v[7]}));
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
    if (field && strcmp(w, ".__elf_shstrndx") == 0) /* section@(...) needs the sections */
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
    if (is_header(w) ? doc->stage != DOC_SCAN && strcmp(w, ".__elf_shstrndx") != 0
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

/* ---- the parts of a file ---- */
/* Where the header and the symbols are made, the text cannot say something else of them. */
static bool can_make_tables(AsmDoc *doc) {
    if (doc->elf_at)
        return asm_doc_error(doc, doc->elf_at, DIAG_E0350,
                             "no header: it is made, for a text without tables of names and symbols");
    for (uint32_t i = 1; i < doc->sections.n; i++) {
        const DocSection *section = &doc->sections.at[i];
        if (section->is_code && asm_doc_section_named(doc, section->name) != i)
            return error_at(doc, section->loc, DIAG_E0350, "another name: this section stands twice");
    }
    return true;
}

static bool end_scan(AsmDoc *doc) {
    doc->has_tables = !doc->first_section; /* a text with the null section is of a whole file */
    for (uint32_t i = doc->first_section; i < doc->sections.n; i++)
        doc->has_tables |= doc->sections.at[i].type == SHT_SYMTAB || doc->sections.at[i].type == SHT_STRTAB;
    if (doc->symtab && doc->has_tables)
        return error_at(doc, (SrcLoc){0}, DIAG_E0356,
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
            return error_at(doc, section->loc, DIAG_E0356,
                            arena_printf(doc->a, "%s needs %s", section->name, change.why));
        if (change.more_registers > most.more_registers)
            most.more_registers = change.more_registers;
        most.more_stack_bytes += change.more_stack_bytes;
    }
    for (uint32_t i = 1; i < doc->sections.n && (most.more_registers || most.more_stack_bytes); i++) {
        const DocSection *section = &doc->sections.at[i];
        if (section->is_code && section->facts.uses_call &&
            !elf_facts_raise(doc->a, doc->image, doc->target, i, &most, &records, &change))
            return error_at(doc, section->loc, DIAG_E0356,
                            arena_printf(doc->a, "%s needs %s", section->name, change.why));
    }
    return true;
}

/* What stood at an instruction must have found its record. */
static bool all_listed(AsmDoc *doc) {
    for (uint32_t i = 0; i < doc->listed.n; i++)
        if (!doc->listed.at[i].used)
            return error_at(
                doc, doc->listed.at[i].loc, DIAG_E0356,
                arena_printf(doc->a, ".nv.info.%s has no record for this label", doc->listed.at[i].kernel));
    return true;
}

/* Places in a constant bank are numbers in the code that reads them. */
static bool banks_stay(AsmDoc *doc) {
    for (uint32_t i = 1; i < doc->sections.n; i++)
        if (!doc->sections.at[i].is_code && doc->sections.at[i].moved)
            return error_at(doc, doc->sections.at[i].loc, DIAG_E0358,
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
            return error_at(doc, loc, DIAG_E0356,
                            arena_printf(doc->a, "section %s: .__section_name is not the place of its name",
                                         section->name));
        if (section->h.sh_addralign & (section->h.sh_addralign - 1))
            return error_at(
                doc, loc, DIAG_E0356,
                arena_printf(doc->a, "section %s: the alignment is not a power of two", section->name));
        if (!whole_entries(doc, i))
            return error_at(doc, loc, DIAG_E0356,
                            arena_printf(doc->a,
                                         "section %s: %llu bytes are no whole number of entries of %llu",
                                         section->name, (unsigned long long)section->h.sh_size,
                                         (unsigned long long)section->h.sh_entsize));
    }
    return true;
}

/* Parts keep the places that the text gives them, or come behind: in a file of moderate size. */
static bool check_places(AsmDoc *doc) {
    static const char far[] = "an offset beyond 256 MiB";
    for (uint32_t i = 1; i < doc->image->sections.n; i++) {
        const Elf64_Shdr *header = &doc->image->sections.at[i].h;
        if (!elf_image_is_nobits(header->sh_type) && header->sh_size && header->sh_offset > MOST_FILE_BYTES)
            return error_at(doc, i < doc->sections.n ? doc->sections.at[i].loc : (SrcLoc){0}, DIAG_E0356,
                            far);
    }
    return (doc->image->h.e_shoff <= MOST_FILE_BYTES &&
            (!doc->image->segments.n || doc->image->h.e_phoff <= MOST_FILE_BYTES)) ||
           error_at(doc, (SrcLoc){0}, DIAG_E0356, far);
}

/* A segment covers the sections that it covered: those whose stated place lies in its stated range. */
static void move_segments(AsmDoc *doc, const Elf64_Ehdr *header) {
    ElfImage *image = doc->image;
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
        if (!moved || new_hi < new_lo)
            continue; /* odd ones stay as they are */
        phdr->p_offset = new_lo;
        phdr->p_filesz = new_hi - new_lo;
        phdr->p_memsz = phdr->p_filesz + extra;
    }
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

/* What the header's flags say of debugging sections: none, those of the PTX, lines, and registers of
 * variables. */
static uint32_t debug_flags(const AsmDoc *doc) {
    enum { NONE = 0x6, LINES = 0x9, OF_PTX = 0xa, REGISTERS = 0xb, SHIFT = 24 };
    uint32_t what = !asm_doc_section_named(doc, ".debug_line")              ? NONE
                    : asm_doc_section_named(doc, ".nv_debug_info_reg_sass") ? REGISTERS
                    : asm_doc_section_named(doc, ".debug_str")              ? OF_PTX
                                                                            : LINES;
    return what << SHIFT;
}

/* Of a text that has no tables and says little of the file. */
static void make_header(AsmDoc *doc) {
    Elf64_Ehdr *header = &doc->image->h;
    elf_image_header(doc->image, doc->target, doc->old_form);
    header->e_type = doc->is_relocatable ? ET_REL : ET_EXEC;
    if (!doc->old_form && header->e_machine == EM_NV_CUDA)
        header->e_flags = (header->e_flags & 0x00ffffff) | debug_flags(doc);
    if (doc->virtual_sm)
        header->e_flags = (header->e_flags & 0xff00ffff) | (doc->virtual_sm & 0xff) << 16;
}

static bool finish(AsmDoc *doc) {
    if (!doc->has_tables)
        make_header(doc);
    if (!target_agrees(doc))
        return false;
    find_names(doc);
    set_headers(doc);
    if (!asm_doc_add_relocs(doc) || (!doc->has_tables && !asm_doc_fill_tables(doc)))
        return false;
    if (doc->image->sections.n >= SHN_LORESERVE)
        return error_at(doc, (SrcLoc){0}, DIAG_E0356, "too many sections");
    count_locals(doc);
    return (!doc->target || follow_code(doc)) && all_listed(doc) && banks_stay(doc) && check_names(doc) &&
           check_places(doc);
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
    if (!walk(&doc, DOC_SCAN) || !end_scan(&doc) || !walk(&doc, DOC_CODE) || !walk(&doc, DOC_PLACE))
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
    if (!finish(&doc))
        return false;
    if (doc.has_tables || doc.is_relocatable || doc.image->segments.n)
        elf_image_layout(doc.image, true);
    else
        elf_image_segments(doc.a, doc.image);
    if (!check_places(&doc)) /* alignments move parts, too */
        return false;
    if (doc.has_tables)
        move_segments(&doc, &old_header);
    return elf_image_write(doc.image, image, size_bytes, text->d);
}
