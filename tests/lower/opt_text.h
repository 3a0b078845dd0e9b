/* One function of machine IR as text, for tests of optimisation passes. SPDX-License-Identifier: MIT */
#ifndef HEDDLE_TESTS_LOWER_OPT_TEXT_H
#define HEDDLE_TESTS_LOWER_OPT_TEXT_H
#include "lower/passes.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

typedef struct {
    StrTab strings;
    Diags d;
    IrModule *m;
    Function *f;
    char *text;
} Loaded;

/* A kernel `k` for bru1 with these blocks; test fails if they are not read. To be unloaded. */
static inline void load(Loaded *loaded, const char *body) {
    memset(loaded, 0, sizeof *loaded);
    loaded->d = (Diags){.sink = diag_print_sink, .user = stderr};
    size_t bytes = strlen(body) + 256;
    loaded->text = malloc(bytes);
    assert_non_null(loaded->text);
    snprintf(loaded->text, bytes,
             "module bru1 opt=2 const=0\nfunc @k entry ssa var=0 spill=0 barriers=0 bbase=0 "
             "start=bb1 {\n%s}\n",
             body);
    Source s = {"t.mir", loaded->text, strlen(loaded->text)};
    loaded->m = ir_load(&s, &loaded->strings, &loaded->d);
    assert_non_null(loaded->m);
    loaded->f = loaded->m->funcs.at[0];
}

/* The function is well formed, its text has `has` and has not `has_not` (NULL: anything). */
static inline void expect(Loaded *loaded, const char *has, const char *has_not) {
    assert_true(ir_verify(loaded->f, &loaded->d, "pass"));
    char *text = ir_print_function(loaded->f, NULL);
    if ((has && !strstr(text, has)) || (has_not && strstr(text, has_not))) {
        printf("%s\n", text);
        fail();
    }
    free(text);
}

static inline void unload(Loaded *loaded) {
    ir_module_free(loaded->m);
    str_free(&loaded->strings);
    free(loaded->text);
}
#endif
