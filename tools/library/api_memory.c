/* Device memory of the public library: see include/heddle.h. A change is made on a copy, which takes the
 * place of what was there when the work is done; so work that is given up changes nothing (base/scope.h).
 * SPDX-License-Identifier: MIT */
#include "tools/library/api.h"
#include "base/scope.h"
#include "sim/interp/interp.h"
#include "sim/machine/machine.h"
#include <string.h>

void hd_exchange(HdMemory *memory, SimMemory *after) {
    simmem_free(memory->mem);
    memory->mem = after;
}

void hd_free_memories(HdContext *context) {
    while (context->memories) {
        HdMemory *memory = context->memories;
        context->memories = memory->next;
        simmem_free(memory->mem);
        mem_free(memory);
    }
}

typedef struct {
    HdMemory *memory;
    uint64_t address;
    size_t size_bytes;
    const char *name;
} MemoryCall;

static void create(ApiCall *call) {
    MemoryCall *result = (MemoryCall *)(uintptr_t)call->options;
    HdMemory *memory = mem_zeroed(1, sizeof *memory);
    memory->mem = simmem_create();
    memory->context = call->context;
    memory->next = call->context->memories;
    result->memory = call->context->memories = memory;
    call->status = HD_OK;
}

HdStatus hd_memory(HdContext *context, HdMemory **out) {
    MemoryCall result = {0};
    if (out)
        *out = NULL;
    if (!context || !out)
        return HD_ERR_USAGE;
    HdStatus status = hd_run(create, &(ApiCall){.context = context, .options = &result});
    *out = status == HD_OK ? result.memory : NULL;
    return status;
}

void hd_memory_end(HdMemory *memory) {
    if (!memory)
        return;
    HdMemory **at = &memory->context->memories;
    while (*at != memory)
        at = &(*at)->next;
    *at = memory->next;
    simmem_free(memory->mem);
    mem_free(memory);
}

/* ---- allocations ---- */

static HdStatus changed(ApiFn *work, ApiCall call, HdMemory *memory) {
    call.context = memory->context;
    call.memory = memory;
    HdStatus status = hd_run(work, &call);
    if (call.after)
        hd_exchange(memory, call.after);
    return status;
}

static void allocate(ApiCall *call) {
    MemoryCall *result = (MemoryCall *)(uintptr_t)call->options;
    SimMemory *mem = simmem_clone(call->memory->mem);
    result->address = simmem_alloc(mem, NULL, result->size_bytes);
    call->status = result->address ? HD_OK : HD_ERR_USAGE;
    if (result->address)
        call->after = mem;
    else
        simmem_free(mem);
}

HdStatus hd_allocate(HdMemory *memory, size_t size_bytes, uint64_t *address) {
    MemoryCall result = {.size_bytes = size_bytes};
    if (address)
        *address = 0;
    if (!memory || !address)
        return HD_ERR_USAGE;
    HdStatus status = changed(allocate, (ApiCall){.options = &result}, memory);
    *address = status == HD_OK ? result.address : 0;
    return status;
}

static void map(ApiCall *call) {
    SimMemory *mem = simmem_clone(call->memory->mem);
    if (simmem_map(mem, (void *)(uintptr_t)call->bytes, call->size_bytes)) {
        call->status = HD_OK;
        call->after = mem;
        return;
    }
    call->status = HD_ERR_USAGE;
    simmem_free(mem);
}

HdStatus hd_map(HdMemory *memory, void *host, size_t size_bytes) {
    if (!memory || !host)
        return HD_ERR_USAGE;
    return changed(map, (ApiCall){.bytes = host, .size_bytes = size_bytes}, memory);
}

HdStatus hd_release(HdMemory *memory, uint64_t address) {
    const SimAlloc *alloc = memory ? simmem_find(memory->mem, address, 0) : NULL;
    if (!alloc || alloc->address != address || *alloc->name)
        return HD_ERR_USAGE;
    simmem_remove(memory->mem, address); /* takes no memory: nothing to give up */
    return HD_OK;
}

HdStatus hd_write(HdMemory *memory, uint64_t address, const void *from, size_t size_bytes) {
    bool good = memory && (from || !size_bytes) && simmem_write(memory->mem, address, from, size_bytes);
    return good ? HD_OK : HD_ERR_USAGE;
}

HdStatus hd_read(const HdMemory *memory, uint64_t address, void *to, size_t size_bytes) {
    bool good = memory && (to || !size_bytes) && simmem_read(memory->mem, address, to, size_bytes);
    return good ? HD_OK : HD_ERR_USAGE;
}

/* ---- variables ---- */

static void place(ApiCall *call) {
    MemoryCall *result = (MemoryCall *)(uintptr_t)call->options;
    Diags d = hd_diags(call->context);
    SimMemory *mem = simmem_clone(call->memory->mem);
    bool placed = call->binary ? machine_place_variables(call->binary->binary, mem, &d)
                               : interp_place_variables(call->ptx->ptx, mem, &d);
    const SimAlloc *alloc = placed ? simmem_find_name(mem, result->name) : NULL;
    call->status = alloc ? HD_OK : HD_ERR_INPUT;
    if (!alloc) {
        simmem_free(mem);
        return;
    }
    result->address = alloc->address;
    result->size_bytes = (size_t)alloc->size_bytes;
    call->after = mem;
}

/* Names of other things than variables (the heap) are no variables. */
static bool has_variable(const HdModule *module, const char *name) {
    for (uint32_t k = 0; module->binary && k < module->binary->nvars; k++)
        if (strcmp(module->binary->vars[k].name, name) == 0)
            return true;
    return module->ptx && ptx_find_var(module->ptx, name);
}

HdStatus hd_variable(HdMemory *memory, const HdModule *module, const char *name, uint64_t *address,
                     size_t *size_bytes) {
    MemoryCall result = {.name = name};
    if (address)
        *address = 0;
    if (size_bytes)
        *size_bytes = 0;
    if (!memory || !module || !name || !address || module->context != memory->context)
        return HD_ERR_USAGE;
    if (!*name || !has_variable(module, name))
        return HD_ERR_INPUT;
    HdModule *asked = (HdModule *)(uintptr_t)module;
    ApiCall call = {
        .binary = module->binary ? asked : NULL, .ptx = module->ptx ? asked : NULL, .options = &result};
    HdStatus status = changed(place, call, memory);
    *address = status == HD_OK ? result.address : 0;
    if (size_bytes)
        *size_bytes = status == HD_OK ? result.size_bytes : 0;
    return status;
}
