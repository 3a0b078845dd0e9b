/* Warp collectives and barriers of the PTX interpreter (PTX ISA 9.7.13.1 to 9.7.13.14, 9.7.9.6).
 *
 * A .sync collective completes when every lane of its mask that has not exited waits at an operation with the
 * same qualifiers and the same mask, wherever in the code. A barrier first gathers the lanes of a warp that
 * have not exited, then the warp arrives at the block's barrier.
 * SPDX-License-Identifier: MIT */
#include "sim/interp/run.h"
#include <stdio.h>

#define LANES(i, mask) /* each lane of a mask, ascending */                                                  \
    for (uint32_t left_##i = (mask), i; left_##i && (i = (uint32_t)__builtin_ctz(left_##i), true);           \
         left_##i &= left_##i - 1)

void ptx_wake(PtxThread *t) {
    uint32_t bit = 1u << t->lane;
    t->state = TS_RUN;
    t->warp->block->runnable[t->warp->index] |= bit;
    t->warp->at_collective &= ~bit;
    t->warp->at_barrier &= ~bit;
}

void ptx_block_thread(PtxThread *t, PtxThreadState state, const PtxCode *c) {
    uint32_t bit = 1u << t->lane;
    t->state = (uint8_t)state;
    t->wait = c;
    t->warp->block->runnable[t->warp->index] &= ~bit;
    t->warp->at_collective |= state == TS_COLLECTIVE ? bit : 0;
    t->warp->at_barrier |= state == TS_BARRIER ? bit : 0;
}

/* ---- collectives ---- */

static void shuffle(PtxWarp *w, uint32_t lanes) {
    uint64_t values[32];
    LANES(i, lanes) values[i] = w->threads[i].wait_value[0];
    LANES(lane, lanes) {
        PtxThread *t = &w->threads[lane];
        uint32_t b = (uint32_t)t->wait_value[1] & 31, c = (uint32_t)t->wait_value[2];
        uint32_t clamp = c & 31, seg = c >> 8 & 31;
        uint32_t max = (lane & seg) | (clamp & ~seg & 31), min = lane & seg;
        int32_t j = 0;
        bool in_range = false;
        switch (t->wait->sub) {
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
        bool takes_part = in_range && (lanes >> j & 1); /* else undefined in PTX; own value here */
        if (in_range && !takes_part)
            ptx_warn(w->block->run, t, t->wait, TRAP_COLLECTIVE,
                     "the value comes from a lane that takes no part");
        ptx_put(t, t->wait->dst[0], values[takes_part ? (uint32_t)j : lane]);
        if (t->wait->ndst > 1)
            ptx_put(t, t->wait->dst[1], in_range);
    }
}

static uint64_t vote(unsigned sub, uint32_t ballot, uint32_t lanes) {
    switch (sub) {
    case SUB_ALL: return ballot == lanes;
    case SUB_ANY: return ballot != 0;
    case SUB_UNI: return ballot == lanes || ballot == 0;
    default: return ballot;
    }
}

static void vote_all(PtxWarp *w, uint32_t lanes) {
    uint32_t ballot = 0;
    LANES(i, lanes) ballot |= (uint32_t)(w->threads[i].wait_value[0] & 1) << i;
    LANES(i, lanes) {
        PtxThread *t = &w->threads[i];
        ptx_put(t, t->wait->dst[0], vote(t->wait->sub, ballot, lanes));
    }
}

static void match(PtxWarp *w, uint32_t lanes) {
    uint64_t mask = width_mask(ptx_type_bytes((PtxType)w->threads[__builtin_ctz(lanes)].wait->type));
    LANES(i, lanes) {
        PtxThread *t = &w->threads[i];
        uint32_t same = 0;
        LANES(j, lanes)
        same |= (uint32_t)(((w->threads[j].wait_value[0] ^ t->wait_value[0]) & mask) == 0) << j;
        if (t->wait->sub == SUB_ALL) {
            ptx_put(t, t->wait->dst[0], same == lanes ? lanes : 0);
            if (t->wait->ndst > 1)
                ptx_put(t, t->wait->dst[1], same == lanes);
        } else {
            ptx_put(t, t->wait->dst[0], same);
        }
    }
}

static uint32_t reduce(const PtxCode *c, uint32_t a, uint32_t b) {
    bool is_signed = c->type == TY_S32;
    switch (c->atom) {
    case ATOM_ADD: return a + b;
    case ATOM_MIN: return (is_signed ? (int32_t)a < (int32_t)b : a < b) ? a : b;
    case ATOM_MAX: return (is_signed ? (int32_t)a > (int32_t)b : a > b) ? a : b;
    case ATOM_AND: return a & b;
    case ATOM_OR: return a | b;
    default: return a ^ b;
    }
}

static void redux(PtxWarp *w, uint32_t lanes) {
    uint32_t first = (uint32_t)__builtin_ctz(lanes), v = (uint32_t)w->threads[first].wait_value[0];
    LANES(i, lanes & ~(1u << first)) v = reduce(w->threads[i].wait, v, (uint32_t)w->threads[i].wait_value[0]);
    LANES(i, lanes) ptx_put(&w->threads[i], w->threads[i].wait->dst[0], v);
}

static void elect(PtxWarp *w, uint32_t lanes) {
    uint32_t leader = (uint32_t)__builtin_ctz(lanes);
    LANES(i, lanes) {
        PtxThread *t = &w->threads[i];
        ptx_put(t, t->wait->dst[0], leader);
        ptx_put(t, t->wait->dst[1], i == leader);
    }
}

/* bar.warp.sync orders memory; the collectives that move values do not. */
static void warp_barrier(PtxWarp *w, uint32_t lanes) {
    RaceGather g = {0};
    LANES(i, lanes) race_arrive(w->block->run, &g, &w->threads[i]);
    LANES(i, lanes) race_depart(w->block->run, &g, &w->threads[i]);
    race_gather_free(&g);
}

static void perform(PtxWarp *w, uint32_t lanes) {
    switch (w->threads[__builtin_ctz(lanes)].wait->insn->op) {
    case PTX_SHFL: shuffle(w, lanes); break;
    case PTX_VOTE: vote_all(w, lanes); break;
    case PTX_MATCH: match(w, lanes); break;
    case PTX_REDUX: redux(w, lanes); break;
    case PTX_ELECT: elect(w, lanes); break;
    default: warp_barrier(w, lanes); break;
    }
    LANES(i, lanes) ptx_wake(&w->threads[i]);
}

/* Complete the collective that `t` waits at, if all its lanes are there. */
static void try_collective(PtxWarp *w, const PtxThread *t) {
    uint32_t lanes = t->wait_mask & w->alive;
    if (lanes & ~w->at_collective)
        return;
    LANES(i, lanes) {
        const PtxThread *u = &w->threads[i];
        if (u->wait_mask != t->wait_mask || u->wait->key != t->wait->key)
            return;
    }
    perform(w, lanes);
}

/* ---- barriers ---- */

static void release_barrier(PtxBlock *b, unsigned id) {
    PtxBarrier done = b->bars[id];
    b->bars[id] = (PtxBarrier){.active = false};
    LANES(wi, done.waiting_warps) {
        PtxWarp *w = &b->warps[wi];
        LANES(i, w->alive) {
            PtxThread *t = &w->threads[i];
            if (t->state != TS_BLOCK || t->wait_value[0] != id)
                continue;
            if (t->wait->sub == SUB_RED) {
                uint64_t v = t->wait->bop == BOP_POPC  ? done.red_true
                             : t->wait->bop == BOP_AND ? done.red_true == done.red_lanes
                                                       : done.red_true != 0;
                ptx_put(t, t->wait->dst[0], v);
            }
            race_depart(b->run, &done.gather, t);
            ptx_wake(t);
        }
    }
    race_gather_free(&done.gather);
}

static void check_barrier(PtxBlock *b, unsigned id) {
    const PtxBarrier *bar = &b->bars[id];
    if (!bar->active)
        return;
    bool done = bar->expected && bar->arrived_threads >= bar->expected;
    if (!bar->expected) {
        done = true;
        for (uint32_t i = 0; i < b->nwarps; i++)
            done = done && (b->warps[i].alive == 0 || (bar->arrived_warps >> i & 1));
    }
    if (done)
        release_barrier(b, id);
}

/* All lanes of the warp wait at one barrier: the warp arrives. */
static void warp_arrives(PtxRun *r, PtxWarp *w) {
    PtxThread *first = &w->threads[__builtin_ctz(w->alive)];
    unsigned id = (unsigned)first->wait_value[0];
    uint32_t count = (uint32_t)first->wait_value[1];
    PtxBlock *b = w->block;
    PtxBarrier *bar = &b->bars[id];
    if (bar->active && bar->expected != count) {
        ptx_trap(r, first, first->wait, TRAP_BARRIER, "the barrier is in use with another thread count");
        return;
    }
    bar->active = true;
    bar->expected = count;
    bar->arrived_threads += SIM_WARP_LANES;
    bar->arrived_warps |= 1u << w->index;
    bool waits = first->wait->sub != SUB_ARRIVE;
    if (waits)
        bar->waiting_warps |= 1u << w->index;
    LANES(i, w->alive) {
        PtxThread *t = &w->threads[i];
        race_arrive(r, &bar->gather, t);
        if (t->wait->sub == SUB_RED) {
            bar->red_lanes++;
            bar->red_true += (uint32_t)(t->wait_value[2] & 1);
        }
        if (waits)
            t->state = TS_BLOCK;
        else
            ptx_wake(t);
    }
    check_barrier(b, id);
}

static void check_warp_barrier(PtxRun *r, PtxWarp *w) {
    if (!w->alive || w->alive & ~w->at_barrier)
        return;
    const PtxThread *first = &w->threads[__builtin_ctz(w->alive)];
    bool same_insn = true, aligned = false;
    LANES(i, w->alive) {
        const PtxThread *t = &w->threads[i];
        if (t->state != TS_BARRIER || t->wait_value[0] != first->wait_value[0] ||
            t->wait_value[1] != first->wait_value[1] || t->wait->key != first->wait->key)
            return;
        same_insn = same_insn && t->wait == first->wait;
        aligned = aligned || t->wait->insn->op == PTX_BAR || (t->wait->insn->flags & PF_ALIGNED);
    }
    if (aligned && !same_insn && !r->opt.allow_divergent_barriers)
        ptx_trap(r, first, first->wait, TRAP_DIVERGENT_BARRIER,
                 "lanes of one warp wait at different instructions");
    else
        warp_arrives(r, w);
}

/* ---- activemask ---- */

bool ptx_release_active(PtxWarp *w) {
    uint32_t waiting = 0;
    LANES(i, w->alive) waiting |= (uint32_t)(w->threads[i].state == TS_ACTIVE) << i;
    w->spins = 0;
    for (uint32_t left = waiting; left;) {
        const PtxCode *c = w->threads[__builtin_ctz(left)].wait;
        uint32_t group = 0;
        LANES(i, left) group |= (uint32_t)(w->threads[i].wait == c) << i;
        LANES(i, group) {
            ptx_put(&w->threads[i], c->dst[0], group);
            ptx_wake(&w->threads[i]);
        }
        left &= ~group;
    }
    return waiting != 0;
}

/* The last lane that could run has stopped: those that wait for company at activemask have all they get. */
static void gather_active(PtxWarp *w) {
    if (w->block->runnable[w->index] == 0 && w->alive)
        ptx_release_active(w);
}

void ptx_lane_ended(PtxRun *r, PtxWarp *w) {
    LANES(i, w->alive & w->at_collective) {
        if (w->at_collective >> i & 1)
            try_collective(w, &w->threads[i]);
    }
    check_warp_barrier(r, w);
    gather_active(w);
    for (unsigned id = 0; id < 16 && !w->alive; id++)
        check_barrier(w->block, id);
}

/* ---- instructions ---- */

static PtxStep blocked(PtxRun *r, PtxThread *t) {
    if (t->state == TS_COLLECTIVE)
        try_collective(t->warp, t);
    else if (t->state == TS_BARRIER)
        check_warp_barrier(r, t->warp);
    gather_active(t->warp);
    return t->state == TS_RUN && !r->trapped ? STEP_GO : STEP_STOP;
}

static PtxStep exec_collective(PtxRun *r, PtxThread *t, const PtxCode *c) {
    for (unsigned i = 0; i < c->nsrc && i < 4; i++)
        t->wait_value[i] = ptx_arg(r, t, &c->src[i]);
    t->wait_mask = (uint32_t)t->wait_value[c->nsrc - 1];
    if (!(t->wait_mask >> t->lane & 1))
        return ptx_trap(r, t, c, TRAP_COLLECTIVE, "the executing lane is not in the member mask");
    ptx_block_thread(t, TS_COLLECTIVE, c);
    return blocked(r, t);
}

static PtxStep exec_activemask(PtxRun *r, PtxThread *t, const PtxCode *c) {
    ptx_block_thread(t, TS_ACTIVE, c);
    return blocked(r, t);
}

/* `what` has one %llu, for the value. */
__attribute__((format(printf, 4, 0))) static PtxStep barrier_misuse(PtxRun *r, PtxThread *t, const PtxCode *c,
                                                                    const char *what, uint64_t value) {
    char text[80];
    snprintf(text, sizeof text, what, (unsigned long long)value);
    return ptx_trap(r, t, c, TRAP_BARRIER, text);
}

static PtxStep exec_barrier(PtxRun *r, PtxThread *t, const PtxCode *c) {
    bool red = c->sub == SUB_RED;
    unsigned n = red ? c->nsrc - 1u : c->nsrc;
    uint64_t id = (uint32_t)ptx_arg(r, t, &c->src[0]);
    uint64_t count = n > 1 ? (uint32_t)ptx_arg(r, t, &c->src[1]) : 0;
    if (id > 15)
        return barrier_misuse(r, t, c, "barrier number %llu is above 15", id);
    if (n > 1 && (count == 0 || count % SIM_WARP_LANES))
        return barrier_misuse(r, t, c, "thread count %llu is no multiple of 32", count);
    if (count > t->warp->block->nwarps * SIM_WARP_LANES)
        return barrier_misuse(r, t, c, "thread count %llu is larger than the block", count);
    t->wait_value[0] = id;
    t->wait_value[1] = count;
    t->wait_value[2] = red ? ptx_arg(r, t, &c->src[n]) : 0;
    ptx_block_thread(t, TS_BARRIER, c);
    return blocked(r, t);
}

static bool select_barrier(PtxCode *c) {
    if (c->sub == SUB_WARP) {
        c->exec = exec_collective;
        return c->nsrc == 1;
    }
    if (c->sub2 == SUB_CLUSTER)
        return false;
    c->exec = exec_barrier;
    return (c->sub == SUB_SYNC || c->sub == SUB_ARRIVE || c->sub == SUB_RED) && c->nsrc >= 1;
}

bool ptx_select_warp(PtxRun *r, PtxCode *c) {
    const PtxInsn *in = c->insn;
    (void)r;
    c->key = (uint32_t)in->op << 22 | (uint32_t)c->sub << 15 | (uint32_t)c->type << 9 |
             (uint32_t)c->atom << 4 | c->bop;
    c->exec = exec_collective;
    switch (in->op) {
    case PTX_BAR:
    case PTX_BARRIER: c->key = (uint32_t)c->sub << 3 | c->bop; return select_barrier(c);
    case PTX_SHFL: return (in->flags & PF_SYNC) && c->nsrc == 4;
    case PTX_VOTE: return (in->flags & PF_SYNC) && c->nsrc == 2;
    case PTX_MATCH: return (in->flags & PF_SYNC) && c->nsrc == 2;
    case PTX_REDUX: return c->type != TY_F32 && c->nsrc == 2 && c->atom != ATOM_NONE;
    case PTX_ELECT: return c->nsrc == 1 && c->ndst == 2;
    case PTX_ACTIVEMASK: c->exec = exec_activemask; return true;
    default: return false;
    }
}
