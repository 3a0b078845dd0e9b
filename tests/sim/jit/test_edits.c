/* A binary keeps what was decoded of it. Each launch must run the words that are there then: edited ones, and
 * those that hold the address of a variable, which is another one in other memory; interpreted and compiled,
 * under any policy, in several threads at once. Expected values are the host's. And what costs as much as all
 * of the code is made once.
 * SPDX-License-Identifier: MIT */
#include "base/scope.h"
#include "emit/elf/binary.h"
#include "sim/machine/machine.h"
#include "tools/jobs/driver.h"
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { LANES = 32, TURNS = 50, FIRST = 0x1234567, THREADS = 4 };
static const char kernel[] =
    ".version 7.0\n.target sm_75\n.address_size 64\n.global .u32 g = 9;\n"
    ".visible .entry k(.param .u64 out, .param .u32 n) {\n"
    ".reg .pred %p; .reg .b32 %n, %i, %x, %t; .reg .b64 %b;\n"
    "ld.param.u64 %b, [out]; ld.param.u32 %n, [n];\n"
    "mov.u32 %x, %tid.x; mad.wide.u32 %b, %x, 4, %b; mov.u32 %i, 0;\n"
    "L: xor.b32 %x, %x, 0x1234567; ld.global.u32 %t, [g]; mad.lo.u32 %x, %x, 3, %t; add.u32 %i, %i, 1;\n"
    "setp.lt.u32 %p, %i, %n; @%p bra L;\n"
    "st.global.u32 [%b], %x; ret; }\n";

static void show(void *user, Severity severity, const char *line) {
    (void)user;
    if (severity == SEV_ERROR)
        fputs(line, stdout);
}

/* Before g there are `before` bytes of other memory. */
static bool launch(const Binary *binary, uint32_t before, uint32_t mask, const MachineOptions *options) {
    Diags d = {.sink = show};
    SimMemory *memory = simmem_create();
    struct {
        uint64_t out;
        uint32_t n;
    } params = {simmem_alloc(memory, "out", 4 * LANES), TURNS};
    uint32_t out[LANES], wrong = 0;
    if (before)
        simmem_alloc(memory, "before", before);
    Launch shape = {
        .grid = {1, 1, 1}, .block = {LANES, 1, 1}, .params = (const uint8_t *)&params, .param_bytes = 12};
    MachineResult result = {0};
    bool good = machine_run(binary, "k", &shape, memory, options, &result, &d) &&
                simmem_read(memory, params.out, out, sizeof out);
    for (uint32_t lane = 0; good && lane < LANES; lane++) {
        uint32_t x = lane;
        for (uint32_t i = 0; i < TURNS; i++)
            x = (x ^ mask) * 3 + 9;
        wrong += out[lane] != x;
    }
    machine_result_free(&result);
    simmem_free(memory);
    return good && !wrong;
}

/* The instruction that has the mask as a number; ncode if there is none. */
static uint32_t find_mask(const Binary *binary, MachInst *in, unsigned *slot) {
    char error[ISA_ERROR_BYTES];
    for (uint32_t i = 0; i < binary->ncode; i++)
        if (isa_decode(binary->target, binary->code[i], in, error))
            for (*slot = 0; *slot < in->nsrc; ++*slot)
                if (in->src[*slot].kind == OPK_IMM && in->src[*slot].value == FIRST)
                    return i;
    return binary->ncode;
}

static int edit_between(Binary *binary, MachineJit *jit) {
    static const uint32_t masks[] = {FIRST, 0x89abcdef, FIRST, 5, 5, 0xfedc, FIRST};
    char error[ISA_ERROR_BYTES];
    MachInst in;
    unsigned slot = 0;
    uint32_t at = find_mask(binary, &in, &slot);
    if (at == binary->ncode)
        return printf("nothing to edit\n");
    for (unsigned i = 0; i < 2 * sizeof masks / sizeof *masks; i++) {
        uint32_t mask = masks[i / 2];
        MachineOptions options = {.jit = jit};
        options.policies.lane_choice = i % 3 ? MACHINE_LANE_HIGHEST : MACHINE_LANE_LOWEST;
        in.src[slot].value = mask;
        if (!isa_encode(binary->target, &in, binary->code[at], error))
            return printf("%s\n", error);
        if (!launch(binary, i % 2 ? 1 << 20 : 0, mask, &options))
            return printf("mask %08x, launch %u: wrong\n", mask, i);
    }
    return 0;
}

static void *launch_some(void *user) {
    bool good = true;
    for (uint32_t i = 0; i < 20; i++)
        good = good && launch(user, i % 2 ? 4096 : 0, FIRST, NULL);
    return good ? user : NULL;
}

/* All of them ask for what nobody has decoded. */
static int share(const Binary *binary) {
    pthread_t threads[THREADS];
    int wrong = 0;
    for (unsigned i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, launch_some, (void *)(uintptr_t)binary))
            return printf("no thread\n");
    for (unsigned i = 0; i < THREADS; i++) {
        void *good;
        pthread_join(threads[i], &good);
        wrong += !good;
    }
    return wrong ? printf("%d threads: wrong\n", wrong) : 0;
}

/* What is there is the same for all who ask, and nothing that an edited word is not. */
static int keep(Binary *binary) {
    const uint64_t(*code)[2] = (const uint64_t(*)[2])binary->code;
    uint64_t was = binary->code[0][0];
    char error[ISA_ERROR_BYTES] = "";
    MachInst one, two;
    const MachInst *first = binary_inst(binary, code, 0, &one, error),
                   *again = binary_inst(binary, code, 0, &two, error);
    bool good = first && first == again && first != &one;
    binary->code[0][0] = ~(uint64_t)0;
    good = good && !binary_inst(binary, code, 0, &two, error) && *error;
    binary->code[0][0] = was;
    good = good && binary_inst(binary, code, 0, &two, error) == first;
    return good ? 0 : printf("what is kept is not what is there\n");
}

/* A launch of a small kernel needs no memory for the large one beside it, once one was launched. */
typedef struct {
    const Binary *binary;
    MachineJit *jit;
    bool good;
} Small;
static void launch_small(void *user) {
    Small *small = user;
    small->good = launch(small->binary, 0, FIRST, &(MachineOptions){.jit = small->jit});
}

enum { LARGE_INSTS = 4000, SMALL_BYTES = 512 << 10 };
static int beside_large(MachineJit *jit) {
    static char text[sizeof kernel + 40 * LARGE_INSTS];
    Diags d = {.sink = show};
    Compilation compilation = {0};
    size_t n = (size_t)snprintf(text, sizeof text,
                                "%s.visible .entry large(.param .u64 out) {\n.reg .b32 %%x; .reg .b64 %%b;\n"
                                "ld.param.u64 %%b, [out]; mov.u32 %%x, %%tid.x;\n",
                                kernel);
    for (unsigned i = 0; i < LARGE_INSTS; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "mad.lo.u32 %%x, %%x, %%x, %u;\n", i);
    n += (size_t)snprintf(text + n, sizeof text - n, "st.global.u32 [%%b], %%x; ret; }\n");
    PtxModule *module = ptx_parse("large.ptx", text, n, &d);
    Binary *binary = module && driver_compile(&compilation, module, &(DriverOptions){0}, &d)
                         ? binary_read("large", compilation.image, compilation.image_bytes, &d)
                         : NULL;
    Small small = {.binary = binary, .jit = jit};
    ScopeResult end = {0};
    if (binary)
        launch_small(&small);
    if (small.good)
        end = scope_run(launch_small, &small, &(ScopeLimits){.bytes = SMALL_BYTES});
    bool is_large = binary && binary->ncode > LARGE_INSTS;
    binary_free(binary);
    driver_free(&compilation);
    ptx_free(module);
    return is_large && small.good && end.end == SCOPE_DONE ? 0 : printf("it costs what the module costs\n");
}

int main(void) {
    Diags d = {.sink = show};
    PtxModule *module = ptx_parse("edits.ptx", kernel, sizeof kernel - 1, &d);
    Compilation compilation = {0};
    DriverOptions options = {.opt_level = 3};
    int status = !module || !driver_compile(&compilation, module, &options, &d);
    for (unsigned i = 0; !status && i < 4; i++) {
        Binary *binary = binary_read("kernel", compilation.image, compilation.image_bytes, &d);
        MachineJit *jit = i < 2 ? NULL
                                : machine_jit_open(&(MachineJitOptions){
                                      .after = 1,
                                      .quick = true,
                                      .stencils = i == 2 ? MACHINE_STENCILS_ONLY : MACHINE_STENCILS_NEVER});
        status = !binary ? 1 : i == 0 ? share(binary) : edit_between(binary, jit);
        status = status ? status : keep(binary);
        if (jit && *machine_jit_stats(jit)->failed)
            printf("not compiled: %s\n", machine_jit_stats(jit)->failed);
        machine_jit_close(jit);
        binary_free(binary);
    }
    driver_free(&compilation);
    ptx_free(module);
    status = status ? status : beside_large(NULL);
    MachineJit *copies =
        machine_jit_open(&(MachineJitOptions){.after = 1, .stencils = MACHINE_STENCILS_ONLY});
    status = status ? status : beside_large(copies);
    machine_jit_close(copies);
    return status != 0;
}
