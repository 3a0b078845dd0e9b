/* Records of a text that has neither tables nor records, a listing of code alone: what loads the file asks
 * for them. Parameters are not known from code, so there are none. SPDX-License-Identifier: MIT */
#include "emit/elf/nvinfo.h"
#include "emit/text/asm_doc.h"
#include <string.h>

static void new_section(AsmDoc *doc, const char *name, uint32_t function, uint32_t type, Bytes bytes) {
    bool is_info = type == SHT_NV_INFO;
    *VEC_PUSH(doc->a, &doc->image->sections) =
        (ElfSection){.name = name,
                     .data = bytes.at,
                     .h = {.sh_type = type,
                           .sh_size = bytes.n,
                           .sh_link = is_info ? doc->symtab : 0,
                           .sh_info = function,
                           .sh_flags = (function ? SHF_INFO_LINK : 0) | (is_info ? 0 : SHF_ALLOC),
                           .sh_addralign = 4}};
}

static CodeFacts facts_of(const AsmDoc *doc, uint32_t function) {
    const ElfSection *code = &doc->image->sections.at[function];
    CodeFacts facts = {0};
    for (uint64_t at = 0; code->data && at + INST_BYTES <= code->h.sh_size; at += INST_BYTES)
        elf_facts_add(doc->a, doc->target,
                      (uint64_t[]){get_u64(code->data + at), get_u64(code->data + at + 8)}, (uint32_t)at,
                      &facts);
    return facts;
}

/* What stands at instructions of the function, one record for each attribute. */
static void listed_records(AsmDoc *doc, const char *name, Bytes *out) {
    for (uint32_t i = 0; i < doc->listed.n; i++) {
        unsigned code = doc->listed.at[i].code;
        VEC(uint32_t) places = {0};
        for (uint32_t k = i; k < doc->listed.n; k++) {
            DocListed *listed = &doc->listed.at[k];
            if (listed->used || listed->code != code || strcmp(listed->kernel, name) != 0)
                continue;
            listed->used = true;
            VEC_ADD(doc->a, &places, listed->value);
        }
        if (places.n)
            elf_nvinfo_words(doc->a, out, code, places.at, places.n);
    }
}

static bool is_kernel(AsmDoc *doc, const char *name) {
    uint32_t symbol = strmap_get(&doc->symbol_of, str_intern_z(&doc->text->strings, name));
    return symbol && doc->symbols.at[symbol - 1].other & STO_NV_ENTRY;
}

/* Up to where parameters would begin. */
static void constant_bank(AsmDoc *doc, const char *name, uint32_t function) {
    const char *bank = arena_printf(doc->a, ".nv.constant0.%s", name);
    Bytes bytes = {0};
    if (asm_doc_section_named(doc, bank))
        return;
    elf_bytes_add(doc->a, &bytes, NULL, isa_target_info(doc->target)->param_base_bytes);
    new_section(doc, bank, function, SHT_PROGBITS, bytes);
}

void asm_doc_make_records(AsmDoc *doc) {
    Bytes all = {0};
    for (uint32_t i = 1; i < doc->sections.n; i++)
        if (doc->sections.at[i].type == SHT_NV_INFO)
            return;
    for (uint32_t i = 1; i < doc->sections.n; i++) {
        const DocSection *section = &doc->sections.at[i];
        const char *name = section->name + strlen(".text.");
        int64_t symbol =
            section->is_code ? asm_doc_symbol_index(doc, str_intern_z(&doc->text->strings, name), 1) : -1;
        if (symbol < 0)
            continue;
        CodeFacts facts = facts_of(doc, i);
        uint32_t words[2] = {(uint32_t)symbol,
                             facts.nregs > section->registers ? facts.nregs : section->registers};
        elf_nvinfo_words(doc->a, &all, NV_REGCOUNT, words, 2);
        words[1] = facts.frame_bytes;
        elf_nvinfo_words(doc->a, &all, NV_FRAME_SIZE, words, 2);
        elf_nvinfo_words(doc->a, &all, NV_MIN_STACK_SIZE, words, 2);
        Bytes own = {0};
        elf_nvinfo_value(doc->a, &own, NVF_HALF, NV_MAXREG_COUNT, 255);
        listed_records(doc, name, &own);
        if (facts.exits.n)
            elf_nvinfo_words(doc->a, &own, NV_EXIT_INSTR_OFFSETS, facts.exits.at, facts.exits.n);
        new_section(doc, arena_printf(doc->a, ".nv.info.%s", name), i, SHT_NV_INFO, own);
        if (is_kernel(doc, name))
            constant_bank(doc, name, i);
    }
    if (all.n)
        new_section(doc, ".nv.info", 0, SHT_NV_INFO, all);
}
