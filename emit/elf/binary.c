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

/* Decoding takes longer than most of what is done with the result, and short launches of the same code come
 * by the thousand. What can be seen of it never changes, and edited words differ from those that are kept. */
struct BinDecodedPiece {
    uint64_t words[BIN_DECODED_INSTS][2];
    MachInst insts[BIN_DECODED_INSTS];
    bool is_known[BIN_DECODED_INSTS];
};

static struct BinDecodedPiece *decode_from(const Binary *binary, const uint64_t (*code)[2], uint32_t first) {
    struct BinDecodedPiece *decoded = mem_zeroed(1, sizeof *decoded);
    uint32_t left = binary->ncode - first, n = left < BIN_DECODED_INSTS ? left : BIN_DECODED_INSTS;
    char error[ISA_ERROR_BYTES];
    memcpy(decoded->words, code + first, n * sizeof *code);
    for (uint32_t i = 0; i < n; i++)
        decoded->is_known[i] = isa_decode(binary->target, decoded->words[i], &decoded->insts[i], error);
    return decoded;
}

/* What there is of the instruction's neighbourhood, which is decoded if nobody has. */
static const struct BinDecodedPiece *decoded_at(const Binary *binary, const uint64_t (*code)[2],
                                                uint32_t index) {
    struct BinDecodedPiece **place = &binary->decoded->piece[index / BIN_DECODED_INSTS];
    struct BinDecodedPiece *there = __atomic_load_n(place, __ATOMIC_ACQUIRE);
    if (there)
        return there;
    struct BinDecodedPiece *made = decode_from(binary, code, index - index % BIN_DECODED_INSTS);
    if (!__atomic_compare_exchange_n(place, &there, made, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        mem_free(made); /* another thread has */
        return there;
    }
    scope_unguard(made); /* it lives as long as the binary, whatever becomes of the work that asks */
    return made;
}

const MachInst *binary_inst(const Binary *binary, const uint64_t (*code)[2], uint32_t index, MachInst *room,
                            char error[ISA_ERROR_BYTES]) {
    uint32_t i = index % BIN_DECODED_INSTS;
    const struct BinDecodedPiece *decoded = binary->decoded ? decoded_at(binary, code, index) : NULL;
    if (decoded && decoded->is_known[i] && memcmp(decoded->words[i], code[index], sizeof *code) == 0)
        return &decoded->insts[i];
    return isa_decode(binary->target, code[index], room, error) ? room : NULL;
}

static void free_decoded(void *object) {
    BinDecoded *decoded = object;
    for (uint32_t i = 0; i < decoded->n; i++)
        mem_free(decoded->piece[i]);
    for (BinKept *block = decoded->kept, *next; block; block = next) {
        next = block->next;
        block->release(block);
    }
    pthread_mutex_destroy(&decoded->lock);
}

void binary_give(const Binary *binary, BinKept *block) {
    BinDecoded *decoded = binary->decoded;
    if (!decoded) {
        block->release(block);
        return;
    }
    scope_unguard(block); /* as the pieces */
    pthread_mutex_lock(&decoded->lock);
    block->next = decoded->kept;
    decoded->kept = block;
    pthread_mutex_unlock(&decoded->lock);
}

BinKept *binary_take(const Binary *binary) {
    BinDecoded *decoded = binary->decoded;
    BinKept *block = NULL;
    if (!decoded)
        return NULL;
    pthread_mutex_lock(&decoded->lock);
    block = decoded->kept;
    if (block)
        decoded->kept = block->next;
    pthread_mutex_unlock(&decoded->lock);
    if (block)
        scope_guard(block, block->release);
    return block;
}

void binary_keep_decoded(Binary *binary) {
    BinDecoded *decoded = ARENA_NEW(&binary->arena, BinDecoded);
    decoded->n = binary->ncode / BIN_DECODED_INSTS + 1;
    decoded->piece = ARENA_ARRAY(&binary->arena, struct BinDecodedPiece *, decoded->n);
    pthread_mutex_init(&decoded->lock, NULL);
    scope_guard(decoded, free_decoded); /* no scope holds the pieces, which may be of another one's work */
    binary->decoded = decoded;
}

void binary_free(Binary *binary) {
    if (!binary)
        return;
    if (binary->decoded) {
        scope_unguard(binary->decoded);
        free_decoded(binary->decoded);
    }
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
