/* Attribute records of .nv.info and .nv.info.<kernel>: walking, naming, appending.
 * A record is u8 format, u8 code; formats 1 (no value), 2 (byte) and 3 (half) are followed by a u16 value,
 * format 4 by a u16 size and as many bytes.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_EMIT_ELF_NVINFO_H
#define HEDDLE_EMIT_ELF_NVINFO_H
#include "emit/elf/image.h"

enum NvCode {
#define NVATTR(code, name, place, format, bytes) NV_##name = code,
#include "emit/elf/nvinfo.def"
#undef NVATTR
    NV_CODE_END = 0x100
};
enum NvFormat { NVF_ANY, NVF_NONE, NVF_BYTE, NVF_HALF, NVF_SIZED };
enum NvPlace { NVP_MODULE, NVP_FUNCTION, NVP_BOTH };

typedef struct {
    uint8_t format, code;
    uint16_t value;      /* formats 1 to 3 */
    uint16_t size_bytes; /* format 4: bytes at `data` */
    const uint8_t *data;
    size_t offset; /* of the record in the section */
} NvAttr;

/* The record at *pos; advances *pos. False at the end, or when the rest is no record (*pos < size). */
bool elf_nvinfo_next(const uint8_t *data, size_t size_bytes, size_t *pos, NvAttr *out);
const char *elf_nvinfo_name(unsigned code); /* "EIATTR_REGCOUNT"; NULL if unknown */
/* Has a record of this code, place (not NVP_BOTH) and size the form that ptxas gives it? */
bool elf_nvinfo_has_form(const NvAttr *record, enum NvPlace place);
bool elf_nvinfo_lists_instructions(
    unsigned code); /* is it a list of places of instructions of its function? */
int elf_nvinfo_code(const char *name, size_t size_bytes); /* -1 if unknown */

void elf_nvinfo_value(Arena *arena, Bytes *bytes, unsigned format, unsigned code, unsigned value);
void elf_nvinfo_words(Arena *arena, Bytes *bytes, unsigned code, const uint32_t *words, unsigned count);
#endif
