/* Attribute records: see nvinfo.h.
 * SPDX-License-Identifier: MIT */
#include "emit/elf/nvinfo.h"
#include <string.h>

static const char *const attr_names[0x100] = {
#define NVATTR(code, name, place, format, bytes) [code] = "EIATTR_" #name,
#include "emit/elf/nvinfo.def"
#undef NVATTR
};

static const struct {
    enum NvPlace place;
    enum NvFormat format;
    int bytes;
    bool known;
} attr_forms[0x100] = {
#define NVATTR(code, name, place, format, bytes) [code] = {NVP_##place, NVF_##format, bytes, true},
#define NVFORM(code, place, format, bytes) [code] = {NVP_##place, NVF_##format, bytes, true},
#include "emit/elf/nvinfo.def"
#undef NVATTR
};

bool elf_nvinfo_has_form(const NvAttr *record, enum NvPlace place) {
    int bytes = attr_forms[record->code].bytes;
    if (!attr_forms[record->code].known ||
        (attr_forms[record->code].place != NVP_BOTH && attr_forms[record->code].place != place))
        return false;
    if (attr_forms[record->code].format != NVF_ANY && attr_forms[record->code].format != record->format)
        return false;
    return !bytes || (bytes > 0 ? record->size_bytes == bytes : record->size_bytes % -bytes == 0);
}

const char *elf_nvinfo_name(unsigned code) { return code < 0x100 ? attr_names[code] : NULL; }

bool elf_nvinfo_lists_instructions(unsigned code) {
    return code == NV_EXIT_INSTR_OFFSETS || code == NV_COOP_GROUP_INSTR_OFFSETS ||
           code == NV_INT_WARP_WIDE_INSTR_OFFSETS || code == NV_S2RCTAID_INSTR_OFFSETS ||
           code == NV_MBARRIER_INSTR_OFFSETS || code == NV_SYSCALL_OFFSETS;
}

int elf_nvinfo_code(const char *name, size_t size_bytes) {
    for (int i = 0; i < 0x100; i++)
        if (attr_names[i] && strlen(attr_names[i]) == size_bytes &&
            memcmp(attr_names[i], name, size_bytes) == 0)
            return i;
    return -1;
}

bool elf_nvinfo_next(const uint8_t *data, size_t size_bytes, size_t *pos, NvAttr *out) {
    size_t p = *pos;
    if (size_bytes < 4 || p > size_bytes - 4)
        return false;
    *out = (NvAttr){.format = data[p], .code = data[p + 1], .offset = p};
    uint16_t half = get_u16(data + p + 2);
    if (out->format >= NVF_NONE && out->format <= NVF_HALF)
        out->value = half;
    else if (out->format == NVF_SIZED && half <= size_bytes - p - 4) {
        out->size_bytes = half;
        out->data = data + p + 4;
    } else
        return false;
    *pos = p + 4 + out->size_bytes;
    return true;
}

void elf_nvinfo_value(Arena *a, Bytes *b, unsigned format, unsigned code, unsigned value) {
    uint8_t *p = elf_bytes_add(a, b, NULL, 4);
    p[0] = (uint8_t)format;
    p[1] = (uint8_t)code;
    put_u16(p + 2, (uint16_t)value);
}

void elf_nvinfo_words(Arena *a, Bytes *b, unsigned code, const uint32_t *words, unsigned count) {
    elf_nvinfo_value(a, b, NVF_SIZED, code, count * 4);
    for (unsigned i = 0; i < count; i++)
        elf_bytes_u32(a, b, words[i]);
}
