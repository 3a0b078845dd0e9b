/* Helpers of the frontend's unit tests: parse a text, look at its one kernel.
 * SPDX-License-Identifier: MIT */
#include "frontend/ast.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#define HEADER ".version 8.5\n.target sm_90a\n.address_size 64\n"
#define KERNEL(body) HEADER ".entry k(.param .u64 p, .param .u32 q)\n{\n" body "\nret;\n}\n"

typedef struct {
    char text[4096];
    size_t n;
} Said;

static inline void hear(void *user, Severity severity, const char *line) {
    Said *said = user;
    (void)severity;
    said->n += (size_t)snprintf(said->text + said->n, sizeof said->text - said->n, "%s", line);
    if (said->n >= sizeof said->text)
        said->n = sizeof said->text - 1;
}

static inline PtxModule *parse(const char *text) {
    Said said = {0};
    Diags d = {.sink = hear, .user = &said};
    PtxModule *m = ptx_parse("t.ptx", text, strlen(text), &d);
    if (!m)
        fail_msg("%s", said.text);
    return m;
}

static inline const PtxFunc *func(const PtxModule *module, const char *name) {
    uint32_t i = ptx_find_func(module, name);
    assert_int_not_equal(i, 0);
    return &module->funcs[i - 1];
}

static inline const PtxVar *var(const PtxModule *module, const char *name) {
    uint32_t i = ptx_find_var(module, name);
    assert_int_not_equal(i, 0);
    return &module->vars[i - 1];
}

static inline const char *text_of(const PtxModule *module, StrId id) {
    return str_text(&module->strings, id);
}
