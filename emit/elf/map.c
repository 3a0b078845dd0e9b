/* .heddle.map: see map.h. Little endian. Layout:
 *   header   "HDMP", u32 version (2), u32 function count, u32 file count, u32 PTX name, u32 text table
 * offset, u32 text table size, u32 0 files    u32 name for each file of a .file directive (0 = not defined)
 *   function u32 name, u32 instruction count, u32 offset of its position records, u32 row count,
 *            u32 offset of its rows, u32 point count, u32 offset of its points
 *   position u32 statement + 1, u32 PTX line, u32 PTX column, u32 source file, u32 source line
 *   row      u32 first pc, u32 end pc, u32 PTX register name, u8 component, u8 register file, u16 register
 *   point    u32 pc, u32 statement + 1: there, execution stands before that statement; of built-in functions
 * too texts    NUL-terminated; names are offsets in it; offset 0 is the empty text
 * SPDX-License-Identifier: MIT */
#include "emit/elf/map.h"
#include "frontend/ast.h"
#include <string.h>

enum { MAP_VERSION = 2, MAP_HEADER = 32, MAP_FUNC = 28, MAP_LOC = 20, MAP_ROW = 16, MAP_POINT = 8 };

/* The PTX function, if it is one of the module's own text; built-in functions have another source. */
const PtxFunc *elf_own_ptx(const CodeModule *module, const CodeFunc *f) {
    const PtxModule *ptx_module = module->ir->ptx;
    const PtxFunc *p = f->ir->ptx;
    return ptx_module && p >= ptx_module->funcs && p < ptx_module->funcs + ptx_module->nfuncs ? p : NULL;
}

/* Of the instruction that comes from there. */
static void put_position(uint8_t *p, const CodeModule *module, const CodeFunc *f, const PtxFunc *ptx,
                         LocId id) {
    const PtxModule *text = module->ir->ptx;
    if (!ptx || !id.i || id.i >= f->ir->locs.n)
        return;
    const Loc *loc = &f->ir->locs.at[id.i];
    put_u32(p, loc->ptx_insn);
    if (loc->src.i) {
        uint32_t line = ptx_loc_line(text, loc->src);
        put_u32(p + 4, line);
        put_u32(p + 8, loc->src.i - text->line_starts[line - 1]);
    }
    if (loc->line && loc->line <= ptx->nlines) {
        put_u32(p + 12, ptx->lines[loc->line - 1].file);
        put_u32(p + 16, ptx->lines[loc->line - 1].line);
    }
}

static const char *reg_name(const CodeModule *module, const CodeFunc *f, uint32_t ptx_reg) {
    const PtxFunc *func = elf_own_ptx(module, f);
    return func && ptx_reg && ptx_reg < func->nregs
               ? str_text(&module->ir->ptx->strings, func->regs[ptx_reg].name)
               : "";
}

static void add_func(Arena *a, Bytes *out, Bytes *texts, const CodeModule *module, uint32_t index,
                     uint32_t head) {
    const CodeFunc *f = &module->funcs[index];
    const PtxFunc *ptx = elf_own_ptx(module, f);
    uint32_t locs = out->n;
    uint8_t *at = elf_bytes_add(a, out, NULL, (size_t)f->ninsts * MAP_LOC);
    for (uint32_t i = 0; i < f->ninsts && f->locs; i++, at += MAP_LOC)
        if (i && f->locs[i].i == f->locs[i - 1].i)
            memcpy(at, at - MAP_LOC, MAP_LOC);
        else
            put_position(at, module, f, ptx, f->locs[i]);
    uint32_t rows = out->n;
    for (uint32_t i = 0; i < f->nvar_rows; i++) {
        const struct CodeVarRow *row = &f->var_rows[i];
        elf_bytes_u32(a, out, row->lo_bytes);
        elf_bytes_u32(a, out, row->hi_bytes);
        elf_bytes_u32(a, out, elf_bytes_string(a, texts, reg_name(module, f, row->ptx_reg)));
        elf_bytes_u32(a, out, row->component | (uint32_t)row->file << 8 | (uint32_t)row->reg << 16);
    }
    uint32_t points = out->n, npoints = f->npoints;
    for (uint32_t i = 0; i < npoints; i++) {
        elf_bytes_u32(a, out, f->points[i].pc_bytes);
        elf_bytes_u32(a, out, f->points[i].ptx_insn);
    }
    uint8_t *p = out->at + head;
    put_u32(p, elf_bytes_string(a, texts, str_text(module->ir->strings, f->name)));
    put_u32(p + 4, f->ninsts);
    put_u32(p + 8, locs);
    put_u32(p + 12, f->nvar_rows);
    put_u32(p + 16, rows);
    put_u32(p + 20, npoints);
    put_u32(p + 24, points);
}

Bytes elf_map_build(Arena *a, const CodeModule *module) {
    const PtxModule *ptx = module->ir->ptx;
    Bytes out = {0}, texts = {0};
    elf_bytes_add(a, &texts, "", 1);
    uint32_t nfiles = ptx ? ptx->nfiles : 0;
    elf_bytes_add(a, &out, NULL, MAP_HEADER + nfiles * 4 + module->nfuncs * MAP_FUNC);
    for (uint32_t i = 0; i < nfiles; i++)
        put_u32(out.at + MAP_HEADER + i * 4,
                elf_bytes_string(a, &texts, str_text(&ptx->strings, ptx->files[i])));
    for (uint32_t i = 0; i < module->nfuncs; i++)
        add_func(a, &out, &texts, module, i, MAP_HEADER + nfiles * 4 + i * MAP_FUNC);
    uint32_t name = elf_bytes_string(a, &texts, ptx && ptx->source.name ? ptx->source.name : "");
    uint32_t header[7] = {MAP_VERSION, module->nfuncs, nfiles, name, out.n, texts.n, 0};
    memcpy(out.at, "HDMP", 4);
    for (int i = 0; i < 7; i++)
        put_u32(out.at + 4 + i * 4, header[i]);
    elf_bytes_add(a, &out, texts.at, texts.n);
    return out;
}

/* ---- reading ---- */
typedef struct {
    Binary *b;
    const uint8_t *data;
    size_t size;
    const char *texts;
    uint32_t ntexts;
    uint64_t base;
    Diags *d;
} MapReader;

static bool bad(const MapReader *reader, size_t pos, const char *what) {
    uint64_t offset = reader->base + pos;
    return diag(reader->d, (SrcLoc){offset < UINT32_MAX ? (uint32_t)offset + 1 : 0}, DIAG_E0409, what);
}

static bool text_at(const MapReader *reader, size_t pos, const char **out) {
    uint32_t offset = get_u32(reader->data + pos);
    if (offset >= reader->ntexts || !memchr(reader->texts + offset, 0, reader->ntexts - offset))
        return bad(reader, pos, "a name lies outside the text table");
    *out = reader->texts + offset;
    return true;
}

static bool range_ok(const MapReader *reader, uint64_t offset, uint64_t count, uint64_t each) {
    return offset <= reader->size && count <= (reader->size - offset) / each;
}

static BinFunc *func_named(Binary *binary, const char *name) {
    for (uint32_t i = 0; i < binary->nfuncs; i++)
        if (strcmp(binary->funcs[i].name, name) == 0)
            return &binary->funcs[i];
    return NULL;
}

static bool read_rows(MapReader *reader, BinFunc *f, uint32_t offset, uint32_t n) {
    BinVarRow *rows = ARENA_ARRAY(&reader->b->arena, BinVarRow, n);
    for (uint32_t i = 0; i < n; i++) {
        size_t pos = offset + (size_t)i * MAP_ROW;
        uint32_t where = get_u32(reader->data + pos + 12);
        rows[i] = (BinVarRow){.lo_bytes = get_u32(reader->data + pos),
                              .hi_bytes = get_u32(reader->data + pos + 4),
                              .component = (uint8_t)where,
                              .file = (uint8_t)(where >> 8),
                              .reg = (uint16_t)(where >> 16)};
        if (!text_at(reader, pos + 8, &rows[i].ptx_name))
            return false;
        if (rows[i].hi_bytes < rows[i].lo_bytes && rows[i].lo_bytes / INST_BYTES <= f->ninsts)
            rows[i].hi_bytes = rows[i].lo_bytes; /* an edit moved its end before its start: it says nothing */
        if (rows[i].lo_bytes > rows[i].hi_bytes || rows[i].hi_bytes / INST_BYTES > f->ninsts ||
            rows[i].file >= RF_COUNT ||
            rows[i].reg > isa_target_info(reader->b->target)->num_regs[rows[i].file])
            return bad(reader, pos, "a register row is out of range");
    }
    f->vars = rows;
    f->nvars = n;
    return true;
}

static bool read_points(MapReader *reader, BinFunc *f, uint32_t offset, uint32_t n) {
    BinPoint *points = ARENA_ARRAY(&reader->b->arena, BinPoint, n);
    for (uint32_t i = 0; i < n; i++) {
        size_t pos = offset + (size_t)i * MAP_POINT;
        points[i] = (BinPoint){get_u32(reader->data + pos), get_u32(reader->data + pos + 4)};
        if (points[i].pc_bytes / INST_BYTES >= f->ninsts || points[i].pc_bytes % INST_BYTES)
            return bad(reader, pos, "a point is out of range");
    }
    f->points = points;
    f->npoints = n;
    return true;
}

static bool read_func(MapReader *reader, size_t pos) {
    const char *name;
    if (!text_at(reader, pos, &name))
        return false;
    uint32_t n = get_u32(reader->data + pos + 4), locs_at = get_u32(reader->data + pos + 8);
    uint32_t nrows = get_u32(reader->data + pos + 12), rows_at = get_u32(reader->data + pos + 16);
    uint32_t npoints = get_u32(reader->data + pos + 20), points_at = get_u32(reader->data + pos + 24);
    if (!range_ok(reader, locs_at, n, MAP_LOC) || !range_ok(reader, rows_at, nrows, MAP_ROW) ||
        !range_ok(reader, points_at, npoints, MAP_POINT))
        return bad(reader, pos, "a table lies outside the section");
    BinFunc *f = func_named(reader->b, name);
    if (!f)
        return true;
    if (n > f->ninsts)
        return bad(reader, pos + 4, "more positions than instructions");
    BinLoc *locs = ARENA_ARRAY(&reader->b->arena, BinLoc, f->ninsts);
    for (uint32_t i = 0; i < n; i++) {
        const uint8_t *p = reader->data + locs_at + (size_t)i * MAP_LOC;
        locs[i] = (BinLoc){get_u32(p), get_u32(p + 4), get_u32(p + 8), get_u32(p + 12), get_u32(p + 16)};
    }
    f->locs = locs;
    return read_rows(reader, f, rows_at, nrows) && read_points(reader, f, points_at, npoints);
}

bool elf_map_read(Binary *binary, const uint8_t *data, size_t size_bytes, uint64_t base_offset, Diags *d) {
    MapReader r = {binary, data, size_bytes, NULL, 0, base_offset, d};
    if (size_bytes < MAP_HEADER || memcmp(data, "HDMP", 4) != 0)
        return bad(&r, 0, "no map header");
    if (get_u32(data + 4) != MAP_VERSION)
        return bad(&r, 4, "unknown version");
    uint32_t nfuncs = get_u32(data + 8), nfiles = get_u32(data + 12);
    uint32_t texts_at = get_u32(data + 20);
    r.ntexts = get_u32(data + 24);
    if (!range_ok(&r, texts_at, r.ntexts, 1) || !range_ok(&r, MAP_HEADER, nfiles, 4) ||
        !range_ok(&r, MAP_HEADER + (uint64_t)nfiles * 4, nfuncs, MAP_FUNC))
        return bad(&r, 8, "a table lies outside the section");
    r.texts = (const char *)data + texts_at;
    if (!text_at(&r, 16, &binary->ptx_name))
        return false;
    if (!*binary->ptx_name)
        binary->ptx_name = NULL;
    const char **files = ARENA_ARRAY(&binary->arena, const char *, nfiles);
    for (uint32_t i = 0; i < nfiles; i++)
        if (!text_at(&r, MAP_HEADER + (size_t)i * 4, &files[i]))
            return false;
    binary->files = files;
    binary->nfiles = nfiles;
    for (uint32_t i = 0; i < nfuncs; i++)
        if (!read_func(&r, MAP_HEADER + (size_t)nfiles * 4 + (size_t)i * MAP_FUNC))
            return false;
    return true;
}
