/* ELF structure in and out, through libelf: see emit/elf/image.h. libelf is given an image only after its
 * tables were checked here, and lays nothing out by itself (ELF_F_LAYOUT).
 * SPDX-License-Identifier: MIT */
#include "emit/elf/image.h"
#include <errno.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static SrcLoc at(uint64_t offset) { return (SrcLoc){offset < UINT32_MAX ? (uint32_t)offset + 1 : 0}; }

/* ---- byte buffers ---- */
uint8_t *bytes_add(Arena *a, Bytes *b, const void *data, size_t size_bytes) {
    size_t need = b->n + size_bytes;
    if (need > b->cap) {
        size_t cap = b->cap ? b->cap : 64;
        while (cap < need)
            cap *= 2;
        b->at = arena_grow(a, b->at, b->cap, cap);
        b->cap = (unsigned)cap;
    }
    uint8_t *p = b->at + b->n;
    if (data && size_bytes)
        memcpy(p, data, size_bytes);
    else if (size_bytes)
        memset(p, 0, size_bytes);
    b->n = (unsigned)need;
    return p;
}
void bytes_u16(Arena *a, Bytes *b, uint16_t v) { put_u16(bytes_add(a, b, NULL, 2), v); }
void bytes_u32(Arena *a, Bytes *b, uint32_t v) { put_u32(bytes_add(a, b, NULL, 4), v); }
void bytes_u64(Arena *a, Bytes *b, uint64_t v) { put_u64(bytes_add(a, b, NULL, 8), v); }
uint32_t bytes_string(Arena *a, Bytes *b, const char *text) {
    if (!*text && b->n && b->at[0] == 0)
        return 0;
    uint32_t offset = b->n;
    bytes_add(a, b, text, strlen(text) + 1);
    return offset;
}

/* ---- look-ups ---- */
uint32_t elfimg_find(const ElfImage *e, const char *name) {
    for (uint32_t i = 1; i < e->sections.n; i++)
        if (strcmp(e->sections.at[i].name, name) == 0)
            return i;
    return 0;
}

const char *elfimg_string(const ElfImage *e, uint32_t section, uint64_t offset) {
    if (section == 0 || section >= e->sections.n)
        return NULL;
    const ElfSection *s = &e->sections.at[section];
    if (s->h.sh_type != SHT_STRTAB || !s->data || offset >= s->h.sh_size)
        return NULL;
    const char *text = (const char *)s->data + offset;
    return memchr(text, 0, s->h.sh_size - offset) ? text : NULL;
}

/* SM number of a CUDA header: bits 8-15 of e_flags in the new form, bits 0-7 in the old one. */
static unsigned header_sm(const Elf64_Ehdr *h) {
    return h->e_ident[EI_OSABI] == 0x41 ? h->e_flags >> 8 & 0xff : h->e_flags & 0xff;
}

const Target *elfimg_target(const Elf64_Ehdr *h) {
    for (const Target *const *t = isa_targets; *t; t++) {
        const TargetInfo *info = isa_target_info(*t);
        if (info->elf_machine != h->e_machine)
            continue;
        if (info->elf_machine != EM_NV_CUDA) {
            if (info->elf_flags == h->e_flags && info->elf_osabi == h->e_ident[EI_OSABI] &&
                info->elf_abiversion == h->e_ident[EI_ABIVERSION])
                return *t;
        } else if ((info->elf_flags & 0xff) == header_sm(h))
            return *t;
    }
    return NULL;
}

/* ---- reading ---- */
typedef struct {
    uint64_t lo, hi;
    uint32_t section; /* or one of SPAN_* */
} Span;
enum { SPAN_HEADER = -1, SPAN_SHDRS = -2, SPAN_PHDRS = -3 };

static int span_order(const void *x, const void *y) {
    const Span *a = x, *b = y;
    if (a->lo != b->lo)
        return a->lo < b->lo ? -1 : 1;
    return a->hi < b->hi ? -1 : a->hi > b->hi;
}

static const char *span_name(const ElfImage *e, const Span *s) {
    if (s->section == (uint32_t)SPAN_HEADER)
        return "the file header";
    if (s->section == (uint32_t)SPAN_SHDRS)
        return "the section headers";
    if (s->section == (uint32_t)SPAN_PHDRS)
        return "the program headers";
    return e->sections.at[s->section].name;
}

/* Sort all parts by offset, refuse overlaps, note the bytes between them. */
static bool find_gaps(Arena *a, ElfImage *e, size_t size_bytes, Diags *d) {
    VEC(Span) spans = {0};
    VEC_ADD(a, &spans, ((Span){0, sizeof(Elf64_Ehdr), (uint32_t)SPAN_HEADER}));
    uint64_t sh = e->h.e_shoff, ph = e->h.e_phoff;
    if (e->sections.n)
        VEC_ADD(a, &spans, ((Span){sh, sh + e->sections.n * sizeof(Elf64_Shdr), (uint32_t)SPAN_SHDRS}));
    if (e->segments.n)
        VEC_ADD(a, &spans, ((Span){ph, ph + e->segments.n * sizeof(Elf64_Phdr), (uint32_t)SPAN_PHDRS}));
    for (uint32_t i = 1; i < e->sections.n; i++) {
        const Elf64_Shdr *h = &e->sections.at[i].h;
        if (e->sections.at[i].data)
            VEC_ADD(a, &spans, ((Span){h->sh_offset, h->sh_offset + h->sh_size, i}));
    }
    qsort(spans.at, spans.n, sizeof *spans.at, span_order);
    uint64_t end = 0;
    for (uint32_t i = 0; i <= spans.n; i++) {
        uint64_t lo = i < spans.n ? spans.at[i].lo : size_bytes;
        if (lo < end)
            return diag(d, at(lo), DIAG_E0404, span_name(e, &spans.at[i]), span_name(e, &spans.at[i - 1]));
        bool used = false;
        for (uint64_t k = end; k < lo && !used; k++)
            used = e->image[k] != 0;
        if (used)
            VEC_ADD(a, &e->gaps, ((ElfGap){end, lo - end, e->image + end}));
        if (i < spans.n)
            end = spans.at[i].hi;
    }
    return true;
}

static bool in_file(uint64_t offset, uint64_t count, uint64_t each, size_t size_bytes) {
    return offset <= size_bytes && count <= (size_bytes - offset) / each;
}

/* Everything that libelf relies on: identification, header sizes, where the two tables are. */
static bool check_header(const uint8_t *p, size_t size_bytes, Elf64_Ehdr *h, Diags *d) {
    if (size_bytes < sizeof *h)
        return diag(d, at(0), DIAG_E0401, "it is shorter than an ELF header");
    memcpy(h, p, sizeof *h); /* little endian, checked next; host order is dealt with by libelf below */
    if (memcmp(h->e_ident, ELFMAG, SELFMAG) != 0)
        return diag(d, at(0), DIAG_E0401, "no ELF magic number");
    if (h->e_ident[EI_CLASS] != ELFCLASS64 || h->e_ident[EI_DATA] != ELFDATA2LSB)
        return diag(d, at(EI_CLASS), DIAG_E0401, "not 64-bit little-endian");
    if (h->e_ident[EI_VERSION] != EV_CURRENT)
        return diag(d, at(EI_VERSION), DIAG_E0401, "unknown ELF version");
    Elf_Data from = {
        .d_buf = (void *)(uintptr_t)p, .d_type = ELF_T_EHDR, .d_version = EV_CURRENT, .d_size = sizeof *h};
    Elf_Data to = {.d_buf = h, .d_type = ELF_T_EHDR, .d_version = EV_CURRENT, .d_size = sizeof *h};
    if (!elf64_xlatetom(&to, &from, ELFDATA2LSB))
        return diag(d, at(0), DIAG_E0410, elf_errmsg(-1));
    if (h->e_ehsize != sizeof *h)
        return diag(d, at(offsetof(Elf64_Ehdr, e_ehsize)), DIAG_E0401, "wrong header size");
    if (h->e_shnum == 0 || h->e_shnum >= SHN_LORESERVE || h->e_shentsize != sizeof(Elf64_Shdr))
        return diag(d, at(offsetof(Elf64_Ehdr, e_shentsize)), DIAG_E0401,
                    "wrong number or size of section headers");
    if (h->e_phnum && h->e_phentsize != sizeof(Elf64_Phdr))
        return diag(d, at(offsetof(Elf64_Ehdr, e_phentsize)), DIAG_E0401, "wrong size of program headers");
    if (h->e_phnum == PN_XNUM)
        return diag(d, at(offsetof(Elf64_Ehdr, e_phnum)), DIAG_E0401, "too many program headers");
    if (!in_file(h->e_shoff, h->e_shnum, sizeof(Elf64_Shdr), size_bytes))
        return diag(d, at(offsetof(Elf64_Ehdr, e_shoff)), DIAG_E0402, "the section headers",
                    (unsigned long long)h->e_shoff, (unsigned long long)h->e_shnum * sizeof(Elf64_Shdr),
                    (unsigned long long)size_bytes);
    if (h->e_phnum && !in_file(h->e_phoff, h->e_phnum, sizeof(Elf64_Phdr), size_bytes))
        return diag(d, at(offsetof(Elf64_Ehdr, e_phoff)), DIAG_E0402, "the program headers",
                    (unsigned long long)h->e_phoff, (unsigned long long)h->e_phnum * sizeof(Elf64_Phdr),
                    (unsigned long long)size_bytes);
    if (h->e_shstrndx == 0 || h->e_shstrndx >= h->e_shnum)
        return diag(d, at(offsetof(Elf64_Ehdr, e_shstrndx)), DIAG_E0401, "no section name table");
    return true;
}

static uint64_t shdr_at(const ElfImage *e, uint32_t i, size_t member) {
    return e->h.e_shoff + i * sizeof(Elf64_Shdr) + member;
}

static bool read_sections(Arena *a, ElfImage *e, Elf *elf, size_t size_bytes, Diags *d) {
    for (uint32_t i = 0; i < e->h.e_shnum; i++) {
        ElfSection *s = VEC_PUSH(a, &e->sections);
        s->name = "";
        Elf_Scn *scn = elf_getscn(elf, i);
        if (!scn || !gelf_getshdr(scn, &s->h))
            return diag(d, at(shdr_at(e, i, 0)), DIAG_E0410, elf_errmsg(-1));
        const Elf64_Shdr *h = &s->h;
        if (i == 0 || elfimg_is_nobits(h->sh_type) || h->sh_size == 0)
            continue;
        if (!in_file(h->sh_offset, h->sh_size, 1, size_bytes))
            return diag(d, at(shdr_at(e, i, offsetof(Elf64_Shdr, sh_offset))), DIAG_E0402,
                        arena_printf(a, "section %u", i), (unsigned long long)h->sh_offset,
                        (unsigned long long)h->sh_size, (unsigned long long)size_bytes);
        s->data = e->image + h->sh_offset;
    }
    for (uint32_t i = 1; i < e->sections.n; i++) {
        ElfSection *s = &e->sections.at[i];
        s->name = elfimg_string(e, e->h.e_shstrndx, s->h.sh_name);
        if (!s->name) {
            s->name = "";
            return diag(d, at(shdr_at(e, i, 0)), DIAG_E0405, i, "", "its name is outside the name table");
        }
        uint64_t align = s->h.sh_addralign;
        if (align & (align - 1))
            return diag(d, at(shdr_at(e, i, offsetof(Elf64_Shdr, sh_addralign))), DIAG_E0405, i, s->name,
                        "the alignment is not a power of two");
        if (s->data && align > 1 && s->h.sh_offset % align)
            return diag(d, at(shdr_at(e, i, offsetof(Elf64_Shdr, sh_offset))), DIAG_E0405, i, s->name,
                        "the offset is not aligned");
    }
    return true;
}

static ElfImage *read_with(Arena *a, ElfImage *e, Elf *elf, size_t size_bytes, Diags *d) {
    if (elf_kind(elf) != ELF_K_ELF) {
        diag(d, at(0), DIAG_E0410, elf_errmsg(-1));
        return NULL;
    }
    if (!read_sections(a, e, elf, size_bytes, d))
        return NULL;
    for (int i = 0; i < e->h.e_phnum; i++)
        if (!gelf_getphdr(elf, i, VEC_PUSH(a, &e->segments))) {
            diag(d, at(e->h.e_phoff), DIAG_E0410, elf_errmsg(-1));
            return NULL;
        }
    return find_gaps(a, e, size_bytes, d) ? e : NULL;
}

ElfImage *elfimg_read(Arena *a, const void *image, size_t size_bytes, Diags *d) {
    elf_version(EV_CURRENT);
    ElfImage *e = ARENA_NEW(a, ElfImage);
    if (!check_header(image, size_bytes, &e->h, d))
        return NULL;
    /* libelf wants e_version 1, which old CUDA headers do not have; it gets its own copy. */
    uint8_t *copy = arena_copy(a, image, size_bytes);
    e->image = arena_copy(a, image, size_bytes);
    e->file_bytes = size_bytes;
    put_u32(copy + offsetof(Elf64_Ehdr, e_version), EV_CURRENT);
    Elf *elf = elf_memory((char *)copy, size_bytes);
    if (!elf) {
        diag(d, at(0), DIAG_E0410, elf_errmsg(-1));
        return NULL;
    }
    ElfImage *out = read_with(a, e, elf, size_bytes, d);
    elf_end(elf);
    return out;
}

/* ---- writing ---- */
static uint64_t align_up(uint64_t v, uint64_t align) {
    return align > 1 ? (v + align - 1) & ~(align - 1) : v;
}

static uint64_t place(uint64_t end, uint64_t align, uint64_t wanted, bool keep) {
    return keep && wanted >= end ? wanted : align_up(end, align);
}

/* Parts in the order of their present offsets (`keep`), else by index with the tables last. */
typedef struct {
    uint64_t wanted;
    uint32_t index;
} Part;
static int part_order(const void *x, const void *y) {
    const Part *a = x, *b = y;
    if (a->wanted != b->wanted)
        return a->wanted < b->wanted ? -1 : 1;
    return a->index < b->index ? -1 : a->index > b->index;
}

void elfimg_layout(ElfImage *e, bool keep) {
    uint32_t n = e->sections.n;
    Part *parts = calloc(n + 2u, sizeof *parts);
    if (!parts)
        abort();
    for (uint32_t i = 1; i < n; i++)
        parts[i - 1] = (Part){keep ? e->sections.at[i].h.sh_offset : 0, i};
    parts[n - 1] = (Part){keep ? e->h.e_shoff : 0, n};
    parts[n] = (Part){keep ? e->h.e_phoff : 0, n + 1};
    qsort(parts, n + 1u, sizeof *parts, part_order);
    uint64_t end = sizeof(Elf64_Ehdr);
    for (uint32_t k = 0; k <= n; k++) {
        uint32_t i = parts[k].index;
        if (i == n) {
            e->h.e_shoff = place(end, 8, e->h.e_shoff, keep);
            end = e->h.e_shoff + n * sizeof(Elf64_Shdr);
        } else if (i == n + 1) {
            if (!e->segments.n)
                continue;
            e->h.e_phoff = place(end, 8, e->h.e_phoff, keep);
            end = e->h.e_phoff + e->segments.n * sizeof(Elf64_Phdr);
        } else {
            ElfSection *s = &e->sections.at[i];
            bool has_bytes = !elfimg_is_nobits(s->h.sh_type) && s->h.sh_size > 0;
            if (keep && !has_bytes)
                continue;
            s->h.sh_offset = place(end, s->h.sh_addralign, s->h.sh_offset, keep);
            if (has_bytes)
                end = s->h.sh_offset + s->h.sh_size;
        }
    }
    free(parts);
    if (!keep || e->file_bytes < end)
        e->file_bytes = end;
    e->h.e_shnum = (Elf64_Half)n;
    e->h.e_phnum = (Elf64_Half)e->segments.n;
}

static bool put_sections(Elf *elf, const ElfImage *e) {
    for (uint32_t i = 1; i < e->sections.n; i++) {
        const ElfSection *s = &e->sections.at[i];
        Elf_Scn *scn = elf_newscn(elf);
        Elf_Data *data = scn ? elf_newdata(scn) : NULL;
        if (!data)
            return false;
        data->d_buf = (void *)(uintptr_t)s->data;
        data->d_size = s->data || s->h.sh_type == SHT_NOBITS ? s->h.sh_size : 0;
        data->d_type = ELF_T_BYTE;
        data->d_align = 1;
        data->d_version = EV_CURRENT;
        GElf_Shdr h = s->h;
        if (!gelf_update_shdr(scn, &h))
            return false;
    }
    return true;
}

static bool write_with(Elf *elf, const ElfImage *e) {
    if (!gelf_newehdr(elf, ELFCLASS64))
        return false;
    GElf_Ehdr h = e->h;
    h.e_version = EV_CURRENT;
    elf_flagelf(elf, ELF_C_SET, ELF_F_LAYOUT);
    if (e->segments.n && !gelf_newphdr(elf, e->segments.n))
        return false;
    if (!gelf_update_ehdr(elf, &h) || !put_sections(elf, e))
        return false;
    for (uint32_t i = 0; i < e->segments.n; i++)
        if (!gelf_update_phdr(elf, (int)i, &e->segments.at[i]))
            return false;
    return elf_update(elf, ELF_C_WRITE) >= 0;
}

static void to_file(uint8_t *out, void *record, size_t size_bytes, Elf_Type type) {
    Elf_Data from = {.d_buf = record, .d_type = type, .d_version = EV_CURRENT, .d_size = size_bytes};
    Elf_Data to = {.d_buf = out, .d_type = type, .d_version = EV_CURRENT, .d_size = size_bytes};
    elf64_xlatetof(&to, &from, ELFDATA2LSB);
}

/* What libelf does not write as it is told: the header's version, fields of section headers that it finds
 * odd, bytes between the parts, the tail. */
static bool finish(const ElfImage *e, int fd, void **image, size_t *size_bytes) {
    off_t have = lseek(fd, 0, SEEK_END);
    size_t size = have > 0 ? (size_t)have : 0;
    if (e->file_bytes > size)
        size = e->file_bytes;
    uint8_t *p = calloc(1, size ? size : 1);
    if (!p)
        return false;
    for (size_t got = 0; got < (size_t)have;) {
        ssize_t n = pread(fd, p + got, (size_t)have - got, (off_t)got);
        if (n <= 0) {
            free(p);
            return false;
        }
        got += (size_t)n;
    }
    Elf64_Ehdr h = e->h;
    to_file(p, &h, sizeof h, ELF_T_EHDR);
    for (uint32_t i = 0; i < e->sections.n && e->h.e_shoff + (i + 1u) * sizeof(Elf64_Shdr) <= size; i++) {
        Elf64_Shdr s = e->sections.at[i].h;
        to_file(p + e->h.e_shoff + i * sizeof s, &s, sizeof s, ELF_T_SHDR);
    }
    for (uint32_t i = 0; i < e->gaps.n; i++)
        if (e->gaps.at[i].offset + e->gaps.at[i].size_bytes <= size)
            memcpy(p + e->gaps.at[i].offset, e->gaps.at[i].data, e->gaps.at[i].size_bytes);
    *image = p;
    *size_bytes = size;
    return true;
}

bool elfimg_write(const ElfImage *e, void **image, size_t *size_bytes, Diags *d) {
    elf_version(EV_CURRENT);
    int fd = memfd_create("heddle-elf", MFD_CLOEXEC);
    if (fd < 0)
        return diag(d, (SrcLoc){0}, DIAG_E0411, strerror(errno));
    Elf *elf = elf_begin(fd, ELF_C_WRITE, NULL);
    bool good = elf && write_with(elf, e);
    if (!good)
        diag(d, (SrcLoc){0}, DIAG_E0411, elf_errmsg(-1));
    if (elf)
        elf_end(elf);
    if (good && !(good = finish(e, fd, image, size_bytes)))
        diag(d, (SrcLoc){0}, DIAG_E0411, strerror(errno));
    close(fd);
    return good;
}
