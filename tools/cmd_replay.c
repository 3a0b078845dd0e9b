/* heddle run --replay: a schedule of the model checker on the machine.
 * SPDX-License-Identifier: MIT */
#include "base/file.h"
#include "tools/cli.h"
#include <stdlib.h>
#include <string.h>

typedef struct {
    MachineReplay plan;
    MachineOptions machine;
    const char *kernel;
} Schedule;

static bool bad(Settings *s, const char *what) {
    return diag(&s->diags, (SrcLoc){0}, DIAG_E0502,
                arena_printf(&s->arena, "schedule %s: %s", s->replay, what));
}

static bool number(const cJSON *o, const char *name, double max, double *out) {
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
    if (k == 4 || !number(o, "pc", 9e15, &pc) || !number(o, "lanes", UINT32_MAX, &lanes) ||
        (k != REPLAY_PICK && !number(o, "active", UINT32_MAX, &active)))
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

static void read_policy(const cJSON *o, MachineOptions *m) {
    const cJSON *nb = cJSON_GetObjectItemCaseSensitive(o, "bsync-nb"),
                *order = cJSON_GetObjectItemCaseSensitive(o, "branch-order"),
                *join = cJSON_GetObjectItemCaseSensitive(o, "join-scope"),
                *lane = cJSON_GetObjectItemCaseSensitive(o, "lane-choice");
    if (cJSON_IsString(nb))
        m->bsync_nb = nb->valuestring[0] == 'b'   ? MACHINE_NB_BLOCKED
                      : nb->valuestring[0] == 'l' ? MACHINE_NB_LITERAL
                                                  : MACHINE_NB_RELEASE;
    if (cJSON_IsString(order) && order->valuestring[0] == 't')
        m->branch_order = MACHINE_TAKEN_FIRST;
    if (cJSON_IsString(join) && join->valuestring[0] == 'c')
        m->join_scope = MACHINE_JOIN_CANDIDATES;
    if (cJSON_IsString(lane) && lane->valuestring[0] == 'h')
        m->lane_choice = MACHINE_LANE_HIGHEST;
}

static bool read_schedule(Settings *s, cJSON *o, Schedule *x) {
    const cJSON *kernel = cJSON_GetObjectItemCaseSensitive(o, "kernel"),
                *verdict = cJSON_GetObjectItemCaseSensitive(o, "verdict"),
                *steps = cJSON_GetObjectItemCaseSensitive(o, "steps"), *step;
    double lanes, loop, pc;
    int n = cJSON_GetArraySize(steps);
    if (!cJSON_IsString(kernel) || !cJSON_IsString(verdict) || !cJSON_IsArray(steps) ||
        !number(o, "lanes", UINT32_MAX, &lanes) || !number(o, "loop", n, &loop) ||
        !number(o, "pc", 9e15, &pc) || lanes < 1)
        return bad(s, "it lacks kernel, verdict, lanes, loop, pc or steps");
    MachineReplayStep *list = ARENA_ARRAY(&s->arena, MachineReplayStep, n + 1);
    uint32_t k = 0;
    cJSON_ArrayForEach(step, steps) if (!read_step(step, &list[k++])) return bad(
        s, arena_printf(&s->arena, "step %u is not one", k));
    x->kernel = arena_printf(&s->arena, "%s", kernel->valuestring);
    x->plan = (MachineReplay){.lanes = (uint32_t)lanes,
                              .steps = list,
                              .nsteps = k,
                              .loop = (uint32_t)loop,
                              .end_pc_bytes = (uint64_t)pc,
                              .violation = strcmp(verdict->valuestring, "violation") == 0};
    read_policy(cJSON_GetObjectItemCaseSensitive(o, "policy"), &x->machine);
    return true;
}

/* The schedule decides everything: a launch of one warp, parameters zero. */
static int replay(Settings *s, Binary *b, Schedule *x) {
    BinFunc *f = (BinFunc *)(uintptr_t)binary_find(b, x->kernel);
    if (!f) {
        diag(&s->diags, (SrcLoc){0}, DIAG_E0512, x->kernel);
        return STATUS_INPUT;
    }
    memset(f->reqntid, 0, sizeof f->reqntid);
    memset(f->maxntid, 0, sizeof f->maxntid);
    Launch l = {.grid = {1, 1, 1},
                .block = {32, 1, 1},
                .params = arena_alloc(&s->arena, f->param_bytes + 16u),
                .param_bytes = f->param_bytes};
    SimMemory *mem = simmem_create();
    Diags quiet = {0};
    MachineResult res;
    x->machine.replay = &x->plan;
    x->machine.max_issues = s->budget ? s->budget : 100000000;
    x->machine.trace = s->machine.trace, x->machine.trace_user = s->machine.trace_user;
    bool ended = machine_run(b, x->kernel, &l, mem, &x->machine, &res, &quiet);
    char line[512] = "the launch ends normally";
    if (!ended && res.trap.kind == TRAP_NONE)
        snprintf(line, sizeof line, "the machine cannot run it");
    if (res.trap.kind != TRAP_NONE)
        sim_trap_print(&res.trap, line, sizeof line);
    SimTrapKind k = res.trap.kind;
    bool shown = x->plan.violation ? k == TRAP_COLLECTIVE || k == TRAP_DIVERGENT_BARRIER || k == TRAP_PC ||
                                         k == TRAP_ILLEGAL
                                   : k == TRAP_LIVELOCK || k == TRAP_DEADLOCK;
    printf("%s: %s\n", shown ? "replayed" : "not replayed", line);
    machine_result_free(&res);
    simmem_free(mem);
    return shown ? STATUS_DIFFERS : STATUS_INPUT;
}

int cli_replay(Settings *s) {
    char *text, *data;
    size_t size, data_bytes;
    Schedule x = {.machine = {0}};
    if (!s->ninputs) {
        bad(s, "there is no binary to replay it on");
        return STATUS_INPUT;
    }
    if (!file_read(&s->arena, s->replay, &s->diags, &text, &size) ||
        !file_read(&s->arena, s->inputs[0], &s->diags, &data, &data_bytes))
        return STATUS_INPUT;
    cJSON *o = cJSON_ParseWithLength(text, size);
    bool good = o ? read_schedule(s, o, &x) : bad(s, "not JSON");
    cJSON_Delete(o);
    if (!good)
        return STATUS_INPUT;
    Binary *b;
    if (cli_is_elf(data, data_bytes))
        b = cli_load(s, s->inputs[0], data, data_bytes);
    else {
        PtxModule *m = cli_read_ptx(s, s->inputs[0]);
        b = m ? cli_compile_to_binary(s, m, s->inputs[0]) : NULL;
        if (m)
            ptx_free(m);
    }
    int status = b ? replay(s, b, &x) : STATUS_INPUT;
    binary_free(b);
    return status;
}
