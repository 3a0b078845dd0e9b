/* Marks of debug information: line tables and frames. Their places in code are relocated starts of functions
 * and distances from there.
 * SPDX-License-Identifier: MIT */
#include "emit/text/marks.h"
#include <string.h>

/* ---- line tables ---- */
typedef struct {
    Marks *marks;
    uint32_t section;
    uint32_t code; /* of the sequence being read; 0: not known */
    uint64_t start;
} LineMarks;

static void line_unit(void *user, uint64_t at, uint64_t size_bytes) {
    LineMarks *lines = user;
    disasm_marks_field(lines->marks, lines->section, at - 4, 4, 4,
                       disasm_marks_distance_text(lines->marks, lines->section, at, at + size_bytes));
}

/* How many bytes the shortest form of a number takes: ptxas 13.0 keeps the sign bit of signed numbers free.
 */
static unsigned leb_length(uint64_t v, bool is_signed) {
    unsigned n = 1;
    for (; v > (is_signed ? 0x3fu : 0x7fu); v >>= 7)
        n++;
    return n;
}

static void line_start(void *user, uint64_t at, uint64_t value) {
    LineMarks *lines = user;
    if (!disasm_marks_address_at(lines->marks, lines->section, at, value, &lines->code, &lines->start)) {
        lines->code = 0;
        return;
    }
    lines->start -= value; /* addresses of the sequence begin with what stands there */
    disasm_marks_add(lines->marks, lines->code, lines->start + value, false);
}

static void line_stuck(void *user, uint64_t at, uint64_t from, uint64_t to) {
    LineMarks *lines = user;
    (void)at;
    (void)from;
    (void)to;
    if (lines->code)
        disasm_marks_stuck(lines->marks, lines->section, lines->code, UINT64_MAX);
}

static void line_advance(void *user, uint64_t at, unsigned length, uint64_t from, uint64_t to) {
    LineMarks *lines = user;
    Marks *marks = lines->marks;
    if (!lines->code)
        return;
    if (!disasm_marks_is_place(marks, lines->code, lines->start + from) ||
        !disasm_marks_is_place(marks, lines->code, lines->start + to) ||
        (length != leb_length(to - from, true) && length != leb_length(to - from, false))) {
        line_stuck(user, at, from, to);
        return;
    }
    bool is_signed = length == leb_length(to - from, true);
    disasm_marks_field(
        marks, lines->section, at, is_signed ? FIELD_SLEB : FIELD_ULEB, length,
        disasm_marks_distance_text(marks, lines->code, lines->start + from, lines->start + to));
}

/* The directive makes the same opcode of it, or two where the distance has become too long. */
static void line_special(void *user, uint64_t at, const LineHeader *h, int line, uint64_t from, uint64_t to) {
    LineMarks *lines = user;
    Marks *marks = lines->marks;
    if (!lines->code)
        return;
    if (!disasm_marks_is_place(marks, lines->code, lines->start + from) ||
        !disasm_marks_is_place(marks, lines->code, lines->start + to)) {
        line_stuck(user, at, from, to);
        return;
    }
    disasm_marks_field(
        marks, lines->section, at, FIELD_LINE, 1,
        arena_printf(marks->a, "%u, %d, %u, %u, %d, %s", h->opcode_base, h->line_base, h->line_range,
                     h->min_inst, line,
                     disasm_marks_distance_text(marks, lines->code, lines->start + from, lines->start + to)));
}

static void mark_lines(Marks *marks, uint32_t section) {
    const ElfSection *s = &marks->image->sections.at[section];
    LineMarks lines = {.marks = marks, .section = section};
    LineReader reader = {.user = &lines,
                         .unit = line_unit,
                         .set_address = line_start,
                         .advance = line_advance,
                         .special = line_special,
                         .other_advance = line_stuck};
    bool good = s->data && elf_read_lines(s->data, s->h.sh_size, &reader);
    for (uint32_t i = 1; s->data && !good && i < marks->image->sections.n; i++)
        if (disasm_marks_is_place(marks, i, 0))
            disasm_marks_stuck(marks, section, i, UINT64_MAX);
}

/* ---- frames: DWARF 4, 6.4 ---- */
typedef struct {
    Marks *marks;
    uint32_t section, code;
    const uint8_t *data;
    size_t pos, end;
    uint64_t align; /* of code, from the last CIE */
    uint64_t place; /* in `code` */
} Frames;

static bool skip_ulebs(Frames *frames, unsigned n) {
    uint64_t v;
    while (n--)
        if (!elf_uleb(frames->data, frames->end, &frames->pos, &v))
            return false;
    return true;
}

static bool skip_block(Frames *frames) {
    uint64_t size;
    if (!elf_uleb(frames->data, frames->end, &frames->pos, &size) || size > frames->end - frames->pos)
        return false;
    frames->pos += size;
    return true;
}

/* ptxas 13.0 goes back in four bytes, too: 0x3ffffffc times 4 is -16, from behind a kernel's last instruction
 * but the branch to itself. */
static bool goes_back(const Frames *frames, unsigned size, uint64_t by) {
    uint64_t bytes = by * frames->align;
    return size == 4 && by <= UINT32_MAX && bytes > INT32_MAX && bytes <= UINT32_MAX &&
           UINT32_MAX - bytes < frames->place;
}

/* An advance whose operand of `size` bytes is next; size 0: it is in the opcode. */
static bool frame_advance(Frames *frames, unsigned size, uint64_t by) {
    if (size > frames->end - frames->pos)
        return false;
    for (unsigned k = 0; k < size; k++)
        by |= (uint64_t)frames->data[frames->pos + k] << (8 * k);
    bool back = goes_back(frames, size, by);
    uint64_t to = frames->place + by * frames->align - (back ? (uint64_t)1 << 32 : 0);
    if (by && frames->code) {
        bool exact = back || (to - frames->place) / frames->align == by; /* no damaged number that wrapped */
        if (size && exact && disasm_marks_is_place(frames->marks, frames->code, frames->place) &&
            disasm_marks_is_place(frames->marks, frames->code, to))
            disasm_marks_field(
                frames->marks, frames->section, frames->pos, size, size,
                arena_printf(frames->marks->a, back ? "(%s + 0x100000000)/%llu" : "%s/%llu",
                             disasm_marks_distance_text(frames->marks, frames->code, frames->place, to),
                             (unsigned long long)frames->align));
        else
            disasm_marks_stuck(frames->marks, frames->section, frames->code, UINT64_MAX);
    }
    frames->place = to;
    frames->pos += size;
    return true;
}

static bool frame_instruction(Frames *frames) {
    static const struct {
        uint8_t code, ulebs;
    } plain[] = {{0x00, 0}, {0x05, 2}, {0x06, 1}, {0x07, 1}, {0x08, 1}, {0x09, 2}, {0x0a, 0}, {0x0b, 0},
                 {0x0c, 2}, {0x0d, 1}, {0x0e, 1}, {0x11, 2}, {0x12, 2}, {0x13, 1}, {0x14, 2}, {0x15, 2}};
    uint8_t code = frames->data[frames->pos++];
    switch (code >> 6) {
    case 1: return frame_advance(frames, 0, code & 0x3f);
    case 2: return skip_ulebs(frames, 1);
    case 3: return true;
    }
    if (code == 0x02 || code == 0x03 || code == 0x04)
        return frame_advance(frames, 1u << (code - 2), 0);
    if (code == 0x0f)
        return skip_block(frames);
    if (code == 0x10 || code == 0x16)
        return skip_ulebs(frames, 1) && skip_block(frames);
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (plain[i].code == code)
            return skip_ulebs(frames, plain[i].ulebs);
    return false;
}

static bool frame_instructions(Frames *frames) {
    while (frames->pos < frames->end)
        if (!frame_instruction(frames))
            return false;
    return true;
}

static bool cie(Frames *frames) {
    const uint8_t *stop;
    frames->pos++; /* version */
    if (frames->pos >= frames->end ||
        !(stop = memchr(frames->data + frames->pos, 0, frames->end - frames->pos)))
        return false;
    frames->pos = (size_t)(stop - frames->data) + 1;
    return elf_uleb(frames->data, frames->end, &frames->pos, &frames->align) && frames->align;
}

/* Start (relocated) and length of a function, then what happens in it. */
static bool fde(Frames *frames) {
    if (frames->end - frames->pos < 16 || !frames->align) /* of what unit it counts in nothing was said */
        return false;
    size_t start = frames->pos;
    uint64_t size = get_u64(frames->data + start + 8);
    frames->pos += 16;
    if (!disasm_marks_address_at(frames->marks, frames->section, start, get_u64(frames->data + start),
                                 &frames->code, &frames->place)) {
        frames->code = 0;
        return true;
    }
    if (size && disasm_marks_is_place(frames->marks, frames->code, frames->place + size))
        disasm_marks_field(
            frames->marks, frames->section, start + 8, 8, 8,
            disasm_marks_distance_text(frames->marks, frames->code, frames->place, frames->place + size));
    else if (size)
        disasm_marks_stuck(frames->marks, frames->section, frames->code, UINT64_MAX);
    return frame_instructions(frames);
}

static bool frame_entry(Frames *frames, size_t section_end) {
    bool wide = section_end - frames->pos >= 12 && get_u32(frames->data + frames->pos) == UINT32_MAX;
    unsigned word = wide ? 8 : 4;
    if (section_end - frames->pos < (wide ? 20u : 8u))
        return false;
    frames->pos += wide ? 4 : 0;
    uint64_t size = wide ? get_u64(frames->data + frames->pos) : get_u32(frames->data + frames->pos);
    frames->pos += word;
    if (size > section_end - frames->pos || size < word)
        return false;
    frames->end = frames->pos + size;
    uint64_t id = wide ? get_u64(frames->data + frames->pos) : get_u32(frames->data + frames->pos);
    frames->pos += word;
    bool good = id == (wide ? UINT64_MAX : UINT32_MAX) ? cie(frames) : fde(frames);
    frames->pos = frames->end;
    return good;
}

static void mark_frames(Marks *marks, uint32_t section) {
    const ElfSection *s = &marks->image->sections.at[section];
    Frames f = {.marks = marks, .section = section, .data = s->data};
    bool good = s->data != NULL;
    while (good && f.pos < s->h.sh_size)
        good = frame_entry(&f, s->h.sh_size);
    for (uint32_t i = 1; s->data && !good && i < marks->image->sections.n; i++)
        if (disasm_marks_is_place(marks, i, 0))
            disasm_marks_stuck(marks, section, i, UINT64_MAX);
}

void disasm_marks_dwarf(Marks *marks) {
    for (uint32_t i = 1; i < marks->image->sections.n; i++) {
        const char *name = marks->image->sections.at[i].name;
        if (strcmp(name, ".debug_line") == 0 || strcmp(name, ".nv_debug_line_sass") == 0)
            mark_lines(marks, i);
        else if (strcmp(name, ".debug_frame") == 0)
            mark_frames(marks, i);
    }
}
