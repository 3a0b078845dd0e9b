/* Assembly text of whole files, both ways. Two forms (docs/elf.md):
 *   file form    every section and header field, made by disassembly; assembling it gives the same bytes
 *   short form   .target, .entry, instructions: what one writes by hand; the ELF parts are made as for
 *                compiled code
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_EMIT_TEXT_ASM_H
#define HEDDLE_EMIT_TEXT_ASM_H
#include "base/diag.h"
#include "isa/isa.h"

typedef enum {
    DISASM_SECTIONS, /* every header field, section and byte: what asm_assemble takes */
    DISASM_LISTING,  /* for people: functions, instructions, source lines */
    DISASM_GRAPH     /* control flow, for dot(1) */
} DisasmForm;
typedef struct {
    DisasmForm form;
    const char *kernel; /* this function only, by its name or as a source has it; not with DISASM_SECTIONS */
    bool json;          /* with DISASM_SECTIONS or DISASM_LISTING */
    bool code_only, demangle, live; /* DISASM_LISTING; live: registers that are, at each instruction */
} DisasmOptions;
/* ELF image to text; malloc'ed. A word that does not decode, or whose text would not assemble to the same
 * word, is shown as data, and W0420 says how many of them there are. E0414: no such function. */
bool disasm_with(const char *path, const void *image, size_t size_bytes, const DisasmOptions *options,
                 char **text, size_t *text_bytes, Diags *diags);
/* The same with DISASM_SECTIONS. */
bool disasm_image(const char *path, const void *image, size_t size_bytes, bool json, char **text,
                  size_t *text_bytes, Diags *diags);
/* Text to ELF image, malloc'ed. `target`: of a text that names none, or NULL. Reports E035x with the position
 * in the text. */
bool asm_assemble_for(const Source *text, const Target *target, void **image, size_t *size_bytes,
                      Diags *diags);
bool asm_assemble(const Source *text, void **image, size_t *size_bytes, Diags *diags);

/* "[B0-----:R-:W1:Y:S04]", CuAssembler's control prefix, in out[ASM_CONTROL_BYTES]. */
#define ASM_CONTROL_BYTES 24
void asm_print_control(Control c, char out[ASM_CONTROL_BYTES]);
/* Parse one at *text and advance *text behind it. */
bool asm_parse_control(const char **text, Control *out);
#endif
