/* The branch unit: group switching, reconvergence, calls, exit, sleep. Reading of the specification as
 * resolved for bru1; variants that a hardware team may want to compare are options of the machine.
 *
 * Words: `park` stores where inactive lanes continue; `resume` makes one parked group active; `prefer` takes
 * lanes that neither sleep nor have yielded, as far as there are any.
 * SPDX-License-Identifier: MIT */
#include "base/rng.h"
#include "isa/machine/abi.h"
#include "sim/machine/internal.h"
#include <string.h>

#define MAX_SLEEP_NS 1000000u /* PTX: 1 ms */

#define BITS8(n) 1u << (n), 2u << (n), 4u << (n), 8u << (n), 16u << (n), 32u << (n), 64u << (n), 128u << (n)
static uint32_t lanes_at(const Warp *warp, uint32_t pc) {
    static const uint32_t bit[32] = {BITS8(0), BITS8(8), BITS8(16), BITS8(24)}; /* not shifted: SSE2 cannot */
    uint32_t m = 0, parked = warp->valid & ~warp->active;
    if (!parked)
        return 0;
    for (unsigned i = 0; i < 32; i++)
        m |= warp->rpc[i] == pc ? bit[i] : 0;
    return m & parked;
}

static void park(Warp *warp, uint32_t lanes, uint32_t pc) {
    for (; lanes; lanes &= lanes - 1)
        warp->rpc[low_lane(lanes)] = pc;
}

/* The lane of a non-empty mask whose group runs next. */
static unsigned pick(Warp *warp, uint32_t m) {
    const MachineReplayStep *step = machine_replay_take(warp, NULL, REPLAY_PICK);
    if (step && step->lanes & m)
        return low_lane(step->lanes & m);
    if (!(m & (m - 1))) /* no choice; the state of random choices stays, so that endless loops are seen */
        return low_lane(m);
    switch (warp->run->opt.lane_choice) {
    case MACHINE_LANE_HIGHEST: return 31u - (unsigned)__builtin_clz(m);
    case MACHINE_LANE_ROTATE: {
        uint32_t above = warp->pick_next < 32 ? m & ~0u << warp->pick_next : 0;
        unsigned lane = low_lane(above ? above : m);
        warp->pick_next = lane + 1;
        return lane;
    }
    case MACHINE_LANE_RANDOM: {
        unsigned n = (unsigned)(rng_next(&warp->run->random) % (unsigned)__builtin_popcount(m));
        while (n--)
            m &= m - 1;
        return low_lane(m);
    }
    default: return low_lane(m);
    }
}

/* Do all candidates sleep? */
static bool all_asleep(const Warp *warp, uint32_t c) {
    switch (warp->run->opt.sleep_test) {
    case MACHINE_SLEEP_SUBSET: return ((c & warp->sleep) ^ warp->sleep) == 0;
    case MACHINE_SLEEP_LITERAL: return ((c & warp->sleep) ^ (uint32_t)(warp->sleep == 0)) != 0;
    default: return !(c & ~warp->sleep);
    }
}

/* `c` without sleepers, else asleep = true; then without yielders if others are left. */
static uint32_t prefer(const Warp *warp, uint32_t c, bool *asleep) {
    *asleep = all_asleep(warp, c);
    uint32_t awake = *asleep || !(c & ~warp->sleep) ? c : c & ~warp->sleep;
    return awake & ~warp->yield ? awake & ~warp->yield : awake;
}

/* Activate the parked group of one lane of `c`; c is not empty and parked. */
static void resume(Warp *warp, uint32_t c) {
    unsigned lane = pick(warp, c);
    uint32_t pc = warp->rpc[lane];
    uint32_t scope = warp->run->opt.join_scope == MACHINE_JOIN_CANDIDATES ? c : warp->valid;
    warp->active = lanes_at(warp, pc) & scope;
    warp->sleep &= ~warp->active;
    warp->blocked &= ~warp->active;
    warp->pc = pc;
    warp->run->res->stats.switches++;
}

/* After resume(prefer(..)): wait for the timer if every candidate slept. Literal tests say so of lanes that
 * do not, too; if no timer runs then, nothing wakes the warp. */
static int after_switch(Warp *warp, bool asleep) {
    if (!asleep)
        return RUN_OK;
    if (!warp->timer_on && warp->run->opt.sleep_test == MACHINE_SLEEP_AWAKE) {
        warp->sleep = 0;
        return RUN_OK;
    }
    if (!warp->timer_on)
        warp->deadline = UINT64_MAX;
    warp->state = WARP_ASLEEP;
    return RUN_ASLEEP;
}

static uint32_t with_pp(const Warp *w, const Dec *dec, uint32_t g) {
    return dec->nq ? g & dec_pred(w, dec, 0) : g;
}
static uint32_t own_pc(const Warp *warp, const Dec *d) { return (uint32_t)(d - warp->prog); }

/* Mixed guard at a synchronising instruction: the true lanes stay here, the others run on. */
static int split_here(Warp *warp, const Dec *dec, uint32_t g) {
    park(warp, g, own_pc(warp, dec));
    if (g && (dec->optype == OT_BSYNC || isa_traits(dec->optype)->flow == ISA_FLOW_WARPSYNC))
        warp->blocked |= g;
    warp->active &= ~g;
    return RUN_OK; /* pc is already the next instruction */
}

static int bad_pc(Warp *warp, const Dec *d, unsigned lane, uint64_t address) {
    warp->pc = own_pc(warp, d);
    return machine_trap_address(warp, d, lane, TRAP_PC, address, "branch target");
}

static int bad_target(Warp *warp, Dec *dec, unsigned lane, uint64_t address) {
    if (dec->optype != OT_CALL)
        return bad_pc(warp, dec, lane, address);
    warp->pc = own_pc(warp, dec);
    return machine_trap_address(warp, dec, lane, TRAP_CALL_TARGET, address, "no function");
}

/* Code index of an address; false if misaligned or outside. */
static bool code_index(const Run *run, uint64_t address, uint32_t *pc) {
    uint64_t offset = address - run->bin->code_base;
    *pc = (uint32_t)(offset / INST_BYTES);
    return offset % INST_BYTES == 0 && offset / INST_BYTES < run->ncode;
}

/* The function that has this address as a value; NULL if there is none. */
static const FuncPlace *func_place(const Run *run, uint64_t address) {
    uint32_t lo = 0, hi = run->nfunc_places;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (run->func_places[mid].address < address)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < run->nfunc_places && run->func_places[lo].address == address ? &run->func_places[lo] : NULL;
}

/* ---- functions of the driver: isa/machine/system.h ---- */

typedef struct {
    Warp *warp;
    Dec *dec;
    unsigned lane;
} SystemMemory;

static bool system_read(void *memory, uint64_t address, void *bytes, unsigned size_bytes) {
    SystemMemory *m = memory;
    MemRef ref;
    if (machine_mem_ref(m->warp, m->dec, m->lane, MS_GENERIC, address, size_bytes, false, &ref) != RUN_OK)
        return false;
    machine_mem_load(m->warp, m->lane, &ref, size_bytes, bytes);
    return true;
}

static uint32_t *lane_reg(Warp *warp, unsigned reg, unsigned lane) {
    return (uint32_t *)(void *)(warp->rows + reg * ROW_BYTES + 4 * lane);
}

static uint64_t lane_regs(Warp *warp, unsigned reg, unsigned lane, unsigned bytes) {
    uint64_t low = *lane_reg(warp, reg, lane);
    return bytes == 8 ? low | (uint64_t)*lane_reg(warp, reg + 1, lane) << 32 : low;
}

/* What malloc gave holds what was freed there, zeros at first. */
static void start_piece(const Run *run, uint64_t address, uint64_t bytes) {
    SimAlloc *heap =
        run->opt.unwritten == MACHINE_UNWRITTEN_OTHER ? simmem_find(run->mem, address, bytes) : NULL;
    if (heap)
        machine_fill_unwritten(run, heap->data + (address - heap->address), bytes);
}

/* One lane calls; *pc becomes the place where it goes on. */
static int call_system(Warp *warp, Dec *dec, unsigned lane, const char *name, uint32_t *pc) {
    Run *run = warp->run;
    SystemMemory memory = {warp, dec, lane};
    SystemCall call = {.func = system_find(name),
                       .read = system_read,
                       .memory = &memory,
                       .heap = run->mem,
                       .print = run->opt.print,
                       .print_user = run->opt.print_user};
    if (call.func == SYSTEM_COUNT)
        return machine_trap(warp, dec, lane, TRAP_UNSUPPORTED, "call of %s", name);
    const SystemInfo *info = system_info(call.func);
    unsigned reg = ABI_FIRST_REG;
    for (unsigned k = 0; k < SYSTEM_MAX_PARAMS && info->param_bytes[k]; k++) {
        reg += info->param_bytes[k] == 8 ? reg & 1 : 0;
        call.params[k] = lane_regs(warp, reg, lane, info->param_bytes[k]);
        reg += info->param_bytes[k] / 4;
    }
    memcpy(call.block, warp->cta->id, sizeof call.block);
    machine_thread(warp, lane, call.thread);
    switch (sim_system_call(&call)) {
    case SYSTEM_RETURNS:
        if (call.func == SYSTEM_MALLOC && call.result)
            start_piece(run, call.result, call.params[0]);
        break;
    case SYSTEM_BAD_FREE:
        return machine_trap_address(warp, dec, lane, TRAP_OUT_OF_RANGE, call.params[0],
                                    "free of what malloc did not give");
    case SYSTEM_ASSERTION: return machine_trap(warp, dec, lane, TRAP_ASSERTION, "%s", call.failed);
    default: return RUN_TRAP; /* the read that failed has said why */
    }
    for (unsigned k = 0; k < info->result_bytes / 4u; k++)
        *lane_reg(warp, ABI_FIRST_REG + k, lane) = (uint32_t)(call.result >> 32 * k);
    uint64_t back = lane_regs(warp, ABI_SYSTEM_RETURN_REG, lane, 8);
    return code_index(run, back, pc) ? RUN_OK : bad_target(warp, dec, lane, back);
}

/* Where a call goes: an address in the code, or a function's address as a value. */
static int call_target(Warp *warp, Dec *dec, unsigned lane, uint64_t address, uint32_t *pc) {
    if (code_index(warp->run, address, pc))
        return RUN_OK;
    const FuncPlace *place = func_place(warp->run, address);
    if (place && place->external)
        return call_system(warp, dec, lane, place->external, pc);
    if (!place)
        return bad_target(warp, dec, lane, address);
    *pc = place->pc;
    return RUN_OK;
}

/* ---- BRA ---- */

/* Lanes that jump; g: active lanes whose guard and pp are true. */
static uint32_t bra_lanes(const Warp *warp, const Dec *dec, uint32_t g) {
    uint32_t cond = dec->imm[0];
    if (cond == BRACond_NoCond)
        return g;
    if (cond == BRACond_U && dec->imm[1]) /* .ANY */
        return g ? warp->active : 0;
    if (cond == BRACond_U)
        return g == warp->active ? g : 0;
    if (!dec->nv) {
        bool diverged = (g ^ warp->valid) != 0;
        return diverged == (cond == BRACond_DIV) ? g : 0;
    }
    uint32_t u = dec_src(warp, dec, 0)[0] ^ dec->xm[0];
    bool diverged = ((warp->valid & ~warp->active) & u) != 0 ||
                    (g != 0 && g != warp->active && (warp->active & ~g & u) != 0);
    return g != 0 && diverged == (cond == BRACond_DIV) ? warp->active : 0;
}

static int op_bra(Warp *warp, Dec *dec, uint32_t guard) {
    uint32_t g = with_pp(warp, dec, guard);
    uint32_t j = bra_lanes(warp, dec, g);
    if (!j)
        return RUN_OK;
    uint32_t target;
    if (!code_index(warp->run, pc_address(warp->run, warp->pc) + (uint64_t)dec->target, &target))
        return bad_pc(warp, dec, low_lane(j), pc_address(warp->run, warp->pc) + (uint64_t)dec->target);
    if (j == warp->active) {
        warp->pc = target;
        return RUN_OK;
    }
    warp->run->res->stats.divergences++;
    if (warp->run->opt.branch_order == MACHINE_TAKEN_FIRST) {
        park(warp, warp->active & ~j, warp->pc);
        warp->active = j;
        warp->pc = target;
    } else {
        park(warp, j, target);
        warp->active &= ~j;
    }
    return RUN_OK;
}

/* ---- BRX, CALL, RET: a target for each lane ---- */

static int op_indirect(Warp *warp, Dec *dec, uint32_t guard) {
    uint32_t g = with_pp(warp, dec, guard);
    if (!g)
        return RUN_OK;
    const uint32_t *lo = dec_src(warp, dec, 0), *hi = dec->wide ? lo + 32 : NULL;
    uint64_t base = (dec->imm[0] ? 0 : pc_address(warp->run, warp->pc)) + (uint64_t)dec->target;
    uint32_t t[32];
    const MachineReplayStep *step = machine_replay_take(warp, dec, REPLAY_TARGET);
    unsigned nth = 0;
    for (uint32_t m = g; m; m &= m - 1) {
        unsigned lane = low_lane(m);
        if (step && step->lanes >> lane & 1) {
            if (nth == 4 || !code_index(warp->run, step->target[nth++], &t[lane]))
                return bad_target(warp, dec, lane, step->target[nth - 1]);
            continue;
        }
        uint64_t v = hi ? (uint64_t)hi[lane] << 32 | lo[lane] : (uint64_t)(int64_t)(int32_t)lo[lane];
        if (dec->optype == OT_CALL) {
            int status = call_target(warp, dec, lane, base + v, &t[lane]);
            if (status != RUN_OK)
                return status;
        } else if (!code_index(warp->run, base + v, &t[lane])) {
            return bad_target(warp, dec, lane, base + v);
        }
    }
    if (g != warp->active) {
        warp->run->res->stats.divergences++;
        for (uint32_t m = g; m; m &= m - 1)
            warp->rpc[low_lane(m)] = t[low_lane(m)];
        warp->active &= ~g;
        return RUN_OK;
    }
    uint32_t pc = t[pick(warp, g)], same = 0;
    for (uint32_t m = g; m; m &= m - 1) {
        unsigned lane = low_lane(m);
        if (t[lane] == pc)
            same |= 1u << lane;
        else
            warp->rpc[lane] = t[lane];
    }
    if (same != g)
        warp->run->res->stats.divergences++;
    warp->active = same;
    warp->pc = pc;
    return RUN_OK;
}

static int op_lepc(Warp *warp, Dec *dec, uint32_t g) {
    uint64_t v = pc_address(warp->run, own_pc(warp, dec)) + (uint64_t)dec->target;
    uint32_t *lo = dec_dst(warp, dec, 0), *hi = lo + 32;
    for (; g; g &= g - 1) {
        unsigned lane = low_lane(g);
        lo[lane] = (uint32_t)v;
        hi[lane] = (uint32_t)(v >> 32);
    }
    return RUN_OK;
}

/* ---- EXIT ---- */

static int op_exit(Warp *warp, Dec *d, uint32_t guard) {
    uint32_t g = with_pp(warp, d, guard);
    warp->valid &= ~g;
    warp->yield &=
        warp->valid; /* bits of lanes that are gone have no effect; cleared so that states compare */
    warp->sleep &= warp->valid;
    warp->blocked &= warp->valid;
    for (uint32_t rest = warp->valid ? g : 0; rest; rest &= rest - 1)
        warp->exit_pc[low_lane(rest)] = own_pc(warp, d);
    if (warp->active & ~g) {
        warp->active &= ~g;
        return RUN_OK;
    }
    warp->active = 0;
    if (!warp->valid) {
        warp->state = WARP_DONE;
        warp->cta->ndone++;
        machine_barrier_warp_exited(warp->cta);
        machine_cluster_complete(warp->cta);
        return RUN_DONE;
    }
    bool asleep;
    resume(warp, prefer(warp, warp->valid, &asleep));
    return after_switch(warp, asleep);
}

/* ---- B registers ---- */

static int op_bssy(Warp *warp, Dec *dec, uint32_t guard) {
    machine_b_join(warp, dec->breg, with_pp(warp, dec, guard));
    return RUN_OK;
}

static int op_break(Warp *warp, Dec *dec, uint32_t guard) {
    machine_b_leave(warp, dec->breg, with_pp(warp, dec, guard));
    return RUN_OK;
}

static int op_bmov_to_r(Warp *warp, Dec *dec, uint32_t g) {
    uint32_t *r = dec_dst(warp, dec, 0);
    for (uint32_t m = g; m; m &= m - 1)
        r[low_lane(m)] = machine_b_value(warp, dec->breg, low_lane(m));
    if (dec->imm[0])
        machine_b_clear(warp, dec->breg, g, !dec->imm[1]);
    return RUN_OK;
}

static int op_bmov_to_b(Warp *warp, Dec *dec, uint32_t g) {
    machine_b_give(warp, dec->breg, g, dec_src(warp, dec, 0));
    return RUN_OK;
}

/* More than 16 switches in a row at BSYNC contradict the register order that lowering guarantees. */
static void count_hop(Warp *warp, const Dec *d) {
    uint64_t now = warp->run->ticks - (uint64_t)warp->run->quota;
    warp->run->res->stats.bsync_hops++;
    warp->hops = warp->last_hop + 1 == now ? warp->hops + 1 : 1;
    warp->last_hop = now;
    if (warp->hops > 16)
        machine_finding(warp, d, MF_BSYNC_HOPS, warp->active, 0, "%u switches in a row", warp->hops);
}

/* Who runs instead of the group that waits at this BSYNC; 0: nobody, let it pass. */
static uint32_t bsync_candidates(const Warp *warp, uint32_t arrived, uint32_t pending) {
    uint32_t c = warp->valid & ~arrived & ~warp->yield & ~warp->sleep;
    if (c & pending)
        return c & pending;
    switch (warp->run->opt.bsync_nb) {
    case MACHINE_NB_LITERAL: return c;
    case MACHINE_NB_BLOCKED: return c & ~warp->blocked;
    default: return 0;
    }
}

static int bsync_waits(Warp *warp, const Dec *dec, uint32_t next) {
    park(warp, warp->active, own_pc(warp, dec));
    warp->blocked |= warp->active;
    warp->active = 0;
    resume(warp, next);
    count_hop(warp, dec);
    return RUN_OK;
}

static int bsync_lets_pass(Warp *warp, uint32_t arrived) {
    warp->active = arrived;
    warp->yield &= ~arrived;
    warp->sleep &= ~arrived;
    warp->blocked &= ~arrived;
    return RUN_OK;
}

/* Where BSSY sets the register each lane waits for its own companions (members.c). Lanes of several sets may
 * be here together; whose set is complete goes on. */
static int bsync_of_members(Warp *warp, const Dec *dec) {
    uint32_t here = warp->active | lanes_at(warp, own_pc(warp, dec)), missing, come;
    uint32_t pass = machine_b_complete(warp, dec->breg, here, &missing, &come);
    if (!pass) {
        uint32_t next = bsync_candidates(warp, come, missing & ~machine_b_wait_for(warp, missing, here));
        if (next)
            return bsync_waits(warp, dec, next);
        pass = here;
        warp->run->res->stats.bsync_releases++;
    }
    machine_b_leave(warp, dec->breg, pass);
    park(warp, warp->active & ~pass, own_pc(warp, dec));
    warp->blocked |= warp->active & ~pass;
    return bsync_lets_pass(warp, pass);
}

static int op_bsync(Warp *warp, Dec *dec, uint32_t guard) {
    uint32_t g = with_pp(warp, dec, guard), pc = own_pc(warp, dec);
    if (g != warp->active)
        return split_here(warp, dec, g);
    if (warp->run->bssy_assigns)
        return bsync_of_members(warp, dec);
    uint32_t arrived = warp->active | lanes_at(warp, pc);
    uint32_t cleared = warp->run->opt.bsync_clear == MACHINE_CLEAR_ACTIVE ? warp->active : arrived;
    uint32_t pending = warp->b[dec->breg] &= warp->valid & ~cleared;
    uint32_t next = pending ? bsync_candidates(warp, arrived, pending) : 0;
    if (next)
        return bsync_waits(warp, dec, next);
    warp->run->res->stats.bsync_releases += pending != 0;
    return bsync_lets_pass(warp, arrived);
}

/* ---- YIELD, NANOSLEEP ---- */

/* Hand over to another group; the active lanes continue at `next`. */
static int hand_over(Warp *warp, uint32_t next, bool to_sleep) {
    uint32_t old = warp->active, others = warp->valid & ~old;
    warp->switch_mask &= others;
    if (!warp->switch_mask)
        warp->switch_mask = others;
    if (to_sleep)
        warp->sleep |= old;
    bool asleep;
    uint32_t c = prefer(warp, warp->switch_mask, &asleep);
    park(warp, old, next);
    warp->yield |= old;
    warp->active = 0;
    resume(warp, c);
    warp->switch_mask &= ~warp->active;
    if (!warp->switch_mask)
        warp->switch_mask = warp->valid & ~warp->active;
    return after_switch(warp, asleep);
}

static int op_yield(Warp *warp, Dec *d, uint32_t guard) {
    uint32_t g = with_pp(warp, d, guard);
    if (g != warp->active)
        return split_here(warp, d, g);
    uint32_t next = warp->run->opt.yield_pc == MACHINE_YIELD_OWN ? own_pc(warp, d) : warp->pc;
    return warp->valid & ~warp->active ? hand_over(warp, next, false) : RUN_OK;
}

static int op_nanosleep(Warp *warp, Dec *d, uint32_t guard) {
    uint32_t g = with_pp(warp, d, guard);
    if (g != warp->active)
        return split_here(warp, d, g);
    bool literal = warp->run->opt.nanosleep == MACHINE_NANOSLEEP_LITERAL;
    uint32_t next = literal ? own_pc(warp, d) : warp->pc;
    if (warp->run->opt.replay) /* time is no matter of schedules */
        return warp->valid & ~warp->active ? hand_over(warp, next, false) : RUN_OK;
    const uint32_t *ns = dec_src(warp, d, 0);
    uint32_t least = MAX_SLEEP_NS;
    for (uint32_t m = g; m; m &= m - 1)
        least = ns[low_lane(m)] < least ? ns[low_lane(m)] : least;
    uint64_t now = warp->run->ticks - (uint64_t)warp->run->quota;
    uint64_t deadline = now + (uint64_t)least * warp->run->opt.ticks_per_us / 1000 + 1;
    if (!warp->timer_on || deadline < warp->deadline)
        warp->deadline = deadline;
    warp->timer_on = true;
    if (warp->valid & ~warp->active) {
        int status = hand_over(warp, next, !literal);
        return status == RUN_OK ? RUN_PAUSE : status; /* the loop must see the new deadline */
    }
    warp->state = WARP_ASLEEP;
    return RUN_ASLEEP;
}

/* ---- WARPSYNC ---- */

/* Where `lane` waits: WARPSYNC.COLLECTIVE takes lanes that are parked at another place as well. */
static const Dec *warpsync_place(const Warp *warp, const Dec *dec, unsigned lane) {
    if (dec->optype != OT_WARPSYNC_COLLECTIVE || warp->active >> lane & 1)
        return dec;
    const Dec *there = machine_dec_at(warp, warp->rpc[lane]);
    return there && there->optype == OT_WARPSYNC_COLLECTIVE ? there : dec;
}

static uint32_t warpsync_mask(const Warp *warp, const Dec *dec, unsigned lane) {
    const Dec *place = warpsync_place(warp, dec, lane);
    return dec_src(warp, place, 0)[lane] ^ place->xm[0];
}

/* Do all lanes bring the same mask? */
static bool one_mask(const Dec *dec) { return dec->optype == OT_WARPSYNC && dec_src_is_constant(dec, 0); }

/* The same instruction, its control bits aside? They begin at bit 102. */
static bool same_code(const Warp *warp, uint32_t a, uint32_t b) {
    const uint64_t(*code)[2] = warp->run->code;
    return code[a][0] == code[b][0] && (code[a][1] ^ code[b][1]) << (128 - 102) == 0;
}

/* The first place from `pc` on whose instruction is no fence. */
static uint32_t behind_fences(const Warp *warp, uint32_t pc) {
    const uint32_t fence = ISA_EFFECT_READ | ISA_EFFECT_WRITE | ISA_EFFECT_ORDER;
    const Run *run = warp->run;
    char error[ISA_ERROR_BYTES];
    MachInst read;
    const MachInst *in;
    while (pc < run->ncode && (in = binary_inst(run->bin, run->code, pc, &read, error)) != NULL &&
           isa_traits(in->optype)->effects == fence && in->ndst == 0)
        pc++;
    return pc;
}

/* The same instructions behind two WARPSYNC.COLLECTIVE, up to their targets? Fences, which are nothing here,
 * may stand behind one alone: barrier.cluster.arrive has some where it releases, and none where it is
 * relaxed. */
static bool same_collective(const Warp *warp, const Dec *a, const Dec *b) {
    uint32_t i = own_pc(warp, a) + 1, end_i = own_pc(warp, a) + (uint32_t)(a->target / INST_BYTES);
    uint32_t k = own_pc(warp, b) + 1, end_k = own_pc(warp, b) + (uint32_t)(b->target / INST_BYTES);
    while (i <= end_i && k <= end_k) {
        if (!same_code(warp, i, k)) {
            uint32_t at = i + k;
            i = behind_fences(warp, i);
            k = behind_fences(warp, k);
            if (at == i + k)
                return false;
        } else {
            i++;
            k++;
        }
    }
    return i > end_i && k > end_k;
}

/* Parked lanes that have come to this WARPSYNC, or to a WARPSYNC.COLLECTIVE with the same code behind it. */
static uint32_t warpsync_parked(const Warp *warp, const Dec *dec) {
    uint32_t pc = own_pc(warp, dec), m = lanes_at(warp, pc);
    if (dec->optype != OT_WARPSYNC_COLLECTIVE)
        return m;
    for (uint32_t rest = warp->valid & ~warp->active & ~m; rest; rest &= rest - 1) {
        unsigned lane = low_lane(rest);
        const Dec *place = warpsync_place(warp, dec, lane);
        uint32_t goes = place->guard == REG_PT && !place->gx ? with_pp(warp, place, ~0u) : 0;
        if (place != dec && goes == ~0u && same_collective(warp, dec, place))
            m |= 1u << lane;
    }
    return m;
}

uint32_t machine_warpsync_lacks(const Warp *warp, unsigned lane) {
    const Dec *place = warp->active >> lane & 1 ? NULL : machine_dec_at(warp, warp->rpc[lane]);
    if (!place || (place->optype != OT_WARPSYNC && place->optype != OT_WARPSYNC_COLLECTIVE))
        return 0;
    return warpsync_mask(warp, place, lane) & warp->valid & ~warpsync_parked(warp, place);
}

/* A lane that is here with another mask has not arrived for these. */
static bool masks_agree(const Warp *warp, const Dec *dec, uint32_t lanes) {
    uint32_t differ = 0;
    for (uint32_t m = lanes; m; m &= m - 1)
        differ |= warpsync_mask(warp, dec, low_lane(m)) ^ lanes;
    return !(differ & warp->valid);
}

static int bad_mask(Warp *warp, const Dec *dec, unsigned lane, const char *what) {
    warp->pc = own_pc(warp, dec);
    return machine_trap(warp, dec, lane, TRAP_COLLECTIVE, what, warpsync_mask(warp, dec, lane));
}

/* Does no lane that is here name another one here that brings another mask? */
static bool masks_here_agree(const Warp *warp, const Dec *dec, uint32_t arrived) {
    for (uint32_t m = arrived; m; m &= m - 1)
        for (uint32_t t = warpsync_mask(warp, dec, low_lane(m)) & arrived; t; t &= t - 1)
            if ((warpsync_mask(warp, dec, low_lane(t)) ^ warpsync_mask(warp, dec, low_lane(m))) & warp->valid)
                return false;
    return true;
}

/* Lanes whose whole mask is here, and the lanes that are named. */
static uint32_t find_complete(const Warp *warp, const Dec *dec, uint32_t arrived, uint32_t *named) {
    bool literal = warp->run->opt.warpsync_masks == MACHINE_MASKS_VALID;
    uint32_t complete = 0, looked_at = literal ? warp->valid : arrived;
    *named = 0;
    if (one_mask(dec)) {
        *named = warpsync_mask(warp, dec, 0) & warp->valid;
        return *named & ~arrived ? 0 : looked_at;
    }
    for (uint32_t m = looked_at; m; m &= m - 1) {
        unsigned lane = low_lane(m);
        uint32_t s = warpsync_mask(warp, dec, lane) & warp->valid;
        *named |= s;
        if (!(s & ~arrived) && (literal || masks_agree(warp, dec, s)))
            complete |= 1u << lane;
    }
    return complete;
}

/* Nobody's mask is here: one of the missing lanes runs. */
static int wait_for_mask(Warp *warp, const Dec *dec, uint32_t missing) {
    bool asleep, turns = warp->run->warpsync_turns;
    uint32_t fresh = missing & ~warp->tried;
    if (!fresh) { /* all had their turn: from the start */
        warp->tried &= ~missing;
        fresh = missing;
    }
    uint32_t c = prefer(warp, fresh, &asleep);
    park(warp, warp->active, own_pc(warp, dec));
    warp->blocked |= warp->active;
    warp->active = 0;
    resume(warp, c);
    if (turns)
        warp->tried |= warp->active;
    return after_switch(warp, asleep);
}

/* The lanes of `s`, all of them here, go on. */
static int pass_warpsync(Warp *warp, const Dec *dec, uint32_t s) {
    if (dec->optype == OT_WARPSYNC_COLLECTIVE)
        for (uint32_t m = s; m; m &= m - 1) { /* ENDCOLLECTIVE sends them there */
            const Dec *place = warpsync_place(warp, dec, low_lane(m));
            warp->behind[low_lane(m)] = own_pc(warp, place) + 1 + (uint32_t)(place->target / INST_BYTES);
        }
    park(warp, warp->active & ~s, own_pc(warp, dec));
    warp->blocked |= warp->active & ~s;
    warp->active = s;
    warp->sleep &= ~s;
    warp->blocked &= ~s;
    warp->tried = 0;
    return RUN_OK;
}

static int op_warpsync(Warp *warp, Dec *dec, uint32_t guard) {
    uint32_t g = with_pp(warp, dec, guard);
    if (g != warp->active)
        return split_here(warp, dec, g);
    if (machine_replay_take(warp, dec, REPLAY_MASK))
        return pass_warpsync(warp, dec, warp->active | warpsync_parked(warp, dec));
    if (g == warp->valid && dec_src_is_constant(dec, 0) && !(warp->valid & ~warpsync_mask(warp, dec, 0)))
        return pass_warpsync(warp, dec, g); /* a constant, everybody here: nothing to look for */
    bool members = one_mask(dec) && !(warp->active & ~warpsync_mask(warp, dec, 0));
    for (uint32_t m = members ? 0 : warp->active; m; m &= m - 1)
        if (!(warpsync_mask(warp, dec, low_lane(m)) >> low_lane(m) & 1))
            return bad_mask(warp, dec, low_lane(m), "E-WS-NOT-MEMBER: WARPSYNC mask 0x%08x lacks the lane");
    uint32_t arrived = warp->active | warpsync_parked(warp, dec), named;
    if (warp->run->opt.warpsync_agree == MACHINE_AGREE_ASSERT && !one_mask(dec) &&
        !masks_here_agree(warp, dec, arrived))
        return bad_mask(warp, dec, low_lane(warp->active),
                        "E-WS-MASK: a lane of WARPSYNC mask 0x%08x is here with another mask");
    uint32_t complete = find_complete(warp, dec, arrived, &named);
    if (!complete && named & ~arrived)
        return wait_for_mask(warp, dec, named & ~arrived);
    if (!complete)
        return bad_mask(warp, dec, low_lane(warp->active),
                        "E-WS-MASK: all lanes of WARPSYNC mask 0x%08x are here with other masks");
    unsigned lane = pick(warp, complete);
    uint32_t s = warpsync_mask(warp, dec, lane) & warp->valid;
    for (uint32_t m = dec->imm[1] && !one_mask(dec) ? complete : 0; m; m &= m - 1)
        s |= warpsync_mask(warp, dec, low_lane(m)) & warp->valid;
    if (!s) /* warpsync-masks=valid */
        return bad_mask(warp, dec, lane, "E-WS-MASK: nobody goes on: a lane elsewhere holds mask 0x%08x");
    return pass_warpsync(warp, dec, s);
}

/* Each lane goes on at the target of its own WARPSYNC.COLLECTIVE. */
static int op_endcollective(Warp *warp, Dec *dec, uint32_t g) {
    uint32_t stay = 0;
    for (uint32_t m = g; m; m &= m - 1)
        stay |= (uint32_t)(warp->behind[low_lane(m)] == warp->pc) << low_lane(m);
    if (!stay || g != warp->active)
        return machine_trap(warp, dec, low_lane(g), TRAP_ILLEGAL,
                            "ENDCOLLECTIVE reached without WARPSYNC.COLLECTIVE");
    for (uint32_t m = g & ~stay; m; m &= m - 1)
        warp->rpc[low_lane(m)] = warp->behind[low_lane(m)];
    warp->active = stay;
    return RUN_OK;
}

/* ---- binding ---- */

bool bind_control(Bind *bind, OpFn *fn, unsigned cls) {
    bind_operands(bind);
    bind->d->full = bind->d->part = fn;
    bind->d->cls = (uint8_t)cls;
    bind->d->target = bind->in->wide;
    return !bind->failed;
}

bool bind_BRA(Bind *bind) {
    if (!bind_control(bind, op_bra, CLS_OTHER))
        return false;
    bind->d->imm[0] = MGET(BRA, cond, bind->in->mods);
    bind->d->imm[1] = MGET(BRA, any, bind->in->mods) == BraAny_ANY;
    bind->d->nv = bind->in->opcode == OC_BRA_U || bind->in->opcode == OC_BRA_NU;
    return true;
}

static bool indirect(Bind *bind, bool wide) {
    bind->width[0] = wide ? WIDTH_I64 : WIDTH_32;
    if (!bind_control(bind, op_indirect, CLS_OTHER))
        return false;
    bind->d->imm[0] = isa_is_absolute(bind->in->optype, bind->in->mods);
    bind->d->wide = wide;
    return true;
}
bool bind_BRX(Bind *bind) {
    return indirect(bind, bind->in->opcode == OC_BRX_N || bind->in->opcode == OC_BRX_NU);
}
bool bind_CALL(Bind *bind) { return indirect(bind, true); }
bool bind_RET(Bind *bind) { return indirect(bind, true); }

bool bind_LEPC(Bind *b) { return bind_control(b, op_lepc, CLS_OTHER); }
bool bind_EXIT(Bind *b) { return bind_control(b, op_exit, CLS_OTHER); }
bool bind_KILL(Bind *b) { return bind_control(b, op_exit, CLS_OTHER); }
bool bind_BSSY(Bind *b) { return bind_control(b, op_bssy, CLS_B); }
bool bind_BSYNC(Bind *b) { return bind_control(b, op_bsync, CLS_B); }
bool bind_YIELD(Bind *b) { return bind_control(b, op_yield, CLS_B); }
bool bind_BREAK(Bind *b) { return bind_control(b, op_break, CLS_B); }
bool bind_WARPSYNC(Bind *bind) {
    bool joins = isa_target_info(bind->run->bin->target)->warpsync_joins;
    bind->d->imm[1] = joins && !MGET(WARPSYNC, exclusive, bind->in->mods);
    return bind_control(bind, op_warpsync, CLS_B);
}
static bool keeps_lanes(const MachInst *in) {
    unsigned flow = isa_traits(in->optype)->flow; /* ptxas has barriers of the block there at -O0 */
    return flow <= ISA_FLOW_NOP || flow == ISA_FLOW_BAR || flow == ISA_FLOW_BAR_STATE;
}

/* Nothing on the way to ENDCOLLECTIVE moves lanes, and ENDCOLLECTIVE goes on behind itself with those that
 * came here. */
bool bind_WARPSYNC_COLLECTIVE(Bind *bind) {
    uint32_t end = bind->pc + (uint32_t)(bind->in->wide / INST_BYTES);
    char error[ISA_ERROR_BYTES];
    bool fits = bind->in->wide > 0 && bind->in->wide % INST_BYTES == 0 && end < bind->run->ncode;
    for (uint32_t i = bind->pc + 1; fits && i <= end; i++) {
        MachInst read;
        const MachInst *in = binary_inst(bind->run->bin, bind->run->code, i, &read, error);
        fits = in && (in->optype == OT_ENDCOLLECTIVE) == (i == end) && (i == end || keeps_lanes(in));
    }
    if (!fits)
        return bind_fail(bind,
                         "WARPSYNC.COLLECTIVE without straight code to ENDCOLLECTIVE before its target");
    return bind_control(bind, op_warpsync, CLS_B);
}
bool bind_ENDCOLLECTIVE(Bind *bind) {
    bool guarded = !op_is_always(bind->in->guard) || !op_is_always(bind->in->src[ENDCOLLECTIVE_pp]);
    return guarded ? bind_fail(bind, "guarded ENDCOLLECTIVE") : bind_control(bind, op_endcollective, CLS_B);
}
bool bind_NANOSLEEP(Bind *b) { return bind_control(b, op_nanosleep, CLS_OTHER); }

bool bind_BMOV(Bind *bind) {
    bool to_r = bind->in->opcode == OC_BMOV_X || bind->in->opcode == OC_BMOV_NX;
    if (!bind_control(bind, to_r ? op_bmov_to_r : op_bmov_to_b, CLS_B))
        return false;
    bind->d->imm[0] = MGET(BMOV, clear, bind->in->mods);
    bind->d->imm[1] = to_r && bind->in->dst[0].value == REG_RZ;
    return true;
}
