/* ELF structure in and out, through libelf: see emit/elf/image.h. libelf is given an image only after its
 * tables were checked here; what is written is laid out here, and libelf puts the headers into the file's
 * form. SPDX-License-Identifier: MIT */
#include "emit/elf/image.h"
#include "emit/elf/nvinfo.h"
#include "base/align.h"
#include "base/scope.h"
#include "emit/elf/names.h"
#include "emit/elf/texture.h"
#include "ir/ir.h"
#include <errno.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>

static SrcLoc at(uint64_t offset) { return (SrcLoc){offset < UINT32_MAX ? (uint32_t)offset + 1 : 0}; }

/* ---- byte buffers ---- */
uint8_t *elf_bytes_add(Arena *a, Bytes *bytes, const void *data, size_t size_bytes) {
    size_t need = bytes->n + size_bytes;
    if (need > bytes->cap || !bytes->at) {
        size_t cap = bytes->cap ? bytes->cap : 64;
        while (cap < need)
            cap *= 2;
        bytes->at = arena_grow(a, bytes->at, bytes->cap, cap);
        bytes->cap = (unsigned)cap;
    }
    uint8_t *p = bytes->at + bytes->n;
    if (data && size_bytes)
        memcpy(p, data, size_bytes);
    else if (size_bytes)
        memset(p, 0, size_bytes);
    bytes->n = (unsigned)need;
    return p;
}
void elf_bytes_u16(Arena *a, Bytes *b, uint16_t v) { put_u16(elf_bytes_add(a, b, NULL, 2), v); }
void elf_bytes_u32(Arena *a, Bytes *b, uint32_t v) { put_u32(elf_bytes_add(a, b, NULL, 4), v); }
void elf_bytes_u64(Arena *a, Bytes *b, uint64_t v) { put_u64(elf_bytes_add(a, b, NULL, 8), v); }
uint32_t elf_bytes_string(Arena *a, Bytes *bytes, const char *text) {
    if (!*text && bytes->n && bytes->at[0] == 0)
        return 0;
    uint32_t offset = bytes->n;
    elf_bytes_add(a, bytes, text, strlen(text) + 1);
    return offset;
}

/* ---- look-ups ---- */
uint32_t elf_image_find(const ElfImage *image, const char *name) {
    uint32_t found = image->names ? elf_names_find(image->names, image, name) : 0;
    for (uint32_t i = image->names ? elf_names_count(image->names) : 1; !found && i < image->sections.n; i++)
        if (strcmp(image->sections.at[i].name, name) == 0)
            return i;
    return found;
}

uint32_t elf_image_symbols(const ElfImage *image, uint32_t link) {
    enum { FIRST = 120, LAST = 122, LEFT_OUT = 2 };
    bool old = image->h.e_ident[EI_OSABI] == ELF_OLD_OSABI;
    if (old && image->h.e_version >= FIRST && image->h.e_version <= LAST && link > LEFT_OUT &&
        link < image->sections.n && image->sections.at[link].h.sh_type != SHT_SYMTAB &&
        image->sections.at[link - LEFT_OUT].h.sh_type == SHT_SYMTAB)
        return link - LEFT_OUT;
    return link;
}

const char *elf_image_string(const ElfImage *image, uint32_t section, uint64_t offset) {
    if (section == 0 || section >= image->sections.n)
        return NULL;
    const ElfSection *elf_section = &image->sections.at[section];
    if (elf_section->h.sh_type != SHT_STRTAB || !elf_section->data || offset >= elf_section->h.sh_size)
        return NULL;
    const char *text = (const char *)elf_section->data + offset;
    return memchr(text, 0, elf_section->h.sh_size - offset) ? text : NULL;
}

static bool is_new_form(const Elf64_Ehdr *header) {
    return header->e_machine == EM_NV_CUDA && header->e_ident[EI_OSABI] == 0x41;
}

bool elf_names_note(const Elf64_Ehdr *header) { return is_new_form(header); }

/* SM number of a CUDA header: bits 8-15 of e_flags in the new form, bits 0-7 in the old one. */
static unsigned header_sm(const Elf64_Ehdr *header) {
    return is_new_form(header) ? header->e_flags >> 8 & 0xff : header->e_flags & 0xff;
}

static bool is_own_form(const Elf64_Ehdr *header) {
    return !is_new_form(header) && (header->e_flags & ELF_OWN_FORM);
}

/* Records of four bytes, their form and code first; those of the sized form have more behind them. */
static bool compat_is_own(const uint8_t *record, size_t size_bytes) {
    for (size_t at = 0; at + 4 <= size_bytes;
         at += record[at] == NVF_SIZED ? 4u + get_u16(record + at + 2) : 4u)
        if (record[at] == NVF_BYTE && record[at + 1] == COMPAT_OWN_FORM)
            return record[at + 2] == 1;
    return false;
}

const Target *elf_header_target(const Elf64_Ehdr *header, bool own) {
    for (const Target *const *t = isa_all_targets; *t; t++) {
        const TargetInfo *info = isa_target_info(*t);
        if (info->elf_machine != header->e_machine)
            continue;
        if (info->elf_machine != EM_NV_CUDA) {
            if (info->elf_flags == header->e_flags && info->elf_osabi == header->e_ident[EI_OSABI] &&
                info->elf_abiversion == header->e_ident[EI_ABIVERSION])
                return *t;
        } else if ((info->elf_flags & 0xff) == header_sm(header) &&
                   (!info->is_made ||
                    (own || is_own_form(header)) == ((info->elf_flags & ELF_OWN_FORM) != 0)))
            return *t;
    }
    return NULL;
}

const Target *elf_file_target(const void *image, size_t size_bytes) {
    Elf64_Ehdr header;
    if (size_bytes < sizeof header)
        return NULL;
    memcpy(&header, image, sizeof header);
    bool own = false;
    size_t each = sizeof(Elf64_Shdr), room = size_bytes - sizeof header;
    for (size_t k = 0; is_new_form(&header) && k < header.e_shnum && k < room / each && !own; k++) {
        Elf64_Shdr section;
        if (header.e_shoff > size_bytes || (size_bytes - header.e_shoff) / each <= k)
            break;
        memcpy(&section, (const uint8_t *)image + header.e_shoff + k * each, each);
        if (section.sh_type == SHT_NV_COMPAT && section.sh_offset <= size_bytes &&
            section.sh_size <= size_bytes - section.sh_offset)
            own = compat_is_own((const uint8_t *)image + section.sh_offset, section.sh_size);
    }
    return elf_header_target(&header, own);
}

/* bru1 numbers relocations as RelocKind does; the other files have NVIDIA's numbers. */
uint32_t elf_reloc_number(const Target *target, unsigned kind) {
    static const uint8_t native[RELOC_KIND_COUNT] = {
        [RELOC_ABS32_LO] = 56, [RELOC_ABS32_HI] = 57, [RELOC_CALL_REL] = 58, [RELOC_SHARED_OFFSET32] = 55,
        [RELOC_ABS64] = 2,     [RELOC_GENERIC64] = 4, [RELOC_CALL_ABS] = 58, [RELOC_CONST_OFFSET32] = 59};
    enum ElfForm form = isa_target_info(target)->elf_form;
    if (form == ElfForm_BRU1)
        return kind;
    return (kind == RELOC_CALL_REL || kind == RELOC_CALL_ABS) && form == ElfForm_SM90 ? 75 : native[kind];
}

unsigned elf_reloc_kind(const Target *target, uint32_t number) {
    if (isa_target_info(target)->elf_machine != EM_NV_CUDA)
        return number < RELOC_KIND_COUNT ? number : RELOC_NONE;
    switch (number) {
    case 2: return RELOC_ABS64;
    case 4: return RELOC_GENERIC64;
    case RELOC_NV_TEXTURE:
    case RELOC_NV_SURFACE: return RELOC_TEXTURE;
    case 55: return RELOC_SHARED_OFFSET32;
    case 56: return RELOC_ABS32_LO;
    case 57: return RELOC_ABS32_HI;
    case 58:
    case 75: return RELOC_CALL_REL;
    case 59: return RELOC_CONST_OFFSET32;
    default: return RELOC_NONE;
    }
}

/* ---- reading ---- */
typedef struct {
    uint64_t lo, hi;
    uint32_t section; /* or one of SPAN_* */
} Span;
enum { SPAN_HEADER = -1, SPAN_SHDRS = -2, SPAN_PHDRS = -3 };

static int span_order(const void *x, const void *y) {
    const Span *span = x, *b = y;
    if (span->lo != b->lo)
        return span->lo < b->lo ? -1 : 1;
    return span->hi < b->hi ? -1 : span->hi > b->hi;
}

static const char *span_name(const ElfImage *image, const Span *span) {
    if (span->section == (uint32_t)SPAN_HEADER)
        return "the file header";
    if (span->section == (uint32_t)SPAN_SHDRS)
        return "the section headers";
    if (span->section == (uint32_t)SPAN_PHDRS)
        return "the program headers";
    return image->sections.at[span->section].name;
}

/* ptxas gives the copy of a debugging section for sm_100, .nv.merc.NAME, the bytes of the section itself. */
static bool is_copy(const char *section) { return strncmp(section, ".nv.merc.", 9) == 0; }

static bool is_shared(const ElfImage *image, const Span *one, const Span *other) {
    return one->lo == other->lo && one->hi == other->hi &&
           is_copy(span_name(image, one)) != is_copy(span_name(image, other));
}

/* Sort all parts by offset, refuse overlaps, note the bytes between them. */
static bool find_gaps(Arena *a, ElfImage *elf_image, size_t size_bytes, Diags *d) {
    VEC(Span) spans = {0};
    VEC_ADD(a, &spans, ((Span){0, sizeof(Elf64_Ehdr), (uint32_t)SPAN_HEADER}));
    uint64_t sh = elf_image->h.e_shoff, ph = elf_image->h.e_phoff;
    if (elf_image->sections.n)
        VEC_ADD(a, &spans,
                ((Span){sh, sh + elf_image->sections.n * sizeof(Elf64_Shdr), (uint32_t)SPAN_SHDRS}));
    if (elf_image->segments.n)
        VEC_ADD(a, &spans,
                ((Span){ph, ph + elf_image->segments.n * sizeof(Elf64_Phdr), (uint32_t)SPAN_PHDRS}));
    for (uint32_t i = 1; i < elf_image->sections.n; i++) {
        const Elf64_Shdr *header = &elf_image->sections.at[i].h;
        if (elf_image->sections.at[i].data)
            VEC_ADD(a, &spans, ((Span){header->sh_offset, header->sh_offset + header->sh_size, i}));
    }
    qsort(spans.at, spans.n, sizeof *spans.at, span_order);
    uint64_t end = 0;
    for (uint32_t i = 0; i <= spans.n; i++) {
        uint64_t lo = i < spans.n ? spans.at[i].lo : size_bytes;
        if (i && i < spans.n && is_shared(elf_image, &spans.at[i - 1], &spans.at[i]))
            continue;
        if (lo < end)
            return diag(d, at(lo), DIAG_E0404, span_name(elf_image, &spans.at[i]),
                        span_name(elf_image, &spans.at[i - 1]));
        bool used = false;
        for (uint64_t k = end; k < lo && !used; k++)
            used = elf_image->image[k] != 0;
        if (used)
            VEC_ADD(a, &elf_image->gaps, ((ElfGap){end, lo - end, elf_image->image + end}));
        if (i < spans.n)
            end = spans.at[i].hi;
    }
    return true;
}

static bool in_file(uint64_t offset, uint64_t count, uint64_t each, size_t size_bytes) {
    return offset <= size_bytes && count <= (size_bytes - offset) / each;
}

/* Does it begin as a text does? */
static bool is_text(const uint8_t ident[EI_NIDENT]) {
    for (unsigned k = 0; k < EI_NIDENT; k++)
        if (ident[k] != '\n' && ident[k] != '\r' && ident[k] != '\t' && (ident[k] < 0x20 || ident[k] > 0x7e))
            return false;
    return true;
}

/* Everything that libelf relies on: identification, header sizes, where the two tables are. */
static bool check_header(const uint8_t *p, size_t size_bytes, Elf64_Ehdr *header, Diags *d) {
    if (size_bytes < sizeof *header)
        return diag(d, at(0), DIAG_E0401, "it is shorter than an ELF header");
    memcpy(header, p,
           sizeof *header); /* little endian, checked next; host order is dealt with by libelf below */
    if (memcmp(header->e_ident, ELFMAG, SELFMAG) != 0)
        return diag(
            d, at(0), DIAG_E0401,
            is_text(header->e_ident)
                ? "it is text; heddle compile makes a binary of PTX, heddle asm of what disasm has printed"
                : "no ELF magic number");
    if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB)
        return diag(d, at(EI_CLASS), DIAG_E0401, "not 64-bit little-endian");
    if (header->e_ident[EI_VERSION] != EV_CURRENT)
        return diag(d, at(EI_VERSION), DIAG_E0401, "unknown ELF version");
    Elf_Data from = {.d_buf = (void *)(uintptr_t)p,
                     .d_type = ELF_T_EHDR,
                     .d_version = EV_CURRENT,
                     .d_size = sizeof *header};
    Elf_Data to = {.d_buf = header, .d_type = ELF_T_EHDR, .d_version = EV_CURRENT, .d_size = sizeof *header};
    if (!elf64_xlatetom(&to, &from, ELFDATA2LSB))
        return diag(d, at(0), DIAG_E0410, elf_errmsg(-1));
    if (header->e_ehsize != sizeof *header)
        return diag(d, at(offsetof(Elf64_Ehdr, e_ehsize)), DIAG_E0401, "wrong header size");
    if (header->e_shnum == 0 || header->e_shnum >= SHN_LORESERVE || header->e_shentsize != sizeof(Elf64_Shdr))
        return diag(d, at(offsetof(Elf64_Ehdr, e_shentsize)), DIAG_E0401,
                    "wrong number or size of section headers");
    if (header->e_phnum && header->e_phentsize != sizeof(Elf64_Phdr))
        return diag(d, at(offsetof(Elf64_Ehdr, e_phentsize)), DIAG_E0401, "wrong size of program headers");
    if (header->e_phnum == PN_XNUM)
        return diag(d, at(offsetof(Elf64_Ehdr, e_phnum)), DIAG_E0401, "too many program headers");
    if (!in_file(header->e_shoff, header->e_shnum, sizeof(Elf64_Shdr), size_bytes))
        return diag(d, at(offsetof(Elf64_Ehdr, e_shoff)), DIAG_E0402, "the section headers",
                    (unsigned long long)header->e_shoff,
                    (unsigned long long)header->e_shnum * sizeof(Elf64_Shdr), (unsigned long long)size_bytes);
    if (header->e_phnum && !in_file(header->e_phoff, header->e_phnum, sizeof(Elf64_Phdr), size_bytes))
        return diag(d, at(offsetof(Elf64_Ehdr, e_phoff)), DIAG_E0402, "the program headers",
                    (unsigned long long)header->e_phoff,
                    (unsigned long long)header->e_phnum * sizeof(Elf64_Phdr), (unsigned long long)size_bytes);
    if (header->e_shstrndx == 0 || header->e_shstrndx >= header->e_shnum)
        return diag(d, at(offsetof(Elf64_Ehdr, e_shstrndx)), DIAG_E0401, "no section name table");
    return true;
}

static uint64_t shdr_at(const ElfImage *image, uint32_t i, size_t member) {
    return image->h.e_shoff + i * sizeof(Elf64_Shdr) + member;
}

static bool read_sections(Arena *a, ElfImage *elf_image, Elf *elf, size_t size_bytes, Diags *d) {
    for (uint32_t i = 0; i < elf_image->h.e_shnum; i++) {
        ElfSection *section = VEC_PUSH(a, &elf_image->sections);
        section->name = "";
        Elf_Scn *scn = elf_getscn(elf, i);
        if (!scn || !gelf_getshdr(scn, &section->h))
            return diag(d, at(shdr_at(elf_image, i, 0)), DIAG_E0410, elf_errmsg(-1));
        const Elf64_Shdr *header = &section->h;
        if (i == 0 || elf_image_is_nobits(header->sh_type) || header->sh_size == 0)
            continue;
        if (!in_file(header->sh_offset, header->sh_size, 1, size_bytes))
            return diag(d, at(shdr_at(elf_image, i, offsetof(Elf64_Shdr, sh_offset))), DIAG_E0402,
                        arena_printf(a, "section %u", i), (unsigned long long)header->sh_offset,
                        (unsigned long long)header->sh_size, (unsigned long long)size_bytes);
        section->data = elf_image->image + header->sh_offset;
    }
    for (uint32_t i = 1; i < elf_image->sections.n; i++) {
        ElfSection *section = &elf_image->sections.at[i];
        section->name = elf_image_string(elf_image, elf_image->h.e_shstrndx, section->h.sh_name);
        if (!section->name) {
            section->name = "";
            return diag(d, at(shdr_at(elf_image, i, 0)), DIAG_E0405, i, "",
                        "its name is outside the name table");
        }
        uint64_t align = section->h.sh_addralign;
        if (align & (align - 1))
            return diag(d, at(shdr_at(elf_image, i, offsetof(Elf64_Shdr, sh_addralign))), DIAG_E0405, i,
                        section->name, "the alignment is not a power of two");
        if (section->data && align > 1 && section->h.sh_offset % align)
            return diag(d, at(shdr_at(elf_image, i, offsetof(Elf64_Shdr, sh_offset))), DIAG_E0405, i,
                        section->name, "the offset is not aligned");
    }
    return true;
}

static ElfImage *read_with(Arena *a, ElfImage *image, Elf *elf, size_t size_bytes, Diags *d) {
    if (elf_kind(elf) != ELF_K_ELF) {
        diag(d, at(0), DIAG_E0410, elf_errmsg(-1));
        return NULL;
    }
    if (!read_sections(a, image, elf, size_bytes, d))
        return NULL;
    for (int i = 0; i < image->h.e_phnum; i++)
        if (!gelf_getphdr(elf, i, VEC_PUSH(a, &image->segments))) {
            diag(d, at(image->h.e_phoff), DIAG_E0410, elf_errmsg(-1));
            return NULL;
        }
    elf_image_index(a, image);
    return find_gaps(a, image, size_bytes, d) ? image : NULL;
}

static void end_elf(void *elf) { elf_end(elf); }

ElfImage *elf_image_read(Arena *a, const void *image, size_t size_bytes, Diags *d) {
    elf_version(EV_CURRENT);
    ElfImage *elf_image = ARENA_NEW(a, ElfImage);
    if (!check_header(image, size_bytes, &elf_image->h, d))
        return NULL;
    /* libelf wants e_version 1, which old CUDA headers do not have; it gets its own copy. */
    uint8_t *copy = arena_copy(a, image, size_bytes);
    elf_image->image = arena_copy(a, image, size_bytes);
    elf_image->file_bytes = size_bytes;
    put_u32(copy + offsetof(Elf64_Ehdr, e_version), EV_CURRENT);
    Elf *elf = elf_memory((char *)copy, size_bytes);
    if (!elf)
        scope_give_up(SCOPE_MEMORY, NULL); /* of memory that holds a header it asks no more */
    scope_guard(elf, end_elf);
    errno = 0;
    ElfImage *out = read_with(a, elf_image, elf, size_bytes, d);
    if (!out && errno == ENOMEM)
        scope_give_up(SCOPE_MEMORY, NULL);
    scope_unguard(elf);
    elf_end(elf);
    return out;
}

/* ---- writing ---- */
static uint64_t place_part(uint64_t end, uint64_t align, uint64_t wanted, bool keep) {
    return keep && wanted >= end ? wanted : align_up(end, align);
}

/* Parts in the order of their present offsets (`keep`), else by index with the tables last. */
typedef struct {
    uint64_t wanted;
    uint32_t index;
} Part;
static int part_order(const void *x, const void *y) {
    const Part *part = x, *b = y;
    if (part->wanted != b->wanted)
        return part->wanted < b->wanted ? -1 : 1;
    return part->index < b->index ? -1 : part->index > b->index;
}

/* Did both have the same place, as a section and its copy for sm_100, and are their bytes still the same? */
static bool shares_bytes(const ElfImage *image, const Part *before, const Part *part) {
    if (before->index >= image->sections.n || before->wanted != part->wanted)
        return false;
    const ElfSection *one = &image->sections.at[before->index], *other = &image->sections.at[part->index];
    return is_copy(one->name) != is_copy(other->name) && one->data && other->data &&
           one->h.sh_size == other->h.sh_size && memcmp(one->data, other->data, one->h.sh_size) == 0;
}

void elf_image_layout(ElfImage *image, bool keep) {
    uint32_t n = image->sections.n;
    Part *parts = mem_zeroed(n + 2u, sizeof *parts);
    for (uint32_t i = 1; i < n; i++)
        parts[i - 1] = (Part){keep ? image->sections.at[i].h.sh_offset : 0, i};
    parts[n - 1] = (Part){keep ? image->h.e_shoff : 0, n};
    parts[n] = (Part){keep ? image->h.e_phoff : 0, n + 1};
    qsort(parts, n + 1u, sizeof *parts, part_order);
    uint64_t end = sizeof(Elf64_Ehdr);
    for (uint32_t k = 0; k <= n; k++) {
        uint32_t i = parts[k].index;
        if (i == n) {
            image->h.e_shoff = place_part(end, 8, image->h.e_shoff, keep);
            end = image->h.e_shoff + n * sizeof(Elf64_Shdr);
        } else if (i == n + 1) {
            if (!image->segments.n)
                continue;
            image->h.e_phoff = place_part(end, 8, image->h.e_phoff, keep);
            end = image->h.e_phoff + image->segments.n * sizeof(Elf64_Phdr);
        } else {
            ElfSection *section = &image->sections.at[i];
            bool has_bytes = !elf_image_is_nobits(section->h.sh_type) && section->h.sh_size > 0;
            if (keep && !has_bytes)
                continue;
            if (keep && k && shares_bytes(image, &parts[k - 1], &parts[k])) {
                section->h.sh_offset = image->sections.at[parts[k - 1].index].h.sh_offset;
                continue;
            }
            uint64_t align = section->h.sh_addralign, wanted = section->h.sh_offset;
            section->h.sh_offset = place_part(end, align, wanted, keep && (!align || wanted % align == 0));
            if (has_bytes)
                end = section->h.sh_offset + section->h.sh_size;
        }
    }
    mem_free(parts);
    if (!keep || image->file_bytes < end)
        image->file_bytes = end;
    image->h.e_shnum = (Elf64_Half)n;
    image->h.e_phnum = (Elf64_Half)image->segments.n;
}

static bool grow_to(uint64_t *end, uint64_t offset, uint64_t count, uint64_t each) {
    if (count && offset > INT64_MAX - count * each)
        return false;
    if (count && *end < offset + count * each)
        *end = offset + count * each;
    return true;
}

/* The bytes up to which the file has parts; false: no file is that long. */
static bool find_end(const ElfImage *image, uint64_t *end) {
    *end = image->file_bytes > sizeof image->h ? image->file_bytes : sizeof image->h;
    bool fits = grow_to(end, image->h.e_shoff, image->sections.n, sizeof(Elf64_Shdr)) &&
                grow_to(end, image->h.e_phoff, image->segments.n, sizeof(Elf64_Phdr));
    for (uint32_t i = 1; i < image->sections.n && fits; i++)
        if (image->sections.at[i].data)
            fits = grow_to(end, image->sections.at[i].h.sh_offset, image->sections.at[i].h.sh_size, 1);
    return fits;
}

/* As it stands in the file, whose bytes have an order of their own. */
static void to_file(uint8_t *out, void *record, size_t size_bytes, Elf_Type type) {
    Elf_Data from = {.d_buf = record, .d_type = type, .d_version = EV_CURRENT, .d_size = size_bytes};
    Elf_Data to = {.d_buf = out, .d_type = type, .d_version = EV_CURRENT, .d_size = size_bytes};
    elf64_xlatetof(&to, &from, ELFDATA2LSB);
}

/* The sections are laid out (elf_image_layout), and headers may be odd: libelf would refuse to write them,
 * and writes to files only. */
bool elf_image_write(const ElfImage *e, void **image, size_t *size_bytes, Diags *d) {
    uint64_t end;
    if (!find_end(e, &end))
        return diag(d, (SrcLoc){0}, DIAG_E0411, strerror(EFBIG));
    elf_version(EV_CURRENT);
    uint8_t *p = mem_zeroed(1, end);
    for (uint32_t i = 1; i < e->sections.n; i++)
        if (e->sections.at[i].data && e->sections.at[i].h.sh_size)
            memcpy(p + e->sections.at[i].h.sh_offset, e->sections.at[i].data, e->sections.at[i].h.sh_size);
    to_file(p, (void *)(uintptr_t)&e->h, sizeof e->h, ELF_T_EHDR);
    for (uint32_t i = 0; i < e->sections.n; i++)
        to_file(p + e->h.e_shoff + i * sizeof(Elf64_Shdr), &e->sections.at[i].h, sizeof(Elf64_Shdr),
                ELF_T_SHDR);
    for (uint32_t i = 0; i < e->segments.n; i++)
        to_file(p + e->h.e_phoff + i * sizeof(Elf64_Phdr), &e->segments.at[i], sizeof(Elf64_Phdr),
                ELF_T_PHDR);
    for (uint32_t i = 0; i < e->gaps.n; i++)
        if (in_file(e->gaps.at[i].offset, e->gaps.at[i].size_bytes, 1, end) && e->gaps.at[i].size_bytes)
            memcpy(p + e->gaps.at[i].offset, e->gaps.at[i].data, e->gaps.at[i].size_bytes);
    *image = p;
    *size_bytes = end;
    return true;
}

bool elf_image_names_owner(const ElfImage *image, uint32_t section) {
    static const char *const kinds[] = {".nv.info.", ".nv.constant0.", ".nv.constant2.", ".nv.shared."};
    static const char code[] = ".text.";
    const ElfSection *own = &image->sections.at[section];
    uint32_t owner = own->h.sh_info;
    const char *name = owner && owner < image->sections.n ? image->sections.at[owner].name : "";
    for (unsigned k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        size_t length = strlen(kinds[k]);
        if (owner && strncmp(own->name, kinds[k], length) == 0)
            return strncmp(name, code, sizeof code - 1) == 0 &&
                   strcmp(name + sizeof code - 1, own->name + length) == 0;
    }
    return true;
}
