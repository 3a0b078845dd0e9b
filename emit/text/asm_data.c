/* Data directives of the file form: bytes, texts, and the entries of tables. Each has the same size whatever
 * its values are, but for .uleb128 and .sleb128, whose value may depend on places in code only.
 * SPDX-License-Identifier: MIT */
#include "emit/text/asm_doc.h"
#include "emit/elf/nvinfo.h"
#include "emit/elf/texture.h"
#include "ir/ir.h"
#include <string.h>

static DocSection *data_section(AsmDoc *doc) { return &doc->sections.at[doc->section]; }

static void put_little(uint8_t *p, uint64_t v, unsigned size_bytes) {
    for (unsigned i = 0; i < size_bytes; i++)
        p[i] = (uint8_t)(v >> (8 * i));
}

static uint64_t most_of(unsigned size_bytes) {
    return size_bytes == 8 ? UINT64_MAX : ((uint64_t)1 << size_bytes * 8) - 1;
}

static uint32_t plain_type(const AsmDoc *doc, unsigned size_bytes) {
    if (size_bytes == 4 && doc->is_relocatable)
        return RELOC_NV_ABS32;
    return size_bytes == 8 && doc->target ? elf_reloc_number(doc->target, RELOC_ABS64) : 0;
}

/* The value is an address, which a relocation gives; only where the tables are made. */
static void add_reloc(AsmDoc *doc, const char *start, const DocValue *value, uint32_t type) {
    const DocLabel *label = asm_doc_label(doc, str_text(&doc->text->strings, value->symbol),
                                          str_size(&doc->text->strings, value->symbol));
    int64_t addend = (int64_t)(value->value - (label ? label->offset : 0));
    VEC_ADD(doc->a, &doc->relocs,
            ((DocReloc){doc->section, type, doc->data.n, addend, value->symbol, asm_loc(doc->text, start),
                        DOC_NEEDS_SYMBOL}));
}

/* How nvdisasm writes relocations that are not plain addresses: fun@R_CUDA_G64(symbol), and for a word that
 * holds a handle [20@lo(0x0)=texture], [20@lo(0x0)=fun@R_CUDA_SURF_HEADER_INDEX(surface)]. */
static const char handle_start[] = "[20@lo(0x0)=";

static bool relocation_name(AsmDoc *doc, uint32_t *type, bool *handle) {
    static const struct {
        const char *name;
        RelocKind kind;
        uint32_t type; /* where several are of that kind */
    } names[] = {{"R_CUDA_64", RELOC_ABS64, 0},
                 {"R_CUDA_G64", RELOC_GENERIC64, 0},
                 {"R_CUDA_UNUSED_CLEAR64", RELOC_ABS64, RELOC_NV_CLEAR64},
                 {"unified", RELOC_ABS64, RELOC_NV_UNIFIED64},
                 {"R_CUDA_TEX_HEADER_INDEX", RELOC_TEXTURE, RELOC_NV_TEXTURE},
                 {"R_CUDA_SURF_HEADER_INDEX", RELOC_TEXTURE, RELOC_NV_SURFACE}};
    *handle = strncmp(doc->text->p, handle_start, strlen(handle_start)) == 0;
    *type = *handle ? RELOC_NV_TEXTURE : 0;
    doc->text->p += *handle ? strlen(handle_start) : 0;
    const char *start = doc->text->p;
    if (strncmp(start, "fun@", 4) != 0)
        return true;
    size_t n = strcspn(start + 4, "(");
    doc->text->p += 4 + n;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i].name) == n && strncmp(names[i].name, start + 4, n) == 0) {
            *type = names[i].type                     ? names[i].type
                    : doc->has_tables || !doc->target ? names[i].kind
                                                      : elf_reloc_number(doc->target, names[i].kind);
            return true;
        }
    return asm_doc_error(doc, start, DIAG_E0350, "the name of a relocation of data");
}

static bool comma_list(AsmDoc *doc, unsigned size_bytes) {
    do {
        asm_at_end(doc->text);
        const char *start = doc->text->p;
        DocValue value;
        uint32_t type;
        bool handle;
        if (!relocation_name(doc, &type, &handle) || !asm_doc_expression(doc, &value))
            return false;
        if (handle && !asm_accept(doc->text, ']'))
            return asm_doc_error(doc, doc->text->p, DIAG_E0350, "']'");
        bool address = value.addresses == 1 && !value.is_number && !doc->has_tables && size_bytes >= 4;
        if (type && !address)
            return asm_doc_error(doc, start, DIAG_E0350,
                                 "no relocation here: the text has tables of them, or names no symbol");
        if (asm_doc_fills(doc) && value.value > most_of(size_bytes))
            return diag_in(doc->text->d, doc->text->source, asm_loc(doc->text, start), DIAG_E0352,
                           (unsigned long long)most_of(size_bytes));
        if (address && doc->stage == DOC_PLACE)
            asm_doc_mean_symbol(doc, value.symbol);
        if (address && doc->stage == DOC_FILL)
            add_reloc(doc, start, &value, type ? type : plain_type(doc, size_bytes));
        put_little(elf_bytes_add(doc->a, &doc->data, NULL, size_bytes), address ? 0 : value.value,
                   size_bytes);
    } while (asm_accept(doc->text, ','));
    return true;
}

/* Of a signed number, which is not negative here, the sign bit of the last byte is free. */
static void add_leb(AsmDoc *doc, uint64_t v, bool is_signed) {
    for (uint64_t last = is_signed ? 0x3f : 0x7f; v > last; v >>= 7)
        *elf_bytes_add(doc->a, &doc->data, NULL, 1) = (uint8_t)((v & 0x7f) | 0x80);
    *elf_bytes_add(doc->a, &doc->data, NULL, 1) = (uint8_t)v;
}

static bool is_below_zero(const AsmDoc *doc, uint64_t v) { return asm_doc_fills(doc) && v > INT64_MAX; }

static bool order_error(AsmDoc *doc, const char *start) {
    return asm_doc_error(doc, start, DIAG_E0358,
                         "this distance is below zero: its places changed their order");
}

static bool leb_directive(AsmDoc *doc, bool is_signed) {
    do {
        const char *start = doc->text->p;
        uint64_t v;
        if (!asm_doc_number(doc, UINT64_MAX, &v))
            return false;
        if (is_below_zero(doc, v))
            return order_error(doc, start);
        add_leb(doc, v, is_signed);
    } while (asm_accept(doc->text, ','));
    return true;
}

static bool comma(AsmDoc *doc) {
    return asm_accept(doc->text, ',') || asm_doc_error(doc, doc->text->p, DIAG_E0350, "a comma");
}

/* .__line opcode base, line base, line range, bytes of a step, lines, bytes: a special opcode of a line
 * table, behind DW_LNS_advance_pc where the bytes do not fit it. */
static bool line_directive(AsmDoc *doc) {
    enum { BASE, LINE_BASE, RANGE, STEP, LINES, BYTES, COUNT, ADVANCE_PC = 2 };
    const char *start = doc->text->p;
    uint64_t v[COUNT];
    for (unsigned i = 0; i < COUNT; i++)
        if ((i && !comma(doc)) || !asm_doc_number(doc, UINT64_MAX, &v[i]))
            return false;
    uint64_t line = v[LINES] - v[LINE_BASE];
    if (!v[RANGE] || v[RANGE] > 255 || !v[STEP] || v[BASE] > 255 || line >= v[RANGE] ||
        v[BASE] + line > 255 || (asm_doc_fills(doc) && v[BYTES] % v[STEP]))
        return asm_doc_error(doc, start, DIAG_E0350, "a step that a special opcode can say");
    uint64_t steps = v[BYTES] / v[STEP], most = (255 - v[BASE] - line) / v[RANGE];
    if (steps > INT32_MAX)
        return asm_doc_error(doc, start, DIAG_E0358,
                             "rows of a line table come in the order of their places");
    if (steps > most) {
        *elf_bytes_add(doc->a, &doc->data, NULL, 1) = ADVANCE_PC;
        add_leb(doc, steps, true);
        steps = 0;
    }
    *elf_bytes_add(doc->a, &doc->data, NULL, 1) = (uint8_t)(v[BASE] + line + steps * v[RANGE]);
    return true;
}

static bool text_directive(AsmDoc *doc, bool terminated) {
    char *text;
    size_t n;
    const char *start = doc->text->p;
    if (!asm_string(doc->text, &text, &n) || !asm_doc_note_text(doc, start))
        return false;
    elf_bytes_add(doc->a, &doc->data, text, n);
    if (terminated)
        elf_bytes_add(doc->a, &doc->data, "", 1);
    return true;
}

static bool zeros(AsmDoc *doc, const char *start, uint64_t n) {
    doc->zeros += n;
    if (doc->zeros > MOST_ZERO_BYTES)
        return asm_doc_error(doc, start, DIAG_E0356, "more than 64 MiB of .zero");
    elf_bytes_add(doc->a, &doc->data, NULL, n);
    return true;
}

static bool zero_directive(AsmDoc *doc) {
    const char *start = doc->text->p;
    uint64_t n;
    return asm_number_max(doc->text, MOST_ZERO_BYTES, &n) && zeros(doc, start, n);
}

/* Before the section's contents: of the section. In between: zeros up to there. */
static bool align_directive(AsmDoc *doc) {
    const char *start = doc->text->p;
    uint64_t n;
    if (!asm_number_max(doc->text, UINT64_MAX, &n))
        return false;
    uint64_t *align = &data_section(doc)->stated.sh_addralign;
    if (!doc->data.n) {
        if (doc->has_tables || n > *align)
            *align = n;
        return true;
    }
    if (!n || n > 4096 || (n & (n - 1)))
        return asm_doc_error(doc, start, DIAG_E0350, "an alignment that is a power of two");
    return zeros(doc, start, (n - doc->data.n % n) % n);
}

/* ---- symbols ---- */
/* What is known of a table, for the bytes that it has now. */
static DocStrings *string_table(AsmDoc *doc, uint32_t section) {
    const ElfSection *table = &doc->image->sections.at[section];
    DocStrings *strings = NULL;
    for (uint32_t i = 0; i < doc->strings.n; i++)
        if (doc->strings.at[i].section == section)
            strings = &doc->strings.at[i];
    if (!strings)
        strings = VEC_PUSH(doc->a, &doc->strings);
    if (strings->section != section || table->data != strings->index.data)
        *strings = (DocStrings){.section = section};
    return strings;
}

uint32_t asm_doc_string(AsmDoc *doc, uint32_t section, const char *text) {
    ElfSection *table = &doc->image->sections.at[section];
    DocStrings *strings = string_table(doc, section);
    uint64_t size = doc->sections.n > section ? doc->sections.at[section].size_bytes : table->h.sh_size;
    size = table->data ? size : 0;
    uint32_t found = elf_strings_find(doc->a, &strings->index, table->data, size, text);
    if (found != ELF_NO_STRING)
        return found;
    if (strings->all.at != table->data || strings->all.n != size) { /* what the text has of the table */
        strings->all = (Bytes){0};
        elf_bytes_add(doc->a, &strings->all, table->data, size);
    }
    uint32_t offset = strings->all.n;
    elf_bytes_add(doc->a, &strings->all, text, strlen(text) + 1);
    table->data = strings->index.data = strings->all.at;
    table->h.sh_size = strings->all.n;
    if (doc->sections.n > section)
        doc->sections.at[section].size_bytes = strings->all.n;
    return offset;
}

/* The table's names, when it was read: name -> first entry + 1 -> the next of that name + 1. */
static void index_entries(AsmDoc *doc) {
    if (doc->nindexed == doc->nentries)
        return;
    doc->nindexed = doc->nentries;
    doc->entry_of = (StrMap){0};
    doc->next_entry = ARENA_ARRAY(doc->a, uint32_t, doc->nentries);
    for (uint32_t i = doc->nentries; i-- > 0;) {
        if (!doc->entries[i] || !*doc->entries[i])
            continue;
        StrId name = str_intern_z(&doc->text->strings, doc->entries[i]);
        doc->next_entry[i] = strmap_get(&doc->entry_of, name);
        strmap_put(&doc->entry_of, doc->a, name, i + 1);
    }
}

int64_t asm_doc_symbol_index(AsmDoc *doc, StrId name, uint64_t which) {
    const char *text = str_text(&doc->text->strings, name);
    if (!doc->has_tables) {
        uint32_t symbol = strmap_get(&doc->symbol_of, name), section = asm_doc_section_named(doc, text);
        uint32_t index = symbol    ? doc->symbols.at[symbol - 1].index
                         : section ? doc->sections.at[section].symbol
                                   : 0;
        return index && which == 1 ? (int64_t)index : -1;
    }
    if (doc->stage == DOC_CODE) /* the table is not read yet: it is looked up later again */
        return 1;
    index_entries(doc);
    uint32_t entry = strmap_get(&doc->entry_of, name);
    while (entry && --which)
        entry = doc->next_entry[entry - 1];
    return (int64_t)entry - 1;
}

static void note_entry(AsmDoc *doc, const char *name) {
    uint32_t n = doc->nentries;
    if (doc->symtab && doc->symtab != doc->section)
        return;
    doc->symtab = doc->section;
    doc->strtab = data_section(doc)->stated.sh_link < doc->sections.n ? data_section(doc)->stated.sh_link : 0;
    if ((n & (n - 1)) == 0)
        doc->entries = arena_grow(doc->a, doc->entries, n * sizeof *doc->entries,
                                  (n ? n * 2u : 1u) * sizeof *doc->entries);
    doc->entries[doc->nentries++] = name;
}

/* The section that the last operand of a symbol's line says; the others depend on it. */
static uint32_t symbol_section(AsmDoc *doc) {
    const char *saved = doc->text->p, *last = strrchr(saved, ',');
    uint64_t section = 0;
    Diags quiet = {0}, *diags = doc->text->d;
    if (!last)
        return 0;
    doc->text->d = &quiet;
    doc->text->p = last + 1;
    if (!asm_doc_number(doc, 0xffff, &section) || section >= doc->sections.n ||
        !doc->sections.at[section].is_code)
        section = 0;
    doc->text->d = diags;
    doc->text->p = saved;
    return (uint32_t)section;
}

/* name, value, size, info, other, section: another order in the file. The name is a text, or its place. */
static bool symbol_directive(AsmDoc *doc) {
    uint64_t name = 0, value, size, info, other, section;
    const char *given = NULL;
    asm_at_end(doc->text);
    uint32_t code = symbol_section(doc);
    if (*doc->text->p == '"' ? !asm_name(doc->text, &given) : !asm_doc_number(doc, UINT32_MAX, &name))
        return false;
    if (!comma(doc) || !asm_doc_place(doc, code, UINT64_MAX, &value) || !comma(doc) ||
        !asm_doc_place(doc, code, UINT64_MAX, &size) || !comma(doc) || !asm_doc_number(doc, 0xff, &info) ||
        !comma(doc) || !asm_doc_number(doc, 0xff, &other) || !comma(doc) ||
        !asm_doc_number(doc, 0xffff, &section))
        return false;
    if (doc->stage == DOC_PLACE)
        note_entry(doc, given);
    if (given && doc->stage == DOC_FILL)
        name = asm_doc_string(doc, doc->strtab, given);
    uint8_t *p = elf_bytes_add(doc->a, &doc->data, NULL, sizeof(Elf64_Sym));
    put_u32(p, (uint32_t)name);
    p[4] = (uint8_t)info;
    p[5] = (uint8_t)other;
    put_u16(p + 6, (uint16_t)section);
    put_u64(p + 8, value);
    put_u64(p + 16, size);
    return true;
}

/* ---- relocations: place, type, symbol[, addend] ---- */
static bool reloc_directive(AsmDoc *doc, bool rela) {
    uint64_t place, type, symbol, addend = 0;
    uint32_t target = data_section(doc)->stated.sh_info;
    bool code = target < doc->sections.n && doc->sections.at[target].is_code;
    if (!asm_doc_place(doc, code ? target : 0, UINT64_MAX, &place) || !comma(doc) ||
        !asm_doc_number(doc, UINT32_MAX, &type) || !comma(doc) || !asm_doc_number(doc, UINT32_MAX, &symbol))
        return false;
    if (rela && (!comma(doc) || !asm_doc_number(doc, UINT64_MAX, &addend)))
        return false;
    elf_bytes_u64(doc->a, &doc->data, place);
    elf_bytes_u32(doc->a, &doc->data, (uint32_t)type);
    elf_bytes_u32(doc->a, &doc->data, (uint32_t)symbol);
    if (rela)
        elf_bytes_u64(doc->a, &doc->data, addend);
    return true;
}

/* ---- attribute records ---- */
/* The function whose records the section holds; NULL: none, or those that count are of another section of
 * that name. */
static const char *described(AsmDoc *doc) {
    static const char prefix[] = ".nv.info.";
    const char *name = data_section(doc)->name;
    return strncmp(name, prefix, strlen(prefix)) == 0 && asm_doc_section_named(doc, name) == doc->section
               ? name + strlen(prefix)
               : NULL;
}

/* What stands at instructions of the function, in their order; not what the list has already. */
static void add_listed(AsmDoc *doc, unsigned code, uint32_t head) {
    const char *function = described(doc);
    uint32_t given = doc->data.n;
    for (uint32_t i = 0; function && i < doc->listed.n; i++) {
        DocListed *listed = &doc->listed.at[i];
        bool there = false;
        if (listed->code != code || strcmp(listed->kernel, function) != 0)
            continue;
        listed->used = true;
        for (uint32_t at = head + 4; elf_nvinfo_lists_instructions(code) && at < given; at += 4)
            there |= get_u32(doc->data.at + at) == listed->value;
        if (!there)
            elf_bytes_u32(doc->a, &doc->data, listed->value);
    }
}

static bool attribute_words(AsmDoc *doc, unsigned code) {
    const char *function = elf_nvinfo_lists_instructions(code) ? described(doc) : NULL;
    do {
        uint64_t v;
        if (!asm_doc_place(doc, function ? asm_doc_code_named(doc, function) : 0, UINT32_MAX, &v))
            return false;
        elf_bytes_u32(doc->a, &doc->data, (uint32_t)v);
    } while (asm_accept(doc->text, ','));
    return true;
}

static bool attr_directive(AsmDoc *doc, unsigned format, bool bytes) {
    uint64_t v;
    int code;
    asm_at_end(doc->text);
    const char *start = doc->text->p;
    if (*start == '0') {
        if (!asm_number_max(doc->text, 0xff, &v))
            return false;
        code = (int)v;
    } else {
        const char *name = asm_word(doc->text);
        code = name ? elf_nvinfo_code(name, strlen(name)) : -1;
        if (code < 0)
            return asm_doc_error(doc, start, DIAG_E0350, "the name or number of an attribute");
    }
    uint32_t head = doc->data.n;
    elf_nvinfo_value(doc->a, &doc->data, format, (unsigned)code, 0);
    if (format != NVF_SIZED) {
        if (!asm_accept(doc->text, ',') || !asm_number_max(doc->text, 0xffff, &v))
            return asm_doc_error(doc, doc->text->p, DIAG_E0350, "a value");
        put_u16(doc->data.at + head + 2, (uint16_t)v);
        return true;
    }
    if (asm_accept(doc->text, ',') && !(bytes ? comma_list(doc, 1) : attribute_words(doc, (unsigned)code)))
        return false;
    if (!bytes)
        add_listed(doc, (unsigned)code, head);
    if (doc->data.n - head - 4 > 0xffff)
        return asm_doc_error(doc, start, DIAG_E0356, "an attribute record of more than 65535 bytes");
    put_u16(doc->data.at + head + 2, (uint16_t)(doc->data.n - head - 4));
    return true;
}

/* ---- .heddle.map: positions of the instructions of a function ---- */
/* .__positions SECTION, then .__position LABEL, five numbers: what holds from there to the next. */
static bool positions_directive(AsmDoc *doc) {
    const char *start = doc->text->p, *name;
    asm_at_end(doc->text);
    if (!asm_name(doc->text, &name))
        return false;
    if (doc->positions_of)
        return asm_doc_error(doc, doc->positions_start, DIAG_E0350,
                             ".__positions_end before the next .__positions");
    if (doc->is_open && doc->sections.at[doc->section].is_code) /* its size would change meanwhile */
        return asm_doc_error(doc, start, DIAG_E0350, ".__positions in a section that is no code");
    doc->positions_start = start;
    doc->positions_of = asm_doc_section_named(doc, name);
    doc->positions_at = doc->data.n;
    if (!doc->positions_of || !doc->sections.at[doc->positions_of].is_code)
        return asm_doc_error(doc, start, DIAG_E0360, name);
    uint32_t ninsts = (uint32_t)(doc->sections.at[doc->positions_of].size_bytes / INST_BYTES);
    doc->positioned = bs_new(doc->a, ninsts);
    elf_bytes_add(doc->a, &doc->data, NULL, (uint64_t)ninsts * DOC_POSITION_BYTES);
    return true;
}

/* A position holds for all instructions up to the next. */
static void spread_positions(AsmDoc *doc, uint64_t ninsts) {
    if (!doc->data.at)
        return; // a section without code has no positions
    uint8_t *all = doc->data.at + doc->positions_at;
    for (uint64_t k = 1; k < ninsts; k++)
        if (!bs_has(&doc->positioned, (uint32_t)k))
            memcpy(all + k * DOC_POSITION_BYTES, all + (k - 1) * DOC_POSITION_BYTES, DOC_POSITION_BYTES);
}

static bool end_positions(AsmDoc *doc) {
    if (doc->positions_of)
        spread_positions(doc, doc->sections.at[doc->positions_of].size_bytes / INST_BYTES);
    doc->positions_of = 0;
    return true;
}

static bool position_directive(AsmDoc *doc) {
    uint64_t place, v[DOC_POSITION_BYTES / 4];
    const char *start = doc->text->p;
    uint64_t ninsts = doc->positions_of ? doc->sections.at[doc->positions_of].size_bytes / INST_BYTES : 0;
    if (!asm_doc_place(doc, doc->positions_of, UINT64_MAX, &place))
        return false;
    for (unsigned i = 0; i < DOC_POSITION_BYTES / 4; i++)
        if (!comma(doc) || !asm_number_max(doc->text, UINT32_MAX, &v[i]))
            return false;
    uint64_t at = place / INST_BYTES;
    if (doc->stage != DOC_FILL)
        return true;
    if (!doc->positions_of || place % INST_BYTES || at > ninsts)
        return asm_doc_error(doc, start, DIAG_E0350, "a place in the section of .__positions");
    if (at == ninsts)
        return true; /* the instructions that had it are gone */
    for (unsigned i = 0; i < DOC_POSITION_BYTES / 4; i++)
        put_u32(doc->data.at + doc->positions_at + at * DOC_POSITION_BYTES + 4 * i, (uint32_t)v[i]);
    bs_add(&doc->positioned, (uint32_t)at);
    return true;
}

bool asm_doc_data(AsmDoc *doc, const char *w, bool *known) {
    static const struct {
        const char *name;
        uint8_t size_bytes;
    } numbers[] = {{".byte", 1}, {".short", 2}, {".word", 4}, {".dword", 8}};
    *known = true;
    for (unsigned i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (strcmp(w, numbers[i].name) == 0)
            return comma_list(doc, numbers[i].size_bytes);
    if (strcmp(w, ".uleb128") == 0 || strcmp(w, ".sleb128") == 0)
        return leb_directive(doc, w[1] == 's');
    if (strcmp(w, ".__line") == 0)
        return line_directive(doc);
    if (strcmp(w, ".zero") == 0)
        return zero_directive(doc);
    if (strcmp(w, ".align") == 0)
        return align_directive(doc);
    if (strcmp(w, ".string") == 0 || strcmp(w, ".ascii") == 0)
        return text_directive(doc, w[1] == 's');
    if (strcmp(w, ".__symbol") == 0)
        return symbol_directive(doc);
    if (strcmp(w, ".__rel") == 0 || strcmp(w, ".__rela") == 0)
        return reloc_directive(doc, w[6] == 'a');
    if (strcmp(w, ".__positions") == 0)
        return positions_directive(doc);
    if (strcmp(w, ".__position") == 0)
        return position_directive(doc);
    if (strcmp(w, ".__positions_end") == 0)
        return end_positions(doc);
    if (strncmp(w, ".__attr", 7) == 0 && w[7] >= '1' && w[7] <= '4')
        return attr_directive(doc, (unsigned)(w[7] - '0'), w[8] == 'b');
    *known = false;
    return true;
}
