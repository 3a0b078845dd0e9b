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
    const LineReader *r;
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

static bool uleb(Unit *u, uint64_t *out) { return elf_uleb(u->data, u->end, &u->pos, out); }

static bool sleb(Unit *u, int64_t *out) {
    uint64_t v = 0;
    size_t start = u->pos;
    if (!uleb(u, &v))
        return false;
    unsigned bits = (unsigned)(u->pos - start) * 7;
    bool negative = u->data[u->pos - 1] & 0x40;
    *out = (int64_t)(negative && bits < 64 ? v | ~(uint64_t)0 << bits : v);
    return true;
}

static bool byte(Unit *u, uint8_t *out) {
    if (u->pos >= u->end)
        return false;
    *out = u->data[u->pos++];
    return true;
}

static bool text(Unit *u, const char **out) {
    const uint8_t *stop = memchr(u->data + u->pos, 0, u->end - u->pos);
    *out = (const char *)u->data + u->pos;
    if (!stop)
        return false;
    u->pos = (size_t)(stop - u->data) + 1;
    return true;
}

static bool file_table(Unit *u) {
    const char *name;
    uint64_t unused;
    do
        if (u->pos >= u->end || !text(u, &name))
            return false;
    while (*name); /* directories */
    for (uint32_t number = 1;; number++) {
        if (u->pos >= u->end || !text(u, &name))
            return false;
        if (!*name)
            return true;
        if (!uleb(u, &unused) || !uleb(u, &unused) || !uleb(u, &unused))
            return false;
        if (u->r->file)
            u->r->file(u->r->user, number, name);
    }
}

static void advance(Unit *u, size_t at, uint64_t by) {
    uint64_t from = u->address;
    u->address += by;
    if (by && u->r->other_advance)
        u->r->other_advance(u->r->user, at, from, u->address);
}

static void row(Unit *u) {
    if (u->r->row)
        u->r->row(u->r->user, u->address, u->file, u->line);
}

static bool extended(Unit *u) {
    uint64_t size;
    uint8_t code = 0;
    if (!uleb(u, &size) || !size || size > u->end - u->pos)
        return false;
    size_t behind = u->pos + size;
    byte(u, &code);
    if (code == LNE_SET_ADDRESS && size == 9) {
        u->address = get_u64(u->data + u->pos);
        if (u->r->set_address)
            u->r->set_address(u->r->user, u->pos, u->address);
    } else if (code == LNE_END) {
        row(u);
        u->address = 0;
        u->file = u->line = 1;
    }
    u->pos = behind;
    return true;
}

static bool advance_pc(Unit *u) {
    size_t at = u->pos;
    uint64_t by, from = u->address;
    if (!uleb(u, &by))
        return false;
    u->address += by * u->h.min_inst;
    if (u->r->advance)
        u->r->advance(u->r->user, at, (unsigned)(u->pos - at), from, u->address);
    return true;
}

static bool standard(Unit *u, uint8_t code) {
    size_t at = u->pos - 1;
    uint64_t v;
    int64_t by;
    switch (code) {
    case LNS_COPY: row(u); return true;
    case LNS_ADVANCE_PC: return advance_pc(u);
    case LNS_ADVANCE_LINE:
        if (!sleb(u, &by))
            return false;
        u->line += (uint32_t)by;
        return true;
    case LNS_SET_FILE:
        if (!uleb(u, &v))
            return false;
        u->file = (uint32_t)v;
        return true;
    case LNS_CONST_ADD_PC:
        advance(u, at, (uint64_t)((255 - u->h.opcode_base) / u->h.line_range) * u->h.min_inst);
        return true;
    case LNS_FIXED_ADVANCE_PC:
        if (u->end - u->pos < 2)
            return false;
        u->pos += 2;
        advance(u, at, get_u16(u->data + u->pos - 2));
        return true;
    default:
        for (unsigned i = 0; i < u->lengths[code]; i++)
            if (!uleb(u, &v))
                return false;
        return true;
    }
}

static void special(Unit *u, size_t at, uint8_t code) {
    unsigned adjusted = (unsigned)code - u->h.opcode_base;
    int line = u->h.line_base + (int)(adjusted % u->h.line_range);
    uint64_t from = u->address;
    u->address += (uint64_t)(adjusted / u->h.line_range) * u->h.min_inst;
    u->line += (uint32_t)line;
    if (u->address != from && u->r->special)
        u->r->special(u->r->user, at, &u->h, line, from, u->address);
    row(u);
}

static bool program(Unit *u) {
    u->file = u->line = 1;
    while (u->pos < u->end) {
        size_t at = u->pos;
        uint8_t code = u->data[u->pos++];
        if (code >= u->h.opcode_base) {
            special(u, at, code);
        } else if (!(code ? standard(u, code) : extended(u)))
            return false;
    }
    return true;
}

static bool unit(const uint8_t *data, size_t *pos, size_t size_bytes, const LineReader *reader) {
    Unit u = {.data = data, .pos = *pos + 4, .r = reader};
    uint8_t unused;
    if (size_bytes - *pos < 10 || get_u32(data + *pos) > size_bytes - u.pos || get_u32(data + *pos) < 10)
        return false;
    u.end = u.pos + get_u32(data + *pos);
    if (reader->unit)
        reader->unit(reader->user, u.pos, u.end - u.pos);
    uint16_t version = get_u16(data + u.pos);
    uint32_t header = get_u32(data + u.pos + 2);
    u.pos += 6;
    size_t start = u.pos + header;
    if (version < 2 || version > 4 || header > u.end - u.pos || !byte(&u, &u.h.min_inst) ||
        (version == 4 && !byte(&u, &unused)) || !byte(&u, &unused) || !byte(&u, (uint8_t *)&u.h.line_base) ||
        !byte(&u, &u.h.line_range) || !byte(&u, &u.h.opcode_base) || !u.h.line_range || !u.h.opcode_base)
        return false;
    for (unsigned i = 1; i < u.h.opcode_base; i++)
        if (!byte(&u, &u.lengths[i]))
            return false;
    if (!file_table(&u) || u.pos > start)
        return false;
    u.pos = start;
    *pos = u.end;
    return program(&u);
}

bool elf_read_lines(const uint8_t *data, size_t size_bytes, const LineReader *reader) {
    for (size_t pos = 0; pos < size_bytes;)
        if (!unit(data, &pos, size_bytes, reader))
            return false;
    return true;
}
