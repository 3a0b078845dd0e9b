/* heddle run --replay: a schedule of the model checker on the machine.
 * SPDX-License-Identifier: MIT */
#include "base/json.h"
#include "base/file.h"
#include "base/scope.h"
#include "sim/machine/policy.h"
#include "tools/cli/cli.h"
#include <stdlib.h>
#include <string.h>

typedef struct {
    MachineReplay plan;
    MachineOptions machine;
    const char *kernel;
} Schedule;

static bool bad(Settings *settings, const char *what) {
    return diag(&settings->diags, (SrcLoc){0}, DIAG_E0502,
                arena_printf(&settings->arena, "schedule %s: %s", settings->replay, what));
}

static bool schedule_number(const cJSON *o, const char *name, double max, double *out) {
    const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, name);
    if (!cJSON_IsNumber(v) || !(v->valuedouble >= 0) || v->valuedouble > max)
        return false;
    *out = v->valuedouble;
    return true;
}

static bool read_step(const cJSON *o, MachineReplayStep *step) {
    static const char *const kinds[] = {"guard", "target", "mask", "pick"};
    const cJSON *kind = cJSON_GetObjectItemCaseSensitive(o, "kind"),
                *targets = cJSON_GetObjectItemCaseSensitive(o, "targets"), *t;
    double pc, active = 0, lanes;
    unsigned k = 0, n = 0;
    while (k < 4 && !(cJSON_IsString(kind) && strcmp(kind->valuestring, kinds[k]) == 0))
        k++;
    if (k == 4 || !schedule_number(o, "pc", 9e15, &pc) || !schedule_number(o, "lanes", UINT32_MAX, &lanes) ||
        (k != REPLAY_PICK && !schedule_number(o, "active", UINT32_MAX, &active)))
        return false;
    *step = (MachineReplayStep){
        .pc_bytes = (uint64_t)pc, .kind = (uint8_t)k, .active = (uint32_t)active, .lanes = (uint32_t)lanes};
    cJSON_ArrayForEach(t, targets) {
        if (n == 4 || !cJSON_IsNumber(t) || !(t->valuedouble >= 0) || t->valuedouble > 9e15)
            return false;
        step->target[n++] = (uint64_t)t->valuedouble;
    }
    return k != REPLAY_TARGET || n == (unsigned)__builtin_popcount(step->lanes);
}

/* What is not named here, "any" lane for one, the steps decide. */
static void read_policy(const cJSON *o, MachineOptions *options) {
    char text[64];
    for (unsigned k = 0; k < POLICY_COUNT; k++) {
        const cJSON *value = cJSON_GetObjectItemCaseSensitive(o, machine_policy_table[k].name);
        if (cJSON_IsString(value) &&
            (size_t)snprintf(text, sizeof text, "%s=%s", machine_policy_table[k].name, value->valuestring) <
                sizeof text)
            machine_policy_parse(&options->policies, text, strlen(text));
    }
}

static bool read_schedule(Settings *settings, cJSON *o, Schedule *schedule) {
    const cJSON *kernel = cJSON_GetObjectItemCaseSensitive(o, "kernel"),
                *verdict = cJSON_GetObjectItemCaseSensitive(o, "verdict"),
                *steps = cJSON_GetObjectItemCaseSensitive(o, "steps"), *step;
    double lanes, loop, pc;
    int n = cJSON_GetArraySize(steps);
    if (!cJSON_IsString(kernel) || !cJSON_IsString(verdict) || !cJSON_IsArray(steps) ||
        !schedule_number(o, "lanes", UINT32_MAX, &lanes) || !schedule_number(o, "loop", n, &loop) ||
        !schedule_number(o, "pc", 9e15, &pc) || lanes < 1)
        return bad(settings, "it lacks kernel, verdict, lanes, loop, pc or steps");
    MachineReplayStep *list = ARENA_ARRAY(&settings->arena, MachineReplayStep, n + 1);
    uint32_t k = 0;
    cJSON_ArrayForEach(step, steps) if (!read_step(step, &list[k++])) return bad(
        settings, arena_printf(&settings->arena, "step %u is not one", k));
    schedule->kernel = arena_printf(&settings->arena, "%s", kernel->valuestring);
    schedule->plan = (MachineReplay){.lanes = (uint32_t)lanes,
                                     .steps = list,
                                     .nsteps = k,
                                     .loop = (uint32_t)loop,
                                     .end_pc_bytes = (uint64_t)pc,
                                     .violation = strcmp(verdict->valuestring, "violation") == 0};
    read_policy(cJSON_GetObjectItemCaseSensitive(o, "policy"), &schedule->machine);
    return true;
}

/* The schedule decides everything: a launch of one warp, parameters zero. */
static int replay(Settings *settings, Binary *b, Schedule *schedule) {
    BinFunc *f = (BinFunc *)(uintptr_t)binary_find(b, schedule->kernel);
    if (!f) {
        diag(&settings->diags, (SrcLoc){0}, DIAG_E0512, schedule->kernel);
        return STATUS_INPUT;
    }
    memset(f->reqntid, 0, sizeof f->reqntid);
    memset(f->maxntid, 0, sizeof f->maxntid);
    Launch l = {.grid = {1, 1, 1},
                .block = {32, 1, 1},
                .params = arena_alloc(&settings->arena, f->param_bytes + 16u),
                .param_bytes = f->param_bytes};
    SimMemory *mem = simmem_create();
    Diags quiet = {0};
    MachineResult res;
    schedule->machine.replay = &schedule->plan;
    schedule->machine.max_issues = settings->budget ? settings->budget : 100000000;
    schedule->machine.trace = settings->machine.trace,
    schedule->machine.trace_user = settings->machine.trace_user;
    bool ended = machine_run(b, schedule->kernel, &l, mem, &schedule->machine, &res, &quiet);
    char line[512] = "the launch ends normally";
    if (!ended && res.trap.kind == TRAP_NONE)
        snprintf(line, sizeof line, "the machine cannot run it");
    if (res.trap.kind != TRAP_NONE)
        sim_trap_print(&res.trap, line, sizeof line);
    SimTrapKind k = res.trap.kind;
    bool shown = schedule->plan.violation ? k == TRAP_COLLECTIVE || k == TRAP_DIVERGENT_BARRIER ||
                                                k == TRAP_PC || k == TRAP_ILLEGAL
                                          : k == TRAP_LIVELOCK || k == TRAP_DEADLOCK;
    if (settings->json) {
        cJSON *json = json_object();
        json_add_bool(json, "replayed", shown);
        json_add_text(json, "kernel", schedule->kernel);
        json_add_text(json, "text", line);
        cli_print_json(json);
    } else {
        printf("%s: %s\n", shown ? "replayed" : "not replayed", line);
    }
    machine_result_free(&res);
    simmem_free(mem);
    return shown ? STATUS_DIFFERS : STATUS_INPUT;
}

int cli_replay(Settings *settings) {
    char *text, *data;
    size_t size, data_bytes;
    Schedule x = {.machine = {0}};
    if (!settings->ninputs) {
        bad(settings, "there is no binary to replay it on");
        return STATUS_INPUT;
    }
    if (!file_read(&settings->arena, settings->replay, &settings->diags, &text, &size) ||
        !cli_read_program(settings, settings->inputs[0], false, &data, &data_bytes))
        return STATUS_INPUT;
    cJSON *o = cJSON_ParseWithLength(text, size);
    bool good = o ? read_schedule(settings, o, &x) : bad(settings, "not JSON");
    cJSON_Delete(o);
    if (!good)
        return STATUS_INPUT;
    Binary *b;
    if (cli_is_elf(data, data_bytes))
        b = cli_load(settings, settings->inputs[0], data, data_bytes);
    else {
        PtxModule *m = cli_read_ptx(settings, settings->inputs[0]);
        b = m ? cli_compile_to_binary(settings, m, settings->inputs[0]) : NULL;
        if (m)
            ptx_free(m);
    }
    int status = b ? replay(settings, b, &x) : STATUS_INPUT;
    binary_free(b);
    return status;
}
