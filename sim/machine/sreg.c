/* Special registers: S2R, S2UR, CS2R. The binary numbers them as its target does; names come from the
 * target's table.
 * SPDX-License-Identifier: MIT */
#include "sim/machine/internal.h"
#include <string.h>

// clang-format off
typedef enum { SR_LANEID, SR_TID_X, SR_TID_Y, SR_TID_Z, SR_TID, SR_CTAID_X, SR_CTAID_Y, SR_CTAID_Z, SR_VIRTID, SR_EQ,
               SR_LT, SR_LE, SR_GT, SR_GE, SR_SMID, SR_SHARED_BYTES, SR_CLOCK_LO, SR_CLOCK_HI, SR_TIMER_LO,
               SR_TIMER_HI, SR_LOCAL_WINDOW, SR_SHARED_WINDOW_HI, SR_CLUSTER_BLOCK, SR_ZERO, SR_COUNT } SregKind;
// clang-format on

static const char *const names[SR_COUNT] = {
    "laneid",         "tid.x",          "tid.y",  "tid.z",           "tid",         "ctaid.x",
    "ctaid.y",        "ctaid.z",        "virtid", "lanemask_eq",     "lanemask_lt", "lanemask_le",
    "lanemask_gt",    "lanemask_ge",    "smid",   "total_smem_size", "clock.lo",    "clock.hi",
    "globaltimer.lo", "globaltimer.hi", "lwinlo", "swinhi",          "cgactaid",    "zero"};

static uint64_t now(const Run *run) { return run->ticks - (uint64_t)run->quota; }
static uint64_t timer(const Run *run) { return now(run) * 1000 / run->opt.ticks_per_us; }

static uint32_t sreg_value(Warp *warp, unsigned kind, unsigned lane) {
    Run *r = warp->run;
    uint32_t bit = 1u << lane, x = warp->tid[0][lane], y = warp->tid[1][lane], z = warp->tid[2][lane];
    switch ((SregKind)kind) {
    case SR_LANEID: return lane;
    case SR_TID_X: return x;
    case SR_TID_Y: return y;
    case SR_TID_Z: return z;
    case SR_TID: return x | y << 16 | z << 26;
    case SR_CTAID_X: return warp->cta->id[0];
    case SR_CTAID_Y: return warp->cta->id[1];
    case SR_CTAID_Z: return warp->cta->id[2];
    case SR_VIRTID: return warp->index << 8;
    case SR_EQ: return bit;
    case SR_LT: return bit - 1;
    case SR_LE: return bit | (bit - 1);
    case SR_GT: return ~(bit | (bit - 1));
    case SR_GE: return ~(bit - 1);
    case SR_SMID: return SIM_SREG_SMID;
    case SR_SHARED_BYTES: return r->shared_bytes;
    case SR_CLOCK_LO: return (uint32_t)now(r);
    case SR_CLOCK_HI: return (uint32_t)(now(r) >> 32);
    case SR_TIMER_LO: return (uint32_t)timer(r);
    case SR_TIMER_HI: return (uint32_t)(timer(r) >> 32);
    case SR_LOCAL_WINDOW: return (uint32_t)SIM_LOCAL_WINDOW;
    case SR_SHARED_WINDOW_HI: return (uint32_t)(SIM_SHARED_WINDOW >> 32);
    default: return 0;
    }
}

static bool reads_clock(unsigned kind) { return kind >= SR_CLOCK_LO && kind <= SR_TIMER_HI; }

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
    if (g == ~0u && dec->sreg.kind >= SR_TID_X && dec->sreg.kind <= SR_TID_Z) {
        memcpy(r, warp->tid[dec->sreg.kind - SR_TID_X], ROW_BYTES);
        return RUN_OK;
    }
    if (dec->sreg.kind >= SR_CTAID_X && dec->sreg.kind <= SR_VIRTID) { /* the same for all lanes */
        uint32_t v = sreg_value(warp, dec->sreg.kind, 0);
        for (unsigned i = 0; i < 32; i++)
            r[i] = g >> i & 1 ? v : r[i];
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
    return !bind->failed;
}
bool bind_S2R(Bind *b) { return use_sreg(b, S2R_sr, false, false); }
bool bind_S2UR(Bind *b) { return use_sreg(b, S2UR_sr, false, true); }
bool bind_CS2R(Bind *bind) {
    return use_sreg(bind, CS2R_sr, MGET(CS2R, sz, bind->in->mods) == Cs2rSz_B64, false);
}
