/* The pass `control`: stall counts and scoreboards. One forward walk over the blocks, repeated until nothing
 * changes; waits and stalls only ever grow, so it ends. What is in flight where a block starts is the union
 * over its predecessors, each with the smallest age. State:
 *   per register  which scoreboards a pending result, or a pending late read, hangs on
 *   a list        of registers that coupled instructions accessed so lately that what comes may be too close
 * Calls and returns wait for everything; who hands over to other lanes, for uniform registers. In: physical
 * instructions in final order. Out: Inst.sched. SPDX-License-Identifier: MIT */
#include "emit/emit.h"
#include "ir/pass.h"
#include "isa/machine/latency.h"
#include <string.h>

enum {
    NUM_SB = 6,
    NO_SB = 7,
    STORE_SB = NUM_SB - 1,
    ALL_SB = 0x3f,
    KEEP_AFTER = 50,
    MAX_ROUNDS = 10000,
    READ = 1,
    WRITTEN = 2
};
typedef enum { FLIGHT_WRITE, FLIGHT_READ, FLIGHT_SB } FlightKind;
_Static_assert(ISA_QUEUE_COUNT <= 16, "a mask of them");

typedef struct { /* one register access that a later instruction may come too close to */
    uint32_t inst;
    uint16_t cell; /* FLIGHT_SB: the scoreboard */
    uint8_t kind, operand, part, age;
    uint8_t lasts; /* nothing is too close at this age */
} Flight;

/* A cell of a state: masks of the scoreboards that a pending result and a late read hang on, and of the
 * queues of the instructions behind both. */
enum { CELL_WRITES = 0, CELL_READS = 8, CELL_QUEUES = 16, CELL_MASK = 0xff, CELL_STEP = 16 };

typedef struct {
    uint32_t *cells;
    /* Scoreboards of memory instructions that are younger than all that set STORE_SB: memory instructions
     * read in order, so whoever waits for one of these need not wait for STORE_SB. */
    uint8_t vouches;
    uint8_t views; /* scoreboards of fences of views and new objects of mbarrier: who comes next waits */
    VEC(Flight) flight;
    bool reached;
} State;

typedef struct {   /* what the walk asks about an instruction again and again */
    CellRef *refs; /* reads, then writes */
    uint8_t nreads, nwrites, issue;
    uint8_t reads_last; /* Flight.lasts */
    uint16_t queue;     /* mask with one bit, or ISA_QUEUE_NONE's */
    bool guarded, late, reads_late, call, memory;
    /* All results must have come: a load under way would fill the cache that it empties; the other warps of
     * the group, which go on with it, take them for there. */
    bool settles;
    bool gathers;    /* WARPGROUP.ARRIVE: registers have been written when it issues, as a call finds them */
    bool view;       /* FENCE.VIEW, SYNCS.EXCH: done when its scoreboard says so */
    bool flushes;    /* UTMACMDFLUSH */
    bool hands_over; /* other lanes of the warp may go on, in code that writes the uniform registers they
                        share */
} Facts;

typedef struct { /* decisions for one instruction; all grow only */
    uint32_t stall;
    uint8_t wait, write_sb, read_sb;
    bool known;
} Choice;

typedef struct {         /* of a result, but worst of matrix products, whose modifiers and factors count */
    uint8_t file, words; /* of the result, and of the first one */
    uint8_t lasts;       /* latency_result_lasts, 0: not found */
    uint8_t worst;       /* latency_worst + 1, 0: not asked for */
} Distance;

typedef struct {
    Function *f;
    const Target *t;
    Arena a;
    MachInst *mach;                 /* by instruction */
    Facts *facts;                   /* by instruction */
    Distance distance[OT_COUNT][2]; /* that were asked for last: of the first result, of others */
    Choice *choice;                 /* by instruction */
    State *in, *out;                /* by block */
    State now;
    /* The cells of vector registers that no instruction names are left out. */
    unsigned ncells, first_p, first_ur;
    unsigned next_sb;          /* round robin */
    uint8_t mark[CELL_COUNT];  /* of the instruction at hand: READ, WRITTEN */
    uint32_t *flight_first;    /* by instruction: 1 + its first entry in the state that is gathered */
    VEC(uint32_t) flight_next; /* by entry: 1 + the next one of its instruction */
    bool *dirty;               /* by block: what its walk starts from, or a stall in it, has changed */
    bool changed;
} Controls;

static const CellRef *reads_of(const Facts *facts) { return facts->refs; }
static const CellRef *writes_of(const Facts *facts) { return facts->refs + facts->nreads; }

/* ---- states ---- */

static bool same_access(const Flight *flight, const Flight *other) {
    return flight->inst == other->inst && flight->cell == other->cell && flight->kind == other->kind &&
           flight->operand == other->operand && flight->part == other->part;
}

/* Entries of the same instruction are at `from` or behind. */
static void add_flight(Controls *controls, State *state, unsigned from, Flight x) {
    for (unsigned k = from; k < state->flight.n; k++) {
        Flight *o = &state->flight.at[k];
        if (same_access(o, &x)) {
            if (x.age < o->age)
                o->age = x.age;
            return;
        }
    }
    VEC_ADD(&controls->a, &state->flight, x);
}

static void grow_older(State *state, unsigned cycles) {
    unsigned n = 0, end = state->flight.n;
    Flight *flight = state->flight.at;
    for (; n < end && flight[n].age + cycles < flight[n].lasts; n++)
        flight[n].age = (uint8_t)(flight[n].age + cycles);
    for (unsigned k = n; k < end; k++) {
        unsigned age = flight[k].age + cycles;
        if (age >= flight[k].lasts)
            continue;
        flight[n] = flight[k];
        flight[n++].age = (uint8_t)age;
    }
    state->flight.n = n;
}

/* Both loops in steps of a constant size, for vectors. */
static void merge_cells(const Controls *controls, uint32_t *restrict into, const uint32_t *restrict with) {
    for (unsigned k = 0; k < controls->ncells; k += CELL_STEP)
        for (unsigned m = 0; m < CELL_STEP; m++)
            into[k + m] |= with[k + m];
}

static uint32_t all_cells(const Controls *controls, const State *state) {
    uint32_t all = 0;
    for (unsigned k = 0; k < controls->ncells; k += CELL_STEP)
        for (unsigned m = 0; m < CELL_STEP; m++)
            all |= state->cells[k + m];
    return all;
}

static unsigned sb_of(uint32_t cell) { return (cell >> CELL_WRITES | cell >> CELL_READS) & CELL_MASK; }

static void copy_state(Controls *controls, State *to, const State *from) {
    memcpy(to->cells, from->cells, controls->ncells * sizeof *to->cells);
    to->vouches = from->vouches;
    to->views = from->views;
    to->reached = from->reached;
    while (to->flight.cap < from->flight.n) {
        to->flight.n = to->flight.cap;
        (void)VEC_PUSH(&controls->a, &to->flight);
    }
    to->flight.n = from->flight.n;
    if (from->flight.n)
        memcpy(to->flight.at, from->flight.at, sizeof *to->flight.at * from->flight.n);
}

/* The index of what is in flight, which merging needs where many blocks meet: entries by instruction. */
static void index_flight(Controls *controls, const State *state, uint32_t k) {
    while (controls->flight_next.n <= k)
        VEC_PUSH(&controls->a, &controls->flight_next);
    uint32_t *first = &controls->flight_first[state->flight.at[k].inst];
    controls->flight_next.at[k] = *first;
    *first = k + 1;
}

/* `into`, which is indexed, |= `with`. */
static void merge_state(Controls *controls, State *into, const State *with) {
    into->reached = true;
    merge_cells(controls, into->cells, with->cells);
    into->vouches &= with->vouches;
    into->views |= with->views;
    for (unsigned k = 0; k < with->flight.n; k++) {
        const Flight *flight = &with->flight.at[k];
        uint32_t at = controls->flight_first[flight->inst];
        while (at && !same_access(&into->flight.at[at - 1], flight))
            at = controls->flight_next.at[at - 1];
        if (!at) {
            VEC_ADD(&controls->a, &into->flight, *flight);
            index_flight(controls, into, into->flight.n - 1);
        } else if (flight->age < into->flight.at[at - 1].age) {
            into->flight.at[at - 1].age = flight->age;
        }
    }
}

/* ---- one instruction ---- */

/* Scoreboards that instruction m must wait for in state s. */
static unsigned waits_for(const Controls *controls, const State *state, const Facts *facts) {
    unsigned mask = state->views;
    if (facts->call)
        return mask | sb_of(all_cells(controls, state));
    if (facts->settles)
        mask |= all_cells(controls, state) >> CELL_WRITES & CELL_MASK;
    for (unsigned k = controls->first_ur; facts->hands_over && k < controls->ncells; k++)
        mask |= state->cells[k] >> CELL_WRITES & CELL_MASK;
    for (unsigned k = 0; k < facts->nreads; k++)
        mask |= state->cells[reads_of(facts)[k].cell] >> CELL_WRITES & CELL_MASK;
    for (unsigned k = 0; k < facts->nwrites; k++) {
        uint32_t cell = state->cells[writes_of(facts)[k].cell];
        bool behind = facts->queue != 1u << ISA_QUEUE_NONE &&
                      cell >> CELL_QUEUES == facts->queue; /* cannot overtake them */
        mask |= behind ? 0u : sb_of(cell);
    }
    return mask;
}

static Distance *distance_of(Controls *controls, uint32_t id, unsigned dst) {
    const MachInst *inst = &controls->mach[id];
    Distance *known = &controls->distance[inst->optype][dst > 0];
    if (!known->lasts || known->file != inst->dst[dst].file || known->words != inst->dst[0].count)
        *known = (Distance){.file = inst->dst[dst].file,
                            .words = inst->dst[0].count,
                            .lasts = (uint8_t)latency_result_lasts(controls->t, inst, dst)};
    return known;
}

/* Whoever is on the other side of a call may use the register in the slowest way. */
static unsigned worst_read(Controls *controls, const Flight *flight) {
    Distance *known = distance_of(controls, flight->inst, flight->operand);
    if (!known->worst || known->lasts == LATENCY_WINDOW)
        known->worst =
            (uint8_t)(latency_worst(controls->t, &controls->mach[flight->inst], flight->operand) + 1);
    return known->worst - 1u;
}

static void set_marks(Controls *controls, const Facts *facts) {
    for (unsigned k = 0; k < facts->nreads; k++)
        controls->mark[reads_of(facts)[k].cell] |= READ;
    for (unsigned k = 0; k < facts->nwrites; k++)
        controls->mark[writes_of(facts)[k].cell] |= WRITTEN;
}
static void clear_marks(Controls *controls, const Facts *facts) {
    for (unsigned k = 0; k < (unsigned)facts->nreads + facts->nwrites; k++)
        controls->mark[facts->refs[k].cell] = 0;
}

/* Cycles that instruction `id` must still wait, by what is in flight. Its cells are marked. */
static unsigned cycles_needed(Controls *controls, const State *state, uint32_t id, unsigned wait) {
    const MachInst *m = &controls->mach[id];
    const Facts *facts = &controls->facts[id];
    const CellRef *reads = reads_of(facts), *writes = writes_of(facts);
    unsigned nr = facts->nreads, nw = facts->nwrites, worst = 0;
    for (unsigned k = 0; k < state->flight.n; k++) {
        const Flight *flight = &state->flight.at[k];
        unsigned mark = flight->kind == FLIGHT_SB ? 0 : controls->mark[flight->cell];
        if (flight->kind != FLIGHT_SB &&
            !(mark & (flight->kind == FLIGHT_WRITE ? READ | WRITTEN : WRITTEN)) && !facts->call &&
            !facts->gathers)
            continue;
        const MachInst *w = &controls->mach[flight->inst];
        unsigned need = 0;
        if (flight->kind == FLIGHT_SB)
            need = wait >> flight->cell & 1 ? LATENCY_SB_TO_WAIT : 0;
        else if (flight->kind == FLIGHT_WRITE &&
                 (facts->call || (facts->gathers && flight->cell < controls->first_p)))
            need = worst_read(controls, flight);
        for (unsigned n = 0; n < nr && flight->kind == FLIGHT_WRITE && (mark & READ); n++)
            if (reads[n].cell == flight->cell) {
                unsigned l = latency_raw_part(controls->t, w, flight->operand, flight->part, m,
                                              reads[n].operand, reads[n].part);
                need = l > need ? l : need;
            }
        for (unsigned n = 0; n < nw && flight->kind != FLIGHT_SB && (mark & WRITTEN); n++)
            if (writes[n].cell == flight->cell) {
                unsigned l = flight->kind == FLIGHT_WRITE ? latency_waw(controls->t, w, flight->operand, m)
                                                          : latency_war(controls->t, w, flight->operand, m);
                need = l > need ? l : need;
            }
        if (need > flight->age && need - flight->age > worst)
            worst = need - flight->age;
    }
    return worst;
}

static void clear_waited(const Controls *controls, State *state, unsigned wait) {
    if (!wait)
        return;
    state->views &= (uint8_t)~wait;
    unsigned read = wait | (wait & state->vouches ? 1u << STORE_SB : 0);
    const uint32_t kept = ~(wait << CELL_WRITES | read << CELL_READS),
                   either = CELL_MASK << CELL_WRITES | CELL_MASK << CELL_READS;
    for (unsigned k = 0; k < controls->ncells; k += CELL_STEP)
        for (unsigned m = 0; m < CELL_STEP; m++) {
            uint32_t left = state->cells[k + m] & kept;
            state->cells[k + m] = left & either ? left : 0;
        }
    if (read >> STORE_SB & 1)
        state->vouches = ALL_SB;
}

/* A scoreboard for a new setter: one that nothing hangs on, else that of the setter before, whose result is
 * likely to be awaited at the same time. Stores have one of their own. */
static unsigned pick_sb(Controls *controls, const State *state, bool store) {
    if (store)
        return STORE_SB;
    unsigned busy = state->views | sb_of(all_cells(controls, state));
    for (unsigned k = 0; k < STORE_SB; k++) {
        unsigned sb = (controls->next_sb + k) % STORE_SB;
        if (!(busy >> sb & 1)) {
            controls->next_sb = sb + 1;
            return sb;
        }
    }
    return (controls->next_sb + STORE_SB - 1) % STORE_SB;
}

static void take_off(Controls *controls, State *state, uint32_t id, Choice *ch) {
    const Facts *facts = &controls->facts[id];
    const CellRef *reads = reads_of(facts), *writes = writes_of(facts);
    unsigned nr = facts->nreads, nw = facts->nwrites;
    bool late = facts->late, reads_late = facts->reads_late;
    unsigned late_reads = 0;
    for (unsigned k = 0; k < nr; k++)
        late_reads += reads[k].operand != LATENCY_GUARD;
    if (!ch->known) {
        ch->known = true;
        ch->write_sb = ch->read_sb = NO_SB;
        if ((late && nw) || facts->view)
            ch->write_sb = (uint8_t)pick_sb(controls, state, false);
        else if (reads_late && late_reads)
            ch->read_sb = (uint8_t)pick_sb(controls, state, facts->memory);
        if (facts->flushes) /* what DEPBAR.LE SB0 waits for: the copies before it, as with ptxas 13.0 */
            ch->read_sb = DepSb_SB0;
    }
    state->views |= facts->view ? (uint8_t)(1u << ch->write_sb) : 0;
    unsigned n = 0;
    bool again = false;                              /* still in flight from the last time round a loop */
    for (unsigned k = 0; k < state->flight.n; k++) { /* an overwritten result is of no concern any more */
        Flight x = state->flight.at[k];
        if (x.kind != FLIGHT_SB && !facts->guarded && (controls->mark[x.cell] & WRITTEN))
            continue;
        again |= x.inst == id;
        state->flight.at[n++] = x;
    }
    state->flight.n = n;
    unsigned fresh = again ? 0 : n; /* where entries of this instruction can be */
    unsigned sb = ch->write_sb != NO_SB ? ch->write_sb : ch->read_sb;
    if (sb != NO_SB)
        add_flight(controls, state, fresh,
                   (Flight){id, (uint16_t)sb, FLIGHT_SB, 0, 0, 0, LATENCY_SB_TO_WAIT});
    if (facts->memory && sb != NO_SB)
        state->vouches = (uint8_t)(sb == STORE_SB ? 0 : state->vouches | 1u << sb);
    for (unsigned k = 0; k < nw; k++) {
        if (ch->write_sb != NO_SB)
            state->cells[writes[k].cell] |= 1u << ch->write_sb << CELL_WRITES | (uint32_t)facts->queue
                                                                                    << CELL_QUEUES;
        add_flight(controls, state, fresh,
                   (Flight){id, writes[k].cell, FLIGHT_WRITE, writes[k].operand, writes[k].part, 0,
                            distance_of(controls, id, writes[k].operand)->lasts});
    }
    for (unsigned k = 0; k < nr; k++) {
        if (reads_late && sb != NO_SB &&
            reads[k].operand != LATENCY_GUARD) { /* the result's scoreboard says so too */
            state->cells[reads[k].cell] |= 1u << sb << CELL_READS | (uint32_t)facts->queue << CELL_QUEUES;
        } else if (!late)
            add_flight(controls, state, fresh,
                       (Flight){id, reads[k].cell, FLIGHT_READ, reads[k].operand, reads[k].part, 0,
                                facts->reads_last});
    }
}

/* ---- blocks ---- */

static void raise_to(Controls *controls, uint32_t *what, uint32_t to) {
    if (to > *what) {
        *what = to;
        controls->changed = true;
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
static void hold_back_preds(Controls *controls, const Block *blk, uint32_t first, unsigned wait) {
    Function *f = controls->f;
    for (unsigned p = 0; p < blk->preds.n; p++) {
        State *state = &controls->out[blk->preds.at[p].i];
        const Block *pb = ir_block(f, blk->preds.at[p]);
        unsigned need = state->reached ? cycles_needed(controls, state, first, wait) : 0;
        if (!need || !pb->insts.n)
            continue;
        Choice *ch = &controls->choice[pb->insts.at[leaving_at(f, pb)].i];
        raise_to(controls, &ch->stall, ch->stall + need);
        grow_older(state, need);
        controls->dirty[blk->preds.at[p].i] = true;
        for (unsigned s = 0; s < pb->succs.n; s++)
            controls->dirty[pb->succs.at[s].i] = true;
    }
}

/* State where block b starts. */
static void gather(Controls *controls, BlockId b, State *state) {
    const Block *blk = ir_block(controls->f, b);
    memset(state->cells, 0, controls->ncells * sizeof *state->cells);
    state->vouches = ALL_SB;
    state->views = 0;
    state->flight.n = 0;
    state->reached = b.i == controls->f->entry.i;
    for (unsigned p = 0; p < blk->preds.n; p++) {
        const State *out = &controls->out[blk->preds.at[p].i];
        controls->f->module->steps += 1 + out->flight.n;
        if (!out->reached)
            continue;
        if (p == 0 && !state->reached) {
            copy_state(controls, state, out);
            for (unsigned k = 0; k < state->flight.n && blk->preds.n > 1; k++)
                index_flight(controls, state, k);
        } else {
            merge_state(controls, state, out);
        }
    }
    for (unsigned k = 0; k < state->flight.n; k++)
        controls->flight_first[state->flight.at[k].inst] = 0;
}

static void merge_scoreboards(const Controls *controls, State *into, const State *with) {
    merge_cells(controls, into->cells, with->cells);
    into->vouches &= with->vouches;
    into->views |= with->views;
}

static bool same_state(const Controls *controls, const State *state, const State *b) {
    if (state->reached != b->reached || state->flight.n != b->flight.n ||
        memcmp(state->cells, b->cells, controls->ncells * sizeof *state->cells) != 0 ||
        state->vouches != b->vouches || state->views != b->views)
        return false;
    for (unsigned k = 0; k < state->flight.n; k++) /* gathered in the same order each time */
        if (!same_access(&state->flight.at[k], &b->flight.at[k]) ||
            state->flight.at[k].age != b->flight.at[k].age)
            return false;
    return true;
}

static void walk_block(Controls *controls, BlockId b) {
    Function *f = controls->f;
    const Block *blk = ir_block(f, b);
    State *state = &controls->now;
    copy_state(controls, state, &controls->in[b.i]);
    f->module->steps += blk->insts.n;
    Choice *before = NULL;
    unsigned leave = blk->insts.n ? leaving_at(f, blk) : 0;
    FOR_INST_IDS(f, b, inst) {
        uint32_t id = inst.i;
        const Facts *facts = &controls->facts[id];
        Choice *ch = &controls->choice[id];
        unsigned wait = ch->wait | waits_for(controls, state, facts);
        controls->changed |= wait != ch->wait;
        ch->wait = (uint8_t)wait;
        set_marks(controls, facts);
        unsigned need = cycles_needed(controls, state, id, wait);
        if (need && before) {
            raise_to(controls, &before->stall, before->stall + need);
            grow_older(state, need);
        } else if (need) { /* each predecessor waits as long as it must: the state is theirs again */
            hold_back_preds(controls, blk, id, wait);
            gather(controls, b, state);
        }
        clear_waited(controls, state, wait);
        take_off(controls, state, id, ch);
        if (ch->stall == 0)
            ch->stall = facts->issue;
        clear_marks(controls, facts);
        grow_older(state, ch->stall);
        before = ch;
        state->reached = true;
        if (AT(inst) == leave && !same_state(controls, state, &controls->out[b.i])) {
            copy_state(controls, &controls->out[b.i], state);
            for (unsigned n = 0; n < blk->succs.n; n++)
                controls->dirty[blk->succs.at[n].i] = true;
        }
    }
}

static bool settle(Controls *controls, Diags *d) {
    Function *f = controls->f;
    State fresh = {.cells = ARENA_ARRAY(&controls->a, uint32_t, controls->ncells)};
    unsigned round = 0;
    do {
        controls->changed = false;
        FOR_BLOCKS(f, b) {
            if (!controls->dirty[b.i])
                continue;
            controls->dirty[b.i] = false;
            controls->changed = true;
            gather(controls, b, &fresh);
            if (round > KEEP_AFTER &&
                controls->in[b.i].reached) /* so that scoreboard sets can only grow: it ends */
                merge_scoreboards(controls, &fresh, &controls->in[b.i]);
            if (!same_state(controls, &fresh, &controls->in[b.i]))
                copy_state(controls, &controls->in[b.i], &fresh);
            if (fresh.reached)
                walk_block(controls, b);
        }
        if (++round > MAX_ROUNDS)
            return diag(d, (SrcLoc){0}, DIAG_E0788, str_text(f->module->strings, f->name));
    } while (controls->changed);
    return true;
}

/* ---- writing it down ---- */

static uint32_t pack_control(const Choice *ch, uint32_t stall) {
    /* nvdisasm knows "keep issuing" for stalls 1 to 11 only; ptxas writes the others with the yield form */
    return ir_control_pack((Control){.stall_cycles = (uint8_t)stall,
                                     .yield = stall == 0 || stall > 11,
                                     .write_sb = ch->write_sb,
                                     .read_sb = ch->read_sb,
                                     .wait_mask = ch->wait});
}

/* Stalls longer than the field holds go on in NOPs: behind the instruction, or before it if it branches. */
static void write_block(Controls *controls, BlockId b) {
    Function *f = controls->f;
    InstIds out = {0};
    unsigned n = ir_block(f, b)->insts.n;
    for (unsigned p = 0; p < n; p++) {
        InstId id = ir_block(f, b)->insts.at[p];
        Choice ch = controls->choice[id.i];
        bool branches = ir_is_terminator(f, ir_inst(f, id));
        if (!branches) {
            ir_inst(f, id)->sched =
                pack_control(&ch, ch.stall > LATENCY_MAX_STALL ? LATENCY_MAX_STALL : ch.stall);
            VEC_ADD(f->arena, &out, id);
        }
        const Choice idle = {.write_sb = NO_SB, .read_sb = NO_SB};
        for (uint32_t left = ch.stall; left > LATENCY_MAX_STALL; left -= LATENCY_MAX_STALL) {
            uint32_t stall =
                branches || left > 2 * LATENCY_MAX_STALL ? LATENCY_MAX_STALL : left - LATENCY_MAX_STALL;
            InstId nop = ir_inst_new(f, OT_NOP, 0, 0);
            ir_inst(f, nop)->loc = ir_inst(f, id)->loc;
            ir_inst(f, nop)->sched = pack_control(&idle, stall);
            VEC_ADD(f->arena, &out, nop);
        }
        if (branches) {
            uint32_t rest = ch.stall;
            while (rest > LATENCY_MAX_STALL)
                rest -= LATENCY_MAX_STALL;
            ir_inst(f, id)->sched = pack_control(&ch, rest);
            VEC_ADD(f->arena, &out, id);
        }
    }
    ir_block(f, b)->insts = out;
}

/* The vector registers' cells end behind the last one that is named. */
static void number_cells(Controls *controls, unsigned vectors) {
    const unsigned less = CELL_P - vectors;
    FOR_BLOCKS(controls->f, b)
        FOR_INST_IDS(controls->f, b, id) {
            Facts *facts = &controls->facts[id.i];
            for (unsigned k = 0; k < (unsigned)facts->nreads + facts->nwrites; k++)
                if (facts->refs[k].cell >= CELL_P)
                    facts->refs[k].cell = (uint16_t)(facts->refs[k].cell - less);
        }
    controls->first_p = vectors;
    controls->first_ur = CELL_UR - less;
    controls->ncells = (CELL_COUNT - less + CELL_STEP - 1) / CELL_STEP * CELL_STEP;
}

/* A state for each block. */
static State *new_states(Controls *controls) {
    const uint32_t n = controls->f->blocks.n;
    State *states = ARENA_ARRAY(&controls->a, State, n);
    uint32_t *cells = ARENA_ARRAY(&controls->a, uint32_t, (size_t)n * controls->ncells);
    for (uint32_t b = 0; b < n; b++)
        states[b].cells = cells + (size_t)b * controls->ncells;
    return states;
}

static void gather_facts(Controls *controls) {
    Function *f = controls->f;
    unsigned vectors = 0;
    controls->facts = ARENA_ARRAY(&controls->a, Facts, f->insts.n);
    controls->dirty = ARENA_ARRAY(&controls->a, bool, f->blocks.n);
    FOR_BLOCKS(f, b) {
        controls->dirty[b.i] = true;
        FOR_INST_IDS(f, b, id) {
            const MachInst *inst = &controls->mach[id.i];
            CellRef refs[2 * MAX_CELL_REFS];
            unsigned nr = emit_reads(inst, refs), nw = emit_writes(inst, refs + nr);
            for (unsigned k = 0; k < nr + nw; k++)
                vectors = refs[k].cell < CELL_P && refs[k].cell >= vectors ? refs[k].cell + 1u : vectors;
            unsigned pace = isa_traits(inst->optype)->pace;
            controls->facts[id.i] = (Facts){
                .refs = arena_copy(&controls->a, refs, sizeof *refs * (nr + nw)),
                .nreads = (uint8_t)nr,
                .nwrites = (uint8_t)nw,
                .issue = (uint8_t)latency_issue(controls->t, inst),
                .reads_last = (uint8_t)latency_operands_last(inst),
                .guarded = !op_is_always(inst->guard),
                .late = latency_is_variable(controls->t, inst),
                .reads_late = latency_reads_late(controls->t, inst),
                .flushes = inst->optype == OT_UTMACMDFLUSH,
                .queue = (uint16_t)(1u << latency_queue(controls->t, inst)),
                .memory = latency_reads_in_order(controls->t, inst),
                .call = emit_is_call_boundary(inst),
                .settles = pace == ISA_PACE_CACHE || pace == ISA_PACE_GROUP,
                .gathers = pace == ISA_PACE_GROUP,
                .view = pace == ISA_PACE_VIEW,
                .hands_over = isa_has_effect(inst->optype, ISA_EFFECT_SWITCH | ISA_EFFECT_EXIT),
            };
        }
    }
    number_cells(controls, vectors);
}

bool pass_control(Function *f, Diags *d) {
    if (!f->entry.i)
        return true;
    FOR_BLOCKS(f, b) /* every block must have an instruction to carry a stall */
        if (!ir_block(f, b)->insts.n)
            ir_append(f, b, ir_inst_new(f, OT_NOP, 0, 0));
    Controls c = {.f = f, .t = f->module->target};
    c.mach = ARENA_ARRAY(&c.a, MachInst, f->insts.n);
    c.choice = ARENA_ARRAY(&c.a, Choice, f->insts.n);
    c.flight_first = ARENA_ARRAY(&c.a, uint32_t, f->insts.n);
    FOR_BLOCKS(f, b)
        FOR_INST_IDS(f, b, id)
            c.mach[id.i] = emit_mach(f, ir_inst(f, id));
    gather_facts(&c);
    c.in = new_states(&c);
    c.out = new_states(&c);
    c.now.cells = ARENA_ARRAY(&c.a, uint32_t, c.ncells);
    bool ok = settle(&c, d);
    for (unsigned k = 0; ok && k < f->layout.n; k++)
        write_block(&c, f->layout.at[k]);
    arena_free(&c.a);
    return ok;
}
