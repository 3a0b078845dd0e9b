/* Binaries for tests of the model checker and the mutator: assembled from short text, or compiled from random
 * PTX.
 * SPDX-License-Identifier: MIT */
#ifndef TEST_CHECK_MODEL_COMMON_H
#define TEST_CHECK_MODEL_COMMON_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include "check/fuzz/internal.h"
#include "check/model/model.h"
#include "emit/text/asm.h"
#include "emit/code.h"
#include "lower/lower.h"

static void show(void *user, Severity severity, const char *line) {
    (void)user, (void)severity;
    print_error("%s", line);
}

static void *assembled(const char *text, size_t *size) {
    Source s = {"test.sass", text, strlen(text)};
    Diags d = {.source = &s, .sink = show};
    void *image = NULL;
    assert_true(asm_assemble(&s, &image, size, &d));
    return image;
}

/* Random program `index` of a kind as an ELF image; NULL if the compiler does not take it. */
static inline void *random_image(GenKind kind, uint64_t index, GenForms *forms, unsigned level,
                                 size_t *size) {
    GenProgram p = {0};
    Diags quiet = {0};
    StrTab strings = {0};
    void *image = NULL;
    gen_program(kind, 1, index, forms, &p);
    PtxModule *module = ptx_parse("random.ptx", p.text, p.size_bytes, &quiet);
    IrModule *ir = NULL;
    CodeModule *code = NULL;
    if (module) {
        quiet.source = &module->source;
        ir = lower_module(module, &strings, isa_targets[0], level, &quiet);
    }
    if (ir && ir_run_passes(ir, &(PassOptions){0}, &quiet) && (code = code_encode(ir, &quiet)) &&
        !elf_write(code, &image, size, &quiet))
        image = NULL;
    if (code)
        code_free(code);
    if (ir)
        ir_module_free(ir);
    str_free(&strings);
    if (module)
        ptx_free(module);
    gen_program_free(&p);
    return image;
}
#endif
