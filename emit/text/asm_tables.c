/* Tables for what the text names: symbols, relocations, names of sections. A text of this project has them,
 * and only relocations are added; those of other disassemblers do not show them. SPDX-License-Identifier: MIT
 */
#include "emit/text/asm_doc.h"
#include "ir/ir.h"
#include <string.h>

/* ---- sections ---- */
/* Of a relocatable file before the sections of the text, else behind them. */
void asm_doc_add_tables(AsmDoc *doc) {
    static const struct {
        const char *name;
        uint32_t type, align, entry_bytes;
    } tables[] = {{".shstrtab", SHT_STRTAB, 1, 0},
                  {".strtab", SHT_STRTAB, 1, 0},
                  {".symtab", SHT_SYMTAB, 8, sizeof(Elf64_Sym)}};
    uint32_t first = doc->sections.n;
    for (unsigned i = 0; i < sizeof tables / sizeof *tables; i++)
        *asm_doc_new_section(doc, tables[i].name) =
            (DocSection){.name = tables[i].name,
                         .first_line = doc->lines.n,
                         .type = tables[i].type,
                         .stated = {.sh_type = tables[i].type,
                                    .sh_addralign = tables[i].align,
                                    .sh_entsize = tables[i].entry_bytes}};
    doc->image->h.e_shstrndx = (Elf64_Half)first;
    doc->strtab = first + 1;
    doc->symtab = first + 2;
    doc->sections.at[doc->symtab].stated.sh_link = doc->strtab;
}

/* The function that a section is of, by its name: .nv.info.F, .nv.constant0.F, .nv.shared.F; 0 if of none. */
static uint32_t function_of(const AsmDoc *doc, const char *name) {
    static const char *const prefixes[] = {".nv.info.", ".nv.constant", ".nv.shared.", ".nv.local."};
    for (unsigned i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        size_t n = strlen(prefixes[i]);
        if (strncmp(name, prefixes[i], n) != 0)
            continue;
        const char *function = prefixes[i][n - 1] == '.' ? name + n : strchr(name + n, '.');
        return function ? asm_doc_code_named(doc, *function == '.' ? function + 1 : function) : 0;
    }
    return 0;
}

/* Links and numbers of other sections, as ptxas has them; what the text says itself stays. */
static void relate(AsmDoc *doc, uint32_t index) {
    DocSection *section = &doc->sections.at[index];
    Elf64_Shdr *h = &doc->image->sections.at[index].h;
    uint32_t function = function_of(doc, section->name), link = 0;
    if (section->is_code || h->sh_type == SHT_NV_INFO || h->sh_type == SHT_NV_CALLGRAPH ||
        h->sh_type == SHT_NV_PROTOTYPE)
        link = doc->symtab;
    if (strcmp(section->name, ELF_LOADER_NOTE) == 0)
        link = asm_doc_section_named(doc, ".note.nv.tkinfo");
    if (doc->is_relocatable && strcmp(section->name, ELF_LOADER_NOTE) == 0 && !section->has_info &&
        asm_doc_section_named(doc, ".nv.compat")) {
        h->sh_info = asm_doc_section_named(doc, ".nv.compat");
        h->sh_flags |= SHF_INFO_LINK;
    }
    if (!section->has_link && link)
        h->sh_link = link;
    if (section->is_code) {
        const char *name = section->name + strlen(".text.");
        int64_t symbol = asm_doc_symbol_index(doc, str_intern_z(&doc->text->strings, name), 1);
        if (!section->has_info && symbol > 0)
            h->sh_info = (uint32_t)symbol | section->registers << 24;
        h->sh_flags |= (uint64_t)section->barriers << 20;
    } else if (function && !section->has_info) {
        h->sh_info = function;
        h->sh_flags |= SHF_INFO_LINK;
    }
    if (h->sh_type == SHT_NOTE && h->sh_addralign < 4)
        h->sh_addralign = 4;
    if (!h->sh_addralign)
        h->sh_addralign = 1;
}

/* ---- symbols ---- */
static const DocLabel *label_of(const AsmDoc *doc, const DocSymbol *symbol) {
    return asm_doc_label(doc, str_text(&doc->text->strings, symbol->name),
                         str_size(&doc->text->strings, symbol->name));
}

/* The system's, which ptxas makes weak; no text says so of a symbol of elsewhere: the tables of functions and
 * data that hosts share, and where shared memory begins. */
static bool is_of_system(const AsmDoc *doc, const DocSymbol *symbol) {
    const char *name = str_text(&doc->text->strings, symbol->name);
    return strncmp(name, "__UFT", 5) == 0 || strncmp(name, "__UDT", 5) == 0 ||
           strncmp(name, ".nv.reservedSmem.", 17) == 0;
}

/* First the local ones: sections that are named or have a label of their name, then what is defined here and
 * not said to be global. */
void asm_doc_number_symbols(AsmDoc *doc) {
    doc->nsymbols = 1;
    elf_bytes_add(doc->a, &doc->names, "", 1);
    for (uint32_t i = 1; i < doc->sections.n; i++) {
        DocSection *section = &doc->sections.at[i];
        if (section->named || asm_doc_label(doc, section->name, strlen(section->name)))
            section->symbol = doc->nsymbols++;
    }
    for (int local = 1; local >= 0; local--) {
        for (uint32_t i = 0; i < doc->symbols.n; i++) {
            DocSymbol *symbol = &doc->symbols.at[i];
            if (symbol->bind == STB_LOCAL && !label_of(doc, symbol)) /* defined elsewhere */
                symbol->bind = doc->is_relocatable && is_of_system(doc, symbol) ? STB_WEAK : STB_GLOBAL;
            if ((symbol->bind == STB_LOCAL) == local)
                symbol->index = doc->nsymbols++;
        }
        if (local)
            doc->sections.at[doc->symtab].stated.sh_info = doc->nsymbols;
    }
}

void asm_doc_mean_symbol(AsmDoc *doc, StrId name) {
    uint32_t section = asm_doc_section_named(doc, str_text(&doc->text->strings, name));
    if (section)
        doc->sections.at[section].named = true;
    else if (doc->stage == DOC_PLACE)
        asm_doc_symbol(doc, name);
}

/* The symbol of a relocation: one that nothing tells of is defined elsewhere. */
static int64_t reloc_symbol(AsmDoc *doc, StrId name) {
    int64_t index = asm_doc_symbol_index(doc, name, 1);
    if (index >= 0 || doc->has_tables)
        return index;
    DocSymbol *symbol = asm_doc_symbol(doc, name);
    symbol->bind = STB_GLOBAL;
    return symbol->index = doc->nsymbols++;
}

static void put_symbol(uint8_t *entry, uint32_t name, unsigned info, unsigned other, uint32_t section) {
    put_u32(entry, name);
    entry[4] = (uint8_t)info;
    entry[5] = (uint8_t)other;
    put_u16(entry + 6, (uint16_t)section);
}

static bool write_symbol(AsmDoc *doc, const DocSymbol *symbol, uint8_t *entry) {
    const DocLabel *label = label_of(doc, symbol);
    uint64_t size = 0;
    StrId name = symbol->shown.i ? symbol->shown : symbol->name;
    put_symbol(entry, elf_bytes_string(doc->a, &doc->names, str_text(&doc->text->strings, name)),
               (unsigned)symbol->bind << 4 | symbol->type, symbol->other, label ? label->section : SHN_UNDEF);
    doc->text->p = symbol->size;
    if (symbol->size && !asm_doc_number(doc, UINT64_MAX, &size))
        return false;
    put_u64(entry + 8, !label ? 0 : doc->is_relocatable && symbol->align ? symbol->align : label->offset);
    put_u64(entry + 16, size);
    return true;
}

/* A frame has its function's size where the linker will clear it. */
static bool put_size(AsmDoc *doc, const DocReloc *reloc) {
    uint32_t symbol = strmap_get(&doc->symbol_of, reloc->symbol);
    const char *size = symbol ? doc->symbols.at[symbol - 1].size : NULL;
    uint64_t v;
    if (!doc->is_relocatable || reloc->type != RELOC_NV_CLEAR64 || !size)
        return true;
    doc->text->p = size;
    if (!asm_doc_number(doc, UINT64_MAX, &v))
        return false;
    put_u64((uint8_t *)doc->image->sections.at[reloc->section].data + reloc->offset, v);
    return true;
}

static void set_table(AsmDoc *doc, uint32_t index, Bytes bytes) {
    doc->image->sections.at[index].data = bytes.at;
    doc->image->sections.at[index].h.sh_size = bytes.n;
}

bool asm_doc_fill_tables(AsmDoc *doc) {
    Bytes section_names = {0}, symbols = {0};
    elf_bytes_add(doc->a, &section_names, "", 1);
    elf_bytes_add(doc->a, &symbols, NULL, (size_t)doc->nsymbols * sizeof(Elf64_Sym));
    for (uint32_t i = 1; i < doc->sections.n; i++) {
        uint32_t symbol = doc->sections.at[i].symbol;
        relate(doc, i);
        if (symbol)
            put_symbol(symbols.at + symbol * sizeof(Elf64_Sym),
                       elf_bytes_string(doc->a, &doc->names, doc->sections.at[i].name),
                       ELF64_ST_INFO(STB_LOCAL, STT_SECTION), 0, i);
    }
    for (uint32_t i = 0; i < doc->symbols.n; i++) {
        const DocSymbol *symbol = &doc->symbols.at[i];
        if (symbol->index && !write_symbol(doc, symbol, symbols.at + symbol->index * sizeof(Elf64_Sym)))
            return false;
    }
    asm_doc_make_records(doc);
    for (uint32_t i = 1; i < doc->image->sections.n; i++) /* tables of relocations, too */
        doc->image->sections.at[i].h.sh_name =
            elf_bytes_string(doc->a, &section_names, doc->image->sections.at[i].name);
    set_table(doc, doc->image->h.e_shstrndx, section_names);
    set_table(doc, doc->strtab, doc->names);
    set_table(doc, doc->symtab, symbols);
    return true;
}

/* ---- relocations ---- */
/* The tables that relocate a section, without addends and with. */
typedef struct {
    uint32_t index[2]; /* 0: there is none */
    Bytes given[2];    /* what the text has of it */
    Bytes all[2];
} RelocTables;

static RelocTables *reloc_tables(AsmDoc *doc) {
    RelocTables *tables = ARENA_ARRAY(doc->a, RelocTables, doc->sections.n);
    for (uint32_t i = 1; i < doc->image->sections.n; i++) {
        const ElfSection *section = &doc->image->sections.at[i];
        bool rela = section->h.sh_type == SHT_RELA;
        if ((!rela && section->h.sh_type != SHT_REL) || section->h.sh_info >= doc->sections.n ||
            tables[section->h.sh_info].index[rela])
            continue;
        RelocTables *of = &tables[section->h.sh_info];
        of->index[rela] = i;
        if (section->data)
            elf_bytes_add(doc->a, &of->given[rela], section->data, section->h.sh_size);
        of->all[rela] = of->given[rela];
    }
    return tables;
}

static uint32_t new_table(AsmDoc *doc, uint32_t section, bool rela) {
    const char *name =
        arena_printf(doc->a, rela ? ".rela%s" : ".rel%s", doc->image->sections.at[section].name);
    uint32_t names = doc->image->h.e_shstrndx;
    ElfSection *table = VEC_PUSH(doc->a, &doc->image->sections);
    table->name = name;
    table->h = (Elf64_Shdr){.sh_name = doc->has_tables ? asm_doc_string(doc, names, name) : 0,
                            .sh_type = rela ? SHT_RELA : SHT_REL,
                            .sh_link = doc->symtab,
                            .sh_info = section,
                            .sh_addralign = 8,
                            .sh_entsize = rela ? sizeof(Elf64_Rela) : sizeof(Elf64_Rel)};
    return doc->image->sections.n - 1;
}

/* Does the text have this one in a table? */
static bool listed(const Bytes *given, uint32_t each, const DocReloc *reloc, uint32_t symbol) {
    for (uint32_t at = 0; at + each <= given->n; at += each)
        if (get_u64(given->at + at) == reloc->offset && get_u32(given->at + at + 8) == reloc->type &&
            get_u32(given->at + at + 12) == symbol)
            return true;
    return false;
}

static bool add_reloc(AsmDoc *doc, RelocTables *tables, DocReloc *reloc) {
    const char *name = str_text(&doc->text->strings, reloc->symbol);
    int64_t symbol = reloc->symbol.i ? reloc_symbol(doc, reloc->symbol) : 0;
    if (symbol < 0)
        return diag_in(doc->text->d, doc->text->source, reloc->loc, DIAG_E0359, name);
    const char *other = asm_doc_fit_reloc(doc, reloc);
    if (other)
        return diag_in(doc->text->d, doc->text->source, reloc->loc, DIAG_E0350, other);
    if (!reloc->type)
        return diag_in(doc->text->d, doc->text->source, reloc->loc, DIAG_E0350,
                       "no symbol here: there is no relocation for it");
    if (!doc->image->sections.at[reloc->section].data)
        return diag_in(doc->text->d, doc->text->source, reloc->loc, DIAG_E0350,
                       "no relocation in a section without bytes");
    if (!put_size(doc, reloc))
        return false;
    asm_doc_put_bank(doc, reloc);
    RelocTables *of = &tables[reloc->section];
    if (listed(&of->given[0], sizeof(Elf64_Rel), reloc, (uint32_t)symbol) ||
        listed(&of->given[1], sizeof(Elf64_Rela), reloc, (uint32_t)symbol))
        return true;
    bool rela = reloc->addend || isa_target_info(doc->target)->elf_form != ElfForm_SM75 ||
                (doc->is_relocatable ? reloc->type == RELOC_NV_CLEAR64 || reloc->type == RELOC_NV_ABS32
                                     : !of->index[0]);
    if (!of->index[rela])
        of->index[rela] = new_table(doc, reloc->section, rela);
    Bytes *all = &of->all[rela];
    elf_bytes_u64(doc->a, all, reloc->offset);
    elf_bytes_u32(doc->a, all, reloc->type);
    elf_bytes_u32(doc->a, all, (uint32_t)symbol);
    if (rela)
        elf_bytes_u64(doc->a, all, (uint64_t)reloc->addend);
    set_table(doc, of->index[rela], *all);
    return true;
}

bool asm_doc_add_relocs(AsmDoc *doc) {
    RelocTables *tables = doc->relocs.n ? reloc_tables(doc) : NULL;
    for (uint32_t i = 0; i < doc->relocs.n; i++)
        if (!add_reloc(doc, tables, &doc->relocs.at[i]))
            return false;
    return true;
}
