/* Sessions of one binary take turns with one engine: each has decoded other instructions and has constants of
 * its own, and none may run what was compiled for what another one has decoded. The options of a launch are
 * not compiled in: launches under different policies share what is compiled. Exit status 77 where nothing can
 * be compiled. SPDX-License-Identifier: MIT */
#include "emit/elf/binary.h"
#include "sim/machine/machine.h"
#include "sim/machine/policy.h"
#include "tools/jobs/driver.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

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

/* Lanes part at a branch, come together, and are elsewhere for different numbers of rounds: which policy it
 * runs under is seen in memory (what MUFU gives, who was first at the counter) and in the statistics. */
static const char parting[] =
    ".version 7.0\n.target sm_75\n.address_size 64\n"
    ".visible .entry k(.param .u64 in, .param .u64 out, .param .u32 step) {\n"
    ".reg .pred %p; .reg .b32 %n, %i, %x, %t, %s; .reg .f32 %f; .reg .b64 %a, %b;\n"
    "ld.param.u64 %a, [in]; ld.param.u64 %b, [out]; ld.param.u32 %s, [step];\n"
    "mov.u32 %t, %tid.x; mad.wide.u32 %b, %t, 4, %b; mov.u32 %x, %t; mov.u32 %i, 0;\n"
    "and.b32 %n, %t, 7; add.u32 %n, %n, 40; cvt.rn.f32.u32 %f, %t;\n"
    "L: and.b32 %t, %x, 1; setp.eq.u32 %p, %t, 0; @%p bra EVEN;\n"
    "mad.lo.u32 %x, %x, 5, %s; ex2.approx.f32 %f, %f; bra.uni JOIN;\n"
    "EVEN: atom.global.add.u32 %t, [%a], 1; xor.b32 %x, %x, %t; add.u32 %x, %x, 3; rcp.approx.f32 %f, %f;\n"
    "JOIN: add.u32 %i, %i, 1; setp.lt.u32 %p, %i, %n; @%p bra L;\n"
    "mov.b32 %t, %f; xor.b32 %x, %x, %t; st.global.u32 [%b], %x; ret; }\n";

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
static int take_turns(const Binary *binary, const char *host_level, MachineStencils stencils, Diags *d) {
    MachineJit *jit = machine_jit_open(&(MachineJitOptions){.after = 1, .stencils = stencils});
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
    uint32_t regions = stats->regions + stats->copied;
    bool no_host = strstr(stats->failed, "not on this host");
    bool nowhere = !host_level && (no_host || strstr(stats->failed, "no libLLVM of version"));
    if (nowhere)
        printf("skipped: %s\n", stats->failed);
    else if (host_level ? regions || !no_host : !regions || stats->failed[0])
        status = printf("%u regions: %s\n", regions, stats->failed) != 0;
    for (unsigned i = 0; i < 2; i++) {
        machine_close(users[i].session);
        simmem_free(users[i].memory);
    }
    machine_jit_close(jit);
    return status ? status : nowhere ? SKIPPED : 0;
}

/* ---- policies ---- */
typedef struct {
    uint32_t in[2], out[LANES];
    MachineResult result;
} Outcome;

static bool run_under(User *user, const MachineOptions *options, Outcome *outcome, Diags *d) {
    *outcome = (Outcome){0};
    return simmem_write(user->memory, user->params.in, outcome->in, sizeof outcome->in) &&
           machine_session_run(user->session, options, &outcome->result, d) &&
           simmem_read(user->memory, user->params.in, outcome->in, sizeof outcome->in) &&
           simmem_read(user->memory, user->params.out, outcome->out, sizeof outcome->out);
}
static bool is_same(const Outcome *a, const Outcome *b) {
    return memcmp(a->in, b->in, sizeof a->in) == 0 && memcmp(a->out, b->out, sizeof a->out) == 0 &&
           memcmp(&a->result.stats, &b->result.stats, sizeof a->result.stats) == 0;
}

/* Launches under one policy after the other, of a session that is interpreted and one that is compiled. */
static int change_policies(const Binary *binary, MachineStencils stencils, bool background, Diags *d) {
    static const char *const policies[] = {"lane-choice=lowest",
                                           "mufu-ulp=+1",
                                           "lane-choice=highest",
                                           "branch-order=taken",
                                           "lane-choice=rotate,mufu-ulp=-2",
                                           "bssy=other,warpsync-turns=other",
                                           "join-scope=candidates,mufu-subnormal=flush"};
    enum { POLICIES = sizeof policies / sizeof *policies, ROUNDS = 400 };
    MachineJit *jit =
        machine_jit_open(&(MachineJitOptions){.after = 1, .stencils = stencils, .background = background});
    User users[2] = {0};
    Outcome first = {0}, interpreted = {0}, compiled = {0};
    unsigned others = 0, wrong = 0, rounds = background ? ROUNDS : 2;
    for (unsigned i = 0; i < 2; i++)
        open_user(&users[i], binary, 7, NULL, d);
    bool good = run_under(&users[0], &(MachineOptions){0}, &first, d);
    for (unsigned i = 0; good && i < rounds * POLICIES; i++) {
        MachineOptions options = {0};
        size_t n = 0;
        good = !machine_policy_list(&options, policies[i % POLICIES], &n) &&
               run_under(&users[0], &options, &interpreted, d);
        options.jit = jit;
        good = good && run_under(&users[1], &options, &compiled, d);
        wrong += good && !is_same(&interpreted, &compiled);
        others += i < POLICIES && !is_same(&interpreted, &first);
        machine_result_free(&interpreted.result);
        machine_result_free(&compiled.result);
        if (background && !machine_jit_stats(jit)->regions)
            usleep(20000); /* libLLVM is being opened */
    }
    machine_result_free(&first.result);
    uint32_t regions = machine_jit_stats(jit)->regions + machine_jit_stats(jit)->copied;
    for (unsigned i = 0; i < 2; i++) {
        machine_close(users[i].session);
        simmem_free(users[i].memory);
    }
    bool done = machine_jit_close(jit);
    if (!good || wrong || others < 4 || !regions) {
        printf("background %d: %u launches differ, %u policies seen, %u regions\n", background, wrong, others,
               regions);
        return 1;
    }
    if (!done)
        _exit(0); /* the last thing that is done */
    return 0;
}

static int with_kernel(const char *text, size_t bytes, int test(const Binary *, Diags *)) {
    Diags d = {.sink = show};
    PtxModule *module = ptx_parse("sessions.ptx", text, bytes, &d);
    Compilation compilation = {0};
    DriverOptions options = {.opt_level = 3};
    bool compiled = module && driver_compile(&compilation, module, &options, &d);
    Binary *binary = compiled ? binary_read("kernel", compilation.image, compilation.image_bytes, &d) : NULL;
    int status = binary ? test(binary, &d) : 1;
    binary_free(binary);
    driver_free(&compilation);
    ptx_free(module);
    return status;
}
static int test_turns(const Binary *binary, Diags *d) {
    int status = take_turns(binary, "base", MACHINE_STENCILS_NEVER, d);
    status = status ? status : take_turns(binary, NULL, MACHINE_STENCILS_ONLY, d);
    return status ? status : take_turns(binary, NULL, MACHINE_STENCILS_NEVER, d);
}
static int test_policies(const Binary *binary, Diags *d) {
    return change_policies(binary, MACHINE_STENCILS_ONLY, false, d) ||
           change_policies(binary, MACHINE_STENCILS_NEVER, false, d) ||
           change_policies(binary, MACHINE_STENCILS_NEVER, true, d);
}

int main(void) {
    int status = with_kernel(kernel, sizeof kernel - 1, test_turns);
    return status ? status : with_kernel(parting, sizeof parting - 1, test_policies);
}
