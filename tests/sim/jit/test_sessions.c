/* Sessions of one binary take turns with one engine: each has decoded other instructions and has constants of
 * its own, and none may run what was compiled for what another one has decoded. Exit status 77 where nothing
 * can be compiled. SPDX-License-Identifier: MIT */
#include "emit/elf/binary.h"
#include "sim/machine/machine.h"
#include "tools/driver.h"
#include <stdio.h>
#include <string.h>

enum { LANES = 32, SKIPPED = 77 };
static const char kernel[] =
    ".version 7.0\n.target sm_75\n.address_size 64\n"
    ".visible .entry k(.param .u64 in, .param .u64 out, .param .u32 step) {\n"
    ".reg .pred %p; .reg .b32 %n, %i, %x, %t, %s; .reg .b64 %a, %b;\n"
    "ld.param.u64 %a, [in]; ld.param.u64 %b, [out]; ld.param.u32 %s, [step];\n"
    "mov.u32 %t, %tid.x; mad.wide.u32 %b, %t, 4, %b; mov.u32 %x, %t; mov.u32 %i, 0;\n"
    "ld.global.u32 %n, [%a]; setp.eq.u32 %p, %n, 0; @%p bra E;\n"
    "L: mad.lo.u32 %x, %x, 5, %s; ld.global.u32 %t, [%a+4]; add.u32 %x, %x, %t; add.u32 %i, %i, 1;\n"
    "setp.lt.u32 %p, %i, %n; @%p bra L;\n"
    "E: st.global.u32 [%b], %x; ret; }\n";

typedef struct {
    const Binary *binary;
    MachineSession *session;
    SimMemory *memory;
    Launch launch;
    struct {
        uint64_t in, out;
        uint32_t step;
    } params;
} User;

static void show(void *user, Severity severity, const char *line) {
    (void)user;
    if (severity == SEV_ERROR)
        fputs(line, stdout);
}

static void open_user(User *user, const Binary *binary, uint32_t step, const char *host_level, Diags *d) {
    user->binary = binary;
    user->memory = simmem_create();
    user->params.in = simmem_alloc(user->memory, "in", 8);
    user->params.out = simmem_alloc(user->memory, "out", 4 * LANES);
    user->params.step = step;
    user->launch = (Launch){.grid = {1, 1, 1},
                            .block = {LANES, 1, 1},
                            .params = (const uint8_t *)&user->params,
                            .param_bytes = 20};
    user->session = machine_open(binary, "k", &user->launch, user->memory, host_level, d);
}

/* n turns of the loop; what the host computes. */
static bool run(User *user, MachineJit *jit, uint32_t n, Diags *d) {
    const uint32_t in[2] = {n, 3};
    uint32_t out[LANES], wrong = 0;
    MachineResult result = {0}, interpreted = {0};
    bool good = simmem_write(user->memory, user->params.in, in, sizeof in) &&
                machine_session_run(user->session, &(MachineOptions){.jit = jit}, &result, d) &&
                simmem_read(user->memory, user->params.out, out, sizeof out);
    for (uint32_t lane = 0; good && lane < LANES; lane++) {
        uint32_t x = lane;
        for (uint32_t i = 0; i < n; i++)
            x = x * 5 + user->params.step + in[1];
        wrong += out[lane] != x;
    }
    good = good && machine_run(user->binary, "k", &user->launch, user->memory, NULL, &interpreted, d) &&
           interpreted.stats.issues == result.stats.issues &&
           interpreted.stats.lane_issues == result.stats.lane_issues &&
           interpreted.stats.true_lane_issues == result.stats.true_lane_issues;
    machine_result_free(&result);
    machine_result_free(&interpreted);
    return good && !wrong;
}

/* host_level "base": nothing can be compiled, and the engine says so. */
static int take_turns(const Binary *binary, const char *host_level, Diags *d) {
    MachineJit *jit = machine_jit_open(1, false);
    User users[2] = {0};
    int status = 0;
    for (unsigned i = 0; i < 2; i++)
        open_user(&users[i], binary, 7 + i, host_level, d);
    /* the first one passes the loop by, the second compiles it, the first one comes back to it */
    static const struct {
        unsigned user, turns;
    } steps[] = {{0, 0}, {1, 100}, {0, 90}, {1, 80}, {0, 0}, {0, 70}};
    for (unsigned i = 0; i < sizeof steps / sizeof *steps; i++)
        if (!run(&users[steps[i].user], jit, steps[i].turns, d)) {
            printf("step %u: wrong\n", i);
            status = 1;
        }
    const MachineJitStats *stats = machine_jit_stats(jit);
    bool no_host = strstr(stats->failed, "not on this host");
    bool nowhere = !host_level && (no_host || strstr(stats->failed, "no libLLVM of version"));
    if (nowhere)
        printf("skipped: %s\n", stats->failed);
    else if (host_level ? stats->regions || !no_host : !stats->regions || stats->failed[0])
        status = printf("%u regions: %s\n", stats->regions, stats->failed) != 0;
    for (unsigned i = 0; i < 2; i++) {
        machine_close(users[i].session);
        simmem_free(users[i].memory);
    }
    machine_jit_close(jit);
    return status ? status : nowhere ? SKIPPED : 0;
}

int main(void) {
    Diags d = {.sink = show};
    PtxModule *module = ptx_parse("sessions.ptx", kernel, sizeof kernel - 1, &d);
    Compilation compilation = {0};
    DriverOptions options = {.opt_level = 3};
    bool compiled = module && driver_compile(&compilation, module, &options, &d);
    Binary *binary = compiled ? binary_read("kernel", compilation.image, compilation.image_bytes, &d) : NULL;
    int status = binary ? take_turns(binary, "base", &d) : 1;
    if (!status)
        status = take_turns(binary, NULL, &d);
    binary_free(binary);
    driver_free(&compilation);
    ptx_free(module);
    return status;
}
