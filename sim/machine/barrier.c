/* The barrier unit: 16 named barriers of a block, their reductions, and the 32-bit BARState (machine.h).
 *
 * A warp arrives once, with 32 threads, whatever its mask; it blocks as a whole. A barrier with count 0
 * completes when every warp of the block has arrived or exited; one with a count counts arrivals only. Misuse
 * is a trap with a name: E-BAR-LANES   number or count, in a register, differs between the executing lanes
 *   E-BAR-COUNT   the count is not a multiple of 32, or 0 at an ARV
 *   E-BAR-MIX     different counts, or a reduction and something else, at one barrier
 *   E-BAR-OVER    more arrivals than expected
 *   E-BAR-EXITED  nobody can run any more, and a count includes warps that have exited
 * SPDX-License-Identifier: MIT */
#include "sim/machine/internal.h"

enum { KIND_FREE, KIND_SYNC, KIND_RED };

static uint32_t bar_state(const Barrier *b, uint32_t arrived) {
    return (arrived / 32 & 0x3f) | (b->expected / 32 & 0x7f) << 6 | (uint32_t)b->kind << 13 |
           (uint32_t)b->redop << 15 | (uint32_t)b->and_so_far << 17 | (uint32_t)b->or_so_far << 18 |
           (b->popc & 0x7ff) << 19;
}

static bool complete(const Cta *c, const Barrier *b) {
    if (b->expected)
        return b->count == b->expected;
    return b->count + 32 * c->ndone == 32 * c->nwarps;
}

/* Wake everybody, hand out the reduction, free the barrier. */
static void release(Cta *c, Barrier *b) {
    uint32_t copy = bar_state(b, b->count);
    for (uint32_t m = b->waiting; m; m &= m - 1) {
        Warp *w = &c->warps[low_lane(m)];
        w->state = WARP_READY;
        if (b->kind == KIND_RED)
            w->red_copy = copy;
    }
    *b = (Barrier){0};
    if (c->nwarps)
        c->warps[0].run->res->stats.barriers++;
}

void barrier_warp_exited(Cta *c) {
    for (unsigned i = 0; i < NUM_BARRIERS; i++) {
        Barrier *b = &c->bar[i];
        if (b->count && !b->expected && complete(c, b))
            release(c, b);
    }
}

/* A barrier with a count that exited warps would complete, if there is one. */
bool barrier_waits_for_exited(const Cta *c, unsigned *id) {
    for (*id = 0; *id < NUM_BARRIERS; ++*id) {
        const Barrier *b = &c->bar[*id];
        if (b->waiting && b->expected && b->count + 32 * c->ndone >= b->expected)
            return true;
    }
    return false;
}

/* The value of source `i` in the executing lanes; false if they differ. */
static bool agreed(const Warp *w, const Dec *d, unsigned i, uint32_t g, uint32_t *value) {
    const uint32_t *v = dec_src(w, d, i);
    *value = v[low_lane(g)];
    if (!d->v[i].mask)
        return true; /* a constant */
    for (uint32_t m = g; m; m &= m - 1)
        if (v[low_lane(m)] != *value)
            return false;
    return true;
}

/* d->imm[0]: where the count comes from; d->imm[1]: kind and mode. */
enum { CNT_OPERAND, CNT_PACKED_BRU, CNT_PACKED_NATIVE };
enum { MODE_SYNC, MODE_ARV, MODE_RED };

static int operands(Warp *w, Dec *d, uint32_t g, uint32_t *id, uint32_t *cnt) {
    uint32_t v = 0, c = 0;
    if (!agreed(w, d, 0, g, &v) || (d->imm[0] == CNT_OPERAND && !agreed(w, d, 1, g, &c)))
        return machine_trap(w, d, low_lane(g), TRAP_BARRIER,
                            "E-BAR-LANES: barrier operands differ between lanes");
    if (d->imm[0] == CNT_PACKED_BRU)
        c = v >> 4;
    if (d->imm[0] == CNT_PACKED_NATIVE)
        c = v >> 16;
    *id = v & 15; /* of wider operands the low 4 and 12 bits count */
    *cnt = c & 0xfff;
    if (*cnt % 32)
        return machine_trap(w, d, low_lane(g), TRAP_BARRIER,
                            "E-BAR-COUNT: barrier %u: count %u is not a multiple of 32", *id, *cnt);
    if (!*cnt && d->imm[1] == MODE_ARV)
        return machine_trap(w, d, low_lane(g), TRAP_BARRIER,
                            "E-BAR-COUNT: barrier %u: BAR.ARV without a count", *id);
    return RUN_OK;
}

static int arrive(Warp *w, Dec *d, uint32_t g, uint32_t id, uint32_t cnt) {
    Barrier *b = &w->cta->bar[id];
    uint8_t kind = d->imm[1] == MODE_RED ? KIND_RED : KIND_SYNC, redop = (uint8_t)d->k[0];
    if (!b->count) /* warps may wait here already if R2B has emptied it */
        *b = (Barrier){
            .expected = cnt, .kind = kind, .redop = redop, .and_so_far = true, .waiting = b->waiting};
    if (b->expected != cnt)
        return machine_trap(w, d, low_lane(g), TRAP_BARRIER,
                            "E-BAR-MIX: barrier %u: count %u, other warps used %u", id, cnt, b->expected);
    if (b->kind != kind || b->redop != redop)
        return machine_trap(w, d, low_lane(g), TRAP_BARRIER,
                            "E-BAR-MIX: barrier %u: reduction mixed with another kind", id);
    b->count += 32;
    if ((cnt && b->count > cnt) || (!cnt && b->count > 32 * w->cta->nwarps))
        return machine_trap(w, d, low_lane(g), TRAP_BARRIER,
                            "E-BAR-OVER: barrier %u: %u threads arrived, %u expected", id, b->count,
                            cnt ? cnt : 32 * w->cta->nwarps);
    if (kind == KIND_RED) {
        uint32_t p = dec_pred(w, d, 0);
        b->and_so_far = b->and_so_far && !(g & ~p);
        b->or_so_far = b->or_so_far || (g & p);
        b->popc += (uint32_t)__builtin_popcount(g & p);
    }
    return RUN_OK;
}

static int op_bar(Warp *w, Dec *d, uint32_t g) {
    if (!g)
        return RUN_OK;
    uint32_t id = 0, cnt = 0;
    int status = operands(w, d, g, &id, &cnt);
    if (status != RUN_OK)
        return status;
    if (w->active != w->valid || g != w->active)
        machine_finding(w, d, MF_PARTIAL_BARRIER, g, 0, "barrier %u reached by lanes 0x%08x of 0x%08x", id, g,
                        w->valid);
    status = arrive(w, d, g, id, cnt);
    if (status != RUN_OK)
        return status;
    Barrier *b = &w->cta->bar[id];
    if (d->imm[1] != MODE_ARV) {
        b->waiting |= 1u << w->index;
        w->barrier = (uint8_t)id;
        w->state = WARP_AT_BARRIER;
    }
    if (complete(w->cta, b))
        release(w->cta, b);
    return w->state == WARP_AT_BARRIER ? RUN_BLOCKED : RUN_OK;
}

static int op_b2r(Warp *w, Dec *d, uint32_t g) {
    const Barrier *b = &w->cta->bar[d->imm[0] & 15];
    uint32_t v = d->imm[1] ? bar_state(b, b->count) : w->red_copy;
    for (uint32_t *r = dec_dst(w, d, 0); g; g &= g - 1)
        r[low_lane(g)] = v;
    return RUN_OK;
}

static int op_b2r_result(Warp *w, Dec *d, uint32_t g) {
    uint32_t s = w->red_copy, truth = (s >> 15 & 3) == BARREDOp_OR ? s >> 18 & 1 : s >> 17 & 1;
    set_pred(w, d->pd[0], g, truth ? ~0u : 0);
    for (uint32_t *r = dec_dst(w, d, 0); g; g &= g - 1)
        r[low_lane(g)] = s >> 19 & 0x7ff;
    return RUN_OK;
}

static int op_r2b(Warp *w, Dec *d, uint32_t g) {
    if (!g)
        return RUN_OK;
    uint32_t v = dec_src(w, d, d->nv - 1u)[low_lane(g)];
    if (!d->imm[1]) {
        w->red_copy = v;
        return RUN_OK;
    }
    Barrier *b = &w->cta->bar[d->imm[0] & 15];
    uint32_t waiting = b->waiting;
    *b = (Barrier){.count = (v & 0x3f) * 32,
                   .expected = (v >> 6 & 0x7f) * 32,
                   .kind = v >> 13 & 3,
                   .redop = v >> 15 & 3,
                   .and_so_far = v >> 17 & 1,
                   .or_so_far = v >> 18 & 1,
                   .popc = v >> 19 & 0x7ff,
                   .waiting = waiting};
    if (b->count && complete(w->cta, b))
        release(w->cta, b);
    return RUN_OK;
}

static bool barrier_op(Bind *b, OpFn *fn) {
    bind_operands(b);
    b->d->full = b->d->part = fn;
    b->d->always = 1;
    b->d->cls = CLS_OTHER;
    return !b->failed;
}

bool bind_BAR(Bind *b) {
    if (!barrier_op(b, op_bar))
        return false;
    b->d->imm[0] = b->in->opcode == OC_BAR_NRR ? CNT_PACKED_NATIVE : CNT_OPERAND;
    b->d->imm[1] = MGET(BAR, mode, b->in->mods) == BARMode_ARV ? MODE_ARV : MODE_SYNC;
    return true;
}

bool bind_BAR_RED(Bind *b) {
    if (!barrier_op(b, op_bar))
        return false;
    b->d->imm[0] = b->in->opcode == OC_BAR_RED_NRR ? CNT_PACKED_NATIVE
                   : b->in->opcode == OC_BAR_RED_R ? CNT_PACKED_BRU
                                                   : CNT_OPERAND;
    b->d->imm[1] = MODE_RED;
    b->d->k[0] = MGET(BAR_RED, redop, b->in->mods);
    return b->d->k[0] == 3 ? bind_fail(b, "undefined reduction") : true;
}

bool bind_B2R(Bind *b) {
    if (!barrier_op(b, op_b2r))
        return false;
    b->d->imm[1] = MGET(B2R, mode, b->in->mods) == B2RMode_BAR;
    return true;
}
bool bind_B2R_RESULT(Bind *b) { return barrier_op(b, op_b2r_result); }
bool bind_R2B(Bind *b) {
    if (!barrier_op(b, op_r2b))
        return false;
    b->d->imm[1] = MGET(R2B, mode, b->in->mods) == B2RMode_BAR;
    return true;
}
