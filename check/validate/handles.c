/* Numbers for functions: see handles.h. SPDX-License-Identifier: MIT */
#include "check/validate/handles.h"
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

void diff_handles_number(const BinFunc *kernel, Arena *arena, SimMemory *mem) {
    struct SimNumber *numbers = ARENA_ARRAY(arena, struct SimNumber, kernel->ninner + 1);
    for (uint32_t k = 0; k < kernel->ninner; k++)
        numbers[k] =
            (struct SimNumber){kernel->inner[k].offset_bytes, sim_func_address(kernel->inner[k].name)};
    mem->numbers = numbers;
    mem->nnumbers = kernel->ninner;
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
