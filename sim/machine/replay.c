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
    uint32_t pc, valid, active, yield, switch_mask, blocked, b[16], rpc[32];
} ControlState;

struct Replay {
    uint32_t next, rounds;
    ControlState saved;
    uint64_t after, save_at; /* instructions since the last step */
};

static struct Replay *replay_of(Run *r) {
    if (!r->replay) {
        r->replay = ARENA_NEW(&r->arena, struct Replay);
        r->replay->save_at = 1;
    }
    return r->replay;
}

static ControlState control_state(const Warp *w) {
    ControlState s;
    memset(&s, 0, sizeof s);
    s.pc = w->pc, s.valid = w->valid, s.active = w->active, s.yield = w->yield,
    s.switch_mask = w->switch_mask;
    s.blocked = w->blocked;
    for (unsigned i = 0; i < 16; i++)
        s.b[i] = w->b[i] & w->valid;
    for (unsigned i = 0; i < 32; i++)
        s.rpc[i] = (w->valid & ~w->active) >> i & 1 ? w->rpc[i] : 0;
    return s;
}

static int repeats(Warp *w, const Dec *d) {
    return machine_trap(w, d, low_lane(w->active), TRAP_LIVELOCK,
                        "E-DEADLOCK: the schedule repeats: valid 0x%08x active 0x%08x", w->valid, w->active);
}

/* The last step was taken: start the next round, or watch what happens without decisions. */
static int at_end(Warp *w, const Dec *d) {
    struct Replay *p = replay_of(w->run);
    const MachineReplay *plan = w->run->opt.replay;
    ControlState now = control_state(w);
    if (plan->loop < plan->nsteps) {
        if (p->rounds && memcmp(&now, &p->saved, sizeof now) == 0)
            return repeats(w, d);
        if (p->rounds++ == MAX_ROUNDS)
            return machine_trap(w, d, low_lane(w->active), TRAP_UNSUPPORTED, "the schedule does not repeat");
        p->saved = now;
        p->next = plan->loop;
        return RUN_OK;
    }
    if (plan->violation && pc_address(w->run, w->pc) == plan->end_pc_bytes && w->active != w->valid)
        return machine_trap(w, d, low_lane(w->active), TRAP_COLLECTIVE, "lanes 0x%08x of 0x%08x are here",
                            w->active, w->valid);
    if (p->after && memcmp(&now, &p->saved, sizeof now) == 0)
        return repeats(w, d);
    if (++p->after >= p->save_at) {
        p->saved = now;
        p->save_at *= 2;
    }
    if (p->after > MAX_AFTER)
        return machine_trap(w, d, low_lane(w->active), TRAP_UNSUPPORTED,
                            "nothing happens behind the schedule");
    return RUN_OK;
}

const MachineReplayStep *replay_take(Warp *w, const Dec *d, MachineReplayKind kind) {
    Run *r = w->run;
    if (!r->opt.replay)
        return NULL;
    struct Replay *p = replay_of(r);
    const MachineReplayStep *s = p->next < r->opt.replay->nsteps ? &r->opt.replay->steps[p->next] : NULL;
    if (!s || s->kind != kind || (d && s->pc_bytes != pc_address(r, (uint32_t)(d - w->prog))))
        return NULL;
    p->next++;
    return s;
}

/* Accesses of memory that other warps see; local memory, where return addresses may be, is the lane's own. */
static bool is_shared_access(unsigned optype) {
    switch (optype) {
    case OT_LDG:
    case OT_LD:
    case OT_LDS:
    case OT_STG:
    case OT_ST:
    case OT_STS:
    case OT_ATOMG:
    case OT_ATOMG_CAS:
    case OT_ATOM:
    case OT_ATOM_CAS:
    case OT_RED:
    case OT_ATOMS:
    case OT_ATOMS_CAS: return true;
    default: return false;
    }
}

int replay_before(Warp *w, Dec *d, uint32_t *g) {
    struct Replay *p = replay_of(w->run);
    if (p->next == w->run->opt.replay->nsteps) {
        int status = at_end(w, d);
        if (status != RUN_OK)
            return status;
    }
    if (is_shared_access(d->optype) || d->optype == OT_BAR || d->optype == OT_BAR_RED) {
        if (w->active != w->valid && !is_shared_access(d->optype))
            return machine_trap(w, d, low_lane(w->active), TRAP_DIVERGENT_BARRIER,
                                "lanes 0x%08x of 0x%08x are here", w->active, w->valid);
        w->pc++;
        return RUN_AGAIN;
    }
    const MachineReplayStep *s = replay_take(w, d, REPLAY_GUARD);
    if (!s)
        return RUN_OK;
    if (s->active != w->active)
        return machine_trap(w, d, low_lane(w->active), TRAP_UNSUPPORTED,
                            "the schedule does not fit: lanes 0x%08x are here, it says 0x%08x", w->active,
                            s->active);
    *g = s->lanes & w->active;
    if (d->nq && d->q[0].index != REG_PT) /* the second guard agrees */
        w->p[d->q[0].index] = (w->p[d->q[0].index] & ~w->active) | ((*g ^ d->q[0].x) & w->active);
    return RUN_OK;
}
