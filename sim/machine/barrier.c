/* The barrier unit: 16 named barriers of a block, their reductions, and the 32-bit BARState (machine.h).
 *
 * A warp arrives once, with 32 threads, whatever its mask; it blocks as a whole. A barrier with count 0
 * completes when every warp of the block has arrived or exited. One with a count counts arrivals; what is
 * missing when no warp of the block can arrive any more, because all have exited or wait at barriers, exited
 * warps make up for (PTX: a barrier that waits for exited threads alone is released). Earlier they must not:
 * a barrier of 64 threads is for two of the warps, and one that was never to come may have exited before
 * these two arrive. Misuse is a trap with a name: E-BAR-LANES   number or count, in a register, differs
 * between the executing lanes E-BAR-COUNT   the count is not a multiple of 32, or 0 at an ARV, or waited for
 * by a block that has fewer threads E-BAR-MIX     different counts, or a reduction and something else, at one
 * barrier E-BAR-OVER    more arrivals than expected SPDX-License-Identifier: MIT */
#include "sim/machine/internal.h"

enum { KIND_FREE, KIND_SYNC, KIND_RED };

static uint32_t bar_state(const Barrier *barrier, uint32_t arrived) {
    return (arrived / 32 & 0x3f) | (barrier->expected / 32 & 0x7f) << 6 | (uint32_t)barrier->kind << 13 |
           (uint32_t)barrier->redop << 15 | (uint32_t)barrier->and_so_far << 17 |
           (uint32_t)barrier->or_so_far << 18 | (barrier->popc & 0x7ff) << 19;
}

static bool complete(const Cta *cta, const Barrier *barrier) {
    if (barrier->expected)
        return barrier->count == barrier->expected;
    return barrier->count + 32 * cta->ndone == 32 * cta->nwarps;
}

/* Wake everybody, hand out the reduction, free the barrier. */
static void release(Cta *cta, Barrier *barrier) {
    uint32_t copy = bar_state(barrier, barrier->count);
    for (uint32_t m = barrier->waiting; m; m &= m - 1) {
        Warp *warp = &cta->warps[low_lane(m)];
        warp->state = WARP_READY;
        if (barrier->kind == KIND_RED)
            warp->red_copy = copy;
    }
    *barrier = (Barrier){0};
    if (cta->nwarps)
        cta->warps[0].run->res->stats.barriers++;
}

/* All warps have exited or wait at barriers: what misses no more than exited warps that have not arrived is
 * released. */
static void release_for_exited(Cta *cta) {
    uint32_t exited = 0;
    if (!cta->ndone || cta->warps[0].run->opt.bar_exits == MACHINE_EXITS_MISSING)
        return;
    for (unsigned i = 0; i < cta->nwarps; i++) {
        if (cta->warps[i].state != WARP_DONE && cta->warps[i].state != WARP_AT_BARRIER)
            return;
        exited |= (uint32_t)(cta->warps[i].state == WARP_DONE) << i;
    }
    for (unsigned i = 0; i < NUM_BARRIERS; i++) {
        Barrier *barrier = &cta->bar[i];
        uint32_t missing = 32u * (uint32_t)__builtin_popcount(exited & ~barrier->arrived);
        if (barrier->waiting && barrier->expected && barrier->count + missing >= barrier->expected)
            release(cta, barrier);
    }
}

void machine_barrier_warp_exited(Cta *cta) {
    if (!cta->barriers_used)
        return;
    for (unsigned i = 0; i < NUM_BARRIERS; i++) {
        Barrier *barrier = &cta->bar[i];
        if (barrier->count && !barrier->expected && complete(cta, barrier))
            release(cta, barrier);
    }
    release_for_exited(cta);
}

/* A barrier where warps wait for more threads than the block has, if there is one. */
bool machine_barrier_lacks_threads(const Cta *cta, unsigned *id) {
    for (*id = 0; *id < NUM_BARRIERS; ++*id)
        if (cta->bar[*id].waiting && cta->bar[*id].expected > 32 * cta->nwarps)
            return true;
    return false;
}

/* The value of source `i` in the executing lanes; false if they differ. */
static bool agreed(const Warp *w, const Dec *dec, unsigned i, uint32_t g, uint32_t *value) {
    const uint32_t *v = dec_src(w, dec, i);
    *value = v[low_lane(g)];
    if (dec_src_is_constant(dec, i))
        return true; /* a constant */
    for (uint32_t m = g; m; m &= m - 1)
        if (v[low_lane(m)] != *value)
            return false;
    return true;
}

/* d->imm[0]: where the count comes from; d->imm[1]: kind and mode. */
enum { CNT_OPERAND, CNT_PACKED_BRU, CNT_PACKED_NATIVE };
enum { MODE_SYNC, MODE_ARV, MODE_RED };

static int operands(Warp *w, Dec *dec, uint32_t g, uint32_t *id, uint32_t *cnt) {
    uint32_t v = 0, c = 0;
    if (!agreed(w, dec, 0, g, &v) || (dec->imm[0] == CNT_OPERAND && !agreed(w, dec, 1, g, &c)))
        return machine_trap(w, dec, low_lane(g), TRAP_BARRIER,
                            "E-BAR-LANES: barrier operands differ between lanes");
    if (dec->imm[0] == CNT_PACKED_BRU)
        c = v >> 4;
    if (dec->imm[0] == CNT_PACKED_NATIVE)
        c = v >> 16;
    *id = v & 15; /* of wider operands the low 4 and 12 bits count */
    *cnt = c & 0xfff;
    if (*cnt % 32)
        return machine_trap(w, dec, low_lane(g), TRAP_BARRIER,
                            "E-BAR-COUNT: barrier %u: count %u is not a multiple of 32", *id, *cnt);
    if (!*cnt && dec->imm[1] == MODE_ARV)
        return machine_trap(w, dec, low_lane(g), TRAP_BARRIER,
                            "E-BAR-COUNT: barrier %u: BAR.ARV without a count", *id);
    return RUN_OK;
}

static int barrier_arrive(Warp *warp, Dec *dec, uint32_t g, uint32_t id, uint32_t cnt) {
    Barrier *barrier = &warp->cta->bar[id];
    warp->cta->barriers_used = true;
    uint8_t kind = dec->imm[1] == MODE_RED ? KIND_RED : KIND_SYNC, redop = (uint8_t)dec->barrier.redop;
    if (!barrier->count) /* warps may wait here already if R2B has emptied it */
        *barrier = (Barrier){
            .expected = cnt, .kind = kind, .redop = redop, .and_so_far = true, .waiting = barrier->waiting};
    if (barrier->expected != cnt)
        return machine_trap(warp, dec, low_lane(g), TRAP_BARRIER,
                            "E-BAR-MIX: barrier %u: count %u, other warps used %u", id, cnt,
                            barrier->expected);
    if (barrier->kind != kind || barrier->redop != redop)
        return machine_trap(warp, dec, low_lane(g), TRAP_BARRIER,
                            "E-BAR-MIX: barrier %u: reduction mixed with another kind", id);
    barrier->count += 32;
    barrier->arrived |= 1u << warp->index;
    if ((cnt && barrier->count > cnt) || (!cnt && barrier->count > 32 * warp->cta->nwarps))
        return machine_trap(warp, dec, low_lane(g), TRAP_BARRIER,
                            "E-BAR-OVER: barrier %u: %u threads arrived, %u expected", id, barrier->count,
                            cnt ? cnt : 32 * warp->cta->nwarps);
    if (kind == KIND_RED) {
        uint32_t p = dec_pred(warp, dec, 0);
        barrier->and_so_far = barrier->and_so_far && !(g & ~p);
        barrier->or_so_far = barrier->or_so_far || (g & p);
        barrier->popc += (uint32_t)__builtin_popcount(g & p);
    }
    return RUN_OK;
}

static void report_around(Warp *warp, const Dec *dec, uint32_t g, uint32_t id) {
    uint32_t around = machine_went_around(warp, dec);
    if (around)
        machine_finding(warp, dec, MF_PARTIAL_BARRIER, g, 0,
                        "barrier %u executed by lanes 0x%08x; lanes 0x%08x went around it and have ended", id,
                        g, around);
}

static int op_bar(Warp *warp, Dec *dec, uint32_t g) {
    if (!g)
        return RUN_OK;
    uint32_t id = 0, cnt = 0;
    int status = operands(warp, dec, g, &id, &cnt);
    if (status != RUN_OK)
        return status;
    if (warp->active != warp->valid || g != warp->active)
        machine_finding(warp, dec, MF_PARTIAL_BARRIER, g, 0, "barrier %u reached by lanes 0x%08x of 0x%08x",
                        id, g, warp->valid);
    else if (warp->valid != warp->first_valid && machine_barrier_is_aligned(warp, dec))
        report_around(warp, dec, g, id);
    status = barrier_arrive(warp, dec, g, id, cnt);
    if (status != RUN_OK)
        return status;
    Barrier *b = &warp->cta->bar[id];
    if (dec->imm[1] != MODE_ARV) {
        b->waiting |= 1u << warp->index;
        warp->barrier = (uint8_t)id;
        warp->state = WARP_AT_BARRIER;
    }
    if (complete(warp->cta, b))
        release(warp->cta, b);
    else if (warp->state == WARP_AT_BARRIER)
        release_for_exited(warp->cta);
    return warp->state == WARP_AT_BARRIER ? RUN_BLOCKED : RUN_OK;
}

static int op_b2r(Warp *warp, Dec *dec, uint32_t g) {
    const Barrier *barrier = &warp->cta->bar[dec->imm[0] & 15];
    uint32_t v = dec->imm[1] ? bar_state(barrier, barrier->count) : warp->red_copy;
    for (uint32_t *r = dec_dst(warp, dec, 0); g; g &= g - 1)
        r[low_lane(g)] = v;
    return RUN_OK;
}

static int op_b2r_result(Warp *warp, Dec *dec, uint32_t g) {
    uint32_t s = warp->red_copy, truth = (s >> 15 & 3) == BARREDOp_OR ? s >> 18 & 1 : s >> 17 & 1;
    set_pred(warp, dec->pd[0], g, truth ? ~0u : 0);
    for (uint32_t *r = dec_dst(warp, dec, 0); g; g &= g - 1)
        r[low_lane(g)] = s >> 19 & 0x7ff;
    return RUN_OK;
}

static int op_r2b(Warp *warp, Dec *dec, uint32_t g) {
    if (!g)
        return RUN_OK;
    uint32_t v = dec_src(warp, dec, dec->nv - 1u)[low_lane(g)];
    if (!dec->imm[1]) {
        warp->red_copy = v;
        return RUN_OK;
    }
    Barrier *barrier = &warp->cta->bar[dec->imm[0] & 15];
    uint32_t waiting = barrier->waiting;
    warp->cta->barriers_used = true;
    *barrier = (Barrier){.count = (v & 0x3f) * 32,
                         .expected = (v >> 6 & 0x7f) * 32,
                         .kind = v >> 13 & 3,
                         .redop = v >> 15 & 3,
                         .and_so_far = v >> 17 & 1,
                         .or_so_far = v >> 18 & 1,
                         .popc = v >> 19 & 0x7ff,
                         .waiting = waiting};
    if (barrier->count && complete(warp->cta, barrier))
        release(warp->cta, barrier);
    return RUN_OK;
}

static bool barrier_op(Bind *bind, OpFn *fn) {
    bind_operands(bind);
    bind->d->full = bind->d->part = fn;
    bind->d->cls = CLS_OTHER;
    return !bind->failed;
}

bool bind_BAR(Bind *bind) {
    if (!barrier_op(bind, op_bar))
        return false;
    bind->d->imm[0] = bind->in->opcode == OC_BAR_NRR ? CNT_PACKED_NATIVE : CNT_OPERAND;
    bind->d->imm[1] = MGET(BAR, mode, bind->in->mods) == BARMode_ARV ? MODE_ARV : MODE_SYNC;
    return true;
}

bool bind_BAR_RED(Bind *bind) {
    if (!barrier_op(bind, op_bar))
        return false;
    bind->d->imm[0] = bind->in->opcode == OC_BAR_RED_NRR ? CNT_PACKED_NATIVE
                      : bind->in->opcode == OC_BAR_RED_R ? CNT_PACKED_BRU
                                                         : CNT_OPERAND;
    bind->d->imm[1] = MODE_RED;
    bind->d->barrier.redop = MGET(BAR_RED, redop, bind->in->mods);
    return bind->d->barrier.redop == 3 ? bind_fail(bind, "undefined reduction") : true;
}

bool bind_B2R(Bind *bind) {
    if (!barrier_op(bind, op_b2r))
        return false;
    bind->d->imm[1] = MGET(B2R, mode, bind->in->mods) == B2RMode_BAR;
    return true;
}
bool bind_B2R_RESULT(Bind *b) { return barrier_op(b, op_b2r_result); }
bool bind_R2B(Bind *bind) {
    if (!barrier_op(bind, op_r2b))
        return false;
    bind->d->imm[1] = MGET(R2B, mode, bind->in->mods) == B2RMode_BAR;
    return true;
}
