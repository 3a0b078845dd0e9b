/* The file form of assembly text to an ELF image. The text is walked twice: first for sizes and labels, then
 * for contents. Header fields are taken as they are; if code or data changed size, what follows moves.
 * SPDX-License-Identifier: MIT */
#include "emit/text/asm_text.h"
#include "emit/elf/image.h"
#include "emit/elf/nvinfo.h"
#include <ctype.h>
#include <string.h>

typedef struct {
    StrId name;
    uint32_t section;
    uint64_t offset;
} Label;

/* A short text cannot ask for much: bytes of a file, and of them those of .zero. */
enum { MOST_FILE_BYTES = 1 << 28, MOST_ZERO_BYTES = 1 << 26 };

typedef struct {
    AsmText *t;
    Arena *a;
    ElfImage *e;
    const Target *target;
    bool emit;          /* second walk */
    uint32_t nsections; /* seen in this walk */
    Bytes data;         /* of the section or gap being read */
    uint64_t zeros;     /* of .zero in this walk */
    bool in_gap, in_section;
    bool has_code;            /* the section being read */
    bool moved;               /* code is not where the text says, which was reported */
    VEC(SrcLoc) section_locs; /* where the sections start in the text */
    VEC(Label) labels;
    StrMap label_of; /* name -> label index + 1 */
} FileAsm;

static bool err(FileAsm *files, const char *p, DiagCode code, const char *what) {
    return diag_in(files->t->d, files->t->source, asm_loc(files->t, p), code, what);
}

static ElfSection *current(FileAsm *files) {
    return files->emit && files->nsections ? &files->e->sections.at[files->nsections - 1] : NULL;
}

/* ---- sections ---- */
/* Give the collected bytes to the section or gap they belong to. */
static void close_part(FileAsm *files) {
    ElfSection *section = current(files);
    if (files->in_gap) {
        ElfGap *gap = &files->e->gaps.at[files->e->gaps.n - 1];
        gap->data = files->data.at;
        gap->size_bytes = files->data.n;
    } else if (section && files->in_section && files->data.n) {
        if (files->has_code && section->h.sh_size && section->h.sh_size != files->data.n && !files->moved)
            files->moved = !diag_in(
                files->t->d, files->t->source, files->section_locs.at[files->nsections - 1], DIAG_E0358,
                arena_printf(files->a, "section %s was of 0x%llx bytes and is of 0x%llx now", section->name,
                             (unsigned long long)section->h.sh_size, (unsigned long long)files->data.n));
        section->data = files->data.at;
        section->h.sh_size = files->data.n;
    } else if (section && files->in_section && !elf_image_is_nobits(section->h.sh_type) &&
               files->nsections > 1)
        section->h.sh_size = 0;
    files->data = (Bytes){0};
    files->in_gap = files->in_section = files->has_code = false;
}

static bool open_section(FileAsm *files) {
    const char *name, *start = files->t->p;
    close_part(files);
    if (!asm_name(files->t, &name) && *files->t->p != '"')
        return false;
    if (files->nsections >= SHN_LORESERVE - 1)
        return err(files, files->t->p, DIAG_E0356, "too many sections");
    files->nsections++;
    files->in_section = true;
    if (files->emit) {
        VEC_PUSH(files->a, &files->e->sections)->name = name;
        VEC_ADD(files->a, &files->section_locs, asm_loc(files->t, start));
    }
    return true;
}

/* A field of the section header: second walk only, where the section exists. */
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
    SECTION_FIELD(".__section_entsize", sh_entsize), SECTION_FIELD(".align", sh_addralign),
};

#define HEADER_FIELD(text, member)                                                                           \
    { text, offsetof(Elf64_Ehdr, member), sizeof(((Elf64_Ehdr *)0)->member) }
static const Field header_fields[] = {
    HEADER_FIELD(".__elf_type", e_type),         HEADER_FIELD(".__elf_machine", e_machine),
    HEADER_FIELD(".__elf_version", e_version),   HEADER_FIELD(".__elf_entry", e_entry),
    HEADER_FIELD(".__elf_phoff", e_phoff),       HEADER_FIELD(".__elf_shoff", e_shoff),
    HEADER_FIELD(".__elf_flags", e_flags),       HEADER_FIELD(".__elf_phentsize", e_phentsize),
    HEADER_FIELD(".__elf_shstrndx", e_shstrndx),
};

static bool set_field(FileAsm *files, const Field *field, void *record) {
    uint64_t v, max = field->size_bytes == 8 ? UINT64_MAX : ((uint64_t)1 << field->size_bytes * 8) - 1;
    if (!asm_number_max(files->t, max, &v))
        return false;
    uint8_t *p = (uint8_t *)record + field->offset;
    if (field->size_bytes == 8)
        memcpy(p, &v, 8);
    else if (field->size_bytes == 4)
        memcpy(p, &(uint32_t){(uint32_t)v}, 4);
    else
        memcpy(p, &(uint16_t){(uint16_t)v}, 2);
    return true;
}

static const Field *find_field(const Field *fields, size_t n, const char *directive) {
    for (size_t i = 0; i < n; i++)
        if (strcmp(fields[i].directive, directive) == 0)
            return &fields[i];
    return NULL;
}

/* ---- data directives ---- */
static bool comma_list(FileAsm *files, unsigned size_bytes) {
    uint64_t v, max = size_bytes == 8 ? UINT64_MAX : ((uint64_t)1 << size_bytes * 8) - 1;
    do {
        if (!asm_number_max(files->t, max, &v))
            return false;
        uint8_t *p = elf_bytes_add(files->a, &files->data, NULL, size_bytes);
        for (unsigned i = 0; i < size_bytes; i++)
            p[i] = (uint8_t)(v >> (8 * i));
    } while (asm_accept(files->t, ','));
    return true;
}

static bool text_directive(FileAsm *files, bool terminated) {
    char *text;
    size_t n;
    if (!asm_string(files->t, &text, &n))
        return false;
    elf_bytes_add(files->a, &files->data, text, n);
    if (terminated)
        elf_bytes_add(files->a, &files->data, "", 1);
    return true;
}

static bool zero_directive(FileAsm *files) {
    uint64_t n;
    if (!asm_number_max(files->t, MOST_ZERO_BYTES, &n))
        return false;
    files->zeros += n;
    if (files->zeros > MOST_ZERO_BYTES)
        return err(files, files->t->p, DIAG_E0356, "more than 64 MiB of .zero");
    elf_bytes_add(files->a, &files->data, NULL, n);
    return true;
}

/* Numbers with a comma between each two; sizes[i] bytes each. */
static bool record(FileAsm *files, const uint8_t *sizes, unsigned n) {
    for (unsigned i = 0; i < n; i++) {
        if (i && !asm_accept(files->t, ','))
            return err(files, files->t->p, DIAG_E0350, "a comma");
        uint64_t v, max = sizes[i] == 8 ? UINT64_MAX : ((uint64_t)1 << sizes[i] * 8) - 1;
        if (!asm_number_max(files->t, max, &v))
            return false;
        uint8_t *p = elf_bytes_add(files->a, &files->data, NULL, sizes[i]);
        for (unsigned k = 0; k < sizes[i]; k++)
            p[k] = (uint8_t)(v >> (8 * k));
    }
    return true;
}

/* name, value, size, info, other, section: another order in the file. */
static bool symbol_directive(FileAsm *files) {
    static const uint8_t sizes[] = {4, 8, 8, 1, 1, 2};
    uint32_t start = files->data.n;
    uint8_t y[24];
    if (!record(files, sizes, 6))
        return false;
    memcpy(y, files->data.at + start, sizeof y);
    uint8_t *p = files->data.at + start;
    memcpy(p + 4, y + 20, 4);
    memcpy(p + 8, y + 4, 16);
    return true;
}

static bool attr_directive(FileAsm *files, unsigned format, bool bytes) {
    const char *start = files->t->p;
    uint64_t v;
    int code;
    asm_at_end(files->t);
    if (*files->t->p == '0') {
        if (!asm_number_max(files->t, 0xff, &v))
            return false;
        code = (int)v;
    } else {
        const char *name = asm_word(files->t);
        code = name ? elf_nvinfo_code(name, strlen(name)) : -1;
        if (code < 0)
            return err(files, start, DIAG_E0350, "the name or number of an attribute");
    }
    uint32_t head = files->data.n;
    elf_nvinfo_value(files->a, &files->data, format, (unsigned)code, 0);
    if (format != NVF_SIZED) {
        if (!asm_accept(files->t, ',') || !asm_number_max(files->t, 0xffff, &v))
            return err(files, files->t->p, DIAG_E0350, "a value");
        put_u16(files->data.at + head + 2, (uint16_t)v);
        return true;
    }
    if (asm_accept(files->t, ',') && !comma_list(files, bytes ? 1 : 4))
        return false;
    if (files->data.n - head - 4 > 0xffff)
        return err(files, start, DIAG_E0356, "an attribute record of more than 65535 bytes");
    put_u16(files->data.at + head + 2, (uint16_t)(files->data.n - head - 4));
    return true;
}

static bool data_directive(FileAsm *f, const char *w, bool *known) {
    *known = true;
    if (strcmp(w, ".byte") == 0)
        return comma_list(f, 1);
    if (strcmp(w, ".short") == 0)
        return comma_list(f, 2);
    if (strcmp(w, ".word") == 0)
        return comma_list(f, 4);
    if (strcmp(w, ".dword") == 0)
        return comma_list(f, 8);
    if (strcmp(w, ".zero") == 0)
        return zero_directive(f);
    if (strcmp(w, ".string") == 0 || strcmp(w, ".ascii") == 0)
        return text_directive(f, w[1] == 's');
    if (strcmp(w, ".__symbol") == 0)
        return symbol_directive(f);
    if (strcmp(w, ".__rel") == 0)
        return record(f, (const uint8_t[]){8, 4, 4}, 3);
    if (strcmp(w, ".__rela") == 0)
        return record(f, (const uint8_t[]){8, 4, 4, 8}, 4);
    if (strncmp(w, ".__attr", 7) == 0 && w[7] >= '1' && w[7] <= '4')
        return attr_directive(f, (unsigned)(w[7] - '0'), w[8] == 'b');
    *known = false;
    return true;
}

/* ---- header directives ---- */
static bool numbers(FileAsm *files, uint64_t *out, const uint8_t *sizes, unsigned n) {
    Bytes saved = files->data;
    files->data = (Bytes){0};
    bool good = record(files, sizes, n);
    const uint8_t *p = files->data.at;
    for (unsigned i = 0; good && i < n; p += sizes[i++]) {
        out[i] = 0;
        for (unsigned k = 0; k < sizes[i]; k++)
            out[i] |= (uint64_t)p[k] << (8 * k);
    }
    files->data = saved;
    return good;
}

static bool ident_directive(FileAsm *files) {
    uint64_t v[9];
    if (!numbers(files, v, (const uint8_t[]){1, 1, 1, 1, 1, 1, 1, 1, 1}, 9))
        return false;
    for (int i = 0; i < 9; i++)
        files->e->h.e_ident[EI_OSABI + i] = (uint8_t)v[i];
    return true;
}

static bool segment_directive(FileAsm *files) {
    uint64_t v[8];
    close_part(files);
    if (!numbers(files, v, (const uint8_t[]){4, 4, 8, 8, 8, 8, 8, 8}, 8))
        return false;
    if (files->emit)
        VEC_ADD(files->a, &files->e->segments,
                ((Elf64_Phdr){(Elf64_Word)v[0], (Elf64_Word)v[1], v[2], v[3], v[4], v[5], v[6], v[7]}));
    return true;
}

static bool gap_directive(FileAsm *files) {
    uint64_t offset;
    close_part(files);
    if (!asm_number(files->t, &offset))
        return false;
    VEC_ADD(files->a, &files->e->gaps, ((ElfGap){.offset = offset}));
    files->in_gap = true;
    return true;
}

static bool target_directive(FileAsm *files) {
    const char *start = files->t->p, *name = asm_word(files->t);
    files->target = name ? isa_target(name) : NULL;
    return files->target || err(files, start, DIAG_E0357, asm_unknown_target(files->t, name));
}

static bool directive(FileAsm *files, const char *start, const char *w) {
    bool known;
    if (strcmp(w, ".section") == 0)
        return open_section(files);
    if (strcmp(w, ".target") == 0)
        return target_directive(files);
    if (strcmp(w, ".__elf_ident") == 0)
        return ident_directive(files);
    if (strcmp(w, ".__elf_filesize") == 0)
        return asm_number_max(files->t, MOST_FILE_BYTES, &files->e->file_bytes);
    if (strcmp(w, ".__segment") == 0)
        return segment_directive(files);
    if (strcmp(w, ".__gap") == 0)
        return gap_directive(files);
    const Field *field = find_field(header_fields, sizeof header_fields / sizeof *header_fields, w);
    if (field)
        return set_field(files, field, &files->e->h);
    if (!files->nsections)
        return err(files, start, DIAG_E0351, w);
    field = find_field(section_fields, sizeof section_fields / sizeof *section_fields, w);
    if (field) {
        Elf64_Shdr unused;
        return set_field(files, field, files->emit ? &current(files)->h : &unused);
    }
    if (!files->in_section && !files->in_gap)
        return err(files, start, DIAG_E0350, ".section before data");
    bool good = data_directive(files, w, &known);
    return known ? good : err(files, start, DIAG_E0351, w);
}

/* ---- labels and code ---- */
static bool define_label(FileAsm *files, const char *start, const char *name) {
    if (files->emit)
        return true;
    StrId id = str_intern_z(&files->t->strings, name);
    if (strmap_get(&files->label_of, id))
        return err(files, start, DIAG_E0353, name);
    VEC_ADD(files->a, &files->labels, ((Label){id, files->nsections, files->data.n}));
    strmap_put(&files->label_of, files->a, id, files->labels.n);
    return true;
}

static bool resolve(void *user, const char *name, size_t size_bytes, int64_t *value) {
    FileAsm *files = user;
    StrId id = str_find(&files->t->strings, name, size_bytes);
    uint32_t label = id.i ? strmap_get(&files->label_of, id) : 0;
    if (!label || files->labels.at[label - 1].section != files->nsections)
        return false;
    *value = (int64_t)files->labels.at[label - 1].offset;
    return true;
}

/* The address that disassembly wrote before an instruction, as a comment. */
static bool printed_address(const AsmText *text, const char *line, uint64_t *address) {
    const char *source = text->source->text, *end = source + text->source->size_bytes;
    const char *p = source + (line - text->text);
    while (p < end && *p != ']' && *p != '\n')
        p++;
    for (p++; p < end && *p == ' ';)
        p++;
    if (end - p < 2 || p[0] != '/' || p[1] != '*')
        return false;
    for (p += 2, *address = 0; p < end && isxdigit((unsigned char)*p); p++)
        *address = *address << 4 | (unsigned)(*p <= '9' ? *p - '0' : (*p | 32) - 'a' + 10);
    return end - p >= 2 && p[0] == '*' && p[1] == '/';
}

static bool code_line(FileAsm *files) {
    uint64_t word[2] = {0, 0}, printed;
    const char *start = files->t->p;
    if (!files->target)
        return err(files, start, DIAG_E0350, ".target before the first instruction");
    files->has_code = true;
    if (files->emit && !files->moved && printed_address(files->t, start, &printed) &&
        printed != files->data.n) {
        files->moved = true; /* one report will do */
        return err(files, start, DIAG_E0358,
                   arena_printf(files->a, "the instruction was at 0x%llx and is at 0x%llx now",
                                (unsigned long long)printed, (unsigned long long)files->data.n));
    }
    IsaParseOptions opt = {resolve, files};
    if (files->emit && !asm_instruction(files->t, files->target, files->data.n, &opt, word))
        return false;
    elf_bytes_u64(files->a, &files->data, word[0]);
    elf_bytes_u64(files->a, &files->data, word[1]);
    return true;
}

static bool statement(FileAsm *files) {
    const char *start = files->t->p;
    if (*start == '[')
        return code_line(files);
    const char *w = asm_word(files->t);
    if (!w)
        return err(files, start, DIAG_E0350, "a directive, a label or an instruction");
    if (asm_accept(files->t, ':'))
        return define_label(files, start, w) && asm_expect_end(files->t);
    if (*w != '.')
        return err(files, start, DIAG_E0350, "a control field before the instruction");
    return directive(files, start, w) && asm_expect_end(files->t);
}

static bool walk_file(FileAsm *files, bool emit) {
    files->emit = emit;
    files->nsections = 0;
    files->zeros = 0;
    files->data = (Bytes){0};
    files->in_gap = files->in_section = false;
    files->e->gaps.n = 0;
    asm_rewind(files->t);
    bool good = true;
    while (asm_next_line(files->t))
        good &= statement(files);
    if (emit)
        close_part(files);
    return good && !files->moved;
}

/* ---- finish ---- */
/* Names must be those of the name table: the file has only the offsets. */
static bool check_names(FileAsm *files) {
    for (uint32_t i = 1; i < files->e->sections.n; i++) {
        const ElfSection *section = &files->e->sections.at[i];
        const char *name = elf_image_string(files->e, files->e->h.e_shstrndx, section->h.sh_name);
        if (!name || strcmp(name, section->name) != 0)
            return diag_in(files->t->d, files->t->source, files->section_locs.at[i], DIAG_E0356,
                           arena_printf(files->a, "section %s: .__section_name is not the place of its name",
                                        section->name));
        if (section->h.sh_addralign & (section->h.sh_addralign - 1))
            return diag_in(
                files->t->d, files->t->source, files->section_locs.at[i], DIAG_E0356,
                arena_printf(files->a, "section %s: the alignment is not a power of two", section->name));
    }
    return true;
}

/* Parts keep the places that the text gives them, or come behind: in a file of moderate size. */
static bool check_places(FileAsm *files) {
    uint64_t farthest = files->e->h.e_shoff;
    if (files->e->segments.n && files->e->h.e_phoff > farthest)
        farthest = files->e->h.e_phoff;
    SrcLoc loc = {0};
    for (uint32_t i = 1; i < files->e->sections.n; i++) {
        const Elf64_Shdr *header = &files->e->sections.at[i].h;
        if (!elf_image_is_nobits(header->sh_type) && header->sh_size && header->sh_offset > farthest) {
            farthest = header->sh_offset;
            loc = files->section_locs.at[i];
        }
    }
    return farthest <= MOST_FILE_BYTES ||
           diag_in(files->t->d, files->t->source, loc, DIAG_E0356, "an offset beyond 256 MiB");
}

/* Sections that moved take the segments that start or end with them along. */
static void move_segments(ElfImage *image, const Elf64_Shdr *old, const Elf64_Ehdr *header) {
    for (uint32_t k = 0; k < image->segments.n; k++) {
        Elf64_Phdr *phdr = &image->segments.at[k];
        uint64_t lo = phdr->p_offset, hi = phdr->p_offset + phdr->p_filesz,
                 extra = phdr->p_memsz - phdr->p_filesz;
        uint64_t new_lo = lo, new_hi = hi;
        if (lo == header->e_phoff) {
            phdr->p_offset = image->h.e_phoff;
            continue;
        }
        for (uint32_t i = 1; i < image->sections.n; i++) {
            const Elf64_Shdr *elf64_shdr = &image->sections.at[i].h;
            if (elf_image_is_nobits(elf64_shdr->sh_type) || !elf64_shdr->sh_size)
                continue;
            if (old[i].sh_offset == lo)
                new_lo = elf64_shdr->sh_offset;
            if (old[i].sh_offset + old[i].sh_size == hi)
                new_hi = elf64_shdr->sh_offset + elf64_shdr->sh_size;
        }
        if (new_lo == lo && new_hi == hi)
            continue; /* odd ones stay as they are */
        phdr->p_offset = new_lo;
        phdr->p_filesz = new_hi > new_lo ? new_hi - new_lo : 0;
        phdr->p_memsz = phdr->p_filesz + extra;
    }
}

/* Declared sizes, before contents replace them: found again in a third, short walk over the directives. */
static Elf64_Shdr *declared(FileAsm *files) {
    Elf64_Shdr *old = ARENA_ARRAY(files->a, Elf64_Shdr, files->e->sections.n);
    for (uint32_t i = 0; i < files->e->sections.n; i++)
        old[i] = files->e->sections.at[i].h;
    uint32_t n = 0;
    asm_rewind(files->t);
    while (asm_next_line(files->t)) {
        const char *w = asm_word(files->t);
        uint64_t v;
        if (w && strcmp(w, ".section") == 0)
            n++;
        else if (w && n && strcmp(w, ".__section_size") == 0 && asm_number(files->t, &v))
            old[n - 1].sh_size = v;
    }
    return old;
}

bool asm_read_file(AsmText *text, void **image, size_t *size_bytes) {
    FileAsm f = {.t = text, .a = text->a, .e = ARENA_NEW(text->a, ElfImage)};
    Elf64_Ehdr *header = &f.e->h;
    memcpy(header->e_ident, ELFMAG, SELFMAG);
    header->e_ident[EI_CLASS] = ELFCLASS64;
    header->e_ident[EI_DATA] = ELFDATA2LSB;
    header->e_ident[EI_VERSION] = EV_CURRENT;
    header->e_ehsize = sizeof(Elf64_Ehdr);
    header->e_shentsize = sizeof(Elf64_Shdr);
    if (!walk_file(&f, false) || !walk_file(&f, true) || !check_names(&f))
        return false;
    if (f.e->sections.n < 2 || header->e_shstrndx == 0 || header->e_shstrndx >= f.e->sections.n)
        return diag_in(text->d, text->source, (SrcLoc){0}, DIAG_E0356, "no section name table");
    Elf64_Ehdr old_header = *header;
    if (!check_places(&f))
        return false;
    Elf64_Shdr *old = declared(&f);
    elf_image_layout(f.e, true);
    move_segments(f.e, old, &old_header);
    return elf_image_write(f.e, image, size_bytes, text->d);
}
