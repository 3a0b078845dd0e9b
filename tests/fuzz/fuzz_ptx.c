/* PTX text through the front end, lowering and emission: no input may crash, leak or hang.
 * SPDX-License-Identifier: MIT */
#include "emit/code.h"
#include "frontend/ast.h"
#include "lower/lower.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    Diags d = {0};
    PtxModule *ptx = ptx_parse("fuzz.ptx", (const char *)data, size, &d);
    if (!ptx)
        return 0;
    IrModule *m = lower_module(ptx, &ptx->strings, isa_targets[0], size & 3, &d);
    PassOptions opt = {.verify = true};
    if (m && ir_run_passes(m, &opt, &d)) {
        CodeModule *c = code_encode(m, &d);
        void *image;
        size_t bytes;
        if (c && elf_write(c, &image, &bytes, &d))
            free(image);
        if (c)
            code_free(c);
    }
    if (m)
        ir_module_free(m);
    ptx_free(ptx);
    return 0;
}
