/* Line tables: see line_table.h, and DWARF 4, 6.2.
 * SPDX-License-Identifier: MIT */
#include "emit/elf/line_table.h"
#include <string.h>

enum {
    LNS_COPY = 1,
    LNS_ADVANCE_PC,
    LNS_ADVANCE_LINE,
    LNS_SET_FILE,
    LNS_SET_COLUMN,
    LNS_NEGATE_STMT,
    LNS_BASIC_BLOCK,
    LNS_CONST_ADD_PC,
    LNS_FIXED_ADVANCE_PC,
    LNE_END = 1,
    LNE_SET_ADDRESS
};

typedef struct {
    const uint8_t *data;
    size_t pos, end; /* of the unit */
    const LineReader *reader;
    LineHeader h;
    uint8_t lengths[256];
    uint64_t address;
    uint32_t file, line;
} Unit;

bool elf_uleb(const uint8_t *data, size_t size_bytes, size_t *pos, uint64_t *out) {
    *out = 0;
    for (unsigned shift = 0; *pos < size_bytes && shift < 64; shift += 7) {
        uint8_t byte = data[(*pos)++];
        *out |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return true;
    }
    return false;
}

static bool uleb(Unit *lines, uint64_t *out) { return elf_uleb(lines->data, lines->end, &lines->pos, out); }

static bool sleb(Unit *lines, int64_t *out) {
    uint64_t v = 0;
    size_t start = lines->pos;
    if (!uleb(lines, &v))
        return false;
    unsigned bits = (unsigned)(lines->pos - start) * 7;
    bool negative = lines->data[lines->pos - 1] & 0x40;
    *out = (int64_t)(negative && bits < 64 ? v | ~(uint64_t)0 << bits : v);
    return true;
}

static bool byte(Unit *lines, uint8_t *out) {
    if (lines->pos >= lines->end)
        return false;
    *out = lines->data[lines->pos++];
    return true;
}

static bool text(Unit *lines, const char **out) {
    const uint8_t *stop = memchr(lines->data + lines->pos, 0, lines->end - lines->pos);
    *out = (const char *)lines->data + lines->pos;
    if (!stop)
        return false;
    lines->pos = (size_t)(stop - lines->data) + 1;
    return true;
}

static bool file_table(Unit *lines) {
    const char *name;
    uint64_t unused;
    do
        if (lines->pos >= lines->end || !text(lines, &name))
            return false;
    while (*name); /* directories */
    for (uint32_t number = 1;; number++) {
        if (lines->pos >= lines->end || !text(lines, &name))
            return false;
        if (!*name)
            return true;
        if (!uleb(lines, &unused) || !uleb(lines, &unused) || !uleb(lines, &unused))
            return false;
        if (lines->reader->file)
            lines->reader->file(lines->reader->user, number, name);
    }
}

static void advance(Unit *lines, size_t at, uint64_t by) {
    uint64_t from = lines->address;
    lines->address += by;
    if (by && lines->reader->other_advance)
        lines->reader->other_advance(lines->reader->user, at, from, lines->address);
}

static void row(Unit *lines) {
    if (lines->reader->row)
        lines->reader->row(lines->reader->user, lines->address, lines->file, lines->line);
}

static bool extended(Unit *lines) {
    uint64_t size;
    uint8_t code = 0;
    if (!uleb(lines, &size) || !size || size > lines->end - lines->pos)
        return false;
    size_t behind = lines->pos + size;
    byte(lines, &code);
    if (code == LNE_SET_ADDRESS && size == 9) {
        lines->address = get_u64(lines->data + lines->pos);
        if (lines->reader->set_address)
            lines->reader->set_address(lines->reader->user, lines->pos, lines->address);
    } else if (code == LNE_END) {
        row(lines);
        lines->address = 0;
        lines->file = lines->line = 1;
    }
    lines->pos = behind;
    return true;
}

static bool advance_pc(Unit *lines) {
    size_t at = lines->pos;
    uint64_t by, from = lines->address;
    if (!uleb(lines, &by))
        return false;
    lines->address += by * lines->h.min_inst;
    if (lines->reader->advance)
        lines->reader->advance(lines->reader->user, at, (unsigned)(lines->pos - at), from, lines->address);
    return true;
}

static bool standard(Unit *lines, uint8_t code) {
    size_t at = lines->pos - 1;
    uint64_t v;
    int64_t by;
    switch (code) {
    case LNS_COPY: row(lines); return true;
    case LNS_ADVANCE_PC: return advance_pc(lines);
    case LNS_ADVANCE_LINE:
        if (!sleb(lines, &by))
            return false;
        lines->line += (uint32_t)by;
        return true;
    case LNS_SET_FILE:
        if (!uleb(lines, &v))
            return false;
        lines->file = (uint32_t)v;
        return true;
    case LNS_CONST_ADD_PC:
        advance(lines, at,
                (uint64_t)((255 - lines->h.opcode_base) / lines->h.line_range) * lines->h.min_inst);
        return true;
    case LNS_FIXED_ADVANCE_PC:
        if (lines->end - lines->pos < 2)
            return false;
        lines->pos += 2;
        advance(lines, at, get_u16(lines->data + lines->pos - 2));
        return true;
    default:
        for (unsigned i = 0; i < lines->lengths[code]; i++)
            if (!uleb(lines, &v))
                return false;
        return true;
    }
}

static void special(Unit *lines, size_t at, uint8_t code) {
    unsigned adjusted = (unsigned)code - lines->h.opcode_base;
    int line = lines->h.line_base + (int)(adjusted % lines->h.line_range);
    uint64_t from = lines->address;
    lines->address += (uint64_t)(adjusted / lines->h.line_range) * lines->h.min_inst;
    lines->line += (uint32_t)line;
    if (lines->address != from && lines->reader->special)
        lines->reader->special(lines->reader->user, at, &lines->h, line, from, lines->address);
    row(lines);
}

static bool program(Unit *lines) {
    lines->file = lines->line = 1;
    while (lines->pos < lines->end) {
        size_t at = lines->pos;
        uint8_t code = lines->data[lines->pos++];
        if (code >= lines->h.opcode_base) {
            special(lines, at, code);
        } else if (!(code ? standard(lines, code) : extended(lines)))
            return false;
    }
    return true;
}

static bool unit(const uint8_t *data, size_t *pos, size_t size_bytes, const LineReader *reader) {
    Unit lines = {.data = data, .pos = *pos + 4, .reader = reader};
    uint8_t unused;
    if (size_bytes - *pos < 10 || get_u32(data + *pos) > size_bytes - lines.pos || get_u32(data + *pos) < 10)
        return false;
    lines.end = lines.pos + get_u32(data + *pos);
    if (reader->unit)
        reader->unit(reader->user, lines.pos, lines.end - lines.pos);
    uint16_t version = get_u16(data + lines.pos);
    uint32_t header = get_u32(data + lines.pos + 2);
    lines.pos += 6;
    size_t start = lines.pos + header;
    if (version < 2 || version > 4 || header > lines.end - lines.pos || !byte(&lines, &lines.h.min_inst) ||
        (version == 4 && !byte(&lines, &unused)) || !byte(&lines, &unused) ||
        !byte(&lines, (uint8_t *)&lines.h.line_base) || !byte(&lines, &lines.h.line_range) ||
        !byte(&lines, &lines.h.opcode_base) || !lines.h.line_range || !lines.h.opcode_base)
        return false;
    for (unsigned i = 1; i < lines.h.opcode_base; i++)
        if (!byte(&lines, &lines.lengths[i]))
            return false;
    if (!file_table(&lines) || lines.pos > start)
        return false;
    lines.pos = start;
    *pos = lines.end;
    return program(&lines);
}

bool elf_read_lines(const uint8_t *data, size_t size_bytes, const LineReader *reader) {
    for (size_t pos = 0; pos < size_bytes;)
        if (!unit(data, &pos, size_bytes, reader))
            return false;
    return true;
}
