/* Disassembly as JSON: header, sections, symbols, attribute records, instructions. For reading only.
 * SPDX-License-Identifier: MIT */
#include "emit/text/disasm.h"
#include "emit/elf/nvinfo.h"
#include <cjson/cJSON.h>
#include <stdio.h>
#include <string.h>

static void add_hex(cJSON *o, const char *key, uint64_t v) {
    char text[24];
    snprintf(text, sizeof text, "0x%llx", (unsigned long long)v);
    cJSON_AddStringToObject(o, key, text);
}

/* JSON is UTF-8; names in a damaged file need not be. */
static void add_text(cJSON *o, const char *key, const char *s) {
    char safe[512];
    size_t n = 0;
    for (; s && *s && n + 1 < sizeof safe; s++)
        safe[n++] = *s >= 32 && *s < 127 ? *s : '?';
    safe[n] = 0;
    cJSON_AddStringToObject(o, key, safe);
}

static cJSON *instructions(const ElfSection *s, const Target *t, uint32_t index) {
    Arena a = {0};
    CodeText c;
    disasm_text_open(&c, &a, t, s, index);
    cJSON *list = cJSON_CreateArray();
    for (uint32_t i = 0; i < c.ninsts; i++) {
        char text[ISA_TEXT_BYTES], control[ASM_CONTROL_BYTES];
        Control ctrl = CONTROL_DEFAULT;
        cJSON *o = cJSON_CreateObject();
        bool good = disasm_text_line(&c, i, text, &ctrl);
        cJSON_AddNumberToObject(o, "pc", i * INST_BYTES);
        add_hex(o, "low", get_u64(c.data + i * INST_BYTES));
        add_hex(o, "high", get_u64(c.data + i * INST_BYTES + 8));
        asm_print_control(ctrl, control);
        if (good)
            add_text(o, "control", control);
        add_text(o, good ? "text" : "undecoded", text);
        if (bs_has(&c.targets, i))
            cJSON_AddTrueToObject(o, "target");
        cJSON_AddItemToArray(list, o);
    }
    arena_free(&a);
    return list;
}

static cJSON *attributes(const ElfSection *section) {
    cJSON *list = cJSON_CreateArray();
    size_t pos = 0;
    NvAttr n;
    while (elf_nvinfo_next(section->data, section->h.sh_size, &pos, &n)) {
        cJSON *o = cJSON_CreateObject(), *words = cJSON_CreateArray();
        char number[8];
        snprintf(number, sizeof number, "0x%02x", n.code);
        add_text(o, "name", elf_nvinfo_name(n.code) ? elf_nvinfo_name(n.code) : number);
        cJSON_AddNumberToObject(o, "format", n.format);
        if (n.format != NVF_SIZED)
            cJSON_AddNumberToObject(o, "value", n.value);
        for (unsigned i = 0; i + 4 <= n.size_bytes; i += 4)
            cJSON_AddItemToArray(words, cJSON_CreateNumber(get_u32(n.data + i)));
        cJSON_AddItemToObject(o, "words", words);
        cJSON_AddItemToArray(list, o);
    }
    return list;
}

static cJSON *symbols(const ElfImage *image, uint32_t index) {
    const ElfSection *section = &image->sections.at[index];
    cJSON *list = cJSON_CreateArray();
    for (size_t i = 0; i < section->h.sh_size / sizeof(Elf64_Sym); i++) {
        const uint8_t *y = section->data + i * sizeof(Elf64_Sym);
        cJSON *o = cJSON_CreateObject();
        add_text(o, "name", disasm_symbol_name(image, index, i));
        add_hex(o, "value", get_u64(y + 8));
        add_hex(o, "size", get_u64(y + 16));
        cJSON_AddNumberToObject(o, "info", y[4]);
        cJSON_AddNumberToObject(o, "other", y[5]);
        cJSON_AddNumberToObject(o, "section", get_u16(y + 6));
        cJSON_AddItemToArray(list, o);
    }
    return list;
}

static cJSON *section(const ElfImage *image, const Target *t, uint32_t i) {
    const ElfSection *elf_section = &image->sections.at[i];
    cJSON *o = cJSON_CreateObject();
    add_text(o, "name", elf_section->name);
    add_text(o, "type", disasm_section_type(elf_section->h.sh_type));
    add_hex(o, "type_number", elf_section->h.sh_type);
    add_hex(o, "flags", elf_section->h.sh_flags);
    add_hex(o, "offset", elf_section->h.sh_offset);
    add_hex(o, "size", elf_section->h.sh_size);
    cJSON_AddNumberToObject(o, "link", elf_section->h.sh_link);
    add_hex(o, "info", elf_section->h.sh_info);
    cJSON_AddNumberToObject(o, "align", (double)elf_section->h.sh_addralign);
    if (elf_section->data && disasm_is_code(elf_section))
        cJSON_AddItemToObject(o, "instructions", instructions(elf_section, t, i));
    else if (elf_section->data && elf_section->h.sh_type == SHT_NV_INFO)
        cJSON_AddItemToObject(o, "attributes", attributes(elf_section));
    else if (elf_section->data && elf_section->h.sh_type == SHT_SYMTAB)
        cJSON_AddItemToObject(o, "symbols", symbols(image, i));
    return o;
}

char *disasm_json(const ElfImage *image, const Target *t, const char *path, uint32_t only,
                  size_t *size_bytes) {
    cJSON *root = cJSON_CreateObject(), *list = cJSON_AddArrayToObject(root, "sections");
    add_text(root, "file", path);
    add_text(root, "target", isa_target_name(t));
    cJSON_AddNumberToObject(root, "machine", image->h.e_machine);
    add_hex(root, "flags", image->h.e_flags);
    for (uint32_t i = 1; i < image->sections.n; i++)
        if (!only || i == only)
            cJSON_AddItemToArray(list, section(image, t, i));
    char *text = cJSON_Print(root);
    cJSON_Delete(root);
    *size_bytes = text ? strlen(text) : 0;
    return text;
}
