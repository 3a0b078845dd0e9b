/* Loads and stores as stencils and LLVM's code, and interpreted: of a byte to four words, addresses of each
 * half of a warp in step or equal, overlapping, misaligned, at the ends of an allocation and outside, in
 * memory that may not be written, also of what has just been loaded, for all lanes and some, at every host
 * level that has compiled code. Memory, what counts as written, traps and statistics are compared. Exit
 * status 77 where there is no compiled code. SPDX-License-Identifier: MIT */
#include "emit/elf/binary.h"
#include "sim/machine/machine.h"
#include "tools/jobs/driver.h"
#include <stdio.h>
#include <string.h>

enum { LANES = 32, ROOM = 160, SKIPPED = 77 }; /* ROOM: what an allocation has room for */
/* room: bytes of shared memory; move: from where one turn stores to where the next one does; load, store: the
 * instruction up to the address, values and all. */
#define KERNEL(guard, far, near, room, move, load, loaded, store, stored, kept)                              \
    ".version 7.0\n.target sm_75\n.address_size 64\n"                                                        \
    ".visible .entry k(.param .u64 in, .param .u64 out, .param .u32 step, .param .u32 half, .param .u32 "    \
    "base, .param .u32 lanes) {\n"                                                                           \
    ".reg .pred %p, %q; .reg .b32 %i, %x, %t, %l, %h, %o, %s, %v, %v1, %v2, %v3, %x1, %x2, %x3;\n"           \
    ".reg .b64 %a, %b, %c;\n"                                                                                \
    "." near " .align 16 .b8 sh[" room "];\n"                                                                \
    "mov.u32 %t, %tid.x; and.b32 %l, %t, 15; shr.u32 %h, %t, 4; ld.param.u32 %x, [step];\n"                  \
    "ld.param.u32 %o, [base]; mad.lo.u32 %o, %l, %x, %o; ld.param.u32 %x, [half];\n"                         \
    "mad.lo.u32 %o, %h, %x, %o; cvt.s64.s32 %c, %o; ld.param.u64 %a, [in]; ld.param.u64 %b, [out];\n"        \
    "add.u64 %a, %a, %c; add.u64 %b, %b, %c; mov.u32 %s, sh; add.u32 %s, %s, %o;\n"                          \
    "ld.param.u32 %x, [lanes]; shr.u32 %x, %x, %t; and.b32 %x, %x, 1; setp.ne.u32 %p, %x, 0;\n"              \
    "mov.u32 %i, 0; mov.u32 %v, 1; mov.u32 %v1, 2; mov.u32 %v2, 3; mov.u32 %v3, 4; mov.u32 %x, %t;\n"        \
    "add.u32 %x1, %t, 7; add.u32 %x2, %t, 8; add.u32 %x3, %t, 9;\n"                                          \
    "L: " guard "ld" far load loaded ", [%a]; mad.lo.u32 %x, %x, 5, %v;\n"                                   \
    "mad.lo.u32 %x1, %x1, 3, %v1; mad.lo.u32 %x2, %x2, 7, %v2; mad.lo.u32 %x3, %x3, 9, %v3;\n"               \
    "shr.u32 %v, %x, 8; xor.b32 %x, %x, %v;\n" guard "ld" far load loaded ", [%b];\n"                        \
    "add.u32 %x, %x, %v; add.u32 %x1, %x1, %v1;\n" guard "st" far store "[%b], " stored ";\n"                \
    "and.b32 %v, %x, 3; and.b32 %v1, %x, 5; and.b32 %v2, %x, 9; and.b32 %v3, %x, 17;\n" guard                \
    "st." near store "[%s], " kept ";\n" guard "ld." near load loaded ", [%s];\n"                            \
    "xor.b32 %x, %x, %v; xor.b32 %x1, %x1, %v1; xor.b32 %x2, %x2, %v2; xor.b32 %x3, %x3, %v3;\n"             \
    "add.u64 %b, %b, " move "; add.u32 %i, %i, 1; setp.lt.u32 %q, %i, 3; @%q bra L; ret; }\n"
#define ONE(guard, far, near, bytes, room, move, type, as)                                                   \
    { bytes, KERNEL(guard, far, near, room, move, "." type " ", "%v", "." as " ", "%x", "%v") }
#define PAIR(guard, far, near)                                                                               \
    {                                                                                                        \
        8, KERNEL(guard, far, near, "1280", "256", ".v2.u32 ", "{%v, %v1}", ".v2.u32 ", "{%x, %x1}",         \
                  "{%v, %v1}")                                                                               \
    }
#define QUAD(guard, far, near)                                                                               \
    {                                                                                                        \
        16, KERNEL(guard, far, near, "2560", "512", ".v4.u32 ", "{%v, %v1, %v2, %v3}", ".v4.u32 ",           \
                   "{%x, %x1, %x2, %x3}", "{%v, %v1, %v2, %v3}")                                             \
    }
#define KERNELS(guard)                                                                                       \
    ONE(guard, ".global", "shared", 4, "640", "128", "u32", "u32"),                                          \
        ONE(guard, ".global", "shared", 1, "160", "32", "s8", "u8"),                                         \
        ONE(guard, ".global", "shared", 2, "320", "64", "u16", "u16"), PAIR(guard, ".global", "shared"),     \
        QUAD(guard, ".global", "shared")
typedef struct {
    uint32_t bytes; /* of a lane's access */
    const char *text;
} Kernel;
static const Kernel kernels[] = {KERNELS(""), KERNELS("@%p "),
                                 ONE("@%p ", "", "local", 4, "640", "128", "u32", "u32"),
                                 QUAD("", "", "local")};

typedef struct {
    uint64_t in, out;
    uint32_t step, half, base, lanes;
} Params;
typedef struct {
    SimMemory *memory;
    MachineResult result;
} Outcome;

static void hush(void *user, Severity severity, const char *line) { (void)user, (void)severity, (void)line; }

static Outcome launch(const Binary *binary, const SimMemory *memory, const Params *params, const char *level,
                      MachineJit *jit) {
    Diags d = {.sink = hush};
    Outcome outcome = {.memory = simmem_clone(memory)};
    Launch shape = {.grid = {1, 1, 1},
                    .block = {LANES, 1, 1},
                    .params = (const uint8_t *)params,
                    .param_bytes = sizeof *params};
    machine_run(binary, "k", &shape, outcome.memory, &(MachineOptions){.jit = jit, .host_level = level},
                &outcome.result, &d);
    return outcome;
}
static bool is_same(const Outcome *x, const Outcome *y) {
    bool same = x->result.trap.kind == y->result.trap.kind &&
                strcmp(x->result.trap.text, y->result.trap.text) == 0 &&
                memcmp(x->result.trap.thread, y->result.trap.thread, sizeof x->result.trap.thread) == 0 &&
                x->result.trap.pc == y->result.trap.pc &&
                memcmp(&x->result.stats, &y->result.stats, sizeof x->result.stats) == 0 &&
                x->memory->nallocs == y->memory->nallocs;
    for (uint32_t i = 0; same && i < x->memory->nallocs; i++) {
        const SimAlloc *a = &x->memory->allocs[i], *b = &y->memory->allocs[i];
        same = memcmp(a->data, b->data, a->size_bytes) == 0 &&
               memcmp(a->written, b->written, (a->size_bytes + 7) / 8) == 0;
    }
    return same;
}

/* Launches that differ, of all shapes; *traps, *runs: how many end so and so. */
static unsigned compare_all(const Binary *binary, uint32_t size, const char *level, MachineJit *jit,
                            unsigned *traps, unsigned *runs) {
    /* half as many of the accesses' size */
    static const int steps[] = {2, 0, 4, 1}, halves[] = {32, 0, 16, 64, 2, 1},
                     bases[] = {0, 2, 4, 1, 2 * ROOM - 32, 2 * ROOM - 64, 2 * ROOM - 2, 2 * ROOM, -2, -32};
    static const uint32_t lanes[] = {~0u, 0xffff, 0x80000001, 0};
    unsigned wrong = 0, bytes = ROOM * size;
    for (unsigned read_only = 0; read_only < 2; read_only++) {
        SimMemory *memory = simmem_create();
        Params params = {.in = simmem_alloc(memory, "in", bytes), .out = simmem_alloc(memory, "out", bytes)};
        for (uint32_t i = 0; i < bytes; i += 4)
            simmem_write(memory, params.in + i, &(uint32_t){i * 0x9e3779b1}, 4);
        simmem_find_name(memory, "out")->read_only = read_only;
        enum { STEPS = 4, HALVES = 6, BASES = 10, MASKS = 4 };
        for (unsigned n = 0; n < STEPS * HALVES * BASES * MASKS; n++) {
            params.step = (uint32_t)(steps[n % STEPS] * (int)size / 2);
            params.half = (uint32_t)(halves[n / STEPS % HALVES] * (int)size / 2);
            params.base = (uint32_t)(bases[n / STEPS / HALVES % BASES] * (int)size / 2);
            params.lanes = lanes[n / STEPS / HALVES / BASES];
            Outcome one = launch(binary, memory, &params, level, NULL),
                    two = launch(binary, memory, &params, level, jit);
            *(one.result.trap.kind ? traps : runs) += 1;
            if (!is_same(&one, &two)) {
                printf("step %u half %u base %d lanes %08x: %s; compiled: %s\n", params.step, params.half,
                       (int)params.base, params.lanes, one.result.trap.text, two.result.trap.text);
                wrong++;
            }
            machine_result_free(&one.result);
            machine_result_free(&two.result);
            simmem_free(one.memory);
            simmem_free(two.memory);
        }
        simmem_free(memory);
    }
    return wrong;
}

static int test(const Kernel *kernel, const char *level, bool stencils) {
    Diags d = {.sink = hush};
    PtxModule *module = ptx_parse("accesses.ptx", kernel->text, strlen(kernel->text), &d);
    Compilation compilation = {0};
    DriverOptions options = {.opt_level = 3};
    bool compiled = module && driver_compile(&compilation, module, &options, &d);
    Binary *binary = compiled ? binary_read("kernel", compilation.image, compilation.image_bytes, &d) : NULL;
    MachineJit *jit = machine_jit_open(&(MachineJitOptions){
        .after = 1, .quick = true, .stencils = stencils ? MACHINE_STENCILS_ONLY : MACHINE_STENCILS_NEVER});
    unsigned traps = 0, runs = 0,
             wrong = binary ? compare_all(binary, kernel->bytes, level, jit, &traps, &runs) : 1;
    const MachineJitStats *stats = machine_jit_stats(jit);
    bool nowhere = !wrong && *stats->failed, none = !(stencils ? stats->copied : stats->regions);
    printf("%s, %u bytes, %s: %u launches trap, %u do not, %u regions, %u differ %s\n", level, kernel->bytes,
           stencils ? "stencils" : "LLVM", traps, runs, stats->copied + stats->regions, wrong, stats->failed);
    machine_jit_close(jit);
    binary_free(binary);
    driver_free(&compilation);
    ptx_free(module);
    return nowhere ? SKIPPED : wrong || none || traps < 50 || runs < 50;
}

int main(void) {
    static const char *levels[] = {"v4", "v3"};
    bool best = false; /* the host's, and what is below it */
    unsigned tested = 0;
    for (unsigned i = 0; i < sizeof levels / sizeof *levels; i++) {
        best |= strcmp(machine_best_level(), levels[i]) == 0;
        for (unsigned k = 0; best && k < 2 * sizeof kernels / sizeof *kernels; k++) {
            int status = test(&kernels[k / 2], levels[i], k % 2);
            if (status && status != SKIPPED)
                return status;
            tested += !status;
        }
    }
    return tested ? 0 : SKIPPED;
}
