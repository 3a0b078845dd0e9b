/* Numbers for functions: see handles.h. SPDX-License-Identifier: MIT */
#include "check/validate/compare/handles.h"
#include "isa/machine/windows.h"
#include <string.h>

enum { WORD = 8 };

static bool has_fixup(const Binary *binary, uint32_t var, uint64_t offset) {
    for (uint32_t k = 0; k < binary->nfixups; k++) {
        const BinFixup *fixup = &binary->fixups[k];
        if (!fixup->in_code && !fixup->in_bank4 && fixup->var == var && fixup->offset_bytes == offset)
            return true;
    }
    return false;
}

static bool is_function(uint64_t address) {
    return address >= SIM_FUNC_BASE && address < SIM_SHARED_WINDOW && address % 16 == 0;
}

void diff_handles_enter(const Binary *binary, SimMemory *mem, Handles *handles) {
    *handles = (Handles){0};
    for (uint32_t i = 0; i < binary->nvars; i++) {
        const BinVar *var = &binary->vars[i];
        SimAlloc *alloc = var->init ? simmem_find_name(mem, var->name) : NULL;
        for (uint64_t at = 0;
             alloc && alloc->addresses && at + WORD <= var->size_bytes && at + WORD <= alloc->size_bytes;
             at += WORD) {
            Handle handle = {.place = alloc->address + at};
            memcpy(&handle.address, alloc->data + at, WORD);
            memcpy(&handle.number, var->init + at, WORD);
            if (!simmem_is_address(alloc, at) || !is_function(handle.address) || has_fixup(binary, i, at))
                continue;
            memcpy(alloc->data + at, &handle.number, WORD);
            VEC_ADD(&handles->arena, &handles->all, handle);
        }
    }
}

typedef VEC(struct SimNumber) Numbers;

/* Numbers of functions are small: places in code, and in a bank. */
static bool may_be_number(uint64_t word) { return word && word < 1u << 24; }

static void keep_word(Arena *arena, const SimMemory *mem, Numbers *kept, uint64_t word, uint64_t place) {
    for (uint32_t k = 0; k < mem->nnumbers; k++) {
        struct SimNumber number = mem->numbers[k];
        if (number.number == word && (!number.place || number.place == place)) {
            number.place = place;
            VEC_ADD(arena, kept, number);
        }
    }
}

void diff_handles_keep(Arena *arena, SimMemory *mem) {
    Numbers kept = {0};
    for (uint32_t i = 0; mem->nnumbers && i < mem->nallocs; i++)
        for (uint64_t at = 0; at + WORD <= mem->allocs[i].size_bytes; at += WORD) {
            uint64_t word;
            memcpy(&word, mem->allocs[i].data + at, WORD);
            if (may_be_number(word))
                keep_word(arena, mem, &kept, word, mem->allocs[i].address + at);
        }
    mem->numbers = kept.at;
    mem->nnumbers = kept.n;
}

static void number_inner(const BinFunc *kernel, Arena *arena, Numbers *numbers) {
    for (uint32_t k = 0; k < kernel->ninner; k++) {
        struct SimNumber number = {kernel->inner[k].offset_bytes, sim_func_address(kernel->inner[k].name), 0};
        VEC_ADD(arena, numbers, number);
        for (uint32_t at = WORD; at + WORD <= kernel->const_bank2_bytes; at += WORD) {
            uint64_t place;
            memcpy(&place, kernel->const_bank2 + at, WORD);
            number.number = at;
            if (place == kernel->inner[k].offset_bytes)
                VEC_ADD(arena, numbers, number);
        }
    }
}

void diff_handles_number(const BinFunc *kernel, Arena *arena, SimMemory *mem) {
    Numbers numbers = {0};
    number_inner(kernel, arena, &numbers);
    for (uint32_t i = 0, own = numbers.n; i < mem->nnumbers; i++) {
        bool taken = false;
        for (uint32_t k = 0; k < own; k++)
            taken |= numbers.at[k].number == mem->numbers[i].number;
        if (!taken)
            VEC_ADD(arena, &numbers, mem->numbers[i]);
    }
    mem->numbers = numbers.at;
    mem->nnumbers = numbers.n;
}

void diff_handles_leave(SimMemory *mem, Handles *handles) {
    for (uint32_t k = 0; k < handles->all.n; k++) {
        const Handle *handle = &handles->all.at[k];
        SimAlloc *alloc = simmem_find(mem, handle->place, WORD);
        if (alloc && memcmp(alloc->data + (handle->place - alloc->address), &handle->number, WORD) == 0)
            memcpy(alloc->data + (handle->place - alloc->address), &handle->address, WORD);
    }
    arena_free(&handles->arena);
}
