/* Marks of .nv_debug_info_reg_sass, which ptxas -g writes: in which register a PTX register is, from where to
 * where in the code. Read off ptxas 13.0's files: for each function
 *     name, NUL, u32 records; each  u32 part, name of the PTX register, NUL, u32 register | class << 24, u32
 * from, u32 to SPDX-License-Identifier: MIT */
#include "emit/text/disasm.h"
#include "emit/text/marks.h"
#include <string.h>

enum { DEBUG_PART_BYTES = 4, DEBUG_PLACES_BYTES = 12 };

typedef struct {
    Marks *marks;
    uint32_t section;
    const ElfSection *s;
    uint64_t at;
    bool adds; /* else it is only looked whether all of it is as above */
} DebugMarks;

/* A name with its NUL; NULL: there is none. */
static const char *debug_name(DebugMarks *debug) {
    const char *name = (const char *)debug->s->data + debug->at;
    const char *end = memchr(name, 0, debug->s->h.sh_size - debug->at);
    if (!end)
        return NULL;
    debug->at += (uint64_t)(end - name) + 1;
    return name;
}

static bool debug_has(const DebugMarks *debug, uint64_t bytes) {
    return debug->s->h.sh_size - debug->at >= bytes;
}

static bool debug_record(DebugMarks *debug, uint32_t code) {
    if (!debug_has(debug, DEBUG_PART_BYTES))
        return false;
    debug->at += DEBUG_PART_BYTES;
    if (!debug_name(debug) || !debug_has(debug, DEBUG_PLACES_BYTES))
        return false;
    for (unsigned i = 1; i < 3; i++) {
        uint64_t at = debug->at + 4 * i, place = get_u32(debug->s->data + at);
        if (!disasm_marks_is_place(debug->marks, code, place))
            return false;
        if (debug->adds)
            disasm_marks_field(debug->marks, debug->section, at, 4, 4,
                               disasm_marks_place_text(debug->marks, code, place));
    }
    debug->at += DEBUG_PLACES_BYTES;
    return true;
}

static bool debug_functions(DebugMarks *debug) {
    debug->at = 0;
    while (debug_has(debug, 1)) {
        const char *name = debug_name(debug);
        if (!name || !debug_has(debug, 4))
            return false;
        uint32_t code = elf_image_find(debug->marks->image, arena_printf(debug->marks->a, ".text.%s", name));
        uint32_t n = get_u32(debug->s->data + debug->at);
        debug->at += 4;
        for (; n; n--)
            if (!code || !debug_record(debug, code))
                return false;
    }
    return true;
}

/* Debug information of which nothing is known, but that it is about code. */
static void mark_unknown(Marks *marks, uint32_t section) {
    for (uint32_t i = 1; section && i < marks->image->sections.n; i++)
        if (disasm_is_code(&marks->image->sections.at[i]))
            disasm_marks_stuck(marks, section, i, UINT64_MAX);
}

void disasm_marks_debug(Marks *marks) {
    uint32_t section = elf_image_find(marks->image, ".nv_debug_info_reg_sass");
    DebugMarks debug = {.marks = marks, .section = section, .s = &marks->image->sections.at[section]};
    if (section && debug.s->data && debug_functions(&debug)) {
        debug.adds = true;
        debug_functions(&debug);
    } else
        mark_unknown(marks, section);
    mark_unknown(marks, elf_image_find(marks->image, ".nv_debug_info_ptx"));
}
