/* Tables for what the text names: symbols, relocations, names of sections.
 * SPDX-License-Identifier: MIT */
#include "emit/text/asm_doc.h"
#include "ir/ir.h"
#include <string.h>

bool asm_doc_make_tables(AsmDoc *doc) {
    return doc->has_tables || diag_in(doc->t->d, doc->t->source, (SrcLoc){0}, DIAG_E0356, "no symbol table");
}

/* ---- relocations ---- */
/* The table that relocates `section`, with addends or without; 0 if there is none. */
static uint32_t reloc_table(const AsmDoc *doc, uint32_t section, bool rela) {
    for (uint32_t i = 1; i < doc->e->sections.n; i++) {
        const Elf64_Shdr *h = &doc->e->sections.at[i].h;
        if (h->sh_type == (rela ? SHT_RELA : SHT_REL) && h->sh_info == section)
            return i;
    }
    return 0;
}

static uint32_t new_table(AsmDoc *doc, uint32_t section, bool rela) {
    const char *name = arena_printf(doc->a, rela ? ".rela%s" : ".rel%s", doc->e->sections.at[section].name);
    uint32_t names = doc->e->h.e_shstrndx;
    ElfSection *table = VEC_PUSH(doc->a, &doc->e->sections);
    table->name = name;
    table->h = (Elf64_Shdr){.sh_name = asm_doc_string(doc, names, name),
                            .sh_type = rela ? SHT_RELA : SHT_REL,
                            .sh_link = doc->symtab,
                            .sh_info = section,
                            .sh_addralign = 8,
                            .sh_entsize = rela ? sizeof(Elf64_Rela) : sizeof(Elf64_Rel)};
    return doc->e->sections.n - 1;
}

/* Does the table have this one, or one for the same place? */
static bool listed(const ElfSection *table, const DocReloc *reloc, uint32_t symbol) {
    uint64_t each = table->h.sh_entsize;
    for (uint64_t at = 0; each && table->data && at + each <= table->h.sh_size; at += each)
        if (get_u64(table->data + at) == reloc->offset && get_u32(table->data + at + 8) == reloc->type &&
            get_u32(table->data + at + 12) == symbol)
            return true;
    return false;
}

static bool add_reloc(AsmDoc *doc, const DocReloc *reloc) {
    const char *name = str_text(&doc->t->strings, reloc->symbol);
    int64_t symbol = asm_doc_symbol_index(doc, reloc->symbol, 1);
    if (symbol < 0)
        return diag_in(doc->t->d, doc->t->source, reloc->loc, DIAG_E0359, name);
    if (!reloc->type)
        return diag_in(doc->t->d, doc->t->source, reloc->loc, DIAG_E0350,
                       "no symbol here: there is no relocation for it");
    uint32_t plain = reloc_table(doc, reloc->section, false), with = reloc_table(doc, reloc->section, true);
    if ((plain && listed(&doc->e->sections.at[plain], reloc, (uint32_t)symbol)) ||
        (with && listed(&doc->e->sections.at[with], reloc, (uint32_t)symbol)))
        return true;
    bool rela = reloc->addend || !plain || isa_target_info(doc->target)->elf_form != ElfForm_SM75;
    uint32_t index = rela ? with : plain;
    if (!index)
        index = new_table(doc, reloc->section, rela);
    ElfSection *table = &doc->e->sections.at[index];
    Bytes b = {0};
    if (table->data)
        elf_bytes_add(doc->a, &b, table->data, table->h.sh_size);
    elf_bytes_u64(doc->a, &b, reloc->offset);
    elf_bytes_u32(doc->a, &b, reloc->type);
    elf_bytes_u32(doc->a, &b, (uint32_t)symbol);
    if (rela)
        elf_bytes_u64(doc->a, &b, (uint64_t)reloc->addend);
    table->data = b.at;
    table->h.sh_size = b.n;
    return true;
}

bool asm_doc_add_relocs(AsmDoc *doc) {
    for (uint32_t i = 0; i < doc->relocs.n; i++)
        if (!add_reloc(doc, &doc->relocs.at[i]))
            return false;
    return true;
}
