/* Marks of an image: see marks.h. Here: symbols, relocations, and the lists themselves.
 * SPDX-License-Identifier: MIT */
#include "emit/text/marks.h"
#include "emit/text/asm_text.h"
#include "emit/text/disasm.h"
#include "base/str.h"
#include "ir/ir.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the lists ---- */
bool disasm_marks_is_place(const Marks *marks, uint32_t section, uint64_t offset) {
    return section < marks->image->sections.n && disasm_is_code(&marks->image->sections.at[section]) &&
           offset % INST_BYTES == 0 && offset <= marks->image->sections.at[section].h.sh_size;
}

void disasm_marks_add(Marks *marks, uint32_t section, uint64_t offset, bool instruction) {
    VEC_ADD(marks->a, &marks->marks, ((Mark){section, offset, instruction}));
}

void disasm_marks_field(Marks *marks, uint32_t section, uint64_t offset, unsigned size_bytes, unsigned length,
                        const char *text) {
    VEC_ADD(marks->a, &marks->fields, ((Field){section, offset, (uint8_t)size_bytes, (uint8_t)length, text}));
}

void disasm_marks_stuck(Marks *marks, uint32_t section, uint32_t code, uint64_t place) {
    VEC_ADD(marks->a, &marks->stuck, ((Stuck){section, code, place}));
    if (place != UINT64_MAX)
        disasm_marks_add(marks, code, place, false);
}

static int mark_order(const void *x, const void *y) {
    const Mark *left = x, *right = y;
    if (left->section != right->section)
        return left->section < right->section ? -1 : 1;
    if (left->offset != right->offset)
        return left->offset < right->offset ? -1 : 1;
    return (int)left->instruction - (int)right->instruction;
}

static int field_order(const void *x, const void *y) {
    const Field *left = x, *right = y;
    if (left->section != right->section)
        return left->section < right->section ? -1 : 1;
    return left->offset < right->offset ? -1 : left->offset > right->offset;
}

static int stuck_order(const void *x, const void *y) {
    const Stuck *left = x, *right = y;
    if (left->section != right->section)
        return left->section < right->section ? -1 : 1;
    if (left->code != right->code)
        return left->code < right->code ? -1 : 1;
    return left->place < right->place ? -1 : left->place > right->place;
}

static int listed_order(const void *x, const void *y) {
    const Listed *left = x, *right = y;
    if (left->section != right->section)
        return left->section < right->section ? -1 : 1;
    if (left->offset != right->offset)
        return left->offset < right->offset ? -1 : 1;
    return strcmp(left->label, right->label);
}

static int positions_order(const void *x, const void *y) {
    const Positions *left = x, *right = y;
    if (left->section != right->section)
        return left->section < right->section ? -1 : 1;
    return left->offset < right->offset ? -1 : left->offset > right->offset;
}

/* Of two that are about one place, the one that stands first in the file. */
static int reloc_order(const void *x, const void *y) {
    const Reloc *left = x, *right = y;
    if (left->section != right->section)
        return left->section < right->section ? -1 : 1;
    if (left->offset != right->offset)
        return left->offset < right->offset ? -1 : 1;
    if (left->table != right->table)
        return left->table < right->table ? -1 : 1;
    return left->at < right->at ? -1 : left->at > right->at;
}

typedef int Order(const void *x, const void *y);

/* Index of the first of n sorted elements that does not come before `key`. */
static uint32_t first_of(const void *elements, uint32_t n, size_t element_bytes, const void *key,
                         Order *order) {
    uint32_t lo = 0, hi = n;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (order((const char *)elements + mid * element_bytes, key) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}
#define FIRST_OF(list, key, order) first_of((list).at, (list).n, sizeof *(list).at, key, order)
#define SORT(list, order) ((list).n ? qsort((list).at, (list).n, sizeof *(list).at, order) : (void)0)

uint32_t disasm_marks_first(const Marks *marks, uint32_t section, uint64_t offset) {
    return FIRST_OF(marks->marks, (&(Mark){section, offset, false}), mark_order);
}

uint32_t disasm_fields_first(const Marks *marks, uint32_t section, uint64_t offset) {
    return FIRST_OF(marks->fields, (&(Field){.section = section, .offset = offset}), field_order);
}

uint32_t disasm_positions_first(const Marks *marks, uint32_t section, uint64_t offset) {
    return FIRST_OF(marks->positions, (&(Positions){.section = section, .offset = offset}), positions_order);
}

uint32_t disasm_listed_first(const Marks *marks, uint32_t section, uint64_t offset) {
    return FIRST_OF(marks->listed, (&(Listed){section, offset, ""}), listed_order);
}

uint32_t disasm_stuck_first(const Marks *marks, uint32_t section) {
    return FIRST_OF(marks->stuck, (&(Stuck){.section = section}), stuck_order);
}

bool disasm_marks_is_listed(const Marks *marks, uint32_t section, uint64_t offset) {
    uint32_t i = FIRST_OF(marks->listed_records, (&(Mark){section, offset, false}), mark_order);
    return i < marks->listed_records.n && marks->listed_records.at[i].section == section &&
           marks->listed_records.at[i].offset == offset;
}

bool disasm_marks_has(const Marks *marks, uint32_t section, uint64_t offset, bool instruction) {
    Mark key = {section, offset, instruction};
    for (uint32_t i = disasm_marks_first(marks, section, offset); i < marks->marks.n; i++) {
        int order = mark_order(&marks->marks.at[i], &key);
        if (order >= 0)
            return order == 0;
    }
    return false;
}

/* A label between the two. */
static bool has_label_within(const Marks *marks, uint32_t section, uint64_t start, uint64_t end) {
    for (uint32_t i = disasm_marks_first(marks, section, start + 1); i < marks->marks.n; i++) {
        const Mark *mark = &marks->marks.at[i];
        if (mark->section != section || mark->offset >= end)
            return false;
        if (!mark->instruction)
            return true;
    }
    return false;
}

/* In a damaged file a place may lie within what is printed as one; that is then printed as bytes, between
 * which the label can stand. */
static void keep_printable(Marks *marks) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < marks->fields.n; i++) {
        const Field *field = &marks->fields.at[i];
        if (!has_label_within(marks, field->section, field->offset, field->offset + field->length))
            marks->fields.at[n++] = *field;
    }
    marks->fields.n = n;
    n = 0;
    for (uint32_t i = 0; i < marks->positions.n; i++) {
        const Positions *positions = &marks->positions.at[i];
        uint64_t count = marks->image->sections.at[positions->code].h.sh_size / INST_BYTES;
        if (!has_label_within(marks, positions->section, positions->offset,
                              positions->offset + count * DOC_POSITION_BYTES))
            marks->positions.at[n++] = *positions;
    }
    marks->positions.n = n;
}

/* Sorted, each once; of fields that overlap the first. */
static void settle(Marks *marks) {
    uint32_t n = 0;
    SORT(marks->marks, mark_order);
    for (uint32_t i = 0; i < marks->marks.n; i++)
        if (!n || mark_order(&marks->marks.at[n - 1], &marks->marks.at[i]) != 0)
            marks->marks.at[n++] = marks->marks.at[i];
    marks->marks.n = n;
    n = 0;
    SORT(marks->fields, field_order);
    for (uint32_t i = 0; i < marks->fields.n; i++) {
        const Field *last = n ? &marks->fields.at[n - 1] : NULL, *field = &marks->fields.at[i];
        if (!last || last->section != field->section || last->offset + last->length <= field->offset)
            marks->fields.at[n++] = *field;
    }
    marks->fields.n = n;
    SORT(marks->positions, positions_order);
    keep_printable(marks);
    n = 0;
    SORT(marks->stuck, stuck_order);
    for (uint32_t i = 0; i < marks->stuck.n; i++)
        if (!n || stuck_order(&marks->stuck.at[n - 1], &marks->stuck.at[i]) != 0)
            marks->stuck.at[n++] = marks->stuck.at[i];
    marks->stuck.n = n;
    SORT(marks->listed, listed_order);
    SORT(marks->listed_records, mark_order);
}

/* ---- texts ---- */
const char *disasm_marks_label(uint32_t section, uint64_t offset, bool instruction, char *out) {
    snprintf(out, MARK_LABEL_BYTES, ".%c_%u_%04llx", instruction ? 'I' : 'L', section,
             (unsigned long long)offset);
    return out;
}

const char *disasm_marks_place_text(Marks *marks, uint32_t section, uint64_t offset) {
    char label[MARK_LABEL_BYTES];
    disasm_marks_add(marks, section, offset, false);
    return arena_printf(marks->a, "%s", disasm_marks_label(section, offset, false, label));
}

const char *disasm_marks_distance_text(Marks *marks, uint32_t section, uint64_t from, uint64_t to) {
    const char *end = disasm_marks_place_text(marks, section, to);
    return arena_printf(marks->a, "(%s - %s)", end, disasm_marks_place_text(marks, section, from));
}

bool disasm_marks_is_word(const char *name) {
    for (const char *p = name; *p; p++)
        if (!isalnum((unsigned char)*p) && !strchr("_.$@", *p))
            return false;
    return *name != 0;
}

static bool is_quotable(const char *name) {
    for (const char *p = name; *p; p++)
        if (*p < 32 || *p > 126 || *p == '"' || *p == '\\')
            return false;
    return *name != 0;
}

static const char *name_text(Marks *marks, const char *function, const char *name, uint32_t which) {
    const char *quote = disasm_marks_is_word(name) ? "" : "\"";
    const char *number = which > 1 ? arena_printf(marks->a, ", %u", which) : "";
    return arena_printf(marks->a, "%s@(%s%s%s%s)", function, quote, name, quote, number);
}

const char *disasm_marks_symbol_text(Marks *marks, uint32_t symtab, uint32_t index) {
    const char *name = disasm_symbol_name(marks->image, symtab, index);
    uint32_t which = index < marks->nsymbols ? marks->which_symbol[index] : 0;
    if (symtab != marks->symtab || !name || !is_quotable(name) || !which)
        return arena_printf(marks->a, "%u", index);
    return name_text(marks, "index", name, which);
}

const char *disasm_marks_section_text(Marks *marks, uint32_t index) {
    if (!index || index >= marks->image->sections.n || !is_quotable(marks->image->sections.at[index].name))
        return arena_printf(marks->a, "0x%x", index);
    return name_text(marks, "section", marks->image->sections.at[index].name, marks->which_section[index]);
}

/* ---- symbols ---- */
bool disasm_marks_found_at(Marks *marks, uint32_t table, const char *text, uint64_t offset) {
    const ElfSection *section = table < marks->image->sections.n ? &marks->image->sections.at[table] : NULL;
    return section && section->data && section->h.sh_type == SHT_STRTAB &&
           elf_strings_find(marks->a, &marks->strings[table], section->data, section->h.sh_size, text) ==
               offset;
}

static void number_sections(Marks *marks) {
    uint32_t n = marks->image->sections.n;
    StrTab names = {0};
    StrMap counts = {0};
    Arena scratch = {0};
    marks->which_section = ARENA_ARRAY(marks->a, uint32_t, n + 1);
    marks->strings = ARENA_ARRAY(marks->a, ElfStrings, n + 1);
    for (uint32_t i = 1; i < n; i++) {
        const char *name = marks->image->sections.at[i].name;
        StrId id = str_intern_z(&names, *name ? name : "\1"); /* the map has no key for "" */
        marks->which_section[i] = strmap_get(&counts, id) + 1;
        strmap_put(&counts, &scratch, id, marks->which_section[i]);
    }
    arena_free(&scratch);
    str_free(&names);
}

static void number_symbols(Marks *marks) {
    StrTab names = {0};
    StrMap counts = {0};
    Arena scratch = {0};
    for (uint32_t i = 1; i < marks->image->sections.n && !marks->symtab; i++)
        if (marks->image->sections.at[i].h.sh_type == SHT_SYMTAB && marks->image->sections.at[i].data)
            marks->symtab = i;
    if (marks->symtab)
        marks->nsymbols = (uint32_t)(marks->image->sections.at[marks->symtab].h.sh_size / sizeof(Elf64_Sym));
    marks->which_symbol = ARENA_ARRAY(marks->a, uint32_t, marks->nsymbols + 1);
    for (uint32_t i = 0; i < marks->nsymbols; i++) {
        const char *name = disasm_symbol_name(marks->image, marks->symtab, i);
        const ElfSection *table = &marks->image->sections.at[marks->symtab];
        uint32_t offset = get_u32(table->data + (size_t)i * sizeof(Elf64_Sym));
        /* (one whose name is written as a number has none for the assembler) */
        if (!name || !*name || !disasm_marks_found_at(marks, table->h.sh_link, name, offset))
            continue;
        StrId id = str_intern_z(&names, name);
        uint32_t which = strmap_get(&counts, id) + 1;
        strmap_put(&counts, &scratch, id, which);
        marks->which_symbol[i] = which;
    }
    arena_free(&scratch);
    str_free(&names);
}

MarksSymbol disasm_marks_symbol(const Marks *marks, uint32_t index) {
    if (index >= marks->nsymbols)
        return (MarksSymbol){0};
    const uint8_t *p = marks->image->sections.at[marks->symtab].data + (size_t)index * sizeof(Elf64_Sym);
    return (MarksSymbol){get_u64(p + 8), get_u64(p + 16), get_u16(p + 6), p[4]};
}

/* Contents of this section are printed as bytes, in which labels can stand. */
bool disasm_marks_is_data(const ElfSection *section) {
    uint32_t type = section->h.sh_type;
    return section->data && !disasm_is_code(section) && type != SHT_STRTAB && type != SHT_SYMTAB &&
           type != SHT_REL && type != SHT_RELA && type != SHT_NV_INFO && type != SHT_HD_PTX;
}

static void mark_symbols(Marks *marks) {
    for (uint32_t i = 1; i < marks->nsymbols; i++) {
        MarksSymbol symbol = disasm_marks_symbol(marks, i);
        if (!symbol.section || symbol.section >= marks->image->sections.n)
            continue;
        const ElfSection *section = &marks->image->sections.at[symbol.section];
        bool code = disasm_is_code(section);
        if (!code && !disasm_marks_is_data(section))
            continue;
        uint64_t ends[] = {symbol.value, symbol.value + symbol.size};
        for (unsigned k = 0; k < (symbol.size ? 2u : 1u); k++)
            if (code ? disasm_marks_is_place(marks, symbol.section, ends[k]) : ends[k] <= section->h.sh_size)
                disasm_marks_add(marks, symbol.section, ends[k], false);
    }
}

/* ---- relocations ---- */
static bool is_table(const ElfSection *section) {
    uint64_t each = section->h.sh_type == SHT_RELA ? sizeof(Elf64_Rela) : sizeof(Elf64_Rel);
    return (section->h.sh_type == SHT_RELA || section->h.sh_type == SHT_REL) && section->data &&
           section->h.sh_size % each == 0;
}

/* 8 bytes of data that are a place in code, as symbol plus what stands there. */
static void in_place_addend(Marks *marks, uint32_t target, uint64_t offset, const MarksSymbol *symbol) {
    const ElfSection *section = &marks->image->sections.at[target];
    if (offset > section->h.sh_size || section->h.sh_size - offset < 8)
        return;
    uint64_t addend = get_u64(section->data + offset), place = symbol->value + addend;
    if (!addend || !disasm_marks_is_place(marks, symbol->section, place) ||
        !disasm_marks_is_place(marks, symbol->section, symbol->value))
        return;
    disasm_marks_field(marks, target, offset, 8, 8,
                       disasm_marks_distance_text(marks, symbol->section, symbol->value, place));
}

static void mark_reloc(Marks *marks, const ElfSection *table, const uint8_t *p) {
    uint32_t target = table->h.sh_info, type = get_u32(p + 8);
    uint64_t offset = get_u64(p);
    MarksSymbol symbol = disasm_marks_symbol(marks, get_u32(p + 12));
    const ElfSection *section = &marks->image->sections.at[target];
    if (disasm_is_code(section)) {
        if (disasm_marks_is_place(marks, target, offset) && offset < section->h.sh_size)
            disasm_marks_add(marks, target, offset, true);
    } else if (disasm_marks_is_data(section) && offset <= section->h.sh_size)
        disasm_marks_add(marks, target, offset, false);
    else
        return;
    if (!symbol.section || symbol.section >= marks->image->sections.n)
        return;
    if (table->h.sh_type == SHT_RELA) {
        uint64_t place = symbol.value + get_u64(p + 16);
        if (get_u64(p + 16) && disasm_marks_is_place(marks, symbol.section, place) &&
            disasm_marks_is_place(marks, symbol.section, symbol.value)) {
            disasm_marks_add(marks, symbol.section, place, false);
            disasm_marks_add(marks, symbol.section, symbol.value, false);
        }
    } else if (disasm_marks_is_data(section) && type == elf_reloc_number(marks->target, RELOC_ABS64))
        in_place_addend(marks, target, offset, &symbol);
    else if (disasm_is_code(section) && offset + INST_BYTES <= section->h.sh_size &&
             disasm_is_code(&marks->image->sections.at[symbol.section]) &&
             (type == elf_reloc_number(marks->target, RELOC_ABS32_LO) ||
              type == elf_reloc_number(marks->target, RELOC_ABS32_HI)) &&
             get_u32(section->data + offset + 4)) /* an addend in the instruction */
        disasm_marks_stuck(marks, target, symbol.section, UINT64_MAX);
}

static void mark_relocs(Marks *marks) {
    for (uint32_t i = 1; i < marks->image->sections.n; i++) {
        const ElfSection *table = &marks->image->sections.at[i];
        if (!is_table(table) || !table->h.sh_info || table->h.sh_info >= marks->image->sections.n ||
            elf_image_symbols(marks->image, table->h.sh_link) != marks->symtab)
            continue;
        uint64_t each = table->h.sh_type == SHT_RELA ? sizeof(Elf64_Rela) : sizeof(Elf64_Rel);
        for (uint64_t at = 0; at < table->h.sh_size; at += each) {
            mark_reloc(marks, table, table->data + at);
            VEC_ADD(marks->a, &marks->relocs, ((Reloc){table->h.sh_info, get_u64(table->data + at), i, at}));
        }
    }
    SORT(marks->relocs, reloc_order);
}

bool disasm_marks_address_at(const Marks *marks, uint32_t section, uint64_t offset, uint64_t in_place,
                             uint32_t *code, uint64_t *place) {
    uint32_t i = FIRST_OF(marks->relocs, (&(Reloc){.section = section, .offset = offset}), reloc_order);
    if (i == marks->relocs.n || marks->relocs.at[i].section != section ||
        marks->relocs.at[i].offset != offset)
        return false;
    const ElfSection *table = &marks->image->sections.at[marks->relocs.at[i].table];
    const uint8_t *p = table->data + marks->relocs.at[i].at;
    MarksSymbol symbol = disasm_marks_symbol(marks, get_u32(p + 12));
    *code = symbol.section;
    *place = symbol.value + (table->h.sh_type == SHT_RELA ? get_u64(p + 16) : in_place);
    return disasm_marks_is_place(marks, *code, *place);
}

void disasm_marks_collect(Marks *marks, Arena *a, const ElfImage *image, const Target *target) {
    *marks = (Marks){.a = a, .image = image, .target = target};
    marks->as_stated = ARENA_ARRAY(a, bool, image->sections.n + 1);
    number_sections(marks);
    number_symbols(marks);
    mark_symbols(marks);
    mark_relocs(marks);
    disasm_marks_records(marks);
    disasm_marks_dwarf(marks);
    disasm_marks_map(marks);
    disasm_marks_code(marks);
    disasm_marks_debug(marks);
    settle(marks);
}
