/* Control codes: H-01 to H-07. A data flow over what is in flight: results that have not arrived, registers
 * that have not been read. Each entry has the least age, in cycles from issue to issue, over all paths, and
 * the scoreboards of which a wait would cover it on all paths. Calls: what is in flight goes into the callee,
 * and what the callee started or let pass comes out again. Distances are those of isa/machine/latency.h.
 * SPDX-License-Identifier: MIT */
#include "check/static/internal.h"
#include "isa/machine/latency.h"
#include <stdio.h>
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
    VEC(Entry) e; /* ascending keys */
    uint8_t sb_age[NUM_SB];
    uint32_t sb_inst[NUM_SB];
    bool reached;
} State;

typedef struct {
    const Ref *refs;
    uint8_t nreads, nwrites, issue, advance, queue;
    bool variable, late, memory, drains, guarded;
} Facts;

typedef struct {
    State entry, exit;
} Flow;

typedef struct {
    Checker *c;
    const Target *t;
    Facts *facts; /* by instruction */
    State *in;    /* by block */
    Flow *flow;   /* by procedure */
    State now, edge, scratch;
    bool *dirty; /* by block: its state has changed since it was walked */
    uint8_t mark[CELLS];
    bool final, flows_changed;
} Hazards;

/* ---- registers of an instruction ---- */

static unsigned add_refs(Operand o, unsigned operand, Ref *out, unsigned n) {
    static const uint16_t first[RF_B] = {CELL_R, CELL_P, CELL_UR, CELL_UP};
    static const uint16_t zero[RF_B] = {REG_RZ, REG_PT, REG_URZ, REG_UPT};
    if (o.kind != OPK_REG || o.file >= RF_B)
        return n;
    for (unsigned k = 0; k < (o.count ? o.count : 1u) && o.value + k < zero[o.file] && n < MAX_REFS; k++)
        out[n++] = (Ref){(uint16_t)(first[o.file] + o.value + k), (uint8_t)operand, (uint8_t)k};
    return n;
}

/* P2R and R2P name predicates by a mask. */
static unsigned masked_predicates(const MachInst *m, Ref *out, unsigned n) {
    Operand o = m->src[m->optype == OT_P2R ? P2R_mask : R2P_mask];
    uint32_t mask = o.kind == OPK_IMM ? o.value : ~0u;
    for (unsigned p = 0; p < REG_PT && n < MAX_REFS; p++)
        if (mask >> p & 1)
            out[n++] = (Ref){(uint16_t)(CELL_P + p), 0, 0};
    return n;
}

/* DEPBAR.LE SB0, 0x0: waits by being executed, so that it cannot come too early. */
static bool drains_sb0(const MachInst *m) {
    return m->optype == OT_DEPBAR && m->src[DEPBAR_count].kind == OPK_IMM && m->src[DEPBAR_count].value == 0;
}

static Facts facts_of(Hazards *h, const MachInst *m) {
    Ref refs[2 * MAX_REFS];
    unsigned nr = 0, nw = 0;
    for (unsigned k = 0; k < m->nsrc; k++)
        nr = add_refs(m->src[k], k, refs, nr);
    nr = add_refs(m->guard, LATENCY_GUARD, refs, nr);
    if (isa_optype_flags(m->optype) & ISA_FLAG_READS_ALL_P)
        nr = masked_predicates(m, refs, nr);
    for (unsigned k = 0; k < m->ndst; k++)
        nw = add_refs(m->dst[k], k, refs + nr, nw);
    if (isa_optype_flags(m->optype) & ISA_FLAG_WRITES_ALL_P)
        nw = masked_predicates(m, refs + nr, nw);
    unsigned least = latency_issue(h->t, m), stall = m->ctrl.stall_cycles ? m->ctrl.stall_cycles : 1;
    return (Facts){.refs = arena_copy(&h->c->a, refs, sizeof *refs * (nr + nw) + 1),
                   .nreads = (uint8_t)nr,
                   .nwrites = (uint8_t)nw,
                   .issue = (uint8_t)least,
                   .advance = (uint8_t)(stall > least ? stall : least),
                   .queue = (uint8_t)latency_queue(h->t, m),
                   .variable = latency_is_variable(h->t, m),
                   .late = latency_reads_late(h->t, m),
                   .memory = latency_reads_in_order(h->t, m),
                   .drains = latency_drains_reads(h->t, m),
                   .guarded = !op_is_always(m->guard)};
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

static int by_key(const Entry *a, const Entry *b) {
    if (a->inst != b->inst)
        return a->inst < b->inst ? -1 : 1;
    int x = a->access << 16 | a->operand << 8 | a->part, y = b->access << 16 | b->operand << 8 | b->part;
    if (x != y)
        return x < y ? -1 : 1;
    return (int)a->cell - (int)b->cell; /* all predicates are one operand */
}

static void copy_state(Hazards *h, State *to, const State *from) {
    to->e.n = 0;
    for (uint32_t k = 0; k < from->e.n; k++)
        VEC_ADD(&h->c->a, &to->e, from->e.at[k]);
    memcpy(to->sb_age, from->sb_age, sizeof to->sb_age);
    memcpy(to->sb_inst, from->sb_inst, sizeof to->sb_inst);
    to->reached = from->reached;
}

/* Two ways to one entry: the worse of both. */
static bool worse(Entry *a, const Entry *b) {
    Entry old = *a;
    a->age = b->age < a->age ? b->age : a->age;
    a->cover &= b->cover;
    if (a->pending != b->pending)
        a->cover = a->pending ? old.cover : b->cover; /* of a finished one covers do not matter */
    a->pending |= b->pending;
    a->guard_holds &= b->guard_holds;
    return a->age != old.age || a->cover != old.cover || a->pending != old.pending ||
           a->guard_holds != old.guard_holds;
}

static bool merge_state(Hazards *h, State *into, const State *with) {
    if (!into->reached) {
        copy_state(h, into, with);
        return into->reached = true;
    }
    bool changed = false;
    for (unsigned s = 0; s < NUM_SB; s++)
        if (with->sb_age[s] < into->sb_age[s]) {
            into->sb_age[s] = with->sb_age[s];
            into->sb_inst[s] = with->sb_inst[s];
            changed = true;
        }
    uint32_t missing = 0, i = 0;
    for (uint32_t k = 0; k < with->e.n; k++) {
        while (i < into->e.n && by_key(&into->e.at[i], &with->e.at[k]) < 0)
            i++;
        if (i < into->e.n && by_key(&into->e.at[i], &with->e.at[k]) == 0)
            changed |= worse(&into->e.at[i], &with->e.at[k]);
        else
            missing++;
    }
    if (!missing)
        return changed;
    State *s = &h->scratch;
    uint32_t a = 0, b = 0;
    s->e.n = 0;
    while (a < into->e.n || b < with->e.n) {
        int order = a == into->e.n ? 1 : b == with->e.n ? -1 : by_key(&into->e.at[a], &with->e.at[b]);
        VEC_ADD(&h->c->a, &s->e, order <= 0 ? into->e.at[a] : with->e.at[b]);
        a += order <= 0;
        b += order >= 0;
    }
    into->e.n = 0;
    for (uint32_t k = 0; k < s->e.n; k++)
        VEC_ADD(&h->c->a, &into->e, s->e.at[k]);
    return true;
}

static const Entry *find(const State *s, const Entry *key) {
    uint32_t lo = 0, hi = s->e.n;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        int o = by_key(&s->e.at[mid], key);
        if (o == 0)
            return &s->e.at[mid];
        lo = o < 0 ? mid + 1 : lo;
        hi = o < 0 ? hi : mid;
    }
    return NULL;
}

/* Put an entry in its place, or in that of the same one of an earlier round of a loop. */
static void put(Hazards *h, State *s, Entry x) {
    uint32_t at = s->e.n;
    while (at > 0 && by_key(&s->e.at[at - 1], &x) > 0)
        at--;
    if (at > 0 && by_key(&s->e.at[at - 1], &x) == 0) {
        s->e.at[at - 1] = x;
        return;
    }
    (void)VEC_PUSH(&h->c->a, &s->e);
    memmove(&s->e.at[at + 1], &s->e.at[at], sizeof x * (s->e.n - 1 - at));
    s->e.at[at] = x;
}

static void grow_older(State *s, unsigned cycles) {
    uint32_t n = 0;
    for (uint32_t k = 0; k < s->e.n; k++) {
        Entry x = s->e.at[k];
        x.age = (uint8_t)(x.age + cycles < LATENCY_WINDOW ? x.age + cycles : LATENCY_WINDOW);
        if (x.age < LATENCY_WINDOW || x.pending)
            s->e.at[n++] = x;
    }
    s->e.n = n;
    for (unsigned b = 0; b < NUM_SB; b++)
        s->sb_age[b] =
            (uint8_t)(s->sb_age[b] + cycles < LATENCY_WINDOW ? s->sb_age[b] + cycles : LATENCY_WINDOW);
}

/* ---- one instruction ---- */

static void wait_for(Hazards *h, State *s, uint32_t i) {
    const MachInst *m = &h->c->g->insts[i];
    unsigned mask = m->ctrl.wait_mask & 0x3f, good = drains_sb0(m) ? 1 : 0;
    for (unsigned b = 0; b < NUM_SB; b++) {
        if (!(mask >> b & 1))
            continue;
        if (s->sb_age[b] >= LATENCY_SB_TO_WAIT)
            good |= 1u << b;
        else if (h->final)
            check_report(h->c, CR_H05, i, s->sb_inst[b],
                         "waits for scoreboard %u %u cycle%s behind %s, which sets it", b, s->sb_age[b],
                         s->sb_age[b] == 1 ? "" : "s", check_at(h->c, s->sb_inst[b]));
    }
    uint32_t n = 0;
    for (uint32_t k = 0; k < s->e.n; k++) {
        Entry x = s->e.at[k];
        if (x.pending && (x.cover & good)) {
            x.pending = false;
            if (x.access == IN_READ)
                continue;
        }
        s->e.at[n++] = x;
    }
    s->e.n = n;
}

/* No lane executes both: the same predicate, once as it is, once negated. */
static bool exclusive(const Hazards *h, const Entry *x, const MachInst *m) {
    const MachInst *w = &h->c->g->insts[x->inst];
    return x->guard_holds && w->guard.kind == OPK_REG && m->guard.kind == OPK_REG &&
           w->guard.file == m->guard.file && w->guard.value == m->guard.value && w->guard.value != REG_PT &&
           ((w->guard.mods ^ m->guard.mods) & OPM_NOT);
}

static void too_early(Hazards *h, CheckRule rule, uint32_t i, const Entry *x, const char *what,
                      unsigned need) {
    char cell[8];
    if (!h->final)
        return;
    if (need)
        check_report(h->c, rule, i, x->inst, "%s %s after %u of %u cycles (%s)", cell_name(x->cell, cell),
                     what, x->age, need, check_at(h->c, x->inst));
    else
        check_report(h->c, rule, i, x->inst, "%s %s without waiting for %s%s", cell_name(x->cell, cell), what,
                     check_at(h->c, x->inst), x->cover ? "" : ", which sets no scoreboard");
}

static void check_write(Hazards *h, uint32_t i, const Entry *x) {
    const MachInst *m = &h->c->g->insts[i], *w = &h->c->g->insts[x->inst];
    const Facts *f = &h->facts[i], *g = &h->facts[x->inst];
    if (f->queue != LQ_NONE && f->queue == g->queue)
        return;
    if (x->access == IN_WRITE) {
        unsigned need = latency_waw(h->t, w, x->operand, m);
        if (x->pending)
            too_early(h, CR_H03, i, x, "overwritten", 0);
        else if (x->age < need)
            too_early(h, CR_H03, i, x, "overwritten", need);
    } else if (x->pending && f->memory && g->memory) {
        /* memory instructions read in order, and write after they have read */
    } else if (x->pending)
        too_early(h, CR_H04, i, x, "overwritten while it is read,", 0);
    else {
        unsigned need = latency_war(h->t, w, x->operand, m);
        if (x->age < need)
            too_early(h, CR_H04, i, x, "overwritten while it is read,", need);
    }
}

static void check_read(Hazards *h, uint32_t i, const Entry *x, const Ref *r) {
    const MachInst *m = &h->c->g->insts[i], *w = &h->c->g->insts[x->inst];
    if (x->pending) {
        too_early(h, CR_H02, i, x, "read", 0);
        return;
    }
    unsigned need = latency_raw_part(h->t, w, x->operand, x->part, m, r->operand, r->part);
    if (x->age < need)
        too_early(h, CR_H01, i, x, "read", need);
}

static void check_accesses(Hazards *h, const State *s, uint32_t i) {
    const Facts *f = &h->facts[i];
    const MachInst *m = &h->c->g->insts[i];
    for (uint32_t k = 0; k < s->e.n; k++) {
        const Entry *x = &s->e.at[k];
        unsigned mark = h->mark[x->cell];
        if (!mark)
            continue;
        bool apart = exclusive(h, x, m);
        for (unsigned r = 0; r < f->nreads && x->access == IN_WRITE && (mark & MARK_READ); r++)
            if (f->refs[r].cell == x->cell && !(apart && f->refs[r].operand != LATENCY_GUARD))
                check_read(h, i, x, &f->refs[r]);
        if ((mark & MARK_WRITTEN) && !apart)
            check_write(h, i, x);
    }
}

static void mark_cells(Hazards *h, const Facts *f, bool set) {
    for (unsigned k = 0; k < (unsigned)f->nreads + f->nwrites; k++)
        h->mark[f->refs[k].cell] =
            set ? h->mark[f->refs[k].cell] | (k < f->nreads ? MARK_READ : MARK_WRITTEN) : 0;
}

static unsigned sb_bit(unsigned sb) { return sb < NUM_SB ? 1u << sb : 0; }

/* Entries that this instruction ends, or covers with its scoreboards. */
static void pass_by(Hazards *h, State *s, uint32_t i) {
    const Facts *f = &h->facts[i];
    const MachInst *m = &h->c->g->insts[i];
    unsigned w = sb_bit(m->ctrl.write_sb), r = sb_bit(m->ctrl.read_sb);
    uint32_t n = 0;
    for (uint32_t k = 0; k < s->e.n; k++) {
        Entry x = s->e.at[k];
        const Facts *g = &h->facts[x.inst];
        const MachInst *before = &h->c->g->insts[x.inst];
        if (!f->guarded && (h->mark[x.cell] & MARK_WRITTEN))
            continue; /* overwritten: of no concern any more */
        if (x.access == IN_READ && f->drains && g->memory)
            continue;
        if (f->queue != LQ_NONE && f->queue == g->queue)
            x.cover |= (uint8_t)w;
        if (x.access == IN_READ && f->memory && g->memory)
            x.cover |= (uint8_t)(w | r);
        if (before->guard.kind == OPK_REG && before->guard.value != REG_PT && before->guard.file < RF_B &&
            (h->mark[(before->guard.file == RF_P ? CELL_P : CELL_UP) + before->guard.value] & MARK_WRITTEN))
            x.guard_holds = false;
        s->e.at[n++] = x;
    }
    s->e.n = n;
}

static void take_off(Hazards *h, State *s, uint32_t i) {
    const Facts *f = &h->facts[i];
    const MachInst *m = &h->c->g->insts[i];
    unsigned w = sb_bit(m->ctrl.write_sb), r = sb_bit(m->ctrl.read_sb);
    bool guard_holds = true;
    for (unsigned k = 0; k < f->nwrites; k++)
        guard_holds &=
            !(m->guard.kind == OPK_REG &&
              f->refs[f->nreads + k].cell == (m->guard.file == RF_P ? CELL_P : CELL_UP) + m->guard.value);
    for (unsigned k = 0; k < f->nwrites; k++) {
        const Ref *x = &f->refs[f->nreads + k];
        put(h, s,
            (Entry){i, x->cell, IN_WRITE, x->operand, x->part, 0, (uint8_t)w, f->variable, guard_holds});
    }
    for (unsigned k = 0; k < f->nreads; k++) {
        const Ref *x = &f->refs[k];
        if (x->operand == LATENCY_GUARD)
            continue;
        bool late = f->late && x->cell < CELL_P;
        if (!f->late || late)
            put(h, s,
                (Entry){i, x->cell, IN_READ, x->operand, x->part, 0, (uint8_t)(late ? w | r : 0), late,
                        guard_holds});
    }
    for (unsigned b = 0; b < NUM_SB; b++)
        if ((w | r) >> b & 1) {
            s->sb_age[b] = 0;
            s->sb_inst[b] = i;
        }
}

static void nothing_in_flight(Hazards *h, const State *s, uint32_t i) {
    char cell[8];
    if (!h->final || h->c->native)
        return;
    for (uint32_t k = 0; k < s->e.n; k++) {
        const Entry *x = &s->e.at[k];
        if (x->pending) {
            check_report(h->c, CR_H07, i, x->inst, "%s of %s is still in flight here",
                         cell_name(x->cell, cell), check_at(h->c, x->inst));
            return;
        }
    }
}

static void step(Hazards *h, State *s, uint32_t i) {
    const Facts *f = &h->facts[i];
    const MachInst *m = &h->c->g->insts[i];
    wait_for(h, s, i);
    if (bin_guard(m) == BG_NEVER) { /* ptxas fills with such */
        grow_older(s, f->advance);
        return;
    }
    mark_cells(h, f, true);
    check_accesses(h, s, i);
    if (check_is_call(h->c, i) || bin_kind(m) == BK_RET)
        nothing_in_flight(h, s, i);
    pass_by(h, s, i);
    take_off(h, s, i);
    mark_cells(h, f, false);
    if (h->final && f->issue > 1 && m->ctrl.stall_cycles < f->issue)
        check_report(h->c, CR_H06, i, NONE, "stall count %u is less than %u, the instruction's issue time",
                     m->ctrl.stall_cycles, f->issue);
    grow_older(s, f->advance);
}

/* ---- calls ---- */

/* What comes out of a callee at one of its call sites: what it started, and what was in flight at this site.
 */
static void come_back(Hazards *h, State *s, const Flow *callee) {
    if (!callee->exit.reached)
        return;
    VEC(Entry) old = {0};
    for (uint32_t k = 0; k < s->e.n; k++)
        VEC_ADD(&h->c->a, &old, s->e.at[k]);
    State before = {.e.at = old.at, .e.n = old.n};
    s->e.n = 0;
    for (uint32_t k = 0; k < callee->exit.e.n; k++) {
        const Entry *x = &callee->exit.e.at[k];
        if (!find(&callee->entry, x) || find(&before, x))
            VEC_ADD(&h->c->a, &s->e, *x);
    }
    memcpy(s->sb_age, callee->exit.sb_age, sizeof s->sb_age);
    memcpy(s->sb_inst, callee->exit.sb_inst, sizeof s->sb_inst);
}

/* `s`: the state behind the call instruction; becomes the one where it comes back. */
static void do_call(Hazards *h, State *s, uint32_t i) {
    Callees to = check_callees(h->c, i);
    if (!to.n) { /* unknown: nothing is claimed about what is in flight behind it */
        s->e.n = 0;
        memset(s->sb_age, LATENCY_WINDOW, sizeof s->sb_age);
        return;
    }
    State sum = {0}, one = {0};
    for (uint32_t k = 0; k < to.n; k++) {
        Flow *f = &h->flow[to.proc[k]];
        h->flows_changed |= merge_state(h, &f->entry, s);
        copy_state(h, &one, s);
        come_back(h, &one, f);
        if (f->exit.reached)
            merge_state(h, &sum, &one);
    }
    if (sum.reached)
        copy_state(h, s, &sum);
    else
        s->reached = false; /* none of them is known to come back yet */
}

/* ---- blocks ---- */

static void walk_block(Hazards *h, uint32_t proc, uint32_t block) {
    const BinFlow *g = h->c->g;
    const BinBlock *b = &g->blocks[block];
    State *s = &h->now;
    copy_state(h, s, &h->in[block]);
    for (uint32_t i = b->first; i < b->first + b->ninsts && s->reached; i++) {
        if (!g->decoded[i])
            return;
        bool call = check_is_call(h->c, i), tail = call && bin_kind(&g->insts[i]) == BK_BRANCH;
        step(h, s, i);
        if (!call)
            continue;
        copy_state(h, &h->edge, s);
        do_call(h, &h->edge, i);
        if (tail) {
            if (h->edge.reached && (b->ends & BX_RET))
                h->flows_changed |= merge_state(h, &h->flow[proc].exit, &h->edge);
        } else if (bin_guard(&g->insts[i]) == BG_MAYBE && h->edge.reached)
            merge_state(h, s, &h->edge);
        else if (bin_guard(&g->insts[i]) != BG_MAYBE)
            copy_state(h, s, &h->edge);
    }
    if (!s->reached)
        return;
    uint32_t last = b->first + b->ninsts - 1;
    if ((b->ends & BX_RET) && bin_kind(&g->insts[last]) == BK_RET)
        h->flows_changed |= merge_state(h, &h->flow[proc].exit, s);
    for (uint32_t k = 0; k < b->nsuccs; k++)
        if (merge_state(h, &h->in[b->succs[k].block], s))
            h->dirty[b->succs[k].block] = true;
}

/* One round over all blocks whose state has changed; false if there was none. */
static bool walk_all(Hazards *h) {
    Checker *c = h->c;
    bool any = false;
    for (uint32_t p = 0; p < c->nprocs; p++) {
        uint32_t entry = c->procs[p].entry_block;
        if (h->flow[p].entry.reached && merge_state(h, &h->in[entry], &h->flow[p].entry))
            h->dirty[entry] = true;
        for (uint32_t n = 0; n < c->procs[p].nrpo; n++) {
            uint32_t b = c->procs[p].rpo[n];
            if (!h->in[b].reached || !h->dirty[b])
                continue;
            h->dirty[b] = false;
            any = true;
            walk_block(h, p, b);
        }
    }
    return any;
}

static void all_dirty(Hazards *h) {
    memset(h->dirty, true, h->c->g->nblocks);
    h->flows_changed = false;
}

void check_hazards(Checker *c) {
    const BinFlow *g = c->g;
    Hazards *h = ARENA_NEW(&c->a, Hazards);
    h->c = c;
    h->t = g->bin->target;
    h->facts = ARENA_ARRAY(&c->a, Facts, g->bin->ncode + 1);
    h->in = ARENA_ARRAY(&c->a, State, g->nblocks + 1);
    h->flow = ARENA_ARRAY(&c->a, Flow, c->nprocs + 1);
    for (uint32_t i = 0; i < g->bin->ncode; i++)
        if (g->decoded[i])
            h->facts[i] = facts_of(h, &g->insts[i]);
    for (uint32_t p = 0; p < c->nprocs;
         p++) { /* functions that nobody calls start with nothing in flight, as kernels do */
        State *s = &h->in[c->procs[p].entry_block];
        memset(s->sb_age, LATENCY_WINDOW, sizeof s->sb_age);
        s->reached = true;
    }
    h->dirty = ARENA_ARRAY(&c->a, bool, g->nblocks + 1);
    do { /* what calls bring is looked at again when everything else has settled */
        all_dirty(h);
        while (walk_all(h))
            ;
    } while (h->flows_changed);
    h->final = true;
    all_dirty(h);
    walk_all(h);
}
