/* A binary that was read: whose code may be run, and its functions.
 * SPDX-License-Identifier: MIT */
#include "base/file.h"
#include "base/scope.h"
#include "emit/elf/binary.h"
#include <string.h>

Binary *binary_read(const char *path, const void *image, size_t size_bytes, Diags *diags) {
    Binary *binary = binary_read_any(path, image, size_bytes, diags);
    if (!binary || isa_target_info(binary->target)->is_made)
        return binary;
    Source source = {path, NULL, size_bytes};
    diag_in(diags, &source, (SrcLoc){0}, DIAG_E0419, isa_target_name(binary->target));
    binary_free(binary);
    return NULL;
}

void binary_free(Binary *binary) {
    if (!binary)
        return;
    arena_free(&binary->arena);
    mem_free(binary);
}

const BinFunc *binary_find(const Binary *binary, const char *name) {
    for (uint32_t i = 0; i < binary->nfuncs; i++)
        if (strcmp(binary->funcs[i].name, name) == 0)
            return &binary->funcs[i];
    return NULL;
}

const BinFunc *binary_func_at(const Binary *binary, uint64_t address) {
    for (uint32_t i = 0; i < binary->nfuncs; i++) {
        const BinFunc *f = &binary->funcs[i];
        if (address >= f->address && address - f->address < (uint64_t)f->ninsts * INST_BYTES)
            return f;
    }
    return NULL;
}

void binary_source(const Binary *binary, const BinLoc *loc, char *out, size_t out_bytes) {
    bool known = loc && loc->src_line && loc->src_file < binary->nfiles;
    file_place(known ? binary->files[loc->src_file] : NULL, known ? loc->src_line : 0, out, out_bytes);
}
