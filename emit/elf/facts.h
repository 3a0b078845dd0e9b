/* What the words of a function say of itself, for the records of its file: registers, barriers, exits.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_EMIT_ELF_FACTS_H
#define HEDDLE_EMIT_ELF_FACTS_H
#include "base/arena.h"
#include "emit/elf/image.h"

typedef struct {
    uint32_t nregs;       /* highest R used, plus 1 */
    uint32_t nbarriers;   /* highest named barrier, plus 1; 16 where a register says which */
    uint32_t frame_bytes; /* the largest decrement of R1 by a constant */
    bool uses_ctaid_z, uses_bssy, uses_call;
    VEC(uint32_t) exits; /* offsets, ascending */
} CodeFacts;

/* One more word, the instruction at `pc`; words that do not decode say nothing. */
void elf_facts_add(Arena *arena, const Target *target, const uint64_t word[2], uint32_t pc_bytes,
                   CodeFacts *facts);

/* What elf_facts_follow changed of a function, and why it could not. */
typedef struct {
    bool changed;
    uint32_t more_registers; /* what it needs, where the file stated less; else 0 */
    uint32_t more_stack_bytes;
    const char *why;
} FactsChange;

/* Where the module's records of functions are: found once for an image, zero-initialised by the caller. They
 * must keep their places while it is used. */
typedef struct {
    uint32_t text, code, at;
} FactsRecord;
typedef struct {
    FactsRecord *at;
    unsigned n, cap;
    uint32_t symtab; /* of which they are; 0: not found yet */
} FactsRecords;

/* Make the records of function section `text` of the image agree with its code: register count, barriers,
 * frame, exits, CTAIDZ_USED, CRS_STACK_SIZE. What the file states stays where it is enough. Sections that
 * change get new bytes. False: the machine or a record of the file does not allow it, and `why` says so. */
bool elf_facts_follow(Arena *arena, ElfImage *image, const Target *target, uint32_t text,
                      const CodeFacts *facts, FactsRecords *records, FactsChange *change);
/* Kernel section `text`, which makes calls, needs what a function of the file came to need. */
bool elf_facts_raise(Arena *arena, ElfImage *image, const Target *target, uint32_t text,
                     const FactsChange *callee, FactsRecords *records, FactsChange *change);
#endif
