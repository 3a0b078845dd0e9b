/* Guest memory, launch checks and trap texts of sim/launch.h.
 * SPDX-License-Identifier: MIT */
#include "sim/launch.h"
#include "base/align.h"
#include "base/scope.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_ALLOC_BYTES ((uint64_t)1 << 36)
#define SLACK_BYTES 64u
#define DATA_ALIGN 64u
#define PAGE_BYTES 4096u

static size_t written_bytes(uint64_t size_bytes) { return (size_t)(size_bytes / 8 + 9); }
static size_t address_bytes(uint64_t size_bytes) { return (size_t)(size_bytes / 64 + 1); }
static size_t data_bytes(uint64_t size_bytes) {
    return (size_t)((size_bytes + SLACK_BYTES + DATA_ALIGN - 1) / DATA_ALIGN * DATA_ALIGN);
}

SimMemory *simmem_create(void) {
    SimMemory *mem = mem_zeroed(1, sizeof *mem);
    mem->next_address = SIM_GLOBAL_BASE;
    return mem;
}

static void alloc_release(SimAlloc *alloc) {
    mem_free(alloc->block);
    mem_free(alloc->written);
    mem_free(alloc->addresses);
}

void simmem_free(SimMemory *mem) {
    if (!mem)
        return;
    for (uint32_t i = 0; i < mem->nallocs; i++)
        alloc_release(&mem->allocs[i]);
    mem_free(mem->allocs);
    mem_free(mem->named);
    str_free(&mem->names);
    mem_free(mem->pieces);
    mem_free(mem->textures);
    for (uint32_t i = 0; i < mem->nmulticasts; i++)
        mem_free(mem->multicasts[i].replicas);
    mem_free(mem->multicasts);
    mem_free(mem);
}

uint64_t simmem_add_texture(SimMemory *mem, const SimTexture *texture) {
    if (mem->ntextures >= SIM_MAX_TEXTURES)
        return 0;
    mem->textures = mem_resize(mem->textures, (mem->ntextures + 1) * sizeof *mem->textures);
    mem->textures[mem->ntextures++] = *texture;
    return (uint64_t)mem->ntextures << SIM_SAMPLER_SHIFT | mem->ntextures;
}

uint64_t simmem_texture_handle(const SimMemory *mem, const char *name) {
    for (uint32_t i = 0; i < mem->ntextures; i++)
        if (strcmp(mem->textures[i].name, name) == 0)
            return (uint64_t)(i + 1) << SIM_SAMPLER_SHIFT | (i + 1);
    return 0;
}

const SimTexture *simmem_texture(const SimMemory *mem, uint32_t number) {
    return number >= 1 && number <= mem->ntextures ? &mem->textures[number - 1] : NULL;
}

/* The allocation (size and address set) has the name, is found by it unless an earlier one is, and gets host
 * storage that holds zeros: of calloc, which leaves untouched what the system gives as zeros, for most of a
 * heap is never used. */
static void alloc_begin(SimMemory *mem, SimAlloc *alloc, const char *name) {
    if (!alloc->borrowed) {
        alloc->block = mem_zeroed(1, data_bytes(alloc->size_bytes) + DATA_ALIGN - 1);
        alloc->data = (uint8_t *)align_up((uintptr_t)alloc->block, DATA_ALIGN);
    }
    alloc->written = mem_zeroed(1, written_bytes(alloc->size_bytes));
    StrId id = str_intern_z(&mem->names, name);
    alloc->name = str_text(&mem->names, id);
    if (id.i >= mem->named_cap) {
        uint32_t cap = id.i < 16 ? 32 : id.i * 2;
        mem->named = mem_resize(mem->named, cap * sizeof *mem->named);
        memset(mem->named + mem->named_cap, 0, (cap - mem->named_cap) * sizeof *mem->named);
        mem->named_cap = cap;
    }
    if (!mem->named[id.i] || alloc->address < mem->named[id.i])
        mem->named[id.i] = alloc->address;
}

static void grow_allocs(SimMemory *mem) {
    if (mem->nallocs < mem->cap)
        return;
    uint32_t cap = mem->cap ? mem->cap * 2 : 16;
    mem->allocs = mem_resize(mem->allocs, cap * sizeof *mem->allocs);
    mem->cap = cap;
}

static uint64_t next_address(const SimMemory *mem, uint64_t size_bytes) {
    if (!mem->borders || size_bytes <= SIM_ALLOC_ALIGN)
        return mem->next_address;
    uint64_t past = mem->next_address + SIM_ALLOC_ALIGN + SIM_BORDER_BYTES - 1;
    return past / SIM_BORDER_BYTES * SIM_BORDER_BYTES - SIM_ALLOC_ALIGN;
}

/* Where the next one may begin, behind what ends there. */
static uint64_t room_behind(uint64_t end) {
    return (end + SIM_GUARD_BYTES + SIM_ALLOC_ALIGN - 1) / SIM_ALLOC_ALIGN * SIM_ALLOC_ALIGN;
}

uint64_t simmem_alloc(SimMemory *mem, const char *name, uint64_t size_bytes) {
    if (size_bytes == 0 || size_bytes > MAX_ALLOC_BYTES)
        return 0;
    grow_allocs(mem);
    SimAlloc a = {.address = next_address(mem, size_bytes), .size_bytes = size_bytes};
    alloc_begin(mem, &a, name ? name : "");
    mem->allocs[mem->nallocs++] = a;
    mem->next_address = room_behind(a.address + size_bytes);
    return a.address;
}

static bool overlaps(uint64_t address, uint64_t size, uint64_t other, uint64_t other_size) {
    return address < other + other_size && other < address + size;
}

bool simmem_map(SimMemory *mem, void *host, uint64_t size) {
    SimAlloc a = {.address = (uint64_t)(uintptr_t)host, .size_bytes = size, .borrowed = true, .data = host};
    uint64_t windows_end = SIM_CONST_WINDOW + SIM_WINDOW_BYTES;
    uint32_t at = 0;
    if (size == 0 || size > MAX_ALLOC_BYTES || a.address + size < a.address ||
        overlaps(a.address, size, SIM_FUNC_BASE, windows_end - SIM_FUNC_BASE))
        return false;
    for (uint32_t i = 0; i < mem->nallocs; i++) {
        if (overlaps(a.address, size, mem->allocs[i].address, mem->allocs[i].size_bytes))
            return false;
        at += mem->allocs[i].address < a.address;
    }
    grow_allocs(mem);
    alloc_begin(mem, &a, "");
    memset(a.written, 0xff, written_bytes(size));
    memmove(mem->allocs + at + 1, mem->allocs + at, (mem->nallocs++ - at) * sizeof *mem->allocs);
    mem->allocs[at] = a;
    uint64_t end = room_behind(a.address + size);
    mem->next_address = end > mem->next_address ? end : mem->next_address;
    return true;
}

static void keep_multicast(SimMemory *mem, const SimMulticast *from) {
    mem->multicasts = mem_resize(mem->multicasts, (mem->nmulticasts + 1) * sizeof *mem->multicasts);
    SimMulticast *object = &mem->multicasts[mem->nmulticasts++];
    *object = *from;
    object->name = str_text(&mem->names, str_intern_z(&mem->names, from->name));
    object->replicas = mem_alloc(from->nreplicas * sizeof *from->replicas);
    memcpy(object->replicas, from->replicas, from->nreplicas * sizeof *from->replicas);
}

uint64_t simmem_add_multicast(SimMemory *mem, const char *name, const uint64_t *replicas, uint32_t nreplicas,
                              uint64_t size_bytes) {
    for (uint32_t k = 0; k < nreplicas; k++)
        if (!simmem_find(mem, replicas[k], size_bytes))
            return 0;
    SimMulticast object = {next_address(mem, size_bytes), size_bytes, name, (uint64_t *)(uintptr_t)replicas,
                           nreplicas};
    keep_multicast(mem, &object);
    mem->next_address = room_behind(object.address + size_bytes);
    return object.address;
}

const SimMulticast *simmem_multicast(const SimMemory *mem, uint64_t address, uint64_t size_bytes) {
    for (uint32_t i = 0; i < mem->nmulticasts; i++) {
        const SimMulticast *object = &mem->multicasts[i];
        if (size_bytes <= object->size_bytes && address - object->address <= object->size_bytes - size_bytes)
            return object;
    }
    return NULL;
}

bool simmem_remove(SimMemory *mem, uint64_t address) {
    SimAlloc *alloc = simmem_find(mem, address, 0);
    if (!alloc || alloc->address != address)
        return false;
    uint32_t at = (uint32_t)(alloc - mem->allocs);
    const char *name = alloc->name; /* one text for all that have it */
    uint64_t *first = &mem->named[str_find(&mem->names, name, strlen(name)).i];
    alloc_release(alloc);
    memmove(alloc, alloc + 1, (--mem->nallocs - at) * sizeof *alloc);
    if (*first == address) {
        while (at < mem->nallocs && mem->allocs[at].name != name)
            at++;
        *first = at < mem->nallocs ? mem->allocs[at].address : 0;
    }
    return true;
}

/* memcpy to a block of zeros that does not touch those of its pages that stay so. */
static void copy_sparse(uint8_t *to, const uint8_t *from, size_t bytes) {
    for (size_t at = 0, n; at < bytes; at += n) {
        n = bytes - at < PAGE_BYTES ? bytes - at : PAGE_BYTES;
        if (from[at] || memcmp(from + at, from + at + 1, n - 1) != 0)
            memcpy(to + at, from + at, n);
    }
}

SimMemory *simmem_clone(const SimMemory *mem) {
    SimMemory *memory = simmem_create();
    for (uint32_t i = 0; i < mem->nallocs; i++) {
        const SimAlloc *from = &mem->allocs[i];
        SimAlloc a = {.address = from->address,
                      .size_bytes = from->size_bytes,
                      .read_only = from->read_only,
                      .borrowed = from->borrowed,
                      .data = from->data};
        grow_allocs(memory);
        alloc_begin(memory, &a, from->name);
        if (!a.borrowed)
            copy_sparse(a.data, from->data, data_bytes(a.size_bytes));
        copy_sparse(a.written, from->written, written_bytes(a.size_bytes));
        if (from->addresses) {
            a.addresses = mem_alloc(address_bytes(a.size_bytes));
            memcpy(a.addresses, from->addresses, address_bytes(a.size_bytes));
        }
        memory->allocs[memory->nallocs++] = a;
    }
    memory->next_address = mem->next_address;
    memory->borders = mem->borders;
    memory->numbers = mem->numbers;
    memory->nnumbers = mem->nnumbers;
    for (uint32_t i = 0; i < mem->ntextures; i++)
        simmem_add_texture(memory, &mem->textures[i]);
    for (uint32_t i = 0; i < mem->nmulticasts; i++)
        keep_multicast(memory, &mem->multicasts[i]);
    if (mem->npieces) {
        memory->pieces = mem_alloc(mem->npieces * sizeof *mem->pieces);
        memcpy(memory->pieces, mem->pieces, mem->npieces * sizeof *mem->pieces);
        memory->npieces = memory->pieces_cap = mem->npieces;
    }
    return memory;
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
    SimAlloc *alloc = &mem->allocs[lo - 1];
    uint64_t offset = address - alloc->address;
    return size_bytes <= alloc->size_bytes && offset <= alloc->size_bytes - size_bytes ? alloc : NULL;
}

SimAlloc *simmem_find_name(const SimMemory *mem, const char *name) {
    StrId id = str_find(&mem->names, name, strlen(name));
    bool known = (id.i || !*name) && id.i < mem->named_cap && mem->named[id.i];
    return known ? simmem_find(mem, mem->named[id.i], 0) : NULL;
}

/* ---- heap of device code ---- */

bool simmem_make_heap(SimMemory *mem) {
    return simmem_find_name(mem, SIM_HEAP_NAME) || simmem_alloc(mem, SIM_HEAP_NAME, SIM_HEAP_BYTES) != 0;
}

uint64_t simmem_make_workspace(SimMemory *mem) {
    static const uint8_t zeros[SIM_WORKSPACE_BYTES];
    const SimAlloc *alloc = simmem_find_name(mem, SIM_WORKSPACE_NAME);
    if (alloc)
        return alloc->address;
    uint64_t address = simmem_alloc(mem, SIM_WORKSPACE_NAME, sizeof zeros);
    return address && simmem_write(mem, address, zeros, sizeof zeros) ? address : 0;
}

uint64_t simmem_make_texture_table(SimMemory *mem, uint32_t each_bytes) {
    static const uint32_t modes[] = {
        [SIM_ADDRESS_WRAP] = 0, [SIM_ADDRESS_MIRROR] = 1, [SIM_ADDRESS_CLAMP] = 3, [SIM_ADDRESS_BORDER] = 4};
    uint64_t size = (uint64_t)(mem->ntextures + 1) * each_bytes;
    const SimAlloc *alloc = simmem_find_name(mem, SIM_TEXTURE_TABLE_NAME);
    if (alloc && alloc->size_bytes < size) { /* there are more textures than at the launch before */
        simmem_remove(mem, alloc->address);
        alloc = NULL;
    }
    uint64_t address = alloc ? alloc->address : simmem_alloc(mem, SIM_TEXTURE_TABLE_NAME, size);
    for (uint32_t i = 0; address && i < mem->ntextures; i++) {
        const SimTexture *texture = &mem->textures[i];
        const uint32_t words[] = {modes[texture->mode[0]], modes[texture->mode[1]], modes[texture->mode[2]],
                                  texture->linear, texture->normalized};
        simmem_write(mem, address + (uint64_t)(i + 1) * each_bytes + 12, words, sizeof words);
    }
    return address;
}

uint64_t simmem_malloc(SimMemory *mem, uint64_t size_bytes) {
    enum { ALIGN = SIM_HEAP_ALIGN };
    const SimAlloc *heap = simmem_find_name(mem, SIM_HEAP_NAME);
    if (!heap || size_bytes == 0 || size_bytes > heap->size_bytes)
        return 0;
    uint64_t size = (size_bytes + ALIGN - 1) / ALIGN * ALIGN;
    uint64_t at = (heap->address + ALIGN - 1) / ALIGN * ALIGN, end = heap->address + heap->size_bytes;
    uint32_t k = mem->npieces; /* behind the last piece, or in the first gap that is large enough */
    if (k && end - (mem->pieces[k - 1].address + mem->pieces[k - 1].size_bytes) < size)
        for (k = 0; k < mem->npieces && mem->pieces[k].address - at < size; k++)
            at = mem->pieces[k].address + mem->pieces[k].size_bytes;
    else if (k)
        at = mem->pieces[k - 1].address + mem->pieces[k - 1].size_bytes;
    if (at > end || end - at < size)
        return 0;
    if (mem->npieces == mem->pieces_cap) {
        mem->pieces_cap = mem->pieces_cap ? 2 * mem->pieces_cap : 64;
        mem->pieces = mem_resize(mem->pieces, mem->pieces_cap * sizeof *mem->pieces);
    }
    memmove(mem->pieces + k + 1, mem->pieces + k, (mem->npieces++ - k) * sizeof *mem->pieces);
    mem->pieces[k] = (struct SimHeapPiece){at, size};
    return at;
}

bool simmem_heap_free(SimMemory *mem, uint64_t address) {
    uint32_t lo = 0, hi = mem->npieces;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (mem->pieces[mid].address < address)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo == mem->npieces || mem->pieces[lo].address != address)
        return false;
    memmove(mem->pieces + lo, mem->pieces + lo + 1, (--mem->npieces - lo) * sizeof *mem->pieces);
    return true;
}

void simmem_mark_written(SimAlloc *alloc, uint64_t offset_bytes, uint64_t size_bytes) {
    for (uint64_t i = offset_bytes, end = offset_bytes + size_bytes; i < end;) {
        if ((i & 7) == 0 && end - i >= 8) {
            size_t n = (size_t)((end - i) / 8);
            memset(alloc->written + i / 8, 0xff, n);
            i += (uint64_t)n * 8;
        } else {
            simmem_mark_bits(&alloc->written[i / 8], (uint8_t)(1u << (i & 7)));
            i++;
        }
    }
}

bool simmem_is_written(const SimAlloc *alloc, uint64_t offset_bytes, uint64_t size_bytes) {
    for (uint64_t i = offset_bytes; i < offset_bytes + size_bytes; i++)
        if (!(alloc->written[i / 8] >> (i & 7) & 1))
            return false;
    return true;
}

bool simmem_write(SimMemory *mem, uint64_t address, const void *bytes, uint64_t size_bytes) {
    SimAlloc *alloc = simmem_find(mem, address, size_bytes);
    if (!alloc)
        return false;
    if (size_bytes)
        memcpy(alloc->data + (address - alloc->address), bytes, (size_t)size_bytes);
    simmem_mark_written(alloc, address - alloc->address, size_bytes);
    return true;
}

void simmem_put_address(SimAlloc *alloc, uint64_t offset_bytes, uint64_t value) {
    memcpy(alloc->data + offset_bytes, &value, sizeof value);
    if (offset_bytes % 8)
        return;
    if (!alloc->addresses)
        alloc->addresses = mem_zeroed(address_bytes(alloc->size_bytes), 1);
    uint64_t word = offset_bytes / 8;
    alloc->addresses[word / 8] = (uint8_t)(alloc->addresses[word / 8] | 1u << (word & 7));
}

bool simmem_write_address(SimMemory *mem, uint64_t address, uint64_t value) {
    SimAlloc *alloc = simmem_find(mem, address, sizeof value);
    if (!alloc)
        return false;
    simmem_mark_written(alloc, address - alloc->address, sizeof value);
    simmem_put_address(alloc, address - alloc->address, value);
    return true;
}

bool simmem_is_address(const SimAlloc *alloc, uint64_t offset_bytes) {
    uint64_t word = offset_bytes / 8;
    return alloc->addresses && alloc->addresses[word / 8] >> (word & 7) & 1;
}

bool simmem_read(const SimMemory *mem, uint64_t address, void *bytes, uint64_t size_bytes) {
    const SimAlloc *alloc = simmem_find(mem, address, size_bytes);
    if (!alloc)
        return false;
    if (size_bytes)
        memcpy(bytes, alloc->data + (address - alloc->address), (size_t)size_bytes);
    return true;
}

const char *sim_launch_clusters(const Launch *launch, const uint32_t required[3], uint32_t cluster[3]) {
    uint64_t blocks = 1;
    for (int i = 0; i < 3; i++) {
        if (required[0] && launch->cluster[0] && (required[i] ? required[i] : 1) != launch->cluster[i])
            return "the cluster differs from .reqnctapercluster";
        cluster[i] = required[0]          ? (required[i] ? required[i] : 1)
                     : launch->cluster[0] ? launch->cluster[i]
                                          : 1;
        if (cluster[i] == 0 || cluster[i] > SIM_CLUSTER_BLOCKS)
            return "a cluster dimension is 0 or too large";
        if (launch->grid[i] % cluster[i])
            return "the grid is not made of whole clusters";
        blocks *= cluster[i];
    }
    return blocks > SIM_CLUSTER_BLOCKS ? "a cluster has at most 16 blocks" : NULL;
}

/* A number's last digit, which it loses. Most bases are 1, most numbers have one digit, and divisions are
 * slow. */
static uint32_t last_digit(uint64_t *number, uint32_t base) {
    if (base == 1)
        return 0;
    uint64_t rest = *number < base ? 0 : *number / base;
    uint32_t digit = (uint32_t)(*number - rest * base);
    *number = rest;
    return digit;
}

uint32_t sim_block_of(const Launch *launch, const uint32_t cluster[3], uint64_t number, uint32_t block[3]) {
    uint32_t rank = last_digit(&number, cluster[0] * cluster[1] * cluster[2]);
    uint64_t within = rank;
    for (int i = 0; i < 3; i++) {
        uint32_t clusters = cluster[i] == 1 ? launch->grid[i] : launch->grid[i] / cluster[i];
        block[i] = last_digit(&number, clusters) * cluster[i];
        block[i] += last_digit(&within, cluster[i]);
    }
    return rank;
}

const char *sim_launch_error(const Launch *launch) {
    uint64_t threads = 1;
    for (int i = 0; i < 3; i++) {
        if (launch->grid[i] == 0 || launch->block[i] == 0)
            return "a grid or block dimension is 0";
        if (launch->grid[i] > (i == 0 ? 0x7fffffffu : 65535u))
            return "a grid dimension is too large";
        if (launch->block[i] > (i == 2 ? 64u : 1024u))
            return "a block dimension is too large";
        threads *= launch->block[i];
    }
    if (threads > SIM_MAX_BLOCK_THREADS)
        return "more than 1024 threads in a block";
    if (launch->dynamic_shared_bytes > SIM_MAX_SHARED_BYTES)
        return "more dynamic shared memory than a block can have";
    if (launch->param_bytes && !launch->params)
        return "the parameter block is missing";
    uint64_t blocks = (uint64_t)launch->grid[0] * launch->grid[1]; /* less than 2^47 */
    if (launch->cooperative &&
        (blocks > SIM_COOPERATIVE_BLOCKS || blocks * launch->grid[2] > SIM_COOPERATIVE_BLOCKS ||
         blocks * launch->grid[2] * threads > SIM_COOPERATIVE_THREADS))
        return "a cooperative launch of more than 1024 blocks or 262144 threads";
    return NULL;
}

const char *sim_trap_name(SimTrapKind k) {
    static const char *const names[TRAP_COUNT] = {
        [TRAP_NONE] = "no trap",
        [TRAP_OUT_OF_RANGE] = "access out of range",
        [TRAP_PARAM_RANGE] = "access outside of the parameters",
        [TRAP_MISALIGNED] = "misaligned address",
        [TRAP_READ_ONLY] = "write to read-only memory",
        [TRAP_PC] = "program counter outside the code",
        [TRAP_ILLEGAL] = "illegal instruction",
        [TRAP_DEADLOCK] = "deadlock: no thread can run",
        [TRAP_LIVELOCK] = "livelock",
        [TRAP_BUDGET] = "instruction budget exceeded",
        [TRAP_UNDEFINED] = "undefined behaviour",
        [TRAP_BARRIER] = "barrier misuse",
        [TRAP_DIVERGENT_BARRIER] = "aligned barrier in divergent code",
        [TRAP_COLLECTIVE] = "warp collective misuse",
        [TRAP_INSTRUCTION] = "trap instruction",
        [TRAP_BREAKPOINT] = "breakpoint",
        [TRAP_ASSERTION] = "assertion failed",
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

bool sim_trap_is_undefined(SimTrapKind k) {
    return k == TRAP_DIVERGENT_BARRIER || k == TRAP_COLLECTIVE || k == TRAP_BRANCH_INDEX ||
           k == TRAP_PARAM_RANGE || k == TRAP_MISALIGNED || k == TRAP_UNDEFINED;
}

bool sim_trap_is_promise(SimTrapKind k) { return k == TRAP_NOT_UNIFORM || k == TRAP_DIVERGENT_BARRIER; }

int sim_trap_print(const SimTrap *trap, char *out, size_t out_bytes) {
    char address[32] = "", line[32] = "", source[sizeof trap->source + 3] = "";
    if (trap->has_address)
        snprintf(address, sizeof address, " at 0x%" PRIx64, trap->address);
    if (trap->ptx_line)
        snprintf(line, sizeof line, "line %" PRIu32, trap->ptx_line);
    if (*trap->source)
        snprintf(source, sizeof source, *line ? " (%s)" : "%s", trap->source);
    return snprintf(out, out_bytes,
                    "%s: %s%s%spc 0x%" PRIx64 ", block (%u,%u,%u), thread (%u,%u,%u): %s%s%s%s", trap->kernel,
                    line, source, *line || *source ? ", " : "", trap->pc, trap->block[0], trap->block[1],
                    trap->block[2], trap->thread[0], trap->thread[1], trap->thread[2],
                    sim_trap_name(trap->kind), address, trap->text[0] ? ": " : "", trap->text);
}

uint64_t sim_func_address(const char *name) {
    uint64_t h = 0xcbf29ce484222325u; /* FNV-1a, folded */
    for (; *name; name++)
        h = (h ^ (uint8_t)*name) * 0x100000001b3u;
    return SIM_FUNC_BASE + 16 * ((h ^ h >> 32) & UINT32_MAX);
}
