/* The PTX interpreter's launch, schedule and traps (API: sim/interp/interp.h). Blocks run a few at a time; in
 * a block a thread runs for a quantum, then another one. Seed 0 takes warps and lanes in ascending order,
 * others at random.
 * SPDX-License-Identifier: MIT */
#include "base/rng.h"
#include "base/scope.h"
#include "sim/interp/run.h"
#include <stdio.h>
#include <stdlib.h>

#define DEFAULT_BUDGET 4000000000ull
#define DEFAULT_RESIDENT 16u
#define MAX_RESIDENT_THREADS 16384u
#define MAX_RESIDENT_BYTES (256ull << 20) /* of registers; one block always runs */
#define FIXED_QUANTUM 512u
#define RANDOM_QUANTUM_MAX 64u
#define WARP_TURN 32768u   /* thread instructions of a warp before the next one's turn, fixed schedule */
#define POLL_TICKS 100000u /* some milliseconds */
#define MAX_SPINS 32768u
#define ALL_LOOKS 1024u /* executions of a statement whose operands are all looked at */
#define SOME_LOOKS 64u

/* ---- traps ---- */

static void fill_trap(PtxRun *run, const PtxThread *ptx_thread, const PtxCode *ptx_code, SimTrapKind kind,
                      const char *text, SimTrap *trap) {
    const PtxFunc *kernel = run->kernel->func;
    *trap = (SimTrap){.kind = kind};
    snprintf(trap->kernel, sizeof trap->kernel, "%s", str_text(&run->module->strings, kernel->name));
    for (int i = 0; i < 3; i++) {
        trap->block[i] = ptx_thread->warp->block->ctaid[i];
        trap->thread[i] = ptx_thread->tid[i];
    }
    if (ptx_code && ptx_code->insn) {
        trap->pc = (uint64_t)(ptx_code - ptx_code->proc->code);
        trap->ptx_line = ptx_line(run->module, ptx_code->insn);
        ptx_source(run->module, ptx_code->proc->func, ptx_code->insn, trap->source, sizeof trap->source);
        snprintf(trap->text, sizeof trap->text, "%s%s%s%s", ptx_op_name((PtxOp)ptx_code->insn->op),
                 str_text(&run->module->strings, ptx_code->insn->mods_text), text ? ", " : "",
                 text ? text : "");
    } else if (text) {
        snprintf(trap->text, sizeof trap->text, "%s", text);
    }
}

PtxStep interp_trap(PtxRun *run, const PtxThread *t, const PtxCode *c, SimTrapKind kind, const char *text) {
    if (!run->trapped) {
        run->trapped = true;
        fill_trap(run, t, c, kind, text, &run->res->trap);
    }
    return STEP_STOP;
}

PtxStep interp_trap_at(PtxRun *run, const PtxThread *t, const PtxCode *c, SimTrapKind kind, uint64_t address,
                       const char *text) {
    bool first = !run->trapped;
    interp_trap(run, t, c, kind, text);
    if (first) {
        run->res->trap.address = address;
        run->res->trap.has_address = true;
    }
    return STEP_STOP;
}

void interp_warn(PtxRun *run, const PtxThread *t, const PtxCode *code, SimTrapKind kind, const char *text) {
    if (*code->warned >> kind & 1)
        return;
    *code->warned |= 1u << kind;
    SimTrap w;
    fill_trap(run, t, code, kind, text, &w);
    if (run->res->nwarnings++ == 0)
        run->res->first_warning = w;
    if (run->opt.on_warning)
        run->opt.on_warning(run->opt.user, &w);
}

/* ---- running one thread ---- */

static bool guard_holds(const PtxThread *thread, const PtxCode *code) {
    return !code->guard || (thread->regs[code->guard] & 1) != code->guard_not;
}

/* What execution came to and what it saw there. */
static inline void mark(PtxRun *run, const PtxThread *thread, const PtxCode *code, bool runs) {
    const PtxProc *proc = thread->proc;
    size_t index = (size_t)(code - proc->code);
    if (!code->insn)
        return;
    if (proc->reached)
        proc->reached[index] = 1;
    if (!proc->values || !(code->values & ~proc->values[index]))
        return;
    uint32_t looks = proc->looks[index]++; /* some classes are never shown: then look now and then */
    if (looks < ALL_LOOKS || looks % SOME_LOOKS == 0)
        proc->values[index] |= code->values & ((runs ? interp_values_seen(run, thread, code) : 0) |
                                               (!code->guard ? 0
                                                : runs       ? 1u << PTX_VALUE_TRUE
                                                             : 1u << PTX_VALUE_FALSE));
}

static inline uint32_t quantum_of(PtxRun *run, PtxThread *thread, uint32_t quantum, bool marks) {
    uint32_t n = 0, skipped = 0;
    while (n < quantum) {
        const PtxCode *code = thread->pc++;
        n++;
        if (marks)
            mark(run, thread, code, guard_holds(thread, code));
        if (code->guard && (thread->regs[code->guard] & 1) == code->guard_not) {
            skipped++;
            if (code->watch)
                interp_watch(run, thread, code, false);
            continue;
        }
        if (code->exec(run, thread, code) != STEP_GO)
            break;
    }
    run->res->thread_insns += n - skipped;
    run->res->skipped_insns += skipped;
    return n;
}

static uint32_t run_quantum(PtxRun *run, PtxThread *thread, uint32_t quantum) {
    return run->opt.reached || run->opt.values ? quantum_of(run, thread, quantum, true)
                                               : quantum_of(run, thread, quantum, false);
}

/* The event of a collective or barrier that has given its value since. */
static void report_late(PtxRun *run, PtxThread *thread) {
    const PtxCode *c = thread->late;
    thread->late = NULL;
    run->place.bytes = 0;
    if (c)
        interp_report_event(run, thread, c, true, thread->proc);
}

/* As run_quantum, with events and checks. */
static uint32_t run_quantum_slow(PtxRun *ptx_run, PtxThread *thread, uint32_t quantum) {
    for (uint32_t n = 1;; n++) {
        report_late(ptx_run, thread);
        const PtxCode *ptx_code = thread->pc++;
        const PtxProc *proc = thread->proc;
        bool run = guard_holds(thread, ptx_code);
        mark(ptx_run, thread, ptx_code, run);
        ptx_run->place.bytes = 0;
        bool open = interp_check_before(ptx_run, thread, ptx_code, run);
        PtxStep step = run ? ptx_code->exec(ptx_run, thread, ptx_code) : STEP_GO;
        if (open)
            interp_unwritten_result(ptx_run, proc, thread, ptx_code);
        *(run ? &ptx_run->res->thread_insns : &ptx_run->res->skipped_insns) += 1;
        if (run && ptx_code->ndst && thread->state != TS_RUN && thread->state != TS_EXITED)
            thread->late = ptx_code;
        else
            interp_report_event(ptx_run, thread, ptx_code, run, proc);
        if (step != STEP_GO || n >= quantum)
            return n;
    }
}

void interp_exit_thread(PtxRun *r, PtxThread *thread) {
    (void)interp_finish_copies(r, thread); /* a trap is the launch's */
    PtxWarp *ptx_warp = thread->warp;
    ptx_warp->alive &= ~(1u << thread->lane);
    interp_block_thread(thread, TS_EXITED, NULL);
    ptx_warp->block->nalive--;
    interp_cluster_ended(r, thread);
    interp_lane_ended(r, ptx_warp);
}

/* ---- scheduling ---- */

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
        PtxThread *thread = &b->threads[i];
        if (thread->state != TS_EXITED) {
            interp_trap(r, thread, thread->wait, TRAP_DEADLOCK, "this thread waits for ever");
            return;
        }
    }
}

/* Run thread t for a quantum; returns the instructions used. */
static uint32_t run_thread(PtxRun *run, PtxThread *thread, uint32_t quantum) {
    if (run->steps_left == 0) {
        interp_trap(run, thread, thread->pc, TRAP_BUDGET, NULL);
        return 0;
    }
    if (quantum > run->steps_left)
        quantum = (uint32_t)run->steps_left;
    uint32_t n = run->slow ? run_quantum_slow(run, thread, quantum) : run_quantum(run, thread, quantum);
    run->steps_left -= n;
    run->ticks += n;
    thread->warp->spins += n == quantum ? n : 0;
    if (thread->warp->spins > MAX_SPINS)
        interp_release_active(thread->warp);
    return n;
}

/* Random schedule: one thread of the block. False if none can run. */
static bool step_random(PtxRun *r, PtxBlock *b) {
    PtxThread *t = next_runnable(b, (uint32_t)(rng_next(&r->rng) % b->nthreads));
    if (t)
        run_thread(r, t, 1 + (uint32_t)(rng_next(&r->rng) % RANDOM_QUANTUM_MAX));
    return t != NULL;
}

/* The warp whose turn is number k of those of a block. */
static uint32_t warp_in_turn(const PtxRun *run, const PtxBlock *b, uint32_t k) {
    return run->opt.descending ? b->nwarps - 1 - k : k;
}

static uint32_t turn_length(const PtxRun *run) { return run->opt.turn ? run->opt.turn : WARP_TURN; }

static bool is_held(const PtxRun *run, uint32_t warp) {
    return run->opt.held == warp + 1 && run->ticks < run->opt.held_for;
}

/* One statement of the warp that is held, for the others wait. */
static bool step_held(PtxRun *run, PtxBlock *b) {
    uint32_t warp = run->opt.held - 1;
    if (warp >= b->nwarps || !b->runnable[warp])
        return false;
    run_thread(run, &b->warps[warp].threads[__builtin_ctz(b->runnable[warp])], 1);
    return true;
}

/* Fixed schedule: each warp in turn, its lanes in ascending order again and again, until none can run or the
 * turn is over. So a warp's lanes do an atomic in ascending order, before the next warp does: the order of a
 * machine that runs warps in turn. False if no thread of the block can run. */
static bool step_fixed(PtxRun *run, PtxBlock *b) {
    bool ran = false;
    for (uint32_t k = 0; k < b->nwarps && !run->trapped; k++) {
        uint32_t from = 0, used = 0, all, i = warp_in_turn(run, b, k);
        while (!is_held(run, i) && (all = b->runnable[i]) != 0 && used < turn_length(run) && !run->trapped) {
            uint32_t above = all & (UINT32_MAX << from);
            uint32_t lane = (uint32_t)__builtin_ctz(above ? above : all);
            used += run_thread(run, &b->warps[i].threads[lane], FIXED_QUANTUM);
            from = (lane + 1) % 32;
            ran = true;
        }
    }
    return ran || step_held(run, b);
}

/* The lanes of a warp that go on next in lockstep: those at the lowest place of the innermost function. */
static uint32_t lowest_lanes(const PtxWarp *warp, uint32_t lanes) {
    const PtxThread *lowest = NULL;
    uint32_t chosen = 0;
    for (uint32_t left = lanes; left; left &= left - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(left);
        const PtxThread *thread = &warp->threads[lane];
        bool same = lowest && thread->nframes == lowest->nframes && thread->pc == lowest->pc;
        bool lower = !lowest || thread->nframes > lowest->nframes ||
                     (thread->nframes == lowest->nframes && (uintptr_t)thread->pc < (uintptr_t)lowest->pc);
        if (lower)
            lowest = thread, chosen = 0;
        if (lower || same)
            chosen |= 1u << lane;
    }
    return chosen;
}

/* Lockstep: each warp in turn, statement by statement, as a machine does whose lanes execute together: every
 * lane has read before the first one stores. False if no thread of the block can run. */
static bool step_lockstep(PtxRun *run, PtxBlock *b) {
    bool ran = false;
    for (uint32_t k = 0; k < b->nwarps && !run->trapped; k++) {
        uint32_t i = warp_in_turn(run, b, k);
        for (uint32_t used = 0; b->runnable[i] && used < turn_length(run) && !run->trapped; ran = true) {
            uint32_t lanes = lowest_lanes(&b->warps[i], b->runnable[i]);
            for (; lanes && !run->trapped; lanes &= lanes - 1)
                used += run_thread(run, &b->warps[i].threads[__builtin_ctz(lanes)], 1);
        }
    }
    return ran;
}

static bool step_block(PtxRun *run, PtxBlock *block) {
    return run->opt.seed       ? step_random(run, block)
           : run->opt.lockstep ? step_lockstep(run, block)
                               : step_fixed(run, block);
}

static void start_block(PtxRun *run, PtxBlock *b, uint64_t number) {
    b->rank = sim_block_of(run->launch, run->cluster, number, b->ctaid);
    b->first = b - b->rank;
    b->phase = b->arrivals = 0;
    interp_race_block_start(run, b);
    memset(b->bars, 0, sizeof b->bars);
    interp_unwritten_bytes(run, b->shared, run->shared_bytes + 16);
    if (b->shared_written)
        memset(b->shared_written, 0, interp_all_shared(run) / 8 + 8);
    memset(b->shared + run->lent_shared, 0, LENT_SHARED_BYTES);
    if (b->shared_written)
        simmem_mark_written(&(SimAlloc){.written = b->shared_written}, run->lent_shared, LENT_SHARED_BYTES);
    b->nalive = b->nthreads;
    b->live = true;
    for (uint32_t i = 0; i < b->nwarps; i++) {
        PtxWarp *warp = &b->warps[i];
        warp->alive = warp->nlanes == 32 ? UINT32_MAX : (1u << warp->nlanes) - 1;
        warp->spins = warp->at_collective = warp->at_barrier = warp->products = 0;
        interp_end_promises(run, warp);
        b->runnable[i] = warp->alive;
    }
    for (uint32_t i = 0; i < b->nthreads && !run->trapped; i++) {
        PtxThread *thread = &b->threads[i];
        thread->state = TS_RUN;
        thread->cc = thread->arrived = false;
        thread->path = thread->nbarriers = 0;
        thread->last_barrier = NULL;
        thread->late = NULL;
        thread->nframes = thread->nslots = 0;
        thread->copies.n = thread->groups = thread->nactive = 0;
        thread->pc = NULL;
        interp_enter(run, thread, run->kernel, NULL);
    }
}

static bool cluster_ended(const PtxRun *run, const PtxBlock *block) {
    for (uint32_t i = 0; i < run->cluster_blocks; i++)
        if (block->first[i].live)
            return false;
    return true;
}

/* Run all blocks; new ones take the place of those that finished. */
static void run_grid(PtxRun *run) {
    const Launch *l = run->launch;
    uint64_t total = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2], next = 0;
    uint32_t live = 0, turn = 0;
    if (total >
        run->steps_left / run->blocks[0].nthreads) { /* each thread executes an instruction at least */
        char text[100];
        snprintf(text, sizeof text, "%llu blocks of %u threads", (unsigned long long)total,
                 run->blocks[0].nthreads);
        interp_trap(run, run->blocks[0].threads, NULL, TRAP_BUDGET, text);
        return;
    }
    for (; live < run->nresident && next < total && !run->trapped; live++)
        start_block(run, &run->blocks[live], next++);

    while (live && !run->trapped) {
        PtxBlock *b =
            &run->blocks[run->opt.seed ? rng_next(&run->rng) % run->nresident : turn++ % run->nresident];
        if (!b->live)
            continue;
        bool ran = step_block(run, b);
        if (run->ticks >= run->next_poll) {
            run->next_poll = run->ticks + POLL_TICKS;
            scope_poll();
        }
        if (b->nalive == 0) {
            for (uint32_t i = 0; i < b->nwarps; i++)
                interp_end_promises(run, &b->warps[i]);
            live--;
            b->live = false;
            bool room = cluster_ended(run, b);
            for (uint32_t k = 0; room && k < run->cluster_blocks && next < total && !run->trapped; k++) {
                start_block(run, &b->first[k], next++);
                live++;
            }
        } else if (!ran && interp_cluster_stuck(b)) {
            deadlock(run, b);
        }
    }
}

/* ---- set-up ---- */

static bool make_block(PtxRun *ptx_run, PtxBlock *b) {
    const uint32_t *dim = ptx_run->launch->block;
    b->run = ptx_run;
    b->nthreads = dim[0] * dim[1] * dim[2];
    b->nwarps = (b->nthreads + 31) / 32;
    b->threads = ARENA_ARRAY(&ptx_run->arena, PtxThread, b->nthreads);
    b->warps = ARENA_ARRAY(&ptx_run->arena, PtxWarp, b->nwarps);
    b->shared = ARENA_ARRAY(&ptx_run->arena, uint8_t, interp_all_shared(ptx_run));
    if (ptx_run->opt.report_uninitialised)
        b->shared_written = ARENA_ARRAY(&ptx_run->arena, uint8_t, interp_all_shared(ptx_run) / 8 + 8);
    for (uint32_t i = 0; i < b->nwarps; i++) {
        uint32_t left = b->nthreads - i * 32;
        b->warps[i] = (PtxWarp){
            .block = b, .threads = b->threads + (size_t)i * 32, .nlanes = left < 32 ? left : 32, .index = i};
    }
    for (uint32_t i = 0; i < b->nthreads; i++) {
        PtxThread *thread = &b->threads[i];
        thread->warp = &b->warps[i / 32];
        thread->lane = (uint8_t)(i % 32);
        thread->linear = i;
        thread->tid[0] = i % dim[0];
        thread->tid[1] = i / dim[0] % dim[1];
        thread->tid[2] = i / dim[0] / dim[1];
    }
    return true;
}

static void make_blocks(PtxRun *run) {
    const Launch *l = run->launch;
    uint64_t total = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2];
    uint32_t threads = l->block[0] * l->block[1] * l->block[2];
    uint64_t n = run->opt.resident_blocks ? run->opt.resident_blocks : DEFAULT_RESIDENT;
    if (n > total)
        n = total;
    uint64_t bytes = (uint64_t)threads * run->kernel->nslots * 8, most = MAX_RESIDENT_THREADS / threads;
    if (most > 1 + MAX_RESIDENT_BYTES / bytes)
        most = 1 + MAX_RESIDENT_BYTES / bytes;
    if (n > most)
        n = most;
    if (l->cooperative)
        n = total;
    n -= n % run->cluster_blocks;
    if (!n)
        n = run->cluster_blocks;
    run->nresident = (uint32_t)n;
    run->blocks = ARENA_ARRAY(&run->arena, PtxBlock, n);
    for (uint32_t i = 0; i < run->nresident; i++)
        make_block(run, &run->blocks[i]);
}

static void end_blocks(PtxRun *run) {
    for (uint32_t i = 0; run->blocks && i < run->nresident; i++)
        for (uint32_t k = 0; k < run->blocks[i].nwarps; k++)
            interp_end_promises(run, &run->blocks[i].warps[k]);
}

static bool launch_fits(PtxRun *run, const char *kernel) {
    const PtxFunc *f = run->kernel->func;
    const Launch *l = run->launch;
    uint64_t threads = (uint64_t)l->block[0] * l->block[1] * l->block[2], need = 0, max = 1;
    run->shared_bytes = run->dynamic_shared_base + l->dynamic_shared_bytes;
    run->lent_shared = sim_lent_shared(0, run->shared_bytes);
    for (uint32_t i = 0; i < f->nparams; i++) {
        const PtxVar *var = &run->module->vars[f->params[i]];
        uint64_t end = var->param_offset_bytes + var->size_bytes;
        need = end > need ? end : need;
    }
    for (int i = 0; i < 3; i++) {
        max *= f->maxntid[i] ? f->maxntid[i] : 1;
        if (f->reqntid[i] && f->reqntid[i] != l->block[i])
            return diag(run->d, (SrcLoc){0}, DIAG_E0513, kernel, "the block differs from .reqntid");
    }
    if (f->maxntid[0] && threads > max)
        return diag(run->d, (SrcLoc){0}, DIAG_E0513, kernel,
                    "the block has more threads than .maxntid allows");
    if (run->shared_bytes > SIM_MAX_SHARED_BYTES + run->shared_gaps)
        return diag(run->d, (SrcLoc){0}, DIAG_E0513, kernel, "more shared memory than a block can have");
    if (need > l->param_bytes)
        return diag(run->d, (SrcLoc){0}, DIAG_E0513, kernel, "the parameter block is too small");
    return true;
}

static bool prepare(PtxRun *run, const char *kernel) {
    uint32_t index = ptx_find_func(run->module, kernel);
    const char *wrong = sim_launch_error(run->launch);
    if (!index || !run->module->funcs[index - 1].is_entry)
        return diag(run->d, (SrcLoc){0}, DIAG_E0512, kernel);
    if (wrong)
        return diag(run->d, (SrcLoc){0}, DIAG_E0513, kernel, wrong);
    if (run->module->address_bits == 32)
        return diag(run->d, (SrcLoc){0}, DIAG_E0513, kernel,
                    "modules with 32-bit addresses are not executed");
    if (!interp_place_variables(run->module, run->mem, run->d))
        return false;
    if (run->launch->cooperative && !(run->workspace = simmem_make_workspace(run->mem)))
        return diag(run->d, (SrcLoc){0}, DIAG_E0515, SIM_WORKSPACE_NAME, "no memory for it");
    run->procs = ARENA_ARRAY(&run->arena, PtxProc *, run->module->nfuncs + 1);
    run->shared_offset = ARENA_ARRAY(&run->arena, uint32_t, run->module->nvars + 1);
    memset(run->shared_offset, 0xff, (run->module->nvars + 1) * sizeof *run->shared_offset);
    interp_find_variables(run);
    wrong = sim_launch_clusters(run->launch, run->module->funcs[index - 1].reqnctapercluster, run->cluster);
    if (wrong)
        return diag(run->d, (SrcLoc){0}, DIAG_E0513, kernel, wrong);
    run->has_clusters = run->launch->cluster[0] || run->module->funcs[index - 1].reqnctapercluster[0];
    run->cluster_blocks = run->cluster[0] * run->cluster[1] * run->cluster[2];
    return interp_decode_all(run, index - 1) && launch_fits(run, kernel);
}

bool interp_run(const PtxModule *m, const char *kernel, const Launch *l, SimMemory *mem,
                const PtxRunOptions *opt, PtxRunResult *res, Diags *d) {
    PtxRun r = {.module = m, .launch = l, .mem = mem, .res = res, .d = d};
    *res = (PtxRunResult){0};
    if (opt)
        r.opt = *opt;
    r.rng = r.opt.seed;
    r.fill = r.opt.fill;
    r.shared_static = r.shared_gaps = r.opt.moved_bytes;
    r.steps_left = r.opt.budget ? r.opt.budget : DEFAULT_BUDGET;
    r.slow = r.opt.on_event || r.opt.report_uninitialised || r.opt.report_open || r.opt.find_races;
    bool ok = prepare(&r, kernel);
    if (ok) {
        make_blocks(&r);
        r.opt.find_races &= r.cluster_blocks == 1; /* it knows of no order between blocks */
        ok = interp_race_start(&r);
        if (ok)
            run_grid(&r);
        interp_race_end(&r);
        end_blocks(&r);
    }
    arena_free(&r.arena);
    return ok;
}
