/* The branch unit: group switching, reconvergence, calls, exit, sleep. Reading of the specification as
 * resolved for bru1; variants that a hardware team may want to compare are options of the machine.
 *
 * Words: `park` stores where inactive lanes continue; `resume` makes one parked group active; `prefer` takes
 * lanes that neither sleep nor have yielded, as far as there are any.
 * SPDX-License-Identifier: MIT */
#include "sim/machine/internal.h"
#include <string.h>

#define MAX_SLEEP_NS 1000000u /* PTX: 1 ms */

#define BITS8(n) 1u << (n), 2u << (n), 4u << (n), 8u << (n), 16u << (n), 32u << (n), 64u << (n), 128u << (n)
static uint32_t lanes_at(const Warp *w, uint32_t pc) {
    static const uint32_t bit[32] = {BITS8(0), BITS8(8), BITS8(16), BITS8(24)}; /* not shifted: SSE2 cannot */
    uint32_t m = 0, parked = w->valid & ~w->active;
    if (!parked)
        return 0;
    for (unsigned i = 0; i < 32; i++)
        m |= w->rpc[i] == pc ? bit[i] : 0;
    return m & parked;
}

static void park(Warp *w, uint32_t lanes, uint32_t pc) {
    for (; lanes; lanes &= lanes - 1)
        w->rpc[low_lane(lanes)] = pc;
}

/* The lane of a non-empty mask whose group runs next. */
static unsigned pick(Warp *w, uint32_t m) {
    const MachineReplayStep *step = replay_take(w, NULL, REPLAY_PICK);
    if (step && step->lanes & m)
        return low_lane(step->lanes & m);
    if (!(m & (m - 1))) /* no choice; the state of random choices stays, so that endless loops are seen */
        return low_lane(m);
    switch (w->run->opt.lane_choice) {
    case MACHINE_LANE_HIGHEST: return 31u - (unsigned)__builtin_clz(m);
    case MACHINE_LANE_ROTATE: {
        uint32_t above = w->pick_next < 32 ? m & ~0u << w->pick_next : 0;
        unsigned lane = low_lane(above ? above : m);
        w->pick_next = lane + 1;
        return lane;
    }
    case MACHINE_LANE_RANDOM: {
        uint64_t z = w->run->random += 0x9e3779b97f4a7c15u;
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
        z = (z ^ z >> 27) * 0x94d049bb133111ebu;
        unsigned n = (unsigned)((z ^ z >> 31) % (unsigned)__builtin_popcount(m));
        while (n--)
            m &= m - 1;
        return low_lane(m);
    }
    default: return low_lane(m);
    }
}

/* `c` without sleepers, else asleep = true; then without yielders if others are left. */
static uint32_t prefer(const Warp *w, uint32_t c, bool *asleep) {
    uint32_t awake = c & ~w->sleep;
    *asleep = awake == 0;
    if (!awake)
        awake = c;
    return awake & ~w->yield ? awake & ~w->yield : awake;
}

/* Activate the parked group of one lane of `c`; c is not empty and parked. */
static void resume(Warp *w, uint32_t c) {
    unsigned lane = pick(w, c);
    uint32_t pc = w->rpc[lane];
    uint32_t scope = w->run->opt.join_scope == MACHINE_JOIN_CANDIDATES ? c : w->valid;
    w->active = lanes_at(w, pc) & scope;
    w->sleep &= ~w->active;
    w->blocked &= ~w->active;
    w->pc = pc;
    w->run->res->stats.switches++;
}

/* After resume(prefer(..)): wait for the timer if every candidate slept. */
static int after_switch(Warp *w, bool asleep) {
    if (!asleep || !w->timer_on) {
        if (asleep)
            w->sleep = 0;
        return RUN_OK;
    }
    w->state = WARP_ASLEEP;
    return RUN_ASLEEP;
}

static uint32_t with_pp(const Warp *w, const Dec *d, uint32_t g) { return d->nq ? g & dec_pred(w, d, 0) : g; }
static uint32_t own_pc(const Warp *w, const Dec *d) { return (uint32_t)(d - w->prog); }

/* Mixed guard at a synchronising instruction: the true lanes stay here, the others run on. */
static int split_here(Warp *w, const Dec *d, uint32_t g) {
    park(w, g, own_pc(w, d));
    if (g && (d->optype == OT_BSYNC || d->optype == OT_WARPSYNC))
        w->blocked |= g;
    w->active &= ~g;
    return RUN_OK; /* pc is already the next instruction */
}

static int bad_pc(Warp *w, const Dec *d, unsigned lane, uint64_t address) {
    w->pc = own_pc(w, d);
    return machine_trap_address(w, d, lane, TRAP_PC, address, "branch target");
}

static int bad_target(Warp *w, Dec *d, unsigned lane, uint64_t address) {
    if (d->optype != OT_CALL)
        return bad_pc(w, d, lane, address);
    w->pc = own_pc(w, d);
    return machine_trap_address(w, d, lane, TRAP_CALL_TARGET, address, "no function");
}

/* Code index of an address; false if misaligned or outside. */
static bool code_index(const Run *r, uint64_t address, uint32_t *pc) {
    uint64_t offset = address - r->bin->code_base;
    *pc = (uint32_t)(offset / INST_BYTES);
    return offset % INST_BYTES == 0 && offset / INST_BYTES < r->ncode;
}

/* The same for a call, which may also name a function by its address as a value. */
static bool call_index(const Run *r, uint64_t address, uint32_t *pc) {
    if (code_index(r, address, pc))
        return true;
    uint32_t lo = 0, hi = r->nfunc_places;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (r->func_places[mid].address < address)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo == r->nfunc_places || r->func_places[lo].address != address)
        return false;
    *pc = r->func_places[lo].pc;
    return true;
}

/* ---- BRA ---- */

/* Lanes that jump; g: active lanes whose guard and pp are true. */
static uint32_t bra_lanes(const Warp *w, const Dec *d, uint32_t g) {
    uint32_t cond = d->imm[0];
    if (cond == BRACond_NoCond)
        return g;
    if (cond == BRACond_U)
        return g == w->active ? g : 0;
    if (!d->nv) {
        bool diverged = (g ^ w->valid) != 0;
        return diverged == (cond == BRACond_DIV) ? g : 0;
    }
    uint32_t u = dec_src(w, d, 0)[0] ^ d->xm[0];
    bool diverged =
        ((w->valid & ~w->active) & u) != 0 || (g != 0 && g != w->active && (w->active & ~g & u) != 0);
    return g != 0 && diverged == (cond == BRACond_DIV) ? w->active : 0;
}

static int op_bra(Warp *w, Dec *d, uint32_t guard) {
    uint32_t g = with_pp(w, d, guard);
    uint32_t j = bra_lanes(w, d, g);
    if (!j)
        return RUN_OK;
    uint32_t target;
    if (!code_index(w->run, pc_address(w->run, w->pc) + (uint64_t)d->target, &target))
        return bad_pc(w, d, low_lane(j), pc_address(w->run, w->pc) + (uint64_t)d->target);
    if (j == w->active) {
        w->pc = target;
        return RUN_OK;
    }
    w->run->res->stats.divergences++;
    if (w->run->opt.branch_order == MACHINE_TAKEN_FIRST) {
        park(w, w->active & ~j, w->pc);
        w->active = j;
        w->pc = target;
    } else {
        park(w, j, target);
        w->active &= ~j;
    }
    return RUN_OK;
}

/* ---- BRX, CALL, RET: a target for each lane ---- */

static int op_indirect(Warp *w, Dec *d, uint32_t guard) {
    uint32_t g = with_pp(w, d, guard);
    if (!g)
        return RUN_OK;
    const uint32_t *lo = dec_src(w, d, 0), *hi = d->wide ? lo + 32 : NULL;
    uint64_t base = (d->imm[0] == BasePCMode_ABS ? 0 : pc_address(w->run, w->pc)) + (uint64_t)d->target;
    uint32_t t[32];
    const MachineReplayStep *step = replay_take(w, d, REPLAY_TARGET);
    unsigned nth = 0;
    for (uint32_t m = g; m; m &= m - 1) {
        unsigned lane = low_lane(m);
        if (step && step->lanes >> lane & 1) {
            if (nth == 4 || !code_index(w->run, step->target[nth++], &t[lane]))
                return bad_target(w, d, lane, step->target[nth - 1]);
            continue;
        }
        uint64_t v = hi ? (uint64_t)hi[lane] << 32 | lo[lane] : (uint64_t)(int64_t)(int32_t)lo[lane];
        if (d->optype == OT_CALL ? !call_index(w->run, base + v, &t[lane])
                                 : !code_index(w->run, base + v, &t[lane]))
            return bad_target(w, d, lane, base + v);
    }
    if (g != w->active) {
        w->run->res->stats.divergences++;
        for (uint32_t m = g; m; m &= m - 1)
            w->rpc[low_lane(m)] = t[low_lane(m)];
        w->active &= ~g;
        return RUN_OK;
    }
    uint32_t pc = t[pick(w, g)], same = 0;
    for (uint32_t m = g; m; m &= m - 1) {
        unsigned lane = low_lane(m);
        if (t[lane] == pc)
            same |= 1u << lane;
        else
            w->rpc[lane] = t[lane];
    }
    if (same != g)
        w->run->res->stats.divergences++;
    w->active = same;
    w->pc = pc;
    return RUN_OK;
}

static int op_lepc(Warp *w, Dec *d, uint32_t g) {
    uint64_t v = pc_address(w->run, own_pc(w, d)) + (uint64_t)d->target;
    uint32_t *lo = dec_dst(w, d, 0), *hi = lo + 32;
    for (; g; g &= g - 1) {
        unsigned lane = low_lane(g);
        lo[lane] = (uint32_t)v;
        hi[lane] = (uint32_t)(v >> 32);
    }
    return RUN_OK;
}

/* ---- EXIT ---- */

static int op_exit(Warp *w, Dec *d, uint32_t guard) {
    uint32_t g = with_pp(w, d, guard);
    w->valid &= ~g;
    w->yield &= w->valid; /* bits of lanes that are gone have no effect; cleared so that states compare */
    w->sleep &= w->valid;
    w->blocked &= w->valid;
    if (w->active & ~g) {
        w->active &= ~g;
        return RUN_OK;
    }
    w->active = 0;
    if (!w->valid) {
        w->state = WARP_DONE;
        w->cta->ndone++;
        barrier_warp_exited(w->cta);
        return RUN_DONE;
    }
    bool asleep;
    resume(w, prefer(w, w->valid, &asleep));
    return after_switch(w, asleep);
}

/* ---- B registers ---- */

static int op_bssy(Warp *w, Dec *d, uint32_t guard) {
    w->b[d->breg] |= with_pp(w, d, guard);
    return RUN_OK;
}

static int op_break(Warp *w, Dec *d, uint32_t guard) {
    w->b[d->breg] &= ~with_pp(w, d, guard);
    return RUN_OK;
}

static int op_bmov_to_r(Warp *w, Dec *d, uint32_t g) {
    uint32_t *r = dec_dst(w, d, 0);
    for (uint32_t m = g; m; m &= m - 1)
        r[low_lane(m)] = w->b[d->breg];
    if (d->imm[0] && g)
        w->b[d->breg] = 0;
    return RUN_OK;
}

static int op_bmov_to_b(Warp *w, Dec *d, uint32_t g) {
    if (g)
        w->b[d->breg] = dec_src(w, d, 0)[low_lane(g)];
    return RUN_OK;
}

/* More than 16 switches in a row at BSYNC contradict the register order that lowering guarantees. */
static void count_hop(Warp *w, const Dec *d) {
    uint64_t now = w->run->ticks - (uint64_t)w->run->quota;
    w->run->res->stats.bsync_hops++;
    w->hops = w->last_hop + 1 == now ? w->hops + 1 : 1;
    w->last_hop = now;
    if (w->hops > 16)
        machine_finding(w, d, MF_BSYNC_HOPS, w->active, 0, "%u switches in a row", w->hops);
}

/* Who runs instead of the group that waits at this BSYNC; 0: nobody, let it pass. */
static uint32_t bsync_candidates(const Warp *w, uint32_t arrived, uint32_t pending) {
    uint32_t c = w->valid & ~arrived & ~w->yield & ~w->sleep;
    if (c & pending)
        return c & pending;
    switch (w->run->opt.bsync_nb) {
    case MACHINE_NB_LITERAL: return c;
    case MACHINE_NB_BLOCKED: return c & ~w->blocked;
    default: return 0;
    }
}

static int op_bsync(Warp *w, Dec *d, uint32_t guard) {
    uint32_t g = with_pp(w, d, guard), pc = own_pc(w, d);
    if (g != w->active)
        return split_here(w, d, g);
    uint32_t arrived = w->active | lanes_at(w, pc);
    uint32_t pending = w->b[d->breg] &= w->valid & ~arrived;
    uint32_t next = pending ? bsync_candidates(w, arrived, pending) : 0;
    if (next) {
        park(w, w->active, pc);
        w->blocked |= w->active;
        w->active = 0;
        resume(w, next);
        count_hop(w, d);
        return RUN_OK;
    }
    w->run->res->stats.bsync_releases += pending != 0;
    w->active = arrived;
    w->yield &= ~arrived;
    w->sleep &= ~arrived;
    w->blocked &= ~arrived;
    return RUN_OK;
}

/* ---- YIELD, NANOSLEEP ---- */

/* Hand over to another group; the active lanes continue at the next instruction. */
static int hand_over(Warp *w, bool to_sleep) {
    uint32_t old = w->active, others = w->valid & ~old;
    w->switch_mask &= others;
    if (!w->switch_mask)
        w->switch_mask = others;
    if (to_sleep)
        w->sleep |= old;
    bool asleep;
    uint32_t c = prefer(w, w->switch_mask, &asleep);
    park(w, old, w->pc);
    w->yield |= old;
    w->active = 0;
    resume(w, c);
    w->switch_mask &= ~w->active;
    if (!w->switch_mask)
        w->switch_mask = w->valid & ~w->active;
    return after_switch(w, asleep);
}

static int op_yield(Warp *w, Dec *d, uint32_t guard) {
    uint32_t g = with_pp(w, d, guard);
    if (g != w->active)
        return split_here(w, d, g);
    return w->valid & ~w->active ? hand_over(w, false) : RUN_OK;
}

static int op_nanosleep(Warp *w, Dec *d, uint32_t guard) {
    uint32_t g = with_pp(w, d, guard);
    if (g != w->active)
        return split_here(w, d, g);
    if (w->run->opt.replay) /* time is no matter of schedules */
        return w->valid & ~w->active ? hand_over(w, false) : RUN_OK;
    const uint32_t *ns = dec_src(w, d, 0);
    uint32_t least = MAX_SLEEP_NS;
    for (uint32_t m = g; m; m &= m - 1)
        least = ns[low_lane(m)] < least ? ns[low_lane(m)] : least;
    uint64_t now = w->run->ticks - (uint64_t)w->run->quota;
    uint64_t deadline = now + (uint64_t)least * w->run->opt.ticks_per_us / 1000 + 1;
    if (!w->timer_on || deadline < w->deadline)
        w->deadline = deadline;
    w->timer_on = true;
    if (w->valid & ~w->active) {
        int status = hand_over(w, true);
        return status == RUN_OK ? RUN_PAUSE : status; /* the loop must see the new deadline */
    }
    w->state = WARP_ASLEEP;
    return RUN_ASLEEP;
}

/* ---- WARPSYNC ---- */

/* A lane that is here with another mask has not arrived for these. */
static bool masks_agree(const Warp *w, const Dec *d, uint32_t lanes) {
    const uint32_t *mask = dec_src(w, d, 0);
    uint32_t differ = 0;
    for (uint32_t m = lanes; m; m &= m - 1)
        differ |= (mask[low_lane(m)] ^ d->xm[0]) ^ lanes;
    return !(differ & w->valid);
}

static int op_warpsync(Warp *w, Dec *d, uint32_t guard) {
    uint32_t g = with_pp(w, d, guard), pc = own_pc(w, d);
    if (g != w->active)
        return split_here(w, d, g);
    const uint32_t *mask = dec_src(w, d, 0);
    const MachineReplayStep *step = replay_take(w, d, REPLAY_MASK);
    if (step) {
        uint32_t here = w->active | lanes_at(w, pc);
        w->active = here;
        w->sleep &= ~here;
        w->blocked &= ~here;
        return RUN_OK;
    }
    if (g == w->valid && !d->v[0].mask &&
        !(w->valid & ~(mask[0] ^ d->xm[0]))) { /* a constant, everybody here */
        w->sleep &= ~g;
        w->blocked &= ~g;
        return RUN_OK;
    }
    uint32_t arrived = w->active | lanes_at(w, pc), complete = 0, wanted = 0;
    for (uint32_t m = w->active; m; m &= m - 1)
        if (!((mask[low_lane(m)] ^ d->xm[0]) >> low_lane(m) & 1)) {
            w->pc = pc;
            return machine_trap(w, d, low_lane(m), TRAP_COLLECTIVE,
                                "E-WS-NOT-MEMBER: WARPSYNC mask 0x%08x lacks the lane",
                                mask[low_lane(m)] ^ d->xm[0]);
        }
    for (uint32_t m = arrived; m; m &= m - 1) {
        unsigned lane = low_lane(m);
        uint32_t s = (mask[lane] ^ d->xm[0]) & w->valid;
        wanted |= s;
        if (!(s & ~arrived) && masks_agree(w, d, s))
            complete |= 1u << lane;
    }
    if (!complete && !(wanted & ~arrived)) {
        unsigned lane = low_lane(w->active);
        w->pc = pc;
        return machine_trap(w, d, lane, TRAP_COLLECTIVE,
                            "E-WS-MASK: all lanes of WARPSYNC mask 0x%08x are here with other masks",
                            mask[lane] ^ d->xm[0]);
    }
    if (!complete) {
        bool asleep;
        uint32_t c = wanted & ~arrived, fresh = c & ~w->tried;
        if (!fresh) { /* all had their turn: from the start */
            w->tried &= ~c;
            fresh = c;
        }
        c = prefer(w, fresh, &asleep);
        park(w, w->active, pc);
        w->blocked |= w->active;
        w->active = 0;
        resume(w, c);
        w->tried |= w->active;
        return after_switch(w, asleep);
    }
    w->tried = 0;
    uint32_t s = (mask[pick(w, complete)] ^ d->xm[0]) & w->valid;
    park(w, w->active & ~s, pc);
    w->blocked |= w->active & ~s;
    w->active = s;
    w->sleep &= ~s;
    w->blocked &= ~s;
    return RUN_OK;
}

/* ---- TRAP, RTT, SYSCALL: calls to the host ---- */

/* Ask the host's handler whether to go on. */
static bool host_goes_on(Warp *w, const Dec *d, uint32_t g, MachineCallKind kind) {
    const Run *r = w->run;
    if (!r->opt.call)
        return false;
    uint64_t pc = pc_address(r, own_pc(w, d));
    const BinFunc *f = binary_func_at(r->bin, pc);
    uint64_t in_func = f ? pc - f->address : pc;
    MachineCall c = {.kind = kind,
                     .name = isa_optype_name(d->optype),
                     .warp = w->index,
                     .pc_bytes = pc,
                     .func_pc_bytes = in_func,
                     .func = f,
                     .lanes = g,
                     .has_value = kind == MACHINE_CALL_TRAP,
                     .regs = (const uint32_t(*)[32])(const void *)w->rows};
    if (f && f->locs && in_func / INST_BYTES < f->ninsts)
        c.ptx_line = f->locs[in_func / INST_BYTES].ptx_line;
    memcpy(c.block, w->cta->id, sizeof c.block);
    for (uint32_t m = c.has_value ? g : 0; m; m &= m - 1)
        c.value[low_lane(m)] = d->nv ? dec_src(w, d, 0)[low_lane(m)] : d->imm[0];
    return r->opt.call(r->opt.call_user, &c);
}

static int op_trap(Warp *w, Dec *d, uint32_t g) {
    if (!g || host_goes_on(w, d, g, MACHINE_CALL_TRAP))
        return RUN_OK;
    uint32_t v = d->nv ? dec_src(w, d, 0)[low_lane(g)] : d->imm[0];
    /* the reasons that lower/select/flow.c writes */
    SimTrapKind why = d->optype != OT_TRAP ? TRAP_INSTRUCTION
                      : v == 2             ? TRAP_BREAKPOINT
                      : v == 3             ? TRAP_BRANCH_INDEX
                                           : TRAP_INSTRUCTION;
    return machine_trap(w, d, low_lane(g), why, "%s 0x%x", isa_optype_name(d->optype), v);
}

/* The specification gives these no meaning of their own: without a handler they cannot be executed. */
static int op_host_call(Warp *w, Dec *d, uint32_t g) {
    MachineCallKind kind = d->optype == OT_RTT ? MACHINE_CALL_RTT : MACHINE_CALL_SYSCALL;
    if (!g || host_goes_on(w, d, g, kind))
        return RUN_OK;
    if (w->run->opt.call)
        return machine_trap(w, d, low_lane(g), TRAP_INSTRUCTION, "%s", isa_optype_name(d->optype));
    return machine_trap(w, d, low_lane(g), TRAP_UNSUPPORTED, "%s without a handler",
                        isa_optype_name(d->optype));
}

/* ---- binding ---- */

static bool control(Bind *b, OpFn *fn, unsigned cls) {
    bind_operands(b);
    b->d->full = b->d->part = fn;
    b->d->always = 1;
    b->d->cls = (uint8_t)cls;
    b->d->target = b->in->wide;
    return !b->failed;
}

bool bind_BRA(Bind *b) {
    if (!control(b, op_bra, CLS_OTHER))
        return false;
    b->d->imm[0] = MGET(BRA, cond, b->in->mods);
    b->d->nv = b->in->opcode == OC_BRA_U || b->in->opcode == OC_BRA_NU;
    return true;
}

static bool indirect(Bind *b, uint32_t mode, bool wide) {
    b->width[0] = wide ? WIDTH_I64 : WIDTH_32;
    if (!control(b, op_indirect, CLS_OTHER))
        return false;
    b->d->imm[0] = mode;
    b->d->wide = wide;
    return true;
}
bool bind_BRX(Bind *b) {
    return indirect(b, BasePCMode_REL, b->in->opcode == OC_BRX_N || b->in->opcode == OC_BRX_NU);
}
bool bind_CALL(Bind *b) { return indirect(b, MGET(CALL, mode, b->in->mods), true); }
bool bind_RET(Bind *b) { return indirect(b, MGET(RET, mode, b->in->mods), true); }

bool bind_LEPC(Bind *b) { return control(b, op_lepc, CLS_OTHER); }
bool bind_EXIT(Bind *b) { return control(b, op_exit, CLS_OTHER); }
bool bind_KILL(Bind *b) { return control(b, op_exit, CLS_OTHER); }
bool bind_BSSY(Bind *b) { return control(b, op_bssy, CLS_B); }
bool bind_BSYNC(Bind *b) { return control(b, op_bsync, CLS_B); }
bool bind_YIELD(Bind *b) { return control(b, op_yield, CLS_B); }
bool bind_BREAK(Bind *b) { return control(b, op_break, CLS_B); }
bool bind_WARPSYNC(Bind *b) { return control(b, op_warpsync, CLS_B); }
bool bind_NANOSLEEP(Bind *b) { return control(b, op_nanosleep, CLS_OTHER); }
bool bind_RTT(Bind *b) { return control(b, op_host_call, CLS_OTHER); }
bool bind_SYSCALL(Bind *b) { return control(b, op_host_call, CLS_OTHER); }
bool bind_TRAP(Bind *b) { return control(b, op_trap, CLS_OTHER); }
bool bind_BPT(Bind *b) { return control(b, op_trap, CLS_OTHER); }

bool bind_BMOV(Bind *b) {
    bool to_r = b->in->opcode == OC_BMOV_X || b->in->opcode == OC_BMOV_NX;
    if (!control(b, to_r ? op_bmov_to_r : op_bmov_to_b, CLS_B))
        return false;
    b->d->imm[0] = MGET(BMOV, clear, b->in->mods);
    return true;
}
