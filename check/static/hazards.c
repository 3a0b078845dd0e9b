/* Control codes: H-01 to H-07. A data flow over what is in flight: results that have not arrived, registers
 * that have not been read. Each entry has the least age, in cycles from issue to issue, over all paths, and
 * the scoreboards of which a wait would cover it on all paths. Calls: what is in flight goes into the callee,
 * and what the callee started or let pass comes out again. Distances are those of isa/machine/latency.h.
 * SPDX-License-Identifier: MIT */
#include "check/static/internal.h"
#include "isa/machine/latency.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    NUM_SB = 6,
    CELL_R = 0,
    CELL_P = 256,
    CELL_UR = 264,
    CELL_UP = 328,
    CELLS = 336,
    MAX_REFS = 48,
    MARK_READ = 1,
    MARK_WRITTEN = 2
};
typedef enum { IN_WRITE, IN_READ } Access;

typedef struct {
    uint16_t cell;
    uint8_t operand, part; /* source or destination number, LATENCY_GUARD */
} Ref;

typedef struct {
    uint32_t inst;
    uint16_t cell;
    uint8_t access, operand, part;
    uint8_t age;      /* up to LATENCY_WINDOW */
    uint8_t cover;    /* scoreboards: a wait for one of them says that it is over */
    bool pending;     /* not over, as far as scoreboards tell */
    bool guard_holds; /* the guard's predicate is still what it was */
} Entry;

typedef struct {
    VEC(Entry) e;    /* ascending keys */
    VEC(Entry) more; /* of merge_loosely; never of a state that is walked */
    uint8_t sb_age[NUM_SB];
    uint32_t sb_inst[NUM_SB];
    uint8_t sb_oldest[NUM_SB]; /* the most cycles, over all paths, since it was set for a result */
    bool reached;
} State;

typedef struct {
    const Ref *refs;
    uint8_t nreads, nwrites, issue, advance, queue; /* issue: the stall that H-06 asks for */
    bool variable, late, memory, barrier, drains, guarded;
} Facts;

typedef struct {
    State entry, exit;
    VEC(Entry) own; /* of exit, what entry has not */
    bool stale;     /* exit has changed: own must be found again */
} Flow;

typedef struct {
    Checker *checker;
    const Target *target;
    Facts *facts; /* by instruction */
    State *in;    /* by block */
    Flow *flow;   /* by procedure */
    State now, edge, scratch, sum, one, before;
    bool *dirty; /* by block: its state has changed since it was walked */
    uint8_t mark[CELLS];
    bool final, flows_changed;
} Hazards;

/* ---- registers of an instruction ---- */

static unsigned add_refs(Operand o, unsigned operand, Ref *out, unsigned n) {
    static const uint16_t first[RF_B] = {CELL_R, CELL_P, CELL_UR, CELL_UP};
    static const uint16_t zero[RF_B] = {REG_RZ, REG_PT, NUM_UR, REG_UPT};
    if (o.kind != OPK_REG || o.file >= RF_B)
        return n;
    for (unsigned k = 0; k < (o.count ? o.count : 1u) && o.value + k < zero[o.file] && n < MAX_REFS; k++)
        out[n++] = (Ref){(uint16_t)(first[o.file] + o.value + k), (uint8_t)operand, (uint8_t)k};
    return n;
}

static unsigned named_predicates(const MachInst *inst, Ref *out, unsigned n) {
    RegFile file;
    uint32_t named = isa_named_predicates(inst, &file);
    for (unsigned p = 0; p < REG_PT && n < MAX_REFS; p++)
        if (named >> p & 1)
            out[n++] = (Ref){(uint16_t)((file == RF_UP ? CELL_UP : CELL_P) + p), 0, 0};
    return n;
}

/* DEPBAR.LE SBn, 0x0, {m}: waits by being executed, so that it cannot come too early. */
static unsigned drained(const MachInst *inst) {
    bool all = inst->optype == OT_DEPBAR && inst->src[DEPBAR_count].kind == OPK_IMM &&
               inst->src[DEPBAR_count].value == 0;
    uint32_t set = inst->optype == OT_DEPBAR ? inst->src[DEPBAR_set].value : 0;
    return (all ? 1u << MGET(DEPBAR, sb, inst->mods) : 0) | set;
}

/* DEPBAR.LE SBn, k lets the last k results of a scoreboard be under way, which arrive in order. The first
 * instruction of the DEPBAR's block from which on there are so many; where the block has fewer, its first. */
static uint32_t first_under_way(const Hazards *hazards, uint32_t i) {
    const BinFlow *flow = hazards->checker->flow;
    const MachInst *inst = &flow->insts[i];
    uint32_t first = i;
    for (uint32_t left = inst->src[DEPBAR_count].value; left && first > 0; first--) {
        if (flow->block_of[first - 1] != flow->block_of[i])
            break;
        left -= flow->insts[first - 1].ctrl.write_sb == MGET(DEPBAR, sb, inst->mods);
        if (!left)
            return first - 1;
    }
    return first;
}

/* Has what the entry waits for arrived, as the DEPBAR lets only later results be under way? It has, where one
 * that comes behind it in its queue has (TEX R8; TEX.W5 R17; TEX.W5 R11; DEPBAR.LE SB5, 0x1; a reader of R8:
 * NV12 pictures, sm_75; boxFilter, sm_86). Those of other blocks are not followed. */
static bool came_before(const Hazards *hazards, const Entry *entry, uint32_t i) {
    const BinFlow *flow = hazards->checker->flow;
    const MachInst *inst = &flow->insts[i];
    if (inst->optype != OT_DEPBAR || flow->block_of[entry->inst] != flow->block_of[i] || entry->inst >= i)
        return false;
    uint32_t first = first_under_way(hazards, i);
    for (uint32_t k = entry->inst; k < first; k++)
        if (flow->insts[k].ctrl.write_sb == MGET(DEPBAR, sb, inst->mods) &&
            (k == entry->inst ||
             (!hazards->facts[k].guarded &&
              latency_comes_behind(hazards->facts[k].queue, hazards->facts[entry->inst].queue))))
            return true;
    return false;
}

static Facts facts_of(Hazards *hazards, const MachInst *inst) {
    Ref refs[2 * MAX_REFS];
    unsigned nr = 0, nw = 0;
    for (unsigned k = 0; k < inst->nsrc; k++)
        nr = add_refs(inst->src[k], k, refs, nr);
    nr = add_refs(inst->guard, LATENCY_GUARD, refs, nr);
    if (isa_has_effect(inst->optype, ISA_EFFECT_READS_ALL_P))
        nr = named_predicates(inst, refs, nr);
    for (unsigned k = 0; k < inst->ndst; k++)
        nw = add_refs(inst->dst[k], k, refs + nr, nw);
    if (isa_has_effect(inst->optype, ISA_EFFECT_WRITES_ALL_P))
        nw = named_predicates(inst, refs + nr, nw);
    return (Facts){.refs = arena_copy(&hazards->checker->a, refs, sizeof *refs * (nr + nw) + 1),
                   .nreads = (uint8_t)nr,
                   .nwrites = (uint8_t)nw,
                   .issue = (uint8_t)latency_issue_least(hazards->target, inst),
                   .advance = (uint8_t)latency_next(hazards->target, inst),
                   .queue = (uint8_t)latency_queue(hazards->target, inst),
                   .variable = latency_is_variable(hazards->target, inst),
                   .late = latency_reads_late(hazards->target, inst),
                   .memory = latency_reads_in_order(hazards->target, inst),
                   .barrier = isa_has_effect(inst->optype, ISA_EFFECT_CTA_BARRIER),
                   .drains = latency_drains_reads(hazards->target, inst),
                   .guarded = !op_is_always(inst->guard)};
}

static const char *cell_name(unsigned cell, char out[8]) {
    if (cell < CELL_P)
        snprintf(out, 8, "R%u", cell);
    else if (cell < CELL_UR)
        snprintf(out, 8, "P%u", cell - CELL_P);
    else if (cell < CELL_UP)
        snprintf(out, 8, "UR%u", (cell - CELL_UR) & 63);
    else
        snprintf(out, 8, "UP%u", (cell - CELL_UP) & 7);
    return out;
}

/* ---- states ---- */

static int by_key(const Entry *entry, const Entry *b) {
    if (entry->inst != b->inst)
        return entry->inst < b->inst ? -1 : 1;
    int x = entry->access << 16 | entry->operand << 8 | entry->part,
        y = b->access << 16 | b->operand << 8 | b->part;
    if (x != y)
        return x < y ? -1 : 1;
    return (int)entry->cell - (int)b->cell; /* all predicates are one operand */
}

static void copy_state(Hazards *hazards, State *to, const State *from) {
    to->e.n = 0;
    for (uint32_t k = 0; k < from->e.n; k++)
        VEC_ADD(&hazards->checker->a, &to->e, from->e.at[k]);
    memcpy(to->sb_age, from->sb_age, sizeof to->sb_age);
    memcpy(to->sb_inst, from->sb_inst, sizeof to->sb_inst);
    memcpy(to->sb_oldest, from->sb_oldest, sizeof to->sb_oldest);
    to->reached = from->reached;
}

/* Two ways to one entry: the worse of both. */
static bool worse(Entry *entry, const Entry *b) {
    Entry old = *entry;
    entry->age = b->age < entry->age ? b->age : entry->age;
    entry->cover &= b->cover;
    if (entry->pending != b->pending)
        entry->cover = entry->pending ? old.cover : b->cover; /* of a finished one covers do not matter */
    entry->pending |= b->pending;
    entry->guard_holds &= b->guard_holds;
    return entry->age != old.age || entry->cover != old.cover || entry->pending != old.pending ||
           entry->guard_holds != old.guard_holds;
}

static Entry *find_entry(const State *state, const Entry *key) {
    uint32_t lo = 0, hi = state->e.n;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        int o = by_key(&state->e.at[mid], key);
        if (o == 0)
            return &state->e.at[mid];
        lo = o < 0 ? mid + 1 : lo;
        hi = o < 0 ? hi : mid;
    }
    return NULL;
}

static bool merge_scoreboards(State *into, const State *with) {
    bool changed = false;
    for (unsigned s = 0; s < NUM_SB; s++) {
        if (with->sb_age[s] < into->sb_age[s]) {
            into->sb_age[s] = with->sb_age[s];
            into->sb_inst[s] = with->sb_inst[s];
            changed = true;
        }
        if (with->sb_oldest[s] > into->sb_oldest[s]) {
            into->sb_oldest[s] = with->sb_oldest[s];
            changed = true;
        }
    }
    return changed;
}

/* `into` becomes the union, but new entries stand unsorted in `more` until settle_state: where many blocks
 * meet, each costs what it brings. True if it may have changed. */
static bool merge_loosely(Hazards *hazards, State *into, const State *with) {
    if (!into->reached) {
        copy_state(hazards, into, with);
        return into->reached = true;
    }
    bool changed = merge_scoreboards(into, with);
    hazards->checker->steps += 1 + with->e.n;
    for (uint32_t k = 0; k < with->e.n; k++) {
        Entry *known = find_entry(into, &with->e.at[k]);
        if (known) {
            changed |= worse(known, &with->e.at[k]);
        } else {
            VEC_ADD(&hazards->checker->a, &into->more, with->e.at[k]);
            changed = true;
        }
    }
    return changed;
}

static int by_entry(const void *a, const void *b) { return by_key(a, b); }

static void settle_state(Hazards *hazards, State *state) {
    if (!state->more.n)
        return;
    qsort(state->more.at, state->more.n, sizeof *state->more.at, by_entry);
    State *s = &hazards->scratch;
    uint32_t a = 0, b = 0;
    s->e.n = 0;
    hazards->checker->steps += state->e.n + state->more.n;
    while (a < state->e.n || b < state->more.n) {
        bool take = b == state->more.n || (a < state->e.n && by_key(&state->e.at[a], &state->more.at[b]) < 0);
        const Entry *next = take ? &state->e.at[a++] : &state->more.at[b++];
        if (s->e.n && by_key(&s->e.at[s->e.n - 1], next) == 0)
            worse(&s->e.at[s->e.n - 1], next);
        else
            VEC_ADD(&hazards->checker->a, &s->e, *next);
    }
    state->more.n = 0;
    state->e.n = 0;
    for (uint32_t k = 0; k < s->e.n; k++)
        VEC_ADD(&hazards->checker->a, &state->e, s->e.at[k]);
}

static bool merge_state(Hazards *hazards, State *into, const State *with) {
    bool changed = merge_loosely(hazards, into, with);
    settle_state(hazards, into);
    return changed;
}

/* Put an entry in its place, or in that of the same one of an earlier round of a loop. */
static void put_entry(Hazards *hazards, State *state, Entry x) {
    uint32_t at = state->e.n;
    while (at > 0 && by_key(&state->e.at[at - 1], &x) > 0)
        at--;
    if (at > 0 && by_key(&state->e.at[at - 1], &x) == 0) {
        state->e.at[at - 1] = x;
        return;
    }
    (void)VEC_PUSH(&hazards->checker->a, &state->e);
    memmove(&state->e.at[at + 1], &state->e.at[at], sizeof x * (state->e.n - 1 - at));
    state->e.at[at] = x;
}

static uint8_t older(uint8_t age, unsigned cycles) {
    return (uint8_t)(age + cycles < LATENCY_WINDOW ? age + cycles : LATENCY_WINDOW);
}

static void grow_older(State *state, unsigned cycles) {
    uint32_t n = 0;
    for (uint32_t k = 0; k < state->e.n; k++) {
        Entry x = state->e.at[k];
        x.age = older(x.age, cycles);
        if (x.age < LATENCY_WINDOW || x.pending)
            state->e.at[n++] = x;
    }
    state->e.n = n;
    for (unsigned b = 0; b < NUM_SB; b++) {
        state->sb_age[b] = older(state->sb_age[b], cycles);
        state->sb_oldest[b] = older(state->sb_oldest[b], cycles);
    }
}

/* No scoreboard is set. */
static void clear_scoreboards(State *state) {
    memset(state->sb_age, LATENCY_WINDOW, sizeof state->sb_age);
    memset(state->sb_oldest, LATENCY_WINDOW, sizeof state->sb_oldest);
}

/* ---- one instruction ---- */

static void wait_for(Hazards *hazards, State *state, uint32_t i) {
    const MachInst *inst = &hazards->checker->flow->insts[i];
    unsigned mask = inst->ctrl.wait_mask & 0x3f, good = drained(inst);
    unsigned least = latency_result_least(hazards->target), held = 0;
    for (unsigned b = 0; b < NUM_SB; b++) {
        if (!(mask >> b & 1))
            continue;
        if (state->sb_age[b] >= LATENCY_SB_TO_WAIT) {
            good |= 1u << b;
            if (state->sb_oldest[b] + held < least)
                held = least - state->sb_oldest[b];
        } else if (hazards->final)
            check_report(hazards->checker, CR_H05, i, state->sb_inst[b],
                         "waits for scoreboard %u %u cycle%s behind %s, which sets it", b, state->sb_age[b],
                         state->sb_age[b] == 1 ? "" : "s", check_at(hazards->checker, state->sb_inst[b]));
    }
    uint32_t n = 0;
    for (uint32_t k = 0; k < state->e.n; k++) {
        Entry x = state->e.at[k];
        if (x.pending && (x.cover & good || came_before(hazards, &x, i))) {
            x.pending = false;
            if (x.access == IN_READ)
                continue;
        }
        state->e.at[n++] = x;
    }
    state->e.n = n;
    grow_older(state, held);
}

/* No lane executes both: the same predicate, once as it is, once negated. */
static bool exclusive(const Hazards *hazards, const Entry *entry, const MachInst *mach_inst) {
    const MachInst *w = &hazards->checker->flow->insts[entry->inst];
    return entry->guard_holds && w->guard.kind == OPK_REG && mach_inst->guard.kind == OPK_REG &&
           w->guard.file == mach_inst->guard.file && w->guard.value == mach_inst->guard.value &&
           w->guard.value != REG_PT && ((w->guard.mods ^ mach_inst->guard.mods) & OPM_NOT);
}

static void too_early(Hazards *hazards, CheckRule rule, uint32_t i, const Entry *entry, const char *what,
                      unsigned need) {
    char cell[8];
    if (!hazards->final)
        return;
    if (need)
        check_report(hazards->checker, rule, i, entry->inst, "%s %s after %u of %u cycles (%s)",
                     cell_name(entry->cell, cell), what, entry->age, need,
                     check_at(hazards->checker, entry->inst));
    else
        check_report(hazards->checker, rule, i, entry->inst, "%s %s without waiting for %s%s",
                     cell_name(entry->cell, cell), what, check_at(hazards->checker, entry->inst),
                     entry->cover ? "" : ", which sets no scoreboard");
}

static void check_write(Hazards *hazards, uint32_t i, const Entry *entry) {
    const MachInst *m = &hazards->checker->flow->insts[i], *w = &hazards->checker->flow->insts[entry->inst];
    const Facts *f = &hazards->facts[i], *g = &hazards->facts[entry->inst];
    if (latency_comes_behind(f->queue, g->queue))
        return;
    if (entry->access == IN_WRITE) {
        unsigned need = latency_waw(hazards->target, w, entry->operand, m);
        if (entry->pending)
            too_early(hazards, CR_H03, i, entry, "overwritten", 0);
        else if (entry->age < need)
            too_early(hazards, CR_H03, i, entry, "overwritten", need);
    } else if (entry->pending && f->memory && g->memory) {
        /* memory instructions read in order, and write after they have read */
    } else if (entry->pending)
        too_early(hazards, CR_H04, i, entry, "overwritten while it is read,", 0);
    else {
        unsigned need = latency_war(hazards->target, w, entry->operand, m);
        if (entry->age < need)
            too_early(hazards, CR_H04, i, entry, "overwritten while it is read,", need);
    }
}

static void check_read(Hazards *hazards, uint32_t i, const Entry *entry, const Ref *ref) {
    const MachInst *m = &hazards->checker->flow->insts[i], *w = &hazards->checker->flow->insts[entry->inst];
    if (entry->pending) {
        too_early(hazards, CR_H02, i, entry, "read", 0);
        return;
    }
    unsigned need =
        latency_raw_part(hazards->target, w, entry->operand, entry->part, m, ref->operand, ref->part);
    if (entry->age < need)
        too_early(hazards, CR_H01, i, entry, "read", need);
}

static void check_accesses(Hazards *hazards, const State *state, uint32_t i) {
    const Facts *f = &hazards->facts[i];
    const MachInst *inst = &hazards->checker->flow->insts[i];
    for (uint32_t k = 0; k < state->e.n; k++) {
        const Entry *entry = &state->e.at[k];
        unsigned mark = hazards->mark[entry->cell];
        if (!mark)
            continue;
        bool apart = exclusive(hazards, entry, inst);
        for (unsigned r = 0; r < f->nreads && entry->access == IN_WRITE && (mark & MARK_READ); r++)
            if (f->refs[r].cell == entry->cell && !(apart && f->refs[r].operand != LATENCY_GUARD))
                check_read(hazards, i, entry, &f->refs[r]);
        if ((mark & MARK_WRITTEN) && !apart)
            check_write(hazards, i, entry);
    }
}

static void mark_cells(Hazards *hazards, const Facts *facts, bool set) {
    for (unsigned k = 0; k < (unsigned)facts->nreads + facts->nwrites; k++)
        hazards->mark[facts->refs[k].cell] =
            set ? hazards->mark[facts->refs[k].cell] | (k < facts->nreads ? MARK_READ : MARK_WRITTEN) : 0;
}

static unsigned sb_bit(unsigned sb) { return sb < NUM_SB ? 1u << sb : 0; }

/* Entries that this instruction ends, or covers with its scoreboards. */
static void pass_by(Hazards *hazards, State *state, uint32_t i) {
    const Facts *f = &hazards->facts[i];
    const MachInst *mach_inst = &hazards->checker->flow->insts[i];
    unsigned w = sb_bit(mach_inst->ctrl.write_sb), r = sb_bit(mach_inst->ctrl.read_sb);
    uint32_t n = 0;
    for (uint32_t k = 0; k < state->e.n; k++) {
        Entry x = state->e.at[k];
        const Facts *g = &hazards->facts[x.inst];
        const MachInst *before = &hazards->checker->flow->insts[x.inst];
        if (!f->guarded && (hazards->mark[x.cell] & MARK_WRITTEN))
            continue; /* overwritten: of no concern any more */
        if (x.access == IN_READ && f->drains && (g->memory || g->barrier))
            continue; /* (BAR.SYNC R0; BAR.SYNC.R4 R0; a wait for 4; S2R R0: libgomp for sm_75) */
        if (latency_comes_behind(f->queue, g->queue))
            x.cover |= (uint8_t)(x.access == IN_READ ? w | r : w);
        if (x.access == IN_READ && f->memory && g->memory)
            x.cover |= (uint8_t)(w | r);
        if (before->guard.kind == OPK_REG && before->guard.value != REG_PT && before->guard.file < RF_B &&
            (hazards->mark[(before->guard.file == RF_P ? CELL_P : CELL_UP) + before->guard.value] &
             MARK_WRITTEN))
            x.guard_holds = false;
        state->e.at[n++] = x;
    }
    state->e.n = n;
}

static void take_off(Hazards *hazards, State *state, uint32_t i) {
    const Facts *f = &hazards->facts[i];
    const MachInst *inst = &hazards->checker->flow->insts[i];
    unsigned w = sb_bit(inst->ctrl.write_sb), r = sb_bit(inst->ctrl.read_sb);
    bool guard_holds = true;
    for (unsigned k = 0; k < f->nwrites; k++)
        guard_holds &= !(inst->guard.kind == OPK_REG &&
                         f->refs[f->nreads + k].cell ==
                             (inst->guard.file == RF_P ? CELL_P : CELL_UP) + inst->guard.value);
    for (unsigned k = 0; k < f->nwrites; k++) {
        const Ref *ref = &f->refs[f->nreads + k];
        unsigned cover = latency_comes_with_operands(hazards->target, inst, ref->operand) ? w | r : w;
        put_entry(hazards, state,
                  (Entry){i, ref->cell, IN_WRITE, ref->operand, ref->part, 0, (uint8_t)cover, f->variable,
                          guard_holds});
    }
    for (unsigned k = 0; k < f->nreads; k++) {
        const Ref *ref = &f->refs[k];
        if (ref->operand == LATENCY_GUARD)
            continue;
        bool late = f->late && ref->cell < CELL_P;
        if (!f->late || late)
            put_entry(hazards, state,
                      (Entry){i, ref->cell, IN_READ, ref->operand, ref->part, 0, (uint8_t)(late ? w | r : 0),
                              late, guard_holds});
    }
    for (unsigned b = 0; b < NUM_SB; b++)
        if ((w | r) >> b & 1) {
            state->sb_age[b] = 0;
            state->sb_inst[b] = i;
            state->sb_oldest[b] = w >> b & 1 && f->variable && !f->guarded ? 0 : LATENCY_WINDOW;
        }
}

static void nothing_in_flight(Hazards *hazards, const State *state, uint32_t i) {
    char cell[8];
    if (!hazards->final || hazards->checker->native)
        return;
    for (uint32_t k = 0; k < state->e.n; k++) {
        const Entry *entry = &state->e.at[k];
        if (entry->pending) {
            check_report(hazards->checker, CR_H07, i, entry->inst, "%s of %s is still in flight here",
                         cell_name(entry->cell, cell), check_at(hazards->checker, entry->inst));
            return;
        }
    }
}

static void hazard_step(Hazards *hazards, State *state, uint32_t i) {
    const Facts *f = &hazards->facts[i];
    const MachInst *inst = &hazards->checker->flow->insts[i];
    wait_for(hazards, state, i);
    if (bin_guard(inst) == BG_NEVER) { /* ptxas fills with such */
        grow_older(state, f->advance);
        return;
    }
    mark_cells(hazards, f, true);
    check_accesses(hazards, state, i);
    if (check_is_call(hazards->checker, i) || bin_kind(inst) == BK_RET)
        nothing_in_flight(hazards, state, i);
    pass_by(hazards, state, i);
    take_off(hazards, state, i);
    mark_cells(hazards, f, false);
    if (hazards->final && f->issue > 1 && latency_stall(hazards->target, inst) < f->issue)
        check_report(hazards->checker, CR_H06, i, NONE,
                     "stall count %u is less than %u, the instruction's issue time", inst->ctrl.stall_cycles,
                     f->issue);
    grow_older(state, f->advance);
}

/* ---- calls ---- */

/* What is in flight at a call comes into the callee: of one with many call sites much, so it stands unsorted
 * until the callee is walked. */
static void go_in(Hazards *hazards, Flow *callee, const State *state) {
    hazards->flows_changed |= merge_loosely(hazards, &callee->entry, state);
    uint32_t n = 0;
    for (uint32_t a = 0, b = 0; a < callee->own.n; a++) {
        while (b < state->e.n && by_key(&state->e.at[b], &callee->own.at[a]) < 0)
            b++;
        if (b == state->e.n || by_key(&state->e.at[b], &callee->own.at[a]) != 0)
            callee->own.at[n++] = callee->own.at[a];
    }
    callee->own.n = n;
}

static void find_own(Hazards *hazards, Flow *callee) {
    if (!callee->stale)
        return;
    settle_state(hazards, &callee->entry);
    callee->stale = false;
    callee->own.n = 0;
    hazards->checker->steps += callee->exit.e.n;
    for (uint32_t k = 0; k < callee->exit.e.n; k++)
        if (!find_entry(&callee->entry, &callee->exit.e.at[k]))
            VEC_ADD(&hazards->checker->a, &callee->own, callee->exit.e.at[k]);
}

/* What comes out of a callee at one of its call sites, of which `state` has come in: what the callee started,
 * and what was in flight at this site. The latter is in callee->entry, so the two have nothing in common. */
static void come_back(Hazards *hazards, State *state, Flow *callee) {
    if (!callee->exit.reached)
        return;
    find_own(hazards, callee);
    State *before = &hazards->before;
    copy_state(hazards, before, state);
    state->e.n = 0;
    hazards->checker->steps += callee->own.n + before->e.n;
    for (uint32_t a = 0, b = 0; a < callee->own.n || b < before->e.n;) {
        const Entry *still = b < before->e.n ? find_entry(&callee->exit, &before->e.at[b]) : NULL;
        if (b < before->e.n && !still) {
            b++;
            continue;
        }
        bool first = !still || (a < callee->own.n && by_key(&callee->own.at[a], still) < 0);
        VEC_ADD(&hazards->checker->a, &state->e, first ? callee->own.at[a] : *still);
        a += first;
        b += !first;
    }
    memcpy(state->sb_age, callee->exit.sb_age, sizeof state->sb_age);
    memcpy(state->sb_inst, callee->exit.sb_inst, sizeof state->sb_inst);
    memcpy(state->sb_oldest, callee->exit.sb_oldest, sizeof state->sb_oldest);
}

/* `s`: the state behind the call instruction; becomes the one where it comes back. */
static void do_call(Hazards *hazards, State *state, uint32_t i) {
    Callees to = check_callees(hazards->checker, i);
    if (!to.n) { /* unknown: nothing is claimed about what is in flight behind it */
        state->e.n = 0;
        clear_scoreboards(state);
        return;
    }
    State *sum = &hazards->sum, *one = &hazards->one;
    sum->reached = false;
    for (uint32_t k = 0; k < to.n; k++) {
        Flow *f = &hazards->flow[to.proc[k]];
        go_in(hazards, f, state);
        copy_state(hazards, one, state);
        come_back(hazards, one, f);
        if (f->exit.reached)
            merge_state(hazards, sum, one);
    }
    if (sum->reached)
        copy_state(hazards, state, sum);
    else
        state->reached = false; /* none of them is known to come back yet */
}

/* ---- blocks ---- */

static void go_out(Hazards *hazards, Flow *flow, const State *state) {
    bool changed = merge_state(hazards, &flow->exit, state);
    hazards->flows_changed |= changed;
    flow->stale |= changed;
}

static void walk_block(Hazards *hazards, uint32_t proc, uint32_t block) {
    const BinFlow *bin_flow = hazards->checker->flow;
    const BinBlock *b = &bin_flow->blocks[block];
    State *state = &hazards->now;
    settle_state(hazards, &hazards->in[block]);
    copy_state(hazards, state, &hazards->in[block]);
    FOR_BIN_INSTS(b, i) {
        if (!state->reached)
            break;
        if (!bin_flow->decoded[i])
            return;
        bool call = check_is_call(hazards->checker, i),
             tail = call && bin_kind(&bin_flow->insts[i]) == BK_BRANCH;
        hazard_step(hazards, state, i);
        if (!call)
            continue;
        copy_state(hazards, &hazards->edge, state);
        do_call(hazards, &hazards->edge, i);
        if (tail) {
            if (hazards->edge.reached && (b->ends & BX_RET))
                go_out(hazards, &hazards->flow[proc], &hazards->edge);
        } else if (bin_guard(&bin_flow->insts[i]) == BG_MAYBE && hazards->edge.reached)
            merge_state(hazards, state, &hazards->edge);
        else if (bin_guard(&bin_flow->insts[i]) != BG_MAYBE)
            copy_state(hazards, state, &hazards->edge);
    }
    if (!state->reached)
        return;
    uint32_t last = b->first + b->ninsts - 1;
    if ((b->ends & BX_RET) && bin_kind(&bin_flow->insts[last]) == BK_RET)
        go_out(hazards, &hazards->flow[proc], state);
    for (uint32_t k = 0; k < b->nsuccs; k++)
        if (merge_loosely(hazards, &hazards->in[b->succs[k].block], state))
            hazards->dirty[b->succs[k].block] = true;
}

/* One round over all blocks whose state has changed; false if there was none. */
static bool walk_all(Hazards *hazards) {
    Checker *checker = hazards->checker;
    bool any = false;
    for (uint32_t p = 0; p < checker->nprocs; p++) {
        uint32_t entry = checker->procs[p].entry_block;
        settle_state(hazards, &hazards->flow[p].entry);
        if (hazards->flow[p].entry.reached &&
            merge_loosely(hazards, &hazards->in[entry], &hazards->flow[p].entry))
            hazards->dirty[entry] = true;
        for (uint32_t n = 0; n < checker->procs[p].nrpo; n++) {
            uint32_t b = checker->procs[p].rpo[n];
            if (!hazards->in[b].reached || !hazards->dirty[b])
                continue;
            hazards->dirty[b] = false;
            any = true;
            walk_block(hazards, p, b);
        }
    }
    return any;
}

static void all_dirty(Hazards *hazards) {
    memset(hazards->dirty, true, hazards->checker->flow->nblocks);
    hazards->flows_changed = false;
}

void check_hazards(Checker *checker) {
    const BinFlow *bin_flow = checker->flow;
    Hazards *hazards = ARENA_NEW(&checker->a, Hazards);
    hazards->checker = checker;
    hazards->target = bin_flow->bin->target;
    hazards->facts = ARENA_ARRAY(&checker->a, Facts, bin_flow->bin->ncode + 1);
    hazards->in = ARENA_ARRAY(&checker->a, State, bin_flow->nblocks + 1);
    hazards->flow = ARENA_ARRAY(&checker->a, Flow, checker->nprocs + 1);
    for (uint32_t i = 0; i < bin_flow->bin->ncode; i++)
        if (bin_flow->decoded[i])
            hazards->facts[i] = facts_of(hazards, &bin_flow->insts[i]);
    for (uint32_t p = 0; p < checker->nprocs;
         p++) { /* functions that nobody calls start with nothing in flight, as kernels do */
        State *state = &hazards->in[checker->procs[p].entry_block];
        clear_scoreboards(state);
        state->reached = true;
    }
    hazards->dirty = ARENA_ARRAY(&checker->a, bool, bin_flow->nblocks + 1);
    do { /* what calls bring is looked at again when everything else has settled */
        all_dirty(hazards);
        while (walk_all(hazards))
            ;
    } while (hazards->flows_changed);
    hazards->final = true;
    all_dirty(hazards);
    walk_all(hazards);
}
