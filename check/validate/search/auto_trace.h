/* How one thread came to the guard of a branch: what each value was made of, back to what memory and
 * parameters hold. Seen while an attempt runs, within the function that has the branch.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_CHECK_VALIDATE_AUTO_TRACE_H
#define HEDDLE_CHECK_VALIDATE_AUTO_TRACE_H
#include "check/validate/search/auto_search.h"

enum { AUTO_SOURCES = 3 };
typedef struct {
    const PtxInsn *insn;           /* that made it; NULL: a number, or what nobody followed */
    uint64_t value;                /* its bits */
    uint64_t address;              /* of what was loaded, in global memory; 0: it was not */
    uint32_t source[AUTO_SOURCES]; /* values that the statement read, behind its destinations; of a `mov` that
                                      puts words together, these */
    uint8_t part, parts;           /* of a `mov` that takes a value apart: which of how many; else 0 of 1 */
} AutoNode;

enum { AUTO_MOST_ENDS = 64 };
typedef struct {
    uint32_t insn;  /* a branch, or what traps */
    uint32_t reads; /* value of the branch's guard, or of the address register */
} AutoEnd;
typedef struct {
    uint32_t func;
    AutoNode *nodes; /* from 1; in the arena */
    AutoEnd ends[AUTO_MOST_ENDS];
    uint32_t nends;
} AutoTrace;

/* A thread, by chance, of those that execute a branch of which one way leads where neither search->sum nor
 * search->cover have been, and all such branches of that function that it executes, each once, in any order.
 * False: there is none, or the attempt cannot be run. */
bool auto_trace(AutoSearch *search, const AutoAttempt *attempt, Arena *arena, uint64_t *random,
                AutoTrace *trace);
/* The operand by whose register a statement has its address; NULL: none. */
const PtxOperand *auto_address_of(const PtxInsn *in);
/* The access by which the attempt has trapped (search->trap). False: it is none by a register. */
bool auto_trace_trap(AutoSearch *search, const AutoAttempt *attempt, Arena *arena, AutoTrace *trace);
/* The branches that the thread which used up the budget executes again and again, each at one of its first
 * turns. */
bool auto_trace_loop(AutoSearch *search, const AutoAttempt *attempt, Arena *arena, uint64_t *random,
                     AutoTrace *trace);
#endif
