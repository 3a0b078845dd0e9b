/* Machine IR text: what loads prints, and what was printed loads.
 * SPDX-License-Identifier: MIT */
#include "ir/ir.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    Diags d = {0};
    StrTab strings = {0};
    Source s = {"fuzz.mir", (const char *)data, size};
    IrModule *m = ir_load(&s, &strings, &d);
    if (m) {
        Source again = {"again.mir", NULL, 0};
        char *text = ir_print(m, &again.size_bytes);
        again.text = text;
        IrModule *m2 = ir_load(&again, &strings, &d);
        if (!m2)
            abort();
        ir_module_free(m2);
        ir_module_free(m);
        free(text);
    }
    str_free(&strings);
    return 0;
}
