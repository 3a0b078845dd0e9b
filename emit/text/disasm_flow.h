/* Control flow and live registers of the code of one section, for the listings.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_EMIT_TEXT_DISASM_FLOW_H
#define HEDDLE_EMIT_TEXT_DISASM_FLOW_H
#include "emit/emit.h"
#include "emit/text/disasm.h"

enum { FLOW_CELL_WORDS = (CELL_COUNT + 63) / 64 };

typedef struct {
    uint32_t first, end; /* instructions */
    uint32_t *next;      /* blocks */
    uint32_t nnext;
    bool unknown_next; /* it may lead to where nothing says */
} FlowBlock;

typedef struct {
    const Target *target;
    uint32_t ninsts, nblocks;
    MachInst *insts;
    bool *decoded;
    FlowBlock *blocks;
    uint32_t *block_of;                /* of an instruction */
    uint64_t (*live)[FLOW_CELL_WORDS]; /* cells (emit.h) live before an instruction; NULL until asked for */
} CodeFlow;

/* `function` gives the targets of indirect branches; NULL: it is not known. */
void disasm_flow_of(CodeFlow *flow, Arena *arena, const Target *target, const ElfSection *section,
                    const BinFunc *function);
void disasm_flow_live(CodeFlow *flow, Arena *arena);
/* How many of R, P, UR, UP are live before the instruction. */
void disasm_flow_count(const CodeFlow *flow, uint32_t inst, unsigned counts[4]);
#endif
