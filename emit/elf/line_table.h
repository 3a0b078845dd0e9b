/* DWARF line tables as ptxas writes them (.debug_line, .nv_debug_line_sass): versions 2 to 4, and the two
 * operands of NVIDIA's extended opcode 0x90, which are passed over.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_EMIT_ELF_LINE_TABLE_H
#define HEDDLE_EMIT_ELF_LINE_TABLE_H
#include "emit/elf/image.h"

typedef struct { /* what special opcodes mean in a unit */
    uint8_t min_inst, line_range, opcode_base;
    int8_t line_base;
} LineHeader;

typedef struct {
    void *user;
    /* A unit: its bytes behind the 4 that say how many there are. */
    void (*unit)(void *user, uint64_t at, uint64_t size_bytes);
    /* A file of the unit, numbered from 1. */
    void (*file)(void *user, uint32_t number, const char *name);
    /* DW_LNE_set_address: 8 bytes at `at`; addresses are counted from there. */
    void (*set_address)(void *user, uint64_t at, uint64_t value);
    /* DW_LNS_advance_pc: `length` bytes of LEB128 at `at`. */
    void (*advance)(void *user, uint64_t at, unsigned length, uint64_t from, uint64_t to);
    /* A special opcode at `at`, which also goes on by `line` lines. */
    void (*special)(void *user, uint64_t at, const LineHeader *header, int line, uint64_t from, uint64_t to);
    /* The address grew in another way, by an opcode at `at`. */
    void (*other_advance)(void *user, uint64_t at, uint64_t from, uint64_t to);
    void (*row)(void *user, uint64_t address, uint32_t file, uint32_t line);
} LineReader; /* functions may be NULL */

/* False: the section is no line table, or one that this does not know. */
bool elf_read_lines(const uint8_t *data, size_t size_bytes, const LineReader *reader);

/* LEB128 at *pos; false at the end or beyond 64 bits. */
bool elf_uleb(const uint8_t *data, size_t size_bytes, size_t *pos, uint64_t *out);
#endif
