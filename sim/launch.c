/* Guest memory, launch checks and trap texts of sim/launch.h.
 * SPDX-License-Identifier: MIT */
#include "sim/launch.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_ALLOC_BYTES ((uint64_t)1 << 36)
#define SLACK_BYTES 64u

static size_t written_bytes(uint64_t size_bytes) { return (size_t)(size_bytes / 8 + 9); }
static size_t data_bytes(uint64_t size_bytes) { return (size_t)((size_bytes + SLACK_BYTES + 63) / 64 * 64); }

SimMemory *simmem_create(void) {
    SimMemory *mem = calloc(1, sizeof *mem);
    if (mem)
        mem->next_address = SIM_GLOBAL_BASE;
    return mem;
}

static void alloc_release(SimAlloc *a) {
    free(a->data);
    free(a->written);
    free(a->name);
}

void simmem_free(SimMemory *mem) {
    if (!mem)
        return;
    for (uint32_t i = 0; i < mem->nallocs; i++)
        alloc_release(&mem->allocs[i]);
    free(mem->allocs);
    free(mem);
}

/* Host storage for `a` (size set), not cleared. */
static bool alloc_storage(SimAlloc *a, const char *name) {
    void *data = NULL;
    if (posix_memalign(&data, 64, data_bytes(a->size_bytes)) != 0)
        data = NULL;
    a->data = data;
    a->written = calloc(1, written_bytes(a->size_bytes));
    a->name = strdup(name);
    if (!a->data || !a->written || !a->name) {
        alloc_release(a);
        return false;
    }
    return true;
}

static bool grow(SimMemory *mem) {
    if (mem->nallocs < mem->cap)
        return true;
    uint32_t cap = mem->cap ? mem->cap * 2 : 16;
    SimAlloc *p = realloc(mem->allocs, cap * sizeof *p);
    if (!p)
        return false;
    mem->allocs = p;
    mem->cap = cap;
    return true;
}

uint64_t simmem_alloc(SimMemory *mem, const char *name, uint64_t size_bytes) {
    if (size_bytes == 0 || size_bytes > MAX_ALLOC_BYTES || !grow(mem))
        return 0;
    SimAlloc a = {.address = mem->next_address, .size_bytes = size_bytes};
    if (!alloc_storage(&a, name ? name : ""))
        return 0;
    memset(a.data, 0, data_bytes(size_bytes));
    mem->allocs[mem->nallocs++] = a;
    uint64_t end = a.address + size_bytes + SIM_GUARD_BYTES;
    mem->next_address = (end + SIM_ALLOC_ALIGN - 1) / SIM_ALLOC_ALIGN * SIM_ALLOC_ALIGN;
    return a.address;
}

SimMemory *simmem_clone(const SimMemory *mem) {
    SimMemory *c = simmem_create();
    for (uint32_t i = 0; c && i < mem->nallocs; i++) {
        const SimAlloc *from = &mem->allocs[i];
        SimAlloc a = {.address = from->address, .size_bytes = from->size_bytes, .read_only = from->read_only};
        if (!grow(c) || !alloc_storage(&a, from->name)) {
            simmem_free(c);
            return NULL;
        }
        memcpy(a.data, from->data, data_bytes(a.size_bytes));
        memcpy(a.written, from->written, written_bytes(a.size_bytes));
        c->allocs[c->nallocs++] = a;
    }
    if (c)
        c->next_address = mem->next_address;
    return c;
}

SimAlloc *simmem_find(const SimMemory *mem, uint64_t address, uint64_t size_bytes) {
    uint32_t lo = 0, hi = mem->nallocs; /* first allocation above the address */
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (mem->allocs[mid].address <= address)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo == 0)
        return NULL;
    SimAlloc *a = &mem->allocs[lo - 1];
    uint64_t offset = address - a->address;
    return size_bytes <= a->size_bytes && offset <= a->size_bytes - size_bytes ? a : NULL;
}

SimAlloc *simmem_find_name(const SimMemory *mem, const char *name) {
    for (uint32_t i = 0; i < mem->nallocs; i++)
        if (strcmp(mem->allocs[i].name, name) == 0)
            return &mem->allocs[i];
    return NULL;
}

void simmem_mark_written(SimAlloc *a, uint64_t offset_bytes, uint64_t size_bytes) {
    for (uint64_t i = offset_bytes, end = offset_bytes + size_bytes; i < end;) {
        if ((i & 7) == 0 && end - i >= 8) {
            size_t n = (size_t)((end - i) / 8);
            memset(a->written + i / 8, 0xff, n);
            i += (uint64_t)n * 8;
        } else {
            a->written[i / 8] = (uint8_t)(a->written[i / 8] | 1u << (i & 7));
            i++;
        }
    }
}

bool simmem_is_written(const SimAlloc *a, uint64_t offset_bytes, uint64_t size_bytes) {
    for (uint64_t i = offset_bytes; i < offset_bytes + size_bytes; i++)
        if (!(a->written[i / 8] >> (i & 7) & 1))
            return false;
    return true;
}

bool simmem_write(SimMemory *mem, uint64_t address, const void *bytes, uint64_t size_bytes) {
    SimAlloc *a = simmem_find(mem, address, size_bytes);
    if (!a)
        return false;
    if (size_bytes)
        memcpy(a->data + (address - a->address), bytes, (size_t)size_bytes);
    simmem_mark_written(a, address - a->address, size_bytes);
    return true;
}

bool simmem_read(const SimMemory *mem, uint64_t address, void *bytes, uint64_t size_bytes) {
    const SimAlloc *a = simmem_find(mem, address, size_bytes);
    if (!a)
        return false;
    if (size_bytes)
        memcpy(bytes, a->data + (address - a->address), (size_t)size_bytes);
    return true;
}

const char *launch_error(const Launch *l) {
    uint64_t threads = 1;
    for (int i = 0; i < 3; i++) {
        if (l->grid[i] == 0 || l->block[i] == 0)
            return "a grid or block dimension is 0";
        if (l->grid[i] > (i == 0 ? 0x7fffffffu : 65535u))
            return "a grid dimension is too large";
        if (l->block[i] > (i == 2 ? 64u : 1024u))
            return "a block dimension is too large";
        threads *= l->block[i];
    }
    if (threads > SIM_MAX_BLOCK_THREADS)
        return "more than 1024 threads in a block";
    if (l->dynamic_shared_bytes > SIM_MAX_SHARED_BYTES)
        return "more dynamic shared memory than a block can have";
    if (l->param_bytes && !l->params)
        return "the parameter block is missing";
    return NULL;
}

const char *sim_trap_name(SimTrapKind k) {
    static const char *const names[TRAP_COUNT] = {
        [TRAP_NONE] = "no trap",
        [TRAP_OUT_OF_RANGE] = "access out of range",
        [TRAP_MISALIGNED] = "misaligned address",
        [TRAP_READ_ONLY] = "write to read-only memory",
        [TRAP_PC] = "program counter outside the code",
        [TRAP_ILLEGAL] = "illegal instruction",
        [TRAP_DEADLOCK] = "deadlock: no thread can run",
        [TRAP_LIVELOCK] = "livelock",
        [TRAP_BUDGET] = "instruction budget exceeded",
        [TRAP_BARRIER] = "barrier misuse",
        [TRAP_DIVERGENT_BARRIER] = "aligned barrier in divergent code",
        [TRAP_COLLECTIVE] = "warp collective misuse",
        [TRAP_INSTRUCTION] = "trap instruction",
        [TRAP_BREAKPOINT] = "breakpoint",
        [TRAP_BRANCH_INDEX] = "brx.idx index out of range",
        [TRAP_CALL_TARGET] = "indirect call target is no function",
        [TRAP_STACK] = "stack exhausted",
        [TRAP_UNINITIALISED] = "uninitialised value used",
        [TRAP_NOT_UNIFORM] = ".uni instruction is not uniform",
        [TRAP_HAZARD] = "operand read before it was ready",
        [TRAP_UNSUPPORTED] = "not simulated",
    };
    return (unsigned)k < TRAP_COUNT ? names[k] : "unknown trap";
}

int sim_trap_print(const SimTrap *t, char *out, size_t out_bytes) {
    char address[32] = "";
    if (t->has_address)
        snprintf(address, sizeof address, " at 0x%" PRIx64, t->address);
    return snprintf(out, out_bytes,
                    "%s: line %" PRIu32 ", pc 0x%" PRIx64 ", block (%u,%u,%u), thread (%u,%u,%u): %s%s%s%s",
                    t->kernel, t->ptx_line, t->pc, t->block[0], t->block[1], t->block[2], t->thread[0],
                    t->thread[1], t->thread[2], sim_trap_name(t->kind), address, t->text[0] ? ": " : "",
                    t->text);
}

uint64_t sim_func_address(const char *name) {
    uint64_t h = 0xcbf29ce484222325u; /* FNV-1a, folded */
    for (; *name; name++)
        h = (h ^ (uint8_t)*name) * 0x100000001b3u;
    return SIM_FUNC_BASE + 16 * ((h ^ h >> 32) & UINT32_MAX);
}
