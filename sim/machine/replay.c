/* Following a schedule: decisions of control instructions come from a list, not from data. See MachineReplay.
 *
 * A schedule that ends in a loop is judged by the control state (masks, B registers, program counters): when
 * it is the same at the start of two rounds, the lanes can go round for ever, and the launch traps as a
 * livelock.
 * SPDX-License-Identifier: MIT */
#include "sim/machine/internal.h"
#include <string.h>

enum { MAX_ROUNDS = 64, MAX_AFTER = 1 << 20 };

typedef struct {
    uint32_t pc, valid, active, yield, switch_mask, blocked, b[16], companions[16][32], rpc[32];
    uint16_t saves[16][32];
} ControlState;

struct Replay {
    uint32_t next, rounds;
    ControlState saved;
    uint64_t after, save_at; /* instructions since the last step */
};

static struct Replay *replay_of(Run *run) {
    if (!run->replay) {
        run->replay = ARENA_NEW(&run->arena, struct Replay);
        run->replay->save_at = 1;
    }
    return run->replay;
}

static ControlState control_state(const Warp *warp) {
    ControlState s;
    memset(&s, 0, sizeof s);
    s.pc = warp->pc, s.valid = warp->valid, s.active = warp->active, s.yield = warp->yield,
    s.switch_mask = warp->switch_mask;
    s.blocked = warp->blocked;
    for (unsigned i = 0; i < 16; i++)
        s.b[i] = warp->b[i] & warp->valid;
    for (unsigned i = 0; i < 16; i++)
        for (uint32_t m = warp->valid; m; m &= m - 1)
            s.saves[i][low_lane(m)] = warp->saves[i][low_lane(m)],
            s.companions[i][low_lane(m)] = warp->companions[i][low_lane(m)] & warp->valid;
    for (unsigned i = 0; i < 32; i++)
        s.rpc[i] = (warp->valid & ~warp->active) >> i & 1 ? warp->rpc[i] : 0;
    return s;
}

static int repeats(Warp *warp, const Dec *d) {
    return machine_trap(warp, d, low_lane(warp->active), TRAP_LIVELOCK,
                        "E-DEADLOCK: the schedule repeats: valid 0x%08x active 0x%08x", warp->valid,
                        warp->active);
}

/* The last step was taken: start the next round, or watch what happens without decisions. */
static int at_end(Warp *warp, const Dec *d) {
    struct Replay *replay = replay_of(warp->run);
    const MachineReplay *plan = warp->run->opt.replay;
    ControlState now = control_state(warp);
    if (plan->loop < plan->nsteps) {
        if (replay->rounds && memcmp(&now, &replay->saved, sizeof now) == 0)
            return repeats(warp, d);
        if (replay->rounds++ == MAX_ROUNDS)
            return machine_trap(warp, d, low_lane(warp->active), TRAP_UNSUPPORTED,
                                "the schedule does not repeat");
        replay->saved = now;
        replay->next = plan->loop;
        return RUN_OK;
    }
    if (plan->violation && pc_address(warp->run, warp->pc) == plan->end_pc_bytes &&
        warp->active != warp->valid)
        return machine_trap(warp, d, low_lane(warp->active), TRAP_COLLECTIVE,
                            "lanes 0x%08x of 0x%08x are here", warp->active, warp->valid);
    if (replay->after && memcmp(&now, &replay->saved, sizeof now) == 0)
        return repeats(warp, d);
    if (++replay->after >= replay->save_at) {
        replay->saved = now;
        replay->save_at *= 2;
    }
    if (replay->after > MAX_AFTER)
        return machine_trap(warp, d, low_lane(warp->active), TRAP_UNSUPPORTED,
                            "nothing happens behind the schedule");
    return RUN_OK;
}

const MachineReplayStep *machine_replay_take(Warp *warp, const Dec *d, MachineReplayKind kind) {
    Run *r = warp->run;
    if (!r->opt.replay)
        return NULL;
    struct Replay *replay = replay_of(r);
    const MachineReplayStep *step =
        replay->next < r->opt.replay->nsteps ? &r->opt.replay->steps[replay->next] : NULL;
    if (!step || step->kind != kind || (d && step->pc_bytes != pc_address(r, (uint32_t)(d - warp->prog))))
        return NULL;
    replay->next++;
    return step;
}

/* Accesses of memory that other warps see; local memory, where return addresses may be, is the lane's own. */
static bool is_shared_access(unsigned optype) {
    return machine_mem_access_kind(optype) != ACC_NONE && isa_traits(optype)->space != ISA_SPACE_LOCAL;
}

int machine_replay_before(Warp *warp, Dec *dec, uint32_t *g) {
    struct Replay *replay = replay_of(warp->run);
    if (replay->next == warp->run->opt.replay->nsteps) {
        int status = at_end(warp, dec);
        if (status != RUN_OK)
            return status;
    }
    if (is_shared_access(dec->optype) || isa_has_effect(dec->optype, ISA_EFFECT_CTA_BARRIER)) {
        if (warp->active != warp->valid && !is_shared_access(dec->optype))
            return machine_trap(warp, dec, low_lane(warp->active), TRAP_DIVERGENT_BARRIER,
                                "lanes 0x%08x of 0x%08x are here", warp->active, warp->valid);
        warp->pc++;
        return RUN_AGAIN;
    }
    const MachineReplayStep *step = machine_replay_take(warp, dec, REPLAY_GUARD);
    if (!step)
        return RUN_OK;
    if (step->active != warp->active)
        return machine_trap(warp, dec, low_lane(warp->active), TRAP_UNSUPPORTED,
                            "the schedule does not fit: lanes 0x%08x are here, it says 0x%08x", warp->active,
                            step->active);
    *g = step->lanes & warp->active;
    if (dec->nq && dec->q[0].index != REG_PT) /* the second guard agrees */
        warp->p[dec->q[0].index] =
            (warp->p[dec->q[0].index] & ~warp->active) | ((*g ^ dec->q[0].x) & warp->active);
    return RUN_OK;
}
