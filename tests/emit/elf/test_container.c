/* Containers built byte by byte: fat binaries, packed by hand in the simplest way that Zstandard (RFC 8878, a
 * raw block) and LZ4 (literals only) allow, in a host file and in an archive; cut short and damaged.
 * SPDX-License-Identifier: MIT */
#include "common.h"
#include "emit/elf/container.h"
#include "emit/elf/image.h"
#include <stdio.h>

typedef struct {
    uint8_t at[4096];
    size_t n;
} Buffer;

static void put(Buffer *b, const void *data, size_t n) {
    memcpy(b->at + b->n, data, n);
    b->n += n;
}

static void entry(Buffer *b, unsigned kind, unsigned sm, uint64_t flags, const void *data, size_t n,
                  size_t unpacked) {
    uint8_t head[64] = {0};
    size_t padded = (n + 7) & ~(size_t)7;
    put_u16(head, (uint16_t)kind);
    put_u16(head + 2, 0x0101);
    put_u32(head + 4, sizeof head);
    put_u64(head + 8, padded);
    put_u32(head + 16, flags ? (uint32_t)n : 0);
    put_u32(head + 28, sm);
    put_u64(head + 40, flags);
    put_u64(head + 56, unpacked);
    put(b, head, sizeof head);
    put(b, data, n);
    put(b, "\0\0\0\0\0\0\0", padded - n);
}

static const char ptx[] = ".version 7.0\n.target sm_80\n";

/* PTX as it is, in Zstandard and in LZ4, and an entry of another kind. */
static void fatbin(Buffer *b) {
    size_t start = b->n;
    uint8_t head[16] = {0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0};
    uint8_t zstd[64] = {0x28, 0xb5, 0x2f, 0xfd, 0x20, sizeof ptx - 1}, lz4[64];
    uint32_t block = (uint32_t)(sizeof ptx - 1) << 3 | 1; /* the last one, raw */
    put(b, head, sizeof head);
    entry(b, 1, 80, 0, ptx, sizeof ptx - 1, 0);
    memcpy(zstd + 6, (uint8_t[]){(uint8_t)block, (uint8_t)(block >> 8), (uint8_t)(block >> 16)}, 3);
    memcpy(zstd + 9, ptx, sizeof ptx - 1);
    entry(b, 1, 75, 0x8000, zstd, 9 + sizeof ptx - 1, sizeof ptx - 1);
    lz4[0] = 0xf0;
    lz4[1] = sizeof ptx - 1 - 15;
    memcpy(lz4 + 2, ptx, sizeof ptx - 1);
    entry(b, 1, 90, 0x2000, lz4, 2 + sizeof ptx - 1, sizeof ptx - 1);
    entry(b, 8, 80, 0x10000, "LTO", 3, 0);
    put_u64(b->at + start + 8, b->n - start - 16);
}

static bool opened(Arena *a, const Buffer *b, Container *out, Messages *m) {
    Diags d = {.sink = collect, .user = m};
    uint8_t *copy = malloc(b->n ? b->n : 1); /* of the exact size: a byte too far is seen */
    memcpy(copy, b->at, b->n);
    bool good = elf_container_open(a, "dir/x.bin", copy, b->n, out, &d);
    free(copy);
    return good;
}

static void expect_three(const Buffer *b, const char *first) {
    static const uint32_t machines[] = {80, 75, 90};
    Arena a = {0};
    Container c;
    Messages m = {0};
    assert_true(elf_container_is(b->at, b->n));
    if (!opened(&a, b, &c, &m))
        fail_msg("%s", m.text);
    assert_int_equal(c.items.n, 3);
    assert_string_equal(c.items.at[0].name, first);
    for (unsigned i = 0; i < 3; i++) {
        assert_true(c.items.at[i].is_ptx);
        assert_int_equal(c.items.at[i].sm, machines[i]);
        assert_int_equal(c.items.at[i].size_bytes, sizeof ptx - 1);
        assert_memory_equal(c.items.at[i].data, ptx, sizeof ptx - 1);
    }
    arena_free(&a);
}

/* An ELF file of x86-64 with one section .nv_fatbin. */
static void host(Buffer *b) {
    static const char names[] = "\0.nv_fatbin\0.shstrtab";
    uint8_t header[64] = {0x7f, 'E', 'L', 'F', 2, 1, 1}, sections[3 * 64] = {0};
    Buffer fat = {0};
    fatbin(&fat);
    size_t text = sizeof header + fat.n;
    put_u16(header + 18, 62);
    put_u64(header + 40, text + sizeof names);
    put_u16(header + 58, 64);
    put_u16(header + 60, 3);
    put_u16(header + 62, 2);
    put_u32(sections + 64, 1);
    put_u32(sections + 68, SHT_PROGBITS);
    put_u64(sections + 64 + 24, sizeof header);
    put_u64(sections + 64 + 32, fat.n);
    put_u32(sections + 128, 12);
    put_u32(sections + 132, SHT_STRTAB);
    put_u64(sections + 128 + 24, text);
    put_u64(sections + 128 + 32, sizeof names);
    put(b, header, sizeof header);
    put(b, fat.at, fat.n);
    put(b, names, sizeof names);
    put(b, sections, sizeof sections);
}

static void archive(Buffer *b) {
    Buffer file = {0};
    char header[61];
    host(&file);
    put(b, "!<arch>\n", 8);
    snprintf(header, sizeof header, "%-16s%-12s%-6s%-6s%-8s%-10zu`\n", "k.o/", "0", "0", "0", "644", file.n);
    put(b, header, 60);
    put(b, file.at, file.n);
}

static void test_kinds(void **state) {
    (void)state;
    Buffer b = {0};
    fatbin(&b);
    expect_three(&b, "x.bin:1");
    b = (Buffer){0};
    host(&b);
    expect_three(&b, "x.bin:1");
    b = (Buffer){0};
    archive(&b);
    expect_three(&b, "x.bin:k.o:1");
    assert_false(elf_container_is(ptx, sizeof ptx - 1));
    size_t size;
    void *image = add_image(&size);
    assert_false(elf_container_is(image, size));
    free(image);
}

static void expect_refused(const Buffer *b, const char *what) {
    Arena a = {0};
    Container c;
    Messages m = {0};
    if (opened(&a, b, &c, &m))
        fail_msg("taken, expected: %s", what);
    assert_non_null(strstr(m.text, "x.bin:0x"));
    if (!strstr(m.text, what))
        fail_msg("expected '%s', got: %s", what, m.text);
    arena_free(&a);
}

static void test_damage(void **state) {
    (void)state;
    static const struct {
        size_t at;
        uint64_t value;
        unsigned bytes;
        const char *what;
    } rows[] = {{4, 2, 2, "unknown version"},
                {6, 8, 2, "longer than what holds it"},
                {8, 1 << 20, 8, "longer than what holds it"},
                {8, UINT64_MAX - 8, 8, "longer than what holds it"},
                {20, 16, 4, "longer than its fat binary"},
                {24, UINT64_MAX, 8, "longer than its fat binary"},
                {112 + 16, 1 << 20, 4, "a packed size beyond the entry"},
                {112 + 56, UINT64_MAX, 8, "more than 512 MiB unpacked"},
                {112 + 56, 1000, 8, "damaged Zstandard data"},
                {112 + 64, 0, 4, "damaged Zstandard data"},
                {216 + 56, 5, 8, "damaged LZ4 data"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Buffer b = {0};
        fatbin(&b);
        for (unsigned k = 0; k < rows[i].bytes; k++)
            b.at[rows[i].at + k] = (uint8_t)(rows[i].value >> 8 * k);
        expect_refused(&b, rows[i].what);
    }
}

/* Cut anywhere, changed anywhere: taken or refused. */
static void test_hostile(void **state) {
    (void)state;
    void (*const makers[])(Buffer *) = {fatbin, host, archive};
    uint32_t x = 7;
    for (unsigned k = 0; k < 3; k++) {
        Buffer whole = {0};
        makers[k](&whole);
        for (size_t n = 0; n < whole.n; n++) {
            Buffer b = whole;
            Arena a = {0};
            Container c;
            Messages m = {0};
            b.n = n;
            opened(&a, &b, &c, &m);
            b.n = whole.n;
            for (unsigned i = 0; i < 3; i++) {
                x = x * 1664525 + 1013904223;
                b.at[(x >> 8) % b.n] = (uint8_t)(x >> 24);
            }
            if (!opened(&a, &b, &c, &m))
                assert_int_not_equal(m.n, 0);
            arena_free(&a);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_kinds), cmocka_unit_test(test_damage),
                                       cmocka_unit_test(test_hostile)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
