/* Assembly text of whole files, both ways. Two forms (docs/elf.md):
 *   file form    every section and header field, made by disassembly; assembling it gives the same bytes
 *   short form   .target, .entry, instructions: what one writes by hand; the ELF parts are made as for
 *                compiled code
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_EMIT_TEXT_ASM_H
#define HEDDLE_EMIT_TEXT_ASM_H
#include "base/diag.h"
#include "isa/isa.h"

/* ELF image to text (or JSON); malloc'ed. A word that does not decode, or whose text would not assemble to
 * the same word, is shown as data, and W0420 says how many of them there are. */
bool disasm_image(const char *path, const void *image, size_t size_bytes, bool json, char **text,
                  size_t *text_bytes, Diags *diags);
/* The same of one function's code only, the section .text.<name>: for reading. E0414 if there is none. */
bool disasm_function(const char *path, const void *image, size_t size_bytes, const char *name, bool json,
                     char **text, size_t *text_bytes, Diags *diags);
/* Text to ELF image, malloc'ed. Reports E035x with the position in the text. */
bool asm_assemble(const Source *text, void **image, size_t *size_bytes, Diags *diags);

/* "[B0-----:R-:W1:Y:S04]", CuAssembler's control prefix, in out[ASM_CONTROL_BYTES]. */
#define ASM_CONTROL_BYTES 24
void asm_print_control(Control c, char out[ASM_CONTROL_BYTES]);
/* Parse one at *text and advance *text behind it. */
bool asm_parse_control(const char **text, Control *out);
#endif
