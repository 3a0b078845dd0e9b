/* Compiled code on disk, a file a region. Its name is a hash of what the code was made of and for: the region
 * (engine.c), this build of Heddle and this host's processor. A region that has no code yet may have a file
 * that says how much of it was executed. SPDX-License-Identifier: MIT */
#ifndef HEDDLE_SIM_JIT_CACHE_H
#define HEDDLE_SIM_JIT_CACHE_H
#include "sim/jit/image.h"
#include <xxhash.h>

typedef struct CodeCache CodeCache;
/* In this folder, which need not be there yet. NULL: none is named, or there is nothing to know this build
 * by. */
CodeCache *jit_cache_open(const char *folder);
void jit_cache_close(CodeCache *cache); /* NULL is fine */

/* False: it has none. Files that are damaged, are not the user's alone, or come from a libLLVM that has been
 * replaced are none. */
bool jit_cache_find(const CodeCache *cache, XXH128_hash_t key, ImageBytes *out);
/* Keep it, as made by the library in this file; the oldest of the others go where there are too many bytes.
 * What fails leaves no trace. Also from another thread. */
void jit_cache_keep(const CodeCache *cache, XXH128_hash_t key, const ImageBytes *bytes, const char *library);

/* Warp instructions of the region that runs before this one executed, without code; 0: nothing is known. */
uint64_t jit_cache_heat(const CodeCache *cache, XXH128_hash_t key);
/* Say so to later runs, which gives place to code when there is some. */
void jit_cache_keep_heat(const CodeCache *cache, XXH128_hash_t key, uint64_t heat);
#endif
