/* What a file says beside its instructions, against the PTX that it was made from: the set of kernels, their
 * parameters and limits, variables with their sizes, places and initial bytes. A run compares none of this
 * unless a launch happens to read it; whoever says "equal" or "proved" of a file asks here as well.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_CHECK_FLOW_CONTENTS_H
#define HEDDLE_CHECK_FLOW_CONTENTS_H
#include "emit/elf/binary.h"
#include "frontend/ast.h"

typedef struct {
    const char *func; /* kernel that it concerns, NULL: the module */
    const char *text; /* one clause: what differs */
    uint32_t ptx_line;
    bool
        definite; /* a fact of the file that makes it wrong; else only something that could not be compared */
} ContentsFinding;

typedef struct {
    Arena arena;
    VEC(ContentsFinding) findings;
} Contents;

/* Compare; `kernel` (or NULL) leaves out what concerns other kernels only. Free with bin_contents_free. */
void bin_contents_compare(const PtxModule *module, const Binary *binary, const char *kernel, Contents *out);
/* [Binary.ncode] 1 where an instruction is of a `bar` or `barrier` that needs the whole warp, by the file's
 * map. */
uint8_t *bin_aligned_barriers(const PtxModule *module, const Binary *binary, Arena *arena);
void bin_contents_free(Contents *contents);
/* The first definite difference, as "k: text (PTX line n)", in `out`; false if there is none. */
bool bin_contents_differ(const PtxModule *module, const Binary *binary, const char *kernel, char *out,
                         size_t out_bytes);

/* The binary's variable that stands for `var` of the module, NULL if there is none. */
const BinVar *bin_contents_var(const PtxModule *module, const Binary *binary, uint32_t var);
#endif
