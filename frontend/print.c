/* Printer: to come.
 * SPDX-License-Identifier: MIT */
#include "frontend/ast.h"
bool ptx_print(const PtxModule *m, char **text, size_t *size_bytes) {
    (void)m, (void)text, (void)size_bytes;
    return false;
}
