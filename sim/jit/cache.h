/* Compiled code on disk, a file a region. Its name is a hash of what the code was made of and for: the region
 * (engine.c), this build of Heddle and this host's processor. SPDX-License-Identifier: MIT */
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
#endif
