/* Function addresses of another compiler. ptxas 13.0 gives a function whose address a table holds a number of
 * its own, a place in a table of each kernel that may call it, and no symbol. Both executions of a validation
 * start from one memory; so for the machine's run, words of variables that hold the address of a function
 * there, and a plain number in the file, are the file's number. SPDX-License-Identifier: MIT */
#ifndef HEDDLE_CHECK_VALIDATE_HANDLES_H
#define HEDDLE_CHECK_VALIDATE_HANDLES_H
#include "emit/elf/binary.h"
#include "sim/launch.h"

typedef struct {
    uint64_t place, address,
        number; /* of the word in the guest's memory; what it holds there, and in the file */
} Handle;
typedef struct {
    Arena arena;
    VEC(Handle) all;
} Handles;

/* Puts the file's numbers into `mem`. */
void diff_handles_enter(const Binary *binary, SimMemory *mem, Handles *handles);
/* Code of ptxas 13.0 that takes the address of a function inside a kernel has the place in the kernel, or
 * that of a word of constant bank 2 that holds it: the words that diff_memory takes for the same functions
 * after the kernel ran. A word that an earlier kernel stored stands for its function where it still is,
 * unless it is a number of this kernel's: diff_handles_keep finds those before it runs. */
void diff_handles_keep(Arena *arena, SimMemory *mem);
void diff_handles_number(const BinFunc *kernel, Arena *arena, SimMemory *mem);
/* Takes back those that are still there, and frees. */
void diff_handles_leave(SimMemory *mem, Handles *handles);
#endif
