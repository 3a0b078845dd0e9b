/* The compiling engine: compiles regions that are hot, and keeps them for later launches of the same code.
 * SPDX-License-Identifier: MIT */
#include "base/scope.h"
#include "sim/jit/body.h"
#include "sim/jit/compiler.h"
#include "sim/jit/stencil.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define XXH_STATIC_LINKING_ONLY
#include <xxhash.h>

/* Instructions in a loop before it is thought of: 10 ms of the interpreter's. An instruction takes about a
 * millisecond to compile and is then 2 ns faster, so it must have been executed so often. Where another
 * thread compiles, how many more are executed before it is asked again. */
enum { DEFAULT_AFTER = 2000000, EXECUTIONS = 500000, ASK_AGAIN = 20000, MOST_HEAT = UINT32_MAX / 2 };
/* Instructions in a loop before code on disk is looked for: that takes as long as 50,000 of the
 * interpreter's.
 */
enum { LOOK_AFTER = 100000 };
/* The same before stencils are copied, and how often each instruction of the region is executed before: what
 * that takes, about a microsecond an instruction. A loop is compact; straight code that is come to from
 * elsewhere may be any part of one that is unrolled to thousands of instructions, each of which takes up to
 * 450 bytes of stencils, and what the host's second cache does not hold is slower than the handlers: so
 * there is a limit to all that is not loops. Over stencils code of LLVM gains less than over the interpreter,
 * tenths of a nanosecond an instruction: where compiling takes time from them, they must have run for five
 * times as long as opening libLLVM, 20 ms, and compiling take, so that it is never much that is lost; and
 * nothing where a warp comes to a few instructions only once, or for a few each time. With an option that
 * says after how many instructions to compile there are none before it. */
enum { COPY_AFTER = 4000, COPY_EXECUTIONS = 125, MOST_STRAIGHT_BYTES = 256 << 10 };
enum { BUSY_FACTOR = 10, BUSY_LEAST = 100000000, SHORT_REGION = 64 };
/* What is executed of such a region counts in later runs, too, where code is kept on disk: a launch that is
 * run again and again is compiled once, when all of its runs have come to a third as much, for there will be
 * more of them. A run of less than a few milliseconds leaves nothing. */
enum { AGAIN_SHARE = 3, LEAST_LEFT = 5000000 };
/* Where stencils have 32 vectors, LLVM's code is the faster one in regions of few rows, which it keeps in
 * them from block to block, and few calls and accesses to memory (measured: 1.0 to 1.5 times; 0.7 with 85
 * rows, 0.8 where half of the instructions access memory). */
enum { MOST_ROWS_KEPT = 48, LEAST_FOR_AN_ACCESS = 4 };

enum { QUICK_INSTS = 64 };
enum { COPIED = 2, SHARED = 4 }; /* in a key: no code of LLVM's, quick or not; Region.shared */
typedef struct {
    XXH128_hash_t key;
    Image image;
} Compiled;

typedef struct { /* a region of stencils that LLVM may be asked for */
    XXH128_hash_t key;
    const JitSlot *slot;
    unsigned kind;
    uint64_t before; /* executed by earlier runs */
} Left;

typedef struct { /* an instruction of a region that the slots say something of */
    uint32_t pc;
    uint64_t word[2]; /* as it was then */
} KnownWord;

typedef struct { /* what is known of a binary's places, from one launch to the next */
    const Binary *binary;
    const Target *target;
    const Level *level;
    uint32_t ncode;
    const Run *run; /* the last one that attached */
    JitSlot *slots;
    KnownWord *words; /* each once */
    uint32_t nwords, room;
    Dec **ahead;           /* of `run`, as JitHost's */
    JitPlaces own;         /* of `run` */
    size_t straight_bytes; /* of stencils of regions without a loop */
} Known;

typedef struct { /* the region that is being compiled */
    XXH128_hash_t key;
    RegionBlock blocks[REGION_MAX_BLOCKS];
    uint32_t nblocks, ninsts;
    unsigned kind;
    JitSlot *slots;
    uint64_t attached; /* those of this one */
} Pending;

struct MachineJit {
    MachineJitStats stats;
    uint32_t after, executions;
    bool quick;
    MachineStencils stencils;
    bool at_once;
    Compiler *compiler;
    Pending pending;
    Compiled *compiled;
    uint32_t ncompiled;
    Known **known;
    uint32_t nknown;
    Left *left; /* to be kept for later runs */
    uint32_t nleft;
    uint64_t attached; /* counts runs for which slots were cleared */
    MachineJit *owner; /* of a member: opens libLLVM and has what it makes, under its lock */
    pthread_mutex_t lock;
    MachineJit **members; /* engines of the threads of a crew */
    uint32_t nmembers;
    MachineJitStats all; /* with theirs */
};

/* Blocks of an engine live as long as it does, whatever becomes of the work in which they were allocated. */
static void *kept(void *block) {
    scope_unguard(block);
    return block;
}

MachineJit *machine_jit_open(const MachineJitOptions *options) {
    MachineJit *engine = mem_zeroed(1, sizeof *engine);
    engine->quick = options->quick;
    pthread_mutex_init(&engine->lock, NULL);
    engine->stencils = options->after && options->stencils == MACHINE_STENCILS_FIRST ? MACHINE_STENCILS_NEVER
                                                                                     : options->stencils;
    engine->at_once = options->after != 0;
    engine->after = options->after ? options->after : DEFAULT_AFTER;
    engine->executions = options->after ? 0 : EXECUTIONS;
    engine->compiler = compiler_new(!options->background ? COMPILER_WAITS
                                    : options->after     ? COMPILER_BACKGROUND
                                                         : COMPILER_IDLE,
                                    options->quick, options->cache);
    return engine;
}

MachineJit *jit_member(MachineJit *engine, uint32_t number) {
    while (engine->nmembers <= number) {
        MachineJit *member = kept(machine_jit_open(&(MachineJitOptions){
            .after = engine->at_once ? engine->after : 0, .stencils = engine->stencils}));
        member->owner = engine;
        member->quick = engine->quick;
        engine->members = kept(mem_resize(engine->members, (engine->nmembers + 1) * sizeof member));
        engine->members[engine->nmembers++] = member;
    }
    return engine->members[number];
}

const MachineJitStats *machine_jit_stats(MachineJit *engine) {
    if (compiler_state(engine->compiler) == COMPILER_FAILED)
        snprintf(engine->stats.failed, sizeof engine->stats.failed, "%s", compiler_why(engine->compiler));
    if (compiler_state(engine->compiler) != COMPILER_BUSY)
        engine->stats.seconds = compiler_seconds(engine->compiler);
    engine->all = engine->stats;
    for (uint32_t i = 0; i < engine->nmembers; i++) {
        const MachineJitStats *stats = &engine->members[i]->stats;
        engine->all.copied += stats->copied;
        engine->all.instructions += stats->instructions;
        engine->all.executed += stats->executed;
        if (stats->failed[0])
            memcpy(engine->all.failed, stats->failed, sizeof stats->failed);
    }
    return &engine->all;
}

void machine_jit_wait(MachineJit *engine) { compiler_wait(engine->compiler); }

/* What later runs are to know. */
static void leave_heat(const MachineJit *engine) {
    for (uint32_t i = 0; i < engine->nleft; i++) {
        const Left *left = &engine->left[i];
        bool compiled = left->slot->code[left->kind] && !left->slot->copied[left->kind];
        if (!compiled && left->slot->heat[left->kind] >= LEAST_LEFT)
            jit_cache_keep_heat(compiler_cache(engine->compiler), left->key,
                                left->before + left->slot->heat[left->kind]);
    }
}

static void free_known(Known *known) {
    mem_free(known->slots);
    mem_free(known->ahead);
    mem_free(known->words);
    mem_free(known->own.at);
    mem_free(known);
}

bool machine_jit_close(MachineJit *engine) {
    if (!engine)
        return true;
    leave_heat(engine);
    bool done = compiler_free(engine->compiler);
    for (uint32_t i = 0; i < engine->nmembers; i++)
        machine_jit_close(engine->members[i]);
    mem_free(engine->members);
    for (uint32_t i = 0; i < engine->nknown; i++)
        free_known(engine->known[i]);
    for (uint32_t i = 0; i < engine->ncompiled; i++)
        jit_image_unmap(&engine->compiled[i].image);
    mem_free(engine->known);
    mem_free(engine->left);
    mem_free(engine->compiled);
    pthread_mutex_destroy(&engine->lock);
    mem_free(engine);
    return done;
}

/* All that the code depends on: the instructions, and which of them the region has. */
static XXH128_hash_t region_key(const Run *run, const Region *region, unsigned kind, unsigned how) {
    uint32_t what[3] = {kind, how | (region->shared && how != COPIED ? SHARED : 0),
                        run->ncode}; /* targets behind the last instruction are bad */
    XXH3_state_t state;
    XXH3_128bits_reset(&state);
    XXH3_128bits_update(&state, run->level->name, strlen(run->level->name));
    XXH3_128bits_update(&state, isa_target_info(run->bin->target)->name,
                        strlen(isa_target_info(run->bin->target)->name));
    XXH3_128bits_update(&state, what, sizeof what);
    for (uint32_t i = 0; i < region->nblocks; i++) {
        const RegionBlock *block = &region->blocks[i];
        uint32_t head[3] = {block->pc, block->n, block->entry};
        XXH3_128bits_update(&state, head, sizeof head);
        XXH3_128bits_update(&state, run->code[block->pc], (size_t)block->n * sizeof *run->code);
    }
    return XXH3_128bits_digest(&state);
}

static const Image *find_image(const MachineJit *engine, XXH128_hash_t key) {
    for (uint32_t i = 0; i < engine->ncompiled; i++)
        if (XXH128_isEqual(engine->compiled[i].key, key))
            return &engine->compiled[i].image;
    return NULL;
}
static JitCode *find_code(const MachineJit *engine, XXH128_hash_t key) {
    const Image *image = find_image(engine, key);
    return image ? image->code : NULL;
}

/* asks: when to think of compiling what is copied; 0: it is the best there is. */
static void enter_code(const Run *run, const Pending *pending, JitCode *code, uint32_t asks) {
    for (uint32_t i = 0; i < pending->nblocks; i++) {
        const RegionBlock *block = &pending->blocks[i];
        JitSlot *slot = &pending->slots[block->pc];
        if (block->entry && (!slot->code[pending->kind] || slot->copied[pending->kind])) {
            slot->code[pending->kind] = code;
            slot->copied[pending->kind] = asks != 0;
            slot->wanted[pending->kind] = asks;
            slot->hopeless[pending->kind] = false;
            slot->length[pending->kind] = 0;
        }
        JitSlot *last = &pending->slots[block->pc + block->n - 1];
        if (last != slot && !last->code[pending->kind])
            last->hopeless[pending->kind] = true; /* a branch where lanes part is left to the interpreter */
        if (block->n > slot->block) {
            slot->block = (uint16_t)block->n;
            run->prog[block->pc].bound = false;
        }
    }
}

/* The run that the instruction is in ends with it. */
static void end_run(Run *run, uint32_t pc) {
    Dec *dec = &run->prog[pc];
    dec->last = true;
    dec_go(dec + 1, machine_run_ends);
    for (uint32_t n = 1; n <= pc + 1 && dec[1 - (int64_t)n].run > n; n++)
        dec[1 - (int64_t)n].run = (uint8_t)n;
}

void jit_bind_block(Run *run, uint32_t pc) {
    JitSlot *slot = &run->jit->slots[pc];
    bool bound = true;
    for (uint32_t i = 0; i < slot->block; i++) {
        bound &= bind_now(run, pc + i);
        if (slot[i].calls_handler)
            end_run(run, pc + i);
    }
    run->prog[pc].bound = bound;
}

static void add_compiled(MachineJit *engine, XXH128_hash_t key, Image image) {
    engine->compiled = kept(mem_resize(engine->compiled, (engine->ncompiled + 1) * sizeof *engine->compiled));
    engine->compiled[engine->ncompiled++] = (Compiled){key, image};
}

/* Keep what has been compiled, if anything has. A member looks for it itself. */
static void take_code(MachineJit *engine, const Run *run) {
    Image image;
    if (!compiler_take(engine->compiler, &image))
        return;
    add_compiled(engine, engine->pending.key, image);
    engine->stats.regions++;
    engine->stats.instructions += engine->pending.ninsts;
    if (engine->pending.slots && engine->pending.attached == engine->attached)
        enter_code(run, &engine->pending, image.code, 0);
}

/* Of this engine, or on disk. */
static JitCode *find_any_code(MachineJit *engine, XXH128_hash_t key) {
    JitCode *code = find_code(engine, key);
    Image image;
    if (code || !compiler_find(engine->compiler, key, &image))
        return code;
    add_compiled(engine, key, image);
    engine->stats.found++;
    return image.code;
}

/* What is known of the binary's places stays from one launch to the next. */
static Known *known_of(MachineJit *engine, const Run *run) {
    for (uint32_t i = 0; i < engine->nknown; i++) {
        Known *known = engine->known[i];
        if (known->binary == run->bin && known->target == run->bin->target && known->level == run->level &&
            known->ncode == run->ncode)
            return known;
    }
    engine->known = kept(mem_resize(engine->known, (engine->nknown + 1) * sizeof *engine->known));
    JitSlot *slots = mem_zeroed(run->ncode + 1u, sizeof *slots);
    Dec **ahead = mem_zeroed(run->ncode + 1u, sizeof(Dec *));
    Known *known = mem_zeroed(1, sizeof *known);
    *known = (Known){.binary = run->bin,
                     .target = run->bin->target,
                     .level = run->level,
                     .ncode = run->ncode,
                     .slots = kept(slots),
                     .ahead = kept(ahead)};
    engine->known[engine->nknown++] = kept(known);
    return known;
}

void jit_note_place(Jit *jit, uint32_t pc) {
    JitPlaces *places = jit->own;
    if (places->n == places->room) {
        uint32_t room = places->room ? 2 * places->room : 64;
        places->at = kept(mem_resize(places->at, room * sizeof *places->at));
        places->room = room;
    }
    places->at[places->n++] = pc;
}

/* What code depends on, once for each instruction. */
static void note_word(MachineJit *engine, const Run *run, uint32_t pc) {
    Known *known = known_of(engine, run);
    if (known->slots[pc].known)
        return;
    if (known->nwords == known->room) {
        uint32_t room = known->room ? 2 * known->room : 64;
        known->words = kept(mem_resize(known->words, room * sizeof *known->words));
        known->room = room;
    }
    known->words[known->nwords++] = (KnownWord){pc, {run->code[pc][0], run->code[pc][1]}};
    known->slots[pc].known = true;
}

static void set_pending(Pending *pending, const Run *run, const Region *region, unsigned kind) {
    const Jit *jit = run->jit;
    *pending = (Pending){
        .ninsts = region->ninsts, .kind = kind, .slots = jit->slots, .attached = jit->engine->attached};
    for (uint32_t i = 0; i < region->nblocks; i++)
        for (uint32_t k = 0; k < region->blocks[i].n; k++) {
            uint32_t pc = region->blocks[i].pc + k;
            const Dec *dec = region_known(run, pc);
            note_word(jit->engine, run, pc);
            jit->slots[pc].reads_bank |= region_reads_bank(dec);
            jit->slots[pc].calls_handler |= jit->engine->stencils && dec->chains &&
                                            (dec->inner_full || region_kind(run, pc) == RI_HANDLER);
        }
    memcpy(pending->blocks, region->blocks, region->nblocks * sizeof *region->blocks);
    pending->nblocks = region->nblocks;
}

/* Ask again when `heat` is reached. */
static void ask_at(JitSlot *slot, unsigned kind, uint64_t heat) {
    slot->wanted[kind] = (uint32_t)(heat < MOST_HEAT ? heat : MOST_HEAT);
    slot->hopeless[kind] = false;
}

/* Heat at which code is looked for. */
static uint32_t asks_after(const MachineJit *engine) {
    return !engine->at_once && compiler_cache(engine->compiler) ? LOOK_AFTER : engine->after;
}

/* Code of the region made of stencils; NULL: the host has no memory for it. */
static const Image *copied_image(MachineJit *engine, const Run *run, const Region *region,
                                 XXH128_hash_t key) {
    ImageBytes bytes;
    Image image;
    const Image *found = find_image(engine, key);
    if (found)
        return found;
    stencil_region(stencil_set(run->level->name), run, region, &bytes);
    bool good = jit_image_map(&bytes, &image);
    mem_free(bytes.bytes);
    if (!good)
        return NULL;
    add_compiled(engine, key, image);
    engine->stats.copied++;
    engine->stats.instructions += region->ninsts;
    return find_image(engine, key);
}

/* Quick code, which is for tests, is of small regions: they have less that is never executed. */
static bool find_region(const MachineJit *engine, Run *run, uint32_t pc, unsigned kind, RegionRest without,
                        Region *out) {
    return region_find(run, pc, kind, engine->at_once ? WITHOUT_CODE : without,
                       engine->quick ? QUICK_INSTS : REGION_MAX_INSTS, out);
}

/* Are stencils of the region wanted now? Later: asked again then. */
static bool pays_to_copy(const MachineJit *engine, const Known *known, JitSlot *slot, const Region *region) {
    uint32_t pays = region->ninsts * COPY_EXECUTIONS;
    if (engine->at_once)
        return true;
    if (!region->loops && known->straight_bytes >= MOST_STRAIGHT_BYTES)
        return false;
    if (slot->heat[region->kind] >= pays)
        return true;
    slot->length[region->kind] = (uint16_t)region->ninsts;
    ask_at(slot, region->kind, pays);
    return false;
}

/* Stencils for what begins at pc, and what LLVM is asked for later. */
static void copy_region(MachineJit *engine, Run *run, uint32_t pc, unsigned kind, RegionRest without) {
    Region region;
    Pending wanted;
    JitSlot *slot = &run->jit->slots[pc];
    Known *known = known_of(engine, run);
    slot->hopeless[kind] = true;
    if (!find_region(engine, run, pc, kind, without, &region) || !pays_to_copy(engine, known, slot, &region))
        return;
    set_pending(&wanted, run, &region, kind);
    const Image *image = copied_image(engine, run, &region, region_key(run, &region, kind, COPIED));
    if (image) {
        known->straight_bytes += region.loops ? 0 : image->size;
        enter_code(run, &wanted, image->code,
                   engine->stencils == MACHINE_STENCILS_FIRST ? asks_after(engine) : 0);
    } else if (engine->stencils == MACHINE_STENCILS_FIRST) {
        ask_at(slot, kind, asks_after(engine));
    }
}

/* libLLVM is there, is being opened, or is not there. */
static CompilerState opened(Compiler *compiler) {
    if (compiler_state(compiler) == COMPILER_CLOSED)
        compiler_load(compiler);
    return compiler_state(compiler);
}

/* Ask LLVM for what is pending. Another thread may end at any time, so what it does is looked at once: what
 * it was doing then is asked for again. False: not now, but later. */
static bool ask_for_code(MachineJit *engine, Run *run, const Region *region, const Pending *wanted) {
    CompilerState state = opened(engine->compiler);
    if (state == COMPILER_READY) {
        engine->pending = *wanted;
        compiler_start(engine->compiler, run, region, wanted->kind, wanted->key);
        state = compiler_state(engine->compiler);
    }
    if (state == COMPILER_READY)
        take_code(engine, run);
    return state != COMPILER_BUSY;
}

/* May LLVM's code of the region be faster than its stencils? */
static bool gains_over_stencils(const Run *run, const Region *region) {
    bool named[ROW_COUNT] = {false};
    uint32_t rows = 0, accesses = 0;
    if (!region->loops && region->ninsts < SHORT_REGION)
        return false;
    if (stencil_set(run->level->name)->vectors < 32)
        return true;
    for (uint32_t i = 0; i < region->nblocks; i++)
        for (uint32_t k = 0; k < region->blocks[i].n; k++) {
            uint32_t pc = region->blocks[i].pc + k;
            RegionOperands operands = region_operands(run, pc);
            accesses += emit_calls_handler(run, region, pc) || body_access_is_built(region_known(run, pc));
            for (unsigned row = 0; row < ROW_COUNT; row++)
                named[row] |= operands.rows[row];
        }
    for (unsigned row = 0; row < ROW_COUNT; row++)
        rows += named[row];
    return rows <= MOST_ROWS_KEPT && accesses * LEAST_FOR_AN_ACCESS <= region->ninsts;
}

/* Loops of a copied region that begins outside of them: has one of them code of LLVM's, as a run that came
 * to it by another way leaves on disk? Then the warp goes there from what is copied. */
static bool loops_have_code(MachineJit *maker, Run *run, const Region *region) {
    const MachineJit *engine = run->jit->engine;
    bool some = false;
    for (uint32_t i = 0; i < region->nblocks; i++) {
        const RegionBlock *block = &region->blocks[i];
        uint32_t last = block->pc + block->n - 1;
        Region loop;
        Pending found;
        if (region_kind(run, last) != RI_BRANCH)
            continue;
        uint32_t head = region_target(run, last);
        if (head > last || head == region->blocks[0].pc || region_block_at(region, head) == region->nblocks)
            continue;
        const JitSlot *slot = &run->jit->slots[head];
        if (slot->code[region->kind] && !slot->copied[region->kind]) {
            some = true;
            continue;
        }
        if (!find_region(engine, run, head, region->kind, WITHOUT_NOTHING, &loop))
            continue;
        loop.shared = region->shared;
        JitCode *code = gains_over_stencils(run, &loop)
                            ? find_any_code(maker, region_key(run, &loop, loop.kind, engine->quick))
                            : NULL;
        if (code) {
            set_pending(&found, run, &loop, loop.kind);
            enter_code(run, &found, code, 0);
            some = true;
        }
    }
    return some;
}

/* What earlier runs executed of the region, whose code is stencils. */
static uint64_t heat_before(MachineJit *engine, const JitSlot *slot, unsigned kind, XXH128_hash_t key) {
    for (uint32_t i = 0; i < engine->nleft; i++)
        if (engine->left[i].slot == slot && engine->left[i].kind == kind &&
            XXH128_isEqual(engine->left[i].key, key))
            return engine->left[i].before;
    uint64_t before = jit_cache_heat(compiler_cache(engine->compiler), key);
    engine->left = kept(mem_resize(engine->left, (engine->nleft + 1) * sizeof *engine->left));
    engine->left[engine->nleft++] = (Left){.key = key, .slot = slot, .kind = kind, .before = before};
    return before;
}

/* Heat of the place at which LLVM is asked for its region; what takes time from stencils must gain more. */
static uint64_t pays_to_compile(MachineJit *maker, const MachineJit *engine, const JitSlot *slot,
                                const Region *region, XXH128_hash_t key) {
    uint64_t pays = (uint64_t)region->ninsts * engine->executions;
    bool is_member = maker != engine;
    if (slot->copied[region->kind] && (is_member || compiler_takes_time(maker->compiler))) {
        uint64_t before = 0;
        if (!is_member && !engine->at_once && compiler_cache(maker->compiler))
            before = heat_before(maker, slot, region->kind, key);
        pays = pays * BUSY_FACTOR + BUSY_LEAST;
        if (before)
            pays = pays / AGAIN_SHARE > before ? pays / AGAIN_SHARE - before : 0;
    }
    return pays > engine->after ? pays : engine->after;
}

/* The region at pc by LLVM, if that pays; maker: the engine, or its owner, which nobody else has now. */
static void compile_region(MachineJit *maker, Run *run, uint32_t pc, unsigned kind) {
    Jit *jit = run->jit;
    MachineJit *engine = jit->engine;
    Region region;
    Pending wanted;
    JitSlot *slot = &jit->slots[pc];
    bool is_member = maker != engine;
    uint64_t later = (uint64_t)slot->heat[kind] + (engine->after < ASK_AGAIN ? engine->after : ASK_AGAIN);
    if (compiler_state(maker->compiler) == COMPILER_BUSY) {
        ask_at(slot, kind, later);
        return;
    }
    take_code(maker, run);
    slot->hopeless[kind] = true; /* until it is there */
    if ((slot->code[kind] && !slot->copied[kind]) ||
        !find_region(engine, run, pc, kind, WITHOUT_NOTHING, &region))
        return;
    region.shared = is_member;
    if (slot->copied[kind] && !gains_over_stencils(run, &region))
        return;
    if (slot->copied[kind] && slot->heat[kind] / SHORT_REGION < slot->entries[kind]) {
        ask_at(slot, kind, 2 * (uint64_t)slot->heat[kind]);
        return;
    }
    set_pending(&wanted, run, &region, kind);
    wanted.key = region_key(run, &region, kind, engine->quick);
    JitCode *code = find_any_code(maker, wanted.key);
    if (code) {
        enter_code(run, &wanted, code, 0);
        return;
    }
    uint64_t pays = pays_to_compile(maker, engine, slot, &region, wanted.key);
    if (slot->heat[kind] < pays) {
        if (slot->copied[kind] && loops_have_code(maker, run, &region))
            copy_region(engine, run, pc, kind, WITHOUT_BEST);
        ask_at(slot, kind, pays);
        return;
    }
    Pending asked = wanted;
    if (is_member)
        asked.slots = NULL;
    if (!ask_for_code(maker, run, &region, &asked))
        ask_at(slot, kind, later);
    else if (is_member && (code = find_code(maker, wanted.key)) != NULL)
        enter_code(run, &wanted, code, 0);
}

static void release_lock(void *lock) { pthread_mutex_unlock(lock); }

void jit_compile(Warp *warp, uint32_t pc, unsigned kind) {
    Run *run = warp->run;
    MachineJit *engine = run->jit->engine, *owner = engine->owner;
    JitSlot *slot = &run->jit->slots[pc];
    if (engine->stencils && !slot->code[kind])
        copy_region(engine, run, pc, kind, WITHOUT_COPIED);
    else if (!owner)
        compile_region(engine, run, pc, kind);
    else if (pthread_mutex_trylock(&owner->lock) == 0) {
        scope_guard(&owner->lock, release_lock);
        compile_region(owner, run, pc, kind);
        scope_unguard(&owner->lock);
        pthread_mutex_unlock(&owner->lock);
    } else {
        ask_at(slot, kind, (uint64_t)slot->heat[kind] + ASK_AGAIN);
    }
}

/* What the slots say is of this code, as far as anything depends on it. What compiled code wants of the run
 * is decoded; false: it cannot be. */
static bool keep_slots(Run *run, const Known *known) {
    for (uint32_t i = 0; i < known->nwords; i++) {
        const KnownWord *word = &known->words[i];
        if (memcmp(word->word, run->code[word->pc], sizeof word->word) != 0 ||
            (known->slots[word->pc].reads_bank && !region_dec(run, word->pc)))
            return false;
    }
    return true;
}
static void clear_slots(JitSlot *slots, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        JitSlot empty = {0};
        memcpy(empty.heat, slots[i].heat, sizeof empty.heat);
        slots[i] = empty;
    }
}

Jit *jit_attach(Run *run, MachineJit *engine) {
    if (!machine_level_compiles(run->level->name)) {
        snprintf(engine->stats.failed, sizeof engine->stats.failed, "%s",
                 "not on this host: compiled code needs its level v3 or v4");
        return NULL;
    }
    Known *known = known_of(engine, run);
    if (run->jit && run->jit->engine == engine && known->run == run)
        return run->jit;
    known->run = run;
    for (uint32_t i = 0; i < known->own.n; i++) /* the last run's */
        known->ahead[known->own.at[i]] = NULL;
    known->own.n = 0;
    for (uint32_t i = 0; i < run->decoded.n; i++) /* other runs may have had longer blocks compiled */
        run->prog[run->decoded.at[i]].bound = false;
    Jit *jit = ARENA_NEW(&run->arena, Jit);
    *jit = (Jit){.engine = engine,
                 .slots = known->slots,
                 .own = &known->own,
                 .threshold = engine->stencils && !engine->at_once ? COPY_AFTER : asks_after(engine),
                 .executed = &engine->stats.executed,
                 .host = {.data = run->level->call,
                          .control = run->level->control,
                          .slots = known->slots,
                          .ahead = known->ahead}};
    run->jit = jit;
    if (!keep_slots(run, known)) {
        clear_slots(jit->slots, run->ncode);
        known->nwords = 0;
        known->straight_bytes = 0;
        engine->attached++;
    }
    return jit;
}
