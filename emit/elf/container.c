/* Containers: see container.h. Every number of the file is checked before it is used.
 *   wrapper    (host files) .nvFatBinSegment points at containers in .nv_fatbin and __nv_relfatbin, which are
 *              found by their magic number
 *   container  u32 0xBA55ED50, u16 1, u16 header size, u64 size behind the header; entries
 *   entry      u16 kind (1 PTX, 2 ELF), u16, u32 header size, u64 size behind the header, u32 packed size (0:
 *              not packed) ... u32 at 28: machine; u64 at 40: flags; u64 at 56: size when unpacked
 * SPDX-License-Identifier: MIT */
#include "emit/elf/container.h"
#include "emit/elf/image.h"
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#define FATBIN_MAGIC 0xBA55ED50u
static const char archive_magic[] = "!<arch>\n";
enum {
    KIND_PTX = 1,
    KIND_ELF = 2,
    LEAST_ENTRY = 64,
    FLAG_LZ4 = 0x2000,
    FLAG_ZSTD = 0x8000,
    MOST_BYTES = 1 << 29, /* taken out of one file: parts of a damaged one may lie over each other */
    MEMBER_HEADER = 60
};

typedef struct {
    Arena *a;
    Diags *d;
    const uint8_t *file; /* positions are from here */
    Container *out;
    uint64_t taken; /* bytes */
} Opener;

static bool damaged_at(Opener *opener, const uint8_t *at, const char *what) {
    uint64_t offset = (uint64_t)(at - opener->file);
    return diag(opener->d, (SrcLoc){offset < UINT32_MAX ? (uint32_t)offset + 1 : 0}, DIAG_E0416, what);
}

/* ---- packed entries ---- */
typedef size_t ZstdDecompress(void *out, size_t out_bytes, const void *in, size_t in_bytes);
typedef unsigned ZstdIsError(size_t code);
typedef int Lz4Decompress(const char *in, char *out, int in_bytes, int out_bytes);

static bool load_function(Opener *opener, const char *library, const char *name, void *function) {
    void *handle = dlopen(library, RTLD_LAZY | RTLD_LOCAL), *found = handle ? dlsym(handle, name) : NULL;
    memcpy(function, &found, sizeof found);
    return found || diag(opener->d, (SrcLoc){0}, DIAG_E0418, library);
}

static bool unpack_zstd(Opener *opener, const uint8_t *in, size_t in_bytes, char *out, size_t size_bytes) {
    ZstdDecompress *decompress;
    ZstdIsError *is_error;
    if (!load_function(opener, "libzstd.so.1", "ZSTD_decompress", &decompress) ||
        !load_function(opener, "libzstd.so.1", "ZSTD_isError", &is_error))
        return false;
    size_t got = decompress(out, size_bytes, in, in_bytes);
    return (!is_error(got) && got == size_bytes) || damaged_at(opener, in, "damaged Zstandard data");
}

static bool unpack_lz4(Opener *opener, const uint8_t *in, size_t in_bytes, char *out, size_t size_bytes) {
    Lz4Decompress *decompress;
    if (!load_function(opener, "liblz4.so.1", "LZ4_decompress_safe", &decompress))
        return false;
    int got = decompress((const char *)in, out, (int)in_bytes, (int)size_bytes);
    return (got >= 0 && (size_t)got == size_bytes) || damaged_at(opener, in, "damaged LZ4 data");
}

static bool unpack(Opener *opener, const uint8_t *entry, const uint8_t *in, ContainerItem *item) {
    uint64_t flags = get_u64(entry + 40), size = get_u64(entry + 56);
    uint32_t packed = get_u32(entry + 16);
    if (size > MOST_BYTES || (opener->taken += size) > MOST_BYTES)
        return damaged_at(opener, entry + 56, "more than 512 MiB unpacked");
    if (!(flags & (FLAG_LZ4 | FLAG_ZSTD)))
        return damaged_at(opener, entry + 40, "packed in an unknown way");
    char *out = arena_alloc(opener->a, size + 1);
    item->data = out;
    item->size_bytes = size;
    return flags & FLAG_ZSTD ? unpack_zstd(opener, in, packed, out, size)
                             : unpack_lz4(opener, in, packed, out, size);
}

static bool copy(Opener *opener, const uint8_t *in, uint64_t size, ContainerItem *item) {
    if (size > MOST_BYTES || (opener->taken += size) > MOST_BYTES)
        return damaged_at(opener, in, "more than 512 MiB in all");
    char *out = arena_alloc(opener->a, size + 1);
    memcpy(out, in, size);
    item->data = out;
    item->size_bytes = size;
    return true;
}

/* ---- fat binaries ---- */
static bool add_entry(Opener *opener, const char *name, const uint8_t *entry, uint64_t header,
                      uint64_t size) {
    uint16_t kind = get_u16(entry);
    const uint8_t *in = entry + header;
    if (kind != KIND_PTX && kind != KIND_ELF)
        return true;
    ContainerItem item = {.is_ptx = kind == KIND_PTX,
                          .sm = get_u32(entry + 28),
                          .name = arena_printf(opener->a, "%s:%u", name, opener->out->items.n + 1)};
    uint32_t packed = get_u32(entry + 16);
    if (packed > size)
        return damaged_at(opener, entry + 16, "a packed size beyond the entry");
    if (packed && get_u64(entry + 40) & (FLAG_LZ4 | FLAG_ZSTD)) {
        if (!unpack(opener, entry, in, &item))
            return false;
    } else if (!copy(opener, in, size, &item))
        return false;
    if (item.is_ptx) /* texts are padded with NULs */
        item.size_bytes = strnlen(item.data, item.size_bytes);
    VEC_ADD(opener->a, &opener->out->items, item);
    return true;
}

static bool add_container(Opener *opener, const char *name, const uint8_t *p, uint64_t size, uint64_t *used) {
    uint64_t header = size >= 16 ? get_u16(p + 6) : 0;
    if (header < 16 || header > size || get_u64(p + 8) > size - header)
        return damaged_at(opener, p, "a fat binary that is longer than what holds it");
    if (get_u16(p + 4) != 1)
        return damaged_at(opener, p + 4, "a fat binary of an unknown version");
    uint64_t end = header + get_u64(p + 8);
    for (uint64_t at = header; at < end;) {
        const uint8_t *entry = p + at;
        if (end - at < LEAST_ENTRY)
            return damaged_at(opener, entry, "an entry that is cut off");
        uint64_t head = get_u32(entry + 4), body = get_u64(entry + 8);
        if (head < LEAST_ENTRY || head > end - at || body > end - at - head)
            return damaged_at(opener, entry, "an entry that is longer than its fat binary");
        if (!add_entry(opener, name, entry, head, body))
            return false;
        at += head + body;
    }
    *used = end;
    return true;
}

/* Containers one behind the other, at multiples of 8 bytes. */
static bool add_containers(Opener *opener, const char *name, const uint8_t *p, uint64_t size) {
    for (uint64_t at = 0; at + 16 <= size;) {
        uint64_t used = 8;
        if (get_u32(p + at) == FATBIN_MAGIC && !add_container(opener, name, p + at, size - at, &used))
            return false;
        at += (used + 7) & ~(uint64_t)7;
    }
    return true;
}

/* ---- host files ---- */
static bool is_host(const uint8_t *p, size_t size) {
    return size >= sizeof(Elf64_Ehdr) && memcmp(p, ELFMAG, SELFMAG) == 0 && p[EI_CLASS] == ELFCLASS64 &&
           p[EI_DATA] == ELFDATA2LSB &&
           (get_u16(p + 18) == EM_X86_64 || get_u16(p + 18) == EM_AARCH64 || get_u16(p + 18) == EM_PPC64);
}

static bool add_host(Opener *opener, const char *name, const uint8_t *p, uint64_t size) {
    uint64_t table = get_u64(p + 40), each = get_u16(p + 58), n = get_u16(p + 60), names = get_u16(p + 62);
    if (!n)
        return true;
    if (each != sizeof(Elf64_Shdr) || table > size || n > (size - table) / each || names >= n)
        return damaged_at(opener, p, "section headers outside the file");
    const uint8_t *strings = p + table + names * each;
    uint64_t text = get_u64(strings + 24), text_bytes = get_u64(strings + 32);
    if (text > size || text_bytes > size - text)
        return damaged_at(opener, strings, "section names outside the file");
    for (uint64_t i = 0; i < n; i++) {
        const uint8_t *header = p + table + i * each;
        uint64_t at = get_u32(header), offset = get_u64(header + 24), bytes = get_u64(header + 32);
        if (at >= text_bytes || !memchr(p + text + at, 0, text_bytes - at))
            continue;
        const char *section = (const char *)p + text + at;
        if (get_u32(header + 4) == SHT_NOBITS ||
            (strcmp(section, ".nv_fatbin") != 0 && strcmp(section, "__nv_relfatbin") != 0))
            continue;
        if (offset > size || bytes > size - offset)
            return damaged_at(opener, header, "a section outside the file");
        if (!add_containers(opener, name, p + offset, bytes))
            return false;
    }
    return true;
}

/* ---- archives ---- */
static bool is_cubin(const uint8_t *p, size_t size) {
    return size >= sizeof(Elf64_Ehdr) && memcmp(p, ELFMAG, SELFMAG) == 0 && get_u16(p + 18) == EM_NV_CUDA &&
           elf_file_target(p, size);
}

static bool add_cubin(Opener *opener, const char *name, const uint8_t *p, uint64_t size) {
    static const char prefix[] = "sm_";
    const char *machine = isa_target_name(elf_file_target(p, size));
    ContainerItem item = {.name = name, .sm = (uint32_t)strtoul(machine + strlen(prefix), NULL, 10)};
    if (!copy(opener, p, size, &item))
        return false;
    VEC_ADD(opener->a, &opener->out->items, item);
    return true;
}

static bool add_file(Opener *opener, const char *name, const uint8_t *p, uint64_t size);

static bool decimal(const uint8_t *p, unsigned digits, uint64_t *out) {
    unsigned n = 0;
    for (*out = 0; n < digits && p[n] >= '0' && p[n] <= '9'; n++)
        *out = *out * 10 + (unsigned)(p[n] - '0');
    return n > 0;
}

/* "name/", or "/offset" into the table of long names */
static const char *member_name(Opener *opener, const uint8_t *p, const uint8_t *longer,
                               uint64_t longer_bytes) {
    uint64_t at;
    if (p[0] == '/' && decimal(p + 1, 15, &at) && at < longer_bytes) {
        unsigned n = 0;
        while (at + n < longer_bytes && longer[at + n] != '/' && longer[at + n] != '\n')
            n++;
        return arena_printf(opener->a, "%.*s", (int)n, (const char *)longer + at);
    }
    return arena_printf(opener->a, "%.*s",
                        (int)strcspn(arena_printf(opener->a, "%.16s", (const char *)p), "/ "),
                        (const char *)p);
}

static bool add_archive(Opener *opener, const char *name, const uint8_t *p, uint64_t size) {
    const uint8_t *longer = NULL;
    uint64_t longer_bytes = 0, body;
    for (uint64_t at = strlen(archive_magic); at < size; at += MEMBER_HEADER + body + (body & 1)) {
        const uint8_t *member = p + at;
        if (size - at < MEMBER_HEADER || memcmp(member + 58, "`\n", 2) != 0 ||
            !decimal(member + 48, 10, &body) || body > size - at - MEMBER_HEADER)
            return damaged_at(opener, member, "a member that is cut off, or none");
        if (member[0] == '/' && member[1] == '/') {
            longer = member + MEMBER_HEADER;
            longer_bytes = body;
        } else if (!(member[0] == '/' && (member[1] == ' ' || member[1] == 'S')) && /* symbols */
                   !add_file(opener,
                             arena_printf(opener->a, "%s:%s", name,
                                          member_name(opener, member, longer, longer_bytes)),
                             member + MEMBER_HEADER, body))
            return false;
    }
    return true;
}

static bool is_fatbin(const uint8_t *p, size_t size) { return size >= 16 && get_u32(p) == FATBIN_MAGIC; }

static bool add_file(Opener *opener, const char *name, const uint8_t *p, uint64_t size) {
    if (is_fatbin(p, size))
        return add_containers(opener, name, p, size);
    if (is_cubin(p, size))
        return add_cubin(opener, name, p, size);
    return !is_host(p, size) || add_host(opener, name, p, size);
}

bool elf_container_is(const void *data, size_t size_bytes) {
    return is_fatbin(data, size_bytes) || is_host(data, size_bytes) ||
           (size_bytes >= strlen(archive_magic) && memcmp(data, archive_magic, strlen(archive_magic)) == 0);
}

bool elf_container_open(Arena *a, const char *path, const void *data, size_t size_bytes, Container *out,
                        Diags *d) {
    Source source = {path, NULL, size_bytes};
    const Source *old = d->source;
    const char *slash = strrchr(path, '/');
    Opener o = {a, d, data, out, 0};
    const char *name = slash ? slash + 1 : path;
    bool archive =
        size_bytes >= strlen(archive_magic) && memcmp(data, archive_magic, strlen(archive_magic)) == 0;
    *out = (Container){0};
    d->source = &source;
    bool good = archive ? add_archive(&o, name, data, size_bytes) : add_file(&o, name, data, size_bytes);
    d->source = old;
    return good;
}
