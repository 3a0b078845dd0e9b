/* The PTX interpreter's launch, schedule and traps (API: sim/interp/interp.h). Blocks run a few at a time; in
 * a block a thread runs for a quantum, then another one. Seed 0 takes warps and lanes in ascending order,
 * others at random.
 * SPDX-License-Identifier: MIT */
#include "sim/interp/run.h"
#include <stdio.h>
#include <stdlib.h>

#define DEFAULT_BUDGET 4000000000ull
#define DEFAULT_RESIDENT 16u
#define MAX_RESIDENT_THREADS 16384u
#define MAX_RESIDENT_BYTES (256ull << 20) /* of registers; one block always runs */
#define FIXED_QUANTUM 512u
#define RANDOM_QUANTUM_MAX 64u
#define WARP_TURN 32768u /* thread instructions of a warp before the next one's turn, fixed schedule */
#define REPORT_TICKS 1000000u
#define MAX_SPINS 64u

/* ---- traps ---- */

static void fill_trap(PtxRun *r, const PtxThread *t, const PtxCode *c, SimTrapKind kind, const char *text,
                      SimTrap *trap) {
    const PtxFunc *kernel = r->kernel->func;
    *trap = (SimTrap){.kind = kind};
    snprintf(trap->kernel, sizeof trap->kernel, "%s", str_text(&r->m->strings, kernel->name));
    for (int i = 0; i < 3; i++) {
        trap->block[i] = t->warp->block->ctaid[i];
        trap->thread[i] = t->tid[i];
    }
    if (c && c->insn) {
        trap->pc = (uint64_t)(c - c->proc->code);
        trap->ptx_line = ptx_line(r->m, c->insn);
        snprintf(trap->text, sizeof trap->text, "%s%s%s%s", ptx_op_name((PtxOp)c->insn->op),
                 str_text(&r->m->strings, c->insn->mods_text), text ? ", " : "", text ? text : "");
    } else if (text) {
        snprintf(trap->text, sizeof trap->text, "%s", text);
    }
}

PtxStep ptx_trap(PtxRun *r, const PtxThread *t, const PtxCode *c, SimTrapKind kind, const char *text) {
    if (!r->trapped) {
        r->trapped = true;
        fill_trap(r, t, c, kind, text, &r->res->trap);
    }
    return STEP_STOP;
}

PtxStep ptx_trap_at(PtxRun *r, const PtxThread *t, const PtxCode *c, SimTrapKind kind, uint64_t address,
                    const char *text) {
    bool first = !r->trapped;
    ptx_trap(r, t, c, kind, text);
    if (first) {
        r->res->trap.address = address;
        r->res->trap.has_address = true;
    }
    return STEP_STOP;
}

void ptx_warn(PtxRun *r, const PtxThread *t, const PtxCode *c, SimTrapKind kind, const char *text) {
    if (*c->warned >> kind & 1)
        return;
    *c->warned |= 1u << kind;
    SimTrap w;
    fill_trap(r, t, c, kind, text, &w);
    if (r->res->nwarnings++ == 0)
        r->res->first_warning = w;
    if (r->opt.on_warning)
        r->opt.on_warning(r->opt.user, &w);
}

/* ---- running one thread ---- */

static bool guard_holds(const PtxThread *t, const PtxCode *c) {
    return !c->guard || (t->regs[c->guard] & 1) != c->guard_not;
}

static uint32_t run_quantum(PtxRun *r, PtxThread *t, uint32_t quantum) {
    uint32_t n = 0, skipped = 0;
    while (n < quantum) {
        const PtxCode *c = t->pc++;
        n++;
        if (c->guard && (t->regs[c->guard] & 1) == c->guard_not) {
            skipped++;
            if (c->watch)
                ptx_watch(r, t, c, false);
            continue;
        }
        if (c->exec(r, t, c) != STEP_GO)
            break;
    }
    r->res->thread_insns += n - skipped;
    r->res->skipped_insns += skipped;
    return n;
}

/* The event of a collective or barrier that has given its value since. */
static void report_late(PtxRun *r, PtxThread *t) {
    const PtxCode *c = t->late;
    t->late = NULL;
    r->place.bytes = 0;
    if (c)
        ptx_report_event(r, t, c, true, t->proc);
}

/* As run_quantum, with events and checks. */
static uint32_t run_quantum_slow(PtxRun *r, PtxThread *t, uint32_t quantum) {
    for (uint32_t n = 1;; n++) {
        report_late(r, t);
        const PtxCode *c = t->pc++;
        const PtxProc *proc = t->proc;
        bool run = guard_holds(t, c);
        if (proc->reached && c->insn)
            proc->reached[c - proc->code] = 1;
        r->place.bytes = 0;
        ptx_check_before(r, t, c, run);
        PtxStep step = run ? c->exec(r, t, c) : STEP_GO;
        *(run ? &r->res->thread_insns : &r->res->skipped_insns) += 1;
        r->res->stores += run && r->place.bytes && r->place.write && r->place.alloc;
        if (run && c->ndst && t->state != TS_RUN && t->state != TS_EXITED)
            t->late = c;
        else
            ptx_report_event(r, t, c, run, proc);
        if (step != STEP_GO || n >= quantum)
            return n;
    }
}

void ptx_exit_thread(PtxRun *r, PtxThread *t) {
    PtxWarp *w = t->warp;
    w->alive &= ~(1u << t->lane);
    ptx_block_thread(t, TS_EXITED, NULL);
    w->block->nalive--;
    ptx_lane_ended(r, w);
}

/* ---- scheduling ---- */

static uint64_t next_random(PtxRun *r) { /* splitmix64 */
    uint64_t z = r->rng += 0x9e3779b97f4a7c15ull;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return z ^ z >> 31;
}

/* First runnable thread at or after `from`, cyclically; NULL if none can run. */
static PtxThread *next_runnable(PtxBlock *b, uint32_t from) {
    uint32_t wi = from / 32, mask = b->runnable[wi] & (UINT32_MAX << (from % 32));
    for (uint32_t i = 0; i <= b->nwarps; i++) {
        if (mask)
            return &b->warps[wi].threads[__builtin_ctz(mask)];
        wi = wi + 1 == b->nwarps ? 0 : wi + 1;
        mask = b->runnable[wi];
    }
    return NULL;
}

static void deadlock(PtxRun *r, PtxBlock *b) {
    for (uint32_t i = 0; i < b->nthreads; i++) {
        PtxThread *t = &b->threads[i];
        if (t->state != TS_EXITED) {
            ptx_trap(r, t, t->wait, TRAP_DEADLOCK, "this thread waits for ever");
            return;
        }
    }
}

/* Run thread t for a quantum; returns the instructions used. */
static uint32_t run_thread(PtxRun *r, PtxThread *t, uint32_t quantum) {
    if (r->steps_left == 0) {
        ptx_trap(r, t, t->pc, TRAP_BUDGET, NULL);
        return 0;
    }
    if (quantum > r->steps_left)
        quantum = (uint32_t)r->steps_left;
    uint32_t n = r->slow ? run_quantum_slow(r, t, quantum) : run_quantum(r, t, quantum);
    r->steps_left -= n;
    r->ticks += n;
    if (n == quantum && ++t->warp->spins > MAX_SPINS)
        ptx_release_active(t->warp);
    return n;
}

/* Random schedule: one thread of the block. False if none can run. */
static bool step_random(PtxRun *r, PtxBlock *b) {
    PtxThread *t = next_runnable(b, (uint32_t)(next_random(r) % b->nthreads));
    if (t)
        run_thread(r, t, 1 + (uint32_t)(next_random(r) % RANDOM_QUANTUM_MAX));
    return t != NULL;
}

/* Fixed schedule: each warp in turn, its lanes in ascending order again and again, until none can run or the
 * turn is over. So a warp's lanes do an atomic in ascending order, before the next warp does: the order of a
 * machine that runs warps in turn. False if no thread of the block can run. */
static bool step_fixed(PtxRun *r, PtxBlock *b) {
    bool ran = false;
    for (uint32_t i = 0; i < b->nwarps && !r->trapped; i++) {
        uint32_t from = 0, used = 0, all;
        while ((all = b->runnable[i]) != 0 && used < WARP_TURN && !r->trapped) {
            uint32_t above = all & (UINT32_MAX << from);
            uint32_t lane = (uint32_t)__builtin_ctz(above ? above : all);
            used += run_thread(r, &b->warps[i].threads[lane], FIXED_QUANTUM);
            from = (lane + 1) % 32;
            ran = true;
        }
    }
    return ran;
}

static void start_block(PtxRun *r, PtxBlock *b, uint64_t number) {
    const Launch *l = r->launch;
    b->ctaid[0] = (uint32_t)(number % l->grid[0]);
    b->ctaid[1] = (uint32_t)(number / l->grid[0] % l->grid[1]);
    b->ctaid[2] = (uint32_t)(number / l->grid[0] / l->grid[1]);
    race_block_start(r, b);
    memset(b->bars, 0, sizeof b->bars);
    memset(b->shared, 0, r->shared_bytes + 16);
    if (b->shared_written)
        memset(b->shared_written, 0, r->shared_bytes / 8 + 8);
    b->nalive = b->nthreads;
    b->live = true;
    for (uint32_t i = 0; i < b->nwarps; i++) {
        PtxWarp *w = &b->warps[i];
        w->alive = w->nlanes == 32 ? UINT32_MAX : (1u << w->nlanes) - 1;
        w->spins = w->at_collective = w->at_barrier = 0;
        ptx_end_promises(r, w);
        b->runnable[i] = w->alive;
    }
    for (uint32_t i = 0; i < b->nthreads && !r->trapped; i++) {
        PtxThread *t = &b->threads[i];
        t->state = TS_RUN;
        t->cc = false;
        t->path = t->nbarriers = 0;
        t->last_barrier = NULL;
        t->late = NULL;
        t->nframes = t->nslots = 0;
        t->pc = NULL;
        ptx_enter(r, t, r->kernel, NULL);
    }
}

/* Run all blocks; new ones take the place of those that finished. */
static void run_grid(PtxRun *r) {
    const Launch *l = r->launch;
    uint64_t total = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2], next = 0;
    uint32_t live = 0, turn = 0;
    for (; live < r->nresident && next < total && !r->trapped; live++)
        start_block(r, &r->blocks[live], next++);
    while (live && !r->trapped) {
        PtxBlock *b = &r->blocks[r->opt.seed ? next_random(r) % r->nresident : turn++ % r->nresident];
        if (!b->live)
            continue;
        bool ran = r->opt.seed ? step_random(r, b) : step_fixed(r, b);
        if (r->opt.keep_going && r->ticks >= r->next_report) {
            r->next_report = r->ticks + REPORT_TICKS;
            if (!r->opt.keep_going(r->opt.user, r->ticks))
                ptx_trap(r, b->threads, NULL, TRAP_BUDGET, "stopped by the caller");
        }
        if (b->nalive == 0) {
            for (uint32_t i = 0; i < b->nwarps; i++)
                ptx_end_promises(r, &b->warps[i]);
            live--;
            b->live = false;
            if (next < total && !r->trapped) {
                start_block(r, b, next++);
                live++;
            }
        } else if (!ran) {
            deadlock(r, b);
        }
    }
}

/* ---- set-up ---- */

static bool make_block(PtxRun *r, PtxBlock *b) {
    const uint32_t *dim = r->launch->block;
    b->run = r;
    b->nthreads = dim[0] * dim[1] * dim[2];
    b->nwarps = (b->nthreads + 31) / 32;
    b->threads = ARENA_ARRAY(&r->arena, PtxThread, b->nthreads);
    b->warps = ARENA_ARRAY(&r->arena, PtxWarp, b->nwarps);
    b->shared = ARENA_ARRAY(&r->arena, uint8_t, r->shared_bytes + 16);
    if (r->opt.report_uninitialised)
        b->shared_written = ARENA_ARRAY(&r->arena, uint8_t, r->shared_bytes / 8 + 8);
    for (uint32_t i = 0; i < b->nwarps; i++) {
        uint32_t left = b->nthreads - i * 32;
        b->warps[i] = (PtxWarp){
            .block = b, .threads = b->threads + (size_t)i * 32, .nlanes = left < 32 ? left : 32, .index = i};
    }
    for (uint32_t i = 0; i < b->nthreads; i++) {
        PtxThread *t = &b->threads[i];
        t->warp = &b->warps[i / 32];
        t->lane = (uint8_t)(i % 32);
        t->linear = i;
        t->tid[0] = i % dim[0];
        t->tid[1] = i / dim[0] % dim[1];
        t->tid[2] = i / dim[0] / dim[1];
    }
    return true;
}

static void make_blocks(PtxRun *r) {
    const Launch *l = r->launch;
    uint64_t total = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2];
    uint32_t threads = l->block[0] * l->block[1] * l->block[2];
    uint64_t n = r->opt.resident_blocks ? r->opt.resident_blocks : DEFAULT_RESIDENT;
    if (n > total)
        n = total;
    uint64_t bytes = (uint64_t)threads * r->kernel->nslots * 8, most = MAX_RESIDENT_THREADS / threads;
    if (most > 1 + MAX_RESIDENT_BYTES / bytes)
        most = 1 + MAX_RESIDENT_BYTES / bytes;
    if (n > most)
        n = most;
    r->nresident = (uint32_t)n;
    r->blocks = ARENA_ARRAY(&r->arena, PtxBlock, n);
    for (uint32_t i = 0; i < r->nresident; i++)
        make_block(r, &r->blocks[i]);
}

static void free_threads(PtxRun *r) {
    for (uint32_t i = 0; r->blocks && i < r->nresident; i++) {
        for (uint32_t k = 0; k < r->blocks[i].nthreads; k++) {
            PtxThread *t = &r->blocks[i].threads[k];
            free(t->slots);
            free(t->slot_init);
            free(t->frames);
            free(t->local);
        }
        for (uint32_t k = 0; k < r->blocks[i].nwarps; k++)
            ptx_end_promises(r, &r->blocks[i].warps[k]);
    }
}

static bool launch_fits(PtxRun *r, const char *kernel) {
    const PtxFunc *f = r->kernel->func;
    const Launch *l = r->launch;
    uint64_t threads = (uint64_t)l->block[0] * l->block[1] * l->block[2], need = 0, max = 1;
    r->shared_bytes = r->dynamic_shared_base + l->dynamic_shared_bytes;
    for (uint32_t i = 0; i < f->nparams; i++) {
        const PtxVar *v = &r->m->vars[f->params[i]];
        uint64_t end = v->param_offset_bytes + v->size_bytes;
        need = end > need ? end : need;
    }
    for (int i = 0; i < 3; i++) {
        max *= f->maxntid[i] ? f->maxntid[i] : 1;
        if (f->reqntid[i] && f->reqntid[i] != l->block[i])
            return diag(r->d, (SrcLoc){0}, DIAG_E0513, kernel, "the block differs from .reqntid");
    }
    if (f->maxntid[0] && threads > max)
        return diag(r->d, (SrcLoc){0}, DIAG_E0513, kernel, "the block has more threads than .maxntid allows");
    if (r->shared_bytes > SIM_MAX_SHARED_BYTES)
        return diag(r->d, (SrcLoc){0}, DIAG_E0513, kernel, "more shared memory than a block can have");
    if (need > l->param_bytes)
        return diag(r->d, (SrcLoc){0}, DIAG_E0513, kernel, "the parameter block is too small");
    return true;
}

static bool prepare(PtxRun *r, const char *kernel) {
    uint32_t index = ptx_find_func(r->m, kernel);
    const char *wrong = launch_error(r->launch);
    if (!index || !r->m->funcs[index - 1].is_entry)
        return diag(r->d, (SrcLoc){0}, DIAG_E0512, kernel);
    if (wrong)
        return diag(r->d, (SrcLoc){0}, DIAG_E0513, kernel, wrong);
    if (r->m->address_bits == 32)
        return diag(r->d, (SrcLoc){0}, DIAG_E0513, kernel, "modules with 32-bit addresses are not executed");
    if (!ptx_place_variables(r->m, r->mem, r->d))
        return false;
    r->procs = ARENA_ARRAY(&r->arena, PtxProc *, r->m->nfuncs + 1);
    r->shared_offset = ARENA_ARRAY(&r->arena, uint32_t, r->m->nvars + 1);
    memset(r->shared_offset, 0xff, (r->m->nvars + 1) * sizeof *r->shared_offset);
    ptx_find_variables(r);
    return ptx_decode_all(r, index - 1) && launch_fits(r, kernel);
}

bool ptx_interp_run(const PtxModule *m, const char *kernel, const Launch *l, SimMemory *mem,
                    const PtxRunOptions *opt, PtxRunResult *res, Diags *d) {
    PtxRun r = {.m = m, .launch = l, .mem = mem, .res = res, .d = d};
    *res = (PtxRunResult){0};
    if (opt)
        r.opt = *opt;
    r.rng = r.opt.seed;
    r.steps_left = r.opt.budget ? r.opt.budget : DEFAULT_BUDGET;
    r.slow = r.opt.on_event || r.opt.report_uninitialised || r.opt.find_races || r.opt.reached;
    bool ok = prepare(&r, kernel);
    if (ok) {
        make_blocks(&r);
        ok = race_start(&r);
        if (ok)
            run_grid(&r);
        race_end(&r);
        free_threads(&r);
    }
    arena_free(&r.arena);
    return ok;
}
