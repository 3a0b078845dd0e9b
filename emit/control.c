/* The pass `control`: stall counts and scoreboards. One forward walk over the blocks, repeated until nothing
 * changes; waits and stalls only ever grow, so it ends. What is in flight where a block starts is the union
 * over its predecessors, each with the smallest age. State:
 *   per register  which scoreboards a pending result, or a pending late read, hangs on
 *   a list        of coupled instructions issued less than LATENCY_WINDOW cycles ago
 * Calls and returns wait for everything. In: physical instructions in final order. Out: Inst.sched.
 * SPDX-License-Identifier: MIT */
#include "emit/emit.h"
#include "emit/latency.h"
#include <string.h>

enum { NUM_SB = 6, NO_SB = 7, KEEP_AFTER = 50, MAX_ROUNDS = 10000 };
typedef enum { FLIGHT_WRITE, FLIGHT_READ, FLIGHT_SB } FlightKind;

typedef struct { /* one register access that a later instruction may come too close to */
    uint32_t inst;
    uint16_t cell; /* FLIGHT_SB: the scoreboard */
    uint8_t kind, operand, part, age;
} Flight;

typedef struct {
    uint8_t write_sb[CELL_COUNT], read_sb[CELL_COUNT]; /* masks */
    VEC(Flight) flight;
    bool reached;
} State;

typedef struct { /* decisions for one instruction; all grow only */
    uint32_t stall;
    uint8_t wait, write_sb, read_sb;
    bool known;
} Choice;

typedef struct {
    Function *f;
    const Target *t;
    Arena a;
    MachInst *mach;  /* by instruction */
    Choice *choice;  /* by instruction */
    State *in, *out; /* by block */
    State now;
    unsigned next_sb; /* round robin */
    bool changed;
} Controls;

/* ---- states ---- */

static void add_flight(Controls *c, State *s, Flight x) {
    for (unsigned k = 0; k < s->flight.n; k++) {
        Flight *o = &s->flight.at[k];
        if (o->inst == x.inst && o->cell == x.cell && o->kind == x.kind && o->operand == x.operand &&
            o->part == x.part) {
            if (x.age < o->age)
                o->age = x.age;
            return;
        }
    }
    VEC_ADD(&c->a, &s->flight, x);
}

static void grow_older(State *s, unsigned cycles) {
    unsigned n = 0;
    for (unsigned k = 0; k < s->flight.n; k++) {
        Flight x = s->flight.at[k];
        unsigned age = x.age + cycles;
        if (age >= LATENCY_WINDOW)
            continue;
        x.age = (uint8_t)age;
        s->flight.at[n++] = x;
    }
    s->flight.n = n;
}

static void copy_state(Controls *c, State *to, const State *from) {
    memcpy(to->write_sb, from->write_sb, sizeof to->write_sb);
    memcpy(to->read_sb, from->read_sb, sizeof to->read_sb);
    to->reached = from->reached;
    to->flight.n = 0;
    for (unsigned k = 0; k < from->flight.n; k++)
        VEC_ADD(&c->a, &to->flight, from->flight.at[k]);
}

/* `into` |= `with`; true if it changed. */
static bool merge_state(Controls *c, State *into, const State *with) {
    bool changed = !into->reached;
    into->reached = true;
    for (unsigned k = 0; k < CELL_COUNT; k++) {
        uint8_t w = into->write_sb[k] | with->write_sb[k], r = into->read_sb[k] | with->read_sb[k];
        changed |= w != into->write_sb[k] || r != into->read_sb[k];
        into->write_sb[k] = w;
        into->read_sb[k] = r;
    }
    for (unsigned k = 0; k < with->flight.n; k++) {
        Flight x = with->flight.at[k];
        bool known = false;
        for (unsigned m = 0; m < into->flight.n && !known; m++) {
            const Flight *o = &into->flight.at[m];
            known = o->inst == x.inst && o->cell == x.cell && o->kind == x.kind && o->operand == x.operand &&
                    o->part == x.part && o->age <= x.age;
        }
        if (!known) {
            add_flight(c, into, x);
            changed = true;
        }
    }
    return changed;
}

/* ---- one instruction ---- */

/* Scoreboards that instruction m must wait for in state s. */
static unsigned waits_for(const State *s, const MachInst *m, bool everything) {
    CellRef r[MAX_CELL_REFS];
    unsigned mask = 0;
    if (everything) {
        for (unsigned k = 0; k < CELL_COUNT; k++)
            mask |= s->write_sb[k] | s->read_sb[k];
        return mask;
    }
    for (unsigned k = 0, n = emit_reads(m, r); k < n; k++)
        mask |= s->write_sb[r[k].cell];
    for (unsigned k = 0, n = emit_writes(m, r); k < n; k++)
        mask |= s->write_sb[r[k].cell] | s->read_sb[r[k].cell];
    return mask;
}

static unsigned worst_read(const Controls *c, const Flight *x) {
    /* Whoever is on the other side of a call may use the register in the slowest way. */
    MachInst reader = isa_inst(OT_MOV);
    unsigned as_guard = latency_raw(c->t, &c->mach[x->inst], x->operand, &reader, LATENCY_GUARD);
    bool predicate = (x->cell >= CELL_P && x->cell < CELL_UR) || x->cell >= CELL_UP;
    unsigned worst = predicate ? as_guard : 0;
    static const uint16_t readers[] = {OT_MOV,  OT_IMAD, OT_IMAD_WIDE, OT_HADD2,
                                       OT_DADD, OT_STG,  OT_MUFU,      OT_ULDC};
    for (unsigned k = 0; k < sizeof readers / sizeof *readers; k++) {
        reader = isa_inst(readers[k]);
        unsigned n = latency_raw(c->t, &c->mach[x->inst], x->operand, &reader, 0);
        worst = n > worst ? n : worst;
    }
    return worst;
}

/* Cycles that m must still wait, by what is in flight. */
static unsigned cycles_needed(const Controls *c, const State *s, const MachInst *m, unsigned wait) {
    CellRef reads[MAX_CELL_REFS], writes[MAX_CELL_REFS];
    unsigned nr = emit_reads(m, reads), nw = emit_writes(m, writes), worst = 0;
    for (unsigned k = 0; k < s->flight.n; k++) {
        const Flight *x = &s->flight.at[k];
        const MachInst *w = &c->mach[x->inst];
        unsigned need = 0;
        if (x->kind == FLIGHT_SB)
            need = wait >> x->cell & 1 ? LATENCY_SB_TO_WAIT : 0;
        else if (x->kind == FLIGHT_WRITE && emit_is_call_boundary(m))
            need = worst_read(c, x);
        for (unsigned n = 0; n < nr && x->kind == FLIGHT_WRITE; n++)
            if (reads[n].cell == x->cell) {
                unsigned l =
                    latency_raw_part(c->t, w, x->operand, x->part, m, reads[n].operand, reads[n].part);
                need = l > need ? l : need;
            }
        for (unsigned n = 0; n < nw && x->kind != FLIGHT_SB; n++)
            if (writes[n].cell == x->cell) {
                unsigned l = x->kind == FLIGHT_WRITE ? latency_waw(c->t, w, x->operand, m)
                                                     : latency_war(c->t, w, x->operand, m);
                need = l > need ? l : need;
            }
        if (need > x->age && need - x->age > worst)
            worst = need - x->age;
    }
    return worst;
}

static void clear_waited(State *s, unsigned wait) {
    for (unsigned k = 0; k < CELL_COUNT; k++) {
        s->write_sb[k] &= (uint8_t)~wait;
        s->read_sb[k] &= (uint8_t)~wait;
    }
}

/* A scoreboard for a new setter: one that nothing hangs on, else in turn. Stores prefer the last one. */
static unsigned pick_sb(Controls *c, const State *s, bool store) {
    unsigned busy = 0;
    for (unsigned k = 0; k < CELL_COUNT; k++)
        busy |= s->write_sb[k] | s->read_sb[k];
    if (store)
        return NUM_SB - 1;
    for (unsigned k = 0; k < NUM_SB - 1; k++) {
        unsigned sb = (c->next_sb + k) % (NUM_SB - 1);
        if (!(busy >> sb & 1)) {
            c->next_sb = sb + 1;
            return sb;
        }
    }
    return c->next_sb++ % (NUM_SB - 1);
}

static void take_off(Controls *c, State *s, uint32_t id, Choice *ch) {
    const MachInst *m = &c->mach[id];
    CellRef reads[MAX_CELL_REFS], writes[MAX_CELL_REFS];
    unsigned nr = emit_reads(m, reads), nw = emit_writes(m, writes);
    bool guarded = !op_is_always(m->guard);
    bool late = latency_is_variable(c->t, m), reads_late = latency_reads_late(c->t, m);
    unsigned late_reads = 0;
    for (unsigned k = 0; k < nr; k++)
        late_reads += reads[k].operand != LATENCY_GUARD;
    if (!ch->known) {
        ch->known = true;
        ch->write_sb = ch->read_sb = NO_SB;
        if (late && nw)
            ch->write_sb = (uint8_t)pick_sb(c, s, false);
        else if (reads_late && late_reads)
            ch->read_sb = (uint8_t)pick_sb(c, s, true);
    }
    unsigned n = 0;
    for (unsigned k = 0; k < s->flight.n; k++) { /* an overwritten result is of no concern any more */
        Flight x = s->flight.at[k];
        bool gone = false;
        for (unsigned w = 0; w < nw && !guarded && x.kind != FLIGHT_SB; w++)
            gone |= writes[w].cell == x.cell;
        if (!gone)
            s->flight.at[n++] = x;
    }
    s->flight.n = n;
    unsigned sb = ch->write_sb != NO_SB ? ch->write_sb : ch->read_sb;
    if (sb != NO_SB)
        add_flight(c, s, (Flight){id, (uint16_t)sb, FLIGHT_SB, 0, 0, 0});
    for (unsigned k = 0; k < nw; k++) {
        if (ch->write_sb != NO_SB)
            s->write_sb[writes[k].cell] |= (uint8_t)(1u << ch->write_sb);
        add_flight(c, s, (Flight){id, writes[k].cell, FLIGHT_WRITE, writes[k].operand, writes[k].part, 0});
    }
    for (unsigned k = 0; k < nr; k++) {
        if (reads_late && sb != NO_SB && reads[k].operand != LATENCY_GUARD)
            s->read_sb[reads[k].cell] |= (uint8_t)(1u << sb); /* the result's scoreboard says so too */
        else if (!late)
            add_flight(c, s, (Flight){id, reads[k].cell, FLIGHT_READ, reads[k].operand, reads[k].part, 0});
    }
}

/* ---- blocks ---- */

static void grow(Controls *c, uint32_t *what, uint32_t to) {
    if (to > *what) {
        *what = to;
        c->changed = true;
    }
}

/* The instruction whose stall separates a block from its successors: its first branch, or its last. */
static unsigned leaving_at(Function *f, const Block *b) {
    unsigned n = b->insts.n;
    if (n >= 2 && ir_inst(f, b->insts.at[n - 2])->op == OT_BRA)
        return n - 2;
    return n - 1;
}

/* The block's first instruction must not come too soon after any predecessor. */
static void hold_back_preds(Controls *c, const Block *blk, const MachInst *first, unsigned wait) {
    Function *f = c->f;
    for (unsigned p = 0; p < blk->preds.n; p++) {
        State *o = &c->out[blk->preds.at[p].i];
        const Block *pb = ir_block(f, blk->preds.at[p]);
        unsigned need = o->reached ? cycles_needed(c, o, first, wait) : 0;
        if (!need || !pb->insts.n)
            continue;
        Choice *ch = &c->choice[pb->insts.at[leaving_at(f, pb)].i];
        grow(c, &ch->stall, ch->stall + need);
        grow_older(o, need);
    }
}

/* State where block b starts. */
static void gather(Controls *c, BlockId b, State *s) {
    const Block *blk = ir_block(c->f, b);
    memset(s->write_sb, 0, sizeof s->write_sb);
    memset(s->read_sb, 0, sizeof s->read_sb);
    s->flight.n = 0;
    s->reached = b.i == c->f->entry.i;
    for (unsigned p = 0; p < blk->preds.n; p++)
        if (c->out[blk->preds.at[p].i].reached)
            merge_state(c, s, &c->out[blk->preds.at[p].i]);
}

static void walk_block(Controls *c, BlockId b) {
    Function *f = c->f;
    const Block *blk = ir_block(f, b);
    State *s = &c->now;
    copy_state(c, s, &c->in[b.i]);
    Choice *before = NULL;
    unsigned leave = blk->insts.n ? leaving_at(f, blk) : 0;
    for (unsigned p = 0; p < blk->insts.n; p++) {
        uint32_t id = blk->insts.at[p].i;
        const MachInst *m = &c->mach[id];
        Choice *ch = &c->choice[id];
        unsigned wait = ch->wait | waits_for(s, m, emit_is_call_boundary(m));
        c->changed |= wait != ch->wait;
        ch->wait = (uint8_t)wait;
        unsigned need = cycles_needed(c, s, m, wait);
        if (need && before) {
            grow(c, &before->stall, before->stall + need);
            grow_older(s, need);
        } else if (need) { /* each predecessor waits as long as it must: the state is theirs again */
            hold_back_preds(c, blk, m, wait);
            gather(c, b, s);
        }
        clear_waited(s, wait);
        take_off(c, s, id, ch);
        if (ch->stall == 0)
            ch->stall = latency_issue(c->t, m);
        grow_older(s, ch->stall);
        before = ch;
        if (p == leave) {
            copy_state(c, &c->out[b.i], s);
            c->out[b.i].reached = true;
        }
    }
}

static void merge_scoreboards(State *into, const State *with) {
    for (unsigned k = 0; k < CELL_COUNT; k++) {
        into->write_sb[k] |= with->write_sb[k];
        into->read_sb[k] |= with->read_sb[k];
    }
}

static bool same_state(const State *a, const State *b) {
    if (a->reached != b->reached || a->flight.n != b->flight.n ||
        memcmp(a->write_sb, b->write_sb, sizeof a->write_sb) != 0 ||
        memcmp(a->read_sb, b->read_sb, sizeof a->read_sb) != 0)
        return false;
    for (unsigned k = 0; k < a->flight.n; k++) /* gathered in the same order each time */
        if (memcmp(&a->flight.at[k], &b->flight.at[k], sizeof(Flight)) != 0)
            return false;
    return true;
}

static bool settle(Controls *c, Diags *d) {
    Function *f = c->f;
    State fresh = {.reached = false};
    unsigned round = 0;
    do {
        c->changed = false;
        for (unsigned k = 0; k < f->layout.n; k++) {
            BlockId b = f->layout.at[k];
            gather(c, b, &fresh);
            if (round > KEEP_AFTER && c->in[b.i].reached) /* so that scoreboard sets can only grow: it ends */
                merge_scoreboards(&fresh, &c->in[b.i]);
            if (!same_state(&fresh, &c->in[b.i])) {
                c->changed = true;
                copy_state(c, &c->in[b.i], &fresh);
            }
            if (fresh.reached)
                walk_block(c, b);
        }
        if (++round > MAX_ROUNDS)
            return diag(d, (SrcLoc){0}, DIAG_E0788, str_text(f->module->strings, f->name));
    } while (c->changed);
    return true;
}

/* ---- writing it down ---- */

static uint32_t pack(const Choice *ch, uint32_t stall) {
    /* nvdisasm knows "keep issuing" for stalls 1 to 11 only; ptxas writes the others with the yield form */
    return ir_control_pack((Control){.stall_cycles = (uint8_t)stall,
                                     .yield = stall == 0 || stall > 11,
                                     .write_sb = ch->write_sb,
                                     .read_sb = ch->read_sb,
                                     .wait_mask = ch->wait});
}

/* Stalls longer than the field holds go on in NOPs: behind the instruction, or before it if it branches. */
static void write_block(Controls *c, BlockId b) {
    Function *f = c->f;
    VEC(InstId) out = {0};
    unsigned n = ir_block(f, b)->insts.n;
    for (unsigned p = 0; p < n; p++) {
        InstId id = ir_block(f, b)->insts.at[p];
        Choice ch = c->choice[id.i];
        bool branches = ir_is_terminator(f, ir_inst(f, id));
        if (!branches) {
            ir_inst(f, id)->sched = pack(&ch, ch.stall > LATENCY_MAX_STALL ? LATENCY_MAX_STALL : ch.stall);
            VEC_ADD(f->arena, &out, id);
        }
        const Choice idle = {.write_sb = NO_SB, .read_sb = NO_SB};
        for (uint32_t left = ch.stall; left > LATENCY_MAX_STALL; left -= LATENCY_MAX_STALL) {
            uint32_t stall =
                branches || left > 2 * LATENCY_MAX_STALL ? LATENCY_MAX_STALL : left - LATENCY_MAX_STALL;
            InstId nop = ir_inst_new(f, OT_NOP, 0, 0);
            ir_inst(f, nop)->loc = ir_inst(f, id)->loc;
            ir_inst(f, nop)->sched = pack(&idle, stall);
            VEC_ADD(f->arena, &out, nop);
        }
        if (branches) {
            uint32_t rest = ch.stall;
            while (rest > LATENCY_MAX_STALL)
                rest -= LATENCY_MAX_STALL;
            ir_inst(f, id)->sched = pack(&ch, rest);
            VEC_ADD(f->arena, &out, id);
        }
    }
    memcpy(&ir_block(f, b)->insts, &out, sizeof out);
}

bool pass_control(Function *f, Diags *d);
bool pass_control(Function *f, Diags *d) {
    if (!f->entry.i)
        return true;
    for (unsigned k = 0; k < f->layout.n; k++) /* every block must have an instruction to carry a stall */
        if (!ir_block(f, f->layout.at[k])->insts.n)
            ir_append(f, f->layout.at[k], ir_inst_new(f, OT_NOP, 0, 0));
    Controls c = {.f = f, .t = f->module->target};
    c.mach = ARENA_ARRAY(&c.a, MachInst, f->insts.n);
    c.choice = ARENA_ARRAY(&c.a, Choice, f->insts.n);
    c.in = ARENA_ARRAY(&c.a, State, f->blocks.n);
    c.out = ARENA_ARRAY(&c.a, State, f->blocks.n);
    for (unsigned k = 0; k < f->layout.n; k++) {
        const Block *b = ir_block(f, f->layout.at[k]);
        for (unsigned p = 0; p < b->insts.n; p++)
            c.mach[b->insts.at[p].i] = emit_mach(f, ir_inst(f, b->insts.at[p]));
    }
    bool ok = settle(&c, d);
    for (unsigned k = 0; ok && k < f->layout.n; k++)
        write_block(&c, f->layout.at[k]);
    arena_free(&c.a);
    return ok;
}
