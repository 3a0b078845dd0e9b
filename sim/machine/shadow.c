/* The slow issue loop: tracing, undefined values, control codes.
 *
 * Undefined values: a bit for each lane of each register and predicate, and one for each byte of memory,
 * follow the data. Copying them is fine; it is reported when one decides a guard, an address, an operand of
 * control flow, or is stored to global memory.
 *
 * Control codes: the warp has a clock that stall counts advance, and waits for results, by the least time
 * that a result of unknown latency takes (no compiler could count on more). Each register remembers who wrote
 * it last and who read it late; the distances come from isa/machine/latency.h. A value read too early is
 * reported, and what was computed from it is poisoned. Operations whose result may be defined where an
 * operand is not are asked for by name: for which values it is, follows from what each computes.
 * SPDX-License-Identifier: MIT */
#include "isa/machine/latency.h"
#include "base/scope.h"
#include "sim/machine/internal.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define POISON 0xdeadbeefu
enum { NO_SB = 7, NUM_SB = 6, REGS_TRACKED = ROW_URZ + PRED_SINK };

typedef struct { /* a writer or late reader of a register */
    const MachInst *inst;
    uint64_t cycle, number; /* issue time and issue number */
    uint32_t pc, lanes;
    uint8_t slot, part;
} Access;

/* Lanes of a warp are different registers: what one group of lanes has in flight is no hazard for another
 * group, which a compiler that follows one lane's path could not know of anyway. A register remembers
 * the last accesses of disjoint sets of lanes, newest first. */
enum { GROUPS = 4 };
typedef struct {
    Access at[GROUPS];
} Accesses;

struct WarpShadow {
    uint32_t undef[ROW_COUNT], pundef[PRED_COUNT];
    MaskShadow masks;
    uint64_t cycle, number;  /* of the next instruction */
    uint64_t waited[NUM_SB]; /* everything that set it before this issue number has finished */
    uint64_t last_set_cycle[NUM_SB];
    uint64_t result_cycle[NUM_SB]; /* no result that it stands for is there earlier */
    /* Of a queue that works in order: the last one that set each scoreboard, and up to which number
     * everything is known to have finished, or to have read its operands. */
    uint64_t queued[ISA_QUEUE_COUNT][NUM_SB], finished[ISA_QUEUE_COUNT], memory_op[NUM_SB], memory_read;
    uint64_t queue_op[ISA_QUEUE_COUNT][NUM_SB], queue_read[ISA_QUEUE_COUNT];
    Accesses writer[REGS_TRACKED], reader[REGS_TRACKED];
};

void machine_shadow_create(Run *run, Warp *warp) {
    warp->shadow = mem_zeroed(1, sizeof *warp->shadow);
    if (run->opt.report_undefined)
        warp->local_written = mem_zeroed(1, (size_t)run->local_bytes * 32 + 1);
}

void machine_shadow_reset(Warp *warp) {
    struct WarpShadow *warp_shadow = warp->shadow;
    memset(warp_shadow, 0, sizeof *warp_shadow);
    memset(warp_shadow->undef, 0xff, sizeof warp_shadow->undef);
    memset(warp_shadow->pundef, 0xff, sizeof warp_shadow->pundef);
    warp_shadow->undef[ROW_RZ] = warp_shadow->undef[ROW_URZ] = 0;
    warp_shadow->pundef[REG_PT] = warp_shadow->pundef[PRED_UP + REG_UPT] = 0;
    warp_shadow->cycle = LATENCY_WINDOW;
    warp_shadow->number = 1;
    if (warp->local_written)
        memset(warp->local_written, 0, (size_t)warp->run->local_bytes * 32);
}

/* ---- registers of an operand ---- */

/* Row or tracked predicate of part `k` of an operand; -1 if it is no register or a constant one. */
static int row_of(Operand o, unsigned k) {
    if (o.kind != OPK_REG || k >= (o.count ? o.count : 1u))
        return -1;
    if (o.file == RF_R)
        return o.value + k < REG_RZ ? (int)(o.value + k) : -1;
    if (o.file == RF_UR)
        return o.value + k < NUM_UR ? (int)(ROW_UR + o.value + k) : -1;
    return -1;
}
static int pred_of(Operand o) {
    if (o.kind != OPK_REG || (o.file != RF_P && o.file != RF_UP) || (o.value & 7) == REG_PT)
        return -1;
    return (int)(o.value & 7) + (o.file == RF_UP ? PRED_UP : 0);
}
static int tracked(Operand o, unsigned k) {
    int row = row_of(o, k), p = k == 0 ? pred_of(o) : -1;
    return row >= 0 ? row : p >= 0 ? ROW_URZ + p : -1;
}
static unsigned parts(Operand o) { return o.kind == OPK_REG && o.count > 1 ? o.count : 1; }

/* ---- control codes ---- */

/* The lanes of `lanes` start anew; with `a` its access is remembered for them. */
static void access_put(Accesses *list, uint32_t lanes, const Access *a) {
    unsigned n = 0;
    Access kept[GROUPS + 1];
    if (a) {
        kept[n] = *a;
        kept[n++].lanes = lanes;
    }
    for (unsigned i = 0; i < GROUPS && list->at[i].lanes; i++) {
        kept[n] = list->at[i];
        kept[n].lanes &= ~lanes;
        n += kept[n].lanes != 0;
    }
    n = n < GROUPS ? n : GROUPS; /* the oldest is long done */
    memset(list, 0, sizeof *list);
    memcpy(list->at, kept, n * sizeof *kept);
}
static uint32_t lanes_of(Operand o, uint32_t g) { return o.file == RF_UR || o.file == RF_UP ? ~0u : g; }
#define ACCESS_EACH(a, list, g)                                                                              \
    for (const Access *a = (list)->at; a < (list)->at + GROUPS && a->lanes; a++)                             \
        if (a->lanes & (g))

/* Access a of an earlier instruction is over: its scoreboard sb was waited for, or that of a later
 * instruction of the same queue. */
static bool waited_for(const struct WarpShadow *shadow, const Target *t, const Access *access, uint8_t sb) {
    return (sb < NUM_SB && access->number < shadow->waited[sb]) ||
           access->number <= shadow->finished[latency_queue(t, access->inst)];
}
static bool has_read(const struct WarpShadow *shadow, const Target *t, const Access *access) {
    const Control *control = &access->inst->ctrl;
    return waited_for(shadow, t, access, control->read_sb) ||
           waited_for(shadow, t, access, control->write_sb) ||
           access->number <= shadow->queue_read[latency_queue(t, access->inst)] ||
           (latency_reads_in_order(t, access->inst) && access->number <= shadow->memory_read);
}
static bool has_arrived(const struct WarpShadow *shadow, const Target *t, const Access *access) {
    const Control *control = &access->inst->ctrl;
    return waited_for(shadow, t, access, control->write_sb) ||
           (latency_comes_with_operands(t, access->inst, access->slot) &&
            waited_for(shadow, t, access, control->read_sb));
}
/* Does `in` come behind `before`, so that it cannot overtake it? */
static bool comes_behind(const Target *t, const MachInst *before, const MachInst *in) {
    return latency_comes_behind(latency_queue(t, in), latency_queue(t, before));
}

/* Memory instructions read in order, and write after they have read. */
static bool in_order(const Target *t, const MachInst *before, const MachInst *in) {
    return latency_reads_in_order(t, in) && latency_reads_in_order(t, before);
}

static void wait_for(struct WarpShadow *shadow, unsigned sb) {
    shadow->waited[sb] = shadow->number;
    for (unsigned q = ISA_QUEUE_NONE + 1; q < ISA_QUEUE_COUNT; q++) {
        if (shadow->queued[q][sb] > shadow->finished[q])
            shadow->finished[q] = shadow->queued[q][sb];
        if (shadow->queue_op[q][sb] > shadow->queue_read[q])
            shadow->queue_read[q] = shadow->queue_op[q][sb];
    }
    if (shadow->memory_op[sb] > shadow->memory_read)
        shadow->memory_read = shadow->memory_op[sb];
}
static void set_scoreboard(struct WarpShadow *shadow, const Target *t, const MachInst *in, unsigned sb,
                           bool result) {
    enum IsaQueue q = latency_queue(t, in);
    if (sb >= NUM_SB)
        return;
    shadow->last_set_cycle[sb] = shadow->cycle;
    for (unsigned earlier = ISA_QUEUE_NONE + 1; earlier < ISA_QUEUE_COUNT; earlier++)
        if (latency_comes_behind(q, (enum IsaQueue)earlier)) {
            if (result)
                shadow->queued[earlier][sb] = shadow->number;
            shadow->queue_op[earlier][sb] = shadow->number;
        }
    if (latency_reads_in_order(t, in))
        shadow->memory_op[sb] = shadow->number;
}

static void hazard(Warp *warp, const Dec *d, const Access *access, uint32_t g, const char *what, Operand o,
                   unsigned part, unsigned need) {
    static const char *const files[RF_COUNT] = {"R", "P", "UR", "UP", "B"};
    char distance[48] = "without waiting for its scoreboard";
    if (need)
        snprintf(distance, sizeof distance, "after %llu of %u cycles",
                 (unsigned long long)(warp->shadow->cycle - access->cycle), need);
    machine_finding(warp, d, MF_HAZARD, g, pc_address(warp->run, access->pc), "%s%u %s %s",
                    files[o.file % RF_COUNT], o.value + part, what, distance);
}

/* True if a source was read too early. */
static bool check_reads(Warp *warp, Dec *dec, uint32_t g) {
    struct WarpShadow *warp_shadow = warp->shadow;
    const Target *t = warp->run->bin->target;
    const MachInst *in = dec->inst;
    bool bad = false;
    for (unsigned i = 0; i <= in->nsrc; i++) {
        bool is_guard = i == in->nsrc;
        Operand o = is_guard ? in->guard : in->src[i];
        if (!g && !is_guard)
            continue;
        for (unsigned k = 0; k < parts(o); k++) {
            int reg = tracked(o, k);
            if (reg < 0)
                continue;
            ACCESS_EACH(access, &warp_shadow->writer[reg], is_guard ? warp->active : g) {
                unsigned need = latency_raw_part(t, access->inst, access->slot, access->part, in,
                                                 is_guard ? LATENCY_GUARD : i, k);
                if (latency_is_variable(t, access->inst) && !has_arrived(warp_shadow, t, access))
                    hazard(warp, dec, access, g, "read", o, k, 0), bad = true;
                else if (warp_shadow->cycle - access->cycle < need)
                    hazard(warp, dec, access, g, "read", o, k, need), bad = true;
            }
        }
    }
    return bad;
}

static void check_writes(Warp *warp, Dec *dec, uint32_t g) {
    struct WarpShadow *warp_shadow = warp->shadow;
    const Target *t = warp->run->bin->target;
    const MachInst *in = dec->inst;
    for (unsigned i = 0; g && i < in->ndst; i++)
        for (unsigned k = 0; k < parts(in->dst[i]); k++) {
            int reg = tracked(in->dst[i], k);
            if (reg < 0)
                continue;
            ACCESS_EACH(access, &warp_shadow->writer[reg], lanes_of(in->dst[i], g)) {
                unsigned need = latency_waw(t, access->inst, access->slot, in);
                if (comes_behind(t, access->inst, in))
                    continue;
                if (latency_is_variable(t, access->inst) && !has_arrived(warp_shadow, t, access))
                    hazard(warp, dec, access, g, "overwritten", in->dst[i], k, 0);
                else if (warp_shadow->cycle - access->cycle < need)
                    hazard(warp, dec, access, g, "overwritten", in->dst[i], k, need);
            }
            ACCESS_EACH(b, &warp_shadow->reader[reg], lanes_of(in->dst[i], g))
                if (!has_read(warp_shadow, t, b) && !comes_behind(t, b->inst, in) &&
                    !in_order(t, b->inst, in))
                    hazard(warp, dec, b, g, "overwritten while it is read,", in->dst[i], k, 0);
        }
}

static bool control_before(Warp *warp, Dec *dec, uint32_t g) {
    struct WarpShadow *warp_shadow = warp->shadow;
    uint64_t ready = warp_shadow->cycle;
    for (unsigned sb = 0; sb < NUM_SB; sb++)
        if (dec->inst->ctrl.wait_mask >> sb & 1 &&
            warp_shadow->cycle - warp_shadow->last_set_cycle[sb] >= LATENCY_SB_TO_WAIT) {
            wait_for(warp_shadow, sb);
            ready = warp_shadow->result_cycle[sb] > ready ? warp_shadow->result_cycle[sb] : ready;
        }
    warp_shadow->cycle = ready;
    bool bad = check_reads(warp, dec, g);
    check_writes(warp, dec, g);
    return bad;
}

static void poison(Warp *warp, Dec *dec, uint32_t g) {
    for (unsigned i = 0; i < dec->inst->ndst; i++)
        for (unsigned k = 0; k < parts(dec->inst->dst[i]); k++) {
            int row = row_of(dec->inst->dst[i], k);
            uint32_t *v = row < 0 ? NULL : (uint32_t *)(void *)(warp->rows + row * ROW_BYTES);
            for (uint32_t m = g; v && m; m &= m - 1)
                v[low_lane(m)] = POISON;
        }
}

static void control_after(Warp *warp, Dec *dec, uint32_t g) {
    struct WarpShadow *warp_shadow = warp->shadow;
    const Target *t = warp->run->bin->target;
    const MachInst *in = dec->inst;
    Access a = {in, warp_shadow->cycle, warp_shadow->number, (uint32_t)(dec - warp->prog), g, 0, 0};
    for (unsigned i = 0; g && i < in->nsrc && latency_reads_late(t, in); i++)
        for (unsigned k = 0; k < parts(in->src[i]); k++) {
            int reg = tracked(in->src[i], k);
            a.slot = (uint8_t)i, a.part = (uint8_t)k;
            if (reg >= 0 && in->src[i].file == RF_R)
                access_put(&warp_shadow->reader[reg], g, &a);
        }
    for (unsigned i = 0; g && i < in->ndst; i++)
        for (unsigned k = 0; k < parts(in->dst[i]); k++) {
            int reg = tracked(in->dst[i], k);
            a.slot = (uint8_t)i, a.part = (uint8_t)k;
            if (reg >= 0) {
                access_put(&warp_shadow->writer[reg], lanes_of(in->dst[i], g), &a);
                access_put(&warp_shadow->reader[reg], lanes_of(in->dst[i], g), NULL);
            }
        }
    if (g && in->ctrl.write_sb < NUM_SB && latency_is_variable(t, in))
        warp_shadow->result_cycle[in->ctrl.write_sb] = warp_shadow->cycle + latency_result_least(t);
    set_scoreboard(warp_shadow, t, in, in->ctrl.write_sb, true);
    set_scoreboard(warp_shadow, t, in, in->ctrl.read_sb, false);
    if (latency_drains_reads(t, in))
        warp_shadow->memory_read = warp_shadow->number;
    warp_shadow->cycle += latency_next(t, in);
    warp_shadow->number++;
}

/* ---- undefined values ---- */

static uint32_t undef_operand(const Warp *warp, Operand o) {
    uint32_t u = 0;
    for (unsigned k = 0; k < parts(o); k++) {
        int row = row_of(o, k);
        if (row >= 0)
            u |= warp->shadow->undef[row];
    }
    int p = pred_of(o);
    return p >= 0 ? u | warp->shadow->pundef[p] : u;
}
static void set_undef(Warp *warp, Operand o, uint32_t g, uint32_t u) {
    struct WarpShadow *warp_shadow = warp->shadow;
    if (o.kind == OPK_REG && (o.file == RF_UR || o.file == RF_UP)) {
        u = u & g ? ~0u : 0;
        g = ~0u;
    }
    for (unsigned k = 0; k < parts(o); k++) {
        int row = row_of(o, k);
        if (row >= 0)
            warp_shadow->undef[row] = (warp_shadow->undef[row] & ~g) | (u & g);
    }
    int p = pred_of(o);
    if (p >= 0)
        warp_shadow->pundef[p] = (warp_shadow->pundef[p] & ~g) | (u & g);
}

static void report_use(Warp *w, Dec *d, uint32_t lanes, const char *use) {
    if (lanes)
        machine_finding(w, d, MF_UNDEFINED, lanes, 0, "%s", use);
}

/* Lanes for which some byte of the access is undefined; `mark` stores definedness instead. */
static uint32_t memory_undef(Warp *warp, Dec *dec, uint32_t g, bool mark, uint32_t undef) {
    uint32_t u = 0;
    for (uint32_t m = g; m; m &= m - 1) {
        unsigned lane = low_lane(m), n = dec->size;
        uint64_t a = machine_mem_address(warp, dec, lane), offset = a;
        MemSpace space = (MemSpace)dec->imm[1];
        if (space == MS_GENERIC && a - SIM_SHARED_WINDOW < SIM_CLUSTER_BYTES)
            space = MS_CLUSTER, offset = a - SIM_SHARED_WINDOW;
        else if (space == MS_GENERIC && a - SIM_LOCAL_WINDOW < SIM_WINDOW_BYTES)
            space = MS_LOCAL, offset = a - SIM_LOCAL_WINDOW;
        bool good = !(undef >> lane & 1);
        if (space == MS_GENERIC || space == MS_GLOBAL) {
            SimAlloc *al = simmem_find(warp->run->mem, a, n);
            if (!al)
                continue; /* will trap */
            if (!mark)
                u |= (uint32_t)!simmem_is_written(al, a - al->address, n) << lane;
            else if (!good)
                for (uint64_t i = a - al->address; i < a - al->address + n; i++)
                    al->written[i / 8] = (uint8_t)(al->written[i / 8] & ~(1u << (i & 7)));
            continue;
        }
        const Cta *owner = space == MS_LOCAL ? NULL : machine_cluster_owner(warp->cta, (uint32_t)offset);
        uint32_t limit = space == MS_LOCAL ? warp->run->local_bytes : warp->run->all_shared;
        if (space != MS_LOCAL)
            offset %= SIM_WINDOW_BYTES;
        if (n > limit || offset > limit - n || (space != MS_LOCAL && !owner))
            continue;
        uint8_t *flags = owner ? owner->shared_written + offset
                               : warp->local_written + (size_t)lane * warp->run->local_bytes + offset;
        for (unsigned i = 0; i < n; i++) {
            if (mark)
                flags[i] = good;
            else
                u |= (uint32_t)!flags[i] << lane;
        }
    }
    return u;
}

static uint32_t undef_shfl(Warp *w, Dec *dec, uint32_t g) {
    const uint32_t *b = dec_src(w, dec, 1), *c = dec_src(w, dec, 2);
    uint32_t from = undef_operand(w, dec->inst->src[SHFL_ra]), u = 0;
    for (uint32_t m = g; m; m &= m - 1) {
        unsigned lane = low_lane(m);
        int j = shfl_source_lane(dec->shfl.mode, lane, b[lane], c[lane]);
        u |= (from >> (j >= 0 ? (unsigned)j & 31 : lane) & 1) << lane;
    }
    return u;
}

/* A test combined by AND with a predicate, the first of its predicate sources, is defined where that is
 * false. */
static uint32_t undef_and(const Warp *w, const Dec *dec) {
    const MachInst *in = dec->inst;
    uint32_t third = undef_operand(w, in->src[isa_traits(in->optype)->combines_src]), u = third;
    for (unsigned i = 0; i < in->nsrc; i++)
        u |= undef_operand(w, in->src[i]);
    return u & ~(~third & ~dec_pred(w, dec, 0));
}

/* A table of three predicates is defined where the undefined ones do not matter. */
static uint32_t undef_table(const Warp *w, const Dec *dec, uint32_t lut) {
    uint32_t can[2] = {0, 0};
    for (unsigned k = 0; k < 8; k++) {
        uint32_t possible = ~0u;
        for (unsigned i = 0; i < 3; i++) {
            uint32_t v = dec_pred(w, dec, i);
            possible &= undef_operand(w, dec->inst->src[i]) | (k >> (2 - i) & 1 ? v : ~v);
        }
        can[lut >> k & 1] |= possible;
    }
    return can[0] & can[1];
}

/* Undefinedness of what a plain operation computes. */
static uint32_t undef_result(Warp *w, Dec *dec, uint32_t g) {
    const MachInst *in = dec->inst;
    uint32_t u = 0;
    if (dec->optype == OT_SHFL)
        return undef_shfl(w, dec, g);
    if (isa_combine_op(in->optype, in->mods) == BoolOp_AND)
        return undef_and(w, dec);
    if (dec->optype == OT_PLOP3)
        return undef_table(w, dec, MGET(PLOP3, lut, in->mods)) |
               undef_table(w, dec, MGET(PLOP3, lut2, in->mods));
    if (dec->optype == OT_SEL || dec->optype == OT_FSEL) {
        uint32_t p = dec_pred(w, dec, 0);
        return (undef_operand(w, in->src[0]) & p) | (undef_operand(w, in->src[1]) & ~p) |
               undef_operand(w, in->src[2]);
    }
    for (unsigned i = 0; i < in->nsrc; i++) {
        bool used = true;
        if (dec->optype == OT_LOP3 && i < 3) {
            uint32_t lut = MGET(LOP3, lut, in->mods), shift = i == 0 ? 4 : i == 1 ? 2 : 1;
            static const uint8_t low[3] = {0x0f, 0x33, 0x55};
            used = ((lut >> shift ^ lut) & low[i]) != 0;
        }
        if (used)
            u |= undef_operand(w, in->src[i]);
    }
    if (isa_traits(dec->optype)->lanes == ISA_LANES_COLLECTIVE)
        u = u & g ? ~0u : 0;
    return u;
}

/* Lanes whose address is undefined; *data: those with another undefined source. */
static uint32_t undef_access(const Warp *warp, const MachInst *in, uint32_t *data) {
    const uint8_t *parts_of = isa_traits(in->optype)->address;
    uint32_t address = 0;
    *data = 0;
    for (unsigned i = 0; i < in->nsrc; i++) {
        bool part = i == parts_of[0] || i == parts_of[1] || i == parts_of[2];
        *(part ? &address : data) |= undef_operand(warp, in->src[i]);
    }
    return address;
}

/* Before execution; returns the undefinedness of the result. */
static uint32_t undef_before(Warp *warp, Dec *dec, uint32_t g) {
    const MachInst *in = dec->inst;
    report_use(warp, dec, undef_operand(warp, in->guard) & warp->active, "guard");
    AccessKind kind = machine_mem_access_kind(dec->optype);
    if (kind == ACC_NONE) {
        uint32_t u = undef_result(warp, dec, g);
        if (dec->always)
            report_use(warp, dec, u & g, "operand of control flow");
        return u;
    }
    uint32_t data;
    report_use(warp, dec, undef_access(warp, in, &data) & g, "address");
    uint32_t read = kind == ACC_STORE ? 0 : memory_undef(warp, dec, g, false, 0);
    if (kind == ACC_ATOMIC)
        report_use(warp, dec, (read | data) & g, "operand of an atomic");
    if (kind == ACC_STORE && (dec->imm[1] == MS_GLOBAL))
        report_use(warp, dec, data & g, "value stored to global memory");
    if (kind != ACC_LOAD)
        memory_undef(warp, dec, g, true,
                     kind == ACC_STORE ? data : 0); /* marks before storing: global bits are set then */
    return kind == ACC_LOAD ? read : read | data;
}

static void undef_after(Warp *warp, Dec *dec, uint32_t g, uint32_t u, uint32_t stored_undef) {
    const MachInst *in = dec->inst;
    for (unsigned i = 0; i < in->ndst; i++)
        set_undef(warp, in->dst[i], g, u);
    RegFile file;
    uint32_t named =
        isa_has_effect(dec->optype, ISA_EFFECT_WRITES_ALL_P) ? isa_named_predicates(in, &file) : 0;
    for (unsigned k = 0; named >> k; k++)
        if (named >> k & 1)
            set_undef(warp, op_reg(file, k, 1), g, u);
    if (machine_mem_access_kind(dec->optype) == ACC_STORE && stored_undef)
        memory_undef(warp, dec, g & stored_undef, true, stored_undef);
}

/* ---- tracing ---- */

static void trace(Warp *w, Dec *dec, uint32_t g) {
    Run *r = w->run;
    char text[256];
    uint64_t pc = pc_address(r, (uint32_t)(dec - w->prog));
    const BinFunc *f = binary_func_at(r->bin, pc);
    uint64_t offset = f ? pc - f->address : pc;
    text[0] = 0;
    if (!r->opt.trace_no_text)
        isa_print(r->bin->target, dec->inst, offset, NULL, text, sizeof text);
    MachineTrace t = {.warp = w->index,
                      .pc_bytes = pc,
                      .func_pc_bytes = offset,
                      .func = f,
                      .valid = w->valid,
                      .active = w->active,
                      .executed = g,
                      .inst = dec->inst,
                      .text = text};
    if (f && f->locs && offset / INST_BYTES < f->ninsts)
        t.loc = &f->locs[offset / INST_BYTES];
    memcpy(t.block, w->cta->id, sizeof t.block);
    t.state = w;
    r->opt.trace(r->opt.trace_user, &t);
}

bool machine_trace_access(const MachineTrace *trace, unsigned lane, MachineAccess *out) {
    const Warp *warp = trace->state;
    const Dec *dec = &warp->prog[warp->pc];
    AccessKind kind = machine_mem_access_kind(dec->optype);
    if (kind != ACC_STORE && kind != ACC_ATOMIC)
        return false;
    if (machine_atom_refuses(warp, dec, machine_mem_address(warp, dec, lane)))
        return false;
    uint64_t window = dec->imm[1] == MS_SHARED || dec->imm[1] == MS_CLUSTER ? SIM_SHARED_WINDOW
                      : dec->imm[1] == MS_LOCAL                             ? SIM_LOCAL_WINDOW
                                                                            : 0;
    *out = (MachineAccess){.atomic = kind == ACC_ATOMIC,
                           .address = machine_mem_address(warp, dec, lane) + window,
                           .size_bytes = dec->size,
                           .element_bytes = kind == ACC_ATOMIC ? dec->mem.element_bytes : dec->size};
    const uint32_t *v = dec_src(warp, dec, 2);
    for (unsigned k = 0; 4 * k < dec->size && 4 * k < sizeof out->data; k++)
        memcpy(out->data + (size_t)4 * k, &v[32 * k + lane], dec->size - 4 * k < 4 ? dec->size - 4 * k : 4);
    return true;
}

static int issue_checked(Warp *warp, Dec *dec, uint32_t g) {
    Run *r = warp->run;
    uint32_t undef = 0, stored = 0;
    bool bad = false, control = r->opt.check_control, follow = r->opt.report_undefined;
    if (r->opt.trace)
        trace(warp, dec, g);
    if (control)
        bad = control_before(warp, dec, g);
    if (follow) {
        if (machine_mem_access_kind(dec->optype) == ACC_STORE)
            undef_access(warp, dec->inst, &stored);
        undef = undef_before(warp, dec, g);
    }
    machine_masks_before(warp, dec, g, &warp->shadow->masks);
    warp->pc++;
    int status = RUN_OK;
    if (g == ~0u)
        status = dec->full(warp, dec, g);
    else if (g | dec->always)
        status = dec->part(warp, dec, g);
    if (status != RUN_TRAP)
        machine_masks_after(warp, dec, &warp->shadow->masks);
    if (follow && g && status != RUN_TRAP)
        undef_after(warp, dec, g, undef, stored & g);
    if (bad && status != RUN_TRAP)
        poison(warp, dec, g);
    if (control)
        control_after(warp, dec, g);
    return status;
}

int machine_shadow_issue(Warp *warp) {
    Run *r = warp->run;
    int status = RUN_OK;
    while (r->quota > 0 && status == RUN_OK) {
        if (warp->pc >= r->ncode)
            return machine_trap(warp, NULL, low_lane(warp->active), TRAP_PC, "control runs off the code");
        Dec *dec = &warp->prog[warp->pc];
        if (!dec->inst) {
            warp->pc++;
            status = dec->part(warp, dec, warp->active);
            status = status == RUN_AGAIN ? RUN_OK : status;
            continue;
        }
        r->quota--;
        r->cls[dec->cls].issues++;
        r->cls[dec->cls].lanes += (uint32_t)__builtin_popcount(warp->active);
        uint32_t g = warp->active & (warp->p[dec->guard] ^ dec->gx);
        r->cls[dec->cls].off += (uint32_t)__builtin_popcount(warp->active & ~g);
        if (r->opt.replay) {
            status = machine_replay_before(warp, dec, &g);
            if (status == RUN_AGAIN) { /* not executed */
                status = RUN_OK;
                continue;
            }
            if (status != RUN_OK)
                break;
        }
        status = issue_checked(warp, dec, g);
    }
    return status;
}
