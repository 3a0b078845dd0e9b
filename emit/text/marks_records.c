/* Marks of attribute records, of the jump tables that they list, of the call graph and of .heddle.map.
 * SPDX-License-Identifier: MIT */
#include "emit/text/marks.h"
#include "emit/text/disasm.h"
#include "emit/elf/nvinfo.h"
#include <string.h>

/* The code section of a function, 0 if there is none. */
static uint32_t code_of(const Marks *marks, const char *function) {
    uint32_t index = elf_image_find(marks->image, arena_printf(marks->a, ".text.%s", function));
    return index && disasm_is_code(&marks->image->sections.at[index]) ? index : 0;
}

/* ---- attribute records ---- */
uint32_t disasm_marks_described(const Marks *marks, uint32_t section) {
    static const char prefix[] = ".nv.info.";
    const ElfSection *s = &marks->image->sections.at[section];
    if (s->h.sh_type != SHT_NV_INFO || strncmp(s->name, prefix, strlen(prefix)) != 0 ||
        elf_image_find(marks->image, s->name) != section)
        return 0;
    return code_of(marks, s->name + strlen(prefix));
}

/* Records that hold places in a form that is not known here. */
static bool holds_places(unsigned code) {
    return code == NV_INSTR_REG_MAP || code == NV_ATOM16_EMUL_INSTR_REG_MAP || code == NV_JUMPTABLE_RELOCS;
}

static void mark_instructions(Marks *marks, uint32_t section, uint32_t text, const NvAttr *attr) {
    uint64_t end = marks->image->sections.at[text].h.sh_size;
    for (unsigned k = 0; k + 4 <= attr->size_bytes; k += 4) {
        uint64_t at = get_u32(attr->data + k);
        if (disasm_marks_is_place(marks, text, at) && at < end)
            disasm_marks_add(marks, text, at, true);
        else
            disasm_marks_stuck(marks, section, text, UINT64_MAX);
    }
}

/* {load, bytes that are used}, as often as the record is long (ptxas 13.0 -g: a load and 0xfff). */
static void mark_loads(Marks *marks, uint32_t section, uint32_t text, const NvAttr *attr) {
    uint64_t end = marks->image->sections.at[text].h.sh_size;
    bool good = attr->size_bytes % 8 == 0;
    for (unsigned k = 0; good && k < attr->size_bytes; k += 8) {
        uint64_t at = get_u32(attr->data + k);
        good = at % INST_BYTES == 0 && at < end;
    }
    for (unsigned k = 0; good && k < attr->size_bytes; k += 8)
        disasm_marks_add(marks, text, get_u32(attr->data + k), true);
    if (!good)
        disasm_marks_stuck(marks, section, text, UINT64_MAX);
}

/* The words of the table stand once, one behind the other, in the bank: they are distances from the
 * function's start. */
static bool mark_table_in(Marks *marks, uint32_t text, uint32_t bank, const uint8_t *targets,
                          uint32_t count) {
    const ElfSection *section = &marks->image->sections.at[bank];
    uint64_t found = 0, matches = 0;
    for (uint64_t at = 0; section->data && count && at + 4ull * count <= section->h.sh_size; at += 4)
        if (memcmp(section->data + at, targets, 4ull * count) == 0) {
            found = at;
            matches++;
        }
    for (uint32_t e = 0; matches == 1 && e < count; e++)
        disasm_marks_field(marks, bank, found + 4ull * e, 4, 4,
                           disasm_marks_distance_text(marks, text, 0, get_u32(targets + 4ull * e)));
    return matches == 1;
}

/* A function that is no kernel has its tables in the banks of all kernels that may call it. */
static bool mark_table(Marks *marks, uint32_t text, const uint8_t *targets, uint32_t count) {
    const char *name = marks->image->sections.at[text].name + strlen(".text.");
    uint32_t own = elf_image_find(marks->image, arena_printf(marks->a, ".nv.constant2.%s", name));
    bool found = false;
    if (own)
        return mark_table_in(marks, text, own, targets, count);
    for (uint32_t i = 1; i < marks->image->sections.n; i++)
        if (strncmp(marks->image->sections.at[i].name, ".nv.constant2", 13) == 0)
            found |= mark_table_in(marks, text, i, targets, count);
    return found;
}

/* {branch, 0, count, targets...}, as often as the record is long. */
static void mark_branches(Marks *marks, uint32_t section, uint32_t text, const NvAttr *attr) {
    uint32_t words = attr->size_bytes / 4, count;
    uint64_t end = marks->image->sections.at[text].h.sh_size;
    for (uint32_t k = 0; k + 3 <= words; k += 3 + count) {
        const uint8_t *p = attr->data + 4ull * k;
        bool good = disasm_marks_is_place(marks, text, get_u32(p)) && get_u32(p) < end;
        count = get_u32(p + 8);
        if (count > words - k - 3) {
            disasm_marks_stuck(marks, section, text, UINT64_MAX);
            return;
        }
        for (uint32_t e = 0; e < count; e++)
            good &= disasm_marks_is_place(marks, text, get_u32(p + 12 + 4ull * e));
        if (!good) {
            disasm_marks_stuck(marks, section, text, UINT64_MAX);
            continue;
        }
        disasm_marks_add(marks, text, get_u32(p), true);
        for (uint32_t e = 0; e < count; e++)
            disasm_marks_add(marks, text, get_u32(p + 12 + 4ull * e), false);
        if (!mark_table(marks, text, p + 12, count))
            for (uint32_t e = 0; e < count; e++) /* the table is nowhere to be seen */
                disasm_marks_stuck(marks, section, text, get_u32(p + 12 + 4ull * e));
    }
}

/* Entries of the list stand at their instructions, with the masks of the one beside it. */
static bool list_at_instructions(Marks *marks, uint32_t section, uint32_t text, const NvAttr *attr,
                                 const NvAttr *masks) {
    const char *function = marks->image->sections.at[text].name + strlen(".text.");
    uint64_t end = marks->image->sections.at[text].h.sh_size;
    if (!disasm_marks_is_word(function) || attr->size_bytes % 4 || !elf_nvinfo_name(attr->code))
        return false;
    for (unsigned k = 0; k < attr->size_bytes; k += 4) {
        uint64_t at = get_u32(attr->data + k);
        if (at % INST_BYTES || at >= end || (k && at <= get_u32(attr->data + k - 4)))
            return false;
    }
    for (unsigned k = 0; k < attr->size_bytes; k += 4) {
        uint64_t at = get_u32(attr->data + k);
        VEC_ADD(marks->a, &marks->listed,
                ((Listed){text, at,
                          arena_printf(marks->a, ".CUASM_OFFSET_LABEL.%s.%s.#", function,
                                       elf_nvinfo_name(attr->code))}));
        if (masks)
            VEC_ADD(marks->a, &marks->listed,
                    ((Listed){text, at,
                              arena_printf(marks->a, ".CUASM_OFFSET_LABEL.%s.%s.0x%x", function,
                                           elf_nvinfo_name(masks->code), get_u32(masks->data + k))}));
    }
    VEC_ADD(marks->a, &marks->listed_records, ((Mark){section, attr->offset, true}));
    if (masks)
        VEC_ADD(marks->a, &marks->listed_records, ((Mark){section, masks->offset, true}));
    return true;
}

/* The only record of that code; false: there is none, or several. */
static bool only_record(const ElfSection *section, unsigned code, NvAttr *out) {
    size_t pos = 0;
    NvAttr attr;
    unsigned n = 0;
    while (elf_nvinfo_next(section->data, section->h.sh_size, &pos, &attr))
        if (attr.code == code && attr.format == NVF_SIZED && ++n == 1)
            *out = attr;
    return n == 1;
}

static void mark_list(Marks *marks, uint32_t section, uint32_t text, const NvAttr *attr) {
    const ElfSection *s = &marks->image->sections.at[section];
    NvAttr only, masks;
    if (attr->code == NV_EXIT_INSTR_OFFSETS || !only_record(s, attr->code, &only)) {
        mark_instructions(marks, section, text, attr);
        return;
    }
    bool has_masks =
        attr->code == NV_COOP_GROUP_INSTR_OFFSETS && only_record(s, NV_COOP_GROUP_MASK_REGIDS, &masks);
    if ((has_masks && masks.size_bytes != attr->size_bytes) ||
        !list_at_instructions(marks, section, text, attr, has_masks ? &masks : NULL))
        mark_instructions(marks, section, text, attr);
}

static void mark_attributes(Marks *marks) {
    for (uint32_t i = 1; i < marks->image->sections.n; i++) {
        const ElfSection *section = &marks->image->sections.at[i];
        uint32_t text = disasm_marks_described(marks, i);
        size_t pos = 0;
        NvAttr attr;
        if (!section->data || !text)
            continue;
        while (elf_nvinfo_next(section->data, section->h.sh_size, &pos, &attr)) {
            if (attr.format != NVF_SIZED)
                continue;
            if (elf_nvinfo_lists_instructions(attr.code))
                mark_list(marks, i, text, &attr);
            else if (attr.code == NV_INDIRECT_BRANCH_TARGETS)
                mark_branches(marks, i, text, &attr);
            else if (attr.code == NV_UNUSED_LOAD_BYTE_OFFSET)
                mark_loads(marks, i, text, &attr);
            else if (holds_places(attr.code) && attr.size_bytes)
                disasm_marks_stuck(marks, i, text, UINT64_MAX);
        }
    }
}

/* ---- call graph: pairs of symbols, or of 0 and a negative number ---- */
static void mark_callgraph(Marks *marks) {
    for (uint32_t i = 1; i < marks->image->sections.n; i++) {
        const ElfSection *section = &marks->image->sections.at[i];
        if (section->h.sh_type != SHT_NV_CALLGRAPH || !section->data)
            continue;
        for (uint64_t at = 0; at + 4 <= section->h.sh_size; at += 4) {
            uint32_t symbol = get_u32(section->data + at);
            if (symbol && symbol < marks->nsymbols && marks->which_symbol[symbol])
                disasm_marks_field(marks, i, at, 4, 4,
                                   disasm_marks_symbol_text(marks, marks->symtab, symbol));
        }
    }
}

void disasm_marks_records(Marks *marks) {
    mark_attributes(marks);
    mark_callgraph(marks);
}

/* ---- .heddle.map (layout: emit/elf/map.c) ---- */
enum { MAP_HEADER = 32, MAP_FUNC = 28, MAP_LOC = 20, MAP_ROW = 16, MAP_POINT = 8 };

typedef struct {
    Marks *marks;
    uint32_t section;
    const uint8_t *data;
    uint64_t size;
} MapMarks;

static bool map_holds(const MapMarks *map, uint64_t at, uint64_t count, uint64_t each) {
    return at <= map->size && count <= (map->size - at) / each;
}

/* The word at `at` is a place in the section itself. */
static void own_place(MapMarks *map, uint64_t at) {
    uint64_t place = get_u32(map->data + at);
    if (place <= map->size)
        disasm_marks_field(map->marks, map->section, at, 4, 4,
                           disasm_marks_place_text(map->marks, map->section, place));
}

/* The word at `at` is a place in the code. */
static void code_place(MapMarks *map, uint64_t at, uint32_t text) {
    uint64_t place = get_u32(map->data + at);
    if (disasm_marks_is_place(map->marks, text, place))
        disasm_marks_field(map->marks, map->section, at, 4, 4,
                           disasm_marks_place_text(map->marks, text, place));
    else
        disasm_marks_stuck(map->marks, map->section, text, UINT64_MAX);
}

static void mark_positions(MapMarks *map, uint64_t at, uint32_t text) {
    Marks *marks = map->marks;
    uint32_t n = (uint32_t)(marks->image->sections.at[text].h.sh_size / INST_BYTES);
    for (uint32_t k = 0; k < n; k++)
        if (!k || memcmp(map->data + at + k * MAP_LOC, map->data + at + (k - 1) * MAP_LOC, MAP_LOC) != 0)
            disasm_marks_add(marks, text, (uint64_t)k * INST_BYTES, false);
    VEC_ADD(marks->a, &marks->positions, ((Positions){map->section, at, text}));
}

static void mark_map_function(MapMarks *map, uint64_t at, uint64_t texts) {
    uint32_t name = get_u32(map->data + at), n = get_u32(map->data + at + 4);
    uint64_t locs = get_u32(map->data + at + 8), rows = get_u32(map->data + at + 16),
             points = get_u32(map->data + at + 24);
    uint32_t nrows = get_u32(map->data + at + 12), npoints = get_u32(map->data + at + 20);
    if (texts + name >= map->size || !memchr(map->data + texts + name, 0, map->size - texts - name) ||
        !map_holds(map, locs, n, MAP_LOC) || !map_holds(map, rows, nrows, MAP_ROW) ||
        !map_holds(map, points, npoints, MAP_POINT))
        return;
    uint32_t text = code_of(map->marks, (const char *)map->data + texts + name);
    if (!text)
        return;
    if (n != map->marks->image->sections.at[text].h.sh_size / INST_BYTES) {
        disasm_marks_stuck(map->marks, map->section, text, UINT64_MAX);
        return;
    }
    disasm_marks_field(
        map->marks, map->section, at + 4, 4, 4,
        arena_printf(map->marks->a, "%s/16",
                     disasm_marks_distance_text(map->marks, text, 0, (uint64_t)n * INST_BYTES)));
    own_place(map, at + 8);
    own_place(map, at + 16);
    own_place(map, at + 24);
    mark_positions(map, locs, text);
    for (uint32_t k = 0; k < nrows; k++) {
        code_place(map, rows + (uint64_t)k * MAP_ROW, text);
        code_place(map, rows + (uint64_t)k * MAP_ROW + 4, text);
    }
    for (uint32_t k = 0; k < npoints; k++)
        code_place(map, points + (uint64_t)k * MAP_POINT, text);
}

void disasm_marks_map(Marks *marks) {
    uint32_t section = elf_image_find(marks->image, ".heddle.map");
    const ElfSection *s = section ? &marks->image->sections.at[section] : NULL;
    MapMarks map = {marks, section, s ? s->data : NULL, s ? s->h.sh_size : 0};
    if (!map.data || map.size < MAP_HEADER || memcmp(map.data, "HDMP", 4) != 0 || get_u32(map.data + 4) != 2)
        return;
    uint32_t nfuncs = get_u32(map.data + 8), nfiles = get_u32(map.data + 12), texts = get_u32(map.data + 20);
    if (!map_holds(&map, MAP_HEADER, nfiles, 4) ||
        !map_holds(&map, MAP_HEADER + 4ull * nfiles, nfuncs, MAP_FUNC) || texts > map.size)
        return;
    own_place(&map, 20);
    for (uint32_t k = 0; k < nfuncs; k++)
        mark_map_function(&map, MAP_HEADER + 4ull * nfiles + (uint64_t)k * MAP_FUNC, texts);
}
