/* Warp collectives and barriers of the PTX interpreter (PTX ISA 9.7.13.1 to 9.7.13.14, 9.7.9.6).
 *
 * A .sync collective completes when every lane of its mask that has not exited waits at an operation with the
 * same qualifiers and the same mask, wherever in the code. A barrier first gathers the lanes of a warp that
 * have not exited, then the warp arrives at the block's barrier.
 * SPDX-License-Identifier: MIT */
#include "sim/interp/run.h"
#include <stdio.h>

#define EACH_LANE(i, mask) /* each lane of a mask, ascending */                                              \
    for (uint32_t left_##i = (mask), i; left_##i && (i = (uint32_t)__builtin_ctz(left_##i), true);           \
         left_##i &= left_##i - 1)

void interp_wake(PtxThread *thread) {
    uint32_t bit = 1u << thread->lane;
    thread->state = TS_RUN;
    thread->warp->block->runnable[thread->warp->index] |= bit;
    thread->warp->at_collective &= ~bit;
    thread->warp->at_barrier &= ~bit;
}

void interp_block_thread(PtxThread *thread, PtxThreadState state, const PtxCode *c) {
    uint32_t bit = 1u << thread->lane;
    thread->state = (uint8_t)state;
    thread->wait = c;
    thread->warp->block->runnable[thread->warp->index] &= ~bit;
    thread->warp->at_collective |= state == TS_COLLECTIVE ? bit : 0;
    thread->warp->at_barrier |= state == TS_BARRIER ? bit : 0;
}

/* ---- collectives ---- */

static void shuffle(PtxWarp *warp, uint32_t lanes) {
    uint64_t values[32];
    EACH_LANE(i, lanes)
        values[i] = warp->threads[i].wait_value[0];
    EACH_LANE(lane, lanes) {
        PtxThread *thread = &warp->threads[lane];
        uint32_t b = (uint32_t)thread->wait_value[1] & 31, c = (uint32_t)thread->wait_value[2];
        uint32_t clamp = c & 31, seg = c >> 8 & 31;
        uint32_t max = (lane & seg) | (clamp & ~seg & 31), min = lane & seg;
        int32_t j = 0;
        bool in_range = false;
        switch (thread->wait->sub) {
        case SUB_UP:
            j = (int32_t)lane - (int32_t)b;
            in_range = j >= (int32_t)max;
            break;
        case SUB_DOWN:
            j = (int32_t)(lane + b);
            in_range = j <= (int32_t)max;
            break;
        case SUB_BFLY:
            j = (int32_t)(lane ^ b);
            in_range = j <= (int32_t)max;
            break;
        default:
            j = (int32_t)(min | (b & ~seg));
            in_range = j <= (int32_t)max;
            break;
        }
        bool takes_part = in_range && (lanes >> j & 1); /* else undefined in PTX */
        if (in_range && !takes_part)
            interp_warn(warp->block->run, thread, thread->wait, TRAP_COLLECTIVE,
                        "the value comes from a lane that takes no part");
        uint64_t value = values[takes_part ? (uint32_t)j : lane];
        if (in_range && !takes_part)
            value = interp_unwritten_lane(warp->block->run, value);
        interp_put(thread, thread->wait->dst[0], value);
        if (thread->wait->ndst > 1)
            interp_put(thread, thread->wait->dst[1], in_range);
    }
}

static uint64_t vote_result(unsigned sub, uint32_t ballot, uint32_t lanes) {
    switch (sub) {
    case SUB_ALL: return ballot == lanes;
    case SUB_ANY: return ballot != 0;
    case SUB_UNI: return ballot == lanes || ballot == 0;
    default: return ballot;
    }
}

static void vote_all(PtxWarp *warp, uint32_t lanes) {
    uint32_t ballot = 0;
    EACH_LANE(i, lanes)
        ballot |= (uint32_t)(warp->threads[i].wait_value[0] & 1) << i;
    EACH_LANE(i, lanes) {
        PtxThread *thread = &warp->threads[i];
        interp_put(thread, thread->wait->dst[0], vote_result(thread->wait->sub, ballot, lanes));
    }
}

static void exec_match(PtxWarp *warp, uint32_t lanes) {
    uint64_t mask = width_mask(ptx_type_bytes((PtxType)warp->threads[__builtin_ctz(lanes)].wait->type));
    EACH_LANE(i, lanes) {
        PtxThread *thread = &warp->threads[i];
        uint32_t same = 0;
        EACH_LANE(j, lanes)
            same |= (uint32_t)(((warp->threads[j].wait_value[0] ^ thread->wait_value[0]) & mask) == 0) << j;
        if (thread->wait->sub == SUB_ALL) {
            interp_put(thread, thread->wait->dst[0], same == lanes ? lanes : 0);
            if (thread->wait->ndst > 1)
                interp_put(thread, thread->wait->dst[1], same == lanes);
        } else {
            interp_put(thread, thread->wait->dst[0], same);
        }
    }
}

static uint32_t reduce(const PtxCode *code, uint32_t a, uint32_t b) {
    bool is_signed = code->type == TY_S32;
    switch (code->atom) {
    case ATOM_ADD: return a + b;
    case ATOM_MIN: return (is_signed ? (int32_t)a < (int32_t)b : a < b) ? a : b;
    case ATOM_MAX: return (is_signed ? (int32_t)a > (int32_t)b : a > b) ? a : b;
    case ATOM_AND: return a & b;
    case ATOM_OR: return a | b;
    default: return a ^ b;
    }
}

static void redux(PtxWarp *warp, uint32_t lanes) {
    uint32_t first = (uint32_t)__builtin_ctz(lanes), v = (uint32_t)warp->threads[first].wait_value[0];
    EACH_LANE(i, lanes & ~(1u << first))
        v = reduce(warp->threads[i].wait, v, (uint32_t)warp->threads[i].wait_value[0]);
    EACH_LANE(i, lanes)
        interp_put(&warp->threads[i], warp->threads[i].wait->dst[0], v);
}

static void elect(PtxWarp *warp, uint32_t lanes) {
    uint32_t leader = (uint32_t)__builtin_ctz(lanes);
    EACH_LANE(i, lanes) {
        PtxThread *thread = &warp->threads[i];
        interp_put(thread, thread->wait->dst[0], leader);
        interp_put(thread, thread->wait->dst[1], i == leader);
    }
}

/* bar.warp.sync orders memory; the collectives that move values do not. */
static void warp_barrier(PtxWarp *warp, uint32_t lanes) {
    RaceGather g = {0};
    EACH_LANE(i, lanes)
        interp_race_arrive(warp->block->run, &g, &warp->threads[i]);
    EACH_LANE(i, lanes)
        interp_race_depart(warp->block->run, &g, &warp->threads[i]);
    interp_race_gather_free(&g);
}

/* Complete the collective that `t` waits at, if all its lanes are there. */
static void try_collective(PtxWarp *warp, const PtxThread *thread) {
    uint32_t lanes = thread->wait_mask & warp->alive;
    if (lanes & ~warp->at_collective)
        return;
    EACH_LANE(i, lanes) {
        const PtxThread *ptx_thread = &warp->threads[i];
        if (ptx_thread->wait_mask != thread->wait_mask || ptx_thread->wait->key != thread->wait->key)
            return;
    }
    thread->wait->gather(warp, lanes);
    EACH_LANE(i, lanes)
        interp_wake(&warp->threads[i]);
}

/* ---- barriers ---- */

static void release_barrier(PtxBlock *b, unsigned id) {
    PtxBarrier done = b->bars[id];
    b->bars[id] = (PtxBarrier){.active = false};
    EACH_LANE(wi, done.waiting_warps) {
        PtxWarp *warp = &b->warps[wi];
        EACH_LANE(i, warp->alive) {
            PtxThread *thread = &warp->threads[i];
            if (thread->state != TS_BLOCK || thread->wait_value[0] != id)
                continue;
            if (thread->wait->sub == SUB_RED) {
                uint64_t v = thread->wait->bop == BOP_POPC  ? done.red_true
                             : thread->wait->bop == BOP_AND ? done.red_true == done.red_lanes
                                                            : done.red_true != 0;
                interp_put(thread, thread->wait->dst[0], v);
            }
            interp_race_depart(b->run, &done.gather, thread);
            interp_wake(thread);
        }
    }
    interp_race_gather_free(&done.gather);
}

/* Who has ended counts as arrived: what it did is done before the others go on (CUDA Programming Guide 10.6:
 * __syncthreads waits for all threads that have not exited). */
static void gather_ended(PtxBlock *b, RaceGather *gather) {
    for (uint32_t i = 0; i < b->nthreads; i++)
        if (b->threads[i].state == TS_EXITED)
            interp_race_arrive(b->run, gather, &b->threads[i]);
}

static void check_barrier(PtxBlock *b, unsigned id) {
    PtxBarrier *bar = &b->bars[id];
    if (!bar->active)
        return;
    bool done = bar->expected && bar->arrived_threads >= bar->expected;
    if (!bar->expected) {
        done = true;
        for (uint32_t i = 0; i < b->nwarps; i++)
            done = done && (b->warps[i].alive == 0 || (bar->arrived_warps >> i & 1));
        if (done)
            gather_ended(b, &bar->gather);
    }
    if (done)
        release_barrier(b, id);
}

/* No thread of the block can run: barriers whose missing arrivals could only be those of warps that have
 * ended are released. While another thread could still arrive, an ended warp does not stand for it. False if
 * there are none. */
bool interp_release_for_ended(PtxBlock *b) {
    uint32_t ended = 0;
    for (uint32_t i = 0; i < b->nwarps; i++)
        ended |= (uint32_t)(b->warps[i].alive == 0) << i;
    bool released = false;
    for (unsigned id = 0; ended && id < 16; id++) {
        PtxBarrier *bar = &b->bars[id];
        uint32_t missing = (uint32_t)__builtin_popcount(ended & ~bar->arrived_warps) * SIM_WARP_LANES;
        if (bar->active && bar->waiting_warps && bar->expected &&
            bar->arrived_threads + missing >= bar->expected) {
            gather_ended(b, &bar->gather);
            release_barrier(b, id);
            released = true;
        }
    }
    return released;
}

/* All lanes of the warp wait at one barrier: the warp arrives. */
static void warp_arrives(PtxRun *r, PtxWarp *warp) {
    PtxThread *first = &warp->threads[__builtin_ctz(warp->alive)];
    unsigned id = (unsigned)first->wait_value[0];
    uint32_t count = (uint32_t)first->wait_value[1];
    PtxBlock *b = warp->block;
    PtxBarrier *bar = &b->bars[id];
    if (bar->active && bar->expected != count) {
        interp_trap(r, first, first->wait, TRAP_BARRIER, "the barrier is in use with another thread count");
        return;
    }
    bar->active = true;
    bar->expected = count;
    bar->arrived_threads += SIM_WARP_LANES;
    bar->arrived_warps |= 1u << warp->index;
    bool waits = first->wait->sub != SUB_ARRIVE;
    if (waits)
        bar->waiting_warps |= 1u << warp->index;
    EACH_LANE(i, warp->alive) {
        PtxThread *thread = &warp->threads[i];
        interp_race_arrive(r, &bar->gather, thread);
        if (thread->wait->sub == SUB_RED) {
            bar->red_lanes++;
            bar->red_true += (uint32_t)(thread->wait_value[2] & 1);
        }
        if (waits)
            thread->state = TS_BLOCK;
        else
            interp_wake(thread);
    }
    check_barrier(b, id);
}

static void check_warp_barrier(PtxRun *run, PtxWarp *warp) {
    if (!warp->alive || warp->alive & ~warp->at_barrier)
        return;
    const PtxThread *first = &warp->threads[__builtin_ctz(warp->alive)];
    bool same_insn = true, aligned = false;
    EACH_LANE(i, warp->alive) {
        const PtxThread *thread = &warp->threads[i];
        if (thread->state != TS_BARRIER || thread->wait_value[0] != first->wait_value[0] ||
            thread->wait_value[1] != first->wait_value[1] || thread->wait->key != first->wait->key)
            return;
        same_insn = same_insn && thread->wait == first->wait;
        aligned = aligned || thread->wait->insn->op == PTX_BAR || (thread->wait->insn->flags & PF_ALIGNED);
    }
    if (aligned && !same_insn && !run->opt.allow_divergent_barriers)
        interp_trap(run, first, first->wait, TRAP_DIVERGENT_BARRIER,
                    "lanes of one warp wait at different instructions");
    else
        warp_arrives(run, warp);
}

/* ---- activemask ---- */

static void give_active(PtxWarp *warp, uint32_t group) {
    EACH_LANE(i, group) {
        interp_put(&warp->threads[i], warp->threads[i].wait->dst[0], group);
        interp_wake(&warp->threads[i]);
    }
}

/* The masks of PtxRunOptions.active that a lane has not had. */
static const uint32_t *masks_left(const PtxThread *thread, uint32_t *n) {
    const PtxBlock *block = thread->warp->block;
    const PtxActive *active = block->run->opt.active;
    const uint32_t *grid = block->run->launch->grid;
    uint64_t number = block->ctaid[0] +
                      (uint64_t)grid[0] * (block->ctaid[1] + (uint64_t)grid[1] * block->ctaid[2]),
             at = number * block->nthreads + thread->linear;
    uint32_t begin = active->first[at] + thread->nactive;
    *n = active->first[at + 1] - begin;
    return active->masks + begin;
}

/* Where `mask` is among the first `most` of them; the number of these: it is not. */
static uint32_t find_mask(const PtxThread *thread, uint32_t mask, uint32_t most) {
    uint32_t n, at = 0;
    const uint32_t *masks = masks_left(thread, &n);
    while (at < n && at < most && masks[at] != mask)
        at++;
    return at < n ? at : most;
}

/* Do all lanes of the mask stand where `lead` does, and does each get it among the next `most`? */
static bool meets(const PtxWarp *warp, uint32_t waiting, unsigned lead, uint32_t mask, uint32_t most) {
    bool all = mask >> lead & 1 && !(mask & ~waiting);
    EACH_LANE(i, all ? mask : 0)
        all &= warp->threads[i].wait == warp->threads[lead].wait &&
               find_mask(&warp->threads[i], mask, most) < most;
    return all;
}

/* Lanes that get what they are said to get, if that is among the next `most`. Returns them. */
static uint32_t release_expected(PtxWarp *warp, uint32_t waiting, uint32_t most) {
    uint32_t released = 0;
    EACH_LANE(lead, waiting) {
        uint32_t n, at = 0;
        const uint32_t *masks = masks_left(&warp->threads[lead], &n);
        n = n < most ? n : most;
        while (at < n && !meets(warp, waiting & ~released, lead, masks[at], most))
            at++;
        if (at == n || released >> lead & 1)
            continue;
        uint32_t mask = masks[at];
        EACH_LANE(i, mask)
            warp->threads[i].nactive += find_mask(&warp->threads[i], mask, most) + 1;
        give_active(warp, mask);
        released |= mask;
    }
    return released;
}

/* As PtxRunOptions.active says. False: it says nothing of lanes that stand together, or what it said did not
 * come true too often. */
static bool release_as_expected(PtxWarp *warp, uint32_t waiting) {
    enum { LATER = 32, MOST_LOST = 4096 };
    PtxRunResult *res = warp->block->run->res;
    if (!warp->block->run->opt.active || !waiting || res->nactive_later + res->nactive_other > MOST_LOST)
        return false;
    uint32_t next = release_expected(warp, waiting, 1),
             later = next ? 0 : release_expected(warp, waiting, LATER);
    res->nactive += (unsigned)__builtin_popcount(next);
    res->nactive_later += (unsigned)__builtin_popcount(later);
    res->nactive_other += next || later ? 0 : (unsigned)__builtin_popcount(waiting);
    return next || later;
}

bool interp_release_active(PtxWarp *warp) {
    PtxRun *run = warp->block->run;
    uint32_t waiting = 0;
    EACH_LANE(i, warp->alive)
        waiting |= (uint32_t)(warp->threads[i].state == TS_ACTIVE) << i;
    warp->spins = 0;
    if (release_as_expected(warp, waiting))
        return true;
    for (uint32_t left = waiting; left;) {
        const PtxCode *code = warp->threads[__builtin_ctz(left)].wait;
        uint32_t group = 0;
        EACH_LANE(i, left)
            group |= (uint32_t)(warp->threads[i].wait == code) << i;
        if (run->opt.split_active) { /* each with those of its part, which are at least the lane itself */
            uint32_t part = (uint32_t)rng_next(&run->rng);
            group &= part >> __builtin_ctz(left) & 1 ? part : ~part;
        }
        give_active(warp, group);
        left &= ~group;
    }
    return waiting != 0;
}

/* The last lane that could run has stopped: those that wait for company at activemask have all they get. */
static void gather_active(PtxWarp *warp) {
    if (warp->block->runnable[warp->index] == 0 && warp->alive)
        interp_release_active(warp);
}

void interp_lane_ended(PtxRun *r, PtxWarp *warp) {
    EACH_LANE(i, warp->alive & warp->at_collective) {
        if (warp->at_collective >> i & 1)
            try_collective(warp, &warp->threads[i]);
    }
    check_warp_barrier(r, warp);
    gather_active(warp);
    for (unsigned id = 0; id < 16 && !warp->alive; id++)
        check_barrier(warp->block, id);
    if (!warp->alive)
        interp_products_given(warp);
}

/* ---- instructions ---- */

static PtxStep blocked(PtxRun *run, PtxThread *thread) {
    if (thread->state == TS_COLLECTIVE)
        try_collective(thread->warp, thread);
    else if (thread->state == TS_BARRIER)
        check_warp_barrier(run, thread->warp);
    gather_active(thread->warp);
    return thread->state == TS_RUN && !run->trapped ? STEP_GO : STEP_STOP;
}

static PtxStep exec_collective(PtxRun *r, PtxThread *thread, const PtxCode *code) {
    for (unsigned i = 0; i < code->nsrc && i < 4; i++)
        thread->wait_value[i] = interp_arg(r, thread, &code->src[i]);
    thread->wait_mask = (uint32_t)thread->wait_value[code->nsrc - 1];
    if (!(thread->wait_mask >> thread->lane & 1))
        return interp_trap(r, thread, code, TRAP_COLLECTIVE, "the executing lane is not in the member mask");
    interp_block_thread(thread, TS_COLLECTIVE, code);
    return blocked(r, thread);
}

PtxStep interp_meet(PtxRun *run, PtxThread *thread, const PtxCode *code, uint32_t mask, uint64_t value) {
    thread->wait_value[0] = value;
    thread->wait_mask = mask;
    interp_block_thread(thread, TS_COLLECTIVE, code);
    return blocked(run, thread);
}

static PtxStep exec_activemask(PtxRun *r, PtxThread *t, const PtxCode *c) {
    interp_block_thread(t, TS_ACTIVE, c);
    return blocked(r, t);
}

/* `what` has one %llu, for the value. */
__attribute__((format(printf, 4, 0))) static PtxStep barrier_misuse(PtxRun *r, PtxThread *t, const PtxCode *c,
                                                                    const char *what, uint64_t value) {
    char text[80];
    snprintf(text, sizeof text, what, (unsigned long long)value);
    return interp_trap(r, t, c, TRAP_BARRIER, text);
}

static PtxStep exec_barrier(PtxRun *r, PtxThread *thread, const PtxCode *code) {
    bool red = code->sub == SUB_RED;
    unsigned n = red ? code->nsrc - 1u : code->nsrc;
    uint64_t id = (uint32_t)interp_arg(r, thread, &code->src[0]);
    uint64_t count = n > 1 ? (uint32_t)interp_arg(r, thread, &code->src[1]) : 0;
    if (id > 15)
        return barrier_misuse(r, thread, code, "barrier number %llu is above 15", id);
    if (n > 1 && (count == 0 || count % SIM_WARP_LANES))
        return barrier_misuse(r, thread, code, "thread count %llu is no multiple of 32", count);
    if (count > thread->warp->block->nwarps * SIM_WARP_LANES)
        return barrier_misuse(r, thread, code, "thread count %llu is larger than the block", count);
    thread->wait_value[0] = id;
    thread->wait_value[1] = count;
    thread->wait_value[2] = red ? interp_arg(r, thread, &code->src[n]) : 0;
    interp_block_thread(thread, TS_BARRIER, code);
    return blocked(r, thread);
}

/* ---- binding ---- */

/* Lanes meet at instructions of one key. */
static bool collective(PtxCode *code, PtxGather *gather, unsigned nsrc) {
    code->key = (uint32_t)code->insn->op << 22 | (uint32_t)code->sub << 15 | (uint32_t)code->type << 9 |
                (uint32_t)code->atom << 4 | code->bop;
    code->exec = exec_collective;
    code->gather = gather;
    return code->nsrc == nsrc;
}
bool interp_bind_shfl(PtxCode *code) { return collective(code, shuffle, 4); }
bool interp_bind_vote(PtxCode *code) { return collective(code, vote_all, 2); }
bool interp_bind_match(PtxCode *code) { return collective(code, exec_match, 2); }
bool interp_bind_redux(PtxCode *code) { return collective(code, redux, 2); }
bool interp_bind_elect(PtxCode *code) { return collective(code, elect, 1) && code->ndst == 2; }
bool interp_bind_warp_barrier(PtxCode *code) { return collective(code, warp_barrier, 1); }
bool interp_bind_bar(PtxCode *code) {
    code->key = (uint32_t)code->sub << 3 | code->bop;
    code->exec = exec_barrier;
    return code->nsrc >= 1;
}
BIND_EXEC(activemask, exec_activemask)
