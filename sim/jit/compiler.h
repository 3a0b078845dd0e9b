/* libLLVM at work: from a region to code, in the caller's thread or in one of its own.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_SIM_JIT_COMPILER_H
#define HEDDLE_SIM_JIT_COMPILER_H
#include "sim/jit/cache.h"
#include "sim/jit/emit.h"

typedef struct Compiler Compiler;
typedef enum {
    COMPILER_CLOSED, /* libLLVM is not opened yet */
    COMPILER_READY,
    COMPILER_BUSY,  /* where another thread works only */
    COMPILER_FAILED /* for good: compiler_why */
} CompilerState;

/* Who does what takes long: the caller, who waits; another thread, and compiler_state tells when it is done;
 * another thread if the caller has had a core to itself since compiler_new. */
typedef enum { COMPILER_WAITS, COMPILER_BACKGROUND, COMPILER_IDLE } CompilerMode;
/* quick: no passes, and LLVM's fastest way to code. cache: a folder in which code is kept, or NULL. */
Compiler *compiler_new(CompilerMode mode, bool quick, const char *cache);
CompilerState compiler_state(const Compiler *compiler);
/* Does compiling take the caller's time? Another thread would take it from the caller where the host is busy.
 */
bool compiler_takes_time(const Compiler *compiler);
/* Opens libLLVM: from CLOSED. */
void compiler_load(Compiler *compiler);
/* The folder of code, or NULL. Not behind compiler_free. */
const CodeCache *compiler_cache(const Compiler *compiler);
/* Code of this key that is kept on disk, in any state; false: none. The caller unmaps it. */
bool compiler_find(const Compiler *compiler, XXH128_hash_t key, Image *out);
/* Compiles the region, of this key: from READY. The run is read before this returns, and not behind it. */
void compiler_start(Compiler *compiler, const Run *run, const Region *region, unsigned kind,
                    XXH128_hash_t key);
/* No longer BUSY. */
void compiler_wait(Compiler *compiler);
/* What has been compiled since the last call; the caller unmaps it. False: nothing. Not while it is BUSY. */
bool compiler_take(Compiler *compiler, Image *out);
/* Processor time that it took so far, "" or why it FAILED. Not while it is BUSY. */
double compiler_seconds(const Compiler *compiler);
const char *compiler_why(const Compiler *compiler);
/* Frees it. False: it is BUSY; its thread will free it. */
bool compiler_free(Compiler *compiler);
#endif
