/* What the PTX interpreter and the SIMT machine have in common: the description of a launch, guest memory,
 * traps. Address windows: isa/machine/windows.h. No instruction semantics here.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_SIM_LAUNCH_H
#define HEDDLE_SIM_LAUNCH_H
#include "base/str.h"
#include "isa/machine/windows.h"
#include "sim/texture.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SIM_ALLOC_ALIGN 256u  /* every allocation's address */
#define SIM_GUARD_BYTES 4096u /* at least this much unmapped between allocations */
#define SIM_BORDER_BYTES                                                                                     \
    ((uint64_t)1 << 32) /* a multiple of it is where the high word of addresses changes */
#define SIM_WARP_LANES 32u
#define SIM_MAX_BLOCK_THREADS 1024u
#define SIM_MAX_SHARED_BYTES                                                                                 \
    (228u * 1024u) /* of one block, whatever the target: its own limit may be lower */

/* Special registers that no launch describes, equal in both engines. */
enum { SIM_SREG_SMID = 0, SIM_SREG_NSMID = 1, SIM_SREG_GRIDID = 1, SIM_SREG_ENVREGS = 32 };

/* What registers and memory hold that nobody has written, where it is not to be zero: as a number of any
 * kind, and as a predicate, none that a program begins with. */
#define SIM_UNWRITTEN_WORD 0x7fffbad1u

/* The system has shared memory of its own, 1024 bytes from sm_80 on, and lends kernels some of it
 * (cooperative groups keep barriers of several warps there, %reserved_smem_offset_1): zeros when a block
 * begins. What lies around it stays out of range, so that a kernel that runs over its own memory is noticed.
 */
#define LENT_SHARED_BYTES 0x120u
#define SYSTEM_SHARED_BYTES 0x400u
static inline uint32_t sim_lent_shared(uint32_t base_bytes, uint32_t end_bytes) {
    return (base_bytes ? 0 : (end_bytes + 127) & ~127u) + 0x100;
}
static inline bool sim_is_lent_shared(uint32_t lent, uint64_t offset, uint32_t size_bytes) {
    return size_bytes <= LENT_SHARED_BYTES && offset >= lent &&
           offset - lent <= LENT_SHARED_BYTES - size_bytes;
}

/* Guest global memory: named allocations, each with a shadow bit for every byte that was written. */
typedef struct {
    uint64_t address;    /* guest address of the first byte */
    uint64_t size_bytes; /* as asked for; reads and writes beyond it are out of range */
    uint8_t *data;       /* host bytes, 64-byte aligned, 64 bytes of slack behind the end */
    uint8_t *written;    /* bit i & 7 of written[i >> 3]: byte i holds a defined value */
    uint8_t *addresses;  /* NULL, or bit i & 7 of addresses[i >> 3]: the host wrote an address to the aligned
                            8-byte word i (what guest code does to it since is not followed) */
    const char *name;    /* never NULL; "" if anonymous; the memory's */
    bool read_only;      /* .const variables */
    bool borrowed;       /* data is the host's, at its own address: not released, and one for all clones */
    void *block;         /* what holds data, NULL if borrowed */
} SimAlloc;

/* A multicast object: memory at addresses of its own that is several others at once, its replicas, each an
 * allocation or a part of one. What is stored there is stored in all of them; a reduction of what they hold
 * is all that can be loaded. Nothing else finds an allocation at its addresses. */
typedef struct {
    uint64_t address, size_bytes;
    const char *name;   /* the memory's */
    uint64_t *replicas; /* [nreplicas], their addresses */
    uint32_t nreplicas;
} SimMulticast;

typedef struct {
    SimAlloc *allocs; /* ascending addresses */
    uint32_t nallocs, cap;
    uint64_t next_address;
    StrTab names;
    uint64_t *named; /* [StrId]: address of the first allocation of the name, 0: none has it (any more) */
    uint32_t named_cap;
    bool borders; /* an allocation of more than SIM_ALLOC_ALIGN bytes begins that many before a border, so
                     that code which loses a carry into the high word of an address misses it */
    struct SimHeapPiece { /* of the heap of device code, in use; ascending */
        uint64_t address, size_bytes;
    } * pieces;
    uint32_t npieces, pieces_cap;
    SimTexture *textures; /* [0] is number 1 */
    uint32_t ntextures;
    SimMulticast *multicasts;
    uint32_t nmulticasts;
    const struct SimNumber { /* what the code that ran stores for the address of a function; another's */
        uint64_t number, address;
        uint64_t place; /* only there, 0: anywhere */
    } * numbers;
    uint32_t nnumbers;
} SimMemory;

SimMemory *simmem_create(void); /* NULL if the host has no memory */
void simmem_free(SimMemory *mem);
SimMemory *simmem_clone(const SimMemory *mem); /* same addresses, own bytes; NULL if the host has no memory */
/* A new zeroed, unwritten allocation; its guest address, or 0 if size_bytes is 0 or beyond 64 GiB or the host
 * has no memory. Addresses depend only on mem->borders and the sequence of sizes. */
uint64_t simmem_alloc(SimMemory *mem, const char *name, uint64_t size_bytes);
/* Memory of the host is guest memory at the same address, all of it written; without slack behind its end.
 * False: another allocation, or a window of generic addresses, lies there. Later allocations lie above. */
bool simmem_map(SimMemory *mem, void *host, uint64_t size_bytes);
/* Ends the allocation that begins there; false: none does. */
bool simmem_remove(SimMemory *mem, uint64_t address);
/* The allocation that holds all of [address, address + size_bytes), or NULL. */
SimAlloc *simmem_find(const SimMemory *mem, uint64_t address, uint64_t size_bytes);
SimAlloc *simmem_find_name(const SimMemory *mem, const char *name); /* NULL if there is none */
/* Copy in (marks the bytes written) and out, from the host; false if out of range. */
bool simmem_write(SimMemory *mem, uint64_t address, const void *bytes, uint64_t size_bytes);
/* The same for 8 bytes that are an address of guest memory or of a function. An engine whose addresses are
 * not the guest's translates them; where they are not aligned they are bytes like others. */
bool simmem_write_address(SimMemory *mem, uint64_t address, uint64_t value);
/* ... to a place that the caller knows is there, and marks as written. */
void simmem_put_address(SimAlloc *alloc, uint64_t offset_bytes, uint64_t value);
bool simmem_is_address(const SimAlloc *alloc, uint64_t offset_bytes); /* of an aligned word */
bool simmem_read(const SimMemory *mem, uint64_t address, void *bytes, uint64_t size_bytes);
void simmem_mark_written(SimAlloc *alloc, uint64_t offset_bytes, uint64_t size_bytes);
/* Bits of one byte of SimAlloc.written: other threads may set others of them. */
static inline void simmem_mark_bits(uint8_t *at, uint8_t bits) {
    if (bits & ~__atomic_load_n(at, __ATOMIC_RELAXED))
        __atomic_fetch_or(at, bits, __ATOMIC_RELAXED);
}
bool simmem_is_written(const SimAlloc *alloc, uint64_t offset_bytes, uint64_t size_bytes);

/* One more texture, whose texels are in an allocation of the memory; its handle, 0 if there are too many. */
uint64_t simmem_add_texture(SimMemory *mem, const SimTexture *texture);
uint64_t simmem_texture_handle(const SimMemory *mem, const char *name); /* 0 if there is none */
/* What the number in the low bits of a handle stands for, or the number of a sampler; NULL if nothing. */
const SimTexture *simmem_texture(const SimMemory *mem, uint32_t number);

/* One more multicast object of replicas that are that large; its address, 0: a replica is no allocation. */
uint64_t simmem_add_multicast(SimMemory *mem, const char *name, const uint64_t *replicas, uint32_t nreplicas,
                              uint64_t size_bytes);
/* The multicast object that has all of [address, address + size_bytes), or NULL. */
const SimMulticast *simmem_multicast(const SimMemory *mem, uint64_t address, uint64_t size_bytes);
/* Where replica k has what is meant by an address of the object. */
static inline uint64_t simmem_replica(const SimMulticast *object, uint32_t k, uint64_t address) {
    return object->replicas[k] + (address - object->address);
}

/* The heap of device code: malloc and free of a thread. It is an allocation of its own that simmem_make_heap
 * makes unless it is there (false: the host has no memory), and lives as long as the memory, over launches.
 */
#define SIM_HEAP_NAME "device heap"
#define SIM_HEAP_ALIGN 64u        /* of a piece: 16 at least */
#define SIM_HEAP_BYTES (8u << 20) /* cudaLimitMallocHeapSize, unless a program sets it */
bool simmem_make_heap(SimMemory *mem);
uint64_t simmem_malloc(SimMemory *mem, uint64_t size_bytes); /* 0: no room, or 0 bytes */
bool simmem_heap_free(SimMemory *mem, uint64_t address); /* false: malloc did not give it, or it was freed */

/* The workspace of cooperative launches, in which the blocks of a grid meet: 8 zeroed bytes, a size that
 * nobody reads and the barrier's word. One for all launches on the memory, an allocation as other ones:
 * simmem_make_workspace makes it unless it is there, 0: the host has no memory. A finished barrier leaves a
 * word that the next one begins with. */
#define SIM_WORKSPACE_NAME "grid workspace"
#define SIM_WORKSPACE_BYTES 8u
#define SIM_COOPERATIVE_BLOCKS 1024u         /* all of them are resident at once: */
#define SIM_COOPERATIVE_THREADS (256u << 10) /* about what an H100 holds */
uint64_t simmem_make_workspace(SimMemory *mem);

/* What a driver says of textures, for machines whose code reads it: `each_bytes` of a texture, by its number.
 * 12, 16 and 20 bytes in are the address modes, at 24 the filter, at 28 whether coordinates are normalized
 * (numbers: docs/numerics.md 11); the rest is unwritten. The address, 0: the host has no memory. */
#define SIM_TEXTURE_TABLE_NAME "table of textures"
uint64_t simmem_make_texture_table(SimMemory *mem, uint32_t each_bytes);

/* What `mov.u64 %rd, f` gives. It depends on the name only, so that both engines, and modules linked in any
 * order, store equal bytes. Two names may collide: whoever calls through addresses checks that (a 1 in 2^32
 * chance for each pair). */
uint64_t sim_func_address(const char *name);

/* A parameter that is the handle of a texture or surface. An engine whose handles are not
 * simmem_add_texture's must know what the kernel does with it. */
enum { SIM_USE_FETCH = 1, SIM_USE_SURFACE = 2 };
typedef struct {
    uint32_t offset_bytes; /* in the block, of 8 bytes */
    uint32_t uses;         /* SIM_USE_*; 0: not known */
} LaunchHandle;

typedef struct {
    uint32_t grid[3], block[3];
    uint32_t cluster[3]; /* blocks of a cluster; 0: as the kernel requires, else there are none */
    bool cooperative;    /* all blocks are resident at once, and have a workspace to meet in */
    uint32_t dynamic_shared_bytes;
    const uint8_t *params; /* parameter block, laid out by the PTX alignment rules; not owned */
    uint32_t param_bytes;
    const uint32_t *address_at; /* offsets in the block of addresses of guest memory, 8 bytes each */
    uint32_t naddresses;
    const LaunchHandle *handles;
    uint32_t nhandles;
} Launch;

/* The clusters of a launch of a kernel that requires `required` (0: nothing): blocks of one in each
 * dimension, 1 without clusters. NULL, or what is wrong (static text). */
const char *sim_launch_clusters(const Launch *launch, const uint32_t required[3], uint32_t cluster[3]);
/* Block `number` of the launch, counted cluster by cluster, and its rank in its cluster. */
uint32_t sim_block_of(const Launch *launch, const uint32_t cluster[3], uint64_t number, uint32_t block[3]);
/* %envreg`number`: 1 and 2 are the upper and the lower half of the workspace's address (0: the launch is not
 * cooperative), as the code of cooperative groups reads them; the others are 0. */
static inline bool sim_is_workspace_half(unsigned number) { return number == 1 || number == 2; }
static inline uint32_t sim_envreg(uint64_t workspace, unsigned number) {
    return sim_is_workspace_half(number) ? (uint32_t)(number == 1 ? workspace >> 32 : workspace) : 0;
}
/* NULL if the launch is possible, else what is wrong with it (static text). */
const char *sim_launch_error(const Launch *launch);

typedef enum {
    TRAP_NONE,
    TRAP_OUT_OF_RANGE,      /* address in no allocation or window */
    TRAP_PARAM_RANGE,       /* PTX: address outside of the kernel's parameters */
    TRAP_MISALIGNED,        /* data address */
    TRAP_READ_ONLY,         /* write to constant memory or a parameter */
    TRAP_PC,                /* misaligned, or outside the code */
    TRAP_ILLEGAL,           /* illegal instruction or operand */
    TRAP_DEADLOCK,          /* no thread of the block can run */
    TRAP_LIVELOCK,          /* threads run, but the state repeats */
    TRAP_BUDGET,            /* instruction budget exceeded */
    TRAP_BARRIER,           /* barrier misuse: number, count, mixed kinds */
    TRAP_DIVERGENT_BARRIER, /* aligned barrier not executed by all threads of the warp */
    TRAP_COLLECTIVE,        /* warp collective whose mask lacks the executing lane, or with exited lanes */
    TRAP_INSTRUCTION,       /* trap */
    TRAP_BREAKPOINT,        /* brkpt */
    TRAP_ASSERTION,         /* __assertfail */
    TRAP_BRANCH_INDEX,      /* brx.idx index outside its table */
    TRAP_CALL_TARGET,       /* indirect call of something that is no function */
    TRAP_STACK,             /* local memory or call depth exhausted */
    TRAP_UNINITIALISED,     /* warning: an undefined value was used */
    TRAP_NOT_UNIFORM,       /* warning: .uni violated */
    TRAP_HAZARD,            /* control-code mode: operand read too early */
    TRAP_UNDEFINED,         /* "behavior is undefined", of another kind; the text says which */
    TRAP_UNSUPPORTED,       /* not simulated */
    TRAP_COUNT
} SimTrapKind;
const char *sim_trap_name(SimTrapKind k); /* "access out of range" */

/* In the PTX reference: the ISA's words for what the program does are "behavior is undefined", so a compiler
 * may make anything of it. Aligned barriers (9.7.13.1), member masks and .aligned collectives
 * (9.7.9, 9.7.13, 9.7.14), brx.idx (9.7.12.4), alignment (6.4.1.1). Of what lies around
 * the kernel's parameters nothing is said; a bank holds other things there. */
bool sim_trap_is_undefined(SimTrapKind k);
/* A warning of the PTX reference: lanes part where `.uni` or `.aligned` says that they do not. */
bool sim_trap_is_promise(SimTrapKind k);

typedef struct {
    SimTrapKind kind;
    char kernel[96];   /* name, cut if longer */
    uint64_t pc;       /* machine: byte offset in the function; PTX: instruction index */
    uint32_t ptx_line; /* 0 unknown */
    char source[64];   /* "k.cu:12", where a `.loc` of the PTX says so, else "" */
    uint32_t block[3], thread[3];
    uint64_t address; /* where has_address */
    bool has_address;
    char text[160]; /* details, a clause: "ld.global.f32 of 4 bytes" */
} SimTrap;

/* One line, with the places that are known: "k: line 12 (k.cu:5), pc 0x40, block (0,0,0), thread (5,0,0):
 * access out of range at 0x10: text". Returns the length that was needed, as snprintf. */
int sim_trap_print(const SimTrap *trap, char *out, size_t out_bytes);
#endif
