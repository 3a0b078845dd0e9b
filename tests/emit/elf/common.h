/* What the tests of the ELF and assembly parts share: a hand-written file whose facts are known by reading
 * it.
 * SPDX-License-Identifier: MIT */
#ifndef TEST_ELF_COMMON_H
#define TEST_ELF_COMMON_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "emit/text/asm.h"
#include "emit/elf/binary.h"
#include <stdlib.h>
#include <string.h>

static const char add_sass[] =
    "// a kernel, a function, a variable\n"
    ".target bru1\n"
    ".global seen, 64, 16\n"
    ".entry add\n"
    ".param 8\n"
    ".param 4\n"
    ".shared 32\n"
    ".barriers 3\n"
    "  MOV R1, c[0x0][0x28] ;\n"                                                 /* 00 */
    "  [B------:R-:W0:-:S01] S2R R0, SR_TID.X ;\n"                               /* 10 */
    "  [B0-----:R-:W-:-:S13] ISETP.GE.U32.AND P0, PT, R0, c[0x0][0x168], PT ;\n" /* 20 */
    "  @P0 EXIT ;\n"                                                             /* 30 */
    "  BSSY B0, `(back) ;\n"                                                     /* 40 */
    "  LEPC R[20:21], (back - .) ;\n"                                            /* 50 */
    "  CALL.REL RZ, `(twice) ;\n"                                                /* 60 */
    "back:\n"
    "  BSYNC B0 ;\n"   /* 70 */
    "  BRA `(end) ;\n" /* 80 */
    "  NOP ;\n"        /* 90 */
    "end:\n"
    "  S2R R30, SR_CTAID.Z ;\n" /* a0 */
    "  EXIT ;\n"                /* b0 */
    ".func twice\n"
    "  IADD3 R4, R4, R4, RZ ;\n"
    "  RET.REL R[20:21], 0x0 ;\n";

typedef struct {
    char text[4096]; /* all messages of a run */
    unsigned n;
} Messages;

static inline void collect(void *user, Severity severity, const char *line) {
    Messages *messages = user;
    (void)severity;
    size_t used = strlen(messages->text);
    strncat(messages->text, line, sizeof messages->text - used - 1);
    messages->n++;
}

static inline bool assemble_text(const char *text, void **image, size_t *size, Messages *m) {
    Diags d = {.sink = collect, .user = m};
    Source s = {"test.sass", text, strlen(text)};
    return asm_assemble(&s, image, size, &d);
}

static inline void *add_image(size_t *size) {
    Messages m = {0};
    void *image = NULL;
    if (!assemble_text(add_sass, &image, size, &m))
        fail_msg("%s", m.text);
    return image;
}
#endif
