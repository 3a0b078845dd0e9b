/* .debug_line: which source line each instruction is of, by the .loc directives, as a DWARF 2 line table with
 * one sequence a function (DWARF 2, 6.2). Its address is a relocation against the function's symbol, as ptxas
 * has it; file numbers are those of the PTX's .file directives, in their order. NVIDIA's debugger, profiler
 * and disassembler read it. SPDX-License-Identifier: MIT */
#include "emit/elf/map.h"
#include "emit/elf/writer.h"
#include "frontend/ast.h"
#include <string.h>

enum { DW_LNS_COPY = 1, DW_LNS_ADVANCE_PC, DW_LNS_ADVANCE_LINE, DW_LNS_SET_FILE, OPCODE_BASE = 10 };
enum { DW_LNE_END_SEQUENCE = 1, DW_LNE_SET_ADDRESS };

typedef struct {
    ElfWriter *writer;
    Bytes out, relocs;
    uint32_t *entry; /* number of a .file directive -> of its row of the file table, 0 = there is none */
} Lines;

static void put_byte(Lines *lines, unsigned byte) {
    uint8_t value = (uint8_t)byte;
    elf_bytes_add(lines->writer->a, &lines->out, &value, 1);
}

static void put_uleb(Lines *lines, uint64_t value) {
    for (; value >= 0x80; value >>= 7)
        put_byte(lines, (unsigned)(value & 0x7f) | 0x80);
    put_byte(lines, (unsigned)value);
}

static void put_sleb(Lines *lines, int64_t value) {
    bool more = true;
    while (more) {
        unsigned byte = (unsigned)(value & 0x7f);
        value = value < 0 ? ~(~value >> 7) : value >> 7;
        more = !((value == 0 && !(byte & 0x40)) || (value == -1 && (byte & 0x40)));
        put_byte(lines, byte | (more ? 0x80 : 0));
    }
}

static void put_text(Lines *lines, const char *text, size_t size) {
    elf_bytes_add(lines->writer->a, &lines->out, text, size);
    put_byte(lines, 0);
}

/* ---- the header: directories and files ---- */

/* Bytes of a path before its last slash; 0: it is in the present directory. */
static size_t directory_bytes(const char *path) {
    const char *slash = strrchr(path, '/');
    return !slash ? 0 : slash == path ? 1 : (size_t)(slash - path);
}

static const char *path_of(const PtxModule *ptx, uint32_t file) {
    return str_text(&ptx->strings, ptx->files[file]);
}

/* Number, from 1, of the directory of `file` among those of the files up to it; *is_new: it is the first
 * there. */
static uint32_t directory_of(const PtxModule *ptx, uint32_t file, bool *is_new) {
    const char *path = path_of(ptx, file);
    size_t size = directory_bytes(path);
    uint32_t number = 0;
    *is_new = false;
    for (uint32_t k = 0; size && k <= file; k++) {
        if (!ptx->files[k].i || !directory_bytes(path_of(ptx, k)))
            continue;
        bool first = true, equal = false;
        for (uint32_t j = 0; j < k && first; j++)
            first = !ptx->files[j].i ||
                    directory_bytes(path_of(ptx, j)) != directory_bytes(path_of(ptx, k)) ||
                    memcmp(path_of(ptx, j), path_of(ptx, k), directory_bytes(path_of(ptx, k))) != 0;
        number += first;
        equal = directory_bytes(path_of(ptx, k)) == size && memcmp(path_of(ptx, k), path, size) == 0;
        if (equal) {
            *is_new = first && k == file;
            return number;
        }
    }
    return 0;
}

static void put_tables(Lines *lines, const PtxModule *ptx) {
    bool is_new;
    uint32_t rows = 0;
    for (uint32_t k = 0; k < ptx->nfiles; k++)
        if (ptx->files[k].i && directory_of(ptx, k, &is_new) && is_new)
            put_text(lines, path_of(ptx, k), directory_bytes(path_of(ptx, k)));
    put_byte(lines, 0);
    for (uint32_t k = 0; k < ptx->nfiles; k++) {
        if (!ptx->files[k].i)
            continue;
        const char *path = path_of(ptx, k), *slash = strrchr(path, '/');
        lines->entry[k] = ++rows;
        put_text(lines, slash ? slash + 1 : path, strlen(slash ? slash + 1 : path));
        put_uleb(lines, directory_of(ptx, k, &is_new));
        put_uleb(lines, 0); /* when it was changed and its size: not known */
        put_uleb(lines, 0);
    }
    put_byte(lines, 0);
}

static void put_header(Lines *lines, const PtxModule *ptx) {
    static const uint8_t arguments[OPCODE_BASE - 1] = {0, 1, 1, 1, 1, 0, 0, 0, 1};
    Arena *a = lines->writer->a;
    elf_bytes_u32(a, &lines->out, 0); /* of the unit, and below of the header: known later */
    elf_bytes_u16(a, &lines->out, 2);
    elf_bytes_u32(a, &lines->out, 0);
    uint32_t start = lines->out.n;
    put_byte(lines, 1);                   /* bytes of the smallest instruction, which advances count in */
    put_byte(lines, 1);                   /* rows are statements */
    put_byte(lines, (unsigned)-5 & 0xff); /* special opcodes, which are not used: base, range */
    put_byte(lines, 14);
    put_byte(lines, OPCODE_BASE);
    elf_bytes_add(a, &lines->out, arguments, sizeof arguments);
    put_tables(lines, ptx);
    put_u32(lines->out.at + start - 4, lines->out.n - start);
}

/* ---- sequences ---- */

typedef struct {
    uint32_t file, line; /* file 0: none */
} Place;

static Place row_of(const Lines *lines, const PtxModule *ptx, const PtxFunc *func, const CodeFunc *f,
                    uint32_t inst) {
    LocId id = f->locs ? f->locs[inst] : (LocId){0};
    uint32_t at = id.i && id.i < f->ir->locs.n ? f->ir->locs.at[id.i].line : 0;
    if (!at || at > func->nlines || func->lines[at - 1].file >= ptx->nfiles)
        return (Place){0};
    return (Place){lines->entry[func->lines[at - 1].file], func->lines[at - 1].line};
}

static void begin_sequence(Lines *lines, uint32_t symbol) {
    ElfWriter *writer = lines->writer;
    put_byte(lines, 0);
    put_byte(lines, 9);
    put_byte(lines, DW_LNE_SET_ADDRESS);
    elf_bytes_u64(writer->a, &lines->relocs, lines->out.n);
    elf_bytes_u64(writer->a, &lines->relocs,
                  ELF64_R_INFO((uint64_t)symbol, elf_reloc_type(writer, RELOC_ABS64)));
    if (elf_since_sm_90(writer))
        elf_bytes_u64(writer->a, &lines->relocs, 0);
    elf_bytes_u64(writer->a, &lines->out, 0);
}

static void put_function(Lines *lines, const PtxModule *ptx, uint32_t index) {
    const CodeFunc *f = &lines->writer->code->funcs[index];
    const PtxFunc *func = f->ir ? elf_own_ptx(lines->writer->code, f) : NULL;
    Place now = {.file = 1, .line = 1};
    uint32_t pc = 0;
    bool begun = false;
    for (uint32_t i = 0; func && i < f->ninsts; i++) {
        Place place = row_of(lines, ptx, func, f, i);
        if (!place.file || (begun && place.file == now.file && place.line == now.line))
            continue;
        if (!begun)
            begin_sequence(lines, lines->writer->parts[index].sym);
        begun = true;
        put_byte(lines, DW_LNS_ADVANCE_PC);
        put_uleb(lines, i * INST_BYTES - pc);
        pc = i * INST_BYTES;
        put_byte(lines, DW_LNS_SET_FILE);
        put_uleb(lines, place.file);
        put_byte(lines, DW_LNS_ADVANCE_LINE);
        put_sleb(lines, (int64_t)place.line - now.line);
        put_byte(lines, DW_LNS_COPY);
        now = place;
    }
    if (!begun)
        return;
    put_byte(lines, DW_LNS_ADVANCE_PC);
    put_uleb(lines, f->ninsts * INST_BYTES - pc);
    put_byte(lines, 0);
    put_byte(lines, 1);
    put_byte(lines, DW_LNE_END_SEQUENCE);
}

void elf_write_lines(ElfWriter *writer) {
    const PtxModule *ptx = writer->code->ir->ptx;
    if (!ptx || !ptx->nfiles)
        return;
    Lines lines = {.writer = writer, .entry = ARENA_ARRAY(writer->a, uint32_t, ptx->nfiles)};
    put_header(&lines, ptx);
    for (uint32_t k = 0; k < writer->code->nfuncs; k++)
        put_function(&lines, ptx, k);
    if (!lines.relocs.n)
        return;
    put_u32(lines.out.at, lines.out.n - 4);
    elf_add_debug_section(writer, 0, "debug_line", elf_since_sm_90(writer), lines.out, lines.relocs);
}
