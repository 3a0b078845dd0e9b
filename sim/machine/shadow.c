/* The slow issue loop: tracing, undefined values, control codes.
 *
 * Undefined values: a bit for each lane of each register and predicate, and one for each byte of memory,
 * follow the data. Copying them is fine; it is reported when one decides a guard, an address, an operand of
 * control flow, or is stored to global memory.
 *
 * Control codes: the warp has a clock that stall counts alone advance (waiting on a scoreboard takes no time
 * that a compiler could count on). Each register remembers who wrote it last and who read it late; the
 * distances come from isa/machine/latency.h. A value read too early is reported, and what was computed from
 * it is poisoned.
 * SPDX-License-Identifier: MIT */
#include "isa/machine/latency.h"
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
    /* Of a queue that works in order: the last one that set each scoreboard, and up to which number
     * everything is known to have finished, or to have read its operands. */
    uint64_t queued[LQ_COUNT][NUM_SB], finished[LQ_COUNT], memory_op[NUM_SB], memory_read;
    Accesses writer[REGS_TRACKED], reader[REGS_TRACKED];
};

bool shadow_create(Run *r, Warp *w) {
    w->shadow = calloc(1, sizeof *w->shadow);
    if (r->opt.report_undefined)
        w->local_written = calloc(1, (size_t)r->local_bytes * 32 + 1);
    return w->shadow && (w->local_written || !r->opt.report_undefined);
}

void shadow_reset(Warp *w) {
    struct WarpShadow *s = w->shadow;
    memset(s, 0, sizeof *s);
    memset(s->undef, 0xff, sizeof s->undef);
    memset(s->pundef, 0xff, sizeof s->pundef);
    s->undef[ROW_RZ] = s->undef[ROW_URZ] = 0;
    s->pundef[REG_PT] = s->pundef[PRED_UP + REG_UPT] = 0;
    s->cycle = LATENCY_WINDOW;
    s->number = 1;
    if (w->local_written)
        memset(w->local_written, 0, (size_t)w->run->local_bytes * 32);
}

/* ---- registers of an operand ---- */

/* Row or tracked predicate of part `k` of an operand; -1 if it is no register or a constant one. */
static int row_of(Operand o, unsigned k) {
    if (o.kind != OPK_REG || k >= (o.count ? o.count : 1u))
        return -1;
    if (o.file == RF_R)
        return o.value + k < REG_RZ ? (int)(o.value + k) : -1;
    if (o.file == RF_UR)
        return o.value + k < REG_URZ ? (int)(ROW_UR + o.value + k) : -1;
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
static bool waited_for(const struct WarpShadow *s, const Target *t, const Access *a, uint8_t sb) {
    return (sb < NUM_SB && a->number < s->waited[sb]) || a->number <= s->finished[latency_queue(t, a->inst)];
}
static bool has_read(const struct WarpShadow *s, const Target *t, const Access *a) {
    const Control *c = &a->inst->ctrl;
    return waited_for(s, t, a, c->read_sb) || waited_for(s, t, a, c->write_sb) ||
           (latency_reads_in_order(t, a->inst) && a->number <= s->memory_read);
}
/* Does `in` come behind `before` in one queue, so that it cannot overtake it? */
static bool same_queue(const Target *t, const MachInst *before, const MachInst *in) {
    LatencyQueue q = latency_queue(t, in);
    return q != LQ_NONE && q == latency_queue(t, before);
}

/* Memory instructions read in order, and write after they have read. */
static bool in_order(const Target *t, const MachInst *before, const MachInst *in) {
    return latency_reads_in_order(t, in) && latency_reads_in_order(t, before);
}

static void wait_for(struct WarpShadow *s, unsigned sb) {
    s->waited[sb] = s->number;
    for (unsigned q = LQ_NONE + 1; q < LQ_COUNT; q++)
        if (s->queued[q][sb] > s->finished[q])
            s->finished[q] = s->queued[q][sb];
    if (s->memory_op[sb] > s->memory_read)
        s->memory_read = s->memory_op[sb];
}
static void set_scoreboard(struct WarpShadow *s, const Target *t, const MachInst *in, unsigned sb,
                           bool result) {
    LatencyQueue q = latency_queue(t, in);
    if (sb >= NUM_SB)
        return;
    s->last_set_cycle[sb] = s->cycle;
    if (result)
        s->queued[q][sb] = s->number;
    if (latency_reads_in_order(t, in))
        s->memory_op[sb] = s->number;
}

static void hazard(Warp *w, const Dec *d, const Access *a, uint32_t g, const char *what, Operand o,
                   unsigned part, unsigned need) {
    static const char *const files[RF_COUNT] = {"R", "P", "UR", "UP", "B"};
    char distance[48] = "without waiting for its scoreboard";
    if (need)
        snprintf(distance, sizeof distance, "after %llu of %u cycles",
                 (unsigned long long)(w->shadow->cycle - a->cycle), need);
    machine_finding(w, d, MF_HAZARD, g, pc_address(w->run, a->pc), "%s%u %s %s", files[o.file % RF_COUNT],
                    o.value + part, what, distance);
}

/* True if a source was read too early. */
static bool check_reads(Warp *w, Dec *d, uint32_t g) {
    struct WarpShadow *s = w->shadow;
    const Target *t = w->run->bin->target;
    const MachInst *in = d->inst;
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
            ACCESS_EACH(a, &s->writer[reg], is_guard ? w->active : g) {
                unsigned need =
                    latency_raw_part(t, a->inst, a->slot, a->part, in, is_guard ? LATENCY_GUARD : i, k);
                if (latency_is_variable(t, a->inst) && !waited_for(s, t, a, a->inst->ctrl.write_sb))
                    hazard(w, d, a, g, "read", o, k, 0), bad = true;
                else if (s->cycle - a->cycle < need)
                    hazard(w, d, a, g, "read", o, k, need), bad = true;
            }
        }
    }
    return bad;
}

static void check_writes(Warp *w, Dec *d, uint32_t g) {
    struct WarpShadow *s = w->shadow;
    const Target *t = w->run->bin->target;
    const MachInst *in = d->inst;
    for (unsigned i = 0; g && i < in->ndst; i++)
        for (unsigned k = 0; k < parts(in->dst[i]); k++) {
            int reg = tracked(in->dst[i], k);
            if (reg < 0)
                continue;
            ACCESS_EACH(a, &s->writer[reg], lanes_of(in->dst[i], g)) {
                unsigned need = latency_waw(t, a->inst, a->slot, in);
                if (same_queue(t, a->inst, in))
                    continue;
                if (latency_is_variable(t, a->inst) && !waited_for(s, t, a, a->inst->ctrl.write_sb))
                    hazard(w, d, a, g, "overwritten", in->dst[i], k, 0);
                else if (s->cycle - a->cycle < need)
                    hazard(w, d, a, g, "overwritten", in->dst[i], k, need);
            }
            ACCESS_EACH(b, &s->reader[reg], lanes_of(in->dst[i], g))
            if (!has_read(s, t, b) && !same_queue(t, b->inst, in) && !in_order(t, b->inst, in))
                hazard(w, d, b, g, "overwritten while it is read,", in->dst[i], k, 0);
        }
}

static bool control_before(Warp *w, Dec *d, uint32_t g) {
    struct WarpShadow *s = w->shadow;
    for (unsigned sb = 0; sb < NUM_SB; sb++)
        if (d->inst->ctrl.wait_mask >> sb & 1 && s->cycle - s->last_set_cycle[sb] >= LATENCY_SB_TO_WAIT)
            wait_for(s, sb);
    bool bad = check_reads(w, d, g);
    check_writes(w, d, g);
    return bad;
}

static void poison(Warp *w, Dec *d, uint32_t g) {
    for (unsigned i = 0; i < d->inst->ndst; i++)
        for (unsigned k = 0; k < parts(d->inst->dst[i]); k++) {
            int row = row_of(d->inst->dst[i], k);
            uint32_t *v = row < 0 ? NULL : (uint32_t *)(void *)(w->rows + row * ROW_BYTES);
            for (uint32_t m = g; v && m; m &= m - 1)
                v[low_lane(m)] = POISON;
        }
}

static void control_after(Warp *w, Dec *d, uint32_t g) {
    struct WarpShadow *s = w->shadow;
    const Target *t = w->run->bin->target;
    const MachInst *in = d->inst;
    Access a = {in, s->cycle, s->number, (uint32_t)(d - w->prog), g, 0, 0};
    for (unsigned i = 0; g && i < in->nsrc && latency_reads_late(t, in); i++)
        for (unsigned k = 0; k < parts(in->src[i]); k++) {
            int reg = tracked(in->src[i], k);
            a.slot = (uint8_t)i, a.part = (uint8_t)k;
            if (reg >= 0 && in->src[i].file == RF_R)
                access_put(&s->reader[reg], g, &a);
        }
    for (unsigned i = 0; g && i < in->ndst; i++)
        for (unsigned k = 0; k < parts(in->dst[i]); k++) {
            int reg = tracked(in->dst[i], k);
            a.slot = (uint8_t)i, a.part = (uint8_t)k;
            if (reg >= 0) {
                access_put(&s->writer[reg], lanes_of(in->dst[i], g), &a);
                access_put(&s->reader[reg], lanes_of(in->dst[i], g), NULL);
            }
        }
    set_scoreboard(s, t, in, in->ctrl.write_sb, true);
    set_scoreboard(s, t, in, in->ctrl.read_sb, false);
    if (latency_drains_reads(t, in))
        s->memory_read = s->number;
    unsigned least = latency_issue(t, in), stall = in->ctrl.stall_cycles ? in->ctrl.stall_cycles : 1;
    s->cycle += stall > least ? stall : least;
    s->number++;
}

/* ---- undefined values ---- */

static uint32_t undef_operand(const Warp *w, Operand o) {
    uint32_t u = 0;
    for (unsigned k = 0; k < parts(o); k++) {
        int row = row_of(o, k);
        if (row >= 0)
            u |= w->shadow->undef[row];
    }
    int p = pred_of(o);
    return p >= 0 ? u | w->shadow->pundef[p] : u;
}
static void set_undef(Warp *w, Operand o, uint32_t g, uint32_t u) {
    struct WarpShadow *s = w->shadow;
    if (o.kind == OPK_REG && (o.file == RF_UR || o.file == RF_UP)) {
        u = u & g ? ~0u : 0;
        g = ~0u;
    }
    for (unsigned k = 0; k < parts(o); k++) {
        int row = row_of(o, k);
        if (row >= 0)
            s->undef[row] = (s->undef[row] & ~g) | (u & g);
    }
    int p = pred_of(o);
    if (p >= 0)
        s->pundef[p] = (s->pundef[p] & ~g) | (u & g);
}

static void report(Warp *w, Dec *d, uint32_t lanes, const char *use) {
    if (lanes)
        machine_finding(w, d, MF_UNDEFINED, lanes, 0, "%s", use);
}

/* Lanes for which some byte of the access is undefined; `mark` stores definedness instead. */
static uint32_t memory_undef(Warp *w, Dec *d, uint32_t g, bool mark, uint32_t undef) {
    uint32_t u = 0;
    for (uint32_t m = g; m; m &= m - 1) {
        unsigned lane = low_lane(m), n = d->size;
        uint64_t a = mem_address(w, d, lane), offset = a;
        MemSpace space = (MemSpace)d->imm[1];
        if (space == MS_GENERIC && a - SIM_SHARED_WINDOW < SIM_WINDOW_BYTES)
            space = MS_SHARED, offset = a - SIM_SHARED_WINDOW;
        else if (space == MS_GENERIC && a - SIM_LOCAL_WINDOW < SIM_WINDOW_BYTES)
            space = MS_LOCAL, offset = a - SIM_LOCAL_WINDOW;
        bool good = !(undef >> lane & 1);
        if (space == MS_GENERIC || space == MS_GLOBAL) {
            SimAlloc *al = simmem_find(w->run->mem, a, n);
            if (!al)
                continue; /* will trap */
            if (!mark)
                u |= (uint32_t)!simmem_is_written(al, a - al->address, n) << lane;
            else if (!good)
                for (uint64_t i = a - al->address; i < a - al->address + n; i++)
                    al->written[i / 8] = (uint8_t)(al->written[i / 8] & ~(1u << (i & 7)));
            continue;
        }
        uint32_t limit = space == MS_SHARED ? w->run->shared_bytes : w->run->local_bytes;
        if (n > limit || offset > limit - n)
            continue;
        uint8_t *flags = space == MS_SHARED ? w->cta->shared_written + offset
                                            : w->local_written + (size_t)lane * w->run->local_bytes + offset;
        for (unsigned i = 0; i < n; i++) {
            if (mark)
                flags[i] = good;
            else
                u |= (uint32_t)!flags[i] << lane;
        }
    }
    return u;
}

typedef enum { ACC_NONE, ACC_LOAD, ACC_STORE, ACC_ATOMIC } AccessKind;
static AccessKind access_kind(unsigned optype) {
    switch (optype) {
    case OT_LDG:
    case OT_LD:
    case OT_LDS:
    case OT_LDL: return ACC_LOAD;
    case OT_STG:
    case OT_ST:
    case OT_STS:
    case OT_STL: return ACC_STORE;
    case OT_ATOMG:
    case OT_ATOMG_CAS:
    case OT_ATOM:
    case OT_ATOM_CAS:
    case OT_RED:
    case OT_ATOMS:
    case OT_ATOMS_CAS: return ACC_ATOMIC;
    default: return ACC_NONE;
    }
}

static uint32_t undef_shfl(Warp *w, Dec *d, uint32_t g) {
    const uint32_t *b = dec_src(w, d, 1), *c = dec_src(w, d, 2);
    uint32_t from = undef_operand(w, d->inst->src[SHFL_ra]), u = 0;
    for (uint32_t m = g; m; m &= m - 1) {
        unsigned lane = low_lane(m);
        int j = shfl_source_lane(d->k[0], lane, b[lane], c[lane]);
        u |= (from >> (j >= 0 ? (unsigned)j & 31 : lane) & 1) << lane;
    }
    return u;
}

/* A comparison combined by AND with a third predicate is defined where that is false. */
static uint32_t undef_and(const Warp *w, const Dec *d) {
    const MachInst *in = d->inst;
    uint32_t third = undef_operand(w, in->src[2]), u = third;
    for (unsigned i = 0; i < in->nsrc; i++)
        u |= undef_operand(w, in->src[i]);
    return u & ~(~third & ~dec_pred(w, d, 0));
}
_Static_assert((int)ISETP_pp == 2 && (int)FSETP_pp == 2 && (int)DSETP_pp == 2, "the third source");

/* A table of three predicates is defined where the undefined ones do not matter. */
static uint32_t undef_table(const Warp *w, const Dec *d, uint32_t lut) {
    uint32_t can[2] = {0, 0};
    for (unsigned k = 0; k < 8; k++) {
        uint32_t possible = ~0u;
        for (unsigned i = 0; i < 3; i++) {
            uint32_t v = dec_pred(w, d, i);
            possible &= undef_operand(w, d->inst->src[i]) | (k >> (2 - i) & 1 ? v : ~v);
        }
        can[lut >> k & 1] |= possible;
    }
    return can[0] & can[1];
}

static bool is_and(const MachInst *in) {
    switch (in->optype) {
    case OT_ISETP: return MGET(ISETP, bop, in->mods) == BoolOp_AND;
    case OT_FSETP: return MGET(FSETP, bop, in->mods) == BoolOp_AND;
    case OT_DSETP: return MGET(DSETP, bop, in->mods) == BoolOp_AND;
    default: return false;
    }
}

/* Undefinedness of what a plain operation computes. */
static uint32_t undef_result(Warp *w, Dec *d, uint32_t g) {
    const MachInst *in = d->inst;
    uint32_t u = 0;
    if (d->optype == OT_SHFL)
        return undef_shfl(w, d, g);
    if (is_and(in))
        return undef_and(w, d);
    if (d->optype == OT_PLOP3)
        return undef_table(w, d, MGET(PLOP3, lut, in->mods)) | undef_table(w, d, MGET(PLOP3, lut2, in->mods));
    if (d->optype == OT_SEL || d->optype == OT_FSEL) {
        uint32_t p = dec_pred(w, d, 0);
        return (undef_operand(w, in->src[0]) & p) | (undef_operand(w, in->src[1]) & ~p) |
               undef_operand(w, in->src[2]);
    }
    for (unsigned i = 0; i < in->nsrc; i++) {
        bool used = true;
        if (d->optype == OT_LOP3 && i < 3) {
            uint32_t lut = MGET(LOP3, lut, in->mods), shift = i == 0 ? 4 : i == 1 ? 2 : 1;
            static const uint8_t low[3] = {0x0f, 0x33, 0x55};
            used = ((lut >> shift ^ lut) & low[i]) != 0;
        }
        if (used)
            u |= undef_operand(w, in->src[i]);
    }
    if (d->optype == OT_VOTE || d->optype == OT_REDUX || d->optype == OT_VOTEU || d->optype == OT_MATCH)
        u = u & g ? ~0u : 0;
    return u;
}

/* Before execution; returns the undefinedness of the result. */
static uint32_t undef_before(Warp *w, Dec *d, uint32_t g) {
    const MachInst *in = d->inst;
    report(w, d, undef_operand(w, in->guard) & w->active, "guard");
    AccessKind kind = access_kind(d->optype);
    if (kind == ACC_NONE) {
        uint32_t u = undef_result(w, d, g);
        if (d->always)
            report(w, d, u & g, "operand of control flow");
        return u;
    }
    uint32_t address = (undef_operand(w, in->src[0]) | undef_operand(w, in->src[1])) & g, data = 0;
    report(w, d, address, "address");
    for (unsigned i = 3; i < in->nsrc; i++)
        data |= undef_operand(w, in->src[i]);
    uint32_t read = kind == ACC_STORE ? 0 : memory_undef(w, d, g, false, 0);
    if (kind == ACC_ATOMIC)
        report(w, d, (read | data) & g, "operand of an atomic");
    if (kind == ACC_STORE && (d->imm[1] == MS_GLOBAL))
        report(w, d, data & g, "value stored to global memory");
    if (kind != ACC_LOAD)
        memory_undef(w, d, g, true,
                     kind == ACC_STORE ? data : 0); /* marks before storing: global bits are set then */
    return kind == ACC_LOAD ? read : read | data;
}

static void undef_after(Warp *w, Dec *d, uint32_t g, uint32_t u, uint32_t stored_undef) {
    const MachInst *in = d->inst;
    for (unsigned i = 0; i < in->ndst; i++)
        set_undef(w, in->dst[i], g, u);
    if (d->optype == OT_R2P)
        for (unsigned k = 0; k < 7; k++)
            if (d->imm[0] >> k & 1)
                w->shadow->pundef[k] = (w->shadow->pundef[k] & ~g) | (u & g);
    if (access_kind(d->optype) == ACC_STORE && stored_undef)
        memory_undef(w, d, g & stored_undef, true, stored_undef);
}

/* ---- tracing ---- */

static void trace(Warp *w, Dec *d, uint32_t g) {
    Run *r = w->run;
    char text[256];
    uint64_t pc = pc_address(r, (uint32_t)(d - w->prog));
    const BinFunc *f = binary_func_at(r->bin, pc);
    uint64_t offset = f ? pc - f->address : pc;
    text[0] = 0;
    if (!r->opt.trace_no_text)
        isa_print(r->bin->target, d->inst, offset, NULL, text, sizeof text);
    MachineTrace t = {.warp = w->index,
                      .pc_bytes = pc,
                      .func_pc_bytes = offset,
                      .func = f,
                      .valid = w->valid,
                      .active = w->active,
                      .executed = g,
                      .inst = d->inst,
                      .text = text};
    if (f && f->locs && offset / INST_BYTES < f->ninsts)
        t.loc = &f->locs[offset / INST_BYTES];
    memcpy(t.block, w->cta->id, sizeof t.block);
    t.state = w;
    r->opt.trace(r->opt.trace_user, &t);
}

bool machine_trace_access(const MachineTrace *t, unsigned lane, MachineAccess *out) {
    const Warp *w = t->state;
    const Dec *d = &w->prog[w->pc];
    AccessKind kind = access_kind(d->optype);
    if (kind != ACC_STORE && kind != ACC_ATOMIC)
        return false;
    uint64_t window = d->imm[1] == MS_SHARED  ? SIM_SHARED_WINDOW
                      : d->imm[1] == MS_LOCAL ? SIM_LOCAL_WINDOW
                                              : 0;
    *out = (MachineAccess){
        .atomic = kind == ACC_ATOMIC, .address = mem_address(w, d, lane) + window, .size_bytes = d->size};
    const uint32_t *v = dec_src(w, d, 2);
    for (unsigned k = 0; kind == ACC_STORE && 4 * k < d->size; k++)
        memcpy(out->data + (size_t)4 * k, &v[32 * k + lane], d->size - 4 * k < 4 ? d->size - 4 * k : 4);
    return true;
}

static int issue_checked(Warp *w, Dec *d, uint32_t g) {
    Run *r = w->run;
    uint32_t undef = 0, stored = 0;
    bool bad = false, control = r->opt.check_control, follow = r->opt.report_undefined;
    if (r->opt.trace)
        trace(w, d, g);
    if (control)
        bad = control_before(w, d, g);
    if (follow) {
        for (unsigned i = 3; i < d->inst->nsrc && access_kind(d->optype) == ACC_STORE; i++)
            stored |= undef_operand(w, d->inst->src[i]);
        undef = undef_before(w, d, g);
    }
    masks_before(w, d, g, &w->shadow->masks);
    w->pc++;
    int status = RUN_OK;
    if (g == ~0u)
        status = d->full(w, d, g);
    else if (g | d->always)
        status = d->part(w, d, g);
    if (status != RUN_TRAP)
        masks_after(w, d, &w->shadow->masks);
    if (follow && g && status != RUN_TRAP)
        undef_after(w, d, g, undef, stored & g);
    if (bad && status != RUN_TRAP)
        poison(w, d, g);
    if (control)
        control_after(w, d, g);
    return status;
}

int shadow_issue(Warp *w) {
    Run *r = w->run;
    int status = RUN_OK;
    while (r->quota > 0 && status == RUN_OK) {
        if (w->pc >= r->ncode)
            return machine_trap(w, NULL, low_lane(w->active), TRAP_PC, "control runs off the code");
        Dec *d = &w->prog[w->pc];
        if (!d->inst) {
            w->pc++;
            status = d->part(w, d, w->active);
            status = status == RUN_AGAIN ? RUN_OK : status;
            continue;
        }
        r->quota--;
        r->cls[d->cls].issues++;
        r->cls[d->cls].lanes += (uint32_t)__builtin_popcount(w->active);
        uint32_t g = w->active & (w->p[d->guard] ^ d->gx);
        if (r->opt.replay) {
            status = replay_before(w, d, &g);
            if (status == RUN_AGAIN) { /* not executed */
                status = RUN_OK;
                continue;
            }
            if (status != RUN_OK)
                break;
        }
        status = issue_checked(w, d, g);
    }
    return status;
}
