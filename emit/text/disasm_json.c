/* Disassembly as JSON: header, sections, symbols, attribute records, instructions. For reading only.
 * SPDX-License-Identifier: MIT */
#include "emit/text/disasm.h"
#include "base/json.h"
#include "base/scope.h"
#include "emit/elf/nvinfo.h"
#include <stdio.h>
#include <string.h>

static void add_hex(cJSON *o, const char *key, uint64_t v) {
    char text[24];
    snprintf(text, sizeof text, "0x%llx", (unsigned long long)v);
    json_add_text(o, key, text);
}

static cJSON *instructions(const ElfSection *s, const Target *t, uint32_t index) {
    Arena a = {0};
    CodeText c;
    disasm_text_open(&c, &a, t, s, index);
    cJSON *list = json_list();
    for (uint32_t i = 0; i < c.ninsts; i++) {
        char text[ISA_TEXT_BYTES], control[ASM_CONTROL_BYTES];
        Control ctrl = CONTROL_DEFAULT;
        cJSON *o = json_object();
        bool good = disasm_text_line(&c, i, text, &ctrl);
        json_add_number(o, "pc", i * INST_BYTES);
        add_hex(o, "low", get_u64(c.data + i * INST_BYTES));
        add_hex(o, "high", get_u64(c.data + i * INST_BYTES + 8));
        asm_print_control(ctrl, control);
        if (good)
            json_add_text(o, "control", control);
        json_add_text(o, good ? "text" : "undecoded", text);
        if (bs_has(&c.targets, i))
            json_add_bool(o, "target", true);
        json_append(list, o);
    }
    arena_free(&a);
    return list;
}

static cJSON *attributes(const ElfSection *section) {
    cJSON *list = json_list();
    size_t pos = 0;
    NvAttr n;
    while (elf_nvinfo_next(section->data, section->h.sh_size, &pos, &n)) {
        cJSON *o = json_object(), *words = json_list();
        char number[8];
        snprintf(number, sizeof number, "0x%02x", n.code);
        json_add_text(o, "name", elf_nvinfo_name(n.code) ? elf_nvinfo_name(n.code) : number);
        json_add_number(o, "format", n.format);
        if (n.format != NVF_SIZED)
            json_add_number(o, "value", n.value);
        for (unsigned i = 0; i + 4 <= n.size_bytes; i += 4)
            json_append(words, json_number(get_u32(n.data + i)));
        json_add(o, "words", words);
        json_append(list, o);
    }
    return list;
}

static cJSON *symbols(const ElfImage *image, uint32_t index) {
    const ElfSection *section = &image->sections.at[index];
    cJSON *list = json_list();
    for (size_t i = 0; i < section->h.sh_size / sizeof(Elf64_Sym); i++) {
        const uint8_t *y = section->data + i * sizeof(Elf64_Sym);
        cJSON *o = json_object();
        json_add_text(o, "name", disasm_symbol_name(image, index, i));
        add_hex(o, "value", get_u64(y + 8));
        add_hex(o, "size", get_u64(y + 16));
        json_add_number(o, "info", y[4]);
        json_add_number(o, "other", y[5]);
        json_add_number(o, "section", get_u16(y + 6));
        json_append(list, o);
    }
    return list;
}

static cJSON *section(const ElfImage *image, const Target *t, uint32_t i) {
    const ElfSection *elf_section = &image->sections.at[i];
    cJSON *o = json_object();
    json_add_text(o, "name", elf_section->name);
    json_add_text(o, "type", disasm_section_type(elf_section->h.sh_type));
    add_hex(o, "type_number", elf_section->h.sh_type);
    add_hex(o, "flags", elf_section->h.sh_flags);
    add_hex(o, "offset", elf_section->h.sh_offset);
    add_hex(o, "size", elf_section->h.sh_size);
    json_add_number(o, "link", elf_section->h.sh_link);
    add_hex(o, "info", elf_section->h.sh_info);
    json_add_number(o, "align", (double)elf_section->h.sh_addralign);
    if (elf_section->data && disasm_is_code(elf_section))
        json_add(o, "instructions", instructions(elf_section, t, i));
    else if (elf_section->data && elf_section->h.sh_type == SHT_NV_INFO)
        json_add(o, "attributes", attributes(elf_section));
    else if (elf_section->data && elf_section->h.sh_type == SHT_SYMTAB)
        json_add(o, "symbols", symbols(image, i));
    return o;
}

char *disasm_json(const ElfImage *image, const Target *t, const char *path, uint32_t only,
                  size_t *size_bytes) {
    cJSON *root = json_object(), *list = json_add_list(root, "sections");
    json_add_text(root, "file", path);
    json_add_text(root, "target", isa_target_name(t));
    json_add_number(root, "machine", image->h.e_machine);
    add_hex(root, "flags", image->h.e_flags);
    for (uint32_t i = 1; i < image->sections.n; i++)
        if (!only || i == only)
            json_append(list, section(image, t, i));
    char *text = json_close(root);
    *size_bytes = strlen(text);
    return text;
}
