/* Writes sim/jit/stencils_LEVEL.inc: the functions of an object file as stencils.
 *   stencil_table LEVEL IN.o ALL.o 0.o 1.o ... > stencils_LEVEL.inc
 * Where registers of vectors stand in an instruction is found by comparing: N.o is the same text with the
 * register N ^ 1 for N. In ALL.o each has another number; what is found must make it of IN.o. A reference to
 * anything but the holes and constants is an error. SPDX-License-Identifier: MIT */
#include "sim/jit/stencil_vector.h"
#include <elf.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_HOLES = 512, MOST_SECTIONS = 2048, POOL_ALIGN = 64, MOST_BYTES = 1 << 20 };
static const char *const names[] = {
#define STENCIL(name) #name,
#include "sim/jit/stencils.def"
#undef STENCIL
#define LANE(name, ...) "lane_of_" #name,
#define LANE_FLOAT(name, ...) LANE(name, )
#define LANE_CARRY(name, ...) LANE(name, )
#define LANE_LOGIC(name, ...) LANE(name, )
#define LANE_SETP(name, ...) LANE(name, )
#include "isa/lane/lanes.def"
};
static const char *const hole_names[] = {"A",  "B",  "C",  "D",  "E",  "F",  "G",  "H",  "K0", "K1",
                                         "K2", "K3", "K4", "K5", "K6", "K7", "K8", "T0", "T1", "NEXT"};
enum { HOLES = sizeof hole_names / sizeof *hole_names, ABSOLUTE = 8, NEXT = HOLES - 1, POOL, VECTOR };
enum { MOST_VECTORS = 32 };

static uint8_t *object, *renumbered[MOST_VECTORS], *all_renumbered;
static unsigned nvectors;
static const Elf64_Ehdr *header;
static const Elf64_Shdr *sections;
static const Elf64_Sym *symbols;
static const char *section_names, *symbol_names;
static unsigned nsymbols;
static uint8_t code[MOST_BYTES], pool[MOST_BYTES];
static unsigned code_bytes, pool_bytes, pool_place[MOST_SECTIONS], nholes;

static _Noreturn void refuse(const char *stencil, const char *format, ...) {
    va_list args;
    va_start(args, format);
    fprintf(stderr, "stencil_table: %s: ", stencil);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    exit(1);
}

static uint8_t *read_file(const char *path) {
    FILE *file = fopen(path, "rb");
    uint8_t *bytes = calloc(1, 4 * MOST_BYTES);
    if (!file || !bytes || fread(bytes, 1, 4 * MOST_BYTES, file) < sizeof *header)
        refuse(path, "cannot be read");
    fclose(file);
    return bytes;
}

static void read_object(const char *path) {
    object = read_file(path);
    header = (const void *)object;
    sections = (const void *)(object + header->e_shoff);
    section_names = (const char *)object + sections[header->e_shstrndx].sh_offset;
    if (header->e_machine != EM_X86_64 || header->e_shnum > MOST_SECTIONS)
        refuse(path, "not an object file of x86-64");
    for (unsigned i = 0; i < header->e_shnum; i++) {
        const Elf64_Shdr *section = &sections[i];
        if (section->sh_type == SHT_SYMTAB) {
            symbols = (const void *)(object + section->sh_offset);
            nsymbols = (unsigned)(section->sh_size / sizeof *symbols);
            symbol_names = (const char *)object + sections[section->sh_link].sh_offset;
        }
        if (strncmp(section_names + section->sh_name, ".rodata", 7) != 0)
            continue;
        pool_bytes = (pool_bytes + POOL_ALIGN - 1) / POOL_ALIGN * POOL_ALIGN;
        pool_place[i] = pool_bytes;
        memcpy(pool + pool_bytes, object + section->sh_offset, section->sh_size);
        pool_bytes += (unsigned)section->sh_size;
    }
}

static const Elf64_Sym *find_symbol(const char *name) {
    for (unsigned i = 0; i < nsymbols; i++)
        if (strcmp(symbol_names + symbols[i].st_name, name) == 0 && symbols[i].st_shndx != SHN_UNDEF)
            return &symbols[i];
    refuse(name, "no such function");
}

/* Which hole a symbol is; of a constant POOL, and *addend is also from where on. */
static unsigned hole_of(const char *stencil, const Elf64_Sym *symbol, int64_t *addend) {
    char name[32];
    snprintf(name, sizeof name, "%s", symbol_names + symbol->st_name);
    if (symbol->st_shndx != SHN_UNDEF) {
        const char *in = section_names + sections[symbol->st_shndx].sh_name;
        if (strncmp(in, ".rodata", 7) != 0)
            refuse(stencil, "it refers to %s in %s", name, in);
        *addend += (int64_t)(pool_place[symbol->st_shndx] + symbol->st_value);
        return POOL;
    }
    size_t length = strcspn(name, "_"); /* behind it: with which arguments */
    for (unsigned i = 0; i < HOLES; i++)
        if (strlen(hole_names[i]) == length && memcmp(name, hole_names[i], length) == 0)
            return i;
    refuse(stencil, "it refers to %s", name);
}

typedef struct {
    unsigned kind, at;
    int64_t addend;
} Hole;
typedef struct {
    unsigned bytes, size, hole, nholes;
    uint32_t vectors; /* registers that are named */
    Hole holes[MOST_HOLES];
} Row;
static void add_hole(const char *name, Row *row, Hole hole) {
    if (row->nholes == MOST_HOLES || hole.addend != (int16_t)hole.addend)
        refuse(name, "too many holes, or too far");
    row->holes[row->nholes++] = hole;
}

static bool is_next(const Row *row, unsigned at) {
    for (unsigned i = 0; i < row->nholes; i++)
        if (row->holes[i].at == at)
            return row->holes[i].kind == NEXT;
    return false;
}
static void drop_hole(Row *row, unsigned at) {
    for (unsigned i = 0; i < row->nholes; i++)
        if (row->holes[i].at == at) {
            row->nholes--;
            memmove(&row->holes[i], &row->holes[i + 1], (row->nholes - i) * sizeof *row->holes);
        }
}
/* What is copied behind a stencil is NEXT: a jump there at the end is none, and a conditional one before a
 * jump to elsewhere is that jump on the contrary. */
static void trim(Row *row) {
    uint8_t *bytes = code + row->bytes;
    unsigned size = row->size;
    if (size >= 5 && bytes[size - 5] == 0xe9 && is_next(row, size - 4)) {
        drop_hole(row, size - 4);
        row->size -= 5;
    } else if (size >= 11 && bytes[size - 5] == 0xe9 && bytes[size - 11] == 0x0f &&
               (bytes[size - 10] & 0xf0) == 0x80 && is_next(row, size - 9)) {
        drop_hole(row, size - 9);
        bytes[size - 10] ^= 1;
        row->size -= 5;
        for (unsigned i = 0; i < row->nholes; i++)
            if (row->holes[i].at == size - 4)
                row->holes[i].at = size - 9;
    }
}

/* The field of which `bit` of the byte at `at` is the lowest bit, in code of `size` bytes. */
static Hole field_of(const char *name, const uint8_t *bytes, unsigned at, unsigned bit, unsigned number) {
    Hole found = {0};
    for (VectorField field = 0; field < VECTOR_FIELDS; field++) {
        VectorBit lowest = vector_bit(field, 0);
        static const uint8_t prefixes[] = {VECTOR_EVEX, VECTOR_VEX};
        for (unsigned k = 0; k < (field == VECTOR_LAST ? 1 : 2) && lowest.bit == bit; k++) {
            unsigned back = field == VECTOR_LAST ? 0 : vector_byte(&prefixes[k], lowest);
            if (back > at || (field != VECTOR_LAST && bytes[at - back] != prefixes[k]) ||
                vector_number(bytes + at - back, field) != number)
                continue;
            if (found.kind)
                refuse(name, "a register of a vector at %u may be two things", at);
            found = (Hole){.kind = VECTOR + field, .at = at - back, .addend = number};
        }
    }
    if (!found.kind)
        refuse(name, "a register of a vector at %u is in no field that is known", at);
    return found;
}

/* Holes for registers of vectors, and whether they are all. */
static void find_vectors(const char *name, Row *row, size_t offset) {
    static uint8_t check[MOST_BYTES];
    const uint8_t *bytes = object + offset;
    for (unsigned number = 0; number < nvectors; number++)
        for (unsigned at = 0; at < row->size; at++)
            for (unsigned bit = 0; bit < 8; bit++)
                if ((bytes[at] ^ renumbered[number][offset + at]) >> bit & 1) {
                    add_hole(name, row, field_of(name, bytes, at, bit, number));
                    row->vectors |= 1u << number;
                }
    memcpy(check, bytes, row->size);
    for (unsigned i = 0; i < row->nholes; i++)
        if (row->holes[i].kind >= VECTOR)
            vector_renumber(check + row->holes[i].at, row->holes[i].kind - VECTOR,
                            (unsigned)row->holes[i].addend ^ (nvectors - 1));
    if (memcmp(check, all_renumbered + offset, row->size) != 0)
        refuse(name, "not all registers of vectors were found");
}

static void read_row(const char *name, Row *row) {
    const Elf64_Sym *function = find_symbol(name);
    unsigned section = function->st_shndx;
    if (function->st_value)
        refuse(name, "not at the beginning of its section");
    *row = (Row){.bytes = code_bytes, .size = (unsigned)function->st_size, .hole = nholes};
    memcpy(code + code_bytes, object + sections[section].sh_offset, row->size);
    for (unsigned i = 0; i < header->e_shnum; i++) {
        if (sections[i].sh_type != SHT_RELA || sections[i].sh_info != section)
            continue;
        const Elf64_Rela *rela = (const void *)(object + sections[i].sh_offset);
        for (unsigned k = 0; k < sections[i].sh_size / sizeof *rela; k++) {
            unsigned type = (unsigned)ELF64_R_TYPE(rela[k].r_info);
            Hole hole = {.at = (unsigned)rela[k].r_offset, .addend = rela[k].r_addend};
            hole.kind = hole_of(name, &symbols[ELF64_R_SYM(rela[k].r_info)], &hole.addend);
            bool absolute = type == R_X86_64_32 || type == R_X86_64_32S,
                 relative = type == R_X86_64_PC32 || type == R_X86_64_PLT32;
            if (hole.kind < ABSOLUTE ? !absolute : !relative)
                refuse(name, "a reference of type %u to %u", type, hole.kind);
            add_hole(name, row, hole);
        }
    }
    find_vectors(name, row, sections[section].sh_offset);
    trim(row);
    code_bytes += row->size;
    nholes += row->nholes;
}

static void put_words(const char *what, const char *level, const uint8_t *bytes, unsigned n) {
    printf("static const uint64_t %s_%s[] = {", what, level);
    for (unsigned i = 0; i < n; i += 8) {
        uint64_t word;
        memcpy(&word, bytes + i, sizeof word);
        printf("%s0x%llx,", i % 64 ? " " : "\n    ", (unsigned long long)word);
    }
    puts("\n};");
}

int main(int argc, char **argv) {
    enum { ROWS = sizeof names / sizeof *names };
    static Row rows[ROWS];
    if (argc < 4 || argc - 4 > MOST_VECTORS)
        return 1;
    const char *level = argv[1];
    read_object(argv[2]);
    all_renumbered = read_file(argv[3]);
    for (int i = 4; i < argc; i++)
        renumbered[nvectors++] = read_file(argv[i]);
    for (unsigned i = 0; i < ROWS; i++)
        read_row(names[i], &rows[i]);
    puts("/* Generated by tests/sim/jit/stencils.sh from sim/jit/stencil_ir.c: not to be edited.\n"
         " * SPDX-License-Identifier: MIT */");
    put_words("bytes", level, code, code_bytes);
    put_words("pool", level, pool, pool_bytes);
    printf("static const StencilHole holes_%s[] = {", level);
    for (unsigned i = 0, n = 0; i < ROWS; i++)
        for (unsigned k = 0; k < rows[i].nholes; k++, n++)
            printf("%s{%u, %u, %lld},", n % 8 ? " " : "\n    ", rows[i].holes[k].kind, rows[i].holes[k].at,
                   (long long)rows[i].holes[k].addend);
    printf("\n};\nstatic const Stencil stencils_%s[] = {\n", level);
    for (unsigned i = 0; i < ROWS; i++)
        printf("    [ST_%s] = {%u, %u, %u, %u, 0x%x},\n", names[i], rows[i].bytes, rows[i].size, rows[i].hole,
               rows[i].nholes, rows[i].vectors);
    puts("};");
    return 0;
}
