/* A launch on a real card: the bytes of a binary (or PTX text, which the driver compiles) are given to
 * libcuda, guest memory is copied in, the kernel runs, memory is copied out.
 *
 * Launches run in a process beside this one (card.h): what the driver does to it (a sticky error, an endless
 * kernel, a crash) ends there, and the time limit ends the process and with it the kernel. The next launch
 * has a new one. A launch that ends well leaves the process to the next, without module and memory.
 *
 * Addresses. The card's are not the guest's. All buffers of guest memory lie in one block on the card, in
 * their order and one closely behind the other; variables lie where the driver puts them. What the guest
 * marks as an address (parameters, Launch.address_at; memory, simmem_write_address) is translated on the way
 * in. On the way out every aligned 8-byte word that the launch changed and that now is a card address of
 * guest memory becomes the guest's, and is marked. Addresses in other shapes (halves, hashes, shared and
 * local windows, functions) stay the card's.
 *
 * What lies between the buffers is filled before and looked at afterwards: a store there is a trap although
 * the card, whose pages are large, lets it pass.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_SIM_GPU_GPU_H
#define HEDDLE_SIM_GPU_GPU_H
#include "base/diag.h"
#include "isa/isa.h"
#include "sim/launch.h"

typedef struct {
    char name[96];
    unsigned major, minor; /* compute capability */
    unsigned version;      /* of the driver: 1000 * major + 10 * minor */
    const Target *target;  /* whose code it runs best, NULL: none of ours */
} GpuDevice;
/* The first card. False: there is none, reported as E0560. */
bool gpu_device(GpuDevice *out, Diags *diags);

typedef struct {
    const char *name;  /* of the file, for messages */
    const void *image; /* ELF, or PTX text; there is a NUL behind it */
    size_t image_bytes;
    const Target *target;        /* of the ELF; NULL: PTX text */
    const char *const *textures; /* variables that are textures or surfaces and that the kernel reads */
    uint32_t ntextures;
    unsigned time_limit_seconds; /* for the launch and all around it, 0: 20 */
} GpuModule;

typedef struct {
    SimTrap trap;
    double seconds;      /* of the kernel, from launch to end */
    uint64_t naddresses; /* words of memory that the launch wrote and that were translated */
} GpuResult;

/* Run one launch of `kernel`; variables of the module are those allocations of `mem` whose names it has, and
 * must have been placed there. Traps have a kind and the driver's words, but no place. True if the launch
 * finished; a trap is in res->trap and reported as E0551, all else as E0560 (no card), E0561 (code for
 * another one), E0562 (the driver refuses) or E0513, and leaves trap.kind TRAP_NONE. */
bool gpu_run(const GpuModule *module, const char *kernel, const Launch *launch, SimMemory *mem,
             GpuResult *res, Diags *diags);
#endif
