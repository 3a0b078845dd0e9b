/* A function of machine IR as text, before and behind a pass. SPDX-License-Identifier: MIT */
#ifndef HEDDLE_TESTS_REGALLOC_PASS_TEXT_H
#define HEDDLE_TESTS_REGALLOC_PASS_TEXT_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "ir/load.h"
#include "ir/pass.h"
#include "ir/text.h"
#include "lower/passes.h"

/* A kernel for sm_80 with these blocks behind the pass, well formed, as text: free it. The test fails if the
 * blocks are not read. */
static inline char *text_behind(bool pass(Function *, Diags *), const char *blocks) {
    StrTab strings = {0};
    Diags d = {.sink = diag_print_sink, .user = stderr};
    char text[8192];
    snprintf(
        text, sizeof text,
        "module sm_80 opt=2 const=0\nfunc @k entry ssa var=0 spill=0 barriers=0 bbase=0 start=bb1 {\n%s}\n",
        blocks);
    Source source = {"t.mir", text, strlen(text)};
    IrModule *module = ir_load(&source, &strings, &d);
    assert_non_null(module);
    Function *f = module->funcs.at[0];
    assert_true(pass(f, &d));
    assert_true(ir_verify(f, &d, "pass"));
    char *behind = ir_print_function(f, NULL);
    ir_module_free(module);
    str_free(&strings);
    return behind;
}
#endif
