/* Special registers: S2R, S2UR, CS2R. The binary numbers them as its target does; names come from the
 * target's table.
 * SPDX-License-Identifier: MIT */
#include "sim/machine/internal.h"
#include <stddef.h>
#include <string.h>

/* SREG(KIND, "name in targets.isa", value in a lane): of `warp`, its `run`, the `lane` and its `bit`. */
// clang-format off
#define SREGS(SREG) \
    SREG(LANEID, "laneid", lane) \
    SREG(TID_X, "tid.x", warp->tid[0][lane]) \
    SREG(TID_Y, "tid.y", warp->tid[1][lane]) \
    SREG(TID_Z, "tid.z", warp->tid[2][lane]) \
    SREG(TID, "tid", warp->tid[0][lane] | warp->tid[1][lane] << 16 | warp->tid[2][lane] << 26) \
    SREG(CTAID_X, "ctaid.x", warp->cta->id[0]) \
    SREG(CTAID_Y, "ctaid.y", warp->cta->id[1]) \
    SREG(CTAID_Z, "ctaid.z", warp->cta->id[2]) \
    SREG(VIRTID, "virtid", warp->index << 8) \
    SREG(EQ, "lanemask_eq", bit) \
    SREG(LT, "lanemask_lt", bit - 1) \
    SREG(LE, "lanemask_le", bit | (bit - 1)) \
    SREG(GT, "lanemask_gt", ~(bit | (bit - 1))) \
    SREG(GE, "lanemask_ge", ~(bit - 1)) \
    SREG(SMID, "smid", SIM_SREG_SMID) \
    SREG(SHARED_BYTES, "total_smem_size", run->shared_bytes) \
    SREG(CLOCK_LO, "clock.lo", now(run)) \
    SREG(CLOCK_HI, "clock.hi", now(run) >> 32) \
    SREG(TIMER_LO, "globaltimer.lo", timer(run)) \
    SREG(TIMER_HI, "globaltimer.hi", timer(run) >> 32) \
    SREG(PM0, "pm0", 0) /* counters that nobody has set up */ \
    SREG(PM1, "pm1", 0) \
    SREG(PM2, "pm2", 0) \
    SREG(PM3, "pm3", 0) \
    SREG(PM4, "pm4", 0) \
    SREG(PM5, "pm5", 0) \
    SREG(PM6, "pm6", 0) \
    SREG(PM7, "pm7", 0) \
    SREG(LOCAL_WINDOW, "lwinlo", SIM_LOCAL_WINDOW) \
    SREG(SHARED_WINDOW, "swinlo", SIM_SHARED_WINDOW) \
    SREG(SHARED_WINDOW_HI, "swinhi", SIM_SHARED_WINDOW >> 32) \
    SREG(CLUSTER_BLOCK, "cgactaid", warp->cta->rank) \
    SREG(STACK_LOW, "lmemhioff", 0) /* local memory, where the stack is, begins there */ \
    SREG(ZERO, "zero", 0)
#define KIND(kind, name, value) SR_##kind,
#define NAME(kind, name, value) [SR_##kind] = name,
#define CASE(kind, name, value) case SR_##kind: return (uint32_t)(value);
typedef enum { SREGS(KIND) SR_COUNT } SregKind;
static const char *const names[SR_COUNT] = {SREGS(NAME)};
// clang-format on

static uint64_t now(const Run *run) { return run->ticks - (uint64_t)run->quota; }
static uint64_t timer(const Run *run) { return now(run) * 1000 / run->opt.ticks_per_us; }

static uint32_t sreg_value(const Warp *warp, unsigned kind, unsigned lane) {
    const Run *run = warp->run;
    uint32_t bit = 1u << lane;
    switch ((SregKind)kind) {
        SREGS(CASE)
    case SR_COUNT: break;
    }
    return 0;
}

static bool reads_clock(unsigned kind) { return kind >= SR_CLOCK_LO && kind <= SR_TIMER_HI; }

static OpFn read_and_go_on;
bool machine_sreg_place(const Dec *dec, SregPlace *out) {
    if (dec->part != read_and_go_on || dec->sreg.second != SR_COUNT)
        return false;
    unsigned kind = dec->sreg.kind;
    *out = (SregPlace){.of_block = kind >= SR_CTAID_X && kind <= SR_CTAID_Z};
    if (out->of_block)
        out->at = offsetof(Cta, id) + (kind - SR_CTAID_X) * sizeof((Cta *)0)->id[0];
    else
        out->at = offsetof(Warp, tid) + (kind - SR_TID_X) * sizeof((Warp *)0)->tid[0];
    return out->of_block || (kind >= SR_TID_X && kind <= SR_TID_Z && !dec->sreg.uniform);
}

static int read_sreg(Warp *warp, Dec *dec, uint32_t g) {
    uint32_t *r = dec_dst(warp, dec, 0);
    if (reads_clock(dec->sreg.kind))
        warp->run->clock_reads++;
    if (dec->sreg.uniform) {
        uint32_t v = sreg_value(warp, dec->sreg.kind, low_lane(g));
        for (unsigned i = 0; i < 32; i++)
            r[i] = v;
        return RUN_OK;
    }
    for (; g; g &= g - 1) {
        unsigned lane = low_lane(g);
        r[lane] = sreg_value(warp, dec->sreg.kind, lane);
        if (dec->sreg.second != SR_COUNT)
            r[32 + lane] = sreg_value(warp, dec->sreg.second, lane);
    }
    return RUN_OK;
}

/* All but the clocks, which ask how much of the quota is used. */
static int read_and_go_on(Warp *warp, Dec *dec, uint32_t g) {
    read_sreg(warp, dec, g);
    return machine_next(warp, dec);
}

static bool use_sreg(Bind *bind, unsigned slot, bool wide, bool is_uniform) {
    Dec *dec = bind->d;
    bind_operands(bind);
    const char *name = isa_sreg_name(bind->run->bin->target, bind->in->src[slot].value);
    unsigned kind = 0;
    while (kind < SR_COUNT && (!name || strcmp(names[kind], name) != 0))
        kind++;
    if (kind == SR_COUNT)
        return bind_fail(bind, "special register not simulated");
    dec->sreg.kind = kind;
    dec->sreg.second = SR_COUNT;
    if (wide)
        dec->sreg.second = kind == SR_CLOCK_LO ? SR_CLOCK_HI : kind == SR_TIMER_LO ? SR_TIMER_HI : SR_ZERO;
    dec->sreg.uniform = is_uniform;
    dec->full = dec->part = read_sreg;
    if (!reads_clock(kind))
        bind_chained(bind, read_and_go_on, read_and_go_on);
    SregPlace place; /* rows are written in vectors as wide as those that read them */
    if (machine_sreg_place(dec, &place)) {
        dec->full = place.of_block ? bind->run->level->block_word : bind->run->level->warp_row;
        dec->sreg.at = (uint32_t)place.at;
    }
    return !bind->failed;
}
bool bind_S2R(Bind *b) { return use_sreg(b, S2R_sr, false, false); }
bool bind_S2UR(Bind *b) { return use_sreg(b, S2UR_sr, false, true); }
bool bind_CS2R(Bind *bind) {
    return use_sreg(bind, CS2R_sr, MGET(CS2R, sz, bind->in->mods) == Cs2rSz_B64, false);
}
