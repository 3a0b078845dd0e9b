/* Lanes over time, from the machine's trace. See lanes.h. SPDX-License-Identifier: MIT */
#include "check/picture/lanes.h"
#include "base/json.h"
#include "base/scope.h"
#include <string.h>

enum { MAX_WARPS = 32 }; /* of a block */

const char *lanes_state_name(LaneState state) {
    static const char *const names[] = {[LANE_ABSENT] = "not there",
                                        [LANE_RUNS] = "runs",
                                        [LANE_PARKED] = "parked",
                                        [LANE_AT_BSYNC] = "waits at a BSYNC",
                                        [LANE_AT_WARPSYNC] = "waits at a WARPSYNC",
                                        [LANE_AT_BAR] = "waits for other warps",
                                        [LANE_YIELDS] = "has yielded"};
    return names[state];
}

void lanes_open(Lanes *lanes, const BinFlow *flow) {
    *lanes = (Lanes){.flow = flow};
    uint32_t n = flow->bin->ncode + 1;
    lanes->issues = ARENA_ARRAY(&lanes->arena, uint64_t, n);
    lanes->lost = ARENA_ARRAY(&lanes->arena, uint64_t, n);
    lanes->guarded = ARENA_ARRAY(&lanes->arena, uint64_t, n);
    lanes->slots = ARENA_ARRAY(&lanes->arena, uint32_t, LANES_SLOTS);
}

void lanes_free(Lanes *lanes) { arena_free(&lanes->arena); }

/* The warp's place in lanes->warps + 1, 0: there is none yet. */
static uint32_t find_warp(const Lanes *lanes, uint32_t launch, const uint32_t block[3], uint32_t number,
                          uint32_t *slot) {
    uint32_t hash = ((block[0] * 31 + block[1]) * 31 + block[2]) * 31 + number;
    *slot = (hash * 31 + launch) % LANES_SLOTS;
    for (uint32_t k = lanes->slots[*slot]; k; k = lanes->warps.at[k - 1]->next) {
        const LaneWarp *warp = lanes->warps.at[k - 1];
        if (warp->launch == launch && warp->warp == number && !memcmp(warp->block, block, sizeof warp->block))
            return k;
    }
    return 0;
}

static LaneWarp *warp_of(Lanes *lanes, const MachineTrace *trace) {
    uint32_t slot, found = find_warp(lanes, lanes->launch, trace->block, trace->warp, &slot);
    if (found)
        return lanes->warps.at[found - 1];
    LaneWarp *warp = ARENA_NEW(&lanes->arena, LaneWarp);
    *warp = (LaneWarp){.launch = lanes->launch, .warp = trace->warp, .next = lanes->slots[slot]};
    memcpy(warp->block, trace->block, sizeof warp->block);
    VEC_ADD(&lanes->arena, &lanes->warps, warp);
    lanes->slots[slot] = lanes->warps.n;
    return warp;
}

static void start_group(Lanes *lanes, LaneWarp *warp, const MachineTrace *trace, uint32_t inst) {
    warp->ngroups++;
    if (lanes->groups_kept == LANES_MAX_GROUPS) {
        lanes->groups_dropped++;
        return;
    }
    lanes->groups_kept++;
    LaneGroup *group = VEC_PUSH(&lanes->arena, &warp->groups);
    *group = (LaneGroup){.start = lanes->all_issues,
                         .step = warp->steps,
                         .active = trace->active,
                         .first = inst,
                         .low = inst,
                         .high = inst};
    for (unsigned lane = 0; lane < 32; lane++) {
        LaneAt *at = &warp->lanes[lane];
        bool there = trace->valid >> lane & 1, active = trace->active >> lane & 1;
        if (!there || active)
            *at = (LaneAt){.state = active ? LANE_RUNS : LANE_ABSENT};
        else if (at->state == LANE_RUNS || at->state == LANE_ABSENT)
            *at = (LaneAt){.state = LANE_PARKED};
        group->lanes[lane] = *at;
    }
}

/* Where the active lanes are, should others run behind this instruction. */
static void leave_lanes(const Lanes *lanes, LaneWarp *warp, const MachineTrace *trace, uint32_t inst) {
    LaneAt at = {.state = LANE_PARKED};
    switch (bin_kind(&lanes->flow->insts[inst])) {
    case BK_BSYNC: at = (LaneAt){LANE_AT_BSYNC, (uint8_t)bin_barrier(&lanes->flow->insts[inst])}; break;
    case BK_WARPSYNC: at.state = LANE_AT_WARPSYNC; break;
    case BK_BAR: at.state = LANE_AT_BAR; break;
    case BK_YIELD:
    case BK_NANOSLEEP: at.state = LANE_YIELDS; break;
    default: break;
    }
    for (unsigned lane = 0; lane < 32; lane++)
        if (trace->active >> lane & 1)
            warp->lanes[lane] = trace->executed >> lane & 1 ? at : (LaneAt){.state = LANE_PARKED};
}

void lanes_record(void *user, const MachineTrace *trace) {
    Lanes *lanes = user;
    uint32_t inst = (uint32_t)((trace->pc_bytes - lanes->flow->bin->code_base) / INST_BYTES);
    LaneWarp *warp = warp_of(lanes, trace);
    LaneGroup *group = warp->groups.n ? &warp->groups.at[warp->groups.n - 1] : NULL;
    unsigned lost = (unsigned)__builtin_popcount(trace->valid & ~trace->active);
    bool other = group && group->active != trace->active, same = group && !other;
    lanes->all_switches += other;
    if (same && bin_kind(&lanes->flow->insts[group->last]) == BK_BAR)
        same = false; /* it has waited for other warps */
    lanes->issues[inst]++;
    lanes->lost[inst] += lost;
    lanes->guarded[inst] += (unsigned)__builtin_popcount(trace->active & ~trace->executed);
    if (!same)
        start_group(lanes, warp, trace, inst);
    lanes->all_issues++;
    lanes->all_active += (unsigned)__builtin_popcount(trace->active);
    lanes->all_lost += lost;
    warp->steps++;
    if (warp->ngroups == warp->groups.n) {
        group = &warp->groups.at[warp->groups.n - 1];
        group->end = lanes->all_issues;
        group->nsteps = warp->steps - group->step;
        group->last = inst;
        group->low = inst < group->low ? inst : group->low;
        group->high = inst > group->high ? inst : group->high;
    }
    leave_lanes(lanes, warp, trace, inst);
}

uint32_t lanes_mask(const LaneGroup *group, LaneState state, unsigned reg) {
    uint32_t mask = 0;
    for (unsigned lane = 0; lane < 32; lane++)
        if (group->lanes[lane].state == state && group->lanes[lane].reg == reg)
            mask |= 1u << lane;
    return mask;
}

/* ---- for Perfetto ---- */

static void put_event(FILE *out, bool *first, cJSON *event) {
    char *text = json_close_line(event);
    fprintf(out, "%s\n%s", *first ? "" : ",", text);
    *first = false;
    mem_free(text);
}

static cJSON *new_event(const char *phase, const char *name, uint32_t process, uint32_t track) {
    cJSON *event = json_object();
    json_add_text(event, "ph", phase);
    json_add_text(event, "name", name);
    json_add_number(event, "pid", process);
    json_add_number(event, "tid", track);
    return event;
}

static void add_mask(cJSON *to, const char *key, uint32_t mask) {
    char text[16];
    snprintf(text, sizeof text, "0x%08x", mask);
    json_add_text(to, key, text);
}

static void add_waits(cJSON *to, const LaneGroup *group) {
    for (unsigned reg = 0; reg < 16; reg++) {
        uint32_t mask = lanes_mask(group, LANE_AT_BSYNC, reg);
        char key[32];
        snprintf(key, sizeof key, "waiting at B%u", reg);
        if (mask)
            add_mask(to, key, mask);
    }
    for (LaneState state = LANE_PARKED; state < LANE_STATES; state++)
        if (state != LANE_AT_BSYNC && lanes_mask(group, state, 0))
            add_mask(to, lanes_state_name(state), lanes_mask(group, state, 0));
}

static void group_event(const Lanes *lanes, const LaneGroup *group, uint32_t process, uint32_t track,
                        FILE *out, bool *first) {
    char name[200], where[160];
    unsigned n = (unsigned)__builtin_popcount(group->active);
    snprintf(name, sizeof name, "%u lane%s, %s", n, n == 1 ? "" : "s",
             bin_where(lanes->flow, group->first, where));
    cJSON *event = new_event("X", name, process, track), *args;
    json_add_text(event, "cat", "lanes");
    json_add_number(event, "ts", (double)group->start);
    json_add_number(event, "dur", (double)(group->end - group->start));
    args = json_add_object(event, "args");
    add_mask(args, "active", group->active);
    json_add_number(args, "instructions", (double)group->nsteps);
    json_add_text(args, "first", bin_where(lanes->flow, group->first, where));
    json_add_text(args, "last", bin_where(lanes->flow, group->last, where));
    add_waits(args, group);
    put_event(out, first, event);
    event = new_event("C", "active lanes", process, track);
    json_add_number(event, "ts", (double)group->start);
    snprintf(name, sizeof name, "warp %u", track);
    json_add_number(json_add_object(event, "args"), name, n);
    put_event(out, first, event);
}

/* Blocks are numbered by their first warps. */
static uint32_t block_process(const Lanes *lanes, uint32_t index) {
    const LaneWarp *warp = lanes->warps.at[index];
    uint32_t least = index + 1, slot;
    for (uint32_t number = 0; number < MAX_WARPS; number++) {
        uint32_t k = find_warp(lanes, warp->launch, warp->block, number, &slot);
        least = k && k < least ? k : least;
    }
    return least;
}

void lanes_perfetto(const Lanes *lanes, FILE *out) {
    bool first = true;
    fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[", out);
    for (uint32_t k = 0; k < lanes->warps.n; k++) {
        const LaneWarp *warp = lanes->warps.at[k];
        char name[100];
        uint32_t process = block_process(lanes, k);
        if (process == k + 1) {
            snprintf(name, sizeof name, "launch %u, block %u,%u,%u", warp->launch + 1, warp->block[0],
                     warp->block[1], warp->block[2]);
            cJSON *event = new_event("M", "process_name", process, 0);
            json_add_text(json_add_object(event, "args"), "name", name);
            put_event(out, &first, event);
        }
        snprintf(name, sizeof name, "warp %u", warp->warp);
        cJSON *event = new_event("M", "thread_name", process, warp->warp);
        json_add_text(json_add_object(event, "args"), "name", name);
        put_event(out, &first, event);
        for (uint32_t g = 0; g < warp->groups.n; g++)
            group_event(lanes, &warp->groups.at[g], process, warp->warp, out, &first);
    }
    fprintf(out,
            "\n],\"otherData\":{\"made by\":\"heddle %s\",\"a microsecond is\":\"one issued warp "
            "instruction\",\"groups left out\":\"%llu\"}}\n",
            HEDDLE_VERSION, (unsigned long long)lanes->groups_dropped);
}
